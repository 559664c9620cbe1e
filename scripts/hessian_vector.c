/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a graph with a Hessian-vector product through a TensorArray that grows
 * while it is written, for scripts/hessian_vector.py to run in TensorFlow.
 *
 *     usage: hessian_vector OUT.pb      (prints the names of what to fetch)
 *
 *     v = x;  for i < 60: v = sin(v x);  a[i] = v        a has one element
 * first y = sum of a[i]^2,  read one by one;  H x
 */
#include "eddy.h"

#include <stdio.h>
#include <stdlib.h>

#define TRIPS 60

static eddy_context *ctx;
static eddy_graph *graph;
static eddy_error err;

static void want(eddy_status status)
{
    if (status == EDDY_OK)
        return;
    (void)fprintf(stderr, "%s: %s\n", err.node, err.message);
    exit(1);
}

static eddy_output add(const char *op, const eddy_output *inputs, size_t n,
                       const eddy_attr *attrs, size_t n_attrs)
{
    const eddy_node_spec spec = {.size = sizeof spec,
                                 .op = op,
                                 .inputs = inputs,
                                 .n_inputs = n,
                                 .attrs = attrs,
                                 .n_attrs = n_attrs};
    eddy_output out = {.index = 0};

    want(eddy_graph_add(graph, &spec, &out.node, &err));
    return out;
}

static eddy_output binary(const char *op, eddy_output x, eddy_output y)
{
    return add(op, (eddy_output[]){x, y}, 2, NULL, 0);
}

static eddy_output whole(int32_t value)
{
    const eddy_shape scalar = {.rank = 0};
    eddy_tensor *tensor;
    eddy_output out;

    want(eddy_tensor_create(ctx, EDDY_INT32, &scalar, &tensor, &err));
    *(int32_t *)eddy_tensor_mutable_data(tensor) = value;
    want(eddy_graph_add_const(graph, NULL, tensor, &out, &err));
    eddy_tensor_release(tensor);
    return out;
}

/* i = 0; now = the values given; while i < TRIPS. */
static void begin(eddy_output a, eddy_output b, size_t n, eddy_output now[3])
{
    const eddy_output initial[] = {whole(0), a, b};
    const eddy_while_spec spec = {
        .size = sizeof spec, .initial = initial, .n_variables = n};

    want(eddy_while_begin(graph, &spec, now, &err));
    want(eddy_while_body(graph, binary("Less", now[0], whole(TRIPS)), now,
                         &err));
}

static void end(eddy_output now[3], size_t n)
{
    now[0] = binary("AddV2", now[0], whole(1));
    want(eddy_while_end(graph, now, n, now, &err));
}

static eddy_output build(eddy_output x)
{
    static const eddy_dtype dtype = EDDY_FLOAT64;
    static const bool yes = true;
    const eddy_attr attrs[] = {eddy_attr_type("dtype", &dtype),
                               eddy_attr_bool("dynamic_size", &yes)};
    const eddy_output size = whole(1);
    const eddy_output array = add("TensorArrayV3", &size, 1, attrs, 2);
    eddy_output now[3], v, flow;

    begin(x, (eddy_output){array.node, 1}, 3, now);
    v = binary("Mul", now[1], x);
    v = now[1] = add("Sin", &v, 1, NULL, 0);
    now[2] = add("TensorArrayWriteV3",
                 (eddy_output[]){array, now[0], v, now[2]}, 4, NULL, 0);
    end(now, 3);
    flow = now[2];
    begin(binary("Sub", x, x), x, 2, now);
    v = add("TensorArrayReadV3", (eddy_output[]){array, now[0], flow}, 3, attrs,
            1);
    now[1] = binary("AddV2", now[1], binary("Mul", v, v));
    end(now, 2);
    return now[1];
}

int main(int argc, char **argv)
{
    const eddy_shape scalar = {.rank = 0};
    eddy_output x, y, product;

    if (argc != 2)
        return 2;
    want(eddy_context_create(NULL, &ctx, &err));
    want(eddy_graph_create(ctx, &graph, &err));
    want(eddy_graph_add_placeholder(graph, "x", EDDY_FLOAT64, &scalar, &x,
                                    &err));
    y = build(x);
    want(eddy_hvp(graph, &y, 1, &x, 1, &x, NULL, &product, &err));
    want(eddy_graphdef_save(graph, argv[1], &err));
    (void)printf("%s %s\n", eddy_graph_node_name(graph, y.node),
                 eddy_graph_node_name(graph, product.node));
    eddy_graph_destroy(graph);
    eddy_context_destroy(ctx);
    return 0;
}
