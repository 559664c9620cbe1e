/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What expressions in the rows of binary.def use, for whoever makes code of
 * them: binary.c, and the linear executor, which has to give the same bits.
 */
#ifndef EDDY_OPS_BINARY_ROWS_H
#define EDDY_OPS_BINARY_ROWS_H

#include "ops/math/elementwise.h"

/*
 * Quotients and remainders by -1 are apart, since the machine's divide the
 * least integer by it with a trap.
 */
#define QUOTIENT (y == -1 ? minus_x : x / y)
#define REST (y == -1 ? 0 : x % y)
#define FLOOR_QUOTIENT                                                         \
    (y == -1 ? minus_x : x / y - (x % y != 0 && (x < 0) != (y < 0)))

/* The remainder `rest` of a division by `y`, with the sign of `y`. */
#define FLOOR_REST(rest, y)                                                    \
    ((rest) != 0 && ((rest) < 0) != ((y) < 0) ? (rest) + (y) : (rest))

/* How far to shift: what is outside the width counts as its nearest bound. */
#define LAST_BIT ((int)sizeof(x) * 8 - 1)
#define SHIFT (y < 0 ? 0 : y > LAST_BIT ? LAST_BIT : (int)y)
#define SHIFT_UNSIGNED (y > LAST_BIT ? LAST_BIT : (int)y)

#define EDDY__IS_ZERO(y) ((y) == 0)
#define IS_NEGATIVE(y) ((y) < 0)

/* A quotient that is its own inverse tangent. */
#define TINY_RATIO 0x1p-500

/* 0 where `x` is 0, whatever the product is. */
#define NO_NAN(x, product) ((x) == 0 ? 0 : (product))

/* SLEEF's log1p is infinite too early, and 0 where it loses its low part. */
#define LOG1P(y, t)                                                            \
    ((y) > 0x1p500 ? eddy__math_log(y) : fabs(y) < 0x1p-500 ? (y) : (t))

/* What expressions on integers that can fail see besides x and y. */
#define CHECKED_LOCALS(D)                                                      \
    EDDY__WRAPPED_X(D)                                                         \
    const eddy__computed_##D minus_x = (eddy__computed_##D)(0 - ux);           \
    (void)minus_x;

#endif
