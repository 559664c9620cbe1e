/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adding nodes to the graph that is being differentiated: the emitter of core,
 * whose first failure sticks, with what gradients need besides: names by the
 * node whose gradient is made, constants that are live where it is, and scratch
 * memory.  It is the lowest floor.
 */
#ifndef EDDY_AUTODIFF_EMIT_H
#define EDDY_AUTODIFF_EMIT_H

#include "autodiff/output.h"
#include "autodiff/output_map.h"
#include "core/graph/emit.h"

typedef struct eddy__gradient_emitter {
    eddy__emitter core;
    const char *prefix; /* a name scope for what is added; borrowed */
    eddy_node at;       /* whose gradient is being made, for names */
    /*
     * A node that new constants wait for, so that they are live when it is and
     * in its frame; EDDY_NO_NODE where they are live by themselves.
     */
    eddy_node control;
    eddy__arena arena; /* scratch memory of the call */
} eddy__gradient_emitter;

/* `prefix` and `err` are borrowed. */
void eddy__emit_init(eddy__gradient_emitter *e, eddy_graph *graph,
                     const char *prefix, eddy_error *err);
void eddy__emit_deinit(eddy__gradient_emitter *e);

/* Records a failure at a node, or at none, unless there is one; gives it. */
eddy_status eddy__emit_fail(eddy__gradient_emitter *e, eddy_status code,
                            eddy_detail detail, eddy_node at,
                            const char *format, ...) EDDY_PRINTF(5, 6);

/* Scratch memory; NULL, with the failure recorded, if there is none. */
void *eddy__emit_room(eddy__gradient_emitter *e, size_t n, size_t size);
void *eddy__emit_zeroed_room(eddy__gradient_emitter *e, size_t n, size_t size);

/* Adds to a map what it does not have yet. */
void eddy__emit_keep(eddy__gradient_emitter *e, eddy__output_map *map,
                     eddy_output key, uint64_t tag, eddy_output value);

/*
 * `<prefix>/<middle>/<like>`, or without the middle if that is NULL, and a
 * number if need be: a name that no node has, in the graph's memory.  The name
 * is not taken by this; where it is not that of a node which is added at once,
 * eddy__emit_take_name.  NULL after a failure.
 */
const char *eddy__emit_free_name(eddy__gradient_emitter *e, const char *middle,
                                 const char *like);
/* The same, and the name is given to nobody else. */
const char *eddy__emit_take_name(eddy__gradient_emitter *e, const char *middle,
                                 const char *like);

/* Adds a node, which gets a name of its own, and gives its output 0. */
eddy_output eddy__emit_spec(eddy__gradient_emitter *e,
                            const eddy_node_spec *spec);

/* One with one control input, or none for EDDY_NO_NODE. */
eddy_output eddy__emit_after(eddy__gradient_emitter *e, eddy_node control,
                             const char *op, const eddy_output *inputs,
                             size_t n_inputs);

static inline eddy_output eddy__emit(eddy__gradient_emitter *e, const char *op,
                                     const eddy_output *inputs, size_t n_inputs)
{
    return eddy__emit_after(e, EDDY_NO_NODE, op, inputs, n_inputs);
}

/* eddy__emit_op(e, "Mul", x, y) */
#define eddy__emit_op(e, op, ...)                                              \
    eddy__emit((e), (op), (const eddy_output[]){__VA_ARGS__},                  \
               sizeof((const eddy_output[]){__VA_ARGS__}) /                    \
                   sizeof(eddy_output))

/* `x` in that dtype, itself if it has it. */
eddy_output eddy__emit_cast(eddy__gradient_emitter *e, eddy_output x,
                            eddy_dtype dtype);

void eddy__emit_control(eddy__gradient_emitter *e, eddy_node node,
                        eddy_node from);
void eddy__emit_back_edge(eddy__gradient_emitter *e, eddy_output merge,
                          eddy_output next);

/*
 * Is it a reference to names, as the handle of an old stack or TensorArray?
 * Those stay references in loops and branches; what others refer to is read.
 */
bool eddy__emit_is_reference(const eddy__gradient_emitter *e, eddy_output v);

/* An Enter into `frame`; the first one has the frame's name. */
eddy_output eddy__emit_enter(eddy__gradient_emitter *e, eddy_output from,
                             const char *frame, int64_t parallel,
                             bool is_constant);
eddy_output eddy__emit_first_enter(eddy__gradient_emitter *e, eddy_output from,
                                   const char *frame, int64_t parallel);

/* ---- constants, which wait for the emitter's control or for another ---- */

eddy_output eddy__emit_const(eddy__gradient_emitter *e, eddy_tensor *tensor);

/* `elements` are copied. */
eddy_output eddy__emit_elements_after(eddy__gradient_emitter *e,
                                      eddy_node control, eddy_dtype dtype,
                                      const eddy_shape *shape,
                                      const void *elements);

static inline eddy_output eddy__emit_elements(eddy__gradient_emitter *e,
                                              eddy_dtype dtype,
                                              const eddy_shape *shape,
                                              const void *elements)
{
    return eddy__emit_elements_after(e, e->control, dtype, shape, elements);
}

eddy_output eddy__emit_int_after(eddy__gradient_emitter *e, eddy_node control,
                                 int32_t value);

static inline eddy_output eddy__emit_int(eddy__gradient_emitter *e,
                                         int32_t value)
{
    return eddy__emit_int_after(e, e->control, value);
}

/* Can the shape be a constant?  It is known, and its sizes are int32. */
bool eddy__emit_has_shape(const eddy_shape *shape);

/* Such a shape, a vector of int32. */
eddy_output eddy__emit_shape_after(eddy__gradient_emitter *e, eddy_node control,
                                   const eddy_shape *shape);

static inline eddy_output eddy__emit_shape(eddy__gradient_emitter *e,
                                           const eddy_shape *shape)
{
    return eddy__emit_shape_after(e, e->control, shape);
}

#endif
