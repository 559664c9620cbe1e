/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes of one machine meet in a folder: rank r listens at `rank<r>` there,
 * those above it call.  Each pair has one connection for values, and each rank
 * one more to rank 0, for what is to be agreed on.
 */
#ifndef EDDY_NET_SOCKET_H
#define EDDY_NET_SOCKET_H

#include "eddy/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct eddy__meeting {
    const char *folder;
    uint32_t rank, n_ranks;
    uint64_t fingerprint; /* of what all of them are to agree on beforehand */
    uint64_t deadline_ns; /* by eddy__clock_now_ns, for all to be there */
} eddy__meeting;

/*
 * Fills `values` with a socket to each rank, none (-1) to itself, which do not
 * block; and `controls`, which do: rank 0 has one to each of the others,
 * another its one to rank 0 at [0].  Both have room for n_ranks.  On failure
 * all are closed.  Errors: DEADLINE_EXCEEDED names a rank that did not come;
 * FAILED_PRECONDITION: one that runs something else; UNAVAILABLE.
 */
eddy_status eddy__sockets_meet(const eddy__meeting *meeting, int *values,
                               int *controls, eddy_error *err);

/* Closes `n` sockets, those that are there, and makes them -1. */
void eddy__sockets_close(int *sockets, uint32_t n);

/* Writes or reads all, waiting; false: the other end is gone. */
bool eddy__socket_write(int socket, const void *data, size_t n);
bool eddy__socket_read(int socket, void *data, size_t n);

#endif
