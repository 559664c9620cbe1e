/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a tick of the processor's counter is, measured against the system's
 * clock for as long as the execution goes on.
 */
#include "runtime/exec/trace/ticks.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#endif

/* Before that, the reading of two clocks would be most of what is measured. */
#define LEAST_NS 20000

/* Does the counter go on at one speed, whatever the processor does? */
static bool has_even_counter(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    unsigned a, b, c, d;

    return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d >> 8 & 1) != 0;
#else
    return false;
#endif
}

void eddy__ticks_begin(eddy__ticks *t)
{
    t->is_counter = has_even_counter();
    t->first_ns = eddy__clock_now_ns();
    t->first = eddy__ticks_read();
}

uint64_t eddy__ticks_set(eddy__ticks *t)
{
    do {
        t->base_ns = eddy__clock_now_ns();
        t->base = eddy__ticks_read();
        if (t->base_ns - t->first_ns >= LEAST_NS && t->base > t->first)
            t->ns_per_tick = (double)(t->base_ns - t->first_ns) /
                             (double)(t->base - t->first);
    } while (t->is_counter && t->ns_per_tick == 0 &&
             t->base_ns - t->first_ns < LEAST_NS);
    if (t->ns_per_tick == 0)
        t->is_counter = false;
    return t->base_ns;
}
