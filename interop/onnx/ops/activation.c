/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX's activations, by themselves and by the names that LSTM uses. */
#include "interop/onnx/ops/kit.h"

#include <math.h>
#include <string.h>

static eddy_output scaled(eddy__onnx_op *op, eddy_output x, double by)
{
    return by == 1.0 ? x : OP("Mul", x, LIKE(x, by));
}

/* alpha (e^x - 1) below 0, which is 0 from there on. */
static eddy_output below(eddy__onnx_op *op, eddy_output x, double alpha)
{
    const eddy_output least = OP("Minimum", x, LIKE(x, 0.0));

    return scaled(op, OP("Expm1", least), alpha);
}

static eddy_output hard_sigmoid(eddy__onnx_op *op, eddy_output x, double alpha,
                                double beta)
{
    const eddy_output line = OP("AddV2", scaled(op, x, alpha), LIKE(x, beta));

    return OP("Minimum", OP("Maximum", line, LIKE(x, 0.0)), LIKE(x, 1.0));
}

static eddy_output thresholded(eddy__onnx_op *op, eddy_output x, double alpha)
{
    return OP("SelectV2", OP("Greater", x, LIKE(x, alpha)), x, LIKE(x, 0.0));
}

/* Of ints too, as old models have it. */
static eddy_output leaky(eddy__onnx_op *op, eddy_output x, double alpha)
{
    const float slope = (float)alpha;
    const eddy_attr attrs[] = {eddy_attr_float("alpha", &slope)};

    return OP_WITH("LeakyRelu", attrs, x);
}

eddy_output eddy__onnx_activate(eddy__onnx_op *op, const char *name,
                                eddy_output x, double alpha, double beta)
{
    static const char *const plain[] = {"Relu", "Tanh", "Sigmoid", "Softsign",
                                        "Softplus"};

    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(name, plain[i]) == 0)
            return OP(name, x);
    if (strcmp(name, "Affine") == 0)
        return OP("AddV2", scaled(op, x, alpha), LIKE(x, beta));
    if (strcmp(name, "LeakyRelu") == 0)
        return leaky(op, x, alpha);
    if (strcmp(name, "ThresholdedRelu") == 0)
        return thresholded(op, x, alpha);
    if (strcmp(name, "ScaledTanh") == 0)
        return scaled(op, OP("Tanh", scaled(op, x, beta)), alpha);
    if (strcmp(name, "HardSigmoid") == 0)
        return hard_sigmoid(op, x, alpha, beta);
    if (strcmp(name, "Elu") == 0)
        return OP("AddV2", OP("Relu", x), below(op, x, alpha));
    eddy__onnx_refuse(op, "the activation '%s'", name);
    return EDDY__NO_OUTPUT;
}

/* ---- operators ---- */

/* Those that eddy has too. */
static void emit_plain(eddy__onnx_op *op)
{
    eddy__onnx_ignore(op, "consumed_inputs");
    GIVE(0, OP(op->row->name, IN(0)));
}

/* Those with one or two numbers. */
static void emit_with_numbers(eddy__onnx_op *op)
{
    const char *name = op->row->name;
    const bool is_sigmoid = strcmp(name, "HardSigmoid") == 0;
    const bool is_leaky = strcmp(name, "LeakyRelu") == 0;
    const float usual = is_sigmoid ? 0.2f : is_leaky ? 0.01f : 1.0f;
    const float alpha = eddy__onnx_float(op, "alpha", usual);
    const float beta = is_sigmoid ? eddy__onnx_float(op, "beta", 0.5f) : 0.0f;

    eddy__onnx_ignore(op, "consumed_inputs");
    GIVE(0, eddy__onnx_activate(op, name, IN(0), (double)alpha, (double)beta));
}

static void emit_selu(eddy__onnx_op *op)
{
    const bool is_old = op->row->last < 6;
    const float alpha =
        eddy__onnx_float(op, "alpha", is_old ? 1.6732f : 1.67326324f);
    const float gamma =
        eddy__onnx_float(op, "gamma", is_old ? 1.0507f : 1.05070102f);
    const eddy_output x = IN(0);

    eddy__onnx_ignore(op, "consumed_inputs");
    GIVE(0, scaled(op, OP("AddV2", OP("Relu", x), below(op, x, (double)alpha)),
                   (double)gamma));
}

static void emit_celu(eddy__onnx_op *op)
{
    const double alpha = (double)eddy__onnx_float(op, "alpha", 1.0f);
    const eddy_output x = IN(0);
    const eddy_output part = OP("RealDiv", x, LIKE(x, alpha));

    GIVE(0, OP("AddV2", OP("Relu", x), below(op, part, alpha)));
}

static void emit_gelu(eddy__onnx_op *op)
{
    const char *approximate = eddy__onnx_text(op, "approximate", "none");
    const eddy_output x = IN(0);
    eddy_output y;

    if (!approximate)
        return;
    if (strcmp(approximate, "tanh") == 0) {
        y = OP("Mul", OP("Mul", x, x), OP("Mul", x, LIKE(x, 0.044715)));
        y = OP("Mul", OP("AddV2", x, y), LIKE(x, 0.7978845608028654));
        y = OP("Tanh", y);
    } else if (strcmp(approximate, "none") == 0) {
        y = OP("Erf", OP("Mul", x, LIKE(x, 0.7071067811865476)));
    } else {
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE,
                        "approximate is '%s', and not none or tanh",
                        approximate);
        return;
    }
    GIVE(0,
         OP("Mul", OP("Mul", x, LIKE(x, 0.5)), OP("AddV2", y, LIKE(x, 1.0))));
}

static void emit_mish(eddy__onnx_op *op)
{
    const eddy_output x = IN(0);

    GIVE(0, OP("Mul", x, OP("Tanh", OP("Softplus", x))));
}

static void emit_hard_swish(eddy__onnx_op *op)
{
    const eddy_output x = IN(0);

    GIVE(0, OP("Mul", x, hard_sigmoid(op, x, 1.0 / 6.0, 0.5)));
}

static void emit_swish(eddy__onnx_op *op)
{
    const double alpha = (double)eddy__onnx_float(op, "alpha", 1.0f);
    const eddy_output x = IN(0);

    GIVE(0, OP("Mul", x, OP("Sigmoid", scaled(op, x, alpha))));
}

static void emit_swiglu(eddy__onnx_op *op)
{
    const double alpha = (double)eddy__onnx_float(op, "alpha", 1.0f);
    const eddy_output gate = IN(0);
    const eddy_output swish =
        OP("Mul", gate, OP("Sigmoid", scaled(op, gate, alpha)));

    GIVE(0, OP("Mul", swish, IN(1)));
}

/* The numbers are floats, also where x is of integers. */
static void emit_shrink(eddy__onnx_op *op)
{
    const double bias = (double)eddy__onnx_float(op, "bias", 0.0f);
    const double lambd = (double)eddy__onnx_float(op, "lambd", 0.5f);
    const eddy_dtype dtype = DTYPE(IN(0));
    const eddy_output x =
        CAST(IN(0), eddy__onnx_is_float(dtype) ? dtype : EDDY_FLOAT64);
    const eddy_output above = OP("SelectV2", OP("Greater", x, LIKE(x, lambd)),
                                 OP("Sub", x, LIKE(x, bias)), LIKE(x, 0.0));

    GIVE(0, CAST(OP("SelectV2", OP("Less", x, LIKE(x, -lambd)),
                    OP("AddV2", x, LIKE(x, bias)), above),
                 dtype));
}

static void emit_softmax(eddy__onnx_op *op)
{
    const int64_t axis = eddy__onnx_int(op, "axis", -1);

    GIVE(0, eddy__onnx_softmax(op, op->row->name, IN(0), axis));
}

/* Before opset 13 all axes from `axis` on are one. */
static eddy_output flattened(eddy__onnx_op *op, eddy_output x, int64_t axis)
{
    const eddy_output shape = eddy__onnx_dims(op, x);
    const eddy_output at =
        eddy__onnx_from_zero(op, INT64(axis), eddy__onnx_rank64(op, x));
    const eddy_output behind = eddy__onnx_reduce(
        op, "Prod", eddy__onnx_tail(op, shape, at), INT64S(0), true);
    const eddy_output before = eddy__onnx_reduce(
        op, "Prod", eddy__onnx_head(op, shape, at), INT64S(0), true);

    return OP("Reshape", x, eddy__onnx_concat(op, before, behind));
}

static void emit_old_softmax(eddy__onnx_op *op)
{
    const eddy_output x = IN(0);
    const eddy_output rows = flattened(op, x, eddy__onnx_int(op, "axis", 1));

    GIVE(0, OP("Reshape", OP(op->row->name, rows), eddy__onnx_dims(op, x)));
}

/* With one element more at the end, which is never the first of the largest. */
static eddy_output with_least(eddy__onnx_op *op, eddy_output x)
{
    const eddy_output zeros =
        eddy__onnx_reduce(op, "Sum", OP("ZerosLike", x), INT64S(-1), true);
    const eddy_output least = OP("AddV2", zeros, LIKE(x, -(double)INFINITY));

    return OP("ConcatV2", x, least, INT32(-1));
}

/* 1 at the first of the largest; of none, nothing. */
static eddy_output hardmax_last(eddy__onnx_op *op, eddy_output x)
{
    const int64_t last = -1;
    const eddy_attr attrs[] = {eddy_attr_int("axis", &last)};
    const eddy__onnx_size n = DIM(x, -1);
    const eddy_output depth = CAST(SIZED(n), EDDY_INT32);
    const eddy_output from = n.is_known && n.value > 0 ? x : with_least(op, x);

    return OP_WITH("OneHot", attrs, OP("ArgMax", from, INT32(-1)), depth,
                   LIKE(x, 1.0), LIKE(x, 0.0));
}

static void emit_hardmax(eddy__onnx_op *op)
{
    const eddy_output x = IN(0);
    const eddy__onnx_exchange e =
        eddy__onnx_to_last(op, x, eddy__onnx_int(op, "axis", -1));

    GIVE(0, eddy__onnx_exchanged(
                op, hardmax_last(op, eddy__onnx_exchanged(op, x, &e)), &e));
}

static void emit_old_hardmax(eddy__onnx_op *op)
{
    const eddy_output x = IN(0);
    const eddy_output rows = flattened(op, x, eddy__onnx_int(op, "axis", 1));

    GIVE(0, OP("Reshape", hardmax_last(op, rows), eddy__onnx_dims(op, x)));
}

eddy_output eddy__onnx_softmax(eddy__onnx_op *op, const char *type,
                               eddy_output x, int64_t axis)
{
    const eddy__onnx_exchange e = eddy__onnx_to_last(op, x, axis);

    return eddy__onnx_exchanged(op, OP(type, eddy__onnx_exchanged(op, x, &e)),
                                &e);
}

#define NEWEST EDDY__ONNX_NEWEST
#define ONE(name, first, emit)                                                 \
    {                                                                          \
        name, first, NEWEST, 1, 1, 1, 1, emit                                  \
    }
#define SOFTMAX(name, old, now)                                                \
    {name, 1, 12, 1, 1, 1, 1, old},                                            \
    {                                                                          \
        name, 13, NEWEST, 1, 1, 1, 1, now                                      \
    }

const eddy__onnx_row eddy__onnx_activation[] = {
    ONE("Celu", 12, emit_celu),
    ONE("Elu", 1, emit_with_numbers),
    ONE("Gelu", 20, emit_gelu),
    ONE("HardSigmoid", 1, emit_with_numbers),
    ONE("HardSwish", 14, emit_hard_swish),
    SOFTMAX("Hardmax", emit_old_hardmax, emit_hardmax),
    ONE("LeakyRelu", 1, emit_with_numbers),
    SOFTMAX("LogSoftmax", emit_old_softmax, emit_softmax),
    ONE("Mish", 18, emit_mish),
    ONE("Relu", 1, emit_plain),
    {"Selu", 1, 5, 1, 1, 1, 1, emit_selu},
    ONE("Selu", 6, emit_selu),
    ONE("Shrink", 9, emit_shrink),
    ONE("Sigmoid", 1, emit_plain),
    SOFTMAX("Softmax", emit_old_softmax, emit_softmax),
    ONE("Softplus", 1, emit_plain),
    ONE("Softsign", 1, emit_plain),
    {"SwiGLU", 28, NEWEST, 2, 2, 1, 1, emit_swiglu},
    ONE("Swish", 24, emit_swish),
    ONE("Tanh", 1, emit_plain),
    ONE("ThresholdedRelu", 10, emit_with_numbers),
    {.name = NULL},
};
