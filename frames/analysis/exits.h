/* SPDX-License-Identifier: Apache-2.0 */
/* Which Exit has the last value of something that lives inside a loop. */
#ifndef EDDY_FRAMES_EXITS_H
#define EDDY_FRAMES_EXITS_H

#include "frames/analysis/analysis.h"

/*
 * The frame of the innermost loop that the outputs of a node live in; 0: none.
 * A frame that never iterates is no loop.
 */
uint32_t eddy__exits_loop_around(const eddy_analysis *analysis, eddy_node node);

/*
 * The Exit out of all loops of the variable that the outputs of `node`, inside
 * a loop, belong to: that which carries them on, else one that they are
 * computed from.  EDDY_NO_NODE if there is none, the frames of the graph make
 * no sense, or memory is short.  `budget` may be NULL.
 */
eddy_node eddy__exit_for(const eddy_graph *graph, eddy__budget *budget,
                         eddy_node node);

#endif
