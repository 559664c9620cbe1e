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
 * another round, no back edge of that loop is in the way.  Those of loops
 * around it may be: then they are made again in that round.
 */
#include "autodiff/walk.h"

#include "core/base/status.h"
#include "core/graph/copy.h"
#include "core/graph/name.h"

#include <stdio.h>
#include <string.h>

/* The copy of one loop, the home frame's or one around it. */
typedef struct copying {
    eddy__walk *w;
    eddy__replay *replay;
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
    return eddy__graph_node(c->w->graph, node);
}

/* A name that no node has, and no frame that is named here. */
static const char *free_name(copying *c, const char *like)
{
    eddy__walk *w = c->w;
    const size_t size = strlen(w->prefix) + strlen(like) + 10;
    char *base = eddy__arena_allocate(&w->graph->arena, size, 1);
    const char *name;
    uint32_t suffix;

    if (base)
        (void)snprintf(base, size, "%s/replay/%s", w->prefix, like);
    name = base ? eddy__name_make(w->graph, base, &suffix) : NULL;
    if (name)
        eddy__name_taken(w->graph, base, suffix);
    else
        w->status = eddy__fail_memory(w->err);
    return name;
}

static void refuse(copying *c, eddy_node node, const char *why)
{
    eddy__walk_fail(c->w, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT, node,
                    "a gradient asked for in the loop '%s' makes trips of '%s' "
                    "again, but %s",
                    c->w->analysis->frames[c->w->home].name, c->loop->name,
                    why);
}

/* ---- what the copy has ---- */

static void find(copying *c, eddy_node node)
{
    /* What this walk has added is of no use to what was there. */
    if (node >= c->w->n_nodes || c->is_found[node])
        return;
    c->is_found[node] = 1;
    c->list[c->n++] = node;
}

static bool is_invariant(const copying *c, eddy_node node)
{
    return c->w->flow.role[node] == EDDY__ROLE_ENTER &&
           c->w->analysis->output_frame[node] == c->frame;
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

/*
 * Is it a read of a variable that no loop changes?  Then what this trip reads
 * is what every trip has read.  It must be live whenever the ys may be.
 */
static bool is_steady_read(const copying *c, eddy_node node)
{
    const eddy_graph *graph = c->w->graph;
    const eddy__node *n = node_at(c, node);
    eddy_output source;
    bool in_loop;

    if (!is_op(n, "ReadVariableOp") || c->frame != c->w->home ||
        c->w->analysis->node_frame[node] != c->frame ||
        eddy__branch_of(c->w, (eddy_output){node, 0}) != 0 ||
        c->w->flow.role[c->w->anchor] == EDDY__ROLE_MERGE)
        return false;
    source = handle_source(graph, n->inputs[0], &in_loop);
    if (!is_op(eddy__graph_node(graph, source.node), "VarHandleOp"))
        return false;
    for (eddy_node v = 0; v < c->w->n_nodes; v++)
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
    else if (c->w->flow.role[node] == EDDY__ROLE_NEXT_ITERATION &&
             c->w->analysis->node_frame[node] == c->frame)
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

        if (merge != EDDY_NO_NODE && c->w->replayed[merge])
            find(c, merge);
    }
    for (size_t i = 0; i < c->n && c->w->status == EDDY_OK; i++) {
        const eddy_node node = c->list[i];

        if (c->variable_of[node] != 0)
            find_next(c, node);
        else if (is_invariant(c, node) && !c->w->flow.is_constant[node])
            refuse(c, node, "the first value of a variable is read in it");
        else if (is_steady_read(c, node))
            c->is_given[node] = 1;
        else if (!is_edge(c, node))
            find_sources(c, node);
    }
}

/* ---- the trips made so far ---- */

static eddy_output start_variable(eddy__walk *w, eddy_output enter)
{
    return eddy__emit_op(w, "Merge", enter, enter);
}

static void step_counter(eddy__walk *w, eddy_output merge, eddy_output cond,
                         eddy_output one)
{
    const eddy_output switch_ = eddy__emit_op(w, "Switch", merge, cond);
    const eddy_output add =
        eddy__emit_op(w, "AddV2", eddy__port(switch_, 1), one);

    eddy__emit_back_edge(w, merge, eddy__emit_op(w, "NextIteration", add));
}

/* An int32 that is live when `like` is. */
static eddy_output int_beside(eddy__walk *w, eddy_node like, int32_t value)
{
    const eddy_node anchor = w->anchor;
    eddy_output out;

    w->anchor = like;
    out = eddy__emit_int(w, value);
    w->anchor = anchor;
    return out;
}

/* How many trips the loop has made, counted in it; given in the home frame. */
static eddy_output count_trips(copying *c, eddy_node merge)
{
    eddy__walk *w = c->w;
    const eddy_frame *loop = c->loop;
    const eddy_output first =
        node_at(c, loop->variables[c->variable_of[merge] - 1].enter)->inputs[0];
    /* A Switch says that it ran, its Identity which way. */
    const eddy_node like = eddy__emit_op(w, "Identity", first).node;
    const eddy_output zero = int_beside(w, like, 0);
    const eddy_output one = int_beside(w, like, 1);
    const int64_t parallel = loop->parallel_iterations;
    const eddy_output count = start_variable(
        w, eddy__emit_enter(w, zero, loop->name, parallel, false));

    step_counter(w, count, (eddy_output){loop->loop_cond, 0},
                 eddy__emit_enter(w, one, loop->name, parallel, true));
    return eddy__enter_home(w, count, c->frame);
}

/* ---- the copy ---- */

/* `value`, of the home frame, in the copy; live when `gate` is. */
static eddy_output enter_copy(copying *c, eddy_output value, eddy_node gate,
                              bool is_constant)
{
    value = eddy__emit_after(c->w, gate, "Identity", &value, 1);
    return eddy__emit_enter(c->w, value, c->name, c->loop->parallel_iterations,
                            is_constant);
}

/* The copy's frame, with its counter and its LoopCond. */
static void start_copy(copying *c, eddy_output trips, eddy_node gate)
{
    eddy__walk *w = c->w;
    eddy_output count, one, less;

    c->name = free_name(c, c->loop->name);
    if (w->status != EDDY_OK)
        return;
    count = start_variable(
        w, eddy__emit_first_enter(w, int_beside(w, gate, 0), c->name,
                                  c->loop->parallel_iterations));
    one = enter_copy(c, int_beside(w, gate, 1), gate, true);
    less = eddy__emit_op(w, "Less", count, enter_copy(c, trips, gate, true));
    less = eddy__emit_op(w, "LoopCond", less);
    c->copy[c->loop->loop_cond] = less.node;
    step_counter(w, count, less, one);
}

/* What enters: the first values and the invariants. */
static void enter_values(copying *c, eddy_node gate)
{
    eddy__walk *w = c->w;

    for (size_t i = 0; i < c->n && w->status == EDDY_OK; i++) {
        const eddy_node node = c->list[i];
        eddy_output v = {node, 0};

        if (c->variable_of[node] != 0) {
            v = node_at(c, c->loop->variables[c->variable_of[node] - 1].enter)
                    ->inputs[0];
            v = start_variable(w, enter_copy(c, eddy__real(w, v), gate, false));
            c->copy[node] = v.node;
        } else if (is_invariant(c, node) || c->is_given[node]) {
            v = enter_copy(c, eddy__real(w, v), gate, true);
            c->copy[node] = v.node;
        }
    }
}

static void copy_node(copying *c, eddy_node node)
{
    eddy__walk *w = c->w;
    eddy__copier copier = {.arena = &w->arena};
    eddy__node_copy copy = {.of = node_at(c, node),
                            .name = free_name(c, node_at(c, node)->name),
                            .drops_class = true,
                            .shares_resource = true};

    if (copy.name && w->flow.role[node] == EDDY__ROLE_ENTER) {
        const uint32_t id = w->analysis->output_frame[node];

        if (!c->frames[id])
            c->frames[id] = free_name(c, w->analysis->frames[id].name);
        copy.frame_name = c->frames[id];
    }
    if (w->status == EDDY_OK)
        w->status =
            eddy__copy_add(&copier, w->graph, &copy, &c->copy[node], w->err);
}

static void connect(copying *c, eddy_node node)
{
    eddy__walk *w = c->w;
    const eddy__node n = *node_at(c, node);

    for (uint32_t i = 0; i < n.n_inputs && w->status == EDDY_OK; i++)
        w->status = eddy__graph_connect(
            w->graph, c->copy[node], i,
            (eddy_output){c->copy[n.inputs[i].node], n.inputs[i].index},
            w->err);
    for (uint32_t i = 0; i < n.n_controls && w->status == EDDY_OK; i++)
        if (n.controls[i] < w->n_nodes)
            w->status = eddy__graph_add_control(w->graph, c->copy[node],
                                                c->copy[n.controls[i]], w->err);
}

static void copy_body(copying *c)
{
    for (size_t i = 0; i < c->n && c->w->status == EDDY_OK; i++)
        if (!is_edge(c, c->list[i]))
            copy_node(c, c->list[i]);
    for (size_t i = 0; i < c->n && c->w->status == EDDY_OK; i++)
        if (!is_edge(c, c->list[i]))
            connect(c, c->list[i]);
}

/* The variable's next value, and what it is after all trips. */
static eddy_output end_variable(copying *c, eddy_node merge)
{
    eddy__walk *w = c->w;
    const uint32_t i = c->variable_of[merge] - 1;
    const eddy_output from = c->next[i];
    const eddy_output next = {c->copy[from.node], from.index};
    const eddy_output now = {c->copy[merge], 0};
    const eddy_output end = {c->copy[c->loop->variables[i].switch_], 0};

    if (w->status != EDDY_OK)
        return EDDY__NO_OUTPUT;
    eddy__emit_back_edge(w, now, eddy__emit_op(w, "NextIteration", next));
    return eddy__emit_op(w, "Exit", end);
}

/* ---- a loop ---- */

/* The gradient by the state that an iteration begins with. */
static eddy_output state_gradient(copying *c, const eddy_loop_variable *v)
{
    eddy_output by_merge = eddy__sum(c->w, (eddy_output){v->merge, 0});
    eddy_output by_switch = EDDY__NO_OUTPUT;

    if (v->switch_ != EDDY_NO_NODE)
        by_switch = eddy__sum(c->w, (eddy_output){v->switch_, 1});
    if (!eddy__is_output(by_merge))
        return by_switch;
    return eddy__is_output(by_switch)
               ? eddy__emit_op(c->w, "AddN", by_merge, by_switch)
               : by_merge;
}

/* Those of all states; gives a node that is live when they are. */
static eddy_node take_gradients(copying *c, eddy_output *gradients)
{
    eddy_node gate = EDDY_NO_NODE;

    for (size_t i = 0; i < c->loop->n_variables; i++) {
        const eddy_loop_variable *v = &c->loop->variables[i];

        gradients[i] = EDDY__NO_OUTPUT;
        if (v->merge == EDDY_NO_NODE || !c->w->replayed[v->merge] ||
            c->variable_of[v->merge] != i + 1)
            continue;
        gradients[i] = state_gradient(c, v);
        if (!eddy__is_output(gradients[i]))
            continue;
        if (eddy_graph_output_dtype(c->w->graph, gradients[i]) ==
            EDDY_RESOURCE) {
            refuse(c, v->merge, "it is a handle");
            return gate;
        }
        if (gate == EDDY_NO_NODE)
            gate = eddy__emit_op(c->w, "Identity", gradients[i]).node;
    }
    return gate;
}

static bool allocate(copying *c)
{
    eddy__arena *arena = &c->w->arena;
    const size_t n = c->w->n_nodes;

    c->variable_of =
        eddy__arena_allocate_zeroed(arena, n, sizeof *c->variable_of);
    c->copy = eddy__arena_allocate(arena, n, sizeof *c->copy);
    c->is_found = eddy__arena_allocate_zeroed(arena, n, 1);
    c->is_given = eddy__arena_allocate_zeroed(arena, n, 1);
    c->list = eddy__arena_allocate(arena, n, sizeof *c->list);
    c->next =
        eddy__arena_allocate(arena, c->loop->n_variables, sizeof *c->next);
    c->frames = eddy__arena_allocate_zeroed(arena, c->w->analysis->n_frames,
                                            sizeof *c->frames);
    if (!c->variable_of || !c->copy || !c->is_found || !c->is_given ||
        !c->list || !c->next || !c->frames) {
        c->w->status = eddy__fail_memory(c->w->err);
        return false;
    }
    memset(c->copy, 0xff, n * sizeof *c->copy);
    return true;
}

/* What was a constant is one in the copy. */
static void take_stops(copying *c)
{
    const eddy_gradient_options *options = c->w->options;

    for (size_t i = 0; options && i < options->n_stop; i++) {
        const eddy_output stop = options->stop[i];

        if (stop.node < c->w->n_nodes && c->copy[stop.node] != EDDY_NO_NODE)
            c->replay->stop[c->replay->n_stop++] =
                (eddy_output){c->copy[stop.node], stop.index};
    }
}

static void replay_loop(eddy__walk *w, uint32_t frame, eddy__replay *replay)
{
    copying c = {.w = w,
                 .replay = replay,
                 .frame = frame,
                 .loop = &w->analysis->frames[frame]};
    eddy_output *gradients = eddy__arena_allocate(
        &w->arena, c.loop->n_variables + 1, sizeof *gradients);
    eddy_node gate;

    if (!gradients) {
        w->status = eddy__fail_memory(w->err);
        return;
    }
    if (!allocate(&c))
        return;
    find_parts(&c);
    if (c.n == 0 || w->status != EDDY_OK)
        return;
    w->at = c.list[0];
    gate = take_gradients(&c, gradients);
    if (gate == EDDY_NO_NODE || w->status != EDDY_OK)
        return;
    start_copy(&c, count_trips(&c, c.list[0]), gate);
    enter_values(&c, gate);
    copy_body(&c);
    for (size_t i = 0; i < c.n && w->status == EDDY_OK; i++) {
        const uint32_t v = c.variable_of[c.list[i]];
        eddy_output end;

        if (v == 0)
            continue;
        end = end_variable(&c, c.list[i]);
        if (!w->replayed[c.list[i]] || !eddy__is_output(gradients[v - 1]))
            continue;
        replay->ys[replay->n] = end;
        replay->grad_ys[replay->n++] = gradients[v - 1];
    }
    take_stops(&c);
}

/* ---- all of them ---- */

static bool can_copy(eddy__walk *w, uint32_t frame)
{
    const eddy_frame *loop = &w->analysis->frames[frame];

    if (loop->loop_cond == EDDY_NO_NODE)
        eddy__walk_fail(w, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT, EDDY_NO_NODE,
                        "a gradient goes through trips of frame '%s' that are "
                        "over, and it has no LoopCond",
                        loop->name);
    else if (eddy__graph_check_closed(w->graph, NULL) != EDDY_OK)
        eddy__walk_fail(w, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT,
                        loop->loop_cond,
                        "a gradient goes through trips of its loop that are "
                        "over, and a construct is open");
    return w->status == EDDY_OK;
}

static bool prepare(eddy__walk *w, eddy__replay *replay)
{
    const size_t n_stop = w->options ? w->options->n_stop : 0;
    size_t n = 0, depth = 1;

    for (eddy_node v = 0; v < w->n_nodes; v++)
        n += w->replayed[v];
    for (uint32_t f = w->home; f != 0; f = w->analysis->frames[f].parent)
        depth++;
    *replay = (eddy__replay){.arena = replay->arena};
    replay->ys =
        eddy__arena_allocate(&replay->arena, n + 1, sizeof *replay->ys);
    replay->grad_ys =
        eddy__arena_allocate(&replay->arena, n + 1, sizeof *replay->grad_ys);
    if (n_stop < SIZE_MAX / depth)
        replay->stop = eddy__arena_allocate(&replay->arena, n_stop * depth + 1,
                                            sizeof *replay->stop);
    if (!replay->ys || !replay->grad_ys || !replay->stop) {
        w->status = eddy__fail_memory(w->err);
        return false;
    }
    if (n_stop > 0)
        memcpy(replay->stop, w->options->stop, n_stop * sizeof *replay->stop);
    replay->n_stop = n_stop;
    return true;
}

void eddy__replay_trips(eddy__walk *w, eddy__replay *replay)
{
    if (w->status != EDDY_OK || !prepare(w, replay))
        return;
    for (uint32_t f = w->home; f != 0; f = w->analysis->frames[f].parent) {
        bool is_wanted = false;

        for (size_t i = 0; i < w->analysis->frames[f].n_variables; i++) {
            const eddy_node merge = w->analysis->frames[f].variables[i].merge;

            is_wanted =
                is_wanted || (merge != EDDY_NO_NODE && w->replayed[merge]);
        }
        if (is_wanted && can_copy(w, f))
            replay_loop(w, f, replay);
    }
}
