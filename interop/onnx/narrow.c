/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dtypes of a byte or less: the float8 and float6 kinds, float4e2m1, and
 * integers of 4 and 2 bits.  A value of one is, in the graph, a tensor of its
 * codes, a byte an element (ops/math/narrow.c), and the scope knows of which
 * dtype.  Cast and the quantization convert them; what only moves elements
 * hands them on; all other operators refuse them.
 */
#include "core/value/dtype.h"
#include "interop/onnx/loader.h"
#include "interop/onnx/ops/kit.h"

#include <string.h>

const char *eddy__onnx_value_dtype(const eddy__onnx_value *value)
{
    return value->narrow ? eddy__onnx_dtype_name(value->narrow)
                         : eddy_dtype_name((eddy_dtype)value->dtype);
}

bool eddy__onnx_same_dtype(const eddy__onnx_value *a, const eddy__onnx_value *b)
{
    if (a->dtype == EDDY_INVALID || b->dtype == EDDY_INVALID)
        return true;
    return a->dtype == b->dtype && a->narrow == b->narrow;
}

/* ---- who takes them ---- */

/* What hands elements on as they are, of its first input. */
static const char *const movers[] = {
    "Concat",   "Expand",   "Flatten",   "Gather",    "GatherElements",
    "GatherND", "Identity", "Reshape",   "Slice",     "Split",
    "Squeeze",  "Tile",     "Transpose", "Unsqueeze",
};

static const char *const others[] = {
    "Cast", "CastLike", "DequantizeLinear", "QuantizeLinear", "Shape", "Size"};

static bool is_among(const char *const *names, size_t n, const char *name)
{
    size_t i = 0;

    while (i < n && strcmp(names[i], name) != 0)
        i++;
    return i < n;
}

static bool moves(const eddy__onnx_op *op)
{
    return is_among(movers, sizeof movers / sizeof *movers, op->row->name);
}

eddy_status eddy__onnx_check_narrow(const eddy__onnx_op *op)
{
    const bool takes =
        moves(op) ||
        is_among(others, sizeof others / sizeof *others, op->row->name);

    for (size_t i = 0; i < op->n_inputs; i++) {
        const eddy__onnx_value *in = &op->inputs[i];

        if (in->narrow && !takes)
            return eddy__onnx_fail_at(
                op->loader, EDDY_UNIMPLEMENTED, EDDY_E_DTYPE, op->node,
                "input %zu is %s, which is only converted and moved", i,
                eddy__onnx_value_dtype(in));
        if (strcmp(op->row->name, "Concat") == 0 &&
            in->narrow != op->inputs[0].narrow)
            return eddy__onnx_fail_at(op->loader, EDDY_INVALID_ARGUMENT,
                                      EDDY_E_INPUT_DTYPE, op->node,
                                      "input %zu is %s, and the first one %s",
                                      i, eddy__onnx_value_dtype(in),
                                      eddy__onnx_value_dtype(&op->inputs[0]));
    }
    return EDDY_OK;
}

void eddy__onnx_keep_narrow(eddy__onnx_op *op)
{
    if (op->n_inputs == 0 || op->inputs[0].narrow == 0 || !moves(op))
        return;
    for (size_t i = 0; i < op->n_outputs; i++)
        op->outputs[i].narrow = op->inputs[0].narrow;
}

/* ---- converting ---- */

int32_t eddy__onnx_in_narrow(const eddy__onnx_op *op, size_t i)
{
    return GIVEN(i) ? op->inputs[i].narrow : 0;
}

bool eddy__onnx_is_narrow(int32_t number)
{
    return eddy__onnx_narrow_of(number) > 0;
}

bool eddy__onnx_narrow_is_float(int32_t number)
{
    return eddy__onnx_narrow_of(number) &&
           strncmp(eddy__onnx_dtype_name(number), "float", 5) == 0;
}

bool eddy__onnx_narrow_range(int32_t number, double *out_least,
                             double *out_most)
{
    const char *name = eddy__onnx_dtype_name(number);
    const bool is_signed = eddy__onnx_storage_of(number) == EDDY_INT8;
    const double n = strchr(name, '4') ? 16 : 4;

    if (!eddy__onnx_narrow_of(number) || eddy__onnx_narrow_is_float(number))
        return false;
    *out_least = is_signed ? -n / 2 : 0;
    *out_most = is_signed ? n / 2 - 1 : n - 1;
    return true;
}

static eddy_attr format_attr(eddy_string *format, int32_t number)
{
    format->data = eddy__onnx_dtype_name(number);
    format->length = strlen(format->data);
    return eddy_attr_string("format", format);
}

eddy_output eddy__onnx_decoded(eddy__onnx_op *op, eddy_output codes,
                               int32_t number)
{
    eddy_string format;
    const eddy_attr attrs[] = {format_attr(&format, number)};

    /* Integers are their own codes. */
    if (!eddy__onnx_narrow_is_float(number))
        return codes;
    return OP_WITH("_FromNarrow", attrs, codes);
}

eddy_output eddy__onnx_encoded(eddy__onnx_op *op, eddy_output x, int32_t number)
{
    const bool saturate = eddy__onnx_int(op, "saturate", 1) != 0;
    const char *text = eddy__onnx_text(op, "round_mode", "up");
    const eddy_string round = {text, text ? strlen(text) : 0};
    const eddy_dtype storage = eddy__onnx_storage_of(number);
    eddy_string format;
    const eddy_attr attrs[] = {
        format_attr(&format, number), eddy_attr_bool("saturate", &saturate),
        eddy_attr_string("round_mode", &round), eddy_attr_type("U", &storage)};

    return OP_WITH("_ToNarrow", attrs, CAST(x, EDDY_FLOAT64));
}
