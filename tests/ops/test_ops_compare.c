/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/aid/numbers.h"
#include "tests/suites.h"

#include <math.h>
#include <string.h>

/* ---- references ---- */

/* -1, 0 or 1; 2 when a NaN is in it. */
static int order(const eddy_tensor *x, int64_t i, const eddy_tensor *y,
                 int64_t j)
{
    const eddy_dtype dtype = eddy_tensor_dtype(x);

    if (numbers_is_float(dtype)) {
        const double a = harness_get(x, i), b = harness_get(y, j);

        return isnan(a) || isnan(b) ? 2 : (a > b) - (a < b);
    } else {
        uint64_t a = numbers_integer_at(x, i), b = numbers_integer_at(y, j);

        if (numbers_is_signed(dtype)) {
            a ^= UINT64_C(1) << 63;
            b ^= UINT64_C(1) << 63;
        }
        return (a > b) - (a < b);
    }
}

/* Which orders, as bits order + 1, make it true. */
static const struct op_row {
    const char *name;
    unsigned orders;
} ops[] = {
    {"Less", 1},    {"Equal", 2},        {"LessEqual", 3},
    {"Greater", 4}, {"NotEqual", 8 | 5}, {"GreaterEqual", 6},
};

static void check_dtype(const struct op_row *op, eddy_dtype dtype)
{
    double x[NUMBERS_MAX];
    const int64_t n = numbers_values_of(dtype, x);
    harness h;
    eddy_tensor *a, *b, *z;

    harness_init(&h, &eddy__compare_ops);
    a = harness_numbers(&h, dtype, HARNESS_DIMS(n, 1), x);
    b = harness_numbers(&h, dtype, HARNESS_DIMS(n), x);
    ck_assert_int_eq(harness_run(&h, op->name, a, b), EDDY_OK);
    harness_want(&h, 0, EDDY_BOOL, HARNESS_DIMS(n, n));
    z = eddy_tensor_retain(h.outputs[0]);
    for (int64_t i = 0; i < n * n; i++)
        ck_assert_msg(harness_get(z, i) ==
                          (op->orders >> (order(a, i / n, b, i % n) + 1) & 1),
                      "%s %s of %g and %g", op->name, eddy_dtype_name(dtype),
                      x[i / n], x[i % n]);
    for (int64_t i = 0; i < n; i++) {
        const int64_t j = (i * 5 + 1) % n;

        ck_assert_int_eq(harness_run(&h, op->name,
                                     harness_scalar(&h, dtype, x[i]),
                                     harness_scalar(&h, dtype, x[j])),
                         EDDY_OK);
        harness_want(&h, 0, EDDY_BOOL, 0, NULL);
        ck_assert_double_eq(harness_get(h.outputs[0], 0),
                            harness_get(z, i * n + j));
    }
    eddy_tensor_release(z);
    harness_deinit(&h);
}

START_TEST(every_dtype_agrees_with_the_reference)
{
    NUMBERS_EACH_REAL(d)
    check_dtype(&ops[_i], d);
}
END_TEST

START_TEST(logical_ops_take_bools)
{
    harness h;

    harness_init(&h, &eddy__compare_ops);
    for (int i = 0; i < 4; i++) {
        const double x = i & 1, y = i >> 1;

        ck_assert_int_eq(harness_run(&h, "LogicalAnd",
                                     harness_scalar(&h, EDDY_BOOL, x),
                                     harness_scalar(&h, EDDY_BOOL, y)),
                         EDDY_OK);
        ck_assert_double_eq(harness_get(h.outputs[0], 0), i == 3);
        ck_assert_int_eq(harness_run(&h, "LogicalOr",
                                     harness_vector(&h, EDDY_BOOL, x, 0),
                                     harness_scalar(&h, EDDY_BOOL, y)),
                         EDDY_OK);
        ck_assert_double_eq(harness_get(h.outputs[0], 0), i != 0);
        ck_assert_double_eq(harness_get(h.outputs[0], 1), y);
    }
    harness_deinit(&h);
}
END_TEST

START_TEST(equality_takes_bools_and_complex_numbers)
{
    const float x[] = {1, 2, 3, 4}, y[] = {1, 2, 3, -4};
    harness h;

    harness_init(&h, &eddy__compare_ops);
    ck_assert_int_eq(harness_run(&h, "Equal",
                                 harness_vector(&h, EDDY_BOOL, 0, 1, 1),
                                 harness_vector(&h, EDDY_BOOL, 0, 0, 1)),
                     EDDY_OK);
    ck_assert_mem_eq(h.outputs[0]->data, "\1\0\1", 3);
    ck_assert_int_eq(
        harness_run(&h, "NotEqual",
                    harness_tensor(&h, EDDY_COMPLEX64, HARNESS_DIMS(2), x),
                    harness_tensor(&h, EDDY_COMPLEX64, HARNESS_DIMS(2), y)),
        EDDY_OK);
    ck_assert_mem_eq(h.outputs[0]->data, "\0\1", 2);
    harness_deinit(&h);
}
END_TEST

static eddy_tensor *strings(harness *h, int32_t rank, int64_t n,
                            const char *const *texts)
{
    const eddy_shape shape = {.rank = rank, .dims = {n}};
    eddy_string all[8];
    eddy_tensor *tensor;

    for (int64_t i = 0; i < n; i++)
        all[i] = (eddy_string){texts[i], strlen(texts[i])};
    ck_assert_int_eq(eddy_tensor_from_strings(&h->ctx, &shape, all, (size_t)n,
                                              &tensor, &h->err),
                     EDDY_OK);
    return tensor;
}

START_TEST(equality_takes_strings)
{
    static const char *const x[] = {"loop", "", "frame", "dead"};
    static const char *const y[] = {"loop", "x", "frame", "live"};
    harness h;
    eddy_tensor *a, *b, *one;

    harness_init(&h, &eddy__compare_ops);
    a = strings(&h, 1, 4, x);
    b = strings(&h, 1, 4, y);
    one = strings(&h, 0, 1, &x[2]);
    ck_assert_int_eq(harness_run(&h, "Equal", a, b), EDDY_OK);
    ck_assert_mem_eq(h.outputs[0]->data, "\1\0\1\0", 4);
    ck_assert_int_eq(harness_run(&h, "NotEqual", a, one), EDDY_OK);
    ck_assert_mem_eq(h.outputs[0]->data, "\1\1\0\1", 4);
    ck_assert_int_eq(harness_run(&h, "Equal", one, one), EDDY_OK);
    harness_want(&h, 0, EDDY_BOOL, 0, NULL);
    ck_assert_double_eq(harness_get(h.outputs[0], 0), 1);
    eddy_tensor_release(a);
    eddy_tensor_release(b);
    eddy_tensor_release(one);
    harness_deinit(&h);
}
END_TEST

START_TEST(shapes_that_do_not_broadcast_are_an_error_or_an_answer)
{
    const bool lenient = false;
    const eddy_attr attr = eddy_attr_bool("incompatible_shape_error", &lenient);
    harness h;
    eddy_tensor *inputs[2];
    eddy_status status;

    harness_init(&h, &eddy__compare_ops);
    inputs[0] = harness_vector(&h, EDDY_INT32, 1, 2);
    inputs[1] = harness_vector(&h, EDDY_INT32, 1, 2, 3);
    status = harness_run(&h, "Equal", inputs[0], inputs[1]);
    harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    ck_assert_int_eq(harness_run_attrs(&h, "Equal", inputs, 2, &attr, 1),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_BOOL, 0, NULL);
    ck_assert_double_eq(harness_get(h.outputs[0], 0), 0);
    ck_assert_int_eq(harness_run_attrs(&h, "NotEqual", inputs, 2, &attr, 1),
                     EDDY_OK);
    ck_assert_double_eq(harness_get(h.outputs[0], 0), 1);
    inputs[1] = inputs[0];
    ck_assert_int_eq(harness_run_attrs(&h, "NotEqual", inputs, 2, &attr, 1),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_BOOL, HARNESS_DIMS(2));
    harness_deinit(&h);
}
END_TEST

START_TEST(near_numbers_are_approximately_equal)
{
    const float tolerance = 0.5f;
    const eddy_attr attr = {.name = "tolerance",
                            .kind = EDDY_ATTR_FLOAT,
                            .n = 1,
                            .as.floats = &tolerance};
    harness h;
    eddy_tensor *inputs[2];
    eddy_status status;

    harness_init(&h, &eddy__compare_ops);
    for (eddy_dtype d = EDDY_FLOAT32; d <= EDDY_FLOAT64; d++) {
        inputs[0] = harness_vector(&h, d, 1, 1, NAN, INFINITY, 2, -3);
        inputs[1] =
            harness_vector(&h, d, 1.000005, 1.1, NAN, INFINITY, 2.5, -3.25);
        ck_assert_int_eq(
            harness_run(&h, "ApproximateEqual", inputs[0], inputs[1]), EDDY_OK);
        harness_want(&h, 0, EDDY_BOOL, HARNESS_DIMS(6));
        ck_assert_mem_eq(h.outputs[0]->data, "\1\0\0\0\0\0", 6);
        ck_assert_int_eq(
            harness_run_attrs(&h, "ApproximateEqual", inputs, 2, &attr, 1),
            EDDY_OK);
        ck_assert_mem_eq(h.outputs[0]->data, "\1\1\0\0\0\1", 6);
        ck_assert_int_eq(harness_run(&h, "ApproximateEqual",
                                     harness_scalar(&h, d, 4),
                                     harness_scalar(&h, d, 4)),
                         EDDY_OK);
        harness_want(&h, 0, EDDY_BOOL, 0, NULL);
        ck_assert_double_eq(harness_get(h.outputs[0], 0), 1);
    }
    status = harness_run(&h, "ApproximateEqual",
                         harness_vector(&h, EDDY_FLOAT32, 1, 2),
                         harness_vector(&h, EDDY_FLOAT32, 1));
    harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    status =
        harness_run(&h, "ApproximateEqual", harness_scalar(&h, EDDY_INT32, 1),
                    harness_scalar(&h, EDDY_INT32, 1));
    harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_NO_KERNEL);
    harness_deinit(&h);
}
END_TEST

TCase *ops_compare_tests(void)
{
    TCase *tc = tcase_create("ops_compare");

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, every_dtype_agrees_with_the_reference, 0,
                        sizeof ops / sizeof ops[0]);
    tcase_add_test(tc, logical_ops_take_bools);
    tcase_add_test(tc, equality_takes_bools_and_complex_numbers);
    tcase_add_test(tc, equality_takes_strings);
    tcase_add_test(tc, near_numbers_are_approximately_equal);
    tcase_add_test(tc, shapes_that_do_not_broadcast_are_an_error_or_an_answer);
    return tc;
}
