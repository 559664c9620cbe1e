/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that name or make values: Constant, Identity; and Add. */
#include "interop/onnx/op.h"

#include "core/base/status.h"
#include "core/graph/graph.h"

#include <string.h>

static void emit_identity(eddy__onnx_op *op)
{
    const eddy__onnx_value x = eddy__onnx_in_value(op, 0);

    eddy__onnx_give_value(op, 0, eddy__onnx_emit1(op, "Identity", x.output),
                          x.kind, x.dtype);
}

static eddy_output write_floats(eddy__onnx_op *op, const float *values,
                                size_t n, int32_t rank)
{
    const eddy_shape shape = {.rank = rank, .dims = {(int64_t)n}};
    eddy_tensor *tensor = NULL;

    if (eddy__onnx_ok(op))
        op->w->status = eddy_tensor_create(op->w->graph->ctx, EDDY_FLOAT32,
                                           &shape, &tensor, op->w->err);
    if (eddy__onnx_ok(op) && n > 0) {
        float *data = eddy_tensor_mutable_data(tensor);

        for (size_t i = 0; i < n; i++)
            data[i] = values[i];
    }
    return eddy__onnx_const(op, tensor);
}

static eddy_output write_text(eddy__onnx_op *op, size_t n, int32_t rank)
{
    const eddy_shape shape = {.rank = rank, .dims = {(int64_t)n}};
    const char *name = rank == 0 ? "value_string" : "value_strings";
    eddy_tensor *tensor = NULL;
    eddy_string *texts =
        eddy__allocate(op->w->graph->arena.allocator, n, sizeof *texts);

    if (!texts) {
        (void)eddy_emit_check(op->w, eddy__fail_memory(op->w->err));
        return (eddy_output){EDDY_NO_NODE, 0};
    }
    for (size_t i = 0; i < n && eddy__onnx_ok(op); i++) {
        const char *text = rank == 0 ? eddy__onnx_text(op, name, "")
                                     : eddy__onnx_list_text(op, name, i);

        texts[i] = (eddy_string){text, text ? strlen(text) : 0};
    }
    if (eddy__onnx_ok(op))
        op->w->status = eddy_tensor_from_strings(op->w->graph->ctx, &shape,
                                                 texts, n, &tensor, op->w->err);
    eddy__free(op->w->graph->arena.allocator, texts, n, sizeof *texts);
    return eddy__onnx_const(op, tensor);
}

static size_t count_texts(eddy__onnx_op *op)
{
    size_t n = 0;

    while (eddy__onnx_list_text(op, "value_strings", n))
        n++;
    return n;
}

static void emit_constant(eddy__onnx_op *op)
{
    eddy_output value = {EDDY_NO_NODE, 0};
    const int64_t *ints;
    const float *floats;
    int32_t number = 0;
    size_t n;

    if (eddy__onnx_has(op, "value_int")) {
        value = eddy__onnx_index(op, EDDY_INT64,
                                 eddy__onnx_int(op, "value_int", 0));
    } else if (eddy__onnx_has(op, "value_ints")) {
        n = eddy__onnx_list_of_ints(op, "value_ints", &ints);
        value = eddy__onnx_int64s(op, ints, n);
    } else if (eddy__onnx_has(op, "value_float")) {
        const float one = eddy__onnx_float(op, "value_float", 0);

        value = write_floats(op, &one, 1, 0);
    } else if (eddy__onnx_has(op, "value_floats")) {
        n = eddy__onnx_list_of_floats(op, "value_floats", &floats);
        value = write_floats(op, floats, n, 1);
    } else if (eddy__onnx_has(op, "value_string")) {
        value = write_text(op, 1, 0);
    } else if (eddy__onnx_has(op, "value_strings")) {
        value = write_text(op, count_texts(op), 1);
    } else {
        value = eddy__onnx_tensor_const(op, "value");
        number = eddy__onnx_tensor_number(op, "value");
    }
    eddy__onnx_give_codes(op, 0, value, number);
}

const eddy__onnx_row eddy__onnx_basic[] = {
    {"Constant", 1, EDDY__ONNX_NEWEST, 0, 0, 1, 1, emit_constant},
    {"Identity", 1, EDDY__ONNX_NEWEST, 1, 1, 1, 1, emit_identity},
    {.name = NULL},
};
