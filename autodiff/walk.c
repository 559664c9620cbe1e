/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk: which unit is next.
 *
 * A unit is a node or a loop.  A node is ready when its consumers have been
 * walked and its frame is open; a loop opens when its Exits are ready and what
 * reads its tapes has been walked, and closes when the units of its body have
 * been.  Nothing here recurses: what becomes ready goes on a stack.
 */
#include "autodiff/reverse.h"

#include "core/base/status.h"

#include <string.h>

/* ---- the state ---- */

static eddy_status make_loops(eddy__reverse *r)
{
    const eddy_analysis *analysis = r->study.analysis;

    r->loops =
        eddy__emit_zeroed_room(&r->e, analysis->n_frames, sizeof *r->loops);
    r->tapes =
        eddy__emit_zeroed_room(&r->e, r->study.tapes.n, sizeof *r->tapes);
    if (!r->loops || !r->tapes)
        return r->e.core.status;
    for (uint32_t f = 0; f < analysis->n_frames; f++) {
        r->loops[f].scope = &r->places.scopes[f];
        r->loops[f].parent = &r->loops[analysis->frames[f].parent];
        r->loops[f].loop_cond = EDDY__NO_OUTPUT;
    }
    for (size_t i = 0; i < r->study.tapes.n; i++) {
        r->tapes[i].stack = EDDY__NO_OUTPUT;
        r->tapes[i].done = EDDY_NO_NODE;
    }
    return EDDY_OK;
}

eddy_status eddy__walk_init(eddy__reverse *r)
{
    const size_t n = r->study.n_nodes, n_branches = r->study.branches.n;

    r->walk.pending = eddy__emit_zeroed_room(&r->e, n, sizeof(uint32_t));
    r->walk.next_unit = eddy__emit_room(&r->e, n, sizeof(uint32_t));
    r->back_of =
        eddy__emit_zeroed_room(&r->e, n, sizeof(eddy__back_variable *));
    r->met_by = eddy__emit_room(&r->e, n_branches, sizeof *r->met_by);
    if (r->e.core.status != EDDY_OK)
        return r->e.core.status;
    memset(r->met_by, 0xff, n_branches * sizeof *r->met_by);
    return make_loops(r);
}

void eddy__walk_deinit(eddy__reverse *r)
{
    eddy__free(r->e.arena.allocator, r->walk.ready, r->walk.capacity,
               sizeof *r->walk.ready);
}

/* ---- what is ready ---- */

static void make_ready(eddy__reverse *r, eddy__unit_kind kind, uint32_t id)
{
    void *ready = r->walk.ready;
    const bool ok = eddy__grow(r->e.arena.allocator, &ready, &r->walk.capacity,
                               r->walk.n_ready + 1, sizeof *r->walk.ready);

    r->walk.ready = ready;
    if (ok)
        r->walk.ready[r->walk.n_ready++] = (eddy__unit){.kind = kind, .id = id};
    else if (r->e.core.status == EDDY_OK)
        r->e.core.status = eddy__fail_memory(r->e.core.err);
}

static bool is_loop_part(const eddy__reverse *r, eddy_node node,
                         eddy__role role)
{
    return r->study.flow.role[node] == role &&
           (role != EDDY__ROLE_SWITCH ||
            !eddy__trace_is_branch_switch(&r->study.flow, node));
}

/* The frame whose unit the node is; an Enter counts where its output is. */
static eddy__loop *unit_loop(const eddy__reverse *r, eddy_node node)
{
    return &r->loops[r->study.flow.role[node] == EDDY__ROLE_ENTER
                         ? r->study.analysis->output_frame[node]
                         : r->study.analysis->node_frame[node]];
}

/* Is it walked by itself?  The rest is walked with its loop. */
static bool is_unit(const eddy__reverse *r, eddy_node node)
{
    const eddy__role role = (eddy__role)r->study.flow.role[node];

    return role != EDDY__ROLE_EXIT &&
           !eddy__trace_is_loop_merge(&r->study.flow, node) &&
           (role != EDDY__ROLE_ENTER || r->study.flow.is_constant[node]);
}

static void try_open(eddy__reverse *r, eddy__loop *loop)
{
    if (loop->is_active && !loop->is_open && loop->n_exits == 0 &&
        loop->n_tapes == 0 &&
        (loop->parent->scope->is_base || loop->parent->is_open))
        make_ready(r, EDDY__UNIT_OPEN, loop->scope->frame);
}

static void unit_done(eddy__reverse *r, eddy__loop *loop)
{
    if (!loop->scope->is_base && --loop->n_remaining == 0)
        make_ready(r, EDDY__UNIT_CLOSE, loop->scope->frame);
}

/* All consumers of the node have been walked. */
static void node_free(eddy__reverse *r, eddy_node node)
{
    eddy__loop *loop = unit_loop(r, node);

    if (r->study.flow.role[node] == EDDY__ROLE_EXIT) {
        loop->n_exits--;
        try_open(r, loop);
    } else if (is_unit(r, node) && (loop->scope->is_base || loop->is_open)) {
        make_ready(r, EDDY__UNIT_NODE, node);
    }
}

static void release(eddy__reverse *r, eddy_output from)
{
    if (from.node < r->study.n_nodes &&
        eddy__activity_is_edge(&r->activity, from) &&
        eddy__activity_has(&r->activity, from.node) &&
        --r->walk.pending[from.node] == 0)
        node_free(r, from.node);
}

/* The data inputs of an active node, which has been walked, wait less. */
static void release_inputs(eddy__reverse *r, eddy_node node)
{
    const eddy__node *n = eddy__graph_node(r->e.core.graph, node);
    const eddy__sent_value *b =
        eddy__broadcast_received(&r->study.broadcasts, node);

    for (uint32_t i = 0; i < n->n_inputs; i++)
        release(r, n->inputs[i]);
    if (b)
        release(r, b->sent);
}

/* ---- tapes ---- */

static void tape_done(eddy__reverse *r, uint32_t id)
{
    eddy__tape_gradient *gradient = &r->tapes[id];
    const eddy_node push = r->study.tapes.tapes[id].push;

    if (!gradient->is_pending)
        return;
    gradient->is_pending = false;
    if (gradient->pop_loop && eddy__output_exists(gradient->stack))
        gradient->done = gradient->pop_loop->scope->back_exit;
    if (gradient->push_loop) {
        gradient->push_loop->n_tapes--;
        try_open(r, gradient->push_loop);
    } else if (--r->walk.pending[push] == 0) {
        node_free(r, push);
    }
}

/* ---- walking ---- */

static void walk_node(eddy__reverse *r, eddy_node node)
{
    const eddy__role role = (eddy__role)r->study.flow.role[node];
    eddy__loop *loop = unit_loop(r, node);
    const eddy__tape_stack *tape = eddy__tape_of(&r->study.tapes, node);

    r->e.at = node;
    if (is_loop_part(r, node, EDDY__ROLE_SWITCH) ||
        (role == EDDY__ROLE_ENTER && !loop->scope->is_base)) {
        unit_done(r, loop);
        return; /* the rest is done with the loop */
    }
    if (role == EDDY__ROLE_ENTER)
        eddy__sum_add(&r->sums,
                      eddy__graph_node(r->e.core.graph, node)->inputs[0],
                      eddy__sum_make(&r->sums, (eddy_output){node, 0}),
                      r->study.branches.of_node[node]);
    else if (role == EDDY__ROLE_SWITCH)
        eddy__branch_walk_switch(r, node);
    else if (role == EDDY__ROLE_MERGE)
        eddy__branch_walk_merge(r, node);
    else if (tape && tape->push == node)
        eddy__tape_gradient_walk_push(r, node);
    else if (tape && tape->pop == node)
        eddy__tape_gradient_walk_pop(r, node);
    else if (role != EDDY__ROLE_NEXT_ITERATION)
        eddy__reverse_rule_use(r, node);
    if (tape && tape->pop == node &&
        !r->tapes[tape - r->study.tapes.tapes].pop_loop)
        tape_done(r, (uint32_t)(tape - r->study.tapes.tapes));
    release_inputs(r, node);
    unit_done(r, loop);
}

/* Once, though several variables may start from one Enter. */
static void release_enter(eddy__reverse *r, eddy_node enter)
{
    uint8_t *state = &r->activity.state[enter];

    if (!eddy__activity_has(&r->activity, enter) || (*state & EDDY__RELEASED))
        return;
    *state |= EDDY__RELEASED;
    release_inputs(r, enter);
}

/* Its gradient is there. */
static void release_loop(eddy__reverse *r, eddy__loop *loop)
{
    const eddy_frame *frame = &r->study.analysis->frames[loop->scope->frame];

    for (size_t i = 0; i < frame->n_variables; i++)
        release_enter(r, frame->variables[i].enter);
    for (size_t i = 0; i < frame->n_invariants; i++)
        release_enter(r, frame->invariants[i]);
    for (uint32_t i = loop->first_popped; i != EDDY__END_OF_LIST;
         i = r->tapes[i].next_popped)
        tape_done(r, i);
    unit_done(r, loop->parent);
}

static void open_loop(eddy__reverse *r, eddy__loop *loop)
{
    if (loop->is_open || loop->is_done || !eddy__loop_check(r, loop))
        return;
    if (eddy__segments_make(r, loop)) {
        loop->is_done = true;
        release_loop(r, loop);
        return;
    }
    loop->is_open = true;
    eddy__loop_open(r, loop);
    for (uint32_t v = loop->first_unit; v != EDDY__END_OF_LIST;
         v = r->walk.next_unit[v])
        if (r->walk.pending[v] == 0)
            make_ready(r, EDDY__UNIT_NODE, v);
    for (uint32_t f = loop->first_child; f != EDDY__END_OF_LIST;
         f = r->loops[f].next_child)
        try_open(r, &r->loops[f]);
}

static void close_loop(eddy__reverse *r, eddy__loop *loop)
{
    eddy__loop_close(r, loop);
    release_loop(r, loop);
}

static void walk_units(eddy__reverse *r)
{
    while (r->walk.n_ready > 0 && r->e.core.status == EDDY_OK) {
        const eddy__unit unit = r->walk.ready[--r->walk.n_ready];

        if (!eddy__budget_lasts(r->e.core.graph->budget))
            r->e.core.status = eddy__fail_memory(r->e.core.err);
        eddy__places_enter(&r->places, unit.kind == EDDY__UNIT_NODE
                                           ? unit_loop(r, unit.id)->scope
                                           : &r->places.scopes[unit.id]);
        if (unit.kind == EDDY__UNIT_NODE)
            walk_node(r, unit.id);
        else if (unit.kind == EDDY__UNIT_OPEN)
            open_loop(r, &r->loops[unit.id]);
        else
            close_loop(r, &r->loops[unit.id]);
    }
}

/* ---- counting ---- */

/* Counts the consumers that each active node waits for. */
static void count_consumers(eddy__reverse *r)
{
    for (eddy_node v = 0; v < r->study.n_nodes; v++) {
        const eddy__node *n = eddy__graph_node(r->e.core.graph, v);
        const eddy__role role = (eddy__role)r->study.flow.role[v];
        const eddy__sent_value *b =
            eddy__broadcast_received(&r->study.broadcasts, v);

        /* An Exit is ready by itself, and its Switch with the body. */
        if (!eddy__activity_has(&r->activity, v) || role == EDDY__ROLE_EXIT ||
            eddy__trace_is_loop_merge(&r->study.flow, v) ||
            is_loop_part(r, v, EDDY__ROLE_SWITCH))
            continue;
        for (uint32_t i = 0; i < n->n_inputs; i++)
            if (eddy__activity_is_edge(&r->activity, n->inputs[i]))
                r->walk.pending[n->inputs[i].node]++;
        if (b && eddy__activity_is_edge(&r->activity, b->sent))
            r->walk.pending[b->sent.node]++;
    }
}

/* The loop in `frame` that holds the node of frame `inner`; NULL: itself. */
static eddy__loop *loop_below(eddy__reverse *r, uint32_t inner, uint32_t frame)
{
    eddy__loop *loop = NULL;

    while (inner != frame) {
        loop = &r->loops[inner];
        inner = r->study.analysis->frames[inner].parent;
    }
    return loop;
}

static uint32_t common_frame(const eddy__reverse *r, uint32_t a, uint32_t b)
{
    const eddy_frame *frames = r->study.analysis->frames;

    while (a != b) {
        if (frames[a].depth >= frames[b].depth)
            a = frames[a].parent;
        else
            b = frames[b].parent;
    }
    return a;
}

/* The loops around a push or a pop, below `frame`, have the tape's one end. */
static void note_tape(eddy__reverse *r, uint32_t inner, uint32_t frame)
{
    for (; inner != frame; inner = r->study.analysis->frames[inner].parent)
        r->loops[inner].has_tape = true;
}

static void count_tapes(eddy__reverse *r)
{
    for (size_t i = 0; i < r->study.tapes.n; i++) {
        const eddy__tape_stack *tape = &r->study.tapes.tapes[i];
        eddy__tape_gradient *gradient = &r->tapes[i];
        uint32_t push, pop, frame;

        if (!tape->is_tape || !eddy__activity_has(&r->activity, tape->push) ||
            !eddy__activity_has(&r->activity, tape->pop))
            continue;
        push = r->study.analysis->node_frame[tape->push];
        pop = r->study.analysis->node_frame[tape->pop];
        frame = common_frame(r, push, pop);
        gradient->push_loop = loop_below(r, push, frame);
        gradient->pop_loop = loop_below(r, pop, frame);
        gradient->is_pending = true;
        note_tape(r, push, frame);
        note_tape(r, pop, frame);
        if (gradient->push_loop)
            gradient->push_loop->n_tapes++;
        else
            r->walk.pending[tape->push]++;
    }
}

/* Lists by loop, each in the order of the numbers. */
static void list_by_loop(eddy__reverse *r)
{
    for (size_t f = 0; f < r->study.analysis->n_frames; f++) {
        eddy__loop *loop = &r->loops[f];

        loop->first_unit = loop->first_child = EDDY__END_OF_LIST;
        loop->first_pushed = loop->first_popped = EDDY__END_OF_LIST;
    }
    for (uint32_t v = (uint32_t)r->study.n_nodes; v-- > 0;) {
        if (!eddy__activity_has(&r->activity, v) || !is_unit(r, v))
            continue;
        r->walk.next_unit[v] = unit_loop(r, v)->first_unit;
        unit_loop(r, v)->first_unit = v;
    }
    for (uint32_t f = (uint32_t)r->study.analysis->n_frames; f-- > 1;) {
        eddy__loop *loop = &r->loops[f];

        loop->next_child = loop->parent->first_child;
        loop->parent->first_child = f;
    }
    for (uint32_t i = (uint32_t)r->study.tapes.n; i-- > 0;) {
        eddy__tape_gradient *tape = &r->tapes[i];

        if (tape->push_loop) {
            tape->next_pushed = tape->push_loop->first_pushed;
            tape->push_loop->first_pushed = i;
        }
        if (tape->pop_loop) {
            tape->next_popped = tape->pop_loop->first_popped;
            tape->pop_loop->first_popped = i;
        }
    }
}

static void note_active(eddy__reverse *r, eddy_node node)
{
    eddy__loop *loop = unit_loop(r, node);

    if (r->study.flow.role[node] == EDDY__ROLE_EXIT)
        loop->n_exits++;
    else if (is_unit(r, node) && !loop->scope->is_base)
        loop->n_remaining++;
    while (!loop->scope->is_base && !loop->is_active) {
        loop->is_active = true;
        loop = loop->parent;
        if (!loop->scope->is_base)
            loop->n_remaining++;
    }
}

/* A loop beside the one that is differentiated would have to run in it. */
static void check_frame(eddy__reverse *r, eddy_node node)
{
    const eddy__loop *loop = unit_loop(r, node);

    if (!loop->scope->is_base && !loop->scope->base)
        eddy__emit_fail(&r->e, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT, node,
                        "a gradient inside a loop goes through another loop "
                        "that is outside of it");
}

/* What is sent in another loop is sent so often as that goes round. */
static void check_sender(eddy__reverse *r, eddy_node node)
{
    const eddy__sent_value *b =
        eddy__broadcast_received(&r->study.broadcasts, node);

    if (b && eddy__activity_is_edge(&r->activity, b->sent) &&
        eddy__study_frame(&r->study, b->sent) !=
            r->study.analysis->node_frame[node])
        eddy__emit_fail(&r->e, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT, node,
                        "what it receives is sent in another loop");
}

void eddy__walk_all(eddy__reverse *r)
{
    if (r->e.core.status != EDDY_OK)
        return;
    for (eddy_node v = 0; v < r->study.n_nodes; v++)
        if (eddy__activity_has(&r->activity, v)) {
            check_frame(r, v);
            check_sender(r, v);
            note_active(r, v);
        }
    count_consumers(r);
    count_tapes(r);
    list_by_loop(r);
    for (eddy_node v = 0; v < r->study.n_nodes; v++)
        if (eddy__activity_has(&r->activity, v) && r->walk.pending[v] == 0)
            node_free(r, v);
    walk_units(r);
}
