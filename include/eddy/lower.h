/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lowering: calls of functions, and If, Case and While over functions, become
 * the primitives that run them.
 */
#ifndef EDDY_LOWER_H
#define EDDY_LOWER_H

#include "eddy/graph.h"
#include "eddy/limits.h"

EDDY_BEGIN_DECLS

/* How many nodes lowering may add, unless the options say otherwise. */
#define EDDY_LOWER_MAX_NODES (UINT64_C(1) << 20)

typedef struct eddy_lower_options {
    size_t size; /* sizeof(eddy_lower_options) */
    /* Nodes that may be added; 0: EDDY_LOWER_MAX_NODES. */
    uint64_t max_nodes;
    const eddy_limits *limits; /* NULL: none */
} eddy_lower_options;

/*
 * Sets limits fit for graphs of unknown origin: 262,144 nodes, 96 MiB, 0.4
 * seconds.  Other members stay.
 */
EDDY_API void eddy_lower_options_untrusted(eddy_lower_options *options);

/*
 * Makes a graph in which everything that takes a function is lowered:
 * PartitionedCall, StatefulPartitionedCall, nodes whose op is the name of a
 * function, If, StatelessIf, Case, StatelessCase, While, StatelessWhile and
 * For. The graph has no library.
 *
 * All other nodes are there with their names.  In place of a node that was
 * lowered there is one of its name, an Identity, IdentityN or NoOp, that gives
 * the same outputs once all that the function does is done; what was made is
 * named `<node>/...`: the nodes of a called function `<node>/<node in it>`,
 * those of branches `<node>/then/...`, `else/...`, `branch0/...`, those of a
 * loop's functions `<node>/cond/...` and `body/...`, with `_1`, `_2` after a
 * name that is taken.  The same graph gives the same names.
 *
 * What a function does beside computing (ops that are stateful) happens once a
 * call, before everything that waits for the call by a control edge, in the
 * order of its control edges; one iteration of a While after the other.  A call
 * that is dead does nothing.
 *
 * A node of an unknown op is copied out of a function like any other, but such
 * a graph can't be saved if something reads the node: its outputs have no
 * numbers.
 *
 * eddy_plan_create does the same to what it needs.  `options` may be NULL.
 * Errors, with the node: NOT_FOUND for an unknown function, INVALID_ARGUMENT
 * for one that takes or gives something else (EDDY_E_FUNCTION) or calls itself
 * (EDDY_E_RECURSION, with the way around), RESOURCE_EXHAUSTED beyond a limit.
 */
EDDY_API EDDY_MUST_USE eddy_status
eddy_graph_lower(const eddy_graph *graph, const eddy_lower_options *options,
                 eddy_graph **out_graph, eddy_error *err);

EDDY_END_DECLS

#endif
