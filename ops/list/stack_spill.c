/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments of a stack leave memory, the lowest first, and come back, the
 * highest first, some ahead of the one that is popped from.
 *
 * A segment of whole values is packed when it leaves.  Each value stands there
 * as its elements, its dimensions, and a trailer that says how many, so that
 * the last one is found from the end.
 */
#include "ops/list/stack.h"

#include "core/base/memory.h"
#include "core/base/status.h"
#include "core/bundle/saved_values.h"

#include <string.h>

/* So many segments below the top are asked for ahead. */
#define AHEAD 4

/* Behind the dimensions of a packed value. */
typedef struct trailer {
    uint64_t bytes; /* of its elements */
    uint8_t kind;
    uint8_t dtype;
    uint8_t rank;
    uint8_t unused[5];
} trailer;

void eddy__stack_may_spill(stack *s)
{
    const eddy_dtype dtype = (eddy_dtype)s->dtype;

    if (s->tape.base.set && eddy_dtype_size(dtype) > 0 &&
        !eddy__dtype_in(dtype, EDDY__HELD))
        s->spill = s->tape.base.set->spill;
}

/* ---- what is held ---- */

static size_t payload_of(const eddy__value *value)
{
    return value->kind == EDDY__TENSOR
               ? value->as.tensor->bytes + sizeof(eddy_tensor)
               : 0;
}

void eddy__segment_charge(stack *s, segment *c, const eddy__value *value)
{
    const size_t bytes = c->out ? payload_of(value) : 0;

    c->payload += bytes;
    s->spill->held += bytes;
}

void eddy__segment_discharge(stack *s, segment *c, const eddy__value *value)
{
    const size_t bytes = c->out ? payload_of(value) : 0;

    c->payload -= bytes;
    s->spill->held -= bytes;
}

void eddy__segment_clear(stack *s, segment *c, eddy__heap *heap)
{
    for (uint32_t i = 0; !c->is_bare && !c->is_packed && i < c->n; i++) {
        if (s->spill)
            eddy__segment_discharge(s, c, &eddy__segment_values(c)[i]);
        eddy__value_clear(heap, &eddy__segment_values(c)[i]);
    }
}

/* ---- packing ---- */

/* Whole words. */
static bool pad(size_t bytes, size_t *out)
{
    if (!eddy__add_size(bytes, 7, out))
        return false;
    *out &= ~(size_t)7;
    return true;
}

static size_t elements_size(const eddy__value *value)
{
    return value->kind == EDDY__TENSOR ? value->as.tensor->bytes
                                       : sizeof value->as.bits;
}

static bool packed_size(segment *c, size_t *out)
{
    *out = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        const eddy__value *v = &eddy__segment_values(c)[i];
        const int32_t rank =
            v->kind == EDDY__TENSOR ? v->as.tensor->shape.rank : 0;
        size_t size;

        if (!pad(elements_size(v), &size) || !eddy__add_size(*out, size, out) ||
            !eddy__add_size(
                *out, (size_t)rank * sizeof(int64_t) + sizeof(trailer), out))
            return false;
    }
    return true;
}

/* Behind each other, from `to` on; gives the end. */
static unsigned char *pack_value(unsigned char *to, const eddy__value *value)
{
    trailer t = {.bytes = elements_size(value),
                 .kind = value->kind,
                 .dtype = value->dtype};
    size_t padded = 0;

    (void)pad(t.bytes, &padded);
    if (padded > t.bytes)
        memset(to + t.bytes, 0, padded - t.bytes);
    if (value->kind == EDDY__TENSOR) {
        const eddy_tensor *tensor = value->as.tensor;

        t.rank = (uint8_t)tensor->shape.rank;
        if (t.bytes > 0)
            memcpy(to, tensor->data, t.bytes);
        to += padded;
        memcpy(to, tensor->shape.dims, t.rank * sizeof(int64_t));
    } else {
        memcpy(to, &value->as, sizeof value->as.bits);
        to += padded;
    }
    to += t.rank * sizeof(int64_t);
    memcpy(to, &t, sizeof t);
    return to + sizeof t;
}

/* A segment of whole values becomes a packed one. */
static eddy_status pack(eddy_kernel *k, stack *s, segment *c)
{
    size_t bytes, size;
    unsigned char *data, *end;

    if (!packed_size(c, &bytes))
        return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_SIZE,
                           "the size of what stack %s spills overflows",
                           s->name);
    data = eddy__heap_allocate(k->heap, bytes, &size);
    if (!data)
        return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED,
                           k->heap->limit_hit ? EDDY_E_LIMIT_BYTES
                                              : EDDY_E_MEMORY,
                           "no memory for the %zu bytes that stack %s is to "
                           "spill",
                           bytes, s->name);
    end = data;
    for (uint32_t i = 0; i < c->n; i++)
        end = pack_value(end, &eddy__segment_values(c)[i]);
    eddy__segment_clear(s, c, k->heap);
    eddy__heap_recycle(k->heap, c->data, c->out->size);
    s->spill->held += size;
    s->spill->held -= c->out->size;
    c->data = c->out->data = data;
    c->out->size = size;
    c->used = bytes;
    c->is_packed = true;
    return EDDY_OK;
}

static void *output_of(eddy_kernel *k, eddy_status *status, const trailer *t,
                       const unsigned char *dims)
{
    eddy_shape shape = {.rank = t->rank};
    eddy_tensor *tensor;
    eddy__value *out = eddy__out(k, 0);

    if (t->kind == EDDY__SCALAR) {
        eddy__out_scalar(out, (eddy_dtype)t->dtype, 0);
        return &out->as;
    }
    memcpy(shape.dims, dims, t->rank * sizeof(int64_t));
    *status = eddy__new_tensor(k, (eddy_dtype)t->dtype, &shape, &tensor);
    if (*status != EDDY_OK)
        return NULL;
    out->kind = EDDY__TENSOR;
    out->dtype = t->dtype;
    out->as.tensor = tensor;
    return tensor->data;
}

eddy_status eddy__stack_unpack(eddy_kernel *k, stack *s)
{
    segment *top = s->top;
    size_t at = top->used - sizeof(trailer), padded = 0;
    eddy_status status = EDDY_OK;
    trailer t;
    void *to;

    memcpy(&t, top->data + at, sizeof t);
    at -= t.rank * sizeof(int64_t);
    to = output_of(k, &status, &t, top->data + at);
    EDDY_TRY(status);
    (void)pad(t.bytes, &padded);
    at -= padded;
    if (t.bytes > 0)
        memcpy(to, top->data + at, t.bytes);
    top->used = at;
    top->n--;
    return EDDY_OK;
}

/* Where the trailer of each value is, the lowest last. */
static void find_trailers(const segment *c, const unsigned char *data,
                          size_t *places)
{
    size_t end = c->used, padded = 0;
    trailer t;

    for (uint32_t i = 0; i < c->n; i++) {
        places[i] = end - sizeof t;
        memcpy(&t, data + places[i], sizeof t);
        (void)pad(t.bytes, &padded);
        end = places[i] - t.rank * sizeof(int64_t) - padded;
    }
}

static void save_packed(const unsigned char *data, size_t place,
                        eddy__saver *saver)
{
    eddy__value value = {.kind = EDDY__SCALAR};
    eddy_shape shape = {.rank = 0};
    const unsigned char *dims;
    size_t padded = 0;
    trailer t;

    memcpy(&t, data + place, sizeof t);
    (void)pad(t.bytes, &padded);
    dims = data + place - t.rank * sizeof(int64_t);
    if (t.kind == EDDY__SCALAR) {
        value.dtype = t.dtype;
        memcpy(&value.as, dims - padded, sizeof value.as.bits);
        eddy__saver_value(saver, &value);
        return;
    }
    shape.rank = t.rank;
    memcpy(shape.dims, dims, t.rank * sizeof(int64_t));
    eddy__saver_elements(saver, (eddy_dtype)t.dtype, &shape, dims - padded);
}

void eddy__segment_save_packed(const segment *c, const unsigned char *data,
                               eddy__saver *saver)
{
    size_t *places = eddy__allocate(saver->allocator, c->n, sizeof *places);

    if (!places) {
        eddy__saver_fail_memory(saver);
        return;
    }
    find_trailers(c, data, places);
    for (uint32_t i = c->n; i > 0; i--)
        save_packed(data, places[i - 1], saver);
    eddy__free(saver->allocator, places, c->n, sizeof *places);
}

/* ---- leaving ---- */

static eddy_status leave(eddy_kernel *k, stack *s, segment *c)
{
    if (c->out->state == EDDY__SPILL_COMING) {
        eddy__spill_give_up(s->spill, c->out);
        return EDDY_OK;
    }
    if (!c->is_bare && !c->is_packed)
        EDDY_TRY(pack(k, s, c));
    /* There will be memory for so many when it is back. */
    c->capacity = c->n;
    return eddy__spill_leave(
        k, s->spill, c->out,
        c->is_bare ? c->n * eddy__segment_item_size(s, true) : c->used,
        s->name);
}

eddy_status eddy__stack_spill(eddy_kernel *k, stack *s)
{
    while (eddy__spill_is_over(s->spill) && s->lowest_held &&
           s->lowest_held != s->top) {
        segment *c = s->lowest_held;

        EDDY_TRY(leave(k, s, c));
        s->lowest_held = c->above;
    }
    return EDDY_OK;
}

/* ---- coming back ---- */

/* The highest segment that is out and not coming; NULL: none is. */
static segment *next_out(const stack *s)
{
    segment *c = s->lowest_held ? s->lowest_held->below : s->top;

    return c && c->out ? c : NULL;
}

static eddy_status come(eddy_kernel *k, stack *s, segment *c)
{
    EDDY_TRY(eddy__spill_come(k, s->spill, c->out, s->name));
    c->data = c->out->data;
    s->lowest_held = c;
    return EDDY_OK;
}

/* One below the top always, and more where there is room for them. */
static eddy_status look_ahead(eddy_kernel *k, stack *s)
{
    for (;;) {
        segment *c = next_out(s);
        int ahead = 0;

        for (const segment *at = c; at && at != s->top && ahead <= AHEAD;
             at = at->above)
            ahead++;
        if (!c || ahead > AHEAD ||
            (ahead > 1 && s->spill->held + c->out->io.bytes > s->spill->above))
            return EDDY_OK;
        EDDY_TRY(come(k, s, c));
    }
}

eddy_status eddy__stack_bring(eddy_kernel *k, stack *s)
{
    segment *top = s->top;

    if (!top->out)
        return EDDY_OK;
    if (!s->lowest_held)
        EDDY_TRY(come(k, s, top));
    EDDY_TRY(look_ahead(k, s));
    EDDY_TRY(eddy__spill_arrive(k, s->spill, top->out, s->name));
    top->data = top->out->data;
    return EDDY_OK;
}
