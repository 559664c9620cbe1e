/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of eddy/gradients.h by which the gradient of an op asks and adds.
 * Numbers are checked here; the host answers.
 */
#include "autodiff/rule_host.h"

#include <stdarg.h>
#include <stdio.h>

void eddy__rule_host_source(char out_text[EDDY__SOURCE_SIZE], size_t n_nodes)
{
    (void)snprintf(out_text, EDDY__SOURCE_SIZE, "gradients_%zu", n_nodes);
}

static eddy_output output_of(const eddy_gradient *g, uint32_t i)
{
    return (eddy_output){.node = g->node, .index = i};
}

/* False, with the reason recorded, for a number that is out of range. */
static bool check(eddy_gradient *g, uint32_t i, uint32_t n, const char *what)
{
    if (i < n)
        return g->e->core.status == EDDY_OK;
    eddy__emit_fail(g->e, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT, g->node,
                    "its gradient asks for %s %u of %u", what, i, n);
    return false;
}

uint32_t eddy_gradient_inputs(const eddy_gradient *g)
{
    return eddy__rule_host_node(g)->n_inputs;
}

uint32_t eddy_gradient_outputs(const eddy_gradient *g)
{
    return eddy__rule_host_node(g)->n_outputs;
}

eddy_output eddy_gradient_input(eddy_gradient *g, uint32_t i)
{
    if (!check(g, i, eddy__rule_host_node(g)->n_inputs, "input"))
        return EDDY__NO_OUTPUT;
    return g->host->value(g, eddy__rule_host_node(g)->inputs[i]);
}

eddy_output eddy_gradient_output(eddy_gradient *g, uint32_t i)
{
    if (!check(g, i, eddy__rule_host_node(g)->n_outputs, "output"))
        return EDDY__NO_OUTPUT;
    return g->host->value(g, output_of(g, i));
}

bool eddy_gradient_is_given(const eddy_gradient *g, uint32_t i)
{
    return i < eddy__rule_host_node(g)->n_outputs &&
           g->host->is_given(g, output_of(g, i));
}

eddy_output eddy_gradient_given(eddy_gradient *g, uint32_t i)
{
    return check(g, i, eddy__rule_host_node(g)->n_outputs,
                 "the gradient of output")
               ? g->host->given(g, output_of(g, i))
               : EDDY__NO_OUTPUT;
}

bool eddy_gradient_is_wanted(const eddy_gradient *g, uint32_t i)
{
    return i < eddy__rule_host_node(g)->n_inputs &&
           g->host->is_wanted(g, eddy__rule_host_node(g)->inputs[i]);
}

eddy_dtype eddy_gradient_input_dtype(const eddy_gradient *g, uint32_t i)
{
    return i < eddy__rule_host_node(g)->n_inputs
               ? (eddy_dtype)eddy__rule_host_node(g)->input_dtypes[i]
               : EDDY_INVALID;
}

bool eddy_gradient_attr(const eddy_gradient *g, const char *name,
                        eddy_attr *out_attr)
{
    return eddy_graph_node_attr(g->e->core.graph, g->node, name, out_attr);
}

static const eddy_shape unknown = {.rank = -1};

const eddy_shape *eddy_gradient_input_shape(const eddy_gradient *g, uint32_t i)
{
    return i < eddy__rule_host_node(g)->n_inputs
               ? eddy__value_shapes_find(g->shapes,
                                         eddy__rule_host_node(g)->inputs[i])
               : &unknown;
}

const eddy_shape *eddy_gradient_output_shape(const eddy_gradient *g, uint32_t i)
{
    return i < eddy__rule_host_node(g)->n_outputs
               ? eddy__value_shapes_find(g->shapes, output_of(g, i))
               : &unknown;
}

eddy_output eddy_gradient_shape_of(eddy_gradient *g, uint32_t i)
{
    if (!check(g, i, eddy__rule_host_node(g)->n_inputs, "the shape of input"))
        return EDDY__NO_OUTPUT;
    return g->host->shape_of(g, eddy__rule_host_node(g)->inputs[i]);
}

const char *eddy_gradient_source(const eddy_gradient *g)
{
    return g->source;
}

eddy_output eddy_gradient_add(eddy_gradient *g, const char *op,
                              const eddy_output *inputs, size_t n_inputs,
                              const eddy_attr *attrs, size_t n_attrs)
{
    return eddy__emit_spec(g->e, &(eddy_node_spec){.op = op,
                                                   .inputs = inputs,
                                                   .n_inputs = n_inputs,
                                                   .attrs = attrs,
                                                   .n_attrs = n_attrs});
}

eddy_output eddy_gradient_const(eddy_gradient *g, eddy_tensor *tensor)
{
    return g->host->bring(g, eddy__emit_const(g->e, tensor));
}

void eddy_gradient_set(eddy_gradient *g, uint32_t i, eddy_output gradient)
{
    if (!check(g, i, eddy__rule_host_node(g)->n_inputs,
               "the gradient of input") ||
        !eddy_gradient_is_wanted(g, i))
        return;
    g->host->set(g, i, gradient);
}

eddy_status eddy_gradient_fail(eddy_gradient *g, eddy_status code,
                               eddy_detail detail, const char *format, ...)
{
    char text[sizeof g->e->core.err->message];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return eddy__emit_fail(g->e, code, detail, g->node, "%s", text);
}
