/* SPDX-License-Identifier: Apache-2.0 */
/* The tensors that a plan keeps for its runs. */
#include "core/base/status.h"
#include "runtime/plan/plan.h"

eddy_status eddy__plan_hold(eddy_plan *plan, eddy_tensor *tensor,
                            eddy_error *err)
{
    if (!eddy__grow(plan->arena.allocator, (void **)&plan->held,
                    &plan->held_capacity, plan->n_held + 1,
                    sizeof(eddy_tensor *)))
        return eddy__fail_memory(err);
    plan->held[plan->n_held++] = eddy_tensor_retain(tensor);
    return EDDY_OK;
}
