/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes are taken away one by one once all their sources are gone; what
 * is left then has a cycle.  To find the shortest one, a search starts at each
 * node left, after which that node is taken away too, and with it all that is
 * on no other cycle.
 */
#include "frames/analysis/cycle.h"

#include "core/base/status.h"
#include "frames/analysis/report.h"

#include <stdio.h>
#include <string.h>

/* Edges that the search for a shorter cycle may look at. */
#define MAX_STEPS ((size_t)1 << 25)

/* Which edges count as absent. */
typedef enum cut {
    CUT_BACK_EDGES,      /* those that a loop may have */
    CUT_NEXT_ITERATIONS, /* all that a NextIteration has */
} cut;

typedef struct search {
    const eddy__flow *flow;
    cut cut;
    uint8_t *is_left;
    uint32_t *n_in, *n_out; /* edges from and to nodes that are left */
    eddy_node *queue;
    size_t n_left;
    /* Of one search: when a node was met, from where, how far away. */
    uint32_t *met;
    eddy_node *from;
    uint32_t *distance;
    size_t steps;
    /* The shortest cycle so far. */
    eddy_node *cycle;
    size_t length; /* 0: none */
} search;

static bool is_cut(const search *s, eddy_node from, eddy_node to, bool is_data)
{
    if (s->cut == CUT_NEXT_ITERATIONS)
        return s->flow->role[from] == EDDY__ROLE_NEXT_ITERATION;
    return eddy__is_back_edge(s->flow, from, to, is_data);
}

static bool is_edge(const search *s, eddy_node from, eddy__flow_edge edge)
{
    return s->is_left[edge.to] &&
           !is_cut(s, from, edge.to, edge.input != EDDY__CONTROL);
}

/* Counts the edges among all selected nodes. */
static void start(search *s)
{
    const eddy__flow *flow = s->flow;

    memset(s->n_in, 0, flow->n_nodes * sizeof *s->n_in);
    memset(s->n_out, 0, flow->n_nodes * sizeof *s->n_out);
    s->n_left = flow->n_selected;
    for (eddy_node v = 0; v < flow->n_nodes; v++)
        s->is_left[v] = eddy__selected(flow->selection, v);
    for (eddy_node v = 0; v < flow->n_nodes; v++)
        for (size_t i = flow->first_out[v]; i < flow->first_out[v + 1]; i++)
            if (is_edge(s, v, flow->edge[i])) {
                s->n_out[v]++;
                s->n_in[flow->edge[i].to]++;
            }
}

/* Takes the queued nodes away, and all that then have no source left. */
static void take_downward(search *s, size_t n)
{
    const eddy__flow *flow = s->flow;

    for (size_t next = 0; next < n; next++) {
        eddy_node v = s->queue[next];

        s->is_left[v] = 0;
        s->n_left--;
        for (size_t i = flow->first_out[v]; i < flow->first_out[v + 1]; i++)
            if (is_edge(s, v, flow->edge[i]) &&
                --s->n_in[flow->edge[i].to] == 0)
                s->queue[n++] = flow->edge[i].to;
    }
}

static void take_acyclic(search *s)
{
    size_t n = 0;

    start(s);
    for (eddy_node v = 0; v < s->flow->n_nodes; v++)
        if (s->is_left[v] && s->n_in[v] == 0)
            s->queue[n++] = v;
    take_downward(s, n);
}

/* A node is queued when either of its counts first comes to nothing. */
static void lose_edge(search *s, uint32_t *count, eddy_node node, size_t *n)
{
    const bool was_queued = s->n_in[node] == 0 || s->n_out[node] == 0;

    if (--*count == 0 && !was_queued)
        s->queue[(*n)++] = node;
}

/* Takes the queued nodes away, and all that are on no path between cycles. */
static void take_both_ways(search *s, size_t n)
{
    const eddy__flow *flow = s->flow;

    for (size_t next = 0; next < n; next++) {
        eddy_node v = s->queue[next];

        s->is_left[v] = 0;
        s->n_left--;
        for (size_t i = flow->first_out[v]; i < flow->first_out[v + 1]; i++) {
            eddy__flow_edge edge = flow->edge[i];

            if (is_edge(s, v, edge) && s->n_in[edge.to] > 0)
                lose_edge(s, &s->n_in[edge.to], edge.to, &n);
        }
        for (size_t i = flow->first_in[v]; i < flow->first_in[v + 1]; i++) {
            eddy_node u = flow->source[i];

            if (eddy__flow_is_node(u) && s->is_left[u] && s->n_out[u] > 0 &&
                !is_cut(s, u, v, eddy__flow_is_data(flow, v, i)))
                lose_edge(s, &s->n_out[u], u, &n);
        }
    }
}

static void take_dead_ends(search *s)
{
    const eddy__flow *flow = s->flow;
    size_t n = 0;

    memset(s->n_out, 0, flow->n_nodes * sizeof *s->n_out);
    for (eddy_node v = 0; v < flow->n_nodes; v++) {
        if (!s->is_left[v])
            continue;
        for (size_t i = flow->first_out[v]; i < flow->first_out[v + 1]; i++)
            s->n_out[v] += is_edge(s, v, flow->edge[i]);
        if (s->n_out[v] == 0)
            s->queue[n++] = v;
    }
    take_both_ways(s, n);
}

/* The first edge of `v` to a node that is left; each such node has one. */
static eddy_node any_successor(const search *s, eddy_node v)
{
    size_t i = s->flow->first_out[v];

    while (!is_edge(s, v, s->flow->edge[i]))
        i++;
    return s->flow->edge[i].to;
}

/* Some cycle, by going on until a node comes up again. */
static void walk_into_cycle(search *s)
{
    eddy_node v = 0, first;

    while (!s->is_left[v])
        v++;
    for (; s->met[v] == 0; v = any_successor(s, v))
        s->met[v] = 1;
    first = v;
    do {
        s->cycle[s->length++] = v;
        v = any_successor(s, v);
    } while (v != first);
}

static void keep_cycle(search *s, eddy_node last)
{
    s->length = (size_t)s->distance[last] + 1;
    for (size_t i = s->length; i-- > 0; last = s->from[last])
        s->cycle[i] = last;
}

/* Looks for a cycle through `origin` that is shorter than the best so far. */
static void search_from(search *s, eddy_node origin, uint32_t stamp)
{
    const eddy__flow *flow = s->flow;
    size_t n = 1;

    s->queue[0] = origin;
    s->met[origin] = stamp;
    s->from[origin] = origin;
    s->distance[origin] = 0;
    for (size_t next = 0; next < n && s->steps < MAX_STEPS; next++) {
        eddy_node v = s->queue[next];

        if (s->distance[v] + 1 >= s->length)
            return;
        for (size_t i = flow->first_out[v]; i < flow->first_out[v + 1]; i++) {
            eddy_node to = flow->edge[i].to;

            s->steps++;
            if (!is_edge(s, v, flow->edge[i]))
                continue;
            if (to == origin) {
                keep_cycle(s, v);
                return;
            }
            if (s->met[to] == stamp)
                continue;
            s->met[to] = stamp;
            s->from[to] = v;
            s->distance[to] = s->distance[v] + 1;
            s->queue[n++] = to;
        }
    }
}

/* Stamps start above what walk_into_cycle has left. */
static void find_shortest(search *s)
{
    take_dead_ends(s);
    memset(s->met, 0, s->flow->n_nodes * sizeof *s->met);
    walk_into_cycle(s);
    for (eddy_node v = 0; v < s->flow->n_nodes; v++) {
        if (!s->is_left[v])
            continue;
        if (s->length == 1 || s->steps >= MAX_STEPS)
            return;
        search_from(s, v, v + 2);
        s->queue[0] = v;
        s->n_in[v] = s->n_out[v] = 0;
        take_both_ways(s, 1);
    }
}

/* Begins the cycle at its lowest node, or at `first` if that is on it. */
static void rotate(search *s, size_t first, eddy_node *scratch)
{
    memcpy(scratch, s->cycle, s->length * sizeof *scratch);
    for (size_t i = 0; i < s->length; i++)
        s->cycle[i] = scratch[(first + i) % s->length];
}

static size_t lowest(const search *s)
{
    size_t best = 0;

    for (size_t i = 1; i < s->length; i++)
        if (s->cycle[i] < s->cycle[best])
            best = i;
    return best;
}

/* Writes 'a' (Add) -> 'b' (Neg) -> 'a', without its middle if it is long. */
static void print_cycle(const search *s, char *text, size_t size)
{
    size_t used = 0;

    for (size_t i = 0; i < s->length; i++) {
        const eddy__node *node = eddy__flow_node(s->flow, s->cycle[i]);
        const eddy__short_name name = eddy__shorten(node->name);
        const eddy__short_name op = eddy__shorten(node->op_name);
        const size_t need = strlen(name.text) + strlen(op.text) + 10;

        if (used + need + 120 > size) {
            used += (size_t)snprintf(text + used, size - used, "(%zu more) -> ",
                                     s->length - i);
            break;
        }
        used += (size_t)snprintf(text + used, size - used, "'%s' (%s) -> ",
                                 name.text, op.text);
    }
    snprintf(text + used, size - used, "'%s'",
             eddy__shorten(eddy__flow_node(s->flow, s->cycle[0])->name).text);
}

static eddy_status report_cycle(search *s, eddy_error *err)
{
    char text[400];

    rotate(s, lowest(s), s->queue);
    print_cycle(s, text, sizeof text);
    return eddy__graph_fail_at(
        err, EDDY_INVALID_ARGUMENT, EDDY_E_CYCLE,
        eddy__flow_node(s->flow, s->cycle[0]),
        "%zu node%s in a cycle without a NextIteration: %s", s->length,
        s->length == 1 ? "" : "s", text);
}

/* Is the edge from cycle[i] one that a NextIteration must not have? */
static bool is_bad_back_edge(const search *s, size_t i)
{
    return s->flow->role[s->cycle[i]] == EDDY__ROLE_NEXT_ITERATION;
}

static eddy_status report_back_edge(search *s, eddy_error *err)
{
    char text[320];
    const eddy__node *to;
    eddy__short_name name;
    size_t at = 0;
    bool is_merge;

    rotate(s, lowest(s), s->queue);
    while (!is_bad_back_edge(s, at))
        at++;
    rotate(s, at, s->queue);
    print_cycle(s, text, sizeof text);
    to = eddy__flow_node(s->flow, s->cycle[s->length > 1 ? 1 : 0]);
    is_merge = eddy__node_role(to) == EDDY__ROLE_MERGE;
    name = eddy__shorten(to->name);
    return eddy__graph_fail_at(err, EDDY_INVALID_ARGUMENT, EDDY_E_BACK_EDGE,
                               eddy__flow_node(s->flow, s->cycle[0]),
                               "feeds '%s' (%s)%s; it must feed a Merge%s: %s",
                               name.text, eddy__shorten(to->op_name).text,
                               is_merge ? " by a control edge" : "",
                               is_merge ? " by a data edge" : "", text);
}

static bool allocate(search *s, eddy__arena *scratch)
{
    const size_t n = s->flow->n_nodes;

    s->is_left = eddy__arena_allocate(scratch, n, 1);
    s->n_in = eddy__arena_allocate(scratch, n, sizeof *s->n_in);
    s->n_out = eddy__arena_allocate(scratch, n, sizeof *s->n_out);
    s->queue = eddy__arena_allocate(scratch, n, sizeof *s->queue);
    return s->is_left && s->n_in && s->n_out && s->queue;
}

static bool allocate_more(search *s, eddy__arena *scratch)
{
    const size_t n = s->flow->n_nodes;

    s->met = eddy__arena_allocate(scratch, n, sizeof *s->met);
    s->from = eddy__arena_allocate(scratch, n, sizeof *s->from);
    s->distance = eddy__arena_allocate(scratch, n, sizeof *s->distance);
    s->cycle = eddy__arena_allocate(scratch, n, sizeof *s->cycle);
    return s->met && s->from && s->distance && s->cycle;
}

/*
 * A Merge whose data all come from back edges waits for an iteration that it
 * would have to start itself.  In a graph that is otherwise acyclic such a
 * Merge is the only thing that no token ever reaches.
 */
static eddy_status check_merges(const eddy__flow *flow, eddy_error *err)
{
    for (eddy_node v = 0; v < flow->n_nodes; v++) {
        const eddy__node *node = eddy__flow_node(flow, v);
        size_t end = flow->first_in[v] + node->n_inputs;
        size_t i = flow->first_in[v];

        if (flow->role[v] != EDDY__ROLE_MERGE)
            continue;
        while (i < end && eddy__flow_is_node(flow->source[i]) &&
               eddy__is_back_edge(flow, flow->source[i], v, true))
            i++;
        if (i == end && node->n_inputs > 0)
            return eddy__graph_fail_at(
                err, EDDY_INVALID_ARGUMENT, EDDY_E_UNREACHABLE_LOOP, node,
                "only NextIterations feed it, so its loop never starts; one "
                "input must come from an Enter");
    }
    return EDDY_OK;
}

eddy_status eddy__check_cycles(const eddy__flow *flow, eddy__arena *scratch,
                               eddy_error *err)
{
    search s = {.flow = flow, .cut = CUT_BACK_EDGES};

    if (!allocate(&s, scratch))
        return eddy__fail_memory(err);
    take_acyclic(&s);
    if (s.n_left == 0)
        return check_merges(flow, err);
    if (!allocate_more(&s, scratch))
        return eddy__fail_memory(err);
    s.cut = CUT_NEXT_ITERATIONS;
    take_acyclic(&s);
    if (s.n_left == 0) {
        s.cut = CUT_BACK_EDGES;
        take_acyclic(&s);
    }
    find_shortest(&s);
    return s.cut == CUT_NEXT_ITERATIONS ? report_cycle(&s, err)
                                        : report_back_edge(&s, err);
}
