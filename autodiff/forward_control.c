/* SPDX-License-Identifier: Apache-2.0 */
/* Tangents of the primitives, of stacks and of arrays: the same ones again. */
#include "autodiff/forward.h"

#include "core/base/status.h"
#include "core/graph/names.h"

#include <stdio.h>
#include <string.h>

/* ---- primitives ---- */

/* One input, which is handed on. */
static void hand_on(eddy__forward *f, eddy_node node)
{
    const eddy_output t =
        eddy__tangent_of(f, eddy__graph_node(f->e.core.graph, node)->inputs[0]);

    if (eddy__output_exists(t))
        eddy__tangent_set(f, (eddy_output){node, 0},
                          eddy__tangent_repeat(f, node, &t));
}

static void choose_side(eddy__forward *f, eddy_node node)
{
    const eddy__node n = *eddy__graph_node(f->e.core.graph, node);
    const eddy_output inputs[] = {eddy__tangent_of(f, n.inputs[0]),
                                  n.inputs[1]};
    eddy_output sides;

    if (!eddy__output_exists(inputs[0]))
        return;
    sides = eddy__tangent_repeat(f, node, inputs);
    for (uint32_t i = 0; i < n.n_outputs; i++)
        eddy__tangent_set(f, (eddy_output){node, i},
                          eddy__output_port(sides, i));
}

/* The zero that comes in first where only later iterations have a tangent. */
static eddy_output enter_zeros(eddy__forward *f, eddy_node enter)
{
    const eddy_output zeros = eddy__tangent_full(
        f, eddy__graph_node(f->e.core.graph, enter)->inputs[0]);

    return eddy__tangent_repeat(f, enter, &zeros);
}

static void open_merge(eddy__forward *f, eddy_node node)
{
    const eddy__node n = *eddy__graph_node(f->e.core.graph, node);
    eddy__open_merge *open = eddy__emit_room(&f->e, 1, sizeof *open);
    eddy_output first;

    if (!open)
        return;
    if (n.n_inputs != 2 ||
        f->study.flow.role[n.inputs[0].node] != EDDY__ROLE_ENTER) {
        eddy__emit_fail(&f->e, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT, node,
                        "it has a tangent, but is not the Merge of an Enter "
                        "and a NextIteration");
        return;
    }
    first = eddy__tangent_of(f, n.inputs[0]);
    if (!eddy__output_exists(first))
        first = enter_zeros(f, n.inputs[0].node);
    *open =
        (eddy__open_merge){.forward = node,
                           .tangent = eddy__tangent_repeat(
                               f, node, (const eddy_output[]){first, first}),
                           .next = f->open_merges};
    f->open_merges = open;
    eddy__tangent_set(f, (eddy_output){node, 0}, open->tangent);
}

void eddy__forward_close_merges(eddy__forward *f)
{
    for (eddy__open_merge *m = f->open_merges; m && f->e.core.status == EDDY_OK;
         m = m->next) {
        const eddy_output back =
            eddy__graph_node(f->e.core.graph, m->forward)->inputs[1];
        eddy_output next = eddy__tangent_of(f, back);

        f->e.at = back.node;
        if (!eddy__output_exists(next)) {
            const eddy_output zeros = eddy__tangent_full(
                f, eddy__graph_node(f->e.core.graph, back.node)->inputs[0]);

            next = eddy__tangent_repeat(f, back.node, &zeros);
        }
        eddy__emit_back_edge(&f->e, m->tangent, next);
    }
}

/* Each input's tangent is live when it is, so the Merge takes the right one. */
static void meet(eddy__forward *f, eddy_node node)
{
    const eddy__node n = *eddy__graph_node(f->e.core.graph, node);
    eddy_output *inputs = eddy__emit_room(&f->e, n.n_inputs, sizeof *inputs);

    if (!inputs)
        return;
    for (uint32_t i = 0; i < n.n_inputs; i++)
        inputs[i] = eddy__tangent_full(f, n.inputs[i]);
    if (f->e.core.status == EDDY_OK)
        eddy__tangent_set(f, (eddy_output){node, 0},
                          eddy__tangent_repeat(f, node, inputs));
}

static bool has_back_edge(const eddy__forward *f, eddy_node merge)
{
    const eddy__flow *flow = &f->study.flow;

    for (size_t i = flow->first_in[merge]; i < flow->first_in[merge + 1]; i++)
        if (eddy__flow_is_node(flow->source[i]) &&
            eddy__is_back_edge(flow, flow->source[i], merge,
                               eddy__flow_is_data(flow, merge, i)))
            return true;
    return false;
}

void eddy__forward_primitive(eddy__forward *f, eddy_node node)
{
    switch ((eddy__role)f->study.flow.role[node]) {
    case EDDY__ROLE_SWITCH:
        choose_side(f, node);
        break;
    case EDDY__ROLE_MERGE:
        if (has_back_edge(f, node))
            open_merge(f, node);
        else
            meet(f, node);
        break;
    case EDDY__ROLE_ENTER:
    case EDDY__ROLE_EXIT:
    case EDDY__ROLE_NEXT_ITERATION:
        hand_on(f, node);
        break;
    default:
        break;
    }
}

/* ---- stacks and arrays ---- */

/* The source of an array of gradients, with that of this call after it. */
static const char *new_source(eddy__forward *f, const eddy__node *n)
{
    const eddy_string old = eddy__node_string(n, "source");
    const size_t size = old.length + strlen(f->source) + 2;
    char *text = eddy__arena_allocate(&f->e.core.graph->arena, size, 1);

    if (!text)
        return NULL;
    memcpy(text, old.data, old.length);
    snprintf(text + old.length, size - old.length, "_%s", f->source);
    return text;
}

/* The controls of a node, and one more, in the arena; NULL without memory. */
static eddy_node *controls_and(eddy__forward *f, const eddy__node *n,
                               eddy_node more)
{
    eddy_node *controls =
        eddy__emit_room(&f->e, n->n_controls + 1u, sizeof *controls);

    if (!controls)
        return NULL;
    for (uint32_t i = 0; i < n->n_controls; i++)
        controls[i] = n->controls[i];
    controls[n->n_controls] = more;
    return controls;
}

/*
 * An array of gradients belongs to another array, and so does its second: to
 * the same one, under another source.  The tangent's flow says what was written
 * to the second before.  The flow of the array itself must be waited for
 * besides: TensorFlow 2.21's TensorArrayGradOp (tensor_array_ops.cc) freezes
 * the array whose gradients are asked for, so that it grows no more.
 */
static eddy_output second_gradients(eddy__forward *f, eddy_node node)
{
    const eddy__node n = *eddy__graph_node(f->e.core.graph, node);
    const char *source = new_source(f, &n);
    const eddy_output flow = eddy__tangent_of(f, n.inputs[1]);
    const eddy_node *controls = controls_and(f, &n, n.inputs[1].node);
    eddy_output inputs[3] = {n.inputs[0], n.inputs[1]};
    eddy_string text;
    eddy_attr attr;

    if (!source || !controls)
        return EDDY__NO_OUTPUT;
    text = (eddy_string){.data = source, .length = strlen(source)};
    attr = eddy_attr_string("source", &text);
    if (eddy__output_exists(flow))
        inputs[1] = flow;
    if (n.n_inputs == 3)
        inputs[2] = n.inputs[2];
    return eddy__emit_spec(&f->e,
                           &(eddy_node_spec){.op = n.op_name,
                                             .inputs = inputs,
                                             .n_inputs = n.n_inputs,
                                             .controls = controls,
                                             .n_controls = n.n_controls + 1u,
                                             .attrs = &attr,
                                             .n_attrs = 1});
}

void eddy__forward_allocation(eddy__forward *f, eddy_node node)
{
    const eddy__node n = *eddy__graph_node(f->e.core.graph, node);
    const bool is_gradient = n.n_inputs > 1;
    const eddy_output second = is_gradient
                                   ? second_gradients(f, node)
                                   : eddy__tangent_repeat(f, node, n.inputs);

    for (uint32_t i = 0; i < n.n_outputs; i++)
        eddy__tangent_set(f, (eddy_output){node, i},
                          eddy__output_port(second, i));
}
