/* SPDX-License-Identifier: Apache-2.0 */
/* The emitter of rewrites, with a sticky error. */
#include "core/graph/emit.h"

#include "core/base/status.h"
#include "core/graph/names.h"

#include <string.h>

bool eddy__emitter_keep(eddy__emitter *e, eddy_status status)
{
    if (e->status == EDDY_OK)
        e->status = status;
    return e->status == EDDY_OK;
}

bool eddy__emitter_need(eddy__emitter *e, const void *memory)
{
    if (e->status == EDDY_OK && !memory)
        e->status = eddy__fail_memory(e->err);
    return e->status == EDDY_OK;
}

static eddy_status add(eddy__emitter *e, const eddy_node_spec *spec,
                       eddy_node *out_node)
{
    eddy_node_spec sized = *spec;

    sized.size = sizeof sized;
    if (e->check)
        EDDY_TRY(e->check(e->owner, e->err));
    EDDY_TRY(eddy__graph_add(e->graph, &sized, &e->options, out_node, e->err));
    return e->note ? e->note(e->owner, *out_node, e->err) : EDDY_OK;
}

eddy_output eddy__emitter_add(eddy__emitter *e, const eddy_node_spec *spec)
{
    eddy_output out = EDDY__NO_OUTPUT;

    if (e->status == EDDY_OK)
        e->status = add(e, spec, &out.node);
    return e->status == EDDY_OK ? out : EDDY__NO_OUTPUT;
}

eddy_output eddy__emitter_add_as(eddy__emitter *e, const char *base,
                                 const eddy_node_spec *spec)
{
    eddy_node_spec named = *spec;
    uint32_t suffix = 0;
    eddy_output out;

    if (!eddy__emitter_need(e, base))
        return EDDY__NO_OUTPUT;
    named.name = eddy__name_make(e->graph, base, &suffix);
    if (!eddy__emitter_need(e, named.name))
        return EDDY__NO_OUTPUT;
    out = eddy__emitter_add(e, &named);
    if (e->status == EDDY_OK)
        eddy__name_taken(e->graph, base, suffix);
    return out;
}

eddy_output eddy__emitter_const(eddy__emitter *e, const eddy_node_spec *spec,
                                eddy_tensor *tensor)
{
    const eddy_dtype dtype = eddy_tensor_dtype(tensor);
    const eddy_attr attrs[] = {eddy_attr_tensor("value", &tensor),
                               eddy_attr_type("dtype", &dtype)};
    eddy_node_spec constant = *spec;

    constant.op = "Const";
    constant.attrs = attrs;
    constant.n_attrs = sizeof attrs / sizeof attrs[0];
    return eddy__emitter_add(e, &constant);
}

eddy_output eddy__emitter_elements(eddy__emitter *e, const eddy_node_spec *spec,
                                   eddy_dtype dtype, const eddy_shape *shape,
                                   const void *elements)
{
    eddy_output out = EDDY__NO_OUTPUT;
    eddy_tensor *tensor = NULL;

    if (e->status != EDDY_OK ||
        !eddy__emitter_keep(e, eddy_tensor_create(e->graph->ctx, dtype, shape,
                                                  &tensor, e->err)))
        return out;
    if (eddy_tensor_bytes(tensor) > 0)
        memcpy(eddy_tensor_mutable_data(tensor), elements,
               eddy_tensor_bytes(tensor));
    out = eddy__emitter_const(e, spec, tensor);
    eddy_tensor_release(tensor);
    return out;
}

eddy_output eddy__emitter_scalar(eddy__emitter *e, const eddy_node_spec *spec,
                                 eddy_dtype dtype, const void *value)
{
    const eddy_shape scalar = {.rank = 0};

    return eddy__emitter_elements(e, spec, dtype, &scalar, value);
}

void eddy__emitter_connect(eddy__emitter *e, eddy_node node, uint32_t index,
                           eddy_output from)
{
    if (e->status == EDDY_OK)
        e->status = eddy__graph_connect(e->graph, node, index, from, e->err);
}

void eddy__emitter_control(eddy__emitter *e, eddy_node node, eddy_node from)
{
    if (e->status == EDDY_OK)
        e->status = eddy__graph_add_control(e->graph, node, from, e->err);
}
