/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host callbacks: nodes whose value a C function of the host computes in every
 * execution, from the tensors that the node reads.  What TensorFlow calls
 * PyFunc, for the two values that steer a graph: a predicate and an index.
 *
 * The graph keeps the function and its `user` pointer in a table of its own,
 * which its copies and the plans made from it copy; the node knows only a
 * number in that table.  So nothing that comes from a file can name a function:
 * a node of these ops that is loaded is refused by every plan that needs it,
 * and a graph that has one is refused when it is saved, by the node's name
 * (UNIMPLEMENTED, EDDY_E_HOST_CALLBACK).
 *
 * Lifetime: what `user` points to must live as long as the graph, its copies,
 * and the plans that were made of any of them.
 *
 * Threads: a run calls them from whichever thread drives it, one after another:
 * within one run never two at the same time, and in the order of the iterations
 * of the loop that holds the node (such a loop and those around it have one
 * iteration under way at a time).  Runs of one plan on several threads call on
 * several threads at once.  A function may use other graphs, plans and runs; it
 * may not touch the run that calls it, but for eddy_run_cancel.
 *
 * For gradients they are constants: none goes through them, and loops and
 * branches that they steer are differentiable like any other.
 */
#ifndef EDDY_HOST_H
#define EDDY_HOST_H

#include "eddy/op.h"

EDDY_BEGIN_DECLS

/*
 * Computes the value.  `call` answers eddy_kernel_inputs, _input,
 * _input_tensor, _iteration, _cancelled and _fail; nothing else may be asked of
 * it, and nothing after the function has returned.  Returns EDDY_OK with
 * `*out_value` set, or what eddy_kernel_fail gave, whose message the run then
 * reports with the node's name, frame path and iteration.
 */
typedef eddy_status (*eddy_host_predicate_fn)(eddy_kernel *call, void *user,
                                              bool *out_value);
typedef eddy_status (*eddy_host_selector_fn)(eddy_kernel *call, void *user,
                                             int32_t *out_value);

typedef struct eddy_host_spec {
    size_t size;               /* sizeof(eddy_host_spec) */
    const char *name;          /* NULL or "": made from the op */
    const eddy_output *inputs; /* any number, of any dtypes and shapes */
    size_t n_inputs;
    const eddy_node *controls;
    size_t n_controls;
    void *user;
    /*
     * For a selector: above 0, any other value than -1 to n_choices - 1 fails
     * the run (OUT_OF_RANGE, EDDY_E_INDEX).
     */
    int32_t n_choices;
} eddy_host_spec;

/*
 * Adds a node whose output 0 is a bool, or an int32, of rank 0.  Errors: as
 * eddy_graph_add; INVALID_ARGUMENT (EDDY_E_ARGUMENT) without a function or with
 * a negative n_choices.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_graph_add_host_predicate(
    eddy_graph *graph, const eddy_host_spec *spec, eddy_host_predicate_fn call,
    eddy_output *out, eddy_error *err);
EDDY_API EDDY_MUST_USE eddy_status eddy_graph_add_host_selector(
    eddy_graph *graph, const eddy_host_spec *spec, eddy_host_selector_fn call,
    eddy_output *out, eddy_error *err);

EDDY_END_DECLS

#endif
