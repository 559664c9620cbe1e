/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Boxes that wait to be taken, the one with the highest score first, and how
 * much two boxes overlap.
 */
#ifndef EDDY_OPS_CANDIDATES_H
#define EDDY_OPS_CANDIDATES_H

#include <stdint.h>

typedef struct eddy__candidate {
    int32_t box;
    float score;
    int32_t begin; /* the first that was taken and it has not met */
} eddy__candidate;

/* For memory of int32. */
#define EDDY__CANDIDATE_WORDS                                                  \
    ((int64_t)(sizeof(eddy__candidate) / sizeof(int32_t)))

/* A heap in memory of the owner's, with room for all that are pushed. */
typedef struct eddy__candidates {
    eddy__candidate *heap;
    int64_t n;
} eddy__candidates;

void eddy__candidates_push(eddy__candidates *c, eddy__candidate next);

/* The best of those that wait; of two with one score the lesser box. */
eddy__candidate eddy__candidates_pop(eddy__candidates *c);

/*
 * What two boxes share, as a part of what they cover.  A box is two corners,
 * (row, column) each, in any order; one without an area shares nothing.
 */
float eddy__candidates_overlap(const float a[4], const float b[4]);

#endif
