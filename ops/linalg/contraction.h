/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of products of tensors over labelled dimensions, by way of products of
 * matrices.
 *
 * A label is a number below EDDY__LABELS.  Dimensions with one label run
 * together; what the result does not have is summed over.
 */
#ifndef EDDY_OPS_CONTRACTION_H
#define EDDY_OPS_CONTRACTION_H

#include "core/kernel.h"

#define EDDY__LABELS 32

typedef struct eddy__labelled {
    const void *data;
    int32_t rank;
    uint8_t labels[EDDY_MAX_RANK];
    int64_t dims[EDDY_MAX_RANK];
    int64_t steps[EDDY_MAX_RANK]; /* in elements */
} eddy__labelled;

/* Labels the dimensions of a dense tensor. */
eddy__labelled eddy__labelled_tensor(const void *data, const eddy_shape *shape,
                                     const uint8_t *labels);

/*
 * Writes the contraction of `n` operands, 1 or 2, to `out`, which is dense.
 * Each label of `out` must be one of an operand, and dimensions of one label
 * must be equal.  A label
 * that `out` has twice spells a diagonal, with zeros beside it.
 */
eddy_status eddy__contract(eddy_kernel *k, eddy_dtype dtype,
                           const eddy__labelled *operands, int32_t n,
                           const eddy__labelled *out, void *data);

#endif
