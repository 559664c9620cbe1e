/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The elements of a queue, in an order that its kind says.
 *
 * Requires: whoever calls has the queue locked.
 */
#ifndef EDDY_OPS_QUEUE_STORE_H
#define EDDY_OPS_QUEUE_STORE_H

#include "ops/random/philox.h"
#include "ops/state/queue_made.h"

extern const eddy__resource_type eddy__queue_type;

typedef struct eddy__queue_store {
    const eddy_allocator *allocator;
    const eddy__queue_made *made;
    eddy__value *items; /* a ring of `room` elements, and one to move with */
    size_t items_capacity;
    int64_t room, first, count;
    eddy__philox_words words; /* of a random queue */
} eddy__queue_store;

/* Zero it before.  `made` outlives the store. */
void eddy__queue_store_init(eddy__queue_store *store,
                            const eddy_allocator *allocator,
                            const eddy__queue_made *made);

/* Drops all elements and the memory; may be called more than once. */
void eddy__queue_store_clear(eddy__queue_store *store, eddy__heap *heap);

/*
 * Where the components of one more element go; NULL without memory.  They are
 * in the store once they are added.
 */
eddy__value *eddy__queue_store_reserve(eddy__queue_store *store);
void eddy__queue_store_add(eddy__queue_store *store);

/* The components of element `i`, which is below the count, as they stand. */
const eddy__value *eddy__queue_store_element(const eddy__queue_store *store,
                                             int64_t i);

/* Moves the next element to `to`.  Requires: there is one. */
void eddy__queue_store_take(eddy__queue_store *store, eddy__value *to);

/* Moves one that was taken back to where it was; false without memory. */
bool eddy__queue_store_give_back(eddy__queue_store *store,
                                 const eddy__value *from);

/* How many can be taken. */
int64_t eddy__queue_store_available(const eddy__queue_store *store,
                                    bool is_closed);

#endif
