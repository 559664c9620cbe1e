/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops with taps: their outputs before and after, and which steps have
 * gradients.
 *
 * A truncated gradient takes two loops, not a mark on each step: the first does
 * the early steps, and nothing that it made passes on a gradient; the second
 * goes on from there.  So the early steps keep nothing for a gradient either.
 * Where a step may end the loop, only the first finds out which steps are the
 * last, so it does them all, and the second does the last ones again.
 */
#include "frontends/theano/taps.h"

#include "core/base/status.h"
#include "core/graph/graph.h"
#include "core/value/shape.h"

#include <stdio.h>

/* ---- small things ---- */

eddy_output eddy__taps_row(eddy_emitter *w, eddy_output rows, eddy_output index)
{
    const eddy_output inputs[] = {rows, index, eddy_emit_int32(w, 0)};

    return eddy_emit_op(w, "GatherV2", inputs, 3, NULL, 0);
}

static eddy_output stop_gradient(eddy_emitter *w, eddy_output x)
{
    return eddy_emit_unary(w, "StopGradient", x);
}

/* A vector of one element, for where the ends of slices are given. */
static eddy_output as_vector(eddy_emitter *w, eddy_output x)
{
    return eddy_emit_binary(w, "ExpandDims", x, eddy_emit_int32(w, 0));
}

/* Rows 0 to n - 1. */
static eddy_output write_head(eddy_emitter *w, eddy_output rows, eddy_output n)
{
    const eddy_output inputs[] = {rows, as_vector(w, eddy_emit_int32(w, 0)),
                                  as_vector(w, n),
                                  as_vector(w, eddy_emit_int32(w, 1))};

    return eddy_emit_op(w, "StridedSlice", inputs, 4, NULL, 0);
}

static eddy_output write_concat(eddy_emitter *w, eddy_output a, eddy_output b)
{
    const eddy_output inputs[] = {a, b, eddy_emit_int32(w, 0)};

    return eddy_emit_op(w, "ConcatV2", inputs, 3, NULL, 0);
}

/* ---- before the loop ---- */

/* How far back the taps reach. */
static size_t past_of(const eddy__tapped_output *out)
{
    int64_t furthest = 0;

    for (size_t i = 0; out->initial && i < out->n_taps; i++)
        if (out->taps[i] < furthest)
            furthest = out->taps[i];
    return (size_t)-furthest;
}

static void check_initial(eddy__taps *t, size_t i)
{
    eddy__tapped_output *out = &t->outputs[i];
    const eddy_shape shape = eddy__writer_shape_of(&t->w, *out->initial);

    out->dtype = eddy_graph_output_dtype(t->w.graph, *out->initial);
    out->item = out->has_rows ? eddy__writer_item_shape_of(&t->w, *out->initial)
                              : shape;
    if (!out->has_rows || shape.rank < 0)
        return;
    if (shape.rank == 0 ||
        (shape.dims[0] >= 0 && (size_t)shape.dims[0] < out->n_past))
        eddy__taps_fail(&t->w, *out->initial, EDDY_E_SHAPE,
                        "the initial value of output %zu of '%.64s' has shape "
                        "%s; its taps want %zu rows",
                        i, t->name, eddy__shape_print(&shape).text,
                        out->n_past);
}

static void prepare_outputs(eddy__taps *t)
{
    t->n_past = 0;
    for (size_t i = 0; i < t->n_outputs && t->w.status == EDDY_OK; i++) {
        eddy__tapped_output *out = &t->outputs[i];

        out->item = eddy__shape_unknown();
        out->n_past = past_of(out);
        out->first = t->n_past;
        t->n_past += out->n_past;
        if (out->initial)
            check_initial(t, i);
    }
}

static size_t count_args(const eddy__taps *t)
{
    size_t n = t->n_rest;

    for (size_t i = 0; i < t->n_inputs; i++)
        n += t->inputs[i].n_taps;
    for (size_t i = 0; i < t->n_outputs; i++)
        n += t->outputs[i].initial ? t->outputs[i].n_taps : 0;
    return n;
}

/* ---- the state of a loop ---- */

static bool make_span(eddy__taps *t, eddy__span *span)
{
    span->past =
        eddy__arena_allocate_zeroed(&t->arena, t->n_past, sizeof *span->past);
    span->flows = eddy__arena_allocate_zeroed(&t->arena, t->n_outputs,
                                              sizeof *span->flows);
    return (span->past && span->flows) ||
           eddy_emit_check(&t->w, eddy__fail_memory(t->w.err));
}

/* The initial values as rows, as many as the taps want. */
static eddy_output initial_rows(eddy__taps *t, const eddy__tapped_output *out)
{
    eddy_emitter *w = &t->w;

    if (!out->has_rows)
        return as_vector(w, *out->initial);
    return write_head(w, *out->initial,
                      eddy_emit_int32(w, (int32_t)out->n_past));
}

/* What its register `j` holds before the first step. */
static eddy_output initial_value(eddy__taps *t, const eddy__tapped_output *out,
                                 size_t j)
{
    return out->has_rows ? eddy__taps_row(&t->w, *out->initial,
                                          eddy_emit_int32(&t->w, (int32_t)j))
                         : *out->initial;
}

static void start_past(eddy__taps *t, eddy__span *span)
{
    for (size_t i = 0; i < t->n_outputs; i++) {
        const eddy__tapped_output *out = &t->outputs[i];

        for (size_t j = 0; j < out->n_past; j++)
            span->past[out->first + j] = initial_value(t, out, j);
    }
}

/* New rows for every output; their dtype is settled in the loop. */
static void start_rows(eddy__taps *t, eddy__span *span)
{
    for (size_t i = 0; i < t->n_outputs; i++) {
        eddy__tapped_output *out = &t->outputs[i];

        out->rows = eddy__sequence_new(&t->w, EDDY_FLOAT32, t->steps, false);
        span->flows[i] = out->rows.flow;
    }
}

/* The results of a loop that has taken all steps. */
static void stack_rows(eddy__taps *t, const eddy__span *span, eddy_output n)
{
    for (size_t i = 0; i < t->n_outputs; i++) {
        eddy__tapped_output *out = &t->outputs[i];

        out->stacked = eddy__sequence_stack(&t->w, &out->rows, span->flows[i],
                                            n, &out->item);
    }
}

static void keep_newest(eddy__taps *t, const eddy__span *span)
{
    for (size_t i = 0; i < t->n_outputs; i++) {
        eddy__tapped_output *out = &t->outputs[i];

        out->newest = out->n_past > 0 ? span->past[out->first + out->n_past - 1]
                                      : (eddy_output){EDDY_NO_NODE, 0};
    }
}

/* ---- all steps alike ---- */

static void build_whole(eddy__taps *t, eddy__span *span)
{
    span->first = eddy_emit_int32(&t->w, 0);
    span->end = t->steps;
    span->stops = t->has_until;
    start_past(t, span);
    start_rows(t, span);
    eddy__taps_add_loop(t, span);
    t->n_taken = span->stops ? span->at : t->steps;
    stack_rows(t, span, t->n_taken);
}

/* ---- only the last steps have gradients ---- */

/* The first step that has one, of `n`. */
static eddy_output first_kept(eddy__taps *t, eddy_output n)
{
    eddy_emitter *w = &t->w;
    const int32_t kept =
        t->truncate < INT32_MAX ? (int32_t)t->truncate : INT32_MAX;
    const eddy_output cut =
        eddy_emit_binary(w, "Sub", n, eddy_emit_int32(w, kept));

    return eddy_emit_binary(w, "Maximum", cut, eddy_emit_int32(w, 0));
}

/*
 * The past of step `at`, where the early steps have left `span`.  What is from
 * before step 0 is still the initial value, which has a gradient.
 */
static void resume_past(eddy__taps *t, eddy__span *span, eddy_output at)
{
    eddy_emitter *w = &t->w;

    for (size_t i = 0; i < t->n_outputs; i++) {
        const eddy__tapped_output *out = &t->outputs[i];
        const eddy_output n = eddy_emit_int32(w, (int32_t)out->n_past);

        for (size_t j = 0; j < out->n_past; j++) {
            eddy_output *past = &span->past[out->first + j];
            const eddy_output row = eddy_emit_binary(
                w, "AddV2", at, eddy_emit_int32(w, (int32_t)j));
            const eddy_output last =
                eddy_emit_int32(w, (int32_t)out->n_past - 1);
            eddy_output either[] = {eddy_emit_binary(w, "GreaterEqual", row, n),
                                    stop_gradient(w, *past), *out->initial};

            if (out->has_rows)
                either[2] =
                    eddy__taps_row(w, *out->initial,
                                   eddy_emit_binary(w, "Minimum", row, last));
            *past = eddy_emit_op(w, "SelectV2", either, 3, NULL, 0);
        }
    }
}

/* The number of steps is known beforehand: the loops share them. */
static void build_split(eddy__taps *t, eddy__span *span)
{
    eddy_emitter *w = &t->w;

    span->first = eddy_emit_int32(w, 0);
    span->end = first_kept(t, t->steps);
    start_past(t, span);
    start_rows(t, span);
    eddy__taps_add_loop(t, span);
    resume_past(t, span, span->end);
    for (size_t i = 0; i < t->n_outputs; i++)
        span->flows[i] = stop_gradient(w, span->flows[i]);
    span->first = span->end;
    span->end = t->steps;
    eddy__taps_add_loop(t, span);
    t->n_taken = t->steps;
    stack_rows(t, span, t->n_taken);
}

/* Rows `first` to `end` - 1 of what a loop has written. */
static eddy_output stack_tail(eddy__taps *t, const eddy__tapped_output *out,
                              const eddy__span *span, size_t i)
{
    eddy_emitter *w = &t->w;
    const eddy_output range[] = {span->first, span->end, eddy_emit_int32(w, 1)};
    const eddy_output inputs[] = {out->rows.handle,
                                  eddy_emit_op(w, "Range", range, 3, NULL, 0),
                                  span->flows[i]};
    const eddy_attr attrs[] = {
        eddy_attr_type("dtype", &out->rows.dtype),
        eddy_attr_shape("element_shape", &out->item),
    };

    return eddy_emit_op(w, "TensorArrayGatherV3", inputs, 3, attrs, 2);
}

/* The past of step `at`, out of the rows of all steps. */
static void replay_past(eddy__taps *t, eddy__span *span, eddy_output at)
{
    eddy_emitter *w = &t->w;

    for (size_t i = 0; i < t->n_outputs; i++) {
        const eddy__tapped_output *out = &t->outputs[i];
        eddy_output all;

        if (out->n_past == 0)
            continue;
        all = write_concat(w, initial_rows(t, out), out->stacked);
        for (size_t j = 0; j < out->n_past; j++)
            span->past[out->first + j] = eddy__taps_row(
                w, all,
                eddy_emit_binary(w, "AddV2", at,
                                 eddy_emit_int32(w, (int32_t)j)));
    }
}

static void build_replay(eddy__taps *t, eddy__span *span)
{
    eddy_emitter *w = &t->w;

    build_whole(t, span);
    for (size_t i = 0; i < t->n_outputs; i++)
        t->outputs[i].stacked = stop_gradient(w, t->outputs[i].stacked);
    span->first = first_kept(t, t->n_taken);
    span->end = t->n_taken;
    span->stops = false;
    replay_past(t, span, span->first);
    start_rows(t, span);
    eddy__taps_add_loop(t, span);
    for (size_t i = 0; i < t->n_outputs; i++) {
        eddy__tapped_output *out = &t->outputs[i];

        out->stacked = write_concat(w, write_head(w, out->stacked, span->first),
                                    stack_tail(t, out, span, i));
    }
}

/* ---- the call ---- */

static void build(eddy__taps *t)
{
    eddy__span span = {.stops = false};

    prepare_outputs(t);
    t->n_args = count_args(t);
    if (t->w.status != EDDY_OK || !make_span(t, &span))
        return;
    eddy__taps_prepare_inputs(t);
    if (t->truncate == 0)
        build_whole(t, &span);
    else if (t->has_until)
        build_replay(t, &span);
    else
        build_split(t, &span);
    keep_newest(t, &span);
}

eddy_status eddy__taps_build(eddy_graph *graph, eddy__taps *t, eddy_error *err)
{
    t->w = eddy_emitter_of(graph, err);
    t->arena = (eddy__arena){.allocator = graph->arena.allocator};
    build(t);
    eddy__arena_destroy(&t->arena);
    return t->w.status;
}
