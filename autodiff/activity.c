/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which nodes a walk visits: those through which some y depends on some x.
 *
 * Dependence follows data edges of dtypes that have gradients, tapes from their
 * push to their pop, and broadcasts from what is sent to who receives it.  It
 * does not follow the back edges of the base frame and of those around it: what
 * is differentiated there is one iteration.  What an x outside did in the
 * iterations before is another matter: accumulate.c and recompute.c.
 */
#include "autodiff/activity.h"

#include "core/base/status.h"

#include <string.h>

eddy_status eddy__activity_init(eddy__activity *a, eddy__gradient_emitter *e,
                                const eddy__study *study, uint32_t base,
                                const eddy__asked *asked)
{
    *a = (eddy__activity){
        .e = e, .study = study, .stop = asked->stop, .n_stop = asked->n_stop};
    a->state = eddy__emit_zeroed_room(e, study->n_nodes, 1);
    a->x_at = eddy__emit_room(e, eddy__study_slots(study), sizeof *a->x_at);
    a->is_around = eddy__emit_zeroed_room(e, study->analysis->n_frames, 1);
    if (e->core.status != EDDY_OK)
        return e->core.status;
    a->is_around[0] = 1;
    eddy__activity_add_base(a, base);
    return EDDY_OK;
}

void eddy__activity_add_base(eddy__activity *a, uint32_t base)
{
    for (; !a->is_around[base]; base = a->study->analysis->frames[base].parent)
        a->is_around[base] = 1;
}

/* ---- of single nodes ---- */

bool eddy__activity_ends(const eddy__node *node)
{
    return !node->op || (node->op->flags & EDDY_OP_NOT_DIFFERENTIABLE) ||
           strcmp(node->op_name, "StopGradient") == 0;
}

bool eddy__activity_may_carry(const eddy__study *study, eddy_output from)
{
    return eddy__study_has_gradient(
               eddy_graph_output_dtype(study->graph, from)) ||
           eddy__study_variable(study, from) != EDDY_NO_NODE;
}

/* Does an iteration of the base frame, or of one around it, start there? */
static bool is_base_merge(const eddy__activity *a, eddy_node node)
{
    const uint32_t frame = a->study->analysis->node_frame[node];

    return frame != 0 && frame != EDDY__NOT_FOUND &&
           eddy__trace_is_loop_merge(&a->study->flow, node) &&
           a->is_around[frame];
}

bool eddy__activity_is_edge(const eddy__activity *a, eddy_output from)
{
    return (a->state[from.node] & (EDDY__REACHED | EDDY__IS_X)) &&
           eddy__activity_may_carry(a->study, from);
}

typedef struct marking {
    eddy__activity *a;
    bool counts_history; /* follow back edges of the base frame, too */
    eddy_node *list;     /* nodes marked, of which `n` */
    size_t n;
} marking;

static bool ends_way(const marking *m, eddy_node node)
{
    return !m->counts_history && is_base_merge(m->a, node);
}

/* ---- forward from the xs ---- */

static void reach(marking *m, eddy_node node)
{
    if (m->a->state[node] & (EDDY__REACHED | EDDY__STOPPED))
        return;
    m->a->state[node] |= EDDY__REACHED;
    m->list[m->n++] = node;
}

static void reach_readers(marking *m, eddy_node node, bool as_x)
{
    const eddy__flow *flow = &m->a->study->flow;

    for (size_t e = flow->first_out[node]; e < flow->first_out[node + 1]; e++) {
        const eddy__flow_edge edge = flow->edge[e];
        const eddy__node *reader = eddy__flow_node(flow, edge.to);

        if (edge.input == EDDY__CONTROL || eddy__activity_ends(reader) ||
            ends_way(m, edge.to) ||
            !eddy__activity_may_carry(m->a->study,
                                      reader->inputs[edge.input]) ||
            (as_x && eddy__activity_x(m->a, reader->inputs[edge.input]) ==
                         EDDY__NOT_FOUND))
            continue;
        reach(m, edge.to);
    }
}

/* What is sent comes out where it is received. */
static void reach_receivers(marking *m, eddy_node node, bool as_x)
{
    const eddy__broadcasts *broadcasts = &m->a->study->broadcasts;

    for (const eddy__sent_value *b = eddy__broadcast_from(broadcasts, node); b;
         b = b->next)
        if (eddy__activity_may_carry(m->a->study, b->sent) &&
            (!as_x || eddy__activity_x(m->a, b->sent) != EDDY__NOT_FOUND))
            reach(m, b->receiver);
}

/* What is pushed comes out where the stack is popped, wherever that is. */
static void reach_pop(marking *m, eddy_node node)
{
    const eddy__tapes *tapes = &m->a->study->tapes;
    const uint32_t id = tapes->of_push[node];

    if (id == 0)
        return;
    if (tapes->tapes[id - 1].is_tape) {
        reach(m, tapes->tapes[id - 1].pop);
        return;
    }
    if (tapes->tapes[id - 1].pop == EDDY_NO_NODE ||
        m->a->state[tapes->tapes[id - 1].pop] & EDDY__REACHED)
        return; /* there are none, or they are all reached */
    for (eddy_node v = 0; v < m->a->study->n_nodes; v++)
        if (tapes->of_pop[v] == id)
            reach(m, v);
}

static void mark_reached(marking *m, const eddy_output *xs, size_t n_xs)
{
    eddy__activity_set_xs(m->a, xs, n_xs);
    for (size_t i = 0; i < n_xs; i++)
        if (eddy__activity_is_new_x(m->a, xs[i].node)) {
            reach_readers(m, xs[i].node, true);
            reach_receivers(m, xs[i].node, true);
        }
    for (size_t i = 0; i < m->n; i++) {
        reach_readers(m, m->list[i], false);
        reach_receivers(m, m->list[i], false);
        reach_pop(m, m->list[i]);
    }
}

/* ---- back from the ys ---- */

static void need(marking *m, eddy_node node)
{
    if (m->a->state[node] & EDDY__NEEDED)
        return;
    m->a->state[node] |= EDDY__NEEDED;
    m->list[m->n++] = node;
}

static void need_sources(marking *m, eddy_node node)
{
    const eddy__node *n = eddy__graph_node(m->a->study->graph, node);
    const eddy__tape_stack *tape = eddy__tape_of(&m->a->study->tapes, node);
    const eddy__sent_value *b =
        eddy__broadcast_received(&m->a->study->broadcasts, node);

    if (eddy__activity_ends(n) || ends_way(m, node))
        return;
    for (uint32_t i = 0; i < n->n_inputs; i++)
        if (eddy__activity_is_edge(m->a, n->inputs[i]))
            need(m, n->inputs[i].node);
    if (tape && tape->pop == node && tape->push != EDDY_NO_NODE)
        need(m, tape->push);
    if (b && eddy__activity_is_edge(m->a, b->sent))
        need(m, b->sent.node);
}

static void mark_needed(marking *m, const eddy_output *ys, size_t n_ys)
{
    m->n = 0;
    for (size_t i = 0; i < n_ys; i++)
        if (eddy__activity_is_edge(m->a, ys[i]))
            need(m, ys[i].node);
    for (size_t i = 0; i < m->n; i++)
        need_sources(m, m->list[i]);
}

/* A stack with further uses would hide what they do: what is popped is only
 * active if something that was pushed is. */
static eddy_status check_stacks(eddy__activity *a)
{
    const eddy__tapes *tapes = &a->study->tapes;

    for (eddy_node v = 0; v < a->study->n_nodes; v++) {
        const eddy__tape_stack *tape;

        if (tapes->of_pop[v] == 0)
            continue;
        tape = &tapes->tapes[tapes->of_pop[v] - 1];
        if (!tape->is_tape && eddy__activity_has(a, v))
            return eddy__emit_fail(
                a->e, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT, tape->stack,
                "a gradient goes through this stack, which is not used by "
                "just one push and one pop");
    }
    return EDDY_OK;
}

/* ---- loops without a gradient ---- */

static bool has_no_back_prop(const eddy__activity *a, const eddy_frame *frame)
{
    const eddy_attr *attr =
        frame->loop_cond == EDDY_NO_NODE
            ? NULL
            : eddy__node_attr(
                  eddy__graph_node(a->study->graph, frame->loop_cond),
                  "_back_prop");

    return attr && attr->kind == EDDY_ATTR_BOOL && attr->n == 1 &&
           !attr->as.bools[0];
}

/* Nothing depends on what enters a loop that was built with no_back_prop. */
static void stop_at_loops(eddy__activity *a)
{
    for (eddy_node v = 0; v < a->study->n_nodes; v++) {
        const uint32_t frame = a->study->analysis->output_frame[v];

        if (a->study->flow.role[v] == EDDY__ROLE_ENTER &&
            frame != EDDY__NOT_FOUND && !a->is_around[frame] &&
            has_no_back_prop(a, &a->study->analysis->frames[frame]))
            a->state[v] |= EDDY__STOPPED;
    }
}

/* ---- finding ---- */

void eddy__activity_begin(eddy__activity *a)
{
    memset(a->state, 0, a->study->n_nodes);
    for (size_t i = 0; i < a->n_stop; i++)
        a->state[a->stop[i].node] |= EDDY__STOPPED;
    stop_at_loops(a);
}

void eddy__activity_set_xs(eddy__activity *a, const eddy_output *xs,
                           size_t n_xs)
{
    const size_t n_slots = eddy__study_slots(a->study);

    for (size_t i = 0; i < n_slots; i++)
        a->x_at[i] = EDDY__NOT_FOUND;
    for (size_t i = n_xs; i-- > 0;)
        a->x_at[eddy__study_slot(a->study, xs[i])] = (uint32_t)i;
}

bool eddy__activity_is_new_x(eddy__activity *a, eddy_node node)
{
    const bool is_new = !(a->state[node] & EDDY__IS_X);

    a->state[node] |= EDDY__IS_X;
    return is_new;
}

eddy_status eddy__activity_find_history(eddy__activity *a,
                                        const eddy_output *ys, size_t n_ys,
                                        const eddy_output *x,
                                        bool *out_has_history)
{
    const eddy_frame *frames = a->study->analysis->frames;
    const uint32_t depth = frames[eddy__study_frame(a->study, *x)].depth;
    marking m = {.a = a, .counts_history = true};

    *out_has_history = false;
    m.list = eddy__emit_room(a->e, a->study->n_nodes + 1, sizeof *m.list);
    if (!m.list)
        return a->e->core.status;
    eddy__activity_begin(a);
    mark_reached(&m, x, 1);
    mark_needed(&m, ys, n_ys);
    for (eddy_node v = 0; v < a->study->n_nodes; v++)
        if (eddy__activity_has(a, v) && is_base_merge(a, v) &&
            frames[a->study->analysis->node_frame[v]].depth > depth)
            *out_has_history = true;
    return EDDY_OK;
}

eddy_status eddy__activity_find(eddy__activity *a, const eddy_output *ys,
                                size_t n_ys, const eddy_output *xs, size_t n_xs)
{
    marking m = {.a = a};

    m.list = eddy__emit_room(a->e, a->study->n_nodes + 1, sizeof *m.list);
    if (!m.list)
        return a->e->core.status;
    eddy__activity_begin(a);
    mark_reached(&m, xs, n_xs);
    mark_needed(&m, ys, n_ys);
    return check_stacks(a);
}
