/* Copies of nodes in their own graph. */
#include "frames/node_copy.h"

#include "runtime/base/status.h"

#include <string.h>

/* `frame` holds the text of the attribute. */
static size_t take_attrs(const eddy__node *node, const char *frame_name,
                         eddy_string *frame, eddy_attr *attrs)
{
    size_t n = 0;

    for (uint32_t i = 0; i < node->n_attrs; i++) {
        if (strcmp(node->attrs[i].name, "_class") == 0)
            continue;
        attrs[n] = node->attrs[i];
        if (frame_name && strcmp(attrs[n].name, "frame_name") == 0) {
            *frame = (eddy_string){frame_name, strlen(frame_name)};
            attrs[n] = eddy_attr_string("frame_name", frame);
        }
        n++;
    }
    return n;
}

eddy_status eddy__copy_node(eddy_graph *graph, const eddy__node_copy *copy,
                            eddy__arena *scratch, eddy_node *out_node,
                            eddy_error *err)
{
    const eddy__node node = *eddy__graph_node(graph, copy->of);
    const eddy__add_options options = {.strict = true,
                                       .opaque = true,
                                       .forward_edges = true,
                                       .device = node.device};
    eddy_output *open =
        eddy__arena_allocate(scratch, node.n_inputs, sizeof *open);
    eddy_attr *attrs =
        eddy__arena_allocate(scratch, node.n_attrs, sizeof *attrs);
    eddy_string frame;
    eddy_node_spec spec = {.size = sizeof spec,
                           .op = node.op_name,
                           .name = copy->name,
                           .inputs = open,
                           .n_inputs = node.n_inputs,
                           .attrs = attrs};

    if (!open || !attrs)
        return eddy__fail_memory(err);
    for (uint32_t i = 0; i < node.n_inputs; i++)
        open[i] = (eddy_output){EDDY_NO_NODE, 0};
    spec.n_attrs = take_attrs(&node, copy->frame_name, &frame, attrs);
    return eddy__graph_add(graph, &spec, &options, out_node, err);
}
