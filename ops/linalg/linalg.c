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

eddy_shape eddy__linalg_batch_shape(const eddy_shape *shape)
{
    eddy_shape batch = *shape;

    batch.rank -= 2;
    return batch;
}

eddy_shape eddy__linalg_shape_append(eddy_shape batch, int64_t rows)
{
    batch.dims[batch.rank++] = rows;
    return batch;
}

eddy_shape eddy__linalg_shape_append_two(eddy_shape batch, int64_t rows,
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

/* Elements of a row that is not turned, between two questions. */
#define ROW_PART ((int64_t)1 << 14)

/* A part of the matrix, and how far apart its elements are. */
typedef struct part {
    int64_t rows, columns;
    int64_t from_row, to_row, to_column;
    bool conjugate;
} part;

/*
 * A matrix that is turned goes tile by tile: along its rows, each element would
 * be written to another page.
 */
static part part_of(const eddy__move *m)
{
    const bool turned =
        m->turn == EDDY__TURN_TRANSPOSE || m->turn == EDDY__TURN_ADJOINT;

    return (part){
        .rows = turned ? EDDY__TILE : 1,
        .columns = turned ? EDDY__TILE : ROW_PART,
        .from_row = m->columns,
        .to_row = turned ? 1 : m->columns,
        .to_column = turned ? m->rows : 1,
        .conjugate =
            m->turn == EDDY__TURN_CONJUGATE || m->turn == EDDY__TURN_ADJOINT,
    };
}

#define MOVE(name, from_type, to_type, CONVERT, TURNED)                        \
    static void move_part_##name(const part *p, const from_type *from,         \
                                 to_type *to)                                  \
    {                                                                          \
        for (int64_t i = 0; i < p->rows; i++) {                                \
            const from_type *x = from + i * p->from_row;                       \
            to_type *y = to + i * p->to_row;                                   \
                                                                               \
            for (int64_t j = 0; j < p->columns; j++) {                         \
                const to_type moved = CONVERT(D, x[j]);                        \
                                                                               \
                y[j * p->to_column] = p->conjugate ? TURNED(D, moved) : moved; \
            }                                                                  \
        }                                                                      \
    }                                                                          \
                                                                               \
    static eddy_status move_##name(eddy_kernel *k, const eddy__move *m,        \
                                   const from_type *from, to_type *to)         \
    {                                                                          \
        const part whole = part_of(m);                                         \
        part p = whole;                                                        \
                                                                               \
        for (int64_t i = 0; i < m->rows; i += whole.rows)                      \
            for (int64_t j = 0; j < m->columns; j += whole.columns) {          \
                p.rows = least(whole.rows, m->rows - i);                       \
                p.columns = least(whole.columns, m->columns - j);              \
                EDDY_TRY(eddy__go_on(k, 4 * p.rows * p.columns));              \
                move_part_##name(&p, from + i * p.from_row + j,                \
                                 to + i * p.to_row + j * p.to_column);         \
            }                                                                  \
        return EDDY_OK;                                                        \
    }

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

MOVE(F32, float, float, SAME, SAME)
MOVE(F64, double, double, SAME, SAME)
MOVE(C64, eddy__complex64, eddy__complex64, SAME, CONJUGATE)
MOVE(C128, eddy__complex128, eddy__complex128, SAME, CONJUGATE_LONG)
MOVE(up, uint16_t, float, TO_FLOAT, SAME)
MOVE(down, float, uint16_t, TO_HALF, SAME)

eddy_status eddy__matrix_load(eddy_kernel *k, eddy_dtype dtype,
                              const eddy__move *move, const void *from,
                              void *to)
{
    if (dtype == EDDY_FLOAT16)
        return move_up(k, move, from, to);
    return eddy__matrix_store(k, dtype, move, from, to);
}

eddy_status eddy__matrix_store(eddy_kernel *k, eddy_dtype dtype,
                               const eddy__move *move, const void *from,
                               void *to)
{
    if (dtype == EDDY_FLOAT16)
        return move_down(k, move, from, to);
    if (dtype == EDDY_FLOAT32)
        return move_F32(k, move, from, to);
    if (dtype == EDDY_FLOAT64)
        return move_F64(k, move, from, to);
    if (dtype == EDDY_COMPLEX128)
        return move_C128(k, move, from, to);
    return move_C64(k, move, from, to);
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
