/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eddy_jvp: the tangents of the ys, node by node in the order of the data.
 */
#include "autodiff/forward.h"

#include "autodiff/array_reads.h"
#include "autodiff/bounded.h"
#include "autodiff/deferral.h"
#include "autodiff/levels.h"
#include "autodiff/waits.h"
#include "core/base/status.h"

#include <string.h>

/* ---- what is asked ---- */

static eddy_status check_tangents(eddy__gradient_emitter *e,
                                  const eddy__asked *asked)
{
    for (size_t i = 0; asked->starts && i < asked->n_xs; i++) {
        const eddy_output x = asked->xs[i], tangent = asked->starts[i];
        const eddy_dtype want = eddy_graph_output_dtype(e->core.graph, x);
        eddy_dtype got;

        if (tangent.node == EDDY_NO_NODE)
            continue;
        EDDY_TRY(eddy__study_check(e, "tangent", &tangent, 1, true));
        got = eddy_graph_output_dtype(e->core.graph, tangent);
        if (got != want)
            return eddy__emit_fail(e, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE,
                                   tangent.node,
                                   "tangent %zu is %s, but its x is %s", i,
                                   eddy_dtype_name(got), eddy_dtype_name(want));
        EDDY_TRY(eddy__study_check_shape(e, "tangent", tangent, "x", x, i));
    }
    return EDDY_OK;
}

static eddy_status check(eddy__gradient_emitter *e, const eddy__asked *asked)
{
    EDDY_TRY(eddy__study_check(e, "y", asked->ys, asked->n_ys, true));
    EDDY_TRY(eddy__study_check(e, "x", asked->xs, asked->n_xs, true));
    EDDY_TRY(eddy__study_check(e, "stop", asked->stop, asked->n_stop, false));
    return check_tangents(e, asked);
}

/* ---- what is known before ---- */

/* A tangent that is given may not depend on the ys or the xs, but runs. */
static eddy_status build_study(eddy__forward *f)
{
    eddy_node *order;

    EDDY_TRY(eddy__study_build(&f->study, &f->e, &f->asked));
    EDDY_TRY(eddy__primals_begin(&f->primals));
    EDDY_TRY(eddy__flow_order(&f->study.flow, &f->e.arena, &order, &f->n_order,
                              f->e.core.err));
    f->order = order;
    return EDDY_OK;
}

static bool reads_body(const eddy__forward *f, eddy_node node)
{
    const eddy__flow *flow = &f->study.flow;

    for (size_t i = flow->first_in[node]; i < flow->first_in[node + 1]; i++)
        if (eddy__flow_is_node(flow->source[i]) && f->in_body[flow->source[i]])
            return true;
    return false;
}

/* Behind which Switches of loops a value is, branches being known already. */
static eddy_status find_bodies(eddy__forward *f)
{
    const eddy__flow *flow = &f->study.flow;
    const eddy_analysis *analysis = f->study.analysis;
    uint8_t *of_frame = eddy__emit_zeroed_room(&f->e, analysis->n_frames, 1);

    f->in_body = eddy__emit_zeroed_room(&f->e, f->study.n_nodes, 1);
    if (!of_frame || !f->in_body)
        return f->e.core.status;
    for (size_t i = 0; i < f->n_order; i++) {
        const eddy_node v = f->order[i];
        const eddy__role role = (eddy__role)flow->role[v];

        if (role == EDDY__ROLE_ENTER)
            of_frame[analysis->output_frame[v]] |= reads_body(f, v);
        else if (role == EDDY__ROLE_EXIT)
            f->in_body[v] = of_frame[analysis->node_frame[v]];
        else if (role == EDDY__ROLE_SWITCH)
            f->in_body[v] =
                !eddy__trace_is_branch_switch(flow, v) || reads_body(f, v);
        else if (!eddy__trace_is_loop_merge(flow, v))
            f->in_body[v] = reads_body(f, v);
    }
    return EDDY_OK;
}

/* The outputs of a list that are the first in their frame, by their places. */
static size_t find_firsts(const eddy__forward *f, const eddy_output *list,
                          size_t n, uint8_t *is_seen, size_t *out)
{
    size_t n_firsts = 0;

    memset(is_seen, 0, f->study.analysis->n_frames);
    for (size_t i = 0; i < n; i++) {
        const uint32_t frame = eddy__study_frame(&f->study, list[i]);

        if (!is_seen[frame])
            out[n_firsts++] = i;
        is_seen[frame] = 1;
    }
    return n_firsts;
}

/* Is y in the frame of x, or in one within it? */
static eddy_status check_pair(eddy__forward *f, size_t x, size_t y)
{
    const eddy_frame *frames = f->study.analysis->frames;
    const uint32_t inner = eddy__study_frame(&f->study, f->asked.xs[x]);
    uint32_t frame = eddy__study_frame(&f->study, f->asked.ys[y]);

    while (frames[frame].depth > frames[inner].depth)
        frame = frames[frame].parent;
    if (frame == inner || eddy__study_is_open_frame(&f->study, inner))
        return EDDY_OK;
    return eddy__emit_fail(&f->e, EDDY_INVALID_ARGUMENT, EDDY_E_FRAME_MIXED,
                           f->asked.xs[x].node,
                           "x %zu is inside the loop '%s', but y %zu is not", x,
                           frames[inner].name, y);
}

/* It is the frames that matter, and what is in the root is around all. */
static eddy_status check_frames(eddy__forward *f)
{
    const size_t n_frames = f->study.analysis->n_frames;
    uint8_t *is_seen = eddy__emit_room(&f->e, n_frames, 1);
    size_t *xs = eddy__emit_room(&f->e, n_frames, sizeof *xs);
    size_t *ys = eddy__emit_room(&f->e, n_frames, sizeof *ys);
    size_t n_xs, n_ys;

    EDDY_TRY(f->e.core.status);
    n_xs = find_firsts(f, f->asked.xs, f->asked.n_xs, is_seen, xs);
    n_ys = find_firsts(f, f->asked.ys, f->asked.n_ys, is_seen, ys);
    for (size_t i = 0; i < n_xs; i++)
        for (size_t j = 0; j < n_ys; j++)
            if (eddy__study_frame(&f->study, f->asked.xs[xs[i]]) != 0)
                EDDY_TRY(check_pair(f, xs[i], ys[j]));
    return EDDY_OK;
}

/* A value inside a loop varies for one iteration of it. */
static eddy_status find_cuts(eddy__forward *f)
{
    const eddy_frame *frames = f->study.analysis->frames;

    f->is_cut = eddy__emit_zeroed_room(&f->e, f->study.analysis->n_frames, 1);
    if (!f->is_cut)
        return f->e.core.status;
    for (size_t i = 0; i < f->asked.n_xs; i++)
        for (uint32_t frame = eddy__study_frame(&f->study, f->asked.xs[i]);
             frame != 0 && !f->is_cut[frame]; frame = frames[frame].parent)
            f->is_cut[frame] = 1;
    return check_frames(f);
}

/* The tangents that are given, each where its x is. */
static eddy_status bring_seeds(eddy__forward *f)
{
    const eddy_output *tangents = f->asked.starts;
    eddy_output *seeds = eddy__emit_room(&f->e, f->asked.n_xs, sizeof *seeds);
    uint32_t base;

    if (!seeds)
        return f->e.core.status;
    for (size_t i = 0; i < f->asked.n_xs; i++) {
        seeds[i] = EDDY__NO_OUTPUT;
        if (!tangents || !eddy__output_exists(tangents[i]))
            continue;
        f->e.at = f->asked.xs[i].node;
        base = eddy__study_frame(&f->study, f->asked.xs[i]);
        if (!f->places.scopes || f->places.base != base)
            EDDY_TRY(eddy__places_build(&f->places, &base, 1));
        seeds[i] = eddy__primal_bring(&f->primals, tangents[i], f->asked.xs[i]);
    }
    f->seeds = seeds;
    return f->e.core.status;
}

static eddy_output *no_outputs(eddy__forward *f, size_t n)
{
    eddy_output *list = eddy__emit_room(&f->e, n + 1, sizeof *list);

    for (size_t i = 0; list && i < n; i++)
        list[i] = EDDY__NO_OUTPUT;
    return list;
}

static eddy_status prepare(eddy__forward *f)
{
    const uint32_t base = eddy__study_frame(&f->study, f->asked.ys[0]);
    const size_t n_slots = eddy__study_slots(&f->study);

    EDDY_TRY(
        eddy__activity_init(&f->activity, &f->e, &f->study, base, &f->asked));
    f->tangents = no_outputs(f, n_slots);
    f->zeros = no_outputs(f, n_slots);
    EDDY_TRY(f->e.core.status);
    EDDY_TRY(find_bodies(f));
    return find_cuts(f);
}

/* ---- going forward ---- */

/* Constants that a rule adds are live with the node. */
static void go_to(eddy__forward *f, eddy_node node)
{
    const bool is_root = f->study.analysis->node_frame[node] == 0;

    f->e.at = node;
    f->e.control =
        is_root && eddy__tangent_is_always_live(f, node) ? EDDY_NO_NODE : node;
}

static void visit(eddy__forward *f, eddy_node node)
{
    const eddy__node *n = eddy__graph_node(f->e.core.graph, node);
    const eddy__role role = (eddy__role)f->study.flow.role[node];

    if (role == EDDY__ROLE_SWITCH || role == EDDY__ROLE_MERGE ||
        role == EDDY__ROLE_ENTER || role == EDDY__ROLE_EXIT ||
        role == EDDY__ROLE_NEXT_ITERATION)
        eddy__forward_primitive(f, node);
    else if (eddy__forward_allocates(n))
        eddy__forward_allocation(f, node);
    else if (!eddy__forward_rule(f, node))
        eddy__transpose(f, node);
}

/* xs that are the same output, from the first to the last. */
static eddy_status chain_xs(eddy__forward *f)
{
    uint32_t *next = eddy__emit_room(&f->e, f->asked.n_xs, sizeof *next);
    uint32_t *last = eddy__emit_room(&f->e, f->asked.n_xs, sizeof *last);

    if (!next || !last)
        return f->e.core.status;
    for (uint32_t i = 0; i < f->asked.n_xs; i++) {
        const uint32_t first = eddy__activity_x(&f->activity, f->asked.xs[i]);

        next[i] = EDDY__NOT_FOUND;
        if (first != i)
            next[last[first]] = i;
        last[first] = i;
    }
    f->next_x = next;
    return EDDY_OK;
}

static void plant_seed(eddy__forward *f, uint32_t i)
{
    const eddy_output x = f->asked.xs[i];
    eddy_output seed = eddy__output_exists(f->seeds[i])
                           ? f->seeds[i]
                           : eddy__emit_op(&f->e, "OnesLike", x);

    if (eddy__output_exists(eddy__tangent_of(f, x)))
        seed = eddy__emit_op(&f->e, "AddV2", eddy__tangent_of(f, x), seed);
    eddy__tangent_set(f, x, seed);
}

static void plant_seeds(eddy__forward *f, eddy_node node)
{
    /* The node itself moves as others are added. */
    const uint32_t n = eddy__graph_node(f->e.core.graph, node)->n_outputs;

    for (uint32_t o = 0; o < n; o++)
        for (uint32_t i =
                 eddy__activity_x(&f->activity, (eddy_output){node, o});
             i != EDDY__NOT_FOUND && f->e.core.status == EDDY_OK;
             i = f->next_x[i])
            plant_seed(f, i);
}

static void go_forward(eddy__forward *f)
{
    for (size_t i = 0; i < f->n_order && f->e.core.status == EDDY_OK; i++) {
        const eddy_node v = f->order[i];

        go_to(f, v);
        if (eddy__activity_has(&f->activity, v))
            visit(f, v);
        if (f->activity.state[v] & EDDY__IS_X)
            plant_seeds(f, v);
    }
    eddy__forward_close_merges(f);
}

/* ---- what has to wait for the end of a loop ---- */

static eddy_status ask_again(eddy_graph *graph, const eddy__question *q,
                             eddy_output *out_answers, eddy_error *err)
{
    return eddy_jvp(graph, q->ys, q->n_ys, q->xs, q->n_xs, q->starts,
                    q->options, out_answers, err);
}

/* The level of the loop for whose end to wait, if any. */
static uint32_t level_to_end(eddy__forward *f, const eddy__waits *waits)
{
    const eddy_frame *frames = f->study.analysis->frames;
    uint32_t frame = waits->frame, own;

    if (waits->depth == 0 || f->is_cut[frame])
        return waits->level;
    while (frames[frame].parent != 0 && !f->is_cut[frames[frame].parent])
        frame = frames[frame].parent;
    own = eddy__deferral_level(&f->e, &f->study, frame);
    return own < waits->level ? own : waits->level;
}

/* Stand-ins for all tangents, if they have to wait. */
static eddy_status try_defer(eddy__forward *f, const eddy__question *q,
                             eddy_output *out_tangents, bool *out_waits)
{
    eddy__waits waits;
    uint32_t level;

    *out_waits = false;
    EDDY_TRY(eddy__waits_find(&f->activity, q->ys, q->n_ys, f->is_cut, &waits));
    level = level_to_end(f, &waits);
    if (level == EDDY__NOT_FOUND || f->e.core.status != EDDY_OK)
        return f->e.core.status;
    *out_waits = true;
    for (size_t i = 0; i < q->n_ys; i++) {
        go_to(f, q->ys[i].node);
        out_tangents[i] = eddy__emit_op(&f->e, "ZerosLike", q->ys[i]);
    }
    eddy__deferral_make(&f->e, q, level, out_tangents, q->n_ys);
    return f->e.core.status;
}

/* ---- all of it ---- */

static void take_tangents(eddy__forward *f, const eddy__question *q,
                          eddy_output *out_tangents)
{
    const bool zeros = q->options && q->options->zeros_if_unconnected;

    for (size_t i = 0; i < q->n_ys && f->e.core.status == EDDY_OK; i++) {
        go_to(f, q->ys[i].node);
        out_tangents[i] = eddy__tangent_of(f, q->ys[i]);
        if (!eddy__output_exists(out_tangents[i]) && zeros)
            out_tangents[i] = eddy__emit_op(&f->e, "ZerosLike", q->ys[i]);
    }
}

static eddy_status find_tangents(eddy__forward *f, const eddy__question *q,
                                 eddy_output *out_tangents)
{
    bool waits;

    EDDY_TRY(build_study(f));
    EDDY_TRY(prepare(f));
    EDDY_TRY(try_defer(f, q, out_tangents, &waits));
    if (!waits) {
        EDDY_TRY(bring_seeds(f));
        eddy__value_shapes_watch(&f->shapes);
        EDDY_TRY(eddy__forward_find_active(f));
        EDDY_TRY(chain_xs(f));
        go_forward(f);
        take_tangents(f, q, out_tangents);
    }
    EDDY_TRY(f->e.core.status);
    if (!eddy__levels_note(&f->study, q->ys[0]))
        return eddy__fail_memory(f->e.core.err);
    for (size_t i = 0; i < q->n_ys; i++)
        eddy__levels_note_result(&f->study, out_tangents[i], q->ys[i],
                                 q->ys[i]);
    return EDDY_OK;
}

static void init_forward(eddy__forward *f, eddy_graph *graph,
                         const char *prefix, eddy_error *err)
{
    eddy__emit_init(&f->e, graph, prefix, err);
    f->study.graph = graph;
    eddy__value_shapes_init(&f->shapes, &f->e, &f->study);
    eddy__places_init(&f->places, &f->e, &f->study);
    eddy__primals_init(&f->primals, &f->shapes, &f->places);
    /* The graph has grown since any other call. */
    eddy__rule_host_source(f->source, graph->n_nodes);
}

static void deinit_forward(eddy__forward *f)
{
    eddy__primals_deinit(&f->primals);
    eddy__places_deinit(&f->places);
    eddy__value_shapes_deinit(&f->shapes);
    eddy__study_deinit(&f->study);
    eddy__emit_deinit(&f->e);
}

/* NOLINTNEXTLINE(readability-function-size): parameters of the API. */
eddy_status eddy_jvp(eddy_graph *graph, const eddy_output *ys, size_t n_ys,
                     const eddy_output *xs, size_t n_xs,
                     const eddy_output *tangents,
                     const eddy_gradient_options *options,
                     eddy_output *out_tangents, eddy_error *err)
{
    eddy__question q = {.ys = ys,
                        .n_ys = n_ys,
                        .xs = xs,
                        .n_xs = n_xs,
                        .starts = tangents,
                        .is_forward = true,
                        .again = ask_again};
    eddy_error own;
    eddy__forward f = {.asked = {.ys = ys,
                                 .n_ys = n_ys,
                                 .xs = xs,
                                 .n_xs = n_xs,
                                 .starts = tangents,
                                 .n_starts = n_xs}};
    eddy__bounded bounded;
    eddy_status status;

    for (size_t i = 0; i < n_ys; i++)
        out_tangents[i] = EDDY__NO_OUTPUT;
    EDDY_TRY(eddy__bounded_begin(&bounded, graph, "the tangent", options, err));
    q.options = options = &bounded.options;
    f.asked.stop = options->stop;
    f.asked.n_stop = options->n_stop;
    init_forward(&f, graph, options->prefix ? options->prefix : "tangents",
                 err ? err : &own);
    status = check(&f.e, &f.asked);
    if (status == EDDY_OK)
        status =
            eddy__array_reads_gather(graph, f.e.prefix, &f.asked, f.e.core.err);
    if (status == EDDY_OK && n_ys > 0 && n_xs > 0)
        status = find_tangents(&f, &q, out_tangents);
    for (size_t i = 0; i < n_ys && status != EDDY_OK; i++)
        out_tangents[i] = EDDY__NO_OUTPUT;
    deinit_forward(&f);
    return eddy__bounded_end(&bounded, status, err);
}
