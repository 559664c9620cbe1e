/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An LSTM that learns eight lines letter by letter, trained data-parallel in
 * one loop: each rank reads some of the lines, and in each trip the ranks take
 * the mean of their gradients.
 *
 *   cc char_lstm_ranks.c $(pkg-config --cflags --libs eddy) -lm -o lstm
 *   ./lstm [graph.pb [STEPS [LINES]]]
 *
 * On one rank, on two and on four the losses are the same but for rounding.
 * The graph that it saves runs so on processes, too, and can be broken off:
 *
 *   eddy run graph.pb --fetch curve --ranks 4 --replicated --processes \
 *       --checkpoint 50 --checkpoint-dir saved --resume
 *
 * With STEPS it says as well how long a step takes on one rank and on two; of
 * LINES, 4 to 64, the eight are there again and again.
 */
#include <eddy.h>
#include <eddy/ranks.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    ROWS = 8,
    MOST_ROWS = 64,
    LENGTH = 24,
    LETTERS = 27,
    SIZE = 32,
    GATES = 4 * SIZE,
    N_WEIGHTS = 5,
    MOST_STEPS = 1000
};

static const char *const lines[ROWS] = {
    "the quick brown fox jumps", "over the lazy dog and he ",
    "sleeps on until the noon ", "of the next day when a ca",
    "t comes by and sits on th", "e wall to look at the dog",
    " who opens one eye and cl", "oses it again the quick b"};
static const double rate = 1;

/* ---- short words for what is emitted ---- */

static eddy_output op(eddy_emitter *b, const char *name, eddy_output x,
                      eddy_output y)
{
    return eddy_emit_binary(b, name, x, y);
}

static eddy_output unary(eddy_emitter *b, const char *name, eddy_output x)
{
    return eddy_emit_unary(b, name, x);
}

static eddy_output number(eddy_emitter *b, double value)
{
    return eddy_emit_scalar(b, NULL, EDDY_FLOAT64, &value);
}

static eddy_output array(eddy_emitter *b, int64_t rows, int64_t columns,
                         const double *elements)
{
    const eddy_shape matrix = {.rank = 2, .dims = {rows, columns}};
    const eddy_shape vector = {.rank = 1, .dims = {columns}};

    return eddy_emit_elements(b, NULL, EDDY_FLOAT64, rows ? &matrix : &vector,
                              elements);
}

static eddy_output ints(eddy_emitter *b, int64_t n, const int32_t *elements)
{
    return eddy_emit_elements(b, NULL, EDDY_INT32,
                              &(eddy_shape){.rank = 1, .dims = {n}}, elements);
}

/* Numbers of either sign, the same everywhere. */
static eddy_output weights(eddy_emitter *b, int64_t rows, int64_t columns,
                           int seed)
{
    static double w[SIZE * GATES];

    for (int64_t i = 0; i < rows * columns; i++) {
        const double k = (double)i;

        w[i] = 0.3 * sin(k * k * 0.7 + k + seed);
    }
    return array(b, rows, columns, w);
}

/* ---- the lines of this rank ---- */

/* Everything that the parts of the loops share. */
typedef struct lesson {
    eddy_emitter *b;
    int steps, n_rows;
    eddy_output rows;             /* the numbers of this rank's lines */
    eddy_output letters, targets; /* [LENGTH, lines, LETTERS], lines * LENGTH */
    eddy_output zero;             /* [lines, SIZE] */
    const eddy_output *w;
} lesson;

static eddy_output take(lesson *l, eddy_output all, int32_t axis)
{
    const eddy_output inputs[] = {all, l->rows, eddy_emit_int32(l->b, axis)};

    return eddy_emit_named(l->b, "GatherV2", NULL, inputs, 3);
}

static int id_of(char c)
{
    return c == ' ' ? 0 : c - 'a' + 1;
}

static void read_lines(lesson *l)
{
    static double letters[LENGTH * MOST_ROWS][LETTERS];
    static int32_t next[LENGTH * MOST_ROWS];
    static const double zeros[MOST_ROWS * SIZE];
    const eddy_shape of_letters = {.rank = 3,
                                   .dims = {LENGTH, l->n_rows, LETTERS}};
    const eddy_shape of_next = {.rank = 2, .dims = {LENGTH, l->n_rows}};
    eddy_emitter *b = l->b;

    for (int k = 0; k < LENGTH * l->n_rows; k++) {
        const char *at = lines[k % l->n_rows % ROWS] + k / l->n_rows;

        letters[k][id_of(at[0])] = 1;
        next[k] = id_of(at[1]);
    }
    l->letters = take(
        l, eddy_emit_elements(b, NULL, EDDY_FLOAT64, &of_letters, letters), 1);
    l->targets =
        op(b, "Reshape",
           take(l, eddy_emit_elements(b, NULL, EDDY_INT32, &of_next, next), 1),
           ints(b, 1, (const int32_t[]){-1}));
    l->zero = take(l, array(b, l->n_rows, SIZE, zeros), 0);
}

/* As many lines for each rank, from its number on. */
static void share_lines(lesson *l)
{
    eddy_emitter *b = l->b;
    const eddy_output rank = eddy_emit_named(b, "HorovodRank", NULL, NULL, 0);
    const eddy_output size = eddy_emit_named(b, "HorovodSize", NULL, NULL, 0);
    const eddy_output n =
        op(b, "FloorDiv", eddy_emit_int32(b, l->n_rows), size);
    const eddy_output first = op(b, "Mul", rank, n);
    const eddy_output bounds[] = {first, op(b, "AddV2", first, n),
                                  eddy_emit_int32(b, 1)};

    l->rows = eddy_emit_named(b, "Range", NULL, bounds, 3);
}

/* ---- the LSTM ---- */

/* h, c and a letter's part of the gates: the next h and c. */
static eddy_status cell(eddy_graph *graph, void *user,
                        const eddy_output *inputs, size_t n,
                        eddy_output *out_results, eddy_error *err)
{
    const lesson *l = user;
    eddy_emitter *b = l->b;
    const int64_t gates = 4;
    const eddy_attr attr = eddy_attr_int("num_split", &gates);
    const eddy_output z[] = {
        eddy_emit_int32(b, 1),
        op(b, "AddV2", inputs[2], op(b, "MatMul", inputs[0], l->w[1]))};
    const eddy_node split = eddy_emit_op(b, "Split", z, 2, &attr, 1).node;
    const eddy_output i = unary(b, "Sigmoid", (eddy_output){split, 0});
    const eddy_output f = unary(
        b, "Sigmoid", op(b, "AddV2", (eddy_output){split, 1}, number(b, 1)));
    const eddy_output o = unary(b, "Sigmoid", (eddy_output){split, 2});
    const eddy_output u = unary(b, "Tanh", (eddy_output){split, 3});

    (void)graph;
    (void)n;
    (void)err; /* the emitter's own */
    out_results[1] =
        op(b, "AddV2", op(b, "Mul", f, inputs[1]), op(b, "Mul", i, u));
    out_results[0] = op(b, "Mul", o, unary(b, "Tanh", out_results[1]));
    return b->status;
}

static eddy_output shaped(eddy_emitter *b, eddy_output x, int32_t columns)
{
    return op(b, "Reshape", x, ints(b, 2, (const int32_t[]){-1, columns}));
}

/* The mean surprise at the next letter, by w_x, w_h, b, w_y and b_y. */
static eddy_output loss_of(lesson *l)
{
    eddy_emitter *b = l->b;
    const eddy_output flat =
        op(b, "AddV2", op(b, "MatMul", shaped(b, l->letters, LETTERS), l->w[0]),
           l->w[2]);
    const eddy_output x = op(b, "Reshape", flat,
                             ints(b, 3, (const int32_t[]){LENGTH, -1, GATES}));
    const eddy_output zeros[2] = {l->zero, l->zero};
    const eddy_fold_spec spec = {.size = sizeof spec,
                                 .elems = &x,
                                 .n_elems = 1,
                                 .initializer = zeros,
                                 .n_initializers = 2,
                                 .step = cell,
                                 .user = l};
    eddy_output hs[2] = {{0, 0}, {0, 0}}, entropy[2];

    EDDY_EMIT(b, eddy_scan(b->graph, &spec, hs, b->err));
    entropy[0] = op(b, "AddV2",
                    op(b, "MatMul", shaped(b, hs[0], SIZE), l->w[3]), l->w[4]);
    entropy[1] = l->targets;
    return op(b, "Mean",
              eddy_emit_op(b, "SparseSoftmaxCrossEntropyWithLogits", entropy, 2,
                           NULL, 0),
              ints(b, 1, (const int32_t[]){0}));
}

/* ---- the training ---- */

static eddy_output mean_over_ranks(eddy_emitter *b, eddy_output x)
{
    static const int64_t mean = 0; /* Horovod's number of it */
    const eddy_attr attr = eddy_attr_int("reduce_op", &mean);

    return eddy_emit_op(b, "HorovodAllreduce", &x, 1, &attr, 1);
}

/* Of k, the curve and the weights: the same, a step of training later. */
static void step(lesson *l, eddy_output v[2 + N_WEIGHTS])
{
    eddy_emitter *b = l->b;
    const eddy_output one_hot[] = {v[0], eddy_emit_int32(b, l->steps),
                                   number(b, 1), number(b, 0)};
    eddy_output loss, slopes[N_WEIGHTS] = {{0, 0}};

    l->w = v + 2;
    loss = loss_of(l);
    EDDY_EMIT(b, eddy_gradients(b->graph, &loss, 1, v + 2, N_WEIGHTS, NULL,
                                slopes, b->err));
    v[0] = op(b, "AddV2", v[0], eddy_emit_int32(b, 1));
    v[1] = op(b, "AddV2", v[1],
              op(b, "Mul", mean_over_ranks(b, loss),
                 eddy_emit_op(b, "OneHot", one_hot, 4, NULL, 0)));
    for (int i = 0; i < N_WEIGHTS; i++)
        v[2 + i] =
            op(b, "Sub", v[2 + i],
               op(b, "Mul", number(b, rate), mean_over_ranks(b, slopes[i])));
}

static eddy_output build(eddy_emitter *b, int steps, int n_rows)
{
    static const double zeros[MOST_STEPS + GATES];
    lesson l = {.b = b, .steps = steps, .n_rows = n_rows};
    eddy_output v[2 + N_WEIGHTS], early;
    const eddy_while_spec spec = {
        .size = sizeof spec, .initial = v, .n_variables = 2 + N_WEIGHTS};

    share_lines(&l);
    read_lines(&l);
    v[0] = eddy_emit_int32(b, 0);
    v[1] = array(b, 0, steps, zeros);
    v[2] = weights(b, LETTERS, GATES, 1);
    v[3] = weights(b, SIZE, GATES, 2);
    v[4] = array(b, 0, GATES, zeros);
    v[5] = weights(b, SIZE, LETTERS, 3);
    v[6] = array(b, 0, LETTERS, zeros);
    EDDY_EMIT(b, eddy_while_begin(b->graph, &spec, v, b->err));
    early = op(b, "Less", v[0], eddy_emit_int32(b, steps));
    EDDY_EMIT(b, eddy_while_body(b->graph, early, v, b->err));
    step(&l, v);
    EDDY_EMIT(b, eddy_while_end(b->graph, v, 2 + N_WEIGHTS, v, b->err));
    return eddy_emit_named(b, "Identity", "curve", &v[1], 1);
}

/* ---- running it ---- */

static double seconds(void)
{
    struct timespec now;

    (void)timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Runs as many copies; the curve is the caller's, and how long it took. */
static eddy_tensor *run(eddy_emitter *b, eddy_output curve, uint32_t n_ranks,
                        double *out_seconds)
{
    const eddy_partition_options how = {.size = sizeof how,
                                        .n_ranks = n_ranks,
                                        .fetches = &curve,
                                        .n_fetches = 1,
                                        .is_replicated = true};
    eddy_partition *copies = NULL;
    eddy_ranks *ranks = NULL;
    eddy_tensor *out = NULL;

    EDDY_EMIT(b, eddy_partition_create(b->graph, &how, &copies, b->err));
    EDDY_EMIT(b, eddy_ranks_create(copies, NULL, &ranks, b->err));
    *out_seconds = -seconds();
    EDDY_EMIT(b, eddy_ranks_run(ranks, NULL, &out, b->err));
    *out_seconds += seconds();
    eddy_ranks_destroy(ranks);
    eddy_partition_destroy(copies);
    return out;
}

static void show(eddy_emitter *b, eddy_output curve, int steps, bool is_timed)
{
    eddy_tensor *curves[3] = {NULL, NULL, NULL};
    double took[3];

    for (int i = 0; i < 3; i++)
        curves[i] = run(b, curve, 1U << i, &took[i]);
    if (b->status == EDDY_OK)
        (void)printf("          1 rank  2 ranks  4 ranks\n");
    for (int k = 0; k < steps && b->status == EDDY_OK; k += (steps + 4) / 5) {
        (void)printf("step %3d", k);
        for (int i = 0; i < 3; i++)
            (void)printf("    %.3f",
                         ((const double *)eddy_tensor_data(curves[i]))[k]);
        (void)putchar('\n');
    }
    if (is_timed)
        (void)printf("%.2f ms a step on one rank, %.2f on two\n",
                     took[0] / steps * 1e3, took[1] / steps * 1e3);
    for (int i = 0; i < 3; i++)
        eddy_tensor_release(curves[i]);
}

int main(int argc, char **argv)
{
    const int steps = argc > 2 ? atoi(argv[2]) : 60;
    const int n_rows = argc > 3 ? atoi(argv[3]) : ROWS;
    eddy_error err = EDDY_ERROR_INIT;
    eddy_emitter b = eddy_emitter_of(NULL, &err);
    eddy_context *ctx = NULL;
    eddy_output curve;

    if (steps < 1 || steps > MOST_STEPS || n_rows < 4 || n_rows > MOST_ROWS)
        return 2;
    b.status = eddy_context_create(NULL, &ctx, &err);
    EDDY_EMIT(&b, eddy_graph_create(ctx, &b.graph, &err));
    curve = build(&b, steps, n_rows);
    if (argc > 1)
        EDDY_EMIT(&b, eddy_graphdef_save(b.graph, argv[1], &err));
    show(&b, curve, steps, argc > 2);
    if (b.status != EDDY_OK)
        (void)fprintf(stderr, "%s: %s\n", err.node, err.message);
    eddy_graph_destroy(b.graph);
    eddy_context_release(ctx);
    return b.status != EDDY_OK;
}
