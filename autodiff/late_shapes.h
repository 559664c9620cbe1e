/*
 * Shapes of nodes that are added while a graph is differentiated, as far as
 * they follow from their inputs: rules that know them add fewer nodes.
 */
#ifndef EDDY_AUTODIFF_LATE_SHAPES_H
#define EDDY_AUTODIFF_LATE_SHAPES_H

#include "eddy/graph.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct eddy__late_node {
    size_t first;       /* the number of its output 0 */
    eddy_shape *shapes; /* of its outputs; they stay where they are */
} eddy__late_node;

typedef struct eddy__late_shapes {
    bool is_on;
    eddy__late_node *nodes; /* from the first that was added */
    size_t n_nodes, capacity;
    size_t n; /* outputs */
} eddy__late_shapes;

struct eddy__walk;

/* Notes all nodes up to one that was added; false without memory. */
bool eddy__late_note(struct eddy__walk *w, eddy_node node);

/* NULL for what was not noted. */
eddy_shape *eddy__late_shape(const struct eddy__walk *w, eddy_output output);

void eddy__late_deinit(struct eddy__walk *w);

#endif
