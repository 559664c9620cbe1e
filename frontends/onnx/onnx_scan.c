/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX's Scan (opset 9 and later): a loop over an int32 counter, whose
 * variables beside it are the states and the flows of the arrays that take the
 * outputs.
 *
 * An input is transposed so that its axis comes first, and an output so that
 * its first one gets where it belongs; a reversed one is read or written at
 * n - 1 - t.
 */
#include "eddy/onnx_loop.h"

#include "core/base/status.h"
#include "core/value/shape.h"
#include "frontends/onnx/onnx.h"
#include "frontends/shared/attempt.h"

#include <string.h>

typedef struct scan {
    eddy_emitter w;
    eddy__arena arena;
    const eddy_onnx_scan_spec *spec;
    const eddy_shape *declared; /* of scan outputs; NULL: of none */
    size_t n_variables;
    eddy_output n;            /* iterations */
    eddy_output from_the_end; /* n - 1 - t, in the body */
    eddy__sequence *sequences, *arrays;
    eddy__onnx_item *items;
    eddy_shape *invariants;
    eddy_output *variables; /* counter, states, flows */
    eddy_output *inputs;    /* of the body */
    eddy_output *results;   /* of the body */
} scan;

static eddy_onnx_scan_axis axis_of(const eddy_onnx_scan_axis *axes, size_t i)
{
    return axes ? axes[i] : (eddy_onnx_scan_axis){.axis = 0};
}

static eddy_output *flows_of(const scan *k)
{
    return k->variables + 1 + k->spec->n_states;
}

static eddy_status make_lists(scan *k)
{
    const eddy_onnx_scan_spec *s = k->spec;
    const size_t n = s->n_states, m = s->n_inputs, o = s->n_outputs;
    eddy__arena *a = &k->arena;

    if (n > UINT32_MAX / 4 || m > UINT32_MAX / 4 || o > UINT32_MAX / 4)
        return eddy__fail(k->w.err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT,
                          "%zu states, %zu inputs and %zu outputs are too many",
                          n, m, o);
    k->n_variables = 1 + n + o;
    k->sequences = eddy__arena_allocate(a, m, sizeof *k->sequences);
    k->arrays = eddy__arena_allocate(a, o, sizeof *k->arrays);
    k->items = eddy__arena_allocate(a, o, sizeof *k->items);
    k->invariants =
        eddy__arena_allocate(a, k->n_variables, sizeof *k->invariants);
    k->variables =
        eddy__arena_allocate(a, k->n_variables, sizeof *k->variables);
    k->inputs = eddy__arena_allocate(a, n + m, sizeof *k->inputs);
    k->results = eddy__arena_allocate(a, n + o, sizeof *k->results);
    return k->sequences && k->arrays && k->items && k->invariants &&
                   k->variables && k->inputs && k->results
               ? EDDY_OK
               : eddy__fail_memory(k->w.err);
}

/* ---- axes ---- */

static eddy_output write_list(eddy_emitter *w, const eddy_output *parts,
                              size_t n)
{
    eddy_output inputs[4] = {parts[0], parts[1]};

    for (size_t i = 2; i < n; i++)
        inputs[i] = parts[i];
    inputs[n] = eddy_emit_int32(w, 0);
    return eddy_emit_op(w, "ConcatV2", inputs, n + 1, NULL, 0);
}

static eddy_output write_numbers(eddy_emitter *w, eddy_output from,
                                 eddy_output to)
{
    const eddy_output inputs[] = {from, to, eddy_emit_int32(w, 1)};

    return eddy_emit_op(w, "Range", inputs, 3, NULL, 0);
}

/*
 * The order of dimensions that brings `axis` to the front or, with `is_back`,
 * the first dimension to `axis`, for a tensor whose rank only the run knows:
 * [axis, 0, ..., axis - 1, axis + 1, ...] or [1, ..., axis, 0, axis + 1, ...].
 */
static eddy_output write_order(eddy_emitter *w, eddy_output value, int64_t axis,
                               bool is_back)
{
    const eddy_output rank = eddy_emit_unary(w, "Rank", value);
    const eddy_output one = eddy_emit_int32(w, 1);
    const eddy_output zero = eddy_emit_int32(w, 0);
    eddy_output place = eddy_emit_int32(w, (int32_t)axis), next, parts[3];

    if (axis < 0)
        place = eddy_emit_binary(w, "AddV2", rank, place);
    next = eddy_emit_binary(w, "AddV2", place, one);
    parts[0] =
        is_back ? write_numbers(w, one, next) : write_numbers(w, place, next);
    parts[1] =
        is_back ? write_numbers(w, zero, one) : write_numbers(w, zero, place);
    parts[2] = write_numbers(w, next, rank);
    return write_list(w, parts, 3);
}

/* The same for a known rank, as a constant. */
static eddy_output write_known_order(eddy_emitter *w, int32_t rank,
                                     int64_t axis, bool is_back)
{
    const eddy_shape shape = {.rank = 1, .dims = {rank}};
    eddy_tensor *tensor = NULL;
    eddy_output out;

    if (w->status == EDDY_OK)
        w->status = eddy_tensor_create(w->graph->ctx, EDDY_INT32, &shape,
                                       &tensor, w->err);
    if (w->status == EDDY_OK) {
        int32_t *order = eddy_tensor_mutable_data(tensor);

        order[is_back ? axis : 0] = is_back ? 0 : (int32_t)axis;
        for (int32_t d = 0; d < axis; d++)
            order[is_back ? d : d + 1] = is_back ? d + 1 : d;
        for (int32_t d = (int32_t)axis + 1; d < rank; d++)
            order[d] = d;
    }
    out = eddy_emit_const(w, NULL, tensor);
    eddy_tensor_release(tensor);
    return out;
}

eddy_output eddy__onnx_move_axis(eddy_emitter *w, eddy_output value,
                                 int64_t axis, bool is_back)
{
    const eddy_shape shape = eddy__writer_shape_of(w, value);
    eddy_output inputs[] = {value, {EDDY_NO_NODE, 0}};

    if (axis == 0 || w->status != EDDY_OK)
        return value;
    if (axis < -EDDY_MAX_RANK || axis >= EDDY_MAX_RANK ||
        (shape.rank >= 0 && (axis < -shape.rank || axis >= shape.rank))) {
        w->status = eddy__graph_fail_at(
            w->err, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
            &w->graph->nodes[value.node],
            "there is no axis %lld to scan along in shape %s", (long long)axis,
            eddy__shape_print(&shape).text);
        return value;
    }
    if (shape.rank >= 0)
        inputs[1] = write_known_order(
            w, shape.rank, axis < 0 ? axis + shape.rank : axis, is_back);
    else
        inputs[1] = write_order(w, value, axis, is_back);
    return eddy_emit_op(w, "Transpose", inputs, 2, NULL, 0);
}

/* ---- before the loop ---- */

static eddy_status check(const scan *k)
{
    const eddy_onnx_scan_spec *s = k->spec;
    const eddy_graph *graph = k->w.graph;
    eddy_error *err = k->w.err;

    if (s->n_inputs == 0 || s->n_states + s->n_outputs == 0)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT,
                          "a Scan of %zu inputs, %zu states and %zu outputs",
                          s->n_inputs, s->n_states, s->n_outputs);
    EDDY_TRY(eddy__builder_want_values(graph, s->initial, s->n_states, err));
    EDDY_TRY(eddy__builder_want_values(graph, s->inputs, s->n_inputs, err));
    for (size_t i = 0; i < s->n_inputs; i++)
        if (eddy__writer_shape_of(&k->w, s->inputs[i]).rank == 0)
            return eddy__graph_fail_at(err, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                                       &graph->nodes[s->inputs[i].node],
                                       "input %zu of a Scan is a scalar", i);
    return EDDY_OK;
}

/* Lengths that are known to differ need no run to fail. */
static void check_length(scan *k, eddy_output input, int64_t *length)
{
    const eddy_shape shape = eddy__writer_shape_of(&k->w, input);
    const int64_t own = shape.rank > 0 ? shape.dims[0] : -1;

    if (k->w.status == EDDY_OK && own >= 0 && *length >= 0 && own != *length)
        k->w.status = eddy__graph_fail_at(
            k->w.err, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
            &k->w.graph->nodes[input.node],
            "an input of a Scan is %lld long and another one %lld",
            (long long)own, (long long)*length);
    if (own >= 0)
        *length = own;
}

static eddy_status prepare(scan *k)
{
    const eddy_onnx_scan_spec *s = k->spec;
    eddy_emitter *w = &k->w;
    int64_t length = -1;

    for (size_t i = 0; i < s->n_inputs; i++) {
        const eddy_output input = eddy__onnx_move_axis(
            w, s->inputs[i], axis_of(s->input_axes, i).axis, false);

        check_length(k, input, &length);
        if (i == 0)
            k->n = eddy__write_length(w, input);
        k->sequences[i] = eddy__sequence_of_n(w, input, k->n);
    }
    k->variables[0] = eddy_emit_int32(w, 0);
    k->invariants[0] = (eddy_shape){.rank = 0};
    for (size_t i = 0; i < s->n_states; i++) {
        k->variables[1 + i] = s->initial[i];
        k->invariants[1 + i] = eddy__writer_shape_of(w, s->initial[i]);
    }
    for (size_t i = 0; i < s->n_outputs; i++) {
        k->arrays[i] = eddy__sequence_new(w, EDDY_FLOAT32, k->n, false);
        flows_of(k)[i] = k->arrays[i].flow;
        k->invariants[1 + s->n_states + i] = (eddy_shape){.rank = 0};
    }
    return w->status;
}

/* ---- the loop ---- */

static eddy_status begin_loop(scan *k)
{
    const eddy_onnx_scan_spec *s = k->spec;
    const eddy_while_spec spec = {
        .size = sizeof spec,
        .name = s->name && *s->name ? s->name : "scan",
        .initial = k->variables,
        .n_variables = k->n_variables,
        .parallel_iterations = s->parallel_iterations,
        .shape_invariants = k->invariants,
        .no_back_prop = s->no_back_prop,
        .swap_memory = s->swap_memory,
    };
    eddy_emitter *w = &k->w;
    eddy_output go_on;

    EDDY_TRY(eddy_while_begin(w->graph, &spec, k->variables, w->err));
    go_on = eddy_emit_binary(w, "Less", k->variables[0], k->n);
    EDDY_TRY(w->status);
    return eddy_while_body(w->graph, go_on, k->variables, w->err);
}

/* Where something stands in iteration t, forward or backward. */
static eddy_output index_of(scan *k, bool reverse)
{
    eddy_emitter *w = &k->w;

    if (!reverse)
        return k->variables[0];
    if (k->from_the_end.node == EDDY_NO_NODE) {
        k->from_the_end =
            eddy_emit_binary(w, "Sub", k->n, eddy_emit_int32(w, 1));
        k->from_the_end =
            eddy_emit_binary(w, "Sub", k->from_the_end, k->variables[0]);
    }
    return k->from_the_end;
}

static eddy_status build_body(scan *k)
{
    const eddy_onnx_scan_spec *s = k->spec;
    const size_t n = s->n_states, n_results = n + s->n_outputs;
    const eddy_branch body = {s->body, s->user};
    eddy_emitter *w = &k->w;

    for (size_t i = 0; i < n; i++)
        k->inputs[i] = k->variables[1 + i];
    for (size_t i = 0; i < s->n_inputs; i++)
        k->inputs[n + i] =
            eddy__sequence_read(w, &k->sequences[i],
                                index_of(k, axis_of(s->input_axes, i).reverse));
    for (size_t i = 0; i < n_results; i++)
        k->results[i] = (eddy_output){EDDY_NO_NODE, 0};
    EDDY_TRY(w->status);
    EDDY_TRY(eddy__build_part(w->graph, &body, k->inputs, n + s->n_inputs,
                              k->results, w->err));
    EDDY_TRY(
        eddy__builder_want_values(w->graph, k->results, n_results, w->err));
    eddy__onnx_check(w, k->results, k->inputs, n);
    return w->status;
}

static eddy_status end_loop(scan *k)
{
    static const eddy_shape unknown = {.rank = -1};
    const eddy_onnx_scan_spec *s = k->spec;
    const eddy_output *outputs = k->results + s->n_states;
    eddy_emitter *w = &k->w;
    eddy_output *v = k->variables;

    for (size_t i = 0; i < s->n_outputs && w->status == EDDY_OK; i++) {
        eddy__sequence_settle(w, &k->arrays[i],
                              eddy_graph_output_dtype(w->graph, outputs[i]),
                              &unknown);
        flows_of(k)[i] = eddy__sequence_write(
            w, &k->arrays[i], flows_of(k)[i],
            index_of(k, axis_of(s->output_axes, i).reverse), outputs[i]);
    }
    v[0] = eddy_emit_binary(w, "AddV2", v[0], eddy_emit_int32(w, 1));
    if (s->n_states > 0)
        memcpy(v + 1, k->results, s->n_states * sizeof *v);
    EDDY_TRY(w->status);
    eddy__onnx_items(w, v, outputs, s->n_outputs, k->declared, k->items);
    return eddy_while_end(w->graph, v, k->n_variables, v, w->err);
}

static eddy_status write_scan(scan *k, eddy_output *out_results)
{
    const eddy_onnx_scan_spec *s = k->spec;
    eddy_emitter *w = &k->w;

    EDDY_TRY(check(k));
    EDDY_TRY(make_lists(k));
    EDDY_TRY(prepare(k));
    EDDY_TRY(begin_loop(k));
    EDDY_TRY(build_body(k));
    EDDY_TRY(end_loop(k));
    if (s->n_states > 0)
        memcpy(k->results, k->variables + 1, s->n_states * sizeof *k->results);
    for (size_t i = 0; i < s->n_outputs; i++)
        k->results[s->n_states + i] = eddy__onnx_move_axis(
            w,
            eddy__onnx_stack(w, &k->arrays[i], flows_of(k)[i], k->n,
                             &k->items[i]),
            axis_of(s->output_axes, i).axis, true);
    EDDY_TRY(w->status);
    memcpy(out_results, k->results,
           (s->n_states + s->n_outputs) * sizeof *out_results);
    return EDDY_OK;
}

eddy_status eddy__onnx_scan_declared(eddy_graph *graph,
                                     const eddy_onnx_scan_spec *spec,
                                     const eddy_shape *declared,
                                     eddy_output *out_results, eddy_error *err)
{
    eddy__attempt attempt;
    eddy_status status;
    scan k;

    EDDY_REFUSE_IF(!graph, err, "no graph");
    EDDY_REFUSE_IF(!spec, err, "no specification of the Scan");
    EDDY_REFUSE_IF(spec->size != sizeof *spec, err,
                   "the specification of the Scan has the wrong size");
    EDDY_REFUSE_IF(!spec->body, err, "no body");
    EDDY_REFUSE_IF(!out_results, err, "nowhere to put the results");
    k = (scan){.w = eddy_emitter_of(graph, err),
               .arena.allocator = graph->arena.allocator,
               .spec = spec,
               .declared = declared,
               .from_the_end = {EDDY_NO_NODE, 0}};
    EDDY_TRY(eddy__attempt_begin(&attempt, graph, err));
    status = eddy__attempt_end(&attempt, write_scan(&k, out_results));
    eddy__arena_destroy(&k.arena);
    return status;
}

eddy_status eddy_onnx_scan(eddy_graph *graph, const eddy_onnx_scan_spec *spec,
                           eddy_output *out_results, eddy_error *err)
{
    return eddy__onnx_scan_declared(graph, spec, NULL, out_results, err);
}
