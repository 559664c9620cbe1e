/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/aid/numbers.h"
#include "tests/suites.h"

#include <math.h>
#include <string.h>

/* ---- the reference ---- */

/* Of the elements from `at` on, `stride` apart, the first that none exceeds. */
static int64_t first_best(const eddy_tensor *x, int64_t at, int64_t stride,
                          int64_t n, bool least)
{
    int64_t best = -1;

    for (int64_t i = 0; i < n; i++) {
        const double value = harness_get(x, at + i * stride);
        const double top = best < 0 ? 0 : harness_get(x, at + best * stride);

        if (isnan(value))
            continue;
        if (best < 0 || (least ? value < top : value > top))
            best = i;
    }
    return best < 0 ? 0 : best;
}

static void check(harness *h, const char *op, eddy_tensor *x, int32_t axis)
{
    const bool least = strcmp(op, "ArgMin") == 0;
    eddy_shape out = {.rank = 0};
    int64_t inner = 1;
    const int64_t n = x->shape.dims[axis];

    for (int32_t d = 0; d < x->shape.rank; d++) {
        if (d != axis)
            out.dims[out.rank++] = x->shape.dims[d];
        if (d > axis)
            inner *= x->shape.dims[d];
    }
    ck_assert_int_eq(
        harness_run(h, op, x,
                    harness_scalar(h, EDDY_INT32,
                                   axis % 2 ? axis - x->shape.rank : axis)),
        EDDY_OK);
    harness_want(h, 0, EDDY_INT64, out.rank, out.dims);
    for (int64_t i = 0; i < h->outputs[0]->count; i++)
        ck_assert_double_eq(
            harness_get(h->outputs[0], i),
            (double)first_best(x, i / inner * n * inner + i % inner, inner, n,
                               least));
}

static const char *const ops[] = {"ArgMax", "ArgMin"};

START_TEST(every_dtype_and_axis_agrees_with_the_reference)
{
    static const eddy_shape shapes[] = {
        {1, {1}},      {1, {30}},      {2, {5, 7}},   {3, {3, 4, 5}},
        {2, {3, 150}}, {3, {2, 0, 3}}, {2, {3, 300}}, {2, {300, 3}}};
    double values[900];
    harness h;

    harness_init(&h, &eddy__argmax_ops);
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (eddy_dtype d = EDDY_FLOAT16; d <= EDDY_BFLOAT16; d++) {
            for (int i = 0; i < 900; i++)
                values[i] = i * 29 % 17 - (numbers_is_signed(d) ? 8 : 0);
            for (int32_t axis = 0; axis < shapes[s].rank; axis++)
                if (shapes[s].dims[axis] > 0)
                    check(&h, ops[_i],
                          harness_numbers(&h, d, shapes[s].rank, shapes[s].dims,
                                          values),
                          axis);
        }
    }
    harness_deinit(&h);
}
END_TEST

START_TEST(nan_is_passed_over)
{
    static const double rows[][4] = {{1, NAN, 3, NAN},
                                     {NAN, 1, 3, 0},
                                     {NAN, NAN, NAN, NAN},
                                     {-INFINITY, -INFINITY, NAN, -1},
                                     {INFINITY, NAN, INFINITY, 1}};
    harness h;

    harness_init(&h, &eddy__argmax_ops);
    for (eddy_dtype d = EDDY_FLOAT16; d <= EDDY_BFLOAT16; d++)
        if (eddy__dtype_in(d, EDDY__FLOATS))
            for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
                check(&h, ops[_i],
                      harness_numbers(&h, d, HARNESS_DIMS(4), rows[i]), 0);
    harness_deinit(&h);
}
END_TEST

START_TEST(indices_come_in_the_dtype_that_is_asked_for)
{
    static const eddy_dtype dtypes[] = {EDDY_INT16, EDDY_UINT16, EDDY_INT32,
                                        EDDY_INT64};
    harness h;

    harness_init(&h, &eddy__argmax_ops);
    for (int i = 0; i < 4; i++) {
        const eddy_attr attr = eddy_attr_type("output_type", &dtypes[i]);
        eddy_tensor *inputs[] = {
            harness_numbers(&h, EDDY_INT8, HARNESS_DIMS(2, 3),
                            (const double[]){1, 5, 2, 7, 0, 9}),
            harness_scalar(&h, i < 3 ? EDDY_INT16 : EDDY_INT64, 1)};

        ck_assert_int_eq(harness_run_attrs(&h, "ArgMax", inputs, 2, &attr, 1),
                         EDDY_OK);
        harness_want(&h, 0, dtypes[i], HARNESS_DIMS(2));
        ck_assert_double_eq(harness_get(h.outputs[0], 0), 1);
        ck_assert_double_eq(harness_get(h.outputs[0], 1), 2);
    }
    harness_deinit(&h);
}
END_TEST

START_TEST(bad_axes_are_refused)
{
    harness h;
    eddy_tensor *x;
    eddy_status status;

    harness_init(&h, &eddy__argmax_ops);
    x = harness_vector(&h, EDDY_FLOAT32, 1, 2);
    status = harness_run(&h, "ArgMax", x, harness_scalar(&h, EDDY_INT32, 1));
    harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    status = harness_run(&h, "ArgMin", x, harness_scalar(&h, EDDY_INT32, -2));
    harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    status = harness_run(&h, "ArgMin", harness_scalar(&h, EDDY_FLOAT32, 1),
                         harness_scalar(&h, EDDY_INT32, 0));
    harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    status = harness_run(&h, "ArgMax", x, harness_vector(&h, EDDY_INT32, 0));
    harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    status =
        harness_run(&h, "ArgMax",
                    harness_numbers(&h, EDDY_FLOAT32, HARNESS_DIMS(0, 3), NULL),
                    harness_scalar(&h, EDDY_INT32, 0));
    harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_deinit(&h);
}
END_TEST

TCase *ops_argmax_tests(void)
{
    TCase *tc = tcase_create("ops_argmax");

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, every_dtype_and_axis_agrees_with_the_reference, 0,
                        2);
    tcase_add_loop_test(tc, nan_is_passed_over, 0, 2);
    tcase_add_test(tc, indices_come_in_the_dtype_that_is_asked_for);
    tcase_add_test(tc, bad_axes_are_refused);
    return tc;
}
