/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Out of a branch at once: whether it was taken is a value of its own, live
 * wherever the branch's frame is, and zeros are let through where it was not.
 * That leads out of branches that are deep in few nodes, and to values of a
 * branch that is not around the one that the gradient is of, though whatever
 * runs in the one runs in the other too.
 */
#include "autodiff/sums.h"

static eddy_output merge_two(eddy__sums *s, eddy_output x, eddy_output y)
{
    const int64_t two = 2;
    const eddy_attr attr = eddy_attr_int("N", &two);
    const eddy_output inputs[] = {x, y};

    return eddy__emit_spec(s->e, &(eddy_node_spec){.op = "Merge",
                                                   .inputs = inputs,
                                                   .n_inputs = 2,
                                                   .attrs = &attr,
                                                   .n_attrs = 1});
}

/* A constant of the scope of a frame. */
static eddy_output truth(eddy__sums *s, bool value, uint32_t frame)
{
    const eddy_shape scalar = {.rank = 0};
    eddy_output *made = &s->places->at->truths[value];

    if (!eddy__output_exists(*made))
        *made = eddy__emit_elements(s->e, EDDY_BOOL, &scalar, &value);
    return eddy__place_import(s->places, *made, &s->places->scopes[frame]);
}

/* The same, live in a branch for which this has been made, or in 0. */
static eddy_output truth_in(eddy__sums *s, bool value, uint32_t branch,
                            uint32_t frame)
{
    return branch == 0 ? truth(s, value, frame)
                       : s->taken[branch].truths[value];
}

/* Leads both into the branch, and asks whether it is taken in what is around.
 */
static eddy_output ask_side(eddy__sums *s, uint32_t branch)
{
    const eddy_branch_info *b = &s->study->branches.branches[branch];
    const uint32_t first = branch - b->side;
    const int64_t n = b->n_sides;
    const eddy_attr attr = eddy_attr_int("N", &n);
    eddy_output *sides = eddy__sides_new(s, b->n_sides);

    for (uint32_t i = 0; sides && i < b->n_sides; i++)
        sides[i] = eddy__primal_guard(
            s->primals, truth_in(s, i == b->side, b->outer, b->frame), b->outer,
            first + i);
    if (!sides)
        return EDDY__NO_OUTPUT;
    for (int value = 0; value < 2; value++)
        s->taken[branch].truths[value] = eddy__primal_guard(
            s->primals, truth_in(s, value, b->outer, b->frame), b->outer,
            branch);
    return eddy__emit_spec(s->e, &(eddy_node_spec){.op = "Merge",
                                                   .inputs = sides,
                                                   .n_inputs = b->n_sides,
                                                   .attrs = &attr,
                                                   .n_attrs = 1});
}

/* Makes it of a branch in one for which it has been made. */
static void make(eddy__sums *s, uint32_t branch)
{
    const eddy_branch_info *b = &s->study->branches.branches[branch];
    eddy_output is_taken = ask_side(s, branch), otherwise;

    if (b->outer != 0) {
        otherwise = eddy__emit_op(s->e, "Switch", truth(s, false, b->frame),
                                  s->taken[b->outer].is_taken);
        is_taken = merge_two(s, is_taken, otherwise);
    }
    s->taken[branch].is_taken = is_taken;
}

static eddy_output find_taken(eddy__sums *s, uint32_t branch)
{
    const eddy_branch_info *branches = s->study->branches.branches;
    uint32_t from = branch, n = 0;
    const uint32_t *list;

    while (from != 0 && !eddy__output_exists(s->taken[from].is_taken))
        from = branches[from].outer;
    list = from == branch
               ? NULL
               : eddy__place_list_branches(s->places, from, branch, &n);
    for (uint32_t i = 0; list && i < n && s->e->core.status == EDDY_OK; i++)
        make(s, list[i]);
    return s->taken[branch].is_taken;
}

eddy_output eddy__taken_leave(eddy__sums *s, eddy_output v,
                              eddy_output gradient, uint32_t branch)
{
    const uint32_t target = eddy__study_branch(s->study, v);
    eddy_output zeros, taken;
    uint32_t from;

    if (!s->taken) {
        s->taken =
            eddy__emit_room(s->e, s->study->branches.n, sizeof *s->taken);
        for (size_t i = 0; s->taken && i < s->study->branches.n; i++)
            s->taken[i].is_taken = EDDY__NO_OUTPUT;
    }
    if (!s->taken)
        return EDDY__NO_OUTPUT;
    zeros = eddy__zeros_like(s->primals, v, &from);
    taken = find_taken(s, branch);
    if (target != 0) {
        zeros = eddy__primal_guard(s->primals, zeros, from, target);
        taken = eddy__primal_guard(s->primals, taken, 0, target);
    }
    return merge_two(s, gradient, eddy__emit_op(s->e, "Switch", zeros, taken));
}
