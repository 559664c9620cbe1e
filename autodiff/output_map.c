/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table behind eddy__output_map: open addressing, at most half full, and
 * nothing is ever taken out.
 */
#include "autodiff/output_map.h"

static size_t place_of(const eddy__output_map *map, eddy_output key,
                       uint64_t tag)
{
    uint64_t hash = ((uint64_t)key.node << 20) + key.index;

    hash = (hash ^ (tag * 0x9e3779b97f4a7c15u)) * 0xff51afd7ed558ccdu;
    return (size_t)(hash >> 32) & (map->capacity - 1);
}

static bool is_at(const eddy__output_entry *entry, eddy_output key,
                  uint64_t tag)
{
    return entry->key.node == key.node && entry->key.index == key.index &&
           entry->tag == tag;
}

eddy_output eddy__output_map_find(const eddy__output_map *map, eddy_output key,
                                  uint64_t tag)
{
    if (map->size > 0)
        for (size_t i = place_of(map, key, tag);
             map->entries[i].key.node != EDDY_NO_NODE;
             i = (i + 1) & (map->capacity - 1))
            if (is_at(&map->entries[i], key, tag))
                return map->entries[i].value;
    return (eddy_output){.node = EDDY_NO_NODE};
}

static void put(eddy__output_map *map, const eddy__output_entry *entry)
{
    size_t i = place_of(map, entry->key, entry->tag);

    while (map->entries[i].key.node != EDDY_NO_NODE)
        i = (i + 1) & (map->capacity - 1);
    map->entries[i] = *entry;
    map->size++;
}

static bool grow(eddy__output_map *map)
{
    const size_t capacity = map->capacity ? 2 * map->capacity : 64;
    eddy__output_map larger = {.allocator = map->allocator,
                               .capacity = capacity};

    larger.entries =
        eddy__allocate(map->allocator, capacity, sizeof *larger.entries);
    if (!larger.entries)
        return false;
    for (size_t i = 0; i < capacity; i++)
        larger.entries[i].key.node = EDDY_NO_NODE;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->entries[i].key.node != EDDY_NO_NODE)
            put(&larger, &map->entries[i]);
    eddy__output_map_deinit(map);
    *map = larger;
    return true;
}

bool eddy__output_map_add(eddy__output_map *map, eddy_output key, uint64_t tag,
                          eddy_output value)
{
    const eddy__output_entry entry = {.key = key, .value = value, .tag = tag};

    if (map->size >= map->capacity / 2 && !grow(map))
        return false;
    put(map, &entry);
    return true;
}

void eddy__output_map_deinit(eddy__output_map *map)
{
    eddy__free(map->allocator, map->entries, map->capacity,
               sizeof *map->entries);
    map->entries = NULL;
    map->capacity = map->size = 0;
}
