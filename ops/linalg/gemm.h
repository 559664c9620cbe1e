/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices by BLAS, the one place that knows it. */
#ifndef EDDY_OPS_GEMM_H
#define EDDY_OPS_GEMM_H

#include "eddy/op.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EDDY__GATES 8 /* parts of a product's rows, at the most */

/*
 * What a product by tiles does beside it: reads the first factor as two
 * matrices beside each other, adds a row to each row that it has finished, and
 * writes columns to several matrices.
 */
typedef struct eddy__gates {
    const float *second; /* of the first factor, or NULL */
    int64_t k_first;     /* columns of what is beside that, `a`; or k */
    const float *bias;   /* a row, or NULL */
    int64_t column;      /* the product's first one, of all there are */
    int64_t width;       /* columns of each part, whole panels */
    float *parts[EDDY__GATES];
} eddy__gates;

/*
 * out = a * b, where `a` has m rows and k columns, `b` k and n, each stored
 * row by row or, if it is transposed, column by column.  m, n and k are at
 * least 1.  A transposed complex matrix may be conjugated too; no other may.
 * With `adds` the product is added to what stands in `out`, which the functions
 * for float32, float64 and complex64 alone can do.  With `adds_after` sums are
 * finished before (ops/linalg/tiles.h).
 */
typedef struct eddy__product {
    int64_t m, n, k;
    bool transpose_a, transpose_b;
    bool conjugate_a, conjugate_b;
    bool adds;
    bool adds_after;
    const void *a, *b;
    void *out;
    /* Elements from one stored row to the next; 0: they are dense. */
    int64_t row_a, row_b, row_out;
    /* Asked now and then whether to stop; NULL: it is done in one go. */
    eddy_kernel *kernel;
    const float *panels;      /* of `b` (ops/linalg/tiles.h), or NULL */
    const eddy__gates *gates; /* by tiles alone; NULL: just a product */
} eddy__product;

static inline int64_t eddy__product_row_a(const eddy__product *p)
{
    return p->row_a ? p->row_a : p->transpose_a ? p->m : p->k;
}

static inline int64_t eddy__product_row_b(const eddy__product *p)
{
    return p->row_b ? p->row_b : p->transpose_b ? p->k : p->n;
}

static inline int64_t eddy__product_row_out(const eddy__product *p)
{
    return p->row_out ? p->row_out : p->n;
}

/* False, and nothing is done, if BLAS cannot count that far or is not there. */
bool eddy__gemm_float32(const eddy__product *product);
bool eddy__gemm_float64(const eddy__product *product);
bool eddy__gemm_complex64(const eddy__product *product);
bool eddy__gemm_complex128(const eddy__product *product);

/*
 * Writes the library's name, version and the processor that it found; false,
 * and nothing is written, if it is not there.
 */
bool eddy__gemm_name(char *text, size_t size);

#endif
