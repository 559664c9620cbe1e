/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that a reader frees all at once, counted against the limits of a load.
 */
#include "interop/shared/scratch.h"

#include "core/base/status.h"

#include <string.h>

#define USUAL_BLOCK ((size_t)64 << 10)

typedef struct eddy__scratch_block {
    struct eddy__scratch_block *next;
    size_t size; /* the header included */
    size_t used;
} block;

#define ALIGNMENT _Alignof(max_align_t)
#define HEADER ((sizeof(block) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT)

static bool fits(eddy__scratch *scratch, uint64_t bytes)
{
    uint64_t used = scratch->held + scratch->charged;

    if (used <= scratch->max && bytes <= scratch->max - used)
        return true;
    scratch->is_over = true;
    return false;
}

static block *add_block(eddy__scratch *scratch, size_t size)
{
    block *b;

    if (!fits(scratch, size))
        return NULL;
    b = eddy__allocate(scratch->allocator, 1, size);
    if (!b) {
        scratch->is_short = true;
        return NULL;
    }
    *b = (block){.size = size, .used = HEADER};
    scratch->held += size;
    return b;
}

static void *take(block *b, size_t bytes)
{
    void *memory = (char *)b + b->used;

    b->used += bytes;
    return memory;
}

void *eddy__scratch_allocate(eddy__scratch *scratch, size_t n, size_t size)
{
    block *first = scratch->blocks;
    size_t bytes, whole;
    block *b;

    if (!eddy__mul_size(n, size, &bytes) ||
        !eddy__add_size(bytes, HEADER + ALIGNMENT - 1, &whole)) {
        scratch->is_short = true;
        return NULL;
    }
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (first && first->size - first->used >= bytes)
        return take(first, bytes);
    b = add_block(scratch, whole > USUAL_BLOCK / 4 ? whole : USUAL_BLOCK);
    if (!b)
        return NULL;
    /* A large block of its own leaves the room of the first one in use. */
    if (b->size != USUAL_BLOCK && first) {
        b->next = first->next;
        first->next = b;
    } else {
        b->next = first;
        scratch->blocks = b;
    }
    return take(b, bytes);
}

char *eddy__scratch_text(eddy__scratch *scratch, const char *text,
                         size_t length)
{
    char *copy;

    if (length == SIZE_MAX)
        return NULL;
    copy = eddy__scratch_allocate(scratch, length + 1, 1);
    if (!copy)
        return NULL;
    if (length > 0)
        memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

static void free_block(eddy__scratch *scratch, block *b)
{
    scratch->held -= b->size;
    eddy__free(scratch->allocator, b, 1, b->size);
}

void eddy__scratch_reset(eddy__scratch *scratch)
{
    block *kept = NULL;
    block *b = scratch->blocks;

    while (b) {
        block *next = b->next;

        if (!kept && b->size == USUAL_BLOCK)
            kept = b;
        else
            free_block(scratch, b);
        b = next;
    }
    if (kept) {
        kept->next = NULL;
        kept->used = HEADER;
    }
    scratch->blocks = kept;
}

void eddy__scratch_deinit(eddy__scratch *scratch)
{
    eddy__scratch_reset(scratch);
    if (scratch->blocks)
        free_block(scratch, scratch->blocks);
    scratch->blocks = NULL;
}

bool eddy__scratch_charge(eddy__scratch *scratch, uint64_t bytes)
{
    if (!fits(scratch, bytes))
        return false;
    scratch->charged += bytes;
    return true;
}

eddy_status eddy__scratch_fail(const eddy__scratch *scratch, eddy_error *err)
{
    if (!scratch->is_over)
        return eddy__fail_memory(err);
    return eddy__fail(err, EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_BYTES,
                      "the graph takes more than the %llu bytes allowed "
                      "while it is loaded",
                      (unsigned long long)scratch->max);
}

static void *allocate_message(void *user, size_t size)
{
    return eddy__scratch_allocate(user, 1, size);
}

static void free_message(void *user, void *memory)
{
    (void)user;
    (void)memory;
}

void eddy__scratch_init(eddy__scratch *scratch, const eddy_allocator *allocator,
                        uint64_t max)
{
    *scratch = (eddy__scratch){
        .protobuf = {.alloc = allocate_message,
                     .free = free_message,
                     .allocator_data = scratch},
        .allocator = allocator,
        .max = max,
    };
}
