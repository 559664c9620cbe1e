/* SPDX-License-Identifier: Apache-2.0 */
/* Shorthands for adding the commonest nodes. */
#include "core/base/status.h"
#include "core/graph/graph.h"

#include <string.h>

/* Adds a node and gives its output 0. */
static eddy_status add_first(eddy_graph *graph, const eddy_node_spec *spec,
                             eddy_output *out, eddy_error *err)
{
    eddy_output first = {.index = 0};

    EDDY_TRY(eddy_graph_add(graph, spec, &first.node, err));
    if (out)
        *out = first;
    return EDDY_OK;
}

/* NOLINTNEXTLINE(readability-function-size): short for a specification. */
eddy_status eddy_graph_add_op(eddy_graph *graph, const char *op,
                              const char *name, const eddy_output *inputs,
                              size_t n_inputs, eddy_output *out_first,
                              eddy_error *err)
{
    const eddy_node_spec spec = {.size = sizeof spec,
                                 .op = op,
                                 .name = name,
                                 .inputs = inputs,
                                 .n_inputs = n_inputs};

    return add_first(graph, &spec, out_first, err);
}

static eddy_status add_with_attrs(eddy_graph *graph, const char *op,
                                  const char *name, const eddy_attr attrs[2],
                                  eddy_output *out, eddy_error *err)
{
    const eddy_node_spec spec = {.size = sizeof spec,
                                 .op = op,
                                 .name = name,
                                 .attrs = attrs,
                                 .n_attrs = 2};

    return add_first(graph, &spec, out, err);
}

eddy_status eddy_graph_add_const(eddy_graph *graph, const char *name,
                                 eddy_tensor *value, eddy_output *out,
                                 eddy_error *err)
{
    eddy_dtype dtype;

    if (!value)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                          "a constant needs a tensor");
    dtype = eddy_tensor_dtype(value);
    return add_with_attrs(graph, "Const", name,
                          (eddy_attr[]){eddy_attr_tensor("value", &value),
                                        eddy_attr_type("dtype", &dtype)},
                          out, err);
}

eddy_status eddy_graph_add_scalar(eddy_graph *graph, const char *name,
                                  eddy_dtype dtype, const void *value,
                                  eddy_output *out, eddy_error *err)
{
    const eddy_shape shape = {.rank = 0};
    const size_t size = eddy_dtype_size(dtype);
    eddy_tensor *tensor;
    eddy_status status;

    if (!graph || !value || size == 0)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                          "a scalar needs a graph, a value and a numeric "
                          "dtype");
    EDDY_TRY(eddy_tensor_create(graph->ctx, dtype, &shape, &tensor, err));
    memcpy(eddy_tensor_mutable_data(tensor), value, size);
    status = eddy_graph_add_const(graph, name, tensor, out, err);
    eddy_tensor_release(tensor);
    return status;
}

eddy_status eddy_graph_add_placeholder(eddy_graph *graph, const char *name,
                                       eddy_dtype dtype,
                                       const eddy_shape *shape,
                                       eddy_output *out, eddy_error *err)
{
    const eddy_shape any = {.rank = -1};

    return add_with_attrs(
        graph, "Placeholder", name,
        (eddy_attr[]){eddy_attr_type("dtype", &dtype),
                      eddy_attr_shape("shape", shape ? shape : &any)},
        out, err);
}
