/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of values outside of the AddN op. */
#ifndef EDDY_OPS_ADDN_H
#define EDDY_OPS_ADDN_H

#include "core/kernel.h"

/* Can values of `dtype` be added? */
bool eddy__addn_can_add(eddy_dtype dtype);

/*
 * Adds `x` to `*sum`, the caller's own, in place if that is the only reference.
 * Requires: both have one shape and one dtype, which can be added.
 */
eddy_status eddy__addn_add_to(eddy_kernel *k, eddy__value *sum,
                              const eddy__value *x);

#endif
