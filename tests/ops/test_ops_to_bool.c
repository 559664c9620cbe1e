/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/suites.h"

#include <math.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__to_bool_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static void want(eddy_tensor *input, bool wanted)
{
    ck_assert_int_eq(harness_run(&h, "ToBool", input), EDDY_OK);
    harness_want(&h, 0, EDDY_BOOL, 0, NULL);
    ck_assert_int_eq(harness_get(h.outputs[0], 0) != 0, wanted);
}

static const eddy_dtype numeric[] = {
    EDDY_FLOAT16, EDDY_FLOAT32, EDDY_FLOAT64,   EDDY_INT8,   EDDY_INT16,
    EDDY_INT32,   EDDY_INT64,   EDDY_UINT8,     EDDY_UINT16, EDDY_UINT32,
    EDDY_UINT64,  EDDY_BOOL,    EDDY_COMPLEX64,
};

START_TEST(a_scalar_is_true_unless_it_is_zero)
{
    want(harness_scalar(&h, numeric[_i], 0), false);
    want(harness_scalar(&h, numeric[_i], 1), true);
    if (numeric[_i] != EDDY_BOOL)
        want(harness_scalar(&h, numeric[_i], 64), true);
}
END_TEST

START_TEST(both_zeros_are_false_and_nan_is_true)
{
    for (int i = 0; i < 3; i++) {
        want(harness_scalar(&h, numeric[i], -0.0), false);
        want(harness_scalar(&h, numeric[i], (double)NAN), true);
        want(harness_scalar(&h, numeric[i], -(double)INFINITY), true);
        want(harness_scalar(&h, numeric[i], 0x1p-24), true);
    }
}
END_TEST

START_TEST(high_bits_and_imaginary_parts_count)
{
    const float parts[] = {0, 2};
    const uint64_t high = UINT64_C(1) << 63;

    want(harness_tensor(&h, EDDY_COMPLEX64, 0, NULL, parts), true);
    want(harness_tensor(&h, EDDY_UINT64, 0, NULL, &high), true);
    want(harness_scalar(&h, EDDY_INT16, -32768), true);
    want(harness_scalar(&h, EDDY_INT32, 65536), true);
}
END_TEST

START_TEST(a_text_is_true_unless_it_is_empty)
{
    want(harness_strings(&h, 0, NULL, (const char *[]){""}), false);
    want(harness_strings(&h, 0, NULL, (const char *[]){"false"}), true);
}
END_TEST

START_TEST(a_tensor_is_true_if_it_has_elements)
{
    static const double zeros[1] = {0};
    static const int64_t ones[] = {1, 1, 1, 1, 1, 1, 1, 1};
    static const int64_t none[] = {2, 0};

    want(harness_numbers(&h, numeric[_i], 8, ones, zeros), true);
    want(harness_numbers(&h, numeric[_i], 2, none, NULL), false);
    want(harness_strings(&h, 1, ones, (const char *[]){""}), true);
    want(harness_strings(&h, 2, none, NULL), false);
}
END_TEST

TCase *ops_to_bool_tests(void)
{
    TCase *tc = tcase_create("ops_to_bool");
    const int n = (int)(sizeof numeric / sizeof *numeric);

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_loop_test(tc, a_scalar_is_true_unless_it_is_zero, 0, n);
    tcase_add_test(tc, both_zeros_are_false_and_nan_is_true);
    tcase_add_test(tc, high_bits_and_imaginary_parts_count);
    tcase_add_test(tc, a_text_is_true_unless_it_is_empty);
    tcase_add_loop_test(tc, a_tensor_is_true_if_it_has_elements, 0, n);
    return tc;
}
