/* SPDX-License-Identifier: Apache-2.0 */
/* Coordinates in order, and outputs of them. */
#include "ops/sparse/sparse.h"

#include <string.h>

typedef struct sorting {
    const eddy__sparse_rows *rows;
    eddy_kernel *kernel;
} sorting;

static void merge(const sorting *s, const int64_t *from, int64_t first,
                  int64_t middle, int64_t end, int64_t *to)
{
    const eddy__sparse_rows *r = s->rows;
    int64_t a = first, b = middle;

    for (int64_t i = first;
         i < end && !eddy__spent(s->kernel, EDDY__SPARSE_WORK); i++) {
        const bool takes_a =
            a < middle &&
            (b == end || eddy__sparse_compare(r->at, from[a], r->at, from[b],
                                              r->rank) <= 0);

        to[i] = takes_a ? from[a++] : from[b++];
    }
}

eddy_status eddy__sparse_sort(eddy_kernel *k, const eddy__sparse_rows *rows,
                              eddy_tensor **out_room,
                              const int64_t **out_places)
{
    const sorting s = {rows, k};
    const eddy_shape shape = eddy__shape_vector(2 * rows->n);
    int64_t *places, *room;

    EDDY_TRY(eddy__new_tensor(k, EDDY_INT64, &shape, out_room));
    places = (*out_room)->data;
    room = places + rows->n;
    for (int64_t i = 0; i < rows->n; i++)
        places[i] = i;
    for (int64_t step = 1; step < rows->n && !eddy__gave_up(k); step *= 2) {
        int64_t *sorted = room;

        for (int64_t first = 0; first < rows->n; first += 2 * step) {
            const int64_t middle =
                first + step < rows->n ? first + step : rows->n;
            const int64_t end =
                middle + step < rows->n ? middle + step : rows->n;

            merge(&s, places, first, middle, end, sorted);
        }
        room = places;
        places = sorted;
    }
    *out_places = places;
    return EDDY_OK;
}

static eddy_status put_rows(eddy_kernel *k, const eddy__sparse_rows *r,
                            const int64_t *places)
{
    const size_t size = eddy__element_size(r->dtype);
    const size_t width = (size_t)r->rank * sizeof(int64_t);
    const eddy_shape vector = eddy__shape_vector(r->n);
    int64_t *indices;
    unsigned char *values;

    EDDY_TRY(eddy__sparse_output_rows(k, 0, r->n, r->rank, &indices));
    for (int64_t i = 0; i < r->n && width > 0; i++)
        memcpy(indices + i * r->rank, r->at + places[i] * r->rank, width);
    EDDY_TRY(eddy__output_elements(k, 1, r->dtype, &vector, &values));
    for (int64_t i = 0; i < r->n; i++)
        memcpy(values + (size_t)i * size,
               r->elements + (size_t)places[i] * size, size);
    return eddy__elements_done(k, 1);
}

eddy_status eddy__sparse_put_sorted(eddy_kernel *k,
                                    const eddy__sparse_rows *rows)
{
    eddy_tensor *room = NULL;
    const int64_t *places;
    eddy_status status;

    EDDY_TRY(eddy__sparse_sort(k, rows, &room, &places));
    status = eddy__go_on(k, 4 * rows->n);
    if (status == EDDY_OK)
        status = put_rows(k, rows, places);
    eddy__tensor_recycle(k->heap, room);
    return status;
}

eddy_status eddy__sparse_put_shape(eddy_kernel *k, uint32_t i,
                                   const eddy_shape *shape)
{
    const eddy_shape vector = eddy__shape_vector(shape->rank);
    void *out;

    EDDY_TRY(eddy__output(k, i, EDDY_INT64, &vector, &out));
    if (shape->rank > 0)
        memcpy(out, shape->dims, (size_t)shape->rank * sizeof(int64_t));
    return EDDY_OK;
}

eddy_status eddy__sparse_output_rows(eddy_kernel *k, uint32_t i, int64_t n,
                                     int32_t rank, int64_t **out)
{
    const eddy_shape matrix = {.rank = 2, .dims = {n, rank}};
    void *data;

    EDDY_TRY(eddy__output(k, i, EDDY_INT64, &matrix, &data));
    *out = data;
    return EDDY_OK;
}

eddy_status eddy__infer_sparse(eddy_infer *infer)
{
    const uint32_t n = eddy_infer_outputs(infer) / 3;
    const eddy_shape matrix = eddy__shape_of_rank(2);
    const eddy_shape vector = eddy__shape_of_rank(1);

    for (uint32_t i = 0; i < n; i++) {
        eddy_infer_set_output(infer, i, &matrix);
        eddy_infer_set_output(infer, n + i, &vector);
        eddy_infer_set_output(infer, 2 * n + i, &vector);
    }
    return EDDY_OK;
}

eddy_status eddy__sparse_prepare(eddy_infer *infer)
{
    const eddy_dtype dtype = eddy__infer_type(infer, "T");

    if (eddy__dtype_in(dtype, EDDY__MOVABLE))
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_NO_KERNEL,
                           "there is no kernel for %s", eddy_dtype_name(dtype));
}
