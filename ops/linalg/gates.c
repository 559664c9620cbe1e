/* SPDX-License-Identifier: Apache-2.0 */
/*
 * _MatMulGates: the product of a recurrent cell with what is around it, which
 * the plan makes of ConcatV2, MatMul, a sum with a bias, and Split
 * (runtime/plan/gates.c).  Tiles read both matrices of the first factor where
 * they stand, as two stretches of one sum, add the bias to finished sums, and
 * write each gate to its own matrix: so the bits are those of the four ops.
 */
#include "ops/linalg/panels.h"
#include "ops/linalg/tiles.h"
#include "ops/math/elements.h"
#include "ops/ops.h"
#include "ops/products.h"

/* Inputs: one factor or two, b, and perhaps panels and a bias. */
typedef struct state {
    uint32_t n_factors;
    bool transpose_b, has_panels, has_bias;
    const float *panels; /* of a constant b, or NULL */
} state;

static uint32_t bias_id(const state *s)
{
    return s->n_factors + 1 + s->has_panels;
}

static eddy_status fail_shapes(eddy_kernel *k)
{
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "factors of shapes %s and %s do not fit",
                       eddy__shape_print(eddy__in_shape(k, 0)).text,
                       eddy__shape_print(eddy__in_shape(k, 1)).text);
}

/* What is multiplied; the plan knows the shapes, so they fit. */
static eddy_status read_product(eddy_kernel *k, eddy__product *p,
                                eddy__gates *g)
{
    const state *s = eddy__state(k);
    const eddy_shape *a = eddy__in_shape(k, 0);
    const eddy_shape *b = eddy__in_shape(k, s->n_factors);
    const int64_t parts = k->node->n_out;

    if (a->rank != 2 || b->rank != 2 || a->dims[0] < 1)
        return fail_shapes(k);
    p->m = a->dims[0];
    p->k = g->k_first = a->dims[1];
    p->n = b->dims[!s->transpose_b];
    p->a = eddy__in_elements(k, 0);
    p->b = eddy__in_elements(k, s->n_factors);
    if (s->n_factors == 2) {
        const eddy_shape *second = eddy__in_shape(k, 1);

        if (second->rank != 2 || second->dims[0] != p->m)
            return fail_shapes(k);
        p->k += second->dims[1];
        g->second = (const float *)eddy__in_elements(k, 1);
    }
    if (p->k < 1 || p->n < parts || p->n % parts != 0 ||
        b->dims[s->transpose_b] != p->k ||
        (s->has_bias && eddy__in_view(k, bias_id(s)).count != p->n))
        return fail_shapes(k);
    g->width = p->n / parts;
    if (s->has_bias)
        g->bias = (const float *)eddy__in_elements(k, bias_id(s));
    return EDDY_OK;
}

static const float *panels_of(eddy_kernel *k, const eddy__product *p)
{
    const state *s = eddy__state(k);
    eddy_view panels;

    if (!s->has_panels)
        return s->panels;
    panels = eddy__in_view(k, s->n_factors + 1);
    return panels.count == eddy__tiles_room(p->n, p->k) ? panels.data : NULL;
}

static eddy_status run_gates(eddy_kernel *k)
{
    const state *s = eddy__state(k);
    eddy__product p = {.kernel = k, .transpose_b = s->transpose_b};
    eddy__gates g = {.second = NULL};
    eddy_shape shape;

    EDDY_TRY(read_product(k, &p, &g));
    if (!eddy__products_have_gates(p.m, p.n, p.k, g.width))
        return fail_shapes(k);
    shape = (eddy_shape){.rank = 2, .dims = {p.m, g.width}};
    for (uint32_t i = 0; i < k->node->n_out; i++) {
        void *out;

        EDDY_TRY(eddy__output(k, i, EDDY_FLOAT32, &shape, &out));
        g.parts[i] = out;
    }
    p.panels = panels_of(k, &p);
    p.gates = &g;
    eddy__tiles_multiply(&p);
    return EDDY_OK;
}

static eddy_status prepare_gates(eddy_infer *infer)
{
    const eddy_attr *n = eddy__node_attr(infer->node, "N");
    state *s = eddy__prepare_state(infer, sizeof *s);

    if (!s)
        return EDDY_RESOURCE_EXHAUSTED;
    s->n_factors = (uint32_t)n->as.ints[0];
    s->transpose_b = eddy__infer_bool(infer, "transpose_b");
    s->has_panels = eddy__infer_bool(infer, "panels");
    s->has_bias = eddy__infer_bool(infer, "bias");
    if (infer->node->n_outputs > EDDY__GATES || s->n_factors > 2 ||
        infer->node->n_inputs != bias_id(s) + s->has_bias)
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                               "only plans make such a node");
    if (s->has_panels)
        return EDDY_OK;
    return eddy__panels_prepare(infer, s->n_factors, false, s->transpose_b,
                                &s->panels);
}

static eddy_status infer_gates(eddy_infer *infer)
{
    const eddy_attr *n = eddy__node_attr(infer->node, "N");
    const bool transpose_b = eddy__infer_bool(infer, "transpose_b");
    const int64_t parts = eddy_infer_outputs(infer);
    const eddy_shape matrix = eddy__shape_of_rank(2);
    eddy_shape a, b, out;

    if (!eddy__shape_merge(eddy_infer_input(infer, 0), &matrix, &a) ||
        !eddy__shape_merge(eddy_infer_input(infer, (uint32_t)n->as.ints[0]),
                           &matrix, &b))
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "matrices are wanted");
    out = (eddy_shape){.rank = 2, .dims = {a.dims[0], b.dims[!transpose_b]}};
    if (out.dims[1] >= 0)
        out.dims[1] /= parts;
    for (uint32_t i = 0; i < parts; i++)
        eddy_infer_set_output(infer, i, &out);
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW_OF(
        EDDY__GATED_PRODUCT, "eddy",
        .inputs = "factors: N * float32, b: float32, rest: M * float32",
        .outputs = "parts: P * float32",
        .attrs = "N: int >= 1, M: int >= 0, P: int >= 1, members: int >= 1, "
                 "transpose_b: bool = false, panels: bool = false, bias: bool "
                 "= false",
        .infer = infer_gates, .kernel = run_gates, .prepare = prepare_gates,
        .flags = EDDY_OP_HEAVY,
        .doc = "The product of one matrix, or of two beside each other, and b, "
               "plus a bias, in equal parts of its columns; the rest are b's "
               "panels and the bias. Plans make it."),
};

const eddy__op_table eddy__gates_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};
