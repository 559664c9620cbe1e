/* SPDX-License-Identifier: Apache-2.0 */
/* What a loop that is saved changes behind handles from outside of it. */
#ifndef EDDY_PLAN_SAVING_STATE_H
#define EDDY_PLAN_SAVING_STATE_H

#include "runtime/plan/plan.h"

typedef struct eddy__saving_state {
    /* Set these. */
    const eddy__plan_build *build;
    eddy__arena *scratch; /* for `makers`, too */
    uint32_t loop;        /* its frame */
    const uint8_t *is_in; /* a frame: the loop, or in it */
    /*
     * The nodes that make what is changed: output 0 of each is a handle of a
     * TensorArray, a stack, a queue or a lookup table.
     */
    eddy_node *makers;
    size_t n_makers;
} eddy__saving_state;

/*
 * Finds them; refuses, with its node, a state that can't be saved, and a node
 * that changes one neither before nor after the loop.
 */
eddy_status eddy__saving_state_find(eddy__saving_state *state);

/* Fails: the loop can't be saved for the node, and why. */
eddy_status eddy__saving_refuse(const eddy__plan_build *build, eddy_node node,
                                const char *why);

bool eddy__saving_is_variable(const eddy__node *node);

/* Does it make a queue or a lookup table, which is found by its name? */
bool eddy__saving_is_shared(const eddy__node *node);

#endif
