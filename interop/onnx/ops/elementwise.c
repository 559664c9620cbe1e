/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX operators that are computed element by element: arithmetic, comparisons,
 * logic, bits, and casts.
 */
#include "interop/onnx/ops/kit.h"

#include <math.h>
#include <string.h>

/* ---- one input ---- */

/* Those that eddy has under another name, or under the same. */
static void emit_unary(eddy__onnx_op *op)
{
    static const struct {
        const char *onnx, *eddy;
    } names[] = {
        {"BitwiseNot", "Invert"},
        {"IsNaN", "IsNan"},
        {"Not", "LogicalNot"},
    };
    const char *type = op->row->name;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].onnx, type) == 0)
            type = names[i].eddy;
    eddy__onnx_ignore(op, "consumed_inputs");
    GIVE(0, OP(type, IN(0)));
}

static void emit_abs(eddy__onnx_op *op)
{
    const bool is_unsigned = eddy__onnx_is_unsigned(DTYPE(IN(0)));

    eddy__onnx_ignore(op, "consumed_inputs");
    GIVE(0, OP(is_unsigned ? "Identity" : "Abs", IN(0)));
}

/* Before opset 13 also of integers, whose results are cut to integers. */
static void emit_erf(eddy__onnx_op *op)
{
    const eddy_output x = IN(0);

    if (eddy__onnx_is_float(DTYPE(x)))
        GIVE(0, OP("Erf", x));
    else
        GIVE(0, CAST(OP("Erf", CAST(x, EDDY_FLOAT64)), DTYPE(x)));
}

static void emit_sign(eddy__onnx_op *op)
{
    const eddy_output x = IN(0);

    if (eddy__onnx_is_unsigned(DTYPE(x)))
        GIVE(0, OP("Minimum", x, LIKE(x, 1.0)));
    else
        GIVE(0, OP("Sign", x));
}

static void emit_is_inf(eddy__onnx_op *op)
{
    const bool negative = eddy__onnx_int(op, "detect_negative", 1) != 0;
    const bool positive = eddy__onnx_int(op, "detect_positive", 1) != 0;
    const eddy_output x = IN(0);
    eddy_output is = OP("IsInf", x);

    if (!negative)
        is = OP("LogicalAnd", is, OP("Greater", x, LIKE(x, 0.0)));
    if (!positive)
        is = OP("LogicalAnd", is, OP("Less", x, LIKE(x, 0.0)));
    GIVE(0, is);
}

/* ---- two inputs ---- */

/*
 * The second operand as operators before opset 7 take it: with `broadcast` it
 * is lined up with the first from `axis` on.
 */
static eddy_output old_operand(eddy__onnx_op *op)
{
    const bool broadcasts = eddy__onnx_int(op, "broadcast", 0) != 0;
    const bool has_axis = eddy__onnx_has(op, "axis");
    const int64_t axis = eddy__onnx_int(op, "axis", -1);
    const eddy_output x = IN(0), y = IN(1);
    eddy_output shape, behind;

    eddy__onnx_ignore(op, "consumed_inputs");
    if (!broadcasts || !has_axis)
        return y;
    behind = OP("Sub", eddy__onnx_rank64(op, x), eddy__onnx_rank64(op, y));
    behind =
        OP("Sub", behind,
           eddy__onnx_from_zero(op, INT64(axis), eddy__onnx_rank64(op, x)));
    shape = OP("Fill", eddy__onnx_as_vector(op, behind), INT64(1));
    shape = eddy__onnx_concat(op, eddy__onnx_dims(op, y), shape);
    return OP("Reshape", y, shape);
}

static eddy_output operand(eddy__onnx_op *op)
{
    return op->row->last < 7 ? old_operand(op) : IN(1);
}

static void emit_binary(eddy__onnx_op *op)
{
    static const struct {
        const char *onnx, *eddy;
    } names[] = {
        {"Add", "AddV2"},
        {"And", "LogicalAnd"},
        {"GreaterOrEqual", "GreaterEqual"},
        {"LessOrEqual", "LessEqual"},
        {"Or", "LogicalOr"},
        {"Xor", "NotEqual"},
    };
    const char *type = op->row->name;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].onnx, type) == 0)
            type = names[i].eddy;
    GIVE(0, OP(type, IN(0), operand(op)));
}

static void emit_div(eddy__onnx_op *op)
{
    const bool is_integer = eddy__onnx_is_integer(DTYPE(IN(0)));

    GIVE(0, OP(is_integer ? "TruncateDiv" : "RealDiv", IN(0), operand(op)));
}

/* The result has the dtype of the base, whatever that of the exponent is. */
static void emit_pow(eddy__onnx_op *op)
{
    const eddy_output x = IN(0), y = operand(op);
    const eddy_dtype base = DTYPE(x), exponent = DTYPE(y);
    eddy_dtype by = base;

    if (eddy__onnx_is_integer(base) && eddy__onnx_is_float(exponent))
        by = EDDY_FLOAT64;
    GIVE(0, CAST(OP("Pow", CAST(x, by), CAST(y, by)), base));
}

static void emit_mod(eddy__onnx_op *op)
{
    const bool is_c = eddy__onnx_int(op, "fmod", 0) != 0;
    const eddy_output x = IN(0), y = IN(1);
    const eddy_dtype dtype = DTYPE(x);
    eddy_dtype by = dtype;

    /* Numbers without a sign have one remainder. */
    if (!is_c || eddy__onnx_is_unsigned(dtype)) {
        GIVE(0, OP("FloorMod", x, y));
        return;
    }
    if (dtype == EDDY_INT8 || dtype == EDDY_INT16)
        by = EDDY_INT32;
    GIVE(0, CAST(OP("TruncateMod", CAST(x, by), CAST(y, by)), dtype));
}

/* A shift by the width or more leaves no bit of the number. */
static void emit_bit_shift(eddy__onnx_op *op)
{
    const char *direction = eddy__onnx_text(op, "direction", "");
    const eddy_output x = IN(0), y = IN(1);
    const eddy_dtype dtype = DTYPE(x);
    const double width = (double)eddy_dtype_size(dtype) * 8.0;
    const bool is_left = direction && strcmp(direction, "LEFT") == 0;
    eddy_output shifted, all, is_within;

    if (!direction)
        return;
    if (!is_left && strcmp(direction, "RIGHT") != 0) {
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE,
                        "direction is '%s', and not LEFT or RIGHT", direction);
        return;
    }
    shifted = OP(is_left ? "LeftShift" : "RightShift", x, y);
    is_within = OP("Less", y, LIKE(x, width));
    all = LIKE(x, 0.0);
    if (!eddy__onnx_is_unsigned(dtype)) {
        is_within =
            OP("LogicalAnd", is_within, OP("GreaterEqual", y, LIKE(x, 0.0)));
        if (!is_left)
            all = OP("RightShift", x, LIKE(x, width - 1.0));
    }
    GIVE(0, OP("SelectV2", is_within, shifted, all));
}

static void emit_prelu(eddy__onnx_op *op)
{
    const eddy_output x = IN(0);
    eddy_output slope = IN(1);

    /* One slope a channel, of axis 1. */
    eddy__onnx_ignore(op, "consumed_inputs");
    if (op->row->last < 7 && eddy__onnx_shape(op, slope).rank == 1)
        slope = eddy__onnx_channels(op, slope, x);
    GIVE(0,
         OP("SelectV2", OP("Less", x, LIKE(x, 0.0)), OP("Mul", slope, x), x));
}

/* ---- any number of inputs ---- */

static eddy_output fold(eddy__onnx_op *op, const char *type)
{
    eddy_output sum = IN(0);

    eddy__onnx_ignore(op, "consumed_inputs");
    if (op->n_inputs == 1)
        return OP("Identity", sum);
    for (size_t i = 1; i < op->n_inputs; i++)
        sum = OP(type, sum, IN(i));
    return sum;
}

static void emit_max(eddy__onnx_op *op)
{
    GIVE(0, fold(op, "Maximum"));
}

static void emit_min(eddy__onnx_op *op)
{
    GIVE(0, fold(op, "Minimum"));
}

static void emit_sum(eddy__onnx_op *op)
{
    GIVE(0, fold(op, "AddV2"));
}

static void emit_mean(eddy__onnx_op *op)
{
    const eddy_output sum = fold(op, "AddV2");

    GIVE(0, OP("RealDiv", sum, LIKE(sum, (double)op->n_inputs)));
}

/* ---- choices ---- */

static void emit_where(eddy__onnx_op *op)
{
    GIVE(0, OP("SelectV2", IN(0), IN(1), IN(2)));
}

/* The upper bound wins where the bounds cross. */
static void emit_clip(eddy__onnx_op *op)
{
    eddy_output x = IN(0);

    if (GIVEN(1))
        x = OP("Maximum", x, IN(1));
    if (GIVEN(2))
        x = OP("Minimum", x, IN(2));
    GIVE(0, GIVEN(1) || GIVEN(2) ? x : OP("Identity", x));
}

static void emit_old_clip(eddy__onnx_op *op)
{
    eddy_output x = IN(0);
    const bool has_min = eddy__onnx_has(op, "min");
    const bool has_max = eddy__onnx_has(op, "max");

    eddy__onnx_ignore(op, "consumed_inputs");
    if (has_min)
        x = OP("Maximum", x,
               LIKE(x, (double)eddy__onnx_float(op, "min", 0.0f)));
    if (has_max)
        x = OP("Minimum", x,
               LIKE(x, (double)eddy__onnx_float(op, "max", 0.0f)));
    GIVE(0, has_min || has_max ? x : OP("Identity", x));
}

/* ---- casts ---- */

static eddy_output from_text(eddy__onnx_op *op, eddy_output x, eddy_dtype to)
{
    eddy_dtype by = to;
    const eddy_attr attrs[] = {eddy_attr_type("out_type", &by)};

    if (to == EDDY_FLOAT16 || to == EDDY_BFLOAT16)
        by = EDDY_FLOAT32;
    else if (eddy_dtype_size(to) < 4)
        by = EDDY_INT32;
    return CAST(OP_WITH("StringToNumber", attrs, x), to);
}

/* As ONNX Runtime writes floats: 8 digits, and what is none in ONNX's words. */
static eddy_output float_to_text(eddy__onnx_op *op, eddy_output x)
{
    const bool is_shortest = true;
    const int64_t precision = 8;
    const eddy_attr attrs[] = {eddy_attr_bool("shortest", &is_shortest),
                               eddy_attr_int("precision", &precision)};
    const eddy_output infinity = LIKE(x, (double)INFINITY);
    eddy_output text = OP_WITH("AsString", attrs, x);

    text = OP("SelectV2", OP("Equal", x, infinity), eddy__onnx_word(op, "INF"),
              text);
    text = OP("SelectV2", OP("Equal", x, OP("Neg", infinity)),
              eddy__onnx_word(op, "-INF"), text);
    return OP("SelectV2", OP("IsNan", x), eddy__onnx_word(op, "NaN"), text);
}

static eddy_output to_dtype(eddy__onnx_op *op, eddy_output x, eddy_dtype to)
{
    const eddy_dtype from = DTYPE(x);

    if (from == to)
        return OP("Identity", x);
    if (from == EDDY_STRING)
        return from_text(op, x, to);
    if (to == EDDY_STRING && eddy__onnx_is_float(from))
        return float_to_text(op, x);
    /* A bool is 0 or 1, as ONNX Runtime writes it. */
    if (to == EDDY_STRING)
        return OP("AsString", from == EDDY_BOOL ? CAST(x, EDDY_INT32) : x);
    return CAST(x, to);
}

/* Both attributes are of dtypes of a byte or less alone. */
static void ignore_narrow(eddy__onnx_op *op)
{
    eddy__onnx_ignore(op, "saturate");
    eddy__onnx_ignore(op, "round_mode");
}

/* To ONNX's dtype `number`, one of a byte or less, or else to `to`. */
static void cast_to(eddy__onnx_op *op, int32_t number, eddy_dtype to)
{
    const int32_t from = eddy__onnx_in_narrow(op, 0);
    eddy_output x = IN(0);

    if (from == number && from > 0) {
        ignore_narrow(op);
        eddy__onnx_give_codes(op, 0, OP("Identity", x), number);
        return;
    }
    if (from > 0)
        x = eddy__onnx_decoded(op, x, from);
    if (number > 0) {
        if (eddy__onnx_ok(op) && DTYPE(x) == EDDY_STRING)
            eddy__onnx_refuse(op, "text to a dtype of a byte or less");
        eddy__onnx_give_codes(op, 0, eddy__onnx_encoded(op, x, number), number);
        return;
    }
    ignore_narrow(op);
    GIVE(0, to_dtype(op, x, to));
}

static void emit_cast(eddy__onnx_op *op)
{
    const int32_t number = eddy__onnx_number_of(op, "to");

    if (number == 0 && eddy__onnx_ok(op))
        eddy__onnx_fail(op, EDDY_E_ATTR_MISSING, "no attribute to");
    if (eddy__onnx_ok(op))
        cast_to(op, eddy__onnx_is_narrow(number) ? number : 0,
                eddy__onnx_is_narrow(number) ? EDDY_INVALID
                                             : eddy__onnx_dtype_of(op, "to"));
}

static void emit_cast_like(eddy__onnx_op *op)
{
    cast_to(op, eddy__onnx_in_narrow(op, 1), DTYPE(IN(1)));
}

static void emit_bit_cast(eddy__onnx_op *op)
{
    const eddy_dtype to = eddy__onnx_dtype_of(op, "to");
    const eddy_output x = IN(0);
    const eddy_attr attrs[] = {eddy_attr_type("type", &to)};

    if (to == EDDY_INVALID) {
        eddy__onnx_fail(op, EDDY_E_ATTR_MISSING, "no attribute to");
        return;
    }
    /* A bool is a byte, 0 or 1. */
    if (DTYPE(x) == EDDY_BOOL && to == EDDY_UINT8)
        GIVE(0, CAST(x, to));
    else if (to == EDDY_BOOL)
        GIVE(0, OP("NotEqual", x, LIKE(x, 0.0)));
    else
        GIVE(0, OP_WITH("Bitcast", attrs,
                        DTYPE(x) == EDDY_BOOL ? CAST(x, EDDY_UINT8) : x));
}

#define NEWEST EDDY__ONNX_NEWEST
#define UNARY(name, first)                                                     \
    {                                                                          \
        name, first, NEWEST, 1, 1, 1, 1, emit_unary                            \
    }
#define BINARY(name, emit)                                                     \
    {name, 1, 6, 2, 2, 1, 1, emit},                                            \
    {                                                                          \
        name, 7, NEWEST, 2, 2, 1, 1, emit                                      \
    }
#define TWO(name, first, emit)                                                 \
    {                                                                          \
        name, first, NEWEST, 2, 2, 1, 1, emit                                  \
    }
#define ANY(name, emit)                                                        \
    {                                                                          \
        name, 1, NEWEST, 1, EDDY__ONNX_ANY, 1, 1, emit                         \
    }

const eddy__onnx_row eddy__onnx_elementwise[] = {
    {"Abs", 1, NEWEST, 1, 1, 1, 1, emit_abs},
    UNARY("Acos", 7),
    UNARY("Acosh", 9),
    BINARY("Add", emit_binary),
    BINARY("And", emit_binary),
    UNARY("Asin", 7),
    UNARY("Asinh", 9),
    UNARY("Atan", 7),
    UNARY("Atanh", 9),
    {"BitCast", 26, NEWEST, 1, 1, 1, 1, emit_bit_cast},
    TWO("BitShift", 11, emit_bit_shift),
    TWO("BitwiseAnd", 18, emit_binary),
    UNARY("BitwiseNot", 18),
    TWO("BitwiseOr", 18, emit_binary),
    TWO("BitwiseXor", 18, emit_binary),
    {"Cast", 6, NEWEST, 1, 1, 1, 1, emit_cast},
    TWO("CastLike", 15, emit_cast_like),
    UNARY("Ceil", 1),
    {"Clip", 1, 10, 1, 1, 1, 1, emit_old_clip},
    {"Clip", 11, NEWEST, 1, 3, 1, 1, emit_clip},
    UNARY("Cos", 7),
    UNARY("Cosh", 9),
    BINARY("Div", emit_div),
    BINARY("Equal", emit_binary),
    {"Erf", 9, NEWEST, 1, 1, 1, 1, emit_erf},
    UNARY("Exp", 1),
    UNARY("Floor", 1),
    BINARY("Greater", emit_binary),
    TWO("GreaterOrEqual", 12, emit_binary),
    {"IsInf", 10, NEWEST, 1, 1, 1, 1, emit_is_inf},
    UNARY("IsNaN", 9),
    BINARY("Less", emit_binary),
    TWO("LessOrEqual", 12, emit_binary),
    UNARY("Log", 1),
    ANY("Max", emit_max),
    ANY("Mean", emit_mean),
    ANY("Min", emit_min),
    TWO("Mod", 10, emit_mod),
    BINARY("Mul", emit_binary),
    UNARY("Neg", 1),
    UNARY("Not", 1),
    BINARY("Or", emit_binary),
    BINARY("Pow", emit_pow),
    {"PRelu", 1, 6, 2, 2, 1, 1, emit_prelu},
    {"PRelu", 7, NEWEST, 2, 2, 1, 1, emit_prelu},
    UNARY("Reciprocal", 1),
    UNARY("Round", 11),
    {"Sign", 9, NEWEST, 1, 1, 1, 1, emit_sign},
    UNARY("Sin", 7),
    UNARY("Sinh", 9),
    UNARY("Sqrt", 1),
    BINARY("Sub", emit_binary),
    ANY("Sum", emit_sum),
    UNARY("Tan", 7),
    {"Where", 9, NEWEST, 3, 3, 1, 1, emit_where},
    BINARY("Xor", emit_binary),
    {.name = NULL},
};
