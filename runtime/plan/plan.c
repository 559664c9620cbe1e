/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making a plan: the passes from a graph to flat arrays, in the order in which
 * they run.  Each is one function over the build, which owns the graph as it
 * is by then; a pass that makes another graph hands it to build_replace.
 */
#include "runtime/plan/plan.h"

#include "core/base/status.h"
#include "core/context.h"
#include "frames/analysis/fed_controls.h"
#include "frames/analysis/merge_order.h"
#include "frames/analysis/prune.h"
#include "frames/lower/groups.h"
#include "frames/lower/lower.h"
#include "frames/lower/references.h"
#include "ops/rows.h"
#include "runtime/plan/chains.h"
#include "runtime/plan/fuse.h"
#include "runtime/plan/layout.h"
#include "runtime/plan/linear.h"
#include "runtime/plan/rewrites.h"
#include "runtime/plan/saving.h"

#include <string.h>

/* ---- the graph that the build owns ---- */

/* Notes in new memory what is fed, each node's feeds in their order. */
static eddy_status find_feeds(eddy__plan_build *b)
{
    eddy__selection *selection = &b->chosen;
    const size_t n = selection->graph->n_nodes;
    const size_t n_feeds = b->now.n_feeds;
    uint8_t *is_fed = eddy__arena_allocate_zeroed(&b->scratch, n, 1);
    uint32_t *first = eddy__arena_allocate(&b->scratch, n, sizeof *first);
    uint32_t *next = eddy__arena_allocate(&b->scratch, n_feeds, sizeof *next);

    if (!is_fed || !first || !next)
        return eddy__fail_memory(b->err);
    memset(first, 0xff, n * sizeof *first);
    for (uint32_t i = (uint32_t)n_feeds; i-- > 0;) {
        const eddy_node node = b->now.feeds[i].node;

        next[i] = first[node];
        first[node] = i;
        is_fed[node] = 1;
    }
    selection->feeds = b->now.feeds;
    selection->n_feeds = n_feeds;
    selection->is_fed = is_fed;
    selection->first_feed = first;
    selection->next_feed = next;
    return EDDY_OK;
}

static eddy_status check_fed_twice(const eddy__plan_build *b)
{
    const eddy__selection *selection = &b->chosen;

    for (uint32_t i = 0; i < selection->n_feeds; i++) {
        const eddy_output fed = selection->feeds[i];
        const uint32_t first = eddy__selection_feed_of(selection, fed);

        if (first != i)
            return eddy__graph_fail_at(
                b->err, EDDY_INVALID_ARGUMENT, EDDY_E_FEED_TWICE,
                eddy__graph_node(selection->graph, fed.node),
                "output %u is fed more than once, as feeds %u and %u",
                fed.index, (unsigned)first, (unsigned)i);
    }
    return EDDY_OK;
}

/* Marks in new memory what is fed and what is needed of the current graph. */
static eddy_status prune(eddy__plan_build *b)
{
    const eddy__wanted wanted = {
        .fetches = b->now.fetches,
        .n_fetches = b->now.n_fetches,
        .targets = b->now.targets,
        .n_targets = b->now.n_targets,
    };
    eddy__selection *selection = &b->chosen;
    uint8_t *keep =
        eddy__arena_allocate_zeroed(&b->scratch, selection->graph->n_nodes, 1);

    if (!keep)
        return eddy__fail_memory(b->err);
    EDDY_TRY(find_feeds(b));
    EDDY_TRY(check_fed_twice(b));
    selection->keep = NULL;
    EDDY_TRY(eddy__prune(selection, &wanted, keep, b->err));
    selection->keep = keep;
    return EDDY_OK;
}

/* Goes on with `graph`, the build's from now on, in place of the current one.
 */
static void build_replace(eddy__plan_build *b, eddy_graph *graph)
{
    eddy_graph_destroy(b->owned);
    b->owned = graph;
    b->chosen = (eddy__selection){.graph = graph, .budget = b->budget};
}

/* ---- the passes ---- */

static eddy_status move_fed_controls(eddy__plan_build *b)
{
    const eddy__selection fed = {
        .graph = b->chosen.graph,
        .feeds = b->now.feeds,
        .n_feeds = b->now.n_feeds,
        .budget = b->budget,
    };
    eddy_graph *moved;

    EDDY_TRY(eddy__move_fed_controls(&fed, &moved, b->err));
    if (moved)
        build_replace(b, moved);
    return EDDY_OK;
}

/* Nodes that lowering may add: some of them are pruned afterwards. */
static uint64_t most_lowered(const eddy_plan_options *options)
{
    const uint64_t n = options->max_nodes;

    return n > 0 && n < EDDY_LOWER_MAX_NODES / 4 ? 4 * n : EDDY_LOWER_MAX_NODES;
}

/*
 * To a graph without calls of functions, in which the same is asked for.  What
 * is fed has been in the root frame, and is.
 */
static eddy_status lower(eddy__plan_build *b)
{
    const eddy__lower_request request = {
        .selection = b->selection,
        .fetches = b->now.fetches,
        .n_fetches = b->now.n_fetches,
        .targets = b->now.targets,
        .n_targets = b->now.n_targets,
        .max_nodes = most_lowered(b->asked),
        .budget = b->budget,
    };
    eddy__lowered lowered;

    if (!eddy__needs_lowering(b->selection))
        return EDDY_OK;
    EDDY_TRY(eddy__check_feeds(b->selection, b->err));
    EDDY_TRY(eddy__lower(&request, &b->scratch, &lowered, b->err));
    b->now.feeds = lowered.feeds;
    b->now.fetches = lowered.fetches;
    b->now.targets = lowered.targets;
    b->now.n_targets = lowered.n_targets;
    build_replace(b, lowered.graph);
    /* A body's end waits for what it gives back, which may be what is fed. */
    EDDY_TRY(move_fed_controls(b));
    return prune(b);
}

/* To a graph in which members of a collective are joined by edges. */
static eddy_status join_groups(eddy__plan_build *b)
{
    eddy_graph *graph;

    if (!eddy__has_groups(b->selection))
        return EDDY_OK;
    EDDY_TRY(eddy__join_groups(b->selection, &graph, b->err));
    build_replace(b, graph);
    return prune(b);
}

/*
 * To a graph in which references are handles; its fetches alone are other
 * outputs.
 */
static eddy_status dereference(eddy__plan_build *b)
{
    eddy_output *fetches;
    eddy_graph *graph;

    if (!eddy__has_references(b->selection))
        return EDDY_OK;
    EDDY_TRY(eddy__plan_check_ops(b));
    fetches = eddy__arena_copy(&b->scratch, b->now.fetches, b->now.n_fetches,
                               sizeof *fetches);
    if (!fetches)
        return eddy__fail_memory(b->err);
    EDDY_TRY(eddy__lower_references(b->selection, fetches, b->now.n_fetches,
                                    &graph, b->err));
    b->now.fetches = fetches;
    build_replace(b, graph);
    return prune(b);
}

static eddy_status check_feeds(eddy__plan_build *b)
{
    return eddy__check_feeds(b->selection, b->err);
}

static eddy_status analyse(eddy__plan_build *b)
{
    eddy_analysis *analysis = NULL;

    EDDY_TRY(eddy__analysis_build(b->selection, &analysis, b->err));
    if (b->analysis)
        eddy__narrow_contests(analysis, b->analysis);
    eddy_analysis_destroy(b->analysis);
    b->analysis = analysis;
    return EDDY_OK;
}

static eddy_status copy_warnings(eddy__plan_build *b)
{
    const eddy_analysis *analysis = b->analysis;
    eddy_plan *plan = b->plan;

    plan->warnings = eddy__arena_allocate(&plan->arena, analysis->n_warnings,
                                          sizeof *plan->warnings);
    if (!plan->warnings)
        return eddy__fail_memory(b->err);
    for (size_t i = 0; i < analysis->n_warnings; i++) {
        const char *text = analysis->warnings[i];

        plan->warnings[i] = eddy__arena_text(&plan->arena, text, strlen(text));
        if (!plan->warnings[i])
            return eddy__fail_memory(b->err);
        plan->n_warnings++;
    }
    return EDDY_OK;
}

static eddy_status count_nodes(eddy__plan_build *b)
{
    uint64_t n = 0;

    for (eddy_node id = 0; id < b->selection->graph->n_nodes; id++)
        n += eddy__selected(b->selection, id);
    if (b->options->max_nodes > 0 && n > b->options->max_nodes)
        return eddy__fail(b->err, EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_NODES,
                          "%llu nodes are needed and the limit is %llu",
                          (unsigned long long)n,
                          (unsigned long long)b->options->max_nodes);
    if (n + b->options->n_feeds + b->options->n_fetches >= UINT32_MAX / 2)
        return eddy__fail(b->err, EDDY_RESOURCE_EXHAUSTED, EDDY_E_SIZE,
                          "%llu nodes are more than a plan can hold",
                          (unsigned long long)n);
    b->plan->n_nodes = (uint32_t)n;
    return EDDY_OK;
}

static eddy_status check_fetches(eddy__plan_build *b)
{
    return eddy__check_fetches(b);
}

static eddy_status infer(eddy__plan_build *b)
{
    return eddy__infer_shapes(b->selection, b->analysis, b->feed_shapes,
                              &b->scratch, &b->shapes, b->err);
}

/* To a copy in which nodes are joined, with all that is known anew. */
static eddy_status go_on_with(eddy__plan_build *b, eddy_graph *joined)
{
    if (!joined)
        return EDDY_OK;
    build_replace(b, joined);
    EDDY_TRY(prune(b));
    EDDY_TRY(count_nodes(b));
    EDDY_TRY(analyse(b));
    return infer(b);
}

/* A pass that gives a plan less to do (rewrites.h). */
static eddy_status rewrite(eddy__plan_build *b,
                           eddy_status (*pass)(const eddy__plan_build *build,
                                               eddy__arena *scratch,
                                               eddy_graph **out_graph),
                           bool *out_any)
{
    eddy_graph *graph = NULL;

    if (b->options->optimize != EDDY_OPTIMIZE_NONE)
        EDDY_TRY(pass(b, &b->scratch, &graph));
    *out_any = graph != NULL;
    return go_on_with(b, graph);
}

static eddy_status save_loop(eddy__plan_build *b)
{
    eddy_graph *graph;

    EDDY_TRY(eddy__plan_save_loop(b, &graph));
    return go_on_with(b, graph);
}

static eddy_status drop_identities(eddy__plan_build *b)
{
    bool any = false;

    return rewrite(b, eddy__drop_identities, &any);
}

/* What is folded tells shapes, and these are folded in turn. */
#define MOST_FOLDS 8

static eddy_status fold_constants(eddy__plan_build *b)
{
    bool any = true;

    for (uint32_t i = 0; any && i < MOST_FOLDS; i++)
        EDDY_TRY(rewrite(b, eddy__fold_constants, &any));
    return EDDY_OK;
}

static eddy_status square_powers(eddy__plan_build *b)
{
    bool any = false;

    return rewrite(b, eddy__square_powers, &any);
}

/* Out of so many loops, one after the other. */
#define MOST_LOOPS_OUT 8

static eddy_status move_invariants(eddy__plan_build *b)
{
    bool any = true;

    for (uint32_t i = 0; any && i < MOST_LOOPS_OUT; i++)
        EDDY_TRY(rewrite(b, eddy__move_invariants, &any));
    return EDDY_OK;
}

static eddy_status take_panels(eddy__plan_build *b)
{
    bool any = false;

    EDDY_TRY(rewrite(b, eddy__take_panels, &any));
    return any ? move_invariants(b) : EDDY_OK;
}

static eddy_status go_ahead(eddy__plan_build *b)
{
    bool any = false;

    return rewrite(b, eddy__go_ahead, &any);
}

static eddy_status join_gates(eddy__plan_build *b)
{
    bool any = false;

    return rewrite(b, eddy__join_gates, &any);
}

static eddy_status find_rolls(eddy__plan_build *b)
{
    bool any = false;

    return rewrite(b, eddy__find_rolls, &any);
}

static eddy_status join_common(eddy__plan_build *b)
{
    bool any = false;

    return rewrite(b, eddy__join_common, &any);
}

/* What the pass has added from node `first` on must run. */
static eddy_status want_ends(eddy__plan_build *b, const eddy_graph *graph,
                             size_t first)
{
    eddy_node *targets = eddy__arena_allocate(
        &b->scratch, b->now.n_targets + graph->n_nodes - first,
        sizeof *targets);
    size_t n = b->now.n_targets;

    if (!targets)
        return eddy__fail_memory(b->err);
    if (n > 0)
        memcpy(targets, b->now.targets, n * sizeof *targets);
    for (eddy_node v = (eddy_node)first; v < graph->n_nodes; v++)
        if (strcmp(eddy__graph_node(graph, v)->op_name, EDDY__ROWS_END) == 0)
            targets[n++] = v;
    b->now.targets = targets;
    b->now.n_targets = n;
    return EDDY_OK;
}

static eddy_status overlap_loops(eddy__plan_build *b)
{
    const size_t n = b->chosen.graph->n_nodes;
    eddy_graph *graph = NULL;
    eddy_status status;

    /* What is saved of an array is not to have readers that wait. */
    if (b->options->optimize == EDDY_OPTIMIZE_NONE ||
        (b->plan->saving && b->plan->saving->n_makers > 0))
        return EDDY_OK;
    EDDY_TRY(eddy__overlap_loops(b, &b->scratch, &graph));
    if (!graph)
        return EDDY_OK;
    status = want_ends(b, graph, n);
    if (status == EDDY_OK)
        return go_on_with(b, graph);
    eddy_graph_destroy(graph);
    return status;
}

static eddy_status fuse(eddy__plan_build *b)
{
    eddy_graph *fused;

    EDDY_TRY(eddy__fuse(b, &b->scratch, &fused));
    return go_on_with(b, fused);
}

static eddy_status join_chains(eddy__plan_build *b)
{
    eddy_graph *joined;

    EDDY_TRY(eddy__join_chains(b, &b->scratch, &joined));
    return go_on_with(b, joined);
}

/* ---- in a row ---- */

typedef struct plan_pass {
    const char *name; /* for --dump-after and docs/architecture.md */
    eddy_status (*run)(eddy__plan_build *b);
    bool is_optional; /* --without leaves it out */
} plan_pass;

/* clang-format off */
static const plan_pass passes[] = {
    {"options",    eddy__plan_check_options,    false}, /* name what is there */
    {"feeds",      eddy__plan_describe_feeds,   false}, /* what to bind */
    {"controls",   move_fed_controls,           false}, /* of what is fed */
    {"prune",      prune,                       false}, /* what is needed */
    {"lower",      lower,                       false}, /* functions */
    {"groups",     join_groups,                 false}, /* of collectives */
    {"references", dereference,                 false}, /* to handles */
    {"ops",        eddy__plan_check_ops,        false}, /* all are known */
    {"fed",        check_feeds,                 false}, /* none in a loop */
    {"dtypes",     eddy__plan_find_feed_dtypes, false}, /* of feeds */
    {"frames",     analyse,                     false}, /* from primitives */
    {"count",      count_nodes,                 false}, /* within the limit */
    {"fetches",    check_fetches,               false}, /* none in a loop */
    {"shapes",     infer,                       false}, /* to a fixpoint */
    {"ends",       eddy__plan_describe_fetches, false}, /* of what is fetched */
    {"warnings",   copy_warnings,               false}, /* what is odd */
    {"saving",     save_loop,                   false}, /* checkpoints */
    {"identities", drop_identities,             true}, /* that do nothing */
    {"fold",       fold_constants,              true}, /* what is constant */
    {"powers",     square_powers,               true}, /* of 2 */
    {"invariants", move_invariants,             true}, /* out of loops */
    {"panels",     take_panels,                 true}, /* of weights, ahead */
    {"common",     join_common,                 true}, /* the same, once */
    {"overlap",    overlap_loops,               true}, /* loops that follow */
    {"ahead",      go_ahead,                    true}, /* of all steps */
    {"gates",      join_gates,                  true}, /* of products */
    {"rolls",      find_rolls,                  true}, /* along an axis */
    {"fuse",       fuse,                        true}, /* products, sums */
    {"chains",     join_chains,                 true}, /* elementwise */
    {"layout",     eddy__plan_lay_out,          false}, /* steps, edges */
    {"linear",     eddy__plan_make_linear,      false}, /* loops in a row */
};
/* clang-format on */

#define N_PASSES (sizeof passes / sizeof passes[0])

static bool is_left_out(const eddy_plan_options *asked, const char *name)
{
    size_t i = 0;

    while (i < asked->n_without && strcmp(asked->without[i], name) != 0)
        i++;
    return i < asked->n_without;
}

static eddy_status check_without(const eddy__plan_build *b)
{
    for (size_t i = 0; i < b->asked->n_without; i++) {
        const char *name = b->asked->without[i];
        size_t k = 0;

        while (k < N_PASSES && strcmp(passes[k].name, name) != 0)
            k++;
        if (k == N_PASSES || !passes[k].is_optional)
            return eddy__fail(b->err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                              "'%s' is no pass that a plan can do without",
                              name);
    }
    return EDDY_OK;
}

static eddy_status run_passes(eddy__plan_build *b)
{
    EDDY_TRY(check_without(b));
    for (size_t i = 0; i < N_PASSES; i++) {
        if (!is_left_out(b->asked, passes[i].name))
            EDDY_TRY(passes[i].run(b));
        if (b->asked->observe)
            b->asked->observe(b->asked->user, passes[i].name, b->chosen.graph,
                              b->chosen.keep);
    }
    return EDDY_OK;
}

const char *eddy_plan_pass_name(size_t i)
{
    return i < N_PASSES ? passes[i].name : NULL;
}

bool eddy_plan_pass_is_optional(size_t i)
{
    return i < N_PASSES && passes[i].is_optional;
}

static eddy_status fill_plan(eddy_plan *plan, const eddy_graph *graph,
                             const eddy_plan_options *options,
                             eddy__budget *budget, eddy_error *err)
{
    eddy__plan_build b = {
        .graph = graph,
        .asked = options,
        .now = *options,
        .chosen = {.graph = graph, .budget = budget},
        .scratch = {.allocator = &budget->allocator},
        .plan = plan,
        .budget = budget,
        .err = err,
    };
    eddy_status status;

    b.options = &b.now;
    b.selection = &b.chosen;
    status = run_passes(&b);
    eddy__plan_layout_end(&b);
    eddy_analysis_destroy(b.analysis);
    eddy_graph_destroy(b.owned);
    eddy__arena_destroy(&b.scratch);
    return status;
}

/*
 * Elements that kernels take one op after the other, of all ops together,
 * before they make machine code of them: that takes about as long.
 */
#define WARM (UINT64_C(1) << 18)

/* The plan, with as much of it as the budget lets it have. */
static eddy_status make_plan(const eddy_graph *graph,
                             const eddy_plan_options *options,
                             eddy__budget *budget, eddy_plan **out_plan,
                             eddy_error *err)
{
    eddy_plan *plan =
        eddy__allocate_zeroed(&budget->allocator, 1, sizeof *plan);
    eddy_status status;

    if (!plan)
        return eddy__fail_memory(err);
    plan->ctx = graph->ctx;
    plan->arena.allocator = &budget->allocator;
    atomic_init(&plan->refs, 1);
    plan->tiers.allocator = &graph->ctx->allocator;
    plan->tiers.threshold =
        options->executor == EDDY_EXECUTOR_NATIVE ? 0 : WARM;
    status = fill_plan(plan, graph, options, budget, err);
    /* The plan outlives the budget. */
    plan->arena.allocator = &graph->ctx->allocator;
    if (status == EDDY_OK)
        *out_plan = plan;
    else
        eddy_plan_release(plan);
    return status;
}

static const eddy_limits untrusted = {
    .size = sizeof untrusted,
    .max_nodes = UINT64_C(1) << 18,
    .max_bytes = UINT64_C(128) << 20,
    .timeout_ns = UINT64_C(600) * 1000 * 1000,
};

void eddy_plan_options_untrusted(eddy_plan_options *options)
{
    options->limits = &untrusted;
    options->no_native = true;
}

eddy_status eddy_plan_create(const eddy_graph *graph,
                             const eddy_plan_options *options,
                             eddy_plan **out_plan, eddy_error *err)
{
    eddy_plan_options copy = {0};
    eddy__budget budget;

    *out_plan = NULL;
    if (!options || options->size == 0 || options->size > sizeof copy)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                          "plan options of %zu bytes, wanted up to %zu",
                          options ? options->size : 0, sizeof copy);
    EDDY_TRY(eddy__graph_check_closed(graph, err));
    memcpy(&copy, options, options->size);
    EDDY_TRY(eddy__budget_begin(&budget, "planning", &graph->ctx->allocator,
                                copy.limits, err));
    /* Nodes of the plan are counted, not those of graphs on the way to it. */
    copy.max_nodes =
        eddy__budget_lesser(copy.max_nodes, budget.limits.max_nodes);
    budget.limits.max_nodes = 0;
    return eddy__budget_end(
        &budget, make_plan(graph, &copy, &budget, out_plan, err), err);
}

eddy_plan *eddy_plan_retain(eddy_plan *plan)
{
    if (plan)
        atomic_fetch_add_explicit(&plan->refs, 1, memory_order_relaxed);
    return plan;
}

static void release_tiers(const eddy__vector_tiers *tiers)
{
    for (const eddy__vector_tier *t = tiers->first; t; t = t->next) {
        eddy__vector_machine *machine =
            atomic_load_explicit(&t->machine, memory_order_acquire);

        if (machine)
            machine->release(machine);
    }
}

void eddy_plan_release(eddy_plan *plan)
{
    const eddy_allocator *allocator;

    if (!plan ||
        atomic_fetch_sub_explicit(&plan->refs, 1, memory_order_acq_rel) != 1)
        return;
    allocator = &plan->ctx->allocator;
    eddy__linear_release(plan);
    release_tiers(&plan->tiers);
    for (size_t i = 0; i < plan->n_held; i++)
        eddy_tensor_release(plan->held[i]);
    eddy__free(allocator, plan->held, plan->held_capacity,
               sizeof(eddy_tensor *));
    eddy__arena_destroy(&plan->arena);
    eddy__free(allocator, plan, 1, sizeof *plan);
}

size_t eddy_plan_nodes(const eddy_plan *plan)
{
    return plan->n_nodes;
}

size_t eddy_plan_frames(const eddy_plan *plan)
{
    return plan->n_frames;
}

int64_t eddy_plan_first_trip(const eddy_plan *plan)
{
    return plan->saving ? plan->saving->first : 0;
}

eddy_dtype eddy_plan_fetch_dtype(const eddy_plan *plan, size_t i)
{
    return i < plan->n_fetches ? plan->fetches[i].dtype : EDDY_INVALID;
}

const eddy_shape *eddy_plan_fetch_shape(const eddy_plan *plan, size_t i)
{
    return i < plan->n_fetches ? &plan->fetches[i].shape : NULL;
}

const char *eddy_plan_warning(const eddy_plan *plan, size_t i)
{
    return i < plan->n_warnings ? plan->warnings[i] : NULL;
}
