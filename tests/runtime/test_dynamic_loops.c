/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Iterations of one frame that are under way at once: invariants that come
 * early and late, parking, retirement in order, frames by their parent's tag.
 *
 * Without workers everything happens in eddy_run_poll, so that a Hold that is
 * let go between two polls makes any order there can be.
 */
#include "tests/aid/loops.h"
#include "tests/aid/probe_ops.h"
#include "tests/suites.h"

#include <stdio.h>

static program p;

static void setup(void)
{
    program_init(&p, 0);
    p.plan_options.executor = EDDY_EXECUTOR_DYNAMIC;
    probe_ops_register(&p);
}

static void teardown(void)
{
    program_deinit(&p);
}

/* Runs until nothing but Holds is left; true if the run is over. */
static bool settle(void)
{
    for (;;) {
        const uint32_t before = hold_started();

        if (eddy_run_poll(p.run))
            return true;
        if (hold_started() == before && !eddy_run_poll(p.run) &&
            hold_started() == before)
            return false;
    }
}

static void start(const char *fetches)
{
    program_plan(&p, NULL, fetches);
    program_make_run(&p);
    ck_assert_int_eq(eddy_run_start(p.run, &p.err), EDDY_OK);
    ck_assert(!settle());
}

static void finish(void)
{
    while (!settle())
        ck_assert_uint_gt(hold_complete_all(EDDY_OK), 0);
    ck_assert_int_eq(eddy_run_wait(p.run, &p.err), EDDY_OK);
}

/* Counts from 0 to `n` in w#`parallel`; w/i is the counter in the body. */
static void build_counter(int n, int parallel, const char *rest)
{
    char text[2048];

    snprintf(text, sizeof text,
             "zero int64=0\n"
             "n int64=%d\n"
             "one int64=1\n"
             "w/enter Enter@w#%d zero\n"
             "w/n Enter@w! n\n"
             "w/one Enter@w! one\n"
             "w/merge Merge w/enter w/next\n"
             "w/less Less w/merge w/n\n"
             "w/cond LoopCond w/less\n"
             "w/switch Switch w/merge w/cond\n"
             "w/i Identity w/switch:1\n"
             "w/add AddV2 w/i w/one\n"
             "w/next NextIteration w/add\n"
             "w/exit Exit w/switch\n"
             "%s",
             n, parallel, rest);
    program_build(&p, text);
}

/* ---- parking and retirement ---- */

/* _i is parallel_iterations. */
START_TEST(as_many_iterations_as_allowed_are_under_way)
{
    build_counter(10, _i, "w/hold Hold w/i\n");
    start("w/exit ^w/hold");
    ck_assert_uint_eq(hold_open(), (uint32_t)_i);
    for (uint32_t done = 0; done < 10; done++) {
        const uint32_t open =
            10 - done < (uint32_t)_i ? 10 - done : (uint32_t)_i;

        ck_assert_uint_eq(hold_open(), open);
        ck_assert_int_eq(hold_iteration(done), done);
        hold_complete(done, EDDY_OK);
        settle();
    }
    finish();
    ck_assert_int_eq(program_fetch_int(&p, 0), 10);
    ck_assert_uint_eq(program_stats(&p).peak_suspended, (uint64_t)_i);
    ck_assert_uint_eq(program_stats(&p).iterations, 11);
}
END_TEST

/* The oldest iteration holds up all that would come after the fourth. */
START_TEST(iterations_retire_in_order)
{
    build_counter(10, 4, "w/hold Hold w/i\n");
    start("w/exit ^w/hold");
    ck_assert_uint_eq(hold_started(), 4);
    for (uint32_t i = 3; i > 0; i--) {
        hold_complete(i, EDDY_OK);
        ck_assert(!settle());
        ck_assert_uint_eq(hold_started(), 4);
    }
    hold_complete(0, EDDY_OK);
    ck_assert(!settle());
    ck_assert_uint_eq(hold_started(), 8);
    ck_assert_uint_eq(hold_open(), 4);
    finish();
    ck_assert_int_eq(program_fetch_int(&p, 0), 10);
}
END_TEST

/* With one at a time the next waits for all of the last, frames in it too. */
START_TEST(an_inner_frame_keeps_its_iteration)
{
    build_counter(3, 1, "v Enter@v w/i\nv/hold Hold v\nv/exit Exit v/hold\n");
    start("w/exit ^v/exit");
    for (uint32_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(hold_started(), i + 1);
        hold_complete(i, EDDY_OK);
        settle();
    }
    finish();
    ck_assert_int_eq(program_fetch_int(&p, 0), 3);
}
END_TEST

/* The body's own value goes round: no two iterations overlap. */
START_TEST(a_loop_whose_value_is_held_goes_one_by_one)
{
    const eddy_output zero = program_int(&p, 0), one = program_int(&p, 1);
    loop l = {.p = &p, .frame = "w", .parallel_iterations = 8};
    eddy_output next;

    loop_begin(&l, &zero, 1);
    loop_while(&l, program_binary(&p, "Less", l.merge[0],
                                  loop_invariant(&l, program_int(&p, 5))));
    next = program_binary(&p, "AddV2", program_unary(&p, "Hold", l.inside[0]),
                          loop_invariant(&l, one));
    loop_end(&l, &next);
    program_plan_outputs(&p, l.exit, 1);
    program_make_run(&p);
    ck_assert_int_eq(eddy_run_start(p.run, &p.err), EDDY_OK);
    for (uint32_t i = 0; i < 5; i++) {
        ck_assert(!settle());
        ck_assert_uint_eq(hold_started(), i + 1);
        hold_complete(i, EDDY_OK);
    }
    finish();
    ck_assert_int_eq(program_fetch_int(&p, 0), 5);
}
END_TEST

/* ---- invariants ---- */

/* Held outside, an invariant comes when `parallel` iterations wait for it. */
#define LATE                                                                   \
    "h Hold n\n"                                                               \
    "w/late Enter@w! h\n"                                                      \
    "w/mul Mul w/i w/late\n"                                                   \
    "w/tick Tick w/mul\n"

START_TEST(an_invariant_reaches_iterations_before_and_after_it_came)
{
    build_counter(10, _i, LATE "w/last Tick w/i\n");
    start("w/exit ^w/tick ^w/last");
    ck_assert_uint_eq(tick_count(), (uint32_t)_i);
    hold_complete(0, EDDY_OK);
    finish();
    ck_assert_uint_eq(tick_count(), 20);
    ck_assert_int_eq(program_fetch_int(&p, 0), 10);
}
END_TEST

/*
 * sum += i * k in each iteration, where k is early or late, and a vector or a
 * scalar.
 */
static void sum_of_products(const char *k, int parallel, float *out_sum)
{
    char text[1024];

    snprintf(text, sizeof text,
             "%s"
             "w/k Enter@w! k\n"
             "init float32[3]=0\n"
             "o float32=1\n"
             "w/o Enter@w! o\n"
             "w/s Enter@w init\n"
             "w/sum Merge w/s w/back\n"
             "w/sum/switch Switch w/sum w/cond\n"
             "w/f Enter@w#%d o\n"
             "w/f/merge Merge w/f w/f/next\n"
             "w/f/switch Switch w/f/merge w/cond\n"
             "w/f/add AddV2 w/f/switch:1 w/o\n"
             "w/f/next NextIteration w/f/add\n"
             "w/product Mul w/f/switch:1 w/k\n"
             "w/plus AddV2 w/sum/switch:1 w/product\n"
             "w/back NextIteration w/plus\n"
             "w/sum/exit Exit w/sum/switch\n",
             k, parallel);
    build_counter(10, parallel, text);
    program_plan(&p, NULL, "w/sum/exit");
    program_make_run(&p);
    ck_assert_int_eq(eddy_run_start(p.run, &p.err), EDDY_OK);
    settle();
    finish();
    *out_sum = program_fetch_float(&p, 0);
}

static const char *const factors[] = {
    "k float32=2\n",
    "k float32[3]=2\n",
    "j float32=2\nk Hold j\n",
    "j float32[3]=2\nk Hold j\n",
    "j float32[3]=-2\nk Neg j\n",
};

START_TEST(an_invariant_has_its_value_in_every_iteration)
{
    const size_t n = sizeof factors / sizeof factors[0];
    float sum;

    sum_of_products(factors[(size_t)_i % n], 1 + 3 * (_i / (int)n), &sum);
    ck_assert_float_eq(sum, 110);
}
END_TEST

/* u and v read nothing but invariants: they run in every iteration. */
START_TEST(nodes_fed_by_invariants_alone_run_in_every_iteration)
{
    build_counter(6, _i,
                  "w/u AddV2 w/n w/one\n"
                  "w/v Tick w/u\n"
                  "w/t Tick w/one\n"
                  "w/sum AddV2 w/i w/v\n");
    program_plan(&p, NULL, "w/exit ^w/sum ^w/t");
    program_run(&p);
    ck_assert_uint_eq(tick_count(), 14);
    ck_assert_uint_eq(program_stats(&p).iterations, 7);
}
END_TEST

START_TEST(nodes_fed_by_late_invariants_alone_run_in_every_iteration)
{
    build_counter(6, _i,
                  "h Hold n\n"
                  "w/late Enter@w! h\n"
                  "w/t Tick w/late\n"
                  "w/u Tick w/late ^w/one\n");
    start("w/exit ^w/t ^w/u");
    ck_assert_uint_eq(tick_count(), 0);
    hold_complete(0, EDDY_OK);
    finish();
    ck_assert_uint_eq(tick_count(), 14);
}
END_TEST

/* Seven iterations, in each of which u, v and w/sum are dead. */
START_TEST(a_dead_invariant_is_dead_in_every_iteration)
{
    build_counter(6, _i,
                  "no bool=0\n"
                  "q Switch n no\n"
                  "h Hold q\n"
                  "r Switch h no\n"
                  "w/dead Enter@w! r:1\n"
                  "w/u Tick w/dead\n"
                  "w/v Tick w/u ^w/one\n"
                  "w/sum AddV2 w/i w/dead\n");
    start("w/exit ^w/v ^w/sum");
    hold_complete(0, EDDY_OK);
    finish();
    ck_assert_uint_eq(tick_count(), 0);
    ck_assert_int_eq(program_fetch_int(&p, 0), 6);
    /* The Enter, three nodes each time, and what a plain counter has. */
    ck_assert_uint_eq(program_stats(&p).dead_executions, 1 + 3 * 7 + 6 + 3);
}
END_TEST

/* Through a control edge, and into a ControlTrigger. */
START_TEST(an_invariant_may_be_a_control_input)
{
    build_counter(5, _i,
                  "h Hold n\n"
                  "w/late Enter@w! h\n"
                  "w/a Tick w/i ^w/late\n"
                  "w/t ControlTrigger ^w/late\n"
                  "w/b Tick w/i ^w/t\n");
    start("w/exit ^w/a ^w/b");
    ck_assert_uint_eq(tick_count(), 0);
    hold_complete(0, EDDY_OK);
    finish();
    ck_assert_uint_eq(tick_count(), 10);
}
END_TEST

/* The other input of the Merge is dead in every iteration. */
#define INTO_MERGE(k)                                                          \
    "no bool=0\n"                                                              \
    "w/no Enter@w! no\n"                                                       \
    "w/k Enter@w! " k "\n"                                                     \
    "w/dead Switch w/i w/no\n"                                                 \
    "w/m Merge w/dead:1 w/k\n"                                                 \
    "w/index Tick w/m:1\n"                                                     \
    "w/value Tick w/m\n"

START_TEST(an_invariant_may_feed_a_merge)
{
    build_counter(5, _i, INTO_MERGE("n"));
    program_plan(&p, NULL, "w/exit ^w/index ^w/value");
    program_run(&p);
    ck_assert_uint_eq(tick_count(), 12);
}
END_TEST

START_TEST(a_late_invariant_may_feed_a_merge)
{
    build_counter(5, _i, "h Hold n\n" INTO_MERGE("h"));
    start("w/exit ^w/index ^w/value");
    ck_assert_uint_eq(tick_count(), 0);
    hold_complete(0, EDDY_OK);
    finish();
    ck_assert_uint_eq(tick_count(), 12);
}
END_TEST

START_TEST(a_dead_invariant_kills_a_merge_in_every_iteration)
{
    build_counter(5, _i,
                  "nein bool=0\n"
                  "q Switch n nein\n"
                  "w/k Enter@w! q:1\n"
                  "w/m Merge w/k\n"
                  "w/value Tick w/m\n");
    program_plan(&p, NULL, "w/exit ^w/value");
    program_run(&p);
    ck_assert_uint_eq(tick_count(), 0);
    /* The Enter, two nodes in each of six iterations, and the counter's own. */
    ck_assert_uint_eq(program_stats(&p).dead_executions, 1 + 2 * 6 + 5 + 3);
}
END_TEST

/* What a body puts out may be an invariant: it goes round as a variable. */
START_TEST(an_invariant_may_become_the_next_value)
{
    build_counter(5, _i,
                  "x float32[3]=1\n"
                  "y float32[3]=2\n"
                  "w/x Enter@w x\n"
                  "w/y Enter@w! y\n"
                  "w/v Merge w/x w/v/next\n"
                  "w/v/switch Switch w/v w/cond\n"
                  "w/v/body Identity w/v/switch:1\n"
                  "w/v/pass Identity w/y ^w/v/body\n"
                  "w/v/next NextIteration w/v/pass\n"
                  "w/v/exit Exit w/v/switch\n");
    program_plan(&p, NULL, "w/v/exit");
    program_run(&p);
    ck_assert_float_eq(program_fetch_float(&p, 0), 2);
}
END_TEST

/* ---- the end of a frame ---- */

/*
 * Dead Exits are only known when the frame ends; it does though its last Enter
 * feeds nothing.
 */
START_TEST(a_frame_ends_with_the_last_enter_though_nothing_reads_it)
{
    build_counter(3, 4,
                  "no bool=0\n"
                  "h Hold n\n"
                  "w/idle Enter@w h\n"
                  "w/no Enter@w! no\n"
                  "w/never Switch w/merge w/no\n"
                  "w/dead Exit w/never:1\n"
                  "t ControlTrigger ^w/dead\n"
                  "k int64=77 ^t\n"
                  "seen Tick k\n");
    start("w/exit seen ^w/idle");
    ck_assert_uint_eq(tick_count(), 0);
    hold_complete(0, EDDY_OK);
    finish();
    ck_assert_int_eq(program_fetch_int(&p, 0), 3);
    ck_assert_int_eq(program_fetch_int(&p, 1), 77);
}
END_TEST

/* An Exit does not wait for its frame. */
START_TEST(an_exit_is_live_at_once)
{
    build_counter(3, 4,
                  "w/hold Hold w/i\n"
                  "seen Tick w/exit\n");
    start("seen ^w/hold");
    ck_assert_uint_eq(tick_count(), 1);
    finish();
    ck_assert_int_eq(program_fetch_int(&p, 0), 3);
}
END_TEST

/* A Merge knows which input it took: 0 at first, then 1. */
START_TEST(value_index_of_a_loop_merge_is_1_after_the_first_iteration)
{
    build_counter(6, 4,
                  "z int32=0\n"
                  "w/z Enter@w z\n"
                  "w/sum Merge w/z w/back\n"
                  "w/sum/switch Switch w/sum w/cond\n"
                  "w/plus AddV2 w/sum/switch:1 w/merge:1\n"
                  "w/back NextIteration w/plus\n"
                  "w/sum/exit Exit w/sum/switch\n");
    program_plan(&p, NULL, "w/sum/exit");
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 5);
}
END_TEST

/* ---- frames in frames ---- */

/*
 * For each i of the outer loop, an inner loop adds its own counter i times.
 * The inner loops of several outer iterations are under way at once, and are
 * let go newest first.
 */
static eddy_output build_triangle(int64_t outer_parallel)
{
    const eddy_output zero = program_int(&p, 0), initial[] = {zero, zero};
    loop outer = {.p = &p, .frame = "outer"},
         inner = {.p = &p, .frame = "inner"};
    eddy_output one, zero_in, next[2], start_inner[2];

    outer.parallel_iterations = outer_parallel;
    loop_begin(&outer, initial, 2);
    one = loop_invariant(&outer, program_int(&p, 1));
    zero_in = loop_invariant(&outer, zero);
    loop_while(&outer,
               program_binary(&p, "Less", outer.merge[0],
                              loop_invariant(&outer, program_int(&p, 6))));
    inner.within = &outer.body;
    start_inner[0] = start_inner[1] = zero_in;
    loop_begin(&inner, start_inner, 2);
    loop_while(&inner, program_binary(&p, "Less", inner.merge[0],
                                      loop_invariant(&inner, outer.inside[0])));
    next[0] = program_binary(&p, "AddV2", inner.inside[0],
                             loop_invariant(&inner, one));
    next[1] = program_binary(&p, "AddV2", inner.inside[1],
                             program_unary(&p, "Hold", inner.inside[0]));
    loop_end(&inner, next);
    next[0] = program_binary(&p, "AddV2", outer.inside[0], one);
    next[1] = program_binary(&p, "AddV2", outer.inside[1], inner.exit[1]);
    loop_end(&outer, next);
    return outer.exit[1];
}

START_TEST(frames_of_one_name_are_kept_apart_by_the_iteration_of_their_parent)
{
    const eddy_output sum = build_triangle(_i);
    uint32_t n_open = 0;
    eddy_stats stats;

    program_plan_outputs(&p, &sum, 1);
    program_make_run(&p);
    ck_assert_int_eq(eddy_run_start(p.run, &p.err), EDDY_OK);
    while (!settle()) {
        if (hold_open() > n_open)
            n_open = hold_open();
        hold_complete_newest(EDDY_OK);
    }
    ck_assert_int_eq(eddy_run_wait(p.run, &p.err), EDDY_OK);
    if (_i == 1)
        ck_assert_uint_le(n_open, 5);
    else
        ck_assert_uint_gt(n_open, 5);
    /* The sum over i < 6 of i * (i - 1) / 2. */
    ck_assert_int_eq(program_fetch_int(&p, 0), 0 + 0 + 1 + 3 + 6 + 10);
    stats = program_stats(&p);
    ck_assert_uint_eq(stats.frames, 1 + 7);
    ck_assert_uint_eq(stats.iterations, 7 + 6 + 15 + 1);
}
END_TEST

TCase *dynamic_loops_tests(void)
{
    TCase *tc = tcase_create("dynamic_loops");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, as_many_iterations_as_allowed_are_under_way, 1, 5);
    tcase_add_test(tc, iterations_retire_in_order);
    tcase_add_test(tc, an_inner_frame_keeps_its_iteration);
    tcase_add_test(tc, a_loop_whose_value_is_held_goes_one_by_one);
    tcase_add_loop_test(
        tc, an_invariant_reaches_iterations_before_and_after_it_came, 1, 5);
    tcase_add_loop_test(tc, an_invariant_has_its_value_in_every_iteration, 0,
                        2 * sizeof factors / sizeof factors[0]);
    tcase_add_loop_test(
        tc, nodes_fed_by_invariants_alone_run_in_every_iteration, 1, 5);
    tcase_add_loop_test(
        tc, nodes_fed_by_late_invariants_alone_run_in_every_iteration, 1, 5);
    tcase_add_loop_test(tc, a_dead_invariant_is_dead_in_every_iteration, 1, 5);
    tcase_add_loop_test(tc, an_invariant_may_be_a_control_input, 1, 5);
    tcase_add_loop_test(tc, an_invariant_may_feed_a_merge, 1, 5);
    tcase_add_loop_test(tc, a_late_invariant_may_feed_a_merge, 1, 5);
    tcase_add_loop_test(tc, a_dead_invariant_kills_a_merge_in_every_iteration,
                        1, 5);
    tcase_add_loop_test(tc, an_invariant_may_become_the_next_value, 1, 5);
    tcase_add_test(tc,
                   a_frame_ends_with_the_last_enter_though_nothing_reads_it);
    tcase_add_test(tc, an_exit_is_live_at_once);
    tcase_add_test(tc,
                   value_index_of_a_loop_merge_is_1_after_the_first_iteration);
    tcase_add_loop_test(
        tc, frames_of_one_name_are_kept_apart_by_the_iteration_of_their_parent,
        1, 8);
    return tc;
}
