/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX's control flow: Loop, If and Scan, as loops and branches of a graph.
 *
 * The body of a loop may use any value from outside; it is captured.  What it
 * puts out in each iteration is stacked; without iterations the stack has a
 * first dimension of 0, then those dimensions of an item that can be known from
 * the graph, in the first iteration if there were one, and 0 for others.
 *
 * A call that fails leaves the graph and its open constructs as they were.  All
 * fail with EDDY_E_ARGUMENT for a specification of the wrong size, a missing
 * body or NULL for an array; EDDY_E_INPUT_COUNT where nothing is wanted of it;
 * EDDY_E_DTYPE for a trip count that is no int64; EDDY_E_PREDICATE for a
 * condition that is no bool; EDDY_E_SHAPE for either if it is known to be
 * neither a scalar nor of shape [1] (in a run as well); EDDY_E_INPUT_DTYPE for
 * a value that changes its dtype; with what the body fails with; and
 * RESOURCE_EXHAUSTED without memory.
 */
#ifndef EDDY_ONNX_LOOP_H
#define EDDY_ONNX_LOOP_H

#include "eddy/control_flow.h"

EDDY_BEGIN_DECLS

typedef struct eddy_onnx_loop_spec {
    size_t size;      /* sizeof(eddy_onnx_loop_spec) */
    const char *name; /* the loop's scope; NULL or "": `loop` */
    /*
     * ONNX's M and cond; each is NULL for the empty name.  An int64 and a bool,
     * both of shape [] or [1].
     *
     *     M     cond
     *     NULL  NULL    for (i = 0;; i++)           for ever
     *     NULL  c       for (i = 0; c; i++)         while; with true do-while
     *     m     NULL    for (i = 0; i < m; i++)     for
     *     m     c       for (i = 0; i < m && c; i++)
     *
     * c is `condition` before the first iteration and then what the body gave
     * in the one before.  Without `condition` what the body gives is ignored,
     * as ONNX's text has it.
     */
    const eddy_output *trip_count;
    const eddy_output *condition;
    /* The first carried values; their shapes may change, not their dtypes. */
    const eddy_output *initial;
    size_t n_carried;
    size_t n_scan_outputs;
    /*
     * Gets the iteration (int64, scalar), the condition (bool, scalar: true)
     * and the carried values; gives the condition, the next carried values, and
     * one item of each scan output.
     */
    eddy_part_fn body;
    void *user;                  /* handed to it */
    int64_t parallel_iterations; /* 0: 10 */
    bool no_back_prop;           /* as in eddy_while_spec */
    bool swap_memory;
} eddy_onnx_loop_spec;

/*
 * A Loop.  `out_results` gets the carried values after the last iteration, then
 * the scan outputs, stacked along a new first dimension.
 */
EDDY_API EDDY_MUST_USE eddy_status
eddy_onnx_loop(eddy_graph *graph, const eddy_onnx_loop_spec *spec,
               eddy_output *out_results, eddy_error *err);

typedef struct eddy_onnx_if_spec {
    size_t size;           /* sizeof(eddy_onnx_if_spec) */
    const char *name;      /* NULL or "": `if` */
    eddy_output condition; /* a bool of shape [] or [1] */
    eddy_branch then_branch, else_branch;
    size_t n_results; /* of each */
} eddy_onnx_if_spec;

/* An If: an eddy_cond that also takes a condition of shape [1]. */
EDDY_API EDDY_MUST_USE eddy_status eddy_onnx_if(eddy_graph *graph,
                                                const eddy_onnx_if_spec *spec,
                                                eddy_output *out_results,
                                                eddy_error *err);

/* How a Scan goes over an input, or stacks an output; zero is the default. */
typedef struct eddy_onnx_scan_axis {
    int64_t axis; /* negative: from the last dimension, -1, on */
    bool reverse; /* from the last slice to the first */
} eddy_onnx_scan_axis;

typedef struct eddy_onnx_scan_spec {
    size_t size;                /* sizeof(eddy_onnx_scan_spec) */
    const char *name;           /* NULL or "": `scan` */
    const eddy_output *initial; /* of the states, which keep their shape */
    size_t n_states;
    const eddy_output *inputs; /* one at least */
    size_t n_inputs;
    size_t n_outputs;
    const eddy_onnx_scan_axis *input_axes;  /* one an input; NULL: default */
    const eddy_onnx_scan_axis *output_axes; /* one an output; NULL: default */
    /*
     * Gets the states and a slice of each input without its axis; gives the
     * next states and an item of each output.
     */
    eddy_part_fn body;
    void *user;
    int64_t parallel_iterations; /* 0: 10 */
    bool no_back_prop;
    bool swap_memory;
} eddy_onnx_scan_spec;

/*
 * A Scan, of opset 9 and later: as many iterations as the inputs, which must
 * agree in that (EDDY_E_SHAPE, in a run as well), are long along their axes.
 * `out_results` gets the states after the last, then the outputs, stacked along
 * their axes.  EDDY_E_RANK for an input that is known to be a scalar,
 * EDDY_E_INDEX for an axis that a known rank does not have, EDDY_E_SHAPE for a
 * state that is known to change its shape; what only a run can know fails
 * there.
 */
EDDY_API EDDY_MUST_USE eddy_status
eddy_onnx_scan(eddy_graph *graph, const eddy_onnx_scan_spec *spec,
               eddy_output *out_results, eddy_error *err);

EDDY_END_DECLS

#endif
