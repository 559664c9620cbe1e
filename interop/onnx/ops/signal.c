/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX's windows and Fourier transforms.
 *
 * A transform is a product with a matrix of cosines and sines: its angles are
 * reduced as integers first, so that long ones stay exact; sums are of float64;
 * and it has gradients as any product has.
 */
#include "interop/onnx/ops/kit.h"

#include <string.h>

#define TAU 6.283185307179586

/* ---- windows ---- */

/* a - b cos(t) + c cos(2 t), t around the circle once. */
static void emit_window(eddy__onnx_op *op)
{
    static const struct {
        const char *name;
        double a, b, c;
    } windows[] = {
        {"BlackmanWindow", 0.42, 0.5, 0.08},
        {"HammingWindow", 25.0 / 46.0, 21.0 / 46.0, 0.0},
        {"HannWindow", 0.5, 0.5, 0.0},
    };
    const bool is_periodic = eddy__onnx_int(op, "periodic", 1) != 0;
    eddy_dtype dtype = eddy__onnx_dtype_of(op, "output_datatype");
    const eddy_output size = CAST(eddy__onnx_as_scalar(op, IN(0)), EDDY_INT64);
    eddy_output around = size, angle, y;
    size_t i = 0;

    if (dtype == EDDY_INVALID)
        dtype = EDDY_FLOAT32;
    while (strcmp(windows[i].name, op->row->name) != 0)
        i++;
    if (!is_periodic)
        around = OP("Maximum", OP("Sub", size, INT64(1)), INT64(1));
    angle = OP(
        "Mul", CAST(eddy__onnx_count(op, size), EDDY_FLOAT64),
        OP("RealDiv", NUMBER(EDDY_FLOAT64, TAU), CAST(around, EDDY_FLOAT64)));
    y = OP("Sub", NUMBER(EDDY_FLOAT64, windows[i].a),
           OP("Mul", NUMBER(EDDY_FLOAT64, windows[i].b), OP("Cos", angle)));
    if (windows[i].c != 0.0)
        y = OP("AddV2", y,
               OP("Mul", NUMBER(EDDY_FLOAT64, windows[i].c),
                  OP("Cos", OP("Mul", angle, NUMBER(EDDY_FLOAT64, 2.0)))));
    GIVE(0, CAST(y, dtype));
}

/* ---- transforms ---- */

typedef struct transform {
    eddy_output length; /* of the circle: an int64 scalar */
    bool is_inverse, is_onesided;
} transform;

/* Angles of every step (a row) at every frequency (a column), in float64. */
static eddy_output angles(eddy__onnx_op *op, eddy_output rows,
                          eddy_output columns, eddy_output length)
{
    eddy_output turns =
        OP("Mul", OP("ExpandDims", eddy__onnx_count(op, rows), INT32(1)),
           eddy__onnx_count(op, columns));

    turns = CAST(OP("FloorMod", turns, length), EDDY_FLOAT64);
    return OP(
        "Mul", turns,
        OP("RealDiv", NUMBER(EDDY_FLOAT64, TAU), CAST(length, EDDY_FLOAT64)));
}

/* Real and imaginary parts, each [..., n]; the second may be absent. */
typedef struct parts {
    eddy_output real, imaginary;
    bool is_real;
} parts;

static parts parts_of(eddy__onnx_op *op, eddy_output x)
{
    const eddy__onnx_size last = DIM(x, -1);
    const int64_t two = 2, axis = -1;
    const eddy_attr attrs[] = {eddy_attr_int("num", &two),
                               eddy_attr_int("axis", &axis)};
    parts p = {.is_real = last.is_known && last.value == 1};
    eddy_output both = x, missing;

    if (p.is_real) {
        p.real = OP("GatherV2", x, INT64(0), INT32(-1));
        return p;
    }
    if (!last.is_known) {
        /* A real signal has one part; it gets another of zeros. */
        missing =
            OP("Sub", OP("Mul", eddy__onnx_rank64(op, x), INT64(2)), INT64(1));
        missing = OP("Fill", eddy__onnx_as_vector(op, missing), INT64(0));
        missing = eddy__onnx_concat(op, missing, SIZES(MINUS(FIXED(2), last)));
        both = OP("Pad", x, OP("Reshape", missing, INT64S(-1, 2)));
    }
    both = OP_WITH("Unpack", attrs, both);
    p.real = eddy__onnx_nth(both, 0);
    p.imaginary = eddy__onnx_nth(both, 1);
    return p;
}

/* `x` of [..., n] with n cut to `most`, an int64 scalar. */
static eddy_output cut(eddy__onnx_op *op, eddy_output x, eddy_output most)
{
    const eddy_output dims = eddy__onnx_dims(op, x);
    const eddy_output rank = eddy__onnx_rank64(op, x);
    const eddy_output before =
        eddy__onnx_head(op, dims, OP("Sub", rank, INT64(1)));
    const eddy_output n = OP("Minimum", SIZED(DIM(x, -1)), most);

    return OP("Slice", x, OP("ZerosLike", dims),
              eddy__onnx_concat(op, before, eddy__onnx_as_vector(op, n)));
}

/* [..., n] by [n, m], of any rank. */
static eddy_output by_matrix(eddy__onnx_op *op, eddy_output x,
                             eddy_output matrix)
{
    return eddy__onnx_matmul(op, x, CAST(matrix, DTYPE(x)));
}

static eddy_output together(eddy__onnx_op *op, eddy_output real,
                            eddy_output imaginary)
{
    const int64_t last = -1;
    const eddy_attr attrs[] = {eddy_attr_int("axis", &last)};

    return OP_WITH("Pack", attrs, real, imaginary);
}

/* Of the last axis but the parts': [..., n, 1 or 2] to [..., m, 2]. */
static eddy_output transformed(eddy__onnx_op *op, eddy_output x,
                               const transform *t)
{
    parts p = parts_of(op, x);
    eddy_output m = t->length, n, angle, cosine, sine, real, imaginary, scale;

    if (t->is_onesided)
        m = OP("AddV2", OP("FloorDiv", m, INT64(2)), INT64(1));
    p.real = cut(op, p.real, t->length);
    n = SIZED(DIM(p.real, -1));
    angle = angles(op, n, m, t->length);
    cosine = OP("Cos", angle);
    sine = OP("Sin", angle);
    if (!t->is_inverse)
        sine = OP("Neg", sine);
    if (t->is_inverse) {
        scale = CAST(t->length, EDDY_FLOAT64);
        cosine = OP("RealDiv", cosine, scale);
        sine = OP("RealDiv", sine, scale);
    }
    real = by_matrix(op, p.real, cosine);
    imaginary = by_matrix(op, p.real, sine);
    if (!p.is_real) {
        p.imaginary = cut(op, p.imaginary, t->length);
        real = OP("Sub", real, by_matrix(op, p.imaginary, sine));
        imaginary = OP("AddV2", imaginary, by_matrix(op, p.imaginary, cosine));
    }
    return together(op, real, imaginary);
}

/* A real signal from the half of its transform that says all. */
static eddy_output real_again(eddy__onnx_op *op, eddy_output x,
                              const transform *t)
{
    parts p = parts_of(op, x);
    const eddy_output half =
        OP("AddV2", OP("FloorDiv", t->length, INT64(2)), INT64(1));
    eddy_output n, angle, k, is_single, weight, y;

    p.real = cut(op, p.real, half);
    n = SIZED(DIM(p.real, -1));
    angle = angles(op, n, t->length, t->length);
    k = eddy__onnx_count(op, n);
    /* All but the first and, of an even number, the middle stand for two. */
    is_single = OP("LogicalOr", OP("Equal", k, INT64(0)),
                   OP("Equal", OP("Mul", k, INT64(2)), t->length));
    weight = OP("SelectV2", is_single, NUMBER(EDDY_FLOAT64, 1.0),
                NUMBER(EDDY_FLOAT64, 2.0));
    weight = OP("RealDiv", weight, CAST(t->length, EDDY_FLOAT64));
    weight = OP("ExpandDims", weight, INT32(1));
    y = by_matrix(op, p.real, OP("Mul", OP("Cos", angle), weight));
    if (!p.is_real) {
        p.imaginary = cut(op, p.imaginary, half);
        y = OP("Sub", y,
               by_matrix(op, p.imaginary, OP("Mul", OP("Sin", angle), weight)));
    }
    return OP("ExpandDims", y, INT32(-1));
}

/* The order that exchanges an axis with the last but one. */
static eddy_output exchange(eddy__onnx_op *op, eddy_output x, eddy_output axis)
{
    const eddy_output rank = eddy__onnx_rank64(op, x);
    const eddy_output at = eddy__onnx_from_zero(op, axis, rank);
    const eddy_output last = OP("Sub", rank, INT64(2));
    const eddy_output all = eddy__onnx_count(op, rank);

    return OP("SelectV2", OP("Equal", all, at), last,
              OP("SelectV2", OP("Equal", all, last), at, all));
}

static void emit_dft(eddy__onnx_op *op)
{
    transform t = {.is_inverse = eddy__onnx_int(op, "inverse", 0) != 0,
                   .is_onesided = eddy__onnx_int(op, "onesided", 0) != 0};
    eddy_output x = IN(0), axis, perm, y;

    if (op->row->last < 20)
        axis = INT64(eddy__onnx_int(op, "axis", 1));
    else
        axis = GIVEN(2) ? CAST(eddy__onnx_as_scalar(op, IN(2)), EDDY_INT64)
                        : INT64(-2);
    perm = exchange(op, x, axis);
    x = OP("Transpose", CAST(x, EDDY_FLOAT64), perm);
    if (GIVEN(1))
        t.length = CAST(eddy__onnx_as_scalar(op, IN(1)), EDDY_INT64);
    else if (t.is_inverse && t.is_onesided)
        t.length = OP("Mul", OP("Sub", SIZED(DIM(x, -2)), INT64(1)), INT64(2));
    else
        t.length = SIZED(DIM(x, -2));
    y = t.is_inverse && t.is_onesided ? real_again(op, x, &t)
                                      : transformed(op, x, &t);
    GIVE(0, CAST(OP("Transpose", y, perm), DTYPE(IN(0))));
}

/* signal [batch, length, 1 or 2], step, window or its length */
static void emit_stft(eddy__onnx_op *op)
{
    transform t = {.is_onesided = eddy__onnx_int(op, "onesided", 1) != 0};
    const eddy_output x = IN(0);
    const eddy_output step = CAST(eddy__onnx_as_scalar(op, IN(1)), EDDY_INT64);
    eddy_output n, at, frames, y;

    if (GIVEN(3))
        t.length = CAST(eddy__onnx_as_scalar(op, IN(3)), EDDY_INT64);
    else if (GIVEN(2))
        t.length = SIZED(DIM(IN(2), 0));
    else
        eddy__onnx_fail(op, EDDY_E_INPUT_COUNT,
                        "neither a window nor a frame_length");
    n = OP("FloorDiv", OP("Sub", SIZED(DIM(x, 1)), t.length), step);
    n = OP("AddV2", n, INT64(1));
    at = OP("ExpandDims", OP("Mul", eddy__onnx_count(op, n), step), INT32(1));
    at = OP("AddV2", at, eddy__onnx_count(op, t.length));
    frames = OP("GatherV2", x, at, INT32(1));
    if (GIVEN(2))
        frames = OP("Mul", frames, OP("ExpandDims", IN(2), INT32(1)));
    y = transformed(op, CAST(frames, EDDY_FLOAT64), &t);
    GIVE(0, CAST(y, DTYPE(x)));
}

/* ---- MelWeightMatrix ---- */

static eddy_output mel_of(eddy__onnx_op *op, eddy_output hertz)
{
    const eddy_output part = OP("RealDiv", hertz, LIKE(hertz, 700.0));

    return OP("Mul", OP("Log1p", part),
              LIKE(hertz, 2595.0 / 2.302585092994046));
}

static eddy_output scalar_in(eddy__onnx_op *op, size_t i, eddy_dtype dtype)
{
    return CAST(eddy__onnx_as_scalar(op, IN(i)), dtype);
}

/*
 * Triangles over the bins of a spectrum, whose corners are at equal distances
 * in mel: the bin of each corner is rounded down.
 */
static void emit_mel(eddy__onnx_op *op)
{
    eddy_dtype dtype = eddy__onnx_dtype_of(op, "output_datatype");
    const eddy_output n = scalar_in(op, 0, EDDY_INT64);
    const eddy_output length = scalar_in(op, 1, EDDY_INT64);
    const eddy_output rate = scalar_in(op, 2, EDDY_FLOAT64);
    const eddy_output low = mel_of(op, scalar_in(op, 3, EDDY_FLOAT64));
    const eddy_output high = mel_of(op, scalar_in(op, 4, EDDY_FLOAT64));
    const eddy_output bins =
        OP("AddV2", OP("FloorDiv", length, INT64(2)), INT64(1));
    const eddy_output corners = OP("AddV2", n, INT64(2));
    const eddy_output step =
        OP("RealDiv", OP("Sub", high, low), CAST(corners, EDDY_FLOAT64));
    eddy_output at = CAST(eddy__onnx_count(op, corners), EDDY_FLOAT64);
    eddy_output bin, left, top, right, rises, falls, y;

    if (dtype == EDDY_INVALID)
        dtype = EDDY_FLOAT32;
    at = OP("AddV2", OP("Mul", at, step), low);
    at = OP("Expm1", OP("Mul", at, LIKE(at, 2.302585092994046 / 2595.0)));
    at = OP("Mul", at, LIKE(at, 700.0));
    at = OP("Mul", at, CAST(OP("AddV2", length, INT64(1)), EDDY_FLOAT64));
    at = OP("Floor", OP("RealDiv", at, rate));
    left = OP("Slice", at, INT64S(0), eddy__onnx_as_vector(op, n));
    top = OP("Slice", at, INT64S(1), eddy__onnx_as_vector(op, n));
    right = OP("Slice", at, INT64S(2), eddy__onnx_as_vector(op, n));
    bin = OP("ExpandDims", CAST(eddy__onnx_count(op, bins), EDDY_FLOAT64),
             INT32(1));
    /* A corner that falls on the top is a step. */
    rises = OP("DivNoNan", OP("Sub", bin, left), OP("Sub", top, left));
    falls = OP("DivNoNan", OP("Sub", right, bin), OP("Sub", right, top));
    y = OP("Maximum", OP("Minimum", rises, falls), LIKE(rises, 0.0));
    y = OP("SelectV2", OP("Equal", bin, top), LIKE(y, 1.0), y);
    GIVE(0, CAST(y, dtype));
}

#define NEWEST EDDY__ONNX_NEWEST
#define WINDOW(name)                                                           \
    {                                                                          \
        name, 17, NEWEST, 1, 1, 1, 1, emit_window                              \
    }

const eddy__onnx_row eddy__onnx_signal[] = {
    WINDOW("BlackmanWindow"),
    {"DFT", 17, 19, 1, 2, 1, 1, emit_dft},
    {"DFT", 20, NEWEST, 1, 3, 1, 1, emit_dft},
    WINDOW("HammingWindow"),
    WINDOW("HannWindow"),
    {"MelWeightMatrix", 17, NEWEST, 5, 5, 1, 1, emit_mel},
    {"STFT", 17, NEWEST, 2, 4, 1, 1, emit_stft},
    {.name = NULL},
};
