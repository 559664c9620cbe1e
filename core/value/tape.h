/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What executors may touch of a stack and of a TensorArray without calling a
 * kernel: scalars of one dtype, stored bare, of 1, 2, 4 or 8 bytes each.
 *
 * Both are resources of a run, whose kernels (ops/list) own all the rest and
 * keep what stands here true: whatever is not so plain that it may be done with
 * these members alone is marked by bounds that leave no room, and then the
 * kernel does it, or says what is wrong.  So does one that is closed, or holds
 * anything but bare scalars, or none yet.  @thread the driver
 */
#ifndef EDDY_CORE_TAPE_H
#define EDDY_CORE_TAPE_H

#include "core/value/dtype.h"
#include "core/value/resource.h"

#include <string.h>

/*
 * A stack's top segment.  To push: if `next` is not `end`, store the item at
 * `next` and move that up by the size of an item.  To pop: if `next` is not
 * `first`, move it down and load what it points at.  Segments do not move while
 * they hold anything.
 */
typedef struct eddy__tape {
    eddy__resource base;
    unsigned char *next;  /* where the next item is put */
    unsigned char *first; /* the first item of the segment */
    unsigned char *end;   /* of the room in it, or of what may be pushed */
} eddy__tape;

/* What has happened to an item of a TensorArray: bits of its state. */
#define EDDY__ITEM_WRITTEN 1u
#define EDDY__ITEM_READ 2u
#define EDDY__ITEM_CLEARED 4u
#define EDDY__ITEM_FILLED 8u /* it has a value; else, once written, it is 0 */

/*
 * A TensorArray's items.  An index, taken as unsigned, that is below `n` may be
 * looked at.  To write: if the state has neither FILLED nor READ, store the
 * item and add WRITTEN and FILLED.  To read: if of FILLED and CLEARED it has
 * the first alone, load the item and add `after_read`.
 */
typedef struct eddy__cells {
    eddy__resource base;
    unsigned char *items;
    uint8_t *states;
    uint32_t n;
    uint8_t after_read;
} eddy__cells;

/* The bytes of a dtype, if values of the dtype may be stored bare, else 0. */
static inline size_t eddy__tape_bare_size(eddy_dtype dtype)
{
    const size_t size = eddy_dtype_size(dtype);

    return size == 1 || size == 2 || size == 4 || size == 8 ? size : 0;
}

static inline void eddy__tape_bare_store(unsigned char *to, size_t size,
                                         const eddy__value *value)
{
    switch (size) {
    case 1:
        *to = value->as.u8;
        break;
    case 2:
        memcpy(to, &value->as, 2);
        break;
    case 4:
        memcpy(to, &value->as, 4);
        break;
    default:
        memcpy(to, &value->as, 8);
        break;
    }
}

static inline uint64_t eddy__tape_bare_load(const unsigned char *from,
                                            size_t size)
{
    uint32_t four;
    uint64_t eight;
    uint16_t two;

    switch (size) {
    case 1:
        return *from;
    case 2:
        memcpy(&two, from, 2);
        return two;
    case 4:
        memcpy(&four, from, 4);
        return four;
    default:
        memcpy(&eight, from, 8);
        return eight;
    }
}

#endif
