/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often each number occurs: Bincount, DenseBincount, RaggedBincount.  With
 * weights their sums; numbers of `size` or more are left out.
 */
#include "ops/math/elements.h"
#include "ops/math/numeric.h"
#include "ops/ops.h"
#include "ops/template.h"

#include <inttypes.h>

/* Numbers in rows, each with bins of its own. */
typedef struct counting {
    eddy_view values, weights;
    int64_t rows, n_bins;
    int64_t row;      /* numbers a row, unless there are splits */
    eddy_view splits; /* of ragged rows; data NULL: none */
    bool is_binary;
    uint32_t weights_at;
    bool any_shape; /* weights need be as many as numbers, no more */
} counting;

static int64_t row_begin(const counting *c, int64_t row)
{
    return c->splits.data ? eddy__index_at(&c->splits, row) : row * c->row;
}

/* Counts into bins of one dtype. */
typedef eddy_status (*count_fn)(eddy_kernel *k, const counting *c, void *bins);

#define D I32
#define COUNTED uint32_t
#include "ops/reduce/bincount_loops.def"
#define D I64
#define COUNTED uint64_t
#include "ops/reduce/bincount_loops.def"
#define D F32
#define COUNTED float
#include "ops/reduce/bincount_loops.def"
#define D F64
#define COUNTED double
#include "ops/reduce/bincount_loops.def"

static count_fn counter_of(eddy_dtype dtype)
{
    return dtype == EDDY_INT32     ? count_I32
           : dtype == EDDY_INT64   ? count_I64
           : dtype == EDDY_FLOAT32 ? count_F32
                                   : count_F64;
}

static eddy_status check_values(eddy_kernel *k, const counting *c)
{
    for (int64_t i = 0; i < c->values.count; i++) {
        if (eddy__index_at(&c->values, i) < 0)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                               "number %" PRId64 " is %" PRId64
                               ", but none may be negative",
                               i, eddy__index_at(&c->values, i));
        if (eddy__spent_at(k, i))
            return eddy__go_on(k, 0);
    }
    return EDDY_OK;
}

/* Reads what follows the values: size and weights. */
static eddy_status read_bins(eddy_kernel *k, uint32_t values, counting *c)
{
    const eddy_shape *of = eddy__in_shape(k, values);
    const eddy_shape *weights = eddy__in_shape(k, values + 2);

    c->values = eddy__in_view(k, values);
    c->weights = eddy__in_view(k, values + 2);
    EDDY_TRY(eddy__index_argument(k, values + 1, "size", &c->n_bins));
    if (c->n_bins < 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                           "size must not be negative, but it is %" PRId64,
                           c->n_bins);
    if (c->weights.count > 0 &&
        (c->any_shape ? c->weights.count != c->values.count
                      : !eddy__shape_equal(of, weights)))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "weights must be empty or as the numbers, which "
                           "have shape %s, but have shape %s",
                           eddy__shape_print(of).text,
                           eddy__shape_print(weights).text);
    return check_values(k, c);
}

static eddy_status put_counts(eddy_kernel *k, const counting *c,
                              const eddy_shape *shape)
{
    const eddy_dtype dtype = (eddy_dtype)k->node->out_dtypes[0];
    unsigned char *bins;
    int64_t count;

    EDDY_TRY(eddy__output_elements(k, 0, dtype, shape, &bins));
    (void)eddy__shape_count(shape, 1, &count);
    eddy__zero_bytes(k, bins, (size_t)count * eddy__element_size(dtype));
    return counter_of(dtype)(k, c, bins);
}

static eddy_status run_bincount(eddy_kernel *k)
{
    counting c = {.rows = 1, .any_shape = true};
    eddy_shape shape;

    EDDY_TRY(read_bins(k, 0, &c));
    c.row = c.values.count;
    shape = eddy__shape_vector(c.n_bins);
    return put_counts(k, &c, &shape);
}

static eddy_status run_dense(eddy_kernel *k)
{
    const eddy_shape *of = eddy__in_shape(k, 0);
    counting c = {.is_binary = *(const bool *)eddy__state(k)};
    eddy_shape shape;

    if (of->rank > 2)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "the numbers must be a vector or a matrix, but have "
                           "shape %s",
                           eddy__shape_print(of).text);
    EDDY_TRY(read_bins(k, 0, &c));
    c.rows = of->rank == 2 ? of->dims[0] : 1;
    c.row = of->rank == 2 ? of->dims[1] : c.values.count;
    shape = of->rank == 2 ? (eddy_shape){.rank = 2, .dims = {c.rows, c.n_bins}}
                          : eddy__shape_vector(c.n_bins);
    return put_counts(k, &c, &shape);
}

/* Splits go from 0 to the number of values and never back. */
static eddy_status check_splits(eddy_kernel *k, const counting *c)
{
    bool fits =
        c->splits.rank == 1 && c->splits.count > 0 &&
        eddy__index_at(&c->splits, 0) == 0 &&
        eddy__index_at(&c->splits, c->splits.count - 1) == c->values.count;

    for (int64_t i = 1; fits && i < c->splits.count; i++) {
        fits =
            eddy__index_at(&c->splits, i - 1) <= eddy__index_at(&c->splits, i);
        if (eddy__spent_at(k, i))
            return eddy__go_on(k, 0);
    }
    if (fits)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                       "splits must be a vector that rises from 0 to %" PRId64,
                       c->values.count);
}

static eddy_status run_ragged(eddy_kernel *k)
{
    counting c = {.is_binary = *(const bool *)eddy__state(k)};
    eddy_shape shape;

    EDDY_TRY(read_bins(k, 1, &c));
    c.splits = eddy__in_view(k, 0);
    EDDY_TRY(check_splits(k, &c));
    c.rows = c.splits.count - 1;
    shape = (eddy_shape){.rank = 2, .dims = {c.rows, c.n_bins}};
    return put_counts(k, &c, &shape);
}

static eddy_status prepare_binary(eddy_infer *infer)
{
    bool *state = eddy__prepare_state(infer, sizeof *state);

    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    *state = eddy__infer_bool(infer, "binary_output");
    return EDDY_OK;
}

/* The bins are known where size is; rows where those of the numbers are. */
static void set_bins(eddy_infer *infer, uint32_t size, int32_t rank,
                     int64_t rows)
{
    eddy_shape shape = eddy__shape_of_rank(rank);
    int64_t n;

    if (eddy__infer_constant_int(infer, size, 0, &n) && n >= 0)
        shape.dims[rank - 1] = n;
    if (rank == 2)
        shape.dims[0] = rows;
    eddy_infer_set_output(infer, 0, &shape);
}

static eddy_status infer_bincount(eddy_infer *infer)
{
    set_bins(infer, 1, 1, -1);
    return EDDY_OK;
}

static eddy_status infer_dense(eddy_infer *infer)
{
    const eddy_shape *of = eddy_infer_input(infer, 0);

    if (of->rank >= 0)
        set_bins(infer, 1, of->rank == 2 ? 2 : 1, of->dims[0]);
    return EDDY_OK;
}

static eddy_status infer_ragged(eddy_infer *infer)
{
    const eddy_shape *splits = eddy_infer_input(infer, 0);

    set_bins(infer, 2, 2,
             splits->rank == 1 && splits->dims[0] > 0 ? splits->dims[0] - 1
                                                      : -1);
    return EDDY_OK;
}

#define TYPES "T: {int32, int64, float32, float64}"

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("Bincount", .inputs = "arr: int32, size: int32, weights: T",
                 .outputs = "bins: T", .attrs = TYPES, .infer = infer_bincount,
                 .kernel = run_bincount,
                 .doc = "How often each number below size occurs, or the sums "
                        "of its weights."),
    EDDY__OP_ROW(
        "DenseBincount", .inputs = "input: Tidx, size: Tidx, weights: T",
        .outputs = "output: T",
        .attrs = "Tidx: index, " TYPES ", binary_output: bool = false",
        .infer = infer_dense, .kernel = run_dense, .prepare = prepare_binary,
        .doc = "The same for each row of a matrix."),
    EDDY__OP_ROW("RaggedBincount",
                 .inputs = "splits: int64, values: Tidx, size: Tidx, "
                           "weights: T",
                 .outputs = "output: T",
                 .attrs = "Tidx: index, " TYPES ", binary_output: bool = false",
                 .infer = infer_ragged, .kernel = run_ragged,
                 .prepare = prepare_binary,
                 .doc = "The same for rows of any lengths."),
};

const eddy__op_table eddy__bincount_ops = {specs, NULL,
                                           sizeof specs / sizeof *specs};
