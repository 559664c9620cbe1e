/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of an edge around what it has nothing to do with.  Main invariant: a
 * way goes sideways only between layers, and through a layer only upright,
 * where nothing stands; so no edge crosses a node that it does not touch.
 */
#ifndef EDDY_INTEROP_DRAW_ROUTE_H
#define EDDY_INTEROP_DRAW_ROUTE_H

#include "interop/draw/layout.h"

/* In the whole picture. */
typedef struct eddy__drawn_point {
    double x, y;
} eddy__drawn_point;

/* What stands in a layer of a frame, from left to right. */
typedef struct eddy__drawn_item {
    uint32_t frame; /* in which it stands */
    double left, right, top, bottom;
    double middle; /* of its height: what a layer has in common */
} eddy__drawn_item;

typedef struct eddy__drawn_layer {
    double top, bottom;
    const eddy__drawn_item *items;
    size_t n_items;
} eddy__drawn_layer;

typedef struct eddy__routes {
    const eddy__drawing *d; /* borrowed */
    double *left, *top;     /* a frame: its corner in the picture */
    eddy__drawn_item *items;
    eddy__drawn_layer *layers; /* from the top down, by frame */
    size_t *first_layer;       /* a frame; one more at the end */
    uint32_t *way_in;          /* frames on the way to where an edge ends */
    eddy__drawn_point *points; /* of the way that was found last */
    size_t n_points;
} eddy__routes;

/* `d` is laid out, all of its frames open; deinit it either way. */
eddy_status eddy__routes_init(eddy__routes *routes, const eddy__drawing *d,
                              eddy_error *err);
void eddy__routes_deinit(eddy__routes *routes);

/*
 * Finds the way of input `k` (controls come after inputs) of node `to`: points,
 * of which each is right above or below the one before it or in the same space
 * between two layers.
 */
void eddy__routes_find(eddy__routes *routes, uint32_t to, uint32_t k);

#endif
