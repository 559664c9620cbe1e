/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unrolling: several trips of a loop in one iteration, or all trips one after
 * the other without a loop.
 */
#ifndef EDDY_UNROLL_H
#define EDDY_UNROLL_H

#include "eddy/graph.h"
#include "eddy/limits.h"

EDDY_BEGIN_DECLS

/* How many nodes unrolling may add, unless the options say otherwise. */
#define EDDY_UNROLL_MAX_NODES (UINT64_C(1) << 20)

typedef struct eddy_unroll_options {
    size_t size; /* sizeof(eddy_unroll_options) */
    /*
     * The loops to unroll, by the names of their frames, `while/while_context`,
     * or what they begin with, `while`.  None: all that can be.
     */
    const char *const *loops;
    size_t n_loops;
    /* Trips in one iteration; 0: all trips, and no loop remains. */
    uint64_t trips;
    /* Nodes that may be added; 0: EDDY_UNROLL_MAX_NODES. */
    uint64_t max_nodes;
    /*
     * The gradient of a loop invariant is a sum over the trips.  With this it
     * may be summed in another order than before, in fewer nodes; results are
     * the same.
     */
    bool reassociate_gradients;
    const eddy_limits *limits; /* NULL: none */
} eddy_unroll_options;

/*
 * Sets limits fit for graphs of unknown origin: 262,144 nodes, 160 MiB, 2
 * seconds.  Other members stay.
 */
EDDY_API void eddy_unroll_options_untrusted(eddy_unroll_options *options);

/*
 * Makes a graph in which loops are unrolled.  It is first lowered as
 * eddy_graph_lower does, with the default options, so it has no library.
 *
 * A loop is counted if an integer variable goes up or down by a constant and
 * the loop's predicate compares it with a constant or with a value from outside
 * of the loop by <, <=, > or >=; that is found from the primitives, so also in
 * a graph that was loaded.  Any other loop is guarded: each trip but the first
 * of an iteration stands in a branch by the loop's predicate, which may have no
 * state and no effect.
 *
 * With `trips` n above 1 a counted loop runs n trips an iteration as long as n
 * are left, and those that remain, none to n - 1, one an iteration, in the loop
 * as it was, whose nodes keep their names; 1 changes nothing.  The new loop's
 * nodes are named `<node>/unrolled`, copies for trip k `<node>/trip<k>`, frames
 * likewise, with `_1`, `_2` after a name that is taken.  With 0 the number of
 * trips must be known from constants; the Exits become Identities of their
 * names, and so do the Enters.
 *
 * Loops in the body of another are copied with it, with frames of their own.
 * Where a loop and another in it are both unrolled, the inner one is first.
 *
 * Results are the same to the bit, whatever the number of trips, none included,
 * and so are gradients that are taken of the result: those of a loop invariant
 * are summed in the order of the trips.  (Without a loop a sum does not start
 * from zero; only the sign of a zero can tell.)  Effects (ops that are
 * stateful) happen as often as before; those of different trips that no edge
 * orders have no order in one iteration.
 *
 * `options` may be NULL: all trips of every loop that can be.  Errors, with the
 * loop: NOT_FOUND (EDDY_E_UNKNOWN_NAME) if there is no such loop;
 * INVALID_ARGUMENT, EDDY_E_NOT_COUNTED if one that is named can be neither
 * counted nor guarded, if the most trips that it can make are not known where
 * all are wanted, or if something in it cannot be
 * copied, such as an op that draws random numbers; RESOURCE_EXHAUSTED,
 * EDDY_E_LIMIT_NODES.
 */
EDDY_API EDDY_MUST_USE eddy_status
eddy_graph_unroll(const eddy_graph *graph, const eddy_unroll_options *options,
                  eddy_graph **out_graph, eddy_error *err);

EDDY_END_DECLS

#endif
