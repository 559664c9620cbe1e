/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theano's scan, in C.  In Python it reads
 *
 *     h, updates = theano.scan(lambda x, h: decay * h + x,
 *                              sequences=x, outputs_info=zero)
 *
 * and here it runs over x = [1, 2, 3, 4] with decay = 0.5: every h, the last
 * one, and the gradient of the last one with respect to x.
 *
 *   cc theano.c $(pkg-config --cflags --libs eddy) -o theano
 *   ./theano [FILE.pb]
 *
 * With a file it saves the scan, which TensorFlow can run.
 */
#include <eddy.h>

#include <stdio.h>
#include <stdlib.h>

/* What the step reads from outside: the loop captures it by itself. */
typedef struct model {
    eddy_output decay;
} model;

/* One step: its arguments are x[t] and h[t - 1]. */
static eddy_status step(eddy_graph *graph, void *user, const eddy_output *args,
                        size_t n, eddy_output *out_outputs, eddy_error *err)
{
    const model *m = user;
    const eddy_output factors[] = {m->decay, args[1]};
    eddy_output terms[] = {{0, 0}, args[0]};
    eddy_status status;

    (void)n;
    status = eddy_graph_add_op(graph, "Mul", NULL, factors, 2, terms, err);
    if (status == EDDY_OK)
        status =
            eddy_graph_add_op(graph, "AddV2", "h", terms, 2, out_outputs, err);
    return status;
}

/* All h and the last one. */
static eddy_status build(eddy_graph *graph, eddy_output x, eddy_output zero,
                         model *m, eddy_output out[2], eddy_error *err)
{
    /* Other taps are `.taps = (const int64_t[]){-2, 0, 1}, .n_taps = 3`. */
    const eddy_theano_sequence sequences[] = {{.input = x}};
    const eddy_theano_output outputs[] = {{.initial = &zero}};
    const eddy_theano_spec spec = {
        .size = sizeof spec,
        .step = step,
        .user = m,
        .sequences = sequences,
        .n_sequences = 1,
        .outputs = outputs,
        .n_outputs = 1,
    };

    return eddy_theano_scan(graph, &spec, &out[0], &out[1], NULL, err);
}

static void print(const char *what, const eddy_tensor *tensor)
{
    const float *values = eddy_tensor_data(tensor);

    printf("%s:", what);
    for (int64_t i = 0; i < eddy_tensor_count(tensor); i++)
        printf(" %g", (double)values[i]);
    printf("\n");
}

static eddy_status run(eddy_graph *graph, const eddy_output fetches[3],
                       eddy_error *err)
{
    static const char *const names[] = {"h", "last", "d last / d x"};
    const eddy_plan_options options = {
        .size = sizeof options, .fetches = fetches, .n_fetches = 3};
    eddy_tensor *results[3] = {NULL};
    eddy_plan *plan = NULL;
    eddy_status status = eddy_plan_create(graph, &options, &plan, err);

    if (status == EDDY_OK)
        status = eddy_plan_run(plan, NULL, NULL, results, err);
    for (int i = 0; i < 3; i++) {
        if (status == EDDY_OK)
            print(names[i], results[i]);
        eddy_tensor_release(results[i]);
    }
    eddy_plan_release(plan);
    return status;
}

/* A constant of rank 1, or of rank 0 if `rank` says so. */
static eddy_status constant(eddy_graph *graph, eddy_context *ctx, int32_t rank,
                            float *values, eddy_output *out, eddy_error *err)
{
    const eddy_shape shape = {.rank = rank, .dims = {4}};
    eddy_tensor *tensor = NULL;
    eddy_status status = eddy_tensor_wrap(ctx, EDDY_FLOAT32, &shape, values,
                                          NULL, NULL, &tensor, err);

    if (status == EDDY_OK)
        status = eddy_graph_add_const(graph, NULL, tensor, out, err);
    eddy_tensor_release(tensor);
    return status;
}

static eddy_status build_and_run(eddy_context *ctx, eddy_graph *graph,
                                 const char *path, eddy_error *err)
{
    static float items[] = {1, 2, 3, 4}, zeros[] = {0}, half[] = {0.5F};
    eddy_output x, zero, fetches[3];
    eddy_status status;
    model m;

    status = constant(graph, ctx, 1, items, &x, err);
    if (status == EDDY_OK)
        status = constant(graph, ctx, 0, zeros, &zero, err);
    if (status == EDDY_OK)
        status = constant(graph, ctx, 0, half, &m.decay, err);
    if (status == EDDY_OK)
        status = build(graph, x, zero, &m, fetches, err);
    if (status == EDDY_OK && path)
        status = eddy_graphdef_save(graph, path, err);
    if (status == EDDY_OK)
        status = eddy_gradients(graph, &fetches[1], 1, &x, 1, NULL, &fetches[2],
                                err);
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
