/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a value inside a loop forward to the variable that carries it on, or
 * back to one that it is computed from: whose Exit has its last value.
 */
#include "frames/analysis/exits.h"

#include "core/context.h"
#include "frames/analysis/analysis.h"
#include "frames/analysis/flow.h"

typedef struct search {
    eddy__flow flow;
    const eddy_analysis *analysis;
    eddy_node *queue; /* each node is in it at most once */
    uint8_t *seen;
    size_t n;
} search;

/* ---- the variable of a node ---- */

static void reach(search *s, eddy_node node)
{
    if (s->seen[node])
        return;
    s->seen[node] = 1;
    s->queue[s->n++] = node;
}

static void start(search *s, eddy_node node)
{
    for (size_t i = 0; i < s->n; i++)
        s->seen[s->queue[i]] = 0;
    s->n = 0;
    reach(s, node);
}

/* The Exit of the variable of `frame` that `node` is a part of, or none. */
static eddy_node exit_of(const search *s, const eddy_frame *frame,
                         eddy_node node)
{
    const uint8_t role = s->flow.role[node];

    if (role != EDDY__ROLE_ENTER && role != EDDY__ROLE_MERGE &&
        role != EDDY__ROLE_SWITCH && role != EDDY__ROLE_NEXT_ITERATION)
        return EDDY_NO_NODE;
    for (size_t i = 0; i < frame->n_variables; i++) {
        const eddy_loop_variable *v = &frame->variables[i];

        if (node == v->enter || node == v->merge || node == v->switch_ ||
            node == v->next_iteration)
            return v->exit;
    }
    return EDDY_NO_NODE;
}

/* That a loop goes on makes no value: a predicate is no part of its variables.
 */
static void reach_readers(search *s, eddy_node node)
{
    for (size_t e = s->flow.first_out[node]; e < s->flow.first_out[node + 1];
         e++) {
        const eddy__flow_edge edge = s->flow.edge[e];

        if (edge.input != EDDY__CONTROL &&
            s->flow.role[node] != EDDY__ROLE_LOOP_COND &&
            eddy__flow_is_ordering(&s->flow, node, edge))
            reach(s, edge.to);
    }
}

static void reach_sources(search *s, eddy_node node)
{
    const eddy__node *n = eddy__flow_node(&s->flow, node);

    for (uint32_t i = 0; i < n->n_inputs; i++)
        if (n->inputs[i].node != EDDY_NO_NODE)
            reach(s, n->inputs[i].node);
}

/* The Exit of the variable nearest to `node` in one direction, or none. */
static eddy_node nearest_exit(search *s, const eddy_frame *frame,
                              eddy_node node,
                              void (*go)(search *s, eddy_node node))
{
    start(s, node);
    for (size_t i = 0; i < s->n; i++) {
        const eddy_node exit = exit_of(s, frame, s->queue[i]);

        if (exit != EDDY_NO_NODE)
            return exit;
        go(s, s->queue[i]);
    }
    return EDDY_NO_NODE;
}

uint32_t eddy__exits_loop_around(const eddy_analysis *analysis, eddy_node node)
{
    uint32_t frame = analysis->output_frame[node];

    while (frame != 0 && !analysis->has_next[frame])
        frame = analysis->frames[frame].parent;
    return frame;
}

/*
 * The Exit out of all loops of the variable that carries the value of `node`
 * on, or that it is computed from if none does.
 */
static eddy_node find_exit(search *s, eddy_node node)
{
    uint32_t loop;

    while (node != EDDY_NO_NODE &&
           (loop = eddy__exits_loop_around(s->analysis, node)) != 0) {
        const eddy_frame *frame = &s->analysis->frames[loop];
        eddy_node exit = nearest_exit(s, frame, node, reach_readers);

        if (exit == EDDY_NO_NODE)
            exit = nearest_exit(s, frame, node, reach_sources);
        node = exit;
    }
    return node;
}

eddy_node eddy__exit_for(const eddy_graph *graph, eddy__budget *budget,
                         eddy_node node)
{
    const eddy__selection whole = {.graph = graph, .budget = budget};
    eddy__arena arena = {.allocator = eddy__selection_allocator(&whole)};
    eddy_node exit = EDDY_NO_NODE;
    eddy_analysis *analysis;
    search s = {.n = 0};

    if (eddy__analysis_build(&whole, &analysis, NULL) != EDDY_OK)
        return EDDY_NO_NODE;
    s.analysis = analysis;
    s.queue = eddy__arena_allocate(&arena, graph->n_nodes, sizeof *s.queue);
    s.seen = eddy__arena_allocate_zeroed(&arena, graph->n_nodes, 1);
    if (s.queue && s.seen &&
        eddy__flow_build(&s.flow, &whole, &arena, NULL) == EDDY_OK)
        exit = find_exit(&s, node);
    eddy__arena_destroy(&arena);
    eddy_analysis_destroy(analysis);
    return exit;
}
