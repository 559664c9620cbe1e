/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracing a value back to the node that made it, past nodes that only hand it
 * on.  Each caller says by which kinds of nodes the value stays, for its
 * purpose, the same; what is fed, or comes from a node that is not selected, is
 * made where it comes in.
 */
#ifndef EDDY_FRAMES_TRACE_H
#define EDDY_FRAMES_TRACE_H

#include "frames/analysis/flow.h"

typedef enum eddy__way {
    EDDY__WAY_FORWARD = 1, /* output 0 of an Identity, or what acts as one */
    EDDY__WAY_TRIP = 2,    /* the Switch of a loop, where it goes on */
    EDDY__WAY_BRANCH = 4,  /* the Switch of a branch, on any side */
} eddy__way;

/* Is it a Switch of a branch, not of a loop? */
bool eddy__trace_is_branch_switch(const eddy__flow *flow, eddy_node node);

/* Is it a Merge of a loop's variable: does a NextIteration feed it? */
bool eddy__trace_is_loop_merge(const eddy__flow *flow, eddy_node node);

/* One node back by one of the `ways`; false: `*v` is where they end. */
bool eddy__trace_step(const eddy__flow *flow, unsigned ways, eddy_output *v);

/* All the way back.  Takes as many steps as there are nodes on the way. */
eddy_output eddy__trace(const eddy__flow *flow, unsigned ways, eddy_output v);

#endif
