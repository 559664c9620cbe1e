/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of every dtype for tests of kernels, and how to compare them. */
#ifndef EDDY_TESTS_NUMBERS_H
#define EDDY_TESTS_NUMBERS_H

#include "eddy/tensor.h"

#define NUMBERS_MAX 32

bool numbers_is_float(eddy_dtype dtype);

/* The statement for every float dtype `d`, and for every real one. */
#define NUMBERS_EACH_FLOAT(d)                                                  \
    for (eddy_dtype d = EDDY_FLOAT16; d <= EDDY_BFLOAT16;                      \
         d = d == EDDY_FLOAT64 ? EDDY_BFLOAT16 : (eddy_dtype)(d + 1))
#define NUMBERS_EACH_REAL(d)                                                   \
    for (eddy_dtype d = EDDY_FLOAT16; d <= EDDY_BFLOAT16;                      \
         d = d == EDDY_UINT64 ? EDDY_BFLOAT16 : (eddy_dtype)(d + 1))

bool numbers_is_signed(eddy_dtype dtype);
int numbers_width(eddy_dtype dtype); /* in bits */

/* Bounds, zeros, infinities and a few others; returns how many. */
int64_t numbers_values_of(eddy_dtype dtype, double values[NUMBERS_MAX]);

/* Element `i` of an integer tensor, extended to 64 bits. */
uint64_t numbers_integer_at(const eddy_tensor *tensor, int64_t i);

/*
 * Is `got` what `want` rounds to in `dtype`, but for the last bit or two, which
 * the C library may round either way?  NaN equals NaN.
 */
bool numbers_nearly(eddy_dtype dtype, double got, long double want);

#endif
