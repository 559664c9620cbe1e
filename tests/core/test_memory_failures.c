/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The n-th allocation fails, for n = 0, 1, ... until none does: every call must
 * end in a clean error, nothing may be lost, and what is there must go on
 * working.  Tests run twice: with one allocation failing, and with all from the
 * n-th on.
 */
#include "tests/aid/probe_ops.h"
#include "tests/suites.h"

#include <stdlib.h>
#include <string.h>

#define MOST_ALLOCATIONS 20000
#define WIDTH 100

static program p;

static void setup(void)
{
    program_init(&p, 0);
}

static void teardown(void)
{
    program_deinit(&p);
}

static void let_fail(counting_allocator *counting, int n, bool for_good)
{
    ck_assert_int_lt(n, MOST_ALLOCATIONS);
    if (for_good)
        counting_allocator_allow(counting, n);
    else
        counting_allocator_fail(counting, n);
}

static void let_succeed(counting_allocator *counting)
{
    counting_allocator_allow(counting, -1);
    counting_allocator_fail(counting, -1);
}

/* False once the call has succeeded; any other failure fails the test. */
static bool has_failed(eddy_status status, const eddy_error *err)
{
    ck_assert_msg(status == EDDY_OK ||
                      (status == EDDY_RESOURCE_EXHAUSTED &&
                       err->code == status && err->detail == EDDY_E_MEMORY),
                  "%s %s: %s", eddy_status_name(status),
                  eddy_detail_name(err->detail), err->message);
    return status != EDDY_OK;
}

static long long held(void)
{
    return atomic_load(&p.counting.live_bytes);
}

/* ---- contexts and what they hold ---- */

START_TEST(a_context_is_made_whole_or_not_at_all)
{
    bool failed = true;

    for (int n = 0; failed; n++) {
        eddy_context_options options = {.size = sizeof options,
                                        .n_workers = (uint32_t)_i / 2};
        counting_allocator counting;
        eddy_context *ctx;
        eddy_error err;

        counting_allocator_init(&counting);
        options.allocator = counting.allocator;
        let_fail(&counting, n, _i % 2);
        failed = has_failed(eddy_context_create(&options, &ctx, &err), &err);
        ck_assert(failed == (ctx == NULL));
        eddy_context_destroy(ctx);
        counting_allocator_want_none(&counting);
    }
}
END_TEST

static eddy_status nothing(eddy_kernel *kernel)
{
    (void)kernel;
    return EDDY_OK;
}

START_TEST(an_op_is_registered_whole_or_not_at_all)
{
    const eddy_op_spec spec = {
        .size = sizeof spec,
        .name = "Some",
        .inputs = "x: N * T, y: float32",
        .outputs = "z: T",
        .attrs = "N: int >= 1, T: {float32, int64}, dims: list(int) = [1, 2]",
        .kernel = nothing,
    };
    bool failed = true;

    for (int n = 0; failed; n++) {
        let_fail(&p.counting, n, _i);
        failed = has_failed(eddy_op_register(p.ctx, &spec, &p.err), &p.err);
        let_succeed(&p.counting);
    }
    ck_assert_int_eq(eddy_op_register(p.ctx, &spec, &p.err),
                     EDDY_ALREADY_EXISTS);
}
END_TEST

START_TEST(a_session_is_made_or_not)
{
    eddy_session *session;

    let_fail(&p.counting, 0, _i);
    ck_assert(has_failed(eddy_session_create(p.ctx, &session, &p.err), &p.err));
    ck_assert_ptr_null(session);
    let_succeed(&p.counting);
    ck_assert_int_eq(eddy_session_create(p.ctx, &session, &p.err), EDDY_OK);
    eddy_session_release(session);
}
END_TEST

/* ---- graphs ---- */

/* A call that fails for want of memory is made again, and must succeed. */
#define PERSIST(call)                                                          \
    do {                                                                       \
        if (has_failed(call, &p.err)) {                                        \
            let_succeed(&p.counting);                                          \
            had_failed = true;                                                 \
            ck_assert_msg((call) == EDDY_OK, "%s", p.err.message);             \
        }                                                                      \
    } while (0)

/* Counts to 5; true if a call has failed. */
static bool build_stubbornly(eddy_output *out)
{
    static const eddy_string frame = {"loop", 4};
    const bool yes = true;
    const eddy_attr attrs[] = {eddy_attr_string("frame_name", &frame),
                               eddy_attr_bool("is_constant", &yes)};
    eddy_output zero, one, five, merge, less, branch, next, nodes[2];
    eddy_node_spec enter = {.size = sizeof enter,
                            .op = "Enter",
                            .inputs = &zero,
                            .n_inputs = 1,
                            .attrs = attrs,
                            .n_attrs = 1};
    eddy_node entered[3];
    eddy_tensor *tensor;
    bool had_failed = false;

    PERSIST(eddy_graph_add_scalar(p.graph, "zero", EDDY_INT64, &(int64_t){0},
                                  &zero, &p.err));
    PERSIST(eddy_graph_add_scalar(p.graph, NULL, EDDY_INT64, &(int64_t){1},
                                  &one, &p.err));
    PERSIST(eddy_tensor_create(p.ctx, EDDY_INT64, &(eddy_shape){.rank = 0},
                               &tensor, &p.err));
    *(int64_t *)eddy_tensor_mutable_data(tensor) = 5;
    PERSIST(eddy_graph_add_const(p.graph, "five", tensor, &five, &p.err));
    eddy_tensor_release(tensor);
    PERSIST(eddy_graph_add(p.graph, &enter, &entered[0], &p.err));
    enter.n_attrs = 2;
    enter.inputs = &one;
    PERSIST(eddy_graph_add(p.graph, &enter, &entered[1], &p.err));
    enter.inputs = &five;
    PERSIST(eddy_graph_add(p.graph, &enter, &entered[2], &p.err));
    nodes[0] = nodes[1] = (eddy_output){entered[0], 0};
    PERSIST(
        eddy_graph_add_op(p.graph, "Merge", "merge", nodes, 2, &merge, &p.err));
    nodes[0] = merge;
    nodes[1] = (eddy_output){entered[2], 0};
    PERSIST(eddy_graph_add_op(p.graph, "Less", NULL, nodes, 2, &less, &p.err));
    nodes[1] = less;
    PERSIST(
        eddy_graph_add_op(p.graph, "Switch", NULL, nodes, 2, &branch, &p.err));
    nodes[0] = (eddy_output){branch.node, 1};
    nodes[1] = (eddy_output){entered[1], 0};
    PERSIST(eddy_graph_add_op(p.graph, "AddV2", NULL, nodes, 2, &next, &p.err));
    PERSIST(eddy_graph_add_op(p.graph, "NextIteration", NULL, &next, 1, &next,
                              &p.err));
    PERSIST(eddy_graph_set_input(p.graph, merge.node, 1, next, &p.err));
    PERSIST(eddy_graph_add_control(p.graph, next.node, less.node, &p.err));
    PERSIST(eddy_graph_add_op(p.graph, "Exit", "out", &branch, 1, out, &p.err));
    return had_failed;
}

START_TEST(a_graph_goes_on_after_a_call_that_failed)
{
    bool failed = true;

    for (int n = 0; failed; n++) {
        const long long before = held();
        eddy_output out;

        eddy_graph_destroy(p.graph);
        ck_assert_int_eq(eddy_graph_create(p.ctx, &p.graph, &p.err), EDDY_OK);
        let_fail(&p.counting, n, _i);
        failed = build_stubbornly(&out);
        let_succeed(&p.counting);
        ck_assert_uint_eq(eddy_graph_size(p.graph), 12);
        program_plan_outputs(&p, &out, 1);
        program_run(&p);
        ck_assert_int_eq(program_fetch_int(&p, 0), 5);
        program_clear(&p);
        ck_assert_int_eq(held(), before);
    }
}
END_TEST

START_TEST(a_graph_is_created_or_not)
{
    bool failed = true;

    for (int n = 0; failed; n++) {
        const long long before = held();
        eddy_graph *graph = NULL;

        let_fail(&p.counting, n, _i);
        failed = has_failed(eddy_graph_create(p.ctx, &graph, &p.err), &p.err);
        let_succeed(&p.counting);
        eddy_graph_destroy(graph);
        ck_assert_int_eq(held(), before);
    }
}
END_TEST

/* ---- plans and runs ---- */

/* Two loops, a branch, and a vector that goes through all of it. */
static void build_everything(void)
{
    program_build(&p, "x ?float32[100]\n"
                      "zero int64=0\n"
                      "one int64=1\n"
                      "n int64=3\n"
                      "f float32[100]=0.5\n"
                      "a/i Enter@a zero\n"
                      "a/x Enter@a x\n"
                      "a/one Enter@a! one\n"
                      "a/n Enter@a! n\n"
                      "a/f Enter@a! f\n"
                      "a/i/m Merge a/i a/i/n\n"
                      "a/x/m Merge a/x a/x/n\n"
                      "a/less Less a/i/m a/n\n"
                      "a/cond LoopCond a/less\n"
                      "a/i/s Switch a/i/m a/cond\n"
                      "a/x/s Switch a/x/m a/cond\n"
                      "a/body Identity a/i/s:1\n"
                      "b/i Enter@b#2 a/i/s:1\n"
                      "b/x Enter@b#2 a/x/s:1\n"
                      "b/one Enter@b!#2 a/one ^a/body\n"
                      "b/n Enter@b!#2 a/n ^a/body\n"
                      "b/f Enter@b!#2 a/f ^a/body\n"
                      "b/i/m Merge b/i b/i/n\n"
                      "b/x/m Merge b/x b/x/n\n"
                      "b/less Less b/i/m b/n\n"
                      "b/cond LoopCond b/less\n"
                      "b/i/s Switch b/i/m b/cond\n"
                      "b/x/s Switch b/x/m b/cond\n"
                      "b/first Less b/i/s:1 b/one\n"
                      "b/y Switch b/x/s:1 b/first\n"
                      "b/g Switch b/f b/first\n"
                      "b/mul Mul b/y:1 b/g:1\n"
                      "b/neg Neg b/y\n"
                      "b/z Merge b/neg b/mul\n"
                      "b/w AddV2 b/z b/x/s:1\n"
                      "b/j AddV2 b/i/s:1 b/one\n"
                      "b/i/n NextIteration b/j\n"
                      "b/x/n NextIteration b/w\n"
                      "b/out Exit b/x/s\n"
                      "a/j AddV2 a/i/s:1 a/one\n"
                      "a/i/n NextIteration a/j\n"
                      "a/x/n NextIteration b/out\n"
                      "a/out Exit a/x/s\n"
                      "y AddV2 a/out x\n");
}

/* The same in C: i of the inner loop starts at that of the outer. */
static float compute(float x)
{
    float v = x;

    for (int i = 0; i < 3; i++)
        for (int j = i; j < 3; j++)
            v = (j < 1 ? v * 0.5f : -v) + v;
    return v + x;
}

static void want_right_values(void)
{
    const float *y = eddy_tensor_data(eddy_run_fetch(p.run, 0));

    for (int i = 0; i < WIDTH; i++)
        ck_assert_msg(y[i] == compute((float)i), "element %d", i);
}

static void feed_everything(void)
{
    float x[WIDTH];

    for (int i = 0; i < WIDTH; i++)
        x[i] = (float)i;
    program_feed_floats(&p, 0, x, WIDTH);
}

START_TEST(a_plan_is_made_whole_or_not_at_all)
{
    bool failed = true;

    build_everything();
    for (int n = 0; failed; n++) {
        const long long before = held();

        let_fail(&p.counting, n, _i);
        failed = has_failed(program_try_plan(&p, "x", "y"), &p.err);
        let_succeed(&p.counting);
        if (failed) {
            ck_assert_ptr_null(p.plan);
            ck_assert_int_eq(held(), before);
        }
    }
    feed_everything();
    program_run(&p);
    want_right_values();
}
END_TEST

START_TEST(a_run_is_created_or_not)
{
    bool failed = true;

    build_everything();
    program_plan(&p, "x", "y");
    for (int n = 0; failed; n++) {
        const long long before = held();
        eddy_run *run = NULL;

        let_fail(&p.counting, n, _i);
        failed =
            has_failed(eddy_run_create(p.plan, NULL, &run, &p.err), &p.err);
        let_succeed(&p.counting);
        ck_assert(failed == (run == NULL));
        eddy_run_destroy(run);
        ck_assert_int_eq(held(), before);
    }
}
END_TEST

/* A new run each time, so that nothing is cached; it must go on afterwards. */
static void try_new_runs(bool for_good)
{
    bool failed = true;

    for (int n = 0; failed; n++) {
        const long long before = held();

        program_make_run(&p);
        feed_everything();
        let_fail(&p.counting, n, for_good);
        failed = has_failed(program_execute(&p), &p.err);
        let_succeed(&p.counting);
        if (failed) {
            ck_assert_ptr_null(eddy_run_fetch(p.run, 0));
            program_run(&p);
        }
        want_right_values();
        eddy_run_destroy(p.run);
        p.run = NULL;
        ck_assert_int_eq(held(), before);
    }
}

START_TEST(an_execution_without_memory_is_an_error_and_runs_again)
{
    p.plan_options.parallel_iterations = 1 + _i / 2;
    build_everything();
    program_plan(&p, "x", "y");
    try_new_runs(_i % 2);
}
END_TEST

/*
 * The same run all the time: it goes on with what it could get before.  A heap
 * gives back what it has cached before it fails, so each time it must get more
 * than the one block that it may have cached by then.
 */
START_TEST(a_run_may_get_its_memory_bit_by_bit)
{
    bool failed = true;

    build_everything();
    program_plan(&p, "x", "y");
    program_make_run(&p);
    feed_everything();
    for (int n = 0; failed; n++) {
        let_fail(&p.counting, 2, _i);
        failed = has_failed(program_execute(&p), &p.err);
        let_succeed(&p.counting);
        ck_assert_int_lt(n, 1000);
    }
    want_right_values();
}
END_TEST

START_TEST(a_plan_run_once_without_memory_leaves_nothing)
{
    eddy_tensor *value, *feed;
    const eddy_shape shape = {.rank = 1, .dims = {WIDTH}};
    float x[WIDTH] = {0};
    bool failed = true;

    build_everything();
    program_plan(&p, "x", "y");
    feed = program_tensor(&p, EDDY_FLOAT32, &shape, x);
    for (int n = 0; failed; n++) {
        const long long before = held();

        let_fail(&p.counting, n, _i);
        failed = has_failed(eddy_plan_run(p.plan, NULL, &feed, &value, &p.err),
                            &p.err);
        let_succeed(&p.counting);
        ck_assert(failed == (value == NULL));
        eddy_tensor_release(value);
        ck_assert_int_eq(held(), before);
    }
    eddy_tensor_release(feed);
}
END_TEST

/* Suspended nodes, and kernels on other workers, allocate too. */
START_TEST(an_execution_on_workers_without_memory_is_an_error)
{
    const uint32_t n_workers[] = {0, 1, 3};

    program_deinit(&p);
    program_init(&p, n_workers[_i / 2]);
    probe_ops_register(&p);
    program_build(&p, "x ?float32[20000]\n"
                      "a Later x\n"
                      "b Neg x\n"
                      "c Neg a\n"
                      "d Neg b\n"
                      "e AddV2 c d\n"
                      "f Later e\n"
                      "g Mul e x\n"
                      "h AddV2 f g\n");
    program_plan(&p, "x", "h");
    later_start(0, 0);
    for (int n = 0, failed = true; failed; n++) {
        static float x[20000];

        for (int i = 0; i < 20000; i++)
            x[i] = 3;
        program_feed_floats(&p, 0, x, 20000);
        let_fail(&p.counting, n, _i % 2);
        failed = has_failed(program_execute(&p), &p.err);
        let_succeed(&p.counting);
        if (failed)
            program_run(&p);
        ck_assert_float_eq(program_fetch_float(&p, 0), 0);
        eddy_run_destroy(p.run);
        p.run = NULL;
    }
    later_stop();
}
END_TEST

/* The search for the cause needs memory; without, there is just no cause. */
START_TEST(a_dead_fetch_is_told_without_its_cause_if_need_be)
{
    bool is_whole = false;

    program_build(&p, "x int64=7\n"
                      "no bool=0\n"
                      "s Switch x no\n"
                      "d Neg s:1\n");
    program_plan(&p, NULL, "d");
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT,
                 EDDY_E_FETCH_DEAD);
    for (int n = 0; !is_whole; n++) {
        let_fail(&p.counting, n, _i);
        program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT,
                     EDDY_E_FETCH_DEAD);
        let_succeed(&p.counting);
        is_whole = strcmp(p.err.cause, "Switch 's' took port 0") == 0;
        ck_assert(is_whole || p.err.cause[0] == '\0');
        ck_assert(is_whole == (n == 2));
    }
}
END_TEST

TCase *memory_failures_tests(void)
{
    TCase *tc = tcase_create("memory_failures");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, a_context_is_made_whole_or_not_at_all, 0, 6);
    tcase_add_loop_test(tc, an_op_is_registered_whole_or_not_at_all, 0, 2);
    tcase_add_loop_test(tc, a_session_is_made_or_not, 0, 2);
    tcase_add_loop_test(tc, a_graph_goes_on_after_a_call_that_failed, 0, 2);
    tcase_add_loop_test(tc, a_graph_is_created_or_not, 0, 2);
    tcase_add_loop_test(tc, a_plan_is_made_whole_or_not_at_all, 0, 2);
    tcase_add_loop_test(tc, a_run_is_created_or_not, 0, 2);
    tcase_add_loop_test(
        tc, an_execution_without_memory_is_an_error_and_runs_again, 0, 6);
    tcase_add_loop_test(tc, a_run_may_get_its_memory_bit_by_bit, 0, 2);
    tcase_add_loop_test(tc, a_plan_run_once_without_memory_leaves_nothing, 0,
                        2);
    tcase_add_loop_test(tc, an_execution_on_workers_without_memory_is_an_error,
                        0, 6);
    tcase_add_loop_test(tc, a_dead_fetch_is_told_without_its_cause_if_need_be,
                        0, 2);
    return tc;
}
