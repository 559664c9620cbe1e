/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recurrences as CNTK writes them: networks of sequences that refer to their
 * own past and future values, as if the graph had cycles, and become loops.
 *
 * A network is described first and built then:
 *
 *     eddy_cntk_create(graph, "rnn", &net, &err);
 *     eddy_cntk_sequence(net, x_tensor, &x, &err);
 *     eddy_cntk_declare(net, "h", NULL, &h, &err);           not known yet
 *     eddy_cntk_past_value(net, h, 1, zero, &before, &err);  h a step ago
 *     eddy_cntk_apply(net, &step, (eddy_cntk_value[]){before, x}, 2, &v, &err);
 *     eddy_cntk_resolve(net, h, v, &err);                    this is what h is
 *     eddy_cntk_build(net, &wanted, 1, &h_tensor, &err);
 *     eddy_cntk_destroy(net);
 *
 * All sequences of a network have the same length: their first dimension, which
 * may be known only when the graph runs (a run in which they differ fails,
 * EDDY_E_ASSERTION).  A batch of sequences of several lengths has its longest
 * there, and says how many items of each count (eddy_cntk_set_lengths).
 *
 * What depends on itself, by however many past or future values, is one loop:
 * each strongly connected component of the network becomes one.  A past or
 * future value that is in no cycle only shifts a sequence.  Functions in no
 * cycle are computed in the loops that give or take their values, or in one of
 * their own.  Refused, with the names of what is in the cycle
 * (EDDY_E_RECURRENCE): a cycle without a past or future value; one that has
 * both.
 *
 * A network belongs to one graph, which must outlive it, and to the thread of
 * that; describing adds nothing to the graph.  Every call fails with
 * INVALID_ARGUMENT, EDDY_E_ARGUMENT where an argument is NULL or no value of
 * the network.
 */
#ifndef EDDY_CNTK_H
#define EDDY_CNTK_H

#include "eddy/control_flow.h"

EDDY_BEGIN_DECLS

/* How far back or ahead a value may be referred to. */
#define EDDY_CNTK_MAX_DELAY 1024

typedef struct eddy_cntk eddy_cntk;

/* A sequence of a network: something that has a value at every step. */
typedef uint32_t eddy_cntk_value;

/* `name` is the scope of its loops; NULL or "": `recurrence`. */
EDDY_API EDDY_MUST_USE eddy_status eddy_cntk_create(eddy_graph *graph,
                                                    const char *name,
                                                    eddy_cntk **out_network,
                                                    eddy_error *err);

/* Accepts NULL.  What was built stays. */
EDDY_API void eddy_cntk_destroy(eddy_cntk *network);

/* ---- what is in it ---- */

/* The items of `tensor` along its first dimension. */
EDDY_API EDDY_MUST_USE eddy_status
eddy_cntk_sequence(eddy_cntk *network, eddy_output tensor,
                   eddy_cntk_value *out_value, eddy_error *err);

/* A value of the graph that is the same at every step. */
EDDY_API EDDY_MUST_USE eddy_status eddy_cntk_outside(eddy_cntk *network,
                                                     eddy_output value,
                                                     eddy_cntk_value *out_value,
                                                     eddy_error *err);

/*
 * A value that is said later (CNTK's placeholder, ForwardDeclaration), by
 * eddy_cntk_resolve.  `item`, if not NULL and all of it is known, is the shape
 * of its value at one step: initial values of other shapes are broadcast to it.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_cntk_declare(eddy_cntk *network,
                                                     const char *name,
                                                     const eddy_shape *item,
                                                     eddy_cntk_value *out_value,
                                                     eddy_error *err);

/*
 * Says what a declared value is.  EDDY_E_RECURRENCE if it has been said already
 * or if it is said to be itself.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_cntk_resolve(eddy_cntk *network,
                                                     eddy_cntk_value declared,
                                                     eddy_cntk_value value,
                                                     eddy_error *err);

/*
 * What `value` was `delay` steps ago, or will be in so many steps: 1 to
 * EDDY_CNTK_MAX_DELAY (else EDDY_E_VALUE).  Where there is no such step, it is
 * `initial`, of the dtype of the value and of its shape at one step; in no
 * cycle, or of a declared value with a known shape, it is broadcast.  Not of a
 * value from outside (EDDY_E_RECURRENCE), which has no steps.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_cntk_past_value(
    eddy_cntk *network, eddy_cntk_value value, int64_t delay,
    eddy_output initial, eddy_cntk_value *out_value, eddy_error *err);
EDDY_API EDDY_MUST_USE eddy_status eddy_cntk_future_value(
    eddy_cntk *network, eddy_cntk_value value, int64_t delay,
    eddy_output initial, eddy_cntk_value *out_value, eddy_error *err);

/* An op of one output and without attributes, on the values of each step. */
EDDY_API EDDY_MUST_USE eddy_status
eddy_cntk_op(eddy_cntk *network, const char *op, const eddy_cntk_value *inputs,
             size_t n_inputs, eddy_cntk_value *out_value, eddy_error *err);

/*
 * Anything that is computed at each step.  `build` is called once by each
 * eddy_cntk_build that needs it, in the loop where it belongs, with what the
 * inputs are at the step; what it reads from outside is captured.
 */
typedef struct eddy_cntk_function {
    size_t size;      /* sizeof(eddy_cntk_function) */
    const char *name; /* for errors; NULL or "": `function` */
    eddy_part_fn build;
    void *user;
    size_t n_results; /* at least one */
} eddy_cntk_function;

/* `out_values` gets `n_results` values. */
EDDY_API EDDY_MUST_USE eddy_status
eddy_cntk_apply(eddy_cntk *network, const eddy_cntk_function *function,
                const eddy_cntk_value *inputs, size_t n_inputs,
                eddy_cntk_value *out_values, eddy_error *err);

/*
 * The sequences are batches: the first dimension of an item is that of the
 * batch, and of sequence b the items from number lengths[b] on, a vector of
 * int32 or int64, are gaps.  A gap is no step of its sequence: a past or future
 * value goes by the items alone, what a recurrence ends with is what it has
 * after the last (or first) item, and in what is built gaps are zeros.  What is
 * computed of a gap in between is dropped, but it is computed: it should be
 * finite.  Every value at one step has the batch as its first dimension.
 *
 * Errors: EDDY_E_DTYPE, EDDY_E_SHAPE for what is no such vector.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_cntk_set_lengths(eddy_cntk *network,
                                                         eddy_output lengths,
                                                         eddy_error *err);

/* ---- what comes of it ---- */

typedef struct eddy_cntk_wanted {
    eddy_cntk_value value;
    /*
     * False: a tensor with the values of all steps along its first dimension,
     * in the order of the sequences.  True: the value that the recurrence ends
     * with, that of the last step, or of the first where it goes by future
     * values; the initial value if there are no steps.  Only of a value to
     * which a past or future value in its own cycle refers (EDDY_E_RECURRENCE).
     */
    bool is_final;
} eddy_cntk_wanted;

/*
 * Adds what is wanted to the graph, where it is now: in the innermost open
 * construct.  `out_results` gets one tensor for each wanted.  On failure the
 * graph and its constructs are as before.  Errors: EDDY_E_RECURRENCE as above,
 * and for a declared value that is needed and was not resolved;
 * EDDY_E_INPUT_COUNT if nothing that is wanted depends on a sequence;
 * EDDY_E_SHAPE for a sequence without items, for lengths that are known to
 * differ, and for a recurrent value of another shape than its initial value;
 * EDDY_E_INPUT_DTYPE for one of another dtype; and what the functions fail
 * with.
 */
EDDY_API EDDY_MUST_USE eddy_status
eddy_cntk_build(eddy_cntk *network, const eddy_cntk_wanted *wanted, size_t n,
                eddy_output *out_results, eddy_error *err);

/* ---- layers ---- */

typedef struct eddy_cntk_recurrence_spec {
    size_t size;      /* sizeof(eddy_cntk_recurrence_spec) */
    const char *name; /* NULL or "": `recurrence` or `fold` */
    /* Gets the states before, then an item of each sequence; gives the states.
     */
    eddy_part_fn step;
    void *user;
    const eddy_output *sequences; /* at least one */
    size_t n_sequences;
    const eddy_output *initial; /* of the states, at least one */
    size_t n_states;
    bool go_backwards;
    /* The results are those of all states, not of the first alone. */
    bool return_full_state;
    const eddy_output *lengths; /* of a batch; NULL: all are as long */
} eddy_cntk_recurrence_spec;

/*
 * Recurrence: the states at all steps.  Fold: what they are in the end, the
 * initial ones if there are no steps.  `out_results` gets one tensor, or
 * `n_states`.  Errors as of eddy_cntk_build; EDDY_E_INPUT_COUNT without states
 * or sequences.
 */
EDDY_API EDDY_MUST_USE eddy_status
eddy_cntk_recurrence(eddy_graph *graph, const eddy_cntk_recurrence_spec *spec,
                     eddy_output *out_results, eddy_error *err);
EDDY_API EDDY_MUST_USE eddy_status
eddy_cntk_fold(eddy_graph *graph, const eddy_cntk_recurrence_spec *spec,
               eddy_output *out_results, eddy_error *err);

typedef struct eddy_cntk_unfold_spec {
    size_t size;      /* sizeof(eddy_cntk_unfold_spec) */
    const char *name; /* NULL or "": `unfold` */
    /*
     * Gets the states; gives the new ones, of which the first is put out, or,
     * with `has_output`, what is put out and then the new states.
     */
    eddy_part_fn generator;
    /*
     * NULL, or gets what is put out and gives a bool scalar: is it the last?
     */
    eddy_part_fn until;
    void *user; /* handed to both */
    const eddy_output *initial;
    size_t n_states; /* at least one */
    bool has_output;
    /*
     * At most so many items are put out as `like` has along its first
     * dimension, times `length_increase` (0: 1), rounded down; or, if `like` is
     * NULL, `max_length`, an int32 or int64 scalar.
     */
    const eddy_output *like;
    double length_increase;
    const eddy_output *max_length;
} eddy_cntk_unfold_spec;

/*
 * UnfoldFrom: what the generator puts out, f(s), f(f(s)), ..., as one tensor.
 * `out_n_items`, if not NULL, gets how many items it has, int32.  Errors:
 * EDDY_E_INPUT_COUNT without states, EDDY_E_VALUE for a `length_increase` that
 * is not positive and finite, EDDY_E_ARGUMENT if nothing says how long it may
 * be, EDDY_E_PREDICATE for `until`; else as of eddy_cntk_build.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_cntk_unfold_from(
    eddy_graph *graph, const eddy_cntk_unfold_spec *spec,
    eddy_output *out_items, eddy_output *out_n_items, eddy_error *err);

EDDY_END_DECLS

#endif
