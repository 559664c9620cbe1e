/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__topk_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

/* _i is one of the eleven real dtypes. */
START_TEST(top_k_sorts_rows_of_every_dtype)
{
    const int64_t dims[] = {2, 4}, to[] = {2, 3};
    eddy_dtype dtype = layout_dtype(_i);

    layout_run(
        &h, "TopKV2",
        LAYOUT_INPUTS(layout_tensor(&h, dtype, 2, dims,
                                    LAYOUT_NUMBERS(1, 5, 3, 5, 7, 7, 7, 9)),
                      layout_int(&h, 3)),
        NULL, 0);
    layout_want(&h, 0, dtype, 2, to, LAYOUT_NUMBERS(5, 5, 3, 9, 7, 7));
    layout_want(&h, 1, EDDY_INT32, 2, to, LAYOUT_NUMBERS(1, 3, 2, 3, 0, 1));
}
END_TEST

/* The first seven dtypes have a sign. */
START_TEST(top_k_orders_signed_numbers)
{
    const int64_t three = 3;

    layout_run(&h, "TopKV2",
               LAYOUT_INPUTS(layout_tensor(&h, layout_dtype(_i), 1, &three,
                                           LAYOUT_NUMBERS(-2, 1, -1)),
                             layout_int(&h, 3)),
               NULL, 0);
    layout_want(&h, 0, layout_dtype(_i), 1, &three, LAYOUT_NUMBERS(1, -1, -2));
}
END_TEST

/* _i is one of the three floating point dtypes. */
START_TEST(top_k_puts_nan_first)
{
    const double values[] = {1, (double)NAN, (double)INFINITY, (double)NAN};
    const int64_t four = 4;

    layout_run(
        &h, "TopKV2",
        LAYOUT_INPUTS(harness_numbers(&h, layout_dtype(_i), 1, &four, values),
                      layout_int(&h, 4)),
        NULL, 0);
    layout_want(&h, 1, EDDY_INT32, 1, &four, LAYOUT_NUMBERS(1, 3, 2, 0));
}
END_TEST

typedef struct entry {
    int value, index;
} entry;

static int compare(const void *a, const void *b)
{
    const entry *x = a, *y = b;

    return x->value != y->value ? y->value - x->value : x->index - y->index;
}

/* _i is k, of a row of 200 with many ties. */
START_TEST(top_k_agrees_with_a_sort)
{
    const int64_t n = 200, k = _i;
    int numbers[200], values[200], indices[200];
    unsigned state = 12345u + (unsigned)_i;
    entry entries[200];

    for (int i = 0; i < 200; i++) {
        state = state * 1103515245u + 12345u;
        numbers[i] = (int)(state >> 16) % 50;
        entries[i] = (entry){numbers[i], i};
    }
    qsort(entries, 200, sizeof *entries, compare);
    for (int i = 0; i < _i; i++) {
        values[i] = entries[i].value;
        indices[i] = entries[i].index;
    }
    layout_run(&h, "TopKV2",
               LAYOUT_INPUTS(layout_tensor(&h, EDDY_FLOAT32, 1, &n, numbers),
                             layout_int(&h, _i)),
               NULL, 0);
    layout_want(&h, 0, EDDY_FLOAT32, 1, &k, values);
    layout_want(&h, 1, EDDY_INT32, 1, &k, indices);
}
END_TEST

START_TEST(top_k_has_other_indices)
{
    static const eddy_dtype dtypes[] = {EDDY_INT16, EDDY_INT64};
    const eddy_attr attr = eddy_attr_type("index_type", &dtypes[_i]);
    const int64_t two = 2;

    layout_run(&h, "TopKV2",
               LAYOUT_INPUTS(harness_vector(&h, EDDY_FLOAT64, 1, 3, 2),
                             harness_scalar(&h, dtypes[_i], 2)),
               &attr, 1);
    layout_want(&h, 0, EDDY_FLOAT64, 1, &two, LAYOUT_NUMBERS(3, 2));
    layout_want(&h, 1, dtypes[_i], 1, &two, LAYOUT_NUMBERS(1, 2));
}
END_TEST

START_TEST(top_k_of_nothing_is_nothing)
{
    const int64_t dims[] = {2, 0}, none[] = {0, 3}, to[] = {0, 2};

    layout_run(&h, "TopKV2",
               LAYOUT_INPUTS(layout_range(&h, EDDY_INT8, 0, 2, dims),
                             layout_int(&h, 0)),
               NULL, 0);
    layout_want(&h, 0, EDDY_INT8, 2, dims, NULL);
    layout_run(&h, "TopKV2",
               LAYOUT_INPUTS(layout_range(&h, EDDY_INT8, 0, 2, none),
                             layout_int(&h, 2)),
               NULL, 0);
    layout_want(&h, 1, EDDY_INT32, 2, to, NULL);
}
END_TEST

START_TEST(top_k_checks_its_arguments)
{
    const eddy_dtype small = EDDY_INT16;
    const eddy_attr attr = eddy_attr_type("index_type", &small);
    const int64_t many = 40000;
    eddy_tensor *x = layout_ints(&h, 3, LAYOUT_NUMBERS(1, 2, 3));

    harness_want_error(&h, harness_run(&h, "TopKV2", x, layout_int(&h, 4)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    ck_assert_ptr_nonnull(
        strstr(h.err.message, "input must have at least k columns"));
    harness_want_error(&h, harness_run(&h, "TopKV2", x, layout_int(&h, -1)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    harness_want_error(&h, harness_run(&h, "TopKV2", x, x),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    harness_want_error(
        &h, harness_run(&h, "TopKV2", layout_int(&h, 1), layout_int(&h, 1)),
        EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    harness_want_error(
        &h,
        harness_run_attrs(
            &h, "TopKV2",
            LAYOUT_INPUTS(layout_range(&h, EDDY_FLOAT32, 0, 1, &many),
                          layout_int(&h, 1)),
            &attr, 1),
        EDDY_INVALID_ARGUMENT, EDDY_E_SIZE);
}
END_TEST

TCase *ops_topk_tests(void)
{
    TCase *tests = tcase_create("ops_topk");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, top_k_sorts_rows_of_every_dtype, 0, 11);
    tcase_add_loop_test(tests, top_k_orders_signed_numbers, 0, 7);
    tcase_add_loop_test(tests, top_k_puts_nan_first, 0, 3);
    tcase_add_loop_test(tests, top_k_agrees_with_a_sort, 1, 9);
    tcase_add_loop_test(tests, top_k_agrees_with_a_sort, 60, 62);
    tcase_add_loop_test(tests, top_k_agrees_with_a_sort, 199, 201);
    tcase_add_loop_test(tests, top_k_has_other_indices, 0, 2);
    tcase_add_test(tests, top_k_of_nothing_is_nothing);
    tcase_add_test(tests, top_k_checks_its_arguments);
    return tests;
}
