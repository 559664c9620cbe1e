/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network of sequences (eddy/cntk.h) as it is described, and the plan of its
 * loops.
 *
 * Nodes are numbered in the order in which they were added; only a declared
 * node may refer to a later one, so every cycle goes through a declared node.
 * References are to values: a node and which of its results.
 */
#ifndef EDDY_FRONTENDS_NETWORK_H
#define EDDY_FRONTENDS_NETWORK_H

#include "core/base/memory.h"
#include "eddy/cntk.h"

#define EDDY__NO_VALUE UINT32_MAX

typedef enum eddy__cell_kind {
    EDDY__CELL_SEQUENCE,
    EDDY__CELL_OUTSIDE,
    EDDY__CELL_DECLARED,
    EDDY__CELL_DELAY,
    EDDY__CELL_FUNCTION,
} eddy__cell_kind;

typedef struct eddy__cell {
    eddy__cell_kind kind;
    const char *name;
    eddy_output from; /* SEQUENCE, OUTSIDE; of a DELAY the initial value */
    int64_t delay;    /* negative: future */
    const char *op;   /* a FUNCTION that is one op, or NULL */
    eddy_branch part; /* else what builds it */
    eddy_cntk_value *inputs; /* DELAY: 1; DECLARED: 1, NO_VALUE if unresolved */
    size_t n_inputs;
    eddy_cntk_value first; /* its values */
    size_t n_values;
    eddy_shape item; /* DECLARED: of rank -1 if unknown */
} eddy__cell;

struct eddy_cntk {
    eddy_graph *graph;
    eddy__arena arena;
    const char *name;
    eddy__cell *cells;
    size_t n_cells, capacity;
    uint32_t *cell_of; /* of each value */
    size_t n_values, values_capacity;
    bool has_lengths;
    eddy_output lengths; /* of the sequences of a batch */
};

/* The value that a declared one stands for in the end; else `value`. */
eddy_cntk_value eddy__network_root(const eddy_cntk *network,
                                   eddy_cntk_value value);

static inline eddy__cell *eddy__cell_at(const eddy_cntk *network,
                                        eddy_cntk_value value)
{
    return &network->cells[network->cell_of[value]];
}

/* ---- network_plan.c ---- */

/* What is known of a cell once the loops are planned. */
typedef struct eddy__placing {
    bool is_needed;
    bool is_recurrent; /* in a cycle */
    uint32_t loop;     /* in which it is computed; see below */
    uint32_t component;
} eddy__placing;

/* No loop: a sequence, a value from outside, a shift. */
#define EDDY__NO_LOOP UINT32_MAX

/*
 * Loops in an order in which each depends on earlier ones alone.  Loop 0 is of
 * what is computed from sequences before all others; it may be empty.
 */
typedef struct eddy__loops {
    eddy__placing *placing; /* of each cell */
    uint32_t *order;        /* cells, what they depend on first */
    size_t n_order;
    int *direction; /* of each loop: 1, or -1 for one by future values */
    size_t n_loops;
} eddy__loops;

/*
 * Plans what the values need, in `arena`.  Errors with EDDY_E_RECURRENCE and
 * the names of what is wrong.
 */
eddy_status eddy__network_plan(const eddy_cntk *network,
                               const eddy_cntk_wanted *wanted, size_t n,
                               eddy__arena *arena, eddy__loops *out,
                               eddy_error *err);

#endif
