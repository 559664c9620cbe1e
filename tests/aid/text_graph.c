/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/aid/text_graph.h"

#include "tests/aid/text.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FEEDS 64

static const eddy_op_spec ops[] = {
#define OP(name, in, out, attrs)                                               \
    {                                                                          \
        sizeof(eddy_op_spec), name, in, out, attrs, NULL, NULL, NULL, 0        \
    }
    OP("Source", "", "out: int32", ""),
    OP("Pred", "", "out: bool", ""),
    OP("Less", "x: int32, y: int32", "z: bool", ""),
    OP("Neg", "x: T", "y: T", "T: type"),
    OP("Id", "x: T", "y: T", "T: type"),
    OP("Add", "x: T, y: T", "z: T", "T: type"),
    OP("Join", "x: N * T", "y: T", "T: type, N: int >= 1"),
    OP("NoOp", "", "", ""),
#undef OP
};

void text_graph_init(text_graph *t)
{
    const eddy__op_table table = {.specs = ops,
                                  .n = sizeof ops / sizeof ops[0]};

    memset(t, 0, sizeof *t);
    counting_allocator_init(&t->counting);
    t->ctx.allocator = t->counting.allocator;
    eddy__registry_init(&t->ctx.registry, &t->ctx.allocator);
    ck_assert_msg(eddy__registry_add_table(&t->ctx.registry, &table, &t->err) ==
                          EDDY_OK &&
                      eddy__registry_add_table(&t->ctx.registry,
                                               &eddy__control_ops,
                                               &t->err) == EDDY_OK,
                  "%s: %s", t->err.op, t->err.message);
}

static void drop(text_graph *t)
{
    eddy_analysis_destroy(t->analysis);
    eddy_graph_destroy(t->graph);
    t->analysis = NULL;
    t->graph = NULL;
}

void text_graph_deinit(text_graph *t)
{
    drop(t);
    eddy__registry_deinit(&t->ctx.registry);
    counting_allocator_want_none(&t->counting);
}

eddy_node text_graph_node(const text_graph *t, const char *name)
{
    eddy_node node = eddy_graph_find(t->graph, name);

    ck_assert_msg(node != EDDY_NO_NODE, "no node '%s'", name);
    return node;
}

void text_graph_build(text_graph *t, const char *text)
{
    char line[1024];

    drop(t);
    ck_assert_int_eq(eddy_graph_create(&t->ctx, &t->graph, &t->err), EDDY_OK);
    if (text_read_open(t->graph, text, &t->err) == EDDY_OK)
        return;
    eddy_error_format(&t->err, line, sizeof line);
    ck_abort_msg("%s\n%s", line, text);
}

eddy_status text_graph_analyse(text_graph *t, const char *feeds)
{
    eddy_output fed[MAX_FEEDS];
    uint8_t *is_fed = calloc(t->graph->n_nodes + 1, 1);
    eddy__selection s = {.graph = t->graph, .is_fed = is_fed, .feeds = fed};
    char copy[256], *rest, *word;
    eddy_status status;

    ck_assert_ptr_nonnull(is_fed);
    snprintf(copy, sizeof copy, "%s", feeds ? feeds : "");
    for (word = strtok_r(copy, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest)) {
        fed[s.n_feeds] = text_output(t->graph, word);
        is_fed[fed[s.n_feeds++].node] = 1;
    }
    eddy_analysis_destroy(t->analysis);
    t->analysis = NULL;
    status = eddy__check_feeds(&s, &t->err);
    if (status == EDDY_OK)
        status = eddy__analysis_build_whole(&s, &t->analysis, &t->err);
    free(is_fed);
    return status;
}

void text_graph_accept(text_graph *t, const char *text)
{
    char line[1024];

    text_graph_build(t, text);
    if (text_graph_analyse(t, NULL) == EDDY_OK)
        return;
    eddy_error_format(&t->err, line, sizeof line);
    ck_abort_msg("refused: %s\n%s", line, text);
}

void text_graph_refuse(text_graph *t, const char *text, eddy_detail detail,
                       const char *node, const char *words)
{
    text_graph_build(t, text);
    ck_assert_msg(text_graph_analyse(t, NULL) == EDDY_INVALID_ARGUMENT,
                  "not refused:\n%s", text);
    ck_assert_str_eq(eddy_detail_name(t->err.detail), eddy_detail_name(detail));
    ck_assert_str_eq(t->err.node, node);
    ck_assert_msg(strstr(t->err.message, words) != NULL, "'%s' is not in: %s",
                  words, t->err.message);
}
