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
