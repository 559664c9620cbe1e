/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unrolls a loop and shows that nothing changes but the number of iterations:
 *
 *     h = 0
 *     for t in 0 .. n - 1:  h = 0.5 * h + (t + 1)
 *
 * first two trips an iteration, for any n; then, where n is 4 for certain, all
 * four of them and no loop.
 *
 *   cc unroll.c $(pkg-config --cflags --libs eddy) -o unroll
 *   ./unroll [FILE.pb]
 *
 * With a file it saves the graph that has two trips an iteration.
 */
#include <eddy.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The loop, over `n`; its result is named `h`. */
static void build(eddy_emitter *b, eddy_output n)
{
    const int64_t zero = 0, one = 1;
    const double nothing = 0, half = 0.5;
    eddy_output v[2], next[2], limit;
    eddy_while_spec spec = {
        .size = sizeof spec, .initial = v, .n_variables = 2};

    limit = n;
    v[0] = eddy_emit_scalar(b, NULL, EDDY_INT64, &zero);
    v[1] = eddy_emit_scalar(b, NULL, EDDY_FLOAT64, &nothing);
    EDDY_EMIT(b, eddy_while_begin(b->graph, &spec, v, b->err));
    limit = eddy_emit_binary(b, "Less", v[0], limit);
    EDDY_EMIT(b, eddy_while_body(b->graph, limit, v, b->err));
    next[0] = eddy_emit_binary(b, "AddV2", v[0],
                               eddy_emit_scalar(b, NULL, EDDY_INT64, &one));
    next[1] = eddy_emit_cast(b, next[0], EDDY_FLOAT64);
    next[1] = eddy_emit_binary(
        b, "AddV2",
        eddy_emit_binary(b, "Mul", v[1],
                         eddy_emit_scalar(b, NULL, EDDY_FLOAT64, &half)),
        next[1]);
    EDDY_EMIT(b, eddy_while_end(b->graph, next, 2, v, b->err));
    eddy_emit_named(b, "Identity", "h", &v[1], 1);
}

/* Runs `graph`, feeding `n` if it has one, and prints h and the iterations. */
static eddy_status run(eddy_context *ctx, eddy_graph *graph, int64_t n,
                       const char *what, eddy_error *err)
{
    const eddy_shape scalar = {.rank = 0};
    eddy_output feed = {eddy_graph_find(graph, "n"), 0};
    const eddy_output fetch = {eddy_graph_find(graph, "h"), 0};
    const eddy_plan_options options = {
        .size = sizeof options,
        .feeds = &feed,
        .n_feeds = feed.node != EDDY_NO_NODE,
        .fetches = &fetch,
        .n_fetches = 1,
    };
    eddy_tensor *input = NULL;
    eddy_plan *plan = NULL;
    eddy_run *r = NULL;
    eddy_stats stats;
    eddy_status status = eddy_plan_create(graph, &options, &plan, err);

    if (status == EDDY_OK)
        status = eddy_run_create(plan, NULL, &r, err);
    if (status == EDDY_OK && options.n_feeds > 0)
        status = eddy_tensor_wrap(ctx, EDDY_INT64, &scalar, &n, NULL, NULL,
                                  &input, err);
    if (status == EDDY_OK && options.n_feeds > 0)
        status = eddy_run_feed(r, 0, input, err);
    if (status == EDDY_OK)
        status = eddy_run_execute(r, err);
    if (status == EDDY_OK) {
        stats = eddy_run_stats(r);
        printf("%s, n = %" PRId64 ": h = %g, %" PRIu64 " iterations\n", what, n,
               *(const double *)eddy_tensor_data(eddy_run_fetch(r, 0)),
               stats.iterations);
    }
    eddy_run_destroy(r);
    eddy_plan_release(plan);
    eddy_tensor_release(input);
    return status;
}

/* As it is, and with `trips` trips an iteration, 0 for all. */
static eddy_status compare(eddy_context *ctx, eddy_graph *graph, uint64_t trips,
                           const char *path, eddy_error *err)
{
    const char *loop = "while";
    const eddy_unroll_options options = {
        .size = sizeof options, .loops = &loop, .n_loops = 1, .trips = trips};
    eddy_graph *unrolled = NULL;
    eddy_status status = eddy_graph_unroll(graph, &options, &unrolled, err);

    for (int64_t n = trips > 0 ? 0 : 4; n <= 4 && status == EDDY_OK; n++) {
        status = run(ctx, graph, n, "a loop", err);
        if (status == EDDY_OK)
            status =
                run(ctx, unrolled, n, trips > 0 ? "unrolled" : "no loop", err);
    }
    if (status == EDDY_OK && path)
        status = eddy_graphdef_save(unrolled, path, err);
    eddy_graph_destroy(unrolled);
    return status;
}

/* With n fed, or with n = 4. */
static eddy_status show(eddy_context *ctx, int is_fed, const char *path,
                        eddy_error *err)
{
    const eddy_shape scalar = {.rank = 0};
    const int64_t four = 4;
    eddy_emitter b = eddy_emitter_of(NULL, err);
    eddy_output n = {0, 0};

    b.status = eddy_graph_create(ctx, &b.graph, b.err);
    if (!is_fed)
        n = eddy_emit_scalar(&b, NULL, EDDY_INT64, &four);
    else
        n = eddy_emit_placeholder(&b, "n", EDDY_INT64, &scalar);
    build(&b, n);
    EDDY_EMIT(&b, compare(ctx, b.graph, is_fed ? 2 : 0, path, b.err));
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
        status = show(ctx, 1, argc > 1 ? argv[1] : NULL, &err);
    if (status == EDDY_OK)
        status = show(ctx, 0, NULL, &err);
    eddy_context_destroy(ctx);
    if (status == EDDY_OK)
        return EXIT_SUCCESS;
    eddy_error_format(&err, line, sizeof line);
    fprintf(stderr, "%s\n", line);
    return EXIT_FAILURE;
}
