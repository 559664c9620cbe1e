/*
 * The branch in which each node runs, from the primitives alone.
 *
 * A branch is a side of a predicate inside another branch of the same frame; a
 * node is live only if its branch is taken.  Branch 0 is that of nodes which no
 * Switch but those of loops rules.  Where Switches and Merges are not nested as
 * a program's are, a node may depend on two branches of which none is within
 * the other; it then counts as of the one found first, and whoever needs more
 * asks eddy__branch_is_within.
 */
#ifndef EDDY_AUTODIFF_BRANCHES_H
#define EDDY_AUTODIFF_BRANCHES_H

#include "frames/analysis.h"
#include "frames/flow.h"

typedef struct eddy__branch {
    uint32_t outer; /* the branch that it is in, of the same frame */
    uint32_t depth; /* 0 of branch 0 */
    eddy_output predicate;
    uint32_t side;
    uint32_t n_sides;
    uint32_t next; /* of the same predicate; 0: the last */
    uint32_t frame;
    bool is_ready; /* the predicate is known where gradients are computed */
} eddy__branch;

typedef struct eddy__branches {
    const eddy_allocator *allocator;
    eddy__branch *branches;
    size_t n, capacity;
    uint32_t *of_node;  /* the branch in which the node runs */
    uint32_t *of_frame; /* a frame: that of its loop, in the frame around it */
    uint32_t *first;    /* a node: the first branch with it as predicate */
} eddy__branches;

/*
 * `order` is topological, back edges left out.  Arrays are in `arena`.  False
 * without memory.
 */
bool eddy__branches_find(eddy__branches *b, const eddy__flow *flow,
                         const eddy_analysis *analysis, const eddy_node *order,
                         size_t n_order, eddy__arena *arena);
void eddy__branches_deinit(eddy__branches *b);

/* The branch in which output `index` of `node` is live. */
uint32_t eddy__branches_output(const eddy__branches *b, const eddy__flow *flow,
                               const eddy_analysis *analysis,
                               eddy_output output);

/* Is `inner` the branch `outer` or in it? */
bool eddy__branch_is_within(const eddy__branches *b, uint32_t inner,
                            uint32_t outer);

/* Is it a Switch of a branch, not of a loop? */
bool eddy__is_branch_switch(const eddy__flow *flow, eddy_node node);

#endif
