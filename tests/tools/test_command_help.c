/* SPDX-License-Identifier: Apache-2.0 */
/* eddy help, --version, inspect --json and run --init, as a user calls them. */
#include "tests/aid/command_runner.h"
#include "tests/suites.h"

#include "eddy/version.h"

#include <jansson.h>
#include <string.h>

#define NESTED "tests/conformance/savedmodel/nested"

static command_result got;

static void tear_down(void)
{
    command_result_free(&got);
}

static void expect(const char *text)
{
    ck_assert_msg(strstr(got.out, text) != NULL, "no '%s' in:\n%s", text,
                  got.out);
}

START_TEST(a_page_of_the_manual_is_made_of_the_tables)
{
    got = command_run("help", "--man", "run", NULL);
    ck_assert_int_eq(got.status, 0);
    expect(".TH EDDY\\-run 1");
    expect(".SH SYNOPSIS");
    expect("parallel\\-iterations");
    expect("\n.SH EXIT STATUS\n");
    command_result_free(&got);
    got = command_run("help", "--man", NULL);
    expect(".BR eddy\\-inspect (1)");
}
END_TEST

/* _i is the shell. */
START_TEST(completions_know_commands_and_options)
{
    static const char *const shells[] = {"bash", "zsh", "fish"};

    got = command_run("help", "--completion", shells[_i], NULL);
    ck_assert_int_eq(got.status, 0);
    expect("verify");
    expect("max-iterations");
}
END_TEST

START_TEST(help_that_there_is_not_is_wrong_use)
{
    got = command_run("help", "--completion", "tcsh", NULL);
    ck_assert_int_eq(got.status, 2);
    command_result_free(&got);
    got = command_run("help", "--man", "nothing", NULL);
    ck_assert_int_eq(got.status, 2);
}
END_TEST

START_TEST(the_command_says_what_it_is_made_of)
{
    got = command_run("--version", NULL);
    ck_assert_int_eq(got.status, 0);
    expect("eddy " EDDY_VERSION_STRING "\n");
    expect("\nBLAS    OpenBLAS ");
    expect("\nCPU     ");
}
END_TEST

START_TEST(inspect_speaks_json)
{
    json_error_t error;
    json_t *root, *loops, *first;

    got = command_run("inspect", NESTED, "--json", NULL);
    ck_assert_int_eq(got.status, 0);
    root = json_loads(got.out, 0, &error);
    ck_assert_msg(root != NULL, "%s", error.text);
    ck_assert_int_gt(json_integer_value(json_object_get(root, "nodes")), 10);
    ck_assert(json_is_array(json_object_get(root, "unknown")));
    ck_assert_uint_eq(json_array_size(json_object_get(root, "signatures")), 1);
    loops = json_object_get(root, "loops");
    ck_assert_uint_eq(json_array_size(loops), 2);
    first = json_array_get(loops, 0);
    ck_assert_uint_gt(json_array_size(json_object_get(first, "variables")), 1);
    ck_assert_uint_gt(json_array_size(json_object_get(root, "branches")), 1);
    ck_assert_uint_gt(json_array_size(json_object_get(root, "inputs")), 1);
    json_decref(root);
}
END_TEST

START_TEST(a_signatures_outputs_are_fetched_by_its_names)
{
    got = command_run("run", NESTED, "--feed", "x=[[1,0,0]]", "--feed", "n=0",
                      "--fetch", "y", NULL);
    ck_assert_int_eq(got.status, 0);
    expect("y\tfloat32\t[1,3]\t[[1,0,0]]\n");
}
END_TEST

/* What assigns at the model's start is run again before the run. */
START_TEST(a_node_can_be_run_before)
{
    got = command_run("run", NESTED, "--init", "NoOp", "--feed", "x=[[1,0,0]]",
                      "--feed", "n=0", NULL);
    ck_assert_int_eq(got.status, 0);
    expect("y\tfloat32\t[1,3]\t[[1,0,0]]\n");
    command_result_free(&got);
    got = command_run("run", NESTED, "--init", "no_such", "--feed",
                      "x=[[1,0,0]]", "--feed", "n=0", NULL);
    ck_assert_int_eq(got.status, 2);
    ck_assert_ptr_nonnull(strstr(got.err, "no_such"));
}
END_TEST

TCase *command_help_tests(void)
{
    TCase *tc = tcase_create("command_help");

    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_test(tc, a_page_of_the_manual_is_made_of_the_tables);
    tcase_add_loop_test(tc, completions_know_commands_and_options, 0, 3);
    tcase_add_test(tc, help_that_there_is_not_is_wrong_use);
    tcase_add_test(tc, the_command_says_what_it_is_made_of);
    tcase_add_test(tc, inspect_speaks_json);
    tcase_add_test(tc, a_signatures_outputs_are_fetched_by_its_names);
    tcase_add_test(tc, a_node_can_be_run_before);
    return tc;
}
