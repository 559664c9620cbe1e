/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of an order, as `eddy grad` and `eddy verify` ask for them. */
#ifndef EDDY_TOOLS_DIFFERENTIATE_H
#define EDDY_TOOLS_DIFFERENTIATE_H

#include "tools/options.h"

/* A graph may grow tenfold with each. */
#define EDDY__MOST_ORDERS 9

typedef struct eddy__differentiation {
    const eddy_output *ys, *xs;
    size_t n_ys, n_xs;
    const eddy_output *grad_ys; /* NULL, or one a y, of which some are none */
    const eddy_output *stop;
    size_t n_stop;
    uint64_t order;               /* from 1 to EDDY__MOST_ORDERS */
    const eddy__options *options; /* whose limits hold for each order */
} eddy__differentiation;

/*
 * Adds the gradients to `graph`; those of order k start from the results of
 * order k - 1 that there are.  `out_results` has one an x, EDDY_NO_NODE where
 * there is none.
 */
EDDY_MUST_USE eddy_status
eddy__differentiate(eddy_graph *graph, const eddy__differentiation *asked,
                    eddy_output *out_results, eddy_error *err);

#endif
