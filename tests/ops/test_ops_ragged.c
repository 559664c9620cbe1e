/* SPDX-License-Identifier: Apache-2.0 */
/* RaggedRange: numbers as TensorFlow has them, sizes, mistakes. */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

#include <math.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__ragged_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static void want(size_t output, eddy_dtype dtype, int64_t n,
                 const double *wanted)
{
    harness_want(&h, output, dtype, 1, &n);
    for (int64_t i = 0; i < n; i++)
        ck_assert_double_eq_tol(harness_get(h.outputs[output], i), wanted[i],
                                1e-6);
}

START_TEST(each_row_has_its_range)
{
    layout_run(&h, "RaggedRange",
               LAYOUT_INPUTS(harness_vector(&h, EDDY_INT32, 2, 5, 8),
                             harness_vector(&h, EDDY_INT32, 3, 5, 12),
                             layout_int(&h, 1)),
               NULL, 0);
    want(0, EDDY_INT64, 4, (const double[]){0, 1, 1, 5});
    want(1, EDDY_INT32, 5, (const double[]){2, 8, 9, 10, 11});
    layout_run(&h, "RaggedRange",
               LAYOUT_INPUTS(harness_vector(&h, EDDY_INT64, 5, 0),
                             harness_vector(&h, EDDY_INT64, 0, 5),
                             harness_vector(&h, EDDY_INT64, -2, -1)),
               NULL, 0);
    want(0, EDDY_INT64, 3, (const double[]){0, 3, 3});
    want(1, EDDY_INT64, 3, (const double[]){5, 3, 1});
    layout_run(
        &h, "RaggedRange",
        LAYOUT_INPUTS(layout_int(&h, 0), layout_int(&h, 3), layout_int(&h, 1)),
        NULL, 0);
    want(0, EDDY_INT64, 2, (const double[]){0, 3});
}
END_TEST

START_TEST(ranges_of_fractions_end_before_their_limit)
{
    const eddy_dtype narrow = EDDY_INT32;
    const eddy_attr attr = eddy_attr_type("Tsplits", &narrow);

    layout_run(&h, "RaggedRange",
               LAYOUT_INPUTS(harness_vector(&h, EDDY_FLOAT32, 0, 1),
                             harness_vector(&h, EDDY_FLOAT32, 1, 2),
                             harness_vector(&h, EDDY_FLOAT32, 0.3, 0.5)),
               &attr, 1);
    want(0, EDDY_INT32, 3, (const double[]){0, 4, 6});
    want(1, EDDY_FLOAT32, 6,
         (const double[]){0, 0.30000001, 0.60000002, 0.90000004, 1, 1.5});
    layout_run(&h, "RaggedRange",
               LAYOUT_INPUTS(harness_vector(&h, EDDY_FLOAT64, 1),
                             harness_scalar(&h, EDDY_FLOAT64, 0),
                             harness_scalar(&h, EDDY_FLOAT64, -0.5)),
               NULL, 0);
    want(1, EDDY_FLOAT64, 2, (const double[]){1, 0.5});
}
END_TEST

START_TEST(mistakes_are_named)
{
    eddy_tensor *one = layout_int(&h, 1), *none = layout_int(&h, 0);
    eddy_tensor *two = harness_vector(&h, EDDY_INT32, 0, 1);
    eddy_tensor *three = harness_vector(&h, EDDY_INT32, 0, 1, 2);
    eddy_tensor *matrix = layout_range(&h, EDDY_INT32, 0, HARNESS_DIMS(1, 1));
    eddy_tensor *start = harness_scalar(&h, EDDY_FLOAT64, 0);
    eddy_tensor *step = harness_scalar(&h, EDDY_FLOAT64, 1);
    const double far[] = {1e30, INFINITY, NAN};

    harness_want_error(&h, harness_run(&h, "RaggedRange", none, one, none),
                       EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    harness_want_error(&h, harness_run(&h, "RaggedRange", two, three, one),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h, harness_run(&h, "RaggedRange", matrix, one, one),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    for (int i = 0; i < 3; i++)
        harness_want_error(&h,
                           harness_run(&h, "RaggedRange", start,
                                       harness_scalar(&h, EDDY_FLOAT64, far[i]),
                                       step),
                           EDDY_INVALID_ARGUMENT, EDDY_E_SIZE);
}
END_TEST

TCase *ops_ragged_tests(void)
{
    TCase *tests = tcase_create("ops_ragged");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, each_row_has_its_range);
    tcase_add_test(tests, ranges_of_fractions_end_before_their_limit);
    tcase_add_test(tests, mistakes_are_named);
    return tests;
}
