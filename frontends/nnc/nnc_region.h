/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes of a graph that eddy_nnc_split makes a loop of: which they are, and
 * whether their edges are such as the rules of eddy/nnc.h want them.
 *
 * A loop that is inside is so as a whole: with all nodes of its frame, of the
 * frames in that, and of the Enters that lead there; and in one part, before
 * the condition or after it.
 */
#ifndef EDDY_FRONTENDS_NNC_REGION_H
#define EDDY_FRONTENDS_NNC_REGION_H

#include "eddy/nnc.h"
#include "frames/analysis/analysis.h"
#include "frames/analysis/flow.h"

/* What a node is. */
#define EDDY__NNC_INSIDE (1u << 0)
#define EDDY__NNC_BEFORE (1u << 1) /* inside, in the part before */
#define EDDY__NNC_INCOMING (1u << 2)
#define EDDY__NNC_OUTGOING (1u << 3)
#define EDDY__NNC_END (1u << 4)
#define EDDY__NNC_BELOW (1u << 5) /* outside, depends on what is inside */

typedef struct eddy__nnc_region {
    const eddy_graph *graph;
    const eddy_nnc_split_spec *spec;
    eddy__arena arena; /* of all that follows */
    eddy__selection selection;
    eddy__flow flow;
    eddy_analysis *analysis;
    uint8_t *kind;    /* a node: bits of the above */
    eddy_node *order; /* topological, back edges left out */
    size_t n_order;
    /* The two parts, each in that order. */
    eddy_node *before, *after;
    size_t n_before, n_after;
} eddy__nnc_region;

/*
 * Finds and checks the region that `spec` speaks of, whose numbers of nodes
 * and outputs are known to be right.  To be deinitialised also on failure.
 */
eddy_status eddy__nnc_region_init(eddy__nnc_region *region,
                                  const eddy_graph *graph,
                                  const eddy_nnc_split_spec *spec,
                                  eddy_error *err);
void eddy__nnc_region_deinit(eddy__nnc_region *region);

static inline bool eddy__nnc_is(const eddy__nnc_region *region, eddy_node node,
                                uint32_t kind)
{
    return (region->kind[node] & kind) != 0;
}

/* Does the node run in a loop's frame? */
static inline bool eddy__nnc_is_in_frame(const eddy__nnc_region *region,
                                         eddy_node node)
{
    return region->analysis->node_frame[node] != 0;
}

static inline bool eddy__nnc_equal(eddy_output a, eddy_output b)
{
    return a.node == b.node && a.index == b.index;
}

#endif
