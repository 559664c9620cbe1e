/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of values: TensorLists, sequences and optional values.
 *
 * A list has value semantics: once somebody else holds a reference, nobody
 * changes it.  Who wants to change one asks eddy__list_own for one of their
 * own, which is the same list as long as nobody else refers to it; so a loop
 * that writes or appends N items costs O(N).  An item is a value that borrows
 * nothing, or unset (EDDY__NONE); it may be a list.
 */
#ifndef EDDY_CORE_LIST_H
#define EDDY_CORE_LIST_H

#include "core/value/value.h"

/*
 * The dtypes of lists that are no TensorLists: an optional value, whose items
 * are its components (ops/list/optional.c); a map, whose items are a key, its
 * value, the next key and so on (ops/list/tensor_map.c); the lock of a mutex
 * (ops/state/mutex.c); a ragged tensor, whose items are its row splits, the
 * outermost first, and its values (ops/list/ragged_variant.c).
 */
#define EDDY__OPTIONAL EDDY_INVALID
#define EDDY__MAP ((eddy_dtype)0xf0)
#define EDDY__LOCK ((eddy_dtype)0xf1)
#define EDDY__RAGGED ((eddy_dtype)0xf2)

/* The items stand behind the header in the same block. */
struct eddy__list {
    atomic_uint refs; /* add relaxed, subtract acquire-release */
    uint8_t dtype;    /* eddy_dtype of the items, or one of the above */
    bool from_heap;   /* else its block may not go to a heap's free lists */
    eddy_shape shape; /* of every item, as far as that is said */
    int64_t count;
    int64_t max_count; /* INT64_MAX: any; kept by who appends */
    eddy__list *next;  /* while it waits to be freed */
    const eddy_allocator *allocator;
    eddy__account *account; /* NULL: not charged to a run */
    size_t block_size;      /* of header and items, used or not */
    eddy__value items[];
};

_Static_assert(offsetof(eddy__list, refs) == 0, "as.refs is a list's count");

/*
 * A new list of `count` unset items, from a heap, from an account, or, with
 * both NULL, from `allocator`.  Requires: `count` >= 0.  NULL without memory or
 * when the size overflows.
 */
eddy__list *eddy__list_create(eddy__heap *heap, eddy__account *account,
                              const eddy_allocator *allocator, eddy_dtype dtype,
                              const eddy_shape *shape, int64_t count);

/*
 * A second list of the same items, with room for `room` >= 0 more.  NULL
 * without memory or when the size overflows.
 */
eddy__list *eddy__list_copy(eddy__heap *heap, eddy__account *account,
                            const eddy__list *list, int64_t room);

/*
 * Turns `*list`, a reference of the caller's, into one that may be changed and
 * has room for `room` >= 0 more items: itself, maybe moved, when it is the only
 * reference, else a copy.  Appending n items one by one copies O(n) in all.
 * False leaves `*list` as it was.
 */
bool eddy__list_own(eddy__heap *heap, eddy__account *account, eddy__list **list,
                    int64_t room);

/* Is this the only reference, so that the list may be changed? */
static inline bool eddy__list_is_exclusive(const eddy__list *list)
{
    return atomic_load_explicit(&list->refs, memory_order_acquire) == 1;
}

/* Item `i` in [0, count), borrowed from the list. */
static inline const eddy__value *eddy__list_get(const eddy__list *list,
                                                int64_t i)
{
    return &list->items[i];
}

/*
 * What follows changes a list, which must be the caller's own (eddy__list_own),
 * and can't fail.  Items that are put in are taken over.
 */

void eddy__list_set(eddy__heap *heap, eddy__list *list, int64_t i,
                    eddy__value item);

/* Appends; requires room. */
void eddy__list_push(eddy__list *list, eddy__value item);

/* Removes the last item and gives it to the caller; requires one. */
eddy__value eddy__list_pop(eddy__list *list);

/* Drops items from `count` on or appends unset ones; requires room for them. */
void eddy__list_resize(eddy__heap *heap, eddy__list *list, int64_t count);

#endif
