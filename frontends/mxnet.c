/*
 * MXNet's foreach, while_loop and cond in graphs.
 *
 * Both loops are one while: its variables are the number of steps taken, an
 * array for each output, and the states.  A foreach reads its items from arrays
 * by that number.
 */
#include "eddy/mxnet.h"

#include "frontends/attempt.h"
#include "frontends/writer.h"
#include "runtime/base/status.h"
#include "runtime/core/dtype.h"
#include "runtime/core/shape.h"

#include <stdint.h>
#include <string.h>

/* A loop that is being built: what both kinds of specification come to. */
typedef struct loop {
    const char *name;
    const eddy_output *inputs; /* none in a while_loop */
    size_t n_inputs;
    const eddy_output *states;
    size_t n_states;
    size_t n_outputs;
    eddy_part_fn condition; /* NULL: as long as there are items */
    eddy_part_fn body;
    void *user;
    const eddy_mxnet_item *output_items;
    bool changes_shape;
    int64_t parallel_iterations;
    eddy_output limit; /* of steps, int32; EDDY_NO_NODE: none */
    eddy__sequence *items, *outputs;
    eddy_shape *rows;     /* what is known of one of each output */
    eddy_output *scratch; /* what the body gets, and what it gives */
} loop;

static const eddy_output no_output = {EDDY_NO_NODE, 0};

static bool has_limit(const loop *l)
{
    return l->limit.node != EDDY_NO_NODE;
}

/* The variables of the while before the states. */
static size_t n_before(const loop *l)
{
    return 1 + l->n_outputs;
}

/* ---- predicates ---- */

/* A bool scalar out of what stands for one. */
static eddy_output write_predicate(eddy__writer *w, eddy_output value)
{
    static const eddy_dtype to = EDDY_BOOL;
    const eddy_attr attr = eddy_attr_type("DstT", &to);
    const eddy_shape scalar = eddy__shape_scalar();
    const eddy_shape none = eddy__shape_vector(0);
    const eddy_dtype dtype = eddy_graph_output_dtype(w->graph, value);
    const eddy_shape shape = eddy__shape_of(w, value);
    eddy_tensor *no_dims = NULL;
    int64_t count;

    if (w->status != EDDY_OK || dtype == EDDY_INVALID)
        return value; /* the builder says what is wrong */
    if ((dtype != EDDY_BOOL && !eddy__dtype_in(dtype, EDDY__REALS)) ||
        (eddy__shape_is_known(&shape) &&
         !(eddy__shape_count(&shape, 1, &count) && count == 1))) {
        eddy__write_check(
            w, eddy__fail_node(
                   w->err, EDDY_INVALID_ARGUMENT, EDDY_E_PREDICATE,
                   eddy_graph_node_name(w->graph, value.node), NULL,
                   "a predicate is %s of shape %s; one bool or number is "
                   "wanted",
                   eddy_dtype_name(dtype), eddy__shape_print(&shape).text));
        return no_output;
    }
    if (!eddy__shape_equal(&shape, &scalar) &&
        eddy__write_check(w, eddy_tensor_create(w->graph->ctx, EDDY_INT32,
                                                &none, &no_dims, w->err))) {
        value = eddy__write_binary(w, "Reshape", value,
                                   eddy__write_const(w, no_dims));
        eddy_tensor_release(no_dims);
    }
    return dtype == EDDY_BOOL ? value
                              : eddy__write(w, "Cast", &value, 1, &attr, 1);
}

/* ---- the parts of the while ---- */

/* Is there a step to take?  `now` are all variables of the while. */
static eddy_status build_condition(eddy_graph *graph, void *user,
                                   const eddy_output *now, size_t n,
                                   eddy_output *out, eddy_error *err)
{
    const loop *l = user;
    eddy__writer w = eddy__writer_of(graph, err);
    eddy_output own = no_output;

    (void)n;
    if (l->condition) {
        EDDY_TRY(l->condition(graph, l->user, now + n_before(l), l->n_states,
                              &own, err));
        own = write_predicate(&w, own);
    }
    *out = own;
    if (has_limit(l)) {
        *out = eddy__write_binary(&w, "Less", now[0], l->limit);
        if (l->condition)
            *out = eddy__write_binary(&w, "LogicalAnd", *out, own);
    }
    return w.status;
}

/* What an output of the step is: fails if something else is promised. */
static eddy_status check_row(const loop *l, const eddy_graph *graph, size_t i,
                             eddy_output value, eddy_error *err)
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
static eddy_status write_outputs(eddy__writer *w, loop *l, eddy_output step,
                                 const eddy_output *values, eddy_output *flows)
{
    for (size_t i = 0; i < l->n_outputs && w->status == EDDY_OK; i++) {
        EDDY_TRY(eddy__want_values(w->graph, &values[i], 1, w->err));
        l->rows[i] = eddy__shape_of(w, values[i]);
        EDDY_TRY(check_row(l, w->graph, i, values[i], w->err));
        eddy__sequence_settle(w, &l->outputs[i],
                              eddy_graph_output_dtype(w->graph, values[i]),
                              &l->rows[i]);
        flows[i] =
            eddy__sequence_write(w, &l->outputs[i], flows[i], step, values[i]);
    }
    return w->status;
}

/* The body of the while: a step, out of all variables. */
static eddy_status build_body(eddy_graph *graph, void *user,
                              const eddy_output *now, size_t n,
                              eddy_output *next, eddy_error *err)
{
    loop *l = user;
    const size_t depth = eddy_construct_depth(graph);
    const size_t first = n_before(l);
    eddy_output *inputs = l->scratch;
    eddy_output *results = l->scratch + l->n_inputs + l->n_states;
    eddy__writer w = eddy__writer_of(graph, err);

    for (size_t i = 0; i < l->n_inputs; i++)
        inputs[i] = eddy__sequence_read(&w, &l->items[i], now[0]);
    EDDY_TRY(w.status);
    memcpy(inputs + l->n_inputs, now + first, l->n_states * sizeof *now);
    EDDY_TRY(l->body(graph, l->user, inputs, l->n_inputs + l->n_states, results,
                     err));
    if (eddy_construct_depth(graph) != depth)
        return EDDY_OK; /* which the builder refuses, with its words */
    memcpy(next, now, n * sizeof *now);
    EDDY_TRY(write_outputs(&w, l, now[0], results, next + 1));
    next[0] = eddy__write_binary(&w, "AddV2", now[0], eddy__write_int32(&w, 1));
    memcpy(next + first, results + l->n_outputs, l->n_states * sizeof *next);
    return w.status;
}

/* ---- a loop ---- */

/* What the shapes of the variables stay, in `shapes`. */
static void fill_shapes(const eddy__writer *w, const loop *l,
                        eddy_shape *shapes)
{
    for (size_t i = 0; i < n_before(l); i++)
        shapes[i] = eddy__shape_scalar();
    for (size_t i = 0; i < l->n_states; i++)
        shapes[n_before(l) + i] = eddy__shape_of(w, l->states[i]);
}

/* Builds the while; `values` gets what its variables are in the end. */
static eddy_status build_while(eddy__writer *w, loop *l, eddy_output *values,
                               eddy_shape *shapes)
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

    values[0] = eddy__write_int32(w, 0);
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

/* Builds a loop whose arrays are there. */
static eddy_status build_loop(eddy__writer *w, loop *l, eddy_output *values,
                              eddy_shape *shapes, eddy_output *out_outputs)
{
    for (size_t i = 0; i < l->n_inputs; i++)
        l->items[i] = eddy__sequence_of(w, l->inputs[i]);
    EDDY_TRY(build_while(w, l, values, shapes));
    for (size_t i = 0; i < l->n_outputs; i++)
        out_outputs[i] = eddy__sequence_stack(w, &l->outputs[i], values[1 + i],
                                              l->limit, &l->rows[i]);
    return w->status;
}

/* The same, and what it needs meanwhile. */
static eddy_status run_loop(eddy__writer *w, loop *l, eddy_output *out_outputs,
                            eddy_output *out_states, eddy_output *out_steps)
{
    eddy__arena arena = {.allocator = w->graph->arena.allocator};
    const size_t n = n_before(l) + l->n_states;
    eddy_output *values = eddy__arena_allocate(&arena, n, sizeof *values);
    eddy_shape *shapes = eddy__arena_allocate(&arena, n, sizeof *shapes);
    eddy_status status;

    l->items = eddy__arena_allocate(&arena, l->n_inputs, sizeof *l->items);
    l->outputs = eddy__arena_allocate(&arena, l->n_outputs, sizeof *l->outputs);
    l->rows = eddy__arena_allocate(&arena, l->n_outputs, sizeof *l->rows);
    l->scratch = eddy__arena_allocate_zeroed(
        &arena, l->n_inputs + l->n_states + n, sizeof *l->scratch);
    if (!values || !shapes || !l->items || !l->outputs || !l->rows ||
        !l->scratch)
        status = eddy__fail_memory(w->err);
    else
        status = build_loop(w, l, values, shapes, out_outputs);
    if (status == EDDY_OK && l->n_states > 0)
        memcpy(out_states, values + n_before(l),
               l->n_states * sizeof *out_states);
    if (status == EDDY_OK && out_steps)
        *out_steps = values[0];
    eddy__arena_destroy(&arena);
    return status;
}

/* Counts that no allocation or sum of them can bear are refused. */
static bool are_counts(size_t a, size_t b, size_t c)
{
    const size_t most = UINT32_MAX / 8;

    return a <= most && b <= most && c <= most;
}

static eddy_status fail_argument(eddy_error *err, const char *call)
{
    return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                      "%s: no graph, no function, nowhere to put the results, "
                      "NULL for an array, or a specification of the wrong size",
                      call);
}

/* ---- foreach ---- */

static eddy_status check_foreach(const eddy_graph *graph,
                                 const eddy_mxnet_foreach_spec *spec,
                                 const eddy_output *out_outputs,
                                 const eddy_output *out_states, eddy_error *err)
{
    if (!graph || !spec || spec->size != sizeof *spec || !spec->body ||
        (spec->n_outputs > 0 && !out_outputs) ||
        (spec->n_states > 0 && (!out_states || !spec->states)) ||
        (spec->n_inputs > 0 && !spec->inputs))
        return fail_argument(err, "eddy_mxnet_foreach");
    if (spec->n_inputs == 0 || spec->n_outputs + spec->n_states == 0 ||
        !are_counts(spec->n_inputs, spec->n_outputs, spec->n_states))
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT,
                          "a foreach over %zu inputs with %zu outputs and %zu "
                          "states: it needs an input, and an output or a state",
                          spec->n_inputs, spec->n_outputs, spec->n_states);
    EDDY_TRY(eddy__want_values(graph, spec->inputs, spec->n_inputs, err));
    return eddy__want_values(graph, spec->states, spec->n_states, err);
}

/* What is known of the first dimension of an input, in `*length`, or -1. */
static eddy_status find_length(const eddy__writer *w, eddy_output input,
                               int64_t *length)
{
    const eddy_shape shape = eddy__shape_of(w, input);

    *length = shape.rank > 0 ? shape.dims[0] : -1;
    if (shape.rank != 0)
        return EDDY_OK;
    return eddy__fail_node(w->err, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           eddy_graph_node_name(w->graph, input.node), NULL,
                           "a foreach over a scalar; it wants tensors with a "
                           "first dimension");
}

static eddy_status fail_lengths(const eddy__writer *w,
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
static eddy_node write_assert(eddy__writer *w, eddy_output first,
                              eddy_output other)
{
    const eddy_output inputs[] = {eddy__write_binary(w, "Equal", first, other),
                                  first, other};

    return eddy__write(w, "Assert", inputs, 3, NULL, 0).node;
}

/* The length of all inputs, which a run finds equal or fails. */
static eddy_status write_length(eddy__writer *w,
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
    eddy__writer w = eddy__writer_of(graph, err);
    loop l = {
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
    return run_loop(&w, &l, out_outputs, out_states, NULL);
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
    EDDY_TRY(eddy__want_values(graph, from, 1, err));
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
    if (!graph || !spec || spec->size != sizeof *spec || !spec->condition ||
        !spec->body || (spec->n_outputs > 0 && !out_outputs) ||
        (spec->n_variables > 0 && (!out_variables || !spec->variables)))
        return fail_argument(err, "eddy_mxnet_while_loop");
    if (spec->n_variables == 0 ||
        !are_counts(0, spec->n_outputs, spec->n_variables))
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT,
                          "a while_loop of %zu variables and %zu outputs, at "
                          "least one variable is wanted",
                          spec->n_variables, spec->n_outputs);
    EDDY_TRY(check_maximum(graph, spec, err));
    return eddy__want_values(graph, spec->variables, spec->n_variables, err);
}

/* Would a value of it not fit an int32? */
static bool is_wide(eddy_dtype dtype)
{
    return dtype == EDDY_INT64 || dtype == EDDY_UINT64 || dtype == EDDY_UINT32;
}

/* The most steps, as an int32 scalar, or none. */
static eddy_output write_maximum(eddy__writer *w,
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
        return eddy__write_int32(w, (int32_t)spec->max_iterations);
    value = *from;
    dtype = eddy_graph_output_dtype(w->graph, value);
    if (dtype == EDDY_INT32)
        return value;
    if (is_wide(dtype)) {
        const int64_t wide = INT32_MAX;
        const uint32_t narrow = INT32_MAX;

        eddy__write_check(w, eddy_graph_add_scalar(w->graph, NULL, dtype,
                                                   dtype == EDDY_UINT32
                                                       ? (const void *)&narrow
                                                       : &wide,
                                                   &most, w->err));
        value = eddy__write_binary(w, "Minimum", value, most);
    }
    return eddy__write(w, "Cast", &value, 1, &attr, 1);
}

static eddy_status add_while(eddy_graph *graph,
                             const eddy_mxnet_while_spec *spec,
                             eddy_output *out_outputs,
                             eddy_output *out_variables, eddy_output *out_steps,
                             eddy_error *err)
{
    eddy__writer w = eddy__writer_of(graph, err);
    loop l = {
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
    return run_loop(&w, &l, out_outputs, out_variables, out_steps);
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
    eddy__writer w = eddy__writer_of(graph, err);
    const eddy_cond_spec cond = {
        .size = sizeof cond,
        .name = spec->name,
        .predicate = write_predicate(&w, spec->predicate),
    };

    EDDY_TRY(w.status);
    return eddy_cond(graph, &cond, branches, spec->n_outputs, out_outputs, err);
}

eddy_status eddy_mxnet_cond(eddy_graph *graph, const eddy_mxnet_cond_spec *spec,
                            eddy_output *out_outputs, eddy_error *err)
{
    eddy__attempt attempt;

    if (!graph || !spec || spec->size != sizeof *spec || !spec->then ||
        !spec->otherwise || (spec->n_inputs > 0 && !spec->inputs) ||
        (spec->n_outputs > 0 && !out_outputs))
        return fail_argument(err, "eddy_mxnet_cond");
    EDDY_TRY(eddy__want_values(graph, &spec->predicate, 1, err));
    EDDY_TRY(eddy__want_values(graph, spec->inputs, spec->n_inputs, err));
    EDDY_TRY(eddy__attempt_begin(&attempt, graph, err));
    return eddy__attempt_end(&attempt, add_cond(graph, spec, out_outputs, err));
}
