/* SPDX-License-Identifier: Apache-2.0 */
/* Room for the items of a TensorArray, bare or not, and their shapes. */
#include "ops/list/tensor_array.h"

#include <inttypes.h>
#include <string.h>

/* The least that is made room for. */
#define MIN_CAPACITY 16

/* An array of up to so many items gets room for all of them at once. */
#define DIRECT 4096

/* ---- room for items ---- */

static eddy_status fail_room(eddy_kernel *k, const eddy__array *a, int64_t n)
{
    if (k->heap->limit_hit)
        return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_BYTES,
                           "TensorArray %s of %" PRId64 " items goes above the "
                           "limit of %" PRId64 " bytes",
                           a->name, n, k->heap->account->limit);
    return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                       "no memory for the %" PRId64 " items of TensorArray %s",
                       n, a->name);
}

/* Moves the shapes to a block for `capacity` of them; the first makes it. */
static bool move_shapes(eddy__array *a, eddy__heap *heap, int32_t capacity)
{
    size_t size;
    eddy_shape *shapes =
        eddy__heap_allocate(heap, (size_t)capacity * sizeof *shapes, &size);

    if (!shapes)
        return false;
    for (int32_t i = 0; i < a->n_items; i++)
        shapes[i] = a->shapes ? a->shapes[i] : a->item_shape;
    if (a->shapes)
        eddy__heap_recycle(heap, a->shapes, a->shapes_size);
    a->shapes = shapes;
    a->shapes_size = size;
    return true;
}

/* Points at the parts of a block for `capacity` items. */
static void place_items(eddy__array *a, void *block, size_t size, bool is_bare,
                        int32_t capacity)
{
    const size_t each =
        is_bare ? eddy__tape_bare_size((eddy_dtype)a->dtype) : sizeof *a->items;

    a->block = block;
    a->block_size = size;
    a->capacity = capacity;
    a->is_bare = is_bare;
    a->items = is_bare ? NULL : block;
    a->cells.items = is_bare ? block : NULL;
    a->cells.states = (uint8_t *)block + (size_t)capacity * each;
}

/* Room for `capacity` items at least, bare or no longer so. */
static bool move_items(eddy__array *a, eddy__heap *heap, bool is_bare,
                       int32_t capacity)
{
    const eddy__array old = *a;
    const size_t n = (size_t)a->n_items;
    const size_t bare = eddy__tape_bare_size((eddy_dtype)a->dtype);
    void *block;
    size_t size;

    if (a->shapes && !move_shapes(a, heap, capacity))
        return false;
    size = (is_bare ? bare : sizeof *a->items) + sizeof *a->cells.states;
    block = eddy__heap_allocate(heap, (size_t)capacity * size, &size);
    if (!block)
        return false;
    place_items(a, block, size, is_bare, capacity);
    if (n > 0 && is_bare)
        memcpy(a->cells.items, old.cells.items, n * bare);
    else if (n > 0 && !old.is_bare)
        memcpy(a->items, old.items, n * sizeof *a->items);
    for (size_t i = 0; old.is_bare && !is_bare && i < n; i++)
        if (!eddy__array_item(&old, (int64_t)i, &a->items[i]))
            a->items[i] = (eddy__value){.kind = EDDY__NONE};
    if (n > 0)
        memcpy(a->cells.states, old.cells.states, n);
    if (old.block)
        eddy__heap_recycle(heap, old.block, old.block_size);
    return true;
}

/* How many items to make room for when `needed` do not fit. */
static int32_t choose_capacity(const eddy__array *a, int32_t needed)
{
    int64_t capacity = 2 * (int64_t)a->capacity;

    if (capacity < needed)
        capacity = needed;
    if (capacity < MIN_CAPACITY)
        capacity = MIN_CAPACITY;
    if (a->size >= needed && (a->size <= DIRECT || a->size <= 2 * capacity))
        return a->size;
    return capacity < INT32_MAX ? (int32_t)capacity : INT32_MAX;
}

eddy_status eddy__array_make_items(eddy_kernel *k, eddy__array *a,
                                   int64_t index)
{
    const int32_t needed = (int32_t)index + 1;
    int32_t n = needed;

    if (needed <= a->n_items)
        return EDDY_OK;
    if (needed > a->capacity &&
        !move_items(a, k->heap, a->is_bare, choose_capacity(a, needed)) &&
        !move_items(a, k->heap, a->is_bare, needed))
        return fail_room(k, a, needed);
    if (a->is_bare)
        n = a->capacity;
    else
        memset(&a->items[a->n_items], 0,
               (size_t)(n - a->n_items) * sizeof *a->items);
    memset(&a->cells.states[a->n_items], 0, (size_t)(n - a->n_items));
    a->n_items = n;
    return EDDY_OK;
}

/* Items are not bare from now on. */
static eddy_status wrap_items(eddy_kernel *k, eddy__array *a)
{
    a->cells.n = 0;
    if (!a->block)
        a->is_bare = false;
    else if (!move_items(a, k->heap, false, a->capacity))
        return fail_room(k, a, a->capacity);
    return EDDY_OK;
}

void eddy__array_publish(eddy__array *a)
{
    const eddy_shape scalar = eddy__shape_scalar();
    const bool is_plain = a->is_bare && a->item_shape.rank == 0 &&
                          eddy__shape_compatible(&a->shape, &scalar);

    a->cells.n = !is_plain              ? 0
                 : a->n_items < a->size ? (uint32_t)a->n_items
                                        : (uint32_t)a->size;
}

eddy_status eddy__array_set_shape(eddy_kernel *k, eddy__array *a, int64_t index,
                                  const eddy_shape *shape)
{
    if (a->is_bare && shape->rank != 0)
        EDDY_TRY(wrap_items(k, a));
    if (!a->shapes) {
        if (a->item_shape.rank < 0)
            a->item_shape = *shape;
        if (eddy__shape_equal(&a->item_shape, shape))
            return EDDY_OK;
        if (!move_shapes(a, k->heap, a->capacity))
            return fail_room(k, a, a->capacity);
    }
    a->shapes[index] = *shape;
    return EDDY_OK;
}

eddy_status eddy__array_restore_item(eddy_kernel *k, eddy__array *a,
                                     int64_t index, uint8_t state,
                                     const eddy_shape *shape,
                                     eddy__value *value)
{
    const eddy__value zero = {.kind = EDDY__SCALAR, .dtype = a->dtype};
    const size_t size = eddy__tape_bare_size((eddy_dtype)a->dtype);
    eddy_status status = eddy__array_make_items(k, a, index);

    if (status == EDDY_OK)
        status = eddy__array_set_shape(k, a, index, shape);
    if (status != EDDY_OK) {
        eddy__value_clear(k->heap, value);
        return status;
    }
    if (a->is_bare)
        eddy__tape_bare_store(a->cells.items + (size_t)index * size, size,
                              value->kind == EDDY__NONE ? &zero : value);
    else
        a->items[index] = *value;
    a->cells.states[index] = state;
    return EDDY_OK;
}
