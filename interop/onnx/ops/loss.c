/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX's losses, of classes along axis 1. */
#include "interop/onnx/ops/kit.h"

#include <string.h>

/* The loss of each label, and what it counts in a mean. */
typedef struct losses {
    eddy_output each, weight;
    bool has_weights; /* else each that counts is 1 */
} losses;

/*
 * `x` holds logarithms of what classes are likely.  A label that is ignored
 * has no loss; it may be no class at all, so class 0 is looked at in its place.
 */
static losses losses_of(eddy__onnx_op *op, eddy_output x)
{
    const eddy_output labels = CAST(IN(1), EDDY_INT64);
    const bool ignores = eddy__onnx_has(op, "ignore_index");
    const int64_t ignored = eddy__onnx_int(op, "ignore_index", 0);
    losses l = {.has_weights = GIVEN(2)};
    eddy_output at = labels, is_ignored = EDDY__NO_OUTPUT, picked;

    if (ignores) {
        is_ignored = OP("Equal", labels, INT64(ignored));
        at = OP("SelectV2", is_ignored, INT64(0), labels);
    }
    picked = eddy__onnx_elements(op, x, OP("ExpandDims", at, INT32(1)), 1);
    picked = OP("Neg", OP("Reshape", picked, eddy__onnx_dims(op, labels)));
    l.weight = l.has_weights ? OP("GatherV2", IN(2), at, INT32(0))
                             : OP("OnesLike", picked);
    if (ignores)
        l.weight =
            OP("SelectV2", is_ignored, OP("ZerosLike", l.weight), l.weight);
    if (ignores)
        picked = OP("SelectV2", is_ignored, OP("ZerosLike", picked), picked);
    l.each = l.has_weights || ignores ? OP("Mul", picked, l.weight) : picked;
    return l;
}

static eddy_output reduced(eddy__onnx_op *op, const losses *l)
{
    const char *reduction = eddy__onnx_text(op, "reduction", "mean");
    const eddy_output axes = eddy__onnx_axes_from(op, l->each, 0);
    eddy_output sum;

    if (!reduction)
        return EDDY__NO_OUTPUT;
    if (strcmp(reduction, "none") == 0)
        return l->each;
    sum = eddy__onnx_reduce(op, "Sum", l->each, axes, false);
    if (strcmp(reduction, "sum") == 0)
        return sum;
    if (strcmp(reduction, "mean") == 0)
        return OP("RealDiv", sum,
                  eddy__onnx_reduce(op, "Sum", l->weight, axes, false));
    eddy__onnx_fail(op, EDDY_E_ATTR_VALUE, "there is no reduction '%s'",
                    reduction);
    return EDDY__NO_OUTPUT;
}

static void emit_likelihood(eddy__onnx_op *op)
{
    const losses l = losses_of(op, IN(0));

    GIVE(0, reduced(op, &l));
}

static void emit_cross_entropy(eddy__onnx_op *op)
{
    const eddy_output x = eddy__onnx_softmax(op, "LogSoftmax", IN(0), 1);
    const losses l = losses_of(op, x);

    GIVE(0, reduced(op, &l));
    GIVE(1, x);
}

#define NEWEST EDDY__ONNX_NEWEST

const eddy__onnx_row eddy__onnx_loss[] = {
    {"NegativeLogLikelihoodLoss", 12, NEWEST, 2, 3, 1, 1, emit_likelihood},
    {"SoftmaxCrossEntropyLoss", 12, NEWEST, 2, 3, 1, 2, emit_cross_entropy},
    {.name = NULL},
};
