/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes GraphDefs node by node, in any order: names may be used before their
 * node is there, as loops do.  A failure to allocate ends the process.
 */
#ifndef EDDY_BENCHMARKS_GRAPH_WRITER_H
#define EDDY_BENCHMARKS_GRAPH_WRITER_H

#include "benchmarks/message_writer.h"

typedef struct graph_writer {
    message_writer out;
    size_t n_nodes;
} graph_writer;

void graph_writer_deinit(graph_writer *w);

/* A node: its inputs, then its attributes, then its end. */
void node_begin(graph_writer *w, const char *op, const char *name);
void node_input(graph_writer *w, const char *input);
void node_dtype(graph_writer *w, const char *attr, eddy_dtype dtype);
void node_int(graph_writer *w, const char *attr, int64_t value);
void node_bool(graph_writer *w, const char *attr, bool value);
void node_string(graph_writer *w, const char *attr, const char *value);
void node_scalar_shape(graph_writer *w, const char *attr);
void node_function(graph_writer *w, const char *attr, const char *function);
void node_end(graph_writer *w);

/* Attributes that are lists: `n` of one dtype, or functions `format` % i. */
void node_dtypes(graph_writer *w, const char *attr, eddy_dtype dtype, size_t n);
void node_functions(graph_writer *w, const char *attr, const char *prefix,
                    size_t n);

/* Whole nodes. */
void add_float(graph_writer *w, const char *name, float value);
void add_int(graph_writer *w, const char *name, int32_t value);
void add_bool(graph_writer *w, const char *name, bool value);
void add_unary(graph_writer *w, const char *op, eddy_dtype dtype,
               const char *name, const char *x);
void add_binary(graph_writer *w, const char *op, eddy_dtype dtype,
                const char *name, const char *x, const char *y);
void add_enter(graph_writer *w, eddy_dtype dtype, const char *name,
               const char *x, const char *frame, bool is_constant);

/*
 * A function of a float32, `x`; its nodes are written between these, `result`
 * is the output that it gives, "node:output:0".  All functions are written
 * before the nodes of the graph.
 */
void function_begin(graph_writer *w, const char *name, const char *out_arg,
                    eddy_dtype out_dtype);
void function_end(graph_writer *w, const char *out_arg, const char *result);

#endif
