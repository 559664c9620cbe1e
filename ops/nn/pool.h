/* SPDX-License-Identifier: Apache-2.0 */
/* What pools of images have in common: how their windows lie. */
#ifndef EDDY_OPS_POOL_H
#define EDDY_OPS_POOL_H

#include "ops/nn/window.h"

typedef struct eddy__window_pool {
    eddy__images in, out;
    eddy__side sides[2];
    int64_t depth; /* channels that meet in one */
    bool is_nchw;
    bool is_forward; /* a window's outputs are no other window's */
} eddy__window_pool;

/* A window on one image: its places, and where they are. */
typedef struct eddy__pool_window {
    int64_t first[2], end[2]; /* rows and columns inside the image */
    int64_t in, out; /* the image's first element, the output's for channel 0 */
} eddy__pool_window;

/* The loops of an op for a dtype; `a` and `b` are whatever it reads. */
typedef void (*eddy__pool_fn)(const eddy__window_pool *p,
                              const eddy__pool_window *w, const void *a,
                              const void *b, void *out);

/*
 * The windows over images of a shape, by the attributes in the kernel's state,
 * or, from input `size_input` on if that is not 0, by the ksize and strides
 * there.
 */
eddy_status eddy__pool_of(eddy_kernel *k, const eddy_shape *images,
                          uint32_t size_input, eddy__window_pool *out);

/* Fails unless the pool is over rows and columns. */
eddy_status eddy__pool_flat(eddy_kernel *k, const eddy__window_pool *p);

eddy_shape eddy__pool_shape(const eddy__window_pool *p);

/*
 * Calls `visit` for each window; for those of one image in order, unless the
 * pool is forward.
 */
eddy_status eddy__pool_visit(eddy_kernel *k, const eddy__window_pool *p,
                             eddy__pool_fn visit, const void *a, const void *b,
                             void *out);

/* The state that eddy__pool_of wants. */
eddy_status eddy__pool_prepare(eddy_infer *infer);

/* A shape function: the windows over input 0, for every output. */
eddy_status eddy__pool_infer(eddy_infer *infer);

#endif
