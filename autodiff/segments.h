/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop whose trips are made again in segments: what its gradient needs while
 * it is made.  checkpoint.c puts states of the forward loop aside, segments.c
 * makes the gradient from them.
 */
#ifndef EDDY_AUTODIFF_SEGMENTS_H
#define EDDY_AUTODIFF_SEGMENTS_H

#include "autodiff/replica.h"
#include "autodiff/reverse.h"

typedef struct eddy__segments {
    eddy__reverse *r;
    eddy__loop *loop;
    eddy__replica replica; /* of the trips of one segment */
    eddy_output *stacks;   /* a variable: of its states, if not of a list */
    /* Exits of the forward loop: how many segments there are, and how many
     * trips the last one is short of. */
    eddy_output count, missing;
} eddy__segments;

/* ---- checkpoint.c ---- */

/* Sets `stacks`, `count` and `missing`; the replica has been found. */
void eddy__checkpoint_make(eddy__segments *s);

#endif
