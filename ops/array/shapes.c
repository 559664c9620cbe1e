/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops that tell a tensor's shape, and those that give it another one without
 * touching its elements.
 */
#include "ops/math/elements.h"
#include "ops/ops.h"
#include "ops/state/variable.h"

#include <inttypes.h>

/* ---- Shape, ShapeN, Size, Rank ---- */

static eddy_status infer_shapes(eddy_infer *infer)
{
    for (uint32_t i = 0; i < eddy_infer_outputs(infer); i++) {
        int32_t rank = eddy_infer_input(infer, i)->rank;
        eddy_shape shape = eddy__shape_vector(rank < 0 ? -1 : rank);

        eddy_infer_set_output(infer, i, &shape);
    }
    return EDDY_OK;
}

static eddy_status too_large(eddy_kernel *k, int64_t value)
{
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                       "%" PRId64 " does not fit in int32; out_type could be "
                       "int64",
                       value);
}

static eddy_status put_shape(eddy_kernel *k, uint32_t i, eddy_dtype dtype)
{
    const eddy_shape *of = eddy__in_shape(k, i);
    eddy_shape shape = eddy__shape_vector(of->rank);
    void *data;

    EDDY_TRY(eddy__output(k, i, dtype, &shape, &data));
    if (dtype == EDDY_INT64) {
        for (int32_t d = 0; d < of->rank; d++)
            ((int64_t *)data)[d] = of->dims[d];
        return EDDY_OK;
    }
    for (int32_t d = 0; d < of->rank; d++) {
        if (of->dims[d] > INT32_MAX)
            return too_large(k, of->dims[d]);
        ((int32_t *)data)[d] = (int32_t)of->dims[d];
    }
    return EDDY_OK;
}

static eddy_status run_shapes(eddy_kernel *k)
{
    for (uint32_t i = 0; i < k->node->n_out; i++)
        EDDY_TRY(put_shape(k, i, (eddy_dtype)k->node->out_dtypes[i]));
    return EDDY_OK;
}

static eddy_status run_variable_shape(eddy_kernel *k)
{
    return eddy__variable_run_on_value(k, EDDY_INVALID, run_shapes);
}

static eddy_status run_size_32(eddy_kernel *k)
{
    int64_t count = eddy__in_count(k, 0);

    if (count > INT32_MAX)
        return too_large(k, count);
    eddy__out_scalar(eddy__out(k, 0), EDDY_INT32, (uint64_t)count);
    return EDDY_OK;
}

static eddy_status run_size_64(eddy_kernel *k)
{
    eddy__out_scalar(eddy__out(k, 0), EDDY_INT64,
                     (uint64_t)eddy__in_count(k, 0));
    return EDDY_OK;
}

static eddy_status prepare_size(eddy_infer *infer)
{
    eddy_infer_set_kernel(infer, eddy_infer_output_dtype(infer, 0) == EDDY_INT32
                                     ? run_size_32
                                     : run_size_64);
    return EDDY_OK;
}

static eddy_status run_rank(eddy_kernel *k)
{
    eddy__out_scalar(eddy__out(k, 0), EDDY_INT32,
                     (uint64_t)eddy__in_shape(k, 0)->rank);
    return EDDY_OK;
}

/* ---- Reshape ---- */

/* The product of the dimensions that are not -1, and where the -1 is. */
static bool known_product(const eddy_shape *shape, int64_t *out_product,
                          int32_t *out_unknown)
{
    int64_t product = 1;

    *out_unknown = -1;
    for (int32_t d = 0; d < shape->rank; d++) {
        if (shape->dims[d] < 0)
            *out_unknown = d;
        else if (__builtin_mul_overflow(product, shape->dims[d], &product))
            return false;
    }
    *out_product = product;
    return true;
}

static eddy_status check_one_unknown(eddy_kernel *k, const eddy_shape *shape)
{
    int32_t first = -1;

    for (int32_t d = 0; d < shape->rank; d++) {
        if (shape->dims[d] >= 0)
            continue;
        if (first >= 0)
            return eddy__kfail(
                k, EDDY_INVALID_ARGUMENT, EDDY_E_DIM,
                "only one input size may be -1, not both %d and %d", first, d);
        first = d;
    }
    return EDDY_OK;
}

/* The product of the dimensions that are more than 0. */
static bool positive_product(const eddy_shape *shape, int64_t *out_product)
{
    *out_product = 1;
    for (int32_t d = 0; d < shape->rank; d++)
        if (shape->dims[d] > 0 &&
            __builtin_mul_overflow(*out_product, shape->dims[d], out_product))
            return false;
    return true;
}

/*
 * Fills in the -1 of a shape that has a 0 too, as TensorFlow does: any size
 * would do for an empty tensor, and it gets what is left of the input when the
 * zeros of both are left out.
 */
static bool resolve_empty(const eddy_shape *of, int32_t unknown,
                          eddy_shape *shape)
{
    int64_t have, want;

    if (!positive_product(of, &have) || !positive_product(shape, &want))
        return false;
    shape->dims[unknown] = have / want;
    return true;
}

/* Fills in the -1 of `shape` for a tensor of `count` elements. */
static eddy_status resolve_shape(eddy_kernel *k, int64_t count,
                                 eddy_shape *shape)
{
    int64_t product;
    int32_t unknown;

    EDDY_TRY(check_one_unknown(k, shape));
    if (!known_product(shape, &product, &unknown))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                           "the requested shape %s is too large",
                           eddy__shape_print(shape).text);
    if (unknown < 0) {
        if (product == count)
            return EDDY_OK;
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "input to reshape is a tensor with %" PRId64
                           " values, but the requested shape has %" PRId64,
                           count, product);
    }
    if (product == 0 && count == 0 &&
        resolve_empty(eddy__in_shape(k, 0), unknown, shape))
        return EDDY_OK;
    if (product == 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "reshape cannot infer the missing size %d unless "
                           "all other sizes are more than 0",
                           unknown);
    if (count % product != 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "input to reshape is a tensor with %" PRId64
                           " values, but the requested shape requires a "
                           "multiple of %" PRId64,
                           count, product);
    shape->dims[unknown] = count / product;
    return EDDY_OK;
}

static eddy_status run_reshape(eddy_kernel *k)
{
    eddy_view argument = eddy__in_view(k, 1);
    eddy_shape shape;

    EDDY_TRY(eddy__shape_from_lenient_view(k, &argument, -1, &shape));
    EDDY_TRY(resolve_shape(k, eddy__in_count(k, 0), &shape));
    return eddy__output_reshaped(k, 0, 0, &shape);
}

/* A mistake in the arguments is left to the kernel, which may never run. */
static eddy_status infer_reshape(eddy_infer *infer)
{
    eddy_shape shape = eddy__infer_shape_argument(infer, 1);
    const eddy_shape *input = eddy_infer_input(infer, 0);
    int64_t product, count;
    int32_t unknown;

    if (eddy_infer_constant(infer, 1) && eddy__shape_is_known(input) &&
        eddy__shape_count(input, 1, &count) &&
        known_product(&shape, &product, &unknown) && unknown >= 0 &&
        product > 0 && count % product == 0)
        shape.dims[unknown] = count / product;
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

/* ---- ExpandDims, Squeeze ---- */

static eddy_shape with_dim(const eddy_shape *of, int32_t axis)
{
    eddy_shape shape = {.rank = of->rank + 1};

    for (int32_t d = 0; d < axis; d++)
        shape.dims[d] = of->dims[d];
    shape.dims[axis] = 1;
    for (int32_t d = axis; d < of->rank; d++)
        shape.dims[d + 1] = of->dims[d];
    return shape;
}

static eddy_status run_expand(eddy_kernel *k)
{
    const eddy_shape *of = eddy__in_shape(k, 0);
    eddy_shape shape;
    int32_t axis;

    if (of->rank == EDDY_MAX_RANK)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "the result would have rank %d; at most %d is "
                           "supported",
                           of->rank + 1, EDDY_MAX_RANK);
    EDDY_TRY(eddy__axis_argument(k, 1, EDDY_MAX_RANK, of->rank + 1, &axis));
    shape = with_dim(of, axis);
    return eddy__output_reshaped(k, 0, 0, &shape);
}

static eddy_status infer_expand(eddy_infer *infer)
{
    const eddy_shape *of = eddy_infer_input(infer, 0);
    eddy_shape shape = eddy__shape_unknown();
    int32_t axis;

    if (of->rank >= 0 && of->rank < EDDY_MAX_RANK)
        shape = eddy__infer_axis(infer, 1, of->rank + 1, &axis)
                    ? with_dim(of, axis)
                    : eddy__shape_of_rank(of->rank + 1);
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

/* Which dimensions to drop; none named means all of size 1. */
typedef struct squeeze {
    int32_t n;
    int64_t dims[];
} squeeze;

static eddy_status prepare_squeeze(eddy_infer *infer)
{
    eddy_attr dims = {.n = 0};
    squeeze *state;

    (void)eddy_infer_attr(infer, "squeeze_dims", &dims);
    if (dims.n > INT32_MAX)
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                               "squeeze_dims has too many elements");
    state =
        eddy__prepare_state(infer, sizeof *state + dims.n * sizeof(int64_t));
    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    state->n = (int32_t)dims.n;
    for (size_t i = 0; i < dims.n; i++)
        state->dims[i] = dims.as.ints[i];
    return EDDY_OK;
}

/* Dimension d of the input is dropped if bit d of the mask is set. */
static eddy_status squeeze_mask(eddy_kernel *k, const squeeze *s,
                                const eddy_shape *of, uint32_t *out_mask)
{
    uint32_t mask = 0;
    int32_t axis;

    for (int32_t d = 0; s->n == 0 && d < of->rank; d++)
        if (of->dims[d] == 1)
            mask |= 1u << d;
    for (int32_t i = 0; i < s->n; i++) {
        EDDY_TRY(eddy__axis(k, s->dims[i], of->rank, &axis));
        if (of->dims[axis] != 1)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DIM,
                               "cannot squeeze dimension %d: expected a size "
                               "of 1, got %" PRId64,
                               axis, of->dims[axis]);
        mask |= 1u << axis;
    }
    *out_mask = mask;
    return EDDY_OK;
}

static eddy_shape without_dims(const eddy_shape *of, uint32_t mask)
{
    eddy_shape shape = {.rank = 0};

    for (int32_t d = 0; d < of->rank; d++)
        if (!(mask >> d & 1u))
            shape.dims[shape.rank++] = of->dims[d];
    return shape;
}

static eddy_status run_squeeze(eddy_kernel *k)
{
    const eddy_shape *of = eddy__in_shape(k, 0);
    uint32_t mask = 0;
    eddy_shape shape;

    EDDY_TRY(squeeze_mask(k, eddy__state(k), of, &mask));
    shape = without_dims(of, mask);
    return eddy__output_reshaped(k, 0, 0, &shape);
}

static eddy_status infer_squeeze(eddy_infer *infer)
{
    const eddy_shape *of = eddy_infer_input(infer, 0);
    eddy_shape shape = eddy__shape_unknown();
    eddy_attr dims = {.n = 0};
    uint32_t mask = 0;

    (void)eddy_infer_attr(infer, "squeeze_dims", &dims);
    if (of->rank < 0 || (dims.n == 0 && !eddy__shape_is_known(of)))
        return EDDY_OK;
    for (int32_t d = 0; dims.n == 0 && d < of->rank; d++)
        if (of->dims[d] == 1)
            mask |= 1u << d;
    for (size_t i = 0; i < dims.n; i++) {
        int64_t axis = dims.as.ints[i];

        if (axis < -of->rank || axis >= of->rank)
            return EDDY_OK;
        mask |= 1u << (axis < 0 ? axis + of->rank : axis);
    }
    shape = without_dims(of, mask);
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

#define CHEAP_NO_GRADIENT (EDDY_OP_CHEAP | EDDY_OP_NOT_DIFFERENTIABLE)

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("Shape", .inputs = "input: T", .outputs = "output: out_type",
                 .attrs = "T: type, out_type: index = int32",
                 .infer = infer_shapes, .kernel = run_shapes,
                 .flags = CHEAP_NO_GRADIENT,
                 .doc = "The dimensions of a tensor."),
    EDDY__OP_ROW(
        "ShapeN", .inputs = "input: N * T", .outputs = "output: N * out_type",
        .attrs = "N: int >= 1, T: type, out_type: index = int32",
        .infer = infer_shapes, .kernel = run_shapes, .flags = CHEAP_NO_GRADIENT,
        .doc = "The dimensions of several tensors."),
    EDDY__OP_ROW("Size", .inputs = "input: T", .outputs = "output: out_type",
                 .attrs = "T: type, out_type: index = int32",
                 .infer = eddy__infer_scalar, .prepare = prepare_size,
                 .flags = CHEAP_NO_GRADIENT,
                 .doc = "How many elements a tensor has."),
    EDDY__OP_ROW("Rank", .inputs = "input: T", .outputs = "output: int32",
                 .attrs = "T: type", .infer = eddy__infer_scalar,
                 .kernel = run_rank, .flags = CHEAP_NO_GRADIENT,
                 .doc = "How many dimensions a tensor has."),
    EDDY__OP_ROW(
        "Reshape", .inputs = "tensor: T, shape: Tshape", .outputs = "output: T",
        .attrs = "T: type, Tshape: index = int32", .infer = infer_reshape,
        .kernel = run_reshape, .prepare = eddy__prepare_arranged,
        .flags = EDDY_OP_CHEAP, .doc = "The same elements in another shape."),
    EDDY__OP_ROW(
        "ExpandDims", .inputs = "input: T, dim: Tdim", .outputs = "output: T",
        .attrs = "T: type, Tdim: index = int32", .infer = infer_expand,
        .kernel = run_expand, .prepare = eddy__prepare_arranged,
        .flags = EDDY_OP_CHEAP,
        .doc = "The same elements with one more dimension, of length 1."),
    EDDY__OP_ROW("Squeeze", .inputs = "input: T", .outputs = "output: T",
                 .attrs = "T: type, squeeze_dims: list(int) = []",
                 .infer = infer_squeeze, .kernel = run_squeeze,
                 .prepare = prepare_squeeze, .flags = EDDY_OP_CHEAP,
                 .doc = "The same elements without dimensions of length 1."),
    EDDY__OP_ROW("VariableShape", .inputs = "input: resource",
                 .outputs = "output: out_type",
                 .attrs = "out_type: index = int32",
                 .infer = eddy__infer_vector, .kernel = run_variable_shape,
                 .flags = EDDY_OP_STATEFUL | CHEAP_NO_GRADIENT,
                 .doc = "The dimensions of a variable's value."),
};

const eddy__op_table eddy__shapes_ops = {specs, NULL,
                                         sizeof specs / sizeof *specs};
