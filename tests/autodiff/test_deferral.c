/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients that are asked for inside a construct which is still open, through
 * constructs that have ended in it: the usual training loop.
 *
 * `parts` are functions of a scalar, each as a construct and in C, whose
 * derivatives are those of differences.
 */
#include "tests/aid/construct.h"
#include "tests/suites.h"

#include <math.h>
#include <string.h>

#define STEPS 4

static program p;

static eddy_output number(double value)
{
    return program_constant(&p, EDDY_FLOAT64, &value);
}

static eddy_output binary(const char *op, eddy_output x, eddy_output y)
{
    return program_binary(&p, op, x, y);
}

static eddy_output add(eddy_output x, eddy_output y)
{
    return binary("AddV2", x, y);
}

static eddy_output mul(eddy_output x, eddy_output y)
{
    return binary("Mul", x, y);
}

static eddy_output gradient(eddy_output y, eddy_output x)
{
    eddy_output dx;

    program_want_ok(&p,
                    eddy_gradients(p.graph, &y, 1, &x, 1, NULL, &dx, &p.err));
    return dx;
}

static eddy_output tangent(eddy_output y, eddy_output x)
{
    eddy_output dy;

    program_want_ok(&p,
                    eddy_jvp(p.graph, &y, 1, &x, 1, NULL, NULL, &dy, &p.err));
    return dy;
}

static double value_of(eddy_output fetch)
{
    ck_assert_uint_ne(fetch.node, EDDY_NO_NODE);
    program_plan_outputs(&p, &fetch, 1);
    program_run(&p);
    return ((const double *)eddy_tensor_data(eddy_run_fetch(p.run, 0)))[0];
}

static void want(eddy_output fetch, double wanted, double tolerance)
{
    ck_assert_double_eq_tol(value_of(fetch), wanted,
                            tolerance * (1 + fabs(wanted)));
}

/* ---- parts ---- */

static eddy_output square_twice(eddy_output w)
{
    counted c = construct_counted(&p, program_int(&p, 2), w);

    construct_end_counted(&p, &c, mul(c.now, c.now));
    return c.results[1];
}

static double in_c_square_twice(double w)
{
    return w * w * w * w;
}

static eddy_output choose(eddy_output w)
{
    construct_cond(&p, binary("Less", w, number(0.75)));
    construct_else(&p, mul(mul(w, w), w));
    return construct_end_cond(&p, mul(w, w));
}

static double in_c_choose(double w)
{
    return w < 0.75 ? w * w * w : w * w;
}

/* By index: how many halves are in w. */
static eddy_output pick(eddy_output w)
{
    const eddy_dtype to = EDDY_INT32;
    const eddy_attr attr = eddy_attr_type("DstT", &to);
    const eddy_output twice = mul(w, number(2));
    eddy_node_spec cast = {.size = sizeof cast,
                           .op = "Cast",
                           .inputs = &twice,
                           .n_inputs = 1,
                           .attrs = &attr,
                           .n_attrs = 1};
    eddy_switch_case_spec spec = {.size = sizeof spec, .n_branches = 3};
    eddy_output at = {.index = 0};

    program_want_ok(&p, eddy_graph_add(p.graph, &cast, &at.node, &p.err));
    spec.index = at;
    program_want_ok(&p, eddy_switch_case_begin(p.graph, &spec, &p.err));
    construct_next(&p, mul(w, number(0.5)));
    construct_next(&p, program_unary(&p, "Sin", w));
    return construct_end_case(&p, mul(w, mul(w, w)));
}

static double in_c_pick(double w)
{
    const int at = (int)(2 * w);

    return at == 0 ? 0.5 * w : at == 1 ? sin(w) : w * w * w;
}

/* for i < 3: for j < 3: if j < i: r = r w, else r = r + w / 8 */
static eddy_output three_deep(eddy_output w)
{
    counted outer = construct_counted(&p, program_int(&p, 3), w);
    counted inner = construct_counted(&p, program_int(&p, 3), outer.now);
    eddy_output next;

    construct_cond(&p, binary("Less", inner.i, outer.i));
    construct_else(&p, mul(inner.now, w));
    next = construct_end_cond(&p, add(inner.now, mul(w, number(0.125))));
    construct_end_counted(&p, &inner, next);
    construct_end_counted(&p, &outer, inner.results[1]);
    return outer.results[1];
}

static double in_c_three_deep(double w)
{
    double r = w;

    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            r = j < i ? r * w : r + w / 8;
    return r;
}

static eddy_output numbers(const double *values, int64_t n)
{
    const eddy_shape shape = {.rank = 1, .dims = {n}};
    eddy_tensor *tensor = program_tensor(&p, EDDY_FLOAT64, &shape, values);
    eddy_output out;

    program_want_ok(&p,
                    eddy_graph_add_const(p.graph, NULL, tensor, &out, &p.err));
    eddy_tensor_release(tensor);
    return out;
}

static eddy_status fold_step(eddy_graph *graph, void *user,
                             const eddy_output *inputs, size_t n,
                             eddy_output *out, eddy_error *err)
{
    const eddy_output *w = user;

    (void)graph;
    (void)n;
    (void)err;
    /* The two front ends have item and state the other way round. */
    out[0] = mul(add(inputs[0], inputs[1]), *w);
    return EDDY_OK;
}

static const double items[] = {0.5, -0.25, 1};

static eddy_output fold(eddy_output w)
{
    const eddy_output elems = numbers(items, 3);
    eddy_fold_spec spec = {.size = sizeof spec,
                           .elems = &elems,
                           .n_elems = 1,
                           .initializer = &w,
                           .n_initializers = 1,
                           .step = fold_step,
                           .user = &w};
    eddy_output out;

    program_want_ok(&p, eddy_foldl(p.graph, &spec, &out, &p.err));
    return out;
}

static eddy_output foreach (eddy_output w)
{
    const eddy_output elems = numbers(items, 3);
    eddy_mxnet_foreach_spec spec = {.size = sizeof spec,
                                    .inputs = &elems,
                                    .n_inputs = 1,
                                    .states = &w,
                                    .n_states = 1,
                                    .body = fold_step,
                                    .user = &w};
    eddy_output out;

    program_want_ok(&p, eddy_mxnet_foreach(p.graph, &spec, NULL, &out, &p.err));
    return out;
}

static double in_c_fold(double w)
{
    double r = w;

    for (int i = 0; i < 3; i++)
        r = (r + items[i]) * w;
    return r;
}

static const struct part {
    eddy_output (*build)(eddy_output w);
    double (*in_c)(double w);
} parts[] = {
    {square_twice, in_c_square_twice},
    {choose, in_c_choose},
    {pick, in_c_pick},
    {three_deep, in_c_three_deep},
    {fold, in_c_fold},
    {foreach, in_c_fold},
};

#define PARTS (int)(sizeof parts / sizeof parts[0])

static double first_of(const struct part *part, double w)
{
    const double h = 1e-3;

    return (8 * (part->in_c(w + h) - part->in_c(w - h)) -
            (part->in_c(w + 2 * h) - part->in_c(w - 2 * h))) /
           (12 * h);
}

static double second_of(const struct part *part, double w)
{
    const double h = 1e-3;

    return (8 * (first_of(part, w + h) - first_of(part, w - h)) -
            (first_of(part, w + 2 * h) - first_of(part, w - 2 * h))) /
           (12 * h);
}

/* ---- modes ---- */

static eddy_output reverse_twice(eddy_output y, eddy_output x)
{
    return gradient(gradient(y, x), x);
}

static eddy_output forward_twice(eddy_output y, eddy_output x)
{
    return tangent(tangent(y, x), x);
}

static eddy_output reverse_over_forward(eddy_output y, eddy_output x)
{
    return gradient(tangent(y, x), x);
}

static eddy_output hessian(eddy_output y, eddy_output x)
{
    eddy_output out;

    program_want_ok(&p,
                    eddy_hvp(p.graph, &y, 1, &x, 1, NULL, NULL, &out, &p.err));
    return out;
}

static const struct mode {
    eddy_output (*derive)(eddy_output y, eddy_output x);
    double (*in_c)(const struct part *part, double w);
} modes[] = {
    {gradient, first_of},       {tangent, first_of},
    {reverse_twice, second_of}, {forward_twice, second_of},
    {hessian, second_of},       {reverse_over_forward, second_of},
};

#define MODES (int)(sizeof modes / sizeof modes[0])

/* ---- the training loop ---- */

/* w -= 0.05 d, where d is a derivative of the part at w */
static double train_in_c(const struct part *part, const struct mode *mode,
                         double w)
{
    for (int i = 0; i < STEPS; i++)
        w -= 0.05 * mode->in_c(part, w);
    return w;
}

static eddy_output train(const struct part *part, const struct mode *mode,
                         eddy_output w)
{
    counted c = construct_counted(&p, program_int(&p, STEPS), w);
    const eddy_output d = mode->derive(part->build(c.now), c.now);

    construct_end_counted(&p, &c, binary("Sub", c.now, mul(number(0.05), d)));
    return c.results[1];
}

START_TEST(a_step_runs_a_construct_and_takes_its_gradient)
{
    const struct part *part = &parts[_i / MODES];
    const struct mode *mode = &modes[_i % MODES];

    program_init(&p, _i % 2 ? 2 : 0);
    want(train(part, mode, number(0.9)), train_in_c(part, mode, 0.9), 1e-6);
    program_deinit(&p);
}
END_TEST

/* The derivative of the whole training by where it started. */
START_TEST(the_training_is_differentiated)
{
    const struct part *part = &parts[_i];
    const double h = 1e-3;
    const double wanted =
        (train_in_c(part, modes, 0.9 + h) - train_in_c(part, modes, 0.9 - h)) /
        (2 * h);
    eddy_output w, end;

    program_init(&p, 0);
    w = number(0.9);
    end = train(part, modes, w);
    want(gradient(end, w), wanted, 1e-4);
    want(tangent(end, w), wanted, 1e-4);
    want(tangent(gradient(end, w), w), value_of(reverse_twice(end, w)), 1e-9);
    program_deinit(&p);
}
END_TEST

/* In a branch of the body, and in a loop of it. */
START_TEST(the_gradient_is_taken_deeper_inside)
{
    const struct part *part = &parts[_i];
    double w = 0.9;
    counted c, inner;
    eddy_output next;

    program_init(&p, 0);
    c = construct_counted(&p, program_int(&p, STEPS), number(w));
    construct_cond(&p, binary("Less", c.i, program_int(&p, 2)));
    inner = construct_counted(&p, program_int(&p, 2), c.now);
    next = gradient(part->build(inner.now), inner.now);
    next = binary("Sub", inner.now, mul(number(0.05), next));
    construct_end_counted(&p, &inner, next);
    construct_else(&p, inner.results[1]);
    next = gradient(part->build(c.now), c.now);
    next = construct_end_cond(&p, add(c.now, mul(number(0.05), next)));
    construct_end_counted(&p, &c, next);
    for (int i = 0; i < STEPS; i++) {
        if (i >= 2)
            w += 0.05 * first_of(part, w);
        for (int k = 0; i < 2 && k < 2; k++)
            w -= 0.05 * first_of(part, w);
    }
    want(c.results[1], w, 1e-7);
    program_deinit(&p);
}
END_TEST

/* At the root, where nothing is open. */
START_TEST(every_mode_agrees_where_nothing_is_open)
{
    const struct part *part = &parts[_i / MODES];
    const struct mode *mode = &modes[_i % MODES];
    eddy_output w;

    program_init(&p, 0);
    w = number(0.9);
    want(mode->derive(part->build(w), w), mode->in_c(part, 0.9), 1e-6);
    program_deinit(&p);
}
END_TEST

/* More trips than may run at once, before the gradient is asked for. */
START_TEST(a_long_loop_in_a_loop_that_runs_trip_by_trip)
{
    eddy_output first[2], now[2], g;
    eddy_while_spec spec = {.size = sizeof spec,
                            .initial = first,
                            .n_variables = 2,
                            .parallel_iterations = 1};
    counted c;

    program_init(&p, 0);
    c = construct_counted(&p, program_int(&p, 3), number(1));
    first[0] = program_int(&p, 0);
    first[1] = c.now;
    construct_while_with(&p, &spec, now);
    construct_body(&p, binary("Less", now[0], program_int(&p, 40)), now);
    now[0] = add(now[0], program_int(&p, 1));
    now[1] = mul(now[1], number(1.01));
    construct_end(&p, now, 2, now);
    g = gradient(now[1], c.now);
    construct_end_counted(&p, &c, mul(c.now, g));
    want(c.results[1], pow(1.01, 120), 1e-9);
    program_deinit(&p);
}
END_TEST

/* v grows by an element a trip; the gradient has its shape. */
START_TEST(a_variable_that_changes_its_shape)
{
    const eddy_shape any = {.rank = 1, .dims = {-1}}, scalar = {.rank = 0};
    const eddy_shape invariants[] = {scalar, any, any};
    eddy_output first[3], now[3], axis, both[3], sum;
    eddy_while_spec spec = {.size = sizeof spec,
                            .initial = first,
                            .n_variables = 3,
                            .shape_invariants = _i ? invariants : NULL};

    program_init(&p, 0);
    axis = program_constant(&p, EDDY_INT32, &(int32_t){0});
    first[0] = program_int(&p, 0);
    first[1] = first[2] = numbers(items, 1);
    construct_while_with(&p, &spec, now);
    construct_body(&p, binary("Less", now[0], program_int(&p, 3)), now);
    sum = binary("Sum", mul(now[1], mul(now[1], now[1])), axis);
    now[2] = gradient(sum, now[1]);
    both[0] = now[1];
    both[1] = numbers(items, 1);
    both[2] = axis;
    program_want_ok(&p, eddy_graph_add_op(p.graph, "ConcatV2", NULL, both, 3,
                                          &now[1], &p.err));
    now[0] = add(now[0], program_int(&p, 1));
    construct_end(&p, now, 3, now);
    /* Three elements of 3 x 0.5^2. */
    want(binary("Sum", now[2], axis), 3 * 0.75, 1e-12);
    program_deinit(&p);
}
END_TEST

/* ---- what is outside ---- */

/* The sum over the trips of y = (v x)^4, where v is the one before and x / 2.
 */
static double sum_in_c(double x)
{
    double v = x, sum = 0;

    for (int i = 0; i < STEPS; i++) {
        sum += in_c_square_twice(v * x);
        v = 0.5 * v + 0.5 * x;
    }
    return sum;
}

typedef eddy_output (*deriving)(eddy_output y, eddy_output x);

/* The same in a graph, of the derivative of each y, or of y. */
static eddy_output sum_of(deriving derive, eddy_output x)
{
    const eddy_output first[] = {program_int(&p, 0), x, number(0)};
    eddy_output now[3], y;

    construct_while(&p, first, 3, now);
    construct_body(&p, binary("Less", now[0], program_int(&p, STEPS)), now);
    y = square_twice(mul(now[1], x));
    now[2] = add(now[2], derive ? derive(y, x) : y);
    now[1] = mul(add(now[1], x), number(0.5));
    now[0] = add(now[0], program_int(&p, 1));
    construct_end(&p, now, 3, now);
    return now[2];
}

/* What x did in the trips before counts, as after the end of the loop. */
START_TEST(an_x_outside_of_the_open_loop)
{
    const struct mode *mode = &modes[_i];
    const double h = 1e-3;
    const double first = (sum_in_c(0.8 + h) - sum_in_c(0.8 - h)) / (2 * h);
    const double second =
        (sum_in_c(0.8 + h) - 2 * sum_in_c(0.8) + sum_in_c(0.8 - h)) / (h * h);
    const bool is_first = mode->in_c == first_of;

    program_init(&p, 0);
    want(sum_of(NULL, number(0.8)), sum_in_c(0.8), 1e-12);
    want(sum_of(mode->derive, number(0.8)), is_first ? first : second, 1e-4);
    program_deinit(&p);
}
END_TEST

/* Too many elements to carry along: the trips are made again. */
START_TEST(an_x_outside_of_many_elements)
{
    double xs[20], by_element = 0;
    eddy_output x, axis, first[3], now[3], y;
    const double h = 1e-4;

    program_init(&p, 0);
    for (int i = 0; i < 20; i++)
        xs[i] = 0.8;
    axis = program_constant(&p, EDDY_INT32, &(int32_t){0});
    x = numbers(xs, 20);
    first[0] = program_int(&p, 0);
    first[1] = x;
    first[2] = number(0);
    construct_while(&p, first, 3, now);
    construct_body(&p, binary("Less", now[0], program_int(&p, STEPS)), now);
    y = square_twice(binary("Sum", mul(now[1], x), axis));
    now[2] = add(now[2], binary("Sum", gradient(y, x), axis));
    now[1] = mul(add(now[1], x), number(0.5));
    now[0] = add(now[0], program_int(&p, 1));
    construct_end(&p, now, 3, now);
    /* y = (20 v x)^4: by all elements together. */
    by_element = (sum_in_c(0.8 + h) - sum_in_c(0.8 - h)) / (2 * h) * 160000;
    want(now[2], by_element, 1e-6);
    program_deinit(&p);
}
END_TEST

/* v = w after: w = v x; twice: w = w / 2 + v / 4 + w w x / 8; the sum of all w
 * but the last of each. */
static double nested_in_c(double x)
{
    double v = x, sum = 0;

    for (int i = 0; i < 3; i++) {
        double w = v * x;

        for (int j = 0; j < 2; j++) {
            sum += w * w;
            w = 0.5 * w + 0.25 * v + 0.125 * w * w * x;
        }
        v = w;
    }
    return sum;
}

/* x is outside of two loops that are open: the outer one is waited for. */
START_TEST(an_x_outside_of_two_open_loops)
{
    const double h = 1e-3;
    const double wanted = (nested_in_c(0.8 + h) - nested_in_c(0.8 - h)) / h / 2;
    eddy_output x, v, w, first[3], outer[3], inner[3];

    program_init(&p, 0);
    x = number(0.8);
    first[0] = program_int(&p, 0);
    first[1] = x;
    first[2] = number(0);
    construct_while(&p, first, 3, outer);
    construct_body(&p, binary("Less", outer[0], program_int(&p, 3)), outer);
    v = outer[1];
    first[0] = program_int(&p, 0);
    first[1] = mul(v, x);
    first[2] = outer[2];
    construct_while(&p, first, 3, inner);
    construct_body(&p, binary("Less", inner[0], program_int(&p, 2)), inner);
    w = inner[1];
    inner[2] = add(inner[2], modes[_i].derive(mul(w, w), x));
    inner[1] = add(add(mul(w, number(0.5)), mul(v, number(0.25))),
                   mul(mul(mul(w, w), x), number(0.125)));
    inner[0] = add(inner[0], program_int(&p, 1));
    construct_end(&p, inner, 3, inner);
    outer[0] = add(outer[0], program_int(&p, 1));
    outer[1] = inner[1];
    outer[2] = inner[2];
    construct_end(&p, outer, 3, outer);
    want(outer[2], wanted, 1e-5);
    program_deinit(&p);
}
END_TEST

/* With `stop` the state counts as given, and nothing waits. */
START_TEST(a_state_that_is_given)
{
    eddy_output x, y, g;
    counted c;
    eddy_gradient_options options = {.size = sizeof options, .n_stop = 1};

    program_init(&p, 0);
    x = number(0.8);
    c = construct_counted(&p, program_int(&p, 2), x);
    y = square_twice(mul(c.now, x));
    options.stop = &c.now;
    program_want_ok(
        &p, eddy_gradients(p.graph, &y, 1, &x, 1, &options, &g, &p.err));
    construct_end_counted(&p, &c, g);
    /* dy/dx = 4 v^4 x^3, and v is the one before: 0.8 at first. */
    want(c.results[1], 4 * pow(4 * pow(0.8, 7), 4) * pow(0.8, 3), 1e-9);
    program_deinit(&p);
}
END_TEST

/* The state goes on with what would have to know how it goes on. */
START_TEST(what_waits_for_itself_is_refused)
{
    eddy_output x, g, next[2], now[2], results[2];
    eddy_status status;
    counted c;

    program_init(&p, 0);
    x = number(0.8);
    c = construct_counted(&p, program_int(&p, 2), x);
    g = _i ? tangent(square_twice(c.now), x) : gradient(square_twice(c.now), x);
    now[0] = add(c.i, program_int(&p, 1));
    next[0] = now[0];
    next[1] = mul(c.now, g);
    status = eddy_while_end(p.graph, next, 2, results, &p.err);
    program_want(&p, status, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT);
    /* The loop is open as before, and can be ended with something else. */
    next[1] = mul(c.now, number(0.5));
    program_want_ok(&p, eddy_while_end(p.graph, next, 2, results, &p.err));
    want(results[1], 0.2, 1e-12);
    program_deinit(&p);
}
END_TEST

/* An abort takes back what waits. */
START_TEST(a_loop_that_is_given_up)
{
    eddy_output x, two;
    size_t size;
    counted c;

    program_init(&p, 0);
    x = number(0.8);
    two = program_int(&p, 2);
    size = eddy_graph_size(p.graph);
    c = construct_counted(&p, two, x);
    (void)gradient(square_twice(mul(c.now, x)), x);
    eddy_construct_abort(p.graph);
    ck_assert_uint_le(eddy_graph_size(p.graph), size + 1);
    c = construct_counted(&p, two, x);
    construct_end_counted(&p, &c, gradient(square_twice(c.now), c.now));
    want(c.results[1], 4 * pow(4 * pow(0.8, 3), 3), 1e-9);
    program_deinit(&p);
}
END_TEST

/* y = 2 x in the body of a loop that was made by hand and has no end yet. */
START_TEST(a_loop_by_hand_that_has_no_end)
{
    eddy_output x, y, dx;

    program_init(&p, 0);
    program_build(&p, "x float64=3\nte Enter@w x\nm Merge te te\n"
                      "xe Enter@w! x\ny Mul m xe\n");
    x = program_output(&p, "x");
    y = program_output(&p, "y");
    program_want(&p, eddy_gradients(p.graph, &y, 1, &x, 1, NULL, &dx, &p.err),
                 EDDY_FAILED_PRECONDITION, EDDY_E_CONSTRUCT);
    program_want(&p, eddy_jvp(p.graph, &y, 1, &x, 1, NULL, NULL, &dx, &p.err),
                 EDDY_FAILED_PRECONDITION, EDDY_E_CONSTRUCT);
    program_deinit(&p);
}
END_TEST

/* ---- what is given from outside, and what does not depend ---- */

START_TEST(starts_and_directions_come_from_outside)
{
    eddy_output u, y, g;
    counted c;

    program_init(&p, 0);
    u = number(3);
    c = construct_counted(&p, program_int(&p, 1), number(0.5));
    y = square_twice(c.now);
    if (_i == 0) {
        const eddy_gradient_options options = {.size = sizeof options,
                                               .grad_ys = &u};

        program_want_ok(&p, eddy_gradients(p.graph, &y, 1, &c.now, 1, &options,
                                           &g, &p.err));
    } else {
        program_want_ok(
            &p, eddy_jvp(p.graph, &y, 1, &c.now, 1, &u, NULL, &g, &p.err));
    }
    construct_end_counted(&p, &c, g);
    want(c.results[1], 3 * 4 * 0.125, 1e-12);
    program_deinit(&p);
}
END_TEST

/* In a branch the start is live only if the branch is. */
START_TEST(a_start_from_outside_in_a_branch)
{
    eddy_output u, x, y, g;
    eddy_gradient_options options = {.size = sizeof options, .grad_ys = &u};

    program_init(&p, 0);
    u = number(3);
    x = number(0.5);
    construct_cond(&p, binary("Less", x, number(_i)));
    y = square_twice(x);
    program_want_ok(
        &p, eddy_gradients(p.graph, &y, 1, &x, 1, &options, &g, &p.err));
    construct_else(&p, g);
    want(construct_end_cond(&p, number(7)), _i ? 3 * 4 * 0.125 : 7, 1e-12);
    program_deinit(&p);
}
END_TEST

START_TEST(what_does_not_depend_has_no_gradient)
{
    eddy_output y, g, t;
    eddy_gradient_options options = {.size = sizeof options};
    counted c;

    program_init(&p, 0);
    y = number(2);
    c = construct_counted(&p, program_int(&p, 2), number(0.5));
    program_want_ok(
        &p, eddy_gradients(p.graph, &y, 1, &c.now, 1, NULL, &g, &p.err));
    ck_assert_uint_eq(g.node, EDDY_NO_NODE);
    options.zeros_if_unconnected = true;
    program_want_ok(
        &p, eddy_gradients(p.graph, &y, 1, &c.now, 1, &options, &g, &p.err));
    program_want_ok(
        &p, eddy_jvp(p.graph, &y, 1, &c.now, 1, NULL, &options, &t, &p.err));
    construct_end_counted(&p, &c, add(c.now, add(g, t)));
    want(c.results[1], 0.5, 1e-12);
    program_deinit(&p);
}
END_TEST

/* ---- variables ---- */

static eddy_output with_dtype(const char *op, const eddy_output *inputs,
                              size_t n)
{
    const eddy_dtype dtype = EDDY_FLOAT64;
    const eddy_shape scalar = {.rank = 0};
    const eddy_attr attrs[] = {eddy_attr_type("dtype", &dtype),
                               eddy_attr_shape("shape", &scalar)};
    const eddy_node_spec spec = {.size = sizeof spec,
                                 .op = op,
                                 .inputs = inputs,
                                 .n_inputs = n,
                                 .attrs = attrs,
                                 .n_attrs = n == 0 ? 2 : 1};
    eddy_output out = {.index = 0};

    program_want_ok(&p, eddy_graph_add(p.graph, &spec, &out.node, &p.err));
    return out;
}

/* The state is a variable's, which each step reads and assigns. */
START_TEST(a_variable_that_a_step_reads)
{
    eddy_output handle, value, step[2], assign[2], initial[2];
    eddy_while_spec spec = {.size = sizeof spec,
                            .initial = initial,
                            .n_variables = 2,
                            .n_controls = 1};
    eddy_output now[2];
    double w = 0.9;

    program_init(&p, 0);
    handle = with_dtype("VarHandleOp", NULL, 0);
    initial[0] = handle;
    initial[1] = number(w);
    assign[0] = with_dtype("AssignVariableOp", initial, 2);
    spec.controls = &assign[0].node;
    initial[0] = program_int(&p, 0);
    construct_while_with(&p, &spec, now);
    construct_body(&p, binary("Less", now[0], program_int(&p, STEPS)), now);
    value = with_dtype("ReadVariableOp", &handle, 1);
    program_control(&p, value.node, now[1].node);
    step[0] = handle;
    step[1] =
        mul(number(0.05), gradient(square_twice(value), _i ? handle : value));
    assign[1] = with_dtype("AssignSubVariableOp", step, 2);
    now[0] = add(now[0], program_int(&p, 1));
    now[1] = program_unary(&p, "Identity", value);
    program_control(&p, now[1].node, assign[1].node);
    construct_end(&p, now, 2, now);
    for (int i = 0; i + 1 < STEPS; i++)
        w -= 0.05 * 4 * w * w * w;
    want(now[1], w, 1e-9);
    program_deinit(&p);
}
END_TEST

/* ---- memory ---- */

static eddy_status op(const char *name, eddy_output x, eddy_output y,
                      eddy_output *out)
{
    return eddy_graph_add_op(p.graph, name, NULL, (eddy_output[]){x, y}, 2, out,
                             &p.err);
}

/* One gradient at once, and one that waits. */
static eddy_status try_training(const eddy_output initial[2], eddy_output one,
                                eddy_output *out)
{
    const eddy_output x = initial[1];
    const eddy_while_spec spec = {
        .size = sizeof spec, .initial = initial, .n_variables = 2};
    eddy_output now[2], less, y, g, late;
    eddy_status status = eddy_while_begin(p.graph, &spec, now, &p.err);

    if (status == EDDY_OK)
        status = op("Less", now[0], one, &less);
    if (status == EDDY_OK)
        status = eddy_while_body(p.graph, less, now, &p.err);
    if (status == EDDY_OK)
        status = op("Mul", now[1], x, &y);
    if (status == EDDY_OK)
        status = eddy_gradients(p.graph, &y, 1, &now[1], 1, NULL, &g, &p.err);
    if (status == EDDY_OK)
        status = eddy_gradients(p.graph, &y, 1, &x, 1, NULL, &late, &p.err);
    if (status == EDDY_OK)
        status = op("AddV2", now[0], one, &now[0]);
    now[1] = g;
    return status == EDDY_OK ? eddy_while_end(p.graph, now, 2, out, &p.err)
                             : status;
}

START_TEST(failing_allocations_leave_a_usable_graph)
{
    bool done = false;

    for (long long n = 0; !done; n += 1 + n / 64) {
        eddy_output initial[2], one, results[2];
        eddy_status status;

        program_init(&p, 0);
        initial[0] = program_int(&p, 0);
        initial[1] = number(3);
        one = program_int(&p, 1);
        counting_allocator_allow(&p.counting, n);
        status = try_training(initial, one, results);
        counting_allocator_allow(&p.counting, -1);
        done = status == EDDY_OK;
        if (done) {
            want(results[1], 3, 1e-12);
        } else {
            ck_assert_int_eq(status, EDDY_RESOURCE_EXHAUSTED);
            while (eddy_construct_depth(p.graph) > 0)
                eddy_construct_abort(p.graph);
            want(initial[1], 3, 1e-12);
        }
        program_deinit(&p);
    }
}
END_TEST

TCase *deferral_tests(void)
{
    TCase *tcase = tcase_create("deferral");

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, a_step_runs_a_construct_and_takes_its_gradient,
                        0, PARTS * MODES);
    tcase_add_loop_test(tcase, the_training_is_differentiated, 0, PARTS);
    tcase_add_loop_test(tcase, the_gradient_is_taken_deeper_inside, 0, PARTS);
    tcase_add_loop_test(tcase, every_mode_agrees_where_nothing_is_open, 0,
                        PARTS * MODES);
    tcase_add_test(tcase, a_long_loop_in_a_loop_that_runs_trip_by_trip);
    tcase_add_loop_test(tcase, a_variable_that_changes_its_shape, 0, 2);
    tcase_add_loop_test(tcase, an_x_outside_of_the_open_loop, 0, MODES);
    tcase_add_test(tcase, an_x_outside_of_many_elements);
    tcase_add_loop_test(tcase, an_x_outside_of_two_open_loops, 0, 2);
    tcase_add_test(tcase, a_state_that_is_given);
    tcase_add_loop_test(tcase, what_waits_for_itself_is_refused, 0, 2);
    tcase_add_test(tcase, a_loop_that_is_given_up);
    tcase_add_test(tcase, a_loop_by_hand_that_has_no_end);
    tcase_add_loop_test(tcase, starts_and_directions_come_from_outside, 0, 2);
    tcase_add_loop_test(tcase, a_start_from_outside_in_a_branch, 0, 2);
    tcase_add_test(tcase, what_does_not_depend_has_no_gradient);
    tcase_add_loop_test(tcase, a_variable_that_a_step_reads, 0, 2);
    tcase_add_test(tcase, failing_allocations_leave_a_usable_graph);
    return tcase;
}
