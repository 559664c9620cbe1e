/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sparse tensors whose coordinates change: SparseReorder and SparseReshape.
 */
#include "ops/ops.h"
#include "ops/sparse/sparse.h"

#include <inttypes.h>
#include <string.h>

static eddy_status run_reorder(eddy_kernel *k)
{
    eddy__sparse s;

    EDDY_TRY(eddy__sparse_read(k, 0, &s));
    return eddy__sparse_put_sorted(
        k, &(eddy__sparse_rows){.at = s.indices.data,
                                .n = s.n,
                                .rank = s.shape.rank,
                                .dtype = eddy__in_dtype(k, 1),
                                .elements = eddy__in_elements(k, 1)});
}

static eddy_status infer_reorder(eddy_infer *infer)
{
    eddy_infer_set_output(infer, 0, eddy_infer_input(infer, 0));
    eddy_infer_set_output(infer, 1, eddy_infer_input(infer, 1));
    return EDDY_OK;
}

/* ---- SparseReshape ---- */

/* The new shape, whose one -1 is what is left of the elements. */
static eddy_status read_new_shape(eddy_kernel *k, const eddy__sparse *of,
                                  eddy__sparse *to)
{
    const eddy_view view = eddy__in_view(k, 2);
    int64_t known = 1;
    int32_t open = -1;

    EDDY_TRY(eddy__shape_from_view(k, &view, -1, &to->shape));
    for (int32_t d = 0; d < to->shape.rank; d++) {
        if (to->shape.dims[d] >= 0) {
            if (__builtin_mul_overflow(known, to->shape.dims[d], &known))
                return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                                   "the new shape is too large");
            continue;
        }
        if (open >= 0)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                               "dimensions %d and %d of the new shape are "
                               "both to be found; one may be",
                               open, d);
        open = d;
    }
    if (open >= 0)
        to->shape.dims[open] = known > 0 ? of->count / known : 0;
    EDDY_TRY(eddy__sparse_lay_out(k, to));
    if (to->count == of->count)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "a tensor of %" PRId64
                       " elements can not get a shape of %" PRId64,
                       of->count, to->count);
}

static eddy_status read_old_shape(eddy_kernel *k, eddy__sparse *s)
{
    const eddy_shape *indices = eddy__in_shape(k, 0);
    const eddy_view shape = eddy__in_view(k, 1);

    EDDY_TRY(eddy__shape_from_view(k, &shape, 0, &s->shape));
    if (indices->rank != 2 || indices->dims[1] != s->shape.rank)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "the indices must be a matrix with %d columns, but "
                           "have shape %s",
                           s->shape.rank, eddy__shape_print(indices).text);
    s->indices = eddy__in_view(k, 0);
    s->n = indices->dims[0];
    EDDY_TRY(eddy__sparse_lay_out(k, s));
    return eddy__sparse_check(k, s);
}

static eddy_status run_reshape(eddy_kernel *k)
{
    eddy__sparse of, to = {.n = 0};
    eddy_shape matrix = {.rank = 2}, vector;
    unsigned char *shape;
    unsigned char *out;
    int64_t *at;

    EDDY_TRY(read_old_shape(k, &of));
    EDDY_TRY(read_new_shape(k, &of, &to));
    matrix.dims[0] = of.n;
    matrix.dims[1] = to.shape.rank;
    vector = eddy__shape_vector(to.shape.rank);
    EDDY_TRY(eddy__output_elements(k, 0, EDDY_INT64, &matrix, &out));
    EDDY_TRY(eddy__output_elements(k, 1, EDDY_INT64, &vector, &shape));
    if (to.shape.rank > 0)
        memcpy(shape, to.shape.dims,
               (size_t)to.shape.rank * sizeof *to.shape.dims);
    at = (int64_t *)(void *)out;
    for (int64_t i = 0; i < of.n && !eddy__spent(k, 64); i++) {
        int64_t place = eddy__sparse_place(&of, i);

        for (int32_t d = 0; d < to.shape.rank; d++) {
            *at++ = place / to.strides[d];
            place %= to.strides[d];
        }
    }
    return EDDY_OK;
}

static eddy_status infer_reshape(eddy_infer *infer)
{
    const eddy_shape *indices = eddy_infer_input(infer, 0);
    const eddy_shape *shape = eddy_infer_input(infer, 2);
    eddy_shape matrix = eddy__shape_of_rank(2);

    if (indices->rank == 2)
        matrix.dims[0] = indices->dims[0];
    if (shape->rank == 1)
        matrix.dims[1] = shape->dims[0];
    eddy_infer_set_output(infer, 0, &matrix);
    if (shape->rank == 1)
        eddy_infer_set_output(infer, 1, shape);
    return EDDY_OK;
}

/* ---- definitions ---- */

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("SparseReorder",
                 .inputs = "input_indices: int64, input_values: T, "
                           "input_shape: int64",
                 .outputs = "output_indices: int64, output_values: T",
                 .attrs = "T: type", .infer = infer_reorder,
                 .kernel = run_reorder, .prepare = eddy__sparse_prepare,
                 .doc = "A sparse tensor with its elements in the order of "
                        "their coordinates."),
    EDDY__OP_ROW("SparseReshape",
                 .inputs = "input_indices: int64, input_shape: int64, "
                           "new_shape: int64",
                 .outputs = "output_indices: int64, output_shape: int64",
                 .infer = infer_reshape, .kernel = run_reshape,
                 .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "The coordinates of the same elements in another "
                        "shape."),
};

const eddy__op_table eddy__sparse_order_ops = {specs, NULL,
                                               sizeof specs / sizeof *specs};
