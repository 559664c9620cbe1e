/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops and branches as MXNet's control flow operators have them: foreach,
 * while_loop and cond, as nodes of a graph, and run at once on tensors, with
 * the same results.
 *
 *     foreach      states = first states
 *                  for each item along the first dimension of the inputs:
 *                      outputs of the step, states = body(item, states)
 *                  results: the outputs of all steps, stacked along a new first
 *                  dimension, and the states after the last
 *     while_loop   while condition(variables), at most so many times:
 *                      outputs of the step, variables = body(variables)
 *                  results: the outputs, stacked, and the last variables
 *     cond         then() or otherwise(), by a predicate
 *
 * A part of a graph is built by an eddy_part_fn (eddy/control_flow.h), a part
 * that runs at once is an eddy_immediate_fn (eddy/immediate.h).  Both get their
 * inputs as one array and give their results as one: items, then states; and
 * outputs, then new states.  Values from outside are simply used.
 *
 * Outputs: those of every step have one shape and dtype.  What those of no
 * steps are the graph says, or the specification's `output_items`.  Where they
 * do not say it in full, a while_loop tries a step on the first variables, to
 * see what it would put out, and drops the values; a foreach has no item for
 * that, and a run of no steps fails.  So does one of a while_loop whose step
 * fails then, or, in a graph, has a state or an effect.
 *
 * States and variables keep their dtypes, and their shapes too, unless there
 * are no outputs or `changes_shape` is set; what is known to break that is
 * refused (EDDY_E_SHAPE).
 *
 * Predicates are scalars or hold one element, of bool or of a number, for which
 * 0 is false (EDDY_E_PREDICATE).
 *
 * A call that fails leaves the graph as it was, but that names made up
 * afterwards may have other numbers.  Its errors are INVALID_ARGUMENT where
 * nothing else is said.  docs/control_flow/mxnet.md says what the loops become
 * and how they differ from MXNet's.
 */
#ifndef EDDY_MXNET_H
#define EDDY_MXNET_H

#include "eddy/control_flow.h"
#include "eddy/immediate.h"

EDDY_BEGIN_DECLS

/* What a step puts out, as far as it is known. */
typedef struct eddy_mxnet_item {
    eddy_dtype dtype; /* EDDY_INVALID: whatever it is */
    eddy_shape shape; /* of one step's; rank -1: whatever it is */
} eddy_mxnet_item;

/* ---- in a graph ---- */

typedef struct eddy_mxnet_foreach_spec {
    size_t size;      /* sizeof(eddy_mxnet_foreach_spec) */
    const char *name; /* NULL or "": `foreach` */
    /* One at least, of rank 1 or more; their first dimensions are equal. */
    const eddy_output *inputs;
    size_t n_inputs;
    const eddy_output *states; /* the first; none: a map */
    size_t n_states;
    size_t n_outputs; /* of a step; 0: a fold */
    /* Out of an item of each input and the states: outputs, new states. */
    eddy_part_fn body;
    void *user;
    const eddy_mxnet_item *output_items; /* NULL, or one an output */
    bool changes_shape;
    int64_t parallel_iterations; /* 0: 10 */
} eddy_mxnet_foreach_spec;

/*
 * Adds a foreach.  `out_outputs` gets `n_outputs` values and `out_states`
 * `n_states`; either may be NULL if it gets none.  A run fails where the
 * lengths of the inputs differ (EDDY_E_ASSERTION).
 *
 * Errors: EDDY_E_INPUT_COUNT without inputs, or where nothing would come out;
 * EDDY_E_RANK for an input that is a scalar; EDDY_E_DIM for lengths that are
 * known to differ; EDDY_E_INPUT_DTYPE for a state that changes its dtype, or an
 * output of another one than `output_items` says, EDDY_E_SHAPE likewise; what
 * `body` returns.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_mxnet_foreach(
    eddy_graph *graph, const eddy_mxnet_foreach_spec *spec,
    eddy_output *out_outputs, eddy_output *out_states, eddy_error *err);

typedef struct eddy_mxnet_while_spec {
    size_t size;                  /* sizeof(eddy_mxnet_while_spec) */
    const char *name;             /* NULL or "": `while_loop` */
    const eddy_output *variables; /* the first values, one at least */
    size_t n_variables;
    size_t n_outputs; /* of a step; may be 0 */
    /* Out of the variables: the predicate; and outputs, new variables. */
    eddy_part_fn condition;
    eddy_part_fn body;
    void *user; /* handed to both */
    /*
     * The loop ends after so many steps even if its condition still holds: a
     * number above 0, or else a scalar of an integer dtype.  With outputs there
     * must be one.
     */
    int64_t max_iterations;
    const eddy_output *max_iterations_from;
    const eddy_mxnet_item *output_items; /* NULL, or one an output */
    bool changes_shape;
    int64_t parallel_iterations; /* 0: 10 */
} eddy_mxnet_while_spec;

/*
 * Adds a while_loop.  `out_outputs` gets `n_outputs` values, whose first
 * dimension is the maximum, with zeros in the rows after the last step (a
 * string has no zero: such a run fails); it may be NULL if there are none.
 * `out_variables` gets `n_variables`, and `out_steps`, unless NULL, how many
 * steps were taken, an int32 scalar.  The rows of zeros pass no gradient on.
 *
 * The condition is computed once more when the maximum is reached, and its
 * result is not looked at.  A maximum below 0 that comes as a tensor is none
 * without outputs, and fails the run with them.
 *
 * Errors: EDDY_E_INPUT_COUNT without variables; EDDY_E_VALUE for outputs
 * without a maximum, two maxima, or one that is negative or above 2^31 - 1;
 * EDDY_E_DTYPE for one that is no integer; others as for eddy_mxnet_foreach.
 */
EDDY_API EDDY_MUST_USE eddy_status
eddy_mxnet_while_loop(eddy_graph *graph, const eddy_mxnet_while_spec *spec,
                      eddy_output *out_outputs, eddy_output *out_variables,
                      eddy_output *out_steps, eddy_error *err);

typedef struct eddy_mxnet_cond_spec {
    size_t size;      /* sizeof(eddy_mxnet_cond_spec) */
    const char *name; /* NULL or "": `cond` */
    eddy_output predicate;
    const eddy_output *inputs; /* handed to both branches; may be none */
    size_t n_inputs;
    size_t n_outputs; /* of either branch, of the same dtypes */
    eddy_part_fn then;
    eddy_part_fn otherwise;
    void *user; /* handed to both */
} eddy_mxnet_cond_spec;

/*
 * Adds a cond; `out_outputs` gets those of the branch that is taken.  Errors:
 * as for eddy_cond_begin and eddy_cond_end; EDDY_E_PREDICATE for a predicate
 * that is known not to hold one element.
 */
EDDY_API EDDY_MUST_USE eddy_status
eddy_mxnet_cond(eddy_graph *graph, const eddy_mxnet_cond_spec *spec,
                eddy_output *out_outputs, eddy_error *err);

/* ---- at once ---- */

/*
 * As in a graph, with tensors in place of outputs.  Results are references that
 * the caller releases; on failure all of them are NULL.  An error of a part is
 * handed on with the steps that it happened in as its frame,
 * outer[3]/inner[17]. Further errors: EDDY_E_OUTPUT_MISSING for a result that a
 * part has left NULL; EDDY_E_UNINITIALIZED for outputs of no steps that
 * `output_items` says nothing of, or too little; RESOURCE_EXHAUSTED
 * (EDDY_E_MEMORY).  @thread any
 */
typedef struct eddy_mxnet_foreach_now_spec {
    size_t size;      /* sizeof(eddy_mxnet_foreach_now_spec) */
    const char *name; /* for errors; NULL or "": `foreach` */
    eddy_tensor *const *inputs;
    size_t n_inputs;
    eddy_tensor *const *states;
    size_t n_states;
    size_t n_outputs;
    eddy_immediate_fn body;
    void *user;
    const eddy_mxnet_item *output_items;
    bool changes_shape;
} eddy_mxnet_foreach_now_spec;

EDDY_API EDDY_MUST_USE eddy_status eddy_mxnet_foreach_now(
    eddy_immediate *now, const eddy_mxnet_foreach_now_spec *spec,
    eddy_tensor **out_outputs, eddy_tensor **out_states, eddy_error *err);

typedef struct eddy_mxnet_while_now_spec {
    size_t size;      /* sizeof(eddy_mxnet_while_now_spec) */
    const char *name; /* for errors; NULL or "": `while_loop` */
    eddy_tensor *const *variables;
    size_t n_variables;
    size_t n_outputs;
    eddy_immediate_fn condition;
    eddy_immediate_fn body;
    void *user;
    int64_t max_iterations;
    eddy_tensor *max_iterations_from;
    const eddy_mxnet_item *output_items;
    bool changes_shape;
} eddy_mxnet_while_now_spec;

/*
 * The condition is not computed once the maximum is reached.  `out_steps` may
 * be NULL.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_mxnet_while_loop_now(
    eddy_immediate *now, const eddy_mxnet_while_now_spec *spec,
    eddy_tensor **out_outputs, eddy_tensor **out_variables, int64_t *out_steps,
    eddy_error *err);

typedef struct eddy_mxnet_cond_now_spec {
    size_t size;      /* sizeof(eddy_mxnet_cond_now_spec) */
    const char *name; /* for errors; NULL or "": `cond` */
    eddy_tensor *predicate;
    eddy_tensor *const *inputs;
    size_t n_inputs;
    size_t n_outputs;
    eddy_immediate_fn then;
    eddy_immediate_fn otherwise;
    void *user;
} eddy_mxnet_cond_now_spec;

EDDY_API EDDY_MUST_USE eddy_status
eddy_mxnet_cond_now(eddy_immediate *now, const eddy_mxnet_cond_now_spec *spec,
                    eddy_tensor **out_outputs, eddy_error *err);

EDDY_END_DECLS

#endif
