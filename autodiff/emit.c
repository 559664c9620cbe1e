/* Adding nodes to the graph that is being differentiated. */
#include "autodiff/walk.h"

#include "core/base/status.h"
#include "core/graph/name.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

eddy_status eddy__walk_fail(eddy__walk *w, eddy_status code, eddy_detail detail,
                            eddy_node at, const char *format, ...)
{
    char text[sizeof w->err->message];
    va_list args;

    if (w->status != EDDY_OK)
        return w->status;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (at == EDDY_NO_NODE)
        w->status = eddy__fail(w->err, code, detail, "%s", text);
    else
        w->status = eddy__fail_at(w->err, code, detail,
                                  eddy__graph_node(w->graph, at), "%s", text);
    return w->status;
}

void eddy__keep(eddy__walk *w, eddy__output_map *map, eddy_output key,
                uint64_t tag, eddy_output value)
{
    if (w->status == EDDY_OK && !eddy__output_map_add(map, key, tag, value))
        w->status = eddy__fail_memory(w->err);
}

/* `<prefix>/<forward node>/<op>`; NULL without memory. */
static const char *make_base(eddy__walk *w, const char *op)
{
    const char *at =
        w->at == EDDY_NO_NODE ? "" : eddy__graph_node(w->graph, w->at)->name;
    const size_t size = strlen(w->prefix) + strlen(at) + strlen(op) + 3;
    char *base = eddy__arena_allocate(&w->graph->arena, size, 1);

    op += *op == '_';
    if (base)
        snprintf(base, size, "%s/%s%s%s", w->prefix, at, *at ? "/" : "", op);
    return base;
}

/*
 * A rewrite goes into loops and branches that have ended, and into those that
 * are open, so it adds nodes as they stand; levels.c says where they live.
 */
static eddy_status add_node(eddy__walk *w, const eddy_node_spec *spec,
                            eddy_node *out_node)
{
    const eddy__add_options options = {.strict = false};
    const eddy_status status =
        eddy__graph_add(w->graph, spec, &options, out_node, w->err);

    if (status == EDDY_OK && w->late.is_on && !eddy__late_note(w, *out_node))
        return eddy__fail_memory(w->err);
    return status;
}

/* Adds `spec` under its name, or one that no node has. */
static eddy_output add(eddy__walk *w, eddy_node_spec *spec)
{
    const char *base = make_base(w, spec->op);
    eddy_output out = EDDY__NO_OUTPUT;
    uint32_t suffix;

    spec->size = sizeof *spec;
    if (spec->name) {
        w->status = add_node(w, spec, &out.node);
        return w->status == EDDY_OK ? out : EDDY__NO_OUTPUT;
    }
    spec->name = base ? eddy__name_make(w->graph, base, &suffix) : NULL;
    if (!spec->name) {
        w->status = eddy__fail_memory(w->err);
        return out;
    }
    w->status = add_node(w, spec, &out.node);
    if (w->status != EDDY_OK)
        return EDDY__NO_OUTPUT;
    eddy__name_taken(w->graph, base, suffix);
    out.index = 0;
    return out;
}

static bool all_there(const eddy_output *inputs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!eddy__is_output(inputs[i]))
            return false;
    return true;
}

eddy_output eddy__emit_spec(eddy__walk *w, const eddy_node_spec *spec)
{
    eddy_node_spec own = *spec;

    if (w->status != EDDY_OK)
        return EDDY__NO_OUTPUT;
    if (!all_there(spec->inputs, spec->n_inputs)) {
        eddy__walk_fail(w, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT, w->at,
                        "its gradient adds a node of op %s with an input that "
                        "does not exist",
                        spec->op);
        return EDDY__NO_OUTPUT;
    }
    return add(w, &own);
}

eddy_output eddy__emit_after(eddy__walk *w, eddy_node control, const char *op,
                             const eddy_output *inputs, size_t n_inputs)
{
    return eddy__emit_spec(
        w, &(eddy_node_spec){.op = op,
                             .inputs = inputs,
                             .n_inputs = n_inputs,
                             .controls = &control,
                             .n_controls = control != EDDY_NO_NODE});
}

void eddy__emit_control(eddy__walk *w, eddy_node node, eddy_node from)
{
    if (w->status == EDDY_OK)
        w->status = eddy__graph_add_control(w->graph, node, from, w->err);
}

void eddy__emit_back_edge(eddy__walk *w, eddy_output merge, eddy_output next)
{
    if (w->status == EDDY_OK)
        w->status = eddy__graph_connect(w->graph, merge.node, 1, next, w->err);
}

/* `node_name` NULL: any that is free. */
static eddy_output emit_enter(eddy__walk *w, eddy_output from,
                              const char *frame, const char *node_name,
                              int64_t parallel, bool is_constant)
{
    const eddy_string text = {.data = frame, .length = strlen(frame)};
    const eddy_attr attrs[] = {eddy_attr_string("frame_name", &text),
                               eddy_attr_int("parallel_iterations", &parallel),
                               eddy_attr_bool("is_constant", &is_constant)};
    eddy_node_spec spec = {.op = "Enter",
                           .name = node_name,
                           .inputs = &from,
                           .n_inputs = 1,
                           .attrs = attrs,
                           .n_attrs = 3};

    return w->status == EDDY_OK ? add(w, &spec) : EDDY__NO_OUTPUT;
}

eddy_output eddy__emit_enter(eddy__walk *w, eddy_output from, const char *frame,
                             int64_t parallel, bool is_constant)
{
    return emit_enter(w, from, frame, NULL, parallel, is_constant);
}

eddy_output eddy__emit_first_enter(eddy__walk *w, eddy_output from,
                                   const char *frame, int64_t parallel)
{
    return emit_enter(w, from, frame, frame, parallel, false);
}

eddy_output eddy__emit_const(eddy__walk *w, eddy_tensor *tensor)
{
    const eddy_dtype dtype = eddy_tensor_dtype(tensor);
    const eddy_attr attrs[] = {eddy_attr_tensor("value", &tensor),
                               eddy_attr_type("dtype", &dtype)};

    /* In the body of a loop a control edge says in which. */
    return eddy__emit_spec(w, &(eddy_node_spec){.op = "Const",
                                                .controls = &w->anchor,
                                                .n_controls = w->home != 0,
                                                .attrs = attrs,
                                                .n_attrs = 2});
}

eddy_output eddy__emit_elements(eddy__walk *w, eddy_dtype dtype,
                                const eddy_shape *shape, const void *elements)
{
    eddy_output out = EDDY__NO_OUTPUT;
    eddy_tensor *tensor;

    if (w->status != EDDY_OK)
        return out;
    w->status =
        eddy_tensor_create(w->graph->ctx, dtype, shape, &tensor, w->err);
    if (w->status != EDDY_OK)
        return out;
    if (eddy_tensor_count(tensor) > 0)
        memcpy(eddy_tensor_mutable_data(tensor), elements,
               eddy_dtype_size(dtype) * (size_t)eddy_tensor_count(tensor));
    out = eddy__emit_const(w, tensor);
    eddy_tensor_release(tensor);
    return out;
}

eddy_output eddy__emit_int(eddy__walk *w, int32_t value)
{
    const eddy_shape scalar = {.rank = 0};

    return eddy__emit_elements(w, EDDY_INT32, &scalar, &value);
}
