/* GraphDefs to graphs. */
#include "core/base/status.h"
#include "core/context.h"
#include "eddy/graphdef.h"
#include "interop/graphdef/foreign.h"
#include "interop/graphdef/loader.h"
#include "interop/shared/file.h"

#include <string.h>

/* The numbers of the fields that are found without unpacking. */
enum {
    GRAPH_NODE = 1,
    GRAPH_LIBRARY = 2,
    GRAPH_VERSIONS = 4,
    NODE_INPUT = 3,
    NODE_ATTR = 5,
};

const eddy__wire_format eddy__graphdef_format = {
    .max_depth = 64,
    .node = &eddy__pb__node_def__descriptor,
    .function = &eddy__pb__function_def__descriptor,
    .attr = &eddy__pb__attr_value__descriptor,
};

/* Longest part of an input that a message repeats. */
#define SHOWN 80

/* ---- failing ---- */

eddy_status eddy__load_fail(const eddy__loader *loader, eddy_detail detail,
                            const char *format, ...)
{
    va_list args;

    va_start(args, format);
    eddy__fail_v(loader->err, EDDY_INVALID_ARGUMENT, detail, format, args);
    va_end(args);
    if (loader->err && loader->node)
        eddy__copy_text(loader->err->node, sizeof loader->err->node,
                        loader->node, strlen(loader->node));
    if (loader->err && loader->op)
        eddy__copy_text(loader->err->op, sizeof loader->err->op, loader->op,
                        strlen(loader->op));
    return EDDY_INVALID_ARGUMENT;
}

eddy_status eddy__load_fail_unpack(const eddy__loader *loader)
{
    if (eddy__scratch_refused(&loader->scratch))
        return eddy__scratch_fail(&loader->scratch, loader->err);
    return eddy__load_fail(loader, EDDY_E_MALFORMED,
                           "a message that protobuf-c does not take");
}

/* ---- inputs ---- */

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

static int shown(eddy_string text)
{
    return (int)(text.length < SHOWN ? text.length : SHOWN);
}

eddy_status eddy__fail_unknown_input(const eddy__loader *loader,
                                     eddy_string name)
{
    return eddy__load_fail(loader, EDDY_E_UNKNOWN_INPUT,
                           "an input is '%.*s', and no node has that name",
                           shown(name), name.data);
}

bool eddy__read_index(eddy_string text, uint32_t *out_index)
{
    uint32_t index = 0;

    if (text.length == 0 || text.length > 9)
        return false;
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        index = index * 10 + (uint32_t)(text.data[i] - '0');
    }
    *out_index = index;
    return true;
}

/* "name" or "name:k". */
static eddy_status resolve_in_graph(eddy__loader *loader, eddy__body *body,
                                    eddy_string text, eddy_output *out_output)
{
    size_t length = text.length;
    eddy_output output = {.index = 0};

    for (size_t i = text.length; i > 0 && length == text.length; i--)
        if (text.data[i - 1] == ':')
            length = i - 1;
    if (length < text.length &&
        !eddy__read_index(
            (eddy_string){text.data + length + 1, text.length - length - 1},
            &output.index))
        return eddy__load_fail(loader, EDDY_E_OUTPUT_INDEX,
                               "an input is '%.*s'; what is after the colon is "
                               "no index",
                               shown(text), text.data);
    output.node = eddy__map_find(&body->graph->names, text.data, length);
    if (output.node == EDDY__NOT_FOUND)
        return eddy__fail_unknown_input(loader,
                                        (eddy_string){text.data, length});
    *out_output = output;
    return EDDY_OK;
}

/* ---- adding ---- */

uint64_t eddy__graph_bytes(const eddy_graph *graph)
{
    return graph->arena.bytes + sizeof *graph +
           graph->capacity * sizeof *graph->nodes +
           graph->names.capacity * sizeof *graph->names.entries +
           graph->function_names.capacity *
               sizeof *graph->function_names.entries +
           graph->controls.capacity * sizeof *graph->controls.slots +
           graph->functions_capacity * sizeof *graph->functions;
}

eddy_status eddy__charge_growth(eddy__loader *loader, const eddy_graph *graph,
                                uint64_t *bytes)
{
    uint64_t now = eddy__graph_bytes(graph);

    if (!eddy__scratch_charge(&loader->scratch, now - *bytes))
        return eddy__scratch_fail(&loader->scratch, loader->err);
    *bytes = now;
    return EDDY_OK;
}

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
                                   SHOWN, node->input[i]);
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
    eddy__wire wire = eddy__wire_fields(message.bytes, message.length);
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
            eddy__entry_value((eddy__message){field.data, field.length}),
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
    eddy__wire wire =
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
        EDDY_TRY(eddy__charge_growth(loader, body->graph, &bytes));
    }
    return EDDY_OK;
}

/* ---- connecting ---- */

static eddy_status connect_control(eddy__loader *loader, eddy__body *body,
                                   eddy_node node, eddy_string name)
{
    eddy_node from =
        eddy__map_find(&body->graph->names, name.data, name.length);

    if (from == EDDY__NOT_FOUND)
        return eddy__fail_unknown_input(loader, name);
    return eddy_graph_add_control(body->graph, node, from, loader->err);
}

static eddy_status connect_node(eddy__loader *loader, eddy__body *body,
                                eddy_node node, eddy__message message)
{
    eddy__wire wire = eddy__wire_fields(message.bytes, message.length);
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
    eddy__wire wire =
        eddy__wire_fields(body->message.bytes, body->message.length);
    uint64_t bytes = eddy__graph_bytes(body->graph);
    eddy__wire_field field;

    while (eddy__wire_next(&wire, &field)) {
        if (field.number != body->field)
            continue;
        EDDY_TRY(connect_node(loader, body, first++,
                              (eddy__message){field.data, field.length}));
        EDDY_TRY(eddy__charge_growth(loader, body->graph, &bytes));
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

/* ---- the whole ---- */

static eddy_status read_versions(eddy__loader *loader, eddy_graph *graph,
                                 eddy__message message)
{
    const Eddy__Pb__VersionDef *versions = eddy__pb__version_def__unpack(
        &loader->scratch.protobuf, message.length, message.bytes);

    if (!versions)
        return eddy__load_fail_unpack(loader);
    graph->producer = versions->producer;
    graph->min_consumer = versions->min_consumer;
    eddy__loader_reset(loader);
    return EDDY_OK;
}

static eddy_status read_graph(eddy__loader *loader, eddy_graph *graph,
                              eddy__message message)
{
    eddy__body body = {.graph = graph,
                       .message = message,
                       .field = GRAPH_NODE,
                       .resolve = resolve_in_graph};
    eddy__wire wire = eddy__wire_fields(message.bytes, message.length);
    eddy__wire_field field;

    graph->reader = &eddy__function_bytes;
    EDDY_TRY(eddy__load_nodes(loader, &body));
    while (eddy__wire_next(&wire, &field)) {
        eddy__message part = {field.data, field.length};

        if (field.number == GRAPH_VERSIONS)
            EDDY_TRY(read_versions(loader, graph, part));
        else if (field.number == GRAPH_LIBRARY)
            EDDY_TRY(eddy__read_library(loader, graph, part));
    }
    return EDDY_OK;
}

/* What is there is not worth beginning with if it can't fit. */
static eddy_status check_limits(const eddy__wire_summary *summary,
                                const eddy_graphdef_options *limits,
                                eddy_error *err)
{
    uint64_t least = summary->n_nodes * sizeof(eddy__node) +
                     summary->n_functions * sizeof(eddy__function) +
                     summary->n_attrs * sizeof(eddy_attr) +
                     summary->n_inputs * sizeof(eddy_node);

    if (limits->max_nodes > 0 && summary->n_nodes > limits->max_nodes)
        return eddy__fail(
            err, EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_NODES,
            "the graph and its functions have %zu nodes, %llu are "
            "allowed",
            summary->n_nodes, (unsigned long long)limits->max_nodes);
    if (least > limits->max_bytes)
        return eddy__fail(err, EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_BYTES,
                          "the graph takes at least %llu bytes, %llu are "
                          "allowed while it is loaded",
                          (unsigned long long)least,
                          (unsigned long long)limits->max_bytes);
    return EDDY_OK;
}

static const eddy_limits untrusted = {
    .size = sizeof untrusted,
    .max_nodes = UINT64_C(1) << 18,
    .max_bytes = UINT64_C(64) << 20,
    .timeout_ns = UINT64_C(400) * 1000 * 1000,
};

void eddy_graphdef_options_untrusted(eddy_graphdef_options *options)
{
    options->limits = &untrusted;
}

/* Options of another size have members that this version knows nothing of. */
static eddy_status copy_options(const eddy_graphdef_options *options,
                                eddy_graphdef_options *out_options,
                                eddy_error *err)
{
    *out_options = (eddy_graphdef_options){.size = sizeof *out_options};
    if (!options)
        return EDDY_OK;
    if (options->size == 0 || options->size > sizeof *out_options)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                          "options of %zu bytes, wanted up to %zu",
                          options->size, sizeof *out_options);
    memcpy(out_options, options, options->size);
    return EDDY_OK;
}

/* Takes the limits of the options and those of the budget together. */
static void join_limits(eddy_graphdef_options *options, eddy__budget *budget,
                        size_t length)
{
    options->max_nodes =
        eddy__lesser_limit(options->max_nodes, budget->limits.max_nodes);
    options->max_bytes =
        eddy__lesser_limit(options->max_bytes, budget->limits.max_bytes);
    if (options->max_bytes == 0)
        options->max_bytes = (uint64_t)length * EDDY__LOAD_BYTES_PER_BYTE +
                             EDDY__LOAD_FREE_BYTES;
    /* Those of the file have been counted before they are added. */
    budget->limits.max_nodes = 0;
}

static eddy_status read_within(eddy_context *ctx, eddy__message message,
                               const eddy_graphdef_options *options,
                               eddy__budget *budget, eddy_graph **out_graph,
                               eddy_error *err)
{
    eddy__wire_summary summary = {.n_nodes = 0};
    eddy__loader loader = {.ctx = ctx, .budget = budget, .err = err};
    eddy_graph *graph = NULL;
    eddy_status status;

    status = eddy__wire_check(&eddy__graphdef_format,
                              &eddy__pb__graph_def__descriptor, message,
                              &summary, err);
    if (status != EDDY_OK) {
        EDDY_TRY(eddy__foreign_bytes(message.bytes, message.length, err));
        return status;
    }
    EDDY_TRY(check_limits(&summary, options, err));
    EDDY_TRY(eddy__graph_create(ctx, budget, &graph, err));
    eddy__scratch_init(&loader.scratch, &budget->allocator, options->max_bytes);
    status = read_graph(&loader, graph, message);
    eddy__loader_reset(&loader);
    eddy__scratch_deinit(&loader.scratch);
    /* The graph outlives the budget. */
    eddy__graph_set_budget(graph, NULL);
    if (status != EDDY_OK)
        eddy_graph_destroy(graph);
    else
        *out_graph = graph;
    return status;
}

eddy_status eddy_graphdef_read(eddy_context *ctx, const void *bytes,
                               size_t length,
                               const eddy_graphdef_options *options,
                               eddy_graph **out_graph, eddy_error *err)
{
    eddy_graphdef_options copy;
    eddy__budget budget;

    EDDY_REFUSE_IF(!ctx, err, "no context");
    EDDY_REFUSE_IF(!out_graph, err, "nowhere to put the graph");
    EDDY_REFUSE_IF(!bytes && length > 0, err, "NULL for %zu bytes", length);
    EDDY_TRY(copy_options(options, &copy, err));
    EDDY_TRY(eddy__budget_begin(&budget, "loading", &ctx->allocator,
                                copy.limits, err));
    join_limits(&copy, &budget, length);
    return eddy__budget_end(&budget,
                            read_within(ctx, (eddy__message){bytes, length},
                                        &copy, &budget, out_graph, err),
                            err);
}

eddy_status eddy_graphdef_load(eddy_context *ctx, const char *path,
                               const eddy_graphdef_options *options,
                               eddy_graph **out_graph, eddy_error *err)
{
    size_t max = EDDY__WIRE_MAX_BYTES;
    eddy_graphdef_options copy;
    eddy__file file = {.length = 0};
    eddy_status status;

    EDDY_REFUSE_IF(!ctx, err, "no context");
    EDDY_REFUSE_IF(!path, err, "no path");
    EDDY_TRY(copy_options(options, &copy, err));
    if (copy.max_bytes > 0 && copy.max_bytes < max)
        max = (size_t)copy.max_bytes;
    EDDY_TRY(eddy__foreign_path(path, err));
    EDDY_TRY(eddy__file_read(&ctx->allocator, path, max, &file, err));
    status = eddy_graphdef_read(ctx, file.bytes, file.length, options,
                                out_graph, err);
    eddy__file_free(&file);
    return status;
}
