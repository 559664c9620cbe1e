/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ops of linear algebra share: batches of matrices in the last two
 * dimensions of a tensor, and moving one between the tensor and LAPACK, which
 * stores columns where the tensor stores rows and knows no float16.
 */
#ifndef EDDY_OPS_LINALG_H
#define EDDY_OPS_LINALG_H

#include "core/graph/infer.h"
#include "ops/misc/scratch.h"

/* A batch of `count` matrices. */
typedef struct eddy__matrices {
    int64_t count;
    int32_t rows, columns;
    eddy_dtype dtype, work; /* as it is, and as LAPACK computes it */
    size_t size, work_size;
    const unsigned char *data;
} eddy__matrices;

/*
 * Input `i`, which must have rank 2 at least, square matrices if so wanted, and
 * no dimension beyond what LAPACK can count.
 */
eddy_status eddy__in_matrices(eddy_kernel *k, uint32_t i, bool square,
                              eddy__matrices *out);

/* The same for a shape function, so far as the shape is known. */
eddy_status eddy__infer_matrices(eddy_infer *infer, uint32_t i, bool square);

/* The dimensions before the last two, of a shape of rank 2 at least. */
eddy_shape eddy__linalg_batch_shape(const eddy_shape *shape);

/* A batch's shape with one or two dimensions more. */
eddy_shape eddy__linalg_shape_append(eddy_shape batch, int64_t rows);
eddy_shape eddy__linalg_shape_append_two(eddy_shape batch, int64_t rows,
                                         int64_t columns);

/* How a matrix is moved. */
typedef enum eddy__turn {
    EDDY__TURN_NONE,
    EDDY__TURN_TRANSPOSE,
    EDDY__TURN_CONJUGATE,
    EDDY__TURN_ADJOINT, /* both */
} eddy__turn;

/* The matrix that is moved, as it is before that. */
typedef struct eddy__move {
    int64_t rows, columns;
    eddy__turn turn;
} eddy__move;

/* Elements of a tile: so many columns of a large matrix are asked between. */
#define EDDY__TILE ((int64_t)32)

/*
 * Moves a matrix of `dtype` to the dtype of work, and back.  CANCELLED if the
 * run is to stop, and then only a part was moved.
 */
eddy_status eddy__matrix_load(eddy_kernel *k, eddy_dtype dtype,
                              const eddy__move *move, const void *from,
                              void *to);
eddy_status eddy__matrix_store(eddy_kernel *k, eddy_dtype dtype,
                               const eddy__move *move, const void *from,
                               void *to);

/* Element `i` of an array of a dtype of work, as complex, and back. */
double _Complex eddy__number_at(eddy_dtype work, const void *array, int64_t i);
void eddy__number_put(eddy_dtype work, void *array, int64_t i,
                      double _Complex value);

#endif
