/* SPDX-License-Identifier: Apache-2.0 */
/* MatMul, with panels that are made ahead, and added to a sum. */
#include "ops/linalg/panels.h"
#include "ops/linalg/product.h"
#include "ops/linalg/tiles.h"
#include "ops/math/elements.h"
#include "ops/ops.h"
#include "ops/products.h"

/* Inputs. */
enum { A, B, SUM, PANELS = SUM };

typedef struct state {
    eddy__multiply_fn multiply;
    bool transpose_a, transpose_b;
    bool is_exact;       /* a sum is rounded as a product and an addition */
    const float *panels; /* of a constant second factor, or NULL */
} state;

#define NOT_MATRICES "the factors have shapes %s and %s; matrices are wanted"
#define NO_PRODUCT                                                             \
    "a factor of shape %s%s can't be multiplied with one of shape %s%s"

static const char *transposed(bool is_transposed)
{
    return is_transposed ? " transposed" : "";
}

/* Fills in the factors and checks that they fit. */
static eddy_status read_factors(eddy_kernel *k, eddy__product *out_product)
{
    const state *s = eddy__state(k);
    const eddy_shape *a = eddy__in_shape(k, A), *b = eddy__in_shape(k, B);
    eddy__product p = {.kernel = k,
                       .panels = s->panels,
                       .transpose_a = s->transpose_a,
                       .transpose_b = s->transpose_b,
                       .a = eddy__in_elements(k, A),
                       .b = eddy__in_elements(k, B)};

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
    *out_product = p;
    return EDDY_OK;
}

static eddy_status multiply(eddy_kernel *k, eddy__product p)
{
    const state *s = eddy__state(k);
    const eddy_dtype dtype = eddy__in_dtype(k, A);
    eddy_shape out;

    out = (eddy_shape){.rank = 2, .dims = {p.m, p.n}};
    EDDY_TRY(eddy__output(k, 0, dtype, &out, &p.out));
    if (p.m == 0 || p.n == 0)
        return EDDY_OK;
    if (p.k == 0)
        eddy__zero_bytes(k, p.out,
                         (size_t)(p.m * p.n) * eddy_dtype_size(dtype));
    else
        s->multiply(&p);
    return EDDY_OK;
}

static eddy_status run_matmul(eddy_kernel *k)
{
    eddy__product p = {.kernel = k};

    EDDY_TRY(read_factors(k, &p));
    return multiply(k, p);
}

/* The third input has no elements where there was no memory for panels. */
static eddy_status run_with_panels(eddy_kernel *k)
{
    const eddy_view panels = eddy__in_view(k, PANELS);
    eddy__product p = {.kernel = k};

    EDDY_TRY(read_factors(k, &p));
    if (p.n > 0 && p.k > 0 && panels.count == eddy__tiles_room(p.n, p.k))
        p.panels = panels.data;
    return multiply(k, p);
}

/* The product added to the sum in place. */
static eddy_status add_in_place(eddy_kernel *k, eddy__product *p,
                                const eddy_shape *shape)
{
    const state *s = eddy__state(k);
    const unsigned char *sum = eddy__in_elements(k, SUM);
    const eddy_dtype dtype = eddy__in_dtype(k, SUM);

    EDDY_TRY(eddy__output_reusing(k, 0, SUM, dtype, shape, &p->out));
    if (p->out != sum && p->m > 0 && p->n > 0)
        eddy__copy_bytes(k, p->out, sum,
                         (size_t)(p->m * p->n) * eddy_dtype_size(dtype));
    p->adds = true;
    p->adds_after = s->is_exact;
    if (p->m > 0 && p->n > 0 && p->k > 0)
        s->multiply(p);
    return EDDY_OK;
}

/* A matrix whose rows or columns are repeated if there is one of them. */
typedef struct repeated {
    const void *elements;
    int64_t row, column; /* how far apart elements are */
} repeated;

static repeated repeat(const void *elements, const eddy_shape *shape)
{
    return (repeated){.elements = elements,
                      .row = shape->dims[0] == 1 ? 0 : shape->dims[1],
                      .column = shape->dims[1] == 1 ? 0 : 1};
}

#define ADD_REPEATED(name, type)                                               \
    static void add_##name(type *out, const eddy_shape *shape,                 \
                           const repeated *x, const repeated *y)               \
    {                                                                          \
        const type *a = x->elements, *b = y->elements;                         \
                                                                               \
        for (int64_t i = 0; i < shape->dims[0]; i++)                           \
            for (int64_t j = 0; j < shape->dims[1]; j++)                       \
                *out++ = a[i * x->row + j * x->column] +                       \
                         b[i * y->row + j * y->column];                        \
    }

ADD_REPEATED(F32, float)
ADD_REPEATED(F64, double)

/* The product first, then the sum, each repeated as the other wants it. */
static eddy_status add_repeated(eddy_kernel *k, eddy__product *p,
                                const eddy_shape *shape, const eddy_shape *all)
{
    const state *s = eddy__state(k);
    const eddy_dtype dtype = eddy__in_dtype(k, SUM);
    const repeated sum =
        repeat(eddy__in_elements(k, SUM), eddy__in_shape(k, SUM));
    eddy_tensor *product;
    eddy_status status;
    repeated factor;
    void *out;

    EDDY_TRY(eddy__new_tensor(k, dtype, shape, &product));
    p->out = product->data;
    if (p->m > 0 && p->n > 0 && p->k > 0)
        s->multiply(p);
    else
        eddy__zero_bytes(k, p->out,
                         (size_t)(p->m * p->n) * eddy_dtype_size(dtype));
    factor = repeat(p->out, shape);
    status = eddy__output(k, 0, dtype, all, &out);
    if (status == EDDY_OK && dtype == EDDY_FLOAT32)
        add_F32(out, all, &sum, &factor);
    else if (status == EDDY_OK)
        add_F64(out, all, &sum, &factor);
    eddy_tensor_release(product);
    return status;
}

static eddy_status run_sum(eddy_kernel *k)
{
    const state *s = eddy__state(k);
    const eddy_shape *sum = eddy__in_shape(k, SUM);
    eddy_shape product, all;
    eddy__product p = {.kernel = k};

    EDDY_TRY(read_factors(k, &p));
    product = (eddy_shape){.rank = 2, .dims = {p.m, p.n}};
    if (eddy__shape_equal(&product, sum) &&
        (!s->is_exact || eddy__products_add_after(p.m, p.n, p.k)))
        return add_in_place(k, &p, &product);
    if (sum->rank != 2 || !eddy__shape_broadcast(sum, &product, &all))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "the sum has shape %s and the product %s",
                           eddy__shape_print(sum).text,
                           eddy__shape_print(&product).text);
    return add_repeated(k, &p, &product, &all);
}

static eddy_status prepare_matmul(eddy_infer *infer)
{
    const eddy_dtype dtype = eddy_infer_input_dtype(infer, A);
    state *s = eddy__prepare_state(infer, sizeof *s);

    if (!s)
        return EDDY_RESOURCE_EXHAUSTED;
    s->multiply = eddy__product_of(dtype);
    s->transpose_a = eddy__infer_bool(infer, "transpose_a");
    s->transpose_b = eddy__infer_bool(infer, "transpose_b");
    if (infer->node->n_inputs == SUM + 1) {
        const eddy_attr *exact = eddy__node_attr(infer->node, "exact");

        s->is_exact = exact && exact->as.bools[0];
        return EDDY_OK;
    }
    return eddy__panels_prepare(infer, B, s->transpose_a, s->transpose_b,
                                &s->panels);
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

static eddy_status infer_sum(eddy_infer *infer)
{
    const eddy_shape *sum = eddy_infer_input(infer, SUM);
    const eddy_shape *product = &infer->outputs[0];
    eddy_shape all;

    EDDY_TRY(infer_matmul(infer));
    if (!eddy__shape_broadcast(sum, product, &all))
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "the sum has shape %s and the product %s",
                               eddy__shape_print(sum).text,
                               eddy__shape_print(product).text);
    eddy_infer_set_output(infer, 0, &all);
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("MatMul", .inputs = "a: T, b: T", .outputs = "product: T",
                 .attrs =
                     "T: {float, int32, int64, uint8, uint16, uint32, uint64, "
                     "complex}, transpose_a: bool = false, transpose_b: bool = "
                     "false, grad_a: bool = false, grad_b: bool = false",
                 .infer = infer_matmul, .kernel = run_matmul,
                 .prepare = prepare_matmul, .flags = EDDY_OP_HEAVY,
                 .doc = "The product of two matrices, each transposed first if "
                        "it says so."),
    EDDY__OP_ROW_OF(EDDY__PANELS, "eddy", .inputs = "b: float32",
                    .outputs = "panels: float32",
                    .attrs = "transpose_b: bool = false",
                    .infer = eddy__panels_infer, .kernel = eddy__panels_run,
                    .prepare = eddy__panels_prepare_op,
                    .doc = "A matrix in the order in which products of few "
                           "rows read it, or nothing. Plans make it."),
    EDDY__OP_ROW_OF(EDDY__PANEL_PRODUCT, "eddy",
                    .inputs = "a: float32, b: float32, panels: float32",
                    .outputs = "product: float32",
                    .attrs = "transpose_a: bool = false, transpose_b: bool = "
                             "false",
                    .infer = infer_matmul, .kernel = run_with_panels,
                    .prepare = prepare_matmul, .flags = EDDY_OP_HEAVY,
                    .doc = "The product of two matrices, of which the second "
                           "comes as panels too. Plans make it of MatMul."),
    EDDY__OP_ROW_OF(EDDY__FUSED_SUM, "eddy", .inputs = "a: T, b: T, sum: T",
                    .outputs = "result: T",
                    .attrs = "T: {float32, float64}, transpose_a: bool = "
                             "false, transpose_b: bool = false, exact: bool = "
                             "false",
                    .infer = infer_sum, .kernel = run_sum,
                    .prepare = prepare_matmul, .flags = EDDY_OP_HEAVY,
                    .doc = "The product of two matrices, added to a third in "
                           "place. Plans make it; rounded once less than a "
                           "product and an addition, unless it is exact."),
};

const eddy__op_table eddy__matmul_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};
