/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorLists and tensors: a tensor taken apart into a list's items, and items
 * put together into a tensor.
 */
#include "ops/list/list_math.h"
#include "ops/list/tensor_list.h"
#include "ops/ops.h"

#include <inttypes.h>

/* ---- items from a tensor ---- */

/* A cursor over the rows of a tensor. */
typedef struct rows {
    eddy_tensor *tensor;
    int64_t step;     /* elements a row */
    eddy_shape shape; /* of one, without the first dimension */
} rows;

static eddy_status begin_rows(eddy_kernel *k, uint32_t i, rows *out)
{
    int64_t n;

    EDDY_TRY(eddy__in_rows(k, i, "the tensor", &out->tensor));
    n = out->tensor->shape.dims[0];
    out->step = n > 0 ? out->tensor->count / n : 0;
    out->shape = eddy__shape_rest(&out->tensor->shape);
    return EDDY_OK;
}

/* Makes row `from` item `to`. */
static eddy_status set_row(eddy_kernel *k, eddy__list *list, int64_t to,
                           const rows *r, int64_t from)
{
    eddy__value item = {.kind = EDDY__NONE};

    EDDY_TRY(eddy__slice_item(k, r->tensor, from * r->step, &r->shape, &item));
    eddy__list_set(k->heap, list, to, item);
    return EDDY_OK;
}

/* Can a list of items of `shape` have items like `item`? */
static eddy_status want_compatible(eddy_kernel *k, const eddy_shape *shape,
                                   const eddy_shape *item)
{
    if (eddy__shape_compatible(shape, item))
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "a list of items of shape %s can't be made of a tensor "
                       "whose rows have shape %s",
                       eddy__shape_print(shape).text,
                       eddy__shape_print(item).text);
}

static eddy_status run_from_tensor(eddy_kernel *k)
{
    eddy_shape shape;
    eddy__list *list;
    rows r;

    EDDY_TRY(eddy__in_item_shape(k, 1, &shape));
    EDDY_TRY(begin_rows(k, 0, &r));
    EDDY_TRY(want_compatible(k, &shape, &r.shape));
    EDDY_TRY(eddy__output_list(k, 0, eddy__in_dtype(k, 0), &shape,
                               r.tensor->shape.dims[0], &list));
    for (int64_t i = 0; i < list->count; i++)
        EDDY_TRY(set_row(k, list, i, &r, i));
    return EDDY_OK;
}

/* ---- scattering ---- */

/* The rows of input `i` and an index for each; the largest index, or -1. */
typedef struct scatter {
    rows from;
    const int32_t *indices;
    int64_t n, largest;
} scatter;

static eddy_status begin_scatter(eddy_kernel *k, uint32_t i,
                                 const eddy_view *indices, scatter *s)
{
    EDDY_TRY(begin_rows(k, i, &s->from));
    s->indices = indices->data;
    s->n = indices->count;
    s->largest = -1;
    if (s->n != s->from.tensor->shape.dims[0])
        return eddy__kfail(
            k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
            "there are %" PRId64 " indices, but the tensor has shape %s", s->n,
            eddy__shape_print(&s->from.tensor->shape).text);
    for (int64_t j = 0; j < s->n; j++) {
        if (s->indices[j] < 0)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                               "index %" PRId64 " is %" PRId32
                               ", it must be at least 0",
                               j, s->indices[j]);
        if (s->indices[j] > s->largest)
            s->largest = s->indices[j];
    }
    return EDDY_OK;
}

static eddy_status scatter_all(eddy_kernel *k, const scatter *s,
                               eddy__list *list)
{
    for (int64_t i = 0; i < s->n; i++)
        EDDY_TRY(set_row(k, list, s->indices[i], &s->from, i));
    return EDDY_OK;
}

/*
 * A new list of `count` items, or as many as the indices ask for if that is -1.
 * TensorFlow takes indices of any rank here.
 */
static eddy_status scatter_new(eddy_kernel *k, int32_t count)
{
    const eddy_view indices = eddy__in_view(k, 1);
    eddy_shape shape;
    eddy__list *list;
    scatter s;

    EDDY_TRY(eddy__in_item_shape(k, 2, &shape));
    if (count < -1)
        return eddy__kfail(
            k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
            "num_elements is %" PRId32 ", it must be at least -1", count);
    EDDY_TRY(begin_scatter(k, 0, &indices, &s));
    EDDY_TRY(want_compatible(k, &shape, &s.from.shape));
    if (count >= 0 && s.largest >= count)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                           "there is no item %" PRId64
                           " in a list with %" PRId32 " items",
                           s.largest, count);
    EDDY_TRY(eddy__output_list(k, 0, eddy__in_dtype(k, 0), &shape,
                               count >= 0 ? count : s.largest + 1, &list));
    return scatter_all(k, &s, list);
}

static eddy_status run_scatter(eddy_kernel *k)
{
    return scatter_new(k, -1);
}

static eddy_status run_scatter_counted(eddy_kernel *k)
{
    int32_t count = -1;

    EDDY_TRY(eddy__in_int32(k, 3, "num_elements", &count));
    return scatter_new(k, count);
}

static eddy_status run_scatter_into(eddy_kernel *k)
{
    const eddy__list *before;
    eddy_view indices;
    eddy__list *list;
    scatter s;
    int64_t missing;

    EDDY_TRY(eddy__in_list_of(k, 0, eddy__in_dtype(k, 1), &before));
    EDDY_TRY(eddy__in_vector(k, 2, "the indices", &indices));
    EDDY_TRY(begin_scatter(k, 1, &indices, &s));
    EDDY_TRY(want_compatible(k, &before->shape, &s.from.shape));
    missing = s.largest + 1 - before->count;
    EDDY_TRY(
        eddy__output_list_reusing(k, 0, 0, missing > 0 ? missing : 0, &list));
    if (missing > 0)
        eddy__list_resize(k->heap, list, s.largest + 1);
    return scatter_all(k, &s, list);
}

/* ---- splitting ---- */

static eddy_status check_lengths(eddy_kernel *k, const eddy_view *lengths,
                                 const eddy_tensor *from)
{
    const int64_t *length = lengths->data, limit = from->shape.dims[0];
    int64_t left = limit, i = 0;

    for (; i < lengths->count && length[i] >= 0 && length[i] <= left; i++)
        left -= length[i];
    if (i == lengths->count && left == 0)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                       "the lengths must be at least 0 and add up to the first "
                       "dimension of the tensor, whose shape is %s; the first "
                       "%" PRId64 " of %" PRId64 " add up to %" PRId64,
                       eddy__shape_print(&from->shape).text, i, lengths->count,
                       limit - left);
}

static eddy_status split_into(eddy_kernel *k, eddy__list *list, const rows *r,
                              const int64_t *lengths)
{
    eddy_shape shape = r->tensor->shape;
    int64_t at = 0;

    for (int64_t i = 0; i < list->count; i++) {
        eddy__value item = {.kind = EDDY__NONE};

        shape.dims[0] = lengths[i];
        EDDY_TRY(eddy__slice_item(k, r->tensor, at * r->step, &shape, &item));
        eddy__list_set(k->heap, list, i, item);
        at += lengths[i];
    }
    return EDDY_OK;
}

static eddy_status run_split(eddy_kernel *k)
{
    eddy_shape shape, rest;
    eddy_view lengths;
    eddy__list *list;
    rows r;

    EDDY_TRY(eddy__in_item_shape(k, 1, &shape));
    if (shape.rank == 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "the element shape is that of a scalar; the parts "
                           "of a tensor are at least vectors");
    EDDY_TRY(begin_rows(k, 0, &r));
    rest = eddy__shape_rest(&shape);
    EDDY_TRY(want_compatible(k, &rest, &r.shape));
    EDDY_TRY(eddy__in_vector(k, 2, "the lengths", &lengths));
    EDDY_TRY(check_lengths(k, &lengths, r.tensor));
    EDDY_TRY(eddy__output_list(k, 0, eddy__in_dtype(k, 0), &shape,
                               lengths.count, &list));
    return split_into(k, list, &r, lengths.data);
}

/* ---- a tensor from items of one shape ---- */

/* Items of a list: those of indices, or the first `n`. */
typedef struct picked {
    const eddy__list *list;
    const int32_t *indices; /* NULL: 0, 1, ... */
    int64_t n;
} picked;

/* NULL if it is not set. */
static const eddy__value *item_of(const picked *p, int64_t i)
{
    const eddy__value *item =
        eddy__list_get(p->list, p->indices ? p->indices[i] : i);

    return item->kind == EDDY__NONE ? NULL : item;
}

/* Merges the shapes of the items into `shape`, which must then be known. */
static eddy_status merge_items(eddy_kernel *k, const picked *p,
                               eddy_shape *shape)
{
    for (int64_t i = 0; i < p->n; i++) {
        const eddy__value *item = item_of(p, i);

        if (item)
            EDDY_TRY(eddy__tensor_list_merge_shape(k, eddy__item_shape(item),
                                                   shape));
    }
    if (eddy__shape_is_known(shape))
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_UNINITIALIZED,
                       "none of %" PRId64 " items is set, and the element "
                       "shape %s is not fully known",
                       p->n, eddy__shape_print(shape).text);
}

/* Makes output 0 the items, which have that shape, along a new dimension. */
static eddy_status put_together(eddy_kernel *k, const picked *p,
                                const eddy_shape *shape)
{
    const eddy_dtype dtype = (eddy_dtype)p->list->dtype;
    eddy_shape all;
    unsigned char *to;
    int64_t count;

    EDDY_TRY(eddy__prepend_dim(k, p->n, shape, &all));
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &all, &to));
    if (!eddy__shape_count(&all, 1, &count) || count == 0)
        return EDDY_OK;
    for (int64_t i = 0; i < p->n; i++)
        to +=
            eddy__put_item(to, item_of(p, i),
                           (size_t)(count / p->n) * eddy__element_size(dtype));
    return eddy__elements_done(k, 0);
}

typedef struct stacking {
    eddy_dtype dtype;
    int64_t count; /* how many items there must be; -1: any number */
} stacking;

static eddy_status run_stack(eddy_kernel *k)
{
    const stacking *s = eddy__state(k);
    picked p = {.indices = NULL};
    eddy_shape shape;

    EDDY_TRY(eddy__in_list_of(k, 0, s->dtype, &p.list));
    p.n = p.list->count;
    if (s->count != -1 && s->count != p.n)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                           "the list has %" PRId64 " items; num_elements says "
                           "that there are %" PRId64,
                           p.n, s->count);
    EDDY_TRY(eddy__in_list_shape(k, 1, p.list, &shape));
    EDDY_TRY(merge_items(k, &p, &shape));
    return put_together(k, &p, &shape);
}

static eddy_status run_gather(eddy_kernel *k)
{
    const eddy_dtype dtype = (eddy_dtype)k->node->out_dtypes[0];
    const eddy_view indices = eddy__in_view(k, 1);
    picked p = {.indices = indices.data, .n = indices.count};
    eddy_shape shape;

    EDDY_TRY(eddy__in_list_of(k, 0, dtype, &p.list));
    EDDY_TRY(eddy__in_list_shape(k, 2, p.list, &shape));
    for (int64_t i = 0; i < p.n; i++)
        if (p.indices[i] < 0 || p.indices[i] >= p.list->count)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                               "there is no item %" PRId32
                               " in a list with %" PRId64 " items",
                               p.indices[i], p.list->count);
    EDDY_TRY(merge_items(k, &p, &shape));
    return put_together(k, &p, &shape);
}

static eddy_status prepare_stack(eddy_infer *infer)
{
    stacking *s;

    EDDY_TRY(eddy__prepare_arranged(infer));
    s = eddy__prepare_state(infer, sizeof *s);
    if (!s)
        return EDDY_RESOURCE_EXHAUSTED;
    s->dtype = eddy__infer_type(infer, "element_dtype");
    s->count = eddy__infer_int(infer, "num_elements");
    return EDDY_OK;
}

/* ---- an item for each of many lists ---- */

/* Fails unless a list of the batch may have an item of that dtype and shape. */
static eddy_status check_batched(eddy_kernel *k, const eddy__list *list,
                                 eddy_dtype dtype, const eddy_shape *item)
{
    if ((eddy_dtype)list->dtype != dtype)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                           "a list of %s can't have an item of %s",
                           eddy_dtype_name((eddy_dtype)list->dtype),
                           eddy_dtype_name(dtype));
    return want_compatible(k, &list->shape, item);
}

/* Puts row `i` behind the items of a list. */
static eddy_status push_row(eddy_kernel *k, const rows *r, int64_t i,
                            eddy__list **list)
{
    eddy__value item = {.kind = EDDY__NONE};

    if (!eddy__list_own(k->heap, k->account, list, 1))
        return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                           "no memory for a list of %" PRId64 " items",
                           (*list)->count + 1);
    EDDY_TRY(eddy__slice_item(k, r->tensor, i * r->step, &r->shape, &item));
    eddy__list_push(*list, item);
    return EDDY_OK;
}

/* TensorFlow does not look at how many items the lists may have. */
static eddy_status run_push_batch(eddy_kernel *k)
{
    const eddy_shape *of = eddy__in_shape(k, 0);
    const eddy_tensor *lists;
    eddy__value own, *out = eddy__out(k, 0);
    rows r;

    EDDY_TRY(begin_rows(k, 1, &r));
    if (of->rank != 1 || of->dims[0] != r.tensor->shape.dims[0])
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "lists of shape %s can't get the rows of a tensor "
                           "of shape %s",
                           eddy__shape_print(of).text,
                           eddy__shape_print(&r.tensor->shape).text);
    lists = eddy__in(k, 0)->as.tensor;
    for (int64_t i = 0; i < lists->count; i++)
        EDDY_TRY(check_batched(k, ((const eddy__value *)lists->data)[i].as.list,
                               (eddy_dtype)r.tensor->dtype, &r.shape));
    own = eddy__in_take(k, 0);
    eddy__out_value(k, 0, &own);
    EDDY_TRY(eddy__own_lists(k, out));
    for (int64_t i = 0; i < out->as.tensor->count; i++)
        EDDY_TRY(push_row(k, &r, i,
                          &((eddy__value *)out->as.tensor->data)[i].as.list));
    return EDDY_OK;
}

/* ---- lists behind lists ---- */

/* Puts the items of `from` behind those of a list. */
static eddy_status append(eddy_kernel *k, eddy__list **list,
                          const eddy__list *from)
{
    const eddy_dtype *dtype = eddy__state(k);
    const int64_t n = from->count;

    if ((eddy_dtype)(*list)->dtype != *dtype ||
        (eddy_dtype)from->dtype != *dtype)
        return eddy__kfail(
            k, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
            "lists of %s and of %s; element_dtype says that they are of %s",
            eddy_dtype_name((eddy_dtype)(*list)->dtype),
            eddy_dtype_name((eddy_dtype)from->dtype), eddy_dtype_name(*dtype));
    if (!eddy__shape_equal(&(*list)->shape, &from->shape))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "the element shapes of the lists differ: %s and %s",
                           eddy__shape_print(&(*list)->shape).text,
                           eddy__shape_print(&from->shape).text);
    if (!eddy__list_own(k->heap, k->account, list, n))
        return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                           "no memory for a list of %" PRId64 " items",
                           (*list)->count + n);
    for (int64_t i = 0; i < n; i++)
        eddy__list_push(*list, eddy__value_copy(eddy__list_get(from, i)));
    return EDDY_OK;
}

/* Two lists, or tensors of lists of one shape. */
static eddy_status run_join(eddy_kernel *k)
{
    const eddy_shape *a = eddy__in_shape(k, 0), *b = eddy__in_shape(k, 1);
    const eddy__value *from = eddy__in(k, 1), *others;
    eddy__value own, *out = eddy__out(k, 0);

    if (!eddy__shape_equal(a, b))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "lists of shape %s have none of shape %s behind "
                           "them",
                           eddy__shape_print(a).text,
                           eddy__shape_print(b).text);
    own = eddy__in_take(k, 0);
    eddy__out_value(k, 0, &own);
    if (!eddy__value_is_tensor(out))
        return append(k, &out->as.list, from->as.list);
    EDDY_TRY(eddy__own_lists(k, out));
    others = from->as.tensor->data;
    for (int64_t i = 0; i < out->as.tensor->count; i++)
        EDDY_TRY(append(k, &((eddy__value *)out->as.tensor->data)[i].as.list,
                        others[i].as.list));
    return EDDY_OK;
}

/* ---- shapes ---- */

static eddy_status infer_join(eddy_infer *infer)
{
    const eddy_shape *a = eddy_infer_input(infer, 0);
    const eddy_shape *b = eddy_infer_input(infer, 1);
    eddy_shape merged;

    if (!eddy__shape_merge(a, b, &merged))
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "lists of shape %s have none of shape %s behind "
                               "them",
                               eddy__shape_print(a).text,
                               eddy__shape_print(b).text);
    eddy_infer_set_output(infer, 0, &merged);
    return EDDY_OK;
}

static eddy_status infer_push_batch(eddy_infer *infer)
{
    const eddy_shape *lists = eddy_infer_input(infer, 0);
    const eddy_shape *tensor = eddy_infer_input(infer, 1);
    eddy_shape batch = eddy__shape_of_rank(1);

    EDDY_TRY(eddy__infer_want_rank(infer, 0, 1));
    if (tensor->rank > 0)
        batch.dims[0] = tensor->dims[0];
    if (tensor->rank == 0 || !eddy__shape_merge(&batch, lists, &batch))
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "lists of shape %s can't get the rows of a "
                               "tensor of shape %s",
                               eddy__shape_print(lists).text,
                               eddy__shape_print(tensor).text);
    eddy_infer_set_output(infer, 0, &batch);
    return EDDY_OK;
}

static eddy_status infer_stack(eddy_infer *infer)
{
    const eddy_shape shape = eddy__infer_item_shape(infer, 1);
    const int64_t count = eddy__infer_int(infer, "num_elements");

    eddy__infer_items(infer, count >= 0 ? count : -1, &shape);
    return EDDY_OK;
}

static eddy_status infer_gather(eddy_infer *infer)
{
    const eddy_shape *indices = eddy_infer_input(infer, 1);
    const eddy_shape shape = eddy__infer_item_shape(infer, 2);

    eddy__infer_items(infer, indices->rank == 1 ? indices->dims[0] : -1,
                      &shape);
    return EDDY_OK;
}

/* The dtype of the items, which must have elements of their own. */
static eddy_status prepare_parts(eddy_infer *infer)
{
    const eddy_dtype dtype = eddy__infer_type(infer, "element_dtype");

    if (eddy__has_tensors(dtype))
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_UNIMPLEMENTED, EDDY_E_NO_KERNEL,
                           "there is no kernel for %s", eddy_dtype_name(dtype));
}

#define SHAPED "element_dtype: type, shape_type: index"

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("TensorListFromTensor",
                 .inputs = "tensor: element_dtype, element_shape: shape_type",
                 .outputs = "output_handle: variant", .attrs = SHAPED,
                 .infer = eddy__infer_scalar, .kernel = run_from_tensor,
                 .prepare = prepare_parts,
                 .doc = "A list of the rows of a tensor."),
    EDDY__OP_ROW(
        "TensorListScatter",
        .inputs =
            "tensor: element_dtype, indices: int32, element_shape: shape_type",
        .outputs = "output_handle: variant", .attrs = SHAPED,
        .infer = eddy__infer_scalar, .kernel = run_scatter,
        .prepare = prepare_parts,
        .doc = "A list with the rows of a tensor at `indices`."),
    EDDY__OP_ROW("TensorListScatterV2",
                 .inputs = "tensor: element_dtype, indices: int32, "
                           "element_shape: shape_type, num_elements: int32",
                 .outputs = "output_handle: variant", .attrs = SHAPED,
                 .infer = eddy__infer_scalar, .kernel = run_scatter_counted,
                 .prepare = prepare_parts,
                 .doc = "A list of `num_elements` items, with the rows of a "
                        "tensor at `indices`."),
    EDDY__OP_ROW(
        "TensorListScatterIntoExistingList",
        .inputs =
            "input_handle: variant, tensor: element_dtype, indices: int32",
        .outputs = "output_handle: variant", .attrs = "element_dtype: type",
        .infer = eddy__infer_scalar, .kernel = run_scatter_into,
        .prepare = prepare_parts,
        .doc = "The list with the rows of a tensor at `indices`."),
    EDDY__OP_ROW(
        "TensorListSplit",
        .inputs =
            "tensor: element_dtype, element_shape: shape_type, lengths: int64",
        .outputs = "output_handle: variant", .attrs = SHAPED,
        .infer = eddy__infer_scalar, .kernel = run_split,
        .prepare = prepare_parts,
        .doc = "A list of parts of a tensor, of these lengths."),
    EDDY__OP_ROW("TensorListConcatLists",
                 .inputs = "input_a: variant, input_b: variant",
                 .outputs = "output: variant", .attrs = "element_dtype: type",
                 .infer = infer_join, .kernel = run_join,
                 .prepare = eddy__prepare_list_dtype, .flags = EDDY_OP_CHEAP,
                 .doc = "The items of both lists, or of each two of tensors "
                        "of lists."),
    EDDY__OP_ROW(
        "TensorListPushBackBatch",
        .inputs = "input_handles: variant, tensor: element_dtype",
        .outputs = "output_handles: variant", .attrs = "element_dtype: type",
        .infer = infer_push_batch, .kernel = run_push_batch,
        .prepare = prepare_parts,
        .doc = "The lists, each with a row of the tensor behind its items."),
    EDDY__OP_ROW("TensorListStack",
                 .inputs = "input_handle: variant, element_shape: int32",
                 .outputs = "tensor: element_dtype",
                 .attrs = "element_dtype: type, num_elements: int = -1",
                 .infer = infer_stack, .kernel = run_stack,
                 .prepare = prepare_stack,
                 .doc = "All items along a new first dimension."),
    EDDY__OP_ROW(
        "TensorListGather",
        .inputs = "input_handle: variant, indices: int32, element_shape: int32",
        .outputs = "values: element_dtype", .attrs = "element_dtype: type",
        .infer = infer_gather, .kernel = run_gather,
        .prepare = eddy__prepare_arranged,
        .doc = "The items at `indices` along a new first dimension."),
};

const eddy__op_table eddy__tensor_list_bulk_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};
