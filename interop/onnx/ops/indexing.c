/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX operators that read and write where indices say. */
#include "interop/onnx/ops/kit.h"

#include <string.h>

/* ---- Gather ---- */

/* Indices as int64 from 0 on, the negative ones of dimension `axis` of x. */
static eddy_output from_zero(eddy__onnx_op *op, size_t input, eddy_output x,
                             int64_t axis)
{
    eddy__onnx_ints ints;
    bool is_plain = eddy__onnx_known_ints(op, input, &ints);

    for (size_t i = 0; is_plain && i < ints.n; i++)
        is_plain = ints.at[i] >= 0;
    return is_plain ? CAST(IN(input), EDDY_INT64)
                    : eddy__onnx_from_zero(op, IN(input), SIZED(DIM(x, axis)));
}

static void emit_gather(eddy__onnx_op *op)
{
    const int64_t axis = eddy__onnx_int(op, "axis", 0);
    const eddy_output x = IN(0);

    GIVE(0, OP("GatherV2", x, from_zero(op, 1, x, axis), INT32(axis)));
}

/* ---- by elements ---- */

/* The products of the dimensions behind each, of a vector. */
static eddy_output steps_of(eddy__onnx_op *op, eddy_output dims)
{
    const bool yes = true;
    const eddy_attr attrs[] = {eddy_attr_bool("exclusive", &yes),
                               eddy_attr_bool("reverse", &yes)};

    return OP_WITH("Cumprod", attrs, dims, INT32(0));
}

/*
 * For each element of `indices` where it is in `x`, as a row: its own place but
 * for `axis`, which the index says.  [elements, rank]
 */
static eddy_output element_rows(eddy__onnx_op *op, eddy_output x,
                                eddy_output indices, int64_t axis)
{
    const eddy_output dims = eddy__onnx_dims(op, indices);
    const eddy_output rank = eddy__onnx_rank64(op, x);
    const eddy_output flat = OP("Reshape", indices, INT64S(-1));
    const eddy_output n = CAST(OP("Size", flat), EDDY_INT64);
    const eddy_output at = OP("ExpandDims", eddy__onnx_count(op, n), INT32(1));
    const eddy_output steps = OP("Maximum", steps_of(op, dims), INT64(1));
    const eddy_output own = OP("FloorMod", OP("FloorDiv", at, steps),
                               OP("Maximum", dims, INT64(1)));
    const eddy_output is_axis = OP("Equal", eddy__onnx_count(op, rank),
                                   eddy__onnx_from_zero(op, INT64(axis), rank));

    return OP("SelectV2", is_axis, OP("ExpandDims", flat, INT32(1)), own);
}

eddy_output eddy__onnx_elements(eddy__onnx_op *op, eddy_output x,
                                eddy_output indices, int64_t axis)
{
    return OP("Reshape", OP("GatherNd", x, element_rows(op, x, indices, axis)),
              eddy__onnx_dims(op, indices));
}

static void emit_gather_elements(eddy__onnx_op *op)
{
    const int64_t axis = eddy__onnx_int(op, "axis", 0);
    const eddy_output x = IN(0);

    GIVE(0, eddy__onnx_elements(op, x, from_zero(op, 1, x, axis), axis));
}

/* ---- GatherND ---- */

/* Rows of indices from 0 on; those below count from behind. */
static eddy_output rows_from_zero(eddy__onnx_op *op, eddy_output indices,
                                  eddy_output dims)
{
    const eddy_output rows = CAST(indices, EDDY_INT64);
    const eddy_output depth = SIZED(DIM(indices, -1));

    return eddy__onnx_from_zero(op, rows, eddy__onnx_head(op, dims, depth));
}

/*
 * With batch dimensions: all of them as one, whose number goes before the
 * indices of each row.
 */
static eddy_output gather_batches(eddy__onnx_op *op, eddy_output x,
                                  eddy_output rows, int64_t n_batch)
{
    const eddy_output dims = eddy__onnx_dims(op, x);
    const eddy_output n = INT64(n_batch);
    const eddy_output batch = eddy__onnx_head(op, dims, n);
    const eddy_output count =
        eddy__onnx_reduce(op, "Prod", batch, INT64S(0), true);
    const eddy_output rest = eddy__onnx_tail(op, dims, n);
    const eddy_output depth = eddy__onnx_as_vector(op, SIZED(DIM(rows, -1)));
    const eddy_output row_dims = eddy__onnx_dims(op, rows);
    const eddy_output one =
        OP("Reshape", x, eddy__onnx_concat(op, count, rest));
    const eddy_output flat = OP(
        "Reshape", rows,
        eddy__onnx_concat(op, eddy__onnx_concat(op, count, INT64S(-1)), depth));
    const eddy_output number =
        OP("Reshape", eddy__onnx_count(op, eddy__onnx_as_scalar(op, count)),
           INT64S(-1, 1, 1));
    const eddy_output like =
        OP("Slice", OP("ZerosLike", flat), INT64S(0, 0, 0), INT64S(-1, -1, 1));
    const eddy_output with =
        OP("ConcatV2", OP("AddV2", like, number), flat, INT32(2));
    const eddy_output found = OP("GatherNd", one, with);
    const eddy_output between =
        OP("Slice", row_dims, INT64S(0),
           OP("Sub", eddy__onnx_as_vector(op, eddy__onnx_rank64(op, rows)),
              INT64S(1)));

    return OP("Reshape", found,
              eddy__onnx_concat(
                  op, between,
                  eddy__onnx_tail(op, rest, eddy__onnx_as_scalar(op, depth))));
}

static void emit_gather_nd(eddy__onnx_op *op)
{
    const int64_t n_batch = eddy__onnx_int(op, "batch_dims", 0);
    const eddy_output x = IN(0);
    const eddy_output rows = rows_from_zero(
        op, IN(1), eddy__onnx_tail(op, eddy__onnx_dims(op, x), INT64(n_batch)));

    if (n_batch == 0)
        GIVE(0, OP("GatherNd", x, rows));
    else
        GIVE(0, gather_batches(op, x, rows, n_batch));
}

/* ---- Scatter ---- */

/* The products of what goes to each element, by rows of full indices. */
static eddy_output scatter_products(eddy__onnx_op *op, eddy_output x,
                                    eddy_output rows, eddy_output updates)
{
    const eddy_output dims = eddy__onnx_dims(op, x);
    const eddy_output depth = SIZED(DIM(rows, -1));
    const eddy_output slice = eddy__onnx_tail(op, dims, depth);
    const eddy_output n = eddy__onnx_reduce(
        op, "Prod", eddy__onnx_head(op, dims, depth), INT64S(0), false);
    const eddy_output steps = steps_of(op, eddy__onnx_head(op, dims, depth));
    const eddy_output at =
        eddy__onnx_reduce(op, "Sum", OP("Mul", rows, steps), INT64S(-1), false);
    const eddy_output flat = OP("Reshape", at, INT64S(-1));
    const eddy_output parts =
        OP("Reshape", updates,
           eddy__onnx_concat(
               op, eddy__onnx_as_vector(op, CAST(OP("Size", flat), EDDY_INT64)),
               slice));

    return OP("Mul", x,
              OP("Reshape", OP("UnsortedSegmentProd", parts, flat, n), dims));
}

/* The op of a reduction; truths, as numbers, have or and and. */
static const char *scatter_op(const char *reduction, bool is_bool)
{
    static const struct {
        const char *onnx, *eddy, *of_truths;
    } ways[] = {
        {"none", "TensorScatterUpdate", "TensorScatterUpdate"},
        {"add", "TensorScatterAdd", "TensorScatterMax"},
        {"max", "TensorScatterMax", "TensorScatterMax"},
        {"min", "TensorScatterMin", "TensorScatterMin"},
        {"mul", NULL, "TensorScatterMin"},
    };

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(ways[i].onnx, reduction) == 0)
            return is_bool ? ways[i].of_truths : ways[i].eddy;
    return NULL;
}

static eddy_output scatter(eddy__onnx_op *op, const char *reduction,
                           eddy_output x, eddy_output rows, eddy_output updates)
{
    const bool is_bool = DTYPE(x) == EDDY_BOOL;
    const char *type = reduction ? scatter_op(reduction, is_bool) : NULL;

    if (type && is_bool && strcmp(reduction, "none") != 0)
        return CAST(
            OP(type, CAST(x, EDDY_UINT8), rows, CAST(updates, EDDY_UINT8)),
            EDDY_BOOL);
    if (type)
        return OP(type, x, rows, updates);
    if (reduction && strcmp(reduction, "mul") == 0)
        return scatter_products(op, x, rows, updates);
    if (reduction)
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE, "there is no reduction '%s'",
                        reduction);
    return EDDY__NO_OUTPUT;
}

static void emit_scatter_elements(eddy__onnx_op *op)
{
    const int64_t axis = eddy__onnx_int(op, "axis", 0);
    const char *reduction = eddy__onnx_text(op, "reduction", "none");
    const eddy_output x = IN(0);
    const eddy_output rows =
        element_rows(op, x, from_zero(op, 1, x, axis), axis);

    GIVE(0, scatter(op, reduction, x, rows, OP("Reshape", IN(2), INT64S(-1))));
}

static void emit_scatter_nd(eddy__onnx_op *op)
{
    const char *reduction = eddy__onnx_text(op, "reduction", "none");
    const eddy_output x = IN(0);

    GIVE(0, scatter(op, reduction, x,
                    rows_from_zero(op, IN(1), eddy__onnx_dims(op, x)), IN(2)));
}

/*
 * The update goes to places of `axis` one after the other, from what
 * write_indices says for each of the batch on.
 */
static void emit_tensor_scatter(eddy__onnx_op *op)
{
    const char *mode = eddy__onnx_text(op, "mode", "linear");
    const eddy_output x = IN(0), update = IN(1);
    const int64_t from = eddy__onnx_int(op, "axis", -2);
    const int32_t rank =
        eddy__onnx_want_rank(op, update, "an update of a tensor");
    const int64_t axis = from < 0 ? from + rank : from;
    const eddy__onnx_size length = DIM(update, axis);
    eddy_output at = eddy__onnx_count(op, SIZED(length)), rows;
    int64_t shape[EDDY_MAX_RANK];

    if (!mode || !eddy__onnx_ok(op))
        return;
    if (axis < 1 || axis >= rank) {
        eddy__onnx_fail(op, EDDY_E_INDEX, "axis %lld of a tensor of rank %d",
                        (long long)from, (int)rank);
        return;
    }
    for (int32_t i = 0; i < rank; i++)
        shape[i] = i == axis ? -1 : 1;
    at = OP("Reshape", at, eddy__onnx_int64s(op, shape, (size_t)rank));
    if (GIVEN(2)) {
        shape[axis] = 1;
        shape[0] = -1;
        at = OP("AddV2", at,
                OP("Reshape", CAST(IN(2), EDDY_INT64),
                   eddy__onnx_int64s(op, shape, (size_t)rank)));
    }
    if (strcmp(mode, "circular") == 0)
        at = OP("FloorMod", at, SIZED(DIM(x, axis)));
    at = OP("BroadcastTo", at, eddy__onnx_dims(op, update));
    rows = element_rows(op, x, at, axis);
    GIVE(0,
         OP("TensorScatterUpdate", x, rows, OP("Reshape", update, INT64S(-1))));
}

/* ---- found and chosen ---- */

/* No coordinates of a scalar: [0, 1] or [0, 0], as ONNX's text has it. */
static eddy_output find_in_scalar(eddy__onnx_op *op, eddy_output x)
{
    const eddy_output n = OP("Shape", OP("Where", OP("Reshape", x, INT64S(1))));
    const eddy_output head =
        eddy__onnx_gather(op, CAST(n, EDDY_INT64), INT64S(0),
                          eddy__onnx_index(op, EDDY_INT32, 0));

    return OP("Fill", eddy__onnx_concat(op, INT64S(0), head),
              NUMBER(EDDY_INT64, 0.0));
}

static void emit_non_zero(eddy__onnx_op *op)
{
    eddy_output x = IN(0);
    const bool is_scalar =
        eddy__onnx_ok(op) && eddy__writer_shape_of(op->w, x).rank == 0;

    /* A text counts unless it is empty. */
    if (DTYPE(x) == EDDY_STRING)
        x = OP("NotEqual", x, OP("ZerosLike", x));
    if (is_scalar)
        GIVE(0, find_in_scalar(op, x));
    else
        GIVE(0, OP("Transpose", OP("Where", x), INT64S(1, 0)));
}

static void emit_compress(eddy__onnx_op *op)
{
    const bool has_axis = eddy__onnx_has(op, "axis");
    const int64_t axis = eddy__onnx_int(op, "axis", 0);
    const eddy_output chosen = OP("Reshape", OP("Where", IN(1)), INT64S(-1));
    eddy_output x = IN(0);

    if (!has_axis)
        x = OP("Reshape", x, INT64S(-1));
    GIVE(0, OP("GatherV2", x, chosen, INT32(axis)));
}

/* The values are off, then on; an index outside of the depth is on nowhere. */
static void emit_one_hot(eddy__onnx_op *op)
{
    int64_t axis = eddy__onnx_int(op, "axis", -1);
    const eddy_attr attrs[] = {eddy_attr_int("axis", &axis)};
    const eddy_output depth = CAST(eddy__onnx_as_scalar(op, IN(1)), EDDY_INT64);
    const eddy_output at = eddy__onnx_from_zero(op, IN(0), depth);
    const eddy_output values = IN(2);

    if (axis < -1)
        axis += eddy__onnx_want_rank(op, at, "an axis from behind") + 1;
    GIVE(0, OP_WITH("OneHot", attrs, at, CAST(depth, EDDY_INT32),
                    OP("GatherV2", values, INT64(1), INT32(0)),
                    OP("GatherV2", values, INT64(0), INT32(0))));
}

static void emit_reverse_sequence(eddy__onnx_op *op)
{
    const int64_t batch = eddy__onnx_int(op, "batch_axis", 1);
    const int64_t time = eddy__onnx_int(op, "time_axis", 0);
    const eddy_attr attrs[] = {eddy_attr_int("seq_dim", &time),
                               eddy_attr_int("batch_dim", &batch)};

    GIVE(0, OP_WITH("ReverseSequence", attrs, IN(0), CAST(IN(1), EDDY_INT64)));
}

/* ---- TopK ---- */

/* Numbers in the opposite order, none of which overflows. */
static eddy_output opposite(eddy__onnx_op *op, eddy_output x)
{
    return OP(eddy__onnx_is_float(DTYPE(x)) ? "Neg" : "Invert", x);
}

static void emit_top_k(eddy__onnx_op *op)
{
    const int64_t axis = eddy__onnx_int(op, "axis", -1);
    const bool is_largest =
        op->row->first < 11 || eddy__onnx_int(op, "largest", 1) != 0;
    const bool is_sorted =
        op->row->first < 11 || eddy__onnx_int(op, "sorted", 1) != 0;
    const eddy_dtype index = EDDY_INT64;
    const eddy_attr attrs[] = {eddy_attr_bool("sorted", &is_sorted),
                               eddy_attr_type("index_type", &index)};
    eddy_output x = IN(0), k, found, values;
    const eddy__onnx_exchange e = eddy__onnx_to_last(op, x, axis);

    if (op->row->last < 10)
        k = INT64(eddy__onnx_int(op, "k", 0));
    else
        k = CAST(eddy__onnx_as_scalar(op, IN(1)), EDDY_INT64);
    x = eddy__onnx_exchanged(op, x, &e);
    found = OP_WITH("TopKV2", attrs, is_largest ? x : opposite(op, x), k);
    values = is_largest ? found : opposite(op, found);
    GIVE(0, eddy__onnx_exchanged(op, values, &e));
    GIVE(1, eddy__onnx_exchanged(op, eddy__onnx_nth(found, 1), &e));
}

#define NEWEST EDDY__ONNX_NEWEST

const eddy__onnx_row eddy__onnx_indexing[] = {
    {"Compress", 9, NEWEST, 2, 2, 1, 1, emit_compress},
    {"Gather", 1, NEWEST, 2, 2, 1, 1, emit_gather},
    {"GatherElements", 11, NEWEST, 2, 2, 1, 1, emit_gather_elements},
    {"GatherND", 11, NEWEST, 2, 2, 1, 1, emit_gather_nd},
    {"NonZero", 9, NEWEST, 1, 1, 1, 1, emit_non_zero},
    {"OneHot", 9, NEWEST, 3, 3, 1, 1, emit_one_hot},
    {"ReverseSequence", 10, NEWEST, 2, 2, 1, 1, emit_reverse_sequence},
    {"Scatter", 9, 10, 3, 3, 1, 1, emit_scatter_elements},
    {"ScatterElements", 11, NEWEST, 3, 3, 1, 1, emit_scatter_elements},
    {"ScatterND", 11, NEWEST, 3, 3, 1, 1, emit_scatter_nd},
    {"TensorScatter", 24, NEWEST, 2, 3, 1, 1, emit_tensor_scatter},
    {"TopK", 1, 9, 1, 1, 2, 2, emit_top_k},
    {"TopK", 10, 10, 2, 2, 2, 2, emit_top_k},
    {"TopK", 11, NEWEST, 2, 2, 2, 2, emit_top_k},
    {.name = NULL},
};
