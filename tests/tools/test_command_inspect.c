/* SPDX-License-Identifier: Apache-2.0 */
/* What eddy inspect says of ops that this build does not have. */
#include "tests/aid/command_runner.h"
#include "tests/aid/scratch_folder.h"
#include "tests/aid/wire_writer.h"
#include "tests/suites.h"

#include "eddy/plan.h"

#include <stdio.h>
#include <string.h>

static char folder[SCRATCH_PATH];
static wire_writer w;

static void set_up(void)
{
    scratch_folder_create(folder);
    memset(&w, 0, sizeof w);
}

static void tear_down(void)
{
    scratch_folder_remove(folder);
}

/* A function of a float32 x in a library; left open after its signature. */
static void begin_function(const char *name)
{
    wire_begin(&w, 1);
    wire_begin(&w, 1);
    wire_text(&w, 1, name);
    wire_begin(&w, 2);
    wire_text(&w, 1, "x");
    wire_number(&w, 3, 1);
    wire_end(&w);
    wire_end(&w);
}

/* A node without inputs in field 1, or in a FunctionDef 3. */
static void put_node(uint32_t field, const char *name, const char *op)
{
    wire_begin_node(&w, field, name, op);
    wire_end(&w);
}

/* Inspects what has been written. */
static command_result inspect(void)
{
    char path[SCRATCH_PATH + 16];
    FILE *file;

    snprintf(path, sizeof path, "%s/graph.pb", folder);
    file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(w.bytes, 1, w.length, file), w.length);
    ck_assert_int_eq(fclose(file), 0);
    return command_run("inspect", path, NULL);
}

static void check_contains(const command_result *r, const char *words)
{
    ck_assert_msg(strstr(r->out, words) != NULL, "no '%s' in:\n%s%s", words,
                  r->out, r->err);
}

/* The recorded counting loop, in a pass before and in one after lowering. */
START_TEST(a_graph_is_printed_after_a_pass)
{
    const char *graph = "tests/conformance/tf/functional/partitioned_call/"
                        "graph.pb";
    command_result before = command_run("inspect", graph, "--fetch=y",
                                        "--feed=x", "--dump-after=prune", NULL);
    command_result after = command_run("inspect", graph, "--fetch=y",
                                       "--feed=x", "--dump-after=lower", NULL);

    ck_assert_int_eq(before.status, 0);
    ck_assert_int_eq(after.status, 0);
    check_contains(&before, "PartitionedCall(");
    ck_assert_ptr_null(strstr(after.out, "PartitionedCall("));
    command_result_free(&before);
    command_result_free(&after);
}
END_TEST

START_TEST(every_pass_can_be_looked_behind_and_is_in_the_help)
{
    command_result help = command_run("inspect", "--help", NULL);
    const char *pass;

    for (char *at = help.out; (at = strpbrk(at, "\n.")) != NULL; at++)
        *at = *at == '.' ? ',' : ' ';
    for (size_t i = 0; (pass = eddy_plan_pass_name(i)) != NULL; i++) {
        char option[64];
        command_result r;

        snprintf(option, sizeof option, " %s,", pass);
        check_contains(&help, option);
        snprintf(option, sizeof option, "--dump-after=%s", pass);
        r = command_run(
            "inspect",
            "tests/conformance/tf/functional/partitioned_call/graph.pb",
            "--fetch=y", "--feed=x", option, NULL);
        ck_assert_msg(r.status == 0, "%s: %s", pass, r.err);
        check_contains(&r, " = ");
        command_result_free(&r);
    }
    command_result_free(&help);
}
END_TEST

START_TEST(a_pass_must_be_one)
{
    command_result r = command_run("inspect",
                                   "tests/conformance/tf/functional/"
                                   "partitioned_call/graph.pb",
                                   "--fetch=y", "--dump-after=nonsense", NULL);

    ck_assert_int_eq(r.status, 2);
    ck_assert_ptr_nonnull(strstr(r.err, "prune, lower, groups, references"));
    command_result_free(&r);
}
END_TEST

START_TEST(missing_ops_are_one_list_over_graph_and_functions)
{
    command_result r;

    put_node(1, "a", "NoOp");
    put_node(1, "b", "Zonk");
    put_node(1, "c", "Zonk");
    wire_begin(&w, 2);
    begin_function("f");
    put_node(3, "d", "Zonk");
    put_node(3, "e", "NoOp");
    wire_end(&w);
    begin_function("g");
    put_node(3, "h", "Bonk");
    wire_end(&w);
    wire_end(&w);
    r = inspect();
    ck_assert_msg(r.status == 0, "%s", r.err);
    check_contains(&r, "nodes: 3, and 3 in 2 functions\n");
    check_contains(&r, "         2  NoOp\n");
    check_contains(&r, "unsupported ops:\n"
                       "  Bonk: 1 node, the first h of function g\n"
                       "  Zonk: 3 nodes, the first b\n");
    ck_assert_ptr_null(strstr(r.out, "_Arg"));
    ck_assert_ptr_null(strstr(r.out, "cannot be read"));
    command_result_free(&r);
}
END_TEST

START_TEST(ops_that_are_all_there_are_no_list)
{
    command_result r;

    put_node(1, "a", "NoOp");
    wire_begin(&w, 2);
    begin_function("f");
    put_node(3, "e", "NoOp");
    wire_end(&w);
    wire_end(&w);
    r = inspect();
    ck_assert_msg(r.status == 0, "%s", r.err);
    check_contains(&r, "nodes: 1, and 1 in 1 function\n");
    check_contains(&r, "unsupported ops: none\n");
    command_result_free(&r);
}
END_TEST

/* The input of the node is not there. */
START_TEST(a_function_that_cannot_be_read_is_named)
{
    command_result r;

    put_node(1, "a", "NoOp");
    wire_begin(&w, 2);
    begin_function("f");
    wire_begin_node(&w, 3, "d", "Identity");
    wire_input(&w, "nowhere:output:0");
    wire_type(&w, "T", 1);
    wire_end(&w);
    wire_end(&w);
    wire_end(&w);
    r = inspect();
    ck_assert_msg(r.status == 0, "%s", r.err);
    check_contains(&r, "functions that cannot be read:\n  f: ");
    check_contains(&r, "nowhere");
    command_result_free(&r);
}
END_TEST

/* Frames and branches are those of the graph as it runs. */
START_TEST(loops_of_functions_are_frames)
{
    command_result r =
        command_run("inspect",
                    "tests/conformance/tf/functional/if_in_function_in_while/"
                    "graph.pb",
                    NULL);

    ck_assert_msg(r.status == 0, "%s", r.err);
    check_contains(&r, "         1  StatelessWhile\n");
    check_contains(&r, "unsupported ops: none\n");
    check_contains(&r, "\n    while: ");
    check_contains(&r, "      predicate: while/cond/Less loop_cond "
                       "while/LoopCond\n");
    check_contains(&r, "      invariant: enter while/Enter_1\n");
    check_contains(&r, "  predicate while/body/PartitionedCall/Greater in "
                       "while: 2 Switches");
    command_result_free(&r);
}
END_TEST

/* A loop's counter, its branch, and the nodes of each side. */
START_TEST(counters_and_branches_are_printed)
{
    command_result r = command_run(
        "inspect", "tests/conformance/tf/programs/p13/graph.pb", NULL);

    ck_assert_msg(r.status == 0, "%s", r.err);
    check_contains(&r, "cond/while/while_context: 34 nodes, "
                       "parallel_iterations 1, in side 1 of LogicalAnd\n");
    check_contains(&r, "trip counter: merge cond/while/Merge from cond/Const_2 "
                       "by cond/while/add/y while < cond/Const_1: 2 trips\n");
    check_contains(&r, "  predicate LogicalAnd: 7 Switches, the first "
                       "cond/Switch\n"
                       "    side 0: 4 nodes: cond/switch_f, cond/Identity, "
                       "cond/Identity_1, cond/Identity_2\n"
                       "    side 1: 25 nodes: cond/switch_t, ");
    check_contains(&r, ", and 17 more\n");
    check_contains(&r, "  predicate cond/Greater inside side 1 of "
                       "LogicalAnd: 6 Switches");
    ck_assert_ptr_null(strstr(r.out, "hints:"));
    command_result_free(&r);
}
END_TEST

/* Adds a node that reads the others as the words say. */
static void put_edges(const char *name, const char *op, const char *input,
                      const char *other)
{
    wire_begin_node(&w, 1, name, op);
    wire_input(&w, input);
    if (other != NULL)
        wire_input(&w, other);
    wire_type(&w, "T", 1);
    wire_end(&w);
}

static void put_placeholder(const char *name, int32_t dtype)
{
    wire_begin_node(&w, 1, name, "Placeholder");
    wire_type(&w, "dtype", dtype);
    wire_end(&w);
}

START_TEST(what_one_branch_uses_is_a_hint)
{
    command_result r;

    put_placeholder("p", 10);
    put_placeholder("x", 1);
    put_edges("v", "Exp", "x", NULL);
    put_edges("s", "Switch", "v", "p");
    put_edges("t", "Neg", "s:1", NULL);
    r = inspect();
    ck_assert_msg(r.status == 0, "%s", r.err);
    check_contains(&r, "hints:\n  v (Exp) runs always, but only side 1 of p "
                       "uses it\n");
    command_result_free(&r);
}
END_TEST

/* The function calls itself. */
START_TEST(functions_that_cannot_be_called_are_an_error)
{
    command_result r;

    put_node(1, "a", "f");
    wire_begin(&w, 2);
    wire_begin(&w, 1);
    wire_begin(&w, 1);
    wire_text(&w, 1, "f");
    wire_number(&w, 17, 1);
    wire_end(&w);
    put_node(3, "b", "f");
    wire_end(&w);
    wire_end(&w);
    r = inspect();
    ck_assert_int_eq(r.status, 1);
    check_contains(&r, "ops:\n");
    ck_assert_msg(strstr(r.err, "f -> f") != NULL, "%s", r.err);
    command_result_free(&r);
}
END_TEST

TCase *command_inspect_tests(void)
{
    TCase *tc = tcase_create("command_inspect");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, missing_ops_are_one_list_over_graph_and_functions);
    tcase_add_test(tc, ops_that_are_all_there_are_no_list);
    tcase_add_test(tc, a_function_that_cannot_be_read_is_named);
    tcase_add_test(tc, loops_of_functions_are_frames);
    tcase_add_test(tc, counters_and_branches_are_printed);
    tcase_add_test(tc, what_one_branch_uses_is_a_hint);
    tcase_add_test(tc, functions_that_cannot_be_called_are_an_error);
    tcase_add_test(tc, a_graph_is_printed_after_a_pass);
    tcase_add_test(tc, every_pass_can_be_looked_behind_and_is_in_the_help);
    tcase_add_test(tc, a_pass_must_be_one);
    return tc;
}
