/* SPDX-License-Identifier: Apache-2.0 */
/* What the families of ONNX operators share; see kit.h. */
#include "interop/onnx/ops/kit.h"
#include "core/graph/graph.h"

#include "core/value/dtype.h"

#include <string.h>

#define MOST_SIZES ((size_t)EDDY_MAX_RANK * 2)

bool eddy__onnx_is_float(eddy_dtype dtype)
{
    return dtype == EDDY_FLOAT16 || dtype == EDDY_BFLOAT16 ||
           dtype == EDDY_FLOAT32 || dtype == EDDY_FLOAT64;
}

bool eddy__onnx_is_unsigned(eddy_dtype dtype)
{
    return dtype == EDDY_UINT8 || dtype == EDDY_UINT16 ||
           dtype == EDDY_UINT32 || dtype == EDDY_UINT64;
}

bool eddy__onnx_is_integer(eddy_dtype dtype)
{
    return eddy__onnx_is_unsigned(dtype) || dtype == EDDY_INT8 ||
           dtype == EDDY_INT16 || dtype == EDDY_INT32 || dtype == EDDY_INT64;
}

/* ---- numbers of shapes ---- */

eddy_output eddy__onnx_dims(eddy__onnx_op *op, eddy_output x)
{
    const eddy_shape shape = eddy__onnx_shape(op, x);
    const eddy_dtype index = EDDY_INT64;
    const eddy_attr attrs[] = {eddy_attr_type("out_type", &index)};
    bool is_known = shape.rank >= 0;

    for (int32_t i = 0; i < shape.rank; i++)
        is_known = is_known && shape.dims[i] >= 0;
    if (is_known)
        return eddy__onnx_int64s(op, shape.dims, (size_t)shape.rank);
    return OP_WITH("Shape", attrs, x);
}

eddy_output eddy__onnx_rank64(eddy__onnx_op *op, eddy_output x)
{
    const eddy_shape shape = eddy__onnx_shape(op, x);

    return shape.rank >= 0 ? INT64(shape.rank)
                           : CAST(eddy__onnx_rank(op, x), EDDY_INT64);
}

int64_t eddy__onnx_axis(eddy__onnx_op *op, eddy_output x, int64_t axis)
{
    const int32_t rank = eddy__onnx_shape(op, x).rank;

    if (rank < 0 || !eddy__onnx_ok(op))
        return axis;
    if (axis < -rank || axis >= (rank == 0 ? 1 : rank)) {
        eddy__onnx_fail(op, EDDY_E_INDEX,
                        "axis %lld is not one of a tensor of rank %d",
                        (long long)axis, (int)rank);
        return 0;
    }
    return axis < 0 ? axis + rank : axis;
}

int32_t eddy__onnx_want_rank(eddy__onnx_op *op, eddy_output x, const char *why)
{
    const int32_t rank = eddy__onnx_shape(op, x).rank;

    if (rank < 0 && eddy__onnx_ok(op))
        eddy__onnx_refuse(op, "%s, of which the rank is not known", why);
    return rank < 0 ? 0 : rank;
}

eddy_output eddy__onnx_of_rank(eddy__onnx_op *op, eddy_output x, int32_t rank)
{
    eddy_shape shape = {.rank = rank};
    const eddy_attr attrs[] = {eddy_attr_shape("shape", &shape)};

    if (eddy__onnx_shape(op, x).rank >= 0)
        return x;
    for (int32_t i = 0; i < rank; i++)
        shape.dims[i] = -1;
    return OP_WITH("EnsureShape", attrs, x);
}

int64_t eddy__onnx_count_of(eddy__onnx_op *op, size_t i)
{
    const eddy_shape shape =
        GIVEN(i) ? eddy__onnx_shape(op, IN(i)) : (eddy_shape){.rank = -1};

    return shape.rank == 1 ? shape.dims[0] : -1;
}

eddy__onnx_size eddy__onnx_dim(eddy__onnx_op *op, eddy_output x, int64_t axis)
{
    const eddy_shape shape = eddy__onnx_shape(op, x);
    const int64_t from = axis < 0 && shape.rank >= 0 ? axis + shape.rank : axis;
    eddy_output at;

    if (from >= 0 && from < shape.rank && shape.dims[from] >= 0)
        return FIXED(shape.dims[from]);
    at = INT64(from);
    if (from < 0)
        at = OP("AddV2", at, eddy__onnx_rank64(op, x));
    return (eddy__onnx_size){
        .at = OP("GatherV2", eddy__onnx_dims(op, x), at, INT32(0))};
}

eddy_output eddy__onnx_sized(eddy__onnx_op *op, eddy__onnx_size size)
{
    return size.is_known ? INT64(size.value) : size.at;
}

eddy_output eddy__onnx_sizes(eddy__onnx_op *op, const eddy__onnx_size *sizes,
                             size_t n)
{
    eddy_output at[MOST_SIZES];
    int64_t values[MOST_SIZES];
    bool is_known = true;

    if (n > MOST_SIZES) {
        eddy__onnx_refuse(op, "%zu dimensions", n);
        return EDDY__NO_OUTPUT;
    }
    for (size_t i = 0; i < n; i++) {
        values[i] = sizes[i].value;
        is_known = is_known && sizes[i].is_known;
    }
    if (is_known)
        return eddy__onnx_int64s(op, values, n);
    for (size_t i = 0; i < n; i++)
        at[i] = SIZED(sizes[i]);
    return eddy__onnx_emit(op, "Pack", at, n, NULL, 0);
}

static eddy__onnx_size combine(eddy__onnx_op *op, const char *type,
                               eddy__onnx_size a, eddy__onnx_size b)
{
    return (eddy__onnx_size){.at = OP(type, SIZED(a), SIZED(b))};
}

/* Wraps, as the kernels do. */
static int64_t wrapped(uint64_t value)
{
    int64_t number;

    memcpy(&number, &value, sizeof number);
    return number;
}

eddy__onnx_size eddy__onnx_plus(eddy__onnx_op *op, eddy__onnx_size a,
                                eddy__onnx_size b)
{
    if (a.is_known && b.is_known)
        return FIXED(wrapped((uint64_t)a.value + (uint64_t)b.value));
    if (b.is_known && b.value == 0)
        return a;
    return combine(op, "AddV2", a, b);
}

eddy__onnx_size eddy__onnx_minus(eddy__onnx_op *op, eddy__onnx_size a,
                                 eddy__onnx_size b)
{
    if (a.is_known && b.is_known)
        return FIXED(wrapped((uint64_t)a.value - (uint64_t)b.value));
    if (b.is_known && b.value == 0)
        return a;
    return combine(op, "Sub", a, b);
}

eddy__onnx_size eddy__onnx_times(eddy__onnx_op *op, eddy__onnx_size a,
                                 eddy__onnx_size b)
{
    if (a.is_known && b.is_known)
        return FIXED(wrapped((uint64_t)a.value * (uint64_t)b.value));
    if (b.is_known && b.value == 1)
        return a;
    return combine(op, "Mul", a, b);
}

eddy__onnx_size eddy__onnx_over(eddy__onnx_op *op, eddy__onnx_size a,
                                eddy__onnx_size b)
{
    if (b.is_known && b.value == 1)
        return a;
    if (a.is_known && b.is_known && b.value > 0)
        return FIXED(a.value >= 0 ? a.value / b.value
                                  : -((-(a.value + 1)) / b.value) - 1);
    return combine(op, "FloorDiv", a, b);
}

eddy__onnx_size eddy__onnx_larger(eddy__onnx_op *op, eddy__onnx_size a,
                                  eddy__onnx_size b)
{
    if (a.is_known && b.is_known)
        return a.value > b.value ? a : b;
    return combine(op, "Maximum", a, b);
}

/* ---- vectors of int64 ---- */

eddy_output eddy__onnx_count(eddy__onnx_op *op, eddy_output n)
{
    return OP("Range", INT64(0), n, INT64(1));
}

eddy_output eddy__onnx_head(eddy__onnx_op *op, eddy_output vector,
                            eddy_output n)
{
    return OP("Slice", vector, INT64S(0), eddy__onnx_as_vector(op, n));
}

eddy_output eddy__onnx_tail(eddy__onnx_op *op, eddy_output vector,
                            eddy_output n)
{
    return OP("Slice", vector, eddy__onnx_as_vector(op, n), INT64S(-1));
}

eddy_output eddy__onnx_concat(eddy__onnx_op *op, eddy_output a, eddy_output b)
{
    return OP("ConcatV2", a, b, INT32(0));
}

/* ---- forms of ops ---- */

eddy_output eddy__onnx_reshape(eddy__onnx_op *op, eddy_output x,
                               eddy_output shape)
{
    return OP("Reshape", x, shape);
}

eddy_output eddy__onnx_as_scalar(eddy__onnx_op *op, eddy_output x)
{
    if (eddy__onnx_shape(op, x).rank == 0)
        return x;
    return OP("Reshape", x, eddy__onnx_int64s(op, NULL, 0));
}

eddy_output eddy__onnx_as_vector(eddy__onnx_op *op, eddy_output x)
{
    if (eddy__onnx_shape(op, x).rank == 1)
        return x;
    return OP("Reshape", x, INT64S(-1));
}

eddy_output eddy__onnx_transpose(eddy__onnx_op *op, eddy_output x,
                                 const int64_t *perm, size_t n)
{
    bool is_needed = false;

    for (size_t i = 0; i < n; i++)
        is_needed = is_needed || perm[i] != (int64_t)i;
    return is_needed ? OP("Transpose", x, eddy__onnx_int64s(op, perm, n)) : x;
}

eddy_output eddy__onnx_reduce(eddy__onnx_op *op, const char *type,
                              eddy_output x, eddy_output axes, bool keeps)
{
    const eddy_attr attrs[] = {eddy_attr_bool("keep_dims", &keeps)};

    return OP_WITH(type, attrs, x, axes);
}

eddy_output eddy__onnx_axes_from(eddy__onnx_op *op, eddy_output x, int64_t axis)
{
    const int32_t rank = eddy__onnx_shape(op, x).rank;
    int64_t axes[EDDY_MAX_RANK];
    eddy_output begin;
    size_t n = 0;

    if (rank >= 0) {
        for (int64_t i = axis; i < rank; i++)
            axes[n++] = i;
        return eddy__onnx_int64s(op, axes, n);
    }
    begin = INT64(axis);
    if (axis < 0)
        begin = OP("AddV2", begin, eddy__onnx_rank64(op, x));
    return OP("Range", begin, eddy__onnx_rank64(op, x), INT64(1));
}

eddy_output eddy__onnx_gather(eddy__onnx_op *op, eddy_output x,
                              eddy_output indices, eddy_output axis)
{
    return OP("GatherV2", x, indices, axis);
}

eddy_output eddy__onnx_from_zero(eddy__onnx_op *op, eddy_output indices,
                                 eddy_output size)
{
    const eddy_output i = CAST(indices, EDDY_INT64);

    return OP("SelectV2", OP("Less", i, INT64(0)), OP("AddV2", i, size), i);
}

eddy__onnx_exchange eddy__onnx_to_last(eddy__onnx_op *op, eddy_output x,
                                       int64_t axis)
{
    const int32_t rank = eddy__onnx_shape(op, x).rank;
    int64_t perm[EDDY_MAX_RANK];
    eddy_output all, last, at;

    if (axis == -1 && rank < 0)
        return (eddy__onnx_exchange){.is_needed = false};
    if (rank >= 0) {
        const int64_t from = eddy__onnx_axis(op, x, axis);

        if (from >= rank - 1)
            return (eddy__onnx_exchange){.is_needed = false};
        for (int32_t i = 0; i < rank; i++)
            perm[i] = i;
        perm[from] = rank - 1;
        perm[rank - 1] = from;
        return (eddy__onnx_exchange){true,
                                     eddy__onnx_int64s(op, perm, (size_t)rank)};
    }
    last = OP("Sub", eddy__onnx_rank64(op, x), INT64(1));
    at = eddy__onnx_from_zero(op, INT64(axis), eddy__onnx_rank64(op, x));
    all = eddy__onnx_count(op, eddy__onnx_rank64(op, x));
    return (eddy__onnx_exchange){
        true, OP("SelectV2", OP("Equal", all, at), last,
                 OP("SelectV2", OP("Equal", all, last), at, all))};
}

eddy_output eddy__onnx_exchanged(eddy__onnx_op *op, eddy_output x,
                                 const eddy__onnx_exchange *e)
{
    return e->is_needed ? OP("Transpose", x, e->perm) : x;
}

eddy_output eddy__onnx_word(eddy__onnx_op *op, const char *text)
{
    const eddy_shape scalar = {.rank = 0};
    const eddy_string string = {text, strlen(text)};
    eddy_tensor *tensor = NULL;

    if (eddy__onnx_ok(op))
        op->w->status = eddy_tensor_from_strings(
            op->w->graph->ctx, &scalar, &string, 1, &tensor, op->w->err);
    return eddy__onnx_const(op, tensor);
}

eddy_output eddy__onnx_channels(eddy__onnx_op *op, eddy_output vector,
                                eddy_output x)
{
    const int32_t rank = eddy__onnx_shape(op, x).rank;
    int64_t shape[EDDY_MAX_RANK] = {-1};
    eddy_output n;

    if (rank < 0) {
        n = OP("Sub", eddy__onnx_rank64(op, x), INT64(2));
        n = OP("Fill", eddy__onnx_as_vector(op, n), INT64(1));
        return OP("Reshape", vector, eddy__onnx_concat(op, INT64S(-1), n));
    }
    if (rank <= 2)
        return vector;
    for (int32_t i = 1; i < rank - 1; i++)
        shape[i] = 1;
    return OP("Reshape", vector,
              eddy__onnx_int64s(op, shape, (size_t)rank - 1));
}

eddy_output eddy__onnx_parts(eddy__onnx_op *op, eddy_output x, int64_t n,
                             int64_t axis)
{
    const eddy_attr attrs[] = {eddy_attr_int("num_split", &n)};

    return OP_WITH("Split", attrs, INT32(axis), x);
}

eddy_output eddy__onnx_join(eddy__onnx_op *op, const eddy_output *values,
                            size_t n, int64_t axis)
{
    eddy_output all[EDDY__ONNX_MOST_INTS];
    eddy_output joined = n > 0 ? values[0] : EDDY__NO_OUTPUT;

    /* A node takes so many inputs; what it joins is the first of the next. */
    for (size_t done = 1; done < n;) {
        size_t count = 1;

        all[0] = joined;
        while (done < n && count < EDDY__ONNX_MOST_INTS - 1)
            all[count++] = values[done++];
        all[count++] = INT32(axis);
        joined = eddy__onnx_emit(op, "ConcatV2", all, count, NULL, 0);
    }
    return joined;
}
