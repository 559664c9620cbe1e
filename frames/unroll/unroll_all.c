/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All trips of a loop one after the other.  What the loop's Enters take in is
 * what the first trip reads, and its Exits give out what the last one leaves;
 * both become Identities of their names, so that nothing outside changes.
 */
#include "core/base/status.h"
#include "frames/unroll/unrolling.h"

#include <string.h>

static bool is_own(const eddy__unrolling *u, eddy_node v, eddy__role role)
{
    return u->bits[v] & EDDY__CARRIER && u->flow.role[v] == role;
}

/* ---- the end ---- */

static eddy_status check_exits(const eddy__unrolling *u)
{
    for (size_t i = 0; i < u->n_members; i++)
        if (is_own(u, u->members[i], EDDY__ROLE_EXIT) &&
            eddy__unroll_node(u, u->members[i])->n_controls > 0)
            return eddy__unroll_fail(u, u->members[i],
                                     "an Exit waits for another node");
    return EDDY_OK;
}

/* What each Exit gives out is found before the first edge changes. */
static eddy_status connect_exits(eddy__unrolling *u)
{
    for (size_t i = 0; i < u->frame->n_invariants; i++) {
        const eddy_node enter = u->frame->invariants[i];

        u->use[enter] = u->brought[enter];
    }
    memcpy(u->suffix, "end", sizeof "end");
    EDDY_TRY(eddy__unroll_copy(u, EDDY__END));
    for (size_t i = 0; i < u->n_members; i++) {
        const eddy_node v = u->members[i];

        if (is_own(u, v, EDDY__ROLE_EXIT))
            EDDY_TRY(eddy__unroll_resolve(
                u, EDDY__END, eddy__unroll_node(u, v)->inputs[0], &u->use[v]));
    }
    for (size_t i = 0; i < u->n_members; i++) {
        const eddy_node v = u->members[i];

        if (is_own(u, v, EDDY__ROLE_EXIT))
            EDDY_TRY(eddy__graph_connect(u->graph, v, 0, u->use[v], u->err));
    }
    return EDDY_OK;
}

static void decide_fates(eddy__unrolling *u)
{
    for (size_t i = 0; i < u->n_members; i++) {
        const eddy_node v = u->members[i];

        if (is_own(u, v, EDDY__ROLE_EXIT) || is_own(u, v, EDDY__ROLE_ENTER))
            u->fate[v] = EDDY__HANDS_ON;
        else if (u->bits[v] & EDDY__INSIDE)
            u->fate[v] = EDDY__GOES;
    }
}

/* ---- the graph without the loops ---- */

static eddy__fate fate_of(const eddy__unrolling *u, eddy_node v)
{
    return v < u->n_old ? (eddy__fate)u->fate[v] : EDDY__STAYS;
}

static eddy_status add_kept(eddy__unrolling *u, eddy_graph *to, eddy_node v,
                            eddy_output *open, eddy_node *out)
{
    const eddy__node *node = eddy__unroll_node(u, v);
    const bool is_border = fate_of(u, v) == EDDY__HANDS_ON;
    const eddy__add_options options = {.strict = true,
                                       .opaque = !node->op,
                                       .forward_edges = true,
                                       .device = node->device};
    const eddy_dtype dtype =
        is_border ? (eddy_dtype)node->output_dtypes[0] : EDDY_INVALID;
    const eddy_attr type = eddy_attr_type("T", &dtype);
    const eddy_node_spec spec = {
        .size = sizeof spec,
        .op = is_border ? "Identity" : node->op_name,
        .name = node->name,
        .inputs = open,
        .n_inputs = node->n_inputs,
        .attrs = is_border ? &type : node->attrs,
        .n_attrs = is_border ? 1 : node->n_attrs,
    };

    return eddy__graph_add(to, &spec, &options, out, u->err);
}

static eddy_status connect_kept(eddy__unrolling *u, eddy_graph *to, eddy_node v,
                                const eddy_node *numbers)
{
    const eddy__node *node = eddy__unroll_node(u, v);

    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const eddy_output from = node->inputs[i];

        EDDY_TRY(eddy__graph_connect(
            to, numbers[v], i, (eddy_output){numbers[from.node], from.index},
            u->err));
    }
    for (uint32_t i = 0; i < node->n_controls; i++)
        EDDY_TRY(eddy__graph_add_control(to, numbers[v],
                                         numbers[node->controls[i]], u->err));
    return EDDY_OK;
}

/* Inputs that are open, as many as any node has. */
static eddy_output *open_inputs(eddy__unrolling *u)
{
    uint32_t most = 0;
    eddy_output *open;

    for (eddy_node v = 0; v < u->graph->n_nodes; v++)
        if (eddy__unroll_node(u, v)->n_inputs > most)
            most = eddy__unroll_node(u, v)->n_inputs;
    open = eddy__arena_allocate(&u->arena, most, sizeof *open);
    for (uint32_t i = 0; open && i < most; i++)
        open[i] = (eddy_output){EDDY_NO_NODE, 0};
    return open;
}

static eddy_status copy_kept(eddy__unrolling *u, eddy_graph *to)
{
    const size_t n = u->graph->n_nodes;
    eddy_node *numbers = eddy__arena_allocate(&u->arena, n, sizeof *numbers);
    eddy_output *open = open_inputs(u);

    if (!numbers || !open)
        return eddy__fail_memory(u->err);
    for (eddy_node v = 0; v < n; v++)
        if (fate_of(u, v) != EDDY__GOES)
            EDDY_TRY(add_kept(u, to, v, open, &numbers[v]));
    for (eddy_node v = 0; v < n; v++)
        if (fate_of(u, v) != EDDY__GOES)
            EDDY_TRY(connect_kept(u, to, v, numbers));
    return EDDY_OK;
}

eddy_status eddy__unroll_take_out(eddy__unrolling *u, eddy_graph **out_graph)
{
    eddy_graph *to = NULL;
    eddy_status status;

    EDDY_TRY(eddy__graph_clone_empty(u->graph, u->graph->budget, &to, u->err));
    status = copy_kept(u, to);
    if (status == EDDY_OK)
        *out_graph = to;
    else
        eddy_graph_destroy(to);
    return status;
}

/* ---- the loop ---- */

eddy_status eddy__unroll_all(eddy__unrolling *u)
{
    if (!u->counting.are_trips_known)
        return eddy__unroll_fail(u, EDDY_NO_NODE,
                                 "how many trips it makes is not known from "
                                 "constants");
    EDDY_TRY(check_exits(u));
    for (size_t i = 0; i < u->frame->n_variables; i++)
        u->now[i] = (eddy_output){u->frame->variables[i].enter, 0};
    for (size_t i = 0; i < u->frame->n_invariants; i++)
        u->brought[u->frame->invariants[i]] =
            (eddy_output){u->frame->invariants[i], 0};
    EDDY_TRY(u->is_guarded ? eddy__unroll_guarded(u, u->counting.trips, true)
                           : eddy__unroll_trips(u, u->counting.trips, false));
    EDDY_TRY(connect_exits(u));
    decide_fates(u);
    return EDDY_OK;
}
