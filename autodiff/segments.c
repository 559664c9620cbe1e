/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradient of a loop that keeps no tape but makes its trips again, a
 * segment at a time:
 *
 *     forward loop                         gradient loop
 *     while pred(v):                       s = segments; g = dv (of the Exit)
 *         if a segment starts: push(v)     while s > 0:
 *         v = body(v)                          n = trips of segment s;  s -= 1
 *     exit v                                   r = pop()
 *                                              n times: r = body(r)
 *                                              g = g * dr / dpop
 *                                          exit g: dx (of the Enter)
 *
 * The replica is a loop like any other, which keeps its tape for as long as
 * the segment lasts; its gradient is a question of its own, asked in the body
 * of the gradient loop.  The gradient of an invariant is summed on from where
 * the segment before, which is later in the forward loop, has left it; so sums
 * have the order that they have in a gradient that keeps its tape, and the
 * same bits.
 *
 * Where bytes are given a segment may be too long to be differentiated at once;
 * binomial.c says what becomes of it.
 */
#include "autodiff/segments.h"

#include "autodiff/policy.h"
#include "core/graph/edit.h"

#include <string.h>

/* The gradient of a variable or an invariant in the gradient loop. */
typedef struct eddy__carried {
    eddy_node enter;
    eddy__reverse_variable made;
    eddy_node next; /* its NextIteration, whose input is set at the end */
    eddy_output exit;
    eddy_output x; /* in the body, what the replica starts from */
    bool is_invariant;
} eddy__carried;

typedef struct questions {
    eddy__carried *list;
    size_t n;
    eddy_output *ys, *starts, *xs, *sums, *stop, *out;
    eddy_output *states; /* a variable: with what the segment begins */
    size_t n_ys;
} questions;

static bool is_state(const eddy__segments *s, size_t i)
{
    const eddy_node merge = s->replica.loop->variables[i].merge;

    return merge != EDDY_NO_NODE && s->replica.is_found[merge];
}

static bool is_active(const eddy__segments *s, eddy_node node)
{
    return eddy__activity_has(&s->r->activity, node);
}

/* ---- lists ---- */

static const eddy__node *node_at(const eddy__segments *s, eddy_node node)
{
    return eddy__graph_node(s->r->e.core.graph, node);
}

/* Does it give the list that it reads, or that with an item set? */
static bool hands_list_on(const eddy__segments *s, eddy_node node)
{
    return s->r->study.flow.role[node] == EDDY__ROLE_FORWARD ||
           strcmp(node_at(s, node)->op_name, "TensorListSetItem") == 0;
}

/* Does one node of the replica read `from` as the list that it hands on? */
static bool has_one_reader(const eddy__segments *s, eddy_output from,
                           eddy_node reader)
{
    const eddy__replica *replica = &s->replica;

    for (size_t k = 0; k < replica->n; k++) {
        const eddy__node *n = node_at(s, replica->list[k]);

        for (uint32_t i = 0; i < n->n_inputs; i++)
            if (n->inputs[i].node == from.node &&
                n->inputs[i].index == from.index &&
                (replica->list[k] != reader || i > 0))
                return false;
    }
    return true;
}

/*
 * Is variable `i` a list in which trips set items, and which none reads?  Then
 * the gradient does not ask what is in it, and the replica may go on from what
 * the list was in the end.
 */
static bool is_set_list(const eddy__segments *s, size_t i)
{
    const eddy_loop_variable *v = &s->replica.loop->variables[i];
    eddy_output at = s->replica.next[i];
    eddy_node reader = EDDY_NO_NODE;

    if (v->exit == EDDY_NO_NODE || !s->loop->scope->parent->is_base)
        return false;
    for (;; at = node_at(s, reader)->inputs[0]) {
        if (!has_one_reader(s, at, reader))
            return false;
        if (at.node == v->switch_)
            return true;
        if (!s->replica.is_found[at.node] || !hands_list_on(s, at.node))
            return false;
        reader = at.node;
    }
}

/* ---- can it be ---- */

static bool has_plain_values(const eddy__segments *s)
{
    const eddy_frame *loop = s->replica.loop;
    const eddy_graph *graph = s->r->e.core.graph;

    for (size_t i = 0; i < loop->n_variables; i++) {
        eddy_dtype dtype;

        if (!is_state(s, i))
            continue;
        dtype = eddy_graph_output_dtype(
            graph, (eddy_output){loop->variables[i].merge, 0});
        if (dtype == EDDY_RESOURCE ||
            (dtype == EDDY_VARIANT && !is_set_list(s, i)))
            return false;
    }
    for (size_t i = 0; i < loop->n_invariants; i++)
        if (is_active(s, loop->invariants[i]) &&
            eddy_graph_output_dtype(
                graph, (eddy_output){loop->invariants[i], 0}) == EDDY_RESOURCE)
            return false;
    return true;
}

/*
 * Values that a state made grow with the trips whatever is done, and come last
 * first: a loop that has such goes by no bound.
 */
static void find_bound(eddy__segments *s, const uint8_t *wanted)
{
    eddy__reverse *r = s->r;

    s->bound = eddy__policy_bound(r->e.core.graph, s->replica.loop->loop_cond);
    for (size_t i = 0; i < s->replica.n; i++)
        if (s->replica.is_entered[s->replica.list[i]])
            s->bound.states = 0;
    if (s->bound.states == 0)
        return;
    eddy__replica_begin(&s->ahead, &r->e, &r->study, &r->ahead,
                        s->loop->scope->frame);
    if (r->e.core.status == EDDY_OK)
        eddy__replica_find(&s->ahead, wanted);
}

/* Finds the replica; can it be made? */
static bool find_replica(eddy__segments *s, const uint8_t *wanted)
{
    eddy__reverse *r = s->r;

    eddy__replica_begin(&s->replica, &r->e, &r->study, &r->replica,
                        s->loop->scope->frame);
    if (r->e.core.status != EDDY_OK)
        return false;
    eddy__replica_find(&s->replica, wanted);
    if (r->e.core.status != EDDY_OK || s->replica.n == 0 ||
        s->replica.why_not || !has_plain_values(s))
        return false;
    find_bound(s, wanted);
    return r->e.core.status == EDDY_OK;
}

/* The same, of what its active variables come from. */
static bool begin(eddy__segments *s)
{
    eddy__reverse *r = s->r;
    const eddy_frame *loop = eddy__loop_frame(r, s->loop);
    bool is = false;

    if (s->loop->has_tape)
        return false;
    if (!r->wanted)
        r->wanted = eddy__emit_zeroed_room(&r->e, r->study.n_nodes, 1);
    if (!r->wanted)
        return false;
    for (size_t i = 0; i < loop->n_variables; i++)
        if (loop->variables[i].merge != EDDY_NO_NODE)
            r->wanted[loop->variables[i].merge] =
                is_active(s, loop->variables[i].merge);
    is = find_replica(s, r->wanted);
    for (size_t i = 0; i < loop->n_variables; i++)
        if (loop->variables[i].merge != EDDY_NO_NODE)
            r->wanted[loop->variables[i].merge] = 0;
    return is;
}

/* ---- the gradient loop ---- */

/* The lengths of segments are 1, 2, 3, ..., or on a stack of their own. */
static eddy_output planned_length(eddy__segments *s, eddy_output counter)
{
    eddy__reverse *r = s->r;
    eddy__scope *scope = s->loop->scope;
    eddy_output pop;

    if (s->bound.states == 0)
        return counter;
    pop = eddy__stack_pop(&r->e, scope->pivot.node,
                          eddy__place_import(&r->places, s->lengths, scope),
                          EDDY_INT32);
    eddy__order_backward(&r->places, scope, pop.node, 0);
    return pop;
}

/* The trips of the segment that are differentiated; the first one that is made
 * is the last, and may be short of some. */
static eddy_output count_segments(eddy__segments *s)
{
    eddy__reverse *r = s->r;
    eddy__loop *loop = s->loop;
    const uint32_t frame = loop->scope->parent->frame;
    const uint32_t branch = eddy__loop_branch(r, loop);
    const eddy_output count =
        eddy__stack_save(&r->primals, s->count, frame, branch);
    const eddy_output missing =
        eddy__stack_save(&r->primals, s->missing, frame, branch);
    const eddy_output counter = eddy__loop_count_down(r, loop, count);
    const eddy__reverse_variable v = eddy__loop_start(r, loop, missing);
    eddy_output zero =
        eddy__place_import(&r->places, eddy__emit_int(&r->e, 0), loop->scope);
    eddy_output next, length;

    zero =
        eddy__emit_after(&r->e, loop->scope->pivot.node, "Identity", &zero, 1);
    next = eddy__emit_op(&r->e, "NextIteration", zero);
    eddy__emit_back_edge(&r->e, v.merge, next);
    next = eddy__output_port(counter, 1);
    length = eddy__emit_op(&r->e, "Sub", planned_length(s, next),
                           eddy__output_port(v.switch_, 1));
    return s->bound.states > 0 ? eddy__binomial_cut(s, next, length) : length;
}

/* A state off its stack, of the shape that it is known to have; a list is what
 * it was in the end. */
static eddy_output take_state(eddy__segments *s, size_t i)
{
    eddy__reverse *r = s->r;
    eddy__scope *scope = s->loop->scope;
    const eddy_output merge = {s->replica.loop->variables[i].merge, 0};
    eddy_output pop;

    r->e.at = merge.node;
    if (!eddy__output_exists(s->stacks[i])) {
        const eddy_output exit = {s->replica.loop->variables[i].exit, 0};

        return eddy__place_import_like(
            &r->places, eddy__primal_value(&r->primals, exit), exit, scope);
    }
    pop = eddy__stack_pop(&r->e, scope->pivot.node,
                          eddy__place_import(&r->places, s->stacks[i], scope),
                          eddy_graph_output_dtype(r->e.core.graph, merge));
    eddy__order_backward(&r->places, scope, pop.node, 0);
    return eddy__given_shape(s, pop, merge);
}
/* A gradient that goes from segment to segment; what it is next is not known
 * yet, and in the meantime it is handed on. */
static void carry(eddy__segments *s, questions *q, eddy_node enter,
                  bool is_invariant, eddy_output start)
{
    eddy__reverse *r = s->r;
    eddy__carried *c = &q->list[q->n++];

    *c = (eddy__carried){.enter = enter, .is_invariant = is_invariant};
    c->made = eddy__loop_start(r, s->loop, start);
    c->next = eddy__emit_op(&r->e, "NextIteration",
                            eddy__output_port(c->made.switch_, 1))
                  .node;
    eddy__emit_back_edge(&r->e, c->made.merge, (eddy_output){c->next, 0});
    c->exit = eddy__emit_op(&r->e, "Exit", c->made.switch_);
}

/* What the Enter of the replica's invariant, or of its variable, reads. */
static eddy_output entered(const eddy__segments *s, eddy_node node)
{
    const eddy_graph *graph = s->r->e.core.graph;
    eddy_node enter = s->replica.copy[node];

    if (s->r->e.core.status != EDDY_OK)
        return EDDY__NO_OUTPUT;
    if (s->replica.variable_of[node] != 0)
        enter = eddy__graph_node(graph, enter)->inputs[0].node;
    return eddy__graph_node(graph, enter)->inputs[0];
}

static void enter_variables(eddy__segments *s, questions *q)
{
    const eddy_frame *loop = s->replica.loop;
    eddy__reverse *r = s->r;
    const eddy_node gate = s->loop->scope->pivot.node;

    for (size_t i = 0; i < loop->n_variables && r->e.core.status == EDDY_OK;
         i++) {
        const eddy_loop_variable *v = &loop->variables[i];

        if (!is_state(s, i))
            continue;
        q->states[i] = take_state(s, i);
        eddy__replica_enter(&s->replica, v->merge, q->states[i], gate);
        if (s->bound.states > 0)
            eddy__replica_enter(&s->ahead, v->merge, q->states[i], gate);
        if (!is_active(s, v->merge))
            continue;
        carry(s, q, v->enter, false, eddy__loop_exit_gradient(r, s->loop, v));
        q->list[q->n - 1].x = entered(s, v->merge);
    }
}

static void enter_invariants(eddy__segments *s, questions *q)
{
    const eddy_frame *loop = s->replica.loop;
    eddy__reverse *r = s->r;
    const eddy_node gate = s->loop->scope->pivot.node;

    for (size_t i = 0; i < loop->n_invariants && r->e.core.status == EDDY_OK;
         i++) {
        const eddy_output v = {loop->invariants[i], 0};
        eddy_output value;

        if (!s->replica.is_found[v.node])
            continue;
        r->e.at = v.node;
        value = eddy__primal_value(&r->primals, v);
        eddy__replica_enter(&s->replica, v.node, value, gate);
        if (s->bound.states > 0)
            eddy__replica_enter(&s->ahead, v.node, value, gate);
        if (!is_active(s, v.node))
            continue;
        carry(s, q, v.node, true, eddy__loop_invariant_zeros(r, v.node));
        q->list[q->n - 1].x = entered(s, v.node);
    }
}

/* ---- the gradient of the replica ---- */

static bool allocate(eddy__segments *s, questions *q)
{
    eddy__gradient_emitter *e = &s->r->e;
    const size_t n =
        s->replica.loop->n_variables + s->replica.loop->n_invariants;

    *q = (questions){.list = eddy__emit_room(e, n, sizeof *q->list)};
    q->ys = eddy__emit_room(e, n, sizeof *q->ys);
    q->starts = eddy__emit_room(e, n, sizeof *q->starts);
    q->xs = eddy__emit_room(e, n, sizeof *q->xs);
    q->sums = eddy__emit_room(e, n, sizeof *q->sums);
    q->out = eddy__emit_room(e, n, sizeof *q->out);
    q->states = eddy__emit_room(e, n, sizeof *q->states);
    q->stop = eddy__emit_room(e, s->r->asked.n_stop, sizeof *q->stop);
    return e->core.status == EDDY_OK;
}

/* Ends the replica's variables: what the active ones give is differentiated. */
static void end_variables(eddy__segments *s, questions *q)
{
    const eddy_frame *loop = s->replica.loop;
    size_t k = 0;

    for (size_t i = 0; i < loop->n_variables; i++) {
        eddy_output end;

        if (!is_state(s, i))
            continue;
        end = eddy__replica_end(&s->replica, loop->variables[i].merge);
        if (!is_active(s, loop->variables[i].merge))
            continue;
        q->ys[q->n_ys] = end;
        q->starts[q->n_ys++] = eddy__output_port(q->list[k++].made.switch_, 1);
    }
}

/* Trips up to where the segment is cut, and what is put aside then. */
static void go_ahead(eddy__segments *s, const questions *q)
{
    if (s->bound.states == 0)
        return;
    eddy__replica_copy(&s->ahead);
    for (size_t i = 0; i < s->replica.loop->n_variables; i++)
        if (is_state(s, i))
            eddy__binomial_put(s, i, q->states[i]);
    eddy__binomial_end(s);
}

static void append(eddy__reverse *r, eddy__inner *inner)
{
    inner->next = NULL;
    if (r->last_inner)
        r->last_inner->next = inner;
    else
        r->first_inner = inner;
    r->last_inner = inner;
}

/* What is asked is answered when the walk has ended. */
static void ask(eddy__segments *s, questions *q)
{
    eddy__reverse *r = s->r;
    eddy__inner *inner = eddy__emit_room(&r->e, 1, sizeof *inner);

    if (!inner)
        return;
    for (size_t i = 0; i < q->n; i++) {
        q->xs[i] = q->list[i].x;
        q->sums[i] = q->list[i].is_invariant
                         ? eddy__output_port(q->list[i].made.switch_, 1)
                         : EDDY__NO_OUTPUT;
        q->out[i] = EDDY__NO_OUTPUT;
    }
    *inner = (eddy__inner){
        .ys = q->ys,
        .starts = q->starts,
        .n_ys = q->n_ys,
        .xs = q->xs,
        .sums = q->sums,
        .n_xs = q->n,
        .stop = q->stop,
        .n_stop = eddy__replica_stops(&s->replica, r->asked.stop,
                                      r->asked.n_stop, q->stop),
        .writes = eddy__replica_keep_writes(&s->replica),
        .n_writes = s->replica.n_writes,
        .control = s->loop->scope->pivot.node,
        .out = q->out,
        .carried = q->list,
        .back_next =
            s->bound.states > 0 ? s->loop->scope->back_next : EDDY_NO_NODE};
    if (r->e.core.status == EDDY_OK)
        append(r, inner);
}

/* Where the last segment's gradients go: that of an invariant to which nothing
 * will have been added is zero. */
static void add_gradients(eddy__segments *s, const questions *q)
{
    for (size_t i = 0; i < q->n; i++)
        eddy__loop_add_to_enter(s->r, q->list[i].enter, q->list[i].exit);
}

/* What the gradients are for the segment before. */
void eddy__segments_close(eddy__reverse *r, const eddy__inner *inner)
{
    for (size_t i = 0; i < inner->n_xs && r->e.core.status == EDDY_OK; i++) {
        const eddy__carried *c = &inner->carried[i];
        eddy_output next = inner->out[i];

        if (!eddy__output_exists(next) && c->is_invariant)
            continue; /* nothing was added to it */
        if (!eddy__output_exists(next))
            next = eddy__emit_op(&r->e, "ZerosLike", c->x);
        if (r->e.core.status == EDDY_OK)
            eddy__edit_input(r->e.core.graph, c->next, 0, next);
        /* One segment's tape at a time. */
        if (inner->back_next != EDDY_NO_NODE)
            eddy__emit_control(&r->e, inner->back_next, next.node);
    }
}

/* Are the trips to be made again, and can they be? */
static bool is_wanted(eddy__segments *s)
{
    const eddy_node loop_cond = eddy__loop_frame(s->r, s->loop)->loop_cond;
    const eddy_tape_policy policy =
        eddy__policy_of(s->r->e.core.graph, loop_cond);
    bool is;

    if (policy != EDDY_TAPE_RECOMPUTE && policy != EDDY_TAPE_AUTO)
        return false;
    is = begin(s);
    if (policy == EDDY_TAPE_AUTO)
        eddy__policy_note(&s->r->e, loop_cond,
                          is ? EDDY_TAPE_RECOMPUTE : EDDY_TAPE_SPILL);
    return is;
}

/* The whole of it, once the replica has been found. */
static void make(eddy__segments *s)
{
    eddy__reverse *r = s->r;
    eddy__loop *loop = s->loop;
    const eddy_node loop_cond = eddy__loop_frame(r, loop)->loop_cond;
    questions q;
    eddy_output trips;

    r->e.at = loop_cond;
    eddy__primal_prepare(&r->primals, loop->scope->parent->frame,
                         eddy__loop_branch(r, loop));
    if (!allocate(s, &q))
        return;
    eddy__checkpoint_make(s);
    trips = count_segments(s);
    eddy__replica_start(&s->replica, eddy__given_turn(s, trips),
                        loop->scope->pivot.node);
    if (r->e.core.status != EDDY_OK)
        return;
    eddy__policy_note(&r->e, s->replica.copy[loop_cond], EDDY_TAPE_KEEP);
    eddy__given_read(s);
    enter_variables(s, &q);
    enter_invariants(s, &q);
    eddy__replica_copy(&s->replica);
    end_variables(s, &q);
    go_ahead(s, &q);
    ask(s, &q);
    add_gradients(s, &q);
}

bool eddy__segments_make(eddy__reverse *r, eddy__loop *loop)
{
    eddy__segments s = {.r = r,
                        .loop = loop,
                        .replica.has_arrays = true,
                        .replica.owner = &s,
                        .replica.is_given = eddy__given_is,
                        .ahead.has_arrays = true};
    const bool is = r->e.core.status == EDDY_OK && is_wanted(&s);

    if (is)
        make(&s);
    eddy__replica_drop(&s.replica);
    eddy__replica_drop(&s.ahead);
    return is;
}
