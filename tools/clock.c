/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the clocks that no administrator sets. */
#include "tools/clock.h"

#include <time.h>

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t eddy__clock_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t eddy__clock_cpu_ns(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}
