/* SPDX-License-Identifier: Apache-2.0 */
/* Changes to nodes that are there, each in one place. */
#include "core/graph/edit.h"

#include "core/base/status.h"
#include "core/graph/attr.h"

#include <assert.h>
#include <string.h>

void eddy__edit_input(eddy_graph *graph, eddy_node node, uint32_t i,
                      eddy_output from)
{
    assert(i < graph->nodes[node].n_inputs);
    graph->nodes[node].inputs[i] = from;
}

void eddy__edit_control(eddy_graph *graph, eddy_node node, uint32_t i,
                        eddy_node from)
{
    assert(i < graph->nodes[node].n_controls);
    graph->nodes[node].controls[i] = from;
}

void eddy__edit_input_dtype(eddy_graph *graph, eddy_node node, uint32_t i,
                            eddy_dtype dtype)
{
    assert(i < graph->nodes[node].n_inputs);
    graph->nodes[node].input_dtypes[i] = (uint8_t)dtype;
}

void eddy__edit_output_dtype(eddy_graph *graph, eddy_node node, uint32_t i,
                             eddy_dtype dtype)
{
    assert(i < graph->nodes[node].n_outputs);
    graph->nodes[node].output_dtypes[i] = (uint8_t)dtype;
}

uint32_t eddy__edit_assume_output(eddy_graph *graph, eddy_node node)
{
    return graph->nodes[node].n_assumed_outputs++;
}

eddy_status eddy__edit_device(eddy_graph *graph, eddy_node node,
                              const char *device, eddy_error *err)
{
    const char *copy =
        device ? eddy__arena_text(&graph->arena, device, strlen(device)) : NULL;

    if (device && !copy)
        return eddy__fail_memory(err);
    graph->nodes[node].device = copy;
    return EDDY_OK;
}

/* The number of the attribute of that name, or how many there are. */
static uint32_t find_attr(const eddy__node *node, const char *name)
{
    uint32_t i = 0;

    while (i < node->n_attrs && strcmp(node->attrs[i].name, name) != 0)
        i++;
    return i;
}

/* Default values are the op's, and shared, but they hold no tensors. */
eddy_status eddy__edit_attr(eddy_graph *graph, eddy_node node,
                            const eddy_attr *value, eddy_error *err)
{
    eddy__node *of = &graph->nodes[node];
    const uint32_t i = find_attr(of, value->name);
    eddy_attr made;

    if (i == of->n_attrs)
        return EDDY_OK;
    if (!eddy__attr_copy_as(&graph->arena, value, of->attrs[i].name, &made))
        return eddy__fail_memory(err);
    eddy__attr_retain(&made);
    eddy__attr_release(&of->attrs[i]);
    of->attrs[i] = made;
    return EDDY_OK;
}

bool eddy__edit_adopt_attr(eddy_graph *graph, eddy_node node,
                           const eddy_attr *attr)
{
    eddy__node *of = &graph->nodes[node];
    const uint32_t i = find_attr(of, attr->name);
    eddy_attr *attrs = eddy__arena_allocate(
        &graph->arena, (size_t)of->n_attrs + 1, sizeof *attrs);

    if (!attrs)
        return false;
    memcpy(attrs, of->attrs, of->n_attrs * sizeof *attrs);
    if (i < of->n_attrs)
        eddy__attr_release(&attrs[i]);
    else
        of->n_attrs++;
    attrs[i] = *attr;
    of->attrs = attrs;
    return true;
}

void eddy__edit_become_last(eddy_graph *graph, eddy_node node)
{
    const size_t last = graph->n_nodes - 1;
    const eddy__node old = graph->nodes[node];

    assert(node < last);
    graph->nodes[node] = graph->nodes[last];
    graph->nodes[node].name = old.name;
    graph->nodes[node].device = old.device;
    /* What the old node held goes with the last place. */
    graph->nodes[last].attrs = old.attrs;
    graph->nodes[last].n_attrs = old.n_attrs;
    eddy__graph_truncate(graph, last);
}
