/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops that are computed element by element, as operators of ONNX.  What ONNX
 * has under another sign convention (FloorDiv, FloorMod), or not at all but as
 * exactly by others (Expm1, Log1p), is written out; what only comes close is
 * left out and so refused.
 */
#include "interop/onnx/write/kit.h"

#include <math.h>
#include <string.h>

static bool is_integer(eddy_dtype dtype)
{
    return eddy__dtype_in(dtype, EDDY__INTEGERS);
}

static bool is_unsigned(eddy_dtype dtype)
{
    return dtype == EDDY_UINT8 || dtype == EDDY_UINT16 ||
           dtype == EDDY_UINT32 || dtype == EDDY_UINT64;
}

/* The operator of the row, of all inputs. */
static void write_same(eddy__onnx_writer *w)
{
    const char *type = w->rule->type;

    if (THIS->n_inputs == 1)
        GIVE(0, OP(type, X(0)));
    else
        GIVE(0, OP(type, X(0), X(1)));
}

/* The value of the input itself. */
static void write_alias(eddy__onnx_writer *w)
{
    eddy__onnx_bind(w, 0, *eddy__onnx_input(w, 0));
}

static void write_not_equal(eddy__onnx_writer *w)
{
    GIVE(0, OP("Not", OP("Equal", X(0), X(1))));
}

static void write_add_n(eddy__onnx_writer *w)
{
    const char *sum = X(0);

    for (uint32_t i = 1; i < THIS->n_inputs; i++)
        sum = OP("Add", sum, X(i));
    GIVE(0, sum);
}

/* ONNX divides toward zero: one less where that is not down. */
static void write_floor_div(eddy__onnx_writer *w)
{
    const eddy_dtype dtype = DTYPE(0);
    const char *quotient = OP("Div", X(0), X(1));
    const char *rest, *is_down, *zero;

    if (is_unsigned(dtype)) {
        GIVE(0, quotient);
        return;
    }
    if (!is_integer(dtype)) {
        GIVE(0, OP("Floor", quotient));
        return;
    }
    zero = NUMBER(dtype, 0);
    rest = OP("Sub", X(0), OP("Mul", quotient, X(1)));
    is_down = OP("Or", OP("Equal", rest, zero),
                 OP("Equal", OP("Less", rest, zero), OP("Less", X(1), zero)));
    GIVE(0,
         OP("Where", is_down, quotient, OP("Sub", quotient, NUMBER(dtype, 1))));
}

/* Of floats ONNX has only what C's fmod leaves, with the sign of x. */
static void write_floor_mod(eddy__onnx_writer *w)
{
    const eddy_dtype dtype = DTYPE(0);
    const char *rest, *zero, *fits;

    if (is_integer(dtype)) {
        GIVE(0, NODE("Mod", IN(X(0), X(1)), ATTR_INT("fmod", 0)));
        return;
    }
    zero = NUMBER(dtype, 0);
    rest = NODE("Mod", IN(X(0), X(1)), ATTR_INT("fmod", 1));
    fits = OP("Or", OP("Equal", rest, zero),
              OP("Equal", OP("Less", rest, zero), OP("Less", X(1), zero)));
    GIVE(0, OP("Where", fits, rest, OP("Add", rest, X(1))));
}

static void write_truncate_mod(eddy__onnx_writer *w)
{
    GIVE(0, NODE("Mod", IN(X(0), X(1)), ATTR_INT("fmod", 1)));
}

static void write_div_no_nan(eddy__onnx_writer *w)
{
    const char *zero = NUMBER(DTYPE(0), 0);

    GIVE(0, OP("Where", OP("Equal", X(1), zero), zero, OP("Div", X(0), X(1))));
}

static void write_square(eddy__onnx_writer *w)
{
    GIVE(0, OP("Mul", X(0), X(0)));
}

static void write_squared_difference(eddy__onnx_writer *w)
{
    const char *difference = OP("Sub", X(0), X(1));

    GIVE(0, OP("Mul", difference, difference));
}

static void write_rsqrt(eddy__onnx_writer *w)
{
    GIVE(0, OP("Div", NUMBER(DTYPE(0), 1), OP("Sqrt", X(0))));
}

static void write_is_finite(eddy__onnx_writer *w)
{
    GIVE(0, OP("Not", OP("Or", OP("IsNaN", X(0)), OP("IsInf", X(0)))));
}

/* exp(x) - 1 = tanh(x / 2) (exp(x) + 1), which loses nothing near 0. */
static void write_expm1(eddy__onnx_writer *w)
{
    const eddy_dtype dtype = DTYPE(0);

    GIVE(0, OP("Mul", OP("Tanh", OP("Mul", X(0), NUMBER(dtype, 0.5))),
               OP("Add", OP("Exp", X(0)), NUMBER(dtype, 1))));
}

/*
 * With u = 1 + x rounded, log(1 + x) is log(u) x / (u - 1), and x where u is 1:
 * Goldberg, "What every computer scientist should know about floating-point
 * arithmetic", theorem 4.  Infinity is its own logarithm.
 */
static void write_log1p(eddy__onnx_writer *w)
{
    const char *one = NUMBER(DTYPE(0), 1);
    const char *u = OP("Add", one, X(0));
    const char *log =
        OP("Mul", OP("Log", u), OP("Div", X(0), OP("Sub", u, one)));
    const char *is_itself =
        OP("Or", OP("Equal", u, one),
           OP("Equal", X(0), NUMBER(DTYPE(0), (double)INFINITY)));

    GIVE(0, OP("Where", is_itself, X(0), log));
}

static void write_relu6(eddy__onnx_writer *w)
{
    GIVE(0, OP("Clip", X(0), NUMBER(DTYPE(0), 0), NUMBER(DTYPE(0), 6)));
}

static void write_leaky_relu(eddy__onnx_writer *w)
{
    GIVE(0, NODE("LeakyRelu", IN(X(0)),
                 ATTR_FLOAT("alpha", eddy__node_float(THIS, "alpha"))));
}

/* ---- gradients, in the order of eddy's own expressions ---- */

static const char *one(eddy__onnx_writer *w)
{
    return NUMBER(DTYPE(0), 1);
}

/* dy * (1 - y * y) */
static void write_tanh_grad(eddy__onnx_writer *w)
{
    GIVE(0, OP("Mul", X(1), OP("Sub", one(w), OP("Mul", X(0), X(0)))));
}

/* dy * y * (1 - y) */
static void write_sigmoid_grad(eddy__onnx_writer *w)
{
    GIVE(0, OP("Mul", OP("Mul", X(1), X(0)), OP("Sub", one(w), X(0))));
}

/* 0.5 * dy / y */
static void write_sqrt_grad(eddy__onnx_writer *w)
{
    GIVE(0, OP("Div", OP("Mul", NUMBER(DTYPE(0), 0.5), X(1)), X(0)));
}

/* -0.5 * dy * (y * y * y) */
static void write_rsqrt_grad(eddy__onnx_writer *w)
{
    const char *cube = OP("Mul", OP("Mul", X(0), X(0)), X(0));

    GIVE(0, OP("Mul", OP("Mul", NUMBER(DTYPE(0), -0.5), X(1)), cube));
}

/* -y * y * dy */
static void write_reciprocal_grad(eddy__onnx_writer *w)
{
    GIVE(0, OP("Mul", OP("Mul", OP("Neg", X(0)), X(0)), X(1)));
}

/* g where x > 0 */
static void write_relu_grad(eddy__onnx_writer *w)
{
    const char *is_on = OP("Greater", X(1), NUMBER(DTYPE(0), 0));

    GIVE(0, OP("Mul", X(0), CAST(is_on, DTYPE(0))));
}

static void write_elu_grad(eddy__onnx_writer *w)
{
    const eddy_dtype dtype = DTYPE(0);
    const char *is_down = OP("Less", X(1), NUMBER(dtype, 0));
    const char *slope = OP("Add", X(1), NUMBER(dtype, 1));

    GIVE(0, OP("Where", is_down, OP("Mul", slope, X(0)), X(0)));
}

static void write_relu6_grad(eddy__onnx_writer *w)
{
    const char *is_on = OP("And", OP("Greater", X(1), NUMBER(DTYPE(0), 0)),
                           OP("Less", X(1), NUMBER(DTYPE(0), 6)));

    GIVE(0, OP("Mul", X(0), CAST(is_on, DTYPE(0))));
}

/* g / (1 + exp(-x)), in double but for the exponential. */
static void write_softplus_grad(eddy__onnx_writer *w)
{
    const char *rest = CAST(OP("Exp", OP("Neg", X(1))), EDDY_FLOAT64);
    const char *below = OP("Add", NUMBER(EDDY_FLOAT64, 1), rest);

    GIVE(0, CAST(OP("Div", CAST(X(0), EDDY_FLOAT64), below), DTYPE(0)));
}

/* ---- choices and casts ---- */

static void write_select2(eddy__onnx_writer *w)
{
    GIVE(0, OP("Where", X(0), X(1), X(2)));
}

/* Select has a condition of the values' shape, a scalar, or one a row. */
static void write_select(eddy__onnx_writer *w)
{
    const eddy_shape condition = SHAPE(0), values = SHAPE(1);

    if (condition.rank < 0 ||
        (condition.rank != 0 && condition.rank != values.rank))
        eddy__onnx_decline(w, "of a condition of another rank");
    else
        GIVE(0, OP("Where", X(0), X(1), X(2)));
}

static void write_cast(eddy__onnx_writer *w)
{
    const eddy_dtype to = (eddy_dtype)THIS->output_dtypes[0];
    const eddy__dtype_set known = EDDY__REALS | EDDY__DTYPE_BIT(EDDY_BOOL);

    if (eddy__node_bool(THIS, "Truncate"))
        eddy__onnx_decline(w, "that truncates");
    else if (!eddy__dtype_in(DTYPE(0), known) || !eddy__dtype_in(to, known))
        eddy__onnx_decline(w, "of %s to %s", eddy_dtype_name(DTYPE(0)),
                           eddy_dtype_name(to));
    else
        GIVE(0, CAST(X(0), to));
}

/* A scalar is true unless it is 0, another tensor unless it is empty. */
static void write_to_bool(eddy__onnx_writer *w)
{
    const eddy_shape shape = SHAPE(0);

    if (shape.rank < 0 || DTYPE(0) == EDDY_STRING)
        eddy__onnx_decline(w, "of an unknown rank or of text");
    else if (shape.rank == 0)
        GIVE(0, CAST(X(0), EDDY_BOOL));
    else
        GIVE(0, OP("Greater", OP("Size", X(0)), INT(0)));
}

#define BOOLS EDDY__DTYPE_BIT(EDDY_BOOL)
#define ORDERED (EDDY__FLOATS | EDDY__INTEGERS)
#define FLOAT(op, onnx)                                                        \
    {                                                                          \
        op, write_same, onnx, EDDY__FLOATS                                     \
    }

const eddy__onnx_rule eddy__onnx_write_elementwise[] = {
    {"Abs", write_same, "Abs", ORDERED},
    FLOAT("Acos", "Acos"),
    FLOAT("Acosh", "Acosh"),
    {"Add", write_same, "Add", ORDERED},
    {"AddN", write_add_n, NULL, ORDERED},
    {"AddV2", write_same, "Add", ORDERED},
    FLOAT("Asin", "Asin"),
    FLOAT("Asinh", "Asinh"),
    FLOAT("Atan", "Atan"),
    FLOAT("Atanh", "Atanh"),
    {"BitwiseAnd", write_same, "BitwiseAnd", EDDY__INTEGERS, 18},
    {"BitwiseOr", write_same, "BitwiseOr", EDDY__INTEGERS, 18},
    {"BitwiseXor", write_same, "BitwiseXor", EDDY__INTEGERS, 18},
    {"Cast", write_cast},
    FLOAT("Ceil", "Ceil"),
    FLOAT("Cos", "Cos"),
    FLOAT("Cosh", "Cosh"),
    {"Div", write_same, "Div", ORDERED},
    {"DivNoNan", write_div_no_nan, NULL, EDDY__FLOATS},
    FLOAT("Elu", "Elu"),
    {"EnsureShape", write_alias},
    {"EluGrad", write_elu_grad, NULL, EDDY__FLOATS},
    {"Equal", write_same, "Equal", ORDERED | BOOLS},
    FLOAT("Erf", "Erf"),
    FLOAT("Exp", "Exp"),
    FLOAT("Floor", "Floor"),
    {"Expm1", write_expm1, NULL, EDDY__FLOATS},
    {"FloorDiv", write_floor_div, NULL, ORDERED},
    {"FloorMod", write_floor_mod, NULL, ORDERED},
    {"Greater", write_same, "Greater", ORDERED},
    {"GreaterEqual", write_same, "GreaterOrEqual", ORDERED},
    {"GuaranteeConst", write_alias},
    FLOAT("Inv", "Reciprocal"),
    {"InvGrad", write_reciprocal_grad, NULL, EDDY__FLOATS},
    {"Invert", write_same, "BitwiseNot", EDDY__INTEGERS, 18},
    {"IsFinite", write_is_finite, NULL, EDDY__FLOATS},
    FLOAT("IsInf", "IsInf"),
    FLOAT("IsNan", "IsNaN"),
    {"LeakyRelu", write_leaky_relu, NULL, EDDY__FLOATS},
    {"Less", write_same, "Less", ORDERED},
    {"LessEqual", write_same, "LessOrEqual", ORDERED},
    FLOAT("Log", "Log"),
    {"Log1p", write_log1p, NULL, EDDY__FLOATS},
    {"LogicalAnd", write_same, "And"},
    {"LogicalNot", write_same, "Not"},
    {"LogicalOr", write_same, "Or"},
    {"Maximum", write_same, "Max", ORDERED},
    {"Minimum", write_same, "Min", ORDERED},
    {"Mod", write_truncate_mod, NULL, ORDERED},
    {"Mul", write_same, "Mul", ORDERED},
    {"Neg", write_same, "Neg",
     EDDY__FLOATS | EDDY__INDEXES | EDDY__DTYPE_BIT(EDDY_INT8) |
         EDDY__DTYPE_BIT(EDDY_INT16)},
    {"NotEqual", write_not_equal, NULL, ORDERED | BOOLS},
    {"Pow", write_same, "Pow", EDDY__FLOATS},
    {"RealDiv", write_same, "Div", EDDY__FLOATS},
    FLOAT("Reciprocal", "Reciprocal"),
    {"ReciprocalGrad", write_reciprocal_grad, NULL, EDDY__FLOATS},
    FLOAT("Relu", "Relu"),
    {"Relu6", write_relu6, NULL, EDDY__FLOATS},
    {"Relu6Grad", write_relu6_grad, NULL, EDDY__FLOATS},
    {"ReluGrad", write_relu_grad, NULL, EDDY__FLOATS},
    FLOAT("Rint", "Round"),
    FLOAT("Round", "Round"),
    {"Rsqrt", write_rsqrt, NULL, EDDY__FLOATS},
    {"RsqrtGrad", write_rsqrt_grad, NULL, EDDY__FLOATS},
    {"Select", write_select},
    {"SelectV2", write_select2},
    FLOAT("Selu", "Selu"),
    FLOAT("Sigmoid", "Sigmoid"),
    {"SigmoidGrad", write_sigmoid_grad, NULL, EDDY__FLOATS},
    {"Sign", write_same, "Sign", ORDERED},
    FLOAT("Sin", "Sin"),
    FLOAT("Sinh", "Sinh"),
    {"Snapshot", write_alias},
    FLOAT("Softplus", "Softplus"),
    {"SoftplusGrad", write_softplus_grad, NULL, EDDY__FLOATS},
    FLOAT("Softsign", "Softsign"),
    FLOAT("Sqrt", "Sqrt"),
    {"SqrtGrad", write_sqrt_grad, NULL, EDDY__FLOATS},
    {"Square", write_square, NULL, ORDERED},
    {"SquaredDifference", write_squared_difference, NULL, ORDERED},
    {"Sub", write_same, "Sub", ORDERED},
    FLOAT("Tan", "Tan"),
    FLOAT("Tanh", "Tanh"),
    {"TanhGrad", write_tanh_grad, NULL, EDDY__FLOATS},
    {"ToBool", write_to_bool},
    {"TruncateDiv", write_same, "Div", EDDY__INTEGERS},
    {"TruncateMod", write_truncate_mod, NULL, ORDERED},
    {.op = NULL},
};
