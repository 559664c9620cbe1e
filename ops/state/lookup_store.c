/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table of items: pairs stand in a row, and slots, which are probed one
 * after the other, say their numbers.  At most half of the slots are taken.
 */
#include "ops/state/lookup_store.h"
#include "core/base/map.h"
#include "core/base/memory.h"

#include <string.h>

void eddy__lookup_store_clear(eddy__lookup_store *store, eddy__heap *heap)
{
    for (size_t i = 0; i < store->count; i++) {
        eddy__value_clear(heap, &store->pairs[i].key);
        eddy__value_clear(heap, &store->pairs[i].value);
    }
    eddy__free(store->allocator, store->pairs, store->capacity,
               sizeof *store->pairs);
    eddy__free(store->allocator, store->slots, store->n_slots,
               sizeof *store->slots);
    *store = (eddy__lookup_store){.allocator = store->allocator};
}

eddy__lookup_key eddy__lookup_key_of(eddy_dtype dtype, int64_t count,
                                     const unsigned char *elements)
{
    eddy__lookup_key key = {
        .dtype = dtype, .count = count, .elements = elements};

    if (dtype == EDDY_STRING) {
        const eddy__string *strings = (const void *)elements;

        for (int64_t i = 0; i < count; i++)
            key.hash = key.hash * 31 +
                       eddy__map_hash(strings[i].data ? strings[i].data : "",
                                      strings[i].length);
    } else {
        key.hash = eddy__map_hash((const char *)elements,
                                  (size_t)count * eddy_dtype_size(dtype));
    }
    return key;
}

bool eddy__lookup_key_equal(const eddy__lookup_key *key,
                            const eddy__value *item)
{
    const unsigned char *elements = eddy__value_elements(item);
    const eddy__string *a = (const void *)key->elements;
    const eddy__string *b = (const void *)elements;

    if (key->dtype != EDDY_STRING)
        return memcmp(key->elements, elements,
                      (size_t)key->count * eddy_dtype_size(key->dtype)) == 0;
    for (int64_t i = 0; i < key->count; i++)
        if (a[i].length != b[i].length ||
            (a[i].length > 0 && memcmp(a[i].data, b[i].data, a[i].length) != 0))
            return false;
    return true;
}

eddy__lookup_pair *eddy__lookup_store_find(const eddy__lookup_store *store,
                                           const eddy__lookup_key *key)
{
    if (store->count == 0)
        return NULL;
    for (size_t s = key->hash & (store->n_slots - 1); store->slots[s] != 0;
         s = (s + 1) & (store->n_slots - 1)) {
        eddy__lookup_pair *pair = &store->pairs[store->slots[s] - 1];

        if (pair->hash == key->hash && eddy__lookup_key_equal(key, &pair->key))
            return pair;
    }
    return NULL;
}

/* The slot that says `number`, or the free one where it would be. */
static size_t slot_of(const eddy__lookup_store *store, uint32_t hash,
                      uint32_t number)
{
    size_t s = hash & (store->n_slots - 1);

    while (store->slots[s] != 0 && store->slots[s] != number)
        s = (s + 1) & (store->n_slots - 1);
    return s;
}

static bool grow_slots(eddy__lookup_store *store)
{
    const size_t n = store->n_slots > 0 ? 2 * store->n_slots : 16;
    uint32_t *slots;

    if (2 * (store->count + 1) <= store->n_slots)
        return true;
    if (store->count >= UINT32_MAX / 4)
        return false;
    slots = eddy__allocate(store->allocator, n, sizeof *slots);
    if (!slots)
        return false;
    memset(slots, 0, n * sizeof *slots);
    eddy__free(store->allocator, store->slots, store->n_slots, sizeof *slots);
    store->slots = slots;
    store->n_slots = n;
    for (size_t i = 0; i < store->count; i++)
        slots[slot_of(store, store->pairs[i].hash, 0)] = (uint32_t)i + 1;
    return true;
}

bool eddy__lookup_store_add(eddy__lookup_store *store, uint32_t hash,
                            const eddy__value *key, const eddy__value *value)
{
    void *pairs = store->pairs;
    const bool ok = eddy__grow(store->allocator, &pairs, &store->capacity,
                               store->count + 1, sizeof *store->pairs);

    store->pairs = pairs;
    if (!ok || !grow_slots(store))
        return false;
    store->pairs[store->count++] =
        (eddy__lookup_pair){.hash = hash, .key = *key, .value = *value};
    store->slots[slot_of(store, hash, 0)] = (uint32_t)store->count;
    return true;
}

/* Frees a slot; those behind it that would not be found any more move up. */
static void free_slot(eddy__lookup_store *store, size_t free)
{
    const size_t mask = store->n_slots - 1;

    for (size_t s = (free + 1) & mask; store->slots[s] != 0;
         s = (s + 1) & mask) {
        const size_t home = store->pairs[store->slots[s] - 1].hash & mask;

        if (((s - home) & mask) < ((s - free) & mask))
            continue;
        store->slots[free] = store->slots[s];
        free = s;
    }
    store->slots[free] = 0;
}

void eddy__lookup_store_remove(eddy__lookup_store *store,
                               eddy__lookup_pair *pair)
{
    const uint32_t number = (uint32_t)(pair - store->pairs) + 1;
    const uint32_t last = (uint32_t)store->count;

    eddy__value_clear(NULL, &pair->key);
    eddy__value_clear(NULL, &pair->value);
    free_slot(store, slot_of(store, pair->hash, number));
    if (number != last) {
        const uint32_t hash = store->pairs[last - 1].hash;

        store->slots[slot_of(store, hash, last)] = number;
        *pair = store->pairs[last - 1];
    }
    store->count--;
}
