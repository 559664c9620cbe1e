/* SPDX-License-Identifier: Apache-2.0 */
/* The emitter of programs and front ends (eddy/emit.h), over public calls. */
#include "eddy/emit.h"

#include "core/base/status.h"
#include "core/graph/graph.h"

#include <string.h>

static const eddy_output nowhere = {EDDY_NO_NODE, 0};

eddy_emitter eddy_emitter_of(eddy_graph *graph, eddy_error *err)
{
    return (eddy_emitter){.graph = graph, .err = err, .status = EDDY_OK};
}

bool eddy_emit_check(eddy_emitter *e, eddy_status status)
{
    if (e->status == EDDY_OK)
        e->status = status;
    return e->status == EDDY_OK;
}

eddy_output eddy_emit(eddy_emitter *e, const eddy_node_spec *spec)
{
    eddy_output out = nowhere;
    eddy_node_spec sized;

    if (e->status != EDDY_OK)
        return nowhere;
    sized = *spec;
    sized.size = sizeof sized;
    e->status = eddy_graph_add(e->graph, &sized, &out.node, e->err);
    return e->status == EDDY_OK ? out : nowhere;
}

eddy_output eddy_emit_named(eddy_emitter *e, const char *op, const char *name,
                            const eddy_output *inputs, size_t n_inputs)
{
    return eddy_emit(
        e, &(eddy_node_spec){
               .op = op, .name = name, .inputs = inputs, .n_inputs = n_inputs});
}

eddy_output eddy_emit_op(eddy_emitter *e, const char *op,
                         const eddy_output *inputs, size_t n_inputs,
                         const eddy_attr *attrs, size_t n_attrs)
{
    return eddy_emit(e, &(eddy_node_spec){.op = op,
                                          .inputs = inputs,
                                          .n_inputs = n_inputs,
                                          .attrs = attrs,
                                          .n_attrs = n_attrs});
}

eddy_output eddy_emit_unary(eddy_emitter *e, const char *op, eddy_output x)
{
    return eddy_emit_op(e, op, &x, 1, NULL, 0);
}

eddy_output eddy_emit_binary(eddy_emitter *e, const char *op, eddy_output x,
                             eddy_output y)
{
    const eddy_output inputs[] = {x, y};

    return eddy_emit_op(e, op, inputs, 2, NULL, 0);
}

eddy_output eddy_emit_cast(eddy_emitter *e, eddy_output x, eddy_dtype dtype)
{
    const eddy_attr attr = eddy_attr_type("DstT", &dtype);

    return eddy_emit_op(e, "Cast", &x, 1, &attr, 1);
}

eddy_output eddy_emit_placeholder(eddy_emitter *e, const char *name,
                                  eddy_dtype dtype, const eddy_shape *shape)
{
    eddy_output out = nowhere;

    EDDY_EMIT(e, eddy_graph_add_placeholder(e->graph, name, dtype, shape, &out,
                                            e->err));
    return e->status == EDDY_OK ? out : nowhere;
}

eddy_output eddy_emit_const(eddy_emitter *e, const char *name,
                            eddy_tensor *tensor)
{
    eddy_output out = nowhere;

    EDDY_EMIT(e, eddy_graph_add_const(e->graph, name, tensor, &out, e->err));
    return e->status == EDDY_OK ? out : nowhere;
}

eddy_output eddy_emit_elements(eddy_emitter *e, const char *name,
                               eddy_dtype dtype, const eddy_shape *shape,
                               const void *elements)
{
    eddy_output out = nowhere;
    eddy_tensor *tensor = NULL;

    if (e->status != EDDY_OK)
        return nowhere;
    if (!elements || eddy_dtype_size(dtype) == 0) {
        e->status = eddy__fail(e->err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                               "a constant needs elements of a numeric dtype");
        return nowhere;
    }
    if (!eddy_emit_check(e, eddy_tensor_create(e->graph->ctx, dtype, shape,
                                               &tensor, e->err)))
        return nowhere;
    if (eddy_tensor_bytes(tensor) > 0)
        memcpy(eddy_tensor_mutable_data(tensor), elements,
               eddy_tensor_bytes(tensor));
    out = eddy_emit_const(e, name, tensor);
    eddy_tensor_release(tensor);
    return out;
}

eddy_output eddy_emit_scalar(eddy_emitter *e, const char *name,
                             eddy_dtype dtype, const void *value)
{
    eddy_output out = nowhere;

    EDDY_EMIT(
        e, eddy_graph_add_scalar(e->graph, name, dtype, value, &out, e->err));
    return e->status == EDDY_OK ? out : nowhere;
}

eddy_output eddy_emit_int32(eddy_emitter *e, int32_t value)
{
    return eddy_emit_scalar(e, NULL, EDDY_INT32, &value);
}

eddy_output eddy_emit_int64(eddy_emitter *e, int64_t value)
{
    return eddy_emit_scalar(e, NULL, EDDY_INT64, &value);
}

eddy_output eddy_emit_float(eddy_emitter *e, float value)
{
    return eddy_emit_scalar(e, NULL, EDDY_FLOAT32, &value);
}

eddy_output eddy_emit_bool(eddy_emitter *e, bool value)
{
    return eddy_emit_scalar(e, NULL, EDDY_BOOL, &value);
}

void eddy_emit_set_input(eddy_emitter *e, eddy_node node, uint32_t index,
                         eddy_output from)
{
    EDDY_EMIT(e, eddy_graph_set_input(e->graph, node, index, from, e->err));
}

void eddy_emit_control(eddy_emitter *e, eddy_node node, eddy_node from)
{
    EDDY_EMIT(e, eddy_graph_add_control(e->graph, node, from, e->err));
}
