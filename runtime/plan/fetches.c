/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tensor of a loop has a value in every iteration, so that which one a fetch
 * means cannot be said: it is refused, with the name of the Exit that gives the
 * last value of the variable which the tensor belongs to.  One of a frame that
 * never iterates has just one value and may be fetched.
 */
#include "core/base/status.h"
#include "frames/analysis/exits.h"
#include "runtime/plan/plan.h"

static eddy_status refuse_fetch(const eddy__plan_build *b, size_t i,
                                const char *loop)
{
    const eddy_graph *graph = b->graph;
    const eddy_node node = b->asked->fetches[i].node;
    /* It may have been pruned, so that the whole graph is looked at. */
    const eddy_node exit = eddy__exit_for(graph, b->budget, node);

    if (exit == EDDY_NO_NODE)
        return eddy__graph_fail_at(
            b->err, EDDY_INVALID_ARGUMENT, EDDY_E_FETCH_IN_LOOP,
            eddy__graph_node(graph, node),
            "fetch %zu lives in the loop '%s'; fetch an Exit "
            "instead",
            i, loop);
    return eddy__graph_fail_at(
        b->err, EDDY_INVALID_ARGUMENT, EDDY_E_FETCH_IN_LOOP,
        eddy__graph_node(graph, node),
        "fetch %zu lives in the loop '%s'; fetch the Exit "
        "'%s' instead",
        i, loop, eddy__graph_node(graph, exit)->name);
}

eddy_status eddy__check_fetches(const eddy__plan_build *b)
{
    for (size_t i = 0; i < b->options->n_fetches; i++) {
        const eddy_output output = b->options->fetches[i];
        uint32_t loop;

        if (eddy__selection_feed_of(b->selection, output) != EDDY__NOT_FOUND)
            continue;
        loop = eddy__exits_loop_around(b->analysis, output.node);
        if (loop != 0)
            return refuse_fetch(b, i, b->analysis->frames[loop].name);
    }
    return EDDY_OK;
}
