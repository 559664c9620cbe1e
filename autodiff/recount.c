/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters need no tape: what counts trips in the forward loop follows from the
 * counter of the gradient loop, which is the number of the trip.
 */
#include "autodiff/primals.h"

#include "frames/analysis/trip_counter.h"

#include <string.h>

/* A constant of the base frame, in the scope. */
static eddy_output constant(eddy__places *p, eddy_dtype dtype, int64_t value,
                            eddy__scope *scope)
{
    const eddy_shape scalar = {.rank = 0};
    const int32_t narrow = (int32_t)value;
    const void *element =
        dtype == EDDY_INT32 ? (const void *)&narrow : (const void *)&value;

    return eddy__place_import(
        p, eddy__emit_elements(p->e, dtype, &scalar, element), scope);
}

/* The input of a Cast, or the value itself. */
static eddy_output before_cast(const eddy__places *p, eddy_output v)
{
    const eddy__node *node = eddy__graph_node(p->e->core.graph, v.node);

    return strcmp(node->op_name, "Cast") == 0 &&
                   eddy__selection_feed_of(&p->study->selection, v) ==
                       EDDY__NOT_FOUND
               ? node->inputs[0]
               : v;
}

eddy_output eddy__recount_value(eddy__places *p, eddy_output v)
{
    const uint32_t frame = eddy__study_frame(p->study, v);
    eddy__scope *scope = &p->scopes[frame];
    eddy_output counted, out;
    eddy__progression found;
    eddy_dtype dtype;

    if (p->e->core.status != EDDY_OK || v.node >= p->study->n_nodes ||
        scope->is_base)
        return EDDY__NO_OUTPUT;
    counted = before_cast(p, v);
    if (eddy__study_frame(p->study, counted) != frame ||
        !eddy__find_progression(&p->study->flow, p->study->analysis, frame,
                                counted, &found))
        return EDDY__NO_OUTPUT;
    dtype = eddy_graph_output_dtype(p->e->core.graph, counted);
    out = eddy__emit_cast(p->e, scope->pivot, dtype);
    if (found.step != 1)
        out = eddy__emit_op(p->e, "Mul", out,
                            constant(p, dtype, found.step, scope));
    if (found.first != 0)
        out = eddy__emit_op(p->e, "AddV2", out,
                            constant(p, dtype, found.first, scope));
    return eddy__emit_cast(p->e, out,
                           eddy_graph_output_dtype(p->e->core.graph, v));
}
