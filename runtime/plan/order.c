/* SPDX-License-Identifier: Apache-2.0 */
/* Plan order: topological, with the back edges left out. */
#include "core/base/status.h"
#include "runtime/plan/layout.h"

#include <string.h>

static bool is_back_edge(const eddy__node *from)
{
    return eddy__node_role(from) == EDDY__ROLE_NEXT_ITERATION;
}

/* How many of the node's in-edges come from nodes, back edges left out. */
static uint32_t count_predecessors(const eddy__layout *l,
                                   const eddy__node *node)
{
    const eddy_graph *graph = l->selection->graph;
    uint32_t n = 0;

    for (uint32_t i = 0; i < node->n_inputs; i++)
        n += eddy__selection_feed_of(l->selection, node->inputs[i]) ==
                 EDDY__NOT_FOUND &&
             !is_back_edge(eddy__graph_node(graph, node->inputs[i].node));
    for (uint32_t i = 0; i < node->n_controls; i++)
        n += !is_back_edge(eddy__graph_node(graph, node->controls[i]));
    return n;
}

/* Successors of each node, as lists in one array: first[n]..first[n + 1]. */
typedef struct successors {
    uint32_t *first;
    eddy_node *nodes;
} successors;

static void count_or_add(const eddy__layout *l, successors *s, eddy_node from,
                         eddy_node to)
{
    if (is_back_edge(eddy__graph_node(l->selection->graph, from)))
        return;
    if (s->nodes)
        s->nodes[s->first[from]++] = to;
    else
        s->first[from + 1]++;
}

static void walk_edges(const eddy__layout *l, successors *s)
{
    const eddy_graph *graph = l->selection->graph;

    for (eddy_node id = 0; id < graph->n_nodes; id++) {
        const eddy__node *node = eddy__graph_node(graph, id);

        if (!eddy__selected(l->selection, id))
            continue;
        for (uint32_t i = 0; i < node->n_inputs; i++)
            if (eddy__selection_feed_of(l->selection, node->inputs[i]) ==
                EDDY__NOT_FOUND)
                count_or_add(l, s, node->inputs[i].node, id);
        for (uint32_t i = 0; i < node->n_controls; i++)
            count_or_add(l, s, node->controls[i], id);
    }
}

static eddy_status find_successors(eddy__layout *l, successors *s)
{
    size_t n = l->selection->graph->n_nodes;
    uint32_t *ends;

    s->nodes = NULL;
    s->first =
        eddy__arena_allocate_zeroed(&l->scratch, n + 2, sizeof *s->first);
    if (!s->first)
        return eddy__fail_memory(l->err);
    ends = s->first + 1;
    walk_edges(l, s);
    for (size_t i = 1; i <= n; i++)
        s->first[i] += s->first[i - 1];
    s->nodes =
        eddy__arena_allocate_zeroed(&l->scratch, s->first[n], sizeof *s->nodes);
    if (!s->nodes)
        return eddy__fail_memory(l->err);
    /* Adding moves first[n] up to where first[n + 1] was. */
    walk_edges(l, s);
    memmove(ends, s->first, n * sizeof *ends);
    s->first[0] = 0;
    return EDDY_OK;
}

static void take(eddy__layout *l, eddy_node id, uint32_t *n)
{
    l->step_of[id] = *n;
    l->node_of[(*n)++] = id;
}

/* Kahn's algorithm, first in first out, from the roots in graph order. */
eddy_status eddy__layout_order(eddy__layout *l)
{
    const eddy_graph *graph = l->selection->graph;
    uint32_t *missing = eddy__arena_allocate_zeroed(&l->scratch, graph->n_nodes,
                                                    sizeof *missing);
    uint32_t n = l->n_feeds;
    successors s;

    if (!missing)
        return eddy__fail_memory(l->err);
    EDDY_TRY(find_successors(l, &s));
    for (eddy_node id = 0; id < graph->n_nodes; id++) {
        if (!eddy__selected(l->selection, id))
            continue;
        missing[id] = count_predecessors(l, eddy__graph_node(graph, id));
        if (missing[id] == 0)
            take(l, id, &n);
    }
    for (uint32_t i = l->n_feeds; i < n; i++) {
        eddy_node from = l->node_of[i];

        for (uint32_t e = s.first[from]; e < s.first[from + 1]; e++)
            if (--missing[s.nodes[e]] == 0)
                take(l, s.nodes[e], &n);
    }
    if (n != l->first_fetch)
        return eddy__fail(l->err, EDDY_INVALID_ARGUMENT, EDDY_E_CYCLE,
                          "%u nodes are in or behind a cycle",
                          l->first_fetch - n);
    return EDDY_OK;
}
