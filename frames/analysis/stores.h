/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes out of a stack or a TensorArray is what was put into it, though no
 * edge says so.
 *
 * A store is a stack, or a TensorArray with all its gradients.  It is one only
 * if its handle is seen at every node that it reaches, and each of those is
 * known to take a value in or to give one out: so whatever holds for all that
 * is put in, holds for what comes out.
 */
#ifndef EDDY_FRAMES_STORES_H
#define EDDY_FRAMES_STORES_H

#include "frames/analysis/flow.h"

typedef struct eddy__store {
    eddy_shape shape; /* of all that has been put in, if anything has */
    bool has_shape;
    eddy_node first_reader; /* EDDY_NO_NODE: none */
} eddy__store;

typedef struct eddy__stores {
    eddy__store *stores;
    size_t n;
    /* A node that puts into a store or reads it: its number and 1; others 0. */
    uint32_t *of_node;
    eddy_node *next_reader; /* a reader: the next one of its store */
} eddy__stores;

/* Arrays are in `arena`. */
eddy_status eddy__stores_find(eddy__stores *stores, const eddy__flow *flow,
                              eddy__arena *arena, eddy_error *err);

/*
 * A node of `store` has been found to have inputs of these shapes; NULL: they
 * may be any.  True if more may be in the store than was known.
 */
bool eddy__store_put(eddy__store *store, const eddy__node *node,
                     const eddy_shape *inputs);

static inline eddy__store *eddy__store_of(const eddy__stores *stores,
                                          eddy_node node)
{
    return stores->of_node[node] ? &stores->stores[stores->of_node[node] - 1]
                                 : NULL;
}

/* Does a node with a store read single values of it, as output 0? */
bool eddy__store_is_read(const eddy__node *node);

#endif
