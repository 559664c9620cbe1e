/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

#include <string.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__shapes_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static const int64_t matrix[] = {2, 3}, one = 1, two = 2;

START_TEST(shape_size_and_rank_tell_of_every_dtype)
{
    const eddy_dtype long_type = EDDY_INT64;
    const eddy_attr type = eddy_attr_type("out_type", &long_type);
    eddy_dtype dtype = layout_dtype(_i);
    eddy_tensor *x = layout_range(&h, dtype, 0, 2, matrix);

    layout_run(&h, "Shape", LAYOUT_INPUTS(x), NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 1, &two, LAYOUT_NUMBERS(2, 3));
    layout_run(&h, "Shape", LAYOUT_INPUTS(x), &type, 1);
    layout_want(&h, 0, EDDY_INT64, 1, &two, LAYOUT_NUMBERS(2, 3));
    layout_run(&h, "Size", LAYOUT_INPUTS(x), NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 0, NULL, LAYOUT_NUMBERS(6));
    layout_run(&h, "Size", LAYOUT_INPUTS(x), &type, 1);
    layout_want(&h, 0, EDDY_INT64, 0, NULL, LAYOUT_NUMBERS(6));
    layout_run(&h, "Rank", LAYOUT_INPUTS(x), NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 0, NULL, LAYOUT_NUMBERS(2));
}
END_TEST

START_TEST(a_scalar_has_an_empty_shape)
{
    const int64_t none = 0;
    eddy_tensor *x = layout_range(&h, layout_dtype(_i), 1, 0, NULL);

    layout_run(&h, "Shape", LAYOUT_INPUTS(x), NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 1, &none, NULL);
    layout_run(&h, "Size", LAYOUT_INPUTS(x), NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 0, NULL, LAYOUT_NUMBERS(1));
    layout_run(&h, "Rank", LAYOUT_INPUTS(x), NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 0, NULL, LAYOUT_NUMBERS(0));
}
END_TEST

START_TEST(shape_n_tells_of_several)
{
    const int64_t none = 0;
    eddy_tensor *x = layout_range(&h, EDDY_FLOAT32, 0, 2, matrix);
    eddy_tensor *y = layout_range(&h, EDDY_FLOAT32, 0, 0, NULL);

    layout_run(&h, "ShapeN", LAYOUT_INPUTS(x, y, x), NULL, 0);
    ck_assert_uint_eq(h.n_outputs, 3);
    layout_want(&h, 0, EDDY_INT32, 1, &two, LAYOUT_NUMBERS(2, 3));
    layout_want(&h, 1, EDDY_INT32, 1, &none, NULL);
    layout_want(&h, 2, EDDY_INT32, 1, &two, LAYOUT_NUMBERS(2, 3));
}
END_TEST

/* No elements, so a dimension may be longer than there is memory for. */
START_TEST(what_int32_can_not_tell_is_an_error)
{
    const int64_t dims[] = {0, (int64_t)1 << 31};
    const eddy_dtype long_type = EDDY_INT64;
    const eddy_attr type = eddy_attr_type("out_type", &long_type);
    eddy_tensor *x = layout_range(&h, EDDY_INT8, 0, 2, dims);

    harness_want_error(&h, harness_run(&h, "Shape", x), EDDY_INVALID_ARGUMENT,
                       EDDY_E_SIZE);
    layout_run(&h, "Shape", LAYOUT_INPUTS(x), &type, 1);
    ck_assert_int_eq(((int64_t *)h.outputs[0]->data)[1], dims[1]);
}
END_TEST

START_TEST(reshape_gives_every_dtype_another_shape)
{
    const int64_t turned[] = {3, 2}, six = 6, ones[] = {1, 1};
    eddy_dtype dtype = layout_dtype(_i);
    eddy_tensor *x = layout_range(&h, dtype, 0, 2, matrix);
    eddy_tensor *s = layout_range(&h, dtype, 7, 0, NULL);

    layout_run(&h, "Reshape",
               LAYOUT_INPUTS(x, layout_ints(&h, 2, LAYOUT_NUMBERS(3, -1))),
               NULL, 0);
    layout_want(&h, 0, dtype, 2, turned, LAYOUT_NUMBERS(0, 1, 2, 3, 4, 5));
    ck_assert_ptr_eq(h.outputs[0]->data, x->data);
    layout_run(&h, "Reshape",
               LAYOUT_INPUTS(x, harness_vector(&h, EDDY_INT64, -1)), NULL, 0);
    layout_want(&h, 0, dtype, 1, &six, LAYOUT_NUMBERS(0, 1, 2, 3, 4, 5));
    layout_run(&h, "Reshape",
               LAYOUT_INPUTS(s, layout_ints(&h, 2, LAYOUT_NUMBERS(1, 1))), NULL,
               0);
    layout_want(&h, 0, dtype, 2, ones, LAYOUT_NUMBERS(7));
    layout_run(&h, "Reshape",
               LAYOUT_INPUTS(layout_range(&h, dtype, 7, 2, ones),
                             layout_ints(&h, 0, NULL)),
               NULL, 0);
    layout_want(&h, 0, dtype, 0, NULL, LAYOUT_NUMBERS(7));
}
END_TEST

START_TEST(reshape_takes_empty_tensors)
{
    const int64_t dims[] = {0, 3}, to[] = {2, 0};
    eddy_tensor *x = layout_range(&h, EDDY_FLOAT32, 0, 2, dims);

    layout_run(&h, "Reshape",
               LAYOUT_INPUTS(x, layout_ints(&h, 2, LAYOUT_NUMBERS(2, -1))),
               NULL, 0);
    layout_want(&h, 0, EDDY_FLOAT32, 2, to, NULL);
}
END_TEST

/* The -1 of an empty tensor is what the other sizes leave, without zeros. */
START_TEST(reshape_finds_a_size_beside_a_zero)
{
    const int64_t dims[] = {0, 6}, to[] = {0, 6}, three[] = {3, 0, 2};
    eddy_tensor *x = layout_range(&h, EDDY_FLOAT32, 0, 2, dims);

    layout_run(&h, "Reshape",
               LAYOUT_INPUTS(x, layout_ints(&h, 2, LAYOUT_NUMBERS(0, -1))),
               NULL, 0);
    layout_want(&h, 0, EDDY_FLOAT32, 2, to, NULL);
    layout_run(&h, "Reshape",
               LAYOUT_INPUTS(x, layout_ints(&h, 3, LAYOUT_NUMBERS(-1, 0, 2))),
               NULL, 0);
    layout_want(&h, 0, EDDY_FLOAT32, 3, three, NULL);
}
END_TEST

START_TEST(reshape_refuses_what_does_not_fit)
{
    static const struct {
        int n, shape[9];
        eddy_detail detail;
        const char *text;
    } cases[] = {
        {2, {2, 4}, EDDY_E_SHAPE, "6 values, but the requested shape has 8"},
        {2, {4, -1}, EDDY_E_SHAPE, "requires a multiple of 4"},
        {2, {-1, -1}, EDDY_E_DIM, "may be -1, not both 0 and 1"},
        {2, {-1, 0}, EDDY_E_SHAPE, "cannot infer the missing size 0"},
        {2, {3, -2}, EDDY_E_DIM, "-2"},
        {9, {6, 1, 1, 1, 1, 1, 1, 1, 1}, EDDY_E_RANK, "9"},
        {4,
         {2147483647, 2147483647, 2147483647, 2147483647},
         EDDY_E_SIZE,
         "too large"},
    };

    harness_want_error(
        &h,
        harness_run(&h, "Reshape", layout_range(&h, EDDY_INT32, 0, 2, matrix),
                    layout_ints(&h, cases[_i].n, cases[_i].shape)),
        EDDY_INVALID_ARGUMENT, cases[_i].detail);
    ck_assert_ptr_nonnull(strstr(h.err.message, cases[_i].text));
}
END_TEST

START_TEST(expand_dims_puts_in_a_one)
{
    static const struct {
        int axis;
        int64_t dims[3];
    } cases[] = {{0, {1, 2, 3}},
                 {1, {2, 1, 3}},
                 {2, {2, 3, 1}},
                 {-1, {2, 3, 1}},
                 {-3, {1, 2, 3}}};
    eddy_tensor *x = layout_range(&h, EDDY_STRING, 0, 2, matrix);

    layout_run(&h, "ExpandDims",
               LAYOUT_INPUTS(x, layout_int(&h, cases[_i].axis)), NULL, 0);
    layout_want(&h, 0, EDDY_STRING, 3, cases[_i].dims,
                LAYOUT_NUMBERS(0, 1, 2, 3, 4, 5));
    layout_run(
        &h, "ExpandDims",
        LAYOUT_INPUTS(layout_int(&h, 5), layout_ints(&h, 1, LAYOUT_NUMBERS(0))),
        NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 1, &one, LAYOUT_NUMBERS(5));
}
END_TEST

START_TEST(expand_dims_checks_its_axis)
{
    const int64_t deep[] = {1, 1, 1, 1, 1, 1, 1, 1};

    harness_want_error(
        &h, harness_run(&h, "ExpandDims", layout_int(&h, 5), layout_int(&h, 1)),
        EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    harness_want_error(&h,
                       harness_run(&h, "ExpandDims", layout_int(&h, 5),
                                   layout_ints(&h, 2, LAYOUT_NUMBERS(0, 0))),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    harness_want_error(&h,
                       harness_run(&h, "ExpandDims",
                                   layout_range(&h, EDDY_INT32, 0, 8, deep),
                                   layout_int(&h, 0)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
}
END_TEST

static eddy_status squeeze(const int64_t *axes, size_t n)
{
    const int64_t dims[] = {1, 2, 1, 3, 1};
    const eddy_attr attr = {.name = "squeeze_dims",
                            .kind = EDDY_ATTR_INT,
                            .is_list = true,
                            .n = n,
                            .as.ints = axes};

    return harness_run_attrs(
        &h, "Squeeze", LAYOUT_INPUTS(layout_range(&h, EDDY_INT32, 0, 5, dims)),
        &attr, 1);
}

START_TEST(squeeze_drops_ones)
{
    const int64_t axes[] = {-1, 2, 4}, to[] = {1, 2, 3};

    ck_assert_int_eq(squeeze(NULL, 0), EDDY_OK);
    layout_want(&h, 0, EDDY_INT32, 2, matrix, LAYOUT_NUMBERS(0, 1, 2, 3, 4, 5));
    ck_assert_int_eq(squeeze(axes, 3), EDDY_OK);
    layout_want(&h, 0, EDDY_INT32, 3, to, LAYOUT_NUMBERS(0, 1, 2, 3, 4, 5));
}
END_TEST

START_TEST(squeeze_checks_its_axes)
{
    const int64_t long_one[] = {1}, outside[] = {5};

    harness_want_error(&h, squeeze(long_one, 1), EDDY_INVALID_ARGUMENT,
                       EDDY_E_DIM);
    harness_want_error(&h, squeeze(outside, 1), EDDY_INVALID_ARGUMENT,
                       EDDY_E_INDEX);
}
END_TEST

TCase *ops_shapes_tests(void)
{
    TCase *tests = tcase_create("ops_shapes");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, shape_size_and_rank_tell_of_every_dtype, 0,
                        LAYOUT_DTYPES);
    tcase_add_loop_test(tests, a_scalar_has_an_empty_shape, 0, LAYOUT_DTYPES);
    tcase_add_test(tests, shape_n_tells_of_several);
    tcase_add_test(tests, what_int32_can_not_tell_is_an_error);
    tcase_add_loop_test(tests, reshape_gives_every_dtype_another_shape, 0,
                        LAYOUT_DTYPES);
    tcase_add_test(tests, reshape_takes_empty_tensors);
    tcase_add_test(tests, reshape_finds_a_size_beside_a_zero);
    tcase_add_loop_test(tests, reshape_refuses_what_does_not_fit, 0, 7);
    tcase_add_loop_test(tests, expand_dims_puts_in_a_one, 0, 5);
    tcase_add_test(tests, expand_dims_checks_its_axis);
    tcase_add_test(tests, squeeze_drops_ones);
    tcase_add_test(tests, squeeze_checks_its_axes);
    return tests;
}
