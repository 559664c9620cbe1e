/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words that the rules share: constants, parts of shapes, and sums over what
 * was broadcast.  All of it goes through the rule API.
 */
#include "autodiff/rule.h"

#include "autodiff/rule_host.h"
#include "core/base/status.h"
#include "core/value/shape.h"
#include "core/value/tensor.h"
#include "frames/lower/collective.h"

#include <stdlib.h>
#include <string.h>

/* ---- constants ---- */

static void store(void *to, eddy_dtype dtype, double value)
{
    if (dtype == EDDY_FLOAT64) {
        memcpy(to, &value, sizeof value);
    } else if (dtype == EDDY_FLOAT16) {
        const uint16_t half = eddy_float16_from_float((float)value);

        memcpy(to, &half, sizeof half);
    } else if (dtype == EDDY_BFLOAT16) {
        const uint16_t half = eddy_bfloat16_from_float((float)value);

        memcpy(to, &half, sizeof half);
    } else if (dtype == EDDY_COMPLEX128) {
        const double number[2] = {value, 0.0};

        memcpy(to, number, sizeof number);
    } else if (dtype == EDDY_INT32) {
        const int32_t number = (int32_t)value;

        memcpy(to, &number, sizeof number);
    } else if (dtype == EDDY_INT64) {
        const int64_t number = (int64_t)value;

        memcpy(to, &number, sizeof number);
    } else {
        const float number[2] = {(float)value, 0.0f};

        memcpy(to, number, eddy_dtype_size(dtype));
    }
}

static eddy_output add_const(eddy_gradient *g, eddy_dtype dtype,
                             const eddy_shape *shape, const void *elements,
                             double value)
{
    eddy__gradient_emitter *e = g->e;
    eddy_output out = EDDY__NO_OUTPUT;
    eddy_tensor *tensor;

    if (e->core.status != EDDY_OK)
        return out;
    e->core.status = eddy_tensor_create(e->core.graph->ctx, dtype, shape,
                                        &tensor, e->core.err);
    if (e->core.status != EDDY_OK)
        return out;
    if (elements && eddy_tensor_bytes(tensor) > 0)
        memcpy(eddy_tensor_mutable_data(tensor), elements,
               eddy_tensor_bytes(tensor));
    else if (!elements)
        store(eddy_tensor_mutable_data(tensor), dtype, value);
    out = eddy_gradient_const(g, tensor);
    eddy_tensor_release(tensor);
    return out;
}

eddy_output eddy__rule_scalar(eddy_gradient *g, eddy_dtype dtype, double value)
{
    const eddy_shape scalar = {.rank = 0};

    return add_const(g, dtype, &scalar, NULL, value);
}

eddy_output eddy__rule_ints(eddy_gradient *g, const int32_t *values, size_t n)
{
    const eddy_shape vector = {.rank = 1, .dims = {(int64_t)n}};
    static const int32_t nothing;

    return add_const(g, EDDY_INT32, &vector, n > 0 ? values : &nothing, 0.0);
}

eddy_output eddy__rule_cast(eddy_gradient *g, eddy_output v, eddy_dtype from,
                            eddy_dtype to)
{
    const eddy_attr attrs[] = {eddy_attr_type("DstT", &to)};

    return from == to ? v : OP_WITH("Cast", attrs, v);
}

static eddy_output as_vector(eddy_gradient *g, eddy_output scalar)
{
    return OP("Reshape", scalar, INTS(1));
}

eddy_output eddy__rule_tail(eddy_gradient *g, eddy_output vector,
                            eddy_output begin)
{
    return OP("Slice", vector, as_vector(g, begin), INTS(-1));
}

eddy_output eddy__rule_head(eddy_gradient *g, eddy_output vector,
                            eddy_output end)
{
    return OP("Slice", vector, INTS(0), as_vector(g, end));
}

eddy_output eddy__rule_element(eddy_gradient *g, eddy_output vector,
                               eddy_output at)
{
    return OP("GatherV2", vector, at, INT(0.0));
}

eddy_output eddy__rule_count(eddy_gradient *g, eddy_output shape)
{
    return OP("Prod", shape, INTS(0));
}

eddy_output eddy__rule_product(eddy_gradient *g, eddy_output a, eddy_output b,
                               bool adjoint_a, bool adjoint_b)
{
    const eddy_attr attrs[] = {eddy_attr_bool("adj_x", &adjoint_a),
                               eddy_attr_bool("adj_y", &adjoint_b)};

    return OP_WITH("BatchMatMulV2", attrs, a, b);
}

eddy_output eddy__rule_adjoint(eddy_gradient *g, eddy_output v)
{
    const eddy_output rank = OP("Rank", v), one = INT(1.0);
    const eddy_output inner = OP("Sub", rank, INT(2.0));
    const eddy_output order = CONCAT(OP("Range", INT(0.0), inner, one),
                                     VECTOR(OP("Sub", rank, one), inner));

    return CONJ(0, OP("Transpose", v, order));
}

eddy_output *eddy__rule_room(eddy_gradient *g, size_t n)
{
    return eddy__emit_room(g->e, n > 0 ? n : 1, sizeof(eddy_output));
}

eddy_output eddy__rule_conj(eddy_gradient *g, uint32_t i, eddy_output v)
{
    return eddy__dtype_is_complex(eddy_gradient_input_dtype(g, i))
               ? OP("Conj", v)
               : v;
}

/* ---- lists ---- */

static eddy_output input_of(const eddy_gradient *g, uint32_t i)
{
    return eddy__rule_host_node(g)->inputs[i];
}

eddy_output eddy__rule_length_of(eddy_gradient *g, uint32_t i)
{
    return g->host->length_of(g, input_of(g, i));
}

void eddy__rule_set_item(eddy_gradient *g, uint32_t i, eddy_output index,
                         eddy_output gradient)
{
    g->host->set_item(g, i, index, gradient);
}

/* ---- broadcasting ---- */

/*
 * The axes over which a gradient of shape `out` is summed to become one of
 * `shape`; false if that is not known.
 */
static bool find_axes(const eddy_shape *shape, const eddy_shape *out,
                      int32_t axes[EDDY_MAX_RANK], size_t *out_n)
{
    size_t n = 0;

    if (!eddy__shape_is_known(shape) || !eddy__shape_is_known(out) ||
        out->rank < shape->rank)
        return false;
    for (int32_t i = 0; i < out->rank; i++) {
        const int32_t own = i - (out->rank - shape->rank);

        if (own < 0 || (shape->dims[own] == 1 && out->dims[i] != 1))
            axes[n++] = i;
    }
    *out_n = n;
    return true;
}

static eddy_output sum_known(eddy_gradient *g, uint32_t i, const int32_t *axes,
                             size_t n, eddy_output gradient)
{
    if (n == 0)
        return gradient;
    gradient = OP("Sum", gradient, eddy__rule_ints(g, axes, n));
    return OP("Reshape", gradient, eddy_gradient_shape_of(g, i));
}

void eddy__rule_set_broadcast(eddy_gradient *g, uint32_t i, uint32_t other,
                              eddy_output gradient)
{
    const eddy_shape *shape = eddy_gradient_input_shape(g, i);
    const eddy_shape *out = eddy_gradient_output_shape(g, 0);
    int32_t axes[EDDY_MAX_RANK];
    eddy_output own, others, args;
    size_t n;

    if (!eddy_gradient_is_wanted(g, i))
        return;
    if (find_axes(shape, out, axes, &n)) {
        DX(i, sum_known(g, i, axes, n, gradient));
        return;
    }
    own = eddy_gradient_shape_of(g, i);
    others = eddy_gradient_shape_of(g, other);
    args = OP("BroadcastGradientArgs", own, others);
    DX(i, OP("Reshape", OP("Sum", gradient, args), own));
}

void eddy__rule_set_summed(eddy_gradient *g, uint32_t i, eddy_output gradient)
{
    eddy_output own, args;

    if (!eddy_gradient_is_wanted(g, i))
        return;
    own = eddy_gradient_shape_of(g, i);
    args = OP("BroadcastGradientArgs", own, OP("Shape", gradient));
    DX(i, OP("Reshape", OP("Sum", gradient, args), own));
}

eddy_output eddy__rule_source(eddy_gradient *g, const char *op)
{
    return g->host->bring(g,
                          eddy__emit_after(g->e, g->e->control, op, NULL, 0));
}

void eddy__rule_set_sent(eddy_gradient *g, eddy_output gradient)
{
    if (g->e->core.status == EDDY_OK && g->host->set_sent)
        g->host->set_sent(g, gradient);
}

bool eddy__rule_is_op(const eddy_gradient *g, const char *op)
{
    return strcmp(eddy__rule_host_node(g)->op_name, op) == 0;
}

int64_t eddy__rule_members_before(const eddy_gradient *g)
{
    const eddy_graph *graph = g->e->core.graph;
    const eddy__node *own = eddy__rule_host_node(g);
    int64_t n = 0;

    for (eddy_node v = 0; v < graph->n_nodes; v++) {
        const eddy__node *node = eddy__graph_node(graph, v);
        int c;

        if (strcmp(node->op_name, own->op_name) != 0)
            continue;
        c = eddy__collective_compare(node, own);
        n += c < 0 || (c == 0 && v < g->node);
    }
    return n;
}

bool eddy__rule_same_shape(const eddy_gradient *g, uint32_t i, uint32_t j)
{
    const eddy_shape *a = eddy_gradient_input_shape(g, i);
    const eddy_shape *b = eddy_gradient_input_shape(g, j);

    return eddy__shape_is_known(a) && eddy__shape_equal(a, b);
}

/* ---- attributes ---- */

bool eddy__rule_bool(const eddy_gradient *g, const char *name)
{
    eddy_attr attr;

    return eddy_gradient_attr(g, name, &attr) && attr.kind == EDDY_ATTR_BOOL &&
           attr.n == 1 && attr.as.bools[0];
}

int64_t eddy__rule_int(const eddy_gradient *g, const char *name)
{
    eddy_attr attr;

    return eddy_gradient_attr(g, name, &attr) && attr.kind == EDDY_ATTR_INT &&
                   attr.n == 1
               ? attr.as.ints[0]
               : 0;
}

eddy_attr eddy__rule_attr(const eddy_gradient *g, const char *name)
{
    eddy_attr attr = {.name = name};

    (void)eddy_gradient_attr(g, name, &attr);
    return attr;
}

eddy_dtype eddy__rule_output_dtype(const eddy_gradient *g, uint32_t i)
{
    return eddy_graph_output_dtype(g->e->core.graph, (eddy_output){g->node, i});
}

bool eddy__rule_constant(const eddy_gradient *g, uint32_t i, int64_t *out_value)
{
    const eddy_tensor *value =
        eddy__value_shapes_constant(g->shapes, input_of(g, i));

    if (!value || value->count != 1)
        return false;
    if (value->dtype == EDDY_INT32)
        *out_value = *(const int32_t *)value->data;
    else if (value->dtype == EDDY_INT64)
        *out_value = *(const int64_t *)value->data;
    return value->dtype == EDDY_INT32 || value->dtype == EDDY_INT64;
}

bool eddy__rule_is_set(const eddy_gradient *g, uint32_t i)
{
    const eddy_tensor *value =
        eddy__value_shapes_constant(g->shapes, input_of(g, i));
    const int32_t *numbers;

    if (!value || value->dtype != EDDY_INT32 || value->count > 64)
        return false;
    numbers = value->data;
    for (int64_t a = 0; a < value->count; a++)
        for (int64_t b = 0; b < a; b++)
            if (numbers[a] == numbers[b])
                return false;
    return true;
}

size_t eddy__rule_attrs(const eddy_gradient *g, const char *const *names,
                        size_t n, eddy_attr *out)
{
    size_t found = 0;

    for (size_t i = 0; i < n; i++)
        found += eddy_gradient_attr(g, names[i], &out[found]);
    return found;
}
