/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How processes, one a rank, come to one outcome.  Each round, an execution or
 * what comes before the first, ends with a report of every rank to rank 0,
 * which tells all of them what came of it: nobody leaves a round before all
 * have reported.  A rank that reports a failure, or is lost, is told to all at
 * once, so that they end too.
 *
 * A thread of its own listens, so that this also reaches a rank that computes.
 */
#ifndef EDDY_NET_AGREE_H
#define EDDY_NET_AGREE_H

#include "runtime/net/wire.h"

/* What a rank reports, and what is told of all: sums, and one error. */
typedef struct eddy__report {
    uint64_t n_sent, n_left; /* messages */
    uint32_t rank;           /* whose error it is */
    uint32_t is_consequence; /* it failed since another one has */
    eddy_error error;
} eddy__report;

typedef struct eddy__agreement eddy__agreement;

/*
 * Somebody has failed: this rank is to end its round.  Called again and again
 * until it reports.  It may call nothing of the agreement.  @thread the
 * agreement's own
 */
typedef void (*eddy__abort_cb)(void *arg, uint32_t rank, bool is_lost);

/*
 * Takes over `controls` (socket.h), of which it makes -1 what is in it, also
 * when it fails.
 */
eddy_status eddy__agreement_create(const eddy__team *team, int *controls,
                                   eddy__abort_cb abort, void *arg,
                                   eddy__agreement **out, eddy_error *err);
/* Leaves; the others take it for lost if they begin a round.  Accepts NULL. */
void eddy__agreement_destroy(eddy__agreement *agreement);

/* Begins a round. */
void eddy__agreement_begin(eddy__agreement *agreement);

/*
 * Ends the round: reports, and waits for what came of it.  `deadline_ns`, by
 * eddy__clock_now_ns, or 0: until when others may take.  A rank that has not
 * reported some seconds after that, or after a failure, is taken for lost.
 */
void eddy__agreement_reach(eddy__agreement *agreement, const eddy__report *mine,
                           uint64_t deadline_ns, eddy__report *out_all);

/* Has this round failed elsewhere?  @thread any */
bool eddy__agreement_is_broken(eddy__agreement *agreement);

#endif
