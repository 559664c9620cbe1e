/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limits of a call that adds to a graph: while it lasts, the graph has a
 * budget, from which all its memory and all scratch memory of the call come.
 */
#ifndef EDDY_AUTODIFF_BOUNDED_H
#define EDDY_AUTODIFF_BOUNDED_H

#include "core/graph/graph.h"
#include "eddy/gradients.h"

typedef struct eddy__bounded {
    eddy_graph *graph;
    eddy_gradient_options
        options; /* a copy with every member of this version */
    eddy__budget budget;
    bool is_outermost; /* within a call that has a budget, that one counts */
} eddy__bounded;

/* Fails, with nothing begun, for options or limits of a wrong size. */
eddy_status eddy__bounded_begin(eddy__bounded *bounded, eddy_graph *graph,
                                const char *what,
                                const eddy_gradient_options *options,
                                eddy_error *err);

/* The status of the call: that of its budget, if that was exceeded. */
eddy_status eddy__bounded_end(eddy__bounded *bounded, eddy_status status,
                              eddy_error *err);

#endif
