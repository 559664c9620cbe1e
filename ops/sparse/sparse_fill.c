/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops on the rows of a sparse tensor: SparseFillEmptyRows with its gradient,
 * and SparseSoftmax.
 */
#include "ops/math/combine.h"
#include "ops/math/numeric.h"
#include "ops/ops.h"
#include "ops/sparse/sparse.h"
#include "ops/template.h"

#include <inttypes.h>
#include <string.h>
#include <tgmath.h>

/* ---- SparseFillEmptyRows ---- */

/* Where the elements of each row go. */
typedef struct filling {
    eddy__sparse s;
    int64_t rows, n; /* of the result */
    int64_t *next;   /* a row: where its next element goes */
} filling;

static eddy_status check_filling(eddy_kernel *k, const filling *f)
{
    EDDY_TRY(eddy__want_single(k, 3, 0, "default_value"));
    if (f->s.shape.rank < 1)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "a scalar has no rows to fill");
    for (int64_t i = 0; i < f->s.n; i++) {
        const int64_t row = eddy__sparse_at(&f->s, i, 0);

        if (row < 0 || row >= f->rows)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                               "indices[%" PRId64 ",0] is %" PRId64
                               ", which is not in [0, %" PRId64 ")",
                               i, row, f->rows);
        if (eddy__spent_at(k, i))
            return eddy__go_on(k, 0);
    }
    return EDDY_OK;
}

/* Output 2, and where each row begins. */
static eddy_status count_rows(eddy_kernel *k, filling *f)
{
    const eddy_shape vector = eddy__shape_vector(f->rows);
    int64_t at = 0;
    void *is_empty;

    EDDY_TRY(eddy__output(k, 2, EDDY_BOOL, &vector, &is_empty));
    eddy__zero_bytes(k, f->next, (size_t)f->rows * sizeof *f->next);
    for (int64_t i = 0; i < f->s.n; i++)
        f->next[eddy__sparse_at(&f->s, i, 0)]++;
    for (int64_t row = 0; row < f->rows; row++) {
        const int64_t n = f->next[row];

        ((bool *)is_empty)[row] = n == 0;
        f->next[row] = at;
        at += n > 0 ? n : 1;
        if (eddy__spent_at(k, row))
            return eddy__go_on(k, 0);
    }
    f->n = at;
    return EDDY_OK;
}

/* The elements that are there, each to its row; output 3 says where. */
static eddy_status put_elements(eddy_kernel *k, filling *f, int64_t *at,
                                unsigned char *values)
{
    const size_t size = eddy__element_size(eddy__in_dtype(k, 1));
    const eddy_shape vector = eddy__shape_vector(f->s.n);
    const int32_t rank = f->s.shape.rank;
    void *places;

    EDDY_TRY(eddy__output(k, 3, EDDY_INT64, &vector, &places));
    for (int64_t i = 0; i < f->s.n; i++) {
        const int64_t to = f->next[eddy__sparse_at(&f->s, i, 0)]++;

        ((int64_t *)places)[i] = to;
        for (int32_t d = 0; d < rank; d++)
            at[to * rank + d] = eddy__sparse_at(&f->s, i, d);
        memcpy(values + (size_t)to * size,
               eddy__in_elements(k, 1) + (size_t)i * size, size);
    }
    return EDDY_OK;
}

static void put_defaults(eddy_kernel *k, const filling *f, int64_t *at,
                         unsigned char *values)
{
    const bool *is_empty = eddy__out(k, 2)->as.tensor->data;
    const size_t size = eddy__element_size(eddy__in_dtype(k, 1));
    const int32_t rank = f->s.shape.rank;

    for (int64_t row = 0; row < f->rows; row++) {
        const int64_t to = f->next[row];

        if (!is_empty[row])
            continue;
        memset(at + to * rank, 0, (size_t)rank * sizeof *at);
        at[to * rank] = row;
        memcpy(values + (size_t)to * size, eddy__in_elements(k, 3), size);
    }
}

static eddy_status fill(eddy_kernel *k, filling *f)
{
    unsigned char *values;
    eddy_shape vector;
    int64_t *at;

    EDDY_TRY(count_rows(k, f));
    vector = eddy__shape_vector(f->n);
    EDDY_TRY(eddy__sparse_output_rows(k, 0, f->n, f->s.shape.rank, &at));
    EDDY_TRY(
        eddy__output_elements(k, 1, eddy__in_dtype(k, 1), &vector, &values));
    put_defaults(k, f, at, values);
    /* The coordinate of a string is the output's own only once it is done. */
    if (put_elements(k, f, at, values) != EDDY_OK) {
        memset(values, 0,
               (size_t)f->n * eddy__element_size(eddy__in_dtype(k, 1)));
        return EDDY_RESOURCE_EXHAUSTED;
    }
    return eddy__elements_done(k, 1);
}

static eddy_status run_fill(eddy_kernel *k)
{
    eddy_tensor *room = NULL;
    filling f = {.n = 0};
    eddy_status status;
    eddy_shape vector;

    EDDY_TRY(eddy__sparse_read(k, 0, &f.s));
    f.rows = f.s.shape.rank > 0 ? f.s.shape.dims[0] : 0;
    EDDY_TRY(check_filling(k, &f));
    vector = eddy__shape_vector(f.rows);
    EDDY_TRY(eddy__new_tensor(k, EDDY_INT64, &vector, &room));
    f.next = room->data;
    status = fill(k, &f);
    eddy__tensor_recycle(k->heap, room);
    return status;
}

static eddy_status infer_fill(eddy_infer *infer)
{
    const eddy_shape shape = eddy__infer_shape_argument(infer, 2);
    const eddy_shape *values = eddy_infer_input(infer, 1);
    eddy_shape matrix = eddy__shape_of_rank(2);
    eddy_shape vector = eddy__shape_of_rank(1);

    if (shape.rank > 0)
        matrix.dims[1] = shape.rank;
    eddy_infer_set_output(infer, 0, &matrix);
    eddy_infer_set_output(infer, 1, &vector);
    if (shape.rank > 0)
        vector.dims[0] = shape.dims[0];
    eddy_infer_set_output(infer, 2, &vector);
    if (values->rank == 1)
        eddy_infer_set_output(infer, 3, values);
    return EDDY_OK;
}

/* ---- SparseFillEmptyRowsGrad ---- */

static eddy_status check_places(eddy_kernel *k, int64_t n)
{
    const eddy_view places = eddy__in_view(k, 0);

    if (places.rank != 1 || eddy__in_shape(k, 1)->rank != 1)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "both must be vectors, but they have shapes %s and "
                           "%s",
                           eddy__shape_print(eddy__in_shape(k, 0)).text,
                           eddy__shape_print(eddy__in_shape(k, 1)).text);
    for (int64_t i = 0; i < places.count; i++) {
        const int64_t at = eddy__index_at(&places, i);

        if (at < 0 || at >= n)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                               "reverse_index_map[%" PRId64 "] is %" PRId64
                               ", which is not in [0, %" PRId64 ")",
                               i, at, n);
        if (eddy__spent_at(k, i))
            return eddy__go_on(k, 0);
    }
    return EDDY_OK;
}

/* The sum of the gradients that no element has, at `to`. */
static eddy_status sum_others(eddy_kernel *k, int64_t n, void *to)
{
    const eddy_view places = eddy__in_view(k, 0);
    const eddy_dtype dtype = eddy__in_dtype(k, 1);
    const size_t size = eddy__element_size(dtype);
    const eddy_shape vector = eddy__shape_vector(n);
    eddy__rows one = {.n = 1, .step_a = 1, .step_b = 1, .n_rows = 1};
    eddy_tensor *room = NULL;
    bool *is_taken;

    EDDY_TRY(eddy__new_tensor(k, EDDY_BOOL, &vector, &room));
    is_taken = room->data;
    memset(is_taken, 0, (size_t)n);
    for (int64_t i = 0; i < places.count; i++)
        is_taken[eddy__index_at(&places, i)] = true;
    one.out = to;
    one.a = to;
    for (int64_t i = 0; i < n && !eddy__spent(k, EDDY__SPARSE_WORK); i++) {
        if (is_taken[i])
            continue;
        one.b = eddy__in_elements(k, 1) + (size_t)i * size;
        eddy__combiner_of(EDDY__COMBINE_ADD, dtype)(&one);
    }
    eddy__tensor_recycle(k->heap, room);
    return EDDY_OK;
}

static eddy_status run_fill_grad(eddy_kernel *k)
{
    const eddy_view places = eddy__in_view(k, 0);
    const eddy_dtype dtype = eddy__in_dtype(k, 1);
    const eddy_shape vector = eddy__shape_vector(places.count);
    const eddy_shape scalar = eddy__shape_scalar();
    const size_t size = eddy__element_size(dtype);
    const int64_t n = eddy__in_count(k, 1);
    unsigned char *to;
    void *sum;

    EDDY_TRY(check_places(k, n));
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &vector, &to));
    EDDY_TRY(eddy__output(k, 1, dtype, &scalar, &sum));
    memset(sum, 0, size);
    for (int64_t i = 0; i < places.count; i++)
        memcpy(to + (size_t)i * size,
               eddy__in_elements(k, 1) +
                   (size_t)eddy__index_at(&places, i) * size,
               size);
    return sum_others(k, n, sum);
}

static eddy_status prepare_fill_grad(eddy_infer *infer)
{
    const eddy_dtype dtype = eddy__infer_type(infer, "T");

    if (eddy__combiner_of(EDDY__COMBINE_ADD, dtype))
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_NO_KERNEL,
                           "there is no kernel for %s", eddy_dtype_name(dtype));
}

static eddy_status infer_fill_grad(eddy_infer *infer)
{
    const eddy_shape scalar = eddy__shape_scalar();

    eddy_infer_set_output(infer, 0, eddy_infer_input(infer, 0));
    eddy_infer_set_output(infer, 1, &scalar);
    return EDDY_OK;
}

/* ---- SparseSoftmax ---- */

/* Are elements `i` and `j` in one row, all but the last coordinate alike? */
static bool is_one_row(const eddy__sparse *s, int64_t i, int64_t j)
{
    for (int32_t d = 0; d < s->shape.rank - 1; d++)
        if (eddy__sparse_at(s, i, d) != eddy__sparse_at(s, j, d))
            return false;
    return true;
}

#define D F16
#include "ops/sparse/sparse_softmax_loops.def"
#define D F32
#include "ops/sparse/sparse_softmax_loops.def"
#define D F64
#include "ops/sparse/sparse_softmax_loops.def"

typedef void (*softmax_fn)(const void *in, void *out, int64_t n);

static softmax_fn softmax_of(eddy_dtype dtype)
{
    return dtype == EDDY_FLOAT16   ? softmax_F16
           : dtype == EDDY_FLOAT32 ? softmax_F32
                                   : softmax_F64;
}

static eddy_status run_softmax(eddy_kernel *k)
{
    const eddy_dtype dtype = eddy__in_dtype(k, 1);
    const size_t size = eddy__element_size(dtype);
    const unsigned char *in = eddy__in_elements(k, 1);
    unsigned char *out;
    eddy__sparse s;
    int64_t end;

    EDDY_TRY(eddy__sparse_read(k, 0, &s));
    if (s.shape.rank < 2)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "the sparse tensor must have at least 2 dimensions, "
                           "but its shape is %s",
                           eddy__shape_print(&s.shape).text);
    EDDY_TRY(eddy__sparse_check(k, &s));
    EDDY_TRY(eddy__output_elements(k, 0, dtype, eddy__in_shape(k, 1), &out));
    for (int64_t i = 0; i < s.n; i = end) {
        for (end = i + 1; end < s.n && is_one_row(&s, i, end);)
            end++;
        if (eddy__spent(k, 32 * (end - i)))
            break;
        softmax_of(dtype)(in + (size_t)i * size, out + (size_t)i * size,
                          end - i);
    }
    return EDDY_OK;
}

static eddy_status infer_softmax(eddy_infer *infer)
{
    eddy_infer_set_output(infer, 0, eddy_infer_input(infer, 1));
    return EDDY_OK;
}

/* ---- definitions ---- */

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("SparseFillEmptyRows",
                 .inputs = "indices: int64, values: T, dense_shape: int64, "
                           "default_value: T",
                 .outputs = "output_indices: int64, output_values: T, "
                            "empty_row_indicator: bool, "
                            "reverse_index_map: int64",
                 .attrs = "T: type", .infer = infer_fill, .kernel = run_fill,
                 .prepare = eddy__sparse_prepare,
                 .doc = "A sparse tensor with an element in each row that has "
                        "none; which rows they are, and where its own went."),
    EDDY__OP_ROW("SparseFillEmptyRowsGrad",
                 .inputs = "reverse_index_map: int64, grad_values: T",
                 .outputs = "d_values: T, d_default_value: T",
                 .attrs = "T: type", .infer = infer_fill_grad,
                 .kernel = run_fill_grad, .prepare = prepare_fill_grad,
                 .doc = "The gradients of SparseFillEmptyRows."),
    EDDY__OP_ROW("SparseSoftmax",
                 .inputs = "sp_indices: int64, sp_values: T, sp_shape: int64",
                 .outputs = "output: T",
                 .attrs = "T: {float16, float32, float64}",
                 .infer = infer_softmax, .kernel = run_softmax,
                 .doc = "The softmax of what each row of a sparse tensor "
                        "has."),
};

const eddy__op_table eddy__sparse_fill_ops = {specs, NULL,
                                              sizeof specs / sizeof *specs};
