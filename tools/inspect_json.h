/* SPDX-License-Identifier: Apache-2.0 */
/* What `eddy inspect` knows of a graph, as one JSON object for programs. */
#ifndef EDDY_TOOLS_INSPECT_JSON_H
#define EDDY_TOOLS_INSPECT_JSON_H

#include "tools/message.h"

#include "eddy/analysis.h"
#include "eddy/savedmodel.h"

/*
 * Prints the object.  `analysis` is of `graph`, in which nothing takes a
 * function; `model` may be NULL.  Complains when it fails.
 */
EDDY_MUST_USE eddy__exit eddy__inspect_json(const eddy_context *ctx,
                                            const eddy_graph *graph,
                                            const eddy_analysis *analysis,
                                            const eddy_savedmodel *model);

#endif
