/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX operators that ask for shapes, change them, or make tensors of them. */
#include "interop/onnx/ops/kit.h"

#include <string.h>

/* ---- shapes asked for ---- */

static int64_t clamped(int64_t at, int64_t rank)
{
    if (at < 0)
        at += rank;
    return at < 0 ? 0 : at > rank ? rank : at;
}

/* `at` of a rank that is not known. */
static eddy_output clamped_at(eddy__onnx_op *op, int64_t at, eddy_output rank)
{
    const eddy_output from = eddy__onnx_from_zero(op, INT64(at), rank);

    return OP("Minimum", OP("Maximum", from, INT64(0)), rank);
}

static void emit_shape(eddy__onnx_op *op)
{
    const int64_t start = eddy__onnx_int(op, "start", 0);
    const int64_t end = eddy__onnx_int(op, "end", INT64_MAX);
    const eddy_dtype index = EDDY_INT64;
    const eddy_attr attrs[] = {eddy_attr_type("out_type", &index)};
    const eddy_output x = IN(0);
    const eddy_output all = OP_WITH("Shape", attrs, x);
    const int32_t rank = eddy__onnx_shape(op, x).rank;
    eddy_output from, to;

    if (start == 0 && end == INT64_MAX) {
        GIVE(0, all);
        return;
    }
    if (rank >= 0) {
        from = INT64(clamped(start, rank));
        to = INT64(clamped(end, rank));
    } else {
        from = clamped_at(op, start, eddy__onnx_rank64(op, x));
        to = clamped_at(op, end, eddy__onnx_rank64(op, x));
    }
    to = OP("Maximum", OP("Sub", to, from), INT64(0));
    GIVE(0, eddy__onnx_head(op, eddy__onnx_tail(op, all, from), to));
}

static void emit_size(eddy__onnx_op *op)
{
    const eddy_dtype index = EDDY_INT64;
    const eddy_attr attrs[] = {eddy_attr_type("out_type", &index)};

    GIVE(0, OP_WITH("Size", attrs, IN(0)));
}

/* ---- Reshape ---- */

/* The shape where all of it can be said of what is known. */
static bool known_shape(eddy__onnx_op *op, eddy_output x,
                        const eddy__onnx_ints *shape, bool allows_zero,
                        eddy_output *out)
{
    eddy__onnx_size sizes[EDDY_MAX_RANK];

    if (shape->n > EDDY_MAX_RANK)
        return false;
    for (size_t i = 0; i < shape->n; i++) {
        sizes[i] = FIXED(shape->at[i]);
        if (shape->at[i] == 0 && !allows_zero)
            sizes[i] = DIM(x, (int64_t)i);
    }
    *out = eddy__onnx_sizes(op, sizes, shape->n);
    return true;
}

/* 0 stands for the dimension of `x` at its place. */
static eddy_output filled_shape(eddy__onnx_op *op, eddy_output x,
                                eddy_output shape)
{
    const eddy_output zeros = OP("ZerosLike", shape);
    const eddy_output n = CAST(OP("Size", shape), EDDY_INT64);
    const eddy_output own = eddy__onnx_head(
        op, eddy__onnx_concat(op, eddy__onnx_dims(op, x), zeros), n);

    return OP("SelectV2", OP("Equal", shape, INT64(0)), own, shape);
}

static void emit_reshape(eddy__onnx_op *op)
{
    const bool allows_zero = eddy__onnx_int(op, "allowzero", 0) != 0;
    const eddy_output x = IN(0);
    eddy_output shape = CAST(IN(1), EDDY_INT64), known;
    eddy__onnx_ints ints;

    if (eddy__onnx_known_ints(op, 1, &ints) &&
        known_shape(op, x, &ints, allows_zero, &known))
        shape = known;
    else if (!allows_zero)
        shape = filled_shape(op, x, shape);
    GIVE(0, OP("Reshape", x, shape));
}

static void emit_old_reshape(eddy__onnx_op *op)
{
    const eddy_output x = IN(0);
    eddy__onnx_ints ints = {0};
    eddy_output shape;

    eddy__onnx_ignore(op, "consumed_inputs");
    if (!eddy__onnx_ints_of(op, "shape", &ints))
        eddy__onnx_fail(op, EDDY_E_ATTR_MISSING, "no attribute shape");
    else if (known_shape(op, x, &ints, false, &shape))
        GIVE(0, OP("Reshape", x, shape));
    else
        eddy__onnx_refuse(op, "a rank of %zu", ints.n);
}

static void emit_flatten(eddy__onnx_op *op)
{
    const int64_t axis = eddy__onnx_int(op, "axis", 1);
    const eddy_output x = IN(0);
    const eddy_output dims = eddy__onnx_dims(op, x);
    const eddy_output at =
        eddy__onnx_from_zero(op, INT64(axis), eddy__onnx_rank64(op, x));
    const int32_t rank = eddy__onnx_shape(op, x).rank;
    eddy__onnx_size before = FIXED(1), behind = FIXED(1);
    eddy_output front, back;

    if (rank >= 0) {
        const int64_t from = axis < 0 ? axis + rank : axis;

        for (int32_t i = 0; i < rank; i++)
            if (i < from)
                before = TIMES(before, DIM(x, i));
            else
                behind = TIMES(behind, DIM(x, i));
        GIVE(0, OP("Reshape", x, SIZES(before, behind)));
        return;
    }
    front = eddy__onnx_reduce(op, "Prod", eddy__onnx_head(op, dims, at),
                              INT64S(0), true);
    back = eddy__onnx_reduce(op, "Prod", eddy__onnx_tail(op, dims, at),
                             INT64S(0), true);
    GIVE(0, OP("Reshape", x, eddy__onnx_concat(op, front, back)));
}

/* ---- Squeeze, Unsqueeze ---- */

/* The axes if they are known, of an attribute or an input. */
static bool known_axes(eddy__onnx_op *op, eddy__onnx_ints *out)
{
    if (op->row->max_inputs == 1)
        return eddy__onnx_ints_of(op, "axes", out);
    return GIVEN(1) && eddy__onnx_known_ints(op, 1, out);
}

/* True at the axes of a tensor of rank `rank`, an int64 scalar. */
static eddy_output marked(eddy__onnx_op *op, eddy_output axes, eddy_output rank)
{
    const eddy_output at = eddy__onnx_from_zero(op, axes, rank);
    const eddy_output grid =
        OP("Equal", OP("ExpandDims", eddy__onnx_count(op, rank), INT32(1)),
           OP("Reshape", at, INT64S(1, -1)));

    return eddy__onnx_reduce(op, "Any", grid, INT64S(1), false);
}

static void emit_squeeze(eddy__onnx_op *op)
{
    const eddy_output x = IN(0);
    eddy__onnx_ints axes = {0};
    const bool is_known = known_axes(op, &axes);
    const eddy_attr attrs[] = {{.name = "squeeze_dims",
                                .kind = EDDY_ATTR_INT,
                                .is_list = true,
                                .n = axes.n,
                                .as.ints = axes.at}};
    eddy_output kept;

    if (is_known && axes.n > 0) {
        GIVE(0, OP_WITH("Squeeze", attrs, x));
    } else if (is_known) {
        GIVE(0, OP("Identity", x));
    } else if (op->row->max_inputs == 1 || !GIVEN(1)) {
        GIVE(0, OP("Squeeze", x));
    } else {
        kept = OP("LogicalNot", marked(op, eddy__onnx_as_vector(op, IN(1)),
                                       eddy__onnx_rank64(op, x)));
        kept = OP("Reshape", OP("Where", kept), INT64S(-1));
        GIVE(0, OP("Reshape", x,
                   OP("GatherV2", eddy__onnx_dims(op, x), kept, INT32(0))));
    }
}

/* Sorts `axes`, from 0 on; few. */
static void sort(eddy__onnx_ints *axes)
{
    for (size_t i = 1; i < axes->n; i++)
        for (size_t j = i; j > 0 && axes->at[j] < axes->at[j - 1]; j--) {
            const int64_t lower = axes->at[j];

            axes->at[j] = axes->at[j - 1];
            axes->at[j - 1] = lower;
        }
}

/* Axes that count from the front can be put in one after the other. */
static bool unsqueeze_known(eddy__onnx_op *op, eddy_output *x,
                            eddy__onnx_ints *axes)
{
    const int32_t rank = eddy__onnx_shape(op, *x).rank;

    for (size_t i = 0; i < axes->n; i++) {
        if (axes->at[i] >= 0)
            continue;
        if (rank < 0)
            return false;
        axes->at[i] += rank + (int64_t)axes->n;
    }
    sort(axes);
    for (size_t i = 1; i < axes->n; i++)
        if (axes->at[i] == axes->at[i - 1]) {
            eddy__onnx_fail(op, EDDY_E_ATTR_VALUE, "axis %lld is there twice",
                            (long long)axes->at[i]);
            return true;
        }
    for (size_t i = 0; i < axes->n; i++)
        *x = OP("ExpandDims", *x, INT64(axes->at[i]));
    return true;
}

/*
 * A 1 where an axis is, else the next dimension of `x`.  An axis that is there
 * twice, or nowhere in the result, leaves a place too many, which becomes one
 * that no shape has: Reshape refuses it.
 */
static eddy_output unsqueezed_shape(eddy__onnx_op *op, eddy_output x,
                                    eddy_output axes)
{
    const eddy_output n = CAST(OP("Size", axes), EDDY_INT64);
    const eddy_output rank = OP("AddV2", eddy__onnx_rank64(op, x), n);
    const eddy_output is_new = marked(op, axes, rank);
    const eddy_output old = CAST(OP("LogicalNot", is_new), EDDY_INT64);
    eddy_output from = OP("Cumsum", old, INT32(0));

    from = OP("Maximum", OP("Sub", from, INT64(1)), INT64(0));
    from = OP("GatherV2",
              eddy__onnx_concat(op, eddy__onnx_dims(op, x), INT64S(-2)), from,
              INT32(0));
    return OP("SelectV2", is_new, INT64(1), from);
}

static void emit_unsqueeze(eddy__onnx_op *op)
{
    eddy_output x = IN(0);
    eddy__onnx_ints axes = {0};
    const bool is_known = known_axes(op, &axes);

    if (!is_known && op->row->max_inputs == 1) {
        eddy__onnx_fail(op, EDDY_E_ATTR_MISSING, "no attribute axes");
        return;
    }
    if (is_known && axes.n == 0)
        GIVE(0, OP("Identity", x));
    else if (is_known && unsqueeze_known(op, &x, &axes))
        GIVE(0, x);
    else if (op->row->max_inputs == 1)
        GIVE(0, OP("Reshape", x,
                   unsqueezed_shape(op, x,
                                    eddy__onnx_int64s(op, axes.at, axes.n))));
    else
        GIVE(0, OP("Reshape", x,
                   unsqueezed_shape(op, x, eddy__onnx_as_vector(op, IN(1)))));
}

/* ---- made larger ---- */

static void emit_expand(eddy__onnx_op *op)
{
    const eddy_output x = IN(0);
    const eddy_output shape = CAST(IN(1), EDDY_INT64);
    const eddy_shape own = eddy__onnx_shape(op, x);
    eddy__onnx_ints want;
    bool is_whole = eddy__onnx_known_ints(op, 1, &want) && own.rank >= 0 &&
                    own.rank <= (int64_t)want.n;

    /* Nothing but ones gives way, so the shape itself is the result's. */
    for (int32_t i = 0; is_whole && i < own.rank; i++)
        is_whole =
            own.dims[i] == 1 ||
            own.dims[i] == want.at[want.n - (size_t)own.rank + (size_t)i];
    GIVE(0, OP("BroadcastTo", x,
               is_whole ? shape
                        : OP("BroadcastArgs", eddy__onnx_dims(op, x), shape)));
}

static void emit_tile(eddy__onnx_op *op)
{
    GIVE(0, OP("Tile", IN(0), CAST(IN(1), EDDY_INT64)));
}

/* Opset 1: one axis, and how often. */
static void emit_old_tile(eddy__onnx_op *op)
{
    const eddy_output x = IN(0);
    const eddy_output times = eddy__onnx_as_vector(op, CAST(IN(1), EDDY_INT64));
    const eddy_output at =
        marked(op, eddy__onnx_as_vector(op, IN(2)), eddy__onnx_rank64(op, x));

    GIVE(0, OP("Tile", x, OP("SelectV2", at, times, INT64(1))));
}

/* ---- turned ---- */

static void emit_transpose(eddy__onnx_op *op)
{
    const eddy_output x = IN(0);
    const int64_t *perm;
    const size_t n = eddy__onnx_list_of_ints(op, "perm", &perm);
    const eddy_output rank = eddy__onnx_rank64(op, x);

    if (n > 0)
        GIVE(0, OP("Transpose", x, eddy__onnx_int64s(op, perm, n)));
    else
        GIVE(0,
             OP("Transpose", x,
                OP("Range", OP("Sub", rank, INT64(1)), INT64(-1), INT64(-1))));
}

/* Blocks of channels become squares of pixels, and back. */
static void emit_depth_to_space(eddy__onnx_op *op)
{
    const eddy__onnx_size b = FIXED(eddy__onnx_int(op, "blocksize", 0));
    const char *mode = eddy__onnx_text(op, "mode", "DCR");
    const eddy_output x = IN(0);
    const eddy__onnx_size n = DIM(x, 0), h = DIM(x, 2), w = DIM(x, 3);
    eddy__onnx_size depth;
    eddy_output y;

    if (!mode || b.value < 1 || b.value > INT32_MAX) {
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE, "blocksize is %lld",
                        (long long)b.value);
        return;
    }
    depth = OVER(DIM(x, 1), FIXED(b.value * b.value));
    if (strcmp(mode, "CRD") == 0)
        y = eddy__onnx_transpose(op,
                                 OP("Reshape", x, SIZES(n, depth, b, b, h, w)),
                                 (const int64_t[]){0, 1, 4, 2, 5, 3}, 6);
    else
        y = eddy__onnx_transpose(op,
                                 OP("Reshape", x, SIZES(n, b, b, depth, h, w)),
                                 (const int64_t[]){0, 3, 4, 1, 5, 2}, 6);
    GIVE(0, OP("Reshape", y, SIZES(n, depth, TIMES(h, b), TIMES(w, b))));
}

static void emit_space_to_depth(eddy__onnx_op *op)
{
    const eddy__onnx_size b = FIXED(eddy__onnx_int(op, "blocksize", 0));
    const char *mode = eddy__onnx_text(op, "mode", "DCR");
    const eddy_output x = IN(0);
    const eddy__onnx_size n = DIM(x, 0), c = DIM(x, 1);
    eddy__onnx_size h, w;
    eddy_output y;

    if (!mode || b.value < 1 || b.value > INT32_MAX) {
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE, "blocksize is %lld",
                        (long long)b.value);
        return;
    }
    h = OVER(DIM(x, 2), b);
    w = OVER(DIM(x, 3), b);
    y = OP("Reshape", x, SIZES(n, c, h, b, w, b));
    if (strcmp(mode, "CRD") == 0)
        y = eddy__onnx_transpose(op, y, (const int64_t[]){0, 1, 3, 5, 2, 4}, 6);
    else
        y = eddy__onnx_transpose(op, y, (const int64_t[]){0, 3, 5, 1, 2, 4}, 6);
    GIVE(0,
         OP("Reshape", y, SIZES(n, TIMES(c, FIXED(b.value * b.value)), h, w)));
}

/* ---- made of nothing ---- */

/* A limit on the wrong side of the start gives nothing, as the start does. */
static eddy_output range_limit(eddy__onnx_op *op, eddy_output from,
                               eddy_output to, eddy_output step)
{
    const eddy_output is_up = OP("Greater", step, NUMBER(DTYPE(step), 0.0));

    return OP("SelectV2", is_up, OP("Maximum", from, to),
              OP("Minimum", from, to));
}

static void emit_range(eddy__onnx_op *op)
{
    const eddy_output first = eddy__onnx_as_scalar(op, IN(0));
    const eddy_dtype dtype = DTYPE(first);
    const bool is_half = dtype == EDDY_FLOAT16 || dtype == EDDY_BFLOAT16;
    const eddy_dtype by = is_half ? EDDY_FLOAT32 : dtype;
    const eddy_output from = CAST(first, by);
    const eddy_output to = CAST(eddy__onnx_as_scalar(op, IN(1)), by);
    const eddy_output step = CAST(eddy__onnx_as_scalar(op, IN(2)), by);

    eddy__onnx_ignore(op, "stash_type");
    GIVE(0,
         CAST(OP("Range", from, range_limit(op, from, to, step), step), dtype));
}

static void emit_constant_of_shape(eddy__onnx_op *op)
{
    const eddy_output shape = IN(0);
    eddy_output value;

    if (eddy__onnx_has(op, "value"))
        value = eddy__onnx_as_scalar(op, eddy__onnx_tensor_const(op, "value"));
    else
        value = NUMBER(EDDY_FLOAT32, 0.0);
    GIVE(0, OP("Fill", shape, value));
}

static void emit_eye_like(eddy__onnx_op *op)
{
    const int64_t k = eddy__onnx_int(op, "k", 0);
    const eddy_output x = IN(0);
    eddy_dtype dtype = eddy__onnx_dtype_of(op, "dtype");
    const eddy_output rows = eddy__onnx_count(op, SIZED(DIM(x, 0)));
    const eddy_output columns = eddy__onnx_count(op, SIZED(DIM(x, 1)));

    if (dtype == EDDY_INVALID)
        dtype = DTYPE(x);
    GIVE(0, CAST(OP("Equal",
                    OP("AddV2", OP("ExpandDims", rows, INT32(1)), INT64(k)),
                    columns),
                 dtype));
}

/* The matrices' elements on one side of a diagonal. */
static void emit_trilu(eddy__onnx_op *op)
{
    const bool is_upper = eddy__onnx_int(op, "upper", 1) != 0;
    const eddy_output x = IN(0);
    const eddy_output k =
        GIVEN(1) ? eddy__onnx_as_scalar(op, CAST(IN(1), EDDY_INT64)) : INT64(0);
    const eddy_output rows = eddy__onnx_count(op, SIZED(DIM(x, -2)));
    const eddy_output columns = eddy__onnx_count(op, SIZED(DIM(x, -1)));
    const eddy_output diagonal =
        OP("AddV2", OP("ExpandDims", rows, INT32(1)), k);
    const eddy_output is_kept =
        OP(is_upper ? "GreaterEqual" : "LessEqual", columns, diagonal);

    GIVE(0, OP("SelectV2", is_kept, x, OP("ZerosLike", x)));
}

#define NEWEST EDDY__ONNX_NEWEST
#define ONE(name, first, emit)                                                 \
    {                                                                          \
        name, first, NEWEST, 1, 1, 1, 1, emit                                  \
    }

const eddy__onnx_row eddy__onnx_shaping[] = {
    ONE("ConstantOfShape", 9, emit_constant_of_shape),
    ONE("DepthToSpace", 1, emit_depth_to_space),
    {"Expand", 8, NEWEST, 2, 2, 1, 1, emit_expand},
    ONE("EyeLike", 9, emit_eye_like),
    ONE("Flatten", 1, emit_flatten),
    {"Range", 11, NEWEST, 3, 3, 1, 1, emit_range},
    {"Reshape", 1, 4, 1, 1, 1, 1, emit_old_reshape},
    {"Reshape", 5, NEWEST, 2, 2, 1, 1, emit_reshape},
    ONE("Shape", 1, emit_shape),
    ONE("Size", 1, emit_size),
    ONE("SpaceToDepth", 1, emit_space_to_depth),
    {"Squeeze", 1, 12, 1, 1, 1, 1, emit_squeeze},
    {"Squeeze", 13, NEWEST, 1, 2, 1, 1, emit_squeeze},
    {"Tile", 1, 5, 3, 3, 1, 1, emit_old_tile},
    {"Tile", 6, NEWEST, 2, 2, 1, 1, emit_tile},
    ONE("Transpose", 1, emit_transpose),
    {"Trilu", 14, NEWEST, 1, 2, 1, 1, emit_trilu},
    {"Unsqueeze", 1, 12, 1, 1, 1, 1, emit_unsqueeze},
    {"Unsqueeze", 13, NEWEST, 2, 2, 1, 1, emit_unsqueeze},
    {.name = NULL},
};
