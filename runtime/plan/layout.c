/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Laying a plan out: steps in plan order, slots and local numbers by frame,
 * then edges, counters and frames.  Each pass fills what the next one reads.
 */
#include "runtime/plan/plan.h"

#include "core/base/status.h"
#include "frames/analysis/merge_order.h"
#include "runtime/plan/layout.h"

#include <string.h>

static void *scratch(eddy__layout *l, size_t n, size_t size)
{
    return eddy__arena_allocate_zeroed(&l->scratch, n, size);
}

static void *keep(eddy__layout *l, size_t n, size_t size)
{
    return eddy__arena_allocate_zeroed(&l->plan->arena, n, size);
}

/* ---- producers and consumers, one way for nodes, feeds and fetches ---- */

static eddy__layout_source source_of(const eddy__layout *l, eddy_output output)
{
    uint32_t feed = eddy__selection_feed_of(l->selection, output);

    if (feed != EDDY__NOT_FOUND)
        return (eddy__layout_source){.step = feed, .output = 0};
    return (eddy__layout_source){.step = l->step_of[output.node],
                                 .output = output.index};
}

const eddy__node *eddy__layout_node(const eddy__layout *l, uint32_t step)
{
    return l->node_of[step] == EDDY_NO_NODE
               ? NULL
               : eddy__graph_node(l->selection->graph, l->node_of[step]);
}

uint32_t eddy__layout_inputs(const eddy__layout *l, uint32_t step)
{
    const eddy__node *node = eddy__layout_node(l, step);

    if (node)
        return node->n_inputs;
    return step < l->n_feeds ? 0 : 1;
}

eddy__layout_source eddy__layout_input(const eddy__layout *l, uint32_t step,
                                       uint32_t i)
{
    const eddy__node *node = eddy__layout_node(l, step);

    if (node)
        return source_of(l, node->inputs[i]);
    return source_of(l, l->options->fetches[step - l->first_fetch]);
}

static uint32_t n_controls(const eddy__layout *l, uint32_t step)
{
    const eddy__node *node = eddy__layout_node(l, step);

    return node ? node->n_controls : 0;
}

static uint32_t control(const eddy__layout *l, uint32_t step, uint32_t i)
{
    return l->step_of[eddy__layout_node(l, step)->controls[i]];
}

static uint32_t n_outputs(const eddy__layout *l, uint32_t step)
{
    const eddy__node *node = eddy__layout_node(l, step);

    if (node)
        return node->n_outputs;
    return step < l->n_feeds ? 1 : 0;
}

static uint32_t output_frame(const eddy__layout *l, uint32_t step)
{
    return l->node_of[step] == EDDY_NO_NODE
               ? 0
               : l->analysis->output_frame[l->node_of[step]];
}

const eddy_shape *eddy__layout_shape(const eddy__layout *l,
                                     eddy__layout_source from)
{
    if (from.step < l->n_feeds)
        return &l->plan->feeds[from.step].shape;
    return eddy__shape_at(
        l->shapes,
        (eddy_output){.node = l->node_of[from.step], .index = from.output});
}

static eddy_dtype dtype_of(const eddy__layout *l, eddy__layout_source from)
{
    if (from.step < l->n_feeds)
        return l->plan->feeds[from.step].dtype;
    return (eddy_dtype)eddy__layout_node(l, from.step)
        ->output_dtypes[from.output];
}

/* Can the value be nothing but a scalar inside its slot? */
bool eddy__layout_is_inline(const eddy__layout *l, eddy__layout_source from)
{
    return eddy__layout_shape(l, from)->rank == 0 &&
           eddy__dtype_is_inline(dtype_of(l, from));
}

/* A step is read as one cache line; the array has one step to spare for it. */
static eddy__step *align_to_line(eddy__step *steps)
{
    size_t past = (uintptr_t)steps % EDDY__CACHE_LINE;

    return past == 0 ? steps
                     : (eddy__step *)(void *)((char *)steps +
                                              (EDDY__CACHE_LINE - past));
}

static eddy_status number_steps(eddy__layout *l)
{
    size_t n_graph = l->selection->graph->n_nodes;
    eddy_plan *plan = l->plan;

    l->n_feeds = (uint32_t)plan->n_feeds;
    l->first_fetch = l->n_feeds + plan->n_nodes;
    plan->n_steps = l->first_fetch + (uint32_t)plan->n_fetches;
    plan->steps = keep(l, (size_t)plan->n_steps + 1, sizeof *plan->steps);
    l->infos = keep(l, plan->n_steps, sizeof *l->infos);
    l->outs = scratch(l, plan->n_steps, sizeof(uint32_t *));
    l->step_of = scratch(l, n_graph, sizeof *l->step_of);
    l->node_of = scratch(l, plan->n_steps, sizeof *l->node_of);
    if (!plan->steps || !l->infos || !l->outs || !l->step_of || !l->node_of)
        return eddy__fail_memory(l->err);
    plan->steps = align_to_line(plan->steps);
    memset(l->node_of, 0xff, plan->n_steps * sizeof *l->node_of);
    return eddy__layout_order(l);
}

/* ---- frames ---- */

static eddy_status make_frames(eddy__layout *l)
{
    eddy_plan *plan = l->plan;
    int64_t parallel = l->options->parallel_iterations;

    plan->n_frames = (uint32_t)l->analysis->n_frames;
    plan->frames = keep(l, plan->n_frames, sizeof *plan->frames);
    if (!plan->frames)
        return eddy__fail_memory(l->err);
    for (uint32_t i = 0; i < plan->n_frames; i++) {
        const eddy_frame *from = &l->analysis->frames[i];
        eddy__plan_frame *frame = &plan->frames[i];
        int64_t p = parallel > 0 ? parallel : from->parallel_iterations;

        frame->name =
            eddy__arena_text(&plan->arena, from->name, strlen(from->name));
        if (!frame->name)
            return eddy__fail_memory(l->err);
        frame->parent = from->parent;
        frame->is_saved = plan->saving && i > 0 && from->parent == 0 &&
                          strcmp(from->name, plan->saving->loop) == 0;
        frame->n_enters = l->analysis->n_enters[i];
        if (p > EDDY__MAX_PARALLEL_ITERATIONS)
            p = EDDY__MAX_PARALLEL_ITERATIONS;
        frame->parallel_iterations = p < 1 ? 1 : (uint32_t)p;
        if (i > 0)
            frame->child = plan->frames[frame->parent].n_children++;
    }
    return EDDY_OK;
}

/* ---- kinds, flags and slots ---- */

static eddy__step_kind kind_of(eddy__role role)
{
    switch (role) {
    case EDDY__ROLE_SWITCH:
        return EDDY__STEP_SWITCH;
    case EDDY__ROLE_MERGE:
        return EDDY__STEP_MERGE;
    case EDDY__ROLE_ENTER:
        return EDDY__STEP_ENTER;
    case EDDY__ROLE_EXIT:
        return EDDY__STEP_EXIT;
    case EDDY__ROLE_NEXT_ITERATION:
        return EDDY__STEP_NEXT_ITERATION;
    case EDDY__ROLE_LOOP_COND:
    case EDDY__ROLE_FORWARD:
        return EDDY__STEP_FORWARD;
    case EDDY__ROLE_CONTROL_TRIGGER:
        return EDDY__STEP_CONTROL_TRIGGER;
    case EDDY__ROLE_CONST:
        return EDDY__STEP_CONST;
    case EDDY__ROLE_PLACEHOLDER:
    case EDDY__ROLE_CALL:
    case EDDY__ROLE_BRANCH:
    case EDDY__ROLE_WHILE:
    case EDDY__ROLE_NONE:
        break;
    }
    return EDDY__STEP_KERNEL;
}

static bool is_special(const eddy__step *consumer)
{
    return consumer->kind == EDDY__STEP_MERGE ||
           consumer->kind == EDDY__STEP_CONTROL_TRIGGER;
}

/* The frame, and those around it, run one iteration at a time. */
static void keep_order(eddy_plan *plan, uint32_t frame)
{
    while (frame != 0) {
        plan->frames[frame].parallel_iterations = 1;
        frame = plan->frames[frame].parent;
    }
}

static void classify(eddy__layout *l, uint32_t id)
{
    eddy__step *step = &l->plan->steps[id];
    const eddy__node *node = eddy__layout_node(l, id);
    eddy__plan_frame *frame;

    step->frame = 0;
    if (!node) {
        bool is_feed = id < l->n_feeds;

        step->kind = is_feed ? EDDY__STEP_FEED : EDDY__STEP_FETCH;
        step->aux = is_feed ? id : id - l->first_fetch;
        if (!is_feed)
            step->frame = output_frame(l, eddy__layout_input(l, id, 0).step);
    } else {
        step->kind = (uint16_t)kind_of(eddy__node_role(node));
        step->frame = l->analysis->node_frame[l->node_of[id]];
        if (node->op && node->op->flags & EDDY__OP_ORDERED)
            keep_order(l->plan, step->frame);
    }
    frame = &l->plan->frames[step->frame];
    step->local = frame->n_steps++;
    if (step->kind == EDDY__STEP_EXIT)
        step->aux = frame->n_exits++;
    frame->n_nexts += step->kind == EDDY__STEP_NEXT_ITERATION;
    if (step->kind == EDDY__STEP_ENTER) {
        step->aux = output_frame(l, id);
        if (eddy__node_bool(node, "is_constant"))
            step->flags |= EDDY__STEP_CONSTANT | EDDY__STEP_PREAPPLIED;
    }
}

/* A constant Enter that feeds a Merge or a ControlTrigger is replayed. */
static void find_replayed(eddy__layout *l, uint32_t id)
{
    eddy__step *steps = l->plan->steps;

    if (!is_special(&steps[id]))
        return;
    for (uint32_t i = 0; i < eddy__layout_inputs(l, id); i++)
        steps[eddy__layout_input(l, id, i).step].flags &=
            (uint16_t)~EDDY__STEP_PREAPPLIED;
    for (uint32_t i = 0; i < n_controls(l, id); i++)
        steps[control(l, id, i)].flags &= (uint16_t)~EDDY__STEP_PREAPPLIED;
}

/* ---- constants in loops ---- */

/* Consumers of more inputs do not dissolve theirs: pivots are looked up. */
#define MAX_DISSOLVING_INPUTS 16

/*
 * A constant of a loop's body waits for a control edge from its pivot in every
 * iteration, only to say the same again.  Where the pivot is an ordinary node,
 * its consumers may wait for the pivot instead, and the constant stands in its
 * slot from the start.  They die when they did, and see what they saw.
 */
static bool may_dissolve(const eddy__layout *l, uint32_t id)
{
    const eddy__step *steps = l->plan->steps;
    uint16_t pivot;

    if (steps[id].kind != EDDY__STEP_CONST || steps[id].frame == 0 ||
        n_controls(l, id) != 1)
        return false;
    pivot = steps[control(l, id, 0)].kind;
    return pivot == EDDY__STEP_FORWARD || pivot == EDDY__STEP_KERNEL ||
           pivot == EDDY__STEP_MERGE;
}

static void keep_constants_of(eddy__layout *l, uint32_t id)
{
    eddy__step *steps = l->plan->steps;
    const uint16_t whole = (uint16_t)~EDDY__STEP_DISSOLVED;

    for (uint32_t i = 0; i < n_controls(l, id); i++)
        steps[control(l, id, i)].flags &= whole;
    if (!is_special(&steps[id]) &&
        eddy__layout_inputs(l, id) <= MAX_DISSOLVING_INPUTS)
        return;
    for (uint32_t i = 0; i < eddy__layout_inputs(l, id); i++)
        steps[eddy__layout_input(l, id, i).step].flags &= whole;
}

static void dissolve_constants(eddy__layout *l)
{
    eddy_plan *plan = l->plan;

    if (l->options->optimize == EDDY_OPTIMIZE_NONE)
        return;
    for (uint32_t id = 0; id < plan->n_steps; id++)
        if (may_dissolve(l, id))
            plan->steps[id].flags |= EDDY__STEP_DISSOLVED;
    for (uint32_t id = 0; id < plan->n_steps; id++)
        keep_constants_of(l, id);
    for (uint32_t id = 0; id < plan->n_steps; id++)
        plan->n_nodes -= (plan->steps[id].flags & EDDY__STEP_DISSOLVED) != 0;
}

/* ---- slots ---- */

static eddy_status give_slots(eddy__layout *l, uint32_t id)
{
    eddy__step *step = &l->plan->steps[id];
    eddy__plan_frame *frame = &l->plan->frames[output_frame(l, id)];
    uint32_t n = n_outputs(l, id), *out = keep(l, 2 * (size_t)n, sizeof *out);

    if (!out)
        return eddy__fail_memory(l->err);
    out += n;
    for (uint32_t i = 0; i < n; i++) {
        out[i] = frame->n_slots++;
        if (!(step->flags & (EDDY__STEP_PREAPPLIED | EDDY__STEP_DISSOLVED)) &&
            !eddy__layout_is_inline(
                l, (eddy__layout_source){.step = id, .output = i}))
            frame->has_counted = true;
    }
    l->outs[id] = out;
    step->out = out;
    l->infos[id].out = out;
    l->infos[id].n_out = n;
    return EDDY_OK;
}

/*
 * Slots of pre-applied Enters and dissolved constants come first in their
 * frame, which lends what is in them to each iteration.
 */
static eddy_status give_all_slots(eddy__layout *l)
{
    const unsigned lent = EDDY__STEP_PREAPPLIED | EDDY__STEP_DISSOLVED;
    eddy_plan *plan = l->plan;

    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t id = 0; id < plan->n_steps; id++) {
            bool first = (plan->steps[id].flags & lent) != 0;

            if (first != (pass == 0))
                continue;
            EDDY_TRY(give_slots(l, id));
        }
        for (uint32_t f = 0; f < plan->n_frames && pass == 0; f++)
            plan->frames[f].n_invariants = plan->frames[f].n_slots;
    }
    return EDDY_OK;
}

/* ---- edges ---- */

static bool is_dissolved(const eddy__layout *l, uint32_t step)
{
    return (l->plan->steps[step].flags & EDDY__STEP_DISSOLVED) != 0;
}

/* Is a token from `from` among the in-edges that step `id` has so far? */
static bool has_edge_from(const eddy__layout *l, uint32_t id, uint32_t from)
{
    for (size_t e = l->in_first[id]; e < l->in_first[id + 1]; e++)
        if (l->in_edges[e].from == from)
            return true;
    return false;
}

static void list_edge(eddy__layout *l, uint32_t id, eddy__in_edge edge)
{
    l->in_edges[l->in_first[id + 1]++] = edge;
}

/* The pivot of a dissolved constant stands in for it, once. */
static void list_pivots(eddy__layout *l, uint32_t id)
{
    for (uint32_t i = 0; i < eddy__layout_inputs(l, id); i++) {
        uint32_t from = eddy__layout_input(l, id, i).step, pivot;

        if (!is_dissolved(l, from))
            continue;
        pivot = control(l, from, 0);
        if (!has_edge_from(l, id, pivot))
            list_edge(l, id,
                      (eddy__in_edge){.from = pivot,
                                      .output = EDDY__CONTROL_PORT,
                                      .port = EDDY__CONTROL_PORT});
    }
}

/* The in-edges of one step: data, then control, then pivots. */
static void list_edges(eddy__layout *l, uint32_t id)
{
    l->in_first[id + 1] = l->in_first[id];
    if (is_dissolved(l, id))
        return;
    for (uint32_t i = 0; i < eddy__layout_inputs(l, id); i++) {
        eddy__layout_source from = eddy__layout_input(l, id, i);

        if (!is_dissolved(l, from.step))
            list_edge(l, id,
                      (eddy__in_edge){
                          .from = from.step, .output = from.output, .port = i});
    }
    for (uint32_t i = 0; i < n_controls(l, id); i++)
        list_edge(l, id,
                  (eddy__in_edge){.from = control(l, id, i),
                                  .output = EDDY__CONTROL_PORT,
                                  .port = EDDY__CONTROL_PORT});
    list_pivots(l, id);
}

static uint32_t n_in_edges(const eddy__layout *l, uint32_t id)
{
    return (uint32_t)(l->in_first[id + 1] - l->in_first[id]);
}

static eddy_status list_all_edges(eddy__layout *l)
{
    uint32_t n_steps = l->plan->n_steps;
    size_t n = 0;

    for (uint32_t id = 0; id < n_steps; id++)
        n += (size_t)eddy__layout_inputs(l, id) + n_controls(l, id);
    l->in_edges = scratch(l, n, sizeof *l->in_edges);
    l->in_first = scratch(l, (size_t)n_steps + 1, sizeof *l->in_first);
    if (!l->in_edges || !l->in_first)
        return eddy__fail_memory(l->err);
    for (uint32_t id = 0; id < n_steps; id++)
        list_edges(l, id);
    return EDDY_OK;
}

static uint32_t *uses_of(eddy__layout *l, eddy__layout_source from)
{
    return &l->outs[from.step][-1 - (ptrdiff_t)from.output];
}

static eddy_status connect_inputs(eddy__layout *l, uint32_t id)
{
    eddy__step *steps = l->plan->steps;
    uint32_t n = eddy__layout_inputs(l, id), *in = keep(l, n, sizeof *in);
    bool all_inline = true;

    if (!in)
        return eddy__fail_memory(l->err);
    for (uint32_t i = 0; i < n; i++) {
        eddy__layout_source from = eddy__layout_input(l, id, i);

        in[i] = l->infos[from.step].out[from.output];
        ++*uses_of(l, from);
        all_inline = all_inline && eddy__layout_is_inline(l, from);
    }
    for (size_t e = l->in_first[id]; e < l->in_first[id + 1]; e++) {
        eddy__step *from = &steps[l->in_edges[e].from];

        from->n_edges++;
        from->n_plain += !is_special(&steps[id]);
    }
    if (all_inline)
        steps[id].flags |= EDDY__STEP_INLINE_IN;
    steps[id].in = in;
    l->infos[id].in = in;
    l->infos[id].n_in = n;
    return EDDY_OK;
}

/*
 * May the edge go without a counter?  An Exit into the root may not, though its
 * edge be the only one: by the counter a dead fetch sees whether it was dead.
 */
static bool is_sole(const eddy__layout *l, uint32_t id)
{
    const eddy__step *steps = l->plan->steps;
    uint32_t from = l->in_edges[l->in_first[id]].from;

    return !is_special(&steps[id]) && n_in_edges(l, id) == 1 &&
           (steps[from].kind != EDDY__STEP_EXIT || steps[id].frame != 0);
}

/* The contest of a Merge, or NULL. */
static const eddy__contest *contest_of(const eddy__layout *l, uint32_t id)
{
    return l->plan->steps[id].kind == EDDY__STEP_MERGE
               ? eddy__find_contest(l->analysis, l->node_of[id])
               : NULL;
}

static void add_edges(eddy__layout *l, uint32_t id)
{
    const eddy__contest *contest = contest_of(l, id);
    bool special = is_special(&l->plan->steps[id]);
    bool sole = n_in_edges(l, id) > 0 && is_sole(l, id);

    for (size_t e = l->in_first[id]; e < l->in_first[id + 1]; e++) {
        const eddy__in_edge *in = &l->in_edges[e];
        size_t at =
            special ? l->next_special[in->from]++ : l->next_plain[in->from]++;
        uint32_t port = sole ? EDDY__SOLE_PORT : in->port;

        if (contest && port != EDDY__CONTROL_PORT && contest->is_late[port])
            port |= EDDY__LATE_PORT;
        l->edges[at] = (eddy__edge){.step = id,
                                    .local = l->plan->steps[id].local,
                                    .output = in->output,
                                    .port = port};
    }
}

/* Steps whose outputs appear in another iteration do not qualify. */
static void find_chained(eddy__layout *l, uint32_t id)
{
    eddy__step *step = &l->plan->steps[id];

    if (step->n_edges == 1 && step->n_plain == 1 &&
        step->edges[0].port == EDDY__SOLE_PORT &&
        step->kind != EDDY__STEP_ENTER && step->kind != EDDY__STEP_EXIT &&
        step->kind != EDDY__STEP_NEXT_ITERATION &&
        step->kind != EDDY__STEP_SWITCH)
        step->flags |= EDDY__STEP_CHAINED;
}

static eddy_status connect_all(eddy__layout *l)
{
    eddy_plan *plan = l->plan;
    size_t n_edges = 0;

    EDDY_TRY(list_all_edges(l));
    for (uint32_t id = 0; id < plan->n_steps; id++)
        EDDY_TRY(connect_inputs(l, id));
    l->next_plain = scratch(l, plan->n_steps, sizeof *l->next_plain);
    l->next_special = scratch(l, plan->n_steps, sizeof *l->next_special);
    l->edges = keep(l, l->in_first[plan->n_steps], sizeof *l->edges);
    if (!l->next_plain || !l->next_special || !l->edges)
        return eddy__fail_memory(l->err);
    for (uint32_t id = 0; id < plan->n_steps; id++) {
        plan->steps[id].edges = l->edges + n_edges;
        l->next_plain[id] = n_edges;
        l->next_special[id] = n_edges + plan->steps[id].n_plain;
        n_edges += plan->steps[id].n_edges;
    }
    for (uint32_t id = 0; id < plan->n_steps; id++)
        add_edges(l, id);
    for (uint32_t id = 0; id < plan->n_steps; id++)
        find_chained(l, id);
    return EDDY_OK;
}

/* ---- counters, roots, starters ---- */

static bool only_invariants_feed(const eddy__layout *l, uint32_t id)
{
    const eddy__step *steps = l->plan->steps;

    if (is_special(&steps[id]) || n_in_edges(l, id) == 0)
        return false;
    for (size_t e = l->in_first[id]; e < l->in_first[id + 1]; e++)
        if (!(steps[l->in_edges[e].from].flags & EDDY__STEP_PREAPPLIED))
            return false;
    return true;
}

static eddy_status make_frame_arrays(eddy__layout *l)
{
    for (uint32_t f = 0; f < l->plan->n_frames; f++) {
        eddy__plan_frame *frame = &l->plan->frames[f];

        frame->start = keep(l, frame->n_steps, sizeof *frame->start);
        frame->steps = keep(l, frame->n_steps, sizeof *frame->steps);
        frame->replayed = keep(l, frame->n_enters, sizeof *frame->replayed);
        frame->invariants =
            keep(l, frame->n_invariants, sizeof *frame->invariants);
        frame->exits = keep(l, frame->n_exits, sizeof *frame->exits);
        if (!frame->start || !frame->steps || !frame->replayed ||
            !frame->invariants || !frame->exits)
            return eddy__fail_memory(l->err);
    }
    return EDDY_OK;
}

static eddy_status fill_frames(eddy__layout *l)
{
    eddy_plan *plan = l->plan;

    EDDY_TRY(make_frame_arrays(l));
    for (uint32_t id = 0; id < plan->n_steps; id++) {
        const eddy__step *step = &plan->steps[id];
        eddy__plan_frame *frame = &plan->frames[step->frame];

        frame->start[step->local] =
            step->kind == EDDY__STEP_MERGE
                ? eddy__liveness_start(true, eddy__layout_inputs(l, id),
                                       n_controls(l, id))
                : eddy__liveness_start(false, n_in_edges(l, id), 0);
        frame->steps[step->local] = id;
        frame->n_starters += only_invariants_feed(l, id);
        if (step->kind == EDDY__STEP_EXIT)
            frame->exits[step->aux] = id;
        if ((step->flags & EDDY__STEP_CONSTANT) &&
            !(step->flags & EDDY__STEP_PREAPPLIED)) {
            eddy__plan_frame *child = &plan->frames[step->aux];

            child->replayed[child->n_replayed++] = id;
        }
    }
    return EDDY_OK;
}

/* ---- Merges that may have two live inputs ---- */

/* Where value_index is read, equal values are not enough. */
static eddy_status list_contests(eddy__layout *l)
{
    eddy_plan *plan = l->plan;

    plan->contests = keep(l, l->analysis->n_contests, sizeof *plan->contests);
    if (!plan->contests)
        return eddy__fail_memory(l->err);
    for (uint32_t id = 0; id < plan->n_steps; id++) {
        eddy__step *step = &plan->steps[id];
        const eddy__contest *contest = contest_of(l, id);
        const uint32_t n = eddy__layout_inputs(l, id);

        if (!contest)
            continue;
        if (contest->behind) {
            plan->contests[plan->n_contests] = eddy__arena_copy(
                &plan->arena, contest->behind, n, sizeof *contest->behind);
            if (!plan->contests[plan->n_contests])
                return eddy__fail_memory(l->err);
        }
        step->aux = ++plan->n_contests;
        if (eddy__step_uses(step, 1) == 0)
            step->flags |= EDDY__STEP_COMPARED;
    }
    return EDDY_OK;
}

static bool is_root(const eddy__layout *l, uint32_t id)
{
    return n_in_edges(l, id) == 0 && !is_dissolved(l, id);
}

static eddy_status find_roots(eddy__layout *l)
{
    eddy_plan *plan = l->plan;
    uint32_t n = 0, *roots;

    for (uint32_t id = 0; id < plan->n_steps; id++)
        n += is_root(l, id);
    roots = keep(l, n, sizeof *roots);
    if (!roots)
        return eddy__fail_memory(l->err);
    plan->n_roots = n;
    plan->roots = roots;
    for (uint32_t id = 0; id < plan->n_steps; id++)
        if (is_root(l, id))
            *roots++ = id;
    return EDDY_OK;
}

static eddy_status lay_out(eddy__layout *l)
{
    eddy_plan *plan = l->plan;

    EDDY_TRY(number_steps(l));
    EDDY_TRY(make_frames(l));
    for (uint32_t id = 0; id < plan->n_steps; id++)
        classify(l, id);
    for (uint32_t id = 0; id < plan->n_steps; id++)
        find_replayed(l, id);
    dissolve_constants(l);
    EDDY_TRY(give_all_slots(l));
    EDDY_TRY(connect_all(l));
    EDDY_TRY(list_contests(l));
    EDDY_TRY(fill_frames(l));
    EDDY_TRY(find_roots(l));
    return eddy__layout_kernels(l);
}

eddy_status eddy__plan_lay_out(eddy__plan_build *build)
{
    eddy__layout *l =
        eddy__arena_allocate_zeroed(&build->scratch, 1, sizeof *l);

    if (!l)
        return eddy__fail_memory(build->err);
    *l = (eddy__layout){.plan = build->plan,
                        .selection = build->selection,
                        .options = build->options,
                        .analysis = build->analysis,
                        .shapes = &build->shapes,
                        .scratch = {.allocator = build->plan->arena.allocator},
                        .err = build->err};
    l->marks.numbers.allocator = l->scratch.allocator;
    build->layout = l;
    return lay_out(l);
}

void eddy__plan_layout_end(eddy__plan_build *build)
{
    if (!build->layout)
        return;
    eddy__map_deinit(&build->layout->marks.numbers);
    eddy__arena_destroy(&build->layout->scratch);
}
