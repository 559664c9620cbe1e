/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that count their trips, and those that don't. */
#include "tests/aid/construct.h"
#include "tests/aid/recovered.h"
#include "tests/suites.h"

#include <stdio.h>
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

/* Fails the test unless that is what is said of frame `frame`. */
static void want_counter(size_t frame, const char *wanted)
{
    char got[256];

    eddy_analysis_destroy(a);
    a = NULL;
    ck_assert_msg(eddy_analysis_create(p.graph, &a, &p.err) == EDDY_OK,
                  "%s: %s", p.err.node, p.err.message);
    recovered_counter(p.graph, eddy_analysis_frame(a, frame), got, sizeof got);
    ck_assert_str_eq(got, wanted);
}

/* A loop of m and of m2, which starts with x and doubles. */
#define LOOP(start, values, predicate, next)                                   \
    "x ?int64\n" start "e Enter@f s0\n"                                        \
    "e2 Enter@f x\n"                                                           \
    "m Merge e n\n"                                                            \
    "m2 Merge e2 n2\n" values predicate "l LoopCond p\n"                       \
    "w Switch m l\n"                                                           \
    "w2 Switch m2 l\n"                                                         \
    "b Identity w:1\n"                                                         \
    "one int64=1 ^b\n" next "n NextIteration r\n"                              \
    "r2 AddV2 w2:1 w2:1\n"                                                     \
    "n2 NextIteration r2\n"                                                    \
    "o Exit w\n"                                                               \
    "o2 Exit w2\n"

#define TEN "s0 int64=0\nc int64=10\n"
#define ENTERED "k Enter@f! c\n"
#define UP "r AddV2 b one\n"

static const struct {
    const char *text, *counter;
} loops[] = {
    {LOOP(TEN, ENTERED, "p Less m k\n", UP),
     "m from s0 + one while < c, trips 10"},
    /* The limit is made in the loop. */
    {LOOP("s0 int64=0\n", "c int64=10 ^m\n", "p LessEqual m c\n", UP),
     "m from s0 + one while <= c, trips 11"},
    /* Sides exchanged, Identities between, the step from outside. */
    {LOOP(TEN "by int64=3\n", ENTERED "i Identity m\nh Enter@f! by\n",
          "q Greater k i\np Identity q\n", "r Add h b\n"),
     "m from s0 + by while < c, trips 4"},
    /* Down. */
    {LOOP("s0 int64=10\nc int64=1\n", ENTERED, "p GreaterEqual m k\n",
          "r Sub b one\n"),
     "m from s0 - one while >= c, trips 10"},
    {LOOP("s0 int64=10\nc int64=0\nby int64=-4\n", ENTERED "h Enter@f! by\n",
          "p Less k m\n", "r AddV2 b h\n"),
     "m from s0 + by while > c, trips 3"},
    {LOOP("s0 int64=3\nc int64=-3\n", ENTERED, "p NotEqual m k\n",
          "r Sub b one\n"),
     "m from s0 - one while != c, trips 6"},
    /* No trip. */
    {LOOP("s0 int64=7\nc int64=7\n", ENTERED, "p NotEqual m k\n", UP),
     "m from s0 + one while != c, trips 0"},
    {LOOP("s0 int64=12\nc int64=10\n", ENTERED, "p Less m k\n", UP),
     "m from s0 + one while < c, trips 0"},
    /* The limit is fed, or the start. */
    {LOOP("s0 int64=0\nc ?int64\n", ENTERED, "p Less m k\n", UP),
     "m from s0 + one while < c, trips -1"},
    {LOOP("s0 Identity x\nc int64=10\n", ENTERED, "p Less m k\n", UP),
     "m from x + one while < c, trips -1"},
    /* The limit and the step are variables that no trip changes. */
    {LOOP(TEN "by int64=5\n",
          "e3 Enter@f c\nm3 Merge e3 n3\ne4 Enter@f by\nm4 Merge e4 n4\n",
          "p Less m m3\n",
          "w3 Switch m3 l\nb3 Identity w3:1\n"
          "n3 NextIteration b3\nw4 Switch m4 l\n"
          "n4 NextIteration w4:1\nr AddV2 b w4:1\n"),
     "m from s0 + by while < c, trips 2"},
    /* In a branch, into which limit and step had to come. */
    {LOOP(TEN "by int64=5\ngo ?bool\nsc Switch c go\nsb Switch by go\n",
          "k Enter@f! sc:1\nh Enter@f! sb:1\n", "p Less m k\n",
          "r AddV2 b h\n"),
     "m from s0 + by while < c, trips 2"},
    /* Something else may end it. */
    {LOOP(TEN "go ?bool\n", ENTERED "g Enter@f! go\n",
          "q Less m k\nt Less m2 k\nz LogicalAnd g t\np LogicalAnd z q\n", UP),
     "m from s0 + one while < c and more, trips 10"},
    /* Of two counters that whose trips are known. */
    {LOOP(TEN, ENTERED "h Enter@f! x\n",
          "q Less m h\nt Less m k\np LogicalAnd q t\n", UP),
     "m from s0 + one while < c and more, trips 10"},
    /* It would wrap around, or never get there. */
    {LOOP("s0 int64=0\nc int64=10\nby int64=-1\n", ENTERED "h Enter@f! by\n",
          "p Less m k\n", "r AddV2 b h\n"),
     "m from s0 + by while < c, trips -1"},
    {LOOP("s0 int64=0\nc int64=9223372036854774784\nby int64=2048\n",
          ENTERED "h Enter@f! by\n", "p Less m k\n", "r AddV2 b h\n"),
     "m from s0 + by while < c, trips -1"},
    {LOOP("s0 int64=0\nc int64=9\nby int64=2\n", ENTERED "h Enter@f! by\n",
          "p NotEqual m k\n", "r AddV2 b h\n"),
     "m from s0 + by while != c, trips -1"},
    /* No counter: the step is no constant, it multiplies, or is taken off. */
    {LOOP(TEN, ENTERED "h Enter@f! x\n", "p Less m k\n", "r AddV2 b h\n"),
     "none"},
    {LOOP(TEN, ENTERED, "p Less m k\n", "r Mul b one\n"), "none"},
    {LOOP(TEN, ENTERED, "p Less m k\n", "r Sub one b\n"), "none"},
    /* The limit changes, the predicate is no comparison, or one of another. */
    {LOOP("s0 int64=0\n", "", "p Less m m2\n", UP), "none"},
    {LOOP(TEN, ENTERED, "q Less m k\np LogicalNot q\n", UP), "none"},
    {LOOP(TEN, ENTERED, "q Less m k\nt Less m2 k\np LogicalOr q t\n", UP),
     "none"},
    {LOOP(TEN, ENTERED, "p Equal m k\n", UP), "none"},
    /* Only where a branch is taken. */
    {LOOP(TEN, ENTERED, "p Less m k\n",
          "q Less w2:1 k\ns Switch b q\nu AddV2 s:1 one\n"
          "r Merge s u\n"),
     "none"},
};

START_TEST(forms)
{
    program_build(&p, loops[_i].text);
    want_counter(1, loops[_i].counter);
}
END_TEST

/* A narrow dtype wraps around sooner. */
START_TEST(the_dtype_is_minded)
{
    program_build(&p, "s0 int8=0\nc int8=127\nby int8=2\n"
                      "e Enter@f s0\nk Enter@f! c\nh Enter@f! by\n"
                      "m Merge e n\np Less m k\nl LoopCond p\nw Switch m l\n"
                      "r AddV2 w:1 h\nn NextIteration r\no Exit w\n");
    want_counter(1, "m from s0 + by while < c, trips -1");
    program_clear(&p);
    program_build(&p, "s0 int8=0\nc int8=127\nby int8=1\n"
                      "e Enter@f s0\nk Enter@f! c\nh Enter@f! by\n"
                      "m Merge e n\np LessEqual m k\nl LoopCond p\n"
                      "w Switch m l\nr AddV2 w:1 h\nn NextIteration r\n"
                      "o Exit w\n");
    want_counter(1, "m from s0 + by while <= c, trips -1");
}
END_TEST

START_TEST(floats_count_without_a_number)
{
    program_build(&p, "s0 float32=0\nc float32=1\nby float32=0.25\n"
                      "e Enter@f s0\nk Enter@f! c\nh Enter@f! by\n"
                      "m Merge e n\np Less m k\nl LoopCond p\nw Switch m l\n"
                      "r AddV2 w:1 h\nn NextIteration r\no Exit w\n");
    want_counter(1, "m from s0 + by while < c, trips -1");
}
END_TEST

/* Of a loop in another, whose limit is from outside of both. */
START_TEST(an_inner_loop_counts_too)
{
    const eddy_output trips = construct_feed(&p, "trips", EDDY_INT64);
    counted outer = construct_counted(&p, trips, program_int(&p, 0));
    counted inner = construct_counted(&p, trips, outer.now);

    construct_end_counted(&p, &inner, program_unary(&p, "Neg", inner.now));
    construct_end_counted(&p, &outer, inner.results[1]);
    want_counter(1, "while/Merge from Const_1 + while/Const_1 while < trips, "
                    "trips -1");
    ck_assert_ptr_nonnull(eddy_analysis_frame(a, 2)->trip_counter);
    ck_assert_uint_eq(eddy_analysis_frame(a, 2)->trip_counter->limit.node,
                      trips.node);
}
END_TEST

/* The builder's own counter comes first in its LogicalAnd. */
START_TEST(maximum_iterations_are_counted)
{
    const eddy_output initial[] = {construct_feed(&p, "x", EDDY_INT64)};
    const eddy_output maximum = program_int(&p, 6);
    const eddy_while_spec spec = {.size = sizeof spec,
                                  .initial = initial,
                                  .n_variables = 1,
                                  .maximum_iterations = &maximum};
    eddy_output v, result;

    construct_while_with(&p, &spec, &v);
    construct_body(&p, program_binary(&p, "Less", v, program_int(&p, 100)), &v);
    v = program_binary(&p, "Mul", v, v);
    construct_end(&p, &v, 1, &result);
    eddy_analysis_destroy(a);
    a = NULL;
    ck_assert_int_eq(eddy_analysis_create(p.graph, &a, &p.err), EDDY_OK);
    ck_assert_int_eq(eddy_analysis_frame(a, 1)->trip_counter->trips, 6);
    ck_assert(!eddy_analysis_frame(a, 1)->trip_counter->is_only);
}
END_TEST

START_TEST(the_root_and_loops_without_a_predicate_do_not_count)
{
    program_build(&p, "x ?int64\ne Enter@f x\no Exit e\n");
    want_counter(0, "none");
    want_counter(1, "none");
}
END_TEST

TCase *trip_counter_tests(void)
{
    TCase *tc = tcase_create("trip_counter");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, forms, 0, (int)(sizeof loops / sizeof *loops));
    tcase_add_test(tc, the_dtype_is_minded);
    tcase_add_test(tc, floats_count_without_a_number);
    tcase_add_test(tc, an_inner_loop_counts_too);
    tcase_add_test(tc, maximum_iterations_are_counted);
    tcase_add_test(tc, the_root_and_loops_without_a_predicate_do_not_count);
    return tc;
}
