/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a trip of a loop wants: everything that its next values come from, and
 * what has effects; and what carries the values and is not copied.
 */
#include "core/base/status.h"
#include "core/context.h"
#include "frames/unroll/unrolling.h"

static bool is_inside(const eddy__unrolling *u, eddy_node node)
{
    return u->bits[node] & EDDY__INSIDE;
}

static bool is_carrier(const eddy__unrolling *u, eddy_node node)
{
    return u->bits[node] & EDDY__CARRIER;
}

static bool is_stateful(const eddy__node *node)
{
    return !node->op || node->op->flags & EDDY_OP_STATEFUL;
}

/* ---- carriers ---- */

static bool carries(const eddy__unrolling *u, eddy_node node)
{
    const eddy__role role = (eddy__role)u->flow.role[node];

    if (u->analysis->node_frame[node] != u->frame_id)
        return role == EDDY__ROLE_ENTER &&
               u->analysis->output_frame[node] == u->frame_id;
    return role == EDDY__ROLE_EXIT || role == EDDY__ROLE_LOOP_COND ||
           role == EDDY__ROLE_NEXT_ITERATION ||
           (role == EDDY__ROLE_MERGE && u->variable_of[node] != 0) ||
           (role == EDDY__ROLE_SWITCH &&
            eddy__unroll_node(u, node)->inputs[1].node == u->frame->loop_cond);
}

static eddy_status find_variables(eddy__unrolling *u)
{
    for (uint32_t i = 0; i < u->frame->n_variables; i++) {
        const eddy_loop_variable *v = &u->frame->variables[i];

        if (v->merge == EDDY_NO_NODE || v->next_iteration == EDDY_NO_NODE)
            return eddy__unroll_fail(u, v->enter,
                                     "a variable has no Merge that a "
                                     "NextIteration goes back to");
        if (u->variable_of[v->merge] != 0)
            return eddy__unroll_fail(u, v->merge,
                                     "a variable has several Enters");
        if (eddy__unroll_node(u, v->enter)->op->has_references)
            return eddy__unroll_fail(u, v->enter, "a variable is a reference");
        u->variable_of[v->merge] = i + 1;
    }
    return EDDY_OK;
}

/* ---- what is dead ---- */

/*
 * How many inputs must be dead for the node to be: of a Merge all but those
 * that come from a NextIteration.
 */
static uint32_t deadly_inputs(const eddy__unrolling *u, eddy_node node)
{
    const eddy__node *n = eddy__unroll_node(u, node);
    uint32_t count = 0;

    if (u->flow.role[node] != EDDY__ROLE_MERGE)
        return 1;
    for (uint32_t i = 0; i < n->n_inputs; i++)
        count += u->flow.role[n->inputs[i].node] != EDDY__ROLE_NEXT_ITERATION;
    return count;
}

/* Notes a dead edge to `edge->to`; is the node dead by it, and newly so? */
static bool kill(eddy__unrolling *u, eddy_node from,
                 const eddy__flow_edge *edge, uint32_t *n_dead, uint8_t bit)
{
    if (!is_inside(u, edge->to) || u->bits[edge->to] & bit)
        return false;
    if (u->flow.role[edge->to] == EDDY__ROLE_MERGE &&
        (edge->input == EDDY__CONTROL ||
         u->flow.role[from] == EDDY__ROLE_NEXT_ITERATION))
        return false;
    if (++n_dead[edge->to] < deadly_inputs(u, edge->to))
        return false;
    u->bits[edge->to] |= bit;
    return true;
}

/* What depends on output `side` of the Switches by the LoopCond. */
static void mark_dead(eddy__unrolling *u, uint32_t side, uint8_t bit,
                      uint32_t *n_dead, eddy_node *stack)
{
    size_t n = 0;

    for (size_t k = 0; k < u->n_members; k++)
        n_dead[u->members[k]] = 0;
    for (size_t k = 0; k < u->n_members; k++) {
        const eddy_node v = u->members[k];

        if (!is_carrier(u, v) || u->flow.role[v] != EDDY__ROLE_SWITCH)
            continue;
        for (size_t i = u->flow.first_out[v]; i < u->flow.first_out[v + 1];
             i++) {
            const eddy__flow_edge *e = &u->flow.edge[i];

            if (e->input != EDDY__CONTROL &&
                eddy__unroll_node(u, e->to)->inputs[e->input].index == side &&
                kill(u, v, e, n_dead, bit))
                stack[n++] = e->to;
        }
    }
    while (n > 0) {
        const eddy_node v = stack[--n];

        if (is_carrier(u, v) && u->flow.role[v] != EDDY__ROLE_SWITCH)
            continue;
        for (size_t i = u->flow.first_out[v]; i < u->flow.first_out[v + 1]; i++)
            if (kill(u, v, &u->flow.edge[i], n_dead, bit))
                stack[n++] = u->flow.edge[i].to;
    }
}

/* ---- what is wanted ---- */

static bool is_root(const eddy__unrolling *u, eddy_node v, eddy__copied which)
{
    const eddy__role end =
        which == EDDY__TRIP ? EDDY__ROLE_NEXT_ITERATION : EDDY__ROLE_EXIT;

    if (is_carrier(u, v))
        return u->flow.role[v] == end;
    return is_inside(u, v) && is_stateful(eddy__unroll_node(u, v)) &&
           !(u->bits[v] & (EDDY__DEAD << which));
}

/* Carriers stand for values that are there, but for what a Switch reads. */
static bool leads_on(const eddy__unrolling *u, eddy_node v)
{
    return is_carrier(u, v) ? u->flow.role[v] == EDDY__ROLE_SWITCH
                            : is_inside(u, v);
}

static void mark_wanted(eddy__unrolling *u, eddy__copied which,
                        eddy_node *stack)
{
    const uint8_t bit = (uint8_t)(EDDY__WANTED << which);
    size_t n = 0;

    for (size_t k = 0; k < u->n_members; k++) {
        const eddy_node v = u->members[k];

        if (!is_root(u, v, which))
            continue;
        u->bits[v] |= bit;
        stack[n++] = v;
    }
    while (n > 0) {
        const eddy_node v = stack[--n];
        size_t end = u->flow.first_in[v + 1];

        /* Of a Switch that carries, only the data. */
        if (is_carrier(u, v) && u->flow.role[v] == EDDY__ROLE_SWITCH)
            end = u->flow.first_in[v] + 1;
        for (size_t i = u->flow.first_in[v]; i < end; i++) {
            const eddy_node from = u->flow.source[i];

            if (u->bits[from] & bit || !leads_on(u, from))
                continue;
            u->bits[from] |= bit;
            stack[n++] = from;
        }
    }
}

/* ---- what cannot be copied ---- */

static eddy_status check_node(const eddy__unrolling *u, eddy_node id)
{
    const eddy__node *node = eddy__unroll_node(u, id);

    if (node->op && node->op->flags & EDDY__OP_HOST)
        return eddy__unroll_fail(u, id,
                                 "it asks the host, in the order of the "
                                 "iterations");
    if (node->op && node->op->flags & EDDY__OP_ORDERED)
        return eddy__unroll_fail(u, id,
                                 "it draws from a generator of its own, which "
                                 "copies would not share");
    if (eddy__node_attr(node, "shared_name"))
        return eddy__unroll_fail(u, id,
                                 "it holds a state of its own, which copies "
                                 "would not share");
    return EDDY_OK;
}

/* Does a needed edge of a copy come from what is not there? */
static eddy_status check_edges(const eddy__unrolling *u, eddy_node id,
                               eddy__copied which)
{
    const eddy__node *node = eddy__unroll_node(u, id);

    if (!(u->bits[id] & (EDDY__WANTED << which)))
        return EDDY_OK;
    if (!is_carrier(u, id) && u->bits[id] & (EDDY__DEAD << which))
        return eddy__unroll_fail(u, id, "it never has a value");
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const eddy_node from = node->inputs[i].node;

        if (is_carrier(u, from) && u->variable_of[from] != 0 &&
            node->inputs[i].index == 1)
            return eddy__unroll_fail(u, id,
                                     "it asks which input a variable's Merge "
                                     "has taken");
        if (u->flow.role[from] == EDDY__ROLE_ENTER && is_carrier(u, from) &&
            !u->flow.is_constant[from])
            return eddy__unroll_fail(u, id,
                                     "it reads the first value of a variable");
    }
    return EDDY_OK;
}

/* The loop is wrong if its second trip gives it another value: so it stays. */
static eddy_status check_exit(const eddy__unrolling *u, eddy_node id)
{
    if (is_carrier(u, id) && u->flow.role[id] == EDDY__ROLE_EXIT &&
        !(u->bits[id] & EDDY__DEAD))
        return eddy__unroll_fail(u, id, "it has a value in every trip");
    return EDDY_OK;
}

static eddy_status check(eddy__unrolling *u)
{
    for (size_t k = 0; k < u->n_members; k++) {
        const eddy_node v = u->members[k];

        if (!is_inside(u, v))
            continue;
        EDDY_TRY(check_node(u, v));
        EDDY_TRY(check_edges(u, v, EDDY__TRIP));
        EDDY_TRY(check_edges(u, v, EDDY__END));
        EDDY_TRY(check_exit(u, v));
    }
    return EDDY_OK;
}

/* ---- the whole ---- */

/* Which constant Enters are read by more than one edge of a trip? */
static void count_uses(eddy__unrolling *u)
{
    for (size_t k = 0; k < u->frame->n_invariants; k++) {
        const eddy_node enter = u->frame->invariants[k];
        size_t n = 0;

        for (size_t i = u->flow.first_out[enter];
             i < u->flow.first_out[enter + 1]; i++)
            n += u->flow.edge[i].input != EDDY__CONTROL &&
                 u->bits[u->flow.edge[i].to] & EDDY__WANTED;
        if (n > 1)
            u->bits[enter] |= EDDY__SEVERAL;
    }
}

static eddy_status list_bodies(eddy__unrolling *u)
{
    for (int which = EDDY__TRIP; which <= EDDY__END; which++) {
        size_t n = 0;

        u->body[which] =
            eddy__arena_allocate(&u->arena, u->n_members, sizeof(eddy_node));
        if (!u->body[which])
            return eddy__fail_memory(u->err);
        for (size_t k = 0; k < u->n_members; k++) {
            const eddy_node v = u->members[k];

            if (u->bits[v] & (EDDY__WANTED << which) && !is_carrier(u, v))
                u->body[which][n++] = v;
        }
        u->n_body[which] = n;
    }
    return EDDY_OK;
}

eddy_status eddy__unroll_parts(eddy__unrolling *u)
{
    EDDY_TRY(find_variables(u));
    for (size_t k = 0; k < u->n_members; k++) {
        const eddy_node v = u->members[k];

        if (u->loop_of[u->analysis->node_frame[v]] == u->frame_id)
            u->bits[v] |= EDDY__INSIDE;
        if (carries(u, v))
            u->bits[v] |= EDDY__CARRIER;
    }
    mark_dead(u, 0, EDDY__DEAD, u->n_dead, u->stack);
    mark_dead(u, 1, EDDY__DEAD << EDDY__END, u->n_dead, u->stack);
    mark_wanted(u, EDDY__TRIP, u->stack);
    mark_wanted(u, EDDY__END, u->stack);
    count_uses(u);
    EDDY_TRY(list_bodies(u));
    return check(u);
}
