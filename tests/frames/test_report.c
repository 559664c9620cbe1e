/* SPDX-License-Identifier: Apache-2.0 */
/* How messages name long names, frames and paths, and how warnings end. */
#include "frames/analysis/report.h"

#include "tests/aid/text_graph.h"
#include "tests/suites.h"

#include <stdio.h>
#include <string.h>

static text_graph t;

static void setup(void)
{
    text_graph_init(&t);
}

static void teardown(void)
{
    text_graph_deinit(&t);
}

START_TEST(a_short_name_stays_as_it_is)
{
    ck_assert_str_eq(eddy__shorten("while/add").text, "while/add");
    ck_assert_str_eq(eddy__shorten("").text, "");
}
END_TEST

START_TEST(a_long_name_is_cut_and_says_so)
{
    char name[1001];
    eddy__short_name cut;

    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    cut = eddy__shorten(name);
    ck_assert_uint_lt(strlen(cut.text), sizeof cut.text);
    ck_assert_ptr_nonnull(strstr(cut.text, "..."));
    ck_assert_int_eq(strncmp(cut.text, "aaaa", 4), 0);
}
END_TEST

START_TEST(frames_are_named_and_the_root_is_the_root)
{
    const eddy_frame root = {.name = "", .depth = 0};
    const eddy_frame loop = {.name = "while/ctx", .depth = 1};

    ck_assert_str_eq(eddy__name_frame(&root).text, "the root frame");
    ck_assert_str_eq(eddy__name_frame(&loop).text, "frame 'while/ctx'");
}
END_TEST

START_TEST(a_path_goes_from_the_outermost_frame_inwards)
{
    const eddy_frame frames[] = {
        {.name = ""},
        {.name = "outer", .parent = 0, .depth = 1},
        {.name = "middle", .parent = 1, .depth = 2},
        {.name = "inner", .parent = 2, .depth = 3},
    };
    eddy_error err = {.code = EDDY_OK};

    eddy__blame_frame(&err, frames, 3);
    ck_assert_str_eq(err.frame, "outer/middle/inner");
    eddy__blame_frame(&err, frames, 0);
    ck_assert_str_eq(err.frame, "");
    eddy__blame_frame(NULL, frames, 3);
}
END_TEST

/* The innermost frames are those that a reader needs. */
START_TEST(a_path_that_is_too_long_loses_its_outer_frames)
{
    enum { DEPTH = 200 };
    eddy_frame frames[DEPTH] = {{.name = ""}};
    eddy_error err = {.code = EDDY_OK};

    for (uint32_t i = 1; i < DEPTH; i++)
        frames[i] = (eddy_frame){.name = i == DEPTH - 1 ? "last" : "a_loop",
                                 .parent = i - 1,
                                 .depth = i};
    eddy__blame_frame(&err, frames, DEPTH - 1);
    ck_assert_uint_lt(strlen(err.frame), sizeof err.frame);
    ck_assert_ptr_nonnull(strstr(err.frame, "..."));
}
END_TEST

START_TEST(a_refusal_names_node_frame_and_sub_code)
{
    const eddy_frame frames[] = {{.name = ""},
                                 {.name = "w", .parent = 0, .depth = 1}};
    eddy_error err = {.code = EDDY_OK};

    text_graph_build(&t, "x Source\ny Neg x\n");
    ck_assert_int_eq(
        eddy__report_refuse(&err, EDDY_E_CYCLE,
                            eddy__graph_node(t.graph, text_graph_node(&t, "y")),
                            frames, 1, "it has %d heads", 3),
        EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(err.code, EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(err.detail, EDDY_E_CYCLE);
    ck_assert_str_eq(err.node, "y");
    ck_assert_str_eq(err.op, "Neg");
    ck_assert_str_eq(err.frame, "w");
    ck_assert_ptr_nonnull(strstr(err.message, "it has 3 heads"));
}
END_TEST

START_TEST(after_a_hundred_warnings_one_says_that_there_are_more)
{
    text_graph_accept(&t, "x Source\n");
    for (int i = 0; i < 300; i++)
        ck_assert_int_eq(eddy__report_warn(t.analysis, &t.err, "warning %d", i),
                         EDDY_OK);
    ck_assert_uint_eq(t.analysis->n_warnings, 101);
    ck_assert_str_eq(t.analysis->warnings[0], "warning 0");
    ck_assert_str_eq(t.analysis->warnings[99], "warning 99");
    ck_assert_str_eq(t.analysis->warnings[100], "there are further warnings");
}
END_TEST

TCase *report_tests(void)
{
    TCase *tc = tcase_create("report");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_short_name_stays_as_it_is);
    tcase_add_test(tc, a_long_name_is_cut_and_says_so);
    tcase_add_test(tc, frames_are_named_and_the_root_is_the_root);
    tcase_add_test(tc, a_path_goes_from_the_outermost_frame_inwards);
    tcase_add_test(tc, a_path_that_is_too_long_loses_its_outer_frames);
    tcase_add_test(tc, a_refusal_names_node_frame_and_sub_code);
    tcase_add_test(tc, after_a_hundred_warnings_one_says_that_there_are_more);
    return tc;
}
