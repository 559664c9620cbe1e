/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX's Loop and If.
 *
 * A Loop's variables are the iteration, which is int64; the condition, if it is
 * not absent; the carried values; and the flows of the arrays that take the
 * scan outputs, which grow, as nobody knows beforehand how many iterations
 * there will be.  Afterwards the iteration says.
 */
#include "eddy/onnx_loop.h"

#include "core/base/status.h"
#include "frontends/onnx/onnx.h"
#include "frontends/shared/attempt.h"

#include <string.h>

typedef struct loop {
    eddy_emitter w;
    eddy__arena arena;
    const eddy_onnx_loop_spec *spec;
    const eddy_shape *declared; /* of scan outputs; NULL: of none */
    bool has_condition;
    size_t n_variables;
    eddy_output limit; /* a scalar, if there is one */
    eddy__sequence *arrays;
    eddy__onnx_item *items;
    eddy_output *variables; /* iteration, condition, carried, flows */
    eddy_output *inputs;    /* of the body */
    eddy_output *results;   /* of the body */
} loop;

static eddy_output *carried_of(const loop *l)
{
    return l->variables + 1 + l->has_condition;
}

static eddy_output *flows_of(const loop *l)
{
    return carried_of(l) + l->spec->n_carried;
}

static eddy_status make_lists(loop *l)
{
    const size_t n = l->spec->n_carried, k = l->spec->n_scan_outputs;
    eddy__arena *a = &l->arena;

    if (n > UINT32_MAX / 4 || k > UINT32_MAX / 4)
        return eddy__fail(l->w.err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT,
                          "%zu carried values and %zu scan outputs are too "
                          "many",
                          n, k);
    l->n_variables = 1 + l->has_condition + n + k;
    l->arrays = eddy__arena_allocate(a, k, sizeof *l->arrays);
    l->items = eddy__arena_allocate(a, k, sizeof *l->items);
    l->variables =
        eddy__arena_allocate(a, l->n_variables, sizeof *l->variables);
    l->inputs = eddy__arena_allocate(a, 2 + n, sizeof *l->inputs);
    l->results = eddy__arena_allocate(a, 1 + n + k, sizeof *l->results);
    return l->arrays && l->items && l->variables && l->inputs && l->results
               ? EDDY_OK
               : eddy__fail_memory(l->w.err);
}

static eddy_status check(const loop *l)
{
    const eddy_onnx_loop_spec *s = l->spec;
    const eddy_graph *graph = l->w.graph;
    eddy_error *err = l->w.err;
    eddy_dtype dtype;

    if (s->n_carried + s->n_scan_outputs == 0)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT,
                          "a loop without carried values and scan outputs");
    EDDY_TRY(eddy__builder_want_values(graph, s->initial, s->n_carried, err));
    if (s->condition)
        EDDY_TRY(eddy__builder_want_values(graph, s->condition, 1, err));
    if (!s->trip_count)
        return EDDY_OK;
    EDDY_TRY(eddy__builder_want_values(graph, s->trip_count, 1, err));
    dtype = eddy_graph_output_dtype(graph, *s->trip_count);
    if (dtype == EDDY_INT64)
        return EDDY_OK;
    return eddy__graph_fail_at(err, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                               &graph->nodes[s->trip_count->node],
                               "the trip count is %s, int64 is wanted",
                               eddy_dtype_name(dtype));
}

/* What the variables start with.  The arrays get their dtype from the body. */
static eddy_status prepare(loop *l)
{
    const eddy_onnx_loop_spec *s = l->spec;
    eddy_emitter *w = &l->w;
    eddy_output none = {EDDY_NO_NODE, 0};

    if (s->trip_count)
        l->limit = eddy__onnx_scalar(w, *s->trip_count, "the trip count");
    l->variables[0] = eddy_emit_int64(w, 0);
    if (s->condition)
        l->variables[1] =
            eddy__onnx_condition(w, *s->condition, "the condition");
    for (size_t i = 0; i < s->n_carried; i++)
        carried_of(l)[i] = s->initial[i];
    if (s->n_scan_outputs > 0)
        none = eddy_emit_int32(w, 0);
    for (size_t i = 0; i < s->n_scan_outputs; i++) {
        l->arrays[i] = eddy__sequence_new(w, EDDY_FLOAT32, none, true);
        flows_of(l)[i] = l->arrays[i].flow;
    }
    return w->status;
}

static eddy_status begin_loop(loop *l)
{
    const eddy_onnx_loop_spec *s = l->spec;
    const eddy_while_spec spec = {
        .size = sizeof spec,
        .name = s->name && *s->name ? s->name : "loop",
        .initial = l->variables,
        .n_variables = l->n_variables,
        .parallel_iterations = s->parallel_iterations,
        .no_back_prop = s->no_back_prop,
        .swap_memory = s->swap_memory,
    };
    eddy_emitter *w = &l->w;
    eddy_output *v = l->variables, go_on;

    EDDY_TRY(eddy_while_begin(w->graph, &spec, v, w->err));
    go_on = l->has_condition ? v[1] : (eddy_output){EDDY_NO_NODE, 0};
    if (s->trip_count) {
        const eddy_output below = eddy_emit_binary(w, "Less", v[0], l->limit);

        go_on = l->has_condition
                    ? eddy_emit_binary(w, "LogicalAnd", below, go_on)
                    : below;
    } else if (!l->has_condition) {
        go_on = eddy_emit_bool(w, true);
    }
    EDDY_TRY(w->status);
    return eddy_while_body(w->graph, go_on, v, w->err);
}

/* Has the body built, and looks at what it gives. */
static eddy_status build_body(loop *l)
{
    const eddy_onnx_loop_spec *s = l->spec;
    const size_t n = s->n_carried, n_results = 1 + n + s->n_scan_outputs;
    const eddy_branch body = {s->body, s->user};
    eddy_emitter *w = &l->w;

    l->inputs[0] = l->variables[0];
    l->inputs[1] = l->has_condition ? l->variables[1] : eddy_emit_bool(w, true);
    for (size_t i = 0; i < n; i++)
        l->inputs[2 + i] = carried_of(l)[i];
    for (size_t i = 0; i < n_results; i++)
        l->results[i] = (eddy_output){EDDY_NO_NODE, 0};
    EDDY_TRY(w->status);
    EDDY_TRY(eddy__build_part(w->graph, &body, l->inputs, 2 + n, l->results,
                              w->err));
    EDDY_TRY(
        eddy__builder_want_values(w->graph, l->results, n_results, w->err));
    l->results[0] = eddy__onnx_condition(w, l->results[0],
                                         "the condition that the body gives");
    eddy__onnx_check(w, l->results + 1, l->inputs + 2, n);
    return w->status;
}

/* Puts the scan outputs into their arrays, whose dtypes are now known. */
static void write_scans(loop *l)
{
    static const eddy_shape unknown = {.rank = -1};
    const eddy_output *scans = l->results + 1 + l->spec->n_carried;
    eddy_emitter *w = &l->w;
    eddy_output index = {EDDY_NO_NODE, 0};

    if (l->spec->n_scan_outputs > 0)
        index = eddy_emit_cast(w, l->variables[0], EDDY_INT32);
    for (size_t i = 0; i < l->spec->n_scan_outputs; i++) {
        if (w->status != EDDY_OK)
            return;
        eddy__sequence_settle(w, &l->arrays[i],
                              eddy_graph_output_dtype(w->graph, scans[i]),
                              &unknown);
        flows_of(l)[i] = eddy__sequence_write(w, &l->arrays[i], flows_of(l)[i],
                                              index, scans[i]);
    }
}

static eddy_status end_loop(loop *l)
{
    const eddy_onnx_loop_spec *s = l->spec;
    eddy_emitter *w = &l->w;
    eddy_output *v = l->variables;

    write_scans(l);
    v[0] = eddy_emit_binary(w, "AddV2", v[0], eddy_emit_int64(w, 1));
    if (l->has_condition)
        v[1] = l->results[0];
    if (s->n_carried > 0)
        memcpy(carried_of(l), l->results + 1, s->n_carried * sizeof *v);
    EDDY_TRY(w->status);
    eddy__onnx_items(w, v, l->results + 1 + s->n_carried, s->n_scan_outputs,
                     l->declared, l->items);
    return eddy_while_end(w->graph, v, l->n_variables, v, w->err);
}

static eddy_status write_loop(loop *l, eddy_output *out_results)
{
    const eddy_onnx_loop_spec *s = l->spec;
    eddy_emitter *w = &l->w;
    eddy_output n = {EDDY_NO_NODE, 0};

    EDDY_TRY(check(l));
    EDDY_TRY(make_lists(l));
    EDDY_TRY(prepare(l));
    EDDY_TRY(begin_loop(l));
    EDDY_TRY(build_body(l));
    EDDY_TRY(end_loop(l));
    if (s->n_scan_outputs > 0)
        n = eddy_emit_cast(w, l->variables[0], EDDY_INT32);
    for (size_t i = 0; i < s->n_scan_outputs; i++)
        l->results[s->n_carried + i] =
            eddy__onnx_stack(w, &l->arrays[i], flows_of(l)[i], n, &l->items[i]);
    EDDY_TRY(w->status);
    for (size_t i = 0; i < s->n_carried; i++)
        l->results[i] = carried_of(l)[i];
    memcpy(out_results, l->results,
           (s->n_carried + s->n_scan_outputs) * sizeof *out_results);
    return EDDY_OK;
}

eddy_status eddy__onnx_loop_declared(eddy_graph *graph,
                                     const eddy_onnx_loop_spec *spec,
                                     const eddy_shape *declared,
                                     eddy_output *out_results, eddy_error *err)
{
    eddy__attempt attempt;
    eddy_status status;
    loop l;

    EDDY_REFUSE_IF(!graph, err, "no graph");
    EDDY_REFUSE_IF(!spec, err, "no specification of the loop");
    EDDY_REFUSE_IF(spec->size != sizeof *spec, err,
                   "the specification of the loop has the wrong size");
    EDDY_REFUSE_IF(!spec->body, err, "no body");
    EDDY_REFUSE_IF(!out_results, err, "nowhere to put the results");
    l = (loop){.w = eddy_emitter_of(graph, err),
               .arena.allocator = graph->arena.allocator,
               .spec = spec,
               .declared = declared,
               .has_condition = spec->condition != NULL};
    EDDY_TRY(eddy__attempt_begin(&attempt, graph, err));
    status = eddy__attempt_end(&attempt, write_loop(&l, out_results));
    eddy__arena_destroy(&l.arena);
    return status;
}

eddy_status eddy_onnx_loop(eddy_graph *graph, const eddy_onnx_loop_spec *spec,
                           eddy_output *out_results, eddy_error *err)
{
    return eddy__onnx_loop_declared(graph, spec, NULL, out_results, err);
}

/* ---- If ---- */

static eddy_status write_if(eddy_graph *graph, const eddy_onnx_if_spec *spec,
                            eddy_output *out_results, eddy_error *err)
{
    eddy_emitter w = eddy_emitter_of(graph, err);
    const eddy_branch branches[] = {spec->then_branch, spec->else_branch};
    const eddy_cond_spec cond = {
        .size = sizeof cond,
        .name = spec->name && *spec->name ? spec->name : "if",
        .predicate = eddy__onnx_condition(&w, spec->condition, "the condition"),
    };

    EDDY_TRY(w.status);
    return eddy_cond(graph, &cond, branches, spec->n_results, out_results, err);
}

eddy_status eddy_onnx_if(eddy_graph *graph, const eddy_onnx_if_spec *spec,
                         eddy_output *out_results, eddy_error *err)
{
    eddy__attempt attempt;

    EDDY_REFUSE_IF(!graph, err, "no graph");
    EDDY_REFUSE_IF(!spec, err, "no specification of the branches");
    EDDY_REFUSE_IF(spec->size != sizeof *spec, err,
                   "the specification of the branches has the wrong size");
    EDDY_REFUSE_IF(!out_results, err, "nowhere to put the results");
    EDDY_TRY(eddy__builder_want_values(graph, &spec->condition, 1, err));
    if (spec->n_results == 0)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT,
                          "an If without results");
    EDDY_TRY(eddy__attempt_begin(&attempt, graph, err));
    return eddy__attempt_end(&attempt, write_if(graph, spec, out_results, err));
}
