/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/aid/numbers.h"
#include "tests/suites.h"

#include <math.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__softmax_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static const eddy_dtype dtypes[] = {EDDY_FLOAT16, EDDY_FLOAT32, EDDY_FLOAT64,
                                    EDDY_BFLOAT16};
static const double tolerance[] = {1e-3, 1e-6, 1e-14, 8e-3};

/* The logarithm of a row's sum of exponentials. */
static double log_sum(const eddy_tensor *x, int64_t row, int64_t n)
{
    double max = -INFINITY, sum = 0;

    for (int64_t j = 0; j < n; j++)
        max = fmax(max, harness_get(x, row * n + j));
    for (int64_t j = 0; j < n; j++)
        sum += exp(harness_get(x, row * n + j) - max);
    return max + log(sum);
}

static void check_rows(int dtype_id, int64_t rows, int64_t n)
{
    static double values[4096];
    const int64_t dims[] = {rows, n};
    eddy_tensor *x;

    for (int64_t i = 0; i < rows * n; i++)
        values[i] = (double)((i * 37 + n) % 101 - 50) / 7;
    x = harness_numbers(&h, dtypes[dtype_id], 2, dims, values);
    for (int is_log = 0; is_log < 2; is_log++) {
        ck_assert_int_eq(harness_run(&h, is_log ? "LogSoftmax" : "Softmax", x),
                         EDDY_OK);
        harness_want(&h, 0, dtypes[dtype_id], 2, dims);
        for (int64_t row = 0; row < rows; row++) {
            const double total = log_sum(x, row, n);

            for (int64_t i = row * n; i < (row + 1) * n; i++) {
                const double log_want = harness_get(x, i) - total;
                const double want = is_log ? log_want : exp(log_want);

                ck_assert_double_le(fabs(harness_get(h.outputs[0], i) - want),
                                    tolerance[dtype_id] * (1 + fabs(want)));
            }
        }
    }
}

START_TEST(rows_of_every_length_sum_to_one)
{
    const int64_t lengths[] = {1, 2, 3, 15, 16, 17, 33, 255, 256, 257, 800};

    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        check_rows(_i, 3, lengths[i]);
}
END_TEST

START_TEST(only_the_last_dimension_counts)
{
    const int64_t dims[] = {1, 2, 1, 1, 1, 2, 1, 2};
    const double values[] = {0, 0, 1, 1, 5, 5, -2, -2};

    ck_assert_int_eq(
        harness_run(&h, "Softmax",
                    harness_numbers(&h, EDDY_FLOAT32, 8, dims, values)),
        EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT32, 8, dims);
    for (int64_t i = 0; i < 8; i++)
        ck_assert_double_eq(harness_get(h.outputs[0], i), 0.5);
    ck_assert_int_eq(
        harness_run(&h, "Softmax", harness_vector(&h, EDDY_FLOAT32, 3)),
        EDDY_OK);
    ck_assert_double_eq(harness_get(h.outputs[0], 0), 1);
}
END_TEST

/* _i: dtype. */
START_TEST(infinities_and_nans_stay_in_their_rows)
{
    const int64_t dims[] = {5, 2};
    const double x[] = {INFINITY, 1, -INFINITY, -INFINITY, NAN,
                        1,        1, NAN,       -INFINITY, 1};

    for (int is_log = 0; is_log < 2; is_log++) {
        ck_assert_int_eq(
            harness_run(&h, is_log ? "LogSoftmax" : "Softmax",
                        harness_numbers(&h, dtypes[_i], 2, dims, x)),
            EDDY_OK);
        for (int64_t i = 0; i < 8; i++)
            ck_assert_double_nan(harness_get(h.outputs[0], i));
        ck_assert_double_eq(harness_get(h.outputs[0], 8),
                            is_log ? -INFINITY : 0);
        ck_assert_double_eq(harness_get(h.outputs[0], 9), is_log ? 0 : 1);
    }
}
END_TEST

START_TEST(large_logits_do_not_overflow)
{
    ck_assert_int_eq(harness_run(&h, "Softmax",
                                 harness_vector(&h, EDDY_FLOAT32, 3e38, 3e38)),
                     EDDY_OK);
    ck_assert_double_eq(harness_get(h.outputs[0], 0), 0.5);
    ck_assert_int_eq(
        harness_run(&h, "LogSoftmax", harness_vector(&h, EDDY_FLOAT32, 0, 200)),
        EDDY_OK);
    ck_assert_double_eq(harness_get(h.outputs[0], 0), -200);
}
END_TEST

START_TEST(nothing_gives_nothing)
{
    const int64_t none[] = {2, 0}, rows[] = {0, 3};

    ck_assert_int_eq(
        harness_run(&h, "Softmax",
                    harness_numbers(&h, EDDY_FLOAT64, 2, none, NULL)),
        EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT64, 2, none);
    ck_assert_int_eq(
        harness_run(&h, "LogSoftmax",
                    harness_numbers(&h, EDDY_FLOAT16, 2, rows, NULL)),
        EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT16, 2, rows);
}
END_TEST

START_TEST(scalars_and_integers_are_refused)
{
    harness_want_error(
        &h, harness_run(&h, "Softmax", harness_scalar(&h, EDDY_FLOAT32, 1)),
        EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    harness_want_error(
        &h, harness_run(&h, "LogSoftmax", harness_vector(&h, EDDY_INT32, 1, 2)),
        EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE);
}
END_TEST

TCase *ops_softmax_tests(void)
{
    TCase *tc = tcase_create("ops_softmax");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_loop_test(tc, rows_of_every_length_sum_to_one, 0, 4);
    tcase_add_test(tc, only_the_last_dimension_counts);
    tcase_add_loop_test(tc, infinities_and_nans_stay_in_their_rows, 0, 4);
    tcase_add_test(tc, large_logits_do_not_overflow);
    tcase_add_test(tc, nothing_gives_nothing);
    tcase_add_test(tc, scalars_and_integers_are_refused);
    return tc;
}
