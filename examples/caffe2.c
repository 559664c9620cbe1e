/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caffe2's recurrent network, in C: a step net is a graph of its own,
 *
 *     h_next = decay * h_prev + x_t
 *
 * which is run over x = [1, 2, 3, 4], with decay = 0.5 and h_prev = 0 at first:
 * every h, and the last one.
 *
 *   cc caffe2.c $(pkg-config --cflags --libs eddy) -o caffe2
 *   ./caffe2 [FILE.pb]
 *
 * With a file it saves the network, which TensorFlow can run.
 */
#include <eddy.h>

#include <stdio.h>
#include <stdlib.h>

/* An internal blob that the step net reads. */
static eddy_output blob(eddy_emitter *b, const char *name)
{
    const eddy_shape scalar = {.rank = 0};

    return eddy_emit_placeholder(b, name, EDDY_FLOAT32, &scalar);
}

static eddy_output binary(eddy_emitter *b, const char *op, const char *name,
                          eddy_output x, eddy_output y)
{
    const eddy_output inputs[] = {x, y};

    return eddy_emit_named(b, op, name, inputs, 2);
}

/* A constant of rank 1, or of rank 0 if `rank` says so. */
static eddy_output constant(eddy_emitter *b, const char *name, int32_t rank,
                            const float *values)
{
    const eddy_shape shape = {.rank = rank, .dims = {4}};

    return eddy_emit_elements(b, name, EDDY_FLOAT32, &shape, values);
}

/* The step net; the caller destroys it, and may do so once it was used. */
static eddy_graph *build_step_net(eddy_emitter *b, eddy_context *ctx)
{
    eddy_emitter net = *b;
    eddy_output kept;

    net.graph = NULL;
    EDDY_EMIT(&net, eddy_graph_create(ctx, &net.graph, net.err));
    kept = binary(&net, "Mul", NULL, blob(&net, "decay"), blob(&net, "h_prev"));
    binary(&net, "AddV2", "h_next", kept, blob(&net, "x_t"));
    b->status = net.status;
    return net.graph;
}

/* All h and the last one, which has a dimension of time, of 1. */
static void build(eddy_emitter *b, const eddy_graph *step_net,
                  eddy_output out[2])
{
    static const float items[] = {1, 2, 3, 4}, zeros[] = {0}, half[] = {0.5F};
    const eddy_output zero = constant(b, NULL, 0, zeros);
    const eddy_caffe2_blob x = {"x", constant(b, "x", 1, items)};
    const eddy_caffe2_state h = {.name = "h", .initial = &zero};
    const eddy_caffe2_link links[] = {
        {.internal = "x_t", .external = "x", .offset = 0},
        {.internal = "h_prev", .external = "h", .offset = 0},
        {.internal = "h_next", .external = "h", .offset = 1},
    };
    const eddy_caffe2_alias aliases[] = {
        {.src = "h", .dst = "h_all", .offset = 1},
        {.src = "h", .dst = "h_last", .offset = -1},
    };
    const eddy_caffe2_spec spec = {
        .size = sizeof spec,
        .step_net = step_net,
        .inputs = &x,
        .n_inputs = 1,
        .states = &h,
        .n_states = 1,
        .links = links,
        .n_links = 3,
        .aliases = aliases,
        .n_aliases = 2,
    };

    /* Nothing is linked to the step net's `decay`: it is the node so named. */
    constant(b, "decay", 0, half);
    EDDY_EMIT(b, eddy_caffe2_recurrent_network(b->graph, &spec, out, b->err));
}

static void print(const char *what, const eddy_tensor *tensor)
{
    const float *values = eddy_tensor_data(tensor);

    printf("%s:", what);
    for (int64_t i = 0; i < eddy_tensor_count(tensor); i++)
        printf(" %g", (double)values[i]);
    printf("\n");
}

static void run(eddy_emitter *b, const eddy_output fetches[2])
{
    static const char *const names[] = {"h", "last"};
    const eddy_plan_options options = {
        .size = sizeof options, .fetches = fetches, .n_fetches = 2};
    eddy_tensor *results[2] = {NULL};
    eddy_plan *plan = NULL;

    EDDY_EMIT(b, eddy_plan_create(b->graph, &options, &plan, b->err));
    EDDY_EMIT(b, eddy_plan_run(plan, NULL, NULL, results, b->err));
    for (int i = 0; i < 2; i++) {
        if (b->status == EDDY_OK)
            print(names[i], results[i]);
        eddy_tensor_release(results[i]);
    }
    eddy_plan_release(plan);
}

int main(int argc, char **argv)
{
    eddy_error err = {.code = EDDY_OK};
    eddy_emitter b = eddy_emitter_of(NULL, &err);
    eddy_context *ctx = NULL;
    eddy_graph *step_net;
    eddy_output out[2] = {{0, 0}};
    char line[1024];

    b.status = eddy_context_create(NULL, &ctx, b.err);
    step_net = build_step_net(&b, ctx);
    EDDY_EMIT(&b, eddy_graph_create(ctx, &b.graph, b.err));
    build(&b, step_net, out);
    eddy_graph_destroy(step_net);
    if (b.status == EDDY_OK && argc > 1)
        b.status = eddy_graphdef_save(b.graph, argv[1], b.err);
    run(&b, out);
    eddy_graph_destroy(b.graph);
    eddy_context_destroy(ctx);
    if (b.status == EDDY_OK)
        return EXIT_SUCCESS;
    eddy_error_format(b.err, line, sizeof line);
    fprintf(stderr, "%s\n", line);
    return EXIT_FAILURE;
}
