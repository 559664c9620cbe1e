/* SPDX-License-Identifier: Apache-2.0 */
/* Making the nodes of a lowered graph: names, limits, copies of bodies. */
#include "core/base/status.h"
#include "core/graph/names.h"
#include "frames/lower/lowering.h"

#include <assert.h>
#include <string.h>

/* ---- names ---- */

const char *eddy__lower_name(eddy__lowering *l, const char *scope,
                             const char *name)
{
    const eddy__names nodes = eddy__names_of_nodes(l->out);

    return eddy__names_free(&nodes, &l->arena,
                            eddy__names_print(&l->arena, "%s/%s", scope, name),
                            &l->suffixes);
}

const char *eddy__lower_frame_name(eddy__lowering *l, const char *name)
{
    const eddy__names frames = eddy__names_of_map(&l->frames);
    const char *base = eddy__arena_text(&l->arena, name, strlen(name));
    const char *found = eddy__names_free(&frames, &l->arena, base, &l->frames);

    /* A base that is taken keeps its own next suffix. */
    if (found && !frames.is_taken(frames.owner, found) &&
        !eddy__map_set(&l->frames, found, 1))
        return NULL;
    return found;
}

/* ---- limits ---- */

eddy_status eddy__lower_fail_size(const eddy__lowering *l)
{
    return eddy__fail(l->err, EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_NODES,
                      "lowering the calls of functions adds more than %llu "
                      "nodes",
                      (unsigned long long)l->max_nodes);
}

eddy_status eddy__lower_check_size(const eddy__lowering *l)
{
    const uint64_t n = l->out->n_nodes + l->n_instances;
    const uint64_t bytes = l->out->arena.bytes + l->arena.bytes;

    if (n > l->base_nodes && n - l->base_nodes > l->max_nodes)
        return eddy__lower_fail_size(l);
    if (bytes > l->base_bytes &&
        bytes - l->base_bytes > EDDY__MAX_LOWERED_BYTES)
        return eddy__fail(l->err, EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_BYTES,
                          "lowering the calls of functions takes more than "
                          "%llu bytes",
                          (unsigned long long)EDDY__MAX_LOWERED_BYTES);
    return EDDY_OK;
}

/* ---- adding ---- */

static eddy_status guard(eddy__lowering *l, eddy_node node,
                         eddy__instance *home)
{
    if (!eddy__grow(l->arena.allocator, (void **)&l->guarded,
                    &l->guarded_capacity, l->n_guarded + 1, sizeof *l->guarded))
        return eddy__fail_memory(l->err);
    l->guarded[l->n_guarded++] = (eddy__guarded){node, home};
    return EDDY_OK;
}

eddy_status eddy__lower_make(eddy__lowering *l, const eddy__make *make,
                             eddy_node *out_node)
{
    const eddy__add_options options = {
        .strict = true,
        .opaque = true,
        .forward_edges = true,
    };
    const eddy_node_spec spec = {
        .size = sizeof spec,
        .op = make->op,
        .name = make->scope ? eddy__lower_name(l, make->scope, make->name)
                            : make->name,
        .inputs = eddy__copier_open(&l->copier, make->n_inputs),
        .n_inputs = make->n_inputs,
        .attrs = make->attrs,
        .n_attrs = make->n_attrs,
    };

    if (!spec.name || !spec.inputs)
        return eddy__fail_memory(l->err);
    EDDY_TRY(eddy__lower_check_size(l));
    EDDY_TRY(eddy__graph_add(l->out, &spec, &options, out_node, l->err));
    return make->home ? guard(l, *out_node, make->home) : EDDY_OK;
}

eddy_status eddy__lower_make_unary(eddy__lowering *l, const eddy__make *make,
                                   eddy_dtype dtype, eddy__ref from,
                                   eddy_node *out_node)
{
    const eddy_attr attr = eddy_attr_type("T", &dtype);
    eddy__make unary = *make;

    unary.attrs = &attr;
    unary.n_attrs = 1;
    unary.n_inputs = 1;
    EDDY_TRY(eddy__lower_make(l, &unary, out_node));
    return eddy__lower_input(l, *out_node, 0, from);
}

eddy_status eddy__lower_input(eddy__lowering *l, eddy_node node, uint32_t index,
                              eddy__ref from)
{
    if (!eddy__grow(l->arena.allocator, (void **)&l->inputs,
                    &l->inputs_capacity, l->n_inputs + 1, sizeof *l->inputs))
        return eddy__fail_memory(l->err);
    l->inputs[l->n_inputs++] = (eddy__open_input){node, index, from};
    return EDDY_OK;
}

eddy_status eddy__lower_control(eddy__lowering *l, eddy_node node,
                                eddy__instance *instance, eddy_node from)
{
    const eddy__routine *routine = instance->routine;

    if (routine->kind[from] == EDDY__CALLED)
        instance->calls[routine->number[from]]->is_awaited = true;
    if (!eddy__grow(l->arena.allocator, (void **)&l->controls,
                    &l->controls_capacity, l->n_controls + 1,
                    sizeof *l->controls))
        return eddy__fail_memory(l->err);
    l->controls[l->n_controls++] = (eddy__open_control){node, instance, from};
    return EDDY_OK;
}

/* ---- copying bodies ---- */

/* The names of a body's own frames in the instance; each once. */
typedef struct frame_names {
    eddy__map numbers;
    const char **texts;
    size_t n, capacity;
} frame_names;

static eddy_status rename_frame(eddy__lowering *l, const eddy__instance *in,
                                frame_names *names, const eddy_string *frame,
                                const char **out)
{
    uint32_t id = eddy__map_find(&names->numbers, frame->data, frame->length);

    if (id == EDDY__NOT_FOUND) {
        const char *text = eddy__names_print(&l->arena, "%s%s%s", in->scope,
                                             in->call ? "/" : "", frame->data);

        id = (uint32_t)names->n;
        if (!text ||
            !eddy__grow(l->arena.allocator, (void **)&names->texts,
                        &names->capacity, names->n + 1, sizeof(const char *)))
            return eddy__fail_memory(l->err);
        names->texts[id] = eddy__lower_frame_name(l, text);
        if (!names->texts[id] ||
            !eddy__map_set(&names->numbers, frame->data, id))
            return eddy__fail_memory(l->err);
        names->n++;
    }
    assert(names->texts);
    *out = names->texts[id];
    return EDDY_OK;
}

/*
 * In an instance of a function, colocation is with nodes that have other names,
 * and the frame of an Enter is one of the instance's own.
 */
static eddy_status copy_node(eddy__lowering *l, eddy__instance *in,
                             eddy_node id, frame_names *names)
{
    const eddy__node *node = eddy__graph_node(in->routine->graph, id);
    eddy__node_copy copy = {
        .of = node,
        .name =
            in->call ? eddy__lower_name(l, in->scope, node->name) : node->name,
        .drops_class = in->call,
    };
    const eddy_attr *frame = eddy__node_role(node) == EDDY__ROLE_ENTER
                                 ? eddy__node_attr(node, "frame_name")
                                 : NULL;

    if (!copy.name)
        return eddy__fail_memory(l->err);
    if (frame)
        EDDY_TRY(rename_frame(l, in, names, &frame->as.strings[0],
                              &copy.frame_name));
    EDDY_TRY(eddy__lower_check_size(l));
    EDDY_TRY(eddy__copy_add(&l->copier, l->out, &copy, &in->made[id], l->err));
    return in->call ? guard(l, in->made[id], in) : EDDY_OK;
}

eddy_status eddy__lower_copy(eddy__lowering *l, eddy__instance *instance)
{
    const eddy__routine *routine = instance->routine;
    frame_names names = {.numbers = {.allocator = l->arena.allocator}};
    eddy_status status = EDDY_OK;

    for (eddy_node id = 0; id < routine->graph->n_nodes && status == EDDY_OK;
         id++)
        if (routine->kind[id] == EDDY__PLAIN)
            status = copy_node(l, instance, id, &names);
    eddy__map_deinit(&names.numbers);
    eddy__free(l->arena.allocator, names.texts, names.capacity,
               sizeof(const char *));
    return status;
}
