/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What trips that are made again can't have again: the values of random ops, of
 * reads of variables, and of whatever else has a state or an effect.  Each is
 * put on a stack in the forward loop, trip by trip, and given to the replica.
 *
 * Off that stack values come last first, and the replica wants the first one
 * first.  So a loop before it, as long as the segment, turns them round, onto a
 * stack of the segment's own:
 *
 *     forward loop          gradient loop, of a segment of n trips
 *     push(S, r)            n times: push(T, pop(S))
 *                           n times: r = pop(T) ...        -- the replica
 */
#include "autodiff/segments.h"

bool eddy__given_is(void *owner, eddy_node node)
{
    const eddy__segments *s = owner;
    const eddy__reverse *r = s->r;
    const eddy__node *n = eddy__graph_node(r->e.core.graph, node);
    const eddy_output value = {node, 0};
    eddy_dtype dtype;

    if (!n->op || !(n->op->flags & (EDDY_OP_STATEFUL | EDDY__OP_HOST)) ||
        n->n_outputs != 1 || eddy__activity_has(&r->activity, node) ||
        r->study.analysis->node_frame[node] != s->replica.frame ||
        eddy__study_branch(&r->study, value) != 0 ||
        eddy__replica_copies(&s->replica, node))
        return false;
    dtype = eddy_graph_output_dtype(r->e.core.graph, value);
    return dtype != EDDY_RESOURCE && dtype != EDDY_VARIANT;
}

void eddy__given_save(eddy__segments *s, eddy_node pivot, eddy_node next)
{
    eddy__reverse *r = s->r;
    const eddy__replica *c = &s->replica;

    s->given = eddy__emit_room(&r->e, c->n, sizeof *s->given);
    for (size_t i = 0; i < c->n && r->e.core.status == EDDY_OK; i++) {
        const eddy_output value = {c->list[i], 0};
        eddy_output stack;

        if (!c->is_entered[value.node])
            continue;
        r->e.at = value.node;
        stack =
            eddy__stack_emit(&r->primals, &r->places.scopes[r->places.base],
                             eddy_graph_output_dtype(r->e.core.graph, value));
        s->given[i] = stack;
        stack = eddy__place_import_forward(&r->places, stack,
                                           s->loop->scope->frame, 0);
        stack = eddy__stack_push(&r->e, pivot, stack, value, false);
        eddy__emit_control(&r->e, next, stack.node);
    }
}

static eddy_output enter(eddy__segments *s, const eddy__repeat *repeat,
                         eddy_output stack)
{
    return eddy__repeat_enter(repeat, &s->r->e,
                              s->replica.loop->parallel_iterations, stack,
                              s->loop->scope->pivot.node, true);
}

/* The values of one node; the replica's stack takes the place of the other. */
static void turn(eddy__segments *s, const eddy__repeat *repeat, size_t i)
{
    eddy__reverse *r = s->r;
    const eddy_node node = s->replica.list[i];
    const eddy_dtype dtype =
        eddy_graph_output_dtype(r->e.core.graph, (eddy_output){node, 0});
    eddy_output from, to;

    r->e.at = node;
    from = eddy__place_import(&r->places, s->given[i], s->loop->scope);
    from = eddy__stack_pop(&r->e, repeat->pivot, enter(s, repeat, from), dtype);
    s->given[i] = eddy__stack_emit(&r->primals, s->loop->scope, dtype);
    to = eddy__stack_push(&r->e, EDDY_NO_NODE, enter(s, repeat, s->given[i]),
                          from, false);
    eddy__emit_control(&r->e, repeat->next, to.node);
}

eddy_output eddy__given_turn(eddy__segments *s, eddy_output trips)
{
    eddy__reverse *r = s->r;
    const eddy__replica *c = &s->replica;
    eddy__scope *scope = s->loop->scope;
    eddy__repeat repeat = {.name = NULL};
    eddy_node exit;

    for (size_t i = 0; i < c->n && r->e.core.status == EDDY_OK; i++) {
        if (!c->is_entered[c->list[i]])
            continue;
        if (!repeat.name)
            eddy__repeat_start(&repeat, &r->e, c->loop->name,
                               c->loop->parallel_iterations, trips,
                               scope->pivot.node);
        if (r->e.core.status == EDDY_OK)
            turn(s, &repeat, i);
    }
    if (!repeat.name || r->e.core.status != EDDY_OK)
        return trips;
    exit = eddy__emit_op(&r->e, "Exit", repeat.switch_).node;
    eddy__order_backward(&r->places, scope, exit, 0);
    return eddy__emit_after(&r->e, exit, "Identity", &trips, 1);
}

eddy_output eddy__given_shape(eddy__segments *s, eddy_output value,
                              eddy_output like)
{
    const eddy_shape *shape = eddy__value_shapes_find(&s->r->shapes, like);
    const eddy_attr attr = eddy_attr_shape("shape", shape);

    if (shape->rank < 0)
        return value;
    return eddy__emit_spec(&s->r->e, &(eddy_node_spec){.op = "EnsureShape",
                                                       .inputs = &value,
                                                       .n_inputs = 1,
                                                       .attrs = &attr,
                                                       .n_attrs = 1});
}

void eddy__given_read(eddy__segments *s)
{
    eddy__reverse *r = s->r;
    eddy__replica *c = &s->replica;

    for (size_t i = 0; i < c->n && r->e.core.status == EDDY_OK; i++) {
        const eddy_output value = {c->list[i], 0};
        eddy_output pop;

        if (!c->is_entered[value.node])
            continue;
        r->e.at = value.node;
        pop = eddy__stack_pop(&r->e, c->repeat.pivot,
                              enter(s, &c->repeat, s->given[i]),
                              eddy_graph_output_dtype(r->e.core.graph, value));
        eddy__emit_control(&r->e, c->repeat.next, pop.node);
        eddy__replica_give(c, value.node,
                           eddy__given_shape(s, pop, value).node);
    }
}
