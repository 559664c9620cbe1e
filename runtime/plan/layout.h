/* SPDX-License-Identifier: Apache-2.0 */
/* What the passes of laying out share: layout.c and kernels.c. */
#ifndef EDDY_PLAN_LAYOUT_H
#define EDDY_PLAN_LAYOUT_H

#include "core/graph/infer.h"
#include "runtime/plan/plan.h"

/* An output of a step. */
typedef struct eddy__layout_source {
    uint32_t step, output;
} eddy__layout_source;

/* A token that a step waits for: the source may be a control edge. */
typedef struct eddy__in_edge {
    uint32_t from, output, port;
} eddy__in_edge;

typedef struct eddy__layout {
    eddy_plan *plan;
    const eddy__selection *selection;
    const eddy_plan_options *options;
    const eddy_analysis *analysis;
    const eddy__shapes *shapes;
    eddy__arena scratch;
    eddy_error *err;
    uint32_t n_feeds, first_fetch; /* feeds, then nodes, then fetches */
    uint32_t *step_of;             /* a node of the graph: its step */
    eddy_node *node_of;            /* a step: its node, or none (feed, fetch) */
    eddy__in_edge *in_edges;       /* of all steps, ... */
    size_t *in_first;              /* ... those of one from here to the next */
    uint32_t **outs;               /* a step: its slots and uses */
    eddy__edge *edges;             /* of all steps */
    size_t *next_plain, *next_special; /* while edges are filled in */
    eddy__kernel_node *infos;          /* one a step */
    eddy__marks marks;
} eddy__layout;

const eddy__node *eddy__layout_node(const eddy__layout *l, uint32_t step);
uint32_t eddy__layout_inputs(const eddy__layout *l, uint32_t step);
eddy__layout_source eddy__layout_input(const eddy__layout *l, uint32_t step,
                                       uint32_t i);
const eddy_shape *eddy__layout_shape(const eddy__layout *l,
                                     eddy__layout_source from);

/*
 * The tensor that input `i` always is, NULL if it may vary; also where it comes
 * into a loop by an Enter.
 */
const eddy_tensor *eddy__layout_constant_input(const eddy__layout *l,
                                               uint32_t step, uint32_t i);

/* Can the value be nothing but a scalar inside its slot? */
bool eddy__layout_is_inline(const eddy__layout *l, eddy__layout_source from);

/* Fills step_of and node_of between feeds and fetches. */
eddy_status eddy__layout_order(eddy__layout *l);

/* The last pass: kernels, what their prepare leaves, and constants. */
eddy_status eddy__layout_kernels(eddy__layout *l);

#endif
