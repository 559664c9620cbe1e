/* SPDX-License-Identifier: Apache-2.0 */
/* Elements put together two by two, for ops that update what is there. */
#ifndef EDDY_OPS_COMBINE_H
#define EDDY_OPS_COMBINE_H

#include "ops/math/elementwise.h"

typedef enum eddy__combination {
    EDDY__COMBINE_ADD,
    EDDY__COMBINE_SUB,
    EDDY__COMBINE_MUL,
    EDDY__COMBINE_DIV,
    EDDY__COMBINE_MIN,
    EDDY__COMBINE_MAX,
    EDDY__COMBINATIONS,
    EDDY__COMBINE_REPLACE, /* moves elements; has no loop */
} eddy__combination;

/*
 * out[i] = a[i] op b[i], where `out` may be `a` or `b`.  Integers wrap; DIV of
 * integers truncates and must not be given a divisor of 0; of equal elements
 * and NaNs, MIN and MAX keep that of `a`.  NULL for REPLACE, and for a dtype
 * that has no such operation.  Rows must not be empty.
 */
eddy__binary_loop eddy__combiner_of(eddy__combination what, eddy_dtype dtype);

/* Is one of `n` integers 0? */
bool eddy__combine_has_zero(eddy_dtype dtype, const void *elements, int64_t n);

#endif
