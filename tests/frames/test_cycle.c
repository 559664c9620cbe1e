/* SPDX-License-Identifier: Apache-2.0 */
/* Cycles that are refused: which one is shown, and where it is cut. */
#include "tests/aid/text_graph.h"
#include "tests/suites.h"

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

/* Counts from x while below k; `body` goes before the NextIteration. */
#define LOOP(body, next)                                                       \
    "x Source\nk Enter@f! x\ne Enter@f x\nm Merge e n\nc Less m k\n"           \
    "l LoopCond c\ns Switch m l\n" body "n NextIteration " next "\no Exit s\n"

static const struct {
    const char *text;
    eddy_detail detail;
    const char *node, *words;
} refused[] = {
    /* Cycles without a NextIteration. */
    {"a Neg a", EDDY_E_CYCLE, "a",
     "1 node in a cycle without a NextIteration: 'a' (Neg) -> 'a'"},
    {"a NoOp ^a", EDDY_E_CYCLE, "a", "'a' (NoOp) -> 'a'"},
    {"a Neg b\nb Neg a", EDDY_E_CYCLE, "a",
     "2 nodes in a cycle without a NextIteration: 'a' (Neg) -> 'b' (Neg) -> "
     "'a'"},
    {"x Source\ny Neg x ^z\nz Neg y", EDDY_E_CYCLE, "y",
     "'y' (Neg) -> 'z' (Neg) -> 'y'"},
    {"x Source\nm Merge x a\na Id m", EDDY_E_CYCLE, "m",
     "'m' (Merge) -> 'a' (Id) -> 'm'"},
    {"a Neg d\nb Neg a\nc Neg b\nd Add c f\ne Neg d\nf Neg e", EDDY_E_CYCLE,
     "d", "'d' (Add) -> 'e' (Neg) -> 'f' (Neg) -> 'd'"},
    {"a Neg c\nb Neg a\nc Neg b\nd Neg c\ne Add d g\nf Neg e\ng Neg e\n"
     "h Neg f",
     EDDY_E_CYCLE, "e", "'e' (Add) -> 'g' (Neg) -> 'e'"},
    {LOOP("a Add s:1 b\nb Neg a\n", "a"), EDDY_E_CYCLE, "a",
     "'a' (Add) -> 'b' (Neg) -> 'a'"},
    /* Cycles through a NextIteration that feeds no Merge. */
    {"x Source\ne Enter@f x\na Add e n\nn NextIteration a", EDDY_E_BACK_EDGE,
     "n", "feeds 'a' (Add); it must feed a Merge"},
    {"x Source\ne Enter@f x\nm Merge e i\ni Id n\nn NextIteration m",
     EDDY_E_BACK_EDGE, "n", "feeds 'i' (Id); it must feed a Merge"},
    {"x Source\ne Enter@f x\nm Merge e ^n\nn NextIteration m", EDDY_E_BACK_EDGE,
     "n", "feeds 'm' (Merge) by a control edge"},
    {"n NextIteration n", EDDY_E_BACK_EDGE, "n",
     "feeds 'n' (NextIteration); it must feed a Merge"},
    /* Loops that nothing enters. */
    {"m Merge n\nn NextIteration m", EDDY_E_UNREACHABLE_LOOP, "m",
     "its loop never starts"},
    {"x Source\nk Enter@f! x\nm Merge n n\na Add m k\nn NextIteration a",
     EDDY_E_UNREACHABLE_LOOP, "m", "must come from an Enter"},
    {LOOP("", "s:1") "m2 Merge n2\nn2 NextIteration s:1",
     EDDY_E_UNREACHABLE_LOOP, "m2", "its loop never starts"},
};

START_TEST(a_cycle_that_no_loop_makes_legal_is_refused)
{
    text_graph_refuse(&t, refused[_i].text, refused[_i].detail,
                      refused[_i].node, refused[_i].words);
}
END_TEST

START_TEST(a_loop_alone_is_no_cycle)
{
    text_graph_accept(&t, LOOP("a Neg s:1\n", "a"));
}
END_TEST

/* An edge that a feed cuts makes no cycle. */
START_TEST(a_fed_edge_opens_a_cycle)
{
    text_graph_build(&t, "x Source\na Add x c\nb Neg a\nc Neg b\n");
    ck_assert_int_eq(text_graph_analyse(&t, NULL), EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(t.err.detail, EDDY_E_CYCLE);
    ck_assert_int_eq(text_graph_analyse(&t, "b"), EDDY_OK);
}
END_TEST

START_TEST(a_long_cycle_is_cut_in_its_middle)
{
    eddy_output last = {0, 0};

    text_graph_build(&t, "x Source");
    for (size_t i = 0; i < 300000; i++)
        ck_assert_int_eq(
            eddy_graph_add_op(t.graph, "Neg", NULL, &last, 1, &last, &t.err),
            EDDY_OK);
    ck_assert_int_eq(
        eddy_graph_set_input(t.graph, 1, 0, (eddy_output){300000, 0}, &t.err),
        EDDY_OK);
    ck_assert_int_eq(text_graph_analyse(&t, NULL), EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(t.err.detail, EDDY_E_CYCLE);
    ck_assert_ptr_nonnull(strstr(t.err.message, "300000 nodes in a cycle"));
    ck_assert_ptr_nonnull(strstr(t.err.message, " more) -> 'Neg'"));
}
END_TEST

/* Every pair of nodes is joined both ways: more cycles than can be tried. */
START_TEST(a_short_cycle_is_found_among_very_many)
{
    enum { N = 300 };
    eddy_output inputs[N];
    eddy_output out;

    text_graph_build(&t, "x Source");
    for (uint32_t i = 0; i < N; i++)
        inputs[i] = (eddy_output){0, 0};
    for (uint32_t i = 0; i < N; i++)
        ck_assert_int_eq(
            eddy_graph_add_op(t.graph, "Join", NULL, inputs, N, &out, &t.err),
            EDDY_OK);
    for (uint32_t i = 0; i < N; i++)
        for (uint32_t j = 0; j < N; j++)
            if (i != j)
                ck_assert_int_eq(eddy_graph_set_input(t.graph, i + 1, j,
                                                      (eddy_output){j + 1, 0},
                                                      &t.err),
                                 EDDY_OK);
    ck_assert_int_eq(text_graph_analyse(&t, NULL), EDDY_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(t.err.message, "2 nodes in a cycle"));
}
END_TEST

TCase *cycle_tests(void)
{
    TCase *tc = tcase_create("cycle");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, a_cycle_that_no_loop_makes_legal_is_refused, 0,
                        sizeof refused / sizeof refused[0]);
    tcase_add_test(tc, a_loop_alone_is_no_cycle);
    tcase_add_test(tc, a_fed_edge_opens_a_cycle);
    tcase_add_test(tc, a_long_cycle_is_cut_in_its_middle);
    tcase_add_test(tc, a_short_cycle_is_found_among_very_many);
    return tc;
}
