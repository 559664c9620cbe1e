/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan's pass: every node that is needed must be of an op that there is, and
 * have attributes that eddy can read.
 */
#include "core/base/status.h"
#include "core/context.h"
#include "core/graph/nearest.h"
#include "runtime/plan/plan.h"

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
            return eddy__graph_fail_at(
                err, EDDY_FAILED_PRECONDITION, EDDY_E_HOST_CALLBACK, node,
                "'%.64s' would call a function of the program "
                "that made the file",
                node->name);
        return eddy__graph_fail_at(err, EDDY_INVALID_ARGUMENT,
                                   EDDY_E_ATTR_VALUE, node,
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

/*
 * A Const is what it says, since passes compute with its elements before its
 * step is made.
 */
static eddy_status check_constants(const eddy__selection *selection,
                                   eddy_error *err)
{
    const eddy_graph *graph = selection->graph;

    for (eddy_node id = 0; id < graph->n_nodes; id++) {
        const eddy__node *node = eddy__graph_node(graph, id);
        const eddy_attr *value;
        eddy_dtype got;

        if (!eddy__selected(selection, id) ||
            eddy__node_role(node) != EDDY__ROLE_CONST)
            continue;
        value = eddy__node_attr(node, "value");
        if (!value)
            continue;
        got = eddy_tensor_dtype(value->as.tensors[0]);
        if (got != (eddy_dtype)node->output_dtypes[0])
            return eddy__graph_fail_at(
                err, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE, node,
                "the value is %s, but the attribute dtype is %s",
                eddy_dtype_name(got),
                eddy_dtype_name((eddy_dtype)node->output_dtypes[0]));
    }
    return EDDY_OK;
}

/* Names as many unknown ops as fit into the message. */
eddy_status eddy__plan_check_ops(eddy__plan_build *b)
{
    const eddy__selection *selection = b->selection;
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
    if (!first) {
        EDDY_TRY(refuse_unreadable(selection, b->err));
        return check_constants(selection, b->err);
    }
    return eddy__graph_fail_at(b->err, EDDY_NOT_FOUND, EDDY_E_UNKNOWN_OP, first,
                               "%zu needed node%s of unknown op: %s", n_unknown,
                               n_unknown == 1 ? " is" : "s are", list);
}
