/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ragged tensors as row splits, the outermost first, and values: RaggedGather
 * takes rows of one, RaggedTensorToSparse tells where its values stand.
 */
#include "ops/array/ragged.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <string.h>

/* Inputs 0 to `n` - 1 are row splits, input `n` the values. */
typedef struct ragged {
    eddy_kernel *kernel;
    uint32_t n;
} ragged;

static eddy_view splits_of(const ragged *r, uint32_t i)
{
    return eddy__in_view(r->kernel, i);
}

static eddy_status refuse(const ragged *r, uint32_t i, const char *what)
{
    return eddy__kfail(r->kernel, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                       "row splits %" PRIu32 " %s", i, what);
}

eddy_status eddy__ragged_check(eddy_kernel *k, uint32_t n, bool is_whole)
{
    const ragged r = {k, n};
    const eddy_shape *values = eddy__in_shape(k, n);

    if (n > 0 && values->rank < 1)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "the values must not be a scalar");
    for (uint32_t i = 0; i < n; i++) {
        const eddy_view splits = splits_of(&r, i);
        const int64_t below =
            i + 1 < n ? splits_of(&r, i + 1).count - 1 : values->dims[0];
        int64_t before = 0;

        if (splits.rank != 1 || splits.count == 0 ||
            eddy__view_index(&splits, 0) != 0)
            return refuse(&r, i, "must be a vector that begins with 0");
        for (int64_t j = 1; j < splits.count; j++) {
            const int64_t now = eddy__view_index(&splits, j);

            if (now < before)
                return refuse(&r, i, "must not fall");
            before = now;
            if (eddy__spent_at(k, j))
                return eddy__go_on(k, 0);
        }
        if (before > below)
            return refuse(&r, i, "end behind what they split");
        if (is_whole && before < below)
            return refuse(&r, i, "end before what they split");
    }
    return EDDY_OK;
}

/* ---- RaggedGather ---- */

/* Where the rows that an index takes are, at each level below. */
typedef struct span {
    int64_t from, to;
} span;

static span below(const ragged *r, uint32_t level, span s)
{
    const eddy_view splits = splits_of(r, level);

    return (span){eddy__view_index(&splits, s.from),
                  eddy__view_index(&splits, s.to)};
}

/* The rows of index `i` at the outermost level, or a failure. */
static eddy_status take_index(const ragged *r, int64_t i, span *out)
{
    const eddy_view indices = eddy__in_view(r->kernel, r->n + 1);
    const int64_t at = eddy__view_index(&indices, i);
    const int64_t limit = splits_of(r, 0).count - 1;

    *out = (span){at, at + 1};
    if (at >= 0 && at < limit)
        return EDDY_OK;
    return eddy__kfail(
        r->kernel, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
        "indices%s = %" PRId64 " is not in [0, %" PRId64 ")",
        eddy__position(eddy__in_shape(r->kernel, r->n + 1), i).text, at, limit);
}

eddy_status eddy__ragged_put_uniform(eddy_kernel *k, const eddy_shape *of)
{
    const eddy_dtype dtype = (eddy_dtype)k->node->out_dtypes[0];
    int64_t n = 1;

    for (int32_t d = 0; d + 1 < of->rank; d++) {
        void *out;
        eddy_shape shape;

        n *= of->dims[d];
        shape = eddy__shape_vector(n + 1);
        EDDY_TRY(eddy__output(k, (uint32_t)d, dtype, &shape, &out));
        for (int64_t i = 0; i <= n; i++) {
            eddy__ragged_put_split(out, dtype, i, i * of->dims[d + 1]);
            if (eddy__spent_at(k, i))
                return eddy__go_on(k, 0);
        }
    }
    return EDDY_OK;
}

/* How many rows, and parts of them at last, all indices take at a level. */
static eddy_status count_rows(const ragged *r, uint32_t level, int64_t *out_n)
{
    const bool is_narrow = r->kernel->node->out_dtypes[0] == EDDY_INT32;

    *out_n = 0;
    for (int64_t i = 0; i < eddy__in_count(r->kernel, r->n + 1); i++) {
        span s = {0, 0};

        EDDY_TRY(take_index(r, i, &s));
        for (uint32_t l = 0; l < level; l++)
            s = below(r, l, s);
        if (__builtin_add_overflow(*out_n, s.to - s.from, out_n) ||
            (is_narrow && *out_n > INT32_MAX))
            return eddy__kfail(r->kernel, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                               "the rows are too many for the row splits");
        EDDY_TRY(eddy__go_on(r->kernel, 4 + 8 * (int64_t)level));
    }
    return EDDY_OK;
}

/* The splits of one level of the rows that are taken. */
static eddy_status put_level(const ragged *r, uint32_t level, uint32_t output)
{
    eddy_kernel *k = r->kernel;
    const eddy_view splits = splits_of(r, level);
    const eddy_dtype dtype = (eddy_dtype)k->node->out_dtypes[output];
    eddy_shape shape;
    int64_t n = 0, at = 0, end = 0;
    void *out;

    EDDY_TRY(count_rows(r, level, &n));
    shape = eddy__shape_vector(n + 1);
    EDDY_TRY(eddy__output(k, output, dtype, &shape, &out));
    eddy__ragged_put_split(out, dtype, 0, 0);
    for (int64_t i = 0; i < eddy__in_count(k, r->n + 1); i++) {
        span s = {0, 0};

        EDDY_TRY(take_index(r, i, &s));
        for (uint32_t l = 0; l < level; l++)
            s = below(r, l, s);
        for (int64_t row = s.from; row < s.to; row++) {
            end += eddy__view_index(&splits, row + 1) -
                   eddy__view_index(&splits, row);
            eddy__ragged_put_split(out, dtype, ++at, end);
        }
        EDDY_TRY(eddy__go_on(k, 4 + 4 * (s.to - s.from)));
    }
    return EDDY_OK;
}

static eddy_status put_values(const ragged *r, uint32_t output)
{
    eddy_kernel *k = r->kernel;
    const eddy_dtype dtype = eddy__in_dtype(k, r->n);
    eddy_shape shape = *eddy__in_shape(k, r->n);
    const int64_t rows = shape.dims[0];
    size_t bytes = eddy__element_size(dtype);
    unsigned char *out;
    int64_t n = 0;

    if (rows > 0)
        bytes *= (size_t)(eddy__in_count(k, r->n) / rows);
    EDDY_TRY(count_rows(r, r->n, &n));
    shape.dims[0] = n;
    EDDY_TRY(eddy__output_elements(k, output, dtype, &shape, &out));
    for (int64_t i = 0; i < eddy__in_count(k, r->n + 1); i++) {
        span s = {0, 0};

        /* Counting has seen that none fails. */
        if (take_index(r, i, &s) != EDDY_OK)
            break;
        for (uint32_t l = 0; l < r->n; l++)
            s = below(r, l, s);
        if (s.to > s.from && bytes > 0)
            eddy__copy_bytes(eddy__asker(k, dtype), out,
                             eddy__in_elements(k, r->n) +
                                 (size_t)s.from * bytes,
                             (size_t)(s.to - s.from) * bytes);
        out += (size_t)(s.to - s.from) * bytes;
    }
    return eddy__elements_done(k, output);
}

static eddy_status run_gather(eddy_kernel *k)
{
    const ragged r = {k, k->node->n_in - 2};
    const eddy_shape *indices = eddy__in_shape(k, r.n + 1);
    const uint32_t before = indices->rank > 0 ? (uint32_t)indices->rank - 1 : 0;
    const uint32_t n_splits = k->node->n_out - 1;

    /* A scalar takes one row, whose outermost splits are left out. */
    if (n_splits != r.n + (uint32_t)indices->rank - 1)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "OUTPUT_RAGGED_RANK is %" PRIu32
                           ", but the indices have shape %s",
                           n_splits, eddy__shape_print(indices).text);
    EDDY_TRY(eddy__ragged_check(k, r.n, false));
    EDDY_TRY(eddy__ragged_put_uniform(k, indices));
    for (uint32_t i = indices->rank == 0; i < r.n; i++)
        EDDY_TRY(put_level(&r, i, before + i - (indices->rank == 0)));
    return put_values(&r, n_splits);
}

static eddy_status infer_gather(eddy_infer *infer)
{
    const uint32_t n = eddy_infer_outputs(infer) - 1;
    const eddy_shape vector = eddy__shape_of_rank(1);
    eddy_shape values = *eddy_infer_input(infer, eddy_infer_inputs(infer) - 2);

    for (uint32_t i = 0; i < n; i++)
        eddy_infer_set_output(infer, i, &vector);
    if (values.rank > 0) {
        values.dims[0] = -1;
        eddy_infer_set_output(infer, n, &values);
    }
    return EDDY_OK;
}

/* ---- RaggedTensorToSparse ---- */

/* The dense shape: as long as the longest row, level by level. */
static eddy_status find_shape(const ragged *r, eddy_shape *out)
{
    const eddy_shape *values = eddy__in_shape(r->kernel, r->n);

    if ((int64_t)r->n + values->rank > EDDY_MAX_RANK)
        return eddy__kfail(r->kernel, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "the sparse tensor would have more than %d "
                           "dimensions",
                           EDDY_MAX_RANK);
    out->rank = (int32_t)r->n + values->rank;
    out->dims[0] = splits_of(r, 0).count - 1;
    for (uint32_t i = 0; i < r->n; i++) {
        const eddy_view splits = splits_of(r, i);
        int64_t most = 0;

        for (int64_t j = 1; j < splits.count; j++) {
            const int64_t width =
                eddy__view_index(&splits, j) - eddy__view_index(&splits, j - 1);

            most = width > most ? width : most;
            if (eddy__spent_at(r->kernel, j))
                return eddy__go_on(r->kernel, 0);
        }
        out->dims[i + 1] = most;
    }
    for (int32_t d = 1; d < values->rank; d++)
        out->dims[r->n + (uint32_t)d] = values->dims[d];
    return EDDY_OK;
}

/* Where one value stands, in rows of each level. */
static void go_to(const ragged *r, int64_t value, int64_t *rows)
{
    rows[r->n] = value;
    for (uint32_t i = r->n; i-- > 0;) {
        const eddy_view splits = splits_of(r, i);

        /* Rows that are empty are passed over. */
        while (rows[i] + 2 < splits.count &&
               eddy__view_index(&splits, rows[i] + 1) <= rows[i + 1])
            rows[i]++;
    }
}

static eddy_status put_indices(const ragged *r, const eddy_shape *shape,
                               int64_t *out)
{
    const eddy_shape *values = eddy__in_shape(r->kernel, r->n);
    const int32_t levels = (int32_t)r->n;
    int64_t rows[EDDY_MAX_RANK + 1] = {0};
    const int64_t width =
        values->dims[0] > 0 ? eddy__in_count(r->kernel, r->n) / values->dims[0]
                            : 0;

    for (int64_t value = 0; value < values->dims[0]; value++) {
        go_to(r, value, rows);
        for (int64_t j = 0; j < width; j++, out += shape->rank) {
            int64_t left = j;

            out[0] = rows[0];
            for (int32_t i = 0; i < levels; i++) {
                const eddy_view splits = splits_of(r, (uint32_t)i);

                out[i + 1] = rows[i + 1] - eddy__view_index(&splits, rows[i]);
            }
            for (int32_t d = shape->rank; d-- > levels + 1;) {
                out[d] = left % shape->dims[d];
                left /= shape->dims[d];
            }
        }
        EDDY_TRY(eddy__go_on(r->kernel, (8 + width) * shape->rank));
    }
    return EDDY_OK;
}

static eddy_status run_sparse(eddy_kernel *k)
{
    const ragged r = {k, k->node->n_in - 1};
    eddy_shape shape = {.rank = 0}, rows, vector;
    const int64_t n = eddy__in_count(k, r.n);
    void *indices, *dense;

    EDDY_TRY(eddy__ragged_check(k, r.n, true));
    EDDY_TRY(find_shape(&r, &shape));
    rows = (eddy_shape){.rank = 2, .dims = {n, shape.rank}};
    EDDY_TRY(eddy__output(k, 0, EDDY_INT64, &rows, &indices));
    EDDY_TRY(put_indices(&r, &shape, indices));
    vector = eddy__shape_vector(n);
    EDDY_TRY(eddy__output_reshaped(k, 1, r.n, &vector));
    vector = eddy__shape_vector(shape.rank);
    EDDY_TRY(eddy__output(k, 2, EDDY_INT64, &vector, &dense));
    memcpy(dense, shape.dims, (size_t)shape.rank * sizeof(int64_t));
    return EDDY_OK;
}

static eddy_status infer_sparse(eddy_infer *infer)
{
    const eddy_shape *values =
        eddy_infer_input(infer, eddy_infer_inputs(infer) - 1);
    const int64_t rank =
        values->rank < 0 ? -1
                         : (int64_t)eddy_infer_inputs(infer) - 1 + values->rank;
    const eddy_shape indices = {.rank = 2, .dims = {-1, rank}};
    const eddy_shape some = eddy__shape_of_rank(1);
    const eddy_shape dense = eddy__shape_vector(rank);

    eddy_infer_set_output(infer, 0, &indices);
    eddy_infer_set_output(infer, 1, &some);
    eddy_infer_set_output(infer, 2, &dense);
    return EDDY_OK;
}

static eddy_status prepare_values(eddy_infer *infer)
{
    if (eddy__dtype_in(eddy__infer_type(infer, "Tvalues"), EDDY__MOVABLE))
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_UNIMPLEMENTED, EDDY_E_NO_KERNEL,
                           "there is no kernel for values of that dtype");
}

static eddy_status prepare_sparse(eddy_infer *infer)
{
    if (eddy__dtype_in(eddy__infer_type(infer, "T"), EDDY__MOVABLE))
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_UNIMPLEMENTED, EDDY_E_NO_KERNEL,
                           "there is no kernel for values of that dtype");
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("RaggedGather",
                 .inputs = "params_nested_splits: PARAMS_RAGGED_RANK * "
                           "Tsplits, params_dense_values: Tvalues, indices: "
                           "Tindices",
                 .outputs = "output_nested_splits: OUTPUT_RAGGED_RANK * "
                            "Tsplits, output_dense_values: Tvalues",
                 .attrs = "Tvalues: type, Tindices: index, Tsplits: index = "
                          "int64, PARAMS_RAGGED_RANK: int >= 1, "
                          "OUTPUT_RAGGED_RANK: int >= 0",
                 .infer = infer_gather, .kernel = run_gather,
                 .prepare = prepare_values,
                 .doc = "The rows of a ragged tensor that indices name."),
    EDDY__OP_ROW("RaggedTensorToSparse",
                 .inputs = "rt_nested_splits: RAGGED_RANK * Tsplits, "
                           "rt_dense_values: T",
                 .outputs = "sparse_indices: int64, sparse_values: T, "
                            "sparse_dense_shape: int64",
                 .attrs = "RAGGED_RANK: int >= 1, T: type, Tsplits: index = "
                          "int64",
                 .infer = infer_sparse, .kernel = run_sparse,
                 .prepare = prepare_sparse,
                 .doc = "The values of a ragged tensor and where they stand."),
};

const eddy__op_table eddy__ragged_gather_ops = {specs, NULL,
                                                sizeof specs / sizeof *specs};
