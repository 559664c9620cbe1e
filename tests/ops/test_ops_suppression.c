/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes that overlap; the numbers are what TensorFlow 2.21 gave. */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

#include <math.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__suppression_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

/* Two that overlap by much, one by less, one alone, one without an area. */
static eddy_tensor *boxes(eddy_dtype dtype)
{
    static const double corners[] = {0, 0,   1, 1, 0, 0.1, 1, 1.1, 0, 0.5,
                                     1, 1.5, 4, 4, 3, 3,   2, 2,   2, 5};

    return harness_numbers(&h, dtype, HARNESS_DIMS(5, 4), corners);
}

static eddy_tensor *scores(eddy_dtype dtype)
{
    return harness_vector(&h, dtype, 0.75, 0.875, 0.5, 0.25, 0.125);
}

static eddy_tensor *number(eddy_dtype dtype, double value)
{
    return harness_scalar(&h, dtype, value);
}

START_TEST(boxes_that_overlap_are_left_out)
{
    const eddy_dtype dtype = _i == 0 ? EDDY_FLOAT32 : EDDY_FLOAT16;
    const int64_t four = 4, two = 2;

    layout_run(&h, "NonMaxSuppressionV2",
               LAYOUT_INPUTS(boxes(dtype), scores(dtype), layout_int(&h, 9),
                             number(dtype, 0.5)),
               NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 1, &four, LAYOUT_NUMBERS(1, 2, 3, 4));
    layout_run(&h, "NonMaxSuppressionV3",
               LAYOUT_INPUTS(boxes(dtype), scores(dtype), layout_int(&h, 9),
                             number(dtype, 0.5), number(dtype, 0.25)),
               NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 1, &two, LAYOUT_NUMBERS(1, 2));
    layout_run(&h, "NonMaxSuppressionV2",
               LAYOUT_INPUTS(boxes(dtype), scores(dtype), layout_int(&h, 2),
                             number(dtype, 0.9375)),
               NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 1, &two, LAYOUT_NUMBERS(1, 0));
}
END_TEST

START_TEST(the_output_may_be_filled)
{
    const bool pads = true;
    const eddy_attr attr = eddy_attr_bool("pad_to_max_output_size", &pads);
    const int64_t six = 6;

    layout_run(&h, "NonMaxSuppressionV4",
               LAYOUT_INPUTS(boxes(EDDY_FLOAT32), scores(EDDY_FLOAT32),
                             layout_int(&h, 6), number(EDDY_FLOAT32, 0.5),
                             number(EDDY_FLOAT32, 0)),
               &attr, 1);
    layout_want(&h, 0, EDDY_INT32, 1, &six, LAYOUT_NUMBERS(1, 2, 3, 4, 0, 0));
    layout_want(&h, 1, EDDY_INT32, 0, NULL, LAYOUT_NUMBERS(4));
}
END_TEST

/* exp(-overlap^2 / (2 sigma)) of 0.9/1.1 and of 0.6/1.4. */
START_TEST(a_sigma_lowers_scores)
{
    const double near = 0.9 / 1.1, half = 0.5 / 1.5, far_off = 0.6 / 1.4;
    const double want[] = {0.875, 0.5 * exp(-far_off * far_off),
                           0.75 * exp(-near * near) * exp(-half * half), 0.25,
                           0.125};
    const int64_t five = 5;

    layout_run(&h, "NonMaxSuppressionV5",
               LAYOUT_INPUTS(boxes(EDDY_FLOAT32), scores(EDDY_FLOAT32),
                             layout_int(&h, 6), number(EDDY_FLOAT32, 1),
                             number(EDDY_FLOAT32, 0),
                             number(EDDY_FLOAT32, 0.5)),
               NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 1, &five, LAYOUT_NUMBERS(1, 2, 0, 3, 4));
    layout_want(&h, 2, EDDY_INT32, 0, NULL, LAYOUT_NUMBERS(5));
    for (int64_t i = 0; i < five; i++)
        ck_assert_double_le(fabs(harness_get(h.outputs[1], i) - want[i]), 1e-5);
}
END_TEST

START_TEST(overlaps_may_be_given)
{
    const int64_t two = 2;

    layout_run(&h, "NonMaxSuppressionWithOverlaps",
               LAYOUT_INPUTS(
                   harness_numbers(&h, EDDY_FLOAT32, HARNESS_DIMS(3, 3),
                                   (const double[]){1, 0, 3, 0, 1, 1, 3, 1, 1}),
                   harness_vector(&h, EDDY_FLOAT32, 1, 2, 3), layout_int(&h, 3),
                   number(EDDY_FLOAT32, 2), number(EDDY_FLOAT32, 0)),
               NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 1, &two, LAYOUT_NUMBERS(2, 1));
}
END_TEST

static eddy_status suppress(eddy_tensor *of, eddy_tensor *score, double most,
                            double threshold)
{
    return harness_run(&h, "NonMaxSuppressionV2", of, score,
                       harness_scalar(&h, EDDY_INT32, most),
                       number(EDDY_FLOAT32, threshold));
}

START_TEST(what_does_not_fit_is_refused)
{
    eddy_tensor *of = boxes(EDDY_FLOAT32), *score = scores(EDDY_FLOAT32);

    harness_want_error(&h, suppress(of, score, -1, 0.5), EDDY_INVALID_ARGUMENT,
                       EDDY_E_VALUE);
    harness_want_error(&h, suppress(of, score, 2, 1.5), EDDY_INVALID_ARGUMENT,
                       EDDY_E_VALUE);
    harness_want_error(&h, suppress(of, score, 2, (double)NAN),
                       EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    harness_want_error(
        &h, suppress(of, harness_vector(&h, EDDY_FLOAT32, 1), 2, 0.5),
        EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h, suppress(score, score, 2, 0.5),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

TCase *ops_suppression_tests(void)
{
    TCase *tests = tcase_create("ops_suppression");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, boxes_that_overlap_are_left_out, 0, 2);
    tcase_add_test(tests, the_output_may_be_filled);
    tcase_add_test(tests, a_sigma_lowers_scores);
    tcase_add_test(tests, overlaps_may_be_given);
    tcase_add_test(tests, what_does_not_fit_is_refused);
    return tests;
}
