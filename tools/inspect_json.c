/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members: `nodes`, `ops` (how often each occurs), `unknown` (ops that this
 * build does not have), `inputs` and `outputs`, `loops`, `branches`,
 * `warnings`, and of a SavedModel `signatures`.  Names are those of the graph
 * with its functions lowered.  A value that jansson could not make is NULL,
 * which its containers refuse; so a failure is looked for once, at the end.
 */
#include "tools/inspect_json.h"

#include "eddy/op.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

typedef struct writer {
    const eddy_graph *graph;
    const eddy_analysis *analysis;
    bool failed; /* some piece could not be made, or put where it belongs */
} writer;

static void append(writer *w, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0)
        w->failed = true;
}

static void set(writer *w, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) != 0)
        w->failed = true;
}

/* Names of a file may be any bytes: those that are no UTF-8 are shown as '?'.
 */
static json_t *text(const char *bytes)
{
    json_t *value = json_string(bytes);
    char *copy;

    if (value != NULL || (copy = strdup(bytes)) == NULL)
        return value;
    for (char *c = copy; *c != '\0'; c++)
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    value = json_string(copy);
    free(copy);
    return value;
}

static json_t *node_name(const writer *w, eddy_node node)
{
    return node == EDDY_NO_NODE ? json_null()
                                : text(eddy_graph_node_name(w->graph, node));
}

static json_t *shape_of(writer *w, const eddy_shape *shape)
{
    json_t *dims = shape->rank < 0 ? json_null() : json_array();

    for (int32_t i = 0; i < shape->rank; i++)
        append(w, dims,
               shape->dims[i] < 0 ? json_null() : json_integer(shape->dims[i]));
    return dims;
}

static json_t *output_of(writer *w, const char *name, eddy_output output,
                         const eddy_shape *shape)
{
    json_t *object = json_object();

    if (name != NULL)
        set(w, object, "name", text(name));
    set(w, object, "node", node_name(w, output.node));
    set(w, object, "index", json_integer(output.index));
    set(w, object, "dtype",
        text(eddy_dtype_name(eddy_graph_output_dtype(w->graph, output))));
    set(w, object, "shape", shape_of(w, shape));
    return object;
}

/* ---- ops, inputs, outputs ---- */

static json_t *count_ops(writer *w)
{
    json_t *ops = json_object();

    for (size_t i = 0; i < eddy_graph_size(w->graph); i++) {
        const char *op = eddy_graph_node_op(w->graph, (eddy_node)i);
        const json_int_t n = json_integer_value(json_object_get(ops, op));

        set(w, ops, op, json_integer(n + 1));
    }
    return ops;
}

static json_t *list_unknown(writer *w, const eddy_context *ctx, json_t *ops)
{
    json_t *unknown = json_array();
    eddy_op_info info;
    const char *op;
    json_t *n;

    json_object_foreach(ops, op, n)
    {
        if (!eddy_op_find(ctx, op, &info))
            append(w, unknown, text(op));
    }
    return unknown;
}

static bool is_op(const writer *w, eddy_node node, const char *op)
{
    return strcmp(eddy_graph_node_op(w->graph, node), op) == 0;
}

static bool is_placeholder(const writer *w, eddy_node node)
{
    return is_op(w, node, "Placeholder") || is_op(w, node, "PlaceholderV2") ||
           is_op(w, node, "PlaceholderWithDefault");
}

/* Are its outputs outside of every loop? */
static bool is_outside(const writer *w, eddy_node node)
{
    const uint32_t frame = eddy_analysis_node_frame(w->analysis, node);

    if (is_op(w, node, "Enter") || is_op(w, node, "RefEnter"))
        return false;
    if (is_op(w, node, "Exit") || is_op(w, node, "RefExit"))
        return eddy_analysis_frame(w->analysis, frame)->parent == 0;
    return frame == 0;
}

static void mark_used(const writer *w, bool *used)
{
    for (size_t i = 0; i < eddy_graph_size(w->graph); i++) {
        size_t n;
        const eddy_output *inputs =
            eddy_graph_node_inputs(w->graph, (eddy_node)i, &n);

        for (size_t k = 0; k < n; k++)
            used[inputs[k].node] = true;
    }
}

static void set_ends(writer *w, json_t *object)
{
    const size_t n = eddy_graph_size(w->graph);
    json_t *inputs = json_array(), *outputs = json_array();
    bool *used = calloc(n + 1, sizeof *used);

    w->failed |= used == NULL;
    if (used != NULL)
        mark_used(w, used);
    for (size_t i = 0; i < n && used != NULL; i++) {
        const eddy_output first = {.node = (eddy_node)i};
        const eddy_shape shape = eddy_graph_output_shape(w->graph, first);

        if (is_placeholder(w, first.node))
            append(w, inputs, output_of(w, NULL, first, &shape));
        else if (!used[i] && is_outside(w, first.node) &&
                 eddy_graph_node_outputs(w->graph, first.node) > 0)
            append(w, outputs, output_of(w, NULL, first, &shape));
    }
    free(used);
    set(w, object, "inputs", inputs);
    set(w, object, "outputs", outputs);
}

/* ---- loops and branches ---- */

static json_t *variable_of(writer *w, const eddy_loop_variable *v)
{
    json_t *object = json_object();

    set(w, object, "enter", node_name(w, v->enter));
    set(w, object, "merge", node_name(w, v->merge));
    set(w, object, "switch", node_name(w, v->switch_));
    set(w, object, "next_iteration", node_name(w, v->next_iteration));
    set(w, object, "exit", node_name(w, v->exit));
    return object;
}

static json_t *loop_of(writer *w, const eddy_frame *frame)
{
    json_t *object = json_object(), *variables = json_array();
    json_t *invariants = json_array();
    const eddy_trip_counter *counter = frame->trip_counter;

    set(w, object, "name", text(frame->name));
    set(w, object, "parent",
        text(eddy_analysis_frame(w->analysis, frame->parent)->name));
    set(w, object, "depth", json_integer(frame->depth));
    set(w, object, "parallel_iterations",
        json_integer(frame->parallel_iterations));
    set(w, object, "condition", node_name(w, frame->loop_cond));
    set(w, object, "trips",
        counter != NULL && counter->trips >= 0 ? json_integer(counter->trips)
                                               : json_null());
    for (size_t i = 0; i < frame->n_variables; i++)
        append(w, variables, variable_of(w, &frame->variables[i]));
    for (size_t i = 0; i < frame->n_invariants; i++)
        append(w, invariants, node_name(w, frame->invariants[i]));
    set(w, object, "variables", variables);
    set(w, object, "invariants", invariants);
    return object;
}

static json_t *branch_of(writer *w, const eddy_branch_info *branch)
{
    json_t *object = json_object();

    set(w, object, "predicate", node_name(w, branch->predicate.node));
    set(w, object, "index", json_integer(branch->predicate.index));
    set(w, object, "side", json_integer(branch->side));
    set(w, object, "sides", json_integer(branch->n_sides));
    set(w, object, "outer", json_integer(branch->outer));
    return object;
}

static void set_structure(writer *w, json_t *object)
{
    json_t *loops = json_array(), *branches = json_array();
    json_t *warnings = json_array();
    const char *warning;

    for (size_t i = 1; i < eddy_analysis_frames(w->analysis); i++)
        append(w, loops, loop_of(w, eddy_analysis_frame(w->analysis, i)));
    for (size_t i = 1; i < eddy_analysis_branches(w->analysis); i++)
        append(w, branches, branch_of(w, eddy_analysis_branch(w->analysis, i)));
    for (size_t i = 0;
         (warning = eddy_analysis_warning(w->analysis, i)) != NULL; i++)
        append(w, warnings, text(warning));
    set(w, object, "loops", loops);
    set(w, object, "branches", branches);
    set(w, object, "warnings", warnings);
}

/* ---- signatures ---- */

static json_t *ports_of(writer *w, const eddy_savedmodel_port *ports, size_t n)
{
    json_t *array = json_array();

    for (size_t i = 0; i < n; i++)
        append(w, array,
               output_of(w, ports[i].name, ports[i].output, &ports[i].shape));
    return array;
}

/* The nodes of signatures are those of the graph as it was saved. */
static json_t *list_signatures(writer *w, const eddy_savedmodel *model)
{
    const eddy_savedmodel_signature *s;
    json_t *array = json_array();
    writer saved = {.graph = eddy_savedmodel_graph(model)};

    for (size_t i = 0; (s = eddy_savedmodel_signature_at(model, i)) != NULL;
         i++) {
        json_t *object = json_object();

        set(&saved, object, "name", text(s->name));
        set(&saved, object, "inputs", ports_of(&saved, s->inputs, s->n_inputs));
        set(&saved, object, "outputs",
            ports_of(&saved, s->outputs, s->n_outputs));
        append(&saved, array, object);
    }
    w->failed |= saved.failed;
    return array;
}

eddy__exit eddy__inspect_json(const eddy_context *ctx, const eddy_graph *graph,
                              const eddy_analysis *analysis,
                              const eddy_savedmodel *model)
{
    writer w = {.graph = graph, .analysis = analysis};
    json_t *object = json_object(), *ops = count_ops(&w);

    set(&w, object, "nodes", json_integer((json_int_t)eddy_graph_size(graph)));
    set(&w, object, "unknown", list_unknown(&w, ctx, ops));
    set(&w, object, "ops", ops);
    set_ends(&w, object);
    set_structure(&w, object);
    if (model != NULL)
        set(&w, object, "signatures", list_signatures(&w, model));
    if (!w.failed && json_dumpf(object, stdout, JSON_INDENT(1)) != 0)
        w.failed = true;
    json_decref(object);
    if (w.failed) {
        eddy__message_complain("out of memory, or standard output is full");
        return EDDY__EXIT_FAILED;
    }
    putchar('\n');
    return EDDY__EXIT_DONE;
}
