/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several trips in one iteration: a loop in front of the one that is there,
 *
 *     while i < limit - (n - 1) * step:    n trips, of which only the first
 *         trip; trip; ...                  looks at the predicate
 *     while i < limit:                     the loop as it was, for what remains
 *         trip
 *
 * Nothing can wrap that did not before: the new limit is held at the least
 * number of its dtype, which no counter is below, and a counter that is below
 * the new limit stays below the old one for all trips but the last.
 *
 * Invariants of floating dtypes become variables of the new loop, which pass
 * from trip to trip: their gradients are then summed trip by trip, from what
 * the loop behind has summed, as if there were one loop.
 */
#include "core/base/status.h"
#include "core/value/dtype.h"
#include "frames/unroll/unrolling.h"

#include <stdio.h>
#include <string.h>

#define N_OF(array) (sizeof(array) / sizeof(array)[0])

/* A variable of the new loop. */
typedef struct carried {
    eddy_node enter; /* the old one, whose value it takes and hands on */
    eddy_output merge, switch_;
} carried;

typedef struct new_loop {
    eddy_string frame;
    carried *variables; /* those of the old loop, then invariants */
    size_t n;
    eddy_output cond;
} new_loop;

static const char suffix[] = "unrolled";

/* ---- the new loop ---- */

static eddy_status add_enter(eddy__unrolling *u, const new_loop *loop,
                             eddy_node like, bool is_constant,
                             eddy_output *value)
{
    const eddy__node node = *eddy__unroll_node(u, like);
    const eddy_attr attrs[] = {
        eddy_attr_string("frame_name", &loop->frame),
        eddy_attr_bool("is_constant", &is_constant),
        eddy_attr_int("parallel_iterations", &u->frame->parallel_iterations),
    };
    const eddy__added added = {
        .op = "Enter",
        .name = node.name,
        .suffix = suffix,
        .inputs = value,
        .n_inputs = 1,
        .controls = node.controls,
        .n_controls = node.n_controls,
        .attrs = attrs,
        .n_attrs = N_OF(attrs),
    };

    return eddy__unroll_add(u, &added, value);
}

static eddy_status add_merge(eddy__unrolling *u, const new_loop *loop,
                             carried *v)
{
    const eddy_output first = eddy__unroll_node(u, v->enter)->inputs[0];
    eddy_output inputs[] = {first, first};
    const eddy__added added = {
        .op = "Merge",
        .name = eddy__unroll_node(u, v->enter)->name,
        .suffix = "unrolled/Merge",
        .inputs = inputs,
        .n_inputs = N_OF(inputs),
    };

    EDDY_TRY(add_enter(u, loop, v->enter, false, &inputs[0]));
    inputs[1] = inputs[0];
    return eddy__unroll_add(u, &added, &v->merge);
}

static eddy_status add_switch(eddy__unrolling *u, const new_loop *loop,
                              carried *v, eddy_output *out_now)
{
    const eddy_output inputs[] = {v->merge, loop->cond};
    const eddy__added added = {
        .op = "Switch",
        .name = eddy__unroll_node(u, v->enter)->name,
        .suffix = "unrolled/Switch",
        .inputs = inputs,
        .n_inputs = N_OF(inputs),
    };

    EDDY_TRY(eddy__unroll_add(u, &added, &v->switch_));
    *out_now = (eddy_output){v->switch_.node, 1};
    return eddy__unroll_identity(u, v->enter, "unrolled/Identity", *out_now,
                                 out_now);
}

/* Closes the circle, and hands the last value on to the old loop. */
static eddy_status end_variable(eddy__unrolling *u, const carried *v,
                                eddy_output next)
{
    const eddy_output last = {v->switch_.node, 0};
    const eddy__added added = {
        .op = "Exit",
        .name = eddy__unroll_node(u, v->enter)->name,
        .suffix = "unrolled/Exit",
        .inputs = &last,
        .n_inputs = 1,
    };
    eddy_output exit;

    EDDY_TRY(eddy__graph_connect(u->graph, v->merge.node, 1, next, u->err));
    EDDY_TRY(eddy__unroll_add(u, &added, &exit));
    return eddy__graph_connect(u->graph, v->enter, 0, exit, u->err);
}

/* ---- the predicate ---- */

typedef struct bounds {
    int64_t least, most;
} bounds;

static bounds bounds_of(eddy_dtype dtype)
{
    switch (dtype) {
    case EDDY_INT8:
        return (bounds){INT8_MIN, INT8_MAX};
    case EDDY_INT16:
        return (bounds){INT16_MIN, INT16_MAX};
    case EDDY_INT32:
        return (bounds){INT32_MIN, INT32_MAX};
    default:
        return (bounds){INT64_MIN, INT64_MAX};
    }
}

/*
 * How far the new limit is from the old one, so that comparing with it by < or
 * > tells whether `n` trips are left.
 */
static eddy_status find_distance(const eddy__unrolling *u, uint64_t n,
                                 int64_t *out)
{
    const eddy__counting *c = &u->counting;
    const int64_t step = c->step > 0 ? c->step : -c->step;
    const int64_t most = bounds_of(c->dtype).most;

    if (n - 1 > (uint64_t)(most / step))
        return eddy__unroll_fail(u, EDDY_NO_NODE,
                                 "so many trips are more than its counter can "
                                 "count");
    *out = (int64_t)(n - 1) * step - c->is_inclusive;
    return EDDY_OK;
}

static eddy_status add_constant(eddy__unrolling *u, int64_t value,
                                const eddy_node *controls, size_t n_controls,
                                eddy_output *out)
{
    const eddy_dtype dtype = u->counting.dtype;
    const int8_t v8 = (int8_t)value;
    const int16_t v16 = (int16_t)value;
    const int32_t v32 = (int32_t)value;
    const void *data = dtype == EDDY_INT8    ? (const void *)&v8
                       : dtype == EDDY_INT16 ? (const void *)&v16
                       : dtype == EDDY_INT32 ? (const void *)&v32
                                             : (const void *)&value;
    const eddy__added added = {
        .op = "Const",
        .name = eddy__unroll_node(u, u->frame->loop_cond)->name,
        .suffix = "unrolled/Const",
        .controls = controls,
        .n_controls = n_controls,
    };

    return eddy__unroll_scalar(u, &added, dtype, data, out);
}

/* A node with two inputs beside the LoopCond. */
static eddy_status add_binary(eddy__unrolling *u, const char *op,
                              const char *name, eddy_output x, eddy_output y,
                              eddy_output *out)
{
    const eddy_output inputs[] = {x, y};
    const eddy__added added = {
        .op = op,
        .name = eddy__unroll_node(u, u->frame->loop_cond)->name,
        .suffix = name,
        .inputs = inputs,
        .n_inputs = N_OF(inputs),
    };

    return eddy__unroll_add(u, &added, out);
}

/* The new limit, of one that is known. */
static int64_t known_limit(const eddy__counting *c, int64_t distance)
{
    const bounds b = bounds_of(c->dtype);
    const int64_t limit = c->known_limit;

    if (c->step > 0)
        return limit < b.least + distance ? b.least : limit - distance;
    return limit > b.most - distance ? b.most : limit + distance;
}

/* The same in nodes in front of the loop, and an Enter. */
static eddy_status add_limit(eddy__unrolling *u, const new_loop *loop,
                             int64_t distance, eddy_output *out)
{
    const eddy__counting *c = &u->counting;
    const bool up = c->step > 0;
    const bounds b = bounds_of(c->dtype);
    const eddy__node enter = *eddy__unroll_node(u, c->limit_enter);
    eddy_node *controls =
        eddy__arena_allocate(&u->arena, enter.n_controls + 1, sizeof *controls);
    eddy_output bound, away;
    size_t n = enter.n_controls;

    if (!controls)
        return eddy__fail_memory(u->err);
    if (n > 0)
        memcpy(controls, enter.controls, n * sizeof *controls);
    /*
     * In a loop the constants run when and where the limit is there.  In the
     * root they may, and the limit's node may be one that is fed and never
     * runs.
     */
    if (u->frame->parent != 0)
        controls[n++] = c->limit.node;
    EDDY_TRY(add_constant(u, up ? b.least + distance : b.most - distance,
                          controls, n, &bound));
    EDDY_TRY(add_constant(u, distance, controls, n, &away));
    EDDY_TRY(add_binary(u, up ? "Maximum" : "Minimum", "unrolled/bound",
                        c->limit, bound, &bound));
    EDDY_TRY(add_binary(u, up ? "Sub" : "AddV2", "unrolled/limit", bound, away,
                        out));
    return add_enter(u, loop, c->limit_enter, true, out);
}

static eddy_status add_loop_cond(eddy__unrolling *u, new_loop *loop,
                                 eddy_output predicate)
{
    const eddy__added added = {
        .op = "LoopCond",
        .name = eddy__unroll_node(u, u->frame->loop_cond)->name,
        .suffix = suffix,
        .inputs = &predicate,
        .n_inputs = 1,
    };

    return eddy__unroll_add(u, &added, &loop->cond);
}

static eddy_status add_predicate(eddy__unrolling *u, new_loop *loop,
                                 int64_t distance)
{
    const eddy__counting *c = &u->counting;
    const eddy_output counter = loop->variables[c->variable].merge;
    eddy_output limit, predicate;

    if (c->is_limit_known)
        EDDY_TRY(add_constant(u, known_limit(c, distance), &counter.node, 1,
                              &limit));
    else
        EDDY_TRY(add_limit(u, loop, distance, &limit));
    EDDY_TRY(add_binary(u, c->step > 0 ? "Less" : "Greater",
                        "unrolled/predicate", counter, limit, &predicate));
    return add_loop_cond(u, loop, predicate);
}

/* ---- the whole ---- */

static eddy_status plan_loop(eddy__unrolling *u, new_loop *loop)
{
    const size_t most = u->frame->n_variables + u->frame->n_invariants;
    const char *frame = eddy__unroll_frame_name(u, u->frame->name, suffix);

    loop->variables =
        eddy__arena_allocate_zeroed(&u->arena, most, sizeof *loop->variables);
    if (!frame || !loop->variables)
        return eddy__fail_memory(u->err);
    loop->frame = (eddy_string){frame, strlen(frame)};
    for (size_t i = 0; i < u->frame->n_variables; i++)
        loop->variables[loop->n++].enter = u->frame->variables[i].enter;
    for (size_t i = 0; i < u->frame->n_invariants; i++)
        if (eddy__unroll_is_summed(u, u->frame->invariants[i]))
            loop->variables[loop->n++].enter = u->frame->invariants[i];
    return EDDY_OK;
}

/* What the predicate asks, and the first trip reads, of those. */
static eddy_output *value_of(eddy__unrolling *u, const new_loop *loop, size_t i)
{
    return i < u->frame->n_variables ? &u->now[i]
                                     : &u->brought[loop->variables[i].enter];
}

static eddy_status add_switches(eddy__unrolling *u, const new_loop *loop)
{
    for (size_t i = 0; i < loop->n; i++)
        EDDY_TRY(
            add_switch(u, loop, &loop->variables[i], value_of(u, loop, i)));
    return EDDY_OK;
}

static eddy_status bring_invariants(eddy__unrolling *u, const new_loop *loop)
{
    for (size_t i = 0; i < u->frame->n_invariants; i++) {
        const eddy_node enter = u->frame->invariants[i];

        if (eddy__unroll_is_summed(u, enter))
            continue;
        u->brought[enter] = eddy__unroll_node(u, enter)->inputs[0];
        EDDY_TRY(add_enter(u, loop, enter, true, &u->brought[enter]));
    }
    return EDDY_OK;
}

/* A variable whose value after the trips is no NextIteration. */
static eddy_status end_value(eddy__unrolling *u, const carried *v,
                             eddy_output value)
{
    const eddy__added added = {
        .op = "NextIteration",
        .name = eddy__unroll_node(u, v->enter)->name,
        .suffix = "unrolled/NextIteration",
        .inputs = &value,
        .n_inputs = 1,
    };
    eddy_output next;

    EDDY_TRY(eddy__unroll_add(u, &added, &next));
    return end_variable(u, v, next);
}

/* The loop with a guard before each trip but the first. */
static eddy_status unroll_guarded(eddy__unrolling *u, uint64_t n)
{
    new_loop loop = {.n = 0};
    eddy_output predicate;

    EDDY_TRY(plan_loop(u, &loop));
    for (size_t i = 0; i < loop.n; i++) {
        EDDY_TRY(add_merge(u, &loop, &loop.variables[i]));
        *value_of(u, &loop, i) = loop.variables[i].merge;
    }
    EDDY_TRY(bring_invariants(u, &loop));
    memcpy(u->suffix, suffix, sizeof suffix);
    EDDY_TRY(eddy__unroll_ask(u, &predicate));
    EDDY_TRY(add_loop_cond(u, &loop, predicate));
    EDDY_TRY(add_switches(u, &loop));
    EDDY_TRY(eddy__unroll_guarded(u, n, false));
    for (size_t i = 0; i < loop.n; i++)
        EDDY_TRY(end_value(u, &loop.variables[i], *value_of(u, &loop, i)));
    return EDDY_OK;
}

eddy_status eddy__unroll_by(eddy__unrolling *u, uint64_t n)
{
    new_loop loop = {.n = 0};
    int64_t distance = 0;

    if (u->is_guarded)
        return unroll_guarded(u, n);

    EDDY_TRY(find_distance(u, n, &distance));
    EDDY_TRY(plan_loop(u, &loop));
    for (size_t i = 0; i < loop.n; i++)
        EDDY_TRY(add_merge(u, &loop, &loop.variables[i]));
    EDDY_TRY(add_predicate(u, &loop, distance));
    EDDY_TRY(add_switches(u, &loop));
    EDDY_TRY(bring_invariants(u, &loop));
    EDDY_TRY(eddy__unroll_trips(u, n, true));
    for (size_t i = 0; i < loop.n; i++)
        EDDY_TRY(
            i < u->frame->n_variables
                ? end_variable(u, &loop.variables[i], u->now[i])
                : end_value(u, &loop.variables[i], *value_of(u, &loop, i)));
    return EDDY_OK;
}
