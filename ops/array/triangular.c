/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops on triangular factors: Cholesky, CholeskyGrad, MatrixTriangularSolve.
 *
 * LAPACK sees a matrix's rows as columns, so a lower triangle as an upper one.
 */
#include "ops/linalg/lapack.h"
#include "ops/linalg/linalg.h"
#include "ops/linalg/product.h"
#include "ops/math/elements.h"
#include "ops/math/numeric.h"
#include "ops/ops.h"

#include <math.h>
#include <string.h>

/* ---- Cholesky ---- */

/* Copies the lower triangle, with zeros above it. */
static eddy_status copy_lower(eddy_kernel *k, const eddy__matrices *m,
                              const unsigned char *from, unsigned char *to)
{
    const size_t row = (size_t)m->rows * m->size;

    for (size_t i = 0; i < (size_t)m->rows; i++) {
        const size_t kept = (i + 1) * m->size;

        EDDY_TRY(eddy__go_on(k, (int64_t)row));
        memcpy(to + i * row, from + i * row, kept);
        memset(to + i * row + kept, 0, row - kept);
    }
    return EDDY_OK;
}

/* Makes NaNs of the lower triangle, from row and column `first` on. */
static void spoil(eddy_kernel *k, const eddy__matrices *m, void *matrix,
                  int64_t first)
{
    for (int64_t i = first; i < m->rows && !eddy__spent(k, 8 * i); i++)
        for (int64_t j = first; j <= i; j++)
            eddy__number_put(m->work, matrix, i * m->rows + j, (double)NAN);
}

/* The first NaN of the diagonal, or the number of rows. */
static int64_t find_nan(const eddy__matrices *m, const void *matrix)
{
    for (int64_t i = 0; i < m->rows; i++)
        if (isnan(creal(eddy__number_at(m->work, matrix, i * m->rows + i))))
            return i;
    return m->rows;
}

/*
 * A matrix that is not positive definite has no factor; a NaN in one spoils
 * what comes after it, which BLAS does not promise.
 */
static eddy_status factorise(eddy_kernel *k, const eddy__matrices *m,
                             void *matrix)
{
    bool found;

    EDDY_TRY(eddy__lapack_cholesky(k, m->dtype, m->rows, matrix, &found));
    spoil(k, m, matrix, found ? find_nan(m, matrix) : 0);
    return EDDY_OK;
}

/* The diagonal of a self-adjoint matrix is real, whatever stands there. */
static void make_diagonal_real(const eddy__matrices *m, void *matrix)
{
    if (!eddy__dtype_is_complex(m->dtype))
        return;
    for (int64_t i = 0; i < m->rows; i++) {
        const int64_t at = i * (m->rows + 1);

        eddy__number_put(m->dtype, matrix, at,
                         creal(eddy__number_at(m->dtype, matrix, at)));
    }
}

static eddy_status run_cholesky(eddy_kernel *k)
{
    eddy__matrices m;
    void *data;
    unsigned char *out;

    EDDY_TRY(eddy__in_matrices(k, 0, true, &m));
    EDDY_TRY(eddy__output(k, 0, m.dtype, eddy__in_shape(k, 0), &data));
    if (m.rows == 0)
        return EDDY_OK;
    out = data;
    for (int64_t i = 0; i < m.count; i++) {
        const size_t at = (size_t)i * (size_t)m.rows * (size_t)m.rows * m.size;

        EDDY_TRY(copy_lower(k, &m, m.data + at, out + at));
        make_diagonal_real(&m, out + at);
        EDDY_TRY(factorise(k, &m, out + at));
    }
    return EDDY_OK;
}

static eddy_status infer_cholesky(eddy_infer *infer)
{
    EDDY_TRY(eddy__infer_matrices(infer, 0, true));
    return eddy__infer_unchanged(infer);
}

/* ---- CholeskyGrad ---- */

/* Zero above the diagonal, half of it on the diagonal. */
static eddy_status halve_lower(eddy_kernel *k, const eddy__matrices *m,
                               void *matrix)
{
    for (int64_t i = 0; i < m->rows; i++) {
        const int64_t row = i * m->rows;

        EDDY_TRY(eddy__go_on(k, (int64_t)8 * m->rows));
        eddy__number_put(m->work, matrix, row + i,
                         eddy__number_at(m->work, matrix, row + i) / 2);
        for (int64_t j = i + 1; j < m->rows; j++)
            eddy__number_put(m->work, matrix, row + j, 0);
    }
    return EDDY_OK;
}

/* Element `i`, `j` of the mean. */
static void put_mean(const eddy__matrices *m, const void *from, int64_t i,
                     int64_t j, void *to)
{
    const int64_t n = m->rows;

    eddy__number_put(m->work, to, i * n + j,
                     (eddy__number_at(m->work, from, i * n + j) +
                      eddy__number_at(m->work, from, j * n + i)) /
                         2);
}

/* Tile by tile, since one of the two is read down its columns. */
static void mean_with_transpose(eddy_kernel *k, const eddy__matrices *m,
                                const void *from, void *to)
{
    const int64_t n = m->rows;

    for (int64_t at = 0; at < n; at += EDDY__TILE)
        for (int64_t j = 0; j < n && !eddy__spent(k, 16 * EDDY__TILE); j++)
            for (int64_t i = at; i < n && i < at + EDDY__TILE; i++)
                put_mean(m, from, i, j, to);
}

/*
 * With P the halved lower triangle of L^T G, the gradient is the symmetric part
 * of S = L^-T P L^-1.  Murray (2016), Differentiation of the Cholesky
 * decomposition.
 */
static eddy_status backpropagate(eddy_kernel *k, const eddy__matrices *l,
                                 const unsigned char *factor,
                                 const unsigned char *gradient,
                                 unsigned char *const scratch[3], void *out)
{
    const int64_t n = l->rows;
    const eddy__product p = {.kernel = k,
                             .m = n,
                             .n = n,
                             .k = n,
                             .transpose_a = true,
                             .a = scratch[0],
                             .b = scratch[1],
                             .out = scratch[2]};
    const eddy__lapack_triangle triangle = {
        .n = l->rows, .upper = true, .adjoint = true, .a = scratch[0]};
    const eddy__move turned = {n, n, EDDY__TURN_TRANSPOSE};

    EDDY_TRY(copy_lower(k, l, factor, scratch[0]));
    EDDY_TRY(copy_lower(k, l, gradient, scratch[1]));
    eddy__product_of(l->dtype)(&p);
    EDDY_TRY(halve_lower(k, l, scratch[2]));
    EDDY_TRY(eddy__matrix_store(k, l->dtype, &turned, scratch[2], scratch[1]));
    EDDY_TRY(
        eddy__lapack_triangular(k, l->dtype, &triangle, l->rows, scratch[1]));
    EDDY_TRY(eddy__matrix_store(k, l->dtype, &turned, scratch[1], scratch[2]));
    EDDY_TRY(
        eddy__lapack_triangular(k, l->dtype, &triangle, l->rows, scratch[2]));
    mean_with_transpose(k, l, scratch[2], out);
    return EDDY_OK;
}

#define NOT_SAME "l and grad have shapes %s and %s, which must be the same"

static eddy_status run_cholesky_grad(eddy_kernel *k)
{
    const eddy_shape *shape = eddy__in_shape(k, 0);
    unsigned char *scratch[3], *out;
    eddy__matrices l, g;
    eddy_status status = EDDY_OK;
    eddy_tensor *memory;
    size_t bytes;
    void *data;

    EDDY_TRY(eddy__in_matrices(k, 0, true, &l));
    EDDY_TRY(eddy__in_matrices(k, 1, true, &g));
    if (!eddy__shape_equal(shape, eddy__in_shape(k, 1)))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE, NOT_SAME,
                           eddy__shape_print(shape).text,
                           eddy__shape_print(eddy__in_shape(k, 1)).text);
    EDDY_TRY(eddy__output(k, 0, l.dtype, shape, &data));
    if (l.count == 0 || l.rows == 0)
        return EDDY_OK;
    out = data;
    bytes = (size_t)l.rows * (size_t)l.rows * l.size;
    EDDY_TRY(eddy__scratch(k, l.dtype, 3 * (int64_t)l.rows * l.rows, &memory));
    for (size_t i = 0; i < 3; i++)
        scratch[i] = (unsigned char *)memory->data + i * bytes;
    for (size_t i = 0; i < (size_t)l.count && status == EDDY_OK; i++)
        status = backpropagate(k, &l, l.data + i * bytes, g.data + i * bytes,
                               scratch, out + i * bytes);
    eddy__scratch_free(k, memory);
    return status;
}

static eddy_status infer_cholesky_grad(eddy_infer *infer)
{
    const eddy_shape *l = eddy_infer_input(infer, 0);
    const eddy_shape *g = eddy_infer_input(infer, 1);
    eddy_shape both;

    EDDY_TRY(eddy__infer_matrices(infer, 0, true));
    EDDY_TRY(eddy__infer_matrices(infer, 1, true));
    if (!eddy__shape_merge(l, g, &both))
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               NOT_SAME, eddy__shape_print(l).text,
                               eddy__shape_print(g).text);
    eddy_infer_set_output(infer, 0, &both);
    return EDDY_OK;
}

/* ---- MatrixTriangularSolve ---- */

typedef struct state {
    bool is_lower, is_adjoint;
} state;

#define MISFIT                                                                 \
    "triangular matrices of shape %s can't be solved for a right side of %s"

/* The shape of the solutions and their batch; false if the two don't fit. */
static bool solution_shape(const eddy_shape *matrix, const eddy_shape *right,
                           eddy_shape *out_batch, eddy_shape *out)
{
    eddy_shape a, b;

    *out = eddy__shape_unknown();
    if (matrix->rank < 0 || right->rank < 0)
        return true;
    a = eddy__linalg_batch_shape(matrix);
    b = eddy__linalg_batch_shape(right);
    if (!eddy__shape_broadcast(&a, &b, out_batch))
        return false;
    if (matrix->dims[a.rank] >= 0 && right->dims[b.rank] >= 0 &&
        matrix->dims[a.rank] != right->dims[b.rank])
        return false;
    *out = eddy__linalg_shape_append_two(*out_batch, right->dims[b.rank],
                                         right->dims[b.rank + 1]);
    return true;
}

/*
 * Which matrix of `of` meets in matrix `i` of the broadcast batch, which has no
 * dimension of 0 then.
 */
static size_t batch_index(const eddy_shape *of, const eddy_shape *batch,
                          int64_t i)
{
    int64_t at = 0, step = 1;

    for (int32_t d = batch->rank - 1, own = of->rank - 3; own >= 0; d--) {
        const int64_t dim = batch->dims[d] > 0 ? batch->dims[d] : 1;

        at += of->dims[own] == 1 ? 0 : i % dim * step;
        i /= dim;
        step *= of->dims[own--];
    }
    return (size_t)at;
}

static eddy_status run_triangular(eddy_kernel *k)
{
    const state *s = eddy__state(k);
    const eddy_shape *matrix = eddy__in_shape(k, 0);
    const eddy_shape *right = eddy__in_shape(k, 1);
    eddy_shape batch = {.rank = 0}, shape;
    eddy__matrices m, r;
    int64_t count = 1;
    size_t bytes;
    void *data;

    EDDY_TRY(eddy__in_matrices(k, 0, true, &m));
    EDDY_TRY(eddy__in_matrices(k, 1, false, &r));
    if (!solution_shape(matrix, right, &batch, &shape))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE, MISFIT,
                           eddy__shape_print(matrix).text,
                           eddy__shape_print(right).text);
    EDDY_TRY(eddy__output(k, 0, m.dtype, &shape, &data));
    for (int32_t d = 0; d < batch.rank; d++)
        count *= batch.dims[d];
    if (r.rows == 0 || r.columns == 0)
        return EDDY_OK;
    bytes = (size_t)r.rows * (size_t)r.columns * r.size;
    for (int64_t i = 0; i < count; i++) {
        unsigned char *x = (unsigned char *)data + (size_t)i * bytes;
        const eddy__lapack_triangle triangle = {
            .n = m.rows,
            .upper = s->is_lower,
            .adjoint = s->is_adjoint,
            .a = m.data + batch_index(matrix, &batch, i) * (size_t)m.rows *
                              (size_t)m.rows * m.size,
        };

        eddy__copy_bytes(k, x, r.data + batch_index(right, &batch, i) * bytes,
                         bytes);
        EDDY_TRY(eddy__go_on(k, 0));
        EDDY_TRY(eddy__lapack_triangular(k, m.dtype, &triangle, r.columns, x));
    }
    return EDDY_OK;
}

static eddy_status infer_triangular(eddy_infer *infer)
{
    const eddy_shape *matrix = eddy_infer_input(infer, 0);
    const eddy_shape *right = eddy_infer_input(infer, 1);
    eddy_shape batch, shape;

    EDDY_TRY(eddy__infer_matrices(infer, 0, true));
    EDDY_TRY(eddy__infer_matrices(infer, 1, false));
    if (!solution_shape(matrix, right, &batch, &shape))
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               MISFIT, eddy__shape_print(matrix).text,
                               eddy__shape_print(right).text);
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static eddy_status prepare_triangular(eddy_infer *infer)
{
    state *s = eddy__prepare_state(infer, sizeof *s);

    if (!s)
        return EDDY_RESOURCE_EXHAUSTED;
    s->is_lower = eddy__infer_bool(infer, "lower");
    s->is_adjoint = eddy__infer_bool(infer, "adjoint");
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("Cholesky", .inputs = "input: T", .outputs = "output: T",
                 .attrs = "T: {float64, float32, complex}",
                 .infer = infer_cholesky, .kernel = run_cholesky,
                 .flags = EDDY_OP_HEAVY,
                 .doc = "The lower triangular factor L of each matrix L L^H; "
                        "NaN if it is not positive definite."),
    EDDY__OP_ROW("CholeskyGrad", .inputs = "l: T, grad: T",
                 .outputs = "output: T", .attrs = "T: {float32, float64}",
                 .infer = infer_cholesky_grad, .kernel = run_cholesky_grad,
                 .flags = EDDY_OP_HEAVY,
                 .doc = "The gradient of what Cholesky was given, from that of "
                        "its result."),
    EDDY__OP_ROW("MatrixTriangularSolve", .inputs = "matrix: T, rhs: T",
                 .outputs = "output: T",
                 .attrs = "lower: bool = true, adjoint: bool = false, T: "
                          "{float64, float32, complex}",
                 .infer = infer_triangular, .kernel = run_triangular,
                 .prepare = prepare_triangular, .flags = EDDY_OP_HEAVY,
                 .doc = "What each triangular matrix, or its adjoint, must be "
                        "multiplied with to give rhs; batches are broadcast."),
};

const eddy__op_table eddy__triangular_ops = {specs, NULL,
                                             sizeof specs / sizeof *specs};
