/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes where a graph ends before a front end's call, and takes back what it
 * added if it fails.
 */
#include "frontends/shared/attempt.h"

#include "core/base/status.h"

eddy_status eddy__attempt_begin(eddy__attempt *attempt, eddy_graph *graph,
                                eddy_error *err)
{
    eddy__builder *b;

    EDDY_TRY(eddy__builder_of(graph, &b, err));
    *attempt = (eddy__attempt){
        .graph = graph,
        .mark = eddy__builder_mark(b),
        .depth = eddy_construct_depth(graph),
    };
    return EDDY_OK;
}

eddy_status eddy__attempt_end(const eddy__attempt *attempt, eddy_status status)
{
    eddy_graph *graph = attempt->graph;

    if (status == EDDY_OK)
        return status;
    while (eddy_construct_depth(graph) > attempt->depth)
        eddy_construct_abort(graph);
    /*
     * A function of the program that closed what it had not opened has added
     * nodes which others from before now read.
     */
    if (eddy_construct_depth(graph) == attempt->depth)
        eddy__builder_rollback(graph->builder, attempt->mark);
    return status;
}
