/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When is each step of a frame live, and may the frame be a region?
 *
 * One pass over the steps in plan order, so that what a step reads has its
 * guard.  A frame may not where a step's life does not follow from predicates
 * that are nested, or something in it is not done in one go: a kernel that may
 * suspend, a ControlTrigger, a Merge that may have two live inputs.
 */
#include "core/base/memory.h"
#include "core/base/status.h"
#include "runtime/plan/linear_build.h"

/* More predicates under one guard than this are not looked through. */
#define MOST_PREDICATES 1024

/* ---- guards and predicates ---- */

static eddy_status add_guard(eddy__linear_build *w, uint32_t frame,
                             uint32_t parent, uint32_t predicate, uint32_t side,
                             uint32_t *out_guard)
{
    if (!eddy__grow(w->scratch.allocator, (void **)&w->guards, &w->guards_room,
                    w->n_guards + 1, sizeof *w->guards))
        return eddy__fail_memory(w->err);
    *out_guard = (uint32_t)w->n_guards;
    w->guards[w->n_guards++] =
        (eddy__linear_build_guard){.parent = parent,
                                   .frame = frame,
                                   .predicate = predicate,
                                   .side = side,
                                   .first_predicate = EDDY__NO,
                                   .head = EDDY__NO,
                                   .number = EDDY__NO};
    return EDDY_OK;
}

/* The predicate `value` under `guard`, a new one if need be. */
static eddy_status find_predicate(eddy__linear_build *w, uint32_t guard,
                                  uint32_t value, uint32_t step,
                                  uint32_t *out_predicate)
{
    const uint32_t frame = w->guards[guard].frame;
    uint32_t n = 0, p = w->guards[guard].first_predicate;

    for (; p != EDDY__NO && w->predicates[p].value != value; n++)
        p = w->predicates[p].next;
    *out_predicate = p;
    if (p != EDDY__NO)
        return EDDY_OK;
    if (n >= MOST_PREDICATES) {
        eddy__linear_refuse(w, frame, step, "there are too many branches");
        *out_predicate = w->guards[guard].first_predicate;
        return EDDY_OK;
    }
    if (!eddy__grow(w->scratch.allocator, (void **)&w->predicates,
                    &w->predicates_room, w->n_predicates + 1,
                    sizeof *w->predicates))
        return eddy__fail_memory(w->err);
    p = *out_predicate = (uint32_t)w->n_predicates++;
    w->predicates[p] =
        (eddy__predicate){.value = value,
                          .guard = guard,
                          .next = w->guards[guard].first_predicate,
                          .counter = EDDY__NO};
    w->guards[guard].first_predicate = p;
    for (uint32_t side = 0; side < 2; side++) {
        uint32_t made = EDDY__NO;

        EDDY_TRY(add_guard(w, frame, guard, p, side, &made));
        w->predicates[p].sides[side] = made;
    }
    return EDDY_OK;
}

/* ---- in-edges ---- */

uint32_t eddy__linear_edge_guard(eddy__linear_build *w, uint32_t from,
                                 uint32_t output)
{
    const eddy__step *step = &w->plan->steps[from];

    switch ((eddy__step_kind)step->kind) {
    case EDDY__STEP_ENTER:
        return w->loops[step->aux].root;
    case EDDY__STEP_EXIT:
        return w->loops[step->frame].entered;
    case EDDY__STEP_SWITCH:
        if (output != EDDY__CONTROL_PORT)
            return w->values[eddy__linear_output(w, from, output)].guard;
        break;
    case EDDY__STEP_CONTROL_TRIGGER: /* live whatever has come */
        return w->loops[step->frame].root;
    default:
        break;
    }
    return w->guard_of[from];
}

/* The innermost guard of a step's in-edges. */
static void join_edges(eddy__linear_build *w, uint32_t id)
{
    const eddy__layout *l = w->l;
    const uint32_t frame = w->plan->steps[id].frame;
    uint32_t joined = w->loops[frame].root, n_triggers = 0;

    for (size_t e = l->in_first[id]; e < l->in_first[id + 1]; e++) {
        const uint32_t guard = eddy__linear_edge_guard(w, l->in_edges[e].from,
                                                       l->in_edges[e].output);

        n_triggers += w->plan->steps[l->in_edges[e].from].kind ==
                      EDDY__STEP_CONTROL_TRIGGER;
        if (guard == EDDY__NO || w->guards[guard].frame != frame)
            eddy__linear_refuse(w, frame, id,
                                "it reads what is not known to be live");
        else if (eddy__linear_is_within(w, guard, joined))
            joined = guard;
        else if (!eddy__linear_is_within(w, joined, guard))
            eddy__linear_refuse(w, frame, id,
                                "it needs two branches of which neither is in "
                                "the other");
    }
    /* It would be live in a frame that is entered dead. */
    if (n_triggers == l->in_first[id + 1] - l->in_first[id])
        eddy__linear_refuse(w, frame, id, "it waits for ControlTriggers alone");
    w->guard_of[id] = joined;
}

static void set_value(eddy__linear_build *w, uint32_t id, uint32_t i,
                      uint32_t guard)
{
    const uint32_t v = eddy__linear_output(w, id, i);
    const eddy__layout_source source = {.step = id, .output = i};
    const eddy__node *node = eddy__layout_node(w->l, id);

    w->values[v] =
        (eddy__held){.alias = v,
                     .guard = guard,
                     .reg = EDDY__NO,
                     .maker = id,
                     .dtype = node ? node->output_dtypes[i] : 0,
                     .is_raw = node && eddy__layout_is_inline(w->l, source)};
}

/*
 * Output `i` of `id` is what it reads as input `from`, if both are raw, or that
 * is lent for as long as the loop runs.
 */
static void set_alias(eddy__linear_build *w, uint32_t id, uint32_t i,
                      uint32_t from)
{
    const eddy__held *in = &w->values[eddy__linear_input(w, id, from)];
    eddy__held *v = &w->values[eddy__linear_output(w, id, i)];

    if (!in->is_raw)
        v->is_raw = false;
    if (v->is_raw || (in->is_lent && !in->is_raw))
        v->alias = in->alias;
    v->is_lent = v->is_lent || (in->is_lent && !in->is_raw);
}

/* ---- steps, by kind ---- */

static eddy_status visit_switch(eddy__linear_build *w, uint32_t id)
{
    const eddy__step *step = &w->plan->steps[id];
    const uint32_t frame = step->frame;
    const eddy__held *read = &w->values[eddy__linear_input(w, id, 1)];
    uint32_t p;

    join_edges(w, id);
    if (step->node->n_out != 2 || !read->is_raw ||
        read->dtype != (uint8_t)EDDY_BOOL)
        eddy__linear_refuse(w, frame, id,
                            "its predicate is not known to be one bool");
    EDDY_TRY(find_predicate(w, w->guard_of[id], read->alias, id, &p));
    for (uint32_t i = 0; i < step->node->n_out; i++) {
        set_value(w, id, i, w->predicates[p].sides[i > 0]);
        set_alias(w, id, i, 0);
    }
    return EDDY_OK;
}

/*
 * The values of a loop's Merge: as they come in, and as they come back.  A
 * graph may have others, which are no loop variables.
 */
static void visit_loop_merge(eddy__linear_build *w, uint32_t id)
{
    const eddy__layout *l = w->l;
    const uint32_t frame = w->plan->steps[id].frame;
    const size_t n = l->in_first[id + 1] - l->in_first[id];
    uint32_t n_enters = 0, n_controls = 0;

    for (size_t e = l->in_first[id]; e < l->in_first[id + 1]; e++) {
        const eddy__step *from = &w->plan->steps[l->in_edges[e].from];

        n_controls += l->in_edges[e].output == EDDY__CONTROL_PORT;
        n_enters += from->kind == EDDY__STEP_ENTER &&
                    !(from->flags & EDDY__STEP_CONSTANT) && from->n_edges == 1;
    }
    if (n == 2 && n_enters == 1 && n_controls == 0)
        w->is_loop_merge[id] = true;
    else
        eddy__linear_refuse(w, frame, id,
                            "it is not one Enter and one NextIteration");
    w->loops[frame].has_loop = true;
    w->guard_of[id] = w->loops[frame].root;
}

/* Do guards of the inputs of a Merge cover one guard, each part once? */
static void visit_branch_merge(eddy__linear_build *w, uint32_t id)
{
    const eddy__layout *l = w->l;
    const size_t first = l->in_first[id], n = l->in_first[id + 1] - first;
    const uint32_t frame = w->plan->steps[id].frame;
    uint32_t open[16], n_open = 0;

    for (size_t e = 0; e < n && n <= 16; e++) {
        const eddy__in_edge *in = &l->in_edges[first + e];
        uint32_t g = in->output == EDDY__CONTROL_PORT
                         ? EDDY__NO
                         : eddy__linear_edge_guard(w, in->from, in->output);

        /* Two sides of a predicate are what is around them. */
        for (uint32_t i = 0; g != EDDY__NO && i < n_open;) {
            const uint32_t p = w->guards[g].predicate;

            if (p != EDDY__NO && !w->predicates[p].is_loop &&
                w->guards[open[i]].predicate == p && open[i] != g) {
                g = w->predicates[p].guard;
                open[i] = open[--n_open];
                i = 0;
            } else {
                i++;
            }
        }
        open[n_open++] = g;
    }
    if (n_open != 1 || open[0] == EDDY__NO ||
        w->guards[open[0]].frame != frame) {
        eddy__linear_refuse(w, frame, id,
                            "its inputs are not the sides of one branch");
        open[0] = w->loops[frame].root;
    }
    w->guard_of[id] = open[0];
}

static bool reads_next_iteration(const eddy__linear_build *w, uint32_t id)
{
    const eddy__layout *l = w->l;

    for (size_t e = l->in_first[id]; e < l->in_first[id + 1]; e++)
        if (w->plan->steps[l->in_edges[e].from].kind ==
            EDDY__STEP_NEXT_ITERATION)
            return true;
    return false;
}

static void visit_merge(eddy__linear_build *w, uint32_t id)
{
    const eddy__step *step = &w->plan->steps[id];

    if (reads_next_iteration(w, id))
        visit_loop_merge(w, id);
    else
        visit_branch_merge(w, id);
    if (step->aux != 0)
        eddy__linear_refuse(w, step->frame, id,
                            "two of its inputs may be live");
    if (eddy__step_uses(step, 1) != 0)
        eddy__linear_refuse(w, step->frame, id, "its value_index is read");
    set_value(w, id, 0, w->guard_of[id]);
    set_value(w, id, 1, w->guard_of[id]);
}

/*
 * A loop is live where all that enters it is.  By the time its LoopCond is seen
 * this must be known (linear_reach.c looks at the other Enters).
 */
static void narrow_entry(eddy__linear_build *w, uint32_t id,
                         eddy__linear_build_loop *child)
{
    const uint32_t guard = w->guard_of[id];

    if (child->n_enters == 0 ||
        (child->predicate == EDDY__NO &&
         eddy__linear_is_within(w, guard, child->entered)))
        child->entered = guard;
    else if (!eddy__linear_is_within(w, child->entered, guard))
        eddy__linear_refuse(w, w->plan->steps[id].frame, id,
                            "it enters a loop that may be dead in part");
}

/* Its guard is in the frame around; its value is the child's. */
static void visit_enter(eddy__linear_build *w, uint32_t id)
{
    const eddy__step *step = &w->plan->steps[id];
    eddy__linear_build_loop *child = &w->loops[step->aux];
    const bool is_lent = (step->flags & EDDY__STEP_PREAPPLIED) != 0;
    uint32_t v;

    if (step->frame != 0) {
        join_edges(w, id);
        narrow_entry(w, id, child);
    }
    child->enters[child->n_enters++] = id;
    if ((step->flags & EDDY__STEP_CONSTANT) && !is_lent)
        eddy__linear_refuse(w, step->aux, id, "a Merge reads it");
    if (!is_lent &&
        (step->n_edges != 1 ||
         w->plan->steps[step->edges[0].step].kind != EDDY__STEP_MERGE ||
         !reads_next_iteration(w, step->edges[0].step)))
        eddy__linear_refuse(w, step->aux, id,
                            "it is no loop variable's, and not constant");
    set_value(w, id, 0, child->root);
    v = eddy__linear_output(w, id, 0);
    if (!eddy__layout_is_inline(w->l, eddy__layout_input(w->l, id, 0)))
        w->values[v].is_raw = false;
    if (!is_lent)
        return;
    w->values[v].is_lent = true;
    if (step->frame != 0)
        set_alias(w, id, 0, 0);
}

static void visit_exit(eddy__linear_build *w, uint32_t id)
{
    const eddy__step *step = &w->plan->steps[id];
    const eddy__linear_build_loop *loop = &w->loops[step->frame];

    join_edges(w, id);
    if (loop->predicate == EDDY__NO ||
        w->guard_of[id] != w->predicates[loop->predicate].sides[0])
        eddy__linear_refuse(w, step->frame, id,
                            "it does not read output 0 of a Switch on the "
                            "LoopCond");
    if (w->plan->frames[step->frame].parent == 0)
        return;
    set_value(w, id, 0, loop->entered);
    /* What is lent in the loop is not outside. */
    if (!w->values[eddy__linear_input(w, id, 0)].is_raw)
        w->values[eddy__linear_output(w, id, 0)].is_raw = false;
    else
        set_alias(w, id, 0, 0);
}

static void visit_next(eddy__linear_build *w, uint32_t id)
{
    const eddy__step *step = &w->plan->steps[id];
    const eddy__linear_build_loop *loop = &w->loops[step->frame];

    join_edges(w, id);
    if (loop->predicate == EDDY__NO ||
        w->guard_of[id] != w->predicates[loop->predicate].sides[1] ||
        step->n_edges != 1 ||
        w->plan->steps[step->edges[0].step].kind != EDDY__STEP_MERGE)
        eddy__linear_refuse(w, step->frame, id,
                            "it does not run whenever the loop goes on");
    set_value(w, id, 0, w->guard_of[id]);
}

static eddy_status visit_cond(eddy__linear_build *w, uint32_t id)
{
    const eddy__step *step = &w->plan->steps[id];
    eddy__linear_build_loop *loop = &w->loops[step->frame];
    const uint32_t v = eddy__linear_output(w, id, 0);

    if (w->guard_of[id] != loop->root || loop->predicate != EDDY__NO ||
        step->kind != EDDY__STEP_FORWARD || !w->values[v].is_raw)
        eddy__linear_refuse(w, step->frame, id,
                            "it is not one bool in every iteration");
    EDDY_TRY(find_predicate(w, loop->root, w->values[v].alias, id,
                            &loop->predicate));
    w->predicates[loop->predicate].is_loop = true;
    return EDDY_OK;
}

/* Stacks and arrays of bare scalars pass on a register as it is. */
static void visit_store(eddy__linear_build *w, uint32_t id)
{
    uint32_t passed = EDDY__NO;

    w->store_op[id] = (uint16_t)eddy__linear_store_op(w, id, &passed);
    if (w->store_op[id] != EDDY__LINEAR_DONE && passed != EDDY__NO)
        set_alias(w, id, 0, passed);
}

static eddy_status visit_other(eddy__linear_build *w, uint32_t id)
{
    const eddy__step *step = &w->plan->steps[id];
    const eddy__node *node = eddy__layout_node(w->l, id);

    join_edges(w, id);
    if (step->kind == EDDY__STEP_FETCH)
        eddy__linear_refuse(w, step->frame, EDDY__NO, "a fetch is in it");
    if (step->flags & EDDY__STEP_ASYNC)
        eddy__linear_refuse(w, step->frame, id, "its kernel may suspend");
    for (uint32_t i = 0; node && i < node->n_outputs; i++) {
        set_value(w, id, i, w->guard_of[id]);
        if (step->kind == EDDY__STEP_FORWARD)
            set_alias(w, id, i, 0);
        if (step->kind == EDDY__STEP_CONST)
            w->values[eddy__linear_output(w, id, i)].is_lent = true;
    }
    if (step->kind == EDDY__STEP_KERNEL)
        visit_store(w, id);
    if (node && eddy__node_role(node) == EDDY__ROLE_LOOP_COND)
        return visit_cond(w, id);
    return EDDY_OK;
}

static eddy_status visit(eddy__linear_build *w, uint32_t id)
{
    const eddy__step *step = &w->plan->steps[id];

    if (step->flags & EDDY__STEP_DISSOLVED) {
        set_value(w, id, 0, w->loops[step->frame].root);
        w->values[eddy__linear_output(w, id, 0)].is_lent = true;
        w->is_skipped[id] = true;
        return EDDY_OK;
    }
    if (step->kind == EDDY__STEP_ENTER) {
        visit_enter(w, id);
        return EDDY_OK;
    }
    if (step->frame == 0) {
        w->is_skipped[id] = true;
        return EDDY_OK;
    }
    switch ((eddy__step_kind)step->kind) {
    case EDDY__STEP_SWITCH:
        return visit_switch(w, id);
    case EDDY__STEP_MERGE:
        visit_merge(w, id);
        return EDDY_OK;
    case EDDY__STEP_EXIT:
        visit_exit(w, id);
        return EDDY_OK;
    case EDDY__STEP_NEXT_ITERATION:
        visit_next(w, id);
        return EDDY_OK;
    default:
        return visit_other(w, id);
    }
}

/* A loop variable is raw if it comes in raw and comes back so. */
static void check_variable(eddy__linear_build *w, uint32_t id)
{
    const eddy__layout *l = w->l;
    const bool is_raw = w->values[eddy__linear_output(w, id, 0)].is_raw;

    for (size_t e = l->in_first[id]; e < l->in_first[id + 1]; e++) {
        const uint32_t from = l->in_edges[e].from;
        const eddy__step *step = &w->plan->steps[from];
        const uint32_t v = step->kind == EDDY__STEP_ENTER
                               ? eddy__linear_output(w, from, 0)
                               : eddy__linear_input(w, from, 0);

        if (is_raw && !w->values[v].is_raw)
            eddy__linear_refuse(w, w->plan->steps[id].frame, id,
                                "it is a scalar, but not all of its inputs are "
                                "known to be");
    }
}

/* The same of a branch's Merge. */
static void check_phi(eddy__linear_build *w, uint32_t id)
{
    const eddy__step *step = &w->plan->steps[id];

    for (uint32_t i = 0; i < step->node->n_in; i++)
        if (w->values[eddy__linear_output(w, id, 0)].is_raw &&
            !w->values[eddy__linear_input(w, id, i)].is_raw)
            eddy__linear_refuse(w, step->frame, id,
                                "it is a scalar, but not all of its inputs are "
                                "known to be");
}

static void judge_frames(eddy__linear_build *w)
{
    const eddy_plan *plan = w->plan;

    for (uint32_t id = 0; id < plan->n_steps; id++) {
        if (plan->steps[id].kind != EDDY__STEP_MERGE || w->is_skipped[id])
            continue;
        if (w->is_loop_merge[id])
            check_variable(w, id);
        else
            check_phi(w, id);
    }
    for (uint32_t f = plan->n_frames - 1; f > 0; f--) {
        const eddy__linear_build_loop *loop = &w->loops[f];

        if (loop->predicate == EDDY__NO || !loop->has_loop)
            eddy__linear_refuse(w, f, EDDY__NO, "it is no loop");
        if (plan->frames[f].n_marks > 0)
            eddy__linear_refuse(w, f, EDDY__NO,
                                "nodes of an iteration share a mark");
        if (loop->doubt.why)
            eddy__linear_refuse(w, plan->frames[f].parent, EDDY__NO,
                                "a loop in it is not linear");
        w->loops[plan->frames[f].parent].n_frames += loop->n_frames;
    }
}

/* A ControlTrigger stands where its inputs do, but is always live. */
static void count_own(eddy__linear_build *w, uint32_t id)
{
    const eddy__step *step = &w->plan->steps[id];

    if (step->kind == EDDY__STEP_CONTROL_TRIGGER) {
        w->guards[w->loops[step->frame].root].own++;
        w->loops[step->frame].n_triggers++;
    } else {
        /* One kernel may count for several nodes (kernels.c). */
        w->guards[w->guard_of[id]].own +=
            1 + (step->kind == EDDY__STEP_KERNEL ? step->aux : 0);
    }
}

eddy_status eddy__linear_guards(eddy__linear_build *w)
{
    eddy_plan *plan = w->plan;

    for (uint32_t f = 1; f < plan->n_frames; f++)
        EDDY_TRY(add_guard(w, f, EDDY__NO, EDDY__NO, 0, &w->loops[f].root));
    for (uint32_t id = 0; id < plan->n_steps; id++)
        EDDY_TRY(visit(w, id));
    eddy__linear_find_reach(w);
    for (uint32_t id = 0; id < plan->n_steps; id++)
        if (!w->is_skipped[id] && w->guard_of[id] != EDDY__NO)
            count_own(w, id);
    judge_frames(w);
    return EDDY_OK;
}
