/* SPDX-License-Identifier: Apache-2.0 */
/* MXNet's while_loop whose condition never holds: its outputs are zeros. */
#include "tests/aid/construct.h"
#include "tests/aid/recipe.h"
#include "tests/suites.h"

#include <string.h>

#define IN RECIPE_IN
#define OUTER RECIPE_OUTER
#define OP RECIPE_OP

static program p;
static eddy_immediate *now;

static void setup(void)
{
    program_init(&p, 0);
    program_want_ok(&p, eddy_immediate_create(p.ctx, NULL, &now, &p.err));
}

static void teardown(void)
{
    eddy_immediate_destroy(now);
    program_deinit(&p);
}

/* While i < limit: put out v * v, then i += 1, v = v + v. */
static const recipe_op ask_ops[] = {{"Less", IN(0), OUTER(0)}};
static const int ask_results[] = {OP(0)};
static const recipe_op step_ops[] = {
    {"Mul", IN(1), IN(1)}, {"AddV2", IN(0), OUTER(1)}, {"AddV2", IN(1), IN(1)}};
static const int step_results[] = {OP(0), OP(1), OP(2)};

/* ---- in a graph ---- */

typedef struct built {
    eddy_output v, limit, results[4]; /* squares, i, v, steps */
} built;

/* A loop of at most 4 steps over a v of which `shape` is known. */
static built build(const eddy_shape *shape, recipe_pair *parts)
{
    built b = {.limit = construct_feed(&p, "limit", EDDY_INT64)};
    const eddy_output outer[] = {b.limit, program_int(&p, 1)};
    eddy_output variables[] = {program_int(&p, 0), {0, 0}};
    const eddy_mxnet_while_spec spec = {
        .size = sizeof spec,
        .variables = variables,
        .n_variables = 2,
        .n_outputs = 1,
        .condition = recipe_build_condition,
        .body = recipe_build_body,
        .user = parts,
        .max_iterations = 4,
    };

    program_want_ok(&p, eddy_graph_add_placeholder(p.graph, "v", EDDY_FLOAT32,
                                                   shape, &b.v, &p.err));
    variables[1] = b.v;
    parts->condition.outer = parts->body.outer = outer;
    program_want_ok(&p, eddy_mxnet_while_loop(p.graph, &spec, b.results,
                                              b.results + 1, b.results + 3,
                                              &p.err));
    return b;
}

static eddy_status run(const built *b, eddy_output fetch, int64_t limit)
{
    static const float values[] = {1, 2, 3};
    const eddy_shape shape = {.rank = 1, .dims = {3}};
    const eddy_output feeds[] = {b->v, b->limit};
    eddy_tensor *v = program_tensor(&p, EDDY_FLOAT32, &shape, values);

    construct_plan(&p, fetch, feeds, 2);
    program_make_run(&p);
    program_want_ok(&p, eddy_run_feed(p.run, 0, v, &p.err));
    eddy_tensor_release(v);
    program_feed_int(&p, 1, limit);
    return program_execute(&p);
}

static const eddy_shape shapes[] = {
    {.rank = 1, .dims = {3}}, {.rank = 1, .dims = {-1}}, {.rank = -1}};

START_TEST(in_a_graph_outputs_of_no_steps_are_zeros)
{
    recipe_pair parts = {RECIPE(ask_ops, ask_results),
                         RECIPE(step_ops, step_results)};
    const built b = build(&shapes[_i], &parts);

    program_want_ok(&p, run(&b, b.results[0], 0));
    program_want_fetch(&p, 0, PROGRAM_DIMS(4, 3), (const double[12]){0});
    program_want_ok(&p, run(&b, b.results[3], 0));
    ck_assert_int_eq(program_fetch_int(&p, 0), 0);
    program_want_ok(&p, run(&b, b.results[0], 2));
    program_want_fetch(&p, 0, PROGRAM_DIMS(4, 3),
                       PROGRAM_NUMBERS(1, 4, 9, 4, 16, 36, 0, 0, 0, 0, 0, 0));
    program_want_ok(&p, run(&b, b.results[2], 0));
    program_want_fetch(&p, 0, PROGRAM_DIMS(3), PROGRAM_NUMBERS(1, 2, 3));
}
END_TEST

/* d sum(squares of two steps) / d v = 2 v + 8 v; of no steps 0. */
START_TEST(gradients_go_around_the_trial)
{
    recipe_pair parts = {RECIPE(ask_ops, ask_results),
                         RECIPE(step_ops, step_results)};
    const built b = build(&shapes[_i], &parts);
    eddy_output dv;

    program_want_ok(
        &p, eddy_gradients(p.graph, b.results, 1, &b.v, 1, NULL, &dv, &p.err));
    program_want_ok(&p, run(&b, dv, 2));
    program_want_fetch(&p, 0, PROGRAM_DIMS(3), PROGRAM_NUMBERS(10, 20, 30));
    program_want_ok(&p, run(&b, dv, 0));
    program_want_fetch(&p, 0, PROGRAM_DIMS(3), PROGRAM_NUMBERS(0, 0, 0));
}
END_TEST

/* A step that has an effect is not tried: such a run fails as before. */
START_TEST(a_step_with_an_effect_is_not_tried)
{
    static const recipe_op ops[] = {{"RandomShuffle", IN(1), RECIPE_NONE},
                                    {"AddV2", IN(0), OUTER(1)}};
    static const int results[] = {OP(0), OP(1), IN(1)};
    recipe_pair parts = {RECIPE(ask_ops, ask_results), RECIPE(ops, results)};
    const built b = build(&shapes[2], &parts);

    ck_assert_uint_eq(parts.body.calls, 1);
    program_want(&p, run(&b, b.results[0], 0), EDDY_INVALID_ARGUMENT,
                 EDDY_E_UNINITIALIZED);
}
END_TEST

/* ---- at once ---- */

static eddy_tensor *integer(int64_t value)
{
    return program_tensor(&p, EDDY_INT64, &(eddy_shape){.rank = 0}, &value);
}

/* The loop with the limit 0; puts out the outputs and the two variables. */
static eddy_status run_now(recipe_pair *parts, eddy_tensor *const *variables,
                           eddy_tensor *out[3], int64_t *steps)
{
    eddy_tensor *outer[] = {integer(0), integer(1)};
    const eddy_mxnet_while_now_spec spec = {
        .size = sizeof spec,
        .variables = variables,
        .n_variables = 2,
        .n_outputs = 1,
        .condition = recipe_run_condition,
        .body = recipe_run_body,
        .user = parts,
        .max_iterations = 4,
    };
    eddy_status status;

    parts->condition.outer_tensors = parts->body.outer_tensors = outer;
    status = eddy_mxnet_while_loop_now(now, &spec, out, out + 1, steps, &p.err);
    for (size_t i = 0; i < 2; i++)
        eddy_tensor_release(outer[i]);
    return status;
}

START_TEST(at_once_outputs_of_no_steps_are_zeros)
{
    static const float values[] = {1, 2, 3};
    static const float zeros[12] = {0};
    recipe_pair parts = {RECIPE(ask_ops, ask_results),
                         RECIPE(step_ops, step_results)};
    eddy_tensor *variables[] = {
        integer(0), program_tensor(&p, EDDY_FLOAT32, &shapes[0], values)};
    eddy_tensor *out[3];
    int64_t steps;

    program_want_ok(&p, run_now(&parts, variables, out, &steps));
    ck_assert_int_eq(steps, 0);
    ck_assert_int_eq(eddy_tensor_shape(out[0])->rank, 2);
    ck_assert_int_eq(eddy_tensor_shape(out[0])->dims[0], 4);
    ck_assert_int_eq(eddy_tensor_shape(out[0])->dims[1], 3);
    ck_assert_mem_eq(eddy_tensor_data(out[0]), zeros, sizeof zeros);
    ck_assert_ptr_eq(out[2], variables[1]);
    for (size_t i = 0; i < 3; i++)
        eddy_tensor_release(out[i]);
    for (size_t i = 0; i < 2; i++)
        eddy_tensor_release(variables[i]);
}
END_TEST

/* A trial that fails is no error of its own. */
START_TEST(a_trial_that_fails_says_what_is_missing)
{
    static const recipe_op ops[] = {{"MatMul", IN(1), IN(1)}};
    static const int results[] = {OP(0), IN(0), IN(1)};
    static const float value = 1;
    recipe_pair parts = {RECIPE(ask_ops, ask_results), RECIPE(ops, results)};
    eddy_tensor *variables[] = {
        integer(0),
        program_tensor(&p, EDDY_FLOAT32, &(eddy_shape){.rank = 0}, &value)};
    eddy_tensor *out[3];

    program_want(&p, run_now(&parts, variables, out, NULL),
                 EDDY_INVALID_ARGUMENT, EDDY_E_UNINITIALIZED);
    for (size_t i = 0; i < 2; i++)
        eddy_tensor_release(variables[i]);
}
END_TEST

TCase *mxnet_no_steps_tests(void)
{
    TCase *tcase = tcase_create("mxnet_no_steps");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, in_a_graph_outputs_of_no_steps_are_zeros, 0, 3);
    tcase_add_loop_test(tcase, gradients_go_around_the_trial, 0, 3);
    tcase_add_test(tcase, a_step_with_an_effect_is_not_tried);
    tcase_add_test(tcase, at_once_outputs_of_no_steps_are_zeros);
    tcase_add_test(tcase, a_trial_that_fails_says_what_is_missing);
    return tcase;
}
