/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes while a pass goes over the nodes in the order of their values: what it
 * finds to be constant tells shapes of the nodes behind, before all shapes are
 * inferred anew.
 */
#ifndef EDDY_PLAN_REFINE_H
#define EDDY_PLAN_REFINE_H

#include "runtime/plan/readers.h"

/* Inputs and outputs of a node that is looked at. */
#define EDDY__REFINE_MOST_PORTS 16

typedef struct eddy__refined {
    const eddy__readers *readers;
    eddy_shape *shapes;  /* of all outputs, by the build's numbers */
    uint8_t *is_refined; /* a node: more is known than was inferred */
} eddy__refined;

/* A copy of the build's shapes, in scratch memory. */
eddy_status eddy__refined_init(eddy__refined *refined,
                               const eddy__readers *readers,
                               eddy__arena *scratch);

/* As eddy__readers_seen_shape. */
const eddy_shape *eddy__refined_shape(const eddy__refined *refined,
                                      eddy_output output);

/*
 * Asks the shape function of node `v` again; `constants` are its inputs', NULL
 * where nothing is known.  Nodes that join or go on with what comes later are
 * left alone.
 */
void eddy__refined_visit(eddy__refined *refined, eddy_node v,
                         const eddy_tensor *const *constants);

#endif
