/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions: matches, what replaces them, mistakes, long work. */
#include "ops/ops.h"
#include "tests/aid/layout_aid.h"
#include "tests/suites.h"

#include <string.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__string_regex_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static eddy_tensor *text(const char *of)
{
    return harness_strings(&h, 0, NULL, &of);
}

static bool matches(const char *pattern, const char *of)
{
    layout_run(&h, "RegexFullMatch", LAYOUT_INPUTS(text(of), text(pattern)),
               NULL, 0);
    return harness_get(h.outputs[0], 0) != 0;
}

static const struct {
    const char *pattern, *text;
    bool is_match;
} wholes[] = {
    {"", "", true},
    {"a", "ab", false},
    {"a|ab", "ab", true},
    {"(a|b)*c", "abbac", true},
    {"a{2,3}", "aaaa", false},
    {"(?:ab){2,}", "ababab", true},
    {"a{0}b", "b", true},
    {"[^a-c]x", "dx", true},
    {"[]a]+", "a]", true},
    {"[[:alpha:]]\\d\\W", "q7-", true},
    {"(?i)AbC", "aBc", true},
    {"(?i:k)", "\u212a", true},
    {".", "\u20ac", true},
    {".", "\n", false},
    {"(?s).", "\n", true},
    {"a\\b.*", "a b", true},
    {"(?m)a$\n^b", "a\nb", true},
    {"a$\nb", "a\nb", false},
    {"\\Qa.b\\E", "a.b", true},
    {"\\x61\\x{20ac}\\142", "a\u20acb", true},
    {"a{,2}", "a{,2}", true},
    {"\\Aa\\z", "a", true},
    {"(|a)*", "aa", true},
    {"[^x]", "\xff", false},
};

START_TEST(whole_texts_are_matched)
{
    ck_assert_msg(matches(wholes[_i].pattern, wholes[_i].text) ==
                      wholes[_i].is_match,
                  "'%s' and '%s'", wholes[_i].pattern, wholes[_i].text);
}
END_TEST

static const struct {
    const char *pattern, *rewrite, *text, *all, *first;
} replaced[] = {
    {"a", "x", "banana", "bxnxnx", "bxnana"},
    {"a*", "-", "baac", "-b-c-", "-baac"},
    {"(a+)(b*)", "\\2\\1", "aabxab", "baaxba", "baaxab"},
    {"a+?", "-", "aa", "--", "-a"},
    {"(?U)a+", "-", "aa", "--", "-a"},
    {"(a)|b", "<\\1>", "ab", "<a><>", "<a>b"},
    {"", "-", "\u00e9", "-\u00e9-", "-\u00e9"},
    {"a", "\\\\\\0", "a", "\\a", "\\a"},
    {"(a)", "\\2", "a", "a", "a"}, /* there is no second group */
    {"a", "x\\q", "ab", "xb", "ab"},
    {"b", "x", "aaa", "aaa", "aaa"},
    {"(a|ab)(c|bcd)", "\\1,\\2", "abcd", "a,bcd", "a,bcd"},
};

START_TEST(matches_are_replaced)
{
    const bool no = false;
    const eddy_attr once = eddy_attr_bool("replace_global", &no);
    eddy_tensor *inputs[] = {text(replaced[_i].text),
                             text(replaced[_i].pattern),
                             text(replaced[_i].rewrite)};

    layout_run(&h, "RegexReplace", inputs, 3, NULL, 0);
    harness_want_texts(&h, 0, NULL, &replaced[_i].all);
    layout_run(&h, "RegexReplace", inputs, 3, &once, 1);
    harness_want_texts(&h, 0, NULL, &replaced[_i].first);
}
END_TEST

START_TEST(an_attribute_may_be_the_expression)
{
    const eddy_string pattern = {"[,.]\\s*", 7};
    const eddy_string rewrite = {" ", 1};
    const eddy_attr attrs[] = {eddy_attr_string("pattern", &pattern),
                               eddy_attr_string("rewrite", &rewrite)};
    const char *const texts[] = {"a,  b.c", ""};
    const char *const wanted[] = {"a b c", ""};
    eddy_tensor *x = harness_strings(&h, HARNESS_DIMS(2), texts);

    layout_run(&h, "StaticRegexReplace", &x, 1, attrs, 2);
    harness_want_texts(&h, HARNESS_DIMS(2), wanted);
    layout_run(&h, "StaticRegexFullMatch", &x, 1, attrs, 1);
    harness_want(&h, 0, EDDY_BOOL, HARNESS_DIMS(2));
    ck_assert(harness_get(h.outputs[0], 0) == 0);
}
END_TEST

static const char *const mistakes[] = {
    "(",
    ")",
    "a**",
    "*",
    "a{2,1}",
    "a{1001}",
    "[a",
    "[b-a]",
    "[[:x:]]",
    "\\",
    "\\1",
    "\\xg1",
    "\\x{110000}",
    "\\Z",
    "(?x)",
    "(?i-)",
    "(?P<>a)",
    "(?P<a",
    "\xff",
    "[\xff]",
    "\\Q\xff",
    "a|*",
    "(?:a{100}){100}",
    "(a{1000}b{1000}c{1000}d{1000}){17}",
};

START_TEST(what_is_no_expression_is_refused)
{
    eddy_status status =
        harness_run(&h, "RegexFullMatch", text("a"), text(mistakes[_i]));

    ck_assert_msg(status == EDDY_INVALID_ARGUMENT, "'%s'", mistakes[_i]);
}
END_TEST

START_TEST(what_is_left_out_is_refused)
{
    const char *const left_out[] = {"\\pL", "\\C", "(?i)\u0414", "[\\PL]"};

    for (int i = 0; i < 4; i++)
        harness_want_error(
            &h, harness_run(&h, "RegexFullMatch", text("a"), text(left_out[i])),
            EDDY_UNIMPLEMENTED, EDDY_E_VALUE);
}
END_TEST

START_TEST(an_expression_is_one_text)
{
    const char *const two[] = {"a", "b"};
    eddy_tensor *x = text("a"),
                *both = harness_strings(&h, HARNESS_DIMS(2), two);

    harness_want_error(&h, harness_run(&h, "RegexFullMatch", x, both),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
    harness_want_error(&h, harness_run(&h, "RegexReplace", x, x, both),
                       EDDY_INVALID_ARGUMENT, EDDY_E_RANK);
}
END_TEST

/* What takes other engines 2^28 ways is a matter of 28 by 56. */
START_TEST(no_expression_takes_long)
{
    char pattern[3 * 28 + 1] = "", of[28 + 1] = "";

    memset(of, 'a', 28);
    memset(pattern, 'a', sizeof pattern - 1);
    for (int i = 1; i < 2 * 28; i += 2)
        pattern[i] = '?';
    ck_assert(matches(pattern, of));
}
END_TEST

/* Depth is a matter of memory, not of the stack. */
START_TEST(groups_nest_to_a_bound)
{
    char pattern[2 * 1001 + 1];

    memset(pattern, '(', 1000);
    memset(pattern + 1000, ')', 1000);
    pattern[2000] = 0;
    ck_assert(matches(pattern, ""));
    memset(pattern, '(', 1001);
    memset(pattern + 1001, ')', 1001);
    pattern[2002] = 0;
    ck_assert_int_eq(
        harness_run(&h, "RegexFullMatch", text("a"), text(pattern)),
        EDDY_INVALID_ARGUMENT);
}
END_TEST

TCase *ops_string_regex_tests(void)
{
    TCase *tests = tcase_create("ops_string_regex");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, whole_texts_are_matched, 0,
                        sizeof wholes / sizeof *wholes);
    tcase_add_loop_test(tests, matches_are_replaced, 0,
                        sizeof replaced / sizeof *replaced);
    tcase_add_test(tests, an_attribute_may_be_the_expression);
    tcase_add_loop_test(tests, what_is_no_expression_is_refused, 0,
                        sizeof mistakes / sizeof *mistakes);
    tcase_add_test(tests, what_is_left_out_is_refused);
    tcase_add_test(tests, an_expression_is_one_text);
    tcase_add_test(tests, no_expression_takes_long);
    tcase_add_test(tests, groups_nest_to_a_bound);
    return tests;
}
