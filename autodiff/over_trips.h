/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients in the body of a loop with respect to what is outside of it: the
 * state has gone through trips that are over, and their values are gone.
 */
#ifndef EDDY_AUTODIFF_OVER_TRIPS_H
#define EDDY_AUTODIFF_OVER_TRIPS_H

#include "autodiff/reverse.h"

/* ---- accumulate.c: carried along from trip to trip ---- */

/* Can forward mode carry the derivative by `x` from trip to trip? */
bool eddy__accumulate_can(const eddy__reverse *r, eddy_output x);

/*
 * The gradient, in the base frame, with respect to an `x` outside of it, what x
 * did in earlier iterations included; there is such.
 */
eddy_output eddy__accumulate_gradient(eddy__reverse *r, eddy_output x);

/* ---- recompute.c: computed again ---- */

/* The next round starts from these: the states that were computed again. */
typedef struct eddy__recomputed {
    eddy__arena arena; /* of what follows; the caller's */
    eddy_output *ys, *grad_ys;
    size_t n;
    eddy_output *stop;
    size_t n_stop;
} eddy__recomputed;

/*
 * Makes trips again that the gradients by `r->recomputed` go through, after the
 * walk; `again` has an arena.
 */
void eddy__recompute_trips(eddy__reverse *r, eddy__recomputed *again);

#endif
