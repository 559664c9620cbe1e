/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each kind of node does when it is live and when it is dead, seen in
 * results and in the numbers of live and dead executions.
 */
#include "tests/aid/probe_ops.h"
#include "tests/suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static program p;

static void setup(void)
{
    program_init(&p, 0);
}

static void teardown(void)
{
    program_deinit(&p);
}

/* x is 7, d is dead; all five nodes are in every plan, four of them live. */
#define HEAD                                                                   \
    "x int64=7\n"                                                              \
    "yes bool=1\n"                                                             \
    "no bool=0\n"                                                              \
    "q Switch x no\n"                                                          \
    "d Identity q:1\n"
#define HEAD_LIVE 4
#define HEAD_DEAD 1

static void want_values(const char *values)
{
    char copy[64], *rest, *word;
    size_t i = 0;

    snprintf(copy, sizeof copy, "%s", values);
    for (word = strtok_r(copy, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest))
        ck_assert_int_eq(program_fetch_int(&p, i++), atoll(word));
}

static void want_counts(const char *text, uint64_t live, uint64_t dead)
{
    const eddy_stats stats = program_stats(&p);

    ck_assert_msg(
        stats.live_executions == HEAD_LIVE + live &&
            stats.dead_executions == HEAD_DEAD + dead,
        "%s: live %lld for %llu, dead %lld for %llu", text,
        (long long)stats.live_executions - HEAD_LIVE, (unsigned long long)live,
        (long long)stats.dead_executions - HEAD_DEAD, (unsigned long long)dead);
}

static void run_with_head(const char *text, const char *fetches)
{
    char all[1024];

    snprintf(all, sizeof all, HEAD "%s", text);
    program_build(&p, all);
    snprintf(all, sizeof all, "%s ^d ^yes", fetches);
    program_plan(&p, NULL, all);
    program_run(&p);
}

/* ---- one node and another ---- */

static const struct {
    const char *text, *fetches, *values;
    uint64_t live, dead; /* beside those of HEAD */
} rows[] = {
    /* Switch: one port lives. */
    {"s Switch x yes\na Neg s\nb Neg s:1", "b ^a", "-7", 2, 1},
    {"s Switch x no\na Neg s\nb Neg s:1", "a ^b", "-7", 2, 1},
    /* A dead input, predicate or control kills both ports. */
    {"s Switch d yes\na Neg s\nb Neg s:1", "^a ^b", "", 0, 3},
    {"r Switch yes no\ns Switch x r:1\na Neg s\nb Neg s:1", "^a ^b", "", 1, 3},
    {"s Switch x yes ^d\na Neg s\nb Neg s:1", "^a ^b", "", 0, 3},
    /* The control edges of a live Switch are live. */
    {"s Switch x yes\nc int64=3 ^s", "c", "3", 2, 0},
    /* Death along data, along control, and through NoOp. */
    {"a Neg d\nb Neg a", "^b", "", 0, 2},
    {"c int64=3 ^d\nb Neg c", "^b", "", 0, 2},
    {"g NoOp ^d\nc int64=3 ^g", "^c", "", 0, 2},
    {"a AddV2 x d", "^a", "", 0, 1},
    {"a AddV2 d d", "^a", "", 0, 1},
    {"a int64=1\nb AddV2 a x ^a ^d", "^b", "", 1, 1},
    /* ControlTrigger is never dead. */
    {"t ControlTrigger ^d\nc int64=3 ^t", "c", "3", 2, 0},
    {"t ControlTrigger ^d ^x\nc int64=3 ^t", "c", "3", 2, 0},
    {"t ControlTrigger\nc int64=3 ^t", "c", "3", 2, 0},
    /* Merge: the live one, whichever it is. */
    {"m Merge x d", "m m:1", "7 0", 1, 0},
    {"m Merge d x", "m m:1", "7 1", 1, 0},
    {"a Neg q\nm Merge d d a", "m m:1", "-7 2", 2, 0},
    {"m Merge x", "m m:1", "7 0", 1, 0},
    {"s Switch x yes\na Neg s\nb Abs s:1\nm Merge a b", "m m:1", "7 1", 3, 1},
    /* Dead when all are, with control or without. */
    {"m Merge d d\na Neg m\nb Neg m:1", "^a ^b", "", 0, 3},
    {"m Merge d d ^d\na Neg m", "^a", "", 0, 2},
    {"m Merge d d ^x\na Neg m", "^a", "", 0, 2},
    /* Dead control does not kill it. */
    {"m Merge x d ^d", "m", "7", 1, 0},
    {"m Merge d x ^d ^q ^x", "m m:1", "7 1", 1, 0},
    /* Its consumers may be anything. */
    {"m Merge x d\nn Merge d m\no Merge n d", "o o:1", "7 0", 3, 0},
    /* A frame that never iterates. */
    {"e Enter@f x\na Neg e\no Exit a", "o", "-7", 3, 0},
    {"e Enter@f d\na Neg e\no Exit a\nz Neg o", "^z", "", 0, 4},
    {"e Enter@f! x\na Neg e\no Exit a", "o", "-7", 3, 0},
    {"e Enter@f! d\na Neg e\no Exit a\nz Neg o", "^z", "", 0, 4},
    /* Its Exits: live at once, dead at its end, control edges too. */
    {"e Enter@f d\no Exit e\nt ControlTrigger ^o\nc int64=3 ^t", "c", "3", 2,
     2},
    {"e Enter@f d\no Exit e\nm Merge o x", "m m:1", "7 1", 1, 2},
    {"e Enter@f d\no Exit e\nm Merge x d ^o", "m m:1", "7 0", 1, 2},
    {"e Enter@f x\no Exit e\ng NoOp ^o\nc int64=3 ^g", "c", "3", 4, 0},
    {"e Enter@f x\nb Enter@f yes\ns Switch e b\no Exit s\nr Exit s:1\n"
     "m Merge o r",
     "m m:1", "7 1", 5, 1},
    /* A dead Enter kills a Merge of its frame at once. */
    {"e Enter@f d\nm Merge e e\no Exit m\nz Neg o", "^z", "", 0, 4},
    /* An Enter with a dead control input. */
    {"e Enter@f x ^d\no Exit e\nz Neg o", "^z", "", 0, 3},
    /* What nobody reads. */
    {"e Enter@f x", "^e", "", 1, 0},
    {"e Enter@f! x", "^e", "", 1, 0},
    {"e Enter@f d", "^e", "", 0, 1},
    {"e Enter@f x\no Exit e", "^o", "", 2, 0},
    {"s Switch x yes", "^s", "", 1, 0},
    {"m Merge x d", "^m", "", 1, 0},
};

START_TEST(row)
{
    run_with_head(rows[_i].text, rows[_i].fetches);
    want_values(rows[_i].values);
    want_counts(rows[_i].text, rows[_i].live, rows[_i].dead);
}
END_TEST

/* ---- whole loops ---- */

/* A counter from `first`, to `n`, by `one`, in the frame w. */
#define LOOP(first, n, one)                                                    \
    "w/enter Enter@w " first "\n"                                              \
    "w/n Enter@w! " n "\n"                                                     \
    "w/one Enter@w! " one "\n"                                                 \
    "w/merge Merge w/enter w/next\n"                                           \
    "w/less Less w/merge w/n\n"                                                \
    "w/cond LoopCond w/less\n"                                                 \
    "w/switch Switch w/merge w/cond\n"                                         \
    "w/add AddV2 w/switch:1 w/one\n"                                           \
    "w/next NextIteration w/add\n"                                             \
    "w/exit Exit w/switch\n"

/*
 * Live: three constants and Enters, four nodes an iteration and two in a body;
 * dead: that body in the last iteration, and the Exit in the others.
 */
static const struct {
    const char *text, *fetches, *values;
    uint64_t live, dead, iterations, frames;
} loops[] = {
    {"a int64=0\nb int64=5\nc int64=1\n" LOOP("a", "b", "c"), "w/exit", "5",
     3 + 3 + 6 * 4 + 5 * 2 + 1, 5 + 2, 6, 1},
    {"a int64=3\nb int64=4\nc int64=1\n" LOOP("a", "b", "c"), "w/exit", "4",
     3 + 3 + 2 * 4 + 1 * 2 + 1, 1 + 2, 2, 1},
    /* No trip at all. */
    {"a int64=9\nb int64=4\nc int64=1\n" LOOP("a", "b", "c"), "w/exit", "9",
     3 + 3 + 4 + 1, 2, 1, 1},
    /* In a branch that is not taken: every node once, and dead. */
    {"a int64=0 ^d\nb int64=5 ^d\nc int64=1 ^d\n" LOOP("a", "b",
                                                       "c") "z Neg w/exit\n",
     "^z", "", 0, 3 + 3 + 4 + 2 + 1 + 1, 1, 1},
    /* The same with live invariants: they change nothing. */
    {"a int64=0 ^d\nb int64=5\nc int64=1\n" LOOP("a", "b",
                                                 "c") "z Neg w/exit\n",
     "^z", "", 2 + 2, 1 + 1 + 4 + 2 + 1 + 1, 1, 1},
    /* With a dead invariant, only what it reaches is dead. */
    {"a int64=0\nb int64=5 ^d\nc int64=1\n" LOOP("a", "b",
                                                 "c") "z Neg w/exit\n",
     "^z", "", 2 + 2 + 1, 1 + 1 + 3 + 2 + 1 + 1, 1, 1},
    /* A dead step: the counter stops after its first trip. */
    {"a int64=0\nb int64=5\nc int64=1 ^d\n" LOOP(
         "a", "b", "c") "t ControlTrigger ^w/exit\nk int64=3 ^t\n",
     "k", "3", 2 + 2 + 4 + 2, 1 + 1 + 2 + 1, 1, 1},
    /* A dead variable beside a live one: its Exit is dead, once, in the end. */
    {"a int64=0\nb int64=5\nc int64=1\nu int64=0 ^d\n" LOOP(
         "a", "b",
         "c") "w/u Enter@w u\nw/um Merge w/u w/un\nw/us Switch w/um w/cond\n"
              "w/un NextIteration w/us:1\nw/ux Exit w/us\n"
              "t ControlTrigger ^w/ux\nk int64=3 ^t\nm Merge w/ux w/exit\n",
     "w/exit k m m:1", "5 3 5 1", 3 + 3 + 6 * 4 + 5 * 2 + 1 + 3, 5 + 2 + 6, 6,
     1},
    /* The two results of a branch with a loop in it meet again. */
    {"s Switch x yes\nb int64=9 ^s\nc int64=1 ^s\n" LOOP(
         "s:1", "b", "c") "e Neg s\nm Merge e w/exit\n",
     "m m:1", "9 1", 1 + 2 + 3 + 3 * 4 + 2 * 2 + 1 + 1, 2 + 2 + 1, 3, 1},
    {"s Switch x no\nb int64=9 ^s\nc int64=1 ^s\n" LOOP(
         "s:1", "b", "c") "e Neg s\nm Merge e w/exit\n",
     "m m:1", "-7 0", 1 + 2 + 2 + 1 + 1, 1 + 4 + 2 + 1, 1, 1},
};

START_TEST(loop_row)
{
    eddy_stats stats;

    run_with_head(loops[_i].text, loops[_i].fetches);
    want_values(loops[_i].values);
    want_counts(loops[_i].text, loops[_i].live, loops[_i].dead);
    stats = program_stats(&p);
    ck_assert_uint_eq(stats.iterations, loops[_i].iterations);
    ck_assert_uint_eq(stats.frames, loops[_i].frames);
}
END_TEST

/* ---- _SwitchN ---- */

static const struct {
    int index, port;
} choices[] = {{0, 0}, {1, 1}, {2, 2}, {3, 2}, {-1, 2}, {-99, 2}, {99, 2}};

START_TEST(switch_n_takes_the_last_port_for_an_index_out_of_range)
{
    char text[256];

    snprintf(text, sizeof text,
             "i int32=%d\n"
             "s _SwitchN x i num_outs=3\n"
             "a Neg s:0\n"
             "b Neg s:1\n"
             "c Neg s:2\n"
             "m Merge a b c\n",
             choices[_i].index);
    run_with_head(text, "m m:1");
    ck_assert_int_eq(program_fetch_int(&p, 0), -7);
    ck_assert_int_eq(program_fetch_int(&p, 1), choices[_i].port);
    want_counts(text, 2 + 1 + 1, 2);
}
END_TEST

START_TEST(switch_n_is_dead_as_a_whole)
{
    run_with_head("i int32=1 ^d\n"
                  "s _SwitchN x i num_outs=2\n"
                  "a Neg s\n"
                  "b Neg s:1\n",
                  "^a ^b");
    want_counts("_SwitchN", 0, 4);
}
END_TEST

/* ---- what a run refuses ---- */

static const struct {
    const char *text, *fetches;
    eddy_detail detail;
    const char *node, *frame;
} mistakes[] = {
    {"s Switch x yes\nr Switch x yes\nm Merge s:1 r:1", "m m:1",
     EDDY_E_MERGE_TWO_LIVE, "m", ""},
    /* Also if it could not fire yet. */
    {"s Switch x yes\nr Switch x yes\nc Neg s:1\nm Merge s:1 r:1 ^c", "m m:1",
     EDDY_E_MERGE_TWO_LIVE, "m", ""},
    /* In one of many iterations: both are live when the counter is 3. */
    {"a int64=0\nb int64=5\nc int64=1\nt int64=3\n" LOOP(
         "a", "b", "c") "w/t Enter@w! t\n"
                        "w/eq Equal w/switch:1 w/t\n"
                        "w/s Switch w/switch:1 w/eq\n"
                        "w/m Merge w/add w/s:1\n",
     "w/exit ^w/m", EDDY_E_MERGE_TWO_LIVE, "w/m", "w[3]"},
    /* An Exit that does not follow the LoopCond. */
    {"a int64=0\nb int64=5\nc int64=1\nt int64=3\n" LOOP(
         "a", "b", "c") "w/t Enter@w! t\n"
                        "w/ge GreaterEqual w/merge w/t\n"
                        "w/s Switch w/merge w/ge\n"
                        "w/twice Exit w/s:1\n",
     "w/exit ^w/twice", EDDY_E_EXIT_TWICE, "w/twice", "w[4]"},
};

START_TEST(mistake_of_the_graph_is_an_error_that_names_node_and_iteration)
{
    char text[1024];

    snprintf(text, sizeof text, HEAD "%s", mistakes[_i].text);
    program_build(&p, text);
    program_plan(&p, NULL, mistakes[_i].fetches);
    for (int again = 0; again < 2; again++) {
        program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT,
                     mistakes[_i].detail);
        ck_assert_str_eq(p.err.node, mistakes[_i].node);
        ck_assert_str_eq(p.err.frame, mistakes[_i].frame);
        ck_assert_ptr_null(eddy_run_fetch(p.run, 0));
    }
}
END_TEST

START_TEST(predicate_that_is_no_scalar_is_refused_when_it_comes)
{
    const eddy_shape vector = {.rank = 1, .dims = {1}};
    eddy_tensor *tensor;
    eddy_output pred;

    ck_assert_int_eq(eddy_graph_add_placeholder(p.graph, "pred", EDDY_BOOL,
                                                NULL, &pred, &p.err),
                     EDDY_OK);
    program_build(&p, "x int64=7\n"
                      "s Switch x pred\n"
                      "m Merge s s:1\n");
    program_plan(&p, "pred", "m");
    program_make_run(&p);
    tensor = program_tensor(&p, EDDY_BOOL, &vector, &(bool){true});
    ck_assert_int_eq(eddy_run_feed(p.run, 0, tensor, &p.err), EDDY_OK);
    eddy_tensor_release(tensor);
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT,
                 EDDY_E_PREDICATE);
    ck_assert_str_eq(p.err.node, "s");
    ck_assert_ptr_nonnull(strstr(p.err.message, "[1]"));
}
END_TEST

/* A dead node's kernel must not run, however it died. */
START_TEST(kernels_of_dead_nodes_do_not_run)
{
    probe_ops_register(&p);
    run_with_head("a Tick d\n"
                  "b Tick x ^d\n"
                  "c Tick x\n"
                  "e Enter@f d\n"
                  "g Tick e\n",
                  "^a ^b ^c ^g");
    ck_assert_uint_eq(tick_count(), 1);
    want_counts("Tick", 1, 4);
}
END_TEST

TCase *dynamic_tests(void)
{
    TCase *tc = tcase_create("dynamic");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, row, 0, sizeof rows / sizeof rows[0]);
    tcase_add_loop_test(tc, loop_row, 0, sizeof loops / sizeof loops[0]);
    tcase_add_loop_test(tc,
                        switch_n_takes_the_last_port_for_an_index_out_of_range,
                        0, sizeof choices / sizeof choices[0]);
    tcase_add_test(tc, switch_n_is_dead_as_a_whole);
    tcase_add_loop_test(
        tc, mistake_of_the_graph_is_an_error_that_names_node_and_iteration, 0,
        sizeof mistakes / sizeof mistakes[0]);
    tcase_add_test(tc, predicate_that_is_no_scalar_is_refused_when_it_comes);
    tcase_add_test(tc, kernels_of_dead_nodes_do_not_run);
    return tc;
}
