/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is needed of the graph, lowered, and its frames: the first step of a
 * partition.  A feed becomes a Placeholder, unless it is one, so that it has a
 * rank as any node has.
 */
#include "core/base/status.h"
#include "core/graph/edit.h"
#include "core/graph/names.h"
#include "frames/analysis/fed_controls.h"
#include "frames/analysis/prune.h"
#include "frames/lower/groups.h"
#include "frames/lower/lower.h"
#include "frames/partition/partitioning.h"

#include <string.h>

/* A graph, and what is asked of it, on its way to the whole one. */
typedef struct asking {
    eddy__partitioning *p;
    eddy__selection selection;
    eddy__wanted wanted;
    eddy_graph *owned; /* the selection's, unless it is the caller's */
} asking;

static bool is_output(const eddy_graph *graph, eddy_output output)
{
    return output.node < graph->n_nodes &&
           (!eddy__graph_node(graph, output.node)->op ||
            output.index < eddy__graph_node(graph, output.node)->n_outputs);
}

static eddy_status check_names(const eddy_partition_options *o,
                               const eddy_graph *graph, eddy_error *err)
{
    for (size_t i = 0; i < o->n_feeds; i++)
        EDDY_REFUSE_IF(!is_output(graph, o->feeds[i]), err,
                       "feed %zu is no output of the graph", i);
    for (size_t i = 0; i < o->n_fetches; i++)
        EDDY_REFUSE_IF(!is_output(graph, o->fetches[i]), err,
                       "fetch %zu is no output of the graph", i);
    for (size_t i = 0; i < o->n_targets; i++)
        EDDY_REFUSE_IF(o->targets[i] >= graph->n_nodes, err,
                       "target %zu is no node of the graph", i);
    return EDDY_OK;
}

/* Which nodes are fed, and which are needed, of the graph as it is now. */
static eddy_status select_needed(asking *a)
{
    eddy__partitioning *p = a->p;
    eddy__selection *s = &a->selection;
    const size_t n = s->graph->n_nodes;
    uint8_t *is_fed = eddy__arena_allocate_zeroed(&p->arena, n, 1);
    uint8_t *keep = eddy__arena_allocate_zeroed(&p->arena, n, 1);

    if (!is_fed || !keep)
        return eddy__fail_memory(p->err);
    for (size_t i = 0; i < s->n_feeds; i++)
        is_fed[s->feeds[i].node] = 1;
    s->is_fed = is_fed;
    s->keep = NULL;
    if (a->wanted.n_fetches + a->wanted.n_targets == 0)
        return EDDY_OK;
    EDDY_TRY(eddy__prune(s, &a->wanted, keep, p->err));
    s->keep = keep;
    return EDDY_OK;
}

static void go_on_with(asking *a, eddy_graph *graph)
{
    eddy_graph_destroy(a->owned);
    a->owned = graph;
    a->selection.graph = graph;
}

static eddy_status move_fed_controls(asking *a)
{
    eddy_graph *moved;

    EDDY_TRY(eddy__move_fed_controls(&a->selection, &moved, a->p->err));
    if (moved)
        go_on_with(a, moved);
    return EDDY_OK;
}

static eddy_status lower(asking *a)
{
    eddy__partitioning *p = a->p;
    const eddy__lower_request request = {
        .selection = &a->selection,
        .fetches = a->wanted.fetches,
        .n_fetches = a->wanted.n_fetches,
        .targets = a->wanted.targets,
        .n_targets = a->wanted.n_targets,
        .budget = p->budget,
    };
    eddy__lowered lowered;

    if (!eddy__needs_lowering(&a->selection))
        return EDDY_OK;
    EDDY_TRY(eddy__check_feeds(&a->selection, p->err));
    EDDY_TRY(eddy__lower(&request, &p->arena, &lowered, p->err));
    go_on_with(a, lowered.graph);
    a->selection.feeds = lowered.feeds;
    a->wanted.fetches = lowered.fetches;
    a->wanted.targets = lowered.targets;
    a->wanted.n_targets = lowered.n_targets;
    EDDY_TRY(move_fed_controls(a));
    return select_needed(a);
}

/* Of copies of a graph each has its own member. */
static eddy_status join_groups(asking *a)
{
    eddy_graph *joined;

    if (a->p->options->is_replicated || !eddy__has_groups(&a->selection))
        return EDDY_OK;
    EDDY_TRY(eddy__join_groups(&a->selection, &joined, a->p->err));
    go_on_with(a, joined);
    return select_needed(a);
}

static eddy_status simplify(asking *a, const eddy_graph *graph)
{
    eddy__partitioning *p = a->p;
    eddy_graph *copy;

    EDDY_TRY(move_fed_controls(a));
    EDDY_TRY(select_needed(a));
    EDDY_TRY(lower(a));
    EDDY_TRY(join_groups(a));
    if (a->owned)
        return EDDY_OK;
    EDDY_TRY(eddy__graph_clone(graph, p->budget, &copy, p->err));
    go_on_with(a, copy);
    return EDDY_OK;
}

/* ---- feeds ---- */

/* One that waits for others would have them send, and nobody receive. */
static bool can_be_fed(const eddy__node *node)
{
    return eddy__node_role(node) == EDDY__ROLE_PLACEHOLDER &&
           node->n_inputs == 0 && node->n_controls == 0;
}

/* Everything that reads feed `i` reads the Placeholder. */
static eddy_status replace_feed(eddy__partitioning *p, asking *a, size_t i)
{
    const eddy_output fed = a->selection.feeds[i];
    const eddy__node *node = eddy__partition_node(p, fed.node);
    const eddy_dtype dtype = eddy_graph_output_dtype(p->whole, fed);
    const eddy_attr attr = eddy_attr_type("dtype", &dtype);
    const eddy_node_spec spec = {
        .size = sizeof spec, .op = "Placeholder", .attrs = &attr, .n_attrs = 1};
    const char *name =
        eddy__names_print(&p->arena, "%s/fed_%u", node->name, fed.index);

    p->feeds[i] = fed;
    if (can_be_fed(node))
        return EDDY_OK;
    p->emitter.options.device = node->device;
    p->feeds[i] = eddy__emitter_add_as(&p->emitter, name, &spec);
    p->emitter.options.device = NULL;
    if (p->emitter.status != EDDY_OK)
        return p->emitter.status;
    for (size_t v = 0; v < p->n_analysed; v++)
        for (uint32_t k = 0;
             k < eddy__partition_node(p, (eddy_node)v)->n_inputs; k++) {
            const eddy_output in =
                eddy__partition_node(p, (eddy_node)v)->inputs[k];

            if (in.node == fed.node && in.index == fed.index)
                eddy__edit_input(p->whole, (eddy_node)v, k, p->feeds[i]);
        }
    return EDDY_OK;
}

static eddy_status replace_feeds(eddy__partitioning *p, asking *a)
{
    p->feeds =
        eddy__arena_allocate(&p->arena, a->selection.n_feeds, sizeof *p->feeds);
    if (!p->feeds)
        return eddy__fail_memory(p->err);
    for (size_t i = 0; i < a->selection.n_feeds; i++)
        EDDY_TRY(replace_feed(p, a, i));
    return EDDY_OK;
}

/* Fetches and targets in the whole graph; what is fed is fetched as it came. */
static eddy_status keep_wanted(eddy__partitioning *p, const asking *a)
{
    const eddy__wanted *w = &a->wanted;

    p->fetches = eddy__arena_copy(&p->arena, w->fetches, w->n_fetches,
                                  sizeof *p->fetches);
    p->targets = eddy__arena_copy(&p->arena, w->targets, w->n_targets,
                                  sizeof *p->targets);
    p->n_targets = w->n_targets;
    if (!p->fetches || !p->targets)
        return eddy__fail_memory(p->err);
    for (size_t i = 0; i < w->n_fetches; i++) {
        const uint32_t feed =
            eddy__selection_feed_of(&a->selection, p->fetches[i]);

        if (feed != EDDY__NOT_FOUND)
            p->fetches[i] = p->feeds[feed];
    }
    return EDDY_OK;
}

/* ---- frames ---- */

static eddy_status note_frames(eddy__partitioning *p, const asking *a)
{
    const eddy__selection *s = &a->selection;

    for (eddy_node v = 0; v < p->whole->n_nodes; v++) {
        const bool is_old = v < p->n_analysed;
        const bool is_needed = !is_old || eddy__selected(s, v);
        const eddy__placed placed = {
            .frame = is_old && is_needed ? p->analysis->node_frame[v] : 0,
            .output_frame =
                is_old && is_needed ? p->analysis->output_frame[v] : 0,
            .is_needed = is_needed,
        };

        EDDY_TRY(eddy__partition_note(p, v, placed));
    }
    return EDDY_OK;
}

/* A Placeholder that is fed is not what a fetch needs, but here it is. */
static void keep_fed(eddy__partitioning *p)
{
    for (eddy_node v = 0; v < p->whole->n_nodes; v++) {
        const eddy__node *node = eddy__partition_node(p, v);

        for (uint32_t i = 0; p->placed[v].is_needed && i < node->n_inputs; i++)
            p->placed[node->inputs[i].node].is_needed = true;
    }
    for (size_t i = 0; i < p->options->n_fetches; i++)
        p->placed[p->fetches[i].node].is_needed = true;
}

static eddy_status request(eddy__partitioning *p, const eddy_graph *graph,
                           asking *a)
{
    EDDY_TRY(check_names(p->options, graph, p->err));
    EDDY_TRY(simplify(a, graph));
    EDDY_TRY(eddy__check_feeds(&a->selection, p->err));
    EDDY_TRY(eddy__analysis_build(&a->selection, &p->analysis, p->err));
    p->whole = a->owned;
    a->owned = NULL;
    p->n_analysed = p->whole->n_nodes;
    p->emitter = (eddy__emitter){
        .graph = p->whole, .err = p->err, .options = {.forward_edges = true}};
    EDDY_TRY(replace_feeds(p, a));
    EDDY_TRY(keep_wanted(p, a));
    EDDY_TRY(note_frames(p, a));
    keep_fed(p);
    return EDDY_OK;
}

eddy_status eddy__partition_request(eddy__partitioning *p,
                                    const eddy_graph *graph)
{
    const eddy_partition_options *o = p->options;
    asking a = {
        .p = p,
        .selection = {.graph = graph,
                      .feeds = o->feeds,
                      .n_feeds = o->n_feeds,
                      .budget = p->budget},
        .wanted = {.fetches = o->fetches,
                   .n_fetches = o->n_fetches,
                   .targets = o->targets,
                   .n_targets = o->n_targets},
    };
    const eddy_status status = request(p, graph, &a);

    eddy_graph_destroy(a.owned);
    return status;
}
