/* SPDX-License-Identifier: Apache-2.0 */
/* What a run counted. */
#ifndef EDDY_STATS_H
#define EDDY_STATS_H

#include "eddy/status.h"

#include <stdint.h>

EDDY_BEGIN_DECLS

/*
 * Executions count nodes of the plan, primitives included, once each time that
 * one ran (live) or was passed over with dead outputs (dead); a node that the
 * plan has made of several counts as those.  Iterations are those started over
 * all frames but the root, frames likewise.  Bytes are what the run held of its
 * allocator at the most, cached blocks included; allocations are its calls of
 * the allocator during the run.
 */
typedef struct eddy_stats {
    uint64_t live_executions;
    uint64_t dead_executions;
    uint64_t iterations;
    uint64_t frames;
    uint64_t peak_bytes;
    uint64_t allocations;
    /* Suspended nodes (asynchronous kernels): at the most at one time. */
    uint64_t peak_suspended;
} eddy_stats;

EDDY_END_DECLS

#endif
