/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX's Loop and If against loops in C. */
#include "tests/aid/recipe.h"
#include "tests/aid/trial.h"
#include "tests/suites.h"

#include <string.h>

#define IN RECIPE_IN
#define OUTER RECIPE_OUTER
#define OP RECIPE_OP
#define NONE RECIPE_NONE

static const eddy_shape scalar = {.rank = 0};
static program p;

static void setup(void)
{
    program_init(&p, 2);
}

static void teardown(void)
{
    program_deinit(&p);
}

static trial_feed value(eddy_dtype dtype, double element)
{
    return trial_placeholder(&p, dtype, &scalar, &element, true);
}

/* A loop of one carried value and the rest of the body's results stacked. */
static eddy_onnx_loop_spec loop_of(recipe *body, const eddy_output *trip_count,
                                   const eddy_output *condition,
                                   const eddy_output *initial)
{
    return (eddy_onnx_loop_spec){
        .size = sizeof(eddy_onnx_loop_spec),
        .trip_count = trip_count,
        .condition = condition,
        .initial = initial,
        .n_carried = 1,
        .n_scan_outputs = body ? body->n_results - 2 : 0,
        .body = recipe_build,
        .user = body,
    };
}

static void build(const eddy_onnx_loop_spec *spec, eddy_output *out)
{
    program_want_ok(&p, eddy_onnx_loop(p.graph, spec, out, &p.err));
}

/* s = s + i + step while s < limit: OUTER(0) and (1); s is stacked. */
static const recipe_op sum_ops[] = {{"AddV2", IN(2), IN(0)},
                                    {"AddV2", OP(0), OUTER(0)},
                                    {"Less", OP(1), OUTER(1)}};
static const int sum_results[] = {OP(2), OP(1), OP(1)};

/* ---- the five modes ---- */

/* _i: whether there is a trip count and a condition, their shapes, the trips */
START_TEST(a_loop_has_five_modes)
{
    const bool has_count = _i % 2, has_condition = _i / 2 % 2;
    const bool begins = _i / 4 % 2;
    const eddy_shape *shape = _i / 8 % 2 ? &TRIAL_SHAPE(1) : &scalar;
    const double count = _i / 16 - 1, condition = begins;
    recipe body = RECIPE(sum_ops, sum_results);
    const trial_feed feeds[] = {
        value(EDDY_INT64, 5), value(EDDY_INT64, 17), value(EDDY_INT64, 2),
        trial_placeholder(&p, EDDY_INT64, shape, &count, _i % 3 == 0),
        trial_placeholder(&p, EDDY_BOOL, shape, &condition, _i % 3 == 0)};
    const eddy_output outer[] = {feeds[0].at, feeds[1].at};
    const eddy_onnx_loop_spec spec =
        loop_of(&body, has_count ? &feeds[3].at : NULL,
                has_condition ? &feeds[4].at : NULL, &feeds[2].at);
    double s = 2, all[16];
    bool goes_on = begins || !has_condition;
    trial_result result;
    eddy_output out[2];
    int64_t n = 0;

    if (!has_count && !has_condition)
        return;
    body.outer = outer;
    build(&spec, out);
    for (; goes_on && (!has_count || (double)n < count); n++) {
        all[n] = s += 5 + (double)n;
        goes_on = !has_condition || s < 17;
    }
    result = trial_both(&p, feeds, 5, out[0]);
    trial_want(&result, &scalar, &s);
    result = trial_both(&p, feeds, 5, out[1]);
    trial_want(&result, &TRIAL_SHAPE(n), all);
    ck_assert_uint_eq(body.calls, 1);
}
END_TEST

START_TEST(a_loop_without_either_goes_on_for_ever)
{
    recipe body = RECIPE(sum_ops, sum_results);
    const eddy_output outer[] = {program_int(&p, 1), program_int(&p, 3)};
    const eddy_output zero = program_int(&p, 0);
    const eddy_onnx_loop_spec spec = loop_of(&body, NULL, NULL, &zero);
    eddy_output out[2];

    body.outer = outer;
    p.run_options.max_iterations = 1000;
    build(&spec, out);
    trial_want_failure(&p, NULL, 0, out[0], EDDY_RESOURCE_EXHAUSTED,
                       EDDY_E_LIMIT_ITERATIONS);
}
END_TEST

/* The body's view: the condition holds wherever it is given or absent. */
START_TEST(a_body_sees_that_the_condition_holds)
{
    static const int results[] = {IN(1), IN(2), IN(1), IN(0)};
    recipe body = {.results = results, .n_results = 4};
    const eddy_output three = program_int(&p, 3);
    const eddy_output yes = program_constant(&p, EDDY_BOOL, &(bool){true});
    const eddy_onnx_loop_spec spec =
        loop_of(&body, &three, _i ? &yes : NULL, &three);
    eddy_output out[3];
    trial_result result;

    build(&spec, out);
    result = trial_both(&p, NULL, 0, out[1]);
    ck_assert_int_eq(result.dtype, EDDY_BOOL);
    trial_want(&result, &TRIAL_SHAPE(3), PROGRAM_NUMBERS(1, 1, 1));
    result = trial_both(&p, NULL, 0, out[2]);
    ck_assert_int_eq(result.dtype, EDDY_INT64);
    trial_want(&result, &TRIAL_SHAPE(3), PROGRAM_NUMBERS(0, 1, 2));
}
END_TEST

/* The example of ONNX's documentation. */
START_TEST(the_documented_example_runs)
{
    /* a = 3: my_local = a + b, b = a - b, keep going if my_local > b. */
    static const recipe_op ops[] = {{"AddV2", OUTER(0), IN(2)},
                                    {"Sub", OUTER(0), IN(2)},
                                    {"Greater", OP(0), OP(1)},
                                    {"AddV2", OP(1), OP(1)}};
    static const int results[] = {OP(2), OP(1), OP(3)};
    recipe body = RECIPE(ops, results);
    const eddy_output a = program_constant(&p, EDDY_INT32, &(int32_t){3});
    const eddy_output b = program_constant(&p, EDDY_INT32, &(int32_t){6});
    const eddy_output ten = program_int(&p, 10);
    const eddy_output yes = program_constant(&p, EDDY_BOOL, &(bool){true});
    const eddy_onnx_loop_spec spec = loop_of(&body, &ten, &yes, &b);
    eddy_output out[2];
    trial_result result;

    body.outer = &a;
    build(&spec, out);
    result = trial_both(&p, NULL, 0, out[0]);
    trial_want(&result, &scalar, PROGRAM_NUMBERS(6));
    result = trial_both(&p, NULL, 0, out[1]);
    trial_want(&result, &TRIAL_SHAPE(2), PROGRAM_NUMBERS(-6, 12));
}
END_TEST

/* ---- carried values ---- */

static const eddy_dtype dtypes[] = {EDDY_FLOAT32, EDDY_FLOAT64, EDDY_INT32,
                                    EDDY_INT64, EDDY_BOOL};

/* Three values that change places, of any dtype. */
START_TEST(carried_values_change_places)
{
    static const int results[] = {IN(1), IN(3), IN(4), IN(2), IN(2)};
    recipe body = {.results = results, .n_results = 5};
    const trial_feed feeds[] = {
        value(dtypes[_i % 5], 1), value(dtypes[_i % 5], 0),
        value(dtypes[_i % 5], 1), value(EDDY_INT64, _i / 5)};
    const eddy_output first[] = {feeds[0].at, feeds[1].at, feeds[2].at};
    eddy_onnx_loop_spec spec = loop_of(&body, &feeds[3].at, NULL, first);
    double v[] = {1, 0, 1}, all[8];
    trial_result result;
    eddy_output out[4];

    spec.n_carried = 3;
    spec.n_scan_outputs = 1;
    build(&spec, out);
    for (int i = 0; i < _i / 5; i++) {
        const double was = v[0];

        all[i] = was;
        v[0] = v[1];
        v[1] = v[2];
        v[2] = was;
    }
    for (int i = 0; i < 3; i++) {
        result = trial_both(&p, feeds, 4, out[i]);
        trial_want(&result, &scalar, &v[i]);
        ck_assert_int_eq(result.dtype, dtypes[_i % 5]);
    }
    result = trial_both(&p, feeds, 4, out[3]);
    trial_want(&result, &TRIAL_SHAPE(_i / 5), all);
}
END_TEST

/* v = concat(v, [i]), and the sum of what there was. */
static eddy_status grow(eddy_graph *graph, void *user,
                        const eddy_output *inputs, size_t n,
                        eddy_output *out_results, eddy_error *err)
{
    const int32_t zero = 0;
    eddy_output axis, parts[3];
    eddy_status status =
        eddy_graph_add_scalar(graph, NULL, EDDY_INT32, &zero, &axis, err);

    (void)user;
    ck_assert_uint_eq(n, 3);
    parts[0] = inputs[0];
    parts[1] = axis;
    if (status == EDDY_OK)
        status = eddy_graph_add_op(graph, "ExpandDims", NULL, parts, 2,
                                   &parts[1], err);
    parts[0] = inputs[2];
    parts[2] = axis;
    if (status == EDDY_OK)
        status = eddy_graph_add_op(graph, "ConcatV2", NULL, parts, 3,
                                   &out_results[1], err);
    parts[1] = axis;
    if (status == EDDY_OK)
        status = eddy_graph_add_op(graph, "Sum", NULL, parts, 2,
                                   &out_results[2], err);
    out_results[0] = inputs[1];
    return status;
}

START_TEST(a_carried_value_may_change_its_shape)
{
    const trial_feed feeds[] = {
        trial_placeholder(&p, EDDY_INT64, &TRIAL_SHAPE(2), NULL, true),
        value(EDDY_INT64, _i)};
    eddy_onnx_loop_spec spec = loop_of(NULL, &feeds[1].at, NULL, &feeds[0].at);
    trial_result result;
    eddy_output out[2];

    spec.body = grow;
    spec.n_scan_outputs = 1;
    build(&spec, out);
    result = trial_both(&p, feeds, 2, out[0]);
    trial_want(&result, &TRIAL_SHAPE(2 + _i), PROGRAM_NUMBERS(1, 2, 0, 1, 2));
    result = trial_both(&p, feeds, 2, out[1]);
    trial_want(&result, &TRIAL_SHAPE(_i), PROGRAM_NUMBERS(3, 3, 4));
}
END_TEST

/* ---- what none look like ---- */

static const recipe_op double_ops[] = {{"AddV2", IN(2), IN(2)}};
static const int double_results[] = {IN(1), OP(0), OP(0)};

/* Items of which all, some or no dimensions are known: 0 for others. */
START_TEST(without_trips_there_are_no_items)
{
    static const int32_t ranks[] = {2, 2, -1};
    static const int64_t known[] = {3, -1, -1};
    static const int64_t found[] = {3, 0, 0};
    const eddy_shape placeholder = {.rank = ranks[_i % 3],
                                    .dims = {2, known[_i % 3]}};
    const eddy_shape one = {.rank = ranks[_i % 3] < 0 ? 1 : 3,
                            .dims = {0, 2, found[_i % 3]}};
    const eddy_shape some = TRIAL_SHAPE(2, 2, 3);
    recipe body = RECIPE(double_ops, double_results);
    trial_feed feeds[] = {
        trial_placeholder(&p, EDDY_INT32, &TRIAL_SHAPE(2, 3), NULL, false),
        value(EDDY_INT64, _i / 3 * 2)};
    eddy_onnx_loop_spec spec = loop_of(&body, &feeds[1].at, NULL, &feeds[0].at);
    trial_result result;
    eddy_output out[2];

    program_want_ok(&p, eddy_graph_add_placeholder(p.graph, "x", EDDY_INT32,
                                                   &placeholder, &feeds[0].at,
                                                   &p.err));
    build(&spec, out);
    result = trial_both(&p, feeds, 2, out[1]);
    trial_want(&result, _i / 3 ? &some : &one,
               PROGRAM_NUMBERS(2, 4, 6, 8, 10, 12, 4, 8, 12, 16, 20, 24));
    /* What keeps its shape for certain needs no branch. */
    ck_assert_int_eq(eddy_graph_find(p.graph, "stack/Merge") == EDDY_NO_NODE,
                     _i % 3 == 0);
}
END_TEST

START_TEST(items_that_would_change_their_shape_are_guessed)
{
    static const recipe_op ops[] = {{"Mul", IN(2), OUTER(0)}};
    static const int results[] = {IN(1), OP(0), IN(2)};
    recipe body = RECIPE(ops, results);
    const trial_feed feeds[] = {
        trial_placeholder(&p, EDDY_INT32, &TRIAL_SHAPE(1), NULL, true),
        trial_placeholder(&p, EDDY_INT32, &TRIAL_SHAPE(3), NULL, true),
        value(EDDY_INT64, _i)};
    const eddy_onnx_loop_spec spec =
        loop_of(&body, &feeds[2].at, NULL, &feeds[0].at);
    trial_result result;
    eddy_output out[2];

    body.outer = &feeds[1].at;
    build(&spec, out);
    /* [1] once, then [3]: no more than one can be stacked. */
    if (_i == 2) {
        trial_want_failure(&p, feeds, 3, out[1], EDDY_INVALID_ARGUMENT,
                           EDDY_E_SHAPE);
        return;
    }
    result = trial_both(&p, feeds, 3, out[1]);
    trial_want(&result, &TRIAL_SHAPE(_i, 1), PROGRAM_NUMBERS(1));
}
END_TEST

/* ---- in each other ---- */

typedef struct nest {
    recipe inner;
    eddy_output outer[2]; /* of the recipe: from two levels up */
} nest;

/* As many trips as the outer loop has made, over its carried value. */
static eddy_status build_inner(eddy_graph *graph, void *user,
                               const eddy_output *inputs, size_t n,
                               eddy_output *out_results, eddy_error *err)
{
    nest *all = user;
    const eddy_onnx_loop_spec spec =
        loop_of(&all->inner, &inputs[0], NULL, &inputs[2]);

    ck_assert_uint_eq(n, 3);
    all->inner.outer = all->outer;
    out_results[0] = inputs[1];
    return eddy_onnx_loop(graph, &spec, out_results + 1, err);
}

/* The inner scan output has 0, 1, ... items: only its carried value is used. */
START_TEST(a_loop_runs_in_a_loop)
{
    nest all = {.inner = RECIPE(sum_ops, sum_results)};
    const trial_feed feeds[] = {value(EDDY_INT64, 7), value(EDDY_INT64, 1),
                                value(EDDY_INT64, _i)};
    eddy_onnx_loop_spec spec = loop_of(NULL, &feeds[2].at, NULL, &feeds[1].at);
    eddy_output out[2];
    trial_result result;
    double s = 1;

    all.outer[0] = feeds[0].at;
    all.outer[1] = feeds[1].at;
    spec.body = build_inner;
    spec.user = &all;
    spec.n_scan_outputs = 1;
    build(&spec, out);
    for (int i = 0; i < _i; i++)
        for (int j = 0; j < i; j++)
            s += j + 7;
    result = trial_both(&p, feeds, 3, out[0]);
    trial_want(&result, &scalar, &s);
    ck_assert_uint_eq(all.inner.calls, 1);
}
END_TEST

/* A loop in each trip of a while, in one branch. */
START_TEST(a_loop_runs_in_a_branch_in_a_while)
{
    recipe body = RECIPE(sum_ops, sum_results);
    const trial_feed feeds[] = {value(EDDY_INT64, 3), value(EDDY_INT64, 40),
                                value(EDDY_INT64, _i)};
    const eddy_output outer[] = {feeds[0].at, feeds[1].at};
    counted c = construct_counted(&p, feeds[2].at, program_int(&p, 0));
    eddy_output out[2];
    trial_result result;
    double s = 0;

    body.outer = outer;
    construct_cond(&p, program_binary(&p, "Less", c.i, program_int(&p, 2)));
    {
        const eddy_onnx_loop_spec spec = loop_of(&body, &c.i, NULL, &c.now);

        build(&spec, out);
    }
    construct_else(&p, out[0]);
    construct_end_counted(&p, &c, construct_end_cond(&p, c.now));
    for (int i = 0; i < _i && i < 2; i++)
        for (int j = 0; j < i; j++)
            s += j + 3;
    result = trial_both(&p, feeds, 3, c.results[1]);
    trial_want(&result, &scalar, &s);
}
END_TEST

/* ---- gradients ---- */

/* v = tanh(v * w) + v; with and without a condition, items kept or not. */
START_TEST(a_loop_has_gradients)
{
    static const recipe_op ops[] = {{"Mul", IN(2), OUTER(0)},
                                    {"Tanh", OP(0), NONE},
                                    {"AddV2", OP(1), IN(2)},
                                    {"Mul", OP(2), OP(2)}};
    static const int results[] = {IN(1), OP(2), OP(3)};
    recipe body = RECIPE(ops, results);
    const trial_feed feeds[] = {
        value(EDDY_FLOAT64, 0.7),
        trial_placeholder(&p, EDDY_FLOAT64, &TRIAL_SHAPE(2), NULL, _i / 2 % 2),
        value(EDDY_INT64, _i / 4 * 3)};
    const eddy_output yes = program_constant(&p, EDDY_BOOL, &(bool){true});
    const eddy_onnx_loop_spec spec =
        loop_of(&body, &feeds[2].at, _i % 2 ? &yes : NULL, &feeds[1].at);
    eddy_output out[2];

    body.outer = &feeds[0].at;
    build(&spec, out);
    if (_i / 4)
        trial_gradients(&p, feeds, 3, out[1]);
    trial_gradients(&p, feeds, 3, out[0]);
}
END_TEST

/* ---- If ---- */

static eddy_status take_outer(eddy_graph *graph, void *user,
                              const eddy_output *inputs, size_t n,
                              eddy_output *out_results, eddy_error *err)
{
    (void)graph;
    (void)inputs;
    (void)n;
    (void)err;
    *out_results = *(const eddy_output *)user;
    return EDDY_OK;
}

START_TEST(an_if_takes_a_branch)
{
    const double yes = _i % 2;
    const trial_feed feeds[] = {
        trial_placeholder(&p, EDDY_BOOL, _i / 2 % 2 ? &TRIAL_SHAPE(1) : &scalar,
                          &yes, _i / 4),
        value(EDDY_FLOAT32, 3), value(EDDY_FLOAT32, 4)};
    eddy_output of[] = {feeds[1].at, feeds[2].at};
    const eddy_onnx_if_spec spec = {
        .size = sizeof spec,
        .condition = feeds[0].at,
        .then_branch = {take_outer, &of[0]},
        .else_branch = {take_outer, &of[1]},
        .n_results = 1,
    };
    const double wanted = yes ? 3 : 4;
    eddy_output out;
    trial_result result;

    program_want_ok(&p, eddy_onnx_if(p.graph, &spec, &out, &p.err));
    result = trial_both(&p, feeds, 3, out);
    trial_want(&result, &scalar, &wanted);
}
END_TEST

/* ---- mistakes ---- */

static void want_loop(const eddy_onnx_loop_spec *spec, eddy_status code,
                      eddy_detail detail)
{
    const size_t size = eddy_graph_size(p.graph);
    eddy_output out[4];

    program_want(&p, eddy_onnx_loop(p.graph, spec, out, &p.err), code, detail);
    ck_assert_uint_eq(eddy_graph_size(p.graph), size);
    ck_assert_uint_eq(eddy_construct_depth(p.graph), 0);
}

START_TEST(a_loop_gets_what_it_needs)
{
    recipe body = RECIPE(sum_ops, sum_results);
    const eddy_output one = program_int(&p, 1);
    const eddy_output number = program_constant(&p, EDDY_INT32, &(int32_t){1});
    const eddy_output vector =
        trial_placeholder(&p, EDDY_INT64, &TRIAL_SHAPE(2), NULL, true).at;
    const eddy_output flags =
        trial_placeholder(&p, EDDY_BOOL, &TRIAL_SHAPE(1, 1), NULL, true).at;
    const eddy_output outer[] = {one, one};
    eddy_onnx_loop_spec spec = loop_of(&body, &number, NULL, &one);

    body.outer = outer;
    want_loop(&spec, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE);
    spec.trip_count = &vector;
    want_loop(&spec, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    spec.trip_count = NULL;
    spec.condition = &one;
    want_loop(&spec, EDDY_INVALID_ARGUMENT, EDDY_E_PREDICATE);
    spec.condition = &flags;
    want_loop(&spec, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    spec.condition = NULL;
    spec.n_carried = spec.n_scan_outputs = 0;
    want_loop(&spec, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT);
    spec.n_carried = 1;
    spec.initial = NULL;
    want_loop(&spec, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    spec.body = NULL;
    want_loop(&spec, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    want_loop(NULL, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
}
END_TEST

START_TEST(a_body_gives_what_is_wanted)
{
    static const int no_bool[] = {IN(2), IN(2)}, other[] = {IN(1), IN(1)},
                     missing[] = {IN(1), IN(2), OUTER(0)};
    recipe body = {.results = no_bool, .n_results = 2};
    const eddy_output one = program_int(&p, 1);
    const eddy_output nowhere = {EDDY_NO_NODE, 0};
    eddy_onnx_loop_spec spec = loop_of(&body, &one, NULL, &one);

    want_loop(&spec, EDDY_INVALID_ARGUMENT, EDDY_E_PREDICATE);
    body.results = other;
    want_loop(&spec, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE);
    body.results = missing;
    body.outer = &nowhere;
    body.n_results = 3;
    spec.n_scan_outputs = 1;
    want_loop(&spec, EDDY_INVALID_ARGUMENT, EDDY_E_UNKNOWN_INPUT);
}
END_TEST

/* Two elements where one is wanted, which only the run sees. */
START_TEST(a_run_with_a_trip_count_of_two_elements_fails)
{
    recipe body = RECIPE(double_ops, double_results);
    const trial_feed feeds[] = {
        trial_placeholder(&p, EDDY_INT64, &TRIAL_SHAPE(2), NULL, false),
        value(EDDY_INT64, 1)};
    const eddy_onnx_loop_spec spec =
        loop_of(&body, &feeds[0].at, NULL, &feeds[1].at);
    eddy_output out[2];

    build(&spec, out);
    trial_want_failure(&p, feeds, 2, out[0], EDDY_INVALID_ARGUMENT,
                       EDDY_E_SHAPE);
}
END_TEST

static eddy_status build_all(program *of, eddy_error *err)
{
    recipe body = RECIPE(double_ops, double_results);
    const eddy_output x = program_output(of, "x");
    const eddy_output n = program_output(of, "n");
    const eddy_output yes = program_output(of, "yes");
    const eddy_onnx_loop_spec spec = loop_of(&body, &n, &yes, &x);
    eddy_output out[2];

    return eddy_onnx_loop(of->graph, &spec, out, err);
}

START_TEST(memory_may_run_out_anywhere)
{
    program_build(&p, "x ?float32[?]\nn ?int64[1]\nyes ?bool[1]\n");
    trial_memory(&p, build_all);
}
END_TEST

TCase *onnx_loop_tests(void)
{
    TCase *tests = tcase_create("onnx_loop");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, a_loop_has_five_modes, 0, 96);
    tcase_add_test(tests, a_loop_without_either_goes_on_for_ever);
    tcase_add_loop_test(tests, a_body_sees_that_the_condition_holds, 0, 2);
    tcase_add_test(tests, the_documented_example_runs);
    tcase_add_loop_test(tests, carried_values_change_places, 0, 20);
    tcase_add_loop_test(tests, a_carried_value_may_change_its_shape, 0, 4);
    tcase_add_loop_test(tests, without_trips_there_are_no_items, 0, 6);
    tcase_add_loop_test(tests, items_that_would_change_their_shape_are_guessed,
                        0, 3);
    tcase_add_loop_test(tests, a_loop_runs_in_a_loop, 0, 5);
    tcase_add_loop_test(tests, a_loop_runs_in_a_branch_in_a_while, 0, 4);
    tcase_add_loop_test(tests, a_loop_has_gradients, 0, 8);
    tcase_add_loop_test(tests, an_if_takes_a_branch, 0, 8);
    tcase_add_test(tests, a_loop_gets_what_it_needs);
    tcase_add_test(tests, a_body_gives_what_is_wanted);
    tcase_add_test(tests, a_run_with_a_trip_count_of_two_elements_fails);
    tcase_add_test(tests, memory_may_run_out_anywhere);
    return tests;
}
