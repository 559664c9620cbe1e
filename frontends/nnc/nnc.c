/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NNC's parameterised while loop and case_of, in graphs.
 *
 * The condition stands between two parts of the body.  A loop of primitives has
 * its condition first, so the loop is turned around: the part before runs once
 * ahead of it, and from then on at the end of each iteration:
 *
 *     outputs, internals, go = before(0, first values)
 *     while go:
 *         parameters = after(count, parameters, internals)
 *         count = count + 1
 *         outputs, internals, go = before(count, parameters)
 *
 * Its variables are go, count, parameters, internals, outputs, in this order.
 */
#include "eddy/nnc.h"

#include "core/base/status.h"
#include "core/value/dtype.h"
#include "frames/build/builder.h"
#include "frontends/shared/attempt.h"
#include "frontends/shared/writer.h"

#include <string.h>

#define GO 0
#define COUNT 1
#define PARAMETERS 2

typedef struct loop {
    const eddy_nnc_while_spec *spec;
    size_t n_asked;      /* what `before` gives for the condition */
    size_t n_variables;  /* of the loop of primitives */
    eddy_output *inputs; /* what a part gets */
    eddy_output *given;  /* what `before` gives */
    eddy_output *asked;  /* the count, and what it gives for the condition */
} loop;

/* ---- parts ---- */

/* A part must close what it opens. */
static eddy_status build_part(eddy_graph *graph, const loop *l,
                              eddy_part_fn part, size_t n_inputs,
                              eddy_output *out_results, eddy_error *err)
{
    const size_t depth = eddy_construct_depth(graph);

    EDDY_TRY(part(graph, l->spec->user, l->inputs, n_inputs, out_results, err));
    if (eddy_construct_depth(graph) == depth)
        return EDDY_OK;
    return eddy__fail(err, EDDY_FAILED_PRECONDITION, EDDY_E_CONSTRUCT,
                      "a function that builds a part has ended more or less "
                      "constructs than it has begun");
}

/* Whether the loop goes on, out of what `before` gave last. */
static eddy_status build_condition(eddy_graph *graph, const loop *l,
                                   eddy_output *out_go, eddy_error *err)
{
    const eddy_nnc_while_spec *spec = l->spec;
    const eddy_host_spec host = {.size = sizeof host,
                                 .inputs = l->asked,
                                 .n_inputs = 1 + l->n_asked,
                                 .user = spec->condition_user};

    if (spec->condition) {
        EDDY_TRY(eddy_graph_add_host_predicate(graph, &host, spec->condition,
                                               out_go, err));
        eddy__host_table_note_trip(&graph->host);
        return EDDY_OK;
    }
    *out_go = l->asked[1];
    return eddy__builder_want_predicate(
        graph, spec->name && *spec->name ? spec->name : "while", *out_go, err);
}

/*
 * The part before the condition, and that, out of the count and parameters in
 * `now`, all variables; the others of them are set.
 */
static eddy_status build_before(eddy_graph *graph, const loop *l,
                                eddy_output *now, eddy_error *err)
{
    const eddy_nnc_while_spec *spec = l->spec;
    const size_t n_inputs = 1 + spec->n_parameters;
    const size_t n_results = spec->n_outputs + spec->n_internals;
    eddy_output *internals = now + PARAMETERS + spec->n_parameters;

    memcpy(l->inputs, now + COUNT, n_inputs * sizeof *now);
    eddy__builder_forget_outputs(l->given, n_results + l->n_asked);
    EDDY_TRY(build_part(graph, l, spec->before, n_inputs, l->given, err));
    EDDY_TRY(eddy__builder_want_values(graph, l->given, n_results + l->n_asked,
                                       err));
    l->asked[0] = now[COUNT];
    memcpy(l->asked + 1, l->given + n_results, l->n_asked * sizeof *now);
    EDDY_TRY(build_condition(graph, l, &now[GO], err));
    memcpy(internals, l->given + spec->n_outputs,
           spec->n_internals * sizeof *now);
    memcpy(internals + spec->n_internals, l->given,
           spec->n_outputs * sizeof *now);
    return EDDY_OK;
}

/* What a parameter that accumulates is, and what is added to it. */
static eddy_status accumulate(eddy_graph *graph, const loop *l, size_t i,
                              eddy_output now, eddy_output *next,
                              eddy_error *err)
{
    const char *name = l->spec->name;
    const eddy_dtype wanted = eddy_graph_output_dtype(graph, now);
    const eddy_dtype given = eddy_graph_output_dtype(graph, *next);
    eddy_emitter w = eddy_emitter_of(graph, err);

    if (given != wanted || !eddy__dtype_in(wanted, EDDY__NUMBERS))
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE,
                          "parameter %zu of '%.64s' accumulates: it is %s, and "
                          "what is to be added to it is %s",
                          i, name && *name ? name : "while",
                          eddy_dtype_name(wanted), eddy_dtype_name(given));
    *next = eddy_emit_binary(&w, "AddV2", now, *next);
    return w.status;
}

static eddy_status build_after(eddy_graph *graph, const loop *l,
                               const eddy_output *now, eddy_output *next,
                               eddy_error *err)
{
    const eddy_nnc_while_spec *spec = l->spec;
    const size_t n_inputs = 1 + spec->n_parameters + spec->n_internals;
    eddy_emitter w = eddy_emitter_of(graph, err);

    if (spec->after) {
        memcpy(l->inputs, now + COUNT, n_inputs * sizeof *now);
        EDDY_TRY(build_part(graph, l, spec->after, n_inputs, next + PARAMETERS,
                            err));
        EDDY_TRY(eddy__builder_want_values(graph, next + PARAMETERS,
                                           spec->n_parameters, err));
    }
    for (size_t i = 0; spec->accumulates && i < spec->n_parameters; i++)
        if (spec->accumulates[i])
            EDDY_TRY(accumulate(graph, l, i, now[PARAMETERS + i],
                                &next[PARAMETERS + i], err));
    next[COUNT] =
        eddy_emit_binary(&w, "AddV2", now[COUNT], eddy_emit_int64(&w, 1));
    return w.status;
}

/* ---- the loop of primitives ---- */

static eddy_status does_go_on(eddy_graph *graph, void *user,
                              const eddy_output *now, size_t n,
                              eddy_output *out, eddy_error *err)
{
    (void)graph;
    (void)user;
    (void)n;
    (void)err;
    *out = now[GO];
    return EDDY_OK;
}

static eddy_status build_body(eddy_graph *graph, void *user,
                              const eddy_output *now, size_t n,
                              eddy_output *next, eddy_error *err)
{
    const loop *l = user;

    (void)n;
    EDDY_TRY(build_after(graph, l, now, next, err));
    return build_before(graph, l, next, err);
}

static eddy_status build_loop(eddy_graph *graph, loop *l, eddy_output *values,
                              eddy_shape *shapes, eddy_error *err)
{
    const eddy_nnc_while_spec *spec = l->spec;
    const eddy_while_functions parts = {does_go_on, build_body, l};
    const eddy_while_spec whole = {
        .size = sizeof whole,
        .name = spec->name,
        .initial = values,
        .n_variables = l->n_variables,
        .parallel_iterations = spec->parallel_iterations,
        .shape_invariants = spec->changes_shape ? NULL : shapes,
    };
    eddy_emitter w = eddy_emitter_of(graph, err);

    values[COUNT] = eddy_emit_int64(&w, 0);
    EDDY_TRY(w.status);
    if (spec->n_parameters > 0)
        memcpy(values + PARAMETERS, spec->initial,
               spec->n_parameters * sizeof *values);
    EDDY_TRY(build_before(graph, l, values, err));
    for (size_t i = 0; i < l->n_variables; i++)
        shapes[i] = eddy__writer_shape_of(&w, values[i]);
    return eddy_while_loop(graph, &whole, &parts, values, err);
}

/* The loop, and what it needs meanwhile. */
static eddy_status run_loop(eddy_graph *graph, loop *l,
                            eddy_output *out_outputs, eddy_output *out_count,
                            eddy_error *err)
{
    const eddy_nnc_while_spec *spec = l->spec;
    eddy__arena arena = {.allocator = graph->arena.allocator};
    const size_t n = l->n_variables;
    eddy_output *values = eddy__arena_allocate(&arena, n, sizeof *values);
    eddy_shape *shapes = eddy__arena_allocate(&arena, n, sizeof *shapes);
    eddy_status status;

    l->inputs = eddy__arena_allocate(&arena, n, sizeof *l->inputs);
    l->given = eddy__arena_allocate(&arena, n + l->n_asked, sizeof *l->given);
    l->asked = eddy__arena_allocate(&arena, 1 + l->n_asked, sizeof *l->asked);
    if (!values || !shapes || !l->inputs || !l->given || !l->asked) {
        eddy__arena_destroy(&arena);
        return eddy__fail_memory(err);
    }
    status = build_loop(graph, l, values, shapes, err);
    if (status == EDDY_OK && spec->n_outputs > 0)
        memcpy(out_outputs, values + n - spec->n_outputs,
               spec->n_outputs * sizeof *values);
    if (status == EDDY_OK && out_count)
        *out_count = values[COUNT];
    eddy__arena_destroy(&arena);
    return status;
}

/* Counts that no sum of them can overflow. */
static bool are_counts(const eddy_nnc_while_spec *spec)
{
    const size_t most = UINT32_MAX / 8;

    return spec->n_parameters <= most && spec->n_outputs <= most &&
           spec->n_internals <= most && spec->n_condition <= most;
}

static eddy_status check_while(const eddy_graph *graph,
                               const eddy_nnc_while_spec *spec,
                               const eddy_output *out_outputs, eddy_error *err)
{
    EDDY_REFUSE_IF(!graph, err, "no graph");
    EDDY_REFUSE_IF(!spec, err, "no specification of the loop");
    EDDY_REFUSE_IF(spec->size != sizeof *spec, err,
                   "the specification of the loop has the wrong size");
    EDDY_REFUSE_IF(!spec->before, err,
                   "no function for the part before the condition");
    EDDY_REFUSE_IF(!spec->after && spec->n_parameters > 0, err,
                   "no function for the part after the condition");
    EDDY_REFUSE_IF(spec->n_outputs > 0 && !out_outputs, err,
                   "nowhere to put %zu outputs", spec->n_outputs);
    EDDY_REFUSE_IF(spec->n_parameters > 0 && !spec->initial, err,
                   "NULL for the first values of %zu parameters",
                   spec->n_parameters);
    if (!are_counts(spec))
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT,
                          "a loop of %zu parameters, %zu internals and %zu "
                          "outputs is too large",
                          spec->n_parameters, spec->n_internals,
                          spec->n_outputs);
    return eddy__builder_want_values(graph, spec->initial, spec->n_parameters,
                                     err);
}

eddy_status eddy_nnc_while(eddy_graph *graph, const eddy_nnc_while_spec *spec,
                           eddy_output *out_outputs, eddy_output *out_count,
                           eddy_error *err)
{
    eddy__attempt attempt;
    loop l = {.spec = spec};

    EDDY_TRY(check_while(graph, spec, out_outputs, err));
    l.n_asked = spec->condition ? spec->n_condition : 1;
    l.n_variables =
        PARAMETERS + spec->n_parameters + spec->n_internals + spec->n_outputs;
    EDDY_TRY(eddy__attempt_begin(&attempt, graph, err));
    return eddy__attempt_end(&attempt,
                             run_loop(graph, &l, out_outputs, out_count, err));
}

/* ---- case_of ---- */

/* A branch of the switch_case that it becomes. */
typedef struct branch {
    const eddy_nnc_case_spec *spec;
    const eddy_branch *part; /* NULL: the one that stands for none */
} branch;

static eddy_status build_branch(eddy_graph *graph, void *user,
                                const eddy_output *inputs, size_t n,
                                eddy_output *out_results, eddy_error *err)
{
    const branch *b = user;
    const eddy_nnc_case_spec *spec = b->spec;

    (void)inputs;
    if (b->part && b->part->build)
        return b->part->build(graph, b->part->user, spec->inputs,
                              spec->n_inputs, out_results, err);
    if (b->part)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                          "no function for branch %zu of '%.64s'",
                          (size_t)(b->part - spec->branches),
                          eddy_construct_scope(graph));
    if (n > 0)
        memcpy(out_results, spec->inputs, n * sizeof *out_results);
    return EDDY_OK;
}

static eddy_status build_index(eddy_graph *graph,
                               const eddy_nnc_case_spec *spec,
                               eddy_output *out_index, eddy_error *err)
{
    const eddy_host_spec host = {
        .size = sizeof host,
        .inputs = spec->select_inputs,
        .n_inputs = spec->n_select_inputs,
        .user = spec->select_user,
        .n_choices = (int32_t)spec->n_branches,
    };

    *out_index = spec->index;
    return spec->select ? eddy_graph_add_host_selector(
                              graph, &host, spec->select, out_index, err)
                        : EDDY_OK;
}

/* -1, like all that is no branch's index, takes the last branch of all. */
static eddy_status build_case(eddy_graph *graph, const eddy_nnc_case_spec *spec,
                              branch *branches, eddy_branch *parts,
                              eddy_output *out_results, eddy_error *err)
{
    const size_t n = spec->n_branches + 1;
    eddy_switch_case_spec whole = {
        .size = sizeof whole,
        .name = spec->name && *spec->name ? spec->name : "case_of",
        .n_branches = n,
    };

    for (size_t i = 0; i < n; i++) {
        branches[i] = (branch){spec, i + 1 < n ? &spec->branches[i] : NULL};
        parts[i] = (eddy_branch){build_branch, &branches[i]};
    }
    EDDY_TRY(build_index(graph, spec, &whole.index, err));
    return eddy_switch_case(graph, &whole, parts, spec->n_inputs, out_results,
                            err);
}

static eddy_status check_case(const eddy_graph *graph,
                              const eddy_nnc_case_spec *spec,
                              const eddy_output *out_results, eddy_error *err)
{
    EDDY_REFUSE_IF(!graph, err, "no graph");
    EDDY_REFUSE_IF(!spec, err, "no specification of the case");
    EDDY_REFUSE_IF(spec->size != sizeof *spec, err,
                   "the specification of the case has the wrong size");
    EDDY_REFUSE_IF(spec->n_branches > 0 && !spec->branches, err,
                   "NULL for %zu branches", spec->n_branches);
    EDDY_REFUSE_IF(spec->n_inputs > 0 && !out_results, err,
                   "nowhere to put %zu results", spec->n_inputs);
    if (spec->n_branches == 0 || spec->n_branches >= EDDY__MAX_OUTPUTS)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT,
                          "a case of %zu branches; 1 to %d are wanted",
                          spec->n_branches, EDDY__MAX_OUTPUTS - 1);
    return eddy__builder_want_values(graph, spec->inputs, spec->n_inputs, err);
}

eddy_status eddy_nnc_case_of(eddy_graph *graph, const eddy_nnc_case_spec *spec,
                             eddy_output *out_results, eddy_error *err)
{
    eddy__attempt attempt;
    eddy__arena arena;
    branch *branches;
    eddy_branch *parts;
    eddy_status status;

    EDDY_TRY(check_case(graph, spec, out_results, err));
    EDDY_TRY(eddy__attempt_begin(&attempt, graph, err));
    arena = (eddy__arena){.allocator = graph->arena.allocator};
    branches =
        eddy__arena_allocate(&arena, spec->n_branches + 1, sizeof *branches);
    parts = eddy__arena_allocate(&arena, spec->n_branches + 1, sizeof *parts);
    status = branches && parts
                 ? build_case(graph, spec, branches, parts, out_results, err)
                 : eddy__fail_memory(err);
    eddy__arena_destroy(&arena);
    return eddy__attempt_end(&attempt, status);
}
