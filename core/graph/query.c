/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to a graph and its nodes; nothing here changes one but a number. */
#include "core/base/status.h"
#include "core/graph/attr.h"
#include "core/graph/draft.h"
#include "core/graph/name.h"

#include <string.h>

/* ---- nodes ---- */

size_t eddy_graph_size(const eddy_graph *graph)
{
    return graph->n_nodes;
}

/* NULL if there is no such node. */
static const eddy__node *find_node(const eddy_graph *graph, eddy_node node)
{
    return node < graph->n_nodes ? &graph->nodes[node] : NULL;
}

const char *eddy_graph_node_name(const eddy_graph *graph, eddy_node node)
{
    const eddy__node *n = find_node(graph, node);

    return n ? n->name : NULL;
}

const char *eddy_graph_node_op(const eddy_graph *graph, eddy_node node)
{
    const eddy__node *n = find_node(graph, node);

    return n ? n->op_name : NULL;
}

const eddy_output *eddy_graph_node_inputs(const eddy_graph *graph,
                                          eddy_node node, size_t *out_n)
{
    const eddy__node *n = find_node(graph, node);

    *out_n = n ? n->n_inputs : 0;
    return n ? n->inputs : NULL;
}

const eddy_node *eddy_graph_node_controls(const eddy_graph *graph,
                                          eddy_node node, size_t *out_n)
{
    const eddy__node *n = find_node(graph, node);

    *out_n = n ? n->n_controls : 0;
    return n ? n->controls : NULL;
}

size_t eddy_graph_node_outputs(const eddy_graph *graph, eddy_node node)
{
    const eddy__node *n = find_node(graph, node);

    return n ? n->n_outputs : 0;
}

eddy_dtype eddy_graph_output_dtype(const eddy_graph *graph, eddy_output output)
{
    const eddy__node *n = find_node(graph, output.node);

    return n && output.index < n->n_outputs
               ? (eddy_dtype)n->output_dtypes[output.index]
               : EDDY_INVALID;
}

bool eddy_graph_node_attr(const eddy_graph *graph, eddy_node node,
                          const char *name, eddy_attr *out_attr)
{
    const eddy__node *n = find_node(graph, node);
    const eddy_attr *attr = n ? eddy__node_attr(n, name) : NULL;

    if (attr)
        *out_attr = *attr;
    return attr != NULL;
}

const eddy_attr *eddy__node_attr(const eddy__node *node, const char *name)
{
    return eddy__attr_find(node->attrs, node->n_attrs, name);
}

bool eddy__node_names_itself(const eddy__node *node)
{
    const eddy_attr *shared = eddy__node_attr(node, "shared_name");

    return node->op && (node->op->flags & EDDY__OP_BUILTIN) && shared &&
           shared->kind == EDDY_ATTR_STRING && shared->n == 1 &&
           shared->as.strings[0].length == 0;
}

int64_t eddy__node_int(const eddy__node *node, const char *name)
{
    return eddy__node_attr(node, name)->as.ints[0];
}

bool eddy__node_bool(const eddy__node *node, const char *name)
{
    return eddy__node_attr(node, name)->as.bools[0];
}

float eddy__node_float(const eddy__node *node, const char *name)
{
    return eddy__node_attr(node, name)->as.floats[0];
}

eddy_dtype eddy__node_type(const eddy__node *node, const char *name)
{
    return eddy__node_attr(node, name)->as.types[0];
}

eddy_string eddy__node_string(const eddy__node *node, const char *name)
{
    return eddy__node_attr(node, name)->as.strings[0];
}

/* Is the edge, counted over the lists of a signature, a reference? */
static bool is_reference(const eddy__node *node, const eddy__arg *args,
                         uint32_t n_args, uint32_t edge)
{
    size_t first = 0;

    for (uint32_t i = 0; i < n_args; i++) {
        const eddy__arg *arg = &args[i];

        if (arg->number_attr >= 0)
            first += (size_t)node->attrs[arg->number_attr].as.ints[0];
        else
            first += arg->list_attr >= 0 ? node->attrs[arg->list_attr].n : 1;
        if (edge < first)
            return arg->is_ref;
    }
    return false;
}

bool eddy__node_reads_reference(const eddy__node *node, uint32_t i)
{
    return node->op && node->op->has_references &&
           is_reference(node, node->op->inputs, node->op->n_inputs, i);
}

bool eddy__node_gives_reference(const eddy__node *node, uint32_t i)
{
    return node->op && node->op->has_references &&
           is_reference(node, node->op->outputs, node->op->n_outputs, i);
}

eddy_status eddy__graph_fail_at(eddy_error *err, eddy_status code,
                                eddy_detail detail, const eddy__node *node,
                                const char *format, ...)
{
    va_list args;

    va_start(args, format);
    eddy__fail_v(err, code, detail, format, args);
    va_end(args);
    eddy__graph_error_at(err, node->name, node->op_name);
    return code;
}

void eddy__graph_error_at(eddy_error *err, const char *node, const char *op)
{
    if (!err)
        return;
    eddy__copy_text(err->node, sizeof err->node, node, strlen(node));
    eddy__copy_text(err->op, sizeof err->op, op, strlen(op));
}

/* ---- outputs ---- */

eddy_status eddy__graph_check_output(const eddy_graph *graph,
                                     eddy_output output, eddy_error *err)
{
    const eddy__node *node = find_node(graph, output.node);

    if (!node)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_UNKNOWN_INPUT,
                          "the graph has %zu nodes, none has number %u",
                          graph->n_nodes, (unsigned)output.node);
    if (output.index < (node->op ? node->n_outputs : EDDY__MAX_OUTPUTS))
        return EDDY_OK;
    return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_OUTPUT_INDEX,
                      "node '%.64s' has %u outputs, none has index %u",
                      node->name, (unsigned)node->n_outputs,
                      (unsigned)output.index);
}

void eddy__graph_assume_output(eddy_graph *graph, eddy_output output)
{
    eddy__node *node = &graph->nodes[output.node];

    if (!node->op && node->n_assumed_outputs <= output.index)
        node->n_assumed_outputs = output.index + 1;
}

/* ---- finding by name ---- */

eddy_node eddy__graph_find(const eddy_graph *graph, const char *name,
                           size_t length)
{
    /* Names of nodes that were taken out are still in the map. */
    const eddy_node node = eddy__map_find(&graph->names, name, length);

    return node < graph->n_nodes &&
                   strncmp(graph->nodes[node].name, name, length) == 0 &&
                   graph->nodes[node].name[length] == '\0'
               ? node
               : EDDY_NO_NODE;
}

eddy_node eddy_graph_find(const eddy_graph *graph, const char *name)
{
    return eddy__graph_find(graph, name, strlen(name));
}

_Static_assert(EDDY_NO_NODE == EDDY__NOT_FOUND, "a miss in a map is no node");

/* The number that `text` is; false unless it is digits and fits. */
static bool read_index(const char *text, uint32_t *out_index)
{
    uint64_t number = 0;

    if (!*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        number = number * 10 + (uint64_t)(*text - '0');
        if (number > UINT32_MAX)
            return false;
    }
    *out_index = (uint32_t)number;
    return true;
}

static eddy_status fail_unknown(const eddy_graph *graph, const char *name,
                                size_t length, eddy_error *err)
{
    const char *closest = eddy__name_closest(graph, name, length);
    char shown[96];

    eddy__copy_text(shown, sizeof shown, name, length);
    return eddy__fail(err, EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME,
                      "no node is named '%s'%s%s%s", shown,
                      closest ? "; did you mean '" : "", closest ? closest : "",
                      closest ? "'?" : "");
}

eddy_status eddy_graph_find_output(const eddy_graph *graph, const char *name,
                                   eddy_output *out, eddy_error *err)
{
    const char *colon = strrchr(name, ':');
    size_t length = colon ? (size_t)(colon - name) : strlen(name);
    eddy_output found = {.index = 0};

    if (colon && !read_index(colon + 1, &found.index))
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_OUTPUT_INDEX,
                          "'%.32s' after ':' is no index of an output",
                          colon + 1);
    found.node = eddy__graph_find(graph, name, length);
    if (found.node == EDDY_NO_NODE)
        return fail_unknown(graph, name, length, err);
    EDDY_TRY(eddy__graph_check_output(graph, found, err));
    *out = found;
    return EDDY_OK;
}
