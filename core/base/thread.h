/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads, locks and time, over libuv: the one place outside of runtime/exec,
 * beside the files of block_file.c, that names it, so the rest of the tree does
 * not know what a lock is made of.
 */
#ifndef EDDY_BASE_THREAD_H
#define EDDY_BASE_THREAD_H

#include "eddy/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

typedef uv_mutex_t eddy__mutex;
typedef uv_cond_t eddy__cond;
typedef uv_thread_t eddy__thread;
typedef uv_once_t eddy__once;

#define EDDY__ONCE_INIT UV_ONCE_INIT

/* Nanoseconds of a clock that never goes back. */
static inline uint64_t eddy__clock_now_ns(void)
{
    return uv_hrtime();
}

/*
 * The same clock, but as of its last tick, some milliseconds ago at the most
 * where the system has such a clock, and then several times as fast to read.
 */
uint64_t eddy__clock_recent_ns(void);

/* How many threads the system lets this process run at the same time. */
static inline uint32_t eddy__thread_processors(void)
{
    return uv_available_parallelism();
}

/* Tells the processor that this thread only waits for another one. */
static inline void eddy__thread_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

static inline void eddy__thread_sleep_ms(unsigned ms)
{
    uv_sleep(ms);
}

/* UNAVAILABLE if the system has no more mutexes; else destroy it. */
eddy_status eddy__mutex_init(eddy__mutex *mutex, eddy_error *err);

static inline void eddy__mutex_destroy(eddy__mutex *mutex)
{
    uv_mutex_destroy(mutex);
}

/* The thread must not hold the mutex already: it would wait for itself. */
static inline void eddy__mutex_lock(eddy__mutex *mutex)
{
    uv_mutex_lock(mutex);
}

/*
 * The same for a mutex that is held for moments only: looks before it sleeps,
 * which would take longer.
 */
static inline void eddy__mutex_lock_soon(eddy__mutex *mutex)
{
    for (int i = 0; i < 32; i++) {
        if (uv_mutex_trylock(mutex) == 0)
            return;
        eddy__thread_relax();
    }
    uv_mutex_lock(mutex);
}

static inline void eddy__mutex_unlock(eddy__mutex *mutex)
{
    uv_mutex_unlock(mutex);
}

/* UNAVAILABLE if the system has no more of them; else destroy it. */
eddy_status eddy__cond_init(eddy__cond *cond, eddy_error *err);

static inline void eddy__cond_destroy(eddy__cond *cond)
{
    uv_cond_destroy(cond);
}

/* The caller holds `mutex`, which is free while it waits; may wake early. */
static inline void eddy__cond_wait(eddy__cond *cond, eddy__mutex *mutex)
{
    uv_cond_wait(cond, mutex);
}

/* The same, for `ns` nanoseconds at the most. */
static inline void eddy__cond_wait_for(eddy__cond *cond, eddy__mutex *mutex,
                                       uint64_t ns)
{
    (void)uv_cond_timedwait(cond, mutex, ns);
}

/* Wakes one thread that waits, or none. */
static inline void eddy__cond_signal(eddy__cond *cond)
{
    uv_cond_signal(cond);
}

static inline void eddy__cond_broadcast(eddy__cond *cond)
{
    uv_cond_broadcast(cond);
}

/*
 * `stack` in bytes, 0 for the system's default.  UNAVAILABLE if the system
 * starts no more threads; else the thread is to be joined.
 */
eddy_status eddy__thread_start(eddy__thread *thread, size_t stack,
                               void (*entry)(void *arg), void *arg,
                               eddy_error *err);

static inline void eddy__thread_join(eddy__thread *thread)
{
    (void)uv_thread_join(thread);
}

/*
 * Calls `function` unless that was done with this `once`, a static variable
 * that starts as EDDY__ONCE_INIT.  Whoever returns sees what it wrote.
 */
static inline void eddy__once_call(eddy__once *once, void (*function)(void))
{
    uv_once(once, function);
}

#endif
