/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Items: values that an array, a list or a stack holds, and their way from and
 * into tensors of which each is a slice.
 */
#ifndef EDDY_OPS_ITEMS_H
#define EDDY_OPS_ITEMS_H

#include "ops/math/elements.h"

/* The shape of an item; for a scalar, a list or a handle, a constant of rank
 * 0. */
const eddy_shape *eddy__item_shape(const eddy__value *item);

/* `shape` with a dimension before its first; false above rank 8. */
bool eddy__shape_prepend(int64_t dim, const eddy_shape *shape, eddy_shape *out);

/* The same as a kernel's output shape, or the failure. */
eddy_status eddy__prepend_dim(eddy_kernel *k, int64_t dim,
                              const eddy_shape *shape, eddy_shape *out);

/*
 * An item made of the elements of tensor `from` from `first` on, as many as
 * `shape` has: a view of the tensor, unless copying is cheaper.
 */
eddy_status eddy__slice_item(eddy_kernel *k, eddy_tensor *from, int64_t first,
                             const eddy_shape *shape, eddy__value *out_item);

/* An item of zeros, or of empty strings; fails for other dtypes. */
eddy_status eddy__zero_item(eddy_kernel *k, eddy_dtype dtype,
                            const eddy_shape *shape, eddy__value *out_item);

/*
 * Moves the elements of an item to `to` and returns how many bytes that are;
 * `item` NULL is `bytes` of zeros.  See ops/math/elements.h for strings.
 */
size_t eddy__put_item(unsigned char *to, const eddy__value *item, size_t bytes);

/* Is `dtype` one whose items can be put together into a tensor? */
static inline bool eddy__has_tensors(eddy_dtype dtype)
{
    return eddy__dtype_in(dtype, EDDY__ARRANGED);
}

/* Input `i` as one int32, which the messages call `what`. */
eddy_status eddy__in_int32(eddy_kernel *k, uint32_t i, const char *what,
                           int32_t *out_value);

/* Input `i` as a vector of int32 or int64, which the messages call `what`. */
eddy_status eddy__in_vector(eddy_kernel *k, uint32_t i, const char *what,
                            eddy_view *out_view);

/* Input `i` as a tensor of rank 1 or more, which the messages call `what`. */
eddy_status eddy__in_rows(eddy_kernel *k, uint32_t i, const char *what,
                          eddy_tensor **out_tensor);

#endif
