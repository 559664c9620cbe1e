/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in few bits: what quantized operators share. */
#ifndef EDDY_INTEROP_ONNX_OPS_QUANTIZED_H
#define EDDY_INTEROP_ONNX_OPS_QUANTIZED_H

#include "interop/onnx/ops/kit.h"

/*
 * A scale or zero point, a scalar or one a channel, for axis `axis` of a tensor
 * of rank `rank`.
 */
eddy_output eddy__onnx_by_channel(eddy__onnx_op *op, eddy_output x, size_t rank,
                                  int64_t axis);

/* Floats rounded to even, with a zero point added, as the nearest integers. */
eddy_output eddy__onnx_saturated(eddy__onnx_op *op, eddy_output x,
                                 eddy_output zero, eddy_dtype to);

#endif
