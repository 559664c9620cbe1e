/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/suites.h"

#include <math.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__sparse_segment_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

/* Four rows: 1 2, 3 4, 5 6, 7 8. */
static eddy_tensor *rows(eddy_dtype dtype)
{
    return harness_numbers(&h, dtype, HARNESS_DIMS(4, 2),
                           (const double[]){1, 2, 3, 4, 5, 6, 7, 8});
}

static void want(const double *values, int64_t n)
{
    const double tolerance = h.outputs[0]->dtype == EDDY_FLOAT64 ? 1e-14 : 1e-2;

    for (int64_t i = 0; i < n; i++)
        ck_assert(fabs(harness_get(h.outputs[0], i) - values[i]) <
                  tolerance * (1 + fabs(values[i])));
}

/* Rows 3, 0 and 3 in segment 0, and row 1 in segment 2. */
static const struct {
    const char *op;
    double by;
} ops[] = {{"SparseSegmentSum", 1},
           {"SparseSegmentMean", 3},
           {"SparseSegmentSqrtN", 1.7320508075688772}};

START_TEST(rows_are_picked_and_joined)
{
    static const eddy_dtype dtypes[] = {EDDY_FLOAT16, EDDY_BFLOAT16,
                                        EDDY_FLOAT32, EDDY_FLOAT64};
    const double by = ops[_i].by;
    const double values[] = {15 / by, 18 / by, 0, 0, 3, 4};

    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(
            harness_run(&h, ops[_i].op, rows(dtypes[i]),
                        harness_vector(&h, EDDY_INT64, 3, 0, 3, 1),
                        harness_vector(&h, EDDY_INT32, 0, 0, 0, 2)),
            EDDY_OK);
        harness_want(&h, 0, dtypes[i], HARNESS_DIMS(3, 2));
        want(values, 6);
    }
}
END_TEST

START_TEST(a_number_of_segments_may_be_given)
{
    ck_assert_int_eq(harness_run(&h, "SparseSegmentSumWithNumSegments",
                                 rows(EDDY_INT32),
                                 harness_vector(&h, EDDY_INT32, 1, 2),
                                 harness_vector(&h, EDDY_INT32, 1, 1),
                                 harness_scalar(&h, EDDY_INT64, 3)),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_INT32, HARNESS_DIMS(3, 2));
    want((const double[]){0, 0, 8, 10, 0, 0}, 6);
}
END_TEST

START_TEST(no_rows_make_no_segments)
{
    eddy_tensor *none = harness_numbers(&h, EDDY_INT32, HARNESS_DIMS(0), NULL);

    ck_assert_int_eq(
        harness_run(&h, "SparseSegmentMean", rows(EDDY_FLOAT32), none, none),
        EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT32, HARNESS_DIMS(0, 2));
}
END_TEST

/* Segment 0 gives half of its row to rows 2 and 0, segment 1 all to row 2. */
START_TEST(gradients_go_back_to_the_rows)
{
    static const char *const names[] = {"SparseSegmentSumGrad",
                                        "SparseSegmentMeanGrad",
                                        "SparseSegmentSqrtNGrad"};
    const double by = _i == 0 ? 1 : _i == 1 ? 2 : 1.4142135623730951;
    const double values[] = {1 / by,     2 / by,     0, 0,
                             1 / by + 3, 2 / by + 4, 0, 0};

    ck_assert_int_eq(harness_run(&h, names[_i], rows(EDDY_FLOAT64),
                                 harness_vector(&h, EDDY_INT32, 2, 0, 2),
                                 harness_vector(&h, EDDY_INT32, 0, 0, 1),
                                 harness_scalar(&h, EDDY_INT32, 4)),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT64, HARNESS_DIMS(4, 2));
    want(values, 8);
}
END_TEST

/* The same values, of the rows 0 and 2 alone. */
START_TEST(gradients_of_rows_that_occur_are_sorted)
{
    static const char *const names[] = {"SparseSegmentSumGradV2",
                                        "SparseSegmentMeanGradV2",
                                        "SparseSegmentSqrtNGradV2"};
    const double by = _i == 0 ? 1 : _i == 1 ? 2 : 1.4142135623730951;
    const double values[] = {1 / by, 2 / by, 1 / by + 3, 2 / by + 4};

    ck_assert_int_eq(harness_run(&h, names[_i], rows(EDDY_FLOAT64),
                                 harness_vector(&h, EDDY_INT64, 2, 0, 2),
                                 harness_vector(&h, EDDY_INT32, 0, 0, 1),
                                 harness_scalar(&h, EDDY_INT32, 2000000000)),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT64, HARNESS_DIMS(2, 2));
    want(values, 4);
    harness_want(&h, 1, EDDY_INT64, HARNESS_DIMS(2));
    ck_assert(harness_get(h.outputs[1], 0) == 0);
    ck_assert(harness_get(h.outputs[1], 1) == 2);
    harness_want_error(&h,
                       harness_run(&h, names[_i], rows(EDDY_FLOAT64),
                                   harness_vector(&h, EDDY_INT64, 2, 0, 2),
                                   harness_vector(&h, EDDY_INT32, 0, 0, 1),
                                   harness_scalar(&h, EDDY_INT32, 2)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
}
END_TEST

/* Two indices, two ids, and the mistake. */
static const struct {
    double indices[2], ids[2];
} bad[] = {
    {{0, 1}, {1, 0}},
    {{0, 1}, {-1, 0}},
    {{0, 4}, {0, 0}},
    {{-1, 0}, {0, 0}},
};

START_TEST(indices_and_ids_must_fit)
{
    eddy_tensor *indices =
        harness_numbers(&h, EDDY_INT32, HARNESS_DIMS(2), bad[_i].indices);
    eddy_tensor *ids =
        harness_numbers(&h, EDDY_INT32, HARNESS_DIMS(2), bad[_i].ids);

    harness_want_error(
        &h,
        harness_run(&h, "SparseSegmentSum", rows(EDDY_FLOAT32), indices, ids),
        EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
}
END_TEST

START_TEST(shapes_must_fit)
{
    eddy_tensor *one = harness_vector(&h, EDDY_INT32, 0);
    eddy_tensor *two = harness_vector(&h, EDDY_INT32, 0, 0);

    harness_want_error(
        &h, harness_run(&h, "SparseSegmentSum", rows(EDDY_FLOAT32), one, two),
        EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h,
                       harness_run(&h, "SparseSegmentSum",
                                   harness_scalar(&h, EDDY_FLOAT32, 1), one,
                                   one),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    harness_want_error(&h,
                       harness_run(&h, "SparseSegmentSumWithNumSegments",
                                   rows(EDDY_FLOAT32), one, one,
                                   harness_scalar(&h, EDDY_INT32, -1)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    harness_want_error(&h,
                       harness_run(&h, "SparseSegmentSumGrad",
                                   rows(EDDY_FLOAT32), one,
                                   harness_vector(&h, EDDY_INT32, 9),
                                   harness_scalar(&h, EDDY_INT32, 1)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
}
END_TEST

TCase *ops_sparse_segment_tests(void)
{
    TCase *tests = tcase_create("ops_sparse_segment");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, rows_are_picked_and_joined, 0,
                        (int)(sizeof ops / sizeof *ops));
    tcase_add_test(tests, a_number_of_segments_may_be_given);
    tcase_add_test(tests, no_rows_make_no_segments);
    tcase_add_loop_test(tests, gradients_go_back_to_the_rows, 0, 3);
    tcase_add_loop_test(tests, gradients_of_rows_that_occur_are_sorted, 0, 3);
    tcase_add_loop_test(tests, indices_and_ids_must_fit, 0,
                        (int)(sizeof bad / sizeof *bad));
    tcase_add_test(tests, shapes_must_fit);
    return tests;
}
