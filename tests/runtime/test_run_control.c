/* SPDX-License-Identifier: Apache-2.0 */
/* Stopping runs: cancel, deadlines, destroying; and whose threads run them. */
#include "tests/aid/host_executor.h"
#include "tests/aid/loops.h"
#include "tests/aid/probe_ops.h"
#include "tests/suites.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static program p;

static void sleep_ms(long ms)
{
    const struct timespec time = {.tv_sec = ms / 1000,
                                  .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&time, NULL);
}

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

/* What the process computed, whatever else the machine does. */
static double worked_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

static void start(void)
{
    program_make_run(&p);
    ck_assert_int_eq(eddy_run_start(p.run, &p.err), EDDY_OK);
}

static eddy_status wait_for_end(void)
{
    return eddy_run_wait(p.run, &p.err);
}

/* ---- endless loops ---- */

#define ENDLESS                                                                \
    "x int64=0\n"                                                              \
    "one int64=1\n"                                                            \
    "yes bool=1\n"                                                             \
    "e Enter@w x\n"                                                            \
    "o Enter@w! one\n"                                                         \
    "y Enter@w! yes\n"                                                         \
    "m Merge e n\n"
#define GO_ROUND(value)                                                        \
    "n NextIteration " value "\n"                                              \
    "out Exit s\n"

/* Each has a node `out`. */
static const char *const endless[] = {
    /* A counter. */
    ENDLESS "c LoopCond y\ns Switch m c\na AddV2 s:1 o\n" GO_ROUND("a"),
    /* Without a LoopCond. */
    ENDLESS "s Switch m y\na AddV2 s:1 o\n" GO_ROUND("a"),
    /* With nothing in it. */
    ENDLESS "c LoopCond y\ns Switch m c\n" GO_ROUND("s:1"),
    ENDLESS "s Switch m y\n" GO_ROUND("s:1"),
    /* Within another that would end. */
    ENDLESS "less Less m o\nc LoopCond less\ns Switch m c\n"
            "e2 Enter@v s:1\ny2 Enter@v! y\nm2 Merge e2 n2\n"
            "c2 LoopCond y2\ns2 Switch m2 c2\nn2 NextIteration s2:1\n"
            "out2 Exit s2\na AddV2 out2 o\n" GO_ROUND("a"),
    /* With a frame in every iteration. */
    ENDLESS "c LoopCond y\ns Switch m c\ne2 Enter@v s:1\na2 Neg e2\n"
            "out2 Exit a2\n" GO_ROUND("out2"),
    /* Over large tensors, whose kernels may go to other workers. */
    "v float32[50000]=0\n" ENDLESS
    "ev Enter@w v\nmv Merge ev nv\nc LoopCond y\ns Switch m c\nsv Switch mv c\n"
    "a Neg sv:1\nb Neg sv:1\nav AddV2 a b\nnv NextIteration av\n"
    "outv Exit sv\n" GO_ROUND("s:1"),
};
#define N_ENDLESS ((int)(sizeof endless / sizeof endless[0]))

static void plan_endless(int i)
{
    program_build(&p, endless[i]);
    program_plan(&p, NULL, strstr(endless[i], "outv") ? "out outv" : "out");
}

static const uint32_t worker_counts[] = {0, 1, 4};

typedef struct canceller {
    eddy_run *run;
    long delay_ms;
    double cancelled_at;
} canceller;

static void *cancel_later(void *arg)
{
    canceller *c = arg;

    sleep_ms(c->delay_ms);
    c->cancelled_at = worked_ms();
    eddy_run_cancel(c->run);
    return NULL;
}

/* How much was computed after the run was cancelled by another thread. */
static double cancel_endless(long delay_ms)
{
    canceller c = {.run = p.run, .delay_ms = delay_ms};
    eddy_status status;
    pthread_t thread;
    double took;

    start();
    ck_assert_int_eq(pthread_create(&thread, NULL, cancel_later, &c), 0);
    status = wait_for_end();
    took = worked_ms();
    pthread_join(thread, NULL);
    program_want(&p, status, EDDY_CANCELLED, EDDY_E_CANCELLED);
    return took - c.cancelled_at;
}

/* Of several tries the best counts: the first ones also load what they use. */
START_TEST(an_endless_loop_ends_soon_when_it_is_cancelled)
{
    double best = 1e9;

    program_init(&p, worker_counts[_i % 3]);
    plan_endless(_i / 3);
    program_make_run(&p);
    for (int try = 0; try < 5; try++) {
        const double took = cancel_endless(try * 5);

        ck_assert_double_lt(took, 10 * 1000);
        best = took < best ? took : best;
    }
    ck_assert_double_lt(best, program_is_release() ? 100 : 2000);
    program_deinit(&p);
}
END_TEST

START_TEST(an_endless_loop_ends_at_its_deadline)
{
    const double begun = now_ms();

    program_init(&p, worker_counts[_i % 3]);
    plan_endless(_i / 3);
    p.run_options.timeout_ns = 20 * 1000 * 1000;
    for (int again = 0; again < 2; again++) {
        program_want(&p, program_execute(&p), EDDY_DEADLINE_EXCEEDED,
                     EDDY_E_DEADLINE);
        ck_assert_double_ge(now_ms() - begun, 20);
    }
    program_deinit(&p);
}
END_TEST

START_TEST(an_endless_run_may_be_destroyed)
{
    program_init(&p, worker_counts[_i % 3]);
    plan_endless(_i / 3);
    start();
    eddy_run_destroy(p.run);
    p.run = NULL;
    start();
    sleep_ms(10);
    program_deinit(&p);
}
END_TEST

/* ---- when a cancel comes ---- */

static void plan_counter(void)
{
    eddy_output count;

    program_build(&p, "n ?int64\n");
    count = loops_counter(&p, program_output(&p, "n"));
    program_plan(&p, "n", eddy_graph_node_name(p.graph, count.node));
}

START_TEST(a_cancel_before_the_start_or_after_the_end_is_harmless)
{
    program_init(&p, worker_counts[_i]);
    plan_counter();
    program_feed_int(&p, 0, 100);
    eddy_run_cancel(p.run);
    program_run(&p);
    eddy_run_cancel(p.run);
    eddy_run_cancel(p.run);
    ck_assert_int_eq(wait_for_end(), EDDY_OK);
    ck_assert_int_eq(program_fetch_int(&p, 0), 100);
    program_run(&p);
    program_deinit(&p);
}
END_TEST

START_TEST(a_run_cancelled_before_its_first_poll_runs_nothing)
{
    program_init(&p, 0);
    probe_ops_register(&p);
    program_build(&p, "x int64=1\n"
                      "t Tick x\n");
    program_plan(&p, NULL, "t");
    start();
    eddy_run_cancel(p.run);
    eddy_run_cancel(p.run);
    while (!eddy_run_poll(p.run))
        ;
    program_want(&p, wait_for_end(), EDDY_CANCELLED, EDDY_E_CANCELLED);
    ck_assert_uint_eq(tick_count(), 0);
    program_run(&p);
    ck_assert_uint_eq(tick_count(), 1);
    program_deinit(&p);
}
END_TEST

/* Cancels at any moment, and twice; what is left must run again. */
START_TEST(a_cancelled_run_runs_again)
{
    program_init(&p, worker_counts[_i]);
    plan_counter();
    for (int i = 0; i < 40; i++) {
        eddy_status status;

        program_feed_int(&p, 0, 200 * 1000);
        start();
        for (volatile int spin = 0; spin < i * 1000; spin++)
            ;
        eddy_run_cancel(p.run);
        eddy_run_cancel(p.run);
        status = wait_for_end();
        ck_assert(status == EDDY_OK || status == EDDY_CANCELLED);
        program_feed_int(&p, 0, i);
        program_run(&p);
        ck_assert_int_eq(program_fetch_int(&p, 0), i);
    }
    program_deinit(&p);
}
END_TEST

/* No results of an earlier execution are left after a cancelled one. */
START_TEST(a_cancelled_run_has_no_fetches)
{
    program_init(&p, 0);
    plan_counter();
    program_feed_int(&p, 0, 10);
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 10);
    start();
    eddy_run_cancel(p.run);
    ck_assert_int_eq(wait_for_end(), EDDY_CANCELLED);
    ck_assert_ptr_null(eddy_run_fetch(p.run, 0));
    program_deinit(&p);
}
END_TEST

/* ---- deadlines ---- */

START_TEST(a_deadline_in_time_changes_nothing)
{
    static const uint64_t timeouts[] = {0, UINT64_MAX, UINT64_MAX - 1,
                                        600ull * 1000 * 1000 * 1000};

    for (size_t i = 0; i < sizeof timeouts / sizeof timeouts[0]; i++) {
        program_init(&p, worker_counts[_i]);
        plan_counter();
        p.run_options.timeout_ns = timeouts[i];
        program_feed_int(&p, 0, 1000);
        program_run(&p);
        program_deinit(&p);
    }
}
END_TEST

START_TEST(a_deadline_that_has_passed_at_once_ends_a_long_run)
{
    program_init(&p, worker_counts[_i]);
    plan_counter();
    p.run_options.timeout_ns = 1;
    program_feed_int(&p, 0, INT64_MAX);
    program_want(&p, program_execute(&p), EDDY_DEADLINE_EXCEEDED,
                 EDDY_E_DEADLINE);
    program_deinit(&p);
}
END_TEST

static void plan_hold(uint64_t timeout_ns)
{
    probe_ops_register(&p);
    program_build(&p, "x int64=1\n"
                      "h Hold x\n"
                      "y Neg h\n");
    program_plan(&p, NULL, "y");
    p.run_options.timeout_ns = timeout_ns;
}

/* Lets the node go as soon as it is told to stop. */
static void *let_go_when_told(void *arg)
{
    hold_await(1);
    while (!hold_is_cancelled(0))
        sleep_ms(1);
    hold_complete(0, EDDY_OK);
    return arg;
}

/* The run waits for a suspended node alone, and somebody for the run. */
START_TEST(a_deadline_passes_while_a_waiting_run_is_suspended)
{
    pthread_t thread;

    program_init(&p, worker_counts[_i]);
    plan_hold(200 * 1000 * 1000);
    start();
    ck_assert_int_eq(pthread_create(&thread, NULL, let_go_when_told, NULL), 0);
    program_want(&p, wait_for_end(), EDDY_DEADLINE_EXCEEDED, EDDY_E_DEADLINE);
    pthread_join(thread, NULL);
    program_deinit(&p);
}
END_TEST

/* Nobody waits: a worker looks at the clock, without workers a poll. */
START_TEST(a_deadline_passes_though_nobody_waits)
{
    const bool must_poll = worker_counts[_i] == 0;

    program_init(&p, worker_counts[_i]);
    plan_hold(200 * 1000 * 1000);
    start();
    if (must_poll)
        ck_assert(!eddy_run_poll(p.run));
    hold_await(1);
    while (!hold_is_cancelled(0)) {
        if (must_poll)
            ck_assert(!eddy_run_poll(p.run));
        sleep_ms(1);
    }
    hold_complete(0, EDDY_OK);
    program_want(&p, wait_for_end(), EDDY_DEADLINE_EXCEEDED, EDDY_E_DEADLINE);
    program_deinit(&p);
}
END_TEST

START_TEST(a_cancel_reaches_a_suspended_node)
{
    program_init(&p, worker_counts[_i]);
    plan_hold(0);
    start();
    while (hold_started() == 0)
        ck_assert(!eddy_run_poll(p.run));
    ck_assert(!hold_is_cancelled(0));
    eddy_run_cancel(p.run);
    ck_assert(hold_is_cancelled(0));
    ck_assert(!eddy_run_poll(p.run));
    hold_complete(0, EDDY_OK);
    program_want(&p, wait_for_end(), EDDY_CANCELLED, EDDY_E_CANCELLED);
    program_deinit(&p);
}
END_TEST

/* What the node says about why it gave up does not hide the cancel. */
START_TEST(a_node_that_fails_since_it_was_told_to_stop_is_no_error_of_its_own)
{
    program_init(&p, worker_counts[_i]);
    plan_hold(200 * 1000 * 1000);
    start();
    while (hold_started() == 0)
        ck_assert(!eddy_run_poll(p.run));
    while (!hold_is_cancelled(0)) {
        ck_assert(!eddy_run_poll(p.run));
        sleep_ms(1);
    }
    hold_complete(0, EDDY_CANCELLED);
    program_want(&p, wait_for_end(), EDDY_DEADLINE_EXCEEDED, EDDY_E_DEADLINE);
    program_deinit(&p);
}
END_TEST

/* Destroying waits for the suspended node, which another thread lets go. */
START_TEST(a_suspended_run_may_be_destroyed)
{
    pthread_t thread;

    program_init(&p, worker_counts[_i]);
    plan_hold(0);
    start();
    while (hold_started() == 0)
        ck_assert(!eddy_run_poll(p.run));
    ck_assert_int_eq(pthread_create(&thread, NULL, let_go_when_told, NULL), 0);
    program_deinit(&p);
    pthread_join(thread, NULL);
}
END_TEST

/* ---- the host's threads ---- */

static host_executor host;

static void init_hosted(uint32_t n_threads)
{
    eddy_context_options options = {0};

    host_executor_init(&host, n_threads);
    options.executor = host.executor;
    program_init_with(&p, &options);
    ck_assert_uint_eq(eddy_context_workers(p.ctx), 0);
}

static void deinit_hosted(void)
{
    program_deinit(&p);
    host_executor_deinit(&host);
}

START_TEST(runs_go_on_threads_of_the_host)
{
    init_hosted((uint32_t)_i);
    plan_counter();
    program_feed_int(&p, 0, 1000);
    for (int again = 0; again < 3; again++) {
        program_run(&p);
        ck_assert_int_eq(program_fetch_int(&p, 0), 1000);
    }
    ck_assert_uint_eq(host_executor_taken(&host), 3);
    deinit_hosted();
}
END_TEST

START_TEST(a_run_on_threads_of_the_host_can_be_cancelled)
{
    init_hosted(2);
    plan_endless(0);
    program_make_run(&p);
    cancel_endless(10);
    deinit_hosted();
}
END_TEST

START_TEST(a_run_that_the_host_refuses_is_driven_by_who_waits)
{
    init_hosted(1);
    plan_counter();
    host_executor_allow(&host, 0);
    program_feed_int(&p, 0, 10);
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 10);
    program_feed_int(&p, 0, 100 * 1000);
    start();
    while (!eddy_run_poll(p.run))
        ;
    ck_assert_int_eq(program_fetch_int(&p, 0), 100 * 1000);
    ck_assert_uint_eq(host_executor_taken(&host), 0);
    host_executor_allow(&host, -1);
    program_feed_int(&p, 0, 20);
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 20);
    ck_assert_uint_eq(host_executor_taken(&host), 1);
    deinit_hosted();
}
END_TEST

/* The host took the start, but refuses when the suspended node is done. */
START_TEST(a_run_that_the_host_refuses_later_is_driven_by_who_waits)
{
    init_hosted(1);
    plan_hold(0);
    host_executor_allow(&host, 1);
    start();
    hold_await(1);
    sleep_ms(20); /* for the driver to go to sleep */
    hold_complete(0, EDDY_OK);
    ck_assert_int_eq(wait_for_end(), EDDY_OK);
    ck_assert_int_eq(program_fetch_int(&p, 0), -1);
    deinit_hosted();
}
END_TEST

START_TEST(a_suspended_run_that_the_host_refuses_can_be_cancelled)
{
    init_hosted(1);
    plan_hold(0);
    host_executor_allow(&host, 1);
    start();
    hold_await(1);
    sleep_ms(20);
    eddy_run_cancel(p.run);
    hold_complete(0, EDDY_OK);
    program_want(&p, wait_for_end(), EDDY_CANCELLED, EDDY_E_CANCELLED);
    deinit_hosted();
}
END_TEST

/* Large kernels that could go to the host are run in place. */
START_TEST(kernels_that_the_host_refuses_are_run_in_place)
{
    init_hosted(2);
    program_build(&p, "x float32[50000]=1\n"
                      "a Neg x\n"
                      "b Neg x\n"
                      "c Neg a\n"
                      "d Neg b\n"
                      "e AddV2 c d\n");
    program_plan(&p, NULL, "e");
    host_executor_allow(&host, 1);
    program_run(&p);
    ck_assert_float_eq(program_fetch_float(&p, 0), 2);
    ck_assert_uint_eq(host_executor_taken(&host), 1);
    deinit_hosted();
}
END_TEST

/* ---- eddy's own threads ---- */

START_TEST(absurd_numbers_of_workers_give_fewer)
{
    eddy_context_options options = {.n_workers = UINT32_MAX};

    program_init_with(&p, &options);
    ck_assert_uint_ge(eddy_context_workers(p.ctx), 1);
    ck_assert_uint_le(eddy_context_workers(p.ctx), 1024);
    plan_counter();
    program_feed_int(&p, 0, 100);
    program_run(&p);
    program_deinit(&p);
}
END_TEST

/* With room for some stacks only, it goes on with those that it got. */
START_TEST(threads_that_cannot_be_started_are_done_without)
{
    const struct rlimit room = {.rlim_cur = (rlim_t)1 << 30,
                                .rlim_max = (rlim_t)1 << 30};
    const eddy_context_options options = {.n_workers = 64,
                                          .worker_stack = (size_t)64 << 20};

    if (!program_is_release())
        return;
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &room), 0);
    program_init_with(&p, &options);
    ck_assert_uint_ge(eddy_context_workers(p.ctx), 1);
    ck_assert_uint_lt(eddy_context_workers(p.ctx), 64);
    plan_counter();
    program_feed_int(&p, 0, 100);
    program_run(&p);
    program_deinit(&p);
}
END_TEST

START_TEST(without_any_thread_a_context_is_refused)
{
    const struct rlimit room = {.rlim_cur = (rlim_t)1 << 30,
                                .rlim_max = (rlim_t)1 << 30};
    eddy_context_options options = {.size = sizeof options,
                                    .n_workers = 4,
                                    .worker_stack = (size_t)2 << 30};
    counting_allocator counting;
    eddy_context *ctx;

    if (!program_is_release())
        return;
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &room), 0);
    counting_allocator_init(&counting);
    options.allocator = counting.allocator;
    ck_assert_int_eq(eddy_context_create(&options, &ctx, &p.err),
                     EDDY_UNAVAILABLE);
    ck_assert_int_eq(p.err.detail, EDDY_E_THREAD);
    ck_assert_ptr_null(ctx);
    counting_allocator_want_none(&counting);
}
END_TEST

START_TEST(context_options_of_an_unknown_size_are_refused)
{
    eddy_context_options options = {.size = sizeof options + 1};
    eddy_context *ctx;

    ck_assert_int_eq(eddy_context_create(&options, &ctx, &p.err),
                     EDDY_INVALID_ARGUMENT);
    ck_assert_ptr_null(ctx);
    options.size = 0;
    ck_assert_int_eq(eddy_context_create(&options, &ctx, &p.err),
                     EDDY_INVALID_ARGUMENT);
}
END_TEST

TCase *run_control_tests(void)
{
    TCase *tc = tcase_create("run_control");

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, an_endless_loop_ends_soon_when_it_is_cancelled, 0,
                        3 * N_ENDLESS);
    tcase_add_loop_test(tc, an_endless_loop_ends_at_its_deadline, 0,
                        3 * N_ENDLESS);
    tcase_add_loop_test(tc, an_endless_run_may_be_destroyed, 0, 3 * N_ENDLESS);
    tcase_add_loop_test(
        tc, a_cancel_before_the_start_or_after_the_end_is_harmless, 0, 3);
    tcase_add_test(tc, a_run_cancelled_before_its_first_poll_runs_nothing);
    tcase_add_loop_test(tc, a_cancelled_run_runs_again, 0, 3);
    tcase_add_test(tc, a_cancelled_run_has_no_fetches);
    tcase_add_loop_test(tc, a_deadline_in_time_changes_nothing, 0, 3);
    tcase_add_loop_test(tc, a_deadline_that_has_passed_at_once_ends_a_long_run,
                        0, 3);
    tcase_add_loop_test(tc, a_deadline_passes_while_a_waiting_run_is_suspended,
                        0, 3);
    tcase_add_loop_test(tc, a_deadline_passes_though_nobody_waits, 0, 3);
    tcase_add_loop_test(tc, a_cancel_reaches_a_suspended_node, 0, 3);
    tcase_add_loop_test(
        tc, a_node_that_fails_since_it_was_told_to_stop_is_no_error_of_its_own,
        0, 3);
    tcase_add_loop_test(tc, a_suspended_run_may_be_destroyed, 0, 3);
    tcase_add_loop_test(tc, runs_go_on_threads_of_the_host, 1, 3);
    tcase_add_test(tc, a_run_on_threads_of_the_host_can_be_cancelled);
    tcase_add_test(tc, a_run_that_the_host_refuses_is_driven_by_who_waits);
    tcase_add_test(tc,
                   a_run_that_the_host_refuses_later_is_driven_by_who_waits);
    tcase_add_test(tc, a_suspended_run_that_the_host_refuses_can_be_cancelled);
    tcase_add_test(tc, kernels_that_the_host_refuses_are_run_in_place);
    tcase_add_test(tc, absurd_numbers_of_workers_give_fewer);
    tcase_add_test(tc, threads_that_cannot_be_started_are_done_without);
    tcase_add_test(tc, without_any_thread_a_context_is_refused);
    tcase_add_test(tc, context_options_of_an_unknown_size_are_refused);
    return tc;
}
