/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a checkpoint has (core/bundle/saved_trips.h): the values that wait at
 * the loop's NextIterations, and the states that its plan names.  Nothing of
 * the loop runs meanwhile, so they are of one moment; and since messages
 * between ranks are told apart by trip, and none of an earlier trip is on its
 * way, what all ranks write of one trip fits together.
 */
#include "runtime/exec/dynamic/saving.h"

#include "core/base/status.h"
#include "core/graph/names.h"
#include "core/value/generator.h"
#include "core/value/variable.h"
#include "runtime/exec/run.h"

#include <string.h>

typedef struct draft {
    eddy_run *run;
    eddy__arena arena;
    eddy__bundle_item *items;
    eddy_shape *shapes; /* an item */
    eddy__value *held;  /* what the items of variables are of */
    size_t n, n_held;
    eddy_error err;
} draft;

static eddy__resource_table *table_of(eddy_run *run)
{
    return run->options.session ? &run->options.session->resources
                                : &run->named;
}

static eddy_status add(draft *d, const char *name, eddy_dtype dtype,
                       const eddy_shape *shape, int64_t count, const void *data)
{
    if (!name)
        return eddy__fail_memory(&d->err);
    d->shapes[d->n] = *shape;
    d->items[d->n] = (eddy__bundle_item){.name = {name, strlen(name)},
                                         .dtype = dtype,
                                         .shape = &d->shapes[d->n],
                                         .count = count,
                                         .data = data};
    d->n++;
    return EDDY_OK;
}

static eddy_status add_value(draft *d, const char *name,
                             const eddy__value *value)
{
    const eddy_shape shape = eddy__value_shape(value);

    if (!eddy__value_has_elements(value))
        return eddy__fail(&d->err, EDDY_UNIMPLEMENTED, EDDY_E_CHECKPOINT,
                          "the loop can't be saved: '%.200s' is a list or a "
                          "handle",
                          name);
    return add(d, name, (eddy_dtype)value->dtype, &shape,
               eddy__value_is_tensor(value) ? value->as.tensor->count : 1,
               eddy__value_elements(value));
}

static eddy_status add_carried(draft *d, const eddy__frame *frame)
{
    if (frame->n_parked != frame->plan->n_nexts)
        return eddy__fail(&d->err, EDDY_UNIMPLEMENTED, EDDY_E_CHECKPOINT,
                          "the loop can't be saved: of %u NextIterations %u "
                          "are live",
                          (unsigned)frame->plan->n_nexts,
                          (unsigned)frame->n_parked);
    for (uint32_t i = 0; i < frame->n_parked; i++) {
        const eddy__parked *parked = &frame->parked[i];

        EDDY_TRY(add_value(d,
                           eddy__names_print(&d->arena, EDDY__SAVED_NEXT "%s",
                                             parked->step->node->name),
                           &parked->value));
    }
    return EDDY_OK;
}

static eddy_status add_variable(draft *d, const char *name)
{
    eddy__resource *resource;
    eddy__value *value = &d->held[d->n_held];

    EDDY_TRY(eddy__resource_table_find(table_of(d->run), &eddy__variable_type,
                                       name, NULL, NULL, &resource, &d->err));
    if (!resource)
        return EDDY_OK;
    *value = eddy__variable_get((eddy__variable *)(void *)resource);
    eddy__resource_release(resource);
    if (value->kind == EDDY__NONE)
        return EDDY_OK;
    d->n_held++;
    return add_value(d, name, value);
}

static eddy_status add_generator(draft *d, const char *key)
{
    const eddy_shape four = {.rank = 1, .dims = {4}};
    eddy__generator_state *state =
        eddy__arena_allocate(&d->arena, 1, sizeof *state);

    if (!state)
        return eddy__fail_memory(&d->err);
    if (!eddy__generator_look(table_of(d->run), key, state))
        return EDDY_OK;
    return add(d, eddy__names_print(&d->arena, EDDY__SAVED_RANDOM "%s", key),
               EDDY_INT64, &four, 4, state);
}

static eddy_status gather(draft *d, const eddy__frame *frame)
{
    const eddy__plan_saving *saving = d->run->plan->saving;
    const size_t n =
        1 + frame->n_parked + saving->n_variables + saving->n_generators;
    const eddy_shape scalar = {.rank = 0};

    d->items = eddy__arena_allocate(&d->arena, n, sizeof *d->items);
    d->shapes = eddy__arena_allocate(&d->arena, n, sizeof *d->shapes);
    d->held =
        eddy__arena_allocate(&d->arena, saving->n_variables, sizeof *d->held);
    if (!d->items || !d->shapes || !d->held)
        return eddy__fail_memory(&d->err);
    EDDY_TRY(add(d, EDDY__SAVED_LOOP, EDDY_INT64, &scalar, 1, &saving->hash));
    EDDY_TRY(add_carried(d, frame));
    for (size_t i = 0; i < saving->n_variables; i++)
        EDDY_TRY(add_variable(d, saving->variables[i]));
    for (size_t i = 0; i < saving->n_generators; i++)
        EDDY_TRY(add_generator(d, saving->generators[i]));
    return EDDY_OK;
}

/* Older ones go once there is a newer one that is whole. */
static eddy_status write(draft *d, int64_t trip)
{
    const eddy__saved_place *place = &d->run->plan->saving->place;
    char prefix[EDDY__SAVED_ROOM];
    int64_t newest;

    eddy__saved_prefix(place, place->part, trip, prefix);
    EDDY_TRY(eddy__bundle_write(&d->run->ctx->allocator,
                                (eddy_string){prefix, strlen(prefix)}, d->items,
                                d->n, &d->err));
    eddy__saved_sync(place);
    EDDY_TRY(eddy__saved_find(place, &newest, &d->err));
    eddy__saved_drop(place, newest, INT64_MAX);
    return EDDY_OK;
}

static eddy_status save(draft *d, const eddy__frame *frame)
{
    if (d->run->options.no_files)
        return eddy__fail(&d->err, EDDY_PERMISSION_DENIED, EDDY_E_IO,
                          "this run may not read or write files");
    EDDY_TRY(gather(d, frame));
    return write(d, d->run->plan->saving->first + frame->n_started);
}

bool eddy__saving_save(eddy_run *run, const eddy__frame *frame)
{
    draft d = {.run = run,
               .arena = {.allocator = &run->ctx->allocator},
               .err = EDDY_ERROR_INIT};
    eddy_status status;

    eddy__task_flush(run);
    status = save(&d, frame);
    for (size_t i = 0; i < d.n_held; i++)
        eddy__value_clear(NULL, &d.held[i]);
    eddy__arena_destroy(&d.arena);
    if (status == EDDY_OK)
        return true;
    eddy__run_raise_kernel(run, status, &d.err, NULL,
                           eddy__iteration_place(frame->parent));
    return false;
}
