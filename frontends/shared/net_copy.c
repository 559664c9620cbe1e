/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies the nodes of a net on which the asked outputs depend, without
 * recursion; edges that go back are connected at the end.
 */
#include "frontends/shared/net_copy.h"

#include "core/base/status.h"
#include "core/graph/names.h"
#include "core/value/shape.h"

#include <string.h>

/* A node whose inputs, and then controls, are being looked at. */
struct eddy__net_visit {
    eddy_node node;
    uint32_t next;
};

/* In `copies`, of a node that is on the stack. */
#define BEING_COPIED (EDDY_NO_NODE - 1)

static const eddy_output nothing = {EDDY_NO_NODE, 0};

static void fail_memory(eddy__net_copy *c)
{
    eddy_emit_check(c->w, eddy__fail_memory(c->w->err));
}

void eddy__net_copy_begin(eddy__net_copy *c, eddy_emitter *w,
                          eddy__arena *arena, const eddy_graph *net)
{
    const size_t n = net->n_nodes;

    *c = (eddy__net_copy){
        .w = w, .arena = arena, .net = net, .copier = {.arena = arena}};
    c->values = eddy__arena_allocate(arena, n, sizeof *c->values);
    c->made_of = eddy__arena_allocate(arena, n, sizeof *c->made_of);
    c->copies = eddy__arena_allocate(arena, n, sizeof *c->copies);
    c->stack = eddy__arena_allocate(arena, n, sizeof *c->stack);
    c->merges = eddy__arena_allocate(arena, n, sizeof *c->merges);
    if (!c->values || !c->made_of || !c->copies || !c->stack || !c->merges) {
        fail_memory(c);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        c->values[i] = c->made_of[i] = nothing;
        c->copies[i] = EDDY_NO_NODE;
    }
}

/* ---- arguments ---- */

bool eddy__net_is_argument(const eddy_graph *net, eddy_node node)
{
    const char *op = net->nodes[node].op_name;

    return strcmp(op, "Placeholder") == 0 ||
           strcmp(op, "PlaceholderWithDefault") == 0;
}

eddy_status eddy__net_find_argument(const eddy_graph *net, const char *name,
                                    eddy_node *out, eddy_error *err)
{
    eddy_output found;

    EDDY_TRY(eddy_graph_find_output(net, name, &found, err));
    *out = found.node;
    if (eddy__net_is_argument(net, found.node))
        return EDDY_OK;
    return eddy__graph_fail_at(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                               &net->nodes[found.node],
                               "'%.64s' of the net is no Placeholder", name);
}

static eddy_shape declared_shape(const eddy_graph *net, eddy_node node)
{
    eddy_attr attr;

    return eddy_graph_node_attr(net, node, "shape", &attr) &&
                   attr.kind == EDDY_ATTR_SHAPE
               ? attr.as.shapes[0]
               : eddy__shape_unknown();
}

void eddy__net_bind(eddy__net_copy *c, eddy_node placeholder, eddy_output value)
{
    eddy_emitter *w = c->w;
    const eddy__node *node = &c->net->nodes[placeholder];
    const eddy_shape wanted = declared_shape(c->net, placeholder);
    const eddy_shape found = eddy__writer_shape_of(w, value);
    eddy_dtype dtype;

    if (w->status != EDDY_OK)
        return;
    dtype = eddy_graph_output_dtype(w->graph, value);
    if (dtype != (eddy_dtype)node->output_dtypes[0])
        w->status = eddy__graph_fail_at(
            w->err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE, node,
            "'%.64s' of the net is %s, and what it is linked to is %s",
            node->name, eddy_dtype_name((eddy_dtype)node->output_dtypes[0]),
            eddy_dtype_name(dtype));
    else if (!eddy__shape_compatible(&wanted, &found))
        w->status = eddy__graph_fail_at(
            w->err, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE, node,
            "'%.64s' of the net has shape %s, and what it is linked to %s",
            node->name, eddy__shape_print(&wanted).text,
            eddy__shape_print(&found).text);
    c->values[placeholder] = value;
}

/* One that nobody has bound. */
static void bind_by_name(eddy__net_copy *c, eddy_node placeholder)
{
    eddy_emitter *w = c->w;
    const eddy__node *node = &c->net->nodes[placeholder];
    const eddy_output found = {eddy_graph_find(w->graph, node->name), 0};

    if (found.node != EDDY_NO_NODE)
        eddy__net_bind(c, placeholder, found);
    else
        w->status = eddy__graph_fail_at(
            w->err, EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME, node,
            "'%.64s' of the net is linked to nothing, and the graph that the "
            "net is put into has no node of that name",
            node->name);
}

/* ---- one node ---- */

static eddy_output map(const eddy__net_copy *c, eddy_output output)
{
    return c->values[output.node].node != EDDY_NO_NODE
               ? c->values[output.node]
               : (eddy_output){c->copies[output.node], output.index};
}

static bool is_back_edge(const eddy_graph *net, const eddy__node *to,
                         eddy_node from)
{
    return eddy__node_role(to) == EDDY__ROLE_MERGE &&
           eddy__node_role(&net->nodes[from]) == EDDY__ROLE_NEXT_ITERATION;
}

/* Its inputs; that of a back edge is for now one that is there. */
static eddy_output *map_inputs(eddy__net_copy *c, const eddy__node *node)
{
    eddy_output *inputs =
        eddy__arena_allocate(c->arena, node->n_inputs, sizeof *inputs);
    uint32_t there = 0;

    if (!inputs)
        return NULL;
    while (there + 1 < node->n_inputs &&
           is_back_edge(c->net, node, node->inputs[there].node))
        there++;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const bool is_back = is_back_edge(c->net, node, node->inputs[i].node);

        inputs[i] = map(c, node->inputs[is_back ? there : i]);
    }
    return inputs;
}

static eddy_node *map_controls(eddy__net_copy *c, const eddy__node *node)
{
    eddy_node *controls =
        eddy__arena_allocate(c->arena, node->n_controls, sizeof *controls);

    for (uint32_t i = 0; controls && i < node->n_controls; i++)
        controls[i] = map(c, (eddy_output){node->controls[i], 0}).node;
    return controls;
}

/*
 * Its attributes; a frame gets the name of the construct that it comes to be
 * in, and a node is no longer held together with others.
 */
static const eddy_attr *map_attrs(eddy__net_copy *c, const eddy__node *node,
                                  size_t *out_n)
{
    const char *scope = eddy_construct_scope(c->w->graph);
    eddy__node_copy copy = {.of = node, .drops_class = true};
    const eddy_attr *frame = eddy__node_role(node) == EDDY__ROLE_ENTER
                                 ? eddy__node_attr(node, "frame_name")
                                 : NULL;

    if (frame) {
        copy.frame_name = eddy__names_print(
            c->arena, "%s%sstep/%.*s", scope ? scope : "",
            scope && *scope ? "/" : "", (int)frame->as.strings->length,
            frame->as.strings->data);
        if (!copy.frame_name)
            return NULL;
    }
    return eddy__copier_attrs(&c->copier, &copy, out_n);
}

static bool is_host(const eddy__node *node)
{
    return strncmp(node->op_name, "_Host", strlen("_Host")) == 0;
}

static void copy_node(eddy__net_copy *c, eddy_node id)
{
    eddy_emitter *w = c->w;
    const eddy__node *node = &c->net->nodes[id];
    eddy_node_spec spec = {
        .size = sizeof spec,
        .op = node->op_name,
        .name = eddy__names_print(c->arena, "step/%s", node->name),
        .inputs = map_inputs(c, node),
        .n_inputs = node->n_inputs,
        .controls = map_controls(c, node),
        .n_controls = node->n_controls,
    };

    spec.attrs = map_attrs(c, node, &spec.n_attrs);
    if (!spec.name || !spec.inputs || !spec.controls || !spec.attrs) {
        fail_memory(c);
        return;
    }
    if (is_host(node))
        w->status = eddy__graph_fail_at(
            w->err, EDDY_UNIMPLEMENTED, EDDY_E_ARGUMENT, node,
            "'%.64s' of the net calls the host, and can't be copied",
            node->name);
    else
        w->status = eddy_graph_add(w->graph, &spec, &c->copies[id], w->err);
    if (eddy__node_role(node) == EDDY__ROLE_MERGE)
        c->merges[c->n_merges++] = id;
}

/* ---- all that a node needs ---- */

static bool is_late(const eddy__net_copy *c, eddy_node id)
{
    return c->made_of[id].node != EDDY_NO_NODE;
}

/* How many nodes a node waits for: its inputs, then its controls. */
static uint32_t count_sources(const eddy__net_copy *c, eddy_node id)
{
    const eddy__node *node = &c->net->nodes[id];

    return is_late(c, id) ? 1 : node->n_inputs + node->n_controls;
}

static eddy_node source_of(const eddy__net_copy *c, eddy_node id, uint32_t i)
{
    const eddy__node *node = &c->net->nodes[id];

    if (is_late(c, id))
        return c->made_of[id].node;
    return i < node->n_inputs ? node->inputs[i].node
                              : node->controls[i - node->n_inputs];
}

static bool goes_back(const eddy__net_copy *c, eddy_node id, uint32_t i)
{
    const eddy__node *node = &c->net->nodes[id];

    return !is_late(c, id) && i < node->n_inputs &&
           is_back_edge(c->net, node, node->inputs[i].node);
}

/* A node that is not done is put on the stack, or bound if it is an argument.
 */
static void enter(eddy__net_copy *c, eddy_node id, size_t *depth)
{
    eddy_emitter *w = c->w;
    const eddy__node *node = &c->net->nodes[id];

    if (c->values[id].node != EDDY_NO_NODE)
        return;
    if (c->copies[id] == BEING_COPIED)
        w->status = eddy__graph_fail_at(
            w->err, EDDY_INVALID_ARGUMENT, EDDY_E_CYCLE, node,
            "'%.64s' of the net waits for itself", node->name);
    else if (c->copies[id] == EDDY_NO_NODE && !is_late(c, id) &&
             strcmp(node->op_name, "Placeholder") == 0)
        bind_by_name(c, id);
    else if (c->copies[id] == EDDY_NO_NODE) {
        c->copies[id] = BEING_COPIED;
        c->stack[(*depth)++] = (struct eddy__net_visit){id, 0};
    }
}

/* Copies a node after all that it waits for, but for back edges. */
static void copy_from(eddy__net_copy *c, eddy_node root)
{
    size_t depth = 0;

    enter(c, root, &depth);
    while (depth > 0 && c->w->status == EDDY_OK) {
        struct eddy__net_visit *top = &c->stack[depth - 1];
        const eddy_node id = top->node;

        if (top->next < count_sources(c, id)) {
            const uint32_t i = top->next++;

            if (!goes_back(c, id, i))
                enter(c, source_of(c, id, i), &depth);
        } else {
            depth--;
            if (is_late(c, id))
                c->bind_late(c, id, map(c, c->made_of[id]));
            else
                copy_node(c, id);
        }
    }
}

static void close_merge(eddy__net_copy *c, eddy_node id)
{
    eddy_emitter *w = c->w;
    const eddy__node *node = &c->net->nodes[id];

    for (uint32_t i = 0; i < node->n_inputs && w->status == EDDY_OK; i++) {
        if (!is_back_edge(c->net, node, node->inputs[i].node))
            continue;
        copy_from(c, node->inputs[i].node);
        if (w->status == EDDY_OK)
            w->status = eddy_graph_set_input(w->graph, c->copies[id], i,
                                             map(c, node->inputs[i]), w->err);
    }
}

eddy_output eddy__net_copy_output(eddy__net_copy *c, eddy_output output)
{
    if (c->w->status == EDDY_OK)
        copy_from(c, output.node);
    while (c->n_closed < c->n_merges && c->w->status == EDDY_OK)
        close_merge(c, c->merges[c->n_closed++]);
    return c->w->status == EDDY_OK ? map(c, output) : nothing;
}
