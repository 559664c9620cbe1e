/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where nodes of a graph with loops are drawn.
 *
 * Each frame is laid out by itself, in layers, with the frames in it as boxes:
 * Enters on top, then Merges, the predicate, the loop's Switches, the body, and
 * NextIterations and Exits below.  The nodes of a loop variable pull each other
 * into one lane, the sides of a branch push each other apart, what reads
 * nothing stands right above its reader.  A frame that pops what another one
 * pushes stands beside it with its flow upwards.  Back edges have no part in
 * it.
 */
#ifndef EDDY_INTEROP_DRAW_LAYOUT_H
#define EDDY_INTEROP_DRAW_LAYOUT_H

#include "eddy/trace.h"

/* Sizes in pixels. */
#define EDDY__DRAW_NODE_WIDTH 112
#define EDDY__DRAW_NODE_HEIGHT 22
#define EDDY__DRAW_TITLE_HEIGHT 22
#define EDDY__DRAW_MARGIN 14

/* A frame of more nodes, those of frames within counted, is drawn closed. */
#define EDDY__DRAW_MOST_OPEN 60

/* A graph of more is not drawn. */
#define EDDY__DRAW_MOST_NODES 5000

typedef struct eddy__drawn_frame {
    double x, y;          /* of its upper left corner, in its parent */
    double width, height; /* open */
    uint32_t n_nodes;     /* those of frames within too */
    bool is_closed;       /* in its parent it takes the room of a node */
    bool is_mirrored;     /* its flow goes up */
} eddy__drawn_frame;

typedef struct eddy__drawing {
    const eddy_trace_node *nodes; /* borrowed, as are the frames */
    const eddy_trace_static_frame *frames;
    uint32_t n_nodes, n_frames;
    uint32_t most_open;       /* of a frame's nodes; beyond, it is closed */
    uint32_t *home;           /* a node: the frame in which it is drawn */
    double *x, *y;            /* a node: its middle, in that frame */
    eddy__drawn_frame *boxes; /* a frame */
} eddy__drawing;

/* Fills `drawing`, whose nodes and frames are set; deinit it either way. */
eddy_status eddy__drawing_init(eddy__drawing *drawing, eddy_error *err);
void eddy__drawing_deinit(eddy__drawing *drawing);

/* How wide and high a frame is in its parent. */
double eddy__drawn_width(const eddy__drawn_frame *box);
double eddy__drawn_height(const eddy__drawn_frame *box);

#endif
