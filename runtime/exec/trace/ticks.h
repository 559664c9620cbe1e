/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A clock for each token of a recorded run: the processor's own counter where
 * it counts evenly, which is read in a third of the time that the system's
 * clock takes; else that clock.  Main invariant: both agree each time that the
 * ticks are set, which is once in some hundred tokens.  @thread the run's
 * driver
 */
#ifndef EDDY_EXEC_TRACE_TICKS_H
#define EDDY_EXEC_TRACE_TICKS_H

#include "core/base/thread.h"

typedef struct eddy__ticks {
    bool is_counter;          /* else `now` is the system's clock */
    double ns_per_tick;       /* 0: not known yet */
    uint64_t first_ns, first; /* since when it is measured */
    uint64_t base_ns, base;   /* when they were set */
} eddy__ticks;

/* The counter, if there is one. */
static inline uint64_t eddy__ticks_read(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    return __builtin_ia32_rdtsc();
#else
    return 0;
#endif
}

/* Nanoseconds of eddy__clock_now_ns, or nearly. */
static inline uint64_t eddy__ticks_now(const eddy__ticks *t)
{
    int64_t since;

    if (!t->is_counter)
        return eddy__clock_now_ns();
    since = (int64_t)(eddy__ticks_read() - t->base);
    return t->base_ns + (uint64_t)(int64_t)((double)(since > 0 ? since : 0) *
                                            t->ns_per_tick);
}

/* Begins to measure how long a tick is. */
void eddy__ticks_begin(eddy__ticks *t);

/* Sets the ticks by the system's clock, whose time it is then. */
uint64_t eddy__ticks_set(eddy__ticks *t);

#endif
