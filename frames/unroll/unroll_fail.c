/* SPDX-License-Identifier: Apache-2.0 */
/* How unrolling fails: a leaf that all of its files call. */
#include "core/base/status.h"
#include "frames/unroll/unrolling.h"

eddy_status eddy__unroll_fail(const eddy__unrolling *u, eddy_node node,
                              const char *why)
{
    if (node == EDDY_NO_NODE)
        return eddy__fail(u->err, EDDY_INVALID_ARGUMENT, EDDY_E_NOT_COUNTED,
                          "loop '%.64s' can't be unrolled: %s", u->frame->name,
                          why);
    return eddy__graph_fail_at(u->err, EDDY_INVALID_ARGUMENT,
                               EDDY_E_NOT_COUNTED, eddy__unroll_node(u, node),
                               "loop '%.64s' can't be unrolled: %s",
                               u->frame->name, why);
}

eddy_status eddy__unroll_fail_size(const eddy__unrolling *u)
{
    return eddy__fail(u->err, EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_NODES,
                      "unrolling loop '%.64s' makes a graph of more than %llu "
                      "nodes",
                      u->frame->name, (unsigned long long)u->max_nodes);
}

eddy_status eddy__unroll_check_size(const eddy__unrolling *u)
{
    return u->graph->n_nodes < u->max_nodes ? EDDY_OK
                                            : eddy__unroll_fail_size(u);
}
