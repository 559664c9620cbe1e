/* SPDX-License-Identifier: Apache-2.0 */
/* Is a loop counted as unrolling wants it: see eddy_trip_counter. */
#include "frames/unroll/unrolling.h"

#include "core/base/status.h"
#include "frames/analysis/trace.h"
#include "frames/analysis/trips.h"

/* Back to where an iteration that is not the last has `v` from. */
static eddy_output trace(const eddy__unrolling *u, eddy_output v)
{
    return eddy__trace(&u->flow, EDDY__WAY_FORWARD | EDDY__WAY_TRIP, v);
}

/* The variable whose Merge `v` is in the end, or EDDY__NOT_FOUND. */
static uint32_t variable_at(const eddy__unrolling *u, eddy_output v)
{
    v = trace(u, v);
    for (uint32_t i = 0; v.index == 0 && i < u->frame->n_variables; i++)
        if (u->frame->variables[i].merge == v.node)
            return i;
    return EDDY__NOT_FOUND;
}

/*
 * The Enter by which `v`, of the loop, comes in, if it is the same in every
 * iteration: that of an invariant, or of a variable that never changes.
 */
static eddy_node invariant_enter(const eddy__unrolling *u, eddy_output v)
{
    const uint32_t variable = variable_at(u, v);

    v = trace(u, v);
    if (variable != EDDY__NOT_FOUND) {
        const eddy_loop_variable *var = &u->frame->variables[variable];

        if (var->next_iteration == EDDY_NO_NODE ||
            variable_at(u,
                        eddy__unroll_node(u, var->next_iteration)->inputs[0]) !=
                variable)
            return EDDY_NO_NODE;
        return var->enter;
    }
    if (u->flow.role[v.node] == EDDY__ROLE_ENTER &&
        u->flow.is_constant[v.node] &&
        u->analysis->output_frame[v.node] == u->frame_id)
        return v.node;
    return EDDY_NO_NODE;
}

/* The value of a Const of an integer, which the trip counter has found. */
static bool read_constant(const eddy__unrolling *u, eddy_output v, int64_t *out)
{
    const eddy__node *node = eddy__unroll_node(u, v.node);
    const eddy_tensor *value;
    eddy__range any;

    if (u->flow.role[v.node] != EDDY__ROLE_CONST)
        return false;
    value = eddy__node_attr(node, "value")->as.tensors[0];
    if (eddy_tensor_count(value) != 1 ||
        !eddy__integer_range(eddy_tensor_dtype(value), &any))
        return false;
    *out = eddy__trips_read_integer(value);
    return true;
}

/* Does every trip bring the counter nearer to the limit? */
static bool find_step(eddy__counting *c, const eddy__unrolling *u,
                      const eddy_trip_counter *t)
{
    const bool is_up =
        t->comparison == EDDY_LESS || t->comparison == EDDY_LESS_EQUAL;

    if (!read_constant(u, t->step, &c->step) || c->step < -INT32_MAX ||
        c->step > INT32_MAX)
        return false;
    if (t->is_subtracted)
        c->step = -c->step;
    /* It meets the limit for certain, so it is below, or above, until then. */
    if (t->comparison == EDDY_NOT_EQUAL)
        return t->trips >= 0 && c->step != 0;
    return is_up ? c->step > 0 : c->step < 0;
}

/* A limit that is known needs no Enter: a constant in the loop has none. */
static bool find_limit(eddy__counting *c, const eddy__unrolling *u,
                       const eddy_trip_counter *t)
{
    c->limit_enter = invariant_enter(u, t->compared);
    c->limit = c->limit_enter != EDDY_NO_NODE
                   ? eddy__unroll_node(u, c->limit_enter)->inputs[0]
                   : t->compared;
    c->is_limit_known = read_constant(u, t->limit, &c->known_limit);
    return c->is_limit_known || c->limit_enter != EDDY_NO_NODE;
}

eddy_status eddy__unroll_count(eddy__unrolling *u)
{
    const eddy_trip_counter *t = u->frame->trip_counter;
    eddy__counting *c = &u->counting;

    *c = (eddy__counting){.variable = EDDY__NOT_FOUND};
    if (u->frame->loop_cond == EDDY_NO_NODE)
        return eddy__unroll_fail(u, EDDY_NO_NODE, "it has no LoopCond");
    c->are_trips_known = t && t->trips >= 0;
    c->trips = c->are_trips_known ? (uint64_t)t->trips : 0;
    u->is_guarded =
        !t || !t->is_only || !find_step(c, u, t) || !find_limit(c, u, t);
    if (u->is_guarded)
        return EDDY_OK;
    c->variable = (uint32_t)t->variable;
    c->dtype = eddy_graph_output_dtype(u->graph, t->compared);
    c->is_inclusive =
        t->comparison == EDDY_LESS_EQUAL || t->comparison == EDDY_GREATER_EQUAL;
    return EDDY_OK;
}
