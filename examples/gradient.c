/*
 * Derivatives through a loop, of one order after the other: y is x, squared
 * three times,
 *
 *     y = x
 *     for i in range(3):
 *         y = y * y
 *
 * so x^8, whose derivatives at x = 2 are 1024, 3584 and 10752.
 *
 *   cc gradient.c $(pkg-config --cflags --libs eddy) -o gradient
 *   ./gradient [FILE.pb]
 *
 * With a file it saves the loop and its first gradient, which TensorFlow can
 * run.
 */
#include <eddy.h>

#include <stdio.h>
#include <stdlib.h>

#define ORDERS 3

/* A graph being built.  After the first failure nothing more is added. */
typedef struct builder {
    eddy_graph *graph;
    eddy_status status;
    eddy_error err;
} builder;

static eddy_output constant(builder *b, int32_t value)
{
    eddy_output out = {0, 0};

    if (b->status == EDDY_OK)
        b->status = eddy_graph_add_scalar(b->graph, NULL, EDDY_INT32, &value,
                                          &out, &b->err);
    return out;
}

static eddy_output binary(builder *b, const char *op, eddy_output x,
                          eddy_output y)
{
    const eddy_output inputs[] = {x, y};
    eddy_output out = {0, 0};

    if (b->status == EDDY_OK)
        b->status =
            eddy_graph_add_op(b->graph, op, NULL, inputs, 2, &out, &b->err);
    return out;
}

static eddy_output build_loop(builder *b, eddy_output x)
{
    eddy_output v[2] = {constant(b, 0), x};
    const eddy_while_spec spec = {
        .size = sizeof spec, .initial = v, .n_variables = 2};

    if (b->status == EDDY_OK)
        b->status = eddy_while_begin(b->graph, &spec, v, &b->err);
    v[0] = binary(b, "Less", v[0], constant(b, 3));
    if (b->status == EDDY_OK)
        b->status = eddy_while_body(b->graph, v[0], v, &b->err);
    v[0] = binary(b, "AddV2", v[0], constant(b, 1));
    v[1] = binary(b, "Mul", v[1], v[1]);
    if (b->status == EDDY_OK)
        b->status = eddy_while_end(b->graph, v, 2, v, &b->err);
    return v[1];
}

/* y, y', y'', ...: each is the gradient of the one before. */
static void build(builder *b, const char *path, eddy_output fetches[])
{
    const double two = 2;
    eddy_output x = {0, 0};

    if (b->status == EDDY_OK)
        b->status = eddy_graph_add_scalar(b->graph, "x", EDDY_FLOAT64, &two, &x,
                                          &b->err);
    fetches[0] = build_loop(b, x);
    for (int i = 0; i < ORDERS && b->status == EDDY_OK; i++) {
        b->status = eddy_gradients(b->graph, &fetches[i], 1, &x, 1, NULL,
                                   &fetches[i + 1], &b->err);
        if (b->status == EDDY_OK && path && i == 0)
            b->status = eddy_graphdef_save(b->graph, path, &b->err);
    }
}

static void run(builder *b, const eddy_output fetches[])
{
    const eddy_plan_options options = {
        .size = sizeof options, .fetches = fetches, .n_fetches = ORDERS + 1};
    eddy_tensor *results[ORDERS + 1] = {NULL};
    eddy_plan *plan = NULL;

    if (b->status == EDDY_OK)
        b->status = eddy_plan_create(b->graph, &options, &plan, &b->err);
    if (b->status == EDDY_OK)
        b->status = eddy_plan_run(plan, NULL, NULL, results, &b->err);
    for (int i = 0; i <= ORDERS; i++) {
        if (b->status == EDDY_OK)
            printf("%.0f\n", *(const double *)eddy_tensor_data(results[i]));
        eddy_tensor_release(results[i]);
    }
    eddy_plan_release(plan);
}

int main(int argc, char **argv)
{
    builder b = {.status = EDDY_OK};
    eddy_output fetches[ORDERS + 1] = {{0, 0}};
    eddy_context *ctx = NULL;
    char line[1024];

    b.status = eddy_context_create(NULL, &ctx, &b.err);
    if (b.status == EDDY_OK)
        b.status = eddy_graph_create(ctx, &b.graph, &b.err);
    build(&b, argc > 1 ? argv[1] : NULL, fetches);
    run(&b, fetches);
    eddy_graph_destroy(b.graph);
    eddy_context_destroy(ctx);
    if (b.status == EDDY_OK)
        return EXIT_SUCCESS;
    eddy_error_format(&b.err, line, sizeof line);
    fprintf(stderr, "%s\n", line);
    return EXIT_FAILURE;
}
