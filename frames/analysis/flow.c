/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the arrays of edges: counts, then offsets, then edges, so that each
 * array is allocated once.
 */
#include "frames/analysis/flow.h"

#include "core/base/status.h"

static eddy_node source_of(const eddy__selection *s, eddy_output input)
{
    if (eddy__selection_feed_of(s, input) != EDDY__NOT_FOUND)
        return EDDY__FED;
    if (input.node == EDDY_NO_NODE || !eddy__selected(s, input.node))
        return EDDY_NO_NODE;
    return input.node;
}

static bool has_more(const eddy__selection *s, eddy_node id)
{
    return s->also_after && s->also_after[id] != EDDY_NO_NODE;
}

static void fill_sources(eddy__flow *flow, eddy_node id)
{
    const eddy__node *node = eddy__flow_node(flow, id);
    size_t at = flow->first_in[id];

    for (uint32_t i = 0; i < node->n_inputs; i++)
        flow->source[at++] = source_of(flow->selection, node->inputs[i]);
    for (uint32_t i = 0; i < node->n_controls; i++)
        flow->source[at++] = eddy__selected(flow->selection, node->controls[i])
                                 ? node->controls[i]
                                 : EDDY_NO_NODE;
    if (has_more(flow->selection, id))
        flow->source[at] = flow->selection->also_after[id];
}

/*
 * Counts the out-edges of v in first_out[v + 2], so that after the sums
 * first_out[v + 1] is where those of v begin, and once they are filled in,
 * where they end.
 */
static void fill_edges(eddy__flow *flow)
{
    size_t *place = flow->first_out + 1;

    for (size_t i = 0; i < flow->first_in[flow->n_nodes]; i++)
        if (eddy__flow_is_node(flow->source[i]))
            place[flow->source[i] + 1]++;
    for (size_t v = 0; v < flow->n_nodes; v++)
        place[v + 1] += place[v];
    for (eddy_node v = 0; v < flow->n_nodes; v++) {
        size_t begin = flow->first_in[v];

        for (size_t i = begin; i < flow->first_in[v + 1]; i++)
            if (eddy__flow_is_node(flow->source[i]))
                flow->edge[place[flow->source[i]]++] = (eddy__flow_edge){
                    .to = v,
                    .input = eddy__flow_is_data(flow, v, i)
                                 ? (uint32_t)(i - begin)
                                 : EDDY__CONTROL,
                };
    }
}

/* Sizes and roles; returns the number of in-edges. */
static size_t count(eddy__flow *flow)
{
    size_t n = 0;

    for (eddy_node id = 0; id < flow->n_nodes; id++) {
        const eddy__node *node = eddy__flow_node(flow, id);

        flow->first_in[id] = n;
        if (!eddy__selected(flow->selection, id))
            continue;
        flow->n_selected++;
        flow->role[id] = (uint8_t)eddy__node_role(node);
        if (flow->role[id] == EDDY__ROLE_ENTER)
            flow->is_constant[id] = eddy__node_bool(node, "is_constant");
        n += (size_t)node->n_inputs + node->n_controls +
             has_more(flow->selection, id);
    }
    flow->first_in[flow->n_nodes] = n;
    return n;
}

eddy_status eddy__flow_build(eddy__flow *flow, const eddy__selection *selection,
                             eddy__arena *arena, eddy_error *err)
{
    const size_t n = selection->graph->n_nodes;
    size_t n_edges;

    *flow = (eddy__flow){
        .graph = selection->graph, .selection = selection, .n_nodes = n};
    flow->role = eddy__arena_allocate_zeroed(arena, n, 1);
    flow->is_constant = eddy__arena_allocate_zeroed(arena, n, 1);
    flow->first_in = eddy__arena_allocate(arena, n + 1, sizeof(size_t));
    flow->first_out = eddy__arena_allocate_zeroed(arena, n + 2, sizeof(size_t));
    if (!flow->role || !flow->is_constant || !flow->first_in ||
        !flow->first_out)
        return eddy__fail_memory(err);
    n_edges = count(flow);
    flow->source = eddy__arena_allocate(arena, n_edges, sizeof *flow->source);
    flow->edge = eddy__arena_allocate(arena, n_edges, sizeof *flow->edge);
    if (!flow->source || !flow->edge)
        return eddy__fail_memory(err);
    for (eddy_node id = 0; id < n; id++)
        if (eddy__selected(selection, id))
            fill_sources(flow, id);
    fill_edges(flow);
    return EDDY_OK;
}

/* ---- the order ---- */

/* Kahn's algorithm. */
eddy_status eddy__flow_order(const eddy__flow *flow, eddy__arena *arena,
                             eddy_node **out_order, size_t *out_n,
                             eddy_error *err)
{
    uint32_t *waits =
        eddy__arena_allocate_zeroed(arena, flow->n_nodes, sizeof *waits);
    eddy_node *order =
        eddy__arena_allocate(arena, flow->n_selected, sizeof *order);
    size_t n = 0;

    if (!waits || !order)
        return eddy__fail_memory(err);
    for (eddy_node v = 0; v < flow->n_nodes; v++)
        for (size_t e = flow->first_out[v]; e < flow->first_out[v + 1]; e++)
            waits[flow->edge[e].to] +=
                eddy__flow_is_ordering(flow, v, flow->edge[e]);
    for (eddy_node v = 0; v < flow->n_nodes; v++)
        if (eddy__selected(flow->selection, v) && waits[v] == 0)
            order[n++] = v;
    for (size_t i = 0; i < n; i++) {
        const eddy_node v = order[i];

        for (size_t e = flow->first_out[v]; e < flow->first_out[v + 1]; e++)
            if (eddy__flow_is_ordering(flow, v, flow->edge[e]) &&
                --waits[flow->edge[e].to] == 0)
                order[n++] = flow->edge[e].to;
    }
    *out_order = order;
    *out_n = n;
    return EDDY_OK;
}
