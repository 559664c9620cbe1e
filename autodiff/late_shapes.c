#include "autodiff/late_shapes.h"

#include "autodiff/walk.h"

/* More inputs than this are a Pack or the like: whose shape hardly matters. */
#define MOST_INPUTS 16

eddy_shape *eddy__late_shape(const eddy__walk *w, eddy_output output)
{
    const eddy__late_shapes *late = &w->late;

    if (output.node < w->n_nodes || output.node - w->n_nodes >= late->n_nodes)
        return NULL;
    return &late->nodes[output.node - w->n_nodes].shapes[output.index];
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
    void *nodes = late->nodes;
    const bool ok = eddy__grow(w->arena.allocator, &nodes, &late->capacity,
                               late->n_nodes + 1, sizeof *late->nodes);
    eddy_shape *shapes =
        eddy__arena_allocate(&w->arena, n->n_outputs + 1u, sizeof *shapes);

    late->nodes = nodes;
    if (!ok || !shapes)
        return false;
    for (uint32_t i = 0; i < n->n_outputs; i++)
        shapes[i] = (eddy_shape){.rank = -1};
    infer(w, n, shapes);
    late->nodes[late->n_nodes++] =
        (eddy__late_node){.first = late->n, .shapes = shapes};
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
    eddy__free(w->arena.allocator, w->late.nodes, w->late.capacity,
               sizeof *w->late.nodes);
}
