/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An LSTM that learns a sentence letter by letter, trained inside one loop.
 *
 *   cc char_lstm.c $(pkg-config --cflags --libs eddy) -lm -o char_lstm
 *   ./char_lstm [FILE.svg [FILE.txt]]
 *
 * Each trip of the training loop runs the LSTM over the sentence, which is a
 * loop in its body, takes the gradient of the loss through that loop, and moves
 * the weights against it.  One run of the plan does all of the training.  The
 * losses go to FILE.txt and their curve to FILE.svg; char_lstm_tensorflow.txt
 * has what the same program in TensorFlow gives.
 */
#include <eddy.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SIZE = 32, GATES = 4 * SIZE, STEPS = 200, MOST = 64, N_WEIGHTS = 5 };

static const char text[] = "the quick brown fox jumps over the lazy dog. ";
static const double rate = 0.5;

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

/* Numbers of either sign, the same everywhere. */
static eddy_output weights(eddy_emitter *b, int64_t rows, int64_t columns,
                           int seed)
{
    static double w[MOST * GATES];

    for (int64_t i = 0; i < rows * columns; i++) {
        const double k = (double)i;

        w[i] = 0.3 * sin(k * k * 0.7 + k + seed);
    }
    return array(b, rows, columns, w);
}

/* ---- the sentence ---- */

/* Everything that the parts of the loops share. */
typedef struct lesson {
    eddy_emitter *b;
    int n, n_letters; /* of the sentence, and of the alphabet */
    eddy_output letters, targets, zero;
    const eddy_output *w;
} lesson;

/* Letters as rows of the unit matrix, and the number of the next one. */
static void read_text(lesson *l)
{
    static double rows[(sizeof text) * MOST];
    int ids[256] = {0}, next[sizeof text];
    const eddy_shape shape = {.rank = 1, .dims = {sizeof text - 2}};

    l->n = (int)sizeof text - 2;
    for (int c = 1; c < 256; c++) {
        ids[c] = l->n_letters;
        l->n_letters += strchr(text, c) != NULL;
    }
    for (int i = 0; i < l->n; i++) {
        rows[i * l->n_letters + ids[(unsigned char)text[i]]] = 1;
        next[i] = ids[(unsigned char)text[i + 1]];
    }
    l->letters = array(l->b, l->n, l->n_letters, rows);
    l->targets = eddy_emit_elements(l->b, NULL, EDDY_INT32, &shape, next);
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
    const eddy_output x = op(b, "ExpandDims", inputs[2], eddy_emit_int32(b, 0));
    const eddy_output z[] = {
        eddy_emit_int32(b, 1),
        op(b, "AddV2", x, op(b, "MatMul", inputs[0], l->w[1]))};
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

/* The mean surprise at the next letter, by w_x, w_h, b, w_y and b_y. */
static eddy_output loss_of(lesson *l)
{
    const eddy_shape two = {.rank = 1, .dims = {2}};
    const eddy_shape one = {.rank = 1, .dims = {1}};
    const int32_t shape[] = {l->n, SIZE}, first = 0;
    eddy_emitter *b = l->b;
    const eddy_output x =
        op(b, "AddV2", op(b, "MatMul", l->letters, l->w[0]), l->w[2]);
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
    hs[0] = op(b, "Reshape", hs[0],
               eddy_emit_elements(b, NULL, EDDY_INT32, &two, shape));
    entropy[0] = op(b, "AddV2", op(b, "MatMul", hs[0], l->w[3]), l->w[4]);
    entropy[1] = l->targets;
    return op(b, "Mean",
              eddy_emit_op(b, "SparseSoftmaxCrossEntropyWithLogits", entropy, 2,
                           NULL, 0),
              eddy_emit_elements(b, NULL, EDDY_INT32, &one, &first));
}

/* ---- the training ---- */

/* Of k, the curve and the weights: the same, a step of training later. */
static void step(lesson *l, eddy_output v[2 + N_WEIGHTS])
{
    eddy_emitter *b = l->b;
    const eddy_output one_hot[] = {v[0], eddy_emit_int32(b, STEPS),
                                   number(b, 1), number(b, 0)};
    eddy_output loss, slopes[N_WEIGHTS] = {{0, 0}};

    l->w = v + 2;
    loss = loss_of(l);
    EDDY_EMIT(b, eddy_gradients(b->graph, &loss, 1, v + 2, N_WEIGHTS, NULL,
                                slopes, b->err));
    v[0] = op(b, "AddV2", v[0], eddy_emit_int32(b, 1));
    v[1] =
        op(b, "AddV2", v[1],
           op(b, "Mul", loss, eddy_emit_op(b, "OneHot", one_hot, 4, NULL, 0)));
    for (int i = 0; i < N_WEIGHTS; i++)
        v[2 + i] =
            op(b, "Sub", v[2 + i], op(b, "Mul", number(b, rate), slopes[i]));
}

static eddy_output build(eddy_emitter *b)
{
    static const double zeros[STEPS + GATES];
    lesson l = {.b = b};
    eddy_output v[2 + N_WEIGHTS], early;
    const eddy_while_spec spec = {
        .size = sizeof spec, .initial = v, .n_variables = 2 + N_WEIGHTS};

    read_text(&l);
    l.zero = array(b, 1, SIZE, zeros);
    v[0] = eddy_emit_int32(b, 0);
    v[1] = array(b, 0, STEPS, zeros);
    v[2] = weights(b, l.n_letters, GATES, 1);
    v[3] = weights(b, SIZE, GATES, 2);
    v[4] = array(b, 0, GATES, zeros);
    v[5] = weights(b, SIZE, l.n_letters, 3);
    v[6] = array(b, 0, l.n_letters, zeros);
    EDDY_EMIT(b, eddy_while_begin(b->graph, &spec, v, b->err));
    early = op(b, "Less", v[0], eddy_emit_int32(b, STEPS));
    EDDY_EMIT(b, eddy_while_body(b->graph, early, v, b->err));
    step(&l, v);
    EDDY_EMIT(b, eddy_while_end(b->graph, v, 2 + N_WEIGHTS, v, b->err));
    return v[1];
}

/* ---- what is shown ---- */

static void draw(FILE *file, const double *curve)
{
    double top = 0;

    for (int i = 0; i < STEPS; i++)
        top = curve[i] > top ? curve[i] : top;
    (void)fprintf(
        file,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 620 300\" "
        "width=\"620\" height=\"300\" font-family=\"sans-serif\" "
        "font-size=\"12\">\n"
        "<path d=\"M40 20V260H600\" fill=\"none\" stroke=\"#888\"/>\n"
        "<text x=\"4\" y=\"24\">%.2f</text><text x=\"24\" y=\"264\">0</text>"
        "<text x=\"590\" y=\"278\">%d</text>"
        "<text x=\"290\" y=\"284\">steps of training</text>\n"
        "<polyline fill=\"none\" stroke=\"#1f6fc9\" stroke-width=\"2\" "
        "points=\"",
        top, STEPS);
    for (int i = 0; i < STEPS; i++)
        (void)fprintf(file, "%s%.1f,%.1f", i ? " " : "", 40 + 2.8 * i,
                      20 + 240 * (1 - curve[i] / top));
    (void)fprintf(file, "\"/>\n</svg>\n");
}

static void list(FILE *file, const double *curve)
{
    for (int i = 0; i < STEPS; i++)
        (void)fprintf(file, "%.9f\n", curve[i]);
}

/* What `write` makes, into a file if one is named; false if that fails. */
static bool save(const char *path, const double *curve,
                 void (*write)(FILE *file, const double *curve))
{
    FILE *file = path ? fopen(path, "w") : NULL;

    if (file)
        write(file, curve);
    if (!path || (file && fclose(file) == 0))
        return true;
    perror(path);
    return false;
}

static bool show(const double *curve, char **argv)
{
    const char *svg = argv[1], *numbers = svg ? argv[2] : NULL;

    for (int k = 0; k < STEPS; k += 25)
        printf("step %3d  loss %.3f\n", k, curve[k]);
    printf("step %3d  loss %.3f\n", STEPS - 1, curve[STEPS - 1]);
    return save(svg, curve, draw) && save(numbers, curve, list);
}

int main(int argc, char **argv)
{
    eddy_error err = EDDY_ERROR_INIT;
    eddy_emitter b = eddy_emitter_of(NULL, &err);
    eddy_output curve = {0, 0};
    const eddy_plan_options options = {
        .size = sizeof options, .fetches = &curve, .n_fetches = 1};
    eddy_context *ctx = NULL;
    eddy_plan *plan = NULL;
    eddy_tensor *found = NULL;
    bool ok;

    (void)argc;
    b.status = eddy_context_create(NULL, &ctx, &err);
    EDDY_EMIT(&b, eddy_graph_create(ctx, &b.graph, &err));
    curve = build(&b);
    EDDY_EMIT(&b, eddy_plan_create(b.graph, &options, &plan, &err));
    EDDY_EMIT(&b, eddy_plan_run(plan, NULL, NULL, &found, &err));
    ok = b.status == EDDY_OK && show(eddy_tensor_data(found), argv);
    if (b.status != EDDY_OK)
        (void)fprintf(stderr, "%s: %s\n", err.node, err.message);
    eddy_tensor_release(found);
    eddy_plan_release(plan);
    eddy_graph_destroy(b.graph);
    eddy_context_release(ctx);
    return ok ? 0 : 1;
}
