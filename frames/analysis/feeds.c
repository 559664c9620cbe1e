/* SPDX-License-Identifier: Apache-2.0 */
/* May what is fed be fed?  Only what lives in the root frame has one value. */
#include "core/base/status.h"
#include "core/context.h"
#include "frames/analysis/analysis.h"
#include "frames/analysis/flow.h"
#include "frames/analysis/report.h"

#include <string.h>

/*
 * The frames of the whole graph, right or wrong: a node is in the frame of the
 * first edge that reaches it.  A frame is named by its Enter; the root frame,
 * and what nothing reaches, by EDDY_NO_NODE.
 */
typedef struct loose_walk {
    const eddy__flow *flow;
    eddy_node *enter; /* of a node's frame */
    uint8_t *is_met;
    eddy_node *queue;
    size_t n_queued;
} loose_walk;

static eddy_node output_enter(const loose_walk *w, eddy_node node)
{
    const eddy_node enter = w->enter[node];

    if (w->flow->role[node] == EDDY__ROLE_ENTER)
        return node;
    if (w->flow->role[node] == EDDY__ROLE_EXIT && enter != EDDY_NO_NODE)
        return w->enter[enter];
    return enter;
}

static void meet(loose_walk *w, eddy_node node, eddy_node enter)
{
    if (w->is_met[node])
        return;
    w->is_met[node] = 1;
    w->enter[node] = enter;
    w->queue[w->n_queued++] = node;
}

static void walk_loosely(loose_walk *w)
{
    const eddy__flow *flow = w->flow;

    for (eddy_node v = 0; v < flow->n_nodes; v++)
        if (flow->first_in[v] == flow->first_in[v + 1])
            meet(w, v, EDDY_NO_NODE);
    for (size_t next = 0; next < w->n_queued; next++) {
        const eddy_node v = w->queue[next];
        const eddy_node enter = output_enter(w, v);

        for (size_t i = flow->first_out[v]; i < flow->first_out[v + 1]; i++)
            meet(w, flow->edge[i].to, enter);
    }
}

static eddy_status check_feeds(const eddy__selection *selection,
                               eddy__arena *scratch, eddy_error *err)
{
    const eddy__selection all = {.graph = selection->graph,
                                 .budget = selection->budget};
    const size_t n = all.graph->n_nodes;
    eddy__flow flow;
    loose_walk w = {.flow = &flow};

    EDDY_TRY(eddy__flow_build(&flow, &all, scratch, err));
    w.enter = eddy__arena_allocate(scratch, n, sizeof *w.enter);
    w.is_met = eddy__arena_allocate_zeroed(scratch, n, 1);
    w.queue = eddy__arena_allocate(scratch, n, sizeof *w.queue);
    if (!w.enter || !w.is_met || !w.queue)
        return eddy__fail_memory(err);
    memset(w.enter, 0xff, n * sizeof *w.enter);
    walk_loosely(&w);
    for (size_t i = 0; i < selection->n_feeds; i++) {
        const eddy_output fed = selection->feeds[i];
        const eddy_node enter = output_enter(&w, fed.node);

        if (enter != EDDY_NO_NODE)
            return eddy__graph_fail_at(
                err, EDDY_INVALID_ARGUMENT, EDDY_E_FEED_IN_FRAME,
                eddy__flow_node(&flow, fed.node),
                "output %u is fed, but lives in the frame of the Enter '%s'; "
                "only what is in the root frame can be fed",
                fed.index,
                eddy__shorten(eddy__flow_node(&flow, enter)->name).text);
    }
    return EDDY_OK;
}

/* Nodes that nothing leads to, as placeholders, are in the root frame. */
static bool are_all_roots(const eddy__selection *selection)
{
    for (size_t i = 0; i < selection->n_feeds; i++) {
        const eddy__node *node =
            eddy__graph_node(selection->graph, selection->feeds[i].node);

        if (node->n_inputs > 0 || node->n_controls > 0)
            return false;
    }
    return true;
}

eddy_status eddy__check_feeds(const eddy__selection *selection, eddy_error *err)
{
    eddy__arena scratch = {.allocator = eddy__selection_allocator(selection)};
    eddy_status status;

    if (are_all_roots(selection))
        return EDDY_OK;
    status = check_feeds(selection, &scratch, err);
    eddy__arena_destroy(&scratch);
    return status;
}
