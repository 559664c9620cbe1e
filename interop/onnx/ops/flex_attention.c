/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FlexAttention: attention whose scores and likelihoods go through bodies of
 * the model's own.  Their nodes stand where the attention does, once each.
 */
#include "core/graph/graph.h"
#include "interop/onnx/loader.h"
#include "interop/onnx/ops/kit.h"

#include <math.h>

/* Is `y` of the dtype of `x`, and of its shape as far as these are known? */
static bool is_like(eddy__onnx_op *op, eddy_output y, eddy_output x)
{
    const eddy_shape a = eddy__onnx_shape(op, x), b = eddy__onnx_shape(op, y);

    if (!eddy__onnx_ok(op) || DTYPE(y) != DTYPE(x))
        return false;
    for (int32_t i = 0; i < a.rank && i < b.rank; i++)
        if (a.dims[i] >= 0 && b.dims[i] >= 0 && a.dims[i] != b.dims[i])
            return false;
    return a.rank < 0 || b.rank < 0 || a.rank == b.rank;
}

/* What the body `attr` makes of `x`; `x` where there is none. */
static eddy_output modified(eddy__onnx_op *op, const char *attr, eddy_output x)
{
    const eddy__onnx_value input = {
        .output = x, .kind = EDDY__ONNX_TENSOR, .dtype = (uint8_t)DTYPE(x)};
    eddy__onnx_value result = {.output = EDDY__NO_OUTPUT};
    eddy__onnx_body body = {.op = op,
                            .attr = attr,
                            .inputs = &input,
                            .n_inputs = 1,
                            .results = &result,
                            .n_results = 1};

    if (!eddy__onnx_has(op, attr))
        return x;
    body.graph = eddy__onnx_graph(op, attr);
    if (!eddy__onnx_ok(op))
        return x;
    eddy_emit_check(op->w, eddy__onnx_emit_body(&body));
    if (eddy__onnx_ok(op) &&
        (result.kind != EDDY__ONNX_TENSOR || !is_like(op, result.output, x)))
        eddy__onnx_fail(op, EDDY_E_SHAPE,
                        "what '%s' gives is not of the dtype and shape of what "
                        "it gets",
                        attr);
    return result.output;
}

/* What the softmax is computed in. */
static eddy_dtype read_precision(eddy__onnx_op *op)
{
    if (eddy__onnx_int(op, "softmax_precision", 0) != 0)
        return eddy__onnx_dtype_of(op, "softmax_precision");
    return DTYPE(IN(0)) == EDDY_FLOAT64 ? EDDY_FLOAT64 : EDDY_FLOAT32;
}

/* The root of the scale goes on each side, so that nothing overflows. */
static eddy_output root_of_scale(eddy__onnx_op *op, eddy_output q)
{
    const double scale = (double)eddy__onnx_float(op, "scale", 0.0f);
    const eddy__onnx_size size = DIM(q, 3);

    if (eddy__onnx_has(op, "scale"))
        return LIKE(q, sqrt(fabs(scale)));
    if (size.is_known)
        return LIKE(q, sqrt(1.0 / sqrt((double)size.value)));
    return CAST(OP("Rsqrt", OP("Sqrt", CAST(SIZED(size), EDDY_FLOAT32))),
                DTYPE(q));
}

/* [batch, heads, steps, keys] of query heads by groups that share keys. */
static eddy_output grouped(eddy__onnx_op *op, eddy_output x, eddy_output k)
{
    return OP("Reshape", x, SIZES(DIM(x, 0), DIM(k, 1), FIXED(-1), DIM(x, 3)));
}

static eddy_output ungrouped(eddy__onnx_op *op, eddy_output y, eddy_output q)
{
    return OP("Reshape", y, SIZES(DIM(q, 0), DIM(q, 1), DIM(q, 2), DIM(y, 3)));
}

static void emit_flex_attention(eddy__onnx_op *op)
{
    const bool yes = true;
    const eddy_attr attrs[] = {eddy_attr_bool("adj_y", &yes)};
    const eddy_output q = eddy__onnx_of_rank(op, IN(0), 4);
    const eddy_output k = eddy__onnx_of_rank(op, IN(1), 4);
    const eddy_output v = eddy__onnx_of_rank(op, IN(2), 4);
    const eddy_dtype by = read_precision(op);
    const eddy_output root = root_of_scale(op, q);
    const bool is_negative = eddy__onnx_float(op, "scale", 1.0f) < 0.0f;
    eddy_output left = OP("Mul", q, root), y;

    if (is_negative)
        left = OP("Neg", left);
    y = OP_WITH("BatchMatMulV2", attrs, grouped(op, left, k),
                OP("Mul", k, root));
    y = modified(op, "score_mod", CAST(ungrouped(op, y, q), by));
    y = modified(op, "prob_mod", OP("Softmax", y));
    y = OP("BatchMatMulV2", grouped(op, y, v), CAST(v, by));
    GIVE(0, CAST(ungrouped(op, y, q), DTYPE(IN(2))));
}

const eddy__onnx_row eddy__onnx_flex_attention[] = {
    {"ai.onnx.preview.FlexAttention", 1, 1, 3, 3, 1, 1, emit_flex_attention},
    {.name = NULL},
};
