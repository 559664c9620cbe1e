/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes and lengths of forward values where gradients are computed.  What is
 * known without running is a constant; else the shape goes over the tape in
 * place of the value.
 */
#include "autodiff/primals.h"

#include "core/value/shape.h"

/* The answer of `op` about `v`, found where `v` is, brought to the scope. */
static eddy_output ask_op(eddy__primals *p, const char *op, eddy_output v,
                          eddy__scope *scope)
{
    const eddy_output source = eddy__place_source(p->places, v);
    const eddy__scope *from = eddy__place_scope(p->places, source);
    eddy_output out;

    if (from->is_base) {
        out = eddy__emit_op(p->e, op, eddy__primal_value(p, source));
        return eddy__place_import_like(p->places, out, source, scope);
    }
    out = eddy__stack_save(p, eddy__emit_op(p->e, op, source), from->frame,
                           eddy__study_branch(p->study, source));
    return eddy__place_import_like(p->places, out, source, scope);
}

static eddy_output make_shape(eddy__primals *p, eddy_output v,
                              eddy__scope *scope)
{
    const eddy_shape *shape = eddy__value_shapes_find(p->shapes, v);
    eddy_attr attr;

    /* That of a handle says nothing of its variable. */
    if (eddy_graph_output_dtype(p->e->core.graph, v) == EDDY_RESOURCE) {
        if (!eddy_graph_node_attr(p->e->core.graph,
                                  eddy__study_variable(p->study, v), "shape",
                                  &attr) ||
            !eddy__shape_is_known(attr.as.shapes))
            return ask_op(p, "VariableShape", v, scope);
        shape = attr.as.shapes;
    }
    if (eddy__emit_has_shape(shape))
        return eddy__place_import(p->places, eddy__emit_shape(p->e, shape),
                                  scope);
    return ask_op(p, "Shape", v, scope);
}

eddy_output eddy__primal_length(eddy__primals *p, eddy_output v)
{
    eddy_output out;

    if (p->e->core.status != EDDY_OK)
        return EDDY__NO_OUTPUT;
    out = eddy__output_map_find(&p->values, v,
                                eddy__primal_tag(p, EDDY__PRIMAL_LENGTH));
    if (eddy__output_exists(out))
        return out;
    eddy__primal_prepare(p, eddy__study_frame(p->study, v),
                         eddy__study_branch(p->study, v));
    out = ask_op(p, "TensorListLength", v, eddy__place_scope(p->places, v));
    eddy__emit_keep(p->e, &p->values, v,
                    eddy__primal_tag(p, EDDY__PRIMAL_LENGTH), out);
    return out;
}

eddy_output eddy__primal_shape(eddy__primals *p, eddy_output v)
{
    eddy_output out;

    if (p->e->core.status != EDDY_OK)
        return EDDY__NO_OUTPUT;
    out = eddy__output_map_find(&p->values, v,
                                eddy__primal_tag(p, EDDY__PRIMAL_SHAPE));
    if (eddy__output_exists(out))
        return out;
    eddy__primal_prepare(p, eddy__study_frame(p->study, v),
                         eddy__study_branch(p->study, v));
    out = make_shape(p, v, eddy__place_scope(p->places, v));
    eddy__emit_keep(p->e, &p->values, v,
                    eddy__primal_tag(p, EDDY__PRIMAL_SHAPE), out);
    return out;
}
