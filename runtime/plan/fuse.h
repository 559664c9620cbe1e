/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fusing: nodes that do together what each of several does by itself, at level
 * full with other roundings.
 */
#ifndef EDDY_PLAN_FUSE_H
#define EDDY_PLAN_FUSE_H

#include "ops/products.h"
#include "runtime/plan/plan.h"

/*
 * A sum and a MatMul that nothing else reads become one product that is added
 * in place, under the sum's name.  `*out_graph` is a copy in which that is so,
 * with the same numbers of nodes; the caller's.  NULL if there is nothing to
 * fuse.
 */
eddy_status eddy__fuse(const eddy__plan_build *build, eddy__arena *scratch,
                       eddy_graph **out_graph);

#endif
