/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The allocator of a budget and its clock.  Every request is counted, and the
 * time is looked at after so many, since a look costs more than a request.
 */
#include "core/base/budget.h"

#include "core/base/status.h"
#include "core/base/thread.h"

#include <string.h>

/* A look at the clock takes as long as some tens of these. */
#define ASKED_A_LOOK 32

/* A block this large takes long enough to fill that the clock is looked at. */
#define LARGE_BLOCK ((size_t)64 << 10)

static void look(eddy__budget *b)
{
    b->n_asked = 0;
    if (b->limits.is_cancelled && b->limits.is_cancelled(b->limits.user))
        b->exceeded = EDDY_E_CANCELLED;
    else if (b->deadline_ns > 0 && eddy__clock_now_ns() >= b->deadline_ns)
        b->exceeded = EDDY_E_DEADLINE;
}

bool eddy__budget_lasts(eddy__budget *b)
{
    if (b->exceeded == EDDY_E_NONE && ++b->n_asked >= ASKED_A_LOOK)
        look(b);
    return b->exceeded == EDDY_E_NONE;
}

bool eddy__budget_take_node(eddy__budget *b)
{
    if (!eddy__budget_lasts(b))
        return false;
    if (b->limits.max_nodes > 0 && b->n_nodes >= b->limits.max_nodes)
        b->exceeded = EDDY_E_LIMIT_NODES;
    else
        b->n_nodes++;
    return b->exceeded == EDDY_E_NONE;
}

/* Is there room for a block of `size` bytes beside what is held? */
static bool has_room(const eddy__budget *b, size_t size)
{
    const uint64_t max = b->limits.max_bytes;

    if (max == 0 || b->held < 0)
        return max == 0 || size <= max;
    return (uint64_t)b->held <= max && size <= max - (uint64_t)b->held;
}

static void *allocate(void *user, size_t size, size_t alignment)
{
    eddy__budget *b = user;
    void *memory;

    if (size >= LARGE_BLOCK)
        b->n_asked = ASKED_A_LOOK;
    if (!eddy__budget_lasts(b))
        return NULL;
    if (!has_room(b, size)) {
        b->exceeded = EDDY_E_LIMIT_BYTES;
        return NULL;
    }
    memory = b->behind->allocate(b->behind->user, size, alignment);
    if (memory)
        b->held += (int64_t)size;
    return memory;
}

static void release(void *user, void *memory, size_t size)
{
    eddy__budget *b = user;

    b->held -= (int64_t)size;
    b->behind->release(b->behind->user, memory, size);
}

eddy_status eddy__budget_begin(eddy__budget *budget, const char *what,
                               const eddy_allocator *behind,
                               const eddy_limits *limits, eddy_error *err)
{
    eddy_limits taken = {.size = sizeof taken};

    if (limits && (limits->size == 0 || limits->size > sizeof taken))
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                          "limits of %zu bytes, wanted up to %zu", limits->size,
                          sizeof taken);
    if (limits)
        memcpy(&taken, limits, limits->size);
    *budget = (eddy__budget){
        .allocator = {.allocate = allocate, .release = release, .user = budget},
        .behind = behind,
        .limits = taken,
        .what = what,
        .n_asked = ASKED_A_LOOK,
    };
    if (taken.timeout_ns > 0) {
        const uint64_t now = eddy__clock_now_ns();

        budget->deadline_ns = taken.timeout_ns < UINT64_MAX - now
                                  ? now + taken.timeout_ns
                                  : UINT64_MAX;
    }
    return EDDY_OK;
}

eddy_status eddy__budget_end(const eddy__budget *budget, eddy_status status,
                             eddy_error *err)
{
    if (status == EDDY_OK)
        return status;
    switch (budget->exceeded) {
    case EDDY_E_LIMIT_NODES:
        return eddy__fail(err, EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_NODES,
                          "%s takes more than the %llu nodes allowed",
                          budget->what,
                          (unsigned long long)budget->limits.max_nodes);
    case EDDY_E_LIMIT_BYTES:
        return eddy__fail(err, EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_BYTES,
                          "%s takes more than the %llu bytes allowed",
                          budget->what,
                          (unsigned long long)budget->limits.max_bytes);
    case EDDY_E_DEADLINE:
        return eddy__fail(err, EDDY_DEADLINE_EXCEEDED, EDDY_E_DEADLINE,
                          "%s takes longer than the %.3f s allowed",
                          budget->what,
                          (double)budget->limits.timeout_ns * 1e-9);
    case EDDY_E_CANCELLED:
        return eddy__fail(err, EDDY_CANCELLED, EDDY_E_CANCELLED,
                          "%s was cancelled", budget->what);
    default:
        return status;
    }
}
