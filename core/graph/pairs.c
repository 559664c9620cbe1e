/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing with linear probing, at most half full. */
#include "core/graph/pairs.h"

#define FIRST_CAPACITY 64

/* Never 0, since `b` is below UINT32_MAX. */
static uint64_t key_of(uint32_t a, uint32_t b)
{
    return (uint64_t)a << 32 | (uint64_t)(b + 1);
}

/* Where the key is, or the empty slot where it would go. */
static uint64_t *seek(const eddy__pairs *pairs, uint64_t key)
{
    uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15);
    size_t i = (size_t)(hash >> 32) & (pairs->capacity - 1);

    while (pairs->slots[i] != 0 && pairs->slots[i] != key)
        i = (i + 1) & (pairs->capacity - 1);
    return &pairs->slots[i];
}

static bool grow(eddy__pairs *pairs)
{
    eddy__pairs grown = *pairs;

    grown.capacity = pairs->capacity ? 2 * pairs->capacity : FIRST_CAPACITY;
    grown.slots = eddy__allocate_zeroed(pairs->allocator, grown.capacity,
                                        sizeof *grown.slots);
    if (!grown.slots)
        return false;
    for (size_t i = 0; i < pairs->capacity; i++)
        if (pairs->slots[i] != 0)
            *seek(&grown, pairs->slots[i]) = pairs->slots[i];
    eddy__pairs_deinit(pairs);
    *pairs = grown;
    return true;
}

bool eddy__pairs_has(const eddy__pairs *pairs, uint32_t a, uint32_t b)
{
    return pairs->size > 0 && *seek(pairs, key_of(a, b)) != 0;
}

bool eddy__pairs_add(eddy__pairs *pairs, uint32_t a, uint32_t b)
{
    uint64_t *slot;

    if (eddy__pairs_has(pairs, a, b))
        return true;
    if (pairs->size >= pairs->capacity / 2 && !grow(pairs))
        return false;
    slot = seek(pairs, key_of(a, b));
    *slot = key_of(a, b);
    pairs->size++;
    return true;
}

void eddy__pairs_deinit(eddy__pairs *pairs)
{
    eddy__free(pairs->allocator, pairs->slots, pairs->capacity,
               sizeof *pairs->slots);
    pairs->slots = NULL;
    pairs->capacity = pairs->size = 0;
}
