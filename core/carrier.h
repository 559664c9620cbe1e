/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exchange of a rank whose others are other processes: its driver writes
 * and reads for itself, so it waits where messages come, not in its run.
 */
#ifndef EDDY_CORE_CARRIER_H
#define EDDY_CORE_CARRIER_H

#include "core/exchange.h"

typedef struct eddy__carrier eddy__carrier;
struct eddy__carrier {
    eddy__exchange base;
    /*
     * Nothing is left to do but to wait: until a message comes, it is woken, or
     * it is `deadline_ns` (0: none).  @thread the driver
     */
    void (*wait)(eddy__carrier *carrier, uint64_t deadline_ns);
    /*
     * Sends what was put aside to go together, since its rank will be busy.
     * @thread the driver
     */
    void (*flush)(eddy__carrier *carrier);
    /* Ends the waiting, or else the next.  @thread any */
    void (*wake)(eddy__carrier *carrier);
};

/* The hash in a message's key: FNV-1a of 64 bits. */
static inline uint64_t eddy__carrier_edge_hash(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

#endif
