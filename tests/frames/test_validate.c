/* SPDX-License-Identifier: Apache-2.0 */
/* What is refused, or only warned of, about loops and Merges. */
#include "tests/aid/text_graph.h"
#include "tests/suites.h"

#include <stdio.h>
#include <stdlib.h>
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

/* A loop in frame f: counts v from x while v < k; `body` goes before n. */
#define LOOP(v, body, next)                                                    \
    v "e Enter@f x\n" v "m Merge " v "e " v "n\n" v "c Less " v "m k\n" v      \
      "l LoopCond " v "c\n" v "s Switch " v "m " v "l\n" body v                \
      "n NextIteration " next "\n" v "o Exit " v "s\n"

#define HEAD "x Source\nk Enter@f! x\n"

/* The same without a LoopCond. */
#define BARE(v)                                                                \
    v "e Enter@f x\n" v "m Merge " v "e " v "n\n" v "c Less " v "m k\n" v      \
      "s Switch " v "m " v "c\n" v "a Add " v "s:1 k\n" v "n NextIteration " v \
      "a\n" v "o Exit " v "s\n"

/* ---- refused ---- */

static const struct {
    const char *text;
    eddy_detail detail;
    const char *node, *words;
} refused[] = {
    /* Loops that can't end. */
    {"x Source\ne Enter@f x\nm Merge e n\nn NextIteration m", EDDY_E_NEVER_ENDS,
     "n", "it must depend on a Switch"},
    {"x Source\nk Enter@f! x\nn NextIteration k\ne Enter@f x\nm Merge e n",
     EDDY_E_NEVER_ENDS, "n", "never ends"},
    {"x Source\ne Enter@f x\nm Merge e n\nk Enter@f! x\na Add m k\n"
     "n NextIteration a\nc Less a k\ns Switch m c\no Exit s",
     EDDY_E_NEVER_ENDS, "n", "never ends"},
    {"x Source\nq Enter@outer x\ne Enter@f q\nm Merge e n\nn NextIteration m",
     EDDY_E_NEVER_ENDS, "n", "never ends"},
    /* Exits that fire each time. */
    {HEAD LOOP("", "", "s:1") "o2 Exit k", EDDY_E_EXIT_TWICE, "o2",
     "would fire in every iteration"},
    {HEAD LOOP("", "", "s:1") "r Add k k\nm2 Merge r\no2 Exit m2",
     EDDY_E_EXIT_TWICE, "o2", "must depend on a Switch of its frame"},
    /* Two loops in one frame. */
    {HEAD BARE("") BARE("b"), EDDY_E_FRAME_SHARED, "bm",
     "frame 'f' holds two loops that nothing connects, that of this node and "
     "that of 'm'"},
    {HEAD BARE("") LOOP("b", "ba Add bs:1 k\n", "ba"), EDDY_E_FRAME_SHARED,
     "bm", "give each a frame_name of its own"},
};

#define N_REFUSED (sizeof refused / sizeof refused[0])

START_TEST(graphs_that_must_go_wrong_are_refused)
{
    text_graph_refuse(&t, refused[_i].text, refused[_i].detail,
                      refused[_i].node, refused[_i].words);
}
END_TEST

/* ---- accepted ---- */

/*
 * With the right predicates TensorFlow 2.21 runs these to their end; but it
 * crashes on an Enter that feeds nothing, and on a Merge of a live and a dead
 * Enter, and for two live Exits it depends on who comes first.
 */
static const char *const accepted[] = {
    HEAD LOOP("", "", "s:1"),
    HEAD LOOP("", "a Add s:1 k\n", "a"),
    /* Diamonds are no cycles. */
    "x Source\na Neg x\nb Neg x ^a\nc Add a b ^a ^b",
    "x Source\na Add x x",
    /* Exits and Enters without iterations. */
    "x Source\ne Enter@f x\no Exit e",
    "x Source\nk Enter@f! x\no Exit k",
    "x Source\ne Enter@f x",
    /* A NextIteration that can fire only once. */
    "x Source\ne Enter@f x\nn NextIteration e\ni Id n\no Exit i",
    "x Source\ne Enter@f x\nk Enter@f! x\na Add e k\nn NextIteration a\n"
    "m Merge e n\no Exit a",
    /* Whether these fire twice depends on the number of trips. */
    HEAD LOOP("", "", "s:1") "o2 Exit m",
    HEAD LOOP("", "", "s:1") "o2 Exit c",
    /* An Exit that waits for what comes once, in a loop. */
    HEAD LOOP("", "", "s:1") "o2 Exit e",
    /* A shift register: the value of the iteration before. */
    HEAD LOOP(
        "", "",
        "s:1") "n2 NextIteration s:1\ni Id n2\ne2 Enter@f x\nm2 Merge e2 i\n"
               "s2 Switch m2 l\no2 Exit s2",
    /* A body that returns a captured value. */
    HEAD LOOP("", "r Id k ^s\n", "r"),
    /* A predicate that is a loop invariant. */
    "x Source\np Pred\nk Enter@f! p\ne Enter@f x\nm Merge e n\nl LoopCond k\n"
    "s Switch m l\nn NextIteration s:1\no Exit s",
    /* Several variables, which the LoopCond holds together. */
    HEAD LOOP("", "", "s:1") "e2 Enter@f x\nm2 Merge e2 n2\ns2 Switch m2 l\nn2 "
                             "NextIteration s2:1\n"
                             "o2 Exit s2",
    /* The same by an Enter, a predicate, a control edge, an inner frame. */
    "x Source\np Pred\nk Enter@f! p\ne Enter@f x\nm Merge e n\n"
    "m2 Merge e n2\ns Switch m k\ns2 Switch m2 k\nn NextIteration s:1\n"
    "n2 NextIteration s2:1\no Exit s\no2 Exit s2",
    "x Source\np Pred\nk Enter@f! p\ne Enter@f x\nm Merge e n\n"
    "e2 Enter@f x\nm2 Merge e2 n2\ns Switch m k\ns2 Switch m2 k\n"
    "n NextIteration s:1\nn2 NextIteration s2:1\no Exit s\no2 Exit s2",
    HEAD BARE("") "e2 Enter@f x\nm2 Merge e2 n2 ^m\nc2 Less m2 k\n"
                  "s2 Switch m2 c2\nn2 NextIteration s2:1\no2 Exit s2",
    HEAD BARE("") "e2 Enter@f x\nm2 Merge e2 n2\nc2 Less m2 k\n"
                  "s2 Switch m2 c2\ng Enter@g s:1\nh Enter@g s2:1\nj Exit g\n"
                  "n2 NextIteration s2:1\no2 Exit s2\nr Add j k",
    /* A second part of the frame that has no cycle. */
    HEAD BARE("") "e2 Enter@f x\nc2 Less e2 k\ns2 Switch e2 c2\n"
                  "n2 NextIteration s2:1\ne3 Enter@f x\nm2 Merge e3 n2\n"
                  "o2 Exit m2",
    /* A loop counter of its own, as a pass of TensorFlow adds. */
    HEAD LOOP("", "", "s:1") "LoopCountere Enter@f x\nLoopCounterm Merge "
                             "LoopCountere LoopCountern\n"
                             "LoopCounterc Less LoopCounterm k\n"
                             "LoopCounterl LoopCond LoopCounterc\n"
                             "LoopCounters Switch LoopCounterm LoopCounterl\n"
                             "LoopCountern NextIteration LoopCounters:1\n"
                             "LoopCountero Exit LoopCounters",
    /* Merges. */
    "x Source\nm Merge x",
    "x Source\np Pred\ns Switch x p\nm Merge s s:1",
    "x Source\np Pred\ns Switch x p\ny Source\nm Merge s y",
    "x Source\ne Enter@f x\no Exit e\nm Merge o x",
    "x Source\ny Source\na Enter@f x\nb Enter@f y\nm Merge a b\no Exit m",
    /* A NextIteration that depends on a Switch of an inner frame. */
    "x Source\np Pred\ne Enter@f x\nm Merge e n\nq Enter@f! p\ng Enter@g m\n"
    "h Enter@g q\ns Switch g h\no Exit s\nn NextIteration o",
    /* A loop that starts with either of two values. */
    "x Source\np Pred\ns Switch x p\na Enter@f s\nb Enter@f s:1\n"
    "m Merge a b n\nq Pred ^m\nw Switch m q\nn NextIteration w:1\no Exit w",
};

START_TEST(graphs_that_may_run_well_are_accepted)
{
    text_graph_accept(&t, accepted[_i]);
}
END_TEST

/* ---- warnings ---- */

static const struct {
    const char *text, *words;
} odd[] = {
    {"x Source\nm Merge x", "node 'm' (Merge): a Merge of one input"},
    {HEAD BARE(""), "frame 'f' is a loop without a LoopCond"},
    {"x Source\ne Enter@f x\nn NextIteration e\ni Id n\nl LoopCond p\n"
     "p Pred ^e",
     "node 'n' (NextIteration): feeds 'i' (Id) other than as a Merge's data"},
};

START_TEST(odd_graphs_give_a_warning)
{
    text_graph_accept(&t, odd[_i].text);
    ck_assert_ptr_nonnull(eddy_analysis_warning(t.analysis, 0));
    ck_assert_msg(strstr(eddy_analysis_warning(t.analysis, 0), odd[_i].words) !=
                      NULL,
                  "%s", eddy_analysis_warning(t.analysis, 0));
    ck_assert_ptr_null(eddy_analysis_warning(t.analysis, 1));
}
END_TEST

START_TEST(warnings_are_not_without_end)
{
    char text[16384], *end = text;

    end += sprintf(end, "x Source\n");
    for (int i = 0; i < 200; i++)
        end += sprintf(end, "m%d Merge x\n", i);
    text_graph_accept(&t, text);
    ck_assert_str_eq(eddy_analysis_warning(t.analysis, 100),
                     "there are further warnings");
    ck_assert_ptr_null(eddy_analysis_warning(t.analysis, 101));
}
END_TEST

START_TEST(two_live_inputs_of_a_merge_are_warned_of)
{
    text_graph_accept(&t, "x Source\ny Source\nm Merge x y");
    ck_assert_str_eq(eddy_analysis_warning(t.analysis, 0),
                     "node 'm' (Merge): inputs 0 ('x') and 1 ('y') are both "
                     "always live; a run fails unless they are equal");
}
END_TEST

START_TEST(a_feed_cuts_a_cycle)
{
    text_graph_build(&t, "a Neg b\nb Neg a");
    ck_assert_int_eq(text_graph_analyse(&t, "b"), EDDY_OK);
    ck_assert_int_eq(text_graph_analyse(&t, NULL), EDDY_INVALID_ARGUMENT);
}
END_TEST

/* ---- shortest ---- */

/* The length of the shortest cycle of a random graph of `n` nodes; 0: none. */
static int build_random(unsigned *seed, int n)
{
    int distance[8][8], shortest = 0;
    char text[1024], *end = text;

    for (int i = 0; i < 64; i++)
        distance[i / 8][i % 8] = 1000;
    end += sprintf(end, "x Source\n");
    for (int i = 0; i < n; i++) {
        end += sprintf(end, "n%d Join x", i);
        for (int j = 0; j < n; j++) {
            *seed = *seed * 1664525u + 1013904223u;
            if (*seed >> 24 >= 40)
                continue;
            end += sprintf(end, " n%d", j);
            distance[j][i] = 1;
        }
        end += sprintf(end, "\n");
    }
    text_graph_build(&t, text);
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n * n; i++)
            if (distance[i / n][k] + distance[k][i % n] <
                distance[i / n][i % n])
                distance[i / n][i % n] =
                    distance[i / n][k] + distance[k][i % n];
    for (int i = 0; i < n; i++)
        if (distance[i][i] < 1000 &&
            (shortest == 0 || distance[i][i] < shortest))
            shortest = distance[i][i];
    return shortest;
}

START_TEST(the_shortest_cycle_is_reported)
{
    unsigned seed = 1;
    int seen[9] = {0};

    for (int i = 0; i < 2000; i++) {
        int shortest = build_random(&seed, 2 + i % 7);

        seen[shortest]++;
        ck_assert_int_eq(text_graph_analyse(&t, NULL),
                         shortest ? EDDY_INVALID_ARGUMENT : EDDY_OK);
        if (shortest > 0)
            ck_assert_int_eq(atoi(t.err.message), shortest);
    }
    for (int i = 0; i < 5; i++)
        ck_assert_int_gt(seen[i], 0);
}
END_TEST

/* ---- large: what is not linear runs into the time limit ---- */

/* Nodes 0 to n - 1, each a Neg of the one before, on from a Source. */
static void build_chain(size_t n)
{
    eddy_output last;
    eddy_error err;

    text_graph_build(&t, "x Source");
    last = (eddy_output){0, 0};
    for (size_t i = 0; i < n; i++)
        ck_assert_int_eq(
            eddy_graph_add_op(t.graph, "Neg", NULL, &last, 1, &last, &err),
            EDDY_OK);
}

START_TEST(a_long_chain_is_analysed)
{
    build_chain(1000000);
    ck_assert_int_eq(text_graph_analyse(&t, NULL), EDDY_OK);
}
END_TEST

/* A Merge that very many Enters feed, each a variable of the same loop. */
START_TEST(a_wide_loop_merge_is_analysed)
{
    enum { N = 20000 };
    eddy_output *inputs = calloc(N, sizeof *inputs), out;
    const eddy_string f = {"f", 1};
    const eddy_attr attr = eddy_attr_string("frame_name", &f);
    const eddy_output x = {0, 0};
    const eddy_node_spec enter = {.size = sizeof enter,
                                  .op = "Enter",
                                  .inputs = &x,
                                  .n_inputs = 1,
                                  .attrs = &attr,
                                  .n_attrs = 1};
    ck_assert_ptr_nonnull(inputs);
    text_graph_build(&t, "x Source");
    for (uint32_t i = 0; i < N; i++)
        ck_assert_int_eq(
            eddy_graph_add(t.graph, &enter, &inputs[i].node, &t.err), EDDY_OK);
    ck_assert_int_eq(
        eddy_graph_add_op(t.graph, "Merge", NULL, inputs, N, &out, &t.err),
        EDDY_OK);
    free(inputs);
    ck_assert_int_eq(text_graph_analyse(&t, NULL), EDDY_OK);
    ck_assert_uint_eq(eddy_analysis_frame(t.analysis, 1)->n_variables, N);
}
END_TEST

TCase *validate_tests(void)
{
    TCase *tc = tcase_create("validate");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, graphs_that_must_go_wrong_are_refused, 0,
                        N_REFUSED);
    tcase_add_loop_test(tc, graphs_that_may_run_well_are_accepted, 0,
                        sizeof accepted / sizeof accepted[0]);
    tcase_add_loop_test(tc, odd_graphs_give_a_warning, 0,
                        sizeof odd / sizeof odd[0]);
    tcase_add_test(tc, warnings_are_not_without_end);
    tcase_add_test(tc, two_live_inputs_of_a_merge_are_warned_of);
    tcase_add_test(tc, a_feed_cuts_a_cycle);
    tcase_add_test(tc, the_shortest_cycle_is_reported);
    tcase_add_test(tc, a_long_chain_is_analysed);
    tcase_add_test(tc, a_wide_loop_merge_is_analysed);
    return tc;
}
