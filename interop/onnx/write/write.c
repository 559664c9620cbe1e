/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs to ONNX models: the ends of the model, and the message of the whole.
 * writer.h says how what lies between is written.
 */
#include "core/base/status.h"
#include "core/context.h"
#include "core/value/tensor.h"
#include "eddy/lower.h"
#include "eddy/onnx_model.h"
#include "eddy/version.h"
#include "interop/graphdef/writer.h"
#include "interop/onnx/loader.h"
#include "interop/onnx/write/writer.h"
#include "interop/shared/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_OPSET 18
#define LEAST_OPSET 14
#define LEAST_IR 7
#define NEWEST_IR 14

/* What is to be written, and where to. */
typedef struct request {
    const eddy_output *fetches;
    size_t n;
    const eddy_onnx_write_options *options;
    void **out_bytes;
    size_t *out_length;
    eddy_error *err;
} request;

/* The first IR version that was there with an opset. */
static int64_t ir_of(int64_t opset)
{
    static const struct {
        int64_t opset, ir;
    } steps[] = {{14, 7},  {15, 8},  {19, 9},  {21, 10},
                 {23, 11}, {25, 12}, {26, 13}, {28, 14}};
    int64_t ir = LEAST_IR;

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (opset >= steps[i].opset)
            ir = steps[i].ir;
    return ir;
}

static eddy_status copy_options(const eddy_onnx_write_options *options,
                                eddy_onnx_write_options *out, eddy_error *err)
{
    *out = (eddy_onnx_write_options){.size = sizeof *out};
    if (options) {
        EDDY_REFUSE_IF(options->size == 0 || options->size > sizeof *out, err,
                       "options of %zu bytes, wanted up to %zu", options->size,
                       sizeof *out);
        memcpy(out, options, options->size);
    }
    if (out->opset == 0)
        out->opset = DEFAULT_OPSET;
    EDDY_REFUSE_IF(out->opset < LEAST_OPSET || out->opset > EDDY__ONNX_NEWEST,
                   err, "opset %" PRId64 ", wanted %d to %d", out->opset,
                   LEAST_OPSET, EDDY__ONNX_NEWEST);
    if (out->ir_version == 0)
        out->ir_version = ir_of(out->opset);
    EDDY_REFUSE_IF(out->ir_version < LEAST_IR || out->ir_version > NEWEST_IR,
                   err, "IR version %" PRId64 ", wanted %d to %d",
                   out->ir_version, LEAST_IR, NEWEST_IR);
    return EDDY_OK;
}

/* ---- effects ---- */

/*
 * What only control edges ask for is not written; if it does something besides,
 * the model would not mean the same.
 */
static void check_effects(eddy__onnx_writer *w)
{
    const size_t n = w->graph->n_nodes;
    uint8_t *is_seen = eddy__onnx_take(w, n, 1);
    eddy_node *stack = eddy__onnx_take(w, n, sizeof *stack);
    size_t depth = 0;

    if (!is_seen || !stack)
        return;
    for (size_t i = 0; i < n; i++)
        if (w->is_needed[i]) {
            is_seen[i] = 1;
            stack[depth++] = (eddy_node)i;
        }
    while (depth > 0) {
        const eddy_node at = stack[--depth];
        const eddy__node *node = &w->graph->nodes[at];

        if (!w->is_needed[at] && !eddy__onnx_rule_of(node->op_name) &&
            (!node->op || (node->op->flags & EDDY_OP_STATEFUL) != 0))
            eddy__onnx_decline_node(w, at, "an effect");
        for (uint32_t i = 0; i < node->n_inputs + node->n_controls; i++) {
            const eddy_node from = i < node->n_inputs
                                       ? node->inputs[i].node
                                       : node->controls[i - node->n_inputs];

            if (!is_seen[from]) {
                is_seen[from] = 1;
                stack[depth++] = from;
            }
        }
    }
}

/* ---- inputs ---- */

static void bind_placeholder(eddy__onnx_writer *w, eddy_node id,
                             Eddy__OnnxPb__GraphProto *to)
{
    const eddy__node *node = &w->graph->nodes[id];
    const eddy_dtype dtype = (eddy_dtype)node->output_dtypes[0];
    const eddy_shape shape =
        eddy_graph_output_shape(w->graph, (eddy_output){id, 0});
    const char *name = eddy__onnx_fresh(w, node->name);
    eddy__onnx_binding *b = eddy__onnx_binding_in(w, &w->root, id);

    if (!b)
        return;
    b->is_done = true;
    b->values[0] = (eddy__onnx_written){.name = name, .dtype = (uint8_t)dtype};
    if (eddy__onnx_dtype_to(dtype) == 0)
        eddy__onnx_decline_node(w, id, "%s", eddy_dtype_name(dtype));
    to->input[to->n_input++] =
        eddy__onnx_info_message(w, name, false, dtype, &shape);
    if (node->n_inputs > 0) {
        const eddy_tensor *value = eddy__onnx_constant(w, node->inputs[0]);

        if (!value)
            eddy__onnx_decline_node(w, id, "a default that is no constant");
        else if (eddy__onnx_more(w, (void **)&w->initializers,
                                 &w->initializers_capacity, w->n_initializers,
                                 sizeof(void *)))
            w->initializers[w->n_initializers++] =
                eddy__onnx_tensor_message(w, name, value);
    }
}

static void bind_placeholders(eddy__onnx_writer *w,
                              Eddy__OnnxPb__GraphProto *to)
{
    size_t count = 0;

    for (size_t i = 0; i < w->graph->n_nodes; i++)
        count += w->is_needed[i] &&
                 eddy__node_role(&w->graph->nodes[i]) == EDDY__ROLE_PLACEHOLDER;
    to->input = eddy__onnx_take(w, count, sizeof(void *));
    for (size_t i = 0; i < w->graph->n_nodes && eddy__onnx_well(w); i++)
        if (w->is_needed[i] &&
            eddy__node_role(&w->graph->nodes[i]) == EDDY__ROLE_PLACEHOLDER)
            bind_placeholder(w, (eddy_node)i, to);
}

/* ---- outputs ---- */

static const char *name_of(eddy__onnx_writer *w, eddy_output output)
{
    const char *name = w->graph->nodes[output.node].name;

    return eddy__onnx_fresh(
        w, output.index == 0
               ? name
               : eddy__onnx_print(w, "%s:%" PRIu32, name, output.index));
}

/* The node that is to have the output's name. */
static void put_output(eddy__onnx_writer *w, const char *name,
                       const eddy__onnx_written *value, eddy_output output,
                       Eddy__OnnxPb__GraphProto *to)
{
    const eddy_shape shape = eddy_graph_output_shape(w->graph, output);
    Eddy__OnnxPb__NodeProto *node;

    if (value->form != EDDY__ONNX_PLAIN) {
        eddy__onnx_decline_node(w, output.node, "an array or list as output");
        return;
    }
    w->place = &w->root;
    (void)eddy__onnx_as_result(w, &w->root, value);
    if (!eddy__onnx_well(w))
        return;
    node = w->net.items[w->net.n_items - 1];
    node->output[0] = eddy__graphdef_borrow_text(name);
    node->name = node->output[0];
    to->output[to->n_output++] = eddy__onnx_info_message(
        w, name, false, (eddy_dtype)value->dtype, &shape);
}

static void put_outputs(eddy__onnx_writer *w, const eddy_output *fetches,
                        size_t n, const char **names,
                        Eddy__OnnxPb__GraphProto *to)
{
    to->output = eddy__onnx_take(w, n, sizeof(void *));
    for (size_t i = 0; i < n && eddy__onnx_well(w); i++) {
        const eddy__onnx_written *value;

        w->node = fetches[i].node;
        w->place = &w->root;
        value = eddy__onnx_demand(w, &w->root, fetches[i]);
        put_output(w, names[i], value, fetches[i], to);
    }
}

/* ---- what was refused ---- */

static eddy_status fail_refused(const eddy__onnx_writer *w)
{
    char text[360] = "";
    size_t length = 0, shown = 0;

    for (; shown < w->n_refusals; shown++) {
        const eddy__onnx_refusal *r = &w->refusals[shown];
        char one[160];
        const int n = snprintf(one, sizeof one, "%s%.120s %zu times",
                               shown > 0 ? ", " : "", r->text, r->count);

        if (n < 0 || length + (size_t)n >= sizeof text)
            break;
        memcpy(text + length, one, (size_t)n + 1);
        length += (size_t)n;
    }
    if (shown == w->n_refusals)
        return eddy__fail(w->err, EDDY_UNIMPLEMENTED, EDDY_E_UNKNOWN_OP,
                          "ONNX cannot say: %s", text);
    return eddy__fail(w->err, EDDY_UNIMPLEMENTED, EDDY_E_UNKNOWN_OP,
                      "ONNX cannot say: %s, and %zu more", text,
                      w->n_refusals - shown);
}

/* ---- the message ---- */

static void fill_graph(eddy__onnx_writer *w, const eddy_output *fetches,
                       size_t n, Eddy__OnnxPb__GraphProto *to)
{
    const char **names = eddy__onnx_take(w, n, sizeof *names);

    eddy__onnx_pb__graph_proto__init(to);
    to->name = eddy__graphdef_borrow_text("eddy");
    bind_placeholders(w, to);
    for (size_t i = 0; i < n && eddy__onnx_well(w); i++)
        names[i] = name_of(w, fetches[i]);
    if (!eddy__onnx_well(w))
        return;
    put_outputs(w, fetches, n, names, to);
    to->node = w->net.items;
    to->n_node = w->net.n_items;
    to->initializer = w->initializers;
    to->n_initializer = w->n_initializers;
}

/* Packs the model into memory of the graph's context. */
static eddy_status pack(const eddy__onnx_writer *w,
                        Eddy__OnnxPb__GraphProto *graph, int64_t ir_version,
                        void **out_bytes, size_t *out_length)
{
    Eddy__OnnxPb__OperatorSetIdProto opset, *opsets[] = {&opset};
    Eddy__OnnxPb__ModelProto model;
    size_t length;
    void *bytes;

    eddy__onnx_pb__operator_set_id_proto__init(&opset);
    opset.domain = eddy__graphdef_borrow_text("");
    opset.has_version = true;
    opset.version = w->opset;
    eddy__onnx_pb__model_proto__init(&model);
    model.has_ir_version = true;
    model.ir_version = ir_version;
    model.producer_name = eddy__graphdef_borrow_text("eddy");
    model.producer_version = eddy__graphdef_borrow_text(EDDY_VERSION_STRING);
    model.graph = graph;
    model.opset_import = opsets;
    model.n_opset_import = 1;
    length = protobuf_c_message_get_packed_size(&model.base);
    if (length > EDDY__WIRE_MAX_BYTES)
        return eddy__fail(w->err, EDDY_RESOURCE_EXHAUSTED, EDDY_E_SIZE,
                          "the model has %zu bytes, more than the %zu of a "
                          "protocol buffer",
                          length, EDDY__WIRE_MAX_BYTES);
    bytes = eddy__allocate(&w->graph->ctx->allocator, length, 1);
    if (!bytes)
        return eddy__fail_memory(w->err);
    *out_length = protobuf_c_message_pack(&model.base, bytes);
    *out_bytes = bytes;
    return EDDY_OK;
}

static const eddy__onnx_parts parts = {
    .write_loop = eddy__onnx_write_loop,
    .write_if = eddy__onnx_write_if,
    .rule_of = eddy__onnx_rule_of,
    .want_pushes = eddy__onnx_want_pushes,
};

static void init(eddy__onnx_writer *w, const eddy_graph *graph,
                 const eddy_analysis *analysis, eddy_error *err)
{
    const eddy_allocator *allocator = &graph->ctx->allocator;

    *w = (eddy__onnx_writer){.parts = &parts,
                             .graph = graph,
                             .analysis = analysis,
                             .err = err,
                             .names = {.allocator = allocator},
                             .shared = {.allocator = allocator}};
    w->root = (eddy__onnx_place){.net = &w->net, .group = EDDY_NO_NODE};
    w->place = &w->root;
    eddy__scratch_init(&w->scratch, allocator, UINT64_MAX);
}

static void deinit(eddy__onnx_writer *w)
{
    eddy__map_deinit(&w->names);
    eddy__map_deinit(&w->shared);
    eddy__scratch_deinit(&w->scratch);
}

/* One try; `out_again` says that another, with groups split, may do. */
static eddy_status try_write(const eddy_graph *graph,
                             const eddy_analysis *analysis,
                             const request *asked, bool is_split,
                             bool *out_again)
{
    Eddy__OnnxPb__GraphProto message;
    eddy__onnx_writer w;

    init(&w, graph, analysis, asked->err);
    w.opset = asked->options->opset;
    w.is_split = is_split;
    eddy__onnx_study(&w, asked->fetches, asked->n);
    if (eddy__onnx_well(&w))
        eddy__onnx_find_stacks(&w);
    if (eddy__onnx_well(&w))
        check_effects(&w);
    if (eddy__onnx_well(&w))
        fill_graph(&w, asked->fetches, asked->n, &message);
    if (eddy__onnx_well(&w) && w.n_refusals > 0)
        w.status = fail_refused(&w);
    if (eddy__onnx_well(&w))
        w.status = pack(&w, &message, asked->options->ir_version,
                        asked->out_bytes, asked->out_length);
    *out_again = w.status == EDDY_UNIMPLEMENTED && w.is_circular && !is_split;
    deinit(&w);
    return w.status;
}

/* A graph without functions. */
static eddy_status write_lowered(const eddy_graph *graph, const request *asked)
{
    eddy_analysis *analysis = NULL;
    bool again = false;
    eddy_status status;

    EDDY_TRY(eddy_analysis_create(graph, &analysis, asked->err));
    status = try_write(graph, analysis, asked, false, &again);
    if (again)
        status = try_write(graph, analysis, asked, true, &again);
    eddy_analysis_destroy(analysis);
    return status;
}

/* The nodes of the lowered graph that have the names of those asked for. */
static eddy_status write_functions(const eddy_graph *graph,
                                   const request *asked)
{
    const eddy_lower_options how = {.size = sizeof how,
                                    .limits = asked->options->limits};
    const eddy_allocator *allocator = &graph->ctx->allocator;
    eddy_output *found = eddy__allocate(allocator, asked->n, sizeof *found);
    request lowered_request = *asked;
    eddy_graph *lowered = NULL;
    eddy_status status = EDDY_OK;

    if (!found)
        return eddy__fail_memory(asked->err);
    status = eddy_graph_lower(graph, &how, &lowered, asked->err);
    for (size_t i = 0; i < asked->n && status == EDDY_OK; i++)
        found[i] = (eddy_output){
            eddy_graph_find(lowered, graph->nodes[asked->fetches[i].node].name),
            asked->fetches[i].index};
    lowered_request.fetches = found;
    if (status == EDDY_OK)
        status = write_lowered(lowered, &lowered_request);
    eddy_graph_destroy(lowered);
    eddy__free(allocator, found, asked->n, sizeof *found);
    return status;
}

/* NOLINTNEXTLINE(readability-function-size): a public call, with both ends. */
eddy_status eddy_onnx_write(const eddy_graph *graph, const eddy_output *fetches,
                            size_t n_fetches,
                            const eddy_onnx_write_options *options,
                            void **out_bytes, size_t *out_length,
                            eddy_error *err)
{
    eddy_onnx_write_options copy;
    request asked;

    EDDY_REFUSE_IF(!graph, err, "no graph");
    EDDY_REFUSE_IF(!fetches || n_fetches == 0, err, "nothing to fetch");
    EDDY_REFUSE_IF(!out_bytes || !out_length, err, "nowhere to put the bytes");
    EDDY_TRY(copy_options(options, &copy, err));
    EDDY_TRY(eddy__graph_check_closed(graph, err));
    for (size_t i = 0; i < n_fetches; i++)
        EDDY_REFUSE_IF(fetches[i].node >= graph->n_nodes ||
                           fetches[i].index >=
                               graph->nodes[fetches[i].node].n_outputs,
                       err, "fetch %zu is no output of the graph", i);
    asked = (request){fetches, n_fetches, &copy, out_bytes, out_length, err};
    return eddy_graph_function_name(graph, 0) != NULL
               ? write_functions(graph, &asked)
               : write_lowered(graph, &asked);
}

void eddy_onnx_free(const eddy_graph *graph, void *bytes, size_t length)
{
    eddy__free(&graph->ctx->allocator, bytes, length, 1);
}

eddy_status eddy_onnx_save(const eddy_graph *graph, const eddy_output *fetches,
                           size_t n_fetches,
                           const eddy_onnx_write_options *options,
                           const char *path, eddy_error *err)
{
    void *bytes = NULL;
    size_t length = 0;
    eddy__file_part part;
    eddy_status status;

    EDDY_REFUSE_IF(!path, err, "no path");
    EDDY_TRY(eddy_onnx_write(graph, fetches, n_fetches, options, &bytes,
                             &length, err));
    part = (eddy__file_part){bytes, length};
    status = eddy__file_write(path, &part, 1, err);
    eddy_onnx_free(graph, bytes, length);
    return status;
}
