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

/* eddy__sparse_read of inputs that are `apart` from each other. */
eddy_status eddy__sparse_read_apart(eddy_kernel *k, uint32_t first,
                                    uint32_t apart, eddy__sparse *out);

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

/* Coordinates of n elements, `rank` each, and the elements. */
typedef struct eddy__sparse_rows {
    const int64_t *at;
    int64_t n;
    int32_t rank;
    eddy_dtype dtype;
    const unsigned char *elements; /* numeric, bools or strings */
} eddy__sparse_rows;

/*
 * Where the rows come when they are in order, equal ones as they are: a tensor
 * of the caller's, and the places in it.
 */
eddy_status eddy__sparse_sort(eddy_kernel *k, const eddy__sparse_rows *rows,
                              eddy_tensor **out_room,
                              const int64_t **out_places);

/* Outputs 0 and 1: the coordinates and the elements, in order. */
eddy_status eddy__sparse_put_sorted(eddy_kernel *k,
                                    const eddy__sparse_rows *rows);

/* Output `i`: a shape as a vector of int64. */
eddy_status eddy__sparse_put_shape(eddy_kernel *k, uint32_t i,
                                   const eddy_shape *shape);

/* Outputs `i` of `n` rows of `rank` coordinates, to be set. */
eddy_status eddy__sparse_output_rows(eddy_kernel *k, uint32_t i, int64_t n,
                                     int32_t rank, int64_t **out);

/*
 * Compares row `i` of a to row `j` of b, both of `rank` coordinates: negative
 * if it comes first, 0 if they are the same.
 */
static inline int eddy__sparse_compare(const int64_t *a, int64_t i,
                                       const int64_t *b, int64_t j,
                                       int32_t rank)
{
    for (int32_t d = 0; d < rank; d++)
        if (a[i * rank + d] != b[j * rank + d])
            return a[i * rank + d] < b[j * rank + d] ? -1 : 1;
    return 0;
}

/* Sets shapes of outputs: `n` sparse tensors, three outputs each. */
eddy_status eddy__infer_sparse(eddy_infer *infer);

/* For prepare: the kernel moves elements of the attribute T. */
eddy_status eddy__sparse_prepare(eddy_infer *infer);

/* What a loop counts for an element. */
#define EDDY__SPARSE_WORK 8

#endif
