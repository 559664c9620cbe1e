/* SPDX-License-Identifier: Apache-2.0 */
/* A stack in a checkpoint: its values, the lowest first, those that have left
 * memory, too. */
#include "core/base/memory.h"
#include "core/base/status.h"
#include "ops/list/stack.h"
#include "ops/state/restored.h"

#include <stdio.h>

static void texts_of(const eddy__resource *resource, const char *texts[2])
{
    texts[0] = ((const stack *)(const void *)resource)->name;
    texts[1] = "";
}

/* ---- saving ---- */

/* How many it holds; of bare ones on top the tape knows better. */
static uint32_t count_of(const stack *s, const segment *c)
{
    if (c != s->top || !s->tape.first)
        return c->n;
    return (uint32_t)((size_t)(s->tape.next - s->tape.first) /
                      eddy__segment_item_size(s, true));
}

static void save_values(const stack *s, segment *c, const unsigned char *data,
                        eddy__saver *saver)
{
    const uint32_t n = count_of(s, c);

    if (c->is_packed) {
        eddy__segment_save_packed(c, data, saver);
        return;
    }
    for (uint32_t i = 0; i < n && saver->status == EDDY_OK; i++) {
        const size_t size = eddy__segment_item_size(s, true);
        eddy__value value = {.kind = EDDY__SCALAR, .dtype = s->dtype};

        if (c->is_bare)
            value.as.bits = eddy__tape_bare_load(data + i * size, size);
        eddy__saver_value(saver,
                          c->is_bare ? &value : &eddy__segment_values(c)[i]);
    }
}

static void fail_read(const stack *s, eddy__saver *saver, int error)
{
    char reason[96];

    if (saver->status != EDDY_OK)
        return;
    eddy__block_reason(error, reason, sizeof reason);
    saver->status =
        eddy__fail(&saver->err, EDDY_UNAVAILABLE, EDDY_E_SPILL,
                   "the loop can't be saved: what stack %.100s has spilled "
                   "can't be read: %s",
                   s->name, reason);
}

static void save_segment(const stack *s, segment *c, eddy__saver *saver)
{
    unsigned char *data;
    size_t bytes;
    int error;

    if (!eddy__segment_is_out(c)) {
        save_values(s, c, c->data, saver);
        return;
    }
    bytes = c->out->io.bytes;
    data = eddy__allocate(saver->allocator, bytes, 1);
    if (!data) {
        eddy__saver_fail_memory(saver);
        return;
    }
    error = eddy__spill_look(s->spill, c->out, data);
    if (error == 0)
        save_values(s, c, data, saver);
    else
        fail_read(s, saver, error);
    eddy__free(saver->allocator, data, bytes, 1);
}

static void save(eddy__resource *resource, eddy__saver *saver)
{
    const stack *s = (const stack *)(const void *)resource;
    segment *lowest = s->top;
    int64_t n = s->n_below + (s->top ? count_of(s, s->top) : 0);

    eddy__saver_number(saver, s->dtype);
    eddy__saver_number(saver, (uint64_t)s->max_count);
    eddy__saver_number(saver, s->is_closed);
    eddy__saver_number(saver, s->spill != NULL);
    eddy__saver_number(saver, (uint64_t)n);
    while (lowest && lowest->below)
        lowest = lowest->below;
    for (segment *c = lowest; c && saver->status == EDDY_OK; c = c->above)
        save_segment(s, c, saver);
}

/* ---- restoring ---- */

static eddy_status read_values(eddy__restorer *from, stack *s, uint64_t n)
{
    const eddy_shape any = eddy__shape_unknown();
    eddy_status status = EDDY_OK;

    for (uint64_t i = 0; i < n && status == EDDY_OK; i++) {
        eddy__value value;

        EDDY_TRY(eddy__restorer_item(from, (eddy_dtype)s->dtype, &any, false,
                                     &value));
        status = eddy__stack_put(from->k, s, &value);
        eddy__value_clear(from->k->heap, &value);
    }
    return status;
}

static eddy_status restore(eddy__resource *resource, const char *const *texts,
                           eddy__restorer *from)
{
    stack *s = (stack *)(void *)resource;
    uint64_t dtype, most, n;
    bool spills;

    EDDY_TRY(eddy__restorer_number(from, EDDY_DTYPE_COUNT - 1,
                                   "the dtype of a stack", &dtype));
    EDDY_TRY(
        eddy__restorer_number(from, INT64_MAX, "the size of a stack", &most));
    EDDY_TRY(eddy__restorer_bool(from, "a stack", &s->is_closed));
    EDDY_TRY(eddy__restorer_bool(from, "a stack", &spills));
    EDDY_TRY(eddy__restorer_count(from, "the values of a stack", &n));
    if (dtype == 0 || (!texts && dtype != s->dtype) || n > most)
        return eddy__restorer_fail(from, "the dtype or the size of a stack");
    if (texts)
        s->name = texts[0];
    s->dtype = (uint8_t)dtype;
    s->max_count = (int64_t)most;
    if (spills && !s->spill)
        eddy__stack_may_spill(s);
    return read_values(from, s, n);
}

const eddy__resource_saving eddy__stack_saving = {sizeof(stack), texts_of, save,
                                                  restore};
