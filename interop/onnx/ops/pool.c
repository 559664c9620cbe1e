/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX's pools.
 *
 * A largest element and a sum can be taken one axis after the other: the
 * windows along an axis are gathered, and reduced.  So every number of axes,
 * dilation and rounding is the same few ops, which have gradients.
 */
#include "interop/onnx/ops/windows.h"

#include <math.h>
#include <string.h>

/* The least number that a dtype has. */
static double least_of(eddy_dtype dtype)
{
    if (eddy__onnx_is_unsigned(dtype))
        return 0.0;
    if (dtype == EDDY_INT8)
        return -128.0;
    return (double)-INFINITY;
}

static eddy_output reduce_windows(eddy__onnx_op *op, const char *type,
                                  eddy_output padded,
                                  const eddy__onnx_windows *w)
{
    for (size_t i = 0; i < w->n; i++) {
        const int64_t axis = (int64_t)i + 2;

        padded = eddy__onnx_reduce(
            op, type, eddy__onnx_windows_along(op, padded, w, i, axis),
            INT64S(axis + 1), false);
    }
    return padded;
}

/* ---- MaxPool ---- */

/*
 * The position in the image of what `within` says of each window: the number of
 * an element, counted over all axes, the last one fastest.
 */
static eddy_output positions(eddy__onnx_op *op, eddy_output within,
                             const eddy__onnx_windows *w, bool by_column)
{
    eddy_output sum = INT64(0);
    eddy__onnx_size step = FIXED(1), inner = FIXED(1);
    eddy__onnx_size steps[EDDY__ONNX_MOST_SPATIAL];

    for (size_t j = 0; j < w->n; j++) {
        const size_t i = by_column ? j : w->n - 1 - j;

        steps[i] = step;
        step = TIMES(step, w->in[i]);
    }
    for (size_t j = 0; j < w->n; j++) {
        const size_t i = w->n - 1 - j;
        int64_t shape[EDDY_MAX_RANK];
        eddy_output first = OP("Mul", eddy__onnx_count(op, SIZED(w->out[i])),
                               INT64(w->stride[i]));
        eddy_output own = OP("FloorMod", OP("FloorDiv", within, SIZED(inner)),
                             SIZED(w->kernel[i]));

        for (size_t axis = 0; axis < w->n; axis++)
            shape[axis] = axis == i ? -1 : 1;
        first = OP("Sub", first, SIZED(w->before[i]));
        first = OP("Reshape", first, eddy__onnx_int64s(op, shape, w->n));
        own = OP("AddV2", OP("Mul", own, INT64(w->dilation[i])), first);
        sum = OP("AddV2", sum, OP("Mul", own, SIZED(steps[i])));
        inner = TIMES(inner, w->kernel[i]);
    }
    return sum;
}

/* Numbers of the elements that the windows' largest are. */
static eddy_output largest_at(eddy__onnx_op *op, eddy_output x,
                              eddy_output padded, const eddy__onnx_windows *w)
{
    const bool by_column = eddy__onnx_int(op, "storage_order", 0) != 0;
    const eddy_dtype index = EDDY_INT64;
    const eddy_attr attrs[] = {eddy_attr_type("output_type", &index)};
    eddy__onnx_size shape[EDDY_MAX_RANK] = {DIM(x, 0), DIM(x, 1)};
    int64_t perm[EDDY_MAX_RANK * 2] = {0, 1};
    eddy_output all = padded, within, image, at, channel;

    if (w->n > 3) {
        eddy__onnx_refuse(op, "indices of a pool over %zu axes", w->n);
        return EDDY__NO_OUTPUT;
    }
    for (size_t i = 0; i < w->n; i++) {
        all = eddy__onnx_windows_along(op, all, w, i, 2 * (int64_t)i + 2);
        perm[2 + i] = 2 + 2 * (int64_t)i;
        perm[2 + w->n + i] = 3 + 2 * (int64_t)i;
        shape[2 + i] = w->out[i];
    }
    all = eddy__onnx_transpose(op, all, perm, 2 + 2 * w->n);
    shape[2 + w->n] = FIXED(-1);
    all = OP("Reshape", all, eddy__onnx_sizes(op, shape, w->n + 3));
    within = OP_WITH("ArgMax", attrs, all, INT32(-1));
    at = positions(op, within, w, by_column);
    image = INT64(1);
    for (size_t i = 0; i < w->n; i++)
        image = OP("Mul", image, SIZED(w->in[i]));
    /* Each image of each channel comes after the one before. */
    channel = OP("Mul", eddy__onnx_count(op, SIZED(TIMES(shape[0], shape[1]))),
                 image);
    for (size_t i = 0; i < w->n; i++)
        shape[2 + i] = FIXED(1);
    channel = OP("Reshape", channel, eddy__onnx_sizes(op, shape, w->n + 2));
    return OP("AddV2", at, channel);
}

static void emit_max_pool(eddy__onnx_op *op)
{
    const eddy_output x = IN(0);
    eddy__onnx_windows w;
    eddy_output padded;

    if (!eddy__onnx_windows_read(op, x, EDDY__NO_OUTPUT, &w))
        return;
    padded = eddy__onnx_windows_pad(op, x, &w, LIKE(x, least_of(DTYPE(x))));
    GIVE(0, reduce_windows(op, "Max", padded, &w));
    if (WANTS(1))
        GIVE(1, largest_at(op, x, padded, &w));
    else
        eddy__onnx_ignore(op, "storage_order");
}

/* ---- AveragePool, LpPool ---- */

/*
 * How many elements of the image, or of it and its margins, each window has,
 * along one axis, shaped so that it goes with the pool's result.
 */
static eddy_output counts_along(eddy__onnx_op *op, const eddy__onnx_windows *w,
                                size_t i, bool with_margins)
{
    eddy__onnx_windows one = {.n = 1,
                              .in = {w->in[i]},
                              .kernel = {w->kernel[i]},
                              .stride = {w->stride[i]},
                              .dilation = {w->dilation[i]},
                              .out = {w->out[i]}};
    const eddy__onnx_size margins = PLUS(w->before[i], w->behind[i]);
    eddy__onnx_size ones = w->in[i], before = w->before[i];
    eddy__onnx_size behind = PLUS(w->behind[i], w->extra[i]);
    int64_t shape[EDDY_MAX_RANK];
    eddy_output row;

    if (with_margins) {
        ones = PLUS(ones, margins);
        before = FIXED(0);
        behind = w->extra[i];
    }
    row = OP("Fill", SIZES(ones), NUMBER(EDDY_INT64, 1.0));
    row = OP("Pad", row, OP("Reshape", SIZES(before, behind), INT64S(1, 2)));
    row = eddy__onnx_windows_along(op, row, &one, 0, 0);
    row = eddy__onnx_reduce(op, "Sum", row, INT64S(1), false);
    for (size_t j = 0; j < w->n; j++)
        shape[j] = j == i ? -1 : 1;
    return OP("Reshape", row, eddy__onnx_int64s(op, shape, w->n));
}

static void emit_average_pool(eddy__onnx_op *op)
{
    const bool with_margins = eddy__onnx_int(op, "count_include_pad", 0) != 0;
    const eddy_output x = IN(0);
    eddy__onnx_windows w;
    eddy_output padded, n;

    if (!eddy__onnx_windows_read(op, x, EDDY__NO_OUTPUT, &w))
        return;
    padded = eddy__onnx_windows_pad(op, x, &w, LIKE(x, 0.0));
    n = counts_along(op, &w, 0, with_margins);
    for (size_t i = 1; i < w.n; i++)
        n = OP("Mul", n, counts_along(op, &w, i, with_margins));
    GIVE(0, OP("RealDiv", reduce_windows(op, "Sum", padded, &w),
               CAST(n, DTYPE(x))));
}

/* |x|^p, and the root of such. */
static eddy_output to_power(eddy__onnx_op *op, eddy_output x, double p)
{
    if (p == 1.0)
        return OP("Abs", x);
    if (p == 2.0)
        return OP("Square", x);
    return OP("Pow", OP("Abs", x), LIKE(x, p));
}

static eddy_output root(eddy__onnx_op *op, eddy_output x, double p)
{
    if (p == 1.0)
        return x;
    return p == 2.0 ? OP("Sqrt", x) : OP("Pow", x, LIKE(x, 1.0 / p));
}

/* An int since opset 2. */
static double read_p(eddy__onnx_op *op)
{
    return op->row->last < 2 ? (double)eddy__onnx_float(op, "p", 2.0f)
                             : (double)eddy__onnx_int(op, "p", 2);
}

static void emit_lp_pool(eddy__onnx_op *op)
{
    const double p = read_p(op);
    const eddy_output x = IN(0);
    eddy__onnx_windows w;
    eddy_output padded;

    if (!eddy__onnx_windows_read(op, x, EDDY__NO_OUTPUT, &w))
        return;
    padded = eddy__onnx_windows_pad(op, to_power(op, x, p), &w, LIKE(x, 0.0));
    GIVE(0, root(op, reduce_windows(op, "Sum", padded, &w), p));
}

/* ---- over the whole image ---- */

static void emit_global_pool(eddy__onnx_op *op)
{
    const bool is_max = strcmp(op->row->name, "GlobalMaxPool") == 0;
    const eddy_output x = IN(0);

    GIVE(0, eddy__onnx_reduce(op, is_max ? "Max" : "Mean", x,
                              eddy__onnx_axes_from(op, x, 2), true));
}

static void emit_global_lp_pool(eddy__onnx_op *op)
{
    const double p = read_p(op);
    const eddy_output x = IN(0);

    GIVE(0, root(op,
                 eddy__onnx_reduce(op, "Sum", to_power(op, x, p),
                                   eddy__onnx_axes_from(op, x, 2), true),
                 p));
}

/* ---- MaxUnpool ---- */

/* Each element goes to where its number says, in zeros. */
static void emit_max_unpool(eddy__onnx_op *op)
{
    const eddy_output x = IN(0);
    eddy__onnx_size shape[EDDY_MAX_RANK] = {DIM(x, 0), DIM(x, 1)};
    eddy__onnx_windows w;
    eddy_output own, flat, n;

    if (!eddy__onnx_windows_read(op, x, EDDY__NO_OUTPUT, &w))
        return;
    for (size_t i = 0; i < w.n; i++) {
        const eddy__onnx_size margins = PLUS(w.before[i], w.behind[i]);

        shape[2 + i] = PLUS(TIMES(MINUS(w.in[i], FIXED(1)), FIXED(w.stride[i])),
                            MINUS(w.kernel[i], margins));
    }
    /* The numbers are of an image of this size; a larger one has zeros. */
    own = eddy__onnx_sizes(op, shape, w.n + 2);
    n = eddy__onnx_reduce(op, "Prod", own, INT64S(0), true);
    flat = OP("ScatterNd", OP("Reshape", IN(1), INT64S(-1, 1)),
              OP("Reshape", x, INT64S(-1)), n);
    flat = OP("Reshape", flat, own);
    if (GIVEN(2)) {
        const int64_t axis = 1;
        const eddy_attr attrs[] = {eddy_attr_int("axis", &axis)};
        const eddy_output behind = OP("Sub", CAST(IN(2), EDDY_INT64), own);

        flat = OP("Pad", flat,
                  OP_WITH("Pack", attrs, OP("ZerosLike", behind), behind));
    }
    GIVE(0, flat);
}

#define NEWEST EDDY__ONNX_NEWEST
#define ONE(name, first, emit)                                                 \
    {                                                                          \
        name, first, NEWEST, 1, 1, 1, 1, emit                                  \
    }

const eddy__onnx_row eddy__onnx_pool[] = {
    ONE("AveragePool", 1, emit_average_pool),
    ONE("GlobalAveragePool", 1, emit_global_pool),
    {"GlobalLpPool", 1, 1, 1, 1, 1, 1, emit_global_lp_pool},
    ONE("GlobalLpPool", 2, emit_global_lp_pool),
    ONE("GlobalMaxPool", 1, emit_global_pool),
    {"LpPool", 1, 1, 1, 1, 1, 1, emit_lp_pool},
    ONE("LpPool", 2, emit_lp_pool),
    {"MaxPool", 1, NEWEST, 1, 1, 1, 2, emit_max_pool},
    {"MaxUnpool", 9, NEWEST, 2, 3, 1, 1, emit_max_unpool},
    {.name = NULL},
};
