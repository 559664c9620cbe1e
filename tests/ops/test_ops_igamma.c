/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/suites.h"

#include <math.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__igamma_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

#define NO ((double)NAN)
#define FAR ((double)INFINITY)

/* P(1, x) = 1 - e^-x and P(1/2, x) = erf sqrt x; the others by quadrature. */
static const struct {
    const char *op;
    double a, x, z;
} points[] = {
    {"Igamma", 1, 0.5, 0.39346934028736657640},
    {"Igamma", 1, 3, 0.95021293163213605702},
    {"Igamma", 0.5, 4, 0.99532226501895273416},
    {"Igamma", 0.5, 0.01, 0.11246291601828489220},
    {"Igamma", 2, 0, 0},
    {"Igamma", 2, FAR, 1},
    {"Igamma", FAR, 2, 0},
    {"Igamma", FAR, FAR, 0},
    {"Igamma", 0, 1, NO},
    {"Igamma", -1, 1, NO},
    {"Igamma", 1, -1, NO},
    {"Igamma", NO, 1, NO},
    {"Igammac", 1, 0.5, 0.60653065971263342360},
    {"Igammac", 1, 30, 9.3576229688401746049e-14},
    {"Igammac", 0.5, 4, 0.0046777349810472658379},
    {"Igammac", 2, 0, 1},
    {"Igammac", 2, FAR, 0},
    {"Igammac", 2, -1, NO},
    {"IgammaGradA", 1, 1, -0.43172971099868386},
    {"IgammaGradA", 3, 3, -0.23681823213329},
    {"IgammaGradA", 2, 0, 0},
    {"IgammaGradA", 0, 1, NO},
    {"RandomGammaGrad", 1, 1, 1.1735630258},
    {"RandomGammaGrad", 2, 0, 0},
    {"RandomGammaGrad", 80, 1e-5, 0},
    {"RandomGammaGrad", 0, 1, NO},
};

#define N_POINTS ((int)(sizeof points / sizeof *points))

static void want_near(double got, double want, double tolerance)
{
    if (isnan(want))
        ck_assert(isnan(got));
    else
        ck_assert_msg(fabs(got - want) <= tolerance * fabs(want),
                      "got %.17g, want %.17g", got, want);
}

START_TEST(values_are_known)
{
    static const eddy_dtype dtypes[] = {EDDY_FLOAT32, EDDY_FLOAT64};
    /* The derivatives are written down with fewer places. */
    const double rough = _i >= 18 ? 1e-6 : 1e-13;

    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(
            harness_run(&h, points[_i].op,
                        harness_scalar(&h, dtypes[i], points[_i].a),
                        harness_scalar(&h, dtypes[i], points[_i].x)),
            EDDY_OK);
        want_near(harness_get(h.outputs[0], 0), points[_i].z,
                  i == 0 ? 1e-5 : rough);
    }
}
END_TEST

/* Both sides of where the series gives way to the fraction. */
START_TEST(the_two_add_up_to_one)
{
    double p;

    for (int i = 0; i < 14; i++)
        for (int j = 0; j < 16; j++) {
            const double a = 0.1 * pow(1.7, i), x = 0.01 * pow(1.9, j);

            ck_assert_int_eq(harness_run(&h, "Igamma",
                                         harness_scalar(&h, EDDY_FLOAT64, a),
                                         harness_scalar(&h, EDDY_FLOAT64, x)),
                             EDDY_OK);
            p = harness_get(h.outputs[0], 0);
            ck_assert_int_eq(harness_run(&h, "Igammac",
                                         harness_scalar(&h, EDDY_FLOAT64, a),
                                         harness_scalar(&h, EDDY_FLOAT64, x)),
                             EDDY_OK);
            ck_assert(fabs(p + harness_get(h.outputs[0], 0) - 1) < 1e-14);
        }
}
END_TEST

/* I_x(1, b) = 1 - (1 - x)^b, I_x(a, 1) = x^a. */
static const struct {
    double a, b, x, z;
} betas[] = {
    {1, 3, 0.2, 0.488},   {4, 1, 0.5, 0.0625},
    {2, 3, 0.5, 0.6875},  {0.5, 0.5, 0.5, 0.5},
    {300, 300, 0.5, 0.5}, {2, 3, 0, 0},
    {2, 3, 1, 1},         {2, 3, -0.1, NO},
    {2, 3, 1.1, NO},      {0, 3, 0.5, NO},
    {2, -1, 0.5, NO},     {2, 3, NO, NO},
    {FAR, 3, 0.5, NO},    {0.5, 0.5, 0.25, 1.0 / 3},
    {1, 0.5, 0.75, 0.5},  {1, 40, 1e-3, 0.0392297892641},
};

START_TEST(beta_values_are_known)
{
    static const eddy_dtype dtypes[] = {EDDY_FLOAT32, EDDY_FLOAT64};

    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(
            harness_run(&h, "Betainc",
                        harness_scalar(&h, dtypes[i], betas[_i].a),
                        harness_scalar(&h, dtypes[i], betas[_i].b),
                        harness_scalar(&h, dtypes[i], betas[_i].x)),
            EDDY_OK);
        want_near(harness_get(h.outputs[0], 0), betas[_i].z,
                  i == 0     ? 1e-5
                  : _i == 15 ? 1e-6
                             : 1e-12);
    }
}
END_TEST

START_TEST(scalars_go_with_any_shape)
{
    const int64_t dims[] = {2, 2};
    const double x[] = {0, 0.25, 0.5, 1};

    ck_assert_int_eq(harness_run(&h, "Betainc",
                                 harness_scalar(&h, EDDY_FLOAT32, 1),
                                 harness_vector(&h, EDDY_FLOAT32, 1),
                                 harness_scalar(&h, EDDY_FLOAT32, 0.5)),
                     EDDY_OK);
    ck_assert_int_eq(harness_run(&h, "Betainc",
                                 harness_scalar(&h, EDDY_FLOAT32, 1),
                                 harness_scalar(&h, EDDY_FLOAT32, 1),
                                 harness_numbers(&h, EDDY_FLOAT32, 2, dims, x)),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT32, 2, dims);
    for (int i = 0; i < 4; i++)
        ck_assert(fabs(harness_get(h.outputs[0], i) - x[i]) < 1e-6);
    ck_assert_int_eq(harness_run(&h, "Betainc",
                                 harness_scalar(&h, EDDY_FLOAT32, 1),
                                 harness_scalar(&h, EDDY_FLOAT32, 1),
                                 harness_numbers(&h, EDDY_FLOAT32,
                                                 HARNESS_DIMS(0, 3), NULL)),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT32, HARNESS_DIMS(0, 3));
}
END_TEST

START_TEST(other_shapes_are_refused)
{
    eddy_tensor *two = harness_vector(&h, EDDY_FLOAT32, 1, 2);
    eddy_tensor *three = harness_vector(&h, EDDY_FLOAT32, 1, 2, 3);

    harness_want_error(&h, harness_run(&h, "Betainc", two, three, two),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h, harness_run(&h, "Igamma", two, three),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

TCase *ops_igamma_tests(void)
{
    TCase *tests = tcase_create("ops_igamma");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, values_are_known, 0, N_POINTS);
    tcase_add_test(tests, the_two_add_up_to_one);
    tcase_add_loop_test(tests, beta_values_are_known, 0,
                        (int)(sizeof betas / sizeof *betas));
    tcase_add_test(tests, scalars_go_with_any_shape);
    tcase_add_test(tests, other_shapes_are_refused);
    return tests;
}
