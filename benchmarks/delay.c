/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The asynchronous op and the thread that completes its nodes.  All wait
 * equally long, so a ring holds them in the order in which they are due.
 */
#include "benchmarks/delay.h"

#include "benchmarks/measure.h"

#include <pthread.h>
#include <time.h>

#define CAPACITY 1024

typedef struct waiting {
    eddy_kernel *kernel;
    uint64_t due_ns;
} waiting;

/* All wait equally long, so who comes first is due first. */
static struct delay_timer {
    pthread_t thread;
    pthread_mutex_t mu;
    pthread_cond_t changed; /* n, or is_ending */
    waiting ring[CAPACITY]; /* guarded by mu */
    size_t first, n;        /* guarded by mu */
    bool is_ending;         /* guarded by mu */
} timer;

static eddy_status compute(eddy_kernel *kernel)
{
    const eddy_shape scalar = {.rank = 0};
    const int32_t x = *(const int32_t *)eddy_kernel_input(kernel, 0).data;
    void *y;
    const eddy_status status =
        eddy_kernel_output(kernel, 0, EDDY_INT32, &scalar, &y);

    if (status == EDDY_OK)
        *(int32_t *)y = x;
    return status;
}

/* Waits for the first in the ring to be due; NULL: the timer ends. */
static eddy_kernel *next_due(void)
{
    eddy_kernel *kernel = NULL;

    pthread_mutex_lock(&timer.mu);
    while (!kernel && !(timer.is_ending && timer.n == 0)) {
        const waiting *w = &timer.ring[timer.first];

        if (timer.n == 0) {
            pthread_cond_wait(&timer.changed, &timer.mu);
        } else if (w->due_ns > clock_ns()) {
            const struct timespec due = {
                .tv_sec = (time_t)(w->due_ns / 1000000000),
                .tv_nsec = (long)(w->due_ns % 1000000000),
            };

            pthread_cond_timedwait(&timer.changed, &timer.mu, &due);
        } else {
            kernel = w->kernel;
            timer.first = (timer.first + 1) % CAPACITY;
            timer.n--;
        }
    }
    pthread_mutex_unlock(&timer.mu);
    return kernel;
}

static void *serve(void *unused)
{
    eddy_kernel *kernel;

    (void)unused;
    while ((kernel = next_due()) != NULL)
        eddy_kernel_complete(kernel, compute(kernel));
    return NULL;
}

static eddy_status start_delay(eddy_kernel *kernel)
{
    eddy_kernel *suspended = NULL;

    if (eddy_kernel_input(kernel, 0).rank != 0)
        return eddy_kernel_fail(kernel, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                                "x must be a scalar");
    pthread_mutex_lock(&timer.mu);
    if (timer.n < CAPACITY)
        suspended = eddy_kernel_suspend(kernel);
    if (suspended) {
        timer.ring[(timer.first + timer.n) % CAPACITY] = (waiting){
            .kernel = suspended,
            .due_ns = clock_ns() + DELAY_NS,
        };
        timer.n++;
        pthread_cond_signal(&timer.changed);
    }
    pthread_mutex_unlock(&timer.mu);
    if (suspended)
        return EDDY_OK;
    return eddy_kernel_fail(kernel, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                            "no room for another node that waits");
}

static eddy_status infer_scalar(eddy_infer *infer)
{
    eddy_infer_set_output(infer, 0, &(eddy_shape){.rank = 0});
    return EDDY_OK;
}

eddy_status delay_register(eddy_context *ctx, eddy_error *err)
{
    const eddy_op_spec spec = {
        .size = sizeof spec,
        .name = DELAY_OP,
        .inputs = "x: int32",
        .outputs = "y: int32",
        .infer = infer_scalar,
        .kernel = start_delay,
        .flags = EDDY_OP_ASYNC,
    };

    return eddy_op_register(ctx, &spec, err);
}

bool delay_start(void)
{
    pthread_condattr_t attr;
    bool is_ready = pthread_condattr_init(&attr) == 0;

    if (!is_ready)
        return false;
    is_ready = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0 &&
               pthread_cond_init(&timer.changed, &attr) == 0;
    pthread_condattr_destroy(&attr);
    timer.is_ending = false;
    return is_ready && pthread_mutex_init(&timer.mu, NULL) == 0 &&
           pthread_create(&timer.thread, NULL, serve, NULL) == 0;
}

void delay_stop(void)
{
    pthread_mutex_lock(&timer.mu);
    timer.is_ending = true;
    pthread_cond_signal(&timer.changed);
    pthread_mutex_unlock(&timer.mu);
    pthread_join(timer.thread, NULL);
    pthread_cond_destroy(&timer.changed);
    pthread_mutex_destroy(&timer.mu);
}
