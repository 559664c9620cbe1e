/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies the graph node by node, outside and inside of the new loop, and
 * connects what crosses its edge.
 */
#include "frontends/nnc/nnc_copy.h"

#include "core/base/status.h"
#include "core/graph/edit.h"
#include "core/graph/names.h"
#include "frames/build/builder.h"

eddy_output eddy__nnc_look_up(const eddy__nnc_copier *c, eddy_output old)
{
    const eddy_nnc_split_spec *spec = c->r->spec;

    if (eddy__nnc_is(c->r, old.node, EDDY__NNC_INSIDE))
        return c->seen[c->first_output[old.node] + old.index];
    if (spec->counter && eddy__nnc_equal(*spec->counter, old))
        return c->count;
    for (size_t i = 0; i < spec->n_carried; i++)
        if (eddy__nnc_equal(spec->carried[i].to, old))
            return c->parameters[i];
    return (eddy_output){c->made[old.node], old.index};
}

/* ---- nodes outside ---- */

static bool is_back(const eddy__nnc_copier *c, eddy_node node, uint32_t input)
{
    return eddy__is_back_edge(
        &c->r->flow, eddy__nnc_old(c, node)->inputs[input].node, node, true);
}

/* A copy as it was, with open inputs. */
static eddy_status add_outside(eddy__nnc_copier *c, eddy_node node)
{
    const eddy__node_copy copy = {.of = eddy__nnc_old(c, node)};

    return eddy__copy_add(&c->copier, c->to, &copy, &c->made[node], c->err);
}

static eddy_status way_of_output(void *owner, eddy_output from,
                                 eddy_output *out)
{
    const eddy__nnc_copier *c = owner;

    *out = (eddy_output){c->made[from.node], from.index};
    return EDDY_OK;
}

static eddy_status way_of_control(void *owner, eddy_node from, eddy_node *out)
{
    const eddy__nnc_copier *c = owner;

    *out = c->made[from];
    return EDDY_OK;
}

static eddy_status connect_outside(eddy__nnc_copier *c, eddy_node node)
{
    const eddy__copy_ways ways = {way_of_output, way_of_control, c};

    return eddy__copy_connect(c->to, c->made[node], eddy__nnc_old(c, node),
                              &ways, c->err);
}

eddy_status eddy__nnc_copy_outside(eddy__nnc_copier *c, bool is_below)
{
    const size_t n = c->r->graph->n_nodes;

    for (eddy_node v = 0; v < n; v++)
        if (!eddy__nnc_is(c->r, v, EDDY__NNC_INSIDE) &&
            eddy__nnc_is(c->r, v, EDDY__NNC_BELOW) == is_below)
            EDDY_TRY(add_outside(c, v));
    for (eddy_node v = 0; v < n; v++)
        if (!eddy__nnc_is(c->r, v, EDDY__NNC_INSIDE) &&
            eddy__nnc_is(c->r, v, EDDY__NNC_BELOW) == is_below)
            EDDY_TRY(connect_outside(c, v));
    return EDDY_OK;
}

/* ---- nodes inside ---- */

/* The first is there; what a back edge brings comes when the part is copied. */
static void take_inputs(eddy__nnc_copier *c, eddy_node node)
{
    const eddy__node *from = eddy__nnc_old(c, node);
    uint32_t forward = 0;

    while (forward < from->n_inputs && is_back(c, node, forward))
        forward++;
    for (uint32_t i = 0; i < from->n_inputs; i++)
        c->inputs[i] = eddy__nnc_look_up(
            c, from->inputs[is_back(c, node, i) ? forward : i]);
}

/*
 * The part after needs no control edge from the part before: the condition
 * waits for those.
 */
static size_t take_controls(eddy__nnc_copier *c, eddy_node node)
{
    const eddy__node *from = eddy__nnc_old(c, node);
    const bool is_before = eddy__nnc_is(c->r, node, EDDY__NNC_BEFORE);
    size_t n = 0;

    for (uint32_t i = 0; i < from->n_controls; i++) {
        const eddy_node control = from->controls[i];

        if (!eddy__nnc_is(c->r, control, EDDY__NNC_INSIDE) ||
            eddy__nnc_is(c->r, control, EDDY__NNC_BEFORE) == is_before)
            c->controls[n++] = c->made[control];
    }
    if (is_before && eddy__nnc_is(c->r, node, EDDY__NNC_INCOMING) &&
        c->trip_end != EDDY_NO_NODE)
        c->controls[n++] = c->trip_end;
    return n;
}

/* A copy of a loop has a frame of its own; no name of one has a NUL byte. */
static eddy_status take_attrs(eddy__nnc_copier *c, const eddy__node *from,
                              const char *scope, eddy_node_spec *spec)
{
    eddy__node_copy copy = {.of = from};
    const eddy_attr *frame = eddy__node_role(from) == EDDY__ROLE_ENTER
                                 ? eddy__node_attr(from, "frame_name")
                                 : NULL;

    if (frame)
        copy.frame_name = eddy__names_print(&c->arena, "%s/inner/%.*s", scope,
                                            (int)frame->as.strings->length,
                                            frame->as.strings->data);
    if (!frame || copy.frame_name)
        spec->attrs = eddy__copier_attrs(&c->copier, &copy, &spec->n_attrs);
    return spec->attrs ? EDDY_OK : eddy__fail_memory(c->err);
}

/*
 * Nodes of an inner frame read what is in it alone, so they need nothing of
 * what the builder does for nodes of the loop that is being built.
 */
static eddy_status copy_inside(eddy__nnc_copier *c, eddy_node node,
                               const char *scope)
{
    const eddy__node *from = eddy__nnc_old(c, node);
    eddy__builder *b = c->to->builder;
    const eddy__site site = {eddy__builder_level(b), scope, from->name, false};
    eddy_node_spec spec = {
        .size = sizeof spec,
        .op = from->op_name,
        .inputs = c->inputs,
        .n_inputs = from->n_inputs,
        .controls = c->controls,
    };

    if (!from->op)
        return eddy__graph_fail_at(
            c->err, EDDY_NOT_FOUND, EDDY_E_UNKNOWN_OP, from,
            "'%.64s' is inside, and its op is unknown", from->name);
    take_inputs(c, node);
    spec.n_controls = take_controls(c, node);
    EDDY_TRY(take_attrs(c, from, scope, &spec));
    if (eddy__nnc_is_in_frame(c->r, node))
        EDDY_TRY(eddy__builder_place(b, site, &spec, &c->made[node], c->err));
    else
        EDDY_TRY(eddy__builder_adopt(b, site, &spec, &c->made[node], c->err));
    for (uint32_t i = 0; i < from->n_outputs; i++)
        c->seen[c->first_output[node] + i] = (eddy_output){c->made[node], i};
    return eddy__edit_device(c->to, c->made[node], from->device, c->err);
}

eddy_status eddy__nnc_copy_part(eddy__nnc_copier *c, const eddy_node *nodes,
                                size_t n)
{
    const bool is_first = eddy_construct_depth(c->to) == 0;
    const char *scope = is_first ? c->first : eddy_construct_scope(c->to);

    for (size_t i = 0; i < n; i++)
        EDDY_TRY(copy_inside(c, nodes[i], scope));
    for (size_t i = 0; i < n; i++) {
        const eddy__node *from = eddy__nnc_old(c, nodes[i]);

        for (uint32_t j = 0; j < from->n_inputs; j++)
            if (is_back(c, nodes[i], j))
                EDDY_TRY(eddy__graph_connect(
                    c->to, c->made[nodes[i]], j,
                    eddy__nnc_look_up(c, from->inputs[j]), c->err));
    }
    return EDDY_OK;
}
