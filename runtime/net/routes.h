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

typedef struct eddy__edge_route {
    const char *edge; /* as in a message's key */
    uint64_t hash;
    uint32_t to; /* the rank that receives; of a fetch the one that has it */
} eddy__edge_route;

typedef struct eddy__edge_routes {
    const eddy_allocator *allocator;
    eddy__arena arena;
    eddy__edge_route *items;
    size_t n, n_edges; /* all; without those of fetches */
    eddy__map numbers; /* by `edge` */
    uint64_t fingerprint;
} eddy__edge_routes;

/* Must be deinitialised, also when this fails. */
eddy_status eddy__edge_routes_init(eddy__edge_routes *routes,
                                   const eddy_partition *partition,
                                   const eddy_allocator *allocator,
                                   eddy_error *err);
void eddy__edge_routes_deinit(eddy__edge_routes *routes);

/* The number of an edge; EDDY__NOT_FOUND: it is none of the partition. */
uint32_t eddy__edge_routes_find(const eddy__edge_routes *routes,
                                const char *edge);

#endif
