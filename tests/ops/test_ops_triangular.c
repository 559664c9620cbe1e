/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/matrix_aid.h"
#include "tests/suites.h"

#include <math.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__triangular_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static const eddy_dtype dtypes[] = {EDDY_FLOAT32, EDDY_FLOAT64, EDDY_COMPLEX64,
                                    EDDY_COMPLEX128};

#define N_DTYPES 4

/* Random lower triangles, far from singular. */
static matrices factors(int64_t count, int64_t n, eddy_dtype dtype)
{
    const matrices m = matrices_random(count, n, n, dtype, 5);
    matrices lower = matrices_lower(&m);

    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < n; j++)
            lower.x[(i * n + j) * n + j] = 2 + (double)j / 4;
    return lower;
}

/* ---- Cholesky ---- */

START_TEST(the_factor_of_a_product_is_found)
{
    const int64_t n = _i + 1;

    for (int d = 0; d < N_DTYPES; d++) {
        const matrices l = factors(3, n, dtypes[d]);
        const matrices adjoint = matrices_adjoint(&l);
        matrices product = matrices_product(&l, &adjoint), got;

        /* What is above the diagonal does not count. */
        for (int64_t i = 0; i < 3 && n > 1; i++)
            product.x[i * n * n + 1] = 99;
        ck_assert_int_eq(
            harness_run(&h, "Cholesky",
                        matrices_tensor(&h, dtypes[d], &product, NULL)),
            EDDY_OK);
        harness_want(&h, 0, dtypes[d], HARNESS_DIMS(3, n, n));
        got = matrices_of(h.outputs[0]);
        matrices_want(&got, &l, dtypes[d]);
    }
}
END_TEST

START_TEST(the_diagonal_counts_as_real)
{
    const matrices m = {1, 2, 2, {2 + 3 * I, I, 1 - I, 4}};
    matrices got;

    ck_assert_int_eq(harness_run(&h, "Cholesky",
                                 matrices_tensor(&h, EDDY_COMPLEX64, &m, NULL)),
                     EDDY_OK);
    got = matrices_of(h.outputs[0]);
    ck_assert_double_eq_tol(creal(got.x[0]), 1.4142135, 1e-6);
    ck_assert_double_eq_tol(cimag(got.x[2]), -0.70710677, 1e-6);
    ck_assert_double_eq_tol(creal(got.x[3]), 1.7320508, 1e-6);
}
END_TEST

/* The matrix before the one that has no factor is not touched by it. */
START_TEST(what_is_not_positive_definite_gives_nan)
{
    static const matrices bad[] = {
        {2, 2, 2, {4, 0, 2, 5, 1, 2, 2, 1}},
        {2, 2, 2, {4, 0, 2, 5, 0, 0, 0, 0}},
        {2, 2, 2, {4, 0, 2, 5, -1, 0, 0, 1}},
        {2, 2, 2, {4, 0, 2, 5, NAN, 2, 2, 1}},
    };

    for (int d = 0; d < N_DTYPES; d++) {
        matrices got;

        ck_assert_int_eq(
            harness_run(&h, "Cholesky",
                        matrices_tensor(&h, dtypes[d], &bad[_i], NULL)),
            EDDY_OK);
        got = matrices_of(h.outputs[0]);
        ck_assert_double_eq(creal(got.x[3]), 2);
        ck_assert_double_nan(creal(got.x[4]));
        ck_assert_double_eq(creal(got.x[5]), 0);
        ck_assert_double_nan(creal(got.x[6]));
        ck_assert_double_nan(creal(got.x[7]));
    }
}
END_TEST

/* ---- CholeskyGrad ---- */

static matrices factor_of(const matrices *m)
{
    ck_assert_int_eq(
        harness_run(&h, "Cholesky", matrices_tensor(&h, EDDY_FLOAT64, m, NULL)),
        EDDY_OK);
    return matrices_of(h.outputs[0]);
}

/*
 * The derivative of the sum of the factor's elements, weighted, along each
 * symmetric direction, by differences.
 */
START_TEST(the_gradient_agrees_with_differences)
{
    const int64_t n = 4;
    const double step = 1e-5;
    const matrices l = factors(1, n, EDDY_FLOAT64);
    const matrices adjoint = matrices_adjoint(&l);
    const matrices product = matrices_product(&l, &adjoint);
    const matrices weights = matrices_random(1, n, n, EDDY_FLOAT64, 9);
    matrices gradient;

    ck_assert_int_eq(
        harness_run(&h, "CholeskyGrad",
                    matrices_tensor(&h, EDDY_FLOAT64, &l, NULL),
                    matrices_tensor(&h, EDDY_FLOAT64, &weights, NULL)),
        EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT64, HARNESS_DIMS(1, n, n));
    gradient = matrices_of(h.outputs[0]);
    for (int64_t i = 0; i < n * n; i++) {
        const int64_t other = i % n * n + i / n;
        matrices more = product, less = product;
        double difference = 0;

        more.x[i] += step / 2;
        more.x[other] += step / 2;
        less.x[i] -= step / 2;
        less.x[other] -= step / 2;
        more = factor_of(&more);
        less = factor_of(&less);
        for (int64_t j = 0; j < n * n; j++)
            difference +=
                creal(weights.x[j] * (more.x[j] - less.x[j])) / (2 * step);
        ck_assert_double_eq_tol(creal(gradient.x[i]), difference, 1e-7);
    }
}
END_TEST

/* TensorFlow's answer; what is above the diagonals does not count. */
START_TEST(the_gradient_is_tensorflows)
{
    const matrices l = {2, 2, 2, {2, 9, 1, 3, 2, 9, 1, 3}};
    const matrices g = {2, 2, 2, {1, 5, 2, 3, 1, 5, 2, 3}};
    const double want[] = {0.125, 0.25, 0.25, 0.5};

    for (int d = 0; d < 2; d++) {
        ck_assert_int_eq(harness_run(&h, "CholeskyGrad",
                                     matrices_tensor(&h, dtypes[d], &l, NULL),
                                     matrices_tensor(&h, dtypes[d], &g, NULL)),
                         EDDY_OK);
        for (int64_t i = 0; i < 8; i++)
            ck_assert_double_eq_tol(harness_get(h.outputs[0], i), want[i % 4],
                                    1e-6);
    }
}
END_TEST

/* ---- MatrixTriangularSolve ---- */

static eddy_status solve(eddy_tensor *a, eddy_tensor *b, bool lower,
                         bool adjoint)
{
    const eddy_attr attrs[] = {eddy_attr_bool("lower", &lower),
                               eddy_attr_bool("adjoint", &adjoint)};

    return harness_run_attrs(&h, "MatrixTriangularSolve",
                             (eddy_tensor *[]){a, b}, 2, attrs, 2);
}

/* _i: the size; upper or lower; adjoint or not. */
START_TEST(solutions_give_the_right_side)
{
    const int64_t n = _i / 4 + 1;
    const bool lower = _i & 1, adjoint = (_i & 2) != 0;

    for (int d = 0; d < N_DTYPES; d++) {
        const matrices below = factors(2, n, dtypes[d]);
        const matrices above = matrices_adjoint(&below);
        const matrices used = lower ? below : above;
        const matrices turned = matrices_adjoint(&used);
        const matrices right = matrices_random(2, n, 3, dtypes[d], 2);
        matrices given = used, x, product;

        /* What is on the other side of the diagonal does not count. */
        for (int64_t i = 0; i < 2 && n > 1; i++)
            given.x[i * n * n + (lower ? 1 : n)] = 99;
        ck_assert_int_eq(solve(matrices_tensor(&h, dtypes[d], &given, NULL),
                               matrices_tensor(&h, dtypes[d], &right, NULL),
                               lower, adjoint),
                         EDDY_OK);
        harness_want(&h, 0, dtypes[d], HARNESS_DIMS(2, n, 3));
        x = matrices_of(h.outputs[0]);
        product = matrices_product(adjoint ? &turned : &used, &x);
        matrices_want(&product, &right, dtypes[d]);
    }
}
END_TEST

START_TEST(batches_are_broadcast)
{
    const eddy_shape many = {4, {2, 1, 2, 2}}, right_shape = {3, {3, 2, 2}};
    const eddy_shape one = {2, {2, 2}};
    const matrices l = factors(2, 2, EDDY_FLOAT64);
    const matrices right = matrices_random(3, 2, 2, EDDY_FLOAT64, 2);
    eddy_tensor *a = matrices_tensor(&h, EDDY_FLOAT64, &l, &many);
    eddy_tensor *b = matrices_tensor(&h, EDDY_FLOAT64, &right, &right_shape);
    matrices x, product, first = l, want = {6, 2, 2, {0}};
    matrices repeated = {6, 2, 2, {0}};

    ck_assert_int_eq(solve(a, b, true, false), EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT64, HARNESS_DIMS(2, 3, 2, 2));
    x = matrices_of(h.outputs[0]);
    for (int64_t i = 0; i < 24; i++) {
        repeated.x[i] = l.x[i / 12 * 4 + i % 4];
        want.x[i] = right.x[i % 12];
    }
    product = matrices_product(&repeated, &x);
    matrices_want(&product, &want, EDDY_FLOAT64);

    first.count = 1;
    ck_assert_int_eq(
        solve(matrices_tensor(&h, EDDY_FLOAT64, &first, &one), b, true, false),
        EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT64, HARNESS_DIMS(3, 2, 2));
}
END_TEST

START_TEST(a_diagonal_of_zeros_gives_infinities)
{
    const matrices l = {1, 2, 2, {0, 0, 1, 1}}, b = {1, 2, 1, {1, 1}};

    for (int d = 0; d < 2; d++) {
        ck_assert_int_eq(solve(matrices_tensor(&h, dtypes[d], &l, NULL),
                               matrices_tensor(&h, dtypes[d], &b, NULL), true,
                               false),
                         EDDY_OK);
        ck_assert_double_eq(harness_get(h.outputs[0], 0), INFINITY);
        ck_assert_double_eq(harness_get(h.outputs[0], 1), -INFINITY);
    }
}
END_TEST

/* ---- all ---- */

START_TEST(matrices_of_nothing)
{
    const eddy_shape square = {2, {0, 0}}, batch = {3, {0, 2, 2}};
    const eddy_shape right = {2, {0, 2}}, none = {2, {2, 0}};
    const matrices nothing = {.count = 0};

#define NOTHING(shape) matrices_tensor(&h, EDDY_FLOAT32, &nothing, &(shape))
    ck_assert_int_eq(harness_run(&h, "Cholesky", NOTHING(square)), EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT32, HARNESS_DIMS(0, 0));
    ck_assert_int_eq(harness_run(&h, "Cholesky", NOTHING(batch)), EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT32, HARNESS_DIMS(0, 2, 2));
    ck_assert_int_eq(
        harness_run(&h, "CholeskyGrad", NOTHING(batch), NOTHING(batch)),
        EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT32, HARNESS_DIMS(0, 2, 2));
    ck_assert_int_eq(solve(NOTHING(square), NOTHING(right), true, false),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT32, HARNESS_DIMS(0, 2));
    ck_assert_int_eq(solve(NOTHING(batch), NOTHING(none), true, false),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT32, HARNESS_DIMS(0, 2, 0));
}
END_TEST

START_TEST(shapes_that_do_not_fit_are_refused)
{
    const matrices six = matrices_random(1, 2, 3, EDDY_FLOAT32, 1);
    const matrices eight = matrices_random(2, 2, 2, EDDY_FLOAT32, 1);
    const eddy_shape flat = {1, {6}}, wide = {2, {2, 3}}, high = {2, {3, 2}};
    const eddy_shape deep = {3, {2, 2, 2}}, deeper = {4, {1, 2, 2, 2}};
    eddy_tensor *line = matrices_tensor(&h, EDDY_FLOAT32, &six, &flat);
    eddy_tensor *rectangle = matrices_tensor(&h, EDDY_FLOAT32, &six, &wide);
    eddy_tensor *tall = matrices_tensor(&h, EDDY_FLOAT32, &six, &high);
    eddy_tensor *squares = matrices_tensor(&h, EDDY_FLOAT32, &eight, &deep);
    eddy_tensor *other = matrices_tensor(&h, EDDY_FLOAT32, &eight, &deeper);

    harness_want_error(&h, harness_run(&h, "Cholesky", line),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    harness_want_error(&h, harness_run(&h, "Cholesky", rectangle),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h, harness_run(&h, "CholeskyGrad", squares, rectangle),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h, harness_run(&h, "CholeskyGrad", squares, other),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h, solve(rectangle, tall, true, false),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h, solve(squares, tall, true, false),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h, solve(squares, line, true, false),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
}
END_TEST

START_TEST(batches_that_do_not_broadcast_are_refused)
{
    const matrices two = factors(2, 2, EDDY_FLOAT32);
    const matrices three = factors(3, 2, EDDY_FLOAT32);

    harness_want_error(&h,
                       solve(matrices_tensor(&h, EDDY_FLOAT32, &two, NULL),
                             matrices_tensor(&h, EDDY_FLOAT32, &three, NULL),
                             true, false),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

TCase *ops_triangular_tests(void)
{
    TCase *tc = tcase_create("ops_triangular");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_loop_test(tc, the_factor_of_a_product_is_found, 0, 6);
    tcase_add_test(tc, the_diagonal_counts_as_real);
    tcase_add_loop_test(tc, what_is_not_positive_definite_gives_nan, 0, 4);
    tcase_add_test(tc, the_gradient_agrees_with_differences);
    tcase_add_test(tc, the_gradient_is_tensorflows);
    tcase_add_loop_test(tc, solutions_give_the_right_side, 0, 20);
    tcase_add_test(tc, batches_are_broadcast);
    tcase_add_test(tc, a_diagonal_of_zeros_gives_infinities);
    tcase_add_test(tc, matrices_of_nothing);
    tcase_add_test(tc, shapes_that_do_not_fit_are_refused);
    tcase_add_test(tc, batches_that_do_not_broadcast_are_refused);
    return tc;
}
