/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the one while that both loops of MXNet are, and writes each step's
 * outputs into arrays.
 */
#include "frontends/mxnet/mxnet_loop.h"

#include "core/base/status.h"
#include "core/value/dtype.h"
#include "core/value/shape.h"
#include "frames/build/builder.h"

#include <string.h>

static const eddy_output no_output = {EDDY_NO_NODE, 0};

static bool has_limit(const eddy__mxnet_loop *l)
{
    return l->limit.node != EDDY_NO_NODE;
}

/* The variables of the while before the states. */
static size_t n_before(const eddy__mxnet_loop *l)
{
    return 1 + l->n_outputs;
}

/* ---- predicates ---- */

eddy_output eddy__mxnet_predicate(eddy_emitter *w, eddy_output value)
{
    static const eddy_dtype to = EDDY_BOOL;
    const eddy_attr attr = eddy_attr_type("DstT", &to);
    const eddy_shape scalar = eddy__shape_scalar();
    const eddy_shape none = eddy__shape_vector(0);
    const eddy_dtype dtype = eddy_graph_output_dtype(w->graph, value);
    const eddy_shape shape = eddy__writer_shape_of(w, value);
    eddy_tensor *no_dims = NULL;
    int64_t count;

    if (w->status != EDDY_OK || dtype == EDDY_INVALID)
        return value; /* the builder says what is wrong */
    if ((dtype != EDDY_BOOL && !eddy__dtype_in(dtype, EDDY__REALS)) ||
        (eddy__shape_is_known(&shape) &&
         !(eddy__shape_count(&shape, 1, &count) && count == 1))) {
        eddy_emit_check(
            w, eddy__fail_node(
                   w->err, EDDY_INVALID_ARGUMENT, EDDY_E_PREDICATE,
                   eddy_graph_node_name(w->graph, value.node), NULL,
                   "a predicate is %s of shape %s; one bool or number is "
                   "wanted",
                   eddy_dtype_name(dtype), eddy__shape_print(&shape).text));
        return no_output;
    }
    if (!eddy__shape_equal(&shape, &scalar) &&
        eddy_emit_check(w, eddy_tensor_create(w->graph->ctx, EDDY_INT32, &none,
                                              &no_dims, w->err))) {
        value = eddy_emit_binary(w, "Reshape", value,
                                 eddy_emit_const(w, NULL, no_dims));
        eddy_tensor_release(no_dims);
    }
    return dtype == EDDY_BOOL ? value
                              : eddy_emit_op(w, "Cast", &value, 1, &attr, 1);
}

/* ---- the parts of the while ---- */

/* Is there a step to take?  `now` are all variables of the while. */
static eddy_status build_condition(eddy_graph *graph, void *user,
                                   const eddy_output *now, size_t n,
                                   eddy_output *out, eddy_error *err)
{
    const eddy__mxnet_loop *l = user;
    eddy_emitter w = eddy_emitter_of(graph, err);
    eddy_output own = no_output;

    (void)n;
    if (l->condition) {
        EDDY_TRY(l->condition(graph, l->user, now + n_before(l), l->n_states,
                              &own, err));
        EDDY_TRY(eddy__builder_want_values(graph, &own, 1, err));
        own = eddy__mxnet_predicate(&w, own);
    }
    *out = own;
    if (has_limit(l)) {
        *out = eddy_emit_binary(&w, "Less", now[0], l->limit);
        if (l->condition)
            *out = eddy_emit_binary(&w, "LogicalAnd", *out, own);
    }
    return w.status;
}

/* What an output of the step is: fails if something else is promised. */
static eddy_status check_row(const eddy__mxnet_loop *l, const eddy_graph *graph,
                             size_t i, eddy_output value, eddy_error *err)
{
    const eddy_dtype dtype = eddy_graph_output_dtype(graph, value);
    const eddy_mxnet_item *promised =
        l->output_items ? &l->output_items[i] : NULL;
    const eddy_shape shape = l->rows[i];

    if (!promised)
        return EDDY_OK;
    if (promised->dtype != EDDY_INVALID && promised->dtype != dtype)
        return eddy__fail_node(err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE,
                               eddy_graph_node_name(graph, value.node), NULL,
                               "output %zu of '%.64s' is %s, %s is promised", i,
                               l->name, eddy_dtype_name(dtype),
                               eddy_dtype_name(promised->dtype));
    if (eddy__shape_merge(&shape, &promised->shape, &l->rows[i]))
        return EDDY_OK;
    return eddy__fail_node(err, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           eddy_graph_node_name(graph, value.node), NULL,
                           "output %zu of '%.64s' has shape %s, %s is promised",
                           i, l->name, eddy__shape_print(&shape).text,
                           eddy__shape_print(&promised->shape).text);
}

/* Puts the outputs of the step away; `flows` become what they are after. */
static eddy_status write_outputs(eddy_emitter *w, eddy__mxnet_loop *l,
                                 eddy_output step, const eddy_output *values,
                                 eddy_output *flows)
{
    for (size_t i = 0; i < l->n_outputs && w->status == EDDY_OK; i++) {
        EDDY_TRY(eddy__builder_want_values(w->graph, &values[i], 1, w->err));
        l->rows[i] = eddy__writer_shape_of(w, values[i]);
        EDDY_TRY(check_row(l, w->graph, i, values[i], w->err));
        eddy__sequence_settle(w, &l->outputs[i],
                              eddy_graph_output_dtype(w->graph, values[i]),
                              &l->rows[i]);
        flows[i] =
            eddy__sequence_write(w, &l->outputs[i], flows[i], step, values[i]);
    }
    return w->status;
}

/* Has a node from number `from` on a state or an effect? */
static bool has_effects(const eddy_graph *graph, eddy_node from)
{
    for (eddy_node id = from; id < graph->n_nodes; id++) {
        const eddy__op *op = eddy__graph_node(graph, id)->op;

        if (!op || (op->flags & EDDY_OP_STATEFUL) != 0)
            return true;
    }
    return false;
}

/* The body of the while: a step, out of all variables. */
static eddy_status build_body(eddy_graph *graph, void *user,
                              const eddy_output *now, size_t n,
                              eddy_output *next, eddy_error *err)
{
    eddy__mxnet_loop *l = user;
    const size_t depth = eddy_construct_depth(graph);
    const size_t first = n_before(l);
    eddy_output *inputs = l->scratch;
    eddy_output *results = l->scratch + l->n_inputs + l->n_states;
    eddy_emitter w = eddy_emitter_of(graph, err);
    eddy_node n_nodes;

    for (size_t i = 0; i < l->n_inputs; i++)
        inputs[i] = eddy__sequence_read(&w, &l->items[i], now[0]);
    EDDY_TRY(w.status);
    memcpy(inputs + l->n_inputs, now + first, l->n_states * sizeof *now);
    eddy__builder_forget_outputs(results, l->n_outputs + l->n_states);
    n_nodes = (eddy_node)graph->n_nodes;
    EDDY_TRY(l->body(graph, l->user, inputs, l->n_inputs + l->n_states, results,
                     err));
    l->has_effects = has_effects(graph, n_nodes);
    if (eddy_construct_depth(graph) != depth)
        return EDDY_OK; /* which the builder refuses, with its words */
    memcpy(next, now, n * sizeof *now);
    EDDY_TRY(write_outputs(&w, l, now[0], results, next + 1));
    next[0] = eddy_emit_binary(&w, "AddV2", now[0], eddy_emit_int32(&w, 1));
    memcpy(next + first, results + l->n_outputs, l->n_states * sizeof *next);
    return w.status;
}

/* ---- a loop ---- */

/* What the shapes of the variables stay, in `shapes`. */
static void fill_shapes(const eddy_emitter *w, const eddy__mxnet_loop *l,
                        eddy_shape *shapes)
{
    for (size_t i = 0; i < n_before(l); i++)
        shapes[i] = eddy__shape_scalar();
    for (size_t i = 0; i < l->n_states; i++)
        shapes[n_before(l) + i] = eddy__writer_shape_of(w, l->states[i]);
}

/* Builds the while; `values` gets what its variables are in the end. */
static eddy_status build_while(eddy_emitter *w, eddy__mxnet_loop *l,
                               eddy_output *values, eddy_shape *shapes)
{
    const eddy_while_functions parts = {build_condition, build_body, l};
    const eddy_while_spec spec = {
        .size = sizeof spec,
        .name = l->name,
        .initial = values,
        .n_variables = n_before(l) + l->n_states,
        .parallel_iterations = l->parallel_iterations,
        .shape_invariants =
            l->n_outputs > 0 && !l->changes_shape ? shapes : NULL,
    };

    values[0] = eddy_emit_int32(w, 0);
    for (size_t i = 0; i < l->n_outputs; i++) {
        /* Of which dtype is known when the body is there. */
        l->outputs[i] = eddy__sequence_new(w, EDDY_FLOAT32, l->limit, false);
        values[1 + i] = l->outputs[i].flow;
    }
    EDDY_TRY(w->status);
    for (size_t i = 0; i < l->n_states; i++)
        values[n_before(l) + i] = l->states[i];
    if (spec.shape_invariants)
        fill_shapes(w, l, shapes);
    return eddy_while_loop(w->graph, &spec, &parts, values, w->err);
}

/* What a call needs while it builds a loop. */
static bool make_room(eddy__mxnet_loop *l, eddy__arena *arena,
                      eddy_output **out_values, eddy_shape **out_shapes)
{
    const size_t n = n_before(l) + l->n_states;

    *out_values = eddy__arena_allocate(arena, n, sizeof **out_values);
    *out_shapes = eddy__arena_allocate(arena, n, sizeof **out_shapes);
    l->items = eddy__arena_allocate(arena, l->n_inputs, sizeof *l->items);
    l->outputs = eddy__arena_allocate(arena, l->n_outputs, sizeof *l->outputs);
    l->rows = eddy__arena_allocate(arena, l->n_outputs, sizeof *l->rows);
    l->scratch = eddy__arena_allocate_zeroed(
        arena, l->n_inputs + l->n_states + n, sizeof *l->scratch);
    return *out_values && *out_shapes && l->items && l->outputs && l->rows &&
           l->scratch;
}

/* ---- outputs of no steps ---- */

/* So many zeros as a step puts out, for each of the steps that there may be. */
static eddy_output write_zeros(eddy_emitter *w, eddy_output limit,
                               eddy_output value)
{
    const eddy_output parts[] = {
        eddy_emit_binary(w, "ExpandDims", limit, eddy_emit_int32(w, 0)),
        eddy_emit_unary(w, "Shape", value), eddy_emit_int32(w, 0)};
    const eddy_output shape = eddy_emit_op(w, "ConcatV2", parts, 3, NULL, 0);
    const eddy_output zero = eddy_emit_cast(
        w, eddy_emit_int32(w, 0), eddy_graph_output_dtype(w->graph, value));

    return eddy_emit_binary(w, "Fill", shape, zero);
}

/*
 * Does only a step tell what its outputs are?  One of strings has no zeros, and
 * one with effects is not taken for that.
 */
static bool wants_trial(const eddy_emitter *w, const eddy__mxnet_loop *l)
{
    bool is_known = true;

    if (w->status != EDDY_OK || !l->condition || l->has_effects)
        return false;
    for (size_t i = 0; i < l->n_outputs; i++) {
        is_known = is_known && eddy__shape_is_known(&l->rows[i]);
        if (l->outputs[i].dtype != EDDY_BOOL &&
            !eddy__dtype_in(l->outputs[i].dtype, EDDY__NUMBERS))
            return false;
    }
    return !is_known;
}

static void stack_outputs(eddy_emitter *w, eddy__mxnet_loop *l,
                          const eddy_output *values, eddy_output *outputs)
{
    for (size_t i = 0; i < l->n_outputs; i++)
        outputs[i] = eddy__sequence_stack(w, &l->outputs[i], values[1 + i],
                                          l->limit, &l->rows[i]);
}

/*
 * The outputs; in the branch that only a run of no steps takes, a step of the
 * first variables says of which shape they are.
 */
static eddy_status stack_or_try(eddy_emitter *w, eddy__mxnet_loop *l,
                                const eddy_output *values, eddy_output *outputs)
{
    const eddy_cond_spec spec = {
        .size = sizeof spec,
        .name = l->name,
        .predicate =
            eddy_emit_binary(w, "Greater", values[0], eddy_emit_int32(w, 0))};
    eddy_output *tried = l->scratch + l->n_inputs + l->n_states;
    const size_t depth = eddy_construct_depth(w->graph);

    EDDY_TRY(w->status);
    EDDY_TRY(eddy_cond_begin(w->graph, &spec, w->err));
    stack_outputs(w, l, values, outputs);
    EDDY_TRY(w->status);
    EDDY_TRY(eddy_cond_else(w->graph, outputs, l->n_outputs, w->err));
    eddy__builder_forget_outputs(tried, l->n_outputs + l->n_states);
    EDDY_TRY(l->body(w->graph, l->user, l->states, l->n_states, tried, w->err));
    if (eddy_construct_depth(w->graph) != depth + 1)
        return eddy__fail_node(w->err, EDDY_FAILED_PRECONDITION,
                               EDDY_E_CONSTRUCT, l->name, NULL,
                               "the body of '%.64s' has ended other constructs "
                               "than it has begun",
                               l->name);
    EDDY_TRY(eddy__builder_want_values(w->graph, tried, l->n_outputs, w->err));
    for (size_t i = 0; i < l->n_outputs; i++)
        tried[i] = write_zeros(w, l->limit, tried[i]);
    EDDY_TRY(w->status);
    return eddy_cond_end(w->graph, tried, l->n_outputs, outputs, w->err);
}

static eddy_status build_loop(eddy_emitter *w, eddy__mxnet_loop *l,
                              eddy__arena *arena, eddy_output *out_outputs,
                              eddy_output *out_states, eddy_output *out_steps)
{
    eddy_output *values;
    eddy_shape *shapes;

    if (!make_room(l, arena, &values, &shapes))
        return eddy__fail_memory(w->err);
    for (size_t i = 0; i < l->n_inputs; i++)
        l->items[i] = eddy__sequence_of(w, l->inputs[i]);
    EDDY_TRY(build_while(w, l, values, shapes));
    if (wants_trial(w, l))
        EDDY_TRY(stack_or_try(w, l, values, out_outputs));
    else
        stack_outputs(w, l, values, out_outputs);
    for (size_t i = 0; i < l->n_states; i++)
        out_states[i] = values[n_before(l) + i];
    if (out_steps)
        *out_steps = values[0];
    return w->status;
}

eddy_status eddy__mxnet_write(eddy_emitter *w, eddy__mxnet_loop *l,
                              eddy_output *out_outputs, eddy_output *out_states,
                              eddy_output *out_steps)
{
    eddy__arena arena = {.allocator = w->graph->arena.allocator};
    eddy_status status;

    for (size_t i = 0; l->output_items && i < l->n_outputs; i++)
        EDDY_TRY(eddy__builder_want_valid_shape(
            "output_items", &l->output_items[i].shape, w->err));
    status = build_loop(w, l, &arena, out_outputs, out_states, out_steps);
    eddy__arena_destroy(&arena);
    return status;
}
