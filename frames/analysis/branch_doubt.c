/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spreads doubt from nodes that are not exact along their edges, and in and out
 * of frames by their doors.
 */
#include "frames/analysis/branch_doubt.h"

#include "core/base/status.h"

/* The doors of a frame are its Enters and Exits. */
typedef struct spreading {
    const eddy__flow *flow;
    const eddy_analysis *analysis;
    uint8_t *is_exact;
    eddy_node *stack; /* nodes whose outputs are not exact */
    size_t n;
    uint8_t *is_pushed;
    eddy_node *first_door, *next_door;
    uint8_t *is_marked; /* a frame: where it runs is not exact */
} spreading;

static void push_doubt(spreading *s, eddy_node node)
{
    if (!s->is_pushed[node])
        s->stack[s->n++] = node;
    s->is_pushed[node] = 1;
}

static void doubt_frame(spreading *s, uint32_t frame)
{
    if (s->is_marked[frame])
        return;
    s->is_marked[frame] = 1;
    for (eddy_node v = s->first_door[frame]; v != EDDY_NO_NODE;
         v = s->next_door[v])
        push_doubt(s, v);
}

/* What an Enter puts out is as exact as its frame is. */
static void doubt(spreading *s, eddy_node node)
{
    s->is_exact[node] = 0;
    if (s->flow->role[node] == EDDY__ROLE_ENTER)
        doubt_frame(s, s->analysis->output_frame[node]);
    else
        push_doubt(s, node);
}

static void follow(spreading *s, eddy_node from)
{
    const eddy__flow *flow = s->flow;

    for (size_t e = flow->first_out[from]; e < flow->first_out[from + 1]; e++) {
        const eddy__flow_edge edge = flow->edge[e];
        const bool is_data = edge.input != EDDY__CONTROL;
        const uint8_t role = flow->role[edge.to];

        if (role != EDDY__ROLE_CONTROL_TRIGGER &&
            (is_data || role != EDDY__ROLE_MERGE) &&
            !eddy__is_back_edge(flow, from, edge.to, is_data))
            doubt(s, edge.to);
    }
}

static void list_doors(spreading *s)
{
    const eddy_analysis *a = s->analysis;

    for (size_t frame = 0; frame < a->n_frames; frame++)
        s->first_door[frame] = EDDY_NO_NODE;
    for (eddy_node v = 0; v < s->flow->n_nodes; v++) {
        const uint8_t role = s->flow->role[v];
        uint32_t frame;

        if (role != EDDY__ROLE_ENTER && role != EDDY__ROLE_EXIT)
            continue;
        frame =
            role == EDDY__ROLE_ENTER ? a->output_frame[v] : a->node_frame[v];
        s->next_door[v] = s->first_door[frame];
        s->first_door[frame] = v;
    }
}

static bool allocate(spreading *s, eddy__arena *scratch)
{
    const size_t n = s->flow->n_nodes;
    const size_t n_frames = s->analysis->n_frames;

    s->stack = eddy__arena_allocate(scratch, n, sizeof *s->stack);
    s->is_pushed = eddy__arena_allocate_zeroed(scratch, n, 1);
    s->next_door = eddy__arena_allocate(scratch, n, sizeof *s->next_door);
    s->first_door = eddy__arena_allocate(scratch, n_frames, sizeof(eddy_node));
    s->is_marked = eddy__arena_allocate_zeroed(scratch, n_frames, 1);
    return s->stack && s->is_pushed && s->next_door && s->first_door &&
           s->is_marked;
}

eddy_status eddy__spread_doubt(const eddy__flow *flow, eddy_analysis *analysis,
                               eddy__arena *scratch, eddy_error *err)
{
    const eddy__branches *b = &analysis->branches;
    spreading s = {.flow = flow, .analysis = analysis, .is_exact = b->is_exact};

    if (!allocate(&s, scratch))
        return eddy__fail_memory(err);
    list_doors(&s);
    for (eddy_node v = 0; v < flow->n_nodes; v++) {
        if (!b->is_exact[v])
            doubt(&s, v);
        if (flow->role[v] == EDDY__ROLE_ENTER &&
            b->of_node[v] != b->of_frame[analysis->output_frame[v]])
            doubt_frame(&s, analysis->output_frame[v]);
    }
    while (s.n > 0)
        follow(&s, s.stack[--s.n]);
    return EDDY_OK;
}
