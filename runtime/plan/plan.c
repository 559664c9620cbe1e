/* Making a plan: prune, lower, check, infer, lay out; and asking it things. */
#include "runtime/plan/plan.h"

#include "core/base/status.h"
#include "core/context.h"
#include "core/graph/nearest.h"
#include "frames/analysis/fed_controls.h"
#include "frames/lower/lower.h"
#include "frames/lower/references.h"
#include "runtime/plan/fuse.h"

#include <stdio.h>
#include <string.h>

/* The attribute that keeps a node of a registered op from being read. */
static const char *unreadable_attr(const eddy__node *node)
{
    for (uint32_t i = 0; i < node->n_attrs; i++)
        if (node->attrs[i].kind == EDDY_ATTR_OPAQUE)
            return node->attrs[i].name;
    return "?";
}

/* A node whose op is known may still have a value that eddy does not have. */
static eddy_status refuse_unreadable(const eddy__selection *selection,
                                     eddy_error *err)
{
    const eddy_graph *graph = selection->graph;

    for (eddy_node id = 0; id < graph->n_nodes; id++) {
        const eddy__node *node = eddy__graph_node(graph, id);
        const eddy__op *op =
            eddy__registry_find(&graph->ctx->registry, node->op_name);

        if (!eddy__selected(selection, id) || node->op || !op)
            continue;
        if (op->flags & EDDY__OP_HOST)
            return eddy__fail_at(err, EDDY_FAILED_PRECONDITION,
                                 EDDY_E_HOST_CALLBACK, node,
                                 "'%.64s' would call a function of the program "
                                 "that made the file",
                                 node->name);
        return eddy__fail_at(err, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                             node,
                             "attribute '%s' has a value of a kind or "
                             "dtype that is not supported",
                             unreadable_attr(node));
    }
    return EDDY_OK;
}

/* Appends the op of a node, and the registered one that is like it. */
static size_t list_op(char *list, size_t size, size_t length,
                      const eddy_graph *graph, const char *op)
{
    char name[64], hint[EDDY__NEAREST_LONGEST + 24] = "";
    const char *closest;

    eddy__copy_text(name, sizeof name, op, strlen(op));
    if (length + strlen(name) + 4 >= size)
        return length;
    closest = eddy__registry_closest(&graph->ctx->registry, op);
    if (closest)
        snprintf(hint, sizeof hint, " (did you mean '%s'?)", closest);
    if (length + strlen(name) + strlen(hint) + 4 >= size)
        hint[0] = '\0';
    return length + (size_t)snprintf(list + length, size - length, "%s'%s'%s",
                                     length ? ", " : "", name, hint);
}

/* Names as many unknown ops as fit into the message. */
static eddy_status refuse_unknown_ops(const eddy__selection *selection,
                                      eddy_error *err)
{
    const eddy_graph *graph = selection->graph;
    const eddy__node *first = NULL;
    char list[320];
    size_t length = 0, n_unknown = 0;

    for (eddy_node id = 0; id < graph->n_nodes; id++) {
        const eddy__node *node = eddy__graph_node(graph, id);

        if (!eddy__selected(selection, id) || node->op ||
            eddy__registry_find(&graph->ctx->registry, node->op_name))
            continue;
        first = first ? first : node;
        n_unknown++;
        length = list_op(list, sizeof list, length, graph, node->op_name);
    }
    if (!first)
        return refuse_unreadable(selection, err);
    return eddy__fail_at(err, EDDY_NOT_FOUND, EDDY_E_UNKNOWN_OP, first,
                         "%zu needed node%s of unknown op: %s", n_unknown,
                         n_unknown == 1 ? " is" : "s are", list);
}

static eddy_status check_output(const eddy_graph *graph, eddy_output output,
                                const char *what, size_t i, eddy_error *err)
{
    const eddy__node *node;

    if (output.node >= graph->n_nodes)
        return eddy__fail(err, EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME,
                          "%s %zu is of node %u, but the graph has %zu", what,
                          i, output.node, graph->n_nodes);
    node = eddy__graph_node(graph, output.node);
    if (node->op && output.index >= node->n_outputs)
        return eddy__fail_at(err, EDDY_INVALID_ARGUMENT, EDDY_E_OUTPUT_INDEX,
                             node, "%s %zu is of output %u, but it has %u",
                             what, i, output.index, node->n_outputs);
    return EDDY_OK;
}

static eddy_status check_fed_twice(const eddy_graph *graph,
                                   const eddy_plan_options *options,
                                   eddy_error *err)
{
    for (size_t i = 0; i < options->n_feeds; i++)
        for (size_t j = 0; j < i; j++)
            if (options->feeds[i].node == options->feeds[j].node &&
                options->feeds[i].index == options->feeds[j].index)
                return eddy__fail_at(
                    err, EDDY_INVALID_ARGUMENT, EDDY_E_FEED_TWICE,
                    eddy__graph_node(graph, options->feeds[i].node),
                    "output %u is fed more than once, as feeds %zu and %zu",
                    options->feeds[i].index, j, i);
    return EDDY_OK;
}

static eddy_status check_options(const eddy_graph *graph,
                                 const eddy_plan_options *options,
                                 eddy_error *err)
{
    for (size_t i = 0; i < options->n_feeds; i++)
        EDDY_TRY(check_output(graph, options->feeds[i], "feed", i, err));
    for (size_t i = 0; i < options->n_fetches; i++)
        EDDY_TRY(check_output(graph, options->fetches[i], "fetch", i, err));
    for (size_t i = 0; i < options->n_targets; i++)
        if (options->targets[i] >= graph->n_nodes)
            return eddy__fail(err, EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME,
                              "target %zu is node %u, but the graph has %zu", i,
                              options->targets[i], graph->n_nodes);
    return check_fed_twice(graph, options, err);
}

/* What a feed must look like: a placeholder says, anything else does not. */
static eddy_shape feed_shape(const eddy__node *node)
{
    const eddy_attr *attr = eddy__node_attr(node, "shape");

    if (!attr || attr->kind != EDDY_ATTR_SHAPE || attr->n != 1 ||
        strncmp(node->op_name, "Placeholder", 11) != 0)
        return eddy__shape_unknown();
    return attr->as.shapes[0];
}

static const char *output_name(eddy_plan *plan, const eddy__node *node,
                               uint32_t index)
{
    size_t length = strlen(node->name) + 12;
    char *text = eddy__arena_allocate(&plan->arena, length, 1);

    if (text)
        snprintf(text, length, "%s:%u", node->name, index);
    return text;
}

static eddy_dtype output_dtype(const eddy__node *node, uint32_t index)
{
    return index < node->n_outputs ? (eddy_dtype)node->output_dtypes[index]
                                   : EDDY_INVALID;
}

static eddy_status describe_feeds(const eddy__plan_build *b,
                                  const eddy_graph *graph,
                                  eddy_shape *feed_shapes)
{
    eddy_plan *plan = b->plan;
    size_t n = b->options->n_feeds;

    plan->feeds =
        eddy__arena_allocate_zeroed(&plan->arena, n, sizeof *plan->feeds);
    if (!plan->feeds)
        return eddy__fail_memory(b->err);
    plan->n_feeds = n;
    for (size_t i = 0; i < n; i++) {
        eddy_output output = b->options->feeds[i];
        const eddy__node *node = eddy__graph_node(graph, output.node);

        feed_shapes[i] = feed_shape(node);
        plan->feeds[i].dtype = output_dtype(node, output.index);
        plan->feeds[i].shape = feed_shapes[i];
        plan->feeds[i].name = output_name(plan, node, output.index);
        if (!plan->feeds[i].name)
            return eddy__fail_memory(b->err);
    }
    return EDDY_OK;
}

/*
 * One reader of a feed whose dtype the graph does not tell, since its node is
 * of an unknown op: the dtype is what the readers take it to be.
 */
static eddy_status take_dtype(const eddy__plan_build *b, uint32_t feed,
                              const eddy__node *reader, uint32_t input)
{
    const eddy_dtype wanted = (eddy_dtype)reader->input_dtypes[input];
    eddy__plan_feed *fed = &b->plan->feeds[feed];

    if (wanted == EDDY_INVALID) /* an alias, which takes what comes */
        return EDDY_OK;
    if (eddy_dtype_size(wanted) == 0 && wanted != EDDY_STRING)
        return eddy__fail_at(b->err, EDDY_INVALID_ARGUMENT, EDDY_E_FEED_DTYPE,
                             reader,
                             "input %u is feed %u, '%s', which would have to "
                             "be %s; that can't be fed",
                             input, feed, fed->name, eddy_dtype_name(wanted));
    if (fed->dtype != EDDY_INVALID && fed->dtype != wanted)
        return eddy__fail_at(b->err, EDDY_INVALID_ARGUMENT, EDDY_E_FEED_DTYPE,
                             reader,
                             "input %u takes feed %u, '%s', to be %s, but "
                             "another node takes it to be %s",
                             input, feed, fed->name, eddy_dtype_name(wanted),
                             eddy_dtype_name(fed->dtype));
    fed->dtype = wanted;
    return EDDY_OK;
}

/* A feed that nothing reads keeps no dtype, and may be anything. */
static eddy_status find_feed_dtypes(const eddy__plan_build *b)
{
    const eddy__selection *selection = b->selection;
    const eddy_graph *graph = selection->graph;
    bool any = false;

    for (size_t i = 0; i < b->plan->n_feeds; i++)
        any = any || b->plan->feeds[i].dtype == EDDY_INVALID;
    for (eddy_node id = 0; id < graph->n_nodes && any; id++) {
        const eddy__node *node = eddy__graph_node(graph, id);

        for (uint32_t i = 0;
             i < node->n_inputs && eddy__selected(selection, id); i++) {
            const uint32_t feed = eddy__feed_of(selection, node->inputs[i]);

            if (feed != EDDY__NOT_FOUND &&
                eddy__graph_node(graph, node->inputs[i].node)->op == NULL)
                EDDY_TRY(take_dtype(b, feed, node, i));
        }
    }
    return EDDY_OK;
}

static eddy_status describe_fetches(const eddy__plan_build *b)
{
    eddy_plan *plan = b->plan;
    const eddy_graph *graph = b->selection->graph;
    size_t n = b->options->n_fetches;

    plan->fetches =
        eddy__arena_allocate_zeroed(&plan->arena, n, sizeof *plan->fetches);
    if (!plan->fetches)
        return eddy__fail_memory(b->err);
    plan->n_fetches = n;
    for (size_t i = 0; i < n; i++) {
        eddy_output output = b->options->fetches[i];
        eddy_output asked = b->asked->fetches[i];
        const eddy__node *node = eddy__graph_node(b->graph, asked.node);
        eddy__plan_fetch *fetch = &plan->fetches[i];
        uint32_t feed = eddy__feed_of(b->selection, output);

        /* References and aliases are handles in the rewritten graph. */
        fetch->dtype = output_dtype(node, asked.index);
        if (fetch->dtype == EDDY_INVALID)
            fetch->dtype =
                feed == EDDY__NOT_FOUND
                    ? output_dtype(eddy__graph_node(graph, output.node),
                                   output.index)
                    : plan->feeds[feed].dtype;
        fetch->shape = feed == EDDY__NOT_FOUND
                           ? *eddy__shape_at(&b->shapes, output)
                           : b->feed_shapes[feed];
        fetch->name = output_name(plan, node, asked.index);
        fetch->node =
            eddy__arena_text(&plan->arena, node->name, strlen(node->name));
        fetch->op = eddy__arena_text(&plan->arena, node->op_name,
                                     strlen(node->op_name));
        if (!fetch->name || !fetch->node || !fetch->op)
            return eddy__fail_memory(b->err);
    }
    return EDDY_OK;
}

static eddy_status copy_warnings(const eddy__plan_build *b)
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

static eddy_status count_nodes(const eddy__plan_build *b)
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

/* Marks in new memory what is fed and what is needed. */
static eddy_status select_nodes(const eddy__plan_build *b,
                                eddy__selection *selection,
                                eddy__arena *scratch)
{
    const size_t n = selection->graph->n_nodes;
    uint8_t *keep = eddy__arena_allocate_zeroed(scratch, n, 1);
    uint8_t *is_fed = eddy__arena_allocate_zeroed(scratch, n, 1);

    if (!keep || !is_fed)
        return eddy__fail_memory(b->err);
    selection->feeds = b->options->feeds;
    selection->n_feeds = b->options->n_feeds;
    for (size_t i = 0; i < selection->n_feeds; i++)
        is_fed[selection->feeds[i].node] = 1;
    selection->is_fed = is_fed;
    EDDY_TRY(eddy__prune(selection, b->options, keep, b->err));
    selection->keep = keep;
    return EDDY_OK;
}

/* Lays out a copy of the graph in which nodes have been fused. */
static eddy_status lay_out_fused(const eddy__plan_build *given,
                                 const eddy_graph *graph, eddy__arena *scratch)
{
    eddy__plan_build b = *given;
    eddy__selection selection = {.graph = graph};
    eddy_analysis *analysis = NULL;
    eddy_status status;

    b.selection = &selection;
    EDDY_TRY(select_nodes(&b, &selection, scratch));
    EDDY_TRY(count_nodes(&b));
    EDDY_TRY(eddy__analysis_build(&selection, &analysis, b.err));
    b.analysis = analysis;
    status = eddy__infer_shapes(&selection, analysis, b.feed_shapes, scratch,
                                &b.shapes, b.err);
    if (status == EDDY_OK)
        status = eddy__plan_lay_out(&b);
    eddy_analysis_destroy(analysis);
    return status;
}

/* After pruning: everything that can be refused is refused. */
static eddy_status check_and_lay_out(eddy__plan_build *b, eddy__arena *scratch)
{
    eddy_graph *fused;
    eddy_status status;

    EDDY_TRY(count_nodes(b));
    EDDY_TRY(eddy__check_fetches(b));
    EDDY_TRY(eddy__infer_shapes(b->selection, b->analysis, b->feed_shapes,
                                scratch, &b->shapes, b->err));
    EDDY_TRY(describe_fetches(b));
    EDDY_TRY(copy_warnings(b));
    EDDY_TRY(eddy__fuse(b, scratch, &fused));
    if (!fused)
        return eddy__plan_lay_out(b);
    status = lay_out_fused(b, fused, scratch);
    eddy_graph_destroy(fused);
    return status;
}

static eddy_status analyse(eddy__plan_build *b, eddy__arena *scratch)
{
    eddy_analysis *analysis = NULL;
    eddy_status status;

    EDDY_TRY(refuse_unknown_ops(b->selection, b->err));
    EDDY_TRY(eddy__check_feeds(b->selection, b->err));
    EDDY_TRY(find_feed_dtypes(b));
    EDDY_TRY(eddy__analysis_build(b->selection, &analysis, b->err));
    b->analysis = analysis;
    status = check_and_lay_out(b, scratch);
    eddy_analysis_destroy(analysis);
    return status;
}

/*
 * Goes on with a graph in which references are handles; its fetches alone are
 * other outputs.
 */
static eddy_status dereference(eddy__plan_build *b, eddy__arena *scratch)
{
    const eddy_plan_options *given = b->options;
    const eddy__selection *whole = b->selection;
    eddy_plan_options options = *given;
    eddy__selection selection = {.graph = NULL, .budget = b->budget};
    eddy_output *fetches = eddy__arena_copy(scratch, options.fetches,
                                            options.n_fetches, sizeof *fetches);
    eddy_graph *graph;
    eddy_status status;

    if (!fetches)
        return eddy__fail_memory(b->err);
    EDDY_TRY(refuse_unknown_ops(b->selection, b->err));
    EDDY_TRY(eddy__lower_references(b->selection, fetches, options.n_fetches,
                                    &graph, b->err));
    options.fetches = fetches;
    selection.graph = graph;
    b->options = &options;
    b->selection = &selection;
    status = select_nodes(b, &selection, scratch);
    if (status == EDDY_OK)
        status = analyse(b, scratch);
    b->options = given;
    b->selection = whole;
    eddy_graph_destroy(graph);
    return status;
}

static eddy_status go_on(eddy__plan_build *b, eddy__arena *scratch)
{
    return eddy__has_references(b->selection) ? dereference(b, scratch)
                                              : analyse(b, scratch);
}

/* Nodes that lowering may add: some of them are pruned afterwards. */
static uint64_t most_lowered(const eddy_plan_options *options)
{
    const uint64_t n = options->max_nodes;

    return n > 0 && n < EDDY_LOWER_MAX_NODES / 4 ? 4 * n : EDDY_LOWER_MAX_NODES;
}

/*
 * Goes on with a graph without calls of functions, in which the same is asked
 * for.  What is fed has been in the root frame, and is.
 */
static eddy_status lower_and_analyse(const eddy__plan_build *b,
                                     eddy__arena *scratch)
{
    const eddy_plan_options *asked = b->asked;
    const eddy__lower_request request = {
        .selection = b->selection,
        .fetches = asked->fetches,
        .n_fetches = asked->n_fetches,
        .targets = asked->targets,
        .n_targets = asked->n_targets,
        .max_nodes = most_lowered(asked),
        .budget = b->budget,
    };
    eddy_plan_options options = *asked;
    eddy__selection selection = {.graph = NULL, .budget = b->budget};
    eddy__plan_build build = *b;
    eddy__lowered lowered;
    eddy_status status;

    EDDY_TRY(eddy__check_feeds(b->selection, b->err));
    EDDY_TRY(eddy__lower(&request, scratch, &lowered, b->err));
    options.feeds = lowered.feeds;
    options.fetches = lowered.fetches;
    options.targets = lowered.targets;
    options.n_targets = lowered.n_targets;
    selection.graph = lowered.graph;
    build.options = &options;
    build.selection = &selection;
    status = select_nodes(&build, &selection, scratch);
    if (status == EDDY_OK)
        status = go_on(&build, scratch);
    eddy_graph_destroy(lowered.graph);
    return status;
}

/*
 * Goes on from the graph of `whole` to a plan.  Numbers of nodes are the same
 * in it as in the graph that is asked about.
 */
static eddy_status plan_graph(eddy__plan_build *b, const eddy_graph *whole,
                              eddy__arena *scratch)
{
    eddy__selection selection = {.graph = whole, .budget = b->budget};
    eddy_status status;

    b->selection = &selection;
    status = select_nodes(b, &selection, scratch);
    if (status == EDDY_OK)
        status = eddy__needs_lowering(&selection)
                     ? lower_and_analyse(b, scratch)
                     : go_on(b, scratch);
    b->selection = NULL;
    return status;
}

static eddy_status fill_plan(eddy_plan *plan, const eddy_graph *graph,
                             const eddy_plan_options *options,
                             eddy__budget *budget, eddy_error *err)
{
    const eddy__selection fed = {
        .graph = graph,
        .feeds = options->feeds,
        .n_feeds = options->n_feeds,
        .budget = budget,
    };
    eddy__plan_build build = {
        .graph = graph,
        .asked = options,
        .options = options,
        .plan = plan,
        .budget = budget,
        .err = err,
    };
    eddy__arena scratch = {.allocator = &budget->allocator};
    eddy_shape *feed_shapes;
    eddy_graph *moved = NULL;
    eddy_status status;

    EDDY_TRY(check_options(graph, options, err));
    feed_shapes = eddy__arena_allocate_zeroed(&scratch, options->n_feeds,
                                              sizeof *feed_shapes);
    build.feed_shapes = feed_shapes;
    status = feed_shapes ? describe_feeds(&build, graph, feed_shapes)
                         : eddy__fail_memory(err);
    if (status == EDDY_OK)
        status = eddy__move_fed_controls(&fed, &moved, err);
    if (status == EDDY_OK)
        status = plan_graph(&build, moved ? moved : graph, &scratch);
    eddy_graph_destroy(moved);
    eddy__arena_destroy(&scratch);
    return status;
}

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
        eddy__lesser_limit(copy.max_nodes, budget.limits.max_nodes);
    budget.limits.max_nodes = 0;
    return eddy__budget_end(
        &budget, make_plan(graph, &copy, &budget, out_plan, err), err);
}

eddy_status eddy__plan_hold(eddy_plan *plan, eddy_tensor *tensor,
                            eddy_error *err)
{
    if (!eddy__grow(plan->arena.allocator, (void **)&plan->held,
                    &plan->held_capacity, plan->n_held + 1,
                    sizeof(eddy_tensor *)))
        return eddy__fail_memory(err);
    plan->held[plan->n_held++] = eddy_tensor_retain(tensor);
    return EDDY_OK;
}

eddy_plan *eddy_plan_retain(eddy_plan *plan)
{
    if (plan)
        atomic_fetch_add_explicit(&plan->refs, 1, memory_order_relaxed);
    return plan;
}

void eddy_plan_release(eddy_plan *plan)
{
    const eddy_allocator *allocator;

    if (!plan ||
        atomic_fetch_sub_explicit(&plan->refs, 1, memory_order_acq_rel) != 1)
        return;
    allocator = &plan->ctx->allocator;
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
