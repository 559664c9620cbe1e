/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Very large graphs, and very deep ones: nothing recurses, no counter is
 * narrow, and memory stays in proportion (time: benchmarks/bench_scale.c).
 */
#include "tests/aid/loops.h"
#include "tests/suites.h"

#include <stdio.h>
#include <stdlib.h>

static program p;

static void setup(void)
{
    program_init(&p, 0);
}

static void teardown(void)
{
    program_deinit(&p);
}

START_TEST(a_chain_of_a_million_nodes_plans_and_runs)
{
    const size_t n = program_scale(1000 * 1000, 100 * 1000);
    eddy_output x = program_int(&p, 1);
    const eddy_output one = x;

    for (size_t i = 1; i < n; i++)
        x = program_binary(&p, "AddV2", x, one);
    program_plan_outputs(&p, &x, 1);
    ck_assert_uint_eq(eddy_plan_nodes(p.plan), n);
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), (int64_t)n);
    ck_assert_int_lt(atomic_load(&p.counting.peak_bytes), 1024 * (long long)n);
}
END_TEST

START_TEST(a_node_may_have_a_million_inputs)
{
    const size_t n = program_scale(1000 * 1000, 50 * 1000);
    eddy_output *inputs = malloc(n * sizeof *inputs);
    eddy_output sum;

    ck_assert_ptr_nonnull(inputs);
    for (size_t i = 0; i < n; i++)
        inputs[i] = program_int(&p, (int64_t)i);
    ck_assert_int_eq(
        eddy_graph_add_op(p.graph, "AddN", "sum", inputs, n, &sum, &p.err),
        EDDY_OK);
    free(inputs);
    program_plan_outputs(&p, &sum, 1);
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0),
                     (int64_t)n * ((int64_t)n - 1) / 2);
}
END_TEST

START_TEST(an_output_may_have_a_million_consumers)
{
    const size_t n = program_scale(1000 * 1000, 50 * 1000);
    const eddy_output x = program_int(&p, 5);
    eddy_output last = x;
    eddy_node_spec spec = {.size = sizeof spec, .op = "NoOp", .name = "all"};
    eddy_node *consumers = malloc(n * sizeof *consumers);
    eddy_plan_options options = p.plan_options;

    ck_assert_ptr_nonnull(consumers);
    for (size_t i = 0; i < n; i++) {
        last = program_unary(&p, "Neg", x);
        consumers[i] = last.node;
    }
    spec.controls = consumers;
    spec.n_controls = n;
    ck_assert_int_eq(eddy_graph_add(p.graph, &spec, &consumers[0], &p.err),
                     EDDY_OK);
    options.targets = consumers;
    options.n_targets = 1;
    ck_assert_int_eq(eddy_plan_create(p.graph, &options, &p.plan, &p.err),
                     EDDY_OK);
    free(consumers);
    program_run(&p);
    ck_assert_uint_eq(program_stats(&p).live_executions, n + 2);
}
END_TEST

START_TEST(a_merge_may_have_a_hundred_thousand_inputs)
{
    const size_t n = program_scale(100 * 1000, 10 * 1000);
    eddy_output *inputs = malloc(n * sizeof *inputs);
    eddy_output merge, yes, fetched[2];

    ck_assert_ptr_nonnull(inputs);
    yes = program_constant(&p, EDDY_BOOL, &(bool){true});
    for (size_t i = 0; i < n; i++) {
        inputs[i] = program_binary(&p, "Switch", program_int(&p, 3), yes);
        inputs[i].index = i + 2 == n;
    }
    ck_assert_int_eq(
        eddy_graph_add_op(p.graph, "Merge", "m", inputs, n, &merge, &p.err),
        EDDY_OK);
    free(inputs);
    fetched[0] = merge;
    fetched[1] = (eddy_output){merge.node, 1};
    program_plan_outputs(&p, fetched, 2);
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 3);
    ck_assert_int_eq(program_fetch_int(&p, 1), (int64_t)n - 2);
}
END_TEST

/* Frames in each other without any loop. */
static void build_nest(uint32_t depth)
{
    char line[64], name[32] = "x";

    program_build(&p, "x int64=1\n");
    for (uint32_t i = 0; i < depth; i++) {
        snprintf(line, sizeof line, "e%u Enter@f%u %s\n", i, i, name);
        program_build(&p, line);
        snprintf(name, sizeof name, "e%u", i);
    }
    for (uint32_t i = 0; i < depth; i++) {
        snprintf(line, sizeof line, "o%u Exit %s\n", i, name);
        program_build(&p, line);
        snprintf(name, sizeof name, "o%u", i);
    }
    snprintf(line, sizeof line, "y Neg %s\n", name);
    program_build(&p, line);
}

START_TEST(a_thousand_nested_frames_work)
{
    build_nest(1000);
    program_plan(&p, NULL, "y");
    ck_assert_uint_eq(eddy_plan_frames(p.plan), 1001);
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), -1);
    ck_assert_uint_eq(program_stats(&p).frames, 1000);
    ck_assert_uint_eq(program_stats(&p).iterations, 1000);
}
END_TEST

START_TEST(eleven_hundred_nested_frames_are_refused)
{
    build_nest(1100);
    program_want(&p, program_try_plan(&p, NULL, "y"), EDDY_INVALID_ARGUMENT,
                 EDDY_E_FRAME_DEPTH);
    ck_assert_str_eq(p.err.op, "Enter");
    ck_assert_str_eq(p.err.node, "e1024");
}
END_TEST

/* In its last iteration each loop enters the next dead. */
START_TEST(hundreds_of_nested_loops_work)
{
    const uint32_t depth = (uint32_t)program_scale(400, 100);
    const eddy_output total = loops_nested(&p, depth, program_int(&p, 1));
    eddy_stats stats;

    program_plan_outputs(&p, &total, 1);
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 1);
    stats = program_stats(&p);
    ck_assert_uint_eq(stats.frames, depth * (depth + 1) / 2);
    ck_assert_uint_eq(stats.iterations, stats.frames + depth);
}
END_TEST

TCase *plan_large_tests(void)
{
    TCase *tc = tcase_create("plan_large");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, a_chain_of_a_million_nodes_plans_and_runs);
    tcase_add_test(tc, a_node_may_have_a_million_inputs);
    tcase_add_test(tc, an_output_may_have_a_million_consumers);
    tcase_add_test(tc, a_merge_may_have_a_hundred_thousand_inputs);
    tcase_add_test(tc, a_thousand_nested_frames_work);
    tcase_add_test(tc, eleven_hundred_nested_frames_are_refused);
    tcase_add_test(tc, hundreds_of_nested_loops_work);
    return tc;
}
