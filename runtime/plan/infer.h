/*
 * Shape inference over a selection of a graph: a worklist to a fixpoint.
 *
 * A Merge joins what its inputs say; a dimension that changes on a back edge
 * becomes unknown, so the fixpoint is reached in a number of steps linear in
 * the edges.  Constants (Const nodes, and what a shape function may read of
 * them) are known to shape functions.
 */
#ifndef EDDY_PLAN_INFER_H
#define EDDY_PLAN_INFER_H

#include "frames/analysis.h"
#include "runtime/core/infer.h"

/* Shapes of all outputs, node by node; nodes not selected have none. */
typedef struct eddy__shapes {
    eddy_shape *shapes;
    size_t *first; /* a node: index of its output 0 in shapes */
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

#endif
