/* Copies of nodes in their own graph. */
#include "frames/unroll/node_copy.h"

#include "core/base/status.h"

#include <string.h>

/*
 * `texts` holds what attributes are changed to: the frame's name, and that of a
 * variable, which the copy must not have a second one of.
 */
static size_t take_attrs(const eddy__node *node, const char *frame_name,
                         eddy_string texts[2], eddy_attr *attrs)
{
    const bool names_itself = eddy__node_names_itself(node);
    size_t n = 0;

    for (uint32_t i = 0; i < node->n_attrs; i++) {
        if (strcmp(node->attrs[i].name, "_class") == 0)
            continue;
        attrs[n] = node->attrs[i];
        if (frame_name && strcmp(attrs[n].name, "frame_name") == 0) {
            texts[0] = (eddy_string){frame_name, strlen(frame_name)};
            attrs[n] = eddy_attr_string("frame_name", &texts[0]);
        }
        if (names_itself && strcmp(attrs[n].name, "shared_name") == 0) {
            texts[1] = (eddy_string){node->name, strlen(node->name)};
            attrs[n] = eddy_attr_string("shared_name", &texts[1]);
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
    eddy_string texts[2];
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
    spec.n_attrs = take_attrs(&node, copy->frame_name, texts, attrs);
    return eddy__graph_add(graph, &spec, &options, out_node, err);
}
