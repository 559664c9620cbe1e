/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorListConcat and TensorListConcatV2: the items of a list, which may
 * differ in their first dimension, along it.
 *
 * How long an item that is not set is there, the argument leading_dims says, or
 * else the first dimension that the element shape or all other items have.
 */
#include "ops/list/tensor_list.h"
#include "ops/ops.h"

#include <inttypes.h>

typedef struct concat {
    const eddy__list *list;
    eddy_dtype dtype;
    eddy_shape rest;      /* of the items, but for the first dimension */
    int64_t first;        /* the first dimension of all items; -1: unknown */
    const int64_t *leads; /* leading_dims */
    int64_t n_leads;
    bool has_leads;
} concat;

/* The element shape that the node's attribute states. */
typedef struct parts {
    eddy_dtype dtype;
    eddy_shape shape;
} parts;

/* Takes the element shape apart. */
static eddy_status take_shape(eddy_kernel *k, concat *c,
                              const eddy_shape *shape)
{
    if (shape->rank == 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "the element shape is that of a scalar; only "
                           "vectors and more can be concatenated");
    c->rest = eddy__shape_rest(shape);
    c->first = shape->rank > 0 ? shape->dims[0] : -1;
    if (c->list->count > 0 || eddy__shape_is_known(&c->rest))
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "the list is empty, and the element shape %s is not "
                       "known but for the first dimension",
                       eddy__shape_print(shape).text);
}

/* Holds the shape of item `i` against those before it. */
static eddy_status check_item(eddy_kernel *k, concat *c, int64_t i,
                              const eddy_shape *shape)
{
    eddy_shape rest;

    if (shape->rank == 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "item %" PRId64 " is a scalar; only vectors and "
                           "more can be concatenated",
                           i);
    rest = eddy__shape_rest(shape);
    EDDY_TRY(eddy__tensor_list_merge_shape(k, &rest, &c->rest));
    if (c->first == -1 || c->first == shape->dims[0])
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "the first dimension of the element shape is %" PRId64
                       ", but item %" PRId64 " has shape %s",
                       c->first, i, eddy__shape_print(shape).text);
}

/* Checks all shapes, and finds the first dimension if all items have one. */
static eddy_status check_items(eddy_kernel *k, concat *c)
{
    int64_t first = -1;
    bool is_common = true;

    for (int64_t i = 0; i < c->list->count; i++) {
        const eddy__value *item = eddy__list_get(c->list, i);
        const eddy_shape *shape = eddy__item_shape(item);

        if (item->kind == EDDY__NONE)
            continue;
        EDDY_TRY(check_item(k, c, i, shape));
        is_common = is_common && (first == -1 || first == shape->dims[0]);
        first = shape->dims[0];
    }
    if (c->first == -1 && is_common)
        c->first = first;
    if (eddy__shape_is_known(&c->rest))
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_UNINITIALIZED,
                       "no item is set, and the element shape is, but for the "
                       "first dimension, only known as %s",
                       eddy__shape_print(&c->rest).text);
}

/* How long item `i`, which is not set, is. */
static eddy_status find_lead(eddy_kernel *k, const concat *c, int64_t i,
                             int64_t *out_lead)
{
    *out_lead = i < c->n_leads ? c->leads[i] : c->first;
    if (*out_lead >= 0)
        return EDDY_OK;
    if (i < c->n_leads)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                           "leading_dims[%" PRId64 "] is %" PRId64
                           ", it must be at least 0",
                           i, *out_lead);
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_UNINITIALIZED,
                       "item %" PRId64 " is not set, %s, and the other items "
                       "do not say how long it is",
                       i,
                       c->has_leads ? "leading_dims has no element for it"
                                    : "there are no leading_dims");
}

/* Output 1, the lengths, and the length of all together. */
static eddy_status put_lengths(eddy_kernel *k, const concat *c,
                               const int64_t **out_lengths, int64_t *out_total)
{
    const eddy_shape of = eddy__shape_vector(c->list->count);
    int64_t total = 0, *lengths;
    void *out;

    EDDY_TRY(eddy__output(k, 1, EDDY_INT64, &of, &out));
    lengths = out;
    for (int64_t i = 0; i < c->list->count; i++) {
        const eddy__value *item = eddy__list_get(c->list, i);

        if (item->kind == EDDY__NONE)
            EDDY_TRY(find_lead(k, c, i, &lengths[i]));
        else
            lengths[i] = eddy__item_shape(item)->dims[0];
        if (__builtin_add_overflow(total, lengths[i], &total))
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                               "the size of the concatenation overflows");
    }
    *out_lengths = lengths;
    *out_total = total;
    return EDDY_OK;
}

static eddy_status put_elements(eddy_kernel *k, const concat *c,
                                const int64_t *lengths, int64_t total)
{
    const size_t size = eddy__element_size(c->dtype);
    eddy_shape all;
    unsigned char *to;
    int64_t count;

    EDDY_TRY(eddy__prepend_dim(k, total, &c->rest, &all));
    EDDY_TRY(eddy__output_elements(k, 0, c->dtype, &all, &to));
    if (!eddy__shape_count(&all, 1, &count) || count == 0 || total == 0)
        return EDDY_OK;
    for (int64_t i = 0; i < c->list->count; i++) {
        const eddy__value *item = eddy__list_get(c->list, i);

        to += eddy__put_item(to, item->kind == EDDY__NONE ? NULL : item,
                             (size_t)(count / total * lengths[i]) * size);
    }
    return eddy__elements_done(k, 0);
}

static eddy_status concatenate(eddy_kernel *k, concat *c,
                               const eddy_shape *shape)
{
    const int64_t *lengths = NULL;
    int64_t total = 0;

    EDDY_TRY(take_shape(k, c, shape));
    EDDY_TRY(check_items(k, c));
    EDDY_TRY(put_lengths(k, c, &lengths, &total));
    return put_elements(k, c, lengths, total);
}

static eddy_status run_concat(eddy_kernel *k)
{
    const parts *p = eddy__state(k);
    concat c = {.dtype = p->dtype};
    eddy_shape shape;

    EDDY_TRY(eddy__in_list_of(k, 0, p->dtype, &c.list));
    if (!eddy__shape_merge(&p->shape, &c.list->shape, &shape))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "the element shape %s is not compatible with that "
                           "of the list, %s",
                           eddy__shape_print(&p->shape).text,
                           eddy__shape_print(&c.list->shape).text);
    return concatenate(k, &c, &shape);
}

static eddy_status run_concat_with_shape(eddy_kernel *k)
{
    concat c = {.dtype = (eddy_dtype)k->node->out_dtypes[0], .has_leads = true};
    eddy_view leads;
    eddy_shape shape;

    EDDY_TRY(eddy__in_list_of(k, 0, c.dtype, &c.list));
    EDDY_TRY(eddy__in_list_shape(k, 1, c.list, &shape));
    EDDY_TRY(eddy__in_vector(k, 2, "leading_dims", &leads));
    c.leads = leads.data;
    c.n_leads = leads.count;
    return concatenate(k, &c, &shape);
}

static eddy_status prepare_concat(eddy_infer *infer)
{
    eddy_attr shape;
    parts *p;

    EDDY_TRY(eddy__prepare_movable(infer));
    p = eddy__prepare_state(infer, sizeof *p);
    if (!p)
        return EDDY_RESOURCE_EXHAUSTED;
    p->dtype = eddy__infer_type(infer, "element_dtype");
    p->shape = eddy__shape_unknown();
    if (eddy_infer_attr(infer, "element_shape", &shape))
        p->shape = shape.as.shapes[0];
    return EDDY_OK;
}

/* ---- shapes ---- */

static void infer_parts(eddy_infer *infer, const eddy_shape *shape)
{
    const eddy_shape lengths = eddy__shape_of_rank(1);
    const eddy_shape rest = eddy__shape_rest(shape);

    if (shape->rank > 0)
        eddy__infer_items(infer, -1, &rest);
    eddy_infer_set_output(infer, 1, &lengths);
}

static eddy_status infer_concat(eddy_infer *infer)
{
    eddy_attr attr;
    eddy_shape shape = eddy__shape_unknown();

    if (eddy_infer_attr(infer, "element_shape", &attr))
        shape = attr.as.shapes[0];
    infer_parts(infer, &shape);
    return EDDY_OK;
}

static eddy_status infer_concat_with_shape(eddy_infer *infer)
{
    const eddy_shape shape = eddy__infer_item_shape(infer, 1);

    EDDY_TRY(eddy__infer_want_rank(infer, 2, 1));
    infer_parts(infer, &shape);
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("TensorListConcat", .inputs = "input_handle: variant",
                 .outputs = "tensor: element_dtype, lengths: int64",
                 .attrs = "element_dtype: type, element_shape: shape = ?",
                 .infer = infer_concat, .kernel = run_concat,
                 .prepare = prepare_concat,
                 .doc = "All items along their first dimension, and how long "
                        "each is there."),
    EDDY__OP_ROW("TensorListConcatV2",
                 .inputs = "input_handle: variant, element_shape: shape_type, "
                           "leading_dims: int64",
                 .outputs = "tensor: element_dtype, lengths: int64",
                 .attrs = "element_dtype: type, shape_type: index",
                 .infer = infer_concat_with_shape,
                 .kernel = run_concat_with_shape,
                 .prepare = eddy__prepare_movable,
                 .doc = "The same; items that are not set are zeros as long as "
                        "leading_dims says."),
};

const eddy__op_table eddy__tensor_list_concat_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};
