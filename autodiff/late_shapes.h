/*
 * Shapes of nodes that are added while a graph is differentiated, as far as
 * they follow from their inputs: rules that know them add fewer nodes.
 */
#ifndef EDDY_AUTODIFF_LATE_SHAPES_H
#define EDDY_AUTODIFF_LATE_SHAPES_H

#include "eddy/graph.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct eddy__late_shapes {
    bool is_on;
    size_t *first; /* a node, the first added one being 0: of its output 0 */
    size_t n_nodes, nodes_capacity;
    eddy_shape *shapes;
    size_t n, capacity;
} eddy__late_shapes;

struct eddy__walk;

/* Notes all nodes up to one that was added; false without memory. */
bool eddy__late_note(struct eddy__walk *w, eddy_node node);

/* NULL for what was not noted. */
eddy_shape *eddy__late_shape(const struct eddy__walk *w, eddy_output output);

void eddy__late_deinit(struct eddy__walk *w);

#endif
