/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan's passes on what is fed and fetched: that it can be, what a feed must
 * look like, and what a fetch will.
 */
#include "core/base/status.h"
#include "runtime/plan/plan.h"

#include <stdio.h>
#include <string.h>

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
        return eddy__graph_fail_at(err, EDDY_INVALID_ARGUMENT,
                                   EDDY_E_OUTPUT_INDEX, node,
                                   "%s %zu is of output %u, but it has %u",
                                   what, i, output.index, node->n_outputs);
    return EDDY_OK;
}

eddy_status eddy__plan_check_options(eddy__plan_build *b)
{
    const eddy_graph *graph = b->graph;
    const eddy_plan_options *options = b->asked;
    eddy_error *err = b->err;

    for (size_t i = 0; i < options->n_feeds; i++)
        EDDY_TRY(check_output(graph, options->feeds[i], "feed", i, err));
    for (size_t i = 0; i < options->n_fetches; i++)
        EDDY_TRY(check_output(graph, options->fetches[i], "fetch", i, err));
    for (size_t i = 0; i < options->n_targets; i++)
        if (options->targets[i] >= graph->n_nodes)
            return eddy__fail(err, EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME,
                              "target %zu is node %u, but the graph has %zu", i,
                              options->targets[i], graph->n_nodes);
    if (options->n_feeds >= EDDY__NOT_FOUND)
        return eddy__fail(err, EDDY_RESOURCE_EXHAUSTED, EDDY_E_SIZE,
                          "%zu feeds are too many", options->n_feeds);
    return EDDY_OK;
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

eddy_status eddy__plan_describe_feeds(eddy__plan_build *b)
{
    eddy_plan *plan = b->plan;
    size_t n = b->asked->n_feeds;

    b->feed_shapes =
        eddy__arena_allocate_zeroed(&b->scratch, n, sizeof *b->feed_shapes);
    if (!b->feed_shapes)
        return eddy__fail_memory(b->err);
    plan->feeds =
        eddy__arena_allocate_zeroed(&plan->arena, n, sizeof *plan->feeds);
    if (!plan->feeds)
        return eddy__fail_memory(b->err);
    plan->n_feeds = n;
    for (size_t i = 0; i < n; i++) {
        eddy_output output = b->asked->feeds[i];
        const eddy__node *node = eddy__graph_node(b->graph, output.node);

        b->feed_shapes[i] = feed_shape(node);
        plan->feeds[i].dtype = output_dtype(node, output.index);
        plan->feeds[i].shape = b->feed_shapes[i];
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
        return eddy__graph_fail_at(
            b->err, EDDY_INVALID_ARGUMENT, EDDY_E_FEED_DTYPE, reader,
            "input %u is feed %u, '%s', which would have to "
            "be %s; that can't be fed",
            input, feed, fed->name, eddy_dtype_name(wanted));
    if (fed->dtype != EDDY_INVALID && fed->dtype != wanted)
        return eddy__graph_fail_at(
            b->err, EDDY_INVALID_ARGUMENT, EDDY_E_FEED_DTYPE, reader,
            "input %u takes feed %u, '%s', to be %s, but "
            "another node takes it to be %s",
            input, feed, fed->name, eddy_dtype_name(wanted),
            eddy_dtype_name(fed->dtype));
    fed->dtype = wanted;
    return EDDY_OK;
}

/* A feed that nothing reads keeps no dtype, and may be anything. */
eddy_status eddy__plan_find_feed_dtypes(eddy__plan_build *b)
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
            const uint32_t feed =
                eddy__selection_feed_of(selection, node->inputs[i]);

            if (feed != EDDY__NOT_FOUND &&
                eddy__graph_node(graph, node->inputs[i].node)->op == NULL)
                EDDY_TRY(take_dtype(b, feed, node, i));
        }
    }
    return EDDY_OK;
}

eddy_status eddy__plan_describe_fetches(eddy__plan_build *b)
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
        uint32_t feed = eddy__selection_feed_of(b->selection, output);

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
