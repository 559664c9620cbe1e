/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_fn, foldl, foldr and scan: one loop, whose variables are the counter,
 * what is accumulated, and the flows of the arrays that take the results.
 *
 *                  counter              accumulated    arrays
 *     map_fn       0, 1, ... < n                       one a result
 *     foldl        0, 1, ... < n        yes
 *     foldr        n, n - 1, ... > 0    yes
 *     scan         0, 1, ... < n        yes            one a value
 *       reversed   n - 1, ... >= 0
 *
 * foldr's body begins with the subtraction, as TensorFlow's does.  Without
 * initializer the loop starts one item later.
 */
#include "eddy/tensorflow.h"

#include "core/base/status.h"
#include "core/value/shape.h"
#include "frontends/shared/attempt.h"
#include "frontends/shared/writer.h"

#include <string.h>

typedef struct walk {
    eddy_emitter w;
    eddy__arena arena;

    /* What the specification says. */
    const char *name;
    const eddy_output *elems;
    size_t n_elems;
    eddy_branch step;
    eddy_loop_options options;
    const eddy_dtype *dtypes;       /* of the results, or NULL: */
    const eddy_output *initializer; /* those of these, or NULL: of the elems */
    bool is_foldr, is_backward, infers_shape;

    size_t n_results;
    size_t n_states, n_arrays; /* n_results or 0 each */
    eddy_output n;             /* items */
    eddy__sequence *items, *arrays;
    eddy_shape *shapes;     /* of what goes into the arrays */
    eddy_output *variables; /* the counter, states, flows */
    eddy_output *inputs;    /* of the step: states, items */
    eddy_output *results;   /* of the step */
} walk;

static size_t count_variables(const walk *k)
{
    return 1 + k->n_states + k->n_arrays;
}

/* Of result `i`, once the elems and the initializer have been checked. */
static eddy_dtype dtype_of(const walk *k, size_t i)
{
    if (k->dtypes)
        return k->dtypes[i];
    return eddy_graph_output_dtype(
        k->w.graph, k->initializer ? k->initializer[i] : k->elems[i]);
}

/* ---- what is wrong from the start ---- */

static const char *name_of(const walk *k, eddy_output value)
{
    return eddy_graph_node_name(k->w.graph, value.node);
}

static eddy_status check_elem(const walk *k, size_t i, const eddy_shape *first)
{
    const eddy_graph *graph = k->w.graph;
    const eddy_shape shape = eddy__writer_shape_of(&k->w, k->elems[i]);

    if (shape.rank == 0)
        return eddy__graph_fail_at(
            k->w.err, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
            &graph->nodes[k->elems[i].node],
            "%s: elem %zu is a scalar, which has no items", k->name, i);
    if (shape.rank > 0 && first->rank > 0 && shape.dims[0] >= 0 &&
        first->dims[0] >= 0 && shape.dims[0] != first->dims[0])
        return eddy__graph_fail_at(
            k->w.err, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
            &graph->nodes[k->elems[i].node],
            "%s: elem %zu has %lld items and elem 0, '%.64s:%u', has %lld",
            k->name, i, (long long)shape.dims[0], name_of(k, k->elems[0]),
            (unsigned)k->elems[0].index, (long long)first->dims[0]);
    return EDDY_OK;
}

static eddy_status check_elems(const walk *k)
{
    const eddy_graph *graph = k->w.graph;
    eddy_shape first;

    if (k->n_elems == 0 || k->n_results == 0)
        return eddy__fail(k->w.err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT,
                          "%s: %zu elems and %zu results, at least one of each "
                          "is wanted",
                          k->name, k->n_elems, k->n_results);
    EDDY_TRY(eddy__builder_want_values(graph, k->elems, k->n_elems, k->w.err));
    first = eddy__writer_shape_of(&k->w, k->elems[0]);
    for (size_t i = 0; i < k->n_elems; i++)
        EDDY_TRY(check_elem(k, i, &first));
    if (k->n_states == 0)
        return EDDY_OK;
    if (k->initializer)
        return eddy__builder_want_values(graph, k->initializer, k->n_states,
                                         k->w.err);
    if (first.rank > 0 && first.dims[0] == 0)
        return eddy__graph_fail_at(
            k->w.err, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
            &graph->nodes[k->elems[0].node],
            "%s: there are no items and no initializer", k->name);
    return EDDY_OK;
}

/* ---- before the loop ---- */

static eddy_status make_lists(walk *k)
{
    const size_t n_inputs = k->n_states + k->n_elems;
    eddy__arena *a = &k->arena;

    k->items = eddy__arena_allocate(a, k->n_elems, sizeof *k->items);
    k->arrays = eddy__arena_allocate(a, k->n_arrays, sizeof *k->arrays);
    k->shapes = eddy__arena_allocate(a, count_variables(k), sizeof *k->shapes);
    k->variables =
        eddy__arena_allocate(a, count_variables(k), sizeof *k->variables);
    k->inputs = eddy__arena_allocate(a, n_inputs, sizeof *k->inputs);
    k->results = eddy__arena_allocate(a, k->n_results, sizeof *k->results);
    return k->items && k->arrays && k->shapes && k->variables && k->inputs &&
                   k->results
               ? EDDY_OK
               : eddy__fail_memory(k->w.err);
}

static eddy_output minus_one(walk *k, eddy_output x)
{
    return eddy_emit_binary(&k->w, "Sub", x, eddy_emit_int32(&k->w, 1));
}

/* The index of the item that the walk begins with. */
static eddy_output first_index(walk *k)
{
    return k->is_foldr || k->is_backward ? minus_one(k, k->n)
                                         : eddy_emit_int32(&k->w, 0);
}

/* The states, the index that the loop starts from, and the arrays' flows. */
static void make_variables(walk *k)
{
    eddy_output *states = k->variables + 1, *flows = states + k->n_states;
    const bool begins_late = k->n_states > 0 && !k->initializer;
    eddy_output first = {EDDY_NO_NODE, 0};

    if (begins_late || !k->is_foldr)
        first = first_index(k);
    for (size_t i = 0; i < k->n_states; i++)
        states[i] = k->initializer
                        ? k->initializer[i]
                        : eddy__sequence_read(&k->w, &k->items[i], first);
    for (size_t i = 0; i < k->n_arrays; i++) {
        k->arrays[i] = eddy__sequence_new(&k->w, dtype_of(k, i), k->n, false);
        flows[i] = k->arrays[i].flow;
        if (begins_late)
            flows[i] = eddy__sequence_write(&k->w, &k->arrays[i], flows[i],
                                            first, states[i]);
    }
    k->variables[0] = first;
    if (k->is_foldr)
        k->variables[0] = begins_late ? first : k->n;
    else if (begins_late)
        k->variables[0] =
            k->is_backward ? minus_one(k, first) : eddy_emit_int32(&k->w, 1);
}

static void prepare(walk *k)
{
    k->n = eddy__write_length(&k->w, k->elems[0]);
    for (size_t i = 0; i < k->n_elems; i++)
        k->items[i] = eddy__sequence_of_n(&k->w, k->elems[i], k->n);
    make_variables(k);
}

/* ---- the loop ---- */

static eddy_output write_condition(walk *k, eddy_output i)
{
    if (!k->is_foldr && !k->is_backward)
        return eddy_emit_binary(&k->w, "Less", i, k->n);
    return eddy_emit_binary(&k->w, k->is_foldr ? "Greater" : "GreaterEqual", i,
                            eddy_emit_int32(&k->w, 0));
}

/* A scan's states are what its results are made of, so they keep their shape.
 */
static const eddy_shape *list_invariants(walk *k)
{
    const size_t n = count_variables(k);

    if (k->n_states == 0 || k->n_arrays == 0 || !k->infers_shape)
        return NULL;
    for (size_t i = 0; i < n; i++)
        k->shapes[i] = i >= 1 && i <= k->n_states
                           ? eddy__writer_shape_of(&k->w, k->variables[i])
                           : (eddy_shape){.rank = 0};
    return k->shapes;
}

static eddy_status begin_loop(walk *k)
{
    const eddy_loop_options *o = &k->options;
    const eddy_while_spec spec = {
        .size = sizeof spec,
        .name = k->name,
        .initial = k->variables,
        .n_variables = count_variables(k),
        .parallel_iterations = o->parallel_iterations,
        .maximum_iterations = o->bounds_trips ? &k->n : NULL,
        .shape_invariants = list_invariants(k),
        .no_back_prop = o->no_back_prop,
        .swap_memory = o->swap_memory,
    };
    eddy_output go_on;

    EDDY_TRY(eddy_while_begin(k->w.graph, &spec, k->variables, k->w.err));
    go_on = write_condition(k, k->variables[0]);
    EDDY_TRY(k->w.status);
    return eddy_while_body(k->w.graph, go_on, k->variables, k->w.err);
}

static eddy_status check_results(const walk *k)
{
    const eddy_graph *graph = k->w.graph;

    EDDY_TRY(
        eddy__builder_want_values(graph, k->results, k->n_results, k->w.err));
    for (size_t i = 0; i < k->n_results; i++) {
        const eddy_dtype found = eddy_graph_output_dtype(graph, k->results[i]);
        const eddy_dtype wanted = dtype_of(k, i);

        if (found != wanted)
            return eddy__graph_fail_at(
                k->w.err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE,
                &graph->nodes[k->results[i].node],
                "result %zu of a step of '%.64s' is %s, %s is wanted", i,
                eddy_construct_scope(graph), eddy_dtype_name(found),
                eddy_dtype_name(wanted));
    }
    return EDDY_OK;
}

/* One step, from the item at `i`; its results are checked. */
static eddy_status write_step(walk *k, eddy_output i)
{
    const size_t n_inputs = k->n_states + k->n_elems;

    for (size_t s = 0; s < k->n_states; s++)
        k->inputs[s] = k->variables[1 + s];
    for (size_t e = 0; e < k->n_elems; e++)
        k->inputs[k->n_states + e] =
            eddy__sequence_read(&k->w, &k->items[e], i);
    for (size_t r = 0; r < k->n_results; r++)
        k->results[r] = (eddy_output){EDDY_NO_NODE, 0};
    EDDY_TRY(k->w.status);
    EDDY_TRY(eddy__build_part(k->w.graph, &k->step, k->inputs, n_inputs,
                              k->results, k->w.err));
    return check_results(k);
}

/* What is known of the items of array `a`: of all, as they are alike. */
static eddy_shape item_shape(const walk *k, size_t a)
{
    eddy_shape shape = eddy__writer_shape_of(&k->w, k->results[a]);
    eddy_shape state;

    if (k->n_states == 0)
        return shape;
    state = eddy__writer_shape_of(&k->w, k->inputs[a]);
    return eddy__shape_merge(&shape, &state, &shape) ? shape : state;
}

/* Puts the results of the step at `i` into their arrays. */
static void write_results(walk *k, eddy_output i)
{
    eddy_output *flows = k->variables + 1 + k->n_states;

    for (size_t a = 0; a < k->n_arrays; a++) {
        k->shapes[a] = (eddy_shape){.rank = -1};
        if (k->infers_shape) {
            k->shapes[a] = item_shape(k, a);
            eddy__sequence_settle(&k->w, &k->arrays[a], k->arrays[a].dtype,
                                  &k->shapes[a]);
        }
        flows[a] = eddy__sequence_write(&k->w, &k->arrays[a], flows[a], i,
                                        k->results[a]);
    }
}

static eddy_status write_body(walk *k)
{
    eddy_output *counter = &k->variables[0];

    if (k->is_foldr)
        *counter = minus_one(k, *counter);
    EDDY_TRY(write_step(k, *counter));
    write_results(k, *counter);
    for (size_t s = 0; s < k->n_states; s++)
        k->variables[1 + s] = k->results[s];
    if (k->is_backward)
        *counter = minus_one(k, *counter);
    else if (!k->is_foldr)
        *counter = eddy_emit_binary(&k->w, "AddV2", *counter,
                                    eddy_emit_int32(&k->w, 1));
    EDDY_TRY(k->w.status);
    return eddy_while_end(k->w.graph, k->variables, count_variables(k),
                          k->variables, k->w.err);
}

static eddy_status finish(walk *k, eddy_output *out_results)
{
    const eddy_output *flows = k->variables + 1 + k->n_states;

    for (size_t i = 0; i < k->n_results; i++)
        out_results[i] =
            k->n_arrays > 0
                ? eddy__sequence_stack(&k->w, &k->arrays[i], flows[i], k->n,
                                       &k->shapes[i])
                : k->variables[1 + i];
    return k->w.status;
}

static eddy_status write_all(walk *k, eddy_output *out_results)
{
    EDDY_TRY(check_elems(k));
    EDDY_TRY(make_lists(k));
    prepare(k);
    EDDY_TRY(k->w.status);
    EDDY_TRY(begin_loop(k));
    EDDY_TRY(write_body(k));
    EDDY_TRY(finish(k, k->results));
    memcpy(out_results, k->results, k->n_results * sizeof *out_results);
    return EDDY_OK;
}

static eddy_status run_walk(walk *k, eddy_graph *graph,
                            eddy_output *out_results, eddy_error *err)
{
    eddy__attempt attempt;
    eddy_status status;

    EDDY_REFUSE_IF(!graph, err, "%s: no graph", k->name);
    EDDY_REFUSE_IF(!k->elems, err, "%s: no elems", k->name);
    EDDY_REFUSE_IF(!k->step.build, err, "%s: no step", k->name);
    EDDY_REFUSE_IF(!out_results, err, "%s: nowhere to put the results",
                   k->name);
    k->w = eddy_emitter_of(graph, err);
    k->arena.allocator = graph->arena.allocator;
    EDDY_TRY(eddy__attempt_begin(&attempt, graph, err));
    status = eddy__attempt_end(&attempt, write_all(k, out_results));
    eddy__arena_destroy(&k->arena);
    return status;
}

/* ---- the calls ---- */

static eddy_status fail_spec(const char *call, bool is_there, eddy_error *err)
{
    return eddy__fail(
        err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT, "%s: %s", call,
        is_there ? "a specification of the wrong size" : "no specification");
}

static const char *choose_name(const char *name, const char *otherwise)
{
    return name && *name ? name : otherwise;
}

eddy_status eddy_map_fn(eddy_graph *graph, const eddy_map_spec *spec,
                        eddy_output *out_results, eddy_error *err)
{
    walk k;

    if (!spec || spec->size != sizeof *spec)
        return fail_spec("map_fn", spec != NULL, err);
    k = (walk){
        .name = choose_name(spec->name, "map"),
        .elems = spec->elems,
        .n_elems = spec->n_elems,
        .step = {spec->step, spec->user},
        .options = spec->options,
        .dtypes = spec->dtypes,
        .infers_shape = !spec->no_infer_shape,
        .n_results = spec->dtypes ? spec->n_results : spec->n_elems,
    };
    k.n_arrays = k.n_results;
    return run_walk(&k, graph, out_results, err);
}

/* What the others have in common. */
static walk fold_of(const eddy_fold_spec *spec, const char *name)
{
    const size_t n_results =
        spec->initializer ? spec->n_initializers : spec->n_elems;

    return (walk){
        .name = choose_name(spec->name, name),
        .elems = spec->elems,
        .n_elems = spec->n_elems,
        .step = {spec->step, spec->user},
        .options = spec->options,
        .initializer = spec->initializer,
        .infers_shape = !spec->no_infer_shape,
        .n_results = n_results,
        .n_states = n_results,
    };
}

eddy_status eddy_foldl(eddy_graph *graph, const eddy_fold_spec *spec,
                       eddy_output *out_results, eddy_error *err)
{
    walk k;

    if (!spec || spec->size != sizeof *spec)
        return fail_spec("foldl", spec != NULL, err);
    k = fold_of(spec, "foldl");
    return run_walk(&k, graph, out_results, err);
}

eddy_status eddy_foldr(eddy_graph *graph, const eddy_fold_spec *spec,
                       eddy_output *out_results, eddy_error *err)
{
    walk k;

    if (!spec || spec->size != sizeof *spec)
        return fail_spec("foldr", spec != NULL, err);
    k = fold_of(spec, "foldr");
    k.is_foldr = true;
    return run_walk(&k, graph, out_results, err);
}

eddy_status eddy_scan(eddy_graph *graph, const eddy_fold_spec *spec,
                      eddy_output *out_results, eddy_error *err)
{
    walk k;

    if (!spec || spec->size != sizeof *spec)
        return fail_spec("scan", spec != NULL, err);
    k = fold_of(spec, "scan");
    k.n_arrays = k.n_results;
    k.is_backward = spec->reverse;
    return run_walk(&k, graph, out_results, err);
}
