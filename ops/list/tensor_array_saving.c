/* SPDX-License-Identifier: Apache-2.0 */
/* A TensorArray in a checkpoint: what is said of it, its items, its gradients.
 */
#include "core/base/status.h"
#include "ops/list/tensor_array.h"
#include "ops/state/restored.h"

#include <string.h>

#define STATES                                                                 \
    (EDDY__ITEM_WRITTEN | EDDY__ITEM_READ | EDDY__ITEM_CLEARED |               \
     EDDY__ITEM_FILLED)

/* The bits of the number that says what kind it is. */
enum {
    CLOSED = 1,
    DYNAMIC = 2,
    GRADIENT = 4,
    SUMMING = 8,
    CLEARS = 16,
    UNIFORM = 32,
    WHOLE = 64,
    ALL = 127
};

static const eddy__array *array_of(const eddy__resource *resource)
{
    return (const eddy__array *)(const void *)resource;
}

/* ---- saving ---- */

static void texts_of(const eddy__resource *resource, const char *texts[2])
{
    const eddy__array *a = array_of(resource);

    texts[0] = a->name;
    texts[1] = a->source ? a->source : "";
}

static uint64_t bits_of(const eddy__array *a)
{
    return (a->is_closed ? CLOSED : 0) | (a->is_dynamic ? DYNAMIC : 0) |
           (a->is_gradient ? GRADIENT : 0) | (a->is_summing ? SUMMING : 0) |
           (a->clears ? CLEARS : 0) | (a->is_uniform ? UNIFORM : 0) |
           (a->is_whole ? WHOLE : 0);
}

/* What was cleared has no value, though a bare one stands there still. */
static void save_item(const eddy__array *a, int32_t i, eddy__saver *saver)
{
    const uint8_t state = a->cells.states[i];
    eddy__value item;

    eddy__saver_number(saver, state);
    if (!(state & EDDY__ITEM_WRITTEN))
        return;
    eddy__saver_shape(saver, eddy__array_shape(a, i));
    if (state & EDDY__ITEM_CLEARED || !eddy__array_item(a, i, &item))
        item = (eddy__value){.kind = EDDY__NONE};
    eddy__saver_value(saver, &item);
}

static void save(eddy__resource *resource, eddy__saver *saver)
{
    const eddy__array *a = array_of(resource);
    int32_t n = a->n_items < a->size ? a->n_items : a->size;
    uint64_t n_gradients = 0;

    if (a->number > 0)
        eddy__saver_refuse(saver, "TensorArray", "has two names, no handle");
    eddy__saver_number(saver, a->dtype);
    eddy__saver_number(saver, bits_of(a));
    eddy__saver_shape(saver, &a->shape);
    eddy__saver_number(saver, (uint64_t)a->size);
    eddy__saver_number(saver, (uint64_t)((int64_t)a->split_size + 1));
    for (eddy__array *g = a->gradients; g; g = g->next)
        n_gradients++;
    eddy__saver_number(saver, n_gradients);
    for (eddy__array *g = a->gradients; g; g = g->next)
        eddy__saver_resource(saver, &g->cells.base);
    while (n > 0 && a->cells.states[n - 1] == 0)
        n--;
    eddy__saver_number(saver, (uint64_t)n);
    for (int32_t i = 0; i < n && saver->status == EDDY_OK; i++)
        save_item(a, i, saver);
}

/* ---- restoring ---- */

static eddy_status read_state(eddy__restorer *from, eddy__array *a, bool is_new)
{
    uint64_t dtype, bits, size, split;
    eddy_shape shape;

    EDDY_TRY(eddy__restorer_number(from, EDDY_DTYPE_COUNT - 1,
                                   "the dtype of a TensorArray", &dtype));
    EDDY_TRY(eddy__restorer_number(from, ALL, "a TensorArray", &bits));
    EDDY_TRY(eddy__restorer_shape(from, &shape));
    EDDY_TRY(eddy__restorer_number(from, INT32_MAX, "the size of a TensorArray",
                                   &size));
    EDDY_TRY(eddy__restorer_number(from, (uint64_t)INT32_MAX + 1,
                                   "the parts of a TensorArray", &split));
    if (dtype == 0 || (!is_new && dtype != a->dtype))
        return eddy__restorer_fail(from, "the dtype of a TensorArray");
    if (!is_new && !eddy__shape_merge(&a->shape, &shape, &shape))
        return eddy__restorer_fail(from, "the shape of a TensorArray");
    a->dtype = (uint8_t)dtype;
    a->shape = shape;
    a->size = (int32_t)size;
    a->split_size = (int32_t)((int64_t)split - 1);
    a->is_closed = (bits & CLOSED) != 0;
    a->is_dynamic = (bits & DYNAMIC) != 0;
    a->is_gradient = (bits & GRADIENT) != 0;
    a->is_summing = (bits & SUMMING) != 0;
    a->clears = (bits & CLEARS) != 0;
    a->is_uniform = (bits & UNIFORM) != 0;
    a->is_whole = (bits & WHOLE) != 0;
    a->is_bare = eddy__dtype_is_inline((eddy_dtype)dtype);
    a->item_shape = eddy__shape_unknown();
    a->cells.after_read =
        EDDY__ITEM_READ | (a->clears ? EDDY__ITEM_CLEARED : 0);
    return EDDY_OK;
}

/* A gradient is known by its key, which only a gradient has. */
static eddy_status read_gradients(eddy__restorer *from, eddy__array *a)
{
    eddy__array **end = &a->gradients;
    uint64_t n;

    EDDY_TRY(eddy__restorer_count(from, "the gradients of a TensorArray", &n));
    for (uint64_t i = 0; i < n; i++) {
        eddy__resource *found;
        eddy__array *g;

        EDDY_TRY(eddy__restorer_own(from, a->cells.base.type, &found));
        g = (eddy__array *)(void *)eddy__resource_retain(found);
        g->next = NULL;
        *end = g;
        end = &g->next;
        if (!g->source)
            return eddy__restorer_fail(from, "the gradient of a TensorArray");
    }
    return EDDY_OK;
}

static eddy_status read_item(eddy__restorer *from, eddy__array *a, int32_t i)
{
    eddy__value item = {.kind = EDDY__NONE};
    eddy_shape shape;
    uint64_t state;

    EDDY_TRY(
        eddy__restorer_number(from, STATES, "the state of an item", &state));
    if (state == 0)
        return EDDY_OK;
    if (!(state & EDDY__ITEM_WRITTEN))
        return eddy__restorer_fail(from, "the state of an item");
    EDDY_TRY(eddy__restorer_shape(from, &shape));
    if (!eddy__shape_is_known(&shape) ||
        !eddy__shape_compatible(&a->shape, &shape))
        return eddy__restorer_fail(from, "the shape of an item");
    EDDY_TRY(
        eddy__restorer_item(from, (eddy_dtype)a->dtype, &shape, true, &item));
    if (item.kind == EDDY__NONE && !(state & EDDY__ITEM_CLEARED))
        state &= ~(uint64_t)EDDY__ITEM_FILLED;
    return eddy__array_restore_item(from->k, a, i, (uint8_t)state, &shape,
                                    &item);
}

static eddy_status restore(eddy__resource *resource, const char *const *texts,
                           eddy__restorer *from)
{
    eddy__array *a = (eddy__array *)(void *)resource;
    uint64_t n;

    if (texts) {
        a->name = texts[0];
        a->source = texts[1];
    }
    EDDY_TRY(read_state(from, a, texts != NULL));
    EDDY_TRY(read_gradients(from, a));
    EDDY_TRY(eddy__restorer_count(from, "the items of a TensorArray", &n));
    if (n > (uint64_t)a->size)
        return eddy__restorer_fail(from, "the size of a TensorArray");
    for (int32_t i = 0; i < (int32_t)n; i++)
        EDDY_TRY(read_item(from, a, i));
    eddy__array_publish(a);
    return EDDY_OK;
}

const eddy__resource_saving eddy__array_saving = {sizeof(eddy__array), texts_of,
                                                  save, restore};
