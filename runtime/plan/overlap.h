/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a loop reads, row by row, what another one has stacked: what the pass
 * of overlap.c is to change, as overlap_find.c finds it.
 */
#ifndef EDDY_PLAN_OVERLAP_H
#define EDDY_PLAN_OVERLAP_H

#include "runtime/plan/plan.h"

/* A node of a loop that reads the row of its iteration's number. */
typedef struct eddy__row_read {
    eddy_node node;    /* GatherV2 or TensorArrayReadV3; output 0 is the row */
    eddy_node enter;   /* a constant Enter of its loop, and input 0 of it */
    eddy_output index; /* a scalar: the iteration's number */
} eddy__row_read;

/* A tensor in whose place an array is read. */
typedef struct eddy__stacking {
    eddy_node array;   /* TensorArrayV3 */
    eddy_node write;   /* TensorArrayWriteV3, in the first loop */
    eddy_node gather;  /* TensorArrayGatherV3 */
    eddy_output stack; /* what of it others read */
    eddy_output n;     /* its length, int32, beside the loop */
    eddy_output flow;  /* after the last write */
    uint32_t frame;    /* the first loop */
    bool may_be_none;  /* without items something else is read */
    eddy_output trips; /* the length, or below 0, before the loop has begun */
    eddy__row_read *reads;
    size_t n_reads, reads_capacity;
    eddy_node *lengths; /* nodes that give the length as an integer */
    size_t n_lengths, lengths_capacity;
} eddy__stacking;

/*
 * Fills `*out` with an array, in `scratch`, of what the pass may change and is
 * worth it.  What is in it by then, also on failure, eddy__overlap_drop frees.
 */
eddy_status eddy__overlap_find(const eddy__plan_build *build,
                               eddy__arena *scratch, eddy__stacking **out,
                               size_t *out_n);
void eddy__overlap_drop(const eddy__plan_build *build, eddy__stacking *all,
                        size_t n);

#endif
