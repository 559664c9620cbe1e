/* SPDX-License-Identifier: Apache-2.0 */
/* _StringOrder: texts in ascending order, and mistakes. */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__string_order_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

#define TEXTS(...) ((const char *const[]){__VA_ARGS__})

START_TEST(texts_are_put_in_order)
{
    const int64_t seven = 7, none = 0, one = 1;

    layout_run(&h, "_StringOrder",
               LAYOUT_INPUTS(harness_strings(
                   &h, HARNESS_DIMS(7),
                   TEXTS("b", "ab", "a", "", "b", "\xc3\xa9", "B"))),
               NULL, 0);
    layout_want(&h, 0, EDDY_INT64, 1, &seven,
                LAYOUT_NUMBERS(3, 6, 2, 1, 0, 4, 5));
    layout_run(
        &h, "_StringOrder",
        LAYOUT_INPUTS(harness_strings(&h, HARNESS_DIMS(1), TEXTS("alone"))),
        NULL, 0);
    layout_want(&h, 0, EDDY_INT64, 1, &one, LAYOUT_NUMBERS(0));
    layout_run(&h, "_StringOrder",
               LAYOUT_INPUTS(harness_strings(&h, HARNESS_DIMS(0), NULL)), NULL,
               0);
    layout_want(&h, 0, EDDY_INT64, 1, &none, NULL);
}
END_TEST

START_TEST(a_matrix_of_texts_is_refused)
{
    harness_want_error(
        &h,
        harness_run(&h, "_StringOrder",
                    harness_strings(&h, HARNESS_DIMS(1, 2), TEXTS("a", "b"))),
        EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
}
END_TEST

TCase *ops_string_order_tests(void)
{
    TCase *tests = tcase_create("ops_string_order");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, texts_are_put_in_order);
    tcase_add_test(tests, a_matrix_of_texts_is_refused);
    return tests;
}
