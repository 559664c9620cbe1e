/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The static frames of a selection: which there are, how they nest, and which
 * nodes run in them.
 */
#ifndef EDDY_FRAMES_FRAME_TREE_H
#define EDDY_FRAMES_FRAME_TREE_H

#include "frames/analysis/analysis.h"
#include "frames/analysis/flow.h"

/*
 * Fills the frames, their numbers and what nodes say of them (not the loop
 * variables) into `analysis`.  Goes from the roots along the edges, down at an
 * Enter and up at an Exit, and refuses what TensorFlow refuses: edges between
 * frames, a frame with two parents, with two LoopConds, without a name; also an
 * Exit or a NextIteration in the root frame, parallel_iterations below 1, and
 * frames nested too deeply.
 */
eddy_status eddy__frame_tree_build(const eddy__flow *flow,
                                   eddy_analysis *analysis,
                                   eddy__arena *scratch, eddy_error *err);

#endif
