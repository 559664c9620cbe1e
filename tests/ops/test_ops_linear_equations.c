/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/matrix_aid.h"
#include "tests/suites.h"

#include <math.h>
#include <string.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__linear_equations_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static const eddy_dtype dtypes[] = {EDDY_FLOAT32, EDDY_FLOAT64, EDDY_COMPLEX64,
                                    EDDY_COMPLEX128, EDDY_FLOAT16};

/* The first of them have all ops, all of them inverses. */
#define N_SOLVED 4
#define N_INVERTED 4

static eddy_status run(const char *op, eddy_tensor *a, eddy_tensor *b,
                       bool adjoint)
{
    const eddy_attr attr = eddy_attr_bool("adjoint", &adjoint);

    return harness_run_attrs(&h, op, (eddy_tensor *[]){a, b}, b ? 2 : 1, &attr,
                             1);
}

/* Random, with a diagonal that keeps them far from singular. */
static matrices regular(int64_t count, int64_t n, eddy_dtype dtype)
{
    matrices m = matrices_random(count, n, n, dtype, 7);

    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < n; j++)
            m.x[(i * n + j) * n + (j + 1) % n] += 3;
    return m;
}

static matrices maybe_adjoint(const matrices *m, bool is_adjoint)
{
    return is_adjoint ? matrices_adjoint(m) : *m;
}

/* _i: the size, and whether the inverse is that of the adjoint. */
START_TEST(a_matrix_times_its_inverse_is_the_identity)
{
    const int64_t n = _i / 2 + 1;

    for (int d = 0; d < N_INVERTED; d++) {
        const matrices m = regular(3, n, dtypes[d]);
        eddy_tensor *input = matrices_tensor(&h, dtypes[d], &m, NULL);
        const matrices given = matrices_of(input);
        const matrices of = maybe_adjoint(&given, _i % 2);
        matrices inverse, product;

        ck_assert_int_eq(run("MatrixInverse", input, NULL, _i % 2), EDDY_OK);
        harness_want(&h, 0, dtypes[d], HARNESS_DIMS(3, n, n));
        inverse = matrices_of(h.outputs[0]);
        product = matrices_product(&of, &inverse);
        matrices_want_identity(&product, dtypes[d]);
    }
}
END_TEST

START_TEST(solutions_give_the_right_side)
{
    const int64_t n = _i / 2 + 1;

    for (int d = 0; d < N_SOLVED; d++) {
        const matrices m = regular(2, n, dtypes[d]);
        const matrices of = maybe_adjoint(&m, _i % 2);
        const matrices right = matrices_random(2, n, 3, dtypes[d], 3);
        matrices x, product;

        ck_assert_int_eq(
            run("MatrixSolve", matrices_tensor(&h, dtypes[d], &m, NULL),
                matrices_tensor(&h, dtypes[d], &right, NULL), _i % 2),
            EDDY_OK);
        harness_want(&h, 0, dtypes[d], HARNESS_DIMS(2, n, 3));
        x = matrices_of(h.outputs[0]);
        product = matrices_product(&of, &x);
        matrices_want(&product, &right, dtypes[d]);
    }
}
END_TEST

/* By Laplace's expansion along the first row. */
static double _Complex determinant(const double _Complex *m, int64_t n)
{
    double _Complex sum = 0;

    if (n == 1)
        return m[0];
    for (int64_t c = 0; c < n; c++) {
        double _Complex minor[16];
        int64_t at = 0;

        for (int64_t i = n; i < n * n; i++)
            if (i % n != c)
                minor[at++] = m[i];
        sum += (c % 2 ? -1 : 1) * m[c] * determinant(minor, n - 1);
    }
    return sum;
}

static double _Complex element(size_t output, int64_t i)
{
    const eddy_tensor *t = h.outputs[output];
    const float *parts = t->data;
    const double *wide = t->data;

    if (t->dtype == EDDY_COMPLEX128)
        return wide[2 * i] + wide[2 * i + 1] * I;

    return t->dtype == EDDY_COMPLEX64
               ? (double)parts[2 * i] + (double)parts[2 * i + 1] * I
               : harness_get(t, i);
}

START_TEST(determinants_agree_with_their_expansion)
{
    const int64_t n = _i + 1;

    for (int d = 0; d < N_SOLVED; d++) {
        const matrices m = matrices_random(3, n, n, dtypes[d], 11);
        eddy_tensor *input = matrices_tensor(&h, dtypes[d], &m, NULL);

        ck_assert_int_eq(harness_run(&h, "MatrixDeterminant", input), EDDY_OK);
        harness_want(&h, 0, dtypes[d], HARNESS_DIMS(3));
        for (int64_t i = 0; i < 3; i++)
            ck_assert_double_le(
                cabs(element(0, i) - determinant(m.x + i * n * n, n)), 1e-5);
        ck_assert_int_eq(harness_run(&h, "LogMatrixDeterminant", input),
                         EDDY_OK);
        harness_want(&h, 0, dtypes[d], HARNESS_DIMS(3));
        harness_want(&h, 1, dtypes[d], HARNESS_DIMS(3));
        for (int64_t i = 0; i < 3; i++) {
            ck_assert_double_eq_tol(cabs(element(0, i)), 1, 1e-6);
            ck_assert_double_le(cabs(element(0, i) * cexp(element(1, i)) -
                                     determinant(m.x + i * n * n, n)),
                                1e-5);
        }
    }
}
END_TEST

START_TEST(singular_matrices_have_determinant_0)
{
    const matrices m = {1, 2, 2, {1, 2, 2, 4}};

    for (int d = 0; d < N_SOLVED; d++) {
        eddy_tensor *input = matrices_tensor(&h, dtypes[d], &m, NULL);

        ck_assert_int_eq(harness_run(&h, "MatrixDeterminant", input), EDDY_OK);
        ck_assert(element(0, 0) == 0);
        ck_assert_int_eq(harness_run(&h, "LogMatrixDeterminant", input),
                         EDDY_OK);
        ck_assert(element(0, 0) == 0);
        ck_assert_double_eq(creal(element(1, 0)), -INFINITY);
    }
}
END_TEST

START_TEST(determinants_of_what_is_not_finite)
{
    const matrices nan = {1, 2, 2, {NAN, 2, 3, 4}};
    const matrices infinite = {1, 2, 2, {INFINITY, 2, 3, 4}};
    const matrices large = {1, 2, 2, {1e300, 0, 0, -1e300}};

    ck_assert_int_eq(harness_run(&h, "LogMatrixDeterminant",
                                 matrices_tensor(&h, EDDY_FLOAT64, &nan, NULL)),
                     EDDY_OK);
    ck_assert_double_nan(creal(element(0, 0)));
    ck_assert_double_nan(creal(element(1, 0)));
    ck_assert_int_eq(
        harness_run(&h, "MatrixDeterminant",
                    matrices_tensor(&h, EDDY_FLOAT64, &infinite, NULL)),
        EDDY_OK);
    ck_assert_double_eq(creal(element(0, 0)), INFINITY);
    ck_assert_int_eq(
        harness_run(&h, "LogMatrixDeterminant",
                    matrices_tensor(&h, EDDY_FLOAT64, &large, NULL)),
        EDDY_OK);
    ck_assert_double_eq(creal(element(0, 0)), -1);
    ck_assert_double_eq_tol(creal(element(1, 0)), 1381.551055796, 1e-8);
}
END_TEST

START_TEST(matrices_of_nothing)
{
    const eddy_shape square = {2, {0, 0}}, batch = {3, {0, 2, 2}};
    const eddy_shape many = {3, {3, 0, 0}}, right = {2, {0, 2}};
    const eddy_shape two = {2, {2, 2}}, none = {2, {2, 0}};
    const matrices nothing = {.count = 0};
    const matrices m = regular(1, 2, EDDY_FLOAT32);

#define NOTHING(shape) matrices_tensor(&h, EDDY_FLOAT32, &nothing, &(shape))
    ck_assert_int_eq(run("MatrixInverse", NOTHING(square), NULL, false),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT32, HARNESS_DIMS(0, 0));
    ck_assert_int_eq(run("MatrixInverse", NOTHING(batch), NULL, false),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT32, HARNESS_DIMS(0, 2, 2));
    ck_assert_int_eq(run("MatrixSolve", NOTHING(square), NOTHING(right), false),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT32, HARNESS_DIMS(0, 2));
    ck_assert_int_eq(run("MatrixSolve",
                         matrices_tensor(&h, EDDY_FLOAT32, &m, &two),
                         NOTHING(none), false),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT32, HARNESS_DIMS(2, 0));
    ck_assert_int_eq(harness_run(&h, "LogMatrixDeterminant", NOTHING(many)),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT32, HARNESS_DIMS(3));
    ck_assert_double_eq(harness_get(h.outputs[0], 2), 1);
    ck_assert_double_eq(harness_get(h.outputs[1], 2), 0);
    ck_assert_int_eq(harness_run(&h, "MatrixDeterminant", NOTHING(square)),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT32, 0, NULL);
    ck_assert_double_eq(harness_get(h.outputs[0], 0), 1);
}
END_TEST

START_TEST(a_batch_may_have_six_dimensions)
{
    const eddy_shape shape = {8, {1, 2, 1, 2, 1, 1, 2, 2}};
    const int64_t dims[] = {1, 2, 1, 2, 1, 1};
    const matrices m = regular(4, 2, EDDY_FLOAT64);
    eddy_tensor *input = matrices_tensor(&h, EDDY_FLOAT64, &m, &shape);
    matrices inverse, product;

    ck_assert_int_eq(run("MatrixInverse", input, NULL, false), EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT64, 8, shape.dims);
    inverse = matrices_of(h.outputs[0]);
    product = matrices_product(&m, &inverse);
    matrices_want_identity(&product, EDDY_FLOAT64);
    ck_assert_int_eq(harness_run(&h, "MatrixDeterminant", input), EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT64, 6, dims);
}
END_TEST

START_TEST(what_has_no_inverse_is_refused)
{
    static const matrices bad[] = {
        {2, 2, 2, {1, 0, 0, 1, 1, 2, 2, 4}},
        {2, 2, 2, {1, 0, 0, 1, 0, 0, 0, 0}},
        {2, 2, 2, {1, 0, 0, 1, NAN, 1, 1, 2}},
    };

    for (int d = 0; d < N_SOLVED; d++) {
        eddy_tensor *input = matrices_tensor(&h, dtypes[d], &bad[_i], NULL);

        harness_want_error(&h, run("MatrixInverse", input, NULL, false),
                           EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
        ck_assert_ptr_nonnull(strstr(h.err.message, "matrix 1 "));
        harness_want_error(&h, run("MatrixSolve", input, input, true),
                           EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    }
}
END_TEST

START_TEST(shapes_that_do_not_fit_are_refused)
{
    const matrices m = matrices_random(1, 2, 3, EDDY_FLOAT32, 1);
    const matrices four = matrices_random(1, 2, 2, EDDY_FLOAT32, 1);
    const eddy_shape flat = {1, {6}}, wide = {2, {2, 3}}, square = {2, {2, 2}};
    const eddy_shape high = {2, {3, 2}}, vector = {1, {4}};
    eddy_tensor *line = matrices_tensor(&h, EDDY_FLOAT32, &m, &flat);
    eddy_tensor *rectangle = matrices_tensor(&h, EDDY_FLOAT32, &m, &wide);
    eddy_tensor *tall = matrices_tensor(&h, EDDY_FLOAT32, &m, &high);
    eddy_tensor *even = matrices_tensor(&h, EDDY_FLOAT32, &four, &square);
    eddy_tensor *batch = matrices_tensor(&h, EDDY_FLOAT32, &four, NULL);

    harness_want_error(&h, run("MatrixInverse", line, NULL, false),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    harness_want_error(&h, run("MatrixInverse", rectangle, NULL, false),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h, harness_run(&h, "MatrixDeterminant", rectangle),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h, harness_run(&h, "LogMatrixDeterminant", line),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    harness_want_error(&h, run("MatrixSolve", rectangle, even, false),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h, run("MatrixSolve", even, tall, false),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h, run("MatrixSolve", batch, even, false),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h,
                       run("MatrixSolve", even,
                           matrices_tensor(&h, EDDY_FLOAT32, &four, &vector),
                           false),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
}
END_TEST

TCase *ops_linear_equations_tests(void)
{
    TCase *tc = tcase_create("ops_linear_equations");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_loop_test(tc, a_matrix_times_its_inverse_is_the_identity, 0, 15);
    tcase_add_loop_test(tc, solutions_give_the_right_side, 0, 15);
    tcase_add_loop_test(tc, determinants_agree_with_their_expansion, 0, 4);
    tcase_add_test(tc, singular_matrices_have_determinant_0);
    tcase_add_test(tc, determinants_of_what_is_not_finite);
    tcase_add_test(tc, matrices_of_nothing);
    tcase_add_test(tc, a_batch_may_have_six_dimensions);
    tcase_add_loop_test(tc, what_has_no_inverse_is_refused, 0, 3);
    tcase_add_test(tc, shapes_that_do_not_fit_are_refused);
    return tc;
}
