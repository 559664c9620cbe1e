/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The third pass of lowering: what every node reads and waits for, and the
 * guards of those that read nothing of their instance.
 */
#include "core/base/status.h"
#include "frames/lower/lowering.h"

/* ---- references ---- */

/*
 * What a reference into an instance stands for: where that is written, or NULL
 * for an output of a node of its own.
 */
static eddy_status find_slot(eddy__lowering *l, eddy__ref ref,
                             eddy__ref **out_slot)
{
    const eddy__instance *in = ref.instance;
    const uint32_t number = in->routine->number[ref.output.node];
    const eddy__call *call;
    uint32_t value = ref.output.index;

    *out_slot = NULL;
    if (in->routine->kind[ref.output.node] == EDDY__ARGUMENT)
        *out_slot = &in->args[number];
    if (in->routine->kind[ref.output.node] != EDDY__CALLED)
        return EDDY_OK;
    call = in->calls[number];
    if (call->outputs)
        value = value < call->n_outputs ? call->outputs[value] : UINT32_MAX;
    if (value >= call->n_out)
        return eddy__lower_fail(l, call, EDDY_INVALID_ARGUMENT,
                                EDDY_E_OUTPUT_INDEX,
                                "an output is read that the call does not "
                                "have; it gives %zu",
                                call->n_out);
    *out_slot = &call->values[value];
    return EDDY_OK;
}

/* What is fed replaces what the node gives. */
static uint32_t find_feed(const eddy__lowering *l, eddy__ref ref)
{
    return ref.instance->call
               ? EDDY__NOT_FOUND
               : eddy__selection_feed_of(l->request->selection, ref.output);
}

/* Writes `to` wherever the way from `ref` to it leads. */
static eddy_status shorten(eddy__lowering *l, eddy__ref ref, eddy__ref to)
{
    while (ref.instance && find_feed(l, ref) == EDDY__NOT_FOUND) {
        eddy__ref *slot;

        EDDY_TRY(find_slot(l, ref, &slot));
        if (!slot)
            return EDDY_OK;
        ref = *slot;
        *slot = to;
    }
    return EDDY_OK;
}

eddy_status eddy__lower_resolve(eddy__lowering *l, eddy__ref ref,
                                eddy_output *out_output)
{
    const eddy__ref start = ref;
    uint64_t steps = 0;

    while (ref.instance) {
        const uint32_t feed = find_feed(l, ref);
        eddy__ref *slot;

        if (feed != EDDY__NOT_FOUND) {
            ref = (eddy__ref){NULL, l->feeds[feed]};
            break;
        }
        EDDY_TRY(find_slot(l, ref, &slot));
        if (!slot)
            ref = eddy__lower_made(ref.instance->made[ref.output.node],
                                   ref.output.index);
        else if (steps++ < l->n_slots)
            ref = *slot;
        else
            return eddy__fail(l->err, EDDY_INVALID_ARGUMENT, EDDY_E_CYCLE,
                              "a function gives what it is given, and that is "
                              "what it gives");
    }
    *out_output = ref.output;
    return steps > 1 ? shorten(l, start, ref) : EDDY_OK;
}

/* ---- what to wait for ---- */

/* An Identity of an argument: what to wait for in place of it. */
static eddy_status find_argument(eddy__lowering *l, eddy__instance *in,
                                 uint32_t i, eddy_node *out_node)
{
    const eddy__function *f = in->routine->function;
    const eddy__make make = {
        .op = "Identity",
        .scope = in->scope,
        .name = eddy__graph_node(f->body, f->args[i])->name,
        .home = in->call->role == EDDY__ROLE_CALL ? in->call->host : in,
    };

    if (in->arg_nodes[i] == EDDY_NO_NODE)
        EDDY_TRY(eddy__lower_make_unary(l, &make, in->call->in[i], in->args[i],
                                        &in->arg_nodes[i]));
    *out_node = in->arg_nodes[i];
    return EDDY_OK;
}

eddy_status eddy__lower_waited(eddy__lowering *l, eddy__instance *instance,
                               eddy_node node, eddy_node *out_node)
{
    const eddy__routine *r = instance->routine;

    if (r->kind[node] == EDDY__ARGUMENT)
        return find_argument(l, instance, r->number[node], out_node);
    *out_node = r->kind[node] == EDDY__CALLED
                    ? instance->calls[r->number[node]]->done
                    : instance->made[node];
    return EDDY_OK;
}

/* ---- guards ---- */

/* A NoOp that waits for all that the call waits for. */
static eddy_status make_gate(eddy__lowering *l, eddy__instance *in)
{
    const eddy__make make = {
        .op = "NoOp", .scope = in->scope, .name = "input_control_node"};

    in->guard = EDDY__GUARD_KNOWN;
    EDDY_TRY(eddy__lower_make(l, &make, &in->guard_node));
    for (uint32_t i = 0; i < in->call->n_in; i++) {
        eddy_node node;

        EDDY_TRY(find_argument(l, in, i, &node));
        EDDY_TRY(eddy_graph_add_control(l->out, in->guard_node, node, l->err));
    }
    return eddy__lower_gate(l, in->call, in->guard_node);
}

static eddy_status find_guard(eddy__lowering *l, eddy__instance *in,
                              eddy_node *out_node)
{
    eddy__instance *at = in;

    while (at->guard == EDDY__GUARD_HOST)
        at = at->call->host;
    if (at->guard == EDDY__GUARD_INPUTS)
        EDDY_TRY(make_gate(l, at));
    if (at->guard == EDDY__GUARD_CONTROL) {
        const eddy__node *node = eddy__call_node(at->call);

        if (node->n_controls == 1)
            EDDY_TRY(eddy__lower_waited(l, at->call->host, node->controls[0],
                                        &at->guard_node));
        else
            EDDY_TRY(eddy__lower_find_gate(l, at->call, &at->guard_node));
        at->guard = EDDY__GUARD_KNOWN;
    }
    in->guard = EDDY__GUARD_KNOWN;
    in->guard_node = at->guard_node;
    *out_node = at->guard_node;
    return EDDY_OK;
}

/*
 * Loop invariants are there in every iteration, also in the last, in which the
 * body does not run; so is a node without inputs.
 */
static eddy_status apply_guard(eddy__lowering *l, eddy__guarded item)
{
    const eddy__node *node = eddy__graph_node(l->out, item.node);
    eddy_node guard;

    if (node->n_controls > 0)
        return EDDY_OK;
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (!eddy__lower_is_invariant(l, node->inputs[i].node))
            return EDDY_OK;
    EDDY_TRY(find_guard(l, item.home, &guard));
    if (guard == EDDY_NO_NODE)
        return EDDY_OK;
    return eddy_graph_add_control(l->out, item.node, guard, l->err);
}

/* ---- the whole ---- */

static eddy_status connect_node(eddy__lowering *l, eddy__instance *in,
                                eddy_node id)
{
    const eddy__node *node = eddy__graph_node(in->routine->graph, id);

    for (uint32_t i = 0; i < node->n_inputs; i++) {
        eddy_output from = {.index = 0};

        EDDY_TRY(
            eddy__lower_resolve(l, (eddy__ref){in, node->inputs[i]}, &from));
        EDDY_TRY(eddy__graph_connect(l->out, in->made[id], i, from, l->err));
    }
    for (uint32_t i = 0; i < node->n_controls; i++) {
        eddy_node from = EDDY_NO_NODE;

        EDDY_TRY(eddy__lower_waited(l, in, node->controls[i], &from));
        EDDY_TRY(eddy_graph_add_control(l->out, in->made[id], from, l->err));
    }
    return eddy__lower_check_size(l);
}

static eddy_status connect_instance(eddy__lowering *l, eddy__instance *in)
{
    for (eddy_node id = 0; id < in->routine->graph->n_nodes; id++)
        if (in->routine->kind[id] == EDDY__PLAIN)
            EDDY_TRY(connect_node(l, in, id));
    return EDDY_OK;
}

static eddy_status connect_input(eddy__lowering *l, eddy__open_input input)
{
    eddy_output from = {.index = 0};

    EDDY_TRY(eddy__lower_resolve(l, input.from, &from));
    return eddy__graph_connect(l->out, input.node, input.index, from, l->err);
}

static eddy_status connect_control(eddy__lowering *l,
                                   eddy__open_control control)
{
    eddy_node from = EDDY_NO_NODE;

    EDDY_TRY(eddy__lower_waited(l, control.instance, control.from, &from));
    return eddy_graph_add_control(l->out, control.node, from, l->err);
}

eddy_status eddy__lower_connect(eddy__lowering *l)
{
    size_t n_inputs = 0, n_controls = 0, n_guarded = 0;

    for (size_t i = 0; i < l->n_instances; i++)
        EDDY_TRY(connect_instance(l, l->instances[i]));
    /* Guards are made as they are needed, and are connected in turn. */
    while (n_inputs < l->n_inputs || n_controls < l->n_controls ||
           n_guarded < l->n_guarded) {
        while (n_inputs < l->n_inputs)
            EDDY_TRY(connect_input(l, l->inputs[n_inputs++]));
        while (n_controls < l->n_controls)
            EDDY_TRY(connect_control(l, l->controls[n_controls++]));
        if (n_guarded < l->n_guarded)
            EDDY_TRY(apply_guard(l, l->guarded[n_guarded++]));
    }
    return EDDY_OK;
}
