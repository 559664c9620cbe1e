/* SPDX-License-Identifier: Apache-2.0 */
/* Colours; the numbers are what TensorFlow 2.21 gave. */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

#include <math.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__colors_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static const eddy_dtype dtypes[] = {EDDY_FLOAT16, EDDY_BFLOAT16, EDDY_FLOAT32,
                                    EDDY_FLOAT64};

static void want_near(const double *want, int64_t n, double tolerance)
{
    ck_assert_int_eq(h.outputs[0]->count, n);
    for (int64_t i = 0; i < n; i++)
        ck_assert_double_le(fabs(harness_get(h.outputs[0], i) - want[i]),
                            tolerance);
}

static const double colors[] = {1, 2, 3, 3, 1, 2, 2, 3, 1, -1, -2, -3, 1, 1, 1};

static eddy_tensor *images(eddy_dtype dtype)
{
    return harness_numbers(&h, dtype, HARNESS_DIMS(1, 5, 3), colors);
}

START_TEST(colors_have_a_hue)
{
    static const double want[] = {0.5833333, 2.0 / 3, 3, 0.9166667, 2.0 / 3, 3,
                                  0.25,      2.0 / 3, 3, 0.0833333, 0,       -1,
                                  0,         0,       1};

    layout_run(&h, "RGBToHSV", LAYOUT_INPUTS(images(dtypes[_i])), NULL, 0);
    want_near(want, 15, _i < 2 ? 4e-3 : 1e-6);
}
END_TEST

START_TEST(a_hue_has_a_color)
{
    static const double hues[] = {.1,  .2, .3, .9,  1,  2,
                                  1.5, .5, .5, -.3, .4, .5};
    static const double want[] = {.3, .276, .24, 2,  0,  1.2,
                                  .5, .25,  .25, .5, .3, .3};

    layout_run(&h, "HSVToRGB",
               LAYOUT_INPUTS(harness_numbers(&h, dtypes[_i],
                                             HARNESS_DIMS(2, 2, 3), hues)),
               NULL, 0);
    want_near(want, 12, _i == 1 ? 6e-2 : _i == 0 ? 4e-3 : 1e-6);
}
END_TEST

START_TEST(colors_are_adjusted)
{
    static const double hue[] = {3, 1,  2.4, 2.4,  3, 1, 1, 2.4,
                                 3, -3, -1,  -2.4, 1, 1, 1};
    static const double saturation[] = {0, 1.5, 3,  3,  0, 1.5, 1.5, 3,
                                        0, -1,  -1, -1, 1, 1,   1};
    eddy_tensor *x = images(EDDY_FLOAT32);

    layout_run(&h, "AdjustHue",
               LAYOUT_INPUTS(x, harness_scalar(&h, EDDY_FLOAT32, 0.3)), NULL,
               0);
    want_near(hue, 15, 1e-5);
    layout_run(&h, "AdjustSaturation",
               LAYOUT_INPUTS(x, harness_scalar(&h, EDDY_FLOAT32, 1.7)), NULL,
               0);
    want_near(saturation, 15, 1e-5);
}
END_TEST

START_TEST(contrast_is_about_the_mean)
{
    static const double some[] = {1, 2, 3, 3, 1, 2, 2, 3, 1, 0, 0, 0};
    static const double want[] = {.65,  2.35, 4.05, 4.05,  .65,   2.35,
                                  2.35, 4.05, .65,  -1.05, -1.05, -1.05};

    layout_run(&h, "AdjustContrastv2",
               LAYOUT_INPUTS(harness_numbers(&h, EDDY_FLOAT32,
                                             HARNESS_DIMS(2, 2, 3), some),
                             harness_scalar(&h, EDDY_FLOAT32, 1.7)),
               NULL, 0);
    want_near(want, 12, 1e-5);
}
END_TEST

START_TEST(images_have_channels)
{
    eddy_tensor *x = harness_vector(&h, EDDY_FLOAT32, 1, 2, 3, 4);
    eddy_tensor *one = harness_scalar(&h, EDDY_FLOAT32, 1);

    harness_want_error(&h, harness_run(&h, "RGBToHSV", x),
                       EDDY_FAILED_PRECONDITION, EDDY_E_SHAPE);
    harness_want_error(&h, harness_run(&h, "HSVToRGB", one),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    harness_want_error(&h, harness_run(&h, "AdjustHue", x, one),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h, harness_run(&h, "AdjustContrastv2", x, one),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(
        &h, harness_run(&h, "AdjustSaturation", images(EDDY_FLOAT32), x),
        EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    harness_want_error(&h,
                       harness_run(&h, "AdjustHue", images(EDDY_FLOAT16), one),
                       EDDY_UNIMPLEMENTED, EDDY_E_NO_KERNEL);
}
END_TEST

TCase *ops_colors_tests(void)
{
    TCase *tests = tcase_create("ops_colors");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, colors_have_a_hue, 0, 4);
    tcase_add_loop_test(tests, a_hue_has_a_color, 0, 4);
    tcase_add_test(tests, colors_are_adjusted);
    tcase_add_test(tests, contrast_is_about_the_mean);
    tcase_add_test(tests, images_have_channels);
    return tests;
}
