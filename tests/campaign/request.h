/* SPDX-License-Identifier: Apache-2.0 */
/* What a campaign asks of a graph that it knows nothing of. */
#ifndef EDDY_TESTS_CAMPAIGN_REQUEST_H
#define EDDY_TESTS_CAMPAIGN_REQUEST_H

#include "tests/campaign/outcome.h"

#define REQUEST_FETCHES 6
#define REQUEST_FEEDS 16
#define REQUEST_GRADIENTS 3
#define REQUEST_NODES 20000

/*
 * Names of outputs, `node:index`, and the values that are fed; all owned.  The
 * nodes from `n_own` on are none to differentiate by, unless it is 0: they may
 * be what a gradient that failed has left.
 */
typedef struct request {
    char *feeds[REQUEST_FEEDS];
    char *fetches[REQUEST_FETCHES];
    eddy_tensor *values[REQUEST_FEEDS];
    size_t n_feeds, n_fetches, n_own;
} request;

/* Can values of the dtype be fed and fetched? */
bool request_is_value(eddy_dtype dtype);

/* A bool a node, does anything read it; the caller's to free. */
bool *request_read_nodes(const eddy_graph *graph);

/* Feeds the first placeholders; fetches the last outputs that nothing reads. */
void request_init(request *r, eddy_context *ctx, const eddy_graph *graph);
void request_deinit(request *r);

/* The plan of `graph` for the request; NULL with the reason in `err`. */
eddy_plan *request_plan(const request *r, const eddy_graph *graph,
                        eddy_optimize level, eddy_error *err);

/*
 * The same, but where that fails the request keeps only the fetches that can be
 * planned, each by itself.  NULL if there are none.
 */
eddy_plan *request_plan_any(request *r, const eddy_graph *graph);

/* How a request differentiates. */
typedef enum request_way {
    REQUEST_REVERSE,
    REQUEST_TWICE,     /* the gradients of the sum of the gradients */
    REQUEST_FORWARD,   /* the tangents of the fetches, along the xs */
    REQUEST_RECOMPUTE, /* in reverse; loops make their trips again */
    REQUEST_SPILL,     /* in reverse; tapes go to a file */
    REQUEST_WAYS,
} request_way;

/*
 * Adds the derivatives of the fetches by the first floats of the graph, and
 * makes the request for them, which must be deinitialised either way.
 * NOT_FOUND if there is nothing to differentiate.
 */
eddy_status request_gradients(const request *r, request_way way,
                              eddy_graph *graph, request *out_request,
                              eddy_error *err);

#endif
