/*
 * Bringing values to where gradients are computed.
 *
 * A value of the home frame enters a loop through constant Enters, and a branch
 * through a Switch.  A value of a loop that changes goes over a tape.
 */
#include "autodiff/walk.h"

#include "core/base/status.h"

#include <string.h>

/* What `imported` is asked for: a place, and whether of the forward side. */
enum {
    IN_FRAME = 0,
    IN_FORWARD_FRAME = 1,
    IN_BRANCH = 2,
    IN_FORWARD_BRANCH = 3
};

static uint64_t tag_of(uint32_t place, uint64_t kind)
{
    return (uint64_t)place << 2 | kind;
}

uint32_t eddy__frame_of(const eddy__walk *w, eddy_output output)
{
    return w->analysis->output_frame[output.node];
}

uint32_t eddy__branch_of(const eddy__walk *w, eddy_output output)
{
    return eddy__branches_output(&w->branches, &w->flow, w->analysis, output);
}

/* ---- into branches ---- */

/* The branches from below `from` down to `to`; NULL without memory. */
static uint32_t *list_branches(eddy__walk *w, uint32_t from, uint32_t to,
                               uint32_t *out_n)
{
    const eddy_branch_info *branches = w->branches.branches;
    const uint32_t n = branches[to].depth - branches[from].depth;
    uint32_t *list = eddy__arena_allocate(&w->arena, n, sizeof *list);

    *out_n = n;
    if (!list) {
        w->status = eddy__fail_memory(w->err);
        return NULL;
    }
    for (uint32_t i = n; i-- > 0; to = branches[to].outer)
        list[i] = to;
    return list;
}

/* One side of a predicate; `predicate` is live where `value` is. */
static eddy_output take_side(eddy__walk *w, eddy_output value,
                             eddy_output predicate,
                             const eddy_branch_info *branch)
{
    const int64_t n_sides = branch->n_sides;
    const eddy_attr attr = eddy_attr_int("num_outs", &n_sides);
    const eddy_output inputs[] = {value, predicate};
    eddy_output out;

    if (eddy_graph_output_dtype(w->graph, branch->predicate) == EDDY_BOOL)
        out = eddy__emit(w, "Switch", inputs, 2);
    else
        out = eddy__emit_spec(w, &(eddy_node_spec){.op = "_SwitchN",
                                                   .inputs = inputs,
                                                   .n_inputs = 2,
                                                   .attrs = &attr,
                                                   .n_attrs = 1});
    return out;
}

/* What eddy__prepare has made of a predicate. */
static eddy_output known(const eddy__walk *w, eddy_output predicate)
{
    const eddy_output out =
        eddy__output_map_find(&w->real, predicate, EDDY__VALUE);

    return eddy__is_output(out) ? out : predicate;
}

/* The whole Switch is kept, so that all its sides share it. */
static eddy_output enter_branch(eddy__walk *w, eddy_output value,
                                uint32_t branch_id, bool forward)
{
    const eddy_branch_info *branch = &w->branches.branches[branch_id];
    /* The sides of a predicate are numbered one after the other. */
    const uint64_t tag = tag_of(branch_id - branch->side,
                                forward ? IN_FORWARD_BRANCH : IN_BRANCH);
    eddy_output out = eddy__output_map_find(&w->imported, value, tag);

    if (!eddy__is_output(out)) {
        const eddy_output predicate =
            forward ? branch->predicate : known(w, branch->predicate);

        out = take_side(w, value, predicate, branch);
        eddy__keep(w, &w->imported, value, tag, out);
    }
    return eddy__port(out, branch->side);
}

static eddy_output enter_branches(eddy__walk *w, eddy_output value,
                                  uint32_t from, uint32_t to, bool forward)
{
    uint32_t n = 0;
    const uint32_t *list = from == to ? NULL : list_branches(w, from, to, &n);

    for (uint32_t i = 0; i < n && w->status == EDDY_OK; i++)
        value = enter_branch(w, value, list[i], forward);
    return w->status == EDDY_OK ? value : EDDY__NO_OUTPUT;
}

/* ---- into loops ---- */

/* The scopes from below `from` down to `to`. */
static size_t list_scopes(eddy__scope *to, const eddy__scope *from,
                          eddy__scope *list[EDDY__MAX_FRAME_DEPTH])
{
    size_t n = 0;

    for (eddy__scope *s = to; s != from; s = s->parent)
        n++;
    for (size_t i = n; i-- > 0; to = to->parent)
        list[i] = to;
    return n;
}

static eddy_output enter_frame(eddy__walk *w, eddy_output value,
                               const eddy__scope *scope, bool forward)
{
    const eddy_frame *frame = &w->analysis->frames[scope->frame];
    const uint64_t tag =
        tag_of(scope->frame, forward ? IN_FORWARD_FRAME : IN_FRAME);
    eddy_output out = eddy__output_map_find(&w->imported, value, tag);

    if (eddy__is_output(out))
        return out;
    out = eddy__emit_enter(w, value, forward ? frame->name : scope->name,
                           frame->parallel_iterations, true);
    eddy__keep(w, &w->imported, value, tag, out);
    return out;
}

/*
 * `value` is live in branch `from_branch` of the frame of `from`.  It is led
 * into the branches within that alone: in one of the same predicate again it
 * would be in a branch of its own to whoever analyses the graph next.
 */
static eddy_output go_down(eddy__walk *w, eddy_output value,
                           uint32_t from_branch, const eddy__scope *from,
                           eddy__scope *to, bool forward)
{
    eddy__scope *list[EDDY__MAX_FRAME_DEPTH];
    const size_t n = list_scopes(to, from, list);

    for (size_t i = 0; i < n && w->status == EDDY_OK; i++) {
        const uint32_t branch = w->branches.of_frame[list[i]->frame];

        if (!eddy__branch_is_within(&w->branches, branch, from_branch))
            from_branch = 0;
        value = enter_branches(w, value, from_branch, branch, forward);
        value = enter_frame(w, value, list[i], forward);
        from_branch = 0;
    }
    return value;
}

/* The branch of a forward value; what is new is live in all its frame. */
static uint32_t branch_in(const eddy__walk *w, eddy_output v,
                          const eddy__scope *scope)
{
    return v.node < w->n_nodes && eddy__frame_of(w, v) == scope->frame
               ? eddy__branch_of(w, v)
               : 0;
}

eddy_output eddy__import_from(eddy__walk *w, eddy_output value,
                              const eddy__scope *from, eddy__scope *to)
{
    return go_down(w, value, branch_in(w, value, from), from, to, false);
}

eddy_output eddy__import_like(eddy__walk *w, eddy_output value,
                              eddy_output like, eddy__scope *to)
{
    eddy__scope *from = eddy__scope_of(w, like);
    uint32_t branch = eddy__branch_of(w, like);

    /* One of a frame around the home frame has entered that. */
    if (from->is_home && from->frame != w->home) {
        from = &w->scopes[w->home];
        branch = 0;
    }
    return to->is_home ? value : go_down(w, value, branch, from, to, false);
}

eddy_output eddy__import(eddy__walk *w, eddy_output home, eddy__scope *to)
{
    return to->is_home ? home
                       : eddy__import_from(w, home, &w->scopes[w->home], to);
}

eddy_output eddy__import_forward(eddy__walk *w, eddy_output home,
                                 uint32_t frame, uint32_t branch)
{
    if (!w->scopes[frame].is_home)
        home =
            go_down(w, home, 0, &w->scopes[w->home], &w->scopes[frame], true);
    return enter_branches(w, home, 0, branch, true);
}

/* ---- order ---- */

/* A trigger runs though what it waits for is dead, as in a branch. */
static void wait_for(eddy__walk *w, eddy_node next, eddy_node *sync,
                     eddy_node node, bool always)
{
    if (w->status != EDDY_OK)
        return;
    if (always) {
        eddy__emit_control(w, next, node);
    } else if (*sync != EDDY_NO_NODE) {
        eddy__emit_control(w, *sync, node);
    } else {
        *sync = eddy__emit_after(w, node, "ControlTrigger", NULL, 0).node;
        eddy__emit_control(w, next, *sync);
    }
}

void eddy__sync_forward(eddy__walk *w, eddy__scope *scope, eddy_node node,
                        uint32_t branch)
{
    if (!scope->is_home)
        wait_for(w, scope->count_next, &scope->count_sync, node, branch == 0);
}

void eddy__sync_backward(eddy__walk *w, eddy__scope *scope, eddy_node node,
                         uint32_t branch)
{
    if (!scope->is_home)
        wait_for(w, scope->back_next, &scope->back_sync, node, branch == 0);
}

/* ---- over the tape ---- */

static eddy_output minus_one(eddy__walk *w)
{
    if (!eddy__is_output(w->minus_one))
        w->minus_one = eddy__emit_int(w, -1);
    return w->minus_one;
}

eddy_output eddy__emit_stack(eddy__walk *w, eddy__scope *scope,
                             eddy_dtype dtype)
{
    const eddy_output size = eddy__import(w, minus_one(w), scope);
    const eddy_attr attr = eddy_attr_type("elem_type", &dtype);
    const eddy_node control = scope->is_home
                                  ? (w->home ? w->anchor : EDDY_NO_NODE)
                                  : scope->pivot.node;

    return eddy__emit_spec(
        w, &(eddy_node_spec){.op = "StackV2",
                             .inputs = &size,
                             .n_inputs = 1,
                             .controls = &control,
                             .n_controls = control != EDDY_NO_NODE,
                             .attrs = &attr,
                             .n_attrs = 1});
}

eddy_output eddy__emit_push(eddy__walk *w, eddy_node after, eddy_output stack,
                            eddy_output value)
{
    const eddy_output inputs[] = {stack, value};

    return eddy__emit_after(w, after, "StackPushV2", inputs, 2);
}

eddy_output eddy__emit_pop(eddy__walk *w, eddy_node after, eddy_output stack,
                           eddy_dtype dtype)
{
    const eddy_attr attr = eddy_attr_type("elem_type", &dtype);

    return eddy__emit_spec(
        w, &(eddy_node_spec){.op = "StackPopV2",
                             .inputs = &stack,
                             .n_inputs = 1,
                             .controls = &after,
                             .n_controls = after != EDDY_NO_NODE,
                             .attrs = &attr,
                             .n_attrs = 1});
}

eddy_output eddy__save(eddy__walk *w, eddy_output value, uint32_t frame,
                       uint32_t branch)
{
    eddy__scope *scope = &w->scopes[frame];
    eddy_dtype dtype;
    eddy_output stack, push, pop;

    if (w->status != EDDY_OK || scope->is_home)
        return value;
    dtype = eddy_graph_output_dtype(w->graph, value);
    stack = eddy__emit_stack(w, &w->scopes[w->home], dtype);
    push = eddy__emit_push(w, scope->count_add,
                           eddy__import_forward(w, stack, frame, 0), value);
    eddy__sync_forward(w, scope, push.node, branch);
    pop = eddy__emit_pop(
        w, scope->pivot.node,
        enter_branches(w, eddy__import(w, stack, scope), 0, branch, false),
        dtype);
    eddy__sync_backward(w, scope, pop.node, branch);
    return pop;
}

/* ---- forward values ---- */

static bool is_forward_node(const eddy__walk *w, eddy_output v, uint32_t role)
{
    return v.node < w->n_nodes && w->flow.role[v.node] == role;
}

/* Past Identities, whose value is their input's. */
static eddy_output skip_identities(const eddy__walk *w, eddy_output v)
{
    while (is_forward_node(w, v, EDDY__ROLE_FORWARD) && v.index == 0)
        v = eddy__graph_node(w->graph, v.node)->inputs[0];
    return v;
}

/* And past the Switches of branches, which only say where it is live. */
static eddy_output skip_switches(const eddy__walk *w, eddy_output v)
{
    for (;;) {
        v = skip_identities(w, v);
        if (v.node >= w->n_nodes || !eddy__is_branch_switch(&w->flow, v.node))
            return v;
        v = eddy__graph_node(w->graph, v.node)->inputs[0];
    }
}

/*
 * Out of the loops in which `v` does not change.  In the home frame, and in
 * those around it, it is what was named: an Identity there may be the x of a
 * later call, which would not see what was read before it.
 */
static eddy_output find_invariant(const eddy__walk *w, eddy_output v)
{
    while (!w->scopes[eddy__frame_of(w, v)].is_home) {
        v = skip_switches(w, v);
        if (!is_forward_node(w, v, EDDY__ROLE_ENTER) ||
            !w->flow.is_constant[v.node])
            return v;
        v = eddy__graph_node(w->graph, v.node)->inputs[0];
    }
    return v;
}

eddy_output eddy__source_of(const eddy__walk *w, eddy_output v)
{
    const eddy_output source = find_invariant(w, v);

    if (w->scopes[eddy__frame_of(w, v)].is_home)
        return v;
    /* Where it is live matters in the loop in which it changes. */
    return eddy__frame_of(w, source) == eddy__frame_of(w, v)
               ? skip_identities(w, v)
               : source;
}

/* A value of a frame around the home frame, in the home frame. */
static eddy_output enter_home(eddy__walk *w, eddy_output v,
                              const eddy__scope *scope)
{
    return go_down(w, v, branch_in(w, v, scope), scope, &w->scopes[w->home],
                   true);
}

eddy_output eddy__enter_home(eddy__walk *w, eddy_output v, uint32_t frame)
{
    return enter_home(w, v, &w->scopes[frame]);
}

static eddy_output constant(eddy__walk *w, const eddy_tensor *tensor,
                            eddy__scope *scope)
{
    /* Immutable, but for the count of its references. */
    const union {
        const eddy_tensor *given;
        eddy_tensor *counted;
    } of = {.given = tensor};

    return eddy__import(w, eddy__emit_const(w, of.counted), scope);
}

/* A value off the tape, or counted anew. */
static eddy_output load(eddy__walk *w, eddy_output v)
{
    eddy_output out = eddy__output_map_find(&w->real, v, EDDY__VALUE);

    if (eddy__is_output(out))
        return out;
    out = eddy__recount(w, v);
    if (!eddy__is_output(out))
        out = eddy__save(w, v, eddy__frame_of(w, v), eddy__branch_of(w, v));
    eddy__keep(w, &w->real, v, EDDY__VALUE, out);
    return out;
}

static eddy_output make_real(eddy__walk *w, eddy_output v, eddy__scope *scope)
{
    const eddy_tensor *value = eddy__constant_at(&w->shapes, v);
    const eddy_output source = eddy__source_of(w, v);
    const eddy__scope *home = eddy__scope_of(w, source);

    if (home->is_home)
        return eddy__import(w, enter_home(w, source, home), scope);
    if (value)
        return constant(w, value, scope);
    return eddy__import_like(w, load(w, source), source, scope);
}

/* For a value whose branch and loops have been prepared. */
static eddy_output find_real(eddy__walk *w, eddy_output v)
{
    eddy__scope *scope = eddy__scope_of(w, v);
    eddy_output out = eddy__output_map_find(&w->real, v, EDDY__VALUE);

    if (w->status != EDDY_OK)
        return EDDY__NO_OUTPUT;
    if (eddy__is_output(out) || (scope->is_home && scope->frame == w->home))
        return eddy__is_output(out) ? out : v;
    out = scope->is_home ? enter_home(w, v, scope) : make_real(w, v, scope);
    /* A value off the tape was kept there. */
    if (!eddy__is_output(eddy__output_map_find(&w->real, v, EDDY__VALUE)))
        eddy__keep(w, &w->real, v, EDDY__VALUE, out);
    return out;
}

static void prepare_branch(eddy__walk *w, uint32_t branch)
{
    uint32_t from = branch, n = 0;
    const uint32_t *list;

    /* Around one that is ready all are. */
    while (from != 0 && !w->is_branch_ready[from])
        from = w->branches.branches[from].outer;
    list = from != branch ? list_branches(w, from, branch, &n) : NULL;
    for (uint32_t i = 0; list && i < n; i++) {
        find_real(w, w->branches.branches[list[i]].predicate);
        w->is_branch_ready[list[i]] = 1;
    }
}

void eddy__prepare(eddy__walk *w, uint32_t frame, uint32_t branch)
{
    eddy__scope *list[EDDY__MAX_FRAME_DEPTH];
    size_t n = 0;

    if (w->status != EDDY_OK)
        return;
    if (!w->scopes[frame].is_home)
        n = list_scopes(&w->scopes[frame], &w->scopes[w->home], list);
    for (size_t i = 0; i < n; i++)
        prepare_branch(w, w->branches.of_frame[list[i]->frame]);
    prepare_branch(w, branch);
}

static void prepare_for(eddy__walk *w, eddy_output v)
{
    eddy__prepare(w, eddy__frame_of(w, v), eddy__branch_of(w, v));
}

eddy_output eddy__real(eddy__walk *w, eddy_output v)
{
    prepare_for(w, v);
    return find_real(w, v);
}

eddy_output eddy__guard(eddy__walk *w, eddy_output value, uint32_t from,
                        uint32_t to)
{
    eddy__prepare(w, w->branches.branches[to].frame, to);
    return enter_branches(w, value, from, to, false);
}

eddy_output eddy__bring(eddy__walk *w, eddy_output given, eddy_output to)
{
    const eddy__scope *scope = eddy__scope_of(w, given);
    const uint32_t branch = eddy__branch_of(w, to);
    uint32_t from = eddy__branch_of(w, given);

    if (w->status != EDDY_OK)
        return EDDY__NO_OUTPUT;
    if (!scope->is_home) {
        eddy__walk_fail(w, EDDY_INVALID_ARGUMENT, EDDY_E_FRAME_MIXED,
                        given.node,
                        "it is given for '%.64s', which is outside of its "
                        "loop '%.64s'",
                        eddy__graph_node(w->graph, to.node)->name,
                        w->analysis->frames[scope->frame].name);
        return EDDY__NO_OUTPUT;
    }
    if (scope->frame != w->home) {
        given = enter_home(w, given, scope);
        from = 0;
    }
    return from != branch && eddy__branch_is_within(&w->branches, branch, from)
               ? eddy__guard(w, given, from, branch)
               : given;
}
