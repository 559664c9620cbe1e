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

    if (WANTS(1))
        DX(1, OP("GatherV2", DY(1),
                 OP("InvertPermutation", eddy__rule_output_at(sorted, 1)),
                 INT(0)));
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

    if (WANTS(1))
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
