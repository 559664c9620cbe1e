/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sparse tensor as three tensors: the coordinates of the elements that are
 * there, a row each; these elements; and the shape.
 */
#ifndef EDDY_OPS_SPARSE_H
#define EDDY_OPS_SPARSE_H

#include "ops/math/elements.h"

typedef struct eddy__sparse {
    eddy_view indices; /* n rows of `shape.rank` coordinates */
    int64_t n;
    eddy_shape shape;
    int64_t strides[EDDY_MAX_RANK]; /* of a dense tensor, in elements */
    int64_t count;                  /* its elements */
} eddy__sparse;

/*
 * Reads the coordinates, elements and shape that inputs `first` to `first` + 2
 * are; fails unless these fit each other.
 */
eddy_status eddy__sparse_read(eddy_kernel *k, uint32_t first,
                              eddy__sparse *out);

/* Sets strides and count by the shape; fails if that is too large. */
eddy_status eddy__sparse_lay_out(eddy_kernel *k, eddy__sparse *s);

/* Fails, with the name of the coordinate, if an element lies outside. */
eddy_status eddy__sparse_check(eddy_kernel *k, const eddy__sparse *s);

/* Coordinate `d` of element `i`. */
static inline int64_t eddy__sparse_at(const eddy__sparse *s, int64_t i,
                                      int32_t d)
{
    return eddy__index_at(&s->indices, i * s->shape.rank + d);
}

/* Where element `i` stands in a dense tensor. */
static inline int64_t eddy__sparse_place(const eddy__sparse *s, int64_t i)
{
    int64_t at = 0;

    for (int32_t d = 0; d < s->shape.rank; d++)
        at += eddy__sparse_at(s, i, d) * s->strides[d];
    return at;
}

/* What a loop counts for an element. */
#define EDDY__SPARSE_WORK 8

#endif
