/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of the contributions to a gradient. */
#include "autodiff/sums.h"

/* Branches that are left one by one: each takes zeros and a Merge. */
#define MOST_LEFT 16

static bool is_far_within(const eddy__branches *b, uint32_t branch,
                          uint32_t target)
{
    return b->branches[branch].depth - b->branches[target].depth > MOST_LEFT;
}

eddy_output eddy__sum_lead_out(eddy__sums *s, eddy_output v,
                               eddy_output gradient, uint32_t branch)
{
    const eddy__branches *branches = &s->study->branches;
    const uint32_t target = eddy__study_branch(s->study, v);
    const bool is_within = eddy__branch_is_within(branches, branch, target);

    if (s->e->core.status != EDDY_OK || !eddy__output_exists(gradient))
        return EDDY__NO_OUTPUT;
    if (!is_within && !eddy__branch_implies(branches, branch, target)) {
        eddy__emit_fail(s->e, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT, v.node,
                        "a gradient of it comes from a branch that is not "
                        "within its own");
        return EDDY__NO_OUTPUT;
    }
    if (!is_within || is_far_within(branches, branch, target)) {
        gradient = eddy__taken_leave(s, v, gradient, branch);
        branch = target;
    }
    while (branch != target && s->e->core.status == EDDY_OK) {
        gradient = eddy__sides_leave(s, v, gradient, branch);
        branch = branches->branches[branch].outer;
    }
    return gradient;
}

void eddy__sum_add(eddy__sums *s, eddy_output v, eddy_output gradient,
                   uint32_t branch)
{
    eddy__contribution_add_whole(s, v,
                                 eddy__sum_lead_out(s, v, gradient, branch));
}

static eddy_output sum_tensors(eddy__sums *s, const eddy__contribution *list)
{
    eddy_output *inputs;
    size_t n = 0;

    for (const eddy__contribution *a = list; a; a = a->next)
        n++;
    inputs = eddy__emit_room(s->e, n, sizeof *inputs);
    if (!inputs)
        return EDDY__NO_OUTPUT;
    n = 0;
    for (const eddy__contribution *a = list; a; a = a->next)
        inputs[n++] = a->gradient;
    return eddy__emit(s->e, "AddN", inputs, n);
}

eddy_output eddy__sum_make(eddy__sums *s, eddy_output v)
{
    eddy__contribution **list =
        &s->contributions[eddy__study_slot(s->study, v)];
    eddy_output sum;

    if (s->e->core.status != EDDY_OK || !*list)
        return EDDY__NO_OUTPUT;
    if (!(*list)->next && !eddy__output_exists((*list)->item))
        return (*list)->gradient;
    sum = eddy_graph_output_dtype(s->e->core.graph, v) == EDDY_VARIANT
              ? eddy__list_sum_make(s, v, EDDY__NO_OUTPUT)
              : sum_tensors(s, *list);
    **list = (eddy__contribution){
        .gradient = sum, .item = EDDY__NO_OUTPUT, .last = *list};
    return sum;
}
