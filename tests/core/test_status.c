/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/status.h"
#include "tests/suites.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

START_TEST(codes_are_named_and_numbered_as_in_tensorflow)
{
    ck_assert_str_eq(eddy_status_name(EDDY_OK), "OK");
    ck_assert_str_eq(eddy_status_name((eddy_status)3), "INVALID_ARGUMENT");
    ck_assert_str_eq(eddy_status_name((eddy_status)8), "RESOURCE_EXHAUSTED");
    ck_assert_str_eq(eddy_status_name((eddy_status)13), "INTERNAL");
    ck_assert_str_eq(eddy_status_name((eddy_status)16), "UNAUTHENTICATED");
    ck_assert_str_eq(eddy_status_name((eddy_status)17), "UNKNOWN");
    ck_assert_str_eq(eddy_status_name((eddy_status)-1), "UNKNOWN");
}
END_TEST

START_TEST(details_have_names_and_texts)
{
    for (int d = EDDY_E_NONE; d <= EDDY_E_THREAD; d++) {
        const char *name = eddy_detail_name((eddy_detail)d);

        ck_assert_int_eq(strncmp(name, "EDDY_E_", 7), 0);
        ck_assert_uint_gt(strlen(eddy_detail_text((eddy_detail)d)), 3);
    }
    ck_assert_str_eq(eddy_detail_name(EDDY_E_CYCLE), "EDDY_E_CYCLE");
    ck_assert_str_eq(eddy_detail_text(EDDY_E_CYCLE),
                     "a cycle without a NextIteration");
    ck_assert_str_eq(eddy_detail_name((eddy_detail)9999), "EDDY_E_NONE");
    ck_assert_str_eq(eddy_detail_text((eddy_detail)-1), "no further detail");
}
END_TEST

START_TEST(fail_fills_the_record_and_clears_the_rest)
{
    eddy_error err;

    memset(&err, 'x', sizeof err);
    ck_assert_int_eq(eddy__fail(&err, EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME,
                                "no '%s' of %d", "node", 3),
                     EDDY_NOT_FOUND);
    ck_assert_int_eq(err.code, EDDY_NOT_FOUND);
    ck_assert_int_eq(err.detail, EDDY_E_UNKNOWN_NAME);
    ck_assert_str_eq(err.message, "no 'node' of 3");
    ck_assert_str_eq(err.node, "");
    ck_assert_str_eq(err.op, "");
    ck_assert_str_eq(err.frame, "");
    ck_assert_str_eq(err.cause, "");
}
END_TEST

START_TEST(fail_without_a_record_gives_the_code)
{
    ck_assert_int_eq(eddy__fail(NULL, EDDY_ABORTED, EDDY_E_NONE, "x"),
                     EDDY_ABORTED);
    ck_assert_int_eq(
        eddy__fail_node(NULL, EDDY_INTERNAL, EDDY_E_NONE, "n", "Op", "x"),
        EDDY_INTERNAL);
    ck_assert_int_eq(eddy__fail_memory(NULL), EDDY_RESOURCE_EXHAUSTED);
}
END_TEST

START_TEST(fail_may_quote_its_own_record)
{
    eddy_error err;

    eddy__fail_node(&err, EDDY_INTERNAL, EDDY_E_NONE, "a\nb", "Op", "inner");
    ck_assert_str_eq(err.node, "a\\x0ab");
    ck_assert_str_eq(err.op, "Op");
    eddy__fail_node(&err, EDDY_INTERNAL, EDDY_E_NONE, err.node, NULL,
                    "outer: %s", err.message);
    ck_assert_str_eq(err.message, "outer: inner");
    ck_assert_str_eq(err.node, "a\\x0ab");
    ck_assert_str_eq(err.op, "");
}
END_TEST

START_TEST(long_messages_lose_their_middle)
{
    char *text = malloc(5001);
    eddy_error err;

    memset(text, 'm', 5000);
    memcpy(text, "begin", 5);
    strcpy(text + 995, "end!!");
    eddy__fail(&err, EDDY_INTERNAL, EDDY_E_NONE, "%s", text);
    ck_assert_uint_eq(strlen(err.message), sizeof err.message - 1);
    ck_assert_int_eq(strncmp(err.message, "begin", 5), 0);
    ck_assert_ptr_nonnull(strstr(err.message, "..."));
    ck_assert_str_eq(err.message + sizeof err.message - 6, "end!!");

    /* Too long even to be formatted whole: says so at the end. */
    memset(text + 995, 'm', 4005);
    text[5000] = '\0';
    eddy__fail(&err, EDDY_INTERNAL, EDDY_E_NONE, "%s", text);
    ck_assert_str_eq(err.message + sizeof err.message - 5, "m...");
    free(text);
}
END_TEST

static void want_line(const eddy_error *err, const char *line)
{
    char text[2048], small[20];

    ck_assert_uint_eq(eddy_error_format(err, text, sizeof text), strlen(line));
    ck_assert_str_eq(text, line);
    ck_assert_uint_eq(eddy_error_format(err, NULL, 0), strlen(line));
    ck_assert_uint_eq(eddy_error_format(err, small, sizeof small),
                      strlen(line));
    ck_assert_int_eq(strncmp(small, line, sizeof small - 1), 0);
}

START_TEST(format_leaves_out_what_is_empty)
{
    eddy_error err = {
        .code = EDDY_INVALID_ARGUMENT,
        .detail = EDDY_E_SHAPE,
        .node = "w/Reshape",
        .op = "Reshape",
        .frame = "w[3]",
        .message = "too few",
    };

    want_line(&err, "INVALID_ARGUMENT (EDDY_E_SHAPE): node 'w/Reshape' "
                    "(Reshape) in w[3]: too few");
    strcpy(err.cause, "killed by Switch 's'");
    want_line(&err, "INVALID_ARGUMENT (EDDY_E_SHAPE): node 'w/Reshape' "
                    "(Reshape) in w[3]: too few; killed by Switch 's'");
    err.cause[0] = '\0';
    err.frame[0] = '\0';
    want_line(&err, "INVALID_ARGUMENT (EDDY_E_SHAPE): node 'w/Reshape' "
                    "(Reshape): too few");
    err.op[0] = '\0';
    want_line(&err,
              "INVALID_ARGUMENT (EDDY_E_SHAPE): node 'w/Reshape': too few");
    strcpy(err.frame, "w[3]");
    want_line(&err, "INVALID_ARGUMENT (EDDY_E_SHAPE): node 'w/Reshape' in "
                    "w[3]: too few");
    err.node[0] = '\0';
    want_line(&err, "INVALID_ARGUMENT (EDDY_E_SHAPE): in w[3]: too few");
    strcpy(err.op, "Reshape");
    want_line(&err,
              "INVALID_ARGUMENT (EDDY_E_SHAPE): op Reshape in w[3]: too few");
    err.op[0] = err.frame[0] = '\0';
    want_line(&err, "INVALID_ARGUMENT (EDDY_E_SHAPE): too few");
    err.detail = EDDY_E_NONE;
    want_line(&err, "INVALID_ARGUMENT: too few");
    err.message[0] = '\0';
    want_line(&err, "INVALID_ARGUMENT");
}
END_TEST

static void want_copy(const char *from, size_t length, const char *wanted)
{
    char to[128];

    eddy__copy_text(to, sizeof to, from, length);
    ck_assert_str_eq(to, wanted);
}

START_TEST(copy_escapes_what_does_not_print)
{
    want_copy("plain / text_1", 14, "plain / text_1");
    want_copy("", 0, "");
    want_copy(NULL, 0, "");
    want_copy("a\0b\x1b[0m\x7f", 8, "a\\x00b\\x1b[0m\\x7f");
    want_copy("\t\n", 2, "\\x09\\x0a");
    want_copy("%n%s", 4, "%n%s");
    /* UTF-8 of two, three and four bytes stays. */
    want_copy("\xc3\xa9\xe2\x82\xac\xf0\x90\x8d\x88", 9,
              "\xc3\xa9\xe2\x82\xac\xf0\x90\x8d\x88");
    want_copy("\xf4\x8f\xbf\xbf", 4, "\xf4\x8f\xbf\xbf");
    want_copy("\xee\x80\x80\xed\x9f\xbf", 6, "\xee\x80\x80\xed\x9f\xbf");
}
END_TEST

START_TEST(copy_escapes_what_is_not_utf8)
{
    want_copy("\xff\x80", 2, "\\xff\\x80");
    /* Overlong forms. */
    want_copy("\xc0\x80", 2, "\\xc0\\x80");
    want_copy("\xc1\xbf", 2, "\\xc1\\xbf");
    want_copy("\xe0\x9f\xbf", 3, "\\xe0\\x9f\\xbf");
    want_copy("\xf0\x8f\xbf\xbf", 4, "\\xf0\\x8f\\xbf\\xbf");
    /* A surrogate, and code points above the last. */
    want_copy("\xed\xa0\x80", 3, "\\xed\\xa0\\x80");
    want_copy("\xf4\x90\x80\x80", 4, "\\xf4\\x90\\x80\\x80");
    want_copy("\xf5\x80\x80\x80", 4, "\\xf5\\x80\\x80\\x80");
    /* Cut short by the end or by another character. */
    want_copy("\xe2\x82", 2, "\\xe2\\x82");
    want_copy("\xe2\x82x", 3, "\\xe2\\x82x");
    want_copy("\xc3\xc3\xa9", 3, "\\xc3\xc3\xa9");
    /* A control character in two bytes. */
    want_copy("\xc2\x85\xc2\xa0", 4, "\\xc2\\x85\xc2\xa0");
}
END_TEST

/* Sixteen pieces, as they are given and as they are copied. */
static const char *const pieces[16] = {
    "a",  "\xc3\xa9", "\n", "b",        "\xe2\x82\xac", "c", "\xff", "d",
    "\n", "e",        "f",  "\xe2\x82", "\xc3\xa9",     "g", "h",    "\xc3"};
static const char *const copies[16] = {
    "a", "\xc3\xa9", "\\x0a", "b", "\xe2\x82\xac", "c",        "\\xff",
    "d", "\\x0a",    "e",     "f", "\\xe2\\x82",   "\xc3\xa9", "g",
    "h", "\\xc3"};

/* Is `n` the length of some first or last pieces?  "\\xe2\\x82" is two. */
static bool is_boundary(size_t n, bool from_end)
{
    size_t sum = 0;

    for (size_t i = 0; i < 16 && sum < n; i++) {
        const size_t length = strlen(copies[from_end ? 15 - i : i]);

        if (length == 8 && sum + 4 == n)
            return true;
        sum += length;
    }
    return sum == n;
}

START_TEST(copy_cuts_between_pieces)
{
    char from[64] = "", whole[64] = "", to[64];

    for (size_t i = 0; i < 16; i++) {
        strcat(from, pieces[i]);
        strcat(whole, copies[i]);
    }
    for (size_t size = 1; size < sizeof to; size++) {
        const char *dots;
        size_t head, tail;

        memset(to, 'x', sizeof to);
        eddy__copy_text(to, size, from, strlen(from));
        ck_assert_uint_lt(strlen(to), size);
        for (size_t i = size; i < sizeof to; i++)
            ck_assert_int_eq(to[i], 'x');
        if (size > strlen(whole)) {
            ck_assert_str_eq(to, whole);
            continue;
        }
        dots = strstr(to, "...");
        head = dots ? (size_t)(dots - to) : strlen(to);
        tail = dots ? strlen(dots + 3) : 0;
        ck_assert(dots || size <= 4);
        ck_assert_int_eq(strncmp(to, whole, head), 0);
        ck_assert(is_boundary(head, false));
        ck_assert(is_boundary(tail, true));
        ck_assert_str_eq(to + strlen(to) - tail, whole + strlen(whole) - tail);
        /* No more is lost than a piece at each end, and the dots. */
        ck_assert_uint_ge(strlen(to) + 4 + 4, size - 1);
    }
}
END_TEST

START_TEST(copy_into_nothing_writes_nothing)
{
    char to[2] = "x";

    eddy__copy_text(to, 0, "abc", 3);
    ck_assert_str_eq(to, "x");
    eddy__copy_text(to, 1, "abc", 3);
    ck_assert_str_eq(to, "");
}
END_TEST

TCase *status_tests(void)
{
    TCase *tests = tcase_create("status");

    tcase_add_test(tests, codes_are_named_and_numbered_as_in_tensorflow);
    tcase_add_test(tests, details_have_names_and_texts);
    tcase_add_test(tests, fail_fills_the_record_and_clears_the_rest);
    tcase_add_test(tests, fail_without_a_record_gives_the_code);
    tcase_add_test(tests, fail_may_quote_its_own_record);
    tcase_add_test(tests, long_messages_lose_their_middle);
    tcase_add_test(tests, format_leaves_out_what_is_empty);
    tcase_add_test(tests, copy_escapes_what_does_not_print);
    tcase_add_test(tests, copy_escapes_what_is_not_utf8);
    tcase_add_test(tests, copy_cuts_between_pieces);
    tcase_add_test(tests, copy_into_nothing_writes_nothing);
    return tests;
}
