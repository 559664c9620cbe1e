/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a trace: its nodes, frames and records as they are. */
#include "runtime/exec/trace/trace.h"

#include <stdio.h>
#include <string.h>

size_t eddy_trace_nodes(const eddy_trace *trace)
{
    return trace->n_nodes;
}

const eddy_trace_node *eddy_trace_node_at(const eddy_trace *trace, size_t i)
{
    return i < trace->n_nodes ? &trace->nodes[i] : NULL;
}

uint32_t eddy_trace_find_node(const eddy_trace *trace, const char *name)
{
    const size_t n = strlen(name);

    for (uint32_t id = 0; id < trace->n_nodes; id++)
        if (strcmp(trace->nodes[id].name, name) == 0)
            return id;
    for (uint32_t id = 0; id < trace->n_nodes; id++)
        if (trace->nodes[id].kind == EDDY_TRACE_FEED &&
            strncmp(trace->nodes[id].name, name, n) == 0 &&
            strcmp(trace->nodes[id].name + n, ":0") == 0)
            return id;
    return EDDY_TRACE_NONE;
}

size_t eddy_trace_static_frames(const eddy_trace *trace)
{
    return trace->n_static_frames;
}

const eddy_trace_static_frame *
eddy_trace_static_frame_at(const eddy_trace *trace, size_t i)
{
    return i < trace->n_static_frames ? &trace->static_frames[i] : NULL;
}

size_t eddy_trace_frames(const eddy_trace *trace)
{
    return trace->n_frames;
}

const eddy_trace_frame *eddy_trace_frame_at(const eddy_trace *trace, size_t i)
{
    return i < trace->n_frames ? &trace->frames[i] : NULL;
}

size_t eddy_trace_records(const eddy_trace *trace)
{
    return eddy__trace_kept(trace);
}

/* Where record `i` has been decoded; what is made there is no answer's. */
static bool decode(const eddy_trace *trace, size_t i)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): no trace is read-only. */
    eddy_trace *own = (eddy_trace *)(uintptr_t)trace;

    return i < eddy__trace_kept(trace) && eddy__trace_decode(own);
}

const eddy_trace_record *eddy_trace_record_at(const eddy_trace *trace, size_t i)
{
    return decode(trace, i) ? &trace->records[trace->n_skipped + i] : NULL;
}

const eddy_trace_value *eddy_trace_value_at(const eddy_trace *trace, size_t i,
                                            size_t k)
{
    const eddy_trace_record *record = eddy_trace_record_at(trace, i);

    return record && k < record->n_values
               ? &trace->values[trace->first_value[trace->n_skipped + i] + k]
               : NULL;
}

eddy_trace_totals eddy_trace_total(const eddy_trace *trace)
{
    eddy_trace_totals totals = trace->totals;

    totals.n_dropped = totals.n_seen - eddy__trace_kept(trace);
    return totals;
}

/* ---- ranks ---- */

uint32_t eddy_trace_ranks(const eddy_trace *trace)
{
    return trace->joined ? trace->joined->n_ranks : 1;
}

uint32_t eddy_trace_worker_rank(const eddy_trace *trace, uint32_t worker,
                                uint32_t *out_own)
{
    const eddy__trace_joined *j = trace->joined;
    uint32_t rank = 0;

    while (j && rank + 1 < j->n_ranks && worker >= j->first_worker[rank + 1])
        rank++;
    if (out_own)
        *out_own = j ? worker - j->first_worker[rank] : worker;
    return rank;
}

/* ---- paths ---- */

static uint32_t depth_of(const eddy_trace *trace, uint32_t frame)
{
    uint32_t depth = 0;

    for (; frame != 0 && frame < trace->n_frames;
         frame = trace->frames[frame].parent)
        depth++;
    return depth;
}

/* The place `levels` above. */
static void climb(const eddy_trace *trace, uint32_t levels, uint32_t *frame,
                  int64_t *iteration)
{
    for (; levels > 0; levels--) {
        *iteration = trace->frames[*frame].parent_iteration;
        *frame = trace->frames[*frame].parent;
    }
}

size_t eddy_trace_path(const eddy_trace *trace, uint32_t frame,
                       int64_t iteration, char *text, size_t size)
{
    const uint32_t depth = depth_of(trace, frame);
    size_t n = 0;

    if (size > 0)
        text[0] = '\0';
    for (uint32_t i = 0; i < depth; i++) {
        uint32_t at = frame;
        int64_t index = iteration;
        int written;

        climb(trace, depth - 1 - i, &at, &index);
        written =
            snprintf(n < size ? text + n : NULL, n < size ? size - n : 0,
                     "%s%s[%lld]", i > 0 ? "/" : "",
                     trace->static_frames[trace->frames[at].static_frame].name,
                     (long long)index);
        n += written > 0 ? (size_t)written : 0;
    }
    return n;
}
