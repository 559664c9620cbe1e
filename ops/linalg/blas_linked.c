/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BLAS and LAPACK as libeddy.a has them: linked with the program, which needs
 * no library of eddy's beside it.  blas.c is the other way.
 */
#include "ops/linalg/blas.h"
#include "ops/ops.h"

#include <limits.h>

const eddy__blas_provider *eddy__blas_get(void)
{
    return &eddy_blas_provider;
}

void eddy__gemm_set_threads(uint32_t n)
{
    eddy_blas_provider.set_threads(n < INT_MAX ? (int)n : INT_MAX);
}
