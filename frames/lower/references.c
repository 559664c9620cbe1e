/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rewrites reference edges to handles in a copy of the graph, with reads where
 * values are wanted.
 */
#include "frames/lower/references.h"

#include "core/base/memory.h"
#include "core/base/status.h"
#include "core/context.h"
#include "core/graph/edit.h"
#include "core/graph/names.h"
#include "frames/analysis/flow.h"

#include <string.h>

typedef struct rewrite {
    const eddy__selection *selection;
    const eddy_graph *graph;
    eddy_graph *copy;
    uint8_t *is_alias;   /* a node: it hands an alias on */
    eddy_output *inputs; /* of the read that is being added */
    size_t capacity;
    eddy_error *err;
} rewrite;

bool eddy__has_references(const eddy__selection *selection)
{
    const eddy_graph *graph = selection->graph;

    for (eddy_node v = 0; v < graph->n_nodes; v++) {
        const eddy__op *op = eddy__graph_node(graph, v)->op;

        if (op && op->has_references && eddy__selected(selection, v))
            return true;
    }
    return false;
}

/* What is fed in place of a reference is a value. */
static bool is_reference(const rewrite *r, eddy_output output)
{
    return eddy__node_gives_reference(eddy__graph_node(r->graph, output.node),
                                      output.index) &&
           eddy__selection_feed_of(r->selection, output) == EDDY__NOT_FOUND;
}

/* ---- aliases ---- */

static bool is_op(const eddy__node *node, const char *op)
{
    return strcmp(node->op_name, op) == 0;
}

/* Does the node hand its input `i` on as it is? */
static bool hands_on(const eddy__node *node, uint32_t i)
{
    switch (eddy__node_role(node)) {
    case EDDY__ROLE_MERGE:
        return true;
    case EDDY__ROLE_FORWARD:
    case EDDY__ROLE_SWITCH:
    case EDDY__ROLE_ENTER:
    case EDDY__ROLE_EXIT:
    case EDDY__ROLE_NEXT_ITERATION:
        return i == 0;
    default:
        return is_op(node, "IdentityN") ||
               is_op(node, "PlaceholderWithDefault");
    }
}

static bool is_alias(const rewrite *r, eddy_output output)
{
    return r->is_alias[output.node] &&
           (output.index == 0 ||
            eddy__node_role(eddy__graph_node(r->graph, output.node)) !=
                EDDY__ROLE_MERGE) &&
           eddy__selection_feed_of(r->selection, output) == EDDY__NOT_FOUND;
}

/* Does input `i` of a node take an alias as it is? */
static bool takes_alias(const rewrite *r, eddy_node v, uint32_t i)
{
    return r->is_alias[v] && hands_on(eddy__graph_node(r->graph, v), i);
}

/* The ops that take a reference and change nothing. */
static bool only_looks(const eddy__node *node)
{
    static const char *const ops[] = {"RefSelect", "IsVariableInitialized",
                                      "DestroyTemporaryVariable",
                                      "RefIdentity"};

    if (eddy__node_role(node) != EDDY__ROLE_NONE)
        return true;
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (is_op(node, ops[i]))
            return true;
    return false;
}

/*
 * May something in the selection change a variable where it stands?  An Assign
 * that may bring another number of elements makes a new buffer, which aliases
 * don't see; where there is one, references are read at once.
 */
static bool may_change(const rewrite *r)
{
    bool changes = false;

    for (eddy_node v = 0; v < r->graph->n_nodes; v++) {
        const eddy__node *node = eddy__graph_node(r->graph, v);

        if (!eddy__selected(r->selection, v))
            continue;
        if (is_op(node, "Assign") && !eddy__node_bool(node, "validate_shape"))
            return false;
        for (uint32_t i = 0; i < node->n_inputs && !changes; i++)
            changes = eddy__node_reads_reference(node, i) && !only_looks(node);
    }
    return changes;
}

/* Reads the node a reference that it hands on as a value? */
static bool starts_alias(const rewrite *r, eddy_node v)
{
    const eddy__node *node = eddy__graph_node(r->graph, v);

    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (hands_on(node, i) && !eddy__node_reads_reference(node, i) &&
            is_reference(r, node->inputs[i]))
            return true;
    return is_op(node, "DestroyTemporaryVariable");
}

static void mark_alias(rewrite *r, eddy_node v, eddy_node *stack, size_t *n)
{
    if (r->is_alias[v])
        return;
    r->is_alias[v] = 1;
    stack[(*n)++] = v;
}

static eddy_status find_aliases(rewrite *r, eddy__arena *scratch)
{
    const size_t n_nodes = r->graph->n_nodes;
    eddy_node *stack = eddy__arena_allocate(scratch, n_nodes, sizeof *stack);
    eddy__flow flow;
    size_t n = 0;

    r->is_alias = eddy__arena_allocate_zeroed(scratch, n_nodes, 1);
    if (!stack || !r->is_alias)
        return eddy__fail_memory(r->err);
    if (!may_change(r))
        return EDDY_OK;
    EDDY_TRY(eddy__flow_build(&flow, r->selection, scratch, r->err));
    for (eddy_node v = 0; v < n_nodes; v++)
        if (eddy__selected(r->selection, v) && starts_alias(r, v))
            mark_alias(r, v, stack, &n);
    while (n > 0) {
        const eddy_node v = stack[--n];

        for (size_t i = flow.first_out[v]; i < flow.first_out[v + 1]; i++) {
            const eddy__flow_edge edge = flow.edge[i];
            const eddy__node *to = eddy__graph_node(r->graph, edge.to);

            if (edge.input != EDDY__CONTROL && hands_on(to, edge.input) &&
                is_alias(r, to->inputs[edge.input]))
                mark_alias(r, edge.to, stack, &n);
        }
    }
    return EDDY_OK;
}

/*
 * An alias is a handle or a value: EDDY_INVALID.  That of a temporary variable
 * is a handle.
 */
static void set_alias_dtypes(const rewrite *r, eddy_node v)
{
    const eddy__node *node = eddy__graph_node(r->graph, v);
    const bool is_start = is_op(node, "DestroyTemporaryVariable");

    for (uint32_t i = 0; i < node->n_outputs; i++)
        if (is_alias(r, (eddy_output){v, i}))
            eddy__edit_output_dtype(r->copy, v, i,
                                    is_start ? EDDY_RESOURCE : EDDY_INVALID);
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (takes_alias(r, v, i))
            eddy__edit_input_dtype(r->copy, v, i, EDDY_INVALID);
}

/* The edges of a reference carry handles. */
static void set_dtypes(const rewrite *r, eddy_node v)
{
    const eddy__node *node = eddy__graph_node(r->graph, v);

    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (eddy__node_reads_reference(node, i))
            eddy__edit_input_dtype(r->copy, v, i, EDDY_RESOURCE);
    for (uint32_t i = 0; i < node->n_outputs; i++)
        if (is_reference(r, (eddy_output){v, i}))
            eddy__edit_output_dtype(r->copy, v, i, EDDY_RESOURCE);
}

/* ---- reads ---- */

/* "<consumer>/read<input>", with a number where that is taken. */
static const char *name_read(const rewrite *r, const char *consumer, size_t i)
{
    const eddy__names nodes = eddy__names_of_nodes(r->copy);
    eddy__arena *arena = &r->copy->arena;

    return eddy__names_free(&nodes, arena,
                            eddy__names_print(arena, "%s/read%zu", consumer, i),
                            NULL);
}

/*
 * Adds a read of r->inputs[0] that waits for the `n` - 1 others and for the
 * control inputs of `consumer`, if there is one.
 */
static eddy_status add_read(rewrite *r, const char *op, const char *name,
                            size_t n, const eddy__node *consumer,
                            eddy_output *out)
{
    const eddy_dtype dtype = eddy_graph_output_dtype(r->graph, r->inputs[0]);
    const eddy_attr attr = eddy_attr_type("T", &dtype);
    const eddy__add_options options = {.strict = false};
    const eddy_node_spec spec = {
        .size = sizeof spec,
        .op = op,
        .name = name,
        .inputs = r->inputs,
        .n_inputs = n,
        .controls = consumer ? consumer->controls : NULL,
        .n_controls = consumer ? consumer->n_controls : 0,
        .attrs = &attr,
        .n_attrs = 1,
    };

    if (!name)
        return eddy__fail_memory(r->err);
    out->index = 0;
    return eddy__graph_add(r->copy, &spec, &options, &out->node, r->err);
}

static bool reserve(rewrite *r, size_t n)
{
    return eddy__grow(r->copy->arena.allocator, (void **)&r->inputs,
                      &r->capacity, n, sizeof *r->inputs);
}

/*
 * A Merge starts with its first live input, so a read for it waits for nothing
 * else.
 */
static eddy_status read_input(rewrite *r, const char *op, eddy_node v,
                              uint32_t i)
{
    const eddy__node *node = eddy__graph_node(r->graph, v);
    const bool is_merge = eddy__node_role(node) == EDDY__ROLE_MERGE;
    size_t n = 1;
    eddy_output read = {EDDY_NO_NODE, 0};

    if (!reserve(r, node->n_inputs))
        return eddy__fail_memory(r->err);
    r->inputs[0] = node->inputs[i];
    for (uint32_t j = 0; j < node->n_inputs && !is_merge; j++)
        if (j != i)
            r->inputs[n++] = node->inputs[j];
    EDDY_TRY(add_read(r, op, name_read(r, node->name, i), n,
                      is_merge ? NULL : node, &read));
    eddy__edit_input(r->copy, v, i, read);
    return EDDY_OK;
}

static eddy_status fail_value(const rewrite *r, eddy_node v, uint32_t i)
{
    const eddy__node *node = eddy__graph_node(r->graph, v);
    const eddy__node *from = eddy__graph_node(r->graph, node->inputs[i].node);

    return eddy__graph_fail_at(
        r->err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE, node,
        "input %u is a value from '%.64s:%u'; a reference to "
        "a variable is wanted",
        (unsigned)i, from->name, (unsigned)node->inputs[i].index);
}

/*
 * Must the variable have a value where its reference is handed on?  TensorFlow
 * wants it of all ops but those that say they take one without; kernels that
 * read or change a variable look for themselves.  What goes round a loop had it
 * when it came in.
 */
static bool wants_value(const rewrite *r, const eddy__node *node, uint32_t i)
{
    const eddy_node from = node->inputs[i].node;

    return (is_op(node, "RefEnter") || is_op(node, "RefMerge") ||
            is_op(node, "RefSelect")) &&
           eddy__node_role(eddy__graph_node(r->graph, from)) !=
               EDDY__ROLE_NEXT_ITERATION;
}

static eddy_status connect(rewrite *r, eddy_node v)
{
    const eddy__node *node = eddy__graph_node(r->graph, v);

    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const bool gives = is_reference(r, node->inputs[i]);
        const bool wants = eddy__node_reads_reference(node, i);

        if (wants && !gives)
            return fail_value(r, v, i);
        if (gives && wants && wants_value(r, node, i))
            EDDY_TRY(read_input(r, "_AliasReference", v, i));
        if (gives && !wants)
            EDDY_TRY(read_input(
                r, takes_alias(r, v, i) ? "_AliasReference" : "_ReadReference",
                v, i));
        else if (is_alias(r, node->inputs[i]) && !takes_alias(r, v, i))
            EDDY_TRY(read_input(r, "_ReadAlias", v, i));
    }
    return EDDY_OK;
}

/* ---- the whole ---- */

/* Where variables may change, what is fetched is read at the end of the run. */
static eddy_status read_fetches(rewrite *r, eddy_output *fetches, size_t n)
{
    if (may_change(r))
        return EDDY_OK;
    if (!reserve(r, 1))
        return eddy__fail_memory(r->err);
    for (size_t i = 0; i < n; i++) {
        if (!is_reference(r, fetches[i]))
            continue;
        r->inputs[0] = fetches[i];
        EDDY_TRY(add_read(
            r, "_ReadReference",
            name_read(r, eddy__graph_node(r->graph, fetches[i].node)->name, i),
            1, NULL, &fetches[i]));
    }
    return EDDY_OK;
}

static eddy_status run(rewrite *r, eddy_output *fetches, size_t n_fetches)
{
    const size_t n = r->graph->n_nodes;

    for (eddy_node v = 0; v < n; v++)
        if (eddy__selected(r->selection, v))
            set_dtypes(r, v);
    for (eddy_node v = 0; v < n; v++)
        if (eddy__selected(r->selection, v))
            EDDY_TRY(connect(r, v));
    for (eddy_node v = 0; v < n; v++)
        if (r->is_alias[v])
            set_alias_dtypes(r, v);
    return read_fetches(r, fetches, n_fetches);
}

eddy_status eddy__lower_references(const eddy__selection *selection,
                                   eddy_output *fetches, size_t n_fetches,
                                   eddy_graph **out_graph, eddy_error *err)
{
    rewrite r = {.selection = selection, .graph = selection->graph, .err = err};
    eddy__arena scratch = {.allocator = eddy__selection_allocator(selection)};
    eddy_status status;

    *out_graph = NULL;
    status = find_aliases(&r, &scratch);
    if (status == EDDY_OK)
        status = eddy__graph_clone(r.graph, eddy__selection_budget(selection),
                                   &r.copy, err);
    if (status == EDDY_OK) {
        status = run(&r, fetches, n_fetches);
        eddy__free(r.copy->arena.allocator, r.inputs, r.capacity,
                   sizeof *r.inputs);
    }
    eddy__arena_destroy(&scratch);
    if (status == EDDY_OK)
        *out_graph = r.copy;
    else
        eddy_graph_destroy(r.copy);
    return status;
}
