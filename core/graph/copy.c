/* SPDX-License-Identifier: Apache-2.0 */
/* The one copier of nodes: attributes, then the node, then its edges. */
#include "core/graph/copy.h"

#include "core/base/status.h"

#include <string.h>

/* eddy__grow, but what is outgrown stays with the arena. */
static bool make_room(eddy__arena *arena, void **array, size_t *capacity,
                      size_t n, size_t size)
{
    const size_t wanted = n > 2 * *capacity ? n : 2 * *capacity;
    void *room;

    if (*array && n <= *capacity)
        return true;
    room = eddy__arena_allocate(arena, wanted, size);
    if (!room)
        return false;
    *array = room;
    *capacity = wanted;
    return true;
}

const eddy_output *eddy__copier_open(eddy__copier *c, size_t n)
{
    const size_t had = c->open ? c->open_capacity : 0;

    if (!make_room(c->arena, (void **)&c->open, &c->open_capacity, n,
                   sizeof *c->open))
        return NULL;
    if (c->open_capacity != had)
        for (size_t i = 0; i < c->open_capacity; i++)
            c->open[i] = (eddy_output){EDDY_NO_NODE, 0};
    return c->open;
}

const eddy_attr *eddy__copier_attrs(eddy__copier *c,
                                    const eddy__node_copy *copy, size_t *out_n)
{
    const eddy__node *of = copy->of;
    const bool is_named = copy->shares_resource && eddy__node_names_itself(of);
    size_t n = 0;

    if (!make_room(c->arena, (void **)&c->attrs, &c->attrs_capacity,
                   of->n_attrs, sizeof *c->attrs))
        return NULL;
    for (uint32_t i = 0; i < of->n_attrs; i++) {
        const char *name = of->attrs[i].name;

        if (copy->drops_class && strcmp(name, "_class") == 0)
            continue;
        c->attrs[n] = of->attrs[i];
        if (copy->frame_name && strcmp(name, "frame_name") == 0) {
            c->frame_name = (eddy_string){.data = copy->frame_name,
                                          .length = strlen(copy->frame_name)};
            c->attrs[n] = eddy_attr_string("frame_name", &c->frame_name);
        }
        if (is_named && strcmp(name, "shared_name") == 0) {
            c->shared_name =
                (eddy_string){.data = of->name, .length = strlen(of->name)};
            c->attrs[n] = eddy_attr_string("shared_name", &c->shared_name);
        }
        n++;
    }
    *out_n = n;
    return c->attrs;
}

eddy_status eddy__copy_add(eddy__copier *c, eddy_graph *graph,
                           const eddy__node_copy *copy, eddy_node *out_node,
                           eddy_error *err)
{
    const eddy__node *of = copy->of;
    const eddy__add_options options = {
        .strict = true,
        .opaque = true,
        .host = of->op && of->op->flags & EDDY__OP_HOST,
        .forward_edges = true,
        .device = of->device,
    };
    eddy_node_spec spec = {
        .size = sizeof spec,
        .op = of->op_name,
        .name = copy->name ? copy->name : of->name,
        .inputs = eddy__copier_open(c, of->n_inputs),
        .n_inputs = of->n_inputs,
    };

    spec.attrs = eddy__copier_attrs(c, copy, &spec.n_attrs);
    if (!spec.inputs || !spec.attrs)
        return eddy__fail_memory(err);
    return eddy__graph_add(graph, &spec, &options, out_node, err);
}

eddy_status eddy__copy_connect(eddy_graph *graph, eddy_node node,
                               const eddy__node *of,
                               const eddy__copy_ways *ways, eddy_error *err)
{
    /* `of` may be of the same graph, whose nodes move as it grows. */
    const eddy__node old = *of;

    for (uint32_t i = 0; i < old.n_inputs; i++) {
        eddy_output from = {EDDY_NO_NODE, 0};

        EDDY_TRY(ways->output(ways->owner, old.inputs[i], &from));
        EDDY_TRY(eddy__graph_connect(graph, node, i, from, err));
    }
    for (uint32_t i = 0; i < old.n_controls; i++) {
        eddy_node from = EDDY_NO_NODE;

        EDDY_TRY(ways->control(ways->owner, old.controls[i], &from));
        if (from != EDDY_NO_NODE)
            EDDY_TRY(eddy__graph_add_control(graph, node, from, err));
    }
    return EDDY_OK;
}
