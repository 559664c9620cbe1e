/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__concat_offset_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

/* _i: dtype. */
START_TEST(offsets_count_along_the_axis)
{
    const eddy_dtype dtype = _i == 0 ? EDDY_INT32 : EDDY_INT64;
    const int64_t three = 3;

    for (int axis = -2; axis < 2; axis += 3) {
        layout_run(
            &h, "ConcatOffset",
            LAYOUT_INPUTS(
                layout_int(&h, axis),
                layout_tensor(&h, dtype, 1, &three, LAYOUT_NUMBERS(2, 3, 4)),
                layout_tensor(&h, dtype, 1, &three, LAYOUT_NUMBERS(2, 0, 4)),
                layout_tensor(&h, dtype, 1, &three, LAYOUT_NUMBERS(2, 9, 4))),
            NULL, 0);
        layout_want(&h, 0, dtype, 1, &three, LAYOUT_NUMBERS(0, 0, 0));
        layout_want(&h, 1, dtype, 1, &three, LAYOUT_NUMBERS(0, 3, 0));
        layout_want(&h, 2, dtype, 1, &three, LAYOUT_NUMBERS(0, 3, 0));
    }
}
END_TEST

START_TEST(shapes_must_fit)
{
    eddy_tensor *a = layout_ints(&h, 2, LAYOUT_NUMBERS(2, 3));
    eddy_tensor *b = layout_ints(&h, 2, LAYOUT_NUMBERS(2, 4));
    eddy_tensor *c = layout_ints(&h, 1, LAYOUT_NUMBERS(2));

    harness_want_error(&h,
                       harness_run(&h, "ConcatOffset", layout_int(&h, 0), a, b),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h,
                       harness_run(&h, "ConcatOffset", layout_int(&h, 0), a, c),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h,
                       harness_run(&h, "ConcatOffset", layout_int(&h, 2), a, a),
                       EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    harness_want_error(&h, harness_run(&h, "ConcatOffset", a, a, a),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
}
END_TEST

TCase *ops_concat_offset_tests(void)
{
    TCase *tc = tcase_create("ops_concat_offset");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_loop_test(tc, offsets_count_along_the_axis, 0, 2);
    tcase_add_test(tc, shapes_must_fit);
    return tc;
}
