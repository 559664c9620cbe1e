/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds the gradients of ONNX models against central differences.
 *
 *     usage: onnx_gradients FOLDER...
 *
 * A folder has model.onnx and test_data_set_0, as ONNX's backend tests have.
 * What is differentiated is a sum of all elements of the float outputs, each
 * with a weight of its own; by each float input, in one direction.  A line says
 * what is wrong:
 *
 *     differs NAME INPUT: the gradient, what two steps give
 *     refused NAME: the message
 *
 * Passed over are models without float inputs and outputs, those whose inputs
 * are sequences, and directions in which the model has a kink, which two steps
 * of different sizes tell.  The last line is the sum.
 */
#include "eddy.h"
#include "eddy/onnx_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 32

typedef struct model_case {
    const char *name;
    eddy_context *ctx;
    eddy_onnx_model *model;
    eddy_graph *graph; /* the model's */
    const eddy_onnx_port *inputs, *outputs;
    size_t n_inputs, n_outputs;
    eddy_output feeds[MOST];
    eddy_tensor *values[MOST];
    size_t of_input[MOST]; /* feed to input */
    size_t n_feeds;
    eddy_output ys[MOST], weights[MOST];
    size_t n_ys;
    eddy_error err;
} model_case;

static size_t n_agree, n_differ, n_refused, n_kinks, n_over;

static bool is_float(eddy_dtype dtype)
{
    return dtype == EDDY_FLOAT32 || dtype == EDDY_FLOAT64;
}

static double element(const eddy_tensor *tensor, int64_t i)
{
    return eddy_tensor_dtype(tensor) == EDDY_FLOAT64
               ? ((const double *)eddy_tensor_data(tensor))[i]
               : (double)((const float *)eddy_tensor_data(tensor))[i];
}

static void set_element(eddy_tensor *tensor, int64_t i, double value)
{
    if (eddy_tensor_dtype(tensor) == EDDY_FLOAT64)
        ((double *)eddy_tensor_mutable_data(tensor))[i] = value;
    else
        ((float *)eddy_tensor_mutable_data(tensor))[i] = (float)value;
}

/* Which way an input goes, and what an output counts: never 0. */
static double along(int64_t i)
{
    return (double)(i % 5) * 0.4 - 0.7;
}

static double weight(int64_t i)
{
    return (double)(i % 7) * 0.3 - 1.0;
}

/* ---- loading ---- */

static eddy_status load_values(model_case *c, const char *folder)
{
    eddy_status status = EDDY_OK;

    for (size_t i = 0; i < c->n_inputs && status == EDDY_OK; i++) {
        char path[4096];
        eddy_onnx_data data;
        FILE *file;

        (void)snprintf(path, sizeof path, "%s/test_data_set_0/input_%zu.pb",
                       folder, i);
        file = fopen(path, "rb");
        if (file == NULL)
            break;
        (void)fclose(file);
        status = eddy_onnx_data_load(c->ctx, path, EDDY_ONNX_TENSOR, 0, &data,
                                     &c->err);
        if (status != EDDY_OK)
            break;
        c->feeds[c->n_feeds] = c->inputs[i].output;
        c->of_input[c->n_feeds] = i;
        c->values[c->n_feeds++] = eddy_tensor_retain(data.items[0]);
        eddy_onnx_data_free(&data);
    }
    return status;
}

static bool load(model_case *c, const char *folder)
{
    const eddy_onnx_options options = {.size = sizeof options,
                                       .external_data = true};
    char path[4096];

    (void)snprintf(path, sizeof path, "%s/model.onnx", folder);
    if (eddy_context_create(NULL, &c->ctx, &c->err) != EDDY_OK ||
        eddy_onnx_load(c->ctx, path, &options, &c->model, &c->err) != EDDY_OK)
        return false;
    c->graph = eddy_onnx_model_graph(c->model);
    c->inputs = eddy_onnx_model_inputs(c->model, &c->n_inputs);
    c->outputs = eddy_onnx_model_outputs(c->model, &c->n_outputs);
    if (c->n_inputs > MOST || c->n_outputs > MOST)
        return false;
    for (size_t i = 0; i < c->n_inputs; i++)
        if (c->inputs[i].kind != EDDY_ONNX_TENSOR)
            return false;
    for (size_t i = 0; i < c->n_outputs; i++)
        if (c->outputs[i].kind == EDDY_ONNX_TENSOR &&
            is_float(c->outputs[i].dtype))
            c->ys[c->n_ys++] = c->outputs[i].output;
    return c->n_ys > 0 && load_values(c, folder) == EDDY_OK;
}

static void unload(model_case *c)
{
    for (size_t i = 0; i < c->n_feeds; i++)
        eddy_tensor_release(c->values[i]);
    eddy_onnx_model_destroy(c->model);
    eddy_context_destroy(c->ctx);
}

/* ---- running ---- */

static eddy_status run(model_case *c, const eddy_output *fetches, size_t n,
                       eddy_tensor **values, eddy_tensor **out_results)
{
    const eddy_plan_options options = {.size = sizeof options,
                                       .feeds = c->feeds,
                                       .n_feeds = c->n_feeds,
                                       .fetches = fetches,
                                       .n_fetches = n};
    eddy_plan *plan = NULL;
    eddy_status status = eddy_plan_create(c->graph, &options, &plan, &c->err);

    if (status == EDDY_OK)
        status = eddy_plan_run(plan, NULL, values, out_results, &c->err);
    eddy_plan_release(plan);
    return status;
}

/* The sum with input `x` moved, and the size of what is summed. */
static eddy_status sum_at(model_case *c, size_t x, double step, double *out_sum,
                          double *out_size)
{
    eddy_tensor *values[MOST], *results[MOST] = {NULL}, *moved = NULL;
    eddy_status status =
        eddy_tensor_create(c->ctx, eddy_tensor_dtype(c->values[x]),
                           eddy_tensor_shape(c->values[x]), &moved, &c->err);

    if (status != EDDY_OK)
        return status;
    for (int64_t i = 0; i < eddy_tensor_count(moved); i++)
        set_element(moved, i, element(c->values[x], i) + step * along(i));
    for (size_t i = 0; i < c->n_feeds; i++)
        values[i] = i == x ? moved : c->values[i];
    status = run(c, c->ys, c->n_ys, values, results);
    *out_sum = *out_size = 0;
    for (size_t k = 0; k < c->n_ys && status == EDDY_OK; k++) {
        for (int64_t i = 0; i < eddy_tensor_count(results[k]); i++) {
            *out_sum += weight(i) * element(results[k], i);
            *out_size += fabs(weight(i) * element(results[k], i));
        }
        eddy_tensor_release(results[k]);
    }
    eddy_tensor_release(moved);
    return status;
}

/* The weights as constants, one for each y in its shape. */
static eddy_status make_weights(model_case *c)
{
    eddy_tensor *results[MOST] = {NULL};
    eddy_status status = run(c, c->ys, c->n_ys, c->values, results);

    for (size_t k = 0; k < c->n_ys && status == EDDY_OK; k++) {
        eddy_tensor *tensor = NULL;

        status =
            eddy_tensor_create(c->ctx, eddy_tensor_dtype(results[k]),
                               eddy_tensor_shape(results[k]), &tensor, &c->err);
        for (int64_t i = 0; status == EDDY_OK && i < eddy_tensor_count(tensor);
             i++)
            set_element(tensor, i, weight(i));
        if (status == EDDY_OK)
            status = eddy_graph_add_const(c->graph, NULL, tensor,
                                          &c->weights[k], &c->err);
        eddy_tensor_release(tensor);
    }
    for (size_t k = 0; k < c->n_ys; k++)
        eddy_tensor_release(results[k]);
    return status;
}

/* What the gradient says of the direction, and the size of what it adds. */
static eddy_status slope(model_case *c, size_t x, double *out_slope,
                         double *out_size)
{
    const eddy_gradient_options options = {.size = sizeof options,
                                           .grad_ys = c->weights};
    eddy_output gradient = {EDDY_NO_NODE, 0};
    eddy_tensor *result = NULL;
    eddy_status status = eddy_gradients(c->graph, c->ys, c->n_ys, &c->feeds[x],
                                        1, &options, &gradient, &c->err);

    *out_slope = *out_size = 0;
    if (status != EDDY_OK || gradient.node == EDDY_NO_NODE)
        return status;
    status = run(c, &gradient, 1, c->values, &result);
    if (status != EDDY_OK)
        return status;
    for (int64_t i = 0; i < eddy_tensor_count(result); i++) {
        *out_slope += element(result, i) * along(i);
        *out_size += fabs(element(result, i) * along(i));
    }
    eddy_tensor_release(result);
    return status;
}

/* ---- comparing ---- */

/* Both ways from where the model is, and the size of what is summed. */
typedef struct differences {
    double slope, gap, size;
} differences;

static eddy_status difference(model_case *c, size_t x, double step,
                              differences *out)
{
    double low, here, high;
    eddy_status status = sum_at(c, x, -step, &low, &out->size);

    if (status == EDDY_OK)
        status = sum_at(c, x, 0.0, &here, &out->size);
    if (status == EDDY_OK)
        status = sum_at(c, x, step, &high, &out->size);
    if (status != EDDY_OK)
        return status;
    out->slope = (high - low) / (2 * step);
    out->gap = fabs(high - 2 * here + low) / step;
    return EDDY_OK;
}

/*
 * A kink is where a smaller step gives another slope, or where the slopes to
 * both sides do not come together with it.
 */
static bool is_kink(const differences *whole, const differences *quarter,
                    double tolerance)
{
    return !(fabs(whole->slope - quarter->slope) <= tolerance) ||
           (quarter->gap > tolerance && quarter->gap > whole->gap / 2);
}

static void refuse(const model_case *c)
{
    n_refused++;
    printf("refused %s: %s '%s': %s\n", c->name, eddy_status_name(c->err.code),
           c->err.node, c->err.message);
}

static void check_input(model_case *c, size_t x)
{
    const bool is_double = eddy_tensor_dtype(c->values[x]) == EDDY_FLOAT64;
    const double step = is_double ? 1e-4 : 4e-3;
    differences whole, quarter;
    double got, size, tolerance, noise;

    if (slope(c, x, &got, &size) != EDDY_OK) {
        refuse(c);
        return;
    }
    if (difference(c, x, step, &whole) != EDDY_OK ||
        difference(c, x, step / 4, &quarter) != EDDY_OK) {
        n_over++;
        return;
    }
    noise = 4e-7 * whole.size / step;
    tolerance = 0.01 * fabs(whole.slope) + 1e-3 * size + noise;
    if (fabs(got - whole.slope) <= tolerance ||
        fabs(got - quarter.slope) <= tolerance + 3 * noise) {
        n_agree++;
    } else if (is_kink(&whole, &quarter, tolerance + 3 * noise)) {
        n_kinks++;
    } else {
        n_differ++;
        printf("differs %s %s: %g, %g and %g\n", c->name,
               c->inputs[c->of_input[x]].name, got, whole.slope, quarter.slope);
    }
}

static void check(const char *folder)
{
    const char *slash = strrchr(folder, '/');
    model_case c = {.name = slash != NULL ? slash + 1 : folder};
    size_t n = 0;

    if (load(&c, folder) && make_weights(&c) == EDDY_OK)
        for (size_t x = 0; x < c.n_feeds; x++)
            if (is_float(eddy_tensor_dtype(c.values[x])) &&
                eddy_tensor_count(c.values[x]) > 0) {
                check_input(&c, x);
                n++;
            }
    n_over += n == 0;
    unload(&c);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        (void)fprintf(stderr, "usage: onnx_gradients FOLDER...\n");
        return 2;
    }
    for (int i = 1; i < argc; i++)
        check(argv[i]);
    printf("%zu gradients agree, %zu differ, %zu refused, %zu at kinks, "
           "%zu passed over\n",
           n_agree, n_differ, n_refused, n_kinks, n_over);
    return n_differ > 0;
}
