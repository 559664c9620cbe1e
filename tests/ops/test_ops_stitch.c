/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__stitch_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

/* _i is a dtype, in this and all tests that say `every dtype`. */
START_TEST(stitch_puts_rows_of_every_dtype_in_place)
{
    const int64_t two[] = {2, 2}, square[] = {2, 1}, deep[] = {2, 1, 2},
                  to[] = {4, 2};
    const eddy_dtype dtype = layout_dtype(_i);
    eddy_tensor *first = layout_ints(&h, 2, LAYOUT_NUMBERS(3, 0));
    eddy_tensor *second =
        layout_tensor(&h, EDDY_INT32, 2, square, LAYOUT_NUMBERS(2, 1));
    eddy_tensor *a = layout_range(&h, dtype, 0, 2, two);
    eddy_tensor *b = layout_range(&h, dtype, 4, 3, deep);

    layout_run(&h, "DynamicStitch", LAYOUT_INPUTS(first, second, a, b), NULL,
               0);
    layout_want(&h, 0, dtype, 2, to, LAYOUT_NUMBERS(2, 3, 6, 7, 4, 5, 0, 1));
    layout_run(&h, "ParallelDynamicStitch", LAYOUT_INPUTS(first, second, a, b),
               NULL, 0);
    layout_want(&h, 0, dtype, 2, to, LAYOUT_NUMBERS(2, 3, 6, 7, 4, 5, 0, 1));
}
END_TEST

START_TEST(stitch_keeps_the_later_row)
{
    const int64_t two = 2;

    layout_run(&h, "DynamicStitch",
               LAYOUT_INPUTS(
                   layout_ints(&h, 2, LAYOUT_NUMBERS(0, 1)), layout_int(&h, 1),
                   layout_ints(&h, 2, LAYOUT_NUMBERS(5, 6)), layout_int(&h, 7)),
               NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 1, &two, LAYOUT_NUMBERS(5, 7));
}
END_TEST

START_TEST(stitch_takes_nothing_and_leaves_zeros)
{
    const int64_t none[] = {0, 3}, three = 3;

    layout_run(&h, "DynamicStitch",
               LAYOUT_INPUTS(layout_ints(&h, 0, NULL),
                             layout_range(&h, EDDY_STRING, 0, 2, none)),
               NULL, 0);
    layout_want(&h, 0, EDDY_STRING, 2, none, NULL);
    layout_run(&h, "DynamicStitch",
               LAYOUT_INPUTS(layout_int(&h, 2), layout_int(&h, 9)), NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 1, &three, LAYOUT_NUMBERS(0, 0, 9));
}
END_TEST

START_TEST(stitch_checks_indices_and_shapes)
{
    eddy_tensor *pair = layout_ints(&h, 2, LAYOUT_NUMBERS(0, 1));
    eddy_tensor *one = layout_ints(&h, 1, LAYOUT_NUMBERS(2));
    const int64_t row[] = {1, 2};

    harness_want_error(&h,
                       harness_run(&h, "DynamicStitch",
                                   layout_ints(&h, 2, LAYOUT_NUMBERS(0, -1)),
                                   pair),
                       EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    harness_want_error(&h, harness_run(&h, "DynamicStitch", pair, one),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h,
                       harness_run(&h, "DynamicStitch", pair, one, pair,
                                   layout_range(&h, EDDY_INT32, 0, 2, row)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

static void run_partition(eddy_tensor *data, eddy_tensor *partitions, int64_t n)
{
    layout_run(&h, "DynamicPartition", LAYOUT_INPUTS(data, partitions),
               LAYOUT_ATTRS(eddy_attr_int("num_partitions", &n)));
}

/* One of the three parts is empty. */
START_TEST(partition_deals_out_rows_of_every_dtype)
{
    const int64_t dims[] = {4, 2}, one[] = {1, 2}, none[] = {0, 2},
                  three[] = {3, 2};
    const eddy_dtype dtype = layout_dtype(_i);

    run_partition(layout_range(&h, dtype, 0, 2, dims),
                  layout_ints(&h, 4, LAYOUT_NUMBERS(2, 0, 2, 2)), 3);
    layout_want(&h, 0, dtype, 2, one, LAYOUT_NUMBERS(2, 3));
    layout_want(&h, 1, dtype, 2, none, NULL);
    layout_want(&h, 2, dtype, 2, three, LAYOUT_NUMBERS(0, 1, 4, 5, 6, 7));
}
END_TEST

START_TEST(partition_takes_scalars_and_matrices_of_partitions)
{
    const int64_t square[] = {2, 2}, two = 2, one = 1, none = 0;

    run_partition(
        layout_range(&h, EDDY_INT64, 0, 2, square),
        layout_tensor(&h, EDDY_INT32, 2, square, LAYOUT_NUMBERS(1, 0, 0, 1)),
        2);
    layout_want(&h, 0, EDDY_INT64, 1, &two, LAYOUT_NUMBERS(1, 2));
    layout_want(&h, 1, EDDY_INT64, 1, &two, LAYOUT_NUMBERS(0, 3));
    run_partition(layout_int(&h, 5), layout_int(&h, 1), 2);
    layout_want(&h, 0, EDDY_INT32, 1, &none, NULL);
    layout_want(&h, 1, EDDY_INT32, 1, &one, LAYOUT_NUMBERS(5));
}
END_TEST

START_TEST(partition_checks_numbers_and_shapes)
{
    const int64_t two = 2;
    const eddy_attr attr = eddy_attr_int("num_partitions", &two);
    eddy_tensor *pair = layout_ints(&h, 2, LAYOUT_NUMBERS(0, 1));

    harness_want_error(
        &h,
        harness_run_attrs(
            &h, "DynamicPartition",
            LAYOUT_INPUTS(pair, layout_ints(&h, 2, LAYOUT_NUMBERS(0, 2))),
            &attr, 1),
        EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    harness_want_error(
        &h,
        harness_run_attrs(
            &h, "DynamicPartition",
            LAYOUT_INPUTS(pair, layout_ints(&h, 2, LAYOUT_NUMBERS(-1, 0))),
            &attr, 1),
        EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    harness_want_error(
        &h,
        harness_run_attrs(
            &h, "DynamicPartition",
            LAYOUT_INPUTS(pair, layout_ints(&h, 1, LAYOUT_NUMBERS(0))), &attr,
            1),
        EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

TCase *ops_stitch_tests(void)
{
    TCase *tests = tcase_create("ops_stitch");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, stitch_puts_rows_of_every_dtype_in_place, 0,
                        LAYOUT_DTYPES);
    tcase_add_test(tests, stitch_keeps_the_later_row);
    tcase_add_test(tests, stitch_takes_nothing_and_leaves_zeros);
    tcase_add_test(tests, stitch_checks_indices_and_shapes);
    tcase_add_loop_test(tests, partition_deals_out_rows_of_every_dtype, 0,
                        LAYOUT_DTYPES);
    tcase_add_test(tests, partition_takes_scalars_and_matrices_of_partitions);
    tcase_add_test(tests, partition_checks_numbers_and_shapes);
    return tests;
}
