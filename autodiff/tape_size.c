/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds of tapes before there are any: every value that has gradients and is
 * made in a trip might go over one.  Requires the study, with its shapes and
 * the trip counters of its loops.
 */
#include "autodiff/tape_size.h"

#include "core/value/shape.h"

#include <stdlib.h>

#define UNKNOWN UINT64_MAX

/* What a tape takes besides for a value that is no scalar. */
#define ITEM 128

/* Saturates at what stands for unknown. */
static uint64_t add(uint64_t a, uint64_t b)
{
    return a > UNKNOWN - b ? UNKNOWN : a + b;
}

static uint64_t multiply(uint64_t a, uint64_t b)
{
    if (a == 0 || b == 0)
        return 0;
    return a > UNKNOWN / b ? UNKNOWN : a * b;
}

/* Lists and handles go over no tape; a primitive hands on what counts. */
static uint64_t bytes_of(const eddy__study *study, eddy_node node)
{
    const eddy__node *n = eddy__graph_node(study->graph, node);
    uint64_t bytes = 0;

    if (study->flow.role[node] != EDDY__ROLE_NONE &&
        study->flow.role[node] != EDDY__ROLE_MERGE)
        return 0;
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        const eddy_output output = {node, i};
        const eddy_dtype dtype = eddy_graph_output_dtype(study->graph, output);
        const size_t size = eddy_dtype_size(dtype);
        const eddy_shape *shape = eddy__shape_at(&study->shapes, output);
        int64_t count;

        if (!eddy__study_has_gradient(dtype) || dtype == EDDY_VARIANT)
            continue;
        if (!eddy__emit_has_shape(shape) ||
            !eddy__shape_count(shape, size, &count))
            return UNKNOWN;
        bytes = add(bytes, (uint64_t)count * size);
        bytes = add(bytes, shape->rank > 0 ? ITEM : 0);
    }
    return bytes;
}

static uint64_t trips_of(const eddy_frame *frame)
{
    return frame->trip_counter && frame->trip_counter->trips >= 0
               ? (uint64_t)frame->trip_counter->trips
               : UNKNOWN;
}

/* By frame: at most so many bytes for all its trips in one of the base frame.
 */
static uint64_t *find_sizes(const eddy__study *study, eddy__gradient_emitter *e,
                            uint32_t base)
{
    const eddy_analysis *analysis = study->analysis;
    const size_t n = analysis->n_frames;
    uint64_t *sizes = eddy__emit_zeroed_room(e, n, sizeof *sizes);
    uint64_t *trips = eddy__emit_room(e, n, sizeof *trips);

    if (!sizes || !trips)
        return NULL;
    for (eddy_node v = 0; v < study->n_nodes; v++)
        if (eddy__selected(&study->selection, v) && analysis->node_frame[v] > 0)
            sizes[analysis->node_frame[v]] =
                add(sizes[analysis->node_frame[v]], bytes_of(study, v));
    /* Parents come before their children. */
    for (uint32_t f = 0; f < n; f++) {
        const bool is_base = eddy__study_is_around(study, f, base);

        trips[f] = is_base ? 1
                           : multiply(trips[analysis->frames[f].parent],
                                      trips_of(&analysis->frames[f]));
        sizes[f] = is_base ? 0 : multiply(sizes[f], trips[f]);
    }
    return sizes;
}

typedef struct sized {
    uint64_t size;
    size_t frame;
} sized;

static int compare_sizes(const void *a, const void *b)
{
    const sized *x = a, *y = b;

    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    return (x->frame > y->frame) - (x->frame < y->frame);
}

uint8_t *eddy__tape_size_fit(const eddy__study *study,
                             eddy__gradient_emitter *e, uint32_t base,
                             uint64_t limit)
{
    const size_t n = study->analysis->n_frames;
    const uint64_t *sizes = find_sizes(study, e, base);
    sized *list = eddy__emit_room(e, n, sizeof *list);
    uint8_t *fits = eddy__emit_zeroed_room(e, n, 1);
    uint64_t total = 0;

    if (!sizes || !list || !fits)
        return NULL;
    for (size_t f = 0; f < n; f++)
        list[f] = (sized){.size = sizes[f], .frame = f};
    qsort(list, n, sizeof *list, compare_sizes);
    for (size_t i = 0; i < n; i++) {
        total = add(total, list[i].size);
        fits[list[i].frame] = total <= limit && total != UNKNOWN;
    }
    return fits;
}
