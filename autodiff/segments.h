/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop whose trips are made again in segments: what its gradient needs while
 * it is made.  checkpoint.c puts states of the forward loop aside, segments.c
 * makes the gradient from them.
 */
#ifndef EDDY_AUTODIFF_SEGMENTS_H
#define EDDY_AUTODIFF_SEGMENTS_H

#include "autodiff/policy.h"
#include "autodiff/replica.h"
#include "autodiff/reverse.h"

/* What the gradient loop does with the segment that it takes (binomial.c). */
typedef struct eddy__split {
    eddy_output is, not_in; /* cut in two?  What the segment itself is. */
    eddy_output first;      /* trips of the part that is put aside again */
    eddy_output rest;       /* ... and of that behind it, with a state anew */
    eddy_node is_done;      /* ... they are on their stacks */
} eddy__split;

typedef struct eddy__segments {
    eddy__reverse *r;
    eddy__loop *loop;
    eddy__replica replica; /* of the trips of one segment */
    eddy_output *stacks;   /* a variable: of its states, if not of a list */
    eddy_output *given;    /* a node of its list: the stack of its values */
    /* Exits of the forward loop: how many segments there are, and how many
     * trips the last one is short of. */
    eddy_output count, missing;

    /* ---- where bytes are given; else `bound` has no states ---- */
    eddy__tape_bound bound;
    eddy_output lengths; /* the stack of the lengths of the segments */
    eddy__replica ahead; /* makes trips up to the second part's first */
    eddy__split split;
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

/*
 * Sets `stacks`, `count` and `missing`, and `lengths` if there is a bound; the
 * replica has been found.
 */
void eddy__checkpoint_make(eddy__segments *s);

/* ---- binomial.c ---- */

/*
 * In the forward loop: how long the next segment is to be if there are `n` of
 * them, the last of `length` trips.
 */
eddy_output eddy__binomial_grow(eddy__segments *s, eddy_output n,
                                eddy_output length);

/*
 * The gradient loop has taken a segment of `length` trips, and `n` are left
 * with it: it cuts it in two if that is too long, which sets `split` and starts
 * `ahead`.  Gives the trips that are differentiated now.
 */
eddy_output eddy__binomial_cut(eddy__segments *s, eddy_output n,
                               eddy_output length);

/* The state of a variable, once it is taken and `ahead` is copied. */
void eddy__binomial_put(eddy__segments *s, size_t i, eddy_output state);

/* Once all are put. */
void eddy__binomial_end(eddy__segments *s);

#endif
