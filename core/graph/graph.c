/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as a whole: making, edges between nodes that are there, freeing. */
#include "core/graph/graph.h"

#include "core/base/status.h"
#include "core/context.h"
#include "core/graph/attr.h"
#include "core/graph/draft.h"
#include "core/graph/name.h"
#include "core/value/shape.h"

#include <string.h>

/* With more control inputs than this a node's are also in graph->controls. */
#define FEW_CONTROLS 64

static const eddy_allocator *allocator_of(const eddy_context *ctx,
                                          const eddy__budget *budget)
{
    return budget ? &budget->allocator : &ctx->allocator;
}

static void set_budget(eddy_graph *graph, eddy__budget *budget)
{
    const eddy_allocator *allocator = allocator_of(graph->ctx, budget);

    graph->budget = budget;
    graph->arena.allocator = allocator;
    graph->names.allocator = allocator;
    graph->next_suffix.allocator = allocator;
    graph->controls.allocator = allocator;
    graph->function_names.allocator = allocator;
}

/* The body of a function has no library, so this goes one level deep. */
void eddy__graph_set_budget(eddy_graph *graph, eddy__budget *budget)
{
    set_budget(graph, budget);
    for (size_t i = 0; i < graph->n_functions; i++)
        set_budget(graph->functions[i].body, budget);
}

eddy_status eddy__graph_create(eddy_context *ctx, eddy__budget *budget,
                               eddy_graph **out_graph, eddy_error *err)
{
    eddy_graph *graph =
        eddy__allocate_zeroed(allocator_of(ctx, budget), 1, sizeof *graph);

    if (!graph)
        return eddy__fail_memory(err);
    graph->ctx = ctx;
    set_budget(graph, budget);
    graph->known_shapes = eddy__allocate_zeroed(graph->arena.allocator, 1,
                                                sizeof *graph->known_shapes);
    if (!graph->known_shapes) {
        eddy__free(graph->arena.allocator, graph, 1, sizeof *graph);
        return eddy__fail_memory(err);
    }
    *out_graph = graph;
    return EDDY_OK;
}

eddy_status eddy_graph_create(eddy_context *ctx, eddy_graph **out_graph,
                              eddy_error *err)
{
    EDDY_REFUSE_IF(!ctx, err, "no context");
    EDDY_REFUSE_IF(!out_graph, err, "nowhere to put the graph");
    return eddy__graph_create(ctx, NULL, out_graph, err);
}

static void release_attrs(const eddy_attr *attrs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        eddy__attr_release(&attrs[i]);
}

/* Frees a graph whose functions have been emptied. */
static void destroy_nodes(eddy_graph *graph)
{
    const eddy_allocator *allocator = graph->arena.allocator;

    if (graph->builder)
        graph->calls->destroy(graph->builder);
    for (size_t i = 0; i < graph->n_nodes; i++)
        release_attrs(graph->nodes[i].attrs, graph->nodes[i].n_attrs);
    eddy__free(allocator, graph->nodes, graph->capacity, sizeof(eddy__node));
    eddy__free(allocator, graph->functions, graph->functions_capacity,
               sizeof(eddy__function));
    eddy__map_deinit(&graph->names);
    eddy__map_deinit(&graph->next_suffix);
    eddy__map_deinit(&graph->function_names);
    eddy__pairs_deinit(&graph->controls);
    eddy__host_table_deinit(&graph->host, allocator);
    eddy__known_shapes_destroy(graph->known_shapes, allocator);
    eddy__arena_destroy(&graph->arena);
    eddy__free(allocator, graph, 1, sizeof *graph);
}

/* The body of a function has no library, so this goes one level deep. */
void eddy_graph_destroy(eddy_graph *graph)
{
    if (!graph)
        return;
    for (size_t i = 0; i < graph->n_functions; i++) {
        const eddy__function *function = &graph->functions[i];

        release_attrs(function->attrs, function->n_attrs);
        destroy_nodes(function->body);
    }
    destroy_nodes(graph);
}

void eddy__graph_truncate(eddy_graph *graph, size_t n_nodes)
{
    if (n_nodes == graph->n_nodes)
        return;
    for (size_t i = n_nodes; i < graph->n_nodes; i++)
        release_attrs(graph->nodes[i].attrs, graph->nodes[i].n_attrs);
    /* Their names stay in the map; who finds one looks at the node. */
    graph->n_nodes = n_nodes;
    eddy__known_shapes_forget(graph, (eddy_node)n_nodes);
    /* Nodes are put into it again as they are needed. */
    eddy__pairs_deinit(&graph->controls);
}

/* ---- queries ---- */

eddy_shape eddy_graph_output_shape(const eddy_graph *graph, eddy_output output)
{
    return output.node < graph->n_nodes &&
                   output.index < graph->nodes[output.node].n_outputs
               ? eddy__known_shapes_of(graph, output)
               : eddy__shape_unknown();
}

/* ---- edges ---- */

static eddy_status check_input(const eddy_graph *graph, const eddy__node *node,
                               uint32_t index, eddy_output from,
                               eddy_error *err)
{
    eddy_dtype found, wanted;

    if (index >= node->n_inputs)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT,
                          "the node has %u inputs, none has index %u",
                          (unsigned)node->n_inputs, (unsigned)index);
    EDDY_TRY(eddy__graph_check_output(graph, from, err));
    found = eddy_graph_output_dtype(graph, from);
    wanted = (eddy_dtype)node->input_dtypes[index];
    if (found == wanted || found == EDDY_INVALID || wanted == EDDY_INVALID)
        return EDDY_OK;
    return eddy__draft_fail_dtype(graph, index, from, found, wanted, err);
}

eddy_status eddy__graph_connect(eddy_graph *graph, eddy_node node,
                                uint32_t index, eddy_output from,
                                eddy_error *err)
{
    eddy_status status =
        check_input(graph, &graph->nodes[node], index, from, err);

    if (status != EDDY_OK) {
        eddy__graph_error_at(err, graph->nodes[node].name,
                             graph->nodes[node].op_name);
        return status;
    }
    graph->nodes[node].inputs[index] = from;
    eddy__known_shapes_forget(graph, node);
    eddy__graph_assume_output(graph, from);
    return EDDY_OK;
}

static eddy_status check_node(const eddy_graph *graph, eddy_node node,
                              eddy_error *err)
{
    if (node < graph->n_nodes)
        return EDDY_OK;
    return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                      "the graph has %zu nodes, none has number %u",
                      graph->n_nodes, (unsigned)node);
}

eddy_status eddy_graph_set_input(eddy_graph *graph, eddy_node node,
                                 uint32_t index, eddy_output from,
                                 eddy_error *err)
{
    EDDY_TRY(check_node(graph, node, err));
    if (graph->builder)
        return graph->calls->set_input(graph, node, index, from, err);
    return eddy__graph_connect(graph, node, index, from, err);
}

/* ---- control edges ---- */

/* EDDY__NOT_FOUND stands in the set for "all of this node's are here". */
#define ALL_HERE (EDDY_NO_NODE - 1)

_Static_assert(ALL_HERE < UINT32_MAX, "the set takes numbers below UINT32_MAX");

/* Puts the node's controls into the set, once; false without memory. */
static bool index_controls(eddy_graph *graph, eddy_node node)
{
    const eddy__node *n = &graph->nodes[node];

    if (eddy__pairs_has(&graph->controls, node, ALL_HERE))
        return true;
    for (uint32_t i = 0; i < n->n_controls; i++)
        if (!eddy__pairs_add(&graph->controls, node, n->controls[i]))
            return false;
    return eddy__pairs_add(&graph->controls, node, ALL_HERE);
}

static bool has_control(const eddy_graph *graph, eddy_node node, eddy_node from)
{
    const eddy__node *n = &graph->nodes[node];

    if (n->n_controls > FEW_CONTROLS)
        return eddy__pairs_has(&graph->controls, node, from);
    for (uint32_t i = 0; i < n->n_controls; i++)
        if (n->controls[i] == from)
            return true;
    return false;
}

/* Room for one more; what was there stays in the arena, half of it at most. */
static bool grow_controls(eddy_graph *graph, eddy__node *node)
{
    uint32_t capacity = node->n_controls < 2 ? 4 : 2 * node->n_controls;
    eddy_node *grown;

    if (node->n_controls < node->controls_capacity)
        return true;
    if (node->n_controls > UINT32_MAX / 4)
        return false;
    grown = eddy__arena_allocate(&graph->arena, capacity, sizeof *grown);
    if (!grown)
        return false;
    if (node->n_controls > 0)
        memcpy(grown, node->controls, node->n_controls * sizeof *grown);
    node->controls = grown;
    node->controls_capacity = capacity;
    return true;
}

eddy_status eddy_graph_add_control(eddy_graph *graph, eddy_node node,
                                   eddy_node from, eddy_error *err)
{
    EDDY_TRY(check_node(graph, node, err));
    EDDY_TRY(check_node(graph, from, err));
    if (graph->builder)
        return graph->calls->add_control(graph, node, from, err);
    return eddy__graph_add_control(graph, node, from, err);
}

eddy_status eddy__graph_add_control(eddy_graph *graph, eddy_node node,
                                    eddy_node from, eddy_error *err)
{
    eddy__node *n = &graph->nodes[node];

    if (n->n_controls > FEW_CONTROLS && !index_controls(graph, node))
        return eddy__fail_memory(err);
    if (has_control(graph, node, from))
        return EDDY_OK;
    if (!grow_controls(graph, n) ||
        (n->n_controls > FEW_CONTROLS &&
         !eddy__pairs_add(&graph->controls, node, from)))
        return eddy__fail_memory(err);
    n->controls[n->n_controls++] = from;
    return EDDY_OK;
}

eddy_status eddy__graph_check_closed(const eddy_graph *graph, eddy_error *err)
{
    return graph->builder ? graph->calls->check_closed(graph, err) : EDDY_OK;
}
