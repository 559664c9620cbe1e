/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/matrix_aid.h"
#include "tests/suites.h"

#include <math.h>
#include <string.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__decompositions_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static const eddy_dtype dtypes[] = {EDDY_FLOAT32, EDDY_FLOAT64, EDDY_COMPLEX64,
                                    EDDY_COMPLEX128, EDDY_FLOAT16};

#define N_DTYPES 4 /* Qr alone has the fifth */
#define N_QR_DTYPES 5

static const int64_t sizes[][2] = {{1, 1}, {2, 2}, {3, 2}, {2, 3},
                                   {5, 4}, {1, 3}, {4, 1}, {6, 6}};

#define N_SIZES (sizeof sizes / sizeof sizes[0])

static matrices output(size_t i)
{
    return matrices_of(h.outputs[i]);
}

static void want_orthonormal(const matrices *q, eddy_dtype dtype)
{
    const matrices adjoint = matrices_adjoint(q);
    const matrices product = matrices_product(&adjoint, q);

    matrices_want_identity(&product, dtype);
}

/* ---- Qr ---- */

static eddy_status qr(eddy_tensor *input, bool full)
{
    const eddy_attr attr = eddy_attr_bool("full_matrices", &full);

    return harness_run_attrs(&h, "Qr", &input, 1, &attr, 1);
}

START_TEST(q_times_r_is_the_matrix)
{
    const int64_t m = sizes[_i / 2][0], n = sizes[_i / 2][1];
    const bool full = _i % 2;
    const int64_t middle = full || m < n ? m : n;

    for (int d = 0; d < N_QR_DTYPES; d++) {
        const matrices a = matrices_random(2, m, n, dtypes[d], 1);
        matrices q, r, product, upper;

        ck_assert_int_eq(qr(matrices_tensor(&h, dtypes[d], &a, NULL), full),
                         EDDY_OK);
        harness_want(&h, 0, dtypes[d], HARNESS_DIMS(2, m, middle));
        harness_want(&h, 1, dtypes[d], HARNESS_DIMS(2, middle, n));
        q = output(0);
        r = output(1);
        want_orthonormal(&q, dtypes[d]);
        product = matrices_product(&q, &r);
        matrices_want(&product, &a, dtypes[d]);
        upper = matrices_upper(&r);
        matrices_want(&r, &upper, dtypes[d]);
    }
}
END_TEST

/* The signs are those that TensorFlow gives. */
START_TEST(qr_has_tensorflows_signs)
{
    const matrices a = {1, 3, 2, {1, 2, 3, 4, 5, 7}};
    const matrices want = {
        1, 2, 2, {-5.916079783, -8.282511696, 0, 0.632455532}};
    matrices r;

    ck_assert_int_eq(qr(matrices_tensor(&h, EDDY_FLOAT64, &a, NULL), false),
                     EDDY_OK);
    r = output(1);
    for (int i = 0; i < 4; i++)
        ck_assert_double_eq_tol(creal(r.x[i]), creal(want.x[i]), 1e-8);
}
END_TEST

/* ---- SelfAdjointEigV2 ---- */

static eddy_status eigen(eddy_tensor *input, bool vectors)
{
    const eddy_attr attr = eddy_attr_bool("compute_v", &vectors);

    return harness_run_attrs(&h, "SelfAdjointEigV2", &input, 1, &attr, 1);
}

/* A diagonal matrix of a batch of vectors. */
static matrices diagonal(const eddy_tensor *values, int64_t count, int64_t rows,
                         int64_t columns, int64_t n)
{
    matrices m = {.count = count, .rows = rows, .columns = columns};

    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < n; j++)
            m.x[(i * rows + j) * columns + j] = harness_get(values, i * n + j);
    return m;
}

START_TEST(eigenvectors_are_stretched_by_eigenvalues)
{
    const int64_t n = _i + 1;

    for (int d = 0; d < N_DTYPES; d++) {
        const matrices random = matrices_random(2, n, n, dtypes[d], 3);
        const matrices turned = matrices_adjoint(&random);
        matrices a = matrices_product(&random, &turned), given = a;
        matrices v, e, left, right;
        eddy_tensor *input;

        for (int64_t i = 0; i < 2 && n > 1; i++)
            given.x[i * n * n + 1] = NAN;
        input = matrices_tensor(&h, dtypes[d], &given, NULL);
        ck_assert_int_eq(eigen(input, true), EDDY_OK);
        harness_want(&h, 0, dtypes[d], HARNESS_DIMS(2, n));
        harness_want(&h, 1, dtypes[d], HARNESS_DIMS(2, n, n));
        for (int64_t i = 0; i < 2 * n; i++)
            ck_assert(i % n == 0 || harness_get(h.outputs[0], i) >=
                                        harness_get(h.outputs[0], i - 1));
        v = output(1);
        want_orthonormal(&v, dtypes[d]);
        e = diagonal(h.outputs[0], 2, n, n, n);
        left = matrices_product(&a, &v);
        right = matrices_product(&v, &e);
        matrices_want(&left, &right, dtypes[d]);
        ck_assert_int_eq(eigen(input, false), EDDY_OK);
        harness_want(&h, 1, dtypes[d], HARNESS_DIMS(0));
        left = diagonal(h.outputs[0], 2, n, n, n);
        matrices_want(&left, &e, dtypes[d]);
    }
}
END_TEST

/* ---- Svd ---- */

static eddy_status svd(eddy_tensor *input, bool vectors, bool full)
{
    const eddy_attr attrs[] = {eddy_attr_bool("compute_uv", &vectors),
                               eddy_attr_bool("full_matrices", &full)};

    return harness_run_attrs(&h, "Svd", &input, 1, attrs, 2);
}

START_TEST(the_factors_make_the_matrix)
{
    const int64_t m = sizes[_i / 2][0], n = sizes[_i / 2][1];
    const bool full = _i % 2;
    const int64_t least = m < n ? m : n;
    const int64_t rows = full ? m : least, columns = full ? n : least;

    for (int d = 0; d < N_DTYPES; d++) {
        const matrices a = matrices_random(2, m, n, dtypes[d], 1);
        eddy_tensor *input = matrices_tensor(&h, dtypes[d], &a, NULL);
        matrices u, s, v, product, values;

        ck_assert_int_eq(svd(input, true, full), EDDY_OK);
        harness_want(&h, 0, dtypes[d], HARNESS_DIMS(2, least));
        harness_want(&h, 1, dtypes[d], HARNESS_DIMS(2, m, rows));
        harness_want(&h, 2, dtypes[d], HARNESS_DIMS(2, n, columns));
        u = output(1);
        v = output(2);
        want_orthonormal(&u, dtypes[d]);
        want_orthonormal(&v, dtypes[d]);
        s = diagonal(h.outputs[0], 2, rows, columns, least);
        v = matrices_adjoint(&v);
        product = matrices_product(&u, &s);
        product = matrices_product(&product, &v);
        matrices_want(&product, &a, dtypes[d]);
        for (int64_t i = 0; i < 2 * least; i++)
            ck_assert(harness_get(h.outputs[0], i) >= 0 &&
                      (i % least == 0 || harness_get(h.outputs[0], i) <=
                                             harness_get(h.outputs[0], i - 1)));
        ck_assert_int_eq(svd(input, false, full), EDDY_OK);
        harness_want(&h, 1, dtypes[d], HARNESS_DIMS(0));
        harness_want(&h, 2, dtypes[d], HARNESS_DIMS(0));
        values = diagonal(h.outputs[0], 2, rows, columns, least);
        matrices_want(&values, &s, dtypes[d]);
    }
}
END_TEST

/* ---- all ---- */

START_TEST(matrices_of_nothing)
{
    const eddy_shape wide = {2, {0, 3}}, high = {2, {3, 0}};
    const eddy_shape batch = {3, {0, 2, 3}}, square = {3, {2, 0, 0}};
    const matrices nothing = {.count = 0};
    matrices m;

#define NOTHING(dtype, shape) matrices_tensor(&h, dtype, &nothing, &(shape))
    for (int d = 0; d < N_QR_DTYPES; d++) {
        ck_assert_int_eq(qr(NOTHING(dtypes[d], high), true), EDDY_OK);
        harness_want(&h, 1, dtypes[d], HARNESS_DIMS(3, 0));
        m = output(0);
        matrices_want_identity(&m, dtypes[d]);
    }
    ck_assert_int_eq(qr(NOTHING(EDDY_FLOAT32, wide), false), EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT32, HARNESS_DIMS(0, 0));
    harness_want(&h, 1, EDDY_FLOAT32, HARNESS_DIMS(0, 3));
    ck_assert_int_eq(qr(NOTHING(EDDY_FLOAT32, batch), false), EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT32, HARNESS_DIMS(0, 2, 2));
    ck_assert_int_eq(eigen(NOTHING(EDDY_FLOAT32, square), true), EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT32, HARNESS_DIMS(2, 0));
    harness_want(&h, 1, EDDY_FLOAT32, HARNESS_DIMS(2, 0, 0));
    ck_assert_int_eq(svd(NOTHING(EDDY_FLOAT32, wide), true, true), EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT32, HARNESS_DIMS(0));
    harness_want(&h, 1, EDDY_FLOAT32, HARNESS_DIMS(0, 0));
    m = output(2);
    matrices_want_identity(&m, EDDY_FLOAT32);
    ck_assert_int_eq(svd(NOTHING(EDDY_FLOAT32, high), true, false), EDDY_OK);
    harness_want(&h, 1, EDDY_FLOAT32, HARNESS_DIMS(3, 0));
    harness_want(&h, 2, EDDY_FLOAT32, HARNESS_DIMS(0, 0));
}
END_TEST

START_TEST(a_batch_may_have_six_dimensions)
{
    const eddy_shape shape = {8, {1, 2, 1, 1, 1, 1, 3, 3}};
    const int64_t values[] = {1, 2, 1, 1, 1, 1, 3};
    const matrices random = matrices_random(2, 3, 3, EDDY_FLOAT64, 3);
    const matrices turned = matrices_adjoint(&random);
    const matrices a = matrices_product(&random, &turned);
    eddy_tensor *input = matrices_tensor(&h, EDDY_FLOAT64, &a, &shape);

    ck_assert_int_eq(qr(input, false), EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT64, 8, shape.dims);
    ck_assert_int_eq(eigen(input, true), EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT64, 7, values);
    ck_assert_int_eq(svd(input, true, true), EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT64, 7, values);
    harness_want(&h, 2, EDDY_FLOAT64, 8, shape.dims);
}
END_TEST

START_TEST(what_is_not_finite_has_no_eigenvalues)
{
    const matrices bad = {2, 2, 2, {1, 0, 0, 1, _i ? NAN : INFINITY, 1, 1, 2}};

    for (int d = 0; d < N_DTYPES; d++) {
        eddy_tensor *input = matrices_tensor(&h, dtypes[d], &bad, NULL);

        harness_want_error(&h, eigen(input, true), EDDY_INVALID_ARGUMENT,
                           EDDY_E_VALUE);
        ck_assert_ptr_nonnull(strstr(h.err.message, "matrix 1 "));
        ck_assert_int_eq(svd(input, true, false), EDDY_OK);
        ck_assert_double_eq_tol(harness_get(h.outputs[0], 1), 1, 1e-6);
        for (size_t o = 0; o < 3; o++)
            ck_assert_double_nan(
                harness_get(h.outputs[o], h.outputs[o]->count - 1));
    }
}
END_TEST

START_TEST(shapes_that_do_not_fit_are_refused)
{
    const matrices six = matrices_random(1, 2, 3, EDDY_FLOAT32, 1);
    const eddy_shape flat = {1, {6}};
    eddy_tensor *line = matrices_tensor(&h, EDDY_FLOAT32, &six, &flat);

    harness_want_error(&h, qr(line, false), EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    harness_want_error(&h, svd(line, true, false), EDDY_INVALID_ARGUMENT,
                       EDDY_E_RANK);
    harness_want_error(&h, eigen(line, true), EDDY_INVALID_ARGUMENT,
                       EDDY_E_RANK);
    harness_want_error(
        &h, eigen(matrices_tensor(&h, EDDY_FLOAT32, &six, NULL), true),
        EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

TCase *ops_decompositions_tests(void)
{
    TCase *tc = tcase_create("ops_decompositions");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_loop_test(tc, q_times_r_is_the_matrix, 0, 2 * N_SIZES);
    tcase_add_test(tc, qr_has_tensorflows_signs);
    tcase_add_loop_test(tc, eigenvectors_are_stretched_by_eigenvalues, 0,
                        2 * N_DTYPES);
    tcase_add_loop_test(tc, the_factors_make_the_matrix, 0, 2 * N_SIZES);
    tcase_add_test(tc, matrices_of_nothing);
    tcase_add_test(tc, a_batch_may_have_six_dimensions);
    tcase_add_loop_test(tc, what_is_not_finite_has_no_eigenvalues, 0, 2);
    tcase_add_test(tc, shapes_that_do_not_fit_are_refused);
    return tc;
}
