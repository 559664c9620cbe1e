/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

#include <math.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__tensor_scatter_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static const eddy_dtype reals[] = {EDDY_FLOAT16, EDDY_FLOAT32, EDDY_FLOAT64,
                                   EDDY_INT8,    EDDY_INT16,   EDDY_INT32,
                                   EDDY_INT64,   EDDY_UINT8,   EDDY_UINT16,
                                   EDDY_UINT32,  EDDY_UINT64,  EDDY_COMPLEX64};

static const int64_t grid[] = {3, 2}, one_each[] = {3, 1}, pairs[] = {3, 2};

START_TEST(update_replaces_slices_of_every_dtype)
{
    const eddy_dtype dtype = layout_dtype(_i);
    eddy_tensor *x = layout_range(&h, dtype, 1, 2, grid);

    layout_run(&h, "TensorScatterUpdate",
               LAYOUT_INPUTS(x,
                             layout_tensor(&h, EDDY_INT32, 2, one_each,
                                           LAYOUT_NUMBERS(2, 0, 2)),
                             layout_range(&h, dtype, 10, 2, grid)),
               NULL, 0);
    layout_want(&h, 0, dtype, 2, grid, LAYOUT_NUMBERS(12, 13, 3, 4, 14, 15));
    layout_run(&h, "TensorScatterUpdate",
               LAYOUT_INPUTS(x,
                             layout_tensor(&h, EDDY_INT64, 2, pairs,
                                           LAYOUT_NUMBERS(0, 1, 2, 0, 1, 1)),
                             layout_range(&h, dtype, 10, 1, grid)),
               NULL, 0);
    layout_want(&h, 0, dtype, 2, grid, LAYOUT_NUMBERS(1, 10, 3, 12, 11, 6));
}
END_TEST

START_TEST(update_takes_narrow_indices)
{
    for (int i = 0; i < 2; i++) {
        const eddy_dtype index = i == 0 ? EDDY_INT16 : EDDY_UINT16;

        layout_run(&h, "TensorScatterUpdate",
                   LAYOUT_INPUTS(
                       layout_range(&h, EDDY_INT8, 1, 1, grid),
                       layout_tensor(&h, index, 2, (const int64_t[]){1, 1},
                                     LAYOUT_NUMBERS(1)),
                       layout_range(&h, EDDY_INT8, 9, 1, (const int64_t[]){1})),
                   NULL, 0);
        layout_want(&h, 0, EDDY_INT8, 1, grid, LAYOUT_NUMBERS(1, 9, 3));
    }
}
END_TEST

/* What the ops make of 5 joined with 7, then 2, and of 50 joined with 60. */
static const struct {
    const char *op;
    double want[3];
} joins[] = {{"TensorScatterAdd", {14, 9, 110}},
             {"TensorScatterMax", {7, 9, 60}},
             {"TensorScatterMin", {2, 9, 50}},
             {"TensorScatterSub", {0, 9, 10}}};

/* _i: dtype and op. */
START_TEST(updates_are_joined_in_order)
{
    const eddy_dtype dtype = reals[_i / 4];
    const bool is_sub = _i % 4 == 3;
    const double x[] = {is_sub ? 9 : 5, 9, is_sub ? 70 : 50};
    const double updates[] = {7, 60, 2};
    const int64_t three = 3;
    const bool is_ordered = _i % 4 == 1 || _i % 4 == 2;

    if (is_ordered && dtype == EDDY_COMPLEX64)
        return;
    ck_assert_int_eq(
        harness_run(
            &h, joins[_i % 4].op, harness_numbers(&h, dtype, 1, &three, x),
            layout_tensor(&h, EDDY_INT64, 2, one_each, LAYOUT_NUMBERS(0, 2, 0)),
            harness_numbers(&h, dtype, 1, &three, updates)),
        EDDY_OK);
    harness_want(&h, 0, dtype, 1, &three);
    for (int64_t i = 0; i < 3; i++)
        ck_assert_double_eq(harness_get(h.outputs[0], i),
                            joins[_i % 4].want[i]);
}
END_TEST

/* As TensorFlow: what was there stays unless the update is greater, or less. */
START_TEST(a_nan_is_neither_greater_nor_less)
{
    const double x[] = {NAN, 1}, updates[] = {1, NAN};
    const int64_t two = 2;

    for (int i = 1; i < 3; i++) {
        ck_assert_int_eq(
            harness_run(
                &h, joins[i].op, harness_numbers(&h, EDDY_FLOAT32, 1, &two, x),
                layout_tensor(&h, EDDY_INT32, 2, (const int64_t[]){2, 1},
                              LAYOUT_NUMBERS(0, 1)),
                harness_numbers(&h, EDDY_FLOAT32, 1, &two, updates)),
            EDDY_OK);
        ck_assert_double_nan(harness_get(h.outputs[0], 0));
        ck_assert_double_eq(harness_get(h.outputs[0], 1), 1);
    }
}
END_TEST

START_TEST(nothing_changes_nothing)
{
    const int64_t none[] = {0, 1}, empty[] = {0};
    eddy_tensor *x = layout_range(&h, EDDY_STRING, 1, 1, grid);

    layout_run(&h, "TensorScatterUpdate",
               LAYOUT_INPUTS(x, layout_tensor(&h, EDDY_INT32, 2, none, NULL),
                             layout_tensor(&h, EDDY_STRING, 1, empty, NULL)),
               NULL, 0);
    layout_want(&h, 0, EDDY_STRING, 1, grid, LAYOUT_NUMBERS(1, 2, 3));
    layout_run(&h, "TensorScatterAdd",
               LAYOUT_INPUTS(layout_tensor(&h, EDDY_INT32, 1, empty, NULL),
                             layout_tensor(&h, EDDY_INT32, 2, none, NULL),
                             layout_tensor(&h, EDDY_INT32, 1, empty, NULL)),
               NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 1, empty, NULL);
}
END_TEST

START_TEST(indices_and_updates_must_fit)
{
    eddy_tensor *x = layout_range(&h, EDDY_INT32, 1, 1, grid);
    eddy_tensor *index = layout_tensor(
        &h, EDDY_INT32, 2, (const int64_t[]){1, 1}, LAYOUT_NUMBERS(3));
    eddy_tensor *deep = layout_tensor(
        &h, EDDY_INT32, 2, (const int64_t[]){1, 2}, LAYOUT_NUMBERS(0, 0));
    eddy_tensor *update = layout_ints(&h, 1, LAYOUT_NUMBERS(5));

    harness_want_error(&h,
                       harness_run(&h, "TensorScatterUpdate", x, index, update),
                       EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    ck_assert_str_eq(h.err.message,
                     "indices[0] = [3] does not index into shape [3]");
    harness_want_error(&h,
                       harness_run(&h, "TensorScatterUpdate", x, deep, update),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    harness_want_error(&h, harness_run(&h, "TensorScatterAdd", x, index, x),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(
        &h,
        harness_run(&h, "TensorScatterAdd", layout_int(&h, 1), index, update),
        EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
}
END_TEST

START_TEST(bad_indices_may_be_ignored)
{
    const eddy_string policy = {"IGNORE", 6};
    const eddy_attr attr = eddy_attr_string("bad_indices_policy", &policy);

    layout_run(&h, "TensorScatterAdd",
               LAYOUT_INPUTS(layout_range(&h, EDDY_INT32, 1, 1, grid),
                             layout_tensor(&h, EDDY_INT32, 2, one_each,
                                           LAYOUT_NUMBERS(-1, 1, 3)),
                             layout_range(&h, EDDY_INT32, 5, 1, grid)),
               &attr, 1);
    layout_want(&h, 0, EDDY_INT32, 1, grid, LAYOUT_NUMBERS(1, 8, 3));
}
END_TEST

TCase *ops_tensor_scatter_tests(void)
{
    TCase *tc = tcase_create("ops_tensor_scatter");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_loop_test(tc, update_replaces_slices_of_every_dtype, 0,
                        LAYOUT_DTYPES);
    tcase_add_test(tc, update_takes_narrow_indices);
    tcase_add_loop_test(tc, updates_are_joined_in_order, 0,
                        4 * (int)(sizeof reals / sizeof reals[0]));
    tcase_add_test(tc, a_nan_is_neither_greater_nor_less);
    tcase_add_test(tc, nothing_changes_nothing);
    tcase_add_test(tc, indices_and_updates_must_fit);
    tcase_add_test(tc, bad_indices_may_be_ignored);
    return tc;
}
