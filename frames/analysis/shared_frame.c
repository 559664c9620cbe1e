/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two loops with one frame_name.  TensorFlow makes one frame of them; the trips
 * of the two then count together, which no program means.
 *
 * Nodes of a frame are of one loop if edges inside the frame connect them, in
 * whatever direction; a non-constant Enter connects what it feeds, and an inner
 * frame counts as one node.  A constant Enter connects nothing, since what it
 * brings in may be used by any loop, unless it is the predicate of Switches.
 * A loop is a connected part with a cycle.  The variables of one loop hang
 * together through its LoopCond, which every Switch of them reads.
 */
#include "frames/analysis/groups.h"
#include "frames/analysis/validate.h"

#include "core/base/status.h"
#include "frames/analysis/report.h"

#include <string.h>

/* Edges that may be looked at to see whether parts have cycles. */
#define MAX_STEPS ((size_t)1 << 24)

typedef struct parts {
    const eddy__flow *flow;
    const eddy_analysis *analysis;
    /*
     * The parent of a node, or of an inner frame (at n_nodes + its number), in
     * the forest of parts.  An Enter stands for its side in the inner frame.
     */
    uint32_t *parent;
    uint8_t *is_counter; /* a part, at its root: has a LoopCounter */
    eddy_node *first;    /* a frame: its first Merge of a back edge */
    uint8_t *is_split;   /* a frame: such Merges of it are in several parts */
    uint32_t *met;       /* a node: the last Merge whose search met it, + 1 */
    eddy_node *queue;
    size_t steps;
} parts;

/* What stands for the source and the target of an edge in its frame. */
static uint32_t source_item(const parts *p, eddy_node node)
{
    if (p->flow->role[node] == EDDY__ROLE_EXIT)
        return (uint32_t)p->flow->n_nodes + p->analysis->node_frame[node];
    return node;
}

static uint32_t target_item(const parts *p, eddy_node node)
{
    if (p->flow->role[node] == EDDY__ROLE_ENTER)
        return (uint32_t)p->flow->n_nodes + p->analysis->output_frame[node];
    return node;
}

static void join_edges(parts *p)
{
    const eddy__flow *flow = p->flow;

    for (eddy_node v = 0; v < flow->n_nodes; v++)
        for (size_t i = flow->first_out[v]; i < flow->first_out[v + 1]; i++) {
            const eddy__flow_edge edge = flow->edge[i];

            if (flow->is_constant[v] &&
                (flow->role[edge.to] != EDDY__ROLE_SWITCH || edge.input != 1))
                continue;
            eddy__group_join(p->parent, source_item(p, v),
                             target_item(p, edge.to));
        }
}

/* Does a back edge come in?  Then there may be a cycle through it. */
static bool has_back_edge(const eddy__flow *flow, eddy_node node)
{
    if (flow->role[node] != EDDY__ROLE_MERGE)
        return false;
    for (size_t i = flow->first_in[node]; i < flow->first_in[node + 1]; i++)
        if (eddy__flow_is_node(flow->source[i]) &&
            eddy__is_back_edge(flow, flow->source[i], node,
                               eddy__flow_is_data(flow, node, i)))
            return true;
    return false;
}

/* True if some frame has Merges of back edges in several parts. */
static bool find_split_frames(parts *p)
{
    bool any = false;

    for (eddy_node v = 0; v < p->flow->n_nodes; v++) {
        uint32_t frame;

        if (!has_back_edge(p->flow, v))
            continue;
        frame = p->analysis->node_frame[v];
        if (p->first[frame] == EDDY_NO_NODE) {
            p->first[frame] = v;
        } else if (eddy__group_find(p->parent, v) !=
                   eddy__group_find(p->parent, p->first[frame])) {
            p->is_split[frame] = 1;
            any = true;
        }
    }
    return any;
}

static void mark_counters(parts *p)
{
    for (eddy_node v = 0; v < p->flow->n_nodes; v++)
        if (p->flow->role[v] == EDDY__ROLE_LOOP_COND &&
            strstr(eddy__flow_node(p->flow, v)->name, "LoopCounter"))
            p->is_counter[eddy__group_find(p->parent, v)] = 1;
}

/*
 * Can `merge` be reached from itself?  What leaves its frame does not come
 * back.  Says no when the budget is spent.
 */
static bool is_on_cycle(parts *p, eddy_node merge)
{
    const eddy__flow *flow = p->flow;
    const uint32_t frame = p->analysis->node_frame[merge];
    size_t n = 1;

    p->queue[0] = merge;
    for (size_t next = 0; next < n && p->steps < MAX_STEPS; next++) {
        const eddy_node v = p->queue[next];

        if (flow->role[v] == EDDY__ROLE_EXIT &&
            p->analysis->node_frame[v] == frame)
            continue;
        for (size_t i = flow->first_out[v]; i < flow->first_out[v + 1]; i++) {
            const eddy_node to = flow->edge[i].to;

            p->steps++;
            if (to == merge)
                return true;
            if (p->met[to] == merge + 1)
                continue;
            p->met[to] = merge + 1;
            p->queue[n++] = to;
        }
    }
    return false;
}

static eddy_status refuse_shared(const parts *p, eddy_node a, eddy_node b,
                                 eddy_error *err)
{
    const uint32_t frame = p->analysis->node_frame[b];
    const eddy_frame *f = &p->analysis->frames[frame];

    return eddy__report_refuse(
        err, EDDY_E_FRAME_SHARED, eddy__flow_node(p->flow, b),
        p->analysis->frames, frame,
        "%s holds two loops that nothing connects, that of this node and that "
        "of '%s'; give each a frame_name of its own",
        eddy__name_frame(f).text,
        eddy__shorten(eddy__flow_node(p->flow, a)->name).text);
}

/* Looks for two parts with cycles in the frames that are split. */
static eddy_status check_parts(parts *p, eddy_error *err)
{
    const eddy__flow *flow = p->flow;

    memset(p->first, 0xff, p->analysis->n_frames * sizeof *p->first);
    for (eddy_node v = 0; v < flow->n_nodes; v++) {
        uint32_t frame;

        if (!has_back_edge(flow, v))
            continue;
        frame = p->analysis->node_frame[v];
        if (!p->is_split[frame] ||
            p->is_counter[eddy__group_find(p->parent, v)])
            continue;
        if (p->first[frame] != EDDY_NO_NODE &&
            eddy__group_find(p->parent, v) ==
                eddy__group_find(p->parent, p->first[frame]))
            continue;
        if (!is_on_cycle(p, v))
            continue;
        if (p->first[frame] != EDDY_NO_NODE)
            return refuse_shared(p, p->first[frame], v, err);
        p->first[frame] = v;
    }
    return EDDY_OK;
}

static bool has_loops(const eddy_analysis *analysis)
{
    for (size_t f = 0; f < analysis->n_frames; f++)
        if (analysis->has_next[f])
            return true;
    return false;
}

static bool allocate(parts *p, size_t n, size_t n_frames, eddy__arena *scratch)
{
    p->parent = eddy__arena_allocate(scratch, n + n_frames, sizeof *p->parent);
    p->is_counter = eddy__arena_allocate_zeroed(scratch, n + n_frames, 1);
    p->first = eddy__arena_allocate(scratch, n_frames, sizeof *p->first);
    p->is_split = eddy__arena_allocate_zeroed(scratch, n_frames, 1);
    p->met = eddy__arena_allocate_zeroed(scratch, n, sizeof *p->met);
    p->queue = eddy__arena_allocate(scratch, n, sizeof *p->queue);
    return p->parent && p->is_counter && p->first && p->is_split && p->met &&
           p->queue;
}

eddy_status eddy__check_shared_frames(const eddy__flow *flow,
                                      const eddy_analysis *analysis,
                                      eddy__arena *scratch, eddy_error *err)
{
    parts p = {.flow = flow, .analysis = analysis};
    const size_t n_items = flow->n_nodes + analysis->n_frames;

    if (!has_loops(analysis))
        return EDDY_OK;
    if (!allocate(&p, flow->n_nodes, analysis->n_frames, scratch))
        return eddy__fail_memory(err);
    for (size_t i = 0; i < n_items; i++)
        p.parent[i] = (uint32_t)i;
    memset(p.first, 0xff, analysis->n_frames * sizeof *p.first);
    join_edges(&p);
    if (!find_split_frames(&p))
        return EDDY_OK;
    mark_counters(&p);
    return check_parts(&p, err);
}
