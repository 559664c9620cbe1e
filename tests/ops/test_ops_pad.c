/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

#include <string.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__pad_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static const int64_t matrix[] = {2, 3}, pairs[] = {2, 2};

static eddy_tensor *paddings(int a, int b, int c, int d)
{
    return layout_tensor(&h, EDDY_INT32, 2, pairs, LAYOUT_NUMBERS(a, b, c, d));
}

START_TEST(pad_surrounds_every_dtype)
{
    const int64_t to[] = {3, 6};
    eddy_dtype dtype = layout_dtype(_i);
    eddy_tensor *x = layout_range(&h, dtype, 1, 2, matrix);

    layout_run(&h, "Pad", LAYOUT_INPUTS(x, paddings(0, 1, 2, 1)), NULL, 0);
    layout_want(
        &h, 0, dtype, 2, to,
        LAYOUT_NUMBERS(0, 0, 1, 2, 3, 0, 0, 0, 4, 5, 6, 0, 0, 0, 0, 0, 0, 0));
    layout_run(&h, "PadV2",
               LAYOUT_INPUTS(x, paddings(0, 1, 2, 1),
                             layout_range(&h, dtype, 9, 0, NULL)),
               NULL, 0);
    layout_want(
        &h, 0, dtype, 2, to,
        LAYOUT_NUMBERS(9, 9, 1, 2, 3, 9, 9, 9, 4, 5, 6, 9, 9, 9, 9, 9, 9, 9));
}
END_TEST

START_TEST(pad_by_nothing_copies_nothing)
{
    const int64_t none[] = {0, 2}, empty[] = {0, 3}, to[] = {2, 3};
    eddy_tensor *x = layout_range(&h, EDDY_FLOAT32, 1, 2, matrix);

    layout_run(&h, "Pad", LAYOUT_INPUTS(x, paddings(0, 0, 0, 0)), NULL, 0);
    ck_assert_ptr_eq(h.outputs[0]->data, x->data);
    layout_run(&h, "Pad",
               LAYOUT_INPUTS(layout_int(&h, 5),
                             layout_tensor(&h, EDDY_INT64, 2, none, NULL)),
               NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 0, NULL, LAYOUT_NUMBERS(5));
    layout_run(&h, "Pad",
               LAYOUT_INPUTS(layout_range(&h, EDDY_INT8, 0, 2, empty),
                             paddings(1, 1, 0, 0)),
               NULL, 0);
    layout_want(&h, 0, EDDY_INT8, 2, to, LAYOUT_NUMBERS(0, 0, 0, 0, 0, 0));
}
END_TEST

START_TEST(pad_checks_its_paddings)
{
    const int64_t huge[] = {INT64_MAX, 1, 0, 0},
                  wide[] = {0, 0, INT64_MAX / 4, 0};
    eddy_tensor *x = layout_range(&h, EDDY_FLOAT32, 1, 2, matrix);

    harness_want_error(&h, harness_run(&h, "Pad", x, paddings(0, -1, 0, 0)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    harness_want_error(
        &h, harness_run(&h, "Pad", x, layout_ints(&h, 2, LAYOUT_NUMBERS(0, 0))),
        EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(
        &h,
        harness_run(&h, "Pad", x,
                    harness_tensor(&h, EDDY_INT64, 2, pairs, huge)),
        EDDY_INVALID_ARGUMENT, EDDY_E_SIZE);
    harness_want_error(
        &h,
        harness_run(&h, "Pad", x,
                    harness_tensor(&h, EDDY_INT64, 2, pairs, wide)),
        EDDY_INVALID_ARGUMENT, EDDY_E_SIZE);
    harness_want_error(&h, harness_run(&h, "PadV2", x, paddings(0, 1, 0, 0), x),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
}
END_TEST

static eddy_status mirror(eddy_tensor *x, eddy_tensor *by, const char *mode)
{
    const eddy_string text = {mode, strlen(mode)};
    const eddy_attr attr = eddy_attr_string("mode", &text);

    return harness_run_attrs(&h, "MirrorPad", LAYOUT_INPUTS(x, by), &attr, 1);
}

START_TEST(mirror_pad_shows_every_dtype_again)
{
    const int64_t to[] = {3, 7}, tall[] = {4, 4};
    eddy_dtype dtype = layout_dtype(_i);
    eddy_tensor *x = layout_range(&h, dtype, 1, 2, matrix);

    ck_assert_int_eq(mirror(x, paddings(1, 0, 2, 2), "REFLECT"), EDDY_OK);
    layout_want(&h, 0, dtype, 2, to,
                LAYOUT_NUMBERS(6, 5, 4, 5, 6, 5, 4, 3, 2, 1, 2, 3, 2, 1, 6, 5,
                               4, 5, 6, 5, 4));
    ck_assert_int_eq(mirror(x, paddings(0, 2, 1, 0), "SYMMETRIC"), EDDY_OK);
    layout_want(&h, 0, dtype, 2, tall,
                LAYOUT_NUMBERS(1, 1, 2, 3, 4, 4, 5, 6, 4, 4, 5, 6, 1, 1, 2, 3));
}
END_TEST

START_TEST(mirror_pad_checks_its_paddings)
{
    const int64_t empty[] = {0, 3};
    eddy_tensor *x = layout_range(&h, EDDY_FLOAT32, 1, 2, matrix);

    harness_want_error(&h, mirror(x, paddings(2, 0, 0, 0), "REFLECT"),
                       EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    harness_want_error(&h, mirror(x, paddings(0, 0, 0, 4), "SYMMETRIC"),
                       EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    harness_want_error(&h,
                       mirror(layout_range(&h, EDDY_FLOAT32, 1, 2, empty),
                              paddings(1, 0, 0, 0), "SYMMETRIC"),
                       EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    harness_want_error(&h, mirror(x, paddings(1, 0, 0, 0), "AROUND"),
                       EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE);
    ck_assert_int_eq(mirror(layout_range(&h, EDDY_FLOAT32, 1, 2, empty),
                            paddings(0, 0, 1, 0), "REFLECT"),
                     EDDY_OK);
    layout_want(&h, 0, EDDY_FLOAT32, 2, (const int64_t[]){0, 4}, NULL);
}
END_TEST

static eddy_status fold(eddy_tensor *x, eddy_tensor *by, const char *mode)
{
    const eddy_string text = {mode, strlen(mode)};
    const eddy_attr attr = eddy_attr_string("mode", &text);

    return harness_run_attrs(&h, "MirrorPadGrad", LAYOUT_INPUTS(x, by), &attr,
                             1);
}

/* Place `i` of a dimension that was padded, in what it was made of. */
static int64_t unfolded(int64_t i, int64_t before, int64_t n, int64_t edge)
{
    i -= before;
    if (i < 0)
        i = -1 - i + edge;
    return i < n ? i : 2 * n - 1 - edge - i;
}

static const eddy_dtype added[] = {EDDY_FLOAT16, EDDY_FLOAT32, EDDY_FLOAT64,
                                   EDDY_INT8,    EDDY_INT16,   EDDY_INT32,
                                   EDDY_INT64,   EDDY_UINT8,   EDDY_UINT16,
                                   EDDY_UINT32,  EDDY_UINT64,  EDDY_COMPLEX64};

static const struct {
    const char *mode;
    int64_t edge, dims[2], inner[2], before[2];
} folds[] = {{"SYMMETRIC", 0, {6, 5}, {3, 2}, {2, 1}},
             {"REFLECT", 1, {6, 8}, {3, 4}, {2, 1}},
             {"REFLECT", 1, {3, 4}, {3, 3}, {0, 1}}};

/* _i: dtype and case. */
START_TEST(mirror_pad_grad_adds_up_the_images)
{
    const eddy_dtype dtype = added[_i / 3];
    const int64_t *dims = folds[_i % 3].dims, *inner = folds[_i % 3].inner;
    const int64_t *before = folds[_i % 3].before, edge = folds[_i % 3].edge;
    double values[48], want[12] = {0};

    for (int64_t i = 0; i < dims[0] * dims[1]; i++) {
        const int64_t row = unfolded(i / dims[1], before[0], inner[0], edge);
        const int64_t column = unfolded(i % dims[1], before[1], inner[1], edge);

        values[i] = (double)(i % 7);
        want[row * inner[1] + column] += values[i];
    }
    ck_assert_int_eq(
        fold(harness_numbers(&h, dtype, 2, dims, values),
             paddings((int)before[0], (int)(dims[0] - inner[0] - before[0]),
                      (int)before[1], (int)(dims[1] - inner[1] - before[1])),
             folds[_i % 3].mode),
        EDDY_OK);
    harness_want(&h, 0, dtype, 2, inner);
    for (int64_t i = 0; i < inner[0] * inner[1]; i++)
        ck_assert_double_eq(harness_get(h.outputs[0], i), want[i]);
}
END_TEST

START_TEST(mirror_pad_grad_checks_its_paddings)
{
    eddy_tensor *x = layout_range(&h, EDDY_FLOAT32, 1, 2, matrix);

    harness_want_error(&h, fold(x, paddings(1, 0, 0, 0), "REFLECT"),
                       EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    harness_want_error(&h, fold(x, paddings(1, 1, 0, 0), "SYMMETRIC"),
                       EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    harness_want_error(&h, fold(x, paddings(0, 0, -1, 0), "SYMMETRIC"),
                       EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    harness_want_error(&h, fold(x, x, "SYMMETRIC"), EDDY_INVALID_ARGUMENT,
                       EDDY_E_INPUT_DTYPE);
    ck_assert_int_eq(fold(x, paddings(0, 0, 0, 0), "REFLECT"), EDDY_OK);
    ck_assert_ptr_eq(h.outputs[0]->data, x->data);
}
END_TEST

TCase *ops_pad_tests(void)
{
    TCase *tests = tcase_create("ops_pad");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, pad_surrounds_every_dtype, 0, LAYOUT_DTYPES);
    tcase_add_test(tests, pad_by_nothing_copies_nothing);
    tcase_add_test(tests, pad_checks_its_paddings);
    tcase_add_loop_test(tests, mirror_pad_shows_every_dtype_again, 0,
                        LAYOUT_DTYPES);
    tcase_add_test(tests, mirror_pad_checks_its_paddings);
    tcase_add_loop_test(tests, mirror_pad_grad_adds_up_the_images, 0,
                        3 * (int)(sizeof added / sizeof added[0]));
    tcase_add_test(tests, mirror_pad_grad_checks_its_paddings);
    return tests;
}
