/* SPDX-License-Identifier: Apache-2.0 */
/* What of threads and locks can fail, with its errors; the coarse clock. */
#include "core/base/thread.h"

#include "core/base/status.h"

#include <time.h>

uint64_t eddy__clock_recent_ns(void)
{
#ifdef CLOCK_MONOTONIC_COARSE
    struct timespec now;

    /* libuv's clock on Linux is CLOCK_MONOTONIC. */
    if (clock_gettime(CLOCK_MONOTONIC_COARSE, &now) == 0)
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
#endif
    return eddy__clock_now_ns();
}

static eddy_status fail_thread(eddy_error *err, const char *what, int error)
{
    char reason[64];

    uv_strerror_r(error, reason, sizeof reason);
    return eddy__fail(err, EDDY_UNAVAILABLE, EDDY_E_THREAD, "no %s: %s", what,
                      reason);
}

eddy_status eddy__mutex_init(eddy__mutex *mutex, eddy_error *err)
{
    const int error = uv_mutex_init(mutex);

    return error ? fail_thread(err, "mutex", error) : EDDY_OK;
}

eddy_status eddy__cond_init(eddy__cond *cond, eddy_error *err)
{
    const int error = uv_cond_init(cond);

    return error ? fail_thread(err, "condition variable", error) : EDDY_OK;
}

eddy_status eddy__thread_start(eddy__thread *thread, size_t stack,
                               void (*entry)(void *arg), void *arg,
                               eddy_error *err)
{
    const uv_thread_options_t options = {
        .flags = stack > 0 ? UV_THREAD_HAS_STACK_SIZE : UV_THREAD_NO_FLAGS,
        .stack_size = stack,
    };
    const int error = uv_thread_create_ex(thread, &options, entry, arg);

    return error ? fail_thread(err, "thread", error) : EDDY_OK;
}
