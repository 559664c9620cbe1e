/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adding a node.  Everything that can fail is done before the graph changes:
 * memory that a failed call took from the arena is lost until the graph goes.
 */
#include "core/base/status.h"
#include "core/context.h"
#include "core/graph/attr.h"
#include "core/graph/draft.h"
#include "core/graph/name.h"

#include <string.h>

/* Dtypes of so many inputs are kept on the stack while a node is added. */
#define FEW_INPUTS 32

/* Inputs of a node, its control inputs, its attributes; see docs/limits.md. */
#define MAX_EDGES ((size_t)1 << 30)

/* So many control inputs are compared each with each. */
#define FEW_CONTROLS 16

/* ---- checking ---- */

static eddy_status check_spec(const eddy_node_spec *spec, eddy_error *err)
{
    const char *problem = NULL;

    if (spec->size != sizeof *spec)
        problem = "the specification of the node has the wrong size";
    else if (!spec->op)
        problem = "the node has no op";
    else if (spec->n_inputs > 0 && !spec->inputs)
        problem = "the node has NULL for its inputs";
    else if (spec->n_controls > 0 && !spec->controls)
        problem = "the node has NULL for its control inputs";
    else if (spec->n_attrs > 0 && !spec->attrs)
        problem = "the node has NULL for its attributes";
    else if (spec->n_inputs > MAX_EDGES)
        problem = "the node has too many inputs";
    else if (spec->n_controls > MAX_EDGES)
        problem = "the node has too many control inputs";
    else if (spec->n_attrs > MAX_EDGES)
        problem = "the node has too many attributes";
    if (!problem)
        return EDDY_OK;
    return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT, "%s",
                      problem);
}

/* Is one of the op's attributes given as something that eddy can't hold? */
static bool has_opaque_attr(const eddy__op *op, const eddy_node_spec *spec)
{
    for (size_t i = 0; i < spec->n_attrs; i++)
        if (spec->attrs[i].kind == EDDY_ATTR_OPAQUE && spec->attrs[i].name &&
            eddy__draft_find_attr(op, spec->attrs[i].name) >= 0)
            return true;
    return false;
}

/* The op of the node; NULL is an opaque one. */
static eddy_status find_op(eddy__draft *draft)
{
    const eddy__registry *registry = &draft->graph->ctx->registry;
    const eddy__op *op = eddy__registry_find(registry, draft->spec->op);
    const char *closest;

    if (op && draft->options->opaque &&
        (has_opaque_attr(op, draft->spec) ||
         (op->flags & EDDY__OP_HOST && !draft->options->host)))
        op = NULL;
    draft->op = op;
    if (op || draft->options->opaque)
        return EDDY_OK;
    closest = eddy__registry_closest(registry, draft->spec->op);
    return eddy__fail(draft->err, EDDY_NOT_FOUND, EDDY_E_UNKNOWN_OP,
                      "op is not registered%s%s%s",
                      closest ? "; did you mean '" : "", closest ? closest : "",
                      closest ? "'?" : "");
}

/* Finds what each input reads; its dtype goes to `dtypes`. */
static eddy_status read_inputs(const eddy__draft *draft, eddy_dtype *dtypes)
{
    for (size_t i = 0; i < draft->spec->n_inputs; i++) {
        eddy_output from = draft->spec->inputs[i];

        dtypes[i] = EDDY_INVALID;
        if (from.node == EDDY_NO_NODE && draft->options->forward_edges)
            continue;
        EDDY_TRY(eddy__graph_check_output(draft->graph, from, draft->err));
        dtypes[i] = eddy_graph_output_dtype(draft->graph, from);
    }
    return EDDY_OK;
}

static eddy_status check_controls(const eddy__draft *draft)
{
    for (size_t i = 0; i < draft->spec->n_controls; i++)
        if (draft->spec->controls[i] >= draft->graph->n_nodes)
            return eddy__fail(
                draft->err, EDDY_INVALID_ARGUMENT, EDDY_E_UNKNOWN_INPUT,
                "control input %zu is node %u of %zu", i,
                (unsigned)draft->spec->controls[i], draft->graph->n_nodes);
    return EDDY_OK;
}

/* ---- making ---- */

/* Copies the control inputs without repetitions; false without memory. */
static bool copy_few_controls(const eddy__draft *draft, eddy__node *node)
{
    for (size_t i = 0; i < draft->spec->n_controls; i++) {
        eddy_node from = draft->spec->controls[i];
        uint32_t j = 0;

        while (j < node->n_controls && node->controls[j] != from)
            j++;
        if (j == node->n_controls)
            node->controls[node->n_controls++] = from;
    }
    return true;
}

static bool copy_many_controls(const eddy__draft *draft, eddy__node *node)
{
    eddy__pairs seen = {.allocator = draft->graph->arena.allocator};
    bool ok = true;

    for (size_t i = 0; i < draft->spec->n_controls && ok; i++) {
        eddy_node from = draft->spec->controls[i];

        if (eddy__pairs_has(&seen, 0, from))
            continue;
        ok = eddy__pairs_add(&seen, 0, from);
        node->controls[node->n_controls++] = from;
    }
    eddy__pairs_deinit(&seen);
    return ok;
}

static bool make_controls(eddy__arena *arena, const eddy__draft *draft,
                          eddy__node *node)
{
    size_t n = draft->spec->n_controls;

    if (n == 0)
        return true;
    node->controls = eddy__arena_allocate(arena, n, sizeof *node->controls);
    node->controls_capacity = (uint32_t)n;
    return node->controls &&
           (n <= FEW_CONTROLS ? copy_few_controls(draft, node)
                              : copy_many_controls(draft, node));
}

static bool make_inputs(eddy__arena *arena, const eddy__draft *draft,
                        eddy__node *node)
{
    size_t n = draft->spec->n_inputs;

    node->n_inputs = (uint32_t)n;
    node->n_outputs = (uint32_t)draft->n_outputs;
    node->inputs =
        eddy__arena_copy(arena, draft->spec->inputs, n, sizeof *node->inputs);
    node->input_dtypes = eddy__arena_allocate(arena, n + draft->n_outputs, 1);
    if (!node->inputs || !node->input_dtypes)
        return false;
    node->output_dtypes = node->input_dtypes + n;
    eddy__draft_dtypes(draft, node->input_dtypes, node->output_dtypes);
    return true;
}

/* The definition's attributes; defaults are not copied: the op outlives us. */
static bool make_attrs(eddy__arena *arena, const eddy__draft *draft,
                       eddy_attr *attrs)
{
    for (uint32_t i = 0; draft->op && i < draft->op->n_attrs; i++) {
        const eddy__attr_def *def = &draft->op->attrs[i];

        if (def->has_default && draft->attrs[i].as.ints == def->value.as.ints)
            attrs[i] = def->value;
        else if (!eddy__attr_copy_as(arena, &draft->attrs[i], def->name,
                                     &attrs[i]))
            return false;
    }
    return true;
}

static bool make_extra_attrs(eddy__arena *arena, const eddy__draft *draft,
                             eddy_attr *attrs)
{
    for (size_t i = 0; i < draft->spec->n_attrs; i++) {
        const eddy_attr *attr = &draft->spec->attrs[i];

        if (draft->op && eddy__draft_find_attr(draft->op, attr->name) >= 0)
            continue;
        if (!eddy__attr_copy(arena, attr, attrs++))
            return false;
    }
    return true;
}

static bool make_all_attrs(eddy__arena *arena, const eddy__draft *draft,
                           eddy__node *node)
{
    uint32_t n = draft->op ? draft->op->n_attrs : 0;

    node->n_attrs = n + (uint32_t)draft->n_extra;
    node->attrs =
        eddy__arena_allocate(arena, node->n_attrs, sizeof *node->attrs);
    return node->attrs && make_attrs(arena, draft, node->attrs) &&
           (draft->n_extra == 0 ||
            make_extra_attrs(arena, draft, node->attrs + n));
}

/* The device, shared with the node before if that has the same. */
static bool make_device(eddy_graph *graph, const char *device, eddy__node *node)
{
    const char *last =
        graph->n_nodes > 0 ? graph->nodes[graph->n_nodes - 1].device : NULL;

    if (!device || !*device)
        return true;
    node->device =
        last && strcmp(last, device) == 0
            ? last
            : eddy__arena_text(&graph->arena, device, strlen(device));
    return node->device != NULL;
}

static bool make_op(eddy__arena *arena, const eddy__draft *draft,
                    eddy__node *node)
{
    node->op = draft->op;
    node->op_name = draft->op ? draft->op->name
                              : eddy__arena_text(arena, draft->spec->op,
                                                 strlen(draft->spec->op));
    return node->op_name != NULL;
}

/* Makes the node in the arena, all but its name. */
static eddy_status make_node(eddy_graph *graph, const eddy__draft *draft,
                             eddy__node *node)
{
    eddy__arena *arena = &graph->arena;

    if (make_op(arena, draft, node) && make_inputs(arena, draft, node) &&
        make_controls(arena, draft, node) &&
        make_all_attrs(arena, draft, node) &&
        make_device(graph, draft->options->device, node))
        return EDDY_OK;
    return eddy__fail_memory(draft->err);
}

/* ---- adding ---- */

/* Room for one more node, so that only the map of names can still fail. */
static eddy_status reserve_node(eddy_graph *graph, eddy_error *err)
{
    void *nodes = graph->nodes;
    bool ok;

    if (graph->n_nodes + 1 >= EDDY_NO_NODE - 1)
        return eddy__fail(err, EDDY_RESOURCE_EXHAUSTED, EDDY_E_SIZE,
                          "a graph holds at most %u nodes",
                          (unsigned)EDDY_NO_NODE - 2);
    ok = eddy__grow(graph->arena.allocator, &nodes, &graph->capacity,
                    graph->n_nodes + 1, sizeof(eddy__node));
    graph->nodes = nodes;
    return ok ? EDDY_OK : eddy__fail_memory(err);
}

static bool is_unnamed(const eddy__draft *draft)
{
    return !draft->spec->name || !*draft->spec->name;
}

static eddy_status set_name(eddy_graph *graph, const eddy__draft *draft,
                            eddy__node *node, uint32_t *out_suffix)
{
    const char *name = draft->spec->name;

    node->name = is_unnamed(draft)
                     ? eddy__name_make(graph, node->op_name, out_suffix)
                     : eddy__arena_text(&graph->arena, name, strlen(name));
    if (!node->name)
        return eddy__fail_memory(draft->err);
    return eddy__name_check(node->name, draft->err);
}

/* Nothing fails from here on. */
static void publish(eddy_graph *graph, const eddy__node *node)
{
    for (uint32_t i = 0; i < node->n_attrs; i++)
        eddy__attr_retain(&node->attrs[i]);
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (node->inputs[i].node != EDDY_NO_NODE)
            eddy__graph_assume_output(graph, node->inputs[i]);
    graph->nodes[graph->n_nodes++] = *node;
}

static eddy_status commit(eddy_graph *graph, const eddy__draft *draft)
{
    eddy__node node = {.name = NULL};
    uint32_t suffix = 0;

    EDDY_TRY(make_node(graph, draft, &node));
    EDDY_TRY(set_name(graph, draft, &node, &suffix));
    if (draft->options->checks_shapes)
        EDDY_TRY(eddy__known_shapes_check(graph, &node, draft->err));
    EDDY_TRY(reserve_node(graph, draft->err));
    if (!eddy__map_set(&graph->names, node.name, (uint32_t)graph->n_nodes))
        return eddy__fail_memory(draft->err);
    if (is_unnamed(draft))
        eddy__name_taken(graph, node.op_name, suffix);
    publish(graph, &node);
    return EDDY_OK;
}

static eddy_status check_name(const eddy__draft *draft)
{
    eddy_node other;

    if (is_unnamed(draft) && !draft->options->strict)
        return EDDY_OK;
    EDDY_TRY(eddy__name_check(draft->spec->name ? draft->spec->name : "",
                              draft->err));
    other = eddy_graph_find(draft->graph, draft->spec->name);
    if (other == EDDY_NO_NODE)
        return EDDY_OK;
    return eddy__fail(draft->err, EDDY_INVALID_ARGUMENT, EDDY_E_DUPLICATE_NODE,
                      "nodes %u and %zu have the same name", (unsigned)other,
                      draft->graph->n_nodes);
}

static eddy_status resolve(eddy_graph *graph, eddy__draft *draft,
                           eddy_dtype *dtypes)
{
    draft->dtypes = dtypes;
    EDDY_TRY(read_inputs(draft, dtypes));
    EDDY_TRY(check_controls(draft));
    EDDY_TRY(eddy__draft_resolve(draft));
    return commit(graph, draft);
}

static eddy_status add(eddy_graph *graph, eddy__draft *draft)
{
    const eddy_allocator *allocator = graph->arena.allocator;
    size_t n = draft->spec->n_inputs;
    eddy_dtype few[FEW_INPUTS], *dtypes = few;
    eddy_status status;

    EDDY_TRY(check_name(draft));
    EDDY_TRY(find_op(draft));
    if (n > FEW_INPUTS)
        dtypes = eddy__allocate(allocator, n, sizeof *dtypes);
    if (!dtypes)
        return eddy__fail_memory(draft->err);
    status = resolve(graph, draft, dtypes);
    draft->dtypes = NULL;
    if (dtypes != few)
        eddy__free(allocator, dtypes, n, sizeof *dtypes);
    return status;
}

eddy_status eddy__graph_add(eddy_graph *graph, const eddy_node_spec *spec,
                            const eddy__add_options *options,
                            eddy_node *out_node, eddy_error *err)
{
    eddy__draft draft;
    eddy_status status;

    EDDY_TRY(check_spec(spec, err));
    if (graph->budget && !eddy__budget_take_node(graph->budget))
        return eddy__fail_memory(err);
    draft.graph = graph;
    draft.spec = spec;
    draft.options = options;
    draft.err = err;
    status = add(graph, &draft);
    if (status != EDDY_OK) {
        eddy__graph_error_at(err, spec->name ? spec->name : "", spec->op);
        return status;
    }
    if (out_node)
        *out_node = (eddy_node)(graph->n_nodes - 1);
    return EDDY_OK;
}

eddy_status eddy_graph_add(eddy_graph *graph, const eddy_node_spec *spec,
                           eddy_node *out_node, eddy_error *err)
{
    const eddy__add_options options = {.checks_shapes = true};

    EDDY_REFUSE_IF(!graph, err, "no graph");
    EDDY_REFUSE_IF(!spec, err, "no specification of a node");
    if (graph->builder)
        return graph->calls->add(graph, spec, out_node, err);
    return eddy__graph_add(graph, spec, &options, out_node, err);
}
