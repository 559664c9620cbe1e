/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes and constants of values as far as they are known without running: of
 * forward values by the study, and of nodes that are emitted, while these are
 * watched, as far as they follow from their inputs: rules that know them add
 * fewer nodes.
 */
#ifndef EDDY_AUTODIFF_VALUE_SHAPES_H
#define EDDY_AUTODIFF_VALUE_SHAPES_H

#include "autodiff/study.h"

typedef struct eddy__emitted_shapes {
    size_t first;       /* the number of its output 0 */
    eddy_shape *shapes; /* of its outputs; they stay where they are */
} eddy__emitted_shapes;

typedef struct eddy__value_shapes {
    eddy__gradient_emitter *e;
    const eddy__study *study;
    eddy__emitted_shapes *emitted; /* from the first node that was emitted */
    size_t n_emitted, capacity;
    size_t n_outputs; /* of all of them */
} eddy__value_shapes;

void eddy__value_shapes_init(eddy__value_shapes *shapes,
                             eddy__gradient_emitter *e,
                             const eddy__study *study);
void eddy__value_shapes_deinit(eddy__value_shapes *shapes);

/* Notes the shapes of all nodes that are emitted from now on. */
void eddy__value_shapes_watch(eddy__value_shapes *shapes);

/* The shape is of rank -1 if nothing is known. */
const eddy_shape *eddy__value_shapes_find(const eddy__value_shapes *shapes,
                                          eddy_output v);

/* The tensor that `v` always is, or NULL. */
const eddy_tensor *eddy__value_shapes_constant(const eddy__value_shapes *shapes,
                                               eddy_output v);

/* The shape of an emitted node, which may be set; NULL for what was not noted.
 */
eddy_shape *eddy__value_shapes_emitted(const eddy__value_shapes *shapes,
                                       eddy_output v);

#endif
