/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX's reductions, cumulative sums, and the positions of extremes.
 *
 * The axes were an attribute and became an input, in ReduceSum with opset 13
 * and in the others with 18.  None at all means every axis, unless
 * noop_with_empty_axes says that it means none.
 */
#include "interop/onnx/ops/kit.h"

#include <string.h>

typedef struct reduction {
    eddy_output axes;
    bool keeps;
} reduction;

/* Vector `axes`, or every axis of `x` if that is empty. */
static eddy_output all_if_empty(eddy__onnx_op *op, eddy_output x,
                                eddy_output axes)
{
    const eddy_shape shape = eddy__onnx_shape(op, axes);
    eddy_output is_empty, n;

    if (shape.rank == 1 && shape.dims[0] >= 0)
        return shape.dims[0] == 0 ? eddy__onnx_axes_from(op, x, 0) : axes;
    is_empty = OP("Equal", CAST(OP("Size", axes), EDDY_INT64), INT64(0));
    n = OP("SelectV2", is_empty, eddy__onnx_rank64(op, x), INT64(0));
    return eddy__onnx_concat(op, axes, eddy__onnx_count(op, n));
}

static reduction read_reduction(eddy__onnx_op *op, eddy_output x,
                                bool axes_are_input)
{
    const bool keeps = eddy__onnx_int(op, "keepdims", 1) != 0;
    bool is_noop = false;
    const int64_t *axes;
    size_t n;

    if (axes_are_input) {
        is_noop = eddy__onnx_int(op, "noop_with_empty_axes", 0) != 0;
        if (GIVEN(1)) {
            const eddy_output given = CAST(IN(1), EDDY_INT64);

            return (reduction){is_noop ? given : all_if_empty(op, x, given),
                               keeps};
        }
        if (is_noop)
            return (reduction){eddy__onnx_int64s(op, NULL, 0), keeps};
    } else {
        n = eddy__onnx_list_of_ints(op, "axes", &axes);
        if (n > 0)
            return (reduction){eddy__onnx_int64s(op, axes, n), keeps};
    }
    return (reduction){eddy__onnx_axes_from(op, x, 0), keeps};
}

static eddy_output reduce(eddy__onnx_op *op, const char *type, eddy_output x,
                          const reduction *r)
{
    return eddy__onnx_reduce(op, type, x, r->axes, r->keeps);
}

static eddy_output absolute(eddy__onnx_op *op, eddy_output x)
{
    return eddy__onnx_is_unsigned(DTYPE(x)) ? x : OP("Abs", x);
}

/* The largest is taken off first, so that nothing overflows. */
static eddy_output log_sum_exp(eddy__onnx_op *op, eddy_output x,
                               const reduction *r)
{
    eddy_output most = eddy__onnx_reduce(op, "Max", x, r->axes, true);
    eddy_output sum, lost;

    most = OP("SelectV2", OP("IsFinite", most), most, LIKE(most, 0.0));
    most = OP("StopGradient", most);
    sum = OP("Log", reduce(op, "Sum", OP("Exp", OP("Sub", x, most)), r));
    lost = r->keeps ? most : reduce(op, "Sum", most, r);
    return OP("AddV2", sum, lost);
}

/* Integers are summed as they are and have their root and logarithm in
 * float64. */
static eddy_output in_float(eddy__onnx_op *op, const char *type, eddy_output x)
{
    const eddy_dtype dtype = DTYPE(x);

    if (eddy__onnx_is_float(dtype))
        return OP(type, x);
    return CAST(OP(type, CAST(x, EDDY_FLOAT64)), dtype);
}

/* The extremes of bools are those of 0 and 1. */
static eddy_output extreme(eddy__onnx_op *op, const char *type, eddy_output x,
                           const reduction *r)
{
    if (DTYPE(x) != EDDY_BOOL)
        return reduce(op, type, x, r);
    return reduce(op, strcmp(type, "Max") == 0 ? "Any" : "All", x, r);
}

static eddy_output reduced(eddy__onnx_op *op, eddy_output x, const reduction *r)
{
    const char *type = op->row->name + sizeof "Reduce" - 1;

    if (strcmp(type, "Max") == 0 || strcmp(type, "Min") == 0)
        return extreme(op, type, x, r);
    if (strcmp(type, "L1") == 0)
        return reduce(op, "Sum", absolute(op, x), r);
    if (strcmp(type, "SumSquare") == 0)
        return reduce(op, "Sum", OP("Mul", x, x), r);
    if (strcmp(type, "L2") == 0)
        return in_float(op, "Sqrt", reduce(op, "Sum", OP("Mul", x, x), r));
    if (strcmp(type, "LogSum") == 0)
        return in_float(op, "Log", reduce(op, "Sum", x, r));
    if (strcmp(type, "LogSumExp") == 0) {
        const eddy_dtype dtype = DTYPE(x);

        if (eddy__onnx_is_float(dtype))
            return log_sum_exp(op, x, r);
        return CAST(log_sum_exp(op, CAST(x, EDDY_FLOAT64), r), dtype);
    }
    return reduce(op, type, x, r);
}

static void emit_reduce(eddy__onnx_op *op)
{
    const eddy_output x = IN(0);
    const reduction r = read_reduction(op, x, op->row->max_inputs == 2);

    GIVE(0, reduced(op, x, &r));
}

/* ---- ArgMax, ArgMin ---- */

static void emit_arg(eddy__onnx_op *op)
{
    const int64_t axis = eddy__onnx_int(op, "axis", 0);
    const bool keeps = eddy__onnx_int(op, "keepdims", 1) != 0;
    const bool is_last = eddy__onnx_int(op, "select_last_index", 0) != 0;
    const eddy_dtype index = EDDY_INT64;
    const eddy_attr attrs[] = {eddy_attr_type("output_type", &index)};
    eddy_output x = IN(0), at;

    /* The last of the largest is the first of them from behind. */
    if (is_last)
        at = OP_WITH(op->row->name, attrs, OP("ReverseV2", x, INT64S(axis)),
                     INT32(axis));
    else
        at = OP_WITH(op->row->name, attrs, x, INT32(axis));
    if (is_last)
        at = OP("Sub", OP("Sub", SIZED(DIM(x, axis)), INT64(1)), at);
    if (keeps)
        at = OP("ExpandDims", at, INT32(axis));
    GIVE(0, at);
}

/* ---- CumSum, CumProd ---- */

static void emit_scan(eddy__onnx_op *op)
{
    const bool exclusive = eddy__onnx_int(op, "exclusive", 0) != 0;
    const bool reverse = eddy__onnx_int(op, "reverse", 0) != 0;
    const eddy_attr attrs[] = {eddy_attr_bool("exclusive", &exclusive),
                               eddy_attr_bool("reverse", &reverse)};
    const bool is_sum = strcmp(op->row->name, "CumSum") == 0;

    GIVE(0, OP_WITH(is_sum ? "Cumsum" : "Cumprod", attrs, IN(0),
                    eddy__onnx_as_scalar(op, IN(1))));
}

#define NEWEST EDDY__ONNX_NEWEST
#define REDUCE(name, last)                                                     \
    {name, 1, last, 1, 1, 1, 1, emit_reduce},                                  \
    {                                                                          \
        name, last + 1, NEWEST, 1, 2, 1, 1, emit_reduce                        \
    }

const eddy__onnx_row eddy__onnx_reduction[] = {
    {"ArgMax", 1, NEWEST, 1, 1, 1, 1, emit_arg},
    {"ArgMin", 1, NEWEST, 1, 1, 1, 1, emit_arg},
    {"CumProd", 26, NEWEST, 2, 2, 1, 1, emit_scan},
    {"CumSum", 11, NEWEST, 2, 2, 1, 1, emit_scan},
    REDUCE("ReduceL1", 17),
    REDUCE("ReduceL2", 17),
    REDUCE("ReduceLogSum", 17),
    REDUCE("ReduceLogSumExp", 17),
    REDUCE("ReduceMax", 17),
    REDUCE("ReduceMean", 17),
    REDUCE("ReduceMin", 17),
    REDUCE("ReduceProd", 17),
    REDUCE("ReduceSum", 12),
    REDUCE("ReduceSumSquare", 17),
    {.name = NULL},
};
