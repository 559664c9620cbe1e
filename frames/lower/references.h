/* SPDX-License-Identifier: Apache-2.0 */
/*
 * References to variables become handles.
 *
 * TensorFlow's reference edges carry a variable, which is read when a node that
 * wants a value starts.  In a plan such an edge carries the variable's handle,
 * of dtype resource, and every edge from one to an input that wants a value
 * gets a node `_ReadReference`, which waits for all that its consumer waits
 * for.  The ops that take or give references have kernels on handles.  Only the
 * plan's own copy of the graph is rewritten.
 *
 * TensorFlow's Identity of a reference is the variable's buffer, and so is what
 * is handed on from there: what is assigned later is seen by whoever reads it.
 * Where something in the plan may change a variable, such an edge is an alias:
 * it carries the handle, or in one execution of a Merge that and in another a
 * value, and each input that wants a value gets a node `_ReadAlias`.  A fetched
 * alias or reference has the value at the end of the run.
 */
#ifndef EDDY_FRAMES_REFERENCES_H
#define EDDY_FRAMES_REFERENCES_H

#include "frames/analysis/selection.h"

/* Is there anything to rewrite?  Allocates nothing. */
bool eddy__has_references(const eddy__selection *selection);

/*
 * Makes a copy of the graph, in which nodes have the same numbers, and rewrites
 * the nodes of the selection.  `fetches` become outputs of the copy that give
 * values; feeds and targets stay.  Errors: INVALID_ARGUMENT
 * (EDDY_E_INPUT_DTYPE) where a reference is wanted and a value is given.
 */
eddy_status eddy__lower_references(const eddy__selection *selection,
                                   eddy_output *fetches, size_t n_fetches,
                                   eddy_graph **out_graph, eddy_error *err);

#endif
