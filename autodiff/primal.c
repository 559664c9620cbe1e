/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Primals: the forward values, in the scope of their frame.  A value that
 * changes in its loop goes over a tape, but for what counts trips.
 */
#include "autodiff/primals.h"

void eddy__primals_init(eddy__primals *p, const eddy__value_shapes *shapes,
                        eddy__places *places)
{
    *p = (eddy__primals){.e = places->e,
                         .study = places->study,
                         .shapes = shapes,
                         .places = places,
                         .values.allocator = places->e->arena.allocator,
                         .zeros.allocator = places->e->arena.allocator};
}

void eddy__primals_deinit(eddy__primals *p)
{
    eddy__output_map_deinit(&p->values);
    eddy__map_deinit(&p->zeros);
}

eddy_status eddy__primals_begin(eddy__primals *p)
{
    p->ready_in =
        eddy__emit_zeroed_room(p->e, p->study->branches.n, sizeof *p->ready_in);
    return p->e->core.status;
}

/* ---- making them ---- */

/* A constant of the base frame, in the scope. */
static eddy_output add_constant(eddy__primals *p, const eddy_tensor *tensor,
                                eddy__scope *scope)
{
    /* Immutable, but for the count of its references. */
    const union {
        const eddy_tensor *given;
        eddy_tensor *counted;
    } of = {.given = tensor};

    return eddy__place_import(p->places, eddy__emit_const(p->e, of.counted),
                              scope);
}

/* A value off the tape, or counted again. */
static eddy_output load(eddy__primals *p, eddy_output v)
{
    eddy_output out = eddy__output_map_find(
        &p->values, v, eddy__primal_tag(p, EDDY__PRIMAL_VALUE));

    if (eddy__output_exists(out))
        return out;
    out = eddy__recount_value(p->places, v);
    if (!eddy__output_exists(out))
        out = eddy__stack_save(p, v, eddy__study_frame(p->study, v),
                               eddy__study_branch(p->study, v));
    eddy__emit_keep(p->e, &p->values, v,
                    eddy__primal_tag(p, EDDY__PRIMAL_VALUE), out);
    return out;
}

static eddy_output make_primal(eddy__primals *p, eddy_output v,
                               eddy__scope *scope)
{
    const eddy_tensor *value = eddy__infer_constant_at(&p->study->shapes, v);
    const eddy_output source = eddy__place_source(p->places, v);
    const eddy__scope *from = eddy__place_scope(p->places, source);

    if (from->is_base)
        return eddy__place_import(
            p->places, eddy__place_enter_base(p->places, source, from->frame),
            scope);
    if (value)
        return add_constant(p, value, scope);
    return eddy__place_import_like(p->places, load(p, source), source, scope);
}

/* For a value whose branch and loops have been prepared. */
static eddy_output find_primal(eddy__primals *p, eddy_output v)
{
    eddy__scope *scope = eddy__place_scope(p->places, v);
    eddy_output out = eddy__output_map_find(
        &p->values, v, eddy__primal_tag(p, EDDY__PRIMAL_VALUE));

    if (p->e->core.status != EDDY_OK)
        return EDDY__NO_OUTPUT;
    if (eddy__output_exists(out) ||
        (scope->is_base && scope->frame == p->places->base))
        return eddy__output_exists(out) ? out : v;
    out = scope->is_base ? eddy__place_enter_base(p->places, v, scope->frame)
                         : make_primal(p, v, scope);
    /* A value off the tape was kept there. */
    if (!eddy__output_exists(eddy__output_map_find(
            &p->values, v, eddy__primal_tag(p, EDDY__PRIMAL_VALUE))))
        eddy__emit_keep(p->e, &p->values, v,
                        eddy__primal_tag(p, EDDY__PRIMAL_VALUE), out);
    return out;
}

/* ---- predicates ---- */

static void prepare_branch(eddy__primals *p, uint32_t branch)
{
    const uint32_t ready = p->places->base + 1;
    uint32_t from = branch, n = 0;
    const uint32_t *list;

    /* Around one that is ready all are. */
    while (from != 0 && p->ready_in[from] != ready)
        from = p->study->branches.branches[from].outer;
    list = from != branch
               ? eddy__place_list_branches(p->places, from, branch, &n)
               : NULL;
    for (uint32_t i = 0; list && i < n; i++) {
        const eddy_output predicate =
            p->study->branches.branches[list[i]].predicate;

        eddy__place_note_predicate(p->places, predicate,
                                   find_primal(p, predicate));
        p->ready_in[list[i]] = ready;
    }
}

void eddy__primal_prepare(eddy__primals *p, uint32_t frame, uint32_t branch)
{
    eddy__scope *list[EDDY__MAX_FRAME_DEPTH];
    size_t n = 0;

    if (p->e->core.status != EDDY_OK)
        return;
    if (!p->places->scopes[frame].is_base)
        n = eddy__place_list_scopes(&p->places->scopes[frame],
                                    &p->places->scopes[p->places->base], list);
    for (size_t i = 0; i < n; i++)
        prepare_branch(p, p->study->branches.of_frame[list[i]->frame]);
    prepare_branch(p, branch);
}

/* ---- asking ---- */

eddy_output eddy__primal_value(eddy__primals *p, eddy_output v)
{
    eddy__primal_prepare(p, eddy__study_frame(p->study, v),
                         eddy__study_branch(p->study, v));
    return find_primal(p, v);
}

eddy_output eddy__primal_guard(eddy__primals *p, eddy_output value,
                               uint32_t from, uint32_t to)
{
    eddy__primal_prepare(p, p->study->branches.branches[to].frame, to);
    return eddy__place_enter_branches(p->places, value, from, to, false);
}

eddy_output eddy__primal_bring(eddy__primals *p, eddy_output given,
                               eddy_output to)
{
    const eddy__scope *scope = eddy__place_scope(p->places, given);
    const uint32_t branch = eddy__study_branch(p->study, to);
    uint32_t from = eddy__study_branch(p->study, given);

    if (p->e->core.status != EDDY_OK)
        return EDDY__NO_OUTPUT;
    if (!scope->is_base) {
        eddy__emit_fail(p->e, EDDY_INVALID_ARGUMENT, EDDY_E_FRAME_MIXED,
                        given.node,
                        "it is given for '%.64s', which is outside of its "
                        "loop '%.64s'",
                        eddy__graph_node(p->e->core.graph, to.node)->name,
                        p->study->analysis->frames[scope->frame].name);
        return EDDY__NO_OUTPUT;
    }
    if (scope->frame != p->places->base) {
        given = eddy__place_enter_base(p->places, given, scope->frame);
        from = 0;
    }
    return from != branch &&
                   eddy__branch_is_within(&p->study->branches, branch, from)
               ? eddy__primal_guard(p, given, from, branch)
               : given;
}
