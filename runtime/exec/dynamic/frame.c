/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames and iterations: made on entry, retired in order, kept for the next.
 *
 * An iteration is done when none of its nodes is ready or running, no frame
 * entered from it lives, all earlier ones are done and, for iteration 0, every
 * Enter of the frame has arrived.  A frame is done when all its Enters have
 * arrived and no iteration is left; it then tells its parent which Exits died.
 */
#include "runtime/exec/dynamic/saving.h"
#include "runtime/exec/dynamic/token.h"

#include "core/base/status.h"
#include "runtime/exec/carver.h"

#include <string.h>

/* ---- iterations ---- */

static void carve_iteration(const eddy__plan_frame *plan, eddy__carver *c,
                            eddy__iteration *it)
{
    eddy__iteration parts;

    eddy__carve(c, 1, sizeof *it);
    parts.values = eddy__carve(c, plan->n_slots, sizeof *it->values);
    parts.liveness = eddy__carve(c, plan->n_steps, sizeof *it->liveness);
    parts.children = eddy__carve(c, plan->n_children, sizeof(eddy__frame *));
    parts.marks = eddy__carve(c, plan->n_marks, 1);
    if (it) {
        it->values = parts.values;
        it->liveness = parts.liveness;
        it->children = parts.children;
        it->marks = parts.marks;
    }
}

static size_t iteration_size(const eddy__plan_frame *plan)
{
    eddy__carver c = {0};

    carve_iteration(plan, &c, NULL);
    return c.used;
}

/* A clean iteration: no slot holds a reference and it has no children. */
static eddy__iteration *new_iteration(eddy_run *run, eddy__frame *frame)
{
    eddy__iteration *it = eddy__dynamic_of(run)->spare_iterations[frame->id];
    eddy__carver c = {0};
    size_t size;

    if (it) {
        eddy__dynamic_of(run)->spare_iterations[frame->id] = it->next;
        return it;
    }
    size = iteration_size(frame->plan);
    c.block = eddy__heap_allocate(&run->heap, size, &size);
    if (!c.block)
        return NULL;
    memset(c.block, 0, size);
    it = (eddy__iteration *)(void *)c.block;
    carve_iteration(frame->plan, &c, it);
    it->block_size = size;
    return it;
}

static inline void recycle_iteration(eddy_run *run, eddy__iteration *it)
{
    const eddy__plan_frame *plan = it->frame->plan;
    uint32_t id = it->frame->id;

    if (plan->has_counted)
        for (uint32_t i = plan->n_invariants; i < plan->n_slots; i++)
            eddy__value_clear(&run->heap, &it->values[i]);
    it->next = eddy__dynamic_of(run)->spare_iterations[id];
    eddy__dynamic_of(run)->spare_iterations[id] = it;
}

/* Gives values of replayed Enters that have come to a new iteration. */
static void replay(eddy_run *run, eddy__frame *frame, eddy__iteration *it)
{
    for (uint32_t i = 0; i < frame->plan->n_replayed; i++) {
        const eddy__step *step = &run->plan->steps[frame->plan->replayed[i]];

        if (frame->replay_state[i] == EDDY__NOT_YET)
            continue;
        if (frame->replay_state[i] == EDDY__CAME_LIVE)
            eddy__token_put(run, step, 0, it,
                            eddy__value_copy(&frame->replayed[i]));
        eddy__token_send(run, step, it,
                         frame->replay_state[i] == EDDY__CAME_DEAD);
    }
}

static void unpark(eddy_run *run, eddy__frame *frame, eddy__iteration *it)
{
    uint32_t n = frame->n_parked;

    frame->n_parked = 0;
    for (uint32_t i = 0; i < n; i++) {
        eddy__parked *parked = &frame->parked[i];

        eddy__token_put(run, parked->step, 0, it, parked->value);
        eddy__token_send(run, parked->step, it, false);
    }
}

/* Is the loop saved before its next iteration?  Then that waits for all. */
static bool is_saved_next(const eddy_run *run, const eddy__frame *frame)
{
    const eddy__plan_saving *saving;

    if (!frame->plan->is_saved || frame->n_started == 0)
        return false;
    saving = run->plan->saving;
    return saving->every > 0 &&
           (saving->first + frame->n_started) % saving->every == 0;
}

static void begin_iteration(eddy_run *run, eddy__frame *frame,
                            eddy__iteration *it)
{
    const eddy__plan_frame *plan = frame->plan;

    it->frame = frame;
    it->next = NULL;
    it->index = frame->n_started++;
    frame->window =
        is_saved_next(run, frame) ? 1 : frame->plan->parallel_iterations;
    it->outstanding = 0;
    memcpy(it->liveness, frame->start, plan->n_steps * sizeof *frame->start);
    if (plan->n_marks > 0)
        memset(it->marks, 0, plan->n_marks);
    if (plan->n_invariants > 0)
        memcpy(it->values, frame->invariants,
               plan->n_invariants * sizeof *it->values);
    if (frame->newest)
        frame->newest->next = it;
    else
        frame->oldest = it;
    frame->newest = it;
    frame->n_outstanding++;
    for (uint32_t i = 0; i < frame->n_starters; i++)
        eddy__queue_push(run, frame->starters[i].step, it,
                         frame->starters[i].dead);
    it->outstanding += frame->n_starters;
    if (plan->n_replayed > 0)
        replay(run, frame, it);
}

static bool count_iteration(eddy_run *run, eddy__frame *frame)
{
    uint64_t limit = run->options.max_iterations;

    if (!frame->parent)
        return true;
    if (limit > 0 && run->stats.iterations >= limit) {
        eddy__run_raise(run, EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_ITERATIONS,
                        NULL,
                        eddy__iteration_place(frame->newest ? frame->newest
                                                            : frame->parent),
                        "the limit of %llu iterations is reached in frame "
                        "'%s'",
                        (unsigned long long)limit, frame->plan->name);
        return false;
    }
    run->stats.iterations++;
    return true;
}

eddy__iteration *eddy__frame_iterate(eddy_run *run, eddy__frame *frame)
{
    eddy__iteration *it;

    if (is_saved_next(run, frame) && !eddy__saving_save(run, frame))
        return NULL;
    if (!count_iteration(run, frame))
        return NULL;
    it = new_iteration(run, frame);
    if (!it) {
        eddy__run_raise_memory(run, NULL, eddy__iteration_place(frame->newest));
        return NULL;
    }
    begin_iteration(run, frame, it);
    if (frame->n_parked > 0)
        unpark(run, frame, it);
    return it;
}

/* ---- frames ---- */

static void carve_frame(const eddy__plan_frame *plan, eddy__carver *c,
                        eddy__frame *frame)
{
    eddy__frame parts;

    eddy__carve(c, 1, sizeof *frame);
    parts.applied = eddy__carve(c, plan->n_invariants > 0 ? plan->n_steps : 0,
                                sizeof *frame->applied);
    parts.invariants =
        eddy__carve(c, plan->n_invariants, sizeof *frame->invariants);
    parts.held = eddy__carve(c, plan->n_invariants, sizeof *frame->held);
    parts.replayed = eddy__carve(c, plan->n_replayed, sizeof *frame->replayed);
    parts.replay_state = eddy__carve(c, plan->n_replayed, 1);
    parts.exited = eddy__carve(c, plan->n_exits, 1);
    parts.parked = eddy__carve(c, plan->n_nexts, sizeof *frame->parked);
    parts.starters = eddy__carve(c, plan->n_starters, sizeof *frame->starters);
    if (!frame)
        return;
    frame->applied = parts.applied;
    frame->invariants = parts.invariants;
    frame->held = parts.held;
    frame->replayed = parts.replayed;
    frame->replay_state = parts.replay_state;
    frame->exited = parts.exited;
    frame->parked = parts.parked;
    frame->starters = parts.starters;
}

/* A frame whose invariants, replayed values and exits are clean. */
static eddy__frame *new_frame(eddy_run *run, uint32_t id)
{
    const eddy__plan_frame *plan = &run->plan->frames[id];
    eddy__frame *frame = eddy__dynamic_of(run)->spare_frames[id];
    eddy__carver c = {0};
    size_t size;

    if (frame) {
        eddy__dynamic_of(run)->spare_frames[id] = frame->next;
        return frame;
    }
    carve_frame(plan, &c, NULL);
    size = c.used;
    c = (eddy__carver){.block = eddy__heap_allocate(&run->heap, size, &size)};
    if (!c.block)
        return NULL;
    memset(c.block, 0, size);
    frame = (eddy__frame *)(void *)c.block;
    carve_frame(plan, &c, frame);
    frame->plan = plan;
    frame->id = id;
    frame->block_size = size;
    return frame;
}

static void reset_frame(eddy__frame *frame, eddy__iteration *parent,
                        uint64_t number)
{
    const eddy__plan_frame *plan = frame->plan;

    frame->parent = parent;
    frame->instance.number = number;
    frame->oldest = frame->newest = NULL;
    frame->n_started = 0;
    frame->n_outstanding = 0;
    frame->pending_enters = plan->n_enters;
    frame->n_parked = frame->n_starters = 0;
    frame->start = plan->start;
    if (plan->n_invariants > 0) {
        memcpy(frame->invariants, plan->invariants,
               plan->n_invariants * sizeof *frame->invariants);
        memcpy(frame->applied, plan->start,
               plan->n_steps * sizeof *frame->applied);
        frame->start = frame->applied;
    }
}

static void link_frame(eddy_run *run, eddy__frame *frame)
{
    frame->previous = NULL;
    frame->next = eddy__dynamic_of(run)->frames;
    if (eddy__dynamic_of(run)->frames)
        eddy__dynamic_of(run)->frames->previous = frame;
    eddy__dynamic_of(run)->frames = frame;
}

static eddy__frame *start_frame(eddy_run *run, uint32_t id,
                                eddy__iteration *parent,
                                const eddy__step *enter)
{
    eddy__frame *frame = new_frame(run, id);

    if (!frame) {
        eddy__run_raise_memory(run, enter, eddy__iteration_place(parent));
        return NULL;
    }
    reset_frame(frame, parent, run->stats.frames);
    link_frame(run, frame);
    if (parent) {
        parent->children[frame->plan->child] = frame;
        parent->n_children++;
    }
    return eddy__frame_iterate(run, frame) ? frame : NULL;
}

eddy__frame *eddy__frame_root(eddy_run *run)
{
    return start_frame(run, 0, NULL, NULL);
}

eddy__frame *eddy__frame_enter(eddy_run *run, eddy__iteration *it,
                               const eddy__step *enter)
{
    const eddy__plan_frame *plan = &run->plan->frames[enter->aux];
    eddy__frame *frame = it->children[plan->child];
    uint64_t limit = run->options.max_frames;

    if (frame)
        return frame;
    if (limit > 0 && run->stats.frames >= limit) {
        eddy__run_raise(run, EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_FRAMES,
                        enter, &it->place,
                        "the limit of %llu frames is reached",
                        (unsigned long long)limit);
        return NULL;
    }
    run->stats.frames++;
    return start_frame(run, enter->aux, it, enter);
}

/* Drops what the frame holds, so that it is clean for its next use. */
static void clean_frame(eddy_run *run, eddy__frame *frame)
{
    const eddy__plan_frame *plan = frame->plan;

    for (uint32_t i = 0; i < plan->n_invariants; i++)
        eddy__value_clear(&run->heap, &frame->held[i]);
    for (uint32_t i = 0; i < plan->n_replayed; i++) {
        eddy__value_clear(&run->heap, &frame->replayed[i]);
        frame->replay_state[i] = EDDY__NOT_YET;
    }
    for (uint32_t i = 0; i < frame->n_parked; i++)
        eddy__value_clear(&run->heap, &frame->parked[i].value);
    memset(frame->exited, 0, plan->n_exits);
}

void eddy__frame_destroy(eddy_run *run, eddy__frame *frame)
{
    while (frame->oldest) {
        eddy__iteration *it = frame->oldest;

        frame->oldest = it->next;
        memset(it->children, 0, frame->plan->n_children * sizeof(void *));
        it->n_children = 0;
        recycle_iteration(run, it);
    }
    clean_frame(run, frame);
    if (frame->previous)
        frame->previous->next = frame->next;
    else
        eddy__dynamic_of(run)->frames = frame->next;
    if (frame->next)
        frame->next->previous = frame->previous;
    frame->next = eddy__dynamic_of(run)->spare_frames[frame->id];
    eddy__dynamic_of(run)->spare_frames[frame->id] = frame;
}

void eddy__frame_free_spares(eddy_run *run)
{
    for (uint32_t id = 0; id < run->plan->n_frames; id++) {
        eddy__iteration *it;
        eddy__frame *frame;

        while ((it = eddy__dynamic_of(run)->spare_iterations[id])) {
            eddy__dynamic_of(run)->spare_iterations[id] = it->next;
            eddy__heap_recycle(&run->heap, it, it->block_size);
        }
        while ((frame = eddy__dynamic_of(run)->spare_frames[id])) {
            eddy__dynamic_of(run)->spare_frames[id] = frame->next;
            eddy__heap_recycle(&run->heap, frame, frame->block_size);
        }
    }
}

/* ---- retiring ---- */

static bool is_done(const eddy__frame *frame, const eddy__iteration *it)
{
    return it && it->outstanding == 0 && it->n_children == 0 &&
           (it->index > 0 || frame->pending_enters == 0);
}

static void retire_iterations(eddy_run *run, eddy__frame *frame)
{
    while (is_done(frame, frame->oldest)) {
        eddy__iteration *it = frame->oldest;

        frame->oldest = it->next;
        if (!it->next)
            frame->newest = NULL;
        frame->n_outstanding--;
        recycle_iteration(run, it);
        if (frame->n_parked > 0 && frame->n_outstanding < frame->window &&
            !eddy__frame_iterate(run, frame))
            return;
    }
}

/*
 * Exits that were not live in any iteration are dead; the parent hears of them
 * before it can be done itself.  TensorFlow keeps silent of those that did not
 * run in the last iteration, as in a loop where some Enter is dead and others
 * are live, and what reads them then never runs.
 */
static void end_frame(eddy_run *run, eddy__frame *frame)
{
    eddy__iteration *parent = frame->parent;

    for (uint32_t i = 0; i < frame->plan->n_exits; i++)
        if (!frame->exited[i])
            eddy__token_send(run, &run->steps[frame->plan->exits[i]], parent,
                             true);
    parent->children[frame->plan->child] = NULL;
    parent->n_children--;
    eddy__frame_destroy(run, frame);
}

void eddy__frame_retire(eddy_run *run, eddy__frame *frame)
{
    while (frame->parent && !run->failed) {
        eddy__iteration *parent = frame->parent;

        retire_iterations(run, frame);
        if (frame->pending_enters > 0 || frame->n_outstanding > 0)
            return;
        end_frame(run, frame);
        if (parent->outstanding > 0)
            return;
        frame = parent->frame;
    }
}
