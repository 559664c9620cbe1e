/* SPDX-License-Identifier: Apache-2.0 */
/* NNC's loop with its condition in the middle, and case_of. */
#include "tests/aid/construct.h"
#include "tests/aid/recipe.h"
#include "tests/suites.h"

#include <stdio.h>
#include <string.h>

#define IN RECIPE_IN
#define OUTER RECIPE_OUTER
#define OP RECIPE_OP
#define NONE RECIPE_NONE

static program p;
static int64_t calls, trips; /* of the host's condition */

static void setup(void)
{
    program_init(&p, 0);
    calls = 0;
    trips = 0;
}

static void teardown(void)
{
    program_deinit(&p);
}

/* Goes on until the count is `trips`. */
static eddy_status is_below(eddy_kernel *call, void *user, bool *out_value)
{
    const eddy_view count = eddy_kernel_input(call, 0);

    ck_assert_int_eq(count.dtype, EDDY_INT64);
    ck_assert_int_eq(count.rank, 0);
    calls++;
    *out_value = *(const int64_t *)count.data < *(const int64_t *)user;
    return EDDY_OK;
}

/* Goes on while the first value it is shown is below 100. */
static eddy_status is_small(eddy_kernel *call, void *user, bool *out_value)
{
    const eddy_view value = eddy_kernel_input(call, 1);

    (void)user;
    calls++;
    *out_value = *(const double *)value.data < 100;
    return EDDY_OK;
}

/* `trips` trips as the host wants it. */
static eddy_nnc_while_spec spec_of(recipe_parts *both,
                                   const eddy_output *initial,
                                   size_t n_parameters, size_t n_outputs)
{
    return (eddy_nnc_while_spec){
        .size = sizeof(eddy_nnc_while_spec),
        .initial = initial,
        .n_parameters = n_parameters,
        .n_outputs = n_outputs,
        .before = recipe_build_part_before,
        .after = recipe_build_part_after,
        .user = both,
        .condition = is_below,
        .condition_user = &trips,
    };
}

static void build_loop(const eddy_nnc_while_spec *spec, eddy_output *outputs)
{
    program_want_ok(&p, eddy_nnc_while(p.graph, spec, outputs, NULL, &p.err));
}

static eddy_output real(double value)
{
    return program_constant(&p, EDDY_FLOAT64, &value);
}

static double value_of(eddy_output fetch)
{
    program_plan_outputs(&p, &fetch, 1);
    program_run(&p);
    return *(const double *)eddy_tensor_data(eddy_run_fetch(p.run, 0));
}

static eddy_output gradient(eddy_output y, eddy_output x)
{
    eddy_output dx;

    program_want_ok(&p,
                    eddy_gradients(p.graph, &y, 1, &x, 1, NULL, &dx, &p.err));
    ck_assert_uint_ne(dx.node, EDDY_NO_NODE);
    return dx;
}

static void want(eddy_output fetch, double wanted)
{
    const double tolerance = 1e-9 * (wanted < 0 ? 1 - wanted : 1 + wanted);

    ck_assert_double_eq_tol(value_of(fetch), wanted, tolerance);
}

/* ---- loops ---- */

/* a <- b, b <- a + b: the outputs are a and b. */
static const recipe_op fibonacci_ops[] = {{"AddV2", IN(1), IN(2)}};
static const int pass_two[] = {IN(1), IN(2)};
static const int fibonacci_next[] = {IN(2), OP(0)};
static const recipe_parts fibonacci = {
    {.results = pass_two, .n_results = 2},
    RECIPE(fibonacci_ops, fibonacci_next),
};

static const eddy_dtype dtypes[] = {EDDY_INT32, EDDY_INT64, EDDY_FLOAT32,
                                    EDDY_FLOAT64, EDDY_UINT8};

static eddy_output number(eddy_dtype dtype, int value)
{
    const union {
        uint8_t u8;
        int32_t i32;
        int64_t i64;
        float f32;
        double f64;
    } as[] = {
        {.i32 = value},         {.i64 = value},         {.f32 = (float)value},
        {.f64 = (double)value}, {.u8 = (uint8_t)value},
    };
    size_t i = 0;

    while (dtypes[i] != dtype)
        i++;
    return program_constant(&p, dtype, &as[i]);
}

/* Shift registers of every dtype; _i % 5 is the dtype, _i / 5 the trips. */
START_TEST(values_are_shifted)
{
    const eddy_dtype dtype = dtypes[_i % 5];
    const eddy_output first[] = {number(dtype, 0), number(dtype, 1)};
    recipe_parts both = fibonacci;
    const eddy_nnc_while_spec spec = spec_of(&both, first, 2, 2);
    eddy_output outputs[2], count, all[3];
    int a = 0, b = 1;
    const double *element;

    trips = _i / 5;
    for (int i = 0; i < trips; i++) {
        const int next = a + b;

        a = b;
        b = next;
    }
    program_want_ok(&p,
                    eddy_nnc_while(p.graph, &spec, outputs, &count, &p.err));
    all[0] = outputs[0];
    all[1] = outputs[1];
    all[2] = count;
    program_plan_outputs(&p, all, 3);
    program_run(&p);
    element = PROGRAM_NUMBERS(a);
    program_want_fetch(&p, 0, 0, NULL, element);
    element = PROGRAM_NUMBERS(b);
    program_want_fetch(&p, 1, 0, NULL, element);
    ck_assert_int_eq(program_fetch_int(&p, 2), trips);
    ck_assert_int_eq(calls, trips + 1);
}
END_TEST

/*
 * before: s = x * 3 + count, out: s; after, of x and s: x' = s - x / 2.
 * The outer values 3 and 2 are captured.
 */
static const recipe_op middle_before[] = {{"Mul", IN(1), OUTER(0)},
                                          {"AddV2", OP(0), OUTER(1)}};
static const int middle_given[] = {OP(1), OP(1)};
static const recipe_op middle_after[] = {{"RealDiv", IN(1), OUTER(1)},
                                         {"Sub", IN(2), OP(0)}};
static const int middle_next[] = {OP(1)};
static const recipe_parts middle = {
    RECIPE(middle_before, middle_given),
    RECIPE(middle_after, middle_next),
};

static double slow_middle(double x, double a, double b, int64_t n)
{
    double s = x * a + b;

    for (int64_t i = 0; i < n; i++) {
        x = s - x / b;
        s = x * a + b;
    }
    return s;
}

START_TEST(the_condition_stands_in_the_middle)
{
    const eddy_output x = real(1.5);
    const eddy_output outer[] = {real(3), real(2)};
    recipe_parts both = middle;
    eddy_nnc_while_spec spec = spec_of(&both, &x, 1, 1);
    eddy_output out;

    both.before.outer = both.after.outer = outer;
    spec.n_internals = 1;
    trips = _i;
    build_loop(&spec, &out);
    want(out, slow_middle(1.5, 3, 2, _i));
    ck_assert_int_eq(calls, _i + 1);
    ck_assert_uint_eq(both.before.calls, 2);
    ck_assert_uint_eq(both.after.calls, 1);
}
END_TEST

/* The host sees a tensor: y = x * 3 while y < 100; nothing comes after. */
static const recipe_op triple_ops[] = {{"Mul", IN(1), OUTER(0)}};
static const int triple_results[] = {OP(0), OP(0), OP(0)};
static const int first_internal[] = {IN(2)};

START_TEST(the_host_sees_tensors)
{
    const eddy_output x = real(1);
    const eddy_output three = real(3);
    recipe_parts both = {RECIPE(triple_ops, triple_results),
                         {.results = first_internal, .n_results = 1}};
    eddy_nnc_while_spec spec = spec_of(&both, &x, 1, 1);
    eddy_output out;

    both.before.outer = &three;
    spec.n_internals = 1;
    spec.condition = is_small;
    spec.n_condition = 1;
    build_loop(&spec, &out);
    want(out, 243);
    ck_assert_int_eq(calls, 5);
}
END_TEST

/* Fails when it is asked about trip `trips`. */
static eddy_status is_known(eddy_kernel *call, void *user, bool *out_value)
{
    const eddy_view count = eddy_kernel_input(call, 0);

    *out_value = true;
    if (*(const int64_t *)count.data < *(const int64_t *)user)
        return EDDY_OK;
    return eddy_kernel_fail(call, EDDY_DATA_LOSS, EDDY_E_VALUE, "nobody knows");
}

/* Trip 0 is asked about ahead of the loop, trip k at the end of trip k - 1. */
START_TEST(a_failure_of_the_host_says_in_which_trip)
{
    const eddy_output x = real(1);
    const eddy_output three = real(3);
    char wanted[64];
    recipe_parts both = {RECIPE(triple_ops, triple_results),
                         {.results = first_internal, .n_results = 1}};
    eddy_nnc_while_spec spec = spec_of(&both, &x, 1, 1);
    eddy_output out;

    trips = _i;
    both.before.outer = &three;
    spec.n_internals = 1;
    spec.condition = is_known;
    spec.n_condition = 1;
    build_loop(&spec, &out);
    program_plan_outputs(&p, &out, 1);
    program_want(&p, program_execute(&p), EDDY_DATA_LOSS, EDDY_E_VALUE);
    (void)snprintf(wanted, sizeof wanted, "trip %d: nobody knows", _i);
    ck_assert_str_eq(p.err.message, wanted);
}
END_TEST

/* The same, with a condition in the graph. */
static const recipe_op less_ops[] = {{"Mul", IN(1), OUTER(0)},
                                     {"Less", OP(0), OUTER(1)}};
static const int less_results[] = {OP(0), OP(0), OP(1)};

static eddy_output build_less(recipe_parts *both, eddy_output x,
                              const eddy_output *outer)
{
    eddy_nnc_while_spec spec = spec_of(both, &x, 1, 1);
    eddy_output out;

    *both = (recipe_parts){RECIPE(less_ops, less_results),
                           {.results = first_internal, .n_results = 1}};
    both->before.outer = outer;
    spec.n_internals = 1;
    spec.condition = NULL;
    build_loop(&spec, &out);
    return out;
}

START_TEST(the_condition_may_be_a_tensor)
{
    const eddy_output x = construct_feed(&p, "x", EDDY_FLOAT64);
    const eddy_output outer[] = {real(3), real(100)};
    const eddy_shape scalar = {.rank = 0};
    recipe_parts both;
    const eddy_output out = build_less(&both, x, outer);

    construct_plan(&p, out, &x, 1);
    program_make_run(&p);
    for (double first = 0.5; first < 200; first *= 2) {
        eddy_tensor *feed = program_tensor(&p, EDDY_FLOAT64, &scalar, &first);
        double y = first * 3;

        while (y < 100)
            y *= 3;
        program_want_ok(&p, eddy_run_feed(p.run, 0, feed, &p.err));
        eddy_tensor_release(feed);
        program_run(&p);
        ck_assert_double_eq(
            *(const double *)eddy_tensor_data(eddy_run_fetch(p.run, 0)), y);
    }
}
END_TEST

START_TEST(a_loop_of_tensors_is_saved_and_loaded)
{
    const eddy_output outer[] = {real(3), real(100)};
    recipe_parts both;
    const eddy_output out = build_less(&both, real(2), outer);
    const char *name = eddy_graph_node_name(p.graph, out.node);
    eddy_graph *loaded;
    eddy_output found;

    loaded = program_save_and_load(&p, p.graph);
    program_want_ok(&p, eddy_graph_find_output(loaded, name, &found, &p.err));
    eddy_graph_destroy(p.graph);
    p.graph = loaded;
    want(found, 162);
}
END_TEST

/* ---- in each other ---- */

/*
 * inner: v = v + count of the outer loop, until the inner count is that of the
 * outer one; outer: v = inner(v).
 */
typedef struct nested {
    eddy_output outer_count;
    eddy_output step;
} nested;

static const int pass_one[] = {IN(1)};

static eddy_status is_less(eddy_kernel *call, void *user, bool *out_value)
{
    (void)user;
    *out_value = *(const int64_t *)eddy_kernel_input(call, 0).data <
                 *(const int64_t *)eddy_kernel_input(call, 1).data;
    return EDDY_OK;
}

static eddy_status inner_before(eddy_graph *graph, void *user,
                                const eddy_output *inputs, size_t n,
                                eddy_output *out_results, eddy_error *err)
{
    (void)graph;
    (void)n;
    (void)err;
    out_results[0] = inputs[1];
    out_results[1] = ((const nested *)user)->outer_count;
    return EDDY_OK;
}

static eddy_status inner_after(eddy_graph *graph, void *user,
                               const eddy_output *inputs, size_t n,
                               eddy_output *out_results, eddy_error *err)
{
    const nested *at = user;
    const eddy_output both[] = {inputs[1], at->step};

    (void)n;
    return eddy_graph_add_op(graph, "AddV2", NULL, both, 2, out_results, err);
}

static eddy_status outer_before(eddy_graph *graph, void *user,
                                const eddy_output *inputs, size_t n,
                                eddy_output *out_results, eddy_error *err)
{
    (void)graph;
    (void)user;
    (void)n;
    (void)err;
    out_results[0] = inputs[1];
    return EDDY_OK;
}

static eddy_status outer_after(eddy_graph *graph, void *user,
                               const eddy_output *inputs, size_t n,
                               eddy_output *out_results, eddy_error *err)
{
    nested *at = user;
    const eddy_nnc_while_spec spec = {
        .size = sizeof spec,
        .name = "inner",
        .initial = &inputs[1],
        .n_parameters = 1,
        .n_outputs = 1,
        .before = inner_before,
        .after = inner_after,
        .user = at,
        .condition = is_less,
        .n_condition = 1,
    };

    (void)n;
    at->outer_count = inputs[0];
    return eddy_nnc_while(graph, &spec, out_results, NULL, err);
}

static eddy_output build_nested(eddy_output v, eddy_output step)
{
    nested at = {.step = step};
    const eddy_nnc_while_spec spec = {
        .size = sizeof spec,
        .initial = &v,
        .n_parameters = 1,
        .n_outputs = 1,
        .before = outer_before,
        .after = outer_after,
        .user = &at,
        .condition = is_below,
        .condition_user = &trips,
    };
    eddy_output out;

    build_loop(&spec, &out);
    return out;
}

START_TEST(an_inner_condition_sees_the_outer_count)
{
    trips = _i;
    want(build_nested(real(1), real(10)), 1 + 10 * (_i * (_i - 1) / 2));
}
END_TEST

/* In a loop and a branch of the builder, with values from the root. */
START_TEST(a_loop_stands_in_other_constructs)
{
    const eddy_output wanted = construct_feed(&p, "trips", EDDY_INT64);
    const eddy_output outer[] = {real(3), real(2)};
    recipe_parts both = middle;
    counted c = construct_counted(&p, wanted, real(1));
    eddy_nnc_while_spec spec = spec_of(&both, &c.now, 1, 1);
    eddy_output out;
    double x = 1;

    both.before.outer = both.after.outer = outer;
    spec.n_internals = 1;
    trips = 2;
    construct_cond(&p, program_binary(&p, "Less", program_int(&p, 0), c.i));
    build_loop(&spec, &out);
    construct_else(&p, out);
    out = construct_end_cond(&p, c.now);
    construct_end_counted(&p, &c, out);
    for (int i = 0; i < 4; i++)
        x = i > 0 ? slow_middle(x, 3, 2, 2) : x;
    construct_plan(&p, c.results[1], &wanted, 1);
    program_make_run(&p);
    program_feed_int(&p, 0, 4);
    program_run(&p);
    ck_assert_double_eq_tol(
        *(const double *)eddy_tensor_data(eddy_run_fetch(p.run, 0)), x,
        1e-9 * x);
    ck_assert_int_eq(calls, 9);
}
END_TEST

/* ---- case_of ---- */

static eddy_status choose_fed(eddy_kernel *call, void *user, int32_t *out_value)
{
    (void)user;
    calls++;
    *out_value = *(const int32_t *)eddy_kernel_input(call, 0).data;
    return EDDY_OK;
}

/* x, y -> y, x and x * y, x + y */
static const int swapped[] = {IN(1), IN(0)};
static const recipe_op both_ops[] = {{"Mul", IN(0), IN(1)},
                                     {"AddV2", IN(0), IN(1)}};
static const int both_results[] = {OP(0), OP(1)};

static recipe swap = {.results = swapped, .n_results = 2};
static recipe combine = RECIPE(both_ops, both_results);
static const eddy_branch two_branches[] = {{recipe_build, &swap},
                                           {recipe_build, &combine}};

static void build_case(eddy_output index, bool by_host, const eddy_output *xy,
                       eddy_output *results)
{
    eddy_nnc_case_spec spec = {
        .size = sizeof spec,
        .inputs = xy,
        .n_inputs = 2,
        .branches = two_branches,
        .n_branches = 2,
        .index = index,
    };

    if (by_host) {
        spec.select = choose_fed;
        spec.select_inputs = &index;
        spec.n_select_inputs = 1;
    }
    program_want_ok(&p, eddy_nnc_case_of(p.graph, &spec, results, &p.err));
}

/* By the host and by a tensor. */
START_TEST(a_case_takes_a_branch_or_none)
{
    static const double wanted[][2] = {{3, 5}, {5, 3}, {15, 8}};
    const eddy_output index = construct_feed(&p, "index", EDDY_INT32);
    const eddy_output xy[] = {real(3), real(5)};
    eddy_output results[2];

    build_case(index, _i == 0, xy, results);
    for (int i = -1; i < 2; i++) {
        for (int j = 0; j < 2; j++) {
            construct_plan(&p, results[j], &index, 1);
            program_make_run(&p);
            program_feed_int32(&p, 0, i);
            program_run(&p);
            ck_assert_double_eq(
                *(const double *)eddy_tensor_data(eddy_run_fetch(p.run, 0)),
                wanted[i + 1][j]);
        }
    }
    program_feed_int32(&p, 0, 2);
    if (_i == 0) {
        program_want(&p, program_execute(&p), EDDY_OUT_OF_RANGE, EDDY_E_INDEX);
        ck_assert_str_eq(p.err.op, "_HostSelector");
        ck_assert_int_eq(calls, 7);
    } else {
        program_run(&p);
        ck_assert_double_eq(
            *(const double *)eddy_tensor_data(eddy_run_fetch(p.run, 0)), 5);
    }
}
END_TEST

/* Chooses 0, 1, none, 0, ... by the count. */
static eddy_status choose_in_turn(eddy_kernel *call, void *user,
                                  int32_t *out_value)
{
    const int64_t count = *(const int64_t *)eddy_kernel_input(call, 0).data;

    (void)user;
    *out_value = count % 3 == 2 ? -1 : (int32_t)(count % 3);
    return EDDY_OK;
}

/* v * k and v + k, k from outside. */
static const recipe_op mul_ops[] = {{"Mul", IN(0), OUTER(0)}};
static const recipe_op add_ops[] = {{"AddV2", IN(0), OUTER(0)}};
static const int one_result[] = {OP(0)};

static eddy_status turn_after(eddy_graph *graph, void *user,
                              const eddy_output *inputs, size_t n,
                              eddy_output *out_results, eddy_error *err)
{
    recipe mul = RECIPE(mul_ops, one_result);
    recipe sum = RECIPE(add_ops, one_result);
    const eddy_branch branches[] = {{recipe_build, &mul}, {recipe_build, &sum}};
    const eddy_nnc_case_spec spec = {
        .size = sizeof spec,
        .inputs = &inputs[1],
        .n_inputs = 1,
        .branches = branches,
        .n_branches = 2,
        .select = choose_in_turn,
        .select_inputs = &inputs[0],
        .n_select_inputs = 1,
    };

    (void)n;
    mul.outer = sum.outer = user;
    return eddy_nnc_case_of(graph, &spec, out_results, err);
}

static eddy_output build_turns(eddy_output v, const eddy_output *k)
{
    const eddy_nnc_while_spec spec = {
        .size = sizeof spec,
        .initial = &v,
        .n_parameters = 1,
        .n_outputs = 1,
        .before = outer_before,
        .after = turn_after,
        .user = (void *)(uintptr_t)k,
        .condition = is_below,
        .condition_user = &trips,
    };
    eddy_output out;

    build_loop(&spec, &out);
    return out;
}

static double slow_turns(double v, double k)
{
    for (int64_t i = 0; i < trips; i++) {
        v = i % 3 == 0 ? v * k : v;
        v = i % 3 == 1 ? v + k : v;
    }
    return v;
}

/* With the gradients that NNC aborts at. */
START_TEST(a_case_stands_in_a_loop)
{
    const eddy_output v = real(2), k = real(3);
    const eddy_output out = build_turns(v, &k);
    const double e = 1e-6;

    trips = _i;
    want(out, slow_turns(2, 3));
    ck_assert_double_eq_tol(
        value_of(gradient(out, v)),
        (slow_turns(2 + e, 3) - slow_turns(2 - e, 3)) / (2 * e), 1e-5);
    if (_i == 0)
        return;
    ck_assert_double_eq_tol(
        value_of(gradient(out, k)),
        (slow_turns(2, 3 + e) - slow_turns(2, 3 - e)) / (2 * e), 1e-5);
}
END_TEST

/* ---- gradients ---- */

/* a <- b, b <- a * b: 72 after three from 3 and 2; NNC has 24 and 6. */
static const recipe_op product_ops[] = {{"Mul", IN(1), IN(2)}};
static const int product_next[] = {IN(2), OP(0)};
static const recipe_parts product = {
    {.results = pass_two, .n_results = 2},
    RECIPE(product_ops, product_next),
};

START_TEST(shift_registers_have_gradients)
{
    const eddy_output first[] = {real(3), real(2)};
    recipe_parts both = product;
    const eddy_nnc_while_spec spec = spec_of(&both, first, 2, 2);
    eddy_output outputs[2], da, db;

    build_loop(&spec, outputs);
    da = gradient(outputs[1], first[0]);
    db = gradient(outputs[1], first[1]);
    trips = 3;
    want(outputs[1], 72);
    want(da, 48);
    want(db, 108); /* 3 a^2 b^2 */
    trips = 2;
    want(outputs[1], 12);
    want(da, 4);
    want(db, 12);
}
END_TEST

/*
 * x <- x * k with the condition first and last; _i % 2 says which.  x or k is
 * 0, where NNC has NaN.
 */
static const int given_one[] = {OP(0), OP(0)};

START_TEST(a_product_has_gradients_with_the_condition_first_and_last)
{
    const bool is_last = _i % 2;
    const eddy_output x = real(_i / 2 == 0 ? 5 : 0), k = real(_i / 2);
    recipe_parts both = {{.results = pass_one, .n_results = 1},
                         RECIPE(triple_ops, one_result)};
    eddy_nnc_while_spec spec = spec_of(&both, &x, 1, 1);
    eddy_output out;

    if (is_last) {
        both = (recipe_parts){RECIPE(triple_ops, given_one),
                              {.results = first_internal, .n_results = 1}};
        spec.n_internals = 1;
    }
    both.before.outer = both.after.outer = &k;
    build_loop(&spec, &out);
    trips = 3 - is_last;
    want(out, 0);
    want(gradient(out, x), _i / 2 == 0 ? 0 : 1);
    want(gradient(out, k), 0); /* 3 x k^2 */
}
END_TEST

START_TEST(nested_loops_have_gradients)
{
    const eddy_output v = real(1), step = real(10);
    const eddy_output out = build_nested(v, step);

    trips = 5;
    want(gradient(out, v), 1);
    want(gradient(out, step), 10);
}
END_TEST

/* Every order through a break in the middle; _i is the order. */
START_TEST(gradients_equal_differences)
{
    const eddy_output x = real(1.5);
    const eddy_output outer[] = {real(3), real(2)};
    recipe_parts both = middle;
    eddy_nnc_while_spec spec = spec_of(&both, &x, 1, 1);
    const double e = 1e-5;
    eddy_output out, dx, da, db;

    both.before.outer = both.after.outer = outer;
    spec.n_internals = 1;
    build_loop(&spec, &out);
    dx = gradient(out, x);
    da = gradient(out, outer[0]);
    db = gradient(out, outer[1]);
    for (trips = 0; trips < 5; trips++) {
        const int64_t n = trips;
        const double scale = slow_middle(1.5, 3, 2, n) * 1e-7;

        ck_assert_double_eq_tol(
            value_of(dx),
            (slow_middle(1.5 + e, 3, 2, n) - slow_middle(1.5 - e, 3, 2, n)) /
                (2 * e),
            scale);
        ck_assert_double_eq_tol(
            value_of(da),
            (slow_middle(1.5, 3 + e, 2, n) - slow_middle(1.5, 3 - e, 2, n)) /
                (2 * e),
            scale);
        ck_assert_double_eq_tol(
            value_of(db),
            (slow_middle(1.5, 3, 2 + e, n) - slow_middle(1.5, 3, 2 - e, n)) /
                (2 * e),
            scale);
    }
}
END_TEST

/* d2/dadb of a^2 b^3. */
START_TEST(gradients_have_gradients)
{
    const eddy_output first[] = {real(3), real(2)};
    recipe_parts both = product;
    const eddy_nnc_while_spec spec = spec_of(&both, first, 2, 2);
    eddy_output outputs[2];

    build_loop(&spec, outputs);
    trips = 3;
    want(gradient(gradient(outputs[1], first[0]), first[1]), 72);
}
END_TEST

/* ---- bad use ---- */

static void want_refused(eddy_status status, eddy_detail detail, size_t size)
{
    program_want(&p, status, EDDY_INVALID_ARGUMENT, detail);
    ck_assert_uint_eq(eddy_graph_size(p.graph), size);
    ck_assert_uint_eq(eddy_construct_depth(p.graph), 0);
}

static eddy_status try_loop(const eddy_nnc_while_spec *spec)
{
    eddy_output outputs[2];

    return eddy_nnc_while(p.graph, spec, outputs, NULL, &p.err);
}

static eddy_status fail_late(eddy_graph *graph, void *user,
                             const eddy_output *inputs, size_t n,
                             eddy_output *out_results, eddy_error *err)
{
    (void)graph;
    (void)user;
    (void)inputs;
    (void)n;
    (void)out_results;
    (void)err;
    return EDDY_ABORTED;
}

START_TEST(bad_loops_are_refused)
{
    const eddy_output first[] = {real(3), real(2)};
    const size_t size = eddy_graph_size(p.graph);
    recipe_parts both = product;
    const eddy_nnc_while_spec good = spec_of(&both, first, 2, 2);
    eddy_nnc_while_spec spec = good;

    spec.size--;
    want_refused(try_loop(&spec), EDDY_E_ARGUMENT, size);
    spec = good;
    spec.before = NULL;
    want_refused(try_loop(&spec), EDDY_E_ARGUMENT, size);
    spec = good;
    spec.after = NULL;
    want_refused(try_loop(&spec), EDDY_E_ARGUMENT, size);
    spec = good;
    want_refused(eddy_nnc_while(p.graph, &spec, NULL, NULL, &p.err),
                 EDDY_E_ARGUMENT, size);
    spec.n_internals = SIZE_MAX / 4;
    want_refused(try_loop(&spec), EDDY_E_INPUT_COUNT, size);
    /* b <- count */
    spec = good;
    both = (recipe_parts){{.results = pass_two, .n_results = 2},
                          {.results = swapped, .n_results = 2}};
    want_refused(try_loop(&spec), EDDY_E_INPUT_DTYPE, size);
    /* A condition of another dtype. */
    spec = good;
    both = (recipe_parts){{.results = pass_two, .n_results = 2},
                          {.results = pass_two, .n_results = 2}};
    spec.n_outputs = 1;
    spec.condition = NULL;
    want_refused(try_loop(&spec), EDDY_E_PREDICATE, size);
    spec.after = fail_late;
    spec.condition = is_below;
    spec.n_outputs = 2;
    ck_assert_int_eq(try_loop(&spec), EDDY_ABORTED);
    ck_assert_uint_eq(eddy_graph_size(p.graph), size);
}
END_TEST

/* x <- x concatenated with itself, by the outer product. */
static const recipe_op grow_ops[] = {{"AddV2", IN(1), OUTER(0)}};

START_TEST(a_shape_changes_where_it_may)
{
    const int64_t wanted_dims[] = {2};
    recipe_parts both = {{.results = pass_one, .n_results = 1},
                         RECIPE(grow_ops, one_result)};
    eddy_output x, wide, out;
    eddy_nnc_while_spec spec;
    size_t size;

    program_build(&p, "x float64=1\nwide float64[2]=10,20\n");
    x = program_output(&p, "x");
    wide = program_output(&p, "wide");
    both.after.outer = &wide;
    spec = spec_of(&both, &x, 1, 1);
    size = eddy_graph_size(p.graph);
    want_refused(try_loop(&spec), EDDY_E_SHAPE, size);
    spec.changes_shape = true;
    build_loop(&spec, &out);
    trips = 3;
    program_plan_outputs(&p, &out, 1);
    program_run(&p);
    program_want_fetch(&p, 0, 1, wanted_dims, PROGRAM_NUMBERS(31, 61));
}
END_TEST

START_TEST(bad_cases_are_refused)
{
    const eddy_output xy[] = {real(3), real(5)};
    const eddy_output vector =
        program_output(&p, (program_build(&p, "v int32[2]=1\n"), "v"));
    const eddy_nnc_case_spec good = {
        .size = sizeof good,
        .inputs = xy,
        .n_inputs = 2,
        .branches = two_branches,
        .n_branches = 2,
        .index = program_constant(&p, EDDY_INT32, &(int32_t){0}),
    };
    const size_t size = eddy_graph_size(p.graph);
    const eddy_branch no_function = {NULL, NULL};
    eddy_nnc_case_spec spec = good;
    eddy_output results[2];

    spec.size--;
    want_refused(eddy_nnc_case_of(p.graph, &spec, results, &p.err),
                 EDDY_E_ARGUMENT, size);
    want_refused(eddy_nnc_case_of(p.graph, &good, NULL, &p.err),
                 EDDY_E_ARGUMENT, size);
    spec = good;
    spec.n_branches = 0;
    want_refused(eddy_nnc_case_of(p.graph, &spec, results, &p.err),
                 EDDY_E_INPUT_COUNT, size);
    spec = good;
    spec.index = xy[0];
    want_refused(eddy_nnc_case_of(p.graph, &spec, results, &p.err),
                 EDDY_E_INPUT_DTYPE, size);
    spec.index = vector;
    want_refused(eddy_nnc_case_of(p.graph, &spec, results, &p.err),
                 EDDY_E_SHAPE, size);
    spec = good;
    spec.branches = &no_function;
    spec.n_branches = 1;
    want_refused(eddy_nnc_case_of(p.graph, &spec, results, &p.err),
                 EDDY_E_ARGUMENT, size);
}
END_TEST

/* _i: a loop or a case */
START_TEST(nothing_is_left_without_memory)
{
    const eddy_output first[] = {real(3), real(2)};
    const eddy_output index = program_constant(&p, EDDY_INT32, &(int32_t){1});
    const size_t size = eddy_graph_size(p.graph);
    recipe_parts both = product;
    const eddy_nnc_while_spec loop = spec_of(&both, first, 2, 2);
    const eddy_nnc_case_spec branches = {
        .size = sizeof branches,
        .inputs = first,
        .n_inputs = 2,
        .branches = two_branches,
        .n_branches = 2,
        .index = index,
    };
    eddy_status status = EDDY_RESOURCE_EXHAUSTED;
    eddy_output outputs[2];

    trips = 3;
    for (int n = 0; status != EDDY_OK; n++) {
        ck_assert_int_lt(n, 10000);
        counting_allocator_fail(&p.counting, n);
        status = _i == 0
                     ? eddy_nnc_while(p.graph, &loop, outputs, NULL, &p.err)
                     : eddy_nnc_case_of(p.graph, &branches, outputs, &p.err);
        if (status != EDDY_OK) {
            ck_assert_int_eq(p.err.detail, EDDY_E_MEMORY);
            ck_assert_uint_eq(eddy_graph_size(p.graph), size);
            ck_assert_uint_eq(eddy_construct_depth(p.graph), 0);
        }
    }
    counting_allocator_fail(&p.counting, -1);
    want(outputs[1], _i == 0 ? 72 : 5);
}
END_TEST

TCase *nnc_tests(void)
{
    TCase *tcase = tcase_create("nnc");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, values_are_shifted, 0, 35);
    tcase_add_loop_test(tcase, the_condition_stands_in_the_middle, 0, 5);
    tcase_add_test(tcase, the_host_sees_tensors);
    tcase_add_loop_test(tcase, a_failure_of_the_host_says_in_which_trip, 0, 3);
    tcase_add_test(tcase, the_condition_may_be_a_tensor);
    tcase_add_test(tcase, a_loop_of_tensors_is_saved_and_loaded);
    tcase_add_loop_test(tcase, an_inner_condition_sees_the_outer_count, 0, 5);
    tcase_add_test(tcase, a_loop_stands_in_other_constructs);
    tcase_add_loop_test(tcase, a_case_takes_a_branch_or_none, 0, 2);
    tcase_add_loop_test(tcase, a_case_stands_in_a_loop, 0, 8);
    tcase_add_test(tcase, shift_registers_have_gradients);
    tcase_add_loop_test(
        tcase, a_product_has_gradients_with_the_condition_first_and_last, 0, 4);
    tcase_add_test(tcase, nested_loops_have_gradients);
    tcase_add_test(tcase, gradients_equal_differences);
    tcase_add_test(tcase, gradients_have_gradients);
    tcase_add_test(tcase, bad_loops_are_refused);
    tcase_add_test(tcase, a_shape_changes_where_it_may);
    tcase_add_test(tcase, bad_cases_are_refused);
    tcase_add_loop_test(tcase, nothing_is_left_without_memory, 0, 2);
    return tcase;
}
