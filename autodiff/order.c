/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of what is done to a tape: what an iteration does comes before what
 * the next one does, in the forward loop and in the gradient loop.
 */
#include "autodiff/places.h"

/* A trigger runs though what it waits for is dead, as in a branch. */
static void wait_for(eddy__places *p, eddy_node next, eddy_node *sync,
                     eddy_node node, bool always)
{
    if (p->e->core.status != EDDY_OK)
        return;
    if (always) {
        eddy__emit_control(p->e, next, node);
    } else if (*sync != EDDY_NO_NODE) {
        eddy__emit_control(p->e, *sync, node);
    } else {
        *sync = eddy__emit_after(p->e, node, "ControlTrigger", NULL, 0).node;
        eddy__emit_control(p->e, next, *sync);
    }
}

void eddy__order_forward(eddy__places *p, eddy__scope *scope, eddy_node node,
                         uint32_t branch)
{
    if (!scope->is_base)
        wait_for(p, scope->count_next, &scope->count_sync, node, branch == 0);
}

void eddy__order_backward(eddy__places *p, eddy__scope *scope, eddy_node node,
                          uint32_t branch)
{
    if (!scope->is_base)
        wait_for(p, scope->back_next, &scope->back_sync, node, branch == 0);
}
