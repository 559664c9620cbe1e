/* SPDX-License-Identifier: Apache-2.0 */
/* Ops on sparse tensors: what comes back to the elements that are there. */
#include "autodiff/rule.h"

/* indices, shape, values, default value */
eddy_status eddy__grad_sparse_to_dense(eddy_gradient *g)
{
    const eddy_shape *values = eddy_gradient_input_shape(g, 2);
    const eddy_output width = VECTOR(INT(-1), OP("Size", X(1)));
    const eddy_output taken = OP("GatherNd", DY(0), OP("Reshape", X(0), width));
    const eddy_output zero = OP("Range", INT(0), OP("Rank", taken), INT(1));
    const eddy_output sum = OP("Sum", taken, zero);

    if (values->rank < 0)
        return eddy_gradient_fail(g, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT,
                                  "the rank of sparse_values is not known");
    if (WANTS(2))
        DX(2, values->rank == 0
                  ? sum
                  : OP("Reshape", taken, eddy_gradient_shape_of(g, 2)));
    if (WANTS(3)) {
        const eddy_output all = OP("Range", INT(0), OP("Rank", DY(0)), INT(1));

        DX(3, OP("Sub", OP("Sum", DY(0), all), sum));
    }
    return EDDY_OK;
}

/* indices, values, shape: values come back to where they were */
eddy_status eddy__grad_sparse_reorder(eddy_gradient *g)
{
    const eddy_output n = OP("Size", X(1));
    const eddy_output all = OP("Range", INT(0), n, INT(1));
    const eddy_output sorted = OP("SparseReorder", X(0), all, X(2));

    DX(1, OP("GatherV2", DY(1),
             OP("InvertPermutation", eddy__rule_output_at(sorted, 1)), INT(0)));
    return EDDY_OK;
}

/* indices, values, shape, axes: each element has the gradient of its sum */
eddy_status eddy__grad_sparse_reduce_sum(eddy_gradient *g)
{
    const eddy_output shape = eddy__rule_cast(g, X(2), EDDY_INT64, EDDY_INT32);
    const eddy_output rank = OP("Size", shape);
    const eddy_output axes = OP("FloorMod", X(3), rank);
    const eddy_output kept =
        OP("DynamicStitch", OP("Range", INT(0), rank, INT(1)), axes, shape,
           OP("OnesLike", axes));
    const eddy_output by = OP("FloorDiv", shape, OP("Maximum", kept, INT(1)));

    DX(1, OP("GatherNd", OP("Reshape", DY(0), kept),
             OP("FloorDiv", X(0),
                eddy__rule_cast(g, by, EDDY_INT32, EDDY_INT64))));
    return EDDY_OK;
}

/* A column of the coordinates. */
static eddy_output coordinate(eddy_gradient *g, int32_t column)
{
    return OP("GatherV2", X(0), INT(column), INT(1));
}

/* indices, values, shape, b */
eddy_status eddy__grad_sparse_product(eddy_gradient *g)
{
    const bool adjoint_a = eddy__rule_bool(g, "adjoint_a");
    const bool adjoint_b = eddy__rule_bool(g, "adjoint_b");
    const bool adjoint = !adjoint_a;
    const eddy_attr attrs[] = {eddy_attr_bool("adjoint_a", &adjoint)};

    if (WANTS(3)) {
        const eddy_output of_b =
            OP_WITH("SparseTensorDenseMatMul", attrs, X(0), X(1), X(2), DY(0));

        DX(3, adjoint_b ? eddy__rule_adjoint(g, of_b) : of_b);
    }
    if (WANTS(1)) {
        const eddy_output rows =
            OP("GatherV2", DY(0), coordinate(g, adjoint_a), INT(0));
        const eddy_output b = adjoint_b ? eddy__rule_adjoint(g, X(3)) : X(3);
        const eddy_output others =
            OP("GatherV2", b, coordinate(g, !adjoint_a), INT(0));
        const eddy_output of_a =
            OP("Sum", OP("Mul", rows, eddy__rule_conj(g, 3, others)), INT(1));

        DX(1, adjoint_a ? eddy__rule_conj(g, 3, of_a) : of_a);
    }
    return EDDY_OK;
}

/* two sparse tensors and a threshold: what was kept of their elements */
eddy_status eddy__grad_sparse_add(eddy_gradient *g)
{
    const eddy_output both = OP("SparseAddGrad", DY(1), X(0), X(3), Y(0));

    DX(1, both);
    DX(4, eddy__rule_output_at(both, 1));
    return EDDY_OK;
}

/* Of gradients at some coordinates those at others, 0 where there is none. */
static eddy_output pick(eddy_gradient *g, eddy_output gradients,
                        eddy_output from, eddy_output at)
{
    return OP("SparseAddGrad", gradients, at, at, from);
}

/* gradients of the sum, coordinates of a, of b and of the sum */
eddy_status eddy__grad_sparse_add_grad(eddy_gradient *g)
{
    DX(0, OP("AddV2", pick(g, DY(0), X(1), X(3)), pick(g, DY(1), X(2), X(3))));
    return EDDY_OK;
}

/* gradients of the slice, coordinates, where it began, its coordinates */
eddy_status eddy__grad_sparse_slice_grad(eddy_gradient *g)
{
    DX(0, pick(g, DY(0), OP("Sub", X(1), X(2)), X(3)));
    return EDDY_OK;
}

/* indices, values, shape, start, size */
eddy_status eddy__grad_sparse_slice(eddy_gradient *g)
{
    DX(1, OP("SparseSliceGrad", DY(1), X(0), X(3), Y(0)));
    return EDDY_OK;
}

/* indices, values, shape, default value */
eddy_status eddy__grad_sparse_fill(eddy_gradient *g)
{
    const eddy_output both = OP("SparseFillEmptyRowsGrad", Y(3), DY(1));

    DX(1, both);
    DX(3, eddy__rule_output_at(both, 1));
    return EDDY_OK;
}

/* where elements went, gradients: each is an element's or in the sum */
eddy_status eddy__grad_sparse_fill_grad(eddy_gradient *g)
{
    const eddy_output n = OP("Size", X(1));
    const eddy_output taken =
        OP("UnsortedSegmentSum", OP("OnesLike", DY(0)), X(0), n);
    const eddy_output left = OP("Sub", NUMBER(1, 1.0), taken);

    if (WANTS(1))
        DX(1, OP("AddV2", OP("UnsortedSegmentSum", DY(0), X(0), n),
                 OP("Mul", left, DY(1))));
    return EDDY_OK;
}

/* indices, values, shape: y (dy - the sum of y dy in the row) */
eddy_status eddy__grad_sparse_softmax(eddy_gradient *g)
{
    const bool keeps = true;
    const eddy_attr attrs[] = {eddy_attr_bool("keep_dims", &keeps)};
    const eddy_output sum = OP_WITH("SparseReduceSum", attrs, X(0),
                                    OP("Mul", Y(0), DY(0)), X(2), INTS(-1));

    DX(1, OP("Mul", Y(0),
             OP("SparseDenseCwiseAdd", X(0), DY(0), X(2), OP("Neg", sum))));
    return EDDY_OK;
}

/* indices, values, shape, b */
eddy_status eddy__grad_sparse_add_dense(eddy_gradient *g)
{
    if (WANTS(1))
        DX(1, OP("GatherNd", DY(0), X(0)));
    DX(3, DY(0));
    return EDDY_OK;
}

/* The gradient of the dense input, whose elements may be those of many. */
static void set_dense(eddy_gradient *g, eddy_output gradients)
{
    eddy__rule_set_summed(g, 3, OP("ScatterNd", X(0), gradients, X(2)));
}

/* indices, values, shape, dense */
eddy_status eddy__grad_sparse_cwise_add(eddy_gradient *g)
{
    DX(1, DY(0));
    if (WANTS(3))
        set_dense(g, DY(0));
    return EDDY_OK;
}

eddy_status eddy__grad_sparse_cwise_mul(eddy_gradient *g)
{
    if (WANTS(1))
        DX(1, OP("SparseDenseCwiseMul", X(0), DY(0), X(2), X(3)));
    if (WANTS(3))
        set_dense(g, OP("Mul", DY(0), X(1)));
    return EDDY_OK;
}

eddy_status eddy__grad_sparse_cwise_div(eddy_gradient *g)
{
    const eddy_output by = OP("SparseDenseCwiseDiv", X(0), DY(0), X(2), X(3));

    DX(1, by);
    if (WANTS(3))
        set_dense(g, OP("Neg", OP("SparseDenseCwiseDiv", X(0),
                                  OP("Mul", by, X(1)), X(2), X(3))));
    return EDDY_OK;
}
