/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what was recorded of a run, in the format that the name says. */
#include "tools/recording.h"

#include "tools/message.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum kind {
    KIND_NONE,
    KIND_PAGE,
    KIND_JSON,
    KIND_PERFETTO,
    KIND_DOT
} kind;

static bool ends_in(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

static kind kind_of(const char *path)
{
    if (ends_in(path, ".json"))
        return KIND_JSON;
    if (ends_in(path, ".html"))
        return KIND_PAGE;
    if (ends_in(path, ".pftrace"))
        return KIND_PERFETTO;
    return ends_in(path, ".dot") ? KIND_DOT : KIND_NONE;
}

bool eddy__recording_is_known(const char *path)
{
    if (kind_of(path) != KIND_NONE)
        return true;
    eddy__message_complain(
        "%s: a trace is written as .html, .json, .pftrace or .dot", path);
    return false;
}

static bool write_piece(void *user, const char *text, size_t length)
{
    return fwrite(text, 1, length, user) == length;
}

/* Iteration 0 of the first loop, if no other is asked. */
static eddy_status write_dot(eddy_trace *trace, const eddy__options *options,
                             FILE *file, eddy_error *err)
{
    uint32_t frame = eddy_trace_frames(trace) > 1 ? 1 : 0;
    int64_t iteration = 0;

    if (options->at != NULL &&
        !eddy__recording_find(trace, options->at, &frame, &iteration))
        return eddy__message_raise(err, EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME,
                                   "--at: nothing was recorded in '%s'",
                                   options->at);
    return eddy_trace_write_dot(trace, frame, iteration, write_piece, file,
                                err);
}

static eddy_status write_file(eddy_trace *trace, const eddy__options *options,
                              FILE *file, eddy_error *err)
{
    switch (kind_of(options->trace)) {
    case KIND_DOT:
        return write_dot(trace, options, file, err);
    case KIND_PAGE:
        return eddy_trace_write(trace, EDDY_TRACE_PAGE, write_piece, file, err);
    case KIND_PERFETTO:
        return eddy_trace_write(trace, EDDY_TRACE_PERFETTO, write_piece, file,
                                err);
    default:
        return eddy_trace_write(trace, EDDY_TRACE_JSON, write_piece, file, err);
    }
}

eddy__exit eddy__recording_write(eddy_trace *trace,
                                 const eddy__options *options)
{
    eddy_error err = {.code = EDDY_OK};
    FILE *file = fopen(options->trace, "wb");
    eddy_status status;

    if (file == NULL) {
        eddy__message_complain("%s: %s", options->trace, strerror(errno));
        return EDDY__EXIT_FAILED;
    }
    status = write_file(trace, options, file, &err);
    if ((fclose(file) != 0 || err.detail == EDDY_E_CANCELLED)) {
        eddy__message_complain("%s: %s", options->trace,
                               errno != 0 ? strerror(errno) : "write error");
        return EDDY__EXIT_FAILED;
    }
    if (status == EDDY_OK)
        return EDDY__EXIT_DONE;
    eddy__message_complain_error(options->trace, &err);
    return EDDY__EXIT_FAILED;
}

bool eddy__recording_find(const eddy_trace *trace, const char *path,
                          uint32_t *out_frame, int64_t *out_iteration)
{
    const char *bracket = strrchr(path, '[');
    char text[1024];
    char *end = NULL;

    *out_frame = 0;
    *out_iteration = 0;
    if (path[0] == '\0')
        return eddy_trace_frames(trace) > 0;
    if (bracket == NULL)
        return false;
    errno = 0;
    *out_iteration = strtoll(bracket + 1, &end, 10);
    if (errno != 0 || end == bracket + 1 || strcmp(end, "]") != 0)
        return false;
    for (uint32_t f = 1; f < eddy_trace_frames(trace); f++) {
        if (!eddy_trace_frame_at(trace, f)->is_known)
            continue;
        (void)eddy_trace_path(trace, f, *out_iteration, text, sizeof text);
        if (strcmp(text, path) == 0) {
            *out_frame = f;
            return true;
        }
    }
    return false;
}

/* ---- is it whole? ---- */

static eddy_status refuse(const eddy_trace *trace, size_t i, const char *what,
                          eddy_error *err)
{
    const eddy_trace_record *r = eddy_trace_record_at(trace, i);
    char path[256];

    eddy_trace_path(trace, r->frame, r->iteration, path, sizeof path);
    return eddy__message_raise(
        err, EDDY_INTERNAL, EDDY_E_NONE, "the record of '%s' in '%s' %s",
        eddy_trace_node_at(trace, r->node)->name, path, what);
}

/* Enough for every chain: none has a record twice. */
static eddy_status check_dead(const eddy_trace *trace, eddy_error *err)
{
    const size_t n = eddy_trace_records(trace);
    eddy_trace_link *links = calloc(n + 1, sizeof *links);
    eddy_status status = EDDY_OK;

    if (links == NULL)
        return eddy__message_raise_memory(err);
    for (size_t i = 0; i < n && status == EDDY_OK; i++) {
        eddy_trace_end end;

        if (eddy_trace_record_at(trace, i)->state != EDDY_TRACE_DEAD)
            continue;
        (void)eddy_trace_why_dead(trace, i, links, n + 1, &end);
        if (end != EDDY_TRACE_END_SWITCH)
            status = refuse(trace, i, "has no Switch that killed it", err);
    }
    free(links);
    return status;
}

eddy_status eddy__recording_check(eddy_trace *trace, eddy_error *err)
{
    const eddy_trace_totals t = eddy_trace_total(trace);
    eddy_status status = eddy_trace_index(trace, err);

    if (status != EDDY_OK || t.n_dropped > 0)
        return status;
    if (t.live != t.stats.live_executions || t.dead != t.stats.dead_executions)
        return eddy__message_raise(
            err, EDDY_INTERNAL, EDDY_E_NONE,
            "recorded %llu live and %llu dead, of %llu and %llu",
            (unsigned long long)t.live, (unsigned long long)t.dead,
            (unsigned long long)t.stats.live_executions,
            (unsigned long long)t.stats.dead_executions);
    for (size_t i = 0; i < eddy_trace_pairs(trace); i++) {
        const eddy_trace_pair *pair = eddy_trace_pair_at(trace, i);

        if (pair->push == EDDY_TRACE_NOT_FOUND)
            return refuse(trace, pair->pop, "is of a pop without a push", err);
    }
    return check_dead(trace, err);
}

size_t eddy__recording_linear_frames(const eddy_trace *trace)
{
    size_t n = 0;

    for (size_t f = 0; f < eddy_trace_frames(trace); f++)
        n += eddy_trace_frame_at(trace, f)->is_linear;
    return n;
}
