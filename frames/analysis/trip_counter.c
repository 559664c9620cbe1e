/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop counts its trips if it goes on only while a variable, to which every
 * trip adds a constant, is below, above or unequal to something that does not
 * change in the loop.  The comparison may be one side of a LogicalAnd.
 */
#include "frames/analysis/trip_counter.h"

#include "core/base/status.h"
#include "frames/analysis/branches.h"
#include "frames/analysis/trips.h"

#include <string.h>

/* So many comparisons of a predicate are looked at. */
#define MOST_TERMS 64

typedef struct finder {
    const eddy__flow *flow;
    const eddy_analysis *analysis;
    uint32_t frame;
    /*
     * The Merge of a variable that no trip changes: its Enter; of other nodes
     * EDDY_NO_NODE.  NULL: not known.
     */
    eddy_node *enter_of;
} finder;

/* A node of that op, with two inputs as it should have. */
static bool is_op(const eddy__flow *flow, eddy_output v, const char *op)
{
    const eddy__node *node = eddy__flow_node(flow, v.node);

    return node->n_inputs == 2 && strcmp(node->op_name, op) == 0;
}

/* ---- where values come from ---- */

static bool is_fed(const eddy__flow *flow, eddy_node node, uint32_t i)
{
    return !eddy__flow_is_node(flow->source[flow->first_in[node] + i]);
}

/* Back to where the iteration of its loop has it from. */
static eddy_output trace_inside(const eddy__flow *flow, eddy_output v)
{
    return eddy__trace(flow, EDDY__WAY_FORWARD | EDDY__WAY_TRIP, v);
}

/* And out of the loops in which it does not change. */
static eddy_output trace(const finder *f, eddy_output v)
{
    for (;;) {
        eddy_node enter;

        v = trace_inside(f->flow, v);
        enter = f->flow->is_constant[v.node]  ? v.node
                : f->enter_of && v.index == 0 ? f->enter_of[v.node]
                                              : EDDY_NO_NODE;
        if (enter == EDDY_NO_NODE || is_fed(f->flow, enter, 0))
            return v;
        v = eddy__flow_node(f->flow, enter)->inputs[0];
    }
}

/* And past the Switches of branches that it had to go through. */
static eddy_output find_origin(const finder *f, eddy_output v)
{
    v = trace(f, v);
    while (eddy__trace_step(f->flow, EDDY__WAY_BRANCH, &v))
        v = trace(f, v);
    return v;
}

/* Input `i` of a node, traced; node EDDY_NO_NODE if it is fed or cut. */
static eddy_output traced_input(const finder *f, eddy_node node, uint32_t i)
{
    if (is_fed(f->flow, node, i))
        return (eddy_output){.node = EDDY_NO_NODE};
    return trace(f, eddy__flow_node(f->flow, node)->inputs[i]);
}

/* Is it fed by one Enter and one NextIteration? */
static bool is_simple(const eddy__flow *flow, const eddy_loop_variable *v)
{
    return v->merge != EDDY_NO_NODE && v->next_iteration != EDDY_NO_NODE &&
           v->switch_ != EDDY_NO_NODE &&
           eddy__flow_node(flow, v->merge)->n_inputs == 2;
}

/* Does the body hand the variable back as it came? */
static bool is_unchanged(const eddy__flow *flow, const eddy_loop_variable *v)
{
    eddy_output next;

    if (!is_simple(flow, v) || is_fed(flow, v->next_iteration, 0))
        return false;
    next =
        trace_inside(flow, eddy__flow_node(flow, v->next_iteration)->inputs[0]);
    return next.node == v->merge && next.index == 0;
}

/* Of all frames' variables. */
static bool find_enters(finder *f, eddy__arena *scratch)
{
    const eddy_analysis *a = f->analysis;

    f->enter_of =
        eddy__arena_allocate(scratch, f->flow->n_nodes, sizeof *f->enter_of);
    if (!f->enter_of)
        return false;
    for (eddy_node v = 0; v < f->flow->n_nodes; v++)
        f->enter_of[v] = EDDY_NO_NODE;
    for (size_t i = 0; i < a->n_frames; i++)
        for (size_t j = 0; j < a->frames[i].n_variables; j++) {
            const eddy_loop_variable *v = &a->frames[i].variables[j];

            if (is_unchanged(f->flow, v))
                f->enter_of[v->merge] = v->enter;
        }
    return true;
}

static bool is_constant(const eddy__flow *flow, eddy_output v)
{
    return v.node != EDDY_NO_NODE && flow->role[v.node] == EDDY__ROLE_CONST;
}

/* Is it the same in all iterations of the frame? */
static bool is_invariant(const finder *f, eddy_output v)
{
    return v.node != EDDY_NO_NODE &&
           (is_constant(f->flow, v) ||
            f->analysis->output_frame[v.node] != f->frame);
}

/* ---- constants ---- */

/* The value of a Const of one integer. */
static bool find_integer(const eddy__flow *flow, eddy_output v, int64_t *out,
                         eddy__range *out_range)
{
    const eddy_attr *attr;

    if (!is_constant(flow, v))
        return false;
    attr = eddy__node_attr(eddy__flow_node(flow, v.node), "value");
    if (!attr || attr->kind != EDDY_ATTR_TENSOR || attr->n != 1 ||
        eddy_tensor_count(attr->as.tensors[0]) != 1 ||
        !eddy__integer_range(eddy_tensor_dtype(attr->as.tensors[0]), out_range))
        return false;
    *out = eddy__trips_read_integer(attr->as.tensors[0]);
    return true;
}

static int64_t known_trips(const finder *f, const eddy_trip_counter *t)
{
    eddy__counted c;
    eddy__range of_others;

    if (!find_integer(f->flow, t->start, &c.start, &c.range) ||
        !find_integer(f->flow, t->step, &c.step, &of_others) ||
        !find_integer(f->flow, t->limit, &c.limit, &of_others) ||
        (t->is_subtracted && c.step == INT64_MIN))
        return -1;
    if (t->is_subtracted)
        c.step = -c.step;
    return eddy__count_trips(c, t->comparison);
}

/* ---- the counter ---- */

/* Is it the variable in an iteration? */
static bool is_variable(const eddy_loop_variable *v, eddy_output value)
{
    return value.node == v->merge && value.index == 0;
}

/* What every trip adds to the variable; false if that is no constant. */
static bool find_step(const finder *f, const eddy_loop_variable *v,
                      eddy_trip_counter *t)
{
    const eddy_output next = traced_input(f, v->next_iteration, 0);
    eddy_output x, y;

    if (next.node == EDDY_NO_NODE)
        return false;
    t->is_subtracted = is_op(f->flow, next, "Sub");
    if (!t->is_subtracted && !is_op(f->flow, next, "Add") &&
        !is_op(f->flow, next, "AddV2"))
        return false;
    x = traced_input(f, next.node, 0);
    y = traced_input(f, next.node, 1);
    if (!t->is_subtracted && is_variable(v, y)) {
        t->step = x;
        x = y;
    } else {
        t->step = y;
    }
    if (!is_variable(v, x) || t->step.node == EDDY_NO_NODE)
        return false;
    t->step = find_origin(f, t->step);
    return is_constant(f->flow, t->step);
}

/* What a comparison is called with its sides exchanged. */
static const struct {
    const char *op;
    eddy_comparison plain, exchanged;
} comparisons[] = {
    {"Less", EDDY_LESS, EDDY_GREATER},
    {"LessEqual", EDDY_LESS_EQUAL, EDDY_GREATER_EQUAL},
    {"Greater", EDDY_GREATER, EDDY_LESS},
    {"GreaterEqual", EDDY_GREATER_EQUAL, EDDY_LESS_EQUAL},
    {"NotEqual", EDDY_NOT_EQUAL, EDDY_NOT_EQUAL},
};

/* The variable of the frame that `value` is; EDDY__NOT_FOUND if none. */
static uint32_t variable_of(const finder *f, eddy_output value)
{
    const eddy_frame *frame = &f->analysis->frames[f->frame];

    for (uint32_t i = 0; i < frame->n_variables; i++)
        if (is_variable(&frame->variables[i], value))
            return i;
    return EDDY__NOT_FOUND;
}

/* Does input `side` of the comparison count, and the other one limit? */
static bool fill(const finder *f, eddy_node comparison, uint32_t side,
                 eddy_trip_counter *t)
{
    const eddy_output counter = traced_input(f, comparison, side);
    const eddy_output limit = traced_input(f, comparison, 1 - side);
    const uint32_t i = counter.node == EDDY_NO_NODE ? EDDY__NOT_FOUND
                                                    : variable_of(f, counter);
    const eddy_loop_variable *v;

    if (i == EDDY__NOT_FOUND || !is_invariant(f, limit))
        return false;
    v = &f->analysis->frames[f->frame].variables[i];
    if (!is_simple(f->flow, v))
        return false;
    t->variable = i;
    t->compared = eddy__flow_node(f->flow, comparison)->inputs[1 - side];
    t->limit = find_origin(f, limit);
    t->start = traced_input(f, v->enter, 0);
    if (t->start.node == EDDY_NO_NODE || !find_step(f, v, t))
        return false;
    t->start = find_origin(f, t->start);
    return true;
}

/* Does the loop go on only while `term` says that a counter is not done? */
static bool find_in_term(const finder *f, eddy_output term,
                         eddy_trip_counter *t)
{
    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++)
        if (is_op(f->flow, term, comparisons[i].op)) {
            t->comparison = comparisons[i].plain;
            if (fill(f, term.node, 0, t))
                return true;
            t->comparison = comparisons[i].exchanged;
            return fill(f, term.node, 1, t);
        }
    return false;
}

/* The first whose trips are known, or else the first. */
static bool find_counter(const finder *f, eddy_trip_counter *t)
{
    const eddy_node loop_cond = f->analysis->frames[f->frame].loop_cond;
    eddy_output terms[MOST_TERMS];
    bool is_only = true, is_found = false;
    size_t n = 1;

    terms[0] = traced_input(f, loop_cond, 0);
    while (n > 0) {
        const eddy_output term = terms[--n];
        eddy_trip_counter found = {.is_only = is_only};

        if (term.node == EDDY_NO_NODE)
            continue;
        if (find_in_term(f, term, &found)) {
            found.trips = known_trips(f, &found);
            if (!is_found || found.trips >= 0)
                *t = found;
            is_found = true;
            if (found.trips >= 0)
                return true;
        }
        is_only = false;
        if (is_op(f->flow, term, "LogicalAnd") && n + 2 <= MOST_TERMS) {
            terms[n++] = traced_input(f, term.node, 1);
            terms[n++] = traced_input(f, term.node, 0);
        }
    }
    return is_found;
}

eddy_status eddy__find_trip_counters(const eddy__flow *flow, eddy_analysis *a,
                                     eddy__arena *scratch, eddy_error *err)
{
    finder f = {.flow = flow, .analysis = a};

    if (!find_enters(&f, scratch))
        return eddy__fail_memory(err);
    for (f.frame = 1; f.frame < a->n_frames; f.frame++) {
        eddy_trip_counter counter;

        if (a->frames[f.frame].loop_cond == EDDY_NO_NODE ||
            !find_counter(&f, &counter))
            continue;
        a->frames[f.frame].trip_counter =
            eddy__arena_copy(&a->arena, &counter, 1, sizeof counter);
        if (!a->frames[f.frame].trip_counter)
            return eddy__fail_memory(err);
    }
    return EDDY_OK;
}

/* ---- progressions ---- */

/* The value of a Const of rank 0. */
static bool find_scalar(const finder *f, eddy_output v, int64_t *out)
{
    eddy__range any;

    return find_integer(f->flow, v, out, &any) &&
           eddy_tensor_shape(
               eddy__node_attr(eddy__flow_node(f->flow, v.node), "value")
                   ->as.tensors[0])
                   ->rank == 0;
}

/* Parts a sum of something and an integer constant. */
static bool part_sum(const finder *f, eddy_output sum, eddy_output *out_rest,
                     int64_t *out_added)
{
    const bool is_subtracted = is_op(f->flow, sum, "Sub");
    eddy_output x, y;

    if (!is_subtracted && !is_op(f->flow, sum, "Add") &&
        !is_op(f->flow, sum, "AddV2"))
        return false;
    x = traced_input(f, sum.node, 0);
    y = traced_input(f, sum.node, 1);
    if (x.node == EDDY_NO_NODE || y.node == EDDY_NO_NODE)
        return false;
    *out_rest = x;
    if (!find_scalar(f, y, out_added)) {
        *out_rest = y;
        return !is_subtracted && find_scalar(f, x, out_added);
    }
    return !is_subtracted || !__builtin_sub_overflow(0, *out_added, out_added);
}

static bool find_variable(const finder *f, eddy_output value,
                          eddy__progression *out)
{
    const uint32_t i = variable_of(f, value);
    const eddy_loop_variable *v;
    eddy_output start, rest;

    if (i == EDDY__NOT_FOUND)
        return false;
    v = &f->analysis->frames[f->frame].variables[i];
    if (!is_simple(f->flow, v) || v->enter == EDDY_NO_NODE)
        return false;
    start = traced_input(f, v->enter, 0);
    if (start.node == EDDY_NO_NODE || !find_scalar(f, start, &out->first))
        return false;
    rest = traced_input(f, v->next_iteration, 0);
    return rest.node != EDDY_NO_NODE && part_sum(f, rest, &rest, &out->step) &&
           is_variable(v, rest);
}

bool eddy__find_progression(const eddy__flow *flow, const eddy_analysis *a,
                            uint32_t frame, eddy_output value,
                            eddy__progression *out)
{
    const finder f = {.flow = flow, .analysis = a, .frame = frame};
    const eddy_dtype dtype =
        eddy_graph_output_dtype(flow->selection->graph, value);
    int64_t added = 0;

    value = trace(&f, value);
    if (dtype != EDDY_INT32 && dtype != EDDY_INT64)
        return false;
    if (!find_variable(&f, value, out) &&
        (!part_sum(&f, value, &value, &added) ||
         !find_variable(&f, value, out)))
        return false;
    return !__builtin_add_overflow(out->first, added, &out->first);
}
