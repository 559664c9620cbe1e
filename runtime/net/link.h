/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exchange of a rank whose others are other processes.  What comes goes
 * into a table of messages (memory.h), what is sent into a queue for each rank.
 * Only the driver of the run touches the wire: it writes a queue that is long,
 * and all of them before it does something that takes long; and it reads when
 * there is nothing left to do but to wait.  So no thread stands between a
 * message and who receives it.
 *
 * A rank that sends faster than another one reads waits once the queue is full;
 * it reads meanwhile, so two of them don't wait for each other.
 */
#ifndef EDDY_NET_LINK_H
#define EDDY_NET_LINK_H

#include "core/carrier.h"
#include "runtime/net/routes.h"
#include "runtime/net/wire.h"

typedef struct eddy__link eddy__link;

/* Takes over `wire`, also when it fails.  `routes` is borrowed. */
eddy_status eddy__link_create(eddy__wire *wire, const eddy__edge_routes *routes,
                              eddy__link **out, eddy_error *err);
/* Accepts NULL. */
void eddy__link_destroy(eddy__link *link);

/* What a run is given; borrowed, the same for all executions. */
eddy__carrier *eddy__link_carrier(eddy__link *link);

/*
 * Before an execution: forgets the one before.  What comes is charged to
 * `account`.
 */
eddy_status eddy__link_begin(eddy__link *link, eddy__account *account,
                             eddy_error *err);

/* Another rank has failed: ends all waiting.  @thread any */
void eddy__link_abort(eddy__link *link, uint32_t rank, bool is_lost);

/* Ends the waiting after the run.  @thread any */
void eddy__link_cancel(eddy__link *link);

/*
 * After the run: sends fetch `i` to all other ranks, or takes it from the one
 * that has it, waiting until `deadline_ns` (0: none).  The value is taken over.
 */
eddy_status eddy__link_send_fetch(eddy__link *link, size_t i, eddy__value value,
                                  eddy_error *err);
eddy_status eddy__link_take_fetch(eddy__link *link, size_t i,
                                  uint64_t deadline_ns, eddy__value *out,
                                  eddy_error *err);
/* Waits until all that was sent is under way. */
eddy_status eddy__link_settle(eddy__link *link, uint64_t deadline_ns,
                              eddy_error *err);

/* Messages of this execution, of kernels alone. */
uint64_t eddy__link_sent(const eddy__link *link);
uint64_t eddy__link_left(const eddy__link *link);

#endif
