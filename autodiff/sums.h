/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of what nodes contribute to the gradients of their inputs.
 *
 * A contribution to the gradient of a forward value is live in that value's
 * branch; one from a branch within it is led out first.  The sum is made once,
 * when all consumers have been walked.
 */
#ifndef EDDY_AUTODIFF_SUMS_H
#define EDDY_AUTODIFF_SUMS_H

#include "autodiff/activity.h"
#include "autodiff/primals.h"

/* A contribution to the gradient of one forward output. */
typedef struct eddy__contribution {
    eddy_output gradient;
    /* The item of a list whose gradient it is; NO_OUTPUT: that of it all. */
    eddy_output item;
    uint32_t branch; /* in which that item was read */
    struct eddy__contribution *next;
    struct eddy__contribution *last; /* of the list, kept by its first one */
} eddy__contribution;

/* What is known of a branch, in the scope of its frame; see taken.c. */
typedef struct eddy__taken {
    eddy_output is_taken;  /* a bool that is live in branch 0 */
    eddy_output truths[2]; /* false and true, live in the branch */
} eddy__taken;

typedef struct eddy__sums {
    eddy__gradient_emitter *e;
    const eddy__study *study;
    const eddy__activity *activity;
    eddy__places *places;
    eddy__primals *primals;
    eddy__contribution **contributions; /* a slot of the study */
    eddy__taken *taken; /* a branch; NULL: of none it was asked */
} eddy__sums;

/* ---- contribution.c ---- */

/* After the study.  All is borrowed. */
eddy_status eddy__contribution_begin(eddy__sums *s,
                                     const eddy__activity *activity,
                                     eddy__primals *primals);

/* The contributions to the gradient of `v`, or NULL. */
static inline eddy__contribution *eddy__contribution_list(const eddy__sums *s,
                                                          eddy_output v)
{
    return s->contributions[eddy__study_slot(s->study, v)];
}

void eddy__contribution_add(eddy__sums *s, eddy_output v,
                            eddy__contribution value);

/* One that is live where `v` is, and of all of it. */
void eddy__contribution_add_whole(eddy__sums *s, eddy_output v,
                                  eddy_output gradient);

/* ---- sides.c ---- */

/* Room for so many outputs, which are none yet; NULL without memory. */
eddy_output *eddy__sides_new(eddy__sums *s, uint32_t n);

/* Merges what is live on the sides of a predicate, zeros where nothing is. */
eddy_output eddy__sides_merge(eddy__sums *s, eddy_output v, uint32_t any_side,
                              eddy_output *sides, uint32_t n_sides);

/* A gradient of `v` that is live in `branch`, live in the one around it. */
eddy_output eddy__sides_leave(eddy__sums *s, eddy_output v,
                              eddy_output gradient, uint32_t branch);

/* ---- taken.c ---- */

/*
 * A gradient of `v` that is live in `branch`, live in v's branch: it is zero
 * where `branch` is not taken.  What runs in `branch` runs in v's too.
 */
eddy_output eddy__taken_leave(eddy__sums *s, eddy_output v,
                              eddy_output gradient, uint32_t branch);

/* ---- list_sum.c ---- */

/* The gradient of a list is that of item `index`, and no more. */
void eddy__list_sum_add(eddy__sums *s, eddy_output list, eddy_output index,
                        eddy_output gradient, uint32_t branch);

/*
 * The sum of `base` and of what was added for the list `v`.  Without a base
 * there is one if only items were added: zeros.
 */
eddy_output eddy__list_sum_make(eddy__sums *s, eddy_output v, eddy_output base);

/* ---- sum.c ---- */

/* A gradient that is live in `branch` of v's frame, live where `v` is. */
eddy_output eddy__sum_lead_out(eddy__sums *s, eddy_output v,
                               eddy_output gradient, uint32_t branch);

/* Adds to the gradient of `v` one that is live in `branch` of v's frame. */
void eddy__sum_add(eddy__sums *s, eddy_output v, eddy_output gradient,
                   uint32_t branch);

/* The sum of what was added for `v`; NO_OUTPUT if nothing was. */
eddy_output eddy__sum_make(eddy__sums *s, eddy_output v);

#endif
