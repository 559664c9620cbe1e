/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the fused cells of recurrent layers share: rows that are joined, gates
 * by a product, and shapes that are checked.
 */
#ifndef EDDY_OPS_RECURRENT_H
#define EDDY_OPS_RECURRENT_H

#include "ops/linalg/gemm.h"
#include "ops/linalg/product.h"
#include "ops/math/elements.h"
#include "ops/misc/scratch.h"

/* A matrix in memory: rows by columns, dense. */
typedef struct eddy__matrix {
    const void *data;
    int64_t rows, columns;
} eddy__matrix;

/* The rows of two matrices of as many rows side by side. */
void eddy__recurrent_join_rows(size_t size, const eddy__matrix *a,
                               const eddy__matrix *b, void *out);

/* out = a b, or a b^T, or a^T b; `adds` adds to what stands there. */
typedef enum eddy__how {
    EDDY__PLAIN,
    EDDY__SECOND_TURNED,
    EDDY__FIRST_TURNED
} eddy__how;

void eddy__recurrent_gates(eddy_kernel *k, eddy_dtype dtype,
                           const eddy__matrix *a, const eddy__matrix *b,
                           eddy__how how, void *out);

/* Input `i`, called `what`, must be a matrix of that shape, or a vector. */
eddy_status eddy__want_matrix(eddy_kernel *k, uint32_t i, const char *what,
                              int64_t rows, int64_t columns);
eddy_status eddy__recurrent_want_vector(eddy_kernel *k, uint32_t i,
                                        const char *what, int64_t n);

#endif
