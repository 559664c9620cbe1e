/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks the nodes that a split puts inside, by floods from what the caller
 * named, and refuses regions that no loop can be.
 */
#include "frontends/nnc/nnc_region.h"

#include "core/base/status.h"

#define BOTH_WAYS 3u /* on a way from an incoming node, and to a goal */
#define FROM 1u
#define TO 2u

/* A walk over the graph: nodes that wait on a stack, and marks. */
typedef struct walk {
    eddy__nnc_region *r;
    uint8_t *mark;    /* a node: FROM, TO, or what a caller wants */
    eddy_node *stack; /* room for every node twice */
    size_t n;
    bool *idle;       /* a node */
    bool *is_touched; /* a frame around which there is none but the root */
} walk;

static const char *name_of(const eddy__nnc_region *r, eddy_node node)
{
    return eddy__graph_node(r->graph, node)->name;
}

/* Fails at `node`, naming `other` too. */
static eddy_status refuse(const eddy__nnc_region *r, eddy_error *err,
                          eddy_node node, const char *text, eddy_node other)
{
    return eddy__graph_fail_at(err, EDDY_INVALID_ARGUMENT, EDDY_E_SUBGRAPH,
                               eddy__graph_node(r->graph, node), text,
                               name_of(r, node),
                               other == EDDY_NO_NODE ? "" : name_of(r, other));
}

/* What the design calls a tensor and not a node. */
static bool is_leaf(const eddy__nnc_region *r, eddy_node node)
{
    return r->flow.first_in[node] == r->flow.first_in[node + 1];
}

/* ---- walking ---- */

static void push(walk *w, eddy_node node, uint8_t mark)
{
    if (w->mark[node] & mark)
        return;
    w->mark[node] |= mark;
    w->stack[w->n++] = node;
}

/* Marks all that the nodes on the stack lead to, or that leads to them. */
static void flood(walk *w, uint8_t mark)
{
    const eddy__flow *flow = &w->r->flow;

    while (w->n > 0) {
        const eddy_node v = w->stack[--w->n];

        if (mark == FROM)
            for (size_t i = flow->first_out[v]; i < flow->first_out[v + 1]; i++)
                push(w, flow->edge[i].to, mark);
        else
            for (size_t i = flow->first_in[v]; i < flow->first_in[v + 1]; i++)
                if (eddy__flow_is_node(flow->source[i]))
                    push(w, flow->source[i], mark);
    }
}

/* The outermost loop that the node belongs to, its Enters too; 0: none. */
static uint32_t loop_of(const eddy__nnc_region *r, eddy_node node)
{
    uint32_t frame = r->analysis->node_frame[node];

    if (frame == 0 && r->flow.role[node] == EDDY__ROLE_ENTER)
        frame = r->analysis->output_frame[node];
    while (r->analysis->frames[frame].depth > 1)
        frame = r->analysis->frames[frame].parent;
    return frame;
}

/* Notes the loops of nodes with all of `marks`; are there new ones? */
static bool touch_loops(walk *w, uint8_t marks)
{
    bool is_new = false;

    for (eddy_node v = 0; v < w->r->flow.n_nodes; v++) {
        const uint32_t loop = loop_of(w->r, v);

        if (loop == 0 || (w->mark[v] & marks) != marks || w->is_touched[loop])
            continue;
        w->is_touched[loop] = true;
        is_new = true;
    }
    return is_new;
}

/* Marks whole loops, and from there on. */
static void flood_loops(walk *w, uint8_t mark)
{
    for (eddy_node v = 0; v < w->r->flow.n_nodes; v++)
        if (w->is_touched[loop_of(w->r, v)])
            push(w, v, mark);
    flood(w, mark);
}

/* ---- idle nodes ---- */

/*
 * A branch that needs no pivot leaves a Switch of its predicate and Identities
 * of that which nothing reads.  They lead nowhere, and go with the predicate.
 */
static bool may_be_idle(const eddy__nnc_region *r, eddy_node node)
{
    const eddy__flow *flow = &r->flow;
    const size_t first = flow->first_in[node];

    if (r->kind[node] != 0)
        return false;
    if (flow->role[node] == EDDY__ROLE_SWITCH)
        return true;
    return flow->role[node] == EDDY__ROLE_FORWARD &&
           flow->first_in[node + 1] == first + 1 &&
           flow->role[flow->source[first]] == EDDY__ROLE_SWITCH;
}

static bool is_idle(const walk *w, eddy_node node)
{
    const eddy__flow *flow = &w->r->flow;
    bool idle = may_be_idle(w->r, node);

    for (size_t i = flow->first_out[node]; i < flow->first_out[node + 1]; i++)
        idle = idle && w->idle[flow->edge[i].to];
    return idle;
}

/* Gives idle nodes `kind` where all that they read has it, or is constant. */
static void spread_to_idle(walk *w, uint32_t kind)
{
    eddy__nnc_region *r = w->r;

    for (size_t i = 0; i < r->n_order; i++) {
        const eddy_node v = r->order[i];
        bool any = false, all = w->idle[v];

        for (size_t j = r->flow.first_in[v]; j < r->flow.first_in[v + 1]; j++) {
            const bool has = eddy__nnc_is(r, r->flow.source[j], kind);

            any = any || has;
            all = all && (has || is_leaf(r, r->flow.source[j]));
        }
        if (any && all)
            r->kind[v] |= (uint8_t)kind;
    }
}

static void find_idle(walk *w)
{
    for (size_t i = w->r->n_order; i-- > 0;)
        w->idle[w->r->order[i]] = is_idle(w, w->r->order[i]);
}

/* ---- what is inside ---- */

static void mark_named(eddy__nnc_region *r)
{
    const eddy_nnc_split_spec *spec = r->spec;

    for (size_t i = 0; i < spec->n_incoming; i++)
        r->kind[spec->incoming[i]] |= EDDY__NNC_INCOMING;
    for (size_t i = 0; i < spec->n_outgoing; i++)
        r->kind[spec->outgoing[i]] |= EDDY__NNC_OUTGOING;
    for (size_t i = 0; i < spec->n_ends; i++)
        r->kind[spec->ends[i]] |= EDDY__NNC_END;
}

/* What must be reached before the condition can be looked at. */
static void push_before(walk *w)
{
    const eddy_nnc_split_spec *spec = w->r->spec;

    for (size_t i = 0; i < spec->n_outgoing; i++)
        push(w, spec->outgoing[i], TO);
    for (size_t i = 0; i < spec->n_tensors; i++)
        push(w, spec->tensors[i].node, TO);
}

static void push_goals(walk *w)
{
    const eddy_nnc_split_spec *spec = w->r->spec;

    push_before(w);
    for (size_t i = 0; i < spec->n_ends; i++)
        push(w, spec->ends[i], TO);
    for (size_t i = 0; i < spec->n_carried; i++)
        push(w, spec->carried[i].from.node, TO);
}

/* What reads that, and leads to a goal. */
static void push_readers(walk *w, eddy_output value)
{
    const eddy__nnc_region *r = w->r;

    for (size_t i = r->flow.first_out[value.node];
         i < r->flow.first_out[value.node + 1]; i++) {
        const eddy__flow_edge edge = r->flow.edge[i];

        if (edge.input != EDDY__CONTROL && (w->mark[edge.to] & TO) &&
            eddy__graph_node(r->graph, edge.to)->inputs[edge.input].index ==
                value.index)
            push(w, edge.to, FROM);
    }
}

/* What reads a parameter or the count changes with it, named or not. */
static void push_beginnings(walk *w)
{
    const eddy_nnc_split_spec *spec = w->r->spec;

    for (size_t i = 0; i < spec->n_incoming; i++)
        push(w, spec->incoming[i], FROM);
    for (size_t i = 0; i < spec->n_carried; i++)
        push_readers(w, spec->carried[i].to);
    if (spec->counter)
        push_readers(w, *spec->counter);
}

static void find_inside(walk *w)
{
    eddy__nnc_region *r = w->r;

    push_goals(w);
    flood(w, TO);
    push_beginnings(w);
    flood(w, FROM);
    while (touch_loops(w, BOTH_WAYS)) {
        flood_loops(w, FROM);
        flood_loops(w, TO);
    }
    for (eddy_node v = 0; v < r->flow.n_nodes; v++)
        if (w->mark[v] == BOTH_WAYS)
            r->kind[v] |= EDDY__NNC_INSIDE;
    spread_to_idle(w, EDDY__NNC_INSIDE);
}

static void clear(walk *w)
{
    for (size_t v = 0; v < w->r->flow.n_nodes; v++)
        w->mark[v] = 0;
    for (size_t i = 0; i < w->r->analysis->n_frames; i++)
        w->is_touched[i] = false;
}

/* Of what is inside, the part before the condition. */
static void find_before(walk *w)
{
    eddy__nnc_region *r = w->r;

    clear(w);
    push_before(w);
    flood(w, TO);
    while (touch_loops(w, TO))
        flood_loops(w, TO);
    for (eddy_node v = 0; v < r->flow.n_nodes; v++)
        if (eddy__nnc_is(r, v, EDDY__NNC_INSIDE) && w->mark[v])
            r->kind[v] |= EDDY__NNC_BEFORE;
    spread_to_idle(w, EDDY__NNC_BEFORE);
}

static void find_below(walk *w)
{
    eddy__nnc_region *r = w->r;

    clear(w);
    for (eddy_node v = 0; v < r->flow.n_nodes; v++)
        if (eddy__nnc_is(r, v, EDDY__NNC_INSIDE))
            push(w, v, FROM);
    flood(w, FROM);
    for (eddy_node v = 0; v < r->flow.n_nodes; v++)
        if (w->mark[v] && !eddy__nnc_is(r, v, EDDY__NNC_INSIDE))
            r->kind[v] |= EDDY__NNC_BELOW;
}

static eddy_status find_all(eddy__nnc_region *r, eddy_error *err)
{
    const size_t n = r->flow.n_nodes;
    walk w = {
        .r = r,
        .mark = eddy__arena_allocate_zeroed(&r->arena, n, 1),
        .stack = eddy__arena_allocate(&r->arena, n, 2 * sizeof(eddy_node)),
        .idle = eddy__arena_allocate_zeroed(&r->arena, n, sizeof(bool)),
        .is_touched = eddy__arena_allocate_zeroed(
            &r->arena, r->analysis->n_frames, sizeof(bool)),
    };

    if (!w.mark || !w.stack || !w.idle || !w.is_touched)
        return eddy__fail_memory(err);
    find_idle(&w);
    find_inside(&w);
    find_before(&w);
    find_below(&w);
    return EDDY_OK;
}

/* ---- rules ---- */

static eddy_status check_named(const eddy__nnc_region *r, eddy_error *err)
{
    for (eddy_node v = 0; v < r->flow.n_nodes; v++) {
        if (!eddy__nnc_is(
                r, v, EDDY__NNC_INCOMING | EDDY__NNC_OUTGOING | EDDY__NNC_END))
            continue;
        if (eddy__nnc_is_in_frame(r, v))
            return eddy__graph_fail_at(
                err, EDDY_INVALID_ARGUMENT, EDDY_E_FRAME_MIXED,
                eddy__graph_node(r->graph, v),
                "'%.64s' is in the loop of frame '%.64s'; a loop is made of "
                "nodes of the root frame",
                name_of(r, v),
                r->analysis->frames[r->analysis->node_frame[v]].name);
        if (eddy__nnc_is(r, v, EDDY__NNC_INSIDE))
            continue;
        if (eddy__nnc_is(r, v, EDDY__NNC_INCOMING))
            return refuse(r, err, v,
                          "incoming node '%.64s' leads to no outgoing node and "
                          "no end%s",
                          EDDY_NO_NODE);
        return refuse(r, err, v, "no incoming node leads to '%.64s'%s",
                      EDDY_NO_NODE);
    }
    return EDDY_OK;
}

/* The edge from `from` to `v`, which is inside. */
static eddy_status check_in(const eddy__nnc_region *r, eddy_node v,
                            eddy_node from, eddy_error *err)
{
    const bool is_incoming = eddy__nnc_is(r, v, EDDY__NNC_INCOMING);

    if (!eddy__nnc_is(r, from, EDDY__NNC_INSIDE)) {
        if (is_incoming || is_leaf(r, from))
            return EDDY_OK;
        return refuse(r, err, v,
                      "'%.64s' is inside and no incoming node, and an edge "
                      "leads to it from '%.64s', which is outside",
                      from);
    }
    if (is_incoming)
        return refuse(r, err, v,
                      "an edge leads to incoming node '%.64s' from '%.64s', "
                      "which is inside",
                      from);
    if (eddy__nnc_is(r, from, EDDY__NNC_OUTGOING))
        return refuse(r, err, from,
                      "an edge leads from outgoing node '%.64s' to '%.64s', "
                      "which is inside",
                      v);
    if (eddy__nnc_is(r, from, EDDY__NNC_END))
        return refuse(r, err, from,
                      "an edge leads from end '%.64s' to '%.64s', which is "
                      "inside",
                      v);
    return EDDY_OK;
}

static eddy_status check_edges(const eddy__nnc_region *r, eddy_error *err)
{
    const eddy__flow *flow = &r->flow;

    for (eddy_node v = 0; v < flow->n_nodes; v++) {
        if (!eddy__nnc_is(r, v, EDDY__NNC_INSIDE))
            continue;
        for (size_t i = flow->first_in[v]; i < flow->first_in[v + 1]; i++)
            EDDY_TRY(check_in(r, v, flow->source[i], err));
        for (size_t i = flow->first_out[v]; i < flow->first_out[v + 1]; i++)
            if (!eddy__nnc_is(r, flow->edge[i].to, EDDY__NNC_INSIDE) &&
                !eddy__nnc_is(r, v, EDDY__NNC_OUTGOING))
                return refuse(r, err, v,
                              "'%.64s' is inside and no outgoing node, and an "
                              "edge leads from it to '%.64s', which is outside",
                              flow->edge[i].to);
    }
    return EDDY_OK;
}

/* ---- values ---- */

static eddy_status check_above(const eddy__nnc_region *r, eddy_output value,
                               const char *what, eddy_error *err)
{
    if (!eddy__nnc_is(r, value.node, EDDY__NNC_INSIDE | EDDY__NNC_BELOW))
        return EDDY_OK;
    return eddy__graph_fail_at(err, EDDY_INVALID_ARGUMENT, EDDY_E_SUBGRAPH,
                               eddy__graph_node(r->graph, value.node),
                               "%s, '%.64s', depends on what is inside", what,
                               name_of(r, value.node));
}

/* A value of a loop's own iterations is nothing outside of that. */
static eddy_status check_frame(const eddy__nnc_region *r, eddy_output value,
                               eddy_error *err)
{
    const uint32_t frame = r->analysis->output_frame[value.node];

    if (frame == 0)
        return EDDY_OK;
    return eddy__graph_fail_at(
        err, EDDY_INVALID_ARGUMENT, EDDY_E_FRAME_MIXED,
        eddy__graph_node(r->graph, value.node),
        "'%.64s' gives a value in the loop of frame '%.64s'; "
        "one of the root frame is wanted",
        name_of(r, value.node), r->analysis->frames[frame].name);
}

static bool is_read_inside(const eddy__nnc_region *r, eddy_output value)
{
    const eddy__flow *flow = &r->flow;

    for (size_t i = flow->first_out[value.node];
         i < flow->first_out[value.node + 1]; i++) {
        const eddy__flow_edge edge = flow->edge[i];

        if (edge.input != EDDY__CONTROL &&
            eddy__nnc_is(r, edge.to, EDDY__NNC_INSIDE) &&
            eddy__graph_node(r->graph, edge.to)->inputs[edge.input].index ==
                value.index)
            return true;
    }
    return false;
}

static eddy_status check_dtype(const eddy__nnc_region *r, eddy_output from,
                               eddy_output to, eddy_error *err)
{
    const eddy_dtype given = eddy_graph_output_dtype(r->graph, from);
    const eddy_dtype wanted = eddy_graph_output_dtype(r->graph, to);

    if (given == wanted)
        return EDDY_OK;
    return eddy__graph_fail_at(
        err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE,
        eddy__graph_node(r->graph, from.node),
        "'%.64s' is %s, and '%.64s', which takes its value, "
        "is %s",
        name_of(r, from.node), eddy_dtype_name(given), name_of(r, to.node),
        eddy_dtype_name(wanted));
}

/* Does anything else take the place of `to` too? */
static bool is_taken(const eddy__nnc_region *r, size_t i)
{
    const eddy_nnc_split_spec *spec = r->spec;
    const eddy_output to = spec->carried[i].to;

    for (size_t j = 0; j < i; j++)
        if (eddy__nnc_equal(spec->carried[j].to, to))
            return true;
    return spec->counter && eddy__nnc_equal(*spec->counter, to);
}

static eddy_status check_carried(const eddy__nnc_region *r, size_t i,
                                 eddy_error *err)
{
    const eddy_nnc_carried carried = r->spec->carried[i];
    const eddy_node to = carried.to.node;

    EDDY_TRY(check_frame(r, carried.from, err));
    EDDY_TRY(
        check_above(r, carried.to, "what takes a value that is carried", err));
    if (is_taken(r, i))
        return refuse(r, err, to, "'%.64s' takes two values that are carried%s",
                      EDDY_NO_NODE);
    if (!is_read_inside(r, carried.to))
        return refuse(r, err, to,
                      "'%.64s' takes a value that is carried from '%.64s', and "
                      "no node inside reads it",
                      carried.from.node);
    if (eddy__nnc_is(r, carried.from.node, EDDY__NNC_BELOW))
        return check_above(r, carried.from, "what is carried", err);
    EDDY_TRY(check_dtype(r, carried.from, carried.to, err));
    if (!r->spec->initial)
        return EDDY_OK;
    EDDY_TRY(check_frame(r, r->spec->initial[i], err));
    EDDY_TRY(check_above(r, r->spec->initial[i], "a first value", err));
    return check_dtype(r, r->spec->initial[i], carried.to, err);
}

static eddy_status check_values(const eddy__nnc_region *r, eddy_error *err)
{
    const eddy_nnc_split_spec *spec = r->spec;

    for (size_t i = 0; i < spec->n_carried; i++)
        EDDY_TRY(check_carried(r, i, err));
    for (size_t i = 0; i < spec->n_tensors; i++) {
        EDDY_TRY(check_frame(r, spec->tensors[i], err));
        if (eddy__nnc_is(r, spec->tensors[i].node, EDDY__NNC_BELOW))
            return check_above(r, spec->tensors[i],
                               "what the condition is about", err);
    }
    if (!spec->counter)
        return EDDY_OK;
    EDDY_TRY(check_frame(r, *spec->counter, err));
    if (eddy_graph_output_dtype(r->graph, *spec->counter) != EDDY_INT64)
        return eddy__graph_fail_at(
            err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE,
            eddy__graph_node(r->graph, spec->counter->node),
            "the counter is %s, int64 is wanted",
            eddy_dtype_name(eddy_graph_output_dtype(r->graph, *spec->counter)));
    return check_above(r, *spec->counter, "the counter", err);
}

/* ---- the whole ---- */

static eddy_status part_in_two(eddy__nnc_region *r, eddy_error *err)
{
    const eddy_node *order = r->order;
    const size_t n = r->n_order;

    r->before = eddy__arena_allocate(&r->arena, n, sizeof *r->before);
    r->after = eddy__arena_allocate(&r->arena, n, sizeof *r->after);
    if (!r->before || !r->after)
        return eddy__fail_memory(err);
    for (size_t i = 0; i < n; i++) {
        if (eddy__nnc_is(r, order[i], EDDY__NNC_BEFORE))
            r->before[r->n_before++] = order[i];
        else if (eddy__nnc_is(r, order[i], EDDY__NNC_INSIDE))
            r->after[r->n_after++] = order[i];
    }
    return EDDY_OK;
}

eddy_status eddy__nnc_region_init(eddy__nnc_region *region,
                                  const eddy_graph *graph,
                                  const eddy_nnc_split_spec *spec,
                                  eddy_error *err)
{
    *region = (eddy__nnc_region){
        .graph = graph,
        .spec = spec,
        .arena = {.allocator = graph->arena.allocator},
        .selection = {.graph = graph},
    };
    region->kind = eddy__arena_allocate_zeroed(&region->arena, graph->n_nodes,
                                               sizeof *region->kind);
    if (!region->kind)
        return eddy__fail_memory(err);
    EDDY_TRY(eddy__analysis_build(&region->selection, &region->analysis, err));
    EDDY_TRY(eddy__flow_build(&region->flow, &region->selection, &region->arena,
                              err));
    EDDY_TRY(eddy__flow_order(&region->flow, &region->arena, &region->order,
                              &region->n_order, err));
    mark_named(region);
    EDDY_TRY(find_all(region, err));
    EDDY_TRY(check_named(region, err));
    EDDY_TRY(check_edges(region, err));
    EDDY_TRY(check_values(region, err));
    return part_in_two(region, err);
}

void eddy__nnc_region_deinit(eddy__nnc_region *region)
{
    eddy_analysis_destroy(region->analysis);
    eddy__arena_destroy(&region->arena);
}
