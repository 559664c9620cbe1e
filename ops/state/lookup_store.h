/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs of a key and a value, found by the key.  Both are items: scalars, or
 * tensors of one shape.
 *
 * Requires: whoever calls has the table locked.
 */
#ifndef EDDY_OPS_LOOKUP_STORE_H
#define EDDY_OPS_LOOKUP_STORE_H

#include "ops/math/elements.h"

extern const eddy__resource_type eddy__lookup_type;

/* Elements that are looked for, where they stand in a tensor. */
typedef struct eddy__lookup_key {
    eddy_dtype dtype;
    int64_t count;
    const unsigned char *elements;
    uint32_t hash;
} eddy__lookup_key;

typedef struct eddy__lookup_pair {
    uint32_t hash;
    eddy__value key, value;
} eddy__lookup_pair;

/* Zero it, set `allocator`. */
typedef struct eddy__lookup_store {
    const eddy_allocator *allocator;
    eddy__lookup_pair *pairs;
    size_t capacity, count;
    uint32_t *slots; /* number of a pair and 1; 0: free */
    size_t n_slots;  /* a power of two, or 0 */
} eddy__lookup_store;

void eddy__lookup_store_clear(eddy__lookup_store *store, eddy__heap *heap);

/* With its hash, of `count` elements. */
eddy__lookup_key eddy__lookup_key_of(eddy_dtype dtype, int64_t count,
                                     const unsigned char *elements);

/* Are they the same elements? */
bool eddy__lookup_key_equal(const eddy__lookup_key *key,
                            const eddy__value *item);

/* NULL if it is not there. */
eddy__lookup_pair *eddy__lookup_store_find(const eddy__lookup_store *store,
                                           const eddy__lookup_key *key);

/*
 * Adds a pair whose key is not there, and takes both items over; false without
 * memory.
 */
bool eddy__lookup_store_add(eddy__lookup_store *store, uint32_t hash,
                            const eddy__value *key, const eddy__value *value);

/* Takes a pair out; the last takes its place. */
void eddy__lookup_store_remove(eddy__lookup_store *store,
                               eddy__lookup_pair *pair);

#endif
