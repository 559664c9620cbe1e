/* SPDX-License-Identifier: Apache-2.0 */
/* AddN and ZerosLike of lists and optional values, item by item. */
#ifndef EDDY_OPS_LIST_MATH_H
#define EDDY_OPS_LIST_MATH_H

#include "core/kernel.h"

/* Kernels: the sum of all inputs, and a list of zeros like input 0. */
eddy_status eddy__run_add_lists(eddy_kernel *k);
eddy_status eddy__run_list_zeros(eddy_kernel *k);

/*
 * Makes the tensor of lists in `to`, which belongs to the kernel, one whose
 * elements it may change: itself, or a copy with references to the same lists.
 */
eddy_status eddy__own_lists(eddy_kernel *k, eddy__value *to);

#endif
