/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eddy_gradients: what is asked, and the rounds that answer it.
 *
 * One round is a walk from the ys to the xs.  An x that reaches the ys through
 * trips of a loop that are over takes more: either forward mode carries its
 * derivative along (accumulate.c), or the walk goes to the states with which
 * the trip of the ys began, these are computed again (recompute.c), and another
 * round goes from there.
 */
#include "autodiff/array_reads.h"
#include "autodiff/bounded.h"
#include "autodiff/deferral.h"
#include "autodiff/levels.h"
#include "autodiff/over_trips.h"
#include "autodiff/policy.h"
#include "autodiff/waits.h"
#include "core/base/status.h"

#include <string.h>

/* How the gradient of an x is found in a round. */
typedef enum way {
    BY_WALK,
    BY_ACCUMULATION, /* forward mode carries it along */
    BY_RECOMPUTING,  /* by this walk, and by the next round */
    BY_NOTHING,      /* it has all that it gets */
} way;

/* The question, and what has been found; the same in all rounds. */
typedef struct answers {
    eddy__asked asked; /* in this round */
    const eddy_gradient_options *options;
    uint8_t *ways; /* an x */
    eddy_output *gradients;
    bool is_first; /* round */
} answers;

/* ---- the ends ---- */

/* Is it in a loop that is open, from which nothing leads to the ys yet? */
static bool is_out_of_reach(const eddy__reverse *r, eddy_output x)
{
    const uint32_t frame = eddy__study_frame(&r->study, x);

    return !r->places.scopes[frame].is_base &&
           eddy__study_is_open_frame(&r->study, frame);
}

static eddy_status check_xs(eddy__reverse *r)
{
    const eddy_output *xs = r->asked.xs;

    for (size_t i = 0; i < r->asked.n_xs; i++)
        if (!eddy__place_scope(&r->places, xs[i])->is_base &&
            !is_out_of_reach(r, xs[i]))
            return eddy__emit_fail(
                &r->e, EDDY_INVALID_ARGUMENT, EDDY_E_FRAME_MIXED, xs[i].node,
                "x %zu is inside the loop '%s', but the ys are not", i,
                r->study.analysis->frames[eddy__study_frame(&r->study, xs[i])]
                    .name);
    return EDDY_OK;
}

/* The Merges through which an x has a history, which has just been found. */
static void note_history(eddy__reverse *r, eddy_output x)
{
    const eddy_frame *frames = r->study.analysis->frames;
    const uint32_t depth = frames[eddy__study_frame(&r->study, x)].depth;

    for (eddy_node v = 0; v < r->study.n_nodes; v++) {
        const uint32_t frame = r->study.analysis->node_frame[v];

        if (eddy__activity_has(&r->activity, v) && frame != EDDY__NOT_FOUND &&
            r->places.scopes[frame].is_base && frames[frame].depth > depth &&
            eddy__trace_is_loop_merge(&r->study.flow, v))
            r->recomputed[v] = 1;
    }
}

static eddy_status find_histories(eddy__reverse *r, const answers *a)
{
    r->recomputed = eddy__emit_zeroed_room(&r->e, r->study.n_nodes, 1);
    if (!r->recomputed)
        return r->e.core.status;
    for (size_t i = 0; i < a->asked.n_xs; i++) {
        bool has_history = false;

        if (a->ways[i] == BY_NOTHING)
            continue;
        a->ways[i] = BY_WALK;
        if (r->places.base != 0 && !is_out_of_reach(r, a->asked.xs[i]))
            EDDY_TRY(eddy__activity_find_history(&r->activity, a->asked.ys,
                                                 a->asked.n_ys, &a->asked.xs[i],
                                                 &has_history));
        if (has_history)
            a->ways[i] = eddy__accumulate_can(r, a->asked.xs[i])
                             ? BY_ACCUMULATION
                             : BY_RECOMPUTING;
        if (a->ways[i] == BY_RECOMPUTING)
            note_history(r, a->asked.xs[i]);
    }
    return EDDY_OK;
}

/* The walk has to reach the xs, and states that other xs come through. */
static eddy_status find_active(eddy__reverse *r, const answers *a)
{
    const eddy_analysis *analysis = r->study.analysis;
    eddy_output *list;
    size_t n = a->asked.n_xs;

    for (uint32_t f = r->places.base; f != 0; f = analysis->frames[f].parent)
        n += 2 * analysis->frames[f].n_variables;
    list = eddy__emit_room(&r->e, n + 1, sizeof *list);
    if (!list)
        return r->e.core.status;
    n = 0;
    for (size_t i = 0; i < a->asked.n_xs; i++)
        if (a->ways[i] == BY_WALK || a->ways[i] == BY_RECOMPUTING)
            list[n++] = a->asked.xs[i];
    for (uint32_t f = r->places.base; f != 0; f = analysis->frames[f].parent)
        for (size_t i = 0; i < analysis->frames[f].n_variables; i++) {
            const eddy_loop_variable *v = &analysis->frames[f].variables[i];

            if (v->merge == EDDY_NO_NODE || !r->recomputed[v->merge])
                continue;
            list[n++] = (eddy_output){v->merge, 0};
            if (v->switch_ != EDDY_NO_NODE)
                list[n++] = (eddy_output){v->switch_, 1};
        }
    return eddy__activity_find(&r->activity, a->asked.ys, a->asked.n_ys, list,
                               n);
}

/* Zeros in the base frame. */
static eddy_output make_zeros(eddy__reverse *r, eddy_output x)
{
    eddy_output primal;
    uint32_t branch;

    if (is_out_of_reach(r, x))
        return eddy__emit_op(&r->e, "ZerosLike", x);
    primal = eddy__primal_value(&r->primals, x);
    if (eddy__study_variable(&r->study, x) != EDDY_NO_NODE)
        return eddy__zeros_like(&r->primals, x, &branch);
    return eddy__emit_after(&r->e,
                            eddy__study_frame(&r->study, x) == r->places.base
                                ? EDDY_NO_NODE
                                : r->e.control,
                            "ZerosLike", &primal, 1);
}

/* ---- what has to wait for the end of a loop ---- */

static eddy_status ask_again(eddy_graph *graph, const eddy__question *q,
                             eddy_output *out_answers, eddy_error *err)
{
    return eddy_gradients(graph, q->ys, q->n_ys, q->xs, q->n_xs, q->options,
                          out_answers, err);
}

/* The outermost loop around the ys that `x` is not in. */
static uint32_t loop_inside(const eddy__reverse *r, eddy_output x)
{
    const eddy_frame *frames = r->study.analysis->frames;
    const uint32_t depth = frames[eddy__study_frame(&r->study, x)].depth;
    uint32_t frame = r->places.base;

    while (frames[frame].depth > depth + 1)
        frame = frames[frame].parent;
    return frame;
}

/* Fills in stand-ins for the xs that must wait, which are `n`. */
static void defer(eddy__reverse *r, const answers *a, const eddy_output *xs,
                  size_t n, uint32_t level)
{
    const eddy__question q = {
        .ys = a->asked.ys,
        .n_ys = a->asked.n_ys,
        .xs = xs,
        .n_xs = n,
        .starts = a->asked.starts,
        .options = a->options,
        .again = ask_again,
    };
    eddy_output *out = eddy__emit_room(&r->e, n, sizeof *out);
    size_t k = 0;

    if (!out)
        return;
    for (size_t i = 0; i < n; i++)
        out[i] = make_zeros(r, xs[i]);
    eddy__deferral_make(&r->e, &q, level, out, n);
    for (size_t i = 0; i < a->asked.n_xs; i++)
        if (a->ways[i] == BY_NOTHING)
            a->gradients[i] = out[k++];
}

/* Which xs have to wait, and until when; they are then not asked for. */
static eddy_status find_waiting(eddy__reverse *r, const answers *a)
{
    const eddy_frame *frames = r->study.analysis->frames;
    eddy_output *xs = eddy__emit_room(&r->e, a->asked.n_xs, sizeof *xs);
    uint8_t *is_cut = eddy__arena_allocate_zeroed(
        &r->e.arena, r->study.analysis->n_frames, 1);
    eddy__waits waits;
    uint32_t level;
    size_t n = 0;

    if (!xs || !is_cut)
        return r->e.core.status;
    for (uint32_t f = r->places.base; f != 0; f = frames[f].parent)
        is_cut[f] = 1;
    EDDY_TRY(eddy__waits_find(&r->activity, a->asked.ys, a->asked.n_ys, is_cut,
                              &waits));
    level = waits.level;
    for (size_t i = 0; i < a->asked.n_xs && r->e.core.status == EDDY_OK; i++) {
        const bool has_past =
            waits.depth >
            frames[eddy__study_frame(&r->study, a->asked.xs[i])].depth;
        uint32_t own;

        if ((!has_past && waits.level == EDDY__NOT_FOUND) ||
            is_out_of_reach(r, a->asked.xs[i]))
            continue;
        own = has_past ? eddy__deferral_level(&r->e, &r->study,
                                              loop_inside(r, a->asked.xs[i]))
                       : level;
        level = own < level ? own : level;
        a->ways[i] = BY_NOTHING;
        xs[n++] = a->asked.xs[i];
    }
    if (n > 0)
        defer(r, a, xs, n, level);
    return r->e.core.status;
}

/* The gradient of an x with what this round adds; zeros after the last. */
static eddy_output result_of(eddy__reverse *r, const answers *a, size_t i,
                             bool is_last)
{
    const eddy_output x = a->asked.xs[i], before = a->gradients[i];
    eddy_output out;

    r->e.at = x.node;
    out = a->ways[i] == BY_ACCUMULATION ? eddy__accumulate_gradient(r, x)
                                        : eddy__sum_make(&r->sums, x);
    if (!eddy__output_exists(out))
        out = before;
    else if (eddy__output_exists(before))
        out = eddy__emit_op(&r->e, "AddN", before, out);
    if (!eddy__output_exists(out) && is_last &&
        a->options->zeros_if_unconnected)
        out = make_zeros(r, x);
    return out;
}

static eddy_status note_results(const eddy__reverse *r, const answers *a)
{
    if (!eddy__levels_note(&r->study, a->asked.ys[0]))
        return eddy__fail_memory(r->e.core.err);
    for (size_t i = 0; i < a->asked.n_xs; i++)
        eddy__levels_note_result(&r->study, a->gradients[i], a->asked.xs[i],
                                 a->asked.ys[0]);
    return EDDY_OK;
}

/* ---- rounds ---- */

static eddy_status walk_round(eddy__reverse *r, answers *a,
                              eddy__recomputed *again)
{
    bool recomputes = false;

    r->asked = a->asked;
    EDDY_TRY(eddy__round_study(r));
    EDDY_TRY(eddy__round_begin(r, &r->places.base, 1));
    EDDY_TRY(check_xs(r));
    EDDY_TRY(eddy__policy_choose(&r->study, &r->e, r->places.base, a->options,
                                 a->is_first));
    if (a->is_first && r->places.base != 0)
        EDDY_TRY(find_waiting(r, a));
    a->is_first = false;
    EDDY_TRY(find_histories(r, a));
    EDDY_TRY(find_active(r, a));
    eddy__round_start(r);
    eddy__walk_all(r);
    for (size_t i = 0; i < a->asked.n_xs; i++)
        recomputes = recomputes || a->ways[i] == BY_RECOMPUTING;
    if (recomputes)
        eddy__recompute_trips(r, again);
    for (size_t i = 0; i < a->asked.n_xs && r->e.core.status == EDDY_OK; i++)
        if (a->ways[i] != BY_NOTHING)
            a->gradients[i] = result_of(
                r, a, i, a->ways[i] != BY_RECOMPUTING || again->n == 0);
    EDDY_TRY(r->e.core.status);
    EDDY_TRY(note_results(r, a));
    return eddy__inner_answer(r);
}

/* The next round asks from the states that were computed again. */
static void ask_again_from(answers *a, eddy__recomputed *again)
{
    a->asked.ys = again->ys;
    a->asked.n_ys = a->asked.n_starts = again->n;
    a->asked.starts = again->grad_ys;
    a->asked.stop = again->stop;
    a->asked.n_stop = again->n_stop;
    again->n = 0;
    for (size_t i = 0; i < a->asked.n_xs; i++)
        if (a->ways[i] != BY_RECOMPUTING)
            a->ways[i] = BY_NOTHING;
}

/* Each round goes through a loop less than the one before. */
static eddy_status find_gradients(eddy__reverse *first, answers *a)
{
    eddy__recomputed again = {.arena.allocator = first->e.arena.allocator};
    eddy_status status;

    a->ways = eddy__emit_zeroed_room(&first->e, a->asked.n_xs, 1);
    if (!a->ways)
        return first->e.core.status;
    status = walk_round(first, a, &again);
    while (again.n > 0 && status == EDDY_OK) {
        eddy__reverse r;

        eddy__round_init(&r, first->e.core.graph, first->e.prefix,
                         first->e.core.err);
        ask_again_from(a, &again);
        status = walk_round(&r, a, &again);
        eddy__round_deinit(&r);
    }
    eddy__arena_destroy(&again.arena);
    return status;
}

/* ---- the entry ---- */

static eddy_status check_grad_y(eddy__gradient_emitter *e,
                                const eddy__asked *asked, size_t i)
{
    const eddy_output y = asked->ys[i], grad = asked->starts[i];

    if (grad.node == EDDY_NO_NODE)
        return EDDY_OK;
    EDDY_TRY(eddy__study_check(e, "grad_y", &grad, 1, true));
    if (eddy_graph_output_dtype(e->core.graph, grad) !=
        eddy_graph_output_dtype(e->core.graph, y))
        return eddy__emit_fail(
            e, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE, grad.node,
            "grad_y %zu is %s, but its y is %s", i,
            eddy_dtype_name(eddy_graph_output_dtype(e->core.graph, grad)),
            eddy_dtype_name(eddy_graph_output_dtype(e->core.graph, y)));
    return eddy__study_check_shape(e, "grad_y", grad, "y", y, i);
}

static eddy_status check(eddy__gradient_emitter *e, const eddy__asked *asked)
{
    EDDY_TRY(eddy__study_check(e, "y", asked->ys, asked->n_ys, true));
    EDDY_TRY(eddy__study_check(e, "x", asked->xs, asked->n_xs, false));
    EDDY_TRY(eddy__study_check(e, "stop", asked->stop, asked->n_stop, false));
    for (size_t i = 0; asked->starts && i < asked->n_ys; i++)
        EDDY_TRY(check_grad_y(e, asked, i));
    return EDDY_OK;
}

/* NOLINTNEXTLINE(readability-function-size): parameters of the API. */
eddy_status eddy_gradients(eddy_graph *graph, const eddy_output *ys,
                           size_t n_ys, const eddy_output *xs, size_t n_xs,
                           const eddy_gradient_options *options,
                           eddy_output *out_gradients, eddy_error *err)
{
    eddy_error own;
    eddy__bounded bounded;
    eddy__reverse r;
    eddy_status status;
    answers a = {.gradients = out_gradients, .is_first = true};

    for (size_t i = 0; i < n_xs; i++)
        out_gradients[i] = EDDY__NO_OUTPUT;
    EDDY_TRY(
        eddy__bounded_begin(&bounded, graph, "the gradient", options, err));
    options = a.options = &bounded.options;
    a.asked = (eddy__asked){.ys = ys,
                            .n_ys = n_ys,
                            .xs = xs,
                            .n_xs = n_xs,
                            .stop = options->stop,
                            .n_stop = options->n_stop,
                            .starts = options->grad_ys,
                            .n_starts = n_ys};
    eddy__round_init(&r, graph, options->prefix ? options->prefix : "gradients",
                     err ? err : &own);
    status = check(&r.e, &a.asked);
    if (status == EDDY_OK)
        status =
            eddy__array_reads_gather(graph, r.e.prefix, &a.asked, r.e.core.err);
    if (status == EDDY_OK && n_ys > 0 && n_xs > 0)
        status = find_gradients(&r, &a);
    for (size_t i = 0; i < n_xs && status != EDDY_OK; i++)
        out_gradients[i] = EDDY__NO_OUTPUT;
    eddy__round_deinit(&r);
    return eddy__bounded_end(&bounded, status, err);
}
