/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of a loop that changes over a tape: pushed in the forward loop, popped
 * in the gradient loop.
 */
#include "autodiff/policy.h"
#include "autodiff/primals.h"

static eddy_output minus_one(eddy__primals *p)
{
    eddy__base *base = p->places->at;

    if (!eddy__output_exists(base->minus_one))
        base->minus_one = eddy__emit_int(p->e, -1);
    return base->minus_one;
}

eddy_output eddy__stack_emit(eddy__primals *p, eddy__scope *scope,
                             eddy_dtype dtype)
{
    const eddy_output size = eddy__place_import(p->places, minus_one(p), scope);
    const eddy_attr attr = eddy_attr_type("elem_type", &dtype);
    const eddy_node control =
        scope->is_base ? p->e->control : scope->pivot.node;

    return eddy__emit_spec(
        p->e, &(eddy_node_spec){.op = "StackV2",
                                .inputs = &size,
                                .n_inputs = 1,
                                .controls = &control,
                                .n_controls = control != EDDY_NO_NODE,
                                .attrs = &attr,
                                .n_attrs = 1});
}

eddy_output eddy__stack_push(eddy__gradient_emitter *e, eddy_node after,
                             eddy_output stack, eddy_output value, bool spills)
{
    const eddy_output inputs[] = {stack, value};
    static const bool yes = true;
    const eddy_attr attr = eddy_attr_bool("swap_memory", &yes);

    return eddy__emit_spec(
        e, &(eddy_node_spec){.op = "StackPushV2",
                             .inputs = inputs,
                             .n_inputs = 2,
                             .controls = &after,
                             .n_controls = after != EDDY_NO_NODE,
                             .attrs = &attr,
                             .n_attrs = spills});
}

eddy_output eddy__stack_pop(eddy__gradient_emitter *e, eddy_node after,
                            eddy_output stack, eddy_dtype dtype)
{
    const eddy_attr attr = eddy_attr_type("elem_type", &dtype);

    return eddy__emit_spec(
        e, &(eddy_node_spec){.op = "StackPopV2",
                             .inputs = &stack,
                             .n_inputs = 1,
                             .controls = &after,
                             .n_controls = after != EDDY_NO_NODE,
                             .attrs = &attr,
                             .n_attrs = 1});
}

eddy_output eddy__stack_save(eddy__primals *p, eddy_output value,
                             uint32_t frame, uint32_t branch)
{
    eddy__scope *scope = &p->places->scopes[frame];
    eddy_dtype dtype;
    eddy_output stack, push, pop;

    if (p->e->core.status != EDDY_OK || scope->is_base)
        return value;
    dtype = eddy_graph_output_dtype(p->e->core.graph, value);
    stack = eddy__stack_emit(p, &p->places->scopes[p->places->base], dtype);
    push = eddy__stack_push(
        p->e, scope->count_add,
        eddy__place_import_forward(p->places, stack, frame, 0), value,
        eddy__policy_spills(p->e->core.graph,
                            p->study->analysis->frames[frame].loop_cond));
    eddy__order_forward(p->places, scope, push.node, branch);
    pop = eddy__stack_pop(
        p->e, scope->pivot.node,
        eddy__place_enter_branches(p->places,
                                   eddy__place_import(p->places, stack, scope),
                                   0, branch, false),
        dtype);
    eddy__order_backward(p->places, scope, pop.node, branch);
    return pop;
}
