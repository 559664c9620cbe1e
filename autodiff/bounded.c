/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Budgets of calls that add to a graph.  A call within another that has one
 * takes from that.
 */
#include "autodiff/bounded.h"

#include "core/base/status.h"
#include "core/context.h"

#include <string.h>

static const eddy_limits untrusted = {
    .size = sizeof untrusted,
    .max_nodes = UINT64_C(1) << 18,
    .max_bytes = UINT64_C(160) << 20,
    .timeout_ns = UINT64_C(2000) * 1000 * 1000,
};

void eddy_gradient_options_untrusted(eddy_gradient_options *options)
{
    options->limits = &untrusted;
}

eddy_status eddy__bounded_begin(eddy__bounded *b, eddy_graph *graph,
                                const char *what,
                                const eddy_gradient_options *options,
                                eddy_error *err)
{
    b->graph = graph;
    b->is_outermost = !graph->budget;
    b->options = (eddy_gradient_options){.size = sizeof b->options};
    if (options && (options->size == 0 || options->size > sizeof b->options))
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                          "gradient options of %zu bytes, wanted up to %zu",
                          options->size, sizeof b->options);
    if (options)
        memcpy(&b->options, options, options->size);
    if (!b->is_outermost)
        return EDDY_OK;
    EDDY_TRY(eddy__budget_begin(&b->budget, what,
                                eddy__context_allocator(graph->ctx),
                                b->options.limits, err));
    eddy__graph_set_budget(graph, &b->budget);
    return EDDY_OK;
}

eddy_status eddy__bounded_end(eddy__bounded *b, eddy_status status,
                              eddy_error *err)
{
    if (!b->is_outermost)
        return status;
    eddy__graph_set_budget(b->graph, NULL);
    return eddy__budget_end(&b->budget, status, err);
}
