/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorLists item by item: making, reading, writing, appending.
 *
 * All of these are cheap, so that they run on the driver's thread: an item may
 * be a handle, which only the driver drops.
 */
#include "ops/list/tensor_list.h"

#include "ops/ops.h"

#include <inttypes.h>

/* ---- lists and shapes as inputs ---- */

const char *eddy__list_kind(const eddy__list *list)
{
    switch ((unsigned)list->dtype) {
    case EDDY__OPTIONAL:
        return "an optional value";
    case EDDY__MAP:
        return "a map";
    case EDDY__LOCK:
        return "a lock";
    case EDDY__RAGGED:
        return "a ragged tensor";
    default:
        return "a list";
    }
}

eddy_status eddy__in_any_list(eddy_kernel *k, uint32_t i,
                              const eddy__list **out_list)
{
    *out_list = eddy__in_list(k, i);
    if (!eddy__value_is_list(eddy__in(k, i)))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "input %u must be a list, but it has shape %s",
                           (unsigned)i,
                           eddy__shape_print(eddy__in_shape(k, i)).text);
    if (!eddy__list_is_special(*out_list))
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                       "input %u is %s; a list is wanted", (unsigned)i,
                       eddy__list_kind(*out_list));
}

eddy_status eddy__in_list_of(eddy_kernel *k, uint32_t i, eddy_dtype dtype,
                             const eddy__list **out_list)
{
    EDDY_TRY(eddy__in_any_list(k, i, out_list));
    if ((*out_list)->dtype == dtype)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                       "input %u is a list of %s; one of %s is wanted",
                       (unsigned)i,
                       eddy_dtype_name((eddy_dtype)(*out_list)->dtype),
                       eddy_dtype_name(dtype));
}

eddy_status eddy__in_item_shape(eddy_kernel *k, uint32_t i,
                                eddy_shape *out_shape)
{
    const eddy_view view = eddy__in_view(k, i);

    *out_shape = eddy__shape_unknown();
    if (view.rank > 0)
        return eddy__shape_from_view(k, &view, -1, out_shape);
    if (eddy__view_index(&view, 0) == -1)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "a shape is given as the scalar %" PRId64
                       "; the only one that is a shape is -1, for any",
                       eddy__view_index(&view, 0));
}

eddy_status eddy__tensor_list_merge_shape(eddy_kernel *k,
                                          const eddy_shape *shape,
                                          eddy_shape *merged)
{
    if (eddy__shape_equal(merged, shape) ||
        eddy__shape_merge(merged, shape, merged))
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "an item of shape %s is not compatible with the element "
                       "shape %s",
                       eddy__shape_print(shape).text,
                       eddy__shape_print(merged).text);
}

eddy_status eddy__in_list_shape(eddy_kernel *k, uint32_t i,
                                const eddy__list *list, eddy_shape *out_shape)
{
    eddy_shape shape;

    EDDY_TRY(eddy__in_item_shape(k, i, &shape));
    if (eddy__shape_merge(&shape, &list->shape, out_shape))
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "the element shape %s is not compatible with that of "
                       "the list, %s",
                       eddy__shape_print(&shape).text,
                       eddy__shape_print(&list->shape).text);
}

eddy_shape eddy__infer_item_shape(const eddy_infer *infer, uint32_t i)
{
    /* A scalar can only be -1. */
    if (eddy_infer_input(infer, i)->rank == 0)
        return eddy__shape_unknown();
    return eddy__infer_shape_argument(infer, i);
}

void eddy__infer_items(eddy_infer *infer, int64_t dim, const eddy_shape *shape)
{
    eddy_shape items;

    if (eddy__shape_prepend(dim, shape, &items))
        eddy_infer_set_output(infer, 0, &items);
}

/* ---- making lists ---- */

static eddy_status run_empty(eddy_kernel *k)
{
    const eddy_dtype *dtype = eddy__state(k);
    eddy_shape shape;
    eddy__list *list;
    int32_t max_count = 0;

    EDDY_TRY(eddy__in_int32(k, 1, "max_num_elements", &max_count));
    EDDY_TRY(eddy__in_item_shape(k, 0, &shape));
    EDDY_TRY(eddy__output_list(k, 0, *dtype, &shape, 0, &list));
    if (max_count >= 0)
        list->max_count = max_count;
    return EDDY_OK;
}

static eddy_status fail_count(eddy_kernel *k, const char *what, int32_t count)
{
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                       "%s is %" PRId32 ", it must be at least 0", what, count);
}

static eddy_status run_reserve(eddy_kernel *k)
{
    const eddy_dtype *dtype = eddy__state(k);
    eddy_shape shape;
    eddy__list *list;
    int32_t count = 0;

    EDDY_TRY(eddy__in_item_shape(k, 0, &shape));
    EDDY_TRY(eddy__in_int32(k, 1, "num_elements", &count));
    if (count < 0)
        return fail_count(k, "num_elements", count);
    return eddy__output_list(k, 0, *dtype, &shape, count, &list);
}

eddy_status eddy__prepare_list_dtype(eddy_infer *infer)
{
    eddy_dtype *dtype = eddy__prepare_state(infer, sizeof *dtype);

    if (!dtype)
        return EDDY_RESOURCE_EXHAUSTED;
    *dtype = eddy__infer_type(infer, "element_dtype");
    return EDDY_OK;
}

/* ---- questions ---- */

static eddy_status run_length(eddy_kernel *k)
{
    const eddy__list *list;

    EDDY_TRY(eddy__in_any_list(k, 0, &list));
    eddy__out_scalar(eddy__out(k, 0), EDDY_INT32, (uint32_t)list->count);
    return EDDY_OK;
}

static eddy_status run_element_shape(eddy_kernel *k)
{
    const eddy_dtype dtype = (eddy_dtype)k->node->out_dtypes[0];
    const eddy__list *list;
    eddy_shape of;
    void *out;

    EDDY_TRY(eddy__in_any_list(k, 0, &list));
    if (list->shape.rank < 0) {
        eddy__out_scalar(eddy__out(k, 0), dtype,
                         dtype == EDDY_INT32 ? UINT32_MAX : UINT64_MAX);
        return EDDY_OK;
    }
    of = eddy__shape_vector(list->shape.rank);
    EDDY_TRY(eddy__output(k, 0, dtype, &of, &out));
    for (int32_t d = 0; d < list->shape.rank; d++) {
        if (dtype == EDDY_INT32)
            ((int32_t *)out)[d] = (int32_t)list->shape.dims[d];
        else
            ((int64_t *)out)[d] = list->shape.dims[d];
    }
    return EDDY_OK;
}

/* ---- reading ---- */

/* The shape of an unset item: what the argument, the list and, if those leave
 * it open, the other items say. */
static eddy_status zero_shape(eddy_kernel *k, uint32_t i,
                              const eddy__list *list, eddy_shape *out_shape)
{
    EDDY_TRY(eddy__in_list_shape(k, i, list, out_shape));
    for (int64_t j = 0; j < list->count && !eddy__shape_is_known(out_shape);
         j++) {
        const eddy__value *item = eddy__list_get(list, j);

        if (item->kind != EDDY__NONE)
            EDDY_TRY(eddy__tensor_list_merge_shape(k, eddy__item_shape(item),
                                                   out_shape));
    }
    if (eddy__shape_is_known(out_shape))
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_UNINITIALIZED,
                       "an item that was never set is read, no other item is "
                       "set, and the element shape %s is not fully known",
                       eddy__shape_print(out_shape).text);
}

/* Checks the shape of an item that is set against what input `i` states, which
 * the plan relies on. */
static eddy_status check_item(eddy_kernel *k, uint32_t i,
                              const eddy__value *item)
{
    eddy_shape shape;

    EDDY_TRY(eddy__in_item_shape(k, i, &shape));
    if (eddy__shape_compatible(&shape, eddy__item_shape(item)))
        return EDDY_OK;
    return eddy__tensor_list_merge_shape(k, eddy__item_shape(item), &shape);
}

/* The value for an item that is not set, of a shape as zero_shape says. */
static eddy_status make_zeros(eddy_kernel *k, uint32_t i,
                              const eddy__list *list, eddy__value *out)
{
    eddy_shape shape;

    EDDY_TRY(zero_shape(k, i, list, &shape));
    return eddy__zero_item(k, (eddy_dtype)list->dtype, &shape, out);
}

static eddy_status fail_index(eddy_kernel *k, int32_t index, int64_t count)
{
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                       "there is no item %" PRId32 " in a list with %" PRId64
                       " items",
                       index, count);
}

static eddy_status run_get(eddy_kernel *k)
{
    const eddy__value *item;
    const eddy__list *list;
    eddy__value value;
    int32_t index = 0;

    EDDY_TRY(eddy__in_list_of(k, 0, (eddy_dtype)k->node->out_dtypes[0], &list));
    EDDY_TRY(eddy__in_int32(k, 1, "the index", &index));
    if (index < 0 || index >= list->count)
        return fail_index(k, index, list->count);
    item = eddy__list_get(list, index);
    if (item->kind == EDDY__NONE) {
        EDDY_TRY(make_zeros(k, 2, list, &value));
    } else {
        EDDY_TRY(check_item(k, 2, item));
        value = eddy__value_copy(item);
    }
    eddy__out_value(k, 0, &value);
    return EDDY_OK;
}

static eddy_status run_pop(eddy_kernel *k)
{
    const eddy__value *item;
    const eddy__list *list;
    eddy__value value;
    eddy__list *own;

    EDDY_TRY(eddy__in_list_of(k, 0, (eddy_dtype)k->node->out_dtypes[1], &list));
    if (list->count == 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_EMPTY,
                           "the list is empty, so nothing can be popped");
    item = eddy__list_get(list, list->count - 1);
    if (item->kind == EDDY__NONE) {
        EDDY_TRY(make_zeros(k, 1, list, &value));
        eddy__out_value(k, 1, &value);
    } else {
        EDDY_TRY(check_item(k, 1, item));
    }
    EDDY_TRY(eddy__output_list_reusing(k, 0, 0, 0, &own));
    value = eddy__list_pop(own);
    if (value.kind != EDDY__NONE)
        eddy__out_value(k, 1, &value);
    return EDDY_OK;
}

/* ---- writing ---- */

/* Input 0 as a list that input `i` may become an item of. */
static eddy_status begin_write(eddy_kernel *k, uint32_t i,
                               const eddy__list **out_list)
{
    const eddy_shape *shape = eddy__in_shape(k, i);

    EDDY_TRY(eddy__in_list_of(k, 0, eddy__in_dtype(k, i), out_list));
    if (eddy__shape_compatible(&(*out_list)->shape, shape))
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "an item of shape %s can't be put into a list of items "
                       "of shape %s",
                       eddy__shape_print(shape).text,
                       eddy__shape_print(&(*out_list)->shape).text);
}

/* Sets item `index`; the list grows to hold it. */
static eddy_status set_item(eddy_kernel *k, const eddy__list *list,
                            int64_t index)
{
    const int64_t missing = index + 1 - list->count;
    eddy__list *own;

    EDDY_TRY(
        eddy__output_list_reusing(k, 0, 0, missing > 0 ? missing : 0, &own));
    if (missing > 0)
        eddy__list_resize(k->heap, own, index + 1);
    eddy__list_set(k->heap, own, index, eddy__in_take(k, 2));
    return EDDY_OK;
}

static eddy_status run_set(eddy_kernel *k)
{
    const eddy__list *list;
    int32_t index = 0;

    EDDY_TRY(begin_write(k, 2, &list));
    EDDY_TRY(eddy__in_int32(k, 1, "the index", &index));
    if (index < 0 || index >= list->count)
        return fail_index(k, index, list->count);
    return set_item(k, list, index);
}

static eddy_status run_set_resizing(eddy_kernel *k)
{
    const eddy__list *list;
    int32_t index = 0;

    EDDY_TRY(begin_write(k, 2, &list));
    EDDY_TRY(eddy__in_int32(k, 1, "the index", &index));
    if (index < 0)
        return fail_index(k, index, list->count);
    return set_item(k, list, index);
}

static eddy_status prepare_set(eddy_infer *infer)
{
    eddy_infer_set_kernel(
        infer, eddy__infer_bool(infer, "resize_if_index_out_of_bounds")
                   ? run_set_resizing
                   : run_set);
    return EDDY_OK;
}

static eddy_status run_push(eddy_kernel *k)
{
    const eddy__list *list;
    eddy__list *own;

    EDDY_TRY(begin_write(k, 1, &list));
    if (list->count >= list->max_count)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_FULL,
                           "an item is pushed onto a list that has %" PRId64
                           " and may have no more",
                           list->count);
    EDDY_TRY(eddy__output_list_reusing(k, 0, 0, 1, &own));
    eddy__list_push(own, eddy__in_take(k, 1));
    return EDDY_OK;
}

/* ---- whole lists ---- */

static eddy_status run_resize(eddy_kernel *k)
{
    const eddy__list *list;
    eddy__list *own;
    int32_t count = 0;

    EDDY_TRY(eddy__in_any_list(k, 0, &list));
    EDDY_TRY(eddy__in_int32(k, 1, "the size", &count));
    if (count < 0)
        return fail_count(k, "the size", count);
    EDDY_TRY(eddy__output_list_reusing(
        k, 0, 0, count > list->count ? count - list->count : 0, &own));
    eddy__list_resize(k->heap, own, count);
    return EDDY_OK;
}

/* ---- shapes ---- */

static eddy_status infer_get(eddy_infer *infer)
{
    const eddy_shape shape = eddy__infer_item_shape(infer, 2);

    EDDY_TRY(eddy__infer_want_rank(infer, 1, 0));
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static eddy_status infer_pop(eddy_infer *infer)
{
    const eddy_shape scalar = eddy__shape_scalar();
    const eddy_shape shape = eddy__infer_item_shape(infer, 1);

    eddy_infer_set_output(infer, 0, &scalar);
    eddy_infer_set_output(infer, 1, &shape);
    return EDDY_OK;
}

/* Input 1 is a number. */
static eddy_status infer_counted(eddy_infer *infer)
{
    EDDY_TRY(eddy__infer_want_rank(infer, 1, 0));
    return eddy__infer_scalar(infer);
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW(
        "EmptyTensorList",
        .inputs = "element_shape: shape_type, max_num_elements: int32",
        .outputs = "handle: variant",
        .attrs = "element_dtype: type, shape_type: index",
        .infer = infer_counted, .kernel = run_empty,
        .prepare = eddy__prepare_list_dtype,
        .flags = EDDY_OP_CHEAP | EDDY_OP_NOT_DIFFERENTIABLE,
        .doc =
            "A list without items, to which at most so many may be appended."),
    EDDY__OP_ROW("TensorListReserve",
                 .inputs = "element_shape: shape_type, num_elements: int32",
                 .outputs = "handle: variant",
                 .attrs = "element_dtype: type, shape_type: index",
                 .infer = infer_counted, .kernel = run_reserve,
                 .prepare = eddy__prepare_list_dtype,
                 .flags = EDDY_OP_CHEAP | EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "A list of `num_elements` items that are not set."),
    EDDY__OP_ROW("TensorListLength", .inputs = "input_handle: variant",
                 .outputs = "length: int32", .infer = eddy__infer_scalar,
                 .kernel = run_length,
                 .flags = EDDY_OP_CHEAP | EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "The number of items."),
    EDDY__OP_ROW("TensorListElementShape", .inputs = "input_handle: variant",
                 .outputs = "element_shape: shape_type",
                 .attrs = "shape_type: index", .kernel = run_element_shape,
                 .flags = EDDY_OP_CHEAP | EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "What is said of the items' shape; -1 if nothing is."),
    EDDY__OP_ROW(
        "TensorListGetItem",
        .inputs = "input_handle: variant, index: int32, element_shape: Tshape",
        .outputs = "item: element_dtype",
        .attrs = "element_dtype: type, Tshape: index = int32",
        .infer = infer_get, .kernel = run_get, .flags = EDDY_OP_CHEAP,
        .doc = "The item at `index`; zeros if it is not set."),
    EDDY__OP_ROW(
        "TensorListSetItem",
        .inputs = "input_handle: variant, index: int32, item: element_dtype",
        .outputs = "output_handle: variant",
        .attrs =
            "element_dtype: type, resize_if_index_out_of_bounds: bool = false",
        .infer = infer_counted, .prepare = prepare_set, .flags = EDDY_OP_CHEAP,
        .doc = "The list with another item at `index`."),
    EDDY__OP_ROW("TensorListPushBack",
                 .inputs = "input_handle: variant, tensor: element_dtype",
                 .outputs = "output_handle: variant",
                 .attrs = "element_dtype: type", .infer = eddy__infer_scalar,
                 .kernel = run_push, .flags = EDDY_OP_CHEAP,
                 .doc = "The list with one more item at its end."),
    EDDY__OP_ROW("TensorListPopBack",
                 .inputs = "input_handle: variant, element_shape: int32",
                 .outputs = "output_handle: variant, tensor: element_dtype",
                 .attrs = "element_dtype: type", .infer = infer_pop,
                 .kernel = run_pop, .flags = EDDY_OP_CHEAP,
                 .doc = "The list without its last item, and that item."),
    EDDY__OP_ROW(
        "TensorListResize", .inputs = "input_handle: variant, size: int32",
        .outputs = "output_handle: variant", .infer = infer_counted,
        .kernel = run_resize, .flags = EDDY_OP_CHEAP,
        .doc = "The list cut to `size` items, or with more that are not set."),
};

const eddy__op_table eddy__tensor_list_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};
