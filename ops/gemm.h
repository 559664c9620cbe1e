/* Products of matrices by BLAS, the one place that knows it. */
#ifndef EDDY_OPS_GEMM_H
#define EDDY_OPS_GEMM_H

#include <stdbool.h>
#include <stdint.h>

/*
 * out = a * b, where `a` has m rows and k columns, `b` k and n, each stored
 * row by row or, if it is transposed, column by column.  m, n and k are at
 * least 1.  A transposed complex matrix may be conjugated too; no other may.
 * With `adds` the product is added to what stands in `out`, which the functions
 * for float32 and float64 alone can do.
 */
typedef struct eddy__product {
    int64_t m, n, k;
    bool transpose_a, transpose_b;
    bool conjugate_a, conjugate_b;
    bool adds;
    const void *a, *b;
    void *out;
} eddy__product;

/* False, and nothing is done, if BLAS cannot count that far. */
bool eddy__gemm_float32(const eddy__product *product);
bool eddy__gemm_float64(const eddy__product *product);
bool eddy__gemm_complex64(const eddy__product *product);

/* Has this BLAS kernels of 512 bits for the processor that it found? */
bool eddy__gemm_is_wide(void);

#endif
