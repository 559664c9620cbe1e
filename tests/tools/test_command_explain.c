/* SPDX-License-Identifier: Apache-2.0 */
/* eddy explain and eddy diff, on recorded cases. */
#include "tests/aid/command_runner.h"
#include "tests/aid/scratch_folder.h"
#include "tests/suites.h"

#include <stdio.h>
#include <string.h>

#define COND "tests/conformance/tf/gradients/cond_in_while/"
#define NORM "tests/conformance/tf/gradients/while_norm/"
#define NESTED "tests/conformance/tf/gradients/nested3/"
#define COUNT "tests/conformance/tf/while/count/"
#define FEEDS                                                                  \
    "--feed", "x=@" COND "in_0_x.npy", "--feed", "n=@" COND "in_0_n.npy"

static char folder[SCRATCH_PATH], one[SCRATCH_PATH + 16];
static char other[SCRATCH_PATH + 16];
static command_result got;

static void set_up(void)
{
    scratch_folder_create(folder);
    snprintf(one, sizeof one, "%s/a.json", folder);
    snprintf(other, sizeof other, "%s/b.json", folder);
    got = (command_result){0};
}

static void tear_down(void)
{
    command_result_free(&got);
    scratch_folder_remove(folder);
}

static void expect(const char *words)
{
    ck_assert_msg(strstr(got.out, words) != NULL, "no '%s' in:\n%s%s", words,
                  got.out, got.err);
}

START_TEST(a_dead_node_is_explained)
{
    got = command_run("explain", COND "graph.pb", FEEDS, "--fetch", "loss:0",
                      "while/NextIteration", NULL);
    ck_assert_int_eq(got.status, 0);
    expect("while/NextIteration (NextIteration): 6 executions, 1 dead");
    expect("in while/while_context[5]: dead");
    expect("why it is dead:");
    expect("while/Switch (Switch) in while/while_context[5]: live");
    expect("that Switch took output 0");
}
END_TEST

START_TEST(an_iteration_may_be_asked)
{
    got = command_run("explain", COND "graph.pb", FEEDS, "--fetch", "loss:0",
                      "--at", "while/while_context[2]", "while/add", NULL);
    ck_assert_int_eq(got.status, 0);
    expect("while/add (AddV2) in while/while_context[2]: live, 3");
    expect("reads while/Identity (Identity) in while/while_context[2]: live, "
           "2");
}
END_TEST

static char gradient[64]; /* of the loss by w, three loops in each other */

static void make_gradient(void)
{
    command_result made;
    char w[64];

    snprintf(one, sizeof one, "%s/grad.pb", folder);
    made = command_run("grad", NESTED "graph.pb", "--ys", "loss:0", "--xs",
                       "w:0", "-o", one, NULL);
    ck_assert_int_eq(made.status, 0);
    ck_assert_int_eq(sscanf(made.out, "%63s %63s", w, gradient), 2);
    command_result_free(&made);
}

/* Through the tape and three gradient loops. */
START_TEST(an_infinity_in_a_nested_gradient_has_its_origin)
{
    make_gradient();
    got = command_run("explain", one, "--feed", "x=@" NESTED "in_0_x.npy",
                      "--feed", "w=1e120", "--fetch", gradient, gradient, NULL);
    ck_assert_msg(got.status == 0, "%s", got.err);
    expect("where the NaN or infinity comes from");
    expect("gradients/while/while/while/mul/Mul (Mul) in ");
    expect("    reads gradients/while/while/while/mul/Enter_2 (Enter)");
}
END_TEST

/*
 * With w = 1e120 the norm grows past what a double holds, and the loop goes on
 * for ever: its gradients never run.  The limit ends it, and the answer is what
 * the run did.
 */
START_TEST(an_infinity_in_a_loop_without_end_has_its_origin)
{
    command_result made;
    char w[64];

    snprintf(one, sizeof one, "%s/norm.pb", folder);
    made = command_run("grad", NORM "graph.pb", "--ys", "loss:0", "--xs", "w:0",
                       "--order", _i == 0 ? "1" : "2", "-o", one, NULL);
    ck_assert_int_eq(made.status, 0);
    ck_assert_int_eq(sscanf(made.out, "%63s %63s", w, gradient), 2);
    command_result_free(&made);
    got = command_run("explain", one, "--feed", "x=@" NORM "in_0_x.npy",
                      "--feed", "w=1e120", "--fetch", gradient,
                      "--max-iterations", "50", gradient, NULL);
    ck_assert_msg(got.status == 0, "%s", got.err);
    expect("it did not run\nRESOURCE_EXHAUSTED");
    expect("where the NaN or infinity comes from");
    expect(
        "  while/norm/mul (Mul) in while/while_context[2]: live, float64[2]");
    expect("    reads while/Merge_1 (Merge) in while/while_context[2]: live, "
           "float64[2] 3e+240..4e+240");
}
END_TEST

START_TEST(numerics_stop_a_run)
{
    make_gradient();
    got = command_run("explain", one, "--feed", "x=@" NESTED "in_0_x.npy",
                      "--feed", "w=1e120", "--fetch", gradient,
                      "--check-numerics", NULL);
    ck_assert_ptr_nonnull(strstr(got.err, "from finite inputs"));
    ck_assert_ptr_nonnull(strstr(got.err, "'gradients/while/while/while/mul/"
                                          "Mul'"));
    expect("INVALID_ARGUMENT");
    expect("first NaN or infinity");
}
END_TEST

START_TEST(a_run_that_does_not_end_says_what_goes_on)
{
    got = command_run("explain", COUNT "graph.pb", "--feed",
                      "n=@" COUNT "in_0_n.npy", "--fetch", "y:0",
                      "--max-iterations", "3", NULL);
    expect("RESOURCE_EXHAUSTED");
    expect("loop ");
    expect("goes on by ");
}
END_TEST

START_TEST(what_takes_time_is_named)
{
    got = command_run("explain", COND "graph.pb", FEEDS, "--fetch", "loss:0",
                      NULL);
    ck_assert_int_eq(got.status, 0);
    expect("longest chain: ");
    expect("parallel_iterations ");
}
END_TEST

/* ---- diff ---- */

static void record(const char *path, const char *x, const char *workers)
{
    char feed[64];
    command_result made;

    snprintf(feed, sizeof feed, "x=%s", x);
    made = command_run("trace", COND "graph.pb", "--feed", feed, "--feed",
                       "n=5", "--fetch", "loss:0", "--workers", workers, "-o",
                       path, NULL);
    ck_assert_msg(made.status == 0, "%s", made.err);
    command_result_free(&made);
}

START_TEST(runs_with_and_without_workers_are_the_same)
{
    record(one, "0.6", "0");
    record(other, "0.6", "2");
    got = command_run("diff", one, other, NULL);
    ck_assert_msg(got.status == 0, "%s%s", got.out, got.err);
    expect("tokens, all the same");
}
END_TEST

START_TEST(the_first_difference_is_named)
{
    record(one, "0.6", "0");
    record(other, "0.5", "0");
    got = command_run("diff", one, other, NULL);
    ck_assert_int_eq(got.status, 1);
    expect("tokens differ, the first:\nx:0");
    expect("live, 0.6");
    expect("live, 0.5");
}
END_TEST

START_TEST(values_of_others_are_compared)
{
    char values[SCRATCH_PATH + 16];
    command_result made;

    snprintf(values, sizeof values, "%s/values", folder);
    record(one, "0.6", "0");
    made = command_run("run", COND "graph.pb", "--feed", "x=0.6", "--feed",
                       "n=5", "--fetch", "loss", "--out", values, NULL);
    ck_assert_int_eq(made.status, 0);
    command_result_free(&made);
    got = command_run("diff", one, values, NULL);
    ck_assert_msg(got.status == 0, "%s%s", got.out, got.err);
    expect("1 tokens, all the same");
    command_result_free(&got);
    made = command_run("run", COND "graph.pb", "--feed", "x=0.5", "--feed",
                       "n=5", "--fetch", "loss", "--out", values, NULL);
    command_result_free(&made);
    got = command_run("diff", one, values, NULL);
    ck_assert_int_eq(got.status, 1);
    expect("other values");
}
END_TEST

START_TEST(wrong_use_is_refused)
{
    got = command_run("diff", one, NULL);
    ck_assert_int_eq(got.status, 2);
    command_result_free(&got);
    got = command_run("diff", COND "graph.pb", COND "graph.pb", NULL);
    ck_assert_int_eq(got.status, 1);
    command_result_free(&got);
    got = command_run("explain", COND "graph.pb", FEEDS, "--fetch", "loss:0",
                      "nobody", NULL);
    ck_assert_int_eq(got.status, 2);
}
END_TEST

/* ---- drawings ---- */

START_TEST(a_graph_is_drawn)
{
    got = command_run("inspect", COND "graph.pb", "--svg", NULL);
    ck_assert_int_eq(got.status, 0);
    expect("<svg xmlns=");
    expect("while/while_context (parallel 10)");
    expect(">LoopCond</text>");
    expect("</svg>");
    command_result_free(&got);
    got = command_run("inspect", COND "graph.pb", "--html", NULL);
    ck_assert_int_eq(got.status, 0);
    expect("default-src 'none'");
    expect("\"while/LoopCond\"");
    expect("</html>");
}
END_TEST

TCase *command_explain_tests(void)
{
    TCase *tc = tcase_create("command_explain");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, a_dead_node_is_explained);
    tcase_add_test(tc, an_iteration_may_be_asked);
    tcase_add_test(tc, an_infinity_in_a_nested_gradient_has_its_origin);
    tcase_add_loop_test(tc, an_infinity_in_a_loop_without_end_has_its_origin, 0,
                        2);
    tcase_add_test(tc, numerics_stop_a_run);
    tcase_add_test(tc, a_run_that_does_not_end_says_what_goes_on);
    tcase_add_test(tc, what_takes_time_is_named);
    tcase_add_test(tc, runs_with_and_without_workers_are_the_same);
    tcase_add_test(tc, the_first_difference_is_named);
    tcase_add_test(tc, values_of_others_are_compared);
    tcase_add_test(tc, wrong_use_is_refused);
    tcase_add_test(tc, a_graph_is_drawn);
    return tc;
}
