/*
 * Copies of a loop's body.  First all nodes are added, with open inputs, since
 * inner loops have edges that go back; then they are connected.
 */
#include "core/base/status.h"
#include "core/context.h"
#include "frames/unroll/node_copy.h"
#include "frames/unroll/unrolling.h"

#include <stdio.h>
#include <string.h>

static const eddy_output no_output = {EDDY_NO_NODE, 0};

/* ---- names ---- */

typedef bool (*taken_fn)(const eddy__unrolling *u, const char *name);

static bool is_node(const eddy__unrolling *u, const char *name)
{
    return eddy_graph_find(u->graph, name) != EDDY_NO_NODE;
}

static bool is_frame(const eddy__unrolling *u, const char *name)
{
    return eddy__map_find(&u->frame_names, name, strlen(name)) !=
           EDDY__NOT_FOUND;
}

/* name/suffix, with _1, _2 where that is taken; NULL without memory. */
static char *free_name(eddy__unrolling *u, const char *name, const char *suffix,
                       taken_fn is_taken)
{
    const size_t size = strlen(name) + strlen(suffix) + 13;
    char *text = eddy__arena_allocate(&u->arena, size, 1);
    uint32_t number = 1;

    if (!text)
        return NULL;
    (void)snprintf(text, size, "%s/%s", name, suffix);
    while (is_taken(u, text))
        (void)snprintf(text, size, "%s/%s_%u", name, suffix,
                       (unsigned)number++);
    return text;
}

const char *eddy__unroll_frame_name(eddy__unrolling *u, const char *name,
                                    const char *suffix)
{
    char *text = free_name(u, name, suffix, is_frame);

    return text && eddy__map_set(&u->frame_names, text, 1) ? text : NULL;
}

/* ---- nodes ---- */

eddy_status eddy__unroll_fail_size(const eddy__unrolling *u)
{
    return eddy__fail(u->err, EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_NODES,
                      "unrolling loop '%.64s' makes a graph of more than %llu "
                      "nodes",
                      u->frame->name, (unsigned long long)u->max_nodes);
}

static eddy_status check_size(const eddy__unrolling *u)
{
    return u->graph->n_nodes < u->max_nodes ? EDDY_OK
                                            : eddy__unroll_fail_size(u);
}

eddy_status eddy__unroll_add(eddy__unrolling *u, const eddy__added *added,
                             eddy_output *out)
{
    const eddy__add_options options = {.strict = false};
    const eddy_node_spec spec = {
        .size = sizeof spec,
        .op = added->op,
        .name = free_name(u, added->name, added->suffix, is_node),
        .inputs = added->inputs,
        .n_inputs = added->n_inputs,
        .controls = added->controls,
        .n_controls = added->n_controls,
        .attrs = added->attrs,
        .n_attrs = added->n_attrs,
    };
    eddy_node node;

    if (!spec.name)
        return eddy__fail_memory(u->err);
    EDDY_TRY(check_size(u));
    /* An input may stand in `*out`. */
    EDDY_TRY(eddy__graph_add(u->graph, &spec, &options, &node, u->err));
    *out = (eddy_output){node, 0};
    return EDDY_OK;
}

eddy_status eddy__unroll_scalar(eddy__unrolling *u, const eddy__added *added,
                                eddy_dtype dtype, const void *value,
                                eddy_output *out)
{
    const eddy_shape scalar = {.rank = 0};
    eddy_tensor *tensor = NULL;
    const eddy_attr attrs[] = {eddy_attr_type("dtype", &dtype),
                               eddy_attr_tensor("value", &tensor)};
    eddy__added constant = *added;
    eddy_status status;

    EDDY_TRY(
        eddy_tensor_create(u->graph->ctx, dtype, &scalar, &tensor, u->err));
    memcpy(eddy_tensor_mutable_data(tensor), value, eddy_dtype_size(dtype));
    constant.attrs = attrs;
    constant.n_attrs = sizeof attrs / sizeof attrs[0];
    status = eddy__unroll_add(u, &constant, out);
    eddy_tensor_release(tensor);
    return status;
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

    if (!u->frames[id])
        u->frames[id] =
            eddy__unroll_frame_name(u, u->analysis->frames[id].name, u->suffix);
    *out = u->frames[id];
    return *out ? EDDY_OK : eddy__fail_memory(u->err);
}

static eddy_status add_copy(eddy__unrolling *u, eddy_node id)
{
    eddy__node_copy copy = {.of = id,
                            .name = free_name(u, eddy__unroll_node(u, id)->name,
                                              u->suffix, is_node)};

    if (!copy.name)
        return eddy__fail_memory(u->err);
    EDDY_TRY(check_size(u));
    if (u->flow.role[id] == EDDY__ROLE_ENTER)
        EDDY_TRY(find_frame(u, id, &copy.frame_name));
    return eddy__copy_node(u->graph, &copy, &u->arena, &u->copy[id], u->err);
}

static eddy_status connect(eddy__unrolling *u, eddy__copied which, eddy_node id)
{
    const eddy__node node = *eddy__unroll_node(u, id);

    for (uint32_t i = 0; i < node.n_inputs; i++) {
        eddy_output from = no_output;

        EDDY_TRY(eddy__unroll_resolve(u, which, node.inputs[i], &from));
        EDDY_TRY(eddy__graph_connect(u->graph, u->copy[id], i, from, u->err));
    }
    for (uint32_t i = 0; i < node.n_controls; i++) {
        eddy_node from = EDDY_NO_NODE;

        EDDY_TRY(eddy__unroll_waited(u, which, node.controls[i], &from));
        EDDY_TRY(eddy__graph_add_control(u->graph, u->copy[id], from, u->err));
    }
    return EDDY_OK;
}

eddy_status eddy__unroll_copy_nodes(eddy__unrolling *u, eddy__copied which,
                                    const eddy_node *list, size_t n)
{
    memset(u->frames, 0, u->analysis->n_frames * sizeof(const char *));
    u->truth = no_output;
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
