/* SPDX-License-Identifier: Apache-2.0 */
/* Texts: joined, measured, changed. */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

#include <string.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__strings_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

#define TEXTS(...) ((const char *const[]){__VA_ARGS__})

static eddy_tensor *text(const char *s)
{
    return harness_strings(&h, 0, NULL, &s);
}

START_TEST(scalars_are_joined_to_every_element)
{
    const eddy_string dash = {"-", 1};
    const eddy_attr attr = eddy_attr_string("separator", &dash);
    eddy_tensor *x = harness_strings(&h, HARNESS_DIMS(2), TEXTS("a", "bc"));
    eddy_tensor *y = harness_strings(&h, HARNESS_DIMS(2), TEXTS("", "d"));

    layout_run(&h, "StringJoin", LAYOUT_INPUTS(x, text("z"), y), &attr, 1);
    harness_want_texts(&h, HARNESS_DIMS(2), TEXTS("a-z-", "bc-z-d"));
    layout_run(&h, "StringJoin", LAYOUT_INPUTS(text("p"), text("q")), NULL, 0);
    harness_want_texts(&h, 0, NULL, TEXTS("pq"));
    harness_want_error(
        &h,
        harness_run(&h, "StringJoin", x,
                    harness_strings(&h, HARNESS_DIMS(1), TEXTS("e"))),
        EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

/* What TensorFlow gives: the axis that is named first goes on first. */
START_TEST(axes_are_joined_in_their_order)
{
    const eddy_string dot = {".", 1};
    const bool keep = true;
    const eddy_attr attrs[] = {eddy_attr_string("separator", &dot),
                               eddy_attr_bool("keep_dims", &keep)};
    eddy_tensor *x =
        harness_strings(&h, HARNESS_DIMS(2, 2), TEXTS("a", "b", "c", "d"));
    static const struct {
        int n, axes[2];
        int32_t rank;
        int64_t dims[2];
        const char *texts[4];
    } cases[] = {
        {1, {0}, 2, {1, 2}, {"a.c", "b.d"}},
        {1, {-1}, 2, {2, 1}, {"a.b", "c.d"}},
        {2, {0, 1}, 2, {1, 1}, {"a.c.b.d"}},
        {2, {-1, -2}, 2, {1, 1}, {"a.b.c.d"}},
        {0, {0}, 2, {2, 2}, {"a", "b", "c", "d"}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        layout_run(&h, "ReduceJoin",
                   LAYOUT_INPUTS(x, layout_ints(&h, cases[i].n, cases[i].axes)),
                   attrs, 2);
        harness_want_texts(&h, cases[i].rank, cases[i].dims, cases[i].texts);
    }
    layout_run(&h, "ReduceJoin", LAYOUT_INPUTS(x, layout_int(&h, 1)), NULL, 0);
    harness_want_texts(&h, HARNESS_DIMS(2), TEXTS("ab", "cd"));
    layout_run(&h, "ReduceJoin",
               LAYOUT_INPUTS(harness_strings(&h, HARNESS_DIMS(0, 2), NULL),
                             layout_int(&h, 0)),
               NULL, 0);
    harness_want_texts(&h, HARNESS_DIMS(2), TEXTS("", ""));
}
END_TEST

START_TEST(axes_to_join_are_checked)
{
    eddy_tensor *x =
        harness_strings(&h, HARNESS_DIMS(2, 2), TEXTS("a", "b", "c", "d"));

    harness_want_error(&h, harness_run(&h, "ReduceJoin", x, layout_int(&h, 2)),
                       EDDY_OUT_OF_RANGE, EDDY_E_INDEX);
    harness_want_error(&h,
                       harness_run(&h, "ReduceJoin", x,
                                   layout_ints(&h, 2, LAYOUT_NUMBERS(0, -2))),
                       EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
}
END_TEST

START_TEST(bytes_and_characters_are_counted)
{
    const eddy_string unit = {"UTF8_CHAR", 9}, other = {"WORD", 4};
    const eddy_attr attrs[] = {eddy_attr_string("unit", &unit),
                               eddy_attr_string("unit", &other)};
    const int64_t four = 4;
    eddy_tensor *x = harness_strings(
        &h, HARNESS_DIMS(4), TEXTS("a\xc3\xa9", "\xff\xe9z", "", "\x80\x80"));

    layout_run(&h, "StringLength", LAYOUT_INPUTS(x), NULL, 0);
    layout_want(&h, 0, EDDY_INT32, 1, &four, LAYOUT_NUMBERS(3, 3, 0, 2));
    layout_run(&h, "StringLength", LAYOUT_INPUTS(x), attrs, 1);
    layout_want(&h, 0, EDDY_INT32, 1, &four, LAYOUT_NUMBERS(2, 3, 0, 0));
    harness_want_error(
        &h,
        harness_run_attrs(&h, "StringLength", LAYOUT_INPUTS(x), &attrs[1], 1),
        EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE);
}
END_TEST

START_TEST(letters_change_their_case)
{
    const eddy_string utf8 = {"utf-8", 5}, other = {"latin1", 6};
    const eddy_attr attrs[] = {eddy_attr_string("encoding", &utf8),
                               eddy_attr_string("encoding", &other)};
    eddy_tensor *x =
        harness_strings(&h, HARNESS_DIMS(3), TEXTS("aZ[`{@", "\xc3\xa9y", ""));
    eddy_tensor *plain = text("Mixed 12");

    layout_run(&h, "StringUpper", LAYOUT_INPUTS(x), NULL, 0);
    harness_want_texts(&h, HARNESS_DIMS(3), TEXTS("AZ[`{@", "\xc3\xa9Y", ""));
    layout_run(&h, "StringLower", LAYOUT_INPUTS(x), NULL, 0);
    harness_want_texts(&h, HARNESS_DIMS(3), TEXTS("az[`{@", "\xc3\xa9y", ""));
    layout_run(&h, "StringLower", LAYOUT_INPUTS(plain), attrs, 1);
    harness_want_texts(&h, 0, NULL, TEXTS("mixed 12"));
    harness_want_error(
        &h, harness_run_attrs(&h, "StringUpper", LAYOUT_INPUTS(x), attrs, 1),
        EDDY_UNIMPLEMENTED, EDDY_E_VALUE);
    harness_want_error(
        &h,
        harness_run_attrs(&h, "StringUpper", LAYOUT_INPUTS(x), &attrs[1], 1),
        EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE);
}
END_TEST

START_TEST(white_space_is_stripped)
{
    layout_run(
        &h, "StringStrip",
        LAYOUT_INPUTS(harness_strings(
            &h, HARNESS_DIMS(4), TEXTS("  a b \n", "\v\f\r\t x", "", " \n"))),
        NULL, 0);
    harness_want_texts(&h, HARNESS_DIMS(4), TEXTS("a b", "x", "", ""));
}
END_TEST

TCase *ops_strings_tests(void)
{
    TCase *tests = tcase_create("ops_strings");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, scalars_are_joined_to_every_element);
    tcase_add_test(tests, axes_are_joined_in_their_order);
    tcase_add_test(tests, axes_to_join_are_checked);
    tcase_add_test(tests, bytes_and_characters_are_counted);
    tcase_add_test(tests, letters_change_their_case);
    tcase_add_test(tests, white_space_is_stripped);
    return tests;
}
