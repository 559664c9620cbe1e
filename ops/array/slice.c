/* SPDX-License-Identifier: Apache-2.0 */
/* Slice, StridedSlice and its gradient. */
#include "ops/array/box.h"
#include "ops/array/strided.h"
#include "ops/math/elements.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <string.h>

static bool is_whole(const eddy__region *r, const eddy_shape *of)
{
    for (int32_t d = 0; d < of->rank; d++)
        if (r->begin[d] != 0 || r->stride[d] != 1 || r->size[d] != of->dims[d])
            return false;
    return true;
}

static eddy_status copy_region(eddy_kernel *k, const eddy__region *r)
{
    const eddy_shape *of = eddy__in_shape(k, 0);
    eddy_dtype dtype = eddy__in_dtype(k, 0);
    size_t size = eddy__element_size(dtype);
    eddy_shape dense = {.rank = of->rank};
    int64_t from[EDDY_MAX_RANK], to[EDDY_MAX_RANK], start = 0;
    eddy__box box = {.item = size};
    unsigned char *out;

    if (is_whole(r, of))
        return eddy__output_reshaped(k, 0, 0, &r->shape);
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &r->shape, &out));
    if (eddy__value_is_counted(eddy__out(k, 0)) &&
        eddy__out(k, 0)->as.tensor->count == 0)
        return EDDY_OK;
    memcpy(dense.dims, r->size, sizeof dense.dims);
    eddy__box_dense_strides(of, size, from);
    eddy__box_dense_strides(&dense, size, to);
    for (int32_t d = 0; d < of->rank; d++) {
        start += r->begin[d] * from[d];
        if (r->size[d] > 1)
            eddy__box_add(&box, r->size[d], r->stride[d] * from[d], to[d]);
    }
    eddy__box_copy(eddy__asker(k, dtype), &box, out,
                   eddy__in_elements(k, 0) + start);
    return eddy__elements_done(k, 0);
}

/* ---- Slice ---- */

static eddy_status check_slice(eddy_kernel *k, const eddy_shape *of,
                               eddy__region *r)
{
    eddy_view begin, size;

    EDDY_TRY(eddy__vector_argument(k, 1, "begin", of->rank, &begin));
    EDDY_TRY(eddy__vector_argument(k, 2, "size", of->rank, &size));
    r->shape.rank = of->rank;
    for (int32_t d = 0; d < of->rank; d++) {
        int64_t b = eddy__index_at(&begin, d), n = eddy__index_at(&size, d);

        if (b < 0 || b > of->dims[d])
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                               "expected begin[%d] in [0, %" PRId64
                               "], but got %" PRId64,
                               d, of->dims[d], b);
        if (n < -1 || n > of->dims[d] - b)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                               "expected size[%d] in [0, %" PRId64
                               "], but got %" PRId64,
                               d, of->dims[d] - b, n);
        r->begin[d] = b;
        r->stride[d] = 1;
        r->size[d] = n < 0 ? of->dims[d] - b : n;
        r->shape.dims[d] = r->size[d];
    }
    return EDDY_OK;
}

static eddy_status run_slice(eddy_kernel *k)
{
    eddy__region r;

    EDDY_TRY(check_slice(k, eddy__in_shape(k, 0), &r));
    return copy_region(k, &r);
}

static eddy_status infer_slice(eddy_infer *infer)
{
    const eddy_shape *of = eddy_infer_input(infer, 0);
    eddy_shape shape = eddy__infer_shape_argument(infer, 2);
    int64_t begin, size;

    if (of->rank >= 0 && shape.rank != of->rank)
        shape = eddy__shape_of_rank(of->rank);
    for (int32_t d = 0; of->rank >= 0 && d < shape.rank; d++)
        if (eddy__infer_constant_int(infer, 2, d, &size) && size == -1 &&
            eddy__infer_constant_int(infer, 1, d, &begin) && begin >= 0 &&
            begin <= of->dims[d])
            shape.dims[d] = of->dims[d] - begin;
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

/* ---- StridedSlice ---- */

/* The one element of an int32 or int64 vector; false if it is not that. */
static bool only_index(const eddy__value *v, int64_t *out)
{
    const eddy_tensor *t = v->as.tensor;

    if (v->kind == EDDY__SCALAR || t->count != 1 || t->shape.rank != 1)
        return false;
    if (v->dtype == EDDY_INT32)
        *out = *(const int32_t *)t->data;
    else if (v->dtype == EDDY_INT64)
        *out = *(const int64_t *)t->data;
    else
        return false;
    return true;
}

/* x[i] of a vector, which loops do all the time; false if it is not that, or
 * if something is wrong with it. */
static bool take_element(eddy_kernel *k)
{
    const eddy__slice_masks *mask = eddy__state(k);
    const eddy__value *in = eddy__in(k, 0);
    int64_t index, end, stride;
    uint64_t bits = 0;
    size_t size;

    if (!mask->is_index || in->kind == EDDY__SCALAR ||
        !eddy__dtype_is_inline((eddy_dtype)in->dtype) ||
        in->as.tensor->shape.rank != 1 || !only_index(eddy__in(k, 1), &index) ||
        !only_index(eddy__in(k, 2), &end) ||
        !only_index(eddy__in(k, 3), &stride) || stride <= 0)
        return false;
    if (index < 0)
        index += in->as.tensor->count;
    if (index < 0 || index >= in->as.tensor->count)
        return false;
    size = eddy_dtype_size((eddy_dtype)in->dtype);
    memcpy(&bits, (const char *)in->as.tensor->data + (size_t)index * size,
           size);
    eddy__out_scalar(eddy__out(k, 0), (eddy_dtype)in->dtype, bits);
    return true;
}

static eddy_status prepare_strided(eddy_infer *infer)
{
    EDDY_TRY(eddy__prepare_arranged(infer));
    return eddy__strided_prepare(infer);
}

static eddy_status run_strided(eddy_kernel *k)
{
    eddy__region r = {.shape = {.rank = 0}};

    if (take_element(k))
        return EDDY_OK;
    EDDY_TRY(eddy__strided_read(k, eddy__in_shape(k, 0), &r));
    return copy_region(k, &r);
}

/* ---- StridedSliceGrad ---- */

/* Puts the gradient where StridedSlice took its output, zeros elsewhere. */
static eddy_status put_region(eddy_kernel *k, const eddy__region *r,
                              const eddy_shape *of)
{
    const eddy_dtype dtype = eddy__in_dtype(k, 4);
    const size_t size = eddy__element_size(dtype);
    const int64_t taken = eddy__in_count(k, 4);
    eddy_shape dense = {.rank = of->rank};
    int64_t from[EDDY_MAX_RANK], to[EDDY_MAX_RANK], start = 0, count = 1;
    eddy__box box = {.item = size};
    unsigned char *out;

    EDDY_TRY(eddy__output_elements(k, 0, dtype, of, &out));
    if (eddy__value_is_counted(eddy__out(k, 0)))
        count = eddy__out(k, 0)->as.tensor->count;
    if (taken < count)
        eddy__zero_bytes(eddy__asker(k, dtype), out, (size_t)count * size);
    memcpy(dense.dims, r->size, sizeof dense.dims);
    eddy__box_dense_strides(of, size, to);
    eddy__box_dense_strides(&dense, size, from);
    for (int32_t d = 0; taken > 0 && d < of->rank; d++) {
        start += r->begin[d] * to[d];
        if (r->size[d] > 1)
            eddy__box_add(&box, r->size[d], from[d], r->stride[d] * to[d]);
    }
    if (taken > 0)
        eddy__box_copy(eddy__asker(k, dtype), &box, out + start,
                       eddy__in_elements(k, 4));
    return eddy__elements_done(k, 0);
}

static eddy_status run_gradient(eddy_kernel *k)
{
    const eddy_view view = eddy__in_view(k, 0);
    eddy_shape of = {.rank = 0};
    eddy__region r = {.shape = {.rank = 0}};

    EDDY_TRY(eddy__shape_from_view(k, &view, 0, &of));
    EDDY_TRY(eddy__strided_read(k, &of, &r));
    if (!eddy__shape_equal(eddy__in_shape(k, 4), &r.shape))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "dy must have shape %s, but it has %s",
                           eddy__shape_print(&r.shape).text,
                           eddy__shape_print(eddy__in_shape(k, 4)).text);
    return put_region(k, &r, &of);
}

static eddy_status infer_gradient(eddy_infer *infer)
{
    const eddy_shape shape = eddy__infer_shape_argument(infer, 0);

    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("Slice", .inputs = "input: T, begin: Index, size: Index",
                 .outputs = "output: T", .attrs = "T: type, Index: index",
                 .infer = infer_slice, .kernel = run_slice,
                 .prepare = eddy__prepare_arranged,
                 .doc = "`size` elements of each dimension from `begin` on."),
    EDDY__OP_ROW("StridedSlice",
                 .inputs = "input: T, begin: Index, end: Index, strides: Index",
                 .outputs = "output: T",
                 .attrs =
                     "T: type, Index: {int16, int32, int64}" EDDY__SLICE_MASKS,
                 .infer = eddy__strided_infer, .kernel = run_strided,
                 .prepare = prepare_strided,
                 .doc = "What an index expression with ranges, indices, an "
                        "ellipsis and new axes takes."),
    EDDY__OP_ROW(
        "StridedSliceGrad",
        .inputs =
            "shape: Index, begin: Index, end: Index, strides: Index, dy: T",
        .outputs = "output: T",
        .attrs = "T: type, Index: index" EDDY__SLICE_MASKS,
        .infer = infer_gradient, .kernel = run_gradient,
        .prepare = prepare_strided,
        .doc = "dy where StridedSlice takes its output from the shape, else "
               "zeros."),
};

const eddy__op_table eddy__slice_ops = {specs, NULL,
                                        sizeof specs / sizeof *specs};
