/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a run: blocks from the context's allocator, kept in free lists
 * by size so that a steady loop allocates nothing, and the next execution of
 * the same run little.  Of large blocks no more bytes are kept than were in use
 * at once, so that a heap holds at most twice what it needs.
 *
 * A heap belongs to whoever drives the run and is not locked.  What it holds is
 * counted in an account, which is atomic because a tensor may be released by
 * any thread, and which outlives the run while a tensor of it does.
 */
#ifndef EDDY_CORE_HEAP_H
#define EDDY_CORE_HEAP_H

#include "eddy/context.h"

#include <stdatomic.h>

/*
 * Bytes held of the allocator by a run and its tensors.  `held` starts with a
 * bias for the run itself; whoever brings it to zero frees the account.
 */
typedef struct eddy__account {
    const eddy_allocator *allocator;
    atomic_int_fast64_t held;         /* adds and subtracts: relaxed, but the
                                         last subtraction is acquire-release */
    atomic_int_fast64_t peak;         /* relaxed; raised after an add */
    atomic_uint_fast64_t allocations; /* relaxed */
    int64_t limit;                    /* 0: none; immutable during a run */
} eddy__account;

/* The bias of `held` while its run lives. */
#define EDDY__ACCOUNT_BIAS 1

#define EDDY__HEAP_CLASSES 48

/* Blocks of one size class, linked through their first word. */
typedef struct eddy__block {
    struct eddy__block *next;
} eddy__block;

/* At most so many blocks above the size classes are kept. */
#define EDDY__HEAP_LARGE 32

typedef struct eddy__large_block {
    void *memory;
    size_t size;
} eddy__large_block;

typedef struct eddy__heap {
    const eddy_allocator *allocator;
    eddy__account *account;
    eddy__block *free[EDDY__HEAP_CLASSES];
    eddy__large_block large[EDDY__HEAP_LARGE]; /* those kept longest first */
    unsigned n_large;
    size_t cached;       /* bytes in the free lists and in `large` */
    size_t cached_large; /* in `large` alone */
    size_t most_used;    /* bytes that were held and not cached at once */
    bool limit_hit; /* the last allocation that failed did so for the limit */
} eddy__heap;

bool eddy__heap_init(eddy__heap *heap, const eddy_allocator *allocator);
void eddy__heap_deinit(eddy__heap *heap);

/* Gives the cached blocks back to the allocator. */
void eddy__heap_trim(eddy__heap *heap);

/*
 * At least `size` bytes, aligned to a cache line; NULL without memory or above
 * the limit.  `*out_size` is what must be given back.
 */
void *eddy__heap_allocate(eddy__heap *heap, size_t size, size_t *out_size);

/* Keeps the block for later. */
void eddy__heap_recycle(eddy__heap *heap, void *memory, size_t size);

/*
 * The same without a free list, for any thread: straight from the allocator,
 * charged to the account, NULL if that would go above its limit.
 */
void *eddy__account_allocate(eddy__account *account, size_t size);
void eddy__account_free(eddy__account *account, void *memory, size_t size);

/* Counts anew: no allocations, and a peak of what is held now. */
void eddy__account_restart(eddy__account *account);

#endif
