/* What the gradient of an op may ask and do: eddy/gradients.h. */
#include "autodiff/forward.h"

#include "core/base/status.h"

#include <stdarg.h>
#include <stdio.h>

static const eddy__node *node_of(const eddy_gradient *g)
{
    return eddy__graph_node(g->walk->graph, g->node);
}

static eddy_output output_of(const eddy_gradient *g, uint32_t i)
{
    return (eddy_output){.node = g->node, .index = i};
}

/* False, with the reason recorded, for a number that is out of range. */
static bool check(eddy_gradient *g, uint32_t i, uint32_t n, const char *what)
{
    if (i < n)
        return g->walk->status == EDDY_OK;
    eddy__walk_fail(g->walk, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT, g->node,
                    "its gradient asks for %s %u of %u", what, i, n);
    return false;
}

uint32_t eddy_gradient_inputs(const eddy_gradient *g)
{
    return node_of(g)->n_inputs;
}

uint32_t eddy_gradient_outputs(const eddy_gradient *g)
{
    return node_of(g)->n_outputs;
}

eddy_output eddy_gradient_input(eddy_gradient *g, uint32_t i)
{
    if (!check(g, i, node_of(g)->n_inputs, "input"))
        return EDDY__NO_OUTPUT;
    if (g->fragment)
        return node_of(g)->inputs[i];
    return eddy__real(g->walk, node_of(g)->inputs[i]);
}

eddy_output eddy_gradient_output(eddy_gradient *g, uint32_t i)
{
    if (!check(g, i, node_of(g)->n_outputs, "output"))
        return EDDY__NO_OUTPUT;
    if (g->fragment)
        return output_of(g, i);
    return eddy__real(g->walk, output_of(g, i));
}

bool eddy_gradient_is_given(const eddy_gradient *g, uint32_t i)
{
    const eddy__walk *w = g->walk;

    if (g->fragment)
        return eddy__fragment_is_given(g, i);
    return i < node_of(g)->n_outputs &&
           w->addends[w->shapes.first[g->node] + i];
}

eddy_output eddy_gradient_given(eddy_gradient *g, uint32_t i)
{
    eddy_output out;
    uint32_t from;

    if (!check(g, i, node_of(g)->n_outputs, "the gradient of output"))
        return EDDY__NO_OUTPUT;
    if (g->fragment)
        return eddy__fragment_given(g, i);
    if (eddy_gradient_is_given(g, i))
        return eddy__sum(g->walk, output_of(g, i));
    out = eddy__zeros_like(g->walk, output_of(g, i), &from);
    return eddy__guard(g->walk, out, from,
                       eddy__branch_of(g->walk, output_of(g, i)));
}

bool eddy_gradient_is_wanted(const eddy_gradient *g, uint32_t i)
{
    if (g->fragment)
        return eddy__fragment_is_wanted(g, i);
    return i < node_of(g)->n_inputs &&
           eddy__is_active_edge(g->walk, node_of(g)->inputs[i]);
}

eddy_dtype eddy_gradient_input_dtype(const eddy_gradient *g, uint32_t i)
{
    return i < node_of(g)->n_inputs ? (eddy_dtype)node_of(g)->input_dtypes[i]
                                    : EDDY_INVALID;
}

bool eddy_gradient_attr(const eddy_gradient *g, const char *name,
                        eddy_attr *out_attr)
{
    return eddy_graph_node_attr(g->walk->graph, g->node, name, out_attr);
}

static const eddy_shape unknown = {.rank = -1};

const eddy_shape *eddy_gradient_input_shape(const eddy_gradient *g, uint32_t i)
{
    return i < node_of(g)->n_inputs
               ? eddy__static_shape(g->walk, node_of(g)->inputs[i])
               : &unknown;
}

const eddy_shape *eddy_gradient_output_shape(const eddy_gradient *g, uint32_t i)
{
    return i < node_of(g)->n_outputs
               ? eddy__static_shape(g->walk, output_of(g, i))
               : &unknown;
}

eddy_output eddy_gradient_shape_of(eddy_gradient *g, uint32_t i)
{
    if (!check(g, i, node_of(g)->n_inputs, "the shape of input"))
        return EDDY__NO_OUTPUT;
    if (g->fragment)
        return eddy__fragment_shape_of(g, i);
    return eddy__real_shape(g->walk, node_of(g)->inputs[i]);
}

const char *eddy_gradient_source(const eddy_gradient *g)
{
    return g->walk->source;
}

eddy_output eddy_gradient_add(eddy_gradient *g, const char *op,
                              const eddy_output *inputs, size_t n_inputs,
                              const eddy_attr *attrs, size_t n_attrs)
{
    return eddy__emit_spec(g->walk, &(eddy_node_spec){.op = op,
                                                      .inputs = inputs,
                                                      .n_inputs = n_inputs,
                                                      .attrs = attrs,
                                                      .n_attrs = n_attrs});
}

eddy_output eddy_gradient_const(eddy_gradient *g, eddy_tensor *tensor)
{
    if (g->fragment)
        return eddy__emit_const(g->walk, tensor);
    return eddy__import(
        g->walk, eddy__emit_const(g->walk, tensor),
        &g->walk->scopes[g->walk->analysis->node_frame[g->node]]);
}

void eddy_gradient_set(eddy_gradient *g, uint32_t i, eddy_output gradient)
{
    if (!check(g, i, node_of(g)->n_inputs, "the gradient of input") ||
        !eddy_gradient_is_wanted(g, i))
        return;
    if (g->fragment)
        eddy__fragment_set(g, i, gradient);
    else
        eddy__add_gradient(g->walk, node_of(g)->inputs[i], gradient,
                           g->walk->branches.of_node[g->node]);
}

eddy_status eddy_gradient_fail(eddy_gradient *g, eddy_status code,
                               eddy_detail detail, const char *format, ...)
{
    char text[sizeof g->walk->err->message];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return eddy__walk_fail(g->walk, code, detail, g->node, "%s", text);
}
