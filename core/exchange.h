/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How values go from one rank to another: what the kernels of _Send and _Recv
 * know of it.  What carries them is in runtime/net.
 */
#ifndef EDDY_CORE_EXCHANGE_H
#define EDDY_CORE_EXCHANGE_H

#include "core/value/value.h"
#include "eddy/op.h"

/*
 * Where a node runs, the same number on every rank: of the frame's names and
 * the iterations around it, and the iteration.
 */
typedef struct eddy__tag {
    uint64_t frame; /* 0 in the root */
    int64_t iteration;
} eddy__tag;

/* What a message is known by. */
typedef struct eddy__message_key {
    const char *edge; /* the pair of nodes; outlives the message */
    uint64_t hash;    /* of that text */
    eddy__tag tag;
} eddy__message_key;

/* What connects the ranks of one execution.  @thread any */
typedef struct eddy__exchange eddy__exchange;
struct eddy__exchange {
    /*
     * Sends `value`, which it takes over; EDDY__NONE if it is dead.  A second
     * message of one key is refused.
     */
    eddy_status (*send)(eddy__exchange *exchange, const eddy__message_key *key,
                        eddy__value value, eddy_kernel *kernel);
    /*
     * Sets output 0 of the kernel to what is sent, or kernel->is_dead; now, or
     * once it has come: the kernel is suspended until then.
     */
    eddy_status (*receive)(eddy__exchange *exchange,
                           const eddy__message_key *key, eddy_kernel *kernel);
    /* A rank has nothing left to do but to wait for messages. */
    void (*idle)(eddy__exchange *exchange);
};

#endif
