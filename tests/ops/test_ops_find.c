/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

#include <math.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__find_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

/* Every dtype but string. */
START_TEST(where_lists_what_is_not_zero)
{
    const int64_t dims[] = {2, 3}, to[] = {3, 2}, cube[] = {2, 2, 2};
    const int64_t six = 6, list[] = {3, 1}, points[] = {2, 3};
    eddy_dtype dtype = layout_dtype(_i);

    layout_run(&h, "Where",
               LAYOUT_INPUTS(layout_tensor(&h, dtype, 2, dims,
                                           LAYOUT_NUMBERS(1, 0, 4, 0, 0, 7))),
               NULL, 0);
    layout_want(&h, 0, EDDY_INT64, 2, to, LAYOUT_NUMBERS(0, 0, 0, 2, 1, 2));
    layout_run(&h, "Where",
               LAYOUT_INPUTS(layout_tensor(&h, dtype, 1, &six,
                                           LAYOUT_NUMBERS(1, 0, 4, 0, 0, 7))),
               NULL, 0);
    layout_want(&h, 0, EDDY_INT64, 2, list, LAYOUT_NUMBERS(0, 2, 5));
    layout_run(&h, "Where",
               LAYOUT_INPUTS(layout_tensor(
                   &h, dtype, 3, cube, LAYOUT_NUMBERS(0, 0, 0, 4, 0, 1, 0, 0))),
               NULL, 0);
    layout_want(&h, 0, EDDY_INT64, 2, points, LAYOUT_NUMBERS(0, 1, 1, 1, 0, 1));
}
END_TEST

START_TEST(where_takes_no_scalar)
{
    harness_want_error(&h, harness_run(&h, "Where", layout_int(&h, 5)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
}
END_TEST

START_TEST(where_takes_what_is_empty)
{
    const int64_t empty[] = {0, 4}, none[] = {0, 2};

    layout_run(&h, "Where",
               LAYOUT_INPUTS(layout_range(&h, EDDY_BOOL, 0, 2, empty)), NULL,
               0);
    layout_want(&h, 0, EDDY_INT64, 2, none, NULL);
}
END_TEST

/* Of the floats only the two zeros are false. */
START_TEST(where_knows_negative_zero_and_nan)
{
    const double values[] = {-0.0, (double)NAN, 0.0, -1e-7};
    const int64_t four = 4, to[] = {2, 1};

    layout_run(
        &h, "Where",
        LAYOUT_INPUTS(harness_numbers(&h, layout_dtype(_i), 1, &four, values)),
        NULL, 0);
    layout_want(&h, 0, EDDY_INT64, 2, to, LAYOUT_NUMBERS(1, 3));
}
END_TEST

START_TEST(where_looks_at_both_parts_of_complex_numbers)
{
    const float values[] = {0, 0, 0, 1, -0.0f, -0.0f, 1, 0};
    const int64_t four = 4, to[] = {2, 1};

    layout_run(
        &h, "Where",
        LAYOUT_INPUTS(harness_tensor(&h, EDDY_COMPLEX64, 1, &four, values)),
        NULL, 0);
    layout_want(&h, 0, EDDY_INT64, 2, to, LAYOUT_NUMBERS(1, 3));
}
END_TEST

TCase *ops_find_tests(void)
{
    TCase *tests = tcase_create("ops_find");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, where_lists_what_is_not_zero, 0,
                        LAYOUT_DTYPES - 1);
    tcase_add_test(tests, where_takes_no_scalar);
    tcase_add_test(tests, where_takes_what_is_empty);
    tcase_add_loop_test(tests, where_knows_negative_zero_and_nan, 0, 3);
    tcase_add_test(tests, where_looks_at_both_parts_of_complex_numbers);
    return tests;
}
