/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lies under each window over a batch of images, as a matrix: a row for
 * each window (image, row, column), in it the places of the window (row,
 * column, channel), 0 where they are outside the image.  A convolution is the
 * product of this matrix and the filter.
 *
 * The matrix is only ever made a block of rows at a time, in the dtype that is
 * computed with: float32 for float16 and bfloat16, else that of the images.
 */
#ifndef EDDY_OPS_PATCHES_H
#define EDDY_OPS_PATCHES_H

#include "ops/nn/window.h"

typedef struct eddy__patches {
    eddy__images in;
    eddy__side sides[2];
    int64_t first_channel, channels; /* those that are taken */
} eddy__patches;

/* Columns of the matrix. */
static inline int64_t eddy__patch_size(const eddy__patches *p)
{
    return p->sides[0].size * p->sides[1].size * p->channels;
}

/* Windows on one image. */
static inline int64_t eddy__patches_an_image(const eddy__patches *p)
{
    return p->sides[0].out * p->sides[1].out;
}

/* Is the matrix the images as they lie in memory? */
bool eddy__patches_are_images(const eddy__patches *p);

/* The elements of images themselves, as patches of size 1. */
eddy__patches eddy__patch_pixels(const eddy__images *images,
                                 int64_t first_channel, int64_t channels);

/* The loops for a dtype. */
typedef struct eddy__patch_loops {
    eddy_dtype computed;
    size_t size; /* of a computed element */

    /* Makes rows [first, first + n) of the matrix. */
    void (*gather)(const eddy__patches *p, const void *images, int64_t first,
                   int64_t n, void *matrix);

    /* Adds these rows to images of the computed dtype. */
    void (*scatter)(const eddy__patches *p, const void *matrix, int64_t first,
                    int64_t n, void *images);

    /* Sets the images to these rows; of pixels only. */
    void (*put)(const eddy__patches *p, const void *matrix, int64_t first,
                int64_t n, void *images);

    void (*load)(void *computed, const void *stored, int64_t n);
    void (*store)(void *stored, const void *computed, int64_t n);
    void (*add)(void *sum, const void *computed, int64_t n);
} eddy__patch_loops;

/* NULL for dtypes that nothing is convolved in. */
const eddy__patch_loops *eddy__patch_loops_of(eddy_dtype dtype);

#endif
