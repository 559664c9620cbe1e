/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads shapes as batches of matrices, and moves one matrix between rows and
 * columns.
 */
#include "ops/linalg/linalg.h"

#include "ops/math/elements.h"
#include "ops/math/numeric.h"

#include <limits.h>

/* ---- batches ---- */

static const char *problem(const eddy_shape *shape, bool square,
                           eddy_detail *out_detail)
{
    const int64_t *last;

    if (shape->rank < 0)
        return NULL;
    *out_detail = EDDY_E_RANK;
    if (shape->rank < 2)
        return "at least a matrix is wanted";
    last = &shape->dims[shape->rank - 2];
    *out_detail = EDDY_E_SHAPE;
    if (square && last[0] >= 0 && last[1] >= 0 && last[0] != last[1])
        return "square matrices are wanted";
    *out_detail = EDDY_E_SIZE;
    if (last[0] > INT_MAX || last[1] > INT_MAX)
        return "the matrices are too large";
    return NULL;
}

#define BAD_MATRICES "input %" PRIu32 " has shape %s: %s"

eddy_status eddy__in_matrices(eddy_kernel *k, uint32_t i, bool square,
                              eddy__matrices *out)
{
    const eddy_shape *shape = eddy__in_shape(k, i);
    eddy_detail detail = EDDY_E_NONE;
    const char *what = problem(shape, square, &detail);

    if (what)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, detail, BAD_MATRICES, i,
                           eddy__shape_print(shape).text, what);
    *out = (eddy__matrices){
        .count = 1,
        .rows = (int32_t)shape->dims[shape->rank - 2],
        .columns = (int32_t)shape->dims[shape->rank - 1],
        .dtype = eddy__in_dtype(k, i),
        .data = eddy__in_elements(k, i),
    };
    for (int32_t d = 0; d < shape->rank - 2; d++)
        out->count *= shape->dims[d];
    out->work = out->dtype == EDDY_FLOAT16 ? EDDY_FLOAT32 : out->dtype;
    out->size = eddy_dtype_size(out->dtype);
    out->work_size = eddy_dtype_size(out->work);
    return EDDY_OK;
}

eddy_status eddy__infer_matrices(eddy_infer *infer, uint32_t i, bool square)
{
    const eddy_shape *shape = eddy_infer_input(infer, i);
    eddy_detail detail = EDDY_E_NONE;
    const char *what = problem(shape, square, &detail);

    if (!what)
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, detail, BAD_MATRICES,
                           i, eddy__shape_print(shape).text, what);
}

eddy_shape eddy__batch_shape(const eddy_shape *shape)
{
    eddy_shape batch = *shape;

    batch.rank -= 2;
    return batch;
}

eddy_shape eddy__shape_append(eddy_shape batch, int64_t rows)
{
    batch.dims[batch.rank++] = rows;
    return batch;
}

eddy_shape eddy__shape_append_two(eddy_shape batch, int64_t rows,
                                  int64_t columns)
{
    batch.dims[batch.rank++] = rows;
    batch.dims[batch.rank++] = columns;
    return batch;
}

/* ---- matrices ---- */

#define SAME(D, x) (x)
#define TO_FLOAT(D, x) eddy__load_F16(x)
#define TO_HALF(D, x) eddy__half_from_float(x)
#define CONJUGATE(D, x) conjf(x)
#define CONJUGATE_LONG(D, x) conj(x)

#define MOVE(name, from_type, to_type, CONVERT, TURNED)                        \
    static void move_##name(const from_type *from, int64_t rows,               \
                            int64_t columns, eddy__turn turn, to_type *to)     \
    {                                                                          \
        const bool transpose =                                                 \
            turn == EDDY__TURN_TRANSPOSE || turn == EDDY__TURN_ADJOINT;        \
        const bool conjugate =                                                 \
            turn == EDDY__TURN_CONJUGATE || turn == EDDY__TURN_ADJOINT;        \
        const int64_t step = transpose ? rows : 1;                             \
                                                                               \
        for (int64_t i = 0; i < rows; i++) {                                   \
            to_type *at = to + (transpose ? i : i * columns);                  \
                                                                               \
            for (int64_t j = 0; j < columns; j++) {                            \
                const to_type x = CONVERT(D, from[i * columns + j]);           \
                                                                               \
                at[j * step] = conjugate ? TURNED(D, x) : x;                   \
            }                                                                  \
        }                                                                      \
    }

MOVE(F32, float, float, SAME, SAME)
MOVE(F64, double, double, SAME, SAME)
MOVE(C64, eddy__complex64, eddy__complex64, SAME, CONJUGATE)
MOVE(C128, eddy__complex128, eddy__complex128, SAME, CONJUGATE_LONG)
MOVE(up, uint16_t, float, TO_FLOAT, SAME)
MOVE(down, float, uint16_t, TO_HALF, SAME)

void eddy__matrix_load(eddy_dtype dtype, const void *from, int64_t rows,
                       int64_t columns, eddy__turn turn, void *to)
{
    if (dtype == EDDY_FLOAT16)
        move_up(from, rows, columns, turn, to);
    else
        eddy__matrix_store(dtype, from, rows, columns, turn, to);
}

void eddy__matrix_store(eddy_dtype dtype, const void *from, int64_t rows,
                        int64_t columns, eddy__turn turn, void *to)
{
    if (dtype == EDDY_FLOAT16)
        move_down(from, rows, columns, turn, to);
    else if (dtype == EDDY_FLOAT32)
        move_F32(from, rows, columns, turn, to);
    else if (dtype == EDDY_FLOAT64)
        move_F64(from, rows, columns, turn, to);
    else if (dtype == EDDY_COMPLEX128)
        move_C128(from, rows, columns, turn, to);
    else
        move_C64(from, rows, columns, turn, to);
}

double _Complex eddy__number_at(eddy_dtype work, const void *array, int64_t i)
{
    if (work == EDDY_FLOAT32)
        return (double)((const float *)array)[i];
    if (work == EDDY_FLOAT64)
        return ((const double *)array)[i];
    if (work == EDDY_COMPLEX128)
        return ((const eddy__complex128 *)array)[i];
    return (double _Complex)((const eddy__complex64 *)array)[i];
}

void eddy__number_put(eddy_dtype work, void *array, int64_t i,
                      double _Complex value)
{
    if (work == EDDY_FLOAT32)
        ((float *)array)[i] = (float)creal(value);
    else if (work == EDDY_FLOAT64)
        ((double *)array)[i] = creal(value);
    else if (work == EDDY_COMPLEX128)
        ((eddy__complex128 *)array)[i] = value;
    else
        ((eddy__complex64 *)array)[i] = (eddy__complex64)value;
}
