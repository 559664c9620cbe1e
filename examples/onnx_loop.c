/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX's Loop, in C: h_t = decay * h_(t-1) + x_t over x = [1, 2, 3, 4] with
 * decay = 0.5, carried from iteration to iteration and put out in each, as long
 * as there are items and h is below a limit.
 *
 * In ONNX it is a node
 *
 *     last, h = Loop(M = 4, cond = true, zero)
 *
 * whose body, a graph, gets the iteration, the condition and h, and gives the
 * condition, the next h, and what is put out; it reads x, decay and the limit
 * from the graph around it.
 *
 *   cc onnx_loop.c $(pkg-config --cflags --libs eddy) -o onnx_loop
 *   ./onnx_loop [FILE.pb [LIMIT]]
 *
 * With a file it saves the loop, which TensorFlow can run.
 */
#include <eddy.h>

#include <stdio.h>
#include <stdlib.h>

/* What the body reads from outside: the loop captures it by itself. */
typedef struct model {
    eddy_output x, decay, limit, zero, axis;
} model;

/* Of the iteration, the condition and h. */
static eddy_status body(eddy_graph *graph, void *user,
                        const eddy_output *inputs, size_t n,
                        eddy_output *out_results, eddy_error *err)
{
    const model *m = user;
    const eddy_output place[] = {m->x, inputs[0], m->axis};
    const eddy_output factors[] = {m->decay, inputs[2]};
    eddy_output terms[2], both[2];
    eddy_status status;

    (void)n; /* 3 */
    status =
        eddy_graph_add_op(graph, "GatherV2", NULL, place, 3, &terms[1], err);
    if (status == EDDY_OK)
        status =
            eddy_graph_add_op(graph, "Mul", NULL, factors, 2, &terms[0], err);
    if (status == EDDY_OK)
        status =
            eddy_graph_add_op(graph, "AddV2", "h", terms, 2, &both[0], err);
    both[1] = m->limit;
    if (status == EDDY_OK)
        status = eddy_graph_add_op(graph, "Less", NULL, both, 2,
                                   &out_results[0], err);
    out_results[1] = both[0]; /* carried on */
    out_results[2] = both[0]; /* put out */
    return status;
}

static eddy_status build(eddy_graph *graph, model *m, eddy_output out[2],
                         eddy_error *err)
{
    const int64_t four = 4;
    const bool yes = true;
    eddy_output trip_count, condition;
    /* Without .trip_count it is a while, without .condition a for. */
    const eddy_onnx_loop_spec spec = {
        .size = sizeof spec,
        .trip_count = &trip_count,
        .condition = &condition,
        .initial = &m->zero,
        .n_carried = 1,
        .n_scan_outputs = 1,
        .body = body,
        .user = m,
    };
    eddy_status status =
        eddy_graph_add_scalar(graph, NULL, EDDY_INT64, &four, &trip_count, err);

    if (status == EDDY_OK)
        status = eddy_graph_add_scalar(graph, NULL, EDDY_BOOL, &yes, &condition,
                                       err);
    return status == EDDY_OK ? eddy_onnx_loop(graph, &spec, out, err) : status;
}

static void print(const char *what, const eddy_tensor *tensor)
{
    const float *values = eddy_tensor_data(tensor);

    printf("%s:", what);
    for (int64_t i = 0; i < eddy_tensor_count(tensor); i++)
        printf(" %g", (double)values[i]);
    printf("\n");
}

static eddy_status run(eddy_graph *graph, const eddy_output fetches[2],
                       eddy_error *err)
{
    const eddy_plan_options options = {
        .size = sizeof options, .fetches = fetches, .n_fetches = 2};
    eddy_tensor *results[2] = {NULL, NULL};
    eddy_plan *plan = NULL;
    eddy_status status = eddy_plan_create(graph, &options, &plan, err);

    if (status == EDDY_OK)
        status = eddy_plan_run(plan, NULL, NULL, results, err);
    if (status == EDDY_OK) {
        print("h", results[1]);
        print("last", results[0]);
    }
    eddy_tensor_release(results[0]);
    eddy_tensor_release(results[1]);
    eddy_plan_release(plan);
    return status;
}

static eddy_status add_values(eddy_graph *graph, eddy_context *ctx, model *m,
                              float limit, eddy_error *err)
{
    static float items[] = {1, 2, 3, 4};
    const float half = 0.5F, zero = 0;
    const int32_t axis = 0;
    const eddy_shape shape = {.rank = 1, .dims = {4}};
    eddy_tensor *tensor = NULL;
    eddy_status status = eddy_tensor_wrap(ctx, EDDY_FLOAT32, &shape, items,
                                          NULL, NULL, &tensor, err);

    if (status == EDDY_OK)
        status = eddy_graph_add_const(graph, "x", tensor, &m->x, err);
    if (status == EDDY_OK)
        status = eddy_graph_add_scalar(graph, "decay", EDDY_FLOAT32, &half,
                                       &m->decay, err);
    if (status == EDDY_OK)
        status = eddy_graph_add_scalar(graph, "limit", EDDY_FLOAT32, &limit,
                                       &m->limit, err);
    if (status == EDDY_OK)
        status = eddy_graph_add_scalar(graph, "zero", EDDY_FLOAT32, &zero,
                                       &m->zero, err);
    if (status == EDDY_OK)
        status = eddy_graph_add_scalar(graph, "axis", EDDY_INT32, &axis,
                                       &m->axis, err);
    eddy_tensor_release(tensor);
    return status;
}

static eddy_status build_and_run(eddy_context *ctx, eddy_graph *graph,
                                 float limit, const char *path, eddy_error *err)
{
    eddy_output fetches[2];
    model m;
    eddy_status status = add_values(graph, ctx, &m, limit, err);

    if (status == EDDY_OK)
        status = build(graph, &m, fetches, err);
    if (status == EDDY_OK && path)
        status = eddy_graphdef_save(graph, path, err);
    return status == EDDY_OK ? run(graph, fetches, err) : status;
}

int main(int argc, char **argv)
{
    const float limit = argc > 2 ? strtof(argv[2], NULL) : 100;
    eddy_error err = {.code = EDDY_OK};
    eddy_context *ctx = NULL;
    eddy_graph *graph = NULL;
    eddy_status status = eddy_context_create(NULL, &ctx, &err);
    char line[1024];

    if (status == EDDY_OK)
        status = eddy_graph_create(ctx, &graph, &err);
    if (status == EDDY_OK)
        status =
            build_and_run(ctx, graph, limit, argc > 1 ? argv[1] : NULL, &err);
    eddy_graph_destroy(graph);
    eddy_context_destroy(ctx);
    if (status == EDDY_OK)
        return EXIT_SUCCESS;
    eddy_error_format(&err, line, sizeof line);
    fprintf(stderr, "%s\n", line);
    return EXIT_FAILURE;
}
