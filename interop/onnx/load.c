/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX models to graphs: the public calls, and the model's own graph. */
#include "core/base/status.h"
#include "core/context.h"
#include "core/graph/graph.h"
#include "interop/graphdef/foreign.h"
#include "interop/onnx/loader.h"
#include "interop/onnx/model.h"
#include "interop/shared/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* What a load may take unless it is told: so much a byte, and so much more. */
#define BYTES_PER_BYTE 16
#define FREE_BYTES ((uint64_t)64 << 20)

const eddy__wire_format eddy__onnx_format = {
    /* Three messages a graph inside a graph, and what is in the innermost. */
    .max_depth = 3 * EDDY__ONNX_MAX_DEPTH + 8,
    .node = &eddy__onnx_pb__node_proto__descriptor,
    .function = &eddy__onnx_pb__function_proto__descriptor,
    .attr = &eddy__onnx_pb__attribute_proto__descriptor,
};

/* The kinds are the same numbers inside and outside. */
_Static_assert((int)EDDY__ONNX_SEQUENCE == (int)EDDY_ONNX_SEQUENCE &&
                   (int)EDDY__ONNX_OPTIONAL == (int)EDDY_ONNX_OPTIONAL &&
                   (int)EDDY__ONNX_OPTIONAL_SEQUENCE ==
                       (int)EDDY_ONNX_OPTIONAL_SEQUENCE,
               "kinds are handed out as they are");

/* ---- the model's inputs ---- */

/* By name; the first of those that have one name. */
static eddy_status map_initializers(const eddy__onnx_loader *loader,
                                    eddy__map *map)
{
    const Eddy__OnnxPb__GraphProto *graph = loader->model->graph;

    for (size_t i = graph->n_initializer; i > 0; i--)
        if (!eddy__map_set(map,
                           eddy__onnx_text_of(graph->initializer[i - 1]->name),
                           (uint32_t)(i - 1)))
            return eddy__fail_memory(loader->w.err);
    return EDDY_OK;
}

static const Eddy__OnnxPb__TensorProto *
find_initializer(const Eddy__OnnxPb__GraphProto *graph, const eddy__map *map,
                 const char *name)
{
    const uint32_t i = eddy__map_find(map, name, strlen(name));

    return i == EDDY__NOT_FOUND ? NULL : graph->initializer[i];
}

/*
 * An Identity of a placeholder that nobody can feed: eddy_onnx_model_set_items
 * puts something in its place.
 */
static eddy_status add_list_input(eddy__onnx_loader *loader, const char *name,
                                  eddy_onnx_port *port)
{
    const eddy_shape scalar = {.rank = 0};
    eddy_output unset;

    EDDY_TRY(eddy_graph_add_placeholder(loader->w.graph, NULL, EDDY_VARIANT,
                                        &scalar, &unset, loader->w.err));
    return eddy_graph_add_op(loader->w.graph, "Identity", name, &unset, 1,
                             &port->output, loader->w.err);
}

/* A placeholder; for one with a default, an op that takes it if not fed. */
static eddy_status add_input(eddy__onnx_loader *loader, const char *name,
                             const Eddy__OnnxPb__TensorProto *initializer,
                             eddy_onnx_port *port)
{
    const bool is_tensor = port->kind == EDDY_ONNX_TENSOR;
    const eddy_attr shape = eddy_attr_shape("shape", &port->shape);
    const char *free_name = eddy__onnx_free_name(loader, name);
    eddy_node_spec spec = {.size = sizeof spec,
                           .op = "PlaceholderWithDefault",
                           .name = free_name,
                           .attrs = &shape,
                           .n_attrs = 1};
    eddy_tensor *tensor = NULL;
    eddy_output value;
    eddy_status status;

    if (!free_name)
        return eddy__scratch_fail(&loader->scratch, loader->w.err);
    if (!is_tensor)
        return add_list_input(loader, free_name, port);
    if (!initializer)
        return eddy_graph_add_placeholder(
            loader->w.graph, free_name, port->dtype,
            port->shape.rank >= 0 ? &port->shape : NULL, &port->output,
            loader->w.err);
    EDDY_TRY(
        eddy__onnx_read_tensor(loader, "initializer", initializer, &tensor));
    status = eddy_graph_add_const(loader->w.graph, NULL, tensor, &value,
                                  loader->w.err);
    eddy_tensor_release(tensor);
    EDDY_TRY(status);
    spec.inputs = &value;
    spec.n_inputs = 1;
    port->output.index = 0;
    return eddy_graph_add(loader->w.graph, &spec, &port->output.node,
                          loader->w.err);
}

static eddy_status read_port(eddy__onnx_loader *loader, eddy_onnx_model *model,
                             const Eddy__OnnxPb__ValueInfoProto *info,
                             eddy_onnx_port *port, eddy__onnx_value *declared)
{
    const char *name = eddy__onnx_text_of(info->name);

    *port = (eddy_onnx_port){.output = {EDDY_NO_NODE, 0}};
    EDDY_TRY(
        eddy__onnx_read_type(loader, name, info->type, declared, &port->shape));
    port->name = eddy__arena_text(&model->arena, name, strlen(name));
    port->kind = (eddy_onnx_kind)declared->kind;
    port->dtype = (eddy_dtype)declared->dtype;
    return port->name ? EDDY_OK : eddy__fail_memory(loader->w.err);
}

/*
 * Before IR version 4 every initializer had to be an input too, and was a
 * constant all the same; since then one that is both is a default.
 */
static eddy_status add_mapped(eddy__onnx_loader *loader, eddy_onnx_model *model,
                              const eddy__map *initializers)
{
    const Eddy__OnnxPb__GraphProto *graph = loader->model->graph;

    for (size_t i = 0; i < graph->n_input; i++) {
        const char *name = eddy__onnx_text_of(graph->input[i]->name);
        const Eddy__OnnxPb__TensorProto *initializer =
            find_initializer(graph, initializers, name);
        eddy_onnx_port *port = &model->inputs[model->n_inputs];
        eddy__onnx_value value;

        if (initializer && loader->model->ir_version < 4)
            continue;
        EDDY_TRY(read_port(loader, model, graph->input[i], port, &value));
        if (port->dtype == EDDY_INVALID)
            return eddy__fail(loader->w.err, EDDY_INVALID_ARGUMENT,
                              EDDY_E_DTYPE, "input '%.100s' has no type", name);
        port->has_default = initializer != NULL;
        EDDY_TRY(add_input(loader, name, initializer, port));
        value.output = port->output;
        EDDY_TRY(eddy__onnx_define(loader, name, value, false));
        model->n_inputs++;
    }
    return EDDY_OK;
}

static eddy_status add_inputs(eddy__onnx_loader *loader, eddy_onnx_model *model)
{
    eddy__map initializers = {.allocator = loader->scratch.allocator};
    eddy_status status = map_initializers(loader, &initializers);

    if (status == EDDY_OK)
        status = add_mapped(loader, model, &initializers);
    eddy__map_deinit(&initializers);
    return status;
}

/* ---- its outputs ---- */

/* Names that nodes on the way may not take. */
static eddy_status reserve_outputs(eddy__onnx_loader *loader)
{
    const Eddy__OnnxPb__GraphProto *graph = loader->model->graph;

    for (size_t i = 0; i < graph->n_output; i++) {
        const char *name = eddy__onnx_free_name(
            loader, eddy__onnx_text_of(graph->output[i]->name));

        if (!name)
            return eddy__scratch_fail(&loader->scratch, loader->w.err);
        if (!eddy__map_set(&loader->reserved, name, 0))
            return eddy__fail_memory(loader->w.err);
    }
    return EDDY_OK;
}

/* An Identity of the output's name, which nothing else has. */
static eddy_status add_output(eddy__onnx_loader *loader,
                              const eddy__onnx_value *value,
                              eddy_onnx_port *port)
{
    const char *name = eddy__onnx_free_name(loader, port->name);

    if (!name)
        return eddy__scratch_fail(&loader->scratch, loader->w.err);
    return eddy_graph_add_op(loader->w.graph, "Identity", name, &value->output,
                             1, &port->output, loader->w.err);
}

static eddy_status add_outputs(eddy__onnx_loader *loader,
                               eddy_onnx_model *model)
{
    const Eddy__OnnxPb__GraphProto *graph = loader->model->graph;

    eddy__map_clear(&loader->reserved);
    for (size_t i = 0; i < graph->n_output; i++) {
        eddy_onnx_port *port = &model->outputs[model->n_outputs];
        eddy__onnx_value value, declared;

        EDDY_TRY(read_port(loader, model, graph->output[i], port, &declared));
        EDDY_TRY(eddy__onnx_result(loader, graph, i, &value));
        if (port->dtype != EDDY_INVALID &&
            (port->kind != (eddy_onnx_kind)value.kind ||
             !eddy__onnx_same_dtype(&declared, &value)))
            return eddy__fail(loader->w.err, EDDY_INVALID_ARGUMENT,
                              EDDY_E_INPUT_DTYPE,
                              "output '%.100s' is declared as %s and is %s",
                              port->name, eddy__onnx_value_dtype(&declared),
                              eddy__onnx_value_dtype(&value));
        port->kind = (eddy_onnx_kind)value.kind;
        if (value.dtype != EDDY_INVALID)
            port->dtype = (eddy_dtype)value.dtype;
        EDDY_TRY(add_output(loader, &value, port));
        model->n_outputs++;
    }
    return EDDY_OK;
}

/* ---- the whole ---- */

static eddy_status emit_model(eddy__onnx_loader *loader, eddy_onnx_model *model)
{
    const Eddy__OnnxPb__GraphProto *graph = loader->model->graph;

    if (graph->n_output == 0)
        return eddy__fail(loader->w.err, EDDY_INVALID_ARGUMENT,
                          EDDY_E_MALFORMED, "the graph has no outputs");
    model->inputs = eddy__arena_allocate(&model->arena, graph->n_input,
                                         sizeof *model->inputs);
    model->outputs = eddy__arena_allocate(&model->arena, graph->n_output,
                                          sizeof *model->outputs);
    if (!model->inputs || !model->outputs)
        return eddy__fail_memory(loader->w.err);
    EDDY_TRY(add_inputs(loader, model));
    EDDY_TRY(reserve_outputs(loader));
    EDDY_TRY(eddy__onnx_emit_graph(loader, graph));
    return add_outputs(loader, model);
}

static eddy_status emit_in_scope(eddy__onnx_loader *loader,
                                 eddy_onnx_model *model)
{
    eddy__onnx_scope scope;
    eddy_status status;

    EDDY_TRY(eddy__onnx_scope_begin(loader, &scope, false));
    status = emit_model(loader, model);
    eddy__onnx_scope_end(loader, &scope);
    loader->scope = NULL;
    return status;
}

static eddy_status unpack(eddy__onnx_loader *loader, eddy__message message)
{
    eddy__wire_summary summary = {.n_nodes = 0};
    eddy_error *err = loader->w.err;

    EDDY_TRY(eddy__wire_check(&eddy__onnx_format,
                              &eddy__onnx_pb__model_proto__descriptor, message,
                              &summary, err));
    loader->model = eddy__onnx_pb__model_proto__unpack(
        &loader->scratch.protobuf, message.length, message.bytes);
    if (loader->model)
        return EDDY_OK;
    if (eddy__scratch_refused(&loader->scratch))
        return eddy__scratch_fail(&loader->scratch, err);
    return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_MALFORMED,
                      "the bytes are no ONNX model");
}

/* The builder that made the loops has the budget's memory. */
static void drop_builder(eddy_graph *graph)
{
    if (graph->builder)
        graph->calls->destroy(graph->builder);
    graph->builder = NULL;
}

static eddy_status read_within(eddy__onnx_loader *loader, eddy__message message,
                               uint64_t max_bytes, eddy_onnx_model *model)
{
    const eddy_allocator *allocator = &loader->budget->allocator;
    eddy_status status;

    EDDY_TRY(eddy__graph_create(loader->ctx, loader->budget, &model->graph,
                                loader->w.err));
    loader->w.graph = model->graph;
    loader->functions.allocator = allocator;
    loader->suffixes.allocator = allocator;
    loader->reserved.allocator = allocator;
    eddy__scratch_init(&loader->scratch, allocator, max_bytes);
    status = unpack(loader, message);
    if (status == EDDY_OK)
        status = eddy__onnx_check_model(loader);
    if (status == EDDY_OK)
        status = emit_in_scope(loader, model);
    eddy__map_deinit(&loader->functions);
    eddy__map_deinit(&loader->suffixes);
    eddy__map_deinit(&loader->reserved);
    eddy__scratch_deinit(&loader->scratch);
    drop_builder(model->graph);
    /* The graph outlives the budget. */
    eddy__graph_set_budget(model->graph, NULL);
    return status;
}

static const eddy_limits untrusted = {
    .size = sizeof untrusted,
    .max_nodes = UINT64_C(1) << 18,
    .max_bytes = UINT64_C(64) << 20,
    .timeout_ns = UINT64_C(400) * 1000 * 1000,
};

void eddy_onnx_options_untrusted(eddy_onnx_options *options)
{
    options->limits = &untrusted;
}

/* Options of another size have members that this version knows nothing of. */
static eddy_status copy_options(const eddy_onnx_options *options,
                                eddy_onnx_options *out_options, eddy_error *err)
{
    *out_options = (eddy_onnx_options){.size = sizeof *out_options};
    if (!options)
        return EDDY_OK;
    if (options->size == 0 || options->size > sizeof *out_options)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                          "options of %zu bytes, wanted up to %zu",
                          options->size, sizeof *out_options);
    memcpy(out_options, options, options->size);
    return EDDY_OK;
}

static eddy_status read_model(eddy__onnx_loader *loader, eddy__message message,
                              const eddy_onnx_options *options,
                              eddy_onnx_model **out_model)
{
    eddy_context *ctx = loader->ctx;
    eddy_error *err = loader->w.err;
    uint64_t max_bytes = options->max_bytes;
    eddy_onnx_model *model;
    eddy__budget budget;
    eddy_status status;

    EDDY_TRY(eddy__budget_begin(&budget, "loading", &ctx->allocator,
                                options->limits, err));
    max_bytes = eddy__budget_lesser(max_bytes, budget.limits.max_bytes);
    loader->outside.max_bytes = max_bytes;
    if (max_bytes == 0)
        max_bytes = (uint64_t)message.length * BYTES_PER_BYTE + FREE_BYTES;
    model = eddy__allocate_zeroed(&ctx->allocator, 1, sizeof *model);
    if (!model)
        return eddy__fail_memory(err);
    model->ctx = ctx;
    model->arena.allocator = &ctx->allocator;
    loader->budget = &budget;
    loader->find = eddy__onnx_find;
    status = eddy__budget_end(
        &budget, read_within(loader, message, max_bytes, model), err);
    /* What is left of the load points at the budget, which ends here. */
    *loader = (eddy__onnx_loader){.ctx = ctx, .outside = loader->outside};
    if (status != EDDY_OK)
        eddy_onnx_model_destroy(model);
    else
        *out_model = model;
    return status;
}

eddy_status eddy_onnx_read(eddy_context *ctx, const void *bytes, size_t length,
                           const eddy_onnx_options *options,
                           eddy_onnx_model **out_model, eddy_error *err)
{
    eddy__onnx_loader loader = {
        .ctx = ctx, .w = {.err = err}, .outside.folder = -1};
    eddy_onnx_options copy;

    EDDY_REFUSE_IF(!ctx, err, "no context");
    EDDY_REFUSE_IF(!out_model, err, "nowhere to put the model");
    EDDY_REFUSE_IF(!bytes && length > 0, err, "NULL for %zu bytes", length);
    EDDY_TRY(copy_options(options, &copy, err));
    loader.outside.is_allowed = copy.external_data;
    return read_model(&loader, (eddy__message){bytes, length}, &copy,
                      out_model);
}

/* Opens the folder that a file is in. */
static eddy_status open_folder(const eddy_allocator *allocator,
                               const char *path, int *out_folder,
                               eddy_error *err)
{
    const char *slash = strrchr(path, '/');
    const size_t n = slash ? (size_t)(slash - path) + 1 : 1;
    char *folder = eddy__allocate(allocator, n + 1, 1);

    if (!folder)
        return eddy__fail_memory(err);
    memcpy(folder, slash ? path : ".", n);
    folder[n] = '\0';
    *out_folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    eddy__free(allocator, folder, n + 1, 1);
    if (*out_folder >= 0)
        return EDDY_OK;
    return eddy__fail(err, EDDY_NOT_FOUND, EDDY_E_IO,
                      "the folder of '%.200s' cannot be opened", path);
}

eddy_status eddy_onnx_load(eddy_context *ctx, const char *path,
                           const eddy_onnx_options *options,
                           eddy_onnx_model **out_model, eddy_error *err)
{
    eddy__onnx_loader loader = {
        .ctx = ctx, .w = {.err = err}, .outside.folder = -1};
    size_t max = EDDY__WIRE_MAX_BYTES;
    eddy__file file = {.length = 0};
    eddy_onnx_options copy;
    eddy_status status;

    EDDY_REFUSE_IF(!ctx, err, "no context");
    EDDY_REFUSE_IF(!path, err, "no path");
    EDDY_REFUSE_IF(!out_model, err, "nowhere to put the model");
    EDDY_TRY(copy_options(options, &copy, err));
    if (copy.max_bytes > 0 && copy.max_bytes < max)
        max = (size_t)copy.max_bytes;
    loader.outside.is_allowed = copy.external_data;
    EDDY_TRY(eddy__file_read(&ctx->allocator, path, max, &file, err));
    status = copy.external_data ? open_folder(&ctx->allocator, path,
                                              &loader.outside.folder, err)
                                : EDDY_OK;
    if (status == EDDY_OK)
        status = read_model(&loader, (eddy__message){file.bytes, file.length},
                            &copy, out_model);
    if (loader.outside.folder >= 0)
        (void)close(loader.outside.folder);
    eddy__file_free(&file);
    return status;
}

/* ---- the model ---- */

void eddy_onnx_model_destroy(eddy_onnx_model *model)
{
    const eddy_allocator *allocator;

    if (!model)
        return;
    allocator = &model->ctx->allocator;
    if (!model->is_taken)
        eddy_graph_destroy(model->graph);
    eddy__arena_destroy(&model->arena);
    eddy__free(allocator, model, 1, sizeof *model);
}

eddy_graph *eddy_onnx_model_graph(const eddy_onnx_model *model)
{
    return model->graph;
}

eddy_graph *eddy_onnx_model_take_graph(eddy_onnx_model *model)
{
    model->is_taken = true;
    return model->graph;
}

const eddy_onnx_port *eddy_onnx_model_inputs(const eddy_onnx_model *model,
                                             size_t *out_n)
{
    *out_n = model->n_inputs;
    return model->inputs;
}

const eddy_onnx_port *eddy_onnx_model_outputs(const eddy_onnx_model *model,
                                              size_t *out_n)
{
    *out_n = model->n_outputs;
    return model->outputs;
}

const eddy_onnx_port *eddy_onnx_model_find(const eddy_onnx_model *model,
                                           const char *name)
{
    for (size_t i = 0; i < model->n_inputs; i++)
        if (strcmp(model->inputs[i].name, name) == 0)
            return &model->inputs[i];
    for (size_t i = 0; i < model->n_outputs; i++)
        if (strcmp(model->outputs[i].name, name) == 0)
            return &model->outputs[i];
    return NULL;
}

bool eddy_onnx_is_model(const void *bytes, size_t length)
{
    return eddy__foreign_is_onnx(bytes, length);
}
