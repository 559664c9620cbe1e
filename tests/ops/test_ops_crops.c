/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes cut out of images. */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

#include <string.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__crops_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

/* 1 2 above 3 4. */
static eddy_tensor *image(eddy_dtype dtype)
{
    return harness_numbers(&h, dtype, HARNESS_DIMS(1, 2, 2, 1),
                           (const double[]){1, 2, 3, 4});
}

static eddy_tensor *box(double a, double b, double c, double d)
{
    return harness_numbers(&h, EDDY_FLOAT32, HARNESS_DIMS(1, 4),
                           (const double[]){a, b, c, d});
}

static eddy_tensor *ints(int64_t n, const double *values)
{
    return harness_numbers(&h, EDDY_INT32, 1, &n, values);
}

#define INTS(...)                                                              \
    ints(sizeof((const double[]){__VA_ARGS__}) / sizeof(double),               \
         (const double[]){__VA_ARGS__})

static eddy_attr method_of(const char *name)
{
    static eddy_string text;

    text = (eddy_string){name, strlen(name)};
    return eddy_attr_string("method", &text);
}

static void want(int32_t rank, const int64_t *dims, const double *values)
{
    int64_t n = 1;

    harness_want(&h, 0, (eddy_dtype)h.outputs[0]->dtype, rank, dims);
    for (int32_t d = 0; d < rank; d++)
        n *= dims[d];
    for (int64_t i = 0; i < n; i++)
        ck_assert_msg(harness_get(h.outputs[0], i) == values[i],
                      "%d: got %.9g, want %.9g", (int)i,
                      harness_get(h.outputs[0], i), values[i]);
}

START_TEST(a_box_is_cut_out_and_resized)
{
    static const eddy_dtype dtypes[] = {EDDY_FLOAT32, EDDY_FLOAT64,
                                        EDDY_FLOAT16, EDDY_BFLOAT16,
                                        EDDY_UINT8,   EDDY_INT64};
    eddy_tensor *inputs[] = {image(dtypes[_i]), box(0, 0, 1, 1), INTS(0),
                             INTS(3, 2)};

    harness_run_attrs(&h, "CropAndResize", inputs, 4, NULL, 0);
    ck_assert_int_eq(h.outputs[0]->dtype, EDDY_FLOAT32);
    want(HARNESS_DIMS(1, 3, 2, 1), (const double[]){1, 2, 2, 3, 3, 4});
}
END_TEST

/* A row of one is the middle; what is beyond the image has a value. */
START_TEST(what_is_beyond_the_image_is_given)
{
    const float beyond = -7;
    const eddy_attr attrs[] = {eddy_attr_float("extrapolation_value", &beyond),
                               method_of(_i ? "nearest" : "bilinear")};
    eddy_tensor *inputs[] = {image(EDDY_FLOAT32), box(0, 0.25, 0.5, 2.25),
                             INTS(0), INTS(1, 3)};

    harness_run_attrs(&h, "CropAndResize", inputs, 4, attrs, 2);
    want(HARNESS_DIMS(1, 1, 3, 1),
         _i ? (const double[]){1, -7, -7} : (const double[]){1.75, -7, -7});
}
END_TEST

START_TEST(gradients_go_back_to_the_image)
{
    static const eddy_dtype dtypes[] = {EDDY_FLOAT32, EDDY_FLOAT64,
                                        EDDY_FLOAT16};
    const eddy_dtype dtype = dtypes[_i / 2];
    const eddy_attr attrs[] = {method_of(_i % 2 ? "nearest" : "bilinear"),
                               eddy_attr_type("T", &dtype)};
    eddy_tensor *dy = harness_numbers(
        &h, EDDY_FLOAT32, HARNESS_DIMS(1, 1, 3, 1), (const double[]){1, 2, 4});
    eddy_tensor *inputs[] = {dy, box(0, 0, 0, 1), INTS(0), INTS(1, 2, 2, 1)};

    harness_run_attrs(&h, "CropAndResizeGradImage", inputs, 4, attrs, 2);
    ck_assert_int_eq(h.outputs[0]->dtype, dtype);
    want(HARNESS_DIMS(1, 2, 2, 1),
         _i % 2 ? (const double[]){1, 6, 0, 0} : (const double[]){2, 5, 0, 0});
}
END_TEST

/* Of the middle, 2.5: a row on is 2 more, a column 1; each side is half. */
START_TEST(gradients_go_back_to_the_boxes)
{
    eddy_tensor *dy = harness_numbers(
        &h, EDDY_FLOAT32, HARNESS_DIMS(1, 1, 1, 1), (const double[]){4});
    eddy_tensor *inputs[] = {dy, image(EDDY_FLOAT32), box(0, 0, 1, 1), INTS(0)};
    eddy_attr attr = method_of("bilinear");

    harness_run_attrs(&h, "CropAndResizeGradBoxes", inputs, 4, &attr, 1);
    want(HARNESS_DIMS(1, 4), (const double[]){4, 2, 4, 2});
    attr = method_of("nearest");
    harness_want_error(
        &h,
        harness_run_attrs(&h, "CropAndResizeGradBoxes", inputs, 4, &attr, 1),
        EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE);
}
END_TEST

static void refuse_crops(eddy_tensor *of, eddy_tensor *boxes,
                         eddy_tensor *images, eddy_tensor *size,
                         eddy_status code)
{
    eddy_tensor *inputs[] = {of, boxes, images, size};

    harness_want_error(
        &h, harness_run_attrs(&h, "CropAndResize", inputs, 4, NULL, 0), code,
        code == EDDY_OUT_OF_RANGE || size->count == 2 ? EDDY_E_VALUE
                                                      : EDDY_E_SHAPE);
}

START_TEST(crops_that_make_no_sense_are_refused)
{
    eddy_tensor *of = image(EDDY_FLOAT32), *whole = box(0, 0, 1, 1);
    const eddy_attr attr = method_of("bicubic");
    eddy_tensor *inputs[] = {of, whole, INTS(0), INTS(2, 2)};

    refuse_crops(of, whole, INTS(1), INTS(2, 2), EDDY_OUT_OF_RANGE);
    refuse_crops(of, whole, INTS(-1), INTS(2, 2), EDDY_OUT_OF_RANGE);
    refuse_crops(of, whole, INTS(0), INTS(0, 2), EDDY_INVALID_ARGUMENT);
    refuse_crops(of, whole, INTS(0, 0), INTS(2, 2, 2), EDDY_INVALID_ARGUMENT);
    refuse_crops(whole, whole, INTS(0), INTS(2, 2, 2), EDDY_INVALID_ARGUMENT);
    harness_want_error(
        &h, harness_run_attrs(&h, "CropAndResize", inputs, 4, &attr, 1),
        EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE);
}
END_TEST

START_TEST(gradients_that_do_not_fit_are_refused)
{
    const eddy_dtype dtype = EDDY_FLOAT32;
    const eddy_attr attr = eddy_attr_type("T", &dtype);
    eddy_tensor *two = harness_numbers(
        &h, EDDY_FLOAT32, HARNESS_DIMS(2, 1, 1, 1), (const double[]){1, 2});
    eddy_tensor *inputs[] = {two, box(0, 0, 1, 1), INTS(0), INTS(1, 2, 2, 1)};

    harness_want_error(
        &h,
        harness_run_attrs(&h, "CropAndResizeGradImage", inputs, 4, &attr, 1),
        EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    inputs[3] = INTS(1, 0, 2, 1);
    harness_want_error(
        &h,
        harness_run_attrs(&h, "CropAndResizeGradImage", inputs, 4, &attr, 1),
        EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
}
END_TEST

TCase *ops_crops_tests(void)
{
    TCase *tests = tcase_create("ops_crops");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, a_box_is_cut_out_and_resized, 0, 6);
    tcase_add_loop_test(tests, what_is_beyond_the_image_is_given, 0, 2);
    tcase_add_loop_test(tests, gradients_go_back_to_the_image, 0, 6);
    tcase_add_test(tests, gradients_go_back_to_the_boxes);
    tcase_add_test(tests, crops_that_make_no_sense_are_refused);
    tcase_add_test(tests, gradients_that_do_not_fit_are_refused);
    return tests;
}
