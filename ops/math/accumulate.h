/* SPDX-License-Identifier: Apache-2.0 */
/* Adding runs of elements, for ops that sum what lands in one place. */
#ifndef EDDY_OPS_ACCUMULATE_H
#define EDDY_OPS_ACCUMULATE_H

#include "eddy/tensor.h"

/* to[i] += from[i], i < n; integers wrap, bool is `or`. */
typedef void (*eddy__adder)(unsigned char *to, const unsigned char *from,
                            int64_t n);

/* NULL for a dtype whose elements can't be added. */
eddy__adder eddy__accumulate_adder_of(eddy_dtype dtype);

#endif
