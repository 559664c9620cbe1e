/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX's quantization: integers with a scale and a zero point. */
#include "interop/onnx/ops/quantized.h"

#include <string.h>

/* ONNX's number of float4e2m1, which may have a zero point. */
#define FLOAT4 23

eddy_output eddy__onnx_by_channel(eddy__onnx_op *op, eddy_output x, size_t rank,
                                  int64_t axis)
{
    const eddy_shape shape = eddy__onnx_shape(op, x);
    int64_t to[EDDY_MAX_RANK];

    if (shape.rank == 0)
        return x;
    if (shape.rank == 1 && shape.dims[0] == 1)
        return eddy__onnx_as_scalar(op, x);
    for (size_t i = 0; i < rank && i < EDDY_MAX_RANK; i++)
        to[i] = (int64_t)i == axis ? -1 : 1;
    return OP("Reshape", x, eddy__onnx_int64s(op, to, rank));
}

/* The least and largest of an integer dtype of at most 16 bits, or int32. */
static bool range_of(eddy_dtype dtype, double *out_least, double *out_most)
{
    static const struct {
        eddy_dtype dtype;
        double least, most;
    } ranges[] = {
        {EDDY_INT8, -128.0, 127.0},
        {EDDY_UINT8, 0.0, 255.0},
        {EDDY_INT16, -32768.0, 32767.0},
        {EDDY_UINT16, 0.0, 65535.0},
        {EDDY_INT32, -2147483648.0, 2147483647.0},
    };

    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (ranges[i].dtype == dtype) {
            *out_least = ranges[i].least;
            *out_most = ranges[i].most;
            return true;
        }
    return false;
}

/* `x` + `zero`, rounded and bounded, as `to`. */
static eddy_output bounded(eddy__onnx_op *op, eddy_output x, eddy_output zero,
                           eddy_dtype to, double least, double most)
{
    /* A half has no room for 65535. */
    eddy_output y = CAST(OP("Rint", x), EDDY_FLOAT32);

    y = OP("AddV2", y, CAST(zero, EDDY_FLOAT32));
    y = OP("Minimum", OP("Maximum", y, LIKE(y, least)), LIKE(y, most));
    return CAST(y, to);
}

eddy_output eddy__onnx_saturated(eddy__onnx_op *op, eddy_output x,
                                 eddy_output zero, eddy_dtype to)
{
    double least, most;

    if (!range_of(to, &least, &most)) {
        if (eddy__onnx_ok(op))
            eddy__onnx_refuse(op, "quantization to %s", eddy_dtype_name(to));
        return EDDY__NO_OUTPUT;
    }
    return bounded(op, x, zero, to, least, most);
}

/* ---- scales ---- */

/*
 * A scale or a zero point of blocks along `axis`: each element stands for so
 * many.  [.., n, ..] to [.., n * block, ..]
 */
static eddy_output by_block(eddy__onnx_op *op, eddy_output scale, int64_t axis,
                            int64_t block)
{
    const int32_t rank = eddy__onnx_want_rank(op, scale, "scales of blocks");
    eddy__onnx_size wide[EDDY_MAX_RANK + 1], whole[EDDY_MAX_RANK];
    size_t at = 0, blocks = 0;

    if (!eddy__onnx_ok(op))
        return EDDY__NO_OUTPUT;
    for (int32_t i = 0; i < rank; i++) {
        whole[i] = DIM(scale, i);
        wide[at++] = whole[i];
        if (i != axis)
            continue;
        whole[i] = TIMES(whole[i], FIXED(block));
        blocks = at;
        wide[at++] = FIXED(1);
    }
    scale = OP("Reshape", scale, eddy__onnx_sizes(op, wide, at));
    wide[blocks] = FIXED(block);
    scale = OP("BroadcastTo", scale, eddy__onnx_sizes(op, wide, at));
    return OP("Reshape", scale, eddy__onnx_sizes(op, whole, (size_t)rank));
}

/* A vector for `axis` of `x`, or one number, where a rank is not known. */
static eddy_output along(eddy__onnx_op *op, eddy_output vector, int64_t axis,
                         eddy_output x)
{
    const eddy_output rank = eddy__onnx_rank64(op, x);
    const eddy_output at = eddy__onnx_from_zero(op, INT64(axis), rank);
    const eddy_output behind =
        OP("Maximum", OP("Sub", OP("Sub", rank, at), INT64(1)), INT64(0));
    const eddy_output shape = eddy__onnx_concat(
        op, INT64S(-1), OP("Fill", eddy__onnx_as_vector(op, behind), INT64(1)));

    /* A scalar stays one. */
    return OP(
        "Reshape", vector,
        eddy__onnx_head(op, shape,
                        OP("Minimum", rank, OP("AddV2", behind, INT64(1)))));
}

/* Input `i`, a scale or zero point, so that it goes with `x`. */
static eddy_output lined_up(eddy__onnx_op *op, size_t i, eddy_output x,
                            int64_t axis, int64_t block)
{
    const eddy_shape own = eddy__onnx_shape(op, IN(i));
    int32_t rank;

    if (own.rank == 0 || (own.rank == 1 && own.dims[0] == 1))
        return eddy__onnx_as_scalar(op, IN(i));
    rank = eddy__onnx_shape(op, x).rank;
    if (rank < 0 && block == 0)
        return along(op, IN(i), axis, x);
    rank = eddy__onnx_want_rank(op, x, "a scale for each channel");
    /* An axis that is not there is that of one number, in whatever shape. */
    if ((own.rank < 0 || own.dims[0] < 0) && rank >= 0 && axis >= rank)
        return eddy__onnx_as_scalar(op, IN(i));
    axis = eddy__onnx_axis(op, x, axis);
    if (block > 0)
        return by_block(op, IN(i), axis, block);
    return eddy__onnx_by_channel(op, IN(i), (size_t)rank, axis);
}

/* A dtype that is an attribute, where 0 says that there is none. */
static eddy_dtype dtype_or_none(eddy__onnx_op *op, const char *name)
{
    return eddy__onnx_int(op, name, 0) == 0 ? EDDY_INVALID
                                            : eddy__onnx_dtype_of(op, name);
}

/*
 * To a dtype of a byte or less.  The float8 kinds have no zero point but 0.
 */
static void give_narrow(eddy__onnx_op *op, eddy_output y, eddy_output zero,
                        int32_t to)
{
    double least, most;

    if (eddy__onnx_narrow_range(to, &least, &most)) {
        eddy__onnx_ignore(op, "saturate");
        y = bounded(op, y, zero,
                    to == eddy__onnx_in_narrow(op, 2) ? DTYPE(IN(2))
                    : least < 0                       ? EDDY_INT8
                                                      : EDDY_UINT8,
                    least, most);
    } else {
        if (eddy__onnx_in_narrow(op, 2) == to && to == FLOAT4)
            y = OP("AddV2", CAST(y, EDDY_FLOAT64),
                   eddy__onnx_decoded(op, zero, to));
        y = eddy__onnx_encoded(op, y, to);
    }
    eddy__onnx_give_codes(op, 0, y, to);
}

static void emit_quantize(eddy__onnx_op *op)
{
    const int64_t axis = eddy__onnx_int(op, "axis", 1);
    const int64_t block = eddy__onnx_int(op, "block_size", 0);
    const eddy_dtype precision = dtype_or_none(op, "precision");
    const eddy_output x = IN(0);
    eddy_output scale = lined_up(op, 1, x, axis, block), zero, y;
    const int32_t asked = eddy__onnx_int(op, "output_dtype", 0) != 0
                              ? eddy__onnx_number_of(op, "output_dtype")
                              : 0;
    const int32_t narrow =
        eddy__onnx_is_narrow(asked) ? asked : eddy__onnx_in_narrow(op, 2);
    eddy_dtype to, by = precision != EDDY_INVALID ? precision : DTYPE(scale);

    to = asked == 0 || narrow > 0 ? EDDY_INVALID
                                  : eddy__onnx_dtype_of(op, "output_dtype");
    if (to == EDDY_INVALID)
        to = GIVEN(2) ? DTYPE(IN(2)) : EDDY_UINT8;
    zero = GIVEN(2) ? lined_up(op, 2, x, axis, block) : NUMBER(to, 0.0);
    if (!eddy__onnx_is_float(by))
        by = eddy__onnx_is_float(DTYPE(x)) ? DTYPE(x) : EDDY_FLOAT64;
    scale = CAST(scale, by);
    y = OP("RealDiv", CAST(x, by), scale);
    if (narrow > 0) {
        give_narrow(op, y, zero, narrow);
        return;
    }
    eddy__onnx_ignore(op, "saturate");
    GIVE(0, eddy__onnx_saturated(op, y, zero, to));
}

static void emit_dequantize(eddy__onnx_op *op)
{
    const int64_t axis = eddy__onnx_int(op, "axis", 1);
    const int64_t block = eddy__onnx_int(op, "block_size", 0);
    const eddy_output x = IN(0);
    const eddy_output scale = lined_up(op, 1, x, axis, block);
    const int32_t narrow = eddy__onnx_in_narrow(op, 0);
    const bool is_float = eddy__onnx_narrow_is_float(narrow);
    eddy_dtype to = dtype_or_none(op, "output_dtype");
    eddy_output y =
        is_float ? eddy__onnx_decoded(op, x, narrow) : CAST(x, EDDY_INT32);

    if (to == EDDY_INVALID)
        to = DTYPE(scale);
    /* That of floats is 0. */
    if (GIVEN(2) && !is_float)
        y = OP("Sub", y, CAST(lined_up(op, 2, x, axis, block), EDDY_INT32));
    y = OP("Mul", CAST(y, EDDY_FLOAT32), CAST(scale, EDDY_FLOAT32));
    GIVE(0, CAST(y, to));
}

/* To uint8, by a scale that holds 0 and all that is there. */
static void emit_dynamic_quantize(eddy__onnx_op *op)
{
    const eddy_output x = IN(0), axes = eddy__onnx_axes_from(op, x, 0);
    const eddy_output zero = LIKE(x, 0.0), most = LIKE(x, 255.0);
    const eddy_output high =
        OP("Maximum", eddy__onnx_reduce(op, "Max", x, axes, false), zero);
    const eddy_output low =
        OP("Minimum", eddy__onnx_reduce(op, "Min", x, axes, false), zero);
    const eddy_output range = OP("Sub", high, low);
    const eddy_output scale = OP("RealDiv", range, most);
    eddy_output point = OP("Rint", OP("RealDiv", OP("Neg", low), scale));

    /* An input of zeros has scale 0, and any zero point. */
    point = OP("SelectV2", OP("Greater", scale, zero), point, zero);
    point = OP("Minimum", OP("Maximum", point, zero), most);
    GIVE(0,
         eddy__onnx_saturated(op, OP("RealDiv", x, scale), point, EDDY_UINT8));
    GIVE(1, scale);
    GIVE(2, CAST(point, EDDY_UINT8));
}

/* ---- QLinearMatMul ---- */

/* One a row of `a`, or one a column of `b`. */
static eddy_output of_rows(eddy__onnx_op *op, size_t i, bool is_row)
{
    const eddy_output x = IN(i);
    const eddy_shape shape = eddy__onnx_shape(op, x);

    if (shape.rank == 0 || (shape.rank == 1 && shape.dims[0] == 1))
        return eddy__onnx_as_scalar(op, x);
    return shape.rank == 1 && is_row ? OP("ExpandDims", x, INT32(1)) : x;
}

static void emit_qlinear_matmul(eddy__onnx_op *op)
{
    const eddy_output a = OP("Sub", CAST(IN(0), EDDY_INT32),
                             CAST(of_rows(op, 2, true), EDDY_INT32));
    const eddy_output b = OP("Sub", CAST(IN(3), EDDY_INT32),
                             CAST(of_rows(op, 5, false), EDDY_INT32));
    const eddy_output product = eddy__onnx_matmul(op, a, b);
    const eddy_output scale_a = CAST(of_rows(op, 1, true), EDDY_FLOAT32);
    const eddy_output scale_b = CAST(of_rows(op, 4, false), EDDY_FLOAT32);
    const eddy_output scale = CAST(of_rows(op, 6, true), EDDY_FLOAT32);
    const eddy_output by = OP("RealDiv", OP("Mul", scale_a, scale_b), scale);

    GIVE(0, eddy__onnx_saturated(op, OP("Mul", CAST(product, EDDY_FLOAT32), by),
                                 of_rows(op, 7, true), DTYPE(IN(7))));
}

#define NEWEST EDDY__ONNX_NEWEST

const eddy__onnx_row eddy__onnx_quantized[] = {
    {"DequantizeLinear", 10, NEWEST, 2, 3, 1, 1, emit_dequantize},
    {"DynamicQuantizeLinear", 11, NEWEST, 1, 1, 3, 3, emit_dynamic_quantize},
    {"QLinearMatMul", 10, NEWEST, 8, 8, 1, 1, emit_qlinear_matmul},
    {"QuantizeLinear", 10, NEWEST, 2, 3, 1, 1, emit_quantize},
    {.name = NULL},
};
