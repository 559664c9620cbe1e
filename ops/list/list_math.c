/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Items may be lists in turn, or tensors of lists, to any depth, so pairs of
 * lists that are still to be worked on wait in an array.  Optional values are
 * lists here, of items of several dtypes; maps are lists of keys and values,
 * and ragged tensors lists of row splits and values.
 */
#include "ops/list/list_math.h"

#include "core/base/memory.h"
#include "ops/list/tensor_map.h"
#include "ops/math/addn.h"

#include <inttypes.h>

/* `to`, the kernel's own, is to become what it is to be with `from`. */
typedef struct pair {
    eddy__list *to;
    const eddy__list *from;
} pair;

typedef struct pairs {
    const eddy_allocator *allocator;
    pair *items;
    size_t n, capacity;
} pairs;

static eddy_status fail_memory(eddy_kernel *k)
{
    return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                       "no memory for lists within lists");
}

static eddy_status add_pair(eddy_kernel *k, pairs *todo, eddy__list *to,
                            const eddy__list *from)
{
    void *items = todo->items;
    const bool ok = eddy__grow(todo->allocator, &items, &todo->capacity,
                               todo->n + 1, sizeof *todo->items);

    todo->items = items;
    if (!ok)
        return fail_memory(k);
    todo->items[todo->n++] = (pair){.to = to, .from = from};
    return EDDY_OK;
}

/* Works on a pair, and adds to `todo` the pairs of lists within. */
typedef eddy_status (*work)(eddy_kernel *k, pairs *todo, pair p);

/* The same for a value that is a list or a tensor of lists. */
typedef eddy_status (*start)(eddy_kernel *k, pairs *todo, eddy__value *to,
                             const eddy__value *from);

static eddy_status work_all(eddy_kernel *k, start begin, work do_pair,
                            eddy__value *to, const eddy__value *from)
{
    pairs todo = {.allocator = k->allocator};
    eddy_status status = begin(k, &todo, to, from);

    while (status == EDDY_OK && todo.n > 0)
        status = do_pair(k, &todo, todo.items[--todo.n]);
    eddy__free(todo.allocator, todo.items, todo.capacity, sizeof *todo.items);
    return status;
}

/* ---- sums ---- */

/*
 * Handles are refused before anything is done with them: only the driver may
 * drop a handle, and a sum may be made elsewhere.
 */
static eddy_status check_item_dtype(eddy_kernel *k, eddy_dtype dtype)
{
    if (eddy__addn_can_add(dtype) || dtype == EDDY_VARIANT)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                       "items of %s have no sum", eddy_dtype_name(dtype));
}

static eddy_status check_component(eddy_kernel *k, const eddy__value *a,
                                   const eddy__value *b)
{
    if (a->dtype != b->dtype)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                           "components of %s and of %s have no sum",
                           eddy_dtype_name((eddy_dtype)a->dtype),
                           eddy_dtype_name((eddy_dtype)b->dtype));
    return check_item_dtype(k, (eddy_dtype)a->dtype);
}

/* Both have a value or none, and the values are alike. */
static eddy_status check_optionals(eddy_kernel *k, const eddy__list *a,
                                   const eddy__list *b)
{
    if (a->count != b->count)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                           "optionals of %" PRId64 " and %" PRId64
                           " components have no sum",
                           a->count, b->count);
    for (int64_t i = 0; i < a->count; i++)
        EDDY_TRY(
            check_component(k, eddy__list_get(a, i), eddy__list_get(b, i)));
    return EDDY_OK;
}

/* The values are added; the splits should be the same, and stay. */
static eddy_status check_ragged(eddy_kernel *k, const eddy__list *a,
                                const eddy__list *b)
{
    if (a->count != b->count)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                           "ragged tensors of %" PRId64 " and %" PRId64
                           " row splits have no sum",
                           a->count - 1, b->count - 1);
    return check_component(k, eddy__list_get(a, a->count - 1),
                           eddy__list_get(b, b->count - 1));
}

/* Is item `i` one that neither a sum nor zeros change? */
static bool is_fixed(const eddy__list *list, int64_t i)
{
    return (list->dtype == EDDY__MAP && i % 2 == 0) ||
           (list->dtype == EDDY__RAGGED && i + 1 < list->count);
}

/*
 * What lists that are no TensorLists must be; TensorFlow says INTERNAL of
 * variants of different kinds.
 */
static eddy_status check_special(eddy_kernel *k, const eddy__list *a,
                                 const eddy__list *b)
{
    if (a->dtype == EDDY__OPTIONAL && b->dtype == EDDY__OPTIONAL)
        return check_optionals(k, a, b);
    if (a->dtype == EDDY__MAP && b->dtype == EDDY__MAP)
        return EDDY_OK;
    if (a->dtype == EDDY__RAGGED && b->dtype == EDDY__RAGGED)
        return check_ragged(k, a, b);
    return eddy__kfail(k, EDDY_INTERNAL, EDDY_E_DTYPE, "%s and %s have no sum",
                       eddy__list_kind(a), eddy__list_kind(b));
}

static eddy_status check_lists(eddy_kernel *k, const eddy__list *a,
                               const eddy__list *b)
{
    if (eddy__list_is_special(a) || eddy__list_is_special(b))
        return check_special(k, a, b);
    if (a->dtype != b->dtype)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                           "a list of %s and a list of %s have no sum",
                           eddy_dtype_name((eddy_dtype)a->dtype),
                           eddy_dtype_name((eddy_dtype)b->dtype));
    EDDY_TRY(check_item_dtype(k, (eddy_dtype)a->dtype));
    if (a->count != b->count)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "lists of %" PRId64 " and %" PRId64
                           " items have no sum",
                           a->count, b->count);
    if (!eddy__shape_compatible(&a->shape, &b->shape))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "lists of items of shape %s and of shape %s have no "
                           "sum",
                           eddy__shape_print(&a->shape).text,
                           eddy__shape_print(&b->shape).text);
    return EDDY_OK;
}

static eddy_status add_values(eddy_kernel *k, eddy__value *to,
                              const eddy__value *from)
{
    const eddy_shape *a = eddy__item_shape(to), *b = eddy__item_shape(from);

    if (!eddy__shape_equal(a, b))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "items of shape %s and of shape %s have no sum",
                           eddy__shape_print(a).text,
                           eddy__shape_print(b).text);
    return eddy__addn_add_to(k, to, from);
}

/* The list in `to` becomes the kernel's own, to be added to later. */
static eddy_status add_inner(eddy_kernel *k, pairs *todo, eddy__value *to,
                             const eddy__list *from)
{
    const int64_t room = from->dtype == EDDY__MAP ? from->count : 0;

    EDDY_TRY(check_lists(k, to->as.list, from));
    if (!eddy__list_own(k->heap, k->account, &to->as.list, room))
        return fail_memory(k);
    return add_pair(k, todo, to->as.list, from);
}

eddy_status eddy__own_lists(eddy_kernel *k, eddy__value *to)
{
    const eddy_tensor *from = to->as.tensor;
    const eddy__value *elements = from->data;
    eddy_tensor *own;

    if (eddy__tensor_is_exclusive(from))
        return EDDY_OK;
    EDDY_TRY(eddy__new_tensor(k, EDDY_VARIANT, &from->shape, &own));
    for (int64_t i = 0; i < own->count; i++)
        ((eddy__value *)own->data)[i] = eddy__value_copy(&elements[i]);
    eddy__tensor_recycle(k->heap, to->as.tensor);
    to->as.tensor = own;
    return EDDY_OK;
}

/* `to`, a list or a tensor of lists, belongs to the kernel. */
static eddy_status add_lists(eddy_kernel *k, pairs *todo, eddy__value *to,
                             const eddy__value *from)
{
    const eddy_shape *a = eddy__item_shape(to), *b = eddy__item_shape(from);
    eddy__value *elements;

    if (!eddy__shape_equal(a, b))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "lists in tensors of shape %s and of shape %s have "
                           "no sum",
                           eddy__shape_print(a).text,
                           eddy__shape_print(b).text);
    if (!eddy__value_is_tensor(to))
        return add_inner(k, todo, to, from->as.list);
    EDDY_TRY(eddy__own_lists(k, to));
    elements = to->as.tensor->data;
    for (int64_t i = 0; i < to->as.tensor->count; i++)
        EDDY_TRY(
            add_inner(k, todo, &elements[i],
                      ((const eddy__value *)from->as.tensor->data)[i].as.list));
    return EDDY_OK;
}

/* Adds an item, which is set, to another. */
static eddy_status add_item(eddy_kernel *k, pairs *todo, eddy__value *to,
                            const eddy__value *from)
{
    return to->dtype == EDDY_VARIANT ? add_lists(k, todo, to, from)
                                     : add_values(k, to, from);
}

/* The sum has the keys of both. */
static eddy_status add_map(eddy_kernel *k, pairs *todo, pair p)
{
    for (int64_t i = 0; i < p.from->count; i += 2) {
        const eddy__value *key = eddy__list_get(p.from, i);
        const eddy__value *from = eddy__list_get(p.from, i + 1);
        const int64_t at = eddy__tensor_map_find(k, p.to, key);
        uint32_t uses; /* the map's own */

        if (at < 0) {
            eddy__tensor_map_add(k, p.to, eddy__value_copy(key),
                                 eddy__value_copy(from));
            continue;
        }
        EDDY_TRY(check_component(k, &p.to->items[at + 1], from));
        uses = p.to->items[at + 1].uses;
        EDDY_TRY(add_item(k, todo, &p.to->items[at + 1], from));
        p.to->items[at + 1].uses = uses;
    }
    return EDDY_OK;
}

static eddy_status add_list(eddy_kernel *k, pairs *todo, pair p)
{
    if (p.to->dtype == EDDY__MAP)
        return add_map(k, todo, p);
    EDDY_TRY(check_lists(k, p.to, p.from));
    (void)eddy__shape_merge(&p.to->shape, &p.from->shape, &p.to->shape);
    p.to->max_count = INT64_MAX;
    for (int64_t i = 0; i < p.to->count; i++) {
        eddy__value *to = &p.to->items[i];
        const eddy__value *from = eddy__list_get(p.from, i);

        if (from->kind == EDDY__NONE || is_fixed(p.from, i))
            continue;
        if (to->kind == EDDY__NONE)
            *to = eddy__value_copy(from);
        else
            EDDY_TRY(add_item(k, todo, to, from));
    }
    return EDDY_OK;
}

/* The same slot may be several inputs, so input 0 is a value of its own. */
eddy_status eddy__run_add_lists(eddy_kernel *k)
{
    const eddy__value first = eddy__in_take(k, 0);
    eddy__value *sum = eddy__out(k, 0);

    eddy__out_value(k, 0, &first);
    for (uint32_t i = 1; i < k->node->n_in; i++)
        EDDY_TRY(work_all(k, add_lists, add_list, sum, eddy__in(k, i)));
    return EDDY_OK;
}

/* ---- zeros ---- */

/* TensorFlow has zeros for strings in a tensor, but not in a list. */
static eddy_status zero_value(eddy_kernel *k, const eddy__value *from,
                              eddy__value *to)
{
    const eddy_dtype dtype = (eddy_dtype)from->dtype;

    if (!eddy__value_has_elements(from) || dtype == EDDY_STRING)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                           "items of %s have no zeros", eddy_dtype_name(dtype));
    return eddy__zero_item(k, dtype, eddy__item_shape(from), to);
}

/* Makes `to` as many zeros as the list `from` has items. */
static eddy_status zero_inner(eddy_kernel *k, pairs *todo, eddy__value *to,
                              const eddy__list *from)
{
    eddy__list *list;

    if (from->dtype == EDDY__LOCK)
        return eddy__kfail(k, EDDY_INTERNAL, EDDY_E_DTYPE,
                           "a lock has no zeros");
    list =
        eddy__list_create(k->heap, k->account, k->allocator,
                          (eddy_dtype)from->dtype, &from->shape, from->count);
    if (!list)
        return fail_memory(k);
    to->kind = EDDY__LIST;
    to->dtype = EDDY_VARIANT;
    to->as.list = list;
    return add_pair(k, todo, list, from);
}

/* Makes `to` zeros of `from`, a list or a tensor of lists. */
static eddy_status zero_lists(eddy_kernel *k, pairs *todo, eddy__value *to,
                              const eddy__value *from)
{
    const eddy__value *elements;
    eddy_tensor *tensor;

    if (!eddy__value_is_tensor(from))
        return zero_inner(k, todo, to, from->as.list);
    EDDY_TRY(
        eddy__new_tensor(k, EDDY_VARIANT, &from->as.tensor->shape, &tensor));
    to->kind = EDDY__TENSOR;
    to->dtype = EDDY_VARIANT;
    to->as.tensor = tensor;
    elements = from->as.tensor->data;
    for (int64_t i = 0; i < tensor->count; i++)
        EDDY_TRY(zero_inner(k, todo, (eddy__value *)tensor->data + i,
                            elements[i].as.list));
    return EDDY_OK;
}

static eddy_status zero_list(eddy_kernel *k, pairs *todo, pair p)
{
    for (int64_t i = 0; i < p.from->count; i++) {
        const eddy__value *from = eddy__list_get(p.from, i);
        eddy__value *to = &p.to->items[i];

        if (from->kind == EDDY__NONE)
            continue;
        if (is_fixed(p.from, i))
            *to = eddy__value_copy(from);
        else if (from->dtype == EDDY_VARIANT)
            EDDY_TRY(zero_lists(k, todo, to, from));
        else
            EDDY_TRY(zero_value(k, from, to));
    }
    if (p.from->dtype == EDDY__MAP)
        eddy__tensor_map_index(k, p.to);
    return EDDY_OK;
}

eddy_status eddy__run_list_zeros(eddy_kernel *k)
{
    eddy__value zeros = {.kind = EDDY__NONE};
    const eddy_status status =
        work_all(k, zero_lists, zero_list, &zeros, eddy__in(k, 0));

    /* Whoever runs kernels drops the outputs of one that fails. */
    if (zeros.kind != EDDY__NONE)
        eddy__out_value(k, 0, &zeros);
    return status;
}
