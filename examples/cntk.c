/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recurrence written as CNTK writes it, as if the graph had a cycle:
 *
 *     h = decay * past_value(h) + x        over x = [1, 2, 3, 4]
 *
 * and beside it the same from the other end, by future_value.  What refers to
 * itself becomes a loop.
 *
 *   cc cntk.c $(pkg-config --cflags --libs eddy) -o cntk
 *   ./cntk [FILE.pb]
 *
 * With a file it saves the graph, which TensorFlow can run.
 */
#include <eddy.h>

#include <stdio.h>
#include <stdlib.h>

#define STEPS 4

/* A network being described.  After the first failure nothing more is. */
typedef struct model {
    eddy_graph *graph;
    eddy_cntk *net;
    eddy_status status;
    eddy_error err;
} model;

static eddy_cntk_value op(model *m, const char *name, eddy_cntk_value x,
                          eddy_cntk_value y)
{
    const eddy_cntk_value inputs[] = {x, y};
    eddy_cntk_value out = 0;

    if (m->status == EDDY_OK)
        m->status = eddy_cntk_op(m->net, name, inputs, 2, &out, &m->err);
    return out;
}

/* decay * h a step ago, or a step ahead, + x.  What h is comes last. */
static eddy_cntk_value describe(model *m, eddy_cntk_value decay,
                                eddy_cntk_value x, eddy_output zero,
                                int is_future)
{
    eddy_cntk_value h = 0, before = 0;

    if (m->status == EDDY_OK)
        m->status = eddy_cntk_declare(m->net, "h", NULL, &h, &m->err);
    if (m->status == EDDY_OK)
        m->status =
            is_future
                ? eddy_cntk_future_value(m->net, h, 1, zero, &before, &m->err)
                : eddy_cntk_past_value(m->net, h, 1, zero, &before, &m->err);
    before = op(m, "AddV2", op(m, "Mul", decay, before), x);
    if (m->status == EDDY_OK)
        m->status = eddy_cntk_resolve(m->net, h, before, &m->err);
    return h;
}

/* All h from either end, and what the first ends with. */
static void build(model *m, eddy_output x, eddy_output decay, eddy_output zero,
                  eddy_output results[3])
{
    eddy_cntk_wanted wanted[3] = {{0, false}, {0, false}, {0, true}};
    eddy_cntk_value steps = 0, factor = 0;

    m->status = eddy_cntk_create(m->graph, "decay", &m->net, &m->err);
    if (m->status == EDDY_OK)
        m->status = eddy_cntk_sequence(m->net, x, &steps, &m->err);
    if (m->status == EDDY_OK)
        m->status = eddy_cntk_outside(m->net, decay, &factor, &m->err);
    wanted[0].value = describe(m, factor, steps, zero, 0);
    wanted[1].value = describe(m, factor, steps, zero, 1);
    wanted[2].value = wanted[0].value;
    if (m->status == EDDY_OK)
        m->status = eddy_cntk_build(m->net, wanted, 3, results, &m->err);
    eddy_cntk_destroy(m->net);
}

/* x, the decay and the initial value. */
static void add_constants(model *m, eddy_context *ctx, eddy_output out[3])
{
    static float x[STEPS] = {1, 2, 3, 4};
    const float decay = 0.5F, zero = 0;
    const eddy_shape shape = {.rank = 1, .dims = {STEPS}};
    eddy_tensor *tensor = NULL;

    m->status = eddy_tensor_wrap(ctx, EDDY_FLOAT32, &shape, x, NULL, NULL,
                                 &tensor, &m->err);
    if (m->status == EDDY_OK)
        m->status =
            eddy_graph_add_const(m->graph, "x", tensor, &out[0], &m->err);
    eddy_tensor_release(tensor);
    if (m->status == EDDY_OK)
        m->status = eddy_graph_add_scalar(m->graph, "decay_rate", EDDY_FLOAT32,
                                          &decay, &out[1], &m->err);
    if (m->status == EDDY_OK)
        m->status = eddy_graph_add_scalar(m->graph, "zero", EDDY_FLOAT32, &zero,
                                          &out[2], &m->err);
}

static void print(const char *name, eddy_tensor *tensor)
{
    const float *data = eddy_tensor_data(tensor);

    printf("%s", name);
    for (int64_t i = 0; i < eddy_tensor_count(tensor); i++)
        printf(" %g", (double)data[i]);
    printf("\n");
}

static void run(model *m, const eddy_output fetches[3])
{
    static const char *const names[] = {"from the past", "from the future",
                                        "in the end"};
    const eddy_plan_options options = {
        .size = sizeof options, .fetches = fetches, .n_fetches = 3};
    eddy_tensor *results[3] = {NULL, NULL, NULL};
    eddy_plan *plan = NULL;

    m->status = eddy_plan_create(m->graph, &options, &plan, &m->err);
    if (m->status == EDDY_OK)
        m->status = eddy_plan_run(plan, NULL, NULL, results, &m->err);
    for (int i = 0; i < 3; i++) {
        if (m->status == EDDY_OK)
            print(names[i], results[i]);
        eddy_tensor_release(results[i]);
    }
    eddy_plan_release(plan);
}

int main(int argc, char **argv)
{
    model m = {.status = EDDY_OK};
    eddy_context *ctx = NULL;
    eddy_output constants[3], results[3];
    char line[1024];

    m.status = eddy_context_create(NULL, &ctx, &m.err);
    if (m.status == EDDY_OK)
        m.status = eddy_graph_create(ctx, &m.graph, &m.err);
    if (m.status == EDDY_OK)
        add_constants(&m, ctx, constants);
    if (m.status == EDDY_OK)
        build(&m, constants[0], constants[1], constants[2], results);
    if (m.status == EDDY_OK && argc > 1)
        m.status = eddy_graphdef_save(m.graph, argv[1], &m.err);
    if (m.status == EDDY_OK)
        run(&m, results);
    eddy_graph_destroy(m.graph);
    eddy_context_destroy(ctx);
    if (m.status == EDDY_OK)
        return EXIT_SUCCESS;
    eddy_error_format(&m.err, line, sizeof line);
    fprintf(stderr, "%s\n", line);
    return EXIT_FAILURE;
}
