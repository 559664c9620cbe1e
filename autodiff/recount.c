/*
 * Counters need no tape: what counts trips in the forward loop follows from the
 * counter of the gradient loop, which is the number of the trip.
 */
#include "autodiff/walk.h"

#include "frames/analysis/trip_counter.h"

#include <string.h>

/* A constant of the home frame, in the scope. */
static eddy_output constant(eddy__walk *w, eddy_dtype dtype, int64_t value,
                            eddy__scope *scope)
{
    const eddy_shape scalar = {.rank = 0};
    const int32_t narrow = (int32_t)value;
    const void *element =
        dtype == EDDY_INT32 ? (const void *)&narrow : (const void *)&value;

    return eddy__import(w, eddy__emit_elements(w, dtype, &scalar, element),
                        scope);
}

static eddy_output cast(eddy__walk *w, eddy_output x, eddy_dtype dtype)
{
    const eddy_dtype from = eddy_graph_output_dtype(w->graph, x);
    const eddy_attr attrs[] = {eddy_attr_type("SrcT", &from),
                               eddy_attr_type("DstT", &dtype)};

    if (from == dtype)
        return x;
    return eddy__emit_spec(w, &(eddy_node_spec){.op = "Cast",
                                                .inputs = &x,
                                                .n_inputs = 1,
                                                .attrs = attrs,
                                                .n_attrs = 2});
}

/* What a Cast reads, or the value itself. */
static eddy_output before_cast(const eddy__walk *w, eddy_output v)
{
    const eddy__node *node = eddy__graph_node(w->graph, v.node);

    return strcmp(node->op_name, "Cast") == 0 &&
                   eddy__feed_of(&w->selection, v) == EDDY__NOT_FOUND
               ? node->inputs[0]
               : v;
}

eddy_output eddy__recount(eddy__walk *w, eddy_output v)
{
    const uint32_t frame = eddy__frame_of(w, v);
    eddy__scope *scope = &w->scopes[frame];
    eddy_output counted, out;
    eddy__progression p;
    eddy_dtype dtype;

    if (w->status != EDDY_OK || v.node >= w->n_nodes || scope->is_home)
        return EDDY__NO_OUTPUT;
    counted = before_cast(w, v);
    if (eddy__frame_of(w, counted) != frame ||
        !eddy__find_progression(&w->flow, w->analysis, frame, counted, &p))
        return EDDY__NO_OUTPUT;
    dtype = eddy_graph_output_dtype(w->graph, counted);
    out = cast(w, scope->pivot, dtype);
    if (p.step != 1)
        out = eddy__emit_op(w, "Mul", out, constant(w, dtype, p.step, scope));
    if (p.first != 0)
        out =
            eddy__emit_op(w, "AddV2", out, constant(w, dtype, p.first, scope));
    return cast(w, out, eddy_graph_output_dtype(w->graph, v));
}
