/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

#include <math.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__bound_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static const int64_t rows[] = {2, 4}, wanted[] = {2, 3};

/* _i is a real dtype: the first eleven. */
START_TEST(values_find_their_place_in_every_row)
{
    const double sorted[] = {1, 2, 2, 5, 0, 0, 3, 3}, of[] = {2, 0, 9, 3, 0, 4};
    const eddy_dtype dtype = layout_dtype(_i), long_type = EDDY_INT64;
    const eddy_attr attr = eddy_attr_type("out_type", &long_type);
    eddy_tensor *x = harness_numbers(&h, dtype, 2, rows, sorted);
    eddy_tensor *v = harness_numbers(&h, dtype, 2, wanted, of);

    layout_run(&h, "LowerBound", LAYOUT_INPUTS(x, v), NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 2, wanted, LAYOUT_NUMBERS(1, 0, 4, 2, 0, 4));
    layout_run(&h, "UpperBound", LAYOUT_INPUTS(x, v), NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 2, wanted, LAYOUT_NUMBERS(3, 0, 4, 4, 2, 4));
    layout_run(&h, "UpperBound", LAYOUT_INPUTS(x, v), &attr, 1);
    layout_want(&h, 0, EDDY_INT64, 2, wanted, LAYOUT_NUMBERS(3, 0, 4, 4, 2, 4));
}
END_TEST

START_TEST(infinities_and_empty_rows_have_places)
{
    const double sorted[] = {-(double)INFINITY, 0, 1, (double)INFINITY};
    const double of[] = {-(double)INFINITY, (double)INFINITY, -1};
    const int64_t row[] = {1, 4}, three[] = {1, 3}, none[] = {1, 0};
    eddy_tensor *x = harness_numbers(&h, EDDY_FLOAT64, 2, row, sorted);
    eddy_tensor *v = harness_numbers(&h, EDDY_FLOAT64, 2, three, of);
    eddy_tensor *empty = harness_numbers(&h, EDDY_FLOAT64, 2, none, NULL);

    layout_run(&h, "LowerBound", LAYOUT_INPUTS(x, v), NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 2, three, LAYOUT_NUMBERS(0, 3, 1));
    layout_run(&h, "UpperBound", LAYOUT_INPUTS(x, v), NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 2, three, LAYOUT_NUMBERS(1, 4, 1));
    layout_run(&h, "LowerBound", LAYOUT_INPUTS(empty, v), NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 2, three, LAYOUT_NUMBERS(0, 0, 0));
    layout_run(&h, "LowerBound", LAYOUT_INPUTS(x, empty), NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 2, none, NULL);
}
END_TEST

START_TEST(shapes_must_agree)
{
    const int64_t three[] = {3, 2}, four = 4;
    eddy_tensor *x = layout_range(&h, EDDY_INT32, 0, 2, rows);

    harness_want_error(&h,
                       harness_run(&h, "LowerBound", x,
                                   layout_range(&h, EDDY_INT32, 0, 2, three)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h,
                       harness_run(&h, "UpperBound", x,
                                   layout_range(&h, EDDY_INT32, 0, 1, &four)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

TCase *ops_bound_tests(void)
{
    TCase *tests = tcase_create("ops_bound");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, values_find_their_place_in_every_row, 0, 11);
    tcase_add_test(tests, infinities_and_empty_rows_have_places);
    tcase_add_test(tests, shapes_must_agree);
    return tests;
}
