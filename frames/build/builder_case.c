/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cases.  One by predicates is conditionals in each other, as TensorFlow's case
 * is: each but the last branch is the branch taken of one, and what remains is
 * its other branch.  One by index is a _SwitchN of the index by itself, whose
 * outputs are the pivots of the branches, a _SwitchN of each value that enters
 * them, and a Merge of the branches' results.
 *
 * A case by predicates is on the stack with its conditionals above it; when it
 * has none (a single branch) it stands in the level around it.
 */
#include "core/base/status.h"
#include "core/value/shape.h"
#include "frames/build/builder.h"

#include <string.h>

/* ---- what is checked in a run ---- */

static eddy_status adopt(eddy__builder *b, const eddy__construct *c,
                         const eddy_node_spec *spec, eddy_output *out,
                         eddy_error *err)
{
    const eddy__site site = {.level = eddy__builder_level(b),
                             .scope = c->scope};

    out->index = 0;
    return eddy__builder_adopt(b, site, spec, &out->node, err);
}

/* How many of the first `n` predicates hold, an int32. */
static eddy_status count_true(eddy__builder *b, const eddy__construct *c,
                              size_t n, eddy_output *out_pack,
                              eddy_output *out_count, eddy_error *err)
{
    static const eddy_dtype number = EDDY_INT32;
    const eddy__site site = {.level = eddy__builder_level(b),
                             .scope = c->scope,
                             .hint = "num_true_conds/axis"};
    const eddy_attr to = eddy_attr_type("DstT", &number);
    eddy_output pair[2];
    eddy_node_spec spec = eddy__builder_spec("Pack", c->predicates, n);

    EDDY_TRY(adopt(b, c, &spec, out_pack, err));
    spec = eddy__builder_spec("Cast", out_pack, 1);
    spec.attrs = &to;
    spec.n_attrs = 1;
    EDDY_TRY(adopt(b, c, &spec, &pair[0], err));
    EDDY_TRY(eddy__builder_adopt_scalar(b, site, EDDY_INT32, 0, &pair[1], err));
    spec = eddy__builder_spec("Sum", pair, 2);
    return adopt(b, c, &spec, out_count, err);
}

static eddy_status add_text(eddy__builder *b, const eddy__construct *c,
                            const char *text, eddy_output *out, eddy_error *err)
{
    const eddy_string string = {text, strlen(text)};
    const eddy_shape scalar = eddy__shape_scalar();
    const eddy__site site = {.level = eddy__builder_level(b),
                             .scope = c->scope,
                             .hint = "Assert/data"};
    eddy_tensor *tensor;
    eddy_status status;

    EDDY_TRY(eddy_tensor_from_strings(b->graph->ctx, &scalar, &string, 1,
                                      &tensor, err));
    status = eddy__adopt_const(b, site, tensor, EDDY_NO_NODE, out, err);
    eddy_tensor_release(tensor);
    return status;
}

/* What an Assert wants, and the text and the value that it shows. */
typedef struct assertion {
    eddy_output condition;
    const char *text;
    eddy_output shown;
} assertion;

static eddy_status add_assert(eddy__builder *b, const eddy__construct *c,
                              const assertion *claim, eddy_node *out,
                              eddy_error *err)
{
    eddy_output inputs[] = {claim->condition, {0, 0}, claim->shown};
    eddy_output first;
    const eddy_node_spec spec = eddy__builder_spec("Assert", inputs, 3);

    EDDY_TRY(add_text(b, c, claim->text, &inputs[1], err));
    EDDY_TRY(adopt(b, c, &spec, &first, err));
    *out = first.node;
    return EDDY_OK;
}

/* That at most one predicate holds. */
static eddy_status check_exclusive(eddy__builder *b, const eddy__construct *c,
                                   eddy_node *out_assert, eddy_error *err)
{
    const eddy__site site = {.level = eddy__builder_level(b),
                             .scope = c->scope,
                             .hint = "n_true_conds"};
    assertion claim = {.text = "a case is exclusive, and more than one of its "
                               "predicates holds:"};
    eddy_output pair[2];
    const eddy_node_spec spec = eddy__builder_spec("LessEqual", pair, 2);

    EDDY_TRY(count_true(b, c, c->n_predicates, &claim.shown, &pair[0], err));
    EDDY_TRY(eddy__builder_adopt_scalar(b, site, EDDY_INT32, 1, &pair[1], err));
    EDDY_TRY(adopt(b, c, &spec, &claim.condition, err));
    return add_assert(b, c, &claim, out_assert, err);
}

/* That the last predicate holds, in the branch in which no other does. */
static eddy_status check_last(eddy__builder *b, const eddy__construct *c,
                              eddy_node *out_assert, eddy_error *err)
{
    assertion claim = {.condition = c->predicates[c->n_predicates - 1],
                       .text = "no predicate of a case without default holds:"};
    const eddy_node_spec spec =
        eddy__builder_spec("Pack", c->predicates, c->n_predicates);

    EDDY_TRY(adopt(b, c, &spec, &claim.shown, err));
    return add_assert(b, c, &claim, out_assert, err);
}

/* ---- by predicates ---- */

static eddy_status check_case(const eddy_graph *graph,
                              const eddy_case_spec *spec, eddy_error *err)
{
    EDDY_REFUSE_IF(!graph, err, "no graph");
    EDDY_REFUSE_IF(!spec, err, "no specification of the case");
    EDDY_REFUSE_IF(spec->size != sizeof *spec, err,
                   "the specification of the case has the wrong size");
    EDDY_REFUSE_IF(spec->n_predicates > 0 && !spec->predicates, err,
                   "NULL for %zu predicates", spec->n_predicates);
    if (spec->n_predicates + spec->has_default == 0)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT,
                          "a case without predicates has no default");
    for (size_t i = 0; i < spec->n_predicates; i++)
        EDDY_TRY(eddy__builder_want_predicate(
            graph, spec->name && *spec->name ? spec->name : "case",
            spec->predicates[i], err));
    return EDDY_OK;
}

/*
 * Opens branch `branch`: in a conditional of its own, or, if it is the last,
 * where what remains stands.
 */
static eddy_status open_case_branch(eddy__builder *b, eddy__construct *c,
                                    size_t branch, eddy_node after,
                                    eddy_error *err)
{
    eddy_cond_spec cond = {.size = sizeof cond,
                           .controls = &after,
                           .n_controls = after != EDDY_NO_NODE};

    if (branch + 1 < c->n_branches) {
        cond.predicate = c->predicates[branch];
        return eddy__cond_open(b, &cond, EDDY__CASE_COND, err);
    }
    if (c->has_default)
        return EDDY_OK;
    return check_last(b, c, &c->last_check, err);
}

static eddy_status begin_case(eddy__builder *b, const eddy_case_spec *spec,
                              eddy__construct *c, eddy_error *err)
{
    eddy_node after = EDDY_NO_NODE;

    c->n_predicates = spec->n_predicates;
    c->has_default = spec->has_default;
    c->n_branches = spec->n_predicates + spec->has_default;
    c->predicates =
        eddy__arena_copy(&b->graph->arena, spec->predicates, spec->n_predicates,
                         sizeof *spec->predicates);
    if (!c->predicates)
        return eddy__fail_memory(err);
    if (spec->is_exclusive && spec->n_predicates > 1)
        EDDY_TRY(check_exclusive(b, c, &after, err));
    b->n_open++;
    return open_case_branch(b, c, 0, after, err);
}

eddy_status eddy_case_begin(eddy_graph *graph, const eddy_case_spec *spec,
                            eddy_error *err)
{
    eddy__construct *c;
    eddy__builder *b;
    eddy__mark mark;
    size_t n_open;
    const char *scope;
    eddy_status status;

    EDDY_TRY(check_case(graph, spec, err));
    EDDY_TRY(eddy__builder_of(graph, &b, err));
    EDDY_TRY(eddy__builder_reserve(b, 2, err));
    EDDY_TRY(eddy__builder_scope(b, spec->name, "case", &scope, err));
    mark = eddy__builder_mark(b);
    n_open = b->n_open;
    c = &b->open[n_open];
    *c = (eddy__construct){.kind = EDDY__CASE,
                           .scope = scope,
                           .first_node = mark.n_nodes,
                           .first_level = (uint32_t)mark.n_levels,
                           .outer = eddy__builder_level(b),
                           .level = eddy__builder_level(b),
                           .last_check = EDDY_NO_NODE};
    status = begin_case(b, spec, c, err);
    if (status != EDDY_OK) {
        b->n_open = n_open;
        eddy__builder_rollback(b, mark);
    }
    return status;
}

/* There must be `more` branches after the one that is being built, or none. */
static eddy_status want_branches(const eddy__construct *c, bool more,
                                 const char *call, eddy_error *err)
{
    if ((c->branch + 1 < c->n_branches) == more)
        return EDDY_OK;
    return eddy__fail_node(err, EDDY_FAILED_PRECONDITION, EDDY_E_CONSTRUCT,
                           c->scope, NULL,
                           "%s: branch %zu of '%.64s' is open, and it has %zu",
                           call, c->branch, c->scope, c->n_branches);
}

/* Ends the branch taken of the innermost conditional and goes on in the other.
 */
static eddy_status go_on_in_else(eddy__builder *b, eddy__construct *cond,
                                 const eddy_output *results, size_t n,
                                 eddy_error *err)
{
    const eddy_output *collected = results;

    EDDY_TRY(
        eddy__builder_collect_results(b, cond, results, n, &collected, err));
    EDDY_TRY(eddy__builder_open_branch(b, cond, 1, &cond->level, err));
    cond->results[0] = collected;
    cond->like = cond->like ? cond->like : collected;
    cond->n_results = n;
    cond->branch = 1;
    return EDDY_OK;
}

static eddy_status next_by_predicate(eddy__builder *b,
                                     const eddy_output *results, size_t n,
                                     eddy_error *err)
{
    const eddy__mark mark = eddy__builder_mark(b);
    const size_t n_open = b->n_open;
    const eddy__construct saved = b->open[n_open - 1];
    eddy__construct *c, *cond;
    eddy_status status;

    EDDY_TRY(eddy__builder_reserve(b, 1, err));
    c = &b->open[eddy__builder_bottom(b)];
    cond = &b->open[n_open - 1];
    status = go_on_in_else(b, cond, results, n, err);
    if (status == EDDY_OK)
        status = open_case_branch(b, c, c->branch + 1, EDDY_NO_NODE, err);
    if (status != EDDY_OK) {
        b->n_open = n_open;
        *cond = saved;
        eddy__builder_rollback(b, mark);
        return status;
    }
    c->branch++;
    b->open[b->n_open - 1].like = cond->like;
    b->open[b->n_open - 1].n_results = n;
    return EDDY_OK;
}

/* Results that are there only once the last predicate has been checked. */
static eddy_status hold_results(eddy__builder *b, const eddy__construct *c,
                                const eddy_output *results, size_t n,
                                const eddy_output **out_held, eddy_error *err)
{
    eddy_output *held = eddy__arena_allocate(&b->graph->arena, n, sizeof *held);

    if (!held)
        return eddy__fail_memory(err);
    for (size_t i = 0; i < n; i++) {
        eddy_node_spec spec = eddy__builder_spec("Identity", &results[i], 1);

        spec.controls = &c->last_check;
        spec.n_controls = 1;
        EDDY_TRY(adopt(b, c, &spec, &held[i], err));
    }
    *out_held = held;
    return EDDY_OK;
}

/* The Merges of all conditionals, from the innermost on. */
static eddy_status merge_case(eddy__builder *b, size_t bottom,
                              const eddy_output *results, size_t n,
                              eddy_output *merges, eddy_error *err)
{
    const eddy__construct *c = &b->open[bottom];

    EDDY_TRY(eddy__builder_collect_results(b, &b->open[b->n_open - 1], results,
                                           n, &results, err));
    if (c->last_check != EDDY_NO_NODE)
        EDDY_TRY(hold_results(b, c, results, n, &results, err));
    for (size_t i = b->n_open - 1; i > bottom; i--) {
        EDDY_TRY(
            eddy__builder_merge_results(b, &b->open[i], results, merges, err));
        results = merges;
    }
    for (size_t i = 0; i < n && results != merges; i++)
        merges[i] = results[i];
    return EDDY_OK;
}

static eddy_status end_by_predicate(eddy__builder *b,
                                    const eddy_output *results, size_t n,
                                    eddy_output *out_results, eddy_error *err)
{
    const eddy__mark mark = eddy__builder_mark(b);
    const size_t bottom = eddy__builder_bottom(b);
    eddy_output *merges =
        eddy__arena_allocate(&b->graph->arena, n, sizeof *merges);
    eddy_status status;

    if (!merges)
        return eddy__fail_memory(err);
    status = merge_case(b, bottom, results, n, merges, err);
    if (status != EDDY_OK) {
        eddy__builder_rollback(b, mark);
        return status;
    }
    for (size_t i = 0; i < n; i++)
        out_results[i] = merges[i];
    b->n_open = bottom;
    return EDDY_OK;
}

/* ---- by index ---- */

static eddy_status check_switch_case(const eddy_graph *graph,
                                     const eddy_switch_case_spec *spec,
                                     eddy_error *err)
{
    const eddy__assumed nothing = {.n = 0};
    eddy_shape shape;

    EDDY_REFUSE_IF(!graph, err, "no graph");
    EDDY_REFUSE_IF(!spec, err, "no specification of the case");
    EDDY_REFUSE_IF(spec->size != sizeof *spec, err,
                   "the specification of the case has the wrong size");
    if (spec->n_branches == 0 || spec->n_branches > EDDY__MAX_OUTPUTS)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT,
                          "a case of %zu branches; 1 to %d are wanted",
                          spec->n_branches, EDDY__MAX_OUTPUTS);
    EDDY_TRY(eddy__builder_want_values(graph, &spec->index, 1, err));
    if (eddy_graph_output_dtype(graph, spec->index) != EDDY_INT32)
        return eddy__graph_fail_at(
            err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE,
            &graph->nodes[spec->index.node],
            "the index of a case is %s, int32 is wanted",
            eddy_dtype_name(eddy_graph_output_dtype(graph, spec->index)));
    shape = eddy__known_shape(graph, &nothing, spec->index);
    if (shape.rank > 0)
        return eddy__graph_fail_at(
            err, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
            &graph->nodes[spec->index.node],
            "the index of a case has shape %s, a scalar is "
            "wanted",
            eddy__shape_print(&shape).text);
    return EDDY_OK;
}

/* The Identities that the branches hang on. */
static eddy_status add_pivots(eddy__builder *b, eddy__construct *c,
                              eddy_error *err)
{
    eddy__site site = {.level = c->outer, .scope = c->scope};
    const eddy_output both[] = {c->selector, c->selector};
    const int64_t n_sides = (int64_t)c->n_branches;
    const eddy_attr n_outs = eddy_attr_int("num_outs", &n_sides);
    eddy_node_spec spec = eddy__builder_spec("_SwitchN", both, 2);
    eddy_output side = {.index = 0};

    spec.attrs = &n_outs;
    spec.n_attrs = 1;
    EDDY_TRY(eddy__builder_adopt(b, site, &spec, &side.node, err));
    site.hint = "pivot";
    for (; side.index < c->n_branches; side.index++) {
        spec = eddy__builder_spec("Identity", &side, 1);
        EDDY_TRY(
            eddy__builder_adopt(b, site, &spec, &c->pivots[side.index], err));
    }
    return EDDY_OK;
}

static eddy_status begin_switch_case(eddy__builder *b,
                                     const eddy_switch_case_spec *spec,
                                     eddy__construct *c, eddy_error *err)
{
    eddy__arena *arena = &b->graph->arena;

    c->n_branches = spec->n_branches;
    c->pivots = eddy__arena_allocate(arena, c->n_branches, sizeof *c->pivots);
    c->results =
        eddy__arena_allocate(arena, c->n_branches, sizeof(const eddy_output *));
    if (!c->pivots || !c->results)
        return eddy__fail_memory(err);
    EDDY_TRY(eddy__capture(b, c->outer, spec->index, &c->selector, err));
    EDDY_TRY(add_pivots(b, c, err));
    return eddy__builder_open_branch(b, c, 0, &c->level, err);
}

eddy_status eddy_switch_case_begin(eddy_graph *graph,
                                   const eddy_switch_case_spec *spec,
                                   eddy_error *err)
{
    eddy__construct c = {.kind = EDDY__SWITCH_CASE};
    eddy__builder *b;
    eddy__mark mark;
    eddy_status status;

    EDDY_TRY(check_switch_case(graph, spec, err));
    EDDY_TRY(eddy__builder_of(graph, &b, err));
    EDDY_TRY(eddy__builder_reserve(b, 1, err));
    EDDY_TRY(eddy__builder_scope(b, spec->name, "switch_case", &c.scope, err));
    mark = eddy__builder_mark(b);
    c.first_node = mark.n_nodes;
    c.first_level = (uint32_t)mark.n_levels;
    c.outer = eddy__builder_level(b);
    status = begin_switch_case(b, spec, &c, err);
    if (status == EDDY_OK)
        eddy__builder_push(b, &c);
    else
        eddy__builder_rollback(b, mark);
    return status;
}

static eddy_status next_by_index(eddy__builder *b, const eddy_output *results,
                                 size_t n, eddy_error *err)
{
    eddy__construct *c = eddy__builder_top(b);
    const eddy__mark mark = eddy__builder_mark(b);
    const eddy_output *collected = results;
    uint32_t level;
    eddy_status status =
        eddy__builder_collect_results(b, c, results, n, &collected, err);

    if (status == EDDY_OK)
        status = eddy__builder_open_branch(b, c, c->branch + 1, &level, err);
    if (status != EDDY_OK) {
        eddy__builder_rollback(b, mark);
        return status;
    }
    c->results[c->branch++] = collected;
    c->like = c->like ? c->like : collected;
    c->n_results = n;
    c->level = level;
    return EDDY_OK;
}

static eddy_status end_by_index(eddy__builder *b, const eddy_output *results,
                                size_t n, eddy_output *out_results,
                                eddy_error *err)
{
    eddy__construct *c = eddy__builder_top(b);
    const eddy__mark mark = eddy__builder_mark(b);
    const eddy_output *collected = results;
    eddy_status status =
        eddy__builder_collect_results(b, c, results, n, &collected, err);

    if (status == EDDY_OK) {
        c->n_results = n;
        status = eddy__builder_merge_results(b, c, collected, out_results, err);
    }
    if (status != EDDY_OK) {
        eddy__builder_rollback(b, mark);
        return status;
    }
    b->n_open--;
    return EDDY_OK;
}

/* ---- next and end of both ---- */

/* The case that is innermost: by index, or the bottom of one by predicates. */
static eddy_status want_case(const eddy_graph *graph, const char *call,
                             eddy__construct **out, eddy_error *err)
{
    const eddy__builder *b = graph ? graph->builder : NULL;
    const eddy__construct *top = b ? eddy__builder_top(b) : NULL;

    if (top && top->kind == EDDY__CASE_COND) {
        *out = &b->open[eddy__builder_bottom(b)];
        return EDDY_OK;
    }
    return eddy__want_construct(
        graph, top && top->kind == EDDY__CASE ? EDDY__CASE : EDDY__SWITCH_CASE,
        call, out, err);
}

eddy_status eddy_case_next(eddy_graph *graph, const eddy_output *results,
                           size_t n, eddy_error *err)
{
    eddy__construct *c;

    EDDY_TRY(want_case(graph, "eddy_case_next", &c, err));
    EDDY_TRY(want_branches(c, true, "eddy_case_next", err));
    return c->kind == EDDY__CASE
               ? next_by_predicate(graph->builder, results, n, err)
               : next_by_index(graph->builder, results, n, err);
}

eddy_status eddy_case_end(eddy_graph *graph, const eddy_output *results,
                          size_t n, eddy_output *out_results, eddy_error *err)
{
    eddy__construct *c;

    EDDY_TRY(want_case(graph, "eddy_case_end", &c, err));
    EDDY_TRY(want_branches(c, false, "eddy_case_end", err));
    if (n > 0 && !out_results)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                          "nowhere to put the results");
    return c->kind == EDDY__CASE
               ? end_by_predicate(graph->builder, results, n, out_results, err)
               : end_by_index(graph->builder, results, n, out_results, err);
}
