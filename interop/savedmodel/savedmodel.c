/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SavedModels: the folder, the graph of it that has the wanted tag, and its
 * signatures.  The message is walked before it is unpacked, and the graph in it
 * goes to the reader of GraphDefs as the bytes that it is.
 */
#include "interop/savedmodel/model.h"

#include "core/base/status.h"
#include "core/context.h"
#include "core/value/dtype.h"
#include "eddy/graphdef.h"
#include "interop/savedmodel/savedmodel.pb-c.h"
#include "interop/shared/file.h"
#include "interop/shared/scratch.h"
#include "interop/shared/wire.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What a load may take unless it is told: so much a byte, and so much more. */
#define BYTES_PER_BYTE 16
#define FREE_BYTES ((uint64_t)64 << 20)

static const eddy__wire_format format = {.max_depth = 16};

/* The signature and the collections that hold what is to run once. */
static const char initial_signature[] = "__saved_model_init_op";
static const char *const initial_collections[] = {"saved_model_main_op",
                                                  "legacy_init_op"};

typedef struct reader {
    eddy_savedmodel *model;
    const Eddy__Saved__MetaGraphDef *meta;
    eddy_error *err;
} reader;

static eddy_status copy_text(const reader *r, const char *text,
                             const char **out_text)
{
    *out_text = eddy__arena_text(&r->model->arena, text, strlen(text));
    return *out_text ? EDDY_OK : eddy__fail_memory(r->err);
}

/* ---- signatures ---- */

static eddy_shape read_shape(const Eddy__Saved__TensorShape *shape)
{
    eddy_shape out = {.rank = -1};

    if (!shape || shape->unknown_rank || shape->n_dim > EDDY_MAX_RANK)
        return out;
    out.rank = (int32_t)shape->n_dim;
    for (size_t i = 0; i < shape->n_dim; i++)
        out.dims[i] = shape->dim[i]->size < 0 ? -1 : shape->dim[i]->size;
    return out;
}

static int compare_ports(const void *a, const void *b)
{
    const eddy_savedmodel_port *left = a, *right = b;

    return strcmp(left->name, right->name);
}

static eddy_status read_port(const reader *r,
                             const Eddy__Saved__TensorEntry *entry,
                             eddy_savedmodel_port *port)
{
    const Eddy__Saved__TensorInfo *info = entry->value;

    EDDY_TRY(copy_text(r, entry->key, &port->name));
    if (!info || info->name[0] == '\0')
        return eddy__fail(r->err, EDDY_UNIMPLEMENTED, EDDY_E_VALUE,
                          "'%.100s' of a signature is no plain tensor",
                          entry->key);
    port->dtype = eddy__dtype_from_tf(info->dtype);
    port->shape = read_shape(info->tensor_shape);
    return eddy_graph_find_output(r->model->graph, info->name, &port->output,
                                  r->err);
}

static eddy_status read_ports(const reader *r,
                              Eddy__Saved__TensorEntry *const *entries,
                              size_t n, const eddy_savedmodel_port **out_ports)
{
    eddy_savedmodel_port *ports =
        eddy__arena_allocate_zeroed(&r->model->arena, n + 1, sizeof *ports);

    if (!ports)
        return eddy__fail_memory(r->err);
    for (size_t i = 0; i < n; i++)
        EDDY_TRY(read_port(r, entries[i], &ports[i]));
    qsort(ports, n, sizeof *ports, compare_ports);
    *out_ports = ports;
    return EDDY_OK;
}

static int compare_signatures(const void *a, const void *b)
{
    const eddy_savedmodel_signature *left = a, *right = b;

    return strcmp(left->name, right->name);
}

/* Its only output names the node. */
static eddy_status read_initial(const reader *r,
                                const Eddy__Saved__SignatureDef *signature)
{
    if (signature->n_outputs == 0 || !signature->outputs[0]->value)
        return EDDY_OK;
    return copy_text(r, signature->outputs[0]->value->name, &r->model->initial);
}

static eddy_status read_signatures(const reader *r)
{
    eddy_savedmodel *model = r->model;
    const size_t n = r->meta->n_signature_def;

    model->signatures = eddy__arena_allocate_zeroed(&model->arena, n + 1,
                                                    sizeof *model->signatures);
    if (!model->signatures)
        return eddy__fail_memory(r->err);
    for (size_t i = 0; i < n; i++) {
        const Eddy__Saved__SignatureEntry *entry = r->meta->signature_def[i];
        eddy_savedmodel_signature *s = &model->signatures[model->n_signatures];

        if (!entry->value)
            continue;
        if (strcmp(entry->key, initial_signature) == 0) {
            EDDY_TRY(read_initial(r, entry->value));
            continue;
        }
        EDDY_TRY(copy_text(r, entry->key, &s->name));
        s->n_inputs = entry->value->n_inputs;
        s->n_outputs = entry->value->n_outputs;
        EDDY_TRY(read_ports(r, entry->value->inputs, s->n_inputs, &s->inputs));
        EDDY_TRY(
            read_ports(r, entry->value->outputs, s->n_outputs, &s->outputs));
        model->n_signatures++;
    }
    qsort(model->signatures, model->n_signatures, sizeof *model->signatures,
          compare_signatures);
    return EDDY_OK;
}

/* ---- what is run after loading ---- */

static eddy_status read_collections(const reader *r)
{
    const size_t n = sizeof initial_collections / sizeof *initial_collections;

    for (size_t i = 0; i < r->meta->n_collection_def; i++) {
        const Eddy__Saved__CollectionEntry *entry = r->meta->collection_def[i];
        const Eddy__Saved__CollectionDef__NodeList *nodes =
            entry->value ? entry->value->node_list : NULL;

        for (size_t k = 0; k < n && nodes && nodes->n_value > 0; k++)
            if (strcmp(entry->key, initial_collections[k]) == 0)
                EDDY_TRY(copy_text(r, nodes->value[0], &r->model->initial));
    }
    return EDDY_OK;
}

static eddy_status read_saver(const reader *r, const char *path)
{
    static const char rest[] = "/variables/variables";
    eddy_savedmodel *model = r->model;
    const size_t length = strlen(path);
    char *variables =
        eddy__arena_allocate(&model->arena, length + sizeof rest, 1);

    if (!variables)
        return eddy__fail_memory(r->err);
    memcpy(variables, path, length);
    memcpy(variables + length, rest, sizeof rest);
    model->variables = variables;
    if (!r->meta->saver_def)
        return EDDY_OK;
    EDDY_TRY(copy_text(r, r->meta->saver_def->filename_tensor_name,
                       &model->filename));
    return copy_text(r, r->meta->saver_def->restore_op_name, &model->restore);
}

/* ---- the whole ---- */

/* The graph with that tag; NULL if there is none. */
static const Eddy__Saved__MetaGraphDef *
find_graph(const Eddy__Saved__SavedModel *saved, const char *tag)
{
    for (size_t i = 0; i < saved->n_meta_graphs; i++) {
        const Eddy__Saved__MetaGraphDef__MetaInfoDef *info =
            saved->meta_graphs[i]->meta_info_def;

        for (size_t k = 0; info && k < info->n_tags; k++)
            if (strcmp(info->tags[k], tag) == 0)
                return saved->meta_graphs[i];
    }
    return NULL;
}

static eddy_status read_meta(reader *r, const char *path,
                             const eddy_savedmodel_options *options)
{
    const eddy_graphdef_options how = {.size = sizeof how,
                                       .max_bytes = options->max_bytes,
                                       .limits = options->limits};
    const ProtobufCBinaryData *graph = &r->meta->graph_def;

    EDDY_TRY(eddy_graphdef_read(r->model->ctx, graph->data, graph->len, &how,
                                &r->model->graph, r->err));
    EDDY_TRY(read_saver(r, path));
    EDDY_TRY(read_collections(r));
    return read_signatures(r);
}

static eddy_status read_file(eddy_savedmodel *model, const char *path,
                             eddy__message message,
                             const eddy_savedmodel_options *options,
                             eddy_error *err)
{
    const char *tag = options->tag ? options->tag : "serve";
    reader r = {.model = model, .err = err};
    uint64_t max = options->max_bytes;
    const Eddy__Saved__SavedModel *saved;
    eddy__wire_summary summary;
    eddy__scratch scratch;
    eddy_status status;

    EDDY_TRY(eddy__wire_check(&format, &eddy__saved__saved_model__descriptor,
                              message, &summary, err));
    if (max == 0)
        max = (uint64_t)message.length * BYTES_PER_BYTE + FREE_BYTES;
    eddy__scratch_init(&scratch, &model->ctx->allocator, max);
    saved = eddy__saved__saved_model__unpack(&scratch.protobuf, message.length,
                                             message.bytes);
    if (saved)
        r.meta = find_graph(saved, tag);
    if (r.meta)
        status = read_meta(&r, path, options);
    else if (saved)
        status = eddy__fail(err, EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME,
                            "none of the %zu graphs of the SavedModel has the "
                            "tag '%.100s'",
                            saved->n_meta_graphs, tag);
    else
        status = eddy__scratch_fail(&scratch, err);
    eddy__scratch_deinit(&scratch);
    return status;
}

/* The path of saved_model.pb; false if it is too long. */
static bool name_file(const char *folder, char path[PATH_MAX])
{
    const int n = snprintf(path, PATH_MAX, "%s/saved_model.pb", folder);

    return n > 0 && n < PATH_MAX;
}

bool eddy_savedmodel_is_there(const char *path)
{
    char file[PATH_MAX];
    struct stat info;

    return path && name_file(path, file) && stat(file, &info) == 0 &&
           S_ISREG(info.st_mode);
}

static eddy_status load(eddy_savedmodel *model, const char *path,
                        const eddy_savedmodel_options *options, eddy_error *err)
{
    size_t max = EDDY__WIRE_MAX_BYTES;
    eddy__file file = {.length = 0};
    char name[PATH_MAX];
    eddy_status status;

    if (!name_file(path, name))
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_IO,
                          "a path of more than %d bytes", PATH_MAX);
    if (options->max_bytes > 0 && options->max_bytes < max)
        max = (size_t)options->max_bytes;
    EDDY_TRY(eddy__file_read(&model->ctx->allocator, name, max, &file, err));
    status = read_file(model, path, (eddy__message){file.bytes, file.length},
                       options, err);
    eddy__file_free(&file);
    return status;
}

eddy_status eddy_savedmodel_load(eddy_context *ctx, const char *path,
                                 const eddy_savedmodel_options *options,
                                 eddy_savedmodel **out_model, eddy_error *err)
{
    eddy_savedmodel_options copy = {.size = sizeof copy};
    eddy_savedmodel *model;
    eddy_status status;

    EDDY_REFUSE_IF(!ctx, err, "no context");
    EDDY_REFUSE_IF(!path, err, "no path");
    EDDY_REFUSE_IF(!out_model, err, "nowhere to put the model");
    EDDY_REFUSE_IF(
        options && (options->size == 0 || options->size > sizeof copy), err,
        "options of %zu bytes, wanted up to %zu", options->size, sizeof copy);
    *out_model = NULL;
    if (options)
        memcpy(&copy, options, options->size);
    model = eddy__allocate_zeroed(&ctx->allocator, 1, sizeof *model);
    if (!model)
        return eddy__fail_memory(err);
    model->ctx = ctx;
    model->arena.allocator = &ctx->allocator;
    model->filename = model->restore = model->initial = "";
    status = load(model, path, &copy, err);
    if (status != EDDY_OK)
        eddy_savedmodel_destroy(model);
    else
        *out_model = model;
    return status;
}

void eddy_savedmodel_destroy(eddy_savedmodel *model)
{
    if (!model)
        return;
    if (!model->is_taken)
        eddy_graph_destroy(model->graph);
    eddy__arena_destroy(&model->arena);
    eddy__free(&model->ctx->allocator, model, 1, sizeof *model);
}

/* ---- queries ---- */

eddy_graph *eddy_savedmodel_graph(const eddy_savedmodel *model)
{
    return model->graph;
}

eddy_graph *eddy_savedmodel_take_graph(eddy_savedmodel *model)
{
    model->is_taken = true;
    return model->graph;
}

const eddy_savedmodel_signature *
eddy_savedmodel_signature_at(const eddy_savedmodel *model, size_t i)
{
    return i < model->n_signatures ? &model->signatures[i] : NULL;
}

const eddy_savedmodel_signature *
eddy_savedmodel_find(const eddy_savedmodel *model, const char *name)
{
    for (size_t i = 0; i < model->n_signatures; i++)
        if (strcmp(model->signatures[i].name, name) == 0)
            return &model->signatures[i];
    return NULL;
}
