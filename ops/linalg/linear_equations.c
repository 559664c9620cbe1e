/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops that solve linear equations by elimination: MatrixInverse, MatrixSolve,
 * MatrixDeterminant, LogMatrixDeterminant.
 */
#include "ops/linalg/lapack.h"
#include "ops/linalg/linalg.h"
#include "ops/math/elements.h"
#include "ops/math/numeric.h"
#include "ops/ops.h"

#include <math.h>
#include <string.h>

/* P L U of one matrix, and memory for it and for the right-hand side. */
typedef struct elimination {
    eddy__lapack_lu lu;
    eddy_tensor *matrix, *pivots, *right;
} elimination;

static void end(eddy_kernel *k, elimination *e)
{
    eddy__scratch_free(k, e->right);
    eddy__scratch_free(k, e->pivots);
    eddy__scratch_free(k, e->matrix);
}

static eddy_status begin(eddy_kernel *k, const eddy__matrices *m, int64_t right,
                         elimination *e)
{
    const int64_t n = m->rows;
    eddy_status status;

    *e = (elimination){.lu = {.n = m->rows}};
    status = eddy__scratch(k, m->work, n * n, &e->matrix);
    if (status == EDDY_OK)
        status = eddy__scratch(k, EDDY_INT32, n, &e->pivots);
    if (status == EDDY_OK)
        status = eddy__scratch(k, m->work, n * right, &e->right);
    if (status != EDDY_OK) {
        end(k, e);
        return status;
    }
    e->lu.a = e->matrix->data;
    e->lu.pivots = e->pivots->data;
    return EDDY_OK;
}

static eddy_status eliminate(eddy_kernel *k, const eddy__matrices *m, int64_t i,
                             eddy__turn turn, elimination *e)
{
    const int64_t n = m->rows;

    EDDY_TRY(eddy__matrix_load(k, m->dtype, &(eddy__move){n, n, turn},
                               m->data + (size_t)(i * n * n) * m->size,
                               e->lu.a));
    return eddy__lapack_lu_find(k, m->work, &e->lu);
}

/* A pivot that is a NaN is none. */
static bool is_invertible(const eddy__matrices *m, const elimination *e)
{
    for (int64_t i = 0; i < m->rows; i++)
        if (!(cabs(eddy__number_at(m->work, e->lu.a, i * m->rows + i)) > 0))
            return false;
    return true;
}

static eddy_status fail_singular(eddy_kernel *k, int64_t i)
{
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                       "matrix %" PRId64 " of the batch is not invertible", i);
}

/* ---- MatrixInverse ---- */

static eddy_status set_identity(eddy_kernel *k, const eddy__matrices *m,
                                void *matrix)
{
    const int64_t n = m->rows;

    eddy__zero_bytes(k, matrix, (size_t)(n * n) * m->work_size);
    EDDY_TRY(eddy__go_on(k, n));
    for (int64_t i = 0; i < n; i++)
        eddy__number_put(m->work, matrix, i * n + i, 1);
    return EDDY_OK;
}

static eddy_status invert_all(eddy_kernel *k, const eddy__matrices *m,
                              elimination *e, unsigned char *out)
{
    const bool is_adjoint = *(const bool *)eddy__state(k);
    const int64_t n = m->rows;

    for (int64_t i = 0; i < m->count; i++) {
        /* As columns, the rows of a matrix are its transpose. */
        EDDY_TRY(eliminate(
            k, m, i, is_adjoint ? EDDY__TURN_CONJUGATE : EDDY__TURN_TRANSPOSE,
            e));
        if (!is_invertible(m, e))
            return fail_singular(k, i);
        EDDY_TRY(set_identity(k, m, e->right->data));
        EDDY_TRY(eddy__lapack_lu_solve(k, m->work, &e->lu, false, m->rows,
                                       e->right->data));
        EDDY_TRY(eddy__matrix_store(
            k, m->dtype, &(eddy__move){n, n, EDDY__TURN_TRANSPOSE},
            e->right->data, out + (size_t)(i * n * n) * m->size));
    }
    return EDDY_OK;
}

static eddy_status run_inverse(eddy_kernel *k)
{
    eddy__matrices m;
    elimination e;
    eddy_status status;
    void *out;

    EDDY_TRY(eddy__in_matrices(k, 0, true, &m));
    EDDY_TRY(eddy__output(k, 0, m.dtype, eddy__in_shape(k, 0), &out));
    if (m.count == 0 || m.rows == 0)
        return EDDY_OK;
    EDDY_TRY(begin(k, &m, m.rows, &e));
    status = invert_all(k, &m, &e, out);
    end(k, &e);
    return status;
}

static eddy_status infer_inverse(eddy_infer *infer)
{
    EDDY_TRY(eddy__infer_matrices(infer, 0, true));
    return eddy__infer_unchanged(infer);
}

static eddy_status prepare_adjoint(eddy_infer *infer)
{
    bool *is_adjoint = eddy__prepare_state(infer, sizeof *is_adjoint);

    if (!is_adjoint)
        return EDDY_RESOURCE_EXHAUSTED;
    *is_adjoint = eddy__infer_bool(infer, "adjoint");
    return EDDY_OK;
}

/* ---- MatrixSolve ---- */

#define MISFIT "matrices of shape %s can't be solved for a right side of %s"

/* The shape of the solutions; false if the two don't fit. */
static bool solution_shape(const eddy_shape *matrix, const eddy_shape *right,
                           eddy_shape *out)
{
    eddy_shape a, b, batch;

    *out = eddy__shape_unknown();
    if (matrix->rank < 0 || right->rank < 0)
        return true;
    a = eddy__linalg_batch_shape(matrix);
    b = eddy__linalg_batch_shape(right);
    if (!eddy__shape_merge(&a, &b, &batch))
        return false;
    if (matrix->dims[a.rank] >= 0 && right->dims[b.rank] >= 0 &&
        matrix->dims[a.rank] != right->dims[b.rank])
        return false;
    *out = eddy__linalg_shape_append_two(batch, matrix->dims[a.rank + 1],
                                         right->dims[b.rank + 1]);
    return true;
}

static eddy_status solve_all(eddy_kernel *k, const eddy__matrices *m,
                             const eddy__matrices *right, elimination *e,
                             unsigned char *out)
{
    const bool is_adjoint = *(const bool *)eddy__state(k);
    const int64_t n = right->rows, columns = right->columns;

    for (int64_t i = 0; i < m->count; i++) {
        const size_t at = (size_t)(i * n * columns) * m->size;

        EDDY_TRY(eliminate(k, m, i, EDDY__TURN_TRANSPOSE, e));
        if (!is_invertible(m, e))
            return fail_singular(k, i);
        EDDY_TRY(eddy__matrix_load(
            k, m->dtype, &(eddy__move){n, columns, EDDY__TURN_TRANSPOSE},
            right->data + at, e->right->data));
        EDDY_TRY(eddy__lapack_lu_solve(k, m->work, &e->lu, is_adjoint,
                                       right->columns, e->right->data));
        EDDY_TRY(eddy__matrix_store(
            k, m->dtype, &(eddy__move){columns, n, EDDY__TURN_TRANSPOSE},
            e->right->data, out + at));
    }
    return EDDY_OK;
}

static eddy_status run_solve(eddy_kernel *k)
{
    const eddy_shape *matrix = eddy__in_shape(k, 0);
    const eddy_shape *right = eddy__in_shape(k, 1);
    eddy__matrices m, r;
    eddy_shape shape;
    eddy_status status;
    elimination e;
    void *out;

    EDDY_TRY(eddy__in_matrices(k, 0, true, &m));
    EDDY_TRY(eddy__in_matrices(k, 1, false, &r));
    if (!solution_shape(matrix, right, &shape))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE, MISFIT,
                           eddy__shape_print(matrix).text,
                           eddy__shape_print(right).text);
    EDDY_TRY(eddy__output(k, 0, m.dtype, &shape, &out));
    if (m.count == 0 || m.rows == 0 || r.columns == 0)
        return EDDY_OK;
    EDDY_TRY(begin(k, &m, r.columns, &e));
    status = solve_all(k, &m, &r, &e, out);
    end(k, &e);
    return status;
}

static eddy_status infer_solve(eddy_infer *infer)
{
    const eddy_shape *matrix = eddy_infer_input(infer, 0);
    const eddy_shape *right = eddy_infer_input(infer, 1);
    eddy_shape shape;

    EDDY_TRY(eddy__infer_matrices(infer, 0, true));
    EDDY_TRY(eddy__infer_matrices(infer, 1, false));
    if (!solution_shape(matrix, right, &shape))
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               MISFIT, eddy__shape_print(matrix).text,
                               eddy__shape_print(right).text);
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

/* ---- determinants ---- */

/* One of modulus 1, or 0 for 0, or a NaN. */
static double _Complex sign_of(double _Complex x)
{
    const double modulus = cabs(x);

    if (modulus == 0)
        return 0;
    if (cimag(x) == 0)
        return creal(x) > 0 ? 1 : creal(x) < 0 ? -1 : creal(x);
    return x / modulus;
}

/* The determinant in two parts; that of a matrix of nothing is 1. */
static eddy_status determinant(eddy_kernel *k, const eddy__matrices *m,
                               elimination *e, int64_t i,
                               double _Complex *out_sign, double *out_log)
{
    const int32_t *pivots = e->lu.pivots;
    double _Complex sign = 1;

    *out_log = 0;
    *out_sign = 1;
    if (m->rows == 0)
        return EDDY_OK;
    EDDY_TRY(eliminate(k, m, i, EDDY__TURN_TRANSPOSE, e));
    for (int64_t j = 0; j < m->rows; j++) {
        const double _Complex pivot =
            eddy__number_at(m->work, e->lu.a, j * m->rows + j);

        sign *= sign_of(pivot);
        if (pivots[j] != j + 1)
            sign = -sign;
        *out_log += log(cabs(pivot));
    }
    *out_sign = sign;
    return EDDY_OK;
}

/*
 * What each determinant is put into: as one number, or as sign and logarithm.
 */
static eddy_status run_determinants(eddy_kernel *k, uint32_t n_out)
{
    const eddy_shape *shape = eddy__in_shape(k, 0);
    eddy_shape batch;
    eddy__matrices m;
    eddy_status status = EDDY_OK;
    elimination e;
    void *out[2];

    EDDY_TRY(eddy__in_matrices(k, 0, true, &m));
    batch = eddy__linalg_batch_shape(shape);
    for (uint32_t o = 0; o < n_out; o++)
        EDDY_TRY(eddy__output(k, o, m.dtype, &batch, &out[o]));
    if (m.count == 0)
        return EDDY_OK;
    EDDY_TRY(begin(k, &m, 0, &e));
    for (int64_t i = 0; i < m.count && status == EDDY_OK; i++) {
        double _Complex sign;
        double logarithm;

        status = determinant(k, &m, &e, i, &sign, &logarithm);
        if (n_out == 1) {
            eddy__number_put(m.work, out[0], i, sign * exp(logarithm));
        } else {
            eddy__number_put(m.work, out[0], i, sign);
            eddy__number_put(m.work, out[1], i, logarithm);
        }
    }
    end(k, &e);
    return status;
}

static eddy_status run_determinant(eddy_kernel *k)
{
    return run_determinants(k, 1);
}

static eddy_status run_log_determinant(eddy_kernel *k)
{
    return run_determinants(k, 2);
}

static eddy_status infer_determinant(eddy_infer *infer)
{
    const eddy_shape *shape = eddy_infer_input(infer, 0);
    eddy_shape batch;

    EDDY_TRY(eddy__infer_matrices(infer, 0, true));
    if (shape->rank < 0)
        return EDDY_OK;
    batch = eddy__linalg_batch_shape(shape);
    for (uint32_t o = 0; o < eddy_infer_outputs(infer); o++)
        eddy_infer_set_output(infer, o, &batch);
    return EDDY_OK;
}

#define T "T: {float64, float32, complex}"

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW(
        "MatrixInverse", .inputs = "input: T", .outputs = "output: T",
        .attrs =
            "adjoint: bool = false, T: {float64, float32, float16, complex}",
        .infer = infer_inverse, .kernel = run_inverse,
        .prepare = prepare_adjoint, .flags = EDDY_OP_HEAVY,
        .doc = "The inverse of each matrix, or that of its adjoint."),
    EDDY__OP_ROW("MatrixSolve", .inputs = "matrix: T, rhs: T",
                 .outputs = "output: T", .attrs = "adjoint: bool = false, " T,
                 .infer = infer_solve, .kernel = run_solve,
                 .prepare = prepare_adjoint, .flags = EDDY_OP_HEAVY,
                 .doc = "What each matrix, or its adjoint, must be multiplied "
                        "with to give rhs."),
    EDDY__OP_ROW("MatrixDeterminant", .inputs = "input: T",
                 .outputs = "output: T", .attrs = T, .infer = infer_determinant,
                 .kernel = run_determinant, .flags = EDDY_OP_HEAVY,
                 .doc = "The determinant of each matrix."),
    EDDY__OP_ROW(
        "LogMatrixDeterminant", .inputs = "input: T",
        .outputs = "sign: T, log_abs_determinant: T", .attrs = T,
        .infer = infer_determinant, .kernel = run_log_determinant,
        .flags = EDDY_OP_HEAVY,
        .doc =
            "The sign of each determinant, and the logarithm of its modulus."),
};

const eddy__op_table eddy__linear_equations_ops = {
    specs, NULL, sizeof specs / sizeof *specs};
