/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MXNet's control flow, in C, in its two forms.  In Python it reads
 *
 *     step = lambda x, h: (decay * h + x, decay * h + x)
 *     all, last = mx.sym.contrib.foreach(step, x, h0)
 *
 * with mx.nd in place of mx.sym for the form that runs at once.  Here both run
 * over x = [1, 2, 3, 4] with decay = 0.5 and h0 = 0.
 *
 *   cc mxnet.c $(pkg-config --cflags --libs eddy) -o mxnet
 *   ./mxnet [FILE.pb]
 *
 * With a file it saves the graph, which TensorFlow can run.
 */
#include <eddy.h>

#include <stdio.h>
#include <stdlib.h>

static void print(const char *what, const eddy_tensor *tensor)
{
    const float *values = eddy_tensor_data(tensor);

    printf("%s:", what);
    for (int64_t i = 0; i < eddy_tensor_count(tensor); i++)
        printf(" %g", (double)values[i]);
    printf("\n");
}

/* ---- in a graph ---- */

/* What the step reads from outside: the loop captures it by itself. */
typedef struct model {
    eddy_output decay;
} model;

/* One step out of an item and the state: what it puts out, and the new state.
 */
static eddy_status step(eddy_graph *graph, void *user,
                        const eddy_output *inputs, size_t n,
                        eddy_output *out_results, eddy_error *err)
{
    const model *m = user;
    const eddy_output factors[] = {m->decay, inputs[1]};
    eddy_output terms[] = {{0, 0}, inputs[0]};
    eddy_status status;

    (void)n;
    status = eddy_graph_add_op(graph, "Mul", NULL, factors, 2, terms, err);
    if (status == EDDY_OK)
        status =
            eddy_graph_add_op(graph, "AddV2", "h", terms, 2, out_results, err);
    out_results[1] = out_results[0];
    return status;
}

/* All h and the last one, out of constants of these values. */
static eddy_status build(eddy_graph *graph, eddy_tensor *const values[3],
                         eddy_output fetches[2], eddy_error *err)
{
    eddy_output x, first;
    model m;
    eddy_mxnet_foreach_spec spec = {
        .size = sizeof spec,
        .inputs = &x,
        .n_inputs = 1,
        .states = &first,
        .n_states = 1,
        .n_outputs = 1,
        .body = step,
        .user = &m,
    };
    eddy_status status = eddy_graph_add_const(graph, "x", values[0], &x, err);

    if (status == EDDY_OK)
        status = eddy_graph_add_const(graph, "h0", values[1], &first, err);
    if (status == EDDY_OK)
        status = eddy_graph_add_const(graph, "decay", values[2], &m.decay, err);
    return status == EDDY_OK
               ? eddy_mxnet_foreach(graph, &spec, &fetches[0], &fetches[1], err)
               : status;
}

static eddy_status run_graph(eddy_graph *graph, eddy_tensor *const values[3],
                             const char *path, eddy_error *err)
{
    eddy_output fetches[2];
    const eddy_plan_options options = {
        .size = sizeof options, .fetches = fetches, .n_fetches = 2};
    eddy_tensor *results[2] = {NULL, NULL};
    eddy_plan *plan = NULL;
    eddy_status status = build(graph, values, fetches, err);

    if (status == EDDY_OK && path)
        status = eddy_graphdef_save(graph, path, err);
    if (status == EDDY_OK)
        status = eddy_plan_create(graph, &options, &plan, err);
    if (status == EDDY_OK)
        status = eddy_plan_run(plan, NULL, NULL, results, err);
    if (status == EDDY_OK) {
        print("in a graph, h", results[0]);
        print("last", results[1]);
    }
    eddy_tensor_release(results[0]);
    eddy_tensor_release(results[1]);
    eddy_plan_release(plan);
    return status;
}

/* ---- at once ---- */

/* The same step on tensors: the results are given away. */
static eddy_status step_now(eddy_immediate *now, void *user,
                            eddy_tensor *const *inputs, size_t n,
                            eddy_tensor **out_results, eddy_error *err)
{
    eddy_tensor *const factors[] = {user, inputs[1]};
    eddy_tensor *terms[] = {NULL, inputs[0]};
    eddy_status status;

    (void)n;
    status = eddy_immediate_op(now, "Mul", factors, 2, &terms[0], err);
    if (status == EDDY_OK)
        status =
            eddy_immediate_op(now, "AddV2", terms, 2, &out_results[0], err);
    if (status == EDDY_OK)
        out_results[1] = eddy_tensor_retain(out_results[0]);
    eddy_tensor_release(terms[0]);
    return status;
}

static eddy_status run_now(eddy_context *ctx, eddy_tensor *const values[3],
                           eddy_error *err)
{
    const eddy_mxnet_foreach_now_spec spec = {
        .size = sizeof spec,
        .inputs = &values[0],
        .n_inputs = 1,
        .states = &values[1],
        .n_states = 1,
        .n_outputs = 1,
        .body = step_now,
        .user = values[2],
    };
    eddy_tensor *all = NULL, *last = NULL;
    eddy_immediate *now = NULL;
    eddy_status status = eddy_immediate_create(ctx, NULL, &now, err);

    if (status == EDDY_OK)
        status = eddy_mxnet_foreach_now(now, &spec, &all, &last, err);
    if (status == EDDY_OK) {
        print("at once, h", all);
        print("last", last);
    }
    eddy_tensor_release(all);
    eddy_tensor_release(last);
    eddy_immediate_destroy(now);
    return status;
}

/* ---- both ---- */

/* A tensor over our own memory: 4 values, or one of rank 0. */
static eddy_status wrap(eddy_context *ctx, float *values, int32_t rank,
                        eddy_tensor **out_tensor, eddy_error *err)
{
    const eddy_shape shape = {.rank = rank, .dims = {4}};

    return eddy_tensor_wrap(ctx, EDDY_FLOAT32, &shape, values, NULL, NULL,
                            out_tensor, err);
}

static eddy_status run_both(eddy_context *ctx, const char *path,
                            eddy_error *err)
{
    static float items[] = {1, 2, 3, 4}, zero[] = {0}, half[] = {0.5F};
    eddy_tensor *values[3] = {NULL, NULL, NULL};
    eddy_graph *graph = NULL;
    eddy_status status = wrap(ctx, items, 1, &values[0], err);

    if (status == EDDY_OK)
        status = wrap(ctx, zero, 0, &values[1], err);
    if (status == EDDY_OK)
        status = wrap(ctx, half, 0, &values[2], err);
    if (status == EDDY_OK)
        status = eddy_graph_create(ctx, &graph, err);
    if (status == EDDY_OK)
        status = run_graph(graph, values, path, err);
    if (status == EDDY_OK)
        status = run_now(ctx, values, err);
    eddy_graph_destroy(graph);
    for (int i = 0; i < 3; i++)
        eddy_tensor_release(values[i]);
    return status;
}

int main(int argc, char **argv)
{
    eddy_error err = {.code = EDDY_OK};
    eddy_context *ctx = NULL;
    eddy_status status = eddy_context_create(NULL, &ctx, &err);
    char line[1024];

    if (status == EDDY_OK)
        status = run_both(ctx, argc > 1 ? argv[1] : NULL, &err);
    eddy_context_destroy(ctx);
    if (status == EDDY_OK)
        return EXIT_SUCCESS;
    eddy_error_format(&err, line, sizeof line);
    fprintf(stderr, "%s\n", line);
    return EXIT_FAILURE;
}
