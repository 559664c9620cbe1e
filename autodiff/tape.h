/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks that are used as a tape: one push and one pop, found from the handle.
 *
 * A gradient loop reads what the forward loop wrote, so a value flows from the
 * push to the pop though no edge says so, and its gradient the other way.
 */
#ifndef EDDY_AUTODIFF_TAPE_H
#define EDDY_AUTODIFF_TAPE_H

#include "frames/analysis/analysis.h"
#include "frames/analysis/flow.h"

typedef struct eddy__tape_stack {
    eddy_node stack;
    eddy_node push, pop; /* EDDY_NO_NODE: none, or not only one */
    bool is_tape;        /* else it has other uses */
} eddy__tape_stack;

typedef struct eddy__tapes {
    eddy__tape_stack *tapes;
    size_t n;
    uint32_t *of_node; /* a push or a pop: its tape and 1; others 0 */
    /* The same of every push and every pop of a stack that has several. */
    uint32_t *of_push, *of_pop;
} eddy__tapes;

/* Arrays are in `arena`. */
eddy_status eddy__tapes_find(eddy__tapes *tapes, const eddy__flow *flow,
                             eddy__arena *arena, eddy_error *err);

/* NULL for a node that is no push and no pop of a tape. */
static inline eddy__tape_stack *eddy__tape_of(const eddy__tapes *tapes,
                                              eddy_node node)
{
    return tapes->of_node[node] ? &tapes->tapes[tapes->of_node[node] - 1]
                                : NULL;
}

#endif
