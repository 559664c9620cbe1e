/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__parallel_concat_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static const int64_t row[] = {1, 2}, whole[] = {3, 2};

static eddy_attr shape_attr(const eddy_shape *shape)
{
    return eddy_attr_shape("shape", shape);
}

/* Every dtype; the third row is nobody's. */
START_TEST(rows_stand_where_they_belong)
{
    const eddy_shape three = {.rank = 2, .dims = {3, 2}};
    const eddy_shape two = {.rank = 2, .dims = {2, 2}};
    const int64_t small[] = {2, 2};
    const eddy_dtype dtype = layout_dtype(_i);
    const eddy_attr attrs[] = {shape_attr(&two), shape_attr(&three)};
    eddy_tensor *a = layout_range(&h, dtype, 1, 2, row);
    eddy_tensor *b = layout_range(&h, dtype, 3, 2, row);

    layout_run(&h, "ParallelConcat", LAYOUT_INPUTS(a, b), &attrs[0], 1);
    layout_want(&h, 0, dtype, 2, small, LAYOUT_NUMBERS(1, 2, 3, 4));
    layout_run(&h, "ParallelConcat", LAYOUT_INPUTS(a, b), &attrs[1], 1);
    harness_want(&h, 0, dtype, 2, whole);
    if (dtype == EDDY_STRING)
        ck_assert_uint_eq(eddy_tensor_string(h.outputs[0], 5).length, 0);
    else
        ck_assert(harness_get(h.outputs[0], 5) == 0);
}
END_TEST

START_TEST(a_row_is_replaced)
{
    const int64_t last = -1, first = 0;
    const eddy_dtype dtype = layout_dtype(_i);
    eddy_tensor *x = layout_range(&h, dtype, 1, 2, whole);
    eddy_tensor *y = layout_range(&h, dtype, 8, 2, row);

    layout_run(&h, "_ParallelConcatUpdate", LAYOUT_INPUTS(x, y),
               LAYOUT_ATTRS(eddy_attr_int("loc", &first)));
    layout_want(&h, 0, dtype, 2, whole, LAYOUT_NUMBERS(8, 9, 3, 4, 5, 6));
    layout_run(&h, "_ParallelConcatUpdate", LAYOUT_INPUTS(x, y),
               LAYOUT_ATTRS(eddy_attr_int("loc", &last)));
    layout_want(&h, 0, dtype, 2, whole, LAYOUT_NUMBERS(1, 2, 3, 4, 8, 9));
}
END_TEST

START_TEST(rows_may_be_empty)
{
    const eddy_shape two = {.rank = 2, .dims = {2, 0}};
    const eddy_attr attr = shape_attr(&two);
    eddy_tensor *a = layout_range(&h, EDDY_INT8, 0, 2, (int64_t[]){1, 0});

    layout_run(&h, "ParallelConcat", LAYOUT_INPUTS(a, a), &attr, 1);
    harness_want(&h, 0, EDDY_INT8, 2, two.dims);
}
END_TEST

START_TEST(rows_must_fit)
{
    const eddy_shape two = {.rank = 2, .dims = {2, 2}};
    const eddy_shape unknown = {.rank = 2, .dims = {-1, 2}};
    const eddy_shape scalar = {.rank = 0};
    const eddy_attr attrs[] = {shape_attr(&two), shape_attr(&unknown),
                               shape_attr(&scalar)};
    const int64_t three = 3;
    const eddy_attr loc = eddy_attr_int("loc", &three);
    eddy_tensor *a = layout_range(&h, EDDY_INT32, 1, 2, row);
    eddy_tensor *x = layout_range(&h, EDDY_INT32, 1, 2, whole);
    eddy_tensor *s = layout_int(&h, 1);

    harness_want_error(&h,
                       harness_run_attrs(&h, "ParallelConcat",
                                         LAYOUT_INPUTS(a, a, a), attrs, 1),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(
        &h,
        harness_run_attrs(&h, "ParallelConcat", LAYOUT_INPUTS(x, x), attrs, 1),
        EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    for (int i = 1; i < 3; i++)
        harness_want_error(&h,
                           harness_run_attrs(&h, "ParallelConcat",
                                             LAYOUT_INPUTS(a, a), &attrs[i], 1),
                           EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE);
    harness_want_error(&h,
                       harness_run_attrs(&h, "_ParallelConcatUpdate",
                                         LAYOUT_INPUTS(x, a), &loc, 1),
                       EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    harness_want_error(&h,
                       harness_run_attrs(&h, "_ParallelConcatUpdate",
                                         LAYOUT_INPUTS(x, x), &loc, 1),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h,
                       harness_run_attrs(&h, "_ParallelConcatUpdate",
                                         LAYOUT_INPUTS(s, s), &loc, 1),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
}
END_TEST

TCase *ops_parallel_concat_tests(void)
{
    TCase *tests = tcase_create("ops_parallel_concat");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, rows_stand_where_they_belong, 0, LAYOUT_DTYPES);
    tcase_add_loop_test(tests, a_row_is_replaced, 0, LAYOUT_DTYPES);
    tcase_add_test(tests, rows_may_be_empty);
    tcase_add_test(tests, rows_must_fit);
    return tests;
}
