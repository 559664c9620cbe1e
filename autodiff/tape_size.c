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

static uint64_t output_bytes(const eddy__study *study, eddy_output output)
{
    const size_t size =
        eddy_dtype_size(eddy_graph_output_dtype(study->graph, output));
    const eddy_shape *shape = eddy__shape_at(&study->shapes, output);
    int64_t count;

    if (!eddy__emit_has_shape(shape) || !eddy__shape_count(shape, size, &count))
        return UNKNOWN;
    return add((uint64_t)count * size, shape->rank > 0 ? ITEM : 0);
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

        if (eddy__study_has_gradient(dtype) && dtype != EDDY_VARIANT)
            bytes = add(bytes, output_bytes(study, output));
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

/* ---- bounds ---- */

typedef struct bounding {
    const eddy__study *study;
    const uint8_t *again;
    uint32_t base;
    uint64_t limit;
    /* By frame: what a trip makes, the loops in it included; what the loop may
     * hold, UNKNOWN where nothing holds it back; by how many that is shared. */
    uint64_t *tape, *share, *n_within;
} bounding;

/* The loop around it that makes trips again, or the base frame; `out_times` are
 * the trips of those between, which keep theirs. */
static uint32_t nearest(const bounding *b, uint32_t f, uint64_t *out_times)
{
    const eddy_frame *frames = b->study->analysis->frames;

    *out_times = 1;
    for (f = frames[f].parent; !b->again[f]; f = frames[f].parent) {
        if (eddy__study_is_around(b->study, f, b->base))
            return b->base;
        *out_times = multiply(*out_times, trips_of(&frames[f]));
    }
    return f;
}

/* Of a loop within another a quarter of what that may hold. */
static void share_out(bounding *b)
{
    const size_t n = b->study->analysis->n_frames;
    uint64_t times;

    for (uint32_t f = 1; f < n; f++)
        if (b->again[f])
            b->n_within[nearest(b, f, &times)]++;
    for (uint32_t f = 1; f < n; f++) {
        uint32_t around;

        b->share[f] = UNKNOWN;
        if (!b->again[f])
            continue;
        around = nearest(b, f, &times);
        if (times == UNKNOWN ||
            (around != b->base && b->share[around] == UNKNOWN))
            continue;
        b->share[f] = around == b->base ? b->limit : b->share[around] / 4;
        b->share[f] /= b->n_within[around];
        b->share[f] /= times > 0 ? times : 1;
    }
}

/* Adds to what a trip makes that of the loops in it, which come later. */
static void add_up(bounding *b)
{
    const eddy_analysis *analysis = b->study->analysis;

    for (eddy_node v = 0; v < b->study->n_nodes; v++)
        if (eddy__selected(&b->study->selection, v))
            b->tape[analysis->node_frame[v]] =
                add(b->tape[analysis->node_frame[v]], bytes_of(b->study, v));
    for (size_t f = analysis->n_frames - 1; f > 0; f--) {
        uint64_t *around = &b->tape[analysis->frames[f].parent];
        const uint64_t all =
            b->again[f] ? b->share[f]
                        : multiply(b->tape[f], trips_of(&analysis->frames[f]));

        *around = add(*around, all);
    }
}

static uint64_t state_bytes(const bounding *b, const eddy_frame *frame)
{
    uint64_t bytes = 1;

    for (size_t i = 0; i < frame->n_variables; i++) {
        const eddy_output merge = {frame->variables[i].merge, 0};
        eddy_dtype dtype;

        if (merge.node == EDDY_NO_NODE)
            continue;
        dtype = eddy_graph_output_dtype(b->study->graph, merge);
        if (dtype != EDDY_VARIANT && dtype != EDDY_RESOURCE)
            bytes = add(bytes, output_bytes(b->study, merge));
    }
    return bytes;
}

/* Would about the root of twice the trips, of either, be little enough? */
static bool needs_none(const eddy_frame *frame, uint64_t bytes, uint64_t share)
{
    const uint64_t trips = trips_of(frame);
    uint64_t root = 1;

    if (trips > INT32_MAX)
        return false;
    while (root * root < 2 * trips)
        root++;
    return multiply(root, bytes) <= share;
}

static int32_t clamp(uint64_t n, int32_t least)
{
    return n < (uint64_t)least     ? least
           : n > EDDY__MOST_STATES ? EDDY__MOST_STATES
                                   : (int32_t)n;
}

static eddy__tape_bound bound(const bounding *b, uint32_t f)
{
    const eddy_frame *frame = &b->study->analysis->frames[f];
    const uint64_t state = state_bytes(b, frame), share = b->share[f];
    const uint64_t trip = b->tape[f] > 0 ? b->tape[f] : 1;

    if (!b->again[f] || share == UNKNOWN || state == UNKNOWN ||
        trip == UNKNOWN || needs_none(frame, add(state, trip), share))
        return (eddy__tape_bound){0};
    return (eddy__tape_bound){.states = clamp(share / 2 / state, 2),
                              .trips = clamp(share / 2 / trip, 1)};
}

const eddy__tape_bound *
eddy__tape_size_bounds(const eddy__study *study, eddy__gradient_emitter *e,
                       uint32_t base, const uint8_t *again, uint64_t limit)
{
    const size_t n = study->analysis->n_frames;
    eddy__tape_bound *bounds = eddy__emit_zeroed_room(e, n, sizeof *bounds);
    bounding b = {.study = study, .again = again, .base = base, .limit = limit};

    b.tape = eddy__emit_zeroed_room(e, n, sizeof *b.tape);
    b.share = eddy__emit_zeroed_room(e, n, sizeof *b.share);
    b.n_within = eddy__emit_zeroed_room(e, n, sizeof *b.n_within);
    if (e->core.status != EDDY_OK)
        return NULL;
    if (limit == 0)
        return bounds;
    share_out(&b);
    add_up(&b);
    for (uint32_t f = 1; f < n; f++)
        bounds[f] = bound(&b, f);
    return bounds;
}
