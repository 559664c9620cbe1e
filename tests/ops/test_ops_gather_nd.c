/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

#include <string.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__gather_nd_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static const int64_t matrix[] = {2, 3}, square[] = {2, 2}, two = 2;

START_TEST(gather_nd_takes_elements_and_slices_of_every_dtype)
{
    const int64_t column[] = {3, 1}, rows[] = {3, 3}, deep[] = {2, 1, 0};
    const int64_t all[] = {2, 1, 2, 3};
    eddy_dtype dtype = layout_dtype(_i);
    eddy_tensor *x = layout_range(&h, dtype, 0, 2, matrix);

    layout_run(&h, "GatherNd",
               LAYOUT_INPUTS(x, layout_tensor(&h, EDDY_INT32, 2, square,
                                              LAYOUT_NUMBERS(1, 2, 0, 1))),
               NULL, 0);
    layout_want(&h, 0, dtype, 1, &two, LAYOUT_NUMBERS(5, 1));
    layout_run(&h, "GatherNd",
               LAYOUT_INPUTS(x, layout_tensor(&h, EDDY_INT64, 2, column,
                                              LAYOUT_NUMBERS(1, 0, 1))),
               NULL, 0);
    layout_want(&h, 0, dtype, 2, rows,
                LAYOUT_NUMBERS(3, 4, 5, 0, 1, 2, 3, 4, 5));
    layout_run(&h, "GatherNd",
               LAYOUT_INPUTS(x, layout_ints(&h, 2, LAYOUT_NUMBERS(1, 1))), NULL,
               0);
    layout_want(&h, 0, dtype, 0, NULL, LAYOUT_NUMBERS(4));
    /* An index of no numbers names the whole. */
    layout_run(&h, "GatherNd",
               LAYOUT_INPUTS(x, layout_range(&h, EDDY_INT32, 0, 3, deep)), NULL,
               0);
    layout_want(&h, 0, dtype, 4, all,
                LAYOUT_NUMBERS(0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5));
}
END_TEST

START_TEST(gather_nd_names_the_bad_index)
{
    eddy_tensor *x = layout_range(&h, EDDY_INT32, 0, 2, matrix);

    harness_want_error(&h,
                       harness_run(&h, "GatherNd", x,
                                   layout_tensor(&h, EDDY_INT32, 2, square,
                                                 LAYOUT_NUMBERS(1, 2, 0, 3))),
                       EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    ck_assert_str_eq(h.err.message,
                     "indices[1] = [0,3] does not index into shape [2,3]");
    harness_want_error(
        &h,
        harness_run(&h, "GatherNd", x, layout_ints(&h, 1, LAYOUT_NUMBERS(-1))),
        EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    ck_assert_str_eq(h.err.message,
                     "indices = [-1] does not index into shape [2,3]");
}
END_TEST

START_TEST(gather_nd_checks_ranks)
{
    const int64_t deep[] = {1, 1, 1, 1, 1, 1, 1, 1};
    eddy_tensor *x = layout_range(&h, EDDY_INT32, 0, 2, matrix);

    harness_want_error(&h, harness_run(&h, "GatherNd", x, layout_int(&h, 0)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    harness_want_error(&h,
                       harness_run(&h, "GatherNd", x,
                                   layout_ints(&h, 3, LAYOUT_NUMBERS(0, 0, 0))),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    harness_want_error(&h,
                       harness_run(&h, "GatherNd",
                                   layout_range(&h, EDDY_INT32, 0, 8, deep),
                                   layout_range(&h, EDDY_INT32, 0, 3, deep)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
}
END_TEST

static eddy_attr policy(const eddy_string *text)
{
    return eddy_attr_string("bad_indices_policy", text);
}

START_TEST(bad_indices_may_be_ignored)
{
    const eddy_string ignore = {"IGNORE", 6}, error = {"ERROR", 5},
                      other = {"PERHAPS", 7};
    const int64_t column[] = {2, 1};
    eddy_attr attr = policy(&ignore);
    eddy_tensor *x = layout_range(&h, EDDY_INT32, 1, 1, &two);
    eddy_tensor *indices =
        layout_tensor(&h, EDDY_INT32, 2, column, LAYOUT_NUMBERS(5, 1));
    eddy_tensor *shape = layout_ints(&h, 1, LAYOUT_NUMBERS(2));

    layout_run(&h, "GatherNd", LAYOUT_INPUTS(x, indices), &attr, 1);
    layout_want(&h, 0, EDDY_INT32, 1, &two, LAYOUT_NUMBERS(0, 2));
    layout_run(&h, "ScatterNd", LAYOUT_INPUTS(indices, x, shape), &attr, 1);
    layout_want(&h, 0, EDDY_INT32, 1, &two, LAYOUT_NUMBERS(0, 2));
    attr = policy(&error);
    harness_want_error(
        &h,
        harness_run_attrs(&h, "GatherNd", LAYOUT_INPUTS(x, indices), &attr, 1),
        EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    attr = policy(&other);
    harness_want_error(
        &h,
        harness_run_attrs(&h, "GatherNd", LAYOUT_INPUTS(x, indices), &attr, 1),
        EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE);
}
END_TEST

/* Every dtype but string, which can't be added. */
START_TEST(scatter_nd_adds_what_meets)
{
    const int64_t column[] = {3, 1}, updates[] = {3, 2}, to[] = {3, 2};
    eddy_dtype dtype = layout_dtype(_i);

    layout_run(&h, "ScatterNd",
               LAYOUT_INPUTS(layout_tensor(&h, EDDY_INT32, 2, column,
                                           LAYOUT_NUMBERS(2, 0, 2)),
                             layout_tensor(&h, dtype, 2, updates,
                                           LAYOUT_NUMBERS(1, 4, 9, 16, 3, 12)),
                             layout_ints(&h, 2, LAYOUT_NUMBERS(3, 2))),
               NULL, 0);
    layout_want(&h, 0, dtype, 2, to, LAYOUT_NUMBERS(9, 16, 0, 0, 4, 16));
}
END_TEST

START_TEST(scatter_nd_adds_scalars)
{
    const int64_t column[] = {3, 1}, three = 3, none = 0;
    eddy_tensor *indices =
        layout_tensor(&h, EDDY_INT64, 2, column, LAYOUT_NUMBERS(1, 1, 1));

    layout_run(&h, "ScatterNd",
               LAYOUT_INPUTS(indices,
                             harness_vector(&h, EDDY_INT8, 100, 100, 1),
                             harness_vector(&h, EDDY_INT64, 3)),
               NULL, 0);
    /* 201 wraps. */
    layout_want(&h, 0, EDDY_INT8, 1, &three, LAYOUT_NUMBERS(0, -55, 0));
    layout_run(&h, "ScatterNd",
               LAYOUT_INPUTS(layout_ints(&h, 0, NULL), layout_int(&h, 6),
                             layout_ints(&h, 0, NULL)),
               NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 0, NULL, LAYOUT_NUMBERS(6));
    harness_want_error(&h,
                       harness_run(&h, "ScatterNd", indices,
                                   harness_vector(&h, EDDY_INT8, 1, 1, 1),
                                   harness_vector(&h, EDDY_INT64, 0)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    layout_run(&h, "ScatterNd",
               LAYOUT_INPUTS(
                   layout_range(&h, EDDY_INT32, 0, 2, (const int64_t[]){0, 1}),
                   layout_ints(&h, 0, NULL),
                   layout_ints(&h, 1, LAYOUT_NUMBERS(0))),
               NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 1, &none, NULL);
}
END_TEST

START_TEST(scatter_nd_checks_its_arguments)
{
    const int64_t column[] = {3, 1}, three = 3;
    eddy_tensor *indices =
        layout_tensor(&h, EDDY_INT64, 2, column, LAYOUT_NUMBERS(0, 1, 2));
    eddy_tensor *updates = layout_range(&h, EDDY_INT32, 0, 1, &three);
    const int64_t large = (int64_t)1 << 40;
    const int64_t huge[] = {large, large};

    harness_want_error(&h,
                       harness_run(&h, "ScatterNd", indices, updates,
                                   harness_vector(&h, EDDY_INT64, 2)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    harness_want_error(&h,
                       harness_run(&h, "ScatterNd", indices, updates,
                                   harness_vector(&h, EDDY_INT64, 3, 1)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(
        &h,
        harness_run(&h, "ScatterNd", indices, updates,
                    harness_tensor(&h, EDDY_INT64, HARNESS_DIMS(2), huge)),
        EDDY_INVALID_ARGUMENT, EDDY_E_SIZE);
    harness_want_error(&h,
                       harness_run(&h, "ScatterNd", indices,
                                   layout_range(&h, EDDY_STRING, 0, 1, &three),
                                   harness_vector(&h, EDDY_INT64, 3)),
                       EDDY_UNIMPLEMENTED, EDDY_E_NO_KERNEL);
}
END_TEST

TCase *ops_gather_nd_tests(void)
{
    TCase *tests = tcase_create("ops_gather_nd");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests,
                        gather_nd_takes_elements_and_slices_of_every_dtype, 0,
                        LAYOUT_DTYPES);
    tcase_add_test(tests, gather_nd_names_the_bad_index);
    tcase_add_test(tests, gather_nd_checks_ranks);
    tcase_add_test(tests, bad_indices_may_be_ignored);
    tcase_add_loop_test(tests, scatter_nd_adds_what_meets, 0,
                        LAYOUT_DTYPES - 1);
    tcase_add_test(tests, scatter_nd_adds_scalars);
    tcase_add_test(tests, scatter_nd_checks_its_arguments);
    return tests;
}
