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

#include "core/base/status.h"
#include "core/graph/copy.h"

#include <string.h>

/* The copy of one loop, the base frame's or one around it. */
typedef struct copying {
    eddy__reverse *r;
    eddy__recomputed *again;
    uint32_t frame;
    const eddy_frame *loop;
    uint32_t *variable_of; /* an old Merge of a variable: which, plus 1 */
    eddy_node *copy;       /* of an old node, or EDDY_NO_NODE */
    const char **frames;   /* of an inner frame's copy, or NULL */
    uint8_t *is_found;     /* an old node that the copy has, in `list` */
    uint8_t *is_given;     /* one whose value of this trip enters the copy */
    eddy_node *list;
    size_t n;
    const char *name;  /* of the copy's frame */
    eddy_output *next; /* a variable: what its NextIteration reads */
} copying;

static const eddy__node *node_at(const copying *c, eddy_node node)
{
    return eddy__graph_node(c->r->e.core.graph, node);
}

/* A name that no node has, and no frame that is named here. */
static const char *name_copy(copying *c, const char *like)
{
    return eddy__emit_take_name(&c->r->e, "replay", like);
}

static void refuse(copying *c, eddy_node node, const char *why)
{
    eddy__emit_fail(&c->r->e, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT, node,
                    "a gradient asked for in the loop '%s' makes trips of '%s' "
                    "again, but %s",
                    c->r->study.analysis->frames[c->r->places.base].name,
                    c->loop->name, why);
}

/* ---- what the copy has ---- */

static void find(copying *c, eddy_node node)
{
    /* No node that was there depends on one that this walk has added. */
    if (node >= c->r->study.n_nodes || c->is_found[node])
        return;
    c->is_found[node] = 1;
    c->list[c->n++] = node;
}

static bool is_invariant(const copying *c, eddy_node node)
{
    return c->r->study.flow.role[node] == EDDY__ROLE_ENTER &&
           c->r->study.analysis->output_frame[node] == c->frame;
}

/* Not in the loop's body: made anew rather than copied. */
static bool is_edge(const copying *c, eddy_node node)
{
    return node == c->loop->loop_cond || is_invariant(c, node) ||
           c->variable_of[node] != 0 || c->is_given[node];
}

/* ---- variables ---- */

/* Past Identities, Switches and constant Enters; do they lead into a loop? */
static eddy_output handle_source(const eddy_graph *graph, eddy_output v,
                                 bool *out_in_loop)
{
    const eddy__node *node = eddy__graph_node(graph, v.node);

    *out_in_loop = false;
    for (size_t i = 0; i < graph->n_nodes && node->n_inputs > 0 &&
                       eddy__hands_on(eddy__node_role(node));
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
static bool is_steady_read(const copying *c, eddy_node node)
{
    const eddy_graph *graph = c->r->e.core.graph;
    const eddy__node *n = node_at(c, node);
    eddy_output source;
    bool in_loop;

    if (!is_op(n, "ReadVariableOp") || c->frame != c->r->places.base ||
        c->r->study.analysis->node_frame[node] != c->frame ||
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

static void find_next(copying *c, eddy_node merge)
{
    const uint32_t i = c->variable_of[merge] - 1;
    const eddy_loop_variable *v = &c->loop->variables[i];

    if (v->next_iteration == EDDY_NO_NODE || v->switch_ == EDDY_NO_NODE ||
        node_at(c, merge)->n_inputs != 2) {
        refuse(c, merge,
               "it is not a variable with one first and one next "
               "value");
        return;
    }
    find(c, v->switch_);
    c->next[i] = node_at(c, v->next_iteration)->inputs[0];
    find(c, c->next[i].node);
}

static void find_sources(copying *c, eddy_node node)
{
    const eddy__node *n = node_at(c, node);

    if (!n->op || n->op->flags & (EDDY_OP_STATEFUL | EDDY__OP_HOST))
        refuse(c, node, "it has a state or an effect");
    else if (c->r->study.flow.role[node] == EDDY__ROLE_NEXT_ITERATION &&
             c->r->study.analysis->node_frame[node] == c->frame)
        refuse(c, node, "something waits for it");
    for (uint32_t i = 0; i < n->n_inputs; i++)
        find(c, n->inputs[i].node);
    for (uint32_t i = 0; i < n->n_controls; i++)
        find(c, n->controls[i]);
}

/* All that the states and the loop's predicate come from in a trip. */
static void find_parts(copying *c)
{
    for (size_t i = 0; i < c->loop->n_variables; i++)
        if (c->loop->variables[i].merge != EDDY_NO_NODE)
            c->variable_of[c->loop->variables[i].merge] = (uint32_t)i + 1;
    for (size_t i = 0; i < c->loop->n_variables; i++) {
        const eddy_node merge = c->loop->variables[i].merge;

        if (merge != EDDY_NO_NODE && c->r->recomputed[merge])
            find(c, merge);
    }
    for (size_t i = 0; i < c->n && c->r->e.core.status == EDDY_OK; i++) {
        const eddy_node node = c->list[i];

        if (c->variable_of[node] != 0)
            find_next(c, node);
        else if (is_invariant(c, node) && !c->r->study.flow.is_constant[node])
            refuse(c, node, "the first value of a variable is read in it");
        else if (is_steady_read(c, node))
            c->is_given[node] = 1;
        else if (!is_edge(c, node))
            find_sources(c, node);
    }
}

/* ---- the trips made so far ---- */

static eddy_output start_variable(eddy__reverse *r, eddy_output enter)
{
    return eddy__emit_op(&r->e, "Merge", enter, enter);
}

static void step_counter(eddy__reverse *r, eddy_output merge, eddy_output cond,
                         eddy_output one)
{
    const eddy_output switch_ = eddy__emit_op(&r->e, "Switch", merge, cond);
    const eddy_output add =
        eddy__emit_op(&r->e, "AddV2", eddy__output_port(switch_, 1), one);

    eddy__emit_back_edge(&r->e, merge,
                         eddy__emit_op(&r->e, "NextIteration", add));
}

/* How many trips the loop has made, counted in it; given in the base frame. */
static eddy_output count_trips(copying *c, eddy_node merge)
{
    eddy__reverse *r = c->r;
    const eddy_frame *loop = c->loop;
    const eddy_output first =
        node_at(c, loop->variables[c->variable_of[merge] - 1].enter)->inputs[0];
    /* A Switch says that it ran, its Identity which way. */
    const eddy_node like = eddy__emit_op(&r->e, "Identity", first).node;
    const eddy_output zero = eddy__emit_int_after(&r->e, like, 0);
    const eddy_output one = eddy__emit_int_after(&r->e, like, 1);
    const int64_t parallel = loop->parallel_iterations;
    const eddy_output count = start_variable(
        r, eddy__emit_enter(&r->e, zero, loop->name, parallel, false));

    step_counter(r, count, (eddy_output){loop->loop_cond, 0},
                 eddy__emit_enter(&r->e, one, loop->name, parallel, true));
    return eddy__place_enter_base(&r->places, count, c->frame);
}

/* ---- the copy ---- */

/* `value`, of the base frame, in the copy; live when `gate` is. */
static eddy_output enter_copy(copying *c, eddy_output value, eddy_node gate,
                              bool is_constant)
{
    value = eddy__emit_after(&c->r->e, gate, "Identity", &value, 1);
    return eddy__emit_enter(&c->r->e, value, c->name,
                            c->loop->parallel_iterations, is_constant);
}

/* The copy's frame, with its counter and its LoopCond. */
static void start_copy(copying *c, eddy_output trips, eddy_node gate)
{
    eddy__reverse *r = c->r;
    eddy_output count, one, less;

    c->name = name_copy(c, c->loop->name);
    if (r->e.core.status != EDDY_OK)
        return;
    count = start_variable(
        r, eddy__emit_first_enter(&r->e, eddy__emit_int_after(&r->e, gate, 0),
                                  c->name, c->loop->parallel_iterations));
    one = enter_copy(c, eddy__emit_int_after(&r->e, gate, 1), gate, true);
    less =
        eddy__emit_op(&r->e, "Less", count, enter_copy(c, trips, gate, true));
    less = eddy__emit_op(&r->e, "LoopCond", less);
    c->copy[c->loop->loop_cond] = less.node;
    step_counter(r, count, less, one);
}

/* The first values and the invariants enter the copy. */
static void enter_values(copying *c, eddy_node gate)
{
    eddy__reverse *r = c->r;

    for (size_t i = 0; i < c->n && r->e.core.status == EDDY_OK; i++) {
        const eddy_node node = c->list[i];
        eddy_output v = {node, 0};

        if (c->variable_of[node] != 0) {
            v = node_at(c, c->loop->variables[c->variable_of[node] - 1].enter)
                    ->inputs[0];
            v = start_variable(
                r,
                enter_copy(c, eddy__primal_value(&r->primals, v), gate, false));
            c->copy[node] = v.node;
        } else if (is_invariant(c, node) || c->is_given[node]) {
            v = enter_copy(c, eddy__primal_value(&r->primals, v), gate, true);
            c->copy[node] = v.node;
        }
    }
}

static void copy_node(copying *c, eddy_node node)
{
    eddy__reverse *r = c->r;
    eddy__copier copier = {.arena = &r->e.arena};
    eddy__node_copy copy = {.of = node_at(c, node),
                            .name = name_copy(c, node_at(c, node)->name),
                            .drops_class = true,
                            .shares_resource = true};

    if (copy.name && r->study.flow.role[node] == EDDY__ROLE_ENTER) {
        const uint32_t id = r->study.analysis->output_frame[node];

        if (!c->frames[id])
            c->frames[id] = name_copy(c, r->study.analysis->frames[id].name);
        copy.frame_name = c->frames[id];
    }
    if (r->e.core.status == EDDY_OK)
        r->e.core.status = eddy__copy_add(&copier, r->e.core.graph, &copy,
                                          &c->copy[node], r->e.core.err);
}

static void connect(copying *c, eddy_node node)
{
    eddy__reverse *r = c->r;
    const eddy__node n = *node_at(c, node);

    for (uint32_t i = 0; i < n.n_inputs && r->e.core.status == EDDY_OK; i++)
        r->e.core.status = eddy__graph_connect(
            r->e.core.graph, c->copy[node], i,
            (eddy_output){c->copy[n.inputs[i].node], n.inputs[i].index},
            r->e.core.err);
    for (uint32_t i = 0; i < n.n_controls && r->e.core.status == EDDY_OK; i++)
        if (n.controls[i] < r->study.n_nodes)
            r->e.core.status =
                eddy__graph_add_control(r->e.core.graph, c->copy[node],
                                        c->copy[n.controls[i]], r->e.core.err);
}

static void copy_body(copying *c)
{
    for (size_t i = 0; i < c->n && c->r->e.core.status == EDDY_OK; i++)
        if (!is_edge(c, c->list[i]))
            copy_node(c, c->list[i]);
    for (size_t i = 0; i < c->n && c->r->e.core.status == EDDY_OK; i++)
        if (!is_edge(c, c->list[i]))
            connect(c, c->list[i]);
}

/* The variable's next value, and what it is after all trips. */
static eddy_output end_variable(copying *c, eddy_node merge)
{
    eddy__reverse *r = c->r;
    const uint32_t i = c->variable_of[merge] - 1;
    const eddy_output from = c->next[i];
    const eddy_output next = {c->copy[from.node], from.index};
    const eddy_output now = {c->copy[merge], 0};
    const eddy_output end = {c->copy[c->loop->variables[i].switch_], 0};

    if (r->e.core.status != EDDY_OK)
        return EDDY__NO_OUTPUT;
    eddy__emit_back_edge(&r->e, now,
                         eddy__emit_op(&r->e, "NextIteration", next));
    return eddy__emit_op(&r->e, "Exit", end);
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

    for (size_t i = 0; i < c->loop->n_variables; i++) {
        const eddy_loop_variable *v = &c->loop->variables[i];

        gradients[i] = EDDY__NO_OUTPUT;
        if (v->merge == EDDY_NO_NODE || !c->r->recomputed[v->merge] ||
            c->variable_of[v->merge] != i + 1)
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

static bool allocate(copying *c)
{
    eddy__gradient_emitter *e = &c->r->e;
    const size_t n = c->r->study.n_nodes;
    const size_t n_frames = c->r->study.analysis->n_frames;

    c->variable_of = eddy__emit_zeroed_room(e, n, sizeof *c->variable_of);
    c->copy = eddy__emit_room(e, n, sizeof *c->copy);
    c->is_found = eddy__emit_zeroed_room(e, n, 1);
    c->is_given = eddy__emit_zeroed_room(e, n, 1);
    c->list = eddy__emit_room(e, n, sizeof *c->list);
    c->next = eddy__emit_room(e, c->loop->n_variables, sizeof *c->next);
    c->frames = eddy__emit_zeroed_room(e, n_frames, sizeof *c->frames);
    if (e->core.status != EDDY_OK)
        return false;
    memset(c->copy, 0xff, n * sizeof *c->copy);
    return true;
}

/* A node that counts as a constant does so in the copy, too. */
static void take_stops(copying *c)
{
    const eddy__asked *asked = &c->r->asked;

    for (size_t i = 0; i < asked->n_stop; i++) {
        const eddy_output stop = asked->stop[i];

        if (stop.node < c->r->study.n_nodes &&
            c->copy[stop.node] != EDDY_NO_NODE)
            c->again->stop[c->again->n_stop++] =
                (eddy_output){c->copy[stop.node], stop.index};
    }
}

static void recompute_loop(eddy__reverse *r, uint32_t frame,
                           eddy__recomputed *again)
{
    copying c = {.r = r,
                 .again = again,
                 .frame = frame,
                 .loop = &r->study.analysis->frames[frame]};
    eddy_output *gradients =
        eddy__emit_room(&r->e, c.loop->n_variables + 1, sizeof *gradients);
    eddy_node gate;

    if (!gradients || !allocate(&c))
        return;
    find_parts(&c);
    if (c.n == 0 || r->e.core.status != EDDY_OK)
        return;
    r->e.at = c.list[0];
    gate = take_gradients(&c, gradients);
    if (gate == EDDY_NO_NODE || r->e.core.status != EDDY_OK)
        return;
    start_copy(&c, count_trips(&c, c.list[0]), gate);
    enter_values(&c, gate);
    copy_body(&c);
    for (size_t i = 0; i < c.n && r->e.core.status == EDDY_OK; i++) {
        const uint32_t v = c.variable_of[c.list[i]];
        eddy_output end;

        if (v == 0)
            continue;
        end = end_variable(&c, c.list[i]);
        if (!r->recomputed[c.list[i]] || !eddy__output_exists(gradients[v - 1]))
            continue;
        again->ys[again->n] = end;
        again->grad_ys[again->n++] = gradients[v - 1];
    }
    take_stops(&c);
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
