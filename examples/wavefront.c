/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recurrent network of four layers over a sequence, a layer a rank:
 *
 *     while t < 96:  below = sin(t); for each layer: h = tanh(u h + w below);
 *                    below = h
 *
 * A layer needs what the one below has at t, and itself at t - 1; so while
 * layer 3 is at t, layer 0 may be at t + 3 and on.  It is one loop, whose nodes
 * are placed by their names; that the layers then run as a wavefront, nobody
 * says.
 *
 *     rank 3                     t=0  t=1  t=2 ...
 *     rank 2                t=0  t=1  t=2 ...
 *     rank 1           t=0  t=1  t=2 ...
 *     rank 0      t=0  t=1  t=2 ...
 *
 *   cc wavefront.c $(pkg-config --cflags --libs eddy) -lm -o wavefront
 *   ./wavefront
 *
 * An op of the program's own, Seen, notes which layer is at which t, in one
 * order over all ranks.
 */
#include <eddy.h>
#include <eddy/ranks.h>

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>

enum { LAYERS = 4, SIZE = 64, STEPS = 96 };

/* ---- Seen: its input, and a note ---- */

typedef struct notes {
    atomic_uint n;
    atomic_uint when[LAYERS][STEPS]; /* 1 and on: the order */
} notes;

static eddy_status seen(eddy_kernel *kernel)
{
    notes *to = eddy_kernel_user(kernel);
    eddy_tensor *x = eddy_kernel_input_tensor(kernel, 0);
    eddy_status status;
    eddy_attr layer;

    if (!x || !eddy_kernel_attr(kernel, "layer", &layer)) {
        eddy_tensor_release(x);
        return eddy_kernel_fail(kernel, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                                "no memory for a tensor");
    }
    atomic_store(
        &to->when[layer.as.ints[0]][eddy_kernel_iteration(kernel) % STEPS],
        1 + atomic_fetch_add(&to->n, 1));
    status = eddy_kernel_output_tensor(kernel, 0, x);
    eddy_tensor_release(x);
    return status;
}

static eddy_status add_seen(eddy_context *ctx, notes *to, eddy_error *err)
{
    return eddy_op_register(ctx,
                            &(eddy_op_spec){.size = sizeof(eddy_op_spec),
                                            .name = "Seen",
                                            .inputs = "x: float64",
                                            .outputs = "y: float64",
                                            .attrs = "layer: int",
                                            .kernel = seen,
                                            .flags = EDDY_OP_STATEFUL,
                                            .user = to},
                            err);
}

/* In how many steps was layer 0 further than layer 3? */
static int count_overlaps(notes *of)
{
    int n = 0;

    for (int t = 0; t + 1 < STEPS; t++)
        n += atomic_load(&of->when[0][t + 1]) <
             atomic_load(&of->when[LAYERS - 1][t]);
    return n;
}

/* ---- the network ---- */

static eddy_output numbers(eddy_emitter *b, int64_t rows, double scale,
                           int seed)
{
    static double values[SIZE * SIZE];
    const eddy_shape shape = {.rank = 2, .dims = {rows, SIZE}};

    for (int64_t i = 0; i < rows * SIZE; i++)
        values[i] = scale * sin((double)(i * i % 1009) + seed);
    return eddy_emit_elements(b, NULL, EDDY_FLOAT64, &shape, values);
}

/* A node of the layer, which its name says. */
static eddy_output in_layer(eddy_emitter *b, int layer, const char *op,
                            const char *name, const eddy_output *x, size_t n)
{
    char text[64];

    (void)snprintf(text, sizeof text, "layer%d/%s", layer, name);
    return eddy_emit_named(b, op, text, x, n);
}

static eddy_output run_layer(eddy_emitter *b, int layer, eddy_output h,
                             eddy_output below)
{
    const int64_t number = layer;
    const eddy_attr attr = eddy_attr_int("layer", &number);
    char text[64];
    const eddy_output u[] = {h, numbers(b, SIZE, 0.15, 2 * layer)};
    const eddy_output w[] = {below, numbers(b, SIZE, 0.2, 2 * layer + 1)};
    const eddy_output parts[] = {in_layer(b, layer, "MatMul", "u", u, 2),
                                 in_layer(b, layer, "MatMul", "w", w, 2)};
    const eddy_output sum = in_layer(b, layer, "AddV2", "sum", parts, 2);
    const eddy_output next = in_layer(b, layer, "Tanh", "tanh", &sum, 1);

    (void)snprintf(text, sizeof text, "layer%d/seen", layer);
    return eddy_emit(b, &(eddy_node_spec){.op = "Seen",
                                          .name = text,
                                          .inputs = &next,
                                          .n_inputs = 1,
                                          .attrs = &attr,
                                          .n_attrs = 1});
}

/* Also places the variable of each layer, which the builder has named. */
static eddy_output build(eddy_emitter *b, eddy_place places[LAYERS])
{
    eddy_output v[1 + LAYERS], early, below;
    const eddy_while_spec spec = {.size = sizeof spec,
                                  .initial = v,
                                  .n_variables = 1 + LAYERS,
                                  .parallel_iterations = 16};
    const double one = 1;

    v[0] = eddy_emit_int32(b, 0);
    for (int i = 0; i < LAYERS; i++)
        v[1 + i] = numbers(b, 1, 0.1, i);
    EDDY_EMIT(b, eddy_while_begin(b->graph, &spec, v, b->err));
    for (int i = 0; i < LAYERS && b->status == EDDY_OK; i++)
        places[i] = (eddy_place){
            .prefix = eddy_graph_node_name(b->graph, v[1 + i].node),
            .rank = (uint32_t)i};
    early = eddy_emit_binary(b, "Less", v[0], eddy_emit_int32(b, STEPS));
    EDDY_EMIT(b, eddy_while_body(b->graph, early, v, b->err));
    below = eddy_emit_unary(b, "Sin", eddy_emit_cast(b, v[0], EDDY_FLOAT64));
    below = eddy_emit_binary(b, "Mul", below, numbers(b, 1, one, 9));
    for (int i = 0; i < LAYERS; i++)
        below = v[1 + i] = run_layer(b, i, v[1 + i], below);
    v[0] = eddy_emit_binary(b, "AddV2", v[0], eddy_emit_int32(b, 1));
    EDDY_EMIT(b, eddy_while_end(b->graph, v, 1 + LAYERS, v, b->err));
    return v[LAYERS];
}

/* ---- running it ---- */

static eddy_tensor *run(eddy_emitter *b, eddy_output last,
                        const eddy_place *places, uint32_t n_ranks)
{
    eddy_place all[2 * LAYERS];
    static const char *const names[LAYERS] = {"layer0/", "layer1/", "layer2/",
                                              "layer3/"};
    const eddy_partition_options how = {.size = sizeof how,
                                        .n_ranks = n_ranks,
                                        .places = all,
                                        .n_places =
                                            n_ranks > 1 ? 2 * LAYERS : 0,
                                        .fetches = &last,
                                        .n_fetches = 1};
    eddy_partition *parts = NULL;
    eddy_ranks *ranks = NULL;
    eddy_tensor *out = NULL;

    for (size_t i = 0; i < LAYERS; i++) {
        all[2 * i] = places[i];
        all[2 * i + 1] = (eddy_place){.prefix = names[i], .rank = (uint32_t)i};
    }
    EDDY_EMIT(b, eddy_partition_create(b->graph, &how, &parts, b->err));
    EDDY_EMIT(b, eddy_ranks_create(parts, NULL, &ranks, b->err));
    EDDY_EMIT(b, eddy_ranks_run(ranks, NULL, &out, b->err));
    eddy_ranks_destroy(ranks);
    eddy_partition_destroy(parts);
    return out;
}

static void show(eddy_emitter *b, eddy_output last, const eddy_place *places,
                 notes *seen_of)
{
    eddy_tensor *one = run(b, last, places, 1), *four;
    const double *x = NULL, *y = NULL;
    int n_same = 0;

    atomic_store(&seen_of->n, 0);
    four = run(b, last, places, LAYERS);
    if (b->status == EDDY_OK) {
        x = eddy_tensor_data(one);
        y = eddy_tensor_data(four);
        for (int i = 0; i < SIZE; i++)
            n_same += x[i] == y[i];
        (void)printf("h of layer 3: %.6f %.6f %.6f ...\n", x[0], x[1], x[2]);
        (void)printf("on four ranks: %d of %d the same\n", n_same, SIZE);
        (void)printf("layer 0 was ahead of layer 3: %s\n",
                     count_overlaps(seen_of) > 0 ? "yes" : "no");
    }
    eddy_tensor_release(one);
    eddy_tensor_release(four);
}

int main(void)
{
    static notes of;
    eddy_error err = EDDY_ERROR_INIT;
    eddy_emitter b = eddy_emitter_of(NULL, &err);
    eddy_context *ctx = NULL;
    eddy_place places[LAYERS] = {{NULL, 0}};
    eddy_output last;

    b.status = eddy_context_create(NULL, &ctx, &err);
    EDDY_EMIT(&b, add_seen(ctx, &of, &err));
    EDDY_EMIT(&b, eddy_graph_create(ctx, &b.graph, &err));
    last = build(&b, places);
    if (b.status == EDDY_OK)
        show(&b, last, places, &of);
    if (b.status != EDDY_OK)
        (void)fprintf(stderr, "%s: %s\n", err.node, err.message);
    eddy_graph_destroy(b.graph);
    eddy_context_release(ctx);
    return b.status != EDDY_OK;
}
