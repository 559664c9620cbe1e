/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table from texts to numbers.  It does not own its keys: they must
 * outlive it and not change.
 */
#ifndef EDDY_BASE_MAP_H
#define EDDY_BASE_MAP_H

#include "core/base/memory.h"

#define EDDY__NOT_FOUND UINT32_MAX

typedef struct eddy__map_entry {
    const char *key; /* NULL: empty */
    uint32_t hash;
    uint32_t value;
} eddy__map_entry;

/* Zero it, set `allocator`. */
typedef struct eddy__map {
    const eddy_allocator *allocator;
    eddy__map_entry *entries;
    size_t capacity; /* a power of two, or 0 */
    size_t size;
} eddy__map;

/* The hash that the table uses; for tables that are made otherwise. */
uint32_t eddy__map_hash(const char *key, size_t length);

/* EDDY__NOT_FOUND if the key is not there. */
uint32_t eddy__map_find(const eddy__map *map, const char *key, size_t length);

/* Adds or replaces; false without memory. */
bool eddy__map_set(eddy__map *map, const char *key, uint32_t value);

/* Takes everything out; as many keys as there were go in without failing. */
void eddy__map_clear(eddy__map *map);
void eddy__map_deinit(eddy__map *map);

#endif
