/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pass of levels exact and full: a product in a loop whose second factor comes
 * in by a constant Enter reads that in panels, which a node _Panels makes.  It
 * is put beside the product, and the pass that moves invariants takes it out of
 * the loop: so panels are made once a frame, and belong to it as all that it is
 * entered with does.  Results have the same bits with panels and without.
 *
 * Frames and shapes must be known.  A constant's panels are the plan's own
 * (ops/linalg/panels.h).
 */
#include "runtime/plan/rewrites.h"

#include "core/base/status.h"
#include "core/graph/names.h"
#include "ops/products.h"
#include "runtime/plan/readers.h"

#include <string.h>

/* Nodes that a product may take: itself, panels, and Enters on their way. */
#define MOST_ADDED 10

typedef struct packing {
    eddy__readers readers;
    const eddy_graph *graph;
    const eddy_analysis *analysis;
    /* An Enter's panels that were added, transposed or not; EDDY_NO_NODE. */
    eddy_node *made[2];
} packing;

static bool is_op(const eddy__node *node, const char *op)
{
    return node->op && strcmp(node->op_name, op) == 0;
}

/* A product of two float32 inputs; which of them it transposes. */
static bool is_product(const eddy__node *node, bool transposes[2])
{
    const bool is_matmul = is_op(node, "MatMul");

    if ((!is_matmul && !is_op(node, "BatchMatMulV2")) ||
        node->input_dtypes[0] != EDDY_FLOAT32 ||
        node->output_dtypes[0] != EDDY_FLOAT32)
        return false;
    transposes[0] = eddy__node_bool(node, is_matmul ? "transpose_a" : "adj_x");
    transposes[1] = eddy__node_bool(node, is_matmul ? "transpose_b" : "adj_y");
    return true;
}

/* Does it come into the loop of node `v`, the same for all iterations? */
static bool is_invariant(const packing *p, eddy_node v, eddy_output from)
{
    const eddy__node *node = eddy__graph_node(p->graph, from.node);

    return eddy__node_role(node) == EDDY__ROLE_ENTER &&
           !node->op->has_references && node->n_controls == 0 &&
           !eddy__readers_is_fed(&p->readers, from.node) &&
           eddy__node_bool(node, "is_constant") &&
           p->analysis->output_frame[from.node] == p->analysis->node_frame[v] &&
           !eddy__infer_constant_at(&p->readers.build->shapes, from);
}

static bool wants_panels(const packing *p, eddy_node v, bool transposes[2])
{
    const eddy__node *node = eddy__graph_node(p->graph, v);
    const eddy_shape *a, *b;

    if (!eddy__selected(p->readers.build->selection, v) ||
        p->analysis->node_frame[v] == 0 ||
        eddy__readers_is_fed(&p->readers, v) || !is_product(node, transposes) ||
        !is_invariant(p, v, node->inputs[1]))
        return false;
    a = eddy__readers_seen_shape(&p->readers, node->inputs[0]);
    b = eddy__readers_seen_shape(&p->readers, node->inputs[1]);
    return a->rank == 2 && b->rank == 2 && eddy__shape_is_known(b) &&
           eddy__products_want_panels(a->dims[transposes[0]],
                                      b->dims[!transposes[1]],
                                      b->dims[transposes[1]]);
}

static eddy_status add_panels(const packing *p, eddy_graph *copy, eddy_node v,
                              bool transpose, eddy_node *out)
{
    eddy_error *err = p->readers.build->err;
    const eddy__node *node = eddy__graph_node(copy, v);
    const eddy__names names = eddy__names_of_nodes(copy);
    const char *base =
        eddy__names_print(&copy->arena, "%s/%s", node->name, "panels");
    const eddy_attr attrs[] = {eddy_attr_bool("transpose_b", &transpose)};
    const eddy_node_spec spec = {
        .size = sizeof spec,
        .op = EDDY__PANELS,
        .name = eddy__names_free(&names, &copy->arena, base, NULL),
        .inputs = &node->inputs[1],
        .n_inputs = 1,
        .attrs = attrs,
        .n_attrs = 1,
    };
    const eddy__add_options options = {.strict = false};

    return spec.name ? eddy__graph_add(copy, &spec, &options, out, err)
                     : eddy__fail_memory(err);
}

static eddy_status take_panels(const packing *p, eddy_graph *copy, eddy_node v,
                               const bool transposes[2])
{
    const eddy_node from = eddy__graph_node(copy, v)->inputs[1].node;
    eddy_node *made = &p->made[transposes[1]][from];
    eddy_output inputs[3] = {0};
    const eddy_attr attrs[] = {eddy_attr_bool("transpose_a", &transposes[0]),
                               eddy_attr_bool("transpose_b", &transposes[1])};
    eddy_node_spec spec = {
        .size = sizeof spec,
        .op = EDDY__PANEL_PRODUCT,
        .inputs = inputs,
        .n_inputs = 3,
        .attrs = attrs,
        .n_attrs = 2,
    };
    const eddy__node *node;

    if (*made == EDDY_NO_NODE)
        EDDY_TRY(add_panels(p, copy, v, transposes[1], made));
    node = eddy__graph_node(copy, v);
    inputs[2].node = *made;
    inputs[0] = node->inputs[0];
    inputs[1] = node->inputs[1];
    spec.controls = node->controls;
    spec.n_controls = node->n_controls;
    return eddy__readers_replace_node(copy, v, &spec, p->readers.build->err);
}

static eddy_status take_all(const packing *p, eddy_graph *copy)
{
    bool transposes[2];

    for (eddy_node v = 0; v < p->graph->n_nodes; v++)
        if (wants_panels(p, v, transposes))
            EDDY_TRY(take_panels(p, copy, v, transposes));
    return EDDY_OK;
}

static bool begin_made(packing *p, eddy__arena *scratch)
{
    for (size_t t = 0; t < 2; t++) {
        p->made[t] = eddy__arena_allocate(scratch, p->graph->n_nodes,
                                          sizeof *p->made[t]);
        for (size_t v = 0; p->made[t] && v < p->graph->n_nodes; v++)
            p->made[t][v] = EDDY_NO_NODE;
    }
    return p->made[0] && p->made[1];
}

static bool has_room(const eddy__plan_build *build, uint64_t n)
{
    const uint64_t most = build->options->max_nodes;

    return most == 0 || build->plan->n_nodes + n * MOST_ADDED <= most;
}

eddy_status eddy__take_panels(const eddy__plan_build *build,
                              eddy__arena *scratch, eddy_graph **out_graph)
{
    packing p = {.graph = build->selection->graph, .analysis = build->analysis};
    uint64_t n = 0;
    bool transposes[2];
    eddy_status status;

    *out_graph = NULL;
    if (build->analysis->n_frames == 1)
        return EDDY_OK;
    EDDY_TRY(eddy__count_readers(build, scratch, &p.readers));
    for (eddy_node v = 0; v < p.graph->n_nodes; v++)
        n += wants_panels(&p, v, transposes);
    if (n == 0 || !has_room(build, n))
        return EDDY_OK;
    if (!begin_made(&p, scratch))
        return eddy__fail_memory(build->err);
    EDDY_TRY(eddy__graph_clone(p.graph, build->budget, out_graph, build->err));
    status = take_all(&p, *out_graph);
    if (status != EDDY_OK) {
        eddy_graph_destroy(*out_graph);
        *out_graph = NULL;
    }
    return status;
}
