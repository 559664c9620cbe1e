/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/suites.h"

#include <math.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__zeta_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

/* Values of both as sums and reflections in closed form. */
static const struct {
    const char *op;
    double x, y, z;
} points[] = {
    {"Zeta", 2, 1, 1.6449340668482264365},
    {"Zeta", 4, 1, 1.0823232337111381915},
    {"Zeta", 3, 1, 1.2020569031595942854},
    {"Zeta", 1.5, 1, 2.6123753486854883433},
    {"Zeta", 2, 0.5, 4.9348022005446793094},
    {"Zeta", 60, 2, 8.6736173801199337283e-19},
    {"Zeta", 1, 3, (double)INFINITY},
    {"Zeta", 0.5, 3, (double)NAN},
    {"Zeta", 2, -3, (double)INFINITY},
    {"Zeta", 3, -3, (double)NAN},
    {"Zeta", 2.5, -0.5, (double)NAN},
    {"Zeta", 2, -0.5, 8.9348022005446793094},
    {"Zeta", 2, (double)INFINITY, 0},
    {"Polygamma", 0, 1, -0.57721566490153286061},
    {"Polygamma", 1, 1, 1.6449340668482264365},
    {"Polygamma", 2, 1, -2.4041138063191885708},
    {"Polygamma", 3, 0.5, 97.409091034002437236},
    {"Polygamma", 1, -0.5, 8.9348022005446793094},
    {"Polygamma", 1.5, 1, (double)NAN},
    {"Polygamma", -1, 1, (double)NAN},
};

#define N_POINTS ((int)(sizeof points / sizeof *points))

START_TEST(values_are_known)
{
    static const eddy_dtype dtypes[] = {EDDY_FLOAT32, EDDY_FLOAT64};

    for (int i = 0; i < 2; i++) {
        const double tolerance = i == 0 ? 1e-7 : 2e-15;
        double got;

        ck_assert_int_eq(
            harness_run(&h, points[_i].op,
                        harness_scalar(&h, dtypes[i], points[_i].x),
                        harness_scalar(&h, dtypes[i], points[_i].y)),
            EDDY_OK);
        got = harness_get(h.outputs[0], 0);
        if (isnan(points[_i].z))
            ck_assert(isnan(got));
        else if (isinf(points[_i].z))
            ck_assert(got == points[_i].z);
        else
            ck_assert_msg(fabs(got - points[_i].z) <=
                              tolerance * fabs(points[_i].z),
                          "%s(%g, %g) = %.17g", points[_i].op, points[_i].x,
                          points[_i].y, got);
    }
}
END_TEST

START_TEST(inputs_are_broadcast)
{
    const int64_t three = 3;

    ck_assert_int_eq(harness_run(&h, "Zeta",
                                 harness_scalar(&h, EDDY_FLOAT64, 2),
                                 harness_vector(&h, EDDY_FLOAT64, 1, 2, 3)),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT64, 1, &three);
    ck_assert(fabs(harness_get(h.outputs[0], 0) - harness_get(h.outputs[0], 1) -
                   1) < 1e-15);
    ck_assert(fabs(harness_get(h.outputs[0], 1) - harness_get(h.outputs[0], 2) -
                   0.25) < 1e-15);
}
END_TEST

TCase *ops_zeta_tests(void)
{
    TCase *tests = tcase_create("ops_zeta");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, values_are_known, 0, N_POINTS);
    tcase_add_test(tests, inputs_are_broadcast);
    return tests;
}
