/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The edges of a partition by number, the same on every rank, since each has
 * made the same partition: first those that _Recvs stand for, rank by rank,
 * then one for each fetch.
 */
#ifndef EDDY_NET_ROUTES_H
#define EDDY_NET_ROUTES_H

#include "core/base/map.h"
#include "eddy/partition.h"

typedef struct eddy__route {
    const char *edge; /* as in a message's key */
    uint64_t hash;
    uint32_t to; /* the rank that receives; of a fetch the one that has it */
} eddy__route;

typedef struct eddy__routes {
    const eddy_allocator *allocator;
    eddy__arena arena;
    eddy__route *items;
    size_t n, n_edges; /* all; without those of fetches */
    eddy__map numbers; /* by `edge` */
    uint64_t fingerprint;
} eddy__routes;

/* Must be deinitialised, also when this fails. */
eddy_status eddy__routes_init(eddy__routes *routes,
                              const eddy_partition *partition,
                              const eddy_allocator *allocator, eddy_error *err);
void eddy__routes_deinit(eddy__routes *routes);

/* The number of an edge; EDDY__NOT_FOUND: it is none of the partition. */
uint32_t eddy__routes_find(const eddy__routes *routes, const char *edge);

#endif
