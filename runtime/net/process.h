/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One rank of a job whose ranks are processes: it meets the others, runs when
 * they do, and comes to the same outcome as they.
 */
#ifndef EDDY_NET_PROCESS_H
#define EDDY_NET_PROCESS_H

#include "eddy/partition.h"
#include "eddy/run.h"

typedef struct eddy__process eddy__process;

/* Where they meet (socket.h), or NULL: by MPI (mpi.h). */
typedef struct eddy__process_place {
    const char *folder;
    uint32_t rank;
    uint64_t timeout_ns; /* for all to come; 0: half a minute */
} eddy__process_place;

eddy_status eddy__process_join(const eddy_partition *partition,
                               const eddy_allocator *allocator,
                               const eddy__process_place *place,
                               eddy__process **out, eddy_error *err);
/* Accepts NULL. */
void eddy__process_leave(eddy__process *process);

/*
 * Makes the status of each rank that of all: of the lowest one that failed.
 * `err` has the error of this one, and gets that.
 */
eddy_status eddy__process_agree(eddy__process *process, eddy_status mine,
                                eddy_error *err);

/* Where a feed or a fetch of the caller is, in the plan of its rank. */
typedef struct eddy__process_port {
    uint32_t rank; /* EDDY__NOT_FOUND: nothing wants the feed */
    size_t index;
} eddy__process_port;

typedef struct eddy__process_run {
    eddy_run *run; /* of this rank */
    const eddy__process_port *fetches;
    size_t n_fetches;
} eddy__process_run;

/*
 * Executes the run, which is fed, as its rank unless `fed`, what came of
 * feeding, is a failure; and gives all fetches, of other ranks too, which the
 * caller releases.  Errors: those of the rank that failed.
 */
eddy_status eddy__process_execute(eddy__process *process,
                                  const eddy__process_run *run, eddy_status fed,
                                  eddy_tensor **out_fetches, eddy_error *err);

/* Ends the execution under way.  @thread any */
void eddy__process_cancel(eddy__process *process);

/* Messages of the last execution, on all ranks. */
uint64_t eddy__process_messages(const eddy__process *process,
                                uint64_t *out_left);

#endif
