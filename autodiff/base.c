/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The base frame of a walk: that of the ys, and the node that new constants
 * wait for in it.  Requires the study.
 */
#include "autodiff/places.h"

#include "core/base/status.h"

/* A node that is live though the branch of the y is not: what decides that. */
static eddy_node find_predicate(const eddy__places *p, eddy_output y)
{
    const eddy_branch_info *branches = p->study->branches.branches;
    uint32_t branch = eddy__study_branch(p->study, y);

    while (branch != 0 && branches[branch].outer != 0)
        branch = branches[branch].outer;
    return branch == 0 ? y.node : branches[branch].predicate.node;
}

/* Is it the Switch of a variable of the base frame's loop? */
static bool is_base_switch(const eddy__places *p, eddy_node node)
{
    return p->study->flow.role[node] == EDDY__ROLE_SWITCH &&
           p->study->analysis->node_frame[node] == p->base &&
           !eddy__trace_is_branch_switch(&p->study->flow, node);
}

/* Does the y wait for the base frame's predicate?  Else it is part of it. */
static eddy_status is_in_body(eddy__places *p, eddy_output y, bool *out_is)
{
    const eddy__flow *flow = &p->study->flow;
    uint8_t *is_seen = eddy__emit_zeroed_room(p->e, p->study->n_nodes, 1);
    eddy_node *list = eddy__emit_room(p->e, p->study->n_nodes, sizeof *list);
    size_t n = 0;

    *out_is = false;
    if (!is_seen || !list)
        return p->e->core.status;
    list[n++] = y.node;
    is_seen[y.node] = 1;
    for (size_t i = 0; i < n && !*out_is; i++) {
        const eddy_node v = list[i];

        *out_is = is_base_switch(p, v);
        if (p->study->analysis->node_frame[v] == p->base &&
            eddy__trace_is_loop_merge(&p->study->flow, v))
            continue;
        for (size_t e = flow->first_in[v]; e < flow->first_in[v + 1]; e++) {
            const eddy_node from = flow->source[e];

            if (eddy__flow_is_node(from) && !is_seen[from]) {
                is_seen[from] = 1;
                list[n++] = from;
            }
        }
    }
    return EDDY_OK;
}

/* An Identity that reads output 1 of the Switch at once. */
static eddy_node find_identity(const eddy__places *p, eddy_node switch_)
{
    const eddy__flow *flow = &p->study->flow;

    for (size_t e = flow->first_out[switch_]; e < flow->first_out[switch_ + 1];
         e++) {
        const eddy__node *n = eddy__flow_node(flow, flow->edge[e].to);

        if (flow->role[flow->edge[e].to] == EDDY__ROLE_FORWARD &&
            n->n_inputs == 1 && n->inputs[0].index == 1 && n->n_controls == 0)
            return flow->edge[e].to;
    }
    return EDDY_NO_NODE;
}

/*
 * New constants of the base frame wait for this: live in each iteration in
 * which the y may be, and early in it.  Constants may start a trip counter; the
 * forward loop that counts with it comes to a stop until they are there.
 */
static eddy_status find_control(eddy__places *p, eddy_output y)
{
    const eddy_frame *frame = &p->study->analysis->frames[p->base];
    const eddy_loop_variable *v = NULL;
    bool in_body = false;

    p->e->control = find_predicate(p, y);
    for (size_t i = 0; i < frame->n_variables && !v; i++)
        if (frame->variables[i].merge != EDDY_NO_NODE)
            v = &frame->variables[i];
    if (!v)
        return EDDY_OK;
    EDDY_TRY(is_in_body(p, y, &in_body));
    if (!in_body) {
        p->e->control = v->merge;
    } else if (v->switch_ != EDDY_NO_NODE) {
        p->e->control = find_identity(p, v->switch_);
        p->e->at = v->switch_;
        if (p->e->control == EDDY_NO_NODE)
            p->e->control =
                eddy__emit_op(p->e, "Identity", (eddy_output){v->switch_, 1})
                    .node;
    }
    return p->e->core.status;
}

eddy_status eddy__base_find(eddy__places *p, const eddy_output *ys, size_t n_ys)
{
    p->base = eddy__study_frame(p->study, ys[0]);
    for (size_t i = 1; i < n_ys; i++)
        if (eddy__study_frame(p->study, ys[i]) != p->base)
            return eddy__emit_fail(p->e, EDDY_INVALID_ARGUMENT,
                                   EDDY_E_FRAME_MIXED, ys[i].node,
                                   "y %zu is in another frame than y 0", i);
    return p->base != 0 ? find_control(p, ys[0]) : EDDY_OK;
}
