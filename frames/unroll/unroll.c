/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unrolling, turn by turn: inner loops before those around them, and all that
 * are not in each other by one analysis of the graph, so that the time is about
 * linear in what is made, and not in the loops times that.
 */
#include "eddy/unroll.h"

#include "core/base/status.h"
#include "core/context.h"
#include "frames/lower/lower.h"
#include "frames/unroll/unrolling.h"

#include <string.h>

/* What all loops share. */
typedef struct unroller {
    eddy_graph *graph;
    const eddy_unroll_options *options;
    uint64_t max_nodes;
    eddy__arena arena;
    /* The loops that are chosen, by the names of their frames. */
    eddy__map loops;
    uint8_t *is_done; /* one a loop */
    eddy_error *err;
} unroller;

/*
 * Loops none of which is in another, so that one analysis serves all.  If one
 * can't be unrolled the graph is as before: old edges change only once all is
 * copied.
 */
typedef struct turn {
    unroller *r;
    eddy__unrolling u;
    eddy_analysis *analysis;
    size_t *first; /* by frame: the first of its members in `members` */
    eddy_node *members;
    bool has_changed; /* the graph, since the analysis */
} turn;

static eddy_status check_size(void *owner, eddy_error *err)
{
    (void)err;
    return eddy__unroll_check_size(owner);
}

/* ---- one loop ---- */

static eddy_status prepare(eddy__unrolling *u)
{
    const size_t n = u->frame->n_variables;

    u->now = eddy__arena_allocate(&u->arena, n, sizeof *u->now);
    u->next = eddy__arena_allocate(&u->arena, n, sizeof *u->next);
    if (!u->now || !u->next)
        return eddy__fail_memory(u->err);
    EDDY_TRY(eddy__unroll_count(u));
    EDDY_TRY(eddy__unroll_parts(u));
    return u->is_guarded ? eddy__unroll_find_predicate(u) : EDDY_OK;
}

static eddy_status rewrite(eddy__unrolling *u, uint64_t trips)
{
    EDDY_TRY(prepare(u));
    return trips > 0 ? eddy__unroll_by(u, trips) : eddy__unroll_all(u);
}

/* Of what is noted of a node only what becomes of it outlives its loop. */
static void clear(eddy__unrolling *u)
{
    for (size_t i = 0; i < u->n_members; i++) {
        const eddy_node v = u->members[i];

        u->bits[v] = 0;
        u->variable_of[v] = 0;
        u->copy[v] = EDDY_NO_NODE;
        u->use[v] = EDDY__NO_OUTPUT;
    }
}

static eddy_status unroll_loop(turn *t, uint32_t frame, eddy_error *err)
{
    eddy__unrolling *u = &t->u;
    const size_t n_before = u->graph->n_nodes;
    eddy_status status;

    u->err = u->emit.err = err;
    u->emit.status = EDDY_OK;
    u->frame_id = frame;
    u->frame = &t->analysis->frames[frame];
    u->members = t->members + t->first[frame];
    u->n_members = t->first[frame + 1] - t->first[frame];
    status = rewrite(u, t->r->options->trips);
    clear(u);
    if (status == EDDY_OK)
        t->has_changed = true;
    else
        eddy__graph_truncate(u->graph, n_before);
    return status;
}

/* ---- the loops of a turn ---- */

static uint32_t loop_number(const unroller *r, const char *frame)
{
    return eddy__map_find(&r->loops, frame, strlen(frame));
}

/*
 * Takes those that are not done, with none in them that is not done either.
 * Frames come before those in them.
 */
static size_t take_loops(turn *t)
{
    const eddy_frame *frames = t->analysis->frames;
    uint32_t *loop_of = t->u.loop_of;
    size_t n = 0;

    /* First: does a frame hold a loop that is not done? */
    memset(loop_of, 0, t->analysis->n_frames * sizeof *loop_of);
    for (uint32_t i = (uint32_t)t->analysis->n_frames; i-- > 1;) {
        const uint32_t number = loop_number(t->r, frames[i].name);

        if (loop_of[i] || (number != EDDY__NOT_FOUND && !t->r->is_done[number]))
            loop_of[frames[i].parent] = 1;
    }
    loop_of[0] = 0;
    for (uint32_t i = 1; i < t->analysis->n_frames; i++) {
        const uint32_t number = loop_number(t->r, frames[i].name);
        const bool is_taken =
            !loop_of[i] && number != EDDY__NOT_FOUND && !t->r->is_done[number];

        n += is_taken;
        if (loop_of[i])
            loop_of[i] = 0;
        else
            loop_of[i] = is_taken ? i : loop_of[frames[i].parent];
    }
    return n;
}

/* The loop of the turn that the node is in, or whose Enter it is; 0: none. */
static uint32_t loop_with(const eddy__unrolling *u, eddy_node v)
{
    const uint32_t loop = u->loop_of[u->analysis->node_frame[v]];

    return loop == 0 && u->flow.role[v] == EDDY__ROLE_ENTER
               ? u->loop_of[u->analysis->output_frame[v]]
               : loop;
}

static void list_members(turn *t)
{
    const size_t n = t->analysis->n_frames;

    memset(t->first, 0, (n + 2) * sizeof *t->first);
    for (eddy_node v = 0; v < t->u.n_old; v++)
        t->first[loop_with(&t->u, v) + 2]++;
    for (size_t i = 2; i < n + 2; i++)
        t->first[i] += t->first[i - 1];
    for (eddy_node v = 0; v < t->u.n_old; v++)
        t->members[t->first[loop_with(&t->u, v) + 1]++] = v;
}

/* ---- an analysis, and what goes with it ---- */

static void turn_deinit(turn *t)
{
    eddy__map_deinit(&t->u.frame_names);
    eddy__arena_destroy(&t->u.arena);
    eddy_analysis_destroy(t->analysis);
}

static eddy_status allocate(turn *t)
{
    eddy__unrolling *u = &t->u;
    eddy__arena *arena = &u->arena;
    const size_t n = u->n_old, n_frames = t->analysis->n_frames;

    u->brought = eddy__arena_allocate(arena, n, sizeof *u->brought);
    u->use = eddy__arena_allocate(arena, n, sizeof *u->use);
    u->copy = eddy__arena_allocate(arena, n, sizeof *u->copy);
    u->bits = eddy__arena_allocate_zeroed(arena, n, sizeof *u->bits);
    u->fate = eddy__arena_allocate_zeroed(arena, n, sizeof *u->fate);
    u->variable_of =
        eddy__arena_allocate_zeroed(arena, n, sizeof *u->variable_of);
    u->n_dead = eddy__arena_allocate(arena, n, sizeof *u->n_dead);
    u->stack = eddy__arena_allocate(arena, n, sizeof *u->stack);
    u->frames =
        eddy__arena_allocate_zeroed(arena, n_frames, sizeof(const char *));
    u->named = eddy__arena_allocate(arena, n_frames, sizeof *u->named);
    u->loop_of = eddy__arena_allocate(arena, n_frames, sizeof *u->loop_of);
    t->first = eddy__arena_allocate(arena, n_frames + 2, sizeof *t->first);
    t->members = eddy__arena_allocate(arena, n, sizeof *t->members);
    if (!u->brought || !u->use || !u->copy || !u->bits || !u->fate ||
        !u->variable_of || !u->n_dead || !u->stack || !u->frames || !u->named ||
        !u->loop_of || !t->first || !t->members)
        return eddy__fail_memory(t->r->err);
    memset(u->copy, 0xff, n * sizeof *u->copy);
    memset(u->use, 0xff, n * sizeof *u->use);
    for (size_t i = 0; i < n_frames; i++)
        if (!eddy__map_set(&u->frame_names, t->analysis->frames[i].name, 1))
            return eddy__fail_memory(t->r->err);
    return EDDY_OK;
}

/* Looks at the graph as it is now. */
static eddy_status turn_init(turn *t, unroller *r)
{
    const eddy__selection all = {.graph = r->graph};
    eddy__unrolling *u = &t->u;

    *t = (turn){.r = r,
                .u = {.graph = r->graph,
                      .n_old = r->graph->n_nodes,
                      .max_nodes = r->max_nodes,
                      .reassociates = r->options->reassociate_gradients}};
    u->arena.allocator = u->frame_names.allocator = r->graph->arena.allocator;
    u->copier.arena = &u->arena;
    u->emit.graph = r->graph;
    u->emit.check = check_size;
    u->emit.owner = u;
    EDDY_TRY(eddy_analysis_create(r->graph, &t->analysis, r->err));
    u->analysis = t->analysis;
    EDDY_TRY(eddy__flow_build(&u->flow, &all, &u->arena, r->err));
    return allocate(t);
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

/* By the names of the frames, since every rewrite numbers them anew. */
static eddy_status choose(unroller *r, const eddy_analysis *analysis)
{
    uint32_t n = 0;

    EDDY_TRY(check_names(analysis, r));
    for (size_t i = 1; i < analysis->n_frames; i++) {
        const char *name = analysis->frames[i].name;

        if (!is_chosen(r, name))
            continue;
        name = eddy__arena_text(&r->arena, name, strlen(name));
        if (!name || !eddy__map_set(&r->loops, name, n++))
            return eddy__fail_memory(r->err);
    }
    r->is_done = eddy__arena_allocate_zeroed(&r->arena, n, 1);
    return r->is_done ? EDDY_OK : eddy__fail_memory(r->err);
}

/* Unrolls what it has taken; those that can't be stay as they are. */
static eddy_status unroll_taken(turn *t)
{
    unroller *r = t->r;

    list_members(t);
    for (uint32_t i = (uint32_t)t->analysis->n_frames; i-- > 1;) {
        eddy_error why = {.code = EDDY_OK};
        eddy_status status;

        if (t->u.loop_of[i] != i)
            continue;
        r->is_done[loop_number(r, t->analysis->frames[i].name)] = 1;
        status = unroll_loop(t, i, &why);
        if (status == EDDY_OK ||
            (r->options->n_loops == 0 && why.detail == EDDY_E_NOT_COUNTED))
            continue;
        if (r->err)
            *r->err = why;
        return status;
    }
    return EDDY_OK;
}

/* Goes on with the graph that the turn has made. */
static eddy_status end_turn(turn *t)
{
    unroller *r = t->r;
    eddy_graph *made;

    if (r->options->trips > 0)
        return EDDY_OK;
    t->u.err = r->err;
    EDDY_TRY(eddy__unroll_take_out(&t->u, &made));
    eddy_graph_destroy(r->graph);
    r->graph = made;
    return EDDY_OK;
}

/* As long as nothing could be unrolled, the analysis holds. */
static eddy_status unroll_turns(unroller *r)
{
    turn t;
    eddy_status status = turn_init(&t, r);

    if (status == EDDY_OK)
        status = choose(r, t.analysis);
    while (status == EDDY_OK && r->options->trips != 1 && take_loops(&t) > 0) {
        status = unroll_taken(&t);
        if (status != EDDY_OK || !t.has_changed)
            continue;
        status = end_turn(&t);
        if (status != EDDY_OK)
            break;
        turn_deinit(&t);
        status = turn_init(&t, r);
    }
    turn_deinit(&t);
    return status;
}

static eddy_status unroll(const eddy_graph *graph,
                          const eddy_unroll_options *options,
                          eddy__budget *budget, eddy_graph **out_graph,
                          eddy_error *err)
{
    unroller r = {.options = options,
                  .arena = {.allocator = &budget->allocator},
                  .loops = {.allocator = &budget->allocator},
                  .err = err};
    eddy_status status;

    EDDY_TRY(eddy__lower_whole(graph, 0, budget, &r.graph, err));
    r.max_nodes =
        options->max_nodes ? options->max_nodes : EDDY_UNROLL_MAX_NODES;
    r.max_nodes += r.graph->n_nodes;
    if (r.max_nodes < r.graph->n_nodes || r.max_nodes > EDDY_NO_NODE)
        r.max_nodes = EDDY_NO_NODE;
    status = unroll_turns(&r);
    eddy__map_deinit(&r.loops);
    eddy__arena_destroy(&r.arena);
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
        eddy__budget_lesser(copy.max_nodes, budget.limits.max_nodes);
    budget.limits.max_nodes = 0;
    status = unroll(graph, &copy, &budget, out_graph, err);
    return eddy__budget_end(&budget, status, err);
}
