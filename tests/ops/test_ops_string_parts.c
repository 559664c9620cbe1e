/* SPDX-License-Identifier: Apache-2.0 */
/* Substr, StringToNumber, StringSplitV2: parts of texts, and mistakes. */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

#include <string.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__string_parts_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

#define TEXTS(...) ((const char *const[]){__VA_ARGS__})

static void want_text(size_t output, int64_t i, const char *wanted)
{
    const eddy_string got = eddy_tensor_string(h.outputs[output], i);

    ck_assert_uint_eq(got.length, strlen(wanted));
    ck_assert_mem_eq(got.data, wanted, got.length);
}

START_TEST(parts_are_cut_out)
{
    eddy_tensor *x =
        harness_strings(&h, HARNESS_DIMS(2), TEXTS("hello", "world"));
    const int64_t two = 2;

    layout_run(&h, "Substr",
               LAYOUT_INPUTS(x, layout_int(&h, -4), layout_int(&h, 3)), NULL,
               0);
    harness_want(&h, 0, EDDY_STRING, 1, &two);
    want_text(0, 0, "ell");
    want_text(0, 1, "orl");
    layout_run(&h, "Substr",
               LAYOUT_INPUTS(x, layout_int(&h, 5), layout_int(&h, 1)), NULL, 0);
    want_text(0, 0, "");
    harness_want_error(
        &h, harness_run(&h, "Substr", x, layout_int(&h, 6), layout_int(&h, 1)),
        EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    harness_want_error(
        &h, harness_run(&h, "Substr", x, layout_int(&h, -6), layout_int(&h, 1)),
        EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    harness_want_error(&h,
                       harness_run(&h, "Substr", x,
                                   layout_ints(&h, 1, LAYOUT_NUMBERS(0)),
                                   layout_int(&h, 1)),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

START_TEST(characters_may_be_counted)
{
    const eddy_string unit = {"UTF8_CHAR", 9};
    const eddy_attr attr = eddy_attr_string("unit", &unit);
    eddy_tensor *x = harness_strings(&h, 0, NULL,
                                     TEXTS("a\xc3\xa9"
                                           "b"));

    layout_run(&h, "Substr",
               LAYOUT_INPUTS(x, layout_int(&h, 1), layout_int(&h, 1)), &attr,
               1);
    want_text(0, 0, "\xc3\xa9");
    layout_run(&h, "Substr",
               LAYOUT_INPUTS(x, layout_int(&h, 1), layout_int(&h, -1)), &attr,
               1);
    want_text(0, 0, "");
    harness_want_error(&h,
                       harness_run_attrs(&h, "Substr",
                                         LAYOUT_INPUTS(x, layout_int(&h, -1),
                                                       layout_int(&h, -1)),
                                         &attr, 1),
                       EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    harness_want_error(&h,
                       harness_run_attrs(&h, "Substr",
                                         LAYOUT_INPUTS(x, layout_int(&h, 4),
                                                       layout_int(&h, 1)),
                                         &attr, 1),
                       EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
}
END_TEST

static const char *const no_integers[] = {
    "",    " ",   "1.5",        "1e3",         "0x1",
    "1_0", "1 2", "2147483648", "-2147483649", "99999999999999999999999",
    "-",   "abc"};

START_TEST(what_is_no_number_is_refused)
{
    const eddy_dtype int32 = EDDY_INT32, uint32 = EDDY_UINT32;
    const eddy_attr attrs[] = {eddy_attr_type("out_type", &int32),
                               eddy_attr_type("out_type", &uint32)};
    const char *const words[] = {"", "abc", "1_0", "1 2", "infinit", "  "};

    for (size_t i = 0; i < sizeof no_integers / sizeof *no_integers; i++)
        harness_want_error(&h,
                           harness_run_attrs(&h, "StringToNumber",
                                             LAYOUT_INPUTS(harness_strings(
                                                 &h, 0, NULL, &no_integers[i])),
                                             attrs, 1),
                           EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    harness_want_error(&h,
                       harness_run_attrs(&h, "StringToNumber",
                                         LAYOUT_INPUTS(harness_strings(
                                             &h, 0, NULL, TEXTS("-1"))),
                                         &attrs[1], 1),
                       EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        harness_want_error(&h,
                           harness_run(&h, "StringToNumber",
                                       harness_strings(&h, 0, NULL, &words[i])),
                           EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
}
END_TEST

START_TEST(texts_are_split)
{
    const int64_t places[] = {3, 2}, three = 3, two = 2;
    eddy_tensor *x = harness_strings(&h, HARNESS_DIMS(2), TEXTS("a,,b", ""));
    eddy_tensor *comma = harness_strings(&h, 0, NULL, TEXTS(","));
    eddy_tensor *none = harness_strings(&h, 0, NULL, TEXTS(""));

    layout_run(
        &h, "StringSplitV2",
        LAYOUT_INPUTS(harness_strings(&h, HARNESS_DIMS(2), TEXTS(" a  b", "c")),
                      none),
        NULL, 0);
    layout_want(&h, 0, EDDY_INT64, 2, places, LAYOUT_NUMBERS(0, 0, 0, 1, 1, 0));
    harness_want(&h, 1, EDDY_STRING, 1, &three);
    want_text(1, 1, "b");
    layout_want(&h, 2, EDDY_INT64, 1, &two, LAYOUT_NUMBERS(2, 2));
    layout_run(&h, "StringSplitV2", LAYOUT_INPUTS(x, comma), NULL, 0);
    layout_want(&h, 2, EDDY_INT64, 1, &two, LAYOUT_NUMBERS(2, 3));
    want_text(1, 1, "");
    want_text(1, 2, "b");
    harness_want_error(&h, harness_run(&h, "StringSplitV2", x, x),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    harness_want_error(&h, harness_run(&h, "StringSplitV2", comma, comma),
                       EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

START_TEST(what_is_left_after_the_last_split_is_a_part)
{
    const int64_t one = 1, two = 2;
    const eddy_attr attr = eddy_attr_int("maxsplit", &one);

    layout_run(&h, "StringSplitV2",
               LAYOUT_INPUTS(harness_strings(&h, HARNESS_DIMS(3),
                                             TEXTS("a b c", " d ", "")),
                             harness_strings(&h, 0, NULL, TEXTS(""))),
               &attr, 1);
    layout_want(&h, 2, EDDY_INT64, 1, &two, LAYOUT_NUMBERS(3, 2));
    want_text(1, 1, "b c");
    want_text(1, 2, "d");
    want_text(1, 3, "");
}
END_TEST

/* StringSplit: each byte of the delimiter separates, and empty texts are none.
 */
START_TEST(texts_are_split_at_each_of_some_bytes)
{
    const bool no = false;
    const eddy_attr keep = eddy_attr_bool("skip_empty", &no);
    const int64_t two = 2;
    eddy_tensor *x = harness_strings(&h, HARNESS_DIMS(2), TEXTS("a;b;,c", ""));
    eddy_tensor *both = harness_strings(&h, 0, NULL, TEXTS(",;"));
    eddy_tensor *none = harness_strings(&h, 0, NULL, TEXTS(""));

    layout_run(&h, "StringSplit", LAYOUT_INPUTS(x, both), NULL, 0);
    layout_want(&h, 2, EDDY_INT64, 1, &two, LAYOUT_NUMBERS(2, 3));
    want_text(1, 2, "c");
    layout_run(&h, "StringSplit", LAYOUT_INPUTS(x, both), &keep, 1);
    layout_want(&h, 2, EDDY_INT64, 1, &two, LAYOUT_NUMBERS(2, 4));
    want_text(1, 2, "");
    want_text(1, 3, "c");
    layout_run(&h, "StringSplit", LAYOUT_INPUTS(x, none), NULL, 0);
    layout_want(&h, 2, EDDY_INT64, 1, &two, LAYOUT_NUMBERS(2, 6));
    want_text(1, 1, ";");
}
END_TEST

TCase *ops_string_parts_tests(void)
{
    TCase *tests = tcase_create("ops_string_parts");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, parts_are_cut_out);
    tcase_add_test(tests, characters_may_be_counted);
    tcase_add_test(tests, what_is_no_number_is_refused);
    tcase_add_test(tests, texts_are_split);
    tcase_add_test(tests, what_is_left_after_the_last_split_is_a_part);
    tcase_add_test(tests, texts_are_split_at_each_of_some_bytes);
    return tests;
}
