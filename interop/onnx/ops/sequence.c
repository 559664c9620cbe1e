/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sequences and optional values.  A sequence is a list, which its only owner
 * changes in place, so a loop that appends n tensors costs O(n).
 */
#include "core/base/status.h"
#include "core/graph/graph.h"
#include "eddy/onnx_loop.h"
#include "frontends/onnx/onnx.h"
#include "interop/onnx/loader.h"
#include "interop/onnx/ops/kit.h"
#include "interop/onnx/ops/lists.h"

/* ---- lists ---- */

eddy_output eddy__onnx_list_new(eddy__onnx_op *op, eddy_dtype dtype)
{
    const eddy_dtype shape_type = EDDY_INT32;
    const eddy_attr attrs[] = {
        eddy_attr_type("element_dtype", &dtype),
        eddy_attr_type("shape_type", &shape_type),
    };
    const eddy_output any = INT32(-1);

    return OP_WITH("EmptyTensorList", attrs, any, any);
}

eddy_output eddy__onnx_list_push(eddy__onnx_op *op, eddy_output list,
                                 eddy_output item)
{
    const eddy_dtype dtype = DTYPE(item);
    const eddy_attr attrs[] = {eddy_attr_type("element_dtype", &dtype)};

    return OP_WITH("TensorListPushBack", attrs, list, item);
}

eddy_output eddy__onnx_list_get(eddy__onnx_op *op, eddy_output list,
                                eddy_dtype dtype, eddy_output index)
{
    const eddy_attr attrs[] = {eddy_attr_type("element_dtype", &dtype)};
    const eddy_output at = CAST(index, EDDY_INT32), any = INT32(-1);

    return OP_WITH("TensorListGetItem", attrs, list, at, any);
}

eddy_output eddy__onnx_list_length(eddy__onnx_op *op, eddy_output list)
{
    return CAST(OP("TensorListLength", list), EDDY_INT64);
}

/* Input `i`, a sequence; fails if it is something else. */
static eddy__onnx_value in_sequence(eddy__onnx_op *op, size_t i)
{
    const eddy__onnx_value value = eddy__onnx_in_value(op, i);

    if (eddy__onnx_ok(op) && value.kind != EDDY__ONNX_SEQUENCE)
        eddy__onnx_fail(op, EDDY_E_INPUT_DTYPE, "input %zu is no sequence", i);
    return value;
}

/* The tensor at input `i`, of the dtype of a sequence's. */
static eddy_output in_item(eddy__onnx_op *op, size_t i, uint8_t dtype)
{
    const eddy_output item = IN(i);

    if (eddy__onnx_ok(op) && DTYPE(item) != (eddy_dtype)dtype)
        eddy__onnx_fail(
            op, EDDY_E_INPUT_DTYPE, "a %s tensor for a sequence of %s",
            eddy_dtype_name(DTYPE(item)), eddy_dtype_name((eddy_dtype)dtype));
    return item;
}

static void give_list(eddy__onnx_op *op, eddy_output list, uint8_t dtype)
{
    eddy__onnx_give_value(op, 0, list, EDDY__ONNX_SEQUENCE, (eddy_dtype)dtype);
}

static void emit_empty(eddy__onnx_op *op)
{
    eddy_dtype dtype = eddy__onnx_dtype_of(op, "dtype");

    if (dtype == EDDY_INVALID)
        dtype = EDDY_FLOAT32;
    give_list(op, eddy__onnx_list_new(op, dtype), (uint8_t)dtype);
}

static void emit_construct(eddy__onnx_op *op)
{
    const eddy_dtype dtype = DTYPE(IN(0));
    eddy_output list = eddy__onnx_list_new(op, dtype);

    for (size_t i = 0; i < op->n_inputs && eddy__onnx_ok(op); i++)
        list = eddy__onnx_list_push(op, list, in_item(op, i, (uint8_t)dtype));
    give_list(op, list, (uint8_t)dtype);
}

static void emit_length(eddy__onnx_op *op)
{
    GIVE(0, eddy__onnx_list_length(op, in_sequence(op, 0).output));
}

/* A position that may be counted from the end, from 0 on. */
static eddy_output write_place(eddy__onnx_op *op, eddy_output list,
                               eddy_output position)
{
    const eddy_output at = eddy__onnx_as_scalar(op, CAST(position, EDDY_INT64));

    return OP("SelectV2", OP("Less", at, INT64(0)),
              OP("AddV2", at, eddy__onnx_list_length(op, list)), at);
}

static void emit_at(eddy__onnx_op *op)
{
    const eddy__onnx_value list = in_sequence(op, 0);

    GIVE(0, eddy__onnx_list_get(op, list.output, (eddy_dtype)list.dtype,
                                write_place(op, list.output, IN(1))));
}

static void emit_insert(eddy__onnx_op *op)
{
    const eddy__onnx_value list = in_sequence(op, 0);
    const eddy_output item = in_item(op, 1, list.dtype);
    const eddy_dtype dtype = (eddy_dtype)list.dtype;
    const eddy_attr attrs[] = {eddy_attr_type("element_dtype", &dtype)};

    if (!GIVEN(2))
        give_list(op, eddy__onnx_list_push(op, list.output, item), list.dtype);
    else
        give_list(op,
                  OP_WITH("_ListInsert", attrs, list.output,
                          write_place(op, list.output, IN(2)), item),
                  list.dtype);
}

static void emit_erase(eddy__onnx_op *op)
{
    const eddy__onnx_value list = in_sequence(op, 0);
    const eddy_output place =
        GIVEN(1) ? write_place(op, list.output, IN(1)) : INT64(-1);
    const eddy_output last =
        OP("Sub", eddy__onnx_list_length(op, list.output), INT64(1));

    give_list(op, OP("_ListErase", list.output, GIVEN(1) ? place : last),
              list.dtype);
}

/* ---- joining ---- */

/* A loop over the items of a list, and over parts of a tensor. */
typedef struct turns {
    eddy__onnx_op *op;
    eddy_output from, split, length; /* what is read; `length` of the axis */
    eddy_dtype dtype;
    int64_t axis;
    bool is_even; /* `split` is one number for all parts */
} turns;

/* One more item, its axis brought to the front. */
static eddy_status build_moved(eddy_graph *graph, void *user,
                               const eddy_output *inputs, size_t n,
                               eddy_output *out_results, eddy_error *err)
{
    const turns *t = user;
    eddy__onnx_op *op = t->op;
    const eddy_output item =
        eddy__onnx_list_get(op, t->from, t->dtype, inputs[0]);

    (void)graph;
    (void)n;
    (void)err;
    out_results[0] = inputs[1];
    out_results[1] = eddy__onnx_list_push(
        op, inputs[2], eddy__onnx_move_axis(op->w, item, t->axis, false));
    return op->w->status;
}

/* The list that `build` makes in `n` (an int64 scalar) turns. */
static eddy_output write_turns(eddy__onnx_op *op, turns *t, eddy_part_fn build,
                               eddy_output n, bool has_start)
{
    eddy_output carried[2] = {eddy__onnx_list_new(op, t->dtype),
                              has_start ? INT64(0) : EDDY__NO_OUTPUT};
    const eddy_onnx_loop_spec spec = {
        .size = sizeof spec,
        .name = eddy__onnx_scope_name(op),
        .trip_count = &n,
        .initial = carried,
        .n_carried = has_start ? 2 : 1,
        .body = build,
        .user = t,
    };

    if (eddy__onnx_ok(op))
        eddy_emit_check(
            op->w, eddy_onnx_loop(op->w->graph, &spec, carried, op->w->err));
    return carried[0];
}

static eddy_output write_stacked(eddy__onnx_op *op, eddy_output list,
                                 eddy_dtype dtype)
{
    const eddy_attr attrs[] = {eddy_attr_type("element_dtype", &dtype)};
    const eddy_output any = INT32(-1);

    return OP_WITH("TensorListStack", attrs, list, any);
}

static eddy_output write_joined(eddy__onnx_op *op, eddy_output list,
                                eddy_dtype dtype)
{
    const eddy_attr attrs[] = {eddy_attr_type("element_dtype", &dtype)};

    return OP_WITH("TensorListConcat", attrs, list);
}

static void emit_join(eddy__onnx_op *op)
{
    const eddy__onnx_value list = in_sequence(op, 0);
    const eddy_dtype dtype = (eddy_dtype)list.dtype;
    const bool is_stack = eddy__onnx_int(op, "new_axis", 0) != 0;
    turns t = {.op = op, .from = list.output, .dtype = dtype};
    eddy_output joined;

    if (!eddy__onnx_has(op, "axis"))
        eddy__onnx_fail(op, EDDY_E_ATTR_MISSING, "attribute 'axis' is missing");
    t.axis = eddy__onnx_int(op, "axis", 0);
    if (!eddy__onnx_ok(op))
        return;
    if (is_stack)
        joined = write_stacked(op, list.output, dtype);
    else if (t.axis == 0)
        joined = write_joined(op, list.output, dtype);
    else
        joined = write_joined(
            op,
            write_turns(op, &t, build_moved,
                        eddy__onnx_list_length(op, list.output), false),
            dtype);
    GIVE(0, eddy__onnx_move_axis(op->w, joined, t.axis, true));
}

/* ---- splitting ---- */

/* One more part, and where the next one begins. */
static eddy_status build_part(eddy_graph *graph, void *user,
                              const eddy_output *inputs, size_t n,
                              eddy_output *out_results, eddy_error *err)
{
    const turns *t = user;
    eddy__onnx_op *op = t->op;
    const eddy_output start = inputs[3];
    const eddy_output size =
        t->is_even ? OP("Minimum", t->split, OP("Sub", t->length, start))
                   : OP("GatherV2", t->split, inputs[0], INT32(0));
    const eddy_output end = OP("AddV2", start, size);
    const eddy_output range = OP("Range", start, end, INT64(1));

    (void)graph;
    (void)n;
    (void)err;
    out_results[0] = inputs[1];
    out_results[1] = eddy__onnx_list_push(
        op, inputs[2], OP("GatherV2", t->from, range, INT64(t->axis)));
    out_results[2] = end;
    return op->w->status;
}

/* Without `split` and dimension the rows of the axis are the items. */
static void split_rows(eddy__onnx_op *op, eddy_output x, int64_t axis)
{
    const eddy_dtype dtype = DTYPE(x);
    const eddy_attr attrs[] = {eddy_attr_type("element_dtype", &dtype)};
    const eddy_output moved = eddy__onnx_move_axis(op->w, x, axis, false);
    const eddy_output any = INT32(-1);

    give_list(op, OP_WITH("TensorListFromTensor", attrs, moved, any),
              (uint8_t)dtype);
}

/* The sizes of all parts where only a run can tell whether `split` is a number
 * for all of them or a vector of theirs: an index that is 0 for each part, or
 * the part's own. */
static eddy_output write_sizes(eddy__onnx_op *op, eddy_output split,
                               eddy_output length)
{
    const eddy_output flat = OP("Reshape", split, INT64S(-1));
    const eddy_output padded = OP("ConcatV2", flat, INT64S(1), INT32(0));
    const eddy_output first = OP("GatherV2", padded, INT64(0), INT32(0));
    const eddy_output is_each = OP("Greater", OP("Rank", split), INT32(0));
    const eddy_output n_even =
        OP("FloorDiv", OP("Sub", OP("AddV2", length, first), INT64(1)),
           OP("SelectV2", is_each, INT64(1), first));
    const eddy_output n_each = CAST(OP("Size", flat), EDDY_INT64);
    const eddy_output parts = OP(
        "Range", INT64(0), OP("SelectV2", is_each, n_each, n_even), INT64(1));
    const eddy_output own = OP("Mul", parts, CAST(is_each, EDDY_INT64));
    const eddy_output sizes = OP("GatherV2", flat, own, INT32(0));
    const eddy_output rest = OP("Sub", length, OP("Mul", parts, sizes));

    return OP("SelectV2", is_each, sizes, OP("Minimum", sizes, rest));
}

static void emit_split(eddy__onnx_op *op)
{
    const eddy_output x = IN(0);
    const bool keeps = eddy__onnx_int(op, "keepdims", 1) != 0;
    turns t = {.op = op, .from = x, .dtype = DTYPE(x), .is_even = true};
    eddy_output n;

    t.axis = eddy__onnx_int(op, "axis", 0);
    if (!GIVEN(1) && !keeps) {
        split_rows(op, x, t.axis);
        return;
    }
    t.length = SIZED(DIM(x, t.axis));
    t.split = GIVEN(1) ? CAST(IN(1), EDDY_INT64) : INT64(1);
    if (GIVEN(1)) {
        const eddy_shape shape = eddy__onnx_shape(op, t.split);

        t.is_even = shape.rank == 0;
        if (eddy__onnx_ok(op) && shape.rank < 0)
            t.split = write_sizes(op, t.split, t.length);
    }
    if (t.is_even)
        n = OP("FloorDiv", OP("Sub", OP("AddV2", t.length, t.split), INT64(1)),
               t.split);
    else
        n = SIZED(DIM(t.split, 0));
    give_list(op, write_turns(op, &t, build_part, n, true), (uint8_t)t.dtype);
}

/* ---- optional values ---- */

static eddy__onnx_kind inside(uint8_t kind)
{
    return kind == EDDY__ONNX_OPTIONAL_SEQUENCE ? EDDY__ONNX_SEQUENCE
                                                : EDDY__ONNX_TENSOR;
}

static bool is_optional(uint8_t kind)
{
    return kind == EDDY__ONNX_OPTIONAL || kind == EDDY__ONNX_OPTIONAL_SEQUENCE;
}

eddy_output eddy__onnx_optional_of(eddy__onnx_op *op, eddy__onnx_value value)
{
    const eddy_dtype dtype = value.kind == EDDY__ONNX_SEQUENCE
                                 ? EDDY_VARIANT
                                 : (eddy_dtype)value.dtype;
    const eddy_attr attrs[] = {{.name = "Toutput_types",
                                .kind = EDDY_ATTR_TYPE,
                                .is_list = true,
                                .n = 1,
                                .as.types = &dtype}};

    return OP_WITH("OptionalFromValue", attrs, value.output);
}

eddy_output eddy__onnx_optional_inside(eddy__onnx_op *op,
                                       eddy__onnx_value value)
{
    const eddy_shape any = {.rank = -1};
    const eddy_dtype dtype = inside(value.kind) == EDDY__ONNX_SEQUENCE
                                 ? EDDY_VARIANT
                                 : (eddy_dtype)value.dtype;
    const eddy_attr attrs[] = {
        {.name = "output_types",
         .kind = EDDY_ATTR_TYPE,
         .is_list = true,
         .n = 1,
         .as.types = &dtype},
        {.name = "output_shapes",
         .kind = EDDY_ATTR_SHAPE,
         .is_list = true,
         .n = 1,
         .as.shapes = &any},
    };

    return OP_WITH("OptionalGetValue", attrs, value.output);
}

static void emit_optional(eddy__onnx_op *op)
{
    const Eddy__OnnxPb__TypeProto *type = eddy__onnx_type_of(op, "type");
    eddy__onnx_value value = {.output = EDDY__NO_OUTPUT};

    if (GIVEN(0))
        value = eddy__onnx_in_value(op, 0);
    else if (!type)
        eddy__onnx_fail(op, EDDY_E_ATTR_MISSING, "neither an input nor 'type'");
    else if (eddy__onnx_ok(op))
        op->w->status =
            eddy__onnx_read_type(op->loader, "type", type, &value, NULL);
    if (eddy__onnx_ok(op) && is_optional(value.kind))
        eddy__onnx_refuse(op, "an optional value of an optional value");
    eddy__onnx_give_value(
        op, 0,
        GIVEN(0) ? eddy__onnx_optional_of(op, value)
                 : eddy__onnx_emit(op, "OptionalNone", NULL, 0, NULL, 0),
        value.kind == EDDY__ONNX_SEQUENCE ? EDDY__ONNX_OPTIONAL_SEQUENCE
                                          : EDDY__ONNX_OPTIONAL,
        (eddy_dtype)value.dtype);
}

static void emit_has(eddy__onnx_op *op)
{
    if (GIVEN(0) && is_optional(op->inputs[0].kind))
        GIVE(0, OP("OptionalHasValue", op->inputs[0].output));
    else
        GIVE(0, NUMBER(EDDY_BOOL, GIVEN(0)));
}

static void emit_get(eddy__onnx_op *op)
{
    const eddy__onnx_value value = eddy__onnx_in_value(op, 0);

    if (is_optional(value.kind))
        eddy__onnx_give_value(op, 0, eddy__onnx_optional_inside(op, value),
                              inside(value.kind), (eddy_dtype)value.dtype);
    else
        eddy__onnx_give_value(op, 0, OP("Identity", value.output),
                              (eddy__onnx_kind)value.kind,
                              (eddy_dtype)value.dtype);
}

#define ANY EDDY__ONNX_ANY
#define NEWEST EDDY__ONNX_NEWEST

const eddy__onnx_row eddy__onnx_sequence[] = {
    {"ConcatFromSequence", 11, NEWEST, 1, 1, 1, 1, emit_join},
    {"Optional", 15, NEWEST, 0, 1, 1, 1, emit_optional},
    {"OptionalGetElement", 15, NEWEST, 1, 1, 1, 1, emit_get},
    {"OptionalHasElement", 15, NEWEST, 0, 1, 1, 1, emit_has},
    {"SequenceAt", 11, NEWEST, 2, 2, 1, 1, emit_at},
    {"SequenceConstruct", 11, NEWEST, 1, ANY, 1, 1, emit_construct},
    {"SequenceEmpty", 11, NEWEST, 0, 0, 1, 1, emit_empty},
    {"SequenceErase", 11, NEWEST, 1, 2, 1, 1, emit_erase},
    {"SequenceInsert", 11, NEWEST, 2, 3, 1, 1, emit_insert},
    {"SequenceLength", 11, NEWEST, 1, 1, 1, 1, emit_length},
    {"SplitToSequence", 11, NEWEST, 1, 2, 1, 1, emit_split},
    {.name = NULL},
};
