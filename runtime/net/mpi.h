/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank that an MPI has started (mpirun): values go by MPI, and what is to be
 * agreed on by sockets of its own to rank 0, since a thread listens there that
 * may not call MPI beside the driver.
 */
#ifndef EDDY_NET_MPI_H
#define EDDY_NET_MPI_H

#include "runtime/net/wire.h"

/* Is it started, and as what? */
bool eddy__mpi_is_started(uint32_t *out_rank, uint32_t *out_n_ranks);

/*
 * The next meeting of all ranks: fills `controls`, with room for all, as
 * eddy__sockets_meet does, and with its errors.
 */
eddy_status eddy__mpi_meet(uint64_t fingerprint, uint64_t deadline_ns,
                           int *controls, eddy_error *err);

/* The wire of the last meeting.  All ranks destroy theirs in one order. */
eddy_status eddy__mpi_wire_create(const eddy__team *team, eddy__wire **out,
                                  eddy_error *err);

#endif
