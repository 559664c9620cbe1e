/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX's Unique: each value once, or each slice along an axis, sorted or as
 * they come.
 */
#include "eddy/control_flow.h"
#include "interop/onnx/ops/kit.h"

/* ---- the order of rows ---- */

/* Rows that are sorted by their last column first, then by the one before. */
typedef struct sorting {
    eddy__onnx_op *op;
    eddy_output rows; /* [rows, columns] */
    eddy_output n;    /* rows */
} sorting;

/* Numbers whose descending order is the ascending one of `x`. */
static eddy_output opposite(eddy__onnx_op *op, eddy_output x)
{
    if (DTYPE(x) == EDDY_BOOL)
        x = CAST(x, EDDY_INT32);
    return OP(eddy__onnx_is_float(DTYPE(x)) ? "Neg" : "Invert", x);
}

/* Where each number is in ascending order; equal ones as they come. */
static eddy_output order_of(eddy__onnx_op *op, eddy_output x, eddy_output n)
{
    const eddy_dtype index = EDDY_INT64;
    const eddy_attr attrs[] = {eddy_attr_type("index_type", &index)};

    if (DTYPE(x) == EDDY_STRING)
        return OP("_StringOrder", x);
    return eddy__onnx_nth(OP_WITH("TopKV2", attrs, opposite(op, x), n), 1);
}

static eddy_status has_columns(eddy_graph *graph, void *user,
                               const eddy_output *inputs, size_t n,
                               eddy_output *out, eddy_error *err)
{
    const sorting *s = user;
    eddy__onnx_op *op = s->op;

    (void)graph;
    (void)n;
    (void)err;
    out[0] = OP("GreaterEqual", inputs[0], INT64(0));
    return op->w->status;
}

static eddy_status sort_by_column(eddy_graph *graph, void *user,
                                  const eddy_output *inputs, size_t n,
                                  eddy_output *out, eddy_error *err)
{
    const sorting *s = user;
    eddy__onnx_op *op = s->op;
    const eddy_output column = OP("GatherV2", s->rows, inputs[0], INT32(1));
    const eddy_output now = OP("GatherV2", column, inputs[1], INT32(0));

    (void)graph;
    (void)n;
    (void)err;
    out[0] = OP("Sub", inputs[0], INT64(1));
    out[1] = OP("GatherV2", inputs[1], order_of(op, now, s->n), INT32(0));
    return op->w->status;
}

static eddy_output order_of_rows(eddy__onnx_op *op, eddy_output rows,
                                 eddy_output n)
{
    sorting s = {op, rows, n};
    const eddy_output columns = OP("Sub", SIZED(DIM(rows, 1)), INT64(1));
    const eddy_output initial[] = {columns, eddy__onnx_count(op, n)};
    const eddy_while_spec spec = {.size = sizeof spec,
                                  .name = op->name,
                                  .initial = initial,
                                  .n_variables = 2};
    const eddy_while_functions functions = {has_columns, sort_by_column, &s};
    eddy_output results[2] = {EDDY__NO_OUTPUT, EDDY__NO_OUTPUT};

    if (eddy__onnx_ok(op))
        op->w->status = eddy_while_loop(op->w->graph, &spec, &functions,
                                        results, op->w->err);
    return results[1];
}

/* ---- the node ---- */

/* Rows of all but the axis, which comes first. */
static eddy_output as_rows(eddy__onnx_op *op, eddy_output x, eddy_output n,
                           int64_t axis)
{
    const eddy_output count = CAST(OP("Size", x), EDDY_INT64);
    const eddy_output columns =
        OP("FloorDiv", count, OP("Maximum", n, INT64(1)));
    const eddy_output rank = eddy__onnx_rank64(op, x);
    const eddy_output at = eddy__onnx_from_zero(op, INT64(axis), rank);
    const eddy_output perm = eddy__onnx_concat(
        op, eddy__onnx_as_vector(op, at),
        eddy__onnx_concat(
            op, eddy__onnx_count(op, at),
            OP("Range", OP("AddV2", at, INT64(1)), rank, INT64(1))));

    return OP("Reshape", OP("Transpose", x, perm),
              eddy__onnx_concat(op, eddy__onnx_as_vector(op, n),
                                eddy__onnx_as_vector(op, columns)));
}

static void emit_unique(eddy__onnx_op *op)
{
    const bool has_axis = eddy__onnx_has(op, "axis");
    const int64_t axis = eddy__onnx_int(op, "axis", 0);
    const bool is_sorted = eddy__onnx_int(op, "sorted", 1) != 0;
    const eddy_dtype index = EDDY_INT64;
    const eddy_attr attrs[] = {eddy_attr_type("out_idx", &index)};
    eddy_output x = IN(0), y, at, counts, first, n, order;

    if (!has_axis)
        x = OP("Reshape", x, INT64S(-1));
    y = OP_WITH("UniqueWithCountsV2", attrs, x, INT64S(axis));
    at = eddy__onnx_nth(y, 1);
    counts = eddy__onnx_nth(y, 2);
    n = CAST(OP("Size", counts), EDDY_INT64);
    first = eddy__onnx_count(op, CAST(OP("Size", at), EDDY_INT64));
    first = OP("UnsortedSegmentMin", first, at, n);
    if (is_sorted) {
        order = has_axis ? order_of_rows(op, as_rows(op, y, n, axis), n)
                         : order_of(op, y, n);
        y = OP("GatherV2", y, order, INT32(axis));
        first = OP("GatherV2", first, order, INT32(0));
        counts = OP("GatherV2", counts, order, INT32(0));
        at = OP("GatherV2", OP("InvertPermutation", order), at, INT32(0));
    }
    GIVE(0, y);
    GIVE(1, first);
    GIVE(2, at);
    GIVE(3, counts);
}

const eddy__onnx_row eddy__onnx_unique[] = {
    {"Unique", 11, EDDY__ONNX_NEWEST, 1, 1, 1, 4, emit_unique},
    {.name = NULL},
};
