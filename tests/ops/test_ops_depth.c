/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__depth_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static eddy_status run(const char *op, eddy_tensor *x, int64_t block,
                       const char *format)
{
    const eddy_string text = {format, 4};

    return harness_run_attrs(&h, op, &x, 1,
                             (eddy_attr[]){
                                 eddy_attr_int("block_size", &block),
                                 eddy_attr_string("data_format", &text),
                             },
                             2);
}

/* _i is a dtype. */
START_TEST(blocks_of_every_dtype_become_channels_and_come_back)
{
    const int64_t wide[] = {1, 2, 4, 2}, deep[] = {1, 1, 2, 8};
    const eddy_dtype dtype = layout_dtype(_i);
    const int deal[] = {0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15};
    int same[16];

    for (int i = 0; i < 16; i++)
        same[i] = i;
    ck_assert_int_eq(
        run("SpaceToDepth", layout_range(&h, dtype, 0, 4, wide), 2, "NHWC"),
        EDDY_OK);
    layout_want(&h, 0, dtype, 4, deep, deal);
    ck_assert_int_eq(
        run("DepthToSpace", layout_tensor(&h, dtype, 4, deep, deal), 2, "NHWC"),
        EDDY_OK);
    layout_want(&h, 0, dtype, 4, wide, same);
}
END_TEST

START_TEST(channels_may_come_first)
{
    const int64_t wide[] = {1, 2, 2, 2}, deep[] = {1, 8, 1, 1};
    const int deal[] = {0, 4, 1, 5, 2, 6, 3, 7};

    ck_assert_int_eq(run("SpaceToDepth",
                         layout_range(&h, EDDY_INT32, 0, 4, wide), 2, "NCHW"),
                     EDDY_OK);
    layout_want(&h, 0, EDDY_INT32, 4, deep, deal);
    ck_assert_int_eq(run("DepthToSpace",
                         layout_tensor(&h, EDDY_INT32, 4, deep, deal), 2,
                         "NCHW"),
                     EDDY_OK);
    layout_want(&h, 0, EDDY_INT32, 4, wide,
                LAYOUT_NUMBERS(0, 1, 2, 3, 4, 5, 6, 7));
}
END_TEST

START_TEST(shapes_and_formats_are_checked)
{
    const int64_t odd[] = {1, 2, 3, 4}, flat[] = {2, 4}, none[] = {0, 2, 2, 1},
                  nothing[] = {0, 1, 1, 4};
    eddy_tensor *x = layout_range(&h, EDDY_INT32, 0, 4, odd);

    harness_want_error(&h, run("SpaceToDepth", x, 2, "NHWC"),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h, run("DepthToSpace", x, 3, "NHWC"),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h,
                       run("DepthToSpace",
                           layout_range(&h, EDDY_INT32, 0, 2, flat), 2, "NHWC"),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h, run("DepthToSpace", x, 2, "HWCN"),
                       EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE);
    ck_assert_int_eq(run("SpaceToDepth",
                         layout_range(&h, EDDY_STRING, 0, 4, none), 2, "NHWC"),
                     EDDY_OK);
    layout_want(&h, 0, EDDY_STRING, 4, nothing, NULL);
}
END_TEST

TCase *ops_depth_tests(void)
{
    TCase *tests = tcase_create("ops_depth");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests,
                        blocks_of_every_dtype_become_channels_and_come_back, 0,
                        LAYOUT_DTYPES);
    tcase_add_test(tests, channels_may_come_first);
    tcase_add_test(tests, shapes_and_formats_are_checked);
    return tests;
}
