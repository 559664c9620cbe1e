/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/suites.h"

#include <string.h>

#define MOST 40

static eddy_status add(harness *h, eddy_tensor *const *inputs, size_t n)
{
    return harness_run_attrs(h, "AddN", inputs, n, NULL, 0);
}

/* TensorFlow adds eight at a time after what is left over. */
static float sum(const float *x, int n)
{
    int first = n % 8 == 0 ? 8 : n % 8 == 1 ? 9 : n % 8;
    float total = x[0];

    if (n < 8)
        first = n;
    for (int i = 1; i < first; i++)
        total += x[i];
    for (int at = first; at < n; at += 8) {
        float group = x[at];

        for (int i = 1; i < 8; i++)
            group += x[at + i];
        total += group;
    }
    return total;
}

START_TEST(floats_are_added_in_the_order_of_tensorflow)
{
    float x[MOST];
    eddy_tensor *inputs[MOST], *one[MOST];
    harness h;

    harness_init(&h, &eddy__addn_ops);
    for (int n = 1; n <= MOST; n++) {
        for (int i = 0; i < n; i++) {
            double values[300];

            x[i] = i == 0 ? 1e8f : (float)i * 0.7f;
            for (int j = 0; j < 300; j++)
                values[j] = x[i];
            inputs[i] =
                harness_numbers(&h, EDDY_FLOAT32, HARNESS_DIMS(300), values);
            one[i] = harness_scalar(&h, EDDY_FLOAT32, x[i]);
        }
        ck_assert_int_eq(add(&h, inputs, (size_t)n), EDDY_OK);
        for (int64_t i = 0; i < 300; i++)
            ck_assert_double_eq(harness_get(h.outputs[0], i), sum(x, n));
        ck_assert_int_eq(add(&h, one, (size_t)n), EDDY_OK);
        harness_want(&h, 0, EDDY_FLOAT32, 0, NULL);
        ck_assert_double_eq(harness_get(h.outputs[0], 0), sum(x, n));
    }
    harness_deinit(&h);
}
END_TEST

START_TEST(every_dtype_is_added_and_integers_wrap)
{
    eddy_tensor *inputs[11];
    harness h;

    harness_init(&h, &eddy__addn_ops);
    for (eddy_dtype d = EDDY_FLOAT16; d <= EDDY_COMPLEX128; d++) {
        if (d == EDDY_BOOL)
            continue;
        for (int i = 0; i < 11; i++)
            inputs[i] = harness_vector(&h, d, 100, i, 1);
        ck_assert_int_eq(add(&h, inputs, 11), EDDY_OK);
        harness_want(&h, 0, d, HARNESS_DIMS(3));
        ck_assert_double_eq(harness_get(h.outputs[0], 0),
                            d == EDDY_INT8       ? 76
                            : d == EDDY_BFLOAT16 ? 1104
                            : d == EDDY_UINT8    ? 76
                                                 : 1100);
        ck_assert_double_eq(harness_get(h.outputs[0], 1), 55);
        ck_assert_double_eq(harness_get(h.outputs[0], 2), 11);
    }
    harness_deinit(&h);
}
END_TEST

START_TEST(complex_numbers_are_added)
{
    const float x[] = {1, 2};
    eddy_tensor *inputs[3];
    harness h;

    harness_init(&h, &eddy__addn_ops);
    for (int i = 0; i < 3; i++)
        inputs[i] = harness_tensor(&h, EDDY_COMPLEX64, 0, NULL, x);
    ck_assert_int_eq(add(&h, inputs, 3), EDDY_OK);
    ck_assert_float_eq(((float *)h.outputs[0]->data)[0], 3);
    ck_assert_float_eq(((float *)h.outputs[0]->data)[1], 6);
    harness_deinit(&h);
}
END_TEST

START_TEST(one_tensor_may_be_all_inputs)
{
    eddy_tensor *inputs[20];
    harness h;

    harness_init(&h, &eddy__addn_ops);
    inputs[0] = harness_vector(&h, EDDY_INT32, 1, -2);
    for (int i = 1; i < 20; i++)
        inputs[i] = inputs[0];
    ck_assert_int_eq(add(&h, inputs, 20), EDDY_OK);
    ck_assert_double_eq(harness_get(h.outputs[0], 0), 20);
    ck_assert_double_eq(harness_get(h.outputs[0], 1), -40);
    harness_deinit(&h);
}
END_TEST

START_TEST(other_shapes_are_refused_by_number)
{
    eddy_tensor *inputs[3];
    harness h;
    eddy_status status;

    harness_init(&h, &eddy__addn_ops);
    inputs[0] = inputs[1] = harness_vector(&h, EDDY_INT32, 1, 2);
    inputs[2] = harness_scalar(&h, EDDY_INT32, 1);
    status = add(&h, inputs, 3);
    harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    ck_assert_ptr_nonnull(strstr(h.err.message, "input 2"));
    harness_deinit(&h);
}
END_TEST

TCase *ops_addn_tests(void)
{
    TCase *tc = tcase_create("ops_addn");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, floats_are_added_in_the_order_of_tensorflow);
    tcase_add_test(tc, every_dtype_is_added_and_integers_wrap);
    tcase_add_test(tc, complex_numbers_are_added);
    tcase_add_test(tc, one_tensor_may_be_all_inputs);
    tcase_add_test(tc, other_shapes_are_refused_by_number);
    return tc;
}
