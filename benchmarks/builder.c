/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that the graphs of many benchmarks have. */
#include "benchmarks/builder.h"

#include <stdio.h>
#include <string.h>

void builder_init(builder *b, eddy_context *ctx)
{
    *b = (builder){.err = {.code = EDDY_OK}};
    b->e = eddy_emitter_of(NULL, &b->err);
    b->e.status = eddy_graph_create(ctx, &b->e.graph, &b->err);
}

void builder_deinit(builder *b)
{
    eddy_graph_destroy(b->e.graph);
    b->e.graph = NULL;
}

void builder_fail(builder *b, const char *message)
{
    b->e.status = EDDY_RESOURCE_EXHAUSTED;
    b->err = (eddy_error){.code = b->e.status, .detail = EDDY_E_MEMORY};
    snprintf(b->err.message, sizeof b->err.message, "%s", message);
}

static eddy_output then(builder *b, eddy_output constant, eddy_node after)
{
    if (after != EDDY_NO_NODE)
        eddy_emit_control(&b->e, constant.node, after);
    return constant;
}

eddy_output builder_int(builder *b, int32_t value, eddy_node after)
{
    return then(b, eddy_emit_int32(&b->e, value), after);
}

eddy_output builder_float(builder *b, float value, eddy_node after)
{
    return then(b, eddy_emit_float(&b->e, value), after);
}

eddy_output builder_feed(builder *b, eddy_dtype dtype)
{
    const eddy_shape shape = {.rank = 0};

    return eddy_emit_placeholder(&b->e, NULL, dtype, &shape);
}

eddy_output builder_enter(builder *b, const char *frame, eddy_output value,
                          bool is_invariant)
{
    const eddy_string name = {frame, strlen(frame)};
    const eddy_attr attrs[] = {
        eddy_attr_string("frame_name", &name),
        eddy_attr_bool("is_constant", &is_invariant),
    };

    return eddy_emit_op(&b->e, "Enter", &value, 1, attrs,
                        sizeof attrs / sizeof attrs[0]);
}
