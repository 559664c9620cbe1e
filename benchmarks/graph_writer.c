/* SPDX-License-Identifier: Apache-2.0 */
/* GraphDefs, message by message. */
#include "benchmarks/graph_writer.h"

/* Fields of the messages, as TensorFlow numbers them. */
enum {
    GRAPH_NODE = 1,
    GRAPH_LIBRARY = 2,
    LIBRARY_FUNCTION = 1,
    FUNCTION_SIGNATURE = 1,
    FUNCTION_NODE = 3,
    FUNCTION_RESULT = 4,
    SIGNATURE_NAME = 1,
    SIGNATURE_INPUT = 2,
    SIGNATURE_OUTPUT = 3,
    ARGUMENT_NAME = 1,
    ARGUMENT_TYPE = 3,
    NODE_NAME = 1,
    NODE_OP = 2,
    NODE_INPUT = 3,
    NODE_ATTR = 5,
    ENTRY_KEY = 1,
    ENTRY_VALUE = 2,
    ATTR_LIST = 1,
    ATTR_STRING = 2,
    ATTR_INT = 3,
    ATTR_BOOL = 5,
    ATTR_TYPE = 6,
    ATTR_SHAPE = 7,
    ATTR_TENSOR = 8,
    ATTR_FUNCTION = 10,
    LIST_TYPE = 6,
    LIST_FUNCTION = 9,
    FUNCTION_NAME = 1,
    TENSOR_DTYPE = 1,
    TENSOR_SHAPE = 2,
    TENSOR_CONTENT = 4,
};

/* As TensorFlow numbers them. */
static uint64_t number_of(eddy_dtype dtype)
{
    switch (dtype) {
    case EDDY_INT32:
        return 3;
    case EDDY_BOOL:
        return 10;
    default:
        return 1; /* float32 */
    }
}

void graph_writer_deinit(graph_writer *w)
{
    message_writer_deinit(&w->out);
    w->n_nodes = 0;
}

/* ---- nodes ---- */

/* Depth 1 is the library, which the first node of the graph ends. */
void node_begin(graph_writer *w, const char *op, const char *name)
{
    if (w->out.depth == 1)
        message_end(&w->out);
    message_begin(&w->out, w->out.depth == 0 ? GRAPH_NODE : FUNCTION_NODE);
    message_text(&w->out, NODE_NAME, name);
    message_text(&w->out, NODE_OP, op);
    w->n_nodes++;
}

void node_input(graph_writer *w, const char *input)
{
    message_text(&w->out, NODE_INPUT, input);
}

void node_end(graph_writer *w)
{
    message_end(&w->out);
}

static void attr_begin(graph_writer *w, const char *attr)
{
    message_begin(&w->out, NODE_ATTR);
    message_text(&w->out, ENTRY_KEY, attr);
    message_begin(&w->out, ENTRY_VALUE);
}

static void attr_end(graph_writer *w)
{
    message_end(&w->out);
    message_end(&w->out);
}

static void put_attr(graph_writer *w, const char *attr, unsigned field,
                     uint64_t value)
{
    attr_begin(w, attr);
    message_number(&w->out, field, value);
    attr_end(w);
}

void node_dtype(graph_writer *w, const char *attr, eddy_dtype dtype)
{
    put_attr(w, attr, ATTR_TYPE, number_of(dtype));
}

void node_int(graph_writer *w, const char *attr, int64_t value)
{
    put_attr(w, attr, ATTR_INT, (uint64_t)value);
}

void node_bool(graph_writer *w, const char *attr, bool value)
{
    put_attr(w, attr, ATTR_BOOL, value);
}

void node_string(graph_writer *w, const char *attr, const char *value)
{
    attr_begin(w, attr);
    message_text(&w->out, ATTR_STRING, value);
    attr_end(w);
}

void node_scalar_shape(graph_writer *w, const char *attr)
{
    attr_begin(w, attr);
    message_bytes(&w->out, ATTR_SHAPE, "", 0);
    attr_end(w);
}

void node_function(graph_writer *w, const char *attr, const char *function)
{
    attr_begin(w, attr);
    message_begin(&w->out, ATTR_FUNCTION);
    message_text(&w->out, FUNCTION_NAME, function);
    message_end(&w->out);
    attr_end(w);
}

void node_dtypes(graph_writer *w, const char *attr, eddy_dtype dtype, size_t n)
{
    attr_begin(w, attr);
    message_begin(&w->out, ATTR_LIST);
    for (size_t i = 0; i < n; i++)
        message_number(&w->out, LIST_TYPE, number_of(dtype));
    message_end(&w->out);
    attr_end(w);
}

void node_functions(graph_writer *w, const char *attr, const char *prefix,
                    size_t n)
{
    attr_begin(w, attr);
    message_begin(&w->out, ATTR_LIST);
    for (size_t i = 0; i < n; i++) {
        message_begin(&w->out, LIST_FUNCTION);
        message_text(&w->out, FUNCTION_NAME, textf("%s%zu", prefix, i).s);
        message_end(&w->out);
    }
    message_end(&w->out);
    attr_end(w);
}

/* ---- whole nodes ---- */

static void add_const(graph_writer *w, const char *name, eddy_dtype dtype,
                      const void *value, size_t n)
{
    node_begin(w, "Const", name);
    node_dtype(w, "dtype", dtype);
    attr_begin(w, "value");
    message_begin(&w->out, ATTR_TENSOR);
    message_number(&w->out, TENSOR_DTYPE, number_of(dtype));
    message_bytes(&w->out, TENSOR_SHAPE, "", 0);
    message_bytes(&w->out, TENSOR_CONTENT, value, n);
    message_end(&w->out);
    attr_end(w);
    node_end(w);
}

void add_float(graph_writer *w, const char *name, float value)
{
    add_const(w, name, EDDY_FLOAT32, &value, sizeof value);
}

void add_int(graph_writer *w, const char *name, int32_t value)
{
    add_const(w, name, EDDY_INT32, &value, sizeof value);
}

void add_bool(graph_writer *w, const char *name, bool value)
{
    const unsigned char byte = value;

    add_const(w, name, EDDY_BOOL, &byte, sizeof byte);
}

void add_unary(graph_writer *w, const char *op, eddy_dtype dtype,
               const char *name, const char *x)
{
    node_begin(w, op, name);
    node_input(w, x);
    node_dtype(w, "T", dtype);
    node_end(w);
}

void add_binary(graph_writer *w, const char *op, eddy_dtype dtype,
                const char *name, const char *x, const char *y)
{
    node_begin(w, op, name);
    node_input(w, x);
    node_input(w, y);
    node_dtype(w, "T", dtype);
    node_end(w);
}

void add_enter(graph_writer *w, eddy_dtype dtype, const char *name,
               const char *x, const char *frame, bool is_constant)
{
    node_begin(w, "Enter", name);
    node_input(w, x);
    node_dtype(w, "T", dtype);
    node_string(w, "frame_name", frame);
    node_bool(w, "is_constant", is_constant);
    node_end(w);
}

/* ---- functions ---- */

static void put_argument(graph_writer *w, unsigned field, const char *name,
                         eddy_dtype dtype)
{
    message_begin(&w->out, field);
    message_text(&w->out, ARGUMENT_NAME, name);
    message_number(&w->out, ARGUMENT_TYPE, number_of(dtype));
    message_end(&w->out);
}

void function_begin(graph_writer *w, const char *name, const char *out_arg,
                    eddy_dtype out_dtype)
{
    if (w->out.depth == 0)
        message_begin(&w->out, GRAPH_LIBRARY);
    message_begin(&w->out, LIBRARY_FUNCTION);
    message_begin(&w->out, FUNCTION_SIGNATURE);
    message_text(&w->out, SIGNATURE_NAME, name);
    put_argument(w, SIGNATURE_INPUT, "x", EDDY_FLOAT32);
    put_argument(w, SIGNATURE_OUTPUT, out_arg, out_dtype);
    message_end(&w->out);
}

void function_end(graph_writer *w, const char *out_arg, const char *result)
{
    message_begin(&w->out, FUNCTION_RESULT);
    message_text(&w->out, ENTRY_KEY, out_arg);
    message_text(&w->out, ENTRY_VALUE, result);
    message_end(&w->out);
    message_end(&w->out);
}
