/* SPDX-License-Identifier: Apache-2.0 */
/* UnravelIndex: flat indices as coordinates. */
#include "ops/math/elements.h"
#include "ops/ops.h"

#include <inttypes.h>

/* How many elements a tensor of these dimensions has. */
static eddy_status count_places(eddy_kernel *k, const eddy_view *dims,
                                int64_t *out)
{
    *out = 1;
    for (int64_t d = 0; d < dims->count; d++) {
        const int64_t dim = eddy__view_index(dims, d);

        if (dim <= 0 || __builtin_mul_overflow(*out, dim, out) ||
            (dims->dtype == EDDY_INT32 && *out > INT32_MAX))
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DIM,
                               "dimension %" PRId64 " is %" PRId64
                               ": one of 0 has no places, and of more than the "
                               "dtype counts there is no index",
                               d, dim);
    }
    return EDDY_OK;
}

static void put(void *out, eddy_dtype dtype, int64_t i, int64_t value)
{
    if (dtype == EDDY_INT32)
        ((int32_t *)out)[i] = (int32_t)value;
    else
        ((int64_t *)out)[i] = value;
}

static eddy_status unravel(eddy_kernel *k, const eddy_view *indices,
                           const eddy_view *dims, void *out)
{
    int64_t places;

    EDDY_TRY(count_places(k, dims, &places));
    for (int64_t i = 0; i < indices->count; i++) {
        int64_t at = eddy__view_index(indices, i);

        /* Those below 0 TensorFlow divides as C does. */
        if (at >= places)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                               "indices[%" PRId64 "] = %" PRId64
                               " is not below %" PRId64,
                               i, at, places);
        if (eddy__spent(k, 8 * dims->count))
            return eddy__go_on(k, 0);
        for (int64_t d = dims->count - 1; d >= 0; d--) {
            const int64_t dim = eddy__view_index(dims, d);

            put(out, dims->dtype, d * indices->count + i, at % dim);
            at /= dim;
        }
    }
    return EDDY_OK;
}

static eddy_status run(eddy_kernel *k)
{
    const eddy_view indices = eddy__in_view(k, 0), dims = eddy__in_view(k, 1);
    eddy_shape shape = {.rank = 1, .dims = {dims.count}};
    void *out;

    if (indices.count == 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "there are no indices");
    if (indices.rank > 1 || dims.rank != 1)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "indices must be a scalar or a vector, and dims a "
                           "vector, but they have shapes %s and %s",
                           eddy__shape_print(eddy__in_shape(k, 0)).text,
                           eddy__shape_print(eddy__in_shape(k, 1)).text);
    if (indices.rank == 1)
        shape = (eddy_shape){.rank = 2, .dims = {dims.count, indices.count}};
    EDDY_TRY(eddy__output(k, 0, dims.dtype, &shape, &out));
    return unravel(k, &indices, &dims, out);
}

static eddy_status infer(eddy_infer *infer)
{
    const eddy_shape *indices = eddy_infer_input(infer, 0);
    const eddy_shape *dims = eddy_infer_input(infer, 1);
    eddy_shape shape;

    if (indices->rank < 0 || indices->rank > 1)
        return EDDY_OK;
    shape = eddy__shape_of_rank(1 + indices->rank);
    if (dims->rank == 1)
        shape.dims[0] = dims->dims[0];
    if (indices->rank == 1)
        shape.dims[1] = indices->dims[0];
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("UnravelIndex", .inputs = "indices: Tidx, dims: Tidx",
                 .outputs = "output: Tidx", .attrs = "Tidx: index = int32",
                 .infer = infer, .kernel = run,
                 .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "The coordinates of flat indices, a column each."),
};

const eddy__op_table eddy__unravel_ops = {specs, NULL,
                                          sizeof specs / sizeof *specs};
