/* SPDX-License-Identifier: Apache-2.0 */
/* Select, SelectV2 and ClipByValue. */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/aid/numbers.h"
#include "tests/suites.h"

#include <math.h>
#include <string.h>

static eddy_tensor *grid(harness *h, eddy_dtype dtype, double first)
{
    double values[6];

    for (int i = 0; i < 6; i++)
        values[i] = dtype == EDDY_BOOL ? first > 0 : first + i;
    return harness_numbers(h, dtype, HARNESS_DIMS(2, 3), values);
}

/* Fails the test unless output 0 is x where the bits of `mask` are set. */
static void want_chosen(const harness *h, const eddy_tensor *x,
                        const eddy_tensor *y, unsigned mask)
{
    const size_t size = eddy_dtype_size(eddy_tensor_dtype(x));

    ck_assert_uint_eq(h->n_outputs, 1);
    ck_assert(eddy__shape_equal(&h->outputs[0]->shape, &x->shape));
    for (size_t i = 0; i < (size_t)x->count; i++) {
        const unsigned char *from = mask >> i & 1 ? x->data : y->data;

        ck_assert_mem_eq((unsigned char *)h->outputs[0]->data + i * size,
                         from + i * size, size);
    }
}

START_TEST(every_dtype_is_chosen_element_by_element)
{
    static const double bits[] = {1, 0, 0, 1, 1, 0};
    const eddy_dtype dtype = (eddy_dtype)_i;
    harness h;
    eddy_tensor *c, *x, *y;

    harness_init(&h, &eddy__select_ops);
    c = harness_numbers(&h, EDDY_BOOL, HARNESS_DIMS(2, 3), bits);
    x = grid(&h, dtype, 1);
    y = grid(&h, dtype, dtype == EDDY_BOOL ? 0 : 50);
    ck_assert_int_eq(harness_run(&h, "Select", c, x, y), EDDY_OK);
    want_chosen(&h, x, y, 031);
    ck_assert_int_eq(harness_run(&h, "SelectV2", c, x, y), EDDY_OK);
    want_chosen(&h, x, y, 031);
    for (int bit = 0; bit < 2; bit++) {
        c = harness_scalar(&h, EDDY_BOOL, bit);
        ck_assert_int_eq(harness_run(&h, "Select", c, x, y), EDDY_OK);
        want_chosen(&h, x, y, bit ? 077 : 0);
        ck_assert_int_eq(harness_run(&h, "SelectV2", c, x, y), EDDY_OK);
        want_chosen(&h, x, y, bit ? 077 : 0);
        ck_assert_int_eq(harness_run(&h, "SelectV2", c,
                                     harness_scalar(&h, dtype, 1),
                                     harness_scalar(&h, dtype, 0)),
                         EDDY_OK);
        harness_want(&h, 0, dtype, 0, NULL);
        ck_assert_double_eq(harness_get(h.outputs[0], 0), bit);
    }
    harness_deinit(&h);
}
END_TEST

START_TEST(a_vector_chooses_rows_in_select)
{
    harness h;
    eddy_tensor *x, *y;

    harness_init(&h, &eddy__select_ops);
    x = grid(&h, EDDY_INT16, 1);
    y = grid(&h, EDDY_INT16, 50);
    ck_assert_int_eq(
        harness_run(&h, "Select", harness_vector(&h, EDDY_BOOL, 0, 1), x, y),
        EDDY_OK);
    want_chosen(&h, x, y, 070);
    harness_deinit(&h);
}
END_TEST

START_TEST(all_three_broadcast_in_select_v2)
{
    static const double want[] = {10, 2, 10, 20, 2, 20};
    harness h;

    harness_init(&h, &eddy__select_ops);
    ck_assert_int_eq(
        harness_run(&h, "SelectV2", harness_vector(&h, EDDY_BOOL, 0, 1, 0),
                    harness_scalar(&h, EDDY_FLOAT32, 2),
                    harness_numbers(&h, EDDY_FLOAT32, HARNESS_DIMS(2, 1),
                                    (const double[]){10, 20})),
        EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT32, HARNESS_DIMS(2, 3));
    for (int64_t i = 0; i < 6; i++)
        ck_assert_double_eq(harness_get(h.outputs[0], i), want[i]);
    ck_assert_int_eq(harness_run(&h, "SelectV2",
                                 harness_scalar(&h, EDDY_BOOL, 1),
                                 harness_scalar(&h, EDDY_FLOAT32, 2),
                                 harness_vector(&h, EDDY_FLOAT32, 10, 20)),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT32, HARNESS_DIMS(2));
    ck_assert_double_eq(harness_get(h.outputs[0], 1), 2);
    ck_assert_int_eq(
        harness_run(&h, "SelectV2",
                    harness_numbers(&h, EDDY_BOOL, HARNESS_DIMS(0, 1), NULL),
                    harness_scalar(&h, EDDY_FLOAT32, 2),
                    harness_vector(&h, EDDY_FLOAT32, 10, 20)),
        EDDY_OK);
    harness_want(&h, 0, EDDY_FLOAT32, HARNESS_DIMS(0, 2));
    harness_deinit(&h);
}
END_TEST

START_TEST(long_rows_are_chosen_from)
{
    double bits[100], x[100], y[100];
    harness h;

    for (int i = 0; i < 100; i++) {
        bits[i] = i % 3 == 0;
        x[i] = i;
        y[i] = -i;
    }
    harness_init(&h, &eddy__select_ops);
    ck_assert_int_eq(
        harness_run(&h, "SelectV2",
                    harness_numbers(&h, EDDY_BOOL, HARNESS_DIMS(100), bits),
                    harness_numbers(&h, EDDY_FLOAT64, HARNESS_DIMS(100), x),
                    harness_numbers(&h, EDDY_FLOAT64, HARNESS_DIMS(100), y)),
        EDDY_OK);
    for (int64_t i = 0; i < 100; i++)
        ck_assert_double_eq(harness_get(h.outputs[0], i),
                            (double)(i % 3 == 0 ? i : -i));
    harness_deinit(&h);
}
END_TEST

START_TEST(strings_are_chosen)
{
    const eddy_shape shape = {.rank = 1, .dims = {2}};
    const eddy_string a[] = {{"left", 4}, {"", 0}};
    const eddy_string b[] = {{"right", 5}, {"other", 5}};
    harness h;
    eddy_tensor *x, *y;

    harness_init(&h, &eddy__select_ops);
    ck_assert_int_eq(eddy_tensor_from_strings(&h.ctx, &shape, a, 2, &x, &h.err),
                     EDDY_OK);
    ck_assert_int_eq(eddy_tensor_from_strings(&h.ctx, &shape, b, 2, &y, &h.err),
                     EDDY_OK);
    ck_assert_int_eq(
        harness_run(&h, "SelectV2", harness_vector(&h, EDDY_BOOL, 1, 0), x, y),
        EDDY_OK);
    ck_assert_mem_eq(eddy_tensor_string(h.outputs[0], 0).data, "left", 4);
    ck_assert_mem_eq(eddy_tensor_string(h.outputs[0], 1).data, "other", 5);
    eddy_tensor_release(x);
    eddy_tensor_release(y);
    harness_deinit(&h);
}
END_TEST

START_TEST(shapes_that_do_not_fit_are_refused)
{
    harness h;
    eddy_tensor *two, *three, *yes;
    eddy_status status;

    harness_init(&h, &eddy__select_ops);
    two = harness_vector(&h, EDDY_INT32, 1, 2);
    three = harness_vector(&h, EDDY_INT32, 1, 2, 3);
    yes = harness_vector(&h, EDDY_BOOL, 1, 1, 1);
    status = harness_run(&h, "SelectV2", yes, two, two);
    harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    status = harness_run(&h, "SelectV2", yes, two, three);
    harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    status = harness_run(&h, "Select", yes, two, two);
    harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    status = harness_run(&h, "Select", yes, two, three);
    harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    status = harness_run(&h, "Select", harness_scalar(&h, EDDY_BOOL, 1), two,
                         harness_scalar(&h, EDDY_INT32, 1));
    harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    status = harness_run(&h, "Select", harness_vector(&h, EDDY_BOOL, 1),
                         harness_scalar(&h, EDDY_INT32, 1),
                         harness_scalar(&h, EDDY_INT32, 1));
    harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_deinit(&h);
}
END_TEST

START_TEST(values_are_clipped)
{
    harness h;
    eddy_tensor *x;

    harness_init(&h, &eddy__clip_ops);
    NUMBERS_EACH_REAL(d)
    {
        x = harness_vector(&h, d, 1, 5, 3, 9);
        ck_assert_int_eq(harness_run(&h, "ClipByValue", x,
                                     harness_scalar(&h, d, 2),
                                     harness_vector(&h, d, 4, 4, 4, 8)),
                         EDDY_OK);
        harness_want(&h, 0, d, HARNESS_DIMS(4));
        ck_assert_double_eq(harness_get(h.outputs[0], 0), 2);
        ck_assert_double_eq(harness_get(h.outputs[0], 1), 4);
        ck_assert_double_eq(harness_get(h.outputs[0], 2), 3);
        ck_assert_double_eq(harness_get(h.outputs[0], 3), 8);
        ck_assert_int_eq(
            harness_run(&h, "ClipByValue", harness_scalar(&h, d, 1),
                        harness_scalar(&h, d, 4), harness_scalar(&h, d, 3)),
            EDDY_OK);
        ck_assert_double_eq(harness_get(h.outputs[0], 0), 4);
    }
    ck_assert_int_eq(harness_run(&h, "ClipByValue",
                                 harness_scalar(&h, EDDY_FLOAT32, NAN),
                                 harness_scalar(&h, EDDY_FLOAT32, 2),
                                 harness_scalar(&h, EDDY_FLOAT32, 3)),
                     EDDY_OK);
    ck_assert(isnan(harness_get(h.outputs[0], 0)));
    harness_deinit(&h);
}
END_TEST

START_TEST(bounds_of_other_shapes_are_refused)
{
    harness h;
    eddy_status status;

    harness_init(&h, &eddy__clip_ops);
    status =
        harness_run(&h, "ClipByValue", harness_vector(&h, EDDY_FLOAT32, 1, 2),
                    harness_vector(&h, EDDY_FLOAT32, 1),
                    harness_scalar(&h, EDDY_FLOAT32, 3));
    harness_want_error(&h, status, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_deinit(&h);
}
END_TEST

/* Each part by itself, in a tensor of bounds and between two scalars. */
START_TEST(complex_numbers_are_clipped_part_by_part)
{
    harness h;
    const float x[] = {2.0F, -1.5F, -0.5F, 4.0F}, low[] = {-1.0F, -1.0F};
    const float high[] = {1.0F, 3.0F}, wide[] = {3.0F, 3.0F, 3.0F, 3.0F};
    const float wanted[] = {1.0F, -1.0F, -0.5F, 3.0F};
    const int64_t two = 2;
    eddy_tensor *of, *from, *to;

    harness_init(&h, &eddy__clip_ops);
    of = harness_tensor(&h, EDDY_COMPLEX64, 1, &two, x);
    from = harness_tensor(&h, EDDY_COMPLEX64, 0, NULL, low);
    to = harness_tensor(&h, EDDY_COMPLEX64, 0, NULL, high);

    ck_assert_int_eq(harness_run(&h, "ClipByValue", of, from, to), EDDY_OK);
    harness_want(&h, 0, EDDY_COMPLEX64, 1, &two);
    ck_assert_mem_eq(eddy_tensor_data(h.outputs[0]), wanted, sizeof wanted);
    to = harness_tensor(&h, EDDY_COMPLEX64, 1, &two, wide);
    ck_assert_int_eq(harness_run(&h, "ClipByValue", of, from, to), EDDY_OK);
    ck_assert(((const float *)eddy_tensor_data(h.outputs[0]))[0] == 2.0F);
    harness_deinit(&h);
}
END_TEST

TCase *ops_select_tests(void)
{
    TCase *tc = tcase_create("ops_select");

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, every_dtype_is_chosen_element_by_element,
                        EDDY_FLOAT16, EDDY_COMPLEX64 + 1);
    tcase_add_test(tc, a_vector_chooses_rows_in_select);
    tcase_add_test(tc, all_three_broadcast_in_select_v2);
    tcase_add_test(tc, long_rows_are_chosen_from);
    tcase_add_test(tc, strings_are_chosen);
    tcase_add_test(tc, shapes_that_do_not_fit_are_refused);
    tcase_add_test(tc, values_are_clipped);
    tcase_add_test(tc, bounds_of_other_shapes_are_refused);
    tcase_add_test(tc, complex_numbers_are_clipped_part_by_part);
    return tc;
}
