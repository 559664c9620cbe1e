/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copying a box of elements between two layouts: the one loop behind slices,
 * concatenation, transposition, tiling, reversal and padding.
 *
 * A box has dimensions and, for both sides, a stride in bytes along each of
 * them; strides of the source may be negative (a reversed axis) or 0 (a
 * repeated one).  No two elements of the target may be the same.
 */
#ifndef EDDY_OPS_BOX_H
#define EDDY_OPS_BOX_H

#include "eddy/op.h"

/* Tile has two dimensions for each of its input's, or one more. */
#define EDDY__BOX_RANK (2 * EDDY_MAX_RANK + 1)

typedef struct eddy__box {
    int32_t rank;
    size_t item; /* bytes an element; grows as whole runs are found */
    int64_t dims[EDDY__BOX_RANK];
    int64_t from[EDDY__BOX_RANK];
    int64_t to[EDDY__BOX_RANK];
} eddy__box;

/* Adds an innermost dimension. */
static inline void eddy__box_add(eddy__box *box, int64_t dim, int64_t from,
                                 int64_t to)
{
    int32_t d = box->rank++;

    box->dims[d] = dim;
    box->from[d] = from;
    box->to[d] = to;
}

/*
 * Copies; changes `box` on the way.  `k`, if it is not NULL, is asked whether
 * to stop, and then the rest is not copied.
 */
void eddy__box_copy(eddy_kernel *k, eddy__box *box, unsigned char *to,
                    const unsigned char *from);

/* Strides in bytes of a dense tensor of a known shape; those of empty tensors
 * are not meant to be used. */
void eddy__box_dense_strides(const eddy_shape *shape, size_t item,
                             int64_t strides[EDDY_MAX_RANK]);

#endif
