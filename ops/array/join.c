/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops that join tensors along an axis, and those that cut one up: Concat,
 * ConcatV2, Pack, Unpack, Split, SplitV.
 *
 * Seen from an axis, a tensor is `outer` blocks of `dim` units each; a unit is
 * what lies behind the axis, in one run.
 */
#include "ops/array/box.h"
#include "ops/math/elements.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <string.h>

typedef struct blocks {
    int64_t outer;
    size_t unit; /* bytes */
} blocks;

/* The blocks before `axis`, with everything from dimension `behind` a unit. */
static blocks see_from(const eddy_shape *shape, int32_t axis, int32_t behind,
                       size_t size)
{
    blocks b = {.outer = 1, .unit = size};

    for (int32_t d = 0; d < axis; d++)
        b.outer *= shape->dims[d];
    for (int32_t d = behind; d < shape->rank; d++)
        b.unit *= (size_t)shape->dims[d];
    return b;
}

/* Copies `outer` runs of `bytes`, which lie at different steps. */
/* NOLINTNEXTLINE(readability-function-size): two places and their steps. */
static void copy_runs(eddy_kernel *asker, int64_t outer, size_t bytes,
                      unsigned char *to, size_t to_step,
                      const unsigned char *from, size_t from_step)
{
    eddy__box box = {.item = bytes};

    if (bytes == 0)
        return;
    if (outer == 1) {
        eddy__copy_bytes(asker, to, from, bytes);
        return;
    }
    eddy__box_add(&box, outer, (int64_t)from_step, (int64_t)to_step);
    eddy__box_copy(asker, &box, to, from);
}

/* ---- Concat and ConcatV2 ---- */

/* Concat has its axis in front, ConcatV2 behind. */
typedef struct concat_inputs {
    uint32_t first, n, axis;
} concat_inputs;

/* The shape of all of them joined; the first one's rank is at least 1. */
static eddy_status joined_shape(eddy_kernel *k, const concat_inputs *in,
                                int32_t axis, eddy_shape *out)
{
    *out = *eddy__in_shape(k, in->first);
    for (uint32_t i = 1; i < in->n; i++) {
        const eddy_shape *s = eddy__in_shape(k, in->first + i);
        bool fits = s->rank == out->rank;

        for (int32_t d = 0; fits && d < out->rank; d++)
            fits = d == axis || s->dims[d] == out->dims[d];
        if (!fits)
            return eddy__kfail(
                k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                "shapes of inputs must agree but for axis %d, but value 0 has "
                "%s and value %u has %s",
                axis, eddy__shape_print(eddy__in_shape(k, in->first)).text, i,
                eddy__shape_print(s).text);
        if (__builtin_add_overflow(out->dims[axis], s->dims[axis],
                                   &out->dims[axis]))
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                               "the joined axis %d is too long", axis);
    }
    return EDDY_OK;
}

static eddy_status concat(eddy_kernel *k, const concat_inputs *in)
{
    eddy_dtype dtype = eddy__in_dtype(k, in->first);
    const eddy_shape *first = eddy__in_shape(k, in->first);
    unsigned char *out;
    eddy_shape shape;
    int32_t axis;
    size_t row;
    blocks b;

    if (first->rank == 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "scalars cannot be joined along an axis");
    EDDY_TRY(eddy__axis_argument(k, in->axis, 1, first->rank, &axis));
    EDDY_TRY(joined_shape(k, in, axis, &shape));
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &shape, &out));
    b = see_from(&shape, axis, axis + 1, eddy__element_size(dtype));
    row = b.unit * (size_t)shape.dims[axis];
    for (uint32_t i = 0; i < in->n; i++) {
        size_t bytes =
            b.unit * (size_t)eddy__in_shape(k, in->first + i)->dims[axis];

        copy_runs(eddy__asker(k, dtype), b.outer, bytes, out, row,
                  eddy__in_elements(k, in->first + i), bytes);
        out += bytes;
    }
    return eddy__elements_done(k, 0);
}

static eddy_status run_concat(eddy_kernel *k)
{
    return concat(k, &(concat_inputs){1, k->node->n_in - 1, 0});
}

static eddy_status run_concat_v2(eddy_kernel *k)
{
    return concat(k, &(concat_inputs){0, k->node->n_in - 1, k->node->n_in - 1});
}

/* The length of the joined axis, -1 if it is unknown. */
static int64_t joined_length(const eddy_infer *infer, const concat_inputs *in,
                             int32_t rank, int32_t axis)
{
    int64_t length = 0;

    for (uint32_t i = 0; i < in->n; i++) {
        const eddy_shape *s = eddy_infer_input(infer, in->first + i);

        if (s->rank != rank || s->dims[axis] < 0 ||
            __builtin_add_overflow(length, s->dims[axis], &length))
            return -1;
    }
    return length;
}

/* Inputs that do not fit are left to the kernel. */
static eddy_status infer_joined(eddy_infer *infer, const concat_inputs *in)
{
    eddy_shape shape = eddy__shape_unknown(), s;
    int32_t axis;

    for (uint32_t i = 0; i < in->n && shape.rank < 0; i++)
        shape.rank = eddy_infer_input(infer, in->first + i)->rank;
    if (shape.rank <= 0)
        return EDDY_OK;
    shape = eddy__shape_of_rank(shape.rank);
    if (!eddy__infer_axis(infer, in->axis, shape.rank, &axis)) {
        eddy_infer_set_output(infer, 0, &shape);
        return EDDY_OK;
    }
    for (uint32_t i = 0; i < in->n; i++) {
        s = *eddy_infer_input(infer, in->first + i);
        if (s.rank == shape.rank)
            s.dims[axis] = -1;
        if (!eddy__shape_merge(&shape, &s, &shape))
            return EDDY_OK;
    }
    shape.dims[axis] = joined_length(infer, in, shape.rank, axis);
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static eddy_status infer_concat(eddy_infer *infer)
{
    uint32_t n = eddy_infer_inputs(infer) - 1;

    return infer_joined(infer, &(concat_inputs){1, n, 0});
}

static eddy_status infer_concat_v2(eddy_infer *infer)
{
    uint32_t n = eddy_infer_inputs(infer) - 1;

    return infer_joined(infer, &(concat_inputs){0, n, n});
}

/* ---- Pack and Unpack ---- */

/* Both keep their axis as the node's state. */
static eddy_status prepare_axis(eddy_infer *infer)
{
    int64_t *state;

    if (eddy_infer_outputs(infer) > 0)
        EDDY_TRY(eddy__prepare_arranged(infer));
    state = eddy__prepare_state(infer, sizeof *state);
    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    *state = eddy__infer_int(infer, "axis");
    return EDDY_OK;
}

static eddy_shape packed_shape(const eddy_shape *of, int32_t axis, int64_t n)
{
    eddy_shape shape = {.rank = of->rank + 1};

    for (int32_t d = 0; d < of->rank; d++)
        shape.dims[d < axis ? d : d + 1] = of->dims[d];
    shape.dims[axis] = n;
    return shape;
}

/* Scalars side by side, as the arguments of StridedSlice are made. */
static eddy_status pack_scalars(eddy_kernel *k)
{
    uint32_t n = k->node->n_in;
    eddy_dtype dtype = eddy__in_dtype(k, 0);
    eddy_shape shape = eddy__shape_vector(n);
    size_t size = eddy__element_size(dtype);
    unsigned char *out;

    EDDY_TRY(eddy__output_elements(k, 0, dtype, &shape, &out));
    for (uint32_t i = 0; i < n; i++)
        memcpy(out + i * size, eddy__in_elements(k, i), size);
    return eddy__elements_done(k, 0);
}

static eddy_status check_packed(eddy_kernel *k, int32_t *out_axis)
{
    const eddy_shape *first = eddy__in_shape(k, 0);
    const int64_t *axis = eddy__state(k);

    for (uint32_t i = 1; i < k->node->n_in; i++)
        if (!eddy__shape_equal(first, eddy__in_shape(k, i)))
            return eddy__kfail(
                k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                "shapes of all inputs must match, but value 0 has %s and "
                "value %u has %s",
                eddy__shape_print(first).text, i,
                eddy__shape_print(eddy__in_shape(k, i)).text);
    if (first->rank == EDDY_MAX_RANK)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "the result would have rank %d; at most %d is "
                           "supported",
                           first->rank + 1, EDDY_MAX_RANK);
    return eddy__axis(k, *axis, first->rank + 1, out_axis);
}

static eddy_status run_pack(eddy_kernel *k)
{
    eddy_dtype dtype = eddy__in_dtype(k, 0);
    uint32_t n = k->node->n_in;
    unsigned char *out;
    eddy_shape shape;
    int32_t axis = 0;
    blocks b;

    EDDY_TRY(check_packed(k, &axis));
    if (eddy__in_shape(k, 0)->rank == 0)
        return pack_scalars(k);
    shape = packed_shape(eddy__in_shape(k, 0), axis, n);
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &shape, &out));
    b = see_from(&shape, axis, axis + 1, eddy__element_size(dtype));
    for (uint32_t i = 0; i < n; i++)
        copy_runs(eddy__asker(k, dtype), b.outer, b.unit, out + i * b.unit,
                  n * b.unit, eddy__in_elements(k, i), b.unit);
    return eddy__elements_done(k, 0);
}

static eddy_status infer_pack(eddy_infer *infer)
{
    int64_t axis = eddy__infer_int(infer, "axis");
    eddy_shape shape = *eddy_infer_input(infer, 0);

    for (uint32_t i = 1; i < eddy_infer_inputs(infer); i++)
        if (!eddy__shape_merge(&shape, eddy_infer_input(infer, i), &shape))
            return EDDY_OK;
    if (shape.rank < 0 || shape.rank == EDDY_MAX_RANK)
        return EDDY_OK;
    if (axis < 0)
        axis += shape.rank + 1;
    if (axis < 0 || axis > shape.rank)
        return EDDY_OK;
    shape = packed_shape(&shape, (int32_t)axis, eddy_infer_inputs(infer));
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static eddy_shape without_axis(const eddy_shape *of, int32_t axis)
{
    eddy_shape shape = {.rank = of->rank - 1};

    for (int32_t d = 0; d < shape.rank; d++)
        shape.dims[d] = of->dims[d < axis ? d : d + 1];
    return shape;
}

static eddy_status run_unpack(eddy_kernel *k)
{
    eddy_dtype dtype = eddy__in_dtype(k, 0);
    const eddy_shape *of = eddy__in_shape(k, 0);
    const unsigned char *from = eddy__in_elements(k, 0);
    const int64_t *wanted = eddy__state(k);
    uint32_t n = k->node->n_out;
    unsigned char *out;
    eddy_shape shape;
    int32_t axis;
    blocks b;

    EDDY_TRY(eddy__axis(k, *wanted, of->rank, &axis));
    if (of->dims[axis] != n)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "axis %d of shape %s must have size %u", axis,
                           eddy__shape_print(of).text, n);
    shape = without_axis(of, axis);
    b = see_from(of, axis, axis + 1, eddy__element_size(dtype));
    for (uint32_t i = 0; i < n; i++) {
        EDDY_TRY(eddy__output_elements(k, i, dtype, &shape, &out));
        copy_runs(eddy__asker(k, dtype), b.outer, b.unit, out, b.unit,
                  from + i * b.unit, n * b.unit);
        EDDY_TRY(eddy__elements_done(k, i));
    }
    return EDDY_OK;
}

static eddy_status infer_unpack(eddy_infer *infer)
{
    const eddy_shape *of = eddy_infer_input(infer, 0);
    int64_t axis = eddy__infer_int(infer, "axis");
    eddy_shape shape;

    if (of->rank < 1)
        return EDDY_OK;
    if (axis < 0)
        axis += of->rank;
    if (axis < 0 || axis >= of->rank)
        return EDDY_OK;
    shape = without_axis(of, (int32_t)axis);
    for (uint32_t i = 0; i < eddy_infer_outputs(infer); i++)
        eddy_infer_set_output(infer, i, &shape);
    return EDDY_OK;
}

/* ---- Split and SplitV ---- */

/* Output `i` is `dim` units of input `value` from unit `start` on. */
static eddy_status cut(eddy_kernel *k, uint32_t i, uint32_t value, int32_t axis,
                       int64_t start, int64_t dim)
{
    const eddy_shape *of = eddy__in_shape(k, value);
    eddy_dtype dtype = eddy__in_dtype(k, value);
    eddy_shape shape = *of;
    unsigned char *out;
    blocks b;

    shape.dims[axis] = dim;
    EDDY_TRY(eddy__output_elements(k, i, dtype, &shape, &out));
    b = see_from(of, axis, axis + 1, eddy__element_size(dtype));
    copy_runs(eddy__asker(k, dtype), b.outer, b.unit * (size_t)dim, out,
              b.unit * (size_t)dim,
              eddy__in_elements(k, value) + b.unit * (size_t)start,
              b.unit * (size_t)of->dims[axis]);
    return eddy__elements_done(k, i);
}

static eddy_status run_split(eddy_kernel *k)
{
    const eddy_shape *of = eddy__in_shape(k, 1);
    uint32_t n = k->node->n_out;
    int64_t dim;
    int32_t axis;

    if (of->rank == 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "a scalar cannot be split");
    EDDY_TRY(eddy__axis_argument(k, 0, 0, of->rank, &axis));
    if (of->dims[axis] % n != 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "axis %d, of size %" PRId64
                           ", cannot be split evenly into %u",
                           axis, of->dims[axis], n);
    if (n == 1) {
        eddy__output_forward(k, 0, 1);
        return EDDY_OK;
    }
    dim = of->dims[axis] / n;
    for (uint32_t i = 0; i < n; i++)
        EDDY_TRY(cut(k, i, 1, axis, i * dim, dim));
    return EDDY_OK;
}

/* Checks the sizes; `*out_rest` is what a size of -1 stands for. */
static eddy_status check_sizes(eddy_kernel *k, const eddy_view *sizes,
                               int64_t dim, int64_t *out_rest)
{
    int64_t sum = 0, unknown = -1;

    for (int64_t i = 0; i < sizes->count; i++) {
        int64_t size = eddy__index_at(sizes, i);

        if (size < -1 || (size == -1 && unknown >= 0))
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                               "size_splits[%" PRId64 "] is %" PRId64
                               "; sizes must be 0 or more, but for one -1",
                               i, size);
        if (size == -1)
            unknown = i;
        else if (__builtin_add_overflow(sum, size, &sum))
            sum = INT64_MAX;
    }
    if (unknown >= 0 ? sum > dim : sum != dim)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "the sizes sum to %" PRId64
                           ", but the split axis has size %" PRId64,
                           sum, dim);
    *out_rest = dim - sum;
    return EDDY_OK;
}

static eddy_status run_split_v(eddy_kernel *k)
{
    const eddy_shape *of = eddy__in_shape(k, 0);
    uint32_t n = k->node->n_out;
    int64_t rest = 0, start = 0;
    eddy_view sizes;
    int32_t axis;

    if (of->rank == 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "a scalar cannot be split");
    EDDY_TRY(eddy__vector_argument(k, 1, "size_splits", n, &sizes));
    EDDY_TRY(eddy__axis_argument(k, 2, EDDY_MAX_RANK, of->rank, &axis));
    EDDY_TRY(check_sizes(k, &sizes, of->dims[axis], &rest));
    for (uint32_t i = 0; i < n; i++) {
        int64_t dim = eddy__index_at(&sizes, i);

        if (dim < 0)
            dim = rest;
        EDDY_TRY(cut(k, i, 0, axis, start, dim));
        start += dim;
    }
    return EDDY_OK;
}

static eddy_status infer_split(eddy_infer *infer)
{
    uint32_t n = eddy_infer_outputs(infer);
    eddy_shape shape = *eddy_infer_input(infer, 1);
    int32_t axis;

    if (shape.rank < 0)
        return EDDY_OK;
    if (!eddy__infer_axis(infer, 0, shape.rank, &axis))
        shape = eddy__shape_of_rank(shape.rank);
    else if (shape.dims[axis] >= 0)
        shape.dims[axis] /= n;
    for (uint32_t i = 0; i < n; i++)
        eddy_infer_set_output(infer, i, &shape);
    return EDDY_OK;
}

static eddy_status infer_split_v(eddy_infer *infer)
{
    eddy_shape shape = *eddy_infer_input(infer, 0);
    int32_t axis;

    if (shape.rank < 0)
        return EDDY_OK;
    if (!eddy__infer_axis(infer, 2, shape.rank, &axis))
        shape = eddy__shape_of_rank(shape.rank);
    else
        shape.dims[axis] = -1;
    for (uint32_t i = 0; i < eddy_infer_outputs(infer); i++) {
        int64_t size;

        if (shape.rank > 0 && eddy_infer_constant(infer, 1) &&
            eddy__infer_axis(infer, 2, shape.rank, &axis) &&
            eddy__infer_constant_int(infer, 1, i, &size))
            shape.dims[axis] = size < 0 ? -1 : size;
        eddy_infer_set_output(infer, i, &shape);
    }
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("Concat", .inputs = "concat_dim: int32, values: N * T",
                 .outputs = "output: T", .attrs = "N: int >= 2, T: type",
                 .infer = infer_concat, .kernel = run_concat,
                 .prepare = eddy__prepare_arranged,
                 .doc = "The inputs one behind the other along a dimension."),
    EDDY__OP_ROW("ConcatV2", .inputs = "values: N * T, axis: Tidx",
                 .outputs = "output: T",
                 .attrs = "N: int >= 2, T: type, Tidx: index = int32",
                 .infer = infer_concat_v2, .kernel = run_concat_v2,
                 .prepare = eddy__prepare_arranged,
                 .doc = "The inputs one behind the other along a dimension."),
    EDDY__OP_ROW("Pack", .inputs = "values: N * T", .outputs = "output: T",
                 .attrs = "N: int >= 1, T: type, axis: int = 0",
                 .infer = infer_pack, .kernel = run_pack,
                 .prepare = prepare_axis,
                 .doc = "The inputs along a new dimension."),
    EDDY__OP_ROW(
        "Unpack", .inputs = "value: T", .outputs = "output: num * T",
        .attrs = "num: int >= 0, T: type, axis: int = 0", .infer = infer_unpack,
        .kernel = run_unpack, .prepare = prepare_axis,
        .doc = "The parts of the input along a dimension, without it."),
    EDDY__OP_ROW("Split", .inputs = "split_dim: int32, value: T",
                 .outputs = "output: num_split * T",
                 .attrs = "num_split: int >= 1, T: type", .infer = infer_split,
                 .kernel = run_split, .prepare = eddy__prepare_arranged,
                 .doc = "Equal parts of the input along a dimension."),
    EDDY__OP_ROW(
        "SplitV", .inputs = "value: T, size_splits: Tlen, split_dim: int32",
        .outputs = "output: num_split * T",
        .attrs =
            "num_split: int >= 1, T: type, Tlen: {int8, int32, int64} = int64",
        .infer = infer_split_v, .kernel = run_split_v,
        .prepare = eddy__prepare_arranged,
        .doc = "Parts of given sizes along a dimension."),
};

const eddy__op_table eddy__join_ops = {specs, NULL,
                                       sizeof specs / sizeof *specs};
