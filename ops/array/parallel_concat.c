/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ParallelConcat: rows put together whose places the shape of the whole tells,
 * so that each may be written as soon as it is there.  TensorFlow makes it a
 * _ParallelConcatStart and a _ParallelConcatUpdate for each row; here it is one
 * kernel, and those two are there for graphs that were rewritten so.  Rows that
 * nobody writes are zeros.
 */
#include "ops/math/elements.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <string.h>

static eddy_shape row_shape(const eddy_shape *of)
{
    eddy_shape shape = *of;

    shape.dims[0] = 1;
    return shape;
}

/* Bytes a row; the shape is known and has at least one row. */
static size_t row_bytes(const eddy_shape *of, eddy_dtype dtype)
{
    size_t bytes = eddy__element_size(dtype);

    for (int32_t d = 1; d < of->rank; d++)
        bytes *= (size_t)of->dims[d];
    return bytes;
}

static eddy_status prepare_whole(eddy_infer *infer)
{
    eddy_shape *state;
    eddy_attr shape;

    EDDY_TRY(eddy__prepare_movable(infer));
    state = eddy__prepare_state(infer, sizeof *state);
    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    if (eddy_infer_attr(infer, "shape", &shape))
        *state = shape.as.shapes[0];
    if (eddy__shape_is_known(state) && state->rank > 0)
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                           "the shape %s must be known and have a first "
                           "dimension",
                           eddy__shape_print(state).text);
}

static eddy_status check_row(eddy_kernel *k, uint32_t i, const eddy_shape *of)
{
    const eddy_shape wanted = row_shape(of);

    if (eddy__shape_equal(eddy__in_shape(k, i), &wanted))
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "input %u has shape %s; a row of %s has shape %s", i,
                       eddy__shape_print(eddy__in_shape(k, i)).text,
                       eddy__shape_print(of).text,
                       eddy__shape_print(&wanted).text);
}

static eddy_status run_concat(eddy_kernel *k)
{
    const eddy_shape *whole = eddy__state(k);
    const uint32_t n = k->node->n_in;
    const eddy_dtype dtype = eddy__in_dtype(k, 0);
    unsigned char *out;
    size_t bytes;

    for (uint32_t i = 0; i < n; i++)
        EDDY_TRY(check_row(k, i, whole));
    if (whole->dims[0] < n)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "%u rows do not fit in %s", n,
                           eddy__shape_print(whole).text);
    EDDY_TRY(eddy__output_elements(k, 0, dtype, whole, &out));
    bytes = row_bytes(whole, dtype);
    for (uint32_t i = 0; bytes > 0 && i < n; i++, out += bytes)
        memcpy(out, eddy__in_elements(k, i), bytes);
    if (bytes > 0)
        memset(out, 0, (size_t)(whole->dims[0] - n) * bytes);
    return eddy__elements_done(k, 0);
}

static eddy_status run_start(eddy_kernel *k)
{
    const eddy_shape *whole = eddy__state(k);
    const eddy_dtype dtype = (eddy_dtype)k->node->out_dtypes[0];
    unsigned char *out;
    size_t bytes;

    EDDY_TRY(eddy__output_elements(k, 0, dtype, whole, &out));
    bytes = row_bytes(whole, dtype) * (size_t)whole->dims[0];
    if (bytes > 0)
        memset(out, 0, bytes);
    return eddy__elements_done(k, 0);
}

/* ---- _ParallelConcatUpdate ---- */

enum { VALUE, UPDATE };

static eddy_status prepare_update(eddy_infer *infer)
{
    int64_t *row;

    EDDY_TRY(eddy__prepare_movable(infer));
    row = eddy__prepare_state(infer, sizeof *row);
    if (!row)
        return EDDY_RESOURCE_EXHAUSTED;
    *row = eddy__infer_int(infer, "loc");
    return EDDY_OK;
}

static eddy_status copy_value(eddy_kernel *k, const eddy_shape *of,
                              eddy_dtype dtype, unsigned char **out)
{
    const unsigned char *from = eddy__in_elements(k, VALUE);
    const int64_t count = eddy__in_count(k, VALUE);
    void *data;

    if (dtype == EDDY_STRING) {
        EDDY_TRY(eddy__output_elements(k, 0, dtype, of, out));
    } else {
        EDDY_TRY(eddy__output_reusing(k, 0, VALUE, dtype, of, &data));
        *out = data;
    }
    if (*out != from && count > 0)
        memcpy(*out, from, (size_t)count * eddy__element_size(dtype));
    return EDDY_OK;
}

static eddy_status run_update(eddy_kernel *k)
{
    const int64_t *row = eddy__state(k);
    const eddy_shape of = *eddy__in_shape(k, VALUE);
    const eddy_dtype dtype = eddy__in_dtype(k, VALUE);
    int32_t rank = of.rank;
    unsigned char *out;
    int64_t at;

    if (rank == 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "a scalar has no rows");
    EDDY_TRY(check_row(k, UPDATE, &of));
    at = *row < 0 ? *row + of.dims[0] : *row;
    if (at < 0 || at >= of.dims[0])
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                           "there is no row %" PRId64 " in %s", *row,
                           eddy__shape_print(&of).text);
    EDDY_TRY(copy_value(k, &of, dtype, &out));
    if (row_bytes(&of, dtype) > 0)
        memcpy(out + (size_t)at * row_bytes(&of, dtype),
               eddy__in_elements(k, UPDATE), row_bytes(&of, dtype));
    return eddy__elements_done(k, 0);
}

/* ---- shapes ---- */

static eddy_status infer_start(eddy_infer *infer)
{
    eddy_attr shape;

    if (eddy_infer_attr(infer, "shape", &shape))
        eddy_infer_set_output(infer, 0, &shape.as.shapes[0]);
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW(
        "ParallelConcat", .inputs = "values: N * T", .outputs = "output: T",
        .attrs = "N: int >= 1, T: type, shape: shape", .infer = infer_start,
        .kernel = run_concat, .prepare = prepare_whole,
        .doc = "The inputs, each of one row, as the rows of a tensor."),
    EDDY__OP_ROW("_ParallelConcatStart", .outputs = "output: dtype",
                 .attrs = "shape: shape, dtype: type", .infer = infer_start,
                 .kernel = run_start, .prepare = prepare_whole,
                 .flags = EDDY_OP_STATEFUL | EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "A tensor of some shape; all zeros."),
    EDDY__OP_ROW("_ParallelConcatUpdate", .inputs = "value: T, update: T",
                 .outputs = "output: T", .attrs = "T: type, loc: int",
                 .infer = eddy__infer_unchanged, .kernel = run_update,
                 .prepare = prepare_update,
                 .doc = "The value with another row at `loc`."),
};

const eddy__op_table eddy__parallel_concat_ops = {specs, NULL,
                                                  sizeof specs / sizeof *specs};
