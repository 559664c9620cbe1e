/* SPDX-License-Identifier: Apache-2.0 */
/* The wire format by hand: fields, and messages whose length is filled in. */
#include "benchmarks/graph_writer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

#define WIRE_VARINT 0
#define WIRE_LENGTH 2
#define LENGTH_BYTES 4 /* of a message's length: filled up to these */

text textf(const char *format, ...)
{
    va_list args;
    text t;

    va_start(args, format);
    (void)vsnprintf(t.s, sizeof t.s, format, args);
    va_end(args);
    return t;
}

void graph_writer_deinit(graph_writer *w)
{
    free(w->bytes);
    *w = (graph_writer){.n_nodes = 0};
}

/* ---- fields ---- */

static void put(graph_writer *w, const void *bytes, size_t n)
{
    if (w->length + n > w->capacity) {
        w->capacity = 2 * (w->length + n) + 4096;
        w->bytes = realloc(w->bytes, w->capacity);
        if (!w->bytes)
            abort();
    }
    memcpy(w->bytes + w->length, bytes, n);
    w->length += n;
}

static void put_varint(graph_writer *w, uint64_t value)
{
    unsigned char bytes[10];
    size_t n = 0;

    do {
        bytes[n++] =
            (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value > 0);
    put(w, bytes, n);
}

static void put_number(graph_writer *w, unsigned field, uint64_t value)
{
    put_varint(w, field << 3 | WIRE_VARINT);
    put_varint(w, value);
}

static void put_bytes(graph_writer *w, unsigned field, const void *bytes,
                      size_t n)
{
    put_varint(w, field << 3 | WIRE_LENGTH);
    put_varint(w, n);
    put(w, bytes, n);
}

static void put_text(graph_writer *w, unsigned field, const char *s)
{
    put_bytes(w, field, s, strlen(s));
}

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

static void begin(graph_writer *w, unsigned field)
{
    static const unsigned char none[LENGTH_BYTES] = {0};

    put_varint(w, field << 3 | WIRE_LENGTH);
    put(w, none, sizeof none);
    w->open[w->depth++] = w->length;
}

static void end(graph_writer *w)
{
    const size_t from = w->open[--w->depth];
    size_t n = w->length - from;

    for (size_t i = 0; i < LENGTH_BYTES; i++, n >>= 7)
        w->bytes[from - LENGTH_BYTES + i] =
            (unsigned char)((n & 0x7f) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
}

/* ---- nodes ---- */

/* Depth 1 is the library, which the first node of the graph ends. */
void node_begin(graph_writer *w, const char *op, const char *name)
{
    if (w->depth == 1)
        end(w);
    begin(w, w->depth == 0 ? GRAPH_NODE : FUNCTION_NODE);
    put_text(w, NODE_NAME, name);
    put_text(w, NODE_OP, op);
    w->n_nodes++;
}

void node_input(graph_writer *w, const char *input)
{
    put_text(w, NODE_INPUT, input);
}

void node_end(graph_writer *w)
{
    end(w);
}

static void attr_begin(graph_writer *w, const char *attr)
{
    begin(w, NODE_ATTR);
    put_text(w, ENTRY_KEY, attr);
    begin(w, ENTRY_VALUE);
}

static void attr_end(graph_writer *w)
{
    end(w);
    end(w);
}

static void put_attr(graph_writer *w, const char *attr, unsigned field,
                     uint64_t value)
{
    attr_begin(w, attr);
    put_number(w, field, value);
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
    put_text(w, ATTR_STRING, value);
    attr_end(w);
}

void node_scalar_shape(graph_writer *w, const char *attr)
{
    attr_begin(w, attr);
    put_bytes(w, ATTR_SHAPE, "", 0);
    attr_end(w);
}

void node_function(graph_writer *w, const char *attr, const char *function)
{
    attr_begin(w, attr);
    begin(w, ATTR_FUNCTION);
    put_text(w, FUNCTION_NAME, function);
    end(w);
    attr_end(w);
}

void node_dtypes(graph_writer *w, const char *attr, eddy_dtype dtype, size_t n)
{
    attr_begin(w, attr);
    begin(w, ATTR_LIST);
    for (size_t i = 0; i < n; i++)
        put_number(w, LIST_TYPE, number_of(dtype));
    end(w);
    attr_end(w);
}

void node_functions(graph_writer *w, const char *attr, const char *prefix,
                    size_t n)
{
    attr_begin(w, attr);
    begin(w, ATTR_LIST);
    for (size_t i = 0; i < n; i++) {
        begin(w, LIST_FUNCTION);
        put_text(w, FUNCTION_NAME, textf("%s%zu", prefix, i).s);
        end(w);
    }
    end(w);
    attr_end(w);
}

/* ---- whole nodes ---- */

static void add_const(graph_writer *w, const char *name, eddy_dtype dtype,
                      const void *value, size_t n)
{
    node_begin(w, "Const", name);
    node_dtype(w, "dtype", dtype);
    attr_begin(w, "value");
    begin(w, ATTR_TENSOR);
    put_number(w, TENSOR_DTYPE, number_of(dtype));
    put_bytes(w, TENSOR_SHAPE, "", 0);
    put_bytes(w, TENSOR_CONTENT, value, n);
    end(w);
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
    begin(w, field);
    put_text(w, ARGUMENT_NAME, name);
    put_number(w, ARGUMENT_TYPE, number_of(dtype));
    end(w);
}

void function_begin(graph_writer *w, const char *name, const char *out_arg,
                    eddy_dtype out_dtype)
{
    if (w->depth == 0)
        begin(w, GRAPH_LIBRARY);
    begin(w, LIBRARY_FUNCTION);
    begin(w, FUNCTION_SIGNATURE);
    put_text(w, SIGNATURE_NAME, name);
    put_argument(w, SIGNATURE_INPUT, "x", EDDY_FLOAT32);
    put_argument(w, SIGNATURE_OUTPUT, out_arg, out_dtype);
    end(w);
}

void function_end(graph_writer *w, const char *out_arg, const char *result)
{
    begin(w, FUNCTION_RESULT);
    put_text(w, ENTRY_KEY, out_arg);
    put_text(w, ENTRY_VALUE, result);
    end(w);
    end(w);
}
