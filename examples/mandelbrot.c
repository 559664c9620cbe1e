/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Mandelbrot set: a loop over scalars, in a loop, in a loop.  The outer two
 * go over rows and columns; the inner one takes as many trips as it takes
 * z = z^2 + c to leave the circle of radius 2, at most LIMIT.
 *
 *   cc mandelbrot.c $(pkg-config --cflags --libs eddy) -o mandelbrot
 *   ./mandelbrot [FILE.svg]
 */
#include <eddy.h>

#include <stdio.h>

enum { COLUMNS = 72, ROWS = 48, LIMIT = 200, N_SHADES = 8 };

static const char *const shades[N_SHADES] = {"#0b1640", "#143a8c", "#1f6fc9",
                                             "#52b6e8", "#b8e6f0", "#ffe08a",
                                             "#f5a142", "#000000"};

/* ---- the graph ---- */

static eddy_output op(eddy_emitter *b, const char *name, eddy_output x,
                      eddy_output y)
{
    return eddy_emit_binary(b, name, x, y);
}

static eddy_output number(eddy_emitter *b, double value)
{
    return eddy_emit_scalar(b, NULL, EDDY_FLOAT64, &value);
}

/* What the steps share: y is the row's, once that is begun. */
typedef struct plane {
    eddy_emitter *b;
    eddy_output xs, y;
} plane;

/* k = 0; x, y = 0;  while x x + y y <= 4 and k < LIMIT: z = z^2 + c; k += 1 */
static eddy_output escape(eddy_emitter *b, eddy_output cx, eddy_output cy)
{
    eddy_output v[3] = {eddy_emit_int32(b, 0), number(b, 0), number(b, 0)};
    const eddy_while_spec spec = {
        .size = sizeof spec, .initial = v, .n_variables = 3};
    eddy_output xx, yy, xy, inside, early;

    EDDY_EMIT(b, eddy_while_begin(b->graph, &spec, v, b->err));
    xx = op(b, "Mul", v[1], v[1]);
    yy = op(b, "Mul", v[2], v[2]);
    inside = op(b, "LessEqual", op(b, "AddV2", xx, yy), number(b, 4));
    early = op(b, "Less", v[0], eddy_emit_int32(b, LIMIT));
    inside = op(b, "LogicalAnd", inside, early);
    EDDY_EMIT(b, eddy_while_body(b->graph, inside, v, b->err));
    xx = op(b, "Mul", v[1], v[1]);
    yy = op(b, "Mul", v[2], v[2]);
    xy = op(b, "Mul", op(b, "Mul", number(b, 2), v[1]), v[2]);
    v[0] = op(b, "AddV2", v[0], eddy_emit_int32(b, 1));
    v[1] = op(b, "AddV2", op(b, "Sub", xx, yy), cx);
    v[2] = op(b, "AddV2", xy, cy);
    EDDY_EMIT(b, eddy_while_end(b->graph, v, 3, v, b->err));
    return v[0];
}

static eddy_output map(eddy_emitter *b, eddy_output elems, eddy_part_fn step,
                       plane *p)
{
    static const eddy_dtype counts = EDDY_INT32;
    const eddy_map_spec spec = {.size = sizeof spec,
                                .elems = &elems,
                                .n_elems = 1,
                                .dtypes = &counts,
                                .n_results = 1,
                                .step = step,
                                .user = p};
    eddy_output out = {0, 0};

    EDDY_EMIT(b, eddy_map_fn(b->graph, &spec, &out, b->err));
    return out;
}

static eddy_status column(eddy_graph *graph, void *user,
                          const eddy_output *inputs, size_t n,
                          eddy_output *out_results, eddy_error *err)
{
    const plane *p = user;

    (void)graph;
    (void)n;
    (void)err; /* the emitter's own */
    out_results[0] = escape(p->b, inputs[0], p->y);
    return p->b->status;
}

static eddy_status row(eddy_graph *graph, void *user, const eddy_output *inputs,
                       size_t n, eddy_output *out_results, eddy_error *err)
{
    plane *p = user;

    (void)graph;
    (void)n;
    (void)err;
    p->y = inputs[0];
    out_results[0] = map(p->b, p->xs, column, p);
    return p->b->status;
}

static eddy_output build(eddy_emitter *b)
{
    const eddy_shape across = {.rank = 1, .dims = {COLUMNS}};
    const eddy_shape down = {.rank = 1, .dims = {ROWS}};
    double xs[COLUMNS], ys[ROWS];
    plane p = {.b = b};

    for (int i = 0; i < COLUMNS; i++)
        xs[i] = -2.25 + 3.0 * i / (COLUMNS - 1);
    for (int i = 0; i < ROWS; i++)
        ys[i] = 1.0 - 2.0 * i / (ROWS - 1);
    p.xs = eddy_emit_elements(b, NULL, EDDY_FLOAT64, &across, xs);
    return map(b, eddy_emit_elements(b, NULL, EDDY_FLOAT64, &down, ys), row,
               &p);
}

/* ---- the picture ---- */

/* Twice as many trips are one shade further. */
static int shade(int32_t trips)
{
    int bits = 0;

    if (trips == LIMIT)
        return N_SHADES - 1;
    while (trips >> (bits + 1))
        bits++;
    return bits < N_SHADES - 2 ? bits : N_SHADES - 2;
}

/* A path a shade, with a line for each run of equal neighbours. */
static void draw(FILE *file, const int32_t *counts)
{
    (void)fprintf(file,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 -0.5 "
                  "%d %d\" width=\"%d\" height=\"%d\" "
                  "shape-rendering=\"crispEdges\">\n",
                  COLUMNS, ROWS, COLUMNS * 8, ROWS * 8);
    for (int s = 0; s < N_SHADES; s++) {
        bool any = false;

        for (int i = 0; i < ROWS * COLUMNS;) {
            const int start = i, line = i / COLUMNS;

            while (i < (line + 1) * COLUMNS &&
                   shade(counts[i]) == shade(counts[start]))
                i++;
            if (shade(counts[start]) != s)
                continue;
            if (!any)
                (void)fprintf(file, "<path stroke=\"%s\" d=\"", shades[s]);
            any = true;
            (void)fprintf(file, "M%d %dh%d", start % COLUMNS, line, i - start);
        }
        if (any)
            (void)fprintf(file, "\"/>\n");
    }
    (void)fprintf(file, "</svg>\n");
}

static void print(const int32_t *counts)
{
    int64_t trips = 0;

    for (int i = 0; i < ROWS * COLUMNS; i++)
        trips += counts[i];
    for (int r = 0; r < ROWS; r += 3) {
        int width = COLUMNS;

        while (width > 0 && shade(counts[r * COLUMNS + width - 1]) == 0)
            width--;
        for (int c = 0; c < width; c++)
            (void)putchar(" .:-=+*#"[shade(counts[r * COLUMNS + c])]);
        (void)putchar('\n');
    }
    printf("%lld trips of the inner loop\n", (long long)trips);
}

static void show(eddy_emitter *b, const int32_t *counts, const char *path)
{
    FILE *file = path ? fopen(path, "w") : NULL;

    print(counts);
    if (file)
        draw(file, counts);
    if (path && (!file || fclose(file) != 0)) {
        perror(path);
        b->status = EDDY_UNAVAILABLE;
    }
}

int main(int argc, char **argv)
{
    eddy_error err = EDDY_ERROR_INIT;
    eddy_emitter b = eddy_emitter_of(NULL, &err);
    eddy_output counts = {0, 0};
    const eddy_plan_options options = {
        .size = sizeof options, .fetches = &counts, .n_fetches = 1};
    eddy_context *ctx = NULL;
    eddy_plan *plan = NULL;
    eddy_tensor *found = NULL;

    b.status = eddy_context_create(NULL, &ctx, &err);
    EDDY_EMIT(&b, eddy_graph_create(ctx, &b.graph, &err));
    counts = build(&b);
    EDDY_EMIT(&b, eddy_plan_create(b.graph, &options, &plan, &err));
    EDDY_EMIT(&b, eddy_plan_run(plan, NULL, NULL, &found, &err));
    if (b.status != EDDY_OK)
        (void)fprintf(stderr, "%s: %s\n", err.node, err.message);
    else
        show(&b, eddy_tensor_data(found), argc > 1 ? argv[1] : NULL);
    eddy_tensor_release(found);
    eddy_plan_release(plan);
    eddy_graph_destroy(b.graph);
    eddy_context_release(ctx);
    return b.status != EDDY_OK;
}
