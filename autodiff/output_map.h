/* SPDX-License-Identifier: Apache-2.0 */
/* A table from an output and a number to an output. */
#ifndef EDDY_AUTODIFF_OUTPUT_MAP_H
#define EDDY_AUTODIFF_OUTPUT_MAP_H

#include "core/base/memory.h"
#include "eddy/graph.h"

typedef struct eddy__output_entry {
    eddy_output key, value; /* key.node EDDY_NO_NODE: empty */
    uint64_t tag;
} eddy__output_entry;

/* Zero it, set `allocator`. */
typedef struct eddy__output_map {
    const eddy_allocator *allocator;
    eddy__output_entry *entries;
    size_t capacity; /* a power of two, or 0 */
    size_t size;
} eddy__output_map;

/* Node EDDY_NO_NODE if it is not there. */
eddy_output eddy__output_map_find(const eddy__output_map *map, eddy_output key,
                                  uint64_t tag);

/* Adds what is not there yet; false without memory. */
bool eddy__output_map_add(eddy__output_map *map, eddy_output key, uint64_t tag,
                          eddy_output value);
void eddy__output_map_deinit(eddy__output_map *map);

#endif
