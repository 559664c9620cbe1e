/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds a loop with a branch in it, and runs it: how many steps it takes from
 * n to 1,
 *
 *     steps = 0
 *     while n > 1:
 *         n = n / 2 if n is even else 3 * n + 1
 *         steps = steps + 1
 *
 *   cc builder.c $(pkg-config --cflags --libs eddy) -o builder
 *   ./builder [FILE.pb]
 *
 * With a file it saves the graph, which TensorFlow can run.
 */
#include <eddy.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * The next n.  What is made between begin, else and end runs only where its
 * branch is taken; n comes into it by itself.
 */
static eddy_output next(eddy_emitter *b, eddy_output n)
{
    const eddy_output remainder =
        eddy_emit_binary(b, "FloorMod", n, eddy_emit_int64(b, 2));
    const eddy_cond_spec spec = {
        .size = sizeof spec,
        .predicate =
            eddy_emit_binary(b, "Equal", remainder, eddy_emit_int64(b, 0)),
    };
    eddy_output result;

    EDDY_EMIT(b, eddy_cond_begin(b->graph, &spec, b->err));
    result = eddy_emit_binary(b, "FloorDiv", n, eddy_emit_int64(b, 2));
    EDDY_EMIT(b, eddy_cond_else(b->graph, &result, 1, b->err));
    result = eddy_emit_binary(b, "Mul", n, eddy_emit_int64(b, 3));
    result = eddy_emit_binary(b, "AddV2", result, eddy_emit_int64(b, 1));
    EDDY_EMIT(b, eddy_cond_end(b->graph, &result, 1, &result, b->err));
    return result;
}

/* Builds the program; its feed is n, its fetch the number of steps. */
static void build(eddy_emitter *b, eddy_output *out_n, eddy_output *out_steps)
{
    const eddy_shape scalar = {.rank = 0};
    eddy_output v[2] = {{0, 0}, {0, 0}};
    eddy_while_spec spec = {
        .size = sizeof spec, .initial = v, .n_variables = 2};

    *out_n = eddy_emit_placeholder(b, "n", EDDY_INT64, &scalar);
    v[0] = *out_n;
    v[1] = eddy_emit_int64(b, 0);
    EDDY_EMIT(b, eddy_while_begin(b->graph, &spec, v, b->err));
    /* The condition, of what the variables are. */
    v[0] = eddy_emit_binary(b, "Greater", v[0], eddy_emit_int64(b, 1));
    EDDY_EMIT(b, eddy_while_body(b->graph, v[0], v, b->err));
    /* The body, of what they are now. */
    v[0] = next(b, v[0]);
    v[1] = eddy_emit_binary(b, "AddV2", v[1], eddy_emit_int64(b, 1));
    EDDY_EMIT(b, eddy_while_end(b->graph, v, 2, v, b->err));
    *out_steps = v[1];
}

/* Runs the plan with one value of n and prints the steps. */
static eddy_status run(eddy_context *ctx, eddy_plan *plan, int64_t n,
                       eddy_error *err)
{
    const eddy_shape scalar = {.rank = 0};
    eddy_tensor *feed = NULL;
    eddy_tensor *steps = NULL;
    eddy_status status;

    status =
        eddy_tensor_wrap(ctx, EDDY_INT64, &scalar, &n, NULL, NULL, &feed, err);
    if (status == EDDY_OK)
        status = eddy_plan_run(plan, NULL, &feed, &steps, err);
    if (status == EDDY_OK)
        printf("%2" PRId64 ": %3" PRId64 " steps\n", n,
               *(const int64_t *)eddy_tensor_data(steps));
    eddy_tensor_release(steps);
    eddy_tensor_release(feed);
    return status;
}

static eddy_status build_and_run(eddy_context *ctx, const char *path,
                                 eddy_error *err)
{
    eddy_emitter b = eddy_emitter_of(NULL, err);
    eddy_output n = {0, 0}, steps = {0, 0};
    eddy_plan *plan = NULL;

    b.status = eddy_graph_create(ctx, &b.graph, b.err);
    build(&b, &n, &steps);
    if (b.status == EDDY_OK && path)
        b.status = eddy_graphdef_save(b.graph, path, b.err);
    if (b.status == EDDY_OK) {
        const eddy_plan_options options = {
            .size = sizeof options,
            .feeds = &n,
            .n_feeds = 1,
            .fetches = &steps,
            .n_fetches = 1,
        };

        b.status = eddy_plan_create(b.graph, &options, &plan, b.err);
    }
    for (int64_t i = 1; i <= 27 && b.status == EDDY_OK; i += 13)
        b.status = run(ctx, plan, i, b.err);
    eddy_plan_release(plan);
    eddy_graph_destroy(b.graph);
    return b.status;
}

int main(int argc, char **argv)
{
    eddy_error err = {.code = EDDY_OK};
    eddy_context *ctx = NULL;
    eddy_status status = eddy_context_create(NULL, &ctx, &err);
    char line[1024];

    if (status == EDDY_OK)
        status = build_and_run(ctx, argc > 1 ? argv[1] : NULL, &err);
    eddy_context_destroy(ctx);
    if (status == EDDY_OK)
        return EXIT_SUCCESS;
    eddy_error_format(&err, line, sizeof line);
    fprintf(stderr, "%s\n", line);
    return EXIT_FAILURE;
}
