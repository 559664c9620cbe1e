/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves items, the slices along a first dimension, between tensors and lists of
 * them.
 */
#include "ops/array/items.h"

#include <string.h>

/*
 * A slice of at most this many bytes is copied: a header has to be allocated
 * anyway, and the copy holds no reference to the whole tensor, which would keep
 * it alive and must be counted.
 */
#define COPY_LIMIT 1024

const eddy_shape *eddy__item_shape(const eddy__value *item)
{
    static const eddy_shape scalar = {.rank = 0};

    return eddy__value_is_tensor(item) ? &item->as.tensor->shape : &scalar;
}

bool eddy__shape_prepend(int64_t dim, const eddy_shape *shape, eddy_shape *out)
{
    const eddy_shape from = *shape;

    if (from.rank < 0 || from.rank >= EDDY_MAX_RANK)
        return false;
    *out = (eddy_shape){.rank = from.rank + 1, .dims = {dim}};
    for (int32_t d = 0; d < from.rank; d++)
        out->dims[d + 1] = from.dims[d];
    return true;
}

eddy_status eddy__prepend_dim(eddy_kernel *k, int64_t dim,
                              const eddy_shape *shape, eddy_shape *out)
{
    if (eddy__shape_prepend(dim, shape, out))
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                       "items of shape %s would make a tensor of rank %d, "
                       "which is above %d",
                       eddy__shape_print(shape).text, (int)shape->rank + 1,
                       EDDY_MAX_RANK);
}

static eddy__value tensor_item(eddy_tensor *tensor)
{
    eddy__value item = {.kind = EDDY__TENSOR, .dtype = tensor->dtype};

    item.as.tensor = tensor;
    return item;
}

eddy_status eddy__slice_item(eddy_kernel *k, eddy_tensor *from, int64_t first,
                             const eddy_shape *shape, eddy__value *out_item)
{
    const eddy_dtype dtype = (eddy_dtype)from->dtype;
    const size_t size = eddy_dtype_size(dtype);
    const unsigned char *elements = from->data;
    eddy_tensor *tensor;
    int64_t count;

    if (shape->rank == 0 && eddy__dtype_is_inline(dtype)) {
        *out_item =
            (eddy__value){.kind = EDDY__SCALAR, .dtype = (uint8_t)dtype};
        memcpy(&out_item->as, elements + (size_t)first * size, size);
        /* A byte of the host's other than 0 and 1 would not be a bool. */
        if (dtype == EDDY_BOOL)
            out_item->as.b = out_item->as.u8 != 0;
        return EDDY_OK;
    }
    if (shape->rank == 0 && eddy__dtype_in(dtype, EDDY__HELD)) {
        *out_item = eddy__value_copy((const eddy__value *)from->data + first);
        return EDDY_OK;
    }
    if (size > 0 && eddy__shape_count(shape, size, &count) &&
        (size_t)count * size <= COPY_LIMIT) {
        EDDY_TRY(eddy__new_tensor(k, dtype, shape, &tensor));
        if (count > 0)
            memcpy(tensor->data, elements + (size_t)first * size,
                   (size_t)count * size);
        *out_item = tensor_item(tensor);
        return EDDY_OK;
    }
    tensor = eddy__tensor_slice(k->heap, k->account, from, first, shape);
    if (!tensor)
        return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                           "no memory for a slice of shape %s",
                           eddy__shape_print(shape).text);
    *out_item = tensor_item(tensor);
    return EDDY_OK;
}

eddy_status eddy__zero_item(eddy_kernel *k, eddy_dtype dtype,
                            const eddy_shape *shape, eddy__value *out_item)
{
    eddy_tensor *tensor;

    if (!eddy__dtype_in(dtype, EDDY__MOVABLE))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_UNINITIALIZED,
                           "an item was never set, and there are no zeros of "
                           "dtype %s",
                           eddy_dtype_name(dtype));
    if (shape->rank == 0 && eddy__dtype_is_inline(dtype)) {
        *out_item =
            (eddy__value){.kind = EDDY__SCALAR, .dtype = (uint8_t)dtype};
        return EDDY_OK;
    }
    EDDY_TRY(eddy__new_tensor(k, dtype, shape, &tensor));
    if (tensor->bytes > 0)
        memset(tensor->data, 0, tensor->bytes);
    *out_item = tensor_item(tensor);
    return EDDY_OK;
}

size_t eddy__put_item(unsigned char *to, const eddy__value *item, size_t bytes)
{
    if (item && eddy__value_is_tensor(item))
        bytes = (size_t)item->as.tensor->count *
                eddy__element_size((eddy_dtype)item->dtype);
    else if (item)
        bytes = eddy__element_size((eddy_dtype)item->dtype);
    if (bytes == 0)
        return 0;
    if (item)
        memcpy(to, eddy__value_elements(item), bytes);
    else
        memset(to, 0, bytes);
    return bytes;
}

eddy_status eddy__in_int32(eddy_kernel *k, uint32_t i, const char *what,
                           int32_t *out_value)
{
    const eddy__value *in = eddy__in(k, i);

    if (in->kind != EDDY__SCALAR)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "%s must be a scalar, but it has shape %s", what,
                           eddy__shape_print(eddy__in_shape(k, i)).text);
    *out_value = in->as.i32;
    return EDDY_OK;
}

eddy_status eddy__in_vector(eddy_kernel *k, uint32_t i, const char *what,
                            eddy_view *out_view)
{
    *out_view = eddy__in_view(k, i);
    if (out_view->rank == 1)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "%s must be a vector, but it has shape %s", what,
                       eddy__shape_print(eddy__in_shape(k, i)).text);
}

eddy_status eddy__in_rows(eddy_kernel *k, uint32_t i, const char *what,
                          eddy_tensor **out_tensor)
{
    const eddy__value *in = eddy__in(k, i);

    *out_tensor = NULL;
    if (!eddy__value_is_tensor(in) || in->as.tensor->shape.rank == 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "%s must be at least a vector, but it has shape %s",
                           what, eddy__shape_print(eddy__in_shape(k, i)).text);
    *out_tensor = in->as.tensor;
    return EDDY_OK;
}
