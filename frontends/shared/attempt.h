/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A front end's call, which leaves the graph as it was if it fails: constructs
 * that it has begun are closed, and every node that was added since is taken
 * back.
 *
 *     EDDY_TRY(eddy__attempt_begin(&attempt, graph, err));
 *     return eddy__attempt_end(&attempt, build(graph, ...));
 */
#ifndef EDDY_FRONTENDS_ATTEMPT_H
#define EDDY_FRONTENDS_ATTEMPT_H

#include "frames/build/builder.h"

typedef struct eddy__attempt {
    eddy_graph *graph;
    eddy__mark mark;
    size_t depth; /* of open constructs */
} eddy__attempt;

/* Notes how the graph is now; RESOURCE_EXHAUSTED without memory. */
eddy_status eddy__attempt_begin(eddy__attempt *attempt, eddy_graph *graph,
                                eddy_error *err);

/* Takes back what was added since unless `status` is OK; returns it. */
eddy_status eddy__attempt_end(const eddy__attempt *attempt, eddy_status status);

#endif
