/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slices of tensors along their first dimension, at once: taken, and
 * collected one by one and put together.
 */
#ifndef EDDY_FRONTENDS_ROWS_H
#define EDDY_FRONTENDS_ROWS_H

#include "core/base/memory.h"
#include "core/value/tensor.h"

/*
 * Slice `i` of a tensor of rank 1 at least, which shares its elements; NULL
 * without memory.
 */
eddy_tensor *eddy__row_of(eddy_tensor *tensor, int64_t i);

/* Rows that have been collected, each a reference.  Zero it. */
typedef struct eddy__host_rows {
    eddy_tensor **items;
    size_t n, capacity;
} eddy__host_rows;

/* Takes over `item`; false without memory, when it has released it. */
bool eddy__rows_add(eddy__host_rows *rows, const eddy_allocator *allocator,
                    eddy_tensor *item);
void eddy__rows_deinit(eddy__host_rows *rows, const eddy_allocator *allocator);

/*
 * All of them along a new first dimension of `n`, with zeros after the last.
 * They are of `dtype` and `shape`, also where there are none; there are at most
 * `n`.  NULL without memory, or if there is no such tensor.
 */
eddy_tensor *eddy__rows_stack(const eddy__host_rows *rows,
                              const eddy_allocator *allocator, int64_t n,
                              eddy_dtype dtype, const eddy_shape *shape);

#endif
