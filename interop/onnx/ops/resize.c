/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX's Resize and Upsample: each axis by itself, as sums of what stands near
 * a place, by weights that follow from how far off it is.
 */
#include "interop/onnx/ops/kit.h"

#include <string.h>

/* One axis; all numbers are float64 scalars. */
typedef struct side {
    int32_t rank; /* of the image */
    int64_t axis;
    eddy_output in;       /* its length */
    eddy_output scale;    /* how much longer it gets */
    eddy_output length;   /* scale times its length, not rounded */
    eddy_output out;      /* its length afterwards, int64 */
    eddy_output from, to; /* of the region, for tf_crop_and_resize */
} side;

#define F64(value) NUMBER(EDDY_FLOAT64, (value))

static bool is_text(const char *text, const char *other)
{
    return text && strcmp(text, other) == 0;
}

/* Where each place of the result is in the image: a vector. */
static eddy_output places(eddy__onnx_op *op, const char *mode, const side *s)
{
    const eddy_output at = CAST(eddy__onnx_count(op, s->out), EDDY_FLOAT64);
    const eddy_output last = OP("Sub", s->in, F64(1.0));
    const eddy_output half =
        OP("Sub", OP("RealDiv", OP("AddV2", at, F64(0.5)), s->scale), F64(0.5));
    const eddy_output is_one = OP("Equal", s->length, F64(1.0));
    const eddy_output steps = OP("Sub", s->length, F64(1.0));
    eddy_output size, x;

    if (is_text(mode, "asymmetric"))
        return OP("RealDiv", at, s->scale);
    if (is_text(mode, "align_corners"))
        return OP("SelectV2", is_one, F64(0.0),
                  OP("RealDiv", OP("Mul", at, last), steps));
    if (is_text(mode, "half_pixel"))
        return half;
    if (is_text(mode, "pytorch_half_pixel"))
        return OP("SelectV2", is_one, F64(-0.5), half);
    if (is_text(mode, "half_pixel_symmetric")) {
        x = OP("RealDiv", CAST(s->out, EDDY_FLOAT64), s->length);
        x = OP("Mul", OP("Sub", F64(1.0), x), OP("Mul", s->in, F64(0.5)));
        return OP("AddV2", half, x);
    }
    if (!is_text(mode, "tf_crop_and_resize")) {
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE,
                        "there is no coordinate_transformation_mode '%s'",
                        mode);
        return EDDY__NO_OUTPUT;
    }
    size = OP("Mul", OP("Sub", s->to, s->from), last);
    x = OP("SelectV2", is_one, OP("Mul", size, F64(0.5)),
           OP("RealDiv", OP("Mul", at, size), steps));
    return OP("AddV2", x, OP("Mul", s->from, last));
}

/* Elements of an axis by a matrix of numbers, those outside at the ends. */
static eddy_output gather(eddy__onnx_op *op, eddy_output x, eddy_output at,
                          const side *s)
{
    const eddy_output last = OP("Sub", CAST(s->in, EDDY_INT64), INT64(1));

    at = OP("Minimum", OP("Maximum", CAST(at, EDDY_INT64), INT64(0)), last);
    return OP("GatherV2", x, at, INT32(s->axis));
}

static eddy_output nearest(eddy__onnx_op *op, eddy_output x, eddy_output at,
                           const char *mode, const side *s)
{
    if (op->row->last < 11) /* as ONNX Runtime, and ONNX's tests of then */
        at = OP("SelectV2", OP("Less", s->scale, F64(1.0)), OP("Ceil", at),
                OP("Floor", at));
    else if (is_text(mode, "round_prefer_floor"))
        at = OP("Ceil", OP("Sub", at, F64(0.5)));
    else if (is_text(mode, "round_prefer_ceil"))
        at = OP("Floor", OP("AddV2", at, F64(0.5)));
    else if (is_text(mode, "floor"))
        at = OP("Floor", at);
    else if (is_text(mode, "ceil"))
        at = OP("Ceil", at);
    else
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE, "there is no nearest_mode '%s'",
                        mode ? mode : "");
    return gather(op, x, at, s);
}

/* The weight of what is `d` from a place, d from 0 on. */
static eddy_output weight_at(eddy__onnx_op *op, eddy_output d, bool is_cubic,
                             double a)
{
    eddy_output near, far;

    if (!is_cubic)
        return OP("Maximum", OP("Sub", F64(1.0), d), F64(0.0));
    near = OP("Sub", OP("Mul", d, F64(a + 2.0)), F64(a + 3.0));
    near = OP("AddV2", OP("Mul", OP("Mul", near, d), d), F64(1.0));
    far = OP("Sub", OP("Mul", d, F64(a)), F64(5.0 * a));
    far = OP("AddV2", OP("Mul", far, d), F64(8.0 * a));
    far = OP("Sub", OP("Mul", far, d), F64(4.0 * a));
    far = OP("SelectV2", OP("Less", d, F64(2.0)), far, F64(0.0));
    return OP("SelectV2", OP("LessEqual", d, F64(1.0)), near, far);
}

/* Sums over the elements within reach of each place. */
static eddy_output weighted(eddy__onnx_op *op, eddy_output x, eddy_output at,
                            bool is_cubic, const side *s)
{
    const double a = (double)eddy__onnx_float(op, "cubic_coeff_a", -0.75f);
    const bool is_wide = eddy__onnx_int(op, "antialias", 0) != 0;
    const bool drops = eddy__onnx_int(op, "exclude_outside", 0) != 0;
    const eddy_output scale =
        is_wide ? OP("Minimum", s->scale, F64(1.0)) : F64(1.0);
    const eddy_output floor = OP("Sub", OP("Ceil", at), F64(1.0));
    int64_t shape[EDDY_MAX_RANK];
    eddy_output begin, taps, near, weights, inside, y;

    /* An element that a place falls on is the one after the first. */
    begin = OP("Floor", OP("RealDiv", F64(is_cubic ? -2.0 : -1.0), scale));
    begin = OP("AddV2", begin, F64(1.0));
    taps = OP("Range", begin, OP("Sub", F64(2.0), begin), F64(1.0));
    near = OP("AddV2", OP("ExpandDims", floor, INT32(1)), taps);
    weights = OP("Abs", OP("Sub", near, OP("ExpandDims", at, INT32(1))));
    weights = weight_at(op, OP("Mul", weights, scale), is_cubic, a);
    if (drops) {
        inside = OP("LogicalAnd", OP("GreaterEqual", near, F64(0.0)),
                    OP("Less", near, s->in));
        weights = OP("SelectV2", inside, weights, F64(0.0));
    }
    weights = OP("RealDiv", weights,
                 eddy__onnx_reduce(op, "Sum", weights, INT64S(1), true));
    for (int32_t i = 0; i < s->rank; i++)
        shape[i] = 1;
    y = gather(op, x, near, s);
    /* [out, taps], and as many axes as are behind. */
    weights =
        OP("Reshape", weights,
           eddy__onnx_concat(
               op, eddy__onnx_dims(op, weights),
               eddy__onnx_int64s(op, shape, (size_t)(s->rank - 1 - s->axis))));
    return CAST(eddy__onnx_reduce(op, "Sum",
                                  OP("Mul", CAST(y, EDDY_FLOAT64), weights),
                                  INT64S(s->axis + 1), false),
                DTYPE(x));
}

/* An image in a dtype in which an axis after the other is summed. */
static eddy_output as_sums(eddy__onnx_op *op, eddy_output x, const char *mode)
{
    const eddy_dtype dtype = DTYPE(x);

    if (is_text(mode, "nearest") || dtype == EDDY_FLOAT32)
        return x;
    return CAST(x, EDDY_FLOAT64);
}

/* One axis of `x` made longer or shorter. */
static eddy_output resized(eddy__onnx_op *op, eddy_output x, const char *mode,
                           const char *transformation, const side *s)
{
    const bool crops = is_text(transformation, "tf_crop_and_resize");
    const double beyond =
        (double)eddy__onnx_float(op, "extrapolation_value", 0.0f);
    const char *rounding =
        eddy__onnx_text(op, "nearest_mode", "round_prefer_floor");
    const eddy_output at = places(op, transformation, s);
    int64_t shape[EDDY_MAX_RANK];
    eddy_output y, inside;

    if (is_text(mode, "nearest"))
        y = nearest(op, x, at, rounding, s);
    else
        y = weighted(op, x, at, is_text(mode, "cubic"), s);
    if (!crops)
        return y;
    inside = OP("LogicalAnd", OP("GreaterEqual", at, F64(0.0)),
                OP("LessEqual", at, OP("Sub", s->in, F64(1.0))));
    for (int32_t i = 0; i < s->rank; i++)
        shape[i] = i == 0 ? -1 : 1;
    inside = OP("Reshape", inside,
                eddy__onnx_int64s(op, shape, (size_t)(s->rank - s->axis)));
    return OP("SelectV2", inside, y, LIKE(x, beyond));
}

/* Element `i` of an input, as float64. */
static eddy_output number_at(eddy__onnx_op *op, size_t input, size_t i)
{
    return CAST(OP("GatherV2", IN(input), INT64((int64_t)i), INT32(0)),
                EDDY_FLOAT64);
}

/* The scale that all axes get, by keep_aspect_ratio_policy; or none. */
static eddy_output common_scale(eddy__onnx_op *op, eddy_output x,
                                const int64_t *axes, size_t n)
{
    const char *policy =
        eddy__onnx_text(op, "keep_aspect_ratio_policy", "stretch");
    const bool is_most = is_text(policy, "not_smaller");
    eddy_output scale = EDDY__NO_OUTPUT;

    if (!is_most && !is_text(policy, "not_larger"))
        return scale;
    for (size_t i = 0; i < n; i++) {
        const eddy_output one = OP("RealDiv", number_at(op, 3, i),
                                   CAST(SIZED(DIM(x, axes[i])), EDDY_FLOAT64));

        scale = i == 0 ? one : OP(is_most ? "Maximum" : "Minimum", scale, one);
    }
    return scale;
}

/* How long an axis gets: `i` is its place among those that are resized. */
static void read_side(eddy__onnx_op *op, size_t i, size_t n, size_t scales,
                      eddy_output common, side *s)
{
    if (scales != 0 && GIVEN(3)) {
        s->out = CAST(number_at(op, 3, i), EDDY_INT64);
        s->scale = OP("RealDiv", number_at(op, 3, i), s->in);
        if (common.node != EDDY_NO_NODE) {
            s->scale = common;
            s->out = CAST(
                OP("Floor", OP("AddV2", OP("Mul", common, s->in), F64(0.5))),
                EDDY_INT64);
        }
    } else {
        s->scale = number_at(op, op->row->last < 11 ? 1 : 2, i);
        s->out = CAST(OP("Floor", OP("Mul", s->scale, s->in)), EDDY_INT64);
    }
    s->length = OP("Mul", s->scale, s->in);
    if (op->row->last >= 11 && GIVEN(1)) {
        s->from = number_at(op, 1, i);
        s->to = number_at(op, 1, i + n);
    }
}

/* Is the axis certain to stay as it is? */
static bool stays(eddy__onnx_op *op, size_t i)
{
    const size_t input = op->row->last < 11 ? 1 : 2;
    const eddy_tensor *scales =
        GIVEN(input) ? eddy__onnx_known(op, input) : NULL;

    return scales && eddy_tensor_dtype(scales) == EDDY_FLOAT32 &&
           (int64_t)i < eddy_tensor_count(scales) &&
           ((const float *)eddy_tensor_data(scales))[i] == 1.0f;
}

/* The image, of which the rank is known, or as many axes as there are scales.
 */
static eddy_output image_of(eddy__onnx_op *op)
{
    const eddy_output x = IN(0);
    const size_t given = op->row->last < 11 ? 1 : GIVEN(3) ? 3 : 2;
    const int64_t n = eddy__onnx_count_of(op, given);

    if (n < 1 || n > EDDY_MAX_RANK || eddy__onnx_has(op, "axes"))
        return x;
    return eddy__onnx_of_rank(op, x, (int32_t)n);
}

static void emit_resize(eddy__onnx_op *op)
{
    const bool is_old = op->row->last < 11;
    const char *mode = eddy__onnx_text(op, "mode", "nearest");
    const char *transformation =
        eddy__onnx_text(op, "coordinate_transformation_mode",
                        is_old ? "asymmetric" : "half_pixel");
    const eddy_output x = image_of(op);
    const int32_t rank = eddy__onnx_want_rank(op, x, "a Resize");
    const bool crops = is_text(transformation, "tf_crop_and_resize");
    int64_t axes[EDDY_MAX_RANK];
    const int64_t *listed;
    size_t n = eddy__onnx_list_of_ints(op, "axes", &listed);
    eddy_output y, common;

    if (!eddy__onnx_ok(op) || !mode || n > EDDY_MAX_RANK)
        return;
    y = as_sums(op, x, mode);
    for (size_t i = 0; i < (n > 0 ? n : (size_t)rank); i++)
        axes[i] = n > 0 ? eddy__onnx_axis(op, x, listed[i]) : (int64_t)i;
    n = n > 0 ? n : (size_t)rank;
    common =
        !is_old && GIVEN(3) ? common_scale(op, x, axes, n) : EDDY__NO_OUTPUT;
    eddy__onnx_ignore(op, "keep_aspect_ratio_policy");
    eddy__onnx_ignore(op, "extrapolation_value");
    eddy__onnx_ignore(op, "cubic_coeff_a");
    eddy__onnx_ignore(op, "exclude_outside");
    eddy__onnx_ignore(op, "antialias");
    eddy__onnx_ignore(op, "nearest_mode");
    if (crops && !GIVEN(1))
        eddy__onnx_fail(op, EDDY_E_INPUT_COUNT, "there is no roi");
    for (size_t i = 0; i < n; i++) {
        side s = {.rank = rank,
                  .axis = axes[i],
                  .in = CAST(SIZED(DIM(x, axes[i])), EDDY_FLOAT64)};

        if (stays(op, i) && !crops)
            continue;
        read_side(op, i, n, is_old ? 0 : 2, common, &s);
        y = resized(op, y, mode, transformation, &s);
    }
    GIVE(0, y.node == x.node ? OP("Identity", x) : CAST(y, DTYPE(x)));
}

/*
 * The scales of an Upsample whose scales are attributes: one for each axis, or
 * those of the last two of four.
 */
static size_t old_scales(eddy__onnx_op *op, float *scales)
{
    const float *listed = NULL;
    size_t n = 4;

    if (op->row->last < 7) {
        scales[0] = scales[1] = 1.0f;
        scales[2] = eddy__onnx_float(op, "height_scale", 0.0f);
        scales[3] = eddy__onnx_float(op, "width_scale", 0.0f);
    } else {
        n = eddy__onnx_list_of_floats(op, "scales", &listed);
        for (size_t i = 0; i < n && i < EDDY_MAX_RANK; i++)
            scales[i] = listed[i];
    }
    for (size_t i = 0; i < n && i < EDDY_MAX_RANK; i++)
        if (!(scales[i] >= 1.0f))
            n = 0;
    if ((n == 0 || n > EDDY_MAX_RANK) && eddy__onnx_ok(op))
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE,
                        "scales of at least 1, one for each axis, are wanted");
    return eddy__onnx_ok(op) ? n : 0;
}

static void emit_old_upsample(eddy__onnx_op *op)
{
    const char *mode = eddy__onnx_text(op, "mode", "nearest");
    float scales[EDDY_MAX_RANK] = {0};
    const size_t n = old_scales(op, scales);
    const eddy_output x = eddy__onnx_of_rank(op, IN(0), (int32_t)n);
    const int32_t rank = eddy__onnx_shape(op, x).rank;
    eddy_output y = as_sums(op, x, mode);

    if (eddy__onnx_ok(op) && (size_t)rank != n)
        eddy__onnx_fail(op, EDDY_E_RANK, "%zu scales for an image of rank %d",
                        n, (int)rank);
    for (size_t i = 0; i < n && eddy__onnx_ok(op); i++) {
        side s = {.rank = rank,
                  .axis = (int64_t)i,
                  .in = CAST(SIZED(DIM(x, (int64_t)i)), EDDY_FLOAT64),
                  .scale = F64((double)scales[i])};

        if (scales[i] == 1.0f)
            continue;
        s.length = OP("Mul", s.scale, s.in);
        s.out = CAST(OP("Floor", s.length), EDDY_INT64);
        y = resized(op, y, mode, "asymmetric", &s);
    }
    GIVE(0, y.node == x.node ? OP("Identity", x) : CAST(y, DTYPE(x)));
}

#define NEWEST EDDY__ONNX_NEWEST

const eddy__onnx_row eddy__onnx_resize[] = {
    {"Resize", 10, 10, 2, 2, 1, 1, emit_resize},
    {"Resize", 11, NEWEST, 1, 4, 1, 1, emit_resize},
    {"Upsample", 1, 6, 1, 1, 1, 1, emit_old_upsample},
    {"Upsample", 7, 8, 1, 1, 1, 1, emit_old_upsample},
    {"Upsample", 9, 9, 2, 2, 1, 1, emit_resize},
    {.name = NULL},
};
