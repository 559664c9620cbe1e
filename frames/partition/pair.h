/* SPDX-License-Identifier: Apache-2.0 */
/* The two ends of an edge between ranks: a _Send and a _Recv. */
#ifndef EDDY_FRAMES_PAIR_H
#define EDDY_FRAMES_PAIR_H

#include "core/graph/emit.h"

/* The names of the ops that carry a value from one rank to another. */
#define EDDY__SEND "_Send"
#define EDDY__RECV "_Recv"

/* What both ends say, by which they find each other. */
typedef struct eddy__pair {
    const char *name, *send_device, *recv_device;
    eddy_dtype dtype;
    bool is_known_dead; /* ops/misc/transfer.c */
} eddy__pair;

/* Adds the end that sends `x`, also once `start` has run, if that is a node. */
eddy_output eddy__pair_send(eddy__emitter *e, const char *name,
                            const eddy__pair *pair, eddy_output x,
                            eddy_node start);

/* Adds the end that receives: once `start` has run, if that is a node. */
eddy_output eddy__pair_receive(eddy__emitter *e, const char *name,
                               const eddy__pair *pair, eddy_node start);

#endif
