/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__blocks_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static eddy_tensor *pairs(int64_t n, const int *values)
{
    const int64_t dims[] = {n, 2};

    return layout_tensor(&h, EDDY_INT64, 2, dims, values);
}

/* _i is a dtype: 1, 2, ... in a square go to the batch and back. */
START_TEST(squares_of_every_dtype_go_and_come_back)
{
    const int64_t square[] = {1, 4, 4, 1}, batch[] = {4, 2, 2, 1}, two = 2;
    const eddy_dtype dtype = layout_dtype(_i);
    const eddy_attr attr = eddy_attr_int("block_size", &two);
    const int deal[] = {0, 2, 8, 10, 1, 3, 9, 11, 4, 6, 12, 14, 5, 7, 13, 15};
    eddy_tensor *x = layout_range(&h, dtype, 0, 4, square);
    eddy_tensor *y = layout_tensor(&h, dtype, 4, batch, deal);
    eddy_tensor *block = layout_ints(&h, 2, LAYOUT_NUMBERS(2, 2));
    eddy_tensor *edges = pairs(2, LAYOUT_NUMBERS(0, 0, 0, 0));
    int same[16];

    for (int i = 0; i < 16; i++)
        same[i] = i;
    layout_run(&h, "SpaceToBatchND", LAYOUT_INPUTS(x, block, edges), NULL, 0);
    layout_want(&h, 0, dtype, 4, batch, deal);
    layout_run(&h, "SpaceToBatch", LAYOUT_INPUTS(x, edges), &attr, 1);
    layout_want(&h, 0, dtype, 4, batch, deal);
    layout_run(&h, "BatchToSpaceND", LAYOUT_INPUTS(y, block, edges), NULL, 0);
    layout_want(&h, 0, dtype, 4, square, same);
    layout_run(&h, "BatchToSpace", LAYOUT_INPUTS(y, edges), &attr, 1);
    layout_want(&h, 0, dtype, 4, square, same);
}
END_TEST

/* Two batches of three, padded to six, in blocks of three; and back. */
START_TEST(edges_are_zeros_or_are_left_out)
{
    const int64_t flat[] = {2, 3}, batch[] = {6, 2};
    const int there[] = {0, 2, 0, 5, 0, 3, 0, 6, 1, 0, 4, 0};
    eddy_tensor *x = layout_tensor(&h, EDDY_INT32, 2, flat,
                                   LAYOUT_NUMBERS(1, 2, 3, 4, 5, 6));
    eddy_tensor *block = layout_ints(&h, 1, LAYOUT_NUMBERS(3));
    eddy_tensor *edges = pairs(1, LAYOUT_NUMBERS(2, 1));

    layout_run(&h, "SpaceToBatchND", LAYOUT_INPUTS(x, block, edges), NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 2, batch, there);
    layout_run(&h, "BatchToSpaceND",
               LAYOUT_INPUTS(layout_tensor(&h, EDDY_INT32, 2, batch, there),
                             block, edges),
               NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 2, flat, LAYOUT_NUMBERS(1, 2, 3, 4, 5, 6));
}
END_TEST

/* Whole blocks of padding, no dimension to cut, and nothing at all. */
START_TEST(edges_may_be_wider_than_blocks_and_inputs_empty)
{
    const int64_t flat[] = {1, 1}, batch[] = {2, 3}, none[] = {0, 2, 3},
                  nothing[] = {0, 1, 3};

    layout_run(
        &h, "SpaceToBatchND",
        LAYOUT_INPUTS(layout_tensor(&h, EDDY_INT32, 2, flat, LAYOUT_NUMBERS(7)),
                      layout_ints(&h, 1, LAYOUT_NUMBERS(2)),
                      pairs(1, LAYOUT_NUMBERS(5, 0))),
        NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 2, batch, LAYOUT_NUMBERS(0, 0, 0, 0, 0, 7));
    layout_run(
        &h, "SpaceToBatchND",
        LAYOUT_INPUTS(layout_tensor(&h, EDDY_INT32, 2, flat, LAYOUT_NUMBERS(7)),
                      layout_ints(&h, 0, NULL), pairs(0, NULL)),
        NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 2, flat, LAYOUT_NUMBERS(7));
    layout_run(&h, "SpaceToBatchND",
               LAYOUT_INPUTS(layout_range(&h, EDDY_STRING, 0, 3, none),
                             layout_ints(&h, 1, LAYOUT_NUMBERS(2)),
                             pairs(1, LAYOUT_NUMBERS(0, 0))),
               NULL, 0);
    layout_want(&h, 0, EDDY_STRING, 3, nothing, NULL);
}
END_TEST

START_TEST(blocks_and_edges_are_checked)
{
    static const struct {
        const char *op;
        int block, edges[2];
        eddy_detail detail;
    } cases[] = {
        {"SpaceToBatchND", 2, {0, 0}, EDDY_E_SHAPE},
        {"SpaceToBatchND", 0, {0, 1}, EDDY_E_VALUE},
        {"SpaceToBatchND", 2, {-1, 2}, EDDY_E_VALUE},
        {"BatchToSpaceND", 3, {0, 0}, EDDY_E_SHAPE},
        {"BatchToSpaceND", 2, {4, 3}, EDDY_E_VALUE},
        {"BatchToSpaceND", 2, {0, -1}, EDDY_E_VALUE},
    };
    const int64_t dims[] = {2, 3};
    eddy_tensor *x = layout_range(&h, EDDY_INT32, 0, 2, dims);

    harness_want_error(&h,
                       harness_run(&h, cases[_i].op, x,
                                   layout_ints(&h, 1, &cases[_i].block),
                                   pairs(1, cases[_i].edges)),
                       EDDY_INVALID_ARGUMENT, cases[_i].detail);
}
END_TEST

START_TEST(ranks_are_checked)
{
    const int64_t dims[] = {2, 4}, two = 2;
    eddy_tensor *x = layout_range(&h, EDDY_INT32, 0, 2, dims);
    eddy_tensor *edges = pairs(2, LAYOUT_NUMBERS(0, 0, 0, 0));

    harness_want_error(&h,
                       harness_run(&h, "SpaceToBatchND", x,
                                   layout_ints(&h, 2, LAYOUT_NUMBERS(1, 1)),
                                   edges),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    harness_want_error(&h,
                       harness_run(&h, "SpaceToBatchND", x,
                                   layout_ints(&h, 1, LAYOUT_NUMBERS(2)),
                                   edges),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(
        &h,
        harness_run_attrs(&h, "BatchToSpace", LAYOUT_INPUTS(x, edges),
                          LAYOUT_ATTRS(eddy_attr_int("block_size", &two))),
        EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
}
END_TEST

TCase *ops_blocks_tests(void)
{
    TCase *tests = tcase_create("ops_blocks");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, squares_of_every_dtype_go_and_come_back, 0,
                        LAYOUT_DTYPES);
    tcase_add_test(tests, edges_are_zeros_or_are_left_out);
    tcase_add_test(tests, edges_may_be_wider_than_blocks_and_inputs_empty);
    tcase_add_loop_test(tests, blocks_and_edges_are_checked, 0, 6);
    tcase_add_test(tests, ranks_are_checked);
    return tests;
}
