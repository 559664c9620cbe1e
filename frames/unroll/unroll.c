/*
 * Unrolling, loop by loop: the graph is analysed anew for each, inner loops
 * before those around them.
 */
#include "eddy/unroll.h"

#include "core/base/status.h"
#include "core/context.h"
#include "frames/lower/lower.h"
#include "frames/unroll/unrolling.h"

#include <string.h>

/* ---- one loop ---- */

static eddy_status prepare(eddy__unrolling *u)
{
    const size_t n = u->n_old;
    const eddy__selection all = {.graph = u->graph};

    EDDY_TRY(eddy__flow_build(&u->flow, &all, &u->arena, u->err));
    u->now =
        eddy__arena_allocate(&u->arena, u->frame->n_variables, sizeof *u->now);
    u->next =
        eddy__arena_allocate(&u->arena, u->frame->n_variables, sizeof *u->next);
    u->brought = eddy__arena_allocate(&u->arena, n, sizeof *u->brought);
    u->use = eddy__arena_allocate(&u->arena, n, sizeof *u->use);
    u->copy = eddy__arena_allocate(&u->arena, n, sizeof *u->copy);
    u->frames = eddy__arena_allocate(&u->arena, u->analysis->n_frames,
                                     sizeof(const char *));
    if (!u->now || !u->next || !u->brought || !u->use || !u->copy || !u->frames)
        return eddy__fail_memory(u->err);
    memset(u->copy, 0xff, n * sizeof *u->copy);
    memset(u->use, 0xff, n * sizeof *u->use);
    for (size_t i = 0; i < u->analysis->n_frames; i++)
        if (!eddy__map_set(&u->frame_names, u->analysis->frames[i].name, 1))
            return eddy__fail_memory(u->err);
    EDDY_TRY(eddy__unroll_count(u));
    EDDY_TRY(eddy__unroll_parts(u));
    return u->is_guarded ? eddy__unroll_find_predicate(u) : EDDY_OK;
}

static eddy_status rewrite(eddy__unrolling *u, uint64_t trips,
                           eddy_graph **graph)
{
    eddy_graph *made = NULL;

    EDDY_TRY(prepare(u));
    if (trips > 0)
        return eddy__unroll_by(u, trips);
    EDDY_TRY(eddy__unroll_all(u, &made));
    eddy_graph_destroy(*graph);
    *graph = made;
    return EDDY_OK;
}

/* What all loops share. */
typedef struct unroller {
    eddy_graph *graph;
    const eddy_unroll_options *options;
    uint64_t max_nodes;
    eddy_error *err;
} unroller;

static eddy_status check_size(void *owner, eddy_error *err)
{
    (void)err;
    return eddy__unroll_check_size(owner);
}

static uint32_t find_frame(const eddy_analysis *analysis, const char *name)
{
    for (uint32_t i = 1; i < analysis->n_frames; i++)
        if (strcmp(analysis->frames[i].name, name) == 0)
            return i;
    return EDDY__NOT_FOUND;
}

/*
 * Unrolls one loop.  If it can't be, the graph is as before: old edges change
 * only once all is copied.
 */
static eddy_status unroll_loop(unroller *r, const char *frame, eddy_error *err)
{
    eddy_analysis *analysis = NULL;
    eddy__unrolling u = {.graph = r->graph,
                         .n_old = r->graph->n_nodes,
                         .err = err,
                         .max_nodes = r->max_nodes,
                         .reassociates = r->options->reassociate_gradients};
    eddy_status status;

    EDDY_TRY(eddy_analysis_create(r->graph, &analysis, err));
    u.arena.allocator = u.frame_names.allocator = r->graph->arena.allocator;
    u.copier.arena = &u.arena;
    u.emit.graph = r->graph;
    u.emit.err = err;
    u.emit.check = check_size;
    u.emit.owner = &u;
    u.analysis = analysis;
    u.frame_id = find_frame(analysis, frame);
    u.frame = &analysis->frames[u.frame_id];
    status = rewrite(&u, r->options->trips, &r->graph);
    if (status != EDDY_OK)
        eddy__graph_truncate(r->graph, u.n_old);
    eddy__map_deinit(&u.frame_names);
    eddy__arena_destroy(&u.arena);
    eddy_analysis_destroy(analysis);
    return status;
}

/* ---- which loops ---- */

static bool is_meant(const char *frame, const char *name)
{
    const size_t length = strlen(name);

    return strncmp(frame, name, length) == 0 &&
           (frame[length] == '\0' ||
            strcmp(frame + length, "/while_context") == 0);
}

static eddy_status check_names(const eddy_analysis *analysis, const unroller *r)
{
    for (size_t i = 0; i < r->options->n_loops; i++) {
        const char *name = r->options->loops[i];
        uint32_t frame = 1;

        while (name && frame < analysis->n_frames &&
               !is_meant(analysis->frames[frame].name, name))
            frame++;
        if (!name || frame >= analysis->n_frames)
            return eddy__fail(r->err, EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME,
                              "no loop '%.64s'", name ? name : "");
    }
    return EDDY_OK;
}

static bool is_chosen(const unroller *r, const char *frame)
{
    bool chosen = r->options->n_loops == 0;

    for (size_t i = 0; i < r->options->n_loops && !chosen; i++)
        chosen = is_meant(frame, r->options->loops[i]);
    return chosen;
}

/* The names of the frames, since every rewrite numbers them anew. */
static eddy_status choose(const unroller *r, eddy__arena *arena,
                          const char ***out_names, size_t *out_n)
{
    eddy_analysis *analysis = NULL;
    eddy_status status;
    size_t n = 0;

    EDDY_TRY(eddy_analysis_create(r->graph, &analysis, r->err));
    status = check_names(analysis, r);
    *out_names =
        eddy__arena_allocate(arena, analysis->n_frames, sizeof(const char *));
    if (status == EDDY_OK && !*out_names)
        status = eddy__fail_memory(r->err);
    for (size_t i = analysis->n_frames;
         status == EDDY_OK && *out_names && i-- > 1;) {
        const char *name = analysis->frames[i].name;

        if (!is_chosen(r, name))
            continue;
        (*out_names)[n] = eddy__arena_text(arena, name, strlen(name));
        if (!(*out_names)[n++])
            status = eddy__fail_memory(r->err);
    }
    eddy_analysis_destroy(analysis);
    *out_n = n;
    return status;
}

static eddy_status unroll_chosen(unroller *r, eddy__arena *arena)
{
    const char **names;
    size_t n;

    EDDY_TRY(choose(r, arena, &names, &n));
    for (size_t i = 0; i < n && r->options->trips != 1; i++) {
        eddy_error why = {.code = EDDY_OK};
        const eddy_status status = unroll_loop(r, names[i], &why);

        if (status == EDDY_OK ||
            (r->options->n_loops == 0 && why.detail == EDDY_E_NOT_COUNTED))
            continue;
        if (r->err)
            *r->err = why;
        return status;
    }
    return EDDY_OK;
}

static eddy_status unroll(const eddy_graph *graph,
                          const eddy_unroll_options *options,
                          eddy__budget *budget, eddy_graph **out_graph,
                          eddy_error *err)
{
    unroller r = {.options = options, .err = err};
    eddy__arena arena = {.allocator = &budget->allocator};
    eddy_status status;

    EDDY_TRY(eddy__lower_whole(graph, 0, budget, &r.graph, err));
    r.max_nodes =
        options->max_nodes ? options->max_nodes : EDDY_UNROLL_MAX_NODES;
    r.max_nodes += r.graph->n_nodes;
    if (r.max_nodes < r.graph->n_nodes || r.max_nodes > EDDY_NO_NODE)
        r.max_nodes = EDDY_NO_NODE;
    status = unroll_chosen(&r, &arena);
    eddy__arena_destroy(&arena);
    /* The graph outlives the budget. */
    eddy__graph_set_budget(r.graph, NULL);
    if (status == EDDY_OK)
        *out_graph = r.graph;
    else
        eddy_graph_destroy(r.graph);
    return status;
}

/* ---- the public side ---- */

static const eddy_limits untrusted = {
    .size = sizeof untrusted,
    .max_nodes = UINT64_C(1) << 18,
    .max_bytes = UINT64_C(160) << 20,
    .timeout_ns = UINT64_C(2000) * 1000 * 1000,
};

void eddy_unroll_options_untrusted(eddy_unroll_options *options)
{
    options->limits = &untrusted;
}

eddy_status eddy_graph_unroll(const eddy_graph *graph,
                              const eddy_unroll_options *options,
                              eddy_graph **out_graph, eddy_error *err)
{
    eddy_unroll_options copy = {.size = sizeof copy};
    eddy__budget budget;
    eddy_status status;

    if (options && options->size > 0 && options->size <= sizeof copy)
        memcpy(&copy, options, options->size);
    else if (options)
        copy.size = 0;
    EDDY_REFUSE_IF(!graph, err, "no graph");
    EDDY_REFUSE_IF(!out_graph, err, "nowhere to put the graph that is made");
    EDDY_REFUSE_IF(copy.size == 0, err,
                   "the options of unrolling have the wrong size");
    EDDY_REFUSE_IF(copy.n_loops > 0 && !copy.loops, err, "NULL for %zu loops",
                   copy.n_loops);
    *out_graph = NULL;
    EDDY_TRY(eddy__graph_check_closed(graph, err));
    EDDY_TRY(eddy__budget_begin(&budget, "unrolling", &graph->ctx->allocator,
                                copy.limits, err));
    copy.max_nodes =
        eddy__lesser_limit(copy.max_nodes, budget.limits.max_nodes);
    budget.limits.max_nodes = 0;
    status = unroll(graph, &copy, &budget, out_graph, err);
    return eddy__budget_end(&budget, status, err);
}
