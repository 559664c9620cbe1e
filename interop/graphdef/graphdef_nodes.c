/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of a GraphDef or a FunctionDef: first added, then connected. */
#include "core/base/status.h"
#include "core/context.h"
#include "interop/graphdef/foreign.h"
#include "interop/graphdef/loader.h"

#include <string.h>

/* The numbers of the fields that are found without unpacking. */
enum {
    NODE_INPUT = 3,
    NODE_ATTR = 5,
};

/* An input as it stands in a node: "name", "name:k" or "^name". */
typedef struct input_text {
    eddy_string text; /* without '^' */
    bool is_control;
} input_text;

static input_text read_input(const uint8_t *data, size_t length)
{
    const char *text = (const char *)data;

    if (length > 0 && text[0] == '^')
        return (input_text){{text + 1, length - 1}, true};
    return (input_text){{text, length}, false};
}

/* ---- adding ---- */

static eddy_status count_inputs(const eddy__loader *loader,
                                const Eddy__Pb__NodeDef *node, size_t *out_n)
{
    size_t n = 0;

    for (size_t i = 0; i < node->n_input; i++) {
        bool is_control = node->input[i][0] == '^';

        if (!is_control && n < i)
            return eddy__load_fail(loader, EDDY_E_CONTROL_ORDER,
                                   "input '%.*s' comes after a control input; "
                                   "control inputs come last",
                                   eddy__load_shown((eddy_string){
                                       node->input[i], strlen(node->input[i])}),
                                   node->input[i]);
        n += !is_control;
    }
    *out_n = n;
    return EDDY_OK;
}

static eddy_status read_attrs(eddy__loader *loader, eddy__message message,
                              const Eddy__Pb__NodeDef *node,
                              eddy_attr **out_attrs)
{
    const eddy__op *op = eddy__registry_find(&loader->ctx->registry, node->op);
    eddy__wire_cursor wire = eddy__wire_fields(message.bytes, message.length);
    eddy_attr *attrs =
        eddy__scratch_allocate(&loader->scratch, node->n_attr, sizeof *attrs);
    eddy__wire_field field;
    size_t i = 0;

    if (!attrs)
        return eddy__scratch_fail(&loader->scratch, loader->err);
    while (i < node->n_attr && eddy__wire_next(&wire, &field)) {
        if (field.number != NODE_ATTR)
            continue;
        EDDY_TRY(eddy__read_attr(
            loader, op, node->attr[i]->key, node->attr[i]->value,
            eddy__load_entry_value((eddy__message){field.data, field.length}),
            &attrs[i]));
        i++;
    }
    *out_attrs = attrs;
    return EDDY_OK;
}

static eddy_status add_node(eddy__loader *loader, eddy_graph *graph,
                            eddy__message message)
{
    const eddy__add_options options = {
        .strict = true, .opaque = true, .forward_edges = true};
    eddy__add_options with_device = options;
    eddy_node_spec spec = {.size = sizeof spec};
    eddy_output *inputs;
    eddy_attr *attrs = NULL;
    Eddy__Pb__NodeDef *node = eddy__pb__node_def__unpack(
        &loader->scratch.protobuf, message.length, message.bytes);

    if (!node)
        return eddy__load_fail_unpack(loader);
    loader->node = node->name;
    loader->op = node->op;
    EDDY_TRY(count_inputs(loader, node, &spec.n_inputs));
    EDDY_TRY(read_attrs(loader, message, node, &attrs));
    inputs =
        eddy__scratch_allocate(&loader->scratch, spec.n_inputs, sizeof *inputs);
    if (!inputs)
        return eddy__scratch_fail(&loader->scratch, loader->err);
    for (size_t i = 0; i < spec.n_inputs; i++)
        inputs[i] = (eddy_output){.node = EDDY_NO_NODE};
    spec.op = node->op;
    spec.name = node->name;
    spec.inputs = inputs;
    spec.attrs = attrs;
    spec.n_attrs = node->n_attr;
    with_device.device = node->device;
    return eddy__graph_add(graph, &spec, &with_device, NULL, loader->err);
}

static eddy_status add_nodes(eddy__loader *loader, const eddy__body *body)
{
    eddy__wire_cursor wire =
        eddy__wire_fields(body->message.bytes, body->message.length);
    uint64_t bytes = eddy__graph_bytes(body->graph);
    eddy__wire_field field;

    while (eddy__wire_next(&wire, &field)) {
        eddy_status status;

        if (field.number != body->field)
            continue;
        status = add_node(loader, body->graph,
                          (eddy__message){field.data, field.length});
        eddy__loader_reset(loader);
        EDDY_TRY(status);
        EDDY_TRY(eddy__load_charge_growth(loader, body->graph, &bytes));
    }
    return EDDY_OK;
}

/* ---- connecting ---- */

static eddy_status connect_control(eddy__loader *loader, eddy__body *body,
                                   eddy_node node, eddy_string name)
{
    eddy_node from = eddy__graph_find(body->graph, name.data, name.length);

    if (from == EDDY_NO_NODE)
        return eddy__load_fail_unknown_input(loader, name);
    return eddy_graph_add_control(body->graph, node, from, loader->err);
}

static eddy_status connect_node(eddy__loader *loader, eddy__body *body,
                                eddy_node node, eddy__message message)
{
    eddy__wire_cursor wire = eddy__wire_fields(message.bytes, message.length);
    eddy__wire_field field;
    uint32_t index = 0;

    loader->node = body->graph->nodes[node].name;
    loader->op = body->graph->nodes[node].op_name;
    while (eddy__wire_next(&wire, &field)) {
        input_text input;
        eddy_output from = {.index = 0};

        if (field.number != NODE_INPUT)
            continue;
        input = read_input(field.data, field.length);
        if (input.is_control) {
            EDDY_TRY(connect_control(loader, body, node, input.text));
            continue;
        }
        EDDY_TRY(body->resolve(loader, body, input.text, &from));
        EDDY_TRY(
            eddy__graph_connect(body->graph, node, index++, from, loader->err));
    }
    return EDDY_OK;
}

static eddy_status connect_nodes(eddy__loader *loader, eddy__body *body,
                                 eddy_node first)
{
    eddy__wire_cursor wire =
        eddy__wire_fields(body->message.bytes, body->message.length);
    uint64_t bytes = eddy__graph_bytes(body->graph);
    eddy__wire_field field;

    while (eddy__wire_next(&wire, &field)) {
        if (field.number != body->field)
            continue;
        EDDY_TRY(connect_node(loader, body, first++,
                              (eddy__message){field.data, field.length}));
        EDDY_TRY(eddy__load_charge_growth(loader, body->graph, &bytes));
    }
    loader->node = NULL;
    loader->op = NULL;
    return EDDY_OK;
}

eddy_status eddy__load_nodes(eddy__loader *loader, eddy__body *body)
{
    eddy_node first = (eddy_node)body->graph->n_nodes;

    EDDY_TRY(add_nodes(loader, body));
    return connect_nodes(loader, body, first);
}
