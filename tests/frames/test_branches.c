/* SPDX-License-Identifier: Apache-2.0 */
/* The branch of every node, from the primitives alone. */
#include "tests/aid/construct.h"
#include "tests/aid/recovered.h"
#include "tests/suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static program p;
static eddy_analysis *a;

static void setup(void)
{
    program_init(&p, 0);
    a = NULL;
}

static void teardown(void)
{
    eddy_analysis_destroy(a);
    program_deinit(&p);
}

static void analyse(void)
{
    eddy_analysis_destroy(a);
    ck_assert_msg(eddy_analysis_create(p.graph, &a, &p.err) == EDDY_OK,
                  "%s: %s", p.err.node, p.err.message);
}

static void build(const char *text)
{
    program_build(&p, text);
    analyse();
}

/* "node: branch", with "?" at the end if that is not exact. */
static void want(const char *fact)
{
    const char *colon = strchr(fact, ' ');
    char name[64], got[256];
    eddy_node node;

    snprintf(name, sizeof name, "%.*s", (int)(colon - fact), fact);
    node = program_output(&p, name).node;
    recovered_branch(p.graph, a, eddy_analysis_node_branch(a, node), got,
                     sizeof got);
    if (!eddy_analysis_is_exact(a, node))
        recovered_append(got, sizeof got, "?");
    ck_assert_msg(strcmp(got, colon + 1) == 0, "%s: got '%s'", fact, got);
}

/* Of an output, "node:index branch". */
static void want_output(const char *name, const char *branch)
{
    char got[256];

    recovered_branch(p.graph, a,
                     eddy_analysis_output_branch(a, program_output(&p, name)),
                     got, sizeof got);
    ck_assert_msg(strcmp(got, branch) == 0, "%s: got '%s'", name, got);
}

#define COND                                                                   \
    "p ?bool\nx ?int64\n"                                                      \
    "s Switch x p\n"                                                           \
    "f Neg s\n"                                                                \
    "t Neg s:1\n"                                                              \
    "m Merge f t\n"                                                            \
    "y Neg m\n"

START_TEST(a_switch_opens_and_a_merge_closes)
{
    build(COND);
    want("s -");
    want("f p:0");
    want("t p:1");
    want("m -");
    want("y -");
    want_output("s", "p:0");
    want_output("s:1", "p:1");
    want_output("m:1", "-");
    ck_assert_uint_eq(eddy_analysis_branches(a), 3);
}
END_TEST

START_TEST(branch_0_is_of_no_predicate)
{
    const eddy_branch_info *b;

    build(COND);
    b = eddy_analysis_branch(a, 0);
    ck_assert_uint_eq(b->predicate.node, EDDY_NO_NODE);
    ck_assert_uint_eq(b->n_sides, 0);
    ck_assert_uint_eq(b->depth, 0);
    ck_assert_uint_eq(b->outer, 0);
    ck_assert_ptr_null(eddy_analysis_branch(a, 3));
    b = eddy_analysis_branch(a, 1);
    ck_assert_uint_eq(b->n_sides, 2);
    ck_assert_uint_eq(b->side, 0);
    ck_assert_uint_eq(eddy_analysis_branch(a, 2)->side, 1);
}
END_TEST

/* Through Identities the predicate is one; another Switch opens nothing new. */
START_TEST(switches_of_one_predicate_share_its_branches)
{
    build(COND "pivot Identity p\n"
               "again Identity pivot\n"
               "s2 Switch x again\n"
               "t2 AddV2 s2:1 t\n"
               "c Identity s2:1\n"
               "k int64=4 ^c\n");
    want("t2 p:1");
    want("k p:1");
    ck_assert_uint_eq(eddy_analysis_branches(a), 3);
}
END_TEST

START_TEST(branches_nest)
{
    build("p ?bool\nq ?bool\nx ?int64\n"
          "s Switch x p\n"
          "sq Switch q p\n"
          "i Switch s:1 sq:1\n"
          "if Neg i\n"
          "it Neg i:1\n"
          "im Merge if it\n"
          "after Neg im\n"
          "m Merge s after\n");
    want("if p:1/sq#1:0");
    want("it p:1/sq#1:1");
    want("im p:1");
    want("after p:1");
    want("m -");
    ck_assert(eddy_analysis_is_within(
        a, eddy_analysis_node_branch(a, program_output(&p, "it").node),
        eddy_analysis_node_branch(a, program_output(&p, "after").node)));
    ck_assert(!eddy_analysis_is_within(
        a, eddy_analysis_node_branch(a, program_output(&p, "it").node),
        eddy_analysis_node_branch(a, program_output(&p, "if").node)));
    ck_assert(!eddy_analysis_is_within(a, 1000, 0));
}
END_TEST

/* Inside a side of a predicate that is taken for certain, the others never. */
START_TEST(a_side_inside_itself_is_no_branch)
{
    build("p ?bool\nq ?bool\nx ?int64\n"
          "s Switch x p\n"
          "again Identity p\n"
          "sq Switch s:1 q\n"
          "i Switch sq:1 again\n"
          "never Neg i\n"
          "it Neg i:1\n"
          "im Merge never it\n");
    want("it p:1/q:1");
    want("im p:1/q:1");
    want("never p:1/q:1/p:0");
    want_output("i:0", "p:1/q:1/p:0");
    want_output("i:1", "p:1/q:1");
}
END_TEST

START_TEST(a_case_by_index_has_as_many_sides)
{
    build("i ?int32\nx ?int64\n"
          "s _SwitchN x i num_outs=3\n"
          "a Neg s\nb Neg s:1\nc Neg s:2\n"
          "m Merge a b c\n"
          "two Merge a c\n");
    want("a i:0");
    want("b i:1");
    want("c i:2");
    want("m -");
    /* Dead if the index is 1. */
    want("two -?");
    ck_assert_uint_eq(eddy_analysis_branch(a, 1)->n_sides, 3);
}
END_TEST

/* The sides of the inner predicate make up for one of the outer. */
START_TEST(a_merge_of_many_closes_several)
{
    build("p ?bool\nq ?bool\nx ?int64\n"
          "s Switch x p\n"
          "sq Switch q p\n"
          "i Switch s:1 sq:1\n"
          "m Merge s i i:1\n"
          "n Merge s i\n");
    want("m -");
    want("n -?");
}
END_TEST

START_TEST(a_node_of_two_branches_is_in_both)
{
    build("p ?bool\nq ?bool\nx ?int64\n"
          "a Switch x p\n"
          "b Switch x q\n"
          "both AddV2 a:1 b:1\n"
          "next Neg both\n"
          "trigger ControlTrigger ^both\n"
          "free Neg x ^trigger\n");
    want("both p:1/q:1");
    want("next p:1/q:1");
    want("trigger -");
    want("free -");
}
END_TEST

/* Live if p or not q: no branch says that. */
START_TEST(a_merge_of_two_predicates_is_not_exact)
{
    build("p ?bool\nq ?bool\nx ?int64\n"
          "a Switch x p\n"
          "b Switch x q\n"
          "m Merge a:1 b\n"
          "y Neg m\n");
    want("m -?");
    want("y -?");
}
END_TEST

/* A control edge from a Switch says that it ran, not which way. */
START_TEST(a_control_edge_of_a_switch_is_of_neither_side)
{
    build(COND "k int64=1 ^s\nl int64=1 ^t\n");
    want("k -");
    want("l p:1");
}
END_TEST

/* One input: where that is. */
START_TEST(a_merge_of_one_stays_inside)
{
    build("p ?bool\nx ?int64\ns Switch x p\nm Merge s:1\ny Neg m\n");
    want("m p:1");
    want("y p:1");
}
END_TEST

#define LOOP(start, body, end)                                                 \
    start "e Enter@f e0\n"                                                     \
          "m Merge e n\n"                                                      \
          "k Enter@f! k0\n"                                                    \
          "c Less m k\n"                                                       \
          "l LoopCond c\n"                                                     \
          "w Switch m l\n"                                                     \
          "b Identity w:1\n" body "n NextIteration r\n"                        \
          "o Exit w\n" end

START_TEST(a_branch_in_a_loop_is_of_its_frame)
{
    build(LOOP("e0 ?int64\nk0 ?int64\n",
               "q Less b k\n"
               "s Switch b q\n"
               "f Neg s\n"
               "t Neg s:1\n"
               "r Merge f t\n",
               "y Neg o\n"));
    want("m -");
    want("w -");
    want("b -");
    want("f q:0");
    want("t q:1");
    want("r -");
    want("o -");
    want("y -");
    ck_assert_uint_eq(eddy_analysis_branches(a), 3);
    ck_assert_uint_eq(eddy_analysis_branch(a, 1)->frame, 1);
    ck_assert_uint_eq(eddy_analysis_frame(a, 1)->branch, 0);
}
END_TEST

START_TEST(a_loop_in_a_branch_comes_back_to_it)
{
    char branch[64];

    build(LOOP("p ?bool\nx ?int64\ny ?int64\n"
               "s Switch x p\n"
               "e0 Identity s:1\n"
               "sk Switch y p\n"
               "k0 Identity sk:1\n",
               "r Neg b\n",
               "z Neg o\n"
               "done Merge s z\n"));
    want("e p:1");
    want("b -");
    want("r -");
    want("z p:1");
    want("done -");
    want_output("e", "-");
    want_output("o", "p:1");
    recovered_branch(p.graph, a, eddy_analysis_frame(a, 1)->branch, branch,
                     sizeof branch);
    ck_assert_str_eq(branch, "p:1");
}
END_TEST

/* The limit comes from outside of the branch: TensorFlow would not do that. */
START_TEST(a_loop_that_is_entered_from_two_branches_is_not_exact)
{
    build(LOOP("p ?bool\nx ?int64\nk0 ?int64\n"
               "s Switch x p\n"
               "e0 Identity s:1\n",
               "r Neg b\n", "z Neg o\n"));
    want("e p:1");
    want("k -");
    want("r -?");
    want("z p:1?");
}
END_TEST

/* An if in a while in an if in a while. */
START_TEST(constructs_nest_to_any_depth)
{
    const eddy_output trips = construct_feed(&p, "trips", EDDY_INT64);
    counted outer = construct_counted(&p, trips, program_int(&p, 0));
    eddy_output q, r, inside, result;
    counted inner;
    char got[256];

    q = program_binary(&p, "Less", outer.i, trips);
    construct_cond(&p, q);
    inner = construct_counted(&p, trips, outer.now);
    r = program_binary(&p, "Less", inner.i, inner.now);
    construct_cond(&p, r);
    inside = program_unary(&p, "Neg", inner.now);
    construct_else(&p, inside);
    result = construct_end_cond(&p, inner.now);
    construct_end_counted(&p, &inner, result);
    construct_else(&p, inner.results[1]);
    result = construct_end_cond(&p, outer.now);
    construct_end_counted(&p, &outer, result);
    analyse();
    ck_assert_uint_eq(eddy_analysis_frames(a), 3);
    recovered_branch(p.graph, a, eddy_analysis_node_branch(a, inside.node), got,
                     sizeof got);
    ck_assert(eddy_analysis_is_exact(a, inside.node));
    ck_assert_str_eq(strrchr(got, ':'), ":1");
    ck_assert_uint_eq(
        eddy_analysis_branch(a, eddy_analysis_node_branch(a, inside.node))
            ->depth,
        1);
    ck_assert_uint_eq(
        eddy_analysis_branch(a, eddy_analysis_frame(a, 2)->branch)->frame, 1);
}
END_TEST

static void append_line(char **end, const char *format, int i)
{
    *end += sprintf(*end, format, i, i - 1);
}

/* Ten thousand branches, each in the one before. */
START_TEST(deep_branches_are_fast)
{
    const int n = 10000;
    char *text = malloc((size_t)n * 64 + 64), *end = text;
    eddy_output last;

    ck_assert_ptr_nonnull(text);
    end += sprintf(end, "p ?bool\nx ?int64\ns0 Switch x p\nq0 Switch p p\n");
    for (int i = 1; i < n; i++) {
        append_line(&end, "s%d Switch s%d:1 ", i);
        end += sprintf(end, "q%d:1\n", i - 1);
        append_line(&end, "q%d Switch q%d:1 ", i);
        end += sprintf(end, "q%d:1\n", i - 1);
    }
    build(text);
    free(text);
    snprintf(p.err.message, sizeof p.err.message, "s%d:1", n - 1);
    last = program_output(&p, p.err.message);
    ck_assert_uint_eq(
        eddy_analysis_branch(a, eddy_analysis_output_branch(a, last))->depth,
        (uintmax_t)n);
    ck_assert(eddy_analysis_is_within(
        a, eddy_analysis_output_branch(a, last),
        eddy_analysis_output_branch(a, program_output(&p, "s5:1"))));
}
END_TEST

/* A default may be fed over, so it is not what decides. */
START_TEST(a_predicate_is_not_its_default)
{
    build("d bool=true\nx ?int64\np PlaceholderWithDefault d shape=()\n"
          "s Switch x p\nt Neg s:1\n");
    want("t p:1");
}
END_TEST

/* ---- against all choices of some predicates ---- */

#define PREDICATES 6
#define VALUES 60

/* The choices for which something lives, a bit each. */
typedef uint64_t choices;

/* Those for which predicate k holds. */
static choices holding(int k)
{
    choices c = 0;

    for (int i = 0; i < 1 << PREDICATES; i++)
        c |= (choices)(i >> k & 1) << i;
    return c;
}

typedef struct random_branches {
    uint64_t state;
    eddy_output predicates[PREDICATES], values[VALUES];
    choices lives[VALUES];
    int n;
} random_branches;

static int pick(random_branches *r, int n)
{
    r->state = r->state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (int)((r->state >> 33) % (uint64_t)n);
}

static void keep(random_branches *r, eddy_output value, choices lives)
{
    if (r->n < VALUES && lives != 0) {
        r->values[r->n] = value;
        r->lives[r->n++] = lives;
    }
}

/* A Switch, an addition, or a Merge of what never lives together. */
static void grow(random_branches *r)
{
    const int kind = pick(r, 3), i = pick(r, r->n), j = pick(r, r->n);
    const int k = pick(r, PREDICATES);
    eddy_output out;

    if (kind == 0) {
        out = program_binary(&p, "Switch", r->values[i], r->predicates[k]);
        keep(r, out, r->lives[i] & ~holding(k));
        out.index = 1;
        keep(r, out, r->lives[i] & holding(k));
    } else if (kind == 1 && (r->lives[i] & r->lives[j]) != 0) {
        keep(r, program_binary(&p, "AddV2", r->values[i], r->values[j]),
             r->lives[i] & r->lives[j]);
    } else if (kind == 2 && (r->lives[i] & r->lives[j]) == 0) {
        const eddy_output inputs[] = {r->values[i], r->values[j]};

        ck_assert_int_eq(
            eddy_graph_add_op(p.graph, "Merge", NULL, inputs, 2, &out, &p.err),
            EDDY_OK);
        keep(r, out, r->lives[i] | r->lives[j]);
    }
}

/* The choices that take a branch. */
static choices taking(const random_branches *r, uint32_t branch)
{
    choices c = ~(choices)0;

    while (branch != 0) {
        const eddy_branch_info *b = eddy_analysis_branch(a, branch);
        int k = 0;

        while (r->predicates[k].node != b->predicate.node)
            k++;
        c &= b->side ? holding(k) : ~holding(k);
        branch = b->outer;
    }
    return c;
}

START_TEST(random_branches_are_what_lives)
{
    random_branches r = {.state = (uint64_t)_i * 7919 + 1, .n = 1};
    int n_exact = 0;

    for (int k = 0; k < PREDICATES; k++) {
        const char name[] = {'p', (char)('0' + k), '\0'};

        r.predicates[k] = construct_feed(&p, name, EDDY_BOOL);
    }
    r.values[0] = construct_feed(&p, "x", EDDY_INT64);
    r.lives[0] = ~(choices)0;
    for (int i = 0; i < 400 && r.n < VALUES; i++)
        grow(&r);
    analyse();
    for (int i = 0; i < r.n; i++) {
        const choices taken =
            taking(&r, eddy_analysis_output_branch(a, r.values[i]));

        if (eddy_analysis_is_exact(a, r.values[i].node)) {
            ck_assert_uint_eq(r.lives[i], taken);
            n_exact++;
        } else {
            ck_assert_uint_eq(r.lives[i] & ~taken, 0);
        }
    }
    ck_assert_int_gt(n_exact, 3);
}
END_TEST

START_TEST(nodes_that_came_later_are_unknown)
{
    eddy_output y;

    build(COND);
    y = program_unary(&p, "Neg", program_output(&p, "t"));
    ck_assert_uint_eq(eddy_analysis_node_branch(a, y.node), 0);
    ck_assert_uint_eq(eddy_analysis_output_branch(a, y), 0);
    ck_assert(!eddy_analysis_is_exact(a, y.node));
    ck_assert_uint_eq(eddy_analysis_output_branch(
                          a, (eddy_output){program_output(&p, "s").node, 9}),
                      0);
}
END_TEST

TCase *branches_tests(void)
{
    TCase *tc = tcase_create("branches");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_switch_opens_and_a_merge_closes);
    tcase_add_test(tc, branch_0_is_of_no_predicate);
    tcase_add_test(tc, switches_of_one_predicate_share_its_branches);
    tcase_add_test(tc, branches_nest);
    tcase_add_test(tc, a_side_inside_itself_is_no_branch);
    tcase_add_test(tc, a_case_by_index_has_as_many_sides);
    tcase_add_test(tc, a_merge_of_many_closes_several);
    tcase_add_test(tc, a_node_of_two_branches_is_in_both);
    tcase_add_test(tc, a_merge_of_two_predicates_is_not_exact);
    tcase_add_test(tc, a_control_edge_of_a_switch_is_of_neither_side);
    tcase_add_test(tc, a_merge_of_one_stays_inside);
    tcase_add_test(tc, a_branch_in_a_loop_is_of_its_frame);
    tcase_add_test(tc, a_loop_in_a_branch_comes_back_to_it);
    tcase_add_test(tc, a_loop_that_is_entered_from_two_branches_is_not_exact);
    tcase_add_test(tc, constructs_nest_to_any_depth);
    tcase_add_test(tc, deep_branches_are_fast);
    tcase_add_test(tc, a_predicate_is_not_its_default);
    tcase_add_loop_test(tc, random_branches_are_what_lives, 0, 100);
    tcase_add_test(tc, nodes_that_came_later_are_unknown);
    return tc;
}
