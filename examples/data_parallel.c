/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trains one model on several ranks, each with a part of the data, in one loop:
 *
 *     while step < 200:
 *         loss = mean((rows of this rank . w - their targets)^2)
 *         w = w - 0.2 * the mean over all ranks of dloss/dw
 *         step = step + 1
 *
 * The gradient is taken inside the loop; HorovodAllreduce, the mean over ranks,
 * is what joins the copies of the graph.  On one rank and on four the weights
 * are the same but for rounding.
 *
 *   cc data_parallel.c $(pkg-config --cflags --libs eddy) -o data_parallel
 *   ./data_parallel [graph.pb]
 *
 * The graph that it saves runs so on processes, too:
 *
 *   eddy run graph.pb --fetch weights --ranks 4 --replicated --processes
 */
#include <eddy.h>
#include <eddy/ranks.h>

#include <stdio.h>

enum { ROWS = 64, COLUMNS = 3, STEPS = 200 };

static eddy_output op(eddy_emitter *b, const char *name, eddy_output x,
                      eddy_output y)
{
    return eddy_emit_binary(b, name, x, y);
}

static eddy_output number(eddy_emitter *b, double value)
{
    return eddy_emit_scalar(b, NULL, EDDY_FLOAT64, &value);
}

/* The rows of this rank: as many for each, from its number on. */
static eddy_output own_rows(eddy_emitter *b, eddy_output all)
{
    const eddy_output rank = eddy_emit_named(b, "HorovodRank", NULL, NULL, 0);
    const eddy_output size = eddy_emit_named(b, "HorovodSize", NULL, NULL, 0);
    const eddy_output n = op(b, "FloorDiv", eddy_emit_int32(b, ROWS), size);
    const eddy_output first = op(b, "Mul", rank, n);
    const eddy_output bounds[] = {first, op(b, "AddV2", first, n),
                                  eddy_emit_int32(b, 1)};
    const eddy_output inputs[] = {all,
                                  eddy_emit_named(b, "Range", NULL, bounds, 3),
                                  eddy_emit_int32(b, 0)};

    return eddy_emit_named(b, "GatherV2", NULL, inputs, 3);
}

/* The mean over the rows of the squared distances. */
static eddy_output loss_of(eddy_emitter *b, eddy_output x, eddy_output y,
                           eddy_output w)
{
    const eddy_output miss = op(b, "Sub", op(b, "MatMul", x, w), y);
    const eddy_shape two = {.rank = 1, .dims = {2}};
    const eddy_output axes =
        eddy_emit_elements(b, NULL, EDDY_INT32, &two, (const int32_t[]){0, 1});

    return op(b, "Mean", op(b, "Mul", miss, miss), axes);
}

static eddy_output mean_over_ranks(eddy_emitter *b, eddy_output x)
{
    static const int64_t mean = 0; /* Horovod's number of it */
    const eddy_attr attr = eddy_attr_int("reduce_op", &mean);

    return eddy_emit_op(b, "HorovodAllreduce", &x, 1, &attr, 1);
}

static eddy_output train(eddy_emitter *b, eddy_output x, eddy_output y)
{
    const eddy_shape shape = {.rank = 2, .dims = {COLUMNS, 1}};
    static const double zeros[COLUMNS];
    const eddy_output initial[] = {
        eddy_emit_int32(b, 0),
        eddy_emit_elements(b, NULL, EDDY_FLOAT64, &shape, zeros)};
    const eddy_while_spec spec = {
        .size = sizeof spec, .initial = initial, .n_variables = 2};
    eddy_output now[2] = {{0, 0}, {0, 0}}, less, loss, slope = {0, 0};

    EDDY_EMIT(b, eddy_while_begin(b->graph, &spec, now, b->err));
    less = op(b, "Less", now[0], eddy_emit_int32(b, STEPS));
    EDDY_EMIT(b, eddy_while_body(b->graph, less, now, b->err));
    loss = loss_of(b, x, y, now[1]);
    EDDY_EMIT(b, eddy_gradients(b->graph, &loss, 1, &now[1], 1, NULL, &slope,
                                b->err));
    slope = mean_over_ranks(b, slope);
    now[0] = op(b, "AddV2", now[0], eddy_emit_int32(b, 1));
    now[1] = op(b, "Sub", now[1], op(b, "Mul", number(b, 0.2), slope));
    EDDY_EMIT(b, eddy_while_end(b->graph, now, 2, now, b->err));
    return eddy_emit_named(b, "Identity", "weights", &now[1], 1);
}

/* Some rows, and what 1.5, -2 and 0.25 make of them. */
static eddy_output build(eddy_emitter *b)
{
    const eddy_shape of_x = {.rank = 2, .dims = {ROWS, COLUMNS}};
    const eddy_shape of_y = {.rank = 2, .dims = {ROWS, 1}};
    double x[ROWS][COLUMNS], y[ROWS];

    for (int i = 0; i < ROWS; i++) {
        for (int k = 0; k < COLUMNS; k++)
            x[i][k] = (i * 7 + k * 11 + i * k) % 13 / 6.5 - 0.9;
        y[i] = 1.5 * x[i][0] - 2 * x[i][1] + 0.25 * x[i][2];
    }
    return train(
        b, own_rows(b, eddy_emit_elements(b, NULL, EDDY_FLOAT64, &of_x, x)),
        own_rows(b, eddy_emit_elements(b, NULL, EDDY_FLOAT64, &of_y, y)));
}

/* Runs as many copies, and prints the weights. */
static void run(eddy_emitter *b, eddy_output weights, uint32_t n_ranks)
{
    const eddy_partition_options how = {.size = sizeof how,
                                        .n_ranks = n_ranks,
                                        .fetches = &weights,
                                        .n_fetches = 1,
                                        .is_replicated = true};
    eddy_partition *copies = NULL;
    eddy_ranks *ranks = NULL;
    eddy_tensor *out = NULL;

    EDDY_EMIT(b, eddy_partition_create(b->graph, &how, &copies, b->err));
    EDDY_EMIT(b, eddy_ranks_create(copies, NULL, &ranks, b->err));
    EDDY_EMIT(b, eddy_ranks_run(ranks, NULL, &out, b->err));
    if (b->status == EDDY_OK) {
        const double *w = eddy_tensor_data(out);

        (void)printf("%u ranks: %.6f %.6f %.6f\n", (unsigned)n_ranks, w[0],
                     w[1], w[2]);
    }
    eddy_tensor_release(out);
    eddy_ranks_destroy(ranks);
    eddy_partition_destroy(copies);
}

int main(int argc, char **argv)
{
    eddy_error err = {.code = EDDY_OK};
    eddy_emitter b = eddy_emitter_of(NULL, &err);
    eddy_context *ctx = NULL;
    eddy_output weights;

    b.status = eddy_context_create(NULL, &ctx, b.err);
    EDDY_EMIT(&b, eddy_graph_create(ctx, &b.graph, b.err));
    weights = build(&b);
    if (argc > 1)
        EDDY_EMIT(&b, eddy_graphdef_save(b.graph, argv[1], b.err));
    run(&b, weights, 1);
    run(&b, weights, 4);
    if (b.status != EDDY_OK)
        (void)fprintf(stderr, "%s: %s\n", err.node, err.message);
    eddy_graph_destroy(b.graph);
    eddy_context_destroy(ctx);
    return b.status != EDDY_OK;
}
