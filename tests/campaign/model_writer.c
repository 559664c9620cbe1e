/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of a model, numbered as ONNX numbers their fields. */
#include "tests/campaign/model_writer.h"

#include <string.h>

enum {
    MODEL_IR = 1,
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8,
    MODEL_FUNCTION = 25,
    OPSET_DOMAIN = 1,
    OPSET_VERSION = 2,
    GRAPH_NODE = 1,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    NODE_INPUT = 1,
    NODE_OUTPUT = 2,
    NODE_OP = 4,
    NODE_ATTRIBUTE = 5,
    NODE_DOMAIN = 7,
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_I = 3,
    ATTRIBUTE_S = 4,
    ATTRIBUTE_G = 6,
    ATTRIBUTE_INTS = 8,
    ATTRIBUTE_STRINGS = 9,
    ATTRIBUTE_TYPE = 20,
    TENSOR_DIMS = 1,
    TENSOR_DTYPE = 2,
    TENSOR_NAME = 8,
    TENSOR_RAW = 9,
    VALUE_NAME = 1,
    VALUE_TYPE = 2,
    TYPE_TENSOR = 1,
    TYPE_DTYPE = 1,
    TYPE_SHAPE = 2,
    SHAPE_DIM = 1,
    DIM_VALUE = 1,
    FUNCTION_NAME = 1,
    FUNCTION_INPUT = 4,
    FUNCTION_OUTPUT = 5,
    FUNCTION_NODE = 7,
    FUNCTION_OPSET = 9,
    FUNCTION_DOMAIN = 10,
};

/* AttributeProto.type */
enum { IS_INT = 2, IS_STRING = 3, IS_GRAPH = 5, IS_INTS = 7, IS_STRINGS = 8 };

#define OPSET 22
#define IR 10
#define OWN_DOMAIN "own"

static void put_opset(message_writer *w, unsigned field, const char *domain,
                      uint64_t version)
{
    message_begin(w, field);
    message_text(w, OPSET_DOMAIN, domain);
    message_number(w, OPSET_VERSION, version);
    message_end(w);
}

void model_begin_ir(message_writer *w, int64_t ir_version)
{
    message_number(w, MODEL_IR, (uint64_t)ir_version);
    put_opset(w, MODEL_OPSET, "", OPSET);
    put_opset(w, MODEL_OPSET, OWN_DOMAIN, 1);
    message_begin(w, MODEL_GRAPH);
}

void model_begin(message_writer *w)
{
    model_begin_ir(w, IR);
}

void model_end_graph(message_writer *w)
{
    message_end(w);
}

/* ---- nodes ---- */

void model_node(message_writer *w, const char *op, const char *input,
                const char *output)
{
    message_begin(w, GRAPH_NODE);
    message_text(w, NODE_OP, op);
    if (*input)
        model_input(w, input);
    if (*output)
        model_output(w, output);
}

void model_input(message_writer *w, const char *name)
{
    message_text(w, NODE_INPUT, name);
}

void model_output(message_writer *w, const char *name)
{
    message_text(w, NODE_OUTPUT, name);
}

void model_domain(message_writer *w, const char *domain)
{
    message_text(w, NODE_DOMAIN, domain);
}

void model_node_end(message_writer *w)
{
    message_end(w);
}

void model_unary(message_writer *w, const char *op, const char *input,
                 const char *output)
{
    model_node(w, op, input, output);
    model_node_end(w);
}

void model_binary(message_writer *w, const char *op, const char *a,
                  const char *b, const char *output)
{
    model_node(w, op, a, output);
    model_input(w, b);
    model_node_end(w);
}

/* ---- attributes ---- */

static void attribute(message_writer *w, const char *name, unsigned type)
{
    message_begin(w, NODE_ATTRIBUTE);
    message_text(w, ATTRIBUTE_NAME, name);
    message_number(w, ATTRIBUTE_TYPE, type);
}

void model_int(message_writer *w, const char *name, int64_t value)
{
    attribute(w, name, IS_INT);
    message_number(w, ATTRIBUTE_I, (uint64_t)value);
    message_end(w);
}

void model_ints(message_writer *w, const char *name, int64_t value, size_t n)
{
    attribute(w, name, IS_INTS);
    for (size_t i = 0; i < n; i++)
        message_number(w, ATTRIBUTE_INTS, (uint64_t)value);
    message_end(w);
}

void model_string(message_writer *w, const char *name, const char *value)
{
    attribute(w, name, IS_STRING);
    message_text(w, ATTRIBUTE_S, value);
    message_end(w);
}

void model_strings(message_writer *w, const char *name, const char *prefix,
                   size_t n)
{
    attribute(w, name, IS_STRINGS);
    for (size_t i = 0; i < n; i++)
        message_text(w, ATTRIBUTE_STRINGS, textf("%s%zu", prefix, i).s);
    message_end(w);
}

void model_body(message_writer *w, const char *name)
{
    attribute(w, name, IS_GRAPH);
    message_begin(w, ATTRIBUTE_G);
}

void model_body_end(message_writer *w)
{
    message_end(w);
    message_end(w);
}

/* ---- values ---- */

static void value(message_writer *w, unsigned field, const char *name,
                  int dtype, int32_t rank)
{
    message_begin(w, field);
    message_text(w, VALUE_NAME, name);
    message_begin(w, VALUE_TYPE);
    message_begin(w, TYPE_TENSOR);
    message_number(w, TYPE_DTYPE, (uint64_t)dtype);
    if (rank >= 0) {
        message_begin(w, TYPE_SHAPE);
        for (int32_t i = 0; i < rank; i++) {
            message_begin(w, SHAPE_DIM);
            message_number(w, DIM_VALUE, 2);
            message_end(w);
        }
        message_end(w);
    }
    message_end(w);
    message_end(w);
    message_end(w);
}

void model_graph_input(message_writer *w, const char *name, int dtype,
                       int32_t rank)
{
    value(w, GRAPH_INPUT, name, dtype, rank);
}

void model_graph_output(message_writer *w, const char *name, int dtype)
{
    value(w, GRAPH_OUTPUT, name, dtype, -1);
}

static void tensor(message_writer *w, const char *name, int dtype)
{
    message_begin(w, GRAPH_INITIALIZER);
    message_number(w, TENSOR_DTYPE, (uint64_t)dtype);
    message_text(w, TENSOR_NAME, name);
}

void model_zeros(message_writer *w, const char *name, int dtype, size_t n)
{
    static const char zeros[4096];
    size_t left = n * (dtype == MODEL_INT64 ? 8 : 4);

    tensor(w, name, dtype);
    message_number(w, TENSOR_DIMS, n);
    message_varint(w, TENSOR_RAW << 3 | 2);
    message_varint(w, left);
    for (; left > sizeof zeros; left -= sizeof zeros)
        message_raw(w, zeros, sizeof zeros);
    message_raw(w, zeros, left);
    message_end(w);
}

void model_int64(message_writer *w, const char *name, int64_t number)
{
    tensor(w, name, MODEL_INT64);
    message_number(w, TENSOR_DIMS, 1);
    message_bytes(w, TENSOR_RAW, &number, sizeof number);
    message_end(w);
}

void model_bool(message_writer *w, const char *name, bool truth)
{
    const unsigned char byte = truth;

    tensor(w, name, MODEL_BOOL);
    message_bytes(w, TENSOR_RAW, &byte, 1);
    message_end(w);
}

void model_empty(message_writer *w, const char *name, uint64_t dim, size_t rank)
{
    tensor(w, name, MODEL_FLOAT);
    for (size_t i = 0; i < rank; i++)
        message_number(w, TENSOR_DIMS, dim);
    message_end(w);
}

/* ---- functions ---- */

void model_function(message_writer *w, const char *name)
{
    message_begin(w, MODEL_FUNCTION);
    message_text(w, FUNCTION_NAME, name);
    message_text(w, FUNCTION_DOMAIN, OWN_DOMAIN);
    put_opset(w, FUNCTION_OPSET, "", OPSET);
}

void model_function_value(message_writer *w, bool is_output, const char *name)
{
    message_text(w, is_output ? FUNCTION_OUTPUT : FUNCTION_INPUT, name);
}

void model_function_node(message_writer *w, const char *op, const char *domain,
                         const char *input, const char *output)
{
    message_begin(w, FUNCTION_NODE);
    message_text(w, NODE_OP, op);
    message_text(w, NODE_INPUT, input);
    message_text(w, NODE_OUTPUT, output);
    message_text(w, NODE_DOMAIN, domain);
    message_end(w);
}

void model_function_end(message_writer *w)
{
    message_end(w);
}
