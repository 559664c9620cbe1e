/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/aid/recovered.h"

#include <check.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void recovered_append(char *text, size_t size, const char *format, ...)
{
    const size_t length = strlen(text);
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(text + length, size - length, format, args);
    va_end(args);
    ck_assert_msg(n >= 0 && (size_t)n < size - length, "no room after '%s'",
                  text);
}

static void append_output(const eddy_graph *graph, eddy_output output,
                          char *text, size_t size)
{
    recovered_append(text, size, "%s",
                     eddy_graph_node_name(graph, output.node));
    if (output.index > 0)
        recovered_append(text, size, "#%" PRIu32, output.index);
}

void recovered_branch(const eddy_graph *graph, const eddy_analysis *analysis,
                      uint32_t branch, char *text, size_t size)
{
    const eddy_branch_info *b = eddy_analysis_branch(analysis, branch);
    const uint32_t depth = b->depth;
    uint32_t *path = calloc(depth + 1, sizeof *path);

    ck_assert_ptr_nonnull(path);
    snprintf(text, size, "%s", depth == 0 ? "-" : "");
    for (uint32_t i = depth; i > 0; i--) {
        path[i - 1] = branch;
        branch = eddy_analysis_branch(analysis, branch)->outer;
    }
    for (uint32_t i = 0; i < depth; i++) {
        b = eddy_analysis_branch(analysis, path[i]);
        recovered_append(text, size, "%s", i > 0 ? "/" : "");
        append_output(graph, b->predicate, text, size);
        recovered_append(text, size, ":%" PRIu32, b->side);
    }
    free(path);
}

void recovered_counter(const eddy_graph *graph, const eddy_frame *frame,
                       char *text, size_t size)
{
    static const char *const signs[] = {"<", "<=", ">", ">=", "!="};
    const eddy_trip_counter *t = frame->trip_counter;

    snprintf(text, size, "%s", t ? "" : "none");
    if (!t)
        return;
    recovered_append(
        text, size, "%s from ",
        eddy_graph_node_name(graph, frame->variables[t->variable].merge));
    append_output(graph, t->start, text, size);
    recovered_append(text, size, " %c ", t->is_subtracted ? '-' : '+');
    append_output(graph, t->step, text, size);
    recovered_append(text, size, " while %s ", signs[t->comparison]);
    append_output(graph, t->limit, text, size);
    recovered_append(text, size, "%s, trips %" PRId64,
                     t->is_only ? "" : " and more", t->trips);
}
