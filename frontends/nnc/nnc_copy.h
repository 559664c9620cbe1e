/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copying the nodes of a graph into another one, in which some of them are a
 * loop: what eddy_nnc_split does with each node.
 */
#ifndef EDDY_FRONTENDS_NNC_COPY_H
#define EDDY_FRONTENDS_NNC_COPY_H

#include "core/graph/copy.h"
#include "frontends/nnc/nnc_region.h"

/* The longest name of a loop, a number behind it included. */
#define EDDY__NNC_MAX_NAME 256

typedef struct eddy__nnc_copier {
    const eddy__nnc_region *r;
    eddy_graph *to;
    eddy__arena arena;
    char name[EDDY__NNC_MAX_NAME];  /* of the loop */
    char first[EDDY__NNC_MAX_NAME]; /* the scope of the copies for count 0 */

    /* A node: its number in the new graph; of one inside, the last copy's. */
    eddy_node *made;
    /* A node inside: where in `seen` its outputs stand, as they are now. */
    size_t *first_output;
    eddy_output *seen;
    const eddy_output *parameters; /* now */
    eddy_output count;
    eddy_node trip_end; /* waits for the ends of the part after, or NO_NODE */

    eddy_output *internals; /* of the old graph, as are these: */
    size_t n_internals;
    size_t n_outputs;
    eddy_node *awaited; /* what the condition waits for */
    size_t n_awaited;

    /* Room for what one node has. */
    eddy_output *inputs;
    eddy_node *controls;
    eddy__copier copier;
    eddy_error *err;
} eddy__nnc_copier;

static inline const eddy__node *eddy__nnc_old(const eddy__nnc_copier *c,
                                              eddy_node node)
{
    return eddy__graph_node(c->r->graph, node);
}

/* What stands for an output of the old graph where a copy is being made. */
eddy_output eddy__nnc_look_up(const eddy__nnc_copier *c, eddy_output old);

/* Copies the nodes outside that do, or do not, depend on the loop. */
eddy_status eddy__nnc_copy_outside(eddy__nnc_copier *c, bool is_below);

/*
 * Copies nodes inside, which are in topological order, into the innermost open
 * construct, or for count 0 if there is none.
 */
eddy_status eddy__nnc_copy_part(eddy__nnc_copier *c, const eddy_node *nodes,
                                size_t n);

#endif
