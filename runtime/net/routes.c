/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the edges of a partition in the graphs of its ranks. */
#include "runtime/net/routes.h"

#include "core/base/status.h"
#include "core/carrier.h"

#include <stdio.h>
#include <string.h>

static bool is_receiver(const eddy_graph *graph, eddy_node v)
{
    const char *op = eddy_graph_node_op(graph, v);

    return strcmp(op, "_Recv") == 0 || strcmp(op, "_HostRecv") == 0;
}

/* What its kernel makes of the attributes (ops/misc/transfer.c). */
static char *name_edge(eddy__arena *arena, const eddy_graph *graph, eddy_node v)
{
    static const char *const parts[] = {"send_device", "recv_device",
                                        "tensor_name"};
    eddy_string texts[3];
    size_t length = 0;
    char *text, *to;

    for (size_t i = 0; i < 3; i++) {
        eddy_attr attr;

        texts[i] = (eddy_string){"", 0};
        if (eddy_graph_node_attr(graph, v, parts[i], &attr))
            texts[i] = attr.as.strings[0];
        length += texts[i].length + 1;
    }
    text = to = eddy__arena_allocate(arena, length, 1);
    for (size_t i = 0; text && i < 3; i++) {
        memcpy(to, texts[i].data, texts[i].length);
        to += texts[i].length;
        *to++ = i < 2 ? ';' : '\0';
    }
    return text;
}

static bool add(eddy__edge_routes *r, const char *edge, uint32_t to)
{
    eddy__edge_route *route = &r->items[r->n];

    if (!edge || !eddy__map_set(&r->numbers, edge, (uint32_t)r->n))
        return false;
    *route = (eddy__edge_route){
        .edge = edge, .hash = eddy__carrier_edge_hash(edge), .to = to};
    r->fingerprint =
        (r->fingerprint ^ route->hash ^ to) * UINT64_C(0x100000001b3);
    r->n++;
    return true;
}

static size_t count(const eddy_partition *p)
{
    size_t n = eddy_partition_fetches(p);

    for (uint32_t rank = 0; rank < eddy_partition_ranks(p); rank++)
        n += eddy_partition_count(p, rank).n_recvs;
    return n;
}

static bool add_rank(eddy__edge_routes *r, const eddy_partition *p,
                     uint32_t rank)
{
    const eddy_graph *graph = eddy_partition_graph(p, rank);

    for (eddy_node v = 0; v < eddy_graph_size(graph); v++)
        if (is_receiver(graph, v) &&
            !add(r, name_edge(&r->arena, graph, v), rank))
            return false;
    return true;
}

static bool add_fetches(eddy__edge_routes *r, const eddy_partition *p)
{
    for (size_t i = 0; i < eddy_partition_fetches(p); i++) {
        char text[32];
        uint32_t rank;
        const int length = snprintf(text, sizeof text, "fetch %zu", i);

        eddy_partition_fetch(p, i, &rank);
        if (!add(r, eddy__arena_text(&r->arena, text, (size_t)length), rank))
            return false;
    }
    return true;
}

eddy_status eddy__edge_routes_init(eddy__edge_routes *routes,
                                   const eddy_partition *partition,
                                   const eddy_allocator *allocator,
                                   eddy_error *err)
{
    bool ok;

    *routes = (eddy__edge_routes){.allocator = allocator,
                                  .arena.allocator = allocator,
                                  .numbers.allocator = allocator,
                                  .fingerprint = UINT64_C(0xcbf29ce484222325)};
    routes->items = eddy__arena_allocate(&routes->arena, count(partition),
                                         sizeof *routes->items);
    ok = routes->items != NULL;
    for (uint32_t i = 0; ok && i < eddy_partition_ranks(partition); i++)
        ok = add_rank(routes, partition, i);
    routes->n_edges = routes->n;
    return ok && add_fetches(routes, partition) ? EDDY_OK
                                                : eddy__fail_memory(err);
}

void eddy__edge_routes_deinit(eddy__edge_routes *routes)
{
    eddy__map_deinit(&routes->numbers);
    eddy__arena_destroy(&routes->arena);
}

uint32_t eddy__edge_routes_find(const eddy__edge_routes *routes,
                                const char *edge)
{
    return eddy__map_find(&routes->numbers, edge, strlen(edge));
}
