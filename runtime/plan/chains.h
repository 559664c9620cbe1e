/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains, at levels exact and full: elementwise nodes of one shape that read
 * one another become one node, with the same bits.
 */
#ifndef EDDY_PLAN_CHAINS_H
#define EDDY_PLAN_CHAINS_H

#include "runtime/plan/plan.h"

/*
 * A chain is the nodes of a tree, or of what lies between some inputs and a few
 * results.  A member that others read too is stored, if nothing that reads it
 * leads back into the chain in the same iteration, and if all members are
 * certain to be in one branch, so that all are dead where one is.  Where no
 * member but the last is read by others, they are dead where the result is and
 * nothing else, so dead values need no thought.  All have the result's shape,
 * and all shapes are known, so that no member can fail.  The chain takes the
 * place of its last member.
 *
 * `*out_graph` is a copy with the same numbers of nodes; the caller's.  NULL if
 * there is no chain.
 */
eddy_status eddy__join_chains(const eddy__plan_build *build,
                              eddy__arena *scratch, eddy_graph **out_graph);

#endif
