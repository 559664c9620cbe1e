/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients in the body of a loop with respect to what is outside of it, in
 * reverse: the trips that are over are made again.
 *
 * The ys depend on the state that their iteration began with, and the walk has
 * found the gradients by that.  A copy of the loop, in the body and in a frame
 * of its own, computes that state from the first values and the invariants:
 *
 *     while ...:                        k = 0
 *         v = r, the state after k trips: j = 0; r = first
 *                                         while j < k: j += 1; r = body(r)
 *         g = dy / dv
 *         dx = g * dr / dx              a loop like any other
 *         v = body(v); k += 1
 *
 * Where the copy's gradient, with g for a start, is asked for in turn, as
 * another round, no back edge of that loop is in the way.  Back edges of loops
 * around it may be: then that round makes the trips of those loops again.
 */
#include "autodiff/over_trips.h"
#include "autodiff/replica.h"

#include "core/base/status.h"

#include <string.h>

/* The replica of one loop, the base frame's or one around it. */
typedef struct copying {
    eddy__replica replica;
    eddy__reverse *r;
    eddy__recomputed *again;
} copying;

static const eddy__node *node_at(const copying *c, eddy_node node)
{
    return eddy__graph_node(c->r->e.core.graph, node);
}

static void refuse(copying *c, eddy_node node, const char *why)
{
    eddy__emit_fail(&c->r->e, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT, node,
                    "a gradient asked for in the loop '%s' makes trips of '%s' "
                    "again, but %s",
                    c->r->study.analysis->frames[c->r->places.base].name,
                    c->replica.loop->name, why);
}

/* ---- variables ---- */

/* Past Identities, Switches and constant Enters; do they lead into a loop? */
static eddy_output handle_source(const eddy_graph *graph, eddy_output v,
                                 bool *out_in_loop)
{
    const eddy__node *node = eddy__graph_node(graph, v.node);

    *out_in_loop = false;
    for (size_t i = 0; i < graph->n_nodes && node->n_inputs > 0 &&
                       eddy__op_hands_on(eddy__node_role(node));
         i++) {
        *out_in_loop =
            *out_in_loop || eddy__node_role(node) == EDDY__ROLE_ENTER;
        v = node->inputs[0];
        node = eddy__graph_node(graph, v.node);
    }
    return v;
}

static bool is_op(const eddy__node *node, const char *op)
{
    return strcmp(node->op_name, op) == 0;
}

/* May the node, of a loop, change the variable that `source` is a handle of? */
static bool may_change(const eddy_graph *graph, const eddy__node *node,
                       eddy_output source)
{
    if (is_op(node, "ReadVariableOp") || is_op(node, "VariableShape") ||
        (node->op && !(node->op->flags & EDDY_OP_STATEFUL)))
        return false;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const eddy_output input = node->inputs[i];
        bool in_loop;
        eddy_output from;

        if (eddy_graph_output_dtype(graph, input) != EDDY_RESOURCE)
            continue;
        from = handle_source(graph, input, &in_loop);
        /* Where a handle is from is not known behind a Merge. */
        if (eddy__node_role(eddy__graph_node(graph, from.node)) ==
                EDDY__ROLE_MERGE ||
            (in_loop && from.node == source.node))
            return true;
    }
    return false;
}

/* The ys are not in the loop's body if constants wait for one of its Merges. */
static bool is_out_of_body(const eddy__reverse *r)
{
    return r->e.control < r->study.n_nodes &&
           r->study.flow.role[r->e.control] == EDDY__ROLE_MERGE;
}

/*
 * Is it a read of a variable that no loop changes?  Then what this trip reads
 * is what every trip has read.  It must be live whenever the ys may be.
 */
static bool is_steady_read(void *owner, eddy_node node)
{
    const copying *c = owner;
    const eddy_graph *graph = c->r->e.core.graph;
    const eddy__node *n = node_at(c, node);
    eddy_output source;
    bool in_loop;

    if (!is_op(n, "ReadVariableOp") || c->replica.frame != c->r->places.base ||
        c->r->study.analysis->node_frame[node] != c->replica.frame ||
        eddy__study_branch(&c->r->study, (eddy_output){node, 0}) != 0 ||
        is_out_of_body(c->r))
        return false;
    source = handle_source(graph, n->inputs[0], &in_loop);
    if (!is_op(eddy__graph_node(graph, source.node), "VarHandleOp"))
        return false;
    for (eddy_node v = 0; v < c->r->study.n_nodes; v++)
        if (may_change(graph, eddy__graph_node(graph, v), source))
            return false;
    return true;
}

/* ---- the trips made so far ---- */

/* How many trips the loop has made, counted in it; given in the base frame. */
static eddy_output count_trips(copying *c, eddy_node merge)
{
    eddy__reverse *r = c->r;
    const eddy_frame *loop = c->replica.loop;
    const uint32_t variable = c->replica.variable_of[merge] - 1;
    const eddy_output first =
        node_at(c, loop->variables[variable].enter)->inputs[0];
    /* A Switch says that it ran, its Identity which way. */
    const eddy_node like = eddy__emit_op(&r->e, "Identity", first).node;
    const eddy_output zero = eddy__emit_int_after(&r->e, like, 0);
    const eddy_output one = eddy__emit_int_after(&r->e, like, 1);
    const int64_t parallel = loop->parallel_iterations;
    const eddy_output enter =
        eddy__emit_enter(&r->e, zero, loop->name, parallel, false);
    const eddy_output count = eddy__emit_op(&r->e, "Merge", enter, enter);
    eddy_output more;

    more = eddy__emit_op(&r->e, "Switch", count,
                         ((eddy_output){loop->loop_cond, 0}));
    more =
        eddy__emit_op(&r->e, "AddV2", eddy__output_port(more, 1),
                      eddy__emit_enter(&r->e, one, loop->name, parallel, true));
    eddy__emit_back_edge(&r->e, count,
                         eddy__emit_op(&r->e, "NextIteration", more));
    return eddy__place_enter_base(&r->places, count, c->replica.frame);
}

/* The first values and the invariants enter the copy. */
static void enter_values(copying *c, eddy_node gate)
{
    eddy__replica *replica = &c->replica;

    for (size_t i = 0; i < replica->n && c->r->e.core.status == EDDY_OK; i++) {
        const eddy_node node = replica->list[i];
        eddy_output v = {node, 0};

        if (replica->variable_of[node] != 0)
            v = node_at(c,
                        replica->loop->variables[replica->variable_of[node] - 1]
                            .enter)
                    ->inputs[0];
        else if (!eddy__replica_is_invariant(replica, node) &&
                 !replica->is_entered[node])
            continue;
        eddy__replica_enter(replica, node,
                            eddy__primal_value(&c->r->primals, v), gate);
    }
}

/* ---- a loop ---- */

/* The gradient by the state that an iteration begins with. */
static eddy_output state_gradient(copying *c, const eddy_loop_variable *v)
{
    eddy_output by_merge =
        eddy__sum_make(&c->r->sums, (eddy_output){v->merge, 0});
    eddy_output by_switch = EDDY__NO_OUTPUT;

    if (v->switch_ != EDDY_NO_NODE)
        by_switch = eddy__sum_make(&c->r->sums, (eddy_output){v->switch_, 1});
    if (!eddy__output_exists(by_merge))
        return by_switch;
    return eddy__output_exists(by_switch)
               ? eddy__emit_op(&c->r->e, "AddN", by_merge, by_switch)
               : by_merge;
}

/* The gradients of all states; gives a node that is live when they are. */
static eddy_node take_gradients(copying *c, eddy_output *gradients)
{
    eddy_node gate = EDDY_NO_NODE;

    for (size_t i = 0; i < c->replica.loop->n_variables; i++) {
        const eddy_loop_variable *v = &c->replica.loop->variables[i];

        gradients[i] = EDDY__NO_OUTPUT;
        if (v->merge == EDDY_NO_NODE || !c->r->recomputed[v->merge] ||
            c->replica.variable_of[v->merge] != i + 1)
            continue;
        gradients[i] = state_gradient(c, v);
        if (!eddy__output_exists(gradients[i]))
            continue;
        if (eddy_graph_output_dtype(c->r->e.core.graph, gradients[i]) ==
            EDDY_RESOURCE) {
            refuse(c, v->merge, "it is a handle");
            return gate;
        }
        if (gate == EDDY_NO_NODE)
            gate = eddy__emit_op(&c->r->e, "Identity", gradients[i]).node;
    }
    return gate;
}

static void copy_loop(copying *c)
{
    eddy__replica *replica = &c->replica;
    eddy__recomputed *again = c->again;
    eddy__reverse *r = c->r;
    eddy_output *gradients;
    eddy_node gate;

    gradients = eddy__emit_room(&r->e, replica->loop->n_variables + 1,
                                sizeof *gradients);
    eddy__replica_find(replica, r->recomputed);
    if (replica->why_not && r->e.core.status == EDDY_OK)
        refuse(c, replica->at, replica->why_not);
    if (replica->n == 0 || r->e.core.status != EDDY_OK)
        return;
    r->e.at = replica->list[0];
    gate = take_gradients(c, gradients);
    if (gate == EDDY_NO_NODE || r->e.core.status != EDDY_OK)
        return;
    eddy__replica_start(replica, count_trips(c, replica->list[0]), gate);
    enter_values(c, gate);
    eddy__replica_copy(replica);
    for (size_t i = 0; i < replica->n && r->e.core.status == EDDY_OK; i++) {
        const eddy_node node = replica->list[i];
        const uint32_t v = replica->variable_of[node];
        eddy_output end;

        if (v == 0)
            continue;
        end = eddy__replica_end(replica, node);
        if (!r->recomputed[node] || !eddy__output_exists(gradients[v - 1]))
            continue;
        again->ys[again->n] = end;
        again->grad_ys[again->n++] = gradients[v - 1];
    }
    /* A node that counts as a constant does so in the copy, too. */
    again->n_stop += eddy__replica_stops(
        replica, r->asked.stop, r->asked.n_stop, again->stop + again->n_stop);
}

static void recompute_loop(eddy__reverse *r, uint32_t frame,
                           eddy__recomputed *again)
{
    copying c = {.replica.is_given = is_steady_read, .r = r, .again = again};

    c.replica.owner = &c;
    eddy__replica_begin(&c.replica, &r->e, &r->study, &r->replica, frame);
    if (r->e.core.status == EDDY_OK)
        copy_loop(&c);
    eddy__replica_drop(&c.replica);
}

/* ---- all of them ---- */

static bool can_copy(eddy__reverse *r, uint32_t frame)
{
    const eddy_frame *loop = &r->study.analysis->frames[frame];

    if (loop->loop_cond == EDDY_NO_NODE)
        eddy__emit_fail(&r->e, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT,
                        EDDY_NO_NODE,
                        "a gradient goes through trips of frame '%s' that are "
                        "over, and it has no LoopCond",
                        loop->name);
    else if (eddy__graph_check_closed(r->e.core.graph, NULL) != EDDY_OK)
        eddy__emit_fail(&r->e, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT,
                        loop->loop_cond,
                        "a gradient goes through trips of its loop that are "
                        "over, and a construct is open");
    return r->e.core.status == EDDY_OK;
}

static bool prepare(eddy__reverse *r, eddy__recomputed *again)
{
    const size_t n_stop = r->asked.n_stop;
    size_t n = 0, depth = 1;

    for (eddy_node v = 0; v < r->study.n_nodes; v++)
        n += r->recomputed[v];
    for (uint32_t f = r->places.base; f != 0;
         f = r->study.analysis->frames[f].parent)
        depth++;
    *again = (eddy__recomputed){.arena = again->arena};
    again->ys = eddy__arena_allocate(&again->arena, n + 1, sizeof *again->ys);
    again->grad_ys =
        eddy__arena_allocate(&again->arena, n + 1, sizeof *again->grad_ys);
    if (n_stop < SIZE_MAX / depth)
        again->stop = eddy__arena_allocate(&again->arena, n_stop * depth + 1,
                                           sizeof *again->stop);
    if (!again->ys || !again->grad_ys || !again->stop) {
        r->e.core.status = eddy__fail_memory(r->e.core.err);
        return false;
    }
    if (n_stop > 0)
        memcpy(again->stop, r->asked.stop, n_stop * sizeof *again->stop);
    again->n_stop = n_stop;
    return true;
}

void eddy__recompute_trips(eddy__reverse *r, eddy__recomputed *again)
{
    if (r->e.core.status != EDDY_OK || !prepare(r, again))
        return;
    for (uint32_t f = r->places.base; f != 0;
         f = r->study.analysis->frames[f].parent) {
        bool is_wanted = false;

        for (size_t i = 0; i < r->study.analysis->frames[f].n_variables; i++) {
            const eddy_node merge =
                r->study.analysis->frames[f].variables[i].merge;

            is_wanted =
                is_wanted || (merge != EDDY_NO_NODE && r->recomputed[merge]);
        }
        if (is_wanted && can_copy(r, f))
            recompute_loop(r, f, again);
    }
}
