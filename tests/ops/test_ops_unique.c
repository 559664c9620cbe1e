/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

#include <math.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__unique_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

/* Every dtype but bool, which has not three elements. */
START_TEST(equal_elements_are_found)
{
    const eddy_dtype long_type = EDDY_INT64;
    const eddy_attr attr = eddy_attr_type("out_idx", &long_type);
    const int64_t six = 6, three = 3;
    eddy_dtype dtype = layout_dtype(_i < 11 ? _i : _i + 1);
    eddy_tensor *x =
        layout_tensor(&h, dtype, 1, &six, LAYOUT_NUMBERS(7, 2, 7, 7, 0, 2));

    layout_run(&h, "Unique", LAYOUT_INPUTS(x), NULL, 0);
    layout_want(&h, 0, dtype, 1, &three, LAYOUT_NUMBERS(7, 2, 0));
    layout_want(&h, 1, EDDY_INT32, 1, &six, LAYOUT_NUMBERS(0, 1, 0, 0, 2, 1));
    layout_run(&h, "Unique", LAYOUT_INPUTS(x), &attr, 1);
    layout_want(&h, 1, EDDY_INT64, 1, &six, LAYOUT_NUMBERS(0, 1, 0, 0, 2, 1));
}
END_TEST

START_TEST(equal_elements_are_counted)
{
    const eddy_dtype long_type = EDDY_INT64;
    const eddy_attr attr = eddy_attr_type("out_idx", &long_type);
    const int64_t six = 6, three = 3, none = 0;
    eddy_tensor *x = layout_tensor(&h, EDDY_STRING, 1, &six,
                                   LAYOUT_NUMBERS(7, 2, 7, 7, 0, 2));

    layout_run(&h, "UniqueWithCounts", LAYOUT_INPUTS(x), NULL, 0);
    layout_want(&h, 0, EDDY_STRING, 1, &three, LAYOUT_NUMBERS(7, 2, 0));
    layout_want(&h, 1, EDDY_INT32, 1, &six, LAYOUT_NUMBERS(0, 1, 0, 0, 2, 1));
    layout_want(&h, 2, EDDY_INT32, 1, &three, LAYOUT_NUMBERS(3, 2, 1));
    layout_run(&h, "UniqueWithCounts", LAYOUT_INPUTS(x), &attr, 1);
    layout_want(&h, 2, EDDY_INT64, 1, &three, LAYOUT_NUMBERS(3, 2, 1));
    layout_run(&h, "UniqueWithCounts", LAYOUT_INPUTS(layout_ints(&h, 0, NULL)),
               NULL, 0);
    layout_want(&h, 2, EDDY_INT32, 1, &none, NULL);
}
END_TEST

START_TEST(there_are_two_truths)
{
    const int64_t three = 3, two = 2;

    layout_run(&h, "Unique",
               LAYOUT_INPUTS(harness_vector(&h, EDDY_BOOL, 1, 1, 0)), NULL, 0);
    harness_want(&h, 0, EDDY_BOOL, 1, &two);
    layout_want(&h, 1, EDDY_INT32, 1, &three, LAYOUT_NUMBERS(0, 0, 1));
}
END_TEST

/* _i is a floating point dtype, or complex64. */
START_TEST(zeros_are_equal_and_nans_are_not)
{
    const double values[] = {0.0, (double)NAN, -0.0, (double)NAN, 1};
    const int64_t five = 5, four = 4;
    eddy_dtype dtype = _i < 3 ? layout_dtype(_i) : EDDY_COMPLEX64;

    layout_run(&h, "Unique",
               LAYOUT_INPUTS(harness_numbers(&h, dtype, 1, &five, values)),
               NULL, 0);
    harness_want(&h, 0, dtype, 1, &four);
    layout_want(&h, 1, EDDY_INT32, 1, &five, LAYOUT_NUMBERS(0, 1, 0, 2, 3));
}
END_TEST

START_TEST(many_elements_keep_their_order)
{
    enum { n = 5000 };
    const int64_t all = n, different = 701;
    int numbers[n], want[n], first[701];

    for (int i = 0; i < n; i++) {
        numbers[i] = i * 37 % 701;
        want[i] = i % 701;
        if (i < 701)
            first[i] = numbers[i];
    }
    layout_run(&h, "Unique",
               LAYOUT_INPUTS(layout_tensor(&h, EDDY_INT16, 1, &all, numbers)),
               NULL, 0);
    layout_want(&h, 0, EDDY_INT16, 1, &different, first);
    layout_want(&h, 1, EDDY_INT32, 1, &all, want);
}
END_TEST

START_TEST(unique_takes_vectors)
{
    const int64_t dims[] = {2, 2}, none = 0;

    layout_run(&h, "Unique", LAYOUT_INPUTS(layout_ints(&h, 0, NULL)), NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 1, &none, NULL);
    harness_want_error(
        &h, harness_run(&h, "Unique", layout_range(&h, EDDY_INT8, 0, 2, dims)),
        EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    harness_want_error(&h, harness_run(&h, "Unique", layout_int(&h, 0)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
}
END_TEST

/* _i is a dtype; bool has not three elements. */
START_TEST(the_elements_of_one_list_and_not_another)
{
    const int64_t five = 5, three = 3;
    eddy_dtype dtype = layout_dtype(_i < 11 ? _i : _i + 1);
    eddy_tensor *x =
        layout_tensor(&h, dtype, 1, &five, LAYOUT_NUMBERS(3, 0, 2, 3, 1));
    eddy_tensor *y =
        layout_tensor(&h, dtype, 1, &three, LAYOUT_NUMBERS(1, 0, 0));

    layout_run(&h, "ListDiff", LAYOUT_INPUTS(x, y), NULL, 0);
    layout_want(&h, 0, dtype, 1, &three, LAYOUT_NUMBERS(3, 2, 3));
    layout_want(&h, 1, EDDY_INT32, 1, &three, LAYOUT_NUMBERS(0, 2, 3));
}
END_TEST

START_TEST(list_diff_takes_empty_lists_and_no_matrices)
{
    const eddy_dtype long_type = EDDY_INT64;
    const eddy_attr attr = eddy_attr_type("out_idx", &long_type);
    const int64_t none = 0, two = 2, dims[] = {1, 2};
    eddy_tensor *empty = layout_ints(&h, 0, NULL);
    eddy_tensor *some = layout_ints(&h, 2, LAYOUT_NUMBERS(4, 5));

    layout_run(&h, "ListDiff", LAYOUT_INPUTS(some, empty), &attr, 1);
    layout_want(&h, 0, EDDY_INT32, 1, &two, LAYOUT_NUMBERS(4, 5));
    layout_want(&h, 1, EDDY_INT64, 1, &two, LAYOUT_NUMBERS(0, 1));
    layout_run(&h, "ListDiff", LAYOUT_INPUTS(empty, some), NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 1, &none, NULL);
    harness_want_error(&h,
                       harness_run(&h, "ListDiff", some,
                                   layout_range(&h, EDDY_INT32, 0, 2, dims)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
}
END_TEST

/* Every dtype but bool; slices along each axis of a matrix. */
START_TEST(equal_slices_are_found)
{
    const int64_t six[] = {4, 3}, rows[] = {2, 3}, columns[] = {4, 2};
    const int64_t four = 4, three = 3, two = 2;
    eddy_dtype dtype = layout_dtype(_i < 11 ? _i : _i + 1);
    eddy_tensor *x = layout_tensor(
        &h, dtype, 2, six, LAYOUT_NUMBERS(1, 0, 0, 2, 0, 0, 1, 0, 0, 1, 0, 0));

    layout_run(&h, "UniqueWithCountsV2",
               LAYOUT_INPUTS(x, layout_ints(&h, 1, LAYOUT_NUMBERS(0))), NULL,
               0);
    layout_want(&h, 0, dtype, 2, rows, LAYOUT_NUMBERS(1, 0, 0, 2, 0, 0));
    layout_want(&h, 1, EDDY_INT32, 1, &four, LAYOUT_NUMBERS(0, 1, 0, 0));
    layout_want(&h, 2, EDDY_INT32, 1, &two, LAYOUT_NUMBERS(3, 1));
    layout_run(&h, "UniqueV2",
               LAYOUT_INPUTS(x, layout_ints(&h, 1, LAYOUT_NUMBERS(-1))), NULL,
               0);
    layout_want(&h, 0, dtype, 2, columns,
                LAYOUT_NUMBERS(1, 0, 2, 0, 1, 0, 1, 0));
    layout_want(&h, 1, EDDY_INT32, 1, &three, LAYOUT_NUMBERS(0, 1, 1));
}
END_TEST

START_TEST(slices_may_be_of_any_shape)
{
    const int64_t cube[] = {2, 2, 2}, half[] = {2, 1, 2};
    const int64_t empty[] = {3, 0}, one[] = {1, 0}, two = 2, three = 3;
    eddy_tensor *x = layout_tensor(&h, EDDY_INT64, 3, cube,
                                   LAYOUT_NUMBERS(1, 2, 1, 2, 3, 4, 3, 4));

    layout_run(&h, "UniqueV2",
               LAYOUT_INPUTS(x, layout_ints(&h, 1, LAYOUT_NUMBERS(1))), NULL,
               0);
    layout_want(&h, 0, EDDY_INT64, 3, half, LAYOUT_NUMBERS(1, 2, 3, 4));
    layout_want(&h, 1, EDDY_INT32, 1, &two, LAYOUT_NUMBERS(0, 0));
    layout_run(&h, "UniqueV2",
               LAYOUT_INPUTS(layout_range(&h, EDDY_INT8, 0, 2, empty),
                             layout_ints(&h, 1, LAYOUT_NUMBERS(0))),
               NULL, 0);
    layout_want(&h, 0, EDDY_INT8, 2, one, NULL);
    layout_want(&h, 1, EDDY_INT32, 1, &three, LAYOUT_NUMBERS(0, 0, 0));
}
END_TEST

START_TEST(no_axis_is_that_of_a_vector)
{
    const int64_t three = 3, two = 2;

    layout_run(&h, "UniqueV2",
               LAYOUT_INPUTS(layout_ints(&h, 3, LAYOUT_NUMBERS(1, 2, 1)),
                             layout_ints(&h, 0, NULL)),
               NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 1, &two, LAYOUT_NUMBERS(1, 2));
    layout_want(&h, 1, EDDY_INT32, 1, &three, LAYOUT_NUMBERS(0, 1, 0));
}
END_TEST

START_TEST(slices_with_a_nan_equal_nothing)
{
    const double values[] = {0, (double)NAN, -0.0, (double)NAN, 0, 1, -0.0, 1};
    const int64_t rows[] = {4, 2}, left[] = {3, 2}, four = 4;

    layout_run(&h, "UniqueV2",
               LAYOUT_INPUTS(harness_numbers(&h, EDDY_FLOAT32, 2, rows, values),
                             layout_ints(&h, 1, LAYOUT_NUMBERS(0))),
               NULL, 0);
    harness_want(&h, 0, EDDY_FLOAT32, 2, left);
    layout_want(&h, 1, EDDY_INT32, 1, &four, LAYOUT_NUMBERS(0, 1, 2, 2));
}
END_TEST

START_TEST(axes_are_checked)
{
    eddy_tensor *x =
        layout_range(&h, EDDY_INT32, 0, 2, (const int64_t[]){2, 2});

    harness_want_error(&h, harness_run(&h, "UniqueV2", x, layout_int(&h, 0)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    harness_want_error(&h,
                       harness_run(&h, "UniqueV2", x,
                                   layout_ints(&h, 2, LAYOUT_NUMBERS(0, 1))),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    harness_want_error(
        &h,
        harness_run(&h, "UniqueV2", x, layout_ints(&h, 1, LAYOUT_NUMBERS(2))),
        EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    harness_want_error(&h,
                       harness_run(&h, "UniqueV2", x, layout_ints(&h, 0, NULL)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
}
END_TEST

TCase *ops_unique_tests(void)
{
    TCase *tests = tcase_create("ops_unique");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, equal_elements_are_found, 0, LAYOUT_DTYPES - 1);
    tcase_add_test(tests, equal_elements_are_counted);
    tcase_add_test(tests, there_are_two_truths);
    tcase_add_loop_test(tests, zeros_are_equal_and_nans_are_not, 0, 4);
    tcase_add_test(tests, many_elements_keep_their_order);
    tcase_add_test(tests, unique_takes_vectors);
    tcase_add_loop_test(tests, the_elements_of_one_list_and_not_another, 0,
                        LAYOUT_DTYPES - 1);
    tcase_add_test(tests, list_diff_takes_empty_lists_and_no_matrices);
    tcase_add_loop_test(tests, equal_slices_are_found, 0, LAYOUT_DTYPES - 1);
    tcase_add_test(tests, slices_may_be_of_any_shape);
    tcase_add_test(tests, no_axis_is_that_of_a_vector);
    tcase_add_test(tests, slices_with_a_nan_equal_nothing);
    tcase_add_test(tests, axes_are_checked);
    return tests;
}
