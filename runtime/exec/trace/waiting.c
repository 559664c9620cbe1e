/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run that did not come to its end was waiting for: nodes that got some
 * of what they read and not all.
 */
#include "runtime/exec/trace/trace.h"

/* Where a node is to run. */
typedef struct place {
    uint32_t frame;
    int64_t iteration;
} place;

/* Where the readers of record `r` run; false: it is read in many iterations. */
static bool find_place(const eddy_trace *trace, const eddy_trace_record *r,
                       place *out)
{
    const eddy_trace_node *node = &trace->nodes[r->node];

    *out = (place){.frame = r->frame, .iteration = r->iteration};
    if (node->kind == EDDY_TRACE_NEXT_ITERATION)
        out->iteration++;
    if (node->kind == EDDY_TRACE_EXIT) {
        *out = (place){.frame = trace->frames[r->frame].parent,
                       .iteration = trace->frames[r->frame].parent_iteration};
        return r->state == EDDY_TRACE_LIVE && r->frame != 0;
    }
    if (node->kind != EDDY_TRACE_ENTER)
        return true;
    out->frame =
        eddy__trace_child(trace, node->output_frame, r->frame, r->iteration);
    out->iteration = 0;
    return !node->is_constant && out->frame != EDDY_TRACE_NONE;
}

/* Has input `k` come?  What has failed puts nothing out. */
static bool has_come(const eddy_trace *trace, uint32_t id, place at, uint32_t k)
{
    const size_t from =
        eddy__trace_producer_at(trace, id, at.frame, at.iteration, k);

    return from != EDDY_TRACE_NOT_FOUND &&
           eddy_trace_record_at(trace, from)->state != EDDY_TRACE_FAILED;
}

/* Has an input before `k` come?  Then the node was seen with that one. */
static bool has_come_before(const eddy_trace *trace, uint32_t id, place at,
                            uint32_t k)
{
    while (k-- > 0)
        if (has_come(trace, id, at, k))
            return true;
    return false;
}

/* The first input that has not come; NONE: all have. */
static uint32_t find_missing(const eddy_trace *trace, uint32_t id, place at)
{
    const eddy_trace_node *node = &trace->nodes[id];

    for (uint32_t k = 0; k < node->n_inputs + node->n_controls; k++)
        if (!trace->nodes[node->inputs[k].node].is_dissolved &&
            !has_come(trace, id, at, k))
            return k;
    return EDDY_TRACE_NONE;
}

typedef struct list {
    eddy_trace_wait *waits;
    size_t n, capacity;
} list;

/* Nodes `id` that wait and have got input `k` first. */
static void list_waits(const eddy_trace *trace, uint32_t id, uint32_t k,
                       list *l)
{
    const uint32_t *records;
    const size_t n = eddy_trace_node_records(
        trace, trace->nodes[id].inputs[k].node, &records);

    for (size_t i = 0; i < n; i++) {
        const eddy_trace_record *r = eddy_trace_record_at(trace, records[i]);
        place at;

        if (r->state == EDDY_TRACE_FAILED || !find_place(trace, r, &at) ||
            eddy_trace_find(trace, id, at.frame, at.iteration) !=
                EDDY_TRACE_NOT_FOUND ||
            has_come_before(trace, id, at, k))
            continue;
        if (l->n < l->capacity)
            l->waits[l->n] =
                (eddy_trace_wait){.node = id,
                                  .frame = at.frame,
                                  .iteration = at.iteration,
                                  .input = find_missing(trace, id, at)};
        l->n++;
    }
}

size_t eddy_trace_waiting(const eddy_trace *trace, eddy_trace_wait *waits,
                          size_t capacity)
{
    list l = {.waits = waits, .capacity = capacity};

    if (!trace->is_indexed)
        return 0;
    for (uint32_t id = 0; id < trace->n_nodes; id++) {
        const eddy_trace_node *node = &trace->nodes[id];

        if (node->kind == EDDY_TRACE_MERGE || node->is_dissolved)
            continue;
        for (uint32_t k = 0; k < node->n_inputs + node->n_controls; k++)
            list_waits(trace, id, k, &l);
    }
    return l.n;
}
