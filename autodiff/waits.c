/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ys may depend on what is not there yet: the next values of loops that are
 * open, and values that are deferred until one has ended.
 */
#include "autodiff/waits.h"

#include "frames/build/builder.h"

typedef struct looking {
    eddy__activity *a;
    uint8_t *is_seen;
    eddy_node *list; /* nodes seen, of which `n` */
    size_t n;
} looking;

static void note_deferred(const eddy__activity *a, eddy_node node,
                          eddy__waits *waits)
{
    const eddy__builder *b = a->study->graph->builder;
    const eddy__deferred *d =
        b && b->n_deferred > 0 ? eddy__deferred_of(b, node) : NULL;

    if (d && d->level < waits->level)
        waits->level = d->level;
}

static void note_open(const eddy__activity *a, eddy_node node,
                      eddy__waits *waits)
{
    const uint32_t frame = a->study->analysis->node_frame[node];
    const uint32_t depth = a->study->analysis->frames[frame].depth;

    if (depth > waits->depth) {
        waits->depth = depth;
        waits->frame = frame;
    }
}

static void look(looking *m, eddy_node node)
{
    if (m->is_seen[node] || (m->a->state[node] & EDDY__STOPPED))
        return;
    m->is_seen[node] = 1;
    m->list[m->n++] = node;
}

static void look_behind(looking *m, eddy_node node)
{
    const eddy__node *n = eddy__graph_node(m->a->study->graph, node);
    const eddy__tape_stack *tape = eddy__tape_of(&m->a->study->tapes, node);
    const eddy__sent_value *b =
        eddy__broadcast_received(&m->a->study->broadcasts, node);

    if (eddy__activity_ends(n))
        return;
    for (uint32_t i = 0; i < n->n_inputs; i++)
        if (eddy__activity_may_carry(m->a->study, n->inputs[i]))
            look(m, n->inputs[i].node);
    if (tape && tape->pop == node && tape->push != EDDY_NO_NODE)
        look(m, tape->push);
    if (b && eddy__activity_may_carry(m->a->study, b->sent))
        look(m, b->sent.node);
}

eddy_status eddy__waits_find(eddy__activity *a, const eddy_output *ys,
                             size_t n_ys, const uint8_t *is_cut,
                             eddy__waits *out_waits)
{
    looking m = {.a = a};

    *out_waits = (eddy__waits){.level = EDDY__NOT_FOUND};
    m.is_seen = eddy__emit_zeroed_room(a->e, a->study->n_nodes, 1);
    m.list = eddy__emit_room(a->e, a->study->n_nodes + 1, sizeof *m.list);
    if (!m.is_seen || !m.list)
        return a->e->core.status;
    eddy__activity_begin(a);
    for (size_t i = 0; i < n_ys; i++)
        if (eddy__activity_may_carry(a->study, ys[i]))
            look(&m, ys[i].node);
    for (size_t i = 0; i < m.n; i++) {
        const eddy_node node = m.list[i];

        note_deferred(a, node, out_waits);
        if (eddy__study_is_open_merge(a->study, node))
            note_open(a, node, out_waits);
        else if (!eddy__trace_is_loop_merge(&a->study->flow, node) ||
                 !is_cut[a->study->analysis->node_frame[node]])
            look_behind(&m, node);
    }
    return EDDY_OK;
}
