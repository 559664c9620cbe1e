/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/aid/probe_ops.h"

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define MAX_HELD 65536

static atomic_uint ticks;

static eddy_status pass_on(eddy_kernel *kernel)
{
    eddy_tensor *x = eddy_kernel_input_tensor(kernel, 0);
    eddy_status status;

    if (!x)
        return eddy_kernel_fail(kernel, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                                "no memory for a tensor");
    status = eddy_kernel_output_tensor(kernel, 0, x);
    eddy_tensor_release(x);
    return status;
}

static eddy_status tick(eddy_kernel *kernel)
{
    atomic_fetch_add(&ticks, 1);
    return pass_on(kernel);
}

uint32_t tick_count(void)
{
    return atomic_load(&ticks);
}

/* ---- Hold ---- */

typedef struct held {
    eddy_kernel *kernel; /* NULL: completed */
    int64_t iteration;
} held;

/* All guarded by hold_mu. */
static pthread_mutex_t hold_mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t hold_changed = PTHREAD_COND_INITIALIZER;
static held holds[MAX_HELD];
static uint32_t n_holds, n_open;

static eddy_status no_suspension(eddy_kernel *kernel)
{
    return eddy_kernel_fail(kernel, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                            "no memory to suspend the node");
}

static eddy_status hold(eddy_kernel *kernel)
{
    eddy_kernel *suspended = eddy_kernel_suspend(kernel);

    if (!suspended)
        return no_suspension(kernel);
    pthread_mutex_lock(&hold_mu);
    if (n_holds < MAX_HELD)
        holds[n_holds++] = (held){suspended, eddy_kernel_iteration(suspended)};
    n_open++;
    pthread_cond_broadcast(&hold_changed);
    pthread_mutex_unlock(&hold_mu);
    return EDDY_OK;
}

static uint32_t read_held(const uint32_t *number)
{
    uint32_t value;

    pthread_mutex_lock(&hold_mu);
    value = *number;
    pthread_mutex_unlock(&hold_mu);
    return value;
}

uint32_t hold_started(void)
{
    return read_held(&n_holds);
}

uint32_t hold_open(void)
{
    return read_held(&n_open);
}

int64_t hold_iteration(uint32_t i)
{
    int64_t iteration;

    pthread_mutex_lock(&hold_mu);
    ck_assert_uint_lt(i, n_holds);
    iteration = holds[i].iteration;
    pthread_mutex_unlock(&hold_mu);
    return iteration;
}

bool hold_is_cancelled(uint32_t i)
{
    bool is_cancelled;

    pthread_mutex_lock(&hold_mu);
    ck_assert(i < n_holds && holds[i].kernel);
    is_cancelled = eddy_kernel_cancelled(holds[i].kernel);
    pthread_mutex_unlock(&hold_mu);
    return is_cancelled;
}

void hold_await(uint32_t n)
{
    struct timespec until;
    int status = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    pthread_mutex_lock(&hold_mu);
    while (n_holds < n && status == 0)
        status = pthread_cond_timedwait(&hold_changed, &hold_mu, &until);
    ck_assert_msg(n_holds >= n, "%u of %u nodes have started", n_holds, n);
    pthread_mutex_unlock(&hold_mu);
}

static bool let_go(uint32_t i, eddy_status code)
{
    eddy_kernel *kernel;

    pthread_mutex_lock(&hold_mu);
    ck_assert_uint_lt(i, n_holds);
    kernel = holds[i].kernel;
    holds[i].kernel = NULL;
    n_open -= kernel != NULL;
    pthread_mutex_unlock(&hold_mu);
    if (!kernel)
        return false;
    eddy_kernel_complete(
        kernel, code == EDDY_OK ? pass_on(kernel)
                                : eddy_kernel_fail(kernel, code, EDDY_E_VALUE,
                                                   "the test let it fail"));
    return true;
}

void hold_complete(uint32_t i, eddy_status code)
{
    ck_assert_msg(let_go(i, code), "hold %u is completed already", i);
}

void hold_complete_newest(eddy_status code)
{
    uint32_t i = hold_started();

    while (i > 0 && !let_go(i - 1, code))
        i--;
    ck_assert_msg(i > 0, "no node is suspended");
}

uint32_t hold_complete_all(eddy_status code)
{
    const uint32_t n = hold_started();
    uint32_t n_let_go = 0;

    for (uint32_t i = 0; i < n; i++)
        n_let_go += let_go(i, code);
    return n_let_go;
}

/* ---- Later ---- */

typedef struct due {
    eddy_kernel *kernel;
    uint64_t at_ns;
} due;

/* All guarded by later_mu but the thread, which is the test's. */
static pthread_mutex_t later_mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t later_changed = PTHREAD_COND_INITIALIZER;
static due dues[MAX_HELD];
static uint32_t n_dues, n_later, peak_later;
static uint64_t later_min, later_spread, later_random;
static bool later_ends;
static pthread_t later_thread;

static uint64_t realtime_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t draw(void)
{
    later_random ^= later_random << 13;
    later_random ^= later_random >> 7;
    later_random ^= later_random << 17;
    return later_random;
}

static eddy_status later(eddy_kernel *kernel)
{
    eddy_kernel *suspended = eddy_kernel_suspend(kernel);

    if (!suspended)
        return no_suspension(kernel);
    pthread_mutex_lock(&later_mu);
    n_later++;
    if (n_dues < MAX_HELD)
        dues[n_dues++] = (due){suspended, realtime_ns() + later_min +
                                              draw() % (later_spread + 1)};
    peak_later = n_dues > peak_later ? n_dues : peak_later;
    pthread_cond_signal(&later_changed);
    pthread_mutex_unlock(&later_mu);
    return EDDY_OK;
}

/* Takes the one that is due first out of the list.  Requires n_dues > 0. */
static due take_first(void)
{
    uint32_t first = 0;
    due taken;

    for (uint32_t i = 1; i < n_dues; i++)
        if (dues[i].at_ns < dues[first].at_ns)
            first = i;
    taken = dues[first];
    dues[first] = dues[--n_dues];
    return taken;
}

static uint64_t first_due(void)
{
    uint64_t first = UINT64_MAX;

    for (uint32_t i = 0; i < n_dues; i++)
        first = dues[i].at_ns < first ? dues[i].at_ns : first;
    return first;
}

/* @thread holds later_mu */
static void sleep_until_due(void)
{
    const uint64_t at = first_due();
    const struct timespec until = {.tv_sec = (time_t)(at / 1000000000),
                                   .tv_nsec = (long)(at % 1000000000)};

    if (n_dues == 0)
        pthread_cond_wait(&later_changed, &later_mu);
    else
        pthread_cond_timedwait(&later_changed, &later_mu, &until);
}

static void *complete_later(void *unused)
{
    pthread_mutex_lock(&later_mu);
    while (!later_ends || n_dues > 0) {
        if (n_dues > 0 && first_due() <= realtime_ns()) {
            eddy_kernel *kernel = take_first().kernel;

            pthread_mutex_unlock(&later_mu);
            eddy_kernel_complete(kernel, pass_on(kernel));
            pthread_mutex_lock(&later_mu);
        } else {
            sleep_until_due();
        }
    }
    pthread_mutex_unlock(&later_mu);
    return unused;
}

void later_start(uint64_t min_ns, uint64_t max_ns)
{
    later_min = min_ns;
    later_spread = max_ns - min_ns;
    later_random = 88172645463325252u;
    later_ends = false;
    n_dues = n_later = peak_later = 0;
    ck_assert_int_eq(pthread_create(&later_thread, NULL, complete_later, NULL),
                     0);
}

void later_stop(void)
{
    pthread_mutex_lock(&later_mu);
    later_ends = true;
    pthread_cond_signal(&later_changed);
    pthread_mutex_unlock(&later_mu);
    pthread_join(later_thread, NULL);
}

uint32_t later_started(void)
{
    uint32_t n;

    pthread_mutex_lock(&later_mu);
    n = n_later;
    pthread_mutex_unlock(&later_mu);
    return n;
}

uint32_t later_peak(void)
{
    uint32_t n;

    pthread_mutex_lock(&later_mu);
    n = peak_later;
    pthread_mutex_unlock(&later_mu);
    return n;
}

/* ---- registering ---- */

void probe_ops_register(program *p)
{
    static const struct {
        const char *name;
        eddy_kernel_fn kernel;
        uint32_t flags;
    } ops[] = {
        {"Tick", tick, EDDY_OP_STATEFUL},
        {"Hold", hold, EDDY_OP_STATEFUL | EDDY_OP_ASYNC},
        {"Later", later, EDDY_OP_ASYNC},
    };

    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        const eddy_op_spec spec = {
            .size = sizeof spec,
            .name = ops[i].name,
            .inputs = "x: T",
            .outputs = "y: T",
            .attrs = "T: type",
            .kernel = ops[i].kernel,
            .flags = ops[i].flags,
        };

        ck_assert_int_eq(eddy_op_register(p->ctx, &spec, &p->err), EDDY_OK);
    }
    atomic_store(&ticks, 0);
    n_holds = n_open = 0;
}
