/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the clock, and sorts what was measured for medians and percentiles. */
#include "benchmarks/measure.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define ENOUGH_NS ((uint64_t)100 * 1000 * 1000)

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t clock_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t thread_cpu_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

void pause_ns(uint64_t ns)
{
    struct timespec left = {
        .tv_sec = (time_t)(ns / 1000000000),
        .tv_nsec = (long)(ns % 1000000000),
    };

    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a;
    const uint64_t y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

uint64_t percentile(uint64_t *values, size_t n, uint32_t percent)
{
    size_t rank;

    qsort(values, n, sizeof *values, compare);
    if (percent == 50 && n % 2 == 0)
        return values[n / 2 - 1] + (values[n / 2] - values[n / 2 - 1]) / 2;
    rank = (n * percent + 99) / 100;
    return values[rank > 0 ? rank - 1 : 0];
}

eddy_status measure_run(eddy_run *run, size_t least, timing *out_timing,
                        eddy_error *err)
{
    uint64_t times[MEASURE_MAX], cpu[MEASURE_MAX], total = 0;
    eddy_status status = eddy_run_execute(run, err);
    size_t n = 0;

    while (status == EDDY_OK && n < MEASURE_MAX &&
           (n < least || total < ENOUGH_NS)) {
        const uint64_t cpu_begin = thread_cpu_ns();
        const uint64_t begin = clock_ns();

        status = eddy_run_execute(run, err);
        times[n] = clock_ns() - begin;
        cpu[n] = thread_cpu_ns() - cpu_begin;
        total += times[n++];
    }
    if (status != EDDY_OK)
        return status;
    out_timing->median_ns = percentile(times, n, 50);
    out_timing->cpu_ns = percentile(cpu, n, 50);
    return EDDY_OK;
}
