/* SPDX-License-Identifier: Apache-2.0 */
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
};

/* ---- inputs ---- */

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
        !eddy__load_index(
            (eddy_string){text.data + length + 1, text.length - length - 1},
            &output.index))
        return eddy__load_fail(loader, EDDY_E_OUTPUT_INDEX,
                               "an input is '%.*s'; what is after the colon is "
                               "no index",
                               eddy__load_shown(text), text.data);
    output.node = eddy__graph_find(body->graph, text.data, length);
    if (output.node == EDDY_NO_NODE)
        return eddy__load_fail_unknown_input(loader,
                                             (eddy_string){text.data, length});
    *out_output = output;
    return EDDY_OK;
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
    eddy__wire_cursor wire = eddy__wire_fields(message.bytes, message.length);
    eddy__wire_field field;

    graph->reader = &eddy__function_bytes;
    EDDY_TRY(eddy__load_nodes(loader, &body));
    while (eddy__wire_next(&wire, &field)) {
        eddy__message part = {field.data, field.length};

        if (field.number == GRAPH_VERSIONS)
            EDDY_TRY(read_versions(loader, graph, part));
        else if (field.number == GRAPH_LIBRARY)
            EDDY_TRY(eddy__load_library(loader, graph, part));
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
        eddy__budget_lesser(options->max_nodes, budget->limits.max_nodes);
    options->max_bytes =
        eddy__budget_lesser(options->max_bytes, budget->limits.max_bytes);
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
    /* A model's fields may all be unknown ones of a GraphDef. */
    if (status != EDDY_OK ||
        eddy__foreign_is_onnx(message.bytes, message.length))
        EDDY_TRY(eddy__foreign_bytes(message.bytes, message.length, err));
    EDDY_TRY(status);
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
