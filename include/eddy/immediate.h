/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops run at once: tensors in, tensors out, without a graph or a plan of one's
 * own.
 *
 *     eddy_immediate_op(now, "AddV2", inputs, 2, &sum, &err);
 *
 * Behind a call is a plan of the op alone.  It is kept, with what its run
 * needs, for later calls of the same op with the same attributes and dtypes of
 * inputs, whatever their shapes; when there are too many, the one that was not
 * used for the longest time goes.  What a call computes is what a node of a
 * graph does, to the bit.
 *
 * Calls run in a session: random ops go on with their numbers from call to
 * call.  A handle can neither be given nor got, so ops on variables, arrays and
 * stacks cannot be called, nor the primitives of control flow.
 *
 * An eddy_immediate may be used by any number of threads at once; each call
 * runs in its thread, or in the workers of the context while that thread waits.
 * It may not be used from within a kernel.
 */
#ifndef EDDY_IMMEDIATE_H
#define EDDY_IMMEDIATE_H

#include "eddy/graph.h"
#include "eddy/session.h"

EDDY_BEGIN_DECLS

typedef struct eddy_immediate eddy_immediate;

typedef struct eddy_immediate_options {
    size_t size;           /* sizeof(eddy_immediate_options) */
    size_t max_plans;      /* that are kept; 0: 256 */
    eddy_session *session; /* NULL: one of its own; retained */
    bool keep_denormals;   /* as in eddy_run_options */
} eddy_immediate_options;

/* `options` may be NULL.  `ctx` must outlive it. */
EDDY_API EDDY_MUST_USE eddy_status
eddy_immediate_create(eddy_context *ctx, const eddy_immediate_options *options,
                      eddy_immediate **out_now, eddy_error *err);

/* Whether arithmetic at once keeps denormals, as the options said. */
EDDY_API bool eddy_immediate_keeps_denormals(const eddy_immediate *now);

/* Accepts NULL; not while a call is under way. */
EDDY_API void eddy_immediate_destroy(eddy_immediate *now);

/* The context that it was created with.  @thread any */
EDDY_API eddy_context *eddy_immediate_context(const eddy_immediate *now);

/* How many plans are kept now.  @thread any */
EDDY_API size_t eddy_immediate_plans(eddy_immediate *now);

/* What to run; all of it is borrowed for the call. */
typedef struct eddy_immediate_call {
    size_t size; /* sizeof(eddy_immediate_call) */
    const char *op;
    eddy_tensor *const *inputs; /* in the order of the op's definition */
    size_t n_inputs;
    /* As in eddy_node_spec: what follows from inputs may be left out. */
    const eddy_attr *attrs;
    size_t n_attrs;
} eddy_immediate_call;

/*
 * Runs an op, which must have `n_outputs` outputs.  `out_outputs` gets tensors
 * that the caller releases; on failure all of them are NULL.  A plan of an
 * attribute that is a tensor is not kept.  Errors: those of eddy_graph_add,
 * eddy_plan_create and a run; EDDY_E_OUTPUT_INDEX for another number of
 * outputs.  @thread any
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_immediate_run(
    eddy_immediate *now, const eddy_immediate_call *call,
    eddy_tensor **out_outputs, size_t n_outputs, eddy_error *err);

/* Shorthand for an op with one output and without attributes.  @thread any */
EDDY_API EDDY_MUST_USE eddy_status eddy_immediate_op(
    eddy_immediate *now, const char *op, eddy_tensor *const *inputs,
    size_t n_inputs, eddy_tensor **out_output, eddy_error *err);

/*
 * Computes a part of a loop or branch that runs at once, as an eddy_part_fn
 * builds one: results out of `n` inputs, which it borrows.  Each result is a
 * reference that it gives away; those that it has set when it fails are
 * released by the caller, the others it finds NULL.
 */
typedef eddy_status (*eddy_immediate_fn)(eddy_immediate *now, void *user,
                                         eddy_tensor *const *inputs, size_t n,
                                         eddy_tensor **out_results,
                                         eddy_error *err);

EDDY_END_DECLS

#endif
