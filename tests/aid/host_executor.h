/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An executor of the host for tests: threads of its own that take tasks from a
 * list.  It can be told to refuse tasks.
 */
#ifndef EDDY_TESTS_HOST_EXECUTOR_H
#define EDDY_TESTS_HOST_EXECUTOR_H

#include "eddy.h"

#include <pthread.h>

#define HOST_THREADS 8
#define HOST_TASKS 1024

typedef struct host_executor {
    eddy_executor executor; /* what a context gets */
    pthread_t threads[HOST_THREADS];
    uint32_t n_threads;
    /* All below is guarded by mu. */
    pthread_mutex_t mu;
    pthread_cond_t changed;
    struct {
        void (*task)(void *arg);
        void *arg;
    } tasks[HOST_TASKS];
    uint32_t first, n; /* of the ring of tasks */
    uint32_t n_taken;  /* tasks so far */
    int64_t allowed;   /* tasks until it refuses; negative: no end */
    bool is_ending;
} host_executor;

void host_executor_init(host_executor *host, uint32_t n_threads);

/* Does what is still to be done, then ends the threads. */
void host_executor_deinit(host_executor *host);

/* Takes `n` more tasks and refuses all after those; negative: no end. */
void host_executor_allow(host_executor *host, int64_t n);
uint32_t host_executor_taken(host_executor *host);

#endif
