/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of what `eddy inspect` prints; each complains when it fails. */
#ifndef EDDY_TOOLS_INSPECT_H
#define EDDY_TOOLS_INSPECT_H

#include "tools/message.h"

#include "eddy/analysis.h"

/*
 * How often each op occurs, in the graph and in the functions of its library,
 * and those that the context does not know.
 */
EDDY_MUST_USE eddy__exit eddy__inspect_ops(const eddy_context *ctx,
                                           const eddy_graph *graph);

/*
 * What can be fed, and what can be fetched and that no node uses; `analysis`
 * says which nodes run in loops.
 */
EDDY_MUST_USE eddy__exit eddy__inspect_ends(const eddy_graph *graph,
                                            const eddy_analysis *analysis);

/* The frames as a tree, and what was found odd in them. */
EDDY_MUST_USE eddy__exit eddy__inspect_frames(const eddy_graph *graph,
                                              const eddy_analysis *analysis);

/*
 * The predicates that choose branches, with their Switches and what runs on
 * each side; and what one side alone uses though it runs always.
 */
EDDY_MUST_USE eddy__exit eddy__inspect_branches(const eddy_graph *graph,
                                                const eddy_analysis *analysis);

/* Prints which side of which predicate a branch is. */
void eddy__print_branch(const eddy_graph *graph, const eddy_analysis *analysis,
                        uint32_t branch);

/* Prints `node` or `node:index`. */
void eddy__inspect_print_output(const eddy_graph *graph, eddy_output output);

/* Zeroed room for `n` elements, or NULL after a complaint. */
void *eddy__inspect_allocate(size_t n, size_t size);

#endif
