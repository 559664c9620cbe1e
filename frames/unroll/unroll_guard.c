/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trips of a loop that something besides a counter ends, each but the first
 * guarded by the loop's predicate:
 *
 *     while p(v):                      in the loop, n trips an iteration
 *         v = trip(v)
 *         if p(v):
 *             v = trip(v)
 *             if p(v): ...
 *
 * A guard stands within the one before, so that the predicate is asked as often
 * as the loop asks it, and once more where the iteration ends early: so it may
 * have no state and no effect.  Everything that a trip reads goes through the
 * Switches of its guard, invariants too, so that nothing of it runs when the
 * guard does not hold.
 */
#include "core/base/status.h"
#include "frames/unroll/unrolling.h"

#include <stdio.h>

#define N_OF(array) (sizeof(array) / sizeof(array)[0])

static bool is_inside(const eddy__unrolling *u, eddy_node v)
{
    return (u->bits[v] & (EDDY__INSIDE | EDDY__CARRIER)) == EDDY__INSIDE;
}

/* ---- the predicate ---- */

static eddy_status check_part(const eddy__unrolling *u, eddy_node v)
{
    const eddy__node *node = eddy__unroll_node(u, v);

    if (node->op && !(node->op->flags & EDDY_OP_STATEFUL))
        return EDDY_OK;
    return eddy__unroll_fail(u, v,
                             "its predicate, which is to be asked again, has a "
                             "state or an effect");
}

static eddy_status check_invariants(const eddy__unrolling *u)
{
    for (size_t i = 0; i < u->frame->n_invariants; i++) {
        const eddy_node enter = u->frame->invariants[i];

        if (eddy__unroll_node(u, enter)->op->has_references)
            return eddy__unroll_fail(u, enter, "an invariant is a reference");
    }
    return EDDY_OK;
}

eddy_status eddy__unroll_find_predicate(eddy__unrolling *u)
{
    eddy_node *list =
        eddy__arena_allocate(&u->arena, u->n_members, sizeof *list);
    size_t n = 0, end = 0;

    if (!list)
        return eddy__fail_memory(u->err);
    EDDY_TRY(check_invariants(u));
    list[end++] = u->frame->loop_cond;
    while (n < end) {
        const eddy_node v = list[n++];

        for (size_t i = u->flow.first_in[v]; i < u->flow.first_in[v + 1]; i++) {
            const eddy_node from = u->flow.source[i];

            if (!eddy__flow_is_node(from) || u->bits[from] & EDDY__ASKED ||
                !is_inside(u, from))
                continue;
            u->bits[from] |= EDDY__ASKED;
            EDDY_TRY(check_part(u, from));
            list[end++] = from;
        }
    }
    u->predicate = list + 1;
    u->n_predicate = end - 1;
    return EDDY_OK;
}

eddy_status eddy__unroll_ask(eddy__unrolling *u, eddy_output *out)
{
    for (size_t i = 0; i < u->frame->n_invariants; i++) {
        const eddy_node enter = u->frame->invariants[i];

        u->use[enter] = u->brought[enter];
    }
    EDDY_TRY(
        eddy__unroll_copy_nodes(u, EDDY__TRIP, u->predicate, u->n_predicate));
    return eddy__unroll_resolve(
        u, EDDY__TRIP, eddy__unroll_node(u, u->frame->loop_cond)->inputs[0],
        out);
}

/* ---- guards ---- */

/* What goes through a guard: variables, then invariants. */
static size_t count_values(const eddy__unrolling *u)
{
    return u->frame->n_variables + u->frame->n_invariants;
}

static eddy_node enter_of(const eddy__unrolling *u, size_t i)
{
    const size_t n = u->frame->n_variables;

    return i < n ? u->frame->variables[i].enter : u->frame->invariants[i - n];
}

/* Its value now, in the branch that is being built. */
static eddy_output *value_at(eddy__unrolling *u, size_t i)
{
    return i < u->frame->n_variables ? &u->now[i] : &u->brought[enter_of(u, i)];
}

static eddy_status add(eddy__unrolling *u, const char *op, size_t i,
                       uint64_t trip, const eddy_output inputs[2],
                       eddy_output *out)
{
    char suffix[64];
    const eddy__added added = {
        .op = op,
        .name = eddy__unroll_node(u, enter_of(u, i))->name,
        .suffix = suffix,
        .inputs = inputs,
        .n_inputs = 2,
    };

    (void)snprintf(suffix, sizeof suffix, "trip%llu/%s",
                   (unsigned long long)trip, op);
    return eddy__unroll_add(u, &added, out);
}

/*
 * Begins the branch of trip `k`.  `stay` gets what the values are if it is not
 * taken.  Nodes wait for an Identity and not for a Switch, which runs in any
 * case.
 */
static eddy_status begin_guard(eddy__unrolling *u, uint64_t k,
                               eddy_output *stay)
{
    char suffix[64];
    eddy_output inputs[2];

    (void)snprintf(suffix, sizeof suffix, "trip%llu/Identity",
                   (unsigned long long)k);
    EDDY_TRY(eddy__unroll_ask(u, &inputs[1]));
    for (size_t i = 0; i < count_values(u); i++) {
        eddy_output *value = value_at(u, i);

        inputs[0] = *value;
        EDDY_TRY(add(u, "Switch", i, k, inputs, &stay[i]));
        EDDY_TRY(eddy__unroll_identity(u, enter_of(u, i), suffix,
                                       (eddy_output){stay[i].node, 1}, value));
    }
    return EDDY_OK;
}

/* Ends it: the values are those of the trip, or what they were. */
static eddy_status end_guard(eddy__unrolling *u, uint64_t k,
                             const eddy_output *stay)
{
    for (size_t i = 0; i < count_values(u); i++) {
        eddy_output *value = value_at(u, i);
        const eddy_output inputs[] = {stay[i], *value};

        EDDY_TRY(add(u, "Merge", i, k, inputs, value));
    }
    return EDDY_OK;
}

eddy_status eddy__unroll_guarded(eddy__unrolling *u, uint64_t n, bool is_first)
{
    const size_t n_values = count_values(u);
    const uint64_t first = is_first ? 0 : 1;
    eddy_output *stay;

    if (n > u->max_nodes / (n_values + 1))
        return eddy__unroll_fail_size(u);
    stay = eddy__arena_allocate(&u->arena, (size_t)n * n_values, sizeof *stay);
    if (!stay)
        return eddy__fail_memory(u->err);
    for (uint64_t k = 0; k < n; k++) {
        (void)snprintf(u->suffix, sizeof u->suffix, "trip%llu",
                       (unsigned long long)k);
        if (k >= first)
            EDDY_TRY(begin_guard(u, k, stay + (size_t)k * n_values));
        EDDY_TRY(eddy__unroll_trip(u));
    }
    for (uint64_t k = n; k-- > first;)
        EDDY_TRY(end_guard(u, k, stay + (size_t)k * n_values));
    return EDDY_OK;
}
