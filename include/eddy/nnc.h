/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops and branches as NNC has them: a parameterised while loop, whose
 * condition is looked at anywhere in its body and may be a function of the
 * host, and case_of, whose branch a function of the host may choose.
 *
 *     count = 0, parameters = first values
 *     forever:
 *         outputs, internals = before(count, parameters)
 *         unless the condition holds: the results are the outputs
 *         parameters = after(count, parameters, internals)
 *         count = count + 1
 *
 * So `before` is computed once more than `after`.  With nothing but the
 * condition in `before` it is a while loop, with nothing in `after` a do-while,
 * and otherwise a loop with a break in its middle.
 *
 * A loop is written with two functions that build its parts (eddy_nnc_while),
 * or made of nodes that a graph already has (eddy_nnc_split).  What it becomes
 * is one loop of primitives, with `before` twice: before the loop, for count 0,
 * and at the end of its body.  docs/control_flow/nnc.md has a drawing.
 *
 * Functions of the host: see eddy/host.h for threads, lifetimes and failures.
 * Loops that use them can be differentiated, but not saved.
 *
 * A call that fails leaves the graph as it was, but that names made up
 * afterwards may have other numbers.  Its errors are INVALID_ARGUMENT where
 * nothing else is said.
 */
#ifndef EDDY_NNC_H
#define EDDY_NNC_H

#include "eddy/control_flow.h"
#include "eddy/host.h"

EDDY_BEGIN_DECLS

/* ---- a loop, written with functions ---- */

typedef struct eddy_nnc_while_spec {
    size_t size;                /* sizeof(eddy_nnc_while_spec) */
    const char *name;           /* NULL or "": `while` */
    const eddy_output *initial; /* the parameters' first values */
    size_t n_parameters;
    size_t n_outputs;
    size_t n_internals; /* what `before` hands to `after` */
    /*
     * Out of count (an int64 scalar) and the parameters: the outputs, the
     * internals, and what the condition is about.  Called twice.
     */
    eddy_part_fn before;
    /*
     * Out of count, the parameters and the internals: the parameters' next
     * values.  May be NULL if there are no parameters.
     */
    eddy_part_fn after;
    void *user; /* handed to both */
    /*
     * The condition.  NULL: what `before` gives last is one bool scalar.  Else
     * it gives `n_condition` values last, which the function of the host gets,
     * after the count.
     */
    eddy_host_predicate_fn condition;
    void *condition_user;
    size_t n_condition;
    /*
     * Parameters, internals and outputs keep their dtypes, and unless this is
     * set their shapes; what is known to break that is refused.
     */
    bool changes_shape;
    int64_t parallel_iterations; /* 0: 10 */
    /*
     * NULL, or for each parameter whether it accumulates: then its next value
     * is what it is plus what `after` gives, a sum in the end.  A gradient that
     * is written as a loop sums up so what the iterations give.
     */
    const bool *accumulates;
} eddy_nnc_while_spec;

/*
 * Adds a loop.  `out_outputs` gets `n_outputs` values; `out_count`, which may
 * be NULL, the last count: how often `after` has run.  With no trips the
 * outputs are what `before` makes of the first values.
 *
 * Errors: EDDY_E_ARGUMENT for NULLs and sizes; EDDY_E_INPUT_COUNT for counts
 * that are too large; EDDY_E_PREDICATE for a condition that is no bool scalar;
 * EDDY_E_INPUT_DTYPE for a parameter, internal or output that changes its
 * dtype, or accumulates and is of no number's, EDDY_E_SHAPE likewise for a
 * change; what the functions return.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_nnc_while(
    eddy_graph *graph, const eddy_nnc_while_spec *spec,
    eddy_output *out_outputs, eddy_output *out_count, eddy_error *err);

/* ---- a loop, made of nodes of a graph ---- */

/*
 * At the end of an iteration `to` takes the value of `from`, or if it
 * accumulates `to + from`.
 */
typedef struct eddy_nnc_carried {
    eddy_output from; /* of a node inside, or a value from outside */
    eddy_output to;   /* from outside: what nodes inside read */
} eddy_nnc_carried;

/*
 * The nodes inside are those on the ways from the incoming nodes to the
 * outgoing nodes, the ends, and what is carried or asked for by the condition;
 * so are those on the ways from what reads a parameter or the counter.  A loop
 * is inside as a whole or not at all.  A node may be of several kinds.
 *
 * A value of a node without inputs and control inputs (a Const, a Placeholder)
 * may be read anywhere: reading it is no edge.  Of the others:
 *   - edges from outside lead to incoming nodes alone, and edges to outside
 *     come from outgoing nodes alone;
 *   - no edge from inside leads to an incoming node;
 *   - no edge from an outgoing node or an end leads to a node inside.
 *
 * `before` is what the outgoing nodes and the condition need, they included;
 * all else that is inside is `after`.  The condition is looked at when all
 * outgoing nodes have run, and the next iteration begins when all ends have.
 */
typedef struct eddy_nnc_split_spec {
    size_t size;               /* sizeof(eddy_nnc_split_spec) */
    const char *name;          /* NULL or "": `while` */
    const eddy_node *incoming; /* I-nodes */
    size_t n_incoming;
    const eddy_node *outgoing; /* condition-false output nodes */
    size_t n_outgoing;
    const eddy_node *ends; /* E-nodes */
    size_t n_ends;
    const eddy_nnc_carried *carried; /* the parameter map */
    size_t n_carried;
    /* NULL, or first values of the `to`s, in place of what they are. */
    const eddy_output *initial;
    /* NULL, or an int64 scalar from outside that stands for the count. */
    const eddy_output *counter;
    /* One bool scalar; or what the function gets after the count. */
    const eddy_output *tensors;
    size_t n_tensors;
    eddy_host_predicate_fn condition; /* NULL: the bool */
    void *condition_user;
    bool changes_shape; /* as in eddy_nnc_while_spec */
    int64_t parallel_iterations;
    /* NULL, or for each of the carried whether its `to` accumulates. */
    const bool *accumulates;
} eddy_nnc_split_spec;

/*
 * Makes a graph in which those nodes are a loop; `graph` stays as it is.  The
 * nodes outside have the names that they had.  Each outgoing node's name stands
 * for its values after the loop (an Identity, an IdentityN if it has several),
 * which consumers outside read.  Copies of the nodes inside are named
 * `while/node`, and those for count 0 `while_first/node`.
 *
 * `out_nodes`, which may be NULL, gets for each node of `graph` its number in
 * the new graph, EDDY_NO_NODE if it is inside and no outgoing node.
 *
 * All nodes that are named lie in the root frame: loops in each other are made
 * from the innermost on, the outer one around what the inner one became.  An
 * inner condition sees an outer count through a placeholder that the outer
 * split names as its `counter`.
 *
 * Errors: EDDY_E_SUBGRAPH where a rule above is broken, with the names of the
 * two nodes, where an incoming node leads to no outgoing node and no end, where
 * one of those is not reached from any, and where what is carried does not fit;
 * EDDY_E_FRAME_MIXED for nodes in loops; EDDY_E_UNKNOWN_OP for a node inside
 * whose op is unknown; and as eddy_nnc_while and eddy_analysis_create.
 */
EDDY_API EDDY_MUST_USE eddy_status
eddy_nnc_split(const eddy_graph *graph, const eddy_nnc_split_spec *spec,
               eddy_graph **out_graph, eddy_node *out_nodes, eddy_error *err);

/* ---- branches ---- */

typedef struct eddy_nnc_case_spec {
    size_t size;               /* sizeof(eddy_nnc_case_spec) */
    const char *name;          /* NULL or "": `case_of` */
    const eddy_output *inputs; /* what the results are if no branch is taken */
    size_t n_inputs;
    /*
     * Each builds, out of the inputs, as many results of the same dtypes.
     * Values from outside are simply used.
     */
    const eddy_branch *branches;
    size_t n_branches;
    /* The function that chooses, and what it gets.  NULL: by `index`. */
    eddy_host_selector_fn select;
    void *select_user;
    const eddy_output *select_inputs;
    size_t n_select_inputs;
    eddy_output index; /* an int32 scalar */
} eddy_nnc_case_spec;

/*
 * Adds branches of which that of the chosen index runs, from 0; at -1 none
 * does, and the results are the inputs.  A run fails if the host chooses
 * anything else (OUT_OF_RANGE, EDDY_E_INDEX); an `index` that is no branch's
 * takes none.
 *
 * `out_results` gets `n_inputs` values.  Errors: EDDY_E_ARGUMENT,
 * EDDY_E_INPUT_COUNT without branches; EDDY_E_INPUT_DTYPE for an index that is
 * no int32 or results that do not fit; EDDY_E_SHAPE for an index that is no
 * scalar; what a branch returns.
 */
EDDY_API EDDY_MUST_USE eddy_status
eddy_nnc_case_of(eddy_graph *graph, const eddy_nnc_case_spec *spec,
                 eddy_output *out_results, eddy_error *err);

EDDY_END_DECLS

#endif
