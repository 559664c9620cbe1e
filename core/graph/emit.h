/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes that a rewrite adds, one after the other, with one check at the end.
 * The first failure sticks: after it calls do nothing and give node
 * EDDY_NO_NODE.
 *
 * These nodes go where their edges put them; what is built for a program goes
 * into its open loops and branches, by eddy/emit.h.
 */
#ifndef EDDY_CORE_EMIT_H
#define EDDY_CORE_EMIT_H

#include "core/graph/graph.h"

#define EDDY__NO_OUTPUT ((eddy_output){.node = EDDY_NO_NODE})

/* Zero it but for `graph` and `err`, which is borrowed and may be NULL. */
typedef struct eddy__emitter {
    eddy_graph *graph;
    eddy_error *err;
    eddy_status status;
    eddy__add_options options;
    /* Asked before every node, told after it; each may be NULL. */
    eddy_status (*check)(void *owner, eddy_error *err);
    eddy_status (*note)(void *owner, eddy_node node, eddy_error *err);
    void *owner;
} eddy__emitter;

/* Keeps `status` if it is the first failure; is all well? */
bool eddy__emitter_keep(eddy__emitter *e, eddy_status status);

/* Fails without memory unless `memory` is there; is all well? */
bool eddy__emitter_need(eddy__emitter *e, const void *memory);

/* Adds a node, its size filled in, and gives its output 0. */
eddy_output eddy__emitter_add(eddy__emitter *e, const eddy_node_spec *spec);

/*
 * The same by a name that no node has: `base`, or that with a number.  A NULL
 * base fails without memory.
 */
eddy_output eddy__emitter_add_as(eddy__emitter *e, const char *base,
                                 const eddy_node_spec *spec);

/* A Const with the name and the control inputs of `spec`; tensor retained. */
eddy_output eddy__emitter_const(eddy__emitter *e, const eddy_node_spec *spec,
                                eddy_tensor *tensor);

/* The same of the elements of a tensor, or of the one of a scalar. */
eddy_output eddy__emitter_elements(eddy__emitter *e, const eddy_node_spec *spec,
                                   eddy_dtype dtype, const eddy_shape *shape,
                                   const void *elements);
eddy_output eddy__emitter_scalar(eddy__emitter *e, const eddy_node_spec *spec,
                                 eddy_dtype dtype, const void *value);

/* Edges of nodes that are there. */
void eddy__emitter_connect(eddy__emitter *e, eddy_node node, uint32_t index,
                           eddy_output from);
void eddy__emitter_control(eddy__emitter *e, eddy_node node, eddy_node from);

#endif
