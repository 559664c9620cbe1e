/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs as drawings that need no other program: frames as boxes, laid out in
 * layers, loop variables in lanes, a gradient loop beside its loop with its
 * flow upwards.
 */
#ifndef EDDY_DRAWING_H
#define EDDY_DRAWING_H

#include "eddy/dot.h"

EDDY_BEGIN_DECLS

typedef enum eddy_drawing_format {
    EDDY_DRAWING_SVG, /* all frames open */
    EDDY_DRAWING_PAGE /* HTML: frames of more than 60 nodes open by a click */
} eddy_drawing_format;

/*
 * Writes a drawing of `graph`, of at most 5,000 nodes.  CANCELLED if `write`
 * stopped it.
 */
EDDY_API EDDY_MUST_USE eddy_status
eddy_drawing_write(const eddy_graph *graph, const eddy_analysis *analysis,
                   eddy_drawing_format format, eddy_write_cb write, void *user,
                   eddy_error *err);

EDDY_END_DECLS

#endif
