/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exchange of ranks that share a memory: a table of messages that wait for
 * their receivers, and of receivers that wait for their messages.  It serves
 * one execution of all ranks.
 */
#ifndef EDDY_NET_MEMORY_H
#define EDDY_NET_MEMORY_H

#include "core/exchange.h"
#include "core/kernel.h"

typedef struct eddy__memory_exchange eddy__memory_exchange;

/*
 * `seed` above 0: messages are held back and come in another order, drawn from
 * it, as they may on a network.
 */
eddy_status eddy__memory_exchange_create(const eddy_allocator *allocator,
                                         uint64_t seed,
                                         eddy__memory_exchange **out_exchange,
                                         eddy_error *err);

/* No kernel may wait in it any more. */
void eddy__memory_exchange_destroy(eddy__memory_exchange *exchange);

/* What a run is given; borrowed. */
eddy__exchange *eddy__memory_exchange_of(eddy__memory_exchange *exchange);

/*
 * A rank has failed: those who wait are told, and so is whoever comes.  The
 * first call counts, of these two.  @thread any
 */
void eddy__memory_exchange_abort(eddy__memory_exchange *exchange,
                                 uint32_t rank);

/* Messages can't come any more, and why.  @thread any */
void eddy__memory_exchange_fail(eddy__memory_exchange *exchange,
                                const eddy_error *error);

/* The failure, if one was told. */
eddy_status eddy__memory_exchange_failure(eddy__memory_exchange *exchange,
                                          eddy_error *err);

/*
 * A message has come from elsewhere; takes over the value.  Errors: no memory,
 * or a second one of its key.  @thread any
 */
eddy_status eddy__memory_exchange_put(eddy__memory_exchange *exchange,
                                      const eddy__message_key *key,
                                      eddy__value value, eddy_error *err);

/* Takes a message without a kernel that receives it; false: there is none. */
bool eddy__memory_exchange_take(eddy__memory_exchange *exchange,
                                const eddy__message_key *key, eddy__value *out);

/* Messages that nobody has received.  Once all ranks have ended. */
size_t eddy__memory_exchange_left(const eddy__memory_exchange *exchange);

/* How many there have been.  Likewise. */
uint64_t eddy__memory_exchange_sent(const eddy__memory_exchange *exchange);

#endif
