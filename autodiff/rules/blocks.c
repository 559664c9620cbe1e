/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of space in the batch or the depth: each op is undone by another. */
#include "autodiff/rule.h"

/* input, block_shape, edges */
static void undo_nd(eddy_gradient *g, const char *op)
{
    DX(0, OP(op, DY(0), X(1), X(2)));
}

eddy_status eddy__grad_space_to_batch_nd(eddy_gradient *g)
{
    undo_nd(g, "BatchToSpaceND");
    return EDDY_OK;
}

eddy_status eddy__grad_batch_to_space_nd(eddy_gradient *g)
{
    undo_nd(g, "SpaceToBatchND");
    return EDDY_OK;
}

/* input, edges */
static void undo_image(eddy_gradient *g, const char *op)
{
    const eddy_attr attrs[] = {eddy__rule_attr(g, "block_size")};

    DX(0, OP_WITH(op, attrs, DY(0), X(1)));
}

eddy_status eddy__grad_space_to_batch(eddy_gradient *g)
{
    undo_image(g, "BatchToSpace");
    return EDDY_OK;
}

eddy_status eddy__grad_batch_to_space(eddy_gradient *g)
{
    undo_image(g, "SpaceToBatch");
    return EDDY_OK;
}

static void undo_depth(eddy_gradient *g, const char *op)
{
    const eddy_attr attrs[] = {eddy__rule_attr(g, "block_size"),
                               eddy__rule_attr(g, "data_format")};

    DX(0, OP_WITH(op, attrs, DY(0)));
}

eddy_status eddy__grad_space_to_depth(eddy_gradient *g)
{
    undo_depth(g, "DepthToSpace");
    return EDDY_OK;
}

eddy_status eddy__grad_depth_to_space(eddy_gradient *g)
{
    undo_depth(g, "SpaceToDepth");
    return EDDY_OK;
}
