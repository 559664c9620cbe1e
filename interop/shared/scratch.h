/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for one message at a time: protobuf-c unpacks into it, what is made of
 * the message stands beside it, and all of it is dropped before the next one.
 *
 * It also keeps the budget of a load: its own blocks and what was charged for
 * good never come to more than `max` bytes together.
 */
#ifndef EDDY_INTEROP_SCRATCH_H
#define EDDY_INTEROP_SCRATCH_H

#include "core/base/memory.h"

#include <protobuf-c/protobuf-c.h>

/* Must not move: `protobuf` points back at it. */
typedef struct eddy__scratch {
    ProtobufCAllocator protobuf;
    const eddy_allocator *allocator;
    struct eddy__scratch_block *blocks; /* the one in use comes first */
    uint64_t held;                      /* bytes of the blocks */
    uint64_t charged;                   /* bytes of what stays */
    uint64_t max;
    bool is_over;  /* something was refused for `max` */
    bool is_short; /* something was refused for want of memory */
} eddy__scratch;

void eddy__scratch_init(eddy__scratch *scratch, const eddy_allocator *allocator,
                        uint64_t max);
void eddy__scratch_deinit(eddy__scratch *scratch);

/* NULL without memory or above the budget; aligned for any scalar type. */
void *eddy__scratch_allocate(eddy__scratch *scratch, size_t n, size_t size);

/* A NUL-terminated copy of `length` bytes. */
char *eddy__scratch_text(eddy__scratch *scratch, const char *text,
                         size_t length);

/* Forgets everything allocated so far. */
void eddy__scratch_reset(eddy__scratch *scratch);

/* Counts `bytes` that stay; false, and nothing counted, above the budget. */
bool eddy__scratch_charge(eddy__scratch *scratch, uint64_t bytes);

/* Was anything refused yet?  Then eddy__scratch_fail is the failure of it. */
static inline bool eddy__scratch_refused(const eddy__scratch *scratch)
{
    return scratch->is_over || scratch->is_short;
}

eddy_status eddy__scratch_fail(const eddy__scratch *scratch, eddy_error *err);

#endif
