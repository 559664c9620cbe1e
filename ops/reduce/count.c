/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often each number occurs in a row, as a sparse tensor:
 * DenseCountSparseOutput, SparseCountSparseOutput, RaggedCountSparseOutput.
 * With weights their sums.
 *
 * Numbers are sorted by row and then by themselves, equal ones as they came, so
 * that weights are added in their order.
 */
#include "ops/misc/scratch.h"
#include "ops/ops.h"
#include "ops/sparse/sparse.h"

#include <string.h>

/* What the node says. */
typedef struct manner {
    int64_t least, most; /* length of the output; `most` below 0: any */
    bool is_binary;
} manner;

typedef struct counting {
    eddy_kernel *kernel;
    eddy_view values, weights; /* weights.count 0: all are 1 */
    int64_t rows;
    bool is_vector; /* there is one row, and the output has rank 1 */
    int64_t *at;    /* of each value its row and itself */
    int64_t n;      /* values that count; the rest come last */
    int64_t length; /* of the output's rows */
} counting;

/* The row of a value that is not to be counted, behind all others. */
#define NO_ROW INT64_MAX

static eddy_status refuse(eddy_kernel *k, const char *what)
{
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE, "%s", what);
}

/* ---- reading ---- */

static eddy_status read_values(eddy_kernel *k, uint32_t values,
                               uint32_t weights, counting *c)
{
    const eddy_shape *of = eddy__in_shape(k, values);

    c->kernel = k;
    c->values = eddy__in_view(k, values);
    c->weights = eddy__in_view(k, weights);
    if (c->weights.count == 0 ||
        eddy__shape_equal(of, eddy__in_shape(k, weights)))
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "weights of shape %s are not as the values, which have "
                       "shape %s",
                       eddy__shape_print(eddy__in_shape(k, weights)).text,
                       eddy__shape_print(of).text);
}

/* Value `i` belongs to that row. */
static eddy_status put(counting *c, int64_t i, int64_t row)
{
    const manner *m = eddy__state(c->kernel);
    const int64_t value = eddy__view_index(&c->values, i);
    const bool counts = m->most < 0 || value < m->most;

    if (value < 0)
        return refuse(c->kernel, "the values must not be negative");
    if (counts && value == INT64_MAX)
        return refuse(c->kernel, "a value is too large");
    c->at[2 * i] = counts ? row : NO_ROW;
    c->at[2 * i + 1] = value;
    c->n += counts;
    if (counts && m->most < 0 && value >= c->length)
        c->length = value + 1;
    return eddy__spent_at(c->kernel, i) ? eddy__go_on(c->kernel, 0) : EDDY_OK;
}

/* ---- counting ---- */

/* Is the value at sorted place `i` another than the one before it? */
static bool is_new(const counting *c, const int64_t *places, int64_t i)
{
    return i == 0 ||
           eddy__sparse_compare(c->at, places[i - 1], c->at, places[i], 2) != 0;
}

/* Adds the weight of value `from` to element `to`; sums of integers wrap. */
static void add(const counting *c, void *sums, int64_t to, int64_t from)
{
    const void *w = c->weights.count > 0 ? c->weights.data : NULL;

    switch (c->weights.dtype) {
    case EDDY_INT32:
        ((uint32_t *)sums)[to] += w ? ((const uint32_t *)w)[from] : 1u;
        break;
    case EDDY_INT64:
        ((uint64_t *)sums)[to] += w ? ((const uint64_t *)w)[from] : 1u;
        break;
    case EDDY_FLOAT32:
        ((float *)sums)[to] += w ? ((const float *)w)[from] : 1.0F;
        break;
    default:
        ((double *)sums)[to] += w ? ((const double *)w)[from] : 1.0;
        break;
    }
}

static void set_one(const counting *c, void *sums, int64_t to)
{
    const counting ones = {.weights = {.dtype = c->weights.dtype}};

    add(&ones, sums, to, 0);
}

static eddy_status put_sums(const counting *c, const int64_t *places)
{
    eddy_kernel *k = c->kernel;
    const manner *m = eddy__state(k);
    const int32_t rank = c->is_vector ? 1 : 2;
    eddy_shape shape;
    int64_t n = 0, *indices;
    void *sums;

    for (int64_t i = 0; i < c->n; i++) {
        n += is_new(c, places, i);
        if (eddy__spent_at(k, i))
            return eddy__go_on(k, 0);
    }
    shape = eddy__shape_vector(n);
    EDDY_TRY(eddy__sparse_output_rows(k, 0, n, rank, &indices));
    EDDY_TRY(eddy__output(k, 1, c->weights.dtype, &shape, &sums));
    eddy__zero_bytes(k, sums, (size_t)n * eddy_dtype_size(c->weights.dtype));
    n = -1;
    for (int64_t i = 0; i < c->n; i++) {
        if (is_new(c, places, i)) {
            n++;
            memcpy(indices + n * rank, c->at + 2 * places[i] + (2 - rank),
                   (size_t)rank * sizeof *indices);
            if (m->is_binary)
                set_one(c, sums, n);
        }
        if (!m->is_binary)
            add(c, sums, n, places[i]);
        if (eddy__spent_at(k, i))
            return eddy__go_on(k, 0);
    }
    shape = (eddy_shape){.rank = rank, .dims = {c->rows, c->length}};
    if (c->is_vector)
        shape.dims[0] = c->length;
    return eddy__sparse_put_shape(k, 2, &shape);
}

/* Gives each value its row. */
typedef eddy_status (*assign)(counting *c);

static eddy_status sort_and_sum(counting *c, assign assign_rows)
{
    const manner *m = eddy__state(c->kernel);
    const eddy__sparse_rows rows = {
        .at = c->at, .n = c->values.count, .rank = 2};
    const int64_t *places = NULL;
    eddy_tensor *room = NULL;
    eddy_status status;

    c->length = m->most >= 0 ? m->most : m->least > 1 ? m->least : 1;
    EDDY_TRY(assign_rows(c));
    status = eddy__sparse_sort(c->kernel, &rows, &room, &places);
    if (status == EDDY_OK)
        status = eddy__go_on(c->kernel, 0);
    if (status == EDDY_OK)
        status = put_sums(c, places);
    eddy__scratch_free(c->kernel, room);
    return status;
}

static eddy_status count_all(counting *c, assign assign_rows)
{
    eddy_tensor *room = NULL;
    eddy_status status;

    if (c->values.count > INT64_MAX / 2)
        return refuse(c->kernel, "there are too many values");
    EDDY_TRY(eddy__scratch(c->kernel, EDDY_INT64, 2 * c->values.count, &room));
    c->at = room->data;
    status = sort_and_sum(c, assign_rows);
    eddy__scratch_free(c->kernel, room);
    return status;
}

/* ---- rows of a matrix ---- */

static eddy_status assign_matrix(counting *c)
{
    const int64_t width = c->values.count / c->rows;

    for (int64_t i = 0; i < c->values.count; i++)
        EDDY_TRY(put(c, i, i / width));
    return EDDY_OK;
}

static eddy_status run_dense(eddy_kernel *k)
{
    const eddy_shape *of = eddy__in_shape(k, 0);
    counting c = {.is_vector = of->rank == 1};

    if (of->rank != 1 && of->rank != 2)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "the values must be a vector or a matrix, but have "
                           "shape %s",
                           eddy__shape_print(of).text);
    EDDY_TRY(read_values(k, 0, 1, &c));
    c.rows = of->rank == 2 ? of->dims[0] : 1;
    if (c.rows == 0)
        return refuse(k, "the matrix has no rows");
    return count_all(&c, assign_matrix);
}

/* ---- rows of a sparse tensor ---- */

static eddy_status assign_sparse(counting *c)
{
    const eddy_view indices = eddy__in_view(c->kernel, 0);
    const eddy_view dims = eddy__in_view(c->kernel, 2);

    for (int64_t i = 0; i < c->values.count; i++) {
        for (int64_t d = 0; d < dims.count; d++) {
            const int64_t at = eddy__view_index(&indices, i * dims.count + d);

            if (at < 0 || at >= eddy__view_index(&dims, d))
                return eddy__kfail(c->kernel, EDDY_INVALID_ARGUMENT,
                                   EDDY_E_INDEX,
                                   "indices%s lies outside of the shape",
                                   eddy__position(eddy__in_shape(c->kernel, 0),
                                                  i * dims.count + d)
                                       .text);
        }
        EDDY_TRY(
            put(c, i,
                c->is_vector ? 0 : eddy__view_index(&indices, i * dims.count)));
        EDDY_TRY(eddy__go_on(c->kernel, 2 * dims.count));
    }
    return EDDY_OK;
}

static eddy_status run_sparse(eddy_kernel *k)
{
    const eddy_shape *indices = eddy__in_shape(k, 0);
    const eddy_shape *values = eddy__in_shape(k, 1);
    const eddy_view dims = eddy__in_view(k, 2);
    counting c = {.is_vector = dims.count == 1, .rows = 1};

    if (indices->rank != 2 || values->rank != 1 || dims.rank != 1 ||
        indices->dims[0] != values->dims[0] || indices->dims[1] != dims.count ||
        dims.count == 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "indices of shape %s do not fit values of shape %s "
                           "and a shape of shape %s",
                           eddy__shape_print(indices).text,
                           eddy__shape_print(values).text,
                           eddy__shape_print(eddy__in_shape(k, 2)).text);
    EDDY_TRY(read_values(k, 1, 3, &c));
    if (!c.is_vector)
        c.rows = eddy__view_index(&dims, 0);
    if (c.rows <= 0 || c.rows >= INT32_MAX)
        return refuse(k, "the first dimension must be at least 1 and below "
                         "2147483647");
    return count_all(&c, assign_sparse);
}

/* ---- ragged rows ---- */

/* As TensorFlow, splits need not rise: a value is in the next that ends behind
 * it. */
static eddy_status assign_ragged(counting *c)
{
    const eddy_view splits = eddy__in_view(c->kernel, 0);
    int64_t row = 0;

    for (int64_t i = 0; i < c->values.count; i++) {
        while (i >= eddy__view_index(&splits, row))
            row++;
        EDDY_TRY(put(c, i, row - 1));
    }
    return EDDY_OK;
}

static eddy_status run_ragged(eddy_kernel *k)
{
    const eddy_view splits = eddy__in_view(k, 0);
    counting c = {.rows = splits.count - 1};

    EDDY_TRY(read_values(k, 1, 2, &c));
    if (c.rows < 1 || eddy__view_index(&splits, 0) != 0 ||
        eddy__view_index(&splits, c.rows) != c.values.count)
        return refuse(k, "the splits must go from 0 to the number of values");
    return count_all(&c, assign_ragged);
}

/* ---- for a plan ---- */

static eddy_status prepare(eddy_infer *infer)
{
    manner *m = eddy__prepare_state(infer, sizeof *m);

    if (!m)
        return EDDY_RESOURCE_EXHAUSTED;
    *m = (manner){.least = eddy__infer_int(infer, "minlength"),
                  .most = eddy__infer_int(infer, "maxlength"),
                  .is_binary = eddy__infer_bool(infer, "binary_output")};
    return EDDY_OK;
}

static eddy_status set_rank(eddy_infer *infer, int64_t rank)
{
    const eddy_shape indices = {.rank = 2, .dims = {-1, rank}};
    const eddy_shape values = eddy__shape_of_rank(1);
    const eddy_shape shape = eddy__shape_vector(rank);

    eddy_infer_set_output(infer, 0, &indices);
    eddy_infer_set_output(infer, 1, &values);
    eddy_infer_set_output(infer, 2, &shape);
    return EDDY_OK;
}

static eddy_status infer_dense(eddy_infer *infer)
{
    return set_rank(infer, eddy_infer_input(infer, 0)->rank);
}

static eddy_status infer_sparse(eddy_infer *infer)
{
    const eddy_shape *indices = eddy_infer_input(infer, 0);
    const int64_t rank = indices->rank == 2 ? indices->dims[1] : -1;

    return set_rank(infer, rank > 2 ? 2 : rank);
}

static eddy_status infer_ragged(eddy_infer *infer)
{
    return set_rank(infer, 2);
}

#define OUTPUTS                                                                \
    "output_indices: int64, output_values: output_type, "                      \
    "output_dense_shape: int64"
#define ATTRS                                                                  \
    "T: index, minlength: int >= -1 = -1, maxlength: int >= -1 = -1, "         \
    "binary_output: bool, output_type: {int32, int64, float32, float64}"
#define COUNT_ROW(op, ...)                                                     \
    EDDY__OP_ROW(op, .outputs = OUTPUTS, .attrs = ATTRS, .prepare = prepare,   \
                 __VA_ARGS__)

static const eddy_op_spec specs[] = {
    COUNT_ROW("DenseCountSparseOutput",
              .inputs = "values: T, weights: output_type", .infer = infer_dense,
              .kernel = run_dense,
              .doc = "How often each number occurs in each row of a matrix, or "
                     "the sums of its weights, as a sparse tensor."),
    COUNT_ROW("SparseCountSparseOutput",
              .inputs = "indices: int64, values: T, dense_shape: int64, "
                        "weights: output_type",
              .infer = infer_sparse, .kernel = run_sparse,
              .doc = "The same for each row of a sparse tensor."),
    COUNT_ROW("RaggedCountSparseOutput",
              .inputs = "splits: int64, values: T, weights: output_type",
              .infer = infer_ragged, .kernel = run_ragged,
              .doc = "The same for rows of any lengths."),
};

const eddy__op_table eddy__count_ops = {specs, NULL,
                                        sizeof specs / sizeof *specs};
