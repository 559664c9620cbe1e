/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes, shares and frees resources.  Those that hold others are freed without
 * recursion: a resource that dies is put on a list, which is drained.
 */
#include "core/value/resource.h"

#include "core/base/status.h"

#include <string.h>

static void start(eddy__resource *resource, const eddy__resource_type *type,
                  size_t size)
{
    memset(resource, 0, size);
    atomic_init(&resource->refs, 1);
    resource->type = type;
}

/* ---- those of a run ---- */

static void link_resource(eddy__resource **list, eddy__resource *resource)
{
    resource->next = *list;
    resource->link = list;
    if (*list)
        (*list)->link = &resource->next;
    *list = resource;
}

static void unlink_resource(eddy__resource *resource)
{
    if (!resource->link)
        return;
    *resource->link = resource->next;
    if (resource->next)
        resource->next->link = resource->link;
    resource->link = NULL;
}

eddy__resource *eddy__resource_create(eddy__resource_set *set,
                                      const eddy__resource_type *type,
                                      size_t size)
{
    size_t block_size;
    eddy__resource *resource =
        eddy__heap_allocate(set->heap, size, &block_size);

    if (!resource)
        return NULL;
    start(resource, type, size);
    resource->set = set;
    resource->block_size = block_size;
    link_resource(&set->live, resource);
    return resource;
}

static void free_resource(eddy__resource *resource)
{
    eddy__resource_set *set = resource->set;

    resource->type->clear(resource, set ? set->heap : NULL);
    if (resource->type->deinit)
        resource->type->deinit(resource);
    if (set)
        eddy__heap_recycle(set->heap, resource, resource->block_size);
    else
        eddy__free(resource->allocator, resource, 1, resource->block_size);
}

/*
 * Clearing one may drop the last reference to the next, and so on: they wait in
 * a list, so that no depth of nesting needs a deep stack.
 */
static void drain(eddy__resource_set *set)
{
    if (set->is_draining)
        return;
    set->is_draining = true;
    while (set->dying) {
        eddy__resource *resource = set->dying;

        unlink_resource(resource);
        free_resource(resource);
    }
    set->is_draining = false;
}

void eddy__resource_release(eddy__resource *resource)
{
    if (!resource ||
        atomic_fetch_sub_explicit(&resource->refs, 1, memory_order_acq_rel) > 1)
        return;
    if (!resource->set) {
        free_resource(resource);
        return;
    }
    unlink_resource(resource);
    link_resource(&resource->set->dying, resource);
    drain(resource->set);
}

void eddy__resource_set_clear(eddy__resource_set *set)
{
    eddy__resource *held = NULL;

    /* A reference of our own keeps each until all are empty. */
    while (set->live) {
        eddy__resource *resource = eddy__resource_retain(set->live);

        unlink_resource(resource);
        link_resource(&held, resource);
        resource->type->clear(resource, set->heap);
    }
    while (held)
        eddy__resource_release(held);
}

/* ---- those with a name ---- */

eddy__resource *eddy__resource_create_named(const eddy_allocator *allocator,
                                            const eddy__resource_type *type,
                                            size_t size)
{
    eddy__resource *resource = eddy__allocate(allocator, 1, size);

    if (!resource)
        return NULL;
    start(resource, type, size);
    resource->allocator = allocator;
    resource->block_size = size;
    return resource;
}

eddy_status eddy__resource_table_init(eddy__resource_table *table,
                                      const eddy_allocator *allocator,
                                      eddy_error *err)
{
    *table = (eddy__resource_table){.allocator = allocator,
                                    .keys.allocator = allocator};
    return eddy__mutex_init(&table->mu, err);
}

void eddy__resource_table_clear(eddy__resource_table *table)
{
    eddy__mutex_lock(&table->mu);
    for (size_t i = 0; i < table->n; i++) {
        eddy__resource_release(table->items[i].resource);
        eddy__free(table->allocator, table->items[i].key, 1,
                   table->items[i].key_size);
    }
    eddy__free(table->allocator, table->items, table->capacity,
               sizeof *table->items);
    eddy__map_deinit(&table->keys);
    table->keys = (eddy__map){.allocator = table->allocator};
    table->items = NULL;
    table->n = table->capacity = 0;
    eddy__mutex_unlock(&table->mu);
}

void eddy__resource_table_deinit(eddy__resource_table *table)
{
    eddy__resource_table_clear(table);
    eddy__mutex_destroy(&table->mu);
}

/* "a variable v"; NULL without memory. */
static char *make_key(const eddy_allocator *allocator,
                      const eddy__resource_type *type, const char *name,
                      size_t *out_size)
{
    const size_t type_length = strlen(type->name), length = strlen(name);
    char *key = eddy__allocate(allocator, 1, type_length + length + 2);

    *out_size = type_length + length + 2;
    if (!key)
        return NULL;
    memcpy(key, type->name, type_length);
    key[type_length] = ' ';
    memcpy(key + type_length + 1, name, length + 1);
    return key;
}

/* Adds what `make` gives; takes over the key if that works. */
static eddy__resource *add(eddy__resource_table *table, char *key,
                           size_t key_size, eddy__resource_maker make,
                           const void *arg)
{
    eddy__resource *resource;
    void *items = table->items;
    bool ok = eddy__grow(table->allocator, &items, &table->capacity,
                         table->n + 1, sizeof *table->items);

    table->items = items;
    resource = ok ? make(table->allocator, arg) : NULL;
    if (!resource)
        return NULL;
    if (!eddy__map_set(&table->keys, key, (uint32_t)table->n)) {
        eddy__resource_release(resource);
        return NULL;
    }
    table->items[table->n++] = (eddy__named_resource){
        .key = key, .key_size = key_size, .resource = resource};
    return resource;
}

/* NOLINTBEGIN(readability-function-size): what is wanted, who makes it. */
eddy_status
eddy__resource_table_find(eddy__resource_table *table,
                          const eddy__resource_type *type, const char *name,
                          eddy__resource_maker make, const void *arg,
                          eddy__resource **out_resource, eddy_error *err)
{
    eddy__resource *resource = NULL;
    size_t key_size;
    char *key = make_key(table->allocator, type, name, &key_size);
    uint32_t id;
    bool is_kept = false;

    *out_resource = NULL;
    if (!key)
        return eddy__fail_memory(err);
    eddy__mutex_lock(&table->mu);
    id = eddy__map_find(&table->keys, key, key_size - 1);
    if (id != EDDY__NOT_FOUND) {
        resource = table->items[id].resource;
    } else if (make) {
        resource = add(table, key, key_size, make, arg);
        is_kept = resource != NULL;
    }
    if (resource)
        *out_resource = eddy__resource_retain(resource);
    eddy__mutex_unlock(&table->mu);
    if (!is_kept)
        eddy__free(table->allocator, key, 1, key_size);
    return resource || !make ? EDDY_OK : eddy__fail_memory(err);
}
/* NOLINTEND(readability-function-size) */

size_t eddy__resource_table_count(eddy__resource_table *table,
                                  const eddy__resource_type *type)
{
    size_t n = 0;

    eddy__mutex_lock(&table->mu);
    for (size_t i = 0; i < table->n; i++)
        n += table->items[i].resource->type == type;
    eddy__mutex_unlock(&table->mu);
    return n;
}

eddy__resource *eddy__resource_table_at(eddy__resource_table *table,
                                        const eddy__resource_type *type,
                                        size_t i)
{
    eddy__resource *found = NULL;

    eddy__mutex_lock(&table->mu);
    for (size_t at = 0; at < table->n && !found; at++)
        if (table->items[at].resource->type == type && i-- == 0)
            found = eddy__resource_retain(table->items[at].resource);
    eddy__mutex_unlock(&table->mu);
    return found;
}

eddy__resource *eddy__resource_table_saved(eddy__resource_table *table,
                                           size_t i)
{
    eddy__resource *found = NULL;

    eddy__mutex_lock(&table->mu);
    for (size_t at = 0; at < table->n && !found; at++)
        if (table->items[at].resource->type->saving && i-- == 0)
            found = eddy__resource_retain(table->items[at].resource);
    eddy__mutex_unlock(&table->mu);
    return found;
}
