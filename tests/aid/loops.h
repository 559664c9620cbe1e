/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops for tests, built through the public headers: by hand, one variable
 * after another, or whole ones of given depth, trips and variables.
 */
#ifndef EDDY_TESTS_LOOPS_H
#define EDDY_TESTS_LOOPS_H

#include "tests/aid/program.h"

#define LOOP_VARIABLES 16

/*
 * A loop under construction.  Set the first part, then: loop_begin, invariants
 * and the predicate on `merge`, loop_while, the body on `inside`, loop_end;
 * then `exit` holds the results.
 */
typedef struct loop {
    program *p;
    const char *frame;           /* the only one of that name */
    int64_t parallel_iterations; /* 0: the default */
    /*
     * For a loop in a branch or in another loop's body: a node that is dead
     * when that is.  It controls the Enters, which then are dead all together.
     */
    const eddy_node *within;

    uint32_t n;
    eddy_output merge[LOOP_VARIABLES];
    eddy_output inside[LOOP_VARIABLES];
    eddy_output exit[LOOP_VARIABLES];
    eddy_node body; /* what a loop in the body is `within` */
} loop;

void loop_begin(loop *l, const eddy_output *initial, uint32_t n);
eddy_output loop_invariant(loop *l, eddy_output value);
void loop_while(loop *l, eddy_output predicate);
void loop_end(loop *l, const eddy_output *next);

/* i = 0; while (i < trips) i = i + 1.  The result is `trips`. */
eddy_output loops_counter(program *p, eddy_output trips);

/*
 * The counter with `n` further variables of int64, v = v + i each: results are
 * trips * (trips - 1) / 2.
 */
void loops_accumulator(program *p, eddy_output trips, uint32_t n,
                       eddy_output *out_values);

/* `depth` loops in each other: the result is trips to the power of depth. */
eddy_output loops_nested(program *p, uint32_t depth, eddy_output trips);

/* s = 0; for i < trips: if (i < half) s += i; else s -= half. */
eddy_output loops_conditional(program *p, eddy_output trips, eddy_output half);

/*
 * x = x * factor + x, `trips` times, for a float32 tensor: elementwise steps on
 * buffers.
 */
eddy_output loops_elementwise(program *p, eddy_output x, eddy_output factor,
                              eddy_output trips);

#endif
