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

static const eddy_shape scalar = {.rank = 0};

/* `op` of x and a number. */
static eddy_output by(eddy_emitter *b, const char *op, eddy_output x, int64_t y)
{
    return eddy_emit_binary(b, op, x, eddy_emit_int64(b, y));
}

/*
 * The whole program; its feed is n, its fetch the number of steps.  What is
 * made between begin, else and end runs only where its branch is taken; n comes
 * into it by itself.
 */
static void build(eddy_emitter *b, eddy_output *out_n, eddy_output *out_steps)
{
    eddy_output v[] = {eddy_emit_placeholder(b, "n", EDDY_INT64, &scalar),
                       eddy_emit_int64(b, 0)};
    eddy_output next;
    eddy_while_spec loop = {
        .size = sizeof loop, .initial = v, .n_variables = 2};
    eddy_cond_spec is_even = {.size = sizeof is_even};

    *out_n = v[0];
    EDDY_EMIT(b, eddy_while_begin(b->graph, &loop, v, b->err));
    next = by(b, "Greater", v[0], 1);
    EDDY_EMIT(b, eddy_while_body(b->graph, next, v, b->err));
    is_even.predicate = by(b, "Equal", by(b, "FloorMod", v[0], 2), 0);
    EDDY_EMIT(b, eddy_cond_begin(b->graph, &is_even, b->err));
    next = by(b, "FloorDiv", v[0], 2);
    EDDY_EMIT(b, eddy_cond_else(b->graph, &next, 1, b->err));
    next = by(b, "AddV2", by(b, "Mul", v[0], 3), 1);
    EDDY_EMIT(b, eddy_cond_end(b->graph, &next, 1, &v[0], b->err));
    v[1] = by(b, "AddV2", v[1], 1);
    EDDY_EMIT(b, eddy_while_end(b->graph, v, 2, v, b->err));
    *out_steps = v[1];
}

/* Runs the plan with one value of n and prints the steps. */
static eddy_status run(eddy_context *ctx, eddy_plan *plan, int64_t n,
                       eddy_error *err)
{
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
