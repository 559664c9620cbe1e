/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes and constants of values.  Inference of what is emitted looks one node
 * back, whose shapes are known already; it requires that every node that the
 * graph gets is noted in its turn.
 */
#include "autodiff/value_shapes.h"

#include "core/base/status.h"

#include <stddef.h>

/* More inputs than this are a Pack or the like: whose shape hardly matters. */
#define MOST_INPUTS 16

void eddy__value_shapes_init(eddy__value_shapes *shapes,
                             eddy__gradient_emitter *e,
                             const eddy__study *study)
{
    *shapes = (eddy__value_shapes){.e = e, .study = study};
}

void eddy__value_shapes_deinit(eddy__value_shapes *shapes)
{
    eddy__free(shapes->e->arena.allocator, shapes->emitted, shapes->capacity,
               sizeof *shapes->emitted);
}

/* ---- asking ---- */

eddy_shape *eddy__value_shapes_emitted(const eddy__value_shapes *shapes,
                                       eddy_output v)
{
    const size_t n = shapes->study->n_nodes;

    if (v.node < n || v.node - n >= shapes->n_emitted)
        return NULL;
    return &shapes->emitted[v.node - n].shapes[v.index];
}

const eddy_shape *eddy__value_shapes_find(const eddy__value_shapes *shapes,
                                          eddy_output v)
{
    static const eddy_shape unknown = {.rank = -1};
    const eddy_shape *emitted;

    if (v.node < shapes->study->n_nodes)
        return eddy__shape_at(&shapes->study->shapes, v);
    emitted = eddy__value_shapes_emitted(shapes, v);
    return emitted ? emitted : &unknown;
}

const eddy_tensor *eddy__value_shapes_constant(const eddy__value_shapes *shapes,
                                               eddy_output v)
{
    const eddy__node *n = eddy__graph_node(shapes->study->graph, v.node);
    const eddy_attr *value;

    if (v.node < shapes->study->n_nodes)
        return eddy__infer_constant_at(&shapes->study->shapes, v);
    if (eddy__node_role(n) != EDDY__ROLE_CONST)
        return NULL;
    value = eddy__node_attr(n, "value");
    return value ? value->as.tensors[0] : NULL;
}

/* ---- noting what is emitted ---- */

/* The shapes that the op infers; unknown ones where it fails. */
static void infer_outputs(const eddy__value_shapes *shapes, const eddy__node *n,
                          eddy_shape *outputs)
{
    eddy_shape inputs[MOST_INPUTS];
    const eddy_tensor *constants[MOST_INPUTS];
    eddy_infer asked = {.node = n,
                        .inputs = inputs,
                        .constants = constants,
                        .outputs = outputs};

    if (!n->op || !n->op->infer || n->n_inputs > MOST_INPUTS)
        return;
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        inputs[i] = *eddy__value_shapes_find(shapes, n->inputs[i]);
        constants[i] = eddy__value_shapes_constant(shapes, n->inputs[i]);
    }
    if (n->op->infer(&asked) != EDDY_OK)
        for (uint32_t i = 0; i < n->n_outputs; i++)
            outputs[i] = (eddy_shape){.rank = -1};
}

static bool note_node(eddy__value_shapes *shapes, eddy_node node)
{
    const eddy__node *n = eddy__graph_node(shapes->study->graph, node);
    void *emitted = shapes->emitted;
    const bool ok =
        eddy__grow(shapes->e->arena.allocator, &emitted, &shapes->capacity,
                   shapes->n_emitted + 1, sizeof *shapes->emitted);
    eddy_shape *outputs = eddy__arena_allocate(
        &shapes->e->arena, n->n_outputs + 1u, sizeof *outputs);

    shapes->emitted = emitted;
    if (!ok || !outputs)
        return false;
    for (uint32_t i = 0; i < n->n_outputs; i++)
        outputs[i] = (eddy_shape){.rank = -1};
    infer_outputs(shapes, n, outputs);
    shapes->emitted[shapes->n_emitted++] =
        (eddy__emitted_shapes){.first = shapes->n_outputs, .shapes = outputs};
    shapes->n_outputs += n->n_outputs;
    return true;
}

/* Notes all nodes up to one that was added. */
static eddy_status note_emitted(void *owner, eddy_node node, eddy_error *err)
{
    eddy__value_shapes *shapes = owner;
    const size_t n = shapes->study->n_nodes;

    while (n + shapes->n_emitted <= node)
        if (!note_node(shapes, (eddy_node)(n + shapes->n_emitted)))
            return eddy__fail_memory(err);
    return EDDY_OK;
}

void eddy__value_shapes_watch(eddy__value_shapes *shapes)
{
    shapes->e->core.note = note_emitted;
    shapes->e->core.owner = shapes;
}
