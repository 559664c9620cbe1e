/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What passes that join nodes share: who reads a node, and how another takes
 * its place.
 */
#ifndef EDDY_PLAN_READERS_H
#define EDDY_PLAN_READERS_H

#include "runtime/plan/plan.h"

/* How often nodes are read: by edges of any kind, and by the caller. */
typedef struct eddy__readers {
    const eddy__plan_build *build;
    uint32_t *n; /* a node */
} eddy__readers;

eddy_status eddy__count_readers(const eddy__plan_build *build,
                                eddy__arena *scratch, eddy__readers *out);

/* Is an output of the node fed? */
bool eddy__is_fed(const eddy__readers *r, eddy_node v);

/* What is known of an output as its readers see it: it may be fed. */
const eddy_shape *eddy__seen_shape(const eddy__readers *r, eddy_output output);

/*
 * Makes node `v` of a graph that only the plan has the one of `spec`, under the
 * name that it has; its outputs' numbers must mean the same.
 */
eddy_status eddy__replace_node(eddy_graph *graph, eddy_node v,
                               const eddy_node_spec *spec, eddy_error *err);

#endif
