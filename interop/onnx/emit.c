/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes of a model, one after the other, into a graph: by the row of their
 * operator, or by the nodes of the local function that they call.
 */
#include "core/base/status.h"
#include "core/graph/graph.h"
#include "core/value/shape.h"
#include "interop/onnx/loader.h"

#include <stdio.h>
#include <string.h>

static eddy_status fail_scratch(const eddy__onnx_loader *loader)
{
    return eddy__scratch_fail(&loader->scratch, loader->w.err);
}

/* ---- where an operator comes from ---- */

static bool is_domain(const char *a, const char *b)
{
    a = strcmp(a, "ai.onnx") == 0 ? "" : a;
    b = strcmp(b, "ai.onnx") == 0 ? "" : b;
    return strcmp(a, b) == 0;
}

static int64_t find_opset(Eddy__OnnxPb__OperatorSetIdProto *const *imports,
                          size_t n, const char *domain)
{
    for (size_t i = 0; i < n; i++)
        if (is_domain(eddy__onnx_text_of(imports[i]->domain), domain))
            return imports[i]->version;
    return 0;
}

int64_t eddy__onnx_opset_of(const eddy__onnx_loader *loader, const char *domain)
{
    const eddy__onnx_call *call = loader->scope ? loader->scope->call : NULL;
    int64_t version = 0;

    if (call)
        version = find_opset(call->function->opset_import,
                             call->function->n_opset_import, domain);
    return version > 0 ? version
                       : find_opset(loader->model->opset_import,
                                    loader->model->n_opset_import, domain);
}

/* ONNX's own domain has two names. */
static const char *key_domain(const char *domain)
{
    return strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

/* Room for two lengths, and what stands between the texts. */
#define KEY_EXTRA 48

size_t eddy__onnx_function_key_size(const Eddy__OnnxPb__FunctionProto *f)
{
    return strlen(eddy__onnx_text_of(f->domain)) +
           strlen(eddy__onnx_text_of(f->name)) +
           strlen(eddy__onnx_text_of(f->overload)) + KEY_EXTRA;
}

void eddy__onnx_function_key(char *out_key, size_t size, const char *domain,
                             const char *name, const char *overload)
{
    domain = key_domain(domain);
    (void)snprintf(out_key, size, "%zu:%zu:%s%s%s", strlen(domain),
                   strlen(name), domain, name, overload);
}

uint32_t eddy__onnx_find_function(const eddy__onnx_loader *loader,
                                  const char *domain, const char *name,
                                  const char *overload)
{
    domain = key_domain(domain);
    /* Nothing that is longer than every key is one. */
    if (loader->functions.size == 0 ||
        strlen(domain) + strlen(name) + strlen(overload) + KEY_EXTRA >
            loader->key_size)
        return EDDY__NOT_FOUND;
    eddy__onnx_function_key(loader->key, loader->key_size, domain, name,
                            overload);
    return eddy__map_find(&loader->functions, loader->key, strlen(loader->key));
}

/* ---- values of a node ---- */

static eddy_status find_inputs(eddy__onnx_loader *loader, eddy__onnx_op *op)
{
    const Eddy__OnnxPb__NodeProto *node = op->node;
    eddy__onnx_value *inputs;
    size_t n = node->n_input;

    while (n > 0 && !*node->input[n - 1])
        n--;
    inputs = eddy__scratch_allocate(&loader->scratch, n, sizeof *inputs);
    if (!inputs)
        return fail_scratch(loader);
    for (size_t i = 0; i < n; i++) {
        const eddy__onnx_value *value = NULL;

        inputs[i] = (eddy__onnx_value){.output = {EDDY_NO_NODE, 0}};
        if (!*node->input[i])
            continue;
        value = eddy__onnx_lookup(loader, node->input[i]);
        if (!value)
            return eddy__onnx_fail_at(
                loader, EDDY_INVALID_ARGUMENT, EDDY_E_UNKNOWN_INPUT, node,
                "input %zu, '%.100s', is no value of a node before it", i,
                node->input[i]);
        inputs[i] = *value;
    }
    op->inputs = inputs;
    op->n_inputs = n;
    return EDDY_OK;
}

static eddy_status make_outputs(eddy__onnx_loader *loader, eddy__onnx_op *op)
{
    const size_t n = op->node->n_output;

    op->n_outputs = n;
    op->outputs =
        eddy__scratch_allocate(&loader->scratch, n, sizeof *op->outputs);
    if (!op->outputs)
        return fail_scratch(loader);
    for (size_t i = 0; i < n; i++)
        op->outputs[i] = (eddy__onnx_value){.output = {EDDY_NO_NODE, 0}};
    return EDDY_OK;
}

static eddy_status define_outputs(eddy__onnx_loader *loader,
                                  const eddy__onnx_op *op)
{
    for (size_t i = 0; i < op->n_outputs; i++) {
        if (!*op->node->output[i])
            continue;
        if (op->outputs[i].output.node == EDDY_NO_NODE)
            return eddy__onnx_fail_at(loader, EDDY_UNIMPLEMENTED,
                                      EDDY_E_OUTPUT_INDEX, op->node,
                                      "output %zu, '%.100s', is one that eddy "
                                      "does not compute",
                                      i, op->node->output[i]);
        EDDY_TRY(eddy__onnx_define(loader, op->node->output[i], op->outputs[i],
                                   true));
    }
    return EDDY_OK;
}

/* ---- an operator with a row ---- */

static bool is_between(size_t n, uint16_t least, uint16_t most)
{
    return n >= least && (most == EDDY__ONNX_ANY || n <= most);
}

static eddy_status check_counts(eddy__onnx_loader *loader,
                                const eddy__onnx_op *op)
{
    const eddy__onnx_row *row = op->row;

    if (!is_between(op->n_inputs, row->min_inputs, row->max_inputs))
        return eddy__onnx_fail_at(
            loader, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT, op->node,
            "%zu inputs, where opset %lld has %d to %d", op->n_inputs,
            (long long)op->opset, row->min_inputs, row->max_inputs);
    for (size_t i = 0; i < row->min_inputs; i++)
        if (!eddy__onnx_given(op, i))
            return eddy__onnx_fail_at(loader, EDDY_INVALID_ARGUMENT,
                                      EDDY_E_INPUT_COUNT, op->node,
                                      "input %zu may not be left out", i);
    if (!is_between(op->n_outputs, row->min_outputs, row->max_outputs))
        return eddy__onnx_fail_at(
            loader, EDDY_INVALID_ARGUMENT, EDDY_E_OUTPUT_INDEX, op->node,
            "%zu outputs, where opset %lld has %d to %d", op->n_outputs,
            (long long)op->opset, row->min_outputs, row->max_outputs);
    return EDDY_OK;
}

/* An attribute that nobody asked for might change what the operator means. */
static eddy_status check_attributes(eddy__onnx_loader *loader,
                                    const eddy__onnx_op *op)
{
    const size_t n = op->node->n_attribute;

    for (size_t i = 0; i < n && i < 64; i++)
        if (!(op->asked >> i & 1))
            return eddy__onnx_fail_at(
                loader, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE, op->node,
                "attribute '%.80s' is none that opset %lld of it has",
                eddy__onnx_text_of(op->node->attribute[i]->name),
                (long long)op->opset);
    return EDDY_OK;
}

/* The name of an ONNX node's nodes, below the call that it is part of; one that
 * a node may have, whatever the model has: PyTorch's begin with '/'. */
static const char *name_below(eddy__onnx_loader *loader,
                              const Eddy__OnnxPb__NodeProto *node)
{
    const char *scope = loader->scope->scope;
    const char *name = eddy__onnx_node_name(node);
    const size_t size =
        (scope ? strlen(scope) : 0) + strlen(name) + strlen(node->op_type) + 3;
    char *text;

    if (eddy_construct_depth(loader->w.graph) == 0 && !scope) {
        const char *legal = eddy__onnx_legal_name(loader, name);

        if (!legal)
            return NULL;
        scope = eddy__map_find(&loader->reserved, legal, strlen(legal)) !=
                        EDDY__NOT_FOUND
                    ? legal
                    : NULL;
        name = scope ? node->op_type : name;
    }
    text = eddy__scratch_allocate(&loader->scratch,
                                  size + (scope ? strlen(scope) : 0) + 1, 1);
    if (text && scope)
        (void)snprintf(text, size + strlen(scope) + 1, "%s/%s", scope, name);
    else if (text)
        memcpy(text, name, strlen(name) + 1);
    return text ? eddy__onnx_legal_name(loader, text) : NULL;
}

static eddy_status emit_op(eddy__onnx_loader *loader,
                           const Eddy__OnnxPb__NodeProto *node)
{
    const char *domain = eddy__onnx_text_of(node->domain);
    eddy__onnx_op op = {
        .w = &loader->w,
        .loader = loader,
        .node = node,
        .opset = eddy__onnx_opset_of(loader, domain),
        .name = name_below(loader, node),
    };

    if (!op.name)
        return fail_scratch(loader);
    op.row = loader->find(domain, node->op_type, op.opset);
    if (!op.row)
        return eddy__onnx_fail_at(loader, EDDY_UNIMPLEMENTED, EDDY_E_UNKNOWN_OP,
                                  node, "no such operator of opset %lld",
                                  (long long)op.opset);
    EDDY_TRY(find_inputs(loader, &op));
    EDDY_TRY(make_outputs(loader, &op));
    EDDY_TRY(check_counts(loader, &op));
    EDDY_TRY(eddy__onnx_check_narrow(&op));
    op.row->emit(&op);
    EDDY_TRY(loader->w.status);
    eddy__onnx_keep_narrow(&op);
    EDDY_TRY(check_attributes(loader, &op));
    return define_outputs(loader, &op);
}

/* ---- a call ---- */

static eddy_status emit_nodes(eddy__onnx_loader *loader,
                              Eddy__OnnxPb__NodeProto *const *nodes, size_t n);

static eddy_status define_arguments(eddy__onnx_loader *loader,
                                    const eddy__onnx_op *op,
                                    const Eddy__OnnxPb__FunctionProto *f)
{
    for (size_t i = 0; i < f->n_input; i++) {
        eddy__onnx_value absent = {.output = {EDDY_NO_NODE, 0}};

        EDDY_TRY(eddy__onnx_define(loader, f->input[i],
                                   i < op->n_inputs ? op->inputs[i] : absent,
                                   true));
    }
    return EDDY_OK;
}

static eddy_status find_results(eddy__onnx_loader *loader, eddy__onnx_op *op,
                                const Eddy__OnnxPb__FunctionProto *f)
{
    for (size_t i = 0; i < op->n_outputs && i < f->n_output; i++) {
        const eddy__onnx_value *value = eddy__onnx_lookup(loader, f->output[i]);

        if (!value)
            return eddy__onnx_fail_at(
                loader, EDDY_INVALID_ARGUMENT, EDDY_E_UNKNOWN_INPUT, op->node,
                "the function's output '%.100s' is no value of it",
                f->output[i]);
        op->outputs[i] = *value;
    }
    return EDDY_OK;
}

/* What stands in for a call: the function's nodes, named below it. */
static eddy_status emit_call(eddy__onnx_loader *loader,
                             const Eddy__OnnxPb__NodeProto *node,
                             const Eddy__OnnxPb__FunctionProto *f)
{
    const eddy__onnx_call call = {f, node, loader->scope->call};
    eddy__onnx_op op = {.w = &loader->w, .loader = loader, .node = node};
    eddy__onnx_scope *outer = loader->scope, scope;
    eddy_status status;

    op.name = name_below(loader, node);
    if (!op.name)
        return fail_scratch(loader);
    EDDY_TRY(find_inputs(loader, &op));
    EDDY_TRY(make_outputs(loader, &op));
    if (op.n_inputs > f->n_input || op.n_outputs > f->n_output)
        return eddy__onnx_fail_at(
            loader, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT, node,
            "%zu inputs and %zu outputs, where the function has %zu and %zu",
            op.n_inputs, op.n_outputs, f->n_input, f->n_output);
    EDDY_TRY(eddy__onnx_scope_begin(loader, &scope, false));
    scope.call = &call;
    scope.scope = op.name;
    status = define_arguments(loader, &op, f);
    if (status == EDDY_OK)
        status = emit_nodes(loader, f->node, f->n_node);
    if (status == EDDY_OK)
        status = find_results(loader, &op, f);
    eddy__onnx_scope_end(loader, &scope);
    loader->scope = outer;
    EDDY_TRY(status);
    return define_outputs(loader, &op);
}

/* ---- graphs ---- */

typedef eddy_status (*emit_fn)(eddy__onnx_loader *loader,
                               const Eddy__OnnxPb__NodeProto *node,
                               const Eddy__OnnxPb__FunctionProto *function);

static eddy_status emit_nodes(eddy__onnx_loader *loader,
                              Eddy__OnnxPb__NodeProto *const *nodes, size_t n)
{
    /* Calls nest as deep as scopes may, which is checked where one begins. */
    static const emit_fn emit_function = emit_call;

    for (size_t i = 0; i < n; i++) {
        const Eddy__OnnxPb__NodeProto *node = nodes[i];
        const uint32_t f = eddy__onnx_find_function(
            loader, eddy__onnx_text_of(node->domain), node->op_type,
            eddy__onnx_text_of(node->overload));

        if (++loader->n_expanded > EDDY__ONNX_MAX_EXPANDED)
            return eddy__onnx_fail_at(
                loader, EDDY_RESOURCE_EXHAUSTED, EDDY_E_LIMIT_NODES, node,
                "the model has more than %llu nodes once its functions are put "
                "in place",
                (unsigned long long)EDDY__ONNX_MAX_EXPANDED);
        EDDY_TRY(
            f == EDDY__NOT_FOUND
                ? emit_op(loader, node)
                : emit_function(loader, node, loader->model->functions[f]));
    }
    return EDDY_OK;
}

static eddy_status emit_initializer(eddy__onnx_loader *loader,
                                    const Eddy__OnnxPb__TensorProto *proto)
{
    const char *name = eddy__onnx_text_of(proto->name);
    eddy__onnx_value value = {.kind = EDDY__ONNX_TENSOR};
    eddy_tensor *tensor = NULL;
    const char *free_name;
    eddy_status status;

    EDDY_TRY(eddy__onnx_read_tensor(loader, "initializer", proto, &tensor));
    value.dtype = (uint8_t)eddy_tensor_dtype(tensor);
    value.narrow = eddy__onnx_narrow_of(proto->data_type);
    free_name = eddy__onnx_free_name(loader, name);
    status = free_name
                 ? eddy_graph_add_const(loader->w.graph, free_name, tensor,
                                        &value.output, loader->w.err)
                 : fail_scratch(loader);
    eddy_tensor_release(tensor);
    EDDY_TRY(status);
    /* One that is an input too is its default, which load.c has defined. */
    if (loader->depth == 1 && eddy__onnx_lookup(loader, name))
        return EDDY_OK;
    return eddy__onnx_define(loader, name, value, false);
}

eddy_status eddy__onnx_emit_graph(eddy__onnx_loader *loader,
                                  const Eddy__OnnxPb__GraphProto *graph)
{
    if (graph->n_sparse_initializer > 0)
        return eddy__fail(loader->w.err, EDDY_UNIMPLEMENTED, EDDY_E_DTYPE,
                          "graph '%.100s' has sparse initializers",
                          eddy__onnx_text_of(graph->name));
    for (size_t i = 0; i < graph->n_initializer; i++)
        EDDY_TRY(emit_initializer(loader, graph->initializer[i]));
    return emit_nodes(loader, graph->node, graph->n_node);
}

eddy_status eddy__onnx_result(eddy__onnx_loader *loader,
                              const Eddy__OnnxPb__GraphProto *graph, size_t i,
                              eddy__onnx_value *out_value)
{
    const char *name = eddy__onnx_text_of(graph->output[i]->name);
    const eddy__onnx_value *value = eddy__onnx_lookup(loader, name);

    if (!value || value->output.node == EDDY_NO_NODE)
        return eddy__fail(loader->w.err, EDDY_INVALID_ARGUMENT,
                          EDDY_E_UNKNOWN_INPUT,
                          "output %zu of graph '%.100s', '%.100s', is no value "
                          "of it",
                          i, eddy__onnx_text_of(graph->name), name);
    *out_value = *value;
    return EDDY_OK;
}

static eddy_status define_inputs(const eddy__onnx_body *body)
{
    eddy__onnx_loader *loader = body->op->loader;

    for (size_t i = 0; i < body->n_inputs; i++) {
        const Eddy__OnnxPb__ValueInfoProto *input = body->graph->input[i];
        eddy__onnx_value declared;

        EDDY_TRY(eddy__onnx_read_type(loader, eddy__onnx_text_of(input->name),
                                      input->type, &declared, NULL));
        if (input->type &&
            (declared.kind != body->inputs[i].kind ||
             !eddy__onnx_same_dtype(&declared, &body->inputs[i])))
            return eddy__onnx_fail_at(
                loader, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE,
                body->op->node,
                "input %zu of '%s', '%.80s', is declared as %s, and gets %s", i,
                body->attr, eddy__onnx_text_of(input->name),
                eddy__onnx_value_dtype(&declared),
                eddy__onnx_value_dtype(&body->inputs[i]));
        EDDY_TRY(eddy__onnx_define(loader, eddy__onnx_text_of(input->name),
                                   body->inputs[i], false));
    }
    return EDDY_OK;
}

/* Is a result of the dtype that the body declares for it? */
static eddy_status check_result(const eddy__onnx_body *body, size_t i)
{
    eddy__onnx_loader *loader = body->op->loader;
    const Eddy__OnnxPb__ValueInfoProto *output = body->graph->output[i];
    const eddy__onnx_value *found = &body->results[i];
    eddy__onnx_value declared;

    EDDY_TRY(eddy__onnx_read_type(loader, eddy__onnx_text_of(output->name),
                                  output->type, &declared, NULL));
    if (found->narrow)
        return eddy__onnx_fail_at(
            loader, EDDY_UNIMPLEMENTED, EDDY_E_DTYPE, body->op->node,
            "output %zu of '%s', '%.80s', is %s, which does not leave a body",
            i, body->attr, eddy__onnx_text_of(output->name),
            eddy__onnx_value_dtype(found));
    if (eddy__onnx_same_dtype(&declared, found))
        return EDDY_OK;
    return eddy__onnx_fail_at(
        loader, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE, body->op->node,
        "output %zu of '%s', '%.80s', is declared as %s and is %s", i,
        body->attr, eddy__onnx_text_of(output->name),
        eddy__onnx_value_dtype(&declared), eddy__onnx_value_dtype(found));
}

static eddy_status fill_body(const eddy__onnx_body *body)
{
    eddy__onnx_loader *loader = body->op->loader;

    EDDY_TRY(define_inputs(body));
    EDDY_TRY(eddy__onnx_emit_graph(loader, body->graph));
    for (size_t i = 0; i < body->n_results; i++) {
        EDDY_TRY(eddy__onnx_result(loader, body->graph, i, &body->results[i]));
        EDDY_TRY(check_result(body, i));
    }
    return EDDY_OK;
}

eddy_status eddy__onnx_emit_body(const eddy__onnx_body *body)
{
    eddy__onnx_loader *loader = body->op->loader;
    eddy__onnx_scope *outer = loader->scope, scope;
    const size_t n_in = body->graph->n_input, n_out = body->graph->n_output;
    eddy_status status;

    if (n_in != body->n_inputs || n_out != body->n_results)
        return eddy__onnx_fail_at(
            loader, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT, body->op->node,
            "'%s' has %zu inputs and %zu outputs, where %zu and %zu are wanted",
            body->attr, n_in, n_out, body->n_inputs, body->n_results);
    EDDY_TRY(eddy__onnx_scope_begin(loader, &scope, true));
    status = fill_body(body);
    eddy__onnx_scope_end(loader, &scope);
    loader->scope = outer;
    return status;
}
