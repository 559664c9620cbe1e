/* Making the nodes of a lowered graph: names, limits, copies of bodies. */
#include "core/base/status.h"
#include "frames/lower/lowering.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- names ---- */

/*
 * The first of base, base_1, base_2, ... that is free, in the arena.  `next`
 * keeps where to go on, by base.
 */
static const char *find_free(eddy__lowering *l, char *base, eddy__map *next,
                             bool (*is_free)(const eddy__lowering *l,
                                             const char *name))
{
    const size_t length = strlen(base);
    uint32_t suffix;
    char *name;

    if (is_free(l, base))
        return base;
    name = eddy__arena_allocate(&l->arena, length + 12, 1);
    if (!name)
        return NULL;
    suffix = eddy__map_find(next, base, length);
    if (suffix == EDDY__NOT_FOUND)
        suffix = 1;
    do {
        (void)snprintf(name, length + 12, "%s_%u", base, (unsigned)suffix++);
    } while (!is_free(l, name));
    return eddy__map_set(next, base, suffix) ? name : NULL;
}

static bool is_free_node(const eddy__lowering *l, const char *name)
{
    return eddy_graph_find(l->out, name) == EDDY_NO_NODE;
}

static bool is_free_frame(const eddy__lowering *l, const char *name)
{
    return eddy__map_find(&l->frames, name, strlen(name)) == EDDY__NOT_FOUND;
}

static char *join(eddy__lowering *l, const char *scope, const char *between,
                  const char *name)
{
    const size_t size = strlen(scope) + strlen(between) + strlen(name) + 1;
    char *text = eddy__arena_allocate(&l->arena, size, 1);

    if (text)
        (void)snprintf(text, size, "%s%s%s", scope, between, name);
    return text;
}

const char *eddy__lower_name(eddy__lowering *l, const char *scope,
                             const char *name)
{
    char *base = join(l, scope, "/", name);

    return base ? find_free(l, base, &l->suffixes, is_free_node) : NULL;
}

const char *eddy__lower_frame_name(eddy__lowering *l, const char *name)
{
    char *base = eddy__arena_text(&l->arena, name, strlen(name));
    const char *found =
        base ? find_free(l, base, &l->frames, is_free_frame) : NULL;

    /* A base that is taken keeps its own next suffix. */
    if (found && is_free_frame(l, found) &&
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

/* `n` inputs that are open. */
static eddy_status open_inputs(eddy__lowering *l, size_t n)
{
    size_t had = l->open_capacity;

    if (!eddy__grow(l->arena.allocator, (void **)&l->open, &l->open_capacity, n,
                    sizeof *l->open))
        return eddy__fail_memory(l->err);
    for (; had < l->open_capacity; had++)
        l->open[had] = (eddy_output){.node = EDDY_NO_NODE};
    return EDDY_OK;
}

/* `like` is the node that the new one is a copy of, or NULL. */
static eddy_status add(eddy__lowering *l, eddy_node_spec *spec,
                       const eddy__node *like, eddy_node *out_node)
{
    const eddy__add_options options = {
        .strict = true,
        .opaque = true,
        .host = like && like->op && like->op->flags & EDDY__OP_HOST,
        .forward_edges = true,
        .device = like ? like->device : NULL,
    };

    EDDY_TRY(eddy__lower_check_size(l));
    EDDY_TRY(open_inputs(l, spec->n_inputs));
    spec->size = sizeof *spec;
    spec->inputs = l->open;
    return eddy__graph_add(l->out, spec, &options, out_node, l->err);
}

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
    eddy_node_spec spec = {
        .op = make->op,
        .name = make->scope ? eddy__lower_name(l, make->scope, make->name)
                            : make->name,
        .n_inputs = make->n_inputs,
        .attrs = make->attrs,
        .n_attrs = make->n_attrs,
    };

    if (!spec.name)
        return eddy__fail_memory(l->err);
    EDDY_TRY(add(l, &spec, NULL, out_node));
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
                                frame_names *names, eddy_string *frame)
{
    uint32_t id = eddy__map_find(&names->numbers, frame->data, frame->length);
    char *text;

    if (id == EDDY__NOT_FOUND) {
        text = join(l, in->scope, in->call ? "/" : "", frame->data);
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
    *frame = (eddy_string){names->texts[id], strlen(names->texts[id])};
    return EDDY_OK;
}

/* Colocation is with a node of the body, by its name there. */
static bool is_dropped(const eddy__instance *in, const eddy_attr *attr)
{
    return in->call && strcmp(attr->name, "_class") == 0;
}

/*
 * The attributes of a copy go to l->attrs.  The frame of an Enter is one of the
 * instance's own; its name stands in `*frame`.
 */
static eddy_status take_attrs(eddy__lowering *l, const eddy__instance *in,
                              const eddy__node *node, frame_names *names,
                              eddy_string *frame, size_t *out_n)
{
    size_t n = 0;

    if (!eddy__grow(l->arena.allocator, (void **)&l->attrs, &l->attrs_capacity,
                    node->n_attrs, sizeof *l->attrs))
        return eddy__fail_memory(l->err);
    for (uint32_t i = 0; i < node->n_attrs; i++) {
        if (is_dropped(in, &node->attrs[i]))
            continue;
        l->attrs[n] = node->attrs[i];
        if (eddy__node_role(node) == EDDY__ROLE_ENTER &&
            strcmp(node->attrs[i].name, "frame_name") == 0) {
            *frame = node->attrs[i].as.strings[0];
            EDDY_TRY(rename_frame(l, in, names, frame));
            l->attrs[n] = eddy_attr_string("frame_name", frame);
        }
        n++;
    }
    *out_n = n;
    return EDDY_OK;
}

static eddy_status copy_node(eddy__lowering *l, eddy__instance *in,
                             eddy_node id, frame_names *names)
{
    const eddy__node *node = eddy__graph_node(in->routine->graph, id);
    eddy_string frame;
    eddy_node_spec spec = {
        .op = node->op_name,
        .name = node->name,
        .n_inputs = node->n_inputs,
    };

    EDDY_TRY(take_attrs(l, in, node, names, &frame, &spec.n_attrs));
    spec.attrs = l->attrs;
    if (in->call)
        spec.name = eddy__lower_name(l, in->scope, node->name);
    if (!spec.name)
        return eddy__fail_memory(l->err);
    EDDY_TRY(add(l, &spec, node, &in->made[id]));
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
