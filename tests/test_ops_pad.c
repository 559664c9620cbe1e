#include "ops/ops.h"
#include "tests/layout_aid.h"
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
    return tests;
}
