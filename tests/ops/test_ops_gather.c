/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

#include <string.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__gather_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static const int64_t matrix[] = {2, 3}, square[] = {2, 2};

START_TEST(gather_takes_rows_and_columns_of_every_dtype)
{
    const int64_t rows[] = {3, 3}, columns[] = {2, 2, 2};
    eddy_dtype dtype = layout_dtype(_i);
    eddy_tensor *x = layout_range(&h, dtype, 0, 2, matrix);

    layout_run(&h, "GatherV2",
               LAYOUT_INPUTS(x, layout_ints(&h, 3, LAYOUT_NUMBERS(1, 0, 1)),
                             layout_int(&h, 0)),
               NULL, 0);
    layout_want(&h, 0, dtype, 2, rows,
                LAYOUT_NUMBERS(3, 4, 5, 0, 1, 2, 3, 4, 5));
    layout_run(&h, "GatherV2",
               LAYOUT_INPUTS(x,
                             layout_tensor(&h, EDDY_INT64, 2, square,
                                           LAYOUT_NUMBERS(2, 0, 1, 1)),
                             layout_int(&h, -1)),
               NULL, 0);
    layout_want(&h, 0, dtype, 3, columns,
                LAYOUT_NUMBERS(2, 0, 1, 1, 5, 3, 4, 4));
}
END_TEST

START_TEST(gather_takes_one_element)
{
    const int64_t three = 3;
    eddy_dtype dtype = layout_dtype(_i);
    eddy_tensor *x = layout_range(&h, dtype, 4, 1, &three);

    layout_run(&h, "GatherV2",
               LAYOUT_INPUTS(x, layout_int(&h, 2), layout_int(&h, 0)), NULL, 0);
    layout_want(&h, 0, dtype, 0, NULL, LAYOUT_NUMBERS(6));
    layout_run(&h, "Gather", LAYOUT_INPUTS(x, layout_int(&h, 1)), NULL, 0);
    layout_want(&h, 0, dtype, 0, NULL, LAYOUT_NUMBERS(5));
}
END_TEST

START_TEST(gather_takes_int16_indices)
{
    const int64_t n = 2;

    layout_run(&h, "GatherV2",
               LAYOUT_INPUTS(layout_range(&h, EDDY_FLOAT32, 0, 2, matrix),
                             harness_vector(&h, EDDY_INT16, 2, 0),
                             harness_scalar(&h, EDDY_INT64, 1)),
               NULL, 0);
    layout_want(&h, 0, EDDY_FLOAT32, 2, square, LAYOUT_NUMBERS(2, 0, 5, 3));
    layout_run(&h, "GatherV2",
               LAYOUT_INPUTS(layout_range(&h, EDDY_FLOAT32, 0, 1, &n),
                             harness_scalar(&h, EDDY_INT16, 1),
                             layout_int(&h, 0)),
               NULL, 0);
    layout_want(&h, 0, EDDY_FLOAT32, 0, NULL, LAYOUT_NUMBERS(1));
}
END_TEST

/* _i: batch_dims 1, and the same counted from the end. */
START_TEST(gather_goes_along_batches)
{
    const int64_t dims[] = {2, 2, 3}, to[] = {2, 2, 2};
    const int64_t batch = _i == 0 ? 1 : -1;
    const eddy_attr attr = eddy_attr_int("batch_dims", &batch);

    layout_run(&h, "GatherV2",
               LAYOUT_INPUTS(layout_range(&h, EDDY_INT32, 0, 3, dims),
                             layout_tensor(&h, EDDY_INT32, 2, square,
                                           LAYOUT_NUMBERS(2, 0, 1, 1)),
                             layout_int(&h, 2)),
               &attr, 1);
    layout_want(&h, 0, EDDY_INT32, 3, to,
                LAYOUT_NUMBERS(2, 0, 5, 3, 7, 7, 10, 10));
}
END_TEST

START_TEST(gather_takes_nothing)
{
    const int64_t none[] = {0, 3}, no_rows[] = {0, 3};

    layout_run(&h, "GatherV2",
               LAYOUT_INPUTS(layout_range(&h, EDDY_INT32, 0, 2, no_rows),
                             layout_ints(&h, 0, NULL), layout_int(&h, 0)),
               NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 2, none, NULL);
    harness_want_error(
        &h,
        harness_run(&h, "GatherV2", layout_range(&h, EDDY_INT32, 0, 2, no_rows),
                    layout_ints(&h, 1, LAYOUT_NUMBERS(0)), layout_int(&h, 0)),
        EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
}
END_TEST

START_TEST(gather_names_the_bad_index)
{
    const int64_t three = 3;
    eddy_tensor *x = layout_range(&h, EDDY_INT32, 0, 1, &three);
    eddy_tensor *indices =
        layout_tensor(&h, EDDY_INT64, 2, square, LAYOUT_NUMBERS(0, 2, -1, 1));

    harness_want_error(
        &h, harness_run(&h, "GatherV2", x, indices, layout_int(&h, 0)),
        EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    ck_assert_str_eq(h.err.message, "indices[1,0] = -1 is not in [0, 3)");
    harness_want_error(
        &h,
        harness_run(&h, "GatherV2", x, layout_int(&h, 3), layout_int(&h, 0)),
        EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    ck_assert_str_eq(h.err.message, "indices = 3 is not in [0, 3)");
}
END_TEST

static eddy_status batched(int64_t batch, int axis)
{
    const eddy_attr attr = eddy_attr_int("batch_dims", &batch);

    return harness_run_attrs(
        &h, "GatherV2",
        LAYOUT_INPUTS(layout_range(&h, EDDY_INT32, 0, 2, matrix),
                      layout_ints(&h, 3, LAYOUT_NUMBERS(0, 0, 0)),
                      layout_int(&h, axis)),
        &attr, 1);
}

START_TEST(gather_checks_its_axes)
{
    const int64_t deep[] = {1, 1, 1, 1, 1, 1, 1, 1};

    harness_want_error(&h, batched(0, 2), EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    harness_want_error(&h, batched(1, 0), EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    harness_want_error(&h, batched(1, 1), EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h, batched(2, 1), EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    harness_want_error(&h, batched(-2, 1), EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    harness_want_error(&h, batched(99, 1), EDDY_INVALID_ARGUMENT,
                       EDDY_E_ATTR_VALUE);
    harness_want_error(
        &h, harness_run(&h, "Gather", layout_int(&h, 1), layout_int(&h, 0)),
        EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    harness_want_error(&h,
                       harness_run(&h, "GatherV2",
                                   layout_range(&h, EDDY_INT32, 0, 8, deep),
                                   layout_range(&h, EDDY_INT32, 0, 2, deep),
                                   layout_int(&h, 0)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
}
END_TEST

TCase *ops_gather_tests(void)
{
    TCase *tests = tcase_create("ops_gather");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, gather_takes_rows_and_columns_of_every_dtype, 0,
                        LAYOUT_DTYPES);
    tcase_add_loop_test(tests, gather_takes_one_element, 0, LAYOUT_DTYPES);
    tcase_add_test(tests, gather_takes_int16_indices);
    tcase_add_loop_test(tests, gather_goes_along_batches, 0, 2);
    tcase_add_test(tests, gather_takes_nothing);
    tcase_add_test(tests, gather_names_the_bad_index);
    tcase_add_test(tests, gather_checks_its_axes);
    return tests;
}
