/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The products of all steps of a loop at once, ahead of it: _ProductsAhead, and
 * _ProductRow, which is one of them where the loop had a product
 * (runtime/plan/ahead.c).  Tiles do both, so the bits are those of the product.
 */
#include "core/context.h"
#include "core/value/heap.h"
#include "core/value/tensor.h"
#include "ops/array/items.h"
#include "ops/linalg/panels.h"
#include "ops/linalg/product.h"
#include "ops/linalg/tiles.h"
#include "ops/ops.h"
#include "ops/products.h"

/* Inputs; panels of B, if there are some, come last. */
enum { A, B, AHEAD, INDEX };

/* Rows whose elements the second cache holds while tiles read them. */
#define ROWS_AT_ONCE 256

typedef struct state {
    bool transpose_b;
    uint32_t panels_id;  /* 0: it has none */
    const float *panels; /* of a constant b, or NULL */
} state;

static const float *panels_of(eddy_kernel *k, const eddy__product *p)
{
    const state *s = eddy__state(k);
    eddy_view panels;

    if (s->panels_id == 0)
        return s->panels;
    panels = eddy__in_view(k, s->panels_id);
    return panels.count == eddy__tiles_room(p->n, p->k) ? panels.data : NULL;
}

/* ---- _ProductsAhead ---- */

/*
 * The product of one step, and how many there are.  False where a step would
 * not be done by tiles, or would fail: it is left to the loop.
 */
static bool read_steps(eddy_kernel *k, eddy__product *one, int64_t *n)
{
    const state *s = eddy__state(k);
    const eddy_shape *a = eddy__in_shape(k, A), *b = eddy__in_shape(k, B);

    if (a->rank != 3 || b->rank != 2)
        return false;
    *n = a->dims[0];
    *one = (eddy__product){.kernel = k,
                           .m = a->dims[1],
                           .k = a->dims[2],
                           .n = b->dims[!s->transpose_b],
                           .transpose_b = s->transpose_b,
                           .a = eddy__in_elements(k, A),
                           .b = eddy__in_elements(k, B)};
    return *n > 0 && b->dims[s->transpose_b] == one->k &&
           eddy__products_may_go_ahead(*n, one->m, one->n, one->k);
}

/* All of them, or a tensor of none where there is no memory for them. */
static eddy_status make_products(eddy_kernel *k, const eddy_shape *shape,
                                 float **out)
{
    const eddy_shape none = {.rank = 3};
    eddy_tensor *tensor = eddy__tensor_create(k->heap, k->account, k->allocator,
                                              EDDY_FLOAT32, shape);
    eddy__value made;
    void *nothing;

    *out = NULL;
    if (!tensor)
        return eddy__output(k, 0, EDDY_FLOAT32, &none, &nothing);
    *out = tensor->data;
    made = eddy__value_take_tensor(k->heap, tensor);
    eddy__out_value(k, 0, &made);
    return EDDY_OK;
}

static eddy_status run_ahead(eddy_kernel *k)
{
    eddy__product p;
    eddy_shape shape = {.rank = 3};
    int64_t n, rows;
    float *out;

    if (!read_steps(k, &p, &n))
        return make_products(k, &shape, &out);
    shape = (eddy_shape){.rank = 3, .dims = {n, p.m, p.n}};
    EDDY_TRY(make_products(k, &shape, &out));
    p.panels = panels_of(k, &p);
    rows = n * p.m;
    for (int64_t row = 0; out && row < rows; row += p.m) {
        p.m = rows - row < ROWS_AT_ONCE ? rows - row : ROWS_AT_ONCE;
        p.out = out + row * p.n;
        if (eddy__spent(k, p.m))
            return EDDY_OK;
        eddy__tiles_multiply(&p);
        p.a = (const float *)p.a + p.m * p.k;
    }
    return EDDY_OK;
}

static eddy_status infer_ahead(eddy_infer *infer)
{
    const eddy_shape unknown = eddy__shape_of_rank(3);

    eddy_infer_set_output(infer, 0, &unknown);
    return EDDY_OK;
}

/* ---- _ProductRow ---- */

static int64_t index_of(const eddy_kernel *k)
{
    const eddy_view index = eddy__in_view(k, INDEX);

    if (index.count != 1)
        return -1;
    return index.dtype == EDDY_INT32 ? *(const int32_t *)index.data
                                     : *(const int64_t *)index.data;
}

/* The loop's own product, where it was not made ahead. */
static eddy_status multiply_now(eddy_kernel *k, eddy__product *p)
{
    const eddy_shape out = {.rank = 2, .dims = {p->m, p->n}};

    EDDY_TRY(eddy__output(k, 0, EDDY_FLOAT32, &out, &p->out));
    p->panels = panels_of(k, p);
    eddy__tiles_multiply(p);
    return EDDY_OK;
}

static eddy_status run_row(eddy_kernel *k)
{
    const state *s = eddy__state(k);
    const eddy_shape *a = eddy__in_shape(k, A), *b = eddy__in_shape(k, B);
    eddy__value *ahead = eddy__in(k, AHEAD);
    const eddy_shape *all = eddy__in_shape(k, AHEAD);
    const int64_t i = index_of(k);
    eddy__product p = {.kernel = k, .transpose_b = s->transpose_b};
    eddy_shape one;
    eddy__value row;

    /* The plan knows the shapes, so they fit. */
    if (a->rank != 2 || b->rank != 2 || b->dims[s->transpose_b] != a->dims[1] ||
        !eddy__products_may_go_ahead(1, a->dims[0], b->dims[!s->transpose_b],
                                     a->dims[1]))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "factors of shapes %s and %s do not fit",
                           eddy__shape_print(a).text,
                           eddy__shape_print(b).text);
    p.m = a->dims[0];
    p.k = a->dims[1];
    p.n = b->dims[!s->transpose_b];
    p.a = eddy__in_elements(k, A);
    p.b = eddy__in_elements(k, B);
    if (i < 0 || i >= all->dims[0] || all->dims[1] != p.m ||
        all->dims[2] != p.n || !eddy__value_is_tensor(ahead))
        return multiply_now(k, &p);
    one = (eddy_shape){.rank = 2, .dims = {p.m, p.n}};
    EDDY_TRY(eddy__slice_item(k, ahead->as.tensor, i * p.m * p.n, &one, &row));
    eddy__out_value(k, 0, &row);
    return EDDY_OK;
}

static eddy_status infer_row(eddy_infer *infer)
{
    const bool transpose_b = eddy__infer_bool(infer, "transpose_b");
    const eddy_shape matrix = eddy__shape_of_rank(2);
    eddy_shape a, b, out;

    if (!eddy__shape_merge(eddy_infer_input(infer, A), &matrix, &a) ||
        !eddy__shape_merge(eddy_infer_input(infer, B), &matrix, &b))
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "matrices are wanted");
    out = (eddy_shape){.rank = 2, .dims = {a.dims[0], b.dims[!transpose_b]}};
    eddy_infer_set_output(infer, 0, &out);
    return EDDY_OK;
}

/* ---- both ---- */

static eddy_status prepare(eddy_infer *infer)
{
    const uint32_t least =
        infer->node->n_inputs > AHEAD + 1 ? INDEX + 1 : AHEAD;
    state *s = eddy__prepare_state(infer, sizeof *s);

    if (!s)
        return EDDY_RESOURCE_EXHAUSTED;
    s->transpose_b = eddy__infer_bool(infer, "transpose_b");
    s->panels_id = infer->node->n_inputs > least ? least : 0;
    return s->panels_id || least > AHEAD
               ? EDDY_OK
               : eddy__panels_prepare(infer, B, false, s->transpose_b,
                                      &s->panels);
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW_OF(
        EDDY__PRODUCTS_AHEAD, "eddy",
        .inputs = "a: float32, b: float32, panels: N * float32",
        .outputs = "products: float32",
        .attrs = "N: int >= 0, transpose_b: bool = false", .infer = infer_ahead,
        .kernel = run_ahead, .prepare = prepare, .flags = EDDY_OP_HEAVY,
        .doc = "The products of the matrices in a tensor and b, of all steps "
               "of a loop, or nothing. Plans make it."),
    EDDY__OP_ROW_OF(
        EDDY__PRODUCT_ROW, "eddy",
        .inputs = "a: float32, b: float32, products: float32, index: Tindex, "
                  "panels: N * float32",
        .outputs = "product: float32",
        .attrs = "Tindex: {int32, int64}, N: int >= 0, transpose_b: bool = "
                 "false",
        .infer = infer_row, .kernel = run_row, .prepare = prepare,
        .flags = EDDY_OP_CHEAP,
        .doc = "The product of a and b, which is the one of that number of "
               "those that were made ahead. Plans make it of MatMul."),
};

const eddy__op_table eddy__ahead_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};
