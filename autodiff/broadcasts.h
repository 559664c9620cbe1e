/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Broadcasts whose two ends are two nodes: what the sender is given flows to
 * the receiver though no edge says so, and its gradient the other way.
 *
 * In the copies of a replicated graph it is rank 0's that all receive, so a
 * receiver is like a HorovodBroadcast from there.  Where both ends are nodes of
 * one process, that is the tensor itself.
 */
#ifndef EDDY_AUTODIFF_BROADCASTS_H
#define EDDY_AUTODIFF_BROADCASTS_H

#include "frames/analysis/analysis.h"
#include "frames/analysis/branches.h"
#include "frames/analysis/flow.h"

typedef struct eddy__sent_value {
    eddy_node receiver, sender;
    /* What the sender is given, where that comes from: in the receiver's
     * branch or one around it, if there is such. */
    eddy_output sent;
    struct eddy__sent_value *next; /* of what comes from the same node */
} eddy__sent_value;

typedef struct eddy__broadcasts {
    eddy__sent_value *list;
    size_t n;
    uint32_t *of_receiver;   /* a node: its number and 1; NULL without any */
    eddy__sent_value **from; /* a node: the first of what comes from it */
    eddy_node *also_after;   /* a receiver: the node of `sent` */
} eddy__broadcasts;

/*
 * Finds the pairs of the whole graph, in `arena`.  A receiver for which not
 * just one node sends is none, and what it gets is taken for a constant.
 */
eddy_status eddy__broadcasts_find(eddy__broadcasts *b, const eddy_graph *graph,
                                  eddy__arena *arena, eddy_error *err);

/* Then, once branches are known: what is sent.  `flow` is that of the study. */
void eddy__broadcasts_trace(eddy__broadcasts *b, const eddy__flow *flow,
                            const eddy_analysis *analysis,
                            const eddy__branches *branches);

/* NULL for a node that receives nothing which is known. */
static inline const eddy__sent_value *
eddy__broadcast_received(const eddy__broadcasts *b, eddy_node node)
{
    return b->n > 0 && b->of_receiver[node] > 0
               ? &b->list[b->of_receiver[node] - 1]
               : NULL;
}

/* The first of those that send what the node gives; a list. */
static inline const eddy__sent_value *
eddy__broadcast_from(const eddy__broadcasts *b, eddy_node node)
{
    return b->n > 0 ? b->from[node] : NULL;
}

#endif
