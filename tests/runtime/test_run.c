/* SPDX-License-Identifier: Apache-2.0 */
/* Starting, waiting, limits, and what an error says. */
#include "tests/aid/loops.h"
#include "tests/aid/probe_ops.h"
#include "tests/suites.h"

#include <stddef.h>
#include <stdio.h>
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

/* Plans a counter up to the feed n. */
static void plan_counter(void)
{
    eddy_output count;

    program_build(&p, "n ?int64\n");
    count = loops_counter(&p, program_output(&p, "n"));
    program_plan(&p, "n", eddy_graph_node_name(p.graph, count.node));
}

static void start(void)
{
    ck_assert_int_eq(eddy_run_start(p.run, &p.err), EDDY_OK);
}

/* ---- start, poll, wait ---- */

START_TEST(a_poll_runs_a_bounded_slice)
{
    int n_polls = 0;

    plan_counter();
    program_feed_int(&p, 0, 400 * 1000);
    start();
    while (!eddy_run_poll(p.run))
        n_polls++;
    ck_assert_int_gt(n_polls, 10);
    ck_assert_int_lt(n_polls, 10000);
    ck_assert_int_eq(eddy_run_wait(p.run, &p.err), EDDY_OK);
    ck_assert_int_eq(program_fetch_int(&p, 0), 400 * 1000);
    ck_assert(eddy_run_poll(p.run));
}
END_TEST

START_TEST(a_wait_goes_on_where_polls_have_stopped)
{
    plan_counter();
    program_feed_int(&p, 0, 100 * 1000);
    start();
    ck_assert(!eddy_run_poll(p.run));
    ck_assert(!eddy_run_poll(p.run));
    ck_assert_int_eq(eddy_run_wait(p.run, &p.err), EDDY_OK);
    ck_assert_int_eq(program_fetch_int(&p, 0), 100 * 1000);
}
END_TEST

START_TEST(without_workers_a_start_does_nothing_yet)
{
    probe_ops_register(&p);
    program_build(&p, "x int64=1\n"
                      "t Tick x\n");
    program_plan(&p, NULL, "t");
    program_make_run(&p);
    start();
    ck_assert_uint_eq(tick_count(), 0);
    ck_assert(eddy_run_poll(p.run));
    ck_assert_uint_eq(tick_count(), 1);
}
END_TEST

START_TEST(a_wait_without_a_start_returns_the_last_status)
{
    plan_counter();
    program_make_run(&p);
    ck_assert_int_eq(eddy_run_wait(p.run, &p.err), EDDY_OK);
    ck_assert(eddy_run_poll(p.run));
    program_feed_int(&p, 0, 3);
    program_run(&p);
    ck_assert_int_eq(eddy_run_wait(p.run, &p.err), EDDY_OK);
}
END_TEST

/* What is refused is no execution: the last one's results stay. */
START_TEST(a_refused_start_changes_nothing)
{
    program_build(&p, "x ?int64\n"
                      "y ?int64\n"
                      "z AddV2 x y\n");
    program_plan(&p, "x y", "z");
    program_feed_int(&p, 0, 3);
    program_want(&p, eddy_run_start(p.run, &p.err), EDDY_INVALID_ARGUMENT,
                 EDDY_E_NOT_FED);
    ck_assert_int_eq(eddy_run_wait(p.run, &p.err), EDDY_OK);
    program_feed_int(&p, 1, 4);
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 7);
}
END_TEST

START_TEST(a_run_under_way_is_busy)
{
    const eddy_shape scalar = {.rank = 0};
    eddy_tensor *n = program_tensor(&p, EDDY_INT64, &scalar, &(int64_t){9});
    int64_t into;

    plan_counter();
    program_feed_int(&p, 0, 5);
    start();
    program_want(&p, eddy_run_start(p.run, &p.err), EDDY_FAILED_PRECONDITION,
                 EDDY_E_BUSY);
    program_want(&p, eddy_run_execute(p.run, &p.err), EDDY_FAILED_PRECONDITION,
                 EDDY_E_BUSY);
    program_want(&p, eddy_run_feed(p.run, 0, n, &p.err),
                 EDDY_FAILED_PRECONDITION, EDDY_E_BUSY);
    program_want(&p, eddy_run_fetch_into(p.run, 0, &into, sizeof into, &p.err),
                 EDDY_FAILED_PRECONDITION, EDDY_E_BUSY);
    ck_assert_int_eq(eddy_run_wait(p.run, &p.err), EDDY_OK);
    ck_assert_int_eq(program_fetch_int(&p, 0), 5);
    eddy_tensor_release(n);
}
END_TEST

START_TEST(two_runs_of_one_plan_go_on_side_by_side)
{
    eddy_run *other;
    eddy_tensor *n;
    const eddy_shape scalar = {.rank = 0};
    bool done = false, other_done = false;

    plan_counter();
    program_feed_int(&p, 0, 50 * 1000);
    n = program_tensor(&p, EDDY_INT64, &scalar, &(int64_t){70 * 1000});
    ck_assert_int_eq(eddy_run_create(p.plan, NULL, &other, &p.err), EDDY_OK);
    ck_assert_int_eq(eddy_run_feed(other, 0, n, &p.err), EDDY_OK);
    start();
    ck_assert_int_eq(eddy_run_start(other, &p.err), EDDY_OK);
    while (!done || !other_done) {
        done = eddy_run_poll(p.run);
        other_done = eddy_run_poll(other);
    }
    ck_assert_int_eq(program_fetch_int(&p, 0), 50 * 1000);
    ck_assert_int_eq(
        *(const int64_t *)eddy_tensor_data(eddy_run_fetch(other, 0)),
        70 * 1000);
    eddy_run_destroy(other);
    eddy_tensor_release(n);
}
END_TEST

/* ---- the callback ---- */

typedef struct call {
    int n;
    eddy_status code;
    int64_t value;
    uint64_t iterations;
    eddy_status restart;
    eddy_detail restart_detail;
} call;

static void note_call(eddy_run *run, eddy_status code, void *user)
{
    call *c = user;
    eddy_error err;

    c->n++;
    c->code = code;
    c->iterations = eddy_run_stats(run).iterations;
    if (eddy_run_fetch(run, 0))
        c->value = *(const int64_t *)eddy_tensor_data(eddy_run_fetch(run, 0));
    c->restart = eddy_run_start(run, &err);
    c->restart_detail = err.detail;
}

START_TEST(the_callback_comes_once_with_everything_in_place)
{
    call c = {.n = 0};

    plan_counter();
    p.run_options.done = note_call;
    p.run_options.user = &c;
    program_feed_int(&p, 0, 6);
    for (int i = 1; i <= 3; i++) {
        program_run(&p);
        ck_assert_int_eq(c.n, i);
        ck_assert_int_eq(c.code, EDDY_OK);
        ck_assert_int_eq(c.value, 6);
        ck_assert_uint_eq(c.iterations, 7);
        /* A start from within is refused. */
        ck_assert_int_eq(c.restart, EDDY_FAILED_PRECONDITION);
        ck_assert_int_eq(c.restart_detail, EDDY_E_BUSY);
    }
}
END_TEST

START_TEST(the_callback_comes_after_an_error_too)
{
    call c = {.n = 0};

    plan_counter();
    p.run_options.done = note_call;
    p.run_options.user = &c;
    p.run_options.max_iterations = 3;
    program_feed_int(&p, 0, 6);
    ck_assert_int_eq(program_execute(&p), EDDY_RESOURCE_EXHAUSTED);
    ck_assert_int_eq(c.n, 1);
    ck_assert_int_eq(c.code, EDDY_RESOURCE_EXHAUSTED);
    ck_assert_int_eq(c.value, 0);
}
END_TEST

/* ---- options ---- */

START_TEST(run_options_of_an_unknown_size_are_refused)
{
    eddy_run_options options = {.size = sizeof options + 8};
    eddy_run *run;

    plan_counter();
    program_want(&p, eddy_run_create(p.plan, &options, &run, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    ck_assert_ptr_null(run);
    options.size = 0;
    program_want(&p, eddy_run_create(p.plan, &options, &run, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    options.size = offsetof(eddy_run_options, max_iterations);
    options.max_iterations = 1; /* beyond what the size covers */
    p.run_options = options;
    program_feed_int(&p, 0, 5);
    program_run(&p);
}
END_TEST

START_TEST(a_run_keeps_its_session_and_plan)
{
    eddy_session *session;

    plan_counter();
    ck_assert_int_eq(eddy_session_create(p.ctx, &session, &p.err), EDDY_OK);
    p.run_options.session = session;
    program_feed_int(&p, 0, 5);
    eddy_session_release(session);
    eddy_plan_release(p.plan);
    p.plan = NULL;
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 5);
}
END_TEST

START_TEST(the_untrusted_preset_sets_every_limit_and_nothing_else)
{
    call c = {.n = 0};

    p.run_options.done = note_call;
    p.run_options.user = &c;
    eddy_run_options_untrusted(&p.run_options);
    ck_assert_uint_eq(p.run_options.size, sizeof p.run_options);
    ck_assert_ptr_eq(p.run_options.user, &c);
    ck_assert_uint_gt(p.run_options.timeout_ns, 0);
    ck_assert_uint_gt(p.run_options.max_iterations, 0);
    ck_assert_uint_gt(p.run_options.max_bytes, 0);
    ck_assert_uint_gt(p.run_options.max_frames, 0);
    plan_counter();
    program_feed_int(&p, 0, 1000);
    program_run(&p);
    ck_assert_int_eq(c.n, 1);
}
END_TEST

/* Nothing ends this loop but a limit. */
START_TEST(the_untrusted_preset_ends_an_endless_loop)
{
    eddy_status status;

    program_build(&p, "x int64=0\n"
                      "yes bool=1\n"
                      "e Enter@w x\n"
                      "y Enter@w! yes\n"
                      "m Merge e n\n"
                      "c LoopCond y\n"
                      "s Switch m c\n"
                      "n NextIteration s:1\n"
                      "o Exit s\n");
    program_plan(&p, NULL, "o");
    eddy_run_options_untrusted(&p.run_options);
    status = program_execute(&p);
    if (status == EDDY_DEADLINE_EXCEEDED)
        ck_assert_int_eq(p.err.detail, EDDY_E_DEADLINE);
    else
        program_want(&p, status, EDDY_RESOURCE_EXHAUSTED,
                     EDDY_E_LIMIT_ITERATIONS);
}
END_TEST

/* ---- limits ---- */

START_TEST(a_limit_on_iterations_is_exact)
{
    plan_counter();
    p.run_options.max_iterations = 11;
    program_feed_int(&p, 0, 10);
    program_run(&p);
    program_feed_int(&p, 0, 11);
    for (int again = 0; again < 2; again++) {
        program_want(&p, program_execute(&p), EDDY_RESOURCE_EXHAUSTED,
                     EDDY_E_LIMIT_ITERATIONS);
        ck_assert_str_eq(p.err.frame, "loop[10]");
        ck_assert_uint_eq(program_stats(&p).iterations, 11);
    }
    program_feed_int(&p, 0, 10);
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 10);
}
END_TEST

/* Two outer trips make three inner frames, the last of them dead. */
START_TEST(a_limit_on_frames_is_exact)
{
    eddy_output count;

    program_build(&p, "n ?int64\n");
    count = loops_nested(&p, 2, program_output(&p, "n"));
    program_plan(&p, "n", eddy_graph_node_name(p.graph, count.node));
    p.run_options.max_frames = 4;
    program_feed_int(&p, 0, 2);
    program_run(&p);
    ck_assert_uint_eq(program_stats(&p).frames, 4);
    program_feed_int(&p, 0, 3);
    program_want(&p, program_execute(&p), EDDY_RESOURCE_EXHAUSTED,
                 EDDY_E_LIMIT_FRAMES);
    ck_assert_str_eq(p.err.op, "Enter");
    ck_assert_str_eq(p.err.frame, "level1[3]");
    program_feed_int(&p, 0, 2);
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 4);
}
END_TEST

/* x doubles its length in every trip. */
static void build_growing(void)
{
    loop l = {.p = &p, .frame = "grow"};
    eddy_output initial[2], next[2], concat[3];

    program_build(&p, "n ?int64\n"
                      "x float32[256]=1\n"
                      "axis int32=0\n");
    initial[0] = program_int(&p, 0);
    initial[1] = program_output(&p, "x");
    loop_begin(&l, initial, 2);
    loop_while(&l, program_binary(&p, "Less", l.merge[0],
                                  loop_invariant(&l, program_output(&p, "n"))));
    next[0] = program_binary(&p, "AddV2", l.inside[0],
                             loop_invariant(&l, program_int(&p, 1)));
    concat[0] = concat[1] = l.inside[1];
    concat[2] = loop_invariant(&l, program_output(&p, "axis"));
    ck_assert_int_eq(eddy_graph_add_op(p.graph, "ConcatV2", "double", concat, 3,
                                       &next[1], &p.err),
                     EDDY_OK);
    loop_end(&l, next);
    program_plan(&p, "n", eddy_graph_node_name(p.graph, l.exit[1].node));
}

START_TEST(a_limit_on_bytes_names_the_node_that_asked_for_more)
{
    build_growing();
    p.run_options.max_bytes = 1 << 20;
    program_feed_int(&p, 0, 4);
    program_run(&p);
    ck_assert_uint_le(program_stats(&p).peak_bytes, 1 << 20);
    program_feed_int(&p, 0, 60);
    for (int again = 0; again < 2; again++) {
        program_want(&p, program_execute(&p), EDDY_RESOURCE_EXHAUSTED,
                     EDDY_E_LIMIT_BYTES);
        ck_assert_str_eq(p.err.node, "double");
        ck_assert_str_eq(p.err.op, "ConcatV2");
        ck_assert_str_eq(p.err.frame, "grow[9]");
        ck_assert_uint_le(program_stats(&p).peak_bytes, 1 << 20);
    }
    program_feed_int(&p, 0, 4);
    program_run(&p);
    ck_assert_int_eq(eddy_tensor_count(eddy_run_fetch(p.run, 0)), 256 * 16);
}
END_TEST

START_TEST(a_limit_of_one_byte_refuses_even_the_root_frame)
{
    plan_counter();
    p.run_options.max_bytes = 1;
    program_feed_int(&p, 0, 4);
    program_want(&p, program_execute(&p), EDDY_RESOURCE_EXHAUSTED,
                 EDDY_E_LIMIT_BYTES);
}
END_TEST

/* ---- where an error was ---- */

/* Divides by zero when outer is 3 and inner is 17. */
static void build_division(const char *outer_frame, const char *inner_frame)
{
    const eddy_output zero = program_int(&p, 0), initial[] = {zero, zero};
    loop outer = {.p = &p, .frame = outer_frame};
    loop inner = {.p = &p, .frame = inner_frame, .within = &outer.body};
    eddy_output one, twenty, hundreds, key, divide[2], next[2], out;

    loop_begin(&outer, initial, 2);
    one = loop_invariant(&outer, program_int(&p, 1));
    twenty = loop_invariant(&outer, program_int(&p, 20));
    hundreds = loop_invariant(&outer, program_int(&p, 100));
    key = loop_invariant(&outer, program_int(&p, 317));
    next[0] = next[1] = loop_invariant(&outer, zero);
    loop_while(&outer,
               program_binary(&p, "Less", outer.merge[0],
                              loop_invariant(&outer, program_int(&p, 5))));
    hundreds = program_binary(&p, "Mul", outer.inside[0], hundreds);
    loop_begin(&inner, next, 2);
    loop_while(&inner, program_binary(&p, "Less", inner.merge[0],
                                      loop_invariant(&inner, twenty)));
    divide[0] = loop_invariant(&inner, one);
    divide[1] =
        program_binary(&p, "Sub", loop_invariant(&inner, key),
                       program_binary(&p, "AddV2", inner.inside[0],
                                      loop_invariant(&inner, hundreds)));
    ck_assert_int_eq(eddy_graph_add_op(p.graph, "FloorDiv", "divide", divide, 2,
                                       &out, &p.err),
                     EDDY_OK);
    next[0] = program_binary(&p, "AddV2", inner.inside[0],
                             loop_invariant(&inner, one));
    next[1] = program_binary(&p, "AddV2", inner.inside[1], out);
    loop_end(&inner, next);
    next[0] = program_binary(&p, "AddV2", outer.inside[0], one);
    next[1] = program_binary(&p, "AddV2", outer.inside[1], inner.exit[1]);
    loop_end(&outer, next);
    program_plan_outputs(&p, &outer.exit[1], 1);
}

START_TEST(an_error_names_node_op_and_the_iteration_of_every_frame)
{
    char line[1024];

    p.plan_options.parallel_iterations = _i;
    build_division("outer", "inner");
    for (int again = 0; again < 2; again++) {
        program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT,
                     EDDY_E_DIVISION_BY_ZERO);
        ck_assert_str_eq(p.err.node, "divide");
        ck_assert_str_eq(p.err.op, "FloorDiv");
        ck_assert_str_eq(p.err.frame, "outer[3]/inner[17]");
        ck_assert_ptr_null(eddy_run_fetch(p.run, 0));
    }
    eddy_error_format(&p.err, line, sizeof line);
    ck_assert_ptr_nonnull(
        strstr(line, "'divide' (FloorDiv) in outer[3]/inner[17]"));
}
END_TEST

START_TEST(names_of_frames_are_escaped)
{
    build_division("out\n%s", "in\tner");
    ck_assert_int_eq(program_execute(&p), EDDY_INVALID_ARGUMENT);
    ck_assert_ptr_null(strchr(p.err.frame, '\n'));
    ck_assert_ptr_null(strchr(p.err.frame, '\t'));
    ck_assert_ptr_nonnull(strstr(p.err.frame, "[3]/"));
    ck_assert_ptr_nonnull(strstr(p.err.frame, "[17]"));
}
END_TEST

START_TEST(a_long_path_of_frames_loses_its_middle)
{
    char line[128];

    program_build(&p, "x int64=1\n"
                      "zero int64=0\n"
                      "e0 Enter@first x\n"
                      "z0 Enter@first zero\n");
    for (int i = 1; i < 60; i++) {
        snprintf(line, sizeof line,
                 "e%d Enter@%s%d e%d\n"
                 "z%d Enter@%s%d z%d\n",
                 i, i == 59 ? "last" : "middle", i, i - 1, i,
                 i == 59 ? "last" : "middle", i, i - 1);
        program_build(&p, line);
    }
    program_build(&p, "bad FloorDiv e59 z59\n");
    program_plan(&p, NULL, "bad");
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT,
                 EDDY_E_DIVISION_BY_ZERO);
    ck_assert_uint_lt(strlen(p.err.frame), sizeof p.err.frame);
    ck_assert_int_eq(strncmp(p.err.frame, "first[0]/", 9), 0);
    ck_assert_ptr_nonnull(strstr(p.err.frame, "..."));
    ck_assert_ptr_nonnull(strstr(p.err.frame, "last59[0]"));
}
END_TEST

/* With one driver the first error in plan order is the one that is told. */
START_TEST(the_first_error_wins)
{
    program_build(&p, "x int64=1\n"
                      "zero int64=0\n"
                      "a FloorDiv x zero\n"
                      "b FloorMod x zero\n"
                      "c FloorDiv x zero\n");
    program_plan(&p, NULL, "c b a");
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT,
                 EDDY_E_DIVISION_BY_ZERO);
    ck_assert_str_eq(p.err.node, "a");
}
END_TEST

/* ---- why a fetch is dead ---- */

#define DEAD                                                                   \
    "x int64=7\n"                                                              \
    "no bool=0\n"                                                              \
    "yes bool=1\n"                                                             \
    "s Switch x no\n"

static const struct {
    const char *text, *fetches, *cause;
} causes[] = {
    {DEAD, "s:1", "Switch 's' took port 0"},
    {DEAD "r Switch x yes\n", "r", "Switch 'r' took port 1"},
    {DEAD "i int32=2\nr _SwitchN x i num_outs=4\n", "r:3",
     "Switch 'r' took port 2"},
    /* Through a chain, a control edge, a Merge, another Switch. */
    {DEAD "a Neg s:1\nb AddV2 x a\nc Neg b\n", "c", "Switch 's' took port 0"},
    {DEAD "a Neg s:1\nb int64=2 ^a\nc Neg b\n", "c", "Switch 's' took port 0"},
    {DEAD "a Neg s:1\nb Square s:1\nm Merge a b\nc Neg m\n", "c",
     "Switch 's' took port 0"},
    {DEAD "r Switch s:1 yes\nc Neg r:1\n", "c", "Switch 's' took port 0"},
    {DEAD "r Switch s yes\nc Neg r\n", "c", "Switch 'r' took port 1"},
    /* Past a Merge that lives. */
    {DEAD "m Merge s s:1\nr Switch m yes\nc Neg r\n", "c",
     "Switch 'r' took port 1"},
    /* Through a loop, whose Enter died. */
    {DEAD "e Enter@w s:1\nm Merge e n\nt Enter@w! yes\nc LoopCond t\n"
          "v Switch m c\nn NextIteration v:1\no Exit v\nz Neg o\n",
     "z", "Switch 's' took port 0"},
    /* A dead variable of a loop whose others live. */
    {DEAD "e Enter@w s:1\nm Merge e n\nt Enter@w! no\nc LoopCond t\n"
          "v Switch m c\nn NextIteration v:1\no Exit v\nlx Enter@w x\n"
          "lm Merge lx ln\nlv Switch lm c\nln NextIteration lv:1\n"
          "lo Exit lv\nz AddV2 o lo\n",
     "z", "Switch 's' took port 0"},
    /* Through two frames. */
    {DEAD "e Enter@f s:1\ng Enter@g e\no Exit g\nu Exit o\n", "u",
     "Switch 's' took port 0"},
    /* A dead Enter beside a live one: what comes out live has no killer. */
    {DEAD "v Neg x\nw Neg v\ne Enter@f w\ng Enter@f s:1\nh NoOp ^g\no Exit "
          "e\na Neg o\n"
          "b Neg a\nr Switch b yes\nk Exit g\nl Neg k\nz Neg r\n",
     "z ^l ^h", "Switch 'r' took port 1"},
};

START_TEST(a_dead_fetch_names_the_switch_that_killed_it)
{
    char all[64];

    program_build(&p, causes[_i].text);
    snprintf(all, sizeof all, "x %s", causes[_i].fetches);
    program_plan(&p, NULL, all);
    for (int again = 0; again < 2; again++) {
        program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT,
                     EDDY_E_FETCH_DEAD);
        ck_assert_str_eq(p.err.cause, causes[_i].cause);
        ck_assert_ptr_nonnull(strstr(p.err.message, "fetch 1"));
        ck_assert_int_eq(
            strncmp(p.err.node, causes[_i].fetches, strlen(p.err.node)), 0);
        ck_assert_ptr_null(eddy_run_fetch(p.run, 0));
    }
}
END_TEST

START_TEST(a_dead_target_is_no_error)
{
    program_build(&p, DEAD "a Neg s:1\n");
    program_plan(&p, NULL, "^a");
    program_run(&p);
    ck_assert_uint_eq(program_stats(&p).dead_executions, 1);
}
END_TEST

TCase *run_tests(void)
{
    TCase *tc = tcase_create("run");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_poll_runs_a_bounded_slice);
    tcase_add_test(tc, a_wait_goes_on_where_polls_have_stopped);
    tcase_add_test(tc, without_workers_a_start_does_nothing_yet);
    tcase_add_test(tc, a_wait_without_a_start_returns_the_last_status);
    tcase_add_test(tc, a_refused_start_changes_nothing);
    tcase_add_test(tc, a_run_under_way_is_busy);
    tcase_add_test(tc, two_runs_of_one_plan_go_on_side_by_side);
    tcase_add_test(tc, the_callback_comes_once_with_everything_in_place);
    tcase_add_test(tc, the_callback_comes_after_an_error_too);
    tcase_add_test(tc, run_options_of_an_unknown_size_are_refused);
    tcase_add_test(tc, a_run_keeps_its_session_and_plan);
    tcase_add_test(tc, the_untrusted_preset_sets_every_limit_and_nothing_else);
    tcase_add_test(tc, the_untrusted_preset_ends_an_endless_loop);
    tcase_add_test(tc, a_limit_on_iterations_is_exact);
    tcase_add_test(tc, a_limit_on_frames_is_exact);
    tcase_add_test(tc, a_limit_on_bytes_names_the_node_that_asked_for_more);
    tcase_add_test(tc, a_limit_of_one_byte_refuses_even_the_root_frame);
    tcase_add_loop_test(
        tc, an_error_names_node_op_and_the_iteration_of_every_frame, 1, 11);
    tcase_add_test(tc, names_of_frames_are_escaped);
    tcase_add_test(tc, a_long_path_of_frames_loses_its_middle);
    tcase_add_test(tc, the_first_error_wins);
    tcase_add_loop_test(tc, a_dead_fetch_names_the_switch_that_killed_it, 0,
                        sizeof causes / sizeof causes[0]);
    tcase_add_test(tc, a_dead_target_is_no_error);
    return tc;
}
