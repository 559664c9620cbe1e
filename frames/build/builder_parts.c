/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The constructs with functions that build their parts: begun, built and ended,
 * or taken back whole.
 */
#include "core/base/status.h"
#include "frames/build/builder.h"

/* What to close down to when a function fails. */
static void abort_to(eddy_graph *graph, size_t depth)
{
    while (eddy_construct_depth(graph) > depth)
        eddy_construct_abort(graph);
}

eddy_status eddy__build_part(eddy_graph *graph, const eddy_branch *part,
                             const eddy_output *inputs, size_t n,
                             eddy_output *out_results, eddy_error *err)
{
    const size_t depth = eddy_construct_depth(graph);

    if (!part->build)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                          "no function for a part of '%.64s'",
                          eddy_construct_scope(graph));
    EDDY_TRY(part->build(graph, part->user, inputs, n, out_results, err));
    if (eddy_construct_depth(graph) == depth)
        return EDDY_OK;
    return eddy__fail(err, EDDY_FAILED_PRECONDITION, EDDY_E_CONSTRUCT,
                      "a function that builds a part has ended more or less "
                      "constructs than it has begun");
}

/* ---- while ---- */

static eddy_status build_while(eddy_graph *graph, const eddy_while_spec *spec,
                               const eddy_while_functions *functions,
                               eddy_output *now, eddy_output *next,
                               eddy_error *err)
{
    const eddy_branch condition = {functions->condition, functions->user};
    const eddy_branch body = {functions->body, functions->user};
    const size_t n = spec->n_variables;
    eddy_output predicate = {EDDY_NO_NODE, 0};

    eddy__builder_forget_outputs(next, n);
    EDDY_TRY(eddy_while_begin(graph, spec, now, err));
    EDDY_TRY(eddy__build_part(graph, &condition, now, n, &predicate, err));
    EDDY_TRY(eddy_while_body(graph, predicate, now, err));
    EDDY_TRY(eddy__build_part(graph, &body, now, n, next, err));
    return eddy_while_end(graph, next, n, now, err);
}

eddy_status eddy_while_loop(eddy_graph *graph, const eddy_while_spec *spec,
                            const eddy_while_functions *functions,
                            eddy_output *out_results, eddy_error *err)
{
    const eddy_allocator *allocator;
    const size_t depth = eddy_construct_depth(graph);
    eddy_output *values;
    eddy_status status;

    if (!graph || !spec || spec->size != sizeof *spec || !functions ||
        !out_results)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                          "no graph, no functions, nowhere to put the results, "
                          "or a specification of the loop of the wrong size");
    allocator = graph->arena.allocator;
    values = eddy__allocate(allocator, spec->n_variables, 2 * sizeof *values);
    if (!values)
        return eddy__fail_memory(err);
    status = build_while(graph, spec, functions, values,
                         values + spec->n_variables, err);
    if (status != EDDY_OK)
        abort_to(graph, depth);
    for (size_t i = 0; i < spec->n_variables && status == EDDY_OK; i++)
        out_results[i] = values[i];
    eddy__free(allocator, values, spec->n_variables, 2 * sizeof *values);
    return status;
}

/* ---- branches ---- */

typedef eddy_status (*next_fn)(eddy_graph *graph, const eddy_output *results,
                               size_t n, eddy_error *err);
typedef eddy_status (*end_fn)(eddy_graph *graph, const eddy_output *results,
                              size_t n, eddy_output *out_results,
                              eddy_error *err);

/* A construct of branches that has been begun, and what they are. */
typedef struct branches {
    const eddy_branch *parts;
    size_t n_parts;
    next_fn next;
    end_fn end;
    size_t n; /* results of each */
    eddy_output *out_results;
} branches;

static eddy_status build_branches(eddy_graph *graph, const branches *all,
                                  eddy_output *results, eddy_error *err)
{
    for (size_t i = 0; i < all->n_parts; i++) {
        eddy__builder_forget_outputs(results, all->n);
        EDDY_TRY(eddy__build_part(graph, &all->parts[i], NULL, all->n, results,
                                  err));
        if (i + 1 < all->n_parts)
            EDDY_TRY(all->next(graph, results, all->n, err));
    }
    return all->end(graph, results, all->n, all->out_results, err);
}

/* Builds what was begun at `depth`, or takes it back. */
static eddy_status finish(eddy_graph *graph, size_t depth, const branches *all,
                          eddy_error *err)
{
    const eddy_allocator *allocator = graph->arena.allocator;
    eddy_output *results;
    eddy_status status = EDDY_OK;

    results = eddy__allocate(allocator, all->n, sizeof *results);
    if (!results)
        status = eddy__fail_memory(err);
    else if (!all->parts)
        status = eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                            "no functions for the branches");
    else if (all->n > 0 && !all->out_results)
        status = eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                            "nowhere to put the results of the branches");
    else
        status = build_branches(graph, all, results, err);
    if (status != EDDY_OK)
        abort_to(graph, depth);
    eddy__free(allocator, results, all->n, sizeof *results);
    return status;
}

eddy_status eddy_cond(eddy_graph *graph, const eddy_cond_spec *spec,
                      const eddy_branch branches_of[2], size_t n,
                      eddy_output *out_results, eddy_error *err)
{
    const branches all = {branches_of,   2, eddy_cond_else,
                          eddy_cond_end, n, out_results};
    const size_t depth = eddy_construct_depth(graph);

    EDDY_TRY(eddy_cond_begin(graph, spec, err));
    return finish(graph, depth, &all, err);
}

eddy_status eddy_case(eddy_graph *graph, const eddy_case_spec *spec,
                      const eddy_branch *branches_of, size_t n,
                      eddy_output *out_results, eddy_error *err)
{
    branches all = {branches_of,   0, eddy_case_next,
                    eddy_case_end, n, out_results};
    const size_t depth = eddy_construct_depth(graph);

    EDDY_TRY(eddy_case_begin(graph, spec, err));
    all.n_parts = spec->n_predicates + spec->has_default;
    return finish(graph, depth, &all, err);
}

eddy_status eddy_switch_case(eddy_graph *graph,
                             const eddy_switch_case_spec *spec,
                             const eddy_branch *branches_of, size_t n,
                             eddy_output *out_results, eddy_error *err)
{
    branches all = {branches_of,   0, eddy_case_next,
                    eddy_case_end, n, out_results};
    const size_t depth = eddy_construct_depth(graph);

    EDDY_TRY(eddy_switch_case_begin(graph, spec, err));
    all.n_parts = spec->n_branches;
    return finish(graph, depth, &all, err);
}
