/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/aid/numbers.h"
#include "tests/suites.h"

#include <math.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__leaky_relu_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static const double values[] = {
    NAN, INFINITY, -INFINITY, 0.0, -0.0,  1,   -1,   2.5, -2.5, 3,
    -7,  0.1,      -0.3,      6e4, -6e-5, -10, 0.75, 0.3, -4,   -5};

#define N 20

static eddy_status run(const char *op, float alpha, eddy_tensor *g,
                       eddy_tensor *x)
{
    const eddy_attr attr = {
        .name = "alpha", .kind = EDDY_ATTR_FLOAT, .n = 1, .as.floats = &alpha};

    return harness_run_attrs(&h, op, (eddy_tensor *[]){g, x}, x ? 2 : 1, &attr,
                             1);
}

/* Alpha has the precision of the elements. */
static double rounded(eddy_dtype dtype, float alpha)
{
    if (dtype == EDDY_BFLOAT16)
        return eddy_bfloat16_to_float(eddy_bfloat16_from_float(alpha));
    return dtype == EDDY_FLOAT16
               ? eddy_float16_to_float(eddy_float16_from_float(alpha))
               : alpha;
}

START_TEST(what_is_not_positive_is_scaled)
{
    static const float alphas[] = {0.2f, 2, -1, 0};
    const float alpha = alphas[_i];

    NUMBERS_EACH_FLOAT(d)
    {
        eddy_tensor *x = harness_numbers(&h, d, HARNESS_DIMS(1, N), values);

        ck_assert_int_eq(run("LeakyRelu", alpha, x, NULL), EDDY_OK);
        harness_want(&h, 0, d, HARNESS_DIMS(1, N));
        for (int i = 0; i < N; i++) {
            const double at = harness_get(x, i);
            const double by = at > 0 ? 1 : rounded(d, alpha);

            ck_assert_msg(numbers_nearly(d, harness_get(h.outputs[0], i),
                                         (long double)at * by),
                          "%a of %s gives %a", at, eddy_dtype_name(d),
                          harness_get(h.outputs[0], i));
        }
        ck_assert_int_eq(
            run("LeakyRelu", alpha, harness_scalar(&h, d, -3), NULL), EDDY_OK);
        ck_assert(numbers_nearly(d, harness_get(h.outputs[0], 0),
                                 -3 * rounded(d, alpha)));
    }
}
END_TEST

START_TEST(gradients_follow_the_features)
{
    double back[N];

    for (int i = 0; i < N; i++)
        back[i] = values[N - 1 - i];
    NUMBERS_EACH_FLOAT(d)
    {
        eddy_tensor *g = harness_numbers(&h, d, HARNESS_DIMS(N), values);
        eddy_tensor *x = harness_numbers(&h, d, HARNESS_DIMS(N), back);

        ck_assert_int_eq(run("LeakyReluGrad", 0.25f, g, x), EDDY_OK);
        for (int i = 0; i < N; i++)
            ck_assert(numbers_nearly(
                d, harness_get(h.outputs[0], i),
                harness_get(g, i) * (harness_get(x, i) > 0 ? 1.0L : 0.25L)));
        ck_assert_int_eq(run("LeakyReluGrad", 0.25f, harness_scalar(&h, d, 4),
                             harness_scalar(&h, d, -1)),
                         EDDY_OK);
        harness_want(&h, 0, d, 0, NULL);
        ck_assert_double_eq(harness_get(h.outputs[0], 0), 1);
    }
}
END_TEST

START_TEST(alpha_is_a_fifth_unless_it_is_given)
{
    ck_assert_int_eq(
        harness_run(&h, "LeakyRelu", harness_scalar(&h, EDDY_FLOAT64, -10)),
        EDDY_OK);
    ck_assert_double_eq(harness_get(h.outputs[0], 0), -10 * (double)0.2f);
}
END_TEST

START_TEST(nothing_gives_nothing)
{
    eddy_tensor *none =
        harness_numbers(&h, EDDY_FLOAT32, HARNESS_DIMS(0, 3), NULL);

    ck_assert_int_eq(run("LeakyRelu", 1, none, NULL), EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT32, HARNESS_DIMS(0, 3));
    ck_assert_int_eq(run("LeakyReluGrad", 1, none, none), EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT32, HARNESS_DIMS(0, 3));
}
END_TEST

START_TEST(other_shapes_and_dtypes_are_refused)
{
    eddy_status status =
        run("LeakyReluGrad", 1, harness_vector(&h, EDDY_FLOAT32, 1, 2),
            harness_vector(&h, EDDY_FLOAT32, 1, 2, 3));

    harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    status = run("LeakyRelu", 1, harness_scalar(&h, EDDY_INT32, 1), NULL);
    ck_assert_int_eq(status, EDDY_INVALID_ARGUMENT);
}
END_TEST

TCase *ops_leaky_relu_tests(void)
{
    TCase *tc = tcase_create("ops_leaky_relu");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_loop_test(tc, what_is_not_positive_is_scaled, 0, 4);
    tcase_add_test(tc, gradients_follow_the_features);
    tcase_add_test(tc, alpha_is_a_fifth_unless_it_is_given);
    tcase_add_test(tc, nothing_gives_nothing);
    tcase_add_test(tc, other_shapes_and_dtypes_are_refused);
    return tc;
}
