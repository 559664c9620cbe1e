/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of what writes and reads a tape: another tape. */
#include "autodiff/policy.h"
#include "autodiff/reverse.h"

/*
 * The gradients of what was popped go on a stack of their own.  They come in
 * the order in which the forward loop pushed, so what it pops in its gradient,
 * in reverse, is the gradient of what it pushed.
 */
void eddy__tape_gradient_walk_pop(eddy__reverse *r, eddy_node node)
{
    const eddy__tape_stack *tape = eddy__tape_of(&r->study.tapes, node);
    eddy__tape_gradient *gradient = &r->tapes[tape - r->study.tapes.tapes];
    const eddy_output popped = {node, 0};
    const uint32_t branch = eddy__study_branch(&r->study, popped);
    eddy__scope *scope = eddy__place_scope(&r->places, popped);
    eddy__scope *around =
        &r->places.scopes[r->study.analysis->node_frame[tape->stack]];
    const eddy_output sum = eddy__sum_make(&r->sums, popped);
    eddy_output push;

    if (!eddy__output_exists(sum))
        return;
    if (around->frame != r->places.base && around->is_base)
        around = &r->places.scopes[r->places.base];
    gradient->stack = eddy__stack_emit(
        &r->primals, around, eddy_graph_output_dtype(r->e.core.graph, sum));
    push = eddy__stack_push(
        &r->e, scope->is_base ? EDDY_NO_NODE : scope->pivot.node,
        eddy__place_import_from(&r->places, gradient->stack, around, scope),
        sum,
        eddy__policy_spills(r->e.core.graph,
                            r->study.analysis->frames[scope->frame].loop_cond));
    eddy__order_backward(&r->places, scope, push.node, branch);
    gradient->done = push.node;
}

void eddy__tape_gradient_walk_push(eddy__reverse *r, eddy_node node)
{
    const eddy__tape_stack *tape = eddy__tape_of(&r->study.tapes, node);
    eddy__tape_gradient *gradient = &r->tapes[tape - r->study.tapes.tapes];
    const eddy_output value =
        eddy__graph_node(r->e.core.graph, node)->inputs[1];
    const uint32_t branch = r->study.branches.of_node[node];
    eddy__scope *scope = &r->places.scopes[r->study.analysis->node_frame[node]];
    eddy__scope *around =
        &r->places.scopes[r->study.analysis->node_frame[tape->stack]];
    const eddy_output sum = eddy__sum_make(&r->sums, (eddy_output){node, 0});
    eddy_output pop;

    if (!eddy__activity_is_edge(&r->activity, value))
        return;
    if (eddy__output_exists(sum))
        eddy__sum_add(&r->sums, value, sum, branch);
    if (!eddy__output_exists(gradient->stack))
        return;
    if (around->frame != r->places.base && around->is_base)
        around = &r->places.scopes[r->places.base];
    pop = eddy__stack_pop(
        &r->e, scope->is_base ? gradient->done : scope->pivot.node,
        eddy__primal_guard(
            &r->primals,
            eddy__place_import_from(&r->places, gradient->stack, around, scope),
            0, branch),
        eddy_graph_output_dtype(r->e.core.graph, value));
    eddy__order_backward(&r->places, scope, pop.node, branch);
    eddy__sum_add(&r->sums, value, pop, branch);
}
