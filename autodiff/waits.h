/* SPDX-License-Identifier: Apache-2.0 */
/* The ys may depend on values that are still to come: a construct is open. */
#ifndef EDDY_AUTODIFF_WAITS_H
#define EDDY_AUTODIFF_WAITS_H

#include "autodiff/activity.h"

/* Where nothing is waited for: depth 0, level EDDY__NOT_FOUND. */
typedef struct eddy__waits {
    uint32_t depth; /* of the innermost frame of a loop that is open ... */
    uint32_t frame; /* ... and that frame */
    uint32_t level; /* for the end of which outermost loop a value waits */
} eddy__waits;

/*
 * Finds the Merges of open loops and the values that are deferred (see
 * frames/build/builder.h) on which some y depends.  Frames that are cut count
 * for the trip of the ys alone.  Clears the state of the activity.
 */
eddy_status eddy__waits_find(eddy__activity *a, const eddy_output *ys,
                             size_t n_ys, const uint8_t *is_cut,
                             eddy__waits *out_waits);

#endif
