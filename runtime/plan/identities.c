/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pass of levels exact and full: an Identity that only hands its input on goes,
 * and its readers read that input.  It is dead where its input is, so nothing
 * else changes; one that somebody waits for, that has control inputs, or that
 * the caller names stays.
 */
#include "runtime/plan/rewrites.h"

#include "core/base/status.h"
#include "core/value/dtype.h"
#include "runtime/plan/readers.h"

/*
 * A Merge tells its inputs apart, and a Switch of a loop variable is known by
 * the LoopCond that it reads: what stands before and behind these stays.
 */
static bool is_idle(const eddy__plan_build *b, const uint8_t *standing,
                    eddy_node v)
{
    const eddy_graph *graph = b->selection->graph;
    const eddy__node *node = eddy__graph_node(graph, v);

    return eddy__selected(b->selection, v) &&
           eddy__node_role(node) == EDDY__ROLE_FORWARD && standing[v] == 0 &&
           node->n_inputs == 1 && node->n_outputs == 1 &&
           node->n_controls == 0 && !node->op->has_references &&
           node->input_dtypes[0] == node->output_dtypes[0] &&
           !eddy__dtype_in((eddy_dtype)node->input_dtypes[0], EDDY__HELD) &&
           eddy__node_role(eddy__graph_node(graph, node->inputs[0].node)) !=
               EDDY__ROLE_LOOP_COND;
}

/* What stands for each node; `*out_n`: how many go. */
static eddy_status find_idle(const eddy__plan_build *b, eddy__arena *scratch,
                             eddy_output **out_instead, uint32_t *out_n)
{
    const eddy_graph *graph = b->selection->graph;
    eddy_output *instead =
        eddy__arena_allocate(scratch, graph->n_nodes, sizeof *instead);
    eddy_node *order = NULL;
    uint8_t *standing = NULL;
    uint32_t n = 0;

    if (!instead)
        return eddy__fail_memory(b->err);
    EDDY_TRY(eddy__find_standing(b, scratch, &standing));
    EDDY_TRY(eddy__readers_order_values(b, scratch, &order, &n));
    for (eddy_node v = 0; v < graph->n_nodes; v++)
        instead[v].node = EDDY_NO_NODE;
    *out_n = 0;
    for (uint32_t i = 0; i < n; i++) {
        const eddy_node v = order[i];
        eddy_output from;

        if (!is_idle(b, standing, v))
            continue;
        from = eddy__graph_node(graph, v)->inputs[0];
        instead[v] =
            instead[from.node].node == EDDY_NO_NODE ? from : instead[from.node];
        (*out_n)++;
    }
    *out_instead = instead;
    return EDDY_OK;
}

eddy_status eddy__drop_identities(const eddy__plan_build *build,
                                  eddy__arena *scratch, eddy_graph **out_graph)
{
    const eddy_graph *graph = build->selection->graph;
    eddy_output *instead = NULL;
    uint32_t n = 0;

    *out_graph = NULL;
    EDDY_TRY(find_idle(build, scratch, &instead, &n));
    if (n == 0)
        return EDDY_OK;
    EDDY_TRY(eddy__graph_clone(graph, build->budget, out_graph, build->err));
    eddy__readers_redirect(*out_graph, instead, graph->n_nodes);
    return EDDY_OK;
}
