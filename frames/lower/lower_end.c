/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second pass of lowering: from the inside out, what a call has to do
 * beside giving values, and the node that stands for its end.
 *
 * The end of a function is what it says must run, and where all of it is kept,
 * what is stateful in it.  A call that is not inlined is done as a whole before
 * it gives a value, so that its values wait for its end.  In a body that has
 * primitives of its own, a stateful node may be dead or in a frame, where
 * nothing outside can wait for it: it is made a target.
 */
#include "core/base/status.h"
#include "frames/lower/lowering.h"

/* So many ends are compared each with each. */
#define FEW_ENDS 16

/* ---- ends of instances ---- */

eddy_status eddy__lower_target(eddy__lowering *l, eddy_node node)
{
    if (!eddy__grow(l->arena.allocator, (void **)&l->targets,
                    &l->targets_capacity, l->n_targets + 1, sizeof *l->targets))
        return eddy__fail_memory(l->err);
    l->targets[l->n_targets++] = node;
    return EDDY_OK;
}

static eddy_status add_end(eddy__lowering *l, eddy_node node)
{
    for (size_t i = 0; i < l->n_ends && l->n_ends < FEW_ENDS; i++)
        if (l->ends[i] == node)
            return EDDY_OK;
    if (!eddy__grow(l->arena.allocator, (void **)&l->ends, &l->ends_capacity,
                    l->n_ends + 1, sizeof *l->ends))
        return eddy__fail_memory(l->err);
    l->ends[l->n_ends++] = node;
    return EDDY_OK;
}

static bool is_stateful(const eddy__instance *in)
{
    const eddy__routine *r = in->routine;

    if (r->function->n_control_results > 0 || r->n_effects > 0)
        return true;
    for (uint32_t i = 0; i < r->n_calls; i++)
        if (in->calls[i]->is_stateful)
            return true;
    return false;
}

/* Is there more to run than what the used results need? */
static bool has_effects(const eddy__instance *in)
{
    return in->keeping == EDDY__KEEP_NEEDED
               ? in->routine->function->n_control_results > 0
               : is_stateful(in);
}

/* Fills l->ends. */
static eddy_status find_ends(eddy__lowering *l, eddy__instance *in)
{
    const eddy__routine *r = in->routine;
    eddy_status (*const add)(eddy__lowering *, eddy_node) =
        r->has_primitives ? eddy__lower_target : add_end;
    eddy_node node;

    l->n_ends = 0;
    for (size_t i = 0; i < r->function->n_control_results; i++) {
        EDDY_TRY(
            eddy__lower_waited(l, in, r->function->control_results[i], &node));
        EDDY_TRY(add_end(l, node));
    }
    if (in->keeping != EDDY__KEEP_ALL)
        return EDDY_OK;
    for (uint32_t i = 0; i < r->n_effects; i++)
        EDDY_TRY(add(l, in->made[r->effects[i]]));
    for (uint32_t i = 0; i < r->n_calls; i++)
        if (in->calls[i]->has_effects)
            EDDY_TRY(add(l, in->calls[i]->done));
    return EDDY_OK;
}

/* A node that waits for all of l->ends: the only one, or a NoOp. */
static eddy_status join_ends(eddy__lowering *l, const eddy__make *make,
                             eddy_node *out_node)
{
    if (l->n_ends == 1) {
        *out_node = l->ends[0];
        return EDDY_OK;
    }
    EDDY_TRY(eddy__lower_make(l, make, out_node));
    for (size_t i = 0; i < l->n_ends; i++)
        EDDY_TRY(eddy_graph_add_control(l->out, *out_node, l->ends[i], l->err));
    return EDDY_OK;
}

/* ---- ends of calls ---- */

static eddy__make end_node(const eddy__call *call)
{
    return (eddy__make){.op = "NoOp",
                        .scope = call->name,
                        .name = "output_control_node",
                        .home = call->host};
}

/*
 * The node that gives a value, as something to wait for: not a Switch, which is
 * live whatever its output is, nor an invariant, which is always there.
 */
static eddy_status add_producer(eddy__lowering *l, const eddy__call *call,
                                size_t i)
{
    const eddy__make make = {.op = "Identity",
                             .scope = call->name,
                             .name = "output",
                             .home = call->host};
    eddy_output from;
    eddy_node node;

    EDDY_TRY(eddy__lower_resolve(l, call->values[i], &from));
    node = from.node;
    if (eddy__lower_is_invariant(l, node) ||
        eddy__node_role(eddy__graph_node(l->out, node)) == EDDY__ROLE_SWITCH)
        EDDY_TRY(eddy__lower_make_unary(l, &make, call->out[i],
                                        eddy__lower_made(from.node, from.index),
                                        &node));
    return add_end(l, node);
}

/* Adds what gives the values to l->ends. */
static eddy_status add_values(eddy__lowering *l, const eddy__call *call)
{
    for (size_t i = 0; i < call->n_out; i++)
        EDDY_TRY(add_producer(l, call, i));
    return EDDY_OK;
}

/* May what happens in the call be dead, or in a frame? */
static bool has_primitives(const eddy__call *call)
{
    for (size_t k = 0; k < call->n_parts; k++)
        if (call->parts[k]->routine->has_primitives)
            return true;
    return false;
}

static eddy_status end_plain_call(eddy__lowering *l, eddy__call *call)
{
    const eddy__make make = end_node(call);
    bool is_empty;

    EDDY_TRY(find_ends(l, call->parts[0]));
    if (l->n_ends == 0 || !has_primitives(call))
        EDDY_TRY(add_values(l, call));
    is_empty = l->n_ends == 0;
    EDDY_TRY(join_ends(l, &make, &call->done));
    return is_empty ? eddy__lower_gate(l, call, call->done) : EDDY_OK;
}

/* Live when one of the branches has been taken, and has ended. */
static eddy_status end_taken_branch(eddy__lowering *l, eddy__call *call)
{
    const int64_t n = (int64_t)call->n_parts;
    const eddy_dtype dtype =
        (eddy_dtype)eddy__graph_node(l->out, call->pivots[0])->output_dtypes[0];
    const eddy_attr attrs[] = {eddy_attr_type("T", &dtype),
                               eddy_attr_int("N", &n)};
    const eddy__make make = {
        .op = "Merge",
        .scope = call->name,
        .name = "branch_executed",
        .attrs = attrs,
        .n_attrs = 2,
        .n_inputs = call->n_parts,
    };

    EDDY_TRY(eddy__lower_make(l, &make, &call->done));
    for (uint32_t k = 0; k < call->n_parts; k++) {
        EDDY_TRY(eddy__lower_input(l, call->done, k,
                                   eddy__lower_made(call->pivots[k], 0)));
        EDDY_TRY(find_ends(l, call->parts[k]));
        for (size_t i = 0; i < l->n_ends; i++)
            EDDY_TRY(
                eddy_graph_add_control(l->out, call->done, l->ends[i], l->err));
    }
    if (call->is_inlined || has_primitives(call))
        return EDDY_OK;
    l->n_ends = 0;
    EDDY_TRY(add_values(l, call));
    for (size_t i = 0; i < l->n_ends; i++)
        EDDY_TRY(
            eddy_graph_add_control(l->out, call->done, l->ends[i], l->err));
    return EDDY_OK;
}

static eddy_status end_branch(eddy__lowering *l, eddy__call *call)
{
    const eddy__make make = end_node(call);

    if (call->has_effects || call->is_inlined || call->n_out == 0)
        return end_taken_branch(l, call);
    l->n_ends = 0;
    EDDY_TRY(add_values(l, call));
    return join_ends(l, &make, &call->done);
}

/*
 * What the condition does is done before it is known, and what the body does,
 * before the next iteration begins.  TensorFlow prunes what a condition that it
 * inlines does, even if its function says that it must run.
 */
static eddy_status order_iterations(eddy__lowering *l, eddy__call *call)
{
    eddy__instance *body = call->parts[call->n_parts - 1];
    const eddy__make make = {
        .op = "NoOp", .scope = body->scope, .name = "output_control_node"};
    eddy_node end;

    l->n_ends = 0;
    if (!call->is_inlined && !eddy__call_is_for(call))
        EDDY_TRY(find_ends(l, call->parts[0]));
    for (size_t i = 0; i < l->n_ends; i++)
        EDDY_TRY(eddy_graph_add_control(l->out, call->loop_cond, l->ends[i],
                                        l->err));
    EDDY_TRY(find_ends(l, body));
    if (l->n_ends == 0)
        return EDDY_OK;
    EDDY_TRY(join_ends(l, &make, &end));
    for (size_t i = 0; i < call->n_variables; i++)
        EDDY_TRY(eddy_graph_add_control(l->out, call->nexts[i], end, l->err));
    return EDDY_OK;
}

static eddy_status end_while(eddy__lowering *l, eddy__call *call)
{
    const eddy__make make = end_node(call);

    if (call->has_effects)
        EDDY_TRY(order_iterations(l, call));
    l->n_ends = 0;
    for (size_t i = 0; i < call->n_variables; i++)
        EDDY_TRY(add_end(l, call->exits[i]));
    return join_ends(l, &make, &call->done);
}

static eddy_status find_done(eddy__lowering *l, eddy__call *call)
{
    switch (call->role) {
    case EDDY__ROLE_WHILE:
        return end_while(l, call);
    case EDDY__ROLE_BRANCH:
        return end_branch(l, call);
    default:
        return end_plain_call(l, call);
    }
}

/*
 * Makes the values of a call wait for its end.  The Exits of a loop do that by
 * themselves.
 */
static eddy_status hold_values(eddy__lowering *l, eddy__call *call)
{
    const eddy__make make = {.op = "Identity",
                             .scope = call->name,
                             .name = "output",
                             .home = call->host};

    for (size_t i = 0; i < call->n_out; i++) {
        const eddy__ref value = call->values[i];
        eddy_node node;

        if (!value.instance && call->role == EDDY__ROLE_WHILE &&
            eddy__node_role(eddy__graph_node(l->out, value.output.node)) ==
                EDDY__ROLE_EXIT)
            continue;
        EDDY_TRY(eddy__lower_make_unary(l, &make, call->out[i], value, &node));
        EDDY_TRY(eddy_graph_add_control(l->out, node, call->done, l->err));
        call->values[i] = eddy__lower_made(node, 0);
    }
    return EDDY_OK;
}

static eddy_status end_call(eddy__lowering *l, eddy__call *call)
{
    for (size_t k = 0; k < call->n_parts; k++) {
        call->has_effects |= has_effects(call->parts[k]);
        call->is_stateful |= is_stateful(call->parts[k]);
    }
    if (!call->has_effects && !call->is_awaited)
        return EDDY_OK;
    EDDY_TRY(find_done(l, call));
    if (call->has_effects && !call->is_inlined) {
        if (!has_primitives(call))
            EDDY_TRY(hold_values(l, call));
        else if (call->stand_in != EDDY_NO_NODE)
            EDDY_TRY(eddy__lower_target(l, call->done));
    }
    if (call->stand_in == EDDY_NO_NODE || !call->has_effects)
        return EDDY_OK;
    return eddy_graph_add_control(l->out, call->stand_in, call->done, l->err);
}

eddy_status eddy__lower_ends(eddy__lowering *l)
{
    for (size_t i = l->n_calls; i-- > 0;)
        EDDY_TRY(end_call(l, l->calls[i]));
    return EDDY_OK;
}
