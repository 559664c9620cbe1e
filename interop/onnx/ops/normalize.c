/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX's normalizations. */
#include "interop/onnx/ops/windows.h"

#include <string.h>

/* Numbers of `x` less their mean, and the mean of the squares of that. */
typedef struct moments {
    eddy_output mean, centred, variance;
} moments;

static moments moments_of(eddy__onnx_op *op, eddy_output x, eddy_output axes)
{
    moments m = {.mean = eddy__onnx_reduce(op, "Mean", x, axes, true)};

    m.centred = OP("Sub", x, m.mean);
    m.variance =
        eddy__onnx_reduce(op, "Mean", OP("Square", m.centred), axes, true);
    return m;
}

static eddy_output with_epsilon(eddy__onnx_op *op, eddy_output variance,
                                float epsilon)
{
    return OP("AddV2", variance, LIKE(variance, (double)epsilon));
}

/* The dtype that the mean and so on are computed in; float32 by itself. */
static eddy_dtype stash_dtype(eddy__onnx_op *op, eddy_output x)
{
    const eddy_dtype dtype = DTYPE(x);

    if (!eddy__onnx_has(op, "stash_type"))
        return dtype == EDDY_FLOAT64 ? EDDY_FLOAT64 : EDDY_FLOAT32;
    return eddy__onnx_dtype_of(op, "stash_type");
}

/* ---- BatchNormalization ---- */

/* Before opset 9 there may be a number for each element of an image instead. */
static eddy_output by_channel(eddy__onnx_op *op, eddy_output vector,
                              eddy_output x)
{
    if (eddy__onnx_int(op, "spatial", 1) == 0)
        return CAST(vector, DTYPE(x));
    return CAST(eddy__onnx_channels(op, vector, x), DTYPE(x));
}

static eddy_output batch_normal(eddy__onnx_op *op, eddy_output x,
                                eddy_output mean, eddy_output variance,
                                float epsilon)
{
    const eddy_output root = OP("Sqrt", with_epsilon(op, variance, epsilon));
    eddy_output y = OP("Sub", x, by_channel(op, mean, x));

    y = OP("RealDiv", y, by_channel(op, root, x));
    y = OP("Mul", y, by_channel(op, IN(1), x));
    return OP("AddV2", y, by_channel(op, IN(2), x));
}

/* What was kept, and what this batch has, by so much of each. */
static eddy_output running(eddy__onnx_op *op, eddy_output old, eddy_output now,
                           double momentum)
{
    return OP("AddV2", OP("Mul", old, LIKE(old, momentum)),
              OP("Mul", CAST(now, DTYPE(old)), LIKE(old, 1.0 - momentum)));
}

/* All axes but that of the channels. */
static eddy_output all_but_channels(eddy__onnx_op *op, eddy_output x)
{
    return eddy__onnx_concat(op, INT64S(0), eddy__onnx_axes_from(op, x, 2));
}

static void emit_batch_normalization(eddy__onnx_op *op)
{
    const float epsilon = eddy__onnx_float(op, "epsilon", 1e-5f);
    const float momentum = eddy__onnx_float(op, "momentum", 0.9f);
    const bool trains = eddy__onnx_int(op, "training_mode", 0) != 0;
    const bool is_old = op->row->last < 14;
    const eddy_output x = IN(0);
    eddy_output axes, mean, variance;

    eddy__onnx_ignore(op, "is_test");
    eddy__onnx_ignore(op, "consumed_inputs");
    if (!trains) {
        GIVE(0, batch_normal(op, x, IN(3), IN(4), epsilon));
        if (is_old && (WANTS(1) || WANTS(2)))
            eddy__onnx_refuse(op, "training before opset 14");
        return;
    }
    axes = all_but_channels(op, x);
    mean = eddy__onnx_reduce(op, "Mean", x, axes, false);
    variance = eddy__onnx_reduce(
        op, "Mean", OP("Square", OP("Sub", x, by_channel(op, mean, x))), axes,
        false);
    GIVE(0, batch_normal(op, x, mean, variance, epsilon));
    if (WANTS(1))
        GIVE(1, running(op, IN(3), mean, (double)momentum));
    if (WANTS(2))
        GIVE(2, running(op, IN(4), variance, (double)momentum));
}

/* ---- by image, and by groups of channels ---- */

static void emit_instance_normalization(eddy__onnx_op *op)
{
    const float epsilon = eddy__onnx_float(op, "epsilon", 1e-5f);
    const eddy_output x = IN(0);
    const moments m = moments_of(op, x, eddy__onnx_axes_from(op, x, 2));
    eddy_output y = OP("RealDiv", m.centred,
                       OP("Sqrt", with_epsilon(op, m.variance, epsilon)));

    eddy__onnx_ignore(op, "consumed_inputs");
    y = OP("Mul", y, by_channel(op, IN(1), x));
    GIVE(0, OP("AddV2", y, by_channel(op, IN(2), x)));
}

/* Before opset 21 there is a scale for each group, then for each channel. */
static void emit_group_normalization(eddy__onnx_op *op)
{
    const float epsilon = eddy__onnx_float(op, "epsilon", 1e-5f);
    const int64_t groups = eddy__onnx_int(op, "num_groups", 0);
    const eddy_output x = IN(0);
    const eddy_dtype dtype = DTYPE(x), by = stash_dtype(op, x);
    eddy_output grouped, y, scale = IN(1), bias = IN(2);
    moments m;

    if (groups < 1) {
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE, "num_groups is %lld",
                        (long long)groups);
        return;
    }
    grouped =
        OP("Reshape", CAST(x, by), SIZES(DIM(x, 0), FIXED(groups), FIXED(-1)));
    m = moments_of(op, grouped, INT64S(2));
    y = OP("RealDiv", m.centred,
           OP("Sqrt", with_epsilon(op, m.variance, epsilon)));
    if (op->row->last < 21) {
        y = OP("Mul", CAST(y, dtype), OP("ExpandDims", scale, INT32(1)));
        y = OP("AddV2", y, OP("ExpandDims", bias, INT32(1)));
        GIVE(0, OP("Reshape", y, eddy__onnx_dims(op, x)));
        return;
    }
    y = CAST(OP("Reshape", y, eddy__onnx_dims(op, x)), dtype);
    y = OP("Mul", y, by_channel(op, scale, x));
    GIVE(0, OP("AddV2", y, by_channel(op, bias, x)));
}

/* ---- over the last axes ---- */

static void emit_layer_normalization(eddy__onnx_op *op)
{
    const float epsilon = eddy__onnx_float(op, "epsilon", 1e-5f);
    const eddy_output x = IN(0);
    const int64_t axis = eddy__onnx_axis(op, x, eddy__onnx_int(op, "axis", -1));
    const eddy_dtype by = stash_dtype(op, x);
    /* Without a stash_type it is float32 that the moments are given in. */
    const eddy_dtype given =
        eddy__onnx_has(op, "stash_type") ? by : EDDY_FLOAT32;
    const moments m =
        moments_of(op, CAST(x, by), eddy__onnx_axes_from(op, x, axis));
    const eddy_output inverse =
        OP("Reciprocal", OP("Sqrt", with_epsilon(op, m.variance, epsilon)));
    eddy_output y = CAST(OP("Mul", m.centred, inverse), DTYPE(x));

    y = OP("Mul", y, CAST(IN(1), DTYPE(x)));
    if (GIVEN(2))
        y = OP("AddV2", y, CAST(IN(2), DTYPE(x)));
    GIVE(0, y);
    GIVE(1, CAST(m.mean, given));
    GIVE(2, CAST(inverse, given));
}

static void emit_rms_normalization(eddy__onnx_op *op)
{
    const float epsilon = eddy__onnx_float(op, "epsilon", 1e-5f);
    const eddy_output x = IN(0);
    const int64_t axis = eddy__onnx_axis(op, x, eddy__onnx_int(op, "axis", -1));
    const eddy_dtype by = stash_dtype(op, x);
    const eddy_output wide = CAST(x, by);
    const eddy_output square =
        eddy__onnx_reduce(op, "Mean", OP("Square", wide),
                          eddy__onnx_axes_from(op, x, axis), true);
    const eddy_output y =
        OP("RealDiv", wide, OP("Sqrt", with_epsilon(op, square, epsilon)));
    const eddy_dtype to = DTYPE(IN(1));

    GIVE(0, OP("Mul", CAST(y, to), IN(1)));
}

static void emit_mean_variance(eddy__onnx_op *op)
{
    const eddy_output x = IN(0);
    const int64_t *axes;
    const size_t n = eddy__onnx_list_of_ints(op, "axes", &axes);
    const moments m = moments_of(
        op, x, n > 0 ? eddy__onnx_int64s(op, axes, n) : INT64S(0, 2, 3));

    GIVE(0, OP("RealDiv", m.centred,
               OP("AddV2", OP("Sqrt", m.variance), LIKE(x, 1e-9))));
}

/* By the length of the vectors along an axis; those of length 0 stay. */
static void emit_lp_normalization(eddy__onnx_op *op)
{
    const int64_t axis = eddy__onnx_int(op, "axis", -1);
    const int64_t p = eddy__onnx_int(op, "p", 2);
    const eddy_output x = IN(0);
    eddy_output length;

    if (p != 1 && p != 2) {
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE, "p is %lld, and not 1 or 2",
                        (long long)p);
        return;
    }
    length = eddy__onnx_reduce(op, "Sum", OP(p == 1 ? "Abs" : "Square", x),
                               INT64S(axis), true);
    if (p == 2)
        length = OP("Sqrt", length);
    GIVE(0, OP("DivNoNan", x, length));
}

/* [batch, channels, rest], whatever the rank is. */
static eddy_output in_three(eddy__onnx_op *op, eddy_output x)
{
    const eddy__onnx_size batch = DIM(x, 0), channels = DIM(x, 1);
    const eddy_output n = SIZED(TIMES(batch, channels));
    const eddy_output rest = OP("FloorDiv", CAST(OP("Size", x), EDDY_INT64),
                                OP("Maximum", n, INT64(1)));

    return OP("Reshape", x,
              eddy__onnx_concat(op, SIZES(batch, channels),
                                eddy__onnx_as_vector(op, rest)));
}

/* By the squares of the channels around each. */
static void emit_lrn(eddy__onnx_op *op)
{
    const double alpha = (double)eddy__onnx_float(op, "alpha", 1e-4f);
    const double beta = (double)eddy__onnx_float(op, "beta", 0.75f);
    const double bias = (double)eddy__onnx_float(op, "bias", 1.0f);
    const int64_t size = eddy__onnx_int(op, "size", 0);
    const eddy_output x = IN(0);
    const eddy__onnx_windows w = {.n = 1,
                                  .kernel = {FIXED(size)},
                                  .stride = {1},
                                  .dilation = {1},
                                  .out = {DIM(x, 1)}};
    const int64_t before = size > 0 ? (size - 1) / 2 : 0;
    const int64_t pads[6] = {0, 0, before, size / 2, 0, 0};
    eddy_output sum;

    if (size < 1) {
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE, "size is %lld", (long long)size);
        return;
    }
    sum = OP("Pad", in_three(op, OP("Square", x)),
             OP("Reshape", eddy__onnx_int64s(op, pads, 6), INT64S(-1, 2)));
    sum = eddy__onnx_windows_along(op, sum, &w, 0, 1);
    sum = eddy__onnx_reduce(op, "Sum", sum, INT64S(2), false);
    sum = OP("AddV2", OP("Mul", sum, LIKE(x, alpha / (double)size)),
             LIKE(x, bias));
    sum = OP("Reshape", OP("Pow", sum, LIKE(x, beta)), eddy__onnx_dims(op, x));
    GIVE(0, OP("RealDiv", x, sum));
}

#define NEWEST EDDY__ONNX_NEWEST
#define ONE(name, first, emit)                                                 \
    {                                                                          \
        name, first, NEWEST, 1, 1, 1, 1, emit                                  \
    }

const eddy__onnx_row eddy__onnx_normalize[] = {
    {"BatchNormalization", 1, 13, 5, 5, 1, 5, emit_batch_normalization},
    {"BatchNormalization", 14, NEWEST, 5, 5, 1, 3, emit_batch_normalization},
    {"GroupNormalization", 18, 20, 3, 3, 1, 1, emit_group_normalization},
    {"GroupNormalization", 21, NEWEST, 3, 3, 1, 1, emit_group_normalization},
    {"InstanceNormalization", 1, NEWEST, 3, 3, 1, 1,
     emit_instance_normalization},
    {"LayerNormalization", 17, NEWEST, 2, 3, 1, 3, emit_layer_normalization},
    ONE("LpNormalization", 1, emit_lp_normalization),
    ONE("LRN", 1, emit_lrn),
    ONE("MeanVarianceNormalization", 9, emit_mean_variance),
    {"RMSNormalization", 23, NEWEST, 2, 2, 1, 1, emit_rms_normalization},
    {.name = NULL},
};
