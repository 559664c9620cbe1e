/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hands calls that can't be stopped to a thread of their own, so that a
 * deadline need not wait for them.
 */
#include "ops/linalg/aside.h"

#include "core/base/float_mode.h"
#include "core/base/thread.h"
#include "ops/math/elements.h"
#include "ops/misc/scratch.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Calls that were left, in the whole process. */
#define MOST_LEFT 4

/* How long a kernel sleeps between two questions whether to stop. */
#define NAP_NS ((uint64_t)2000000)

#define MOST_ARG 256

typedef struct call {
    eddy__mutex mu;
    eddy__cond changed;
    bool is_done; /* guarded by mu */
    bool is_left; /* guarded by mu: the thread frees the call */
    eddy__float_mode mode;
    eddy__aside_fn fn;
    _Alignas(max_align_t) unsigned char arg[MOST_ARG];
    void *arrays[EDDY__ASIDE_PARTS];
} call;

/*
 * The one state of the process that ops have, since a process, not a context,
 * is what ends while such a thread runs.  atomic: changed by whoever leaves a
 * call and by its thread at the end.
 */
static atomic_int n_left;

static void nap(void)
{
    eddy__thread_sleep_ms(1);
}

__attribute__((destructor)) static void wait_for_calls(void)
{
    while (atomic_load(&n_left) > 0)
        nap();
}

static void free_call(call *c)
{
    for (size_t i = 0; i < EDDY__ASIDE_PARTS; i++)
        free(c->arrays[i]);
    eddy__cond_destroy(&c->changed);
    eddy__mutex_destroy(&c->mu);
    free(c);
}

static void run(void *arg)
{
    call *c = arg;
    bool is_left;

    eddy__float_mode_set(c->mode);
    c->fn(c->arg, c->arrays);
    eddy__mutex_lock(&c->mu);
    c->is_done = true;
    is_left = c->is_left;
    eddy__cond_signal(&c->changed);
    eddy__mutex_unlock(&c->mu);
    if (!is_left)
        return;
    free_call(c);
    atomic_fetch_sub(&n_left, 1);
}

/* NULL without memory or locks.  Copies may be cut off by a stop of the run. */
static call *make_call(eddy_kernel *k, const eddy__part *parts, size_t n)
{
    call *c = calloc(1, sizeof *c);
    bool fits = c != NULL;

    if (!fits)
        return NULL;
    if (eddy__mutex_init(&c->mu, NULL) != EDDY_OK) {
        free(c);
        return NULL;
    }
    if (eddy__cond_init(&c->changed, NULL) != EDDY_OK) {
        eddy__mutex_destroy(&c->mu);
        free(c);
        return NULL;
    }
    for (size_t i = 0; i < n && fits; i++) {
        c->arrays[i] = malloc(parts[i].bytes > 0 ? parts[i].bytes : 1);
        fits = c->arrays[i] != NULL;
        if (fits && parts[i].bytes > 0 && (parts[i].kind & EDDY__PART_INPUT))
            eddy__copy_bytes(k, c->arrays[i], parts[i].data, parts[i].bytes);
    }
    if (fits)
        return c;
    free_call(c);
    return NULL;
}

/* Until the call is done or the run is to stop; then it is left. */
static bool wait_for(eddy_kernel *k, call *c)
{
    bool is_done, stops = false;

    eddy__mutex_lock(&c->mu);
    while (!c->is_done && !stops) {
        eddy__cond_wait_for(&c->changed, &c->mu, NAP_NS);
        stops = !c->is_done && eddy__gives_up(k);
    }
    is_done = c->is_done;
    c->is_left = !is_done;
    if (!is_done)
        atomic_fetch_add(&n_left, 1);
    eddy__mutex_unlock(&c->mu);
    return is_done;
}

static eddy_status start_and_wait(eddy_kernel *k, call *c, void *arg,
                                  size_t size, const eddy__part *parts,
                                  size_t n)
{
    eddy__thread thread;

    while (atomic_load(&n_left) >= MOST_LEFT) {
        if (eddy__gives_up(k)) {
            free_call(c);
            return eddy__go_on(k, 0);
        }
        nap();
    }
    if (eddy__thread_start(&thread, 0, run, c, k->err) != EDDY_OK) {
        free_call(c);
        return EDDY_UNAVAILABLE;
    }
    if (!wait_for(k, c)) {
        /* Nobody joins it: a thread that ends by itself frees itself. */
        pthread_detach(thread);
        return eddy__go_on(k, 0);
    }
    eddy__thread_join(&thread);
    memcpy(arg, c->arg, size);
    for (size_t i = 0; i < n; i++)
        if (parts[i].bytes > 0 && (parts[i].kind & EDDY__PART_OUTPUT))
            eddy__copy_bytes(k, parts[i].data, c->arrays[i], parts[i].bytes);
    free_call(c);
    return eddy__go_on(k, 0);
}

eddy_status eddy__aside(eddy_kernel *k, eddy__aside_fn fn, void *arg,
                        size_t size, const eddy__part *parts, size_t n)
{
    eddy_tensor *counted;
    eddy_status status;
    int64_t bytes = 0;
    call *c;

    for (size_t i = 0; i < n; i++)
        bytes += (int64_t)parts[i].bytes;
    /* The copies count as the run's memory while it waits for them. */
    EDDY_TRY(eddy__scratch(k, EDDY_UINT8, bytes, &counted));
    c = make_call(k, parts, n);
    if (c && eddy__gave_up(k)) {
        free_call(c);
        status = eddy__go_on(k, 0);
    } else if (c) {
        c->mode = eddy__float_mode_get();
        c->fn = fn;
        memcpy(c->arg, arg, size);
        status = start_and_wait(k, c, arg, size, parts, n);
    } else {
        status =
            eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                        "no memory for copies of %" PRId64 " bytes", bytes);
    }
    eddy__scratch_free(k, counted);
    return status;
}
