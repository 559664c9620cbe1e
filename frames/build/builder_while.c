/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops, laid out as TensorFlow's while_loop lays them out: Enter and Merge of
 * every variable; the condition, out of the Merges; LoopCond, and by it a
 * Switch and an Identity of every variable; the body, out of the Identities;
 * NextIteration of every next value, to the Merge; Exit of every Switch.
 *
 * With maximum_iterations variable 0 counts the trips, and the condition also
 * asks whether it is below the maximum.
 */
#include "core/base/status.h"
#include "core/graph/edit.h"
#include "core/value/dtype.h"
#include "core/value/shape.h"
#include "frames/build/builder.h"

#include <string.h>

#define DEFAULT_PARALLEL_ITERATIONS 10

/* ---- begin ---- */

static eddy_status check_maximum(const eddy_graph *graph,
                                 const eddy_output *maximum, eddy_error *err)
{
    const eddy__assumed nothing = {.n = 0};
    eddy_dtype dtype;
    eddy_shape shape;

    if (!maximum)
        return EDDY_OK;
    EDDY_TRY(eddy__builder_want_values(graph, maximum, 1, err));
    dtype = eddy_graph_output_dtype(graph, *maximum);
    if (!eddy__dtype_in(dtype, EDDY__INTEGERS))
        return eddy__graph_fail_at(
            err, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
            &graph->nodes[maximum->node],
            "maximum_iterations is %s, an integer is wanted",
            eddy_dtype_name(dtype));
    shape = eddy__known_shape(graph, &nothing, *maximum);
    if (shape.rank > 0)
        return eddy__graph_fail_at(
            err, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
            &graph->nodes[maximum->node],
            "maximum_iterations has shape %s, a scalar is "
            "wanted",
            eddy__shape_print(&shape).text);
    return EDDY_OK;
}

/* Fails if it is known that a value breaks its variable's invariant. */
static eddy_status check_invariant(const eddy_graph *graph,
                                   const eddy__assumed *assumed, size_t i,
                                   const eddy_shape *invariant,
                                   eddy_output value, eddy_error *err)
{
    const eddy_shape shape = eddy__known_shape(graph, assumed, value);

    if (eddy__shape_compatible(&shape, invariant))
        return EDDY_OK;
    return eddy__graph_fail_at(
        err, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE, &graph->nodes[value.node],
        "a value of loop variable %zu has shape %s, and its "
        "shape invariant is %s",
        i, eddy__shape_print(&shape).text, eddy__shape_print(invariant).text);
}

static eddy_status check_shapes(const eddy_graph *graph,
                                const eddy_while_spec *spec, eddy_error *err)
{
    const eddy__assumed nothing = {.n = 0};

    for (size_t i = 0; spec->shape_invariants && i < spec->n_variables; i++)
        EDDY_TRY(eddy__builder_want_valid_shape(
            "shape_invariants", &spec->shape_invariants[i], err));
    for (size_t i = 0; spec->shape_invariants && i < spec->n_variables; i++)
        EDDY_TRY(check_invariant(graph, &nothing, i, &spec->shape_invariants[i],
                                 spec->initial[i], err));
    return EDDY_OK;
}

static eddy_status check_while(const eddy_graph *graph,
                               const eddy_while_spec *spec,
                               const eddy_output *out_variables,
                               eddy_error *err)
{
    EDDY_REFUSE_IF(!graph, err, "no graph");
    EDDY_REFUSE_IF(!spec, err, "no specification of the loop");
    EDDY_REFUSE_IF(spec->size != sizeof *spec, err,
                   "the specification of the loop has the wrong size");
    EDDY_REFUSE_IF(!out_variables, err, "nowhere to put the variables");
    EDDY_REFUSE_IF(spec->n_controls > 0 && !spec->controls, err,
                   "NULL for %zu controls", spec->n_controls);
    if (spec->n_variables == 0 || spec->n_variables > UINT32_MAX / 2)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT,
                          "a loop of %zu variables, at least one is wanted",
                          spec->n_variables);
    if (spec->parallel_iterations < 0)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT,
                          EDDY_E_PARALLEL_ITERATIONS,
                          "parallel_iterations is %lld, it must be at least 1",
                          (long long)spec->parallel_iterations);
    EDDY_TRY(eddy__builder_want_values(graph, spec->initial, spec->n_variables,
                                       err));
    EDDY_TRY(check_maximum(graph, spec->maximum_iterations, err));
    return check_shapes(graph, spec, err);
}

/* A copy of the controls as they are seen in the level that `c` stands in. */
static eddy_status take_controls(eddy__builder *b, const eddy__construct *c,
                                 const eddy_while_spec *spec,
                                 eddy__level *level, eddy_error *err)
{
    eddy_node *controls = eddy__arena_allocate(
        &b->graph->arena, spec->n_controls, sizeof *controls);

    if (!controls)
        return eddy__fail_memory(err);
    for (size_t i = 0; i < spec->n_controls; i++) {
        if (spec->controls[i] >= b->graph->n_nodes)
            return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_UNKNOWN_INPUT,
                              "control %zu is node %u of %zu", i,
                              (unsigned)spec->controls[i], b->graph->n_nodes);
        EDDY_TRY(eddy__builder_bring_control(b, c->outer, spec->controls[i],
                                             &controls[i], err));
    }
    level->controls = controls;
    level->n_controls = spec->n_controls;
    return EDDY_OK;
}

/* The level of the loop, and room for its variables. */
static eddy_status open_level(eddy__builder *b, const eddy_while_spec *spec,
                              eddy__construct *c, eddy_error *err)
{
    static const char suffix[] = "/while_context";
    eddy__arena *arena = &b->graph->arena;
    const size_t length = strlen(c->scope);
    char *frame = eddy__arena_allocate(arena, length + sizeof suffix, 1);
    eddy__level level = {
        .kind = EDDY__LEVEL_LOOP,
        .parent = c->outer,
        .scope = c->scope,
        .pivot = EDDY_NO_NODE,
        .frame_name = frame,
        .parallel_iterations = spec->parallel_iterations > 0
                                   ? spec->parallel_iterations
                                   : DEFAULT_PARALLEL_ITERATIONS,
    };

    c->merges = eddy__arena_allocate(arena, c->n_variables, sizeof *c->merges);
    c->switches =
        eddy__arena_allocate(arena, c->n_variables, sizeof *c->switches);
    if (spec->shape_invariants)
        c->invariants =
            eddy__arena_copy(arena, spec->shape_invariants, spec->n_variables,
                             sizeof *spec->shape_invariants);
    if (!frame || !c->merges || !c->switches ||
        (spec->shape_invariants && !c->invariants))
        return eddy__fail_memory(err);
    memcpy(frame, c->scope, length);
    memcpy(frame + length, suffix, sizeof suffix);
    EDDY_TRY(take_controls(b, c, spec, &level, err));
    return eddy__builder_add_level(b, &level, &c->level, err);
}

/* Enter runs outside of the loop, and what it puts out lives in it. */
static eddy_status add_enter(eddy__builder *b, const eddy__construct *c,
                             eddy_output initial, eddy_output *out,
                             eddy_error *err)
{
    const eddy__level *level = &b->levels[c->level];
    const eddy_string frame = {level->frame_name, strlen(level->frame_name)};
    const int64_t parallel_iterations = level->parallel_iterations;
    const eddy_attr attrs[] = {
        eddy_attr_string("frame_name", &frame),
        eddy_attr_int("parallel_iterations", &parallel_iterations),
    };
    const eddy__site site = {.level = c->outer, .scope = c->scope};
    eddy_node_spec spec = eddy__builder_spec("Enter", &initial, 1);

    spec.controls = level->controls;
    spec.n_controls = level->n_controls;
    spec.attrs = attrs;
    spec.n_attrs = sizeof attrs / sizeof attrs[0];
    out->index = 0;
    EDDY_TRY(eddy__builder_adopt(b, site, &spec, &out->node, err));
    eddy__set_level(b, out->node, c->level);
    return EDDY_OK;
}

/* All Enters, then all Merges, which get their other input in the end. */
static eddy_status add_variables(eddy__builder *b, eddy__construct *c,
                                 const eddy_while_spec *spec, eddy_output count,
                                 eddy_error *err)
{
    const eddy__site site = {.level = c->level, .scope = c->scope};

    for (size_t i = 0; i < c->n_variables; i++) {
        const bool is_counter = c->has_counter && i == 0;
        const eddy_output initial =
            is_counter ? count : spec->initial[i - c->has_counter];

        EDDY_TRY(add_enter(b, c, initial, &c->switches[i], err));
    }
    for (size_t i = 0; i < c->n_variables; i++) {
        const eddy_output both[] = {c->switches[i], c->switches[i]};
        const eddy_node_spec merge = eddy__builder_spec("Merge", both, 2);

        c->merges[i].index = 0;
        EDDY_TRY(eddy__builder_place(b, site, &merge, &c->merges[i].node, err));
        if (c->invariants && i >= c->has_counter &&
            !eddy__known_shapes_assume(b->graph, c->merges[i],
                                       &c->invariants[i - c->has_counter]))
            return eddy__fail_memory(err);
    }
    b->levels[c->level].pivot = c->merges[0].node;
    return EDDY_OK;
}

static eddy_status adopt_op(eddy__builder *b, eddy__site site, const char *op,
                            const eddy_output inputs[2], eddy_output *out,
                            eddy_error *err)
{
    const eddy_node_spec spec = eddy__builder_spec(op, inputs, 2);

    out->index = 0;
    return eddy__builder_adopt(b, site, &spec, &out->node, err);
}

static eddy_status begin(eddy__builder *b, const eddy_while_spec *spec,
                         eddy__construct *c, eddy_error *err)
{
    const eddy_output *maximum = spec->maximum_iterations;
    const eddy__site outside = {c->outer, c->scope, "iteration_counter", false};
    eddy_output count = {EDDY_NO_NODE, 0};
    eddy__site inside;

    if (maximum)
        EDDY_TRY(eddy__builder_adopt_scalar(
            b, outside, eddy_graph_output_dtype(b->graph, *maximum), 0, &count,
            err));
    EDDY_TRY(open_level(b, spec, c, err));
    EDDY_TRY(add_variables(b, c, spec, count, err));
    if (!maximum)
        return EDDY_OK;
    inside = (eddy__site){.level = c->level, .scope = c->scope};
    return adopt_op(b, inside, "Less", (eddy_output[]){c->merges[0], *maximum},
                    &c->below_maximum, err);
}

eddy_status eddy_while_begin(eddy_graph *graph, const eddy_while_spec *spec,
                             eddy_output *out_variables, eddy_error *err)
{
    eddy__builder *b;
    eddy__construct c = {.kind = EDDY__WHILE};
    eddy__mark mark;
    eddy_status status;

    EDDY_TRY(check_while(graph, spec, out_variables, err));
    EDDY_TRY(eddy__builder_of(graph, &b, err));
    EDDY_TRY(eddy__builder_reserve(b, 1, err));
    mark = eddy__builder_mark(b);
    c.first_node = mark.n_nodes;
    c.first_level = (uint32_t)mark.n_levels;
    c.outer = eddy__builder_level(b);
    c.has_counter = spec->maximum_iterations != NULL;
    c.n_variables = spec->n_variables + c.has_counter;
    c.no_back_prop = spec->no_back_prop;
    c.swap_memory = spec->swap_memory;
    EDDY_TRY(eddy__builder_scope(b, spec->name, "while", &c.scope, err));
    status = begin(b, spec, &c, err);
    if (status != EDDY_OK) {
        eddy__builder_rollback(b, mark);
        return status;
    }
    eddy__builder_push(b, &c);
    memcpy(out_variables, c.merges + c.has_counter,
           spec->n_variables * sizeof *out_variables);
    return EDDY_OK;
}

/* ---- body ---- */

static eddy_status add_loop_cond(eddy__builder *b, const eddy__construct *c,
                                 eddy_output predicate, eddy_output *out,
                                 eddy_error *err)
{
    static const bool yes = true, no = false;
    const eddy__site site = {.level = c->level, .scope = c->scope};
    eddy_attr attrs[2];
    eddy_node_spec spec = eddy__builder_spec("LoopCond", &predicate, 1);

    if (c->no_back_prop)
        attrs[spec.n_attrs++] = eddy_attr_bool("_back_prop", &no);
    if (c->swap_memory)
        attrs[spec.n_attrs++] = eddy_attr_bool("_swap_memory", &yes);
    spec.attrs = attrs;
    out->index = 0;
    return eddy__builder_adopt(b, site, &spec, &out->node, err);
}

/* Switches, then the Identities that the body reads. */
static eddy_status add_switches(eddy__builder *b, eddy__construct *c,
                                eddy_output go_on, eddy_output *out_variables,
                                eddy_error *err)
{
    const eddy__site site = {.level = c->level, .scope = c->scope};

    for (size_t i = 0; i < c->n_variables; i++) {
        const eddy_output inputs[] = {c->merges[i], go_on};
        const eddy_node_spec spec = eddy__builder_spec("Switch", inputs, 2);

        c->switches[i].index = 0;
        EDDY_TRY(
            eddy__builder_place(b, site, &spec, &c->switches[i].node, err));
    }
    for (size_t i = 0; i < c->n_variables; i++) {
        const eddy_output live = {c->switches[i].node, 1};
        const eddy_node_spec spec = eddy__builder_spec("Identity", &live, 1);
        eddy_output now = {.index = 0};

        EDDY_TRY(eddy__builder_place(b, site, &spec, &now.node, err));
        if (i == 0)
            b->levels[c->level].pivot = now.node;
        if (i >= c->has_counter)
            out_variables[i - c->has_counter] = now;
        else
            c->next_count = now;
    }
    return EDDY_OK;
}

/* The next count is what the body computes first. */
static eddy_status add_count(eddy__builder *b, eddy__construct *c,
                             eddy_error *err)
{
    const eddy__site one_site = {c->level, c->scope, "add/y", false};
    const eddy__site add_site = {c->level, c->scope, "add", false};
    eddy_output one;

    EDDY_TRY(eddy__builder_adopt_scalar(
        b, one_site, eddy_graph_output_dtype(b->graph, c->next_count), 1, &one,
        err));
    return adopt_op(b, add_site, "AddV2", (eddy_output[]){c->next_count, one},
                    &c->next_count, err);
}

static eddy_status begin_body(eddy__builder *b, eddy__construct *c,
                              eddy_output predicate, eddy_output *out_variables,
                              eddy_error *err)
{
    const eddy__site site = {.level = c->level, .scope = c->scope};

    if (c->has_counter)
        EDDY_TRY(adopt_op(b, site, "LogicalAnd",
                          (eddy_output[]){c->below_maximum, predicate},
                          &predicate, err));
    EDDY_TRY(add_loop_cond(b, c, predicate, &predicate, err));
    EDDY_TRY(add_switches(b, c, predicate, out_variables, err));
    return c->has_counter ? add_count(b, c, err) : EDDY_OK;
}

/* An open loop whose body, or whose condition, is being built. */
static eddy_status want_while(const eddy_graph *graph, bool in_body,
                              const char *call, eddy__construct **out,
                              eddy_error *err)
{
    eddy__construct *c;

    EDDY_TRY(eddy__want_construct(graph, EDDY__WHILE, call, &c, err));
    if (c->in_body != in_body) {
        eddy__fail_node(err, EDDY_FAILED_PRECONDITION, EDDY_E_CONSTRUCT,
                        c->scope, NULL,
                        c->in_body ? "%s: the body of the loop '%.64s' "
                                     "has already been begun"
                                   : "%s: the loop '%.64s' has no body "
                                     "yet",
                        call, c->scope);
        return EDDY_FAILED_PRECONDITION;
    }
    *out = c;
    return EDDY_OK;
}

eddy_status eddy_while_body(eddy_graph *graph, eddy_output predicate,
                            eddy_output *out_variables, eddy_error *err)
{
    eddy__builder *b;
    eddy__construct *c, built;
    eddy__mark mark;
    eddy_node pivot;
    eddy_status status;

    EDDY_TRY(want_while(graph, false, "eddy_while_body", &c, err));
    if (!out_variables)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                          "nowhere to put the variables");
    EDDY_TRY(eddy__builder_want_predicate(graph, c->scope, predicate, err));
    b = graph->builder;
    mark = eddy__builder_mark(b);
    pivot = b->levels[c->level].pivot;
    built = *c;
    status = begin_body(b, &built, predicate, out_variables, err);
    if (status != EDDY_OK) {
        b->levels[c->level].pivot = pivot;
        eddy__builder_rollback(b, mark);
        return status;
    }
    built.in_body = true;
    *c = built;
    return EDDY_OK;
}

/* ---- end ---- */

static eddy_status check_next(const eddy_graph *graph, const eddy__construct *c,
                              const eddy_output *next, size_t n,
                              eddy_error *err)
{
    const eddy_output *merges = c->merges + c->has_counter;
    const eddy__assumed assumed = {
        .merges = merges, .shapes = c->invariants, .n = c->invariants ? n : 0};

    if (n != c->n_variables - c->has_counter)
        return eddy__fail_node(err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT,
                               c->scope, NULL,
                               "the loop '%.64s' has %zu variables, and its "
                               "body gives %zu next values",
                               c->scope, c->n_variables - c->has_counter, n);
    EDDY_TRY(eddy__builder_want_values(graph, next, n, err));
    for (size_t i = 0; i < n; i++) {
        const eddy_dtype wanted = eddy_graph_output_dtype(graph, merges[i]);
        const eddy_dtype found = eddy_graph_output_dtype(graph, next[i]);

        if (found != wanted)
            return eddy__graph_fail_at(
                err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE,
                &graph->nodes[next[i].node],
                "variable %zu of the loop '%.64s' is %s, and its next value, "
                "'%.64s:%u', is %s",
                i, c->scope, eddy_dtype_name(wanted),
                graph->nodes[next[i].node].name, (unsigned)next[i].index,
                eddy_dtype_name(found));
        if (c->invariants)
            EDDY_TRY(check_invariant(graph, &assumed, i, &c->invariants[i],
                                     next[i], err));
    }
    return EDDY_OK;
}

/* NextIterations, into `next`, and Exits, into `out_results`. */
static eddy_status add_ends(eddy__builder *b, const eddy__construct *c,
                            const eddy_output *values, eddy_output *next,
                            eddy_output *exits, eddy_error *err)
{
    const eddy__site inside = {.level = c->level, .scope = c->scope};
    const eddy__site outside = {.level = c->outer, .scope = c->scope};

    for (size_t i = 0; i < c->n_variables; i++) {
        const eddy_output value = c->has_counter && i == 0
                                      ? c->next_count
                                      : values[i - c->has_counter];
        const eddy_node_spec spec =
            eddy__builder_spec("NextIteration", &value, 1);

        next[i].index = 0;
        EDDY_TRY(eddy__builder_adopt(b, inside, &spec, &next[i].node, err));
    }
    for (size_t i = 0; i < c->n_variables; i++) {
        const eddy_node_spec spec =
            eddy__builder_spec("Exit", &c->switches[i], 1);

        exits[i].index = 0;
        EDDY_TRY(eddy__builder_place(b, outside, &spec, &exits[i].node, err));
    }
    return EDDY_OK;
}

/* The back edges; the dtypes agree, so that nothing can fail. */
static void connect(eddy__builder *b, const eddy__construct *c,
                    const eddy_output *next)
{
    for (size_t i = 0; i < c->n_variables; i++)
        eddy__edit_input(b->graph, c->merges[i].node, 1, next[i]);
    eddy__known_shapes_forget(b->graph, c->merges[0].node);
}

static void disconnect(eddy__builder *b, const eddy__construct *c)
{
    for (size_t i = 0; i < c->n_variables; i++) {
        const eddy_node merge = c->merges[i].node;

        eddy__edit_input(b->graph, merge, 1, b->graph->nodes[merge].inputs[0]);
    }
}

/* Closes the loop, and answers what waits for that. */
static eddy_status close_loop(eddy__builder *b, const eddy__construct *c,
                              const eddy_output *next, eddy_error *err)
{
    const uint32_t level = c->level;
    eddy_status status;

    connect(b, c, next);
    b->n_open--;
    status = eddy__builder_answer(b, level, err);
    if (status == EDDY_OK)
        return status;
    b->n_open++;
    disconnect(b, eddy__builder_top(b));
    return status;
}

eddy_status eddy_while_end(eddy_graph *graph, const eddy_output *next, size_t n,
                           eddy_output *out_results, eddy_error *err)
{
    eddy__builder *b;
    eddy__construct *c;
    eddy__mark mark;
    eddy_output *ends;
    size_t n_variables;
    bool has_counter;
    eddy_status status;

    EDDY_TRY(want_while(graph, true, "eddy_while_end", &c, err));
    EDDY_TRY(check_next(graph, c, next, n, err));
    if (!out_results)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                          "nowhere to put the results");
    b = graph->builder;
    mark = eddy__builder_mark(b);
    n_variables = c->n_variables;
    has_counter = c->has_counter;
    ends = eddy__allocate(b->allocator, n_variables, 2 * sizeof *ends);
    if (!ends)
        return eddy__fail_memory(err);
    status = add_ends(b, c, next, ends, ends + c->n_variables, err);
    if (status == EDDY_OK)
        status = close_loop(b, c, ends, err);
    if (status == EDDY_OK)
        memcpy(out_results, ends + n_variables + has_counter, n * sizeof *ends);
    else
        eddy__builder_rollback(b, mark);
    eddy__free(b->allocator, ends, n_variables, 2 * sizeof *ends);
    return status;
}
