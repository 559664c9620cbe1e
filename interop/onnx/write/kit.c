/* SPDX-License-Identifier: Apache-2.0 */
/* Names, constants, nodes and notes of the ONNX writer. */
#include "core/base/status.h"
#include "core/value/dtype.h"
#include "core/value/shape.h"
#include "core/value/tensor.h"
#include "interop/graphdef/writer.h"
#include "interop/onnx/loader.h"
#include "interop/onnx/write/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void *eddy__onnx_take(eddy__onnx_writer *w, size_t n, size_t size)
{
    void *memory = NULL;

    if (!eddy__onnx_well(w))
        return NULL;
    memory = eddy__scratch_allocate(&w->scratch, n, size);
    if (!memory)
        w->status = eddy__scratch_fail(&w->scratch, w->err);
    else
        memset(memory, 0, n * size);
    return memory;
}

bool eddy__onnx_more(eddy__onnx_writer *w, void **array, size_t *capacity,
                     size_t n, size_t size)
{
    const size_t wanted = *capacity > 0 ? *capacity * 2 : 16;
    void *grown;

    if (n < *capacity)
        return eddy__onnx_well(w);
    grown = eddy__onnx_take(w, wanted, size);
    if (!grown)
        return false;
    if (n > 0)
        memcpy(grown, *array, n * size);
    *array = grown;
    *capacity = wanted;
    return true;
}

const char *eddy__onnx_print(eddy__onnx_writer *w, const char *format, ...)
{
    va_list args, again;
    char *text;
    int n;

    va_start(args, format);
    va_copy(again, args);
    n = vsnprintf(NULL, 0, format, args);
    text = n < 0 ? NULL : eddy__onnx_take(w, (size_t)n + 1, 1);
    if (text)
        (void)vsnprintf(text, (size_t)n + 1, format, again);
    va_end(again);
    va_end(args);
    return text ? text : "";
}

const char *eddy__onnx_fresh(eddy__onnx_writer *w, const char *base)
{
    uint32_t number = eddy__map_find(&w->names, base, strlen(base));
    const char *name = base;

    if (!eddy__onnx_well(w))
        return "";
    if (number == EDDY__NOT_FOUND) {
        number = 0;
        name = eddy__onnx_print(w, "%s", base);
    }
    while (number > 0) {
        name = eddy__onnx_print(w, "%s_%" PRIu32, base, number);
        number++;
        if (eddy__map_find(&w->names, name, strlen(name)) == EDDY__NOT_FOUND)
            break;
    }
    /* The base is a key already unless it is the name itself. */
    if (!eddy__map_set(&w->names, name, 1) ||
        (number > 0 && !eddy__map_set(&w->names, base, number)))
        w->status = eddy__fail_memory(w->err);
    return name;
}

/* ---- what is refused ---- */

static void note(eddy__onnx_writer *w, const char *text)
{
    for (size_t i = 0; i < w->n_refusals; i++)
        if (strcmp(w->refusals[i].text, text) == 0) {
            w->refusals[i].count++;
            return;
        }
    if (eddy__onnx_more(w, (void **)&w->refusals, &w->refusals_capacity,
                        w->n_refusals, sizeof *w->refusals))
        w->refusals[w->n_refusals++] = (eddy__onnx_refusal){text, 1};
}

static void decline(eddy__onnx_writer *w, eddy_node node, const char *format,
                    va_list args)
{
    char why[192];

    (void)vsnprintf(why, sizeof why, format, args);
    note(w, eddy__onnx_print(w, "%s (%s)", w->graph->nodes[node].op_name, why));
}

void eddy__onnx_decline(eddy__onnx_writer *w, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    decline(w, w->node, format, args);
    va_end(args);
}

void eddy__onnx_decline_node(eddy__onnx_writer *w, eddy_node node,
                             const char *format, ...)
{
    va_list args;

    va_start(args, format);
    decline(w, node, format, args);
    va_end(args);
}

/* ---- nodes ---- */

static void fill_attr(eddy__onnx_writer *w, const eddy__onnx_attr *from,
                      Eddy__OnnxPb__AttributeProto *to)
{
    eddy__onnx_pb__attribute_proto__init(to);
    to->name = eddy__graphdef_borrow_text(from->name);
    to->has_type = true;
    to->type = from->type;
    switch (from->type) {
    case EDDY__ONNX_ATTR_FLOAT:
        to->has_f = true;
        to->f = from->f;
        break;
    case EDDY__ONNX_ATTR_INT:
        to->has_i = true;
        to->i = from->i;
        break;
    case EDDY__ONNX_ATTR_STRING:
        to->has_s = true;
        to->s = (ProtobufCBinaryData){strlen(from->s),
                                      eddy__graphdef_borrow_bytes(from->s)};
        break;
    case EDDY__ONNX_ATTR_GRAPH:
        to->g = from->g;
        break;
    default:
        to->ints = eddy__onnx_take(w, from->n, sizeof *to->ints);
        if (!to->ints)
            return;
        to->n_ints = from->n;
        memcpy(to->ints, from->ints, from->n * sizeof *to->ints);
    }
}

static void fill_attrs(eddy__onnx_writer *w, const eddy__onnx_node_spec *call,
                       Eddy__OnnxPb__NodeProto *to)
{
    Eddy__OnnxPb__AttributeProto *attrs =
        eddy__onnx_take(w, call->n_attrs, sizeof *attrs);

    to->attribute = eddy__onnx_take(w, call->n_attrs, sizeof(void *));
    if (!attrs || !to->attribute)
        return;
    for (size_t i = 0; i < call->n_attrs; i++) {
        if (!call->attrs[i].name)
            continue;
        fill_attr(w, &call->attrs[i], &attrs[i]);
        to->attribute[to->n_attribute++] = &attrs[i];
    }
}

/* "node" for the first value of a node, "node/Type" for what it needs more. */
static const char *base_of(eddy__onnx_writer *w,
                           const eddy__onnx_node_spec *call)
{
    return call->base ? call->base : w->graph->nodes[w->node].name;
}

void eddy__onnx_put(eddy__onnx_writer *w, const eddy__onnx_node_spec *call)
{
    Eddy__OnnxPb__NodeProto *to = eddy__onnx_take(w, 1, sizeof *to);
    eddy__onnx_net *net = w->place->net;
    size_t n = call->n_inputs;

    for (size_t i = 0; i < call->n_outputs; i++)
        call->outputs[i] = "";
    if (!to || !eddy__onnx_more(w, (void **)&net->items, &net->capacity,
                                net->n_items, sizeof(void *)))
        return;
    while (n > 0 && call->inputs[n - 1][0] == '\0')
        n--;
    eddy__onnx_pb__node_proto__init(to);
    to->op_type = eddy__graphdef_borrow_text(call->type);
    to->input = eddy__onnx_take(w, n, sizeof *to->input);
    to->output = eddy__onnx_take(w, call->n_outputs, sizeof *to->output);
    fill_attrs(w, call, to);
    if (!eddy__onnx_well(w))
        return;
    for (size_t i = 0; i < n; i++)
        to->input[i] = eddy__graphdef_borrow_text(call->inputs[i]);
    for (size_t i = 0; i < call->n_outputs; i++) {
        call->outputs[i] = eddy__onnx_fresh(w, base_of(w, call));
        to->output[i] = eddy__graphdef_borrow_text(call->outputs[i]);
    }
    to->n_input = n;
    to->n_output = call->n_outputs;
    to->name = call->n_outputs > 0 ? to->output[0] : NULL;
    net->items[net->n_items++] = to;
}

const char *eddy__onnx_node(eddy__onnx_writer *w, const char *type,
                            const char *const *inputs, size_t n_inputs,
                            const eddy__onnx_attr *attrs, size_t n_attrs)
{
    const char *output = "";
    const eddy__onnx_node_spec call = {.type = type,
                                       .inputs = inputs,
                                       .n_inputs = n_inputs,
                                       .attrs = attrs,
                                       .n_attrs = n_attrs,
                                       .outputs = &output,
                                       .n_outputs = 1};

    eddy__onnx_put(w, &call);
    return output;
}

/* ---- messages ---- */

static void fill_texts(eddy__onnx_writer *w, const eddy_tensor *tensor,
                       Eddy__OnnxPb__TensorProto *to)
{
    const size_t n = (size_t)tensor->count;

    to->string_data = eddy__onnx_take(w, n, sizeof *to->string_data);
    if (!to->string_data)
        return;
    to->n_string_data = n;
    for (size_t i = 0; i < n; i++) {
        const eddy_string text = eddy_tensor_string(tensor, (int64_t)i);

        to->string_data[i].len = text.length;
        to->string_data[i].data = eddy__graphdef_borrow_bytes(text.data);
    }
}

Eddy__OnnxPb__TensorProto *eddy__onnx_tensor_message(eddy__onnx_writer *w,
                                                     const char *name,
                                                     const eddy_tensor *tensor)
{
    const size_t rank = (size_t)tensor->shape.rank;
    Eddy__OnnxPb__TensorProto *to = eddy__onnx_take(w, 1, sizeof *to);
    int64_t *dims = eddy__onnx_take(w, rank, sizeof *dims);

    if (!to || !dims)
        return NULL;
    eddy__onnx_pb__tensor_proto__init(to);
    to->name = eddy__graphdef_borrow_text(name);
    to->has_data_type = true;
    to->data_type = eddy__onnx_dtype_to((eddy_dtype)tensor->dtype);
    memcpy(dims, tensor->shape.dims, rank * sizeof *dims);
    to->dims = dims;
    to->n_dims = rank;
    if (tensor->dtype == EDDY_STRING) {
        fill_texts(w, tensor, to);
        return to;
    }
    to->has_raw_data = true;
    to->raw_data = (ProtobufCBinaryData){tensor->bytes, tensor->data};
    return to;
}

static Eddy__OnnxPb__TensorShapeProto *shape_message(eddy__onnx_writer *w,
                                                     const eddy_shape *shape)
{
    const size_t rank = (size_t)shape->rank;
    Eddy__OnnxPb__TensorShapeProto *to = eddy__onnx_take(w, 1, sizeof *to);
    Eddy__OnnxPb__TensorShapeProto__Dimension *dims =
        eddy__onnx_take(w, rank, sizeof *dims);

    if (!to || !dims)
        return NULL;
    eddy__onnx_pb__tensor_shape_proto__init(to);
    to->dim = eddy__onnx_take(w, rank, sizeof(void *));
    if (!to->dim)
        return NULL;
    to->n_dim = rank;
    for (size_t i = 0; i < rank; i++) {
        eddy__onnx_pb__tensor_shape_proto__dimension__init(&dims[i]);
        if (shape->dims[i] >= 0) {
            dims[i].value_case =
                EDDY__ONNX_PB__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
            dims[i].dim_value = shape->dims[i];
        }
        to->dim[i] = &dims[i];
    }
    return to;
}

static Eddy__OnnxPb__TypeProto *
tensor_type(eddy__onnx_writer *w, eddy_dtype dtype, const eddy_shape *shape)
{
    Eddy__OnnxPb__TypeProto *type = eddy__onnx_take(w, 1, sizeof *type);
    Eddy__OnnxPb__TypeProto__Tensor *tensor =
        eddy__onnx_take(w, 1, sizeof *tensor);

    if (!type || !tensor)
        return NULL;
    eddy__onnx_pb__type_proto__init(type);
    eddy__onnx_pb__type_proto__tensor__init(tensor);
    tensor->has_elem_type = true;
    tensor->elem_type = eddy__onnx_dtype_to(dtype);
    if (shape && shape->rank >= 0)
        tensor->shape = shape_message(w, shape);
    type->value_case = EDDY__ONNX_PB__TYPE_PROTO__VALUE_TENSOR_TYPE;
    type->tensor_type = tensor;
    return type;
}

Eddy__OnnxPb__ValueInfoProto *eddy__onnx_info_message(eddy__onnx_writer *w,
                                                      const char *name,
                                                      bool is_sequence,
                                                      eddy_dtype dtype,
                                                      const eddy_shape *shape)
{
    Eddy__OnnxPb__ValueInfoProto *to = eddy__onnx_take(w, 1, sizeof *to);
    Eddy__OnnxPb__TypeProto *type = tensor_type(w, dtype, shape);
    Eddy__OnnxPb__TypeProto *outer = eddy__onnx_take(w, 1, sizeof *outer);
    Eddy__OnnxPb__TypeProto__Sequence *sequence =
        eddy__onnx_take(w, 1, sizeof *sequence);

    if (!to || !type || !outer || !sequence)
        return NULL;
    eddy__onnx_pb__value_info_proto__init(to);
    to->name = eddy__graphdef_borrow_text(name);
    to->type = type;
    if (!is_sequence)
        return to;
    eddy__onnx_pb__type_proto__init(outer);
    eddy__onnx_pb__type_proto__sequence__init(sequence);
    sequence->elem_type = type;
    outer->value_case = EDDY__ONNX_PB__TYPE_PROTO__VALUE_SEQUENCE_TYPE;
    outer->sequence_type = sequence;
    to->type = outer;
    return to;
}

/* ---- constants ---- */

const eddy__onnx_written *eddy__onnx_initializer(eddy__onnx_writer *w,
                                                 const char *base,
                                                 const eddy_tensor *tensor)
{
    const char *name = eddy__onnx_fresh(w, base);
    eddy__onnx_written *value = eddy__onnx_take(w, 1, sizeof *value);

    if (!value || !eddy__onnx_more(w, (void **)&w->initializers,
                                   &w->initializers_capacity, w->n_initializers,
                                   sizeof(void *)))
        return NULL;
    w->initializers[w->n_initializers] =
        eddy__onnx_tensor_message(w, name, tensor);
    if (!w->initializers[w->n_initializers])
        return NULL;
    w->n_initializers++;
    *value =
        (eddy__onnx_written){.name = name, .dtype = (uint8_t)tensor->dtype};
    return value;
}

/* The constant with that key, made of `bytes` at the first question. */
static const char *share(eddy__onnx_writer *w, const char *key,
                         const char *base, eddy_dtype dtype,
                         const eddy_shape *shape, const void *bytes)
{
    const uint32_t found = eddy__map_find(&w->shared, key, strlen(key));
    eddy_tensor *tensor = eddy__onnx_take(w, 1, sizeof *tensor);
    const size_t n = shape->rank == 0 ? 1 : (size_t)shape->dims[0];
    void *copy = eddy__onnx_take(w, n, eddy_dtype_size(dtype));
    const eddy__onnx_written *value;

    if (!tensor || !copy)
        return "";
    if (found != EDDY__NOT_FOUND)
        return w->constants[found]->name;
    memcpy(copy, bytes, n * eddy_dtype_size(dtype));
    tensor->dtype = (uint8_t)dtype;
    tensor->shape = *shape;
    tensor->count = (int64_t)n;
    tensor->bytes = n * eddy_dtype_size(dtype);
    tensor->data = copy;
    value = eddy__onnx_initializer(w, base, tensor);
    if (!value ||
        !eddy__onnx_more(w, (void **)&w->constants, &w->constants_capacity,
                         w->n_constants, sizeof(void *)))
        return "";
    w->constants[w->n_constants] = value;
    if (!eddy__map_set(&w->shared, key, (uint32_t)w->n_constants++))
        w->status = eddy__fail_memory(w->err);
    return value->name;
}

const char *eddy__onnx_const_ints(eddy__onnx_writer *w, const int64_t *values,
                                  size_t n)
{
    const eddy_shape shape = {1, {(int64_t)n}};
    const char *key = "ints";

    for (size_t i = 0; i < n; i++)
        key = eddy__onnx_print(w, "%s,%" PRId64, key, values[i]);
    return share(w, key, "const/ints", EDDY_INT64, &shape, values);
}

const char *eddy__onnx_const_int(eddy__onnx_writer *w, int64_t value)
{
    const eddy_shape shape = {.rank = 0};

    return share(w, eddy__onnx_print(w, "int,%" PRId64, value), "const/int",
                 EDDY_INT64, &shape, &value);
}

/* `value` as one element. */
static void convert(eddy_dtype dtype, double value, void *to)
{
    union {
        float f;
        double d;
        uint16_t half;
        uint64_t bits;
    } as = {.bits = 0};

    switch (dtype) {
    case EDDY_FLOAT32:
        as.f = (float)value;
        break;
    case EDDY_FLOAT64:
        as.d = value;
        break;
    case EDDY_FLOAT16:
        as.half = eddy_float16_from_float((float)value);
        break;
    case EDDY_BFLOAT16:
        as.half = eddy_bfloat16_from_float((float)value);
        break;
    default:
        /* Two's complement, of which the low bytes are taken. */
        as.bits = (uint64_t)(int64_t)value;
    }
    memcpy(to, &as, eddy_dtype_size(dtype));
}

const char *eddy__onnx_const_like(eddy__onnx_writer *w, eddy_dtype dtype,
                                  double value)
{
    const eddy_shape shape = {.rank = 0};
    uint64_t bits = 0;

    if (eddy_dtype_size(dtype) == 0 || eddy_dtype_size(dtype) > sizeof bits)
        return "";
    convert(dtype, value, &bits);
    return share(w,
                 eddy__onnx_print(w, "%s,%.17g", eddy_dtype_name(dtype), value),
                 eddy__onnx_print(w, "const/%s", eddy_dtype_name(dtype)), dtype,
                 &shape, &bits);
}
