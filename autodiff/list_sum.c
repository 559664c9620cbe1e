/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of gradients of lists.
 *
 * A node that reads one item of a list has a gradient for that item alone.  To
 * make a list of it, all others zeros, would cost every reader the whole list;
 * so it is kept as an item and added to the sum of the rest in place.  In a
 * loop that reads item after item of an invariant, the rest is the sum of the
 * iterations before, and all of them together cost as much as the list is long.
 */
#include "autodiff/sums.h"

#include "core/base/status.h"

#include <string.h>

/* Is the output its node's input, unless it is dead? */
static bool hands_on(const eddy__sums *s, eddy_output v)
{
    return v.node < s->study->n_nodes &&
           eddy__activity_has(s->activity, v.node) &&
           !(s->activity->state[v.node] & EDDY__IS_X) &&
           ((s->study->flow.role[v.node] == EDDY__ROLE_FORWARD &&
             v.index == 0) ||
            eddy__trace_is_branch_switch(&s->study->flow, v.node));
}

/*
 * Where the item came from: past Identities and Switches, which have not been
 * walked yet either, and would make a list of it.
 */
static eddy_output source_of(const eddy__sums *s, eddy_output v)
{
    while (hands_on(s, v)) {
        const eddy_output from =
            eddy__graph_node(s->e->core.graph, v.node)->inputs[0];

        if (!eddy__activity_is_edge(s->activity, from) ||
            !eddy__branch_is_within(&s->study->branches,
                                    eddy__study_branch(s->study, v),
                                    eddy__study_branch(s->study, from)))
            break;
        v = from;
    }
    return v;
}

void eddy__list_sum_add(eddy__sums *s, eddy_output list, eddy_output index,
                        eddy_output gradient, uint32_t branch)
{
    if (s->e->core.status != EDDY_OK)
        return;
    if (!eddy__branch_is_within(&s->study->branches, branch,
                                eddy__study_branch(s->study, list))) {
        eddy__emit_fail(s->e, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT, list.node,
                        "an item of it is read in a branch that is not within "
                        "its own");
        return;
    }
    eddy__contribution_add(s, source_of(s, list),
                           (eddy__contribution){.gradient = gradient,
                                                .item = index,
                                                .branch = branch});
}

/* `base` with the gradient of one item added; all in one branch. */
static eddy_output add_item(eddy__sums *s, eddy_output base,
                            const eddy__contribution *a)
{
    const eddy_dtype dtype =
        eddy_graph_output_dtype(s->e->core.graph, a->gradient);
    const eddy_attr attr = eddy_attr_type("element_dtype", &dtype);
    const eddy_output shape = eddy__emit_op(s->e, "Shape", a->gradient);
    const eddy_output inputs[] = {base, a->item, shape};
    const eddy_output old =
        eddy__emit_spec(s->e, &(eddy_node_spec){.op = "TensorListGetItem",
                                                .inputs = inputs,
                                                .n_inputs = 3,
                                                .attrs = &attr,
                                                .n_attrs = 1});

    return eddy__emit_op(s->e, "TensorListSetItem", base, a->item,
                         eddy__emit_op(s->e, "AddV2", old, a->gradient));
}

/* The branch in `outer` that `branch` is in. */
static uint32_t branch_below(const eddy__sums *s, uint32_t branch,
                             uint32_t outer)
{
    while (s->study->branches.branches[branch].outer != outer)
        branch = s->study->branches.branches[branch].outer;
    return branch;
}

/* `around` on the sides of a predicate, but `through` on that of `branch`. */
static eddy_output go_past(eddy__sums *s, eddy_output v, eddy_output around,
                           eddy_output through, uint32_t branch)
{
    const eddy_branch_info *b = &s->study->branches.branches[branch];
    eddy_output *sides = eddy__emit_room(s->e, b->n_sides, sizeof *sides);

    if (!sides)
        return EDDY__NO_OUTPUT;
    for (uint32_t i = 0; i < b->n_sides; i++)
        sides[i] = i == b->side
                       ? through
                       : eddy__primal_guard(s->primals, around, b->outer,
                                            branch - b->side + i);
    return eddy__sides_merge(s, v, branch, sides, b->n_sides);
}

/*
 * The same where the item was read in a branch within that of the base: the
 * base goes through that branch, and past it where it was not taken.
 */
static eddy_output add_in_branch(eddy__sums *s, eddy_output v, eddy_output base,
                                 const eddy__contribution *a)
{
    const uint32_t target = eddy__study_branch(s->study, v);
    const uint32_t n = s->study->branches.branches[a->branch].depth -
                       s->study->branches.branches[target].depth;
    eddy_output *bases = eddy__emit_room(s->e, n + 1, sizeof *bases);
    uint32_t at = target;

    if (!bases)
        return EDDY__NO_OUTPUT;
    bases[0] = base;
    for (uint32_t i = 0; i < n && s->e->core.status == EDDY_OK; i++) {
        const uint32_t below = branch_below(s, a->branch, at);

        bases[i + 1] = eddy__primal_guard(s->primals, bases[i], at, below);
        at = below;
    }
    if (s->e->core.status == EDDY_OK)
        base = add_item(s, bases[n], a);
    for (uint32_t i = n; i-- > 0 && s->e->core.status == EDDY_OK;) {
        base = go_past(s, v, bases[i], base, at);
        at = s->study->branches.branches[at].outer;
    }
    return s->e->core.status == EDDY_OK ? base : EDDY__NO_OUTPUT;
}

/* The sum of `base` and of contributions that are whole lists, if any is. */
static eddy_output sum_whole(eddy__sums *s, const eddy__contribution *list,
                             eddy_output base)
{
    eddy_output *inputs;
    size_t n = 1;

    for (const eddy__contribution *a = list; a; a = a->next)
        n++;
    inputs = eddy__emit_room(s->e, n, sizeof *inputs);
    if (!inputs)
        return EDDY__NO_OUTPUT;
    n = 0;
    if (eddy__output_exists(base))
        inputs[n++] = base;
    for (const eddy__contribution *a = list; a; a = a->next)
        if (!eddy__output_exists(a->item))
            inputs[n++] = a->gradient;
    if (n < 2)
        return n == 1 ? inputs[0] : EDDY__NO_OUTPUT;
    return eddy__emit(s->e, "AddN", inputs, n);
}

eddy_output eddy__list_sum_make(eddy__sums *s, eddy_output v, eddy_output base)
{
    const eddy__contribution *list =
        s->contributions[s->study->shapes.first[v.node] + v.index];
    uint32_t from;

    if (s->e->core.status != EDDY_OK)
        return EDDY__NO_OUTPUT;
    base = sum_whole(s, list, base);
    if (!eddy__output_exists(base)) {
        base = eddy__zeros_like(s->primals, v, &from);
        base = eddy__primal_guard(s->primals, base, from,
                                  eddy__study_branch(s->study, v));
    }
    for (const eddy__contribution *a = list; a && s->e->core.status == EDDY_OK;
         a = a->next)
        if (eddy__output_exists(a->item))
            base = add_in_branch(s, v, base, a);
    return s->e->core.status == EDDY_OK ? base : EDDY__NO_OUTPUT;
}
