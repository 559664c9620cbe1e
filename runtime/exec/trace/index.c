/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What questions look up: records by node and iteration, frames by where they
 * were entered, and pushes with their pops.
 */
#include "runtime/exec/trace/trace.h"

#include "core/base/status.h"

#include <stdlib.h>
#include <string.h>

typedef struct key {
    uint32_t first, second;
    int64_t iteration;
    uint32_t third;
} key;

static int compare_keys(const void *left, const void *right)
{
    const key *a = left, *b = right;

    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    if (a->second != b->second)
        return a->second < b->second ? -1 : 1;
    if (a->iteration != b->iteration)
        return a->iteration < b->iteration ? -1 : 1;
    return a->third < b->third ? -1 : a->third > b->third;
}

void eddy__trace_drop_index(eddy_trace *trace)
{
    const eddy_allocator *a = trace->allocator;
    const size_t n = trace->n_indexed;

    eddy__free(a, trace->by_node, n, sizeof *trace->by_node);
    eddy__free(a, trace->first_of, (size_t)trace->n_nodes + 1,
               sizeof *trace->first_of);
    eddy__free(a, trace->by_parent, trace->n_indexed_frames,
               sizeof *trace->by_parent);
    eddy__free(a, trace->pair_of, n, sizeof *trace->pair_of);
    eddy__free(a, trace->pairs, n, sizeof *trace->pairs);
    trace->by_node = trace->first_of = trace->by_parent = trace->pair_of = NULL;
    trace->pairs = NULL;
    trace->n_pairs = 0;
    trace->is_indexed = false;
}

/* ---- records by node ---- */

static void sort_records(eddy_trace *trace, key *keys)
{
    const size_t n = eddy__trace_kept(trace);
    uint32_t node = 0;

    for (size_t i = 0; i < n; i++) {
        const eddy_trace_record *r = eddy_trace_record_at(trace, i);

        keys[i] = (key){.first = r->node,
                        .second = r->frame,
                        .iteration = r->iteration,
                        .third = (uint32_t)i};
    }
    qsort(keys, n, sizeof *keys, compare_keys);
    for (size_t i = 0; i < n; i++) {
        while (node <= keys[i].first)
            trace->first_of[node++] = (uint32_t)i;
        trace->by_node[i] = keys[i].third;
    }
    while (node <= trace->n_nodes)
        trace->first_of[node++] = (uint32_t)n;
}

size_t eddy_trace_node_records(const eddy_trace *trace, uint32_t node,
                               const uint32_t **out_records)
{
    *out_records = NULL;
    if (!trace->is_indexed || node >= trace->n_nodes)
        return 0;
    *out_records = trace->by_node + trace->first_of[node];
    return trace->first_of[node + 1] - trace->first_of[node];
}

size_t eddy_trace_find(const eddy_trace *trace, uint32_t node, uint32_t frame,
                       int64_t iteration)
{
    const uint32_t *records;
    size_t low = 0, high = eddy_trace_node_records(trace, node, &records);

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const eddy_trace_record *r =
            eddy_trace_record_at(trace, records[middle]);

        if (r->frame == frame && r->iteration == iteration)
            return records[middle];
        if (r->frame < frame || (r->frame == frame && r->iteration < iteration))
            low = middle + 1;
        else
            high = middle;
    }
    return EDDY_TRACE_NOT_FOUND;
}

/* ---- frames by parent ---- */

static void sort_frames(eddy_trace *trace, key *keys)
{
    for (uint32_t i = 0; i < trace->n_frames; i++) {
        const eddy_trace_frame *f = &trace->frames[i];

        keys[i] = (key){.first = f->is_known ? f->parent : EDDY_TRACE_NONE,
                        .second = f->static_frame,
                        .iteration = f->parent_iteration,
                        .third = i};
    }
    qsort(keys, trace->n_frames, sizeof *keys, compare_keys);
    for (size_t i = 0; i < trace->n_frames; i++)
        trace->by_parent[i] = keys[i].third;
}

uint32_t eddy__trace_child(const eddy_trace *trace, uint32_t static_frame,
                           uint32_t parent, int64_t iteration)
{
    const key wanted = {
        .first = parent, .second = static_frame, .iteration = iteration};
    size_t low = 0, high = trace->n_frames;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const uint32_t at = trace->by_parent[middle];
        const eddy_trace_frame *f = &trace->frames[at];
        const key found = {.first = f->is_known ? f->parent : EDDY_TRACE_NONE,
                           .second = f->static_frame,
                           .iteration = f->parent_iteration};
        const int order = compare_keys(&found, &wanted);

        if (order == 0 && at != 0)
            return at;
        if (order < 0 || (order == 0 && at == 0))
            low = middle + 1;
        else
            high = middle;
    }
    return EDDY_TRACE_NONE;
}

/* ---- pushes and pops ---- */

static bool is_op(const eddy_trace *trace, const eddy_trace_record *r,
                  const char *one, const char *other)
{
    const char *op = trace->nodes[r->node].op;

    return r->state == EDDY_TRACE_LIVE && r->resource != 0 &&
           (strcmp(op, one) == 0 || strcmp(op, other) == 0);
}

static int compare_numbers(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return a < b ? -1 : a > b;
}

/* The stacks of a run, and what is on each. */
typedef struct stacks {
    uint64_t *handles; /* sorted */
    uint32_t *top;     /* a stack: a pair, or NONE */
    uint32_t *below;   /* a pair: the one under it */
    size_t n;
} stacks;

static size_t stack_of(const stacks *s, uint64_t handle)
{
    size_t low = 0, high = s->n;

    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;

        if (s->handles[middle] <= handle)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void list_stacks(const eddy_trace *trace, stacks *s)
{
    size_t n = 0;

    for (size_t i = 0; i < eddy__trace_kept(trace); i++) {
        const eddy_trace_record *r = eddy_trace_record_at(trace, i);

        if (r->resource != 0)
            s->handles[n++] = r->resource;
    }
    qsort(s->handles, n, sizeof *s->handles, compare_numbers);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || s->handles[i] != s->handles[s->n - 1])
            s->handles[s->n++] = s->handles[i];
    for (size_t i = 0; i < s->n; i++)
        s->top[i] = EDDY_TRACE_NONE;
}

static void push(eddy_trace *trace, stacks *s, uint32_t *top, size_t record)
{
    const uint32_t pair = (uint32_t)trace->n_pairs++;

    trace->pairs[pair] =
        (eddy_trace_pair){.push = record, .pop = EDDY_TRACE_NOT_FOUND};
    trace->pair_of[record] = pair;
    s->below[pair] = *top;
    *top = pair;
}

/* A pop whose push was not recorded is a pair of its own. */
static void pop(eddy_trace *trace, stacks *s, uint32_t *top, size_t record)
{
    uint32_t pair = *top;

    if (pair == EDDY_TRACE_NONE) {
        pair = (uint32_t)trace->n_pairs++;
        trace->pairs[pair].push = EDDY_TRACE_NOT_FOUND;
    } else {
        *top = s->below[pair];
    }
    trace->pairs[pair].pop = record;
    trace->pair_of[record] = pair;
}

static void pair_records(eddy_trace *trace, stacks *s)
{
    memset(trace->pair_of, 0xff,
           eddy__trace_kept(trace) * sizeof *trace->pair_of);
    list_stacks(trace, s);
    for (size_t i = 0; i < eddy__trace_kept(trace); i++) {
        const eddy_trace_record *r = eddy_trace_record_at(trace, i);
        uint32_t *top;

        if (r->resource == 0)
            continue;
        top = &s->top[stack_of(s, r->resource)];
        if (is_op(trace, r, "StackV2", "Stack"))
            *top = EDDY_TRACE_NONE;
        else if (is_op(trace, r, "StackPushV2", "StackPush"))
            push(trace, s, top, i);
        else if (is_op(trace, r, "StackPopV2", "StackPop"))
            pop(trace, s, top, i);
    }
}

size_t eddy_trace_pairs(const eddy_trace *trace)
{
    return trace->is_indexed ? trace->n_pairs : 0;
}

const eddy_trace_pair *eddy_trace_pair_at(const eddy_trace *trace, size_t i)
{
    return i < eddy_trace_pairs(trace) ? &trace->pairs[i] : NULL;
}

/* ---- making it ---- */

static bool allocate_index(eddy_trace *trace)
{
    const eddy_allocator *a = trace->allocator;
    const size_t n = eddy__trace_kept(trace);

    trace->n_indexed = n;
    trace->n_indexed_frames = trace->n_frames;
    trace->by_node = eddy__allocate(a, n, sizeof *trace->by_node);
    trace->first_of =
        eddy__allocate(a, (size_t)trace->n_nodes + 1, sizeof *trace->first_of);
    trace->by_parent =
        eddy__allocate(a, trace->n_frames, sizeof *trace->by_parent);
    trace->pair_of = eddy__allocate(a, n, sizeof *trace->pair_of);
    trace->pairs = eddy__allocate(a, n, sizeof *trace->pairs);
    return trace->by_node && trace->first_of && trace->by_parent &&
           trace->pair_of && trace->pairs;
}

static bool fill_index(eddy_trace *trace)
{
    const size_t n = eddy__trace_kept(trace) > trace->n_frames
                         ? eddy__trace_kept(trace)
                         : trace->n_frames;
    eddy__arena scratch = {.allocator = trace->allocator};
    key *keys = eddy__arena_allocate(&scratch, n, sizeof *keys);
    stacks s = {.handles = eddy__arena_allocate(&scratch, n, sizeof *s.handles),
                .top = eddy__arena_allocate(&scratch, n, sizeof *s.top),
                .below = eddy__arena_allocate(&scratch, n, sizeof *s.below)};
    const bool is_made = keys && s.handles && s.top && s.below;

    if (is_made) {
        sort_records(trace, keys);
        sort_frames(trace, keys);
        pair_records(trace, &s);
    }
    eddy__arena_destroy(&scratch);
    return is_made;
}

eddy_status eddy_trace_index(eddy_trace *trace, eddy_error *err)
{
    if (trace->is_indexed)
        return EDDY_OK;
    if (!eddy__trace_decode(trace) || !allocate_index(trace) ||
        !fill_index(trace)) {
        eddy__trace_drop_index(trace);
        return eddy__fail_memory(err);
    }
    trace->is_indexed = true;
    return EDDY_OK;
}

/* ---- producers ---- */

/* Of an Exit: the iteration in which it was live, else its last. */
static size_t exit_record(const eddy_trace *trace, uint32_t node,
                          uint32_t frame)
{
    size_t found = EDDY_TRACE_NOT_FOUND;
    const uint32_t *records;
    const size_t n = eddy_trace_node_records(trace, node, &records);

    for (size_t i = 0; i < n && frame != EDDY_TRACE_NONE; i++) {
        const eddy_trace_record *r = eddy_trace_record_at(trace, records[i]);

        if (r->frame > frame)
            break;
        if (r->frame != frame)
            continue;
        found = records[i];
        if (r->state == EDDY_TRACE_LIVE)
            break;
    }
    return found;
}

size_t eddy__trace_producer_at(const eddy_trace *trace, uint32_t node,
                               uint32_t frame, int64_t iteration, size_t k)
{
    const uint32_t id = trace->nodes[node].inputs[k].node;
    const eddy_trace_node *from = &trace->nodes[id];

    if (from->kind == EDDY_TRACE_EXIT)
        return exit_record(
            trace, id, eddy__trace_child(trace, from->frame, frame, iteration));
    if (from->kind == EDDY_TRACE_NEXT_ITERATION)
        return eddy_trace_find(trace, id, frame, iteration - 1);
    if (from->kind != EDDY_TRACE_ENTER)
        return eddy_trace_find(trace, id, frame, iteration);
    if (frame >= trace->n_frames || (!from->is_constant && iteration > 0))
        return EDDY_TRACE_NOT_FOUND;
    return eddy_trace_find(trace, id, trace->frames[frame].parent,
                           trace->frames[frame].parent_iteration);
}

size_t eddy_trace_producer(const eddy_trace *trace, size_t i, size_t k)
{
    const eddy_trace_record *r = eddy_trace_record_at(trace, i);
    const eddy_trace_node *node;

    if (!r || !trace->is_indexed)
        return EDDY_TRACE_NOT_FOUND;
    node = &trace->nodes[r->node];
    if (k >= (size_t)node->n_inputs + node->n_controls)
        return EDDY_TRACE_NOT_FOUND;
    return eddy__trace_producer_at(trace, r->node, r->frame, r->iteration, k);
}

size_t eddy_trace_message(const eddy_trace *trace, size_t i)
{
    const eddy_trace_record *r = eddy_trace_record_at(trace, i);
    const eddy__trace_end_node *end;

    if (!r || !trace->joined)
        return EDDY_TRACE_NOT_FOUND;
    end = &trace->joined->ends[r->node];
    if (end->sender == EDDY_TRACE_NONE ||
        (end->is_known_dead && r->state == EDDY_TRACE_DEAD))
        return EDDY_TRACE_NOT_FOUND;
    return eddy_trace_find(trace, end->sender, r->frame, r->iteration);
}
