/* SPDX-License-Identifier: Apache-2.0 */
/* MXNet's loops and branches in graphs, against loops in C. */
#include "tests/aid/construct.h"
#include "tests/aid/recipe.h"
#include "tests/suites.h"

#include <string.h>

#define IN RECIPE_IN
#define OUTER RECIPE_OUTER
#define OP RECIPE_OP
#define N_OF(array) (sizeof(array) / sizeof(array)[0])

static program p;

static void setup(void)
{
    program_init(&p, 0);
}

static void teardown(void)
{
    program_deinit(&p);
}

/* ---- values ---- */

static eddy_shape shape_of(int32_t rank, int64_t first, int64_t second)
{
    return (eddy_shape){.rank = rank, .dims = {first, second}};
}

/* An element of a dtype that the tests use. */
static void put(eddy_dtype dtype, void *data, int64_t i, double value)
{
    switch (dtype) {
    case EDDY_FLOAT32:
        ((float *)data)[i] = (float)value;
        break;
    case EDDY_FLOAT64:
        ((double *)data)[i] = value;
        break;
    case EDDY_INT32:
        ((int32_t *)data)[i] = (int32_t)value;
        break;
    default:
        ((int64_t *)data)[i] = (int64_t)value;
        break;
    }
}

/* A constant of that shape: first, first + 1, ... */
static eddy_output ramp(eddy_dtype dtype, eddy_shape shape, double first)
{
    eddy_tensor *tensor;
    eddy_output out = {0, 0};

    program_want_ok(&p,
                    eddy_tensor_create(p.ctx, dtype, &shape, &tensor, &p.err));
    for (int64_t i = 0; i < eddy_tensor_count(tensor); i++)
        put(dtype, eddy_tensor_mutable_data(tensor), i, first + (double)i);
    program_want_ok(&p,
                    eddy_graph_add_const(p.graph, NULL, tensor, &out, &p.err));
    eddy_tensor_release(tensor);
    return out;
}

static eddy_output scalar(eddy_dtype dtype, double value)
{
    return ramp(dtype, shape_of(0, 0, 0), value);
}

static eddy_output feed(const char *name, eddy_dtype dtype)
{
    const eddy_shape unknown = {.rank = -1};
    eddy_output out = {0, 0};

    program_want_ok(&p, eddy_graph_add_placeholder(p.graph, name, dtype,
                                                   &unknown, &out, &p.err));
    return out;
}

/* ---- loops ---- */

static void foreach_spec(const eddy_mxnet_foreach_spec *spec,
                         eddy_output *outputs, eddy_output *states)
{
    program_want_ok(&p,
                    eddy_mxnet_foreach(p.graph, spec, outputs, states, &p.err));
}

/* Over one input; outputs and states are what the recipe has beyond. */
static void foreach_one(recipe *body, eddy_output input,
                        const eddy_output *states, size_t n_states,
                        eddy_output *outputs, eddy_output *last)
{
    const eddy_mxnet_foreach_spec spec = {
        .size = sizeof spec,
        .inputs = &input,
        .n_inputs = 1,
        .states = states,
        .n_states = n_states,
        .n_outputs = body->n_results - n_states,
        .body = recipe_build,
        .user = body,
    };

    foreach_spec(&spec, outputs, last);
}

/* h = decay * h + x, and h is put out: decay is OUTER(0). */
static const recipe_op decay_ops[] = {{"Mul", IN(1), OUTER(0)},
                                      {"AddV2", OP(0), IN(0)}};
static const int decay_results[] = {OP(1), OP(1)};

static const eddy_dtype dtypes[] = {EDDY_FLOAT32, EDDY_FLOAT64, EDDY_INT32,
                                    EDDY_INT64};
static const int64_t lengths[] = {0, 1, 2, 7};

/* Rows of two, in every dtype and length; _i counts both. */
START_TEST(foreach_computes)
{
    const eddy_dtype dtype = dtypes[_i % 4];
    const int64_t n = lengths[_i / 4];
    recipe body = RECIPE(decay_ops, decay_results);
    const eddy_output decay = scalar(dtype, 2);
    const eddy_output first = ramp(dtype, shape_of(1, 2, 0), 10);
    eddy_output fetches[2];
    double h[] = {10, 11}, all[14];

    body.outer = &decay;
    foreach_one(&body, ramp(dtype, shape_of(2, n, 2), 1), &first, 1, fetches,
                fetches + 1);
    ck_assert_uint_eq(body.calls, 1);
    for (int64_t i = 0; i < 2 * n; i++)
        all[i] = h[i % 2] = 2 * h[i % 2] + 1 + (double)i;
    program_plan_outputs(&p, fetches, 2);
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(n, 2), all);
    program_want_fetch(&p, 1, PROGRAM_DIMS(2), h);
}
END_TEST

/* Lengths that only a run knows; _i says which of two are fed. */
START_TEST(lengths_come_at_run_time)
{
    static const recipe_op ops[] = {{"Mul", IN(0), IN(1)},
                                    {"AddV2", IN(2), OP(0)}};
    static const int results[] = {OP(0), OP(1)};
    static const float x[] = {1, 2, 3};
    recipe body = RECIPE(ops, results);
    const eddy_output inputs[] = {
        feed("x", EDDY_FLOAT32), _i ? feed("y", EDDY_FLOAT32)
                                    : ramp(EDDY_FLOAT32, shape_of(1, 3, 0), 5)};
    const eddy_output zero = scalar(EDDY_FLOAT32, 0);
    const eddy_mxnet_foreach_spec spec = {
        .size = sizeof spec,
        .inputs = inputs,
        .n_inputs = 2,
        .states = &zero,
        .n_states = 1,
        .n_outputs = 1,
        .body = recipe_build,
        .user = &body,
    };
    eddy_output all, last;

    foreach_spec(&spec, &all, &last);
    construct_plan(&p, last, inputs, 1 + (size_t)_i);
    program_feed_floats(&p, 0, x, 3);
    if (_i)
        program_feed_floats(&p, 1, x, 3);
    program_run(&p);
    ck_assert(program_fetch_float(&p, 0) == (_i ? 14 : 5 + 12 + 21));
    program_feed_floats(&p, 0, x, 2);
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT,
                 EDDY_E_ASSERTION);
}
END_TEST

START_TEST(a_map_has_no_states)
{
    static const recipe_op ops[] = {{"Square", IN(0), RECIPE_NONE},
                                    {"Neg", IN(0), RECIPE_NONE}};
    static const int results[] = {OP(0), OP(1), OUTER(0)};
    recipe body = RECIPE(ops, results);
    const eddy_output outer = scalar(EDDY_INT32, 8);
    eddy_output fetches[3];

    body.outer = &outer;
    foreach_one(&body, ramp(EDDY_INT64, shape_of(1, 3, 0), 2), NULL, 0, fetches,
                NULL);
    program_plan_outputs(&p, fetches, 3);
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(3), PROGRAM_NUMBERS(4, 9, 16));
    program_want_fetch(&p, 1, PROGRAM_DIMS(3), PROGRAM_NUMBERS(-2, -3, -4));
    program_want_fetch(&p, 2, PROGRAM_DIMS(3), PROGRAM_NUMBERS(8, 8, 8));
}
END_TEST

START_TEST(a_fold_has_no_outputs)
{
    static const recipe_op ops[] = {{"AddV2", IN(0), IN(1)},
                                    {"Mul", IN(0), IN(2)}};
    static const int results[] = {OP(0), OP(1)};
    recipe body = RECIPE(ops, results);
    const eddy_output first[] = {scalar(EDDY_INT32, 0), scalar(EDDY_INT32, 1)};
    eddy_output fetches[2];

    foreach_one(&body, ramp(EDDY_INT32, shape_of(1, 5, 0), 1), first, 2, NULL,
                fetches);
    program_plan_outputs(&p, fetches, 2);
    program_run(&p);
    program_want_fetch(&p, 0, 0, NULL, PROGRAM_NUMBERS(15));
    program_want_fetch(&p, 1, 0, NULL, PROGRAM_NUMBERS(120));
}
END_TEST

/* ---- while_loop ---- */

/* i < OUTER(0) */
static const recipe_op below_ops[] = {{"Less", IN(0), OUTER(0)}};
static const int below_results[] = {OP(0)};

/* i + s is put out; i = i + 1, s = s + i: OUTER(1) is one. */
static const recipe_op triangle_ops[] = {{"AddV2", IN(0), IN(1)},
                                         {"AddV2", IN(0), OUTER(1)}};
static const int triangle_results[] = {OP(0), OP(1), OP(0)};

static eddy_mxnet_while_spec while_spec(recipe_pair *parts,
                                        const eddy_output *variables, size_t n)
{
    return (eddy_mxnet_while_spec){
        .size = sizeof(eddy_mxnet_while_spec),
        .variables = variables,
        .n_variables = n,
        .n_outputs = parts->body.n_results - n,
        .condition = recipe_build_condition,
        .body = recipe_build_body,
        .user = parts,
    };
}

/* The documentation's example; the limit is fed, at most _i steps. */
static void check_triangle(eddy_mxnet_while_spec spec, int64_t most)
{
    recipe_pair parts = {RECIPE(below_ops, below_results),
                         RECIPE(triangle_ops, triangle_results)};
    const eddy_output outer[] = {construct_feed(&p, "limit", EDDY_INT64),
                                 program_int(&p, 1)};
    const eddy_output first[] = {program_int(&p, 0), program_int(&p, 1)};
    const eddy_mxnet_while_spec own = while_spec(&parts, first, 2);
    eddy_output fetches[4];

    parts.condition.outer = parts.body.outer = outer;
    spec.variables = own.variables;
    spec.n_variables = own.n_variables;
    spec.n_outputs = own.n_outputs;
    spec.condition = own.condition;
    spec.body = own.body;
    spec.user = own.user;
    program_want_ok(&p,
                    eddy_mxnet_while_loop(p.graph, &spec, fetches, fetches + 1,
                                          fetches + 3, &p.err));
    ck_assert_uint_eq(parts.body.calls + parts.condition.calls, 2);
    for (int64_t limit = 0; limit < 5; limit++) {
        const int64_t steps = limit < most ? limit : most;
        double rows[8] = {0};
        int64_t s = 1;

        for (int64_t i = 0; i < steps; i++)
            rows[i] = (double)(s = s + i);
        ck_assert_int_eq(construct_run_one(&p, fetches[1], outer[0], limit),
                         steps);
        ck_assert_int_eq(construct_run_one(&p, fetches[2], outer[0], limit), s);
        ck_assert_int_eq(construct_run_one(&p, fetches[3], outer[0], limit),
                         steps);
        construct_plan(&p, fetches[0], outer, 1);
        program_feed_int(&p, 0, limit);
        program_run(&p);
        program_want_fetch(&p, 0, PROGRAM_DIMS(most), rows);
    }
}

START_TEST(outputs_are_stacked_up_to_a_maximum)
{
    const eddy_mxnet_while_spec spec = {.size = sizeof spec,
                                        .max_iterations = _i};

    check_triangle(spec, _i);
}
END_TEST

static const eddy_dtype integers[] = {
    EDDY_INT8,  EDDY_INT16,  EDDY_INT32,  EDDY_INT64,
    EDDY_UINT8, EDDY_UINT16, EDDY_UINT32, EDDY_UINT64,
};

START_TEST(the_maximum_may_be_a_tensor)
{
    const uint64_t three = 3;
    const eddy_output most = program_constant(&p, integers[_i], &three);
    const eddy_mxnet_while_spec spec = {.size = sizeof spec,
                                        .max_iterations_from = &most};

    check_triangle(spec, 3);
}
END_TEST

/* More than an int32 holds is no less than that. */
START_TEST(a_maximum_may_be_very_large)
{
    const int64_t large = ((int64_t)1 << 32) + 2;
    const eddy_output most = program_int(&p, large);
    static const recipe_op ops[] = {{"AddV2", IN(0), OUTER(1)}};
    static const int results[] = {OP(0)};
    recipe_pair parts = {RECIPE(below_ops, below_results),
                         RECIPE(ops, results)};
    const eddy_output outer[] = {program_int(&p, 9), program_int(&p, 1)};
    const eddy_output zero = program_int(&p, 0);
    eddy_mxnet_while_spec spec = while_spec(&parts, &zero, 1);
    eddy_output last;

    parts.condition.outer = parts.body.outer = outer;
    spec.max_iterations_from = &most;
    program_want_ok(
        &p, eddy_mxnet_while_loop(p.graph, &spec, NULL, &last, NULL, &p.err));
    ck_assert_int_eq(construct_run(&p, last, NULL, NULL, 0), 9);
}
END_TEST

/* x = concat(x, x) while its length is below 20: no outputs, no maximum. */
static eddy_status twice(eddy_graph *graph, void *user,
                         const eddy_output *inputs, size_t n, eddy_output *out,
                         eddy_error *err)
{
    const int32_t axis = 0;
    eddy_output three[] = {inputs[0], inputs[0], {0, 0}};
    eddy_status status =
        eddy_graph_add_scalar(graph, NULL, EDDY_INT32, &axis, &three[2], err);

    (void)user;
    (void)n;
    return status == EDDY_OK
               ? eddy_graph_add_op(graph, "ConcatV2", NULL, three, 3, out, err)
               : status;
}

static eddy_status is_short(eddy_graph *graph, void *user,
                            const eddy_output *inputs, size_t n,
                            eddy_output *out, eddy_error *err)
{
    const int32_t limit = 20;
    eddy_output less[2];
    eddy_status status =
        eddy_graph_add_op(graph, "Size", NULL, inputs, 1, &less[0], err);

    (void)user;
    (void)n;
    if (status == EDDY_OK)
        status = eddy_graph_add_scalar(graph, NULL, EDDY_INT32, &limit,
                                       &less[1], err);
    return status == EDDY_OK
               ? eddy_graph_add_op(graph, "Less", NULL, less, 2, out, err)
               : status;
}

START_TEST(variables_may_change_their_shapes)
{
    const eddy_output first = ramp(EDDY_FLOAT32, shape_of(1, 3, 0), 1);
    const eddy_mxnet_while_spec spec = {
        .size = sizeof spec,
        .variables = &first,
        .n_variables = 1,
        .condition = is_short,
        .body = twice,
    };
    eddy_output fetches[2];
    double all[24];

    program_want_ok(&p, eddy_mxnet_while_loop(p.graph, &spec, NULL, fetches,
                                              fetches + 1, &p.err));
    program_plan_outputs(&p, fetches, 2);
    program_run(&p);
    for (int i = 0; i < 24; i++)
        all[i] = i % 3 + 1;
    program_want_fetch(&p, 0, PROGRAM_DIMS(24), all);
    program_want_fetch(&p, 1, 0, NULL, PROGRAM_NUMBERS(3));
}
END_TEST

/* ---- cond ---- */

static const recipe_op square_ops[] = {{"Square", IN(0), RECIPE_NONE}};
static const recipe_op negate_ops[] = {{"Neg", OUTER(0), RECIPE_NONE}};
static const int first_result[] = {OP(0)};

static eddy_output cond(eddy_output predicate, recipe_pair *parts,
                        const eddy_output *inputs, size_t n)
{
    const eddy_mxnet_cond_spec spec = {
        .size = sizeof spec,
        .predicate = predicate,
        .inputs = inputs,
        .n_inputs = n,
        .n_outputs = 1,
        .then = recipe_build_condition,
        .otherwise = recipe_build_body,
        .user = parts,
    };
    eddy_output out = {0, 0};

    program_want_ok(&p, eddy_mxnet_cond(p.graph, &spec, &out, &p.err));
    return out;
}

static const eddy_dtype predicates[] = {EDDY_INT64, EDDY_INT32};

START_TEST(a_cond_goes_by_a_number)
{
    recipe_pair parts = {RECIPE(square_ops, first_result),
                         RECIPE(negate_ops, first_result)};
    const eddy_output x = program_int(&p, 7);
    const eddy_output choice = construct_feed(&p, "choice", predicates[_i]);
    eddy_output y;

    parts.body.outer = &x;
    y = cond(choice, &parts, &x, 1);
    ck_assert_int_eq(construct_run_one(&p, y, choice, 0), -7);
    ck_assert_int_eq(construct_run_one(&p, y, choice, 1), 49);
    ck_assert_int_eq(construct_run_one(&p, y, choice, -2), 49);
}
END_TEST

/* As MXNet's scalars are: of shape [1]; here that is only known in a run. */
START_TEST(a_predicate_may_be_a_vector_of_one)
{
    recipe_pair parts = {RECIPE(square_ops, first_result),
                         RECIPE(negate_ops, first_result)};
    const eddy_output x = program_int(&p, 7);
    const eddy_output choice = _i ? feed("choice", EDDY_FLOAT32)
                                  : ramp(EDDY_FLOAT32, shape_of(1, 1, 0), 0.5);
    static const float half = 0.5F;
    eddy_output y;

    parts.body.outer = &x;
    y = cond(choice, &parts, &x, 1);
    construct_plan(&p, y, &choice, (size_t)_i);
    if (_i)
        program_feed_floats(&p, 0, &half, 1);
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 49);
}
END_TEST

TCase *mxnet_tests(void)
{
    TCase *tc = tcase_create("mxnet");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, foreach_computes, 0, 16);
    tcase_add_loop_test(tc, lengths_come_at_run_time, 0, 2);
    tcase_add_test(tc, a_map_has_no_states);
    tcase_add_test(tc, a_fold_has_no_outputs);
    tcase_add_loop_test(tc, outputs_are_stacked_up_to_a_maximum, 1, 6);
    tcase_add_loop_test(tc, the_maximum_may_be_a_tensor, 0,
                        (int)N_OF(integers));
    tcase_add_test(tc, a_maximum_may_be_very_large);
    tcase_add_test(tc, variables_may_change_their_shapes);
    tcase_add_loop_test(tc, a_cond_goes_by_a_number, 0, 2);
    tcase_add_loop_test(tc, a_predicate_may_be_a_vector_of_one, 0, 2);
    return tc;
}
