/* Copies of nodes in their own graph, as rewrites of loops make them. */
#ifndef EDDY_FRAMES_NODE_COPY_H
#define EDDY_FRAMES_NODE_COPY_H

#include "core/graph/graph.h"

/* Which node, and what of it is not as it was. */
typedef struct eddy__node_copy {
    eddy_node of;
    const char *name;
    const char *frame_name; /* the attribute; NULL: as it was */
} eddy__node_copy;

/*
 * Adds a copy without control inputs and with open data inputs, which
 * eddy__graph_connect sets: loops have edges that go back.  Colocation, which
 * is with nodes of other names, is left out.
 */
eddy_status eddy__copy_node(eddy_graph *graph, const eddy__node_copy *copy,
                            eddy__arena *scratch, eddy_node *out_node,
                            eddy_error *err);

#endif
