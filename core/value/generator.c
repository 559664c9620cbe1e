/* SPDX-License-Identifier: Apache-2.0 */
/* Makes generators, and moves their state out and in. */
#include "core/value/generator.h"

#include <inttypes.h>
#include <stdio.h>

static eddy__generator *of(eddy__resource *resource)
{
    return (eddy__generator *)(void *)resource;
}

static void clear_generator(eddy__resource *resource, eddy__heap *heap)
{
    (void)resource;
    (void)heap;
}

const eddy__resource_type eddy__generator_type = {.name = "a random generator",
                                                  .clear = clear_generator};

/* The seeds are in the key, so that another graph's node of that name and
 * other seeds has another generator. */
void eddy__generator_key(char *key, size_t size, const char *node, int64_t seed,
                         int64_t seed2)
{
    snprintf(key, size, "%s %" PRId64 " %" PRId64, node, seed, seed2);
}

static void set(eddy__generator *g, const eddy__generator_state *state)
{
    g->low = state->low;
    g->high = state->high;
    g->key = state->key;
    atomic_store_explicit(&g->n_taken, state->n_taken, memory_order_relaxed);
}

eddy__resource *eddy__generator_make(const eddy_allocator *allocator,
                                     const void *state)
{
    eddy__resource *resource = eddy__resource_create_named(
        allocator, &eddy__generator_type, sizeof(eddy__generator));

    if (resource)
        set(of(resource), state);
    return resource;
}

eddy_status eddy__generator_restore(eddy__resource_table *table,
                                    const char *key,
                                    const eddy__generator_state *state,
                                    eddy_error *err)
{
    eddy__resource *resource;
    const eddy_status status =
        eddy__resource_table_find(table, &eddy__generator_type, key,
                                  eddy__generator_make, state, &resource, err);

    if (resource)
        set(of(resource), state);
    eddy__resource_release(resource);
    return status;
}

bool eddy__generator_look(eddy__resource_table *table, const char *key,
                          eddy__generator_state *out_state)
{
    eddy__resource *resource = NULL;

    if (eddy__resource_table_find(table, &eddy__generator_type, key, NULL, NULL,
                                  &resource, NULL) != EDDY_OK ||
        !resource)
        return false;
    *out_state = (eddy__generator_state){
        of(resource)->low, of(resource)->high, of(resource)->key,
        atomic_load_explicit(&of(resource)->n_taken, memory_order_relaxed)};
    eddy__resource_release(resource);
    return true;
}
