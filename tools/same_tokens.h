/* SPDX-License-Identifier: Apache-2.0 */
/* Are two recorded runs of one graph the same tokens, in whatever order? */
#ifndef EDDY_TOOLS_SAME_TOKENS_H
#define EDDY_TOOLS_SAME_TOKENS_H

#include "eddy/trace.h"

/*
 * Each token of one is a token of the other: node by name, frame path,
 * iteration, live or dead, output taken or input had, and values by their
 * summaries.  Times, workers and bytes are not looked at.  Both are of runs
 * that are over, and are indexed here.  Errors: INTERNAL with the first token
 * of `a` that `b` does not have so; RESOURCE_EXHAUSTED.
 */
EDDY_MUST_USE eddy_status eddy__same_tokens(eddy_trace *a, eddy_trace *b,
                                            eddy_error *err);

#endif
