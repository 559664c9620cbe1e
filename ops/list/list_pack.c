/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list, or an optional value that holds a tensor or a list, as tensors of
 * which there are as many whatever is in it, so that it can be fetched: the
 * elements of all its items one after the other, and their shapes.
 */
#include "ops/list/tensor_list.h"
#include "ops/ops.h"

#include <inttypes.h>

typedef struct pack {
    const eddy__list *list;
    eddy_dtype dtype;
    bool has_value;
    int64_t n_elements, n_dims;
} pack;

/* What is to be packed; an optional value's list stands for that value. */
static eddy_status open_pack(eddy_kernel *k, pack *p)
{
    const eddy__list *list = eddy__in_list(k, 0);

    *p = (pack){.list = list,
                .dtype = (eddy_dtype)k->node->out_dtypes[0],
                .has_value = true};
    if (!eddy__value_is_list(eddy__in(k, 0)) ||
        (eddy__list_is_special(list) && list->dtype != EDDY__OPTIONAL))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                           "input 0 is no list and no optional value");
    if (list->dtype == EDDY__OPTIONAL) {
        p->has_value = list->count > 0;
        if (list->count > 1)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                               "the optional has %" PRId64
                               " components; one is wanted",
                               list->count);
        if (p->has_value && eddy__value_is_list(eddy__list_get(list, 0)))
            p->list = eddy__list_get(list, 0)->as.list;
    }
    return EDDY_OK;
}

static eddy_status count_items(eddy_kernel *k, pack *p)
{
    for (int64_t i = 0; i < p->list->count; i++) {
        const eddy__value *item = eddy__list_get(p->list, i);
        const eddy_shape *shape = eddy__item_shape(item);
        int64_t n = 0;

        if (item->kind == EDDY__NONE)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_UNINITIALIZED,
                               "item %" PRId64 " is not set", i);
        if (item->dtype != p->dtype)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                               "item %" PRId64 " is %s; %s is wanted", i,
                               eddy_dtype_name((eddy_dtype)item->dtype),
                               eddy_dtype_name(p->dtype));
        if (!eddy__shape_count(shape, 1, &n) ||
            __builtin_add_overflow(p->n_elements, n, &p->n_elements))
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                               "the size of all items overflows");
        p->n_dims += shape->rank;
    }
    return EDDY_OK;
}

static eddy_status put_shapes(eddy_kernel *k, const pack *p)
{
    const eddy_shape of_dims = eddy__shape_vector(p->n_dims);
    const eddy_shape of_ranks = eddy__shape_vector(p->list->count);
    void *dims, *ranks;
    int64_t *dim;

    EDDY_TRY(eddy__output(k, 1, EDDY_INT64, &of_dims, &dims));
    EDDY_TRY(eddy__output(k, 2, EDDY_INT32, &of_ranks, &ranks));
    dim = dims;
    for (int64_t i = 0; i < p->list->count; i++) {
        const eddy_shape *shape = eddy__item_shape(eddy__list_get(p->list, i));

        ((int32_t *)ranks)[i] = shape->rank;
        for (int32_t d = 0; d < shape->rank; d++)
            *dim++ = shape->dims[d];
    }
    return EDDY_OK;
}

static eddy_status put_items(eddy_kernel *k, const pack *p)
{
    const size_t size = eddy__element_size(p->dtype);
    const eddy_shape all = eddy__shape_vector(p->n_elements);
    unsigned char *to;

    EDDY_TRY(eddy__output_elements(k, 0, p->dtype, &all, &to));
    for (int64_t i = 0; i < p->list->count; i++) {
        const eddy__value *item = eddy__list_get(p->list, i);
        int64_t n = 0;

        if (eddy__shape_count(eddy__item_shape(item), 1, &n) && n > 0)
            to += eddy__put_item(to, item, (size_t)n * size);
    }
    return eddy__elements_done(k, 0);
}

static eddy_status run_pack(eddy_kernel *k)
{
    pack p = {.list = eddy__in_list(k, 0)};

    EDDY_TRY(open_pack(k, &p));
    EDDY_TRY(count_items(k, &p));
    EDDY_TRY(put_shapes(k, &p));
    eddy__out_scalar(eddy__out(k, 3), EDDY_BOOL, p.has_value);
    return put_items(k, &p);
}

static eddy_status infer_pack(eddy_infer *infer)
{
    const eddy_shape vector = eddy__shape_of_rank(1);
    const eddy_shape scalar = eddy__shape_of_rank(0);

    for (uint32_t i = 0; i < 3; i++)
        eddy_infer_set_output(infer, i, &vector);
    eddy_infer_set_output(infer, 3, &scalar);
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW_OF("_ListPack", "eddy; so that a sequence can be fetched",
                    .inputs = "input_handle: variant",
                    .outputs = "elements: element_dtype, dims: int64, "
                               "ranks: int32, has_value: bool",
                    .attrs = "element_dtype: type", .infer = infer_pack,
                    .kernel = run_pack, .prepare = eddy__prepare_movable,
                    .doc = "The elements of all items of a list or an optional "
                           "value, and the shapes of the items."),
};

const eddy__op_table eddy__list_pack_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};
