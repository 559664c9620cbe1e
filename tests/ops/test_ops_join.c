/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__join_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static const int64_t matrix[] = {2, 3}, column[] = {2, 1}, none[] = {2, 0};

/* Every dtype, in this and all tests over LAYOUT_DTYPES. */
START_TEST(concat_joins_along_an_axis)
{
    const int64_t wide[] = {2, 4}, tall[] = {4, 3};
    eddy_dtype dtype = layout_dtype(_i);
    eddy_tensor *a = layout_range(&h, dtype, 0, 2, matrix);
    eddy_tensor *b = layout_range(&h, dtype, 6, 2, column);
    eddy_tensor *empty = layout_range(&h, dtype, 0, 2, none);

    layout_run(&h, "ConcatV2", LAYOUT_INPUTS(a, empty, b, layout_int(&h, 1)),
               NULL, 0);
    layout_want(&h, 0, dtype, 2, wide, LAYOUT_NUMBERS(0, 1, 2, 6, 3, 4, 5, 7));
    layout_run(&h, "ConcatV2", LAYOUT_INPUTS(a, a, layout_int(&h, -2)), NULL,
               0);
    layout_want(&h, 0, dtype, 2, tall,
                LAYOUT_NUMBERS(0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5));
    layout_run(&h, "Concat", LAYOUT_INPUTS(layout_int(&h, 1), b, a), NULL, 0);
    layout_want(&h, 0, dtype, 2, wide, LAYOUT_NUMBERS(6, 0, 1, 2, 7, 3, 4, 5));
}
END_TEST

START_TEST(concat_checks_its_inputs)
{
    const int64_t three = 3;
    eddy_tensor *a = layout_range(&h, EDDY_INT32, 0, 2, matrix);
    eddy_tensor *b = layout_range(&h, EDDY_INT32, 6, 2, column);
    eddy_tensor *c = layout_range(&h, EDDY_INT32, 0, 1, &three);
    eddy_tensor *s = layout_int(&h, 0);

    harness_want_error(&h, harness_run(&h, "ConcatV2", a, b, s),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h, harness_run(&h, "ConcatV2", a, c, s),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h, harness_run(&h, "ConcatV2", a, b, layout_int(&h, 2)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    harness_want_error(&h, harness_run(&h, "ConcatV2", s, s, s),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    harness_want_error(&h, harness_run(&h, "ConcatV2", a, a, c),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    harness_want_error(&h, harness_run(&h, "ConcatV2", a, s),
                       EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT);
}
END_TEST

START_TEST(pack_joins_along_a_new_axis)
{
    const int64_t front[] = {2, 2, 3}, middle[] = {2, 2, 3}, back[] = {2, 3, 2};
    const int64_t one = 1, minus = -1;
    eddy_dtype dtype = layout_dtype(_i);
    eddy_tensor *a = layout_range(&h, dtype, 0, 2, matrix);
    eddy_tensor *b = layout_range(&h, dtype, 6, 2, matrix);

    layout_run(&h, "Pack", LAYOUT_INPUTS(a, b), NULL, 0);
    layout_want(&h, 0, dtype, 3, front,
                LAYOUT_NUMBERS(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
    layout_run(&h, "Pack", LAYOUT_INPUTS(a, b),
               LAYOUT_ATTRS(eddy_attr_int("axis", &one)));
    layout_want(&h, 0, dtype, 3, middle,
                LAYOUT_NUMBERS(0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11));
    layout_run(&h, "Pack", LAYOUT_INPUTS(a, b),
               LAYOUT_ATTRS(eddy_attr_int("axis", &minus)));
    layout_want(&h, 0, dtype, 3, back,
                LAYOUT_NUMBERS(0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11));
}
END_TEST

START_TEST(pack_makes_a_vector_of_scalars)
{
    const int64_t three = 3;
    eddy_dtype dtype = layout_dtype(_i);
    eddy_tensor *a = layout_range(&h, dtype, 4, 0, NULL);

    layout_run(&h, "Pack",
               LAYOUT_INPUTS(a, layout_range(&h, dtype, 9, 0, NULL), a), NULL,
               0);
    layout_want(&h, 0, dtype, 1, &three, LAYOUT_NUMBERS(4, 9, 4));
}
END_TEST

START_TEST(pack_checks_its_inputs)
{
    const int64_t three = 3, deep[] = {1, 1, 1, 1, 1, 1, 1, 1};
    const eddy_attr axis = eddy_attr_int("axis", &three);
    eddy_tensor *a = layout_range(&h, EDDY_INT32, 0, 2, matrix);
    eddy_tensor *b = layout_range(&h, EDDY_INT32, 6, 2, column);
    eddy_tensor *c = layout_range(&h, EDDY_INT32, 6, 8, deep);

    harness_want_error(&h, harness_run(&h, "Pack", a, b), EDDY_INVALID_ARGUMENT,
                       EDDY_E_SHAPE);
    harness_want_error(
        &h, harness_run_attrs(&h, "Pack", LAYOUT_INPUTS(a, a), &axis, 1),
        EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    harness_want_error(&h, harness_run(&h, "Pack", c), EDDY_INVALID_ARGUMENT,
                       EDDY_E_RANK);
}
END_TEST

START_TEST(unpack_takes_apart_what_pack_made)
{
    const int64_t two = 2, three = 3, minus = -1;
    eddy_dtype dtype = layout_dtype(_i);
    eddy_tensor *x = layout_range(&h, dtype, 0, 2, matrix);

    layout_run(&h, "Unpack", LAYOUT_INPUTS(x),
               LAYOUT_ATTRS(eddy_attr_int("num", &two)));
    layout_want(&h, 0, dtype, 1, &three, LAYOUT_NUMBERS(0, 1, 2));
    layout_want(&h, 1, dtype, 1, &three, LAYOUT_NUMBERS(3, 4, 5));
    layout_run(&h, "Unpack", LAYOUT_INPUTS(x),
               LAYOUT_ATTRS(eddy_attr_int("num", &three),
                            eddy_attr_int("axis", &minus)));
    layout_want(&h, 1, dtype, 1, &two, LAYOUT_NUMBERS(1, 4));
    layout_run(&h, "Unpack", LAYOUT_INPUTS(layout_range(&h, dtype, 5, 1, &two)),
               LAYOUT_ATTRS(eddy_attr_int("num", &two)));
    layout_want(&h, 1, dtype, 0, NULL, LAYOUT_NUMBERS(6));
}
END_TEST

START_TEST(unpack_checks_its_input)
{
    const int64_t two = 2, three = 3, zero = 0;
    const eddy_attr n = eddy_attr_int("num", &three);
    const eddy_attr axis[] = {eddy_attr_int("num", &three),
                              eddy_attr_int("axis", &two)};
    eddy_tensor *x = layout_range(&h, EDDY_INT32, 0, 2, matrix);

    harness_want_error(&h,
                       harness_run_attrs(&h, "Unpack", LAYOUT_INPUTS(x), &n, 1),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(
        &h, harness_run_attrs(&h, "Unpack", LAYOUT_INPUTS(x), axis, 2),
        EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    harness_want_error(&h,
                       harness_run_attrs(&h, "Unpack",
                                         LAYOUT_INPUTS(layout_int(&h, 1)), &n,
                                         1),
                       EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    layout_run(&h, "Unpack",
               LAYOUT_INPUTS(layout_range(&h, EDDY_INT32, 0, 1, &zero)),
               LAYOUT_ATTRS(eddy_attr_int("num", &zero)));
    ck_assert_uint_eq(h.n_outputs, 0);
}
END_TEST

START_TEST(split_cuts_evenly)
{
    const int64_t three = 3, one = 1, column_dims[] = {2, 1};
    eddy_dtype dtype = layout_dtype(_i);
    eddy_tensor *x = layout_range(&h, dtype, 0, 2, matrix);

    layout_run(&h, "Split", LAYOUT_INPUTS(layout_int(&h, -1), x),
               LAYOUT_ATTRS(eddy_attr_int("num_split", &three)));
    layout_want(&h, 0, dtype, 2, column_dims, LAYOUT_NUMBERS(0, 3));
    layout_want(&h, 2, dtype, 2, column_dims, LAYOUT_NUMBERS(2, 5));
    layout_run(&h, "Split", LAYOUT_INPUTS(layout_int(&h, 0), x),
               LAYOUT_ATTRS(eddy_attr_int("num_split", &one)));
    layout_want(&h, 0, dtype, 2, matrix, LAYOUT_NUMBERS(0, 1, 2, 3, 4, 5));
}
END_TEST

START_TEST(split_checks_its_arguments)
{
    const int64_t two = 2;
    const eddy_attr n = eddy_attr_int("num_split", &two);
    eddy_tensor *x = layout_range(&h, EDDY_INT32, 0, 2, matrix);

    harness_want_error(&h,
                       harness_run_attrs(&h, "Split",
                                         LAYOUT_INPUTS(layout_int(&h, 1), x),
                                         &n, 1),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h,
                       harness_run_attrs(&h, "Split",
                                         LAYOUT_INPUTS(layout_int(&h, 2), x),
                                         &n, 1),
                       EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    harness_want_error(
        &h,
        harness_run_attrs(&h, "Split",
                          LAYOUT_INPUTS(layout_int(&h, 0), layout_int(&h, 0)),
                          &n, 1),
        EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
}
END_TEST

static eddy_status split_v(eddy_tensor *x, const int *sizes)
{
    const int64_t three = 3;
    const eddy_attr n = eddy_attr_int("num_split", &three);

    return harness_run_attrs(
        &h, "SplitV",
        LAYOUT_INPUTS(x, layout_ints(&h, 3, sizes), layout_int(&h, 1)), &n, 1);
}

START_TEST(split_v_cuts_where_it_is_told)
{
    const int64_t dims[] = {2, 5}, two[] = {2, 2}, empty[] = {2, 0};
    eddy_dtype dtype = layout_dtype(_i);

    ck_assert_int_eq(
        split_v(layout_range(&h, dtype, 0, 2, dims), LAYOUT_NUMBERS(3, -1, 0)),
        EDDY_OK);
    layout_want(&h, 0, dtype, 2, matrix, LAYOUT_NUMBERS(0, 1, 2, 5, 6, 7));
    layout_want(&h, 1, dtype, 2, two, LAYOUT_NUMBERS(3, 4, 8, 9));
    layout_want(&h, 2, dtype, 2, empty, NULL);
}
END_TEST

START_TEST(split_v_checks_its_sizes)
{
    static const struct {
        int sizes[3];
        eddy_detail detail;
    } cases[] = {{{1, 1, 2}, EDDY_E_SHAPE},
                 {{3, 1, -1}, EDDY_E_SHAPE},
                 {{-1, -1, 1}, EDDY_E_VALUE},
                 {{-2, 4, 1}, EDDY_E_VALUE},
                 {{2147483647, 2147483647, 1}, EDDY_E_SHAPE}};

    harness_want_error(
        &h,
        split_v(layout_range(&h, EDDY_INT32, 0, 2, matrix), cases[_i].sizes),
        EDDY_INVALID_ARGUMENT, cases[_i].detail);
}
END_TEST

TCase *ops_join_tests(void)
{
    TCase *tests = tcase_create("ops_join");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, concat_joins_along_an_axis, 0, LAYOUT_DTYPES);
    tcase_add_test(tests, concat_checks_its_inputs);
    tcase_add_loop_test(tests, pack_joins_along_a_new_axis, 0, LAYOUT_DTYPES);
    tcase_add_loop_test(tests, pack_makes_a_vector_of_scalars, 0,
                        LAYOUT_DTYPES);
    tcase_add_test(tests, pack_checks_its_inputs);
    tcase_add_loop_test(tests, unpack_takes_apart_what_pack_made, 0,
                        LAYOUT_DTYPES);
    tcase_add_test(tests, unpack_checks_its_input);
    tcase_add_loop_test(tests, split_cuts_evenly, 0, LAYOUT_DTYPES);
    tcase_add_test(tests, split_checks_its_arguments);
    tcase_add_loop_test(tests, split_v_cuts_where_it_is_told, 0, LAYOUT_DTYPES);
    tcase_add_loop_test(tests, split_v_checks_its_sizes, 0, 5);
    return tests;
}
