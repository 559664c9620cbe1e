/* eddy_jvp and eddy_hvp. */
#include "autodiff/forward.h"

#include "autodiff/bounded.h"
#include "core/base/status.h"

/* ---- what is asked ---- */

static eddy_status check_seeds(eddy__forward *f, const eddy_output *tangents)
{
    eddy__walk *w = &f->w;

    for (size_t i = 0; tangents && i < f->n_xs; i++) {
        const eddy_dtype want = eddy_graph_output_dtype(w->graph, f->xs[i]);
        eddy_dtype got;

        if (tangents[i].node == EDDY_NO_NODE)
            continue;
        EDDY_TRY(eddy__walk_check(w, "tangent", &tangents[i], 1, true));
        got = eddy_graph_output_dtype(w->graph, tangents[i]);
        if (got != want)
            return eddy__walk_fail(w, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE,
                                   tangents[i].node,
                                   "tangent %zu is %s, but its x is %s", i,
                                   eddy_dtype_name(got), eddy_dtype_name(want));
        EDDY_TRY(eddy__walk_check_shape(w, "tangent", tangents[i], "x",
                                        f->xs[i], i));
    }
    return EDDY_OK;
}

static eddy_status check(eddy__forward *f, const eddy_output *ys, size_t n_ys,
                         const eddy_output *tangents)
{
    const eddy_gradient_options *options = f->w.options;

    EDDY_TRY(eddy__walk_check(&f->w, "y", ys, n_ys, true));
    EDDY_TRY(eddy__walk_check(&f->w, "x", f->xs, f->n_xs, true));
    if (options)
        EDDY_TRY(eddy__walk_check(&f->w, "stop", options->stop, options->n_stop,
                                  false));
    return check_seeds(f, tangents);
}

/* ---- what is known before ---- */

/* A tangent that is given may not depend on the ys or the xs, but runs. */
static eddy_status study(eddy__forward *f, const eddy_output *ys, size_t n_ys,
                         const eddy_output *tangents)
{
    eddy__walk *w = &f->w;
    eddy_output *ends =
        eddy__arena_allocate(&w->arena, 2 * f->n_xs + 1, sizeof *ends);
    eddy_node *order;
    size_t n = 0;

    if (!ends)
        return eddy__fail_memory(w->err);
    for (size_t i = 0; i < f->n_xs; i++) {
        ends[n++] = f->xs[i];
        if (tangents && eddy__is_output(tangents[i]))
            ends[n++] = tangents[i];
    }
    EDDY_TRY(eddy__walk_study(w, ys, n_ys, ends, n));
    EDDY_TRY(
        eddy__flow_order(&w->flow, &w->arena, &order, &f->n_order, w->err));
    f->order = order;
    return EDDY_OK;
}

static bool reads_body(const eddy__forward *f, eddy_node node)
{
    const eddy__flow *flow = &f->w.flow;

    for (size_t i = flow->first_in[node]; i < flow->first_in[node + 1]; i++)
        if (eddy__is_node(flow->source[i]) && f->in_body[flow->source[i]])
            return true;
    return false;
}

/* Behind which Switches of loops a value is, branches being known already. */
static eddy_status find_bodies(eddy__forward *f)
{
    const eddy__flow *flow = &f->w.flow;
    const eddy_analysis *analysis = f->w.analysis;
    uint8_t *of_frame =
        eddy__arena_allocate_zeroed(&f->w.arena, analysis->n_frames, 1);

    f->in_body = eddy__arena_allocate_zeroed(&f->w.arena, f->w.n_nodes, 1);
    if (!of_frame || !f->in_body)
        return eddy__fail_memory(f->w.err);
    for (size_t i = 0; i < f->n_order; i++) {
        const eddy_node v = f->order[i];
        const eddy__role role = (eddy__role)flow->role[v];

        if (role == EDDY__ROLE_ENTER)
            of_frame[analysis->output_frame[v]] |= reads_body(f, v);
        else if (role == EDDY__ROLE_EXIT)
            f->in_body[v] = of_frame[analysis->node_frame[v]];
        else if (role == EDDY__ROLE_SWITCH)
            f->in_body[v] =
                !eddy__is_branch_switch(flow, v) || reads_body(f, v);
        else if (!eddy__is_loop_merge(flow, v))
            f->in_body[v] = reads_body(f, v);
    }
    return EDDY_OK;
}

/* A value inside a loop varies for one iteration of it. */
static eddy_status find_cuts(eddy__forward *f, const eddy_output *ys,
                             size_t n_ys)
{
    const eddy_frame *frames = f->w.analysis->frames;

    f->is_cut =
        eddy__arena_allocate_zeroed(&f->w.arena, f->w.analysis->n_frames, 1);
    if (!f->is_cut)
        return eddy__fail_memory(f->w.err);
    for (size_t i = 0; i < f->n_xs; i++)
        for (uint32_t frame = eddy__frame_of(&f->w, f->xs[i]); frame != 0;
             frame = frames[frame].parent)
            f->is_cut[frame] = 1;
    for (size_t i = 0; i < f->n_xs; i++)
        for (size_t j = 0; j < n_ys; j++) {
            const uint32_t inner = eddy__frame_of(&f->w, f->xs[i]);
            uint32_t frame = eddy__frame_of(&f->w, ys[j]);

            while (frames[frame].depth > frames[inner].depth)
                frame = frames[frame].parent;
            if (frame != inner && !eddy__is_open_frame(&f->w, inner))
                return eddy__walk_fail(
                    &f->w, EDDY_INVALID_ARGUMENT, EDDY_E_FRAME_MIXED,
                    f->xs[i].node,
                    "x %zu is inside the loop '%s', but y %zu is not", i,
                    frames[inner].name, j);
        }
    return EDDY_OK;
}

/* The tangents that are given, each where its x is. */
static eddy_status bring_seeds(eddy__forward *f, const eddy_output *tangents)
{
    eddy__walk *w = &f->w;
    eddy_output *seeds =
        eddy__arena_allocate(&w->arena, f->n_xs, sizeof *seeds);

    if (!seeds)
        return eddy__fail_memory(w->err);
    for (size_t i = 0; i < f->n_xs; i++) {
        seeds[i] = EDDY__NO_OUTPUT;
        if (!tangents || !eddy__is_output(tangents[i]))
            continue;
        w->at = f->xs[i].node;
        w->home = eddy__frame_of(w, f->xs[i]);
        EDDY_TRY(eddy__make_scopes(w));
        seeds[i] = eddy__bring(w, tangents[i], f->xs[i]);
    }
    f->seeds = seeds;
    return w->status;
}

static eddy_output *no_outputs(eddy__forward *f, size_t n)
{
    eddy_output *list = eddy__arena_allocate(&f->w.arena, n + 1, sizeof *list);

    for (size_t i = 0; list && i < n; i++)
        list[i] = EDDY__NO_OUTPUT;
    return list;
}

static eddy_status prepare(eddy__forward *f, const eddy_output *ys, size_t n_ys)
{
    eddy__walk *w = &f->w;
    const size_t n_slots = eddy__walk_slots(w);

    w->state = eddy__arena_allocate_zeroed(&w->arena, w->n_nodes, 1);
    f->maker =
        eddy__arena_allocate_zeroed(&w->arena, w->n_nodes, sizeof *f->maker);
    f->tangents = no_outputs(f, n_slots);
    f->zeros = no_outputs(f, n_slots);
    if (!w->state || !f->maker || !f->tangents || !f->zeros)
        return eddy__fail_memory(w->err);
    EDDY_TRY(find_bodies(f));
    w->home = eddy__frame_of(w, ys[0]);
    return find_cuts(f, ys, n_ys);
}

/* ---- going forward ---- */

/* Constants that a rule adds are live with the node. */
static void go_to(eddy__forward *f, eddy_node node)
{
    const bool is_root = f->w.analysis->node_frame[node] == 0;

    f->w.at = node;
    f->w.anchor = node;
    f->w.home = !is_root || !eddy__is_always_live(f, node);
}

static void visit(eddy__forward *f, eddy_node node)
{
    const eddy__node *n = eddy__graph_node(f->w.graph, node);
    const eddy__role role = (eddy__role)f->w.flow.role[node];

    if (role == EDDY__ROLE_SWITCH || role == EDDY__ROLE_MERGE ||
        role == EDDY__ROLE_ENTER || role == EDDY__ROLE_EXIT ||
        role == EDDY__ROLE_NEXT_ITERATION)
        eddy__forward_primitive(f, node);
    else if (eddy__is_maker(n))
        eddy__forward_maker(f, node);
    else if (!eddy__forward_rule(f, node))
        eddy__forward_transpose(f, node);
}

static void plant_seeds(eddy__forward *f, eddy_node node)
{
    for (size_t i = 0; i < f->n_xs && f->w.status == EDDY_OK; i++) {
        const eddy_output x = f->xs[i];
        eddy_output seed;

        if (x.node != node)
            continue;
        seed = eddy__is_output(f->seeds[i])
                   ? f->seeds[i]
                   : eddy__emit_op(&f->w, "OnesLike", x);
        if (eddy__is_output(eddy__tangent(f, x)))
            seed = eddy__emit_op(&f->w, "AddV2", eddy__tangent(f, x), seed);
        eddy__set_tangent(f, x, seed);
    }
}

static void go_forward(eddy__forward *f)
{
    for (size_t i = 0; i < f->n_order && f->w.status == EDDY_OK; i++) {
        const eddy_node v = f->order[i];

        go_to(f, v);
        if (eddy__is_active(&f->w, v))
            visit(f, v);
        if (f->w.state[v] & EDDY__IS_X)
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
    const eddy_frame *frames = f->w.analysis->frames;
    uint32_t frame = waits->frame, own;

    if (waits->depth == 0 || f->is_cut[frame])
        return waits->level;
    while (frames[frame].parent != 0 && !f->is_cut[frames[frame].parent])
        frame = frames[frame].parent;
    own = eddy__open_level(&f->w, frame);
    return own < waits->level ? own : waits->level;
}

/* Stand-ins for all tangents, if they have to wait. */
static eddy_status try_defer(eddy__forward *f, const eddy__question *q,
                             eddy_output *out_tangents, bool *out_waits)
{
    eddy__waits waits;
    uint32_t level;

    *out_waits = false;
    EDDY_TRY(eddy__find_waits(&f->w, q->ys, q->n_ys, f->is_cut, &waits));
    level = level_to_end(f, &waits);
    if (level == EDDY__NOT_FOUND || f->w.status != EDDY_OK)
        return f->w.status;
    *out_waits = true;
    for (size_t i = 0; i < q->n_ys; i++) {
        go_to(f, q->ys[i].node);
        out_tangents[i] = eddy__emit_op(&f->w, "ZerosLike", q->ys[i]);
    }
    eddy__defer(&f->w, q, level, out_tangents, q->n_ys);
    return f->w.status;
}

/* ---- all of it ---- */

static void take_tangents(eddy__forward *f, const eddy__question *q,
                          eddy_output *out_tangents)
{
    const bool zeros = q->options && q->options->zeros_if_unconnected;

    for (size_t i = 0; i < q->n_ys && f->w.status == EDDY_OK; i++) {
        go_to(f, q->ys[i].node);
        out_tangents[i] = eddy__tangent(f, q->ys[i]);
        if (!eddy__is_output(out_tangents[i]) && zeros)
            out_tangents[i] = eddy__emit_op(&f->w, "ZerosLike", q->ys[i]);
    }
}

static eddy_status find_tangents(eddy__forward *f, const eddy__question *q,
                                 eddy_output *out_tangents)
{
    bool waits;

    EDDY_TRY(study(f, q->ys, q->n_ys, q->starts));
    EDDY_TRY(prepare(f, q->ys, q->n_ys));
    EDDY_TRY(try_defer(f, q, out_tangents, &waits));
    if (!waits) {
        EDDY_TRY(bring_seeds(f, q->starts));
        f->w.late.is_on = true;
        f->w.home = eddy__frame_of(&f->w, q->ys[0]);
        EDDY_TRY(eddy__forward_find_active(f, q->ys, q->n_ys));
        go_forward(f);
        take_tangents(f, q, out_tangents);
    }
    EDDY_TRY(f->w.status);
    if (!eddy__note_levels(&f->w, q->ys[0]))
        return eddy__fail_memory(f->w.err);
    for (size_t i = 0; i < q->n_ys; i++)
        eddy__note_result(&f->w, out_tangents[i], q->ys[i], q->ys[i]);
    return EDDY_OK;
}

/* NOLINTNEXTLINE(readability-function-size): what is asked, and the answer. */
eddy_status eddy_jvp(eddy_graph *graph, const eddy_output *ys, size_t n_ys,
                     const eddy_output *xs, size_t n_xs,
                     const eddy_output *tangents,
                     const eddy_gradient_options *options,
                     eddy_output *out_tangents, eddy_error *err)
{
    eddy_error own;
    eddy__forward f = {.xs = xs, .n_xs = n_xs};
    eddy__bounded bounded;
    eddy_status status;

    for (size_t i = 0; i < n_ys; i++)
        out_tangents[i] = EDDY__NO_OUTPUT;
    EDDY_TRY(eddy__bounded_begin(&bounded, graph, "the tangent", options, err));
    options = &bounded.options;
    eddy__walk_init(&f.w, graph, options->prefix ? options->prefix : "tangents",
                    err ? err : &own);
    f.w.options = options;
    status = check(&f, ys, n_ys, tangents);
    if (status == EDDY_OK)
        status = eddy__walk_begin(&f.w, ys, n_ys, xs, n_xs);
    if (status == EDDY_OK && n_ys > 0 && n_xs > 0)
        status = find_tangents(&f,
                               &(eddy__question){.ys = ys,
                                                 .n_ys = n_ys,
                                                 .xs = xs,
                                                 .n_xs = n_xs,
                                                 .starts = tangents,
                                                 .is_forward = true,
                                                 .options = options,
                                                 .again = ask_again},
                               out_tangents);
    for (size_t i = 0; i < n_ys && status != EDDY_OK; i++)
        out_tangents[i] = EDDY__NO_OUTPUT;
    eddy__walk_deinit(&f.w);
    return eddy__bounded_end(&bounded, status, err);
}

/* The gradients that there are, one after the other, and whose they are. */
static size_t compact(const eddy_output *gradients, size_t n, eddy_output *out,
                      size_t *whose)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        if (eddy__is_output(gradients[i])) {
            whose[count] = i;
            out[count++] = gradients[i];
        }
    return count;
}

static eddy_status fill_zeros(eddy_graph *graph, const eddy_output *xs,
                              size_t n, eddy_output *products, eddy_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!eddy__is_output(products[i]))
            EDDY_TRY(eddy_graph_add_op(graph, "ZerosLike", NULL, &xs[i], 1,
                                       &products[i], err));
    return EDDY_OK;
}

/* NOLINTNEXTLINE(readability-function-size): what is asked, and the answer. */
static eddy_status multiply(eddy_graph *graph, const eddy_output *ys,
                            size_t n_ys, const eddy_output *xs, size_t n_xs,
                            const eddy_output *vectors,
                            const eddy_gradient_options *options,
                            eddy_output *out_products, eddy_error *err)
{
    eddy__arena arena = {.allocator = graph->arena.allocator};
    eddy_output *list = eddy__arena_allocate(&arena, n_xs + 1, sizeof *list);
    eddy_output *made = eddy__arena_allocate(&arena, n_xs + 1, sizeof *made);
    size_t *whose = eddy__arena_allocate(&arena, n_xs + 1, sizeof *whose);
    eddy_gradient_options own = *options;
    eddy_status status;
    size_t n;

    if (!list || !made || !whose) {
        eddy__arena_destroy(&arena);
        return eddy__fail_memory(err);
    }
    own.zeros_if_unconnected = false;
    status = eddy_gradients(graph, ys, n_ys, xs, n_xs, &own, out_products, err);
    if (status == EDDY_OK) {
        n = compact(out_products, n_xs, list, whose);
        own.grad_ys = NULL;
        own.prefix = NULL;
        status = eddy_jvp(graph, list, n, xs, n_xs, vectors, &own, made, err);
        for (size_t i = 0; i < n_xs; i++)
            out_products[i] = EDDY__NO_OUTPUT;
        for (size_t i = 0; i < n && status == EDDY_OK; i++)
            out_products[whose[i]] = made[i];
    }
    if (status == EDDY_OK && options->zeros_if_unconnected)
        status = fill_zeros(graph, xs, n_xs, out_products, err);
    for (size_t i = 0; i < n_xs && status != EDDY_OK; i++)
        out_products[i] = EDDY__NO_OUTPUT;
    eddy__arena_destroy(&arena);
    return status;
}

/* NOLINTNEXTLINE(readability-function-size): what is asked, and the answer. */
eddy_status eddy_hvp(eddy_graph *graph, const eddy_output *ys, size_t n_ys,
                     const eddy_output *xs, size_t n_xs,
                     const eddy_output *vectors,
                     const eddy_gradient_options *options,
                     eddy_output *out_products, eddy_error *err)
{
    eddy__bounded bounded;

    for (size_t i = 0; i < n_xs; i++)
        out_products[i] = EDDY__NO_OUTPUT;
    EDDY_TRY(eddy__bounded_begin(&bounded, graph,
                                 "the product with the Hessian", options, err));
    return eddy__bounded_end(&bounded,
                             multiply(graph, ys, n_ys, xs, n_xs, vectors,
                                      &bounded.options, out_products, err),
                             err);
}
