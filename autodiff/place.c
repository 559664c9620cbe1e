/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bringing values to where gradients are computed.  A value of the base frame
 * enters a loop through constant Enters, and a branch through a Switch.
 * Requires the predicates of the branches to have been noted.
 */
#include "autodiff/places.h"

#include "core/base/status.h"

#include <string.h>

/* The kinds of places that `imported` tells apart, by the two lowest bits. */
enum {
    IN_FRAME = 0,
    IN_FORWARD_FRAME = 1,
    IN_BRANCH = 2,
    IN_FORWARD_BRANCH = 3,
    /* In a branch and all around it, where it may have come from far. */
    WITHIN_BRANCH = 4,
    WITHIN_FORWARD_BRANCH = 5
};

static uint64_t tag_of(uint32_t place, uint64_t kind)
{
    return (uint64_t)place << 3 | kind;
}

/* ---- the scopes ---- */

void eddy__places_init(eddy__places *p, eddy__gradient_emitter *e,
                       const eddy__study *study)
{
    const eddy_allocator *allocator = e->arena.allocator;

    *p = (eddy__places){.e = e,
                        .study = study,
                        .imported.allocator = allocator,
                        .predicates.allocator = allocator};
}

void eddy__places_deinit(eddy__places *p)
{
    eddy__output_map_deinit(&p->imported);
    eddy__output_map_deinit(&p->predicates);
}

static void init_base(eddy__places *p, eddy__base *base, uint32_t frame)
{
    *base = (eddy__base){.frame = frame,
                         .control = p->e->control,
                         .one = EDDY__NO_OUTPUT,
                         .minus_one = EDDY__NO_OUTPUT,
                         .truths = {EDDY__NO_OUTPUT, EDDY__NO_OUTPUT}};
    p->scopes[frame].base = base;
    for (eddy__scope *s = &p->scopes[frame]; !s->is_base; s = s->parent)
        s->is_base = true;
}

eddy_status eddy__places_build(eddy__places *p, const uint32_t *bases,
                               size_t n_bases)
{
    const eddy_frame *frames = p->study->analysis->frames;
    const size_t n = p->study->analysis->n_frames;

    p->scopes = eddy__emit_zeroed_room(p->e, n, sizeof *p->scopes);
    p->bases = eddy__emit_room(p->e, n_bases, sizeof *p->bases);
    if (!p->scopes || !p->bases)
        return p->e->core.status;
    for (uint32_t f = 0; f < n; f++) {
        eddy__scope *scope = &p->scopes[f];

        scope->frame = f;
        scope->parent = &p->scopes[frames[f].parent];
        scope->count_sync = scope->back_sync = EDDY_NO_NODE;
        scope->pivot = EDDY__NO_OUTPUT;
    }
    for (size_t i = 0; i < n_bases; i++)
        init_base(p, &p->bases[i], bases[i]);
    /* Parents come before their children. */
    for (uint32_t f = 1; f < n; f++)
        if (!p->scopes[f].base)
            p->scopes[f].base = p->scopes[f].parent->base;
    p->at = p->bases;
    p->base = p->at->frame;
    return EDDY_OK;
}

/* ---- into branches ---- */

uint32_t *eddy__place_list_branches(eddy__places *p, uint32_t from, uint32_t to,
                                    uint32_t *out_n)
{
    const eddy_branch_info *branches = p->study->branches.branches;
    const uint32_t n = branches[to].depth - branches[from].depth;
    uint32_t *list = eddy__emit_room(p->e, n, sizeof *list);

    *out_n = n;
    if (!list)
        return NULL;
    for (uint32_t i = n; i-- > 0; to = branches[to].outer)
        list[i] = to;
    return list;
}

/* One side of a predicate; `predicate` is live where `value` is. */
static eddy_output take_side(eddy__places *p, eddy_output value,
                             eddy_output predicate,
                             const eddy_branch_info *branch)
{
    const int64_t n_sides = branch->n_sides;
    const eddy_attr attr = eddy_attr_int("num_outs", &n_sides);
    const eddy_output inputs[] = {value, predicate};
    eddy_output out;

    if (eddy_graph_output_dtype(p->e->core.graph, branch->predicate) ==
        EDDY_BOOL)
        out = eddy__emit(
            p->e, eddy__emit_is_reference(p->e, value) ? "RefSwitch" : "Switch",
            inputs, 2);
    else
        out = eddy__emit_spec(p->e, &(eddy_node_spec){.op = "_SwitchN",
                                                      .inputs = inputs,
                                                      .n_inputs = 2,
                                                      .attrs = &attr,
                                                      .n_attrs = 1});
    return out;
}

void eddy__place_note_predicate(eddy__places *p, eddy_output predicate,
                                eddy_output value)
{
    if (!eddy__output_exists(
            eddy__output_map_find(&p->predicates, predicate, p->base)))
        eddy__emit_keep(p->e, &p->predicates, predicate, p->base, value);
}

static eddy_output known(const eddy__places *p, eddy_output predicate)
{
    const eddy_output out =
        eddy__output_map_find(&p->predicates, predicate, p->base);

    return eddy__output_exists(out) ? out : predicate;
}

/* The whole Switch is kept, so that all its sides share it. */
static eddy_output enter_branch(eddy__places *p, eddy_output value,
                                uint32_t branch_id, bool forward)
{
    const eddy_branch_info *branch = &p->study->branches.branches[branch_id];
    /* The sides of a predicate are numbered one after the other. */
    const uint64_t tag = tag_of(branch_id - branch->side,
                                forward ? IN_FORWARD_BRANCH : IN_BRANCH);
    eddy_output out = eddy__output_map_find(&p->imported, value, tag);

    if (!eddy__output_exists(out)) {
        const eddy_output predicate =
            forward ? branch->predicate : known(p, branch->predicate);

        out = take_side(p, value, predicate, branch);
        eddy__emit_keep(p->e, &p->imported, value, tag, out);
    }
    return eddy__output_port(out, branch->side);
}

eddy_output eddy__place_enter_branches(eddy__places *p, eddy_output value,
                                       uint32_t from, uint32_t to, bool forward)
{
    const uint64_t kind = forward ? WITHIN_FORWARD_BRANCH : WITHIN_BRANCH;
    const eddy_output whole = value;
    uint32_t n = 0, at = to;
    const uint32_t *list;

    /* What is in a branch that `to` is not in stays in both. */
    from = eddy__branch_around(&p->study->branches, from, to);
    for (; at != from; at = p->study->branches.branches[at].outer) {
        const eddy_output found =
            eddy__output_map_find(&p->imported, whole, tag_of(at, kind));

        if (eddy__output_exists(found)) {
            value = found;
            break;
        }
    }
    list = at == to ? NULL : eddy__place_list_branches(p, at, to, &n);

    for (uint32_t i = 0; i < n && p->e->core.status == EDDY_OK; i++) {
        value = enter_branch(p, value, list[i], forward);
        eddy__emit_keep(p->e, &p->imported, whole, tag_of(list[i], kind),
                        value);
    }
    return p->e->core.status == EDDY_OK ? value : EDDY__NO_OUTPUT;
}

/* ---- into loops ---- */

size_t eddy__place_list_scopes(eddy__scope *to, const eddy__scope *from,
                               eddy__scope *list[EDDY__MAX_FRAME_DEPTH])
{
    size_t n = 0;

    for (eddy__scope *s = to; s != from; s = s->parent)
        n++;
    for (size_t i = n; i-- > 0; to = to->parent)
        list[i] = to;
    return n;
}

static eddy_output enter_frame(eddy__places *p, eddy_output value,
                               const eddy__scope *scope, bool forward)
{
    const eddy_frame *frame = &p->study->analysis->frames[scope->frame];
    const uint64_t tag =
        tag_of(scope->frame, forward ? IN_FORWARD_FRAME : IN_FRAME);
    eddy_output out = eddy__output_map_find(&p->imported, value, tag);

    if (eddy__output_exists(out))
        return out;
    out = eddy__emit_enter(p->e, value, forward ? frame->name : scope->name,
                           frame->parallel_iterations, true);
    eddy__emit_keep(p->e, &p->imported, value, tag, out);
    return out;
}

/*
 * `value` is live in branch `from_branch` of the frame of `from`.  It is led
 * into the branches within that alone: in one of the same predicate again it
 * would be in a branch of its own to whoever analyses the graph next.
 */
static eddy_output go_down(eddy__places *p, eddy_output value,
                           uint32_t from_branch, const eddy__scope *from,
                           eddy__scope *to, bool forward)
{
    eddy__scope *list[EDDY__MAX_FRAME_DEPTH];
    const size_t n = eddy__place_list_scopes(to, from, list);

    for (size_t i = 0; i < n && p->e->core.status == EDDY_OK; i++) {
        const uint32_t branch = p->study->branches.of_frame[list[i]->frame];

        if (!eddy__branch_is_within(&p->study->branches, branch, from_branch))
            from_branch = 0;
        value =
            eddy__place_enter_branches(p, value, from_branch, branch, forward);
        value = enter_frame(p, value, list[i], forward);
        from_branch = 0;
    }
    return value;
}

/* The branch of a forward value; what is new is live in all its frame. */
static uint32_t branch_in(const eddy__places *p, eddy_output v,
                          const eddy__scope *scope)
{
    return v.node < p->study->n_nodes &&
                   eddy__study_frame(p->study, v) == scope->frame
               ? eddy__study_branch(p->study, v)
               : 0;
}

eddy_output eddy__place_import_from(eddy__places *p, eddy_output value,
                                    const eddy__scope *from, eddy__scope *to)
{
    return go_down(p, value, branch_in(p, value, from), from, to, false);
}

eddy_output eddy__place_import_like(eddy__places *p, eddy_output value,
                                    eddy_output like, eddy__scope *to)
{
    eddy__scope *from = eddy__place_scope(p, like);
    uint32_t branch = eddy__study_branch(p->study, like);

    /* One of a frame around the base frame has entered that. */
    if (from->is_base && from->frame != p->base) {
        from = &p->scopes[p->base];
        branch = 0;
    }
    return to->is_base ? value : go_down(p, value, branch, from, to, false);
}

eddy_output eddy__place_import(eddy__places *p, eddy_output value,
                               eddy__scope *to)
{
    return to->is_base
               ? value
               : eddy__place_import_from(p, value, &p->scopes[p->base], to);
}

eddy_output eddy__place_import_forward(eddy__places *p, eddy_output value,
                                       uint32_t frame, uint32_t branch)
{
    if (!p->scopes[frame].is_base)
        value =
            go_down(p, value, 0, &p->scopes[p->base], &p->scopes[frame], true);
    return eddy__place_enter_branches(p, value, 0, branch, true);
}

eddy_output eddy__place_enter_base(eddy__places *p, eddy_output v,
                                   uint32_t frame)
{
    const eddy__scope *scope = &p->scopes[frame];

    return go_down(p, v, branch_in(p, v, scope), scope, &p->scopes[p->base],
                   true);
}

/* ---- where values come from ---- */

static bool is_forward_node(const eddy__places *p, eddy_output v, uint32_t role)
{
    return v.node < p->study->n_nodes && p->study->flow.role[v.node] == role;
}

/*
 * Is it an Identity, whose value is its input's?  StopGradient is none, nor
 * PreventGradient: their value is the same, but its gradients are not.
 */
static bool is_identity(const eddy__places *p, eddy_output v)
{
    const char *op;

    if (!is_forward_node(p, v, EDDY__ROLE_FORWARD) || v.index != 0)
        return false;
    op = eddy__graph_node(p->e->core.graph, v.node)->op_name;
    return strcmp(op, "StopGradient") != 0 &&
           strcmp(op, "PreventGradient") != 0;
}

static eddy_output skip_identities(const eddy__places *p, eddy_output v)
{
    while (is_identity(p, v))
        v = eddy__graph_node(p->e->core.graph, v.node)->inputs[0];
    return v;
}

/* And past the Switches of branches, which only say where it is live. */
static eddy_output skip_switches(const eddy__places *p, eddy_output v)
{
    for (;;) {
        v = skip_identities(p, v);
        if (v.node >= p->study->n_nodes ||
            !eddy__trace_is_branch_switch(&p->study->flow, v.node))
            return v;
        v = eddy__graph_node(p->e->core.graph, v.node)->inputs[0];
    }
}

/*
 * Out of the loops in which `v` does not change.  In the base frame, and in
 * those around it, it is what was named: an Identity there may be the x of a
 * later call, which would not see what was read before it.
 */
static eddy_output find_invariant(const eddy__places *p, eddy_output v)
{
    while (!p->scopes[eddy__study_frame(p->study, v)].is_base) {
        v = skip_switches(p, v);
        if (!is_forward_node(p, v, EDDY__ROLE_ENTER) ||
            !p->study->flow.is_constant[v.node])
            return v;
        v = eddy__graph_node(p->e->core.graph, v.node)->inputs[0];
    }
    return v;
}

eddy_output eddy__place_source(const eddy__places *p, eddy_output v)
{
    const eddy_output source = find_invariant(p, v);

    if (p->scopes[eddy__study_frame(p->study, v)].is_base)
        return v;
    /* Where it is live matters in the loop in which it changes. */
    return eddy__study_frame(p->study, source) == eddy__study_frame(p->study, v)
               ? skip_identities(p, v)
               : source;
}
