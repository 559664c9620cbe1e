/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients: a rewrite of the graph.  It adds nodes, made of the primitives,
 * stacks and ordinary ops, so the result can be run, saved, and differentiated
 * again.
 *
 * A loop gets a second loop that runs backward.  What that one needs of an
 * iteration is pushed on a stack in the forward loop and popped in the gradient
 * loop; loop invariants and constants are not.  docs/autodiff.md draws it.
 */
#ifndef EDDY_GRADIENTS_H
#define EDDY_GRADIENTS_H

#include "eddy/limits.h"
#include "eddy/op.h"

EDDY_BEGIN_DECLS

/*
 * What the gradient of a loop does for the values of its trips; docs/tapes.md.
 * The bits of the result do not depend on it.
 */
typedef enum eddy_tape_policy {
    /* The attribute `_eddy_tape` of its LoopCond says it; without: to keep. */
    EDDY_TAPE_DEFAULT,
    EDDY_TAPE_KEEP, /* all of them, on stacks: bytes grow with the trips */
    /*
     * Only states, about sqrt(2 n) of n trips; the gradient makes the trips
     * between two of them again.  A loop whose trips can't be made again, such
     * as one with effects, keeps them.
     *
     * With `tape_bytes` such loops hold at most so many bytes of states and
     * tapes together, if the sizes of both are known beforehand, and make trips
     * again as often as that takes, by the binomial schedule.  Such a gradient
     * has no gradient itself (EDDY_E_NO_GRADIENT).
     */
    EDDY_TAPE_RECOMPUTE,
    /*
     * Tapes for as many loops as `tape_bytes` allow, by what is known of shapes
     * and trips, the smallest first; the others make their trips again, and
     * those whose trips can't be made again spill.  For all loops only.
     */
    EDDY_TAPE_AUTO,
    /*
     * All of them, on stacks, of which a run that holds more than its options
     * allow (eddy/run.h) puts the oldest into a file.
     */
    EDDY_TAPE_SPILL,
} eddy_tape_policy;

typedef struct eddy_loop_tape {
    const char *frame; /* the frame name of a loop */
    eddy_tape_policy policy;
} eddy_loop_tape;

typedef struct eddy_gradient_options {
    size_t size; /* sizeof(eddy_gradient_options) */
    /*
     * One a y: the tensor to start from, of its shape and dtype, in its frame
     * or one around it; node EDDY_NO_NODE, or NULL for all of them: ones.
     */
    const eddy_output *grad_ys;
    const eddy_output *stop; /* taken as constants */
    size_t n_stop;
    /* A name scope for the nodes that are added; NULL: "gradients". */
    const char *prefix;
    /* Zeros in place of EDDY_NO_NODE where no y depends on an x. */
    bool zeros_if_unconnected;
    const eddy_limits *limits; /* on what is added; NULL: none */
    /*
     * The policy of all loops, and those of single ones, which come before it.
     * It is noted in the graph, as `_eddy_tape` of each LoopCond, and so is
     * that of later calls.
     */
    eddy_tape_policy tape;
    const eddy_loop_tape *loop_tapes;
    size_t n_loop_tapes;
    /* EDDY_TAPE_AUTO: 0 is 64 MiB; EDDY_TAPE_RECOMPUTE: 0 is no bound. */
    uint64_t tape_bytes;
} eddy_gradient_options;

/*
 * Sets limits fit for graphs of unknown origin: 262,144 nodes, 160 MiB, 2
 * seconds.  Other members stay.
 */
EDDY_API void eddy_gradient_options_untrusted(eddy_gradient_options *options);

/*
 * Adds the gradient of the sum of all elements of `ys` with respect to each of
 * `xs` to the graph, into `out_gradients` (n_xs of them): of the shape and
 * dtype of the x, or node EDDY_NO_NODE if no y depends on it through
 * differentiable ops.
 *
 * All ys lie in one frame.  When that is the body of a loop, so do the
 * gradients: one an iteration.  An x lies in the same frame, where it varies
 * for the iteration, or in one around it; what it did in iterations before
 * counts then.  Where that x is not a real one of a known shape with at most 16
 * elements, each iteration makes those before it again: their ops must have no
 * state and no effect, but that they may read variables which no loop changes
 * and arrays that one scatter has filled (these reads become Gathers).
 *
 * A construct of eddy/control_flow.h may be open; the gradients can be used
 * where the ys are.  Those with respect to an x outside of an open loop, on
 * whose variables the ys depend, are made when it ends: eddy_while_end fails if
 * they cannot be, and the output is an Identity, also where the x turns out not
 * to matter: then of zeros.  Variables in `stop` count as given.
 *
 * `options` may be NULL.  Functional control flow must have been lowered.
 * Errors: UNIMPLEMENTED (EDDY_E_NO_GRADIENT) for an op without a gradient or
 * one that cannot be made again, which names the node; INVALID_ARGUMENT for
 * outputs that do not exist or have no gradient by their dtype, for frames as
 * above, and for stacks that are not used as a tape.  After a failure the graph
 * computes what it did, but may have further nodes, which nothing uses.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_gradients(
    eddy_graph *graph, const eddy_output *ys, size_t n_ys,
    const eddy_output *xs, size_t n_xs, const eddy_gradient_options *options,
    eddy_output *out_gradients, eddy_error *err);

/*
 * Forward mode: adds the derivative of each y along a direction, its tangent,
 * into `out_tangents` (n_ys of them): the product of the Jacobian of y with
 * `tangents`, one an x, of its shape and dtype, in its frame or one around it;
 * node
 * EDDY_NO_NODE, or NULL for all of them, is ones.  A tangent has the shape,
 * the dtype and the frame of its y, and is EDDY_NO_NODE if the y depends on no
 * x through differentiable ops.
 *
 * A loop variable gets a tangent variable in the same loop, so nothing is put
 * on tapes; it costs about as much as the values themselves, whatever the
 * number of ys.  Gradients of tangents and tangents of gradients work.
 *
 * An x inside a loop varies for the iteration that it is in; the ys must then
 * be in that loop.  A y inside a loop has its tangent there, one an iteration,
 * and what an x outside did in all iterations before counts.  Of constructs
 * that are open holds what is said above.
 *
 * Of the options `grad_ys` is not used, and `prefix` is "tangents" by itself.
 * An op has a tangent if it has a gradient.  Errors and failures are as above.
 */
EDDY_API EDDY_MUST_USE eddy_status
eddy_jvp(eddy_graph *graph, const eddy_output *ys, size_t n_ys,
         const eddy_output *xs, size_t n_xs, const eddy_output *tangents,
         const eddy_gradient_options *options, eddy_output *out_tangents,
         eddy_error *err);

/*
 * Adds the product of the Hessian of the sum of all elements of `ys` with
 * `vectors`, one an x as the tangents of eddy_jvp are: forward mode over the
 * gradient, without the Hessian.  `out_products` has one an x, of its shape and
 * dtype, or EDDY_NO_NODE where it is zero because nothing leads to it.
 */
EDDY_API EDDY_MUST_USE eddy_status
eddy_hvp(eddy_graph *graph, const eddy_output *ys, size_t n_ys,
         const eddy_output *xs, size_t n_xs, const eddy_output *vectors,
         const eddy_gradient_options *options, eddy_output *out_products,
         eddy_error *err);

/* ---- a gradient of a program's own for a part of a graph ---- */

/*
 * Defines a gradient under a name, which is written as that of an op and is
 * none: NULL or a name that is taken fail as eddy_op_register does, and the
 * same holds of threads.
 */
EDDY_API EDDY_MUST_USE eddy_status
eddy_gradient_define(eddy_context *ctx, const char *name,
                     eddy_gradient_fn gradient, eddy_error *err);

/*
 * Gives the part of the graph between `inputs` and `outputs` that gradient:
 * `out_results` (n_outputs of them) are the outputs again, through a node that
 * also reads the inputs; who uses them has their gradients go through the
 * function, and not through the part.  It is called with that node: the
 * gradient of output i is given i, input i is input n_outputs + i, and so is
 * its gradient.  Forward mode uses it too.
 *
 * The node is an IdentityN with the attribute `_gradient_op_type`, as
 * TensorFlow writes such, so a graph from a file has its own once they are
 * defined; where one is not, differentiating the node fails.  Errors:
 * NOT_FOUND (EDDY_E_NO_GRADIENT) for a name that was not defined, and those of
 * eddy_graph_add.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_custom_gradient(
    eddy_graph *graph, const char *name, const eddy_output *outputs,
    size_t n_outputs, const eddy_output *inputs, size_t n_inputs,
    eddy_output *out_results, eddy_error *err);

/* ---- what the gradient of an op may ask and do ---- */

/*
 * One node that is being differentiated.  Outputs that these calls give and
 * take are live where its gradient is computed, which for a node of a loop is
 * the gradient loop: the forward values are brought there as needed.
 *
 * The first failure sticks: after it all calls do nothing and give node
 * EDDY_NO_NODE, and the walk ends with it; so a gradient need not check.
 */

/* Values of the node itself. */
EDDY_API eddy_output eddy_gradient_input(eddy_gradient *g, uint32_t i);
EDDY_API eddy_output eddy_gradient_output(eddy_gradient *g, uint32_t i);

/* The gradient of output `i`; zeros if there is none. */
EDDY_API eddy_output eddy_gradient_given(eddy_gradient *g, uint32_t i);

/* Does output `i` have a gradient?  At least one has. */
EDDY_API bool eddy_gradient_is_given(const eddy_gradient *g, uint32_t i);

/* Is a gradient of input `i` of use to anybody? */
EDDY_API bool eddy_gradient_is_wanted(const eddy_gradient *g, uint32_t i);

EDDY_API uint32_t eddy_gradient_inputs(const eddy_gradient *g);
EDDY_API uint32_t eddy_gradient_outputs(const eddy_gradient *g);
EDDY_API eddy_dtype eddy_gradient_input_dtype(const eddy_gradient *g,
                                              uint32_t i);
EDDY_API bool eddy_gradient_attr(const eddy_gradient *g, const char *name,
                                 eddy_attr *out_attr);

/* As far as it is known without running. */
EDDY_API const eddy_shape *eddy_gradient_input_shape(const eddy_gradient *g,
                                                     uint32_t i);
EDDY_API const eddy_shape *eddy_gradient_output_shape(const eddy_gradient *g,
                                                      uint32_t i);

/* The shape of input `i` as a vector of int32; its elements are not needed. */
EDDY_API eddy_output eddy_gradient_shape_of(eddy_gradient *g, uint32_t i);

/*
 * A text that no other gradient of the graph has: the source that gives it
 * TensorArrays of its own.
 */
EDDY_API const char *eddy_gradient_source(const eddy_gradient *g);

/* Adds a node and gives its output 0. */
EDDY_API eddy_output eddy_gradient_add(eddy_gradient *g, const char *op,
                                       const eddy_output *inputs,
                                       size_t n_inputs, const eddy_attr *attrs,
                                       size_t n_attrs);

/* A constant; `tensor` is retained. */
EDDY_API eddy_output eddy_gradient_const(eddy_gradient *g, eddy_tensor *tensor);

/*
 * Sets the gradient of input `i`, of its shape and dtype, or adds to it.  An
 * input for which nothing is set has none.
 */
EDDY_API void eddy_gradient_set(eddy_gradient *g, uint32_t i,
                                eddy_output gradient);

/* Records why there is no gradient; returns `code`. */
EDDY_API eddy_status eddy_gradient_fail(eddy_gradient *g, eddy_status code,
                                        eddy_detail detail, const char *format,
                                        ...) EDDY_PRINTF(4, 5);

EDDY_END_DECLS

#endif
