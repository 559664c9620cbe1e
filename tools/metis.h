/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places by METIS: the nodes of a graph are dealt out so that ranks have about
 * as much to do as each other, and few bytes go between them.
 */
#ifndef EDDY_TOOLS_METIS_H
#define EDDY_TOOLS_METIS_H

#include "tools/request.h"

/* What a place begins with that METIS is to find; the number of ranks follows.
 */
#define EDDY__METIS "metis:"

/* The number of ranks in `metis:K`; false: it is none. */
bool eddy__metis_read(const char *place, uint32_t *out_ranks);

/*
 * A rank for each node of `lowered`, which is what lowering makes of `graph`,
 * in new memory that the caller frees; as many as the options' place says.  If
 * something is asked for, it is run once, and what nodes took and gave is what
 * counts; else every node counts the same.  The same costs give the same ranks.
 *
 * Errors: UNAVAILABLE without METIS; those of the run.
 */
EDDY_MUST_USE eddy_status eddy__metis_place(const eddy__request *request,
                                            const eddy_graph *graph,
                                            const eddy_graph *lowered,
                                            const eddy__options *options,
                                            uint32_t **out_ranks,
                                            eddy_error *err);

#endif
