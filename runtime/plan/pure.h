/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes a pass may compute earlier, elsewhere or once for several. */
#ifndef EDDY_PLAN_PURE_H
#define EDDY_PLAN_PURE_H

#include "runtime/plan/readers.h"

/*
 * Does the node do nothing but compute numbers of numbers, the same ones each
 * time?  It is one of eddy's own ops, no primitive, and touches no variables,
 * resources or lists.
 */
bool eddy__is_pure(const eddy__node *node);

/*
 * Is it certain of a pure node that its kernel succeeds, but for memory?  All
 * of its shapes must be known.  False where nothing is known of its op.
 */
bool eddy__pure_cannot_fail(const eddy__readers *r, eddy_node v);

/* Have two nodes of one op the same attributes, as far as the op knows them? */
bool eddy__pure_same_attrs(const eddy__node *a, const eddy__node *b);

#endif
