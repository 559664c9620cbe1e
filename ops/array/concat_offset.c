/* SPDX-License-Identifier: Apache-2.0 */
/* ConcatOffset: where each part begins in a concatenation, for its gradient. */
#include "ops/math/elements.h"
#include "ops/ops.h"

#include <inttypes.h>

/* Input 0 is the axis, the shapes follow. */
enum { AXIS, FIRST };

static eddy_status check_shape(eddy_kernel *k, uint32_t i, int32_t axis)
{
    const eddy_view want = eddy__in_view(k, FIRST);
    const eddy_view got = eddy__in_view(k, i);

    for (int32_t d = 0; d < want.count; d++)
        if (d != axis && eddy__index_at(&got, d) != eddy__index_at(&want, d))
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "dimension %d of shape %u is %" PRId64
                               ", but of shape 0 it is %" PRId64
                               "; only dimension %d may differ",
                               d, i - FIRST, eddy__index_at(&got, d),
                               eddy__index_at(&want, d), axis);
    return EDDY_OK;
}

static void put_offset(void *to, eddy_dtype dtype, int64_t n, int32_t axis,
                       uint64_t offset)
{
    for (int64_t d = 0; d < n; d++) {
        const uint64_t value = d == axis ? offset : 0;

        if (dtype == EDDY_INT32)
            ((int32_t *)to)[d] = (int32_t)(uint32_t)value;
        else
            ((int64_t *)to)[d] = (int64_t)value;
    }
}

static eddy_status run_offset(eddy_kernel *k)
{
    const eddy_view first = eddy__in_view(k, FIRST);
    const eddy_shape shape = eddy__shape_vector(first.count);
    uint64_t offset = 0;
    int32_t axis;

    if (first.count > EDDY_MAX_RANK)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "a rank above %d is not supported", EDDY_MAX_RANK);
    EDDY_TRY(eddy__axis_argument(k, AXIS, 0, (int32_t)first.count, &axis));
    for (uint32_t i = FIRST; i < k->node->n_in; i++) {
        eddy_view view;
        void *out;

        EDDY_TRY(eddy__vector_argument(k, i, "each shape", first.count, &view));
        EDDY_TRY(check_shape(k, i, axis));
        EDDY_TRY(eddy__output(k, i - FIRST, first.dtype, &shape, &out));
        put_offset(out, first.dtype, first.count, axis, offset);
        offset += (uint64_t)eddy__index_at(&view, axis);
    }
    return EDDY_OK;
}

static eddy_status infer_offset(eddy_infer *infer)
{
    for (uint32_t i = 0; i < eddy_infer_outputs(infer); i++)
        eddy_infer_set_output(infer, i, eddy_infer_input(infer, FIRST + i));
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW(
        "ConcatOffset", .inputs = "concat_dim: int32, shape: N * shape_type",
        .outputs = "offset: N * shape_type",
        .attrs = "N: int >= 2, shape_type: index = int32",
        .infer = infer_offset, .kernel = run_offset,
        .flags = EDDY_OP_CHEAP | EDDY_OP_NOT_DIFFERENTIABLE,
        .doc = "Where each of some tensors begins in their concatenation."),
};

const eddy__op_table eddy__concat_offset_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};
