/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX's GridSample and AffineGrid: an image of any number of axes, read at
 * places that a grid names from -1 to 1, and the grid of an affine map.
 */
#include "interop/onnx/ops/kit.h"

#include <string.h>

#define MOST_AXES (EDDY_MAX_RANK - 3)

typedef enum reading { NEAREST, LINEAR, CUBIC } reading;
typedef enum margin { ZEROS, BORDER, REFLECTION } margin;

typedef struct sampling {
    reading reading;
    margin margin;
    bool is_aligned;
    eddy_output x, grid;
    size_t n; /* spatial axes */
    eddy__onnx_size batch, channels, places;
    eddy__onnx_size in[MOST_AXES];
} sampling;

/* What is read along an axis: each [batch, places, taps]. */
typedef struct taps {
    eddy_output at;      /* int64, inside the image */
    eddy_output weights; /* of the image's dtype; EDDY__NO_OUTPUT: one tap */
    eddy_output inside;  /* bool; EDDY__NO_OUTPUT: all are */
} taps;

static const int64_t n_taps[] = {[NEAREST] = 1, [LINEAR] = 2, [CUBIC] = 4};

static bool is_text(const char *text, const char *other)
{
    return text && strcmp(text, other) == 0;
}

/* ---- one axis ---- */

/* What lies beyond the borders is folded back as often as it takes. */
static eddy_output reflect(eddy__onnx_op *op, eddy_output at, eddy_output low,
                           eddy_output high)
{
    const eddy_output is_low = OP("Less", at, low);
    eddy_output range = OP("Sub", high, low), beyond, times, rest, from;

    range = OP("SelectV2", OP("Greater", range, LIKE(range, 0.0)), range,
               LIKE(range, 1.0));
    beyond = OP("SelectV2", is_low, OP("Sub", low, at), OP("Sub", at, high));
    times = OP("Floor", OP("RealDiv", beyond, range));
    rest = OP("Sub", beyond, OP("Mul", times, range));
    /* From the low end after an even number of times on the low side. */
    from =
        OP("Equal", OP("FloorMod", times, LIKE(times, 2.0)), LIKE(times, 0.0));
    from = OP("Equal", from, is_low);
    rest = OP("SelectV2", from, OP("AddV2", low, rest), OP("Sub", high, rest));
    return OP("SelectV2", OP("LogicalOr", is_low, OP("Greater", at, high)),
              rest, at);
}

/* The ends between which places are taken as they are. */
static void borders(eddy__onnx_op *op, const sampling *s, eddy_output length,
                    eddy_output *out_low, eddy_output *out_high)
{
    const double low = s->is_aligned ? 0.0 : -0.5;

    *out_low = LIKE(length, low);
    *out_high = OP("Sub", length, LIKE(length, 1.0 + low));
}

/* Places along axis `i` as numbers of its elements: [batch, places]. */
static eddy_output coordinates(eddy__onnx_op *op, const sampling *s, size_t i)
{
    const eddy_dtype dtype = DTYPE(s->grid);
    const eddy_output length = CAST(SIZED(s->in[i]), dtype);
    const eddy_output last = OP("Sub", length, NUMBER(dtype, 1.0));
    eddy_output at, low, high, clamped;

    /* The grid's numbers stand in the opposite order of the axes. */
    at = OP("GatherV2", s->grid, INT64((int64_t)(s->n - 1 - i)),
            INT32((int64_t)s->n + 1));
    at = OP("Reshape", at, SIZES(s->batch, s->places));
    at = OP("AddV2", at, NUMBER(dtype, 1.0));
    if (s->is_aligned)
        at = OP("Mul", OP("Mul", at, NUMBER(dtype, 0.5)), last);
    else
        at = OP("Mul", OP("Sub", OP("Mul", at, length), NUMBER(dtype, 1.0)),
                NUMBER(dtype, 0.5));
    if (s->reading == NEAREST)
        at = OP("Round", at);
    borders(op, s, length, &low, &high);
    if (s->margin == REFLECTION)
        return reflect(op, at, low, high);
    if (s->margin == ZEROS)
        return at;
    clamped = OP("Minimum", OP("Maximum", at, NUMBER(dtype, 0.0)), last);
    return OP("SelectV2",
              OP("LogicalOr", OP("Less", at, low), OP("Greater", at, high)),
              clamped, at);
}

/* Weights of the four elements around a place that is `t` behind the second. */
static eddy_output cubic(eddy__onnx_op *op, eddy_output t)
{
    static const double a = -0.75;
    eddy_output weights[4];

    for (int i = 0; i < 4; i++) {
        const bool is_far = i == 0 || i == 3;
        const eddy_output d = i < 2 ? OP("AddV2", t, LIKE(t, 1.0 - i))
                                    : OP("Sub", LIKE(t, i - 1.0), t);
        eddy_output w = OP("Mul", d, LIKE(t, is_far ? a : a + 2.0));

        w = OP("Sub", w, LIKE(t, is_far ? 5.0 * a : a + 3.0));
        w = OP("Mul", w, d);
        if (is_far)
            w = OP("AddV2", w, LIKE(t, 8.0 * a));
        w = OP("Mul", w, d);
        weights[i] = is_far ? OP("Sub", w, LIKE(t, 4.0 * a))
                            : OP("AddV2", w, LIKE(t, 1.0));
    }
    return eddy__onnx_join(op, weights, 4, 2);
}

/* Numbers of elements that may lie outside, as such that do not. */
static taps settle(eddy__onnx_op *op, const sampling *s, size_t i,
                   eddy_output at, eddy_output weights)
{
    const eddy_output length = SIZED(s->in[i]);
    taps t = {at, weights, EDDY__NO_OUTPUT};
    eddy_output low, high;

    if (s->margin == REFLECTION) {
        borders(op, s, CAST(length, DTYPE(at)), &low, &high);
        t.at = reflect(op, at, low, high);
    }
    t.at = CAST(t.at, EDDY_INT64);
    if (s->margin == ZEROS)
        t.inside = OP("LogicalAnd", OP("GreaterEqual", t.at, INT64(0)),
                      OP("Less", t.at, length));
    t.at = OP("Maximum", OP("Minimum", t.at, OP("Sub", length, INT64(1))),
              INT64(0));
    return t;
}

static taps take_axis(eddy__onnx_op *op, const sampling *s, size_t i)
{
    const eddy_output at = OP("ExpandDims", coordinates(op, s, i), INT32(2));
    const eddy_dtype dtype = DTYPE(s->grid);
    const double first = s->reading == CUBIC ? -1.0 : 0.0;
    const double end = first + (double)n_taps[s->reading];
    eddy_output floor, steps, t, weights;

    if (s->reading == NEAREST)
        return settle(op, s, i, at, EDDY__NO_OUTPUT);
    floor = OP("Floor", at);
    t = OP("Sub", at, floor);
    if (s->reading == CUBIC) {
        weights = cubic(op, t);
    } else {
        const eddy_output both[] = {OP("Sub", NUMBER(dtype, 1.0), t), t};

        weights = eddy__onnx_join(op, both, 2, 2);
    }
    steps = OP("Range", INT64((int64_t)first), INT64((int64_t)end), INT64(1));
    return settle(op, s, i, OP("AddV2", floor, CAST(steps, dtype)),
                  CAST(weights, DTYPE(s->x)));
}

/* ---- all axes ---- */

/* [batch, places, taps] with its taps at axis 2 + i of 2 + n axes. */
static eddy_output spread(eddy__onnx_op *op, const sampling *s, eddy_output x,
                          size_t i)
{
    eddy__onnx_size shape[EDDY_MAX_RANK] = {s->batch, s->places};

    for (size_t k = 0; k < s->n; k++)
        shape[2 + k] = FIXED(k == i ? n_taps[s->reading] : 1);
    return OP("Reshape", x, eddy__onnx_sizes(op, shape, 2 + s->n));
}

/* The rows of the image, [batch * elements, channels]. */
static eddy_output as_rows(eddy__onnx_op *op, const sampling *s,
                           eddy__onnx_size elements)
{
    const int64_t perm[] = {0, 2, 1};
    const eddy_output x =
        OP("Reshape", s->x, SIZES(s->batch, s->channels, elements));

    return OP("Reshape", eddy__onnx_transpose(op, x, perm, 3),
              SIZES(TIMES(s->batch, elements), s->channels));
}

/* What stands at all taps: [batch, places, taps..., channels]. */
static eddy_output read_taps(eddy__onnx_op *op, const sampling *s,
                             const taps *t)
{
    eddy__onnx_size elements = FIXED(1), shape[EDDY_MAX_RANK];
    eddy_output at = INT64(0), inside = EDDY__NO_OUTPUT, x, first;

    for (size_t i = 0; i < s->n; i++) {
        elements = TIMES(elements, s->in[i]);
        at = OP("AddV2", OP("Mul", at, SIZED(s->in[i])),
                spread(op, s, t[i].at, i));
        if (s->margin != ZEROS)
            continue;
        x = spread(op, s, t[i].inside, i);
        inside = i == 0 ? x : OP("LogicalAnd", inside, x);
    }
    shape[0] = s->batch;
    for (size_t i = 1; i < 2 + s->n; i++)
        shape[i] = FIXED(1);
    first = OP("Mul", eddy__onnx_count(op, SIZED(s->batch)), SIZED(elements));
    first = OP("Reshape", first, eddy__onnx_sizes(op, shape, 2 + s->n));
    x = OP("GatherV2", as_rows(op, s, elements), OP("AddV2", at, first),
           INT32(0));
    if (s->margin != ZEROS)
        return x;
    return OP("SelectV2", OP("ExpandDims", inside, INT32(-1)), x,
              OP("ZerosLike", x));
}

static bool read_attrs(eddy__onnx_op *op, sampling *s)
{
    const bool is_old = op->opset < 20;
    const char *mode =
        eddy__onnx_text(op, "mode", is_old ? "bilinear" : "linear");
    const char *around = eddy__onnx_text(op, "padding_mode", "zeros");

    s->is_aligned = eddy__onnx_int(op, "align_corners", 0) != 0;
    s->reading = is_text(mode, is_old ? "bilinear" : "linear") ? LINEAR
                 : is_text(mode, is_old ? "bicubic" : "cubic") ? CUBIC
                                                               : NEAREST;
    s->margin = is_text(around, "border")       ? BORDER
                : is_text(around, "reflection") ? REFLECTION
                                                : ZEROS;
    if (!eddy__onnx_ok(op))
        return false;
    if (s->reading == NEAREST && !is_text(mode, "nearest"))
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE, "there is no mode '%s'",
                        mode ? mode : "");
    if (s->margin == ZEROS && !is_text(around, "zeros"))
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE, "there is no padding_mode '%s'",
                        around ? around : "");
    return eddy__onnx_ok(op);
}

/* The shape of the result: the image's, and the grid's but for its numbers. */
static eddy_output result_shape(eddy__onnx_op *op, const sampling *s)
{
    eddy__onnx_size shape[EDDY_MAX_RANK] = {s->batch, s->channels};

    for (size_t i = 0; i < s->n; i++)
        shape[2 + i] = DIM(s->grid, (int64_t)i + 1);
    return eddy__onnx_sizes(op, shape, 2 + s->n);
}

/* The sum over the taps of axis `i`, which is the last but the channels. */
static eddy_output add_taps(eddy__onnx_op *op, const sampling *s,
                            eddy_output read, eddy_output weights, size_t i)
{
    eddy__onnx_size shape[EDDY_MAX_RANK] = {s->batch, s->places};

    for (size_t k = 0; k < i + 2; k++)
        shape[2 + k] = FIXED(k == i ? n_taps[s->reading] : 1);
    weights = OP("Reshape", weights, eddy__onnx_sizes(op, shape, 4 + i));
    return eddy__onnx_reduce(op, "Sum", OP("Mul", read, weights),
                             INT64S((int64_t)i + 2), false);
}

static void emit_grid_sample(eddy__onnx_op *op)
{
    const int64_t perm[] = {0, 2, 1};
    sampling s = {.x = IN(0), .grid = IN(1), .places = FIXED(1)};
    int32_t rank = eddy__onnx_shape(op, s.x).rank;
    taps t[MOST_AXES];
    eddy_output y;

    if (rank < 0)
        rank = eddy__onnx_want_rank(op, s.grid, "a sampled image");
    if (!read_attrs(op, &s))
        return;
    if (rank < 3 || rank - 2 > MOST_AXES) {
        eddy__onnx_refuse(op, "an image of rank %d", (int)rank);
        return;
    }
    s.n = (size_t)rank - 2;
    s.batch = DIM(s.x, 0);
    s.channels = DIM(s.x, 1);
    for (size_t i = 0; i < s.n; i++) {
        s.in[i] = DIM(s.x, (int64_t)i + 2);
        s.places = TIMES(s.places, DIM(s.grid, (int64_t)i + 1));
    }
    for (size_t i = 0; i < s.n; i++)
        t[i] = take_axis(op, &s, i);
    y = read_taps(op, &s, t);
    for (size_t i = s.n; i-- > 0 && s.reading != NEAREST;)
        y = add_taps(op, &s, y, t[i].weights, i);
    if (s.reading == NEAREST)
        y = OP("Reshape", y, SIZES(s.batch, s.places, s.channels));
    GIVE(0, OP("Reshape", eddy__onnx_transpose(op, y, perm, 3),
               result_shape(op, &s)));
}

/* ---- AffineGrid ---- */

/* Where the elements of an axis are, from -1 to 1: float64. */
static eddy_output ruler(eddy__onnx_op *op, eddy_output length, bool is_aligned)
{
    const eddy_output at = CAST(eddy__onnx_count(op, length), EDDY_FLOAT64);
    const eddy_output n = CAST(length, EDDY_FLOAT64);
    const eddy_output one = NUMBER(EDDY_FLOAT64, 1.0);
    eddy_output step;

    if (is_aligned) {
        step = OP("Maximum", OP("Sub", n, one), one);
        step = OP("RealDiv", NUMBER(EDDY_FLOAT64, 2.0), step);
        return OP("Sub", OP("Mul", at, step), one);
    }
    step = OP("RealDiv", NUMBER(EDDY_FLOAT64, 2.0), n);
    return OP("Sub",
              OP("Mul", OP("AddV2", at, NUMBER(EDDY_FLOAT64, 0.5)), step), one);
}

/* [elements, n + 1]: where each is, the last axis first, and a 1. */
static eddy_output places_of(eddy__onnx_op *op, eddy_output size, size_t n,
                             bool is_aligned)
{
    const eddy_output all = OP("Fill", size, NUMBER(EDDY_FLOAT64, 0.0));
    const int64_t axis = -1;
    const eddy_attr attrs[] = {eddy_attr_int("axis", &axis)};
    eddy_output at[4];

    for (size_t i = 0; i < n; i++) {
        int64_t shape[3] = {1, 1, 1};
        const eddy_output length =
            OP("GatherV2", size, INT64((int64_t)i), INT32(0));

        shape[i] = -1;
        at[n - 1 - i] = OP("AddV2", all,
                           OP("Reshape", ruler(op, length, is_aligned),
                              eddy__onnx_int64s(op, shape, n)));
    }
    at[n] = OP("OnesLike", all);
    return OP("Reshape", eddy__onnx_emit(op, "Pack", at, n + 1, attrs, 1),
              INT64S(-1, (int64_t)n + 1));
}

static void emit_affine_grid(eddy__onnx_op *op)
{
    const int64_t perm[] = {0, 2, 1};
    const bool is_aligned = eddy__onnx_int(op, "align_corners", 0) != 0;
    const eddy_output theta = IN(0);
    const eddy_output size =
        eddy__onnx_tail(op, CAST(IN(1), EDDY_INT64), INT64(2));
    const eddy__onnx_size rows = DIM(theta, 1);
    eddy_shape shape = eddy__onnx_shape(op, size);
    int64_t n = rows.is_known ? rows.value : -1;
    eddy_output y;

    if (n < 0 && shape.rank == 1)
        n = shape.dims[0];
    if (n != 2 && n != 3) {
        eddy__onnx_refuse(op, "an image with other than 2 or 3 axes, or of "
                              "which that is not known");
        return;
    }
    y = eddy__onnx_transpose(op, CAST(theta, EDDY_FLOAT64), perm, 3);
    y = eddy__onnx_matmul(op, places_of(op, size, (size_t)n, is_aligned), y);
    y = OP("Reshape", y,
           eddy__onnx_concat(
               op,
               eddy__onnx_concat(
                   op, eddy__onnx_as_vector(op, SIZED(DIM(theta, 0))), size),
               INT64S(n)));
    GIVE(0, CAST(y, DTYPE(theta)));
}

#define NEWEST EDDY__ONNX_NEWEST

const eddy__onnx_row eddy__onnx_grid[] = {
    {"AffineGrid", 20, NEWEST, 2, 2, 1, 1, emit_affine_grid},
    {"GridSample", 16, NEWEST, 2, 2, 1, 1, emit_grid_sample},
    {.name = NULL},
};
