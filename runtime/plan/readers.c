/* SPDX-License-Identifier: Apache-2.0 */
/* What passes that join nodes share (readers.h). */
#include "runtime/plan/readers.h"

#include "core/base/status.h"
#include "core/graph/edit.h"

eddy_status eddy__count_readers(const eddy__plan_build *build,
                                eddy__arena *scratch, eddy__readers *out)
{
    const eddy_plan_options *options = build->options;
    const eddy_graph *graph = build->selection->graph;

    out->build = build;
    out->n =
        eddy__arena_allocate_zeroed(scratch, graph->n_nodes, sizeof *out->n);
    if (!out->n)
        return eddy__fail_memory(build->err);
    for (eddy_node v = 0; v < graph->n_nodes; v++) {
        const eddy__node *node = eddy__graph_node(graph, v);

        if (!eddy__selected(build->selection, v))
            continue;
        for (uint32_t i = 0; i < node->n_inputs; i++)
            out->n[node->inputs[i].node]++;
        for (uint32_t i = 0; i < node->n_controls; i++)
            out->n[node->controls[i]]++;
    }
    for (size_t i = 0; i < options->n_fetches; i++)
        out->n[options->fetches[i].node]++;
    for (size_t i = 0; i < options->n_targets; i++)
        out->n[options->targets[i]]++;
    return EDDY_OK;
}

bool eddy__is_fed(const eddy__readers *r, eddy_node v)
{
    return r->build->selection->is_fed && r->build->selection->is_fed[v];
}

const eddy_shape *eddy__seen_shape(const eddy__readers *r, eddy_output output)
{
    const uint32_t feed = eddy__feed_of(r->build->selection, output);

    return feed == EDDY__NOT_FOUND ? eddy__shape_at(&r->build->shapes, output)
                                   : &r->build->feed_shapes[feed];
}

eddy_status eddy__replace_node(eddy_graph *graph, eddy_node v,
                               const eddy_node_spec *spec, eddy_error *err)
{
    const eddy__add_options options = {.strict = false};

    EDDY_TRY(eddy__graph_add(graph, spec, &options, NULL, err));
    eddy__edit_become_last(graph, v);
    return EDDY_OK;
}
