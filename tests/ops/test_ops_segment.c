/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

#include <float.h>
#include <math.h>
#include <string.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__segment_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static const int64_t rows[] = {4, 2};

/* The eleven real dtypes and complex64, which is one further. */
static eddy_dtype number(int i)
{
    return layout_dtype(i < 11 ? i : i + 1);
}

START_TEST(unsorted_segments_of_every_dtype_are_summed)
{
    const int64_t to[] = {3, 2};
    eddy_dtype dtype = number(_i);

    layout_run(&h, "UnsortedSegmentSum",
               LAYOUT_INPUTS(layout_range(&h, dtype, 1, 2, rows),
                             layout_ints(&h, 4, LAYOUT_NUMBERS(2, 0, -1, 2)),
                             layout_int(&h, 3)),
               NULL, 0);
    layout_want(&h, 0, dtype, 2, to, LAYOUT_NUMBERS(3, 4, 0, 0, 8, 10));
}
END_TEST

START_TEST(segment_ids_may_have_the_shape_of_the_data)
{
    const int64_t square[] = {2, 2}, two = 2, none[] = {0, 2};

    layout_run(&h, "UnsortedSegmentSum",
               LAYOUT_INPUTS(layout_range(&h, EDDY_FLOAT32, 1, 2, square),
                             layout_tensor(&h, EDDY_INT64, 2, square,
                                           LAYOUT_NUMBERS(0, 1, 1, 1)),
                             harness_scalar(&h, EDDY_INT64, 2)),
               NULL, 0);
    layout_want(&h, 0, EDDY_FLOAT32, 1, &two, LAYOUT_NUMBERS(1, 9));
    layout_run(
        &h, "UnsortedSegmentSum",
        LAYOUT_INPUTS(layout_int(&h, 4), layout_int(&h, 1), layout_int(&h, 2)),
        NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 1, &two, LAYOUT_NUMBERS(0, 4));
    layout_run(&h, "UnsortedSegmentSum",
               LAYOUT_INPUTS(layout_range(&h, EDDY_INT32, 1, 2, none),
                             layout_ints(&h, 0, NULL), layout_int(&h, 0)),
               NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 2, none, NULL);
}
END_TEST

START_TEST(unsorted_segments_check_their_ids)
{
    eddy_tensor *x = layout_range(&h, EDDY_INT32, 1, 2, rows);
    eddy_tensor *ids = layout_ints(&h, 4, LAYOUT_NUMBERS(0, 2, 1, 0));

    harness_want_error(
        &h, harness_run(&h, "UnsortedSegmentSum", x, ids, layout_int(&h, 2)),
        EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    ck_assert_str_eq(h.err.message,
                     "segment_ids[1] = 2 is out of range [0, 2)");
    harness_want_error(
        &h, harness_run(&h, "UnsortedSegmentSum", x, ids, layout_int(&h, -1)),
        EDDY_INVALID_ARGUMENT, EDDY_E_DIM);
    harness_want_error(&h,
                       harness_run(&h, "UnsortedSegmentSum", x,
                                   layout_ints(&h, 2, LAYOUT_NUMBERS(0, 0)),
                                   layout_int(&h, 2)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h,
                       harness_run(&h, "UnsortedSegmentSum", x, ids,
                                   harness_scalar(&h, EDDY_INT64, 9e18)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SIZE);
}
END_TEST

START_TEST(sorted_segments_of_every_dtype_are_summed)
{
    const int64_t to[] = {3, 2};
    eddy_dtype dtype = number(_i);

    layout_run(&h, "SegmentSum",
               LAYOUT_INPUTS(layout_range(&h, dtype, 1, 2, rows),
                             layout_ints(&h, 4, LAYOUT_NUMBERS(0, 0, 2, 2))),
               NULL, 0);
    layout_want(&h, 0, dtype, 2, to, LAYOUT_NUMBERS(4, 6, 0, 0, 12, 14));
}
END_TEST

START_TEST(sorted_segments_check_their_ids)
{
    static const struct {
        int64_t n;
        int ids[4];
        eddy_detail detail;
    } cases[] = {{4, {0, 1, 0, 2}, EDDY_E_INDEX},
                 {4, {-1, 0, 0, 0}, EDDY_E_INDEX},
                 {3, {0, 0, 0}, EDDY_E_SHAPE}};
    const int64_t none[] = {0, 2};

    harness_want_error(&h,
                       harness_run(&h, "SegmentSum",
                                   layout_range(&h, EDDY_INT32, 1, 2, rows),
                                   layout_ints(&h, cases[_i].n, cases[_i].ids)),
                       EDDY_INVALID_ARGUMENT, cases[_i].detail);
    harness_want_error(
        &h, harness_run(&h, "SegmentSum", layout_int(&h, 1), layout_int(&h, 0)),
        EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    layout_run(&h, "SegmentSum",
               LAYOUT_INPUTS(layout_range(&h, EDDY_INT32, 1, 2, none),
                             layout_ints(&h, 0, NULL)),
               NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 2, none, NULL);
}
END_TEST

/* What each op makes of 6, 2, then nothing, then 9. */
static const struct {
    const char *op;
    double want[3];
} sorted_ops[] = {{"SegmentSum", {8, 0, 9}},
                  {"SegmentMean", {4, 0, 9}},
                  {"SegmentProd", {12, 1, 9}},
                  {"SegmentMax", {6, 0, 9}},
                  {"SegmentMin", {2, 0, 9}}};

static bool is_ordered(const char *op)
{
    return op[strlen(op) - 2] == 'a' || op[strlen(op) - 2] == 'i';
}

/* _i: dtype and op. */
START_TEST(sorted_segments_are_joined)
{
    const eddy_dtype dtype = number(_i / 5);
    const char *op = sorted_ops[_i % 5].op;
    const double x[] = {6, 2, 9};
    const int64_t three = 3;

    if (eddy__dtype_is_complex(dtype) && is_ordered(op))
        return;
    ck_assert_int_eq(harness_run(&h, op,
                                 harness_numbers(&h, dtype, 1, &three, x),
                                 layout_ints(&h, 3, LAYOUT_NUMBERS(0, 0, 2))),
                     EDDY_OK);
    harness_want(&h, 0, dtype, 1, &three);
    for (int64_t i = 0; i < 3; i++)
        ck_assert_double_eq(harness_get(h.outputs[0], i),
                            sorted_ops[_i % 5].want[i]);
}
END_TEST

/* The least or the most of a real dtype, as near as a double comes. */
static double nothing_of(eddy_dtype dtype, bool is_max)
{
    static const double least[] = {-65504,    -FLT_MAX,  -DBL_MAX, INT8_MIN,
                                   INT16_MIN, INT32_MIN, -0x1p63,  0,
                                   0,         0,         0,        -0x1.fep127};
    static const double most[] = {65504,      FLT_MAX,    DBL_MAX, INT8_MAX,
                                  INT16_MAX,  INT32_MAX,  0x1p63,  UINT8_MAX,
                                  UINT16_MAX, UINT32_MAX, 0x1p64,  0x1.fep127};

    static const eddy_dtype order[] = {
        EDDY_FLOAT16, EDDY_FLOAT32, EDDY_FLOAT64, EDDY_INT8,
        EDDY_INT16,   EDDY_INT32,   EDDY_INT64,   EDDY_UINT8,
        EDDY_UINT16,  EDDY_UINT32,  EDDY_UINT64,  EDDY_BFLOAT16};
    int i = 0;

    while (order[i] != dtype)
        i++;
    return is_max ? least[i] : most[i];
}

/* _i: dtype and op. */
START_TEST(unsorted_segments_are_joined)
{
    static const char *const ops[] = {
        "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin"};
    const eddy_dtype dtype = number(_i / 3);
    const double x[] = {6, 9, 2, 7};
    const double joined[] = {12, 6, 2};
    const int64_t four = 4, three = 3;
    const int op = _i % 3;

    if (eddy__dtype_is_complex(dtype) && op > 0)
        return;
    ck_assert_int_eq(
        harness_run(&h, ops[op], harness_numbers(&h, dtype, 1, &four, x),
                    layout_ints(&h, 4, LAYOUT_NUMBERS(2, 0, 2, -1)),
                    layout_int(&h, 3)),
        EDDY_OK);
    harness_want(&h, 0, dtype, 1, &three);
    ck_assert_double_eq(harness_get(h.outputs[0], 0), 9);
    ck_assert_double_eq(harness_get(h.outputs[0], 1),
                        op == 0 ? 1 : nothing_of(dtype, op == 1));
    ck_assert_double_eq(harness_get(h.outputs[0], 2), joined[op]);
}
END_TEST

/* As TensorFlow: a NaN gives way to what comes after it. */
START_TEST(the_order_of_nans_counts)
{
    static const char *const ops[] = {"SegmentMax", "SegmentMin"};
    const double x[] = {3, NAN, NAN, 3};
    const int64_t four = 4;

    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(
            harness_run(&h, ops[i],
                        harness_numbers(&h, EDDY_FLOAT32, 1, &four, x),
                        layout_ints(&h, 4, LAYOUT_NUMBERS(0, 0, 1, 1))),
            EDDY_OK);
        ck_assert_double_nan(harness_get(h.outputs[0], 0));
        ck_assert_double_eq(harness_get(h.outputs[0], 1), 3);
    }
}
END_TEST

/* As TensorFlow: the sum wraps before it is divided, towards 0. */
START_TEST(means_of_integers)
{
    const double x[] = {100, 100, -3, -4};
    const int64_t four = 4;

    ck_assert_int_eq(
        harness_run(&h, "SegmentMean",
                    harness_numbers(&h, EDDY_INT8, 1, &four, x),
                    layout_ints(&h, 4, LAYOUT_NUMBERS(0, 0, 1, 1))),
        EDDY_OK);
    ck_assert_double_eq(harness_get(h.outputs[0], 0), -28);
    ck_assert_double_eq(harness_get(h.outputs[0], 1), -3);
}
END_TEST

TCase *ops_segment_tests(void)
{
    TCase *tests = tcase_create("ops_segment");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, unsorted_segments_of_every_dtype_are_summed, 0,
                        14);
    tcase_add_test(tests, segment_ids_may_have_the_shape_of_the_data);
    tcase_add_test(tests, unsorted_segments_check_their_ids);
    tcase_add_loop_test(tests, sorted_segments_of_every_dtype_are_summed, 0,
                        14);
    tcase_add_loop_test(tests, sorted_segments_check_their_ids, 0, 3);
    tcase_add_loop_test(tests, sorted_segments_are_joined, 0, 5 * 14);
    tcase_add_loop_test(tests, unsorted_segments_are_joined, 0, 3 * 14);
    tcase_add_test(tests, the_order_of_nans_counts);
    tcase_add_test(tests, means_of_integers);
    return tests;
}
