/* SPDX-License-Identifier: Apache-2.0 */
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

static eddy_output build_loop(eddy_emitter *b, eddy_output x)
{
    eddy_output v[2] = {eddy_emit_int32(b, 0), x};
    const eddy_while_spec spec = {
        .size = sizeof spec, .initial = v, .n_variables = 2};

    EDDY_EMIT(b, eddy_while_begin(b->graph, &spec, v, b->err));
    v[0] = eddy_emit_binary(b, "Less", v[0], eddy_emit_int32(b, 3));
    EDDY_EMIT(b, eddy_while_body(b->graph, v[0], v, b->err));
    v[0] = eddy_emit_binary(b, "AddV2", v[0], eddy_emit_int32(b, 1));
    v[1] = eddy_emit_binary(b, "Mul", v[1], v[1]);
    EDDY_EMIT(b, eddy_while_end(b->graph, v, 2, v, b->err));
    return v[1];
}

/* y, y', y'', ...: each is the gradient of the one before. */
static void build(eddy_emitter *b, const char *path, eddy_output fetches[])
{
    const double two = 2;
    eddy_output x = {0, 0};

    x = eddy_emit_scalar(b, "x", EDDY_FLOAT64, &two);
    fetches[0] = build_loop(b, x);
    for (int i = 0; i < ORDERS && b->status == EDDY_OK; i++) {
        b->status = eddy_gradients(b->graph, &fetches[i], 1, &x, 1, NULL,
                                   &fetches[i + 1], b->err);
        if (b->status == EDDY_OK && path && i == 0)
            b->status = eddy_graphdef_save(b->graph, path, b->err);
    }
}

static void run(eddy_emitter *b, const eddy_output fetches[])
{
    const eddy_plan_options options = {
        .size = sizeof options, .fetches = fetches, .n_fetches = ORDERS + 1};
    eddy_tensor *results[ORDERS + 1] = {NULL};
    eddy_plan *plan = NULL;

    EDDY_EMIT(b, eddy_plan_create(b->graph, &options, &plan, b->err));
    EDDY_EMIT(b, eddy_plan_run(plan, NULL, NULL, results, b->err));
    for (int i = 0; i <= ORDERS; i++) {
        if (b->status == EDDY_OK)
            printf("%.0f\n", *(const double *)eddy_tensor_data(results[i]));
        eddy_tensor_release(results[i]);
    }
    eddy_plan_release(plan);
}

int main(int argc, char **argv)
{
    eddy_error err = {.code = EDDY_OK};
    eddy_emitter b = eddy_emitter_of(NULL, &err);
    eddy_output fetches[ORDERS + 1] = {{0, 0}};
    eddy_context *ctx = NULL;
    char line[1024];

    b.status = eddy_context_create(NULL, &ctx, b.err);
    EDDY_EMIT(&b, eddy_graph_create(ctx, &b.graph, b.err));
    build(&b, argc > 1 ? argv[1] : NULL, fetches);
    run(&b, fetches);
    eddy_graph_destroy(b.graph);
    eddy_context_destroy(ctx);
    if (b.status == EDDY_OK)
        return EXIT_SUCCESS;
    eddy_error_format(b.err, line, sizeof line);
    fprintf(stderr, "%s\n", line);
    return EXIT_FAILURE;
}
