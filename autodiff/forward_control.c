/* Tangents of the primitives, of stacks and of arrays: the same ones again. */
#include "autodiff/forward.h"

#include "core/base/status.h"
#include "core/graph/name.h"

#include <stdio.h>
#include <string.h>

/* ---- primitives ---- */

/* One input, which is handed on. */
static void hand_on(eddy__forward *f, eddy_node node)
{
    const eddy_output t =
        eddy__tangent(f, eddy__graph_node(f->w.graph, node)->inputs[0]);

    if (eddy__is_output(t))
        eddy__set_tangent(f, (eddy_output){node, 0},
                          eddy__emit_like(f, node, &t));
}

static void choose_side(eddy__forward *f, eddy_node node)
{
    const eddy__node n = *eddy__graph_node(f->w.graph, node);
    const eddy_output inputs[] = {eddy__tangent(f, n.inputs[0]), n.inputs[1]};
    eddy_output sides;

    if (!eddy__is_output(inputs[0]))
        return;
    sides = eddy__emit_like(f, node, inputs);
    for (uint32_t i = 0; i < n.n_outputs; i++)
        eddy__set_tangent(f, (eddy_output){node, i}, eddy__port(sides, i));
}

/* The zero that comes in first where only later iterations have a tangent. */
static eddy_output enter_zeros(eddy__forward *f, eddy_node enter)
{
    const eddy_output zeros =
        eddy__full_tangent(f, eddy__graph_node(f->w.graph, enter)->inputs[0]);

    return eddy__emit_like(f, enter, &zeros);
}

static void open_merge(eddy__forward *f, eddy_node node)
{
    const eddy__node n = *eddy__graph_node(f->w.graph, node);
    eddy__open_merge *open = eddy__arena_allocate(&f->w.arena, 1, sizeof *open);
    eddy_output first;

    if (!open) {
        f->w.status = eddy__fail_memory(f->w.err);
        return;
    }
    if (n.n_inputs != 2 ||
        f->w.flow.role[n.inputs[0].node] != EDDY__ROLE_ENTER) {
        eddy__walk_fail(&f->w, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT, node,
                        "it has a tangent, but is not the Merge of an Enter "
                        "and a NextIteration");
        return;
    }
    first = eddy__tangent(f, n.inputs[0]);
    if (!eddy__is_output(first))
        first = enter_zeros(f, n.inputs[0].node);
    *open =
        (eddy__open_merge){.forward = node,
                           .tangent = eddy__emit_like(
                               f, node, (const eddy_output[]){first, first}),
                           .next = f->open_merges};
    f->open_merges = open;
    eddy__set_tangent(f, (eddy_output){node, 0}, open->tangent);
}

void eddy__forward_close_merges(eddy__forward *f)
{
    for (eddy__open_merge *m = f->open_merges; m && f->w.status == EDDY_OK;
         m = m->next) {
        const eddy_output back =
            eddy__graph_node(f->w.graph, m->forward)->inputs[1];
        eddy_output next = eddy__tangent(f, back);

        f->w.at = back.node;
        if (!eddy__is_output(next)) {
            const eddy_output zeros = eddy__full_tangent(
                f, eddy__graph_node(f->w.graph, back.node)->inputs[0]);

            next = eddy__emit_like(f, back.node, &zeros);
        }
        eddy__emit_back_edge(&f->w, m->tangent, next);
    }
}

/* Each input's tangent is live when it is, so the Merge takes the right one. */
static void meet(eddy__forward *f, eddy_node node)
{
    const eddy__node n = *eddy__graph_node(f->w.graph, node);
    eddy_output *inputs =
        eddy__arena_allocate(&f->w.arena, n.n_inputs, sizeof *inputs);

    if (!inputs) {
        f->w.status = eddy__fail_memory(f->w.err);
        return;
    }
    for (uint32_t i = 0; i < n.n_inputs; i++)
        inputs[i] = eddy__full_tangent(f, n.inputs[i]);
    if (f->w.status == EDDY_OK)
        eddy__set_tangent(f, (eddy_output){node, 0},
                          eddy__emit_like(f, node, inputs));
}

static bool has_back_edge(const eddy__forward *f, eddy_node merge)
{
    const eddy__flow *flow = &f->w.flow;

    for (size_t i = flow->first_in[merge]; i < flow->first_in[merge + 1]; i++)
        if (eddy__is_node(flow->source[i]) &&
            eddy__is_back_edge(flow, flow->source[i], merge,
                               eddy__is_data(flow, merge, i)))
            return true;
    return false;
}

void eddy__forward_primitive(eddy__forward *f, eddy_node node)
{
    switch ((eddy__role)f->w.flow.role[node]) {
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
    const size_t size = old.length + strlen(f->w.source) + 2;
    char *text = eddy__arena_allocate(&f->w.graph->arena, size, 1);

    if (!text) {
        f->w.status = eddy__fail_memory(f->w.err);
        return NULL;
    }
    memcpy(text, old.data, old.length);
    snprintf(text + old.length, size - old.length, "_%s", f->w.source);
    return text;
}

/* The controls of a node, and one more, in the arena; NULL without memory. */
static eddy_node *controls_and(eddy__forward *f, const eddy__node *n,
                               eddy_node more)
{
    eddy_node *controls =
        eddy__arena_allocate(&f->w.arena, n->n_controls + 1u, sizeof *controls);

    if (!controls) {
        f->w.status = eddy__fail_memory(f->w.err);
        return NULL;
    }
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
    const eddy__node n = *eddy__graph_node(f->w.graph, node);
    const char *source = new_source(f, &n);
    const eddy_output flow = eddy__tangent(f, n.inputs[1]);
    const eddy_node *controls = controls_and(f, &n, n.inputs[1].node);
    eddy_output inputs[3] = {n.inputs[0], n.inputs[1]};
    eddy_string text;
    eddy_attr attr;

    if (!source || !controls)
        return EDDY__NO_OUTPUT;
    text = (eddy_string){.data = source, .length = strlen(source)};
    attr = eddy_attr_string("source", &text);
    if (eddy__is_output(flow))
        inputs[1] = flow;
    if (n.n_inputs == 3)
        inputs[2] = n.inputs[2];
    return eddy__emit_spec(&f->w,
                           &(eddy_node_spec){.op = n.op_name,
                                             .inputs = inputs,
                                             .n_inputs = n.n_inputs,
                                             .controls = controls,
                                             .n_controls = n.n_controls + 1u,
                                             .attrs = &attr,
                                             .n_attrs = 1});
}

void eddy__forward_maker(eddy__forward *f, eddy_node node)
{
    const eddy__node n = *eddy__graph_node(f->w.graph, node);
    const bool is_gradient = n.n_inputs > 1;
    const eddy_output second = is_gradient ? second_gradients(f, node)
                                           : eddy__emit_like(f, node, n.inputs);

    for (uint32_t i = 0; i < n.n_outputs; i++)
        eddy__set_tangent(f, (eddy_output){node, i}, eddy__port(second, i));
}
