/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The TensorArray ops on many items at a time: Gather and Concat make a
 * tensor of them, Scatter and Split make them of a tensor.
 */
#include "ops/list/tensor_array.h"
#include "ops/ops.h"

#include <inttypes.h>

/* What a node says of the items that it reads; for Concat, `shape` is without
 * their first dimension. */
typedef struct reader {
    eddy_dtype dtype;
    eddy_shape shape;
} reader;

/* Items that were read: those of indices, or the first `n`. */
typedef struct picked {
    eddy__array *array;
    const int32_t *indices; /* NULL: 0, 1, ... */
    int64_t n;
} picked;

static inline int64_t index_of(const picked *p, int64_t i)
{
    return p->indices ? p->indices[i] : i;
}

/* ---- reading ---- */

/* Reads item `i` of those wanted. */
static eddy_status read_item(eddy_kernel *k, const picked *p, int64_t i,
                             const eddy_shape **out_shape)
{
    return eddy__array_read(k, p->array, index_of(p, i), out_shape);
}

/* Puts the elements of the items, all of which have been read, to `to`. */
static void put_all(const picked *p, unsigned char *to)
{
    const size_t size = eddy__element_size((eddy_dtype)p->array->dtype);

    for (int64_t i = 0; i < p->n; i++) {
        const int64_t index = index_of(p, i);
        eddy__value item;
        const bool has_value = eddy__array_item(p->array, index, &item);
        int64_t count = 0;

        if (!has_value)
            (void)eddy__shape_count(eddy__array_shape(p->array, index), 1,
                                    &count);
        to +=
            eddy__put_item(to, has_value ? &item : NULL, (size_t)count * size);
    }
}

/* Drops what was to be read once. */
static void drop_all(eddy_kernel *k, const picked *p)
{
    for (int64_t i = 0; p->array->clears && i < p->n; i++)
        eddy__array_drop(k, p->array, index_of(p, i));
}

/* Makes output 0 the items, put together to that shape. */
static eddy_status put_together(eddy_kernel *k, const picked *p,
                                const eddy_shape *shape)
{
    unsigned char *to;

    EDDY_TRY(
        eddy__output_elements(k, 0, (eddy_dtype)p->array->dtype, shape, &to));
    put_all(p, to);
    EDDY_TRY(eddy__elements_done(k, 0));
    drop_all(k, p);
    return EDDY_OK;
}

/* No items make a tensor only if their shape is stated. */
static eddy_status check_stated(eddy_kernel *k, const reader *r)
{
    if (eddy__shape_is_known(&r->shape))
        return EDDY_OK;
    return eddy__kfail(k, EDDY_UNIMPLEMENTED, EDDY_E_SHAPE,
                       "no items are read, and the element shape %s that "
                       "the node states for that case is not fully known",
                       eddy__shape_print(&r->shape).text);
}

/* Output 0 when there are no items. */
static eddy_status put_nothing(eddy_kernel *k, const reader *r)
{
    eddy_shape shape;
    unsigned char *to;

    EDDY_TRY(check_stated(k, r));
    EDDY_TRY(eddy__prepend_dim(k, 0, &r->shape, &shape));
    return eddy__output_elements(k, 0, r->dtype, &shape, &to);
}

/* ---- Gather ---- */

static eddy_status merge_shape(eddy_kernel *k, eddy__array *a,
                               const eddy_shape *shape)
{
    if (eddy__shape_merge(&a->shape, shape, &a->shape)) {
        eddy__array_publish(a);
        return EDDY_OK;
    }
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "the element shape %s is not compatible with that of "
                       "TensorArray %s, %s",
                       eddy__shape_print(shape).text, a->name,
                       eddy__shape_print(&a->shape).text);
}

eddy_status eddy__array_fail_unlike(eddy_kernel *k, const eddy__array *a,
                                    int64_t i, const eddy_shape *of_i,
                                    int64_t j, const eddy_shape *of_j)
{
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "TensorArray %s has inconsistent shapes: item %" PRId64
                       " has shape %s but item %" PRId64 " has shape %s",
                       a->name, i, eddy__shape_print(of_i).text, j,
                       eddy__shape_print(of_j).text);
}

/* Reads all items, which must have one shape, and that of the node. */
static eddy_status read_alike(eddy_kernel *k, const picked *p, const reader *r,
                              eddy_shape *out_shape)
{
    const eddy_shape *shape;

    for (int64_t i = 0; i < p->n; i++) {
        EDDY_TRY(read_item(k, p, i, &shape));
        if (i == 0)
            *out_shape = *shape;
        if (!eddy__shape_equal(shape, out_shape))
            return eddy__array_fail_unlike(k, p->array, index_of(p, 0),
                                           out_shape, index_of(p, i), shape);
    }
    if (eddy__shape_compatible(&r->shape, out_shape))
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "the element shape %s does not match that of the items, "
                       "%s",
                       eddy__shape_print(&r->shape).text,
                       eddy__shape_print(out_shape).text);
}

static eddy_status run_gather(eddy_kernel *k)
{
    const reader *r = eddy__state(k);
    picked p = {.indices = NULL};
    eddy_shape shape = {.rank = 0};
    eddy_view indices;

    EDDY_TRY(eddy__in_array(k, &p.array));
    EDDY_TRY(eddy__array_want_dtype(k, p.array, r->dtype, "read"));
    EDDY_TRY(merge_shape(k, p.array, &r->shape));
    EDDY_TRY(eddy__in_vector(k, 1, "the indices", &indices));
    p.indices = indices.data;
    p.n = indices.count;
    if (p.n == 0)
        return put_nothing(k, r);
    EDDY_TRY(read_alike(k, &p, r, &shape));
    EDDY_TRY(eddy__prepend_dim(k, p.n, &shape, &shape));
    return put_together(k, &p, &shape);
}

eddy_status eddy__array_read_alike(eddy_kernel *k, eddy__array *a, int64_t n,
                                   const eddy_shape *stated, bool may_be_none)
{
    const reader r = {.dtype = (eddy_dtype)a->dtype, .shape = *stated};
    const picked p = {.array = a, .n = n};
    eddy_shape shape = {.rank = 0};

    EDDY_TRY(merge_shape(k, a, &r.shape));
    if (n <= 0)
        return may_be_none ? EDDY_OK : check_stated(k, &r);
    return read_alike(k, &p, &r, &shape);
}

/* ---- Concat ---- */

static eddy_status check_part(eddy_kernel *k, const picked *p, const reader *r,
                              int64_t i, const eddy_shape *shape,
                              eddy_shape *rest)
{
    eddy_shape own;

    if (shape->rank == 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "item %" PRId64 " of TensorArray %s is a scalar; "
                           "only vectors and more can be concatenated",
                           i, p->array->name);
    own = eddy__shape_rest(shape);
    if (i == 0)
        *rest = own;
    if (!eddy__shape_equal(&own, rest))
        return eddy__kfail(
            k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
            "TensorArray %s has inconsistent shapes: but for the first "
            "dimension, item 0 has shape %s and item %" PRId64 " has %s",
            p->array->name, eddy__shape_print(rest).text, i,
            eddy__shape_print(&own).text);
    if (!eddy__shape_compatible(&r->shape, rest))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "element_shape_except0 is %s but the items have, "
                           "but for the first dimension, shape %s",
                           eddy__shape_print(&r->shape).text,
                           eddy__shape_print(rest).text);
    return EDDY_OK;
}

/* Reads all items: their lengths, and the shape of all together. */
static eddy_status read_parts(eddy_kernel *k, const picked *p, const reader *r,
                              int64_t *lengths, eddy_shape *out_shape)
{
    const eddy_shape *shape;
    eddy_shape rest = {.rank = 0};
    int64_t total = 0;

    for (int64_t i = 0; i < p->n; i++) {
        EDDY_TRY(read_item(k, p, i, &shape));
        EDDY_TRY(check_part(k, p, r, i, shape, &rest));
        lengths[i] = shape->dims[0];
        if (__builtin_add_overflow(total, shape->dims[0], &total))
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                               "the size of the concatenation overflows");
    }
    return eddy__prepend_dim(k, total, &rest, out_shape);
}

static eddy_status run_concat(eddy_kernel *k)
{
    const reader *r = eddy__state(k);
    picked p = {.indices = NULL};
    eddy_shape shape;
    void *lengths;

    EDDY_TRY(eddy__in_array(k, &p.array));
    EDDY_TRY(eddy__array_want_dtype(k, p.array, r->dtype, "read"));
    p.n = p.array->size;
    if (p.array->is_gradient && p.array->split_size >= 0)
        p.n = p.array->split_size;
    shape = eddy__shape_vector(p.n);
    EDDY_TRY(eddy__output(k, 1, EDDY_INT64, &shape, &lengths));
    if (p.n == 0)
        return put_nothing(k, r);
    EDDY_TRY(read_parts(k, &p, r, lengths, &shape));
    return put_together(k, &p, &shape);
}

/* ---- writing ---- */

/* Writes the elements of `from` from `first` on as item `index`. */
static eddy_status write_slice(eddy_kernel *k, eddy__array *a, int64_t index,
                               eddy_tensor *from, int64_t first,
                               const eddy_shape *shape)
{
    eddy__value item = {.kind = EDDY__NONE};

    EDDY_TRY(eddy__slice_item(k, from, first, shape, &item));
    return eddy__array_write(k, a, index, &item);
}

/* The array of a write, and the tensor input `i` whose rows are written. */
static eddy_status begin_write(eddy_kernel *k, uint32_t i,
                               eddy__array **out_array,
                               eddy_tensor **out_tensor)
{
    EDDY_TRY(eddy__in_array(k, out_array));
    EDDY_TRY(
        eddy__array_want_dtype(k, *out_array, eddy__in_dtype(k, i), "write"));
    return eddy__in_rows(k, i, "the value", out_tensor);
}

static eddy_status run_scatter(eddy_kernel *k)
{
    eddy_view indices;
    eddy_tensor *from;
    eddy__array *a;
    eddy_shape shape;
    int64_t step;

    EDDY_TRY(eddy__tensor_array_pass_flow(k, 3));
    EDDY_TRY(begin_write(k, 2, &a, &from));
    EDDY_TRY(eddy__in_vector(k, 1, "the indices", &indices));
    if (indices.count != from->shape.dims[0])
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "there are %" PRId64 " indices, but the value has "
                           "shape %s",
                           indices.count, eddy__shape_print(&from->shape).text);
    shape = eddy__shape_rest(&from->shape);
    step = indices.count > 0 ? from->count / indices.count : 0;
    for (int64_t i = 0; i < indices.count; i++)
        EDDY_TRY(write_slice(k, a, ((const int32_t *)indices.data)[i], from,
                             i * step, &shape));
    return EDDY_OK;
}

/* The lengths must be those of the parts of `from`, one an item. */
static eddy_status check_lengths(eddy_kernel *k, const eddy__array *a,
                                 const eddy_view *lengths,
                                 const eddy_tensor *from)
{
    const int64_t *length = lengths->data, limit = from->shape.dims[0];
    int64_t left = limit, i = 0;

    for (; i < lengths->count && length[i] >= 0 && length[i] <= left; i++)
        left -= length[i];
    if (i < lengths->count || left > 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                           "the lengths must be at least 0 and add up to the "
                           "first dimension of the value, whose shape is %s; "
                           "the first %" PRId64 " of %" PRId64
                           " add up to %" PRId64,
                           eddy__shape_print(&from->shape).text, i,
                           lengths->count, limit - left);
    if (a->is_dynamic ? lengths->count >= a->size && lengths->count < INT32_MAX
                      : lengths->count == a->size)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "there are %" PRId64
                       " lengths, but TensorArray %s has size %" PRId32 "%s",
                       lengths->count, a->name, a->size,
                       a->is_dynamic ? "" : " and is not resizeable");
}

static eddy_status run_split(eddy_kernel *k)
{
    eddy_view lengths;
    eddy_tensor *from;
    eddy__array *a;
    eddy_shape shape;
    int64_t step, at = 0;

    EDDY_TRY(eddy__tensor_array_pass_flow(k, 3));
    EDDY_TRY(begin_write(k, 1, &a, &from));
    EDDY_TRY(eddy__in_vector(k, 2, "the lengths", &lengths));
    EDDY_TRY(check_lengths(k, a, &lengths, from));
    if (!a->is_gradient)
        a->split_size = (int32_t)lengths.count;
    shape = from->shape;
    step = shape.dims[0] > 0 ? from->count / shape.dims[0] : 0;
    for (int64_t i = 0; i < lengths.count; i++) {
        shape.dims[0] = ((const int64_t *)lengths.data)[i];
        EDDY_TRY(write_slice(k, a, i, from, at * step, &shape));
        at += shape.dims[0];
    }
    return EDDY_OK;
}

/* ---- preparation and shapes ---- */

static eddy_status prepare_reader(eddy_infer *infer, const char *shape_name)
{
    reader *r;
    eddy_attr shape;

    EDDY_TRY(eddy__prepare_arranged(infer));
    r = eddy__prepare_state(infer, sizeof *r);
    if (!r)
        return EDDY_RESOURCE_EXHAUSTED;
    r->dtype = eddy__infer_type(infer, "dtype");
    r->shape = eddy__shape_unknown();
    if (eddy_infer_attr(infer, shape_name, &shape))
        r->shape = shape.as.shapes[0];
    return EDDY_OK;
}

static eddy_status prepare_gather(eddy_infer *infer)
{
    return prepare_reader(infer, "element_shape");
}

static eddy_status prepare_concat(eddy_infer *infer)
{
    return prepare_reader(infer, "element_shape_except0");
}

/* Items without elements of their own have no slices. */
static eddy_status prepare_writer(eddy_infer *infer)
{
    const eddy_dtype dtype = eddy__infer_type(infer, "T");

    if (eddy__has_tensors(dtype))
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_UNIMPLEMENTED, EDDY_E_NO_KERNEL,
                           "there is no kernel for %s", eddy_dtype_name(dtype));
}

/* The shape of items that `name` states below one of `dim` of them. */
static void infer_items(eddy_infer *infer, const char *name, int64_t dim)
{
    eddy_attr attr;
    eddy_shape shape;

    if (eddy_infer_attr(infer, name, &attr) &&
        eddy__shape_prepend(dim, &attr.as.shapes[0], &shape))
        eddy_infer_set_output(infer, 0, &shape);
}

static eddy_status infer_gather(eddy_infer *infer)
{
    const eddy_shape *indices = eddy_infer_input(infer, 1);
    eddy_shape shape = eddy__array_element_shape(infer);
    eddy_attr stated;

    EDDY_TRY(eddy__infer_want_rank(infer, 1, 1));
    if (eddy_infer_attr(infer, "element_shape", &stated) &&
        eddy__shape_merge(&shape, &stated.as.shapes[0], &shape) &&
        eddy__shape_prepend(indices->rank == 1 ? indices->dims[0] : -1, &shape,
                            &shape))
        eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static eddy_status infer_concat(eddy_infer *infer)
{
    const eddy_shape lengths = eddy__shape_of_rank(1);

    infer_items(infer, "element_shape_except0", -1);
    eddy_infer_set_output(infer, 1, &lengths);
    return EDDY_OK;
}

static eddy_status infer_scatter(eddy_infer *infer)
{
    EDDY_TRY(eddy__infer_want_rank(infer, 1, 1));
    EDDY_TRY(eddy__infer_want_rank(infer, 3, 0));
    return eddy__infer_scalar(infer);
}

static eddy_status infer_split(eddy_infer *infer)
{
    EDDY_TRY(eddy__infer_want_rank(infer, 2, 1));
    EDDY_TRY(eddy__infer_want_rank(infer, 3, 0));
    return eddy__infer_scalar(infer);
}

#define FLAGS (EDDY_OP_STATEFUL | EDDY_OP_CHEAP)

static const eddy_op_spec specs[] = {
    EDDY__ARRAY_FORMS(
        "TensorArrayGather", ", indices: int32, flow_in: float32",
        .outputs = "value: dtype",
        .attrs = "dtype: type, element_shape: shape = ?", .infer = infer_gather,
        .kernel = run_gather, .prepare = prepare_gather, .flags = FLAGS,
        .doc = "The items at `indices` along a new first dimension."),
    EDDY__ARRAY_FORMS(
        "TensorArrayConcat", ", flow_in: float32",
        .outputs = "value: dtype, lengths: int64",
        .attrs = "dtype: type, element_shape_except0: shape = ?",
        .infer = infer_concat, .kernel = run_concat, .prepare = prepare_concat,
        .flags = FLAGS,
        .doc = "All items along their first dimension, and how long each is "
               "there."),
    EDDY__ARRAY_FORMS(
        "TensorArrayScatter", ", indices: int32, value: T, flow_in: float32",
        .outputs = "flow_out: float32", .attrs = "T: type",
        .infer = infer_scatter, .kernel = run_scatter,
        .prepare = prepare_writer, .flags = FLAGS,
        .doc = "Makes the rows of `value` the items at `indices`."),
    EDDY__ARRAY_FORMS(
        "TensorArraySplit", ", value: T, lengths: int64, flow_in: float32",
        .outputs = "flow_out: float32", .attrs = "T: type",
        .infer = infer_split, .kernel = run_split, .prepare = prepare_writer,
        .flags = FLAGS,
        .doc = "Makes parts of `value` of these lengths the items."),
};

const eddy__op_table eddy__tensor_array_bulk_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};
