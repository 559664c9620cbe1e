/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows that slide over the rows and columns of images: what convolutions
 * and pools have in common.
 *
 * A batch of images has four dimensions, in the order NHWC or NCHW.  Here they
 * are always the batch, two sides (0: rows, 1: columns) and channels, with
 * strides that say how they lie in memory.
 */
#ifndef EDDY_OPS_WINDOW_H
#define EDDY_OPS_WINDOW_H

#include "core/graph/infer.h"
#include "core/kernel.h"

typedef enum eddy__padding {
    EDDY__PADDING_SAME,
    EDDY__PADDING_VALID,
    EDDY__PADDING_EXPLICIT,
} eddy__padding;

/* What the attributes say of one side. */
typedef struct eddy__slide {
    int64_t size; /* of the window, where it is an attribute; else 0 */
    int64_t stride, dilation;
    int64_t before, behind; /* explicit paddings */
} eddy__slide;

/* What the attributes say. */
typedef struct eddy__windows {
    bool is_nchw;
    eddy__padding padding;
    eddy__slide sides[2];
    int64_t depth; /* of a pool: channels that meet in one */
} eddy__windows;

/*
 * Reads `data_format`, `padding`, and as far as the op has them `strides`,
 * `dilations`, `explicit_paddings` and `ksize`; fails as TensorFlow does where
 * they make no sense.
 */
eddy_status eddy__windows_read(eddy_infer *infer, eddy__windows *out);

/* The same for a pool whose `ksize` and `strides` are two of its inputs. */
eddy_status eddy__windows_input(eddy_kernel *k, uint32_t size_input,
                                eddy__windows *windows);

/* The attribute `data_format` of an op; false if it is none of the two. */
bool eddy__window_read_format(const eddy_infer *infer, bool *out_is_nchw);

/* Is that what the attribute says? */
bool eddy__window_text_is(const eddy_string *text, const char *what);

/* A batch of images, its strides in elements. */
typedef struct eddy__images {
    int64_t n, sides[2], channels;
    int64_t step_image, steps[2], step_channel;
} eddy__images;

eddy__images eddy__images_of(const eddy_shape *shape, bool is_nchw);

/* The shape of one; dimensions may be unknown. */
eddy_shape eddy__images_shape(int64_t n, const int64_t sides[2],
                              int64_t channels, bool is_nchw);

/* How windows lie along one side. */
typedef struct eddy__side {
    int64_t in, out; /* places in the image, windows */
    int64_t size, stride, dilation, before;
} eddy__side;

/*
 * Windows of `size` places along a side of `in`; false if their number would be
 * negative or overflow.
 */
bool eddy__side_of(const eddy__windows *w, int32_t side, int64_t in,
                   int64_t size, eddy__side *out);

/* Both sides, or a failure of the kernel. */
eddy_status eddy__sides_of(eddy_kernel *k, const eddy__windows *w,
                           const eddy__images *in, const int64_t sizes[2],
                           eddy__side out[2]);

/* For shape functions: the number of windows, or -1 where it is unknown. */
eddy_status eddy__infer_side(eddy_infer *infer, const eddy__windows *w,
                             int32_t side, int64_t in, int64_t size,
                             int64_t *out);

/* Fails unless input `i`, which messages call `name`, has that shape. */
eddy_status eddy__window_want_shape(eddy_kernel *k, uint32_t i,
                                    const char *name, const eddy_shape *want);

/* The first place of window `i`, which may lie before the image. */
static inline int64_t eddy__side_start(const eddy__side *s, int64_t i)
{
    return i * s->stride - s->before;
}

/* The offsets [first, end) in window `i` that are inside the image. */
static inline void eddy__side_inside(const eddy__side *s, int64_t i,
                                     int64_t *out_first, int64_t *out_end)
{
    const int64_t start = eddy__side_start(s, i);
    const int64_t left = s->in - start;
    int64_t first = start < 0 ? (-start + s->dilation - 1) / s->dilation : 0;
    int64_t end = left > 0 ? (left + s->dilation - 1) / s->dilation : 0;

    if (end > s->size)
        end = s->size;
    *out_first = first < end ? first : end;
    *out_end = end;
}

#endif
