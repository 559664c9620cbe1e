/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorFlow's functions over the items of a tensor, in C.  In Python:
 *
 *     h = tf.scan(lambda h, x: decay * h + x, x, initializer=zero)
 *     last = tf.foldl(lambda h, x: decay * h + x, x, initializer=zero)
 *     squares = tf.map_fn(lambda x: x * x, x)
 *
 * and here over x = [1, 2, 3, 4] with decay = 0.5; then the same h with
 * while_loop, which has no items: it counts, and the tensor is gathered from.
 *
 *   cc tensorflow_loops.c $(pkg-config --cflags --libs eddy) -o loops
 *   ./loops [FILE.pb]
 *
 * With a file it saves the graph, which TensorFlow can run.
 */
#include <eddy.h>

#include <stdio.h>
#include <stdlib.h>

/* What the steps read from outside: each loop captures it by itself. */
typedef struct model {
    eddy_output x, n, decay, zero, start, one, axis;
} model;

/* h = decay * h + x */
static eddy_status decay_and_add(eddy_graph *graph, const model *m,
                                 eddy_output h, eddy_output x, eddy_output *out,
                                 eddy_error *err)
{
    const eddy_output factors[] = {m->decay, h};
    eddy_output terms[] = {{0, 0}, x};
    eddy_status status =
        eddy_graph_add_op(graph, "Mul", NULL, factors, 2, terms, err);

    if (status == EDDY_OK)
        status = eddy_graph_add_op(graph, "AddV2", "h", terms, 2, out, err);
    return status;
}

/* A step of the scan and the fold: of what is accumulated and an item. */
static eddy_status step(eddy_graph *graph, void *user,
                        const eddy_output *inputs, size_t n,
                        eddy_output *out_results, eddy_error *err)
{
    (void)n; /* 2 */
    return decay_and_add(graph, user, inputs[0], inputs[1], out_results, err);
}

static eddy_status square(eddy_graph *graph, void *user,
                          const eddy_output *inputs, size_t n,
                          eddy_output *out_results, eddy_error *err)
{
    const eddy_output both[] = {inputs[0], inputs[0]};

    (void)user;
    (void)n; /* 1 */
    return eddy_graph_add_op(graph, "Mul", NULL, both, 2, out_results, err);
}

/* The condition and the body of the while loop: of the counter and h. */
static eddy_status is_below(eddy_graph *graph, void *user,
                            const eddy_output *variables, size_t n,
                            eddy_output *out_results, eddy_error *err)
{
    const model *m = user;
    const eddy_output both[] = {variables[0], m->n};

    (void)n; /* 2 */
    return eddy_graph_add_op(graph, "Less", NULL, both, 2, out_results, err);
}

static eddy_status advance(eddy_graph *graph, void *user,
                           const eddy_output *variables, size_t n,
                           eddy_output *out_results, eddy_error *err)
{
    const model *m = user;
    const eddy_output place[] = {m->x, variables[0], m->axis};
    const eddy_output count[] = {variables[0], m->one};
    eddy_output item;
    eddy_status status;

    (void)n; /* 2 */
    status = eddy_graph_add_op(graph, "GatherV2", NULL, place, 3, &item, err);
    if (status == EDDY_OK)
        status =
            decay_and_add(graph, m, variables[1], item, &out_results[1], err);
    if (status == EDDY_OK)
        status = eddy_graph_add_op(graph, "AddV2", NULL, count, 2,
                                   &out_results[0], err);
    return status;
}

#define N_RESULTS 4
static const char *const names[N_RESULTS] = {"h", "last", "squares", "while"};

static eddy_status build(eddy_graph *graph, model *m,
                         eddy_output out[N_RESULTS], eddy_error *err)
{
    /* Without an initializer the first item would be it. */
    const eddy_fold_spec fold = {
        .size = sizeof fold,
        .elems = &m->x,
        .n_elems = 1,
        .initializer = &m->zero,
        .n_initializers = 1,
        .step = step,
        .user = m,
    };
    const eddy_map_spec map = {
        .size = sizeof map, .elems = &m->x, .n_elems = 1, .step = square};
    eddy_output variables[] = {m->start, m->zero};
    const eddy_while_spec loop = {
        .size = sizeof loop, .initial = variables, .n_variables = 2};
    const eddy_while_functions functions = {is_below, advance, m};
    eddy_status status = eddy_scan(graph, &fold, &out[0], err);

    if (status == EDDY_OK)
        status = eddy_foldl(graph, &fold, &out[1], err);
    if (status == EDDY_OK)
        status = eddy_map_fn(graph, &map, &out[2], err);
    if (status == EDDY_OK)
        status = eddy_while_loop(graph, &loop, &functions, variables, err);
    out[3] = variables[1];
    return status;
}

static void print(const char *what, const eddy_tensor *tensor)
{
    const float *values = eddy_tensor_data(tensor);

    printf("%s:", what);
    for (int64_t i = 0; i < eddy_tensor_count(tensor); i++)
        printf(" %g", (double)values[i]);
    printf("\n");
}

static eddy_status run(eddy_graph *graph, const eddy_output fetches[N_RESULTS],
                       eddy_error *err)
{
    const eddy_plan_options options = {
        .size = sizeof options, .fetches = fetches, .n_fetches = N_RESULTS};
    eddy_tensor *results[N_RESULTS] = {NULL};
    eddy_plan *plan = NULL;
    eddy_status status = eddy_plan_create(graph, &options, &plan, err);

    if (status == EDDY_OK)
        status = eddy_plan_run(plan, NULL, NULL, results, err);
    for (int i = 0; i < N_RESULTS; i++) {
        if (status == EDDY_OK)
            print(names[i], results[i]);
        eddy_tensor_release(results[i]);
    }
    eddy_plan_release(plan);
    return status;
}

/* The values that the loops read. */
static eddy_status add_values(eddy_graph *graph, eddy_context *ctx, model *m,
                              eddy_error *err)
{
    static float items[] = {1, 2, 3, 4};
    static const float half = 0.5F, zero = 0;
    static const int32_t none = 0, one = 1, four = 4;
    const struct {
        eddy_dtype dtype;
        const void *value;
        eddy_output *out;
    } scalars[] = {
        {EDDY_FLOAT32, &half, &m->decay}, {EDDY_FLOAT32, &zero, &m->zero},
        {EDDY_INT32, &four, &m->n},       {EDDY_INT32, &none, &m->start},
        {EDDY_INT32, &one, &m->one},      {EDDY_INT32, &none, &m->axis},
    };
    const eddy_shape shape = {.rank = 1, .dims = {4}};
    eddy_tensor *tensor = NULL;
    eddy_status status = eddy_tensor_wrap(ctx, EDDY_FLOAT32, &shape, items,
                                          NULL, NULL, &tensor, err);

    if (status == EDDY_OK)
        status = eddy_graph_add_const(graph, "x", tensor, &m->x, err);
    for (size_t i = 0; i < sizeof scalars / sizeof scalars[0]; i++)
        if (status == EDDY_OK)
            status =
                eddy_graph_add_scalar(graph, NULL, scalars[i].dtype,
                                      scalars[i].value, scalars[i].out, err);
    eddy_tensor_release(tensor);
    return status;
}

static eddy_status build_and_run(eddy_context *ctx, eddy_graph *graph,
                                 const char *path, eddy_error *err)
{
    eddy_output fetches[N_RESULTS];
    model m;
    eddy_status status = add_values(graph, ctx, &m, err);

    if (status == EDDY_OK)
        status = build(graph, &m, fetches, err);
    if (status == EDDY_OK && path)
        status = eddy_graphdef_save(graph, path, err);
    return status == EDDY_OK ? run(graph, fetches, err) : status;
}

int main(int argc, char **argv)
{
    eddy_error err = {.code = EDDY_OK};
    eddy_context *ctx = NULL;
    eddy_graph *graph = NULL;
    eddy_status status = eddy_context_create(NULL, &ctx, &err);
    char line[1024];

    if (status == EDDY_OK)
        status = eddy_graph_create(ctx, &graph, &err);
    if (status == EDDY_OK)
        status = build_and_run(ctx, graph, argc > 1 ? argv[1] : NULL, &err);
    eddy_graph_destroy(graph);
    eddy_context_destroy(ctx);
    if (status == EDDY_OK)
        return EXIT_SUCCESS;
    eddy_error_format(&err, line, sizeof line);
    fprintf(stderr, "%s\n", line);
    return EXIT_FAILURE;
}
