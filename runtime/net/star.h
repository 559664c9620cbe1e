/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rank 0 listens at a port, the others call it there: one connection each, for
 * what is to be agreed on.  The same port serves meeting after meeting.  A
 * caller must say a secret that rank 0 has handed out by other ways.
 */
#ifndef EDDY_NET_STAR_H
#define EDDY_NET_STAR_H

#include "core/base/map.h"
#include "eddy/status.h"

/* Where rank 0 listens; it is sent to the others as it is. */
typedef struct eddy__star_address {
    uint64_t secret[2];
    char host[256];
    uint16_t port; /* 0: there is none */
} eddy__star_address;

/* Listens, for this machine alone or for all. */
eddy_status eddy__star_listen(bool is_one_machine, eddy__star_address *out,
                              int *out_listener, eddy_error *err);

typedef struct eddy__star {
    const eddy__star_address *address;
    int listener; /* of rank 0 */
    uint32_t rank, n_ranks;
    uint64_t number;      /* which meeting it is, the same on all */
    uint64_t fingerprint; /* of what all of them are to agree on beforehand */
    uint64_t deadline_ns; /* by eddy__clock_now_ns, for all to be there */
} eddy__star;

/*
 * Fills `controls`, with room for n_ranks: rank 0 has a socket to each of the
 * others, another its one to rank 0 at [0].  On failure all are closed.
 * Errors: those of eddy__sockets_meet.
 */
eddy_status eddy__star_meet(const eddy__star *star, int *controls,
                            eddy_error *err);

#endif
