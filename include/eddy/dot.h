/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as Graphviz DOT: frames as nested clusters, branches as colours. */
#ifndef EDDY_DOT_H
#define EDDY_DOT_H

#include "eddy/analysis.h"

EDDY_BEGIN_DECLS

/* Gets the text in pieces; returns false to stop. */
typedef bool (*eddy_write_cb)(void *user, const char *text, size_t length);

/*
 * Writes `graph` as DOT: a cluster a frame, loop variables labelled in it; a
 * colour a branch, with a number that the cluster "branches" explains; control
 * edges dotted, back edges dashed, and at the edges from a Switch the number of
 * the output.  `analysis` NULL draws neither frames nor branches.
 * CANCELLED if `write` stopped it.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_dot_write(const eddy_graph *graph,
                                                  const eddy_analysis *analysis,
                                                  eddy_write_cb write,
                                                  void *user, eddy_error *err);

EDDY_END_DECLS

#endif
