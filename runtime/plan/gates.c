/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pass of levels exact and full: a product that alone reads two matrices beside
 * each other, and one whose sum with a bias is only split, are one node with
 * what is around them (ops/linalg/gates.c), as recurrent cells have it:
 *
 *     Split(MatMul(ConcatV2(x, h), w) + b)
 *
 * All shapes must be known, so nothing of it can fail.  The node takes the last
 * one's name, waits for what all of them waited for, and counts as all of them.
 * Results have the same bits.
 */
#include "runtime/plan/rewrites.h"

#include "core/base/status.h"
#include "ops/products.h"
#include "runtime/plan/readers.h"

#include <string.h>

#define MOST_PARTS 8  /* EDDY__GATES of ops/linalg/gemm.h */
#define MOST_JOINED 6 /* nodes whose control inputs the new one has */

typedef struct gating {
    eddy__readers readers;
    const eddy_graph *graph;
    uint8_t *is_taken; /* by a match that reaches further */
} gating;

/* What is around a product, as far as it is there. */
typedef struct match {
    eddy_node product;
    eddy_output factors[2];
    size_t n_factors;
    eddy_output bias;
    bool has_bias;
    uint32_t n_parts;
    eddy_node joined[MOST_JOINED]; /* from the last on, with constants */
    size_t n_joined;
    uint32_t n_members; /* without the constants */
} match;

static bool has_op(const eddy__node *node, const char *op)
{
    return node->op && strcmp(node->op_name, op) == 0;
}

static const eddy__node *node_of(const gating *g, eddy_node v)
{
    return eddy__graph_node(g->graph, v);
}

static void take(match *m, eddy_node v, bool is_member)
{
    m->joined[m->n_joined++] = v;
    m->n_members += is_member;
}

/* Is it a Const of 1 or -1, the columns of a matrix? */
static bool is_columns(const gating *g, eddy_output from)
{
    const eddy_tensor *value =
        eddy__infer_constant_at(&g->readers.build->shapes, from);
    int64_t axis = 0;

    if (!value || eddy__readers_is_fed(&g->readers, from.node) ||
        !has_op(node_of(g, from.node), "Const") ||
        eddy_tensor_bytes(value) != eddy_dtype_size(value->dtype))
        return false;
    if (value->dtype == EDDY_INT32)
        axis = *(const int32_t *)value->data;
    else if (value->dtype == EDDY_INT64)
        axis = *(const int64_t *)value->data;
    return axis == 1 || axis == -1;
}

/* Does nobody but one edge read the node, and nobody feed it? */
static bool is_inner(const gating *g, eddy_node v)
{
    return g->readers.n[v] == 1 && !eddy__readers_is_fed(&g->readers, v);
}

/* A matrix, or a row, of float32 whose shape is known and has elements. */
static const eddy_shape *see(const gating *g, eddy_output from, int32_t rank)
{
    const eddy_shape *shape = eddy__readers_seen_shape(&g->readers, from);

    if (node_of(g, from.node)->output_dtypes[from.index] != EDDY_FLOAT32 ||
        shape->rank != rank || !eddy__shape_is_known(shape))
        return NULL;
    for (int32_t d = 0; d < rank; d++)
        if (shape->dims[d] < 1)
            return NULL;
    return shape;
}

static bool is_product(const eddy__node *node)
{
    return (has_op(node, "MatMul") || has_op(node, EDDY__PANEL_PRODUCT)) &&
           !eddy__node_bool(node, "transpose_a");
}

/* The product at `v`, and its first factor. */
static bool match_product(const gating *g, eddy_node v, match *m)
{
    const eddy__node *node = node_of(g, v);
    const eddy__node *concat = node_of(g, node->inputs[0].node);

    m->product = v;
    take(m, v, true);
    m->factors[0] = node->inputs[0];
    m->n_factors = 1;
    if (has_op(concat, "ConcatV2") && concat->n_inputs == 3 &&
        is_inner(g, node->inputs[0].node) && is_columns(g, concat->inputs[2]) &&
        see(g, concat->inputs[0], 2) && see(g, concat->inputs[1], 2)) {
        m->factors[0] = concat->inputs[0];
        m->factors[1] = concat->inputs[1];
        m->n_factors = 2;
        take(m, node->inputs[0].node, true);
        take(m, concat->inputs[2].node, false);
    }
    return see(g, node->inputs[0], 2) && see(g, node->inputs[1], 2) &&
           see(g, (eddy_output){v, 0}, 2);
}

/* A sum of a product for it alone and of a row as long as the product's. */
static bool match_sum(const gating *g, eddy_node v, match *m)
{
    const eddy__node *node = node_of(g, v);

    if (!has_op(node, "AddV2") && !has_op(node, "Add") &&
        !has_op(node, "BiasAdd"))
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        const eddy_output from = node->inputs[i], other = node->inputs[i == 0];
        const eddy_shape *product = see(g, from, 2), *row = see(g, other, 1);

        if (product && row && row->dims[0] == product->dims[1] &&
            is_product(node_of(g, from.node)) && is_inner(g, from.node)) {
            m->bias = other;
            m->has_bias = true;
            take(m, v, true);
            return match_product(g, from.node, m);
        }
    }
    return false;
}

static bool match_split(const gating *g, eddy_node v, match *m)
{
    const eddy__node *node = node_of(g, v);
    const eddy_node from = node->inputs[1].node;

    if (node->n_outputs < 2 || node->n_outputs > MOST_PARTS ||
        !is_columns(g, node->inputs[0]) || !is_inner(g, from))
        return false;
    m->n_parts = node->n_outputs;
    take(m, v, true);
    take(m, node->inputs[0].node, false);
    return is_product(node_of(g, from)) ? match_product(g, from, m)
                                        : match_sum(g, from, m);
}

/* Is the product one that is done so, and is there something to do? */
static bool is_worth_it(const gating *g, const match *m)
{
    const eddy__node *node = node_of(g, m->product);
    const eddy_shape *out = see(g, (eddy_output){m->product, 0}, 2);
    const eddy_shape *a = see(g, node->inputs[0], 2);

    return m->n_members > 1 && out->dims[1] % m->n_parts == 0 &&
           eddy__products_have_gates(out->dims[0], out->dims[1], a->dims[1],
                                     out->dims[1] / m->n_parts);
}

static bool find(const gating *g, eddy_node v, match *m)
{
    const eddy__node *node = node_of(g, v);

    *m = (match){.n_parts = 1};
    if (!eddy__selected(g->readers.build->selection, v) ||
        eddy__readers_is_fed(&g->readers, v) || g->is_taken[v])
        return false;
    if (has_op(node, "Split") && match_split(g, v, m) && is_worth_it(g, m))
        return true;
    *m = (match){.n_parts = 1};
    return is_product(node) && match_product(g, v, m) && is_worth_it(g, m);
}

/* Splits first, since they reach further than products. */
static uint32_t find_all(const gating *g)
{
    uint32_t n = 0;
    match m;

    for (int splits = 1; splits >= 0; splits--)
        for (eddy_node v = 0; v < g->graph->n_nodes; v++) {
            if (has_op(node_of(g, v), "Split") != splits || !find(g, v, &m))
                continue;
            n++;
            if (splits)
                g->is_taken[m.product] = 1;
        }
    return n;
}

/* ---- the node ---- */

/* The control inputs of all nodes that are joined, each once. */
static eddy_node *join_controls(const gating *g, const match *m,
                                eddy__arena *scratch, size_t *out_n)
{
    size_t most = 0, n = 0;
    eddy_node *out;

    for (size_t i = 0; i < m->n_joined; i++)
        most += node_of(g, m->joined[i])->n_controls;
    out = eddy__arena_allocate(scratch, most, sizeof *out);
    for (size_t i = 0; out && i < m->n_joined; i++) {
        const eddy__node *node = node_of(g, m->joined[i]);

        for (uint32_t c = 0; c < node->n_controls; c++) {
            size_t at = 0;

            while (at < n && out[at] != node->controls[c])
                at++;
            out[at] = node->controls[c];
            n += at == n;
        }
    }
    *out_n = n;
    return out;
}

static eddy_status make(const gating *g, const match *m, eddy_graph *copy,
                        eddy__arena *scratch)
{
    const eddy__node *product = node_of(g, m->product);
    const bool transpose_b = eddy__node_bool(product, "transpose_b");
    const bool panels = product->n_inputs == 3, bias = m->has_bias;
    const int64_t n = (int64_t)m->n_factors, parts = m->n_parts;
    const int64_t rest = panels + bias, members = m->n_members;
    const eddy_attr attrs[] = {eddy_attr_int("N", &n),
                               eddy_attr_int("M", &rest),
                               eddy_attr_int("P", &parts),
                               eddy_attr_int("members", &members),
                               eddy_attr_bool("panels", &panels),
                               eddy_attr_bool("bias", &bias),
                               eddy_attr_bool("transpose_b", &transpose_b)};
    eddy_output inputs[5];
    eddy_node_spec spec = {.size = sizeof spec,
                           .op = EDDY__GATED_PRODUCT,
                           .inputs = inputs,
                           .attrs = attrs,
                           .n_attrs = sizeof attrs / sizeof attrs[0]};

    for (size_t i = 0; i < m->n_factors; i++)
        inputs[spec.n_inputs++] = m->factors[i];
    inputs[spec.n_inputs++] = product->inputs[1];
    if (panels)
        inputs[spec.n_inputs++] = product->inputs[2];
    if (bias)
        inputs[spec.n_inputs++] = m->bias;
    spec.controls = join_controls(g, m, scratch, &spec.n_controls);
    return spec.controls ? eddy__readers_replace_node(copy, m->joined[0], &spec,
                                                      g->readers.build->err)
                         : eddy__fail_memory(g->readers.build->err);
}

static eddy_status make_all(const gating *g, eddy_graph *copy,
                            eddy__arena *scratch)
{
    match m;

    for (eddy_node v = 0; v < g->graph->n_nodes; v++)
        if (find(g, v, &m))
            EDDY_TRY(make(g, &m, copy, scratch));
    return EDDY_OK;
}

eddy_status eddy__join_gates(const eddy__plan_build *build,
                             eddy__arena *scratch, eddy_graph **out_graph)
{
    gating g = {.graph = build->selection->graph};
    eddy_status status;

    *out_graph = NULL;
    EDDY_TRY(eddy__count_readers(build, scratch, &g.readers));
    g.is_taken = eddy__arena_allocate_zeroed(scratch, g.graph->n_nodes, 1);
    if (!g.is_taken)
        return eddy__fail_memory(build->err);
    if (find_all(&g) == 0)
        return EDDY_OK;
    EDDY_TRY(eddy__graph_clone(g.graph, build->budget, out_graph, build->err));
    status = make_all(&g, *out_graph, scratch);
    if (status != EDDY_OK) {
        eddy_graph_destroy(*out_graph);
        *out_graph = NULL;
    }
    return status;
}
