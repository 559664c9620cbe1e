/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kepler's equation by Newton's method, differentiated twice.  Where a planet
 * is at mean anomaly M on an orbit of eccentricity e says E in
 *
 *     E - e sin E = M
 *
 * The loop ends when a step no longer moves E, so how many trips it takes
 * depends on the data.  dE/dM and its derivative come out of the loop itself;
 * what implicit differentiation gives stands beside them.
 *
 *   cc newton.c $(pkg-config --cflags --libs eddy) -lm -o newton
 */
#include <eddy.h>

#include <math.h>
#include <stdio.h>

static eddy_output number(eddy_emitter *b, double value)
{
    return eddy_emit_scalar(b, NULL, EDDY_FLOAT64, &value);
}

static eddy_output op(eddy_emitter *b, const char *name, eddy_output x,
                      eddy_output y)
{
    return eddy_emit_binary(b, name, x, y);
}

/* (x - e sin x - m) / (1 - e cos x) */
static eddy_output newton_step(eddy_emitter *b, eddy_output x, eddy_output m,
                               eddy_output e)
{
    const eddy_output sine = op(b, "Mul", e, eddy_emit_unary(b, "Sin", x));
    const eddy_output cosine = op(b, "Mul", e, eddy_emit_unary(b, "Cos", x));
    const eddy_output miss = op(b, "Sub", op(b, "Sub", x, sine), m);

    return op(b, "RealDiv", miss, op(b, "Sub", number(b, 1), cosine));
}

/* trips, E = 0, m;  while |step| > 1e-12: E -= step; trips += 1 */
static void build(eddy_emitter *b, eddy_output feeds[2], eddy_output fetches[4])
{
    const eddy_shape scalar = {.rank = 0};
    eddy_output v[3] = {{0, 0}, {0, 0}, {0, 0}}, size;
    eddy_while_spec spec = {
        .size = sizeof spec, .initial = v, .n_variables = 3};

    feeds[0] = eddy_emit_placeholder(b, "m", EDDY_FLOAT64, &scalar);
    feeds[1] = eddy_emit_placeholder(b, "e", EDDY_FLOAT64, &scalar);
    v[0] = eddy_emit_int32(b, 0);
    v[1] = feeds[0];
    v[2] = number(b, 1);
    EDDY_EMIT(b, eddy_while_begin(b->graph, &spec, v, b->err));
    size = eddy_emit_unary(b, "Abs", v[2]);
    EDDY_EMIT(b, eddy_while_body(b->graph,
                                 op(b, "Greater", size, number(b, 1e-12)), v,
                                 b->err));
    v[0] = op(b, "AddV2", v[0], eddy_emit_int32(b, 1));
    v[2] = newton_step(b, v[1], feeds[0], feeds[1]);
    v[1] = op(b, "Sub", v[1], v[2]);
    EDDY_EMIT(b, eddy_while_end(b->graph, v, 3, v, b->err));
    fetches[0] = v[0];
    fetches[1] = v[1];
    for (int i = 2; i < 4; i++)
        EDDY_EMIT(b, eddy_gradients(b->graph, &fetches[i - 1], 1, feeds, 1,
                                    NULL, &fetches[i], b->err));
}

static double at(const eddy_tensor *tensor)
{
    return *(const double *)eddy_tensor_data(tensor);
}

static void solve(eddy_emitter *b, eddy_context *ctx, eddy_plan *plan, double m,
                  double e)
{
    const eddy_shape scalar = {.rank = 0};
    eddy_tensor *feeds[2] = {NULL, NULL};
    eddy_tensor *found[4] = {NULL, NULL, NULL, NULL};

    EDDY_EMIT(b, eddy_tensor_wrap(ctx, EDDY_FLOAT64, &scalar, &m, NULL, NULL,
                                  &feeds[0], b->err));
    EDDY_EMIT(b, eddy_tensor_wrap(ctx, EDDY_FLOAT64, &scalar, &e, NULL, NULL,
                                  &feeds[1], b->err));
    EDDY_EMIT(b, eddy_plan_run(plan, NULL, feeds, found, b->err));
    if (b->status == EDDY_OK) {
        const double x = at(found[1]), slope = 1 / (1 - e * cos(x));

        printf("%4.1f %5.2f %6d %9.6f %9.5f %9.5f %9.3f %9.3f\n", m, e,
               *(const int32_t *)eddy_tensor_data(found[0]), x, at(found[2]),
               slope, at(found[3]), -e * sin(x) * slope * slope * slope);
    }
    for (int i = 0; i < 4; i++)
        eddy_tensor_release(found[i]);
    eddy_tensor_release(feeds[0]);
    eddy_tensor_release(feeds[1]);
}

int main(void)
{
    static const double orbits[][2] = {
        {0.5, 0.1}, {0.5, 0.9}, {0.1, 0.97}, {3.0, 0.5}};
    eddy_error err = EDDY_ERROR_INIT;
    eddy_emitter b = eddy_emitter_of(NULL, &err);
    eddy_output feeds[2], fetches[4];
    const eddy_plan_options options = {.size = sizeof options,
                                       .feeds = feeds,
                                       .n_feeds = 2,
                                       .fetches = fetches,
                                       .n_fetches = 4};
    eddy_context *ctx = NULL;
    eddy_plan *plan = NULL;

    b.status = eddy_context_create(NULL, &ctx, &err);
    EDDY_EMIT(&b, eddy_graph_create(ctx, &b.graph, &err));
    build(&b, feeds, fetches);
    EDDY_EMIT(&b, eddy_plan_create(b.graph, &options, &plan, &err));
    puts("   M     e  trips         E     dE/dM   by hand   d2E/dM2   by hand");
    for (size_t i = 0; i < sizeof orbits / sizeof orbits[0]; i++)
        solve(&b, ctx, plan, orbits[i][0], orbits[i][1]);
    if (b.status != EDDY_OK)
        (void)fprintf(stderr, "%s: %s\n", err.node, err.message);
    eddy_plan_release(plan);
    eddy_graph_destroy(b.graph);
    eddy_context_release(ctx);
    return b.status != EDDY_OK;
}
