/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code of a recorded region that tells of its nodes.
 *
 * What hands a value on is told of before its own code, which may take the
 * value; what makes one is told of after it.  A branch's Merge has a value as
 * soon as one of its inputs has; a loop's has one where an iteration begins.
 * Where one side of a branch is taken, all that stands on the other is dead,
 * loops among them: their frames begin, each with one iteration, and are over.
 */
#include "core/base/status.h"
#include "runtime/plan/linear_write.h"

static eddy_status tell(eddy__linear_writer *r, eddy__linear_tale tale,
                        eddy__linear_code code)
{
    code.op = EDDY__LINEAR_TELL;
    code.aux = (uint16_t)tale;
    return eddy__linear_emit(r, code);
}

/* Of the registers of a call that is none: `n` inputs of step `id`. */
static eddy_status tell_inputs(eddy__linear_writer *r, uint32_t id, uint32_t n,
                               eddy__linear_tale tale)
{
    uint32_t values[2] = {EDDY__NO, EDDY__NO}, call = 0;

    for (uint32_t i = 0; i < n; i++)
        values[i] = eddy__linear_input(r->w, id, i);
    EDDY_TRY(eddy__linear_add_list(r, id, values, n, &call));
    return tell(r, tale, (eddy__linear_code){.a = call, .b = EDDY__NO});
}

/* It hands on value `v`, a Merge that of its input `port`. */
static eddy_status tell_passed(eddy__linear_writer *r, uint32_t id, uint32_t v,
                               uint32_t port)
{
    uint32_t call = 0;

    EDDY_TRY(eddy__linear_add_list(r, id, &v, 1, &call));
    return tell(r, EDDY__TALE_PASSED,
                (eddy__linear_code){.a = call, .b = port});
}

eddy_status eddy__linear_tell_before(eddy__linear_writer *r, uint32_t id)
{
    if (!r->w->is_recorded)
        return EDDY_OK;
    switch ((eddy__step_kind)r->w->plan->steps[id].kind) {
    case EDDY__STEP_FORWARD:
    case EDDY__STEP_ENTER:
    case EDDY__STEP_EXIT:
    case EDDY__STEP_NEXT_ITERATION:
        return tell_inputs(r, id, 1, EDDY__TALE_PASSED);
    case EDDY__STEP_SWITCH:
        return tell_inputs(r, id, 2, EDDY__TALE_CHOSE);
    case EDDY__STEP_CONST:
        return tell_inputs(r, id, 0, EDDY__TALE_CONSTANT);
    case EDDY__STEP_CONTROL_TRIGGER:
        return tell_inputs(r, id, 0, EDDY__TALE_MADE);
    default:
        return EDDY_OK;
    }
}

/* Does the last instruction tell of it besides what it does? */
static bool is_watched(const eddy__linear_writer *r, uint32_t id)
{
    const eddy__linear_text *t = &r->text;
    const eddy__linear_code *last = t->n > 0 ? &t->code[t->n - 1] : NULL;

    return last && last->op == EDDY__LINEAR_WATCH &&
           t->calls[last->a].step == id;
}

eddy_status eddy__linear_tell_after(eddy__linear_writer *r, uint32_t id)
{
    const eddy__step_kind kind = (eddy__step_kind)r->w->plan->steps[id].kind;
    const eddy__linear_text *t = &r->text;
    uint32_t call = 0;

    if (!r->w->is_recorded ||
        (kind != EDDY__STEP_SCALAR && kind != EDDY__STEP_KERNEL) ||
        is_watched(r, id))
        return EDDY_OK;
    if (t->n_calls > 0 && t->calls[t->n_calls - 1].step == id)
        call = (uint32_t)t->n_calls - 1;
    else
        EDDY_TRY(eddy__linear_add_call(r, id, &call));
    return tell(r, EDDY__TALE_MADE, (eddy__linear_code){.a = call});
}

eddy_status eddy__linear_tell_input(eddy__linear_writer *r, uint32_t merge,
                                    uint32_t port)
{
    return r->w->is_recorded
               ? tell_passed(r, merge, eddy__linear_input(r->w, merge, port),
                             port)
               : EDDY_OK;
}

/* ---- loops ---- */

static eddy_status tell_frames(eddy__linear_writer *r, eddy__linear_tale tale,
                               uint32_t n, uint32_t first)
{
    return tell(r, tale, (eddy__linear_code){.to = n, .a = first});
}

eddy_status eddy__linear_tell_entry(eddy__linear_writer *r, uint32_t frame)
{
    return r->w->is_recorded
               ? tell_frames(r, EDDY__TALE_BEGIN, 1, r->w->loops[frame].number)
               : EDDY_OK;
}

/* The inputs by which a loop's Merge gets its value, and its Enter. */
typedef struct loop_merge {
    uint32_t enter, enter_port, next_port;
} loop_merge;

static loop_merge find_ports(const eddy__linear_build *w, uint32_t id)
{
    const eddy__layout *l = w->l;
    loop_merge m = {.enter = EDDY__NO};

    for (size_t e = l->in_first[id]; e < l->in_first[id + 1]; e++) {
        const eddy__in_edge *edge = &l->in_edges[e];

        if (w->plan->steps[edge->from].kind == EDDY__STEP_NEXT_ITERATION) {
            m.next_port = edge->port;
        } else {
            m.enter = edge->from;
            m.enter_port = edge->port;
        }
    }
    return m;
}

eddy_status eddy__linear_tell_iteration(eddy__linear_writer *r, uint32_t frame)
{
    const eddy__linear_build *w = r->w;
    const eddy__plan_frame *plan = &w->plan->frames[frame];

    for (uint32_t i = 0; r->w->is_recorded && i < plan->n_steps; i++) {
        const uint32_t id = plan->steps[i];
        const uint32_t v = eddy__linear_output(w, id, 0);
        loop_merge m;
        uint32_t call = 0;

        if (!w->is_loop_merge[id])
            continue;
        m = find_ports(w, id);
        EDDY_TRY(eddy__linear_add_list(r, id, &v, 1, &call));
        EDDY_TRY(tell(r, EDDY__TALE_MERGED,
                      (eddy__linear_code){
                          .to = m.enter_port, .a = call, .b = m.next_port}));
    }
    return EDDY_OK;
}

/* ---- what is dead ---- */

/* So many frames around that of `id` the branch is whose side is dead. */
static uint32_t distance_of(const eddy__linear_build *w, uint32_t id,
                            uint32_t frame)
{
    uint32_t n = 0, f = w->plan->steps[id].frame;

    for (; f != frame; n++)
        f = w->plan->frames[f].parent;
    return n;
}

/* A step on the dead side, or of a loop there: it may be live even so. */
static eddy_status tell_other(eddy__linear_writer *r, uint32_t id,
                              uint32_t frame)
{
    const eddy__linear_build *w = r->w;
    const uint32_t n = distance_of(w, id, frame);
    loop_merge m;

    if (w->plan->steps[id].kind != EDDY__STEP_CONTROL_TRIGGER &&
        (n == 0 || w->reach[id] < n))
        return tell(
            r, EDDY__TALE_DEAD,
            (eddy__linear_code){.to = w->loops[w->plan->steps[id].frame].number,
                                .a = id});
    if (!w->is_loop_merge[id])
        return eddy__linear_tell_before(r, id);
    m = find_ports(w, id);
    return tell_passed(r, id, eddy__linear_input(w, m.enter, 0), m.enter_port);
}

static eddy_status tell_event(eddy__linear_writer *r, const eddy__event *event,
                              uint32_t frame)
{
    const eddy__linear_build *w = r->w;
    const eddy__plan_frame *plan;

    if (event->kind == EDDY__EVENT_STEP)
        return tell_other(r, event->step, frame);
    if (event->kind != EDDY__EVENT_LOOP)
        return EDDY_OK;
    plan = &w->plan->frames[event->at];
    for (uint32_t i = 0; i < plan->n_steps; i++)
        if (w->is_loop_merge[plan->steps[i]])
            EDDY_TRY(tell_other(r, plan->steps[i], frame));
    return EDDY_OK;
}

eddy_status eddy__linear_tell_side(eddy__linear_writer *r, uint32_t from,
                                   uint32_t to, uint32_t n_loops)
{
    const eddy__linear_build *w = r->w;
    const uint32_t frame = w->guards[r->guard].frame;
    uint32_t first = EDDY__NO;

    if (!r->w->is_recorded)
        return EDDY_OK;
    for (uint32_t e = from + 1; e < to && first == EDDY__NO; e++)
        if (w->events[e].kind == EDDY__EVENT_LOOP)
            first = w->loops[w->events[e].at].number;
    if (n_loops > 0)
        EDDY_TRY(tell_frames(r, EDDY__TALE_BEGIN, n_loops, first));
    for (uint32_t e = from + 1; e < to; e++)
        EDDY_TRY(tell_event(r, &w->events[e], frame));
    return n_loops > 0 ? tell_frames(r, EDDY__TALE_END, n_loops, first)
                       : EDDY_OK;
}
