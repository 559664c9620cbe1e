/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of nodes, into their own graph or another: what every rewrite that
 * repeats a part of a graph makes.  First all nodes of the part are added, with
 * open inputs, since loops have edges that go back; then they are connected.
 */
#ifndef EDDY_CORE_COPY_H
#define EDDY_CORE_COPY_H

#include "core/graph/graph.h"

/* Which node, and what of it is not as it was. */
typedef struct eddy__node_copy {
    const eddy__node *of;
    const char *name;       /* NULL: as it was */
    const char *frame_name; /* the attribute; NULL: as it was */
    bool drops_class;       /* colocation, with nodes that have other names */
    /*
     * A resource that goes by the name of the node is the same one in the copy,
     * which is in the same graph.
     */
    bool shares_resource;
} eddy__node_copy;

/*
 * Room for one copy after the other, in `arena`, which outlives it.  Zero it
 * but for that.
 */
typedef struct eddy__copier {
    eddy__arena *arena;
    eddy_attr *attrs;
    size_t attrs_capacity;
    eddy_output *open;
    size_t open_capacity;
    eddy_string frame_name, shared_name; /* of the last copy's attributes */
} eddy__copier;

/* `n` inputs that are open, until the next call; NULL without memory. */
const eddy_output *eddy__copier_open(eddy__copier *c, size_t n);

/*
 * The attributes of a copy, until the next call; NULL without memory.  Those
 * that have not changed are the node's own.
 */
const eddy_attr *eddy__copier_attrs(eddy__copier *c,
                                    const eddy__node_copy *copy, size_t *out_n);

/*
 * Adds a copy to `graph` with open inputs, which eddy__copy_connect or
 * eddy__graph_connect sets, and without control inputs.
 */
eddy_status eddy__copy_add(eddy__copier *c, eddy_graph *graph,
                           const eddy__node_copy *copy, eddy_node *out_node,
                           eddy_error *err);

/* What stands in a copied part for what its nodes read and wait for. */
typedef struct eddy__copy_ways {
    eddy_status (*output)(void *owner, eddy_output from, eddy_output *out);
    /* EDDY_NO_NODE: nothing is waited for. */
    eddy_status (*control)(void *owner, eddy_node from, eddy_node *out);
    void *owner;
} eddy__copy_ways;

/* Gives the copy `node` the inputs and control inputs of `of`, by `ways`. */
eddy_status eddy__copy_connect(eddy_graph *graph, eddy_node node,
                               const eddy__node *of,
                               const eddy__copy_ways *ways, eddy_error *err);

#endif
