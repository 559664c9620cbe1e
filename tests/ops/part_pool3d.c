/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools of volumes: the values that TensorFlow 2.21 gives for a line of four,
 * the same along each side and in both formats.  More of TensorFlow's are in
 * tests/conformance/findings/pool3d.
 */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/ops/parts.h"

#include <math.h>
#include <string.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__pool3d_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

/* An attribute that is a list of five. */
static eddy_attr ints(const char *name, const int64_t values[5])
{
    return (eddy_attr){.name = name,
                       .kind = EDDY_ATTR_INT,
                       .is_list = true,
                       .n = 5,
                       .as.ints = values};
}

static const eddy_dtype dtypes[] = {EDDY_FLOAT16, EDDY_FLOAT32, EDDY_FLOAT64,
                                    EDDY_BFLOAT16};

/* Along which side the line lies, the format, and the dtype, by _i. */
#define N_WAYS 24

static bool is_ncdhw(int i)
{
    return i % 2;
}

/* A line of `n` and two channels that are alike but for their sign. */
static eddy_tensor *line(int i, int64_t n, const double *values)
{
    int64_t dims[] = {1, 1, 1, 1, 1};
    double both[16];

    ck_assert_int_le(n, 8);
    dims[(is_ncdhw(i) ? 2 : 1) + i / 2 % 3] = n;
    dims[is_ncdhw(i) ? 1 : 4] = 2;
    for (int64_t j = 0; j < n; j++) {
        both[is_ncdhw(i) ? j : 2 * j] = values[j];
        both[is_ncdhw(i) ? n + j : 2 * j + 1] = values[j] * 2;
    }
    return harness_numbers(&h, dtypes[i / 6], 5, dims, both);
}

/* Windows of two places, one apart. */
static eddy_status run(int i, const char *op, eddy_tensor *const *inputs,
                       size_t n, const char *padding)
{
    const eddy_string format = {is_ncdhw(i) ? "NCDHW" : "NDHWC", 5};
    const eddy_string pad = {padding, strlen(padding)};
    const int64_t ones[] = {1, 1, 1, 1, 1};
    const bool has_two = strcmp(op, "MaxPool3DGrad") == 0;
    int64_t size[] = {1, 1, 1, 1, 1};
    eddy_attr attrs[5];

    size[(is_ncdhw(i) ? 2 : 1) + i / 2 % 3] = 2;
    attrs[0] = eddy_attr_string("data_format", &format);
    attrs[1] = eddy_attr_string("padding", &pad);
    attrs[2] = ints("strides", ones);
    attrs[3] = ints("ksize", size);
    attrs[4] = eddy_attr_type("TInput", &dtypes[i / 6]);
    return harness_run_attrs(&h, op, inputs, n, attrs, has_two ? 5 : 4);
}

static void want(int i, int64_t n, const double *values)
{
    ck_assert_int_eq(h.outputs[0]->count, 2 * n);
    for (int64_t j = 0; j < n; j++) {
        const double one = harness_get(h.outputs[0], is_ncdhw(i) ? j : 2 * j);
        const double two =
            harness_get(h.outputs[0], is_ncdhw(i) ? n + j : 2 * j + 1);

        ck_assert_msg(one == values[j] && two == 2 * values[j],
                      "%d: got %g and %g, want %g", (int)j, one, two,
                      values[j]);
    }
}

static const double x[] = {1, 3, 3, 2}, maxima[] = {3, 3, 3};

START_TEST(the_greatest_of_each_window_is_found)
{
    eddy_tensor *input = line(_i, 4, x);

    ck_assert_int_eq(run(_i, "MaxPool3D", &input, 1, "VALID"), EDDY_OK);
    want(_i, 3, maxima);
    ck_assert_int_eq(run(_i, "MaxPool3D", &input, 1, "SAME"), EDDY_OK);
    want(_i, 4, (const double[]){3, 3, 3, 2});
}
END_TEST

START_TEST(the_first_place_of_a_maximum_gets_its_gradient)
{
    eddy_tensor *inputs[] = {line(_i, 4, x), line(_i, 3, maxima),
                             line(_i, 3, (const double[]){1, 2, 3})};

    ck_assert_int_eq(run(_i, "MaxPool3DGrad", inputs, 3, "VALID"), EDDY_OK);
    want(_i, 4, (const double[]){0, 3, 3, 0});
}
END_TEST

START_TEST(the_second_gradient_takes_the_first_place)
{
    eddy_tensor *inputs[] = {line(_i, 4, x), line(_i, 3, maxima),
                             line(_i, 4, (const double[]){10, 20, 30, 40})};

    ck_assert_int_eq(run(_i, "MaxPool3DGradGrad", inputs, 3, "VALID"), EDDY_OK);
    want(_i, 3, (const double[]){20, 20, 30});
}
END_TEST

START_TEST(means_count_what_is_inside)
{
    eddy_tensor *input = line(_i, 4, x);

    ck_assert_int_eq(run(_i, "AvgPool3D", &input, 1, "SAME"), EDDY_OK);
    want(_i, 4, (const double[]){2, 3, 2.5, 2});
}
END_TEST

START_TEST(means_share_their_gradient)
{
    int32_t sizes[] = {1, 1, 1, 1, 1};
    eddy_tensor *inputs[2];

    sizes[(is_ncdhw(_i) ? 2 : 1) + _i / 2 % 3] = 4;
    sizes[is_ncdhw(_i) ? 1 : 4] = 2;
    inputs[0] = harness_tensor(&h, EDDY_INT32, HARNESS_DIMS(5), sizes);
    inputs[1] = line(_i, 4, (const double[]){2, 4, 6, 8});
    ck_assert_int_eq(run(_i, "AvgPool3DGrad", inputs, 2, "SAME"), EDDY_OK);
    want(_i, 4, (const double[]){1, 3, 5, 11});
}
END_TEST

START_TEST(a_nan_never_wins)
{
    const double numbers[] = {1, (double)NAN, 3, -(double)INFINITY};
    const int64_t dims[] = {1, 1, 1, 4, 1};
    const int64_t ones[] = {1, 1, 1, 1, 1}, two[] = {1, 1, 1, 2, 1};
    const eddy_string padding = {"VALID", 5};
    const eddy_attr attrs[] = {eddy_attr_string("padding", &padding),
                               ints("strides", ones), ints("ksize", two)};
    eddy_tensor *input = harness_numbers(&h, EDDY_FLOAT32, 5, dims, numbers);

    ck_assert_int_eq(harness_run_attrs(&h, "MaxPool3D", &input, 1, attrs, 3),
                     EDDY_OK);
    ck_assert(harness_get(h.outputs[0], 0) == 1);
    ck_assert(harness_get(h.outputs[0], 1) == 3);
    ck_assert(harness_get(h.outputs[0], 2) == 3);
}
END_TEST

START_TEST(shapes_must_fit)
{
    eddy_tensor *inputs[] = {line(_i, 4, x), line(_i, 4, x), line(_i, 3, x)};
    eddy_tensor *flat = harness_vector(&h, dtypes[_i / 6], 1, 2, 3);

    harness_want_error(&h, run(_i, "MaxPool3D", &flat, 1, "VALID"),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    harness_want_error(&h, run(_i, "MaxPool3DGrad", inputs, 3, "VALID"),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    inputs[1] = inputs[2];
    harness_want_error(&h, run(_i, "MaxPool3DGradGrad", inputs, 3, "VALID"),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

void ops_pool3d_add_tests(TCase *tests)
{
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, the_greatest_of_each_window_is_found, 0, N_WAYS);
    tcase_add_loop_test(tests, the_first_place_of_a_maximum_gets_its_gradient,
                        0, N_WAYS);
    tcase_add_loop_test(tests, the_second_gradient_takes_the_first_place, 0,
                        N_WAYS);
    tcase_add_loop_test(tests, means_count_what_is_inside, 0, N_WAYS);
    tcase_add_loop_test(tests, means_share_their_gradient, 0, N_WAYS);
    tcase_add_test(tests, a_nan_never_wins);
    tcase_add_loop_test(tests, shapes_must_fit, 0, N_WAYS);
}
