/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each loop does for the values of its trips: the policy that a call
 * chooses, or that the attribute `_eddy_tape` of the loop's LoopCond says.
 * TensorFlow ignores the attribute, and copies of the node have it too.
 */
#ifndef EDDY_AUTODIFF_POLICY_H
#define EDDY_AUTODIFF_POLICY_H

#include "autodiff/tape_size.h"
#include "eddy/gradients.h"

/*
 * Notes in the graph what the options choose for the loops of the study, where
 * `base` is the frame of the ys; those
 * that are named must be there if `must_exist`.
 */
eddy_status eddy__policy_choose(const eddy__study *study,
                                eddy__gradient_emitter *e, uint32_t base,
                                const eddy_gradient_options *options,
                                bool must_exist);

/* Notes one. */
void eddy__policy_note(eddy__gradient_emitter *e, eddy_node loop_cond,
                       eddy_tape_policy policy);

/*
 * What is noted; where nothing is, to keep, or to spill if the loop was built
 * with swap_memory.  EDDY_TAPE_AUTO is to make trips again, or else to spill.
 */
eddy_tape_policy eddy__policy_of(const eddy_graph *graph, eddy_node loop_cond);

/* What is noted, as `_eddy_tape_bound`. */
eddy__tape_bound eddy__policy_bound(const eddy_graph *graph,
                                    eddy_node loop_cond);

/* Does what the loop keeps go on stacks that may spill? */
bool eddy__policy_spills(const eddy_graph *graph, eddy_node loop_cond);

#endif
