/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

static const int64_t matrix[] = {2, 3}, turned[] = {3, 2}, cube[] = {2, 3, 2};

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__permute_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

/* _i is a dtype, in this and all tests that say `every dtype`. */
START_TEST(transpose_swaps_a_matrix_of_every_dtype)
{
    eddy_dtype dtype = layout_dtype(_i);
    eddy_tensor *x = layout_range(&h, dtype, 0, 2, matrix);

    ck_assert_int_eq(
        harness_run(&h, "Transpose", x, harness_vector(&h, EDDY_INT64, 1, 0)),
        EDDY_OK);
    layout_want(&h, 0, dtype, 2, turned, LAYOUT_NUMBERS(0, 3, 1, 4, 2, 5));
    ck_assert_int_eq(
        harness_run(&h, "Transpose", x, harness_vector(&h, EDDY_INT32, -1, -2)),
        EDDY_OK);
    layout_want(&h, 0, dtype, 2, turned, LAYOUT_NUMBERS(0, 3, 1, 4, 2, 5));
}
END_TEST

/* Real numbers as Transpose; complex ones are turned, in place too. */
START_TEST(conjugate_transpose_turns_every_dtype)
{
    eddy_dtype dtype = layout_dtype(_i);
    eddy_tensor *x = layout_range(&h, dtype, 0, 2, matrix);

    if (eddy__dtype_is_complex(dtype))
        return;
    ck_assert_int_eq(harness_run(&h, "ConjugateTranspose", x,
                                 harness_vector(&h, EDDY_INT64, 1, 0)),
                     EDDY_OK);
    layout_want(&h, 0, dtype, 2, turned, LAYOUT_NUMBERS(0, 3, 1, 4, 2, 5));
}
END_TEST

START_TEST(conjugate_transpose_negates_imaginary_parts)
{
    static const float x[] = {1, 2, 3, -4, 5, 6, 7, 8, 9, 10, 11, 12};
    static const float y[] = {1, -2, 7, -8, 3, 4, 9, -10, 5, -6, 11, -12};
    static const float z[] = {1, -2, 3, 4, 5, -6, 7, -8, 9, -10, 11, -12};
    eddy_tensor *of = harness_tensor(&h, EDDY_COMPLEX64, 2, matrix, x);
    double wide[12];

    for (int i = 0; i < 12; i++)
        wide[i] = (double)x[i];
    ck_assert_int_eq(harness_run(&h, "ConjugateTranspose", of,
                                 harness_vector(&h, EDDY_INT32, 1, 0)),
                     EDDY_OK);
    harness_want(&h, 0, EDDY_COMPLEX64, 2, turned);
    ck_assert_mem_eq(eddy_tensor_data(h.outputs[0]), y, sizeof y);
    ck_assert_int_eq(harness_run(&h, "ConjugateTranspose", of,
                                 harness_vector(&h, EDDY_INT32, 0, 1)),
                     EDDY_OK);
    ck_assert_mem_eq(eddy_tensor_data(h.outputs[0]), z, sizeof z);
    ck_assert_int_eq(harness_run(&h, "ConjugateTranspose",
                                 harness_tensor(&h, EDDY_COMPLEX64, 0, NULL, x),
                                 layout_ints(&h, 0, NULL)),
                     EDDY_OK);
    ck_assert_mem_eq(eddy_tensor_data(h.outputs[0]), y, 2 * sizeof *y);
    ck_assert_int_eq(
        harness_run(&h, "ConjugateTranspose",
                    harness_tensor(&h, EDDY_COMPLEX128, 2, matrix, wide),
                    harness_vector(&h, EDDY_INT32, 1, 0)),
        EDDY_OK);
    for (int i = 0; i < 12; i++)
        ck_assert_double_eq(((const double *)h.outputs[0]->data)[i],
                            (double)y[i]);
}
END_TEST

/* Against element by element arithmetic. */
static void check_permutation(const int *perm)
{
    const int64_t dims[] = {3, 2, 5, 4}, stride[] = {40, 20, 4, 1};
    int64_t to[4];
    int numbers[120];

    for (int d = 0; d < 4; d++)
        to[d] = dims[perm[d]];
    for (int i = 0; i < 120; i++) {
        int64_t rest = i, at = 0;

        for (int d = 3; d >= 0; d--) {
            at += rest % to[d] * stride[perm[d]];
            rest /= to[d];
        }
        numbers[i] = (int)at;
    }
    layout_run(&h, "Transpose",
               LAYOUT_INPUTS(layout_range(&h, EDDY_INT16, 0, 4, dims),
                             layout_ints(&h, 4, perm)),
               NULL, 0);
    layout_want(&h, 0, EDDY_INT16, 4, to, numbers);
}

START_TEST(transpose_takes_four_dimensions_in_any_order)
{
    int n = 0;

    for (int code = 0; code < 256; code++) {
        int perm[] = {code % 4, code / 4 % 4, code / 16 % 4, code / 64};
        int seen = 0;

        for (int d = 0; d < 4; d++)
            seen |= 1 << perm[d];
        if (seen != 15)
            continue;
        check_permutation(perm);
        n++;
    }
    ck_assert_int_eq(n, 24);
}
END_TEST

/* Large enough for several blocks, with edges that are no whole block. */
START_TEST(transpose_works_in_blocks)
{
    const int64_t dims[] = {70, 67}, to[] = {67, 70};
    int numbers[70 * 67];

    for (int i = 0; i < 70 * 67; i++)
        numbers[i] = i % 70 * 67 + i / 70;
    ck_assert_int_eq(harness_run(&h, "Transpose",
                                 layout_range(&h, EDDY_FLOAT32, 0, 2, dims),
                                 layout_ints(&h, 2, LAYOUT_NUMBERS(1, 0))),
                     EDDY_OK);
    layout_want(&h, 0, EDDY_FLOAT32, 2, to, numbers);
}
END_TEST

START_TEST(transpose_takes_scalars_and_empty_tensors)
{
    const int64_t dims[] = {0, 3}, to[] = {3, 0};

    ck_assert_int_eq(harness_run(&h, "Transpose",
                                 layout_range(&h, EDDY_FLOAT32, 7, 0, NULL),
                                 layout_ints(&h, 0, NULL)),
                     EDDY_OK);
    layout_want(&h, 0, EDDY_FLOAT32, 0, NULL, LAYOUT_NUMBERS(7));
    ck_assert_int_eq(harness_run(&h, "Transpose",
                                 layout_range(&h, EDDY_STRING, 0, 2, dims),
                                 layout_ints(&h, 2, LAYOUT_NUMBERS(1, 0))),
                     EDDY_OK);
    layout_want(&h, 0, EDDY_STRING, 2, to, NULL);
}
END_TEST

START_TEST(transpose_refuses_what_is_no_permutation)
{
    static const struct {
        int n, perm[3];
        eddy_detail detail;
    } cases[] = {
        {2, {0, 2}, EDDY_E_INDEX}, {2, {0, -3}, EDDY_E_INDEX},
        {2, {1, 1}, EDDY_E_VALUE}, {2, {1, -1}, EDDY_E_VALUE},
        {1, {0}, EDDY_E_SHAPE},    {3, {0, 1, 2}, EDDY_E_SHAPE},
    };

    harness_want_error(
        &h,
        harness_run(&h, "Transpose", layout_range(&h, EDDY_INT32, 0, 2, matrix),
                    layout_ints(&h, cases[_i].n, cases[_i].perm)),
        EDDY_INVALID_ARGUMENT, cases[_i].detail);
}
END_TEST

START_TEST(reverse_turns_every_dtype)
{
    eddy_dtype dtype = layout_dtype(_i);
    eddy_tensor *x = layout_range(&h, dtype, 0, 3, cube);

    layout_run(&h, "ReverseV2",
               LAYOUT_INPUTS(x, layout_ints(&h, 2, LAYOUT_NUMBERS(1, -1))),
               NULL, 0);
    layout_want(&h, 0, dtype, 3, cube,
                LAYOUT_NUMBERS(5, 4, 3, 2, 1, 0, 11, 10, 9, 8, 7, 6));
    layout_run(&h, "ReverseV2",
               LAYOUT_INPUTS(x, layout_ints(&h, 1, LAYOUT_NUMBERS(0))), NULL,
               0);
    layout_want(&h, 0, dtype, 3, cube,
                LAYOUT_NUMBERS(6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5));
}
END_TEST

START_TEST(reverse_takes_a_flag_a_dimension)
{
    const eddy_dtype dtype = layout_dtype(_i);
    eddy_tensor *x = layout_range(&h, dtype, 0, 3, cube);
    eddy_tensor *dims = harness_vector(&h, EDDY_BOOL, 0, 1, 1);

    layout_run(&h, "Reverse", LAYOUT_INPUTS(x, dims), NULL, 0);
    layout_want(&h, 0, dtype, 3, cube,
                LAYOUT_NUMBERS(5, 4, 3, 2, 1, 0, 11, 10, 9, 8, 7, 6));
}
END_TEST

START_TEST(reverse_checks_its_axes)
{
    eddy_tensor *x = layout_range(&h, EDDY_INT32, 0, 2, matrix);

    harness_want_error(
        &h, harness_run(&h, "Reverse", x, harness_vector(&h, EDDY_BOOL, 1)),
        EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(
        &h, harness_run(&h, "Reverse", x, harness_scalar(&h, EDDY_BOOL, 1)),
        EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);

    harness_want_error(
        &h,
        harness_run(&h, "ReverseV2", x, layout_ints(&h, 1, LAYOUT_NUMBERS(2))),
        EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    harness_want_error(&h,
                       harness_run(&h, "ReverseV2", x,
                                   layout_ints(&h, 2, LAYOUT_NUMBERS(1, -1))),
                       EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    harness_want_error(&h, harness_run(&h, "ReverseV2", x, layout_int(&h, 0)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
}
END_TEST

START_TEST(roll_moves_every_dtype_around)
{
    eddy_dtype dtype = layout_dtype(_i);
    eddy_tensor *x = layout_range(&h, dtype, 0, 2, matrix);

    layout_run(&h, "Roll",
               LAYOUT_INPUTS(x, layout_int(&h, 1), layout_int(&h, -1)), NULL,
               0);
    layout_want(&h, 0, dtype, 2, matrix, LAYOUT_NUMBERS(2, 0, 1, 5, 3, 4));
    layout_run(&h, "Roll",
               LAYOUT_INPUTS(x, layout_ints(&h, 3, LAYOUT_NUMBERS(1, -5, 3)),
                             layout_ints(&h, 3, LAYOUT_NUMBERS(0, 1, 1))),
               NULL, 0);
    /* -5 and 3 along the same axis are -2, which is 1. */
    layout_want(&h, 0, dtype, 2, matrix, LAYOUT_NUMBERS(5, 3, 4, 2, 0, 1));
}
END_TEST

START_TEST(roll_checks_its_arguments)
{
    eddy_tensor *x = layout_range(&h, EDDY_INT32, 0, 2, matrix);

    harness_want_error(
        &h, harness_run(&h, "Roll", x, layout_int(&h, 1), layout_int(&h, 2)),
        EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    harness_want_error(&h,
                       harness_run(&h, "Roll", x, layout_int(&h, 1),
                                   layout_ints(&h, 2, LAYOUT_NUMBERS(0, 1))),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h,
                       harness_run(&h, "Roll", layout_int(&h, 1),
                                   layout_int(&h, 1), layout_int(&h, 0)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

START_TEST(tile_repeats_every_dtype)
{
    const int64_t wide[] = {2, 6}, tall[] = {4, 3};
    eddy_dtype dtype = layout_dtype(_i);
    eddy_tensor *x = layout_range(&h, dtype, 0, 2, matrix);

    layout_run(&h, "Tile",
               LAYOUT_INPUTS(x, layout_ints(&h, 2, LAYOUT_NUMBERS(1, 2))), NULL,
               0);
    layout_want(&h, 0, dtype, 2, wide,
                LAYOUT_NUMBERS(0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5));
    layout_run(&h, "Tile",
               LAYOUT_INPUTS(x, layout_ints(&h, 2, LAYOUT_NUMBERS(2, 1))), NULL,
               0);
    layout_want(&h, 0, dtype, 2, tall,
                LAYOUT_NUMBERS(0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5));
}
END_TEST

START_TEST(tile_takes_eight_dimensions)
{
    const int64_t dims[] = {1, 2, 1, 1, 2, 1, 1, 1};
    const int64_t to[] = {2, 2, 2, 1, 4, 1, 1, 2};
    const int multiples[] = {2, 1, 2, 1, 2, 1, 1, 2};
    int numbers[64];

    for (int i = 0; i < 64; i++)
        numbers[i] = i / 16 % 2 * 2 + i / 2 % 2;
    layout_run(&h, "Tile",
               LAYOUT_INPUTS(layout_range(&h, EDDY_FLOAT64, 0, 8, dims),
                             layout_ints(&h, 8, multiples)),
               NULL, 0);
    layout_want(&h, 0, EDDY_FLOAT64, 8, to, numbers);
}
END_TEST

START_TEST(tile_checks_sizes)
{
    const int64_t large = (int64_t)1 << 62, none[] = {0, 3};
    eddy_tensor *x = layout_range(&h, EDDY_INT32, 0, 2, matrix);
    eddy_tensor *multiples = harness_tensor(&h, EDDY_INT64, HARNESS_DIMS(2),
                                            (const int64_t[]){large, 1});

    harness_want_error(
        &h,
        harness_run(&h, "Tile", x, layout_ints(&h, 2, LAYOUT_NUMBERS(1, -1))),
        EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    harness_want_error(
        &h, harness_run(&h, "Tile", x, layout_ints(&h, 1, LAYOUT_NUMBERS(1))),
        EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h, harness_run(&h, "Tile", x, multiples),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SIZE);
    ((int64_t *)multiples->data)[0] = large / 8;
    harness_want_error(&h, harness_run(&h, "Tile", x, multiples),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SIZE);
    layout_run(&h, "Tile",
               LAYOUT_INPUTS(x, layout_ints(&h, 2, LAYOUT_NUMBERS(0, 1))), NULL,
               0);
    layout_want(&h, 0, EDDY_INT32, 2, none, NULL);
}
END_TEST

START_TEST(broadcast_repeats_every_dtype)
{
    const int64_t column[] = {2, 1}, to[] = {2, 2, 3};
    eddy_dtype dtype = layout_dtype(_i);

    layout_run(&h, "BroadcastTo",
               LAYOUT_INPUTS(layout_range(&h, dtype, 4, 2, column),
                             layout_ints(&h, 3, LAYOUT_NUMBERS(2, 2, 3))),
               NULL, 0);
    layout_want(&h, 0, dtype, 3, to,
                LAYOUT_NUMBERS(4, 4, 4, 5, 5, 5, 4, 4, 4, 5, 5, 5));
    layout_run(&h, "BroadcastTo",
               LAYOUT_INPUTS(layout_range(&h, dtype, 4, 0, NULL),
                             layout_ints(&h, 2, LAYOUT_NUMBERS(2, 3))),
               NULL, 0);
    layout_want(&h, 0, dtype, 2, matrix, LAYOUT_NUMBERS(4, 4, 4, 4, 4, 4));
}
END_TEST

START_TEST(broadcast_checks_shapes)
{
    eddy_tensor *x = layout_range(&h, EDDY_INT32, 0, 2, matrix);

    harness_want_error(&h,
                       harness_run(&h, "BroadcastTo", x,
                                   layout_ints(&h, 2, LAYOUT_NUMBERS(2, 4))),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h,
                       harness_run(&h, "BroadcastTo", x,
                                   layout_ints(&h, 1, LAYOUT_NUMBERS(3))),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h,
                       harness_run(&h, "BroadcastTo", x,
                                   layout_ints(&h, 2, LAYOUT_NUMBERS(-1, 3))),
                       EDDY_INVALID_ARGUMENT, EDDY_E_DIM);
}
END_TEST

START_TEST(permutations_are_inverted)
{
    const int64_t four = 4;
    eddy_dtype dtype = _i == 0 ? EDDY_INT32 : EDDY_INT64;

    ck_assert_int_eq(harness_run(&h, "InvertPermutation",
                                 harness_vector(&h, dtype, 3, 0, 1, 2)),
                     EDDY_OK);
    layout_want(&h, 0, dtype, 1, &four, LAYOUT_NUMBERS(1, 2, 3, 0));
    harness_want_error(
        &h,
        harness_run(&h, "InvertPermutation", harness_vector(&h, dtype, 0, 2)),
        EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    harness_want_error(
        &h,
        harness_run(&h, "InvertPermutation", harness_vector(&h, dtype, 0, 0)),
        EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
}
END_TEST

TCase *ops_permute_tests(void)
{
    TCase *tests = tcase_create("ops_permute");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, transpose_swaps_a_matrix_of_every_dtype, 0,
                        LAYOUT_DTYPES);
    tcase_add_loop_test(tests, conjugate_transpose_turns_every_dtype, 0,
                        LAYOUT_DTYPES);
    tcase_add_test(tests, conjugate_transpose_negates_imaginary_parts);
    tcase_add_test(tests, transpose_takes_four_dimensions_in_any_order);
    tcase_add_test(tests, transpose_works_in_blocks);
    tcase_add_test(tests, transpose_takes_scalars_and_empty_tensors);
    tcase_add_loop_test(tests, transpose_refuses_what_is_no_permutation, 0, 6);
    tcase_add_loop_test(tests, reverse_turns_every_dtype, 0, LAYOUT_DTYPES);
    tcase_add_loop_test(tests, reverse_takes_a_flag_a_dimension, 0,
                        LAYOUT_DTYPES);
    tcase_add_test(tests, reverse_checks_its_axes);
    tcase_add_loop_test(tests, roll_moves_every_dtype_around, 0, LAYOUT_DTYPES);
    tcase_add_test(tests, roll_checks_its_arguments);
    tcase_add_loop_test(tests, tile_repeats_every_dtype, 0, LAYOUT_DTYPES);
    tcase_add_test(tests, tile_takes_eight_dimensions);
    tcase_add_test(tests, tile_checks_sizes);
    tcase_add_loop_test(tests, broadcast_repeats_every_dtype, 0, LAYOUT_DTYPES);
    tcase_add_test(tests, broadcast_checks_shapes);
    tcase_add_loop_test(tests, permutations_are_inverted, 0, 2);
    return tests;
}
