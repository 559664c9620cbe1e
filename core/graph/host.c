/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a graph's host callbacks, which a copy of the graph copies. */
#include "core/graph/host.h"

#include "core/base/status.h"
#include "core/context.h"
#include "core/graph/graph.h"

#include <string.h>

bool eddy__host_table_copy(const eddy__host_table *from,
                           const eddy_allocator *allocator,
                           eddy__host_table *to)
{
    if (from->n == 0)
        return true;
    if (!eddy__grow(allocator, (void **)&to->items, &to->capacity, from->n,
                    sizeof *to->items))
        return false;
    memcpy(to->items, from->items, from->n * sizeof *to->items);
    to->n = from->n;
    return true;
}

void eddy__host_table_deinit(eddy__host_table *table,
                             const eddy_allocator *allocator)
{
    eddy__free(allocator, table->items, table->capacity, sizeof *table->items);
}

static eddy_status check(const eddy_graph *graph, const eddy_host_spec *spec,
                         bool has_function, const eddy_output *out,
                         eddy_error *err)
{
    const char *problem = NULL;

    if (!graph)
        problem = "no graph";
    else if (!out)
        problem = "nowhere to put the output";
    else if (!spec)
        problem = "no specification of the host callback";
    else if (spec->size != sizeof *spec)
        problem = "the specification of the host callback has the wrong size";
    else if (!has_function)
        problem = "the host callback has no function";
    else if (spec->n_choices < 0)
        problem = "the host callback has a negative number of choices";
    if (!problem)
        return EDDY_OK;
    return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT, "%s",
                      problem);
}

/* Puts it last into the table, and adds a node with its number. */
static eddy_status add(eddy_graph *graph, const char *op,
                       const eddy_host_spec *spec,
                       const eddy__host_callback *callback, eddy_output *out,
                       eddy_error *err)
{
    eddy__host_table *table = &graph->host;
    const int64_t number = (int64_t)table->n;
    const eddy_attr attr = eddy_attr_int("callback", &number);
    const eddy_node_spec node = {
        .size = sizeof node,
        .op = op,
        .name = spec->name,
        .inputs = spec->inputs,
        .n_inputs = spec->n_inputs,
        .controls = spec->controls,
        .n_controls = spec->n_controls,
        .attrs = &attr,
        .n_attrs = 1,
    };
    eddy_status status;

    if (!eddy__grow(&graph->ctx->allocator, (void **)&table->items,
                    &table->capacity, table->n + 1, sizeof *table->items))
        return eddy__fail_memory(err);
    table->items[table->n++] = *callback;
    out->index = 0;
    status = eddy_graph_add(graph, &node, &out->node, err);
    if (status != EDDY_OK)
        table->n--;
    return status;
}

eddy_status eddy_graph_add_host_predicate(eddy_graph *graph,
                                          const eddy_host_spec *spec,
                                          eddy_host_predicate_fn call,
                                          eddy_output *out, eddy_error *err)
{
    eddy__host_callback callback = {.kind = EDDY__HOST_PREDICATE,
                                    .predicate = call};

    EDDY_TRY(check(graph, spec, call != NULL, out, err));
    callback.user = spec->user;
    return add(graph, EDDY__HOST_PREDICATE_OP, spec, &callback, out, err);
}

eddy_status eddy_graph_add_host_selector(eddy_graph *graph,
                                         const eddy_host_spec *spec,
                                         eddy_host_selector_fn call,
                                         eddy_output *out, eddy_error *err)
{
    eddy__host_callback callback = {.kind = EDDY__HOST_SELECTOR,
                                    .selector = call};

    EDDY_TRY(check(graph, spec, call != NULL, out, err));
    callback.user = spec->user;
    callback.n_choices = spec->n_choices;
    return add(graph, EDDY__HOST_SELECTOR_OP, spec, &callback, out, err);
}
