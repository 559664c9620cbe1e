/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ranks of a partition (eddy/partition.h), which together do what the graph
 * does on one rank, to the bit.  They are threads of this process, which
 * exchange their values in memory; or processes of one machine, of which this
 * is one.
 *
 * Processes meet in a folder.  Each makes the same partition of the same graph
 * and says which of its ranks it is; each calls the same functions in the same
 * order, and gets the same results and errors.
 */
#ifndef EDDY_RANKS_H
#define EDDY_RANKS_H

#include "eddy/partition.h"
#include "eddy/run.h"

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
     * as they may on a network.  The results are the same.  Not for processes.
     */
    uint64_t seed;
    /*
     * A folder, for the ranks to be processes that meet there, over sockets of
     * which it gets the names; none but this job's may use it meanwhile.  Who
     * can write in it can speak to the ranks.  This process is `rank`.  NULL:
     * threads of this process.
     */
    const char *folder;
    uint32_t rank;
    uint64_t meet_ns; /* how long to wait for the others; 0: half a minute */
} eddy_ranks_options;

/*
 * Plans each rank, or this process's own, once it has met the others.  The
 * partition is not needed afterwards.  `options` may be NULL.  Errors: those of
 * eddy_plan_create and eddy_run_create, with the rank before the message.  Of
 * processes: DEADLINE_EXCEEDED if one does not come, FAILED_PRECONDITION if it
 * runs another graph or has cut it otherwise, UNAVAILABLE if one is lost.
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
 *
 * Of processes, each is given all feeds, of which it takes its own, and gets
 * all fetches.  One that is lost ends all with UNAVAILABLE, also what is asked
 * of them later; one that does not answer does so some seconds after a failure
 * or the deadline.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_ranks_run(eddy_ranks *ranks,
                                                  eddy_tensor *const *feeds,
                                                  eddy_tensor **out_fetches,
                                                  eddy_error *err);

/*
 * Ends the execution under way with CANCELLED, on every rank; one process may
 * do so for all.  @thread any
 */
EDDY_API void eddy_ranks_cancel(eddy_ranks *ranks);

/*
 * The run of a rank, borrowed, for its statistics; NULL: there is no such rank,
 * or it is another process.
 */
EDDY_API const eddy_run *eddy_ranks_at(const eddy_ranks *ranks, uint32_t rank);

/*
 * Of the last execution: how many messages were sent, and how many of them
 * nobody received, which is 0 unless it failed.
 */
EDDY_API uint64_t eddy_ranks_messages(const eddy_ranks *ranks,
                                      uint64_t *out_left);

EDDY_END_DECLS

#endif
