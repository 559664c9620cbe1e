/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TopKV2: the k greatest elements of each row and where they are, greatest
 * first, of equal ones the one with the lower index first.  A NaN counts as
 * greater than every number.  `sorted` false leaves the order open, so it gives
 * the same.
 */
#include "ops/math/elements.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <string.h>

/* Does element `a` of a row come before element `b`? */
typedef bool (*comes_before)(const void *row, int64_t a, int64_t b);

#define DEFINE_BEFORE(name, type)                                              \
    static bool before_##name(const void *row, int64_t a, int64_t b)           \
    {                                                                          \
        type x = ((const type *)row)[a], y = ((const type *)row)[b];           \
                                                                               \
        return x > y || (x == y && a < b);                                     \
    }

#define DEFINE_FLOAT_BEFORE(name, type, stored, load)                          \
    static bool before_##name(const void *row, int64_t a, int64_t b)           \
    {                                                                          \
        type x = load(((const stored *)row)[a]);                               \
        type y = load(((const stored *)row)[b]);                               \
        bool x_nan = x != x, y_nan = y != y;                                   \
                                                                               \
        if (x_nan || y_nan)                                                    \
            return x_nan && (!y_nan || a < b);                                 \
        return x > y || (x == y && a < b);                                     \
    }

DEFINE_BEFORE(int8, int8_t)
DEFINE_BEFORE(int16, int16_t)
DEFINE_BEFORE(int32, int32_t)
DEFINE_BEFORE(int64, int64_t)
DEFINE_BEFORE(uint8, uint8_t)
DEFINE_BEFORE(uint16, uint16_t)
DEFINE_BEFORE(uint32, uint32_t)
DEFINE_BEFORE(uint64, uint64_t)
DEFINE_FLOAT_BEFORE(float16, float, uint16_t, eddy_float16_to_float)
DEFINE_FLOAT_BEFORE(bfloat16, float, uint16_t, eddy_bfloat16_to_float)
DEFINE_FLOAT_BEFORE(float32, float, float, )
DEFINE_FLOAT_BEFORE(float64, double, double, )

static comes_before order_of(eddy_dtype dtype)
{
    static const comes_before orders[EDDY_DTYPE_COUNT] = {
        [EDDY_FLOAT16] = before_float16, [EDDY_FLOAT32] = before_float32,
        [EDDY_FLOAT64] = before_float64, [EDDY_INT8] = before_int8,
        [EDDY_INT16] = before_int16,     [EDDY_INT32] = before_int32,
        [EDDY_INT64] = before_int64,     [EDDY_UINT8] = before_uint8,
        [EDDY_UINT16] = before_uint16,   [EDDY_UINT32] = before_uint32,
        [EDDY_UINT64] = before_uint64,   [EDDY_BFLOAT16] = before_bfloat16,
    };

    return orders[dtype];
}

/* What a step down a heap counts, which may be far from the last one. */
#define STEP_WORK 16

/*
 * Moves `item` down from `at` in a heap of `n` indices whose root comes last of
 * all, until it stands right.  Gives what that counts as work.
 */
static int64_t sink(comes_before before, const void *row, int64_t *heap,
                    int64_t n, int64_t at, int64_t item)
{
    int64_t work = STEP_WORK;

    for (;; work += STEP_WORK) {
        int64_t child = 2 * at + 1;

        if (child >= n)
            break;
        if (child + 1 < n && before(row, heap[child], heap[child + 1]))
            child++;
        if (!before(row, item, heap[child]))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = item;
    return work;
}

/*
 * Leaves in `heap` the first `k` of `n` elements, in order; anything if the run
 * is to stop.
 */
static void select_first(eddy_kernel *asker, comes_before before,
                         const void *row, int64_t n, int64_t *heap, int64_t k)
{
    for (int64_t i = 0; i < k; i++) {
        heap[i] = i;
        if (eddy__spent_at(asker, i))
            return;
    }
    for (int64_t i = k / 2; i-- > 0;) {
        if (eddy__spent(asker, sink(before, row, heap, k, i, heap[i])))
            return;
    }
    for (int64_t i = k; i < n && !eddy__spent(asker, 2); i++)
        if (before(row, i, heap[0]))
            (void)eddy__spent(asker, sink(before, row, heap, k, 0, i));
    for (int64_t i = k - 1; i > 0; i--) {
        int64_t last = heap[i];

        heap[i] = heap[0];
        if (eddy__spent(asker, sink(before, row, heap, i, 0, last)))
            return;
    }
}

/* Stores `k` of the indices found in the dtype of output 1. */
static void store_indices(eddy_kernel *asker, eddy_dtype dtype,
                          unsigned char *to, const int64_t *indices, int64_t k)
{
    for (int64_t i = 0; i < k && !eddy__spent_at(asker, i); i++) {
        if (dtype == EDDY_INT32)
            ((int32_t *)(void *)to)[i] = (int32_t)indices[i];
        else if (dtype == EDDY_INT64)
            ((int64_t *)(void *)to)[i] = indices[i];
        else
            ((int16_t *)(void *)to)[i] = (int16_t)indices[i];
    }
}

typedef struct request {
    eddy_kernel *kernel; /* which is asked whether to stop */
    int64_t rows, columns, k;
    size_t size;
    eddy_dtype index_dtype;
    comes_before before;
} request;

static void run_rows(const request *r, const unsigned char *x,
                     unsigned char *values, unsigned char *indices,
                     int64_t *heap)
{
    size_t index_size = eddy_dtype_size(r->index_dtype);

    for (int64_t row = 0; row < r->rows && !eddy__spent(r->kernel, r->columns);
         row++) {
        select_first(r->kernel, r->before, x, r->columns, heap, r->k);
        if (eddy__gave_up(r->kernel))
            return;
        for (int64_t i = 0; i < r->k && !eddy__spent(r->kernel, 16); i++)
            memcpy(values + (size_t)i * r->size, x + (size_t)heap[i] * r->size,
                   r->size);
        store_indices(r->kernel, r->index_dtype, indices, heap, r->k);
        x += (size_t)r->columns * r->size;
        values += (size_t)r->k * r->size;
        indices += (size_t)r->k * index_size;
    }
}

static eddy_status read_request(eddy_kernel *k, request *r)
{
    const eddy_shape *of = eddy__in_shape(k, 0);
    eddy_dtype dtype = eddy__in_dtype(k, 0);

    *r = (request){.kernel = k,
                   .rows = 1,
                   .size = eddy_dtype_size(dtype),
                   .index_dtype = (eddy_dtype)k->node->out_dtypes[1],
                   .before = order_of(dtype)};
    EDDY_TRY(eddy__index_argument(k, 1, "k", &r->k));
    if (r->k < 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                           "k must not be negative, but it is %" PRId64, r->k);
    if (of->rank == 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "input must be at least a vector");
    r->columns = of->dims[of->rank - 1];
    if (r->columns < r->k)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                           "input must have at least k columns: it has "
                           "%" PRId64 ", k is %" PRId64,
                           r->columns, r->k);
    if ((r->index_dtype == EDDY_INT16 && r->columns > INT16_MAX) ||
        (r->index_dtype == EDDY_INT32 && r->columns > INT32_MAX))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                           "%" PRId64 " columns are too many for %s indices",
                           r->columns, eddy_dtype_name(r->index_dtype));
    for (int32_t d = 0; d < of->rank - 1; d++)
        r->rows *= of->dims[d];
    return EDDY_OK;
}

static eddy_status run_topk(eddy_kernel *k)
{
    eddy_dtype dtype = eddy__in_dtype(k, 0);
    eddy_shape shape = *eddy__in_shape(k, 0), row;
    unsigned char *values, *indices;
    eddy_tensor *heap;
    request r;

    EDDY_TRY(read_request(k, &r));
    shape.dims[shape.rank - 1] = r.k;
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &shape, &values));
    EDDY_TRY(eddy__output_elements(k, 1, r.index_dtype, &shape, &indices));
    if (r.rows == 0 || r.k == 0)
        return EDDY_OK;
    row = eddy__shape_vector(r.k);
    heap = eddy__tensor_create(k->heap, k->account, k->allocator, EDDY_INT64,
                               &row);
    if (!heap)
        return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                           "no memory for a heap of %" PRId64 " indices", r.k);
    run_rows(&r, eddy__in_elements(k, 0), values, indices, heap->data);
    eddy__tensor_recycle(k->heap, heap);
    return EDDY_OK;
}

static eddy_status infer_topk(eddy_infer *infer)
{
    eddy_shape shape = *eddy_infer_input(infer, 0);
    int64_t k;

    if (shape.rank < 1)
        return EDDY_OK;
    shape.dims[shape.rank - 1] =
        eddy__infer_constant_int(infer, 1, 0, &k) && k >= 0 ? k : -1;
    eddy_infer_set_output(infer, 0, &shape);
    eddy_infer_set_output(infer, 1, &shape);
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW(
        "TopKV2", .inputs = "input: T, k: Tk",
        .outputs = "values: T, indices: index_type",
        .attrs = "sorted: bool = true, T: real, Tk: {int16, int32, int64} = "
                 "int32, index_type: {int16, int32, int64} = int32",
        .infer = infer_topk, .kernel = run_topk, .flags = EDDY_OP_HEAVY,
        .doc = "The k greatest elements of each row, and where they are."),
};

const eddy__op_table eddy__topk_ops = {specs, NULL,
                                       sizeof specs / sizeof *specs};
