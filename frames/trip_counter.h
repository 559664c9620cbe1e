/* Which loops count their trips. */
#ifndef EDDY_FRAMES_TRIP_COUNTER_H
#define EDDY_FRAMES_TRIP_COUNTER_H

#include "frames/analysis.h"
#include "frames/flow.h"

/* Fills in `trip_counter` of the frames; wants their variables. */
eddy_status eddy__find_trip_counters(const eddy__flow *flow, eddy_analysis *a,
                                     eddy_error *err);

#endif
