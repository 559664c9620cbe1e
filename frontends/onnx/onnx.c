/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditions, scalars and other values that Loop, Scan and If of ONNX need
 * alike.
 */
#include "frontends/onnx/onnx.h"

#include "core/base/status.h"
#include "core/value/shape.h"
#include "core/value/tensor.h"
#include "frames/build/builder.h"

eddy_output eddy__onnx_scalar(eddy_emitter *w, eddy_output value,
                              const char *what)
{
    static const eddy_shape none = {.rank = 1, .dims = {0}};
    const eddy_shape shape = eddy__writer_shape_of(w, value);
    eddy_tensor *tensor = NULL;
    eddy_output inputs[] = {value, {EDDY_NO_NODE, 0}};

    if (w->status != EDDY_OK || shape.rank == 0)
        return value;
    if (shape.rank > 1 ||
        (shape.rank == 1 && shape.dims[0] >= 0 && shape.dims[0] != 1)) {
        w->status =
            eddy__graph_fail_at(w->err, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                                &w->graph->nodes[value.node],
                                "%s has shape %s, a scalar or [1] is wanted",
                                what, eddy__shape_print(&shape).text);
        return value;
    }
    w->status =
        eddy_tensor_create(w->graph->ctx, EDDY_INT32, &none, &tensor, w->err);
    inputs[1] = eddy_emit_const(w, NULL, tensor);
    eddy_tensor_release(tensor);
    return eddy_emit_op(w, "Reshape", inputs, 2, NULL, 0);
}

eddy_output eddy__onnx_condition(eddy_emitter *w, eddy_output value,
                                 const char *what)
{
    eddy_dtype dtype;

    if (w->status != EDDY_OK)
        return value;
    dtype = eddy_graph_output_dtype(w->graph, value);
    if (dtype == EDDY_BOOL)
        return eddy__onnx_scalar(w, value, what);
    w->status = eddy__graph_fail_at(
        w->err, EDDY_INVALID_ARGUMENT, EDDY_E_PREDICATE,
        &w->graph->nodes[value.node], "%s is %s, bool is wanted", what,
        eddy_dtype_name(dtype));
    return value;
}

void eddy__onnx_check(eddy_emitter *w, const eddy_output *values,
                      const eddy_output *like, size_t n)
{
    for (size_t i = 0; i < n && w->status == EDDY_OK; i++) {
        const eddy_dtype found = eddy_graph_output_dtype(w->graph, values[i]);
        const eddy_dtype wanted = eddy_graph_output_dtype(w->graph, like[i]);

        if (found != wanted)
            w->status = eddy__graph_fail_at(
                w->err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE,
                &w->graph->nodes[values[i].node],
                "carried value %zu of '%.64s' is %s, and its next value is %s",
                i, eddy_construct_scope(w->graph), eddy_dtype_name(wanted),
                eddy_dtype_name(found));
    }
}

/* ---- what was put out ---- */

/* `found`, with what is declared of it. */
static eddy_shape as_declared(const eddy_shape *found,
                              const eddy_shape *declared)
{
    eddy_shape shape = *declared;

    if (shape.rank < 0)
        return *found;
    for (int32_t d = 0; d < shape.rank && shape.rank == found->rank; d++)
        if (shape.dims[d] < 0)
            shape.dims[d] = found->dims[d];
    return shape;
}

void eddy__onnx_items(eddy_emitter *w, const eddy_output *next,
                      const eddy_output *values, size_t n,
                      const eddy_shape *declared, eddy__onnx_item *out_items)
{
    const eddy__assumed nothing = {.n = 0};

    for (size_t i = 0; i < n && w->status == EDDY_OK; i++) {
        eddy__settled_shapes(w->graph, next, &values[i], 1,
                             &out_items[i].certain);
        out_items[i].guess = eddy__known_shape(w->graph, &nothing, values[i]);
        if (declared)
            out_items[i].guess = as_declared(&out_items[i].guess, &declared[i]);
    }
}

/* A constant without elements. */
static eddy_output write_none(eddy_emitter *w, eddy_dtype dtype,
                              const eddy_shape *item)
{
    eddy_shape shape = {.rank = 1};
    eddy_output out = {EDDY_NO_NODE, 0};
    eddy_tensor *tensor = NULL;

    for (int32_t d = 0; d < item->rank && shape.rank < EDDY_MAX_RANK; d++)
        shape.dims[shape.rank++] = item->dims[d] > 0 ? item->dims[d] : 0;
    if (w->status == EDDY_OK)
        w->status =
            eddy_tensor_create(w->graph->ctx, dtype, &shape, &tensor, w->err);
    out = eddy_emit_const(w, NULL, tensor);
    eddy_tensor_release(tensor);
    return out;
}

eddy_output eddy__onnx_stack(eddy_emitter *w, const eddy__sequence *s,
                             eddy_output flow, eddy_output n,
                             const eddy__onnx_item *item)
{
    const eddy_shape *certain = &item->certain;
    eddy_cond_spec spec = {.size = sizeof spec, .name = "stack"};
    eddy_output result;

    if (eddy__shape_is_known(certain))
        return eddy__sequence_stack(w, s, flow, n, certain);
    spec.predicate = eddy_emit_binary(w, "Greater", n, eddy_emit_int32(w, 0));
    if (!eddy_emit_check(w, w->status) ||
        !eddy_emit_check(w, eddy_cond_begin(w->graph, &spec, w->err)))
        return spec.predicate;
    result = eddy__sequence_stack(w, s, flow, n, certain);
    if (w->status == EDDY_OK)
        w->status = eddy_cond_else(w->graph, &result, 1, w->err);
    result = write_none(w, s->dtype, &item->guess);
    if (w->status == EDDY_OK)
        w->status = eddy_cond_end(w->graph, &result, 1, &result, w->err);
    return result;
}
