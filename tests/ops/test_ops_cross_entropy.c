/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/ops/parts.h"
#include "tests/suites.h"

#include <math.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__cross_entropy_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static const eddy_dtype dtypes[] = {EDDY_FLOAT16, EDDY_FLOAT32, EDDY_FLOAT64,
                                    EDDY_BFLOAT16};
static const double tolerance[] = {4e-3, 2e-6, 1e-14, 3e-2};

#define DENSE "SoftmaxCrossEntropyWithLogits"
#define SPARSE "SparseSoftmaxCrossEntropyWithLogits"

/* Row `row` of a matrix that broadcasts, column `j`. */
static double at(const eddy_tensor *t, int64_t row, int64_t j)
{
    const eddy_shape *shape = eddy_tensor_shape(t);
    const int64_t columns = shape->rank > 0 ? shape->dims[shape->rank - 1] : 1;

    if (shape->rank < 2 || shape->dims[0] == 1)
        row = 0;
    return harness_get(t, row * columns + (columns == 1 ? 0 : j));
}

static void want_near(double got, double want, double tolerated)
{
    ck_assert_double_le(fabs(got - want), tolerated * (1 + fabs(want)));
}

/* Compares the outputs with the formulas. */
static void check(int dtype_id, const eddy_tensor *x, const eddy_tensor *label,
                  int64_t rows, int64_t classes)
{
    const int64_t dims[] = {rows, classes};

    harness_want(&h, 0, dtypes[dtype_id], 1, dims);
    harness_want(&h, 1, dtypes[dtype_id], 2, dims);
    for (int64_t i = 0; i < rows; i++) {
        double sum = 0, loss = 0;

        for (int64_t j = 0; j < classes; j++)
            sum += exp(at(x, i, j));
        for (int64_t j = 0; j < classes; j++) {
            const double l = at(label, i, j);

            loss += l * (log(sum) - at(x, i, j));
            want_near(harness_get(h.outputs[1], i * classes + j),
                      exp(at(x, i, j)) / sum - l, tolerance[dtype_id]);
        }
        want_near(harness_get(h.outputs[0], i), loss, tolerance[dtype_id]);
    }
}

static eddy_tensor *logits(int dtype_id, int32_t rank, const int64_t *dims)
{
    static double values[2048];

    for (int i = 0; i < 2048; i++)
        values[i] = (double)(i * 29 % 31) / 8 - 2;
    return harness_numbers(&h, dtypes[dtype_id], rank, dims, values);
}

static eddy_tensor *labels(int dtype_id, int32_t rank, const int64_t *dims)
{
    static double values[2048];

    for (int i = 0; i < 2048; i++)
        values[i] = (double)(i * 7 % 5) / 32;
    return harness_numbers(&h, dtypes[dtype_id], rank, dims, values);
}

START_TEST(distributions_of_every_length)
{
    const int64_t lengths[] = {1, 3, 16, 40, 256, 300};

    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        const int64_t dims[] = {3, lengths[i]};
        eddy_tensor *x = logits(_i, 2, dims), *l = labels(_i, 2, dims);

        ck_assert_int_eq(harness_run(&h, DENSE, x, l), EDDY_OK);
        check(_i, x, l, 3, lengths[i]);
    }
}
END_TEST

START_TEST(both_sides_broadcast)
{
    static const struct {
        int32_t rank_x, rank_l;
        int64_t x[2], l[2];
    } cases[] = {{1, 2, {4}, {3, 4}},    {2, 1, {3, 4}, {4}},
                 {2, 2, {1, 4}, {3, 1}}, {2, 2, {3, 1}, {1, 4}},
                 {0, 2, {0}, {3, 4}},    {2, 0, {3, 4}, {0}},
                 {1, 2, {1}, {3, 4}}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        eddy_tensor *x = logits(_i, cases[i].rank_x, cases[i].x);
        eddy_tensor *l = labels(_i, cases[i].rank_l, cases[i].l);

        ck_assert_int_eq(harness_run(&h, DENSE, x, l), EDDY_OK);
        check(_i, x, l, 3, 4);
    }
}
END_TEST

START_TEST(classes_of_every_number)
{
    const int64_t lengths[] = {1, 3, 16, 40, 256, 300}, three = 3;

    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        static double one_hot[900];
        const int64_t dims[] = {3, lengths[i]};
        const int64_t n = lengths[i];
        const double ids[] = {0, (double)(n - 1), (double)(n / 2)};
        eddy_tensor *x = logits(_i, 2, dims);
        eddy_tensor *l = harness_numbers(&h, i % 2 ? EDDY_INT64 : EDDY_INT32, 1,
                                         &three, ids);

        for (int64_t j = 0; j < 3 * n; j++)
            one_hot[j] = (double)(j % n) == ids[j / n];
        ck_assert_int_eq(harness_run(&h, SPARSE, x, l), EDDY_OK);
        check(_i, x, harness_numbers(&h, dtypes[_i], 2, dims, one_hot), 3, n);
    }
}
END_TEST

/* As TensorFlow: 0 times an infinite loss is a NaN, but for a class id. */
START_TEST(impossible_classes)
{
    const int64_t dims[] = {1, 2};
    const double x[] = {1, -INFINITY}, l[] = {1, 0};
    eddy_tensor *logit = harness_numbers(&h, EDDY_FLOAT32, 2, dims, x);

    ck_assert_int_eq(harness_run(&h, DENSE, logit,
                                 harness_numbers(&h, EDDY_FLOAT32, 2, dims, l)),
                     EDDY_OK);
    ck_assert_double_nan(harness_get(h.outputs[0], 0));
    ck_assert_double_eq(harness_get(h.outputs[1], 0), 0);
    ck_assert_int_eq(
        harness_run(&h, SPARSE, logit, harness_vector(&h, EDDY_INT64, 0)),
        EDDY_OK);
    ck_assert_double_eq(harness_get(h.outputs[0], 0), 0);
    ck_assert_int_eq(
        harness_run(&h, SPARSE, logit, harness_vector(&h, EDDY_INT64, 1)),
        EDDY_OK);
    ck_assert_double_eq(harness_get(h.outputs[0], 0), INFINITY);
    ck_assert_double_eq(harness_get(h.outputs[1], 1), -1);
}
END_TEST

START_TEST(nothing_loses_nothing)
{
    const int64_t none[] = {2, 0}, rows[] = {0, 3};

    ck_assert_int_eq(
        harness_run(&h, DENSE, logits(1, 2, none), labels(1, 2, none)),
        EDDY_OK);
    check(1, logits(1, 2, none), labels(1, 2, none), 2, 0);
    ck_assert_int_eq(
        harness_run(&h, SPARSE, logits(1, 2, rows),
                    harness_numbers(&h, EDDY_INT32, 1, rows, NULL)),
        EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT32, 1, rows);
    harness_want(&h, 1, EDDY_FLOAT32, 2, rows);
}
END_TEST

START_TEST(shapes_must_fit)
{
    const int64_t matrix[] = {2, 3}, other[] = {2, 4}, cube[] = {1, 2, 3};

    harness_want_error(
        &h, harness_run(&h, DENSE, logits(1, 2, matrix), labels(1, 2, other)),
        EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(
        &h, harness_run(&h, DENSE, logits(1, 1, matrix), labels(1, 1, matrix)),
        EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(
        &h, harness_run(&h, DENSE, logits(1, 3, cube), labels(1, 2, matrix)),
        EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h,
                       harness_run(&h, SPARSE, logits(1, 2, matrix),
                                   harness_vector(&h, EDDY_INT32, 0)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h,
                       harness_run(&h, SPARSE, logits(1, 1, matrix),
                                   harness_vector(&h, EDDY_INT32, 0, 0)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

START_TEST(labels_must_be_classes)
{
    const int64_t matrix[] = {2, 3}, none[] = {2, 0};

    harness_want_error(&h,
                       harness_run(&h, SPARSE, logits(1, 2, matrix),
                                   harness_vector(&h, EDDY_INT32, 0, 3)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    ck_assert_str_eq(h.err.message, "labels[1] = 3 is not in [0, 3)");
    harness_want_error(&h,
                       harness_run(&h, SPARSE, logits(1, 2, matrix),
                                   harness_vector(&h, EDDY_INT64, -1, 0)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    harness_want_error(&h,
                       harness_run(&h, SPARSE, logits(1, 2, none),
                                   harness_vector(&h, EDDY_INT64, 0, 0)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

TCase *ops_cross_entropy_tests(void)
{
    TCase *tc = tcase_create("ops_cross_entropy");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_loop_test(tc, distributions_of_every_length, 0, 4);
    tcase_add_loop_test(tc, both_sides_broadcast, 0, 4);
    tcase_add_loop_test(tc, classes_of_every_number, 0, 4);
    tcase_add_test(tc, impossible_classes);
    tcase_add_test(tc, nothing_loses_nothing);
    tcase_add_test(tc, shapes_must_fit);
    tcase_add_test(tc, labels_must_be_classes);
    ops_ctc_add_tests(tc);
    return tc;
}
