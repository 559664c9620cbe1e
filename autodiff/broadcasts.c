/* SPDX-License-Identifier: Apache-2.0 */
/* Which node sends to which, by their keys, and where what is sent is from. */
#include "autodiff/broadcasts.h"

#include "core/base/status.h"
#include "frames/analysis/trace.h"
#include "frames/lower/collective.h"

#include <string.h>

static bool receives(const eddy_graph *graph, eddy_node v)
{
    return eddy__collective_join(eddy__graph_node(graph, v)) ==
           EDDY__JOIN_RECEIVE;
}

static bool make_room(eddy__broadcasts *b, size_t n_receivers, size_t n_nodes,
                      eddy__arena *arena)
{
    b->list = eddy__arena_allocate(arena, n_receivers, sizeof *b->list);
    b->of_receiver =
        eddy__arena_allocate_zeroed(arena, n_nodes, sizeof *b->of_receiver);
    b->from = eddy__arena_allocate_zeroed(arena, n_nodes, sizeof(void *));
    b->also_after = eddy__arena_allocate(arena, n_nodes, sizeof *b->also_after);
    if (!b->list || !b->of_receiver || !b->from || !b->also_after)
        return false;
    for (size_t v = 0; v < n_nodes; v++)
        b->also_after[v] = EDDY_NO_NODE;
    return true;
}

static void note(eddy__broadcasts *b, const eddy__flow *flow, eddy_node v)
{
    size_t n_senders = 0;
    const eddy_node sender = eddy__collective_sender(flow, v, &n_senders);

    if (n_senders != 1)
        return;
    b->list[b->n] = (eddy__sent_value){
        .receiver = v,
        .sender = sender,
        .sent = eddy__flow_node(flow, sender)->inputs[0],
    };
    b->of_receiver[v] = (uint32_t)++b->n;
}

eddy_status eddy__broadcasts_find(eddy__broadcasts *b, const eddy_graph *graph,
                                  eddy__arena *arena, eddy_error *err)
{
    const eddy__selection whole = {.graph = graph};
    size_t n = 0;
    eddy__flow flow;

    *b = (eddy__broadcasts){.n = 0};
    for (eddy_node v = 0; v < graph->n_nodes; v++)
        n += receives(graph, v);
    if (n == 0)
        return EDDY_OK;
    if (!make_room(b, n, graph->n_nodes, arena))
        return eddy__fail_memory(err);
    EDDY_TRY(eddy__flow_build(&flow, &whole, arena, err));
    for (eddy_node v = 0; v < graph->n_nodes; v++)
        if (receives(graph, v))
            note(b, &flow, v);
    return EDDY_OK;
}

/* Out of the branches that the receiver is not in. */
static eddy_output lead_out(const eddy__sent_value *b, const eddy__flow *flow,
                            const eddy_analysis *analysis,
                            const eddy__branches *branches)
{
    const uint32_t inner = branches->of_node[b->receiver];
    eddy_output v = b->sent;

    for (;;) {
        const uint32_t role = flow->role[v.node];

        if (eddy__branch_is_within(
                branches, inner,
                eddy__branches_output(branches, flow, analysis, v)) ||
            (role != EDDY__ROLE_FORWARD &&
             !eddy__trace_is_branch_switch(flow, v.node)))
            return v;
        if (role == EDDY__ROLE_FORWARD && v.index != 0)
            return v;
        v = eddy__flow_node(flow, v.node)->inputs[0];
    }
}

void eddy__broadcasts_trace(eddy__broadcasts *b, const eddy__flow *flow,
                            const eddy_analysis *analysis,
                            const eddy__branches *branches)
{
    for (size_t i = b->n; i-- > 0;) {
        eddy__sent_value *of = &b->list[i];

        if (!eddy__selected(flow->selection, of->receiver))
            continue;
        of->sent = lead_out(of, flow, analysis, branches);
        of->next = b->from[of->sent.node];
        b->from[of->sent.node] = of;
        b->also_after[of->receiver] = of->sent.node;
    }
}
