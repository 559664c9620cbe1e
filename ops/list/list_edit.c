/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Items put into a list and taken out of it anywhere, as ONNX's sequences have
 * it.  The items behind move, which costs as much as there are; a list that
 * nobody else refers to is changed in place.
 */
#include "ops/list/tensor_list.h"

#include "ops/ops.h"

#include <inttypes.h>

/* Input 1 as a place from 0 to `most`. */
static eddy_status in_place(eddy_kernel *k, int64_t most, int64_t *out_place)
{
    const eddy_view view = eddy__in_view(k, 1);

    if (view.rank != 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "the place has shape %s, a scalar is wanted",
                           eddy__shape_print(eddy__in_shape(k, 1)).text);
    *out_place = eddy__view_index(&view, 0);
    if (*out_place >= 0 && *out_place <= most)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                       "place %" PRId64 " of a list, where 0 to %" PRId64
                       " are places",
                       *out_place, most);
}

static eddy_status run_insert(eddy_kernel *k)
{
    const eddy_dtype dtype = (eddy_dtype)eddy__in(k, 2)->dtype;
    const eddy__list *list;
    eddy__list *own;
    int64_t place = 0;
    eddy__value item;

    EDDY_TRY(eddy__in_list_of(k, 0, dtype, &list));
    EDDY_TRY(in_place(k, list->count, &place));
    EDDY_TRY(eddy__output_list_reusing(k, 0, 0, 1, &own));
    item = eddy__in_take(k, 2);
    eddy__list_push(own, item);
    for (int64_t i = own->count - 1; i > place; i--)
        own->items[i] = own->items[i - 1];
    own->items[place] = item;
    return EDDY_OK;
}

static eddy_status run_erase(eddy_kernel *k)
{
    const eddy__list *list;
    eddy__list *own;
    eddy__value gone;
    int64_t place = 0;

    EDDY_TRY(eddy__in_any_list(k, 0, &list));
    EDDY_TRY(in_place(k, list->count - 1, &place));
    EDDY_TRY(eddy__output_list_reusing(k, 0, 0, 0, &own));
    gone = own->items[place];
    for (int64_t i = place; i + 1 < own->count; i++)
        own->items[i] = own->items[i + 1];
    own->items[own->count - 1] = gone;
    eddy__list_resize(k->heap, own, own->count - 1);
    return EDDY_OK;
}

/* An item that was never written, which a read takes for zeros. */
static eddy_status run_unset(eddy_kernel *k)
{
    const eddy__list *list;
    eddy__list *own;
    int64_t place = 0;

    EDDY_TRY(eddy__in_any_list(k, 0, &list));
    EDDY_TRY(in_place(k, list->count, &place));
    EDDY_TRY(eddy__output_list_reusing(k, 0, 0, 1, &own));
    eddy__list_resize(k->heap, own, own->count + 1);
    for (int64_t i = own->count - 1; i > place; i--)
        own->items[i] = own->items[i - 1];
    own->items[place] = (eddy__value){.kind = EDDY__NONE};
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW_OF(
        "_ListInsert", "eddy; as ONNX's sequences",
        .inputs = "input_handle: variant, place: Tplace, item: element_dtype",
        .outputs = "output_handle: variant",
        .attrs = "element_dtype: type, Tplace: index",
        .infer = eddy__infer_scalar, .kernel = run_insert,
        .flags = EDDY_OP_CHEAP,
        .doc = "The list with one more item, at `place`."),
    EDDY__OP_ROW_OF("_ListErase", "eddy; as ONNX's sequences",
                    .inputs = "input_handle: variant, place: Tplace",
                    .outputs = "output_handle: variant",
                    .attrs = "Tplace: index", .infer = eddy__infer_scalar,
                    .kernel = run_erase, .flags = EDDY_OP_CHEAP,
                    .doc = "The list without the item at `place`."),
    EDDY__OP_ROW_OF("_ListUnset", "eddy; the gradient of _ListErase",
                    .inputs = "input_handle: variant, place: Tplace",
                    .outputs = "output_handle: variant",
                    .attrs = "Tplace: index", .infer = eddy__infer_scalar,
                    .kernel = run_unset, .flags = EDDY_OP_CHEAP,
                    .doc = "The list with one more item, at `place`, that was "
                           "never written."),
};

const eddy__op_table eddy__list_edit_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};
