/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes are not live exactly when their branch is taken. */
#ifndef EDDY_FRAMES_BRANCH_DOUBT_H
#define EDDY_FRAMES_BRANCH_DOUBT_H

#include "frames/analysis/analysis.h"
#include "frames/analysis/flow.h"

/*
 * Marks as not exact what depends on such a node.  A loop whose Enters are
 * in several branches runs in none of them as a whole, so neither is what it
 * holds.
 */
eddy_status eddy__spread_doubt(const eddy__flow *flow, eddy_analysis *analysis,
                               eddy__arena *scratch, eddy_error *err);

#endif
