/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits on the work that is done on a graph before it runs: loading, lowering,
 * unrolling, differentiating and planning.  Runs have limits of their own
 * (eddy/run.h).
 *
 * Each of those calls takes limits in its options.  One that exceeds them fails
 * and frees all that it has made; where it changes a graph, as gradients do,
 * the graph may keep nodes that nothing uses.
 */
#ifndef EDDY_LIMITS_H
#define EDDY_LIMITS_H

#include "eddy/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

EDDY_BEGIN_DECLS

typedef struct eddy_limits {
    size_t size; /* sizeof(eddy_limits) */
    /*
     * Nodes that the call may make, 0 for no limit: those of the file, those of
     * the plan, those that are added to the graph.  Beyond it:
     * RESOURCE_EXHAUSTED, EDDY_E_LIMIT_NODES.
     */
    uint64_t max_nodes;
    /*
     * Bytes that the call may hold of the context's allocator at one time, its
     * result with them, but for the elements of constants that a graph has
     * already; 0 for no limit.  Beyond it: RESOURCE_EXHAUSTED,
     * EDDY_E_LIMIT_BYTES.
     */
    uint64_t max_bytes;
    /*
     * Nanoseconds from the start of the call until it fails with
     * DEADLINE_EXCEEDED (EDDY_E_DEADLINE); 0: never.
     */
    uint64_t timeout_ns;
    /*
     * NULL, or a function that the call asks now and then, from its own thread,
     * whether to give up: it then fails with CANCELLED (EDDY_E_CANCELLED).  It
     * usually reads a flag that another thread sets.
     */
    bool (*is_cancelled)(void *user);
    void *user;
} eddy_limits;

EDDY_END_DECLS

#endif
