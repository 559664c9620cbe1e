/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/aid/host_executor.h"

#include <check.h>
#include <string.h>

static bool schedule(void *user, void (*task)(void *arg), void *arg)
{
    host_executor *host = user;
    bool taken;

    pthread_mutex_lock(&host->mu);
    taken = host->allowed != 0 && host->n < HOST_TASKS;
    if (taken) {
        const uint32_t at = (host->first + host->n++) % HOST_TASKS;

        host->tasks[at].task = task;
        host->tasks[at].arg = arg;
        host->n_taken++;
        host->allowed -= host->allowed > 0;
        pthread_cond_signal(&host->changed);
    }
    pthread_mutex_unlock(&host->mu);
    return taken;
}

static void *work(void *arg)
{
    host_executor *host = arg;

    pthread_mutex_lock(&host->mu);
    while (!host->is_ending || host->n > 0) {
        void (*task)(void *arg) = host->tasks[host->first].task;
        void *task_arg = host->tasks[host->first].arg;

        if (host->n == 0) {
            pthread_cond_wait(&host->changed, &host->mu);
            continue;
        }
        host->first = (host->first + 1) % HOST_TASKS;
        host->n--;
        pthread_mutex_unlock(&host->mu);
        task(task_arg);
        pthread_mutex_lock(&host->mu);
    }
    pthread_mutex_unlock(&host->mu);
    return NULL;
}

void host_executor_init(host_executor *host, uint32_t n_threads)
{
    ck_assert_uint_le(n_threads, HOST_THREADS);
    memset(host, 0, sizeof *host);
    host->executor = (eddy_executor){.schedule = schedule, .user = host};
    host->allowed = -1;
    host->n_threads = n_threads;
    pthread_mutex_init(&host->mu, NULL);
    pthread_cond_init(&host->changed, NULL);
    for (uint32_t i = 0; i < n_threads; i++)
        ck_assert_int_eq(pthread_create(&host->threads[i], NULL, work, host),
                         0);
}

void host_executor_deinit(host_executor *host)
{
    pthread_mutex_lock(&host->mu);
    host->is_ending = true;
    pthread_cond_broadcast(&host->changed);
    pthread_mutex_unlock(&host->mu);
    for (uint32_t i = 0; i < host->n_threads; i++)
        pthread_join(host->threads[i], NULL);
    pthread_cond_destroy(&host->changed);
    pthread_mutex_destroy(&host->mu);
}

void host_executor_allow(host_executor *host, int64_t n)
{
    pthread_mutex_lock(&host->mu);
    host->allowed = n;
    pthread_mutex_unlock(&host->mu);
}

uint32_t host_executor_taken(host_executor *host)
{
    uint32_t n;

    pthread_mutex_lock(&host->mu);
    n = host->n_taken;
    pthread_mutex_unlock(&host->mu);
    return n;
}
