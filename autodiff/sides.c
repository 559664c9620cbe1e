/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Out of branches: what is live on the sides of a predicate meets in a Merge,
 * and zeros come from the sides on which nothing is.
 */
#include "autodiff/sums.h"

eddy_output eddy__sides_merge(eddy__sums *s, eddy_output v, uint32_t any_side,
                              eddy_output *sides, uint32_t n_sides)
{
    const uint32_t first =
        any_side - s->study->branches.branches[any_side].side;
    const int64_t n = n_sides;
    const eddy_attr attr = eddy_attr_int("N", &n);

    for (uint32_t i = 0; i < n_sides && s->e->core.status == EDDY_OK; i++)
        if (!eddy__output_exists(sides[i])) {
            uint32_t from;
            const eddy_output zeros = eddy__zeros_like(s->primals, v, &from);

            sides[i] = eddy__primal_guard(s->primals, zeros, from, first + i);
        }
    return eddy__emit_spec(s->e, &(eddy_node_spec){.op = "Merge",
                                                   .inputs = sides,
                                                   .n_inputs = n_sides,
                                                   .attrs = &attr,
                                                   .n_attrs = 1});
}

eddy_output *eddy__sides_new(eddy__sums *s, uint32_t n)
{
    eddy_output *sides = eddy__emit_room(s->e, n, sizeof *sides);

    for (uint32_t i = 0; sides && i < n; i++)
        sides[i] = EDDY__NO_OUTPUT;
    return sides;
}

eddy_output eddy__sides_leave(eddy__sums *s, eddy_output v,
                              eddy_output gradient, uint32_t branch)
{
    const eddy_branch_info *b = &s->study->branches.branches[branch];
    eddy_output *sides = eddy__sides_new(s, b->n_sides);

    if (!sides)
        return EDDY__NO_OUTPUT;
    sides[b->side] = gradient;
    return eddy__sides_merge(s, v, branch, sides, b->n_sides);
}
