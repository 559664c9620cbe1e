/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lowering: calls, If, Case and While become primitives, in a graph of their
 * own.  What a function holds is copied to where it is called, so that there is
 * one graph, and one liveness rule, for all.
 *
 * The rewrite has three passes.  The first expands: it goes through the calls
 * from the outside in and adds the nodes of every body, with open inputs.  The
 * second goes from the inside out and finds what stands for the end of each
 * call.  The third connects everything.
 */
#ifndef EDDY_FRAMES_LOWER_H
#define EDDY_FRAMES_LOWER_H

#include "eddy/lower.h"
#include "frames/analysis/selection.h"

/* What is asked of the graph, by its own nodes. */
typedef struct eddy__lower_request {
    const eddy__selection *selection;
    const eddy_output *fetches;
    size_t n_fetches;
    const eddy_node *targets;
    size_t n_targets;
    uint64_t max_nodes;   /* that calls may add; 0: EDDY_LOWER_MAX_NODES */
    eddy__budget *budget; /* of the lowered graph too; NULL: no limit */
    uint32_t depth;       /* gradients of functions that this is part of */
} eddy__lower_request;

/*
 * The same by the nodes of the lowered graph.  There are further targets: side
 * effects that must happen though no value needs them.  The arrays are in the
 * arena that was handed in; `graph` belongs to the caller.
 */
typedef struct eddy__lowered {
    eddy_graph *graph;
    const eddy_output *feeds; /* as many as those of the selection */
    const eddy_output *fetches;
    const eddy_node *targets;
    size_t n_targets;
} eddy__lowered;

/* Is there anything to lower?  Allocates nothing. */
bool eddy__needs_lowering(const eddy__selection *selection);

/* Lowers the nodes of a selection; the others are left out. */
eddy_status eddy__lower(const eddy__lower_request *request, eddy__arena *arena,
                        eddy__lowered *out_lowered, eddy_error *err);

/* All of a graph, into one with that budget; 0: EDDY_LOWER_MAX_NODES. */
eddy_status eddy__lower_whole(const eddy_graph *graph, uint64_t max_nodes,
                              eddy__budget *budget, eddy_graph **out_graph,
                              eddy_error *err);

#endif
