/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theano's scan: a step function over sequences and over earlier values of its
 * own outputs, by taps.
 *
 *     h[t] = step(x[t - 2], x[t], x[t + 1], h[t - 3], h[t - 1], w)
 *
 * The arguments of the step come in Theano's order: the taps of the first
 * sequence as they were given, of the second, ...; the taps of the first output
 * that has any, of the second, ...; what the shared values of the updates are
 * now; the non-sequences.  What the step reads beside them is captured by
 * itself, as in every construct of eddy/control_flow.h, in which these calls
 * may also stand and which the step may use.
 *
 * It becomes a while loop with TensorArrays: it can be differentiated, and
 * saved for TensorFlow.  docs/control_flow/theano.md says what differs from
 * Theano.
 *
 * A call that fails leaves the graph as it was, but that names made up
 * afterwards may have other numbers.  Errors name the scan and the node.
 */
#ifndef EDDY_THEANO_H
#define EDDY_THEANO_H

#include "eddy/control_flow.h"

EDDY_BEGIN_DECLS

/*
 * A sequence: a tensor of rank 1 or more, whose items are its slices along the
 * first dimension.  Tap k gives step t the item of time t + k.  The time of the
 * first step is such that the taps and tap 0 find an item: with taps -2, 0 and
 * 1 a sequence of 10 items serves 7 steps, and step 0 reads items 0, 2 and 3.
 */
typedef struct eddy_theano_sequence {
    eddy_output input;
    const int64_t *taps; /* NULL: one, 0 */
    size_t n_taps;
} eddy_theano_sequence;

/*
 * What the step gives for an output.  With `initial` later steps read it: tap
 * -k is the value of k steps ago.  Without taps that is -1, and `initial` is
 * one value.  With taps, unless it is -1 alone, `initial` has one row for each
 * time that they reach before step 0, the earliest first; further rows are not
 * read. All values of it have one shape.  Without `initial` it has no taps.
 */
typedef struct eddy_theano_output {
    const eddy_output *initial; /* NULL: none */
    const int64_t *taps;        /* NULL: one, -1; -1024 to -1 */
    size_t n_taps;
} eddy_theano_output;

/*
 * An entry of Theano's dictionary of updates: a shared value that every step
 * reads as the step before has left it.  `shared` is what it is before the
 * first step, such as the ReadVariableOp of a variable; it keeps its shape and
 * dtype.  `*out_value` gets what it is after the last step, which the program
 * may assign to the variable.
 */
typedef struct eddy_theano_update {
    eddy_output shared;
    eddy_output *out_value; /* may be NULL */
} eddy_theano_update;

typedef struct eddy_theano_spec {
    size_t size;      /* sizeof(eddy_theano_spec) */
    const char *name; /* NULL or "": `scan` */
    /*
     * Builds one step out of its arguments: its results are one value for each
     * output, the new value of each update and, with has_until, a boolean
     * scalar: whether it is the last one.  Another status than OK ends the scan
     * with it.
     */
    eddy_part_fn step;
    void *user; /* handed to it */
    const eddy_theano_sequence *sequences;
    size_t n_sequences;
    const eddy_theano_output *outputs; /* Theano's outputs_info */
    size_t n_outputs;
    const eddy_output *non_sequences;
    size_t n_non_sequences;
    /*
     * NULL: as many steps as the shortest sequence serves.  Else a scalar of
     * int32 or int64: so many.  A negative number, and one that a sequence does
     * not serve, is an error: of the call if it is known, else of the run
     * (EDDY_E_ASSERTION).
     */
    const eddy_output *n_steps;
    /*
     * 0 or -1: no.  Else gradients are those of the last so many steps alone:
     * what earlier steps read has none from them, and what they have made is a
     * constant.
     */
    int64_t truncate_gradient;
    bool go_backwards; /* step 0 has the last items, step 1 those before */
    bool has_until;    /* the step says when to stop */
    /* The step may read no values from outside but its arguments and Consts. */
    bool strict;
    int64_t parallel_iterations; /* 0: 10 */
    const eddy_theano_update *updates;
    size_t n_updates;
} eddy_theano_spec;

/*
 * A whole scan.  `out_outputs` gets one tensor for each output, with a row for
 * each step taken; `out_last`, if not NULL, its value after the last step: the
 * initial value if no step was taken, node EDDY_NO_NODE if it has no `initial`.
 * `out_n_steps`, if not NULL, gets the number of steps taken, int32.  With no
 * steps the rows of an output are none of the shape that one would have; where
 * that is not known before the run, the run fails.
 *
 * Errors (INVALID_ARGUMENT): EDDY_E_ARGUMENT for a malformed specification,
 * _INPUT_COUNT if neither a sequence nor n_steps says how many steps there are,
 * _VALUE for taps and numbers out of range, _SHAPE for what has too few rows or
 * changes its shape, _DTYPE for the dtype of n_steps, _INPUT_DTYPE for an
 * output that is not of the dtype of its initial value, _PREDICATE for `until`,
 * _VALUE_SCOPE for what a strict step captures.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_theano_scan(
    eddy_graph *graph, const eddy_theano_spec *spec, eddy_output *out_outputs,
    eddy_output *out_last, eddy_output *out_n_steps, eddy_error *err);

/*
 * Theano's map: the outputs have no initial values.  `out_outputs` gets them
 * stacked.  The default name is `map`.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_theano_map(eddy_graph *graph,
                                                   const eddy_theano_spec *spec,
                                                   eddy_output *out_outputs,
                                                   eddy_error *err);

/*
 * Theano's reduce, foldl and foldr: every output has an initial value, and
 * `out_last` gets the last value of each.  foldl goes forward and foldr
 * backward, whatever go_backwards says.  The default names are `reduce`,
 * `foldl` and `foldr`.
 */
EDDY_API EDDY_MUST_USE eddy_status
eddy_theano_reduce(eddy_graph *graph, const eddy_theano_spec *spec,
                   eddy_output *out_last, eddy_error *err);
EDDY_API EDDY_MUST_USE eddy_status
eddy_theano_foldl(eddy_graph *graph, const eddy_theano_spec *spec,
                  eddy_output *out_last, eddy_error *err);
EDDY_API EDDY_MUST_USE eddy_status
eddy_theano_foldr(eddy_graph *graph, const eddy_theano_spec *spec,
                  eddy_output *out_last, eddy_error *err);

EDDY_END_DECLS

#endif
