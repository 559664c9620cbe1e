/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocation with sizes that are checked first, and arenas: chunks that grow,
 * which are freed all at once.
 */
#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

/* EDDY_BLOCKS_ALONE: each block of an arena is an allocation of its own, and an
 * array grows by what is needed, so that whatever asks for memory can be told
 * that there is none. */
#ifdef EDDY_BLOCKS_ALONE
#define LEAST_CHUNK ((size_t)1)
#define LARGEST_CHUNK ((size_t)1)
#define LEAST_CAPACITY ((size_t)1)
#else
#define LEAST_CHUNK ((size_t)4 << 10)
#define LARGEST_CHUNK ((size_t)1 << 20)
#define LEAST_CAPACITY ((size_t)8)
#endif

static void *allocate_default(void *user, size_t size, size_t alignment)
{
    size_t rounded;

    (void)user;
    if (alignment <= _Alignof(max_align_t))
        return malloc(size);
    /* C11 wants a multiple of the alignment. */
    if (!eddy__add_size(size, alignment - 1, &rounded))
        return NULL;
    return aligned_alloc(alignment, rounded & ~(alignment - 1));
}

static void release_default(void *user, void *memory, size_t size)
{
    (void)user;
    (void)size;
    free(memory);
}

const eddy_allocator *eddy__default_allocator(void)
{
    static const eddy_allocator allocator = {
        .allocate = allocate_default,
        .release = release_default,
    };

    return &allocator;
}

/* No allocator is asked for 0 bytes, which may mean NULL to it. */
static size_t at_least_one(size_t size)
{
    return size > 0 ? size : 1;
}

void *eddy__allocate_aligned(const eddy_allocator *allocator, size_t size,
                             size_t alignment)
{
    return allocator->allocate(allocator->user, at_least_one(size), alignment);
}

void *eddy__allocate(const eddy_allocator *allocator, size_t n, size_t size)
{
    size_t bytes;

    if (!eddy__mul_size(n, size, &bytes))
        return NULL;
    return eddy__allocate_aligned(allocator, bytes, _Alignof(max_align_t));
}

void *eddy__allocate_zeroed(const eddy_allocator *allocator, size_t n,
                            size_t size)
{
    void *memory = eddy__allocate(allocator, n, size);

    if (memory)
        memset(memory, 0, n * size);
    return memory;
}

void eddy__free(const eddy_allocator *allocator, void *memory, size_t n,
                size_t size)
{
    if (memory)
        allocator->release(allocator->user, memory, at_least_one(n * size));
}

bool eddy__grow(const eddy_allocator *allocator, void **array, size_t *capacity,
                size_t needed, size_t size)
{
    size_t wanted = LEAST_CAPACITY;
    void *grown;

    if (needed <= *capacity)
        return true;
    if (*capacity >= 4 && !eddy__mul_size(*capacity, 2, &wanted))
        wanted = needed;
    if (wanted < needed)
        wanted = needed;
    grown = eddy__allocate(allocator, wanted, size);
    if (!grown)
        return false;
    if (*capacity > 0)
        memcpy(grown, *array, *capacity * size);
    eddy__free(allocator, *array, *capacity, size);
    *array = grown;
    *capacity = wanted;
    return true;
}

/* What is left of a chunk lies between `next_byte` and `end`. */
typedef struct eddy__arena_chunk {
    struct eddy__arena_chunk *next;
    size_t size; /* of the whole block */
    char *next_byte;
    char *end;
} chunk;

_Static_assert(sizeof(chunk) % _Alignof(max_align_t) == 0,
               "what follows a chunk's header is aligned");

static chunk *add_chunk(eddy__arena *arena, size_t size)
{
    chunk *c = eddy__allocate(arena->allocator, 1, size);

    if (!c)
        return NULL;
    *c = (chunk){
        .size = size,
        .next_byte = (char *)(c + 1),
        .end = (char *)c + size,
    };
    arena->bytes += size;
    return c;
}

/*
 * A chunk with room for `bytes`, which becomes the first one unless the block
 * is so large that it gets a chunk of its own: then the first one, which may
 * have room for small blocks, stays first.
 */
static chunk *make_room(eddy__arena *arena, size_t bytes)
{
    size_t usual = arena->bytes;
    size_t own;
    chunk *c;

    if (usual < LEAST_CHUNK)
        usual = LEAST_CHUNK;
    if (usual > LARGEST_CHUNK)
        usual = LARGEST_CHUNK;
    if (!eddy__add_size(bytes, sizeof(chunk), &own))
        return NULL;
    c = add_chunk(arena, own > usual / 4 ? own : usual);
    if (!c)
        return NULL;
    if (c->size == own && arena->chunks) {
        c->next = arena->chunks->next;
        arena->chunks->next = c;
    } else {
        c->next = arena->chunks;
        arena->chunks = c;
    }
    return c;
}

void *eddy__arena_allocate(eddy__arena *arena, size_t n, size_t size)
{
    const size_t mask = _Alignof(max_align_t) - 1;
    chunk *c = arena->chunks;
    size_t bytes;
    char *memory;

    if (!eddy__mul_size(n, size, &bytes) ||
        !eddy__add_size(at_least_one(bytes), mask, &bytes))
        return NULL;
    bytes &= ~mask;
    if (!c || (size_t)(c->end - c->next_byte) < bytes) {
        c = make_room(arena, bytes);
        if (!c)
            return NULL;
    }
    memory = c->next_byte;
    c->next_byte += bytes;
    return memory;
}

void *eddy__arena_allocate_zeroed(eddy__arena *arena, size_t n, size_t size)
{
    void *memory = eddy__arena_allocate(arena, n, size);

    if (memory)
        memset(memory, 0, n * size);
    return memory;
}

void *eddy__arena_copy(eddy__arena *arena, const void *from, size_t n,
                       size_t size)
{
    void *memory = eddy__arena_allocate(arena, n, size);

    if (memory && n * size > 0)
        memcpy(memory, from, n * size);
    return memory;
}

char *eddy__arena_text(eddy__arena *arena, const char *text, size_t length)
{
    size_t bytes;
    char *copy;

    if (!eddy__add_size(length, 1, &bytes))
        return NULL;
    copy = eddy__arena_allocate(arena, bytes, 1);
    if (!copy)
        return NULL;
    if (length > 0)
        memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

void eddy__arena_destroy(eddy__arena *arena)
{
    chunk *c = arena->chunks;

    while (c) {
        chunk *next = c->next;

        eddy__free(arena->allocator, c, 1, c->size);
        c = next;
    }
    arena->chunks = NULL;
    arena->bytes = 0;
}
