/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shape inference over a selection of a graph: a worklist to a fixpoint.
 *
 * A Merge joins what its inputs say; a dimension that changes on a back edge
 * becomes unknown, so the fixpoint is reached in a number of steps linear in
 * the edges.  What is found holds for every value that a run can put on the
 * edge, provided that the ops' own shape functions tell the truth.
 *
 * A shape function that fails is an error only where its node is certain to
 * run: in the root frame, and behind no Switch.  Elsewhere it may be that the
 * node never gets a live input of these shapes (the branch is not taken, the
 * loop makes no trip), so its outputs are unknown and its kernel will say.
 */
#ifndef EDDY_FRAMES_INFER_H
#define EDDY_FRAMES_INFER_H

#include "core/graph/infer.h"
#include "frames/analysis/analysis.h"

/* Shapes of all outputs, node by node; nodes not selected have none. */
typedef struct eddy__shapes {
    eddy_shape *shapes;
    /*
     * The tensor that the output is whenever it is live: that of a Const, seen
     * through Switch, Enter, Identity and the like.  NULL: it may vary.
     */
    const eddy_tensor **constants;
    size_t *first; /* a node: index of its output 0 in the above */
} eddy__shapes;

/*
 * `feed_shapes` has one shape a feed, the one that its node's output has or may
 * have (a Placeholder's attribute).  Results are in `arena`.  Fails where a
 * shape function does, with its node.
 */
eddy_status eddy__infer_shapes(const eddy__selection *selection,
                               const eddy_analysis *analysis,
                               const eddy_shape *feed_shapes,
                               eddy__arena *arena, eddy__shapes *out_shapes,
                               eddy_error *err);

static inline const eddy_shape *eddy__shape_at(const eddy__shapes *shapes,
                                               eddy_output output)
{
    return &shapes->shapes[shapes->first[output.node] + output.index];
}

/* Not for a fed output. */
static inline const eddy_tensor *
eddy__infer_constant_at(const eddy__shapes *shapes, eddy_output output)
{
    return shapes->constants[shapes->first[output.node] + output.index];
}

#endif
