/* SPDX-License-Identifier: Apache-2.0 */
#include "benchmarks/builder.h"

#include <stdio.h>
#include <string.h>

void builder_init(builder *b, eddy_context *ctx)
{
    *b = (builder){.status = EDDY_OK};
    b->status = eddy_graph_create(ctx, &b->graph, &b->err);
}

void builder_deinit(builder *b)
{
    eddy_graph_destroy(b->graph);
    b->graph = NULL;
}

void builder_fail(builder *b, const char *message)
{
    b->status = EDDY_RESOURCE_EXHAUSTED;
    b->err = (eddy_error){.code = b->status, .detail = EDDY_E_MEMORY};
    snprintf(b->err.message, sizeof b->err.message, "%s", message);
}

static eddy_output scalar(builder *b, eddy_dtype dtype, const void *value,
                          eddy_node after)
{
    eddy_output out = {0, 0};

    if (b->status == EDDY_OK)
        b->status =
            eddy_graph_add_scalar(b->graph, NULL, dtype, value, &out, &b->err);
    if (b->status == EDDY_OK && after != EDDY_NO_NODE)
        b->status = eddy_graph_add_control(b->graph, out.node, after, &b->err);
    return out;
}

eddy_output builder_int(builder *b, int32_t value, eddy_node after)
{
    return scalar(b, EDDY_INT32, &value, after);
}

eddy_output builder_float(builder *b, float value, eddy_node after)
{
    return scalar(b, EDDY_FLOAT32, &value, after);
}

eddy_output builder_bool(builder *b, bool value)
{
    return scalar(b, EDDY_BOOL, &value, EDDY_NO_NODE);
}

eddy_output builder_feed(builder *b, eddy_dtype dtype)
{
    const eddy_shape shape = {.rank = 0};
    eddy_output out = {0, 0};

    if (b->status == EDDY_OK)
        b->status = eddy_graph_add_placeholder(b->graph, NULL, dtype, &shape,
                                               &out, &b->err);
    return out;
}

static eddy_output node(builder *b, const char *op, const eddy_output *inputs,
                        size_t n)
{
    eddy_output out = {0, 0};

    if (b->status == EDDY_OK)
        b->status =
            eddy_graph_add_op(b->graph, op, NULL, inputs, n, &out, &b->err);
    return out;
}

eddy_output builder_unary(builder *b, const char *op, eddy_output x)
{
    return node(b, op, &x, 1);
}

eddy_output builder_binary(builder *b, const char *op, eddy_output x,
                           eddy_output y)
{
    const eddy_output inputs[] = {x, y};

    return node(b, op, inputs, 2);
}

eddy_output builder_enter(builder *b, const char *frame, eddy_output value,
                          bool is_invariant)
{
    const eddy_string name = {frame, strlen(frame)};
    const eddy_attr attrs[] = {
        eddy_attr_string("frame_name", &name),
        eddy_attr_bool("is_constant", &is_invariant),
    };
    const eddy_node_spec spec = {
        .size = sizeof spec,
        .op = "Enter",
        .inputs = &value,
        .n_inputs = 1,
        .attrs = attrs,
        .n_attrs = sizeof attrs / sizeof attrs[0],
    };
    eddy_output out = {0, 0};

    if (b->status == EDDY_OK)
        b->status = eddy_graph_add(b->graph, &spec, &out.node, &b->err);
    return out;
}
