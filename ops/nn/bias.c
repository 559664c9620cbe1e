/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BiasAdd, BiasAddV1 and BiasAddGrad: a number for each channel.
 *
 * The channels are the last dimension, or in the format NCHW dimension 1.
 */
#include "ops/math/elements.h"
#include "ops/math/elementwise.h"
#include "ops/nn/window.h"
#include "ops/ops.h"
#include "ops/reduce/reduction.h"
#include "ops/template.h"

#include <inttypes.h>

/* Inputs. */
enum { VALUE, BIAS };

/* ---- loops ---- */

/* A tensor as `outer` times `channels` times `inner` elements. */
typedef struct channels {
    eddy_kernel *kernel; /* which is asked whether to stop */
    int64_t outer, channels, inner;
} channels;

typedef void (*add_function)(void *out, const void *value, const void *bias,
                             const channels *c);

#define EACH "ops/nn/bias_loops.def"
#define SUM EDDY__COMPUTED
#include "ops/each_float.def"
#define D C64
#include EACH
#define D C128
#include EACH
#undef SUM
#define SUM EDDY__WRAPPED
#include "ops/each_signed.def"
#include "ops/each_unsigned.def"
#undef SUM
#undef EACH

#define ENTRY(D, ...) [EDDY__DTYPE_##D] = add_##D,

static const add_function adders[EDDY_DTYPE_COUNT] = {
    EDDY__EACH_FLOAT(ENTRY, ) EDDY__EACH_SIGNED(ENTRY, )
        EDDY__EACH_UNSIGNED(ENTRY, ) EDDY__EACH_COMPLEX(ENTRY, )};

/* ---- kernels ---- */

/* State: do the channels come first? */
typedef struct state {
    bool is_nchw;
} state;

static eddy_status prepare_format(eddy_infer *infer)
{
    state *s = eddy__prepare_state(infer, sizeof *s);

    if (!s)
        return EDDY_RESOURCE_EXHAUSTED;
    if (eddy__window_read_format(infer, &s->is_nchw))
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                           "data_format must be NHWC or NCHW");
}

static int32_t channel_axis(const eddy_shape *shape, bool is_nchw)
{
    return is_nchw ? 1 : shape->rank - 1;
}

#define NO_CHANNELS                                                            \
    "a tensor with at least two dimensions is wanted, but it has shape %s"
#define NO_BIAS                                                                \
    "a tensor of shape %s with %" PRId64 " channels can't be given a bias of " \
    "shape %s"

static eddy_status run_add(eddy_kernel *k)
{
    const state *s = eddy__state(k);
    const eddy_shape shape = *eddy__in_shape(k, VALUE);
    const eddy_shape *bias = eddy__in_shape(k, BIAS);
    const int32_t axis = channel_axis(&shape, s->is_nchw);
    const eddy_dtype dtype = eddy__in_dtype(k, VALUE);
    const void *value = eddy__in_elements(k, VALUE);
    channels c = {.kernel = k, .outer = 1, .inner = 1};
    void *out;

    if (shape.rank < 2)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK, NO_CHANNELS,
                           eddy__shape_print(&shape).text);
    c.channels = shape.dims[axis];
    if (bias->rank != 1 || bias->dims[0] != c.channels)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE, NO_BIAS,
                           eddy__shape_print(&shape).text, c.channels,
                           eddy__shape_print(bias).text);
    for (int32_t d = 0; d < axis; d++)
        c.outer *= shape.dims[d];
    for (int32_t d = axis + 1; d < shape.rank; d++)
        c.inner *= shape.dims[d];
    EDDY_TRY(eddy__output_reusing(k, 0, VALUE, dtype, &shape, &out));
    if (c.outer > 0 && c.inner > 0)
        adders[dtype](out, value, eddy__in_elements(k, BIAS), &c);
    return EDDY_OK;
}

static eddy_status infer_add(eddy_infer *infer)
{
    eddy_shape shape = *eddy_infer_input(infer, VALUE);
    const eddy_shape *bias = eddy_infer_input(infer, BIAS);
    int64_t *dim;
    bool is_nchw;

    if (!eddy__window_read_format(infer, &is_nchw) || shape.rank < 0)
        return EDDY_OK;
    if (shape.rank < 2)
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                               NO_CHANNELS, eddy__shape_print(&shape).text);
    dim = &shape.dims[channel_axis(&shape, is_nchw)];
    if (bias->rank > 1 || bias->rank == 0 ||
        (bias->rank == 1 && *dim >= 0 && bias->dims[0] >= 0 &&
         bias->dims[0] != *dim))
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               NO_BIAS, eddy__shape_print(&shape).text, *dim,
                               eddy__shape_print(bias).text);
    if (bias->rank == 1 && *dim < 0)
        *dim = bias->dims[0];
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static eddy_status run_gradient(eddy_kernel *k)
{
    const state *s = eddy__state(k);
    const eddy_shape *shape = eddy__in_shape(k, VALUE);
    const eddy_dtype dtype = eddy__in_dtype(k, VALUE);
    const int32_t axis = channel_axis(shape, s->is_nchw);
    eddy_shape vector;
    void *out;

    if (shape->rank < 2)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK, NO_CHANNELS,
                           eddy__shape_print(shape).text);
    vector = eddy__shape_vector(shape->dims[axis]);
    EDDY_TRY(eddy__output(k, 0, dtype, &vector, &out));
    if (vector.dims[0] > 0)
        eddy__reduce(k, eddy__sum_reducer(dtype), shape,
                     ((1u << shape->rank) - 1) & ~(1u << axis),
                     eddy__in_elements(k, VALUE), out);
    return EDDY_OK;
}

static eddy_status infer_gradient(eddy_infer *infer)
{
    const eddy_shape *shape = eddy_infer_input(infer, VALUE);
    eddy_shape vector = eddy__shape_vector(-1);
    bool is_nchw;

    if (shape->rank == 0 || shape->rank == 1)
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                               NO_CHANNELS, eddy__shape_print(shape).text);
    if (shape->rank > 0 && eddy__window_read_format(infer, &is_nchw))
        vector.dims[0] = shape->dims[channel_axis(shape, is_nchw)];
    eddy_infer_set_output(infer, 0, &vector);
    return EDDY_OK;
}

#define FORMAT ", data_format: string = 'NHWC'"

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("BiasAdd", .inputs = "value: T, bias: T",
                 .outputs = "output: T", .attrs = "T: number" FORMAT,
                 .infer = infer_add, .kernel = run_add,
                 .prepare = prepare_format,
                 .doc = "Value plus the bias of each channel."),
    EDDY__OP_ROW(
        "BiasAddV1", .inputs = "value: T, bias: T", .outputs = "output: T",
        .attrs = "T: number", .infer = infer_add, .kernel = run_add,
        .prepare = prepare_format,
        .doc = "Value plus the bias of each entry of the last dimension."),
    EDDY__OP_ROW("BiasAddGrad", .inputs = "out_backprop: T",
                 .outputs = "output: T", .attrs = "T: number" FORMAT,
                 .infer = infer_gradient, .kernel = run_gradient,
                 .prepare = prepare_format, .doc = "The sum of each channel."),
};

const eddy__op_table eddy__bias_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};
