/* SPDX-License-Identifier: Apache-2.0 */
/* Images resized by cubics, with the values that TensorFlow 2.21 gives. */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/ops/parts.h"

#include <math.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__resize_bicubic_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static eddy_status run(const char *op, eddy_tensor *x, eddy_tensor *second,
                       bool aligns, bool centres)
{
    const eddy_attr attrs[] = {eddy_attr_bool("align_corners", &aligns),
                               eddy_attr_bool("half_pixel_centers", &centres)};
    eddy_tensor *inputs[] = {x, second};

    return harness_run_attrs(&h, op, inputs, 2, attrs, 2);
}

/* The elements 0, 10, 20, 40 at six; what 1, 2, ..., 6 give back to them. */
static const struct {
    bool aligns, centres;
    double values[6], back[4];
} rows[] = {
    {false,
     false,
     {0, 5.74426842, 13.1462498, 20, 34.2654991, 42.2222214},
     {1.29559135, 3.70587325, 6.07060289, 9.92793369}},
    {true,
     false,
     {0, 5.03601599, 12.241581, 16.557539, 28.8483181, 40},
     {1.39256251, 4.45973682, 7.6618433, 7.48585749}},
    {false,
     true,
     {-0.65888834, 4.11764717, 11.5537739, 17.7506962, 31.1764717, 41.3177757},
     {1.90443897, 4.03975964, 6.28000689, 8.77579498}},
};

/* Along the rows of an image, and along its columns. */
static eddy_tensor *line(eddy_dtype dtype, int64_t n, const double *x,
                         bool is_column)
{
    const int64_t dims[] = {1, is_column ? n : 1, is_column ? 1 : n, 1};

    return harness_numbers(&h, dtype, 4, dims, x);
}

static void want(int64_t n, const double *values)
{
    for (int64_t i = 0; i < n; i++)
        ck_assert_msg(fabs(harness_get(h.outputs[0], i) - values[i]) < 2e-5,
                      "%d: got %.9g, want %.9g", (int)i,
                      harness_get(h.outputs[0], i), values[i]);
}

START_TEST(a_line_is_resized)
{
    static const eddy_dtype dtypes[] = {EDDY_FLOAT32, EDDY_FLOAT64,
                                        EDDY_INT64,   EDDY_UINT8,
                                        EDDY_FLOAT16, EDDY_BFLOAT16};
    const double x[] = {0, 10, 20, 40};
    const bool is_column = _i % 2;

    for (int d = 0; d < 6; d++) {
        ck_assert_int_eq(run("ResizeBicubic", line(dtypes[d], 4, x, is_column),
                             is_column ? harness_vector(&h, EDDY_INT32, 6, 1)
                                       : harness_vector(&h, EDDY_INT32, 1, 6),
                             rows[_i / 2].aligns, rows[_i / 2].centres),
                         EDDY_OK);
        ck_assert_int_eq(h.outputs[0]->dtype, EDDY_FLOAT32);
        want(6, rows[_i / 2].values);
    }
}
END_TEST

START_TEST(gradients_go_back)
{
    const double dy[] = {1, 2, 3, 4, 5, 6}, x[] = {0, 10, 20, 40};
    const bool is_column = _i % 2;

    for (int d = 0; d < 2; d++) {
        const eddy_dtype dtype = d ? EDDY_FLOAT64 : EDDY_FLOAT32;

        ck_assert_int_eq(run("ResizeBicubicGrad",
                             line(EDDY_FLOAT32, 6, dy, is_column),
                             line(dtype, 4, x, is_column), rows[_i / 2].aligns,
                             rows[_i / 2].centres),
                         EDDY_OK);
        ck_assert_int_eq(h.outputs[0]->dtype, dtype);
        want(4, rows[_i / 2].back);
    }
}
END_TEST

START_TEST(what_makes_no_sense_is_refused)
{
    const double x[] = {0, 10, 20, 40};
    eddy_tensor *image = line(EDDY_FLOAT32, 4, x, false);

    harness_want_error(&h,
                       run("ResizeBicubic", image,
                           harness_vector(&h, EDDY_INT32, 0, 6), false, false),
                       EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    harness_want_error(&h,
                       run("ResizeBicubic", image,
                           harness_vector(&h, EDDY_INT32, 1, 6), true, true),
                       EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE);
    harness_want_error(
        &h,
        run("ResizeBicubicGrad", image,
            harness_numbers(&h, EDDY_FLOAT32, HARNESS_DIMS(2, 1, 2, 1), x),
            false, false),
        EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

void ops_resize_bicubic_add_tests(TCase *tests)
{
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, a_line_is_resized, 0, 6);
    tcase_add_loop_test(tests, gradients_go_back, 0, 6);
    tcase_add_test(tests, what_makes_no_sense_is_refused);
}
