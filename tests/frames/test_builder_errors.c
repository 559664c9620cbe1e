/* SPDX-License-Identifier: Apache-2.0 */
/* Bad use of the builder, taking back, names, functions, and lack of memory. */
#include "tests/aid/construct.h"
#include "tests/aid/graph_equal.h"
#include "tests/suites.h"

#include <stdio.h>
#include <string.h>

static program p;
static eddy_output zero, one, yes, real_one, trips;

static void setup(void)
{
    program_init(&p, 0);
    zero = program_int(&p, 0);
    one = program_int(&p, 1);
    yes = program_constant(&p, EDDY_BOOL, &(bool){true});
    real_one = program_constant(&p, EDDY_FLOAT32, &(float){1});
    trips = construct_feed(&p, "trips", EDDY_INT64);
}

static void teardown(void)
{
    program_deinit(&p);
}

static void want(eddy_status status, eddy_status code, eddy_detail detail,
                 const char *words)
{
    program_want(&p, status, code, detail);
    ck_assert_msg(strstr(p.err.message, words) != NULL, "%s", p.err.message);
}

/* The graph has as many nodes as it had, and as many constructs are open. */
typedef struct before {
    size_t size, depth;
} before;

static before look(void)
{
    return (before){eddy_graph_size(p.graph), eddy_construct_depth(p.graph)};
}

static void want_as(before b)
{
    ck_assert_uint_eq(eddy_graph_size(p.graph), b.size);
    ck_assert_uint_eq(eddy_construct_depth(p.graph), b.depth);
}

static eddy_status try_add(eddy_output x, eddy_output y)
{
    const eddy_output inputs[] = {x, y};

    return eddy_graph_add_op(p.graph, "AddV2", "sum", inputs, 2, NULL, &p.err);
}

/* ---- calls that do not fit ---- */

START_TEST(nothing_is_ended_that_is_not_open)
{
    const before b = look();
    eddy_output out;

    want(eddy_while_body(p.graph, yes, &out, &p.err), EDDY_FAILED_PRECONDITION,
         EDDY_E_CONSTRUCT, "eddy_while_body");
    want(eddy_while_end(p.graph, &one, 1, &out, &p.err),
         EDDY_FAILED_PRECONDITION, EDDY_E_CONSTRUCT, "eddy_while_end");
    want(eddy_cond_else(p.graph, &one, 1, &p.err), EDDY_FAILED_PRECONDITION,
         EDDY_E_CONSTRUCT, "eddy_cond_else");
    want(eddy_cond_end(p.graph, &one, 1, &out, &p.err),
         EDDY_FAILED_PRECONDITION, EDDY_E_CONSTRUCT, "eddy_cond_end");
    want(eddy_case_next(p.graph, &one, 1, &p.err), EDDY_FAILED_PRECONDITION,
         EDDY_E_CONSTRUCT, "eddy_case_next");
    want(eddy_case_end(p.graph, &one, 1, &out, &p.err),
         EDDY_FAILED_PRECONDITION, EDDY_E_CONSTRUCT, "eddy_case_end");
    eddy_construct_abort(p.graph);
    ck_assert_ptr_null(eddy_construct_scope(p.graph));
    want_as(b);
}
END_TEST

START_TEST(an_outer_construct_is_not_ended_first)
{
    eddy_output now;
    before b;

    construct_while(&p, &zero, 1, &now);
    construct_body(&p, yes, &now);
    construct_cond(&p, yes);
    b = look();
    want(eddy_while_end(p.graph, &now, 1, &now, &p.err),
         EDDY_FAILED_PRECONDITION, EDDY_E_CONSTRUCT, "while/cond");
    want(eddy_case_next(p.graph, &now, 1, &p.err), EDDY_FAILED_PRECONDITION,
         EDDY_E_CONSTRUCT, "while/cond");
    want(eddy_cond_end(p.graph, &now, 1, &now, &p.err),
         EDDY_FAILED_PRECONDITION, EDDY_E_CONSTRUCT, "second branch");
    want_as(b);
    ck_assert_str_eq(eddy_construct_scope(p.graph), "while/cond");
}
END_TEST

START_TEST(the_parts_of_a_construct_come_in_order)
{
    const eddy_case_spec spec = {.size = sizeof spec,
                                 .predicates = &yes,
                                 .n_predicates = 1,
                                 .has_default = true};
    eddy_output now;

    construct_while(&p, &zero, 1, &now);
    want(eddy_while_end(p.graph, &now, 1, &now, &p.err),
         EDDY_FAILED_PRECONDITION, EDDY_E_CONSTRUCT, "no body");
    construct_body(&p, yes, &now);
    want(eddy_while_body(p.graph, yes, &now, &p.err), EDDY_FAILED_PRECONDITION,
         EDDY_E_CONSTRUCT, "already");
    construct_cond(&p, yes);
    construct_else(&p, zero);
    want(eddy_cond_else(p.graph, &zero, 1, &p.err), EDDY_FAILED_PRECONDITION,
         EDDY_E_CONSTRUCT, "already");
    ck_assert_int_eq(eddy_case_begin(p.graph, &spec, &p.err), EDDY_OK);
    want(eddy_case_end(p.graph, &zero, 1, &now, &p.err),
         EDDY_FAILED_PRECONDITION, EDDY_E_CONSTRUCT, "branch 0");
    construct_next(&p, zero);
    want(eddy_case_next(p.graph, &zero, 1, &p.err), EDDY_FAILED_PRECONDITION,
         EDDY_E_CONSTRUCT, "branch 1");
}
END_TEST

/* What is open is neither planned nor saved nor lowered. */
START_TEST(a_graph_is_used_once_all_is_closed)
{
    const eddy_plan_options options = {
        .size = sizeof options, .fetches = &one, .n_fetches = 1};
    eddy_output now;
    eddy_graph *lowered;
    eddy_plan *plan;
    void *bytes;
    size_t length;

    construct_while(&p, &zero, 1, &now);
    want(eddy_plan_create(p.graph, &options, &plan, &p.err),
         EDDY_FAILED_PRECONDITION, EDDY_E_CONSTRUCT, "'while'");
    want(eddy_graphdef_write(p.graph, &bytes, &length, &p.err),
         EDDY_FAILED_PRECONDITION, EDDY_E_CONSTRUCT, "'while'");
    want(eddy_graph_lower(p.graph, NULL, &lowered, &p.err),
         EDDY_FAILED_PRECONDITION, EDDY_E_CONSTRUCT, "'while'");
    eddy_construct_abort(p.graph);
    ck_assert_int_eq(construct_run(&p, one, NULL, 0, 0), 1);
}
END_TEST

/* ---- values out of reach ---- */

START_TEST(a_value_of_an_ended_loop_is_refused)
{
    counted c = construct_counted(&p, trips, zero);
    const eddy_output inside = program_binary(&p, "Mul", c.now, c.i);
    eddy_node_spec spec = {.size = sizeof spec,
                           .op = "NoOp",
                           .controls = &inside.node,
                           .n_controls = 1};
    before b;

    construct_end_counted(&p, &c, c.now);
    b = look();
    want(try_add(inside, one), EDDY_INVALID_ARGUMENT, EDDY_E_VALUE_SCOPE,
         "'while/Mul'");
    ck_assert_str_eq(p.err.node, "sum");
    want(eddy_graph_add(p.graph, &spec, NULL, &p.err), EDDY_INVALID_ARGUMENT,
         EDDY_E_VALUE_SCOPE, "'while/Mul'");
    want(eddy_graph_add_control(p.graph, one.node, inside.node, &p.err),
         EDDY_INVALID_ARGUMENT, EDDY_E_VALUE_SCOPE, "'while/Mul'");
    /* In another loop as well. */
    construct_while(&p, &zero, 1, &c.now);
    want(try_add(one, inside), EDDY_INVALID_ARGUMENT, EDDY_E_VALUE_SCOPE,
         "'while/Mul'");
    want(eddy_graph_add(p.graph, &spec, NULL, &p.err), EDDY_INVALID_ARGUMENT,
         EDDY_E_VALUE_SCOPE, "'while/Mul'");
    eddy_construct_abort(p.graph);
    want_as(b);
    ck_assert_int_eq(try_add(one, c.results[1]), EDDY_OK);
}
END_TEST

START_TEST(a_value_of_the_other_branch_is_refused)
{
    eddy_output inside, y;

    construct_cond(&p, yes);
    inside = program_binary(&p, "AddV2", one, one);
    construct_else(&p, inside);
    want(try_add(inside, one), EDDY_INVALID_ARGUMENT, EDDY_E_VALUE_SCOPE,
         "a branch of 'cond'");
    want(eddy_cond_end(p.graph, &inside, 1, &y, &p.err), EDDY_INVALID_ARGUMENT,
         EDDY_E_VALUE_SCOPE, "a branch of 'cond'");
    construct_end_cond(&p, one);
    want(try_add(inside, one), EDDY_INVALID_ARGUMENT, EDDY_E_VALUE_SCOPE,
         "a branch of 'cond'");
}
END_TEST

START_TEST(a_loop_does_not_start_from_a_value_of_another)
{
    counted c = construct_counted(&p, trips, zero);
    const eddy_while_spec spec = {
        .size = sizeof spec, .initial = &c.now, .n_variables = 1};
    eddy_output now;

    construct_end_counted(&p, &c, c.now);
    want(eddy_while_begin(p.graph, &spec, &now, &p.err), EDDY_INVALID_ARGUMENT,
         EDDY_E_VALUE_SCOPE, "'while'");
}
END_TEST

START_TEST(edges_of_nodes_outside_stay_as_they_are)
{
    const eddy_output outside = program_unary(&p, "Neg", one);
    counted c = construct_counted(&p, trips, zero);
    const eddy_output inside = program_unary(&p, "Neg", c.now);

    want(eddy_graph_set_input(p.graph, outside.node, 0, inside, &p.err),
         EDDY_INVALID_ARGUMENT, EDDY_E_VALUE_SCOPE, "'while'");
    want(eddy_graph_add_control(p.graph, outside.node, inside.node, &p.err),
         EDDY_INVALID_ARGUMENT, EDDY_E_VALUE_SCOPE, "'while'");
    /* And those inside may be led anywhere, captures included. */
    ck_assert_int_eq(eddy_graph_set_input(p.graph, inside.node, 0, one, &p.err),
                     EDDY_OK);
    ck_assert_str_eq(
        eddy_graph_node_op(p.graph, construct_input(&p, inside.node, 0).node),
        "Enter");
    construct_end_counted(&p, &c, c.i);
    want(eddy_graph_set_input(p.graph, inside.node, 0, one, &p.err),
         EDDY_INVALID_ARGUMENT, EDDY_E_VALUE_SCOPE, "the graph");
    ck_assert_int_eq(
        eddy_graph_set_input(p.graph, outside.node, 0, c.results[1], &p.err),
        EDDY_OK);
    ck_assert_int_eq(construct_run_one(&p, outside, trips, 3), -2);
}
END_TEST

/* ---- what does not agree ---- */

START_TEST(a_loop_begins_with_what_it_needs)
{
    const eddy_shape vector = {.rank = 1, .dims = {3}};
    eddy_while_spec spec = {.size = sizeof spec, .initial = &zero};
    eddy_output now;
    const before b = look();

    want(eddy_while_begin(p.graph, &spec, &now, &p.err), EDDY_INVALID_ARGUMENT,
         EDDY_E_INPUT_COUNT, "0 variables");
    spec.n_variables = 1;
    spec.parallel_iterations = -1;
    want(eddy_while_begin(p.graph, &spec, &now, &p.err), EDDY_INVALID_ARGUMENT,
         EDDY_E_PARALLEL_ITERATIONS, "-1");
    spec.parallel_iterations = 0;
    spec.maximum_iterations = &real_one;
    want(eddy_while_begin(p.graph, &spec, &now, &p.err), EDDY_INVALID_ARGUMENT,
         EDDY_E_DTYPE, "float32");
    spec.maximum_iterations = NULL;
    spec.shape_invariants = &vector;
    want(eddy_while_begin(p.graph, &spec, &now, &p.err), EDDY_INVALID_ARGUMENT,
         EDDY_E_SHAPE, "[3]");
    spec.shape_invariants = NULL;
    spec.name = "a:b";
    want(eddy_while_begin(p.graph, &spec, &now, &p.err), EDDY_INVALID_ARGUMENT,
         EDDY_E_BAD_NAME, "0x3a");
    spec.name = NULL;
    spec.initial = &(eddy_output){9999, 0};
    want(eddy_while_begin(p.graph, &spec, &now, &p.err), EDDY_INVALID_ARGUMENT,
         EDDY_E_UNKNOWN_INPUT, "9999");
    spec.size = 1;
    want(eddy_while_begin(p.graph, &spec, &now, &p.err), EDDY_INVALID_ARGUMENT,
         EDDY_E_ARGUMENT, "size");
    want_as(b);
}
END_TEST

START_TEST(a_predicate_is_a_boolean_scalar)
{
    const eddy_cond_spec spec = {.size = sizeof spec, .predicate = one};
    eddy_output now, vector;
    before b;

    program_build(&p, "v int64[3]=1");
    vector = program_output(&p, "v");
    construct_while(&p, &vector, 1, &now);
    b = look();
    want(eddy_while_body(p.graph, now, &now, &p.err), EDDY_INVALID_ARGUMENT,
         EDDY_E_PREDICATE, "int64");
    want_as(b);
    want(eddy_while_body(p.graph, program_binary(&p, "Less", now, one), &now,
                         &p.err),
         EDDY_INVALID_ARGUMENT, EDDY_E_PREDICATE, "[3]");
    ck_assert_str_eq(p.err.node, "while/Less");
    want(eddy_cond_begin(p.graph, &spec, &p.err), EDDY_INVALID_ARGUMENT,
         EDDY_E_PREDICATE, "int64");
}
END_TEST

START_TEST(next_values_fit_their_variables)
{
    const eddy_output initial[] = {zero, real_one};
    eddy_output now[2];
    before b;

    construct_while(&p, initial, 2, now);
    construct_body(&p, yes, now);
    b = look();
    want(eddy_while_end(p.graph, now, 1, now, &p.err), EDDY_INVALID_ARGUMENT,
         EDDY_E_INPUT_COUNT, "2 variables");
    want(eddy_while_end(p.graph, (eddy_output[]){now[1], now[1]}, 2, now,
                        &p.err),
         EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE, "variable 0");
    ck_assert_str_eq(p.err.node, "while/Identity_1");
    want(eddy_while_end(p.graph, (eddy_output[]){now[0], {now[1].node, 7}}, 2,
                        now, &p.err),
         EDDY_INVALID_ARGUMENT, EDDY_E_OUTPUT_INDEX, "index 7");
    want_as(b);
}
END_TEST

START_TEST(a_broken_shape_invariant_is_refused)
{
    const eddy_shape shapes[] = {{.rank = 0}, {.rank = 1, .dims = {-1}}};
    eddy_while_spec spec = {
        .size = sizeof spec, .n_variables = 2, .shape_invariants = shapes};
    eddy_output initial[] = {zero, {0, 0}}, now[2], next[2];

    program_build(&p, "v int64[3]=1\nm int64[3]=1\nd int32=0");
    initial[1] = program_output(&p, "v");
    spec.initial = initial;
    construct_while_with(&p, &spec, now);
    construct_body(&p, program_binary(&p, "Less", now[0], one), now);
    next[0] = program_binary(&p, "AddV2", now[0], one);
    next[1] = program_binary(&p, "ExpandDims", now[1], program_output(&p, "d"));
    want(eddy_while_end(p.graph, next, 2, next, &p.err), EDDY_INVALID_ARGUMENT,
         EDDY_E_SHAPE, "loop variable 1");
    next[0] = program_binary(&p, "AddV2", now[1], one);
    next[1] = now[1];
    want(eddy_while_end(p.graph, next, 2, next, &p.err), EDDY_INVALID_ARGUMENT,
         EDDY_E_SHAPE, "loop variable 0");
    next[0] = now[0];
    construct_end(&p, next, 2, next);
}
END_TEST

START_TEST(branches_have_like_results)
{
    const eddy_output two[] = {one, real_one}, wrong[] = {one, one};
    eddy_output out[2];
    before b;

    construct_cond(&p, yes);
    ck_assert_int_eq(eddy_cond_else(p.graph, two, 2, &p.err), EDDY_OK);
    b = look();
    want(eddy_cond_end(p.graph, two, 1, out, &p.err), EDDY_INVALID_ARGUMENT,
         EDDY_E_INPUT_COUNT, "2 results");
    want(eddy_cond_end(p.graph, wrong, 2, out, &p.err), EDDY_INVALID_ARGUMENT,
         EDDY_E_INPUT_DTYPE, "result 1");
    want_as(b);
    ck_assert_int_eq(eddy_cond_end(p.graph, two, 2, out, &p.err), EDDY_OK);
    ck_assert_int_eq(eddy_graph_output_dtype(p.graph, out[1]), EDDY_FLOAT32);
}
END_TEST

START_TEST(a_case_has_like_results_in_all_branches)
{
    const eddy_output predicates[] = {yes, yes, yes};
    const eddy_case_spec by_predicate = {.size = sizeof by_predicate,
                                         .predicates = predicates,
                                         .n_predicates = 3};
    eddy_switch_case_spec by_index = {.size = sizeof by_index, .n_branches = 3};
    before b;

    if (_i == 0) {
        ck_assert_int_eq(eddy_case_begin(p.graph, &by_predicate, &p.err),
                         EDDY_OK);
    } else {
        by_index.index = program_constant(&p, EDDY_INT32, &(int32_t){1});
        ck_assert_int_eq(eddy_switch_case_begin(p.graph, &by_index, &p.err),
                         EDDY_OK);
    }
    construct_next(&p, one);
    b = look();
    want(eddy_case_next(p.graph, &real_one, 1, &p.err), EDDY_INVALID_ARGUMENT,
         EDDY_E_INPUT_DTYPE, "result 0");
    want(eddy_case_next(p.graph, NULL, 0, &p.err), EDDY_INVALID_ARGUMENT,
         EDDY_E_INPUT_COUNT, "1 results");
    want_as(b);
    construct_next(&p, zero);
    want(eddy_case_end(p.graph, &real_one, 1, &(eddy_output){0, 0}, &p.err),
         EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE, "result 0");
    construct_end_case(&p, one);
}
END_TEST

START_TEST(an_index_is_an_int32_scalar)
{
    eddy_switch_case_spec spec = {.size = sizeof spec, .index = one};

    want(eddy_switch_case_begin(p.graph, &spec, &p.err), EDDY_INVALID_ARGUMENT,
         EDDY_E_INPUT_COUNT, "0 branches");
    spec.n_branches = 2;
    want(eddy_switch_case_begin(p.graph, &spec, &p.err), EDDY_INVALID_ARGUMENT,
         EDDY_E_INPUT_DTYPE, "int64");
    program_build(&p, "v int32[2]=0");
    spec.index = program_output(&p, "v");
    want(eddy_switch_case_begin(p.graph, &spec, &p.err), EDDY_INVALID_ARGUMENT,
         EDDY_E_SHAPE, "[2]");
}
END_TEST

START_TEST(a_node_that_is_wrong_leaves_no_captures)
{
    before b;

    construct_counted(&p, trips, zero);
    b = look();
    want(try_add(one, real_one), EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE,
         "float32");
    ck_assert_str_eq(p.err.node, "sum");
    want_as(b);
    ck_assert_int_eq(try_add(one, one), EDDY_OK);
    ck_assert_uint_eq(eddy_graph_size(p.graph), b.size + 2);
    want(try_add(one, one), EDDY_INVALID_ARGUMENT, EDDY_E_DUPLICATE_NODE,
         "same name");
    want(eddy_graph_add_op(p.graph, "Neg", "/x", &one, 1, NULL, &p.err),
         EDDY_INVALID_ARGUMENT, EDDY_E_BAD_NAME, "starts");
    want(eddy_graph_add_op(p.graph, "Nonsense", NULL, &one, 1, NULL, &p.err),
         EDDY_NOT_FOUND, EDDY_E_UNKNOWN_OP, "not registered");
}
END_TEST

/* ---- taking back ---- */

START_TEST(an_abort_takes_everything_back)
{
    const before b = look();
    counted outer = construct_counted(&p, trips, zero);
    eddy_output y;

    construct_cond(&p, yes);
    construct_counted(&p, trips, outer.now);
    try_add(one, outer.i);
    eddy_construct_abort(p.graph);
    ck_assert_uint_eq(eddy_construct_depth(p.graph), 2);
    /* The captures of the loop that is left are gone with it. */
    y = program_binary(&p, "AddV2", one, outer.i);
    construct_else(&p, y);
    y = construct_end_cond(&p, outer.i);
    construct_end_counted(&p, &outer, y);
    ck_assert_int_eq(construct_run_one(&p, outer.results[1], trips, 3), 3);
    construct_counted(&p, trips, outer.results[1]);
    eddy_construct_abort(p.graph);
    ck_assert_uint_eq(eddy_construct_depth(p.graph), b.depth);
    ck_assert_int_eq(construct_run_one(&p, outer.results[1], trips, 3), 3);
}
END_TEST

START_TEST(an_abort_frees_the_names)
{
    const before b = look();
    eddy_output now;

    construct_while(&p, &zero, 1, &now);
    ck_assert_int_eq(try_add(one, one), EDDY_OK);
    eddy_construct_abort(p.graph);
    want_as(b);
    ck_assert_uint_eq(eddy_graph_find(p.graph, "while/sum"), EDDY_NO_NODE);
    ck_assert_uint_eq(eddy_graph_find(p.graph, "while/Enter"), EDDY_NO_NODE);
    ck_assert_uint_ne(eddy_graph_find(p.graph, "trips"), EDDY_NO_NODE);
}
END_TEST

START_TEST(a_case_is_given_up_whole)
{
    const eddy_output predicates[] = {yes, yes, yes};
    const eddy_case_spec spec = {
        .size = sizeof spec, .predicates = predicates, .n_predicates = 3};
    const before b = look();

    ck_assert_int_eq(eddy_case_begin(p.graph, &spec, &p.err), EDDY_OK);
    construct_next(&p, one);
    construct_next(&p, one);
    ck_assert_uint_eq(eddy_construct_depth(p.graph), 1);
    eddy_construct_abort(p.graph);
    want_as(b);
}
END_TEST

/* ---- names ---- */

START_TEST(names_stand_in_the_scope)
{
    const char *scopes[] = {"while", "while_1", "x_1"};
    eddy_output now;

    program_build(&p, "x/y bool=1");
    for (int i = 0; i < 3; i++) {
        const eddy_while_spec spec = {.size = sizeof spec,
                                      .name = i < 2 ? NULL : "x",
                                      .initial = &zero,
                                      .n_variables = 1};
        char name[32];

        construct_while_with(&p, &spec, &now);
        ck_assert_str_eq(eddy_construct_scope(p.graph), scopes[i]);
        ck_assert_int_eq(try_add(now, one), EDDY_OK);
        snprintf(name, sizeof name, "%s/sum", scopes[i]);
        ck_assert_uint_ne(eddy_graph_find(p.graph, name), EDDY_NO_NODE);
        program_binary(&p, "AddV2", now, one);
        program_binary(&p, "AddV2", now, one);
        snprintf(name, sizeof name, "%s/AddV2_1", scopes[i]);
        ck_assert_uint_ne(eddy_graph_find(p.graph, name), EDDY_NO_NODE);
        construct_body(&p, yes, &now);
        construct_end(&p, &now, 1, &now);
    }
}
END_TEST

/* ---- functions ---- */

typedef struct countdown {
    eddy_output step;
    eddy_status body; /* what it returns */
    bool is_unbalanced;
} countdown;

static eddy_status is_positive(eddy_graph *graph, void *user,
                               const eddy_output *inputs, size_t n,
                               eddy_output *out, eddy_error *err)
{
    const eddy_output pair[] = {zero, inputs[0]};

    (void)user;
    ck_assert_uint_eq(n, 2);
    return eddy_graph_add_op(graph, "Less", "positive", pair, 2, out, err);
}

static eddy_status step_down(eddy_graph *graph, void *user,
                             const eddy_output *inputs, size_t n,
                             eddy_output *out, eddy_error *err)
{
    const countdown *c = user;
    const eddy_output left[] = {inputs[0], c->step};
    const eddy_output sum[] = {inputs[1], inputs[0]};
    const eddy_cond_spec spec = {.size = sizeof spec, .predicate = yes};

    ck_assert_uint_eq(n, 2);
    if (c->is_unbalanced && eddy_cond_begin(graph, &spec, err) != EDDY_OK)
        return err->code;
    if (c->body != EDDY_OK)
        return c->body;
    if (eddy_graph_add_op(graph, "Sub", "left", left, 2, &out[0], err) !=
        EDDY_OK)
        return err->code;
    return eddy_graph_add_op(graph, "AddV2", "sum", sum, 2, &out[1], err);
}

static eddy_status build_countdown(countdown *c, eddy_output *results)
{
    const eddy_output initial[] = {trips, zero};
    const eddy_while_spec spec = {
        .size = sizeof spec, .initial = initial, .n_variables = 2};
    const eddy_while_functions functions = {is_positive, step_down, c};

    return eddy_while_loop(p.graph, &spec, &functions, results, &p.err);
}

START_TEST(functions_build_a_loop)
{
    countdown c = {.step = one};
    eddy_output results[2];

    ck_assert_int_eq(build_countdown(&c, results), EDDY_OK);
    ck_assert_int_eq(construct_run_one(&p, results[1], trips, 4), 10);
    ck_assert_int_eq(construct_run_one(&p, results[1], trips, 0), 0);
    /* Their names are those of the scope, so they may be called again. */
    ck_assert_int_eq(build_countdown(&c, results), EDDY_OK);
    ck_assert_uint_ne(eddy_graph_find(p.graph, "while_1/left"), EDDY_NO_NODE);
}
END_TEST

START_TEST(a_function_that_fails_leaves_nothing)
{
    countdown c = {.step = one, .body = EDDY_ABORTED};
    eddy_output results[2] = {{7, 7}, {7, 7}};
    const before b = look();

    ck_assert_int_eq(build_countdown(&c, results), EDDY_ABORTED);
    want_as(b);
    c.is_unbalanced = true;
    ck_assert_int_eq(build_countdown(&c, results), EDDY_ABORTED);
    want_as(b);
    c.body = EDDY_OK;
    want(build_countdown(&c, results), EDDY_FAILED_PRECONDITION,
         EDDY_E_CONSTRUCT, "more or less");
    want_as(b);
    ck_assert_uint_eq(results[0].node, 7);
    c = (countdown){.step = real_one};
    want(build_countdown(&c, results), EDDY_INVALID_ARGUMENT,
         EDDY_E_INPUT_DTYPE, "float32");
    want_as(b);
}
END_TEST

/* Its user data is what it gives, twice. */
static eddy_status give_twice(eddy_graph *graph, void *user,
                              const eddy_output *inputs, size_t n,
                              eddy_output *out, eddy_error *err)
{
    const eddy_output *value = user;

    (void)graph;
    (void)err;
    ck_assert_ptr_null(inputs);
    for (size_t i = 0; i < n; i++)
        out[i] = *value;
    return EDDY_OK;
}

START_TEST(functions_build_branches)
{
    const eddy_branch branches[] = {{give_twice, &zero}, {give_twice, &one}};
    const eddy_output index = program_constant(&p, EDDY_INT32, &(int32_t){1});
    const eddy_output less = program_binary(&p, "Less", trips, one);
    const eddy_cond_spec cond = {.size = sizeof cond, .predicate = less};
    const eddy_case_spec by_predicate = {.size = sizeof by_predicate,
                                         .predicates = &less,
                                         .n_predicates = 1,
                                         .has_default = true};
    const eddy_switch_case_spec by_index = {
        .size = sizeof by_index, .index = index, .n_branches = 2};
    eddy_output out[3][2];

    ck_assert_int_eq(eddy_cond(p.graph, &cond, branches, 2, out[0], &p.err),
                     EDDY_OK);
    ck_assert_int_eq(
        eddy_case(p.graph, &by_predicate, branches, 2, out[1], &p.err),
        EDDY_OK);
    ck_assert_int_eq(
        eddy_switch_case(p.graph, &by_index, branches, 2, out[2], &p.err),
        EDDY_OK);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(construct_run_one(&p, out[i][1], trips, 0), 0);
        ck_assert_int_eq(construct_run_one(&p, out[i][1], trips, 5), 1);
    }
    ck_assert_int_eq(construct_run(&p, out[2][0], NULL, 0, 0), 1);
}
END_TEST

START_TEST(a_result_may_be_that_a_node_has_run)
{
    eddy_output done = {.index = EDDY_DONE}, ran;

    construct_cond(&p, yes);
    done.node = program_unary(&p, "Neg", trips).node;
    ck_assert_int_eq(eddy_cond_else(p.graph, &done, 1, &p.err), EDDY_OK);
    ran = construct_end_cond(&p, yes);
    ck_assert_int_eq(eddy_graph_output_dtype(p.graph, ran), EDDY_BOOL);
    ck_assert_int_eq(construct_run_one(&p, ran, trips, 1), 1);
}
END_TEST

/* ---- memory ---- */

/* Everything once: nested, captured, controlled from outside. */
static eddy_status build_all(eddy_graph *graph, eddy_error *err)
{
    const eddy_output initial[] = {zero, one};
    const eddy_output predicates[] = {yes, yes};
    const eddy_while_spec loop = {.size = sizeof loop,
                                  .initial = initial,
                                  .n_variables = 2,
                                  .maximum_iterations = &trips,
                                  .controls = &yes.node,
                                  .n_controls = 1};
    const eddy_case_spec choice = {.size = sizeof choice,
                                   .predicates = predicates,
                                   .n_predicates = 2,
                                   .is_exclusive = true};
    eddy_output now[2], next[2];
    eddy_status status = eddy_while_begin(graph, &loop, now, err);

    if (status == EDDY_OK)
        status = eddy_while_body(graph, yes, now, err);
    if (status == EDDY_OK)
        status = eddy_case_begin(graph, &choice, err);
    next[0] = trips;
    next[1] = now[0];
    if (status == EDDY_OK)
        status = eddy_graph_add_op(graph, "AddV2", NULL, next, 2, next, err);
    if (status == EDDY_OK)
        status = eddy_graph_add_control(graph, next[0].node, one.node, err);
    if (status == EDDY_OK)
        status = eddy_case_next(graph, next, 1, err);
    if (status == EDDY_OK)
        status = eddy_case_end(graph, &zero, 1, &next[0], err);
    next[1] = one;
    if (status == EDDY_OK)
        status = eddy_while_end(graph, next, 2, next, err);
    return status;
}

/* The n-th allocation fails: what is left is as it was, and works. */
START_TEST(memory_may_run_out_anywhere)
{
    bool failed = true;

    for (int n = 0; failed; n++) {
        const before b = look();
        eddy_status status;

        ck_assert_int_lt(n, 2000);
        counting_allocator_fail(&p.counting, n);
        status = build_all(p.graph, &p.err);
        counting_allocator_fail(&p.counting, -1);
        failed = status != EDDY_OK;
        if (failed) {
            program_want(&p, status, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY);
            while (eddy_construct_depth(p.graph) > 0)
                eddy_construct_abort(p.graph);
            want_as(b);
        }
    }
    ck_assert_int_eq(build_all(p.graph, &p.err), EDDY_OK);
}
END_TEST

TCase *builder_errors_tests(void)
{
    TCase *tc = tcase_create("builder_errors");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, nothing_is_ended_that_is_not_open);
    tcase_add_test(tc, an_outer_construct_is_not_ended_first);
    tcase_add_test(tc, the_parts_of_a_construct_come_in_order);
    tcase_add_test(tc, a_graph_is_used_once_all_is_closed);
    tcase_add_test(tc, a_value_of_an_ended_loop_is_refused);
    tcase_add_test(tc, a_value_of_the_other_branch_is_refused);
    tcase_add_test(tc, a_loop_does_not_start_from_a_value_of_another);
    tcase_add_test(tc, edges_of_nodes_outside_stay_as_they_are);
    tcase_add_test(tc, a_loop_begins_with_what_it_needs);
    tcase_add_test(tc, a_predicate_is_a_boolean_scalar);
    tcase_add_test(tc, next_values_fit_their_variables);
    tcase_add_test(tc, a_broken_shape_invariant_is_refused);
    tcase_add_test(tc, branches_have_like_results);
    tcase_add_loop_test(tc, a_case_has_like_results_in_all_branches, 0, 2);
    tcase_add_test(tc, an_index_is_an_int32_scalar);
    tcase_add_test(tc, a_node_that_is_wrong_leaves_no_captures);
    tcase_add_test(tc, an_abort_takes_everything_back);
    tcase_add_test(tc, an_abort_frees_the_names);
    tcase_add_test(tc, a_case_is_given_up_whole);
    tcase_add_test(tc, names_stand_in_the_scope);
    tcase_add_test(tc, functions_build_a_loop);
    tcase_add_test(tc, a_function_that_fails_leaves_nothing);
    tcase_add_test(tc, functions_build_branches);
    tcase_add_test(tc, a_result_may_be_that_a_node_has_run);
    tcase_add_test(tc, memory_may_run_out_anywhere);
    return tc;
}
