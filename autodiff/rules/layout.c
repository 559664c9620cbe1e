/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that move elements and leave their values alone. */
#include "autodiff/rule.h"

eddy_status eddy__grad_reshape(eddy_gradient *g)
{
    DX(0, OP("Reshape", DY(0), eddy_gradient_shape_of(g, 0)));
    return EDDY_OK;
}

eddy_status eddy__grad_broadcast_to(eddy_gradient *g)
{
    const eddy_output own = eddy_gradient_shape_of(g, 0);
    const eddy_output args =
        OP("BroadcastGradientArgs", own, OP("Shape", DY(0)));

    DX(0, OP("Reshape", OP("Sum", DY(0), args), own));
    return EDDY_OK;
}

/* ---- parts ---- */

/* The n values from input `first` on, along `axis`. */
static eddy_status unjoin(eddy_gradient *g, uint32_t first, uint32_t n,
                          eddy_output axis)
{
    const int64_t count = n;
    const eddy_attr attrs[] = {eddy_attr_int("N", &count)};
    eddy_output *inputs = eddy__rule_room(g, (size_t)n + 1), offsets;

    if (!inputs)
        return EDDY_RESOURCE_EXHAUSTED;
    inputs[0] = OP("FloorMod", axis, OP("Rank", DY(0)));
    for (uint32_t i = 0; i < n; i++)
        inputs[i + 1] = eddy_gradient_shape_of(g, first + i);
    offsets = eddy_gradient_add(g, "ConcatOffset", inputs, n + 1, attrs, 1);
    for (uint32_t i = 0; i < n; i++)
        if (WANTS(first + i))
            DX(first + i, OP("Slice", DY(0), eddy__rule_output_at(offsets, i),
                             inputs[i + 1]));
    return EDDY_OK;
}

/* values..., axis */
eddy_status eddy__grad_concat_v2(eddy_gradient *g)
{
    const uint32_t n = eddy_gradient_inputs(g) - 1;

    return unjoin(
        g, 0, n,
        eddy__rule_cast(g, X(n), eddy_gradient_input_dtype(g, n), EDDY_INT32));
}

/* axis, values... */
eddy_status eddy__grad_concat(eddy_gradient *g)
{
    return unjoin(g, 1, eddy_gradient_inputs(g) - 1, X(0));
}

/* The gradients of all outputs, one after the other. */
static eddy_output join(eddy_gradient *g, const char *op,
                        const eddy_output *axis, const eddy_attr *attrs,
                        size_t n_attrs)
{
    const uint32_t n = eddy_gradient_outputs(g);
    eddy_output *parts = eddy__rule_room(g, (size_t)n + 1);

    if (!parts)
        return DY(0);
    for (uint32_t i = 0; i < n; i++)
        parts[i] = DY(i);
    if (axis && n == 1)
        return parts[0];
    if (axis)
        parts[n] = *axis;
    return eddy_gradient_add(g, op, parts, axis ? n + 1 : n, attrs, n_attrs);
}

/* axis, value */
eddy_status eddy__grad_split(eddy_gradient *g)
{
    const eddy_output axis = X(0);

    DX(1, join(g, "ConcatV2", &axis, NULL, 0));
    return EDDY_OK;
}

/* value, sizes, axis */
eddy_status eddy__grad_split_v(eddy_gradient *g)
{
    const eddy_output axis = X(2);

    DX(0, join(g, "ConcatV2", &axis, NULL, 0));
    return EDDY_OK;
}

eddy_status eddy__grad_pack(eddy_gradient *g)
{
    const uint32_t n = eddy_gradient_inputs(g);
    const int64_t num = n, axis = eddy__rule_int(g, "axis");
    const eddy_attr attrs[] = {eddy_attr_int("num", &num),
                               eddy_attr_int("axis", &axis)};
    const eddy_output parts = OP_WITH("Unpack", attrs, DY(0));

    for (uint32_t i = 0; i < n; i++)
        DX(i, eddy__rule_output_at(parts, i));
    return EDDY_OK;
}

/* Rows that no input fills are zeros, and their gradients nobody's. */
eddy_status eddy__grad_parallel_concat(eddy_gradient *g)
{
    const uint32_t n = eddy_gradient_inputs(g);
    const eddy_attr shape = eddy__rule_attr(g, "shape");
    const int64_t num = shape.as.shapes[0].dims[0];
    const eddy_attr attrs[] = {eddy_attr_int("num_split", &num)};
    const eddy_output rows = OP_WITH("Split", attrs, INT(0), DY(0));

    for (uint32_t i = 0; i < n; i++)
        DX(i, eddy__rule_output_at(rows, i));
    return EDDY_OK;
}

/* value, update */
eddy_status eddy__grad_parallel_concat_update(eddy_gradient *g)
{
    const int64_t row = eddy__rule_int(g, "loc");
    const eddy_attr attrs[] = {eddy_attr_int("loc", &row)};
    const eddy_output at =
        eddy__rule_ints(g, (const int32_t[]){(int32_t)row}, 1);

    if (WANTS(0))
        DX(0, OP_WITH("_ParallelConcatUpdate", attrs, DY(0),
                      OP("ZerosLike", X(1))));
    if (WANTS(1))
        DX(1, OP("GatherV2", DY(0), at, INT(0)));
    return EDDY_OK;
}

eddy_status eddy__grad_unpack(eddy_gradient *g)
{
    const int64_t axis = eddy__rule_int(g, "axis");
    const eddy_attr attrs[] = {eddy_attr_int("axis", &axis)};

    DX(0, join(g, "Pack", NULL, attrs, 1));
    return EDDY_OK;
}

/* input, begin, size */
eddy_status eddy__grad_slice(eddy_gradient *g)
{
    const int32_t column[] = {-1, 1};
    const eddy_dtype dtype = eddy_gradient_input_dtype(g, 1);
    const eddy_attr cast[] = {eddy_attr_type("DstT", &dtype)};
    eddy_output shape, begin, after, paddings;

    begin = X(1);
    shape = eddy_gradient_shape_of(g, 0);
    after = OP("Sub", shape, OP("Shape", DY(0)));
    if (dtype != EDDY_INT32)
        after = OP_WITH("Cast", cast, after);
    after = OP("Sub", after, begin);
    paddings =
        OP("ConcatV2", OP("Reshape", begin, eddy__rule_ints(g, column, 2)),
           OP("Reshape", after, eddy__rule_ints(g, column, 2)),
           eddy__rule_scalar(g, EDDY_INT32, 1.0));
    DX(0, OP("Pad", DY(0), paddings));
    return EDDY_OK;
}

static const char *const masks[] = {"begin_mask", "end_mask", "ellipsis_mask",
                                    "new_axis_mask", "shrink_axis_mask"};

/* input, begin, end, strides */
eddy_status eddy__grad_strided_slice(eddy_gradient *g)
{
    const eddy_dtype dtype = eddy_gradient_input_dtype(g, 1);
    const eddy_attr cast[] = {eddy_attr_type("DstT", &dtype)};
    eddy_attr attrs[5];
    const size_t n = eddy__rule_attrs(g, masks, 5, attrs);
    eddy_output shape;

    shape = eddy_gradient_shape_of(g, 0);
    if (dtype != EDDY_INT32)
        shape = OP_WITH("Cast", cast, shape);
    DX(0,
       eddy_gradient_add(g, "StridedSliceGrad",
                         (const eddy_output[]){shape, X(1), X(2), X(3), DY(0)},
                         5, attrs, n));
    return EDDY_OK;
}

/* shape, begin, end, strides, dy */
eddy_status eddy__grad_strided_slice_grad(eddy_gradient *g)
{
    eddy_attr attrs[5];
    const size_t n = eddy__rule_attrs(g, masks, 5, attrs);

    DX(4, eddy_gradient_add(g, "StridedSlice",
                            (const eddy_output[]){DY(0), X(1), X(2), X(3)}, 4,
                            attrs, n));
    return EDDY_OK;
}

/* ---- order ---- */

eddy_status eddy__grad_transpose(eddy_gradient *g)
{
    DX(0, OP("Transpose", DY(0), OP("InvertPermutation", X(1))));
    return EDDY_OK;
}

eddy_status eddy__grad_conjugate_transpose(eddy_gradient *g)
{
    DX(0, OP("ConjugateTranspose", DY(0), OP("InvertPermutation", X(1))));
    return EDDY_OK;
}

eddy_status eddy__grad_reverse(eddy_gradient *g)
{
    DX(0, OP("ReverseV2", DY(0), X(1)));
    return EDDY_OK;
}

eddy_status eddy__grad_roll(eddy_gradient *g)
{
    DX(0, OP("Roll", DY(0), OP("Neg", X(1)), X(2)));
    return EDDY_OK;
}

/* input, paddings [, value] */
eddy_status eddy__grad_pad(eddy_gradient *g)
{
    const bool is_v2 = eddy_gradient_inputs(g) == 3;
    const int32_t first[] = {0, 0}, size[] = {-1, 1}, flat[] = {-1};
    eddy_output before, own;

    before = OP("Reshape",
                OP("Slice", X(1), eddy__rule_ints(g, first, 2),
                   eddy__rule_ints(g, size, 2)),
                eddy__rule_ints(g, flat, 1));
    if (eddy_gradient_input_dtype(g, 1) != EDDY_INT32) {
        const eddy_dtype int32 = EDDY_INT32;
        const eddy_attr cast[] = {eddy_attr_type("DstT", &int32)};

        before = OP_WITH("Cast", cast, before);
    }
    own = OP("Slice", DY(0), before, eddy_gradient_shape_of(g, 0));
    DX(0, own);
    if (is_v2 && WANTS(2)) {
        const int32_t all[] = {-1};
        const eddy_output zero = eddy__rule_scalar(g, EDDY_INT32, 0.0);
        const eddy_output flat_dy =
            OP("Reshape", DY(0), eddy__rule_ints(g, all, 1));
        const eddy_output flat_own =
            OP("Reshape", own, eddy__rule_ints(g, all, 1));

        DX(2, OP("Sub", OP("Sum", flat_dy, zero), OP("Sum", flat_own, zero)));
    }
    return EDDY_OK;
}

/* The copies and the sizes of a Tile in turn, (copies, size, copies, ...). */
static eddy_output tile_split(eddy_gradient *g, eddy_output copies,
                              eddy_output shape)
{
    return OP("Reshape",
              OP("ConcatV2", OP("Reshape", copies, INTS(-1, 1)),
                 OP("Reshape", shape, INTS(-1, 1)), INT(1)),
              INTS(-1));
}

/* The copies of `n` dimensions from `first` on are summed, what is before and
 * behind them being a dimension each; `dy` has the sizes of those before. */
static eddy_output sum_copies(eddy_gradient *g, eddy_output dy,
                              eddy_output split, eddy_output shape,
                              int32_t first, int32_t n)
{
    const eddy_output before =
        eddy__rule_count(g, eddy__rule_head(g, shape, INT(first)));
    const eddy_output own = OP("Slice", split, INTS(2 * first), INTS(2 * n));
    const eddy_output behind =
        eddy__rule_count(g, eddy__rule_tail(g, split, INT(2 * (first + n))));
    const eddy_output seen = CONCAT(VECTOR(before), own, VECTOR(behind));

    return OP("Sum", OP("Reshape", dy, seen),
              OP("Range", INT(1), INT(1 + 2 * n), INT(2)));
}

/*
 * Sums the copies: each dimension becomes (copies, size).  That is twice the
 * rank, so where there are more than four dimensions three at a time do.
 */
eddy_status eddy__grad_tile(eddy_gradient *g)
{
    const eddy_shape *known = eddy_gradient_input_shape(g, 0);
    eddy_output copies, shape, split, sum;

    copies =
        eddy__rule_cast(g, X(1), eddy_gradient_input_dtype(g, 1), EDDY_INT32);
    shape = eddy_gradient_shape_of(g, 0);
    split = tile_split(g, copies, shape);
    if (known->rank <= 4) {
        sum = OP("Sum", OP("Reshape", DY(0), split),
                 OP("Range", INT(0), OP("Size", split), INT(2)));
    } else {
        sum = DY(0);
        for (int32_t first = 0; first < known->rank; first += 3) {
            const int32_t left = known->rank - first;

            sum = sum_copies(g, sum, split, shape, first, left < 3 ? left : 3);
        }
    }
    DX(0, OP("Reshape", sum, shape));
    return EDDY_OK;
}

static eddy_output mirror(eddy_gradient *g, const char *op)
{
    const eddy_attr attrs[] = {eddy__rule_attr(g, "mode")};

    return OP_WITH(op, attrs, DY(0), X(1));
}

/* input, paddings */
eddy_status eddy__grad_mirror_pad(eddy_gradient *g)
{
    DX(0, mirror(g, "MirrorPadGrad"));
    return EDDY_OK;
}

eddy_status eddy__grad_mirror_pad_grad(eddy_gradient *g)
{
    DX(0, mirror(g, "MirrorPad"));
    return EDDY_OK;
}

/* input, which dimensions */
eddy_status eddy__grad_reverse_v1(eddy_gradient *g)
{
    DX(0, OP("Reverse", DY(0), X(1)));
    return EDDY_OK;
}
