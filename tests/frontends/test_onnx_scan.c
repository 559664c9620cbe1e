/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX's Scan against loops in C. */
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

/* h = decay * h + x, put out: decay is OUTER(0). */
static const recipe_op decay_ops[] = {{"Mul", IN(0), OUTER(0)},
                                      {"AddV2", OP(0), IN(1)}};
static const int decay_results[] = {OP(1), OP(1)};

/* One state, one input; the rest of the results are outputs. */
static eddy_onnx_scan_spec scan_of(recipe *body, const eddy_output *initial,
                                   const eddy_output *input)
{
    return (eddy_onnx_scan_spec){
        .size = sizeof(eddy_onnx_scan_spec),
        .initial = initial,
        .n_states = 1,
        .inputs = input,
        .n_inputs = 1,
        .n_outputs = body->n_results - 1,
        .body = recipe_build,
        .user = body,
    };
}

static void build(const eddy_onnx_scan_spec *spec, eddy_output *out)
{
    program_want_ok(&p, eddy_onnx_scan(p.graph, spec, out, &p.err));
}

/*
 * Over one axis of a [2,3,4] to another: element (i, j, k) of the input is 12 i
 * + 4 j + k + 1.  The item at t without axis `axis` has the elements in order.
 */
static double item_at(int axis, int64_t t, int64_t e)
{
    static const int64_t dims[] = {2, 3, 4};
    int64_t at[3];

    for (int d = 2; d >= 0; d--) {
        if (d == axis)
            continue;
        at[d] = e % dims[d];
        e /= dims[d];
    }
    at[axis] = t;
    return (double)(12 * at[0] + 4 * at[1] + at[2] + 1);
}

/* Where element `e` of item `t` of `n` stands, stacked along `axis`. */
static int64_t place_of(const int64_t dims[2], int axis, int64_t n, int64_t t,
                        int64_t e)
{
    const int64_t row = e / dims[1], column = e % dims[1];

    if (axis == 0)
        return t * dims[0] * dims[1] + e;
    if (axis == 1)
        return (row * n + t) * dims[1] + column;
    return e * n + t;
}

/* _i: axes of input and output, negative or not, directions, what is known */
START_TEST(a_scan_goes_along_any_axis)
{
    static const int64_t dims[] = {2, 3, 4};
    const int in = _i % 3, out = _i / 3 % 3;
    const bool backward = _i / 9 % 2, back_out = _i / 18 % 2;
    const bool negative = _i / 36 % 2, is_static = _i / 72 % 2;
    const int64_t n = dims[in];
    const int64_t rest[] = {dims[in == 0], dims[in == 2 ? 1 : 2]};
    const eddy_onnx_scan_axis from = {in - 3 * negative, backward};
    const eddy_onnx_scan_axis to = {out - 3 * negative, back_out};
    recipe body = RECIPE(decay_ops, decay_results);
    trial_feed feeds[] = {
        trial_placeholder(&p, EDDY_FLOAT64, &TRIAL_SHAPE(2, 3, 4), NULL,
                          is_static),
        trial_placeholder(&p, EDDY_FLOAT64, &TRIAL_SHAPE(rest[0], rest[1]),
                          NULL, is_static),
        value(EDDY_FLOAT64, 0.5)};
    eddy_onnx_scan_spec spec = scan_of(&body, &feeds[1].at, &feeds[0].at);
    eddy_shape stacked = {.rank = 3};
    double h[12], all[24];
    trial_result result;
    eddy_output results[2];

    /* Sometimes not even the rank is known. */
    if (!is_static && _i % 2)
        program_want_ok(&p,
                        eddy_graph_add_placeholder(p.graph, "any", EDDY_FLOAT64,
                                                   &(eddy_shape){.rank = -1},
                                                   &feeds[0].at, &p.err));
    body.outer = &feeds[2].at;
    spec.input_axes = &from;
    spec.output_axes = &to;
    build(&spec, results);
    for (int64_t e = 0; e < rest[0] * rest[1]; e++)
        h[e] = feeds[1].elements[e];
    for (int64_t t = 0; t < n; t++)
        for (int64_t e = 0; e < rest[0] * rest[1]; e++) {
            h[e] = 0.5 * h[e] + item_at(in, backward ? n - 1 - t : t, e);
            all[place_of(rest, out, n, back_out ? n - 1 - t : t, e)] = h[e];
        }
    for (int d = 0, r = 0; d < 3; d++)
        stacked.dims[d] = d == out ? n : rest[r++];
    result = trial_both(&p, feeds, 3, results[0]);
    trial_want(&result, &TRIAL_SHAPE(rest[0], rest[1]), h);
    result = trial_both(&p, feeds, 3, results[1]);
    trial_want(&result, &stacked, all);
}
END_TEST

static const eddy_dtype dtypes[] = {EDDY_FLOAT32, EDDY_FLOAT64, EDDY_INT32,
                                    EDDY_INT64};

START_TEST(lengths_and_dtypes_are_any)
{
    const eddy_dtype dtype = dtypes[_i % 4];
    const int64_t n = _i / 4;
    recipe body = RECIPE(decay_ops, decay_results);
    const trial_feed feeds[] = {
        trial_placeholder(&p, dtype, &TRIAL_SHAPE(n), NULL, false),
        value(dtype, 3), value(dtype, 2)};
    const eddy_onnx_scan_spec spec = scan_of(&body, &feeds[1].at, &feeds[0].at);
    double h = 3, all[8];
    trial_result result;
    eddy_output out[2];

    body.outer = &feeds[2].at;
    build(&spec, out);
    for (int64_t t = 0; t < n; t++)
        all[t] = h = 2 * h + (double)(t + 1);
    result = trial_both(&p, feeds, 3, out[0]);
    trial_want(&result, &scalar, &h);
    result = trial_both(&p, feeds, 3, out[1]);
    trial_want(&result, &TRIAL_SHAPE(n), all);
    ck_assert_int_eq(result.dtype, dtype);
}
END_TEST

/* No states: a map of two inputs, one of them backward. */
START_TEST(a_scan_without_states_maps)
{
    static const recipe_op ops[] = {{"AddV2", IN(0), IN(1)},
                                    {"Less", IN(0), IN(1)}};
    static const int results[] = {OP(0), OP(1)};
    static const eddy_onnx_scan_axis axes[] = {{0, false}, {0, true}};
    recipe body = RECIPE(ops, results);
    const trial_feed feeds[] = {
        trial_placeholder(&p, EDDY_INT32, &TRIAL_SHAPE(4), NULL, false),
        trial_placeholder(&p, EDDY_INT32, &TRIAL_SHAPE(4), NULL, true)};
    const eddy_output inputs[] = {feeds[0].at, feeds[1].at};
    eddy_onnx_scan_spec spec = scan_of(&body, NULL, inputs);
    trial_result result;
    eddy_output out[2];

    spec.n_states = 0;
    spec.n_inputs = spec.n_outputs = 2;
    spec.input_axes = axes;
    build(&spec, out);
    result = trial_both(&p, feeds, 2, out[0]);
    trial_want(&result, &TRIAL_SHAPE(4), PROGRAM_NUMBERS(5, 5, 5, 5));
    result = trial_both(&p, feeds, 2, out[1]);
    trial_want(&result, &TRIAL_SHAPE(4), PROGRAM_NUMBERS(1, 1, 0, 0));
}
END_TEST

/* A Scan over the rows of each slice of a Scan; decay from two levels up. */
typedef struct nest {
    recipe inner;
    eddy_output decay;
} nest;

static eddy_status build_inner(eddy_graph *graph, void *user,
                               const eddy_output *inputs, size_t n,
                               eddy_output *out_results, eddy_error *err)
{
    nest *all = user;
    const eddy_onnx_scan_spec spec =
        scan_of(&all->inner, &inputs[0], &inputs[1]);

    ck_assert_uint_eq(n, 2);
    all->inner.outer = &all->decay;
    return eddy_onnx_scan(graph, &spec, out_results, err);
}

START_TEST(a_scan_runs_in_a_scan)
{
    nest all = {.inner = RECIPE(decay_ops, decay_results)};
    const int64_t rows = _i / 3, columns = _i % 3;
    const trial_feed feeds[] = {
        trial_placeholder(&p, EDDY_FLOAT64, &TRIAL_SHAPE(rows, columns), NULL,
                          false),
        value(EDDY_FLOAT64, 1), value(EDDY_FLOAT64, 0.5)};
    eddy_onnx_scan_spec spec = scan_of(&all.inner, &feeds[1].at, &feeds[0].at);
    double h = 1, wanted[8];
    trial_result result;
    eddy_output out[2];

    all.decay = feeds[2].at;
    spec.body = build_inner;
    spec.user = &all;
    build(&spec, out);
    for (int64_t e = 0; e < rows * columns; e++)
        wanted[e] = h = 0.5 * h + (double)(e + 1);
    result = trial_both(&p, feeds, 3, out[0]);
    trial_want(&result, &scalar, &h);
    /* Of a row nobody knows the length if there is none. */
    result = trial_both(&p, feeds, 3, out[1]);
    trial_want(&result, &TRIAL_SHAPE(rows, rows > 0 ? columns : 0), wanted);
}
END_TEST

START_TEST(a_scan_has_gradients)
{
    static const eddy_onnx_scan_axis along = {1, true}, back = {-1, false};
    recipe body = RECIPE(decay_ops, decay_results);
    const trial_feed feeds[] = {
        trial_placeholder(&p, EDDY_FLOAT64, &TRIAL_SHAPE(2, 3), NULL, _i % 2),
        trial_placeholder(&p, EDDY_FLOAT64, &TRIAL_SHAPE(2), NULL, true),
        value(EDDY_FLOAT64, 0.5)};
    eddy_onnx_scan_spec spec = scan_of(&body, &feeds[1].at, &feeds[0].at);
    eddy_output out[2];

    body.outer = &feeds[2].at;
    spec.input_axes = &along;
    spec.output_axes = &back;
    build(&spec, out);
    trial_gradients(&p, feeds, 3,
                    _i / 2 ? out[0]
                           : program_binary(&p, "Mul", out[1], out[1]));
}
END_TEST

static void want_scan(const eddy_onnx_scan_spec *spec, eddy_detail detail)
{
    const size_t size = eddy_graph_size(p.graph);
    eddy_output out[4];

    program_want(&p, eddy_onnx_scan(p.graph, spec, out, &p.err),
                 EDDY_INVALID_ARGUMENT, detail);
    ck_assert_uint_eq(eddy_graph_size(p.graph), size);
    ck_assert_uint_eq(eddy_construct_depth(p.graph), 0);
}

START_TEST(a_scan_gets_what_it_needs)
{
    static const eddy_onnx_scan_axis third = {2, false}, deep = {-3, false},
                                     huge = {1 << 30, false};
    recipe body = RECIPE(decay_ops, decay_results);
    const eddy_output x =
        trial_placeholder(&p, EDDY_INT32, &TRIAL_SHAPE(3, 2), NULL, true).at;
    const eddy_output one = program_constant(&p, EDDY_INT32, &(int32_t){1});
    const eddy_output both[] = {
        x, trial_placeholder(&p, EDDY_INT32, &TRIAL_SHAPE(4), NULL, true).at};
    const eddy_output any =
        trial_placeholder(&p, EDDY_INT32, &TRIAL_SHAPE(4), NULL, false).at;
    eddy_onnx_scan_spec spec = scan_of(&body, &one, &x);

    body.outer = &one;
    /* The state would become a vector. */
    want_scan(&spec, EDDY_E_SHAPE);
    spec.input_axes = &third;
    want_scan(&spec, EDDY_E_INDEX);
    spec.input_axes = &deep;
    want_scan(&spec, EDDY_E_INDEX);
    spec.inputs = &any;
    spec.input_axes = &huge;
    want_scan(&spec, EDDY_E_INDEX);
    spec.input_axes = NULL;
    spec.inputs = &one;
    want_scan(&spec, EDDY_E_RANK);
    spec.inputs = both;
    spec.n_inputs = 2;
    want_scan(&spec, EDDY_E_SHAPE);
    spec.n_inputs = 0;
    want_scan(&spec, EDDY_E_INPUT_COUNT);
    spec.n_inputs = 1;
    spec.initial = NULL;
    want_scan(&spec, EDDY_E_ARGUMENT);
    spec.size = 0;
    want_scan(&spec, EDDY_E_ARGUMENT);
}
END_TEST

START_TEST(a_run_with_other_lengths_fails)
{
    recipe body = RECIPE(decay_ops, decay_results);
    const trial_feed feeds[] = {
        trial_placeholder(&p, EDDY_INT32, &TRIAL_SHAPE(3), NULL, false),
        trial_placeholder(&p, EDDY_INT32, &TRIAL_SHAPE(2 + 2 * _i), NULL,
                          false)};
    const eddy_output inputs[] = {feeds[0].at, feeds[1].at};
    eddy_onnx_scan_spec spec = scan_of(&body, NULL, inputs);
    eddy_output out[2];

    body.outer = &inputs[0];
    spec.n_states = 0;
    spec.n_inputs = spec.n_outputs = 2;
    build(&spec, out);
    trial_want_failure(&p, feeds, 2, out[0], EDDY_INVALID_ARGUMENT,
                       EDDY_E_SHAPE);
}
END_TEST

static eddy_status build_all(program *of, eddy_error *err)
{
    static const eddy_onnx_scan_axis last = {-1, true};
    recipe body = RECIPE(decay_ops, decay_results);
    const eddy_output x = program_output(of, "x");
    const eddy_output h = program_output(of, "h");
    eddy_onnx_scan_spec spec = scan_of(&body, &h, &x);
    eddy_output out[2];

    body.outer = &h;
    spec.input_axes = &last;
    spec.output_axes = &last;
    return eddy_onnx_scan(of->graph, &spec, out, err);
}

START_TEST(memory_may_run_out_anywhere)
{
    program_build(&p, "x ?float32[?,?]\nh ?float32[?]\n");
    trial_memory(&p, build_all);
}
END_TEST

TCase *onnx_scan_tests(void)
{
    TCase *tests = tcase_create("onnx_scan");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, a_scan_goes_along_any_axis, 0, 144);
    tcase_add_loop_test(tests, lengths_and_dtypes_are_any, 0, 16);
    tcase_add_test(tests, a_scan_without_states_maps);
    tcase_add_loop_test(tests, a_scan_runs_in_a_scan, 0, 9);
    tcase_add_loop_test(tests, a_scan_has_gradients, 0, 4);
    tcase_add_test(tests, a_scan_gets_what_it_needs);
    tcase_add_loop_test(tests, a_run_with_other_lengths_fails, 0, 2);
    tcase_add_test(tests, memory_may_run_out_anywhere);
    return tests;
}
