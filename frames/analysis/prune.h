/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes of a graph what is asked of it needs. */
#ifndef EDDY_FRAMES_PRUNE_H
#define EDDY_FRAMES_PRUNE_H

#include "frames/analysis/selection.h"

typedef struct eddy__wanted {
    const eddy_output *fetches;
    size_t n_fetches;
    const eddy_node *targets;
    size_t n_targets;
} eddy__wanted;

/*
 * Marks in `keep`, zeroed, one byte a node, what the fetches and targets need.
 * `selection->keep` is not looked at.
 */
eddy_status eddy__prune(const eddy__selection *selection,
                        const eddy__wanted *wanted, uint8_t *keep,
                        eddy_error *err);

#endif
