/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the clock that no administrator sets. */
#include "tools/clock.h"

#include <time.h>

uint64_t eddy__clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
