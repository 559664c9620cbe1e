/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that go apart and together again by number. */
#include "autodiff/rule.h"

/*
 * indices [n], data [n]: a row has the gradient of its place.  As in
 * TensorFlow, that includes a row whose place a later one took.
 */
eddy_status eddy__grad_dynamic_stitch(eddy_gradient *g)
{
    const uint32_t n = eddy_gradient_inputs(g) / 2;

    for (uint32_t i = 0; i < n; i++)
        if (WANTS(n + i))
            DX(n + i, OP("GatherV2", DY(0), X(i), INT(0.0)));
    return EDDY_OK;
}

/* The numbers of the rows, which went where the rows did. */
static eddy_output numbers_of_parts(eddy_gradient *g)
{
    const eddy_attr attrs[] = {eddy__rule_attr(g, "num_partitions")};
    const eddy_output partitions = X(1);
    const eddy_output numbers =
        OP("Reshape", OP("Range", INT(0.0), OP("Size", partitions), INT(1.0)),
           OP("Shape", partitions));

    return OP_WITH("DynamicPartition", attrs, numbers, partitions);
}

/* data, partitions: the rows of all gradients, each back in its place. */
eddy_status eddy__grad_dynamic_partition(eddy_gradient *g)
{
    const uint32_t n = eddy_gradient_outputs(g);
    eddy_output *parts, numbers;

    parts = eddy__rule_room(g, 2 * (size_t)n);
    if (!parts)
        return EDDY_OK;
    numbers = numbers_of_parts(g);
    for (uint32_t i = 0; i < n; i++) {
        parts[i] = eddy__rule_output_at(numbers, i);
        parts[n + i] = DY(i);
    }
    DX(0,
       OP("Reshape",
          eddy_gradient_add(g, "DynamicStitch", parts, 2 * (size_t)n, NULL, 0),
          eddy_gradient_shape_of(g, 0)));
    return EDDY_OK;
}
