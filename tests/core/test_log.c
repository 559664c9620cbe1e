/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator and the logger of a context. */
#include "core/context.h"
#include "tests/suites.h"

#include <stdio.h>
#include <string.h>

static char last[2048];
static eddy_log_level last_level;
static int n_lines;

static void keep_line(void *user, eddy_log_level level, const char *line)
{
    *(bool *)user = true;
    last_level = level;
    n_lines++;
    snprintf(last, sizeof last, "%s", line);
}

START_TEST(a_line_reaches_the_logger)
{
    bool called = false;
    const eddy_context ctx = {.logger = {.log = keep_line, .user = &called}};

    n_lines = 0;
    eddy__context_log(&ctx, EDDY_LOG_INFO, "%s is %d", "x", 7);
    ck_assert(called);
    ck_assert_int_eq(n_lines, 1);
    ck_assert_int_eq(last_level, EDDY_LOG_INFO);
    ck_assert_str_eq(last, "x is 7");
}
END_TEST

START_TEST(a_long_line_is_cut)
{
    bool called = false;
    const eddy_context ctx = {.logger = {.log = keep_line, .user = &called}};
    char text[2000];

    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    eddy__context_log(&ctx, EDDY_LOG_WARNING, "%s", text);
    ck_assert_int_eq(last_level, EDDY_LOG_WARNING);
    ck_assert_uint_eq(strlen(last), 1023);
}
END_TEST

START_TEST(without_a_logger_lines_are_dropped)
{
    const eddy_context ctx = {.pool = NULL};

    n_lines = 0;
    eddy__context_log(&ctx, EDDY_LOG_INFO, "nobody hears %d", 1);
    ck_assert_int_eq(n_lines, 0);
}
END_TEST

START_TEST(no_context_has_the_default_allocator)
{
    const eddy_context ctx = {.pool = NULL};

    ck_assert_ptr_eq(eddy__context_allocator(NULL), eddy__default_allocator());
    ck_assert_ptr_eq(eddy__context_allocator(&ctx), &ctx.allocator);
}
END_TEST

TCase *log_tests(void)
{
    TCase *tc = tcase_create("log");

    tcase_add_test(tc, a_line_reaches_the_logger);
    tcase_add_test(tc, a_long_line_is_cut);
    tcase_add_test(tc, without_a_logger_lines_are_dropped);
    tcase_add_test(tc, no_context_has_the_default_allocator);
    return tc;
}
