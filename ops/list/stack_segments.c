/* SPDX-License-Identifier: Apache-2.0 */
/* Segments of a stack come and go at its top. */
#include "ops/list/stack.h"

#include "core/base/status.h"

#include <inttypes.h>

/* Bytes of the first segment and of the largest; each is twice the one below.
 */
#define FIRST_SEGMENT ((size_t)1024)
#define LARGEST_SEGMENT ((size_t)65536)

static eddy_status fail_push(eddy_kernel *k, const stack *s)
{
    if (k->heap->limit_hit)
        return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_BYTES,
                           "stack %s, which has %" PRId64 " values, goes above "
                           "the limit of %" PRId64 " bytes",
                           s->name, eddy__stack_count(s),
                           k->heap->account->limit);
    return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                       "no memory for one more than %" PRId64
                       " values on stack %s",
                       eddy__stack_count(s), s->name);
}

/* ---- making ---- */

/* A segment with its items behind it. */
static segment *make_whole(eddy_kernel *k, size_t size, bool is_bare,
                           const stack *s)
{
    segment *c = eddy__heap_allocate(k->heap, size, &size);

    if (!c)
        return NULL;
    *c = (segment){.block_size = size, .is_bare = is_bare};
    c->data = (unsigned char *)(c + 1);
    c->capacity =
        (uint32_t)((size - sizeof *c) / eddy__segment_item_size(s, is_bare));
    return c;
}

/* One whose items may leave. */
static segment *make_spilling(eddy_kernel *k, size_t size, bool is_bare,
                              const stack *s)
{
    size_t block_size;
    segment *c = eddy__heap_allocate(
        k->heap, sizeof *c + sizeof(eddy__spill_block), &block_size);

    if (!c)
        return NULL;
    *c = (segment){.block_size = block_size, .is_bare = is_bare};
    c->out = (eddy__spill_block *)(void *)(c + 1);
    *c->out = (eddy__spill_block){.state = EDDY__SPILL_HELD};
    c->data = eddy__heap_allocate(k->heap, size, &c->out->size);
    if (!c->data) {
        eddy__heap_recycle(k->heap, c, c->block_size);
        return NULL;
    }
    c->out->data = c->data;
    s->spill->held += c->out->size;
    c->capacity =
        (uint32_t)(c->out->size / eddy__segment_item_size(s, is_bare));
    return c;
}

static size_t next_size(const stack *s)
{
    const size_t most =
        s->spill ? eddy__spill_block_size(s->spill) : LARGEST_SEGMENT;
    const segment *top = s->top;
    size_t size = FIRST_SEGMENT;

    if (top)
        size = 2 * (top->out ? top->capacity *
                                   eddy__segment_item_size(s, top->is_bare)
                             : top->block_size);
    return size < most ? size : most;
}

/* A new segment on top. */
static eddy_status add_segment(eddy_kernel *k, stack *s, bool is_bare)
{
    const size_t size = next_size(s);
    segment *c = s->spill ? make_spilling(k, size, is_bare, s)
                          : make_whole(k, size, is_bare, s);

    if (!c)
        return fail_push(k, s);
    s->n_below = eddy__stack_count(s);
    c->below = s->top;
    if (s->top)
        s->top->above = c;
    s->top = c;
    if (!s->spill)
        return EDDY_OK;
    if (!s->lowest_held)
        s->lowest_held = c;
    return eddy__stack_spill(k, s);
}

/* Is the top one for no more values of that form? */
static bool is_full(const stack *s, bool is_bare)
{
    const segment *top = s->top;

    return top->n == top->capacity || top->is_bare != is_bare ||
           top->is_packed || eddy__segment_is_out(top) ||
           (s->spill && top->payload >= eddy__spill_block_size(s->spill));
}

eddy_status eddy__stack_make_room(eddy_kernel *k, stack *s, bool is_scalar)
{
    bool is_bare;

    /* Bare ones stand below all others. */
    while (s->top && s->top->n == 0 && !s->top->is_bare)
        eddy__stack_drop_top(s, k->heap);
    is_bare = is_scalar && (!s->top || s->top->is_bare);
    if (s->top && !is_full(s, is_bare))
        return EDDY_OK;
    return add_segment(k, s, is_bare);
}

/* ---- dropping ---- */

void eddy__stack_drop_top(stack *s, eddy__heap *heap)
{
    segment *top = s->top;

    s->top = top->below;
    s->n_below -= s->top ? s->top->n : 0;
    if (s->top)
        s->top->above = NULL;
    if (s->lowest_held == top)
        s->lowest_held = NULL;
    if (top->out)
        eddy__spill_drop(s->spill, top->out);
    eddy__heap_recycle(heap, top, top->block_size);
}

eddy_status eddy__stack_uncover(eddy_kernel *k, stack *s)
{
    const segment *top = s->top;

    while (s->top && s->top->n == 0 && s->top->below)
        eddy__stack_drop_top(s, k->heap);
    if (!s->spill || !s->top ||
        (s->top == top && !eddy__segment_is_out(s->top)))
        return EDDY_OK;
    return eddy__stack_bring(k, s);
}

/* ---- values ---- */

void eddy__stack_retract(stack *s)
{
    eddy__tape *t = &s->tape;

    if (t->first)
        s->top->n = (uint32_t)((size_t)(t->next - t->first) /
                               eddy__segment_item_size(s, true));
}

void eddy__stack_publish(stack *s)
{
    eddy__tape *t = &s->tape;
    const segment *top = s->top;
    const size_t size = eddy__segment_item_size(s, true);
    int64_t room;

    t->next = t->first = t->end = NULL;
    if (!top || !top->is_bare || eddy__segment_is_out(top))
        return;
    room = s->max_count - s->n_below;
    room = room < top->capacity ? room : top->capacity;
    t->first = s->top->data;
    t->next = t->first + top->n * size;
    t->end = t->first + (size_t)room * size;
}

eddy_status eddy__stack_add(eddy_kernel *k, stack *s, const eddy__value *in)
{
    eddy__value value;

    EDDY_TRY(eddy__stack_make_room(k, s, in->kind == EDDY__SCALAR));
    if (s->top->is_bare) {
        const size_t size = eddy__segment_item_size(s, true);

        eddy__tape_bare_store(s->top->data + s->top->n * size, size, in);
    } else {
        value = eddy__value_copy(in);
        eddy__value_keep(&value);
        eddy__segment_values(s->top)[s->top->n] = value;
        if (s->spill)
            eddy__segment_charge(s, s->top, &value);
    }
    s->top->n++;
    return EDDY_OK;
}

eddy_status eddy__stack_put(eddy_kernel *k, stack *s, const eddy__value *value)
{
    eddy_status status;

    eddy__stack_retract(s);
    status = eddy__stack_add(k, s, value);
    eddy__stack_publish(s);
    return status;
}
