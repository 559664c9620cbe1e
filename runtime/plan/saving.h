/* SPDX-License-Identifier: Apache-2.0 */
/* The pass that prepares a loop for its checkpoints. */
#ifndef EDDY_PLAN_SAVING_H
#define EDDY_PLAN_SAVING_H

#include "runtime/plan/plan.h"

/*
 * Finds the loop that the options want saved, refuses one that can't be, and
 * describes it in the plan.  `*out_graph` is a graph that goes on from what was
 * saved, or NULL.  Frames and shapes must be known.
 */
eddy_status eddy__plan_save_loop(eddy__plan_build *build,
                                 eddy_graph **out_graph);

#endif
