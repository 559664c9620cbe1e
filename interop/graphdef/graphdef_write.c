/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs to GraphDefs.  The nodes are packed one at a time into a buffer that
 * grows; attributes with their default value are written too.
 */
#include "core/base/status.h"
#include "core/context.h"
#include "eddy/graphdef.h"
#include "interop/graphdef/loader.h"
#include "interop/graphdef/writer.h"
#include "interop/shared/file.h"

#include <stdio.h>
#include <string.h>

/*
 * What a graph that came from no file says: an op set that TensorFlow 2 knows,
 * and no demand on the reader.
 */
#define PRODUCER 1087

/* Keys of the fields that are written around packed messages. */
enum {
    KEY_NODE = 1 << 3 | 2,     /* GraphDef.node */
    KEY_LIBRARY = 2 << 3 | 2,  /* GraphDef.library */
    KEY_VERSIONS = 4 << 3 | 2, /* GraphDef.versions */
    KEY_FUNCTION = 1 << 3 | 2, /* FunctionDefLibrary.function */
    KEY_GRADIENT = 2 << 3 | 2, /* FunctionDefLibrary.gradient */
};

/* A key of one byte and a length. */
#define MAX_PREFIX 11

typedef struct output {
    const eddy_graph *graph;
    const eddy_allocator *allocator;
    eddy__scratch scratch;
    uint8_t *bytes;
    size_t length, capacity;
    eddy_error *err;
} output;

/* Makes room for a field of `length` bytes and writes its key and length. */
static eddy_status begin_field(output *out, int key, size_t length)
{
    void *bytes = out->bytes;
    bool ok;

    if (length > EDDY__WIRE_MAX_BYTES - MAX_PREFIX - out->length)
        return eddy__fail(out->err, EDDY_RESOURCE_EXHAUSTED, EDDY_E_SIZE,
                          "the graph has more than the %zu bytes of a protocol "
                          "buffer",
                          EDDY__WIRE_MAX_BYTES - MAX_PREFIX);
    ok = eddy__grow(out->allocator, &bytes, &out->capacity,
                    out->length + MAX_PREFIX + length, 1);
    out->bytes = bytes;
    if (!ok)
        return eddy__fail_memory(out->err);
    out->bytes[out->length++] = (uint8_t)key;
    out->length += eddy__wire_put_varint(out->bytes + out->length, length);
    return EDDY_OK;
}

static eddy_status put_bytes(output *out, int key, const void *bytes,
                             size_t length)
{
    EDDY_TRY(begin_field(out, key, length));
    if (length > 0)
        memcpy(out->bytes + out->length, bytes, length);
    out->length += length;
    return EDDY_OK;
}

static eddy_status put_message(output *out, int key,
                               const ProtobufCMessage *message)
{
    size_t length = protobuf_c_message_get_packed_size(message);

    EDDY_TRY(begin_field(out, key, length));
    out->length += protobuf_c_message_pack(message, out->bytes + out->length);
    return EDDY_OK;
}

/* ---- nodes ---- */

/* "name" or "name:index". */
static char *write_input(eddy__scratch *scratch, const eddy_graph *graph,
                         eddy_output from)
{
    const char *name = graph->nodes[from.node].name;
    size_t length = strlen(name);
    char *text = eddy__scratch_allocate(scratch, length + 12, 1);

    if (!text)
        return NULL;
    memcpy(text, name, length + 1);
    if (from.index > 0)
        (void)snprintf(text + length, 12, ":%u", (unsigned)from.index);
    return text;
}

/*
 * Was the node taken out of a function, where edges name the outputs of an op
 * that is not known?  Which numbers those have can't be said.
 */
static eddy_status check_outputs(const output *out, const eddy__node *node)
{
    if (node->op || !eddy__node_attr(node, EDDY__OUTPUT_NAMES))
        return EDDY_OK;
    return eddy__graph_fail_at(
        out->err, EDDY_NOT_FOUND, EDDY_E_UNKNOWN_OP, node,
        "op is not registered, and its outputs, read in a "
        "function, have names but no numbers");
}

/*
 * A handle without shared_name goes by its node's name in eddy, while all of
 * those are handles of one variable in TensorFlow.  With the name written down
 * both have as many variables.  In a function's body the name would be that of
 * one variable for all calls, which in eddy have one each; so it stays there as
 * it is.
 */
static void name_variable(const eddy__node *from, Eddy__Pb__NodeDef *to)
{
    if (!to || !eddy__node_names_itself(from) ||
        strcmp(from->op_name, "VarHandleOp") != 0)
        return;
    for (size_t i = 0; i < to->n_attr; i++)
        if (strcmp(to->attr[i]->key, "shared_name") == 0)
            to->attr[i]->value->s = (ProtobufCBinaryData){
                .len = strlen(from->name),
                .data = eddy__graphdef_borrow_bytes(from->name)};
}

static eddy_status put_nodes(output *out)
{
    for (size_t i = 0; i < out->graph->n_nodes; i++) {
        Eddy__Pb__NodeDef *node = NULL;

        EDDY_TRY(check_outputs(out, &out->graph->nodes[i]));
        EDDY_TRY(eddy__write_node(&out->scratch, out->graph, (eddy_node)i,
                                  write_input, &node, out->err));
        name_variable(&out->graph->nodes[i], node);
        EDDY_TRY(put_message(out, KEY_NODE, &node->base));
        eddy__scratch_reset(&out->scratch);
    }
    return EDDY_OK;
}

/* ---- the library ---- */

static eddy_status put_gradient(output *out, const eddy__function *function)
{
    Eddy__Pb__GradientDef gradient;

    eddy__pb__gradient_def__init(&gradient);
    gradient.function_name = eddy__graphdef_borrow_text(function->name);
    gradient.gradient_func = eddy__graphdef_borrow_text(function->gradient);
    return put_message(out, KEY_GRADIENT, &gradient.base);
}

static eddy_status put_function(output *out, const eddy__function *function)
{
    Eddy__Pb__FunctionDef *message = NULL;

    if (function->problem)
        return put_bytes(out, KEY_FUNCTION, function->bytes.data,
                         function->bytes.length);
    EDDY_TRY(eddy__write_function(&out->scratch, function, &message, out->err));
    EDDY_TRY(put_message(out, KEY_FUNCTION, &message->base));
    eddy__scratch_reset(&out->scratch);
    return EDDY_OK;
}

static eddy_status put_functions(output *library)
{
    const eddy_graph *graph = library->graph;

    for (size_t i = 0; i < graph->n_functions; i++) {
        EDDY_TRY(put_function(library, &graph->functions[i]));
        if (graph->functions[i].gradient)
            EDDY_TRY(put_gradient(library, &graph->functions[i]));
    }
    return EDDY_OK;
}

static void deinit(output *out)
{
    eddy__scratch_deinit(&out->scratch);
    eddy__free(out->allocator, out->bytes, out->capacity, 1);
}

static void init(output *out, const eddy_graph *graph, eddy_error *err)
{
    *out = (output){
        .graph = graph, .allocator = &graph->ctx->allocator, .err = err};
    eddy__scratch_init(&out->scratch, out->allocator, UINT64_MAX);
}

/* The library is one message, so it is made before its length is known. */
static eddy_status put_library(output *out)
{
    output library;
    eddy_status status;

    if (out->graph->n_functions == 0)
        return EDDY_OK;
    init(&library, out->graph, out->err);
    status = put_functions(&library);
    if (status == EDDY_OK)
        status = put_bytes(out, KEY_LIBRARY, library.bytes, library.length);
    deinit(&library);
    return status;
}

/* ---- the whole ---- */

static eddy_status put_versions(output *out)
{
    Eddy__Pb__VersionDef versions;

    eddy__pb__version_def__init(&versions);
    versions.producer =
        out->graph->producer > 0 ? out->graph->producer : PRODUCER;
    versions.min_consumer = out->graph->min_consumer;
    return put_message(out, KEY_VERSIONS, &versions.base);
}

static eddy_status put_graph(output *out)
{
    EDDY_TRY(put_nodes(out));
    EDDY_TRY(put_library(out));
    return put_versions(out);
}

/* The bytes in memory of just their length, as the caller will free them. */
static eddy_status hand_over(output *out, void **out_bytes, size_t *out_length)
{
    void *bytes = eddy__allocate(out->allocator, out->length, 1);

    if (!bytes)
        return eddy__fail_memory(out->err);
    memcpy(bytes, out->bytes, out->length);
    *out_bytes = bytes;
    *out_length = out->length;
    return EDDY_OK;
}

eddy_status eddy_graphdef_write(const eddy_graph *graph, void **out_bytes,
                                size_t *out_length, eddy_error *err)
{
    output out;
    eddy_status status;

    EDDY_REFUSE_IF(!graph, err, "no graph");
    EDDY_REFUSE_IF(!out_bytes || !out_length, err, "nowhere to put the bytes");
    EDDY_TRY(eddy__graph_check_closed(graph, err));
    init(&out, graph, err);
    status = put_graph(&out);
    if (status == EDDY_OK)
        status = hand_over(&out, out_bytes, out_length);
    deinit(&out);
    return status;
}

void eddy_graphdef_free(const eddy_graph *graph, void *bytes, size_t length)
{
    eddy__free(&graph->ctx->allocator, bytes, length, 1);
}

eddy_status eddy_graphdef_save(const eddy_graph *graph, const char *path,
                               eddy_error *err)
{
    output out;
    eddy_status status;

    EDDY_REFUSE_IF(!graph, err, "no graph");
    EDDY_REFUSE_IF(!path, err, "no path");
    EDDY_TRY(eddy__graph_check_closed(graph, err));
    init(&out, graph, err);
    status = put_graph(&out);
    if (status == EDDY_OK) {
        const eddy__file_part part = {out.bytes, out.length};

        status = eddy__file_write(path, &part, 1, err);
    }
    deinit(&out);
    return status;
}
