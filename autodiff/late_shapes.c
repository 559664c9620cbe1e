#include "autodiff/late_shapes.h"

#include "autodiff/walk.h"

/* More inputs than this are a Pack or the like: whose shape hardly matters. */
#define MOST_INPUTS 16

eddy_shape *eddy__late_shape(const eddy__walk *w, eddy_output output)
{
    const eddy__late_shapes *late = &w->late;

    if (output.node < w->n_nodes || output.node - w->n_nodes >= late->n_nodes)
        return NULL;
    return &late->shapes[late->first[output.node - w->n_nodes] + output.index];
}

static bool make_room(eddy__walk *w, uint32_t n_outputs)
{
    eddy__late_shapes *late = &w->late;
    void *first = late->first, *shapes = late->shapes;
    const bool has_nodes =
        eddy__grow(w->arena.allocator, &first, &late->nodes_capacity,
                   late->n_nodes + 1, sizeof *late->first);
    const bool has_shapes =
        eddy__grow(w->arena.allocator, &shapes, &late->capacity,
                   late->n + n_outputs, sizeof *late->shapes);

    late->first = first;
    late->shapes = shapes;
    return has_nodes && has_shapes;
}

/* What the op says of its outputs; nothing where it fails. */
static void infer(const eddy__walk *w, const eddy__node *n, eddy_shape *outputs)
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
        inputs[i] = *eddy__static_shape(w, n->inputs[i]);
        constants[i] = eddy__static_constant(w, n->inputs[i]);
    }
    if (n->op->infer(&asked) != EDDY_OK)
        for (uint32_t i = 0; i < n->n_outputs; i++)
            outputs[i] = (eddy_shape){.rank = -1};
}

static bool note(eddy__walk *w, eddy_node node)
{
    const eddy__node *n = eddy__graph_node(w->graph, node);
    eddy__late_shapes *late = &w->late;
    eddy_shape *outputs;

    if (!make_room(w, n->n_outputs))
        return false;
    outputs = &late->shapes[late->n];
    for (uint32_t i = 0; i < n->n_outputs; i++)
        outputs[i] = (eddy_shape){.rank = -1};
    infer(w, n, outputs);
    late->first[late->n_nodes++] = late->n;
    late->n += n->n_outputs;
    return true;
}

bool eddy__late_note(eddy__walk *w, eddy_node node)
{
    while (w->n_nodes + w->late.n_nodes <= node)
        if (!note(w, (eddy_node)(w->n_nodes + w->late.n_nodes)))
            return false;
    return true;
}

void eddy__late_deinit(eddy__walk *w)
{
    eddy__free(w->arena.allocator, w->late.first, w->late.nodes_capacity,
               sizeof *w->late.first);
    eddy__free(w->arena.allocator, w->late.shapes, w->late.capacity,
               sizeof *w->late.shapes);
}
