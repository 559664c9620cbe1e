/* MatMul: float32 and float64 by BLAS, the other dtypes by plain loops. */
#include "ops/elements.h"
#include "ops/elementwise.h"
#include "ops/gemm.h"
#include "ops/ops.h"

#include <string.h>

/* Inputs. */
enum { A, B };

#define TILE 64 /* columns of the output that are summed at a time */

/* ---- plain loops ---- */

/* How far it is between elements of the operands. */
typedef struct strides {
    int64_t row_a, column_a, row_b, column_b;
} strides;

static strides strides_of(const eddy__product *p)
{
    return (strides){
        .row_a = p->transpose_a ? 1 : p->k,
        .column_a = p->transpose_a ? p->m : 1,
        .row_b = p->transpose_b ? 1 : p->n,
        .column_b = p->transpose_b ? p->k : 1,
    };
}

/* Sums along k in order, whatever the shapes. */
#define MULTIPLY(D, sum_type, MUL)                                             \
    static void add_row_##D(sum_type *sum, sum_type x,                         \
                            const eddy__stored_##D *y, int64_t step,           \
                            int64_t n)                                         \
    {                                                                          \
        if (step == 1)                                                         \
            EDDY__FOR_EACH(i, n,                                               \
                           sum[i] += MUL(x, (sum_type)eddy__load_##D(y[i])));  \
        else                                                                   \
            for (int64_t i = 0; i < n; i++)                                    \
                sum[i] += MUL(x, (sum_type)eddy__load_##D(y[i * step]));       \
    }                                                                          \
    static void multiply_##D(const eddy__product *p)                           \
    {                                                                          \
        const strides s = strides_of(p);                                       \
        const eddy__stored_##D *a = p->a, *b = p->b;                           \
        eddy__stored_##D *out = p->out;                                        \
        sum_type sum[TILE];                                                    \
                                                                               \
        for (int64_t at = 0; at < p->m * p->n;) {                              \
            const int64_t row = at / p->n, first = at % p->n;                  \
            const int64_t left = p->n - first;                                 \
            const int64_t width = left < TILE ? left : TILE;                   \
                                                                               \
            for (int64_t j = 0; j < width; j++)                                \
                sum[j] = 0;                                                    \
            for (int64_t i = 0; i < p->k; i++)                                 \
                add_row_##D(sum,                                               \
                            (sum_type)eddy__load_##D(                          \
                                a[row * s.row_a + i * s.column_a]),            \
                            b + i * s.row_b + first * s.column_b, s.column_b,  \
                            width);                                            \
            for (int64_t j = 0; j < width; j++)                                \
                out[at + j] = EDDY__STORE_##D(sum[j]);                         \
            at += width;                                                       \
        }                                                                      \
    }

#define TIMES(x, y) ((x) * (y))

MULTIPLY(F16, float, TIMES)
MULTIPLY(F32, float, TIMES)
MULTIPLY(F64, double, TIMES)
MULTIPLY(I32, uint32_t, TIMES)
MULTIPLY(I64, uint64_t, TIMES)
MULTIPLY(U8, uint32_t, TIMES)
MULTIPLY(U16, uint32_t, TIMES)
MULTIPLY(U32, uint32_t, TIMES)
MULTIPLY(U64, uint64_t, TIMES)
MULTIPLY(C64, eddy__complex64, eddy__complex_mul)

static void blas_F32(const eddy__product *p)
{
    if (!eddy__gemm_float32(p))
        multiply_F32(p);
}

static void blas_F64(const eddy__product *p)
{
    if (!eddy__gemm_float64(p))
        multiply_F64(p);
}

typedef void (*multiply_loop)(const eddy__product *product);

static const multiply_loop loops[EDDY_DTYPE_COUNT] = {
    [EDDY_FLOAT16] = multiply_F16, [EDDY_FLOAT32] = blas_F32,
    [EDDY_FLOAT64] = blas_F64,     [EDDY_INT32] = multiply_I32,
    [EDDY_INT64] = multiply_I64,   [EDDY_UINT8] = multiply_U8,
    [EDDY_UINT16] = multiply_U16,  [EDDY_UINT32] = multiply_U32,
    [EDDY_UINT64] = multiply_U64,  [EDDY_COMPLEX64] = multiply_C64,
};

/* ---- the kernel ---- */

typedef struct state {
    multiply_loop multiply;
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
    s->multiply = loops[dtype];
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
     infer_matmul, run_matmul, prepare_matmul, EDDY_OP_HEAVY},
};

const eddy__op_table eddy__matmul_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};
