/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes to nodes that are there: with the copier (copy.h) all that a rewrite
 * does to a graph of its own.  Nothing else outside of core/graph writes what a
 * node holds (scripts/node_writes.sh).  Unless one says otherwise, these check
 * nothing and can't fail: who calls them knows that node and input exist and
 * that dtypes agree, or sees to it.
 */
#ifndef EDDY_CORE_EDIT_H
#define EDDY_CORE_EDIT_H

#include "core/graph/graph.h"

void eddy__edit_input(eddy_graph *graph, eddy_node node, uint32_t i,
                      eddy_output from);
void eddy__edit_control(eddy_graph *graph, eddy_node node, uint32_t i,
                        eddy_node from);

/* What an edge carries, where a rewrite gives it something else. */
void eddy__edit_input_dtype(eddy_graph *graph, eddy_node node, uint32_t i,
                            eddy_dtype dtype);
void eddy__edit_output_dtype(eddy_graph *graph, eddy_node node, uint32_t i,
                             eddy_dtype dtype);

/* The number of one more output that edges assume of an opaque node. */
uint32_t eddy__edit_assume_output(eddy_graph *graph, eddy_node node);

/* Fails without memory; `device` may be NULL. */
eddy_status eddy__edit_device(eddy_graph *graph, eddy_node node,
                              const char *device, eddy_error *err);

/*
 * Puts a copy of `value` in place of the attribute of that name, if the node
 * has it.  Fails without memory, and then the node is as it was.
 */
eddy_status eddy__edit_attr(eddy_graph *graph, eddy_node node,
                            const eddy_attr *value, eddy_error *err);

/*
 * Gives the node `attr`, in place of one of that name if there is one.  Its
 * name and what it holds are of the graph's arena already, and no tensors.
 * False without memory.
 */
bool eddy__edit_adopt_attr(eddy_graph *graph, eddy_node node,
                           const eddy_attr *attr);

/*
 * Makes `node` what the last node of the graph is, all but its name and device,
 * and takes that one, which nothing reads, out of the graph.
 */
void eddy__edit_become_last(eddy_graph *graph, eddy_node node);

#endif
