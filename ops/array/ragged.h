/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ops on ragged tensors share: inputs 0 to n - 1 are row splits, the
 * outermost first, and input n the values.
 */
#ifndef EDDY_OPS_RAGGED_H
#define EDDY_OPS_RAGGED_H

#include "ops/math/elements.h"

/*
 * Fails unless splits begin with 0, never fall, and end within what is below
 * them; `is_whole`: end where that ends.
 */
eddy_status eddy__ragged_check(eddy_kernel *k, uint32_t n, bool is_whole);

/*
 * Outputs 0 and on: the splits between dimensions of that shape, which are
 * uniform, one output for each dimension but the last.
 */
eddy_status eddy__ragged_put_uniform(eddy_kernel *k, const eddy_shape *shape);

/* Element `i` of splits of int32 or int64. */
static inline void eddy__ragged_put_split(void *splits, eddy_dtype dtype,
                                          int64_t i, int64_t value)
{
    if (dtype == EDDY_INT32)
        ((int32_t *)splits)[i] = (int32_t)value;
    else
        ((int64_t *)splits)[i] = value;
}

#endif
