/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps a vector in a variable of a session, and has runs improve it until it
 * no longer changes: the power iteration, which finds the largest eigenvalue of
 * a matrix A,
 *
 *     v = A v / |A v|
 *
 *   cc train_variable.c $(pkg-config --cflags --libs eddy) -o train_variable
 *   ./train_variable
 */
#include <eddy.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#define N 3
#define MOST_STEPS 200

static const float matrix[N][N] = {{4, 1, 0}, {1, 3, 1}, {0, 1, 2}};

/* A program being made.  After the first failure nothing more is done. */
typedef struct program {
    eddy_context *ctx;
    eddy_graph *graph;
    eddy_session *session;
    eddy_plan *plan;
    eddy_run *run;
    eddy_output estimate; /* |A v| */
    eddy_node assign;
    eddy_status status;
    eddy_error err;
} program;

static eddy_tensor *tensor(program *p, int32_t rank, const float *values)
{
    const eddy_shape shape = {.rank = rank, .dims = {N, rank == 2 ? N : 1}};
    eddy_tensor *made = NULL;

    if (p->status == EDDY_OK)
        p->status =
            eddy_tensor_create(p->ctx, EDDY_FLOAT32, &shape, &made, &p->err);
    if (made)
        memcpy(eddy_tensor_mutable_data(made), values, eddy_tensor_bytes(made));
    return made;
}

static eddy_output add(program *p, const eddy_node_spec *spec)
{
    eddy_output out = {0, 0};

    if (p->status == EDDY_OK)
        p->status = eddy_graph_add(p->graph, spec, &out.node, &p->err);
    return out;
}

static eddy_output binary(program *p, const char *op, eddy_output x,
                          eddy_output y)
{
    const eddy_output inputs[] = {x, y};

    return add(p, &(eddy_node_spec){.size = sizeof(eddy_node_spec),
                                    .op = op,
                                    .inputs = inputs,
                                    .n_inputs = 2});
}

/* The handle of the variable `v`, and a read of it. */
static eddy_output variable(program *p, eddy_output *out_value)
{
    static const eddy_dtype dtype = EDDY_FLOAT32;
    static const eddy_shape shape = {.rank = 1, .dims = {N}};
    const eddy_attr attrs[] = {eddy_attr_type("dtype", &dtype),
                               eddy_attr_shape("shape", &shape)};
    const eddy_output handle =
        add(p, &(eddy_node_spec){.size = sizeof(eddy_node_spec),
                                 .op = "VarHandleOp",
                                 .name = "v",
                                 .attrs = attrs,
                                 .n_attrs = 2});

    *out_value = add(p, &(eddy_node_spec){.size = sizeof(eddy_node_spec),
                                          .op = "ReadVariableOp",
                                          .inputs = &handle,
                                          .n_inputs = 1,
                                          .attrs = attrs,
                                          .n_attrs = 1});
    return handle;
}

static eddy_output constant(program *p, eddy_tensor *value)
{
    eddy_output out = {0, 0};

    if (p->status == EDDY_OK)
        p->status = eddy_graph_add_const(p->graph, NULL, value, &out, &p->err);
    eddy_tensor_release(value);
    return out;
}

static eddy_output last_axis(program *p)
{
    static const int32_t minus_one = -1;
    eddy_output out = {0, 0};

    if (p->status == EDDY_OK)
        p->status = eddy_graph_add_scalar(p->graph, NULL, EDDY_INT32,
                                          &minus_one, &out, &p->err);
    return out;
}

/* One step: A v as the sums of the rows of A * v, its length, v anew. */
static void build(program *p)
{
    eddy_output v, product, handle = variable(p, &v);

    product = binary(p, "Mul", constant(p, tensor(p, 2, &matrix[0][0])), v);
    product = binary(p, "Sum", product, last_axis(p));
    p->estimate = binary(p, "EuclideanNorm", product, last_axis(p));
    product = binary(p, "RealDiv", product, p->estimate);
    p->assign = binary(p, "AssignVariableOp", handle, product).node;
}

/* A run in a session, in which `v` has a first value. */
static void start(program *p)
{
    static const float first[N] = {1, 1, 1};
    const eddy_plan_options plan = {.size = sizeof plan,
                                    .fetches = &p->estimate,
                                    .n_fetches = 1,
                                    .targets = &p->assign,
                                    .n_targets = 1};
    eddy_run_options run = {.size = sizeof run};
    eddy_tensor *value = tensor(p, 1, first);

    if (p->status == EDDY_OK)
        p->status = eddy_session_create(p->ctx, &p->session, &p->err);
    if (p->status == EDDY_OK)
        p->status = eddy_session_set_variable(p->session, "v", value, &p->err);
    eddy_tensor_release(value);
    if (p->status == EDDY_OK)
        p->status = eddy_plan_create(p->graph, &plan, &p->plan, &p->err);
    run.session = p->session;
    if (p->status == EDDY_OK)
        p->status = eddy_run_create(p->plan, &run, &p->run, &p->err);
}

/* Runs until the estimate stays as it is. */
static void improve(program *p)
{
    float before = 0, now = 0;
    int steps = 0;

    do {
        before = now;
        p->status = eddy_run_execute(p->run, &p->err);
        if (p->status != EDDY_OK)
            return;
        now = *(const float *)eddy_tensor_data(eddy_run_fetch(p->run, 0));
        steps++;
    } while (fabsf(now - before) > 1e-6f && steps < MOST_STEPS);
    printf("largest eigenvalue %.4f after %d steps\n", (double)now, steps);
}

/* What the session keeps. */
static void show(program *p)
{
    eddy_variable_info info;

    for (size_t i = 0; eddy_session_variable(p->session, i, &info); i++) {
        eddy_tensor *value;
        const float *elements;

        p->status =
            eddy_session_get_variable(p->session, info.name, &value, &p->err);
        if (p->status != EDDY_OK)
            return;
        elements = eddy_tensor_data(value);
        printf("%s %s[%d] = %.4f %.4f %.4f\n", info.name,
               eddy_dtype_name(info.dtype), (int)info.shape.dims[0],
               (double)elements[0], (double)elements[1], (double)elements[2]);
        eddy_tensor_release(value);
    }
}

int main(void)
{
    program p = {.status = EDDY_OK};
    char line[1024];

    p.status = eddy_context_create(NULL, &p.ctx, &p.err);
    if (p.status == EDDY_OK)
        p.status = eddy_graph_create(p.ctx, &p.graph, &p.err);
    if (p.status == EDDY_OK) {
        build(&p);
        start(&p);
    }
    if (p.status == EDDY_OK)
        improve(&p);
    if (p.status == EDDY_OK)
        show(&p);
    if (p.status != EDDY_OK) {
        eddy_error_format(&p.err, line, sizeof line);
        fprintf(stderr, "train_variable: %s\n", line);
    }
    eddy_run_destroy(p.run);
    eddy_plan_release(p.plan);
    eddy_session_release(p.session);
    eddy_graph_destroy(p.graph);
    eddy_context_destroy(p.ctx);
    return p.status == EDDY_OK ? 0 : 1;
}
