/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts a process for each rank of a command, which go on from where it was
 * called, and waits for them; or makes this one a rank, if an MPI has started
 * it.
 */
#ifndef EDDY_TOOLS_PROCESSES_H
#define EDDY_TOOLS_PROCESSES_H

#include "tools/options.h"

/*
 * Does nothing without --processes and --mpi.  With --mpi, true if MPI starts.
 * With --processes, true in each of the processes, whose options then say which
 * rank it is and where they meet; all but rank 0 print nothing.  False in the
 * one that was started, with how it is to end: as rank 0 has, or FAILED if
 * another one did not end as rank 0.  Before there is any thread.  False with
 * USAGE where processes were to be recorded.
 */
bool eddy__processes_start(eddy__options *options, eddy__exit *out_exit);

/* When the command is done. */
void eddy__processes_end(const eddy__options *options);

#endif
