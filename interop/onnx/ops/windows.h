/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows over the spatial axes of ONNX's convolutions and pools, which are all
 * but the first two: how many there are, how large, how far apart, and what
 * stands around the image.
 */
#ifndef EDDY_INTEROP_ONNX_OPS_WINDOWS_H
#define EDDY_INTEROP_ONNX_OPS_WINDOWS_H

#include "interop/onnx/ops/kit.h"

#define EDDY__ONNX_MOST_SPATIAL (EDDY_MAX_RANK - 2)

typedef struct eddy__onnx_windows {
    size_t n; /* spatial axes */
    eddy__onnx_size in[EDDY__ONNX_MOST_SPATIAL];
    eddy__onnx_size kernel[EDDY__ONNX_MOST_SPATIAL];
    int64_t stride[EDDY__ONNX_MOST_SPATIAL];
    int64_t dilation[EDDY__ONNX_MOST_SPATIAL];
    eddy__onnx_size before[EDDY__ONNX_MOST_SPATIAL];
    eddy__onnx_size behind[EDDY__ONNX_MOST_SPATIAL];
    eddy__onnx_size out[EDDY__ONNX_MOST_SPATIAL];
    /* Added behind where the last window of ceil_mode sticks out. */
    eddy__onnx_size extra[EDDY__ONNX_MOST_SPATIAL];
} eddy__onnx_windows;

/*
 * Reads kernel_shape (or, where it is absent, takes the last dimensions of
 * `filter`, which may be absent too), strides, dilations, pads, auto_pad and
 * ceil_mode for an image `x`; false after a failure.
 */
bool eddy__onnx_windows_read(eddy__onnx_op *op, eddy_output x,
                             eddy_output filter, eddy__onnx_windows *out);

/* The size of a window with the gaps of its dilation. */
eddy__onnx_size eddy__onnx_reach(eddy__onnx_op *op, const eddy__onnx_windows *w,
                                 size_t i);

/* `x` with the margins of the windows, filled with a value; a scalar. */
eddy_output eddy__onnx_windows_pad(eddy__onnx_op *op, eddy_output x,
                                   const eddy__onnx_windows *w,
                                   eddy_output value);

/*
 * The windows along spatial axis `i` of a padded image: the axis becomes two,
 * [windows, elements].
 */
eddy_output eddy__onnx_windows_along(eddy__onnx_op *op, eddy_output padded,
                                     const eddy__onnx_windows *w, size_t i,
                                     int64_t axis);

#endif
