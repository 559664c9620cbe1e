/* SPDX-License-Identifier: Apache-2.0 */
/* Compares two graphs of any contexts, node by node. */
#ifndef EDDY_TESTS_GRAPH_EQUAL_H
#define EDDY_TESTS_GRAPH_EQUAL_H

#include "core/graph/graph.h"

/* Fails the test, naming the node, unless the graphs say the same. */
void graph_want_equal(const eddy_graph *a, const eddy_graph *b);

#endif
