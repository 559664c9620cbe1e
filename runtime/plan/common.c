/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pass of levels exact and full: nodes of the same op that read the same values
 * and wait for the same nodes are live and dead together and give the same, so
 * one is enough.  Nodes that may fail stay, since the first that does is named.
 * Frames and shapes must be known.
 */
#include "runtime/plan/rewrites.h"

#include "core/base/map.h"
#include "core/base/status.h"
#include "core/value/dtype.h"
#include "runtime/plan/pure.h"

#include <string.h>

#define NONE UINT32_MAX

/* Constants with more bytes are taken to differ unless they are one tensor. */
#define MOST_BYTES 4096

typedef struct search {
    eddy__readers readers;
    const eddy_graph *graph;
    const uint8_t *standing;
    eddy_output *instead; /* a node: the one that stands for it */
    uint32_t *first;      /* a bucket: the last that was added to it, ... */
    uint32_t *next;       /* ... and the one before that */
    uint32_t mask;
    uint32_t n_found; /* without constants, which cost a plan nothing */
} search;

static bool is_small_constant(const eddy__node *node)
{
    const eddy_attr *value = eddy__node_attr(node, "value");

    return value && value->as.tensors[0]->bytes <= MOST_BYTES &&
           !eddy__dtype_in((eddy_dtype)node->output_dtypes[0],
                           EDDY__HELD | EDDY__DTYPE_BIT(EDDY_STRING));
}

static bool is_candidate(const search *s, eddy_node v)
{
    const eddy__node *node = eddy__graph_node(s->graph, v);

    if (s->standing[v] & EDDY__IS_NAMED)
        return false;
    if (eddy__node_role(node) == EDDY__ROLE_CONST)
        return is_small_constant(node);
    return eddy__is_pure(node) && node->n_inputs > 0 &&
           eddy__pure_cannot_fail(&s->readers, v);
}

static eddy_output stands_for(const search *s, eddy_output from)
{
    const eddy_node node = s->instead[from.node].node;

    return (eddy_output){node == EDDY_NO_NODE ? from.node : node, from.index};
}

static uint32_t hash_of(const search *s, const eddy__node *node)
{
    const eddy_attr *value;
    uint32_t hash = eddy__map_hash(node->op_name, strlen(node->op_name));

    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const eddy_output from = stands_for(s, node->inputs[i]);

        hash = (hash ^ from.node) * 0x9e3779b1U + from.index;
    }
    for (uint32_t i = 0; i < node->n_controls; i++)
        hash = (hash ^ node->controls[i]) * 0x85ebca6bU;
    value = node->n_inputs == 0 ? eddy__node_attr(node, "value") : NULL;
    if (value && value->as.tensors[0]->bytes > 0)
        hash ^= eddy__map_hash(value->as.tensors[0]->data,
                               value->as.tensors[0]->bytes);
    return hash ^ hash >> 15;
}

static bool are_same(const search *s, const eddy__node *a, const eddy__node *b)
{
    if (a->op != b->op || a->n_inputs != b->n_inputs ||
        a->n_controls != b->n_controls || a->n_outputs != b->n_outputs)
        return false;
    for (uint32_t i = 0; i < a->n_inputs; i++) {
        const eddy_output x = stands_for(s, a->inputs[i]);
        const eddy_output y = stands_for(s, b->inputs[i]);

        if (x.node != y.node || x.index != y.index)
            return false;
    }
    for (uint32_t i = 0; i < a->n_controls; i++)
        if (a->controls[i] != b->controls[i])
            return false;
    return (a->n_outputs == 0 ||
            memcmp(a->output_dtypes, b->output_dtypes, a->n_outputs) == 0) &&
           eddy__pure_same_attrs(a, b);
}

/* Finds the node in the table, or adds it. */
static void place(search *s, eddy_node v)
{
    const eddy__node *node = eddy__graph_node(s->graph, v);
    uint32_t *bucket = &s->first[hash_of(s, node) & s->mask];
    uint32_t at = *bucket;

    while (at != NONE && !are_same(s, eddy__graph_node(s->graph, at), node))
        at = s->next[at];
    if (at == NONE) {
        s->next[v] = *bucket;
        *bucket = v;
        return;
    }
    if (s->standing[v] & EDDY__IS_AWAITED)
        return;
    s->instead[v] = (eddy_output){at, 0};
    s->n_found += node->n_inputs > 0;
}

static eddy_status begin(search *s, eddy__arena *scratch)
{
    const size_t n = s->graph->n_nodes;
    size_t n_buckets = 16;

    while (n_buckets < n)
        n_buckets *= 2;
    s->instead = eddy__arena_allocate(scratch, n, sizeof *s->instead);
    s->next = eddy__arena_allocate(scratch, n, sizeof *s->next);
    s->first = eddy__arena_allocate(scratch, n_buckets, sizeof *s->first);
    if (!s->instead || !s->next || !s->first)
        return eddy__fail_memory(s->readers.build->err);
    memset(s->first, 0xff, n_buckets * sizeof *s->first);
    for (size_t v = 0; v < n; v++)
        s->instead[v].node = EDDY_NO_NODE;
    s->mask = (uint32_t)n_buckets - 1;
    return EDDY_OK;
}

eddy_status eddy__join_common(const eddy__plan_build *build,
                              eddy__arena *scratch, eddy_graph **out_graph)
{
    search s = {.graph = build->selection->graph};
    uint8_t *standing = NULL;
    eddy_node *order = NULL;
    uint32_t n = 0;

    *out_graph = NULL;
    EDDY_TRY(eddy__count_readers(build, scratch, &s.readers));
    EDDY_TRY(eddy__find_standing(build, scratch, &standing));
    EDDY_TRY(eddy__readers_order_values(build, scratch, &order, &n));
    s.standing = standing;
    EDDY_TRY(begin(&s, scratch));
    for (uint32_t i = 0; i < n; i++)
        if (is_candidate(&s, order[i]))
            place(&s, order[i]);
    if (s.n_found == 0)
        return EDDY_OK;
    EDDY_TRY(eddy__graph_clone(s.graph, build->budget, out_graph, build->err));
    eddy__readers_redirect(*out_graph, s.instead, s.graph->n_nodes);
    return EDDY_OK;
}
