/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients of a program's own for a part of a graph, as TensorFlow writes
 * them: an IdentityN hands the part's outputs on, reads its inputs besides, and
 * names the gradient in an attribute.  A gradient that comes to it leaves the
 * part out: the function makes those of the inputs.
 */
#include "autodiff/custom.h"

#include "core/base/status.h"
#include "core/context.h"
#include "frames/lower/functional.h"

#include <string.h>

#define ATTR "_gradient_op_type"
#define MOST_NAME 255

eddy_string eddy__custom_name(const eddy__node *node)
{
    const eddy_attr *attr = eddy__node_attr(node, ATTR);

    return attr && attr->kind == EDDY_ATTR_STRING && attr->n == 1
               ? attr->as.strings[0]
               : (eddy_string){.length = 0};
}

/*
 * The gradient of an IdentityN behind a function for which the library has one
 * (frames/lower/lower_call.c): a call, which is lowered with the rest.
 */
static eddy_status call_library(eddy_gradient *g)
{
    enum { MOST = 64 };
    const uint32_t n = eddy_gradient_inputs(g);
    eddy_dtype in[MOST], out[MOST];
    eddy_output inputs[MOST];
    eddy_attr attrs[3] = {{.name = "Tin", .kind = EDDY_ATTR_TYPE},
                          {.name = "Tout", .kind = EDDY_ATTR_TYPE}};
    uint32_t n_in = 0, n_out;
    eddy_output call;
    eddy_attr at;

    if (n > MOST || !eddy_gradient_attr(g, "f", &attrs[2]) ||
        !eddy_gradient_attr(g, "_n_results", &at))
        return eddy_gradient_fail(g, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT,
                                  "a function with a gradient of its own has "
                                  "more than %d arguments and results",
                                  MOST);
    n_out = (uint32_t)at.as.ints[0];
    for (uint32_t i = n_out; i < n; i++) {
        out[n_in] = in[n_in] = eddy_gradient_input_dtype(g, i);
        inputs[n_in++] = eddy_gradient_input(g, i);
    }
    for (uint32_t i = 0; i < n_out; i++) {
        in[n_in + i] = eddy_gradient_input_dtype(g, i);
        inputs[n_in + i] = eddy_gradient_given(g, i);
    }
    attrs[0].is_list = attrs[1].is_list = true;
    attrs[0].n = n;
    attrs[0].as.types = in;
    attrs[1].n = n_in;
    attrs[1].as.types = out;
    call = eddy_gradient_add(g, "PartitionedCall", inputs, n, attrs, 3);
    for (uint32_t i = 0; i < n_in; i++, call.index++)
        if (eddy_gradient_is_wanted(g, n_out + i))
            eddy_gradient_set(g, n_out + i, call);
    return EDDY_OK;
}

eddy_gradient_fn eddy__custom_find(const eddy_context *ctx, eddy_string name)
{
    char text[MOST_NAME + 1];
    const eddy__op *op;

    if (name.length > MOST_NAME)
        return NULL;
    memcpy(text, name.data, name.length);
    text[name.length] = 0;
    if (strcmp(text, EDDY__LIBRARY_GRADIENT) == 0)
        return call_library;
    op = eddy__registry_find(&ctx->registry, text);
    return op ? op->gradient : NULL;
}

/* The op only holds the gradient; no node is of it. */
static eddy_status refuse_to_run(eddy_kernel *kernel)
{
    return eddy_kernel_fail(kernel, EDDY_UNIMPLEMENTED, EDDY_E_NO_KERNEL,
                            "it is the name of a gradient");
}

eddy_status eddy_gradient_define(eddy_context *ctx, const char *name,
                                 eddy_gradient_fn gradient, eddy_error *err)
{
    const eddy_op_spec spec = {.size = sizeof spec,
                               .name = name,
                               .kernel = refuse_to_run,
                               .gradient = gradient,
                               .doc = "Holds a gradient of a program's own.",
                               .source = "the program"};

    EDDY_REFUSE_IF(!gradient, err, "no gradient");
    EDDY_REFUSE_IF(!name, err, "no name for the gradient");
    EDDY_REFUSE_IF(strlen(name) > MOST_NAME, err,
                   "the name of the gradient has more than %d bytes",
                   MOST_NAME);
    return eddy_op_register(ctx, &spec, err);
}

/* NOLINTNEXTLINE(readability-function-size): parameters of the API. */
eddy_status eddy_custom_gradient(eddy_graph *graph, const char *name,
                                 const eddy_output *outputs, size_t n_outputs,
                                 const eddy_output *inputs, size_t n_inputs,
                                 eddy_output *out_results, eddy_error *err)
{
    eddy__arena arena = {.allocator = eddy__context_allocator(graph->ctx)};
    const eddy_string text = {.data = name, .length = strlen(name)};
    const eddy_attr attr = eddy_attr_string(ATTR, &text);
    eddy_node_spec spec = {.size = sizeof spec,
                           .op = "IdentityN",
                           .name = NULL,
                           .n_inputs = n_outputs + n_inputs,
                           .attrs = &attr,
                           .n_attrs = 1};
    eddy_output *list;
    eddy_status status;
    eddy_node node;

    if (!eddy__custom_find(graph->ctx, text))
        return eddy__fail(err, EDDY_NOT_FOUND, EDDY_E_NO_GRADIENT,
                          "no gradient '%s' was defined", name);
    list = eddy__arena_allocate(&arena, spec.n_inputs + 1, sizeof *list);
    if (!list) {
        eddy__arena_destroy(&arena);
        return eddy__fail_memory(err);
    }
    for (size_t i = 0; i < n_outputs; i++)
        list[i] = outputs[i];
    for (size_t i = 0; i < n_inputs; i++)
        list[n_outputs + i] = inputs[i];
    spec.inputs = list;
    status = eddy_graph_add(graph, &spec, &node, err);
    for (size_t i = 0; i < n_outputs && status == EDDY_OK; i++)
        out_results[i] = (eddy_output){.node = node, .index = (uint32_t)i};
    eddy__arena_destroy(&arena);
    return status;
}
