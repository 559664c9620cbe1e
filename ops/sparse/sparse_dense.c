/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sparse tensors with dense ones: SparseToDense, SparseReduceSum and
 * SparseTensorDenseMatMul.
 */
#include "ops/math/combine.h"
#include "ops/math/numeric.h"
#include "ops/ops.h"
#include "ops/sparse/sparse.h"

#include <inttypes.h>
#include <string.h>

/* ---- SparseToDense ---- */

typedef struct checks {
    bool ordered; /* are coordinates to rise? */
} checks;

static eddy_status prepare_to_dense(eddy_infer *infer)
{
    checks *state;

    EDDY_TRY(eddy__prepare_movable(infer));
    state = eddy__prepare_state(infer, sizeof *state);
    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    state->ordered = eddy__infer_bool(infer, "validate_indices");
    return EDDY_OK;
}

/* Coordinates may be a matrix, a vector of those of a vector, or just one. */
static eddy_status read_places(eddy_kernel *k, eddy__sparse *s)
{
    const eddy_shape *indices = eddy__in_shape(k, 0);
    const eddy_shape *values = eddy__in_shape(k, 2);
    const eddy_view shape = eddy__in_view(k, 1);
    const int64_t width = indices->rank > 1 ? indices->dims[1] : 1;

    EDDY_TRY(eddy__shape_from_view(k, &shape, 0, &s->shape));
    s->indices = eddy__in_view(k, 0);
    s->n = indices->rank > 0 ? indices->dims[0] : 1;
    if (indices->rank > 2 || width != s->shape.rank)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "sparse_indices has shape %s, which are no "
                           "coordinates in a tensor of shape %s",
                           eddy__shape_print(indices).text,
                           eddy__shape_print(&s->shape).text);
    if (values->rank > 1 || (values->rank == 1 && values->dims[0] != s->n))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "sparse_values must be a scalar or a vector of "
                           "%" PRId64 " elements, but it has shape %s",
                           s->n, eddy__shape_print(values).text);
    EDDY_TRY(eddy__sparse_lay_out(k, s));
    return eddy__sparse_check(k, s);
}

/* Do the elements come in order, each once? */
static eddy_status check_order(eddy_kernel *k, const eddy__sparse *s)
{
    for (int64_t i = 1; i < s->n && !eddy__spent_at(k, i); i++)
        if (eddy__sparse_place(s, i) <= eddy__sparse_place(s, i - 1))
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                               "indices[%" PRId64 "] is %s", i,
                               eddy__sparse_place(s, i) ==
                                       eddy__sparse_place(s, i - 1)
                                   ? "repeated"
                                   : "out of order");
    return eddy__go_on(k, 0);
}

static eddy_status run_to_dense(eddy_kernel *k)
{
    const eddy_dtype dtype = eddy__in_dtype(k, 2);
    const size_t size = eddy__element_size(dtype);
    eddy_kernel *const asker = eddy__asker(k, dtype);
    const unsigned char *values = eddy__in_elements(k, 2);
    const size_t step = eddy__in_shape(k, 2)->rank > 0 ? size : 0;
    eddy__sparse s;
    unsigned char *out;

    EDDY_TRY(eddy__want_single(k, 3, 0, "default_value"));
    EDDY_TRY(read_places(k, &s));
    if (((const checks *)eddy__state(k))->ordered)
        EDDY_TRY(check_order(k, &s));
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &s.shape, &out));
    if (s.count > 0)
        eddy__repeat(asker, out, eddy__in_elements(k, 3), size, s.count);
    for (int64_t i = 0; i < s.n; i++, values += step) {
        if (eddy__spent_at(asker, i))
            break;
        memcpy(out + (size_t)eddy__sparse_place(&s, i) * size, values, size);
    }
    return eddy__elements_done(k, 0);
}

static eddy_status infer_to_dense(eddy_infer *infer)
{
    const eddy_shape shape = eddy__infer_shape_argument(infer, 1);

    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

/* ---- SparseReduceSum ---- */

typedef struct reduction {
    bool keeps[EDDY_MAX_RANK]; /* is the dimension one of the sums? */
    int64_t strides[EDDY_MAX_RANK];
    eddy_shape shape;
} reduction;

static eddy_status read_axes(eddy_kernel *k, const eddy_shape *of, reduction *r)
{
    const eddy_view axes = eddy__in_view(k, 3);

    for (int32_t d = 0; d < of->rank; d++)
        r->keeps[d] = true;
    for (int64_t i = 0; i < axes.count; i++) {
        int32_t axis;

        EDDY_TRY(eddy__axis(k, eddy__index_at(&axes, i), of->rank, &axis));
        r->keeps[axis] = false;
    }
    return EDDY_OK;
}

static void shape_sums(const eddy_shape *of, bool keep_dims, reduction *r)
{
    int64_t step = 1;

    r->shape.rank = 0;
    for (int32_t d = 0; d < of->rank; d++)
        if (r->keeps[d] || keep_dims)
            r->shape.dims[r->shape.rank++] = r->keeps[d] ? of->dims[d] : 1;
    for (int32_t d = of->rank - 1; d >= 0; d--) {
        r->strides[d] = r->keeps[d] ? step : 0;
        if (r->keeps[d])
            step *= of->dims[d];
    }
}

static eddy_status run_reduce_sum(eddy_kernel *k)
{
    const eddy_dtype dtype = eddy__in_dtype(k, 1);
    const size_t size = eddy__element_size(dtype);
    const eddy__binary_loop add = eddy__combiner_of(EDDY__COMBINE_ADD, dtype);
    eddy__rows one = {.n = 1, .step_a = 1, .step_b = 1, .n_rows = 1};
    int64_t count = 0;
    eddy__sparse s;
    reduction r = {.shape = {.rank = 0}};
    unsigned char *out;

    EDDY_TRY(eddy__sparse_read(k, 0, &s));
    EDDY_TRY(eddy__sparse_check(k, &s));
    EDDY_TRY(read_axes(k, &s.shape, &r));
    shape_sums(&s.shape, *(const bool *)eddy__state(k), &r);
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &r.shape, &out));
    (void)eddy__shape_count(&r.shape, size, &count);
    eddy__zero_bytes(k, out, (size_t)count * size);
    for (int64_t i = 0; i < s.n && !eddy__spent(k, 16); i++) {
        int64_t at = 0;

        for (int32_t d = 0; d < s.shape.rank; d++)
            at += eddy__sparse_at(&s, i, d) * r.strides[d];
        one.out = out + (size_t)at * size;
        one.a = one.out;
        one.b = eddy__in_elements(k, 1) + (size_t)i * size;
        add(&one);
    }
    return eddy__elements_done(k, 0);
}

static eddy_status prepare_reduce_sum(eddy_infer *infer)
{
    const eddy_dtype dtype = eddy__infer_type(infer, "T");
    bool *keep_dims;

    if (!eddy__combiner_of(EDDY__COMBINE_ADD, dtype))
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_NO_KERNEL,
                               "there is no kernel for %s",
                               eddy_dtype_name(dtype));
    keep_dims = eddy__prepare_state(infer, sizeof *keep_dims);
    if (!keep_dims)
        return EDDY_RESOURCE_EXHAUSTED;
    *keep_dims = eddy__infer_bool(infer, "keep_dims");
    return EDDY_OK;
}

/* ---- SparseTensorDenseMatMul ---- */

/* The product of a sparse matrix, `adjoint` or not, and a dense one. */
typedef struct product {
    const eddy__sparse *a;
    bool adjoint_a, adjoint_b;
    int64_t rows, inner, columns; /* of the result, and what is summed over */
    eddy_kernel *kernel;
} product;

#define REAL(v) (v)
#define PRODUCT(D, TIMES, CONJ_OF)                                             \
    static void multiply_##D(const product *p, const void *values,             \
                             const void *b, void *out)                         \
    {                                                                          \
        const int64_t step = p->adjoint_b ? p->inner : 1;                      \
                                                                               \
        for (int64_t i = 0; i < p->a->n; i++) {                                \
            const int64_t row = eddy__sparse_at(p->a, i, p->adjoint_a);        \
            const int64_t from = eddy__sparse_at(p->a, i, !p->adjoint_a);      \
            TIMES v =                                                          \
                (TIMES)eddy__load_##D(((const eddy__stored_##D *)values)[i]);  \
            const eddy__stored_##D *x =                                        \
                (const eddy__stored_##D *)b +                                  \
                from * (p->adjoint_b ? 1 : p->columns);                        \
            eddy__stored_##D *to = (eddy__stored_##D *)out + row * p->columns; \
                                                                               \
            if (eddy__spent(p->kernel, 2 * p->columns + EDDY__SPARSE_WORK))    \
                return;                                                        \
            v = p->adjoint_a ? CONJ_OF(v) : v;                                 \
            for (int64_t c = 0; c < p->columns; c++, x += step) {              \
                const TIMES w = (TIMES)eddy__load_##D(*x);                     \
                                                                               \
                to[c] = EDDY__STORE_##D((TIMES)eddy__load_##D(to[c]) +         \
                                        v * (p->adjoint_b ? CONJ_OF(w) : w));  \
            }                                                                  \
        }                                                                      \
    }

PRODUCT(BF16, float, REAL)
PRODUCT(F32, float, REAL)
PRODUCT(F64, double, REAL)
PRODUCT(I32, uint32_t, REAL)
PRODUCT(C64, eddy__complex64, conjf)
PRODUCT(C128, eddy__complex128, conj)

typedef void (*multiply_fn)(const product *p, const void *values, const void *b,
                            void *out);

static const multiply_fn multiplies[EDDY_DTYPE_COUNT] = {
    [EDDY_BFLOAT16] = multiply_BF16, [EDDY_FLOAT32] = multiply_F32,
    [EDDY_FLOAT64] = multiply_F64,   [EDDY_INT32] = multiply_I32,
    [EDDY_COMPLEX64] = multiply_C64, [EDDY_COMPLEX128] = multiply_C128,
};

typedef struct adjoints {
    bool a, b;
    multiply_fn multiply;
} adjoints;

static eddy_status prepare_product(eddy_infer *infer)
{
    const eddy_dtype dtype = eddy__infer_type(infer, "T");
    adjoints *state;

    if (!multiplies[dtype])
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_NO_KERNEL,
                               "there is no kernel for %s",
                               eddy_dtype_name(dtype));
    state = eddy__prepare_state(infer, sizeof *state);
    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    state->multiply = multiplies[dtype];
    state->a = eddy__infer_bool(infer, "adjoint_a");
    state->b = eddy__infer_bool(infer, "adjoint_b");
    return EDDY_OK;
}

static eddy_status read_product(eddy_kernel *k, const eddy__sparse *a,
                                product *p)
{
    const adjoints *state = eddy__state(k);
    const eddy_shape *b = eddy__in_shape(k, 3);

    *p = (product){
        .a = a, .adjoint_a = state->a, .adjoint_b = state->b, .kernel = k};
    if (a->shape.rank != 2 || b->rank != 2)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "both must be matrices, but they have shapes %s "
                           "and %s",
                           eddy__shape_print(&a->shape).text,
                           eddy__shape_print(b).text);
    p->rows = a->shape.dims[state->a];
    p->inner = a->shape.dims[!state->a];
    p->columns = b->dims[!state->b];
    if (p->inner == b->dims[state->b])
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "the matrices of shapes %s and %s%s%s have no product",
                       eddy__shape_print(&a->shape).text,
                       eddy__shape_print(b).text,
                       state->a ? ", the first transposed," : "",
                       state->b ? ", the second transposed," : "");
}

static eddy_status run_product(eddy_kernel *k)
{
    const adjoints *state = eddy__state(k);
    const eddy_dtype dtype = eddy__in_dtype(k, 1);
    eddy_shape shape = {.rank = 2};
    eddy__sparse a;
    product p;
    unsigned char *out;

    EDDY_TRY(eddy__sparse_read(k, 0, &a));
    EDDY_TRY(read_product(k, &a, &p));
    EDDY_TRY(eddy__sparse_check(k, &a));
    shape.dims[0] = p.rows;
    shape.dims[1] = p.columns;
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &shape, &out));
    eddy__zero_bytes(k, out,
                     (size_t)(p.rows * p.columns) * eddy__element_size(dtype));
    state->multiply(&p, eddy__in_elements(k, 1), eddy__in_elements(k, 3), out);
    return EDDY_OK;
}

static eddy_status infer_product(eddy_infer *infer)
{
    const eddy_shape a = eddy__infer_shape_argument(infer, 2);
    const eddy_shape *b = eddy_infer_input(infer, 3);
    eddy_shape shape = eddy__shape_of_rank(2);

    if (a.rank == 2)
        shape.dims[0] = a.dims[eddy__infer_bool(infer, "adjoint_a")];
    if (b->rank == 2)
        shape.dims[1] = b->dims[!eddy__infer_bool(infer, "adjoint_b")];
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

/* ---- definitions ---- */

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW(
        "SparseToDense",
        .inputs = "sparse_indices: Tindices, output_shape: Tindices, "
                  "sparse_values: T, default_value: T",
        .outputs = "dense: T",
        .attrs = "validate_indices: bool = true, T: type, Tindices: index",
        .infer = infer_to_dense, .kernel = run_to_dense,
        .prepare = prepare_to_dense,
        .doc = "A tensor of one value but for the elements that are given "
               "with their coordinates."),
    EDDY__OP_ROW("SparseReduceSum",
                 .inputs = "input_indices: int64, input_values: T, "
                           "input_shape: int64, reduction_axes: int32",
                 .outputs = "output: T",
                 .attrs = "keep_dims: bool = false, T: number",
                 .kernel = run_reduce_sum, .prepare = prepare_reduce_sum,
                 .doc = "Sums of a sparse tensor along dimensions, dense."),
    EDDY__OP_ROW("SparseTensorDenseMatMul",
                 .inputs = "a_indices: Tindices, a_values: T, a_shape: int64, "
                           "b: T",
                 .outputs = "product: T",
                 .attrs = "T: type, Tindices: index = int64, "
                          "adjoint_a: bool = false, adjoint_b: bool = false",
                 .infer = infer_product, .kernel = run_product,
                 .prepare = prepare_product,
                 .doc = "The product of a sparse matrix and a dense one."),
};

const eddy__op_table eddy__sparse_dense_ops = {specs, NULL,
                                               sizeof specs / sizeof *specs};
