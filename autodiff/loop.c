/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradient of a loop is a loop.
 *
 * The forward loop gets a counter; its last value, the trip count, starts the
 * counter of the gradient loop, which runs down to 0.  Each loop variable whose
 * gradient is wanted is a variable of the gradient loop: it starts as the
 * gradient of the Exit, and its Exit is the gradient of the Enter.  An
 * invariant gets a variable that sums.
 */
#include "autodiff/policy.h"
#include "autodiff/reverse.h"

eddy__reverse_variable
eddy__loop_start(eddy__reverse *r, const eddy__loop *loop, eddy_output start)
{
    eddy__reverse_variable v;
    const eddy_output enter =
        eddy__emit_enter(&r->e, start, loop->scope->name,
                         eddy__loop_frame(r, loop)->parallel_iterations, false);

    v.merge = eddy__emit_op(&r->e, "Merge", enter, enter);
    v.switch_ = eddy__emit_op(&r->e, "Switch", v.merge, loop->loop_cond);
    return v;
}

eddy_output eddy__loop_end(eddy__reverse *r, const eddy__reverse_variable *v,
                           eddy_output value)
{
    eddy__emit_back_edge(&r->e, v->merge,
                         eddy__emit_op(&r->e, "NextIteration", value));
    return eddy__emit_op(&r->e, "Exit", v->switch_);
}

/* ---- the forward loop's counter ---- */

eddy_output eddy__loop_one(eddy__reverse *r)
{
    eddy__base *base = r->places.at;

    if (!eddy__output_exists(base->one))
        base->one = eddy__emit_int(&r->e, 1);
    return base->one;
}

eddy_output eddy__loop_count_from(eddy__reverse *r, const eddy__loop *loop)
{
    const eddy__scope *parent = loop->scope->parent;
    eddy_output zero =
        eddy__place_import_forward(&r->places, eddy__emit_int(&r->e, 0),
                                   parent->frame, eddy__loop_branch(r, loop));

    if (!parent->is_base)
        zero = eddy__emit_after(&r->e, parent->count_add, "Identity", &zero, 1);
    return zero;
}

static void count_trips(eddy__reverse *r, eddy__loop *loop)
{
    const eddy_frame *frame = eddy__loop_frame(r, loop);
    const eddy_output loop_cond = {frame->loop_cond, 0};
    const eddy_output enter =
        eddy__emit_enter(&r->e, eddy__loop_count_from(r, loop), frame->name,
                         frame->parallel_iterations, false);
    const eddy_output merge = eddy__emit_op(&r->e, "Merge", enter, enter);
    const eddy_output switch_ =
        eddy__emit_op(&r->e, "Switch", merge, loop_cond);
    const eddy_output step = eddy__place_import_forward(
        &r->places, eddy__loop_one(r), loop->scope->frame, 0);
    const eddy_output add =
        eddy__emit_op(&r->e, "AddV2", eddy__output_port(switch_, 1), step);
    const eddy_output next = eddy__emit_op(&r->e, "NextIteration", add);

    eddy__emit_back_edge(&r->e, merge, next);
    loop->scope->count_add = add.node;
    loop->scope->count_next = next.node;
    loop->trips = eddy__emit_op(&r->e, "Exit", switch_);
    eddy__order_forward(&r->places, loop->scope->parent, loop->trips.node,
                        eddy__loop_branch(r, loop));
}

/* ---- the gradient loop ---- */

/* How often it runs; not before what it reads has been pushed. */
static eddy_output trips_backward(eddy__reverse *r, eddy__loop *loop)
{
    eddy_output n =
        eddy__stack_save(&r->primals, loop->trips, loop->scope->parent->frame,
                         eddy__loop_branch(r, loop));
    bool is_own = false;

    for (uint32_t i = loop->first_pushed; i != EDDY__END_OF_LIST;
         i = r->tapes[i].next_pushed) {
        const eddy__tape_gradient *tape = &r->tapes[i];

        if (tape->done == EDDY_NO_NODE)
            continue;
        if (!is_own)
            n = eddy__emit_op(&r->e, "Identity", n);
        is_own = true;
        eddy__emit_control(&r->e, n.node, tape->done);
    }
    return n;
}

/* A tape between the gradient loop and its gradient spills as that before. */
static void inherit_policy(eddy__reverse *r, const eddy__loop *loop)
{
    const eddy_node forward = eddy__loop_frame(r, loop)->loop_cond;

    if (r->e.core.status == EDDY_OK &&
        eddy__policy_of(r->e.core.graph, forward) == EDDY_TAPE_SPILL)
        eddy__policy_note(&r->e, loop->loop_cond.node, EDDY_TAPE_SPILL);
}

/*
 * The loop's frame has its name from the first node in it, so that the name
 * stays taken.
 */
eddy_output eddy__loop_count_down(eddy__reverse *r, eddy__loop *loop,
                                  eddy_output n)
{
    const int64_t parallel = eddy__loop_frame(r, loop)->parallel_iterations;
    eddy_output enter, merge, switch_, step, next;

    /* No other frame has it: the name is that of no node yet. */
    loop->scope->name =
        eddy__emit_free_name(&r->e, NULL, eddy__loop_frame(r, loop)->name);
    if (r->e.core.status != EDDY_OK)
        return EDDY__NO_OUTPUT;
    enter = eddy__emit_first_enter(&r->e, n, loop->scope->name, parallel);
    merge = eddy__emit_op(&r->e, "Merge", enter, enter);
    step = eddy__place_import(&r->places, eddy__loop_one(r), loop->scope);
    loop->loop_cond = eddy__emit_op(
        &r->e, "LoopCond", eddy__emit_op(&r->e, "GreaterEqual", merge, step));
    inherit_policy(r, loop);
    switch_ = eddy__emit_op(&r->e, "Switch", merge, loop->loop_cond);
    loop->scope->pivot =
        eddy__emit_op(&r->e, "Sub", eddy__output_port(switch_, 1), step);
    next = eddy__emit_op(&r->e, "NextIteration", loop->scope->pivot);
    eddy__emit_back_edge(&r->e, merge, next);
    loop->scope->back_next = next.node;
    loop->scope->back_exit = eddy__emit_op(&r->e, "Exit", switch_).node;
    eddy__order_backward(&r->places, loop->scope->parent,
                         loop->scope->back_exit, eddy__loop_branch(r, loop));
    return switch_;
}

/* ---- opening ---- */

eddy_output eddy__loop_exit_gradient(eddy__reverse *r, const eddy__loop *loop,
                                     const eddy_loop_variable *v)
{
    const uint32_t branch = eddy__loop_branch(r, loop);
    eddy_output exit = {v->exit, 0}, sum = EDDY__NO_OUTPUT;
    uint32_t from;

    if (v->exit != EDDY_NO_NODE)
        sum = eddy__sum_make(&r->sums, exit);
    if (eddy__output_exists(sum))
        return sum;
    if (v->exit == EDDY_NO_NODE)
        return eddy__zeros_of_new(
            &r->primals,
            eddy__emit_op(&r->e, "Exit", (eddy_output){v->switch_, 0}),
            loop->scope->parent->frame, branch);
    sum = eddy__zeros_like(&r->primals, exit, &from);
    return eddy__primal_guard(&r->primals, sum, from, branch);
}

static void open_variable(eddy__reverse *r, eddy__loop *loop,
                          const eddy_loop_variable *v)
{
    eddy__back_variable *back = eddy__emit_zeroed_room(&r->e, 1, sizeof *back);
    eddy__reverse_variable made;

    if (!back)
        return;
    r->e.at = v->merge;
    made = eddy__loop_start(r, loop, eddy__loop_exit_gradient(r, loop, v));
    back->forward = v;
    back->merge = made.merge;
    back->switch_ = made.switch_;
    back->next = loop->variables;
    loop->variables = back;
    r->back_of[v->merge] = back;
    if (v->next_iteration != EDDY_NO_NODE &&
        eddy__activity_has(&r->activity, v->next_iteration))
        eddy__sum_add(
            &r->sums,
            eddy__graph_node(r->e.core.graph, v->next_iteration)->inputs[0],
            eddy__output_port(made.switch_, 1),
            r->study.branches.of_node[v->next_iteration]);
}

/* The loop must be what the front ends make of one. */
static bool check_variable(eddy__reverse *r, const eddy_frame *frame,
                           const eddy_loop_variable *v)
{
    const char *what = NULL;

    if (frame->loop_cond == EDDY_NO_NODE)
        what = "is in a loop without a LoopCond";
    else if (v->switch_ == EDDY_NO_NODE)
        what = "has no Switch of its loop";
    if (what)
        eddy__emit_fail(&r->e, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT, v->merge,
                        "a gradient goes through this loop variable, which %s",
                        what);
    return !what;
}

bool eddy__loop_check(eddy__reverse *r, const eddy__loop *loop)
{
    const eddy_frame *frame = eddy__loop_frame(r, loop);

    r->e.at = frame->loop_cond;
    for (size_t i = 0; i < frame->n_variables; i++)
        if (frame->variables[i].merge != EDDY_NO_NODE &&
            eddy__activity_has(&r->activity, frame->variables[i].merge) &&
            !check_variable(r, frame, &frame->variables[i]))
            return false;
    if (frame->loop_cond == EDDY_NO_NODE)
        eddy__emit_fail(&r->e, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT,
                        EDDY_NO_NODE,
                        "a gradient goes through frame '%s', which has no "
                        "LoopCond",
                        frame->name);
    return frame->loop_cond != EDDY_NO_NODE;
}

void eddy__loop_open(eddy__reverse *r, eddy__loop *loop)
{
    const eddy_frame *frame = eddy__loop_frame(r, loop);

    eddy__primal_prepare(&r->primals, loop->scope->parent->frame,
                         eddy__loop_branch(r, loop));
    count_trips(r, loop);
    eddy__loop_count_down(r, loop, trips_backward(r, loop));
    for (size_t i = 0; i < frame->n_variables && r->e.core.status == EDDY_OK;
         i++) {
        const eddy_loop_variable *v = &frame->variables[i];

        if (v->merge != EDDY_NO_NODE &&
            eddy__activity_has(&r->activity, v->merge) && !r->back_of[v->merge])
            open_variable(r, loop, v);
    }
}

/* ---- closing ---- */

static void close_variable(eddy__reverse *r, const eddy__loop *loop,
                           eddy__back_variable *back)
{
    const eddy__reverse_variable v = {back->merge, back->switch_};
    const eddy_output body = {back->forward->switch_, 1};
    eddy_output sum;
    uint32_t from;

    r->e.at = back->forward->merge;
    sum = eddy__sum_make(&r->sums, body);
    if (!eddy__output_exists(sum)) {
        /* Zeros are invariant; what ends the loop ends them too. */
        sum = eddy__zeros_like(&r->primals, body, &from);
        sum = eddy__emit_after(&r->e, loop->scope->pivot.node, "Identity", &sum,
                               1);
    }
    back->exit = eddy__loop_end(r, &v, sum);
}

eddy_output eddy__loop_invariant_zeros(eddy__reverse *r, eddy_node enter)
{
    const eddy_output outer =
        eddy__graph_node(r->e.core.graph, enter)->inputs[0];
    uint32_t from;
    const eddy_output zeros = eddy__zeros_like(&r->primals, outer, &from);

    return eddy__primal_guard(&r->primals, zeros, from,
                              r->study.branches.of_node[enter]);
}

/* Zeros, or what the trips of later segments have summed up to. */
static eddy_output invariant_start(eddy__reverse *r, eddy_node enter)
{
    const eddy_output outer =
        eddy__graph_node(r->e.core.graph, enter)->inputs[0];

    const uint32_t x =
        r->is_inner ? eddy__activity_x(&r->activity, outer) : EDDY__NOT_FOUND;

    if (x != EDDY__NOT_FOUND && eddy__output_exists(r->sums_of_xs[x]))
        return r->sums_of_xs[x];
    return eddy__loop_invariant_zeros(r, enter);
}

/* One iteration after the other adds to a sum. */
static eddy_output close_invariant(eddy__reverse *r, eddy__loop *loop,
                                   eddy_node enter)
{
    const eddy_output inner = {enter, 0};
    const bool is_list =
        eddy_graph_output_dtype(r->e.core.graph, inner) == EDDY_VARIANT;
    eddy_output sum;
    eddy__reverse_variable v;

    r->e.at = enter;
    v = eddy__loop_start(r, loop, invariant_start(r, enter));
    sum = eddy__output_port(v.switch_, 1);
    sum = is_list ? eddy__list_sum_make(&r->sums, inner, sum)
                  : eddy__emit_op(&r->e, "AddV2", sum,
                                  eddy__sum_make(&r->sums, inner));
    return eddy__loop_end(r, &v, sum);
}

void eddy__loop_add_to_enter(eddy__reverse *r, eddy_node enter,
                             eddy_output gradient)
{
    const eddy_output outer =
        eddy__graph_node(r->e.core.graph, enter)->inputs[0];

    if (eddy__activity_has(&r->activity, enter) &&
        eddy__activity_is_edge(&r->activity, outer))
        eddy__sum_add(&r->sums, outer, gradient,
                      r->study.branches.of_node[enter]);
}

void eddy__loop_close(eddy__reverse *r, eddy__loop *loop)
{
    const eddy_frame *frame = eddy__loop_frame(r, loop);

    for (eddy__back_variable *b = loop->variables;
         b && r->e.core.status == EDDY_OK; b = b->next)
        close_variable(r, loop, b);
    for (size_t i = 0; i < frame->n_variables && r->e.core.status == EDDY_OK;
         i++) {
        const eddy_node merge = frame->variables[i].merge;

        if (merge != EDDY_NO_NODE && r->back_of[merge])
            eddy__loop_add_to_enter(r, frame->variables[i].enter,
                                    r->back_of[merge]->exit);
    }
    for (size_t i = 0; i < frame->n_invariants && r->e.core.status == EDDY_OK;
         i++) {
        const eddy_node enter = frame->invariants[i];

        if (eddy__activity_has(&r->activity, enter) &&
            eddy__contribution_list(&r->sums, (eddy_output){enter, 0}))
            eddy__loop_add_to_enter(r, enter, close_invariant(r, loop, enter));
    }
}
