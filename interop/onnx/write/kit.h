/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short names for those who write operators: all are of the writer `w` and the
 * node that it writes.
 */
#ifndef EDDY_INTEROP_ONNX_WRITE_KIT_H
#define EDDY_INTEROP_ONNX_WRITE_KIT_H

#include "core/value/dtype.h"
#include "interop/onnx/write/writer.h"

#define THIS (&w->graph->nodes[w->node])

/* NODE("Mul", IN(a, b), ATTR_INT("axis", 1)): the name of its output. */
#define NODE(type, inputs, ...)                                                \
    eddy__onnx_node(w, (type), inputs, (const eddy__onnx_attr[]){__VA_ARGS__}, \
                    sizeof((const eddy__onnx_attr[]){__VA_ARGS__}) /           \
                        sizeof(eddy__onnx_attr))
#define IN(...)                                                                \
    (const char *const[]){__VA_ARGS__},                                        \
        sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)
#define NONE NULL, 0

/* An attribute without a name is none. */
#define NO_ATTRS                                                               \
    {                                                                          \
        .name = NULL                                                           \
    }
#define ATTR_INT(key, value)                                                   \
    {                                                                          \
        .name = (key), .type = EDDY__ONNX_ATTR_INT, .i = (value)               \
    }
#define ATTR_FLOAT(key, value)                                                 \
    {                                                                          \
        .name = (key), .type = EDDY__ONNX_ATTR_FLOAT, .f = (value)             \
    }
#define ATTR_TEXT(key, value)                                                  \
    {                                                                          \
        .name = (key), .type = EDDY__ONNX_ATTR_STRING, .s = (value)            \
    }
#define ATTR_INTS(key, values, count)                                          \
    {                                                                          \
        .name = (key), .type = EDDY__ONNX_ATTR_INTS, .ints = (values),         \
        .n = (count)                                                           \
    }

#define OP(type, ...) NODE(type, IN(__VA_ARGS__), NO_ATTRS)
#define X(i) eddy__onnx_name_of(w, (i))
#define INT(value) eddy__onnx_const_int(w, (value))
#define INTS(values, n) eddy__onnx_const_ints(w, (values), (n))
#define NUMBER(dtype, value) eddy__onnx_const_like(w, (dtype), (value))
#define GIVE(i, value) eddy__onnx_give_plain(w, (i), (value))
#define CAST(name, dtype) eddy__onnx_cast_to(w, (name), (dtype))
#define DTYPE(i) ((eddy_dtype)THIS->input_dtypes[i])
#define SHAPE(i) eddy_graph_output_shape(w->graph, THIS->inputs[i])

/* Output `i` is the tensor of that name. */
void eddy__onnx_give_plain(eddy__onnx_writer *w, uint32_t i, const char *name);

const char *eddy__onnx_cast_to(eddy__onnx_writer *w, const char *name,
                               eddy_dtype dtype);

/* Whole numbers of a constant input; false if it is no constant of them. */
#define EDDY__ONNX_MOST_NUMBERS 64
typedef struct eddy__onnx_numbers {
    size_t n;
    bool is_scalar;
    int64_t at[EDDY__ONNX_MOST_NUMBERS];
} eddy__onnx_numbers;
bool eddy__onnx_known_numbers(const eddy__onnx_writer *w, uint32_t i,
                              eddy__onnx_numbers *out_numbers);

/* The one number that input `i` is; declines, and gives 0, if it is none. */
int64_t eddy__onnx_known_number(eddy__onnx_writer *w, uint32_t i);

/* Input `i`, whole numbers, as a vector or a scalar of int64. */
const char *eddy__onnx_vector(eddy__onnx_writer *w, uint32_t i);
const char *eddy__onnx_scalar64(eddy__onnx_writer *w, uint32_t i);

#endif
