/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks of whole frames, once the frame tree stands: loops that can't end,
 * Exits that fire in every iteration, two loops in one frame, and findings that
 * are odd but legal.
 */
#ifndef EDDY_FRAMES_VALIDATE_H
#define EDDY_FRAMES_VALIDATE_H

#include "frames/analysis/analysis.h"
#include "frames/analysis/flow.h"

/*
 * Fails with EDDY_E_NEVER_ENDS, _EXIT_TWICE or _MERGE_TWO_LIVE where that is
 * certain whenever the frame is entered with live values; adds warnings.
 */
eddy_status eddy__validate(const eddy__flow *flow, eddy_analysis *analysis,
                           eddy__arena *scratch, eddy_error *err);

/*
 * Fails with EDDY_E_FRAME_SHARED if two loops that nothing connects are in one
 * frame.
 */
eddy_status eddy__check_shared_frames(const eddy__flow *flow,
                                      const eddy_analysis *analysis,
                                      eddy__arena *scratch, eddy_error *err);

#endif
