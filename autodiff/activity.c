/*
 * Which nodes the walk visits: those through which some y depends on some x.
 *
 * Dependence follows data edges of dtypes that have gradients, and tapes from
 * their push to their pop.  It does not follow the back edges of the home frame
 * and of those around it: what is differentiated there is one iteration.  What
 * an x outside did in the iterations before is another matter: history.c.
 */
#include "autodiff/walk.h"

#include "core/base/status.h"
#include "frames/build/builder.h"

#include <string.h>

bool eddy__dtype_has_gradient(eddy_dtype dtype)
{
    return eddy__dtype_in(dtype, EDDY__FLOATS | EDDY__COMPLEXES |
                                     EDDY__DTYPE_BIT(EDDY_VARIANT));
}

static bool is_one_of(eddy_output output, const eddy_output *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (list[i].node == output.node && list[i].index == output.index)
            return true;
    return false;
}

static bool ends_dependence(const eddy__node *node)
{
    return !node->op || (node->op->flags & EDDY_OP_NOT_DIFFERENTIABLE) ||
           strcmp(node->op_name, "StopGradient") == 0;
}

/* Does an iteration of the home frame, or of one around it, start there? */
static bool is_home_merge(const eddy__walk *w, eddy_node node)
{
    const uint32_t frame = w->analysis->node_frame[node];

    return frame != 0 && frame != EDDY__NOT_FOUND && w->scopes[frame].is_home &&
           eddy__is_loop_merge(&w->flow, node);
}

static bool ends_way(const eddy__walk *w, eddy_node node)
{
    return !w->counts_history && is_home_merge(w, node);
}

eddy_node eddy__variable_of(const eddy__walk *w, eddy_output v)
{
    if (eddy_graph_output_dtype(w->graph, v) != EDDY_RESOURCE)
        return EDDY_NO_NODE;
    while (v.node < w->n_nodes) {
        const eddy__node *node = eddy__graph_node(w->graph, v.node);
        const uint32_t role = w->flow.role[v.node];

        if (strcmp(node->op_name, "VarHandleOp") == 0)
            return v.node;
        if ((role != EDDY__ROLE_FORWARD || v.index != 0) &&
            role != EDDY__ROLE_ENTER &&
            !eddy__is_branch_switch(&w->flow, v.node))
            break;
        v = node->inputs[0];
    }
    return EDDY_NO_NODE;
}

/* The gradient of a variable is that of its value. */
static bool may_carry(const eddy__walk *w, eddy_output from)
{
    return eddy__dtype_has_gradient(eddy_graph_output_dtype(w->graph, from)) ||
           eddy__variable_of(w, from) != EDDY_NO_NODE;
}

bool eddy__is_active_edge(const eddy__walk *w, eddy_output from)
{
    return (w->state[from.node] & (EDDY__REACHED | EDDY__IS_X)) &&
           may_carry(w, from);
}

/* ---- forward from the xs ---- */

typedef struct marking {
    eddy__walk *w;
    const eddy_output *xs;
    size_t n_xs;
    eddy_node *list; /* nodes marked, of which `n` */
    size_t n;
} marking;

static void reach(marking *m, eddy_node node)
{
    if (m->w->state[node] & (EDDY__REACHED | EDDY__STOPPED))
        return;
    m->w->state[node] |= EDDY__REACHED;
    m->list[m->n++] = node;
}

static void reach_readers(marking *m, eddy_node node, bool as_x)
{
    const eddy__flow *flow = &m->w->flow;

    for (size_t e = flow->first_out[node]; e < flow->first_out[node + 1]; e++) {
        const eddy__edge edge = flow->edge[e];
        const eddy__node *reader = eddy__flow_node(flow, edge.to);

        if (edge.input == EDDY__CONTROL || ends_dependence(reader) ||
            ends_way(m->w, edge.to) ||
            !may_carry(m->w, reader->inputs[edge.input]) ||
            (as_x && !is_one_of(reader->inputs[edge.input], m->xs, m->n_xs)))
            continue;
        reach(m, edge.to);
    }
}

static void reach_pop(marking *m, eddy_node node)
{
    const eddy__tape *tape = eddy__tape_of(&m->w->tapes, node);

    if (tape && tape->push == node && tape->pop != EDDY_NO_NODE)
        reach(m, tape->pop);
}

static void mark_reached(marking *m)
{
    for (size_t i = 0; i < m->n_xs; i++) {
        m->w->state[m->xs[i].node] |= EDDY__IS_X;
        reach_readers(m, m->xs[i].node, true);
    }
    for (size_t i = 0; i < m->n; i++) {
        reach_readers(m, m->list[i], false);
        reach_pop(m, m->list[i]);
    }
}

/* ---- back from the ys ---- */

static void need(marking *m, eddy_node node)
{
    if (m->w->state[node] & EDDY__NEEDED)
        return;
    m->w->state[node] |= EDDY__NEEDED;
    m->list[m->n++] = node;
}

static void need_sources(marking *m, eddy_node node)
{
    const eddy__node *n = eddy__graph_node(m->w->graph, node);
    const eddy__tape *tape = eddy__tape_of(&m->w->tapes, node);

    if (ends_dependence(n) || ends_way(m->w, node))
        return;
    for (uint32_t i = 0; i < n->n_inputs; i++)
        if (eddy__is_active_edge(m->w, n->inputs[i]))
            need(m, n->inputs[i].node);
    if (tape && tape->pop == node && tape->push != EDDY_NO_NODE)
        need(m, tape->push);
}

static void mark_needed(marking *m, const eddy_output *ys, size_t n_ys)
{
    m->n = 0;
    for (size_t i = 0; i < n_ys; i++)
        if (eddy__is_active_edge(m->w, ys[i]))
            need(m, ys[i].node);
    for (size_t i = 0; i < m->n; i++)
        need_sources(m, m->list[i]);
}

/* A stack with further uses would hide what they do. */
static eddy_status check_stacks(eddy__walk *w)
{
    for (size_t i = 0; i < w->tapes.n; i++) {
        const eddy__tape *tape = &w->tapes.tapes[i];

        if (!tape->is_tape && tape->push != EDDY_NO_NODE &&
            tape->pop != EDDY_NO_NODE && eddy__is_active(w, tape->push) &&
            eddy__is_active(w, tape->pop))
            return eddy__walk_fail(
                w, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT, tape->stack,
                "a gradient goes through this stack, which is not used by "
                "just one push and one pop");
    }
    return EDDY_OK;
}

/* ---- what is not there yet ---- */

/* The Merge of a loop that is open: its back edge is still to come. */
bool eddy__is_open_merge(const eddy__walk *w, eddy_node node)
{
    const eddy__node *n = eddy__graph_node(w->graph, node);

    return eddy__is_loop_merge(&w->flow, node) && n->n_inputs == 2 &&
           n->inputs[0].node == n->inputs[1].node &&
           n->inputs[0].index == n->inputs[1].index;
}

bool eddy__is_open_frame(const eddy__walk *w, uint32_t frame)
{
    const eddy_frame *f = &w->analysis->frames[frame];

    for (size_t i = 0; i < f->n_variables; i++)
        if (f->variables[i].merge != EDDY_NO_NODE &&
            eddy__is_open_merge(w, f->variables[i].merge))
            return true;
    return false;
}

static void note_deferred(const eddy__walk *w, eddy_node node,
                          eddy__waits *waits)
{
    const eddy__builder *b = w->graph->builder;
    const eddy__deferred *d =
        b && b->n_deferred > 0 ? eddy__deferred_of(b, node) : NULL;

    if (d && d->level < waits->level)
        waits->level = d->level;
}

static void note_open(const eddy__walk *w, eddy_node node, eddy__waits *waits)
{
    const uint32_t frame = w->analysis->node_frame[node];
    const uint32_t depth = w->analysis->frames[frame].depth;

    if (depth > waits->depth) {
        waits->depth = depth;
        waits->frame = frame;
    }
}

static void look(marking *m, uint8_t *is_seen, eddy_node node)
{
    if (is_seen[node] || (m->w->state[node] & EDDY__STOPPED))
        return;
    is_seen[node] = 1;
    m->list[m->n++] = node;
}

static void look_behind(marking *m, uint8_t *is_seen, eddy_node node)
{
    const eddy__node *n = eddy__graph_node(m->w->graph, node);
    const eddy__tape *tape = eddy__tape_of(&m->w->tapes, node);

    if (ends_dependence(n))
        return;
    for (uint32_t i = 0; i < n->n_inputs; i++)
        if (may_carry(m->w, n->inputs[i]))
            look(m, is_seen, n->inputs[i].node);
    if (tape && tape->pop == node && tape->push != EDDY_NO_NODE)
        look(m, is_seen, tape->push);
}

eddy_status eddy__find_waits(eddy__walk *w, const eddy_output *ys, size_t n_ys,
                             const uint8_t *is_cut, eddy__waits *out_waits)
{
    uint8_t *is_seen = eddy__arena_allocate_zeroed(&w->arena, w->n_nodes, 1);
    marking m = {.w = w};

    *out_waits = (eddy__waits){.level = EDDY__NOT_FOUND};
    m.list = eddy__arena_allocate(&w->arena, w->n_nodes + 1, sizeof *m.list);
    if (!is_seen || !m.list)
        return eddy__fail_memory(w->err);
    eddy__begin_marks(w);
    for (size_t i = 0; i < n_ys; i++)
        if (may_carry(w, ys[i]))
            look(&m, is_seen, ys[i].node);
    for (size_t i = 0; i < m.n; i++) {
        const eddy_node node = m.list[i];

        note_deferred(w, node, out_waits);
        if (eddy__is_open_merge(w, node))
            note_open(w, node, out_waits);
        else if (!eddy__is_loop_merge(&w->flow, node) ||
                 !is_cut[w->analysis->node_frame[node]])
            look_behind(&m, is_seen, node);
    }
    return EDDY_OK;
}

/* ---- loops without a gradient ---- */

static bool is_around_home(const eddy__walk *w, uint32_t frame)
{
    const eddy_frame *frames = w->analysis->frames;
    uint32_t f = w->home;

    while (f != frame && f != 0)
        f = frames[f].parent;
    return f == frame;
}

static bool has_no_back_prop(const eddy__walk *w, const eddy_frame *frame)
{
    const eddy_attr *attr =
        frame->loop_cond == EDDY_NO_NODE
            ? NULL
            : eddy__node_attr(eddy__graph_node(w->graph, frame->loop_cond),
                              "_back_prop");

    return attr && attr->kind == EDDY_ATTR_BOOL && attr->n == 1 &&
           !attr->as.bools[0];
}

/* Nothing depends on what enters a loop that was built with no_back_prop. */
static void stop_at_loops(eddy__walk *w)
{
    for (eddy_node v = 0; v < w->n_nodes; v++) {
        const uint32_t frame = w->analysis->output_frame[v];

        if (w->flow.role[v] == EDDY__ROLE_ENTER && !is_around_home(w, frame) &&
            has_no_back_prop(w, &w->analysis->frames[frame]))
            w->state[v] |= EDDY__STOPPED;
    }
}

void eddy__begin_marks(eddy__walk *w)
{
    memset(w->state, 0, w->n_nodes);
    for (size_t i = 0; w->options && i < w->options->n_stop; i++)
        w->state[w->options->stop[i].node] |= EDDY__STOPPED;
    stop_at_loops(w);
}

eddy_status eddy__find_history(eddy__walk *w, const eddy_output *ys,
                               size_t n_ys, const eddy_output *x,
                               bool *out_has_history)
{
    const eddy_frame *frames = w->analysis->frames;
    const uint32_t depth = frames[eddy__frame_of(w, *x)].depth;
    marking m = {.w = w, .xs = x, .n_xs = 1};

    *out_has_history = false;
    m.list = eddy__arena_allocate(&w->arena, w->n_nodes + 1, sizeof *m.list);
    if (!m.list)
        return eddy__fail_memory(w->err);
    eddy__begin_marks(w);
    w->counts_history = true;
    mark_reached(&m);
    mark_needed(&m, ys, n_ys);
    w->counts_history = false;
    for (eddy_node v = 0; v < w->n_nodes; v++)
        if (eddy__is_active(w, v) && is_home_merge(w, v) &&
            frames[w->analysis->node_frame[v]].depth > depth)
            *out_has_history = true;
    return EDDY_OK;
}

eddy_status eddy__find_active(eddy__walk *w, const eddy_output *ys, size_t n_ys,
                              const eddy_output *xs, size_t n_xs)
{
    marking m = {.w = w, .xs = xs, .n_xs = n_xs};

    m.list = eddy__arena_allocate(&w->arena, w->n_nodes + 1, sizeof *m.list);
    if (!m.list)
        return eddy__fail_memory(w->err);
    eddy__begin_marks(w);
    mark_reached(&m);
    mark_needed(&m, ys, n_ys);
    return check_stacks(w);
}
