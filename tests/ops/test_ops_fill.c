/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

#include <math.h>
#include <string.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__fill_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

START_TEST(fill_repeats_a_value_of_every_dtype)
{
    const int64_t dims[] = {2, 3};
    eddy_dtype dtype = layout_dtype(_i);
    eddy_tensor *x = layout_range(&h, dtype, 4, 0, NULL);

    layout_run(&h, "Fill",
               LAYOUT_INPUTS(layout_ints(&h, 2, LAYOUT_NUMBERS(2, 3)), x), NULL,
               0);
    layout_want(&h, 0, dtype, 2, dims, LAYOUT_NUMBERS(4, 4, 4, 4, 4, 4));
    layout_run(&h, "Fill", LAYOUT_INPUTS(layout_ints(&h, 0, NULL), x), NULL, 0);
    layout_want(&h, 0, dtype, 0, NULL, LAYOUT_NUMBERS(4));
}
END_TEST

START_TEST(empty_is_full_of_zeros)
{
    const int64_t dims[] = {2, 3};
    const eddy_dtype dtype = layout_dtype(_i);
    const eddy_attr attr = eddy_attr_type("dtype", &dtype);

    layout_run(&h, "Empty",
               LAYOUT_INPUTS(layout_ints(&h, 2, LAYOUT_NUMBERS(2, 3))), &attr,
               1);
    layout_want(&h, 0, dtype, 2, dims, LAYOUT_NUMBERS(0, 0, 0, 0, 0, 0));
    layout_run(&h, "Empty", LAYOUT_INPUTS(layout_ints(&h, 0, NULL)), &attr, 1);
    layout_want(&h, 0, dtype, 0, NULL, LAYOUT_NUMBERS(0));
    harness_want_error(
        &h,
        harness_run_attrs(&h, "Empty",
                          LAYOUT_INPUTS(layout_ints(&h, 1, LAYOUT_NUMBERS(-1))),
                          &attr, 1),
        EDDY_INVALID_ARGUMENT, EDDY_E_DIM);
}
END_TEST

START_TEST(fill_goes_on_for_long)
{
    const int64_t n = 100003;

    layout_run(&h, "Fill",
               LAYOUT_INPUTS(layout_ints(&h, 1, LAYOUT_NUMBERS(100003)),
                             harness_scalar(&h, EDDY_FLOAT64, 1.5)),
               NULL, 0);
    harness_want(&h, 0, EDDY_FLOAT64, 1, &n);
    for (int64_t i = 0; i < n; i++)
        ck_assert(((double *)h.outputs[0]->data)[i] == 1.5);
}
END_TEST

START_TEST(fill_checks_its_arguments)
{
    eddy_tensor *x = layout_int(&h, 1);
    eddy_tensor *huge =
        harness_tensor(&h, EDDY_INT64, HARNESS_DIMS(2),
                       (const int64_t[]){(int64_t)1 << 40, (int64_t)1 << 40});

    harness_want_error(
        &h, harness_run(&h, "Fill", layout_ints(&h, 1, LAYOUT_NUMBERS(-1)), x),
        EDDY_INVALID_ARGUMENT, EDDY_E_DIM);
    harness_want_error(&h, harness_run(&h, "Fill", huge, x),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SIZE);
    harness_want_error(&h,
                       harness_run(&h, "Fill",
                                   layout_ints(&h, 1, LAYOUT_NUMBERS(2)),
                                   layout_ints(&h, 2, LAYOUT_NUMBERS(1, 1))),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
}
END_TEST

static eddy_status range(eddy_dtype dtype, double start, double limit,
                         double delta)
{
    return harness_run(&h, "Range", harness_scalar(&h, dtype, start),
                       harness_scalar(&h, dtype, limit),
                       harness_scalar(&h, dtype, delta));
}

START_TEST(range_counts_in_every_dtype)
{
    static const eddy_dtype dtypes[] = {
        EDDY_FLOAT16, EDDY_FLOAT32, EDDY_FLOAT64, EDDY_INT8,  EDDY_INT16,
        EDDY_INT32,   EDDY_INT64,   EDDY_UINT16,  EDDY_UINT32};
    const int64_t four = 4, none = 0;
    eddy_dtype dtype = dtypes[_i];

    ck_assert_int_eq(range(dtype, 1, 12, 3), EDDY_OK);
    layout_want(&h, 0, dtype, 1, &four, LAYOUT_NUMBERS(1, 4, 7, 10));
    ck_assert_int_eq(range(dtype, 5, 5, 1), EDDY_OK);
    layout_want(&h, 0, dtype, 1, &none, NULL);
    ck_assert_int_eq(range(dtype, 3, 7, 1), EDDY_OK);
    layout_want(&h, 0, dtype, 1, &four, LAYOUT_NUMBERS(3, 4, 5, 6));
    if (dtype == EDDY_UINT16 || dtype == EDDY_UINT32)
        return;
    ck_assert_int_eq(range(dtype, 10, -1, -3), EDDY_OK);
    layout_want(&h, 0, dtype, 1, &four, LAYOUT_NUMBERS(10, 7, 4, 1));
}
END_TEST

START_TEST(range_reaches_the_ends_of_its_dtype)
{
    const int64_t four = 4;

    ck_assert_int_eq(range(EDDY_INT8, -128, 127, 64), EDDY_OK);
    layout_want(&h, 0, EDDY_INT8, 1, &four, LAYOUT_NUMBERS(-128, -64, 0, 64));
    ck_assert_int_eq(
        range(EDDY_INT32, 2147483647, -2147483647.0 - 1, -1073741824), EDDY_OK);
    layout_want(&h, 0, EDDY_INT32, 1, &four,
                LAYOUT_NUMBERS(2147483647, 1073741823, -1, -1073741825));
}
END_TEST

/* Repeated addition, in the dtype itself. */
START_TEST(range_adds_up_floats)
{
    const float *f;
    const double *d;
    float sum = 0;

    ck_assert_int_eq(range(EDDY_FLOAT32, 0, 10, 0.1), EDDY_OK);
    ck_assert_int_eq(h.outputs[0]->count, 100);
    f = h.outputs[0]->data;
    for (int i = 0; i < 100; i++, sum += 0.1f)
        ck_assert(f[i] == sum);
    ck_assert_int_eq(range(EDDY_FLOAT64, 1, 0, -0.25), EDDY_OK);
    ck_assert_int_eq(h.outputs[0]->count, 4);
    d = h.outputs[0]->data;
    ck_assert(d[0] == 1 && d[1] == 0.75 && d[2] == 0.5 && d[3] == 0.25);
}
END_TEST

START_TEST(range_refuses_what_never_ends)
{
    static const struct {
        eddy_dtype dtype;
        double start, limit, delta;
        eddy_detail detail;
    } cases[] = {
        {EDDY_INT32, 0, 5, 0, EDDY_E_VALUE},
        {EDDY_INT32, 0, 5, -1, EDDY_E_VALUE},
        {EDDY_INT64, 5, 0, 1, EDDY_E_VALUE},
        {EDDY_FLOAT32, 0, 5, 0, EDDY_E_VALUE},
        {EDDY_FLOAT32, 0, 5, (double)NAN, EDDY_E_VALUE},
        {EDDY_FLOAT64, 5, 0, 0.5, EDDY_E_VALUE},
        {EDDY_FLOAT64, 0, (double)INFINITY, 1, EDDY_E_SIZE},
        {EDDY_FLOAT32, 0, 1e38, 1e-30, EDDY_E_SIZE},
        {EDDY_INT64, -9e18, 9e18, 1, EDDY_E_SIZE},
    };

    harness_want_error(&h,
                       range(cases[_i].dtype, cases[_i].start, cases[_i].limit,
                             cases[_i].delta),
                       EDDY_INVALID_ARGUMENT, cases[_i].detail);
}
END_TEST

START_TEST(range_wants_scalars)
{
    harness_want_error(&h,
                       harness_run(&h, "Range", layout_int(&h, 0),
                                   layout_ints(&h, 2, LAYOUT_NUMBERS(1, 2)),
                                   layout_int(&h, 1)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
}
END_TEST

START_TEST(lin_space_ends_at_its_stop)
{
    const int64_t n = 7, one = 1;
    eddy_dtype dtype = _i == 0 ? EDDY_FLOAT32 : EDDY_FLOAT64;
    eddy_tensor *start = harness_scalar(&h, dtype, 0.1);
    eddy_tensor *stop = harness_scalar(&h, dtype, 0.7);

    layout_run(&h, "LinSpace", LAYOUT_INPUTS(start, stop, layout_int(&h, 7)),
               NULL, 0);
    harness_want(&h, 0, dtype, 1, &n);
    for (int i = 0; i < 7; i++)
        ck_assert_double_eq_tol(harness_get(h.outputs[0], i), 0.1 + 0.1 * i,
                                1e-6);
    ck_assert(harness_get(h.outputs[0], 6) == harness_get(stop, 0));
    layout_run(&h, "LinSpace", LAYOUT_INPUTS(start, stop, layout_int(&h, 1)),
               NULL, 0);
    harness_want(&h, 0, dtype, 1, &one);
    ck_assert(harness_get(h.outputs[0], 0) == harness_get(start, 0));
    harness_want_error(
        &h, harness_run(&h, "LinSpace", start, stop, layout_int(&h, 0)),
        EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
}
END_TEST

static eddy_status one_hot(eddy_dtype dtype, eddy_tensor *indices, int depth,
                           int64_t axis)
{
    const eddy_attr attr = eddy_attr_int("axis", &axis);

    return harness_run_attrs(&h, "OneHot",
                             LAYOUT_INPUTS(indices, layout_int(&h, depth),
                                           layout_range(&h, dtype, 7, 0, NULL),
                                           layout_range(&h, dtype, 5, 0, NULL)),
                             &attr, 1);
}

START_TEST(one_hot_marks_every_dtype)
{
    const int64_t rows[] = {4, 2}, columns[] = {2, 4};
    eddy_dtype dtype = layout_dtype(_i);
    eddy_tensor *x = layout_ints(&h, 4, LAYOUT_NUMBERS(0, 1, -1, 2));

    ck_assert_int_eq(one_hot(dtype, x, 2, -1), EDDY_OK);
    layout_want(&h, 0, dtype, 2, rows, LAYOUT_NUMBERS(7, 5, 5, 7, 5, 5, 5, 5));
    ck_assert_int_eq(one_hot(dtype, x, 2, 0), EDDY_OK);
    layout_want(&h, 0, dtype, 2, columns,
                LAYOUT_NUMBERS(7, 5, 5, 5, 5, 7, 5, 5));
}
END_TEST

START_TEST(one_hot_takes_an_axis_in_the_middle)
{
    static const eddy_dtype dtypes[] = {EDDY_UINT8, EDDY_INT8, EDDY_INT32,
                                        EDDY_INT64};
    const int64_t dims[] = {2, 2}, to[] = {2, 3, 2};

    ck_assert_int_eq(one_hot(EDDY_FLOAT32,
                             layout_tensor(&h, dtypes[_i], 2, dims,
                                           LAYOUT_NUMBERS(0, 2, 1, 1)),
                             3, 1),
                     EDDY_OK);
    layout_want(&h, 0, EDDY_FLOAT32, 3, to,
                LAYOUT_NUMBERS(7, 5, 5, 5, 5, 7, 5, 5, 7, 7, 5, 5));
}
END_TEST

START_TEST(one_hot_checks_its_arguments)
{
    eddy_tensor *x = layout_ints(&h, 1, LAYOUT_NUMBERS(0));

    harness_want_error(&h, one_hot(EDDY_INT32, x, -1, -1),
                       EDDY_INVALID_ARGUMENT, EDDY_E_DIM);
    harness_want_error(&h, one_hot(EDDY_INT32, x, 2, 2), EDDY_INVALID_ARGUMENT,
                       EDDY_E_RANK);
    harness_want_error(&h, one_hot(EDDY_INT32, x, 2, -2), EDDY_INVALID_ARGUMENT,
                       EDDY_E_ATTR_VALUE);
}
END_TEST

TCase *ops_fill_tests(void)
{
    TCase *tests = tcase_create("ops_fill");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, fill_repeats_a_value_of_every_dtype, 0,
                        LAYOUT_DTYPES);
    tcase_add_loop_test(tests, empty_is_full_of_zeros, 0, LAYOUT_DTYPES);
    tcase_add_test(tests, fill_goes_on_for_long);
    tcase_add_test(tests, fill_checks_its_arguments);
    tcase_add_loop_test(tests, range_counts_in_every_dtype, 0, 9);
    tcase_add_test(tests, range_reaches_the_ends_of_its_dtype);
    tcase_add_test(tests, range_adds_up_floats);
    tcase_add_loop_test(tests, range_refuses_what_never_ends, 0, 9);
    tcase_add_test(tests, range_wants_scalars);
    tcase_add_loop_test(tests, lin_space_ends_at_its_stop, 0, 2);
    tcase_add_loop_test(tests, one_hot_marks_every_dtype, 0, LAYOUT_DTYPES);
    tcase_add_loop_test(tests, one_hot_takes_an_axis_in_the_middle, 0, 4);
    tcase_add_test(tests, one_hot_checks_its_arguments);
    return tests;
}
