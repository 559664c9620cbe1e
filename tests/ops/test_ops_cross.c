/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/aid/numbers.h"
#include "tests/suites.h"

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__cross_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

START_TEST(every_real_dtype_has_cross_products)
{
    const double a[] = {2, 1, 0, 9, 3, 5}, b[] = {0, 3, 4, 1, 2, 1};
    const double want[] = {4, -8, 6, -7, -4, 15};

    NUMBERS_EACH_REAL(d)
    {
        ck_assert_int_eq(
            harness_run(&h, "Cross",
                        harness_numbers(&h, d, HARNESS_DIMS(2, 3), a),
                        harness_numbers(&h, d, HARNESS_DIMS(2, 3), b)),
            EDDY_OK);
        harness_want(&h, 0, d, HARNESS_DIMS(2, 3));
        for (int64_t i = 0; i < 6; i++) {
            double wrapped = want[i];

            if (wrapped < 0 && d >= EDDY_UINT8 && d <= EDDY_UINT64)
                wrapped +=
                    (double)(d == EDDY_UINT8    ? 256.0
                             : d == EDDY_UINT16 ? 65536.0
                             : d == EDDY_UINT32 ? 4294967296.0
                                                : 18446744073709551616.0);
            ck_assert_double_eq(harness_get(h.outputs[0], i), wrapped);
        }
    }
}
END_TEST

START_TEST(a_vector_meets_itself_and_vectors_of_nothing)
{
    eddy_tensor *x = harness_vector(&h, EDDY_FLOAT32, 1, 2, 3);
    eddy_tensor *none = harness_numbers(
        &h, EDDY_FLOAT32, HARNESS_DIMS(1, 1, 1, 1, 1, 1, 0, 3), NULL);

    ck_assert_int_eq(harness_run(&h, "Cross", x, x), EDDY_OK);
    for (int64_t i = 0; i < 3; i++)
        ck_assert_double_eq(harness_get(h.outputs[0], i), 0);
    ck_assert_int_eq(harness_run(&h, "Cross", none, none), EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT32, HARNESS_DIMS(1, 1, 1, 1, 1, 1, 0, 3));
}
END_TEST

START_TEST(what_is_no_vector_of_3_is_refused)
{
    eddy_tensor *three = harness_vector(&h, EDDY_FLOAT32, 1, 2, 3);
    eddy_tensor *two = harness_vector(&h, EDDY_FLOAT32, 1, 2);
    eddy_tensor *one = harness_scalar(&h, EDDY_FLOAT32, 1);

    harness_want_error(&h, harness_run(&h, "Cross", two, two),
                       EDDY_FAILED_PRECONDITION, EDDY_E_DIM);
    harness_want_error(&h, harness_run(&h, "Cross", two, three),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h, harness_run(&h, "Cross", one, one),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

TCase *ops_cross_tests(void)
{
    TCase *tc = tcase_create("ops_cross");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, every_real_dtype_has_cross_products);
    tcase_add_test(tc, a_vector_meets_itself_and_vectors_of_nothing);
    tcase_add_test(tc, what_is_no_vector_of_3_is_refused);
    return tc;
}
