/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of the shapes of a graph's outputs while it is built: of every
 * value that a run can put there, whatever the iteration, if nothing is fed in
 * its place.
 *
 * Nodes are looked at in the order of their numbers, when somebody asks or a
 * node is added with `checks_shapes`.  A Merge whose loop is still open, which
 * has its Enter twice, is unknown unless _assume says otherwise; once the back
 * edge is there, its loop is looked at as a whole.
 *
 * Invariant: what stands here of nodes below `n_done` follows from the graph as
 * it is; a call that changes an edge takes `n_done` back to the node.
 */
#ifndef EDDY_CORE_KNOWN_SHAPES_H
#define EDDY_CORE_KNOWN_SHAPES_H

#include "eddy/graph.h"

typedef struct eddy__known_shapes {
    size_t n_done;
    size_t *first;   /* a node: its output 0 in `ids` */
    uint32_t *maker; /* a node: whose output 0 its own are, or EDDY_NO_NODE */
    size_t first_capacity, maker_capacity;
    uint32_t *ids; /* an output: a number in `shapes` */
    size_t n_ids, ids_capacity;
    eddy_shape *shapes; /* each once; 0 is the unknown one */
    size_t n_shapes, shapes_capacity;
    uint32_t *slots; /* a hash table of `shapes`: a number plus 1; 0: empty */
    size_t n_slots;  /* a power of two, or 0 */
} eddy__known_shapes;

struct eddy__node;

/*
 * Fails as the shape function of `node`, which is about to be added, fails for
 * what is known of its inputs; or without memory.
 */
eddy_status eddy__known_shapes_check(const eddy_graph *graph,
                                     const struct eddy__node *node,
                                     eddy_error *err);

/* What is known of an output that is there; unknown without memory. */
eddy_shape eddy__known_shapes_of(const eddy_graph *graph, eddy_output output);

/*
 * `shape` is that of an output for as long as no edge of its node changes;
 * false without memory.
 */
bool eddy__known_shapes_assume(const eddy_graph *graph, eddy_output output,
                               const eddy_shape *shape);

/* Forgets what follows from nodes from `node` on. */
void eddy__known_shapes_forget(const eddy_graph *graph, eddy_node node);

void eddy__known_shapes_destroy(eddy__known_shapes *known,
                                const eddy_allocator *allocator);

#endif
