/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which nodes need a tangent: those through which some y depends on some x.
 *
 * Dependence follows data edges of dtypes that have gradients.  A handle
 * depends on what is put into its stack or array: once something that depends
 * is, all uses of it do (forward_arrays.c).
 */
#include "autodiff/forward.h"

#include "core/base/status.h"

/* ---- forward from the xs ---- */

typedef struct marking {
    eddy__forward *f;
    uint8_t *marked; /* what allocates: the bits that its uses have got */
    eddy_node *list;
    size_t n;
} marking;

static bool may_carry(const eddy__forward *f, eddy_output from)
{
    return eddy__forward_is_handle(f, from) ||
           eddy__study_has_gradient(
               eddy_graph_output_dtype(f->e.core.graph, from));
}

/* The edge over which the next iteration of a frame that is cut starts. */
static bool is_cut(const eddy__forward *f, eddy_node from, eddy__flow_edge edge)
{
    return eddy__is_back_edge(&f->study.flow, from, edge.to, true) &&
           f->is_cut[f->study.analysis->node_frame[edge.to]];
}

static void mark(marking *m, eddy_node node, uint8_t bit)
{
    if (m->f->activity.state[node] & (bit | EDDY__STOPPED))
        return;
    m->f->activity.state[node] |= bit;
    m->list[m->n++] = node;
}

/*
 * All nodes that allocate or, if `writers`, write what `allocation` does.  What
 * is marked so does not change, so each is gone through once.
 */
static void mark_array(marking *m, eddy_node allocation, bool writers,
                       uint8_t bit)
{
    const eddy__forward *f = m->f;

    if (allocation == EDDY_NO_NODE || (m->marked[allocation] & bit))
        return;
    m->marked[allocation] |= bit;
    for (eddy_node v = f->first_use[allocation]; v != EDDY_NO_NODE;
         v = f->next_use[v]) {
        const bool allocates =
            eddy__forward_allocates(eddy__graph_node(f->e.core.graph, v));

        if ((allocates || writers) &&
            (bit == EDDY__REACHED || (f->activity.state[v] & EDDY__REACHED)))
            mark(m, v, bit);
    }
}

static void reach_readers(marking *m, eddy_node node, bool as_x)
{
    const eddy__flow *flow = &m->f->study.flow;

    for (size_t e = flow->first_out[node]; e < flow->first_out[node + 1]; e++) {
        const eddy__flow_edge edge = flow->edge[e];
        const eddy__node *reader = eddy__flow_node(flow, edge.to);

        if (edge.input == EDDY__CONTROL || eddy__activity_ends(reader) ||
            is_cut(m->f, node, edge) ||
            !may_carry(m->f, reader->inputs[edge.input]) ||
            (as_x &&
             eddy__activity_x(&m->f->activity, reader->inputs[edge.input]) ==
                 EDDY__NOT_FOUND))
            continue;
        mark(m, edge.to, EDDY__REACHED);
        mark_array(m, m->f->allocated_by[edge.to], false, EDDY__REACHED);
    }
}

/* What is sent comes out where it is received. */
static void reach_receivers(marking *m, eddy_node node, bool as_x)
{
    const eddy__broadcasts *broadcasts = &m->f->study.broadcasts;

    for (const eddy__sent_value *b = eddy__broadcast_from(broadcasts, node); b;
         b = b->next)
        if (may_carry(m->f, b->sent) &&
            (!as_x ||
             eddy__activity_x(&m->f->activity, b->sent) != EDDY__NOT_FOUND))
            mark(m, b->receiver, EDDY__REACHED);
}

static void mark_reached(marking *m)
{
    const eddy__asked *asked = &m->f->asked;

    eddy__activity_set_xs(&m->f->activity, asked->xs, asked->n_xs);
    for (size_t i = 0; i < asked->n_xs; i++)
        if (eddy__activity_is_new_x(&m->f->activity, asked->xs[i].node)) {
            reach_readers(m, asked->xs[i].node, true);
            reach_receivers(m, asked->xs[i].node, true);
        }
    for (size_t i = 0; i < m->n; i++) {
        reach_readers(m, m->list[i], false);
        reach_receivers(m, m->list[i], false);
    }
}

/* ---- back from the ys ---- */

static bool is_reached(const eddy__forward *f, eddy_output from)
{
    return (f->activity.state[from.node] & EDDY__REACHED) && may_carry(f, from);
}

static void mark_needed(marking *m)
{
    const eddy_graph *graph = m->f->e.core.graph;
    const eddy_output *ys = m->f->asked.ys;

    m->n = 0;
    for (size_t i = 0; i < m->f->asked.n_ys; i++)
        if (is_reached(m->f, ys[i]))
            mark(m, ys[i].node, EDDY__NEEDED);
    for (size_t i = 0; i < m->n; i++) {
        const eddy__node *n = eddy__graph_node(graph, m->list[i]);
        const eddy__sent_value *b =
            eddy__broadcast_received(&m->f->study.broadcasts, m->list[i]);

        for (uint32_t j = 0; j < n->n_inputs; j++)
            if (is_reached(m->f, n->inputs[j]))
                mark(m, n->inputs[j].node, EDDY__NEEDED);
        if (b && is_reached(m->f, b->sent))
            mark(m, b->sent.node, EDDY__NEEDED);
        mark_array(m, m->f->allocated_by[m->list[i]], true, EDDY__NEEDED);
    }
}

eddy_status eddy__forward_find_active(eddy__forward *f)
{
    marking m = {.f = f};

    m.list = eddy__emit_room(&f->e, f->study.n_nodes + 1, sizeof *m.list);
    m.marked = eddy__emit_zeroed_room(&f->e, f->study.n_nodes, 1);
    if (!m.list || !m.marked)
        return f->e.core.status;
    eddy__activity_begin(&f->activity);
    EDDY_TRY(eddy__forward_find_arrays(f));
    mark_reached(&m);
    mark_needed(&m);
    return EDDY_OK;
}
