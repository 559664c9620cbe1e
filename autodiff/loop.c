/*
 * The gradient of a loop is a loop.
 *
 * The forward loop gets a counter; its last value, the trip count, starts the
 * counter of the gradient loop, which runs down to 0.  Each loop variable whose
 * gradient is wanted is a variable of the gradient loop: it starts as the
 * gradient of the Exit, and its Exit is the gradient of the Enter.  An
 * invariant gets a variable that sums.
 */
#include "autodiff/walk.h"

#include "core/base/status.h"
#include "core/graph/name.h"

#include <stdio.h>
#include <string.h>

static const eddy_frame *frame_of(const eddy__walk *w, const eddy__scope *scope)
{
    return &w->analysis->frames[scope->frame];
}

static uint32_t outer_branch(const eddy__walk *w, const eddy__scope *scope)
{
    return w->branches.of_frame[scope->frame];
}

/* Enter, Merge and Switch of a loop variable; the back edge comes later. */
typedef struct variable {
    eddy_output merge, switch_;
} variable;

static variable start_variable(eddy__walk *w, const eddy__scope *scope,
                               eddy_output start)
{
    variable v;
    const eddy_output enter = eddy__emit_enter(
        w, start, scope->name, frame_of(w, scope)->parallel_iterations, false);

    v.merge = eddy__emit_op(w, "Merge", enter, enter);
    v.switch_ = eddy__emit_op(w, "Switch", v.merge, scope->loop_cond);
    return v;
}

/* The rest of it: what the next iteration gets, and the Exit. */
static eddy_output end_variable(eddy__walk *w, const variable *v,
                                eddy_output value)
{
    eddy__emit_back_edge(w, v->merge, eddy__emit_op(w, "NextIteration", value));
    return eddy__emit_op(w, "Exit", v->switch_);
}

/* ---- the forward loop's counter ---- */

static eddy_output one(eddy__walk *w)
{
    if (!eddy__is_output(w->one))
        w->one = eddy__emit_int(w, 1);
    return w->one;
}

/* A zero that is live where the loop is entered, after what ran before. */
static eddy_output count_from(eddy__walk *w, const eddy__scope *scope)
{
    const eddy__scope *parent = scope->parent;
    eddy_output zero = eddy__import_forward(
        w, eddy__emit_int(w, 0), parent->frame, outer_branch(w, scope));

    if (!parent->is_home)
        zero = eddy__emit_after(w, parent->count_add, "Identity", &zero, 1);
    return zero;
}

static void count_trips(eddy__walk *w, eddy__scope *scope)
{
    const eddy_frame *frame = frame_of(w, scope);
    const eddy_output loop_cond = {frame->loop_cond, 0};
    const eddy_output enter =
        eddy__emit_enter(w, count_from(w, scope), frame->name,
                         frame->parallel_iterations, false);
    const eddy_output merge = eddy__emit_op(w, "Merge", enter, enter);
    const eddy_output switch_ = eddy__emit_op(w, "Switch", merge, loop_cond);
    const eddy_output step = eddy__import_forward(w, one(w), scope->frame, 0);
    const eddy_output add =
        eddy__emit_op(w, "AddV2", eddy__port(switch_, 1), step);
    const eddy_output next = eddy__emit_op(w, "NextIteration", add);

    eddy__emit_back_edge(w, merge, next);
    scope->count_add = add.node;
    scope->count_next = next.node;
    scope->trips = eddy__emit_op(w, "Exit", switch_);
    eddy__sync_forward(w, scope->parent, scope->trips.node,
                       outer_branch(w, scope));
}

/* ---- the gradient loop ---- */

/* A frame name that is no other: that of a node which no node has yet. */
static void name_frame(eddy__walk *w, eddy__scope *scope)
{
    const char *forward = frame_of(w, scope)->name;
    const size_t size = strlen(w->prefix) + strlen(forward) + 2;
    char *base = eddy__arena_allocate(&w->graph->arena, size, 1);
    uint32_t suffix;

    if (base) {
        snprintf(base, size, "%s/%s", w->prefix, forward);
        scope->name = eddy__name_make(w->graph, base, &suffix);
    }
    if (!base || !scope->name)
        w->status = eddy__fail_memory(w->err);
}

/* How often it runs; not before what it reads has been pushed. */
static eddy_output trips_backward(eddy__walk *w, eddy__scope *scope)
{
    eddy_output n = eddy__save(w, scope->trips, scope->parent->frame,
                               outer_branch(w, scope));
    bool is_own = false;

    for (uint32_t i = scope->first_pushed; i != EDDY__END_OF_LIST;
         i = w->tapes.tapes[i].next_pushed) {
        const eddy__tape *tape = &w->tapes.tapes[i];

        if (tape->done == EDDY_NO_NODE)
            continue;
        if (!is_own)
            n = eddy__emit_op(w, "Identity", n);
        is_own = true;
        eddy__emit_control(w, n.node, tape->done);
    }
    return n;
}

/*
 * The loop's frame has its name from the first node in it, so that the name
 * stays taken.
 */
static void count_down(eddy__walk *w, eddy__scope *scope)
{
    const eddy_output n = trips_backward(w, scope);
    const int64_t parallel = frame_of(w, scope)->parallel_iterations;
    eddy_output enter, merge, switch_, step, next;

    name_frame(w, scope);
    if (w->status != EDDY_OK)
        return;
    enter = eddy__emit_first_enter(w, n, scope->name, parallel);
    merge = eddy__emit_op(w, "Merge", enter, enter);
    step = eddy__import(w, one(w), scope);
    scope->loop_cond = eddy__emit_op(
        w, "LoopCond", eddy__emit_op(w, "GreaterEqual", merge, step));
    switch_ = eddy__emit_op(w, "Switch", merge, scope->loop_cond);
    scope->pivot = eddy__emit_op(w, "Sub", eddy__port(switch_, 1), step);
    next = eddy__emit_op(w, "NextIteration", scope->pivot);
    eddy__emit_back_edge(w, merge, next);
    scope->back_next = next.node;
    scope->back_exit = eddy__emit_op(w, "Exit", switch_).node;
    eddy__sync_backward(w, scope->parent, scope->back_exit,
                        outer_branch(w, scope));
}

/* ---- opening ---- */

/* The gradient of the variable's last value, in the scope around the loop. */
static eddy_output exit_gradient(eddy__walk *w, const eddy__scope *scope,
                                 const eddy_loop_variable *v)
{
    const uint32_t branch = outer_branch(w, scope);
    eddy_output exit = {v->exit, 0}, sum = EDDY__NO_OUTPUT;
    uint32_t from;

    if (v->exit != EDDY_NO_NODE)
        sum = eddy__sum(w, exit);
    if (eddy__is_output(sum))
        return sum;
    if (v->exit == EDDY_NO_NODE)
        return eddy__zeros_of_new(
            w, eddy__emit_op(w, "Exit", (eddy_output){v->switch_, 0}),
            scope->parent->frame, branch);
    sum = eddy__zeros_like(w, exit, &from);
    return eddy__guard(w, sum, from, branch);
}

static void open_variable(eddy__walk *w, eddy__scope *scope,
                          const eddy_loop_variable *v)
{
    eddy__back_variable *back =
        eddy__arena_allocate_zeroed(&w->arena, 1, sizeof *back);
    variable made;

    if (!back) {
        w->status = eddy__fail_memory(w->err);
        return;
    }
    w->at = v->merge;
    made = start_variable(w, scope, exit_gradient(w, scope, v));
    back->forward = v;
    back->merge = made.merge;
    back->switch_ = made.switch_;
    back->next = scope->variables;
    scope->variables = back;
    w->back_of[v->merge] = back;
    if (v->next_iteration != EDDY_NO_NODE &&
        eddy__is_active(w, v->next_iteration))
        eddy__add_gradient(
            w, eddy__graph_node(w->graph, v->next_iteration)->inputs[0],
            eddy__port(made.switch_, 1),
            w->branches.of_node[v->next_iteration]);
}

/* The loop must be what the front ends make of one. */
static bool check_variable(eddy__walk *w, const eddy_frame *frame,
                           const eddy_loop_variable *v)
{
    const char *what = NULL;

    if (frame->loop_cond == EDDY_NO_NODE)
        what = "is in a loop without a LoopCond";
    else if (v->switch_ == EDDY_NO_NODE)
        what = "has no Switch of its loop";
    if (what)
        eddy__walk_fail(w, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT, v->merge,
                        "a gradient goes through this loop variable, which %s",
                        what);
    return !what;
}

void eddy__loop_open(eddy__walk *w, eddy__scope *scope)
{
    const eddy_frame *frame = frame_of(w, scope);

    w->at = frame->loop_cond;
    for (size_t i = 0; i < frame->n_variables; i++)
        if (frame->variables[i].merge != EDDY_NO_NODE &&
            eddy__is_active(w, frame->variables[i].merge) &&
            !check_variable(w, frame, &frame->variables[i]))
            return;
    if (frame->loop_cond == EDDY_NO_NODE) {
        eddy__walk_fail(w, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT, EDDY_NO_NODE,
                        "a gradient goes through frame '%s', which has no "
                        "LoopCond",
                        frame->name);
        return;
    }
    eddy__prepare(w, scope->parent->frame, outer_branch(w, scope));
    count_trips(w, scope);
    count_down(w, scope);
    for (size_t i = 0; i < frame->n_variables && w->status == EDDY_OK; i++) {
        const eddy_loop_variable *v = &frame->variables[i];

        if (v->merge != EDDY_NO_NODE && eddy__is_active(w, v->merge) &&
            !w->back_of[v->merge])
            open_variable(w, scope, v);
    }
}

/* ---- closing ---- */

static void close_variable(eddy__walk *w, const eddy__scope *scope,
                           eddy__back_variable *back)
{
    const variable v = {back->merge, back->switch_};
    const eddy_output body = {back->forward->switch_, 1};
    eddy_output sum;
    uint32_t from;

    w->at = back->forward->merge;
    sum = eddy__sum(w, body);
    if (!eddy__is_output(sum)) {
        /* Zeros are invariant; what ends the loop ends them too. */
        sum = eddy__zeros_like(w, body, &from);
        sum = eddy__emit_after(w, scope->pivot.node, "Identity", &sum, 1);
    }
    back->exit = end_variable(w, &v, sum);
}

/* One iteration after the other adds to a sum that starts with zeros. */
static eddy_output close_invariant(eddy__walk *w, eddy__scope *scope,
                                   eddy_node enter)
{
    const eddy_output inner = {enter, 0};
    const eddy_output outer = eddy__graph_node(w->graph, enter)->inputs[0];
    const bool is_list =
        eddy_graph_output_dtype(w->graph, outer) == EDDY_VARIANT;
    uint32_t from;
    eddy_output zeros, sum;
    variable v;

    w->at = enter;
    zeros = eddy__zeros_like(w, outer, &from);
    zeros = eddy__guard(w, zeros, from, w->branches.of_node[enter]);
    v = start_variable(w, scope, zeros);
    sum = eddy__port(v.switch_, 1);
    sum = is_list ? eddy__sum_list(w, inner, sum)
                  : eddy__emit_op(w, "AddV2", sum, eddy__sum(w, inner));
    return end_variable(w, &v, sum);
}

static void add_to_enter(eddy__walk *w, eddy_node enter, eddy_output gradient)
{
    const eddy_output outer = eddy__graph_node(w->graph, enter)->inputs[0];

    if (eddy__is_active(w, enter) && eddy__is_active_edge(w, outer))
        eddy__add_gradient(w, outer, gradient, w->branches.of_node[enter]);
}

/* Once, though several variables may start from one Enter. */
static void release_enter(eddy__walk *w, eddy_node enter)
{
    if (!eddy__is_active(w, enter) || (w->state[enter] & EDDY__RELEASED))
        return;
    w->state[enter] |= EDDY__RELEASED;
    eddy__release_inputs(w, enter);
}

void eddy__loop_close(eddy__walk *w, eddy__scope *scope)
{
    const eddy_frame *frame = frame_of(w, scope);

    for (eddy__back_variable *b = scope->variables; b && w->status == EDDY_OK;
         b = b->next)
        close_variable(w, scope, b);
    for (size_t i = 0; i < frame->n_variables && w->status == EDDY_OK; i++) {
        const eddy_node merge = frame->variables[i].merge;

        if (merge != EDDY_NO_NODE && w->back_of[merge])
            add_to_enter(w, frame->variables[i].enter, w->back_of[merge]->exit);
    }
    for (size_t i = 0; i < frame->n_invariants && w->status == EDDY_OK; i++) {
        const eddy_node enter = frame->invariants[i];

        if (eddy__is_active(w, enter) &&
            eddy__has_gradient(w, (eddy_output){enter, 0}))
            add_to_enter(w, enter, close_invariant(w, scope, enter));
    }
    for (size_t i = 0; i < frame->n_variables; i++)
        release_enter(w, frame->variables[i].enter);
    for (size_t i = 0; i < frame->n_invariants; i++)
        release_enter(w, frame->invariants[i]);
}
