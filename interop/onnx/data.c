/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of ONNX's test data, and how the tensors in a model's sequences and
 * optional values are fed and fetched.
 */
#include "core/base/status.h"
#include "core/context.h"
#include "core/graph/graph.h"
#include "core/value/shape.h"
#include "core/value/tensor.h"
#include "interop/onnx/loader.h"
#include "interop/onnx/model.h"
#include "interop/shared/file.h"

#include <string.h>

/* ---- files ---- */

static eddy_status unpack(eddy__onnx_loader *loader,
                          const ProtobufCMessageDescriptor *type,
                          eddy__message message, ProtobufCMessage **out)
{
    eddy__wire_summary summary = {.n_nodes = 0};

    EDDY_TRY(eddy__wire_check(&eddy__onnx_format, type, message, &summary,
                              loader->w.err));
    *out = protobuf_c_message_unpack(type, &loader->scratch.protobuf,
                                     message.length, message.bytes);
    if (*out)
        return EDDY_OK;
    if (eddy__scratch_refused(&loader->scratch))
        return eddy__scratch_fail(&loader->scratch, loader->w.err);
    return eddy__fail(loader->w.err, EDDY_INVALID_ARGUMENT, EDDY_E_MALFORMED,
                      "the bytes are no data of ONNX's");
}

static eddy_status read_items(eddy__onnx_loader *loader,
                              Eddy__OnnxPb__TensorProto *const *protos,
                              size_t n, eddy_onnx_data *data)
{
    data->items =
        eddy__allocate(&loader->ctx->allocator, n, sizeof(eddy_tensor *));
    if (!data->items)
        return eddy__fail_memory(loader->w.err);
    data->n = n;
    data->is_present = true;
    for (size_t i = 0; i < n; i++)
        data->items[i] = NULL;
    for (size_t i = 0; i < n; i++)
        EDDY_TRY(eddy__onnx_read_tensor(loader, "tensor", protos[i],
                                        &data->items[i]));
    return EDDY_OK;
}

static eddy_status read_sequence(eddy__onnx_loader *loader,
                                 const Eddy__OnnxPb__SequenceProto *proto,
                                 eddy_onnx_data *data)
{
    if (proto->n_sequence_values > 0 || proto->n_optional_values > 0)
        return eddy__fail(loader->w.err, EDDY_UNIMPLEMENTED, EDDY_E_DTYPE,
                          "a sequence of something else than tensors");
    return read_items(loader, proto->tensor_values, proto->n_tensor_values,
                      data);
}

static eddy_status read_data(eddy__onnx_loader *loader, eddy__message message,
                             eddy_onnx_kind kind, eddy_onnx_data *data)
{
    const ProtobufCMessageDescriptor *types[] = {
        [EDDY_ONNX_TENSOR] = &eddy__onnx_pb__tensor_proto__descriptor,
        [EDDY_ONNX_SEQUENCE] = &eddy__onnx_pb__sequence_proto__descriptor,
        [EDDY_ONNX_OPTIONAL] = &eddy__onnx_pb__optional_proto__descriptor,
        [EDDY_ONNX_OPTIONAL_SEQUENCE] =
            &eddy__onnx_pb__optional_proto__descriptor,
    };
    const Eddy__OnnxPb__OptionalProto *optional;
    ProtobufCMessage *any = NULL;

    EDDY_TRY(unpack(loader, types[kind], message, &any));
    if (kind == EDDY_ONNX_TENSOR) {
        Eddy__OnnxPb__TensorProto *tensor = (void *)any;

        return read_items(loader, &tensor, 1, data);
    }
    if (kind == EDDY_ONNX_SEQUENCE)
        return read_sequence(loader, (const void *)any, data);
    optional = (const void *)any;
    if (optional->tensor_value)
        return read_items(loader, &optional->tensor_value, 1, data);
    if (optional->sequence_value)
        return read_sequence(loader, optional->sequence_value, data);
    return EDDY_OK;
}

eddy_status eddy_onnx_data_load(eddy_context *ctx, const char *path,
                                eddy_onnx_kind kind, uint64_t max_bytes,
                                eddy_onnx_data *out_data, eddy_error *err)
{
    eddy__onnx_loader loader = {
        .ctx = ctx, .w = {.err = err}, .outside.folder = -1};
    size_t max = EDDY__WIRE_MAX_BYTES;
    eddy__file file = {.length = 0};
    eddy_status status;

    EDDY_REFUSE_IF(!ctx, err, "no context");
    EDDY_REFUSE_IF(!path, err, "no path");
    EDDY_REFUSE_IF(!out_data, err, "nowhere to put the data");
    EDDY_REFUSE_IF((unsigned)kind > EDDY_ONNX_OPTIONAL_SEQUENCE, err,
                   "no such kind");
    *out_data = (eddy_onnx_data){.ctx = ctx};
    if (max_bytes > 0 && max_bytes < max)
        max = (size_t)max_bytes;
    EDDY_TRY(eddy__file_read(&ctx->allocator, path, max, &file, err));
    eddy__scratch_init(&loader.scratch, &ctx->allocator,
                       (uint64_t)file.length * 16 + ((uint64_t)64 << 20));
    status = read_data(&loader, (eddy__message){file.bytes, file.length}, kind,
                       out_data);
    eddy__scratch_deinit(&loader.scratch);
    eddy__file_free(&file);
    if (status != EDDY_OK)
        eddy_onnx_data_free(out_data);
    return status;
}

void eddy_onnx_data_free(eddy_onnx_data *data)
{
    for (size_t i = 0; i < data->n; i++)
        eddy_tensor_release(data->items[i]);
    if (data->items)
        eddy__free(&data->ctx->allocator, data->items, data->n,
                   sizeof(eddy_tensor *));
    *data = (eddy_onnx_data){.ctx = data->ctx};
}

/* ---- feeding ---- */

static bool is_optional(eddy_onnx_kind kind)
{
    return kind == EDDY_ONNX_OPTIONAL || kind == EDDY_ONNX_OPTIONAL_SEQUENCE;
}

static bool is_sequence(eddy_onnx_kind kind)
{
    return kind == EDDY_ONNX_SEQUENCE || kind == EDDY_ONNX_OPTIONAL_SEQUENCE;
}

/* A list to which the items are appended one by one. */
static eddy_output write_list(eddy_emitter *w, eddy_dtype dtype,
                              const eddy_output *items, size_t n)
{
    const eddy_output unknown[] = {eddy_emit_int32(w, -1),
                                   eddy_emit_int32(w, -1)};
    const eddy_dtype shape_type = EDDY_INT32;
    const eddy_attr attrs[] = {
        eddy_attr_type("element_dtype", &dtype),
        eddy_attr_type("shape_type", &shape_type),
    };
    eddy_output list = eddy_emit_op(w, "EmptyTensorList", unknown, 2, attrs, 2);

    for (size_t i = 0; i < n; i++) {
        const eddy_output inputs[] = {list, items[i]};

        list = eddy_emit_op(w, "TensorListPushBack", inputs, 2, attrs, 1);
    }
    return list;
}

static eddy_output write_optional(eddy_emitter *w, const eddy_output *value)
{
    const eddy_dtype dtype = w->status == EDDY_OK && value
                                 ? eddy_graph_output_dtype(w->graph, *value)
                                 : EDDY_INVALID;
    const eddy_attr attr = {.name = "Toutput_types",
                            .kind = EDDY_ATTR_TYPE,
                            .is_list = true,
                            .n = 1,
                            .as.types = &dtype};

    if (!value)
        return eddy_emit_op(w, "OptionalNone", NULL, 0, NULL, 0);
    return eddy_emit_op(w, "OptionalFromValue", value, 1, &attr, 1);
}

eddy_status eddy_onnx_model_set_items(eddy_onnx_model *model, size_t i,
                                      bool is_present, size_t n,
                                      eddy_output *out_items, eddy_error *err)
{
    eddy_emitter w = eddy_emitter_of(model->graph, err);
    const eddy_onnx_port *port;
    eddy_output value;

    EDDY_REFUSE_IF(i >= model->n_inputs, err, "there is no input %zu", i);
    port = &model->inputs[i];
    EDDY_REFUSE_IF(port->kind == EDDY_ONNX_TENSOR, err,
                   "input '%.100s' is a tensor", port->name);
    EDDY_REFUSE_IF(!is_present && (!is_optional(port->kind) || n > 0), err,
                   "input '%.100s' can't hold %zu tensors and nothing",
                   port->name, n);
    EDDY_REFUSE_IF(is_present && !is_sequence(port->kind) && n != 1, err,
                   "input '%.100s' holds one tensor, not %zu", port->name, n);
    for (size_t k = 0; k < n; k++)
        EDDY_TRY(eddy_graph_add_placeholder(model->graph, NULL, port->dtype,
                                            NULL, &out_items[k], err));
    if (!is_present)
        value = write_optional(&w, NULL);
    else if (is_sequence(port->kind))
        value = write_list(&w, port->dtype, out_items, n);
    else
        value = out_items[0];
    if (is_present && is_optional(port->kind))
        value = write_optional(&w, &value);
    EDDY_TRY(w.status);
    return eddy_graph_set_input(model->graph, port->output.node, 0, value, err);
}

/* ---- fetching ---- */

static eddy_output write_value(eddy_emitter *w, eddy_output optional,
                               eddy_dtype dtype)
{
    const eddy_shape unknown = eddy__shape_unknown();
    const eddy_attr attrs[] = {
        {.name = "output_types",
         .kind = EDDY_ATTR_TYPE,
         .is_list = true,
         .n = 1,
         .as.types = &dtype},
        {.name = "output_shapes",
         .kind = EDDY_ATTR_SHAPE,
         .is_list = true,
         .n = 1,
         .as.shapes = &unknown},
    };

    return eddy_emit_op(w, "OptionalGetValue", &optional, 1, attrs, 2);
}

eddy_status eddy_onnx_model_get_items(eddy_onnx_model *model, size_t i,
                                      size_t n, eddy_output out_ends[2],
                                      eddy_output *out_items, eddy_error *err)
{
    const eddy_onnx_port *port;
    const eddy_output nothing = {EDDY_NO_NODE, 0};
    eddy_emitter w = eddy_emitter_of(model->graph, err);
    eddy_output value;

    EDDY_REFUSE_IF(i >= model->n_outputs, err, "there is no output %zu", i);
    port = &model->outputs[i];
    EDDY_REFUSE_IF(port->kind == EDDY_ONNX_TENSOR, err,
                   "output '%.100s' is a tensor", port->name);
    EDDY_REFUSE_IF(!is_sequence(port->kind) && n > 1, err,
                   "output '%.100s' holds one tensor", port->name);
    value = port->output;
    out_ends[0] = nothing;
    out_ends[1] = nothing;
    if (is_optional(port->kind)) {
        out_ends[0] = eddy_emit_unary(&w, "OptionalHasValue", value);
        value = write_value(
            &w, value, is_sequence(port->kind) ? EDDY_VARIANT : port->dtype);
    }
    if (is_sequence(port->kind))
        out_ends[1] = eddy_emit_unary(&w, "TensorListLength", value);
    else if (n == 1)
        out_items[0] = value;
    for (size_t k = 0; k < n && is_sequence(port->kind); k++) {
        const eddy_output inputs[] = {value, eddy_emit_int32(&w, (int32_t)k),
                                      eddy_emit_int32(&w, -1)};
        const eddy_attr attr = eddy_attr_type("element_dtype", &port->dtype);

        out_items[k] =
            eddy_emit_op(&w, "TensorListGetItem", inputs, 3, &attr, 1);
    }
    return w.status;
}

eddy_status eddy_onnx_model_get_packed(eddy_onnx_model *model, size_t i,
                                       eddy_output out_parts[EDDY_ONNX_PARTS],
                                       eddy_error *err)
{
    eddy_emitter w = eddy_emitter_of(model->graph, err);
    const eddy_onnx_port *port;
    eddy_attr attr;

    EDDY_REFUSE_IF(i >= model->n_outputs, err, "there is no output %zu", i);
    port = &model->outputs[i];
    EDDY_REFUSE_IF(port->kind == EDDY_ONNX_TENSOR, err,
                   "output '%.100s' is a tensor", port->name);
    attr = eddy_attr_type("element_dtype", &port->dtype);
    out_parts[0] = eddy_emit_op(&w, "_ListPack", &port->output, 1, &attr, 1);
    for (uint32_t k = 1; k < EDDY_ONNX_PARTS; k++)
        out_parts[k] = (eddy_output){out_parts[0].node, k};
    return w.status;
}

/* ---- what was fetched ---- */

static bool is_vector(const eddy_tensor *tensor, eddy_dtype dtype)
{
    return tensor && (dtype == EDDY_INVALID || tensor->dtype == dtype) &&
           tensor->shape.rank == 1;
}

/* The shape of the next item, whose dimensions begin at `*dim`. */
static bool next_shape(const eddy_tensor *dims, int32_t rank, int64_t *dim,
                       eddy_shape *out_shape, int64_t *out_n)
{
    if (rank < 0 || rank > EDDY_MAX_RANK || rank > dims->count - *dim)
        return false;
    out_shape->rank = rank;
    for (int32_t d = 0; d < rank; d++) {
        out_shape->dims[d] =
            ((const int64_t *)eddy_tensor_data(dims))[(*dim)++];
        if (out_shape->dims[d] < 0)
            return false;
    }
    return eddy__shape_count(out_shape, 1, out_n);
}

/* A tensor of that shape from element `first` on; they are there. */
static eddy_status take_elements(eddy_context *ctx, const eddy_tensor *from,
                                 int64_t first, const eddy_shape *shape,
                                 eddy_tensor **out_tensor, eddy_error *err)
{
    const size_t size =
        from->count > 0 ? eddy_tensor_bytes(from) / (size_t)from->count : 0;
    eddy_string *strings;
    eddy_status status;
    int64_t n = 0;

    EDDY_REFUSE_IF(!eddy__shape_count(shape, 1, &n), err, "a shape overflows");
    if (from->dtype != EDDY_STRING) {
        EDDY_TRY(eddy_tensor_create(ctx, from->dtype, shape, out_tensor, err));
        if (n > 0)
            memcpy(eddy_tensor_mutable_data(*out_tensor),
                   (const unsigned char *)eddy_tensor_data(from) +
                       (size_t)first * size,
                   (size_t)n * size);
        return EDDY_OK;
    }
    strings = eddy__allocate(&ctx->allocator, (size_t)n, sizeof *strings);
    if (!strings)
        return eddy__fail_memory(err);
    for (int64_t i = 0; i < n; i++)
        strings[i] = eddy_tensor_string(from, first + i);
    status = eddy_tensor_from_strings(ctx, shape, strings, (size_t)n,
                                      out_tensor, err);
    eddy__free(&ctx->allocator, strings, (size_t)n, sizeof *strings);
    return status;
}

/* Fills the items, of which there is room for as many as there are ranks. */
static eddy_status take_items(eddy_tensor *const parts[EDDY_ONNX_PARTS],
                              eddy_onnx_data *data, eddy_context *ctx,
                              eddy_error *err)
{
    const int32_t *ranks = eddy_tensor_data(parts[2]);
    int64_t dim = 0, at = 0;

    for (size_t i = 0; i < data->n; i++) {
        eddy_shape shape = {.rank = 0};
        int64_t n = 0;

        EDDY_REFUSE_IF(!next_shape(parts[1], ranks[i], &dim, &shape, &n) ||
                           n > parts[0]->count - at,
                       err, "the shape of item %zu does not fit", i);
        EDDY_TRY(
            take_elements(ctx, parts[0], at, &shape, &data->items[i], err));
        at += n;
    }
    EDDY_REFUSE_IF(at != parts[0]->count || dim != parts[1]->count, err,
                   "there is more than %zu items have", data->n);
    return EDDY_OK;
}

eddy_status eddy_onnx_data_unpack(eddy_context *ctx,
                                  eddy_tensor *const parts[EDDY_ONNX_PARTS],
                                  eddy_onnx_data *out_data, eddy_error *err)
{
    eddy_status status;

    EDDY_REFUSE_IF(!ctx, err, "no context");
    EDDY_REFUSE_IF(!is_vector(parts[0], EDDY_INVALID) ||
                       !is_vector(parts[1], EDDY_INT64) ||
                       !is_vector(parts[2], EDDY_INT32) || !parts[3] ||
                       parts[3]->dtype != EDDY_BOOL || parts[3]->count != 1,
                   err, "these are no parts of a sequence");
    *out_data = (eddy_onnx_data){.ctx = ctx, .n = (size_t)parts[2]->count};
    out_data->is_present = *(const bool *)eddy_tensor_data(parts[3]);
    out_data->items =
        eddy__allocate(&ctx->allocator, out_data->n, sizeof(eddy_tensor *));
    if (!out_data->items) {
        out_data->n = 0;
        return eddy__fail_memory(err);
    }
    for (size_t i = 0; i < out_data->n; i++)
        out_data->items[i] = NULL;
    status = take_items(parts, out_data, ctx, err);
    if (status != EDDY_OK)
        eddy_onnx_data_free(out_data);
    return status;
}
