/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes of several classes, without those that overlap a better one. */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

static harness h;

static void end(void)
{
    harness_deinit(&h);
}

static eddy_tensor *number(eddy_dtype dtype, double value)
{
    return harness_scalar(&h, dtype, value);
}

static void begin(void)
{
    harness_init(&h, &eddy__combined_suppression_ops);
}

static void want_floats(size_t i, int64_t n, const double *values)
{
    for (int64_t j = 0; j < n; j++)
        ck_assert_double_eq_tol(harness_get(h.outputs[i], j), values[j], 1e-6);
}

/* Two classes that share three boxes, of which the first two overlap. */
static eddy_status combine(double a_class, double most, double threshold,
                           const bool modes[2])
{
    static const double corners[] = {0, 0, 1, 1, 0, 0.25, 1, 1.25, 2, 2, 3, 3};
    static const double marks[] = {0.5, 0.25, 0.75, 0.125, 0.0625, 1};
    const eddy_attr attrs[] = {eddy_attr_bool("pad_per_class", &modes[0]),
                               eddy_attr_bool("clip_boxes", &modes[1])};
    eddy_tensor *inputs[] = {
        harness_numbers(&h, EDDY_FLOAT32, HARNESS_DIMS(1, 3, 1, 4), corners),
        harness_numbers(&h, EDDY_FLOAT32, HARNESS_DIMS(1, 3, 2), marks),
        harness_scalar(&h, EDDY_INT32, a_class),
        harness_scalar(&h, EDDY_INT32, most),
        number(EDDY_FLOAT32, threshold),
        number(EDDY_FLOAT32, 0.1)};

    return harness_run_attrs(&h, "CombinedNonMaxSuppression", inputs, 6, attrs,
                             2);
}

START_TEST(the_best_of_all_classes_are_taken)
{
    const bool as_they_are[] = {false, false}, clipped[] = {true, true};

    ck_assert_int_eq(combine(2, 5, 0.5, as_they_are), EDDY_OK);
    want_floats(1, 5, (const double[]){1, 0.75, 0.25, 0, 0});
    want_floats(2, 5, (const double[]){1, 0, 1, 0, 0});
    want_floats(0, 8, (const double[]){2, 2, 3, 3, 0, 0.25, 1, 1.25});
    want_floats(3, 1, (const double[]){3});
    ck_assert_int_eq(combine(1, 5, 0.5, clipped), EDDY_OK);
    harness_want(&h, 1, EDDY_FLOAT32, HARNESS_DIMS(1, 2));
    want_floats(1, 2, (const double[]){1, 0.75});
    want_floats(0, 8, (const double[]){1, 1, 1, 1, 0, 0.25, 1, 1});
    ck_assert_int_eq(combine(9, 2, 1, as_they_are), EDDY_OK);
    want_floats(1, 2, (const double[]){1, 0.75});
    want_floats(3, 1, (const double[]){2});
}
END_TEST

START_TEST(combinations_that_make_no_sense_are_refused)
{
    const bool modes[] = {false, false};

    harness_want_error(&h, combine(0, 1, 0.5, modes), EDDY_INVALID_ARGUMENT,
                       EDDY_E_VALUE);
    harness_want_error(&h, combine(1, 0, 0.5, modes), EDDY_INVALID_ARGUMENT,
                       EDDY_E_VALUE);
    harness_want_error(&h, combine(1, 1, -0.5, modes), EDDY_INVALID_ARGUMENT,
                       EDDY_E_VALUE);
}
END_TEST

TCase *ops_combined_suppression_tests(void)
{
    TCase *tests = tcase_create("ops_combined_suppression");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, the_best_of_all_classes_are_taken);
    tcase_add_test(tests, combinations_that_make_no_sense_are_refused);
    return tests;
}
