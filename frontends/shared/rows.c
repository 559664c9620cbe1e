/* SPDX-License-Identifier: Apache-2.0 */
/* Takes and collects slices of tensors for front ends that run at once. */
#include "frontends/shared/rows.h"

#include "core/value/shape.h"

#include <assert.h>
#include <string.h>

eddy_tensor *eddy__row_of(eddy_tensor *tensor, int64_t i)
{
    const eddy_shape shape = eddy__shape_rest(&tensor->shape);
    int64_t count = 1;

    assert(shape.rank >= 0);
    for (int32_t d = 0; d < shape.rank; d++)
        count *= shape.dims[d];
    return eddy__tensor_slice(NULL, NULL, tensor, i * count, &shape);
}

bool eddy__rows_add(eddy__host_rows *rows, const eddy_allocator *allocator,
                    eddy_tensor *item)
{
    if (!eddy__grow(allocator, (void **)&rows->items, &rows->capacity,
                    rows->n + 1, sizeof(eddy_tensor *))) {
        eddy_tensor_release(item);
        return false;
    }
    rows->items[rows->n++] = item;
    return true;
}

void eddy__rows_deinit(eddy__host_rows *rows, const eddy_allocator *allocator)
{
    for (size_t i = 0; i < rows->n; i++)
        eddy_tensor_release(rows->items[i]);
    eddy__free(allocator, rows->items, rows->capacity, sizeof(eddy_tensor *));
}

/* Copies the elements of an item to those of `to` from `first` on. */
static bool put_item(eddy_tensor *to, int64_t first, const eddy_tensor *item)
{
    if (to->dtype != EDDY_STRING) {
        memcpy((char *)to->data +
                   (size_t)first * eddy_dtype_size((eddy_dtype)to->dtype),
               item->data, item->bytes);
        return true;
    }
    for (int64_t i = 0; i < item->count; i++) {
        const eddy_string text = eddy_tensor_string(item, i);

        if (!eddy__tensor_set_string(to, first + i, text.data, text.length))
            return false;
    }
    return true;
}

eddy_tensor *eddy__rows_stack(const eddy__host_rows *rows,
                              const eddy_allocator *allocator, int64_t n,
                              eddy_dtype dtype, const eddy_shape *shape)
{
    eddy_shape all = {.rank = shape->rank + 1, .dims = {n}};
    eddy_tensor *to;
    int64_t first = 0;
    size_t used;

    if (shape->rank >= EDDY_MAX_RANK)
        return NULL;
    for (int32_t d = 0; d < shape->rank; d++)
        all.dims[d + 1] = shape->dims[d];
    to = eddy__tensor_create(NULL, NULL, allocator, dtype, &all);
    for (size_t i = 0; to && i < rows->n; i++) {
        if (!put_item(to, first, rows->items[i])) {
            eddy_tensor_release(to);
            return NULL;
        }
        first += rows->items[i]->count;
    }
    used = (size_t)first * eddy_dtype_size(dtype);
    if (to && to->bytes > used)
        memset((char *)to->data + used, 0, to->bytes - used);
    return to;
}
