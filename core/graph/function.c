/* SPDX-License-Identifier: Apache-2.0 */
/* The library of a graph. */
#include "core/base/status.h"
#include "core/graph/attr.h"
#include "core/graph/graph.h"

#include <string.h>

const eddy__function *eddy__graph_find_function(const eddy_graph *graph,
                                                const char *name)
{
    uint32_t id = eddy__map_find(&graph->function_names, name, strlen(name));

    return id == EDDY__NOT_FOUND ? NULL : &graph->functions[id];
}

static eddy_status check_function(const eddy_graph *graph,
                                  const eddy__function *function,
                                  eddy_error *err)
{
    const eddy_graph *body = function->body;

    if (!function->name || !*function->name || !body || body->n_functions > 0)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_FUNCTION,
                          "a function needs a name and a body without a "
                          "library");
    if (eddy__graph_find_function(graph, function->name))
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_FUNCTION,
                          "function '%.64s' is defined twice", function->name);
    for (size_t i = 0; i < function->n_args; i++)
        if (function->args[i] >= body->n_nodes)
            return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_FUNCTION,
                              "argument %zu of function '%.64s' has no node", i,
                              function->name);
    for (size_t i = 0; i < function->n_results; i++)
        if (function->results[i].node >= body->n_nodes)
            return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_FUNCTION,
                              "result %zu of function '%.64s' has no node", i,
                              function->name);
    return EDDY_OK;
}

/* NULL without memory. */
static const char *const *copy_texts(eddy__arena *arena,
                                     const char *const *from, size_t n)
{
    const char **to = eddy__arena_allocate(arena, n, sizeof *to);

    if (!to)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        to[i] = eddy__arena_text(arena, from[i], strlen(from[i]));
        if (!to[i])
            return NULL;
    }
    return to;
}

static eddy_attr *copy_attrs(eddy__arena *arena, const eddy_attr *from,
                             size_t n)
{
    eddy_attr *to = eddy__arena_allocate(arena, n, sizeof *to);

    if (!to)
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (!eddy__attr_copy(arena, &from[i], &to[i]))
            return NULL;
    return to;
}

/* What is kept only for writing back. */
static bool copy_origin(eddy__arena *arena, const eddy__function *from,
                        eddy__function *to)
{
    to->attrs = copy_attrs(arena, from->attrs, from->n_attrs);
    if (from->gradient)
        to->gradient =
            eddy__arena_text(arena, from->gradient, strlen(from->gradient));
    if (from->problem)
        to->problem =
            eddy__arena_text(arena, from->problem, strlen(from->problem));
    to->bytes.data =
        eddy__arena_text(arena, from->bytes.data, from->bytes.length);
    return to->attrs && (!from->gradient || to->gradient) &&
           (!from->problem || to->problem) && to->bytes.data;
}

/* Copies all but the body into the arena; false without memory. */
static bool copy_function(eddy__arena *arena, const eddy__function *from,
                          eddy__function *to)
{
    *to = *from;
    to->name = eddy__arena_text(arena, from->name, strlen(from->name));
    to->args =
        eddy__arena_copy(arena, from->args, from->n_args, sizeof *to->args);
    to->arg_names = copy_texts(arena, from->arg_names, from->n_args);
    to->results = eddy__arena_copy(arena, from->results, from->n_results,
                                   sizeof *to->results);
    to->result_names = copy_texts(arena, from->result_names, from->n_results);
    to->control_results =
        eddy__arena_copy(arena, from->control_results, from->n_control_results,
                         sizeof *to->control_results);
    to->result_dtypes =
        from->result_dtypes
            ? eddy__arena_copy(arena, from->result_dtypes, from->n_results, 1)
            : NULL;
    return to->name && to->args && to->arg_names && to->results &&
           to->result_names && to->control_results &&
           (to->result_dtypes || !from->result_dtypes) &&
           copy_origin(arena, from, to);
}

eddy_status eddy__graph_add_function(eddy_graph *graph,
                                     const eddy__function *function,
                                     eddy_error *err)
{
    void *functions = graph->functions;
    eddy__function copy;
    bool ok;

    EDDY_TRY(check_function(graph, function, err));
    for (size_t i = 0; i < function->n_attrs; i++)
        EDDY_TRY(eddy__attr_check(&function->attrs[i], err));
    if (!copy_function(&graph->arena, function, &copy))
        return eddy__fail_memory(err);
    ok = eddy__grow(graph->arena.allocator, &functions,
                    &graph->functions_capacity, graph->n_functions + 1,
                    sizeof(eddy__function));
    graph->functions = functions;
    if (!ok || !eddy__map_set(&graph->function_names, copy.name,
                              (uint32_t)graph->n_functions))
        return eddy__fail_memory(err);
    for (size_t i = 0; i < copy.n_attrs; i++)
        eddy__attr_retain(&copy.attrs[i]);
    graph->functions[graph->n_functions++] = copy;
    return EDDY_OK;
}

const char *eddy_graph_function_name(const eddy_graph *graph, size_t i)
{
    return i < graph->n_functions ? graph->functions[i].name : NULL;
}

const eddy_graph *eddy_graph_function_body(const eddy_graph *graph, size_t i)
{
    return i < graph->n_functions ? graph->functions[i].body : NULL;
}

const char *eddy_graph_function_problem(const eddy_graph *graph, size_t i)
{
    return i < graph->n_functions ? graph->functions[i].problem : NULL;
}
