/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What handlers of operators call: inputs, attributes, outputs, and nodes of
 * the graph.  See op.h.
 */
#include "interop/onnx/op.h"

#include "core/base/status.h"
#include "core/graph/graph.h"
#include "core/value/shape.h"
#include "core/value/tensor.h"
#include "interop/onnx/loader.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define N_OF(array) (sizeof(array) / sizeof(array)[0])

static const eddy_output nothing = {EDDY_NO_NODE, 0};

static void fail_v(eddy__onnx_op *op, eddy_status code, eddy_detail detail,
                   const char *format, va_list args)
{
    char text[400];

    if (!eddy__onnx_ok(op))
        return;
    (void)vsnprintf(text, sizeof text, format, args);
    op->w->status =
        eddy__onnx_fail_at(op->loader, code, detail, op->node, "%s", text);
}

void eddy__onnx_fail(eddy__onnx_op *op, eddy_detail detail, const char *format,
                     ...)
{
    va_list args;

    va_start(args, format);
    fail_v(op, EDDY_INVALID_ARGUMENT, detail, format, args);
    va_end(args);
}

void eddy__onnx_refuse(eddy__onnx_op *op, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fail_v(op, EDDY_UNIMPLEMENTED, EDDY_E_NO_KERNEL, format, args);
    va_end(args);
}

/* ---- inputs ---- */

eddy__onnx_value eddy__onnx_in_value(eddy__onnx_op *op, size_t i)
{
    if (eddy__onnx_ok(op) && !eddy__onnx_given(op, i))
        eddy__onnx_fail(op, EDDY_E_INPUT_COUNT, "input %zu is missing", i);
    if (!eddy__onnx_ok(op))
        return (eddy__onnx_value){.output = nothing};
    return op->inputs[i];
}

eddy_output eddy__onnx_in(eddy__onnx_op *op, size_t i)
{
    const eddy__onnx_value value = eddy__onnx_in_value(op, i);

    if (eddy__onnx_ok(op) && value.kind != EDDY__ONNX_TENSOR)
        eddy__onnx_fail(op, EDDY_E_INPUT_DTYPE,
                        "input %zu is a sequence or an optional value, a "
                        "tensor is wanted",
                        i);
    return eddy__onnx_ok(op) ? value.output : nothing;
}

eddy_dtype eddy__onnx_dtype(const eddy__onnx_op *op, eddy_output value)
{
    return eddy__onnx_ok(op) ? eddy_graph_output_dtype(op->w->graph, value)
                             : EDDY_INVALID;
}

eddy_shape eddy__onnx_shape(const eddy__onnx_op *op, eddy_output value)
{
    return eddy__writer_shape_of(op->w, value);
}

const eddy_tensor *eddy__onnx_known(const eddy__onnx_op *op, size_t i)
{
    const eddy__node *node;
    const eddy_attr *value;

    if (!eddy__onnx_ok(op) || !eddy__onnx_given(op, i))
        return NULL;
    node = &op->w->graph->nodes[op->inputs[i].output.node];
    while (strcmp(node->op_name, "Identity") == 0 &&
           node->inputs[0].node != EDDY_NO_NODE)
        node = &op->w->graph->nodes[node->inputs[0].node];
    if (strcmp(node->op_name, "Const") != 0)
        return NULL;
    value = eddy__node_attr(node, "value");
    return value && value->kind == EDDY_ATTR_TENSOR ? value->as.tensors[0]
                                                    : NULL;
}

bool eddy__onnx_known_ints(const eddy__onnx_op *op, size_t i,
                           eddy__onnx_ints *out_ints)
{
    const eddy_tensor *tensor = eddy__onnx_known(op, i);

    out_ints->n = 0;
    if (!tensor || tensor->count > EDDY__ONNX_MOST_INTS ||
        (tensor->dtype != EDDY_INT32 && tensor->dtype != EDDY_INT64))
        return false;
    out_ints->n = (size_t)tensor->count;
    for (size_t k = 0; k < out_ints->n; k++)
        out_ints->at[k] = tensor->dtype == EDDY_INT64
                              ? ((const int64_t *)tensor->data)[k]
                              : ((const int32_t *)tensor->data)[k];
    return true;
}

/* ---- attributes ---- */

/* ONNX's numbers of attribute types. */
enum {
    TYPE_NONE = 0,
    TYPE_FLOAT = 1,
    TYPE_INT = 2,
    TYPE_STRING = 3,
    TYPE_TENSOR = 4,
    TYPE_GRAPH = 5,
    TYPE_FLOATS = 6,
    TYPE_INTS = 7,
    TYPE_STRINGS = 8,
    TYPE_TYPE = 13,
};

static const Eddy__OnnxPb__AttributeProto *
find_named(Eddy__OnnxPb__AttributeProto *const *attrs, size_t n,
           const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(eddy__onnx_text_of(attrs[i]->name), name) == 0)
            return attrs[i];
    return NULL;
}

/*
 * What a reference to an attribute of the function stands for: the call's, else
 * the function's default, which may be none.  A call inside of a function may
 * refer further out.
 */
static const Eddy__OnnxPb__AttributeProto *
follow(const eddy__onnx_op *op, const Eddy__OnnxPb__AttributeProto *attr)
{
    const eddy__onnx_call *call = op->loader->scope->call;

    while (attr && attr->ref_attr_name && *attr->ref_attr_name && call) {
        const char *name = attr->ref_attr_name;
        const Eddy__OnnxPb__FunctionProto *f = call->function;

        attr = find_named(call->node->attribute, call->node->n_attribute, name);
        if (!attr)
            return find_named(f->attribute_proto, f->n_attribute_proto, name);
        call = call->caller;
    }
    return attr;
}

static const Eddy__OnnxPb__AttributeProto *ask(eddy__onnx_op *op,
                                               const char *name, int32_t type)
{
    const Eddy__OnnxPb__AttributeProto *attr = NULL;

    if (!eddy__onnx_ok(op))
        return NULL;
    for (size_t i = 0; i < op->node->n_attribute && !attr; i++) {
        if (strcmp(eddy__onnx_text_of(op->node->attribute[i]->name), name) != 0)
            continue;
        attr = op->node->attribute[i];
        op->asked |= UINT64_C(1) << (i % 64);
    }
    attr = follow(op, attr);
    if (!attr || type == TYPE_NONE || attr->type == type)
        return attr;
    eddy__onnx_fail(op, EDDY_E_ATTR_KIND,
                    "attribute '%s' is of type %d, %d is wanted", name,
                    (int)attr->type, (int)type);
    return NULL;
}

bool eddy__onnx_has(eddy__onnx_op *op, const char *name)
{
    return ask(op, name, TYPE_NONE) != NULL;
}

void eddy__onnx_ignore(eddy__onnx_op *op, const char *name)
{
    (void)ask(op, name, TYPE_NONE);
}

int64_t eddy__onnx_int(eddy__onnx_op *op, const char *name, int64_t otherwise)
{
    const Eddy__OnnxPb__AttributeProto *attr = ask(op, name, TYPE_INT);

    return attr ? attr->i : otherwise;
}

float eddy__onnx_float(eddy__onnx_op *op, const char *name, float otherwise)
{
    const Eddy__OnnxPb__AttributeProto *attr = ask(op, name, TYPE_FLOAT);

    return attr ? attr->f : otherwise;
}

/* A copy that ends in a NUL; NULL after a failure. */
static const char *text_of(eddy__onnx_op *op, const char *name,
                           ProtobufCBinaryData bytes)
{
    const char *text;

    if (bytes.len > 0 && memchr(bytes.data, 0, bytes.len)) {
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE,
                        "attribute '%s' has a NUL in its text", name);
        return NULL;
    }
    text = eddy__scratch_text(&op->loader->scratch, (const char *)bytes.data,
                              bytes.len);
    if (!text)
        op->w->status = eddy__scratch_fail(&op->loader->scratch, op->w->err);
    return text;
}

const char *eddy__onnx_text(eddy__onnx_op *op, const char *name,
                            const char *otherwise)
{
    const Eddy__OnnxPb__AttributeProto *attr = ask(op, name, TYPE_STRING);

    return attr ? text_of(op, name, attr->s) : otherwise;
}

size_t eddy__onnx_list_of_ints(eddy__onnx_op *op, const char *name,
                               const int64_t **out_ints)
{
    const Eddy__OnnxPb__AttributeProto *attr = ask(op, name, TYPE_INTS);

    *out_ints = attr ? attr->ints : NULL;
    return attr ? attr->n_ints : 0;
}

size_t eddy__onnx_list_of_floats(eddy__onnx_op *op, const char *name,
                                 const float **out_floats)
{
    const Eddy__OnnxPb__AttributeProto *attr = ask(op, name, TYPE_FLOATS);

    *out_floats = attr ? attr->floats : NULL;
    return attr ? attr->n_floats : 0;
}

const char *eddy__onnx_list_text(eddy__onnx_op *op, const char *name, size_t i)
{
    const Eddy__OnnxPb__AttributeProto *attr = ask(op, name, TYPE_STRINGS);

    return attr && i < attr->n_strings ? text_of(op, name, attr->strings[i])
                                       : NULL;
}

bool eddy__onnx_ints_of(eddy__onnx_op *op, const char *name,
                        eddy__onnx_ints *out_ints)
{
    const bool is_given = eddy__onnx_has(op, name);
    const int64_t *ints;
    size_t n;

    out_ints->n = 0;
    if (!is_given)
        return false;
    n = eddy__onnx_list_of_ints(op, name, &ints);
    if (n > EDDY__ONNX_MOST_INTS)
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE,
                        "attribute '%s' has %zu numbers, more than %d", name, n,
                        EDDY__ONNX_MOST_INTS);
    if (!eddy__onnx_ok(op))
        return false;
    out_ints->n = n;
    if (n > 0)
        memcpy(out_ints->at, ints, n * sizeof *ints);
    return true;
}

static void fail_missing(eddy__onnx_op *op, const char *name)
{
    eddy__onnx_fail(op, EDDY_E_ATTR_MISSING, "attribute '%s' is missing", name);
}

int32_t eddy__onnx_tensor_number(eddy__onnx_op *op, const char *name)
{
    const Eddy__OnnxPb__AttributeProto *attr = ask(op, name, TYPE_TENSOR);

    return attr && attr->t ? attr->t->data_type : 0;
}

eddy_output eddy__onnx_tensor_const(eddy__onnx_op *op, const char *name)
{
    const Eddy__OnnxPb__AttributeProto *attr = ask(op, name, TYPE_TENSOR);
    eddy_tensor *tensor = NULL;

    if (!attr || !attr->t) {
        fail_missing(op, name);
        return nothing;
    }
    if (eddy__onnx_narrow_of(attr->t->data_type) &&
        strcmp(op->row->name, "Constant") != 0) {
        eddy__onnx_refuse(op, "attribute '%s' of dtype %s", name,
                          eddy__onnx_dtype_name(attr->t->data_type));
        return nothing;
    }
    op->w->status =
        eddy__onnx_read_tensor(op->loader, "attribute", attr->t, &tensor);
    return eddy__onnx_const(op, tensor);
}

eddy_dtype eddy__onnx_dtype_of(eddy__onnx_op *op, const char *name)
{
    const Eddy__OnnxPb__AttributeProto *attr = ask(op, name, TYPE_INT);
    eddy_dtype dtype;

    if (!attr)
        return EDDY_INVALID;
    dtype = attr->i >= 0 && attr->i <= INT32_MAX
                ? eddy__onnx_dtype_from((int32_t)attr->i)
                : EDDY_INVALID;
    if (dtype == EDDY_INVALID)
        eddy__onnx_fail(op, EDDY_E_DTYPE,
                        "attribute '%s' is dtype %lld, which eddy has not",
                        name, (long long)attr->i);
    return dtype;
}

int32_t eddy__onnx_number_of(eddy__onnx_op *op, const char *name)
{
    const Eddy__OnnxPb__AttributeProto *attr = ask(op, name, TYPE_INT);

    if (attr && attr->i >= 0 && attr->i <= INT32_MAX &&
        eddy__onnx_narrow_of((int32_t)attr->i))
        return (int32_t)attr->i;
    return attr ? eddy__onnx_dtype_to(eddy__onnx_dtype_of(op, name)) : 0;
}

const Eddy__OnnxPb__GraphProto *eddy__onnx_graph(eddy__onnx_op *op,
                                                 const char *name)
{
    const Eddy__OnnxPb__AttributeProto *attr = ask(op, name, TYPE_GRAPH);

    if (attr && attr->g)
        return attr->g;
    fail_missing(op, name);
    return NULL;
}

const Eddy__OnnxPb__TypeProto *eddy__onnx_type_of(eddy__onnx_op *op,
                                                  const char *name)
{
    const Eddy__OnnxPb__AttributeProto *attr = ask(op, name, TYPE_TYPE);

    return attr ? attr->tp : NULL;
}

/* ---- outputs ---- */

bool eddy__onnx_wants(const eddy__onnx_op *op, size_t i)
{
    return i < op->n_outputs && *op->node->output[i];
}

void eddy__onnx_give_value(eddy__onnx_op *op, size_t i, eddy_output value,
                           eddy__onnx_kind kind, eddy_dtype dtype)
{
    if (eddy__onnx_ok(op) && i < op->n_outputs)
        op->outputs[i] = (eddy__onnx_value){
            .output = value, .kind = (uint8_t)kind, .dtype = (uint8_t)dtype};
}

void eddy__onnx_give_codes(eddy__onnx_op *op, size_t i, eddy_output value,
                           int32_t number)
{
    eddy__onnx_give(op, i, value);
    if (eddy__onnx_ok(op) && i < op->n_outputs)
        op->outputs[i].narrow = eddy__onnx_narrow_of(number);
}

void eddy__onnx_give(eddy__onnx_op *op, size_t i, eddy_output value)
{
    eddy__onnx_give_value(op, i, value, EDDY__ONNX_TENSOR,
                          eddy__onnx_dtype(op, value));
}

/* ---- emitting ---- */

/* A free name for the next node; NULL after a failure. */
static const char *next_name(eddy__onnx_op *op, const char *type)
{
    const char *name = op->name;

    while (*type == '_')
        type++;
    if (op->is_named) {
        const size_t size = strlen(op->name) + strlen(type) + 2;
        char *below = eddy__scratch_allocate(&op->loader->scratch, size, 1);

        if (below)
            (void)snprintf(below, size, "%s/%s", op->name, type);
        name = below;
    }
    op->is_named = true;
    if (name)
        name = eddy__onnx_free_name(op->loader, name);
    if (!name)
        op->w->status = eddy__scratch_fail(&op->loader->scratch, op->w->err);
    return name;
}

eddy_output eddy__onnx_emit(eddy__onnx_op *op, const char *type,
                            const eddy_output *inputs, size_t n_inputs,
                            const eddy_attr *attrs, size_t n_attrs)
{
    eddy_node_spec spec = {
        .size = sizeof spec,
        .op = type,
        .inputs = inputs,
        .n_inputs = n_inputs,
        .attrs = attrs,
        .n_attrs = n_attrs,
    };
    eddy_output out = nothing;

    if (!eddy__onnx_ok(op))
        return nothing;
    spec.name = next_name(op, type);
    if (spec.name)
        op->w->status =
            eddy_graph_add(op->w->graph, &spec, &out.node, op->w->err);
    return eddy__onnx_ok(op) ? out : nothing;
}

eddy_output eddy__onnx_emit1(eddy__onnx_op *op, const char *type, eddy_output x)
{
    return eddy__onnx_emit(op, type, &x, 1, NULL, 0);
}

eddy_output eddy__onnx_emit2(eddy__onnx_op *op, const char *type, eddy_output x,
                             eddy_output y)
{
    const eddy_output inputs[] = {x, y};

    return eddy__onnx_emit(op, type, inputs, N_OF(inputs), NULL, 0);
}

eddy_output eddy__onnx_emit3(eddy__onnx_op *op, const char *type, eddy_output x,
                             eddy_output y, eddy_output z)
{
    const eddy_output inputs[] = {x, y, z};

    return eddy__onnx_emit(op, type, inputs, N_OF(inputs), NULL, 0);
}

eddy_output eddy__onnx_cast(eddy__onnx_op *op, eddy_output x, eddy_dtype dtype)
{
    const eddy_attr attr = eddy_attr_type("DstT", &dtype);

    if (eddy__onnx_dtype(op, x) == dtype)
        return x;
    return eddy__onnx_emit(op, "Cast", &x, 1, &attr, 1);
}

const char *eddy__onnx_scope_name(eddy__onnx_op *op)
{
    const char *name = NULL;

    op->is_named = true;
    if (eddy__onnx_ok(op))
        name = eddy__onnx_free_name(op->loader, op->name);
    if (eddy__onnx_ok(op) && !name)
        op->w->status = eddy__scratch_fail(&op->loader->scratch, op->w->err);
    return name;
}

/* ---- constants ---- */

eddy_output eddy__onnx_const(eddy__onnx_op *op, eddy_tensor *tensor)
{
    const eddy_dtype dtype =
        eddy__onnx_ok(op) ? eddy_tensor_dtype(tensor) : EDDY_INVALID;
    const eddy_attr attrs[] = {
        eddy_attr_tensor("value", &tensor),
        eddy_attr_type("dtype", &dtype),
    };
    const eddy_output out =
        eddy__onnx_emit(op, "Const", NULL, 0, attrs, N_OF(attrs));

    eddy_tensor_release(tensor);
    return out;
}

static eddy_tensor *make_tensor(eddy__onnx_op *op, eddy_dtype dtype,
                                const eddy_shape *shape)
{
    eddy_tensor *tensor = NULL;

    if (eddy__onnx_ok(op))
        op->w->status = eddy_tensor_create(op->w->graph->ctx, dtype, shape,
                                           &tensor, op->w->err);
    return tensor;
}

/* Writes a number as an element of any numeric dtype. */
static bool put_number(void *to, eddy_dtype dtype, double value)
{
    switch (dtype) {
    case EDDY_FLOAT16:
        *(uint16_t *)to = eddy_float16_from_float((float)value);
        return true;
    case EDDY_BFLOAT16:
        *(uint16_t *)to = eddy_bfloat16_from_float((float)value);
        return true;
    case EDDY_FLOAT32:
        *(float *)to = (float)value;
        return true;
    case EDDY_FLOAT64:
        *(double *)to = value;
        return true;
    case EDDY_BOOL:
        *(bool *)to = value != 0;
        return true;
    case EDDY_INT64:
    case EDDY_UINT64:
        *(int64_t *)to = (int64_t)value;
        return true;
    case EDDY_INT32:
    case EDDY_UINT32:
        *(uint32_t *)to = (uint32_t)(int64_t)value;
        return true;
    case EDDY_INT16:
    case EDDY_UINT16:
        *(uint16_t *)to = (uint16_t)(int64_t)value;
        return true;
    case EDDY_INT8:
    case EDDY_UINT8:
        *(uint8_t *)to = (uint8_t)(int64_t)value;
        return true;
    case EDDY_COMPLEX64:
        ((float *)to)[0] = (float)value;
        ((float *)to)[1] = 0;
        return true;
    default:
        return false;
    }
}

eddy_output eddy__onnx_number(eddy__onnx_op *op, eddy_dtype dtype, double value)
{
    const eddy_shape shape = eddy__shape_scalar();
    eddy_tensor *tensor = make_tensor(op, dtype, &shape);

    if (eddy__onnx_ok(op) &&
        !put_number(eddy_tensor_mutable_data(tensor), dtype, value))
        eddy__onnx_fail(op, EDDY_E_DTYPE, "there is no number of dtype %s",
                        eddy_dtype_name(dtype));
    return eddy__onnx_const(op, tensor);
}

static eddy_output write_ints(eddy__onnx_op *op, eddy_dtype dtype,
                              const eddy_shape *shape, const int64_t *values,
                              size_t n)
{
    eddy_tensor *tensor = make_tensor(op, dtype, shape);

    for (size_t i = 0; i < n && eddy__onnx_ok(op); i++) {
        void *data = eddy_tensor_mutable_data(tensor);

        if (dtype == EDDY_INT64)
            ((int64_t *)data)[i] = values[i];
        else if (values[i] >= INT32_MIN && values[i] <= INT32_MAX)
            ((int32_t *)data)[i] = (int32_t)values[i];
        else
            eddy__onnx_fail(op, EDDY_E_VALUE, "%lld does not fit in an int32",
                            (long long)values[i]);
    }
    return eddy__onnx_const(op, tensor);
}

eddy_output eddy__onnx_int32s(eddy__onnx_op *op, const int64_t *values,
                              size_t n)
{
    const eddy_shape shape = eddy__shape_vector((int64_t)n);

    return write_ints(op, EDDY_INT32, &shape, values, n);
}

eddy_output eddy__onnx_int64s(eddy__onnx_op *op, const int64_t *values,
                              size_t n)
{
    const eddy_shape shape = eddy__shape_vector((int64_t)n);

    return write_ints(op, EDDY_INT64, &shape, values, n);
}

eddy_output eddy__onnx_index(eddy__onnx_op *op, eddy_dtype dtype, int64_t value)
{
    const eddy_shape shape = eddy__shape_scalar();

    return write_ints(op, dtype, &shape, &value, 1);
}

eddy_output eddy__onnx_rank(eddy__onnx_op *op, eddy_output x)
{
    const eddy_shape shape = eddy__onnx_shape(op, x);

    return shape.rank >= 0 ? eddy__onnx_index(op, EDDY_INT32, shape.rank)
                           : eddy__onnx_emit1(op, "Rank", x);
}
