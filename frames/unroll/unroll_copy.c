/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of a loop's body.  First all nodes are added, with open inputs, since
 * inner loops have edges that go back; then they are connected.
 */
#include "core/base/status.h"
#include "core/graph/names.h"
#include "frames/unroll/unrolling.h"

/* ---- nodes ---- */

/* `<name>/<suffix>`, with a number where that is taken. */
static const char *free_name(eddy__unrolling *u, const eddy__names *names,
                             const char *name, const char *suffix)
{
    return eddy__names_free(names, &u->arena,
                            eddy__names_print(&u->arena, "%s/%s", name, suffix),
                            NULL);
}

const char *eddy__unroll_frame_name(eddy__unrolling *u, const char *name,
                                    const char *suffix)
{
    const eddy__names frames = eddy__names_of_map(&u->frame_names);
    const char *text = free_name(u, &frames, name, suffix);

    return text && eddy__map_set(&u->frame_names, text, 1) ? text : NULL;
}

/* What both kinds of nodes are added with. */
static eddy_node_spec spec_of(eddy__unrolling *u, const eddy__added *added)
{
    const eddy__names nodes = eddy__names_of_nodes(u->graph);

    return (eddy_node_spec){
        .op = added->op,
        .name = free_name(u, &nodes, added->name, added->suffix),
        .inputs = added->inputs,
        .n_inputs = added->n_inputs,
        .controls = added->controls,
        .n_controls = added->n_controls,
        .attrs = added->attrs,
        .n_attrs = added->n_attrs,
    };
}

eddy_status eddy__unroll_add(eddy__unrolling *u, const eddy__added *added,
                             eddy_output *out)
{
    const eddy_node_spec spec = spec_of(u, added);

    if (eddy__emitter_need(&u->emit, spec.name))
        *out = eddy__emitter_add(&u->emit, &spec);
    return u->emit.status;
}

eddy_status eddy__unroll_scalar(eddy__unrolling *u, const eddy__added *added,
                                eddy_dtype dtype, const void *value,
                                eddy_output *out)
{
    const eddy_node_spec spec = spec_of(u, added);

    if (eddy__emitter_need(&u->emit, spec.name))
        *out = eddy__emitter_scalar(&u->emit, &spec, dtype, value);
    return u->emit.status;
}

eddy_status eddy__unroll_identity(eddy__unrolling *u, eddy_node like,
                                  const char *suffix, eddy_output value,
                                  eddy_output *out)
{
    const eddy__added added = {
        .op = "Identity",
        .name = eddy__unroll_node(u, like)->name,
        .suffix = suffix,
        .inputs = &value,
        .n_inputs = 1,
    };

    return eddy__unroll_add(u, &added, out);
}

/* ---- what is read in place of a node ---- */

static eddy_status fail_dead(const eddy__unrolling *u, eddy_node from)
{
    return eddy__unroll_fail(u, from,
                             "its value is read where the loop goes on and "
                             "where it ends");
}

/* LoopCond as a value: true in a trip, false at the end. */
static eddy_status find_truth(eddy__unrolling *u, eddy__copied which,
                              eddy_output *out)
{
    const bool truth = which == EDDY__TRIP;
    const eddy__added added = {
        .op = "Const",
        .name = eddy__unroll_node(u, u->frame->loop_cond)->name,
        .suffix = u->suffix,
        .controls = &u->now[0].node,
        .n_controls = 1,
    };

    if (u->truth.node == EDDY_NO_NODE)
        EDDY_TRY(eddy__unroll_scalar(u, &added, EDDY_BOOL, &truth, &u->truth));
    *out = u->truth;
    return EDDY_OK;
}

eddy_status eddy__unroll_resolve(eddy__unrolling *u, eddy__copied which,
                                 eddy_output from, eddy_output *out)
{
    const uint32_t side = which == EDDY__TRIP ? 1 : 0;

    while (u->bits[from.node] & EDDY__CARRIER &&
           u->flow.role[from.node] == EDDY__ROLE_SWITCH) {
        if (from.index != side)
            return fail_dead(u, from.node);
        from = eddy__unroll_node(u, from.node)->inputs[0];
    }
    *out = (eddy_output){u->copy[from.node], from.index};
    if (u->variable_of[from.node] != 0)
        *out = u->now[u->variable_of[from.node] - 1];
    else if (from.node == u->frame->loop_cond)
        return find_truth(u, which, out);
    else if (u->bits[from.node] & EDDY__CARRIER)
        *out = u->use[from.node];
    return out->node != EDDY_NO_NODE ? EDDY_OK : fail_dead(u, from.node);
}

eddy_status eddy__unroll_waited(eddy__unrolling *u, eddy__copied which,
                                eddy_node from, eddy_node *out)
{
    eddy_output value = {from, which == EDDY__TRIP ? 1 : 0};

    if (u->flow.role[from] != EDDY__ROLE_SWITCH)
        value.index = 0;
    if (from == u->frame->loop_cond)
        value = u->now[0];
    else if (u->bits[from] & EDDY__CARRIER)
        EDDY_TRY(eddy__unroll_resolve(u, which, value, &value));
    else
        value.node = u->copy[from];
    *out = value.node;
    return *out != EDDY_NO_NODE ? EDDY_OK : fail_dead(u, from);
}

/* ---- copying ---- */

/* The frame of an Enter of an inner loop, in this copy. */
static eddy_status find_frame(eddy__unrolling *u, eddy_node enter,
                              const char **out)
{
    const uint32_t id = u->analysis->output_frame[enter];

    *out = u->frames[id];
    if (*out)
        return EDDY_OK;
    *out = eddy__unroll_frame_name(u, u->analysis->frames[id].name, u->suffix);
    if (!*out)
        return eddy__fail_memory(u->err);
    u->frames[id] = *out;
    u->named[u->n_named++] = id;
    return EDDY_OK;
}

static eddy_status add_copy(eddy__unrolling *u, eddy_node id)
{
    const eddy__names nodes = eddy__names_of_nodes(u->graph);
    const eddy__node *node = eddy__unroll_node(u, id);
    eddy__node_copy copy = {
        .of = node,
        .name = free_name(u, &nodes, node->name, u->suffix),
        .drops_class = true,
        .shares_resource = true,
    };

    if (!copy.name)
        return eddy__fail_memory(u->err);
    EDDY_TRY(eddy__unroll_check_size(u));
    if (u->flow.role[id] == EDDY__ROLE_ENTER)
        EDDY_TRY(find_frame(u, id, &copy.frame_name));
    return eddy__copy_add(&u->copier, u->graph, &copy, &u->copy[id], u->err);
}

/* Whose edges are being made. */
typedef struct connecting {
    eddy__unrolling *u;
    eddy__copied which;
} connecting;

static eddy_status way_of_output(void *owner, eddy_output from,
                                 eddy_output *out)
{
    const connecting *c = owner;

    return eddy__unroll_resolve(c->u, c->which, from, out);
}

static eddy_status way_of_control(void *owner, eddy_node from, eddy_node *out)
{
    const connecting *c = owner;

    return eddy__unroll_waited(c->u, c->which, from, out);
}

static eddy_status connect(eddy__unrolling *u, eddy__copied which, eddy_node id)
{
    connecting c = {.u = u, .which = which};
    const eddy__copy_ways ways = {
        .output = way_of_output,
        .control = way_of_control,
        .owner = &c,
    };

    return eddy__copy_connect(u->graph, u->copy[id], eddy__unroll_node(u, id),
                              &ways, u->err);
}

eddy_status eddy__unroll_copy_nodes(eddy__unrolling *u, eddy__copied which,
                                    const eddy_node *list, size_t n)
{
    while (u->n_named > 0)
        u->frames[u->named[--u->n_named]] = NULL;
    u->truth = EDDY__NO_OUTPUT;
    for (size_t i = 0; i < n; i++)
        EDDY_TRY(add_copy(u, list[i]));
    for (size_t i = 0; i < n; i++)
        EDDY_TRY(connect(u, which, list[i]));
    return EDDY_OK;
}

eddy_status eddy__unroll_copy(eddy__unrolling *u, eddy__copied which)
{
    for (size_t i = 0; i < u->n_body[EDDY__TRIP]; i++)
        u->copy[u->body[EDDY__TRIP][i]] = EDDY_NO_NODE;
    return eddy__unroll_copy_nodes(u, which, u->body[which], u->n_body[which]);
}
