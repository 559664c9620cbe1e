/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adding nodes: names of their own, control inputs, constants, and the failure
 * that sticks.  Requires a graph of which only this call adds nodes.
 */
#include "autodiff/emit.h"

#include "core/base/status.h"
#include "core/graph/names.h"
#include "core/value/shape.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void eddy__emit_init(eddy__gradient_emitter *e, eddy_graph *graph,
                     const char *prefix, eddy_error *err)
{
    /*
     * A rewrite goes into loops and branches that have ended, and into those
     * that are open, so it adds nodes as they stand; levels.c says where they
     * live.
     */
    *e = (eddy__gradient_emitter){.core = {.graph = graph, .err = err},
                                  .prefix = prefix,
                                  .at = EDDY_NO_NODE,
                                  .control = EDDY_NO_NODE,
                                  .arena.allocator = graph->arena.allocator};
}

void eddy__emit_deinit(eddy__gradient_emitter *e)
{
    eddy__arena_destroy(&e->arena);
}

eddy_status eddy__emit_fail(eddy__gradient_emitter *e, eddy_status code,
                            eddy_detail detail, eddy_node at,
                            const char *format, ...)
{
    char text[sizeof e->core.err->message];
    va_list args;

    if (e->core.status != EDDY_OK)
        return e->core.status;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (at == EDDY_NO_NODE)
        e->core.status = eddy__fail(e->core.err, code, detail, "%s", text);
    else
        e->core.status = eddy__graph_fail_at(
            e->core.err, code, detail, eddy__graph_node(e->core.graph, at),
            "%s", text);
    return e->core.status;
}

void *eddy__emit_room(eddy__gradient_emitter *e, size_t n, size_t size)
{
    void *room = eddy__arena_allocate(&e->arena, n, size);

    (void)eddy__emitter_need(&e->core, room);
    return room;
}

void *eddy__emit_zeroed_room(eddy__gradient_emitter *e, size_t n, size_t size)
{
    void *room = eddy__arena_allocate_zeroed(&e->arena, n, size);

    (void)eddy__emitter_need(&e->core, room);
    return room;
}

void eddy__emit_keep(eddy__gradient_emitter *e, eddy__output_map *map,
                     eddy_output key, uint64_t tag, eddy_output value)
{
    if (e->core.status == EDDY_OK &&
        !eddy__output_map_add(map, key, tag, value))
        (void)eddy__emitter_need(&e->core, NULL);
}

/* ---- names ---- */

/* `<prefix>/<middle>/<last>`, in the graph's memory; NULL without memory. */
static const char *join_names(eddy__gradient_emitter *e, const char *middle,
                              const char *last)
{
    return eddy__names_print(&e->core.graph->arena, "%s/%s%s%s", e->prefix,
                             middle, *middle ? "/" : "", last);
}

/* The name of a node of this op, but for the number that makes it free. */
static const char *join_op(eddy__gradient_emitter *e, const char *op)
{
    const char *at = e->at == EDDY_NO_NODE
                         ? ""
                         : eddy__graph_node(e->core.graph, e->at)->name;

    return join_names(e, at, op + (*op == '_'));
}

static const char *make_name(eddy__gradient_emitter *e, const char *middle,
                             const char *like, bool is_taken)
{
    const char *base, *name = NULL;
    uint32_t suffix = 0;

    if (e->core.status != EDDY_OK)
        return NULL;
    base = join_names(e, middle ? middle : "", like);
    if (base)
        name = eddy__name_make(e->core.graph, base, &suffix);
    if (eddy__emitter_need(&e->core, name) && is_taken)
        eddy__name_taken(e->core.graph, base, suffix);
    return name;
}

const char *eddy__emit_free_name(eddy__gradient_emitter *e, const char *middle,
                                 const char *like)
{
    return make_name(e, middle, like, false);
}

const char *eddy__emit_take_name(eddy__gradient_emitter *e, const char *middle,
                                 const char *like)
{
    return make_name(e, middle, like, true);
}

/* ---- nodes ---- */

static bool all_there(const eddy_output *inputs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!eddy__output_exists(inputs[i]))
            return false;
    return true;
}

eddy_output eddy__emit_spec(eddy__gradient_emitter *e,
                            const eddy_node_spec *spec)
{
    if (e->core.status != EDDY_OK)
        return EDDY__NO_OUTPUT;
    if (!all_there(spec->inputs, spec->n_inputs)) {
        eddy__emit_fail(e, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT, e->at,
                        "its gradient adds a node of op %s with an input that "
                        "does not exist",
                        spec->op);
        return EDDY__NO_OUTPUT;
    }
    return eddy__emitter_add_as(&e->core, join_op(e, spec->op), spec);
}

eddy_output eddy__emit_after(eddy__gradient_emitter *e, eddy_node control,
                             const char *op, const eddy_output *inputs,
                             size_t n_inputs)
{
    return eddy__emit_spec(
        e, &(eddy_node_spec){.op = op,
                             .inputs = inputs,
                             .n_inputs = n_inputs,
                             .controls = &control,
                             .n_controls = control != EDDY_NO_NODE});
}

void eddy__emit_control(eddy__gradient_emitter *e, eddy_node node,
                        eddy_node from)
{
    eddy__emitter_control(&e->core, node, from);
}

void eddy__emit_back_edge(eddy__gradient_emitter *e, eddy_output merge,
                          eddy_output next)
{
    eddy__emitter_connect(&e->core, merge.node, 1, next);
}

bool eddy__emit_is_reference(const eddy__gradient_emitter *e, eddy_output v)
{
    return eddy__output_exists(v) &&
           eddy_graph_output_dtype(e->core.graph, v) == EDDY_STRING &&
           eddy__node_gives_reference(eddy__graph_node(e->core.graph, v.node),
                                      v.index);
}

/* `node_name` NULL: any that is free.  Nothing has failed, so that the loop
 * has a frame with a name. */
static eddy_output add_enter(eddy__gradient_emitter *e, eddy_output from,
                             const char *frame, const char *node_name,
                             int64_t parallel, bool is_constant)
{
    const eddy_string text = {.data = frame, .length = strlen(frame)};
    const eddy_attr attrs[] = {eddy_attr_string("frame_name", &text),
                               eddy_attr_int("parallel_iterations", &parallel),
                               eddy_attr_bool("is_constant", &is_constant)};
    const bool is_reference = is_constant && eddy__emit_is_reference(e, from);
    const eddy_node_spec spec = {.op = is_reference ? "RefEnter" : "Enter",
                                 .name = node_name,
                                 .inputs = &from,
                                 .n_inputs = 1,
                                 .attrs = attrs,
                                 .n_attrs = 3};

    return node_name
               ? eddy__emitter_add(&e->core, &spec)
               : eddy__emitter_add_as(&e->core, join_op(e, spec.op), &spec);
}

eddy_output eddy__emit_enter(eddy__gradient_emitter *e, eddy_output from,
                             const char *frame, int64_t parallel,
                             bool is_constant)
{
    if (e->core.status != EDDY_OK)
        return EDDY__NO_OUTPUT;
    return add_enter(e, from, frame, NULL, parallel, is_constant);
}

eddy_output eddy__emit_first_enter(eddy__gradient_emitter *e, eddy_output from,
                                   const char *frame, int64_t parallel)
{
    if (e->core.status != EDDY_OK)
        return EDDY__NO_OUTPUT;
    return add_enter(e, from, frame, frame, parallel, false);
}

/* ---- constants ---- */

/* Names a constant that waits for `control`; the value is still to come. */
static bool begin_const(eddy__gradient_emitter *e, const eddy_node *control,
                        eddy_node_spec *out_spec)
{
    const char *base;

    if (e->core.status != EDDY_OK)
        return false;
    base = join_op(e, "Const");
    *out_spec = (eddy_node_spec){
        .name = base ? eddy__name_take(e->core.graph, base) : NULL,
        .controls = control,
        .n_controls = *control != EDDY_NO_NODE};
    return eddy__emitter_need(&e->core, out_spec->name);
}

eddy_output eddy__emit_const(eddy__gradient_emitter *e, eddy_tensor *tensor)
{
    eddy_node_spec spec;

    return begin_const(e, &e->control, &spec)
               ? eddy__emitter_const(&e->core, &spec, tensor)
               : EDDY__NO_OUTPUT;
}

eddy_output eddy__emit_elements_after(eddy__gradient_emitter *e,
                                      eddy_node control, eddy_dtype dtype,
                                      const eddy_shape *shape,
                                      const void *elements)
{
    eddy_node_spec spec;

    return begin_const(e, &control, &spec)
               ? eddy__emitter_elements(&e->core, &spec, dtype, shape, elements)
               : EDDY__NO_OUTPUT;
}

eddy_output eddy__emit_int_after(eddy__gradient_emitter *e, eddy_node control,
                                 int32_t value)
{
    const eddy_shape scalar = {.rank = 0};

    return eddy__emit_elements_after(e, control, EDDY_INT32, &scalar, &value);
}

eddy_output eddy__emit_cast(eddy__gradient_emitter *e, eddy_output x,
                            eddy_dtype dtype)
{
    const eddy_dtype from = eddy_graph_output_dtype(e->core.graph, x);
    const eddy_attr attrs[] = {eddy_attr_type("SrcT", &from),
                               eddy_attr_type("DstT", &dtype)};

    if (from == dtype)
        return x;
    return eddy__emit_spec(e, &(eddy_node_spec){.op = "Cast",
                                                .inputs = &x,
                                                .n_inputs = 1,
                                                .attrs = attrs,
                                                .n_attrs = 2});
}

bool eddy__emit_has_shape(const eddy_shape *shape)
{
    if (!eddy__shape_is_known(shape))
        return false;
    for (int32_t i = 0; i < shape->rank; i++)
        if (shape->dims[i] > INT32_MAX)
            return false;
    return true;
}

eddy_output eddy__emit_shape_after(eddy__gradient_emitter *e, eddy_node control,
                                   const eddy_shape *shape)
{
    const eddy_shape vector = {.rank = 1, .dims = {shape->rank}};
    int32_t dims[EDDY_MAX_RANK];

    for (int32_t i = 0; i < shape->rank; i++)
        dims[i] = (int32_t)shape->dims[i];
    return eddy__emit_elements_after(e, control, EDDY_INT32, &vector, dims);
}
