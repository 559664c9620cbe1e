/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call is the address that it returns to.  The addresses that were seen have
 * a number each, in a table that is searched from the address's hash on, and an
 * allocation is a row of such numbers.
 */
#include "tests/campaign/places.h"

#include <execinfo.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define MOST_CALLS 64
/* More calls than the library has; a power of two. */
#define TABLE_SIZE (1u << 18)

struct places {
    pthread_mutex_t lock;
    /* By slot. */
    void **addresses;
    unsigned *failed;
    size_t n_addresses;
    /* The calls of allocation i are those from starts[i] to starts[i + 1]. */
    uint32_t *calls;
    size_t *starts;
    size_t n, n_starts, n_calls;
};

/* `items` with room for `n` and one more. */
static void *grow(void *items, size_t n, size_t *capacity, size_t size)
{
    if (n < *capacity)
        return items;
    *capacity = n + n / 2 + 1024;
    items = realloc(items, *capacity * size);
    if (items == NULL)
        abort();
    return items;
}

places *places_create(void)
{
    places *p = calloc(1, sizeof *p);

    if (p == NULL)
        abort();
    p->addresses = calloc(TABLE_SIZE, sizeof *p->addresses);
    p->failed = calloc(TABLE_SIZE, sizeof *p->failed);
    if (p->addresses == NULL || p->failed == NULL ||
        pthread_mutex_init(&p->lock, NULL) != 0)
        abort();
    return p;
}

void places_destroy(places *p)
{
    if (p == NULL)
        return;
    pthread_mutex_destroy(&p->lock);
    free(p->addresses);
    free(p->failed);
    free(p->calls);
    free(p->starts);
    free(p);
}

void places_begin(places *p)
{
    p->n = 0;
}

static uint32_t slot_of(places *p, void *address)
{
    uint32_t slot =
        (uint32_t)((uint64_t)(uintptr_t)address * 0x9e3779b97f4a7c15u >> 40) %
        TABLE_SIZE;

    while (p->addresses[slot] != NULL && p->addresses[slot] != address)
        slot = (slot + 1) % TABLE_SIZE;
    if (p->addresses[slot] == NULL) {
        if (++p->n_addresses == TABLE_SIZE)
            abort();
        p->addresses[slot] = address;
    }
    return slot;
}

void places_note(places *p)
{
    void *found[MOST_CALLS];
    const int n = backtrace(found, MOST_CALLS);
    size_t end;

    pthread_mutex_lock(&p->lock);
    end = p->n > 0 ? p->starts[p->n] : 0;
    p->starts = grow(p->starts, p->n + 1, &p->n_starts, sizeof *p->starts);
    p->starts[p->n] = end;
    for (int i = 0; i < n; i++) {
        p->calls = grow(p->calls, end, &p->n_calls, sizeof *p->calls);
        p->calls[end++] = slot_of(p, found[i]);
    }
    p->starts[++p->n] = end;
    pthread_mutex_unlock(&p->lock);
}

size_t places_count(const places *p)
{
    return p->n;
}

bool places_choose(places *p, size_t k, unsigned times)
{
    bool is_chosen = false;

    for (size_t i = p->starts[k]; i < p->starts[k + 1]; i++)
        is_chosen = is_chosen || p->failed[p->calls[i]] < times;
    for (size_t i = p->starts[k]; is_chosen && i < p->starts[k + 1]; i++)
        p->failed[p->calls[i]]++;
    return is_chosen;
}
