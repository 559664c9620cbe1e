/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ragged tensors: linear in their values, of which a gradient says where each
 * went and sums what came from there.
 */
#include "autodiff/rule.h"

/* Where in the output each value went: its number there, -1 for a default. */
static eddy_output places(eddy_gradient *g)
{
    static const char *const names[] = {"row_partition_types"};
    const uint32_t n = eddy_gradient_inputs(g);
    const eddy_output shape = OP("Shape", DY(0));
    const eddy_output rank = OP("Size", OP("Shape", X(1)));
    eddy_output *inputs = eddy__rule_room(g, n);
    eddy_attr attrs[1];
    const size_t n_attrs = eddy__rule_attrs(g, names, 1, attrs);

    if (!inputs)
        return DY(0);
    inputs[0] = eddy__rule_head(
        g, shape, OP("AddV2", OP("Sub", OP("Size", shape), rank), INT(1.0)));
    inputs[1] =
        OP("Range", INT(0.0),
           eddy__rule_element(g, OP("Shape", X(1)), INT(0.0)), INT(1.0));
    inputs[2] = INT(-1.0);
    for (uint32_t i = 3; i < n; i++)
        inputs[i] = X(i);
    return eddy_gradient_add(g, "RaggedTensorToTensor", inputs, n, attrs,
                             n_attrs);
}

eddy_status eddy__grad_ragged_dense(eddy_gradient *g)
{
    const eddy_output at = places(g);

    if (WANTS(1))
        DX(1, OP("UnsortedSegmentSum", DY(0), at,
                 eddy__rule_element(g, OP("Shape", X(1)), INT(0.0))));
    if (WANTS(2)) {
        /* 0 for a default, -1 for a value, which is left out. */
        const eddy_output is_value =
            OP("Neg", eddy__rule_cast(g, OP("GreaterEqual", at, INT(0.0)),
                                      EDDY_BOOL, EDDY_INT32));

        eddy__rule_set_summed(
            g, 2, OP("UnsortedSegmentSum", DY(0), is_value, INT(1.0)));
    }
    return EDDY_OK;
}

eddy_status eddy__grad_ragged_sparse(eddy_gradient *g)
{
    const uint32_t values = eddy_gradient_inputs(g) - 1;

    DX(values, OP("Reshape", DY(1), eddy_gradient_shape_of(g, values)));
    return EDDY_OK;
}

/* Each row that was taken, to the values that it was taken from. */
eddy_status eddy__grad_ragged_gather(eddy_gradient *g)
{
    const uint32_t values = eddy_gradient_inputs(g) - 2;
    const uint32_t last = eddy_gradient_outputs(g) - 1;
    eddy_output ends, indices, from, to, range;

    /* Where the values of each of the outermost rows begin. */
    ends = X(0);
    for (uint32_t i = 1; i < values; i++)
        ends = OP("GatherV2", X(i), ends, INT(0.0));
    indices = OP("Reshape", X(values + 1), INTS(-1));
    from = OP("GatherV2", ends, indices, INT(0.0));
    to = OP("GatherV2", ends, OP("AddV2", indices, NUMBER(values + 1, 1.0)),
            INT(0.0));
    range = OP("RaggedRange", from, to, NUMBER(0, 1.0));
    DX(values,
       OP("UnsortedSegmentSum", DY(last), eddy__rule_output_at(range, 1),
          eddy__rule_element(g, eddy_gradient_shape_of(g, values), INT(0.0))));
    return EDDY_OK;
}

/* Of the splits only the outermost say which values belong to which row. */
eddy_status eddy__grad_ragged_to_variant(eddy_gradient *g)
{
    const uint32_t values = eddy_gradient_inputs(g) - 1;
    const eddy_attr attrs[] = {eddy__rule_attr(g, "Tvalues")};

    if (WANTS(values))
        DX(values,
           OP_WITH("RaggedTensorToVariantGradient", attrs, DY(0),
                   values > 0 ? X(0) : eddy__rule_scalar(g, EDDY_INT64, 0.0),
                   eddy_gradient_shape_of(g, values)));
    return EDDY_OK;
}

/* As TensorFlow, which has variants of rows in a vector or alone. */
eddy_status eddy__grad_ragged_from_variant(eddy_gradient *g)
{
    const uint32_t n = eddy_gradient_outputs(g);
    const int32_t rank = eddy_gradient_input_shape(g, 0)->rank;
    const bool is_batched = rank < 0 ? n > 1 : rank == 1;
    const eddy_attr attrs[] = {eddy_attr_bool("batched_input", &is_batched)};
    eddy_output *inputs = eddy__rule_room(g, n);

    if (!inputs || !WANTS(0) || !eddy_gradient_is_given(g, n - 1))
        return EDDY_OK;
    if (rank > 1)
        return eddy_gradient_fail(g, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT,
                                  "variants of rank %d have no gradient",
                                  (int)rank);
    for (uint32_t i = 0; i + 1 < n; i++)
        inputs[i] = Y(i);
    inputs[n - 1] = DY(n - 1);
    DX(0, eddy_gradient_add(g, "RaggedTensorToVariant", inputs, n, attrs, 1));
    return EDDY_OK;
}
