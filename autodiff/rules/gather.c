/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that read and write where indices say. */
#include "autodiff/rule.h"

/* The dtype in which positions are computed: int64 if the indices are. */
static eddy_dtype position_dtype(const eddy_gradient *g, uint32_t i)
{
    return eddy_gradient_input_dtype(g, i) == EDDY_INT64 ? EDDY_INT64
                                                         : EDDY_INT32;
}

/* ---- gather ---- */

/* Along the first axis: rows of the gradient, summed by index. */
static eddy_output gather_first(eddy_gradient *g)
{
    const eddy_output shape = eddy_gradient_shape_of(g, 0);
    const eddy_output row = eddy__rule_tail(g, shape, INT(1.0));
    const eddy_output indices = OP("Reshape", X(1), INTS(-1));
    const eddy_output n = OP("Size", indices);
    const eddy_output rows =
        OP("Reshape", DY(0), CONCAT(OP("Reshape", n, INTS(1)), row));

    return OP("UnsortedSegmentSum", rows, indices,
              eddy__rule_element(g, shape, INT(0.0)));
}

/* What the dimensions amount to: batch, before the axis, it, and behind it. */
typedef struct parts {
    eddy_output batch, before, size, behind, n;
} parts;

static parts find_parts(eddy_gradient *g, eddy_output shape, eddy_output axis)
{
    const int64_t batch = eddy__rule_int(g, "batch_dims");
    const eddy_output indices = eddy_gradient_shape_of(g, 1);
    eddy_output n_batch = INT((double)batch);
    parts p;

    if (batch < 0)
        n_batch = OP("AddV2", OP("Size", indices), n_batch);
    p.batch = eddy__rule_count(g, eddy__rule_head(g, shape, n_batch));
    p.before = eddy__rule_count(
        g, eddy__rule_tail(g, eddy__rule_head(g, shape, axis), n_batch));
    p.size = eddy__rule_element(g, shape, axis);
    p.behind = eddy__rule_count(
        g, eddy__rule_tail(g, shape, OP("AddV2", axis, INT(1.0))));
    p.n = eddy__rule_count(g, eddy__rule_tail(g, indices, n_batch));
    return p;
}

/*
 * The same along another axis and for each batch: what is before the axis goes
 * behind it, and each batch has rows of its own to be summed into.
 */
static eddy_output gather_along(eddy_gradient *g, eddy_output axis)
{
    const eddy_dtype dtype = position_dtype(g, 1);
    const eddy_output shape = eddy_gradient_shape_of(g, 0);
    const parts p = find_parts(g, shape, axis);
    const eddy_output order = INTS(0, 2, 1, 3);
    const eddy_output n_rows = OP("Mul", p.batch, p.size);
    eddy_output first, rows, at, sums;

    first = OP("Mul", OP("Range", INT(0.0), p.batch, INT(1.0)), p.size);
    first = eddy__rule_cast(g, OP("Reshape", first, INTS(-1, 1)), EDDY_INT32,
                            dtype);
    at = eddy__rule_cast(g, X(1), eddy_gradient_input_dtype(g, 1), dtype);
    at = OP("AddV2", OP("Reshape", at, VECTOR(p.batch, p.n)), first);
    rows = OP("Transpose",
              OP("Reshape", DY(0), VECTOR(p.batch, p.before, p.n, p.behind)),
              order);
    rows = OP("Reshape", rows,
              VECTOR(OP("Mul", p.batch, p.n), p.before, p.behind));
    sums =
        OP("UnsortedSegmentSum", rows,
           OP("Reshape", at, OP("Reshape", OP("Mul", p.batch, p.n), INTS(1))),
           n_rows);
    sums = OP("Reshape", sums, VECTOR(p.batch, p.size, p.before, p.behind));
    return OP("Reshape", OP("Transpose", sums, order), shape);
}

/* params, indices [, axis] */
eddy_status eddy__grad_gather(eddy_gradient *g)
{
    const bool has_axis = eddy_gradient_inputs(g) == 3;
    int64_t axis = 0;
    eddy_output at;

    if (!has_axis || (eddy__rule_constant(g, 2, &axis) && axis == 0 &&
                      eddy__rule_int(g, "batch_dims") == 0)) {
        DX(0, gather_first(g));
        return EDDY_OK;
    }
    at = eddy__rule_cast(g, X(2), eddy_gradient_input_dtype(g, 2), EDDY_INT32);
    DX(0, gather_along(
              g, OP("FloorMod", at, OP("Size", eddy_gradient_shape_of(g, 0)))));
    return EDDY_OK;
}

/* variable, indices; along the axis behind the batch dimensions. */
eddy_status eddy__grad_resource_gather(eddy_gradient *g)
{
    const int64_t batch = eddy__rule_int(g, "batch_dims");
    eddy_output axis;

    if (batch == 0) {
        DX(0, gather_first(g));
        return EDDY_OK;
    }
    axis = INT((double)batch);
    if (batch < 0)
        axis = OP("AddV2", OP("Size", eddy_gradient_shape_of(g, 1)), axis);
    DX(0, gather_along(g, axis));
    return EDDY_OK;
}

/* params, indices */
eddy_status eddy__grad_gather_nd(eddy_gradient *g)
{
    DX(0, OP("ScatterNd", X(1), DY(0),
             eddy__rule_cast(g, eddy_gradient_shape_of(g, 0), EDDY_INT32,
                             eddy_gradient_input_dtype(g, 1))));
    return EDDY_OK;
}

/* ---- scatter ---- */

/* indices, updates, shape */
eddy_status eddy__grad_scatter_nd(eddy_gradient *g)
{
    DX(1, OP("GatherNd", DY(0), X(0)));
    return EDDY_OK;
}

/* tensor, indices, updates */
eddy_status eddy__grad_tensor_scatter_update(eddy_gradient *g)
{
    if (WANTS(0)) {
        const eddy_output zeros =
            OP("Fill", eddy_gradient_shape_of(g, 2), NUMBER(0, 0.0));

        DX(0, OP("TensorScatterUpdate", DY(0), X(1), zeros));
    }
    if (WANTS(2))
        DX(2, OP("GatherNd", DY(0), X(1)));
    return EDDY_OK;
}

eddy_status eddy__grad_tensor_scatter_add(eddy_gradient *g)
{
    DX(0, DY(0));
    if (WANTS(2))
        DX(2, OP("GatherNd", DY(0), X(1)));
    return EDDY_OK;
}

eddy_status eddy__grad_tensor_scatter_sub(eddy_gradient *g)
{
    DX(0, DY(0));
    if (WANTS(2))
        DX(2, OP("Neg", OP("GatherNd", DY(0), X(1))));
    return EDDY_OK;
}

/* What was chosen, of the tensor and of the updates, shares the gradient. */
eddy_status eddy__grad_tensor_scatter_extremum(eddy_gradient *g)
{
    const eddy_dtype dtype = eddy_gradient_input_dtype(g, 0);
    const eddy_output y = Y(0), indices = X(1);
    const eddy_output of_tensor =
        eddy__rule_cast(g, OP("Equal", y, X(0)), EDDY_BOOL, dtype);
    const eddy_output of_updates = eddy__rule_cast(
        g, OP("Equal", OP("GatherNd", y, indices), X(2)), EDDY_BOOL, dtype);
    const eddy_output n =
        OP("TensorScatterAdd", of_tensor, indices, of_updates);
    const eddy_output share = OP("RealDiv", DY(0), n);

    if (WANTS(0))
        DX(0, OP("Mul", of_tensor, share));
    if (WANTS(2))
        DX(2, OP("Mul", of_updates, OP("GatherNd", share, indices)));
    return EDDY_OK;
}

/* ---- the greatest ---- */

/* input, k -> values, indices */
eddy_status eddy__grad_top_k(eddy_gradient *g)
{
    const eddy_dtype dtype = eddy__rule_output_dtype(g, 1);
    eddy_output shape, last, n_rows, first, at, sums;

    shape = eddy_gradient_shape_of(g, 0);
    last = eddy__rule_element(g, shape, OP("Sub", OP("Size", shape), INT(1.0)));
    n_rows = eddy__rule_count(
        g, eddy__rule_head(g, shape, OP("Sub", OP("Size", shape), INT(1.0))));
    first = OP("Mul", OP("Range", INT(0.0), n_rows, INT(1.0)), last);
    at = eddy__rule_cast(g, Y(1), dtype, EDDY_INT32);
    at = OP("Reshape", at,
            VECTOR(n_rows,
                   eddy__rule_element(g, OP("Shape", DY(0)),
                                      OP("Sub", OP("Size", shape), INT(1.0)))));
    at = OP("AddV2", at, OP("Reshape", first, INTS(-1, 1)));
    sums = OP("UnsortedSegmentSum", OP("Reshape", DY(0), INTS(-1)),
              OP("Reshape", at, INTS(-1)), eddy__rule_count(g, shape));
    DX(0, OP("Reshape", sums, shape));
    return EDDY_OK;
}
