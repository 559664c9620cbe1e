/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is live in a loop that is entered dead: its loop variables do not come
 * in, or not all of them, but constants do that the iteration around it has in
 * any case, and what they alone lead to runs.
 *
 * The reach of a step says how far the last live iteration around may be away
 * for it to be so: 0, it is dead whenever its loop is; 1, it is live if the
 * iteration in which the loop is entered is; 2, also if that one is of a loop
 * that is entered dead in a live iteration; and so on.
 *
 * Such steps may do nothing but hand on, or else the loop is not linear: code
 * does not run them, and the counts that they make are known.
 */
#include "runtime/plan/linear_build.h"

#define MOST_REACH 250

/* Of a token on an in-edge of a step. */
static uint32_t edge_reach(const eddy__linear_build *w,
                           const eddy__in_edge *edge)
{
    const eddy__step *from = &w->plan->steps[edge->from];
    const uint32_t reach = w->reach[edge->from];

    switch ((eddy__step_kind)from->kind) {
    case EDDY__STEP_CONTROL_TRIGGER: /* live whatever comes */
        return MOST_REACH;
    case EDDY__STEP_EXIT:
    case EDDY__STEP_NEXT_ITERATION:
        return 0;
    case EDDY__STEP_ENTER:
        if (from->frame == 0 ||
            w->guard_of[edge->from] != w->loops[from->frame].root)
            return 0;
        return reach < MOST_REACH ? reach + 1 : reach;
    default:
        return reach;
    }
}

/* A Merge is live if one of its inputs is, others if all are. */
static uint32_t find_reach(const eddy__linear_build *w, uint32_t id)
{
    const eddy__layout *l = w->l;
    const bool is_merge = w->plan->steps[id].kind == EDDY__STEP_MERGE;
    uint32_t reach = is_merge ? 0 : MOST_REACH;

    for (size_t e = l->in_first[id]; e < l->in_first[id + 1]; e++) {
        const uint32_t one = edge_reach(w, &l->in_edges[e]);

        if (is_merge ? one > reach : one < reach)
            reach = one;
    }
    return l->in_first[id] == l->in_first[id + 1] ? 0 : reach;
}

static bool only_hands_on(const eddy__linear_build *w, uint32_t id)
{
    switch ((eddy__step_kind)w->plan->steps[id].kind) {
    case EDDY__STEP_ENTER:
    case EDDY__STEP_CONST:
    case EDDY__STEP_CONTROL_TRIGGER:
        return true;
    case EDDY__STEP_FORWARD:
        return eddy__node_role(eddy__layout_node(w->l, id)) !=
               EDDY__ROLE_LOOP_COND;
    default:
        return w->is_loop_merge[id];
    }
}

/*
 * May the Enters of a loop come in under two guards: its own, and always?  A
 * variable that comes in for nothing stays where it is.
 */
static void check_enters(eddy__linear_build *w, uint32_t frame)
{
    const eddy__linear_build_loop *loop = &w->loops[frame];
    const uint32_t around = w->plan->frames[frame].parent;

    for (uint32_t i = 0; i < loop->n_enters && around != 0; i++) {
        const uint32_t id = loop->enters[i];
        const uint32_t guard = w->guard_of[id];
        const bool is_constant =
            (w->plan->steps[id].flags & EDDY__STEP_CONSTANT) != 0;

        if (guard != loop->entered &&
            (guard != w->loops[around].root ||
             (!is_constant &&
              !w->values[eddy__linear_output(w, id, 0)].is_raw)))
            eddy__linear_refuse(w, around, id,
                                "it enters a loop that may be dead in part");
    }
}

void eddy__linear_find_reach(eddy__linear_build *w)
{
    const eddy_plan *plan = w->plan;

    for (uint32_t f = 1; f < plan->n_frames; f++)
        check_enters(w, f);
    for (uint32_t id = 0; id < plan->n_steps; id++) {
        if (plan->steps[id].frame == 0 || w->is_skipped[id])
            continue;
        w->reach[id] = (uint8_t)find_reach(w, id);
        if (w->reach[id] > 0 && !only_hands_on(w, id))
            eddy__linear_refuse(w, plan->steps[id].frame, id,
                                "it may run in a loop that is dead");
    }
}

void eddy__linear_count_reach(const eddy__linear_build *w,
                              eddy__linear_frame *frames, uint32_t n_frames)
{
    for (uint32_t f = 0; f < n_frames; f++) {
        const eddy__plan_frame *plan = &w->plan->frames[frames[f].frame];

        for (uint32_t i = 0; i < plan->n_steps; i++) {
            const uint32_t id = plan->steps[i];
            uint32_t around = f;

            if (w->plan->steps[id].kind == EDDY__STEP_CONTROL_TRIGGER)
                continue;
            for (uint32_t k = 0; k < w->reach[id] && around != EDDY__NO; k++) {
                frames[around].n_live++;
                frames[around].n_dead--;
                around = frames[around].parent;
            }
        }
    }
}
