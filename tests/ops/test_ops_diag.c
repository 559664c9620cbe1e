/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

#include <string.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__diag_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

/* 1 2 3 4 / 5 6 7 8 / 9 10 11 12 */
static const int64_t matrix[] = {3, 4};

static const char *const aligns[] = {"RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT",
                                     "RIGHT_RIGHT"};

/* The diagonals 2 to -1, padded with 99, in the order of `aligns`. */
static const int bands[4][12] = {
    {99, 3, 8, 2, 7, 12, 1, 6, 11, 5, 10, 99},
    {3, 8, 99, 2, 7, 12, 1, 6, 11, 99, 5, 10},
    {3, 8, 99, 2, 7, 12, 1, 6, 11, 5, 10, 99},
    {99, 3, 8, 2, 7, 12, 1, 6, 11, 99, 5, 10},
};

static eddy_status take(eddy_tensor *x, eddy_tensor *k, const char *align)
{
    const eddy_string text = {align, strlen(align)};
    const eddy_attr attr = eddy_attr_string("align", &text);
    eddy_tensor *padding = layout_range(&h, (eddy_dtype)x->dtype, 99, 0, NULL);

    return harness_run_attrs(&h, "MatrixDiagPartV3",
                             LAYOUT_INPUTS(x, k, padding), &attr, 1);
}

static eddy_status make(eddy_tensor *diagonal, eddy_tensor *k, int rows,
                        int columns, const char *align)
{
    const eddy_string text = {align, strlen(align)};
    const eddy_attr attr = eddy_attr_string("align", &text);
    eddy_tensor *padding =
        layout_range(&h, (eddy_dtype)diagonal->dtype, 0, 0, NULL);

    return harness_run_attrs(&h, "MatrixDiagV3",
                             LAYOUT_INPUTS(diagonal, k, layout_int(&h, rows),
                                           layout_int(&h, columns), padding),
                             &attr, 1);
}

START_TEST(a_diagonal_of_every_dtype_is_taken)
{
    static const struct {
        int k;
        int64_t n;
        int numbers[3];
    } cases[] = {{0, 3, {1, 6, 11}},
                 {1, 3, {2, 7, 12}},
                 {3, 1, {4}},
                 {-2, 1, {9}},
                 {-1, 2, {5, 10}}};
    eddy_dtype dtype = layout_dtype(_i);

    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(take(layout_range(&h, dtype, 1, 2, matrix),
                              layout_int(&h, cases[i].k), "RIGHT_LEFT"),
                         EDDY_OK);
        layout_want(&h, 0, dtype, 1, &cases[i].n, cases[i].numbers);
    }
}
END_TEST

START_TEST(a_band_is_aligned)
{
    const int64_t to[] = {4, 3};

    for (int d = 0; d < LAYOUT_DTYPES; d++) {
        ck_assert_int_eq(take(layout_range(&h, layout_dtype(d), 1, 2, matrix),
                              layout_ints(&h, 2, LAYOUT_NUMBERS(-1, 2)),
                              aligns[_i]),
                         EDDY_OK);
        layout_want(&h, 0, layout_dtype(d), 2, to, bands[_i]);
    }
}
END_TEST

START_TEST(diagonals_of_a_batch_are_taken)
{
    const int64_t dims[] = {2, 2, 3}, one[] = {2, 2}, to[] = {2, 2, 2};

    ck_assert_int_eq(take(layout_range(&h, EDDY_FLOAT32, 0, 3, dims),
                          layout_ints(&h, 1, LAYOUT_NUMBERS(1)), "RIGHT_LEFT"),
                     EDDY_OK);
    layout_want(&h, 0, EDDY_FLOAT32, 2, one, LAYOUT_NUMBERS(1, 5, 7, 11));
    ck_assert_int_eq(take(layout_range(&h, EDDY_FLOAT32, 0, 3, dims),
                          layout_ints(&h, 2, LAYOUT_NUMBERS(-1, 0)),
                          "RIGHT_LEFT"),
                     EDDY_OK);
    layout_want(&h, 0, EDDY_FLOAT32, 3, to,
                LAYOUT_NUMBERS(0, 4, 3, 99, 6, 10, 9, 99));
}
END_TEST

START_TEST(diagonals_of_nothing_are_nothing)
{
    const int64_t dims[] = {0, 3}, none = 0, empty[] = {0, 0};

    ck_assert_int_eq(take(layout_range(&h, EDDY_INT32, 0, 2, dims),
                          layout_int(&h, 0), "RIGHT_LEFT"),
                     EDDY_OK);
    layout_want(&h, 0, EDDY_INT32, 1, &none, NULL);
    ck_assert_int_eq(make(layout_range(&h, EDDY_INT32, 0, 1, &none),
                          layout_int(&h, 0), -1, -1, "RIGHT_LEFT"),
                     EDDY_OK);
    layout_want(&h, 0, EDDY_INT32, 2, empty, NULL);
}
END_TEST

START_TEST(bad_diagonals_are_refused)
{
    static const struct {
        int n, k[3];
        eddy_detail detail;
    } cases[] = {
        {1, {4}, EDDY_E_INDEX},
        {1, {-3}, EDDY_E_INDEX},
        {2, {0, 4}, EDDY_E_INDEX},
        {2, {1, 0}, EDDY_E_VALUE},
        {0, {0}, EDDY_E_SHAPE},
        {3, {0, 0, 0}, EDDY_E_SHAPE},
        {2, {-2147483647, 2147483647}, EDDY_E_INDEX},
    };

    harness_want_error(&h,
                       take(layout_range(&h, EDDY_INT32, 1, 2, matrix),
                            layout_ints(&h, cases[_i].n, cases[_i].k),
                            "RIGHT_LEFT"),
                       EDDY_INVALID_ARGUMENT, cases[_i].detail);
}
END_TEST

START_TEST(bad_arguments_are_refused)
{
    eddy_tensor *x = layout_range(&h, EDDY_INT32, 1, 2, matrix);

    harness_want_error(&h, take(x, layout_int(&h, 0), "MIDDLE"),
                       EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE);
    harness_want_error(&h,
                       take(layout_int(&h, 0), layout_int(&h, 0), "RIGHT_LEFT"),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    harness_want_error(
        &h, harness_run(&h, "MatrixDiagPartV3", x, layout_int(&h, 0), x),
        EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
}
END_TEST

START_TEST(a_diagonal_of_every_dtype_makes_a_matrix)
{
    const int64_t two = 2, square[] = {2, 2}, large[] = {3, 3};
    eddy_dtype dtype = layout_dtype(_i);
    eddy_tensor *x = layout_range(&h, dtype, 1, 1, &two);

    ck_assert_int_eq(make(x, layout_int(&h, 0), -1, -1, "RIGHT_LEFT"), EDDY_OK);
    layout_want(&h, 0, dtype, 2, square, LAYOUT_NUMBERS(1, 0, 0, 2));
    ck_assert_int_eq(make(x, layout_int(&h, -1), -1, -1, "RIGHT_LEFT"),
                     EDDY_OK);
    layout_want(&h, 0, dtype, 2, large,
                LAYOUT_NUMBERS(0, 0, 0, 1, 0, 0, 0, 2, 0));
    ck_assert_int_eq(make(x, layout_int(&h, 1), 2, -1, "RIGHT_LEFT"), EDDY_OK);
    layout_want(&h, 0, dtype, 2, (const int64_t[]){2, 3},
                LAYOUT_NUMBERS(0, 1, 0, 0, 0, 2));
}
END_TEST

/* What was taken as a band goes back to where it was. */
START_TEST(a_band_goes_back)
{
    const int64_t dims[] = {4, 3};

    ck_assert_int_eq(make(layout_tensor(&h, EDDY_INT32, 2, dims, bands[_i]),
                          layout_ints(&h, 2, LAYOUT_NUMBERS(-1, 2)), 3, 4,
                          aligns[_i]),
                     EDDY_OK);
    layout_want(&h, 0, EDDY_INT32, 2, matrix,
                LAYOUT_NUMBERS(1, 2, 3, 0, 5, 6, 7, 8, 0, 10, 11, 12));
}
END_TEST

START_TEST(a_matrix_must_hold_its_diagonals)
{
    const int64_t two = 2;
    eddy_tensor *x = layout_range(&h, EDDY_INT32, 1, 1, &two);

    harness_want_error(&h, make(x, layout_int(&h, 0), 1, -1, "RIGHT_LEFT"),
                       EDDY_INVALID_ARGUMENT, EDDY_E_DIM);
    harness_want_error(&h, make(x, layout_int(&h, 0), 3, 3, "RIGHT_LEFT"),
                       EDDY_INVALID_ARGUMENT, EDDY_E_DIM);
    harness_want_error(&h, make(x, layout_int(&h, 0), -2, -1, "RIGHT_LEFT"),
                       EDDY_INVALID_ARGUMENT, EDDY_E_DIM);
    harness_want_error(
        &h,
        make(x, layout_ints(&h, 2, LAYOUT_NUMBERS(0, 1)), -1, -1, "RIGHT_LEFT"),
        EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(
        &h, make(layout_int(&h, 1), layout_int(&h, 0), -1, -1, "RIGHT_LEFT"),
        EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

START_TEST(band_part_keeps_what_is_near)
{
    eddy_dtype dtype = layout_dtype(_i);
    eddy_tensor *x = layout_range(&h, dtype, 1, 2, matrix);

    layout_run(&h, "MatrixBandPart",
               LAYOUT_INPUTS(x, harness_scalar(&h, EDDY_INT64, 1),
                             harness_scalar(&h, EDDY_INT64, 0)),
               NULL, 0);
    layout_want(&h, 0, dtype, 2, matrix,
                LAYOUT_NUMBERS(1, 0, 0, 0, 5, 6, 0, 0, 0, 10, 11, 0));
    layout_run(&h, "MatrixBandPart",
               LAYOUT_INPUTS(x, harness_scalar(&h, EDDY_INT64, 0),
                             harness_scalar(&h, EDDY_INT64, -1)),
               NULL, 0);
    layout_want(&h, 0, dtype, 2, matrix,
                LAYOUT_NUMBERS(1, 2, 3, 4, 0, 6, 7, 8, 0, 0, 11, 12));
    harness_want_error(&h,
                       harness_run(&h, "MatrixBandPart", x,
                                   harness_scalar(&h, EDDY_INT32, 4),
                                   harness_scalar(&h, EDDY_INT32, 0)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
}
END_TEST

/* ---- the first and second versions, and MatrixSetDiag ---- */

START_TEST(first_versions_know_the_main_diagonal)
{
    const int64_t three = 3, square[] = {3, 3}, two[] = {2, 2};
    const int64_t deep[] = {2, 2, 2}, batch[] = {2, 2, 3};
    eddy_dtype dtype = layout_dtype(_i);
    eddy_tensor *x = layout_range(&h, dtype, 1, 2, matrix);

    layout_run(&h, "MatrixDiagPart", LAYOUT_INPUTS(x), NULL, 0);
    layout_want(&h, 0, dtype, 1, &three, LAYOUT_NUMBERS(1, 6, 11));
    layout_run(&h, "MatrixDiagPart",
               LAYOUT_INPUTS(layout_range(&h, dtype, 0, 3, batch)), NULL, 0);
    layout_want(&h, 0, dtype, 2, two, LAYOUT_NUMBERS(0, 4, 6, 10));
    layout_run(&h, "MatrixSetDiag",
               LAYOUT_INPUTS(x, layout_range(&h, dtype, 20, 1, &three)), NULL,
               0);
    layout_want(&h, 0, dtype, 2, matrix,
                LAYOUT_NUMBERS(20, 2, 3, 4, 5, 21, 7, 8, 9, 10, 22, 12));
    if (dtype == EDDY_STRING) /* there 0 is a text, not an empty one */
        return;
    layout_run(&h, "MatrixDiag",
               LAYOUT_INPUTS(layout_range(&h, dtype, 1, 1, &three)), NULL, 0);
    layout_want(&h, 0, dtype, 2, square,
                LAYOUT_NUMBERS(1, 0, 0, 0, 2, 0, 0, 0, 3));
    layout_run(&h, "MatrixDiag",
               LAYOUT_INPUTS(layout_range(&h, dtype, 1, 2, two)), NULL, 0);
    layout_want(&h, 0, dtype, 3, deep, LAYOUT_NUMBERS(1, 0, 0, 2, 3, 0, 0, 4));
}
END_TEST

START_TEST(second_versions_are_aligned_on_the_left)
{
    const int64_t to[] = {4, 3};
    eddy_dtype dtype = layout_dtype(_i);
    eddy_tensor *x = layout_range(&h, dtype, 1, 2, matrix);
    eddy_tensor *k = layout_ints(&h, 2, LAYOUT_NUMBERS(-1, 2));
    eddy_tensor *band = layout_tensor(&h, dtype, 2, to, bands[2]);

    layout_run(&h, "MatrixDiagPartV2",
               LAYOUT_INPUTS(x, k, layout_range(&h, dtype, 99, 0, NULL)), NULL,
               0);
    layout_want(&h, 0, dtype, 2, to, bands[2]);
    layout_run(&h, "MatrixDiagV2",
               LAYOUT_INPUTS(band, k, layout_int(&h, 3), layout_int(&h, 4),
                             layout_range(&h, dtype, 0, 0, NULL)),
               NULL, 0);
    layout_want(&h, 0, dtype, 2, matrix,
                LAYOUT_NUMBERS(1, 2, 3, 0, 5, 6, 7, 8, 0, 10, 11, 12));
    layout_run(&h, "MatrixSetDiagV2", LAYOUT_INPUTS(x, band, k), NULL, 0);
    layout_want(&h, 0, dtype, 2, matrix,
                LAYOUT_NUMBERS(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
}
END_TEST

static eddy_status set(eddy_tensor *x, eddy_tensor *diagonal, eddy_tensor *k,
                       const char *align)
{
    const eddy_string text = {align, strlen(align)};
    const eddy_attr attr = eddy_attr_string("align", &text);

    return harness_run_attrs(&h, "MatrixSetDiagV3",
                             LAYOUT_INPUTS(x, diagonal, k), &attr, 1);
}

START_TEST(a_band_is_set)
{
    static const int zeros[12] = {0};
    const int64_t to[] = {4, 3}, two = 2;

    for (int d = 0; d < LAYOUT_DTYPES; d++) {
        const eddy_dtype dtype = layout_dtype(d);
        eddy_tensor *x = layout_tensor(&h, dtype, 2, matrix, zeros);

        ck_assert_int_eq(set(x, layout_tensor(&h, dtype, 2, to, bands[_i]),
                             layout_ints(&h, 2, LAYOUT_NUMBERS(-1, 2)),
                             aligns[_i]),
                         EDDY_OK);
        layout_want(&h, 0, dtype, 2, matrix,
                    LAYOUT_NUMBERS(1, 2, 3, 0, 5, 6, 7, 8, 0, 10, 11, 12));
        ck_assert_int_eq(set(x, layout_range(&h, dtype, 5, 1, &two),
                             layout_int(&h, 2), aligns[_i]),
                         EDDY_OK);
        layout_want(&h, 0, dtype, 2, matrix,
                    LAYOUT_NUMBERS(0, 0, 5, 0, 0, 0, 0, 6, 0, 0, 0, 0));
    }
}
END_TEST

START_TEST(diagonals_of_a_batch_are_set)
{
    const int64_t dims[] = {1, 1, 1, 1, 1, 2, 2, 2};
    const int64_t diagonals[] = {1, 1, 1, 1, 1, 2, 2};
    const int64_t none[] = {2, 0, 3}, empty[] = {2, 0};

    ck_assert_int_eq(set(layout_range(&h, EDDY_INT32, 0, 8, dims),
                         layout_range(&h, EDDY_INT32, 20, 7, diagonals),
                         layout_int(&h, 0), "LEFT_RIGHT"),
                     EDDY_OK);
    layout_want(&h, 0, EDDY_INT32, 8, dims,
                LAYOUT_NUMBERS(20, 1, 2, 21, 22, 5, 6, 23));
    ck_assert_int_eq(set(layout_range(&h, EDDY_INT32, 0, 3, none),
                         layout_range(&h, EDDY_INT32, 0, 2, empty),
                         layout_int(&h, 0), "LEFT_RIGHT"),
                     EDDY_OK);
    layout_want(&h, 0, EDDY_INT32, 3, none, NULL);
}
END_TEST

START_TEST(diagonals_that_do_not_fit_are_not_set)
{
    const int64_t three = 3, two = 2, rows[] = {2, 3};
    eddy_tensor *x = layout_range(&h, EDDY_INT32, 0, 2, matrix);
    eddy_tensor *line = layout_range(&h, EDDY_INT32, 0, 1, &three);
    eddy_tensor *both = layout_range(&h, EDDY_INT32, 0, 2, rows);
    eddy_tensor *main_one = layout_int(&h, 0);

    harness_want_error(
        &h,
        set(x, layout_range(&h, EDDY_INT32, 0, 1, &two), main_one, "LEFT_LEFT"),
        EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h, set(x, both, main_one, "LEFT_LEFT"),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h, set(line, line, main_one, "LEFT_LEFT"),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    harness_want_error(&h, set(x, line, layout_int(&h, 4), "LEFT_LEFT"),
                       EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    harness_want_error(
        &h, set(x, line, layout_ints(&h, 2, LAYOUT_NUMBERS(1, 0)), "LEFT_LEFT"),
        EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
}
END_TEST

TCase *ops_diag_tests(void)
{
    TCase *tests = tcase_create("ops_diag");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, a_diagonal_of_every_dtype_is_taken, 0,
                        LAYOUT_DTYPES);
    tcase_add_loop_test(tests, a_band_is_aligned, 0, 4);
    tcase_add_test(tests, diagonals_of_a_batch_are_taken);
    tcase_add_test(tests, diagonals_of_nothing_are_nothing);
    tcase_add_loop_test(tests, bad_diagonals_are_refused, 0, 7);
    tcase_add_test(tests, bad_arguments_are_refused);
    tcase_add_loop_test(tests, a_diagonal_of_every_dtype_makes_a_matrix, 0,
                        LAYOUT_DTYPES);
    tcase_add_loop_test(tests, a_band_goes_back, 0, 4);
    tcase_add_test(tests, a_matrix_must_hold_its_diagonals);
    tcase_add_loop_test(tests, band_part_keeps_what_is_near, 0, LAYOUT_DTYPES);
    tcase_add_loop_test(tests, first_versions_know_the_main_diagonal, 0,
                        LAYOUT_DTYPES);
    tcase_add_loop_test(tests, second_versions_are_aligned_on_the_left, 0,
                        LAYOUT_DTYPES);
    tcase_add_loop_test(tests, a_band_is_set, 0, 4);
    tcase_add_test(tests, diagonals_of_a_batch_are_set);
    tcase_add_test(tests, diagonals_that_do_not_fit_are_not_set);
    return tests;
}
