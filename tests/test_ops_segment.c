#include "ops/ops.h"
#include "tests/layout_aid.h"
#include "tests/suites.h"

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
    return layout_dtype(i < 11 ? i : 12);
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

TCase *ops_segment_tests(void)
{
    TCase *tests = tcase_create("ops_segment");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, unsorted_segments_of_every_dtype_are_summed, 0,
                        12);
    tcase_add_test(tests, segment_ids_may_have_the_shape_of_the_data);
    tcase_add_test(tests, unsorted_segments_check_their_ids);
    tcase_add_loop_test(tests, sorted_segments_of_every_dtype_are_summed, 0,
                        12);
    tcase_add_loop_test(tests, sorted_segments_check_their_ids, 0, 3);
    return tests;
}
