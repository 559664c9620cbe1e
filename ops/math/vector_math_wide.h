/* SPDX-License-Identifier: Apache-2.0 */
/* The loops for wide vectors, each in a file that is compiled for them. */
#ifndef EDDY_OPS_VECTOR_MATH_WIDE_H
#define EDDY_OPS_VECTOR_MATH_WIDE_H

#include "ops/math/vector_math.h"

/* NULL where the compiler does not make such code. */
const eddy__math_loop *eddy__math_loops_avx(void);
const eddy__math_loop *eddy__math_loops_avx512(void);

#endif
