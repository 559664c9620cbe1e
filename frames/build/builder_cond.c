/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditionals, laid out as TensorFlow's cond lays them out: a Switch of the
 * predicate by itself, whose outputs are the pivots of the branches, an
 * Identity of the predicate, by which values are switched into them, and a
 * Merge of each pair of results, that of the branch not taken first.
 */
#include "core/base/status.h"
#include "frames/build/builder.h"

#include <string.h>

/* The branch that is taken when the predicate holds, side 1, is built first. */
static uint32_t side_of(const eddy__construct *c, size_t branch)
{
    return c->kind == EDDY__SWITCH_CASE ? (uint32_t)branch
                                        : 1 - (uint32_t)branch;
}

/* ---- begin ---- */

static eddy_status place_identity(eddy__builder *b, eddy__site site,
                                  eddy_output value, eddy_node *out,
                                  eddy_error *err)
{
    const eddy_node_spec spec = eddy__builder_spec("Identity", &value, 1);

    return eddy__builder_adopt(b, site, &spec, out, err);
}

/* The nodes that the branches hang on; pivots are moved into them later. */
static eddy_status add_pivots(eddy__builder *b, eddy__construct *c,
                              const eddy_cond_spec *spec, eddy_error *err)
{
    eddy__site site = {.level = c->outer, .scope = c->scope};
    const eddy_output both[] = {spec->predicate, spec->predicate};
    eddy_node_spec switch_spec = eddy__builder_spec("Switch", both, 2);
    eddy_node_spec identity =
        eddy__builder_spec("Identity", &spec->predicate, 1);
    eddy_output taken = {.index = 1};

    switch_spec.controls = identity.controls = spec->controls;
    switch_spec.n_controls = identity.n_controls = spec->n_controls;
    EDDY_TRY(eddy__builder_adopt(b, site, &switch_spec, &taken.node, err));
    site.hint = "switch_t";
    EDDY_TRY(place_identity(b, site, taken, &c->pivots[1], err));
    taken.index = 0;
    site.hint = "switch_f";
    EDDY_TRY(place_identity(b, site, taken, &c->pivots[0], err));
    site.hint = "pred_id";
    c->selector.index = 0;
    return eddy__builder_adopt(b, site, &identity, &c->selector.node, err);
}

eddy_status eddy__builder_open_branch(eddy__builder *b,
                                      const eddy__construct *c, size_t branch,
                                      uint32_t *out_level, eddy_error *err)
{
    const bool is_indexed = c->kind == EDDY__SWITCH_CASE;
    const uint32_t side = side_of(c, branch);
    const eddy__level level = {
        .kind = EDDY__LEVEL_BRANCH,
        .parent = c->outer,
        .scope = c->scope,
        .pivot = c->pivots[side],
        .selector = c->selector,
        .side = side,
        .n_sides = is_indexed ? (uint32_t)c->n_branches : 0,
        .first_side = c->first_level,
    };

    EDDY_TRY(eddy__builder_add_level(b, &level, out_level, err));
    eddy__set_level(b, c->pivots[side], *out_level);
    return EDDY_OK;
}

static eddy_status check_cond(const eddy_graph *graph,
                              const eddy_cond_spec *spec, eddy_error *err)
{
    EDDY_REFUSE_IF(!graph, err, "no graph");
    EDDY_REFUSE_IF(!spec, err, "no specification of the conditional");
    EDDY_REFUSE_IF(spec->size != sizeof *spec, err,
                   "the specification of the conditional has the wrong size");
    EDDY_REFUSE_IF(spec->n_controls > 0 && !spec->controls, err,
                   "NULL for %zu controls", spec->n_controls);
    return EDDY_OK;
}

static eddy_status begin(eddy__builder *b, const eddy_cond_spec *spec,
                         eddy__construct *c, eddy_error *err)
{
    eddy__arena *arena = &b->graph->arena;

    c->n_branches = 2;
    c->pivots = eddy__arena_allocate(arena, 2, sizeof *c->pivots);
    c->results = eddy__arena_allocate(arena, 2, sizeof(const eddy_output *));
    if (!c->pivots || !c->results)
        return eddy__fail_memory(err);
    EDDY_TRY(add_pivots(b, c, spec, err));
    return eddy__builder_open_branch(b, c, 0, &c->level, err);
}

eddy_status eddy__cond_open(eddy__builder *b, const eddy_cond_spec *spec,
                            eddy__construct_kind kind, eddy_error *err)
{
    eddy__construct c = {.kind = kind};
    const eddy__mark mark = eddy__builder_mark(b);
    eddy_status status;

    EDDY_TRY(eddy__builder_reserve(b, 1, err));
    c.first_node = mark.n_nodes;
    c.first_level = (uint32_t)mark.n_levels;
    c.outer = eddy__builder_level(b);
    EDDY_TRY(eddy__builder_scope(b, spec->name, "cond", &c.scope, err));
    EDDY_TRY(
        eddy__builder_want_predicate(b->graph, c.scope, spec->predicate, err));
    status = begin(b, spec, &c, err);
    if (status == EDDY_OK)
        eddy__builder_push(b, &c);
    else
        eddy__builder_rollback(b, mark);
    return status;
}

eddy_status eddy_cond_begin(eddy_graph *graph, const eddy_cond_spec *spec,
                            eddy_error *err)
{
    eddy__builder *b;

    EDDY_TRY(check_cond(graph, spec, err));
    EDDY_TRY(eddy__builder_of(graph, &b, err));
    return eddy__cond_open(b, spec, EDDY__COND, err);
}

/* ---- results ---- */

/* A value that is there once the node has run. */
static eddy_status collect_done(eddy__builder *b, const eddy__construct *c,
                                eddy_node node, eddy_output *out,
                                eddy_error *err)
{
    const eddy__site site = {.level = c->level, .scope = c->scope};
    eddy_output pivot = {b->levels[c->level].pivot, 0};
    eddy_node_spec spec = eddy__builder_spec("Identity", &pivot, 1);

    if (b->levels[c->level].kind != EDDY__LEVEL_BRANCH ||
        c->kind == EDDY__SWITCH_CASE) {
        EDDY_TRY(eddy__builder_bring_control(b, c->level, node, &node, err));
        return eddy__builder_sign_of(b, site, node, out, err);
    }
    spec.controls = &node;
    spec.n_controls = 1;
    out->index = 0;
    return eddy__builder_adopt(b, site, &spec, &out->node, err);
}

static eddy_status fail_dtype(const eddy_graph *graph, const eddy__construct *c,
                              size_t i, eddy_output found, eddy_output wanted,
                              eddy_error *err)
{
    return eddy__graph_fail_at(
        err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE,
        &graph->nodes[found.node],
        "result %zu of '%.64s' is %s in its first branch ('%.64s:%u') and %s "
        "in another ('%.64s:%u')",
        i, c->scope, eddy_dtype_name(eddy_graph_output_dtype(graph, wanted)),
        graph->nodes[wanted.node].name, (unsigned)wanted.index,
        eddy_dtype_name(eddy_graph_output_dtype(graph, found)),
        graph->nodes[found.node].name, (unsigned)found.index);
}

static eddy_status collect(eddy__builder *b, const eddy__construct *c,
                           const eddy_output *results, size_t n,
                           eddy_output *collected, eddy_error *err)
{
    const eddy_graph *graph = b->graph;

    for (size_t i = 0; i < n; i++) {
        const bool is_done =
            results[i].index == EDDY_DONE && results[i].node < graph->n_nodes;

        if (is_done) {
            EDDY_TRY(collect_done(b, c, results[i].node, &collected[i], err));
        } else {
            EDDY_TRY(eddy__builder_want_values(graph, &results[i], 1, err));
            EDDY_TRY(
                eddy__capture(b, c->level, results[i], &collected[i], err));
        }
        if (c->like && eddy_graph_output_dtype(graph, collected[i]) !=
                           eddy_graph_output_dtype(graph, c->like[i]))
            return fail_dtype(graph, c, i, collected[i], c->like[i], err);
    }
    return EDDY_OK;
}

eddy_status eddy__builder_collect_results(eddy__builder *b,
                                          const eddy__construct *c,
                                          const eddy_output *results, size_t n,
                                          const eddy_output **out_collected,
                                          eddy_error *err)
{
    eddy_output *collected;

    if (n > 0 && !results)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                          "NULL for %zu results", n);
    if (c->like && n != c->n_results)
        return eddy__fail_node(err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT,
                               c->scope, NULL,
                               "the first branch of '%.64s' has %zu results, "
                               "and another one %zu",
                               c->scope, c->n_results, n);
    collected = eddy__arena_allocate(&b->graph->arena, n, sizeof *collected);
    if (!collected)
        return eddy__fail_memory(err);
    EDDY_TRY(collect(b, c, results, n, collected, err));
    *out_collected = collected;
    return EDDY_OK;
}

/* One Merge; its inputs are in the order of the sides. */
static eddy_status merge_one(eddy__builder *b, const eddy__construct *c,
                             const eddy_output *inputs, eddy_output *out,
                             eddy_error *err)
{
    const eddy__site site = {.level = c->outer, .scope = c->scope};
    const eddy_node_spec spec =
        eddy__builder_spec("Merge", inputs, c->n_branches);

    out->index = 0;
    return eddy__builder_place(b, site, &spec, &out->node, err);
}

eddy_status eddy__builder_merge_results(eddy__builder *b,
                                        const eddy__construct *c,
                                        const eddy_output *last,
                                        eddy_output *out_results,
                                        eddy_error *err)
{
    const size_t room = c->n_branches + c->n_results;
    eddy_output *inputs = eddy__allocate(b->allocator, room, sizeof *inputs);
    eddy_output *merges = inputs + c->n_branches;
    eddy_status status = EDDY_OK;

    if (!inputs)
        return eddy__fail_memory(err);
    for (size_t i = 0; i < c->n_results && status == EDDY_OK; i++) {
        for (size_t k = 0; k < c->n_branches; k++)
            inputs[side_of(c, k)] =
                k + 1 < c->n_branches ? c->results[k][i] : last[i];
        status = merge_one(b, c, inputs, &merges[i], err);
    }
    if (status == EDDY_OK && c->n_results > 0)
        memcpy(out_results, merges, c->n_results * sizeof *merges);
    eddy__free(b->allocator, inputs, room, sizeof *inputs);
    return status;
}

/* ---- else and end ---- */

static eddy_status want_cond(const eddy_graph *graph, size_t branch,
                             const char *call, eddy__construct **out,
                             eddy_error *err)
{
    eddy__construct *c;

    EDDY_TRY(eddy__want_construct(graph, EDDY__COND, call, &c, err));
    if (c->branch != branch) {
        eddy__fail_node(
            err, EDDY_FAILED_PRECONDITION, EDDY_E_CONSTRUCT, c->scope, NULL,
            c->branch > 0 ? "%s: the second branch of '%.64s' has "
                            "already been begun"
                          : "%s: the second branch of '%.64s' has not "
                            "been begun",
            call, c->scope);
        return EDDY_FAILED_PRECONDITION;
    }
    *out = c;
    return EDDY_OK;
}

eddy_status eddy_cond_else(eddy_graph *graph, const eddy_output *results,
                           size_t n, eddy_error *err)
{
    const eddy_output *collected = results;
    eddy__construct *c;
    eddy__builder *b;
    eddy__mark mark;
    uint32_t level;
    eddy_status status;

    EDDY_TRY(want_cond(graph, 0, "eddy_cond_else", &c, err));
    b = graph->builder;
    mark = eddy__builder_mark(b);
    status = eddy__builder_collect_results(b, c, results, n, &collected, err);
    if (status == EDDY_OK)
        status = eddy__builder_open_branch(b, c, 1, &level, err);
    if (status != EDDY_OK) {
        eddy__builder_rollback(b, mark);
        return status;
    }
    c->results[0] = c->like = collected;
    c->n_results = n;
    c->branch = 1;
    c->level = level;
    return EDDY_OK;
}

eddy_status eddy_cond_end(eddy_graph *graph, const eddy_output *results,
                          size_t n, eddy_output *out_results, eddy_error *err)
{
    const eddy_output *collected = results;
    eddy__construct *c;
    eddy__builder *b;
    eddy__mark mark;
    eddy_status status;

    EDDY_TRY(want_cond(graph, 1, "eddy_cond_end", &c, err));
    if (n > 0 && !out_results)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                          "nowhere to put the results");
    b = graph->builder;
    mark = eddy__builder_mark(b);
    status = eddy__builder_collect_results(b, c, results, n, &collected, err);
    if (status == EDDY_OK)
        status = eddy__builder_merge_results(b, c, collected, out_results, err);
    if (status != EDDY_OK) {
        eddy__builder_rollback(b, mark);
        return status;
    }
    b->n_open--;
    return EDDY_OK;
}
