/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bincount and its like, and small ops on indices: InTopK, UnravelIndex,
 * InplaceUpdate.  Values are TensorFlow's: tests/conformance/tf/kernels has
 * more.
 */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/suites.h"

#include <math.h>

static harness h;

static void begin(void)
{
    static const eddy__op_table *const tables[] = {
        &eddy__bincount_ops, &eddy__in_top_k_ops, &eddy__inplace_ops,
        &eddy__unravel_ops};

    harness_init(&h, NULL);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        ck_assert_int_eq(
            eddy__registry_add_table(&h.ctx.registry, tables[i], NULL),
            EDDY_OK);
}

static void end(void)
{
    harness_deinit(&h);
}

static void want(const double *values)
{
    for (int64_t i = 0; i < h.outputs[0]->count; i++)
        ck_assert_double_eq(harness_get(h.outputs[0], i), values[i]);
}

static eddy_tensor *numbers(void)
{
    return harness_vector(&h, EDDY_INT32, 1, 3, 3, 0, 9, 1);
}

static eddy_tensor *count(double n)
{
    return harness_scalar(&h, EDDY_INT32, n);
}

static eddy_tensor *none(eddy_dtype dtype)
{
    return harness_numbers(&h, dtype, HARNESS_DIMS(0), NULL);
}

START_TEST(numbers_are_counted_and_weights_summed)
{
    static const eddy_dtype dtypes[] = {EDDY_INT32, EDDY_INT64, EDDY_FLOAT32,
                                        EDDY_FLOAT64};

    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(
            harness_run(&h, "Bincount", numbers(), count(5), none(dtypes[i])),
            EDDY_OK);
        harness_want(&h, 0, dtypes[i], HARNESS_DIMS(5));
        want((const double[]){1, 2, 0, 2, 0});
        ck_assert_int_eq(
            harness_run(&h, "Bincount", numbers(), count(4),
                        harness_vector(&h, dtypes[i], 1, 2, 3, 4, 5, 6)),
            EDDY_OK);
        want((const double[]){4, 7, 0, 5});
    }
}
END_TEST

START_TEST(each_row_has_bins_of_its_own)
{
    const bool yes = true;
    const eddy_attr attr = eddy_attr_bool("binary_output", &yes);
    eddy_tensor *rows = harness_numbers(&h, EDDY_INT32, HARNESS_DIMS(2, 3),
                                        (const double[]){1, 1, 0, 4, 2, 2});
    eddy_tensor *dense[] = {rows, count(3), none(EDDY_INT32)};

    ck_assert_int_eq(
        harness_run(&h, "DenseBincount", rows, count(3), none(EDDY_INT32)),
        EDDY_OK);
    harness_want(&h, 0, EDDY_INT32, HARNESS_DIMS(2, 3));
    want((const double[]){1, 2, 0, 0, 0, 2});
    ck_assert_int_eq(harness_run_attrs(&h, "DenseBincount", dense, 3, &attr, 1),
                     EDDY_OK);
    want((const double[]){1, 1, 0, 0, 0, 1});
    ck_assert_int_eq(harness_run(&h, "RaggedBincount",
                                 harness_vector(&h, EDDY_INT64, 0, 2, 2, 6),
                                 numbers(), count(4), none(EDDY_FLOAT32)),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT32, HARNESS_DIMS(3, 4));
    want((const double[]){0, 1, 0, 1, 0, 0, 0, 0, 1, 1, 0, 1});
}
END_TEST

START_TEST(what_can_not_be_counted_is_refused)
{
    harness_want_error(&h,
                       harness_run(&h, "Bincount",
                                   harness_vector(&h, EDDY_INT32, 1, -1),
                                   count(5), none(EDDY_INT32)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    harness_want_error(
        &h, harness_run(&h, "Bincount", numbers(), count(-1), none(EDDY_INT32)),
        EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    harness_want_error(&h,
                       harness_run(&h, "Bincount", numbers(), count(2),
                                   harness_vector(&h, EDDY_INT32, 1, 1)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h,
                       harness_run(&h, "RaggedBincount",
                                   harness_vector(&h, EDDY_INT64, 0, 4, 2, 6),
                                   numbers(), count(4), none(EDDY_FLOAT32)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    harness_want_error(
        &h,
        harness_run(&h, "DenseBincount",
                    harness_numbers(&h, EDDY_INT32, HARNESS_DIMS(1, 1, 1),
                                    (const double[]){0}),
                    count(4), none(EDDY_FLOAT32)),
        EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
}
END_TEST

START_TEST(ties_are_among_the_greatest)
{
    eddy_tensor *predictions = harness_numbers(
        &h, EDDY_FLOAT32, HARNESS_DIMS(4, 3),
        (const double[]){1, 2, 3, 3, 3, 1, (double)NAN, 1, 2, 1, 2, 3});
    eddy_tensor *targets = harness_vector(&h, EDDY_INT32, 2, 0, 1, 3);

    ck_assert_int_eq(
        harness_run(&h, "InTopKV2", predictions, targets, count(1)), EDDY_OK);
    want((const double[]){1, 1, 0, 0});
    harness_want_error(&h,
                       harness_run(&h, "InTopKV2", predictions,
                                   harness_vector(&h, EDDY_INT32, 1), count(1)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

static eddy_status unravel(eddy_tensor *indices, double rows)
{
    return harness_run(&h, "UnravelIndex", indices,
                       harness_vector(&h, EDDY_INT32, rows, 4));
}

START_TEST(indices_become_coordinates)
{
    ck_assert_int_eq(unravel(harness_vector(&h, EDDY_INT32, 7, 0, 11), 3),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_INT32, HARNESS_DIMS(2, 3));
    want((const double[]){1, 0, 2, 3, 0, 3});
    ck_assert_int_eq(unravel(count(7), 3), EDDY_OK);
    harness_want(&h, 0, EDDY_INT32, HARNESS_DIMS(2));
    harness_want_error(&h, unravel(count(12), 3), EDDY_INVALID_ARGUMENT,
                       EDDY_E_INDEX);
    harness_want_error(&h, unravel(count(0), 0), EDDY_INVALID_ARGUMENT,
                       EDDY_E_DIM);
    harness_want_error(&h, unravel(count(0), 1e9), EDDY_INVALID_ARGUMENT,
                       EDDY_E_DIM);
    harness_want_error(&h, unravel(none(EDDY_INT32), 3), EDDY_INVALID_ARGUMENT,
                       EDDY_E_SHAPE);
}
END_TEST

static eddy_status change(const char *op, double width)
{
    return harness_run(&h, op,
                       harness_numbers(&h, EDDY_FLOAT32, HARNESS_DIMS(3, 2),
                                       (const double[]){1, 2, 3, 4, 5, 6}),
                       harness_vector(&h, EDDY_INT32, 5, -3),
                       harness_numbers(&h, EDDY_FLOAT32,
                                       HARNESS_DIMS(2, (int64_t)width),
                                       (const double[]){10, 20, 30, 40}));
}

START_TEST(rows_count_modulo_the_length)
{
    ck_assert_int_eq(change("InplaceUpdate", 2), EDDY_OK);
    want((const double[]){30, 40, 3, 4, 10, 20});
    ck_assert_int_eq(change("InplaceAdd", 2), EDDY_OK);
    want((const double[]){31, 42, 3, 4, 15, 26});
    ck_assert_int_eq(change("InplaceSub", 2), EDDY_OK);
    want((const double[]){-29, -38, 3, 4, -5, -14});
    harness_want_error(&h, change("InplaceAdd", 1), EDDY_INVALID_ARGUMENT,
                       EDDY_E_SHAPE);
}
END_TEST

TCase *ops_bincount_tests(void)
{
    TCase *tc = tcase_create("ops_bincount");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, numbers_are_counted_and_weights_summed);
    tcase_add_test(tc, each_row_has_bins_of_its_own);
    tcase_add_test(tc, what_can_not_be_counted_is_refused);
    tcase_add_test(tc, ties_are_among_the_greatest);
    tcase_add_test(tc, indices_become_coordinates);
    tcase_add_test(tc, rows_count_modulo_the_length);
    return tc;
}
