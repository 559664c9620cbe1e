/* SPDX-License-Identifier: Apache-2.0 */
/* Whole tensors to another dtype, every element checked. */
#ifndef EDDY_TOOLS_CAST_H
#define EDDY_TOOLS_CAST_H

#include "eddy/tensor.h"

/*
 * The values of `tensor` in `dtype`, in a new tensor or, if it has that dtype
 * already, `tensor` itself retained.  Errors: INVALID_ARGUMENT for an element
 * that does not fit, with its index.
 */
EDDY_MUST_USE eddy_status eddy__cast(const eddy_context *ctx,
                                     eddy_tensor *tensor, eddy_dtype dtype,
                                     eddy_tensor **out_tensor, eddy_error *err);

#endif
