/* SPDX-License-Identifier: Apache-2.0 */
/* Ragged tensors as dense and sparse ones; rows of them; mistakes. */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__ragged_dense_ops);
    ck_assert_int_eq(eddy__registry_add_table(&h.ctx.registry,
                                              &eddy__ragged_gather_ops, NULL),
                     EDDY_OK);
}

static void end(void)
{
    harness_deinit(&h);
}

static const eddy_string by_splits[] = {{"ROW_SPLITS", 10}, {"ROW_SPLITS", 10}};
static const eddy_string by_ids[] = {{"FIRST_DIM_SIZE", 14},
                                     {"VALUE_ROWIDS", 12}};

static eddy_status dense(eddy_tensor *const *inputs, size_t n,
                         const eddy_string *kinds, size_t n_kinds)
{
    const eddy_attr attr = {.name = "row_partition_types",
                            .kind = EDDY_ATTR_STRING,
                            .is_list = true,
                            .n = n_kinds,
                            .as.strings = kinds};

    return harness_run_attrs(&h, "RaggedTensorToTensor", inputs, n, &attr, 1);
}

START_TEST(rows_are_filled_and_cut)
{
    eddy_tensor *inputs[] = {harness_scalar(&h, EDDY_INT64, -1),
                             harness_vector(&h, EDDY_FLOAT32, 1, 2, 3, 4, 5, 6),
                             harness_scalar(&h, EDDY_FLOAT32, 9),
                             harness_vector(&h, EDDY_INT64, 0, 2, 2, 6)};
    const int64_t all[] = {3, 4}, some[] = {2, 3};

    ck_assert_int_eq(dense(inputs, 4, by_splits, 1), EDDY_OK);
    layout_want(&h, 0, EDDY_FLOAT32, 2, all,
                LAYOUT_NUMBERS(1, 2, 9, 9, 9, 9, 9, 9, 3, 4, 5, 6));
    inputs[0] = harness_vector(&h, EDDY_INT64, 2, 3);
    ck_assert_int_eq(dense(inputs, 4, by_splits, 1), EDDY_OK);
    layout_want(&h, 0, EDDY_FLOAT32, 2, some, LAYOUT_NUMBERS(1, 2, 9, 9, 9, 9));
}
END_TEST

START_TEST(row_ids_say_the_same)
{
    eddy_tensor *inputs[] = {harness_scalar(&h, EDDY_INT32, -1),
                             harness_vector(&h, EDDY_INT32, 1, 2, 3),
                             harness_scalar(&h, EDDY_INT32, 0),
                             harness_scalar(&h, EDDY_INT64, 3),
                             harness_vector(&h, EDDY_INT64, 0, 2, 2)};
    const int64_t dims[] = {3, 2};

    ck_assert_int_eq(dense(inputs, 5, by_ids, 2), EDDY_OK);
    layout_want(&h, 0, EDDY_INT32, 2, dims, LAYOUT_NUMBERS(1, 0, 0, 0, 2, 3));
    inputs[4] = harness_vector(&h, EDDY_INT64, 0, 2, 3);
    harness_want_error(&h, dense(inputs, 5, by_ids, 2), EDDY_INVALID_ARGUMENT,
                       EDDY_E_VALUE);
}
END_TEST

START_TEST(levels_and_defaults_of_rows_nest)
{
    eddy_tensor *inputs[] = {
        harness_scalar(&h, EDDY_INT64, -1),
        harness_numbers(&h, EDDY_INT32, HARNESS_DIMS(3, 2),
                        (const double[]){1, 2, 3, 4, 5, 6}),
        harness_vector(&h, EDDY_INT32, 7, 8),
        harness_vector(&h, EDDY_INT64, 0, 1, 2),
        harness_vector(&h, EDDY_INT64, 0, 1, 3)};
    const int64_t dims[] = {2, 1, 2, 2};

    ck_assert_int_eq(dense(inputs, 5, by_splits, 2), EDDY_OK);
    layout_want(&h, 0, EDDY_INT32, 4, dims,
                LAYOUT_NUMBERS(1, 2, 7, 8, 3, 4, 5, 6));
}
END_TEST

START_TEST(texts_are_laid_out)
{
    const char *const texts[] = {"a", "b", "c"};
    const char *const filler[] = {"-"};
    const char *const wanted[] = {"a", "-", "b", "c"};
    eddy_tensor *inputs[] = {harness_scalar(&h, EDDY_INT64, -1),
                             harness_strings(&h, HARNESS_DIMS(3), texts),
                             harness_strings(&h, 0, NULL, filler),
                             harness_vector(&h, EDDY_INT64, 0, 1, 3)};

    ck_assert_int_eq(dense(inputs, 4, by_splits, 1), EDDY_OK);
    harness_want_texts(&h, HARNESS_DIMS(2, 2), wanted);
}
END_TEST

START_TEST(partitions_that_do_not_fit_are_refused)
{
    static const double splits[][3] = {{1, 2, 3}, {0, 2, 1}, {0, 1, 4}};
    eddy_tensor *inputs[] = {harness_scalar(&h, EDDY_INT64, -1),
                             harness_vector(&h, EDDY_INT32, 1, 2, 3),
                             harness_scalar(&h, EDDY_INT32, 0), NULL};

    inputs[3] = harness_numbers(&h, EDDY_INT64, HARNESS_DIMS(3), splits[_i]);
    harness_want_error(&h, dense(inputs, 4, by_splits, 1),
                       EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
}
END_TEST

START_TEST(defaults_and_shapes_must_fit)
{
    eddy_tensor *inputs[] = {harness_scalar(&h, EDDY_INT64, -1),
                             harness_vector(&h, EDDY_INT32, 1, 2, 3),
                             harness_vector(&h, EDDY_INT32, 0),
                             harness_vector(&h, EDDY_INT64, 0, 1, 3)};

    harness_want_error(&h, dense(inputs, 4, by_splits, 1),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    inputs[0] = harness_scalar(&h, EDDY_INT64, 2);
    harness_want_error(&h, dense(inputs, 4, by_splits, 1),
                       EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
}
END_TEST

static eddy_status gather(eddy_tensor *indices, int64_t rank)
{
    const eddy_attr attr = eddy_attr_int("OUTPUT_RAGGED_RANK", &rank);
    eddy_tensor *inputs[] = {harness_vector(&h, EDDY_INT64, 0, 2, 2, 5),
                             harness_vector(&h, EDDY_FLOAT32, 1, 2, 3, 4, 5),
                             indices};

    return harness_run_attrs(&h, "RaggedGather", inputs, 3, &attr, 1);
}

START_TEST(rows_are_taken_by_index)
{
    const int64_t five = 5, four = 4;

    ck_assert_int_eq(gather(harness_vector(&h, EDDY_INT32, 2, 1, 0), 1),
                     EDDY_OK);
    layout_want(&h, 0, EDDY_INT64, 1, &four, LAYOUT_NUMBERS(0, 3, 3, 5));
    layout_want(&h, 1, EDDY_FLOAT32, 1, &five, LAYOUT_NUMBERS(3, 4, 5, 1, 2));
    harness_want_error(&h, gather(harness_vector(&h, EDDY_INT32, 3), 1),
                       EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    harness_want_error(&h, gather(harness_vector(&h, EDDY_INT32, 0), 2),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

START_TEST(values_stand_where_their_rows_say)
{
    eddy_tensor *values = harness_vector(&h, EDDY_FLOAT32, 1, 2, 3);
    const int64_t dims[] = {3, 2}, two = 2;

    ck_assert_int_eq(harness_run(&h, "RaggedTensorToSparse",
                                 harness_vector(&h, EDDY_INT64, 0, 1, 1, 3),
                                 values),
                     EDDY_OK);
    layout_want(&h, 0, EDDY_INT64, 2, dims, LAYOUT_NUMBERS(0, 0, 2, 0, 2, 1));
    layout_want(&h, 2, EDDY_INT64, 1, &two, LAYOUT_NUMBERS(3, 2));
    harness_want_error(&h,
                       harness_run(&h, "RaggedTensorToSparse",
                                   harness_vector(&h, EDDY_INT64, 0, 2),
                                   values),
                       EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
}
END_TEST

TCase *ops_ragged_rows_tests(void)
{
    TCase *tests = tcase_create("ops_ragged_rows");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, rows_are_filled_and_cut);
    tcase_add_test(tests, row_ids_say_the_same);
    tcase_add_test(tests, levels_and_defaults_of_rows_nest);
    tcase_add_test(tests, texts_are_laid_out);
    tcase_add_loop_test(tests, partitions_that_do_not_fit_are_refused, 0, 3);
    tcase_add_test(tests, defaults_and_shapes_must_fit);
    tcase_add_test(tests, rows_are_taken_by_index);
    tcase_add_test(tests, values_stand_where_their_rows_say);
    return tests;
}
