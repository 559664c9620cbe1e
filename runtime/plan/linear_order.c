/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts a loop nest into a row: a step after all that it waits for, what stands
 * under a guard between the jumps that ask for its predicate.
 *
 * What is ready waits in the queue of its guard.  Under the guard that is open
 * everything in its queue goes first, then a predicate under it is opened on
 * one of whose sides something is ready, both sides after each other, each as
 * far as it goes; so a predicate may be opened more than once.  Guards that are
 * open stand on a stack, not on the machine's.
 */
#include "core/base/memory.h"
#include "core/base/status.h"
#include "runtime/plan/linear_build.h"

typedef enum region_part {
    PART_SIDE,   /* of a predicate */
    PART_ALWAYS, /* of a loop */
    PART_BODY,
    PART_END,
} region_part;

typedef struct open_guard {
    uint32_t guard;
    region_part part;
    uint32_t at;    /* the predicate or the frame */
    uint32_t event; /* with which it began */
} open_guard;

typedef struct order {
    eddy__linear_build *w;
    open_guard *open;
    size_t n_open, room;
} order;

static eddy_status push(order *o, uint32_t guard, region_part part, uint32_t at,
                        uint32_t event)
{
    if (!eddy__grow(o->w->scratch.allocator, (void **)&o->open, &o->room,
                    o->n_open + 1, sizeof *o->open))
        return eddy__fail_memory(o->w->err);
    o->open[o->n_open++] =
        (open_guard){.guard = guard, .part = part, .at = at, .event = event};
    return EDDY_OK;
}

static eddy_status add_event(eddy__linear_build *w, uint32_t kind,
                             uint32_t step, uint32_t at)
{
    if (!eddy__grow(w->scratch.allocator, (void **)&w->events, &w->events_room,
                    w->n_events + 1, sizeof *w->events))
        return eddy__fail_memory(w->err);
    w->events[w->n_events++] =
        (eddy__event){.kind = kind, .step = step, .at = at, .next = EDDY__NO};
    return EDDY_OK;
}

/* ---- what is ready ---- */

static void count_ready(eddy__linear_build *w, uint32_t guard, uint32_t by)
{
    for (; guard != EDDY__NO; guard = w->guards[guard].parent)
        w->guards[guard].n_ready += by;
}

static eddy_status make_ready(eddy__linear_build *w, uint32_t guard,
                              uint32_t kind, uint32_t step, uint32_t at)
{
    eddy__linear_build_guard *g = &w->guards[guard];
    const uint32_t n = (uint32_t)w->n_ready;

    if (!eddy__grow(w->scratch.allocator, (void **)&w->ready, &w->ready_room,
                    w->n_ready + 1, sizeof *w->ready))
        return eddy__fail_memory(w->err);
    w->ready[w->n_ready++] =
        (eddy__ready){.kind = kind, .step = step, .at = at, .next = EDDY__NO};
    if (g->head == EDDY__NO)
        g->head = n;
    else
        w->ready[g->tail].next = n;
    g->tail = n;
    count_ready(w, guard, 1);
    return EDDY_OK;
}

/* One in-edge of `to` less to wait for. */
static eddy_status release_edge(eddy__linear_build *w, uint32_t from,
                                const eddy__edge *edge)
{
    const uint32_t to = edge->step;

    if (w->is_loop_merge[to] || w->is_skipped[to])
        return EDDY_OK;
    if (w->plan->steps[to].kind == EDDY__STEP_MERGE)
        return make_ready(w, eddy__linear_edge_guard(w, from, edge->output),
                          EDDY__EVENT_INPUT, to, edge->port);
    if (--w->pending[to] > 0)
        return EDDY_OK;
    return make_ready(w, w->guard_of[to], EDDY__EVENT_STEP, to, 0);
}

static eddy_status release(eddy__linear_build *w, uint32_t id)
{
    const eddy__step *step = &w->plan->steps[id];

    for (uint32_t i = 0; i < step->n_edges; i++)
        EDDY_TRY(release_edge(w, id, &step->edges[i]));
    return EDDY_OK;
}

/* ---- loops ---- */

/* What a loop begins with is there: constants and variables that come in. */
static eddy_status release_loop(eddy__linear_build *w, uint32_t frame)
{
    const eddy__linear_build_loop *loop = &w->loops[frame];
    const eddy__plan_frame *plan = &w->plan->frames[frame];

    for (uint32_t i = 0; i < loop->n_enters; i++)
        if (w->plan->steps[loop->enters[i]].flags & EDDY__STEP_CONSTANT)
            EDDY_TRY(release(w, loop->enters[i]));
    for (uint32_t i = 0; i < plan->n_steps; i++)
        if (w->is_loop_merge[plan->steps[i]])
            EDDY_TRY(release(w, plan->steps[i]));
    return EDDY_OK;
}

/* How much of a frame is to be put in order, and what each step waits for. */
static void count_left(eddy__linear_build *w, uint32_t frame)
{
    const eddy__plan_frame *plan = &w->plan->frames[frame];
    eddy__linear_build_loop *loop = &w->loops[frame];

    loop->n_left = 0;
    for (uint32_t i = 0; i < plan->n_steps; i++) {
        const uint32_t id = plan->steps[i];
        const uint32_t n =
            (uint32_t)(w->l->in_first[id + 1] - w->l->in_first[id]);

        w->pending[id] = n;
        if (w->plan->steps[id].kind == EDDY__STEP_ENTER)
            w->loops[w->plan->steps[id].aux].n_pending =
                w->loops[w->plan->steps[id].aux].n_enters;
        if (w->is_skipped[id] || w->is_loop_merge[id])
            continue;
        loop->n_left++;
        if (w->plan->steps[id].kind == EDDY__STEP_MERGE)
            loop->n_left += n;
    }
}

static eddy_status begin_loop(order *o, uint32_t frame)
{
    eddy__linear_build *w = o->w;

    count_left(w, frame);
    EDDY_TRY(add_event(w, EDDY__EVENT_LOOP, 0, frame));
    EDDY_TRY(push(o, w->loops[frame].root, PART_ALWAYS, frame,
                  (uint32_t)w->n_events - 1));
    return release_loop(w, frame);
}

/* ---- one after the other ---- */

/* Puts in what has come first to the queue of `guard`. */
static eddy_status take(order *o, uint32_t guard)
{
    eddy__linear_build *w = o->w;
    eddy__linear_build_guard *g = &w->guards[guard];
    const eddy__ready r = w->ready[g->head];
    const uint32_t frame = g->frame;

    g->head = r.next;
    count_ready(w, guard, UINT32_MAX); /* one less */
    if (r.kind == EDDY__EVENT_LOOP)
        return begin_loop(o, r.at);
    EDDY_TRY(add_event(w, r.kind, r.step, r.at));
    w->loops[frame].n_left--;
    if (r.kind == EDDY__EVENT_INPUT) {
        if (--w->pending[r.step] > 0)
            return EDDY_OK;
        return make_ready(w, w->guard_of[r.step], EDDY__EVENT_STEP, r.step, 0);
    }
    switch ((eddy__step_kind)w->plan->steps[r.step].kind) {
    case EDDY__STEP_ENTER: {
        const uint32_t child = w->plan->steps[r.step].aux;

        if (--w->loops[child].n_pending > 0)
            return EDDY_OK;
        return make_ready(w, w->loops[child].entered, EDDY__EVENT_LOOP, r.step,
                          child);
    }
    case EDDY__STEP_NEXT_ITERATION:
        return EDDY_OK;
    case EDDY__STEP_EXIT:
        /* Of the outermost loop they lead out. */
        return o->open[0].at == frame ? EDDY_OK : release(w, r.step);
    default:
        return release(w, r.step);
    }
}

/* A branch under `guard` with something ready, or EDDY__NO. */
static uint32_t find_branch(const eddy__linear_build *w, uint32_t guard)
{
    uint32_t p = w->guards[guard].first_predicate;

    for (; p != EDDY__NO; p = w->predicates[p].next) {
        const eddy__predicate *pred = &w->predicates[p];

        if (!pred->is_loop && (w->guards[pred->sides[0]].n_ready > 0 ||
                               w->guards[pred->sides[1]].n_ready > 0))
            break;
    }
    return p;
}

static eddy_status open_branch(order *o, uint32_t p)
{
    eddy__linear_build *w = o->w;

    EDDY_TRY(add_event(w, EDDY__EVENT_TRUE, 0, p));
    return push(o, w->predicates[p].sides[1], PART_SIDE, p,
                (uint32_t)w->n_events - 1);
}

/* Begins the part that follows `g`, which is through. */
static eddy_status follow(order *o, open_guard g, uint32_t kind, uint32_t guard,
                          region_part part)
{
    eddy__linear_build *w = o->w;

    EDDY_TRY(add_event(w, kind, 0, g.at));
    w->events[g.event].next = (uint32_t)w->n_events - 1;
    return push(o, guard, part, g.at, (uint32_t)w->n_events - 1);
}

static eddy_status finish(order *o, open_guard g, uint32_t kind)
{
    eddy__linear_build *w = o->w;

    EDDY_TRY(add_event(w, kind, 0, g.at));
    w->events[g.event].next = (uint32_t)w->n_events - 1;
    return EDDY_OK;
}

/* Nothing is left to do under the guard that is open. */
static eddy_status shut(order *o)
{
    eddy__linear_build *w = o->w;
    const open_guard g = o->open[--o->n_open];
    const eddy__predicate *p;

    if (g.part == PART_SIDE) {
        p = &w->predicates[g.at];
        if (w->events[g.event].kind == EDDY__EVENT_TRUE)
            return follow(o, g, EDDY__EVENT_FALSE, p->sides[0], PART_SIDE);
        return finish(o, g, EDDY__EVENT_CLOSE);
    }
    p = &w->predicates[w->loops[g.at].predicate];
    if (g.part == PART_ALWAYS)
        return follow(o, g, EDDY__EVENT_TEST, p->sides[1], PART_BODY);
    if (g.part == PART_BODY)
        return follow(o, g, EDDY__EVENT_BACK, p->sides[0], PART_END);
    if (w->loops[g.at].n_left > 0)
        eddy__linear_refuse(w, g.at, EDDY__NO,
                            "its steps can't be put into a row");
    return finish(o, g, EDDY__EVENT_END);
}

static eddy_status put_in_order(order *o, uint32_t frame)
{
    eddy__linear_build *w = o->w;

    EDDY_TRY(begin_loop(o, frame));
    while (o->n_open > 0) {
        const uint32_t guard = o->open[o->n_open - 1].guard;
        const uint32_t p = w->guards[guard].head == EDDY__NO
                               ? find_branch(w, guard)
                               : EDDY__NO;

        if (w->guards[guard].head != EDDY__NO)
            EDDY_TRY(take(o, guard));
        else if (p != EDDY__NO)
            EDDY_TRY(open_branch(o, p));
        else
            EDDY_TRY(shut(o));
    }
    return EDDY_OK;
}

/* A child that is reached by no Enter was not put in order either. */
static bool is_whole(const eddy__linear_build *w, uint32_t frame)
{
    uint32_t n_loops = 0;

    for (size_t i = 0; i < w->n_events; i++)
        n_loops += w->events[i].kind == EDDY__EVENT_LOOP;
    return n_loops == w->loops[frame].n_frames;
}

/* Nothing is ready any more, for another try with some of the same guards. */
static void forget_ready(eddy__linear_build *w)
{
    for (size_t i = 0; i < w->n_guards; i++) {
        w->guards[i].head = EDDY__NO;
        w->guards[i].n_ready = 0;
    }
}

eddy_status eddy__linear_order(eddy__linear_build *w, uint32_t frame,
                               bool *out_done)
{
    order o = {.w = w};
    eddy_status status;

    w->n_events = 0;
    w->n_ready = 0;
    status = put_in_order(&o, frame);
    eddy__free(w->scratch.allocator, o.open, o.room, sizeof *o.open);
    if (status == EDDY_OK && !is_whole(w, frame))
        eddy__linear_refuse(w, frame, EDDY__NO,
                            "its steps can't be put into a row");
    for (size_t i = 0; i < w->n_events; i++)
        if (w->events[i].kind == EDDY__EVENT_LOOP &&
            w->loops[w->events[i].at].doubt.why)
            eddy__linear_refuse(w, frame, EDDY__NO,
                                "a loop in it is not linear");
    *out_done = !w->loops[frame].doubt.why;
    if (!*out_done)
        forget_ready(w);
    return status;
}
