/* Names of nodes: which are legal, which are made up, which come close. */
#ifndef EDDY_CORE_NAME_H
#define EDDY_CORE_NAME_H

#include "core/graph/graph.h"

/* TensorFlow's rule: [A-Za-z0-9.][A-Za-z0-9_.\/>-]*. */
eddy_status eddy__name_check(const char *name, eddy_error *err);

/*
 * A name in the graph's arena that no node has: the op's, without leading '_',
 * or that and "_1", "_2".  NULL without memory.  `*out_suffix` goes to
 * eddy__name_taken when the node has been added.
 */
const char *eddy__name_make(eddy_graph *graph, const char *op,
                            uint32_t *out_suffix);
void eddy__name_taken(eddy_graph *graph, const char *op, uint32_t suffix);

/* The node whose name is closest to `name`, NULL if none is close. */
const char *eddy__name_closest(const eddy_graph *graph, const char *name,
                               size_t length);

#endif
