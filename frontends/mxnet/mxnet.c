/* SPDX-License-Identifier: Apache-2.0 */
/* MXNet's foreach, while_loop and cond in graphs. */
#include "eddy/mxnet.h"

#include "core/base/status.h"
#include "core/value/dtype.h"
#include "frontends/mxnet/mxnet_loop.h"
#include "frontends/shared/attempt.h"

#include <stdint.h>

static const eddy_output no_output = {EDDY_NO_NODE, 0};

/* Counts that no allocation or sum of them can bear are refused. */
static bool are_counts(size_t a, size_t b, size_t c)
{
    const size_t most = UINT32_MAX / 8;

    return a <= most && b <= most && c <= most;
}

/* ---- foreach ---- */

static eddy_status check_foreach(const eddy_graph *graph,
                                 const eddy_mxnet_foreach_spec *spec,
                                 const eddy_output *out_outputs,
                                 const eddy_output *out_states, eddy_error *err)
{
    EDDY_REFUSE_IF(!graph, err, "no graph");
    EDDY_REFUSE_IF(!spec, err, "no specification of the foreach");
    EDDY_REFUSE_IF(spec->size != sizeof *spec, err,
                   "the specification of the foreach has the wrong size");
    EDDY_REFUSE_IF(!spec->body, err, "the foreach has no body");
    EDDY_REFUSE_IF(spec->n_outputs > 0 && !out_outputs, err,
                   "nowhere to put the outputs of the foreach");
    EDDY_REFUSE_IF(spec->n_states > 0 && !out_states, err,
                   "nowhere to put the states of the foreach");
    EDDY_REFUSE_IF(spec->n_states > 0 && !spec->states, err,
                   "NULL for the states of the foreach");
    EDDY_REFUSE_IF(spec->n_inputs > 0 && !spec->inputs, err,
                   "NULL for the inputs of the foreach");
    if (spec->n_inputs == 0 || spec->n_outputs + spec->n_states == 0 ||
        !are_counts(spec->n_inputs, spec->n_outputs, spec->n_states))
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT,
                          "a foreach over %zu inputs with %zu outputs and %zu "
                          "states: it needs an input, and an output or a state",
                          spec->n_inputs, spec->n_outputs, spec->n_states);
    EDDY_TRY(
        eddy__builder_want_values(graph, spec->inputs, spec->n_inputs, err));
    return eddy__builder_want_values(graph, spec->states, spec->n_states, err);
}

/* What is known of the first dimension of an input, in `*length`, or -1. */
static eddy_status find_length(const eddy_emitter *w, eddy_output input,
                               int64_t *length)
{
    const eddy_shape shape = eddy__writer_shape_of(w, input);

    *length = shape.rank > 0 ? shape.dims[0] : -1;
    if (shape.rank != 0)
        return EDDY_OK;
    return eddy__fail_node(w->err, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           eddy_graph_node_name(w->graph, input.node), NULL,
                           "a foreach over a scalar; it wants tensors with a "
                           "first dimension");
}

static eddy_status fail_lengths(const eddy_emitter *w,
                                const eddy_mxnet_foreach_spec *spec, size_t i,
                                int64_t first, int64_t other)
{
    return eddy__fail_node(
        w->err, EDDY_INVALID_ARGUMENT, EDDY_E_DIM,
        eddy_graph_node_name(w->graph, spec->inputs[i].node), NULL,
        "input %zu of a foreach has length %lld, input 0 has %lld", i,
        (long long)other, (long long)first);
}

/* An Assert that two lengths are equal; gives its node. */
static eddy_node write_assert(eddy_emitter *w, eddy_output first,
                              eddy_output other)
{
    const eddy_output inputs[] = {eddy_emit_binary(w, "Equal", first, other),
                                  first, other};

    return eddy_emit_op(w, "Assert", inputs, 3, NULL, 0).node;
}

/* The length of all inputs, which a run finds equal or fails. */
static eddy_status write_length(eddy_emitter *w,
                                const eddy_mxnet_foreach_spec *spec,
                                eddy_output *out_length)
{
    eddy_output length = eddy__write_length(w, spec->inputs[0]);
    int64_t first, other;

    EDDY_TRY(find_length(w, spec->inputs[0], &first));
    for (size_t i = 1; i < spec->n_inputs; i++) {
        eddy_node_spec waits = {.size = sizeof waits, .op = "Identity"};
        const eddy_output before = length;
        eddy_node assertion;

        EDDY_TRY(find_length(w, spec->inputs[i], &other));
        if (first >= 0 && other >= 0 && first != other)
            return fail_lengths(w, spec, i, first, other);
        if (first >= 0 && first == other)
            continue;
        assertion =
            write_assert(w, length, eddy__write_length(w, spec->inputs[i]));
        EDDY_TRY(w->status);
        waits.inputs = &before;
        waits.n_inputs = 1;
        waits.controls = &assertion;
        waits.n_controls = 1;
        EDDY_TRY(eddy_graph_add(w->graph, &waits, &length.node, w->err));
    }
    *out_length = length;
    return w->status;
}

static eddy_status add_foreach(eddy_graph *graph,
                               const eddy_mxnet_foreach_spec *spec,
                               eddy_output *out_outputs,
                               eddy_output *out_states, eddy_error *err)
{
    eddy_emitter w = eddy_emitter_of(graph, err);
    eddy__mxnet_loop l = {
        .name = spec->name && *spec->name ? spec->name : "foreach",
        .inputs = spec->inputs,
        .n_inputs = spec->n_inputs,
        .states = spec->states,
        .n_states = spec->n_states,
        .n_outputs = spec->n_outputs,
        .body = spec->body,
        .user = spec->user,
        .output_items = spec->output_items,
        .changes_shape = spec->changes_shape,
        .parallel_iterations = spec->parallel_iterations,
    };

    EDDY_TRY(write_length(&w, spec, &l.limit));
    return eddy__mxnet_write(&w, &l, out_outputs, out_states, NULL);
}

eddy_status eddy_mxnet_foreach(eddy_graph *graph,
                               const eddy_mxnet_foreach_spec *spec,
                               eddy_output *out_outputs,
                               eddy_output *out_states, eddy_error *err)
{
    eddy__attempt attempt;

    EDDY_TRY(check_foreach(graph, spec, out_outputs, out_states, err));
    EDDY_TRY(eddy__attempt_begin(&attempt, graph, err));
    return eddy__attempt_end(
        &attempt, add_foreach(graph, spec, out_outputs, out_states, err));
}

/* ---- while_loop ---- */

static eddy_status check_maximum(const eddy_graph *graph,
                                 const eddy_mxnet_while_spec *spec,
                                 eddy_error *err)
{
    const eddy_output *from = spec->max_iterations_from;
    eddy_dtype dtype;

    if (spec->max_iterations < 0 || spec->max_iterations > INT32_MAX ||
        (from && spec->max_iterations > 0) ||
        (!from && spec->max_iterations == 0 && spec->n_outputs > 0))
        return eddy__fail(
            err, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
            "max_iterations is %lld%s; with outputs there must be one, from 1 "
            "to 2^31 - 1, or a tensor of one",
            (long long)spec->max_iterations,
            from ? " and a tensor as well" : "");
    if (!from)
        return EDDY_OK;
    EDDY_TRY(eddy__builder_want_values(graph, from, 1, err));
    dtype = eddy_graph_output_dtype(graph, *from);
    if (eddy__dtype_in(dtype, EDDY__INTEGERS))
        return EDDY_OK;
    return eddy__fail_node(err, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                           eddy_graph_node_name(graph, from->node), NULL,
                           "max_iterations is %s, an integer is wanted",
                           eddy_dtype_name(dtype));
}

static eddy_status check_while(const eddy_graph *graph,
                               const eddy_mxnet_while_spec *spec,
                               const eddy_output *out_outputs,
                               const eddy_output *out_variables,
                               eddy_error *err)
{
    EDDY_REFUSE_IF(!graph, err, "no graph");
    EDDY_REFUSE_IF(!spec, err, "no specification of the while_loop");
    EDDY_REFUSE_IF(spec->size != sizeof *spec, err,
                   "the specification of the while_loop has the wrong size");
    EDDY_REFUSE_IF(!spec->condition, err, "the while_loop has no condition");
    EDDY_REFUSE_IF(!spec->body, err, "the while_loop has no body");
    EDDY_REFUSE_IF(spec->n_outputs > 0 && !out_outputs, err,
                   "nowhere to put the outputs of the while_loop");
    EDDY_REFUSE_IF(spec->n_variables > 0 && !out_variables, err,
                   "nowhere to put the variables of the while_loop");
    EDDY_REFUSE_IF(spec->n_variables > 0 && !spec->variables, err,
                   "NULL for the variables of the while_loop");
    if (spec->n_variables == 0 ||
        !are_counts(0, spec->n_outputs, spec->n_variables))
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT,
                          "a while_loop of %zu variables and %zu outputs, at "
                          "least one variable is wanted",
                          spec->n_variables, spec->n_outputs);
    EDDY_TRY(check_maximum(graph, spec, err));
    return eddy__builder_want_values(graph, spec->variables, spec->n_variables,
                                     err);
}

/* Would a value of it not fit an int32? */
static bool is_wide(eddy_dtype dtype)
{
    return dtype == EDDY_INT64 || dtype == EDDY_UINT64 || dtype == EDDY_UINT32;
}

/* The most steps, as an int32 scalar, or none. */
static eddy_output write_maximum(eddy_emitter *w,
                                 const eddy_mxnet_while_spec *spec)
{
    static const eddy_dtype to = EDDY_INT32;
    const eddy_attr attr = eddy_attr_type("DstT", &to);
    const eddy_output *from = spec->max_iterations_from;
    eddy_output value, most = no_output;
    eddy_dtype dtype;

    if (!from && spec->max_iterations == 0)
        return no_output;
    if (!from)
        return eddy_emit_int32(w, (int32_t)spec->max_iterations);
    value = *from;
    dtype = eddy_graph_output_dtype(w->graph, value);
    if (dtype == EDDY_INT32)
        return value;
    if (is_wide(dtype)) {
        const int64_t wide = INT32_MAX;
        const uint32_t narrow = INT32_MAX;

        eddy_emit_check(w, eddy_graph_add_scalar(w->graph, NULL, dtype,
                                                 dtype == EDDY_UINT32
                                                     ? (const void *)&narrow
                                                     : &wide,
                                                 &most, w->err));
        value = eddy_emit_binary(w, "Minimum", value, most);
    }
    return eddy_emit_op(w, "Cast", &value, 1, &attr, 1);
}

static eddy_status add_while(eddy_graph *graph,
                             const eddy_mxnet_while_spec *spec,
                             eddy_output *out_outputs,
                             eddy_output *out_variables, eddy_output *out_steps,
                             eddy_error *err)
{
    eddy_emitter w = eddy_emitter_of(graph, err);
    eddy__mxnet_loop l = {
        .name = spec->name && *spec->name ? spec->name : "while_loop",
        .states = spec->variables,
        .n_states = spec->n_variables,
        .n_outputs = spec->n_outputs,
        .condition = spec->condition,
        .body = spec->body,
        .user = spec->user,
        .output_items = spec->output_items,
        .changes_shape = spec->changes_shape,
        .parallel_iterations = spec->parallel_iterations,
    };

    l.limit = write_maximum(&w, spec);
    EDDY_TRY(w.status);
    return eddy__mxnet_write(&w, &l, out_outputs, out_variables, out_steps);
}

eddy_status eddy_mxnet_while_loop(eddy_graph *graph,
                                  const eddy_mxnet_while_spec *spec,
                                  eddy_output *out_outputs,
                                  eddy_output *out_variables,
                                  eddy_output *out_steps, eddy_error *err)
{
    eddy__attempt attempt;

    EDDY_TRY(check_while(graph, spec, out_outputs, out_variables, err));
    EDDY_TRY(eddy__attempt_begin(&attempt, graph, err));
    return eddy__attempt_end(
        &attempt,
        add_while(graph, spec, out_outputs, out_variables, out_steps, err));
}

/* ---- cond ---- */

/* Both branches get the inputs of the specification. */
static eddy_status build_then(eddy_graph *graph, void *user,
                              const eddy_output *inputs, size_t n,
                              eddy_output *out_results, eddy_error *err)
{
    const eddy_mxnet_cond_spec *spec = user;

    (void)inputs;
    (void)n;
    return spec->then(graph, spec->user, spec->inputs, spec->n_inputs,
                      out_results, err);
}

static eddy_status build_otherwise(eddy_graph *graph, void *user,
                                   const eddy_output *inputs, size_t n,
                                   eddy_output *out_results, eddy_error *err)
{
    const eddy_mxnet_cond_spec *spec = user;

    (void)inputs;
    (void)n;
    return spec->otherwise(graph, spec->user, spec->inputs, spec->n_inputs,
                           out_results, err);
}

static eddy_status add_cond(eddy_graph *graph, const eddy_mxnet_cond_spec *spec,
                            eddy_output *out_outputs, eddy_error *err)
{
    eddy_mxnet_cond_spec own = *spec;
    const eddy_branch branches[] = {{build_then, &own},
                                    {build_otherwise, &own}};
    eddy_emitter w = eddy_emitter_of(graph, err);
    const eddy_cond_spec cond = {
        .size = sizeof cond,
        .name = spec->name,
        .predicate = eddy__mxnet_predicate(&w, spec->predicate),
    };

    EDDY_TRY(w.status);
    return eddy_cond(graph, &cond, branches, spec->n_outputs, out_outputs, err);
}

eddy_status eddy_mxnet_cond(eddy_graph *graph, const eddy_mxnet_cond_spec *spec,
                            eddy_output *out_outputs, eddy_error *err)
{
    eddy__attempt attempt;

    EDDY_REFUSE_IF(!graph, err, "no graph");
    EDDY_REFUSE_IF(!spec, err, "no specification of the cond");
    EDDY_REFUSE_IF(spec->size != sizeof *spec, err,
                   "the specification of the cond has the wrong size");
    EDDY_REFUSE_IF(!spec->then || !spec->otherwise, err,
                   "the cond has no function for its %s branch",
                   spec->then ? "second" : "first");
    EDDY_REFUSE_IF(spec->n_inputs > 0 && !spec->inputs, err,
                   "NULL for the inputs of the cond");
    EDDY_REFUSE_IF(spec->n_outputs > 0 && !out_outputs, err,
                   "nowhere to put the outputs of the cond");
    EDDY_TRY(eddy__builder_want_values(graph, &spec->predicate, 1, err));
    EDDY_TRY(
        eddy__builder_want_values(graph, spec->inputs, spec->n_inputs, err));
    EDDY_TRY(eddy__attempt_begin(&attempt, graph, err));
    return eddy__attempt_end(&attempt, add_cond(graph, spec, out_outputs, err));
}
