/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ranks of a partition (eddy/ranks.h) as processes, of which this is one:
 * of one machine, where they meet in a folder, or started by an MPI.  Each
 * makes the same partition of the same graph and says which of its ranks it is;
 * each calls the same functions in the same order, and gets the same results
 * and errors.
 *
 * Not in eddy.h.
 */
#ifndef EDDY_PROCESSES_H
#define EDDY_PROCESSES_H

#include "eddy/ranks.h"

EDDY_BEGIN_DECLS

typedef struct eddy_ranks_place {
    size_t size; /* sizeof(eddy_ranks_place) */
    /*
     * Where they meet, by sockets of which it gets the names; none but this
     * job's may use it meanwhile.  Who can write in it can speak to the ranks.
     */
    const char *folder; /* NULL: by MPI, which eddy_mpi_start has started */
    uint32_t rank;    /* which one this process is; with MPI, what that says */
    uint64_t meet_ns; /* how long to wait for the others; 0: half a minute */
} eddy_ranks_place;

/*
 * Meets the other ranks and plans this one.  `options` are those of
 * eddy_ranks_create; its seed is left alone.  The partition is not needed
 * afterwards.
 *
 * What eddy/ranks.h says of all ranks holds with these differences: feeds are
 * those of the whole partition, and each rank takes its own; each gets all
 * fetches; one that cancels does so for all; of other ranks there is no run.
 * One that is lost ends all with UNAVAILABLE, also what is asked of them later;
 * one that does not answer does so some seconds after a failure or the
 * deadline.
 *
 * Errors: those of eddy_plan_create and eddy_run_create on any rank, which
 * comes before the message; DEADLINE_EXCEEDED if one does not come,
 * FAILED_PRECONDITION if it runs another graph or has cut it otherwise,
 * UNAVAILABLE if one is lost.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_ranks_join(
    const eddy_partition *partition, const eddy_ranks_options *options,
    const eddy_ranks_place *place, eddy_ranks **out_ranks, eddy_error *err);

/*
 * Starts MPI (MPI_THREAD_SERIALIZED), or finds it started by the program, and
 * says which rank this process is and of how many; a partition must have as
 * many.  All ranks call it.  libeddy-mpi.so is loaded here; it is of the MPI
 * that it was built with, which must be the one of mpirun.
 *
 * Ranks by MPI are joined and destroyed by one thread, in the same order on all
 * ranks.  While they run, no other thread may call MPI.
 *
 * Errors: UNIMPLEMENTED where that library or its MPI is missing; UNAVAILABLE
 * if MPI does not start, allows for one thread alone, or rank 0 can't be
 * called.  @thread the one that joins
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_mpi_start(uint32_t *out_rank,
                                                  uint32_t *out_n_ranks,
                                                  eddy_error *err);

/*
 * After the last ranks were destroyed: ends MPI, if eddy_mpi_start has started
 * it, and waits for all ranks to do so.  If one of them was lost, or has not
 * done what the others did, it ends the job (MPI_Abort) and does not return.
 * Does nothing if MPI is not started.
 */
EDDY_API void eddy_mpi_end(void);

EDDY_END_DECLS

#endif
