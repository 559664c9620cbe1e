/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes carry the variables of each loop. */
#ifndef EDDY_FRAMES_LOOP_VARIABLES_H
#define EDDY_FRAMES_LOOP_VARIABLES_H

#include "frames/analysis/analysis.h"
#include "frames/analysis/flow.h"

/*
 * Fills the variables and invariants of the frames of `a`, in the order of
 * their Enters.  An Enter that feeds several Merges is a variable for each.
 */
eddy_status eddy__find_loop_variables(const eddy__flow *flow, eddy_analysis *a,
                                      eddy__arena *scratch, eddy_error *err);

#endif
