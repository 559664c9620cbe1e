/* SPDX-License-Identifier: Apache-2.0 */
/* Loops and branches built with the builder, and what they compute. */
#include "frames/build/builder.h"
#include "tests/aid/construct.h"
#include "tests/suites.h"

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

static eddy_output add(eddy_output x, eddy_output y)
{
    return program_binary(&p, "AddV2", x, y);
}

static eddy_output mul(eddy_output x, eddy_output y)
{
    return program_binary(&p, "Mul", x, y);
}

static eddy_output less(eddy_output x, eddy_output y)
{
    return program_binary(&p, "Less", x, y);
}

/* ---- loops ---- */

/* _i trips of s = s + i * step, step from outside. */
START_TEST(a_loop_computes)
{
    const eddy_output trips = construct_feed(&p, "trips", EDDY_INT64);
    counted c = construct_counted(&p, trips, program_int(&p, 100));

    construct_end_counted(&p, &c, add(c.now, mul(c.i, program_int(&p, 3))));
    ck_assert_int_eq(construct_run_one(&p, c.results[1], trips, _i),
                     100 + 3 * (_i * (_i - 1) / 2));
}
END_TEST

START_TEST(a_value_from_outside_enters_once)
{
    const eddy_output trips = construct_feed(&p, "trips", EDDY_INT64);
    const eddy_output step = program_int(&p, 7);
    counted c = construct_counted(&p, trips, program_int(&p, 0));
    const eddy_output twice = add(add(c.now, step), step);
    const eddy_output captured = construct_input(&p, twice.node, 1);

    ck_assert_str_eq(eddy_graph_node_op(p.graph, captured.node), "Enter");
    ck_assert_uint_eq(
        construct_input(&p, construct_input(&p, twice.node, 0).node, 1).node,
        captured.node);
    construct_end_counted(&p, &c, twice);
    ck_assert_int_eq(construct_run_one(&p, c.results[1], trips, 5), 70);
}
END_TEST

/* Values from the root, and from the loop between, two loops further in. */
START_TEST(values_are_captured_through_two_loops)
{
    const eddy_output trips = construct_feed(&p, "trips", EDDY_INT64);
    const eddy_output step = program_int(&p, 10);
    counted outer = construct_counted(&p, trips, program_int(&p, 0));
    counted middle = construct_counted(&p, trips, outer.now);
    counted inner = construct_counted(&p, trips, middle.now);

    construct_end_counted(&p, &inner,
                          add(add(inner.now, step), add(outer.i, middle.i)));
    construct_end_counted(&p, &middle, inner.results[1]);
    construct_end_counted(&p, &outer, middle.results[1]);
    for (int64_t n = 0; n < 4; n++) {
        int64_t wanted = 0;

        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                wanted += n * (10 + i + j);
        ck_assert_int_eq(construct_run_one(&p, outer.results[1], trips, n),
                         wanted);
    }
}
END_TEST

/* The inner loop has what the outer one only brings in as its variable. */
START_TEST(an_invariant_may_start_a_variable)
{
    const eddy_output trips = construct_feed(&p, "trips", EDDY_INT64);
    const eddy_output two = program_int(&p, 2);
    counted outer = construct_counted(&p, trips, program_int(&p, 0));
    counted inner = construct_counted(&p, trips, two);

    construct_end_counted(&p, &inner, mul(inner.now, two));
    construct_end_counted(&p, &outer, add(outer.now, inner.results[1]));
    ck_assert_int_eq(construct_run_one(&p, outer.results[1], trips, 3), 48);
    ck_assert_int_eq(construct_run_one(&p, outer.results[1], trips, 0), 0);
}
END_TEST

START_TEST(a_next_value_may_come_from_outside)
{
    const eddy_output trips = construct_feed(&p, "trips", EDDY_INT64);
    const eddy_output last = program_int(&p, 9);
    counted c = construct_counted(&p, trips, program_int(&p, 1));

    construct_end_counted(&p, &c, last);
    ck_assert_int_eq(construct_run_one(&p, c.results[1], trips, 0), 1);
    ck_assert_int_eq(construct_run_one(&p, c.results[1], trips, 3), 9);
}
END_TEST

START_TEST(a_condition_may_come_from_outside)
{
    const eddy_output no = program_constant(&p, EDDY_BOOL, &(bool){false});
    const eddy_output one = program_int(&p, 1);
    eddy_output now;

    construct_while(&p, &one, 1, &now);
    construct_body(&p, no, &now);
    now = add(now, now);
    construct_end(&p, &now, 1, &now);
    ck_assert_int_eq(construct_run(&p, now, NULL, NULL, 0), 1);
}
END_TEST

static const struct {
    eddy_dtype dtype;
    uint64_t one;
} kinds[] = {
    {EDDY_INT8, 1},  {EDDY_INT16, 1},  {EDDY_INT32, 1},  {EDDY_INT64, 1},
    {EDDY_UINT8, 1}, {EDDY_UINT16, 1}, {EDDY_UINT32, 1}, {EDDY_UINT64, 1},
};

START_TEST(variables_have_any_dtype)
{
    const eddy_output trips = construct_feed(&p, "trips", EDDY_INT64);
    const eddy_output one =
        program_constant(&p, kinds[_i].dtype, &kinds[_i].one);
    counted c = construct_counted(&p, trips, one);

    construct_end_counted(&p, &c, add(c.now, c.now));
    ck_assert_int_eq(construct_run_one(&p, c.results[1], trips, 5), 32);
}
END_TEST

START_TEST(vectors_go_round)
{
    const eddy_output trips = construct_feed(&p, "trips", EDDY_INT64);
    eddy_output x, sum;
    counted c;

    program_build(&p, "x float32[5]=0.5\naxis int32=0");
    x = program_output(&p, "x");
    c = construct_counted(&p, trips, x);
    construct_end_counted(&p, &c, add(c.now, x));
    sum = program_binary(&p, "Sum", c.results[1], program_output(&p, "axis"));
    construct_plan(&p, sum, &trips, 1);
    program_feed_int(&p, 0, 3);
    program_run(&p);
    ck_assert(program_fetch_float(&p, 0) == 10);
}
END_TEST

/* Of max and the condition, whichever is reached first. */
START_TEST(maximum_iterations_ends_a_loop)
{
    const eddy_output feeds[] = {construct_feed(&p, "trips", EDDY_INT64),
                                 construct_feed(&p, "most", EDDY_INT64)};
    const eddy_output initial[] = {program_int(&p, 0), program_int(&p, 0)};
    const eddy_while_spec spec = {.size = sizeof spec,
                                  .initial = initial,
                                  .n_variables = 2,
                                  .maximum_iterations = &feeds[1]};
    eddy_output now[2];

    construct_while_with(&p, &spec, now);
    construct_body(&p, less(now[0], feeds[0]), now);
    now[0] = add(now[0], program_int(&p, 1));
    now[1] = add(now[1], now[0]);
    construct_end(&p, now, 2, now);
    for (int64_t trips = 0; trips < 5; trips++) {
        for (int64_t most = -1; most < 5; most++) {
            const int64_t values[] = {trips, most};
            const int64_t n = most < 0 ? 0 : trips < most ? trips : most;

            ck_assert_int_eq(construct_run(&p, now[1], feeds, values, 2),
                             n * (n + 1) / 2);
        }
    }
}
END_TEST

/* x doubled _i times: its gradient is 2 to the power of _i. */
START_TEST(a_loop_that_was_built_is_differentiated)
{
    const eddy_output trips = construct_feed(&p, "trips", EDDY_INT64);
    const eddy_output x = program_constant(&p, EDDY_FLOAT32, &(const float){3});
    counted c = construct_counted(&p, trips, x);
    eddy_output gradient;

    construct_cond(&p, less(c.i, program_int(&p, 100)));
    construct_else(&p, add(c.now, c.now));
    construct_end_counted(&p, &c, construct_end_cond(&p, c.now));
    ck_assert_msg(eddy_gradients(p.graph, &c.results[1], 1, &x, 1, NULL,
                                 &gradient, &p.err) == EDDY_OK,
                  "%s", p.err.message);
    construct_plan(&p, gradient, &trips, 1);
    program_feed_int(&p, 0, _i);
    program_run(&p);
    ck_assert(program_fetch_float(&p, 0) == (float)(1 << _i));
}
END_TEST

/* ---- branches ---- */

START_TEST(a_cond_takes_a_branch)
{
    const eddy_output x = construct_feed(&p, "x", EDDY_INT64);
    const eddy_output ten = program_int(&p, 10);
    eddy_output y;

    construct_cond(&p, less(x, ten));
    construct_else(&p, add(x, ten));
    y = construct_end_cond(&p, mul(x, program_int(&p, 2)));
    ck_assert_int_eq(construct_run_one(&p, y, x, 3), 13);
    ck_assert_int_eq(construct_run_one(&p, y, x, 30), 60);
}
END_TEST

/* Division by zero in the branch that is not taken. */
START_TEST(the_branch_not_taken_does_not_run)
{
    const eddy_output x = construct_feed(&p, "x", EDDY_INT64);
    const eddy_output zero = program_int(&p, 0);
    eddy_output y;

    construct_cond(&p, program_binary(&p, "Equal", x, zero));
    construct_else(&p, program_int(&p, -1));
    y = construct_end_cond(
        &p, program_binary(&p, "FloorDiv", program_int(&p, 100), x));
    ck_assert_int_eq(construct_run_one(&p, y, x, 0), -1);
    ck_assert_int_eq(construct_run_one(&p, y, x, 7), 14);
}
END_TEST

START_TEST(results_may_come_from_outside)
{
    const eddy_output feeds[] = {construct_feed(&p, "x", EDDY_INT64),
                                 construct_feed(&p, "y", EDDY_INT64)};
    eddy_output larger;

    construct_cond(&p, less(feeds[0], feeds[1]));
    construct_else(&p, feeds[1]);
    larger = construct_end_cond(&p, feeds[0]);
    ck_assert_int_eq(construct_run(&p, larger, feeds, (int64_t[]){3, 4}, 2), 4);
    ck_assert_int_eq(construct_run(&p, larger, feeds, (int64_t[]){5, 4}, 2), 5);
}
END_TEST

/* In a branch of a branch, a value from the root and one from between. */
START_TEST(values_are_captured_through_two_branches)
{
    const eddy_output x = construct_feed(&p, "x", EDDY_INT64);
    const eddy_output ten = program_int(&p, 10), hundred = program_int(&p, 100);
    eddy_output square, y;

    construct_cond(&p, less(x, hundred));
    square = mul(x, x);
    construct_cond(&p, less(x, ten));
    construct_else(&p, add(square, hundred));
    y = construct_end_cond(&p, add(square, x));
    construct_else(&p, y);
    y = construct_end_cond(&p, program_int(&p, 0));
    ck_assert_int_eq(construct_run_one(&p, y, x, 3), 109);
    ck_assert_int_eq(construct_run_one(&p, y, x, 20), 420);
    ck_assert_int_eq(construct_run_one(&p, y, x, 200), 0);
}
END_TEST

/* Sum of i where i < half, minus half where not; half is from the root. */
START_TEST(a_branch_in_a_loop)
{
    const eddy_output trips = construct_feed(&p, "trips", EDDY_INT64);
    const eddy_output half = program_int(&p, 3);
    counted c = construct_counted(&p, trips, program_int(&p, 0));
    eddy_output next;

    construct_cond(&p, less(c.i, half));
    construct_else(&p, add(c.now, c.i));
    next = construct_end_cond(&p, program_binary(&p, "Sub", c.now, half));
    construct_end_counted(&p, &c, next);
    ck_assert_int_eq(construct_run_one(&p, c.results[1], trips, 2), 1);
    ck_assert_int_eq(construct_run_one(&p, c.results[1], trips, 6), -6);
}
END_TEST

/* trips loops, or none at all; what the loop reads is outside of the branch. */
START_TEST(a_loop_in_a_branch)
{
    const eddy_output feeds[] = {construct_feed(&p, "x", EDDY_INT64),
                                 construct_feed(&p, "trips", EDDY_INT64)};
    const eddy_output zero = program_int(&p, 0);
    eddy_output y;
    counted c;

    construct_cond(&p, less(feeds[0], zero));
    c = construct_counted(&p, feeds[1], feeds[0]);
    construct_end_counted(&p, &c, add(c.now, feeds[0]));
    construct_else(&p, c.results[1]);
    y = construct_end_cond(&p, feeds[0]);
    ck_assert_int_eq(construct_run(&p, y, feeds, (int64_t[]){-2, 3}, 2), -8);
    ck_assert_int_eq(construct_run(&p, y, feeds, (int64_t[]){-2, 0}, 2), -2);
    ck_assert_int_eq(construct_run(&p, y, feeds, (int64_t[]){2, 3}, 2), 2);
}
END_TEST

/* A branch in a loop in a branch in a loop, all reading the root and i. */
START_TEST(four_constructs_in_each_other)
{
    const eddy_output trips = construct_feed(&p, "trips", EDDY_INT64);
    const eddy_output two = program_int(&p, 2);
    counted outer = construct_counted(&p, trips, program_int(&p, 0)), inner;
    eddy_output next;

    construct_cond(&p, less(outer.i, two));
    inner = construct_counted(&p, trips, outer.now);
    construct_cond(&p, less(inner.i, outer.i));
    construct_else(&p, add(inner.now, two));
    next = construct_end_cond(&p, add(inner.now, outer.i));
    construct_end_counted(&p, &inner, next);
    construct_else(&p, inner.results[1]);
    next = construct_end_cond(&p, mul(outer.now, two));
    construct_end_counted(&p, &outer, next);
    for (int64_t n = 0; n < 5; n++) {
        int64_t wanted = 0;

        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; i < 2 && j < n; j++)
                wanted += j < i ? 2 : i;
            wanted *= i < 2 ? 1 : 2;
        }
        ck_assert_int_eq(construct_run_one(&p, outer.results[1], trips, n),
                         wanted);
    }
}
END_TEST

/* ---- cases ---- */

static eddy_output build_case(eddy_output x, bool is_exclusive,
                              bool has_default)
{
    const eddy_output predicates[] = {
        less(x, program_int(&p, 10)), less(x, program_int(&p, 20)),
        program_binary(&p, "Equal", x, program_int(&p, 30))};
    const eddy_case_spec spec = {.size = sizeof spec,
                                 .predicates = predicates,
                                 .n_predicates = 3,
                                 .is_exclusive = is_exclusive,
                                 .has_default = has_default};

    ck_assert_int_eq(eddy_case_begin(p.graph, &spec, &p.err), EDDY_OK);
    construct_next(&p, add(x, program_int(&p, 1000)));
    construct_next(&p, add(x, program_int(&p, 2000)));
    if (!has_default)
        return construct_end_case(&p, mul(x, x));
    construct_next(&p, mul(x, x));
    return construct_end_case(&p, program_int(&p, -1));
}

START_TEST(a_case_takes_the_first_that_holds)
{
    const eddy_output x = construct_feed(&p, "x", EDDY_INT64);
    const eddy_output y = build_case(x, false, true);

    ck_assert_int_eq(construct_run_one(&p, y, x, 5), 1005);
    ck_assert_int_eq(construct_run_one(&p, y, x, 15), 2015);
    ck_assert_int_eq(construct_run_one(&p, y, x, 30), 900);
    ck_assert_int_eq(construct_run_one(&p, y, x, 31), -1);
}
END_TEST

static eddy_status run_case(eddy_output y, eddy_output x, int64_t value)
{
    construct_plan(&p, y, &x, 1);
    program_feed_int(&p, 0, value);
    return program_execute(&p);
}

START_TEST(an_exclusive_case_fails_when_two_hold)
{
    const eddy_output x = construct_feed(&p, "x", EDDY_INT64);
    const eddy_output y = build_case(x, true, true);

    program_want(&p, run_case(y, x, 5), EDDY_INVALID_ARGUMENT,
                 EDDY_E_ASSERTION);
    ck_assert_int_eq(construct_run_one(&p, y, x, 15), 2015);
    ck_assert_int_eq(construct_run_one(&p, y, x, 40), -1);
}
END_TEST

START_TEST(a_case_without_default_fails_when_none_holds)
{
    const eddy_output x = construct_feed(&p, "x", EDDY_INT64);
    const eddy_output y = build_case(x, false, false);

    program_want(&p, run_case(y, x, 40), EDDY_INVALID_ARGUMENT,
                 EDDY_E_ASSERTION);
    ck_assert_int_eq(construct_run_one(&p, y, x, 5), 1005);
    ck_assert_int_eq(construct_run_one(&p, y, x, 15), 2015);
    ck_assert_int_eq(construct_run_one(&p, y, x, 30), 900);
}
END_TEST

/* One branch alone: a default, or a predicate that must hold. */
START_TEST(a_case_may_have_one_branch)
{
    const eddy_output x = construct_feed(&p, "x", EDDY_INT64);
    const eddy_output small = less(x, program_int(&p, 10));
    const eddy_case_spec spec = {.size = sizeof spec,
                                 .predicates = &small,
                                 .n_predicates = _i == 0 ? 1 : 0,
                                 .has_default = _i == 1};
    eddy_output y;

    ck_assert_int_eq(eddy_case_begin(p.graph, &spec, &p.err), EDDY_OK);
    y = construct_end_case(&p, add(x, x));
    ck_assert_int_eq(construct_run_one(&p, y, x, 5), 10);
    if (_i == 0)
        program_want(&p, run_case(y, x, 50), EDDY_INVALID_ARGUMENT,
                     EDDY_E_ASSERTION);
    else
        ck_assert_int_eq(construct_run_one(&p, y, x, 50), 100);
}
END_TEST

START_TEST(a_switch_case_takes_a_branch_by_index)
{
    const eddy_output x = construct_feed(&p, "x", EDDY_INT64);
    const eddy_output index = construct_feed(&p, "index", EDDY_INT32);
    const eddy_output feeds[] = {x, index};
    const eddy_switch_case_spec spec = {
        .size = sizeof spec, .index = index, .n_branches = 3};
    eddy_output y;

    ck_assert_int_eq(eddy_switch_case_begin(p.graph, &spec, &p.err), EDDY_OK);
    construct_next(&p, add(x, program_int(&p, 1)));
    construct_next(&p, x);
    y = construct_end_case(&p, program_int(&p, 77));
    ck_assert_int_eq(construct_run(&p, y, feeds, (int64_t[]){5, 0}, 2), 6);
    ck_assert_int_eq(construct_run(&p, y, feeds, (int64_t[]){5, 1}, 2), 5);
    ck_assert_int_eq(construct_run(&p, y, feeds, (int64_t[]){5, 2}, 2), 77);
    ck_assert_int_eq(construct_run(&p, y, feeds, (int64_t[]){5, 3}, 2), 77);
    ck_assert_int_eq(construct_run(&p, y, feeds, (int64_t[]){5, -1}, 2), 77);
}
END_TEST

/* ---- shapes ---- */

START_TEST(a_shape_is_known_however_much_is_before_it)
{
    eddy_output x;
    eddy_shape shape;

    program_build(&p, "x ?float32[?,3]\n");
    x = program_output(&p, "x");
    for (int i = 0; i < 3000; i++)
        ck_assert_int_eq(
            eddy_graph_add_op(p.graph, "Neg", NULL, &x, 1, &x, &p.err),
            EDDY_OK);
    shape = eddy__open_shape(p.graph, x);
    ck_assert_int_eq(shape.rank, 2);
    ck_assert_int_eq(shape.dims[0], -1);
    ck_assert_int_eq(shape.dims[1], 3);
}
END_TEST

TCase *builder_tests(void)
{
    TCase *tc = tcase_create("builder");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, a_loop_computes, 0, 4);
    tcase_add_test(tc, a_value_from_outside_enters_once);
    tcase_add_test(tc, values_are_captured_through_two_loops);
    tcase_add_test(tc, an_invariant_may_start_a_variable);
    tcase_add_test(tc, a_next_value_may_come_from_outside);
    tcase_add_test(tc, a_condition_may_come_from_outside);
    tcase_add_loop_test(tc, variables_have_any_dtype, 0,
                        sizeof kinds / sizeof kinds[0]);
    tcase_add_test(tc, vectors_go_round);
    tcase_add_test(tc, maximum_iterations_ends_a_loop);
    tcase_add_loop_test(tc, a_loop_that_was_built_is_differentiated, 0, 4);
    tcase_add_test(tc, a_cond_takes_a_branch);
    tcase_add_test(tc, the_branch_not_taken_does_not_run);
    tcase_add_test(tc, results_may_come_from_outside);
    tcase_add_test(tc, values_are_captured_through_two_branches);
    tcase_add_test(tc, a_branch_in_a_loop);
    tcase_add_test(tc, a_loop_in_a_branch);
    tcase_add_test(tc, four_constructs_in_each_other);
    tcase_add_test(tc, a_case_takes_the_first_that_holds);
    tcase_add_test(tc, a_shape_is_known_however_much_is_before_it);
    tcase_add_test(tc, an_exclusive_case_fails_when_two_hold);
    tcase_add_test(tc, a_case_without_default_fails_when_none_holds);
    tcase_add_loop_test(tc, a_case_may_have_one_branch, 0, 2);
    tcase_add_test(tc, a_switch_case_takes_a_branch_by_index);
    return tc;
}
