/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs: nodes and the edges between them, mutable while they are built.
 *
 * A graph belongs to one thread at a time.  Nodes are numbered from 0 in the
 * order in which they were added and are never removed by these calls.  Node
 * attributes that follow from the inputs' dtypes (T, N, ...) may be left out;
 * those with a default too.
 */
#ifndef EDDY_GRAPH_H
#define EDDY_GRAPH_H

#include "eddy/context.h"

EDDY_BEGIN_DECLS

typedef struct eddy_graph eddy_graph;

typedef uint32_t eddy_node; /* the number of a node in its graph */

#define EDDY_NO_NODE UINT32_MAX

/* One output of a node: what TensorFlow writes as `name:index`. */
typedef struct eddy_output {
    eddy_node node;
    uint32_t index;
} eddy_output;

typedef enum eddy_attr_kind {
    EDDY_ATTR_INT,
    EDDY_ATTR_FLOAT,
    EDDY_ATTR_BOOL,
    EDDY_ATTR_STRING,
    EDDY_ATTR_TYPE,
    EDDY_ATTR_SHAPE,
    EDDY_ATTR_TENSOR,
    EDDY_ATTR_FUNCTION, /* the name of a function in the graph's library */
    /*
     * A value read from a file that none of the above can hold, such as a dtype
     * that eddy does not have: its bytes, in `strings`.  The node that has one
     * is opaque, and a GraphDef is written with it as it was.
     */
    EDDY_ATTR_OPAQUE
} eddy_attr_kind;

/*
 * An attribute's value.  A single value is a list of one: `n` counts the
 * elements of the array that `as` points to, and `is_list` says whether the
 * attribute is a list.  The arrays are borrowed; the graph copies them (tensors
 * it retains).  The functions below make the common ones.
 */
typedef struct eddy_attr {
    const char *name;
    eddy_attr_kind kind;
    bool is_list;
    size_t n;
    union {
        const int64_t *ints;
        const float *floats;
        const bool *bools;
        const eddy_string *strings; /* also the names of functions */
        const eddy_dtype *types;
        const eddy_shape *shapes;
        eddy_tensor *const *tensors;
    } as;
} eddy_attr;

/*
 * What to add: `op` and `name` (NULL or "" makes a name from the op type),
 * inputs in the order of the op's definition, control inputs, attributes.
 * All of it is borrowed for the call.
 */
typedef struct eddy_node_spec {
    size_t size; /* sizeof(eddy_node_spec) */
    const char *op;
    const char *name;
    const eddy_output *inputs;
    size_t n_inputs;
    const eddy_node *controls;
    size_t n_controls;
    const eddy_attr *attrs;
    size_t n_attrs;
} eddy_node_spec;

EDDY_API EDDY_MUST_USE eddy_status eddy_graph_create(eddy_context *ctx,
                                                     eddy_graph **out_graph,
                                                     eddy_error *err);

/* Accepts NULL.  Plans made from the graph stay valid. */
EDDY_API void eddy_graph_destroy(eddy_graph *graph);

/*
 * Adds a node.  On failure the graph is as before.  Errors: NOT_FOUND for an
 * unknown op; INVALID_ARGUMENT for inputs or attributes that the op does not
 * take (EDDY_E_INPUT_COUNT, _INPUT_DTYPE, _ATTR_...), EDDY_E_DUPLICATE_NODE,
 * EDDY_E_BAD_NAME; and, mostly with EDDY_E_SHAPE, for inputs whose shapes are
 * known not to fit (see eddy_graph_output_shape).
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_graph_add(eddy_graph *graph,
                                                  const eddy_node_spec *spec,
                                                  eddy_node *out_node,
                                                  eddy_error *err);

/* Shorthand for a node without control inputs and without attributes. */
EDDY_API EDDY_MUST_USE eddy_status
eddy_graph_add_op(eddy_graph *graph, const char *op, const char *name,
                  const eddy_output *inputs, size_t n_inputs,
                  eddy_output *out_first, eddy_error *err);

/* Adds a Const that retains `value`. */
EDDY_API EDDY_MUST_USE eddy_status eddy_graph_add_const(eddy_graph *graph,
                                                        const char *name,
                                                        eddy_tensor *value,
                                                        eddy_output *out,
                                                        eddy_error *err);

/* Adds a rank-0 Const of `dtype` from one element at `value`. */
EDDY_API EDDY_MUST_USE eddy_status
eddy_graph_add_scalar(eddy_graph *graph, const char *name, eddy_dtype dtype,
                      const void *value, eddy_output *out, eddy_error *err);

/* Adds a Placeholder; `shape` NULL means any shape. */
EDDY_API EDDY_MUST_USE eddy_status eddy_graph_add_placeholder(
    eddy_graph *graph, const char *name, eddy_dtype dtype,
    const eddy_shape *shape, eddy_output *out, eddy_error *err);

/*
 * Replaces input `index` of `node`: how the back edge of a loop reaches its
 * Merge, which is first built with its Enter given twice.  The dtype must be
 * the one that the node already has.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_graph_set_input(eddy_graph *graph,
                                                        eddy_node node,
                                                        uint32_t index,
                                                        eddy_output from,
                                                        eddy_error *err);

/* Adds a control edge; adding one that is there changes nothing. */
EDDY_API EDDY_MUST_USE eddy_status eddy_graph_add_control(eddy_graph *graph,
                                                          eddy_node node,
                                                          eddy_node from,
                                                          eddy_error *err);

/* Queries.  Texts and arrays are borrowed until the graph is next changed. */
EDDY_API size_t eddy_graph_size(const eddy_graph *graph);
EDDY_API const char *eddy_graph_node_name(const eddy_graph *graph,
                                          eddy_node node);
EDDY_API const char *eddy_graph_node_op(const eddy_graph *graph,
                                        eddy_node node);
EDDY_API const eddy_output *
eddy_graph_node_inputs(const eddy_graph *graph, eddy_node node, size_t *out_n);
EDDY_API const eddy_node *eddy_graph_node_controls(const eddy_graph *graph,
                                                   eddy_node node,
                                                   size_t *out_n);
EDDY_API size_t eddy_graph_node_outputs(const eddy_graph *graph,
                                        eddy_node node);
/* EDDY_INVALID if the node or the output does not exist. */
EDDY_API eddy_dtype eddy_graph_output_dtype(const eddy_graph *graph,
                                            eddy_output output);
/*
 * What is known of the output's shape, in every run and every iteration, if
 * nothing is fed in its place: rank -1 if nothing is, or if there is no such
 * output; dimensions that are not known are -1.  Of a variable of a loop that
 * is still open nothing is known but its shape invariant; once the loop has
 * ended, what its body makes of it is.  The first question after nodes were
 * added costs time in proportion to those nodes.
 */
EDDY_API eddy_shape eddy_graph_output_shape(const eddy_graph *graph,
                                            eddy_output output);
/* False if the node has no attribute of that name. */
EDDY_API bool eddy_graph_node_attr(const eddy_graph *graph, eddy_node node,
                                   const char *name, eddy_attr *out_attr);

/*
 * The functions of the graph's library, from 0 on: a name, and the nodes of its
 * body, a graph whose own library is empty and that belongs to `graph`; its
 * nodes of op `_Arg` stand for the arguments.  Both are NULL past the end.  A
 * function that could not be read has an empty body, and _problem says why;
 * else that is NULL.
 */
EDDY_API const char *eddy_graph_function_name(const eddy_graph *graph,
                                              size_t i);
EDDY_API const eddy_graph *eddy_graph_function_body(const eddy_graph *graph,
                                                    size_t i);
EDDY_API const char *eddy_graph_function_problem(const eddy_graph *graph,
                                                 size_t i);

/* EDDY_NO_NODE if there is none. */
EDDY_API eddy_node eddy_graph_find(const eddy_graph *graph, const char *name);

/*
 * Reads `node` or `node:index`.  Errors: NOT_FOUND (EDDY_E_UNKNOWN_NAME, with
 * the closest name), INVALID_ARGUMENT (EDDY_E_OUTPUT_INDEX).
 */
EDDY_API EDDY_MUST_USE eddy_status
eddy_graph_find_output(const eddy_graph *graph, const char *name,
                       eddy_output *out, eddy_error *err);

/* Attributes of one value; `value` must live as long as the attribute. */
EDDY_API eddy_attr eddy_attr_int(const char *name, const int64_t *value);
EDDY_API eddy_attr eddy_attr_float(const char *name, const float *value);
EDDY_API eddy_attr eddy_attr_bool(const char *name, const bool *value);
EDDY_API eddy_attr eddy_attr_string(const char *name, const eddy_string *value);
EDDY_API eddy_attr eddy_attr_type(const char *name, const eddy_dtype *value);
EDDY_API eddy_attr eddy_attr_shape(const char *name, const eddy_shape *value);
EDDY_API eddy_attr eddy_attr_tensor(const char *name,
                                    eddy_tensor *const *value);

EDDY_END_DECLS

#endif
