/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two sparse tensors element by element: SparseAdd and its gradient,
 * SparseSparseMaximum and SparseSparseMinimum.  What only one has meets 0 in
 * the other.  Both have their elements in order.
 */
#include "ops/math/combine.h"
#include "ops/math/numeric.h"
#include "ops/ops.h"
#include "ops/sparse/sparse.h"

#include <inttypes.h>
#include <string.h>

/* ---- what is kept of a sum ---- */

/* Is |element| at least the threshold? */
typedef bool (*keeps_fn)(const void *element, const void *threshold);

#define KEEPS(D, R, size_of)                                                   \
    static bool keeps_##D(const void *element, const void *threshold)          \
    {                                                                          \
        const eddy__computed_##D x =                                           \
            eddy__load_##D(*(const eddy__stored_##D *)element);                \
                                                                               \
        return eddy__load_##R(*(const eddy__stored_##R *)threshold) <=         \
               size_of(x);                                                     \
    }

#define SIZE(x) ((x) < 0 ? -(x) : (x))
/* The least integer has none: it stays as it is, as it does in TensorFlow. */
#define WIDE_SIZE(x) ((x) < 0 ? (int64_t)(0 - (uint64_t)(x)) : (x))

KEEPS(I8, I8, SIZE)
KEEPS(I16, I16, SIZE)
KEEPS(I32, I32, WIDE_SIZE)
KEEPS(I64, I64, WIDE_SIZE)
KEEPS(F32, F32, fabsf)
KEEPS(F64, F64, fabs)
KEEPS(C64, F32, cabsf)
KEEPS(C128, F64, cabs)

static const keeps_fn keepers[EDDY_DTYPE_COUNT] = {
    [EDDY_INT8] = keeps_I8,       [EDDY_INT16] = keeps_I16,
    [EDDY_INT32] = keeps_I32,     [EDDY_INT64] = keeps_I64,
    [EDDY_FLOAT32] = keeps_F32,   [EDDY_FLOAT64] = keeps_F64,
    [EDDY_COMPLEX64] = keeps_C64, [EDDY_COMPLEX128] = keeps_C128,
};

/* ---- unions ---- */

/* One element of the result: which of a and of b, -1 for none. */
typedef struct pair {
    int64_t a, b;
} pair;

typedef struct joining {
    eddy_kernel *kernel;
    eddy__sparse a, b;
    eddy_dtype dtype;
    eddy__combination what;
    bool is_sum; /* what one has alone stays as it is */
    pair *pairs;
    int64_t n;
} joining;

/* The element of the result that a pair stands for. */
static void join(const joining *j, const pair *p, void *to)
{
    static const eddy__complex128 zero;
    const size_t size = eddy__element_size(j->dtype);
    const unsigned char *a = (const unsigned char *)&zero, *b = a;
    eddy__rows one = {.n = 1, .step_a = 1, .step_b = 1, .n_rows = 1, .out = to};

    if (p->a >= 0)
        a = eddy__in_elements(j->kernel, 1) + (size_t)p->a * size;
    if (p->b >= 0)
        b = eddy__in_elements(j->kernel, 4) + (size_t)p->b * size;
    if (j->is_sum && (p->a < 0 || p->b < 0)) {
        memcpy(to, p->a >= 0 ? a : b, size);
        return;
    }
    one.a = a;
    one.b = b;
    eddy__combiner_of(j->what, j->dtype)(&one);
}

/*
 * The pairs in order.  The threshold is for sums: TensorFlow takes what only
 * one has as it is.
 */
static void find_pairs(joining *j, const void *threshold)
{
    const int64_t *a = j->a.indices.data, *b = j->b.indices.data;
    pair at = {0, 0};

    while ((at.a < j->a.n || at.b < j->b.n) &&
           !eddy__spent(j->kernel, EDDY__SPARSE_WORK)) {
        const bool both_left = at.a < j->a.n && at.b < j->b.n;
        const int order =
            both_left ? eddy__sparse_compare(a, at.a, b, at.b, j->a.shape.rank)
            : at.a < j->a.n ? -1
                            : 1;
        const pair p = {order <= 0 ? at.a : -1, order >= 0 ? at.b : -1};
        eddy__complex128 made; /* room for any dtype */

        at.a += order <= 0;
        at.b += order >= 0;
        if (threshold && order == 0) {
            join(j, &p, &made);
            if (!keepers[j->dtype](&made, threshold))
                continue;
        }
        j->pairs[j->n++] = p;
    }
}

static eddy_status put_pairs(joining *j)
{
    eddy_kernel *k = j->kernel;
    const size_t size = eddy__element_size(j->dtype);
    const int32_t rank = j->a.shape.rank;
    const eddy_shape vector = eddy__shape_vector(j->n);
    unsigned char *values;
    int64_t *at;

    EDDY_TRY(eddy__sparse_output_rows(k, 0, j->n, rank, &at));
    EDDY_TRY(eddy__output_elements(k, 1, j->dtype, &vector, &values));
    for (int64_t i = 0; i < j->n; i++) {
        const pair *p = &j->pairs[i];
        const eddy__sparse *from = p->a >= 0 ? &j->a : &j->b;
        const int64_t row = p->a >= 0 ? p->a : p->b;

        for (int32_t d = 0; d < rank; d++)
            *at++ = eddy__sparse_at(from, row, d);
        join(j, p, values + (size_t)i * size);
    }
    if (k->node->n_out > 2)
        EDDY_TRY(eddy__sparse_put_shape(k, 2, &j->a.shape));
    return eddy__elements_done(k, 1);
}

static eddy_status join_two(eddy_kernel *k, eddy__combination what,
                            const void *threshold)
{
    joining j = {.kernel = k,
                 .what = what,
                 .is_sum = what == EDDY__COMBINE_ADD,
                 .dtype = eddy__in_dtype(k, 1)};
    eddy_tensor *room = NULL;
    eddy_status status;
    eddy_shape scratch;

    EDDY_TRY(eddy__sparse_read(k, 0, &j.a));
    EDDY_TRY(eddy__sparse_read(k, 3, &j.b));
    if (!eddy__shape_equal(&j.a.shape, &j.b.shape))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "the sparse tensors have shapes %s and %s",
                           eddy__shape_print(&j.a.shape).text,
                           eddy__shape_print(&j.b.shape).text);
    EDDY_TRY(eddy__sparse_check(k, &j.a));
    EDDY_TRY(eddy__sparse_check(k, &j.b));
    scratch = (eddy_shape){.rank = 2, .dims = {j.a.n + j.b.n, 2}};
    EDDY_TRY(eddy__new_tensor(k, EDDY_INT64, &scratch, &room));
    j.pairs = room->data;
    find_pairs(&j, threshold);
    status = put_pairs(&j);
    eddy__tensor_recycle(k->heap, room);
    return status;
}

static eddy_status run_add(eddy_kernel *k)
{
    EDDY_TRY(eddy__want_single(k, 6, 0, "thresh"));
    return join_two(k, EDDY__COMBINE_ADD, eddy__in_elements(k, 6));
}

static eddy_status run_maximum(eddy_kernel *k)
{
    return join_two(k, EDDY__COMBINE_MAX, NULL);
}

static eddy_status run_minimum(eddy_kernel *k)
{
    return join_two(k, EDDY__COMBINE_MIN, NULL);
}

static eddy_status want_kernel(eddy_infer *infer, bool exists)
{
    if (exists)
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_NO_KERNEL,
                           "there is no kernel for %s",
                           eddy_dtype_name(eddy__infer_type(infer, "T")));
}

static eddy_status prepare_add(eddy_infer *infer)
{
    const eddy_dtype dtype = eddy__infer_type(infer, "T");

    if (eddy__infer_type(infer, "Treal") != eddy__dtype_of_parts(dtype))
        return eddy_infer_fail(
            infer, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
            "a threshold of %s is none for %s",
            eddy_dtype_name(eddy__infer_type(infer, "Treal")),
            eddy_dtype_name(dtype));
    return want_kernel(infer, keepers[dtype] != NULL);
}

static eddy_status prepare_extreme(eddy_infer *infer)
{
    return want_kernel(infer,
                       eddy__combiner_of(EDDY__COMBINE_MAX,
                                         eddy__infer_type(infer, "T")) != NULL);
}

static eddy_status infer_extreme(eddy_infer *infer)
{
    const eddy_shape matrix = eddy__shape_of_rank(2);
    const eddy_shape vector = eddy__shape_of_rank(1);

    eddy_infer_set_output(infer, 0, &matrix);
    eddy_infer_set_output(infer, 1, &vector);
    return EDDY_OK;
}

/* ---- SparseAddGrad ---- */

/* backprop_val_grad, a_indices, b_indices, sum_indices */
static eddy_status check_add_grad(eddy_kernel *k)
{
    const eddy_shape *grad = eddy__in_shape(k, 0);
    const eddy_shape *sum = eddy__in_shape(k, 3);
    bool fits = grad->rank == 1 && sum->rank == 2 &&
                grad->dims[0] == sum->dims[0] && sum->dims[1] <= EDDY_MAX_RANK;

    for (uint32_t i = 1; i < 3; i++)
        fits = fits && eddy__in_shape(k, i)->rank == 2 &&
               eddy__in_shape(k, i)->dims[1] == sum->dims[1];
    if (fits)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "gradients of shape %s and coordinates of shapes %s, "
                       "%s and %s do not go together",
                       eddy__shape_print(grad).text,
                       eddy__shape_print(eddy__in_shape(k, 1)).text,
                       eddy__shape_print(eddy__in_shape(k, 2)).text,
                       eddy__shape_print(sum).text);
}

/* Output `i`: the gradients at the coordinates that input `i` + 1 has. */
static eddy_status put_add_grad(eddy_kernel *k, uint32_t i)
{
    const eddy_view of = eddy__in_view(k, i + 1), sum = eddy__in_view(k, 3);
    const eddy_shape vector =
        eddy__shape_vector(eddy__in_shape(k, i + 1)->dims[0]);
    const eddy_dtype dtype = eddy__in_dtype(k, 0);
    const size_t size = eddy__element_size(dtype);
    const int64_t rows = eddy__in_shape(k, 3)->dims[0];
    const int32_t rank = (int32_t)eddy__in_shape(k, 3)->dims[1];
    unsigned char *to;
    int64_t j = 0;

    EDDY_TRY(eddy__output_elements(k, i, dtype, &vector, &to));
    eddy__zero_bytes(k, to, (size_t)vector.dims[0] * size);
    for (int64_t n = 0; n < vector.dims[0]; n++) {
        int order = 1;

        while (j < rows && (order = eddy__sparse_compare(of.data, n, sum.data,
                                                         j, rank)) > 0)
            j++;
        if (order == 0 && j < rows)
            memcpy(to + (size_t)n * size,
                   eddy__in_elements(k, 0) + (size_t)j * size, size);
        if (eddy__spent_at(k, n))
            return eddy__go_on(k, 0);
    }
    return eddy__elements_done(k, i);
}

static eddy_status run_add_grad(eddy_kernel *k)
{
    EDDY_TRY(check_add_grad(k));
    EDDY_TRY(put_add_grad(k, 0));
    return put_add_grad(k, 1);
}

static eddy_status infer_add_grad(eddy_infer *infer)
{
    for (uint32_t i = 0; i < 2; i++) {
        const eddy_shape *of = eddy_infer_input(infer, i + 1);
        eddy_shape vector = eddy__shape_of_rank(1);

        if (of->rank == 2)
            vector.dims[0] = of->dims[0];
        eddy_infer_set_output(infer, i, &vector);
    }
    return EDDY_OK;
}

/* ---- definitions ---- */

#define TWO                                                                    \
    "a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, "        \
    "b_values: T, b_shape: int64"

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("SparseAdd", .inputs = TWO ", thresh: Treal",
                 .outputs = "sum_indices: int64, sum_values: T, "
                            "sum_shape: int64",
                 .attrs = "T: number, Treal: real", .infer = eddy__infer_sparse,
                 .kernel = run_add, .prepare = prepare_add,
                 .doc = "The sum of two sparse tensors, without sums of two "
                        "elements below the threshold."),
    EDDY__OP_ROW("SparseAddGrad",
                 .inputs = "backprop_val_grad: T, a_indices: int64, "
                           "b_indices: int64, sum_indices: int64",
                 .outputs = "a_val_grad: T, b_val_grad: T",
                 .attrs = "T: number", .infer = infer_add_grad,
                 .kernel = run_add_grad, .prepare = eddy__sparse_prepare,
                 .doc = "The gradients of SparseAdd by the elements of both."),
    EDDY__OP_ROW("SparseSparseMaximum", .inputs = TWO,
                 .outputs = "output_indices: int64, output_values: T",
                 .attrs = "T: real", .infer = infer_extreme,
                 .kernel = run_maximum, .prepare = prepare_extreme,
                 .doc = "The greater elements of two sparse tensors."),
    EDDY__OP_ROW("SparseSparseMinimum", .inputs = TWO,
                 .outputs = "output_indices: int64, output_values: T",
                 .attrs = "T: real", .infer = infer_extreme,
                 .kernel = run_minimum, .prepare = prepare_extreme,
                 .doc = "The lesser elements of two sparse tensors."),
};

const eddy__op_table eddy__sparse_union_ops = {specs, NULL,
                                               sizeof specs / sizeof *specs};
