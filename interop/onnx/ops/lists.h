/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences: what is done with the lists that they are. */
#ifndef EDDY_INTEROP_ONNX_OPS_LISTS_H
#define EDDY_INTEROP_ONNX_OPS_LISTS_H

#include "interop/onnx/op.h"

/* A list without items. */
eddy_output eddy__onnx_list_new(eddy__onnx_op *op, eddy_dtype dtype);

/* One item more at the end. */
eddy_output eddy__onnx_list_push(eddy__onnx_op *op, eddy_output list,
                                 eddy_output item);

/* Item `index`, an integer scalar from 0 on. */
eddy_output eddy__onnx_list_get(eddy__onnx_op *op, eddy_output list,
                                eddy_dtype dtype, eddy_output index);

/* The number of items, an int64 scalar. */
eddy_output eddy__onnx_list_length(eddy__onnx_op *op, eddy_output list);

/* A tensor or a sequence as an optional value that holds it, and back. */
eddy_output eddy__onnx_optional_of(eddy__onnx_op *op, eddy__onnx_value value);
eddy_output eddy__onnx_optional_inside(eddy__onnx_op *op,
                                       eddy__onnx_value value);

#endif
