/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cycles that no NextIteration makes legal.  Cut at the edges from a
 * NextIteration to a Merge, a graph must be acyclic, and each node must be
 * reachable from a root or a feed without them.
 */
#ifndef EDDY_FRAMES_CYCLE_H
#define EDDY_FRAMES_CYCLE_H

#include "frames/analysis/flow.h"

/*
 * Fails with EDDY_E_CYCLE, or with EDDY_E_BACK_EDGE where every cycle goes
 * through a NextIteration that feeds no Merge, and writes out the shortest
 * cycle (in a graph of very many cycles: a short one); or with
 * EDDY_E_UNREACHABLE_LOOP for a Merge that only back edges feed.  Takes time
 * linear in the edges if there is nothing to report, and is bounded otherwise.
 */
eddy_status eddy__check_cycles(const eddy__flow *flow, eddy__arena *scratch,
                               eddy_error *err);

#endif
