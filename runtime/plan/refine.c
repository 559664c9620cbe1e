/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes that get more known while a pass goes on (refine.h). */
#include "runtime/plan/refine.h"

#include "core/base/status.h"
#include "core/graph/infer.h"
#include "core/value/shape.h"

#include <string.h>

static size_t number_of(const eddy__refined *refined, eddy_output output)
{
    return refined->readers->build->shapes.first[output.node] + output.index;
}

eddy_status eddy__refined_init(eddy__refined *refined,
                               const eddy__readers *readers,
                               eddy__arena *scratch)
{
    const eddy__plan_build *build = readers->build;
    const eddy__selection *selection = build->selection;
    const eddy_graph *graph = selection->graph;
    size_t n = 0;

    for (size_t v = graph->n_nodes; n == 0 && v-- > 0;)
        if (eddy__selected(selection, (eddy_node)v))
            n = build->shapes.first[v] + graph->nodes[v].n_outputs;
    *refined = (eddy__refined){
        .readers = readers,
        .shapes = eddy__arena_allocate(scratch, n, sizeof(eddy_shape)),
        .is_refined = eddy__arena_allocate_zeroed(scratch, graph->n_nodes, 1),
    };
    if (!refined->shapes || !refined->is_refined)
        return eddy__fail_memory(build->err);
    if (n > 0)
        memcpy(refined->shapes, build->shapes.shapes, n * sizeof(eddy_shape));
    return EDDY_OK;
}

const eddy_shape *eddy__refined_shape(const eddy__refined *refined,
                                      eddy_output output)
{
    if (eddy__readers_is_fed(refined->readers, output.node))
        return eddy__readers_seen_shape(refined->readers, output);
    return &refined->shapes[number_of(refined, output)];
}

static bool is_settled(const eddy__refined *refined, const eddy__node *node,
                       eddy_node v)
{
    for (uint32_t i = 0; i < node->n_outputs; i++)
        if (!eddy__shape_is_known(
                eddy__refined_shape(refined, (eddy_output){v, i})))
            return false;
    return true;
}

/* Is more known of an input than when shapes were inferred? */
static bool has_news(const eddy__refined *refined, const eddy__node *node,
                     const eddy_tensor *const *constants)
{
    const eddy__shapes *inferred = &refined->readers->build->shapes;

    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const eddy_output from = node->inputs[i];

        if (refined->is_refined[from.node] ||
            (constants[i] && !eddy__infer_constant_at(inferred, from)))
            return true;
    }
    return false;
}

static bool may_visit(const eddy__refined *refined, const eddy__node *node,
                      eddy_node v)
{
    const eddy__role role = eddy__node_role(node);

    return node->op && node->op->infer && node->n_inputs > 0 &&
           node->n_inputs <= EDDY__REFINE_MOST_PORTS &&
           node->n_outputs <= EDDY__REFINE_MOST_PORTS &&
           role != EDDY__ROLE_MERGE && role != EDDY__ROLE_NEXT_ITERATION &&
           !eddy__readers_is_fed(refined->readers, v);
}

void eddy__refined_visit(eddy__refined *refined, eddy_node v,
                         const eddy_tensor *const *constants)
{
    const eddy__node *node =
        eddy__graph_node(refined->readers->build->selection->graph, v);
    eddy_shape inputs[EDDY__REFINE_MOST_PORTS];
    eddy_shape outputs[EDDY__REFINE_MOST_PORTS];
    eddy_infer infer = {.node = node,
                        .inputs = inputs,
                        .constants = constants,
                        .outputs = outputs};

    if (!may_visit(refined, node, v) || is_settled(refined, node, v) ||
        !has_news(refined, node, constants))
        return;
    for (uint32_t i = 0; i < node->n_inputs; i++)
        inputs[i] = *eddy__refined_shape(refined, node->inputs[i]);
    for (uint32_t i = 0; i < node->n_outputs; i++)
        outputs[i] = eddy__shape_unknown();
    if (node->op->infer(&infer) != EDDY_OK)
        return;
    for (uint32_t i = 0; i < node->n_outputs; i++) {
        eddy_shape *known =
            &refined->shapes[number_of(refined, (eddy_output){v, i})];
        eddy_shape merged;

        if (!eddy__shape_merge(known, &outputs[i], &merged) ||
            eddy__shape_equal(known, &merged))
            continue;
        *known = merged;
        refined->is_refined[v] = 1;
    }
}
