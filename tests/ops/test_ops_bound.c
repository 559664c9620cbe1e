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

static eddy_attr boundaries(const float *bounds, size_t n)
{
    return (eddy_attr){.name = "boundaries",
                       .kind = EDDY_ATTR_FLOAT,
                       .is_list = true,
                       .n = n,
                       .as.floats = bounds};
}

/* TensorFlow 2.21 gives these: 16777217 is 16777216 as a float32. */
START_TEST(values_fall_between_boundaries)
{
    static const eddy_dtype dtypes[] = {EDDY_INT32, EDDY_INT64, EDDY_FLOAT32,
                                        EDDY_FLOAT64};
    const float bounds[] = {-1.5F, 0, 0, 3, 16777216};
    const double of[] = {-2, -1, 0, 2, 3, 16777217};
    const int64_t shape[] = {2, 3};
    const eddy_attr attr = boundaries(bounds, 5), none = boundaries(NULL, 0);
    const double unknown[] = {(double)NAN, (double)INFINITY};
    eddy_tensor *x = harness_numbers(&h, dtypes[_i], 2, shape, of);

    layout_run(&h, "Bucketize", LAYOUT_INPUTS(x), &attr, 1);
    layout_want(&h, 0, EDDY_INT32, 2, shape, LAYOUT_NUMBERS(0, 1, 3, 3, 4, 5));
    layout_run(&h, "Bucketize", LAYOUT_INPUTS(x), &none, 1);
    layout_want(&h, 0, EDDY_INT32, 2, shape, LAYOUT_NUMBERS(0, 0, 0, 0, 0, 0));
    if (dtypes[_i] != EDDY_FLOAT32 && dtypes[_i] != EDDY_FLOAT64)
        return;
    x = harness_numbers(&h, dtypes[_i], 1, shape, unknown);
    layout_run(&h, "Bucketize", LAYOUT_INPUTS(x), &attr, 1);
    layout_want(&h, 0, EDDY_INT32, 1, shape, LAYOUT_NUMBERS(5, 5));
}
END_TEST

TCase *ops_bound_tests(void)
{
    TCase *tests = tcase_create("ops_bound");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, values_find_their_place_in_every_row, 0, 11);
    tcase_add_test(tests, infinities_and_empty_rows_have_places);
    tcase_add_loop_test(tests, values_fall_between_boundaries, 0, 4);
    tcase_add_test(tests, shapes_must_agree);
    return tests;
}
