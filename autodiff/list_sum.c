/*
 * Sums of gradients of lists.
 *
 * A node that reads one item of a list has a gradient for that item alone.  To
 * make a list of it, all others zeros, would cost every reader the whole list;
 * so it is kept as an item and added to the sum of the rest in place.  In a
 * loop that reads item after item of an invariant, the rest is the sum of the
 * iterations before, and all of them together cost as much as the list is long.
 */
#include "autodiff/walk.h"

#include "core/base/status.h"

#include <string.h>

/* Is the output its node's input, unless it is dead? */
static bool hands_on(const eddy__walk *w, eddy_output v)
{
    return v.node < w->n_nodes && eddy__is_active(w, v.node) &&
           !(w->state[v.node] & EDDY__IS_X) &&
           ((w->flow.role[v.node] == EDDY__ROLE_FORWARD && v.index == 0) ||
            eddy__is_branch_switch(&w->flow, v.node));
}

/*
 * Where the item came from: past Identities and Switches, which have not been
 * walked yet either, and would make a list of it.
 */
static eddy_output source_of(const eddy__walk *w, eddy_output v)
{
    while (hands_on(w, v)) {
        const eddy_output from = eddy__graph_node(w->graph, v.node)->inputs[0];

        if (!eddy__is_active_edge(w, from) ||
            !eddy__branch_is_within(&w->branches, eddy__branch_of(w, v),
                                    eddy__branch_of(w, from)))
            break;
        v = from;
    }
    return v;
}

void eddy__add_item_gradient(eddy__walk *w, eddy_output list, eddy_output index,
                             eddy_output gradient, uint32_t branch)
{
    if (w->status != EDDY_OK)
        return;
    if (!eddy__branch_is_within(&w->branches, branch,
                                eddy__branch_of(w, list))) {
        eddy__walk_fail(w, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT, list.node,
                        "an item of it is read in a branch that is not within "
                        "its own");
        return;
    }
    eddy__add_addend(
        w, source_of(w, list),
        (eddy__addend){.gradient = gradient, .item = index, .branch = branch});
}

/* `base` with the gradient of one item added; all in one branch. */
static eddy_output add_item(eddy__walk *w, eddy_output base,
                            const eddy__addend *a)
{
    const eddy_dtype dtype = eddy_graph_output_dtype(w->graph, a->gradient);
    const eddy_attr attr = eddy_attr_type("element_dtype", &dtype);
    const eddy_output shape = eddy__emit_op(w, "Shape", a->gradient);
    const eddy_output inputs[] = {base, a->item, shape};
    const eddy_output old =
        eddy__emit_spec(w, &(eddy_node_spec){.op = "TensorListGetItem",
                                             .inputs = inputs,
                                             .n_inputs = 3,
                                             .attrs = &attr,
                                             .n_attrs = 1});

    return eddy__emit_op(w, "TensorListSetItem", base, a->item,
                         eddy__emit_op(w, "AddV2", old, a->gradient));
}

/* The branch in `outer` that `branch` is in. */
static uint32_t branch_below(const eddy__walk *w, uint32_t branch,
                             uint32_t outer)
{
    while (w->branches.branches[branch].outer != outer)
        branch = w->branches.branches[branch].outer;
    return branch;
}

/* What goes past the sides of a predicate but for that of `branch`. */
static eddy_output go_past(eddy__walk *w, eddy_output v, eddy_output around,
                           eddy_output through, uint32_t branch)
{
    const eddy_branch_info *b = &w->branches.branches[branch];
    eddy_output *sides =
        eddy__arena_allocate(&w->arena, b->n_sides, sizeof *sides);

    if (!sides) {
        w->status = eddy__fail_memory(w->err);
        return EDDY__NO_OUTPUT;
    }
    for (uint32_t i = 0; i < b->n_sides; i++)
        sides[i] = i == b->side
                       ? through
                       : eddy__guard(w, around, b->outer, branch - b->side + i);
    return eddy__merge_sides(w, v, branch, sides, b->n_sides);
}

/*
 * The same where the item was read in a branch within that of the base: the
 * base goes through that branch, and past it where it was not taken.
 */
static eddy_output add_in_branch(eddy__walk *w, eddy_output v, eddy_output base,
                                 const eddy__addend *a)
{
    const uint32_t target = eddy__branch_of(w, v);
    const uint32_t n = w->branches.branches[a->branch].depth -
                       w->branches.branches[target].depth;
    eddy_output *bases = eddy__arena_allocate(&w->arena, n + 1, sizeof *bases);
    uint32_t at = target;

    if (!bases) {
        w->status = eddy__fail_memory(w->err);
        return EDDY__NO_OUTPUT;
    }
    bases[0] = base;
    for (uint32_t i = 0; i < n && w->status == EDDY_OK; i++) {
        const uint32_t below = branch_below(w, a->branch, at);

        bases[i + 1] = eddy__guard(w, bases[i], at, below);
        at = below;
    }
    if (w->status == EDDY_OK)
        base = add_item(w, bases[n], a);
    for (uint32_t i = n; i-- > 0 && w->status == EDDY_OK;) {
        base = go_past(w, v, bases[i], base, at);
        at = w->branches.branches[at].outer;
    }
    return w->status == EDDY_OK ? base : EDDY__NO_OUTPUT;
}

/* Of `base` and the addends that are whole lists; NO_OUTPUT if none is. */
static eddy_output sum_whole(eddy__walk *w, const eddy__addend *list,
                             eddy_output base)
{
    eddy_output *inputs;
    size_t n = 1;

    for (const eddy__addend *a = list; a; a = a->next)
        n++;
    inputs = eddy__arena_allocate(&w->arena, n, sizeof *inputs);
    if (!inputs) {
        w->status = eddy__fail_memory(w->err);
        return EDDY__NO_OUTPUT;
    }
    n = 0;
    if (eddy__is_output(base))
        inputs[n++] = base;
    for (const eddy__addend *a = list; a; a = a->next)
        if (!eddy__is_output(a->item))
            inputs[n++] = a->gradient;
    if (n < 2)
        return n == 1 ? inputs[0] : EDDY__NO_OUTPUT;
    return eddy__emit(w, "AddN", inputs, n);
}

eddy_output eddy__sum_list(eddy__walk *w, eddy_output v, eddy_output base)
{
    const eddy__addend *list = w->addends[w->shapes.first[v.node] + v.index];
    uint32_t from;

    if (w->status != EDDY_OK)
        return EDDY__NO_OUTPUT;
    base = sum_whole(w, list, base);
    if (!eddy__is_output(base)) {
        base = eddy__zeros_like(w, v, &from);
        base = eddy__guard(w, base, from, eddy__branch_of(w, v));
    }
    for (const eddy__addend *a = list; a && w->status == EDDY_OK; a = a->next)
        if (eddy__is_output(a->item))
            base = add_in_branch(w, v, base, a);
    return w->status == EDDY_OK ? base : EDDY__NO_OUTPUT;
}
