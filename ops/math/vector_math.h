/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transcendental functions of float64 by way of SLEEF.
 *
 * They are SLEEF's deterministic forms without fused multiply-add: every
 * element gets the same bits whatever stands beside it, and however wide the
 * processor's vectors are.  A function of one number is one lane of those.
 * Errors are at most 1 ulp, of those marked u35 3.5 and of erfc 1.5
 * (docs/kernels.md).
 */
#ifndef EDDY_OPS_VECTOR_MATH_H
#define EDDY_OPS_VECTOR_MATH_H

#include <stdint.h>

/*
 * X(function, SLEEF's name, SLEEF's error bound).  Those that begin with
 * `near_` are for results that are rounded to float32, where 3.5 ulp of a
 * double are nothing.
 */
#define EDDY__MATH_UNARY_MAP(X)                                                \
    X(acos, acos, u10)                                                         \
    X(acosh, acosh, u10)                                                       \
    X(asin, asin, u10)                                                         \
    X(asinh, asinh, u10)                                                       \
    X(atan, atan, u10)                                                         \
    X(atanh, atanh, u10)                                                       \
    X(cos, cos, u10)                                                           \
    X(cosh, cosh, u10)                                                         \
    X(erf, erf, u10)                                                           \
    X(erfc, erfc, u15)                                                         \
    X(exp, exp, u10)                                                           \
    X(expm1, expm1, u10)                                                       \
    X(lgamma, lgamma, u10)                                                     \
    X(log, log, u10)                                                           \
    X(log1p, log1p, u10)                                                       \
    X(sin, sin, u10)                                                           \
    X(sinh, sinh, u10)                                                         \
    X(tan, tan, u10)                                                           \
    X(tanh, tanh, u10)                                                         \
    X(near_acos, acos, u35)                                                    \
    X(near_asin, asin, u35)                                                    \
    X(near_atan, atan, u35)                                                    \
    X(near_cos, cos, u35)                                                      \
    X(near_sin, sin, u35)                                                      \
    X(near_tan, tan, u35)

#define EDDY__MATH_BINARY_MAP(X)                                               \
    X(atan2, atan2, u10)                                                       \
    X(pow, pow, u10)                                                           \
    X(near_atan2, atan2, u35)

typedef enum eddy__math {
#define X(function, name, bound) EDDY__MATH_##function,
    EDDY__MATH_UNARY_MAP(X) EDDY__MATH_BINARY_MAP(X)
#undef X
        EDDY__MATH_COUNT
} eddy__math;

/* So many doubles are computed at a time; blocks are filled up to that. */
#define EDDY__MATH_LANES 8

/*
 * x[i] = f(x[i]), or f(x[i], y[i]), i < n.  `n` is a multiple of
 * EDDY__MATH_LANES, and the arrays are aligned to so many doubles.
 */
typedef void (*eddy__math_loop)(double *x, const double *y, int64_t n);

/* By eddy__math: the fastest that this processor has. */
const eddy__math_loop *eddy__math_loops(void);

/*
 * The loops for one width of vectors, from narrow to wide: for tests; NULL if
 * the processor or the build lacks them.
 */
#define EDDY__MATH_WIDTHS 3
const eddy__math_loop *eddy__math_loops_of(int width);

/* The same of one number: eddy__math_exp(x). */
#define X(function, name, bound) double eddy__math_##function(double x);
EDDY__MATH_UNARY_MAP(X)
#undef X
#define X(function, name, bound)                                               \
    double eddy__math_##function(double x, double y);
EDDY__MATH_BINARY_MAP(X)
#undef X

#endif
