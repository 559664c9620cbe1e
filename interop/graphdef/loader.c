/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all parts of the GraphDef reader ask: how it fails, what it may take,
 * and small pieces of text.
 */
#include "interop/graphdef/loader.h"

#include "core/base/status.h"

#include <string.h>

const eddy__wire_format eddy__graphdef_format = {
    .max_depth = 64,
    .node = &eddy__pb__node_def__descriptor,
    .function = &eddy__pb__function_def__descriptor,
    .attr = &eddy__pb__attr_value__descriptor,
};

/* Longest part of an input that a message repeats. */
#define SHOWN 80

/* ---- failing ---- */

eddy_status eddy__load_fail(const eddy__loader *loader, eddy_detail detail,
                            const char *format, ...)
{
    va_list args;

    va_start(args, format);
    eddy__fail_v(loader->err, EDDY_INVALID_ARGUMENT, detail, format, args);
    va_end(args);
    if (loader->err && loader->node)
        eddy__copy_text(loader->err->node, sizeof loader->err->node,
                        loader->node, strlen(loader->node));
    if (loader->err && loader->op)
        eddy__copy_text(loader->err->op, sizeof loader->err->op, loader->op,
                        strlen(loader->op));
    return EDDY_INVALID_ARGUMENT;
}

eddy_status eddy__load_fail_unpack(const eddy__loader *loader)
{
    if (eddy__scratch_refused(&loader->scratch))
        return eddy__scratch_fail(&loader->scratch, loader->err);
    return eddy__load_fail(loader, EDDY_E_MALFORMED,
                           "a message that protobuf-c does not take");
}

/* ---- texts ---- */

int eddy__load_shown(eddy_string text)
{
    return (int)(text.length < SHOWN ? text.length : SHOWN);
}

eddy_status eddy__load_fail_unknown_input(const eddy__loader *loader,
                                          eddy_string name)
{
    return eddy__load_fail(loader, EDDY_E_UNKNOWN_INPUT,
                           "an input is '%.*s', and no node has that name",
                           eddy__load_shown(name), name.data);
}

bool eddy__load_index(eddy_string text, uint32_t *out_index)
{
    uint32_t index = 0;

    if (text.length == 0 || text.length > 9)
        return false;
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        index = index * 10 + (uint32_t)(text.data[i] - '0');
    }
    *out_index = index;
    return true;
}

/* ---- limits ---- */

uint64_t eddy__graph_bytes(const eddy_graph *graph)
{
    return graph->arena.bytes + sizeof *graph +
           graph->capacity * sizeof *graph->nodes +
           graph->names.capacity * sizeof *graph->names.entries +
           graph->function_names.capacity *
               sizeof *graph->function_names.entries +
           graph->controls.capacity * sizeof *graph->controls.slots +
           graph->functions_capacity * sizeof *graph->functions;
}

eddy_status eddy__load_charge_growth(eddy__loader *loader,
                                     const eddy_graph *graph, uint64_t *bytes)
{
    uint64_t now = eddy__graph_bytes(graph);

    if (!eddy__scratch_charge(&loader->scratch, now - *bytes))
        return eddy__scratch_fail(&loader->scratch, loader->err);
    *bytes = now;
    return EDDY_OK;
}
