/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/aid/differences.h"

#include "tests/aid/program.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define N 6

static const double at[N] = {0.3, 1.7, 0.9, 2.2, 0.6, 1.1};

static program p;

static void begin(const char *text, const char *dims)
{
    char declared[64];

    snprintf(declared, sizeof declared, "x ?float64[%s]\n", dims);
    program_init(&p, 0);
    program_build(&p, declared);
    program_build(&p, "w float64[2,3]=1.3,0.7,1.9,0.4,2.6,1.6\n"
                      "v float64[3]=0.8,1.4,2.3\n");
    program_build(&p, text);
}

static double sum_of(const double *x)
{
    const eddy_shape shape = {.rank = 2, .dims = {2, 3}};
    eddy_tensor *fed = program_tensor(&p, EDDY_FLOAT64, &shape, x);
    double sum = 0;

    program_make_run(&p);
    ck_assert_int_eq(eddy_run_feed(p.run, 0, fed, &p.err), EDDY_OK);
    eddy_tensor_release(fed);
    program_run(&p);
    for (int64_t i = 0; i < eddy_tensor_count(eddy_run_fetch(p.run, 0)); i++)
        sum += ((const double *)eddy_tensor_data(eddy_run_fetch(p.run, 0)))[i];
    return sum;
}

static void plan(eddy_output fetch)
{
    char name[256];

    snprintf(name, sizeof name, "%s:%u",
             eddy_graph_node_name(p.graph, fetch.node), fetch.index);
    program_plan(&p, "x", name);
}

/* The sum of the fetched elements for each element of x moved both ways. */
static void move_each(eddy_output fetch, const double *x, double step,
                      double *out)
{
    plan(fetch);
    for (int i = 0; i < N; i++) {
        double moved[N], up;

        memcpy(moved, x, sizeof moved);
        moved[i] = x[i] + step;
        up = sum_of(moved);
        moved[i] = x[i] - step;
        out[i] = (up - sum_of(moved)) / (2 * step);
    }
}

/* No gradient is one of zeros. */
static void compare(const char *what, eddy_output fetch, const double *x,
                    const double *want, double tolerance)
{
    double got[N] = {0};

    if (fetch.node != EDDY_NO_NODE) {
        plan(fetch);
        sum_of(x);
        ck_assert_int_eq(eddy_tensor_count(eddy_run_fetch(p.run, 0)), N);
        memcpy(got, eddy_tensor_data(eddy_run_fetch(p.run, 0)), sizeof got);
    }
    for (int i = 0; i < N; i++)
        ck_assert_msg(fabs(got[i] - want[i]) <= tolerance * (1 + fabs(want[i])),
                      "%s[%d]: %.12g, by differences %.12g", what, i, got[i],
                      want[i]);
}

void differences_check(const char *text, const char *dims, double step,
                       double tolerance)
{
    eddy_output y, dx, from;
    double want[N];

    begin(text, dims);
    from = program_output(&p, "x");
    y = program_output(&p, "y");
    for (int order = 1; order <= 2; order++) {
        move_each(y, at, step, want);
        if (eddy_gradients(p.graph, &y, 1, &from, 1, NULL, &dx, &p.err) !=
            EDDY_OK)
            ck_abort_msg("%s: %s: %s", text, p.err.node, p.err.message);
        compare(text, dx, at, want, tolerance);
        if (dx.node == EDDY_NO_NODE)
            break;
        y = dx;
    }
    program_deinit(&p);
}

static eddy_output product_of(eddy_output a, eddy_output b)
{
    const eddy_output inputs[] = {a, b};
    eddy_output out;

    ck_assert_int_eq(
        eddy_graph_add_op(p.graph, "Mul", NULL, inputs, 2, &out, &p.err),
        EDDY_OK);
    return out;
}

static double total(size_t fetch)
{
    const eddy_tensor *tensor = eddy_run_fetch(p.run, fetch);
    double sum = 0;

    for (int64_t i = 0; i < eddy_tensor_count(tensor); i++)
        sum += ((const double *)eddy_tensor_data(tensor))[i];
    return sum;
}

void differences_check_modes(const char *text, const char *dims)
{
    const eddy_shape shape = {.rank = 2, .dims = {2, 3}};
    eddy_gradient_options options = {.size = sizeof options};
    eddy_output x, y, u, v, forward, reverse, sums[2];
    eddy_tensor *fed;

    begin(text, dims);
    x = program_output(&p, "x");
    y = program_output(&p, "y");
    u = program_unary(&p, "Cos", y);
    v = program_unary(&p, "Sin", x);
    options.grad_ys = &u;
    if (eddy_jvp(p.graph, &y, 1, &x, 1, &v, NULL, &forward, &p.err) !=
            EDDY_OK ||
        eddy_gradients(p.graph, &y, 1, &x, 1, &options, &reverse, &p.err) !=
            EDDY_OK)
        ck_abort_msg("%s: %s: %s", text, p.err.node, p.err.message);
    sums[0] = product_of(u, forward);
    sums[1] = product_of(reverse, v);
    p.plan_options.feeds = &x;
    p.plan_options.n_feeds = 1;
    program_plan_outputs(&p, sums, 2);
    program_make_run(&p);
    fed = program_tensor(&p, EDDY_FLOAT64, &shape, at);
    ck_assert_int_eq(eddy_run_feed(p.run, 0, fed, &p.err), EDDY_OK);
    eddy_tensor_release(fed);
    program_run(&p);
    ck_assert_msg(fabs(total(0) - total(1)) <= 1e-11 * (1 + fabs(total(1))),
                  "%s: %.15g forward, %.15g in reverse", text, total(0),
                  total(1));
    program_deinit(&p);
}

/* ---- each source alone ---- */

#define MOST 16
#define MOST_FETCHES 128

/* What is asked of one source at a time, and of all. */
typedef struct asked {
    eddy_output list[MOST];
    size_t n;
} asked;

/* Pairs of outputs that are to be equal. */
typedef struct pairs {
    eddy_output fetches[MOST_FETCHES];
    size_t n;
} pairs;

static bool is_floating(eddy_output v)
{
    const eddy_dtype dtype = eddy_graph_output_dtype(p.graph, v);

    return dtype == EDDY_FLOAT32 || dtype == EDDY_FLOAT64 ||
           dtype == EDDY_COMPLEX128;
}

static void add_asked(asked *list, eddy_output v)
{
    ck_assert_uint_lt(list->n, MOST);
    list->list[list->n++] = v;
}

/* Nodes without inputs, so that none depends on another. */
static asked find_sources(void)
{
    asked found = {.n = 0};

    for (eddy_node v = 0; v < eddy_graph_size(p.graph); v++) {
        const eddy_output output = {.node = v, .index = 0};
        size_t n_inputs;

        (void)eddy_graph_node_inputs(p.graph, v, &n_inputs);
        if (n_inputs == 0 && is_floating(output))
            add_asked(&found, output);
    }
    return found;
}

static eddy_output zeros_of(eddy_output v)
{
    return program_unary(&p, "ZerosLike", v);
}

/* No gradient is one of zeros. */
static void add_pair(pairs *all, eddy_output x, eddy_output a, eddy_output b)
{
    if (a.node == EDDY_NO_NODE && b.node == EDDY_NO_NODE)
        return;
    ck_assert_uint_lt(all->n + 1, MOST_FETCHES);
    all->fetches[all->n++] = a.node == EDDY_NO_NODE ? zeros_of(x) : a;
    all->fetches[all->n++] = b.node == EDDY_NO_NODE ? zeros_of(x) : b;
}

static void want_no_gradient(const char *text, eddy_status status)
{
    ck_assert_msg(status == EDDY_UNIMPLEMENTED &&
                      p.err.detail == EDDY_E_NO_GRADIENT &&
                      p.err.node[0] != '\0',
                  "%s: %s: %s", text, p.err.node, p.err.message);
}

/* Gradients of ys by all of xs, and by each; those by all are left in `out`. */
static void ask_each(const char *text, const asked *ys, const eddy_output *from,
                     const asked *xs, asked *out, pairs *all)
{
    eddy_gradient_options options = {.size = sizeof options, .grad_ys = from};
    eddy_output joint[MOST], alone;
    const eddy_status status = eddy_gradients(
        p.graph, ys->list, ys->n, xs->list, xs->n, &options, joint, &p.err);

    if (status != EDDY_OK)
        want_no_gradient(text, status);
    for (size_t i = 0; i < xs->n; i++) {
        const eddy_status own =
            eddy_gradients(p.graph, ys->list, ys->n, &xs->list[i], 1, &options,
                           &alone, &p.err);

        if (own != EDDY_OK) {
            ck_assert_int_ne(status, EDDY_OK);
            want_no_gradient(text, own);
        } else if (status == EDDY_OK) {
            add_pair(all, xs->list[i], joint[i], alone);
        }
        if (own == EDDY_OK && alone.node != EDDY_NO_NODE)
            add_asked(out, alone);
    }
}

/* The tangent of y for all sources, and the sum of those for each. */
static void ask_tangents(const char *text, eddy_output y, const asked *xs,
                         pairs *all)
{
    eddy_output joint, alone, terms[MOST];
    size_t n = 0;
    const eddy_status status =
        eddy_jvp(p.graph, &y, 1, xs->list, xs->n, NULL, NULL, &joint, &p.err);

    if (status != EDDY_OK) {
        want_no_gradient(text, status);
        return;
    }
    for (size_t i = 0; i < xs->n; i++) {
        ck_assert_int_eq(eddy_jvp(p.graph, &y, 1, &xs->list[i], 1, NULL, NULL,
                                  &alone, &p.err),
                         EDDY_OK);
        if (alone.node != EDDY_NO_NODE)
            terms[n++] = alone;
    }
    ck_assert_uint_gt(n, 0);
    ck_assert_int_eq(
        eddy_graph_add_op(p.graph, "AddN", NULL, terms, n, &alone, &p.err),
        EDDY_OK);
    add_pair(all, y, joint, alone);
}

static double part_at(const eddy_tensor *tensor, int64_t i)
{
    return eddy_tensor_dtype(tensor) == EDDY_FLOAT32
               ? (double)((const float *)eddy_tensor_data(tensor))[i]
               : ((const double *)eddy_tensor_data(tensor))[i];
}

static void want_equal(const char *text, const eddy_tensor *a,
                       const eddy_tensor *b, double tolerance)
{
    const bool is_complex = eddy_tensor_dtype(a) == EDDY_COMPLEX128;

    ck_assert_int_eq(eddy_tensor_dtype(a), eddy_tensor_dtype(b));
    ck_assert_int_eq(eddy_tensor_count(a), eddy_tensor_count(b));
    for (int64_t i = 0; i < eddy_tensor_count(a) * (is_complex ? 2 : 1); i++) {
        const double x = part_at(a, i), y = part_at(b, i);

        ck_assert_msg((isnan(x) && isnan(y)) || x == y ||
                          fabs(x - y) <= tolerance * (1 + fabs(x)),
                      "%s: %.12g with others, %.12g alone", text, x, y);
    }
}

void differences_check_alone(const char *text, double tolerance)
{
    const eddy_shape shape = {.rank = 2, .dims = {2, 3}};
    asked xs, ys = {.n = 1}, firsts = {.n = 0}, seconds = {.n = 0};
    pairs all = {.n = 0};
    eddy_output u;
    eddy_tensor *fed;

    begin(text, "2,3");
    xs = find_sources();
    ys.list[0] = program_output(&p, "y");
    ask_tangents(text, ys.list[0], &xs, &all);
    u = program_unary(&p, "Cos", ys.list[0]);
    ask_each(text, &ys, &u, &xs, &firsts, &all);
    add_asked(&xs, u);
    ask_each(text, &firsts, NULL, &xs, &seconds, &all);
    p.plan_options.feeds = xs.list;
    p.plan_options.n_feeds = 1;
    ck_assert_uint_gt(all.n, 0);
    program_plan_outputs(&p, all.fetches, all.n);
    program_make_run(&p);
    fed = program_tensor(&p, EDDY_FLOAT64, &shape, at);
    ck_assert_int_eq(eddy_run_feed(p.run, 0, fed, &p.err), EDDY_OK);
    eddy_tensor_release(fed);
    program_run(&p);
    for (size_t i = 0; i < all.n; i += 2)
        want_equal(text, eddy_run_fetch(p.run, i), eddy_run_fetch(p.run, i + 1),
                   tolerance);
    program_deinit(&p);
}
