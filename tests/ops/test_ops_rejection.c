/* SPDX-License-Identifier: Apache-2.0 */
/* Gamma and Poisson numbers; the rows are what TensorFlow 2.21 gave. */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/suites.h"

#include <math.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__rejection_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static eddy_tensor *three(eddy_dtype dtype, double a, double b, double c)
{
    const double numbers[] = {a, b, c};

    return harness_numbers(&h, dtype, HARNESS_DIMS(3), numbers);
}

static void want_near(const double *want, int64_t n, double tolerance)
{
    ck_assert_int_eq(h.outputs[0]->count, n);
    for (int64_t i = 0; i < n; i++)
        ck_assert_double_le(fabs(harness_get(h.outputs[0], i) - want[i]),
                            tolerance * want[i]);
}

START_TEST(a_seed_determines_gamma_numbers)
{
    static const double want[] = {0.04360453289959347, 0.07935843826832506,
                                  9.833815984096267,   0.25566861555851716,
                                  0.793442999605626,   3.2287510029917006};
    eddy_tensor *in[] = {harness_vector(&h, EDDY_INT32, 2, 3),
                         harness_vector(&h, EDDY_INT64, 3, 4),
                         three(EDDY_FLOAT64, .5, 1, 2.5)};

    ck_assert_int_eq(
        harness_run_attrs(&h, "StatelessRandomGammaV2", in, 3, NULL, 0),
        EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT64, HARNESS_DIMS(2, 3));
    want_near(want, 6, 1e-13);
    in[2] = three(EDDY_FLOAT32, .5, 1, 2.5);
    ck_assert_int_eq(
        harness_run_attrs(&h, "StatelessRandomGammaV2", in, 3, NULL, 0),
        EDDY_OK);
    want_near(want, 6, 1e-6);
}
END_TEST

START_TEST(a_seed_determines_poisson_numbers)
{
    static const double want[] = {3, 7, 1025, 1, 18, 1028,
                                  0, 9, 950,  0, 10, 1011};
    static const eddy_dtype dtypes[] = {EDDY_FLOAT16, EDDY_FLOAT32,
                                        EDDY_FLOAT64, EDDY_INT32, EDDY_INT64};
    const eddy_attr attr = eddy_attr_type("dtype", &dtypes[_i]);
    eddy_tensor *in[] = {harness_vector(&h, EDDY_INT32, 4, 3),
                         harness_vector(&h, EDDY_INT64, 3, 4),
                         three(EDDY_FLOAT64, .5, 12, 1000)};

    ck_assert_int_eq(
        harness_run_attrs(&h, "StatelessRandomPoisson", in, 3, &attr, 1),
        EDDY_OK);
    harness_want(&h, 0, dtypes[_i], HARNESS_DIMS(4, 3));
    want_near(want, 12, 0);
}
END_TEST

/* TensorFlow does not end with a rate that is a NaN. */
START_TEST(odd_rates_end)
{
    const eddy_dtype dtype = EDDY_FLOAT64;
    const eddy_attr attr = eddy_attr_type("dtype", &dtype);
    eddy_tensor *in[] = {
        harness_vector(&h, EDDY_INT32, 1, 3),
        harness_vector(&h, EDDY_INT64, 3, 4),
        three(EDDY_FLOAT64, (double)NAN, (double)INFINITY, -1)};

    ck_assert_int_eq(
        harness_run_attrs(&h, "StatelessRandomPoisson", in, 3, &attr, 1),
        EDDY_OK);
    ck_assert(isnan(harness_get(h.outputs[0], 0)));
    ck_assert(isinf(harness_get(h.outputs[0], 1)));
    ck_assert_double_eq(harness_get(h.outputs[0], 2), 0);
}
END_TEST

START_TEST(the_shape_ends_with_that_of_the_parameters)
{
    eddy_tensor *in[] = {harness_vector(&h, EDDY_INT32, 3, 2),
                         harness_vector(&h, EDDY_INT64, 3, 4),
                         three(EDDY_FLOAT64, .5, 1, 2.5)};

    harness_want_error(
        &h, harness_run_attrs(&h, "StatelessRandomGammaV2", in, 3, NULL, 0),
        EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

TCase *ops_rejection_tests(void)
{
    TCase *tc = tcase_create("ops_rejection");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, a_seed_determines_gamma_numbers);
    tcase_add_loop_test(tc, a_seed_determines_poisson_numbers, 0, 5);
    tcase_add_test(tc, odd_rates_end);
    tcase_add_test(tc, the_shape_ends_with_that_of_the_parameters);
    return tc;
}
