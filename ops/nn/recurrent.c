/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins rows, multiplies them with the weights of all gates at once, and checks
 * the shapes of both.
 */
#include "ops/nn/recurrent.h"

#include <string.h>

void eddy__recurrent_join_rows(size_t size, const eddy__matrix *a,
                               const eddy__matrix *b, void *out)
{
    const size_t bytes_a = (size_t)a->columns * size;
    const size_t bytes_b = (size_t)b->columns * size;
    const unsigned char *from_a = a->data, *from_b = b->data;
    unsigned char *to = out;

    for (int64_t i = 0; i < a->rows; i++) {
        if (bytes_a > 0)
            memcpy(to, from_a, bytes_a);
        if (bytes_b > 0)
            memcpy(to + bytes_a, from_b, bytes_b);
        from_a += bytes_a;
        from_b += bytes_b;
        to += bytes_a + bytes_b;
    }
}

void eddy__recurrent_gates(eddy_kernel *k, eddy_dtype dtype,
                           const eddy__matrix *a, const eddy__matrix *b,
                           eddy__how how, void *out)
{
    const bool turned_a = how == EDDY__FIRST_TURNED;
    const bool turned_b = how == EDDY__SECOND_TURNED;
    const eddy__product product = {
        .m = turned_a ? a->columns : a->rows,
        .k = turned_a ? a->rows : a->columns,
        .n = turned_b ? b->rows : b->columns,
        .transpose_a = turned_a,
        .transpose_b = turned_b,
        .a = a->data,
        .b = b->data,
        .out = out,
        .kernel = k,
    };

    if (product.m == 0 || product.n == 0)
        return;
    if (product.k == 0)
        memset(out, 0,
               (size_t)(product.m * product.n) * eddy_dtype_size(dtype));
    else
        eddy__product_of(dtype)(&product);
}

eddy_status eddy__want_matrix(eddy_kernel *k, uint32_t i, const char *what,
                              int64_t rows, int64_t columns)
{
    const eddy_shape *shape = eddy__in_shape(k, i);

    if (shape->rank == 2 && shape->dims[0] == rows && shape->dims[1] == columns)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "%s must have shape [%" PRId64 ",%" PRId64
                       "], but it has %s",
                       what, rows, columns, eddy__shape_print(shape).text);
}

eddy_status eddy__recurrent_want_vector(eddy_kernel *k, uint32_t i,
                                        const char *what, int64_t n)
{
    const eddy_shape *shape = eddy__in_shape(k, i);

    if (shape->rank == 1 && shape->dims[0] == n)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "%s must have shape [%" PRId64 "], but it has %s", what,
                       n, eddy__shape_print(shape).text);
}
