/* SPDX-License-Identifier: Apache-2.0 */
/* A set of pairs of numbers below UINT32_MAX, as the ends of edges are. */
#ifndef EDDY_CORE_PAIRS_H
#define EDDY_CORE_PAIRS_H

#include "core/base/memory.h"

/* Zero it, set `allocator`. */
typedef struct eddy__pairs {
    const eddy_allocator *allocator;
    uint64_t *slots; /* 0: empty */
    size_t capacity; /* a power of two, or 0 */
    size_t size;
} eddy__pairs;

bool eddy__pairs_has(const eddy__pairs *pairs, uint32_t a, uint32_t b);

/* Adds the pair unless it is there; false without memory. */
bool eddy__pairs_add(eddy__pairs *pairs, uint32_t a, uint32_t b);
void eddy__pairs_deinit(eddy__pairs *pairs);

#endif
