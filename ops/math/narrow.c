/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers narrower than a byte, and floats of a byte, as ONNX has them: eddy
 * stores their codes, a byte an element, and converts them from and to float64,
 * which holds each of them.  Conversions are those of ONNX's tables for Cast.
 *
 * A code is a sign, an exponent and a fraction; below the least exponent the
 * fraction counts alone.  What is beyond the largest finite number becomes that
 * (`saturate`), or infinity or NaN, whichever there is.
 */
#include "ops/math/elements.h"
#include "ops/ops.h"

#include <math.h>
#include <string.h>

typedef struct format {
    const char *name;
    int fraction, bias; /* bits of the fraction; what the exponent is less */
    uint8_t sign;       /* the bit; 0: there is none */
    uint8_t most;       /* the code of the largest number */
    uint8_t infinity;   /* 0: there is none */
    uint8_t nan;        /* 0: there is none */
    bool has_one_zero;  /* and NaN is what would be -0 */
} format;

static const format formats[] = {
    {"float8e4m3fn", 3, 7, 0x80, 0x7e, 0, 0x7f, false},
    {"float8e4m3fnuz", 3, 8, 0x80, 0x7f, 0, 0x80, true},
    {"float8e5m2", 2, 15, 0x80, 0x7b, 0x7c, 0x7e, false},
    {"float8e5m2fnuz", 2, 16, 0x80, 0x7f, 0, 0x80, true},
    {"float4e2m1", 1, 1, 0x8, 0x7, 0, 0, false},
    {"float6e2m3", 3, 1, 0x20, 0x1f, 0, 0, false},
    {"float6e3m2", 2, 3, 0x20, 0x1f, 0, 0, false},
    {"float8e8m0", 0, 127, 0, 0xfe, 0, 0xff, false},
};

/* Integers: what is beyond their range wraps around. */
typedef struct integers {
    const char *name;
    unsigned n_bits;
    bool is_signed;
} integers;

static const integers all_integers[] = {
    {"uint4", 4, false},
    {"int4", 4, true},
    {"uint2", 2, false},
    {"int2", 2, true},
};

typedef enum rounding { UP, DOWN, NEAREST } rounding;

static const char *const roundings[] = {"up", "down", "nearest"};

typedef struct narrowing {
    const format *format;     /* or */
    const integers *integers; /* the other is NULL */
    bool saturate;
    rounding rounding;  /* of float8e8m0 alone */
    double values[256]; /* of the codes of a format */
} narrowing;

/* ---- one element ---- */

static double decode(const format *f, uint8_t code)
{
    const uint8_t bits = (uint8_t)(code & (0xff ^ f->sign));
    const double sign = code & f->sign ? -1 : 1;
    const int whole = 1 << f->fraction;
    const int exponent = bits >> f->fraction;
    const int rest = bits & (whole - 1);

    if (!f->sign)
        return code == f->nan ? (double)NAN : ldexp(1, code - f->bias);
    if (f->has_one_zero ? code == f->nan
                        : f->nan && bits > f->most && bits != f->infinity)
        return (double)NAN;
    if (f->infinity && bits == f->infinity)
        return sign * (double)INFINITY;
    if (exponent == 0)
        return sign * ldexp(rest, 1 - f->bias - f->fraction);
    return sign * ldexp(whole + rest, exponent - f->bias - f->fraction);
}

/* Of a number that there is no code for. */
static uint8_t beyond(const format *f, bool saturate)
{
    if (saturate || (!f->infinity && !f->nan))
        return f->most;
    return f->infinity ? f->infinity : f->nan;
}

/* The code of a magnitude, rounded to nearest, ties to even. */
static uint8_t encode_magnitude(const format *f, double x, bool saturate)
{
    int exponent = 0;
    double n;

    if (isinf(x))
        return beyond(f, saturate);
    (void)frexp(x, &exponent);
    exponent--; /* 2^exponent <= x */
    if (x == 0 || exponent < 1 - f->bias)
        exponent = 1 - f->bias;
    if (exponent > 127)
        return beyond(f, saturate);
    n = rint(ldexp(x, f->fraction - exponent)) +
        ldexp(exponent + f->bias - 1, f->fraction);
    return (uint8_t)(n > f->most ? beyond(f, saturate) : n);
}

static uint8_t encode(const format *f, double x, bool saturate)
{
    const uint8_t sign = signbit(x) ? f->sign : 0;
    uint8_t code;

    /* Where NaN has no code it is what NumPy's conversion makes of it. */
    if (isnan(x))
        return f->has_one_zero ? f->nan
               : f->nan        ? (uint8_t)(f->nan | sign)
                               : f->sign;
    code = encode_magnitude(f, fabs(x), saturate);
    if (f->has_one_zero && (code == 0 || code == f->nan))
        return code;
    return (uint8_t)(code | sign);
}

/*
 * float8e8m0 is the exponent of a float32 alone; what has a sign loses it, and
 * an infinity is NaN.
 */
static uint8_t encode_exponent(const narrowing *to, double x)
{
    const float single = (float)x;
    uint32_t bits, fraction, exponent;
    bool up;

    memcpy(&bits, &single, sizeof bits);
    fraction = bits & 0x7fffff;
    exponent = bits >> 23 & 0xff;
    if (exponent == 0xff)
        return 0xff;
    up = to->rounding == UP && fraction > 0;
    if (to->rounding == NEAREST)
        up = fraction > 0x400000 || (fraction == 0x400000 && exponent > 0);
    if (to->saturate && exponent == 0xfe)
        up = false;
    return (uint8_t)(exponent + up);
}

static uint8_t wrap(const integers *to, double x)
{
    const uint8_t mask = (uint8_t)((1U << to->n_bits) - 1);
    const double whole = trunc(x);
    uint8_t code = 0;

    if (fabs(whole) < 0x1p62)
        code = (uint8_t)((uint64_t)(int64_t)whole & mask);
    if (to->is_signed && code >> (to->n_bits - 1))
        code |= (uint8_t)~mask;
    return code;
}

/* ---- kernels ---- */

static eddy_status run_to(eddy_kernel *k)
{
    const narrowing *to = eddy__state(k);
    const eddy_view x = eddy__in_view(k, 0);
    const eddy_shape shape = eddy__view_shape(&x);
    const double *from = x.data;
    uint8_t *codes;
    void *out;

    EDDY_TRY(
        eddy__output(k, 0, (eddy_dtype)k->node->out_dtypes[0], &shape, &out));
    codes = out;
    for (int64_t i = 0; i < x.count && !eddy__spent_at(k, i); i++)
        if (to->integers)
            codes[i] = wrap(to->integers, from[i]);
        else if (!to->format->sign)
            codes[i] = encode_exponent(to, from[i]);
        else
            codes[i] = encode(to->format, from[i], to->saturate);
    return EDDY_OK;
}

static eddy_status run_from(eddy_kernel *k)
{
    const narrowing *of = eddy__state(k);
    const eddy_view x = eddy__in_view(k, 0);
    const eddy_shape shape = eddy__view_shape(&x);
    const uint8_t *codes = x.data;
    double *values;
    void *out;

    EDDY_TRY(eddy__output(k, 0, EDDY_FLOAT64, &shape, &out));
    values = out;
    for (int64_t i = 0; i < x.count && !eddy__spent_at(k, i); i++)
        values[i] = of->values[codes[i]];
    return EDDY_OK;
}

/* ---- preparation ---- */

static eddy_string text_attr(const eddy_infer *infer, const char *name)
{
    eddy_attr attr;

    return eddy_infer_attr(infer, name, &attr) ? attr.as.strings[0]
                                               : (eddy_string){"", 0};
}

static bool is_text(eddy_string s, const char *text)
{
    return s.length == strlen(text) && memcmp(s.data, text, s.length) == 0;
}

static eddy_status prepare(eddy_infer *infer)
{
    const eddy_string name = text_attr(infer, "format");
    narrowing *n = eddy__prepare_state(infer, sizeof *n);

    if (!n)
        return EDDY_RESOURCE_EXHAUSTED;
    *n = (narrowing){.saturate = true};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (is_text(name, formats[i].name))
            n->format = &formats[i];
    for (size_t i = 0; i < sizeof all_integers / sizeof *all_integers; i++)
        if (is_text(name, all_integers[i].name))
            n->integers = &all_integers[i];
    if (!n->format && !n->integers)
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                               "there is no such format");
    for (int i = 0; n->format && i < 256; i++)
        n->values[i] = decode(n->format, (uint8_t)i);
    return EDDY_OK;
}

static eddy_status prepare_to(eddy_infer *infer)
{
    const eddy_string name = text_attr(infer, "round_mode");
    narrowing *n;

    EDDY_TRY(prepare(infer));
    n = infer->state;
    n->saturate = eddy__infer_bool(infer, "saturate");
    for (int i = 0; i < 3; i++)
        if (is_text(name, roundings[i])) {
            n->rounding = (rounding)i;
            return EDDY_OK;
        }
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                           "round_mode is none of up, down and nearest");
}

static eddy_status prepare_from(eddy_infer *infer)
{
    EDDY_TRY(prepare(infer));
    if (((const narrowing *)infer->state)->format)
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                           "the format is one of integers, which have no "
                           "codes but themselves");
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW_OF("_ToNarrow", "ONNX Cast", .inputs = "x: float64",
                    .outputs = "codes: U",
                    .attrs = "U: {int8, uint8} = uint8, format: string, "
                             "saturate: bool = true, "
                             "round_mode: string = 'up'",
                    .infer = eddy__infer_unchanged, .kernel = run_to,
                    .prepare = prepare_to, .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                    .doc = "The codes of numbers of a byte or less, a byte "
                           "each: float8e4m3fn, float8e4m3fnuz, float8e5m2, "
                           "float8e5m2fnuz, float8e8m0, float6e2m3, "
                           "float6e3m2, float4e2m1, uint4, int4, uint2 or "
                           "int2."),
    EDDY__OP_ROW_OF("_FromNarrow", "ONNX Cast", .inputs = "codes: uint8",
                    .outputs = "x: float64", .attrs = "format: string",
                    .infer = eddy__infer_unchanged, .kernel = run_from,
                    .prepare = prepare_from,
                    .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                    .doc = "The numbers that such codes of floats stand for."),
};

const eddy__op_table eddy__narrow_ops = {specs, NULL,
                                         sizeof specs / sizeof *specs};
