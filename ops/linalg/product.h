/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of matrices of every dtype that has them: by BLAS or oneDNN where
 * they have the dtype, else by plain loops that sum along k in order.  Which
 * one it is depends on the dtype and the shape alone, and, where that leaves
 * two libraries, on which was faster in this process (choice.h).
 */
#ifndef EDDY_OPS_PRODUCT_H
#define EDDY_OPS_PRODUCT_H

#include "eddy/tensor.h"
#include "ops/linalg/gemm.h"

typedef void (*eddy__multiply_fn)(const eddy__product *product);

/* What multiplies matrices of a dtype, or NULL.  No dimension may be 0. */
eddy__multiply_fn eddy__product_of(eddy_dtype dtype);

/*
 * The same for factors of 8 bits, signed or unsigned, and an int32 product;
 * NULL for other dtypes.
 */
eddy__multiply_fn eddy__product_bytes_of(eddy_dtype a, eddy_dtype b);

/*
 * Many products of one shape.  The results stand one behind the other; steps
 * say how far apart, in elements, the factors are along each dimension of the
 * batch, 0 where one is used again.
 */
typedef struct eddy__products {
    eddy__product one; /* the first of them */
    eddy__multiply_fn multiply;
    size_t size_a, size_b, size_out; /* of an element */
    int32_t rank;
    int64_t dims[EDDY_MAX_RANK];
    int64_t step_a[EDDY_MAX_RANK], step_b[EDDY_MAX_RANK];
} eddy__products;

/* Dimensions may be 0; a sum of nothing is 0. */
void eddy__product_all(const eddy__products *products);

#endif
