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

/* Counts the edges, or, once there is room for them, fills them in. */
static void walk_readers(const eddy__selection *selection,
                         eddy__reader_lists *out)
{
    const eddy_graph *graph = selection->graph;

    for (eddy_node v = 0; v < graph->n_nodes; v++) {
        const eddy__node *node = eddy__graph_node(graph, v);

        if (!eddy__selected(selection, v))
            continue;
        for (uint32_t i = 0; i < node->n_inputs + node->n_controls; i++) {
            const eddy_node from = i < node->n_inputs
                                       ? node->inputs[i].node
                                       : node->controls[i - node->n_inputs];

            if (out->reader)
                out->reader[--out->first[from]] = v;
            else
                out->first[from]++;
        }
    }
}

eddy_status eddy__list_readers(const eddy__plan_build *build,
                               eddy__arena *scratch, eddy__reader_lists *out)
{
    const size_t n = build->selection->graph->n_nodes;

    out->reader = NULL;
    out->first =
        eddy__arena_allocate_zeroed(scratch, n + 1, sizeof *out->first);
    if (!out->first)
        return eddy__fail_memory(build->err);
    walk_readers(build->selection, out);
    for (size_t v = 1; v <= n; v++)
        out->first[v] += out->first[v - 1];
    out->reader =
        eddy__arena_allocate(scratch, out->first[n], sizeof *out->reader);
    if (!out->reader)
        return eddy__fail_memory(build->err);
    walk_readers(build->selection, out);
    return EDDY_OK;
}

bool eddy__readers_is_fed(const eddy__readers *r, eddy_node v)
{
    return r->build->selection->is_fed && r->build->selection->is_fed[v];
}

const eddy_shape *eddy__readers_seen_shape(const eddy__readers *r,
                                           eddy_output output)
{
    const uint32_t feed = eddy__selection_feed_of(r->build->selection, output);

    return feed == EDDY__NOT_FOUND ? eddy__shape_at(&r->build->shapes, output)
                                   : &r->build->feed_shapes[feed];
}

bool eddy__few_controls_add(eddy__few_controls *to, const eddy_node *controls,
                            uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = 0;

        while (k < to->n && to->waits_for[k] != controls[i])
            k++;
        if (k < to->n)
            continue;
        if (k == sizeof to->waits_for / sizeof to->waits_for[0])
            return false;
        to->waits_for[to->n++] = controls[i];
    }
    return true;
}

eddy_status eddy__readers_replace_node(eddy_graph *graph, eddy_node v,
                                       const eddy_node_spec *spec,
                                       eddy_error *err)
{
    const eddy__add_options options = {.strict = false};

    EDDY_TRY(eddy__graph_add(graph, spec, &options, NULL, err));
    eddy__edit_become_last(graph, v);
    return EDDY_OK;
}

eddy_status eddy__find_standing(const eddy__plan_build *build,
                                eddy__arena *scratch, uint8_t **out)
{
    const eddy_plan_options *options = build->options;
    const eddy_graph *graph = build->selection->graph;
    uint8_t *standing = eddy__arena_allocate_zeroed(scratch, graph->n_nodes, 1);

    if (!standing)
        return eddy__fail_memory(build->err);
    for (eddy_node v = 0; v < graph->n_nodes; v++) {
        const eddy__node *node = eddy__graph_node(graph, v);

        if (!eddy__selected(build->selection, v))
            continue;
        for (uint32_t i = 0; i < node->n_controls; i++)
            standing[node->controls[i]] |= EDDY__IS_AWAITED;
        if (eddy__node_role(node) != EDDY__ROLE_MERGE)
            continue;
        for (uint32_t i = 0; i < node->n_inputs; i++)
            standing[node->inputs[i].node] |= EDDY__IS_MERGED;
    }
    for (size_t i = 0; i < options->n_fetches; i++)
        standing[options->fetches[i].node] |= EDDY__IS_NAMED;
    for (size_t i = 0; i < options->n_targets; i++)
        standing[options->targets[i]] |= EDDY__IS_NAMED;
    for (size_t i = 0; i < options->n_feeds; i++)
        standing[options->feeds[i].node] |= EDDY__IS_NAMED;
    *out = standing;
    return EDDY_OK;
}

/* ---- values in their order ---- */

/* Who reads a node, as a list: first[v]..first[v + 1]. */
typedef struct ordering {
    const eddy__selection *selection;
    size_t *first;
    eddy_node *reader;
    uint32_t *n_missing; /* a node: inputs that have not come */
} ordering;

/* Must what input `i` reads come before the node?  Not what is fed. */
static bool is_before(const ordering *o, const eddy__node *node, uint32_t i)
{
    return eddy__node_role(node) != EDDY__ROLE_MERGE &&
           eddy__selected(o->selection, node->inputs[i].node) &&
           eddy__selection_feed_of(o->selection, node->inputs[i]) ==
               EDDY__NOT_FOUND;
}

/* Counts the edges, or, once there is room for them, fills them in. */
static void walk_edges(ordering *o)
{
    const eddy_graph *graph = o->selection->graph;

    for (eddy_node v = 0; v < graph->n_nodes; v++) {
        const eddy__node *node = eddy__graph_node(graph, v);

        if (!eddy__selected(o->selection, v))
            continue;
        for (uint32_t i = 0; i < node->n_inputs; i++) {
            const eddy_node from = node->inputs[i].node;

            if (!is_before(o, node, i))
                continue;
            if (o->reader) {
                o->reader[o->first[from + 1]++] = v;
                continue;
            }
            o->first[from + 2]++;
            o->n_missing[v]++;
        }
    }
}

static bool list_readers(ordering *o, eddy__arena *scratch)
{
    const size_t n = o->selection->graph->n_nodes;

    o->first = eddy__arena_allocate_zeroed(scratch, n + 2, sizeof *o->first);
    o->n_missing =
        eddy__arena_allocate_zeroed(scratch, n, sizeof *o->n_missing);
    if (!o->first || !o->n_missing)
        return false;
    walk_edges(o);
    for (size_t v = 0; v < n; v++)
        o->first[v + 2] += o->first[v + 1];
    o->reader =
        eddy__arena_allocate(scratch, o->first[n + 1], sizeof *o->reader);
    if (o->reader)
        walk_edges(o);
    return o->reader != NULL;
}

eddy_status eddy__readers_order_values(const eddy__plan_build *build,
                                       eddy__arena *scratch,
                                       eddy_node **out_order, uint32_t *out_n)
{
    const size_t n_nodes = build->selection->graph->n_nodes;
    eddy_node *order = eddy__arena_allocate(scratch, n_nodes, sizeof *order);
    ordering o = {.selection = build->selection};
    uint32_t n = 0;

    if (!order || !list_readers(&o, scratch))
        return eddy__fail_memory(build->err);
    for (eddy_node v = 0; v < n_nodes; v++)
        if (eddy__selected(build->selection, v) && o.n_missing[v] == 0)
            order[n++] = v;
    for (uint32_t at = 0; at < n; at++)
        for (size_t i = o.first[order[at]]; i < o.first[order[at] + 1]; i++)
            if (--o.n_missing[o.reader[i]] == 0)
                order[n++] = o.reader[i];
    *out_order = order;
    *out_n = n;
    return EDDY_OK;
}

void eddy__readers_redirect(eddy_graph *graph, const eddy_output *instead,
                            size_t n)
{
    for (eddy_node v = 0; v < graph->n_nodes; v++) {
        const eddy__node *node = eddy__graph_node(graph, v);

        for (uint32_t i = 0; i < node->n_inputs; i++) {
            const eddy_output from = node->inputs[i];

            if (from.node < n && instead[from.node].node != EDDY_NO_NODE)
                eddy__edit_input(
                    graph, v, i,
                    (eddy_output){instead[from.node].node,
                                  instead[from.node].index + from.index});
        }
    }
}
