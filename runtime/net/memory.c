/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exchange of ranks in one process.  An entry of its table is a message
 * that has come before its receiver, or a receiver that was first; the second
 * of the two takes the entry out.  So an entry belongs to whoever takes it out,
 * under the lock, and what follows is done without it.
 *
 * With a seed, a message goes into a bag first.  Each message that comes lets
 * none, one or two of those in the bag go on, drawn from the seed; a rank that
 * is idle or has ended lets all of them go, in an order that is drawn.  So what
 * is held back is late, but comes.
 */
#include "runtime/net/memory.h"

#include "core/base/status.h"

#include <string.h>

typedef struct entry {
    struct entry *next;
    eddy__message_key key;
    eddy__value value;    /* of a message */
    eddy_kernel *waiting; /* of a receiver; NULL: it is a message */
} entry;

struct eddy__memory_exchange {
    eddy__exchange base;
    const eddy_allocator *allocator;
    bool holds_back; /* there was a seed */
    eddy__mutex mu;
    entry **buckets; /* guarded by mu, as all below */
    size_t n_buckets, n_entries, n_messages;
    uint64_t n_sent;
    uint64_t seed; /* of what is drawn next */
    entry *bag;
    size_t n_bag;
    bool is_aborted;
    eddy_error failure; /* why, once it is */
};

/* ---- the table ---- */

static uint64_t hash_key(const eddy__message_key *key)
{
    uint64_t hash = key->hash ^ (key->tag.frame * UINT64_C(0x9e3779b97f4a7c15));

    hash ^= (uint64_t)key->tag.iteration * UINT64_C(0xbf58476d1ce4e5b9);
    return hash ^ (hash >> 31);
}

static bool is_same(const eddy__message_key *a, const eddy__message_key *b)
{
    return a->hash == b->hash && a->tag.frame == b->tag.frame &&
           a->tag.iteration == b->tag.iteration &&
           strcmp(a->edge, b->edge) == 0;
}

/* What points at the entry of that key, or at the end of its list. */
static entry **find(eddy__memory_exchange *x, const eddy__message_key *key)
{
    entry **link = &x->buckets[hash_key(key) & (x->n_buckets - 1)];

    while (*link && !is_same(&(*link)->key, key))
        link = &(*link)->next;
    return link;
}

/* Twice the buckets, if there are many entries; not if memory is short. */
static void grow(eddy__memory_exchange *x)
{
    const size_t n = 2 * x->n_buckets;
    entry **buckets;

    if (x->n_entries < x->n_buckets)
        return;
    buckets = eddy__allocate_zeroed(x->allocator, n, sizeof(void *));
    if (!buckets)
        return;
    for (size_t i = 0; i < x->n_buckets; i++)
        while (x->buckets[i]) {
            entry *e = x->buckets[i];
            const size_t to = hash_key(&e->key) & (n - 1);

            x->buckets[i] = e->next;
            e->next = buckets[to];
            buckets[to] = e;
        }
    eddy__free(x->allocator, x->buckets, x->n_buckets, sizeof(void *));
    x->buckets = buckets;
    x->n_buckets = n;
}

static void put(eddy__memory_exchange *x, entry *e)
{
    entry **link;

    grow(x);
    link = find(x, &e->key);
    e->next = *link;
    *link = e;
    x->n_entries++;
    x->n_messages += !e->waiting;
}

static entry *take(eddy__memory_exchange *x, entry **link)
{
    entry *e = *link;

    *link = e->next;
    e->next = NULL;
    x->n_entries--;
    x->n_messages -= !e->waiting;
    return e;
}

static void free_entry(const eddy__memory_exchange *x, entry *e)
{
    eddy__value_clear(NULL, &e->value);
    eddy__free(x->allocator, e, 1, sizeof *e);
}

/* ---- what becomes of a receiver ---- */

static eddy_status fail_aborted(const eddy__memory_exchange *x, eddy_kernel *k)
{
    return eddy__kfail(k, x->failure.code, x->failure.detail, "%.500s",
                       x->failure.message);
}

/* Makes the message what the kernel puts out. */
static eddy_status deliver(eddy_kernel *k, eddy__value *value)
{
    const eddy_dtype dtype = (eddy_dtype)k->node->out_dtypes[0];

    k->is_dead = value->kind == EDDY__NONE;
    if (k->is_dead)
        return EDDY_OK;
    if (value->dtype != dtype)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_MESSAGE,
                           "a tensor of %s has come, wanted %s",
                           eddy_dtype_name((eddy_dtype)value->dtype),
                           eddy_dtype_name(dtype));
    eddy__out_value(k, 0, value);
    value->kind = EDDY__NONE;
    return EDDY_OK;
}

/* Ends the waiting of those in the list and frees it; without the lock. */
static void complete(const eddy__memory_exchange *x, entry *e)
{
    while (e) {
        entry *next = e->next;
        eddy_kernel *kernel = e->waiting;
        const eddy_status status =
            kernel ? deliver(kernel, &e->value) : EDDY_OK;

        free_entry(x, e);
        if (kernel)
            kernel->services->complete(kernel, status);
        e = next;
    }
}

/* Its run is at its end: it waits no longer, if it still does. */
static void give_up(eddy_kernel *kernel, void *arg)
{
    eddy__memory_exchange *x = arg;
    entry *found = NULL;
    bool is_aborted;

    eddy__mutex_lock(&x->mu);
    for (size_t i = 0; i < x->n_buckets && !found; i++)
        for (entry **link = &x->buckets[i]; *link; link = &(*link)->next)
            if ((*link)->waiting == kernel) {
                found = take(x, link);
                break;
            }
    is_aborted = x->is_aborted;
    eddy__mutex_unlock(&x->mu);
    if (!found)
        return;
    free_entry(x, found);
    kernel->services->complete(
        kernel, is_aborted
                    ? fail_aborted(x, kernel)
                    : eddy__kfail(kernel, EDDY_CANCELLED, EDDY_E_CANCELLED,
                                  "the run ended while the node waited for a "
                                  "message"));
}

/* ---- messages that are held back ---- */

static uint64_t draw(eddy__memory_exchange *x)
{
    /* The multiplier and increment are Knuth's, of MMIX. */
    x->seed =
        x->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return x->seed >> 33;
}

/*
 * A message on its way: to its receiver, and both join `done`, or to the table.
 */
static void arrive(eddy__memory_exchange *x, entry *message, entry **done)
{
    entry **link = find(x, &message->key);
    entry *receiver;

    if (!*link) {
        put(x, message);
        return;
    }
    receiver = take(x, link);
    receiver->value = message->value;
    message->value.kind = EDDY__NONE;
    message->next = *done;
    receiver->next = message;
    *done = receiver;
}

/* Lets one message of the bag go on, any of them. */
static void let_one_go(eddy__memory_exchange *x, entry **done)
{
    entry **link = &x->bag, *e;

    for (uint64_t n = draw(x) % x->n_bag; n > 0; n--)
        link = &(*link)->next;
    e = *link;
    *link = e->next;
    e->next = NULL;
    x->n_bag--;
    arrive(x, e, done);
}

static void let_go(eddy__memory_exchange *x, size_t n, entry **done)
{
    for (; n > 0 && x->n_bag > 0; n--)
        let_one_go(x, done);
}

/* ---- sending and receiving ---- */

static eddy__memory_exchange *exchange_of(eddy__exchange *exchange)
{
    return (eddy__memory_exchange *)(void *)exchange;
}

static bool is_there(eddy__memory_exchange *x, const eddy__message_key *key)
{
    entry **link = find(x, key);

    if (*link)
        return !(*link)->waiting;
    for (const entry *e = x->bag; e; e = e->next)
        if (is_same(&e->key, key))
            return true;
    return false;
}

static eddy_status send_locked(eddy__memory_exchange *x, entry *message,
                               eddy_kernel *k, entry **done)
{
    if (x->is_aborted)
        return fail_aborted(x, k);
    if (is_there(x, &message->key))
        return eddy__kfail(k, EDDY_INTERNAL, EDDY_E_MESSAGE,
                           "a second message '%.128s' in one iteration",
                           message->key.edge);
    x->n_sent++;
    if (!x->holds_back) {
        arrive(x, message, done);
        return EDDY_OK;
    }
    message->next = x->bag;
    x->bag = message;
    x->n_bag++;
    let_go(x, (size_t)(draw(x) % 3), done);
    return EDDY_OK;
}

static eddy_status send_message(eddy__exchange *exchange,
                                const eddy__message_key *key, eddy__value value,
                                eddy_kernel *k)
{
    eddy__memory_exchange *x = exchange_of(exchange);
    entry *message = eddy__allocate(x->allocator, 1, sizeof *message);
    entry *done = NULL;
    eddy_status status;

    if (!message) {
        eddy__value_clear(k->heap, &value);
        return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                           "no memory for a message");
    }
    *message = (entry){.key = *key, .value = value};
    eddy__mutex_lock_soon(&x->mu);
    status = send_locked(x, message, k, &done);
    eddy__mutex_unlock(&x->mu);
    complete(x, done);
    if (status != EDDY_OK)
        free_entry(x, message);
    return status;
}

/* Suspends the kernel until its message comes. */
static eddy_status wait_for(eddy__memory_exchange *x,
                            const eddy__message_key *key, eddy_kernel *k)
{
    entry *e = eddy__allocate(x->allocator, 1, sizeof *e);
    eddy_kernel *suspended = e ? k->services->suspend(k) : NULL;

    if (!suspended) {
        eddy__free(x->allocator, e, 1, sizeof *e);
        return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                           "no memory to wait for a message");
    }
    *e = (entry){.key = *key, .waiting = suspended};
    put(x, e);
    k->services->await(suspended, give_up, x);
    return EDDY_OK;
}

static eddy_status receive_locked(eddy__memory_exchange *x,
                                  const eddy__message_key *key, eddy_kernel *k,
                                  entry **out)
{
    entry **link;

    if (x->is_aborted)
        return fail_aborted(x, k);
    link = find(x, key);
    if (*link && !(*link)->waiting) {
        *out = take(x, link);
        return EDDY_OK;
    }
    if (*link)
        return eddy__kfail(k, EDDY_INTERNAL, EDDY_E_MESSAGE,
                           "a second receiver of '%.128s' in one iteration",
                           key->edge);
    return wait_for(x, key, k);
}

static eddy_status receive_message(eddy__exchange *exchange,
                                   const eddy__message_key *key, eddy_kernel *k)
{
    eddy__memory_exchange *x = exchange_of(exchange);
    entry *message = NULL;
    eddy_status status;

    eddy__mutex_lock_soon(&x->mu);
    status = receive_locked(x, key, k, &message);
    eddy__mutex_unlock(&x->mu);
    if (message) {
        status = deliver(k, &message->value);
        free_entry(x, message);
    }
    return status;
}

eddy_status eddy__memory_exchange_put(eddy__memory_exchange *x,
                                      const eddy__message_key *key,
                                      eddy__value value, eddy_error *err)
{
    entry *message = eddy__allocate(x->allocator, 1, sizeof *message);
    entry *done = NULL;
    bool is_second;

    if (!message) {
        eddy__value_clear(NULL, &value);
        return eddy__fail_memory(err);
    }
    *message = (entry){.key = *key, .value = value};
    eddy__mutex_lock(&x->mu);
    is_second = is_there(x, key);
    if (!is_second)
        arrive(x, message, &done);
    eddy__mutex_unlock(&x->mu);
    complete(x, done);
    if (!is_second)
        return EDDY_OK;
    free_entry(x, message);
    return eddy__fail(err, EDDY_INTERNAL, EDDY_E_MESSAGE,
                      "a second message '%.128s' in one iteration", key->edge);
}

bool eddy__memory_exchange_take(eddy__memory_exchange *x,
                                const eddy__message_key *key, eddy__value *out)
{
    entry *message = NULL, **link;

    eddy__mutex_lock(&x->mu);
    link = find(x, key);
    if (*link && !(*link)->waiting)
        message = take(x, link);
    eddy__mutex_unlock(&x->mu);
    if (!message)
        return false;
    *out = message->value;
    message->value.kind = EDDY__NONE;
    free_entry(x, message);
    return true;
}

static void let_all_go(eddy__exchange *exchange)
{
    eddy__memory_exchange *x = exchange_of(exchange);
    entry *done = NULL;

    if (!x->holds_back)
        return;
    eddy__mutex_lock(&x->mu);
    let_go(x, x->n_bag, &done);
    eddy__mutex_unlock(&x->mu);
    complete(x, done);
}

/* ---- its life ---- */

#define FIRST_BUCKETS 64

eddy_status eddy__memory_exchange_create(const eddy_allocator *allocator,
                                         uint64_t seed,
                                         eddy__memory_exchange **out_exchange,
                                         eddy_error *err)
{
    eddy__memory_exchange *x = eddy__allocate_zeroed(allocator, 1, sizeof *x);
    eddy_status status;

    *out_exchange = NULL;
    if (!x)
        return eddy__fail_memory(err);
    x->base = (eddy__exchange){
        .idle = let_all_go, .send = send_message, .receive = receive_message};
    x->allocator = allocator;
    x->seed = seed;
    x->holds_back = seed > 0;
    x->n_buckets = FIRST_BUCKETS;
    x->buckets = eddy__allocate_zeroed(allocator, x->n_buckets, sizeof(void *));
    status =
        x->buckets ? eddy__mutex_init(&x->mu, err) : eddy__fail_memory(err);
    if (status == EDDY_OK) {
        *out_exchange = x;
        return EDDY_OK;
    }
    eddy__free(allocator, x->buckets, x->n_buckets, sizeof(void *));
    eddy__free(allocator, x, 1, sizeof *x);
    return status;
}

static void free_list(const eddy__memory_exchange *x, entry *e)
{
    while (e) {
        entry *next = e->next;

        free_entry(x, e);
        e = next;
    }
}

void eddy__memory_exchange_destroy(eddy__memory_exchange *x)
{
    if (!x)
        return;
    for (size_t i = 0; i < x->n_buckets; i++)
        free_list(x, x->buckets[i]);
    free_list(x, x->bag);
    eddy__mutex_destroy(&x->mu);
    eddy__free(x->allocator, x->buckets, x->n_buckets, sizeof(void *));
    eddy__free(x->allocator, x, 1, sizeof *x);
}

eddy__exchange *eddy__memory_exchange_of(eddy__memory_exchange *exchange)
{
    return &exchange->base;
}

/* Takes all receivers out of the table. */
static entry *take_receivers(eddy__memory_exchange *x)
{
    entry *first = NULL;

    for (size_t i = 0; i < x->n_buckets; i++)
        for (entry **link = &x->buckets[i]; *link;) {
            entry *e;

            if (!(*link)->waiting) {
                link = &(*link)->next;
                continue;
            }
            e = take(x, link);
            e->next = first;
            first = e;
        }
    return first;
}

void eddy__memory_exchange_abort(eddy__memory_exchange *x, uint32_t rank)
{
    eddy_error error;

    (void)eddy__fail(&error, EDDY_ABORTED, EDDY_E_MESSAGE, "rank %u has failed",
                     (unsigned)rank);
    eddy__memory_exchange_fail(x, &error);
}

void eddy__memory_exchange_fail(eddy__memory_exchange *x,
                                const eddy_error *error)
{
    entry *e;

    eddy__mutex_lock(&x->mu);
    if (!x->is_aborted) {
        x->failure = *error;
        x->is_aborted = true;
    }
    e = take_receivers(x);
    eddy__mutex_unlock(&x->mu);
    while (e) {
        entry *next = e->next;
        eddy_kernel *kernel = e->waiting;

        free_entry(x, e);
        kernel->services->complete(kernel, fail_aborted(x, kernel));
        e = next;
    }
}

eddy_status eddy__memory_exchange_failure(eddy__memory_exchange *x,
                                          eddy_error *err)
{
    eddy_status status = EDDY_OK;

    eddy__mutex_lock(&x->mu);
    if (x->is_aborted) {
        status = x->failure.code;
        if (err)
            *err = x->failure;
    }
    eddy__mutex_unlock(&x->mu);
    return status;
}

size_t eddy__memory_exchange_left(const eddy__memory_exchange *x)
{
    return x->n_messages + x->n_bag;
}

uint64_t eddy__memory_exchange_sent(const eddy__memory_exchange *x)
{
    return x->n_sent;
}
