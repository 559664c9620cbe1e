/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which blocks are in the file, and where.  Room in it is handed out from its
 * end and used again by its size, so a program that spills the same again and
 * again has a file that does not grow.
 */
#include "core/spill.h"

#include "core/base/memory.h"
#include "core/base/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a block: a part of what may be held, between these. */
#define LEAST_BLOCK ((size_t)64)
#define LARGEST_BLOCK ((size_t)256 << 10)
#define BLOCKS 64

/* How long a wait goes on before it is asked whether the run is to stop. */
#define PATIENCE_NS ((uint64_t)2000000)

#define UNIT ((uint64_t)64)

void eddy__spill_begin(eddy__spill *spill)
{
    spill->held = spill->leaving = spill->length = spill->written = 0;
    spill->error = 0;
    spill->leaving_first = NULL;
    spill->leaving_end = &spill->leaving_first;
}

void eddy__spill_end(eddy__spill *spill)
{
    eddy__block_file_close(&spill->file);
    for (unsigned i = 0; i < EDDY__SPILL_CLASSES; i++) {
        eddy__spill_rooms *rooms = &spill->rooms[i];

        eddy__free(spill->allocator, rooms->offsets, rooms->capacity,
                   sizeof *rooms->offsets);
        *rooms = (eddy__spill_rooms){.n = 0};
    }
}

size_t eddy__spill_block_size(const eddy__spill *spill)
{
    const uint64_t part = spill->above / BLOCKS;

    if (part <= LEAST_BLOCK)
        return LEAST_BLOCK;
    return part < LARGEST_BLOCK ? (size_t)part : LARGEST_BLOCK;
}

/* ---- failures ---- */

static eddy_status fail(eddy_kernel *k, const eddy__spill *spill, int error,
                        const char *doing, const char *stack)
{
    char reason[96];

    eddy__block_reason(error, reason, sizeof reason);
    return eddy__kfail(
        k,
        error == EDDY__BLOCK_CHANGED || error == EDDY__BLOCK_SHORT
            ? EDDY_DATA_LOSS
        : eddy__block_is_full(error) ? EDDY_RESOURCE_EXHAUSTED
                                     : EDDY_UNAVAILABLE,
        EDDY_E_SPILL,
        "stack %s spills to a file in '%.200s', which can't be %s: %s", stack,
        spill->folder, doing, reason);
}

static eddy_status fail_memory(eddy_kernel *k, const char *stack)
{
    if (k->heap->limit_hit)
        return eddy__kfail(
            k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_BYTES,
            "stack %s, which spills, goes above the limit of %" PRId64 " bytes",
            stack, k->heap->account->limit);
    return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                       "no memory for what stack %s has spilled", stack);
}

static eddy_status open_file(eddy_kernel *k, eddy__spill *spill,
                             const char *stack)
{
    int error;
    eddy_error err = EDDY_ERROR_INIT;
    const eddy_status status =
        eddy__block_file_open(&spill->file, spill->allocator, spill->calls,
                              spill->cipher.encrypt ? &spill->cipher : NULL,
                              spill->folder, &error, &err);

    if (status == EDDY_OK)
        return EDDY_OK;
    if (error != 0)
        return fail(k, spill, error, "made", stack);
    return eddy__kfail(k, err.code, err.detail, "stack %s spills, but: %s",
                       stack, err.message);
}

/* ---- room in the file ---- */

typedef struct room_class {
    unsigned id;
    uint64_t size;
} room_class;

/* EDDY__SPILL_CLASSES for what is larger than any. */
static room_class classify(uint64_t bytes)
{
    const uint64_t last = (bytes > 0 ? bytes - 1 : 0) / UNIT;
    const unsigned shift = 61u - (unsigned)__builtin_clzll(last | 4);
    const uint64_t step = last >> shift;
    const unsigned id = 4 * shift + (unsigned)step;

    if (id >= EDDY__SPILL_CLASSES)
        return (room_class){.id = EDDY__SPILL_CLASSES,
                            .size = (last + 1) * UNIT};
    return (room_class){.id = id, .size = (step + 1) * UNIT << shift};
}

static eddy_status take_room(eddy_kernel *k, eddy__spill *spill,
                             eddy__spill_block *block, const char *stack)
{
    const room_class c = classify(block->io.bytes);
    eddy__spill_rooms *rooms =
        c.id < EDDY__SPILL_CLASSES ? &spill->rooms[c.id] : NULL;

    if (rooms && rooms->n > 0) {
        block->io.offset = rooms->offsets[--rooms->n];
    } else {
        if (c.size > (uint64_t)INT64_MAX - spill->length ||
            (spill->limit > 0 && c.size > spill->limit - spill->length))
            return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_SPILL,
                               "stack %s goes above the limit of %" PRIu64
                               " bytes of what is spilled",
                               stack, spill->limit);
        block->io.offset = spill->length;
        spill->length += c.size;
    }
    block->room = c.size;
    return EDDY_OK;
}

/* Without memory to note it, it is not used again. */
static void give_room(eddy__spill *spill, eddy__spill_block *block)
{
    const room_class c = classify(block->room);
    eddy__spill_rooms *rooms;
    void *offsets;

    block->room = 0;
    if (c.id >= EDDY__SPILL_CLASSES)
        return;
    rooms = &spill->rooms[c.id];
    offsets = rooms->offsets;
    if (eddy__grow(spill->allocator, &offsets, &rooms->capacity, rooms->n + 1,
                   sizeof *rooms->offsets)) {
        rooms->offsets = offsets;
        rooms->offsets[rooms->n++] = block->io.offset;
    }
}

/* ---- memory of a block ---- */

static void free_data(eddy__spill *spill, eddy__spill_block *block)
{
    if (!block->data)
        return;
    eddy__heap_recycle(spill->heap, block->data, block->size);
    spill->held -= block->size;
    block->data = NULL;
}

static void unlink_leaving(eddy__spill *spill, eddy__spill_block *block)
{
    *block->link = block->next;
    if (block->next)
        block->next->link = block->link;
    else
        spill->leaving_end = block->link;
    spill->leaving -= block->size;
}

/* Frees what has been written; false once something could not be. */
static bool reap(eddy__spill *spill)
{
    while (spill->error == 0 && spill->leaving_first) {
        eddy__spill_block *block = spill->leaving_first;

        if (!eddy__block_is_done(&spill->file, &block->io))
            break;
        spill->error = block->io.error;
        if (spill->error != 0)
            break;
        unlink_leaving(spill, block);
        free_data(spill, block);
        block->state = EDDY__SPILL_GONE;
    }
    return spill->error == 0;
}

/* Waits for a block; CANCELLED if the run is to stop. */
static eddy_status wait(eddy_kernel *k, eddy__spill *spill,
                        const eddy__spill_block *block)
{
    while (!eddy__block_wait(&spill->file, &block->io, PATIENCE_NS))
        EDDY_TRY(eddy__go_on(k, EDDY__PATIENCE));
    return EDDY_OK;
}

/* Lets no more wait to be written than is a part of what may be held. */
static eddy_status hold_back(eddy_kernel *k, eddy__spill *spill,
                             const char *stack)
{
    while (reap(spill) && spill->leaving_first &&
           spill->leaving > spill->above / 4)
        EDDY_TRY(wait(k, spill, spill->leaving_first));
    return spill->error == 0 ? EDDY_OK
                             : fail(k, spill, spill->error, "written", stack);
}

/* ---- there and back ---- */

eddy_status eddy__spill_leave(eddy_kernel *k, eddy__spill *spill,
                              eddy__spill_block *block, size_t bytes,
                              const char *stack)
{
    if (!spill->file.is_open)
        EDDY_TRY(open_file(k, spill, stack));
    EDDY_TRY(hold_back(k, spill, stack));
    block->io.data = block->data;
    block->io.bytes = bytes;
    EDDY_TRY(take_room(k, spill, block, stack));
    block->state = EDDY__SPILL_LEAVING;
    block->next = NULL;
    block->link = spill->leaving_end;
    *spill->leaving_end = block;
    spill->leaving_end = &block->next;
    spill->leaving += block->size;
    spill->written += bytes;
    eddy__block_ask(&spill->file, &block->io, true);
    return EDDY_OK;
}

eddy_status eddy__spill_come(eddy_kernel *k, eddy__spill *spill,
                             eddy__spill_block *block, const char *stack)
{
    if (!reap(spill))
        return fail(k, spill, spill->error, "written", stack);
    if (block->state == EDDY__SPILL_LEAVING) {
        eddy__block_forget(&spill->file, &block->io);
        unlink_leaving(spill, block);
        give_room(spill, block);
        block->state = EDDY__SPILL_HELD;
        return EDDY_OK;
    }
    block->data =
        eddy__heap_allocate(spill->heap, block->io.bytes, &block->size);
    if (!block->data)
        return fail_memory(k, stack);
    spill->held += block->size;
    block->io.data = block->data;
    block->state = EDDY__SPILL_COMING;
    eddy__block_ask(&spill->file, &block->io, false);
    return EDDY_OK;
}

eddy_status eddy__spill_arrive(eddy_kernel *k, eddy__spill *spill,
                               eddy__spill_block *block, const char *stack)
{
    if (block->state != EDDY__SPILL_COMING)
        return EDDY_OK;
    EDDY_TRY(wait(k, spill, block));
    if (block->io.error != 0)
        return fail(k, spill, block->io.error, "read", stack);
    give_room(spill, block);
    block->state = EDDY__SPILL_HELD;
    return EDDY_OK;
}

int eddy__spill_look(eddy__spill *spill, eddy__spill_block *block,
                     unsigned char *to)
{
    eddy__block_io io = block->io;

    if (block->state == EDDY__SPILL_LEAVING) {
        memcpy(to, block->data, block->io.bytes);
        return 0;
    }
    if (block->state == EDDY__SPILL_COMING) {
        while (!eddy__block_wait(&spill->file, &block->io, PATIENCE_NS))
            ;
        if (block->io.error == 0)
            memcpy(to, block->io.data, block->io.bytes);
        return block->io.error;
    }
    io.data = to;
    eddy__block_ask(&spill->file, &io, false);
    while (!eddy__block_wait(&spill->file, &io, PATIENCE_NS))
        ;
    return io.error;
}

void eddy__spill_give_up(eddy__spill *spill, eddy__spill_block *block)
{
    eddy__block_forget(&spill->file, &block->io);
    free_data(spill, block);
    block->state = EDDY__SPILL_GONE;
}

void eddy__spill_drop(eddy__spill *spill, eddy__spill_block *block)
{
    if (block->state == EDDY__SPILL_LEAVING) {
        eddy__block_forget(&spill->file, &block->io);
        unlink_leaving(spill, block);
    } else if (block->state == EDDY__SPILL_COMING) {
        eddy__block_forget(&spill->file, &block->io);
    }
    free_data(spill, block);
    if (block->room > 0)
        give_room(spill, block);
    block->state = EDDY__SPILL_HELD;
}
