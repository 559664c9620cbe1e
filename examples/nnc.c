/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NNC's while loop, made of the nodes of a graph.  The graph computes one step
 * of
 *
 *     h = decay * h + x[count]
 *
 * over x = [1, 2, 3, 4] with decay = 0.5, and the loop is made by naming nodes:
 * where it begins, which of them give its results, where a trip ends, and what
 * is carried to the next.  Whether there is a next, a function of this program
 * decides; or, in the graph that is saved, a tensor.
 *
 *   cc nnc.c $(pkg-config --cflags --libs eddy) -o nnc
 *   ./nnc [FILE.pb]
 *
 * With a file it saves the loop, which TensorFlow can run.
 */
#include <eddy.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define N_STEPS 4

/* The graph of one step, and what a loop of it needs to know. */
typedef struct step {
    eddy_context *ctx;
    eddy_graph *graph;
    eddy_output h, all, count, decay;      /* what the step reads */
    eddy_output last, seen;                /* the results: h and all so far */
    eddy_output next_h, next_all, is_left; /* what it computes */
    eddy_node item, scaled;
    eddy_status status;
    eddy_error err;
} step;

static eddy_output constant(step *s, const char *name, eddy_dtype dtype,
                            int32_t rank, const void *values)
{
    const eddy_shape shape = {.rank = rank, .dims = {N_STEPS}};
    eddy_tensor *tensor = NULL;
    eddy_output out = {0, 0};

    if (s->status == EDDY_OK)
        s->status = eddy_tensor_create(s->ctx, dtype, &shape, &tensor, &s->err);
    if (s->status == EDDY_OK) {
        unsigned char *to = eddy_tensor_mutable_data(tensor);
        const size_t size =
            (size_t)eddy_tensor_count(tensor) * eddy_dtype_size(dtype);

        for (size_t i = 0; i < size; i++)
            to[i] = ((const unsigned char *)values)[i];
        s->status = eddy_graph_add_const(s->graph, name, tensor, &out, &s->err);
    }
    eddy_tensor_release(tensor);
    return out;
}

static eddy_output add(step *s, const char *op, const char *name,
                       const eddy_output *inputs, size_t n)
{
    eddy_output out = {0, 0};

    if (s->status == EDDY_OK)
        s->status =
            eddy_graph_add_op(s->graph, op, name, inputs, n, &out, &s->err);
    return out;
}

/*
 * One step.  `h`, `all` and `count` stand for what the loop will put in their
 * place.  The results are nodes of their own, since no node inside may read
 * them.
 */
static void build(step *s)
{
    const float x[] = {1, 2, 3, 4}, zeros[N_STEPS] = {0}, half = 0.5F;
    const int64_t places[] = {0, 1, 2, 3}, none = 0, all = N_STEPS;
    const int32_t axis = 0;
    eddy_output in[3], is_here;

    s->h = constant(s, "h", EDDY_FLOAT32, 0, zeros);
    s->all = constant(s, "all", EDDY_FLOAT32, 1, zeros);
    s->count = constant(s, "count", EDDY_INT64, 0, &none);
    s->decay = constant(s, "decay", EDDY_FLOAT32, 0, &half);
    s->last = add(s, "Identity", "last", &s->h, 1);
    s->seen = add(s, "Identity", "seen", &s->all, 1);

    in[0] = constant(s, "x", EDDY_FLOAT32, 1, x);
    in[1] = s->count;
    in[2] = constant(s, "axis", EDDY_INT32, 0, &axis);
    in[1] = add(s, "GatherV2", "item", in, 3);
    s->item = in[1].node;
    in[0] = add(s, "Mul", "scaled", (eddy_output[]){s->decay, s->h}, 2);
    s->scaled = in[0].node;
    s->next_h = add(s, "AddV2", "next_h", in, 2);

    /* all[count] = h */
    in[0] = constant(s, "places", EDDY_INT64, 1, places);
    in[1] = s->count;
    is_here = add(s, "Equal", "is_here", in, 2);
    s->next_all = add(s, "SelectV2", "next_all",
                      (eddy_output[]){is_here, s->next_h, s->all}, 3);
    in[0] = s->count;
    in[1] = constant(s, "n", EDDY_INT64, 0, &all);
    s->is_left = add(s, "Less", "is_left", in, 2);
}

/* Input 0 is the count; tensors that the split names would follow. */
static eddy_status is_another(eddy_kernel *call, void *user, bool *out_value)
{
    const int64_t *count = eddy_kernel_input(call, 0).data;

    printf("is there another after %d?\n", (int)*count);
    *out_value = *count < *(const int64_t *)user;
    return EDDY_OK;
}

/* The graph with the loop in it. */
static eddy_graph *split(step *s, eddy_host_predicate_fn condition, void *user)
{
    const eddy_node incoming[] = {s->last.node, s->seen.node, s->item,
                                  s->scaled};
    const eddy_node outgoing[] = {s->last.node, s->seen.node};
    const eddy_nnc_carried carried[] = {{s->next_h, s->h},
                                        {s->next_all, s->all}};
    const eddy_nnc_split_spec spec = {
        .size = sizeof spec,
        .incoming = incoming,
        .n_incoming = sizeof incoming / sizeof incoming[0],
        .outgoing = outgoing,
        .n_outgoing = 2,
        .ends = &s->next_all.node,
        .n_ends = 1,
        .carried = carried,
        .n_carried = 2,
        .counter = &s->count,
        .tensors = &s->is_left,
        .n_tensors = condition ? 0 : 1,
        .condition = condition,
        .condition_user = user,
    };
    eddy_graph *loop = NULL;

    if (s->status == EDDY_OK)
        s->status = eddy_nnc_split(s->graph, &spec, &loop, NULL, &s->err);
    return loop;
}

static void print(const char *what, const eddy_tensor *tensor)
{
    const float *values = eddy_tensor_data(tensor);

    printf("%s:", what);
    for (int64_t i = 0; i < eddy_tensor_count(tensor); i++)
        printf(" %g", (double)values[i]);
    printf("\n");
}

/* The results have the names that they had before. */
static eddy_status run(eddy_graph *loop, eddy_error *err)
{
    static const char *const names[] = {"seen", "last"};
    static const char *const titles[] = {"h", "last", "d last / d decay"};
    eddy_output decay, fetches[3];
    const eddy_plan_options options = {
        .size = sizeof options, .fetches = fetches, .n_fetches = 3};
    eddy_tensor *results[3] = {NULL};
    eddy_plan *plan = NULL;
    eddy_status status = EDDY_OK;

    for (int i = 0; i < 2 && status == EDDY_OK; i++)
        status = eddy_graph_find_output(loop, names[i], &fetches[i], err);
    if (status == EDDY_OK)
        status = eddy_graph_find_output(loop, "decay", &decay, err);
    if (status == EDDY_OK)
        status = eddy_gradients(loop, &fetches[1], 1, &decay, 1, NULL,
                                &fetches[2], err);
    if (status == EDDY_OK)
        status = eddy_plan_create(loop, &options, &plan, err);
    if (status == EDDY_OK)
        status = eddy_plan_run(plan, NULL, NULL, results, err);
    for (int i = 0; i < 3; i++) {
        if (status == EDDY_OK)
            print(titles[i], results[i]);
        eddy_tensor_release(results[i]);
    }
    eddy_plan_release(plan);
    return status;
}

static void split_and_run(step *s, const char *path)
{
    int64_t n = N_STEPS; /* must live as long as graphs and plans with it */
    eddy_graph *loop = split(s, is_another, &n);

    if (s->status == EDDY_OK)
        s->status = run(loop, &s->err);
    eddy_graph_destroy(loop);
    if (s->status != EDDY_OK || !path)
        return;
    loop = split(s, NULL, NULL);
    if (s->status == EDDY_OK)
        s->status = eddy_graphdef_save(loop, path, &s->err);
    eddy_graph_destroy(loop);
}

int main(int argc, char **argv)
{
    step s = {.status = EDDY_OK};
    char line[1024];

    s.status = eddy_context_create(NULL, &s.ctx, &s.err);
    if (s.status == EDDY_OK)
        s.status = eddy_graph_create(s.ctx, &s.graph, &s.err);
    if (s.status == EDDY_OK)
        build(&s);
    if (s.status == EDDY_OK)
        split_and_run(&s, argc > 1 ? argv[1] : NULL);
    eddy_graph_destroy(s.graph);
    eddy_context_destroy(s.ctx);
    if (s.status == EDDY_OK)
        return EXIT_SUCCESS;
    eddy_error_format(&s.err, line, sizeof line);
    fprintf(stderr, "%s\n", line);
    return EXIT_FAILURE;
}
