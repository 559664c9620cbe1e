/* SPDX-License-Identifier: Apache-2.0 */
/* Describing a network of sequences: cells, one after the other. */
#include "frontends/shared/network.h"

#include "core/base/status.h"
#include "frames/build/builder.h"

#include <string.h>

static eddy_status want_network(const eddy_cntk *network, const char *call,
                                const void *out, eddy_error *err)
{
    EDDY_REFUSE_IF(!network, err, "%s: no network", call);
    EDDY_REFUSE_IF(!out, err, "%s: nowhere to put the result", call);
    return EDDY_OK;
}

static eddy_status want_own(const eddy_cntk *network, const char *call,
                            const eddy_cntk_value *values, size_t n,
                            eddy_error *err)
{
    EDDY_REFUSE_IF(n > 0 && !values, err, "%s: NULL for %zu values", call, n);
    for (size_t i = 0; i < n; i++)
        EDDY_REFUSE_IF(values[i] >= network->n_values, err,
                       "%s: %u is no value of '%.64s'", call,
                       (unsigned)values[i], network->name);
    return EDDY_OK;
}

/* ---- the network ---- */

eddy_status eddy_cntk_create(eddy_graph *graph, const char *name,
                             eddy_cntk **out_network, eddy_error *err)
{
    const char *scope = name && *name ? name : "recurrence";
    eddy_cntk *network;

    EDDY_REFUSE_IF(!graph, err, "eddy_cntk_create: no graph");
    EDDY_REFUSE_IF(!out_network, err,
                   "eddy_cntk_create: nowhere to put the network");
    *out_network = NULL;
    network = eddy__allocate_zeroed(graph->arena.allocator, 1, sizeof *network);
    if (!network)
        return eddy__fail_memory(err);
    network->graph = graph;
    network->arena.allocator = graph->arena.allocator;
    network->name = eddy__arena_text(&network->arena, scope, strlen(scope));
    if (!network->name) {
        eddy_cntk_destroy(network);
        return eddy__fail_memory(err);
    }
    *out_network = network;
    return EDDY_OK;
}

void eddy_cntk_destroy(eddy_cntk *network)
{
    const eddy_allocator *allocator;

    if (!network)
        return;
    allocator = network->arena.allocator;
    eddy__free(allocator, network->cells, network->capacity,
               sizeof *network->cells);
    eddy__free(allocator, network->cell_of, network->values_capacity,
               sizeof *network->cell_of);
    eddy__arena_destroy(&network->arena);
    eddy__free(allocator, network, 1, sizeof *network);
}

eddy_cntk_value eddy__network_root(const eddy_cntk *network,
                                   eddy_cntk_value value)
{
    const eddy__cell *cell = eddy__cell_at(network, value);

    while (cell->kind == EDDY__CELL_DECLARED &&
           cell->inputs[0] != EDDY__NO_VALUE) {
        value = cell->inputs[0];
        cell = eddy__cell_at(network, value);
    }
    return value;
}

/* ---- cells ---- */

/* Adds a cell, with copies of its texts and of `inputs`. */
static eddy_status add_cell(eddy_cntk *network, const eddy__cell *cell,
                            const eddy_cntk_value *inputs, eddy_cntk_value *out,
                            eddy_error *err)
{
    const eddy_allocator *allocator = network->arena.allocator;
    eddy__arena *arena = &network->arena;
    eddy__cell added = *cell;

    if (cell->n_values > EDDY__NO_VALUE - 1 - network->n_values)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                          "'%.64s' has more than 2^32 values", network->name);
    added.name = eddy__arena_text(arena, cell->name, strlen(cell->name));
    added.op =
        cell->op ? eddy__arena_text(arena, cell->op, strlen(cell->op)) : NULL;
    added.inputs =
        eddy__arena_copy(arena, inputs, cell->n_inputs, sizeof *inputs);
    if (!added.name || (cell->op && !added.op) || !added.inputs ||
        !eddy__grow(allocator, (void **)&network->cells, &network->capacity,
                    network->n_cells + 1, sizeof *network->cells) ||
        !eddy__grow(
            allocator, (void **)&network->cell_of, &network->values_capacity,
            network->n_values + cell->n_values, sizeof *network->cell_of))
        return eddy__fail_memory(err);
    added.first = (eddy_cntk_value)network->n_values;
    for (size_t i = 0; i < cell->n_values; i++) {
        network->cell_of[network->n_values++] = (uint32_t)network->n_cells;
        out[i] = added.first + (eddy_cntk_value)i;
    }
    network->cells[network->n_cells++] = added;
    return EDDY_OK;
}

static eddy_status add_from(eddy_cntk *network, eddy__cell_kind kind,
                            eddy_output from, eddy_cntk_value *out,
                            eddy_error *err)
{
    eddy__cell cell = {.kind = kind, .from = from, .n_values = 1};

    EDDY_TRY(want_network(network, "a value of the graph", out, err));
    EDDY_TRY(eddy__builder_want_values(network->graph, &from, 1, err));
    cell.name = eddy_graph_node_name(network->graph, from.node);
    return add_cell(network, &cell, NULL, out, err);
}

eddy_status eddy_cntk_sequence(eddy_cntk *network, eddy_output tensor,
                               eddy_cntk_value *out_value, eddy_error *err)
{
    return add_from(network, EDDY__CELL_SEQUENCE, tensor, out_value, err);
}

eddy_status eddy_cntk_outside(eddy_cntk *network, eddy_output value,
                              eddy_cntk_value *out_value, eddy_error *err)
{
    return add_from(network, EDDY__CELL_OUTSIDE, value, out_value, err);
}

/* ---- declared values ---- */

eddy_status eddy_cntk_declare(eddy_cntk *network, const char *name,
                              const eddy_shape *item,
                              eddy_cntk_value *out_value, eddy_error *err)
{
    const eddy_cntk_value unresolved = EDDY__NO_VALUE;
    const eddy__cell cell = {
        .kind = EDDY__CELL_DECLARED,
        .name = name && *name ? name : "declared",
        .n_inputs = 1,
        .n_values = 1,
        .item = item ? *item : (eddy_shape){.rank = -1},
    };

    EDDY_TRY(want_network(network, "eddy_cntk_declare", out_value, err));
    EDDY_TRY(
        eddy__builder_want_valid_shape("a declared value", &cell.item, err));
    return add_cell(network, &cell, &unresolved, out_value, err);
}

eddy_status eddy_cntk_resolve(eddy_cntk *network, eddy_cntk_value declared,
                              eddy_cntk_value value, eddy_error *err)
{
    static const char call[] = "eddy_cntk_resolve";
    eddy__cell *cell;

    EDDY_REFUSE_IF(!network, err, "%s: no network", call);
    EDDY_TRY(want_own(network, call, &declared, 1, err));
    EDDY_TRY(want_own(network, call, &value, 1, err));
    cell = eddy__cell_at(network, declared);
    if (cell->kind != EDDY__CELL_DECLARED || cell->inputs[0] != EDDY__NO_VALUE)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_RECURRENCE,
                          "'%.64s' of '%.64s' %s", cell->name, network->name,
                          cell->kind == EDDY__CELL_DECLARED
                              ? "has been resolved already"
                              : "was not declared, so it can't be resolved");
    if (eddy__network_root(network, value) == declared)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_RECURRENCE,
                          "'%.64s' of '%.64s' is said to be itself", cell->name,
                          network->name);
    cell->inputs[0] = value;
    return EDDY_OK;
}

/* ---- past and future ---- */

/* `cell` as it was asked for, with its delay counted in that direction. */
static eddy_status add_delay(eddy_cntk *network, int sign, eddy__cell cell,
                             eddy_cntk_value value, eddy_cntk_value *out,
                             eddy_error *err)
{
    const char *call = sign > 0 ? "past_value" : "future_value";

    EDDY_TRY(want_network(network, call, out, err));
    EDDY_TRY(want_own(network, call, &value, 1, err));
    cell.name = eddy__cell_at(network, value)->name;
    if (cell.delay < 1 || cell.delay > EDDY_CNTK_MAX_DELAY)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                          "%s of '%.64s' in '%.64s': a delay of %lld, 1 to %d "
                          "is wanted",
                          call, cell.name, network->name, (long long)cell.delay,
                          EDDY_CNTK_MAX_DELAY);
    EDDY_TRY(eddy__builder_want_values(network->graph, &cell.from, 1, err));
    cell.delay *= sign;
    return add_cell(network, &cell, &value, out, err);
}

eddy_status eddy_cntk_past_value(eddy_cntk *network, eddy_cntk_value value,
                                 int64_t delay, eddy_output initial,
                                 eddy_cntk_value *out_value, eddy_error *err)
{
    const eddy__cell cell = {.kind = EDDY__CELL_DELAY,
                             .from = initial,
                             .delay = delay,
                             .n_inputs = 1,
                             .n_values = 1};

    return add_delay(network, 1, cell, value, out_value, err);
}

eddy_status eddy_cntk_future_value(eddy_cntk *network, eddy_cntk_value value,
                                   int64_t delay, eddy_output initial,
                                   eddy_cntk_value *out_value, eddy_error *err)
{
    const eddy__cell cell = {.kind = EDDY__CELL_DELAY,
                             .from = initial,
                             .delay = delay,
                             .n_inputs = 1,
                             .n_values = 1};

    return add_delay(network, -1, cell, value, out_value, err);
}

/* ---- batches ---- */

eddy_status eddy_cntk_set_lengths(eddy_cntk *network, eddy_output lengths,
                                  eddy_error *err)
{
    static const char call[] = "eddy_cntk_set_lengths";
    eddy_dtype dtype;
    eddy_shape shape;

    EDDY_REFUSE_IF(!network, err, "%s: no network", call);
    EDDY_TRY(eddy__builder_want_values(network->graph, &lengths, 1, err));
    dtype = eddy_graph_output_dtype(network->graph, lengths);
    shape = eddy_graph_output_shape(network->graph, lengths);
    if (dtype != EDDY_INT32 && dtype != EDDY_INT64)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                          "the lengths of '%.64s' are %s, int32 or int64 are "
                          "wanted",
                          network->name, eddy_dtype_name(dtype));
    if (shape.rank >= 0 && shape.rank != 1)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                          "the lengths of '%.64s' have rank %d, a vector is "
                          "wanted",
                          network->name, (int)shape.rank);
    network->has_lengths = true;
    network->lengths = lengths;
    return EDDY_OK;
}

/* ---- functions ---- */

eddy_status eddy_cntk_op(eddy_cntk *network, const char *op,
                         const eddy_cntk_value *inputs, size_t n_inputs,
                         eddy_cntk_value *out_value, eddy_error *err)
{
    static const char call[] = "eddy_cntk_op";
    eddy__cell cell = {.kind = EDDY__CELL_FUNCTION,
                       .name = op,
                       .op = op,
                       .n_inputs = n_inputs,
                       .n_values = 1};

    EDDY_TRY(want_network(network, call, out_value, err));
    EDDY_REFUSE_IF(!op, err, "%s: no op", call);
    EDDY_TRY(want_own(network, call, inputs, n_inputs, err));
    return add_cell(network, &cell, inputs, out_value, err);
}

eddy_status eddy_cntk_apply(eddy_cntk *network,
                            const eddy_cntk_function *function,
                            const eddy_cntk_value *inputs, size_t n_inputs,
                            eddy_cntk_value *out_values, eddy_error *err)
{
    static const char call[] = "eddy_cntk_apply";
    eddy__cell cell = {.kind = EDDY__CELL_FUNCTION, .n_inputs = n_inputs};

    EDDY_TRY(want_network(network, call, out_values, err));
    EDDY_REFUSE_IF(!function, err, "%s: no function", call);
    EDDY_REFUSE_IF(function->size != sizeof *function, err,
                   "%s: a function of the wrong size", call);
    EDDY_REFUSE_IF(!function->build, err, "%s: nothing builds the function",
                   call);
    EDDY_REFUSE_IF(function->n_results == 0, err,
                   "%s: a function without results", call);
    EDDY_TRY(want_own(network, call, inputs, n_inputs, err));
    cell.name = function->name && *function->name ? function->name : "function";
    cell.part = (eddy_branch){function->build, function->user};
    cell.n_values = function->n_results;
    return add_cell(network, &cell, inputs, out_values, err);
}
