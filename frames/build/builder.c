/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every construct is built on: levels, scopes, names, taking back, and
 * what stands before the public calls that change a graph.
 */
#include "frames/build/builder.h"

#include "core/base/status.h"
#include "core/graph/draft.h"
#include "core/graph/name.h"
#include "core/value/shape.h"

#include <stdio.h>
#include <string.h>

/* ---- taking back ---- */

eddy__mark eddy__builder_mark(const eddy__builder *b)
{
    return (eddy__mark){b->graph->n_nodes, b->n_levels};
}

void eddy__builder_rollback(eddy__builder *b, eddy__mark mark)
{
    eddy__graph_truncate(b->graph, mark.n_nodes);
    eddy__captures_truncate(&b->captures, mark.n_nodes);
    eddy__deferred_truncate(b, mark.n_nodes);
    if (b->n_known > mark.n_nodes)
        b->n_known = mark.n_nodes;
    b->n_levels = mark.n_levels;
}

/* ---- levels and the stack ---- */

eddy_status eddy__builder_add_level(eddy__builder *b, const eddy__level *level,
                                    uint32_t *out_level, eddy_error *err)
{
    if (b->n_levels == UINT32_MAX ||
        !eddy__grow(b->allocator, (void **)&b->levels, &b->levels_capacity,
                    b->n_levels + 1, sizeof *b->levels))
        return eddy__fail_memory(err);
    *out_level = (uint32_t)b->n_levels;
    b->levels[b->n_levels++] = *level;
    return EDDY_OK;
}

eddy_status eddy__builder_reserve(eddy__builder *b, size_t n, eddy_error *err)
{
    return eddy__grow(b->allocator, (void **)&b->open, &b->open_capacity,
                      b->n_open + n, sizeof *b->open)
               ? EDDY_OK
               : eddy__fail_memory(err);
}

void eddy__builder_push(eddy__builder *b, const eddy__construct *construct)
{
    b->open[b->n_open++] = *construct;
}

size_t eddy__builder_bottom(const eddy__builder *b)
{
    size_t i = b->n_open - 1;

    while (b->open[i].kind == EDDY__CASE_COND)
        i--;
    return i;
}

uint32_t eddy__loop_level(const eddy__builder *b, uint32_t level)
{
    while (b->levels[level].kind == EDDY__LEVEL_BRANCH)
        level = b->levels[level].parent;
    return level;
}

/* ---- checks that constructs share ---- */

static const char *kind_name(eddy__construct_kind kind)
{
    static const char *const names[] = {[EDDY__WHILE] = "a loop",
                                        [EDDY__COND] = "a conditional",
                                        [EDDY__CASE] = "a case",
                                        [EDDY__CASE_COND] = "a case",
                                        [EDDY__SWITCH_CASE] =
                                            "a case by index"};

    return names[kind];
}

eddy_status eddy__want_construct(const eddy_graph *graph,
                                 eddy__construct_kind kind, const char *call,
                                 eddy__construct **out_construct,
                                 eddy_error *err)
{
    eddy__construct *top =
        graph && graph->builder ? eddy__builder_top(graph->builder) : NULL;

    if (top && top->kind == kind) {
        *out_construct = top;
        return EDDY_OK;
    }
    if (!top)
        eddy__fail(err, EDDY_FAILED_PRECONDITION, EDDY_E_CONSTRUCT,
                   "%s: no loop or branch has been begun", call);
    else
        eddy__fail_node(err, EDDY_FAILED_PRECONDITION, EDDY_E_CONSTRUCT,
                        top->scope, NULL,
                        "%s: the innermost that is open is '%.64s', %s", call,
                        top->scope, kind_name(top->kind));
    return EDDY_FAILED_PRECONDITION;
}

eddy_status eddy__builder_want_valid_shape(const char *what,
                                           const eddy_shape *shape,
                                           eddy_error *err)
{
    if (shape->rank < -1 || shape->rank > EDDY_MAX_RANK)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                          "a shape of %s has rank %d, not -1 to %d", what,
                          (int)shape->rank, EDDY_MAX_RANK);
    for (int32_t i = 0; i < shape->rank; i++)
        if (shape->dims[i] < -1)
            return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_DIM,
                              "a shape of %s has dimension %d of %lld", what,
                              (int)i, (long long)shape->dims[i]);
    return EDDY_OK;
}

eddy_status eddy__builder_want_values(const eddy_graph *graph,
                                      const eddy_output *values, size_t n,
                                      eddy_error *err)
{
    if (n > 0 && !values)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                          "NULL for %zu values", n);
    for (size_t i = 0; i < n; i++)
        EDDY_TRY(eddy__graph_check_output(graph, values[i], err));
    return EDDY_OK;
}

eddy_status eddy__builder_want_predicate(const eddy_graph *graph,
                                         const char *scope,
                                         eddy_output predicate, eddy_error *err)
{
    const eddy__assumed nothing = {.n = 0};
    eddy_dtype dtype;
    eddy_shape shape;

    EDDY_TRY(eddy__graph_check_output(graph, predicate, err));
    dtype = eddy_graph_output_dtype(graph, predicate);
    if (dtype != EDDY_BOOL)
        return eddy__graph_fail_at(
            err, EDDY_INVALID_ARGUMENT, EDDY_E_PREDICATE,
            &graph->nodes[predicate.node],
            "the predicate of '%.64s' is %s, bool is wanted", scope,
            eddy_dtype_name(dtype));
    shape = eddy__known_shape(graph, &nothing, predicate);
    if (shape.rank > 0)
        return eddy__graph_fail_at(
            err, EDDY_INVALID_ARGUMENT, EDDY_E_PREDICATE,
            &graph->nodes[predicate.node],
            "the predicate of '%.64s' has shape %s, a scalar "
            "is wanted",
            scope, eddy__shape_print(&shape).text);
    return EDDY_OK;
}

/* ---- before the public calls ---- */

/* Can it be read?  What is wrong with it is said where it always is. */
static bool is_sound(const eddy_node_spec *spec)
{
    return spec->size == sizeof *spec && spec->op &&
           (spec->n_inputs == 0 || spec->inputs) &&
           (spec->n_controls == 0 || spec->controls);
}

/* Nothing is open: what ended constructs made is out of reach. */
static eddy_status check_outside(const eddy__builder *b,
                                 const eddy_node_spec *spec, eddy_error *err)
{
    for (size_t i = 0; i < spec->n_inputs; i++)
        EDDY_TRY(eddy__builder_want_around(b, 0, spec->inputs[i].node, err));
    for (size_t i = 0; i < spec->n_controls; i++)
        EDDY_TRY(eddy__builder_want_around(b, 0, spec->controls[i], err));
    return EDDY_OK;
}

static eddy_status add_outside(eddy__builder *b, const eddy_node_spec *spec,
                               eddy_node *out_node, eddy_error *err)
{
    const eddy__add_options options = {.checks_shapes = true};
    eddy_status status = is_sound(spec) ? check_outside(b, spec, err) : EDDY_OK;

    if (status != EDDY_OK) {
        eddy__graph_error_at(err, spec->name ? spec->name : "", spec->op);
        return status;
    }
    return eddy__graph_add(b->graph, spec, &options, out_node, err);
}

static eddy_status add(eddy_graph *graph, const eddy_node_spec *spec,
                       eddy_node *out_node, eddy_error *err)
{
    eddy__builder *b = graph->builder;
    const eddy__construct *top = eddy__builder_top(b);
    const eddy__mark mark = eddy__builder_mark(b);
    eddy__site site;
    eddy_node node;
    eddy_status status;

    if (!top || !is_sound(spec))
        return add_outside(b, spec, out_node, err);
    site = (eddy__site){.level = top->level, .scope = top->scope};
    if (spec->name && *spec->name) {
        site.hint = spec->name;
        site.is_exact = true;
        status = eddy__name_check(spec->name, err);
        if (status != EDDY_OK) {
            eddy__graph_error_at(err, spec->name, spec->op);
            return status;
        }
    }
    status = eddy__builder_adopt(b, site, spec, &node, err);
    if (status != EDDY_OK) {
        eddy__graph_error_at(err, site.hint ? site.hint : "", spec->op);
        eddy__builder_rollback(b, mark);
        return status;
    }
    if (out_node)
        *out_node = node;
    return EDDY_OK;
}

/* Edges of nodes outside of what is open would outlive an abort. */
static eddy_status want_inside(const eddy__builder *b, eddy_node node,
                               eddy_error *err)
{
    const eddy__construct *top = eddy__builder_top(b);
    const uint32_t level = eddy__builder_level(b);

    if (eddy__level_of(b, node) == level && (!top || node >= top->first_node))
        return EDDY_OK;
    return eddy__graph_fail_at(
        err, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE_SCOPE, &b->graph->nodes[node],
        "the node is not in %s%.64s%s, and can be given no edge there",
        top ? "'" : "", top ? top->scope : "the graph outside of its loop",
        top ? "', which is open" : "");
}

static eddy_status set_input(eddy_graph *graph, eddy_node node, uint32_t index,
                             eddy_output from, eddy_error *err)
{
    eddy__builder *b = graph->builder;
    const eddy__mark mark = eddy__builder_mark(b);
    eddy_status status;

    EDDY_TRY(want_inside(b, node, err));
    status = eddy__graph_check_output(graph, from, err);
    if (status == EDDY_OK)
        status = eddy__capture(b, eddy__builder_level(b), from, &from, err);
    if (status == EDDY_OK)
        status = eddy__graph_connect(graph, node, index, from, err);
    if (status != EDDY_OK)
        eddy__builder_rollback(b, mark);
    return status;
}

static eddy_status add_control(eddy_graph *graph, eddy_node node,
                               eddy_node from, eddy_error *err)
{
    eddy__builder *b = graph->builder;
    const eddy__mark mark = eddy__builder_mark(b);
    eddy_status status;

    EDDY_TRY(want_inside(b, node, err));
    status = eddy__builder_bring_control(b, eddy__builder_level(b), from, &from,
                                         err);
    if (status == EDDY_OK)
        status = eddy__graph_add_control(graph, node, from, err);
    if (status != EDDY_OK)
        eddy__builder_rollback(b, mark);
    return status;
}

static eddy_status check_closed(const eddy_graph *graph, eddy_error *err)
{
    const eddy__construct *top = eddy__builder_top(graph->builder);

    if (!top)
        return EDDY_OK;
    return eddy__fail_node(err, EDDY_FAILED_PRECONDITION, EDDY_E_CONSTRUCT,
                           top->scope, NULL,
                           "'%.64s', %s, has been begun and not ended",
                           top->scope, kind_name(top->kind));
}

/* ---- making and dropping a builder ---- */

static void destroy(struct eddy__builder *builder)
{
    eddy__builder *b = builder;
    const eddy_allocator *allocator = b->allocator;

    eddy__free(allocator, b->levels, b->levels_capacity, sizeof *b->levels);
    eddy__free(allocator, b->level_of, b->known_capacity, sizeof *b->level_of);
    eddy__free(allocator, b->open, b->open_capacity, sizeof *b->open);
    eddy__free(allocator, b->text, b->text_capacity, 1);
    eddy__free(allocator, b->path, b->path_capacity, sizeof *b->path);
    eddy__free(allocator, b->deferred, b->deferred_capacity,
               sizeof *b->deferred);
    eddy__captures_deinit(&b->captures, allocator);
    eddy__map_deinit(&b->suffixes);
    eddy__free(allocator, b, 1, sizeof *b);
}

static const eddy__builder_calls calls = {
    .add = add,
    .set_input = set_input,
    .add_control = add_control,
    .check_closed = check_closed,
    .destroy = destroy,
};

/* Notes the scopes that the names of the graph's nodes are in. */
static bool note_scopes(eddy__builder *b)
{
    for (size_t i = 0; i < b->graph->n_nodes; i++) {
        const char *name = b->graph->nodes[i].name;

        for (const char *slash = strchr(name, '/'); slash;
             slash = strchr(slash + 1, '/'))
            if (eddy__map_find(&b->suffixes, name, (size_t)(slash - name)) ==
                    EDDY__NOT_FOUND &&
                !eddy__builder_note_name(b, name, (size_t)(slash - name), 1))
                return false;
    }
    return true;
}

eddy_status eddy__builder_of(eddy_graph *graph, eddy__builder **out_builder,
                             eddy_error *err)
{
    const eddy_allocator *allocator = graph->arena.allocator;
    const eddy__level root = {.scope = "", .pivot = EDDY_NO_NODE};
    eddy__builder *b = graph->builder;
    uint32_t level;

    if (!b) {
        b = eddy__allocate_zeroed(allocator, 1, sizeof *b);
        if (!b)
            return eddy__fail_memory(err);
        b->graph = graph;
        b->allocator = allocator;
        b->suffixes.allocator = allocator;
        if (!note_scopes(b) ||
            eddy__builder_add_level(b, &root, &level, NULL) != EDDY_OK) {
            destroy(b);
            return eddy__fail_memory(err);
        }
        graph->builder = b;
        graph->calls = &calls;
    }
    *out_builder = b;
    return EDDY_OK;
}

/* ---- the public side ---- */

void eddy_construct_abort(eddy_graph *graph)
{
    eddy__builder *b = graph ? graph->builder : NULL;
    const eddy__construct *c;

    if (!b || b->n_open == 0)
        return;
    b->n_open = eddy__builder_bottom(b);
    c = &b->open[b->n_open];
    eddy__builder_rollback(b, (eddy__mark){c->first_node, c->first_level});
}

const char *eddy_construct_scope(const eddy_graph *graph)
{
    const eddy__construct *top =
        graph && graph->builder ? eddy__builder_top(graph->builder) : NULL;

    return top ? top->scope : NULL;
}

size_t eddy_construct_depth(const eddy_graph *graph)
{
    const eddy__builder *b = graph ? graph->builder : NULL;
    size_t depth = 0;

    for (size_t i = 0; b && i < b->n_open; i++)
        depth += b->open[i].kind != EDDY__CASE_COND;
    return depth;
}
