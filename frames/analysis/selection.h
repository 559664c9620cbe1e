/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which part of a graph is meant: the nodes that survive pruning, and the
 * outputs that are fed, whose edges therefore do not come from their nodes.
 */
#ifndef EDDY_FRAMES_SELECTION_H
#define EDDY_FRAMES_SELECTION_H

#include "core/graph/graph.h"

typedef struct eddy__selection {
    const eddy_graph *graph;
    const uint8_t *keep;   /* one a node, 0 or 1; NULL: all nodes */
    const uint8_t *is_fed; /* one a node: some output of it is fed; or NULL */
    const eddy_output *feeds;
    size_t n_feeds;
    /*
     * By node, the first of its feeds, and by feed, the next one of its node;
     * EDDY__NOT_FOUND ends a list.  NULL: all feeds are looked through.
     */
    const uint32_t *first_feed, *next_feed;
    /* One a node: what it comes after though no edge says so, or EDDY_NO_NODE;
     * as a control edge of a flow.  NULL: nothing. */
    const eddy_node *also_after;
    eddy__budget *budget; /* of what is done with it; NULL: the graph's */
} eddy__selection;

/* Where memory for what is found out about the selection comes from. */
static inline const eddy_allocator *
eddy__selection_allocator(const eddy__selection *s)
{
    return s->budget ? &s->budget->allocator : s->graph->arena.allocator;
}

static inline eddy__budget *eddy__selection_budget(const eddy__selection *s)
{
    return s->budget ? s->budget : s->graph->budget;
}

static inline bool eddy__selected(const eddy__selection *s, eddy_node node)
{
    return !s->keep || s->keep[node];
}

/* The number of the feed that replaces `output`, or EDDY__NOT_FOUND. */
static inline uint32_t eddy__selection_feed_of(const eddy__selection *s,
                                               eddy_output output)
{
    uint32_t i = 0;

    if (!s->is_fed || !s->is_fed[output.node])
        return EDDY__NOT_FOUND;
    if (s->first_feed)
        i = s->first_feed[output.node];
    while (i < s->n_feeds && (s->feeds[i].node != output.node ||
                              s->feeds[i].index != output.index))
        i = s->first_feed ? s->next_feed[i] : i + 1;
    return i < s->n_feeds ? i : EDDY__NOT_FOUND;
}

#endif
