/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all passes ask of a call: its attributes, what waits for its control
 * inputs, an instance for a part of it, and how it fails.
 */
#include "core/base/status.h"
#include "core/graph/attr.h"
#include "frames/lower/lowering.h"

#include <stdarg.h>
#include <string.h>

eddy_status eddy__lower_fail(const eddy__lowering *l, const eddy__call *call,
                             eddy_status code, eddy_detail detail,
                             const char *format, ...)
{
    va_list args;

    va_start(args, format);
    eddy__fail_v(l->err, code, detail, format, args);
    va_end(args);
    eddy__graph_error_at(l->err, call->name, eddy__call_node(call)->op_name);
    return code;
}

/* An attribute of a call, which an opaque node may lack. */
eddy_status eddy__lower_attr(const eddy__lowering *l, const eddy__call *call,
                             const char *name, eddy_attr_kind kind,
                             const eddy_attr **out_attr)
{
    const eddy_attr *attr = eddy__node_attr(eddy__call_node(call), name);

    if (attr && attr->kind != EDDY_ATTR_OPAQUE &&
        (attr->kind == kind || attr->n == 0)) {
        *out_attr = attr;
        return EDDY_OK;
    }
    if (!attr)
        (void)eddy__lower_fail(l, call, EDDY_INVALID_ARGUMENT,
                               EDDY_E_ATTR_MISSING, "attribute '%s' is missing",
                               name);
    else if (attr->kind == EDDY_ATTR_OPAQUE)
        (void)eddy__lower_fail(l, call, EDDY_INVALID_ARGUMENT,
                               EDDY_E_ATTR_VALUE,
                               "attribute '%s' has a value of a kind or dtype "
                               "that is not supported",
                               name);
    else
        (void)eddy__lower_fail(l, call, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_KIND,
                               "attribute '%s' is given as %s, %s is wanted",
                               name,
                               eddy__attr_kind_name(attr->kind, attr->is_list),
                               eddy__attr_kind_name(kind, attr->is_list));
    return EDDY_INVALID_ARGUMENT;
}

/* ---- control inputs ---- */

eddy_status eddy__lower_find_gate(eddy__lowering *l, eddy__call *call,
                                  eddy_node *out_gate)
{
    const eddy__node *from = eddy__call_node(call);
    const eddy__make make = {
        .op = "NoOp", .scope = call->name, .name = "input_control_node"};

    if (call->gate == EDDY_NO_NODE) {
        EDDY_TRY(eddy__lower_make(l, &make, &call->gate));
        for (uint32_t i = 0; i < from->n_controls; i++)
            EDDY_TRY(eddy__lower_control(l, call->gate, call->host,
                                         from->controls[i]));
    }
    *out_gate = call->gate;
    return EDDY_OK;
}

eddy_status eddy__lower_gate(eddy__lowering *l, eddy__call *call,
                             eddy_node node)
{
    const eddy__node *from = eddy__call_node(call);
    eddy_node gate;

    if (from->n_controls == 0)
        return EDDY_OK;
    if (from->n_controls == 1)
        return eddy__lower_control(l, node, call->host, from->controls[0]);
    EDDY_TRY(eddy__lower_find_gate(l, call, &gate));
    return eddy_graph_add_control(l->out, node, gate, l->err);
}

/* ---- instances ---- */

static eddy__keeping keeping_of(const eddy__call *call,
                                const eddy__function *function)
{
    const char *op;

    if (!call || !function || call->is_inlined)
        return EDDY__KEEP_NEEDED;
    op = eddy__call_node(call)->op_name;
    if (strcmp(op, "PartitionedCall") != 0 &&
        strcmp(op, "StatefulPartitionedCall") != 0)
        return EDDY__KEEP_ALL;
    return function->n_results > 0 || function->n_control_results > 0
               ? EDDY__KEEP_STATED
               : EDDY__KEEP_ALL;
}

eddy_status eddy__lower_add_instance(eddy__lowering *l, eddy__call *call,
                                     const char *scope, eddy__routine *routine,
                                     eddy__instance **out_instance)
{
    const size_t n = routine->graph->n_nodes;
    const size_t n_args = routine->function ? routine->function->n_args : 0;
    eddy__instance *in = eddy__arena_allocate_zeroed(&l->arena, 1, sizeof *in);

    if (!in || !eddy__grow(l->arena.allocator, (void **)&l->instances,
                           &l->instances_capacity, l->n_instances + 1,
                           sizeof(eddy__instance *)))
        return eddy__fail_memory(l->err);
    in->routine = routine;
    in->call = call;
    in->scope = scope;
    in->depth = call ? call->host->depth + 1 : 0;
    in->keeping = keeping_of(call, routine->function);
    in->guard_node = EDDY_NO_NODE;
    in->made = eddy__arena_allocate(&l->arena, n, sizeof *in->made);
    in->args = eddy__arena_allocate_zeroed(&l->arena, n_args, sizeof *in->args);
    in->arg_nodes =
        eddy__arena_allocate(&l->arena, n_args, sizeof *in->arg_nodes);
    in->calls =
        eddy__arena_allocate(&l->arena, routine->n_calls, sizeof(eddy__call *));
    if (!in->made || !in->args || !in->arg_nodes || !in->calls)
        return eddy__fail_memory(l->err);
    memset(in->made, 0xff, n * sizeof *in->made);
    memset(in->arg_nodes, 0xff, n_args * sizeof *in->arg_nodes);
    l->n_slots += n_args;
    l->instances[l->n_instances++] = in;
    *out_instance = in;
    return eddy__lower_check_size(l);
}
