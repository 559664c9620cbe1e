/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a checkpoint has (core/bundle/saved_trips.h): the values that wait at
 * the loop's NextIterations, with all that is behind their handles, and the
 * states that its plan names.  Nothing of
 * the loop runs meanwhile, so they are of one moment; and since messages
 * between ranks are told apart by trip, and none of an earlier trip is on its
 * way, what all ranks write of one trip fits together.
 */
#include "runtime/exec/dynamic/saving.h"

#include "core/base/status.h"
#include "core/bundle/saved_values.h"
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
    eddy__saver saver; /* of lists and handles */
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

    return add(d, name, (eddy_dtype)value->dtype, &shape,
               eddy__value_is_tensor(value) ? value->as.tensor->count : 1,
               eddy__value_elements(value));
}

static const char *name_parked(draft *d, const eddy__parked *parked)
{
    return eddy__names_print(&d->arena, EDDY__SAVED_NEXT "%s",
                             parked->step->node->name);
}

static eddy_status add_carried(draft *d, const eddy__frame *frame)
{
    for (uint32_t i = 0; i < frame->n_parked; i++) {
        const eddy__parked *parked = &frame->parked[i];

        if (eddy__value_has_elements(&parked->value))
            EDDY_TRY(add_value(d, name_parked(d, parked), &parked->value));
    }
    return EDDY_OK;
}

/* ---- lists, and what is behind handles ---- */

static bool is_one_of(const char *name, const char *const *names, size_t n)
{
    size_t i = 0;

    while (i < n && strcmp(names[i], name) != 0)
        i++;
    return i < n;
}

/* What nodes outside of the loop have made, and it changes. */
static void add_made(draft *d)
{
    const eddy__plan_saving *saving = d->run->plan->saving;

    for (eddy__resource *r = d->run->resources.live; r; r = r->next)
        if (r->maker && is_one_of(r->maker, saving->makers, saving->n_makers))
            eddy__saver_add(&d->saver, r);
}

static void add_shared(draft *d)
{
    const eddy__plan_saving *saving = d->run->plan->saving;
    eddy__resource *r = NULL;

    for (size_t i = 0; saving->n_shared > 0; i++) {
        const char *texts[2];

        r = eddy__resource_table_saved(d->saver.table, i);
        if (!r)
            return;
        r->type->saving->texts(r, texts);
        if (is_one_of(texts[0], saving->shared, saving->n_shared))
            eddy__saver_add(&d->saver, r);
        /* Its table has it as long as the run. */
        eddy__resource_release(r);
    }
}

static eddy_status add_entries(draft *d)
{
    const eddy__saver *saver = &d->saver;

    for (size_t i = 0; i < saver->n_entries; i++) {
        const eddy_tensor *tensor = saver->entries[i];

        EDDY_TRY(add(d,
                     eddy__names_print(&d->arena, EDDY__SAVED_ENTRIES "%zu", i),
                     (eddy_dtype)tensor->dtype, &tensor->shape, tensor->count,
                     tensor->data));
    }
    return EDDY_OK;
}

/* Looks at all of it. */
static eddy_status find_objects(draft *d, const eddy__frame *frame)
{
    eddy__saver *saver = &d->saver;

    for (uint32_t i = 0; i < frame->n_parked; i++) {
        const eddy__parked *parked = &frame->parked[i];
        const char *name = name_parked(d, parked);

        if (!name)
            return eddy__fail_memory(&d->err);
        if (!eddy__value_has_elements(&parked->value))
            eddy__saver_root(saver, name, &parked->value);
    }
    add_made(d);
    add_shared(d);
    if (eddy__saver_finish(saver) != EDDY_OK)
        d->err = saver->err;
    return saver->status;
}

static eddy_status add_objects(draft *d)
{
    const eddy__saver *saver = &d->saver;
    const eddy_shape shape = {.rank = 1, .dims = {(int64_t)saver->all.n}};

    if (saver->n_roots == 0 && saver->n_resources == 0)
        return EDDY_OK;
    EDDY_TRY(add(d, EDDY__SAVED_OBJECTS, EDDY_UINT8, &shape, shape.dims[0],
                 saver->all.bytes));
    return add_entries(d);
}

/* ---- states ---- */

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
    if (eddy__value_has_elements(value))
        return add_value(d, name, value);
    return eddy__fail(&d->err, EDDY_UNIMPLEMENTED, EDDY_E_CHECKPOINT,
                      "the loop can't be saved: the variable '%.200s' has a "
                      "list or a handle",
                      name);
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

static eddy_status make_room(draft *d, size_t n)
{
    d->items = eddy__arena_allocate(&d->arena, n, sizeof *d->items);
    d->shapes = eddy__arena_allocate(&d->arena, n, sizeof *d->shapes);
    d->held = eddy__arena_allocate(&d->arena, d->run->plan->saving->n_variables,
                                   sizeof *d->held);
    return d->items && d->shapes && d->held ? EDDY_OK
                                            : eddy__fail_memory(&d->err);
}

static eddy_status check_parked(draft *d, const eddy__frame *frame)
{
    if (frame->n_parked == frame->plan->n_nexts)
        return EDDY_OK;
    return eddy__fail(&d->err, EDDY_UNIMPLEMENTED, EDDY_E_CHECKPOINT,
                      "the loop can't be saved: of %u NextIterations %u are "
                      "live",
                      (unsigned)frame->plan->n_nexts,
                      (unsigned)frame->n_parked);
}

static eddy_status gather(draft *d, const eddy__frame *frame)
{
    const eddy__plan_saving *saving = d->run->plan->saving;
    const eddy_shape scalar = {.rank = 0};

    EDDY_TRY(check_parked(d, frame));
    EDDY_TRY(find_objects(d, frame));
    EDDY_TRY(make_room(d, 2 + d->saver.n_entries + frame->n_parked +
                              saving->n_variables + saving->n_generators));
    EDDY_TRY(add(d, EDDY__SAVED_LOOP, EDDY_INT64, &scalar, 1, &saving->hash));
    EDDY_TRY(add_carried(d, frame));
    EDDY_TRY(add_objects(d));
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
               .saver = {.allocator = &run->ctx->allocator,
                         .table = table_of(run),
                         .makers = run->plan->saving->makers,
                         .n_makers = run->plan->saving->n_makers,
                         .err = EDDY_ERROR_INIT},
               .err = EDDY_ERROR_INIT};
    eddy_status status;

    eddy__task_flush(run);
    status = save(&d, frame);
    for (size_t i = 0; i < d.n_held; i++)
        eddy__value_clear(NULL, &d.held[i]);
    eddy__saver_deinit(&d.saver);
    eddy__arena_destroy(&d.arena);
    if (status == EDDY_OK)
        return true;
    eddy__run_raise_kernel(run, status, &d.err, NULL,
                           eddy__iteration_place(frame->parent));
    return false;
}
