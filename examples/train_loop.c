/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trains a recurrence in one loop.  Each step runs the recurrence
 *
 *     h_t = decay h_(t-1) + x_t
 *
 * over x = 1, 2, 3, 4, which is a loop in the body of the training loop; takes
 * the gradient of the squared distance of the last h from a target by decay;
 * and moves decay against it.  Then the whole training is differentiated: how
 * the decay that it ends with depends on the target.
 *
 *   cc train_loop.c $(pkg-config --cflags --libs eddy) -o train_loop
 *   ./train_loop [graph.pb]
 */
#include <eddy.h>

#include <stdio.h>

#define ITEMS 4

static eddy_output number(eddy_emitter *b, double value)
{
    return eddy_emit_scalar(b, NULL, EDDY_FLOAT64, &value);
}

static eddy_output gradient(eddy_emitter *b, eddy_output y, eddy_output x)
{
    eddy_output out = {0, 0};

    EDDY_EMIT(b, eddy_gradients(b->graph, &y, 1, &x, 1, NULL, &out, b->err));
    return out;
}

/* ---- the recurrence ---- */

typedef struct recurrence {
    eddy_emitter *b;
    eddy_output decay;
} recurrence;

/* Out of h and x_t: the next h.  The decay is captured. */
static eddy_status step(eddy_graph *graph, void *user,
                        const eddy_output *inputs, size_t n,
                        eddy_output *out_results, eddy_error *err)
{
    const recurrence *r = user;
    eddy_emitter *b = r->b;

    (void)graph;
    (void)n;
    out_results[0] = eddy_emit_binary(
        b, "AddV2", eddy_emit_binary(b, "Mul", inputs[0], r->decay), inputs[1]);
    *err = *b->err;
    return b->status;
}

static eddy_output last_h(eddy_emitter *b, eddy_output xs, eddy_output decay)
{
    const eddy_output zero = number(b, 0);
    recurrence r = {b, decay};
    const eddy_fold_spec spec = {.size = sizeof spec,
                                 .elems = &xs,
                                 .n_elems = 1,
                                 .initializer = &zero,
                                 .n_initializers = 1,
                                 .step = step,
                                 .user = &r};
    eddy_output h = {0, 0};

    EDDY_EMIT(b, eddy_foldl(b->graph, &spec, &h, b->err));
    return h;
}

/* ---- the training ---- */

/* i = 0; decay = 0;  while i < 60: decay -= 0.01 dloss/ddecay; i += 1 */
static eddy_output train(eddy_emitter *b, eddy_output xs, eddy_output target)
{
    const eddy_output initial[] = {eddy_emit_int32(b, 0), number(b, 0)};
    const eddy_while_spec spec = {.size = sizeof spec,
                                  .name = "training",
                                  .initial = initial,
                                  .n_variables = 2};
    eddy_output now[2] = {{0, 0}, {0, 0}}, less, miss, slope;

    EDDY_EMIT(b, eddy_while_begin(b->graph, &spec, now, b->err));
    less = eddy_emit_binary(b, "Less", now[0], eddy_emit_int32(b, 60));
    EDDY_EMIT(b, eddy_while_body(b->graph, less, now, b->err));
    miss = eddy_emit_binary(b, "Sub", last_h(b, xs, now[1]), target);
    slope = gradient(b, eddy_emit_binary(b, "Mul", miss, miss), now[1]);
    now[0] = eddy_emit_binary(b, "AddV2", now[0], eddy_emit_int32(b, 1));
    now[1] = eddy_emit_binary(
        b, "Sub", now[1], eddy_emit_binary(b, "Mul", number(b, 0.01), slope));
    EDDY_EMIT(b, eddy_while_end(b->graph, now, 2, now, b->err));
    return now[1];
}

static void run(eddy_emitter *b, const eddy_output fetches[2])
{
    const eddy_plan_options options = {
        .size = sizeof options, .fetches = fetches, .n_fetches = 2};
    eddy_plan *plan = NULL;
    eddy_run *made = NULL;

    EDDY_EMIT(b, eddy_plan_create(b->graph, &options, &plan, b->err));
    EDDY_EMIT(b, eddy_run_create(plan, NULL, &made, b->err));
    EDDY_EMIT(b, eddy_run_execute(made, b->err));
    if (b->status == EDDY_OK) {
        const double *decay = eddy_tensor_data(eddy_run_fetch(made, 0));
        const double *by_target = eddy_tensor_data(eddy_run_fetch(made, 1));

        (void)printf("decay: %.6f\nd decay / d target: %.6f\n", *decay,
                     *by_target);
    }
    eddy_run_destroy(made);
    eddy_plan_release(plan);
}

int main(int argc, char **argv)
{
    static const double items[ITEMS] = {1, 2, 3, 4};
    const eddy_shape shape = {.rank = 1, .dims = {ITEMS}};
    eddy_error err = {.code = EDDY_OK};
    eddy_emitter b = eddy_emitter_of(NULL, &err);
    eddy_context *ctx = NULL;
    eddy_output fetches[2], xs, target;

    b.status = eddy_context_create(NULL, &ctx, b.err);
    EDDY_EMIT(&b, eddy_graph_create(ctx, &b.graph, b.err));
    xs = eddy_emit_elements(&b, NULL, EDDY_FLOAT64, &shape, items);
    target = number(&b, 6.125);
    fetches[0] = train(&b, xs, target);
    fetches[1] = gradient(&b, fetches[0], target);
    if (argc > 1 && b.status == EDDY_OK)
        b.status = eddy_graphdef_save(b.graph, argv[1], b.err);
    run(&b, fetches);
    if (b.status != EDDY_OK)
        (void)fprintf(stderr, "%s: %s\n", err.node, err.message);
    eddy_graph_destroy(b.graph);
    eddy_context_destroy(ctx);
    return b.status != EDDY_OK;
}
