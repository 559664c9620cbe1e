/*
 * eddy_gradients: the walk itself.
 *
 * A unit is a node or a loop.  A node is ready when its consumers have been
 * walked and its frame is open; a loop opens when its Exits are ready and what
 * reads its tapes has been walked, and closes when the units of its body have
 * been.  Nothing here recurses: what becomes ready goes on a stack.
 */
#include "autodiff/walk.h"

#include "autodiff/bounded.h"
#include "core/base/status.h"
#include "core/value/shape.h"
#include "frames/build/builder.h"

#include <stdio.h>
#include <string.h>

static size_t slot_of(const eddy__walk *w, eddy_output output)
{
    return w->shapes.first[output.node] + output.index;
}

/* ---- gradients of outputs ---- */

bool eddy__has_gradient(const eddy__walk *w, eddy_output v)
{
    return w->addends[slot_of(w, v)];
}

void eddy__add_addend(eddy__walk *w, eddy_output v, eddy__addend value)
{
    eddy__addend **first = &w->addends[slot_of(w, v)];
    eddy__addend *addend;

    if (w->status != EDDY_OK || !eddy__is_output(value.gradient))
        return;
    addend = eddy__arena_allocate(&w->arena, 1, sizeof *addend);
    if (!addend) {
        w->status = eddy__fail_memory(w->err);
        return;
    }
    *addend = value;
    addend->next = NULL;
    addend->last = addend;
    if (*first) {
        (*first)->last->next = addend;
        (*first)->last = addend;
    } else {
        *first = addend;
    }
}

static void add(eddy__walk *w, eddy_output v, eddy_output gradient)
{
    eddy__add_addend(
        w, v, (eddy__addend){.gradient = gradient, .item = EDDY__NO_OUTPUT});
}

void eddy__add_gradient(eddy__walk *w, eddy_output v, eddy_output gradient,
                        uint32_t branch)
{
    const uint32_t target = eddy__branch_of(w, v);

    if (w->status != EDDY_OK || !eddy__is_output(gradient))
        return;
    if (!eddy__branch_is_within(&w->branches, branch, target)) {
        eddy__walk_fail(w, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT, v.node,
                        "a gradient of it comes from a branch that is not "
                        "within its own");
        return;
    }
    while (branch != target && w->status == EDDY_OK) {
        gradient = eddy__leave_branch(w, v, gradient, branch);
        branch = w->branches.branches[branch].outer;
    }
    add(w, v, gradient);
}

static eddy_output sum_tensors(eddy__walk *w, const eddy__addend *list)
{
    eddy_output *inputs;
    size_t n = 0;

    for (const eddy__addend *a = list; a; a = a->next)
        n++;
    inputs = eddy__arena_allocate(&w->arena, n, sizeof *inputs);
    if (!inputs) {
        w->status = eddy__fail_memory(w->err);
        return EDDY__NO_OUTPUT;
    }
    n = 0;
    for (const eddy__addend *a = list; a; a = a->next)
        inputs[n++] = a->gradient;
    return eddy__emit(w, "AddN", inputs, n);
}

eddy_output eddy__sum(eddy__walk *w, eddy_output v)
{
    eddy__addend **list = &w->addends[slot_of(w, v)];
    eddy_output sum;

    if (w->status != EDDY_OK || !*list)
        return EDDY__NO_OUTPUT;
    if (!(*list)->next && !eddy__is_output((*list)->item))
        return (*list)->gradient;
    sum = eddy_graph_output_dtype(w->graph, v) == EDDY_VARIANT
              ? eddy__sum_list(w, v, EDDY__NO_OUTPUT)
              : sum_tensors(w, *list);
    **list =
        (eddy__addend){.gradient = sum, .item = EDDY__NO_OUTPUT, .last = *list};
    return sum;
}

/* ---- what is ready ---- */

static void make_ready(eddy__walk *w, eddy__unit_kind kind, uint32_t id)
{
    void *ready = w->ready;
    const bool ok = eddy__grow(w->arena.allocator, &ready, &w->ready_capacity,
                               w->n_ready + 1, sizeof *w->ready);

    w->ready = ready;
    if (ok)
        w->ready[w->n_ready++] = (eddy__unit){.kind = kind, .id = id};
    else if (w->status == EDDY_OK)
        w->status = eddy__fail_memory(w->err);
}

static bool is_loop_part(const eddy__walk *w, eddy_node node, eddy__role role)
{
    return w->flow.role[node] == role &&
           (role != EDDY__ROLE_SWITCH ||
            !eddy__is_branch_switch(&w->flow, node));
}

/* The frame whose unit the node is; an Enter counts where its output is. */
static eddy__scope *unit_scope(const eddy__walk *w, eddy_node node)
{
    return &w->scopes[w->flow.role[node] == EDDY__ROLE_ENTER
                          ? w->analysis->output_frame[node]
                          : w->analysis->node_frame[node]];
}

static bool is_loop_merge(const eddy__walk *w, eddy_node node)
{
    const eddy_node from = w->flow.source[w->flow.first_in[node]];

    return w->flow.role[node] == EDDY__ROLE_MERGE && eddy__is_node(from) &&
           (w->flow.role[from] == EDDY__ROLE_ENTER ||
            w->flow.role[from] == EDDY__ROLE_NEXT_ITERATION);
}

/* Is it walked by itself?  The rest is walked with its loop. */
static bool is_unit(const eddy__walk *w, eddy_node node)
{
    const eddy__role role = (eddy__role)w->flow.role[node];

    return role != EDDY__ROLE_EXIT && !is_loop_merge(w, node) &&
           (role != EDDY__ROLE_ENTER || w->flow.is_constant[node]);
}

static void try_open(eddy__walk *w, eddy__scope *scope)
{
    if (scope->is_active && !scope->is_open && scope->n_exits == 0 &&
        scope->n_tapes == 0 &&
        (scope->parent->is_home || scope->parent->is_open))
        make_ready(w, EDDY__UNIT_OPEN, scope->frame);
}

static void unit_done(eddy__walk *w, eddy__scope *scope)
{
    if (!scope->is_home && --scope->n_remaining == 0)
        make_ready(w, EDDY__UNIT_CLOSE, scope->frame);
}

/* All consumers of the node have been walked. */
static void node_free(eddy__walk *w, eddy_node node)
{
    eddy__scope *scope = unit_scope(w, node);

    if (w->flow.role[node] == EDDY__ROLE_EXIT) {
        scope->n_exits--;
        try_open(w, scope);
    } else if (is_unit(w, node) && (scope->is_home || scope->is_open)) {
        make_ready(w, EDDY__UNIT_NODE, node);
    }
}

void eddy__release_inputs(eddy__walk *w, eddy_node node)
{
    const eddy__node *n = eddy__graph_node(w->graph, node);

    for (uint32_t i = 0; i < n->n_inputs; i++) {
        const eddy_node from = n->inputs[i].node;

        if (from < w->n_nodes && eddy__is_active_edge(w, n->inputs[i]) &&
            eddy__is_active(w, from) && --w->pending[from] == 0)
            node_free(w, from);
    }
}

/* ---- tapes ---- */

static void tape_done(eddy__walk *w, eddy__tape *tape)
{
    if (!tape->is_pending)
        return;
    tape->is_pending = false;
    if (tape->pop_loop && eddy__is_output(tape->gradients))
        tape->done = tape->pop_loop->back_exit;
    if (tape->push_loop) {
        tape->push_loop->n_tapes--;
        try_open(w, tape->push_loop);
    } else if (--w->pending[tape->push] == 0) {
        node_free(w, tape->push);
    }
}

/* ---- walking ---- */

static void use_rule(eddy__walk *w, eddy_node node)
{
    const eddy__node *n = eddy__graph_node(w->graph, node);
    const eddy_gradient_fn rule = eddy__rule_find(w->graph, n);
    eddy_gradient g = {.walk = w, .node = node};
    eddy_status status;
    bool any = false;

    for (uint32_t i = 0; i < n->n_outputs; i++)
        any = any || w->addends[slot_of(w, (eddy_output){node, i})];
    if (!any)
        return;
    if (!rule) {
        eddy__walk_fail(w, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT, node,
                        "the op has no gradient");
        return;
    }
    status = rule(&g);
    if (status != EDDY_OK && w->status == EDDY_OK)
        eddy__walk_fail(w, status, EDDY_E_NO_GRADIENT, node,
                        "its gradient failed");
}

static void walk_node(eddy__walk *w, eddy_node node)
{
    const eddy__role role = (eddy__role)w->flow.role[node];
    eddy__scope *scope = unit_scope(w, node);
    eddy__tape *tape = eddy__tape_of(&w->tapes, node);

    w->at = node;
    if (is_loop_part(w, node, EDDY__ROLE_SWITCH) ||
        (role == EDDY__ROLE_ENTER && !scope->is_home)) {
        unit_done(w, scope);
        return; /* the rest is done with the loop */
    }
    if (role == EDDY__ROLE_ENTER)
        eddy__add_gradient(w, eddy__graph_node(w->graph, node)->inputs[0],
                           eddy__sum(w, (eddy_output){node, 0}),
                           w->branches.of_node[node]);
    else if (role == EDDY__ROLE_SWITCH)
        eddy__walk_switch(w, node);
    else if (role == EDDY__ROLE_MERGE)
        eddy__walk_merge(w, node);
    else if (tape && tape->push == node)
        eddy__walk_push(w, node);
    else if (tape && tape->pop == node)
        eddy__walk_pop(w, node);
    else if (role != EDDY__ROLE_NEXT_ITERATION)
        use_rule(w, node);
    if (tape && tape->pop == node && !tape->pop_loop)
        tape_done(w, tape);
    eddy__release_inputs(w, node);
    unit_done(w, scope);
}

static void open_loop(eddy__walk *w, eddy__scope *scope)
{
    if (scope->is_open)
        return;
    scope->is_open = true;
    eddy__loop_open(w, scope);
    for (uint32_t v = scope->first_unit; v != EDDY__END_OF_LIST;
         v = w->next_unit[v])
        if (w->pending[v] == 0)
            make_ready(w, EDDY__UNIT_NODE, v);
    for (uint32_t f = scope->first_child; f != EDDY__END_OF_LIST;
         f = w->scopes[f].next_child)
        try_open(w, &w->scopes[f]);
}

static void close_loop(eddy__walk *w, eddy__scope *scope)
{
    eddy__loop_close(w, scope);
    for (uint32_t i = scope->first_popped; i != EDDY__END_OF_LIST;
         i = w->tapes.tapes[i].next_popped)
        tape_done(w, &w->tapes.tapes[i]);
    unit_done(w, scope->parent);
}

static void walk(eddy__walk *w)
{
    while (w->n_ready > 0 && w->status == EDDY_OK) {
        const eddy__unit unit = w->ready[--w->n_ready];

        if (!eddy__budget_lasts(w->graph->budget))
            w->status = eddy__fail_memory(w->err);
        if (unit.kind == EDDY__UNIT_NODE)
            walk_node(w, unit.id);
        else if (unit.kind == EDDY__UNIT_OPEN)
            open_loop(w, &w->scopes[unit.id]);
        else
            close_loop(w, &w->scopes[unit.id]);
    }
}

/* ---- counting ---- */

/* How many consumers each active node waits for. */
static void count_consumers(eddy__walk *w)
{
    for (eddy_node v = 0; v < w->n_nodes; v++) {
        const eddy__node *n = eddy__graph_node(w->graph, v);
        const eddy__role role = (eddy__role)w->flow.role[v];

        /* An Exit is ready by itself, and its Switch with the body. */
        if (!eddy__is_active(w, v) || role == EDDY__ROLE_EXIT ||
            is_loop_merge(w, v) || is_loop_part(w, v, EDDY__ROLE_SWITCH))
            continue;
        for (uint32_t i = 0; i < n->n_inputs; i++)
            if (eddy__is_active_edge(w, n->inputs[i]))
                w->pending[n->inputs[i].node]++;
    }
}

/* The loop in `frame` that holds the node of frame `inner`; NULL: itself. */
static eddy__scope *loop_below(eddy__walk *w, uint32_t inner, uint32_t frame)
{
    eddy__scope *loop = NULL;

    while (inner != frame) {
        loop = &w->scopes[inner];
        inner = w->analysis->frames[inner].parent;
    }
    return loop;
}

static uint32_t common_frame(const eddy__walk *w, uint32_t a, uint32_t b)
{
    const eddy_frame *frames = w->analysis->frames;

    while (a != b) {
        if (frames[a].depth >= frames[b].depth)
            a = frames[a].parent;
        else
            b = frames[b].parent;
    }
    return a;
}

static void count_tapes(eddy__walk *w)
{
    for (size_t i = 0; i < w->tapes.n; i++) {
        eddy__tape *tape = &w->tapes.tapes[i];
        uint32_t push, pop, frame;

        if (!tape->is_tape || !eddy__is_active(w, tape->push) ||
            !eddy__is_active(w, tape->pop))
            continue;
        push = w->analysis->node_frame[tape->push];
        pop = w->analysis->node_frame[tape->pop];
        frame = common_frame(w, push, pop);
        tape->push_loop = loop_below(w, push, frame);
        tape->pop_loop = loop_below(w, pop, frame);
        tape->is_pending = true;
        if (tape->push_loop)
            tape->push_loop->n_tapes++;
        else
            w->pending[tape->push]++;
    }
}

/* Lists by scope, each in the order of the numbers. */
static void list_by_scope(eddy__walk *w)
{
    for (size_t f = 0; f < w->analysis->n_frames; f++) {
        eddy__scope *scope = &w->scopes[f];

        scope->first_unit = scope->first_child = EDDY__END_OF_LIST;
        scope->first_pushed = scope->first_popped = EDDY__END_OF_LIST;
    }
    for (uint32_t v = (uint32_t)w->n_nodes; v-- > 0;) {
        if (!eddy__is_active(w, v) || !is_unit(w, v))
            continue;
        w->next_unit[v] = unit_scope(w, v)->first_unit;
        unit_scope(w, v)->first_unit = v;
    }
    for (uint32_t f = (uint32_t)w->analysis->n_frames; f-- > 1;) {
        eddy__scope *scope = &w->scopes[f];

        scope->next_child = scope->parent->first_child;
        scope->parent->first_child = f;
    }
    for (uint32_t i = (uint32_t)w->tapes.n; i-- > 0;) {
        eddy__tape *tape = &w->tapes.tapes[i];

        if (tape->push_loop) {
            tape->next_pushed = tape->push_loop->first_pushed;
            tape->push_loop->first_pushed = i;
        }
        if (tape->pop_loop) {
            tape->next_popped = tape->pop_loop->first_popped;
            tape->pop_loop->first_popped = i;
        }
    }
}

static void note_active(eddy__walk *w, eddy_node node)
{
    eddy__scope *scope = unit_scope(w, node);

    if (w->flow.role[node] == EDDY__ROLE_EXIT)
        scope->n_exits++;
    else if (is_unit(w, node) && !scope->is_home)
        scope->n_remaining++;
    while (!scope->is_home && !scope->is_active) {
        scope->is_active = true;
        scope = scope->parent;
        if (!scope->is_home)
            scope->n_remaining++;
    }
}

/* A loop beside the one that is differentiated would have to run in it. */
static void check_frame(eddy__walk *w, eddy_node node)
{
    const eddy__scope *scope = unit_scope(w, node);

    if (!scope->is_home && !scope->is_within)
        eddy__walk_fail(w, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT, node,
                        "a gradient inside a loop goes through another loop "
                        "that is outside of it");
}

static void start(eddy__walk *w)
{
    for (eddy_node v = 0; v < w->n_nodes; v++)
        if (eddy__is_active(w, v)) {
            check_frame(w, v);
            note_active(w, v);
        }
    count_consumers(w);
    count_tapes(w);
    list_by_scope(w);
    for (eddy_node v = 0; v < w->n_nodes; v++)
        if (eddy__is_active(w, v) && w->pending[v] == 0)
            node_free(w, v);
}

/* ---- the ends ---- */

static bool exists(const eddy_graph *graph, eddy_output output)
{
    return output.node < graph->n_nodes &&
           output.index < eddy__graph_node(graph, output.node)->n_outputs;
}

eddy_status eddy__walk_check(eddy__walk *w, const char *what,
                             const eddy_output *list, size_t n, bool real)
{
    for (size_t i = 0; i < n; i++) {
        const eddy_output output = list[i];

        if (!exists(w->graph, output))
            return eddy__walk_fail(w, EDDY_INVALID_ARGUMENT,
                                   EDDY_E_OUTPUT_INDEX, EDDY_NO_NODE,
                                   "%s %zu is no output of the graph", what, i);
        if (real && !eddy__dtype_has_gradient(
                        eddy_graph_output_dtype(w->graph, output)))
            return eddy__walk_fail(
                w, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE, output.node,
                "%s %zu is %s, which has no gradient", what, i,
                eddy_dtype_name(eddy_graph_output_dtype(w->graph, output)));
    }
    return EDDY_OK;
}

/* Another shape might broadcast, and give a sum that nobody asked for. */
eddy_status eddy__walk_check_shape(eddy__walk *w, const char *what,
                                   eddy_output given, const char *of,
                                   eddy_output output, size_t i)
{
    const eddy_dtype dtype = eddy_graph_output_dtype(w->graph, output);
    const eddy_shape shape = eddy_graph_output_shape(w->graph, given);
    const eddy_shape wanted = eddy_graph_output_shape(w->graph, output);

    /* A handle is a scalar, and so is a list; what is in it is not. */
    if (dtype == EDDY_RESOURCE || dtype == EDDY_VARIANT ||
        eddy__shape_compatible(&shape, &wanted))
        return EDDY_OK;
    return eddy__walk_fail(w, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE, given.node,
                           "%s %zu has shape %s, but its %s has %s", what, i,
                           eddy__shape_print(&shape).text, of,
                           eddy__shape_print(&wanted).text);
}

static eddy_output start_of(eddy__walk *w, const eddy_output *ys, size_t i)
{
    const eddy_gradient_options *options = w->options;

    w->at = ys[i].node;
    if (options && options->grad_ys && eddy__is_output(options->grad_ys[i]))
        return eddy__bring(w, options->grad_ys[i], ys[i]);
    return eddy__emit_op(w, "OnesLike", ys[i]);
}

static eddy_status check_grad_y(eddy__walk *w, const eddy_output *ys, size_t i)
{
    const eddy_output y = ys[i], grad = w->options->grad_ys[i];

    if (grad.node == EDDY_NO_NODE)
        return EDDY_OK;
    EDDY_TRY(eddy__walk_check(w, "grad_y", &grad, 1, true));
    if (eddy_graph_output_dtype(w->graph, grad) !=
        eddy_graph_output_dtype(w->graph, y))
        return eddy__walk_fail(
            w, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE, grad.node,
            "grad_y %zu is %s, but its y is %s", i,
            eddy_dtype_name(eddy_graph_output_dtype(w->graph, grad)),
            eddy_dtype_name(eddy_graph_output_dtype(w->graph, y)));
    return eddy__walk_check_shape(w, "grad_y", grad, "y", y, i);
}

/* What the ys and the xs depend on, control edges included. */
static eddy_status select_nodes(eddy__walk *w, const eddy_output *ys,
                                size_t n_ys, const eddy_output *xs, size_t n_xs)
{
    uint8_t *keep = eddy__arena_allocate_zeroed(&w->arena, w->n_nodes, 1);
    eddy_node *list =
        eddy__arena_allocate(&w->arena, w->n_nodes + 1, sizeof *list);
    size_t n = 0;

#define ADD(node_)                                                             \
    do {                                                                       \
        const eddy_node added = (node_);                                       \
        if (!keep[added]) {                                                    \
            keep[added] = 1;                                                   \
            list[n++] = added;                                                 \
        }                                                                      \
    } while (0)
    if (!keep || !list)
        return eddy__fail_memory(w->err);
    for (size_t i = 0; i < n_ys; i++)
        ADD(ys[i].node);
    for (size_t i = 0; i < n_xs; i++)
        ADD(xs[i].node);
    for (size_t i = 0; w->starts && i < w->n_starts; i++)
        if (eddy__is_output(w->starts[i]))
            ADD(w->starts[i].node);
    for (size_t i = 0; i < n; i++) {
        const eddy__node *node = eddy__graph_node(w->graph, list[i]);

        if (!node->op)
            return eddy__walk_fail(w, EDDY_NOT_FOUND, EDDY_E_UNKNOWN_OP,
                                   list[i], "op is not registered");
        for (uint32_t j = 0; j < node->n_inputs; j++)
            ADD(node->inputs[j].node);
        for (uint32_t j = 0; j < node->n_controls; j++)
            ADD(node->controls[j]);
    }
    /* Exits that nothing reads tell what the variable was at the end. */
    for (eddy_node v = 0; v < w->n_nodes; v++)
        if (eddy__node_role(eddy__graph_node(w->graph, v)) == EDDY__ROLE_EXIT &&
            keep[eddy__graph_node(w->graph, v)->inputs[0].node])
            keep[v] = 1;
#undef ADD
    w->selection = (eddy__selection){.graph = w->graph, .keep = keep};
    return EDDY_OK;
}

/* A node that is live though the branch of the y is not: what decides that. */
static eddy_node find_predicate(const eddy__walk *w, eddy_output y)
{
    const eddy_branch_info *branches = w->branches.branches;
    uint32_t branch = eddy__branch_of(w, y);

    while (branch != 0 && branches[branch].outer != 0)
        branch = branches[branch].outer;
    return branch == 0 ? y.node : branches[branch].predicate.node;
}

/* Is it the Switch of a variable of the home frame's loop? */
static bool is_home_switch(const eddy__walk *w, eddy_node node)
{
    return w->flow.role[node] == EDDY__ROLE_SWITCH &&
           w->analysis->node_frame[node] == w->home &&
           !eddy__is_branch_switch(&w->flow, node);
}

/* Does the y wait for the home frame's predicate?  Else it is part of it. */
static eddy_status is_in_body(eddy__walk *w, eddy_output y, bool *out_is)
{
    const eddy__flow *flow = &w->flow;
    uint8_t *is_seen = eddy__arena_allocate_zeroed(&w->arena, w->n_nodes, 1);
    eddy_node *list = eddy__arena_allocate(&w->arena, w->n_nodes, sizeof *list);
    size_t n = 0;

    *out_is = false;
    if (!is_seen || !list)
        return eddy__fail_memory(w->err);
    list[n++] = y.node;
    is_seen[y.node] = 1;
    for (size_t i = 0; i < n && !*out_is; i++) {
        const eddy_node v = list[i];

        *out_is = is_home_switch(w, v);
        if (w->analysis->node_frame[v] == w->home && is_loop_merge(w, v))
            continue;
        for (size_t e = flow->first_in[v]; e < flow->first_in[v + 1]; e++) {
            const eddy_node from = flow->source[e];

            if (eddy__is_node(from) && !is_seen[from]) {
                is_seen[from] = 1;
                list[n++] = from;
            }
        }
    }
    return EDDY_OK;
}

/* An Identity that reads output 1 of the Switch at once. */
static eddy_node find_identity(const eddy__walk *w, eddy_node switch_)
{
    const eddy__flow *flow = &w->flow;

    for (size_t e = flow->first_out[switch_]; e < flow->first_out[switch_ + 1];
         e++) {
        const eddy__node *n = eddy__flow_node(flow, flow->edge[e].to);

        if (flow->role[flow->edge[e].to] == EDDY__ROLE_FORWARD &&
            n->n_inputs == 1 && n->inputs[0].index == 1 && n->n_controls == 0)
            return flow->edge[e].to;
    }
    return EDDY_NO_NODE;
}

/*
 * What new constants of the home frame wait for: live in each iteration in
 * which the y may be, and early in it.  They may start a trip counter; the
 * forward loop that counts with it comes to a stop until they are there.
 */
static eddy_status find_anchor(eddy__walk *w, eddy_output y)
{
    const eddy_frame *frame = &w->analysis->frames[w->home];
    const eddy_loop_variable *v = NULL;
    bool in_body = false;

    w->anchor = find_predicate(w, y);
    for (size_t i = 0; w->home != 0 && i < frame->n_variables && !v; i++)
        if (frame->variables[i].merge != EDDY_NO_NODE)
            v = &frame->variables[i];
    if (!v)
        return EDDY_OK;
    EDDY_TRY(is_in_body(w, y, &in_body));
    if (!in_body) {
        w->anchor = v->merge;
    } else if (v->switch_ != EDDY_NO_NODE) {
        w->anchor = find_identity(w, v->switch_);
        w->at = v->switch_;
        if (w->anchor == EDDY_NO_NODE)
            w->anchor =
                eddy__emit_op(w, "Identity", (eddy_output){v->switch_, 1}).node;
    }
    return w->status;
}

/* The frame of the ys, which must be one. */
static eddy_status find_home(eddy__walk *w, const eddy_output *ys, size_t n_ys)
{
    w->home = eddy__frame_of(w, ys[0]);
    for (size_t i = 1; i < n_ys; i++)
        if (eddy__frame_of(w, ys[i]) != w->home)
            return eddy__walk_fail(w, EDDY_INVALID_ARGUMENT, EDDY_E_FRAME_MIXED,
                                   ys[i].node,
                                   "y %zu is in another frame than y 0", i);
    return find_anchor(w, ys[0]);
}

eddy_status eddy__make_scopes(eddy__walk *w)
{
    const eddy_frame *frames = w->analysis->frames;
    const size_t n = w->analysis->n_frames;

    w->scopes = eddy__arena_allocate_zeroed(&w->arena, n, sizeof *w->scopes);
    if (!w->scopes)
        return eddy__fail_memory(w->err);
    /* Parents come before their children. */
    for (uint32_t f = 0; f < n; f++) {
        eddy__scope *scope = &w->scopes[f];

        scope->frame = f;
        scope->parent = &w->scopes[frames[f].parent];
        scope->is_within = f == w->home || (f > 0 && scope->parent->is_within);
        scope->count_sync = scope->back_sync = EDDY_NO_NODE;
        scope->pivot = scope->loop_cond = EDDY__NO_OUTPUT;
    }
    for (uint32_t f = w->home;; f = frames[f].parent) {
        w->scopes[f].is_home = true;
        if (f == 0)
            return EDDY_OK;
    }
}

/* Is it in a loop that is open, from which nothing leads to the ys yet? */
static bool is_out_of_reach(const eddy__walk *w, eddy_output x)
{
    const uint32_t frame = eddy__frame_of(w, x);

    return !w->scopes[frame].is_home && eddy__is_open_frame(w, frame);
}

static eddy_status check_xs(eddy__walk *w, const eddy_output *xs, size_t n_xs)
{
    for (size_t i = 0; i < n_xs; i++)
        if (!eddy__scope_of(w, xs[i])->is_home && !is_out_of_reach(w, xs[i]))
            return eddy__walk_fail(
                w, EDDY_INVALID_ARGUMENT, EDDY_E_FRAME_MIXED, xs[i].node,
                "x %zu is inside the loop '%s', but the ys are not", i,
                w->analysis->frames[eddy__frame_of(w, xs[i])].name);
    return EDDY_OK;
}

static size_t count_open_merges(const eddy__walk *w)
{
    size_t n = 0;

    for (eddy_node v = 0; v < w->n_nodes; v++)
        n += eddy__is_open_merge(w, v);
    return n;
}

/*
 * What is popped has the shape of what was pushed.  Inference does not follow
 * tapes, so it is told and asked again until it finds no more.  Likewise it
 * knows of an open loop's variable only what it starts with.
 */
static eddy_status infer_shapes(eddy__walk *w)
{
    const size_t n_told = w->tapes.n + count_open_merges(w);
    eddy_shape *shapes =
        eddy__arena_allocate(&w->arena, n_told, sizeof *shapes);
    eddy_output *pops = eddy__arena_allocate(&w->arena, n_told, sizeof *pops);
    uint8_t *is_fed = eddy__arena_allocate_zeroed(&w->arena, w->n_nodes, 1);
    uint32_t *first =
        eddy__arena_allocate(&w->arena, w->n_nodes, sizeof *first);
    uint32_t *next = eddy__arena_allocate(&w->arena, n_told, sizeof *next);
    eddy__selection told = w->selection;
    size_t n;

    if (!shapes || !pops || !is_fed || !first || !next)
        return eddy__fail_memory(w->err);
    /* Of a node output 0 alone is told. */
    memset(next, 0xff, n_told * sizeof *next);
    told.is_fed = is_fed;
    told.first_feed = first;
    told.next_feed = next;
    told.feeds = pops;
    for (eddy_node v = 0; n_told > w->tapes.n && v < w->n_nodes; v++)
        if (eddy__is_open_merge(w, v)) {
            pops[told.n_feeds] = (eddy_output){v, 0};
            shapes[told.n_feeds] =
                eddy__open_shape(w->graph, pops[told.n_feeds]);
            first[v] = (uint32_t)told.n_feeds++;
            is_fed[v] = 1;
        }
    do {
        n = told.n_feeds;
        EDDY_TRY(eddy__infer_shapes(&told, w->analysis, shapes, &w->arena,
                                    &w->shapes, w->err));
        for (size_t i = 0; i < w->tapes.n; i++) {
            const eddy__tape *tape = &w->tapes.tapes[i];
            const eddy_shape *shape;

            if (!tape->is_tape || is_fed[tape->pop])
                continue;
            shape = eddy__shape_at(
                &w->shapes, eddy__graph_node(w->graph, tape->push)->inputs[1]);
            if (shape->rank < 0)
                continue;
            is_fed[tape->pop] = 1;
            first[tape->pop] = (uint32_t)told.n_feeds;
            shapes[told.n_feeds] = *shape;
            pops[told.n_feeds++] = (eddy_output){tape->pop, 0};
        }
    } while (told.n_feeds > n);
    for (size_t i = 0; i < n; i++)
        w->shapes.shapes[w->shapes.first[pops[i].node]] = shapes[i];
    return EDDY_OK;
}

/* Everything that is known before the first node is added. */
eddy_status eddy__walk_study(eddy__walk *w, const eddy_output *ys, size_t n_ys,
                             const eddy_output *xs, size_t n_xs)
{
    EDDY_TRY(select_nodes(w, ys, n_ys, xs, n_xs));
    EDDY_TRY(eddy__analysis_build_whole(&w->selection, &w->analysis, w->err));
    EDDY_TRY(eddy__flow_build(&w->flow, &w->selection, &w->arena, w->err));
    w->branches = w->analysis->branches;
    w->is_branch_ready =
        eddy__arena_allocate_zeroed(&w->arena, w->branches.n, 1);
    w->met_by =
        eddy__arena_allocate(&w->arena, w->branches.n, sizeof *w->met_by);
    if (!w->is_branch_ready || !w->met_by)
        return eddy__fail_memory(w->err);
    memset(w->met_by, 0xff, w->branches.n * sizeof *w->met_by);
    EDDY_TRY(eddy__tapes_find(&w->tapes, &w->flow, &w->arena, w->err));
    return infer_shapes(w);
}

size_t eddy__walk_slots(const eddy__walk *w)
{
    return w->shapes.first[w->n_nodes - 1] +
           eddy__graph_node(w->graph, (eddy_node)w->n_nodes - 1)->n_outputs;
}

/* The gradients' own state. */
static eddy_status prepare(eddy__walk *w, const eddy_output *ys, size_t n_ys,
                           const eddy_output *xs, size_t n_xs)
{
    size_t n_slots;

    EDDY_TRY(find_home(w, ys, n_ys));
    EDDY_TRY(eddy__make_scopes(w));
    n_slots = eddy__walk_slots(w);
    w->state = eddy__arena_allocate_zeroed(&w->arena, w->n_nodes, 1);
    w->pending =
        eddy__arena_allocate_zeroed(&w->arena, w->n_nodes, sizeof *w->pending);
    w->addends =
        eddy__arena_allocate_zeroed(&w->arena, n_slots, sizeof(eddy__addend *));
    w->next_unit =
        eddy__arena_allocate(&w->arena, w->n_nodes, sizeof *w->next_unit);
    w->back_of = eddy__arena_allocate_zeroed(&w->arena, w->n_nodes,
                                             sizeof(eddy__back_variable *));
    if (!w->state || !w->pending || !w->addends || !w->next_unit || !w->back_of)
        return eddy__fail_memory(w->err);
    return check_xs(w, xs, n_xs);
}

/* How an x that a gradient goes to is asked for. */
typedef enum asking {
    ASK_WALK,
    ASK_CARRY,  /* forward mode: history.c */
    ASK_REPLAY, /* this walk, and another: replay.c */
    ASK_NOT,    /* it has what it gets */
} asking;

/* One round of walks: each replays what the one before could not reach. */
typedef struct asked {
    const eddy_output *ys, *xs;
    size_t n_ys, n_xs;
    uint8_t *how; /* an x */
    eddy_output *gradients;
    bool is_first; /* round */
} asked;

/* The Merges through which an x has a history, after eddy__find_history. */
static void note_history(eddy__walk *w, eddy_output x)
{
    const eddy_frame *frames = w->analysis->frames;
    const uint32_t depth = frames[eddy__frame_of(w, x)].depth;

    for (eddy_node v = 0; v < w->n_nodes; v++) {
        const uint32_t frame = w->analysis->node_frame[v];

        if (eddy__is_active(w, v) && frame != EDDY__NOT_FOUND &&
            w->scopes[frame].is_home && frames[frame].depth > depth &&
            eddy__is_loop_merge(&w->flow, v))
            w->replayed[v] = 1;
    }
}

static eddy_status find_histories(eddy__walk *w, const asked *a)
{
    w->replayed = eddy__arena_allocate_zeroed(&w->arena, w->n_nodes, 1);
    if (!w->replayed)
        return eddy__fail_memory(w->err);
    for (size_t i = 0; i < a->n_xs; i++) {
        bool has_history = false;

        if (a->how[i] == ASK_NOT)
            continue;
        a->how[i] = ASK_WALK;
        if (w->home != 0 && !is_out_of_reach(w, a->xs[i]))
            EDDY_TRY(
                eddy__find_history(w, a->ys, a->n_ys, &a->xs[i], &has_history));
        if (has_history)
            a->how[i] = eddy__can_carry(w, a->xs[i]) ? ASK_CARRY : ASK_REPLAY;
        if (a->how[i] == ASK_REPLAY)
            note_history(w, a->xs[i]);
    }
    return EDDY_OK;
}

/* What the walk has to reach: xs, and states that others depend on. */
static eddy_status find_active(eddy__walk *w, const asked *a)
{
    const eddy_analysis *analysis = w->analysis;
    eddy_output *list;
    size_t n = a->n_xs;

    for (uint32_t f = w->home; f != 0; f = analysis->frames[f].parent)
        n += 2 * analysis->frames[f].n_variables;
    list = eddy__arena_allocate(&w->arena, n + 1, sizeof *list);
    if (!list)
        return eddy__fail_memory(w->err);
    n = 0;
    for (size_t i = 0; i < a->n_xs; i++)
        if (a->how[i] == ASK_WALK || a->how[i] == ASK_REPLAY)
            list[n++] = a->xs[i];
    for (uint32_t f = w->home; f != 0; f = analysis->frames[f].parent)
        for (size_t i = 0; i < analysis->frames[f].n_variables; i++) {
            const eddy_loop_variable *v = &analysis->frames[f].variables[i];

            if (v->merge == EDDY_NO_NODE || !w->replayed[v->merge])
                continue;
            list[n++] = (eddy_output){v->merge, 0};
            if (v->switch_ != EDDY_NO_NODE)
                list[n++] = (eddy_output){v->switch_, 1};
        }
    return eddy__find_active(w, a->ys, a->n_ys, list, n);
}

/* Zeros in the home frame. */
static eddy_output unconnected(eddy__walk *w, eddy_output x)
{
    eddy_output real;
    uint32_t branch;

    if (is_out_of_reach(w, x))
        return eddy__emit_op(w, "ZerosLike", x);
    real = eddy__real(w, x);
    if (eddy__variable_of(w, x) != EDDY_NO_NODE)
        return eddy__zeros_like(w, x, &branch);
    return eddy__emit_after(
        w, eddy__frame_of(w, x) == w->home ? EDDY_NO_NODE : w->anchor,
        "ZerosLike", &real, 1);
}

/* ---- what has to wait for the end of a loop ---- */

static eddy_status ask_again(eddy_graph *graph, const eddy__question *q,
                             eddy_output *out_answers, eddy_error *err)
{
    return eddy_gradients(graph, q->ys, q->n_ys, q->xs, q->n_xs, q->options,
                          out_answers, err);
}

/* The outermost loop around the ys that `x` is not in. */
static uint32_t loop_inside(const eddy__walk *w, eddy_output x)
{
    const eddy_frame *frames = w->analysis->frames;
    const uint32_t depth = frames[eddy__frame_of(w, x)].depth;
    uint32_t frame = w->home;

    while (frames[frame].depth > depth + 1)
        frame = frames[frame].parent;
    return frame;
}

/* Fills in stand-ins for the xs that must wait, which are `n`. */
static void defer(eddy__walk *w, const asked *a, const eddy_output *xs,
                  size_t n, uint32_t level)
{
    const eddy__question q = {
        .ys = a->ys,
        .n_ys = a->n_ys,
        .xs = xs,
        .n_xs = n,
        .starts = w->options ? w->options->grad_ys : NULL,
        .options = w->options,
        .again = ask_again,
    };
    eddy_output *out = eddy__arena_allocate(&w->arena, n, sizeof *out);
    size_t k = 0;

    if (!out) {
        w->status = eddy__fail_memory(w->err);
        return;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = unconnected(w, xs[i]);
    eddy__defer(w, &q, level, out, n);
    for (size_t i = 0; i < a->n_xs; i++)
        if (a->how[i] == ASK_NOT)
            a->gradients[i] = out[k++];
}

/* Which xs have to wait, and until when; they are then not asked for. */
static eddy_status find_waiting(eddy__walk *w, const asked *a)
{
    const eddy_frame *frames = w->analysis->frames;
    eddy_output *xs = eddy__arena_allocate(&w->arena, a->n_xs, sizeof *xs);
    uint8_t *is_cut =
        eddy__arena_allocate_zeroed(&w->arena, w->analysis->n_frames, 1);
    eddy__waits waits;
    uint32_t level;
    size_t n = 0;

    if (!xs || !is_cut)
        return eddy__fail_memory(w->err);
    for (uint32_t f = w->home; f != 0; f = frames[f].parent)
        is_cut[f] = 1;
    EDDY_TRY(eddy__find_waits(w, a->ys, a->n_ys, is_cut, &waits));
    level = waits.level;
    for (size_t i = 0; i < a->n_xs && w->status == EDDY_OK; i++) {
        const bool has_past =
            waits.depth > frames[eddy__frame_of(w, a->xs[i])].depth;
        uint32_t own;

        if ((!has_past && waits.level == EDDY__NOT_FOUND) ||
            is_out_of_reach(w, a->xs[i]))
            continue;
        own = has_past ? eddy__open_level(w, loop_inside(w, a->xs[i])) : level;
        level = own < level ? own : level;
        a->how[i] = ASK_NOT;
        xs[n++] = a->xs[i];
    }
    if (n > 0)
        defer(w, a, xs, n, level);
    return w->status;
}

/* What this round adds to the gradient of an x, and zeros after the last. */
static eddy_output result_of(eddy__walk *w, const asked *a, size_t i,
                             bool is_last)
{
    const eddy_output x = a->xs[i], before = a->gradients[i];
    eddy_output out;

    w->at = x.node;
    out = a->how[i] == ASK_CARRY ? eddy__history_gradient(w, a->ys, a->n_ys, x)
                                 : eddy__sum(w, x);
    if (!eddy__is_output(out))
        out = before;
    else if (eddy__is_output(before))
        out = eddy__emit_op(w, "AddN", before, out);
    if (!eddy__is_output(out) && is_last && w->options &&
        w->options->zeros_if_unconnected)
        out = unconnected(w, x);
    return out;
}

static eddy_status note_results(const eddy__walk *w, const asked *a)
{
    if (!eddy__note_levels(w, a->ys[0]))
        return eddy__fail_memory(w->err);
    for (size_t i = 0; i < a->n_xs; i++)
        eddy__note_result(w, a->gradients[i], a->xs[i], a->ys[0]);
    return EDDY_OK;
}

static eddy_status differentiate(eddy__walk *w, asked *a, eddy__replay *replay)
{
    if (w->options) {
        w->starts = w->options->grad_ys;
        w->n_starts = a->n_ys;
    }
    EDDY_TRY(eddy__walk_study(w, a->ys, a->n_ys, a->xs, a->n_xs));
    EDDY_TRY(prepare(w, a->ys, a->n_ys, a->xs, a->n_xs));
    if (a->is_first && w->home != 0)
        EDDY_TRY(find_waiting(w, a));
    a->is_first = false;
    EDDY_TRY(find_histories(w, a));
    EDDY_TRY(find_active(w, a));
    for (size_t i = 0; i < a->n_ys && w->status == EDDY_OK; i++)
        add(w, a->ys[i], start_of(w, a->ys, i));
    if (w->status == EDDY_OK)
        start(w);
    walk(w);
    for (size_t i = 0; i < a->n_xs && w->status == EDDY_OK; i++)
        if (a->how[i] == ASK_REPLAY) {
            eddy__replay_trips(w, replay);
            break;
        }
    for (size_t i = 0; i < a->n_xs && w->status == EDDY_OK; i++)
        if (a->how[i] != ASK_NOT)
            a->gradients[i] =
                result_of(w, a, i, a->how[i] != ASK_REPLAY || replay->n == 0);
    return w->status == EDDY_OK ? note_results(w, a) : w->status;
}

/*
 * Another walk, from the states that were computed again; none if there are no
 * more.  Each goes through a loop less.
 */
static eddy_status go_on(const eddy__walk *first, asked *a,
                         eddy__replay *replay)
{
    eddy_gradient_options options = {.size = sizeof options};
    eddy_status status = EDDY_OK;

    if (first->options)
        options = *first->options;
    while (replay->n > 0 && status == EDDY_OK) {
        eddy__walk w;

        eddy__walk_init(&w, first->graph, first->prefix, first->err);
        options.grad_ys = replay->grad_ys;
        options.stop = replay->stop;
        options.n_stop = replay->n_stop;
        w.options = &options;
        a->ys = replay->ys;
        a->n_ys = replay->n;
        replay->n = 0;
        for (size_t i = 0; i < a->n_xs; i++)
            if (a->how[i] != ASK_REPLAY)
                a->how[i] = ASK_NOT;
        status = differentiate(&w, a, replay);
        eddy__walk_deinit(&w);
    }
    return status;
}

static eddy_status find_gradients(eddy__walk *w, asked *a)
{
    eddy__replay replay = {.arena.allocator = w->arena.allocator};
    eddy_status status;

    a->how = eddy__arena_allocate_zeroed(&w->arena, a->n_xs, 1);
    if (!a->how)
        return eddy__fail_memory(w->err);
    status = differentiate(w, a, &replay);
    if (status == EDDY_OK)
        status = go_on(w, a, &replay);
    eddy__arena_destroy(&replay.arena);
    return status;
}

static eddy_status check(eddy__walk *w, const eddy_output *ys, size_t n_ys,
                         const eddy_output *xs, size_t n_xs)
{
    const eddy_gradient_options *options = w->options;

    EDDY_TRY(eddy__walk_check(w, "y", ys, n_ys, true));
    EDDY_TRY(eddy__walk_check(w, "x", xs, n_xs, false));
    if (options)
        EDDY_TRY(
            eddy__walk_check(w, "stop", options->stop, options->n_stop, false));
    for (size_t i = 0; options && options->grad_ys && i < n_ys; i++)
        EDDY_TRY(check_grad_y(w, ys, i));
    return EDDY_OK;
}

void eddy__walk_init(eddy__walk *w, eddy_graph *graph, const char *prefix,
                     eddy_error *err)
{
    const eddy_allocator *allocator = graph->arena.allocator;

    *w = (eddy__walk){.graph = graph,
                      .prefix = prefix,
                      .arena.allocator = allocator,
                      .real.allocator = allocator,
                      .imported.allocator = allocator,
                      .n_nodes = graph->n_nodes,
                      .one = EDDY__NO_OUTPUT,
                      .minus_one = EDDY__NO_OUTPUT,
                      .at = EDDY_NO_NODE,
                      .err = err};
    /* The graph has grown since any other call. */
    snprintf(w->source, sizeof w->source, "gradients_%zu", w->n_nodes);
}

eddy_status eddy__walk_begin(eddy__walk *w, const eddy_output *ys, size_t n_ys,
                             const eddy_output *xs, size_t n_xs)
{
    const eddy__asked_outputs outputs = {
        .ys = ys,
        .xs = xs,
        .stop = w->options ? w->options->stop : NULL,
        .n_ys = n_ys,
        .n_xs = n_xs,
        .n_stop = w->options ? w->options->n_stop : 0,
    };

    EDDY_TRY(eddy__gather_reads(w->graph, w->prefix, &outputs, w->err));
    w->n_nodes = w->graph->n_nodes;
    return EDDY_OK;
}

void eddy__walk_deinit(eddy__walk *w)
{
    const eddy_allocator *allocator = w->arena.allocator;

    eddy_analysis_destroy(w->analysis);
    eddy__output_map_deinit(&w->real);
    eddy__output_map_deinit(&w->imported);
    eddy__late_deinit(w);
    eddy__free(allocator, w->ready, w->ready_capacity, sizeof *w->ready);
    eddy__arena_destroy(&w->arena);
}

/* NOLINTNEXTLINE(readability-function-size): what is asked, and the answer. */
eddy_status eddy_gradients(eddy_graph *graph, const eddy_output *ys,
                           size_t n_ys, const eddy_output *xs, size_t n_xs,
                           const eddy_gradient_options *options,
                           eddy_output *out_gradients, eddy_error *err)
{
    eddy_error own;
    eddy__bounded bounded;
    eddy__walk w;
    eddy_status status;

    for (size_t i = 0; i < n_xs; i++)
        out_gradients[i] = EDDY__NO_OUTPUT;
    EDDY_TRY(
        eddy__bounded_begin(&bounded, graph, "the gradient", options, err));
    options = &bounded.options;
    eddy__walk_init(&w, graph, options->prefix ? options->prefix : "gradients",
                    err ? err : &own);
    w.options = options;
    status = check(&w, ys, n_ys, xs, n_xs);
    if (status == EDDY_OK)
        status = eddy__walk_begin(&w, ys, n_ys, xs, n_xs);
    if (status == EDDY_OK && n_ys > 0 && n_xs > 0)
        status = find_gradients(&w, &(asked){.ys = ys,
                                             .n_ys = n_ys,
                                             .xs = xs,
                                             .n_xs = n_xs,
                                             .gradients = out_gradients,
                                             .is_first = true});
    for (size_t i = 0; i < n_xs && status != EDDY_OK; i++)
        out_gradients[i] = EDDY__NO_OUTPUT;
    eddy__walk_deinit(&w);
    return eddy__bounded_end(&bounded, status, err);
}
