/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open addressing with linear probing, at most three quarters full; entries are
 * never removed, so a probe ends at the first empty one.
 */
#include "core/base/map.h"

#include "core/base/entropy.h"
#include "core/base/siphash.h"

#include <stdatomic.h>
#include <string.h>

#define FIRST_CAPACITY 16

/*
 * Texts come from files of any origin, and who knows the hash of a text makes a
 * file of which all names fall onto one place.  So the hash has a key that each
 * process draws for itself.
 */
static uint64_t draw_key(void)
{
    static _Atomic(uint64_t) drawn; /* 0: not yet */
    uint64_t key = atomic_load_explicit(&drawn, memory_order_relaxed), none = 0;

    if (key != 0)
        return key;
    key = eddy__entropy() | 1;
    /* Of two threads that draw at once the first one's key is everybody's. */
    return atomic_compare_exchange_strong_explicit(
               &drawn, &none, key, memory_order_relaxed, memory_order_relaxed)
               ? key
               : none;
}

/* SipHash-1-3, its halves folded. */
uint32_t eddy__map_hash(const char *key, size_t length)
{
    const uint64_t drawn = draw_key();
    const uint64_t keys[] = {drawn, drawn * UINT64_C(0x9e3779b97f4a7c15)};
    const uint64_t hash =
        eddy__siphash(keys, (const unsigned char *)key, length, 1, 3);

    return (uint32_t)(hash ^ hash >> 32);
}

/* The texts may hold NULs in `key`, never in an entry. */
static bool is_key(const eddy__map_entry *entry, uint32_t hash, const char *key,
                   size_t length)
{
    return entry->hash == hash && strlen(entry->key) == length &&
           (length == 0 || memcmp(entry->key, key, length) == 0);
}

/* The entry of `key`, or the empty one where it would go. */
static eddy__map_entry *seek(eddy__map_entry *entries, size_t capacity,
                             uint32_t hash, const char *key, size_t length)
{
    size_t i = hash & (capacity - 1);

    while (entries[i].key && !is_key(&entries[i], hash, key, length))
        i = (i + 1) & (capacity - 1);
    return &entries[i];
}

uint32_t eddy__map_find(const eddy__map *map, const char *key, size_t length)
{
    const eddy__map_entry *entry;

    if (map->size == 0)
        return EDDY__NOT_FOUND;
    entry = seek(map->entries, map->capacity, eddy__map_hash(key, length), key,
                 length);
    return entry->key ? entry->value : EDDY__NOT_FOUND;
}

static bool rehash(eddy__map *map, size_t capacity)
{
    eddy__map_entry *entries =
        eddy__allocate_zeroed(map->allocator, capacity, sizeof *entries);

    if (!entries)
        return false;
    for (size_t i = 0; i < map->capacity; i++) {
        const eddy__map_entry *old = &map->entries[i];
        size_t j = old->hash & (capacity - 1);

        if (!old->key)
            continue;
        while (entries[j].key)
            j = (j + 1) & (capacity - 1);
        entries[j] = *old;
    }
    eddy__free(map->allocator, map->entries, map->capacity,
               sizeof *map->entries);
    map->entries = entries;
    map->capacity = capacity;
    return true;
}

/* Room for one more; hashes have 32 bits, so more entries would not spread. */
static bool reserve_one(eddy__map *map)
{
    if (map->capacity == 0)
        return rehash(map, FIRST_CAPACITY);
    if (map->size < map->capacity / 4 * 3)
        return true;
    return map->capacity <= UINT32_MAX / 2 && rehash(map, map->capacity * 2);
}

bool eddy__map_set(eddy__map *map, const char *key, uint32_t value)
{
    const size_t length = strlen(key);
    const uint32_t hash = eddy__map_hash(key, length);
    eddy__map_entry *entry;

    if (map->size > 0) {
        entry = seek(map->entries, map->capacity, hash, key, length);
        if (entry->key) {
            entry->value = value;
            return true;
        }
    }
    if (!reserve_one(map))
        return false;
    entry = seek(map->entries, map->capacity, hash, key, length);
    *entry = (eddy__map_entry){.key = key, .hash = hash, .value = value};
    map->size++;
    return true;
}

void eddy__map_clear(eddy__map *map)
{
    if (map->size > 0)
        memset(map->entries, 0, map->capacity * sizeof *map->entries);
    map->size = 0;
}

void eddy__map_deinit(eddy__map *map)
{
    eddy__free(map->allocator, map->entries, map->capacity,
               sizeof *map->entries);
    map->entries = NULL;
    map->capacity = 0;
    map->size = 0;
}
