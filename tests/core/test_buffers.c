/* SPDX-License-Identifier: Apache-2.0 */
/* Whose memory a run uses: buffers handed on, feeds, fetches, allocations. */
#include "tests/aid/loops.h"
#include "tests/suites.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WIDTH 1000

static program p;

static void setup(void)
{
    program_init(&p, 0);
}

static void teardown(void)
{
    program_deinit(&p);
}

static void execute_again(void)
{
    ck_assert_int_eq(eddy_run_execute(p.run, &p.err), EDDY_OK);
}

/* ---- allocations ---- */

START_TEST(a_counter_allocates_nothing_in_its_second_execution)
{
    const eddy_output n = loops_counter(&p, program_int(&p, 10000));

    program_plan_outputs(&p, &n, 1);
    program_run(&p);
    ck_assert_uint_lt(program_stats(&p).allocations, 32);
    for (int again = 0; again < 3; again++) {
        execute_again();
        ck_assert_int_eq(program_fetch_int(&p, 0), 10000);
        ck_assert_uint_eq(program_stats(&p).allocations, 0);
        ck_assert_uint_eq(program_stats(&p).iterations, 10001);
    }
}
END_TEST

/* Nested: frames begin and end all the time. */
START_TEST(nested_loops_allocate_nothing_in_their_second_execution)
{
    const eddy_output n = loops_nested(&p, 3, program_int(&p, 9));

    p.plan_options.parallel_iterations = _i;
    program_plan_outputs(&p, &n, 1);
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 729);
    if (_i == 1)
        ck_assert_uint_lt(program_stats(&p).allocations, 64);
    execute_again();
    ck_assert_int_eq(program_fetch_int(&p, 0), 729);
    ck_assert_uint_eq(program_stats(&p).allocations, 0);
}
END_TEST

START_TEST(a_branch_in_a_loop_allocates_nothing_in_its_second_execution)
{
    const eddy_output s =
        loops_conditional(&p, program_int(&p, 1000), program_int(&p, 500));

    program_plan_outputs(&p, &s, 1);
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 499 * 500 / 2 - 500 * 500);
    execute_again();
    ck_assert_int_eq(program_fetch_int(&p, 0), 499 * 500 / 2 - 500 * 500);
    ck_assert_uint_eq(program_stats(&p).allocations, 0);
}
END_TEST

/* What a loop needs does not grow with its trips. */
START_TEST(a_longer_loop_allocates_no_more)
{
    const int64_t most = (int64_t)program_scale(1000, 100);
    uint64_t allocations[2];

    for (int i = 0; i < 2; i++) {
        eddy_output v[5];

        program_clear(&p);
        loops_accumulator(&p, program_int(&p, i == 0 ? 100 : 100 * most), 5, v);
        program_plan_outputs(&p, v, 5);
        program_run(&p);
        allocations[i] = program_stats(&p).allocations;
    }
    ck_assert_uint_eq(allocations[0], allocations[1]);
}
END_TEST

/* x = x * f + x, in C as the loop does it. */
static float step_often(float x, float f, int trips)
{
    for (int i = 0; i < trips; i++) {
        const float product = x * f;

        x = product + x;
    }
    return x;
}

static void build_elementwise(int trips)
{
    char text[128];
    eddy_output x;

    snprintf(text, sizeof text,
             "x ?float32[%d]\n"
             "f float32=0.001\n"
             "n int64=%d\n",
             WIDTH, trips);
    program_build(&p, text);
    x = loops_elementwise(&p, program_output(&p, "x"), program_output(&p, "f"),
                          program_output(&p, "n"));
    program_plan(&p, "x", eddy_graph_node_name(p.graph, x.node));
}

START_TEST(elementwise_steps_of_a_loop_reuse_their_buffers)
{
    float x[WIDTH];

    for (int i = 0; i < WIDTH; i++)
        x[i] = (float)i;
    build_elementwise(1000);
    program_feed_floats(&p, 0, x, WIDTH);
    for (int again = 0; again < 2; again++) {
        const float *got;

        program_run(&p);
        got = eddy_tensor_data(eddy_run_fetch(p.run, 0));
        for (int i = 0; i < WIDTH; i++)
            ck_assert(got[i] == step_often(x[i], 0.001f, 1000));
        if (again == 0)
            ck_assert_uint_lt(program_stats(&p).allocations, 32);
        else
            ck_assert_uint_eq(program_stats(&p).allocations, 0);
        /* A few buffers of 4000 bytes, and the run itself. */
        ck_assert_uint_lt(program_stats(&p).peak_bytes, 64 * 1024);
    }
}
END_TEST

/* Resident bytes of this process. */
static long long resident(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long long total, pages;

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%lld %lld", &total, &pages), 2);
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

START_TEST(ten_million_iterations_grow_the_process_by_less_than_a_mebibyte)
{
    const int64_t n = (int64_t)program_scale(10 * 1000 * 1000, 50 * 1000);
    eddy_output count;
    long long before;

    program_build(&p, "n ?int64\n");
    count = loops_counter(&p, program_output(&p, "n"));
    program_plan(&p, "n", eddy_graph_node_name(p.graph, count.node));
    program_feed_int(&p, 0, 1000);
    program_run(&p);
    program_feed_int(&p, 0, n);
    before = resident();
    program_run(&p);
    if (program_is_release())
        ck_assert_int_lt(resident() - before, 1 << 20);
    ck_assert_int_eq(program_fetch_int(&p, 0), n);
    ck_assert_uint_eq(program_stats(&p).iterations, (uint64_t)n + 1);
    ck_assert_uint_eq(program_stats(&p).allocations, 0);
}
END_TEST

/* ---- feeds ---- */

START_TEST(kernels_do_not_write_into_feeds)
{
    float x[WIDTH], copy[WIDTH];
    eddy_shape shape = {.rank = 1, .dims = {WIDTH}};
    eddy_tensor *tensor;

    for (int i = 0; i < WIDTH; i++)
        x[i] = copy[i] = (float)i;
    program_build(&p, "x ?float32[1000]\n"
                      "a Neg x\n"
                      "b Neg a\n"
                      "c AddV2 b x\n");
    program_plan(&p, "x", "c");
    program_make_run(&p);
    /* The last reference that anybody but the run holds is given up. */
    ck_assert_int_eq(eddy_tensor_wrap(p.ctx, EDDY_FLOAT32, &shape, x, NULL,
                                      NULL, &tensor, &p.err),
                     EDDY_OK);
    ck_assert_int_eq(eddy_run_feed(p.run, 0, tensor, &p.err), EDDY_OK);
    eddy_tensor_release(tensor);
    for (int again = 0; again < 2; again++) {
        program_run(&p);
        ck_assert_float_eq(program_fetch_float(&p, 0), 0);
        ck_assert_mem_eq(x, copy, sizeof x);
    }
}
END_TEST

START_TEST(kernels_do_not_write_into_constants)
{
    program_build(&p, "x float32[1000]=3\n"
                      "a Neg x\n"
                      "e Enter@f! x\n"
                      "b Neg e\n"
                      "o Exit b\n");
    program_plan(&p, NULL, "a o x");
    for (int again = 0; again < 2; again++) {
        program_run(&p);
        ck_assert_float_eq(program_fetch_float(&p, 0), -3);
        ck_assert_float_eq(program_fetch_float(&p, 1), -3);
        ck_assert_float_eq(program_fetch_float(&p, 2), 3);
    }
}
END_TEST

START_TEST(kernels_do_not_write_into_invariants)
{
    loop l = {.p = &p, .frame = "w"};
    eddy_output x, next[2], initial[2];

    program_build(&p, "v float32[1000]=1\n"
                      "w float32[1000]=0\n");
    x = program_unary(&p, "Neg", program_output(&p, "v"));
    initial[0] = program_int(&p, 0);
    initial[1] = program_output(&p, "w");
    loop_begin(&l, initial, 2);
    x = loop_invariant(&l, x);
    loop_while(&l, program_binary(&p, "Less", l.merge[0],
                                  loop_invariant(&l, program_int(&p, 20))));
    next[0] = program_binary(&p, "AddV2", l.inside[0],
                             loop_invariant(&l, program_int(&p, 1)));
    next[1] =
        program_binary(&p, "AddV2", program_unary(&p, "Neg", x), l.inside[1]);
    loop_end(&l, next);
    program_plan_outputs(&p, &l.exit[1], 1);
    program_run(&p);
    ck_assert_float_eq(program_fetch_float(&p, 0), 20);
}
END_TEST

/* One consumer may not write over what another still reads. */
START_TEST(a_buffer_with_several_consumers_is_not_written)
{
    program_build(&p, "v float32[1000]=2\n"
                      "x Neg v\n"
                      "a Neg x\n"
                      "b Square x\n"
                      "c Neg x\n"
                      "s AddV2 a b\n"
                      "t AddV2 s c\n"
                      "u AddV2 t x\n");
    program_plan(&p, NULL, "u x a");
    program_run(&p);
    ck_assert_float_eq(program_fetch_float(&p, 0), 2 + 4 + 2 - 2);
    ck_assert_float_eq(program_fetch_float(&p, 1), -2);
    ck_assert_float_eq(program_fetch_float(&p, 2), 2);
}
END_TEST

/* ---- fetches ---- */

START_TEST(a_fetch_is_written_into_memory_of_the_caller)
{
    float into[WIDTH];
    int64_t scalar = 0;

    program_build(&p, "x ?float32[1000]\n"
                      "y AddV2 x x\n"
                      "z int64=9\n"
                      "u Neg z\n");
    program_plan(&p, "x", "y u");
    program_make_run(&p);
    for (int i = 0; i < WIDTH; i++)
        into[i] = (float)i;
    program_feed_floats(&p, 0, into, WIDTH);
    ck_assert_int_eq(eddy_run_fetch_into(p.run, 0, into, sizeof into, &p.err),
                     EDDY_OK);
    ck_assert_int_eq(
        eddy_run_fetch_into(p.run, 1, &scalar, sizeof scalar, &p.err), EDDY_OK);
    for (int again = 0; again < 3; again++) {
        memset(into, 0, sizeof into);
        scalar = 0;
        program_run(&p);
        for (int i = 0; i < WIDTH; i++)
            ck_assert(into[i] == 2 * (float)i);
        ck_assert_int_eq(scalar, -9);
        ck_assert_ptr_null(eddy_run_fetch(p.run, 0));
        if (again > 0)
            ck_assert_uint_eq(program_stats(&p).allocations, 0);
    }
    ck_assert_int_eq(eddy_run_fetch_into(p.run, 0, NULL, 0, &p.err), EDDY_OK);
    program_run(&p);
    ck_assert_float_eq(program_fetch_float(&p, 0), 0);
}
END_TEST

START_TEST(a_fetch_into_memory_of_another_size_is_an_error)
{
    char into[16];

    program_build(&p, "x int64=9\n"
                      "y Neg x\n");
    program_plan(&p, NULL, "y");
    program_make_run(&p);
    ck_assert_int_eq(eddy_run_fetch_into(p.run, 0, into, 16, &p.err), EDDY_OK);
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT, EDDY_E_SIZE);
    ck_assert_int_eq(eddy_run_fetch_into(p.run, 0, into, 8, &p.err), EDDY_OK);
    program_run(&p);
    program_want(&p, eddy_run_fetch_into(p.run, 1, into, 8, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
}
END_TEST

START_TEST(a_retained_fetch_keeps_its_value_over_the_next_start)
{
    const float one[] = {1, 1, 1}, two[] = {2, 2, 2};
    eddy_tensor *kept;

    program_build(&p, "x ?float32[3]\n"
                      "y Neg x\n"
                      "z Neg y\n");
    program_plan(&p, "x", "z");
    program_feed_floats(&p, 0, one, 3);
    program_run(&p);
    kept = eddy_tensor_retain(eddy_run_fetch(p.run, 0));
    program_feed_floats(&p, 0, two, 3);
    program_run(&p);
    ck_assert_float_eq(program_fetch_float(&p, 0), 2);
    ck_assert_float_eq(*(const float *)eddy_tensor_data(kept), 1);
    eddy_run_destroy(p.run);
    p.run = NULL;
    ck_assert_float_eq(*(const float *)eddy_tensor_data(kept), 1);
    eddy_tensor_release(kept);
}
END_TEST

START_TEST(a_fetch_not_retained_gives_its_memory_to_the_next_execution)
{
    float x[WIDTH] = {1};

    program_build(&p, "x ?float32[1000]\n"
                      "y Neg x\n");
    program_plan(&p, "x", "y");
    program_feed_floats(&p, 0, x, WIDTH);
    program_run(&p);
    for (int again = 0; again < 3; again++) {
        program_run(&p);
        ck_assert_uint_eq(program_stats(&p).allocations, 0);
        ck_assert_float_eq(program_fetch_float(&p, 0), -1);
    }
}
END_TEST

/* A fetched feed is the feed itself, not a copy. */
START_TEST(a_fetched_feed_is_the_same_tensor)
{
    const float x[] = {1, 2, 3};
    const eddy_shape shape = {.rank = 1, .dims = {3}};
    eddy_tensor *tensor = program_tensor(&p, EDDY_FLOAT32, &shape, x);

    program_build(&p, "x ?float32[3]\n");
    program_plan(&p, "x", "x");
    program_make_run(&p);
    ck_assert_int_eq(eddy_run_feed(p.run, 0, tensor, &p.err), EDDY_OK);
    program_run(&p);
    ck_assert_ptr_eq(eddy_run_fetch(p.run, 0), tensor);
    eddy_tensor_release(tensor);
}
END_TEST

/* ---- binding ---- */

START_TEST(a_feed_of_the_wrong_dtype_or_shape_is_refused)
{
    const float x[] = {1, 2, 3};
    const eddy_shape two = {.rank = 1, .dims = {2}};
    const eddy_shape three = {.rank = 1, .dims = {3}};
    eddy_tensor *good = program_tensor(&p, EDDY_FLOAT32, &three, x);
    eddy_tensor *dtype = program_tensor(&p, EDDY_INT32, &three, x);
    eddy_tensor *shape = program_tensor(&p, EDDY_FLOAT32, &two, x);

    program_build(&p, "x ?float32[3]\n"
                      "y Neg x\n");
    program_plan(&p, "x", "y");
    program_make_run(&p);
    program_want(&p, eddy_run_feed(p.run, 0, dtype, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_FEED_DTYPE);
    program_want(&p, eddy_run_feed(p.run, 0, shape, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_FEED_SHAPE);
    ck_assert_ptr_nonnull(strstr(p.err.message, "[2]"));
    ck_assert_ptr_nonnull(strstr(p.err.message, "[3]"));
    program_want(&p, eddy_run_feed(p.run, 1, good, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    program_want(&p, eddy_run_feed(p.run, 0, NULL, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT,
                 EDDY_E_NOT_FED);
    ck_assert_int_eq(eddy_run_feed(p.run, 0, good, &p.err), EDDY_OK);
    /* What is refused leaves the binding as it was. */
    ck_assert_int_ne(eddy_run_feed(p.run, 0, shape, &p.err), EDDY_OK);
    program_run(&p);
    ck_assert_float_eq(program_fetch_float(&p, 0), -1);
    eddy_tensor_release(good);
    eddy_tensor_release(dtype);
    eddy_tensor_release(shape);
}
END_TEST

START_TEST(a_plan_run_once_gives_its_fetches_to_the_caller)
{
    const float x[] = {1, 2, 3};
    const eddy_shape shape = {.rank = 1, .dims = {3}};
    eddy_tensor *feed = program_tensor(&p, EDDY_FLOAT32, &shape, x);
    eddy_tensor *got[2];

    program_build(&p, "x ?float32[3]\n"
                      "y Neg x\n"
                      "no bool=0\n"
                      "s Switch x no\n");
    program_plan(&p, "x", "y x");
    ck_assert_int_eq(eddy_plan_run(p.plan, NULL, &feed, got, &p.err), EDDY_OK);
    ck_assert_float_eq(((const float *)eddy_tensor_data(got[0]))[2], -3);
    ck_assert_ptr_eq(got[1], feed);
    eddy_tensor_release(got[0]);
    eddy_tensor_release(got[1]);
    program_plan(&p, "x", "y s:1");
    program_want(&p, eddy_plan_run(p.plan, NULL, &feed, got, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_FETCH_DEAD);
    ck_assert_ptr_null(got[0]);
    ck_assert_ptr_null(got[1]);
    eddy_tensor_release(feed);
}
END_TEST

TCase *buffers_tests(void)
{
    TCase *tc = tcase_create("buffers");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, a_counter_allocates_nothing_in_its_second_execution);
    tcase_add_loop_test(
        tc, nested_loops_allocate_nothing_in_their_second_execution, 1, 4);
    tcase_add_test(
        tc, a_branch_in_a_loop_allocates_nothing_in_its_second_execution);
    tcase_add_test(tc, a_longer_loop_allocates_no_more);
    tcase_add_test(tc, elementwise_steps_of_a_loop_reuse_their_buffers);
    tcase_add_test(
        tc, ten_million_iterations_grow_the_process_by_less_than_a_mebibyte);
    tcase_add_test(tc, kernels_do_not_write_into_feeds);
    tcase_add_test(tc, kernels_do_not_write_into_constants);
    tcase_add_test(tc, kernels_do_not_write_into_invariants);
    tcase_add_test(tc, a_buffer_with_several_consumers_is_not_written);
    tcase_add_test(tc, a_fetch_is_written_into_memory_of_the_caller);
    tcase_add_test(tc, a_fetch_into_memory_of_another_size_is_an_error);
    tcase_add_test(tc, a_retained_fetch_keeps_its_value_over_the_next_start);
    tcase_add_test(tc,
                   a_fetch_not_retained_gives_its_memory_to_the_next_execution);
    tcase_add_test(tc, a_fetched_feed_is_the_same_tensor);
    tcase_add_test(tc, a_feed_of_the_wrong_dtype_or_shape_is_refused);
    tcase_add_test(tc, a_plan_run_once_gives_its_fetches_to_the_caller);
    return tc;
}
