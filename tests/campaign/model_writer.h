/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes ONNX models message by message.  The model is open from model_begin
 * to model_end, and its graph; bodies are graphs in attributes.
 */
#ifndef EDDY_TESTS_CAMPAIGN_MODEL_WRITER_H
#define EDDY_TESTS_CAMPAIGN_MODEL_WRITER_H

#include "benchmarks/message_writer.h"

/* ONNX's numbers of dtypes. */
enum { MODEL_FLOAT = 1, MODEL_INT64 = 7, MODEL_BOOL = 9 };

/* A model of the newest IR that has the opset, up to its graph. */
void model_begin(message_writer *w);
/* The same of another IR version. */
void model_begin_ir(message_writer *w, int64_t ir_version);
/* Ends the graph, and what is behind it. */
void model_end_graph(message_writer *w);

/* A node, left open; its attributes follow. */
void model_node(message_writer *w, const char *op, const char *input,
                const char *output);
void model_input(message_writer *w, const char *name);
void model_output(message_writer *w, const char *name);
void model_domain(message_writer *w, const char *domain);
void model_node_end(message_writer *w);

/* A whole node of one input, "" for none, and one output. */
void model_unary(message_writer *w, const char *op, const char *input,
                 const char *output);
void model_binary(message_writer *w, const char *op, const char *a,
                  const char *b, const char *output);

/* Attributes. */
void model_int(message_writer *w, const char *name, int64_t value);
void model_ints(message_writer *w, const char *name, int64_t value, size_t n);
void model_string(message_writer *w, const char *name, const char *value);
void model_strings(message_writer *w, const char *name, const char *prefix,
                   size_t n);
/* A graph as an attribute, left open until model_body_end. */
void model_body(message_writer *w, const char *name);
void model_body_end(message_writer *w);

/* Of a graph: what goes in and out; a rank below 0 is unknown. */
void model_graph_input(message_writer *w, const char *name, int dtype,
                       int32_t rank);
void model_graph_output(message_writer *w, const char *name, int dtype);

/* An initializer: `n` elements of 8 or 4 bytes, zero, or one int64. */
void model_zeros(message_writer *w, const char *name, int dtype, size_t n);
void model_int64(message_writer *w, const char *name, int64_t value);
void model_bool(message_writer *w, const char *name, bool value);
/* One of shape `dim` to the `rank`, without its data. */
void model_empty(message_writer *w, const char *name, uint64_t dim,
                 size_t rank);

/* A function "f".  Between these its nodes are written as a graph's are. */
void model_function(message_writer *w, const char *name);
void model_function_value(message_writer *w, bool is_output, const char *name);
void model_function_node(message_writer *w, const char *op, const char *domain,
                         const char *input, const char *output);
void model_function_end(message_writer *w);

#endif
