/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutexes, with which nodes of any runs of a session keep each other out:
 * TensorFlow's CriticalSection.
 *
 * A lock is a value: a list of one item (EDDY__LOCK), the handle of what is
 * freed with the last reference to the value, and unlocks the mutex then.  Who
 * can't have the mutex stands in line; whoever unlocks it hands it to the first
 * there.  A run that fails, is cancelled or out of time takes its kernels out
 * of the line (services->await).
 */
#include "core/base/memory.h"
#include "ops/list/tensor_list.h"
#include "ops/ops.h"
#include "ops/state/named.h"

typedef struct mutex mutex;

typedef struct lock {
    eddy__resource base;
    mutex *of; /* NULL: it holds none */
} lock;

/* A kernel that waits for the mutex. */
typedef struct waiter {
    struct waiter *next;
    eddy_kernel *kernel;
    eddy__value value; /* what it will get */
    lock *lock;        /* that of the value */
} waiter;

struct mutex {
    eddy__resource base;
    eddy__mutex mu;
    bool is_locked; /* guarded by mu, as the next */
    waiter *first, **end;
};

static mutex *mutex_of(eddy__resource *resource)
{
    return (mutex *)(void *)resource;
}

/* ---- locks ---- */

/* The next in line has the lock from here on; NULL: nobody has. */
static waiter *hand_on(mutex *m)
{
    waiter *next;

    eddy__mutex_lock(&m->mu);
    next = m->first;
    m->is_locked = next != NULL;
    if (next) {
        m->first = next->next;
        if (!m->first)
            m->end = &m->first;
    }
    eddy__mutex_unlock(&m->mu);
    return next;
}

/* Makes a lock hold the mutex, which is locked for it. */
static void give(lock *l, mutex *m)
{
    (void)eddy__resource_retain(&m->base);
    l->of = m;
}

static void clear_lock(eddy__resource *resource, eddy__heap *heap)
{
    lock *l = (lock *)(void *)resource;
    mutex *m = l->of;
    waiter *next;

    (void)heap;
    if (!m)
        return;
    l->of = NULL;
    next = hand_on(m);
    if (next) {
        eddy_kernel *kernel = next->kernel;

        give(next->lock, m);
        eddy__out_value(kernel, 0, &next->value);
        eddy__free(m->base.allocator, next, 1, sizeof *next);
        kernel->services->complete(kernel, EDDY_OK);
    }
    eddy__resource_release(&m->base);
}

static const eddy__resource_type locks = {.name = "a lock",
                                          .clear = clear_lock};

static eddy_status fail_memory(eddy_kernel *k)
{
    return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                       "no memory for a lock");
}

/* A lock that holds nothing yet, and its value; NULL without memory. */
static lock *make_lock(eddy_kernel *k, const mutex *m, eddy__value *out)
{
    const eddy_shape unknown = eddy__shape_unknown();
    eddy__list *list = eddy__list_create(NULL, k->account, k->allocator,
                                         EDDY__LOCK, &unknown, 1);
    eddy__resource *resource;

    if (!list)
        return NULL;
    *out = (eddy__value){
        .kind = EDDY__LIST, .dtype = EDDY_VARIANT, .as.list = list};
    resource =
        eddy__resource_create_named(m->base.allocator, &locks, sizeof(lock));
    if (!resource) {
        eddy__value_clear(NULL, out);
        return NULL;
    }
    list->items[0] = (eddy__value){.kind = EDDY__RESOURCE,
                                   .dtype = EDDY_RESOURCE,
                                   .as.resource = resource};
    return (lock *)(void *)resource;
}

/* ---- the mutex ---- */

static void clear_mutex(eddy__resource *resource, eddy__heap *heap)
{
    (void)resource;
    (void)heap;
}

static void deinit_mutex(eddy__resource *resource)
{
    eddy__mutex_destroy(&mutex_of(resource)->mu);
}

static const eddy__resource_type mutexes = {
    .name = "a mutex", .clear = clear_mutex, .deinit = deinit_mutex};

static eddy__resource *make_mutex(const eddy_allocator *allocator,
                                  const void *arg)
{
    eddy__resource *resource =
        eddy__resource_create_named(allocator, &mutexes, sizeof(mutex));
    mutex *m = mutex_of(resource);

    (void)arg;
    if (!resource || eddy__mutex_init(&m->mu, NULL) != EDDY_OK) {
        eddy__free(allocator, resource, 1, sizeof *m);
        return NULL;
    }
    m->end = &m->first;
    return resource;
}

static eddy_status run_create(eddy_kernel *k)
{
    eddy__resource *resource = NULL;

    EDDY_TRY(eddy__find_resource(k, &mutexes, eddy__state(k), make_mutex, NULL,
                                 &resource));
    eddy__out_resource(k, 0, resource);
    return EDDY_OK;
}

/* ---- waiting ---- */

/* Its run is at its end: the kernel leaves the line if it is there. */
static void give_up(eddy_kernel *kernel, void *arg)
{
    mutex *m = arg;
    waiter **link, *found;

    eddy__mutex_lock(&m->mu);
    for (link = &m->first; *link && (*link)->kernel != kernel;)
        link = &(*link)->next;
    found = *link;
    if (found) {
        *link = found->next;
        if (m->end == &found->next)
            m->end = link;
    }
    eddy__mutex_unlock(&m->mu);
    if (!found)
        return;
    eddy__value_clear(NULL, &found->value);
    eddy__free(m->base.allocator, found, 1, sizeof *found);
    kernel->services->complete(
        kernel, eddy__kfail(kernel, EDDY_CANCELLED, EDDY_E_CANCELLED,
                            "the run ended while the node waited for a mutex"));
}

/* Suspends the kernel, which stands in line.  @thread mu is held */
static eddy_status wait_in_line(eddy_kernel *k, mutex *m,
                                const eddy__value *value, lock *l)
{
    waiter *w = eddy__allocate(m->base.allocator, 1, sizeof *w);

    if (!w)
        return fail_memory(k);
    *w =
        (waiter){.kernel = k->services->suspend(k), .value = *value, .lock = l};
    if (!w->kernel) {
        eddy__free(m->base.allocator, w, 1, sizeof *w);
        return fail_memory(k);
    }
    *m->end = w;
    m->end = &w->next;
    k->services->await(w->kernel, give_up, m);
    return EDDY_OK;
}

static eddy_status run_lock(eddy_kernel *k)
{
    eddy_status status = EDDY_OK;
    eddy__resource *resource;
    eddy__value value = {.kind = EDDY__NONE};
    lock *l;
    bool waits;
    mutex *m;

    EDDY_TRY(eddy__in_resource(k, 0, &mutexes, &resource));
    m = mutex_of(resource);
    l = make_lock(k, m, &value);
    if (!l)
        return fail_memory(k);
    eddy__mutex_lock(&m->mu);
    waits = m->is_locked;
    if (waits)
        status = wait_in_line(k, m, &value, l);
    m->is_locked = true;
    eddy__mutex_unlock(&m->mu);
    if (status != EDDY_OK) {
        eddy__value_clear(NULL, &value);
        return status;
    }
    if (waits)
        return EDDY_OK;
    give(l, m);
    eddy__out_value(k, 0, &value);
    return EDDY_OK;
}

/* The lock goes with its last reference, which may be the node's input. */
static eddy_status run_consume(eddy_kernel *k)
{
    if (eddy__value_is_list(eddy__in(k, 0)) &&
        eddy__in_list(k, 0)->dtype == EDDY__LOCK)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                       "input 0 must be a lock, as MutexLock gives one");
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("MutexV2", .outputs = "resource: resource",
                 .attrs = "container: string = '', shared_name: string = ''",
                 .infer = eddy__infer_scalar, .kernel = run_create,
                 .prepare = eddy__prepare_named,
                 .flags = EDDY_OP_STATEFUL | EDDY_OP_NOT_DIFFERENTIABLE |
                          EDDY_OP_CHEAP,
                 .doc = "A mutex of the session, or of the run if it has "
                        "none."),
    EDDY__OP_ROW("MutexLock", .inputs = "mutex: resource",
                 .outputs = "mutex_lock: variant", .infer = eddy__infer_scalar,
                 .kernel = run_lock,
                 .flags = EDDY_OP_STATEFUL | EDDY_OP_NOT_DIFFERENTIABLE |
                          EDDY_OP_ASYNC,
                 .doc = "Waits until nobody holds the mutex; it is held until "
                        "the output and all copies of it are gone."),
    EDDY__OP_ROW("ConsumeMutexLock", .inputs = "mutex_lock: variant",
                 .kernel = run_consume,
                 .flags = EDDY_OP_STATEFUL | EDDY_OP_NOT_DIFFERENTIABLE |
                          EDDY_OP_CHEAP,
                 .doc = "Does nothing; until it has run the lock is held."),
};

const eddy__op_table eddy__mutex_ops = {specs, NULL,
                                        sizeof specs / sizeof *specs};
