/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows that go apart and together again by number: DynamicPartition and
 * DynamicStitch.
 *
 * A row is what data has for one element of its indices or partitions, whose
 * shape is the start of the data's.
 */
#include "ops/math/elements.h"
#include "ops/misc/scratch.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <string.h>

/* Are the first dimensions of `data` those of `of`? */
static bool starts_with(const eddy_shape *data, const eddy_shape *of)
{
    if (of->rank > data->rank)
        return false;
    for (int32_t d = 0; d < of->rank; d++)
        if (data->dims[d] != of->dims[d])
            return false;
    return true;
}

/* `n` rows of a data shape from dimension `from` on; false above rank 8. */
static bool rows_shape(int64_t n, const eddy_shape *data, int32_t from,
                       eddy_shape *out)
{
    if (1 + data->rank - from > EDDY_MAX_RANK)
        return false;
    out->rank = 1;
    out->dims[0] = n;
    for (int32_t d = from; d < data->rank; d++)
        out->dims[out->rank++] = data->dims[d];
    return true;
}

static eddy_status rank_too_high(eddy_kernel *k)
{
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                       "the result has a rank above %d, which is not "
                       "supported",
                       EDDY_MAX_RANK);
}

/* Bytes of one row; the data's own size was checked when it was made. */
static size_t row_bytes(const eddy_shape *rows, size_t size)
{
    for (int32_t d = 1; d < rows->rank; d++)
        size *= (size_t)rows->dims[d];
    return size;
}

/* ---- DynamicStitch ---- */

/* Checks the shapes of pair `i`; all pairs must have rows of one shape. */
static eddy_status check_pair(eddy_kernel *k, uint32_t i, uint32_t n)
{
    const eddy_shape *indices = eddy__in_shape(k, i);
    const eddy_shape *data = eddy__in_shape(k, n + i);
    const eddy_shape *data0 = eddy__in_shape(k, n);
    eddy_shape row, row0;

    if (!starts_with(data, indices))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "data[%" PRIu32 "] must start with the shape of its "
                           "indices, %s, but it has shape %s",
                           i, eddy__shape_print(indices).text,
                           eddy__shape_print(data).text);
    if (!rows_shape(1, data, indices->rank, &row) ||
        !rows_shape(1, data0, eddy__in_shape(k, 0)->rank, &row0))
        return rank_too_high(k);
    if (!eddy__shape_equal(&row, &row0))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "rows must have one shape, but those of data[0] "
                           "of shape %s and data[%" PRIu32 "] of shape %s "
                           "have not",
                           eddy__shape_print(data0).text, i,
                           eddy__shape_print(data).text);
    return EDDY_OK;
}

/* Raises `*rows` above the indices of pair `i`. */
static eddy_status count_rows(eddy_kernel *k, uint32_t i, int64_t *rows)
{
    const eddy_view view = eddy__in_view(k, i);
    const int32_t *index = view.data;

    for (int64_t j = 0; j < view.count; j++) {
        if (index[j] < 0)
            return eddy__kfail(
                k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                "indices[%" PRIu32 "]%s = %" PRId32 " must not be negative", i,
                eddy__position(eddy__in_shape(k, i), j).text, index[j]);
        if (index[j] >= *rows)
            *rows = (int64_t)index[j] + 1;
        if (eddy__spent_at(k, j))
            return eddy__go_on(k, 0);
    }
    return EDDY_OK;
}

static void put_rows(eddy_kernel *k, uint32_t n, size_t bytes,
                     unsigned char *out)
{
    eddy_kernel *const asker = eddy__asker(k, eddy__in_dtype(k, n));

    for (uint32_t i = 0; i < n; i++) {
        const eddy_view view = eddy__in_view(k, i);
        const int32_t *index = view.data;
        const unsigned char *from = eddy__in_elements(k, n + i);

        for (int64_t j = 0; j < view.count; j++) {
            if (asker && eddy__spent(asker, 16))
                return;
            eddy__copy_bytes(asker, out + (size_t)index[j] * bytes,
                             from + (size_t)j * bytes, bytes);
        }
    }
}

/*
 * A row that no index names is zeros or empty strings, where TensorFlow leaves
 * what was in memory; of two for one place the later one stays.
 */
static eddy_status run_stitch(eddy_kernel *k)
{
    const uint32_t n = k->node->n_in / 2;
    const eddy_dtype dtype = eddy__in_dtype(k, n);
    const size_t size = eddy__element_size(dtype);
    unsigned char *out;
    eddy_shape shape;
    int64_t rows = 0;
    size_t bytes;

    for (uint32_t i = 0; i < n; i++) {
        EDDY_TRY(check_pair(k, i, n));
        EDDY_TRY(count_rows(k, i, &rows));
    }
    if (!rows_shape(rows, eddy__in_shape(k, n), eddy__in_shape(k, 0)->rank,
                    &shape))
        return rank_too_high(k);
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &shape, &out));
    bytes = row_bytes(&shape, size);
    if (rows > 0 && bytes > 0) {
        eddy__zero_bytes(eddy__asker(k, dtype), out, (size_t)rows * bytes);
        put_rows(k, n, bytes, out);
    }
    return eddy__elements_done(k, 0);
}

/* How many rows there are if all indices are constants, else -1. */
static int64_t constant_rows(const eddy_infer *infer, uint32_t n)
{
    int64_t rows = 0;

    for (uint32_t i = 0; i < n; i++) {
        const eddy_tensor *indices = eddy_infer_constant(infer, i);
        const int32_t *index = indices ? indices->data : NULL;

        if (!indices)
            return -1;
        for (int64_t j = 0; j < indices->count; j++)
            if (index[j] >= rows)
                rows = (int64_t)index[j] + 1;
    }
    return rows;
}

static eddy_status infer_stitch(eddy_infer *infer)
{
    const uint32_t n = eddy_infer_inputs(infer) / 2;
    eddy_shape shape;

    for (uint32_t i = 0; i < n; i++) {
        const int32_t rank = eddy_infer_input(infer, i)->rank;
        const eddy_shape *data = eddy_infer_input(infer, n + i);

        if (rank < 0 || data->rank < rank ||
            !rows_shape(constant_rows(infer, n), data, rank, &shape))
            continue;
        eddy_infer_set_output(infer, 0, &shape);
        return EDDY_OK;
    }
    return EDDY_OK;
}

/* ---- DynamicPartition ---- */

/*
 * Sorts the numbers of rows by partition: `starts[p]` becomes where those of
 * partition p begin in `order`, `starts[n]` where the last ones end.
 */
static eddy_status sort_rows(eddy_kernel *k, const eddy_view *partitions,
                             int64_t n, int64_t *starts, int64_t *order)
{
    const int32_t *of = partitions->data;

    memset(starts, 0, (size_t)(n + 1) * sizeof *starts);
    for (int64_t i = 0; i < partitions->count; i++) {
        if (of[i] < 0 || of[i] >= n)
            return eddy__kfail(
                k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                "partitions%s = %" PRId32 " is not in [0, %" PRId64 ")",
                eddy__position(eddy__in_shape(k, 1), i).text, of[i], n);
        starts[of[i]]++;
        if (eddy__spent_at(k, i))
            return eddy__go_on(k, 0);
    }
    for (int64_t p = 0, before = 0; p <= n; p++) {
        const int64_t own = starts[p];

        starts[p] = before;
        before += own;
    }
    for (int64_t i = 0; i < partitions->count && !eddy__spent_at(k, i); i++)
        order[starts[of[i]]++] = i;
    memmove(starts + 1, starts, (size_t)n * sizeof *starts);
    starts[0] = 0;
    return eddy__go_on(k, 0);
}

/* Output `p`: the `n` rows whose numbers `order` lists. */
static eddy_status put_part(eddy_kernel *k, uint32_t p, const int64_t *order,
                            int64_t n)
{
    const eddy_dtype dtype = eddy__in_dtype(k, 0);
    const unsigned char *from = eddy__in_elements(k, 0);
    eddy_kernel *const asker = eddy__asker(k, dtype);
    unsigned char *out;
    eddy_shape shape;
    size_t bytes;

    if (!rows_shape(n, eddy__in_shape(k, 0), eddy__in_shape(k, 1)->rank,
                    &shape))
        return rank_too_high(k);
    EDDY_TRY(eddy__output_elements(k, p, dtype, &shape, &out));
    bytes = row_bytes(&shape, eddy__element_size(dtype));
    for (int64_t i = 0; bytes > 0 && i < n; i++) {
        if (asker && eddy__spent(asker, 16))
            break;
        eddy__copy_bytes(asker, out + (size_t)i * bytes,
                         from + (size_t)order[i] * bytes, bytes);
    }
    return eddy__elements_done(k, p);
}

static eddy_status run_partition(eddy_kernel *k)
{
    const eddy_view partitions = eddy__in_view(k, 1);
    const uint32_t n = k->node->n_out;
    eddy_tensor *scratch;
    int64_t *starts, *order;
    eddy_status status;

    if (!starts_with(eddy__in_shape(k, 0), eddy__in_shape(k, 1)))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "data must start with the shape of partitions, %s, "
                           "but it has shape %s",
                           eddy__shape_print(eddy__in_shape(k, 1)).text,
                           eddy__shape_print(eddy__in_shape(k, 0)).text);
    EDDY_TRY(eddy__scratch(k, EDDY_INT64, partitions.count + n + 1, &scratch));
    starts = scratch->data;
    order = starts + n + 1;
    status = sort_rows(k, &partitions, n, starts, order);
    for (uint32_t p = 0; status == EDDY_OK && p < n; p++)
        status = put_part(k, p, order + starts[p], starts[p + 1] - starts[p]);
    eddy__scratch_free(k, scratch);
    return status;
}

static eddy_status infer_partition(eddy_infer *infer)
{
    const int32_t rank = eddy_infer_input(infer, 1)->rank;
    const eddy_shape *data = eddy_infer_input(infer, 0);
    eddy_shape shape;

    if (rank < 0 || data->rank < rank || !rows_shape(-1, data, rank, &shape))
        return EDDY_OK;
    for (uint32_t p = 0; p < eddy_infer_outputs(infer); p++)
        eddy_infer_set_output(infer, p, &shape);
    return EDDY_OK;
}

#define STITCH(name, text)                                                     \
    EDDY__OP_ROW(name, .inputs = "indices: N * int32, data: N * T",            \
                 .outputs = "merged: T", .attrs = "N: int >= 1, T: type",      \
                 .infer = infer_stitch, .kernel = run_stitch,                  \
                 .prepare = eddy__prepare_movable, .doc = text)

static const eddy_op_spec specs[] = {
    STITCH("DynamicStitch",
           "The rows of all data where their indices say; later ones stay."),
    STITCH("ParallelDynamicStitch",
           "DynamicStitch; TensorFlow's may keep any of two for one place."),
    EDDY__OP_ROW(
        "DynamicPartition", .inputs = "data: T, partitions: int32",
        .outputs = "outputs: num_partitions * T",
        .attrs = "num_partitions: int >= 1, T: type", .infer = infer_partition,
        .kernel = run_partition, .prepare = eddy__prepare_movable,
        .doc = "The rows of data whose partition is 0, 1 and so on, in order."),
};

const eddy__op_table eddy__stitch_ops = {specs, NULL,
                                         sizeof specs / sizeof *specs};
