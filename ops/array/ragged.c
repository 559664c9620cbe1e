/* SPDX-License-Identifier: Apache-2.0 */
/* RaggedRange: a range of numbers a row, one row behind the other. */
#include "ops/math/elements.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <math.h>

enum { STARTS, LIMITS, DELTAS };

/* Argument `i` of row `row`; a scalar is that of every row. */
static double float_at(const eddy_kernel *k, uint32_t i, int64_t row)
{
    const eddy_view x = eddy__in_view(k, i);

    row = x.rank == 0 ? 0 : row;
    return x.dtype == EDDY_FLOAT32 ? (double)((const float *)x.data)[row]
                                   : ((const double *)x.data)[row];
}

static int64_t integer_at(const eddy_kernel *k, uint32_t i, int64_t row)
{
    const eddy_view x = eddy__in_view(k, i);

    return eddy__view_index(&x, x.rank == 0 ? 0 : row);
}

static bool is_float(const eddy_kernel *k)
{
    return k->node->in_dtypes[STARTS] == EDDY_FLOAT32 ||
           k->node->in_dtypes[STARTS] == EDDY_FLOAT64;
}

/* How many numbers a row has, as TensorFlow counts them; 0: delta is 0. */
static double float_size(const eddy_kernel *k, int64_t row, bool *out_ok)
{
    const bool is_single = k->node->in_dtypes[STARTS] == EDDY_FLOAT32;
    const double start = float_at(k, STARTS, row);
    const double limit = float_at(k, LIMITS, row);
    const double delta = float_at(k, DELTAS, row);

    *out_ok = delta != 0;
    if (!*out_ok || (delta > 0 && limit < start) ||
        (delta < 0 && limit > start))
        return 0;
    if (is_single)
        return (double)ceilf(
            fabsf(((float)limit - (float)start) / (float)delta));
    return ceil(fabs((limit - start) / delta));
}

static uint64_t integer_size(const eddy_kernel *k, int64_t row, bool *out_ok)
{
    const int64_t start = integer_at(k, STARTS, row);
    const int64_t limit = integer_at(k, LIMITS, row);
    const int64_t delta = integer_at(k, DELTAS, row);
    uint64_t way, step;

    *out_ok = delta != 0;
    if (!*out_ok || (delta > 0 && limit <= start) ||
        (delta < 0 && limit >= start))
        return 0;
    way = delta > 0 ? (uint64_t)limit - (uint64_t)start
                    : (uint64_t)start - (uint64_t)limit;
    step = delta > 0 ? (uint64_t)delta : 0 - (uint64_t)delta;
    return (way - 1) / step + 1;
}

/* Ends of all rows go to `splits`; `*out_n` is the last. */
static eddy_status count_all(eddy_kernel *k, int64_t rows, void *splits,
                             int64_t *out_n)
{
    const bool is_wide = k->node->out_dtypes[0] == EDDY_INT64;
    const int64_t most = is_wide ? INT64_MAX : INT32_MAX;
    int64_t n = 0;

    for (int64_t row = 0; row <= rows; row++) {
        if (is_wide)
            ((int64_t *)splits)[row] = n;
        else
            ((int32_t *)splits)[row] = (int32_t)n;
        if (row < rows) {
            bool ok;
            const double size = is_float(k) ? float_size(k, row, &ok)
                                            : (double)integer_size(k, row, &ok);

            if (!ok)
                return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                                   "deltas[%" PRId64 "] is 0", row);
            /* Also where it is NaN; 2^62 is no size of anything. */
            if (!(size < 0x1p62) || (int64_t)size > most - n)
                return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                                   "row %" PRId64 " has too many numbers", row);
            n += (int64_t)size;
        }
        EDDY_TRY(eddy__go_on(k, 16));
    }
    *out_n = n;
    return EDDY_OK;
}

/* Each number is the one before it and delta, rounded in their dtype. */
static void put_row(eddy_kernel *k, int64_t row, void *to, int64_t n)
{
    const eddy_dtype dtype = (eddy_dtype)k->node->out_dtypes[1];

    if (is_float(k)) {
        double at = float_at(k, STARTS, row);
        const double delta = float_at(k, DELTAS, row);

        for (int64_t i = 0; i < n && !eddy__spent_at(k, i); i++) {
            if (dtype == EDDY_FLOAT32) {
                ((float *)to)[i] = (float)at;
                at = (double)((float)at + (float)delta);
            } else {
                ((double *)to)[i] = at;
                at += delta;
            }
        }
    } else {
        uint64_t at = (uint64_t)integer_at(k, STARTS, row);
        const uint64_t delta = (uint64_t)integer_at(k, DELTAS, row);

        for (int64_t i = 0; i < n && !eddy__spent_at(k, i); i++, at += delta) {
            if (dtype == EDDY_INT32)
                ((int32_t *)to)[i] = (int32_t)(uint32_t)at;
            else
                ((int64_t *)to)[i] = (int64_t)at;
        }
    }
}

/* All three are scalars, or vectors of as many rows. */
static eddy_status find_rows(eddy_kernel *k, int64_t *out_rows)
{
    bool any = false;

    *out_rows = 1;
    for (uint32_t i = STARTS; i <= DELTAS; i++) {
        const eddy_shape *of = eddy__in_shape(k, i);

        if (of->rank > 1)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "input %u must be a scalar or a vector, it has "
                               "shape %s",
                               (unsigned)i, eddy__shape_print(of).text);
        if (of->rank == 0)
            continue;
        if (any && of->dims[0] != *out_rows)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "starts, limits and deltas are of %" PRId64
                               " and of %" PRId64 " rows",
                               *out_rows, of->dims[0]);
        *out_rows = of->dims[0];
        any = true;
    }
    return EDDY_OK;
}

static eddy_status run_range(eddy_kernel *k)
{
    const eddy_dtype dtype = (eddy_dtype)k->node->out_dtypes[1];
    eddy_shape ends, all;
    eddy_view splits;
    void *out_splits, *out;
    int64_t rows = 0, n = 0;

    EDDY_TRY(find_rows(k, &rows));
    ends = eddy__shape_vector(rows + 1);
    EDDY_TRY(eddy__output(k, 0, (eddy_dtype)k->node->out_dtypes[0], &ends,
                          &out_splits));
    EDDY_TRY(count_all(k, rows, out_splits, &n));
    all = eddy__shape_vector(n);
    EDDY_TRY(eddy__output(k, 1, dtype, &all, &out));
    splits = eddy__view(eddy__out(k, 0));
    for (int64_t row = 0; row < rows; row++) {
        const int64_t at = eddy__view_index(&splits, row);
        const int64_t size = eddy__view_index(&splits, row + 1) - at;

        put_row(k, row,
                (unsigned char *)out + (size_t)at * eddy_dtype_size(dtype),
                size);
        if (eddy__spent(k, 16))
            break;
    }
    return EDDY_OK;
}

static eddy_status infer_range(eddy_infer *infer)
{
    const eddy_shape some = eddy__shape_of_rank(1);
    eddy_shape ends = some;

    for (uint32_t i = STARTS; i <= DELTAS; i++) {
        const eddy_shape *of = eddy_infer_input(infer, i);

        if (of->rank == 1 && of->dims[0] >= 0)
            ends = eddy__shape_vector(of->dims[0] + 1);
    }
    eddy_infer_set_output(infer, 0, &ends);
    eddy_infer_set_output(infer, 1, &some);
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("RaggedRange", .inputs = "starts: T, limits: T, deltas: T",
                 .outputs = "rt_nested_splits: Tsplits, rt_dense_values: T",
                 .attrs = "T: {float32, float64, int32, int64} = int32, "
                          "Tsplits: index = int64",
                 .infer = infer_range, .kernel = run_range,
                 .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "For each row the numbers from its start to its limit, "
                        "and where those of each row end."),
};

const eddy__op_table eddy__ragged_ops = {specs, NULL,
                                         sizeof specs / sizeof *specs};
