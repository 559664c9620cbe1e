/* SPDX-License-Identifier: Apache-2.0 */
/* Which rule is that of a node: autodiff/grads.def, and what programs bring. */
#ifndef EDDY_AUTODIFF_RULE_TABLE_H
#define EDDY_AUTODIFF_RULE_TABLE_H

#include "core/graph/graph.h"
#include "eddy/gradients.h"

/*
 * The gradient of a node: the one that its attribute `_gradient_op_type` names,
 * or its op's; NULL if there is none.
 */
eddy_gradient_fn eddy__rule_table_find(const eddy_graph *graph,
                                       const eddy__node *node);

#endif
