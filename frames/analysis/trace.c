/* SPDX-License-Identifier: Apache-2.0 */
/* Ways back through nodes that hand a value on. */
#include "frames/analysis/trace.h"

bool eddy__trace_is_branch_switch(const eddy__flow *flow, eddy_node node)
{
    eddy_node predicate;

    if (flow->role[node] != EDDY__ROLE_SWITCH)
        return false;
    predicate = flow->source[flow->first_in[node] + 1];
    return !eddy__flow_is_node(predicate) ||
           flow->role[predicate] != EDDY__ROLE_LOOP_COND;
}

bool eddy__trace_is_loop_merge(const eddy__flow *flow, eddy_node node)
{
    const size_t begin = flow->first_in[node];
    const size_t end = begin + eddy__flow_node(flow, node)->n_inputs;

    if (flow->role[node] != EDDY__ROLE_MERGE)
        return false;
    for (size_t i = begin; i < end; i++)
        if (eddy__flow_is_node(flow->source[i]) &&
            (flow->role[flow->source[i]] == EDDY__ROLE_ENTER ||
             flow->role[flow->source[i]] == EDDY__ROLE_NEXT_ITERATION))
            return true;
    return false;
}

static bool is_way(const eddy__flow *flow, unsigned ways, eddy_output v)
{
    switch ((eddy__role)flow->role[v.node]) {
    case EDDY__ROLE_FORWARD:
        return ways & EDDY__WAY_FORWARD && v.index == 0;
    case EDDY__ROLE_SWITCH:
        if (eddy__trace_is_branch_switch(flow, v.node))
            return ways & EDDY__WAY_BRANCH;
        return ways & EDDY__WAY_TRIP && v.index == 1;
    default:
        return false;
    }
}

bool eddy__trace_step(const eddy__flow *flow, unsigned ways, eddy_output *v)
{
    if (!is_way(flow, ways, *v) ||
        !eddy__flow_is_node(flow->source[flow->first_in[v->node]]))
        return false;
    *v = eddy__flow_node(flow, v->node)->inputs[0];
    return true;
}

eddy_output eddy__trace(const eddy__flow *flow, unsigned ways, eddy_output v)
{
    while (eddy__trace_step(flow, ways, &v))
        continue;
    return v;
}
