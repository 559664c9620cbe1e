/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that suspend: how many at once, who completes them, how they fail. */
#include "tests/aid/loops.h"
#include "tests/aid/probe_ops.h"
#include "tests/suites.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static program p;

static const uint32_t worker_counts[] = {0, 1, 2, 4};

static void sleep_ms(long ms)
{
    const struct timespec time = {.tv_sec = ms / 1000,
                                  .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&time, NULL);
}

static void begin(uint32_t n_workers)
{
    program_init(&p, n_workers);
    probe_ops_register(&p);
}

static void start(void)
{
    program_make_run(&p);
    ck_assert_int_eq(eddy_run_start(p.run, &p.err), EDDY_OK);
}

/* Without workers somebody has to poll; with them that changes nothing. */
static void poll_until_started(uint32_t n)
{
    while (hold_started() < n)
        ck_assert(!eddy_run_poll(p.run));
    hold_await(n);
}

/* sum = 0; for i < trips: sum += op(i), with that many at once. */
static void plan_sum(const char *op, int64_t trips, int64_t parallel)
{
    const eddy_output zero = program_int(&p, 0), initial[] = {zero, zero};
    loop l = {.p = &p, .frame = "w", .parallel_iterations = parallel};
    eddy_output next[2];

    loop_begin(&l, initial, 2);
    loop_while(&l, program_binary(&p, "Less", l.merge[0],
                                  loop_invariant(&l, program_int(&p, trips))));
    next[0] = program_binary(&p, "AddV2", l.inside[0],
                             loop_invariant(&l, program_int(&p, 1)));
    next[1] = program_binary(&p, "AddV2", l.inside[1],
                             program_unary(&p, op, l.inside[0]));
    loop_end(&l, next);
    program_plan_outputs(&p, &l.exit[1], 1);
}

/* ---- how many at once ---- */

START_TEST(exactly_parallel_iterations_are_in_flight)
{
    begin(worker_counts[_i]);
    plan_sum("Hold", 320, 32);
    start();
    poll_until_started(32);
    for (int i = 0; i < 20; i++) {
        ck_assert(!eddy_run_poll(p.run));
        sleep_ms(1);
    }
    ck_assert_uint_eq(hold_started(), 32);
    ck_assert_uint_eq(hold_open(), 32);
    while (!eddy_run_poll(p.run)) {
        ck_assert_uint_le(hold_open(), 32);
        hold_complete_all(EDDY_OK);
    }
    ck_assert_int_eq(eddy_run_wait(p.run, &p.err), EDDY_OK);
    ck_assert_int_eq(program_fetch_int(&p, 0), 319 * 320 / 2);
    ck_assert_uint_eq(program_stats(&p).peak_suspended, 32);
    ck_assert_uint_eq(hold_started(), 320);
    program_deinit(&p);
}
END_TEST

/*
 * 320 nodes of ten milliseconds, 32 at once: one by one they would take above
 * three seconds.
 */
START_TEST(suspended_nodes_wait_side_by_side)
{
    begin(worker_counts[_i]);
    plan_sum("Later", 320, 32);
    later_start(10 * 1000 * 1000, 10 * 1000 * 1000);
    program_run(&p);
    later_stop();
    ck_assert_int_eq(program_fetch_int(&p, 0), 319 * 320 / 2);
    ck_assert_uint_eq(later_started(), 320);
    ck_assert_uint_le(later_peak(), 32);
    ck_assert_uint_le(program_stats(&p).peak_suspended, 32);
    if (program_is_release())
        ck_assert_uint_gt(later_peak(), 16);
    program_deinit(&p);
}
END_TEST

/* ---- completing ---- */

START_TEST(completions_may_come_in_any_order)
{
    begin(worker_counts[_i % 4]);
    plan_sum("Later", 100, 1 + _i);
    later_start(0, 300 * 1000);
    for (int again = 0; again < 3; again++) {
        program_run(&p);
        ck_assert_int_eq(program_fetch_int(&p, 0), 99 * 100 / 2);
        ck_assert_uint_le(program_stats(&p).peak_suspended, 1 + (uint32_t)_i);
    }
    later_stop();
    program_deinit(&p);
}
END_TEST

static eddy_status complete_at_once(eddy_kernel *kernel)
{
    eddy_kernel *suspended = eddy_kernel_suspend(kernel);
    eddy_tensor *x = eddy_kernel_input_tensor(suspended, 0);
    eddy_status status = eddy_kernel_output_tensor(suspended, 0, x);

    eddy_tensor_release(x);
    eddy_kernel_complete(suspended, status);
    return EDDY_OK;
}

/* The second time there is nothing to suspend. */
static eddy_status suspend_twice(eddy_kernel *kernel)
{
    eddy_kernel *suspended = eddy_kernel_suspend(kernel);
    const bool again = eddy_kernel_suspend(kernel) != NULL ||
                       eddy_kernel_suspend(suspended) != NULL;
    eddy_tensor *x = eddy_kernel_input_tensor(suspended, 0);
    eddy_status status = eddy_kernel_output_tensor(suspended, 0, x);

    eddy_tensor_release(x);
    eddy_kernel_complete(suspended, again ? EDDY_INTERNAL : status);
    return EDDY_OK;
}

/* Without the flag of the op it is not allowed. */
static eddy_status suspend_undeclared(eddy_kernel *kernel)
{
    if (!eddy_kernel_suspend(kernel))
        return eddy_kernel_fail(kernel, EDDY_FAILED_PRECONDITION,
                                EDDY_E_ARGUMENT, "not asynchronous");
    return EDDY_OK;
}

static eddy_status complete_unset(eddy_kernel *kernel)
{
    eddy_kernel_complete(eddy_kernel_suspend(kernel), EDDY_OK);
    return EDDY_OK;
}

static void register_kernel(const char *name, eddy_kernel_fn kernel,
                            uint32_t flags)
{
    const eddy_op_spec spec = {
        .size = sizeof spec,
        .name = name,
        .inputs = "x: T",
        .outputs = "y: T",
        .attrs = "T: type",
        .kernel = kernel,
        .flags = flags,
    };

    ck_assert_int_eq(eddy_op_register(p.ctx, &spec, &p.err), EDDY_OK);
}

START_TEST(a_node_may_complete_before_its_kernel_returns)
{
    begin(worker_counts[_i]);
    register_kernel("AtOnce", complete_at_once, EDDY_OP_ASYNC);
    plan_sum("AtOnce", 1000, 10);
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 999 * 1000 / 2);
    program_deinit(&p);
}
END_TEST

START_TEST(a_node_suspends_only_once)
{
    begin(0);
    register_kernel("Twice", suspend_twice, EDDY_OP_ASYNC);
    plan_sum("Twice", 10, 10);
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 45);
    program_deinit(&p);
}
END_TEST

START_TEST(a_node_of_an_op_that_is_not_asynchronous_can_not_suspend)
{
    begin(0);
    register_kernel("Undeclared", suspend_undeclared, 0);
    plan_sum("Undeclared", 10, 10);
    program_want(&p, program_execute(&p), EDDY_FAILED_PRECONDITION,
                 EDDY_E_ARGUMENT);
    program_deinit(&p);
}
END_TEST

START_TEST(a_completion_with_an_output_unset_is_an_error)
{
    begin(worker_counts[_i]);
    register_kernel("Unset", complete_unset, EDDY_OP_ASYNC);
    plan_sum("Unset", 10, 10);
    program_want(&p, program_execute(&p), EDDY_INTERNAL, EDDY_E_OUTPUT_MISSING);
    ck_assert_str_eq(p.err.op, "Unset");
    ck_assert_str_eq(p.err.frame, "w[0]");
    program_deinit(&p);
}
END_TEST

/* Its inputs are its own, whatever becomes of the iteration they are from. */
START_TEST(a_suspended_node_keeps_its_inputs)
{
    begin(0);
    program_build(&p, "x ?float32[1000]\n"
                      "y Neg x\n"
                      "h Hold y\n"
                      "z Neg y\n"
                      "u Neg z\n"
                      "v AddV2 h u\n");
    program_plan(&p, "x", "v h z");
    program_feed_floats(&p, 0, (float[1000]){1}, 1000);
    start();
    ck_assert(!eddy_run_poll(p.run));
    hold_complete(0, EDDY_OK);
    ck_assert_int_eq(eddy_run_wait(p.run, &p.err), EDDY_OK);
    ck_assert_float_eq(program_fetch_float(&p, 0), -2);
    ck_assert_float_eq(program_fetch_float(&p, 1), -1);
    ck_assert_float_eq(program_fetch_float(&p, 2), 1);
    program_deinit(&p);
}
END_TEST

START_TEST(a_dead_node_is_not_started)
{
    begin(0);
    program_build(&p, "x int64=1\n"
                      "no bool=0\n"
                      "s Switch x no\n"
                      "h Hold s:1\n"
                      "m Merge h s\n");
    program_plan(&p, NULL, "m m:1");
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 1), 1);
    ck_assert_uint_eq(hold_started(), 0);
    program_deinit(&p);
}
END_TEST

/* ---- failing ---- */

START_TEST(a_completion_may_fail)
{
    begin(worker_counts[_i]);
    plan_sum("Hold", 20, 4);
    for (int again = 0; again < 2; again++) {
        const uint32_t before = hold_started();

        start();
        poll_until_started(before + 4);
        hold_complete(before + 2, EDDY_DATA_LOSS);
        /* The others are still to come, and nothing starts any more. */
        for (int i = 0; i < 10; i++) {
            ck_assert(!eddy_run_poll(p.run));
            sleep_ms(1);
        }
        ck_assert_uint_eq(hold_complete_all(EDDY_OK), 3);
        program_want(&p, eddy_run_wait(p.run, &p.err), EDDY_DATA_LOSS,
                     EDDY_E_VALUE);
        ck_assert_str_eq(p.err.op, "Hold");
        ck_assert_str_eq(p.err.frame, "w[2]");
        ck_assert_str_eq(p.err.message, "the test let it fail");
        ck_assert_uint_eq(hold_started(), before + 4);
    }
    program_deinit(&p);
}
END_TEST

/* An endless loop of cheap nodes does not keep a failure from being heard. */
START_TEST(a_failure_is_heard_beside_an_endless_loop)
{
    begin(worker_counts[_i]);
    program_build(&p, "x int64=1\n"
                      "yes bool=1\n"
                      "e Enter@w x\n"
                      "y Enter@w! yes\n"
                      "m Merge e n\n"
                      "s Switch m y\n"
                      "n NextIteration s:1\n"
                      "out Exit s\n"
                      "l Later x\n"
                      "zero Sub l x\n"
                      "bad FloorDiv x zero\n");
    program_plan(&p, NULL, "out bad");
    later_start(1000 * 1000, 1000 * 1000);
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT,
                 EDDY_E_DIVISION_BY_ZERO);
    later_stop();
    program_deinit(&p);
}
END_TEST

/* ---- cancelling ---- */

START_TEST(no_node_starts_after_a_cancel)
{
    begin(worker_counts[_i]);
    plan_sum("Hold", 320, 32);
    start();
    poll_until_started(32);
    eddy_run_cancel(p.run);
    ck_assert_uint_eq(hold_complete_all(EDDY_OK), 32);
    program_want(&p, eddy_run_wait(p.run, &p.err), EDDY_CANCELLED,
                 EDDY_E_CANCELLED);
    ck_assert_uint_eq(hold_started(), 32);
    program_deinit(&p);
}
END_TEST

/* Completions come before, while and after the run is cancelled. */
START_TEST(completions_may_race_with_a_cancel)
{
    begin(worker_counts[_i]);
    plan_sum("Later", 1000, 8);
    later_start(0, 100 * 1000);
    for (int i = 0; i < 30; i++) {
        eddy_status status;

        start();
        for (int poll = 0; poll < i; poll++)
            eddy_run_poll(p.run);
        eddy_run_cancel(p.run);
        status = eddy_run_wait(p.run, &p.err);
        if (status != EDDY_OK) /* it may have been quicker */
            program_want(&p, status, EDDY_CANCELLED, EDDY_E_CANCELLED);
    }
    later_stop();
    program_deinit(&p);
}
END_TEST

static eddy_run *to_cancel;

/* Cancels its own run at its hundredth execution. */
static eddy_status cancel_own_run(eddy_kernel *kernel)
{
    static atomic_uint n;
    eddy_tensor *x = eddy_kernel_input_tensor(kernel, 0);
    eddy_status status = eddy_kernel_output_tensor(kernel, 0, x);

    eddy_tensor_release(x);
    if (atomic_fetch_add(&n, 1) == 99)
        eddy_run_cancel(to_cancel);
    return status;
}

/* A scalar loop goes on for a few hundred nodes, a kernel not at all. */
START_TEST(few_nodes_run_after_a_cancel)
{
    begin(worker_counts[_i]);
    register_kernel("CancelOwn", cancel_own_run, EDDY_OP_STATEFUL);
    plan_sum("CancelOwn", 1000 * 1000, 1);
    program_make_run(&p);
    to_cancel = p.run;
    program_want(&p, program_execute(&p), EDDY_CANCELLED, EDDY_E_CANCELLED);
    ck_assert_uint_ge(program_stats(&p).iterations, 99);
    ck_assert_uint_le(program_stats(&p).iterations, 102);
    program_deinit(&p);
}
END_TEST

/* ---- the end of a run ---- */

/* What completes the last node may not touch the run any more after that. */
START_TEST(a_run_may_be_destroyed_as_soon_as_a_wait_returns)
{
    const int n = (int)program_scale(3000, 500);

    begin(worker_counts[_i]);
    plan_sum("Later", 1, 1);
    later_start(0, 20 * 1000);
    for (int i = 0; i < n; i++) {
        program_run(&p);
        eddy_run_destroy(p.run);
        p.run = NULL;
    }
    later_stop();
    program_deinit(&p);
}
END_TEST

static void *complete_first(void *unused)
{
    (void)unused;
    hold_complete(0, EDDY_OK);
    return NULL;
}

static void *complete_second(void *unused)
{
    (void)unused;
    hold_complete(1, EDDY_OK);
    return NULL;
}

/*
 * Nor may it touch the workers, which are gone with the context.  Two threads
 * of the host complete a node each while the run ends and all is destroyed.
 */
static void end_under_completions(uint32_t n_workers, bool cancels)
{
    pthread_t first, second;

    begin(n_workers);
    program_build(&p, "x int64=7\na Hold x\nb Hold x\ny AddV2 a b");
    program_plan(&p, NULL, "y");
    start();
    poll_until_started(2);
    ck_assert_int_eq(pthread_create(&first, NULL, complete_first, NULL), 0);
    ck_assert_int_eq(pthread_create(&second, NULL, complete_second, NULL), 0);
    if (cancels)
        eddy_run_cancel(p.run);
    else
        ck_assert_int_eq(eddy_run_wait(p.run, &p.err), EDDY_OK);
    program_deinit(&p);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
}

START_TEST(a_context_may_be_destroyed_as_soon_as_its_runs_are)
{
    const int n = (int)program_scale(200, 60);

    for (int i = 0; i < n; i++)
        end_under_completions(worker_counts[_i], i % 2 == 1);
}
END_TEST

TCase *async_tests(void)
{
    TCase *tc = tcase_create("async");

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, exactly_parallel_iterations_are_in_flight, 0, 4);
    tcase_add_loop_test(tc, suspended_nodes_wait_side_by_side, 0, 4);
    tcase_add_loop_test(tc, completions_may_come_in_any_order, 0, 12);
    tcase_add_loop_test(tc, a_node_may_complete_before_its_kernel_returns, 0,
                        4);
    tcase_add_test(tc, a_node_suspends_only_once);
    tcase_add_test(tc,
                   a_node_of_an_op_that_is_not_asynchronous_can_not_suspend);
    tcase_add_loop_test(tc, a_completion_with_an_output_unset_is_an_error, 0,
                        4);
    tcase_add_test(tc, a_suspended_node_keeps_its_inputs);
    tcase_add_test(tc, a_dead_node_is_not_started);
    tcase_add_loop_test(tc, a_completion_may_fail, 0, 4);
    tcase_add_loop_test(tc, a_failure_is_heard_beside_an_endless_loop, 0, 4);
    tcase_add_loop_test(tc, no_node_starts_after_a_cancel, 0, 4);
    tcase_add_loop_test(tc, completions_may_race_with_a_cancel, 0, 4);
    tcase_add_loop_test(tc, few_nodes_run_after_a_cancel, 0, 4);
    tcase_add_loop_test(tc, a_run_may_be_destroyed_as_soon_as_a_wait_returns, 0,
                        4);
    tcase_add_loop_test(tc, a_context_may_be_destroyed_as_soon_as_its_runs_are,
                        0, 4);
    return tc;
}
