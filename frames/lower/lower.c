/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entry of lowering: makes the root's instance, runs the three passes in
 * order, and says where fetches and feeds are in the new graph.
 */
#include "frames/lower/lower.h"

#include "core/base/status.h"
#include "core/context.h"
#include "frames/lower/functional.h"
#include "frames/lower/lowering.h"

#include <string.h>

/* ---- what is fed ---- */

/*
 * What replaces an output that is fed and whose node is not copied.  Where its
 * dtype is not known, an opaque node will take any; nothing of it runs.
 */
static eddy_status make_fed(eddy__lowering *l, eddy_output fed,
                            eddy_output *out_output)
{
    const eddy_dtype dtype = eddy_graph_output_dtype(l->graph, fed);
    const eddy_attr attr = eddy_attr_type("dtype", &dtype);
    const eddy__make make = {
        .op = dtype == EDDY_INVALID ? "_Fed" : "Placeholder",
        .scope = eddy__graph_node(l->graph, fed.node)->name,
        .name = "fed",
        .attrs = &attr,
        .n_attrs = dtype != EDDY_INVALID,
    };

    *out_output = (eddy_output){.index = 0};
    return eddy__lower_make(l, &make, &out_output->node);
}

static eddy_status make_feeds(eddy__lowering *l, eddy__arena *arena)
{
    const eddy__selection *selection = l->request->selection;
    const eddy__instance *root = l->instances[0];

    l->feeds =
        eddy__arena_allocate(arena, selection->n_feeds, sizeof *l->feeds);
    if (!l->feeds)
        return eddy__fail_memory(l->err);
    for (size_t i = 0; i < selection->n_feeds; i++) {
        const eddy_output fed = selection->feeds[i];

        if (root->routine->kind[fed.node] == EDDY__PLAIN)
            l->feeds[i] = (eddy_output){root->made[fed.node], fed.index};
        else
            EDDY_TRY(make_fed(l, fed, &l->feeds[i]));
    }
    return EDDY_OK;
}

/* ---- what is asked for ---- */

/*
 * A call that is inlined and fetched is done as a whole: TensorFlow fetches an
 * IdentityN of all its values, which waits for its end.
 */
static eddy_status take_call(eddy__lowering *l, eddy_output fetched)
{
    const eddy__instance *root = l->instances[0];
    const eddy__routine *r = root->routine;

    if (r->kind[fetched.node] != EDDY__CALLED ||
        !root->calls[r->number[fetched.node]]->is_inlined ||
        eddy__selection_feed_of(l->request->selection, fetched) !=
            EDDY__NOT_FOUND)
        return EDDY_OK;
    return eddy__lower_target(l, root->made[fetched.node]);
}

static eddy_status take_fetches(eddy__lowering *l, eddy__arena *arena,
                                eddy__lowered *lowered)
{
    const eddy__lower_request *request = l->request;
    eddy_output *fetches =
        eddy__arena_allocate(arena, request->n_fetches, sizeof *fetches);

    if (!fetches)
        return eddy__fail_memory(l->err);
    for (size_t i = 0; i < request->n_fetches; i++) {
        EDDY_TRY(take_call(l, request->fetches[i]));
        EDDY_TRY(eddy__lower_resolve(
            l, (eddy__ref){l->instances[0], request->fetches[i]}, &fetches[i]));
    }
    lowered->fetches = fetches;
    return EDDY_OK;
}

static eddy_status take_targets(const eddy__lowering *l, eddy__arena *arena,
                                eddy__lowered *lowered)
{
    const eddy__lower_request *request = l->request;
    const size_t n = request->n_targets;
    eddy_node *targets =
        eddy__arena_allocate(arena, n + l->n_targets, sizeof *targets);

    if (!targets)
        return eddy__fail_memory(l->err);
    for (size_t i = 0; i < n; i++)
        targets[i] = l->instances[0]->made[request->targets[i]];
    for (size_t i = 0; i < l->n_targets; i++)
        targets[n + i] = l->targets[i];
    lowered->targets = targets;
    lowered->n_targets = n + l->n_targets;
    return EDDY_OK;
}

/* ---- the whole ---- */

static eddy_status begin(eddy__lowering *l)
{
    const size_t n = l->graph->n_functions;

    EDDY_TRY(
        eddy__graph_create(l->graph->ctx, l->request->budget, &l->out, l->err));
    l->out->reader = l->graph->reader;
    l->out->producer = l->graph->producer;
    l->out->min_consumer = l->graph->min_consumer;
    if (!eddy__host_table_copy(&l->graph->host, l->arena.allocator,
                               &l->out->host))
        return eddy__fail_memory(l->err);
    l->routines =
        eddy__arena_allocate_zeroed(&l->arena, n, sizeof(eddy__routine *));
    /* What is there already is not added by calls. */
    l->base_nodes = l->graph->n_nodes + l->request->selection->n_feeds;
    l->base_bytes = 16 * l->graph->arena.bytes;
    return l->routines ? EDDY_OK : eddy__fail_memory(l->err);
}

static eddy_status run(eddy__lowering *l, eddy__arena *arena,
                       eddy__lowered *lowered)
{
    EDDY_TRY(begin(l));
    EDDY_TRY(eddy__lower_expand(l));
    EDDY_TRY(make_feeds(l, arena));
    EDDY_TRY(eddy__lower_ends(l));
    EDDY_TRY(eddy__lower_connect(l));
    EDDY_TRY(take_fetches(l, arena, lowered));
    EDDY_TRY(take_targets(l, arena, lowered));
    lowered->feeds = l->feeds;
    return EDDY_OK;
}

static void deinit(eddy__lowering *l)
{
    const eddy_allocator *allocator = l->arena.allocator;

    eddy__routines_free(l);
    eddy__map_deinit(&l->suffixes);
    eddy__map_deinit(&l->frames);
    eddy__free(allocator, l->instances, l->instances_capacity,
               sizeof(eddy__instance *));
    eddy__free(allocator, l->calls, l->calls_capacity, sizeof(eddy__call *));
    eddy__free(allocator, l->inputs, l->inputs_capacity, sizeof *l->inputs);
    eddy__free(allocator, l->controls, l->controls_capacity,
               sizeof *l->controls);
    eddy__free(allocator, l->guarded, l->guarded_capacity, sizeof *l->guarded);
    eddy__free(allocator, l->targets, l->targets_capacity, sizeof *l->targets);
    eddy__free(allocator, l->is_invariant, l->invariants_capacity, 1);
    eddy__free(allocator, l->ends, l->ends_capacity, sizeof *l->ends);
    eddy__arena_destroy(&l->arena);
}

eddy_status eddy__lower(const eddy__lower_request *request, eddy__arena *arena,
                        eddy__lowered *out_lowered, eddy_error *err)
{
    const eddy_graph *graph = request->selection->graph;
    const eddy_allocator *allocator =
        request->budget ? &request->budget->allocator : graph->arena.allocator;
    eddy__lowering l = {
        .request = request,
        .lower = eddy__lower,
        .graph = graph,
        .arena = {.allocator = allocator},
        .err = err,
        .max_nodes =
            request->max_nodes > 0 ? request->max_nodes : EDDY_LOWER_MAX_NODES,
        .suffixes = {.allocator = allocator},
        .frames = {.allocator = allocator},
    };
    eddy_status status;

    l.copier.arena = &l.arena;
    status = run(&l, arena, out_lowered);
    out_lowered->graph = l.out;
    if (status != EDDY_OK) {
        eddy_graph_destroy(l.out);
        out_lowered->graph = NULL;
    }
    deinit(&l);
    return status;
}

bool eddy__needs_lowering(const eddy__selection *selection)
{
    const eddy_graph *graph = selection->graph;

    for (eddy_node id = 0; id < graph->n_nodes; id++)
        if (eddy__selected(selection, id) &&
            eddy__functional_role(graph, eddy__graph_node(graph, id)) !=
                EDDY__ROLE_NONE)
            return true;
    return false;
}

eddy_status eddy__lower_whole(const eddy_graph *graph, uint64_t max_nodes,
                              eddy__budget *budget, eddy_graph **out_graph,
                              eddy_error *err)
{
    const eddy__selection all = {.graph = graph, .budget = budget};
    const eddy__lower_request request = {
        .selection = &all, .max_nodes = max_nodes, .budget = budget};
    eddy__arena arena = {.allocator = &budget->allocator};
    eddy__lowered lowered;
    const eddy_status status = eddy__lower(&request, &arena, &lowered, err);

    eddy__arena_destroy(&arena);
    if (status == EDDY_OK)
        *out_graph = lowered.graph;
    return status;
}

/* ---- the public side ---- */

static const eddy_limits untrusted = {
    .size = sizeof untrusted,
    .max_nodes = UINT64_C(1) << 18,
    .max_bytes = UINT64_C(96) << 20,
    .timeout_ns = UINT64_C(400) * 1000 * 1000,
};

void eddy_lower_options_untrusted(eddy_lower_options *options)
{
    options->limits = &untrusted;
}

eddy_status eddy_graph_lower(const eddy_graph *graph,
                             const eddy_lower_options *options,
                             eddy_graph **out_graph, eddy_error *err)
{
    eddy_lower_options copy = {0};
    eddy__budget budget;
    eddy_status status;

    EDDY_REFUSE_IF(!graph, err, "no graph");
    EDDY_REFUSE_IF(!out_graph, err, "nowhere to put the graph that is made");
    *out_graph = NULL;
    EDDY_TRY(eddy__graph_check_closed(graph, err));
    if (options && (options->size == 0 || options->size > sizeof copy))
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                          "options of %zu bytes, wanted up to %zu",
                          options->size, sizeof copy);
    if (options)
        memcpy(&copy, options, options->size);
    EDDY_TRY(eddy__budget_begin(&budget, "lowering", &graph->ctx->allocator,
                                copy.limits, err));
    /* Nodes that are there already are not counted. */
    copy.max_nodes =
        eddy__budget_lesser(copy.max_nodes, budget.limits.max_nodes);
    budget.limits.max_nodes = 0;
    status = eddy__lower_whole(graph, copy.max_nodes, &budget, out_graph, err);
    if (status == EDDY_OK)
        eddy__graph_set_budget(*out_graph, NULL);
    return eddy__budget_end(&budget, status, err);
}
