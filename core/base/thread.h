/* Threads, locks and time, over libuv. */
#ifndef EDDY_BASE_THREAD_H
#define EDDY_BASE_THREAD_H

#include "eddy/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* Nanoseconds of a clock that never goes back. */
static inline uint64_t eddy__now_ns(void)
{
    return uv_hrtime();
}

/*
 * The same clock, but as of its last tick, some milliseconds ago at the most
 * where the system has such a clock, and then several times as fast to read.
 */
uint64_t eddy__recent_ns(void);

/* Initialise; UNAVAILABLE if the system has no more of them. */
eddy_status eddy__mutex_init(uv_mutex_t *mutex, eddy_error *err);
eddy_status eddy__cond_init(uv_cond_t *cond, eddy_error *err);

/* `stack` in bytes, 0 for the system's default. */
eddy_status eddy__thread_start(uv_thread_t *thread, size_t stack,
                               void (*entry)(void *arg), void *arg,
                               eddy_error *err);

#endif
