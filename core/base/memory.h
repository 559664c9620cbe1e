/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory: checked sizes, allocation through an eddy_allocator, growing arrays,
 * and arenas for what is freed all at once.
 */
#ifndef EDDY_BASE_MEMORY_H
#define EDDY_BASE_MEMORY_H

#include "eddy/context.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EDDY__CACHE_LINE 64

/* False if the result does not fit. */
static inline bool eddy__mul_size(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

static inline bool eddy__add_size(size_t a, size_t b, size_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

/* The C library's allocator; what a context uses when it is given none. */
const eddy_allocator *eddy__default_allocator(void);

/* NULL if `n` * `size` overflows or memory is short; never NULL for 0 bytes. */
void *eddy__allocate(const eddy_allocator *allocator, size_t n, size_t size);
void *eddy__allocate_zeroed(const eddy_allocator *allocator, size_t n,
                            size_t size);
void *eddy__allocate_aligned(const eddy_allocator *allocator, size_t size,
                             size_t alignment);

/* Accepts NULL; `n` and `size` as when it was allocated. */
void eddy__free(const eddy_allocator *allocator, void *memory, size_t n,
                size_t size);

/*
 * Makes room for `needed` elements of `size` bytes in `*array`, which holds
 * `*capacity`; grows by doubling.  False leaves both as they were.
 * Use: eddy__grow(a, (void **)&items, &capacity, n + 1, sizeof *items).
 */
bool eddy__grow(const eddy_allocator *allocator, void **array, size_t *capacity,
                size_t needed, size_t size);

/*
 * An arena hands out memory that lives until the arena is destroyed.  Zero it,
 * set `allocator`.  Memory is aligned for any scalar type.
 */
typedef struct eddy__arena {
    const eddy_allocator *allocator;
    struct eddy__arena_chunk *chunks;
    size_t bytes; /* held in chunks, for limits and statistics */
} eddy__arena;

void *eddy__arena_allocate(eddy__arena *arena, size_t n, size_t size);
void *eddy__arena_allocate_zeroed(eddy__arena *arena, size_t n, size_t size);

/* NULL without memory; a copy of `n` elements (never NULL for n = 0). */
void *eddy__arena_copy(eddy__arena *arena, const void *from, size_t n,
                       size_t size);

/* A NUL-terminated copy of `length` bytes. */
char *eddy__arena_text(eddy__arena *arena, const char *text, size_t length);
void eddy__arena_destroy(eddy__arena *arena);

#endif
