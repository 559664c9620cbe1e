/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes run though nobody may need what they compute. */
#ifndef EDDY_FRAMES_EAGER_H
#define EDDY_FRAMES_EAGER_H

#include "frames/analysis/analysis.h"
#include "frames/analysis/flow.h"

/* Fills in `eager` of the analysis; wants its branches. */
eddy_status eddy__find_eager(const eddy__flow *flow, eddy_analysis *analysis,
                             eddy__arena *scratch, eddy_error *err);

#endif
