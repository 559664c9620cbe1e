/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a region says of itself besides its code: entries, frames and guards.
 */
#include "core/base/status.h"
#include "runtime/plan/linear_write.h"

#include <assert.h>

static eddy_status preset_dissolved(eddy__linear_writer *r, uint32_t frame)
{
    eddy__linear_build *w = r->w;
    const eddy__plan_frame *plan = &w->plan->frames[frame];

    for (uint32_t i = 0; i < plan->n_invariants; i++)
        if (plan->invariants[i].kind != EDDY__NONE)
            EDDY_TRY(eddy__linear_preset(r, w->loops[frame].first_value + i,
                                         &plan->invariants[i]));
    return EDDY_OK;
}

/* The elements of what comes in are put into registers. */
static eddy_status enter_parts(eddy__linear_writer *r, uint32_t v,
                               eddy__linear_entry *entry)
{
    const uint32_t n = r->w->values[v].n_parts, *parts = NULL;

    EDDY_TRY(eddy__linear_parts_of(r, v, &parts));
    entry->parts =
        eddy__arena_copy(&r->w->plan->arena, parts, n, sizeof *parts);
    entry->n_parts = n;
    entry->to = EDDY__NO;
    return entry->parts ? EDDY_OK : eddy__fail_memory(r->w->err);
}

eddy_status eddy__linear_list_entries(eddy__linear_writer *r, uint32_t top)
{
    eddy__linear_build *w = r->w;
    const eddy__linear_build_loop *loop = &w->loops[top];
    eddy__linear_entry *entries = eddy__arena_allocate_zeroed(
        &w->plan->arena, loop->n_enters, sizeof *entries);

    if (!entries)
        return eddy__fail_memory(w->err);
    for (uint32_t i = 0; i < loop->n_enters; i++) {
        const uint32_t id = loop->enters[i];
        const eddy__step *step = &w->plan->steps[id];
        const bool is_constant = (step->flags & EDDY__STEP_CONSTANT) != 0;
        uint32_t v = eddy__linear_output(w, id, 0);

        if (!is_constant) {
            entries[i].uses =
                eddy__step_uses(&w->plan->steps[step->edges[0].step], 0);
            v = eddy__linear_output(w, step->edges[0].step, 0);
        }
        entries[i].step = id;
        entries[i].is_raw = w->values[v].is_raw;
        entries[i].held = EDDY__NO;
        if (w->values[w->values[v].alias].is_spread)
            EDDY_TRY(enter_parts(r, v, &entries[i]));
        if (eddy__linear_is_only_spread(w, v))
            continue;
        EDDY_TRY(eddy__linear_register_of(r, v, &entries[i].to));
        if (is_constant && !entries[i].is_raw) {
            EDDY_TRY(eddy__linear_new_register(r, false, 0, &entries[i].held));
            w->values[v].maker = entries[i].held;
        }
    }
    r->out->entries = entries;
    r->out->n_entries = loop->n_enters;
    return EDDY_OK;
}

/* Numbers the loops in the order in which they begin: parents first. */
eddy_status eddy__linear_number_loops(eddy__linear_writer *r)
{
    eddy__linear_build *w = r->w;
    uint32_t n = 0;
    eddy__linear_frame *frames;

    for (size_t e = 0; e < w->n_events; e++)
        if (w->events[e].kind == EDDY__EVENT_LOOP)
            w->loops[w->events[e].at].number = n++;
    frames = eddy__arena_allocate_zeroed(&w->plan->arena, n, sizeof *frames);
    if (!frames)
        return eddy__fail_memory(w->err);
    r->frames = frames;
    r->out->frames = frames;
    r->out->n_frames = n;
    for (size_t e = 0; e < w->n_events; e++) {
        const uint32_t f = w->events[e].at; /* of a loop: its frame */
        eddy__linear_frame *frame;

        if (w->events[e].kind != EDDY__EVENT_LOOP)
            continue;
        frame = &frames[w->loops[f].number];
        frame->frame = f;
        frame->enter = w->loops[f].enters[0];
        frame->parent = w->loops[f].number == 0
                            ? EDDY__NO
                            : w->loops[w->plan->frames[f].parent].number;
        frame->guard = w->loops[f].number == 0 ? EDDY__NO : w->loops[f].entered;
        EDDY_TRY(preset_dissolved(r, f));
    }
    return EDDY_OK;
}

/* Gives the guards of a frame numbers, parents and true sides first. */
static eddy_status number_guards(eddy__linear_writer *r, uint32_t frame)
{
    eddy__linear_build *w = r->w;
    size_t first = r->n_guards;
    uint32_t next = w->loops[frame].root;

    while (next != EDDY__NO) {
        uint32_t p;

        if (!eddy__grow(w->scratch.allocator, (void **)&r->guards,
                        &r->guards_room, r->n_guards + 1, sizeof *r->guards))
            return eddy__fail_memory(w->err);
        w->guards[next].number = (uint32_t)r->n_guards;
        r->guards[r->n_guards++] = next;
        /* The next one that has not got a number, under those that have. */
        for (next = EDDY__NO; first < r->n_guards && next == EDDY__NO;) {
            p = w->guards[r->guards[first]].first_predicate;
            while (p != EDDY__NO && next == EDDY__NO) {
                const eddy__predicate *pred = &w->predicates[p];

                if (w->guards[pred->sides[1]].number == EDDY__NO)
                    next = pred->sides[1];
                else if (w->guards[pred->sides[0]].number == EDDY__NO)
                    next = pred->sides[0];
                p = pred->next;
            }
            first += next == EDDY__NO;
        }
    }
    return EDDY_OK;
}

static eddy__linear_guard_kind kind_of(const eddy__linear_build *w,
                                       const eddy__linear_build_guard *g)
{
    if (g->predicate == EDDY__NO)
        return EDDY__GUARD_ALWAYS;
    if (w->predicates[g->predicate].is_loop)
        return g->side == 1 ? EDDY__GUARD_BODY : EDDY__GUARD_END;
    return g->side == 1 ? EDDY__GUARD_TRUE : EDDY__GUARD_FALSE;
}

eddy_status eddy__linear_list_guards(eddy__linear_writer *r)
{
    eddy__linear_build *w = r->w;
    eddy__linear_frame *frames = r->frames;
    eddy__linear_guard *guards;

    assert(frames != NULL); /* number_loops has made them */
    for (uint32_t f = 0; f < r->out->n_frames; f++)
        EDDY_TRY(number_guards(r, frames[f].frame));
    guards = eddy__arena_allocate_zeroed(&w->plan->arena, r->n_guards,
                                         sizeof *guards);
    if (!guards)
        return eddy__fail_memory(w->err);
    r->out->guards = guards;
    r->out->n_guards = (uint32_t)r->n_guards;
    for (size_t i = 0; i < r->n_guards; i++) {
        const eddy__linear_build_guard *g = &w->guards[r->guards[i]];
        const eddy__predicate *p =
            g->predicate == EDDY__NO ? NULL : &w->predicates[g->predicate];

        guards[i] = (eddy__linear_guard){
            .kind = kind_of(w, g),
            .frame = w->loops[g->frame].number,
            .parent = p ? w->guards[g->parent].number : EDDY__NO,
            .other = p ? w->guards[p->sides[1]].number : EDDY__NO,
            .counter = p ? p->counter : EDDY__NO,
            .own = g->own};
        frames[guards[i].frame].n_dead += g->own;
    }
    for (uint32_t f = 0; f < r->out->n_frames; f++) {
        frames[f].n_live = w->loops[frames[f].frame].n_triggers;
        frames[f].n_dead -= frames[f].n_live;
    }
    for (uint32_t f = 0; f < r->out->n_frames; f++)
        if (frames[f].guard != EDDY__NO)
            frames[f].guard = w->guards[frames[f].guard].number;
    /* Entered dead, a frame enters those in it dead. */
    for (uint32_t f = r->out->n_frames - 1; f > 0; f--) {
        frames[frames[f].parent].n_dead += frames[f].n_dead;
        frames[frames[f].parent].n_live += frames[f].n_live;
    }
    eddy__linear_count_reach(w, frames, r->out->n_frames);
    return EDDY_OK;
}
