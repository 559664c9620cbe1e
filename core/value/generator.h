/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a random generator, which is a resource with a name: where it
 * began, and how many steps were taken.  Ops draw from it (ops/random);
 * checkpoints keep it.
 */
#ifndef EDDY_CORE_GENERATOR_H
#define EDDY_CORE_GENERATOR_H

#include "core/value/resource.h"

#include <stdatomic.h>

/* Where it began, and the steps taken: what a file has of it. */
typedef struct eddy__generator_state {
    uint64_t low, high, key, n_taken;
} eddy__generator_state;

typedef struct eddy__generator {
    eddy__resource base;
    uint64_t low, high, key; /* immutable */
    atomic_ullong n_taken;   /* atomic: whoever reserves adds, relaxed; nothing
                                else is ordered by it */
} eddy__generator;

extern const eddy__resource_type eddy__generator_type;

/* Bytes for the key of a node's generator, besides the node's name. */
#define EDDY__GENERATOR_KEY_ROOM 48

/* The key of the generator that a node of such seeds draws from. */
void eddy__generator_key(char *key, size_t size, const char *node, int64_t seed,
                         int64_t seed2);

/* An eddy__resource_maker; `state` is an eddy__generator_state. */
eddy__resource *eddy__generator_make(const eddy_allocator *allocator,
                                     const void *state);

/*
 * Makes the generator of that name what `state` says.  Requires: none draws
 * from it meanwhile, and if there is one already, none holds it.
 */
eddy_status eddy__generator_restore(eddy__resource_table *table,
                                    const char *key,
                                    const eddy__generator_state *state,
                                    eddy_error *err);

/* False: there is none of that name.  @thread any */
bool eddy__generator_look(eddy__resource_table *table, const char *key,
                          eddy__generator_state *out_state);

#endif
