/* MatMul. */
#include "ops/elements.h"
#include "ops/ops.h"
#include "ops/product.h"

#include <string.h>

/* Inputs. */
enum { A, B };

typedef struct state {
    eddy__multiply_fn multiply;
    bool transpose_a, transpose_b;
} state;

#define NOT_MATRICES "the factors have shapes %s and %s; matrices are wanted"
#define NO_PRODUCT                                                             \
    "a factor of shape %s%s can't be multiplied with one of shape %s%s"

static const char *transposed(bool is_transposed)
{
    return is_transposed ? " transposed" : "";
}

static eddy_status run_matmul(eddy_kernel *k)
{
    const state *s = eddy__state(k);
    const eddy_shape *a = eddy__in_shape(k, A), *b = eddy__in_shape(k, B);
    eddy__product p = {.transpose_a = s->transpose_a,
                       .transpose_b = s->transpose_b,
                       .a = eddy__in_elements(k, A),
                       .b = eddy__in_elements(k, B)};
    const eddy_dtype dtype = eddy__in_dtype(k, A);
    eddy_shape out;

    if (a->rank != 2 || b->rank != 2)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE, NOT_MATRICES,
                           eddy__shape_print(a).text,
                           eddy__shape_print(b).text);
    p.m = a->dims[s->transpose_a];
    p.k = a->dims[!s->transpose_a];
    p.n = b->dims[!s->transpose_b];
    if (b->dims[s->transpose_b] != p.k)
        return eddy__kfail(
            k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE, NO_PRODUCT,
            eddy__shape_print(a).text, transposed(s->transpose_a),
            eddy__shape_print(b).text, transposed(s->transpose_b));
    out = (eddy_shape){.rank = 2, .dims = {p.m, p.n}};
    EDDY_TRY(eddy__output(k, 0, dtype, &out, &p.out));
    if (p.m == 0 || p.n == 0)
        return EDDY_OK;
    if (p.k == 0)
        memset(p.out, 0, (size_t)(p.m * p.n) * eddy_dtype_size(dtype));
    else
        s->multiply(&p);
    return EDDY_OK;
}

static eddy_status prepare_matmul(eddy_infer *infer)
{
    const eddy_dtype dtype = eddy_infer_input_dtype(infer, A);
    state *s = eddy__prepare_state(infer, sizeof *s);

    if (!s)
        return EDDY_RESOURCE_EXHAUSTED;
    s->multiply = eddy__multiply_of(dtype);
    s->transpose_a = eddy__infer_bool(infer, "transpose_a");
    s->transpose_b = eddy__infer_bool(infer, "transpose_b");
    return EDDY_OK;
}

static eddy_status infer_matmul(eddy_infer *infer)
{
    const eddy_shape *given_a = eddy_infer_input(infer, A);
    const eddy_shape *given_b = eddy_infer_input(infer, B);
    const bool transpose_a = eddy__infer_bool(infer, "transpose_a");
    const bool transpose_b = eddy__infer_bool(infer, "transpose_b");
    const eddy_shape matrix = eddy__shape_of_rank(2);
    eddy_shape a, b, out;

    if (!eddy__shape_merge(given_a, &matrix, &a) ||
        !eddy__shape_merge(given_b, &matrix, &b))
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               NOT_MATRICES, eddy__shape_print(given_a).text,
                               eddy__shape_print(given_b).text);
    if (a.dims[!transpose_a] >= 0 && b.dims[transpose_b] >= 0 &&
        a.dims[!transpose_a] != b.dims[transpose_b])
        return eddy_infer_fail(
            infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE, NO_PRODUCT,
            eddy__shape_print(&a).text, transposed(transpose_a),
            eddy__shape_print(&b).text, transposed(transpose_b));
    out = (eddy_shape){.rank = 2,
                       .dims = {a.dims[transpose_a], b.dims[!transpose_b]}};
    eddy_infer_set_output(infer, 0, &out);
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    {sizeof(eddy_op_spec), "MatMul", "a: T, b: T", "product: T",
     "T: {float16, float32, float64, int32, int64, uint8, uint16, uint32, "
     "uint64, complex64}, transpose_a: bool = false, "
     "transpose_b: bool = false, grad_a: bool = false, grad_b: bool = false",
     infer_matmul, run_matmul, prepare_matmul, EDDY_OP_HEAVY,
     "The product of two matrices, each transposed first if it says so.",
     "TensorFlow MatMul"},
};

const eddy__op_table eddy__matmul_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};
