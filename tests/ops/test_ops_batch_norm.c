/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/suites.h"

#include <math.h>
#include <string.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__batch_norm_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static const int64_t image[] = {1, 3, 3, 1};
static const double values[] = {1, 2, 3, 6, 5, 4, 7, 9, 8};

static void near(size_t output, int64_t i, double want, double tolerated)
{
    ck_assert_double_le(fabs(harness_get(h.outputs[output], i) - want),
                        tolerated * (1 + fabs(want)));
}

static eddy_tensor *one(double value)
{
    const int64_t n = 1;

    return harness_numbers(&h, EDDY_FLOAT32, 1, &n, &value);
}

static eddy_tensor *none(void)
{
    const int64_t n = 0;

    return harness_numbers(&h, EDDY_FLOAT32, 1, &n, NULL);
}

/* Values from TensorFlow 2.21: what the batch gives, and the running means. */
START_TEST(training_measures_the_batch)
{
    const float epsilon = 0.001f, factor = 0.9f;
    const eddy_attr attrs[] = {
        eddy_attr_float("epsilon", &epsilon),
        eddy_attr_float("exponential_avg_factor", &factor)};
    const double y[] = {-2.0981545, -1.323616, -0.5490773,
                        1.7745386,  1,         0.22546136};
    const double statistics[] = {4.55, 6.775, 5, 6.6666665};

    ck_assert_int_eq(harness_run_attrs(
                         &h, "FusedBatchNormV3",
                         (eddy_tensor *[]){harness_numbers(&h, EDDY_FLOAT32, 4,
                                                           image, values),
                                           one(2), one(1), one(0.5), one(0.25)},
                         5, attrs, 2),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT32, 4, image);
    harness_want(&h, 5, EDDY_FLOAT32, 0, NULL);
    for (int64_t i = 0; i < 6; i++)
        near(0, i, y[i], 1e-6);
    for (size_t i = 0; i < 4; i++)
        near(1 + i, 0, statistics[i], 1e-6);
    ck_assert_int_eq(
        harness_run_attrs(&h, "FusedBatchNormV2",
                          (eddy_tensor *[]){harness_numbers(&h, EDDY_FLOAT16, 4,
                                                            image, values),
                                            one(2), one(1), none(), none()},
                          5, attrs, 1),
        EDDY_OK);
    for (int64_t i = 0; i < 6; i++)
        near(0, i, y[i], 1e-3);
    near(2, 0, 7.5, 1e-6);
}
END_TEST

START_TEST(otherwise_the_statistics_are_given)
{
    const bool is_training = false;
    const float epsilon = 0.001f;
    const eddy_attr attrs[] = {eddy_attr_float("epsilon", &epsilon),
                               eddy_attr_bool("is_training", &is_training)};
    const double y[] = {2.9960122, 6.988036, 10.980061,
                        22.956133, 18.96411, 14.972085};

    ck_assert_int_eq(harness_run_attrs(
                         &h, "FusedBatchNorm",
                         (eddy_tensor *[]){harness_numbers(&h, EDDY_FLOAT32, 4,
                                                           image, values),
                                           one(2), one(1), one(0.5), one(0.25)},
                         5, attrs, 2),
                     EDDY_OK);
    for (int64_t i = 0; i < 6; i++)
        near(0, i, y[i], 1e-6);
    near(1, 0, 0.5, 0);
    near(2, 0, 0.25, 0);
}
END_TEST

/* _i: is_training.  Values from TensorFlow 2.21. */
START_TEST(gradients_by_all_three)
{
    static const double dx[2][6] = {
        {0.77453864, 3.0981545, 6.9708476, 27.88339, 19.363466, 12.392618},
        {7.224383, 1.8037738, -2.0677583, -4.387891, -5.1635904, -4.390213}};
    const bool is_training = _i == 1;
    const float epsilon = 0.001f;
    const eddy_attr attrs[] = {eddy_attr_float("epsilon", &epsilon),
                               eddy_attr_bool("is_training", &is_training)};
    const char *const ops[] = {"FusedBatchNormGrad", "FusedBatchNormGradV2",
                               "FusedBatchNormGradV3"};
    const int64_t zero = 0;
    double squares[9];

    for (int i = 0; i < 9; i++)
        squares[i] = values[i] * values[i];
    for (size_t op = 0; op < 4; op++) {
        const eddy_dtype dtype = op == 3 ? EDDY_FLOAT16 : EDDY_FLOAT32;

        ck_assert_int_eq(
            harness_run_attrs(
                &h, ops[op == 3 ? 1 : op],
                (eddy_tensor *[]){harness_numbers(&h, dtype, 4, image, squares),
                                  harness_numbers(&h, dtype, 4, image, values),
                                  one(2), one(5), one(6.6666665), none()},
                op == 2 ? 6 : 5, attrs, 2),
            EDDY_OK);
        for (int64_t i = 0; i < 6; i++)
            near(0, i, dx[_i][i], op == 3 ? 2e-3 : 2e-6);
        near(1, 0, 232.3616, 1e-6);
        near(2, 0, 285, 1e-6);
        harness_want(&h, 3, EDDY_FLOAT32, 1, &zero);
        harness_want(&h, 4, EDDY_FLOAT32, 1, &zero);
    }
}
END_TEST

/* Two channels of which one is 10 times the other, in every format. */
START_TEST(formats_say_where_the_channels_are)
{
    static const struct {
        const char *format;
        int32_t rank;
        int64_t dims[5];
    } cases[] = {{"NHWC", 4, {2, 2, 1, 2}},
                 {"NCHW", 4, {2, 2, 2, 1}},
                 {"NDHWC", 5, {2, 1, 2, 1, 2}},
                 {"NCDHW", 5, {2, 2, 1, 2, 1}}};
    const int64_t two = 2;
    const double ones[] = {1, 1}, zeros[] = {0, 0};
    const eddy_string text = {cases[_i].format, strlen(cases[_i].format)};
    const eddy_attr attr = eddy_attr_string("data_format", &text);
    const bool is_first = _i % 2;
    double x[8];

    for (int i = 0; i < 8; i++) {
        const int channel = is_first ? i / 2 % 2 : i % 2;
        const int number = is_first ? i / 4 * 2 + i % 2 : i / 2;

        x[i] = (channel ? 10 : 1) * (double)number;
    }
    ck_assert_int_eq(
        harness_run_attrs(
            &h, "FusedBatchNormV3",
            (eddy_tensor *[]){harness_numbers(&h, EDDY_FLOAT32, cases[_i].rank,
                                              cases[_i].dims, x),
                              harness_numbers(&h, EDDY_FLOAT32, 1, &two, ones),
                              harness_numbers(&h, EDDY_FLOAT32, 1, &two, zeros),
                              none(), none()},
            5, &attr, 1),
        EDDY_OK);
    near(1, 0, 1.5, 1e-6);
    near(1, 1, 15, 1e-6);
    near(4, 0, 1.25, 1e-6);
    near(4, 1, 125, 1e-6);
}
END_TEST

START_TEST(an_empty_batch_has_no_mean)
{
    const int64_t dims[] = {0, 3, 3, 1};

    ck_assert_int_eq(
        harness_run(&h, "FusedBatchNorm",
                    harness_numbers(&h, EDDY_FLOAT32, 4, dims, NULL), one(2),
                    one(1), none(), none()),
        EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT32, 4, dims);
    ck_assert_double_nan(harness_get(h.outputs[1], 0));
    ck_assert_double_eq(harness_get(h.outputs[3], 0), 0);
}
END_TEST

START_TEST(channels_must_agree)
{
    const int64_t matrix[] = {3, 3};
    const eddy_string text = {"CHWN", 4};
    const bool is_training = false;
    const eddy_attr attrs[] = {eddy_attr_string("data_format", &text),
                               eddy_attr_bool("is_training", &is_training)};
    eddy_tensor *x = harness_numbers(&h, EDDY_FLOAT32, 4, image, values);
    eddy_tensor *in[] = {x, one(1), one(1), none(), none()};

    harness_want_error(&h,
                       harness_run_attrs(&h, "FusedBatchNorm", in, 5, attrs, 1),
                       EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE);
    harness_want_error(
        &h, harness_run_attrs(&h, "FusedBatchNorm", in, 5, attrs + 1, 1),
        EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    in[1] = none();
    harness_want_error(&h,
                       harness_run_attrs(&h, "FusedBatchNorm", in, 5, NULL, 0),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    in[0] = harness_numbers(&h, EDDY_FLOAT32, 2, matrix, values);
    harness_want_error(&h,
                       harness_run_attrs(&h, "FusedBatchNorm", in, 5, NULL, 0),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    harness_want_error(
        &h,
        harness_run(&h, "FusedBatchNormGrad", in[0], x, one(1), one(1), one(1)),
        EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

START_TEST(l2_loss_is_half_the_squares)
{
    static const eddy_dtype dtypes[] = {EDDY_FLOAT16, EDDY_FLOAT32,
                                        EDDY_FLOAT64};
    const int64_t dims[] = {1, 3, 1, 1, 1, 3, 1, 1}, zero = 0;
    const eddy_dtype dtype = dtypes[_i];

    ck_assert_int_eq(
        harness_run(&h, "L2Loss", harness_numbers(&h, dtype, 8, dims, values)),
        EDDY_OK);
    harness_want(&h, 0, dtype, 0, NULL);
    near(0, 0, 142.5, 0);
    ck_assert_int_eq(harness_run(&h, "L2Loss", harness_scalar(&h, dtype, 3)),
                     EDDY_OK);
    near(0, 0, 4.5, 0);
    ck_assert_int_eq(
        harness_run(&h, "L2Loss", harness_numbers(&h, dtype, 1, &zero, NULL)),
        EDDY_OK);
    near(0, 0, 0, 0);
}
END_TEST

TCase *ops_batch_norm_tests(void)
{
    TCase *tc = tcase_create("ops_batch_norm");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, training_measures_the_batch);
    tcase_add_test(tc, otherwise_the_statistics_are_given);
    tcase_add_loop_test(tc, gradients_by_all_three, 0, 2);
    tcase_add_loop_test(tc, formats_say_where_the_channels_are, 0, 4);
    tcase_add_test(tc, an_empty_batch_has_no_mean);
    tcase_add_test(tc, channels_must_agree);
    tcase_add_loop_test(tc, l2_loss_is_half_the_squares, 0, 3);
    return tc;
}
