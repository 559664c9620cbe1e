/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Index expressions, as StridedSlice and its family have them.
 *
 * Begins, ends and strides, inputs 1 to 3, have an entry per item of an
 * expression such as x[..., tf.newaxis, 2:7:3, 1]; bit i of the masks says
 * something of entry i: begin, end (that the bound is not given), ellipsis,
 * new_axis, shrink_axis (an index, not a range), the earlier of the last three
 * winning.  An expression without an ellipsis ends in one.
 */
#ifndef EDDY_OPS_STRIDED_H
#define EDDY_OPS_STRIDED_H

#include "core/graph/infer.h"
#include "core/kernel.h"

/* What to take of each input dimension, and the shape that it makes. */
typedef struct eddy__region {
    int64_t begin[EDDY_MAX_RANK], stride[EDDY_MAX_RANK], size[EDDY_MAX_RANK];
    /* Which dimension of `shape` each is; -1: none, an index is taken. */
    int32_t place[EDDY_MAX_RANK];
    eddy_shape shape;
} eddy__region;

/* The state of a node that has an expression. */
typedef struct eddy__slice_masks {
    uint32_t begin, end, ellipsis, new_axis, shrink;
    bool is_index; /* entry 0 is an index */
} eddy__slice_masks;

/* The attributes of the masks, to end the list of a row. */
#define EDDY__SLICE_MASKS                                                      \
    ", begin_mask: int = 0, end_mask: int = 0, ellipsis_mask: int = 0, "       \
    "new_axis_mask: int = 0, shrink_axis_mask: int = 0"

/* Makes the masks the node's state. */
eddy_status eddy__strided_prepare(eddy_infer *infer);

/*
 * What the expression takes of a tensor of shape `of`; fails if something is
 * wrong with it.
 */
eddy_status eddy__strided_read(eddy_kernel *k, const eddy_shape *of,
                               eddy__region *r);

/*
 * Output 0 is what the expression takes of input 0, so far as that is known.  A
 * mistake in the expression is left to the kernel, which may never run.
 */
eddy_status eddy__strided_infer(eddy_infer *infer);

#endif
