/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains, at levels exact and full: elementwise nodes that only one another
 * reads become one node, with the same bits.
 */
#ifndef EDDY_PLAN_CHAINS_H
#define EDDY_PLAN_CHAINS_H

#include "runtime/plan/plan.h"

/*
 * A chain is the nodes of a tree, or of what lies between some inputs and one
 * result: each but the last is read by other members alone.  They are dead
 * where the result is and nothing else, so dead values need no thought.  All
 * have the result's shape, and all shapes are known, so that no member can
 * fail.  The chain takes the place of its last member.
 *
 * `*out_graph` is a copy with the same numbers of nodes; the caller's.  NULL if
 * there is no chain.
 */
eddy_status eddy__join_chains(const eddy__plan_build *build,
                              eddy__arena *scratch, eddy_graph **out_graph);

#endif
