/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pass of levels exact and full: a sum of a product becomes one node where the
 * product is for it alone.  Shapes must be inferred, since such a sum must not
 * broadcast.  Level exact takes products of short sums, as a gradient of
 * weights is over the rows of a batch: they are finished in registers, and then
 * added.
 */
#include "runtime/plan/fuse.h"

#include "core/base/status.h"
#include "core/value/shape.h"
#include "runtime/plan/readers.h"

#include <string.h>

static bool has_op(const eddy__node *node, const char *op)
{
    return node->op && strcmp(node->op_name, op) == 0;
}

/* A sum of two values of a dtype whose products BLAS can add up. */
static bool is_sum(const eddy__readers *r, eddy_node v)
{
    const eddy__node *node = eddy__graph_node(r->build->selection->graph, v);

    return eddy__selected(r->build->selection, v) &&
           !eddy__readers_is_fed(r, v) && node->n_inputs == 2 &&
           (has_op(node, "AddV2") || has_op(node, "Add") ||
            has_op(node, "AddN")) &&
           (node->output_dtypes[0] == EDDY_FLOAT32 ||
            node->output_dtypes[0] == EDDY_FLOAT64);
}

/*
 * Is input `i` of the sum a product for it alone, and the other one a matrix
 * that may have the same shape?  Where it turns out to be another, the fused
 * node broadcasts as the sum does.
 */
static bool is_product(const eddy__readers *r, eddy_node sum, uint32_t i)
{
    const eddy_graph *graph = r->build->selection->graph;
    const eddy_output *inputs = eddy__graph_node(graph, sum)->inputs;
    const eddy_shape *other = eddy__readers_seen_shape(r, inputs[i == 0]);

    return has_op(eddy__graph_node(graph, inputs[i].node), "MatMul") &&
           !eddy__readers_is_fed(r, inputs[i].node) &&
           r->n[inputs[i].node] == 1 && other->rank == 2 &&
           eddy__shape_compatible(other,
                                  eddy__readers_seen_shape(r, inputs[i]));
}

/*
 * Is it certain that the product's sums are short, and the sum's shape is the
 * product's?
 */
static bool is_short(const eddy__readers *r, eddy_node sum, uint32_t i)
{
    const eddy_graph *graph = r->build->selection->graph;
    const eddy_output *inputs = eddy__graph_node(graph, sum)->inputs;
    const eddy__node *product = eddy__graph_node(graph, inputs[i].node);
    const eddy_shape *a = eddy__readers_seen_shape(r, product->inputs[0]);
    const eddy_shape *out = eddy__readers_seen_shape(r, inputs[i]);

    return product->output_dtypes[0] == EDDY_FLOAT32 &&
           eddy__shape_is_known(a) && a->rank == 2 &&
           eddy__shape_is_known(out) &&
           eddy__shape_equal(out,
                             eddy__readers_seen_shape(r, inputs[i == 0])) &&
           eddy__products_add_after(
               out->dims[0], out->dims[1],
               a->dims[!eddy__node_bool(product, "transpose_a")]);
}

static bool may_fuse(const eddy__readers *r, eddy_node sum, uint32_t i)
{
    return is_product(r, sum, i) &&
           (r->build->options->optimize == EDDY_OPTIMIZE_FULL ||
            is_short(r, sum, i));
}

/* The input of `v` that is a product to be fused with it; 2: none. */
static uint32_t find_product(const eddy__readers *r, eddy_node v)
{
    uint32_t i = 2;

    if (is_sum(r, v))
        i = may_fuse(r, v, 1) ? 1 : may_fuse(r, v, 0) ? 0 : 2;
    return i;
}

/* Both nodes' control inputs, in scratch memory. */
static eddy_node *join_controls(const eddy__node *a, const eddy__node *b,
                                eddy__arena *scratch)
{
    const size_t n = (size_t)a->n_controls + b->n_controls;
    eddy_node *out = eddy__arena_allocate(scratch, n, sizeof *out);

    for (uint32_t i = 0; out && i < a->n_controls; i++)
        out[i] = a->controls[i];
    for (uint32_t i = 0; out && i < b->n_controls; i++)
        out[a->n_controls + i] = b->controls[i];
    return out;
}

/* Makes the sum `v` of the copy the fused node, by way of one that is added. */
static eddy_status fuse(eddy_graph *copy, eddy_node v, uint32_t product,
                        bool is_exact, eddy__arena *scratch, eddy_error *err)
{
    const eddy__node *sum = eddy__graph_node(copy, v);
    const eddy__node *factor =
        eddy__graph_node(copy, sum->inputs[product].node);
    const eddy_output inputs[] = {factor->inputs[0], factor->inputs[1],
                                  sum->inputs[product == 0]};
    const bool transpose_a = eddy__node_bool(factor, "transpose_a");
    const bool transpose_b = eddy__node_bool(factor, "transpose_b");
    const eddy_attr attrs[] = {eddy_attr_bool("transpose_a", &transpose_a),
                               eddy_attr_bool("transpose_b", &transpose_b),
                               eddy_attr_bool("exact", &is_exact)};
    const eddy_node_spec spec = {
        .size = sizeof spec,
        .op = EDDY__FUSED_SUM,
        .inputs = inputs,
        .n_inputs = 3,
        .controls = join_controls(sum, factor, scratch),
        .n_controls = (size_t)sum->n_controls + factor->n_controls,
        .attrs = attrs,
        .n_attrs = 3,
    };

    return spec.controls ? eddy__readers_replace_node(copy, v, &spec, err)
                         : eddy__fail_memory(err);
}

static eddy_status fuse_all(const eddy__readers *r, eddy_graph *copy,
                            eddy__arena *scratch)
{
    const size_t n = copy->n_nodes;

    for (eddy_node v = 0; v < n; v++) {
        const uint32_t product = find_product(r, v);

        if (product < 2)
            EDDY_TRY(fuse(copy, v, product,
                          r->build->options->optimize != EDDY_OPTIMIZE_FULL,
                          scratch, r->build->err));
    }
    return EDDY_OK;
}

eddy_status eddy__fuse(const eddy__plan_build *build, eddy__arena *scratch,
                       eddy_graph **out_graph)
{
    const eddy_graph *graph = build->selection->graph;
    eddy_status status;
    eddy_node v = 0;
    eddy__readers r;

    *out_graph = NULL;
    if (build->options->optimize == EDDY_OPTIMIZE_NONE)
        return EDDY_OK;
    EDDY_TRY(eddy__count_readers(build, scratch, &r));
    while (v < graph->n_nodes && find_product(&r, v) == 2)
        v++;
    if (v == graph->n_nodes)
        return EDDY_OK;
    EDDY_TRY(eddy__graph_clone(graph, build->budget, out_graph, build->err));
    status = fuse_all(&r, *out_graph, scratch);
    if (status != EDDY_OK) {
        eddy_graph_destroy(*out_graph);
        *out_graph = NULL;
    }
    return status;
}
