/* SPDX-License-Identifier: Apache-2.0 */
/* Time, and what many measurements of it say together. */
#ifndef EDDY_BENCHMARKS_MEASURE_H
#define EDDY_BENCHMARKS_MEASURE_H

#include "eddy/run.h"

/* Nanoseconds since some moment in the past; never goes back. */
uint64_t clock_ns(void);

/* What the calling thread has computed. */
uint64_t thread_cpu_ns(void);

/* Sleeps at least that long. */
void pause_ns(uint64_t ns);

/*
 * The value that `percent` of 100 values are not above; sorts them.  50 gives
 * the median, between the middle two when their number is even.
 */
uint64_t percentile(uint64_t *values, size_t n, uint32_t percent);

/* Medians.  CPU time is the calling thread's: waiting for a turn is no part. */
typedef struct timing {
    uint64_t median_ns, cpu_ns;
} timing;

/*
 * Executes once to warm up, then at least `least` (1 to MEASURE_MAX) times, and
 * on until it has taken a tenth of a second or MEASURE_MAX times.
 */
#define MEASURE_MAX 1000
EDDY_MUST_USE eddy_status measure_run(eddy_run *run, size_t least,
                                      timing *out_timing, eddy_error *err);

#endif
