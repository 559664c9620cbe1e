/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds fed placeholders that somebody waits for, and moves those edges to what
 * can run, in a copy of the graph.
 */
#include "frames/analysis/fed_controls.h"

#include "core/base/status.h"
#include "core/context.h"
#include "core/graph/edit.h"
#include "core/graph/names.h"

#include <string.h>

typedef struct rewrite {
    eddy__budget *budget;
    const eddy_graph *graph;
    eddy_graph *copy;
    eddy_node *moved; /* of a fed placeholder: itself, then its NoOp */
    eddy_error *err;
} rewrite;

static bool gives_way(const eddy__node *node)
{
    return strcmp(node->op_name, "Placeholder") == 0 ||
           strcmp(node->op_name, "PlaceholderV2") == 0;
}

static bool is_moved(const rewrite *r, eddy_node node)
{
    return r->moved[node] != EDDY_NO_NODE;
}

static void mark(rewrite *r, const eddy__selection *selection)
{
    memset(r->moved, 0xff, r->graph->n_nodes * sizeof *r->moved);
    for (size_t i = 0; i < selection->n_feeds; i++) {
        const eddy_node fed = selection->feeds[i].node;

        if (gives_way(eddy__graph_node(r->graph, fed)))
            r->moved[fed] = fed;
    }
}

static bool is_waited_for(const rewrite *r)
{
    for (eddy_node v = 0; v < r->graph->n_nodes; v++) {
        const eddy__node *node = eddy__graph_node(r->graph, v);

        for (uint32_t i = 0; i < node->n_controls; i++)
            if (is_moved(r, node->controls[i]))
                return true;
    }
    return false;
}

/* "<placeholder>/fed", with a number if that is taken. */
static eddy_status add_feed(rewrite *r, eddy_node fed)
{
    const eddy__names nodes = eddy__names_of_nodes(r->copy);
    eddy__arena *arena = &r->copy->arena;
    const char *base = eddy__names_print(arena, "%s/fed",
                                         eddy__graph_node(r->graph, fed)->name);
    const eddy_node_spec spec = {
        .size = sizeof spec,
        .op = "NoOp",
        .name = eddy__names_free(&nodes, arena, base, NULL),
    };

    if (!spec.name)
        return eddy__fail_memory(r->err);
    return eddy_graph_add(r->copy, &spec, &r->moved[fed], r->err);
}

static eddy_status move(rewrite *r)
{
    for (eddy_node v = 0; v < r->graph->n_nodes; v++) {
        const eddy__node *node = eddy__graph_node(r->graph, v);

        for (uint32_t i = 0; i < node->n_controls; i++) {
            const eddy_node from = node->controls[i];

            if (!is_moved(r, from))
                continue;
            if (r->moved[from] == from)
                EDDY_TRY(add_feed(r, from));
            eddy__edit_control(r->copy, v, i, r->moved[from]);
        }
    }
    return EDDY_OK;
}

static eddy_status rewrite_graph(rewrite *r, eddy_graph **out_graph)
{
    eddy_status status;

    EDDY_TRY(eddy__graph_clone(r->graph, r->budget, &r->copy, r->err));
    status = move(r);
    if (status == EDDY_OK)
        *out_graph = r->copy;
    else
        eddy_graph_destroy(r->copy);
    return status;
}

eddy_status eddy__move_fed_controls(const eddy__selection *selection,
                                    eddy_graph **out_graph, eddy_error *err)
{
    const size_t n = selection->graph->n_nodes;
    const eddy_allocator *allocator = eddy__selection_allocator(selection);
    rewrite r = {.graph = selection->graph,
                 .budget = eddy__selection_budget(selection),
                 .err = err};
    eddy_status status = EDDY_OK;

    *out_graph = NULL;
    if (selection->n_feeds == 0)
        return EDDY_OK;
    r.moved = eddy__allocate(allocator, n, sizeof *r.moved);
    if (!r.moved)
        return eddy__fail_memory(err);
    mark(&r, selection);
    if (is_waited_for(&r))
        status = rewrite_graph(&r, out_graph);
    eddy__free(allocator, r.moved, n, sizeof *r.moved);
    return status;
}
