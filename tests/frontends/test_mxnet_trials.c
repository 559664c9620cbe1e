/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MXNet's loops in each other and in other constructs, saved and loaded,
 * differentiated, and built while memory runs out.
 */
#include "tests/aid/recipe.h"
#include "tests/aid/trial.h"
#include "tests/suites.h"

#include <string.h>

#define IN RECIPE_IN
#define OUTER RECIPE_OUTER
#define OP RECIPE_OP

static program p;

static const eddy_shape scalar_shape = {.rank = 0};

static void setup(void)
{
    program_init(&p, 0);
}

static void teardown(void)
{
    program_deinit(&p);
}

static trial_feed vector(int64_t n, const double *elements)
{
    return trial_placeholder(&p, EDDY_FLOAT64, &TRIAL_SHAPE(n), elements,
                             false);
}

static trial_feed scalar(double value)
{
    return trial_placeholder(&p, EDDY_FLOAT64, &scalar_shape, &value, true);
}

/* ---- foreach ---- */

/* h = decay * h + x * x: h and h * x are put out. */
static const recipe_op step_ops[] = {{"Mul", IN(1), OUTER(0)},
                                     {"Mul", IN(0), IN(0)},
                                     {"AddV2", OP(0), OP(1)},
                                     {"Mul", OP(2), IN(0)}};
static const int step_results[] = {OP(2), OP(3), OP(2)};

/* x, h before, decay; all and all times x, and the last. */
typedef struct model {
    trial_feed feeds[3];
    eddy_output results[3];
} model;

static model make_model(int64_t n)
{
    model m = {.feeds = {vector(n, NULL), scalar(0.75), scalar(-0.5)}};
    recipe body = RECIPE(step_ops, step_results);
    const eddy_mxnet_foreach_spec spec = {
        .size = sizeof spec,
        .inputs = &m.feeds[0].at,
        .n_inputs = 1,
        .states = &m.feeds[1].at,
        .n_states = 1,
        .n_outputs = 2,
        .body = recipe_build,
        .user = &body,
    };

    body.outer = &m.feeds[2].at;
    program_want_ok(&p, eddy_mxnet_foreach(p.graph, &spec, m.results,
                                           m.results + 2, &p.err));
    return m;
}

START_TEST(a_foreach_is_saved_and_loaded)
{
    const model m = make_model(_i);
    double all[4], times[4], h = 0.75;
    trial_result result;

    for (int i = 0; i < _i; i++) {
        const double x = i + 1;

        all[i] = h = -0.5 * h + x * x;
        times[i] = h * x;
    }
    result = trial_both(&p, m.feeds, 3, m.results[0]);
    trial_want(&result, &TRIAL_SHAPE(_i), all);
    result = trial_both(&p, m.feeds, 3, m.results[1]);
    trial_want(&result, &TRIAL_SHAPE(_i), times);
    result = trial_both(&p, m.feeds, 3, m.results[2]);
    trial_want(&result, &scalar_shape, &h);
}
END_TEST

/* Of all its results, for every number of steps. */
START_TEST(a_foreach_is_differentiated)
{
    const model m = make_model(_i / 2);
    const eddy_output both =
        program_binary(&p, "Mul", m.results[0],
                       program_binary(&p, "AddV2", m.results[1], m.results[2]));

    trial_gradients(&p, m.feeds, 3, _i % 2 ? both : m.results[2]);
}
END_TEST

/* Gradients of gradients, with respect to x: h is -0.5 h0 + x^2 after a step.
 */
START_TEST(a_foreach_is_differentiated_often)
{
    const model m = make_model(1);
    const double wanted[] = {-0.375 + 3, 6, 6}; /* of (-0.5 h0 + x^2) x */
    eddy_output y = m.results[1];

    for (int order = 0; order < 3; order++) {
        trial_result result;
        eddy_output dy;

        program_want_ok(&p, eddy_gradients(p.graph, &y, 1, &m.feeds[0].at, 1,
                                           NULL, &dy, &p.err));
        ck_assert_uint_ne(dy.node, EDDY_NO_NODE);
        y = dy;
        result = trial_run(&p, m.feeds, 3, y);
        trial_want(&result, &TRIAL_SHAPE(1), &wanted[order]);
    }
}
END_TEST

/* Of several steps: the gradient's own against central differences. */
START_TEST(a_gradient_is_differentiated)
{
    const model m = make_model(_i);
    eddy_output dx;

    program_want_ok(&p, eddy_gradients(p.graph, m.results, 2, &m.feeds[0].at, 1,
                                       NULL, &dx, &p.err));
    trial_gradients(&p, m.feeds, 3, dx);
}
END_TEST

/* ---- while_loop ---- */

static const recipe_op below_ops[] = {{"Less", IN(0), OUTER(0)}};
static const int below_results[] = {OP(0)};

/* h = h * w + h is put out with h * h; OUTER: limit, one, w. */
static const recipe_op grow_ops[] = {{"AddV2", IN(0), OUTER(1)},
                                     {"Mul", IN(1), OUTER(2)},
                                     {"AddV2", OP(1), IN(1)},
                                     {"Mul", OP(2), OP(2)}};
static const int grow_results[] = {OP(3), OP(0), OP(2)};

/* h before, w, the weights of the rows, the limit; `most` rows. */
typedef struct growth {
    trial_feed feeds[5];
    eddy_output rows, last;
} growth;

static eddy_status build_growth(growth *g, int64_t most, eddy_error *err)
{
    const eddy_output outer[] = {g->feeds[3].at, program_int(&p, 1),
                                 g->feeds[1].at};
    recipe_pair parts = {RECIPE(below_ops, below_results),
                         RECIPE(grow_ops, grow_results)};
    const eddy_output first[] = {program_int(&p, 0), g->feeds[0].at};
    const eddy_mxnet_while_spec spec = {
        .size = sizeof spec,
        .variables = first,
        .n_variables = 2,
        .n_outputs = 1,
        .condition = recipe_build_condition,
        .body = recipe_build_body,
        .user = &parts,
        .max_iterations = most,
        .max_iterations_from = most > 0 ? NULL : &g->feeds[4].at,
    };
    eddy_output variables[2];
    eddy_status status;

    parts.condition.outer = parts.body.outer = outer;
    status =
        eddy_mxnet_while_loop(p.graph, &spec, &g->rows, variables, NULL, err);
    g->last = variables[1];
    return status;
}

static growth make_growth(int64_t limit, int64_t most, bool is_static)
{
    const double limits[] = {(double)limit, (double)most};
    growth g = {.feeds = {scalar(0.5), scalar(0.25), vector(most, NULL),
                          trial_placeholder(&p, EDDY_INT64, &scalar_shape,
                                            limits, true),
                          trial_placeholder(&p, EDDY_INT64, &scalar_shape,
                                            limits + 1, true)}};

    program_want_ok(&p, build_growth(&g, is_static ? most : 0, &p.err));
    return g;
}

START_TEST(a_while_loop_is_saved_and_loaded)
{
    const int64_t limit = _i % 5, most = 3;
    const growth g = make_growth(limit, most, _i / 5);
    double rows[3] = {0}, h = 0.5;
    trial_result result;

    for (int64_t i = 0; i < limit && i < most; i++) {
        h = h * 0.25 + h;
        rows[i] = h * h;
    }
    result = trial_both(&p, g.feeds, 5, g.rows);
    trial_want(&result, &TRIAL_SHAPE(3), rows);
    result = trial_both(&p, g.feeds, 5, g.last);
    trial_want(&result, &scalar_shape, &h);
}
END_TEST

/* Rows times weights: those of the weights after the last step are zeros. */
START_TEST(a_while_loop_is_differentiated)
{
    const growth g = make_growth(_i % 5, 3, _i / 5);
    const eddy_output y = program_binary(
        &p, "Mul", program_binary(&p, "Mul", g.rows, g.feeds[2].at), g.last);

    trial_gradients(&p, g.feeds, 5, y);
}
END_TEST

/* The gradient with respect to the rows' weights, and what h0 gets of them. */
START_TEST(rows_after_the_last_pass_nothing_on)
{
    const growth g = make_growth(1, 3, true);
    const eddy_output y = program_binary(&p, "Mul", g.rows, g.feeds[2].at);
    eddy_output dw, dh;
    trial_result result;

    program_want_ok(&p, eddy_gradients(p.graph, &y, 1, &g.feeds[2].at, 1, NULL,
                                       &dw, &p.err));
    program_want_ok(&p, eddy_gradients(p.graph, &y, 1, &g.feeds[0].at, 1, NULL,
                                       &dh, &p.err));
    result = trial_run(&p, g.feeds, 5, dw);
    trial_want(&result, &TRIAL_SHAPE(3), PROGRAM_NUMBERS(0.390625, 0, 0));
    /* Of (1.25 h)^2 at h = 0.5 */
    result = trial_run(&p, g.feeds, 5, dh);
    trial_want(&result, &scalar_shape, PROGRAM_NUMBERS(1.5625));
}
END_TEST

/* ---- cond ---- */

static const recipe_op square_ops[] = {{"Mul", OUTER(0), OUTER(1)}};
static const recipe_op negate_ops[] = {{"Neg", OUTER(0), RECIPE_NONE}};
static const int first_result[] = {OP(0)};

START_TEST(a_cond_is_saved_and_differentiated)
{
    const double choice = _i;
    const trial_feed feeds[] = {
        scalar(3), scalar(4),
        trial_placeholder(&p, EDDY_INT32, &scalar_shape, &choice, true)};
    const eddy_output outer[] = {feeds[0].at, feeds[1].at};
    recipe_pair parts = {RECIPE(square_ops, first_result),
                         RECIPE(negate_ops, first_result)};
    const eddy_mxnet_cond_spec spec = {
        .size = sizeof spec,
        .predicate = feeds[2].at,
        .n_outputs = 1,
        .then = recipe_build_condition,
        .otherwise = recipe_build_body,
        .user = &parts,
    };
    eddy_output y;
    trial_result result;

    parts.condition.outer = parts.body.outer = outer;
    program_want_ok(&p, eddy_mxnet_cond(p.graph, &spec, &y, &p.err));
    result = trial_both(&p, feeds, 3, y);
    trial_want(&result, &scalar_shape, PROGRAM_NUMBERS(_i ? 12 : -3));
    trial_gradients(&p, feeds, 3, y);
}
END_TEST

/* ---- in each other ---- */

/* s = s * w + x, w two levels up, and then times what one level up is. */
static const recipe_op inner_ops[] = {{"Mul", IN(1), OUTER(0)},
                                      {"AddV2", OP(0), IN(0)},
                                      {"Mul", OP(1), OUTER(1)}};
static const int inner_results[] = {OP(2), OP(1)};

/* A step over a row: the inner foreach starts with the state of the outer. */
static eddy_status scan_row(eddy_graph *graph, void *user,
                            const eddy_output *inputs, size_t n,
                            eddy_output *out, eddy_error *err)
{
    const eddy_output outer[] = {*(const eddy_output *)user, inputs[1]};
    recipe body = RECIPE(inner_ops, inner_results);
    const eddy_mxnet_foreach_spec spec = {
        .size = sizeof spec,
        .inputs = inputs,
        .n_inputs = 1,
        .states = inputs + 1,
        .n_states = 1,
        .n_outputs = 1,
        .body = recipe_build,
        .user = &body,
    };

    (void)n;
    body.outer = outer;
    return eddy_mxnet_foreach(graph, &spec, out, out + 1, err);
}

/* A matrix, the first state, w; all rows and the last state. */
static void nest(const trial_feed *feeds, eddy_output results[2])
{
    eddy_output w = feeds[2].at;
    const eddy_mxnet_foreach_spec spec = {
        .size = sizeof spec,
        .inputs = &feeds[0].at,
        .n_inputs = 1,
        .states = &feeds[1].at,
        .n_states = 1,
        .n_outputs = 1,
        .body = scan_row,
        .user = &w,
    };

    program_want_ok(
        &p, eddy_mxnet_foreach(p.graph, &spec, results, results + 1, &p.err));
}

/* _i: rows and columns of 0 to 2. */
START_TEST(a_foreach_in_a_foreach)
{
    const int64_t rows = _i / 3, columns = _i % 3;
    const eddy_shape shape = TRIAL_SHAPE(rows, columns);
    const trial_feed feeds[] = {
        trial_placeholder(&p, EDDY_FLOAT64, &shape, NULL, true), scalar(0.5),
        scalar(0.75)};
    eddy_output results[2];
    double s = 0.5, all[4];
    trial_result result;

    for (int64_t i = 0; i < rows; i++) {
        const double before = s;

        for (int64_t j = 0; j < columns; j++) {
            s = s * 0.75 + (double)(i * columns + j + 1);
            all[i * columns + j] = s * before;
        }
    }
    nest(feeds, results);
    result = trial_both(&p, feeds, 3, results[0]);
    trial_want(&result, &shape, all);
    result = trial_both(&p, feeds, 3, results[1]);
    trial_want(&result, &scalar_shape, &s);
    if (rows * columns > 0)
        trial_gradients(&p, feeds, 3,
                        program_binary(&p, "Mul", results[0], results[1]));
    else
        trial_gradients(&p, feeds, 3, results[1]);
}
END_TEST

/* In the body of the builder's loop: x is folded, `trips` times over. */
START_TEST(a_foreach_in_a_while_loop)
{
    const double trips = _i;
    const trial_feed feeds[] = {
        vector(3, NULL), scalar(0.5), scalar(0.75),
        trial_placeholder(&p, EDDY_INT64, &scalar_shape, &trips, true)};
    counted c = construct_counted(&p, feeds[3].at, feeds[1].at);
    const eddy_output inputs[] = {feeds[0].at, c.now};
    eddy_output w = feeds[2].at, out[2];
    double s = 0.5;
    trial_result result;

    program_want_ok(&p, scan_row(p.graph, &w, inputs, 2, out, &p.err));
    construct_end_counted(&p, &c, out[1]);
    for (int i = 0; i < 3 * _i; i++)
        s = s * 0.75 + i % 3 + 1;
    result = trial_both(&p, feeds, 4, c.results[1]);
    trial_want(&result, &scalar_shape, &s);
    trial_gradients(&p, feeds, 4, c.results[1]);
}
END_TEST

/* In a branch: nothing of it runs where the other is taken. */
START_TEST(a_foreach_in_a_branch)
{
    const double choice = _i;
    const trial_feed feeds[] = {
        vector(3, NULL), scalar(0.5), scalar(0.75),
        trial_placeholder(&p, EDDY_BOOL, &scalar_shape, &choice, true)};
    const eddy_output inputs[] = {feeds[0].at, feeds[1].at};
    eddy_output w = feeds[2].at, out[2], y;
    double s = 0.5;
    trial_result result;

    construct_cond(&p, feeds[3].at);
    program_want_ok(&p, scan_row(p.graph, &w, inputs, 2, out, &p.err));
    construct_else(&p, out[1]);
    y = construct_end_cond(&p, feeds[1].at);
    for (int i = 0; i < 3 && _i; i++)
        s = s * 0.75 + i + 1;
    result = trial_both(&p, feeds, 4, y);
    trial_want(&result, &scalar_shape, &s);
    trial_gradients(&p, feeds, 4, y);
}
END_TEST

/* s = s + x, x times if x is odd and once if it is even: a loop and a branch
 * in the step of a foreach. */
static eddy_status mixed_step(eddy_graph *graph, void *user,
                              const eddy_output *inputs, size_t n,
                              eddy_output *out, eddy_error *err)
{
    counted c;
    eddy_output odd;

    (void)graph;
    (void)user;
    (void)n;
    (void)err;
    odd = program_binary(&p, "FloorMod", inputs[0], program_int(&p, 2));
    odd = program_binary(&p, "Equal", odd, program_int(&p, 1));
    construct_cond(&p, odd);
    c = construct_counted(&p, inputs[0], inputs[1]);
    construct_end_counted(&p, &c,
                          program_binary(&p, "AddV2", c.now, inputs[0]));
    construct_else(&p, c.results[1]);
    out[1] = construct_end_cond(
        &p, program_binary(&p, "AddV2", inputs[1], inputs[0]));
    out[0] = out[1];
    return EDDY_OK;
}

START_TEST(a_loop_and_a_branch_in_a_foreach)
{
    const trial_feed feed =
        trial_placeholder(&p, EDDY_INT64, &TRIAL_SHAPE(5), NULL, false);
    const eddy_output zero = program_int(&p, 0);
    const eddy_mxnet_foreach_spec spec = {
        .size = sizeof spec,
        .inputs = &feed.at,
        .n_inputs = 1,
        .states = &zero,
        .n_states = 1,
        .n_outputs = 1,
        .body = mixed_step,
    };
    eddy_output all, last;
    trial_result result;

    program_want_ok(&p,
                    eddy_mxnet_foreach(p.graph, &spec, &all, &last, &p.err));
    result = trial_both(&p, &feed, 1, all);
    trial_want(&result, &TRIAL_SHAPE(5), PROGRAM_NUMBERS(1, 3, 12, 16, 41));
}
END_TEST

/* A variable that grows, whose rows are mapped in every step. */
static const recipe_op double_ops[] = {{"AddV2", IN(0), IN(0)}};

static eddy_status grow_step(eddy_graph *graph, void *user,
                             const eddy_output *inputs, size_t n,
                             eddy_output *out, eddy_error *err)
{
    recipe body = RECIPE(double_ops, first_result);
    const eddy_mxnet_foreach_spec spec = {
        .size = sizeof spec,
        .inputs = inputs + 1,
        .n_inputs = 1,
        .n_outputs = 1,
        .body = recipe_build,
        .user = &body,
    };
    eddy_output three[] = {
        inputs[1],
        {0, 0},
        program_binary(&p, "Sub", program_int(&p, 2), program_int(&p, 1))};

    (void)user;
    (void)n;
    program_want_ok(&p, eddy_mxnet_foreach(graph, &spec, &three[1], NULL, err));
    out[0] = program_binary(&p, "AddV2", inputs[0], program_int(&p, 1));
    return eddy_graph_add_op(graph, "ConcatV2", NULL, three, 3, out + 1, err);
}

START_TEST(rows_of_what_grows_are_mapped)
{
    const trial_feed feeds[] = {
        trial_placeholder(&p, EDDY_FLOAT64, &TRIAL_SHAPE(2, 1), NULL, true)};
    const eddy_output limit = program_int(&p, 2);
    recipe_pair parts = {RECIPE(below_ops, below_results),
                         RECIPE(below_ops, below_results)};
    const eddy_output first[] = {program_int(&p, 0), feeds[0].at};
    const eddy_mxnet_while_spec spec = {
        .size = sizeof spec,
        .variables = first,
        .n_variables = 2,
        .condition = recipe_build_condition,
        .body = grow_step,
        .user = &parts,
    };
    eddy_output last[2];
    trial_result result;

    parts.condition.outer = &limit;
    program_want_ok(
        &p, eddy_mxnet_while_loop(p.graph, &spec, NULL, last, NULL, &p.err));
    result = trial_both(&p, feeds, 1, last[1]);
    trial_want(&result, &TRIAL_SHAPE(2, 4),
               PROGRAM_NUMBERS(1, 2, 2, 4, 2, 4, 4, 8));
}
END_TEST

/* ---- memory ---- */

static eddy_output some[3]; /* x, a scalar, a number */

static eddy_status build_a_foreach(program *at, eddy_error *err)
{
    recipe body = RECIPE(step_ops, step_results);
    const eddy_output inputs[] = {some[0], some[0]};
    const eddy_mxnet_foreach_spec spec = {
        .size = sizeof spec,
        .inputs = inputs,
        .n_inputs = 1,
        .states = &some[1],
        .n_states = 1,
        .n_outputs = 2,
        .body = recipe_build,
        .user = &body,
    };
    eddy_output results[3];

    body.outer = &some[1];
    return eddy_mxnet_foreach(at->graph, &spec, results, results + 2, err);
}

static eddy_status build_a_while(program *at, eddy_error *err)
{
    recipe_pair parts = {RECIPE(below_ops, below_results),
                         RECIPE(grow_ops, grow_results)};
    const eddy_output outer[] = {some[2], some[2], some[1]};
    const eddy_output first[] = {some[2], some[1]};
    const eddy_mxnet_while_spec spec = {
        .size = sizeof spec,
        .variables = first,
        .n_variables = 2,
        .n_outputs = 1,
        .condition = recipe_build_condition,
        .body = recipe_build_body,
        .user = &parts,
        .max_iterations_from = &some[2],
    };
    eddy_output results[3];

    parts.condition.outer = parts.body.outer = outer;
    return eddy_mxnet_while_loop(at->graph, &spec, results, results + 1, NULL,
                                 err);
}

static eddy_status build_a_cond(program *at, eddy_error *err)
{
    recipe_pair parts = {RECIPE(square_ops, first_result),
                         RECIPE(negate_ops, first_result)};
    const eddy_mxnet_cond_spec spec = {
        .size = sizeof spec,
        .predicate = some[0],
        .n_outputs = 1,
        .then = recipe_build_condition,
        .otherwise = recipe_build_body,
        .user = &parts,
    };
    eddy_output y;

    parts.condition.outer = parts.body.outer = some;
    return eddy_mxnet_cond(at->graph, &spec, &y, err);
}

static const trial_build_fn builders[] = {build_a_foreach, build_a_while,
                                          build_a_cond};

START_TEST(memory_may_be_short)
{
    /* Of one element as far as anybody knows, so that a predicate it may be. */
    some[0] = vector(1, NULL).at;
    some[1] = scalar(1).at;
    some[2] = program_int(&p, 0);
    trial_memory(&p, builders[_i]);
}
END_TEST

TCase *mxnet_trials_tests(void)
{
    TCase *tc = tcase_create("mxnet_trials");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, a_foreach_is_saved_and_loaded, 0, 4);
    tcase_add_loop_test(tc, a_foreach_is_differentiated, 0, 8);
    tcase_add_test(tc, a_foreach_is_differentiated_often);
    tcase_add_loop_test(tc, a_gradient_is_differentiated, 1, 4);
    tcase_add_loop_test(tc, a_while_loop_is_saved_and_loaded, 0, 10);
    tcase_add_loop_test(tc, a_while_loop_is_differentiated, 0, 10);
    tcase_add_test(tc, rows_after_the_last_pass_nothing_on);
    tcase_add_loop_test(tc, a_cond_is_saved_and_differentiated, 0, 2);
    tcase_add_loop_test(tc, a_foreach_in_a_foreach, 0, 9);
    tcase_add_loop_test(tc, a_foreach_in_a_while_loop, 0, 3);
    tcase_add_loop_test(tc, a_foreach_in_a_branch, 0, 2);
    tcase_add_test(tc, a_loop_and_a_branch_in_a_foreach);
    tcase_add_test(tc, rows_of_what_grows_are_mapped);
    tcase_add_loop_test(tc, memory_may_be_short, 0, 3);
    return tc;
}
