/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pass that makes the linear form: finds which frames may be regions
 * (linear_guard.c), which tensors are spread (linear_spread.c), and makes
 * regions of outermost ones (linear_build.c).
 *
 * Elements that are interpreted one by one take longer than a kernel's call
 * where there are many, and shorter where vectors of machine code have them.
 * So a loop of which both is true has two forms: one that is interpreted first,
 * and a second one for code.  A plan that may be recorded has another one,
 * whose code tells of its nodes (linear_tell.c).
 */
#include "core/base/status.h"
#include "core/context.h"
#include "runtime/plan/linear_build.h"

#include <string.h>

/* ---- the first form ---- */

/* The first try fails for few; none is tried for ever. */
#define MOST_FAILURES 100

/* Steps that may be looked at. */
static uint64_t budget_of(const eddy_plan *plan)
{
    return 64 * ((uint64_t)plan->n_steps + 1);
}

static eddy_status make_regions(eddy__linear_build *w)
{
    const eddy_plan_executor executor = w->l->options->executor;
    const bool is_forced =
        executor == EDDY_EXECUTOR_LINEAR || executor == EDDY_EXECUTOR_NATIVE;
    eddy_plan *plan = w->plan;
    uint64_t budget = budget_of(plan);
    uint32_t n_failed = 0;

    if (!is_forced && plan->ctx->pool)
        EDDY_TRY(eddy__linear_find_wide(w));
    for (uint32_t f = 1; f < plan->n_frames; f++) {
        const uint32_t parent = plan->frames[f].parent;
        eddy__linear *region = NULL;

        if (plan->frames[f].is_saved)
            eddy__linear_refuse(w, f, EDDY__NO, "it has checkpoints");
        if (w->loops[f].is_wide)
            eddy__linear_refuse(w, f, EDDY__NO,
                                "workers gain from nodes side by side");
        plan->frames[f].is_linear = plan->frames[parent].is_linear;
        if (plan->frames[f].is_linear || w->loops[f].doubt.why ||
            n_failed > MOST_FAILURES)
            continue;
        EDDY_TRY(eddy__linear_make_region(w, f, &budget, &region));
        plan->frames[f].linear = w->regions[f] = region;
        plan->frames[f].is_linear = region != NULL;
        n_failed += !plan->frames[f].is_linear;
    }
    return EDDY_OK;
}

static eddy_status begin(eddy__linear_build *w)
{
    eddy_plan *plan = w->plan;
    const size_t n = plan->n_steps, n_frames = plan->n_frames;

    w->loops =
        eddy__arena_allocate_zeroed(&w->scratch, n_frames, sizeof *w->loops);
    w->regions = eddy__arena_allocate_zeroed(&w->scratch, n_frames,
                                             sizeof(eddy__linear *));
    w->guard_of = eddy__arena_allocate(&w->scratch, n, sizeof *w->guard_of);
    w->pending =
        eddy__arena_allocate_zeroed(&w->scratch, n, sizeof *w->pending);
    w->reach = eddy__arena_allocate_zeroed(&w->scratch, n, 1);
    w->store_op =
        eddy__arena_allocate_zeroed(&w->scratch, n, sizeof *w->store_op);
    w->spreads =
        eddy__arena_allocate_zeroed(&w->scratch, n, sizeof(eddy__spread *));
    w->is_loop_merge = eddy__arena_allocate_zeroed(&w->scratch, n, 1);
    w->is_skipped = eddy__arena_allocate_zeroed(&w->scratch, n, 1);
    w->seen_by =
        eddy__arena_allocate_zeroed(&w->scratch, n, sizeof *w->seen_by);
    w->stack = eddy__arena_allocate(&w->scratch, n, sizeof *w->stack);
    if (!w->reach || !w->store_op || !w->spreads || !w->seen_by || !w->stack ||
        !w->loops || !w->guard_of || !w->pending || !w->is_loop_merge ||
        !w->is_skipped || !w->regions)
        return eddy__fail_memory(w->err);
    memset(w->guard_of, 0xff, n * sizeof *w->guard_of);
    for (uint32_t f = 0; f < n_frames; f++) {
        eddy__linear_build_loop *loop = &w->loops[f];

        loop->first_value = w->n_values;
        loop->root = loop->predicate = loop->entered = EDDY__NO;
        loop->n_frames = 1;
        loop->enters = eddy__arena_allocate(
            &w->scratch, plan->frames[f].n_enters, sizeof *loop->enters);
        if (!loop->enters)
            return eddy__fail_memory(w->err);
        w->n_values += plan->frames[f].n_slots;
    }
    w->values = eddy__arena_allocate_zeroed(&w->scratch, w->n_values,
                                            sizeof *w->values);
    return w->values ? EDDY_OK : eddy__fail_memory(w->err);
}

static void keep_doubts(const eddy__linear_build *w)
{
    for (uint32_t f = 1; f < w->plan->n_frames; f++) {
        eddy__plan_frame *frame = &w->plan->frames[f];

        frame->why = frame->is_linear ? NULL : w->loops[f].doubt.why;
        frame->why_node = frame->is_linear ? NULL : w->loops[f].doubt.node;
    }
}

/* All that is known before code is written. */
static eddy_status find_all(eddy__linear_build *w)
{
    EDDY_TRY(begin(w));
    EDDY_TRY(eddy__linear_guards(w));
    return w->is_recorded ? EDDY_OK : eddy__linear_find_spread(w);
}

static void end(eddy__linear_build *w)
{
    const eddy_allocator *a = w->scratch.allocator;

    eddy__free(a, w->guards, w->guards_room, sizeof *w->guards);
    eddy__free(a, w->predicates, w->predicates_room, sizeof *w->predicates);
    eddy__free(a, w->ready, w->ready_room, sizeof *w->ready);
    eddy__free(a, w->events, w->events_room, sizeof *w->events);
    eddy__arena_destroy(&w->scratch);
}

/* ---- the second one ---- */

/* Are values of the frame spread by `later` that are not by `first`? */
static bool has_more(const eddy__linear_build *first,
                     const eddy__linear_build *later, uint32_t frame)
{
    const uint32_t at = first->loops[frame].first_value;

    for (uint32_t i = 0; i < first->plan->frames[frame].n_slots; i++)
        if (later->values[at + i].is_spread && !first->values[at + i].is_spread)
            return true;
    return false;
}

/* What a variable has one by one, it may not have as a tensor later. */
static bool is_same_entry(const eddy__linear_entry *first,
                          const eddy__linear_entry *later)
{
    return first->step == later->step && first->is_raw == later->is_raw &&
           first->uses == later->uses &&
           (first->held == EDDY__NO) == (later->held == EDDY__NO) &&
           (first->to != EDDY__NO ||
            (later->to == EDDY__NO && first->n_parts == later->n_parts));
}

/*
 * May an execution go over from one to the other?  Only where an iteration of
 * a loop without others in it begins: all that is live came in, or came back,
 * by its Enters.
 */
static bool can_follow(const eddy__linear *first, const eddy__linear *later)
{
    if (first->n_frames != 1 || later->n_frames != 1 ||
        first->n_entries != later->n_entries ||
        first->n_exits != later->n_exits ||
        first->n_guards != later->n_guards ||
        first->n_counters != later->n_counters ||
        memcmp(first->guards, later->guards,
               first->n_guards * sizeof *first->guards) != 0)
        return false;
    for (uint32_t i = 0; i < first->n_entries; i++)
        if (!is_same_entry(&first->entries[i], &later->entries[i]))
            return false;
    for (uint32_t i = 0; i < first->n_exits; i++)
        if (first->exits[i].step != later->exits[i].step)
            return false;
    return true;
}

static void join_forms(eddy__linear *first, eddy__linear *later)
{
    first->tier->chunk = later->tier->chunk;
    later->tier = first->tier;
    first->later = later;
    first->n_before = later->n_registers;
    later->n_behind = first->n_registers;
}

/* Of loops that have both. */
static eddy_status make_later(eddy__linear_build *w,
                              const eddy__linear_build *first)
{
    uint64_t budget = budget_of(w->plan);

    for (uint32_t f = 1; f < w->plan->n_frames; f++) {
        eddy__linear *now = first->regions[f], *later = NULL;

        if (!now || !now->tier || now->n_frames != 1 || w->loops[f].doubt.why ||
            !has_more(first, w, f))
            continue;
        EDDY_TRY(eddy__linear_make_region(w, f, &budget, &later));
        if (later && later->tier && can_follow(now, later))
            join_forms(now, later);
    }
    return EDDY_OK;
}

/* ---- the one of recorded runs ---- */

static bool is_to_be_recorded(const eddy__linear_build *w)
{
    const eddy_plan_options *options = w->l->options;

    return options->record || options->executor == EDDY_EXECUTOR_LINEAR;
}

/* Of all that has the first one. */
static eddy_status make_recorded(eddy__linear_build *w,
                                 const eddy__linear_build *first)
{
    uint64_t budget = budget_of(w->plan);

    w->is_recorded = true;
    EDDY_TRY(find_all(w));
    for (uint32_t f = 1; f < w->plan->n_frames; f++) {
        eddy__linear *region = NULL;

        if (!first->regions[f] || w->loops[f].doubt.why)
            continue;
        EDDY_TRY(eddy__linear_make_region(w, f, &budget, &region));
        w->plan->frames[f].recorded = region;
    }
    return EDDY_OK;
}

/* ---- the pass ---- */

eddy_status eddy__plan_make_linear(eddy__plan_build *b)
{
    eddy__linear_build first = {
        .l = b->layout,
        .plan = b->plan,
        .err = b->err,
        .scratch = {.allocator = &b->budget->allocator}};
    eddy__linear_build later = first, recorded = first;
    eddy_status status;

    if (b->plan->n_frames < 2 || b->now.executor == EDDY_EXECUTOR_DYNAMIC)
        return EDDY_OK;
    status = find_all(&first);
    if (status == EDDY_OK)
        status = make_regions(&first);
    if (status == EDDY_OK)
        keep_doubts(&first);
    if (status == EDDY_OK && first.has_more) {
        later.is_later = true;
        status = find_all(&later);
        if (status == EDDY_OK)
            status = make_later(&later, &first);
        end(&later);
    }
    if (status == EDDY_OK && is_to_be_recorded(&first)) {
        status = make_recorded(&recorded, &first);
        end(&recorded);
    }
    for (uint32_t f = 1; f < b->plan->n_frames && status == EDDY_OK; f++)
        if (first.regions[f])
            eddy__linear_weigh(first.regions[f]);
    end(&first);
    return status;
}
