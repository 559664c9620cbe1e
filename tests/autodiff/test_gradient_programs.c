/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs in float64: loops to depth 3, branches, TensorArrays, values
 * captured from outside.  Reverse mode against forward mode, and both against
 * central differences.  Some programs ask for gradients themselves, wherever
 * they are, and go on with them.
 *
 * A program is drawn and built in one go.  Three more variables go with its own
 * through all loops and branches: how far the nearest predicate was from
 * flipping, the largest value, and how far its own gradients were apart in the
 * two modes.
 */
#include "tests/aid/construct.h"
#include "tests/suites.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCALARS 3
#define VECTORS 2
#define VALUES (SCALARS + VECTORS)
#define WIDTH 3
#define MARGIN VALUES
#define LARGEST (VALUES + 1)
#define GAP (VALUES + 2)
#define VARIABLES (VALUES + 3)
#define MOST_DEPTH 3
#define MOST_STATEMENTS 24

/* The inputs: a scalar and a vector. */
#define ELEMENTS (1 + WIDTH)

typedef struct drawing {
    program *p;
    uint64_t state;
    uint32_t n_statements;
    uint32_t n_gradients; /* that it may still ask for */
    uint32_t most_trips;  /* of a loop, plus 1 */
    eddy_output v[VARIABLES];
    eddy_output axis; /* 0 */
} drawing;

static size_t n_compared;

/* ---- drawing ---- */

static uint64_t draw(drawing *d)
{
    uint64_t z = d->state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static uint32_t below(drawing *d, uint32_t n)
{
    return (uint32_t)(draw(d) % n);
}

static double between(drawing *d, double low, double high)
{
    return low + (high - low) * (double)(draw(d) >> 11) / 9007199254740992.0;
}

/* ---- nodes ---- */

static eddy_output number(drawing *d, double value)
{
    return program_constant(d->p, EDDY_FLOAT64, &value);
}

static eddy_output unary(drawing *d, const char *op, eddy_output x)
{
    return program_unary(d->p, op, x);
}

static eddy_output binary(drawing *d, const char *op, eddy_output x,
                          eddy_output y)
{
    return program_binary(d->p, op, x, y);
}

/* The sum of a vector. */
static eddy_output total(drawing *d, eddy_output vector)
{
    return binary(d, "Sum", vector, d->axis);
}

static eddy_output scalar_of(drawing *d)
{
    const uint32_t v = below(d, VALUES + 1);

    if (v == VALUES)
        return number(d, between(d, -1.5, 1.5));
    return v < SCALARS ? d->v[v] : total(d, d->v[v]);
}

static eddy_output vector_of(drawing *d)
{
    return d->v[SCALARS + below(d, VECTORS)];
}

/* Notes how near to each other two scalars that are compared are. */
static void note_margin(drawing *d, eddy_output a, eddy_output b)
{
    d->v[MARGIN] = binary(d, "Minimum", d->v[MARGIN],
                          unary(d, "Abs", binary(d, "Sub", a, b)));
}

static void set_value(drawing *d, uint32_t v, eddy_output value)
{
    const eddy_output size =
        v < SCALARS ? value : binary(d, "Max", unary(d, "Abs", value), d->axis);

    d->v[v] = value;
    d->v[LARGEST] = binary(d, "Maximum", d->v[LARGEST], unary(d, "Abs", size));
}

/* ---- statements ---- */

static eddy_output apply(drawing *d, eddy_output a, eddy_output b)
{
    switch (below(d, 9)) {
    case 0:
        return binary(d, "AddV2", a, b);
    case 1:
        return binary(d, "Sub", a, b);
    case 2:
        return binary(d, "Mul", unary(d, "Tanh", a), b);
    case 3:
        return unary(d, "Sin", binary(d, "AddV2", a, b));
    case 4:
        return binary(d, "Mul", unary(d, "Sigmoid", a), binary(d, "Sub", b, a));
    case 5:
        return unary(d, "Tanh", binary(d, "Mul", a, b));
    case 6:
        return binary(
            d, "RealDiv", a,
            binary(d, "AddV2", number(d, 2.0), unary(d, "Square", b)));
    case 7:
        return unary(d, "Exp", unary(d, "Neg", unary(d, "Square", a)));
    default:
        return binary(d, "Mul", a, number(d, between(d, -1.2, 1.2)));
    }
}

static void assign(drawing *d)
{
    const uint32_t v = below(d, VALUES);

    if (v < SCALARS)
        set_value(d, v, apply(d, scalar_of(d), scalar_of(d)));
    else if (below(d, 2) == 0)
        set_value(d, v, apply(d, vector_of(d), vector_of(d)));
    else
        set_value(d, v, apply(d, vector_of(d), scalar_of(d)));
}

/* Scalars that were compared may meet in a kink, too. */
static void assign_extremum(drawing *d)
{
    const uint32_t v = below(d, SCALARS);
    const eddy_output a = scalar_of(d), b = scalar_of(d);

    note_margin(d, a, b);
    set_value(d, v, binary(d, below(d, 2) ? "Maximum" : "Minimum", a, b));
}

/*
 * Blocks hold branches and loops, and those hold blocks, MOST_DEPTH deep at the
 * most: that is what they draw.
 */
/* NOLINTBEGIN(misc-no-recursion) */
static void draw_block(drawing *d, uint32_t depth, uint32_t n);

static void draw_branch(drawing *d, uint32_t depth)
{
    const eddy_output a = scalar_of(d), b = scalar_of(d);
    eddy_output before[VARIABLES];
    eddy_cond_spec spec = {.size = sizeof spec};

    note_margin(d, a, b);
    memcpy(before, d->v, sizeof before);
    spec.predicate = binary(d, "Less", a, b);
    program_want_ok(d->p, eddy_cond_begin(d->p->graph, &spec, &d->p->err));
    draw_block(d, depth + 1, 1 + below(d, 2));
    program_want_ok(d->p,
                    eddy_cond_else(d->p->graph, d->v, VARIABLES, &d->p->err));
    memcpy(d->v, before, sizeof before);
    draw_block(d, depth + 1, below(d, 3));
    program_want_ok(
        d->p, eddy_cond_end(d->p->graph, d->v, VARIABLES, d->v, &d->p->err));
}

/* Some variables are carried; the others are captured, and stay. */
typedef struct carried {
    uint32_t which[VARIABLES];
    eddy_output initial[VARIABLES + 1], now[VARIABLES + 1];
    uint32_t n; /* after the counter */
} carried;

static void choose_carried(drawing *d, carried *c)
{
    c->n = 0;
    c->initial[0] = program_constant(d->p, EDDY_INT32, &(int32_t){0});
    for (uint32_t v = 0; v < VARIABLES; v++)
        if (v >= VALUES || below(d, 3) != 0) {
            c->which[c->n++] = v;
            c->initial[c->n] = d->v[v];
        }
}

static void take(drawing *d, const carried *c)
{
    for (uint32_t i = 0; i < c->n; i++)
        d->v[c->which[i]] = c->now[i + 1];
}

static void hand_back(drawing *d, carried *c)
{
    c->now[0] = binary(d, "AddV2", c->now[0],
                       program_constant(d->p, EDDY_INT32, &(int32_t){1}));
    for (uint32_t i = 0; i < c->n; i++)
        c->now[i + 1] = d->v[c->which[i]];
}

/* while (i < trips and, perhaps, a < b) */
static void draw_loop(drawing *d, uint32_t depth)
{
    const bool has_condition = below(d, 3) == 0;
    const int32_t trips = (int32_t)below(d, d->most_trips);
    const uint32_t parallel = 1 + below(d, 5);
    eddy_output before[VARIABLES], predicate, bound;
    carried c;
    eddy_while_spec spec = {.size = sizeof spec,
                            .parallel_iterations = parallel,
                            .initial = c.initial};
    const uint32_t tested = below(d, SCALARS);

    choose_carried(d, &c);
    bound = number(d, between(d, -1, 2));
    memcpy(before, d->v, sizeof before);
    spec.n_variables = c.n + 1;
    construct_while_with(d->p, &spec, c.now);
    take(d, &c);
    predicate =
        binary(d, "Less", c.now[0], program_constant(d->p, EDDY_INT32, &trips));
    if (has_condition)
        predicate = binary(d, "LogicalAnd", predicate,
                           binary(d, "Less", d->v[tested], bound));
    construct_body(d->p, predicate, c.now);
    memcpy(d->v, before, sizeof before);
    take(d, &c);
    if (has_condition)
        note_margin(d, d->v[tested], bound);
    draw_block(d, depth + 1, 1 + below(d, 3));
    /* What is captured is not handed on, whatever the body made of it. */
    hand_back(d, &c);
    construct_end(d->p, c.now, c.n + 1, c.now);
    memcpy(d->v, before, sizeof before);
    take(d, &c);
    if (has_condition)
        note_margin(d, d->v[tested], bound);
}

/* ---- arrays ---- */

static eddy_output add_node(drawing *d, const char *op,
                            const eddy_output *inputs, size_t n)
{
    const eddy_dtype dtype = EDDY_FLOAT64;
    const eddy_attr attr = eddy_attr_type("dtype", &dtype);
    const bool has_dtype = strcmp(op, "TensorArrayWriteV3") != 0;
    const eddy_node_spec spec = {.size = sizeof spec,
                                 .op = op,
                                 .inputs = inputs,
                                 .n_inputs = n,
                                 .attrs = &attr,
                                 .n_attrs = has_dtype};
    eddy_output out = {.index = 0};

    program_want_ok(d->p,
                    eddy_graph_add(d->p->graph, &spec, &out.node, &d->p->err));
    return out;
}

typedef struct array {
    eddy_output size, handle, flow;
} array;

static eddy_output count(drawing *d, int32_t value)
{
    return program_constant(d->p, EDDY_INT32, &value);
}

/* for i < n: a[i] = x = f(x, ...) */
static void write_array(drawing *d, array *a)
{
    const eddy_output initial[] = {count(d, 0), scalar_of(d), a->flow};
    eddy_output now[3], written[4];

    construct_while(d->p, initial, 3, now);
    construct_body(d->p, binary(d, "Less", now[0], a->size), now);
    now[1] = apply(d, now[1], scalar_of(d));
    written[0] = a->handle;
    written[1] = now[0];
    written[2] = now[1];
    written[3] = now[2];
    now[2] = add_node(d, "TensorArrayWriteV3", written, 4);
    now[0] = binary(d, "AddV2", now[0], count(d, 1));
    construct_end(d->p, now, 3, now);
    a->flow = now[2];
}

/* for i < n: x = x / 2 + a[i] * ... */
static eddy_output read_array(drawing *d, const array *a)
{
    const eddy_output initial[] = {count(d, 0), scalar_of(d)};
    eddy_output now[2], read[3];

    construct_while(d->p, initial, 2, now);
    construct_body(d->p, binary(d, "Less", now[0], a->size), now);
    read[0] = a->handle;
    read[1] = now[0];
    read[2] = a->flow;
    read[0] = add_node(d, "TensorArrayReadV3", read, 3);
    now[1] = binary(d, "AddV2", binary(d, "Mul", now[1], number(d, 0.5)),
                    apply(d, read[0], scalar_of(d)));
    now[0] = binary(d, "AddV2", now[0], count(d, 1));
    construct_end(d->p, now, 2, now);
    return now[1];
}

static void draw_array(drawing *d)
{
    const int32_t n = 1 + (int32_t)below(d, 4), all[] = {0, 1, 2, 3};
    const eddy_shape shape = {.rank = 1, .dims = {n}};
    const uint32_t v = below(d, SCALARS);
    array a = {.size = count(d, n)};
    eddy_tensor *indices;
    eddy_output read[3];

    a.handle = add_node(d, "TensorArrayV3", &a.size, 1);
    a.flow = (eddy_output){a.handle.node, 1};
    write_array(d, &a);
    if (below(d, 2)) {
        set_value(d, v, read_array(d, &a));
        return;
    }
    indices = program_tensor(d->p, EDDY_INT32, &shape, all);
    program_want_ok(d->p, eddy_graph_add_const(d->p->graph, NULL, indices,
                                               &read[1], &d->p->err));
    eddy_tensor_release(indices);
    read[0] = a.handle;
    read[2] = a.flow;
    set_value(d, v, total(d, add_node(d, "TensorArrayGatherV3", read, 3)));
}

/* ---- gradients ---- */

/* What both modes say of the derivative of `y` by the scalar `x`. */
static eddy_output derivative(drawing *d, eddy_output y, eddy_output x)
{
    const eddy_gradient_options options = {.size = sizeof options,
                                           .zeros_if_unconnected = true};
    eddy_output reverse, forward, gap;

    program_want_ok(d->p, eddy_gradients(d->p->graph, &y, 1, &x, 1, &options,
                                         &reverse, &d->p->err));
    program_want_ok(d->p, eddy_jvp(d->p->graph, &y, 1, &x, 1, NULL, &options,
                                   &forward, &d->p->err));
    gap = binary(d, "RealDiv",
                 unary(d, "Abs", binary(d, "Sub", reverse, forward)),
                 binary(d, "AddV2", number(d, 1), unary(d, "Abs", forward)));
    d->v[GAP] = binary(d, "Maximum", d->v[GAP], gap);
    return below(d, 2) ? reverse : forward;
}

/* x = v; block; w += tanh(a dv'/dx), where the block makes v' of x. */
static void draw_gradient(drawing *d, uint32_t depth)
{
    const uint32_t from = below(d, SCALARS), to = below(d, SCALARS);
    const eddy_output x = unary(d, "Identity", d->v[from]);
    eddy_output slope;

    d->v[from] = x;
    draw_block(d, depth, 1 + below(d, 3));
    slope = derivative(d, scalar_of(d), x);
    slope =
        unary(d, "Tanh", binary(d, "Mul", slope, number(d, between(d, -1, 1))));
    set_value(d, to, binary(d, "AddV2", d->v[to], slope));
}

/* ---- programs ---- */

static void draw_block(drawing *d, uint32_t depth, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t what = below(d, 12);

        if (d->n_gradients > 0 && below(d, 3) == 0) {
            d->n_gradients--;
            draw_gradient(d, depth);
            continue;
        }
        if (d->n_statements++ >= MOST_STATEMENTS || depth >= MOST_DEPTH ||
            what < 5)
            assign(d);
        else if (what < 6)
            assign_extremum(d);
        else if (what < 8)
            draw_branch(d, depth);
        else if (what < 11)
            draw_loop(d, depth);
        else
            draw_array(d);
    }
}

/* NOLINTEND(misc-no-recursion) */

/* What is run: y, its margins, and the derivatives. */
typedef struct made {
    eddy_output xs[2], along[2];
    /* y, margin, largest, gap, tangent, gradients */
    eddy_output fetches[8];
} made;

static eddy_output feed_of(drawing *d, const char *name, int32_t rank)
{
    const eddy_shape shape = {.rank = rank, .dims = {WIDTH}};
    eddy_output out;

    program_want_ok(d->p,
                    eddy_graph_add_placeholder(d->p->graph, name, EDDY_FLOAT64,
                                               &shape, &out, &d->p->err));
    return out;
}

static eddy_output draw_program(drawing *d, made *m)
{
    eddy_output y;

    d->axis = program_constant(d->p, EDDY_INT32, &(int32_t){0});
    m->xs[0] = feed_of(d, "x0", 0);
    m->xs[1] = feed_of(d, "x1", 1);
    m->along[0] = feed_of(d, "v0", 0);
    m->along[1] = feed_of(d, "v1", 1);
    d->v[MARGIN] = number(d, 1e9);
    d->v[LARGEST] = number(d, 0);
    d->v[GAP] = number(d, 0);
    for (uint32_t v = 0; v < VALUES; v++)
        set_value(d, v,
                  binary(d, "AddV2", number(d, between(d, -1, 1)),
                         binary(d, "Mul", m->xs[v >= SCALARS],
                                number(d, between(d, -1, 1)))));
    draw_block(d, 0, 2 + below(d, 4));
    y = d->v[0];
    for (uint32_t v = 1; v < VALUES; v++)
        y = binary(d, "AddV2", y, v < SCALARS ? d->v[v] : total(d, d->v[v]));
    return y;
}

static void derive(drawing *d, made *m, eddy_output y)
{
    const eddy_gradient_options options = {.size = sizeof options,
                                           .zeros_if_unconnected = true};
    program *p = d->p;

    m->fetches[0] = y;
    m->fetches[1] = d->v[MARGIN];
    m->fetches[2] = d->v[LARGEST];
    m->fetches[3] = d->v[GAP];
    program_want_ok(d->p, eddy_jvp(p->graph, &y, 1, m->xs, 2, m->along,
                                   &options, &m->fetches[4], &p->err));
    program_want_ok(d->p, eddy_gradients(p->graph, &y, 1, m->xs, 2, &options,
                                         &m->fetches[5], &p->err));
}

/* ---- runs ---- */

typedef struct tried_program {
    double y, margin, largest, gap;
    double tangent, slope; /* slope: along v, in reverse */
    eddy_stats stats;
} tried_program;

static void feed(program *p, size_t i, int32_t rank, const double *values)
{
    const eddy_shape shape = {.rank = rank, .dims = {WIDTH}};
    eddy_tensor *tensor = program_tensor(p, EDDY_FLOAT64, &shape, values);

    ck_assert_int_eq(eddy_run_feed(p->run, i, tensor, &p->err), EDDY_OK);
    eddy_tensor_release(tensor);
}

static void feed_all(program *p, const double x[ELEMENTS],
                     const double v[ELEMENTS])
{
    program_make_run(p);
    feed(p, 0, 0, x);
    feed(p, 1, 1, x + 1);
    feed(p, 2, 0, v);
    feed(p, 3, 1, v + 1);
}

static double fetched(const program *p, size_t i, size_t element)
{
    return (
        (const double *)eddy_tensor_data(eddy_run_fetch(p->run, i)))[element];
}

static void plan(program *p, const made *m, size_t n_fetches)
{
    const eddy_output feeds[] = {m->xs[0], m->xs[1], m->along[0], m->along[1]};

    p->plan_options.feeds = feeds;
    p->plan_options.n_feeds = 4;
    program_plan_outputs(p, m->fetches, n_fetches);
    p->plan_options.feeds = NULL;
    p->plan_options.n_feeds = 0;
}

static void run(program *p, const double x[ELEMENTS], const double v[ELEMENTS],
                tried_program *out, bool with_derivatives)
{
    feed_all(p, x, v);
    program_run(p);
    out->y = fetched(p, 0, 0);
    out->margin = fetched(p, 1, 0);
    out->largest = fetched(p, 2, 0);
    out->gap = fetched(p, 3, 0);
    out->stats = program_stats(p);
    if (!with_derivatives)
        return;
    out->tangent = fetched(p, 4, 0);
    out->slope = fetched(p, 5, 0) * v[0];
    for (size_t i = 0; i < WIDTH; i++)
        out->slope += fetched(p, 6, i) * v[i + 1];
}

static bool is_usable(const tried_program *o)
{
    return isfinite(o->y) && o->margin >= 1e-3 && o->largest <= 1e3;
}

/* Two central differences, and what they come to where the step is 0; false if
 * the program goes another way there. */
static bool differ(program *p, const double x[ELEMENTS],
                   const double v[ELEMENTS], double *out_slope,
                   double *out_doubt)
{
    const double steps[] = {4e-4, -4e-4, 2e-4, -2e-4};
    tried_program o[4];
    double coarse, fine;

    for (int k = 0; k < 4; k++) {
        double moved[ELEMENTS];

        for (int i = 0; i < ELEMENTS; i++)
            moved[i] = x[i] + steps[k] * v[i];
        run(p, moved, v, &o[k], false);
        if (!is_usable(&o[k]) ||
            o[k].stats.live_executions != o[0].stats.live_executions ||
            o[k].stats.iterations != o[0].stats.iterations)
            return false;
    }
    coarse = (o[0].y - o[1].y) / 8e-4;
    fine = (o[2].y - o[3].y) / 4e-4;
    *out_slope = (4 * fine - coarse) / 3;
    *out_doubt = fabs(fine - coarse);
    return true;
}

/* Every stack that was made is empty at the end: a further pop must fail. */
static void want_empty_stacks(program *p, const made *m, const double *x,
                              const double *v)
{
    const size_t n = eddy_graph_size(p->graph);
    const eddy_dtype double_ = EDDY_FLOAT64;

    for (eddy_node s = 0; s < n; s++) {
        const eddy_output handle = {s, 0};
        eddy_attr attr = eddy_attr_type("elem_type", &double_);
        eddy_node_spec spec = {.size = sizeof spec,
                               .op = "StackPopV2",
                               .inputs = &handle,
                               .n_inputs = 1,
                               .attrs = &attr,
                               .n_attrs = 1,
                               .n_controls = 3};
        const eddy_node after[] = {m->fetches[4].node, m->fetches[5].node,
                                   m->fetches[6].node};
        made extended = *m;
        eddy_output pop = {.index = 0};

        if (strcmp(eddy_graph_node_op(p->graph, s), "StackV2") != 0)
            continue;
        (void)eddy_graph_node_attr(p->graph, s, "elem_type", &attr);
        spec.controls = after;
        ck_assert_int_eq(eddy_graph_add(p->graph, &spec, &pop.node, &p->err),
                         EDDY_OK);
        extended.fetches[0] = pop;
        plan(p, &extended, 7);
        feed_all(p, x, v);
        program_want(p, program_execute(p), EDDY_INVALID_ARGUMENT,
                     EDDY_E_EMPTY);
    }
}

static bool is_near(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance * (1 + fabs(a) + fabs(b));
}

static void check(program *p, drawing *d, const made *m, uint64_t seed)
{
    double x[ELEMENTS], v[ELEMENTS], slope, doubt;
    tried_program o;

    for (int i = 0; i < ELEMENTS; i++) {
        x[i] = between(d, -1, 1);
        v[i] = between(d, -1, 1);
    }
    plan(p, m, 7);
    run(p, x, v, &o, true);
    if (!is_usable(&o))
        return;
    ck_assert_msg(o.gap <= 1e-9, "seed %llu: gradients inside differ by %.17g",
                  (unsigned long long)seed, o.gap);
    ck_assert_msg(is_near(o.tangent, o.slope, 1e-9),
                  "seed %llu: %.17g forward, %.17g in reverse",
                  (unsigned long long)seed, o.tangent, o.slope);
    plan(p, m, 4);
    if (!differ(p, x, v, &slope, &doubt) || doubt > 1e-3 * (1 + fabs(slope)))
        return;
    ck_assert_msg(is_near(o.slope, slope, 1e-5),
                  "seed %llu: %.17g, by differences %.17g",
                  (unsigned long long)seed, o.slope, slope);
    n_compared++;
    if (seed % 50 == 0)
        want_empty_stacks(p, m, x, v);
}

/* v'Hv: forward over forward, reverse over forward, forward over reverse. */
static void check_second(program *p, drawing *d, const made *m, uint64_t seed)
{
    const eddy_gradient_options options = {.size = sizeof options,
                                           .zeros_if_unconnected = true};
    made second = *m;
    double x[ELEMENTS], v[ELEMENTS], sums[2] = {0, 0}, forward;

    for (int i = 0; i < ELEMENTS; i++) {
        x[i] = between(d, -1, 1);
        v[i] = between(d, -1, 1);
    }
    program_want_ok(d->p,
                    eddy_jvp(p->graph, &m->fetches[4], 1, m->xs, 2, m->along,
                             &options, &second.fetches[0], &p->err));
    program_want_ok(d->p,
                    eddy_gradients(p->graph, &m->fetches[4], 1, m->xs, 2,
                                   &options, &second.fetches[2], &p->err));
    program_want_ok(d->p,
                    eddy_hvp(p->graph, &m->fetches[0], 1, m->xs, 2, m->along,
                             &options, &second.fetches[4], &p->err));
    plan(p, &second, 6);
    feed_all(p, x, v);
    program_run(p);
    forward = fetched(p, 0, 0);
    if (!isfinite(forward) || fabs(forward) > 1e6)
        return;
    for (size_t k = 0; k < 2; k++) {
        sums[k] = fetched(p, 2 + 2 * k, 0) * v[0];
        for (size_t i = 0; i < WIDTH; i++)
            sums[k] += fetched(p, 3 + 2 * k, i) * v[i + 1];
        ck_assert_msg(is_near(sums[k], forward, 1e-9),
                      "seed %llu: %.17g forward, %.17g %s",
                      (unsigned long long)seed, forward, sums[k],
                      k == 0 ? "reverse over forward" : "by eddy_hvp");
    }
}

static void try_program(uint64_t seed, uint32_t n_gradients)
{
    program p;
    drawing d = {
        .p = &p, .state = seed, .n_gradients = n_gradients, .most_trips = 5};
    made m;

    program_init(&p, seed % 4 == 0 ? 2 : 0);
    derive(&d, &m, draw_program(&d, &m));
    check(&p, &d, &m, seed);
    if (seed % 8 == 0)
        check_second(&p, &d, &m, seed);
    program_deinit(&p);
}

START_TEST(all_modes_agree)
{
    const size_t wanted = program_scale(100, 4);

    n_compared = 0;
    for (uint64_t seed = 0; n_compared < wanted; seed++) {
        ck_assert_uint_lt(seed, 4 * wanted);
        try_program((uint64_t)_i * 1000 + seed, 0);
    }
}
END_TEST

/* Gradients of gradients: the programs ask for one or two. */
START_TEST(programs_go_on_with_gradients_of_their_own)
{
    const size_t wanted = program_scale(30, 2);

    n_compared = 0;
    for (uint64_t seed = 0; n_compared < wanted; seed++) {
        ck_assert_uint_lt(seed, 4 * wanted);
        try_program((uint64_t)_i * 1000 + seed, 1 + seed % 2);
    }
}
END_TEST

/* ---- policies of tapes ---- */

static size_t n_replayed; /* programs with trips that are made again */

/* Gradients of the first and of the second order. */
static void derive_by(program *p, const made *m, eddy_output y,
                      eddy_tape_policy policy, eddy_output out[4])
{
    const eddy_gradient_options options = {
        .size = sizeof options, .zeros_if_unconnected = true, .tape = policy};

    program_want_ok(
        p, eddy_gradients(p->graph, &y, 1, m->xs, 2, &options, out, &p->err));
    program_want_ok(p, eddy_gradients(p->graph, out, 2, m->xs, 2, &options,
                                      out + 2, &p->err));
}

static bool is_replay(const program *p)
{
    const size_t n = eddy_graph_size(p->graph);

    for (eddy_node v = 0; v < n; v++)
        if (strstr(eddy_graph_node_name(p->graph, v), "/replay/") != NULL)
            return true;
    return false;
}

/* Plans the first `n` fetches, and runs them where `d` says. */
static void run_somewhere(drawing *d, const made *m, size_t n)
{
    double x[ELEMENTS], v[ELEMENTS] = {0};

    for (int i = 0; i < ELEMENTS; i++)
        x[i] = between(d, -1, 1);
    plan(d->p, m, n);
    feed_all(d->p, x, v);
    program_run(d->p);
}

/* The first `n` gradients are those that stand `apart` behind them. */
static void want_same_bits(const program *p, size_t n, size_t apart,
                           uint64_t seed, const char *other)
{
    for (size_t i = 0; i < n; i++) {
        const eddy_tensor *kept = eddy_run_fetch(p->run, i);
        const eddy_tensor *again = eddy_run_fetch(p->run, i + apart);

        ck_assert_msg(memcmp(eddy_tensor_data(kept), eddy_tensor_data(again),
                             eddy_tensor_bytes(kept)) == 0,
                      "seed %llu: gradient %zu: %.17g kept, %.17g %s",
                      (unsigned long long)seed, i, fetched(p, i, 0),
                      fetched(p, i + apart, 0), other);
    }
}

static void compare_policies(uint64_t seed)
{
    program p;
    drawing d = {.p = &p, .state = seed, .most_trips = 12};
    made m;
    eddy_output y;

    program_init(&p, seed % 4 == 0 ? 2 : 0);
    y = draw_program(&d, &m);
    derive_by(&p, &m, y, EDDY_TAPE_KEEP, m.fetches);
    ck_assert(!is_replay(&p));
    derive_by(&p, &m, y, EDDY_TAPE_RECOMPUTE, m.fetches + 4);
    n_replayed += is_replay(&p);
    run_somewhere(&d, &m, 8);
    want_same_bits(&p, 2, 4, seed, "recomputed");
    /* Of the second order sums are made in another order. */
    for (size_t i = 0; i < ELEMENTS; i++) {
        const double kept = fetched(&p, i == 0 ? 2 : 3, i == 0 ? 0 : i - 1);
        const double again = fetched(&p, i == 0 ? 6 : 7, i == 0 ? 0 : i - 1);

        ck_assert_msg((!isfinite(kept) && !isfinite(again)) ||
                          is_near(kept, again, 1e-9),
                      "seed %llu: second order %.17g kept, %.17g recomputed",
                      (unsigned long long)seed, kept, again);
    }
    program_deinit(&p);
}

START_TEST(trips_that_are_made_again_give_the_bits_of_a_tape)
{
    const size_t n = program_scale(40, 4);

    n_replayed = 0;
    for (uint64_t seed = 0; seed < n; seed++)
        compare_policies((uint64_t)_i * 1000 + seed);
    ck_assert_uint_gt(n_replayed, n / 4);
}
END_TEST

static bool has_schedule(const program *p)
{
    return eddy_graph_find(p->graph, "gradients/replay/schedule") !=
           EDDY_NO_NODE;
}

/* Few bytes, so that segments are cut, of programs with nests and lists. */
static void compare_bounded(uint64_t seed)
{
    program p;
    drawing d = {.p = &p, .state = seed, .most_trips = 12};
    const eddy_gradient_options options = {.size = sizeof options,
                                           .zeros_if_unconnected = true,
                                           .tape = EDDY_TAPE_RECOMPUTE,
                                           .tape_bytes = 1 + seed % 8 * 150};
    made m;
    eddy_output y;

    program_init(&p, seed % 4 == 0 ? 2 : 0);
    y = draw_program(&d, &m);
    derive_by(&p, &m, y, EDDY_TAPE_KEEP, m.fetches);
    program_want_ok(&p, eddy_gradients(p.graph, &y, 1, m.xs, 2, &options,
                                       m.fetches + 2, &p.err));
    n_replayed += has_schedule(&p);
    run_somewhere(&d, &m, 4);
    want_same_bits(&p, 2, 2, seed, "by bytes");
    program_deinit(&p);
}

START_TEST(trips_made_again_by_bytes_give_the_bits_of_a_tape)
{
    const size_t n = program_scale(40, 4);

    n_replayed = 0;
    for (uint64_t seed = 0; seed < n; seed++)
        compare_bounded((uint64_t)_i * 1000 + seed);
    if (program_is_release())
        ck_assert_uint_gt(n_replayed, n / 4);
}
END_TEST

static size_t n_spilled; /* programs that had a file */

/* Of both orders, since nothing is computed in another way. */
static void compare_spilled(uint64_t seed)
{
    program p;
    drawing d = {.p = &p, .state = seed, .most_trips = 12};
    made m;
    eddy_output y;

    program_init(&p, seed % 4 == 0 ? 2 : 0);
    p.run_options.spill_above = 1 + seed % 3 * 200;
    y = draw_program(&d, &m);
    derive_by(&p, &m, y, EDDY_TAPE_KEEP, m.fetches);
    derive_by(&p, &m, y, EDDY_TAPE_SPILL, m.fetches + 4);
    run_somewhere(&d, &m, 8);
    n_spilled += eddy_run_spilled(p.run) > 0;
    want_same_bits(&p, 4, 4, seed, "spilled");
    program_deinit(&p);
}

START_TEST(tapes_that_spill_give_the_bits_of_a_tape)
{
    const size_t n = program_scale(40, 4);

    n_spilled = 0;
    for (uint64_t seed = 0; seed < n; seed++)
        compare_spilled((uint64_t)_i * 1000 + seed);
    /* Of the few that a sanitizer bears it may be none. */
    if (program_is_release())
        ck_assert_uint_gt(n_spilled, n / 4);
}
END_TEST

TCase *gradient_programs_tests(void)
{
    TCase *tcase = tcase_create("gradient_programs");

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, all_modes_agree, 0, 20);
    tcase_add_loop_test(tcase, programs_go_on_with_gradients_of_their_own, 0,
                        20);
    tcase_add_loop_test(
        tcase, trips_that_are_made_again_give_the_bits_of_a_tape, 0, 10);
    tcase_add_loop_test(
        tcase, trips_made_again_by_bytes_give_the_bits_of_a_tape, 0, 10);
    tcase_add_loop_test(tcase, tapes_that_spill_give_the_bits_of_a_tape, 0, 5);
    return tcase;
}
