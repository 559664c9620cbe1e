/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of linear algebra: batches of complex matrices in doubles. */
#ifndef EDDY_TESTS_MATRIX_AID_H
#define EDDY_TESTS_MATRIX_AID_H

#include "tests/aid/kernel_harness.h"

#include <complex.h>

#define MATRIX_MAX 512 /* elements of a batch */

typedef struct matrices {
    int64_t count, rows, columns;
    double _Complex x[MATRIX_MAX];
} matrices;

/* What a tensor of rank 2 at least holds. */
matrices matrices_of(const eddy_tensor *tensor);

/* Numbers in [-1, 1] by `seed`; imaginary parts for complex64 alone. */
matrices matrices_random(int64_t count, int64_t rows, int64_t columns,
                         eddy_dtype dtype, unsigned seed);

/* A tensor of `shape`, or, NULL, of one dimension for the batch. */
eddy_tensor *matrices_tensor(harness *h, eddy_dtype dtype, const matrices *m,
                             const eddy_shape *shape);

matrices matrices_adjoint(const matrices *a);
matrices matrices_product(const matrices *a, const matrices *b);

/* What is on and below the diagonal, or on and above. */
matrices matrices_lower(const matrices *a);
matrices matrices_upper(const matrices *a);

/* Fail the test unless it is so, within what the dtype can do. */
void matrices_want(const matrices *got, const matrices *want, eddy_dtype dtype);
void matrices_want_identity(const matrices *got, eddy_dtype dtype);

#endif
