/*
 * Shapes of forward values where gradients are computed, and zeros of them.
 *
 * What is known without running is a constant; else the shape goes over the
 * tape in place of the value.
 */
#include "autodiff/walk.h"

#include "core/base/status.h"

static bool is_small(const eddy_shape *shape)
{
    for (int32_t i = 0; i < shape->rank; i++)
        if (shape->dims[i] > INT32_MAX)
            return false;
    return true;
}

static eddy_output const_shape(eddy__walk *w, const eddy_shape *shape)
{
    const eddy_shape vector = {.rank = 1, .dims = {shape->rank}};
    int32_t dims[EDDY_MAX_RANK];

    for (int32_t i = 0; i < shape->rank; i++)
        dims[i] = (int32_t)shape->dims[i];
    return eddy__emit_elements(w, EDDY_INT32, &vector, dims);
}

eddy_output eddy__emit_static_shape(eddy__walk *w, const eddy_shape *shape)
{
    return eddy__shape_is_known(shape) && is_small(shape)
               ? const_shape(w, shape)
               : EDDY__NO_OUTPUT;
}

const eddy_shape *eddy__static_shape(const eddy__walk *w, eddy_output v)
{
    static const eddy_shape unknown = {.rank = -1};
    const eddy_shape *late;

    if (v.node < w->n_nodes)
        return eddy__shape_at(&w->shapes, v);
    late = eddy__late_shape(w, v);
    return late ? late : &unknown;
}

const eddy_tensor *eddy__static_constant(const eddy__walk *w, eddy_output v)
{
    const eddy__node *n = eddy__graph_node(w->graph, v.node);
    const eddy_attr *value;

    if (v.node < w->n_nodes)
        return eddy__constant_at(&w->shapes, v);
    if (eddy__node_role(n) != EDDY__ROLE_CONST)
        return NULL;
    value = eddy__node_attr(n, "value");
    return value ? value->as.tensors[0] : NULL;
}

/* What `op` says of `v`, found where `v` is and brought to the scope. */
static eddy_output ask(eddy__walk *w, const char *op, eddy_output v,
                       eddy__scope *scope)
{
    const eddy_output source = eddy__source_of(w, v);
    const eddy__scope *home = eddy__scope_of(w, source);
    eddy_output out;

    if (home->is_home) {
        out = eddy__emit_op(w, op, eddy__real(w, source));
        return eddy__import_like(w, out, source, scope);
    }
    out = eddy__save(w, eddy__emit_op(w, op, source), home->frame,
                     eddy__branch_of(w, source));
    return eddy__import_like(w, out, source, scope);
}

static eddy_output make_shape(eddy__walk *w, eddy_output v, eddy__scope *scope)
{
    const eddy_shape *shape = eddy__static_shape(w, v);

    eddy_attr attr;

    /* That of a handle says nothing of its variable. */
    if (eddy_graph_output_dtype(w->graph, v) == EDDY_RESOURCE) {
        if (!eddy_graph_node_attr(w->graph, eddy__variable_of(w, v), "shape",
                                  &attr) ||
            !eddy__shape_is_known(attr.as.shapes))
            return ask(w, "VariableShape", v, scope);
        shape = attr.as.shapes;
    }
    if (eddy__shape_is_known(shape) && is_small(shape))
        return eddy__import(w, const_shape(w, shape), scope);
    return ask(w, "Shape", v, scope);
}

eddy_output eddy__real_length(eddy__walk *w, eddy_output v)
{
    eddy_output out;

    if (w->status != EDDY_OK)
        return EDDY__NO_OUTPUT;
    out = eddy__output_map_find(&w->real, v, EDDY__LENGTH);
    if (eddy__is_output(out))
        return out;
    eddy__prepare(w, eddy__frame_of(w, v), eddy__branch_of(w, v));
    out = ask(w, "TensorListLength", v, eddy__scope_of(w, v));
    eddy__keep(w, &w->real, v, EDDY__LENGTH, out);
    return out;
}

eddy_output eddy__real_shape(eddy__walk *w, eddy_output v)
{
    eddy_output out;

    if (w->status != EDDY_OK)
        return EDDY__NO_OUTPUT;
    out = eddy__output_map_find(&w->real, v, EDDY__SHAPE);
    if (eddy__is_output(out))
        return out;
    eddy__prepare(w, eddy__frame_of(w, v), eddy__branch_of(w, v));
    out = make_shape(w, v, eddy__scope_of(w, v));
    eddy__keep(w, &w->real, v, EDDY__SHAPE, out);
    return out;
}

/* A rank-0 zero of the home frame. */
static eddy_output scalar_zero(eddy__walk *w, eddy_dtype dtype)
{
    static const unsigned char zero[16];
    const eddy_shape scalar = {.rank = 0};

    return eddy__emit_elements(w, dtype, &scalar, zero);
}

/* Zeros of a variable's value. */
static eddy_output make_variable_zeros(eddy__walk *w, eddy_output v,
                                       eddy__scope *scope)
{
    eddy_attr attr;
    eddy_dtype dtype = EDDY_FLOAT32;

    if (eddy_graph_node_attr(w->graph, eddy__variable_of(w, v), "dtype", &attr))
        dtype = attr.as.types[0];
    return eddy__emit_op(w, "Fill", eddy__real_shape(w, v),
                         eddy__import(w, scalar_zero(w, dtype), scope));
}

static eddy_output make_zeros(eddy__walk *w, eddy_output v, eddy__scope *scope)
{
    const eddy_dtype dtype = eddy_graph_output_dtype(w->graph, v);
    const eddy_shape *shape = eddy__static_shape(w, v);
    eddy_output zero;

    if (dtype == EDDY_RESOURCE)
        return make_variable_zeros(w, v, scope);

    if (dtype == EDDY_VARIANT)
        return eddy__emit_op(w, "ZerosLike", eddy__real(w, v));
    if (eddy__shape_is_known(shape) && is_small(shape)) {
        zero = scalar_zero(w, dtype);
        if (shape->rank > 0)
            zero = eddy__emit_op(w, "Fill", const_shape(w, shape), zero);
        return eddy__import(w, zero, scope);
    }
    if (scope->is_home)
        return eddy__emit_op(w, "ZerosLike", eddy__real(w, v));
    zero = eddy__import(w, scalar_zero(w, dtype), scope);
    return eddy__emit_op(w, "Fill", eddy__real_shape(w, v), zero);
}

eddy_output eddy__zeros_like(eddy__walk *w, eddy_output v, uint32_t *out_branch)
{
    const eddy_dtype dtype = eddy_graph_output_dtype(w->graph, v);
    const eddy_shape *shape = eddy__static_shape(w, v);
    eddy_output out;

    if (w->status != EDDY_OK)
        return EDDY__NO_OUTPUT;
    *out_branch = eddy__shape_is_known(shape) && is_small(shape) &&
                          eddy__dtype_has_gradient(dtype) &&
                          dtype != EDDY_VARIANT
                      ? 0
                      : eddy__branch_of(w, v);
    out = eddy__output_map_find(&w->real, v, EDDY__ZEROS);
    if (eddy__is_output(out))
        return out;
    eddy__prepare(w, eddy__frame_of(w, v), eddy__branch_of(w, v));
    out = make_zeros(w, v, eddy__scope_of(w, v));
    eddy__keep(w, &w->real, v, EDDY__ZEROS, out);
    return out;
}

eddy_output eddy__zeros_of_new(eddy__walk *w, eddy_output value, uint32_t frame,
                               uint32_t branch)
{
    eddy_dtype dtype;
    eddy_output shape, zero;

    if (w->status != EDDY_OK)
        return EDDY__NO_OUTPUT;
    dtype = eddy_graph_output_dtype(w->graph, value);
    if (w->scopes[frame].is_home || dtype == EDDY_VARIANT)
        return eddy__emit_op(w, "ZerosLike",
                             eddy__save(w, value, frame, branch));
    shape = eddy__save(w, eddy__emit_op(w, "Shape", value), frame, branch);
    zero = eddy__import(w, scalar_zero(w, dtype), &w->scopes[frame]);
    return eddy__emit_op(w, "Fill", shape, zero);
}
