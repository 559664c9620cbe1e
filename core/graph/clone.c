/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of graphs.  A copy has the same context, so it shares the ops, the
 * default values of attributes, and the tensors.
 */
#include "core/base/status.h"
#include "core/graph/attr.h"
#include "core/graph/graph.h"

#include <string.h>

/* A text of the arena, or NULL for NULL; false without memory. */
static bool copy_text(eddy__arena *arena, const char *text, const char **out)
{
    *out = text ? eddy__arena_text(arena, text, strlen(text)) : NULL;
    return !text || *out;
}

static bool is_default(const eddy__node *node, uint32_t i)
{
    return node->op && i < node->op->n_attrs &&
           node->op->attrs[i].has_default &&
           node->op->attrs[i].value.as.ints == node->attrs[i].as.ints;
}

static bool clone_attrs(eddy__arena *arena, const eddy__node *from,
                        eddy__node *to)
{
    to->attrs = eddy__arena_allocate(arena, from->n_attrs, sizeof *to->attrs);
    if (!to->attrs)
        return false;
    for (uint32_t i = 0; i < from->n_attrs; i++) {
        const char *name = from->attrs[i].name;

        if (from->op && i < from->op->n_attrs)
            name = from->op->attrs[i].name;
        else if (!copy_text(arena, name, &name))
            return false;
        if (is_default(from, i))
            to->attrs[i] = from->attrs[i];
        else if (!eddy__attr_copy_as(arena, &from->attrs[i], name,
                                     &to->attrs[i]))
            return false;
    }
    return true;
}

static bool clone_edges(eddy__arena *arena, const eddy__node *from,
                        eddy__node *to)
{
    size_t n_dtypes = (size_t)from->n_inputs + from->n_outputs;

    to->inputs = eddy__arena_copy(arena, from->inputs, from->n_inputs,
                                  sizeof *to->inputs);
    to->controls = eddy__arena_copy(arena, from->controls, from->n_controls,
                                    sizeof *to->controls);
    to->controls_capacity = from->n_controls;
    to->input_dtypes = eddy__arena_copy(arena, from->input_dtypes, n_dtypes, 1);
    if (!to->inputs || !to->controls || !to->input_dtypes)
        return false;
    to->output_dtypes = to->input_dtypes + from->n_inputs;
    return true;
}

/* The device is shared with the node before, as it is in the original. */
static bool clone_device(eddy__arena *arena, const eddy__node *from, size_t i,
                         eddy__node *to)
{
    if (i > 0 && from[i].device && from[i].device == from[i - 1].device) {
        to[i].device = to[i - 1].device;
        return true;
    }
    return copy_text(arena, from[i].device, &to[i].device);
}

/* Node `i`; it is counted only once all of it is there. */
static bool clone_node(const eddy_graph *graph, size_t i, eddy_graph *copy)
{
    eddy__arena *arena = &copy->arena;
    const eddy__node *from = &graph->nodes[i];
    eddy__node *to = &copy->nodes[i];

    *to = *from;
    if (!copy_text(arena, from->name, &to->name) ||
        (!from->op && !copy_text(arena, from->op_name, &to->op_name)) ||
        !clone_edges(arena, from, to) || !clone_attrs(arena, from, to) ||
        !clone_device(arena, graph->nodes, i, copy->nodes) ||
        !eddy__map_set(&copy->names, to->name, (uint32_t)i))
        return false;
    for (uint32_t a = 0; a < to->n_attrs; a++)
        eddy__attr_retain(&to->attrs[a]);
    copy->n_nodes++;
    return true;
}

static bool clone_nodes(const eddy_graph *graph, eddy_graph *copy)
{
    copy->nodes = eddy__allocate(copy->arena.allocator, graph->n_nodes,
                                 sizeof *copy->nodes);
    if (!copy->nodes)
        return false;
    copy->capacity = graph->n_nodes;
    for (size_t i = 0; i < graph->n_nodes; i++)
        if (!clone_node(graph, i, copy))
            return false;
    return true;
}

/* A graph without its nodes and functions. */
static eddy_status clone_settings(const eddy_graph *graph, eddy__budget *budget,
                                  eddy_graph **out_graph, eddy_error *err)
{
    eddy_graph *copy = NULL;

    EDDY_TRY(eddy__graph_create(graph->ctx, budget, &copy, err));
    copy->reader = graph->reader;
    copy->producer = graph->producer;
    copy->min_consumer = graph->min_consumer;
    if (!eddy__host_table_copy(&graph->host, copy->arena.allocator,
                               &copy->host)) {
        eddy_graph_destroy(copy);
        (void)eddy__fail_memory(err);
        return EDDY_RESOURCE_EXHAUSTED;
    }
    *out_graph = copy;
    return EDDY_OK;
}

/* A graph without its functions. */
static eddy_status clone_body(const eddy_graph *graph, eddy__budget *budget,
                              eddy_graph **out_graph, eddy_error *err)
{
    eddy_graph *copy = NULL;

    EDDY_TRY(clone_settings(graph, budget, &copy, err));
    if (!clone_nodes(graph, copy)) {
        eddy_graph_destroy(copy);
        return eddy__fail_memory(err);
    }
    *out_graph = copy;
    return EDDY_OK;
}

static eddy_status clone_function(const eddy__function *function,
                                  eddy_graph *copy, eddy_error *err)
{
    eddy__function cloned = *function;
    eddy_status status;

    EDDY_TRY(clone_body(function->body, copy->budget, &cloned.body, err));
    status = eddy__graph_add_function(copy, &cloned, err);
    if (status != EDDY_OK)
        eddy_graph_destroy(cloned.body);
    return status;
}

/* Gives `copy` the functions of `graph`, or destroys it. */
static eddy_status clone_functions(const eddy_graph *graph, eddy_graph *copy,
                                   eddy_graph **out_graph, eddy_error *err)
{
    for (size_t i = 0; i < graph->n_functions; i++) {
        eddy_status status = clone_function(&graph->functions[i], copy, err);

        if (status != EDDY_OK) {
            eddy_graph_destroy(copy);
            return status;
        }
    }
    *out_graph = copy;
    return EDDY_OK;
}

eddy_status eddy__graph_clone(const eddy_graph *graph, eddy__budget *budget,
                              eddy_graph **out_graph, eddy_error *err)
{
    eddy_graph *copy = NULL;

    EDDY_TRY(clone_body(graph, budget, &copy, err));
    return clone_functions(graph, copy, out_graph, err);
}

eddy_status eddy__graph_clone_empty(const eddy_graph *graph,
                                    eddy__budget *budget,
                                    eddy_graph **out_graph, eddy_error *err)
{
    eddy_graph *copy = NULL;

    EDDY_TRY(clone_settings(graph, budget, &copy, err));
    return clone_functions(graph, copy, out_graph, err);
}
