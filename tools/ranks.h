/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request that is run on several ranks of this process: where nodes are
 * placed, by a file or at random, and from there to the values fetched.
 */
#ifndef EDDY_TOOLS_RANKS_H
#define EDDY_TOOLS_RANKS_H

#include "tools/request.h"

#include "eddy/partition.h"

typedef struct eddy__rank_places {
    eddy_place *places;
    char **texts; /* their prefixes, its own */
    size_t n, capacity;
    uint32_t n_ranks;
} eddy__rank_places;

/* Is a graph to be cut, by what the options say? */
bool eddy__options_want_ranks(const eddy__options *options);

/*
 * The places of --place FILE, lines `PREFIX rank N` and comments from `#` on;
 * without a file, with --seed, one drawn for each node of the graph, lowered.
 * There are as many ranks as --ranks says, or as the file names.  Those of
 * --place metis:K are found for `measured`, which is run; NULL: they are
 * refused.  Must be deinitialised, also when this fails.
 */
EDDY_MUST_USE eddy_status eddy__rank_places_init(eddy__rank_places *places,
                                                 const eddy__request *measured,
                                                 const eddy_graph *graph,
                                                 const eddy__options *options,
                                                 eddy_error *err);
void eddy__rank_places_deinit(eddy__rank_places *places);

/* A graph cut for a request. */
EDDY_MUST_USE eddy_status eddy__ranks_request_partition(
    const eddy__request *request, const eddy_graph *graph,
    const eddy__options *options, const eddy__rank_places *places,
    eddy_partition **out_partition, eddy_error *err);

/*
 * Cuts the graph, runs all ranks once, and gives the values fetched, which the
 * caller releases; also `recorded`, if the request has a `recording`, even of a
 * run that has failed.
 */
EDDY_MUST_USE eddy_status eddy__request_run_ranks(eddy__request *request,
                                                  const eddy_graph *graph,
                                                  const eddy__options *options,
                                                  eddy_tensor **out_fetches,
                                                  eddy_error *err);

#endif
