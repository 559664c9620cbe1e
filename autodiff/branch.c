/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of Switches and Merges of branches: a Merge, and Switches. */
#include "autodiff/reverse.h"

void eddy__branch_walk_switch(eddy__reverse *r, eddy_node node)
{
    const eddy__node n = *eddy__graph_node(r->e.core.graph, node);
    eddy_output *sides = eddy__sides_new(&r->sums, n.n_outputs);
    const uint32_t side = eddy__study_branch(&r->study, (eddy_output){node, 0});
    const uint32_t certain = r->study.branches.certain[node];
    bool any = false;

    if (!sides || !eddy__activity_is_edge(&r->activity, n.inputs[0]))
        return;
    for (uint32_t i = 0; i < n.n_outputs; i++) {
        sides[i] = eddy__sum_make(&r->sums, (eddy_output){node, i});
        any = any || eddy__output_exists(sides[i]);
    }
    /* The other sides are dead, and so is what comes from them. */
    if (certain != 0) {
        eddy__sum_add(&r->sums, n.inputs[0], sides[certain - 1],
                      r->study.branches.of_node[node]);
        return;
    }
    if (any)
        eddy__sum_add(
            &r->sums, n.inputs[0],
            eddy__sides_merge(&r->sums, n.inputs[0], side, sides, n.n_outputs),
            r->study.branches.of_node[node]);
}

/* The side of the innermost predicate around `merge` that `branch` is in. */
static uint32_t side_branch(const eddy__reverse *r, uint32_t branch,
                            uint32_t merge)
{
    const eddy_branch_info *b = r->study.branches.branches;

    branch =
        eddy__branch_at_depth(&r->study.branches, branch, b[merge].depth + 1);
    return b[branch].outer == merge && branch != merge ? branch : 0;
}

/* Do sides of one predicate meet here, each in one input? */
static bool is_structured(eddy__reverse *r, eddy_node node, const eddy__node *n,
                          uint32_t branch)
{
    const eddy_branch_info *b = r->study.branches.branches;
    uint32_t first = 0;

    for (uint32_t i = 0; i < n->n_inputs; i++) {
        const uint32_t side =
            side_branch(r, eddy__study_branch(&r->study, n->inputs[i]), branch);

        if (side == 0)
            return false;
        if (i == 0)
            first = side - b[side].side;
        if (side - b[side].side != first || r->met_by[side] == node)
            return false;
        r->met_by[side] = node;
    }
    return first != 0;
}

/* Input `i` was taken if the Merge says so. */
static eddy_output if_taken(eddy__reverse *r, eddy_node node, uint32_t i,
                            eddy_output gradient)
{
    const eddy_output index =
        eddy__primal_value(&r->primals, (eddy_output){node, 1});
    const eddy_output number = eddy__place_import(
        &r->places, eddy__emit_int(&r->e, (int32_t)i),
        &r->places.scopes[r->study.analysis->node_frame[node]]);
    const eddy_output taken = eddy__emit_op(&r->e, "Equal", index, number);

    return eddy__output_port(eddy__emit_op(&r->e, "Switch", gradient, taken),
                             1);
}

void eddy__branch_walk_merge(eddy__reverse *r, eddy_node node)
{
    const eddy__node n = *eddy__graph_node(r->e.core.graph, node);
    const uint32_t branch = r->study.branches.of_node[node];
    const eddy_output sum = eddy__sum_make(&r->sums, (eddy_output){node, 0});
    const bool structured = is_structured(r, node, &n, branch);

    if (!eddy__output_exists(sum))
        return;
    for (uint32_t i = 0; i < n.n_inputs && r->e.core.status == EDDY_OK; i++) {
        const eddy_output v = n.inputs[i];
        const uint32_t from = eddy__study_branch(&r->study, v);

        if (!eddy__activity_is_edge(&r->activity, v))
            continue;
        if (n.n_inputs == 1) {
            eddy__sum_add(&r->sums, v, sum, branch);
        } else if (structured) {
            /* It may be live in a part of its side alone. */
            eddy__sum_add(&r->sums, v,
                          eddy__primal_guard(&r->primals, sum, branch, from),
                          from);
        } else {
            eddy__sum_add(&r->sums, v, if_taken(r, node, i, sum), from);
        }
    }
}
