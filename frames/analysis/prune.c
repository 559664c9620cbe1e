/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes the fetches and targets need: a walk against the edges. */
#include "frames/analysis/prune.h"

#include "core/base/status.h"

typedef struct walk {
    const eddy__selection *selection;
    uint8_t *keep;
    eddy_node *stack; /* each node is on it at most once */
    size_t n;
} walk;

static void reach(walk *w, eddy_node node)
{
    if (w->keep[node])
        return;
    w->keep[node] = 1;
    w->stack[w->n++] = node;
}

static void expand(walk *w, const eddy__node *node)
{
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (eddy__selection_feed_of(w->selection, node->inputs[i]) ==
            EDDY__NOT_FOUND)
            reach(w, node->inputs[i].node);
    for (uint32_t i = 0; i < node->n_controls; i++)
        reach(w, node->controls[i]);
}

eddy_status eddy__prune(const eddy__selection *selection,
                        const eddy__wanted *wanted, uint8_t *keep,
                        eddy_error *err)
{
    const eddy_graph *graph = selection->graph;
    const eddy_allocator *allocator = eddy__selection_allocator(selection);
    walk w = {.selection = selection, .keep = keep};

    w.stack = eddy__allocate(allocator, graph->n_nodes, sizeof *w.stack);
    if (!w.stack)
        return eddy__fail_memory(err);
    for (size_t i = 0; i < wanted->n_fetches; i++)
        if (eddy__selection_feed_of(selection, wanted->fetches[i]) ==
            EDDY__NOT_FOUND)
            reach(&w, wanted->fetches[i].node);
    for (size_t i = 0; i < wanted->n_targets; i++)
        reach(&w, wanted->targets[i]);
    while (w.n > 0)
        expand(&w, eddy__graph_node(graph, w.stack[--w.n]));
    eddy__free(allocator, w.stack, graph->n_nodes, sizeof *w.stack);
    return EDDY_OK;
}
