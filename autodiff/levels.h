/* SPDX-License-Identifier: Apache-2.0 */
/* Tells the builder of open constructs where added nodes live. */
#ifndef EDDY_AUTODIFF_LEVELS_H
#define EDDY_AUTODIFF_LEVELS_H

#include "autodiff/study.h"

/*
 * All nodes that were added live in the loop of `y`, as far as its builder
 * knows; false without memory.
 */
bool eddy__levels_note(const eddy__study *study, eddy_output y);

/* A result for `v`, added in the frame of `y`, lives there or where v does. */
void eddy__levels_note_result(const eddy__study *study, eddy_output result,
                              eddy_output v, eddy_output y);

#endif
