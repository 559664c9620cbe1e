/* SPDX-License-Identifier: Apache-2.0 */
/* The recorded graphs, as benchmarks.json lists them. */
#ifndef EDDY_BENCHMARKS_SUITE_H
#define EDDY_BENCHMARKS_SUITE_H

#include "eddy/graph.h"

#include <jansson.h>

#define SUITE_MAX_FETCHES 8

/* One recorded graph. */
typedef struct recording {
    const char *name; /* borrowed from the listing */
    uint64_t iterations;
    eddy_graph *graph;
    eddy_output fetches[SUITE_MAX_FETCHES];
    size_t n_fetches;
} recording;

/* Reads `folder`/benchmarks.json; NULL, and a message on stderr, on failure. */
json_t *suite_read(const char *folder);

/* Loads what `name` and its entry in the listing say. */
EDDY_MUST_USE eddy_status recording_load(recording *r, eddy_context *ctx,
                                         const char *folder, const char *name,
                                         const json_t *entry, eddy_error *err);
void recording_deinit(recording *r);

#endif
