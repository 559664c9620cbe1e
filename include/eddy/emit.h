/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building a graph without a check after every line.  An emitter adds nodes to
 * a graph and keeps the first failure: after it every call does nothing and
 * gives node EDDY_NO_NODE, so that one look at `status` at the end will do.
 *
 *     eddy_emitter e = eddy_emitter_of(graph, &err);
 *     eddy_output x = eddy_emit_placeholder(&e, "x", EDDY_FLOAT32, NULL);
 *     eddy_output y = eddy_emit_binary(&e, "Mul", x, eddy_emit_float(&e, 2));
 *
 *     if (e.status != EDDY_OK)
 *         ...                            err says what and where
 *
 * It is what eddy's own front ends write graphs with; they and any other go
 * together with eddy/control_flow.h: nodes go into the innermost open
 * construct.  An emitter owns nothing and may be copied; like its graph it
 * belongs to one thread at a time.
 */
#ifndef EDDY_EMIT_H
#define EDDY_EMIT_H

#include "eddy/graph.h"

EDDY_BEGIN_DECLS

typedef struct eddy_emitter {
    eddy_graph *graph;
    eddy_error *err;    /* borrowed; may be NULL */
    eddy_status status; /* the first failure, which `err` describes */
} eddy_emitter;

/*
 * Any other call that gives a status, on the same terms: it is made only while
 * all is well, so a failure that was kept stays as it is in `err`.  Use:
 * EDDY_EMIT(&e, eddy_cond_begin(e.graph, &spec, e.err));
 */
#define EDDY_EMIT(e, call)                                                     \
    ((e)->status == EDDY_OK ? (void)((e)->status = (call)) : (void)0)

/* Both are borrowed for as long as the emitter is used. */
EDDY_API eddy_emitter eddy_emitter_of(eddy_graph *graph, eddy_error *err);

/* Keeps `status` if it is the first failure; is all well? */
EDDY_API bool eddy_emit_check(eddy_emitter *e, eddy_status status);

/*
 * Adds a node as eddy_graph_add does and gives its output 0; `size` of the
 * specification need not be set.
 */
EDDY_API eddy_output eddy_emit(eddy_emitter *e, const eddy_node_spec *spec);

/* A node without attributes and control inputs; `name` NULL makes one. */
EDDY_API eddy_output eddy_emit_named(eddy_emitter *e, const char *op,
                                     const char *name,
                                     const eddy_output *inputs,
                                     size_t n_inputs);

/* The commonest nodes, whose names are made from their ops. */
EDDY_API eddy_output eddy_emit_op(eddy_emitter *e, const char *op,
                                  const eddy_output *inputs, size_t n_inputs,
                                  const eddy_attr *attrs, size_t n_attrs);
EDDY_API eddy_output eddy_emit_unary(eddy_emitter *e, const char *op,
                                     eddy_output x);
EDDY_API eddy_output eddy_emit_binary(eddy_emitter *e, const char *op,
                                      eddy_output x, eddy_output y);

/* `x` in another dtype. */
EDDY_API eddy_output eddy_emit_cast(eddy_emitter *e, eddy_output x,
                                    eddy_dtype dtype);

/* A Placeholder; `shape` NULL means any shape. */
EDDY_API eddy_output eddy_emit_placeholder(eddy_emitter *e, const char *name,
                                           eddy_dtype dtype,
                                           const eddy_shape *shape);

/*
 * Constants; `name` NULL makes one.  The first retains `tensor`; the others
 * copy the elements, of a numeric dtype, from memory laid out as a tensor's.
 */
EDDY_API eddy_output eddy_emit_const(eddy_emitter *e, const char *name,
                                     eddy_tensor *tensor);
EDDY_API eddy_output eddy_emit_elements(eddy_emitter *e, const char *name,
                                        eddy_dtype dtype,
                                        const eddy_shape *shape,
                                        const void *elements);
EDDY_API eddy_output eddy_emit_scalar(eddy_emitter *e, const char *name,
                                      eddy_dtype dtype, const void *value);
EDDY_API eddy_output eddy_emit_int32(eddy_emitter *e, int32_t value);
EDDY_API eddy_output eddy_emit_int64(eddy_emitter *e, int64_t value);
EDDY_API eddy_output eddy_emit_float(eddy_emitter *e, float value);
EDDY_API eddy_output eddy_emit_bool(eddy_emitter *e, bool value);

/* Edges of nodes that are there: see eddy/graph.h. */
EDDY_API void eddy_emit_set_input(eddy_emitter *e, eddy_node node,
                                  uint32_t index, eddy_output from);
EDDY_API void eddy_emit_control(eddy_emitter *e, eddy_node node,
                                eddy_node from);

EDDY_END_DECLS

#endif
