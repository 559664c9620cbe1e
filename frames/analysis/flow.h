/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The edges of a selection in both directions, in flat arrays: what every walk
 * over control flow goes by.
 *
 * An edge is cut where it comes from a fed output or from a node that is not
 * selected.  Edges keep their number of times: x + x is two of them.  Nothing
 * here is a state of a walk; all of it is immutable once built.
 */
#ifndef EDDY_FRAMES_FLOW_H
#define EDDY_FRAMES_FLOW_H

#include "frames/analysis/selection.h"

/* In place of the source of a data edge that is fed. */
#define EDDY__FED (UINT32_MAX - 1)

/* In place of the input's number, for a control edge. */
#define EDDY__CONTROL UINT32_MAX

typedef struct eddy__flow_edge {
    eddy_node to;
    uint32_t input;
} eddy__flow_edge;

typedef struct eddy__flow {
    const eddy_graph *graph;
    const eddy__selection *selection;
    size_t n_nodes; /* of the graph */
    size_t n_selected;
    uint8_t *role;        /* eddy__role of each node */
    uint8_t *is_constant; /* an Enter that is constant */
    /*
     * In-edges of node v: source[first_in[v]] to source[first_in[v + 1]],
     * data in order, then control; EDDY__FED or EDDY_NO_NODE where cut.
     */
    size_t *first_in;
    eddy_node *source;
    /* Out-edges of v likewise, by the number of the node they go to. */
    size_t *first_out;
    eddy__flow_edge *edge;
} eddy__flow;

/* Builds it in `arena`.  A node that is not selected has no edges. */
eddy_status eddy__flow_build(eddy__flow *flow, const eddy__selection *selection,
                             eddy__arena *arena, eddy_error *err);

/*
 * The selected nodes in topological order, back edges left out, in `arena`.
 * Nodes that cycles without a back edge hold are not among them; the analysis
 * refuses such.
 */
eddy_status eddy__flow_order(const eddy__flow *flow, eddy__arena *arena,
                             eddy_node **out_order, size_t *out_n,
                             eddy_error *err);

static inline bool eddy__flow_is_node(eddy_node source)
{
    return source < EDDY__FED;
}

static inline const eddy__node *eddy__flow_node(const eddy__flow *flow,
                                                eddy_node node)
{
    return eddy__graph_node(flow->graph, node);
}

/* Is the in-edge at `i` of `node` (an index in `source`) a data edge? */
static inline bool eddy__flow_is_data(const eddy__flow *flow, eddy_node node,
                                      size_t i)
{
    return i - flow->first_in[node] < eddy__flow_node(flow, node)->n_inputs;
}

/* The edge of a loop that goes back: from a NextIteration to a Merge's data. */
static inline bool eddy__is_back_edge(const eddy__flow *flow, eddy_node from,
                                      eddy_node to, bool is_data)
{
    return is_data && flow->role[from] == EDDY__ROLE_NEXT_ITERATION &&
           flow->role[to] == EDDY__ROLE_MERGE;
}

/* Does an out-edge of `from` go forward? */
static inline bool eddy__flow_is_ordering(const eddy__flow *flow,
                                          eddy_node from, eddy__flow_edge edge)
{
    return !eddy__is_back_edge(flow, from, edge.to,
                               edge.input != EDDY__CONTROL);
}

#endif
