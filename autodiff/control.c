/* Gradients of Switch and Merge, and of what writes and reads a tape. */
#include "autodiff/walk.h"

#include "core/base/status.h"

#include <string.h>

/* ---- branches ---- */

eddy_output eddy__merge_sides(eddy__walk *w, eddy_output v, uint32_t any_side,
                              eddy_output *sides, uint32_t n_sides)
{
    const uint32_t first = any_side - w->branches.branches[any_side].side;
    const int64_t n = n_sides;
    const eddy_attr attr = eddy_attr_int("N", &n);

    for (uint32_t i = 0; i < n_sides && w->status == EDDY_OK; i++)
        if (!eddy__is_output(sides[i])) {
            uint32_t from;
            const eddy_output zeros = eddy__zeros_like(w, v, &from);

            sides[i] = eddy__guard(w, zeros, from, first + i);
        }
    return eddy__emit_spec(w, &(eddy_node_spec){.op = "Merge",
                                                .inputs = sides,
                                                .n_inputs = n_sides,
                                                .attrs = &attr,
                                                .n_attrs = 1});
}

static eddy_output *new_sides(eddy__walk *w, uint32_t n)
{
    eddy_output *sides = eddy__arena_allocate(&w->arena, n, sizeof *sides);

    for (uint32_t i = 0; sides && i < n; i++)
        sides[i] = EDDY__NO_OUTPUT;
    if (!sides)
        w->status = eddy__fail_memory(w->err);
    return sides;
}

eddy_output eddy__leave_branch(eddy__walk *w, eddy_output v,
                               eddy_output gradient, uint32_t branch)
{
    const eddy_branch_info *b = &w->branches.branches[branch];
    eddy_output *sides = new_sides(w, b->n_sides);

    if (!sides)
        return EDDY__NO_OUTPUT;
    sides[b->side] = gradient;
    return eddy__merge_sides(w, v, branch, sides, b->n_sides);
}

void eddy__walk_switch(eddy__walk *w, eddy_node node)
{
    const eddy__node n = *eddy__graph_node(w->graph, node);
    eddy_output *sides = new_sides(w, n.n_outputs);
    const uint32_t side = eddy__branch_of(w, (eddy_output){node, 0});
    bool any = false;

    if (!sides || !eddy__is_active_edge(w, n.inputs[0]))
        return;
    for (uint32_t i = 0; i < n.n_outputs; i++) {
        sides[i] = eddy__sum(w, (eddy_output){node, i});
        any = any || eddy__is_output(sides[i]);
    }
    if (any)
        eddy__add_gradient(
            w, n.inputs[0],
            eddy__merge_sides(w, n.inputs[0], side, sides, n.n_outputs),
            w->branches.of_node[node]);
}

/* The side of the innermost predicate around `merge` that `branch` is in. */
static uint32_t side_branch(const eddy__walk *w, uint32_t branch,
                            uint32_t merge)
{
    const eddy_branch_info *b = w->branches.branches;

    branch = eddy__branch_at_depth(&w->branches, branch, b[merge].depth + 1);
    return b[branch].outer == merge && branch != merge ? branch : 0;
}

/* Do sides of one predicate meet here, each in one input? */
static bool is_structured(eddy__walk *w, eddy_node node, const eddy__node *n,
                          uint32_t branch)
{
    const eddy_branch_info *b = w->branches.branches;
    uint32_t first = 0;

    for (uint32_t i = 0; i < n->n_inputs; i++) {
        const uint32_t side =
            side_branch(w, eddy__branch_of(w, n->inputs[i]), branch);

        if (side == 0)
            return false;
        if (i == 0)
            first = side - b[side].side;
        if (side - b[side].side != first || w->met_by[side] == node)
            return false;
        w->met_by[side] = node;
    }
    return first != 0;
}

/* Input `i` was taken if the Merge says so. */
static eddy_output if_taken(eddy__walk *w, eddy_node node, uint32_t i,
                            eddy_output gradient)
{
    const eddy_output index = eddy__real(w, (eddy_output){node, 1});
    const eddy_output number =
        eddy__import(w, eddy__emit_int(w, (int32_t)i),
                     &w->scopes[w->analysis->node_frame[node]]);
    const eddy_output taken = eddy__emit_op(w, "Equal", index, number);

    return eddy__port(eddy__emit_op(w, "Switch", gradient, taken), 1);
}

void eddy__walk_merge(eddy__walk *w, eddy_node node)
{
    const eddy__node n = *eddy__graph_node(w->graph, node);
    const uint32_t branch = w->branches.of_node[node];
    const eddy_output sum = eddy__sum(w, (eddy_output){node, 0});
    const bool structured = is_structured(w, node, &n, branch);

    if (!eddy__is_output(sum))
        return;
    for (uint32_t i = 0; i < n.n_inputs && w->status == EDDY_OK; i++) {
        const eddy_output v = n.inputs[i];
        const uint32_t from = eddy__branch_of(w, v);

        if (!eddy__is_active_edge(w, v))
            continue;
        if (n.n_inputs == 1) {
            eddy__add_gradient(w, v, sum, branch);
        } else if (structured) {
            const uint32_t side = side_branch(w, from, branch);

            eddy__add_gradient(w, v, eddy__guard(w, sum, branch, side), side);
        } else {
            eddy__add_gradient(w, v, if_taken(w, node, i, sum), from);
        }
    }
}

/* ---- tapes ---- */

/*
 * The gradients of what was popped go on a stack of their own.  They come in
 * the order in which the forward loop pushed, so what it pops in its gradient,
 * in reverse, is the gradient of what it pushed.
 */
void eddy__walk_pop(eddy__walk *w, eddy_node node)
{
    eddy__tape *tape = eddy__tape_of(&w->tapes, node);
    const eddy_output popped = {node, 0};
    const uint32_t branch = eddy__branch_of(w, popped);
    eddy__scope *scope = eddy__scope_of(w, popped);
    eddy__scope *around = &w->scopes[w->analysis->node_frame[tape->stack]];
    const eddy_output sum = eddy__sum(w, popped);
    eddy_output push;

    if (!eddy__is_output(sum))
        return;
    if (around->frame != w->home && around->is_home)
        around = &w->scopes[w->home];
    tape->gradients =
        eddy__emit_stack(w, around, eddy_graph_output_dtype(w->graph, sum));
    push = eddy__emit_push(w, scope->is_home ? EDDY_NO_NODE : scope->pivot.node,
                           eddy__import_from(w, tape->gradients, around, scope),
                           sum);
    eddy__sync_backward(w, scope, push.node, branch);
    tape->done = push.node;
}

void eddy__walk_push(eddy__walk *w, eddy_node node)
{
    eddy__tape *tape = eddy__tape_of(&w->tapes, node);
    const eddy_output value = eddy__graph_node(w->graph, node)->inputs[1];
    const uint32_t branch = w->branches.of_node[node];
    eddy__scope *scope = &w->scopes[w->analysis->node_frame[node]];
    eddy__scope *around = &w->scopes[w->analysis->node_frame[tape->stack]];
    const eddy_output sum = eddy__sum(w, (eddy_output){node, 0});
    eddy_output pop;

    if (!eddy__is_active_edge(w, value))
        return;
    if (eddy__is_output(sum))
        eddy__add_gradient(w, value, sum, branch);
    if (!eddy__is_output(tape->gradients))
        return;
    if (around->frame != w->home && around->is_home)
        around = &w->scopes[w->home];
    pop = eddy__emit_pop(
        w, scope->is_home ? tape->done : scope->pivot.node,
        eddy__guard(w, eddy__import_from(w, tape->gradients, around, scope), 0,
                    branch),
        eddy_graph_output_dtype(w->graph, value));
    eddy__sync_backward(w, scope, pop.node, branch);
    eddy__add_gradient(w, value, pop, branch);
}
