/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments of a loop that may hold so many states, and tapes of so many trips.
 *
 * The forward loop does not know how many trips there will be.  Its segments
 * grow by one up to the length L that a tape may have, and are as long as that
 * until half of the states are used; then each is twice as long as the one
 * before, and the last state but one begins one without an end.
 *
 * The gradient loop takes them off the stack, last first, and each of its trips
 * does one of two things.  A segment of at most L trips is differentiated.  A
 * longer one is cut: its state is put back, with the trips up to some point,
 * and on top of it the state there, up to which trips are made again.  Where
 * the point is, the binomial schedule says (Griewank and Walther's revolve). In
 * parts of L trips, with s states to spare and each part made again at most t
 * times, b(s, t) = (s + t)! / s! t! of them can be done.  So t is the least
 * that is enough, and the point is after
 *
 *     min(b(s, t - 1), parts - b(s - 1, t - 1))
 *
 * parts.  That is 0 where there is one part, and with no state to spare there
 * is one: with one to spare all parts but one are before the point.
 *
 * Both things are the same nodes, loops that make no trips in one case or the
 * other; a loop without trips hands gradients on as they are.
 */
#include "autodiff/segments.h"

#include "core/graph/edit.h"

/* The trips of a segment without an end, and half of that. */
#define ENDLESS (1 << 30)

static eddy_output op2(eddy__segments *s, const char *op, eddy_output a,
                       eddy_output b)
{
    return eddy__emit_op(&s->r->e, op, a, b);
}

/* ---- the forward loop ---- */

static eddy_output bring(eddy__segments *s, int32_t value)
{
    return eddy__place_import_forward(&s->r->places,
                                      eddy__emit_int(&s->r->e, value),
                                      s->loop->scope->frame, 0);
}

eddy_output eddy__binomial_grow(eddy__segments *s, eddy_output n,
                                eddy_output length)
{
    const eddy_output half = bring(s, s->bound.states / 2);
    const eddy_output most = bring(s, s->bound.trips);
    const eddy_output last = bring(s, s->bound.states - 2);
    eddy_output few = op2(s, "AddV2", length, bring(s, 1));
    eddy_output many = op2(s, "Minimum", length, bring(s, ENDLESS / 2));

    few = op2(s, "Minimum", few, most);
    many = op2(s, "AddV2", many, many);
    few =
        eddy__emit_op(&s->r->e, "SelectV2", op2(s, "Less", n, half), few, many);
    return eddy__emit_op(&s->r->e, "SelectV2", op2(s, "Less", n, last), few,
                         bring(s, ENDLESS));
}

/* ---- the gradient loop ---- */

static eddy_node gate(const eddy__segments *s)
{
    return s->loop->scope->pivot.node;
}

static eddy_output integer(eddy__segments *s, int32_t value)
{
    return eddy__emit_int_after(&s->r->e, gate(s), value);
}

static eddy_output wide(eddy__segments *s, eddy_output value)
{
    return eddy__emit_cast(&s->r->e, value, EDDY_INT64);
}

/* A loop of its own, for the least t: `states` to spare, and so many `parts`.
 */
typedef struct search {
    const char *name;
    int64_t parallel;
    eddy_output states, parts;
    eddy_output t, done; /* Exits: t, and b(states, t) */
} search;

static eddy_output enter(eddy__segments *s, const search *x, eddy_output value,
                         bool is_constant)
{
    return eddy__emit_enter(&s->r->e, value, x->name, x->parallel, is_constant);
}

/* t = 1; b = states + 1; while b < parts: t += 1; b = b * (states + t) / t */
static void find_times(eddy__segments *s, search *x)
{
    eddy__gradient_emitter *e = &s->r->e;
    const eddy_output first = wide(s, integer(s, 1));
    eddy_output one, states, t, b, cond, next;

    x->name = eddy__emit_take_name(e, "replay", "schedule");
    if (e->core.status != EDDY_OK)
        return;
    t = eddy__emit_first_enter(e, first, x->name, x->parallel);
    t = op2(s, "Merge", t, t);
    b = enter(s, x, op2(s, "AddV2", x->states, first), false);
    b = op2(s, "Merge", b, b);
    one = enter(s, x, first, true);
    states = enter(s, x, x->states, true);
    cond = op2(s, "Less", b, enter(s, x, x->parts, true));
    cond = eddy__emit_op(e, "LoopCond", cond);
    x->t = op2(s, "Switch", t, cond);
    x->done = op2(s, "Switch", b, cond);
    next = op2(s, "AddV2", eddy__output_port(x->t, 1), one);
    eddy__emit_back_edge(e, t, eddy__emit_op(e, "NextIteration", next));
    next = op2(s, "FloorDiv",
               op2(s, "Mul", eddy__output_port(x->done, 1),
                   op2(s, "AddV2", states, next)),
               next);
    eddy__emit_back_edge(e, b, eddy__emit_op(e, "NextIteration", next));
    x->t = eddy__emit_op(e, "Exit", x->t);
    x->done = eddy__emit_op(e, "Exit", x->done);
}

/* After how many parts it is cut. */
static eddy_output find_point(eddy__segments *s, search *x)
{
    eddy_output before, behind;

    find_times(s, x);
    behind = op2(s, "AddV2", x->states, x->t);
    before = op2(s, "Mul", x->done, x->t);
    before = op2(s, "FloorDiv", before, behind); /* b(states, t - 1) */
    behind = op2(s, "Sub", behind, wide(s, integer(s, 1)));
    behind = op2(s, "FloorDiv", op2(s, "Mul", before, x->states), behind);
    behind = op2(s, "Sub", x->parts, behind);
    return eddy__emit_cast(&s->r->e, op2(s, "Minimum", before, behind),
                           EDDY_INT32);
}

/* One segment less is left, or one more. */
static void count_on(eddy__segments *s, eddy_output point)
{
    eddy__reverse *r = s->r;
    const eddy_output one = op2(s, "Minimum", point, integer(s, 1));
    const eddy_output left =
        op2(s, "AddV2", s->loop->scope->pivot, op2(s, "AddV2", one, one));

    if (r->e.core.status == EDDY_OK)
        eddy__edit_input(r->e.core.graph, s->loop->scope->back_next, 0, left);
}

eddy_output eddy__binomial_cut(eddy__segments *s, eddy_output n,
                               eddy_output length)
{
    eddy__gradient_emitter *e = &s->r->e;
    eddy__split *split = &s->split;
    const eddy_output trips = integer(s, s->bound.trips);
    search x = {.parallel = s->replica.loop->parallel_iterations};
    eddy_output point, sides;

    x.states = op2(s, "Sub", integer(s, s->bound.states), n);
    x.states = wide(s, op2(s, "Maximum", x.states, integer(s, 1)));
    point = op2(s, "AddV2", length, integer(s, s->bound.trips - 1));
    x.parts = wide(s, op2(s, "FloorDiv", point, trips));
    point = find_point(s, &x);
    count_on(s, point);
    split->is = op2(s, "Greater", point, integer(s, 0));
    split->first = op2(s, "Mul", point, trips);
    split->rest = op2(s, "Sub", length, split->first);
    sides = op2(s, "Switch", point, split->is);
    split->not_in = eddy__emit_op(e, "Identity", sides);
    split->is_done =
        eddy__emit_op(e, "Identity", eddy__output_port(sides, 1)).node;
    eddy__replica_start(&s->ahead, split->first, gate(s));
    return eddy__emit_op(e, "SelectV2", split->is, integer(s, 0), length);
}

/* Two values onto a stack, if the segment is cut, once `taken` is there. */
static void put(eddy__segments *s, eddy_output stack, eddy_output first,
                eddy_output second, eddy_node taken)
{
    eddy__reverse *r = s->r;

    stack = eddy__place_import(&r->places, stack, s->loop->scope);
    stack = op2(s, "Switch", stack, s->split.is);
    stack = eddy__output_port(stack, 1);
    first = eddy__output_port(op2(s, "Switch", first, s->split.is), 1);
    second = eddy__output_port(op2(s, "Switch", second, s->split.is), 1);
    first = eddy__stack_push(&r->e, taken, stack, first, false);
    second = eddy__stack_push(&r->e, first.node, stack, second, false);
    eddy__emit_control(&r->e, s->split.is_done, second.node);
}

void eddy__binomial_put(eddy__segments *s, size_t i, eddy_output state)
{
    const eddy_output end =
        eddy__replica_end(&s->ahead, s->replica.loop->variables[i].merge);

    if (eddy__output_exists(s->stacks[i]))
        put(s, s->stacks[i], state, end, state.node);
}

void eddy__binomial_end(eddy__segments *s)
{
    eddy__reverse *r = s->r;
    const eddy_node rest = s->split.rest.node;
    eddy_output done = {s->split.is_done, 0};

    put(s, s->lengths, s->split.first, s->split.rest, rest);
    done = op2(s, "Merge", s->split.not_in, done);
    eddy__emit_control(&r->e, s->loop->scope->back_next, done.node);
}
