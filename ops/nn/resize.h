/* SPDX-License-Identifier: Apache-2.0 */
/* What the ways to resize images have in common: sizes, modes, and checks. */
#ifndef EDDY_OPS_RESIZE_H
#define EDDY_OPS_RESIZE_H

#include "core/graph/infer.h"
#include "core/kernel.h"

/* The attributes; a node's state. */
typedef struct eddy__resize_modes {
    bool aligns;  /* the corners' centres are the same */
    bool centres; /* elements are where their centre is */
} eddy__resize_modes;

/* One side of the images. */
typedef struct eddy__resized_side {
    int64_t in, out;
    float scale;
    eddy__resize_modes modes;
} eddy__resized_side;

typedef struct eddy__resizing {
    int64_t n, channels;
    eddy__resized_side rows, columns;
} eddy__resizing;

/* Resizes input 0 to the size in input 1: output 0, of `dtype`. */
eddy_status eddy__resize_begin(eddy_kernel *k, eddy_dtype dtype,
                               eddy__resizing *r, unsigned char **out);

/*
 * The gradient for input 1, whose resized images' gradients are input 0: output
 * 0, zeros like input 1.
 */
eddy_status eddy__resize_begin_back(eddy_kernel *k, eddy__resizing *r,
                                    unsigned char **out);

/* Element `i` of an image; NULL for dtypes that no image has. */
typedef float (*eddy__resize_load)(const void *from, int64_t i);

extern const eddy__resize_load eddy__resize_loaders[EDDY_DTYPE_COUNT];

/* The state that both want. */
eddy_status eddy__resize_prepare(eddy_infer *infer);

/* Shape functions. */
eddy_status eddy__infer_resized(eddy_infer *infer);
eddy_status eddy__infer_resized_back(eddy_infer *infer);

#endif
