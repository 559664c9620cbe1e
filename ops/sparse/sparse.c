/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels of sparse tensors are given, read and checked. */
#include "ops/sparse/sparse.h"

#include <inttypes.h>

eddy_status eddy__sparse_lay_out(eddy_kernel *k, eddy__sparse *s)
{
    if (!eddy__shape_count(&s->shape, 1, &s->count))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                           "the dense shape %s is too large",
                           eddy__shape_print(&s->shape).text);
    for (int64_t d = s->shape.rank - 1, step = 1; d >= 0; d--) {
        s->strides[d] = step;
        /* What an empty tensor's are is nobody's. */
        if (s->count > 0)
            step *= s->shape.dims[d];
    }
    return EDDY_OK;
}

eddy_status eddy__sparse_read(eddy_kernel *k, uint32_t first, eddy__sparse *out)
{
    return eddy__sparse_read_apart(k, first, 1, out);
}

eddy_status eddy__sparse_read_apart(eddy_kernel *k, uint32_t first,
                                    uint32_t apart, eddy__sparse *out)
{
    const eddy_shape *indices = eddy__in_shape(k, first);
    const eddy_shape *values = eddy__in_shape(k, first + apart);
    const eddy_view shape = eddy__in_view(k, first + 2 * apart);

    if (indices->rank != 2 || values->rank != 1 ||
        indices->dims[0] != values->dims[0])
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "the indices must be a matrix and the values a "
                           "vector with as many rows, but they have shapes "
                           "%s and %s",
                           eddy__shape_print(indices).text,
                           eddy__shape_print(values).text);
    EDDY_TRY(eddy__shape_from_view(k, &shape, 0, &out->shape));
    if (indices->dims[1] != out->shape.rank)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "the indices have %" PRId64
                           " coordinates, but the dense shape has %d "
                           "dimensions",
                           indices->dims[1], out->shape.rank);
    out->indices = eddy__in_view(k, first);
    out->n = values->dims[0];
    return eddy__sparse_lay_out(k, out);
}

eddy_status eddy__sparse_check(eddy_kernel *k, const eddy__sparse *s)
{
    for (int64_t i = 0; i < s->n; i++) {
        for (int32_t d = 0; d < s->shape.rank; d++) {
            const int64_t at = eddy__sparse_at(s, i, d);

            if (at < 0 || at >= s->shape.dims[d])
                return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                                   "indices[%" PRId64 ",%d] is %" PRId64
                                   ", which is out of bounds: the dense shape "
                                   "is %s",
                                   i, d, at, eddy__shape_print(&s->shape).text);
        }
        if (eddy__spent_at(k, i))
            return eddy__go_on(k, 0);
    }
    return EDDY_OK;
}
