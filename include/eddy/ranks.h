/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ranks of a partition (eddy/partition.h), all in this process: each runs
 * its graph in a thread of its own, and they exchange their values in memory.
 * The results are those of the graph on one rank, to the bit.
 *
 * It is how a graph is tried that is to run on several machines, and how such a
 * partition is tested.
 */
#ifndef EDDY_RANKS_H
#define EDDY_RANKS_H

#include "eddy/partition.h"
#include "eddy/run.h"
#include "eddy/trace.h"

EDDY_BEGIN_DECLS

typedef struct eddy_ranks eddy_ranks;

typedef struct eddy_ranks_options {
    size_t size; /* sizeof(eddy_ranks_options) */
    /* How each rank is planned; feeds, fetches and targets are left alone. */
    const eddy_plan_options *plan;
    /*
     * How each rank runs; limits are those of one rank.  `done` is left alone.
     */
    const eddy_run_options *run;
    /*
     * Above 0: messages are held back and come in another order, drawn from it,
     * as they may on a network.  The results are the same.
     */
    uint64_t seed;
    /*
     * Not NULL: each rank is recorded so, for eddy_ranks_trace.  A frame and
     * nodes that are named need be on some rank only; `record` is called by the
     * threads of all ranks, with the trace of its own.
     */
    const eddy_trace_options *trace;
} eddy_ranks_options;

/*
 * Plans each rank.  The partition is not needed afterwards.  `options` may be
 * NULL.  Errors: those of eddy_plan_create and eddy_run_create, with the rank
 * before the message.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_ranks_create(
    const eddy_partition *partition, const eddy_ranks_options *options,
    eddy_ranks **out_ranks, eddy_error *err);

/* Not while an execution is under way; accepts NULL. */
EDDY_API void eddy_ranks_destroy(eddy_ranks *ranks);

/*
 * Runs all ranks once and waits for them.  `feeds` and `out_fetches` are those
 * of the partition's options, in their order; each fetched tensor is the
 * caller's to release.  A rank that fails ends all: the error is that of the
 * lowest rank that failed by itself, "rank 2: ..." its message.  On failure all
 * of `out_fetches` are NULL.  One execution at a time.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_ranks_run(eddy_ranks *ranks,
                                                  eddy_tensor *const *feeds,
                                                  eddy_tensor **out_fetches,
                                                  eddy_error *err);

/* Ends the execution under way with CANCELLED, on every rank.  @thread any */
EDDY_API void eddy_ranks_cancel(eddy_ranks *ranks);

/* The run of a rank, borrowed, for its statistics; NULL: no such rank. */
EDDY_API const eddy_run *eddy_ranks_at(const eddy_ranks *ranks, uint32_t rank);

/*
 * Makes one trace of what all ranks have recorded of the last execution, also
 * of one that has failed: read as any other, and destroyed by the caller.  It
 * outlives the ranks.  Errors: FAILED_PRECONDITION if they are not recorded, or
 * are processes, each of which has a part alone.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_ranks_trace(const eddy_ranks *ranks,
                                                    eddy_trace **out_trace,
                                                    eddy_error *err);

/*
 * In the last execution: how many messages were sent, and how many of them
 * nobody received, which is 0 unless it failed.
 */
EDDY_API uint64_t eddy_ranks_messages(const eddy_ranks *ranks,
                                      uint64_t *out_left);

EDDY_END_DECLS

#endif
