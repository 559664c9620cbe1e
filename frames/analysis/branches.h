/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The branch in which each node runs, from the primitives alone.
 *
 * The branches of a frame are a tree: one is a side of a predicate inside
 * another, and 0, which all frames share, is that of what no Switch but those
 * of loops rules.  The sides of a predicate have numbers one after the other.
 * A node that depends on two branches of which neither is within the other runs
 * in one of its own: in the deeper one the sides of the other.
 *
 * A node's branch says when it is live, unless the node is marked as not exact:
 * where Switches and Merges are not nested as a program's are, a Merge may be
 * live in some sides of a predicate and not in others, and counts as of the
 * branch around all that come to it; and where nodes depend on very many
 * branches at once they count as of those that were found first.
 */
#ifndef EDDY_FRAMES_BRANCHES_H
#define EDDY_FRAMES_BRANCHES_H

#include "frames/analysis/analysis.h"
#include "frames/analysis/trace.h"

/*
 * Fills in `analysis->branches`, and `branch` of the frames, in time about
 * linear in the edges.
 */
eddy_status eddy__find_branches(const eddy__flow *flow, eddy_analysis *analysis,
                                eddy__arena *scratch, eddy_error *err);

/* The branch in which `output` is live, of the frame where it lives. */
uint32_t eddy__branches_output(const eddy__branches *b, const eddy__flow *flow,
                               const eddy_analysis *analysis,
                               eddy_output output);

/* Is `inner` the branch `outer` or in it? */
bool eddy__branch_is_within(const eddy__branches *b, uint32_t inner,
                            uint32_t outer);

/*
 * Is whatever runs in `x` in `y` too?  So it is if that is within it, and where
 * a node that reads from both has a branch of both.
 */
bool eddy__branch_implies(const eddy__branches *b, uint32_t x, uint32_t y);

/* The branch of that depth that `x` is in, or `x` if it is not as deep. */
uint32_t eddy__branch_at_depth(const eddy__branches *b, uint32_t x,
                               uint32_t depth);

/* The innermost branch that both are in. */
uint32_t eddy__branch_around(const eddy__branches *b, uint32_t x, uint32_t y);

#endif
