/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops built through the public API, node for node what TensorFlow's
 * while_loop and cond write in v1 mode: an Identity of each variable in the
 * body, and constants that hang on the loop's pivot in place of invariants.
 */
#ifndef EDDY_BENCHMARKS_LOOPS_H
#define EDDY_BENCHMARKS_LOOPS_H

#include "benchmarks/builder.h"

#include <stddef.h>

#define LOOP_MAX_VARIABLES 64

/* One while loop: opened, tested, closed, in this order. */
typedef struct loop {
    uint32_t n; /* variables */
    eddy_output merges[LOOP_MAX_VARIABLES];
    eddy_output switches[LOOP_MAX_VARIABLES];
    eddy_output body[LOOP_MAX_VARIABLES]; /* once tested */
} loop;

/* Enters and Merges of up to LOOP_MAX_VARIABLES variables. */
void loop_open(builder *b, loop *l, const char *frame,
               const eddy_output *firsts, uint32_t n);

/* Goes on while `predicate`, which may be a LoopCond or any bool in the frame.
 */
void loop_test(builder *b, loop *l, eddy_output predicate);

/* `nexts` go round; `out_exits` (may be NULL) are the last values. */
void loop_close(builder *b, const loop *l, const eddy_output *nexts,
                eddy_output *out_exits);

/* while merges[0] < trips, an int32. */
void loop_test_trips(builder *b, loop *l, int32_t trips);

/* What follows body[0] by one. */
eddy_output loop_next_count(builder *b, const loop *l);

/*
 * `depth` loops of `trips` trips, one in the other.  The first variable of each
 * is its counter; the others are float32, go through every level and grow by
 * nest_step() in the innermost body.
 */
typedef struct nest {
    uint32_t depth;
    int32_t trips;
    uint32_t variables; /* with the counter */
} nest;

float nest_step(uint32_t variable);

/* `out` has room for all variables of the outermost loop. */
void nest_build(builder *b, const nest *shape, eddy_output *out);

/*
 * x = x + 1 where the counter is even, else x * 0.5: a Switch and a Merge in
 * each trip.  `out` is the counter and x.
 */
void cond_in_loop_build(builder *b, int32_t trips, eddy_output *out);

#endif
