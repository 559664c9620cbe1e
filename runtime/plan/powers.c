/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pass of levels exact and full: Pow with the exponent 2, a constant for all
 * elements, is Square, as TensorFlow's Grappler has it.  Pow multiplies for
 * that exponent, too (ops/math/float_math.h), but only Square is an instruction
 * in machine code and a member of it in chains.
 *
 * The exponent must not give the result its shape: it has one element, and no
 * more dimensions than the base.
 */
#include "runtime/plan/rewrites.h"

#include "core/base/status.h"
#include "core/value/shape.h"
#include "runtime/plan/readers.h"

#include <string.h>

typedef struct squaring {
    eddy__readers readers;
    const eddy_graph *graph;
} squaring;

static bool is_two(const eddy_tensor *value)
{
    switch ((eddy_dtype)value->dtype) {
    case EDDY_FLOAT32:
        return *(const float *)value->data == 2;
    case EDDY_FLOAT64:
        return *(const double *)value->data == 2;
    case EDDY_INT32:
        return *(const int32_t *)value->data == 2;
    case EDDY_INT64:
        return *(const int64_t *)value->data == 2;
    default:
        return false;
    }
}

/* Is `from` a Const 2?  What it waits for, the square is to wait for. */
static bool takes_two(const squaring *s, eddy_output from,
                      const eddy_shape *base, eddy__few_controls *controls)
{
    const eddy__node *node = eddy__graph_node(s->graph, from.node);
    const eddy_tensor *value =
        eddy__infer_constant_at(&s->readers.build->shapes, from);

    return value && eddy__node_role(node) == EDDY__ROLE_CONST &&
           !eddy__readers_is_fed(&s->readers, from.node) && value->count == 1 &&
           (value->shape.rank == 0 || value->shape.rank <= base->rank) &&
           is_two(value) &&
           eddy__few_controls_add(controls, node->controls, node->n_controls);
}

static bool find(const squaring *s, eddy_node v, eddy__few_controls *controls)
{
    const eddy__node *node = eddy__graph_node(s->graph, v);

    controls->n = 0;
    return eddy__selected(s->readers.build->selection, v) && node->op &&
           strcmp(node->op_name, "Pow") == 0 && node->n_inputs == 2 &&
           !eddy__readers_is_fed(&s->readers, v) &&
           eddy__few_controls_add(controls, node->controls, node->n_controls) &&
           takes_two(s, node->inputs[1],
                     eddy__readers_seen_shape(&s->readers, node->inputs[0]),
                     controls);
}

static eddy_status square(const squaring *s, eddy_node v,
                          const eddy__few_controls *controls, eddy_graph *copy)
{
    const eddy__node *node = eddy__graph_node(s->graph, v);
    const eddy_node_spec spec = {.size = sizeof spec,
                                 .op = "Square",
                                 .inputs = node->inputs,
                                 .n_inputs = 1,
                                 .controls = controls->waits_for,
                                 .n_controls = controls->n};

    return eddy__readers_replace_node(copy, v, &spec, s->readers.build->err);
}

static eddy_status square_all(const squaring *s, eddy_graph *copy)
{
    eddy__few_controls controls;

    for (eddy_node v = 0; v < s->graph->n_nodes; v++)
        if (find(s, v, &controls))
            EDDY_TRY(square(s, v, &controls, copy));
    return EDDY_OK;
}

static bool is_any(const squaring *s)
{
    eddy__few_controls controls;
    eddy_node v = 0;

    while (v < s->graph->n_nodes && !find(s, v, &controls))
        v++;
    return v < s->graph->n_nodes;
}

eddy_status eddy__square_powers(const eddy__plan_build *build,
                                eddy__arena *scratch, eddy_graph **out_graph)
{
    squaring s = {.graph = build->selection->graph};
    eddy_status status;

    *out_graph = NULL;
    EDDY_TRY(eddy__count_readers(build, scratch, &s.readers));
    if (!is_any(&s))
        return EDDY_OK;
    EDDY_TRY(eddy__graph_clone(s.graph, build->budget, out_graph, build->err));
    status = square_all(&s, *out_graph);
    if (status != EDDY_OK) {
        eddy_graph_destroy(*out_graph);
        *out_graph = NULL;
    }
    return status;
}
