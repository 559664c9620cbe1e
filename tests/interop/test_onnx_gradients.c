/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients of recorded ONNX models, through their loops, branches and scans,
 * against central differences of the models themselves.
 */
#include "eddy/gradients.h"
#include "eddy/onnx_model.h"
#include "eddy/plan.h"
#include "eddy/run.h"
#include "tests/suites.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * Every case under onnx/own whose float outputs depend smoothly on its float
 * inputs where they are recorded.  Left out are those of integers alone, those
 * whose trips depend on the values (mode_while, mode_dowhile, newton_sqrt), and
 * those with kinks where they are recorded (floyd, viterbi, greedy_decode).
 */
static const char *const cases[] = {
    "conj_grad",    "dup_init",     "filter_rows", "grow_concat",
    "heat",         "horner",       "if_cascade",  "if_in_loop",
    "if_shapes",    "indep_loops",  "invariants",  "kalman",
    "loop_in_if",   "lorenz_rk4",   "lstm_loop",   "matpow",
    "mode_both",    "mode_for",     "mode_huge_m", "nest2",
    "noshapes",     "rnn_scan",     "scan8_batch", "scan_cumsum",
    "scan_in_loop", "scan_in_scan", "scan_map",    "scan_negaxis",
    "scan_rev_in",  "scan_rev_out", "scan_zip",    "seq_collect",
    "sinkhorn",     "swap2",        "zero_chain",  "zero_m",
    "zero_neg_m",   "sampled_grid",
};

#define MOST 16

typedef struct state {
    eddy_context *ctx;
    eddy_onnx_model *model;
    const eddy_onnx_port *inputs, *outputs;
    size_t n_inputs, n_outputs;
    eddy_tensor *values[MOST]; /* of the inputs */
    eddy_output ys[MOST], feeds[MOST];
    size_t n_ys;
    eddy_error err;
} state;

static bool is_float(eddy_dtype dtype)
{
    return dtype == EDDY_FLOAT32 || dtype == EDDY_FLOAT64;
}

static void load(state *s, const char *name)
{
    char path[256];

    ck_assert_int_eq(eddy_context_create(NULL, &s->ctx, &s->err), EDDY_OK);
    (void)snprintf(path, sizeof path,
                   "tests/conformance/onnx/own/%s/model.onnx", name);
    ck_assert_msg(eddy_onnx_load(s->ctx, path, NULL, &s->model, &s->err) ==
                      EDDY_OK,
                  "%s: %s", name, s->err.message);
    s->inputs = eddy_onnx_model_inputs(s->model, &s->n_inputs);
    s->outputs = eddy_onnx_model_outputs(s->model, &s->n_outputs);
    ck_assert(s->n_inputs <= MOST && s->n_outputs <= MOST);
    for (size_t i = 0; i < s->n_inputs; i++) {
        eddy_onnx_data data;

        (void)snprintf(
            path, sizeof path,
            "tests/conformance/onnx/own/%s/test_data_set_0/input_%zu.pb", name,
            i);
        ck_assert_int_eq(eddy_onnx_data_load(s->ctx, path, EDDY_ONNX_TENSOR, 0,
                                             &data, &s->err),
                         EDDY_OK);
        s->values[i] = eddy_tensor_retain(data.items[0]);
        s->feeds[i] = s->inputs[i].output;
        eddy_onnx_data_free(&data);
    }
    for (size_t i = 0; i < s->n_outputs; i++)
        if (is_float(s->outputs[i].dtype))
            s->ys[s->n_ys++] = s->outputs[i].output;
}

static void unload(state *s)
{
    for (size_t i = 0; i < s->n_inputs; i++)
        eddy_tensor_release(s->values[i]);
    eddy_onnx_model_destroy(s->model);
    eddy_context_destroy(s->ctx);
}

static eddy_plan *make_plan(state *s, const eddy_output *fetches, size_t n,
                            const char *name)
{
    const eddy_plan_options options = {.size = sizeof options,
                                       .feeds = s->feeds,
                                       .n_feeds = s->n_inputs,
                                       .fetches = fetches,
                                       .n_fetches = n};
    eddy_plan *plan = NULL;

    ck_assert_msg(eddy_plan_create(eddy_onnx_model_graph(s->model), &options,
                                   &plan, &s->err) == EDDY_OK,
                  "%s: %s", name, s->err.message);
    return plan;
}

static double at(const eddy_tensor *tensor, int64_t i)
{
    return eddy_tensor_dtype(tensor) == EDDY_FLOAT64
               ? ((const double *)eddy_tensor_data(tensor))[i]
               : (double)((const float *)eddy_tensor_data(tensor))[i];
}

/* A copy with element i moved by `step` in a direction that i alone says. */
static double direction(int64_t i)
{
    return (double)(i % 5) * 0.4 - 0.7;
}

static eddy_tensor *moved(const state *s, const eddy_tensor *from, double step)
{
    eddy_tensor *to = NULL;

    ck_assert_int_eq(eddy_tensor_create(s->ctx, eddy_tensor_dtype(from),
                                        eddy_tensor_shape(from), &to, NULL),
                     EDDY_OK);
    for (int64_t i = 0; i < eddy_tensor_count(from); i++) {
        const double value = at(from, i) + step * direction(i);

        if (eddy_tensor_dtype(to) == EDDY_FLOAT64)
            ((double *)eddy_tensor_mutable_data(to))[i] = value;
        else
            ((float *)eddy_tensor_mutable_data(to))[i] = (float)value;
    }
    return to;
}

/* The sum of all elements of all ys, with input x moved. */
static double sum_at(state *s, eddy_plan *plan, size_t x, double step,
                     const char *name)
{
    eddy_tensor *feeds[MOST], *results[MOST];
    double sum = 0;

    for (size_t i = 0; i < s->n_inputs; i++)
        feeds[i] = s->values[i];
    feeds[x] = moved(s, s->values[x], step);
    ck_assert_msg(eddy_plan_run(plan, NULL, feeds, results, &s->err) == EDDY_OK,
                  "%s: %s", name, s->err.message);
    for (size_t i = 0; i < s->n_ys; i++) {
        for (int64_t k = 0; k < eddy_tensor_count(results[i]); k++)
            sum += at(results[i], k);
        eddy_tensor_release(results[i]);
    }
    eddy_tensor_release(feeds[x]);
    return sum;
}

/* What the gradient says of that direction. */
static double slope(state *s, size_t x, const char *name)
{
    eddy_output gradient = {EDDY_NO_NODE, 0};
    eddy_tensor *result = NULL;
    eddy_plan *plan;
    double sum = 0;

    ck_assert_msg(eddy_gradients(eddy_onnx_model_graph(s->model), s->ys,
                                 s->n_ys, &s->inputs[x].output, 1, NULL,
                                 &gradient, &s->err) == EDDY_OK,
                  "%s by %s: %s", name, s->inputs[x].name, s->err.message);
    if (gradient.node == EDDY_NO_NODE)
        return 0;
    plan = make_plan(s, &gradient, 1, name);
    ck_assert_msg(eddy_plan_run(plan, NULL, s->values, &result, &s->err) ==
                      EDDY_OK,
                  "%s by %s: %s", name, s->inputs[x].name, s->err.message);
    ck_assert_int_eq(eddy_tensor_count(result),
                     eddy_tensor_count(s->values[x]));
    for (int64_t i = 0; i < eddy_tensor_count(result); i++)
        sum += at(result, i) * direction(i);
    eddy_tensor_release(result);
    eddy_plan_release(plan);
    return sum;
}

START_TEST(the_gradient_is_that_of_central_differences)
{
    const char *name = cases[_i];
    state s = {.ctx = NULL};
    size_t n_checked = 0;

    load(&s, name);
    for (size_t x = 0; x < s.n_inputs; x++) {
        const bool is_double = s.inputs[x].dtype == EDDY_FLOAT64;
        const double step = is_double ? 1e-5 : 1e-2;
        eddy_plan *plan;
        double got, want;

        if (!is_float(s.inputs[x].dtype))
            continue;
        plan = make_plan(&s, s.ys, s.n_ys, name);
        want = (sum_at(&s, plan, x, step, name) -
                sum_at(&s, plan, x, -step, name)) /
               (2 * step);
        got = slope(&s, x, name);
        eddy_plan_release(plan);
        ck_assert_msg(fabs(got - want) <=
                          (is_double ? 1e-5 : 1e-2) * (1 + fabs(want)),
                      "%s by %s: %g, and differences give %g", name,
                      s.inputs[x].name, got, want);
        n_checked++;
    }
    ck_assert_uint_gt(n_checked, 0);
    unload(&s);
}
END_TEST

TCase *onnx_gradients_tests(void)
{
    TCase *tcase = tcase_create("onnx_gradients");

    tcase_add_loop_test(tcase, the_gradient_is_that_of_central_differences, 0,
                        sizeof cases / sizeof cases[0]);
    return tcase;
}
