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
    eddy_output *given;    /* a node of the replica: the stack of its values */
    /* Exits of the forward loop: how many segments there are, and how many
     * trips the last one is short of. */
    eddy_output count, missing;
} eddy__segments;

/* ---- given.c: what can't be had again ---- */

/*
 * Is it a node whose value is kept trip by trip, since a state or an effect
 * made it?  `owner` is the segments.
 */
bool eddy__given_is(void *owner, eddy_node node);

/* Puts those values of the forward loop on stacks, after `pivot`; `next` waits
 * for it. */
void eddy__given_save(eddy__segments *s, eddy_node pivot, eddy_node next);

/*
 * Makes those of a segment ready for the replica; gives `trips` when they are.
 */
eddy_output eddy__given_turn(eddy__segments *s, eddy_output trips);

/* Has the replica read them, once it was started. */
void eddy__given_read(eddy__segments *s);

/* `value`, off a stack, with the shape that is known of `like`. */
eddy_output eddy__given_shape(eddy__segments *s, eddy_output value,
                              eddy_output like);

/* ---- checkpoint.c ---- */

/* Sets `stacks`, `count` and `missing`; the replica has been found. */
void eddy__checkpoint_make(eddy__segments *s);

#endif
