/* SPDX-License-Identifier: Apache-2.0 */
/* Which loops count their trips, and what else counts in them. */
#ifndef EDDY_FRAMES_TRIP_COUNTER_H
#define EDDY_FRAMES_TRIP_COUNTER_H

#include "frames/analysis/analysis.h"
#include "frames/analysis/flow.h"

/* Fills in `trip_counter` of the frames; wants their variables. */
eddy_status eddy__find_trip_counters(const eddy__flow *flow, eddy_analysis *a,
                                     eddy__arena *scratch, eddy_error *err);

/* An integer that is first + trip * step in each trip of its loop, from 0. */
typedef struct eddy__progression {
    int64_t first, step;
} eddy__progression;

/*
 * Is `value` of frame `frame` a variable that starts from a constant and to
 * which every trip adds one, or that with a constant added?  Of dtypes int32
 * and int64; sums wrap around.
 */
bool eddy__find_progression(const eddy__flow *flow, const eddy_analysis *a,
                            uint32_t frame, eddy_output value,
                            eddy__progression *out);

#endif
