/* SPDX-License-Identifier: Apache-2.0 */
/* Zeros of the shape and dtype of forward values, in the scopes of these. */
#include "autodiff/primals.h"

#include "core/base/status.h"
#include "core/value/shape.h"

#include <stdio.h>
#include <string.h>

/* A rank-0 zero of the base frame. */
static eddy_output scalar_zero(eddy__primals *p, eddy_dtype dtype)
{
    static const unsigned char zero[16];
    const eddy_shape scalar = {.rank = 0};

    return eddy__emit_elements(p->e, dtype, &scalar, zero);
}

/* Zeros of a variable's value. */
static eddy_output make_variable_zeros(eddy__primals *p, eddy_output v,
                                       eddy__scope *scope)
{
    eddy_attr attr;
    eddy_dtype dtype = EDDY_FLOAT32;

    if (eddy_graph_node_attr(p->e->core.graph,
                             eddy__study_variable(p->study, v), "dtype", &attr))
        dtype = attr.as.types[0];
    return eddy__emit_op(
        p->e, "Fill", eddy__primal_shape(p, v),
        eddy__place_import(p->places, scalar_zero(p, dtype), scope));
}

/*
 * Zeros of a known shape, of the base frame: one for all that have it, so that
 * they are led into each branch once.
 */
static eddy_output make_known_zeros(eddy__primals *p, eddy_dtype dtype,
                                    const eddy_shape *shape)
{
    char key[32 + 21 * EDDY_MAX_RANK], *kept;
    int length =
        snprintf(key, sizeof key, "%u %d", p->places->base, (int)dtype);
    eddy_output zero;
    eddy_node node;

    for (int32_t i = 0; i < shape->rank; i++)
        length += snprintf(key + length, sizeof key - (size_t)length, " %lld",
                           (long long)shape->dims[i]);
    node = eddy__map_find(&p->zeros, key, (size_t)length);
    if (node != EDDY__NOT_FOUND)
        return (eddy_output){node, 0};
    zero = scalar_zero(p, dtype);
    if (shape->rank > 0)
        zero = eddy__emit_op(p->e, "Fill", eddy__emit_shape(p->e, shape), zero);
    kept = eddy__emit_room(p->e, (size_t)length + 1, 1);
    if (!kept || !eddy__output_exists(zero))
        return EDDY__NO_OUTPUT;
    memcpy(kept, key, (size_t)length + 1);
    if (!eddy__map_set(&p->zeros, kept, zero.node) &&
        p->e->core.status == EDDY_OK)
        p->e->core.status = eddy__fail_memory(p->e->core.err);
    return zero;
}

static eddy_output make_zeros(eddy__primals *p, eddy_output v,
                              eddy__scope *scope)
{
    const eddy_dtype dtype = eddy_graph_output_dtype(p->e->core.graph, v);
    const eddy_shape *shape = eddy__value_shapes_find(p->shapes, v);
    eddy_output zero;

    if (dtype == EDDY_RESOURCE)
        return make_variable_zeros(p, v, scope);
    if (dtype == EDDY_VARIANT)
        return eddy__emit_op(p->e, "ZerosLike", eddy__primal_value(p, v));
    if (eddy__emit_has_shape(shape))
        return eddy__place_import(p->places, make_known_zeros(p, dtype, shape),
                                  scope);
    if (scope->is_base)
        return eddy__emit_op(p->e, "ZerosLike", eddy__primal_value(p, v));
    zero = eddy__place_import(p->places, scalar_zero(p, dtype), scope);
    return eddy__emit_op(p->e, "Fill", eddy__primal_shape(p, v), zero);
}

eddy_output eddy__zeros_like(eddy__primals *p, eddy_output v,
                             uint32_t *out_branch)
{
    const eddy_dtype dtype = eddy_graph_output_dtype(p->e->core.graph, v);
    const eddy_shape *shape = eddy__value_shapes_find(p->shapes, v);
    eddy_output out;

    *out_branch = 0;
    if (p->e->core.status != EDDY_OK)
        return EDDY__NO_OUTPUT;
    *out_branch = eddy__emit_has_shape(shape) &&
                          eddy__study_has_gradient(dtype) &&
                          dtype != EDDY_VARIANT
                      ? 0
                      : eddy__study_branch(p->study, v);
    out = eddy__output_map_find(&p->values, v,
                                eddy__primal_tag(p, EDDY__PRIMAL_ZEROS));
    if (eddy__output_exists(out))
        return out;
    eddy__primal_prepare(p, eddy__study_frame(p->study, v),
                         eddy__study_branch(p->study, v));
    out = make_zeros(p, v, eddy__place_scope(p->places, v));
    eddy__emit_keep(p->e, &p->values, v,
                    eddy__primal_tag(p, EDDY__PRIMAL_ZEROS), out);
    return out;
}

eddy_output eddy__zeros_of_new(eddy__primals *p, eddy_output value,
                               uint32_t frame, uint32_t branch)
{
    eddy_dtype dtype;
    eddy_output shape, zero;

    if (p->e->core.status != EDDY_OK)
        return EDDY__NO_OUTPUT;
    dtype = eddy_graph_output_dtype(p->e->core.graph, value);
    if (p->places->scopes[frame].is_base || dtype == EDDY_VARIANT)
        return eddy__emit_op(p->e, "ZerosLike",
                             eddy__stack_save(p, value, frame, branch));
    shape =
        eddy__stack_save(p, eddy__emit_op(p->e, "Shape", value), frame, branch);
    zero = eddy__place_import(p->places, scalar_zero(p, dtype),
                              &p->places->scopes[frame]);
    return eddy__emit_op(p->e, "Fill", shape, zero);
}
