/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints: the forward loop puts the state with which a segment begins on
 * stacks.
 *
 * The first segment has one trip, and each has one more than that before it.
 * So it need not be known how many trips there will be: after n of them there
 * are about sqrt(2 n) segments, none longer than that.  Two variables count:
 *
 *     left = length = 0
 *     while ...:
 *         if left == 0:  length += 1;  left = length;  push(state)
 *         left -= 1
 *
 * What the last segment is short of is in `left` at the end.  The next trip's
 * count waits for the pushes, so states stand in the order of the segments.
 *
 * Where bytes are given segments grow otherwise (binomial.c).  Then a third
 * variable counts them, and their lengths go on a stack, too.
 */
#include "autodiff/segments.h"

typedef struct counting {
    eddy_output count;                  /* the Switch of what counts them */
    eddy_output left_switch;            /* the Switch of `left` */
    eddy_output is_start, is_start_int; /* of a segment, in the body */
    eddy_output length;                 /* of the segment, in the body */
    /* Live in each trip, once the one before is done, which the next waits for.
     */
    eddy_node pivot, next;
} counting;

/* A constant of the base frame in the forward loop. */
static eddy_output bring(eddy__segments *s, eddy_output value)
{
    return eddy__place_import_forward(&s->r->places, value,
                                      s->loop->scope->frame, 0);
}

/* The Switch of a variable that starts as 0. */
static eddy_output start_count(eddy__segments *s)
{
    const eddy_frame *frame = eddy__loop_frame(s->r, s->loop);
    const eddy_output enter =
        eddy__emit_enter(&s->r->e, eddy__loop_count_from(s->r, s->loop),
                         frame->name, frame->parallel_iterations, false);

    return eddy__emit_op(&s->r->e, "Switch",
                         eddy__emit_op(&s->r->e, "Merge", enter, enter),
                         (eddy_output){frame->loop_cond, 0});
}

/* Gives its NextIteration. */
static eddy_node end_count(eddy__segments *s, eddy_output switch_,
                           eddy_output value)
{
    eddy__gradient_emitter *e = &s->r->e;

    value = eddy__emit_op(e, "NextIteration", value);
    if (e->core.status == EDDY_OK)
        eddy__emit_back_edge(
            e, eddy__graph_node(e->core.graph, switch_.node)->inputs[0], value);
    return value.node;
}

/* How long the segment is, which begins if `is_start`; counts segments. */
static void count_length(eddy__segments *s, counting *c)
{
    eddy__gradient_emitter *e = &s->r->e;
    const eddy_output length = start_count(s);
    const eddy_output before = eddy__output_port(length, 1);

    c->count = length;
    if (s->bound.states == 0) {
        c->length = eddy__emit_op(e, "AddV2", before, c->is_start_int);
    } else {
        eddy_output n;

        c->count = start_count(s);
        n = eddy__output_port(c->count, 1);
        c->length = eddy__emit_op(e, "SelectV2", c->is_start,
                                  eddy__binomial_grow(s, n, before), before);
        (void)end_count(s, c->count,
                        eddy__emit_op(e, "AddV2", n, c->is_start_int));
    }
    c->pivot = c->length.node;
    c->next = end_count(s, length, c->length);
}

static void count(eddy__segments *s, counting *c)
{
    eddy__gradient_emitter *e = &s->r->e;
    const eddy_output zero = bring(s, eddy__emit_int(e, 0));
    const eddy_output one = bring(s, eddy__loop_one(s->r));
    eddy_output left;

    c->left_switch = start_count(s);
    left = eddy__output_port(c->left_switch, 1);
    c->is_start = eddy__emit_op(e, "Equal", left, zero);
    /* 1 where that is 0, else 0. */
    c->is_start_int =
        eddy__emit_op(e, "Maximum", eddy__emit_op(e, "Sub", one, left), zero);
    count_length(s, c);
    left = eddy__emit_op(e, "AddV2", left,
                         eddy__emit_op(e, "Mul", c->is_start_int, c->length));
    (void)end_count(s, c->left_switch, eddy__emit_op(e, "Sub", left, one));
}

/* A stack on which `value`, of the body, is pushed where a segment starts. */
static eddy_output push(eddy__segments *s, const counting *c, eddy_output value,
                        eddy_node done)
{
    eddy__reverse *r = s->r;
    const eddy_output stack =
        eddy__stack_emit(&r->primals, &r->places.scopes[r->places.base],
                         eddy_graph_output_dtype(r->e.core.graph, value));

    value = eddy__emit_op(&r->e, "Switch", value, c->is_start);
    value = eddy__stack_push(&r->e, c->pivot, bring(s, stack),
                             eddy__output_port(value, 1), false);
    eddy__emit_control(&r->e, done, value.node);
    return stack;
}

/* Where a segment starts its state is pushed; `done` is live in every trip. */
static void push_state(eddy__segments *s, const counting *c, size_t i,
                       eddy_node done)
{
    const eddy_output state = {s->replica.loop->variables[i].switch_, 1};

    s->r->e.at = state.node;
    s->stacks[i] = push(s, c, state, done);
}

void eddy__checkpoint_make(eddy__segments *s)
{
    eddy__reverse *r = s->r;
    const eddy_frame *frame = eddy__loop_frame(r, s->loop);
    eddy_output sides, start;
    counting c;

    s->stacks = eddy__emit_room(&r->e, frame->n_variables, sizeof *s->stacks);
    if (!s->stacks)
        return;
    count(s, &c);
    eddy__given_save(s, c.pivot, c.next);
    sides = eddy__emit_op(&r->e, "Switch", c.is_start_int, c.is_start);
    start = eddy__emit_op(&r->e, "Identity", eddy__output_port(sides, 1));
    if (s->bound.states > 0)
        s->lengths = push(s, &c, c.length, start.node);
    for (size_t i = 0; i < frame->n_variables && r->e.core.status == EDDY_OK;
         i++) {
        const eddy_node merge = frame->variables[i].merge;

        s->stacks[i] = EDDY__NO_OUTPUT;
        if (merge != EDDY_NO_NODE && s->replica.is_found[merge] &&
            eddy_graph_output_dtype(r->e.core.graph, (eddy_output){merge, 0}) !=
                EDDY_VARIANT)
            push_state(s, &c, i, start.node);
    }
    eddy__emit_control(&r->e, c.next,
                       eddy__emit_op(&r->e, "Merge",
                                     eddy__emit_op(&r->e, "Identity", sides),
                                     start)
                           .node);
    s->count = eddy__emit_op(&r->e, "Exit", c.count);
    s->missing = eddy__emit_op(&r->e, "Exit", c.left_switch);
    eddy__order_forward(&r->places, s->loop->scope->parent, s->count.node,
                        eddy__loop_branch(r, s->loop));
}
